/* SPDX-License-Identifier: Apache-2.0 */
/* The difference of two clocks as a line over time. */

#include "analysis/ranks/private.h"

enum {
    FEWEST = 5,      /* pairs of ends that a drift is looked for in */
    FEW = 16,        /* with fewer, all of them must lie on the line */
    LEAST_NS = 1000, /* a change over the whole recording below that is none: what clocks resolve */
    CERTAIN = 4,     /* errors of the drift that it must exceed */
    FEW_CERTAIN = 6, /* times the largest distance from the line, where there are few */
    MOST_PPM = 1000  /* no clock is that wrong: other things differ */
};

LPO_COMPARE(by_size, double, LPO_UP_OF(*a, *b));

/* Slopes between points that are half of the recording apart: their median does not mind a quarter
 * of them being wrong. */
static double slope(const ranks_numbers *at, const ranks_numbers *differences)
{
    size_t half = at->len / 2, n = 0;
    double *all = lpo_xrealloc(NULL, half + 1, sizeof *all), middle;

    for (size_t i = 0; i < half; i++) {
        double time = (double)(at->at[i + half] - at->at[i]);

        if (time > 0)
            all[n++] = (double)(differences->at[i + half] - differences->at[i]) / time;
    }
    qsort(all, n, sizeof *all, by_size);
    middle = !n ? 0 : n % 2 ? all[n / 2] : (all[n / 2 - 1] + all[n / 2]) / 2;
    free(all);
    return middle;
}

/* Offset and error for a given drift. */
static struct ranks_line line_of(const ranks_numbers *at, const ranks_numbers *differences,
                                 double drift)
{
    struct ranks_line l = { .drift = drift };
    LPO_FREED int64_t *room = lpo_xrealloc(NULL, at->len + 1, sizeof *room);

    l.middle_ns = at->len ? at->at[0] + (at->at[at->len - 1] - at->at[0]) / 2 : 0;
    for (size_t i = 0; i < at->len; i++)
        room[i] = differences->at[i] - lpo_ranks_line_at(&l, at->at[i]);
    l.offset_ns = lpo_ranks_median(room, at->len);
    for (size_t i = 0; i < at->len; i++)
        room[i] = llabs(differences->at[i] - lpo_ranks_line_at(&l, at->at[i]));
    l.error_ns = lpo_ranks_median(room, at->len);
    return l;
}

static int64_t farthest(const ranks_numbers *at, const ranks_numbers *differences,
                        const struct ranks_line *l)
{
    int64_t most = 0;

    for (size_t i = 0; i < at->len; i++) {
        int64_t away = llabs(differences->at[i] - lpo_ranks_line_at(l, at->at[i]));

        most = away > most ? away : most;
    }
    return most;
}

struct ranks_line lpo_ranks_line_fit(const ranks_numbers *at, const ranks_numbers *differences)
{
    struct ranks_line flat = line_of(at, differences, 0), sloped;
    double span = at->len ? (double)(at->at[at->len - 1] - at->at[0]) : 0, drift, error;

    if (at->len < FEWEST || span <= 0)
        return flat;
    drift = slope(at, differences);
    if (fabs(drift) * span < LEAST_NS || fabs(drift) > MOST_PPM * 1e-6)
        return flat;
    sloped = line_of(at, differences, drift);
    if (at->len < FEW)
        return fabs(drift) * span > FEW_CERTAIN * (double)farthest(at, differences, &sloped)
                   ? sloped
                   : flat;
    /* standard error of a median of len/2 slopes, by the spread of what is left */
    error = 1.4826 * (double)sloped.error_ns * 5 / (span * sqrt((double)at->len));
    return sloped.error_ns <= flat.error_ns && fabs(drift) > CERTAIN * error ? sloped : flat;
}
