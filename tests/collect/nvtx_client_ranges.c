/* SPDX-License-Identifier: Apache-2.0 */
/* Scenarios of what a call says: ranges, marks, names, domains, and calls that are wrong. */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../include/lpo.h"
#include "nvtx_client.h"

static int plain(void)
{
    CHECK(nvtx_lite_push("decode") == 0);
    for (int i = 0; i < 3; i++) {
        CHECK(nvtx_lite_push("step") == 1);
        CHECK(nvtx_lite_push("attn") == 2);
        CHECK(nvtx_lite_pop() == 2);
        CHECK(nvtx_lite_push("mlp") == 2);
        CHECK(nvtx_lite_pop() == 2);
        CHECK(nvtx_lite_pop() == 1);
    }
    CHECK(nvtx_lite_pop() == 0);
    return 0;
}

/* Every function of both tables, every kind of text, number and domain. */
static int every(void)
{
    struct nvtx_lite_attributes a = nvtx_lite_text("ex");
    struct nvtx_lite_resource_attributes r = {
        .version = 3, .size = sizeof r, .identifier_type = 0x10003, .message_type = NVTX_LITE_ASCII
    };
    nvtx_lite_dom d, same, wide;
    struct nvtx_lite_string *s;
    uint64_t ids[4];
    char text[] = "changes";

    nvtx_lite_initialize(NULL);
    nvtx_lite_name_thread((uint32_t)syscall(SYS_gettid), "renamed");
    nvtx_lite_name_thread_w(1, L"someone");
    nvtx_lite_name_category(7, "cat");
    nvtx_lite_name_category_w(8, L"cat");
    nvtx_lite_mark("m");
    nvtx_lite_mark_w(L"m");
    nvtx_lite_mark_ex(&a);
    CHECK(nvtx_lite_push(text) == 0);
    memcpy(text, "CHANGED", 7); /* the tool must have copied it */
    CHECK(nvtx_lite_push_w(L"w\u00e9\u20ac\U0001f600") == 1);
    a.category = 7;
    a.color_type = 1;
    a.color = 0xff00ff00;
    for (int type = NVTX_LITE_U64; type <= NVTX_LITE_F32; type++) {
        a.payload_type = type;
        a.payload.u64 = 42;
        CHECK(nvtx_lite_push_ex(&a) == 2);
        CHECK(nvtx_lite_pop() == 2);
    }
    CHECK(nvtx_lite_pop() == 1);
    CHECK(nvtx_lite_pop() == 0);
    ids[0] = nvtx_lite_start("s1");
    ids[1] = nvtx_lite_start_w(L"s2");
    ids[2] = nvtx_lite_start_ex(&a);
    d = nvtx_lite_domain_create("dom");
    same = nvtx_lite_domain_create("dom");
    wide = nvtx_lite_domain_create_w(L"d\u00f6m");
    CHECK(d && same == d && wide && wide != d);
    s = nvtx_lite_domain_register(d, "registered");
    CHECK(s && nvtx_lite_domain_register_w(d, L"registered") == s);
    a.message_type = NVTX_LITE_REGISTERED;
    a.message.registered = s;
    CHECK(nvtx_lite_domain_push_ex(d, &a) == 0);
    CHECK(nvtx_lite_domain_push_ex(wide, &a) == 0); /* each domain has its own stack */
    CHECK(nvtx_lite_domain_pop(d) == 0);
    CHECK(nvtx_lite_domain_pop(wide) == 0);
    ids[3] = nvtx_lite_domain_start_ex(d, &a);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < i; k++)
            CHECK(ids[i] != ids[k]);
    nvtx_lite_domain_end(d, ids[3]);
    nvtx_lite_end(ids[1]);
    nvtx_lite_end(ids[0]);
    nvtx_lite_end(ids[2]);
    nvtx_lite_domain_mark_ex(d, &a);
    nvtx_lite_domain_name_category(d, 1, "c");
    nvtx_lite_domain_name_category_w(d, 2, L"c");
    r.identifier = 1;
    r.message.ascii = "by resource";
    nvtx_lite_domain_resource_destroy(nvtx_lite_domain_resource_create(d, &r));
    nvtx_lite_domain_destroy(d);
    return 0;
}

static int wrong(void)
{
    struct nvtx_lite_attributes a = nvtx_lite_text("small");
    int not_ours = 0;

    CHECK(nvtx_lite_pop() < 0);
    CHECK(nvtx_lite_push(NULL) == 0);
    CHECK(nvtx_lite_push_ex(NULL) == 1);
    a.size = 8; /* an older caller: the text is beyond what it has */
    CHECK(nvtx_lite_push_ex(&a) == 2);
    a.size = sizeof a;
    a.message_type = NVTX_LITE_REGISTERED;
    a.message.registered = (struct nvtx_lite_string *)&not_ours;
    CHECK(nvtx_lite_push_ex(&a) == 3);
    a.message_type = 99;
    CHECK(nvtx_lite_push_ex(&a) == 4);
    for (int i = 4; i >= 0; i--)
        CHECK(nvtx_lite_pop() == i);
    CHECK(nvtx_lite_pop() < 0);
    nvtx_lite_end(12345);
    nvtx_lite_end(nvtx_lite_start("twice"));
    nvtx_lite_end(1);
    nvtx_lite_start("never ended");
    nvtx_lite_push("left");
    nvtx_lite_push("open");
    return 0;
}

static int deep(void)
{
    for (int i = 0; i < 5000; i++)
        CHECK(nvtx_lite_push(i % 2 ? "odd" : "even") == i);
    for (int i = 4999; i >= 0; i--)
        CHECK(nvtx_lite_pop() == i);
    return 0;
}

static int pushes(void)
{
    for (int i = 0; i < 10000000; i++) {
        nvtx_lite_push(i & 1 ? "odd" : "even");
        nvtx_lite_pop();
    }
    return 0;
}

/* More names than the table holds: the rest stands in the events. */
static int many_names(void)
{
    char name[64];

    for (int i = 0; i < 1100000; i++) {
        snprintf(name, sizeof name, "request number %d of very many", i);
        CHECK(nvtx_lite_push(name) == 0);
        nvtx_lite_pop();
    }
    return 0;
}

static int long_names(void)
{
    char name[10001];

    memset(name, 'x', sizeof name);
    name[10000] = 0;
    nvtx_lite_push(name);
    nvtx_lite_pop();
    name[4096] = 0;
    nvtx_lite_push(name);
    nvtx_lite_pop();
    nvtx_lite_push("");
    nvtx_lite_pop();
    return 0;
}

static int off(void)
{
    CHECK(nvtx_lite_push("a") == -2);
    CHECK(nvtx_lite_pop() == -2);
    CHECK(nvtx_lite_start("a") == 0);
    CHECK(nvtx_lite_domain_create("a") == NULL);
    return 0;
}

/* Numbers by lpo.h, which is a client of its own, and payloads. */
static int numbers(void)
{
    struct nvtx_lite_attributes a = nvtx_lite_text("request");
    uint64_t window = lpo_window_begin();

    a.payload_type = NVTX_LITE_U32;
    a.payload.u32 = 9;
    for (int i = 0; i < 3; i++) {
        uint64_t id = nvtx_lite_start_ex(&a);

        lpo_push("decode");
        lpo_number("tokens", i);
        lpo_number_real("ratio", 0.5);
        lpo_number_real("ratio", 1.0 / 0.0); /* no number */
        lpo_push("attn");
        lpo_number("tokens", 100);
        lpo_pop();
        lpo_number("tokens", 10);
        lpo_pop();
        nvtx_lite_end(id);
    }
    a.message.ascii = "paid";
    nvtx_lite_push_ex(&a);
    nvtx_lite_pop();
    lpo_number("alone", -1);
    lpo_mark("m");
    lpo_window_end(window);
    CHECK(lpo_listening());
    return 0;
}

/* A second copy of NVTX, in a library loaded by the program. */
static int two_copies(void)
{
    char path[4096];
    void (*second)(void) = NULL;
    char *slash;
    void *lib;

    snprintf(path, sizeof path, "%s", program_invocation_name);
    slash = strrchr(path, '/');
    CHECK(slash);
    snprintf(slash, sizeof path - (size_t)(slash - path), "/libnvtx_second.so");
    lib = dlopen(path, RTLD_NOW);
    CHECK(lib);
    *(void **)&second = dlsym(lib, "second_copy");
    CHECK(second);
    nvtx_lite_push("program");
    second();
    nvtx_lite_pop();
    return 0;
}

const struct scenario range_scenarios[] = {
    { "plain", plain },
    { "every", every },
    { "wrong", wrong },
    { "deep", deep },
    { "pushes", pushes },
    { "many_names", many_names },
    { "long_names", long_names },
    { "off", off },
    { "two_copies", two_copies },
    { "numbers", numbers },
    { NULL, NULL },
};
