/* SPDX-License-Identifier: Apache-2.0 */
/* nvtx_forms - kernels inside every form of NVTX range, for nsight_forms.py.
 *
 * Every place has a number, which is its kernels' grid size, so that a capture tells which places
 * it took. --wide has the two of wide strings instead, which end the program under ncu 2025.3.1.
 * --dry makes the ranges alone, on machines without a GPU. */
#include <cuda_runtime.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "nvtx_lite.h"

static bool dry;
static float *numbers;

static __global__ void work(float *x)
{
    if (blockIdx.x == 0)
        x[threadIdx.x] = x[threadIdx.x] * 0.5f + 1;
}

static void launch(int place, int times)
{
    for (int i = 0; i < times && !dry; i++)
        work<<<place, 32>>>(numbers);
}

static void push_registered(nvtx_lite_dom domain, struct nvtx_lite_string *text)
{
    struct nvtx_lite_attributes a = nvtx_lite_text("");

    a.message_type = NVTX_LITE_REGISTERED;
    a.message.registered = text;
    if (domain)
        nvtx_lite_domain_push_ex(domain, &a);
    else
        nvtx_lite_push_ex(&a);
}

/* A tool that is not there hands out no registered strings; plain text then says the same. */
static void push_known(const char *name)
{
    struct nvtx_lite_string *text = nvtx_lite_domain_register(NULL, name);

    if (text)
        push_registered(NULL, text);
    else
        nvtx_lite_push(name);
}

static void layers(void)
{
    struct nvtx_lite_attributes decode = nvtx_lite_text("decode");

    nvtx_lite_push_ex(&decode);
    launch(3, 1);
    for (int i = 0; i < 2; i++) {
        nvtx_lite_push(i ? "layer1" : "layer0");
        launch(4 + 3 * i, 1);
        push_known("attn");
        launch(5 + 3 * i, 2);
        nvtx_lite_pop();
        nvtx_lite_push("mlp");
        launch(6 + 3 * i, 1);
        nvtx_lite_pop();
        nvtx_lite_pop();
    }
    nvtx_lite_pop();
    nvtx_lite_push("decode_tail");
    launch(10, 1);
    nvtx_lite_pop();
}

static void start_end(nvtx_lite_dom llm)
{
    struct nvtx_lite_attributes span = nvtx_lite_text("span");
    uint64_t id = nvtx_lite_start("decode_window");

    launch(11, 2);
    nvtx_lite_end(id);
    id = nvtx_lite_domain_start_ex(llm, &span);
    launch(12, 3);
    nvtx_lite_domain_end(llm, id);
}

static void domains(nvtx_lite_dom llm)
{
    struct nvtx_lite_attributes decode = nvtx_lite_text("decode"), attn = nvtx_lite_text("attn"),
                                inner = nvtx_lite_text("inner");

    nvtx_lite_domain_push_ex(llm, &decode);
    launch(13, 2);
    nvtx_lite_domain_push_ex(llm, &attn);
    launch(14, 1);
    nvtx_lite_domain_pop(llm);
    nvtx_lite_domain_pop(llm);
    nvtx_lite_push("outer");
    nvtx_lite_domain_push_ex(llm, &inner);
    launch(24, 2);
    nvtx_lite_domain_pop(llm);
    nvtx_lite_pop();
}

static void texts(void)
{
    static const struct {
        const char *name;
        int place;
    } odd[] = {
        { "a/b", 18 }, { "x[0]", 19 },           { "m@n", 20 }, { "c,d", 21 }, { "p*q+r", 22 },
        { "u$v", 23 }, { "gr\u00f6\u00dfe", 28 }
    };

    push_known("registered");
    launch(15, 3);
    nvtx_lite_pop();
    for (const auto &o : odd) {
        nvtx_lite_push(o.name);
        launch(o.place, 1);
        nvtx_lite_pop();
    }
}

static void wide_texts(void)
{
    nvtx_lite_push_w(L"wide");
    launch(16, 2);
    nvtx_lite_pop();
    nvtx_lite_push_w(L"gr\u00f6\u00dfe");
    launch(17, 1);
    nvtx_lite_pop();
}

static pthread_barrier_t both;

static void *left(void *)
{
    nvtx_lite_push("left");
    pthread_barrier_wait(&both); /* now the other stack is open as well */
    launch(25, 1);
    nvtx_lite_push("A");
    nvtx_lite_push("A1");
    launch(26, 2);
    nvtx_lite_pop();
    nvtx_lite_pop();
    pthread_barrier_wait(&both);
    nvtx_lite_pop();
    return NULL;
}

static void *right(void *)
{
    nvtx_lite_push("right");
    pthread_barrier_wait(&both);
    launch(27, 3);
    pthread_barrier_wait(&both);
    nvtx_lite_pop();
    return NULL;
}

static void threads(void)
{
    pthread_t a, b;

    pthread_barrier_init(&both, NULL, 2);
    pthread_create(&a, NULL, left, NULL);
    pthread_create(&b, NULL, right, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
}

static void every_other_form(void)
{
    nvtx_lite_dom llm = nvtx_lite_domain_create("LLM");

    launch(1, 1);
    nvtx_lite_push("plain");
    launch(2, 2);
    nvtx_lite_pop();
    layers();
    start_end(llm);
    domains(llm);
    texts();
    threads();
}

int main(int argc, char **argv)
{
    bool wide = false;

    for (int i = 1; i < argc; i++) {
        dry |= strcmp(argv[i], "--dry") == 0;
        wide |= strcmp(argv[i], "--wide") == 0;
    }
    if (!dry && cudaMalloc(&numbers, 32 * sizeof *numbers) != cudaSuccess) {
        fprintf(stderr, "nvtx_forms: %s; --dry needs no GPU\n",
                cudaGetErrorString(cudaGetLastError()));
        return 3;
    }
    if (wide)
        wide_texts();
    else
        every_other_form();
    if (!dry && cudaDeviceSynchronize() != cudaSuccess) {
        fprintf(stderr, "nvtx_forms: %s\n", cudaGetErrorString(cudaGetLastError()));
        return 1;
    }
    return 0;
}
