/* SPDX-License-Identifier: Apache-2.0 */
/* tests/region/build.h - traces from one line of text, so that a case reads like a picture.
 *
 *     "A 0-100  A1 10-40  k 20-22=500"
 *
 * NAME START-END is a push/pop range of the current thread; `S:NAME 5-9` a start/end range; `k
 * L0-L1=NS` a launch call with a kernel of NS nanoseconds on the GPU, `k:NAME` one of that name; `k
 * L0-L1=NS^T` one of a CUDA graph, captured at T on the same thread; `@2` goes on with thread 2,
 * `#2` with process 2. A range ending in `…` (three dots) is never closed.
 *
 * build_trace() fills a trace directly. build_files.h writes the same text as files of the formats
 * that lpo reads. */
#pragma once

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "trace/trace.h"
#include "util/vec.h"

enum build_kind { BUILD_PUSH_POP, BUILD_START_END, BUILD_KERNEL };

#define BUILD_NO_CAPTURE INT64_MIN

/* One thing of the text. */
struct build_item {
    enum build_kind kind;
    const char *name;      /* points into the text of the list */
    int64_t start, end;    /* of the range, or of the launch call */
    int64_t gpu_start, ns; /* kernels: one after the other, whoever launched them */
    int64_t capture;       /* BUILD_NO_CAPTURE: not of a graph */
    int process, thread;   /* numbers of the text, from 1 */
    bool open;             /* never closed */
};

struct build_list {
    char *text;
    LPO_VEC(struct build_item) at;
};

static inline void build_span(struct build_item *item, const char *span, int64_t *gpu_ns)
{
    char *end;

    item->start = strtoll(span, &end, 10);
    item->end = strtoll(end + 1, &end, 10);
    item->open = strstr(end, "...") != NULL;
    item->capture = BUILD_NO_CAPTURE;
    if (item->kind != BUILD_KERNEL)
        return;
    item->ns = *end == '=' ? strtoll(end + 1, &end, 10) : 1;
    if (*end == '^')
        item->capture = strtoll(end + 1, NULL, 10);
    item->gpu_start = *gpu_ns;
    *gpu_ns += item->ns;
}

static inline struct build_list build_parse(const char *text)
{
    struct build_list list = { .text = strdup(text) };
    struct build_item now = { .process = 1, .thread = 1 };
    int64_t gpu_ns = 1000000;
    char *save = NULL;

    for (char *w = strtok_r(list.text, " \n", &save); w; w = strtok_r(NULL, " \n", &save)) {
        if (w[0] == '@') {
            now.thread = atoi(w + 1);
            continue;
        }
        if (w[0] == '#') {
            now.process = atoi(w + 1);
            now.thread = 1;
            continue;
        }
        now.kind = strncmp(w, "S:", 2) == 0                          ? BUILD_START_END
                   : strcmp(w, "k") == 0 || strncmp(w, "k:", 2) == 0 ? BUILD_KERNEL
                                                                     : BUILD_PUSH_POP;
        now.name = now.kind == BUILD_PUSH_POP ? w : w[1] ? w + 2 : "kernel";
        build_span(&now, strtok_r(NULL, " \n", &save), &gpu_ns);
        lpo_vec_push(&list.at, now);
    }
    return list;
}

static inline void build_free(struct build_list *list)
{
    free(list->text);
    lpo_vec_free(&list->at);
}

static inline void build_kernel(struct lpo_trace *t, const struct build_item *item, uint32_t thread)
{
    struct lpo_gpu_op op = { .start_ns = item->gpu_start,
                             .end_ns = item->gpu_start + item->ns,
                             .name = lpo_trace_name(t, item->name),
                             .launch = (uint32_t)t->launches.len,
                             .stack = LPO_NONE,
                             .capture = LPO_NONE,
                             .shape = LPO_NONE,
                             .metrics = LPO_NONE,
                             .stream = 7,
                             .process = t->threads.at[thread].process,
                             .device = lpo_trace_device(t, 0, -1),
                             .kind = LPO_KERNEL };

    lpo_vec_push(&t->launches, (struct lpo_launch){ item->start, item->end, thread });
    if (item->capture != BUILD_NO_CAPTURE) {
        op.flags |= LPO_GPU_OP_GRAPH;
        op.capture = (uint32_t)t->captures.len;
        lpo_vec_push(&t->captures, (struct lpo_capture){ item->capture, thread });
    }
    lpo_vec_push(&t->gpu_ops, op);
}

static inline struct lpo_trace *build_trace(const char *text)
{
    struct lpo_trace *t = lpo_trace_create();
    struct build_list list = build_parse(text);

    lpo_trace_thread(t, lpo_trace_process(t, 1, -1), 1);
    lpo_trace_device(t, 0, -1);
    for (size_t i = 0; i < list.at.len; i++) {
        const struct build_item *item = &list.at.at[i];
        uint32_t thread =
            lpo_trace_thread(t, lpo_trace_process(t, item->process, -1), item->thread);

        if (item->kind == BUILD_KERNEL)
            build_kernel(t, item, thread);
        else
            lpo_vec_push(
                &t->ranges,
                (struct lpo_range){ item->start, item->end, lpo_trace_name(t, item->name), thread,
                                    0, item->kind == BUILD_START_END ? LPO_START_END : LPO_PUSH_POP,
                                    item->open ? LPO_RANGE_OPEN : 0 });
    }
    build_free(&list);
    t->has_ranges = true;
    return t;
}
