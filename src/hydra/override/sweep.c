/* SPDX-License-Identifier: Apache-2.0 */
#include "hydra/override/sweep.h"

#include <string.h>

#include "hydra/node.h"
#include "hydra/override/call.h"
#include "hydra/override/glob.h"
#include "hydra/override/range.h"
#include "hydra/yaml/pytext.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/map.h"
#include "util/str.h"
#include "util/vec.h"

/* All texts one key takes, in order. */
struct axis {
    const char **texts;
    size_t count;
};

typedef LPO_VEC(struct axis) axis_vec;

static bool any_matches(const struct lpo_node *patterns, const char *name)
{
    for (size_t i = 0; i < patterns->count; i++)
        if (patterns->items[i]->kind == LPO_NODE_STRING &&
            lpo_override_glob_match(patterns->items[i]->text, name))
            return true;
    return false;
}

static int glob_values(struct lpo_arena *a, const struct lpo_override *ov,
                       const struct lpo_sweep_options *from, struct lpo_node *out,
                       struct lpo_err *err)
{
    const char **names = NULL;
    size_t count = 0;

    if (!from || !from->list)
        return lpo_fail(err, LPO_E_CONFIG, "glob() needs a config folder to choose from");
    int rc = from->list(from->with, a, ov->key, &names, &count, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < count; i++)
        if (any_matches(ov->sweep->include, names[i]) && !any_matches(ov->sweep->exclude, names[i]))
            lpo_node_push(a, out, lpo_node_string(a, names[i]));
    return 0;
}

/* Every value as a list of nodes; a shuffled sweep in an order drawn anew. Intervals cannot be
 * enumerated. */
static int values_of(struct lpo_arena *a, const struct lpo_override *ov,
                     const struct lpo_sweep_options *from, struct lpo_node **out,
                     struct lpo_err *err)
{
    const struct lpo_sweep *s = ov->sweep;
    struct lpo_node *list = lpo_node_list(a);
    struct lpo_range_fault fault = { 0 };
    int rc = 0;

    if (s->values)
        for (size_t i = 0; i < s->values->count; i++)
            lpo_node_push(a, list, s->values->items[i]);
    else if (s->type == LPO_VALUE_GLOB)
        rc = glob_values(a, ov, from, list, err);
    else if (s->type != LPO_VALUE_RANGE)
        rc = lpo_fail(err, LPO_E_CONFIG,
                      "an interval has no single values to try; use choice(…) or range(…)");
    else if (lpo_override_range_values(a, s, &list, &fault) < 0)
        rc = lpo_fail(err, LPO_E_CONFIG, "%s", fault.message);
    if (rc < 0)
        return lpo_ctx(err, "cannot sweep over '%.200s'", ov->text);
    if (s->shuffle)
        lpo_override_shuffle_items(list);
    *out = list;
    return 0;
}

/* Names out of a glob are written as they are, all else so that the grammar reads it back. */
static const char *item_text(struct lpo_arena *a, const struct lpo_override *ov, const char *key,
                             const struct lpo_node *item)
{
    bool bare = ov->value_type == LPO_VALUE_GLOB;
    return lpo_arena_printf(a, "%s=%s", key, bare ? item->text : lpo_override_value_text(a, item));
}

/* A plain override is an axis with one value: it takes part in the product, and so every job names
 * it.
 * "~key" alone is written as "~key=null", as Hydra rewrites it. */
static int axis_of(struct lpo_arena *a, const struct lpo_override *ov, const char *key,
                   const struct lpo_sweep_options *from, struct axis *out, struct lpo_err *err)
{
    if (!ov->sweep) {
        const char *text = ov->value ? lpo_override_value_text(a, ov->value) : "null";
        out->texts = lpo_arena_array(a, 1, sizeof *out->texts);
        out->texts[0] = lpo_arena_printf(a, "%s=%s", key, text);
        out->count = 1;
        return 0;
    }
    struct lpo_node *values = NULL;
    int rc = values_of(a, ov, from, &values, err);
    if (rc < 0)
        return rc;
    out->texts = lpo_arena_array(a, values->count, sizeof *out->texts);
    out->count = values->count;
    for (size_t i = 0; i < values->count; i++)
        out->texts[i] = item_text(a, ov, key, values->items[i]);
    return 0;
}

/* A key given again takes the place of the first. */
static int add_axis(struct lpo_arena *a, const struct lpo_override *ov,
                    const struct lpo_sweep_options *from, struct lpo_map *places, axis_vec *axes,
                    struct lpo_err *err)
{
    const char *key = lpo_override_key_text(a, ov);
    struct axis axis = { 0 };
    bool fresh;

    int rc = axis_of(a, ov, key, from, &axis, err);
    if (rc < 0)
        return rc;
    uint64_t *place = lpo_map_put(places, key, strlen(key), &fresh);
    if (fresh) {
        *place = axes->len;
        lpo_vec_push(axes, axis);
    } else {
        axes->at[*place] = axis;
    }
    return 0;
}

static int add_params(struct lpo_arena *a, const struct lpo_node *params,
                      const struct lpo_sweep_options *from, struct lpo_map *places, axis_vec *axes,
                      struct lpo_err *err)
{
    if (!params || params->kind == LPO_NODE_NULL)
        return 0;
    if (params->kind != LPO_NODE_MAP)
        return lpo_fail(err, LPO_E_CONFIG, "hydra.sweeper.params has to be a map, not %s",
                        lpo_node_kind_name(params->kind));
    for (size_t i = 0; i < params->npairs; i++) {
        LPO_STR text = { 0 };
        struct lpo_override ov;

        lpo_yaml_py_add_str(&text, params->pairs[i].key);
        lpo_str_addc(&text, '=');
        lpo_yaml_py_add_str(&text, params->pairs[i].value);
        int rc = lpo_override_parse(a, lpo_str_text(&text), &ov, err);
        if (rc == 0)
            rc = add_axis(a, &ov, from, places, axes, err);
        if (rc < 0)
            return lpo_ctx(err, "hydra.sweeper.params");
    }
    return 0;
}

static int count_jobs(const axis_vec *axes, size_t *jobs, struct lpo_err *err)
{
    *jobs = 1;
    for (size_t i = 0; i < axes->len; i++)
        if (__builtin_mul_overflow(*jobs, axes->at[i].count, jobs) || *jobs > LPO_SWEEP_MAX_JOBS)
            return lpo_fail(err, LPO_E_CONFIG, "the sweep has more than %d jobs",
                            LPO_SWEEP_MAX_JOBS);
    return 0;
}

/* Job `num` in mixed radix: the last axis is the lowest digit. */
static void fill_job(struct lpo_arena *a, const axis_vec *axes, size_t num,
                     struct lpo_sweep_job *job)
{
    size_t left = num;

    job->num = num;
    job->count = axes->len;
    job->overrides = lpo_arena_array(a, axes->len, sizeof *job->overrides);
    for (size_t i = axes->len; i-- > 0;) {
        job->overrides[i] = axes->at[i].texts[left % axes->at[i].count];
        left /= axes->at[i].count;
    }
}

static int gather(struct lpo_arena *a, const struct lpo_override *overrides, size_t count,
                  const struct lpo_sweep_options *from, struct lpo_map *places, axis_vec *axes,
                  struct lpo_override_sweep_jobs *out, struct lpo_err *err)
{
    out->hydra = lpo_arena_array(a, count, sizeof *out->hydra);
    for (size_t i = 0; i < count; i++) {
        const struct lpo_override *ov = &overrides[i];
        int rc = 0;

        if (!lpo_override_is_hydra(ov))
            rc = add_axis(a, ov, from, places, axes, err);
        else if (ov->sweep)
            rc = lpo_fail(err, LPO_E_CONFIG,
                          "Sweeping over Hydra's configuration is not supported : '%.200s'",
                          ov->text);
        else
            out->hydra[out->nhydra++] = *ov;
        if (rc < 0)
            return rc;
    }
    return 0;
}

int lpo_override_sweep_jobs(struct lpo_arena *a, const struct lpo_override *overrides, size_t count,
                            const struct lpo_node *params, const struct lpo_sweep_options *from,
                            struct lpo_override_sweep_jobs *out, struct lpo_err *err)
{
    LPO_AUTO(lpo_map) places = lpo_map_create();
    struct lpo_override_sweep_jobs jobs = { 0 };
    axis_vec axes = { 0 };

    int rc = add_params(a, params, from, places, &axes, err);
    if (rc == 0)
        rc = gather(a, overrides, count, from, places, &axes, &jobs, err);
    if (rc == 0)
        rc = count_jobs(&axes, &jobs.count, err);
    if (rc == 0) {
        jobs.at = lpo_arena_array(a, jobs.count, sizeof *jobs.at);
        for (size_t i = 0; i < jobs.count; i++)
            fill_job(a, &axes, i, &jobs.at[i]);
        *out = jobs;
    }
    lpo_vec_free(&axes);
    return rc;
}
