/* SPDX-License-Identifier: Apache-2.0 */
/* trace/link.h - GPU operations and the host calls that launched them, joined by correlation id.
 *
 * The one join of all readers. Both sides come in any order. One table per file; where ids are of a
 * process and the process is known, it is part of the id. Of a runtime call and the driver call
 * inside it, which share an id, the outer one is the launch. */
#pragma once

#include "util/base.h"

struct lpo_trace;
struct lpo_trace_links;

enum lpo_call_kind {
    LPO_CALL_GRAPH = 1,  /* it launches a graph */
    LPO_CALL_KERNEL = 2, /* it launches a kernel */
};

/* A host call with a correlation id. */
struct lpo_call {
    int64_t start_ns, end_ns;
    uint32_t thread;
    uint16_t process; /* calls of two processes under one id stay apart */
    uint8_t kind;     /* enum lpo_call_kind; 0: any other */
    uint32_t path;    /* as in struct lpo_launch */
    uint32_t call;    /* one more than its row of calls, which goes if it launched something; 0 */
};

struct lpo_trace_links *lpo_trace_links_create(size_t expected); /* ids; 0 when unknown */
void lpo_trace_links_destroy(struct lpo_trace_links *l);         /* NULL is fine */
LPO_AUTO_DEFINE(lpo_trace_links);

void lpo_trace_links_call(struct lpo_trace_links *l, int64_t correlation,
                          const struct lpo_call *call);

/* Did a GPU operation ask for this id? Where all of them come first, other calls need no place. */
bool lpo_trace_links_wanted(const struct lpo_trace_links *l, int64_t correlation);
/* This id is looked up soon: see lpo_map_u64_prefetch(). */
void lpo_trace_links_prefetch(const struct lpo_trace_links *l, int64_t correlation);

/* The GPU operation in row `op` of the trace was launched under this id; its call may still come.
 * Rows come in rising order. The row gets its launch in lpo_trace_links_resolve(). */
void lpo_trace_links_op(struct lpo_trace_links *l, uint32_t op, int64_t correlation);

/* Rows of calls that are launches go. Sets the launch of every row that lpo_trace_links_op() was
 * called for, LPO_NONE where no call was seen, and its process. Calls without a GPU operation do
 * not become launches. Where two processes used one id, the operation takes the call that began
 * last before it. The last thing that is done with the table but lpo_trace_links_idle(): it only
 * needs to be destroyed afterwards. */
void lpo_trace_links_resolve(struct lpo_trace_links *l, struct lpo_trace *t);

/* After that: each call that launched a kernel, but no GPU operation came of it. */
void lpo_trace_links_idle(const struct lpo_trace_links *l,
                          void (*take)(void *ctx, const struct lpo_call *call), void *ctx);
