/* trace/link.h - works and the host calls that launched them, joined by correlation id.
 *
 * Both sides come in any order. One table per process (or per file, where works do not say which
 * process they belong to). Of a runtime call and the driver call inside it, which share an id, the
 * outer one is the launch. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "util/auto.h"

struct lpo_trace_links;
struct lpo_trace;

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

/* A work with this id was seen: returns what to keep in its `launch` until
 * lpo_trace_links_resolve(). */
uint32_t lpo_trace_links_work(struct lpo_trace_links *l, int64_t correlation);
void lpo_trace_links_call(struct lpo_trace_links *l, int64_t correlation,
                          const struct lpo_call *call);

/* Turns the `launch` of works [first, …) into rows of t->launches, LPO_NONE where no call was seen.
 * Calls without a work are left out. Where two processes used one id, the work takes the call that
 * began last before it; it gets that call's process. */
void lpo_trace_links_resolve(struct lpo_trace_links *l, struct lpo_trace *t, size_t first);
