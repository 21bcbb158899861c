/* SPDX-License-Identifier: Apache-2.0 */
/* What the allocators of the GPUs did (profile_memory=True), into the trace: totals over time, and
 * each allocation with the thread that asked for it. */

#include "trace/kineto/private.h"
#include "trace/series.h"

enum {
    MAX_ALLOCATORS = 64,
    MOST_EVENTS = 1 << 21, /* 110 MB; beyond, peaks are exact but have no owners */
};

/* Of an allocator: more is damage. Exact as a double. */
static const int64_t max_bytes = (int64_t)1 << 52;

/* Later is no moment: see trace/times.c. */
static const int64_t clock_end = (int64_t)1 << 61;

/* The allocator of one GPU of this file. */
struct allocator {
    int32_t device; /* as the file numbers it */
    uint32_t row;   /* into allocators of the trace; LPO_NONE: it is left out */
    uint64_t seen;
    struct lpo_series allocated, reserved;
};

struct lpo_kineto_allocations {
    struct lpo_trace *t;
    size_t first_event;
    LPO_VEC(struct allocator) all;
};

struct lpo_kineto_allocations *lpo_kineto_allocations_create(struct lpo_trace *t)
{
    struct lpo_kineto_allocations *a = lpo_xcalloc(1, sizeof *a);

    a->t = t;
    a->first_event = t->memory_events.len;
    return a;
}

void lpo_kineto_allocations_destroy(struct lpo_kineto_allocations *a)
{
    if (!a)
        return;
    for (size_t i = 0; i < a->all.len; i++) {
        lpo_vec_free(&a->all.at[i].allocated.points);
        lpo_vec_free(&a->all.at[i].reserved.points);
    }
    lpo_vec_free(&a->all);
    free(a);
}

static struct allocator *allocator_of(struct lpo_kineto_allocations *a, int32_t device)
{
    for (size_t i = 0; i < a->all.len; i++)
        if (a->all.at[i].device == device)
            return &a->all.at[i];
    if (a->all.len == MAX_ALLOCATORS)
        return NULL;
    lpo_vec_push(&a->all, (struct allocator){ .device = device, .row = LPO_NONE });
    return &a->all.at[a->all.len - 1];
}

static int64_t plausible(int64_t v)
{
    return v < 0 || v > max_bytes ? LPO_NO_TIME : v;
}

static void add_event(struct lpo_kineto_allocations *a, const struct allocator *of,
                      const struct kineto_event *e, uint32_t thread)
{
    if (e->bytes == LPO_NO_TIME || e->bytes > max_bytes || e->bytes < -max_bytes ||
        e->address == LPO_NO_TIME || a->t->memory_events.len >= MOST_EVENTS)
        return;
    lpo_vec_push(&a->t->memory_events,
                 (struct lpo_memory_event){ .ns = e->start_ns,
                                            .bytes = e->bytes,
                                            .allocated = plausible(e->allocated),
                                            .reserved = plausible(e->reserved),
                                            .address = (uint64_t)e->address,
                                            .allocator = (uint32_t)(of - a->all.at),
                                            .thread = thread,
                                            .owner = LPO_NONE });
}

bool lpo_kineto_allocations_wanted(const struct kineto_event *e)
{
    return e->device_type != 0 && e->device_id >= 0 && e->device_id <= INT32_MAX;
}

void lpo_kineto_allocations_add(struct lpo_kineto_allocations *a, const struct kineto_event *e,
                                uint32_t thread)
{
    struct allocator *of = allocator_of(a, (int32_t)e->device_id);

    if (!of)
        return;
    of->seen++;
    if (plausible(e->allocated) != LPO_NO_TIME)
        lpo_trace_series_add(&of->allocated, e->start_ns, (double)e->allocated);
    if (plausible(e->reserved) != LPO_NO_TIME)
        lpo_trace_series_add(&of->reserved, e->start_ns, (double)e->reserved);
    add_event(a, of, e, thread);
}

size_t lpo_kineto_allocations_count(const struct lpo_kineto_allocations *a)
{
    return a->all.len;
}

int32_t lpo_kineto_allocations_device(const struct lpo_kineto_allocations *a, size_t i)
{
    return a->all.at[i].device;
}

static int64_t on_clock(int64_t ns)
{
    return ns > clock_end ? clock_end : ns < -clock_end ? -clock_end : ns;
}

static void settle_series(struct lpo_trace *t, const struct lpo_series *from, const char *name,
                          uint16_t device, int64_t shift)
{
    uint32_t row;

    if (!from->points.len)
        return;
    row = lpo_trace_series(t, LPO_SERIES_MEMORY, name, "B", device);
    if (row == LPO_NONE)
        return;
    for (size_t i = 0; i < from->points.len; i++)
        lpo_trace_series_add(&t->series.at[row], on_clock(from->points.at[i].ns + shift),
                             from->points.at[i].value);
    t->series.at[row].seen += from->seen - from->points.len;
    lpo_trace_series_sort(&t->series.at[row]);
}

void lpo_kineto_allocations_settle(struct lpo_kineto_allocations *a, size_t i, uint16_t device,
                                   int64_t shift)
{
    struct allocator *of = &a->all.at[i];

    settle_series(a->t, &of->allocated, "Allocated", device, shift);
    settle_series(a->t, &of->reserved, "Reserved", device, shift);
    of->row = (uint32_t)a->t->allocators.len;
    lpo_vec_push(&a->t->allocators, (struct lpo_allocator){ .device = device,
                                                            .source = LPO_ALLOCATOR_KINETO,
                                                            .gpu_free_bytes = LPO_NO_TIME,
                                                            .refused_owner = LPO_NONE,
                                                            .seen = of->seen });
}

void lpo_kineto_allocations_finish(struct lpo_kineto_allocations *a, const uint32_t *threads,
                                   int64_t shift)
{
    struct lpo_trace *t = a->t;
    size_t to = a->first_event;

    for (size_t i = a->first_event; i < t->memory_events.len; i++) {
        struct lpo_memory_event e = t->memory_events.at[i];

        e.allocator = a->all.at[e.allocator].row;
        if (e.allocator == LPO_NONE)
            continue;
        e.ns = on_clock(e.ns + shift);
        e.thread = threads[e.thread];
        t->memory_events.at[to++] = e;
    }
    t->memory_events.len = to;
}
