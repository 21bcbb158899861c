/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/memory/categories.h"

#include "analysis/memory/memory.h"
#include "trace/trace.h"

LPO_NAMES(lpo_memory_category_name,
          enum lpo_memory_category, [LPO_MEMORY_PARAMETERS] = "parameters",
          [LPO_MEMORY_GRADIENTS] = "gradients", [LPO_MEMORY_STATES] = "optimizer states",
          [LPO_MEMORY_ACTIVATIONS] = "activations", [LPO_MEMORY_TEMPORARY] = "temporary",
          [LPO_MEMORY_OTHER] = "other", [LPO_MEMORY_OLDER] = "before recording",
          [LPO_MEMORY_CATEGORIES] = NULL, [LPO_MEMORY_MIXED] = "several");

struct sorter {
    const struct lpo_trace *t;
    const struct lpo_memory_events *events;
    bool framed;          /* the recording has stacks */
    uint32_t *epoch;      /* of each event: how often the part of the program changed before it */
    size_t last_backward; /* the last event of a backward pass that asked for memory, plus one */
    struct lpo_map_u64 *tensor_sizes; /* of gradients and states: those that parameters have */
    struct lpo_map_u64 *setup_sizes;  /* of what may be a parameter: those that gradients have */
};

static const struct lpo_memory_owner *owner_of(const struct sorter *s, size_t event)
{
    uint32_t owner = s->events->at[event]->owner;

    return owner == LPO_NONE ? NULL : &s->t->memory_owners.at[owner];
}

/* The threads of autograd run no Python: where only Python's frames were recorded they have none.
 */
static enum lpo_memory_phase phase_of(const struct sorter *s, size_t event)
{
    const struct lpo_memory_owner *o = owner_of(s, event);

    if (o)
        return (enum lpo_memory_phase)o->phase;
    return s->framed ? LPO_MEMORY_BACKWARD : LPO_MEMORY_ELSEWHERE;
}

/* Blocks from before the recording may have no stack; they stand before its first event. */
static void find_epochs(struct sorter *s, size_t older)
{
    enum lpo_memory_phase now = LPO_MEMORY_ELSEWHERE;
    uint32_t epoch = 0;

    for (size_t i = older; i < s->events->len && !s->framed; i++)
        s->framed = s->events->at[i]->owner != LPO_NONE;
    for (size_t i = 0; i < s->events->len; i++) {
        enum lpo_memory_phase phase = i < older ? LPO_MEMORY_ELSEWHERE : phase_of(s, i);

        if (s->events->at[i]->bytes > 0 && phase != LPO_MEMORY_ELSEWHERE && phase != now) {
            now = phase;
            epoch++;
        }
        if (s->events->at[i]->bytes > 0 && phase == LPO_MEMORY_BACKWARD)
            s->last_backward = i + 1;
        s->epoch[i] = epoch;
    }
}

/* Given back by the function that asked for it. */
static bool is_local(const struct sorter *s, const struct lpo_memory_block *b)
{
    const struct lpo_memory_owner *from = owner_of(s, b->event),
                                  *to = b->freed == SIZE_MAX ? NULL : owner_of(s, b->freed);

    return from && to && from->function != LPO_NONE && from->function == to->function;
}

static bool same_epoch(const struct sorter *s, const struct lpo_memory_block *b)
{
    return b->freed != SIZE_MAX && s->epoch[b->event] == s->epoch[b->freed];
}

static enum lpo_memory_category of_backward(const struct sorter *s,
                                            const struct lpo_memory_block *b)
{
    if (b->freed == SIZE_MAX) {
        bool later = s->epoch[b->event] < s->epoch[s->events->len - 1];
        uint64_t bytes = (uint64_t)s->events->at[b->event]->bytes;

        return later || lpo_map_u64_find(s->setup_sizes, bytes) ? LPO_MEMORY_GRADIENTS
                                                                : LPO_MEMORY_TEMPORARY;
    }
    return phase_of(s, b->freed) == LPO_MEMORY_BACKWARD ? LPO_MEMORY_TEMPORARY
                                                        : LPO_MEMORY_GRADIENTS;
}

/* What is kept for the backward pass ends in it; a program without one keeps what it passes on. */
static enum lpo_memory_category of_forward(const struct sorter *s, const struct lpo_memory_block *b,
                                           enum lpo_memory_phase phase)
{
    if (b->freed == SIZE_MAX)
        return phase == LPO_MEMORY_FORWARD && s->last_backward <= b->event ? LPO_MEMORY_ACTIVATIONS
                                                                           : LPO_MEMORY_OTHER;
    if (phase_of(s, b->freed) == LPO_MEMORY_BACKWARD)
        return LPO_MEMORY_ACTIVATIONS;
    return is_local(s, b) ? LPO_MEMORY_TEMPORARY : LPO_MEMORY_ACTIVATIONS;
}

static enum lpo_memory_category category_of(const struct sorter *s,
                                            const struct lpo_memory_block *b)
{
    enum lpo_memory_phase phase = phase_of(s, b->event);

    switch (phase) {
    case LPO_MEMORY_SETUP:
        return is_local(s, b) ? LPO_MEMORY_TEMPORARY : LPO_MEMORY_PARAMETERS;
    case LPO_MEMORY_OPTIMIZER:
        return same_epoch(s, b) ||
                       (b->freed != SIZE_MAX && phase_of(s, b->freed) == LPO_MEMORY_OPTIMIZER)
                   ? LPO_MEMORY_TEMPORARY
                   : LPO_MEMORY_STATES;
    case LPO_MEMORY_BACKWARD:
        return of_backward(s, b);
    default:
        return of_forward(s, b, phase);
    }
}

/* The first event from `from` on that gives the address of a block back. */
static void find_ends(const struct lpo_memory_events *e, size_t from,
                      struct lpo_memory_block *blocks, size_t count)
{
    LPO_AUTO(lpo_map_u64) rows = lpo_map_u64_create(count);

    for (size_t i = 0; i < count; i++) {
        blocks[i].freed = SIZE_MAX;
        *lpo_map_u64_put(rows, e->at[blocks[i].event]->address, NULL) = (uint32_t)i;
    }
    for (size_t i = from; i < e->len; i++) {
        const uint32_t *row = lpo_map_u64_find(rows, e->at[i]->address);

        if (row && blocks[*row].freed == SIZE_MAX)
            blocks[*row].freed = i;
    }
}

/* Sizes of scalars say nothing. */
static void note_size(struct lpo_map_u64 *sizes, int64_t bytes)
{
    enum { LEAST = 512 };

    if (bytes >= LEAST)
        lpo_map_u64_put(sizes, (uint64_t)bytes, NULL);
}

void lpo_memory_categories(const struct lpo_trace *t, const struct lpo_memory_events *events,
                           size_t upto, struct lpo_memory_block *blocks, size_t count)
{
    struct sorter s = { .t = t,
                        .events = events,
                        .epoch = lpo_xcalloc(events->len + 1, sizeof *s.epoch),
                        .tensor_sizes = lpo_map_u64_create(0),
                        .setup_sizes = lpo_map_u64_create(0) };
    size_t older = 0;

    while (older < events->len && events->at[older]->ns == events->at[0]->ns &&
           older < t->allocators.at[events->at[0]->allocator].older)
        older++;
    find_ends(events, upto, blocks, count);
    find_epochs(&s, older);
    for (size_t i = 0; i < count; i++) {
        const struct lpo_memory_owner *o = owner_of(&s, blocks[i].event);

        if (o ? o->phase == LPO_MEMORY_SETUP : blocks[i].event < older)
            note_size(s.setup_sizes, events->at[blocks[i].event]->bytes);
    }
    for (size_t i = 0; i < count; i++) {
        bool unknown = blocks[i].event < older && !owner_of(&s, blocks[i].event);

        blocks[i].category = (uint8_t)(unknown ? LPO_MEMORY_OLDER : category_of(&s, &blocks[i]));
        if (blocks[i].category == LPO_MEMORY_GRADIENTS || blocks[i].category == LPO_MEMORY_STATES)
            note_size(s.tensor_sizes, events->at[blocks[i].event]->bytes);
    }
    for (size_t i = 0; i < count; i++)
        if (blocks[i].category == LPO_MEMORY_OLDER &&
            lpo_map_u64_find(s.tensor_sizes, (uint64_t)events->at[blocks[i].event]->bytes))
            blocks[i].category = LPO_MEMORY_PARAMETERS;
    free(s.epoch);
    lpo_map_u64_destroy(s.tensor_sizes);
    lpo_map_u64_destroy(s.setup_sizes);
}
