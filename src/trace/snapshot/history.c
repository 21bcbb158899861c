/* SPDX-License-Identifier: Apache-2.0 */
/* What the allocator did before the snapshot was taken.
 *
 * The file has the last events, and the state behind the last one. Taking all of them away from
 * that state gives the state before the first, so that every moment between is exact, also where
 * the allocator worked long before it was asked to record. */
#include "trace/series.h"
#include "trace/snapshot/private.h"
#include "trace/trace.h"
#include "util/map.h"

enum quantity { REQUESTED, ACTIVE, RESERVED, QUANTITIES };

static const char *const series_names[QUANTITIES] = {
    [REQUESTED] = "Allocated (snapshot)",
    [ACTIVE] = "Active (snapshot)",
    [RESERVED] = "Reserved (snapshot)",
};

/* How each kind of event changes each quantity. */
static const struct action {
    const char *name;
    signed char change[QUANTITIES];
} actions[] = {
    { "alloc", { 1, 1, 0 } },           { "free_requested", { -1, 0, 0 } },
    { "free_completed", { 0, -1, 0 } }, { "free", { -1, -1, 0 } }, /* of the first version */
    { "segment_alloc", { 0, 0, 1 } },   { "segment_free", { 0, 0, -1 } },
    { "segment_map", { 0, 0, 1 } },     { "segment_unmap", { 0, 0, -1 } },
};

struct history {
    struct snapshot *s;
    size_t gpu; /* into s->gpus */
    int64_t now[QUANTITIES];
    int64_t last_ns;
    uint64_t untimed;
    uint32_t series[QUANTITIES];
};

static const int64_t most_us = ((int64_t)1 << 61) / 1000;

static const struct action *action_of(const struct lpo_pickle_value *event)
{
    const struct lpo_pickle_value *name = lpo_snapshot_pickle_text(event, "action");

    for (size_t i = 0; name && i < sizeof actions / sizeof *actions; i++)
        if (lpo_snapshot_pickle_is(name, actions[i].name))
            return &actions[i];
    return NULL;
}

/* The first event that has a time: that of what was there before. */
static int64_t begin_ns(const struct lpo_pickle_value *events)
{
    struct lpo_pickle_walk w = { 0 };
    int64_t us = lpo_snapshot_pickle_int(lpo_snapshot_pickle_next(events, &w), "time_us", 0);

    return us > -most_us && us < most_us ? us * 1000 : 0;
}

/* Never backwards: the order of the file is that of what happened. */
static int64_t time_of(struct history *h, const struct lpo_pickle_value *event)
{
    int64_t us = lpo_snapshot_pickle_int(event, "time_us", INT64_MIN);

    if (us > -most_us && us < most_us && us * 1000 >= h->last_ns)
        h->last_ns = us * 1000;
    else
        h->untimed++;
    return h->last_ns;
}

/* The state before the first event, and which addresses were given out since. */
static void go_back(struct history *h, const struct lpo_pickle_value *events,
                    struct lpo_map_u64 *given)
{
    const struct lpo_pickle_value *event;
    struct lpo_pickle_walk w = { 0 };

    while (lpo_snapshot_step(h->s) && (event = lpo_snapshot_pickle_next(events, &w))) {
        const struct action *a = action_of(event);
        int64_t bytes = a ? lpo_snapshot_bytes(h->s, event, "size") : -1;

        if (bytes < 0)
            continue;
        for (int q = 0; q < QUANTITIES; q++)
            lpo_snapshot_add(h->s, &h->now[q], -a->change[q] * bytes);
        if (a == &actions[0])
            lpo_map_u64_put(given, (uint64_t)lpo_snapshot_pickle_int(event, "addr", 0), NULL);
    }
    for (int q = 0; q < QUANTITIES; q++)
        if (h->now[q] < 0) { /* events are missing between the last one and the snapshot */
            h->s->damaged++;
            h->now[q] = 0;
        }
}

static void add_event(struct history *h, uint64_t address, int64_t bytes, uint32_t owner)
{
    const struct snapshot_gpu *g = &h->s->gpus.at[h->gpu];

    lpo_vec_push(&h->s->t->memory_events, (struct lpo_memory_event){ .ns = h->last_ns,
                                                                     .bytes = bytes,
                                                                     .allocated = h->now[REQUESTED],
                                                                     .reserved = h->now[RESERVED],
                                                                     .address = address,
                                                                     .allocator = g->allocator,
                                                                     .thread = LPO_NONE,
                                                                     .owner = owner });
}

/* Blocks that are in use at the end and were before the first event. */
static void add_older(struct history *h, const struct lpo_map_u64 *given)
{
    const struct snapshot_gpu *g = &h->s->gpus.at[h->gpu];

    for (size_t i = 0; i < g->blocks.len; i++)
        if (!lpo_map_u64_find(given, g->blocks.at[i].address))
            add_event(h, g->blocks.at[i].address, g->blocks.at[i].bytes, g->blocks.at[i].owner);
}

static void draw(struct history *h)
{
    for (int q = 0; q < QUANTITIES; q++)
        if (h->series[q] != LPO_NONE)
            lpo_trace_series_add(&h->s->t->series.at[h->series[q]], h->last_ns, (double)h->now[q]);
}

static void note_out_of_memory(struct history *h, const struct lpo_pickle_value *event)
{
    struct lpo_allocator *a = &h->s->t->allocators.at[h->s->gpus.at[h->gpu].allocator];
    int64_t bytes = lpo_snapshot_bytes(h->s, event, "size");

    a->out_of_memory++;
    a->refused_bytes = bytes > a->refused_bytes ? bytes : a->refused_bytes;
}

static void go_forward(struct history *h, const struct lpo_pickle_value *events)
{
    const struct lpo_pickle_value *event;
    struct lpo_pickle_walk w = { 0 };

    while (lpo_snapshot_step(h->s) && (event = lpo_snapshot_pickle_next(events, &w))) {
        const struct action *a = action_of(event);
        int64_t bytes = a ? lpo_snapshot_bytes(h->s, event, "size") : -1;
        uint64_t address = (uint64_t)lpo_snapshot_pickle_int(event, "addr", 0);

        if (lpo_snapshot_pickle_is(lpo_snapshot_pickle_text(event, "action"), "oom"))
            note_out_of_memory(h, event);
        if (bytes < 0)
            continue;
        time_of(h, event);
        for (int q = 0; q < QUANTITIES; q++) {
            lpo_snapshot_add(h->s, &h->now[q], a->change[q] * bytes);
            h->now[q] = h->now[q] < 0 ? 0 : h->now[q];
        }
        draw(h);
        if (a->change[REQUESTED])
            add_event(h, address, a->change[REQUESTED] * bytes,
                      a->change[REQUESTED] > 0
                          ? lpo_snapshot_owner(h->s, lpo_snapshot_pickle_get(event, "frames"))
                          : LPO_NONE);
    }
}

static void replay(struct snapshot *s, size_t gpu, const struct lpo_pickle_value *events)
{
    struct snapshot_gpu *g = &s->gpus.at[gpu];
    struct lpo_map_u64 *given = lpo_map_u64_create(0);
    struct history h = { .s = s,
                         .gpu = gpu,
                         .now = { g->requested, g->active, g->reserved },
                         .last_ns = begin_ns(events) };
    size_t before = s->t->memory_events.len;

    for (int q = 0; q < QUANTITIES; q++)
        h.series[q] = lpo_trace_series(s->t, LPO_SERIES_MEMORY, series_names[q], "B",
                                       s->t->allocators.at[g->allocator].device);
    go_back(&h, events, given);
    draw(&h);
    add_older(&h, given);
    s->t->allocators.at[g->allocator].older = s->t->memory_events.len - before;
    go_forward(&h, events);
    s->t->allocators.at[g->allocator].seen = s->t->memory_events.len - before;
    if (h.untimed)
        lpo_trace_note(s->t, h.untimed, "events of the memory snapshot have no time of their own");
    lpo_map_u64_destroy(given);
}

void lpo_snapshot_history(struct snapshot *s, const struct lpo_pickle_value *device_traces)
{
    static const struct lpo_pickle_value none = { .kind = LPO_PICKLE_NONE };
    const struct lpo_pickle_value *events;
    struct lpo_pickle_walk w = { 0 };
    bool done[64] = { false };
    int64_t id = 0;

    while (lpo_snapshot_step(s) && (events = lpo_snapshot_pickle_next(device_traces, &w)) &&
           id < 64) {
        struct snapshot_gpu *g = NULL;

        if (events->kind == LPO_PICKLE_LIST && events->box->count)
            g = lpo_snapshot_gpu(s, id);
        if (g) {
            replay(s, (size_t)(g - s->gpus.at), events);
            done[id] = true;
        }
        id++;
    }
    for (size_t i = 0; i < s->gpus.len; i++)
        if (!done[s->gpus.at[i].id]) {
            replay(s, i, &none);
            lpo_trace_note(s->t, 0,
                           "GPU %d: the memory snapshot has no history, so its peak is what was in "
                           "use when it was taken (torch.cuda.memory._record_memory_history() "
                           "records one)",
                           s->gpus.at[i].id);
        }
    for (size_t i = 0; i < s->t->series.len; i++)
        lpo_trace_series_sort(&s->t->series.at[i]);
}
