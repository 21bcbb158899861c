/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/diff/digest_json.h"

#include "analysis/diff/digest.h"
#include "util/json.h"
#include "util/json_write.h"

/* The names of the tables in the text. */
static const char *const tables[LPO_DIFF_TABLES] = { "kernels", "regions", "operators" };

/* Beyond these a time is not one, and sums of millions of them still fit. */
#define MOST_NS    (INT64_C(1) << 50)
#define MOST_COUNT (INT64_C(1) << 50)

/* --- out ------------------------------------------------------------------------------------ */

static void write_sample(struct lpo_json_writer *w, const char *key,
                         const struct lpo_diff_sample *s)
{
    size_t n = s->kept.len < LPO_DIFF_STORED ? s->kept.len : LPO_DIFF_STORED;

    lpo_jw_array(w, key);
    lpo_jw_put(w, LPO_V(s->count));
    for (size_t i = 0; i < n; i++) /* the middle of each of n equal parts */
        lpo_jw_put(w, LPO_V(s->kept.at[(2 * i + 1) * s->kept.len / (2 * n)]));
    lpo_jw_end(w);
}

static void write_item(struct lpo_json_writer *w, const struct lpo_diff_item *x)
{
    lpo_jw_object(w, NULL);
    lpo_jw_put(w, LPO_KV("key", x->key), LPO_KV("name", x->name), LPO_KV("detail", x->detail),
               LPO_KV("linker", x->linker), LPO_KV("class", (int)x->class),
               LPO_KV("count", x->count), LPO_KV("launches", x->launches), LPO_KV("ns", x->ns),
               LPO_KV("self_ns", x->self_ns), LPO_KV("host_ns", x->host_ns),
               LPO_KV("known", x->known), LPO_KV("estimated", x->estimated),
               LPO_KV("host", x->host),
               LPO_KV("parent", x->parent == UINT32_MAX ? -1 : (int64_t)x->parent),
               LPO_KV("depth", x->depth));
    lpo_jw_array(w, "strata");
    for (size_t i = 0; i < x->strata.len; i++) {
        const struct lpo_diff_stratum *s = &x->strata.at[i];

        lpo_jw_object(w, NULL);
        lpo_jw_array(w, "shape");
        for (int k = 0; k < 6; k++)
            lpo_jw_put(w, LPO_V(k < 3 ? s->grid[k] : s->block[k - 3]));
        lpo_jw_end(w);
        lpo_jw_put(w, LPO_KV("count", s->count), LPO_KV("ns", s->ns));
        write_sample(w, "calls", &s->calls);
        lpo_jw_end(w);
    }
    lpo_jw_end(w);
    lpo_jw_end(w);
}

static void write_devices(struct lpo_json_writer *w, const struct lpo_diff_digest *d)
{
    lpo_jw_array(w, "devices");
    for (size_t i = 0; i < d->devices.len; i++) {
        const struct lpo_diff_device *v = &d->devices.at[i];

        lpo_jw_object(w, NULL);
        lpo_jw_put(w, LPO_KV("scope", v->scope), LPO_KV("idle_squares", v->idle_squares),
                   LPO_KV("parts_unknown", v->parts_unknown));
        lpo_jw_object(w, "parts");
        for (size_t k = 0; k < LPO_DIFF_PARTS; k++)
            if (v->parts[k])
                lpo_jw_put(w, LPO_KV(lpo_diff_part_name(k), v->parts[k]));
        lpo_jw_end(w);
        lpo_jw_end(w);
    }
    lpo_jw_end(w);
}

static void write_load(struct lpo_json_writer *w, const struct lpo_diff_load *l)
{
    if (!l->samples)
        return;
    /* null where it is not known */
    lpo_jw_record(w, "load", LPO_KV("samples", l->samples), LPO_KV("sm_mhz", l->sm_mhz),
                  LPO_KV("watts", l->watts), LPO_KV("celsius", l->celsius),
                  LPO_KV("slowed", l->slowed), LPO_KV("reasons", l->reasons));
}

/* A row of whole numbers; LPO_NONE is -1. */
static void write_numbers(struct lpo_json_writer *w, const int64_t *n, size_t count)
{
    lpo_jw_array(w, NULL);
    for (size_t i = 0; i < count; i++)
        lpo_jw_put(w, LPO_V(n[i] == UINT32_MAX ? -1 : n[i]));
    lpo_jw_end(w);
}

static void write_series(struct lpo_json_writer *w, const struct lpo_diff_series *s)
{
    lpo_jw_object(w, NULL);
    lpo_jw_put(w, LPO_KV("kind", (int)s->kind),
               LPO_KV("row", s->row == UINT32_MAX ? -1 : (int64_t)s->row),
               LPO_KV("count", s->count), LPO_KV("total_ns", s->total_ns));
    lpo_jw_array(w, "ns");
    for (size_t i = 0; i < s->ns.len; i++)
        lpo_jw_put(w, LPO_V((int64_t)s->ns.at[i]));
    lpo_jw_end(w);
    lpo_jw_end(w);
}

static void write_window(struct lpo_json_writer *w, const struct lpo_diff_digest *d)
{
    lpo_jw_put(w, LPO_KV("window_ns", d->window_ns));
    lpo_jw_array(w, "series");
    for (size_t i = 0; i < d->series.len; i++)
        write_series(w, &d->series.at[i]);
    lpo_jw_end(w);
    lpo_jw_array(w, "cells");
    for (size_t i = 0; i < d->cells.len; i++) {
        const struct lpo_diff_cell *c = &d->cells.at[i];

        write_numbers(
            w,
            (int64_t[]){ c->region, c->op_row, c->kernel, (int64_t)c->launches, c->ns, c->wall_ns },
            6);
    }
    lpo_jw_end(w);
    lpo_jw_texts(w, "copies", d->copies.at, d->copies.len);
    lpo_jw_array(w, "names");
    for (size_t i = 0; i < d->names.len; i++)
        lpo_jw_put(w, LPO_V(d->names.at[i].name));
    lpo_jw_end(w);
    lpo_jw_array(w, "idle");
    for (size_t i = 0; i < d->idle.len; i++) {
        const struct lpo_diff_idle *x = &d->idle.at[i];

        write_numbers(w, (int64_t[]){ x->parent, x->name, x->kind, (int64_t)x->count, x->ns }, 5);
    }
    lpo_jw_end(w);
    lpo_jw_array(w, "members");
    for (size_t i = 0; i < d->members.len; i++)
        lpo_jw_list(w, NULL, LPO_V(d->members.at[i].family), LPO_V(d->members.at[i].name),
                    LPO_V(d->members.at[i].ns));
    lpo_jw_end(w);
}

static void write_rest(struct lpo_json_writer *w, const struct lpo_diff_digest *d)
{
    write_window(w, d);
    lpo_jw_array(w, "measures");
    for (size_t i = 0; i < d->measures.len; i++)
        lpo_jw_list(w, NULL,
                    LPO_V(d->measures.at[i].region == UINT32_MAX
                              ? -1 /* the whole run */
                              : (int64_t)d->measures.at[i].region),
                    LPO_V(d->measures.at[i].name), LPO_V(d->measures.at[i].unit),
                    LPO_V(d->measures.at[i].value));
    lpo_jw_end(w);
    lpo_jw_object(w, "facts");
    for (size_t i = 0; i < d->facts.len; i++)
        lpo_jw_put(w, LPO_KV(d->facts.at[i].key, d->facts.at[i].value));
    lpo_jw_end(w);
    write_load(w, &d->load);
    lpo_jw_object(w, "figures");
    for (size_t i = 0; i < d->figures.len; i++) {
        lpo_jw_array(w, d->figures.at[i].key);
        for (size_t k = 0; k < d->figures.at[i].values.len; k++)
            lpo_jw_put(w, LPO_V(d->figures.at[i].values.at[k]));
        lpo_jw_end(w);
    }
    lpo_jw_end(w);
    lpo_jw_array(w, "findings");
    for (size_t i = 0; i < d->findings.len; i++)
        lpo_jw_record(w, NULL, LPO_KV("id", lpo_ladder_ids[d->findings.at[i].kind]),
                      LPO_KV("where", d->findings.at[i].where),
                      LPO_KV("call", d->findings.at[i].call),
                      LPO_KV("saving_ns", d->findings.at[i].saving_ns));
    lpo_jw_end(w);
}

void lpo_diff_digest_write(const struct lpo_diff_digest *d, struct lpo_str *out)
{
    struct lpo_json_writer w = lpo_json_writer(out, 0);

    lpo_jw_object(&w, NULL);
    lpo_jw_put(&w, LPO_KV("schema", LPO_DIFF_DIGEST_SCHEMA), LPO_KV("label", d->label),
               LPO_KV("lost", d->lost), LPO_KV("replay", d->replay), LPO_KV("sums", d->sums),
               LPO_KV("step", d->step == UINT32_MAX ? -1 : (int64_t)d->step),
               LPO_KV("steps", d->steps), LPO_KV("flops", d->flops), LPO_KV("noise", d->noise),
               LPO_KV("noise_limit", d->noise_limit));
    write_devices(&w, d);
    for (int t = 0; t < LPO_DIFF_TABLES; t++) {
        lpo_jw_array(&w, tables[t]);
        for (size_t i = 0; i < d->items[t].len; i++)
            write_item(&w, &d->items[t].at[i]);
        lpo_jw_end(&w);
    }
    write_rest(&w, d);
    lpo_jw_end(&w);
}

/* --- in ------------------------------------------------------------------------------------- */

static int64_t bounded(const struct lpo_json *v, int64_t low, int64_t high)
{
    int64_t n = lpo_json_int(v, 0);

    return n < low ? low : n > high ? high : n;
}

static uint64_t count_at(const struct lpo_json *v, const char *key)
{
    return (uint64_t)bounded(lpo_json_get(v, key), 0, MOST_COUNT);
}

static int64_t ns_at(const struct lpo_json *v, const char *key, int64_t low)
{
    return bounded(lpo_json_get(v, key), low, MOST_NS);
}

static const char *text_at(struct lpo_arena *a, const struct lpo_json *v, const char *key)
{
    return lpo_arena_strdup(a, lpo_json_text(lpo_json_get(v, key), ""));
}

static void read_sample(const struct lpo_json *v, struct lpo_diff_sample *s)
{
    bool first = true;

    LPO_JSON_EACH(n, v)
    {
        if (first)
            s->count = (uint64_t)bounded(n, 0, MOST_COUNT);
        else if (s->kept.len < LPO_DIFF_KEPT)
            lpo_vec_push(&s->kept, bounded(n, 0, MOST_NS));
        first = false;
    }
    lpo_diff_sample_sort(s);
    free(s->order); /* they were written by size */
    s->order = NULL;
}

static void read_strata(const struct lpo_json *list, struct lpo_diff_item *x)
{
    LPO_JSON_EACH(v, list)
    {
        struct lpo_diff_stratum s = { .count = count_at(v, "count"), .ns = ns_at(v, "ns", 0) };
        int k = 0;

        LPO_JSON_EACH(n, lpo_json_get(v, "shape"))
        {
            uint32_t size = (uint32_t)bounded(n, 0, UINT32_MAX);

            if (k < 3)
                s.grid[k] = size;
            else if (k < 6)
                s.block[k - 3] = size;
            k++;
        }
        read_sample(lpo_json_get(v, "calls"), &s.calls);
        lpo_vec_push(&x->strata, s);
    }
    if (!x->strata.len)
        lpo_vec_push(&x->strata, (struct lpo_diff_stratum){ .count = x->count, .ns = x->ns });
}

static void read_item(struct lpo_diff_digest *d, int table, const struct lpo_json *v)
{
    size_t n = d->items[table].len;
    int64_t parent = lpo_json_int(lpo_json_get(v, "parent"), -1);
    struct lpo_diff_item x = {
        .key = text_at(d->arena, v, "key"),
        .name = text_at(d->arena, v, "name"),
        .detail = text_at(d->arena, v, "detail"),
        .linker = text_at(d->arena, v, "linker"),
        .class =
            (enum lpo_region_kernel_class)bounded(lpo_json_get(v, "class"), 0, LPO_CLASSES - 1),
        .count = count_at(v, "count"),
        .launches = count_at(v, "launches"),
        .ns = ns_at(v, "ns", 0),
        .self_ns = ns_at(v, "self_ns", 0),
        .host_ns = ns_at(v, "host_ns", -1),
        .known = lpo_json_bool(lpo_json_get(v, "known"), false),
        .estimated = lpo_json_bool(lpo_json_get(v, "estimated"), false),
        .host = lpo_json_bool(lpo_json_get(v, "host"), false),
        /* parents stand before their children, so no circle can be made */
        .parent = parent >= 0 && (uint64_t)parent < n ? (uint32_t)parent : UINT32_MAX,
        .depth = (unsigned)bounded(lpo_json_get(v, "depth"), 0, 1000),
    };

    if (x.parent != UINT32_MAX)
        x.depth = d->items[table].at[x.parent].depth + 1;
    read_strata(lpo_json_get(v, "strata"), &x);
    if (table == LPO_DIFF_KERNELS) {
        d->gpu_ns += x.ns < MOST_NS - d->gpu_ns ? x.ns : 0;
        d->launches += x.launches;
    }
    lpo_vec_push(&d->items[table], x);
}

static void read_devices(struct lpo_diff_digest *d, const struct lpo_json *list)
{
    LPO_JSON_EACH(v, list)
    {
        struct lpo_diff_device out = {
            .scope = text_at(d->arena, v, "scope"),
            .idle_squares = lpo_json_real(lpo_json_get(v, "idle_squares"), 0),
            .parts_unknown = lpo_json_bool(lpo_json_get(v, "parts_unknown"), false),
        };
        const struct lpo_json *parts = lpo_json_get(v, "parts");

        if (!(out.idle_squares >= 0) || !isfinite(out.idle_squares))
            out.idle_squares = 0;
        for (size_t k = 0; k < LPO_DIFF_PARTS; k++) { /* the span is their sum, always */
            out.parts[k] = ns_at(parts, lpo_diff_part_name(k), 0);
            out.span_ns += out.parts[k];
        }
        lpo_vec_push(&d->devices, out);
    }
}

static void read_numbers(const struct lpo_json *v, int64_t *out, size_t count)
{
    const struct lpo_json *x = v->first;

    for (size_t i = 0; i < count; i++, x = x ? x->next : NULL)
        out[i] = x ? bounded(x, -1, MOST_NS) : -1;
}

/* -1: none. False: there is no such row. */
static bool row_at(int64_t n, size_t count, uint32_t *out)
{
    *out = n < 0 ? UINT32_MAX : (uint32_t)n;
    return n < (int64_t)count;
}

static void read_series(struct lpo_diff_digest *d, const struct lpo_json *v)
{
    struct lpo_diff_series s = {
        .kind = (enum lpo_diff_unit_kind)bounded(lpo_json_get(v, "kind"), LPO_DIFF_STEP,
                                                 LPO_DIFF_LAUNCH),
        .count = count_at(v, "count"),
        .total_ns = ns_at(v, "total_ns", 0),
    };
    int table = s.kind == LPO_DIFF_CALL ? LPO_DIFF_REGIONS : LPO_DIFF_KERNELS;

    if (!row_at(lpo_json_int(lpo_json_get(v, "row"), -1), d->items[table].len, &s.row) ||
        (s.row == UINT32_MAX) != (s.kind == LPO_DIFF_STEP) || !s.count || !s.total_ns)
        return;
    LPO_JSON_EACH(n, lpo_json_get(v, "ns"))
    lpo_vec_push(&s.ns, (double)bounded(n, 0, MOST_NS));
    lpo_vec_push(&d->series, s);
}

static void read_cell(struct lpo_diff_digest *d, const struct lpo_json *v)
{
    struct lpo_diff_cell c = { 0 };
    int64_t n[6];
    size_t kernels;

    read_numbers(v, n, 6);
    kernels = n[2] >= 0 && ((uint64_t)n[2] & LPO_DIFF_IS_COPY) ? LPO_DIFF_IS_COPY + d->copies.len
                                                               : d->items[LPO_DIFF_KERNELS].len;
    if (!row_at(n[0], d->items[LPO_DIFF_REGIONS].len, &c.region) ||
        !row_at(n[1], d->items[LPO_DIFF_OPERATORS].len, &c.op_row) ||
        !row_at(n[2], kernels, &c.kernel) || n[2] < 0 || n[3] < 0 || n[4] < 0 || n[5] < 0)
        return;
    c.launches = (uint64_t)n[3];
    c.ns = n[4];
    c.wall_ns = n[5];
    lpo_vec_push(&d->cells, c);
}

static void read_idle(struct lpo_diff_digest *d, const struct lpo_json *v)
{
    struct lpo_diff_idle x = { 0 };
    int64_t n[5];

    read_numbers(v, n, 5);
    /* parents stand before their children, so no circle can be made; only row 0 has none */
    if (!row_at(n[0], d->idle.len, &x.parent) || !row_at(n[1], d->names.len, &x.name) ||
        (x.parent == UINT32_MAX || x.name == UINT32_MAX) != (d->idle.len == 0) || n[4] < 0)
        return;
    x.kind = (unsigned)n[2];
    x.count = n[3] > 0 ? (uint64_t)n[3] : 0;
    x.ns = n[4];
    lpo_vec_push(&d->idle, x);
}

static void read_window(struct lpo_diff_digest *d, const struct lpo_json *root)
{
    LPO_JSON_EACH(v, lpo_json_get(root, "series"))
    read_series(d, v);
    LPO_JSON_EACH(v, lpo_json_get(root, "copies"))
    lpo_vec_push(&d->copies, lpo_arena_strdup(d->arena, lpo_json_text(v, "")));
    LPO_JSON_EACH(v, lpo_json_get(root, "names"))
    {
        const char *name = lpo_json_text(v, "");
        LPO_STR key = { 0 };

        lpo_str_add_starred(&key, name, strlen(name));
        lpo_vec_push(&d->names,
                     (struct lpo_diff_name){ lpo_arena_strdup(d->arena, lpo_str_text(&key)),
                                             lpo_arena_strdup(d->arena, name) });
    }
    LPO_JSON_EACH(v, lpo_json_get(root, "cells"))
    read_cell(d, v);
    LPO_JSON_EACH(v, lpo_json_get(root, "idle"))
    read_idle(d, v);
    LPO_JSON_EACH(v, lpo_json_get(root, "members"))
    {
        const struct lpo_json *name = v->first ? v->first->next : NULL;

        lpo_vec_push(&d->members, (struct lpo_diff_member){
                                      lpo_arena_strdup(d->arena, lpo_json_text(v->first, "")),
                                      lpo_arena_strdup(d->arena, lpo_json_text(name, "")),
                                      bounded(name ? name->next : NULL, 0, MOST_NS) });
    }
}

static void read_measures(struct lpo_diff_digest *d, const struct lpo_json *list)
{
    LPO_JSON_EACH(v, list)
    {
        const struct lpo_json *name = v->first ? v->first->next : NULL;
        const struct lpo_json *unit = name ? name->next : NULL;
        double value = lpo_json_real(unit ? unit->next : NULL, NAN);
        int64_t region = lpo_json_int(v->first, -2);

        if (isfinite(value) && region >= -1 && region < (int64_t)d->items[LPO_DIFF_REGIONS].len)
            lpo_vec_push(&d->measures,
                         (struct lpo_diff_measure){
                             (uint32_t)region, lpo_arena_strdup(d->arena, lpo_json_text(name, "")),
                             lpo_arena_strdup(d->arena, lpo_json_text(unit, "")), value });
    }
}

static double real_at(const struct lpo_json *v, const char *key, double most)
{
    double n = lpo_json_real(lpo_json_get(v, key), NAN);

    return n >= 0 && n <= most ? n : NAN;
}

static void read_load(struct lpo_diff_load *l, const struct lpo_json *v)
{
    l->samples = count_at(v, "samples");
    l->sm_mhz = real_at(v, "sm_mhz", 1e6);
    l->watts = real_at(v, "watts", 1e6);
    l->celsius = real_at(v, "celsius", 1e3);
    l->slowed = real_at(v, "slowed", 1);
    l->reasons = count_at(v, "reasons");
}

static void read_rest(struct lpo_diff_digest *d, const struct lpo_json *root)
{
    read_measures(d, lpo_json_get(root, "measures"));
    LPO_JSON_EACH(v, lpo_json_get(root, "facts"))
    if (v->key && v->kind == LPO_JSON_STRING)
        lpo_vec_push(&d->facts, (struct lpo_diff_fact){ lpo_arena_strdup(d->arena, v->key),
                                                        lpo_arena_strdup(d->arena, v->text) });
    read_load(&d->load, lpo_json_get(root, "load"));
    LPO_JSON_EACH(v, lpo_json_get(root, "figures"))
    {
        struct lpo_diff_figure f = { .key = lpo_arena_strdup(d->arena, v->key ? v->key : "") };

        LPO_JSON_EACH(n, v)
        {
            double value = lpo_json_real(n, NAN);

            if (isfinite(value) && value > 0)
                lpo_vec_push(&f.values, value);
        }
        lpo_vec_push(&d->figures, f);
    }
    LPO_JSON_EACH(v, lpo_json_get(root, "findings"))
    {
        struct lpo_diff_finding f = { .kind = LPO_RUNG_KINDS,
                                      .where = text_at(d->arena, v, "where"),
                                      .call = text_at(d->arena, v, "call"),
                                      .saving_ns = ns_at(v, "saving_ns", 0) };
        const char *id = lpo_json_text(lpo_json_get(v, "id"), "");

        for (int k = 0; k < LPO_RUNG_KINDS; k++)
            if (strcmp(lpo_ladder_ids[k], id) == 0)
                f.kind = (enum lpo_rung_kind)k;
        if (f.kind != LPO_RUNG_KINDS) /* a newer lpo may know more */
            lpo_vec_push(&d->findings, f);
    }
}

static void read_head(struct lpo_diff_digest *d, const struct lpo_json *root)
{
    int64_t step = lpo_json_int(lpo_json_get(root, "step"), -1);

    d->label = text_at(d->arena, root, "label");
    d->lost = count_at(root, "lost");
    d->replay = lpo_json_bool(lpo_json_get(root, "replay"), false);
    d->sums = lpo_json_bool(lpo_json_get(root, "sums"), false);
    d->flops = lpo_json_real(lpo_json_get(root, "flops"), 0);
    d->noise = lpo_json_real(lpo_json_get(root, "noise"), 0);
    d->noise_limit = lpo_json_real(lpo_json_get(root, "noise_limit"), 0);
    d->step = UINT32_MAX;
    if (step >= 0 && (uint64_t)step < d->items[LPO_DIFF_REGIONS].len) {
        d->step = (uint32_t)step;
        d->steps = count_at(root, "steps");
    }
    d->window_ns = ns_at(root, "window_ns", 0);
}

int lpo_diff_digest_parse(const char *text, size_t len, struct lpo_diff_digest **out,
                          struct lpo_err *err)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const struct lpo_json *root = NULL;
    struct lpo_diff_digest *d;

    if (lpo_json_parse(a, text, len, &root, err) < 0)
        return lpo_ctx(err, "not a digest of a run");
    if (strcmp(lpo_json_text(lpo_json_get(root, "schema"), ""), LPO_DIFF_DIGEST_SCHEMA) != 0)
        return lpo_fail(err, LPO_E_FORMAT, "not a digest of a run: its schema is not %s",
                        LPO_DIFF_DIGEST_SCHEMA);
    d = lpo_xcalloc(1, sizeof *d);
    d->arena = lpo_arena_create();
    for (int t = 0; t < LPO_DIFF_TABLES; t++)
        LPO_JSON_EACH(v, lpo_json_get(root, tables[t]))
    read_item(d, t, v);
    read_head(d, root);
    read_devices(d, lpo_json_get(root, "devices"));
    read_window(d, root);
    read_rest(d, root);
    *out = d;
    return 0;
}
