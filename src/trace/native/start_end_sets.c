/* SPDX-License-Identifier: Apache-2.0 */
/* Which start/end ranges hold a call, asked while GPU operations are summed.
 *
 * They cross threads, so all of them are read before the first call. Their starts and ends cut the
 * time into segments; in each the same ranges are open. */

#include "trace/native/private.h"

enum { ROWS_MOST = 4 << 20 }; /* of all segments together: 16 MB */

struct edge {
    int64_t ns;
    uint32_t row; /* into trace->ranges */
    bool start;
};

/* From `ns` to the next one. Both moments belong to it: a range that ends when another starts
 * holds a call of that moment. */
struct segment {
    int64_t ns;
    uint32_t first, count; /* into rows: what is open */
    uint32_t set;          /* of all of them; LPO_NONE: not asked for yet */
};

struct native_sets {
    LPO_VEC(struct segment) segments;
    LPO_VEC(uint32_t) rows;
    struct lpo_map *by_names;
    LPO_VEC(struct lpo_frame) frames;
    LPO_VEC(struct lpo_stack) sets; /* of frames; 0 is the empty one */
    size_t last;
    bool full;
};

LPO_COMPARE(by_time, struct edge, LPO_UP(ns) ?: LPO_DOWN(start) ?: LPO_UP(row));

static void add_segment(struct native_sets *s, int64_t ns, const uint32_t *open, size_t count)
{
    if (s->rows.len + count > ROWS_MOST)
        s->full = true;
    if (s->full)
        count = 0;
    lpo_vec_push(&s->segments,
                 (struct segment){ ns, (uint32_t)s->rows.len, (uint32_t)count, LPO_NONE });
    for (size_t i = 0; i < count; i++)
        lpo_vec_push(&s->rows, open[i]);
}

static size_t leave(uint32_t *open, size_t count, uint32_t row)
{
    for (size_t i = 0; i < count; i++)
        if (open[i] == row) {
            memmove(open + i, open + i + 1, (count - i - 1) * sizeof *open);
            return count - 1;
        }
    return count;
}

/* A segment begins with the starts of its moment, and after the ends of the moment before. */
static void cut(struct native *n, struct native_sets *s, const struct edge *edges, size_t count)
{
    uint32_t open[NATIVE_OPEN_SETS];
    size_t nopen = 0;

    for (size_t i = 0; i < count;) {
        int64_t ns = edges[i].ns;
        bool ended = false;

        for (; i < count && edges[i].ns == ns && edges[i].start; i++) {
            if (nopen == NATIVE_OPEN_SETS)
                n->trace->path_losses.too_many++;
            else
                open[nopen++] = edges[i].row;
        }
        add_segment(s, ns, open, nopen);
        for (; i < count && edges[i].ns == ns; i++) {
            nopen = leave(open, nopen, edges[i].row);
            ended = true;
        }
        if (ended)
            add_segment(s, ns + 1, open, nopen);
    }
}

void lpo_native_sets_find(struct native *n)
{
    struct native_sets *s = lpo_xcalloc(1, sizeof *s);
    LPO_FREED LPO_VEC(struct edge) edges = { 0 };

    n->sets = s;
    s->by_names = lpo_map_create();
    lpo_vec_push(&s->sets, (struct lpo_stack){ 0, 0 });
    for (size_t i = n->first_range; i < n->trace->ranges.len; i++) {
        const struct lpo_range *r = &n->trace->ranges.at[i];

        if (r->kind != LPO_START_END)
            continue;
        lpo_vec_push(&edges, ((struct edge){ r->start_ns, (uint32_t)i, true }));
        if (!(r->flags & LPO_RANGE_OPEN))
            lpo_vec_push(&edges, ((struct edge){ r->end_ns, (uint32_t)i, false }));
    }
    lpo_vec_sort(&edges, by_time);
    cut(n, s, edges.at, edges.len);
}

void lpo_native_sets_destroy(struct native_sets *s)
{
    if (!s)
        return;
    lpo_vec_free(&s->segments);
    lpo_vec_free(&s->rows);
    lpo_vec_free(&s->frames);
    lpo_vec_free(&s->sets);
    lpo_map_destroy(s->by_names);
    free(s);
}

LPO_COMPARE(by_name, struct lpo_frame, LPO_UP(name) ?: LPO_UP(domain));

/* The set of the ranges of a segment that last until `end_ns`, each name once. */
static uint32_t set_of(struct native *n, const struct segment *g, int64_t end_ns)
{
    struct native_sets *s = n->sets;
    struct lpo_frame frames[NATIVE_OPEN_SETS];
    size_t count = 0, kept = 0;
    bool fresh;
    uint64_t *slot;

    memset(frames, 0, sizeof frames); /* padding must not make keys differ */
    for (uint32_t i = 0; i < g->count; i++) {
        const struct lpo_range *r = &n->trace->ranges.at[s->rows.at[g->first + i]];

        if (!(r->flags & LPO_RANGE_OPEN) && r->end_ns < end_ns)
            continue;
        frames[count].name = r->name;
        frames[count].domain = r->domain;
        frames[count++].kind = LPO_START_END;
    }
    qsort(frames, count, sizeof *frames, by_name);
    for (size_t i = 0; i < count; i++)
        if (!i || by_name(&frames[kept - 1], &frames[i]) != 0)
            frames[kept++] = frames[i];
    if (!kept)
        return 0;
    slot = lpo_map_put(s->by_names, (const char *)frames, kept * sizeof *frames, &fresh);
    if (fresh) {
        *slot = s->sets.len;
        lpo_vec_push(&s->sets, (struct lpo_stack){ (uint32_t)s->frames.len, (uint32_t)kept });
        for (size_t i = 0; i < kept; i++)
            lpo_vec_push(&s->frames, frames[i]);
    }
    return (uint32_t)*slot;
}

/* The segment of a moment; SIZE_MAX: before the first. */
static size_t segment_at(struct native_sets *s, int64_t ns)
{
    size_t low = 0, high = s->segments.len;

    lpo_search(low, high, mid, s->segments.at[mid].ns <= ns);
    return low - 1;
}

static bool in_segment(const struct native_sets *s, size_t at, int64_t ns)
{
    return at < s->segments.len && s->segments.at[at].ns <= ns &&
           (at + 1 == s->segments.len || ns < s->segments.at[at + 1].ns);
}

uint32_t lpo_native_set_at(struct native *n, int64_t start_ns, int64_t end_ns)
{
    struct native_sets *s = n->sets;
    struct segment *g;

    if (!s->segments.len)
        return 0;
    if (s->full)
        n->trace->path_losses.too_many++;
    if (!in_segment(s, s->last, start_ns))
        s->last = segment_at(s, start_ns);
    if (s->last == SIZE_MAX)
        return 0;
    g = &s->segments.at[s->last];
    if (!in_segment(s, s->last, end_ns))
        return set_of(n, g, end_ns);
    if (g->set == LPO_NONE)
        g->set = set_of(n, g, end_ns);
    return g->set;
}

size_t lpo_native_set_frames(const struct native *n, uint32_t set, struct lpo_frame *out)
{
    const struct lpo_stack *s = &n->sets->sets.at[set];

    if (s->count)
        memcpy(out, n->sets->frames.at + s->first, s->count * sizeof *out);
    return s->count;
}
