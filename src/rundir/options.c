/* SPDX-License-Identifier: Apache-2.0 */

#include "hydra/compose.h"
#include "run/workload/workload.h"
#include "rundir/private.h"
#include "settings/schema.h"
#include "settings/settings.h"

static int parse_override(struct lpo_arena *a, const char *text, struct lpo_override *out,
                          struct lpo_err *err)
{
    if (lpo_override_parse(a, text, out, err) < 0)
        return err->code;
    if (!lpo_str_starts(out->key, "report.") || out->package)
        return lpo_fail(err, LPO_E_CONFIG,
                        "'%s': a finished run takes only report.* (report.private=true, …)", text);
    if (out->value_type != LPO_VALUE_ELEMENT)
        return lpo_fail(err, LPO_E_CONFIG,
                        "'%s': a report takes one value of a key: %s=VALUE; a list is written "
                        "[a,b]",
                        text, out->key);
    return 0;
}

/* ${…} in a value refers to the config of the run. */
static int resolve(struct lpo_rundir *d, struct lpo_node *config, struct lpo_override *ov,
                   struct lpo_err *err)
{
    if (lpo_compose_resolve_value(d->arena, config, ov->value, &ov->value, err) < 0)
        return lpo_ctx(err, "'%s'", ov->text);
    return 0;
}

/* Replaces what is at "a.b.c" below `map`, and makes the maps on the way. */
static void set_at(struct lpo_arena *a, struct lpo_node *map, const char *path,
                   struct lpo_node *value)
{
    for (const char *next; (next = strchr(path, '.')); path = next + 1) {
        char *part = lpo_arena_strndup(a, path, (size_t)(next - path));
        struct lpo_node *inner = lpo_node_get(map, part);

        if (!inner || inner->kind != LPO_NODE_MAP) {
            inner = lpo_node_map(a);
            lpo_node_set(a, map, part, inner);
        }
        map = inner;
    }
    lpo_node_set(a, map, path, value);
}

/* Overrides over the run's own config. They alone are checked: a config that another version of
 * lpo wrote may well have keys which this one does not know. */
static int apply_overrides(struct lpo_rundir *d, struct lpo_node *config,
                           const char *const *overrides, struct lpo_err *err)
{
    for (; overrides && *overrides; overrides++) {
        struct lpo_node *alone = lpo_node_map(d->arena);
        struct lpo_override ov;

        if (parse_override(d->arena, *overrides, &ov, err) < 0 || resolve(d, config, &ov, err) < 0)
            return err->code;
        set_at(d->arena, alone, ov.key, ov.value);
        if (lpo_settings_schema_check(d->arena, alone, NULL, err) < 0)
            return err->code;
        set_at(d->arena, config, ov.key, ov.value);
    }
    return 0;
}

static void read_formats(struct lpo_rundir *d)
{
    struct lpo_settings_words names = lpo_settings_list(d->arena, d->config, "report.formats");

    for (size_t i = 0; i < names.len; i++) {
        bool had = false;

        for (size_t k = 0; k < d->formats.len; k++)
            had |= strcmp(d->formats.at[k], names.at[i]) == 0;
        if (!had)
            lpo_vec_push(&d->formats, names.at[i]);
    }
}

/* What the run did, as far as its config says. The config of another version's run folder may
 * hold any number. */
static void read_facts(struct lpo_rundir *d)
{
    int64_t tokens = lpo_settings_int(d->config, "infer.max_new_tokens");
    double cv = lpo_settings_real(d->config, "run.max_cv");

    d->dtype = lpo_workload_dtype(d->config);
    d->decode_steps = tokens > 1 ? (uint64_t)tokens - 1 : 0; /* prefill makes the first token */
    d->max_cv = isfinite(cv) && cv >= 0 ? cv : lpo_settings_real(NULL, "run.max_cv");
    lpo_rundir_mappings_read(d->arena, d->config, &d->mappings);
}

/* How many rows a long table shows. The config of a foreign run folder may hold any number. */
static size_t rows_of_tables(const struct lpo_node *config)
{
    enum { MOST = 100000 };
    int64_t top = lpo_settings_int(config, "report.top");

    if (top <= 0 || top >= MOST)
        top = lpo_settings_int(config, "run.top_n_kernels");
    if (top <= 0 || top >= MOST)
        top = lpo_settings_int(NULL, "run.top_n_kernels");
    return (size_t)top;
}

int lpo_rundir_options_read(struct lpo_rundir *d, const char *const *overrides, struct lpo_err *err)
{
    struct lpo_node *config =
        d->config ? (struct lpo_node *)d->config : lpo_node_map(d->arena); /* read by us */
    const char *fold;

    d->config = config;
    if (apply_overrides(d, config, overrides, err) < 0)
        return err->code;
    fold = lpo_settings_text(config, "report.fold");
    d->private_too = lpo_settings_bool(config, "report.private");
    d->aggregate = lpo_settings_bool(config, "report.aggregate");
    d->fold_over = strcmp(fold, "never") == 0 ? SIZE_MAX : strcmp(fold, "always") == 0 ? 1 : 8;
    d->top = rows_of_tables(config);
    read_formats(d);
    read_facts(d);
    return lpo_rundir_needs_read(d->arena, config, &d->stated, err);
}
