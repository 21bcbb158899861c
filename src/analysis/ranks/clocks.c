/* SPDX-License-Identifier: Apache-2.0 */
/* The clocks of the ranks, by the ends of what they did together. */
#include <math.h>
#include <stdlib.h>

#include "analysis/ranks/private.h"
#include "util/map.h"
#include "util/xmalloc.h"

enum {
    PAIRS = 1 << 20,         /* of ends that are looked at where their order says nothing */
    MOST_EVENTS = 16384,     /* of one of the two series, then */
    BLOCKS = 4,              /* places of the other from which events are taken */
    WINDOW_NS = 20000,       /* differences that agree about an offset lie in such a window */
    AGREE_NS = 100000,       /* ends of one collective lie closer than that */
    SURE_NS = 5000,          /* closer than that, their order is not doubted */
    TOLERANCE_ERRORS = 5,    /* or closer than so many errors of the clocks */
    CLOSE_ERRORS = 3,        /* more than so many apart, they are not one collective */
    LEAST_TOLERANCE = 50000, /* ns */
    MOST_CANDIDATES = 6,     /* offsets of two ranks that are compared */
    MOST_FITS = 8,           /* of a line to the pairs that it finds itself */
    MOST_SHIFTS = 2048,      /* of one order against the other, from either end */
    SAMPLE = 48              /* pairs that a shift is judged by */
};

/* The same collectives on two ranks. */
struct pair_of_series {
    const ranks_events *a, *b;
};

/* What two ranks say about each other's clocks. */
struct edge {
    uint32_t from, to; /* rows */
    LPO_VEC(struct pair_of_series) series;
    struct ranks_line line; /* of the clock of `to` */
    size_t pairs;           /* of ends that it was found by; 0: none */
};

typedef LPO_VEC(struct edge) edges;

static int64_t magnitude(int64_t v)
{
    return v < 0 ? -v : v;
}

/* Pairs of ends, in order of the second. */
struct found {
    ranks_numbers at, differences;
};

static void found_add(struct found *f, int64_t a_ns, int64_t b_ns)
{
    lpo_vec_push(&f->at, b_ns);
    lpo_vec_push(&f->differences, b_ns - a_ns);
}

static void found_free(struct found *f)
{
    lpo_vec_free(&f->at);
    lpo_vec_free(&f->differences);
}

/* The number of values from `from` on that lie in a window. */
static size_t in_window(const ranks_numbers *v, size_t from, size_t to)
{
    while (to < v->len && v->at[to] - v->at[from] <= WINDOW_NS)
        to++;
    return to - from;
}

/* Ends of `b` from several places of it, each with every end of `a`: one may have recorded any part
 * of what the other did. */
static void list_differences(const ranks_events *a, const ranks_events *b, ranks_numbers *out)
{
    size_t n = a->len < MOST_EVENTS ? a->len : MOST_EVENTS, m = PAIRS / (n ? n : 1), step;

    m = m < b->len ? m : b->len;
    step = m / BLOCKS ? m / BLOCKS : 1;
    for (size_t k = 0; k < m; k++) {
        size_t block = k / step < BLOCKS ? k / step : BLOCKS - 1;
        size_t at = m == b->len ? k : (b->len - step) * block / (BLOCKS - 1) + (k - block * step);

        for (size_t i = 0; i < n && at < b->len; i++)
            lpo_vec_push(out, b->at[at].end_ns - a->at[i].end_ns);
    }
}

/* The offset that most pairs of ends agree about. Steps of a program are alike, so that an offset
 * by a step has nearly as many: of those with nearly the most, the one they agree about best. */
static int64_t vote(const ranks_events *a, const ranks_events *b)
{
    ranks_numbers all = { 0 };
    size_t most = 0;
    int64_t best = 0, width = INT64_MAX;

    list_differences(a, b, &all);
    lpo_ranks_median(all.at, all.len); /* sorts */
    for (size_t from = 0, count = 0; from < all.len; from++) {
        count = in_window(&all, from, from + (count ? count - 1 : 0));
        most = count > most ? count : most;
    }
    for (size_t from = 0, count = 0; from < all.len; from++) {
        int64_t middle, half;

        count = in_window(&all, from, from + (count ? count - 1 : 0));
        middle = all.at[from + count / 2];
        half = all.at[from + count * 3 / 4] - all.at[from + count / 4];
        if (count * 10 < most * 9 || half > width ||
            (half == width && magnitude(middle) >= magnitude(best)))
            continue;
        width = half;
        best = middle;
    }
    lpo_vec_free(&all);
    return best;
}

/* Pairs each end of `b` with the nearest of `a`, at most `tolerance_ns` away once the line is taken
 * off. `pair` gets the row of `a`, LPO_NONE for none. */
static void nearest(const ranks_events *a, const ranks_events *b, const struct ranks_line *line,
                    int64_t tolerance_ns, uint32_t *pair)
{
    size_t at = 0;

    for (size_t k = 0; k < b->len; k++) {
        int64_t end = b->at[k].end_ns - lpo_ranks_line_at(line, b->at[k].end_ns);

        while (at + 1 < a->len &&
               magnitude(a->at[at + 1].end_ns - end) < magnitude(a->at[at].end_ns - end))
            at++;
        pair[k] = LPO_NONE;
        if (at < a->len && magnitude(a->at[at].end_ns - end) <= tolerance_ns)
            pair[k] = (uint32_t)at++;
    }
}

static void find_nearest(const struct pair_of_series *s, const struct ranks_line *line,
                         int64_t tolerance_ns, struct found *out)
{
    uint32_t *pair = lpo_xrealloc(NULL, s->b->len + 1, sizeof *pair);

    nearest(s->a, s->b, line, tolerance_ns, pair);
    for (size_t k = 0; k < s->b->len; k++)
        if (pair[k] != LPO_NONE)
            found_add(out, s->a->at[pair[k]].end_ns, s->b->at[k].end_ns);
    free(pair);
}

static struct ranks_line line_in_order(const struct pair_of_series *s)
{
    struct found f = { 0 };
    struct ranks_line line;

    for (size_t i = 0; i < s->a->len; i++)
        found_add(&f, s->a->at[i].end_ns, s->b->at[i].end_ns);
    line = lpo_ranks_line_fit(&f.at, &f.differences);
    found_free(&f);
    return line;
}

/* A drift moves ends away from the offset that the vote found: the line is fitted again to all that
 * it finds, until it finds no more. */
static struct ranks_line widen(const struct pair_of_series *s, struct ranks_line line,
                               size_t *matched)
{
    size_t before = 0;

    for (int i = 0; i < MOST_FITS; i++) {
        struct found f = { 0 };
        bool more;

        find_nearest(s, &line, AGREE_NS, &f);
        more = f.at.len > before;
        before = f.at.len;
        if (f.at.len)
            line = lpo_ranks_line_fit(&f.at, &f.differences);
        found_free(&f);
        if (!more)
            break;
    }
    *matched = before;
    return line;
}

/* The pairs of one order moved against the other by `shift`. */
static struct ranks_line line_by_shift(const struct pair_of_series *s, int64_t shift,
                                       double *points)
{
    int64_t from = shift < 0 ? -shift : 0, n = (int64_t)s->a->len, m = (int64_t)s->b->len;
    int64_t to = m < n - shift ? m : n - shift, step = (to - from) / SAMPLE + 1;
    struct found f = { 0 };
    struct ranks_line line;

    for (int64_t i = from; i < to; i += step)
        found_add(&f, s->a->at[i + shift].end_ns, s->b->at[i].end_ns);
    line = lpo_ranks_line_fit(&f.at, &f.differences);
    *points = 0;
    for (size_t i = 0; i < f.at.len; i++) {
        double away =
            (double)(f.differences.at[i] - lpo_ranks_line_at(&line, f.at.at[i])) / SURE_NS;

        *points += (double)step / (1 + away * away);
    }
    found_free(&f);
    return line;
}

/* One began later, or ended earlier, and their clocks drift apart, so that no offset has many
 * votes: of all shifts the one whose pairs lie on a line best. */
static struct ranks_line line_by_best_shift(const struct pair_of_series *s)
{
    int64_t n = (int64_t)s->a->len, m = (int64_t)s->b->len, least = (n < m ? n : m) / 4 + 1;
    struct ranks_line best = { 0 };
    double most = -1;
    size_t matched;

    for (int64_t shift = least - m; shift <= n - least; shift++) {
        struct ranks_line line;
        double points;

        if (magnitude(shift) > MOST_SHIFTS && magnitude(shift - (n - m)) > MOST_SHIFTS)
            continue;
        line = line_by_shift(s, shift, &points);
        if (points > most) {
            most = points;
            best = line;
        }
    }
    return widen(s, best, &matched);
}

/* How well a line explains all that two ranks did together: the number of ends that it puts
 * together, those that lie further apart counting less. */
static double score(const struct edge *e, const struct ranks_line *line)
{
    double sum = 0;

    for (size_t i = 0; i < e->series.len; i++) {
        struct found f = { 0 };

        find_nearest(&e->series.at[i], line, AGREE_NS, &f);
        for (size_t k = 0; k < f.at.len; k++) {
            double away =
                (double)(f.differences.at[k] - lpo_ranks_line_at(line, f.at.at[k])) / SURE_NS;

            sum += 1 / (1 + away * away);
        }
        found_free(&f);
    }
    return sum;
}

struct candidates {
    struct ranks_line at[MOST_CANDIDATES];
    size_t len;
};

/* In their order where that agrees; else, and where it agrees badly, as the ends vote. */
static void add_candidates(const struct pair_of_series *s, struct candidates *c)
{
    bool in_order = s->a->len == s->b->len;

    if (in_order) {
        struct ranks_line line = line_in_order(s);

        in_order = line.error_ns <= SURE_NS && s->a->len > 1;
        if (line.error_ns <= AGREE_NS && c->len < MOST_CANDIDATES)
            c->at[c->len++] = line;
    }
    if (!in_order && c->len < MOST_CANDIDATES) {
        size_t least = s->a->len < s->b->len ? s->a->len : s->b->len, matched;
        struct ranks_line line = { .offset_ns = vote(s->a, s->b) };

        line = widen(s, line, &matched);
        c->at[c->len++] = line;
        if ((matched * 10 < least * 9 || line.error_ns > SURE_NS) && c->len < MOST_CANDIDATES)
            c->at[c->len++] = line_by_best_shift(s);
    }
}

static int most_events_first(const void *x, const void *y)
{
    const struct pair_of_series *a = x, *b = y;
    size_t m = a->a->len < a->b->len ? a->a->len : a->b->len;
    size_t n = b->a->len < b->b->len ? b->a->len : b->b->len;

    if (m != n)
        return m > n ? -1 : 1;
    return a->a->at[0].op < b->a->at[0].op ? -1 : a->a->at[0].op > b->a->at[0].op;
}

static int by_time(const void *x, const void *y)
{
    const int64_t *a = x, *b = y;

    if (a[0] != b[0])
        return a[0] < b[0] ? -1 : 1;
    return a[1] < b[1] ? -1 : a[1] > b[1];
}

/* Series follow each other in `f`: a line needs them in order of time. */
static void sort_found(struct found *f)
{
    int64_t(*both)[2] = lpo_xrealloc(NULL, f->at.len + 1, sizeof *both);

    for (size_t i = 0; i < f->at.len; i++) {
        both[i][0] = f->at.at[i];
        both[i][1] = f->differences.at[i];
    }
    qsort(both, f->at.len, sizeof *both, by_time);
    for (size_t i = 0; i < f->at.len; i++) {
        f->at.at[i] = both[i][0];
        f->differences.at[i] = both[i][1];
    }
    free(both);
}

static void solve(struct edge *e)
{
    struct candidates c = { .len = 0 };
    struct ranks_line best = { 0 };
    struct found f = { 0 };
    double most = -1;
    int64_t close;

    qsort(e->series.at, e->series.len, sizeof *e->series.at, most_events_first);
    for (size_t i = 0; i < e->series.len && c.len < MOST_CANDIDATES; i++)
        add_candidates(&e->series.at[i], &c);
    for (size_t i = 0; i < c.len; i++) {
        double points = c.len > 1 ? score(e, &c.at[i]) : 0;

        if (points > most) {
            most = points;
            best = c.at[i];
        }
    }
    /* of groups that only look like one the ends lie apart: those must not make it less certain */
    close = TOLERANCE_ERRORS * best.error_ns > SURE_NS ? TOLERANCE_ERRORS * best.error_ns : SURE_NS;
    for (size_t i = 0; i < e->series.len; i++)
        find_nearest(&e->series.at[i], &best, close, &f);
    sort_found(&f);
    e->pairs = f.at.len;
    e->line = lpo_ranks_line_fit(&f.at, &f.differences);
    found_free(&f);
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

static void find_edges(const struct lpo_ranks *r, const ranks_families *families, enum trust trust,
                       edges *out)
{
    struct lpo_map_pair rows = { 0 };
    size_t before = out->len;

    for (size_t i = 0; i < families->len; i++) {
        const struct ranks_family *f = &families->at[i];

        for (size_t k = 1; is_trusted(f, trust) && k < f->series.len; k++) {
            uint32_t from = f->series.at[0].rank, to = f->series.at[k].rank;
            bool fresh;
            uint32_t row;

            if (r->rows.at[from].aligned && r->rows.at[to].aligned)
                continue;
            row = lpo_map_pair_put(&rows, from, to, &fresh);
            if (fresh)
                lpo_vec_push(out, (struct edge){ .from = from, .to = to });
            lpo_vec_push(
                &out->at[before + row].series,
                (struct pair_of_series){ &f->series.at[0].events, &f->series.at[k].events });
        }
    }
    lpo_map_pair_free(&rows);
    for (size_t i = before; i < out->len; i++)
        solve(&out->at[i]);
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

static void spread_offsets(struct lpo_ranks *r, const edges *all)
{
    const struct edge *e;

    r->rows.at[0].aligned = true;
    while ((e = most_certain(r, all))) {
        bool forward = r->rows.at[e->from].aligned;

        join(&r->rows.at[forward ? e->from : e->to], &e->line, forward,
             &r->rows.at[forward ? e->to : e->from]);
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
    int64_t *away;
    bool agrees;

    if (a->len != b->len)
        return false;
    away = lpo_xrealloc(NULL, a->len + 1, sizeof *away);
    for (size_t i = 0; i < a->len; i++)
        away[i] =
            magnitude(b->at[i].end_ns - a->at[i].end_ns - lpo_ranks_line_at(line, b->at[i].end_ns));
    agrees = lpo_ranks_median(away, a->len) <= tolerance_ns;
    free(away);
    return agrees;
}

/* In their order where that agrees with the clocks, else the nearest ends. */
static void match_series(const struct lpo_ranks *r, const struct ranks_family *f,
                         struct ranks_series *s)
{
    struct ranks_line line = line_between(&r->rows.at[f->series.at[0].rank], &r->rows.at[s->rank]);
    const ranks_events *a = &f->series.at[0].events;
    int64_t tolerance = TOLERANCE_ERRORS * line.error_ns;
    uint32_t *pair = lpo_xrealloc(NULL, s->events.len + 1, sizeof *pair);
    bool in_order;

    tolerance = tolerance > LEAST_TOLERANCE ? tolerance : LEAST_TOLERANCE;
    if (!f->together && tolerance < AGREE_NS)
        tolerance = AGREE_NS;
    in_order = agrees_in_order(a, &s->events, &line, tolerance);
    nearest(a, &s->events, &line, tolerance, pair);
    for (size_t i = 0; i < s->events.len; i++)
        if (in_order)
            s->events.at[i].instance = f->first_instance + (uint32_t)i;
        else if (pair[i] != LPO_NONE)
            s->events.at[i].instance = f->first_instance + pair[i];
    free(pair);
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

/* Do the ends of two series lie as close as those of one collective must? */
static bool ends_together(const struct lpo_ranks *r, const struct ranks_series *x,
                          const struct ranks_series *y)
{
    struct ranks_line line = line_between(&r->rows.at[x->rank], &r->rows.at[y->rank]);
    struct pair_of_series pair = { &x->events, &y->events };
    int64_t closest = SURE_NS + CLOSE_ERRORS * line.error_ns;
    size_t least = x->events.len < y->events.len ? x->events.len : y->events.len;
    struct found f = { 0 };
    bool together;

    if (agrees_in_order(&x->events, &y->events, &line, closest))
        return true;
    find_nearest(&pair, &line, closest, &f);
    together = f.at.len * 5 >= least * 4;
    found_free(&f);
    return together;
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

    align_clocks(r, families);
    split_families(r, families);
    for (size_t i = 0; i < families->len; i++) {
        struct ranks_family *f = &families->at[i];

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
