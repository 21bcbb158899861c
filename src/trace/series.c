/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/series.h"

/* 256 KB of points, and no more series than a machine of many GPUs has counters. */
enum { MOST_POINTS = 1 << 14, MOST_SERIES = 1024, GROUP = 4 };

uint32_t lpo_trace_series(struct lpo_trace *t, enum lpo_series_kind kind, const char *name,
                          const char *unit, uint16_t device)
{
    uint32_t id = lpo_trace_name(t, name);

    for (size_t i = 0; i < t->series.len; i++) {
        const struct lpo_series *s = &t->series.at[i];

        if (s->kind == kind && s->device == device && s->name == id)
            return (uint32_t)i;
    }
    if (t->series.len == MOST_SERIES)
        return LPO_NONE;
    lpo_vec_push(&t->series,
                 (struct lpo_series){ .kind = (uint8_t)kind,
                                      .device = device,
                                      .name = id,
                                      .unit = unit ? lpo_trace_name(t, unit) : LPO_NONE });
    return (uint32_t)t->series.len - 1;
}

/* Of every group the smallest and the largest, in their order; of equals the first. */
static void thin(struct lpo_series *s)
{
    struct lpo_series_point *p = s->points.at;
    size_t to = 0;

    for (size_t from = 0; from < s->points.len; from += GROUP) {
        size_t end = from + GROUP < s->points.len ? from + GROUP : s->points.len;
        size_t least = from, most = from;

        for (size_t i = from + 1; i < end; i++) {
            least = p[i].value < p[least].value ? i : least;
            most = p[i].value > p[most].value ? i : most;
        }
        p[to++] = p[least < most ? least : most];
        if (least != most)
            p[to++] = p[least < most ? most : least];
    }
    s->points.len = to;
}

void lpo_trace_series_add(struct lpo_series *s, int64_t ns, double value)
{
    if (!isfinite(value))
        return;
    if (s->points.len == MOST_POINTS)
        thin(s);
    s->seen++;
    lpo_vec_push(&s->points, (struct lpo_series_point){ ns, value });
}

void lpo_trace_series_thin(struct lpo_series *s, size_t most)
{
    while (s->points.len > most)
        thin(s);
    s->points.at = lpo_xrealloc(s->points.at, s->points.len + 1, sizeof *s->points.at);
    s->points.cap = s->points.len + 1;
}

LPO_COMPARE(by_time, struct lpo_series_point, LPO_UP(ns));

void lpo_trace_series_sort(struct lpo_series *s)
{
    size_t i = 1;

    while (i < s->points.len && s->points.at[i - 1].ns <= s->points.at[i].ns)
        i++;
    if (i < s->points.len)
        lpo_vec_sort(&s->points, by_time);
}
