/* SPDX-License-Identifier: Apache-2.0 */
/* Push/pop ranges summed while they are read, for files that have more of them than memory.
 *
 * The events of a thread come in its own order, so its stack can be followed: a range that ends
 * adds its time to its path and is forgotten, and a launch needs only the path that is open around
 * it. The rules are those of region/tree.h, with one exception: of ranges in several domains that
 * begin in the same nanosecond the first in the stream is the outer one, since it is not known yet
 * which will end later. What remains grows with the number of distinct paths. */

#include "trace/native/private.h"
#include "trace/recorded.h"
#include "trace/times.h"
#include "util/budget.h"
#include "util/checked.h"

enum {
    PATH_COST = 80,       /* bytes of the budget for a path, however short its text */
    SHOWN_MOST = 1 << 20, /* ranges that a viewer can still show */
};

/* Does that path lie there? */
static bool is_child(const struct lpo_path *p, uint32_t thread, uint32_t parent, uint32_t name,
                     uint16_t domain)
{
    return p->parent == parent && p->name == name && p->domain == domain && p->thread == thread;
}

/* The path of this name inside `parent`, made when new; LPO_NONE when the budget has no room for
 * it. */
static uint32_t child_path(struct native *n, uint32_t thread, uint32_t parent, uint32_t name,
                           uint16_t domain)
{
    struct lpo_trace *t = n->trace;
    const uint64_t first = (uint64_t)parent << 32 | name, second = (uint64_t)thread << 16 | domain;
    const struct lpo_path *above = parent == LPO_NONE ? NULL : &t->paths.at[parent];
    const uint64_t budget = lpo_budget()->path_bytes;
    uint64_t len = (above ? above->path_bytes + 1u : 0) + lpo_trace_text_len(t, name);
    uint32_t row = lpo_map_pair_find(&n->by_path, first, second);
    struct lpo_path fresh = { .parent = parent,
                              .name = name,
                              .thread = thread,
                              .path_bytes = len < UINT32_MAX ? (uint32_t)len : UINT32_MAX,
                              .domain = domain,
                              .depth = above ? (uint16_t)(above->depth + 1) : 0 };
    bool made;

    if (row != LPO_NONE)
        return (uint32_t)(n->first_path + row);
    if (t->path_bytes + len > budget || t->paths.len >= budget / PATH_COST)
        return LPO_NONE;
    t->path_bytes += len;
    lpo_map_pair_put(&n->by_path, first, second, &made);
    lpo_vec_push(&t->paths, fresh);
    lpo_vec_push(&n->hints, LPO_NONE);
    lpo_vec_push(&n->hints, LPO_NONE);
    return (uint32_t)t->paths.len - 1;
}

/* A program enters its ranges in the same order again and again: what came next here the last
 * time is tried before the table. */
static uint32_t next_path(struct native *n, struct native_thread *t, uint32_t parent, uint32_t name,
                          uint16_t domain)
{
    uint32_t path = t->hint < n->hints.len ? n->hints.at[t->hint] : LPO_NONE;

    if (path != LPO_NONE && is_child(&n->trace->paths.at[path], t->row, parent, name, domain))
        return path;
    path = child_path(n, t->row, parent, name, domain);
    if (t->hint < n->hints.len)
        n->hints.at[t->hint] = path;
    return path;
}

static uint32_t hint_of(const struct native *n, uint32_t path, bool left)
{
    return (uint32_t)(2 * (path - n->first_path) + left);
}

/* The path of the outermost `count` levels. */
static uint32_t path_of(struct native *n, struct native_thread *t, size_t count)
{
    size_t known = count;
    uint32_t path;

    while (known && t->levels.at[known - 1].path == LPO_NONE)
        known--;
    path = known ? t->levels.at[known - 1].path : LPO_NONE;
    for (size_t i = known; i < count; i++) {
        const struct lpo_path *like = &n->trace->paths.at[t->levels.at[i].entered];
        uint32_t below = child_path(n, t->row, path, like->name, like->domain);

        path = below == LPO_NONE ? path : below; /* no room: counts with the one around it */
        t->levels.at[i].path = path;
    }
    return path;
}

/* Levels that ended before `now` go. Ranges of several domains need not nest: those inside then go
 * on, on a path without the one that went. */
static void expire(struct native_thread *t, int64_t now)
{
    size_t kept = 0;

    while (t->closed && t->levels.at[t->levels.len - 1].end_ns < now) {
        t->levels.len--;
        t->closed--;
        t->changes++;
    }
    if (!t->closed)
        return;
    for (size_t i = 0; i < t->levels.len; i++) {
        struct native_level l = t->levels.at[i];

        if (l.end_ns < now) {
            t->closed--;
            t->changes++;
            for (size_t k = i + 1; k < t->levels.len; k++)
                if (t->levels.at[k].around != LPO_NONE && t->levels.at[k].around > kept)
                    t->levels.at[k].around--;
            continue;
        }
        if (kept != i) {
            l.path = LPO_NONE;
            if (l.place)
                t->open.at.at[l.place - 1].level = (uint32_t)kept;
        }
        t->levels.at[kept++] = l;
    }
    t->levels.len = kept;
}

uint32_t lpo_native_sums_path(struct native *n, struct native_thread *t, int64_t start_ns,
                              int64_t end_ns)
{
    uint32_t path = LPO_NONE;
    bool all = true;
    size_t depth;

    if (start_ns == end_ns)
        expire(t, start_ns);
    depth = t->levels.len;
    if (!t->closed && (!depth || t->levels.at[depth - 1].start_ns <= start_ns)) {
        path = path_of(n, t, depth);
        return path == LPO_NONE ? 0 : path + 1;
    }
    for (size_t i = 0; i < depth; i++) {
        const struct native_level *l = &t->levels.at[i];
        uint32_t below;

        if (l->start_ns > start_ns || l->end_ns < end_ns) {
            all = false;
            continue;
        }
        below = all && l->path != LPO_NONE
                    ? l->path
                    : child_path(n, t->row, path, n->trace->paths.at[l->entered].name,
                                 n->trace->paths.at[l->entered].domain);
        path = below == LPO_NONE ? path : below;
    }
    return path == LPO_NONE ? 0 : path + 1;
}

uint32_t lpo_native_sums_name(struct native *n, const char *text, size_t len)
{
    const uint64_t budget = lpo_budget()->path_bytes;
    bool full =
        n->trace->path_bytes + len > budget || lpo_trace_name_count(n->trace) >= budget / PATH_COST;

    return full ? lpo_trace_name_find(n->trace, text, len) : lpo_native_inline_name(n, text, len);
}

/* Too many to show: the innermost level of those that were kept goes. */
static void show_less(struct native *n)
{
    uint32_t gone = --n->shown_levels;
    LPO_FREED uint32_t *rows = lpo_xrealloc(NULL, n->shown.len, sizeof *rows);
    size_t kept = 0;

    for (size_t i = 0; i < n->shown.len; i++) {
        bool keep = n->shown.at[i].level < gone;

        rows[i] = keep ? (uint32_t)kept : LPO_NONE;
        if (keep)
            n->shown.at[kept++] = n->shown.at[i];
    }
    n->shown.len = kept;
    for (size_t i = 0; i < n->threads.len; i++) {
        struct native_opens *o = &n->threads.at[i].open;

        for (size_t k = 0; k < n->threads.at[i].levels.len; k++) {
            uint32_t place = n->threads.at[i].levels.at[k].place;
            struct native_open *open = place ? &o->at.at[place - 1] : NULL;

            if (open)
                open->range = open->range == LPO_NONE ? LPO_NONE : rows[open->range];
        }
    }
}

static uint32_t show(struct native *n, const struct lpo_range *range, size_t level)
{
    while (n->shown_levels > level && n->shown.len == SHOWN_MOST)
        show_less(n);
    if (n->shown_levels <= level)
        return LPO_NONE;
    lpo_vec_push(&n->shown, (struct native_shown){ *range, (uint32_t)level });
    return (uint32_t)n->shown.len - 1;
}

/* The path of what is open, without what ended at this very moment; *around is the innermost level
 * of it, or LPO_NONE. */
static uint32_t open_path(struct native *n, struct native_thread *t, uint32_t *around)
{
    uint32_t path = LPO_NONE;

    *around = t->levels.len ? (uint32_t)t->levels.len - 1 : LPO_NONE;
    if (!t->closed)
        return path_of(n, t, t->levels.len);
    *around = LPO_NONE;
    for (size_t i = 0; i < t->levels.len; i++) {
        const struct lpo_path *like = &n->trace->paths.at[t->levels.at[i].entered];
        uint32_t below;

        if (!t->levels.at[i].place)
            continue;
        below = child_path(n, t->row, path, like->name, like->domain);
        path = below == LPO_NONE ? path : below;
        *around = (uint32_t)i;
    }
    return path;
}

void lpo_native_sums_push(struct native *n, struct native_thread *t, const struct lpo_range *range,
                          struct native_open *open, uint32_t place)
{
    struct lpo_path_losses *lost = &n->trace->path_losses;
    struct native_level level = { .start_ns = range->start_ns,
                                  .end_ns = INT64_MAX,
                                  .around_end_ns = INT64_MAX,
                                  .around_path = LPO_NONE,
                                  .place = place };
    size_t depth;
    uint32_t parent;

    n->summed++;
    expire(t, range->start_ns);
    depth = t->levels.len;
    open->level = open->range = LPO_NONE;
    if (depth == LPO_PATH_DEPTH) {
        lost->too_deep++;
        return;
    }
    parent = open_path(n, t, &level.around);
    level.entered =
        range->name == LPO_NONE ? LPO_NONE : next_path(n, t, parent, range->name, range->domain);
    if (level.entered == LPO_NONE) {
        lost->too_long++;
        return;
    }
    level.path = t->closed ? LPO_NONE : level.entered;
    if (level.around != LPO_NONE)
        level.around_path = t->levels.at[level.around].entered;
    t->hint = hint_of(n, level.entered, false);
    t->changes++;
    open->range = show(n, range, depth);
    open->level = (uint32_t)depth;
    lpo_vec_push(&t->levels, level);
}

static int64_t recorded_ns(const struct native *n, const struct native_thread *t, int64_t start_ns,
                           int64_t end_ns)
{
    return lpo_trace_recorded_ns(n->recorded, n->trace->threads.at[t->row].process, start_ns,
                                 end_ns);
}

void lpo_native_sums_pop(struct native *n, struct native_thread *t, const struct native_open *open,
                         int64_t end_ns)
{
    struct lpo_path_losses *lost = &n->trace->path_losses;
    struct native_level l;
    struct lpo_path *p;

    if (open->level == LPO_NONE)
        return;
    l = t->levels.at[open->level];
    if (end_ns < l.start_ns || end_ns - l.start_ns > LPO_LONGEST_NS) {
        end_ns = l.start_ns;
        lost->damaged++;
    }
    p = &n->trace->paths.at[l.entered];
    p->count++;
    p->host_ns = lpo_ns_add(p->host_ns, recorded_ns(n, t, l.start_ns, end_ns));
    if (l.around_path != LPO_NONE) {
        int64_t until = end_ns < l.around_end_ns ? end_ns : l.around_end_ns;

        p = &n->trace->paths.at[l.around_path];
        p->child_ns =
            lpo_ns_add(p->child_ns, until > l.start_ns ? recorded_ns(n, t, l.start_ns, until) : 0);
        lost->crooked += end_ns > l.around_end_ns;
    }
    if (open->range != LPO_NONE)
        n->shown.at[open->range].range.end_ns = end_ns;
    t->hint = hint_of(n, l.entered, true);
    t->changes++;
    t->closed++;
    t->levels.at[open->level].end_ns = end_ns;
    t->levels.at[open->level].place = 0;
    for (size_t i = open->level + 1; i < t->levels.len; i++)
        if (t->levels.at[i].around == open->level) {
            t->levels.at[i].around = LPO_NONE;
            t->levels.at[i].around_end_ns = end_ns;
        }
}

void lpo_native_sums_close(struct native *n, struct native_thread *t)
{
    for (size_t i = 0; i < t->levels.len; i++) {
        const struct native_level *l = &t->levels.at[i];
        uint32_t row = l->place ? t->open.at.at[l->place - 1].range : LPO_NONE;
        uint32_t around = l->around_path;

        if (!l->place)
            continue;
        if (around != LPO_NONE && l->around_end_ns != INT64_MAX) { /* outlives it in any case */
            struct lpo_path *p = &n->trace->paths.at[around];

            if (l->around_end_ns > l->start_ns)
                p->child_ns =
                    lpo_ns_add(p->child_ns, recorded_ns(n, t, l->start_ns, l->around_end_ns));
            n->trace->path_losses.crooked++;
            around = LPO_NONE;
        }
        lpo_vec_push(&n->trace->open_paths,
                     (struct lpo_open_path){ l->start_ns, l->entered, around });
        if (row != LPO_NONE) {
            n->shown.at[row].range.end_ns = n->end_ns;
            n->shown.at[row].range.flags |= LPO_RANGE_OPEN;
        }
    }
}

void lpo_native_sums_show(struct native *n)
{
    for (size_t i = 0; i < n->shown.len; i++) {
        n->shown.at[i].range.flags |= LPO_RANGE_SUMMED;
        lpo_vec_push(&n->trace->ranges, n->shown.at[i].range);
    }
}
