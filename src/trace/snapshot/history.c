/* SPDX-License-Identifier: Apache-2.0 */
/* What the allocator did before the snapshot was taken.
 *
 * The file has the last events, and the state behind the last one. Taking all of them away from
 * that state gives the state before the first, so that every moment between is exact, also where
 * the allocator worked long before it was asked to record.
 *
 * A block is given back in two steps: it is requested, and completed when no stream uses it any
 * more. Recordings may leave one of them out (skip_actions): what an event changes depends on what
 * was seen of its block before, so that a block is given back once. */
#include "trace/series.h"
#include "trace/snapshot/private.h"

/* RESERVED_ and IN_USE_ are parts of the first three, by pool. */
enum quantity {
    REQUESTED,
    ACTIVE,
    RESERVED,
    RESERVED_SMALL,
    RESERVED_LARGE,
    IN_USE_SMALL,
    IN_USE_LARGE,
    QUANTITIES
};

/* What is drawn over time: a quantity, less another one. */
static const struct line {
    const char *name;
    enum quantity of, less;
} lines[] = {
    { "Allocated (snapshot)", REQUESTED, QUANTITIES },
    { "Active (snapshot)", ACTIVE, QUANTITIES },
    { "Reserved (snapshot)", RESERVED, QUANTITIES },
    { LPO_SNAPSHOT_UNUSED_LARGE, RESERVED_LARGE, IN_USE_LARGE },
    { LPO_SNAPSHOT_UNUSED_SMALL, RESERVED_SMALL, IN_USE_SMALL },
};

enum { LINES = sizeof lines / sizeof *lines };

/* Above these sizes a block, or a segment, belongs to the large pool. */
static const int64_t small_block = (int64_t)1 << 20, small_segment = (int64_t)2 << 20;

enum event_kind { OTHER, ALLOC, REQUEST, COMPLETE, FREE, SEGMENT_ALLOC, SEGMENT_FREE, OOM };

static const struct action {
    const char *name;
    enum event_kind kind;
} actions[] = {
    { "alloc", ALLOC },
    { "free_requested", REQUEST },
    { "free_completed", COMPLETE },
    { "free", FREE }, /* of the first version */
    { "segment_alloc", SEGMENT_ALLOC },
    { "segment_free", SEGMENT_FREE },
    { "segment_map", SEGMENT_ALLOC },
    { "segment_unmap", SEGMENT_FREE },
    { "oom", OOM },
};

/* A block whose address was seen in an event. */
enum block_state { UNSEEN, LIVE, PENDING, GONE };

struct block {
    int64_t bytes;
    enum block_state state;
};

/* What one event changes. */
struct change {
    enum event_kind kind;
    int64_t bytes;
    signed char requested, active; /* times its bytes */
    int64_t lost_requested,
        lost_active; /* of an older block of this address that nobody gave back */
};

struct history {
    struct snapshot *s;
    size_t gpu; /* into s->gpus */
    int64_t now[QUANTITIES];
    int64_t last_ns;
    uint64_t untimed;
    uint32_t series[LINES];
    LPO_VEC(struct change) changes; /* of each event */
    LPO_VEC(struct block) blocks;
    struct lpo_map_u64 *at;   /* address to a row of blocks */
    bool requests, completes; /* the recording has such events */
};

static const int64_t most_us = ((int64_t)1 << 61) / 1000;

static enum event_kind kind_of(const struct lpo_pickle_value *event)
{
    const struct lpo_pickle_value *name = lpo_snapshot_pickle_text(event, "action");

    for (size_t i = 0; name && i < sizeof actions / sizeof *actions; i++)
        if (lpo_snapshot_pickle_is(name, actions[i].name))
            return actions[i].kind;
    return OTHER;
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

/* --- what each event changes ---------------------------------------------------------------- */

static struct block *block_at(struct history *h, uint64_t address)
{
    bool fresh;
    uint32_t *row = lpo_map_u64_put(h->at, address, &fresh);

    if (fresh) {
        *row = (uint32_t)h->blocks.len;
        lpo_vec_push(&h->blocks, (struct block){ 0, UNSEEN });
    }
    return &h->blocks.at[*row];
}

static void give(struct change *c, struct block *b)
{
    /* it was in use, or still waited for a stream, and its address is given out again */
    c->lost_requested = b->state == LIVE ? b->bytes : 0;
    c->lost_active = b->state == LIVE || b->state == PENDING ? b->bytes : 0;
    c->requested = c->active = 1;
    *b = (struct block){ c->bytes, LIVE };
}

static void give_back(const struct history *h, struct change *c, struct block *b)
{
    bool request = c->kind != COMPLETE, complete = c->kind != REQUEST || !h->completes;

    if (b->state == GONE || (b->state == PENDING && !complete))
        return;
    if (c->kind == COMPLETE) /* of a block from before: its request may be older than the events */
        request = b->state == LIVE || (b->state == UNSEEN && !h->requests);
    c->requested = request ? -1 : 0;
    c->active = complete ? -1 : 0;
    *b = (struct block){ c->bytes, complete ? GONE : PENDING };
}

static void read_changes(struct history *h, const struct lpo_pickle_value *events)
{
    const struct lpo_pickle_value *event;
    struct lpo_pickle_walk w = { 0 };

    while (lpo_snapshot_step(h->s) && (event = lpo_snapshot_pickle_next(events, &w))) {
        struct change c = { .kind = kind_of(event), .bytes = -1 };

        if (c.kind != OTHER)
            c.bytes = lpo_snapshot_bytes(h->s, event, "size");
        if (c.bytes < 0)
            c.kind = OTHER;
        h->requests |= c.kind == REQUEST;
        h->completes |= c.kind == COMPLETE;
        lpo_vec_push(&h->changes, c);
    }
    w = (struct lpo_pickle_walk){ 0 };
    for (size_t i = 0; i < h->changes.len && (event = lpo_snapshot_pickle_next(events, &w)); i++) {
        struct change *c = &h->changes.at[i];

        if (c->kind < ALLOC || c->kind > FREE)
            continue;
        if (c->kind == ALLOC)
            give(c, block_at(h, (uint64_t)lpo_snapshot_pickle_int(event, "addr", 0)));
        else
            give_back(h, c, block_at(h, (uint64_t)lpo_snapshot_pickle_int(event, "addr", 0)));
    }
}

/* Adds what the event changed, or takes it away. */
static void apply(struct history *h, const struct change *c, int sign)
{
    int64_t by[QUANTITIES] = { 0 };
    int64_t active = c->active * c->bytes - c->lost_active;

    by[REQUESTED] = c->requested * c->bytes - c->lost_requested;
    by[ACTIVE] = active;
    by[c->bytes > small_block ? IN_USE_LARGE : IN_USE_SMALL] = active;
    if (c->kind == SEGMENT_ALLOC || c->kind == SEGMENT_FREE) {
        by[RESERVED] = c->kind == SEGMENT_ALLOC ? c->bytes : -c->bytes;
        by[c->bytes > small_segment ? RESERVED_LARGE : RESERVED_SMALL] = by[RESERVED];
    }
    for (int q = 0; q < QUANTITIES; q++)
        if (by[q])
            lpo_snapshot_add(h->s, &h->now[q], sign * by[q]);
}

/* The state before the first event. */
static void go_back(struct history *h)
{
    for (size_t i = 0; i < h->changes.len; i++)
        apply(h, &h->changes.at[i], -1);
    for (int q = 0; q < QUANTITIES; q++)
        if (h->now[q] < 0) { /* events are missing between the last one and the snapshot */
            h->s->damaged += q <= RESERVED;
            h->now[q] = 0;
        }
}

/* --- what happened -------------------------------------------------------------------------- */

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

/* Blocks that are in use at the end and were before the first event, and blocks that were given
 * back without having been seen before: there they have no owner. */
static void add_older(struct history *h)
{
    const struct snapshot_gpu *g = &h->s->gpus.at[h->gpu];

    for (size_t i = 0; i < g->blocks.len; i++) {
        const uint32_t *row = lpo_map_u64_find(h->at, g->blocks.at[i].address);

        if (!row || h->blocks.at[*row].state != LIVE)
            add_event(h, g->blocks.at[i].address, g->blocks.at[i].bytes, g->blocks.at[i].owner);
    }
}

static void draw(struct history *h)
{
    for (int i = 0; i < LINES; i++) {
        int64_t value = h->now[lines[i].of];

        if (lines[i].less != QUANTITIES)
            value -= h->now[lines[i].less];
        if (h->series[i] != LPO_NONE)
            lpo_trace_series_add(&h->s->t->series.at[h->series[i]], h->last_ns,
                                 value > 0 ? (double)value : 0);
    }
}

/* Of several requests that failed the largest one is kept: the first of equal ones. */
static void note_out_of_memory(struct history *h, const struct lpo_pickle_value *event,
                               int64_t bytes)
{
    struct lpo_allocator *a = &h->s->t->allocators.at[h->s->gpus.at[h->gpu].allocator];
    int64_t left = lpo_snapshot_pickle_int(event, "device_free", -1);

    if (a->out_of_memory++ && bytes <= a->refused_bytes)
        return;
    a->refused_bytes = bytes;
    a->gpu_free_bytes = left >= 0 && left < SNAPSHOT_MOST_BYTES ? left : LPO_NO_TIME;
    a->refused_ns = h->last_ns;
    a->refused_owner = lpo_snapshot_owner(h->s, lpo_snapshot_pickle_get(event, "frames"));
}

static void go_forward(struct history *h, const struct lpo_pickle_value *events)
{
    const struct lpo_pickle_value *event;
    struct lpo_pickle_walk w = { 0 };

    for (size_t i = 0; i < h->changes.len && (event = lpo_snapshot_pickle_next(events, &w)); i++) {
        const struct change *c = &h->changes.at[i];

        if (c->kind == OTHER)
            continue;
        time_of(h, event);
        if (c->kind == OOM) {
            note_out_of_memory(h, event, c->bytes);
            continue;
        }
        apply(h, c, 1);
        for (int q = 0; q < QUANTITIES; q++)
            h->now[q] = h->now[q] < 0 ? 0 : h->now[q];
        draw(h);
        if (c->requested)
            add_event(h, (uint64_t)lpo_snapshot_pickle_int(event, "addr", 0),
                      c->requested * c->bytes,
                      lpo_snapshot_owner(h->s, lpo_snapshot_pickle_get(event, "frames")));
    }
}

static void replay(struct snapshot *s, size_t gpu, const struct lpo_pickle_value *events)
{
    struct snapshot_gpu *g = &s->gpus.at[gpu];
    struct history h = { .s = s,
                         .gpu = gpu,
                         .now = { g->requested, g->active, g->reserved, g->pool_reserved[0],
                                  g->pool_reserved[1], g->pool_active[0], g->pool_active[1] },
                         .last_ns = begin_ns(events),
                         .at = lpo_map_u64_create(0) };
    size_t before = s->t->memory_events.len;

    for (int i = 0; i < LINES; i++)
        h.series[i] = lpo_trace_series(s->t, LPO_SERIES_MEMORY, lines[i].name, "B",
                                       s->t->allocators.at[g->allocator].device);
    read_changes(&h, events);
    go_back(&h);
    draw(&h);
    add_older(&h);
    s->t->allocators.at[g->allocator].older = s->t->memory_events.len - before;
    go_forward(&h, events);
    s->t->allocators.at[g->allocator].seen = s->t->memory_events.len - before;
    if (h.untimed)
        lpo_trace_note(s->t, h.untimed, "events of the memory snapshot have no time of their own");
    lpo_map_u64_destroy(h.at);
    lpo_vec_free(&h.changes);
    lpo_vec_free(&h.blocks);
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
