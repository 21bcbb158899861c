/* SPDX-License-Identifier: Apache-2.0 */
/* The clocks of the ranks, by the ends of what they did together. */

#include "analysis/ranks/private.h"

enum {
    TOLERANCE_ERRORS = 5, /* ends of one collective lie closer than so many errors of the clocks */
    DOUBTFUL = 20,    /* numbers are right where not even one of so many is against the clocks */
    CLOSE_ERRORS = 3, /* more than so many apart, they may be of another group */
    LEAST_TOLERANCE = 50000, /* ns */
    MISFIT_NS = 10000,       /* clocks are not known to less than that, … */
    MISFIT_TIMES = 10,       /* … and those of other ranks that much better */
    FEW_FIT_NS = 1000,       /* that, where most ends do not fit at all */
};

/* What two ranks say about each other's clocks. */
struct edge {
    uint32_t from, to; /* rows */
    ranks_pairs series;
    struct ranks_line line; /* of the clock of `to` */
    size_t pairs;           /* of ends that it was found by; 0: none */
    size_t most_pairs;      /* … and could be */
};

typedef LPO_VEC(struct edge) edges;

static int64_t magnitude(int64_t v)
{
    return v < 0 ? -v : v;
}

/* What says most about clocks comes first: what all end at one moment, then groups of which more
 * ranks are seen than they have (several have one name, or the size is wrong), then sends. */
enum trust { CERTAIN_GROUPS, ALL_GROUPS, SENDS, TRUSTS };

static bool may_be_several(const struct ranks_family *f)
{
    return f->group_ranks > 1 && f->series.len > f->group_ranks;
}

static bool is_trusted(const struct ranks_family *f, enum trust trust)
{
    return trust == SENDS ? !f->together
                          : f->together && (trust == ALL_GROUPS || !may_be_several(f));
}

static void add_series(struct edge *e, const ranks_events *a, const ranks_events *b)
{
    lpo_vec_push(&e->series, (struct ranks_pair){ a, b });
    e->most_pairs += a->len < b->len ? a->len : b->len;
}

static void find_edges(const struct lpo_ranks *r, const ranks_families *families, enum trust trust,
                       edges *out)
{
    struct lpo_map_pair rows = { 0 };
    size_t before = out->len;

    for (size_t i = 0; i < families->len; i++) {
        const struct ranks_family *f = &families->at[i];

        size_t first = 0;

        while (first < f->series.len && r->rows.at[f->series.at[first].rank].other_run)
            first++;
        for (size_t k = first + 1; is_trusted(f, trust) && k < f->series.len; k++) {
            uint32_t from = f->series.at[first].rank, to = f->series.at[k].rank;
            bool fresh;
            uint32_t row;

            if ((r->rows.at[from].aligned && r->rows.at[to].aligned) || r->rows.at[to].other_run)
                continue;
            row = lpo_map_pair_put(&rows, from, to, &fresh);
            if (fresh)
                lpo_vec_push(out, (struct edge){ .from = from, .to = to });
            add_series(&out->at[before + row], &f->series.at[first].events,
                       &f->series.at[k].events);
        }
    }
    lpo_map_pair_free(&rows);
    for (size_t i = before; i < out->len; i++)
        out->at[i].line = lpo_ranks_line_find(&out->at[i].series, &out->at[i].pairs);
}

/* Through the most certain edges first. */
static const struct edge *most_certain(const struct lpo_ranks *r, const edges *all)
{
    const struct edge *best = NULL;

    for (size_t i = 0; i < all->len; i++) {
        const struct edge *e = &all->at[i];

        if (e->pairs && r->rows.at[e->from].aligned != r->rows.at[e->to].aligned &&
            (!best || e->line.error_ns < best->line.error_ns))
            best = e;
    }
    return best;
}

int64_t lpo_ranks_common_ns(const struct lpo_rank_row *r, int64_t own_ns)
{
    struct ranks_line l = { r->offset_ns, r->middle_ns, r->drift, 0 };

    return own_ns - lpo_ranks_line_at(&l, own_ns);
}

int64_t lpo_ranks_own_ns(const struct lpo_rank_row *r, int64_t common_ns)
{
    int64_t flat = common_ns + r->offset_ns;

    if (r->drift == 0)
        return flat;
    return flat + (int64_t)(r->drift * (double)(flat - r->middle_ns) / (1 - r->drift));
}

/* The clock of `next` by that of `known`: two lines after each other are one. */
static void join(const struct lpo_rank_row *known, const struct ranks_line *l, bool forward,
                 struct lpo_rank_row *next)
{
    int64_t from_ns = l->middle_ns - l->offset_ns; /* the middle, on the clock of `from` */

    if (forward) {
        next->middle_ns = l->middle_ns;
        next->offset_ns = l->middle_ns - lpo_ranks_common_ns(known, from_ns);
        next->drift = l->drift + known->drift * (1 - l->drift);
    } else {
        next->middle_ns = from_ns;
        next->offset_ns = from_ns - lpo_ranks_common_ns(known, l->middle_ns);
        next->drift = (known->drift - l->drift) / (1 - l->drift);
    }
    next->error_ns = known->error_ns + l->error_ns;
    next->aligned = true;
}

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

/* All clocks are told against this one. */
static size_t base_of(const struct lpo_ranks *r)
{
    size_t i = 0;

    while (i < r->rows.len && r->rows.at[i].other_run)
        i++;
    return i;
}

static void spread_offsets(struct lpo_ranks *r, const edges *all)
{
    const struct edge *e;

    if (base_of(r) < r->rows.len) {
        r->rows.at[base_of(r)].aligned = true;
        r->rows.at[base_of(r)].fit = 1;
    }
    while ((e = most_certain(r, all))) {
        bool forward = r->rows.at[e->from].aligned;
        const struct lpo_rank_row *known = &r->rows.at[forward ? e->from : e->to];
        struct lpo_rank_row *next = &r->rows.at[forward ? e->to : e->from];

        join(known, &e->line, forward, next);
        next->fit = smaller(known->fit, (double)e->pairs / (double)e->most_pairs);
    }
}

static void free_edges(edges *all)
{
    for (size_t i = 0; i < all->len; i++)
        lpo_vec_free(&all->at[i].series);
    lpo_vec_free(all);
}

/* The line of one aligned clock against another. */
static struct ranks_line line_between(const struct lpo_rank_row *from,
                                      const struct lpo_rank_row *to)
{
    int64_t common = lpo_ranks_common_ns(to, to->middle_ns);
    struct ranks_line l = { .middle_ns = to->middle_ns,
                            .offset_ns = to->middle_ns - lpo_ranks_own_ns(from, common),
                            .drift = (to->drift - from->drift) / (1 - from->drift),
                            .error_ns = from->error_ns + to->error_ns };

    return l;
}

static bool agrees_in_order(const ranks_events *a, const ranks_events *b,
                            const struct ranks_line *line, int64_t tolerance_ns)
{
    LPO_FREED int64_t *away = NULL;

    if (a->len != b->len)
        return false;
    away = lpo_xrealloc(NULL, a->len + 1, sizeof *away);
    for (size_t i = 0; i < a->len; i++)
        away[i] =
            magnitude(b->at[i].end_ns - a->at[i].end_ns - lpo_ranks_line_at(line, b->at[i].end_ns));
    return lpo_ranks_median(away, a->len) <= tolerance_ns;
}

/* True: `pair` has those with equal numbers, and the clocks agree with it. */
static bool by_numbers(const ranks_events *a, const ranks_events *b, const struct ranks_line *line,
                       int64_t tolerance_ns, uint32_t *pair)
{
    size_t found, apart = 0;

    if (!lpo_ranks_numbered(a) || !lpo_ranks_numbered(b))
        return false;
    found = lpo_ranks_same_number(a, b, pair);
    for (size_t i = 0; i < b->len; i++)
        apart += pair[i] != LPO_NONE &&
                 magnitude(b->at[i].end_ns - a->at[pair[i]].end_ns -
                           lpo_ranks_line_at(line, b->at[i].end_ns)) > tolerance_ns;
    return found && apart * DOUBTFUL <= found;
}

/* In their order or by their numbers where that agrees with the clocks, else the nearest ends. */
static void match_series(const struct lpo_ranks *r, const struct ranks_family *f,
                         struct ranks_series *s)
{
    struct ranks_line line = line_between(&r->rows.at[f->series.at[0].rank], &r->rows.at[s->rank]);
    const ranks_events *a = &f->series.at[0].events;
    int64_t tolerance = TOLERANCE_ERRORS * line.error_ns;
    LPO_FREED uint32_t *pair = lpo_xrealloc(NULL, s->events.len + 1, sizeof *pair);
    bool in_order;

    tolerance = tolerance > LEAST_TOLERANCE ? tolerance : LEAST_TOLERANCE;
    if (!f->together && tolerance < RANKS_AGREE_NS)
        tolerance = RANKS_AGREE_NS;
    in_order = agrees_in_order(a, &s->events, &line, tolerance);
    if (!in_order && !by_numbers(a, &s->events, &line, tolerance, pair))
        lpo_ranks_nearest(a, &s->events, &line, tolerance, pair);
    for (size_t i = 0; i < s->events.len; i++)
        if (in_order)
            s->events.at[i].instance = f->first_instance + (uint32_t)i;
        else if (pair[i] != LPO_NONE)
            s->events.at[i].instance = f->first_instance + pair[i];
}

/* Ranks that share nothing of one kind are joined by the next. */
static void align_clocks(struct lpo_ranks *r, const ranks_families *families)
{
    edges all = { 0 }; /* those of one kind may lead on from where the next has led */

    for (int trust = 0; trust < TRUSTS; trust++) {
        find_edges(r, families, (enum trust)trust, &all);
        spread_offsets(r, &all);
    }
    free_edges(&all);
}

/* --- a file of another run ------------------------------------------------------------------ */

static void forget_clocks(struct lpo_ranks *r)
{
    for (size_t i = 0; i < r->rows.len; i++) {
        struct lpo_rank_row *row = &r->rows.at[i];

        row->aligned = false;
        row->offset_ns = row->error_ns = row->middle_ns = 0;
        row->drift = 0;
    }
}

/* Of all clocks but the one that they are told against. */
struct usual {
    int64_t error_ns; /* -1: there are too few */
    double fit;
};

LPO_COMPARE(by_fit, double, LPO_UP_OF(*a, *b));

static struct usual find_usual(const struct lpo_ranks *r)
{
    LPO_FREED int64_t *room = lpo_xcalloc(r->rows.len + 1, sizeof *room);
    LPO_FREED double *fits = lpo_xcalloc(r->rows.len + 1, sizeof *fits);
    struct usual usual = { -1, 1 };
    size_t n = 0;

    for (size_t i = 0; i < r->rows.len; i++)
        if (r->rows.at[i].aligned && i != base_of(r)) {
            fits[n] = r->rows.at[i].fit;
            room[n++] = r->rows.at[i].error_ns;
        }
    if (n > 1) {
        qsort(fits, n, sizeof *fits, by_fit);
        usual = (struct usual){ lpo_ranks_median(room, n), fits[n / 2] };
    }
    return usual;
}

/* A few ends of two runs always lie on some line. */
static bool misfits(int64_t error_ns, double fit)
{
    return error_ns > (fit < 0.5 ? FEW_FIT_NS : MISFIT_NS);
}

static void align_again(struct lpo_ranks *r, const ranks_families *families, bool without_first)
{
    r->rows.at[0].other_run = without_first;
    forget_clocks(r);
    align_clocks(r, families);
}

/* The ends of the others lie on lines, and those of one rank do not: its file is of another run of
 * the same program. Where it is the first rank, none of them does, until it is left out. */
static void leave_other_runs_out(struct lpo_ranks *r, const ranks_families *families)
{
    struct usual usual = find_usual(r), all = usual;

    if (misfits(usual.error_ns, usual.fit)) {
        align_again(r, families, true);
        usual = find_usual(r);
        if (usual.error_ns < 0 || usual.error_ns > all.error_ns / MISFIT_TIMES) {
            align_again(r, families, false);
            return;
        }
    }
    for (size_t i = 0; usual.error_ns >= 0 && i < r->rows.len; i++) {
        struct lpo_rank_row *row = &r->rows.at[i];

        if (row->aligned && misfits(row->error_ns, row->fit) &&
            row->error_ns > usual.error_ns * MISFIT_TIMES) {
            row->other_run = true;
            row->aligned = false;
        }
    }
}

/* What they did belongs to nothing here. */
static void drop_series(const struct lpo_ranks *r, ranks_families *families)
{
    for (size_t i = 0; i < families->len; i++) {
        struct ranks_family *f = &families->at[i];
        size_t kept = 0;

        for (size_t k = 0; k < f->series.len; k++)
            if (r->rows.at[f->series.at[k].rank].other_run)
                lpo_vec_free(&f->series.at[k].events);
            else
                f->series.at[kept++] = f->series.at[k];
        f->series.len = kept;
    }
}

/* Do the ends of two series lie as close as those of one collective must? */
static bool ends_together(const struct lpo_ranks *r, const struct ranks_series *x,
                          const struct ranks_series *y)
{
    struct ranks_line line = line_between(&r->rows.at[x->rank], &r->rows.at[y->rank]);
    int64_t closest = RANKS_SURE_NS + CLOSE_ERRORS * line.error_ns;
    size_t least = x->events.len < y->events.len ? x->events.len : y->events.len, found = 0;
    LPO_FREED uint32_t *pair = NULL;

    if (agrees_in_order(&x->events, &y->events, &line, closest))
        return true;
    pair = lpo_xrealloc(NULL, y->events.len + 1, sizeof *pair);
    lpo_ranks_nearest(&x->events, &y->events, &line, closest, pair);
    for (size_t k = 0; k < y->events.len; k++)
        found += pair[k] != LPO_NONE;
    return found * 5 >= least * 4;
}

/* Groups of one name, of which nothing else is said: those that end together are one. The first of
 * them stays in the family, the others go into one of their own. */
static void split_family(const struct lpo_ranks *r, ranks_families *families, size_t at)
{
    struct ranks_family rest = families->at[at], *f;
    size_t kept = 1, left = 0;

    rest.series.at = NULL;
    rest.series.len = rest.series.cap = 0;
    f = &families->at[at];
    for (size_t k = 1; k < f->series.len; k++)
        if (ends_together(r, &f->series.at[0], &f->series.at[k]))
            f->series.at[kept++] = f->series.at[k];
        else
            lpo_vec_push(&rest.series, f->series.at[k]);
    left = rest.series.len;
    f->series.len = kept;
    if (left)
        lpo_vec_push(families, rest); /* looked at in its turn */
}

static void split_families(const struct lpo_ranks *r, ranks_families *families)
{
    for (size_t i = 0; i < families->len; i++) {
        const struct ranks_family *f = &families->at[i];
        bool aligned = true;

        for (size_t k = 0; k < f->series.len; k++)
            aligned &= r->rows.at[f->series.at[k].rank].aligned;
        if (aligned && f->together && may_be_several(f))
            split_family(r, families, i);
    }
}

uint32_t lpo_ranks_align(struct lpo_ranks *r, ranks_families *families)
{
    uint32_t instances = 0;

    lpo_ranks_split_guessed(families);
    align_clocks(r, families);
    leave_other_runs_out(r, families);
    drop_series(r, families);
    split_families(r, families);
    for (size_t i = 0; i < families->len; i++) {
        struct ranks_family *f = &families->at[i];

        if (!f->series.len)
            continue;
        f->first_instance = instances;
        f->instances = (uint32_t)f->series.at[0].events.len;
        instances += f->instances;
        if (!r->rows.at[f->series.at[0].rank].aligned)
            continue;
        for (size_t k = 0; k < f->instances; k++)
            f->series.at[0].events.at[k].instance = f->first_instance + (uint32_t)k;
        for (size_t k = 1; k < f->series.len; k++)
            if (r->rows.at[f->series.at[k].rank].aligned)
                match_series(r, f, &f->series.at[k]);
    }
    return instances;
}
