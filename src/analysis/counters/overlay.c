/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/counters/overlay.h"

#include "analysis/counters/match.h"
#include "region/tree.h"

/* Within this factor of the measured time a launch counts as the same work. */
static const double same_gpu_op = 1.25;
/* Beyond it, proportions are rounded to steps of this size, so that launches can share rows. */
static const double step = 1.01;

/* How much of a reading a launch is: of its work, and of its time. */
struct scale {
    double gpu_op, time;
};

/* What was measured of one configuration, or of one kernel in all its configurations. */
struct config {
    double *sum, *square; /* per metric of the counters; squares of values at the mean time */
    uint32_t *count;
    double ns;      /* of the measured launches, in the base trace */
    double threads; /* of the measured launches */
    uint32_t readings;
};

struct overlay {
    struct lpo_trace *base;
    const struct lpo_trace *counters;
    struct lpo_counters_match *match;
    size_t nmetrics;
    uint32_t *column, *sd_column; /* metric of counters -> columns of base */
    bool *timed;                  /* metric of counters: it counts time or cycles */
    struct lpo_map *peers, *shapes, *names, *families, *rows;
    LPO_VEC(struct config) configs;
};

static struct config *config_at(struct overlay *o, struct lpo_map *map, const struct lpo_str *key)
{
    bool fresh;
    uint64_t *slot = lpo_map_put(map, lpo_str_text(key), key->len, &fresh);

    if (fresh) {
        *slot = o->configs.len;
        lpo_vec_push(&o->configs, (struct config){ lpo_xcalloc(o->nmetrics, sizeof(double)),
                                                   lpo_xcalloc(o->nmetrics, sizeof(double)),
                                                   lpo_xcalloc(o->nmetrics, sizeof(uint32_t)) });
    }
    return &o->configs.at[*slot];
}

static double threads_of(const struct lpo_trace *t, const struct lpo_gpu_op *w)
{
    const struct lpo_shape *s = w->shape == LPO_NONE ? NULL : &t->shapes.at[w->shape];

    return s ? (double)s->grid[0] * s->grid[1] * s->grid[2] * s->block[0] * s->block[1] *
                   s->block[2]
             : 0;
}

static void add_reading(struct overlay *o, struct config *c, const struct lpo_gpu_op *w, double ns)
{
    c->readings++;
    c->ns += ns;
    c->threads += threads_of(o->counters, w);
    for (size_t m = 0; m < o->nmetrics; m++) {
        double v = lpo_trace_metric_get(o->counters, w->metrics, (uint32_t)m);

        if (isnan(v))
            continue;
        c->sum[m] += v;
        c->square[m] += v * v;
        c->count[m]++;
    }
}

/* A row with the values of this very launch. */
static uint32_t exact_row(struct overlay *o, const struct lpo_gpu_op *reading)
{
    uint32_t row = lpo_trace_metric_row(o->base);

    for (size_t m = 0; m < o->nmetrics; m++)
        lpo_trace_metric_set(o->base, row, o->column[m],
                             lpo_trace_metric_get(o->counters, reading->metrics, (uint32_t)m));
    return row;
}

static void peers_key(uint32_t peers, struct lpo_str *key)
{
    lpo_str_clear(key);
    lpo_str_addn(key, (const char *)&peers, sizeof peers);
}

static void gather(struct overlay *o, struct lpo_overlay *out)
{
    LPO_STR key = { 0 };

    for (size_t i = 0; i < o->counters->gpu_ops.len; i++) {
        const struct lpo_gpu_op *reading = &o->counters->gpu_ops.at[i];
        int64_t ns = lpo_trace_gpu_op_ns(reading);
        uint32_t same;

        if (reading->kind != LPO_KERNEL || reading->metrics == LPO_NONE)
            continue;
        out->readings++;
        same = lpo_counters_match_take(o->match, reading);
        if (same != LPO_NONE) {
            struct lpo_gpu_op *w = &o->base->gpu_ops.at[same];
            uint32_t peers = lpo_counters_match_peers(o->match, same);

            ns = lpo_counters_match_peers_ns(o->match, peers);
            w->metrics = exact_row(o, reading);
            out->measured++;
            out->measured_ns += lpo_trace_gpu_op_ns(w);
            peers_key(peers, &key);
            add_reading(o, config_at(o, o->peers, &key), reading, (double)ns);
        }
        lpo_counters_match_shape_key(o->match, o->counters, reading, &key);
        add_reading(o, config_at(o, o->shapes, &key), reading, (double)ns);
        lpo_counters_match_name_key(o->match, o->counters, reading, &key);
        add_reading(o, config_at(o, o->names, &key), reading, (double)ns);
        lpo_counters_match_family_key(o->counters, reading, &key);
        add_reading(o, config_at(o, o->families, &key), reading, (double)ns);
    }
    out->configs = lpo_map_count(o->shapes);
}

static bool is_time(const char *unit)
{
    static const char *const units[] = { "ns",      "us",         "ms",         "s",     "nsecond",
                                         "usecond", "msecond",    "second",     "cycle", "cycles",
                                         "cycle/s", "nanosecond", "microsecond" };

    for (size_t i = 0; unit && i < sizeof units / sizeof *units; i++)
        if (strcmp(unit, units[i]) == 0)
            return true;
    return false;
}

static void make_columns(struct overlay *o)
{
    o->nmetrics = o->counters->metrics.len;
    o->column = lpo_xcalloc(o->nmetrics, sizeof *o->column);
    o->sd_column = lpo_xcalloc(o->nmetrics, sizeof *o->sd_column);
    o->timed = lpo_xcalloc(o->nmetrics, sizeof *o->timed);
    for (size_t m = 0; m < o->nmetrics; m++) {
        const struct lpo_metric *metric = &o->counters->metrics.at[m];
        const char *name = lpo_trace_text(o->counters, metric->name);
        const char *unit =
            metric->unit == LPO_NONE ? NULL : lpo_trace_text(o->counters, metric->unit);

        o->column[m] = lpo_trace_metric(o->base, name, strlen(name), unit);
        o->sd_column[m] = LPO_NONE;
        o->timed[m] = is_time(unit);
    }
}

/* Columns for the spread, only of metrics that were read twice somewhere. */
static void make_sd_columns(struct overlay *o)
{
    LPO_STR name = { 0 };

    for (size_t i = 0; i < lpo_map_count(o->shapes); i++) {
        const struct config *c = &o->configs.at[lpo_map_value(o->shapes, i)];

        for (size_t m = 0; m < o->nmetrics; m++) {
            if (c->count[m] < 2 || o->sd_column[m] != LPO_NONE)
                continue;
            lpo_str_clear(&name);
            lpo_str_addf(&name, "%s:sd",
                         lpo_trace_text(o->counters, o->counters->metrics.at[m].name));
            o->sd_column[m] = lpo_trace_metric(o->base, name.at, name.len, NULL);
        }
    }
}

static double deviation(const struct config *c, size_t m)
{
    double n = c->count[m], mean = c->sum[m] / n, v = (c->square[m] - n * mean * mean) / (n - 1);

    return v > 0 ? sqrt(v) : 0;
}

static double rounded(double r)
{
    return r > 0 ? pow(step, round(log(r) / log(step))) : 0;
}

/* How much more work than the measured launches: 1 when the time says the same. */
static double by_time(const struct config *c, int64_t ns)
{
    double mean = c->ns / c->readings, r = mean > 0 ? (double)ns / mean : 1;

    return r < same_gpu_op && r > 1 / same_gpu_op ? 1 : rounded(r);
}

/* Of another configuration: by its threads. The time of a small launch is the launch itself, and
 * says nothing about how much it did. */
static double by_threads(const struct config *c, double threads)
{
    double mean = c->threads / c->readings;

    return mean > 0 && threads > 0 ? rounded(threads / mean) : 1;
}

/* Launches of one configuration and proportion share a row of mean values. */
static uint32_t shared_row(struct overlay *o, const struct config *c, struct scale scale)
{
    struct {
        uint64_t config;
        struct scale scale;
    } key = { (uint64_t)(c - o->configs.at), scale };
    bool fresh;
    uint64_t *slot = lpo_map_put(o->rows, (const char *)&key, sizeof key, &fresh);
    uint32_t row;

    if (!fresh)
        return (uint32_t)*slot;
    row = lpo_trace_metric_row(o->base);
    *slot = row;
    for (size_t m = 0; m < o->nmetrics; m++) {
        double by = o->counters->metrics.at[m].combine != LPO_SUM ? 1
                    : o->timed[m]                                 ? scale.time
                                                                  : scale.gpu_op;

        if (c->count[m] == 0)
            continue;
        lpo_trace_metric_set(o->base, row, o->column[m], c->sum[m] / c->count[m] * by);
        if (c->count[m] > 1 && o->sd_column[m] != LPO_NONE)
            lpo_trace_metric_set(o->base, row, o->sd_column[m], deviation(c, m) * by);
    }
    return row;
}

static const struct config *find(const struct overlay *o, const struct lpo_map *map,
                                 const struct lpo_str *key)
{
    const uint64_t *slot = lpo_map_find(map, lpo_str_text(key), key->len);

    return slot ? &o->configs.at[*slot] : NULL;
}

/* A share of a CUDA graph's time does not show that the kernel had more or less to do. */
static double time_scale(const struct overlay *o, const struct config *c,
                         const struct lpo_gpu_op *w, uint32_t peers)
{
    return w->flags & LPO_GPU_OP_SHARE ? 1
                                       : by_time(c, lpo_counters_match_peers_ns(o->match, peers));
}

/* Whose values this launch gets: a peer's, its configuration's, its kernel's; NULL: none. `scale`
 * says how much of it. */
static const struct config *values_for(struct overlay *o, uint32_t gpu_op, struct lpo_str *key,
                                       struct lpo_overlay *out, struct scale *scale)
{
    uint32_t peers = lpo_counters_match_peers(o->match, gpu_op);
    const struct lpo_gpu_op *w = &o->base->gpu_ops.at[gpu_op];
    int64_t ns = lpo_trace_gpu_op_ns(w);
    const struct config *c;

    peers_key(peers, key);
    c = find(o, o->peers, key);
    out->by_peers += c != NULL;
    if (!c) {
        lpo_counters_match_shape_key(o->match, o->base, w, key);
        c = find(o, o->shapes, key);
    }
    if (c) {
        out->by_shape++;
        out->by_shape_ns += ns;
        scale->time = time_scale(o, c, w, peers);
        scale->gpu_op = scale->time;
        return c;
    }
    lpo_counters_match_name_key(o->match, o->base, w, key);
    c = find(o, o->names, key);
    if (!c) {
        lpo_counters_match_family_key(o->base, w, key);
        c = find(o, o->families, key);
    }
    if (!c)
        return NULL;
    out->by_name++;
    out->by_name_ns += ns;
    scale->time = time_scale(o, c, w, peers);
    scale->gpu_op = by_threads(c, threads_of(o->base, w));
    return c;
}

static void cover(struct overlay *o, uint32_t gpu_op, struct lpo_str *key, struct lpo_overlay *out)
{
    struct lpo_gpu_op *w = &o->base->gpu_ops.at[gpu_op];
    struct scale scale = { 1, 1 };
    const struct config *c = values_for(o, gpu_op, key, out, &scale);

    out->launches++;
    out->ns += lpo_trace_gpu_op_ns(w);
    if (!c) {
        out->uncovered++;
        out->uncovered_ns += lpo_trace_gpu_op_ns(w);
    } else if (w->metrics == LPO_NONE) {
        w->metrics = shared_row(o, c, scale);
        w->flags |= LPO_GPU_OP_ESTIMATED;
    }
}

static void release(struct overlay *o)
{
    for (size_t i = 0; i < o->configs.len; i++) {
        free(o->configs.at[i].sum);
        free(o->configs.at[i].square);
        free(o->configs.at[i].count);
    }
    lpo_vec_free(&o->configs);
    lpo_map_destroy(o->peers);
    lpo_map_destroy(o->shapes);
    lpo_map_destroy(o->names);
    lpo_map_destroy(o->families);
    lpo_map_destroy(o->rows);
    lpo_counters_match_destroy(o->match);
    free(o->column);
    free(o->sd_column);
    free(o->timed);
}

struct lpo_overlay lpo_counters_overlay(struct lpo_trace *base,
                                        const struct lpo_region_tree *base_tree,
                                        const struct lpo_region_tree *counters)
{
    struct overlay o = { .base = base, .counters = counters->trace };
    struct lpo_overlay out = { 0 };
    LPO_STR key = { 0 };

    o.peers = lpo_map_create();
    o.shapes = lpo_map_create();
    o.names = lpo_map_create();
    o.families = lpo_map_create();
    o.rows = lpo_map_create();
    o.match = lpo_counters_match_create(base_tree, counters);
    make_columns(&o);
    gather(&o, &out);
    make_sd_columns(&o);
    for (size_t i = 0; i < base->gpu_ops.len; i++)
        if (base->gpu_ops.at[i].kind == LPO_KERNEL)
            cover(&o, (uint32_t)i, &key, &out);
    release(&o);
    return out;
}
