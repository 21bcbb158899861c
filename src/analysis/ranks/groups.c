/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives of which the framework said nothing: ranks whose ends fit each other are a group. Of
 * groups that do the same at nearly the same time the ends are only alike; a line through those is
 * no clock. */

#include "analysis/ranks/private.h"

/* Events of `a` that ended while `b` was recorded; `sign` takes the line off, or adds it. */
static size_t count_within(const ranks_events *a, const ranks_events *b,
                           const struct ranks_line *line, int sign)
{
    int64_t first = b->at[0].end_ns, last = b->at[b->len - 1].end_ns;
    size_t n = 0;

    for (size_t i = 0; i < a->len; i++) {
        int64_t ns = a->at[i].end_ns + sign * lpo_ranks_line_at(line, a->at[i].end_ns);

        n += ns >= first - RANKS_SURE_NS && ns <= last + RANKS_SURE_NS;
    }
    return n;
}

/* Do the ends of two ranks lie on a line as those of one collective do? */
static bool fits(const struct ranks_series *a, const struct ranks_series *b)
{
    size_t found, of_a, of_b;
    ranks_pairs pairs = { 0 };
    struct ranks_line line;

    lpo_vec_push(&pairs, (struct ranks_pair){ &a->events, &b->events });
    line = lpo_ranks_line_find(&pairs, &found);
    lpo_vec_free(&pairs);
    of_a = count_within(&a->events, &b->events, &line, 1);
    of_b = count_within(&b->events, &a->events, &line, -1);
    return found * 5 >= (of_a > of_b ? of_a : of_b) * 4 && line.error_ns <= RANKS_SURE_NS;
}

/* The first of a family and those that fit it stay; the others go into one of their own. */
static void split(ranks_families *families, size_t at)
{
    struct ranks_family rest = families->at[at], *f = &families->at[at];
    size_t kept = 1;

    rest.series.at = NULL;
    rest.series.len = rest.series.cap = 0;
    for (size_t k = 1; k < f->series.len; k++)
        if (fits(&f->series.at[0], &f->series.at[k]))
            f->series.at[kept++] = f->series.at[k];
        else
            lpo_vec_push(&rest.series, f->series.at[k]);
    f->series.len = kept;
    if (rest.series.len)
        lpo_vec_push(families, rest); /* looked at in its turn */
}

void lpo_ranks_split_guessed(ranks_families *families)
{
    for (size_t i = 0; i < families->len; i++)
        if (families->at[i].guessed && families->at[i].together)
            split(families, i);
}
