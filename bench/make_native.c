/* SPDX-License-Identifier: Apache-2.0 */
/* make_native OUT MEGABYTES KIND: a native trace of that size, as the collector would have written
 * it, for bench/ and tests/torture/.
 *
 *   ranges      decode steps of 32 layers with ranges of modules, no GPU, two threads
 *   kernels     the same with a kernel launched in every module
 *   start-end   start/end ranges instead
 *   names       every range has a name of its own
 *
 * Prints "ranges kernels" and how often the first path was entered, with its host time in ns, so
 * that a test can compare what lpo makes of the file. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lpo/trace_format.h"
#include "util/crc32c.h"

enum { LAYERS = 32, MODULES = 6, KERNELS = 8, FLUSH = 65536, THREADS = 2, EPOCH = 1700000000 };

struct bytes {
    uint8_t at[FLUSH + 512];
    size_t len;
    uint32_t stream, sequence;
    unsigned kind;
};

static FILE *out;
static uint64_t written, now_ns, real_0 = (uint64_t)EPOCH * 1000000000u;

static void put_u(uint8_t *at, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++)
        at[i] = (uint8_t)(v >> (8 * i));
}

static void byte(struct bytes *b, unsigned v)
{
    b->at[b->len++] = (uint8_t)v;
}

static void v(struct bytes *b, uint64_t value)
{
    for (; value > 0x7f; value >>= 7)
        byte(b, (unsigned)(value & 0x7f) | 0x80);
    byte(b, (unsigned)value);
}

static void z(struct bytes *b, int64_t value)
{
    v(b, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

static void text(struct bytes *b, const char *s)
{
    v(b, strlen(s));
    memcpy(b->at + b->len, s, strlen(s));
    b->len += strlen(s);
}

static void flush(struct bytes *b)
{
    uint8_t head[LPOT_HEADER_BYTES] = { 0 };
    uint32_t crc;

    put_u(head, LPOT_BLOCK_MAGIC, 4);
    put_u(head + 4, b->kind, 2);
    put_u(head + 8, b->len, 4);
    put_u(head + 16, b->stream, 4);
    put_u(head + 20, b->sequence++, 4);
    put_u(head + 24, now_ns, 8);
    put_u(head + 32, real_0 + now_ns, 8);
    crc = lpo_crc32c(lpo_crc32c(0, head, 12), head + 16, sizeof head - 16);
    put_u(head + 12, lpo_crc32c(crc, b->at, b->len), 4);
    if (fwrite(head, 1, sizeof head, out) != sizeof head ||
        fwrite(b->at, 1, b->len, out) != b->len) {
        perror("make_native");
        exit(1);
    }
    written += sizeof head + b->len;
    b->len = 0;
}

static struct bytes threads[THREADS + 1], gpu, other;
static uint64_t last_ns[THREADS + 1], gpu_last, next_id = 1, ranges, kernels;
static uint32_t corr, thread_corr[THREADS + 1], gpu_corr;
static bool start_end, own_names, launches;

static void event(unsigned thread, unsigned tag)
{
    struct bytes *b = &threads[thread];

    if (b->len > FLUSH - 64)
        flush(b);
    now_ns += 150;
    byte(b, tag);
    v(b, now_ns - last_ns[thread]);
    last_ns[thread] = now_ns;
}

static uint64_t enter(unsigned thread, unsigned string)
{
    uint64_t id = next_id++;
    char name[32];

    event(thread, (start_end ? LPOT_EV_START : LPOT_EV_PUSH) | (own_names ? LPOT_EV_INLINE : 0));
    if (start_end)
        v(&threads[thread], id);
    if (own_names) {
        snprintf(name, sizeof name, "request %llu", (unsigned long long)id);
        text(&threads[thread], name);
    } else {
        v(&threads[thread], string);
    }
    ranges++;
    return id;
}

static void leave(unsigned thread, uint64_t id)
{
    event(thread, start_end ? LPOT_EV_END : LPOT_EV_POP);
    if (start_end)
        v(&threads[thread], id);
}

static void kernel(unsigned thread, unsigned which)
{
    corr++;
    event(thread, LPOT_EV_LAUNCH);
    z(&threads[thread], (int64_t)(corr - thread_corr[thread]));
    thread_corr[thread] = corr;
    event(thread, LPOT_EV_RETURN);
    if (gpu.len > FLUSH - 64)
        flush(&gpu);
    byte(&gpu, LPOT_GPU_KERNEL);
    v(&gpu, which);
    z(&gpu, (int64_t)(real_0 + now_ns + 2000 - gpu_last));
    gpu_last = real_0 + now_ns + 2000;
    v(&gpu, 200 + which);
    z(&gpu, (int64_t)(corr - gpu_corr));
    gpu_corr = corr;
    kernels++;
}

static void define(void)
{
    char name[32];

    for (unsigned i = 1; i <= 1 + LAYERS + MODULES + KERNELS; i++) {
        other.kind = LPOT_DEFS;
        if (i == 1)
            strcpy(name, "step");
        else if (i <= 1 + LAYERS)
            snprintf(name, sizeof name, "layer%u", i - 2);
        else if (i <= 1 + LAYERS + MODULES)
            snprintf(name, sizeof name, "module%u", i - 2 - LAYERS);
        else
            snprintf(name, sizeof name, "kernel%u", i - 2 - LAYERS - MODULES);
        byte(&other, LPOT_DEF_STRING);
        text(&other, name);
    }
    flush(&other);
    for (unsigned i = 0; launches && i < KERNELS; i++) {
        static const uint8_t place[] = { LPOT_GPU_PLACE, 0, 1, 7 };

        for (unsigned k = 0; !i && k < sizeof place; k++)
            byte(&gpu, place[k]);
        byte(&gpu, LPOT_GPU_SHAPE);
        v(&gpu, 2 + LAYERS + MODULES + i);
        for (unsigned k = 0; k < 11; k++)
            v(&gpu, k < 6 ? 32 : 0);
    }
}

static void step(unsigned thread)
{
    uint64_t outer = enter(thread, 1);

    for (unsigned layer = 0; layer < LAYERS; layer++) {
        uint64_t middle = enter(thread, 2 + layer);

        for (unsigned m = 0; m < MODULES; m++) {
            uint64_t inner = enter(thread, 2 + LAYERS + m);

            if (launches)
                kernel(thread, (layer + m) % KERNELS);
            leave(thread, inner);
        }
        leave(thread, middle);
    }
    leave(thread, outer);
}

int main(int argc, char **argv)
{
    uint64_t want, steps = 0;
    uint8_t preamble[LPOT_PREAMBLE_BYTES] = { 0 };

    if (argc != 4 || !(out = fopen(argv[1], "wb"))) {
        fprintf(stderr, "usage: make_native OUT MEGABYTES ranges|kernels|start-end|names\n");
        return 2;
    }
    want = strtoull(argv[2], NULL, 10) * 1000000;
    start_end = !strcmp(argv[3], "start-end");
    own_names = !strcmp(argv[3], "names");
    launches = !strcmp(argv[3], "kernels");
    memcpy(preamble, LPOT_MAGIC, 8);
    put_u(preamble + 8, LPOT_MAJOR, 2);
    put_u(preamble + 10, LPOT_MINOR, 2);
    written += fwrite(preamble, 1, sizeof preamble, out);
    other.kind = LPOT_FACTS;
    text(&other, "pid");
    text(&other, "4242");
    text(&other, "clock");
    text(&other, "tsc");
    flush(&other);
    other.sequence = 0;
    gpu.kind = LPOT_GPU;
    for (unsigned i = 1; i <= THREADS; i++)
        threads[i] = (struct bytes){ .kind = LPOT_THREAD, .stream = i };
    define();
    while (written < want)
        step(1 + (unsigned)(steps++ / 64 % THREADS));
    for (unsigned i = 1; i <= THREADS; i++)
        if (threads[i].len)
            flush(&threads[i]);
    if (gpu.len)
        flush(&gpu);
    other = (struct bytes){ .kind = LPOT_FOOTER };
    flush(&other);
    printf("%llu %llu %llu\n", (unsigned long long)ranges, (unsigned long long)kernels,
           (unsigned long long)steps);
    return fclose(out) != 0;
}
