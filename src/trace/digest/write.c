/* SPDX-License-Identifier: Apache-2.0 */

#include "trace/digest/digest.h"
#include "trace/trace.h"
#include "util/pack.h"

#define FACT(member)                                                                               \
    {                                                                                              \
        offsetof(struct lpo_trace, member), sizeof(((struct lpo_trace *)0)->member)                \
    }

/* New ones are added at the end, and DIGEST_VERSION stays. */
const struct digest_fact digest_facts[DIGEST_FACTS] = {
    FACT(python_unread),
    FACT(counted_kernels),
    FACT(captured_graphs),
    FACT(path_losses.too_deep),
    FACT(path_losses.too_long),
    FACT(path_losses.crooked),
    FACT(path_losses.too_many),
    FACT(path_losses.damaged),
    FACT(path_bytes),
    FACT(range_bytes),
    FACT(gpu_bytes),
    FACT(dropped),
    FACT(ranks),
    FACT(least_ranks),
    FACT(has_ranges),
    FACT(need),
    FACT(damage_note),
    FACT(epoch_ns),
};

static void add_text(struct lpo_str *to, const char *text, size_t len)
{
    lpo_pack_add(to, len);
    lpo_str_addn(to, text, len);
}

static void add_facts(const struct lpo_trace *t, struct lpo_str *to)
{
    lpo_pack_add(to, DIGEST_FACTS);
    for (size_t i = 0; i < DIGEST_FACTS; i++) {
        const struct lpo_row_field f = { (uint16_t)digest_facts[i].at, digest_facts[i].size,
                                         LPO_FIELD_NUMBER, 0, 1 };

        lpo_pack_add_signed(to, (int64_t)lpo_trace_row_get((const char *)t, &f, 0));
    }
}

static void add_names(const struct lpo_trace *t, struct lpo_str *to)
{
    size_t count = lpo_trace_name_count(t);

    lpo_pack_add(to, count);
    for (uint32_t i = 0; i < count; i++)
        add_text(to, lpo_trace_text(t, i), lpo_trace_text_len(t, i));
}

static void add_column(const struct lpo_row_vec *v, const struct lpo_row_kind *k,
                       const struct lpo_row_field *f, unsigned at, struct lpo_str *to)
{
    uint64_t first = lpo_trace_row_get(v->at, f, at), before = 0;
    bool relative = f->kind == LPO_FIELD_END, same = !relative;

    for (size_t i = 1; same && i < v->len; i++)
        same = lpo_trace_row_get(v->at + i * k->row_bytes, f, at) == first;
    lpo_str_addc(to, same ? DIGEST_SAME : DIGEST_DELTAS);
    for (size_t i = 0; i < (same ? 1 : v->len); i++) {
        const char *row = v->at + i * k->row_bytes;
        uint64_t value = lpo_trace_row_get(row, f, at);

        before = relative ? lpo_trace_row_get(row, &k->fields[0], 0) : before;
        lpo_pack_add_signed(to, (int64_t)(value - before));
        before = value;
    }
}

static void add_rows(const struct lpo_trace *t, enum lpo_row_array array, struct lpo_str *to)
{
    const struct lpo_row_kind *k = &lpo_row_kinds[array];
    const struct lpo_row_vec *v = lpo_row_vec_of(t, array);

    lpo_pack_add(to, v->len);
    for (size_t f = 0; f < k->nfields && v->len; f++)
        for (unsigned i = 0; i < k->fields[f].count; i++)
            add_column(v, k, &k->fields[f], i, to);
}

static void add_double(struct lpo_str *to, double value)
{
    lpo_str_addn(to, (const char *)&value, sizeof value);
}

static void add_metrics(const struct lpo_trace *t, struct lpo_str *to)
{
    lpo_pack_add(to, t->nmetric_rows);
    for (size_t i = 0; i < t->nmetric_rows; i++)
        for (uint32_t m = 0; m < t->metrics.len; m++)
            add_double(to, lpo_trace_metric_get(t, (uint32_t)i, m));
}

static void add_series(const struct lpo_trace *t, struct lpo_str *to)
{
    lpo_pack_add(to, t->series.len);
    for (size_t i = 0; i < t->series.len; i++) {
        const struct lpo_series *s = &t->series.at[i];

        lpo_pack_add(to, s->kind);
        lpo_pack_add(to, s->device);
        lpo_pack_add(to, s->name);
        lpo_pack_add(to, s->unit);
        lpo_pack_add(to, s->seen);
        lpo_pack_add(to, s->points.len);
        for (size_t p = 0; p < s->points.len; p++) {
            lpo_pack_add_signed(to, s->points.at[p].ns);
            add_double(to, s->points.at[p].value);
        }
    }
}

static void add_notes(const struct lpo_trace *t, struct lpo_str *to)
{
    lpo_pack_add(to, t->notes.len);
    for (size_t i = 0; i < t->notes.len; i++) {
        lpo_pack_add(to, t->notes.at[i].text);
        lpo_pack_add(to, t->notes.at[i].count);
    }
}

void lpo_digest_add(const struct lpo_trace *t, const struct lpo_digest_origin *origin,
                    struct lpo_str *to)
{
    LPO_STR plain = { 0 };

    lpo_str_add(&plain, DIGEST_MAGIC);
    lpo_pack_add(&plain, DIGEST_VERSION);
    add_text(&plain, origin->format, strlen(origin->format));
    add_text(&plain, origin->file, strlen(origin->file));
    add_facts(t, &plain);
    add_names(t, &plain);
    for (enum lpo_row_array i = 0; i < LPO_ROW_ARRAYS; i++) {
        if (i == LPO_ROWS_METRIC_ROWS)
            add_metrics(t, &plain);
        else
            add_rows(t, i, &plain);
    }
    add_series(t, &plain);
    add_notes(t, &plain);
    lpo_pack_gzip(to, plain.at, plain.len);
}
