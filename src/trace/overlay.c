#include "trace/overlay.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trace/metric_rules.h"
#include "trace/trace.h"
#include "util/map.h"
#include "util/str.h"

/* What is known of one configuration: sums over its measurements, per metric of `counters`. */
struct config {
    double *sum, *square;
    uint32_t *count;
    double ns; /* mean duration when measured */
    uint32_t launches;
    uint32_t row; /* in the base's matrix; LPO_NONE until made */
};

struct work_key {
    uint32_t grid[3], block[3];
};

struct overlay {
    struct lpo_trace *base;
    const struct lpo_trace *counters;
    size_t nmetrics;
    uint32_t *column, *sd_column; /* metric of counters -> columns of base */
    struct lpo_map *shapes, *names;
    LPO_VEC(struct config) configs;
    bool any_linker;
};

/* Both traces must name kernels alike: by linker name where the counters have it. */
static const char *name_of(const struct overlay *o, const struct lpo_trace *t,
                           const struct lpo_work *w, size_t *len)
{
    uint32_t id = o->any_linker && w->linker ? w->linker : w->name;

    *len = lpo_trace_text_len(t, id);
    return lpo_trace_text(t, id);
}

static void shape_key(struct lpo_str *key, const struct lpo_trace *t, const struct lpo_work *w,
                      const char *name, size_t len)
{
    struct work_key k = { 0 };

    if (w->shape != LPO_NONE) {
        memcpy(k.grid, t->shapes.at[w->shape].grid, sizeof k.grid);
        memcpy(k.block, t->shapes.at[w->shape].block, sizeof k.block);
    }
    lpo_str_clear(key);
    lpo_str_addn(key, (const char *)&k, sizeof k);
    lpo_str_addn(key, name, len);
}

static struct config *config_at(struct overlay *o, struct lpo_map *map, const char *key, size_t len)
{
    bool fresh;
    uint64_t *slot = lpo_map_put(map, key, len, &fresh);

    if (fresh) {
        *slot = o->configs.len;
        lpo_vec_push(&o->configs,
                     (struct config){ lpo_xcalloc(o->nmetrics, sizeof(double)),
                                      lpo_xcalloc(o->nmetrics, sizeof(double)),
                                      lpo_xcalloc(o->nmetrics, sizeof(uint32_t)), 0, 0, LPO_NONE });
    }
    return &o->configs.at[*slot];
}

static void add_measurement(struct overlay *o, struct config *c, const struct lpo_work *w)
{
    c->launches++;
    c->ns += (double)lpo_work_ns(w);
    for (size_t m = 0; m < o->nmetrics; m++) {
        double v = lpo_trace_metric_get(o->counters, w->metrics, (uint32_t)m);

        if (isnan(v))
            continue;
        c->sum[m] += v;
        c->square[m] += v * v;
        c->count[m]++;
    }
}

static void gather(struct overlay *o)
{
    LPO_STR key = { 0 };

    for (size_t i = 0; i < o->counters->works.len; i++)
        o->any_linker |= o->counters->works.at[i].linker != 0;
    for (size_t i = 0; i < o->counters->works.len; i++) {
        const struct lpo_work *w = &o->counters->works.at[i];
        size_t len;
        const char *name = name_of(o, o->counters, w, &len);

        if (w->kind != LPO_KERNEL || w->metrics == LPO_NONE)
            continue;
        shape_key(&key, o->counters, w, name, len);
        add_measurement(o, config_at(o, o->shapes, key.at, key.len), w);
        add_measurement(o, config_at(o, o->names, name, len), w);
    }
}

static void make_columns(struct overlay *o)
{
    LPO_STR sd = { 0 };

    o->nmetrics = o->counters->metrics.len;
    o->column = lpo_xcalloc(o->nmetrics, sizeof *o->column);
    o->sd_column = lpo_xcalloc(o->nmetrics, sizeof *o->sd_column);
    for (size_t m = 0; m < o->nmetrics; m++) {
        const struct lpo_metric *metric = &o->counters->metrics.at[m];
        const char *name = lpo_trace_text(o->counters, metric->name);
        const char *unit =
            metric->unit == LPO_NONE ? NULL : lpo_trace_text(o->counters, metric->unit);

        o->column[m] = lpo_trace_metric(o->base, name, strlen(name), unit);
        o->sd_column[m] = LPO_NONE;
    }
    for (size_t i = 0; i < o->configs.len; i++) {
        for (size_t m = 0; m < o->nmetrics; m++) {
            const char *name = lpo_trace_text(o->counters, o->counters->metrics.at[m].name);

            if (o->configs.at[i].count[m] < 2 || o->sd_column[m] != LPO_NONE)
                continue;
            lpo_str_clear(&sd);
            lpo_str_addf(&sd, "%s:sd", name);
            o->sd_column[m] = lpo_trace_metric(o->base, sd.at, sd.len, NULL);
        }
    }
}

static double deviation(const struct config *c, size_t m)
{
    double n = c->count[m], mean = c->sum[m] / n, v = (c->square[m] - n * mean * mean) / (n - 1);

    return v > 0 ? sqrt(v) : 0;
}

/* A row of mean values; sums are scaled when another configuration stands in. */
static uint32_t make_row(struct overlay *o, const struct config *c, double scale)
{
    uint32_t row = lpo_trace_metric_row(o->base);

    for (size_t m = 0; m < o->nmetrics; m++) {
        bool adds = o->counters->metrics.at[m].combine == LPO_SUM;

        if (c->count[m] == 0)
            continue;
        lpo_trace_metric_set(o->base, row, o->column[m],
                             c->sum[m] / c->count[m] * (adds ? scale : 1));
        if (c->count[m] > 1 && o->sd_column[m] != LPO_NONE)
            lpo_trace_metric_set(o->base, row, o->sd_column[m],
                                 deviation(c, m) * (adds ? scale : 1));
    }
    return row;
}

static struct config *find(struct overlay *o, const struct lpo_map *map, const char *key,
                           size_t len)
{
    const uint64_t *slot = lpo_map_find(map, key, len);

    return slot ? &o->configs.at[*slot] : NULL;
}

static void cover(struct overlay *o, struct lpo_work *w, struct lpo_str *key,
                  struct lpo_overlay *out)
{
    size_t len;
    const char *name = name_of(o, o->base, w, &len);
    int64_t ns = lpo_work_ns(w);
    struct config *c;

    out->launches++;
    out->ns += ns;
    shape_key(key, o->base, w, name, len);
    c = find(o, o->shapes, key->at, key->len);
    if (c) {
        if (c->row == LPO_NONE)
            c->row = make_row(o, c, 1);
        w->metrics = c->row; /* shared by all launches of this configuration */
        w->flags |= LPO_WORK_ESTIMATED;
        out->by_shape++;
        out->by_shape_ns += ns;
        return;
    }
    c = find(o, o->names, name, len);
    if (c && c->ns > 0) {
        w->metrics = make_row(o, c, (double)ns * c->launches / c->ns);
        w->flags |= LPO_WORK_ESTIMATED;
        out->by_name++;
        out->by_name_ns += ns;
        return;
    }
    out->uncovered++;
    out->uncovered_ns += ns;
}

struct lpo_overlay lpo_trace_overlay(struct lpo_trace *base, const struct lpo_trace *counters)
{
    struct overlay o = { .base = base, .counters = counters };
    struct lpo_overlay out = { 0 };
    LPO_STR key = { 0 };

    o.nmetrics = counters->metrics.len;
    o.shapes = lpo_map_create();
    o.names = lpo_map_create();
    gather(&o);
    make_columns(&o);
    out.configs = lpo_map_count(o.shapes);
    for (size_t i = 0; i < lpo_map_count(o.shapes); i++)
        out.measured += o.configs.at[lpo_map_value(o.shapes, i)].launches;
    for (size_t i = 0; i < base->works.len; i++)
        if (base->works.at[i].kind == LPO_KERNEL)
            cover(&o, &base->works.at[i], &key, &out);
    for (size_t i = 0; i < o.configs.len; i++) {
        free(o.configs.at[i].sum);
        free(o.configs.at[i].square);
        free(o.configs.at[i].count);
    }
    lpo_vec_free(&o.configs);
    lpo_map_destroy(o.shapes);
    lpo_map_destroy(o.names);
    free(o.column);
    free(o.sd_column);
    return out;
}
