/* SPDX-License-Identifier: Apache-2.0 */
/* What the allocator held when the snapshot was taken: segments of the GPU, cut into blocks. */
#include "trace/snapshot/private.h"
#include "trace/trace.h"

enum { MOST_POOLS = 4096 };

struct segment {
    bool in_use;
    int64_t free_bytes;
};

static struct lpo_memory_pool *pool_of(struct snapshot *s, uint32_t allocator,
                                       const struct lpo_pickle_value *segment)
{
    const struct lpo_pickle_value *id = lpo_snapshot_pickle_get(segment, "segment_pool_id");
    struct lpo_memory_pool p = {
        .allocator = allocator,
        .large = lpo_snapshot_pickle_is(lpo_snapshot_pickle_text(segment, "segment_type"), "large"),
        .stream = lpo_snapshot_pickle_int(segment, "stream", 0),
    };
    struct lpo_pickle_walk w = { 0 };

    for (int i = 0; i < 2; i++) {
        const struct lpo_pickle_value *part = lpo_snapshot_pickle_next(id, &w);

        p.graph[i] = part && part->kind == LPO_PICKLE_INT ? part->integer : 0;
    }
    for (size_t i = 0; i < s->t->memory_pools.len; i++) {
        struct lpo_memory_pool *o = &s->t->memory_pools.at[i];

        if (o->allocator == allocator && o->large == p.large && o->stream == p.stream &&
            o->graph[0] == p.graph[0] && o->graph[1] == p.graph[1])
            return o;
    }
    if (s->t->memory_pools.len == MOST_POOLS) /* the last one has the rest */
        return &s->t->memory_pools.at[MOST_POOLS - 1];
    lpo_vec_push(&s->t->memory_pools, p);
    return &s->t->memory_pools.at[s->t->memory_pools.len - 1];
}

/* Older snapshots do not say what was asked for: the block is what is known. */
static int64_t asked_for(const struct lpo_pickle_value *block, int64_t size)
{
    int64_t requested = lpo_snapshot_pickle_int(block, "requested_size", size);

    return requested > 0 && requested <= size ? requested : size;
}

/* Until 2023 the stack of a block was in the newest entry of its history. */
static const struct lpo_pickle_value *frames_of(const struct lpo_pickle_value *block)
{
    const struct lpo_pickle_value *frames = lpo_snapshot_pickle_get(block, "frames");
    struct lpo_pickle_walk w = { 0 };

    if (frames)
        return frames;
    return lpo_snapshot_pickle_get(
        lpo_snapshot_pickle_next(lpo_snapshot_pickle_get(block, "history"), &w), "frames");
}

static void add_block(struct snapshot *s, struct snapshot_gpu *g, struct lpo_memory_pool *p,
                      struct segment *around, const struct lpo_pickle_value *block,
                      uint64_t *address)
{
    const struct lpo_pickle_value *state = lpo_snapshot_pickle_text(block, "state");
    int64_t size = lpo_snapshot_bytes(s, block, "size");
    /* older snapshots give the address of the segment alone: blocks lie one after the other */
    uint64_t at = (uint64_t)lpo_snapshot_pickle_int(block, "address", (int64_t)*address);

    if (size < 0)
        return;
    *address = at + (uint64_t)size;
    if (lpo_snapshot_pickle_is(state, "inactive")) {
        lpo_snapshot_add(s, &p->free_bytes, size);
        lpo_snapshot_add(s, &around->free_bytes, size);
        p->largest_free = size > p->largest_free ? size : p->largest_free;
        return;
    }
    around->in_use = true;
    lpo_snapshot_add(s, &p->active, size);
    lpo_snapshot_add(s, &g->active, asked_for(block, size));
    lpo_snapshot_add(s, &g->pool_active[p->large], asked_for(block, size));
    if (!lpo_snapshot_pickle_is(state, "active_allocated"))
        return; /* given back, but another stream may still use it */
    lpo_snapshot_add(s, &p->allocated, size);
    lpo_snapshot_add(s, &p->requested, asked_for(block, size));
    lpo_snapshot_add(s, &g->requested, asked_for(block, size));
    lpo_vec_push(&g->blocks, (struct snapshot_block){ at, asked_for(block, size),
                                                      lpo_snapshot_owner(s, frames_of(block)) });
}

static void add_segment(struct snapshot *s, const struct lpo_pickle_value *segment)
{
    struct snapshot_gpu *g = lpo_snapshot_gpu(s, lpo_snapshot_pickle_int(segment, "device", 0));
    const struct lpo_pickle_value *blocks = lpo_snapshot_pickle_get(segment, "blocks"), *block;
    uint64_t address = (uint64_t)lpo_snapshot_pickle_int(segment, "address", 0);
    int64_t total = g ? lpo_snapshot_bytes(s, segment, "total_size") : -1;
    struct lpo_pickle_walk w = { 0 };
    struct segment around = { 0 };
    struct lpo_memory_pool *p;

    if (total < 0)
        return;
    p = pool_of(s, g->allocator, segment);
    p->segments++;
    lpo_snapshot_add(s, &p->reserved, total);
    lpo_snapshot_add(s, &g->reserved, total);
    lpo_snapshot_add(s, &g->pool_reserved[p->large], total);
    while (lpo_snapshot_step(s) && (block = lpo_snapshot_pickle_next(blocks, &w)))
        add_block(s, g, p, &around, block, &address);
    if (around.in_use)
        lpo_snapshot_add(s, &p->split_bytes, around.free_bytes);
}

void lpo_snapshot_segments(struct snapshot *s, const struct lpo_pickle_value *segments)
{
    const struct lpo_pickle_value *segment;
    struct lpo_pickle_walk w = { 0 };

    while (lpo_snapshot_step(s) && (segment = lpo_snapshot_pickle_next(segments, &w)))
        add_segment(s, segment);
}
