/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/memory/memory.h"

#include "analysis/memory/asked.h"
#include "analysis/memory/categories.h"
#include "trace/trace.h"

/* Equal times keep the order of the file. */
static int by_time(const void *x, const void *y)
{
    const struct lpo_memory_event *a = *(const struct lpo_memory_event *const *)x,
                                  *b = *(const struct lpo_memory_event *const *)y;

    if (a->ns != b->ns)
        return a->ns < b->ns ? -1 : 1;
    return (a > b) - (a < b);
}

static struct lpo_memory_events events_of(const struct lpo_trace *t, uint32_t allocator)
{
    struct lpo_memory_events e = { lpo_xcalloc(t->memory_events.len + 1, sizeof *e.at), 0 };
    bool sorted = true;

    for (size_t i = 0; i < t->memory_events.len; i++) {
        const struct lpo_memory_event *m = &t->memory_events.at[i];

        if (m->allocator != allocator)
            continue;
        sorted = sorted && (!e.len || e.at[e.len - 1]->ns <= m->ns);
        e.at[e.len++] = m;
    }
    if (!sorted)
        lpo_vec_sort(&e, by_time);
    return e;
}

/* An absurd file must not overflow a sum; no memory comes near. */
static int64_t plus(int64_t sum, int64_t bytes)
{
    return sum < (int64_t)1 << 60 && sum > -((int64_t)1 << 60) ? sum + bytes : sum;
}

/* Peak and counts; the number of events up to the peak, that one included. */
static size_t find_peak(const struct lpo_memory_events *e, struct lpo_memory_peaks_row *row)
{
    int64_t now_bytes = 0;
    size_t upto = 0;

    row->first_ns = e->at[0]->ns;
    row->peak_bytes = row->reserved_bytes = row->most_reserved = LPO_NO_TIME;
    for (size_t i = 0; i < e->len; i++) {
        row->allocations += e->at[i]->bytes > 0;
        row->frees += e->at[i]->bytes < 0;
        now_bytes = plus(now_bytes, e->at[i]->bytes);
        row->growth_bytes = now_bytes > row->growth_bytes ? now_bytes : row->growth_bytes;
        if (e->at[i]->bytes > row->largest_bytes)
            row->largest_bytes = e->at[i]->bytes;
        if (e->at[i]->reserved > row->most_reserved)
            row->most_reserved = e->at[i]->reserved;
        if (e->at[i]->allocated <= row->peak_bytes)
            continue;
        row->peak_bytes = e->at[i]->allocated;
        row->reserved_bytes = e->at[i]->reserved;
        row->peak_ns = e->at[i]->ns;
        upto = i + 1;
    }
    return upto;
}

/* What was in use after the first `count` events. */
static size_t live_at(const struct lpo_memory_events *e, size_t count,
                      struct lpo_memory_block **out)
{
    LPO_AUTO(lpo_map_u64) last = lpo_map_u64_create(count);
    struct lpo_memory_block *live = lpo_xcalloc(count + 1, sizeof *live);
    size_t n = 0;

    for (size_t i = 0; i < count; i++)
        *lpo_map_u64_put(last, e->at[i]->address, NULL) =
            e->at[i]->bytes > 0 ? (uint32_t)i : UINT32_MAX;
    for (size_t i = 0; i < count; i++)
        if (e->at[i]->bytes > 0 && *lpo_map_u64_find(last, e->at[i]->address) == (uint32_t)i)
            live[n++].event = i;
    *out = live;
    return n;
}

/* --- owners --------------------------------------------------------------------------------- */

struct owners {
    struct lpo_memory_peaks_row *row;
    struct lpo_map *shares; /* place, operator and shapes to a row */
    struct lpo_map *places;
};

static struct lpo_memory_share *add_share(struct owners *o, const char *place, uint32_t op,
                                          uint32_t shapes, uint32_t library, int64_t bytes)
{
    /* places are kept once, so that equal text is one pointer */
    uintptr_t key[4] = { (uintptr_t)place, op, shapes, library };
    struct lpo_memory_share *s;
    bool fresh;
    uint64_t *at = lpo_map_put(o->shares, (const char *)key, sizeof key, &fresh);

    if (fresh) {
        *at = o->row->owners.len;
        lpo_vec_push(&o->row->owners,
                     (struct lpo_memory_share){ .place = place,
                                                .op = op,
                                                .shapes = shapes,
                                                .library = library,
                                                .category = LPO_MEMORY_CATEGORIES });
    }
    s = &o->row->owners.at[*at];
    s->allocations++;
    s->bytes = plus(s->bytes, bytes);
    return s;
}

static void add_recorded(struct owners *o, const struct lpo_trace *t,
                         const struct lpo_memory_events *events, const struct lpo_memory_block *b)
{
    const struct lpo_memory_event *e = events->at[b->event];
    const struct lpo_memory_owner *w = &t->memory_owners.at[e->owner];
    struct lpo_memory_share *s =
        add_share(o, w->place == LPO_NONE ? NULL : lpo_trace_text(t, w->place), w->op, LPO_NONE,
                  w->library, e->bytes);

    if (b->freed != SIZE_MAX) {
        s->freed++;
        s->lived_ns = plus(s->lived_ns, events->at[b->freed]->ns - e->ns);
    }
    s->category = s->category == LPO_MEMORY_CATEGORIES || s->category == b->category
                      ? b->category
                      : LPO_MEMORY_MIXED;
}

/* Each place once, so that equal ones are one pointer. */
static const char *place_of(struct owners *o, struct lpo_arena *a,
                            const struct lpo_memory_moment *m)
{
    LPO_STR text = { 0 };
    bool fresh;
    uint64_t *at;

    if (!m->place)
        return NULL;
    lpo_str_add(&text, m->place);
    lpo_str_add(&text, m->backward ? " (backward)" : "");
    at = lpo_map_put(o->places, lpo_str_text(&text), text.len, &fresh);
    if (fresh)
        *at = (uint64_t)(uintptr_t)lpo_arena_strndup(a, lpo_str_text(&text), text.len);
    return (const char *)(uintptr_t)*at;
}

static void add_looked_up(struct owners *o, const struct lpo_trace *t, struct lpo_arena *a,
                          const struct lpo_memory_events *e, const struct lpo_memory_block *live,
                          size_t count)
{
    LPO_FREED struct lpo_memory_moment *m = lpo_xcalloc(count + 1, sizeof *m);
    size_t n = 0;

    for (size_t i = 0; i < count; i++) {
        const struct lpo_memory_event *from = e->at[live[i].event];

        if (from->owner == LPO_NONE && from->thread != LPO_NONE)
            m[n++] = (struct lpo_memory_moment){ .ns = from->ns,
                                                 .bytes = from->bytes,
                                                 .thread = from->thread,
                                                 .op = LPO_NONE,
                                                 .shapes = LPO_NONE };
    }
    lpo_memory_asked(t, a, m, n);
    for (size_t i = 0; i < n; i++)
        add_share(o, place_of(o, a, &m[i]), m[i].op, m[i].shapes, LPO_NONE, m[i].bytes);
}

static int largest_first(const void *x, const void *y)
{
    const struct lpo_memory_share *a = x, *b = y;

    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    if (a->place && b->place && strcmp(a->place, b->place) != 0)
        return strcmp(a->place, b->place);
    if (a->op != b->op)
        return a->op < b->op ? -1 : 1;
    if (a->library != b->library)
        return a->library < b->library ? -1 : 1;
    return (a->shapes > b->shapes) - (a->shapes < b->shapes);
}

/* What no block stands for is from before the recording. */
static void sum_categories(struct lpo_memory_peaks_row *row, const struct lpo_memory_events *e,
                           const struct lpo_memory_block *live, size_t count)
{
    struct lpo_memory_sum *older = &row->categories[LPO_MEMORY_OLDER];
    int64_t known = 0;

    for (size_t i = 0; i < count; i++) {
        struct lpo_memory_sum *to = &row->categories[live[i].category];

        known = plus(known, e->at[live[i].event]->bytes);
        to->bytes = plus(to->bytes, e->at[live[i].event]->bytes);
        to->blocks++;
    }
    if (row->peak_bytes > known)
        older->bytes = plus(older->bytes, row->peak_bytes - known);
    row->has_categories = true;
}

static void find_owners(const struct lpo_trace *t, struct lpo_arena *a,
                        const struct lpo_memory_events *e, size_t upto,
                        struct lpo_memory_peaks_row *row)
{
    struct owners o = { row, lpo_map_create(), lpo_map_create() };
    LPO_FREED struct lpo_memory_block *live = NULL;
    size_t n = live_at(e, upto, &live);
    int64_t known = 0;

    if (t->allocators.at[row->allocator].source == LPO_ALLOCATOR_SNAPSHOT) {
        lpo_memory_categories(t, e, upto, live, n);
        sum_categories(row, e, live, n);
    }
    for (size_t i = 0; i < n; i++) {
        const struct lpo_memory_event *from = e->at[live[i].event];
        bool without = from->owner == LPO_NONE && from->thread == LPO_NONE;

        known = plus(known, without ? 0 : from->bytes);
        if (from->owner != LPO_NONE)
            add_recorded(&o, t, e, &live[i]);
    }
    add_looked_up(&o, t, a, e, live, n);
    /* a trace whose totals contradict its allocations has more owners than memory */
    row->older_bytes = row->peak_bytes > known ? row->peak_bytes - known : 0;
    lpo_vec_sort(&row->owners, largest_first);
    lpo_map_destroy(o.shares);
    lpo_map_destroy(o.places);
}

struct lpo_memory_peaks *lpo_memory_peaks_create(const struct lpo_trace *t)
{
    struct lpo_memory_peaks *p = lpo_xcalloc(1, sizeof *p);

    p->arena = lpo_arena_create();
    for (size_t i = 0; t->memory_events.len && i < t->allocators.len; i++) {
        struct lpo_memory_peaks_row row = { .allocator = (uint32_t)i };
        struct lpo_memory_events e = events_of(t, (uint32_t)i);

        if (e.len) {
            size_t upto = find_peak(&e, &row);

            row.allocations -= t->allocators.at[i].older;
            row.has_owners = row.peak_bytes != LPO_NO_TIME && e.len >= t->allocators.at[i].seen;
            if (row.has_owners)
                find_owners(t, p->arena, &e, upto, &row);
            lpo_vec_push(&p->rows, row);
        }
        free(e.at);
    }
    return p;
}

void lpo_memory_peaks_destroy(struct lpo_memory_peaks *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->rows.len; i++)
        lpo_vec_free(&p->rows.at[i].owners);
    lpo_vec_free(&p->rows);
    lpo_arena_destroy(p->arena);
    free(p);
}
