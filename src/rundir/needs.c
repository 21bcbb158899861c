/* SPDX-License-Identifier: Apache-2.0 */
#include "rundir/needs.h"

#include "hydra/compose.h"
#include "region/pattern/pattern.h"
#include "settings/settings.h"

static const double most = 1e30; /* times any number of visits it stays a number */
static const char shape[] = "{flops: N, bytes: N, dtype: bf16}";

/* One entry while it is read: where its figures go, and what an error calls it. */
struct reading {
    struct lpo_arena *arena;
    struct lpo_stated_need *need;
    struct lpo_err *err;
};

static int wrong(const struct reading *r, const char *key, const struct lpo_node *value,
                 const char *wanted)
{
    LPO_STR s = { 0 };

    lpo_str_addf(&s, "report.needs of '%s'", r->need->region);
    if (key)
        lpo_str_addf(&s, ": '%s'", key);
    lpo_str_addf(&s, " must be %s, not ", wanted);
    lpo_yaml_py_add_repr(&s, value);
    if (value->where.file && value->where.line)
        lpo_str_addf(&s, " (%s:%u:%u)", value->where.file, value->where.line, value->where.column);
    return lpo_fail(r->err, LPO_E_CONFIG, "%s", lpo_str_text(&s));
}

static int read_amount(const struct reading *r, const char *key, const struct lpo_node *v,
                       struct lpo_measure *out)
{
    double x = v->kind == LPO_NODE_INT     ? (double)v->integer
               : v->kind == LPO_NODE_FLOAT ? v->real
                                           : -1;

    if (v->kind == LPO_NODE_NULL)
        return 0; /* not known, which is not 0 */
    if (!isfinite(x) || x < 0)
        return wrong(r, key, v, "a number of at least 0");
    if (x > most)
        return wrong(r, key, v, "a number of at most 1e30");
    *out = lpo_measure_computed(x);
    return 0;
}

static int read_flops(struct reading *r, const struct lpo_node *v)
{
    return read_amount(r, "flops", v, &r->need->flops);
}

static int read_bytes(struct reading *r, const struct lpo_node *v)
{
    return read_amount(r, "bytes", v, &r->need->bytes);
}

static int read_dtype(struct reading *r, const struct lpo_node *v)
{
    const char *names[LPO_DTYPES], *near;
    LPO_STR wanted = { 0 };
    size_t n = 0;

    if (v->kind == LPO_NODE_NULL)
        return 0;
    r->need->dtype = v->kind == LPO_NODE_STRING ? lpo_dtype_parse(v->text) : LPO_DTYPE_NONE;
    if (r->need->dtype != LPO_DTYPE_NONE)
        return 0;
    lpo_str_add(&wanted, "one of");
    for (int t = 1; t < LPO_DTYPES; t++) {
        names[n] = lpo_dtype_name((enum lpo_dtype)t);
        lpo_str_addf(&wanted, "%s%s", n ? ", " : " ", names[n]);
        n++;
    }
    near = v->kind == LPO_NODE_STRING ? lpo_str_nearest(v->text, names, n) : NULL;
    if (near)
        lpo_str_addf(&wanted, " (did you mean '%s'?)", near);
    return wrong(r, "dtype", v, lpo_str_text(&wanted));
}

static const struct field {
    const char *name;
    int (*read)(struct reading *r, const struct lpo_node *v);
} fields[] = {
    { "flops", read_flops },
    { "bytes", read_bytes },
    { "dtype", read_dtype },
};

enum { NFIELDS = sizeof fields / sizeof *fields };

static int unknown_field(struct reading *r, const struct lpo_node *key)
{
    const char *names[NFIELDS], *near;
    LPO_STR shown = { 0 };

    for (int i = 0; i < NFIELDS; i++)
        names[i] = fields[i].name;
    lpo_yaml_py_add_str(&shown, key);
    near = lpo_str_nearest(lpo_str_text(&shown), names, NFIELDS);
    return lpo_fail(r->err, LPO_E_CONFIG, "report.needs of '%s': unknown key '%s'; %s%s%s",
                    r->need->region, lpo_str_text(&shown), near ? "did you mean '" : "it takes ",
                    near ? near : shape, near ? "'?" : "");
}

static int read_entry(struct reading *r, const struct lpo_node *v)
{
    if (v->kind != LPO_NODE_MAP)
        return wrong(r, NULL, v, shape);
    for (size_t i = 0; i < v->npairs; i++) {
        const struct field *f = NULL;

        for (int k = 0; k < NFIELDS && !f; k++)
            if (lpo_node_is_text(v->pairs[i].key, fields[k].name))
                f = &fields[k];
        if (!f)
            return unknown_field(r, v->pairs[i].key);
        if (f->read(r, v->pairs[i].value) < 0)
            return r->err->code;
    }
    if (!lpo_measure_known(r->need->flops) && !lpo_measure_known(r->need->bytes))
        return lpo_fail(r->err, LPO_E_CONFIG,
                        "report.needs of '%s' states neither flops nor bytes: %s", r->need->region,
                        shape);
    return 0;
}

/* A pattern that cannot be read is an error before the run starts, not after it. */
static int check_region(const struct reading *r)
{
    LPO_AUTO(lpo_region_pattern) p = NULL;

    if (lpo_region_pattern_create(r->need->region, &p, r->err) < 0)
        return lpo_ctx(r->err, "report.needs of '%s'", r->need->region);
    return 0;
}

int lpo_rundir_needs_read(struct lpo_arena *a, const struct lpo_node *config,
                          struct lpo_stated_needs *out, struct lpo_err *err)
{
    const struct lpo_node *map = config ? lpo_node_at(config, "report.needs") : NULL;

    *out = (struct lpo_stated_needs){ 0 };
    if (!map || map->kind == LPO_NODE_NULL)
        return 0;
    if (map->kind != LPO_NODE_MAP)
        return lpo_fail(err, LPO_E_CONFIG, "'report.needs' must be a map of regions to %s, not %s",
                        shape, lpo_node_kind_name(map->kind));
    if (map->npairs > LPO_STATED_MOST)
        return lpo_fail(err, LPO_E_LIMIT, "'report.needs' has %zu entries; %d are the most",
                        map->npairs, LPO_STATED_MOST);
    out->at = lpo_arena_array(a, map->npairs + 1, sizeof *out->at);
    for (size_t i = 0; i < map->npairs; i++) {
        struct reading r = { a, &out->at[out->len++], err };
        LPO_STR name = { 0 };

        lpo_yaml_py_add_str(&name, map->pairs[i].key); /* a range may be called 0 */
        r.need->region = lpo_arena_strdup(a, lpo_str_text(&name));
        if (read_entry(&r, map->pairs[i].value) < 0 || check_region(&r) < 0)
            return err->code;
    }
    return 0;
}

void lpo_rundir_mappings_read(struct lpo_arena *a, const struct lpo_node *config,
                              struct lpo_stated_mappings *out)
{
    const struct lpo_node *map = lpo_settings_map(config, "report.mapping");

    *out = (struct lpo_stated_mappings){ 0 };
    if (!map)
        return;
    out->at = lpo_arena_array(a, map->npairs + 1, sizeof *out->at);
    for (size_t i = 0; i < map->npairs; i++) {
        LPO_STR region = { 0 }, means = { 0 };

        lpo_yaml_py_add_str(&region, map->pairs[i].key); /* a range may be called 0 */
        lpo_yaml_py_add_str(&means, map->pairs[i].value);
        out->at[out->len++] = (struct lpo_stated_mapping){
            lpo_arena_strdup(a, lpo_str_text(&region)),
            lpo_arena_strdup(a, lpo_str_text(&means)),
        };
    }
}
