/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/wall/stacks.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/wall/wall.h"
#include "trace/trace.h"
#include "util/search.h"

/* Each operator is compared with the gaps that it overlaps: this bounds the work. */
enum { MOST_GAPS = 64 };

/* An operator or Python function that covers half of a gap. */
struct frame {
    int64_t start_ns, end_ns;
    uint32_t name;
};

struct wanted {
    struct lpo_wall_gap *gap;
    int64_t latest_ns; /* end of this gap or of one before it in the list */
    uint32_t thread;
    struct frame frames[LPO_WALL_FRAMES];
    size_t count;
};

struct list {
    struct wanted at[MOST_GAPS]; /* by start */
    size_t len;
    bool *threads; /* those with a gap in `at` */
};

static bool covers_half(const struct lpo_wall_gap *gap, int64_t start_ns, int64_t end_ns)
{
    int64_t gap_end = gap->start_ns + gap->ns;
    int64_t from = start_ns > gap->start_ns ? start_ns : gap->start_ns;
    int64_t to = end_ns < gap_end ? end_ns : gap_end;

    return to > from && to - from >= gap->ns - (to - from);
}

static bool outside_of(const struct frame *a, const struct frame *b)
{
    return a->start_ns != b->start_ns ? a->start_ns < b->start_ns : a->end_ns > b->end_ns;
}

/* In order, outermost first; a full list loses its outermost. */
static void add_frame(struct wanted *w, struct frame f)
{
    size_t at = w->count;

    while (at > 0 && outside_of(&f, &w->frames[at - 1]))
        at--;
    if (w->count == LPO_WALL_FRAMES) {
        if (at == 0)
            return;
        memmove(w->frames, w->frames + 1, (at - 1) * sizeof *w->frames);
        w->frames[at - 1] = f;
        return;
    }
    memmove(w->frames + at + 1, w->frames + at, (w->count - at) * sizeof *w->frames);
    w->frames[at] = f;
    w->count++;
}

/* Gaps that begin before the operator ends, from the last to the first that may still be open when
 * it begins: nearly always none, since there are millions of operators and a few gaps. */
static void offer(struct list *l, uint32_t thread, int64_t start_ns, int64_t end_ns, uint32_t name)
{
    size_t low = 0, high = l->len;

    if (!l->threads[thread])
        return;
    lpo_search(low, high, mid, l->at[mid].gap->start_ns < end_ns);
    for (size_t i = low; i > 0 && l->at[i - 1].latest_ns > start_ns; i--)
        if (l->at[i - 1].thread == thread && covers_half(l->at[i - 1].gap, start_ns, end_ns))
            add_frame(&l->at[i - 1], (struct frame){ start_ns, end_ns, name });
}

static void take(struct wanted *w, struct lpo_wall_stack *out)
{
    out->count = (uint32_t)w->count;
    for (size_t i = 0; i < w->count; i++)
        out->names[i] = w->frames[i].name;
    w->count = 0;
}

static void want(struct list *l, struct lpo_wall *w, const struct lpo_trace *t)
{
    for (size_t i = 0; i < w->devices.len && l->len < MOST_GAPS; i++) {
        struct lpo_wall_device *d = &w->devices.at[i];

        for (size_t k = 0; k < d->longest.len && l->len < MOST_GAPS; k++) {
            uint32_t thread = lpo_wall_gap_thread(t, &d->longest.at[k]);

            if (thread == LPO_NONE)
                continue;
            l->threads[thread] = true;
            l->at[l->len].gap = &d->longest.at[k];
            l->at[l->len++].thread = thread;
        }
    }
}

static int by_start(const void *a, const void *b)
{
    const struct wanted *x = a, *y = b;

    return (x->gap->start_ns > y->gap->start_ns) - (x->gap->start_ns < y->gap->start_ns);
}

static void put_in_order(struct list *l)
{
    int64_t latest_ns = INT64_MIN;

    if (l->len)
        qsort(l->at, l->len, sizeof *l->at, by_start);
    for (size_t i = 0; i < l->len; i++) {
        int64_t end_ns = l->at[i].gap->start_ns + l->at[i].gap->ns;

        latest_ns = end_ns > latest_ns ? end_ns : latest_ns;
        l->at[i].latest_ns = latest_ns;
    }
}

void lpo_wall_stacks_fill(struct lpo_wall *w, const struct lpo_trace *t)
{
    struct list *l = lpo_xcalloc(1, sizeof *l);

    l->threads = lpo_xcalloc(t->threads.len + 1, sizeof *l->threads);
    want(l, w, t);
    put_in_order(l);
    for (size_t i = 0; l->len && i < t->ops.len; i++) {
        const struct lpo_op *o = &t->ops.at[i];

        offer(l, o->thread, o->start_ns, o->end_ns, o->name);
    }
    for (size_t i = 0; i < l->len; i++)
        take(&l->at[i], &l->at[i].gap->operators);
    for (size_t i = 0; l->len && i < t->python.len; i++) {
        const struct lpo_python_call *p = &t->python.at[i];

        offer(l, p->thread, p->start_ns, p->end_ns, p->name);
    }
    for (size_t i = 0; i < l->len; i++)
        take(&l->at[i], &l->at[i].gap->python);
    free(l->threads);
    free(l);
}
