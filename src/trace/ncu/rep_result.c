/* One profiled kernel of a .ncu-rep file, into the trace. */
#include "trace/ncu/rep.h"

#include <stdio.h>
#include <string.h>

/* Rows are as wide as all metrics together, so a small hostile file could ask for any memory. */
static bool fits(const struct lpo_ncu_rep *rep, size_t rows, size_t columns)
{
    size_t limit = rep->bytes * 256 + ((size_t)256 << 20);

    return rows * columns * sizeof(double) <= limit;
}

static uint32_t metric_of(struct lpo_ncu_rep *rep, const struct lpo_ncu_string *s)
{
    struct lpo_trace *t = rep->t;
    char name[512], base[LPO_NCU_UNIT];

    if (t->metrics.len == t->metric_cap && !fits(rep, t->nmetric_rows, t->metric_cap * 2))
        return LPO_NONE;
    snprintf(name, sizeof name, "%.*s", (int)(s->len < 511 ? s->len : 511), (const char *)s->at);
    return lpo_trace_metric(t, name, strlen(name), lpo_ncu_metric_unit(name, base));
}

/* Every id seen for the first time, and facts. */
static void special_value(struct lpo_ncu_rep *rep, struct lpo_ncu_result *r, uint32_t row,
                          const struct lpo_ncu_value *v)
{
    struct lpo_ncu_string *s = &rep->strings.at[v->id];

    if (s->fact < 0)
        s->fact = (int8_t)lpo_ncu_fact_of((const char *)s->at, s->len);
    if (v->text_len) { /* the matrix holds no text; the device's name has its own place */
        if (s->fact == LPO_NCU_DEVICE_NAME)
            r->device_name = lpo_trace_namen(rep->t, (const char *)v->text, v->text_len);
        return;
    }
    r->fact[s->fact] = v->number;
    if (row == LPO_NONE || !lpo_ncu_is_metric((enum lpo_ncu_fact)s->fact))
        return;
    if (s->metric == LPO_NONE)
        s->metric = metric_of(rep, s);
    if (s->metric == LPO_NONE)
        rep->other_strings++;
    else
        lpo_trace_metric_set(rep->t, row, s->metric, v->number);
}

static void set_values(struct lpo_ncu_rep *rep, struct lpo_ncu_result *r, uint32_t row,
                       const struct lpo_ncu_value *values, size_t count)
{
    struct lpo_trace *t = rep->t;

    for (size_t i = 0; i < count; i++) {
        const struct lpo_ncu_value *v = &values[i];
        const struct lpo_ncu_string *s;

        if (v->id >= rep->strings.len) {
            rep->other_strings++;
            continue;
        }
        s = &rep->strings.at[v->id];
        if (s->fact == LPO_NCU_NONE && row == LPO_NONE)
            continue;
        if (s->fact == LPO_NCU_NONE && s->metric != LPO_NONE && !v->text_len)
            t->metric_rows[row * t->metric_cap + s->metric] = v->number; /* ten million times */
        else
            special_value(rep, r, row, v);
    }
}

/* LPO_NONE when metrics are not wanted or their table would be far larger than the file. */
static uint32_t metric_row(struct lpo_ncu_rep *rep, size_t values)
{
    struct lpo_trace *t = rep->t;

    if (values == 0 || (t->skip & LPO_SKIP_METRICS))
        return LPO_NONE;
    if (!fits(rep, t->nmetric_rows + 1, t->metric_cap)) {
        rep->bare_results++;
        return LPO_NONE;
    }
    return lpo_trace_metric_row(t);
}

/* How many metrics the first result has: later ones are alike. */
static void expect_metrics(struct lpo_ncu_rep *rep, const struct lpo_ncu_value *values,
                           size_t count)
{
    size_t metrics = 0;

    for (size_t i = 0; i < count; i++) {
        if (values[i].id < rep->strings.len && !values[i].text_len) {
            const struct lpo_ncu_string *s = &rep->strings.at[values[i].id];

            metrics += lpo_ncu_is_metric(lpo_ncu_fact_of((const char *)s->at, s->len));
        }
    }
    lpo_trace_metric_expect(rep->t, metrics);
}

static uint32_t name_of(struct lpo_ncu_rep *rep, uint64_t id, const struct lpo_proto_field *text,
                        int which)
{
    struct lpo_ncu_known *k = &rep->known[(id ^ id >> 8 ^ id >> 16) % LPO_NCU_KNOWN][which];

    if (!k->at || k->len != text->value || memcmp(k->at, text->bytes, (size_t)k->len) != 0)
        *k = (struct lpo_ncu_known){ text->bytes, text->value,
                                     lpo_trace_namen(rep->t, (const char *)text->bytes,
                                                     (size_t)text->value) };
    return k->name;
}

void lpo_ncu_rep_result(struct lpo_ncu_rep *rep, const struct lpo_ncu_decoded *d,
                        const struct lpo_ncu_value *values)
{
    struct lpo_gpu_op w = { .stack = LPO_NONE, .stream = d->stream };
    struct lpo_ncu_result r;

    if (rep->process == LPO_NONE)
        rep->process = lpo_trace_process(rep->t, -1, -1);
    w.process = (uint16_t)rep->process;
    if (rep->t->nmetric_rows == 0)
        expect_metrics(rep, values, d->value_count);
    lpo_ncu_result_reset(&r);
    w.metrics = metric_row(rep, d->value_count);
    set_values(rep, &r, w.metrics, values, d->value_count);
    rep->bad_results += d->bad;
    w.linker = d->mangled.bytes ? name_of(rep, d->kernel_id, &d->mangled, 1) : 0;
    w.name =
        d->name.bytes ? name_of(rep, d->kernel_id, &d->name, 0) : lpo_trace_name(rep->t, "(range)");
    if (d->nvtx.bytes) {
        w.stack = lpo_ncu_rep_stack(rep, &d->nvtx, d->thread);
        rep->t->has_ranges = true;
    }
    memcpy(r.grid, d->grid, sizeof r.grid);
    memcpy(r.block, d->block, sizeof r.block);
    r.has_shape = d->sizes == 3 && d->block[0] > 0;
    if (!r.has_shape)
        w.flags |= LPO_WORK_WHOLE;
    lpo_ncu_push(rep->t, w, &r, 0);
}
