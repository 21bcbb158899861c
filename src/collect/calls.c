/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/calls.h"

#include <string.h>

#include "collect/cupti_abi.h"
#include "collect/name.h"
#include "collect/thread.h"

/* Queries that are further apart than this part of a millisecond are not one loop. */
enum { LOOP_GAP_PART = 10 };

/* A name from CUPTI may end with the version of its interface: "cudaMalloc_v3020". */
static size_t plain_length(const char *function)
{
    size_t len = strnlen(function, LPOC_NAME_MAX), at = len;

    while (at && function[at - 1] >= '0' && function[at - 1] <= '9')
        at--;
    return len - at >= 4 && at > 2 && function[at - 1] == 'v' && function[at - 2] == '_' ? at - 2
                                                                                         : len;
}

static uint32_t name_of(struct lpoc_thread *t, const char *function)
{
    struct lpoc_name name = { 0 };

    if (function)
        name = lpoc_namen(t, function, plain_length(function));
    return name.id == LPOC_NAME_FULL ? 0 : name.id;
}

static void append(struct lpoc_thread *t, const struct lpoc_call *call)
{
    struct lpoc_calls *c = &t->calls;

    if (c->committed == LPOC_CALLS || call->end >= t->write_at_ticks)
        lpoc_thread_write(t, call->end);
    c->at[c->committed] = *call;
    __atomic_store_n(&c->committed, c->committed + 1, __ATOMIC_RELEASE);
}

void lpoc_queries_over(struct lpoc_thread *t)
{
    struct lpoc_call loop = t->calls.queries;

    t->calls.queries.count = 0;
    if (loop.count > 1) /* one alone waits for nothing */
        append(t, &loop);
}

void lpoc_call_begin(struct lpoc_thread *t, int domain, uint32_t id, uint64_t now)
{
    struct lpoc_calls *c = &t->calls;

    if (c->domain == CUPTI_DOMAIN_RUNTIME && domain == CUPTI_DOMAIN_DRIVER)
        return;
    c->domain = domain;
    c->id = id;
    c->start = now;
}

/* False for a call inside another, and for one whose beginning was not seen. */
static bool take_running(struct lpoc_calls *c, int domain, uint32_t id)
{
    if (c->domain != domain || c->id != id)
        return false;
    c->domain = 0;
    return true;
}

void lpoc_call_end(struct lpoc_thread *t, int domain, uint32_t id, const char *function,
                   uint64_t now)
{
    struct lpoc_call call = { .start = t->calls.start, .end = now, .count = 1 };

    if (!take_running(&t->calls, domain, id))
        return;
    if (LPOC_RARE(t->calls.queries.count))
        lpoc_queries_over(t);
    call.name = name_of(t, function);
    append(t, &call);
}

void lpoc_query_end(struct lpoc_thread *t, int domain, uint32_t id, const char *function,
                    uint64_t now)
{
    struct lpoc_call *q = &t->calls.queries;
    uint64_t start = t->calls.start;
    uint32_t name;

    if (!take_running(&t->calls, domain, id))
        return;
    lpoc_count(t->owner, LPOT_COUNT_QUERIES, 1);
    name = name_of(t, function);
    if (q->count &&
        (q->name != name || start - q->end > t->owner->clock.ticks_per_ms / LOOP_GAP_PART))
        lpoc_queries_over(t);
    if (!q->count)
        *q = (struct lpoc_call){ .start = start, .name = name };
    q->end = now;
    q->count++;
}

int lpoc_calls_write(struct lpoc_thread *t)
{
    struct lpoc_calls *c = &t->calls;
    uint32_t end = __atomic_load_n(&c->committed, __ATOMIC_ACQUIRE);
    uint64_t last = 0;
    uint8_t *p = c->block;

    if (end == c->flushed)
        return 0;
    for (uint32_t i = c->flushed; i < end; i++) {
        const struct lpoc_call *call = &c->at[i];

        p = lpoc_put_v(p, call->start - last);
        p = lpoc_put_v(p, call->end > call->start ? call->end - call->start : 0);
        p = lpoc_put_v(p, call->name);
        p = lpoc_put_v(p, call->count);
        last = call->start;
    }
    if (lpoc_write_defs(t->owner) < 0 || lpoc_block(t->owner, LPOT_CALLS, t->number, c->sequence,
                                                    c->block, (size_t)(p - c->block)) < 0)
        return -1;
    c->sequence++;
    c->flushed = end;
    return 0;
}

void lpoc_calls_lose(struct lpoc_thread *t)
{
    uint32_t end = __atomic_load_n(&t->calls.committed, __ATOMIC_ACQUIRE);

    lpoc_count(t->owner, LPOT_COUNT_EVENTS_LOST, end - t->calls.flushed);
    t->calls.flushed = end;
}
