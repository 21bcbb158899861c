/* SPDX-License-Identifier: Apache-2.0 */
/* tests/analysis/findings_trace.h - traces made by hand for the tests of findings. Times are
 * microseconds. */
#pragma once

#include "../unit.h"

#include "analysis/findings/findings.h"
#include "trace/trace.h"

enum how { KERNEL, GRAPH, TO_HOST, TO_DEVICE };

/* `launch` is a row of the calls, counted from 1; 0: no launch record. */
struct op {
    const char *name;
    int64_t start, end;
    int launch;
    enum how how;
    int64_t bytes;
    uint32_t stream;
};

struct span {
    const char *name;
    int64_t start, end;
};

static inline int64_t us(int64_t n)
{
    return n * 1000;
}

static inline void push_op(struct lpo_trace *t, const struct op *o, int64_t shift,
                           size_t first_call, uint16_t device)
{
    lpo_vec_push(
        &t->gpu_ops,
        (struct lpo_gpu_op){
            .start_ns = us(o->start + shift),
            .end_ns = us(o->end + shift),
            .bytes = (uint64_t)o->bytes,
            .name = lpo_trace_name(t, o->name),
            .launch = o->launch ? (uint32_t)(first_call + (size_t)o->launch - 1) : LPO_NONE,
            .stack = LPO_NONE,
            .capture = LPO_NONE,
            .shape = LPO_NONE,
            .metrics = LPO_NONE,
            .stream = o->stream,
            .device = device,
            .kind = o->how == TO_HOST || o->how == TO_DEVICE ? LPO_COPY : LPO_KERNEL,
            .flags = o->how == GRAPH ? LPO_GPU_OP_GRAPH : 0 });
}

static inline void push_call(struct lpo_trace *t, const struct span *c, int64_t shift)
{
    uint32_t thread = lpo_trace_thread(t, 0, 1);

    lpo_vec_push(&t->launches,
                 (struct lpo_launch){ us(c->start + shift), us(c->end + shift), thread });
    lpo_vec_push(&t->calls, (struct lpo_api_call){ us(c->start + shift), us(c->end + shift),
                                                   lpo_trace_name(t, c->name), thread });
}

static inline struct lpo_trace *empty_trace(void)
{
    struct lpo_trace *t = lpo_trace_create();
    uint16_t process = lpo_trace_process(t, 1, -1);

    t->processes.at[process].has_calls = true;
    lpo_trace_thread(t, process, 1);
    return t;
}

static inline void push_range(struct lpo_trace *t, const char *name, int64_t start, int64_t end)
{
    lpo_vec_push(&t->ranges, (struct lpo_range){ .start_ns = us(start),
                                                 .end_ns = us(end),
                                                 .name = lpo_trace_name(t, name),
                                                 .thread = lpo_trace_thread(t, 0, 1) });
}

static inline const struct lpo_evidence *evidence(const struct lpo_finding *f, enum lpo_fact fact)
{
    for (size_t i = 0; i < f->nevidence; i++)
        if (f->evidence[i].fact == fact)
            return &f->evidence[i];
    fail_msg("fact %d is missing", (int)fact);
    return NULL;
}
