/* trace/link.h - GPU operations and the host calls that launched them, joined by correlation id.
 *
 * The one join of all readers. Both sides come in any order. One table per file. Of a runtime call
 * and the driver call inside it, which share an id, the outer one is the launch. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "util/auto.h"

struct lpo_gpu_op;
struct lpo_trace;
struct lpo_trace_links;

/* A host call with a correlation id. */
struct lpo_call {
    int64_t start_ns, end_ns;
    uint32_t thread;
    uint16_t process; /* calls of two processes under one id stay apart */
    uint8_t graph;    /* it launches a graph */
};

struct lpo_trace_links *lpo_trace_links_create(void);
void lpo_trace_links_destroy(struct lpo_trace_links *l); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_trace_links);

void lpo_trace_links_call(struct lpo_trace_links *l, int64_t correlation,
                          const struct lpo_call *call);

/* The GPU operation in row `op` of the trace was launched under this id; its call may still come.
 * The row gets its launch in lpo_trace_links_resolve(). */
void lpo_trace_links_op(struct lpo_trace_links *l, uint32_t op, int64_t correlation);

/* Sets the launch of every row that lpo_trace_links_op() was called for, LPO_NONE where no call was
 * seen, and its process. Calls without a GPU operation do not become launches. Where two processes
 * used one id, the operation takes the call that began last before it. */
void lpo_trace_links_resolve(struct lpo_trace_links *l, struct lpo_trace *t);

/* The same for one operation at once, for a source whose calls are all known by then. */
void lpo_trace_links_join(struct lpo_trace_links *l, struct lpo_trace *t, int64_t correlation,
                          struct lpo_gpu_op *op);
