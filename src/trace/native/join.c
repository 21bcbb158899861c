/* What the streams say together: start/end ranges around launches, launches of works, captures. */
#include <stdlib.h>

#include "lpo/trace_format.h"
#include "trace/native/state.h"

enum { CLONES_MOST = 16, OPEN_MOST = 64 };

uint32_t lpo_native_add_stack(struct native *n, const struct lpo_frame *frames, size_t count)
{
    size_t before = n->trace->frames.len;
    uint32_t row;

    if (n->frames > NATIVE_FRAMES_MOST) {
        n->cut_stacks++;
        return LPO_NONE;
    }
    row = lpo_trace_stack(n->trace, frames, count);
    n->frames += n->trace->frames.len - before;
    return row;
}

static void join_ends(struct native *n)
{
    for (size_t i = 0; i < n->ends.len; i++) {
        const uint32_t *row = lpo_idmap_find(n->by_range, n->ends.at[i].id);
        struct native_start *s = row ? &n->starts.at[*row] : NULL;

        if (!s || s->end_ns != LPO_NO_TIME) {
            n->stray_ends++;
            continue;
        }
        s->end_ns = n->ends.at[i].ns > s->start_ns ? n->ends.at[i].ns : s->start_ns;
    }
    for (size_t i = 0; i < n->starts.len; i++) {
        struct native_start *s = &n->starts.at[i];
        bool open = s->end_ns == LPO_NO_TIME;

        if (open) {
            s->end_ns = n->end_ns;
            n->unclosed++;
        }
        if (s->range != LPO_NONE) {
            n->trace->ranges.at[s->range].end_ns = s->end_ns;
            n->trace->ranges.at[s->range].flags |= open ? LPO_RANGE_OPEN : 0;
        }
        s->closed = !open;
    }
}

static int starts_by_time(const void *a, const void *b)
{
    const struct native_start *x = a, *y = b;

    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

struct order {
    int64_t ns;
    uint32_t row;
};

static int by_time(const void *a, const void *b)
{
    const struct order *x = a, *y = b;

    if (x->ns != y->ns)
        return x->ns < y->ns ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* Start/end ranges open at one moment, oldest first. */
struct open_set {
    uint32_t rows[OPEN_MOST];
    size_t len;
    bool changed;
};

static void open_set_move(struct native *n, struct open_set *o, size_t *next, int64_t ns)
{
    size_t kept = 0;

    for (; *next < n->starts.len && n->starts.at[*next].start_ns <= ns; (*next)++) {
        if (o->len == OPEN_MOST) {
            n->cut_stacks++;
            continue;
        }
        o->rows[o->len++] = (uint32_t)*next;
        o->changed = true;
    }
    for (size_t i = 0; i < o->len; i++) {
        const struct native_start *s = &n->starts.at[o->rows[i]];
        if (!s->closed || s->end_ns > ns)
            o->rows[kept++] = o->rows[i];
    }
    o->changed |= kept != o->len;
    o->len = kept;
}

/* The launch's own frames, then the open start/end ranges. */
static uint32_t widened(struct native *n, uint32_t stack, const struct open_set *o)
{
    struct lpo_frame frames[NATIVE_DEPTH_MOST + OPEN_MOST];
    size_t count = 0;

    if (stack != LPO_NONE) {
        struct lpo_stack s = n->trace->stacks.at[stack];
        for (; count < s.count && count < NATIVE_DEPTH_MOST; count++)
            frames[count] = n->trace->frames.at[s.first + count];
    }
    for (size_t i = 0; i < o->len; i++)
        frames[count++] = (struct lpo_frame){ .name = n->starts.at[o->rows[i]].name,
                                              .domain = n->starts.at[o->rows[i]].domain,
                                              .kind = LPO_START_END };
    return lpo_native_add_stack(n, frames, count);
}

static void join_starts(struct native *n)
{
    struct open_set open = { .len = 0 };
    struct order *order;
    size_t next = 0;
    uint32_t from = LPO_NONE, to = LPO_NONE;

    if (n->starts.len == 0 || n->launches.len == 0)
        return;
    qsort(n->starts.at, n->starts.len, sizeof *n->starts.at, starts_by_time);
    order = lpo_xcalloc(n->launches.len, sizeof *order);
    for (size_t i = 0; i < n->launches.len; i++)
        order[i] = (struct order){ n->launches.at[i].start_ns, (uint32_t)i };
    qsort(order, n->launches.len, sizeof *order, by_time);
    for (size_t i = 0; i < n->launches.len; i++) {
        struct native_launch *l = &n->launches.at[order[i].row];

        open_set_move(n, &open, &next, l->start_ns);
        if (open.len == 0)
            continue;
        if (open.changed || l->stack != from || to == LPO_NONE) {
            from = l->stack;
            to = widened(n, l->stack, &open);
            open.changed = false;
        }
        l->stack = to;
    }
    free(order);
}

static uint32_t launch_row(struct native *n, uint32_t corr)
{
    const uint32_t *at = lpo_idmap_find(n->by_corr, corr);
    struct native_launch *l = at ? &n->launches.at[*at] : NULL;

    if (!l)
        return LPO_NONE;
    if (l->row == LPO_NONE) {
        l->row = (uint32_t)n->trace->launches.len;
        lpo_vec_push(
            &n->trace->launches,
            (struct lpo_launch){ .start_ns = l->start_ns,
                                 .end_ns = l->end_ns > l->start_ns ? l->end_ns : l->start_ns,
                                 .thread = l->thread,
                                 .stack = l->stack });
    }
    return l->row;
}

/* From the node of the executable graph back to the one that was captured. */
static uint32_t capture_of(const struct native *n, uint32_t row)
{
    for (int i = 0; i < CLONES_MOST && row < n->nodes.len; i++) {
        const uint32_t *original;
        if (!n->nodes.at[row].clone)
            return n->nodes.at[row].stack;
        original = lpo_idmap_find(n->by_node, n->nodes.at[row].original);
        row = original ? *original : LPO_NONE;
    }
    return LPO_NONE;
}

void lpo_native_join(struct native *n, size_t first_gpu_op)
{
    bool launches = !(n->trace->skip & LPO_SKIP_LAUNCHES);

    join_ends(n);
    join_starts(n);
    for (size_t i = first_gpu_op; i < n->trace->gpu_ops.len; i++) {
        struct lpo_gpu_op *w = &n->trace->gpu_ops.at[i];

        w->launch = launches ? launch_row(n, w->launch) : LPO_NONE;
        n->unlaunched += launches && w->launch == LPO_NONE;
        w->capture_stack = capture_of(n, w->capture_stack);
    }
}
