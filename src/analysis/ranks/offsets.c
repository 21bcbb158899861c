/* SPDX-License-Identifier: Apache-2.0 */
/* The difference of the clocks of two ranks: which ends belong together, and the line they lie on.
 */

#include "analysis/ranks/private.h"

enum {
    PAIRS = 1 << 20,      /* of ends that are looked at where their order says nothing */
    MOST_EVENTS = 16384,  /* of one of the two series, then */
    BLOCKS = 4,           /* places of the other from which events are taken */
    WINDOW_NS = 20000,    /* differences that agree about an offset lie in such a window */
    TOLERANCE_ERRORS = 5, /* ends that lie further apart are not used */
    MOST_CANDIDATES = 6,  /* offsets of two ranks that are compared */
    MOST_FITS = 8,        /* of a line to the pairs that it finds itself */
    MOST_SHIFTS = 2048,   /* of one order against the other, from either end */
    SAMPLE = 48           /* pairs that a shift is judged by */
};

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

/* How well the values of a window agree with the one in its middle: those that are further away
 * count less. Of a large window some are looked at. */
static double agreement(const int64_t *values, size_t count)
{
    size_t step = count / SAMPLE + 1, n = 0;
    const int64_t middle = values[count / 2];
    double sum = 0;

    for (size_t i = 0; i < count; i += step, n++) {
        double away = (double)(values[i] - middle) / RANKS_SURE_NS;

        sum += 1 / (1 + away * away);
    }
    return sum / (double)n * (double)count;
}

/* The offset that most pairs of ends agree about. Steps of a program are alike, so that an offset
 * by a step has nearly as many: of those with nearly the most, the one they agree about best. */
static int64_t vote(const ranks_events *a, const ranks_events *b)
{
    LPO_FREED ranks_numbers all = { 0 };
    size_t most = 0;
    int64_t best = 0;
    double points = -1;

    list_differences(a, b, &all);
    lpo_ranks_median(all.at, all.len); /* sorts */
    for (size_t from = 0, count = 0; from < all.len; from++) {
        count = in_window(&all, from, from + (count ? count - 1 : 0));
        most = count > most ? count : most;
    }
    for (size_t from = 0, count = 0; from < all.len; from++) {
        int64_t middle;
        double agree;

        count = in_window(&all, from, from + (count ? count - 1 : 0));
        if (count * 10 < most * 9)
            continue;
        middle = all.at[from + count / 2];
        agree = agreement(&all.at[from], count);
        if (agree < points || (agree <= points && magnitude(middle) >= magnitude(best)))
            continue;
        points = agree;
        best = middle;
    }
    return best;
}

void lpo_ranks_nearest(const ranks_events *a, const ranks_events *b, const struct ranks_line *line,
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

size_t lpo_ranks_same_number(const ranks_events *a, const ranks_events *b, uint32_t *pair)
{
    size_t at = 0, found = 0;

    for (size_t k = 0; k < b->len; k++) {
        while (at < a->len && a->at[at].number < b->at[k].number)
            at++;
        pair[k] = at < a->len && a->at[at].number == b->at[k].number ? (uint32_t)at : LPO_NONE;
        found += pair[k] != LPO_NONE;
    }
    return found;
}

static void find_numbered(const struct ranks_pair *s, struct found *out)
{
    LPO_FREED uint32_t *pair = NULL;

    if (!lpo_ranks_numbered(s->a) || !lpo_ranks_numbered(s->b))
        return;
    pair = lpo_xrealloc(NULL, s->b->len + 1, sizeof *pair);
    lpo_ranks_same_number(s->a, s->b, pair);
    for (size_t k = 0; k < s->b->len; k++)
        if (pair[k] != LPO_NONE)
            found_add(out, s->a->at[pair[k]].end_ns, s->b->at[k].end_ns);
}

static void find_nearest(const struct ranks_pair *s, const struct ranks_line *line,
                         int64_t tolerance_ns, struct found *out)
{
    LPO_FREED uint32_t *pair = lpo_xrealloc(NULL, s->b->len + 1, sizeof *pair);

    lpo_ranks_nearest(s->a, s->b, line, tolerance_ns, pair);
    for (size_t k = 0; k < s->b->len; k++)
        if (pair[k] != LPO_NONE)
            found_add(out, s->a->at[pair[k]].end_ns, s->b->at[k].end_ns);
}

static struct ranks_line line_in_order(const struct ranks_pair *s)
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
static struct ranks_line widen(const struct ranks_pair *s, struct ranks_line line, size_t *matched)
{
    size_t before = 0;

    for (int i = 0; i < MOST_FITS; i++) {
        struct found f = { 0 };
        bool more;

        find_nearest(s, &line, RANKS_AGREE_NS, &f);
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
static struct ranks_line line_by_shift(const struct ranks_pair *s, int64_t shift, double *points)
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
            (double)(f.differences.at[i] - lpo_ranks_line_at(&line, f.at.at[i])) / RANKS_SURE_NS;

        *points += (double)step / (1 + away * away);
    }
    found_free(&f);
    return line;
}

/* One began later, or ended earlier, and their clocks drift apart, so that no offset has many
 * votes: of all shifts the one whose pairs lie on a line best. */
static struct ranks_line line_by_best_shift(const struct ranks_pair *s)
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
static double score(const ranks_pairs *e, const struct ranks_line *line)
{
    double sum = 0;

    for (size_t i = 0; i < e->len; i++) {
        struct found f = { 0 };

        find_nearest(&e->at[i], line, RANKS_AGREE_NS, &f);
        for (size_t k = 0; k < f.at.len; k++) {
            double away =
                (double)(f.differences.at[k] - lpo_ranks_line_at(line, f.at.at[k])) / RANKS_SURE_NS;

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
static void add_candidates(const struct ranks_pair *s, struct candidates *c)
{
    bool in_order = s->a->len == s->b->len;

    if (in_order) {
        struct ranks_line line = line_in_order(s);

        in_order = line.error_ns <= RANKS_SURE_NS && s->a->len > 1;
        if (line.error_ns <= RANKS_AGREE_NS && c->len < MOST_CANDIDATES)
            c->at[c->len++] = line;
    }
    if (!in_order && c->len < MOST_CANDIDATES) {
        size_t least = s->a->len < s->b->len ? s->a->len : s->b->len, matched;
        struct ranks_line line = { .offset_ns = vote(s->a, s->b) };

        line = widen(s, line, &matched);
        c->at[c->len++] = line;
        if ((matched * 10 < least * 9 || line.error_ns > RANKS_SURE_NS) && c->len < MOST_CANDIDATES)
            c->at[c->len++] = line_by_best_shift(s);
    }
}

static int most_events_first(const void *x, const void *y)
{
    const struct ranks_pair *a = x, *b = y;
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

/* By the numbers of the collectives, where they have some and their ends agree. */
static bool line_by_numbers(const ranks_pairs *pairs, struct ranks_line *out)
{
    struct found f = { 0 };
    bool agrees;

    for (size_t i = 0; i < pairs->len; i++)
        find_numbered(&pairs->at[i], &f);
    sort_found(&f);
    *out = lpo_ranks_line_fit(&f.at, &f.differences);
    agrees = f.at.len && out->error_ns <= RANKS_AGREE_NS;
    found_free(&f);
    return agrees;
}

static struct ranks_line best_candidate(const ranks_pairs *pairs)
{
    struct candidates c = { .len = 0 };
    struct ranks_line best = { 0 };
    double most = -1;

    for (size_t i = 0; i < pairs->len && c.len < MOST_CANDIDATES; i++)
        add_candidates(&pairs->at[i], &c);
    for (size_t i = 0; i < c.len; i++) {
        double points = c.len > 1 ? score(pairs, &c.at[i]) : 0;

        if (points > most) {
            most = points;
            best = c.at[i];
        }
    }
    return best;
}

struct ranks_line lpo_ranks_line_find(ranks_pairs *pairs, size_t *found)
{
    struct ranks_line best;
    struct found f = { 0 };
    int64_t close;

    lpo_vec_sort(pairs, most_events_first);
    if (!line_by_numbers(pairs, &best))
        best = best_candidate(pairs);
    /* of groups that only look like one the ends lie apart: those must not make it less certain */
    close = TOLERANCE_ERRORS * best.error_ns > RANKS_SURE_NS ? TOLERANCE_ERRORS * best.error_ns
                                                             : RANKS_SURE_NS;
    for (size_t i = 0; i < pairs->len; i++)
        find_nearest(&pairs->at[i], &best, close, &f);
    sort_found(&f);
    *found = f.at.len;
    best = lpo_ranks_line_fit(&f.at, &f.differences);
    found_free(&f);
    return best;
}
