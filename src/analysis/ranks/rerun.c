/* SPDX-License-Identifier: Apache-2.0 */
/* The job run again from its stretches, with something changed. */

#include "analysis/ranks/lives.h"

/* Where one rank is. */
struct runner {
    const struct ranks_life *life;
    size_t stop, join;   /* the next ones */
    int64_t at_ns, ns;   /* position and moment */
    double scale;        /* of the stretch that it is in */
    uint32_t open[64];   /* per line: the stop that has not ended; LPO_NONE */
    uint32_t queue[64];  /* per line: the first of those posted behind it; LPO_NONE */
    uint32_t last[64];   /* … and the last */
    int64_t line_ns[64]; /* per line: the last end */
    uint32_t *behind;    /* per stop: the next one in that queue */
};

struct member {
    uint32_t life, stop;
};

struct rerun {
    const struct ranks_lives *l;
    const struct ranks_change *c;
    struct runner *runners;
    int64_t **start_ns, **end_ns; /* of each stop; end INT64_MIN: not known yet */
    uint32_t *came, *first;       /* per meeting; members of meeting i begin at first[i] */
    int64_t *last_ns;
    struct member *members;
    LPO_VEC(struct member) ready; /* their stream is free */
};

static int64_t shorter(const struct rerun *r, size_t life, size_t stop)
{
    const struct ranks_change *c = r->c;
    int64_t ns = 0;

    if ((c->life != life && c->life != RANKS_ALL_LIVES) ||
        (c->only_stop != LPO_NONE && c->only_stop != stop) ||
        (c->only_odd && !r->l->all.at[life].stops.at[stop].odd))
        return 0;
    for (int i = 0; i < RANKS_PARTS; i++)
        if (c->parts & 1u << i)
            ns += r->l->all.at[life].stops.at[stop].more[i];
    return ns;
}

static void begin_stretch(struct rerun *r, size_t life)
{
    struct runner *n = &r->runners[life];
    int64_t whole, less;

    n->scale = 1;
    if (n->stop == n->life->stops.len)
        return;
    whole = n->life->stops.at[n->stop].at_ns -
            (n->stop ? n->life->stops.at[n->stop - 1].at_ns : n->life->start_at_ns);
    less = shorter(r, life, n->stop);
    if (whole > 0 && less)
        n->scale = less < whole ? (double)(whole - less) / (double)whole : 0;
}

static void advance(struct runner *n, int64_t at_ns)
{
    int64_t ns = at_ns - n->at_ns;

    n->ns += n->scale == 1 ? ns : (int64_t)((double)ns * n->scale);
    n->at_ns = at_ns;
}

static void end_stop(struct rerun *r, struct member m, int64_t ns)
{
    struct runner *n = &r->runners[m.life];
    uint16_t line = n->life->stops.at[m.stop].line;

    r->end_ns[m.life][m.stop] = ns;
    n->line_ns[line] = ns > n->line_ns[line] ? ns : n->line_ns[line];
    if (n->open[line] != m.stop)
        return;
    n->open[line] = n->queue[line];
    if (n->queue[line] == LPO_NONE)
        return;
    n->queue[line] = n->behind[n->queue[line]];
    lpo_vec_push(&r->ready, (struct member){ m.life, n->open[line] });
}

static int64_t sending(const struct rerun *r, const struct ranks_stop *s)
{
    if (r->c->link && s->family != LPO_NONE &&
        lpo_ranks_group_of(&r->l->families->at[s->family]) == r->c->link)
        return (int64_t)((double)s->send_ns * r->c->rates[s->family]);
    return s->send_ns;
}

static bool waits_for_nobody(const struct rerun *r, const struct ranks_stop *s)
{
    return s->alone || (r->c->free_sends && !r->l->families->at[s->family].together);
}

static void arrive(struct rerun *r, struct member m)
{
    const struct ranks_stop *s = &r->l->all.at[m.life].stops.at[m.stop];
    int64_t ns = r->start_ns[m.life][m.stop];
    uint32_t at = s->meeting;

    if (waits_for_nobody(r, s))
        end_stop(r, m, ns + sending(r, s));
    if (at == LPO_NONE)
        return;
    r->members[r->first[at] + r->came[at]++] = m;
    if (r->came[at] == 1 || ns > r->last_ns[at])
        r->last_ns[at] = ns;
    if (r->came[at] < r->l->members[at])
        return;
    for (uint32_t i = 0; i < r->came[at]; i++) {
        struct member x = r->members[r->first[at] + i];
        const struct ranks_stop *y = &r->l->all.at[x.life].stops.at[x.stop];

        if (!waits_for_nobody(r, y))
            end_stop(r, x, r->last_ns[at] + sending(r, y));
    }
}

/* Its stream is free, or will be when what is on it ends. */
static void post(struct rerun *r, struct member m, int64_t ns)
{
    struct runner *n = &r->runners[m.life];
    uint16_t line = n->life->stops.at[m.stop].line;

    r->start_ns[m.life][m.stop] = ns;
    n->behind[m.stop] = LPO_NONE;
    if (n->open[line] == LPO_NONE) {
        n->open[line] = m.stop;
        lpo_vec_push(&r->ready, m);
    } else {
        if (n->queue[line] == LPO_NONE)
            n->queue[line] = m.stop;
        else
            n->behind[n->last[line]] = m.stop;
        n->last[line] = m.stop;
    }
    while (r->ready.len) {
        struct member x = r->ready.at[--r->ready.len];
        int64_t *start = &r->start_ns[x.life][x.stop];
        int64_t line_ns = r->runners[x.life].line_ns[r->l->all.at[x.life].stops.at[x.stop].line];

        *start = *start > line_ns ? *start : line_ns;
        arrive(r, x);
    }
}

/* To the next moment at which it must wait for another rank; false: it did not move. */
static bool run_on(struct rerun *r, size_t life)
{
    struct runner *n = &r->runners[life];
    bool moved = false;

    for (;; moved = true) {
        const struct ranks_stop *s =
            n->stop < n->life->stops.len ? &n->life->stops.at[n->stop] : NULL;
        const struct ranks_join *j =
            n->join < n->life->joins.len ? &n->life->joins.at[n->join] : NULL;

        if (j && j->stop < n->stop && (!s || j->ns <= s->post_ns)) {
            int64_t end = r->end_ns[life][j->stop];

            if (end == INT64_MIN)
                return moved;
            advance(n, j->at_ns);
            n->ns = end > n->ns ? end : n->ns;
            n->join++;
        } else if (s) {
            advance(n, s->at_ns);
            post(r, (struct member){ (uint32_t)life, (uint32_t)n->stop }, n->ns);
            n->stop++;
            begin_stretch(r, life);
        } else {
            return moved;
        }
    }
}

static void prepare(struct rerun *r)
{
    const struct ranks_lives *l = r->l;
    uint32_t sum = 0;

    r->runners = lpo_xcalloc(l->all.len + 1, sizeof *r->runners);
    r->start_ns = lpo_xcalloc(l->all.len + 1, sizeof *r->start_ns);
    r->end_ns = lpo_xcalloc(l->all.len + 1, sizeof *r->end_ns);
    r->came = lpo_xcalloc(l->meetings + 1, sizeof *r->came);
    r->last_ns = lpo_xcalloc(l->meetings + 1, sizeof *r->last_ns);
    r->first = lpo_xcalloc(l->meetings + 1, sizeof *r->first);
    for (uint32_t i = 0; i < l->meetings; i++) {
        r->first[i] = sum;
        sum += l->members[i];
    }
    r->members = lpo_xcalloc((size_t)sum + 1, sizeof *r->members);
    for (size_t i = 0; i < l->all.len; i++) {
        struct runner *n = &r->runners[i];

        n->life = &l->all.at[i];
        n->at_ns = n->life->start_at_ns;
        n->ns = n->life->start_ns;
        r->start_ns[i] = lpo_xcalloc(n->life->stops.len + 1, sizeof **r->start_ns);
        r->end_ns[i] = lpo_xcalloc(n->life->stops.len + 1, sizeof **r->end_ns);
        n->behind = lpo_xcalloc(n->life->stops.len + 1, sizeof *n->behind);
        for (size_t k = 0; k < n->life->stops.len; k++)
            r->end_ns[i][k] = INT64_MIN;
        for (size_t k = 0; k < sizeof n->open / sizeof *n->open; k++) {
            n->open[k] = n->queue[k] = LPO_NONE;
            n->line_ns[k] = INT64_MIN;
        }
        begin_stretch(r, i);
    }
}

static int64_t finish(struct rerun *r)
{
    int64_t end = INT64_MIN;

    for (size_t i = 0; i < r->l->all.len; i++) {
        struct runner *n = &r->runners[i];

        if (n->stop < n->life->stops.len || n->join < n->life->joins.len)
            return -1;
        advance(n, n->life->end_at_ns);
        end = n->ns > end ? n->ns : end;
        for (size_t k = 0; k < n->life->lines; k++)
            end = n->line_ns[k] > end ? n->line_ns[k] : end;
    }
    return end - r->l->start_ns;
}

int64_t lpo_ranks_lives_run(const struct ranks_lives *l, const struct ranks_change *c,
                            const struct ranks_times *times)
{
    struct rerun r = { .l = l, .c = c };
    int64_t wall;
    bool moved = true;

    prepare(&r);
    while (moved) {
        moved = false;
        for (size_t i = 0; i < l->all.len; i++)
            moved |= run_on(&r, i);
    }
    wall = finish(&r);
    for (size_t k = 0; times && k < l->all.at[times->life].stops.len; k++) {
        times->start_ns[k] = r.start_ns[times->life][k];
        times->end_ns[k] = r.end_ns[times->life][k];
    }
    for (size_t i = 0; i < l->all.len; i++) {
        free(r.start_ns[i]);
        free(r.end_ns[i]);
        free(r.runners[i].behind);
    }
    lpo_vec_free(&r.ready);
    free(r.runners);
    free(r.start_ns);
    free(r.end_ns);
    free(r.came);
    free(r.last_ns);
    free(r.first);
    free(r.members);
    return wall;
}
