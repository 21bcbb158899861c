/* SPDX-License-Identifier: Apache-2.0 */
#include "rundir/rundir.h"

#include "hydra/compose.h"
#include "region/classes.h"
#include "region/select.h"
#include "run/folder.h"
#include "rundir/belonging.h"
#include "rundir/private.h"
#include "rundir/read.h"
#include "trace/counters/counters.h"
#include "trace/trace.h"
#include "util/file.h"
#include "util/json.h"
#include "util/path.h"

const char *lpo_rundir_path(const struct lpo_rundir *d, const char *file)
{
    return d->dir ? lpo_path_join(d->arena, d->dir, file) : file;
}

bool lpo_rundir_has(const struct lpo_rundir *d, const char *file)
{
    return d->dir && lpo_path_exists(lpo_rundir_path(d, file));
}

const char *lpo_rundir_problem(struct lpo_rundir *d, const char *file, const struct lpo_err *err)
{
    const char *why = lpo_err_cause(err), *at;
    LPO_STR text = { 0 };

    lpo_str_addf(&text, "%s cannot be read: ", file);
    while (d->dir && (at = strstr(why, d->dir)) && at < why + strcspn(why, "\n")) {
        lpo_str_addn(&text, why, (size_t)(at - why));
        why = at + strlen(d->dir);
        why += *why == '/';
    }
    lpo_str_addn(&text, why, strcspn(why, "\n"));
    return lpo_arena_strdup(d->arena, lpo_str_text(&text));
}

static void read_speeds(struct lpo_rundir *d)
{
    struct lpo_paths all = { 0 };
    struct lpo_err why = { 0 };

    if (lpo_run_folder_list(d->arena, d->dir, "workload", &all, &why) < 0)
        lpo_vec_push(&d->problems, lpo_rundir_problem(d, "workload", &why));
    for (size_t i = 0; i < all.len; i++) {
        struct lpo_err err = { 0 };
        struct lpo_speed s = { NULL, NULL };
        const char *name = all.at[i] + strlen("workload/");
        const char *slash = strchr(name, '/');

        if (!slash)
            continue;
        s.stage = lpo_arena_strndup(d->arena, name, (size_t)(slash - name));
        if (strcmp(slash + 1, "server.json") == 0)
            lpo_rundir_add_served(d, s.stage, all.at[i]);
        if (strcmp(slash + 1, "metrics.json") != 0)
            continue;
        if (lpo_json_read_file(d->arena, lpo_rundir_path(d, all.at[i]), &s.metrics, &err) < 0)
            lpo_vec_push(&d->problems, lpo_rundir_problem(d, all.at[i], &err));
        else
            lpo_vec_push(&d->speeds, s);
    }
}

void lpo_rundir_add_counters(struct lpo_rundir *d, const char *name, const char *path)
{
    struct lpo_sampled_file f = { .name = name };
    struct lpo_err err = { 0 };

    if (lpo_counters_open(path, &f.file, &err) < 0)
        lpo_vec_push(&d->problems, lpo_rundir_problem(d, name, &err));
    else
        lpo_vec_push(&d->counters, f);
}

/* Whichever stage the sampler ran beside: the times of the samples say whose they are. */
static void find_counters(struct lpo_rundir *d)
{
    const char *stage = lpo_rundir_stage_with(d, LPO_ROLE_SAMPLES);
    struct lpo_paths all = { 0 };
    struct lpo_err why = { 0 };
    const char **members;
    size_t n;

    if (!stage || d->counters.len || d->skip & LPO_SKIP_METRICS)
        return;
    if (lpo_run_folder_list(d->arena, d->dir, stage, &all, &why) < 0)
        lpo_vec_push(&d->problems, lpo_rundir_problem(d, stage, &why));
    n = lpo_rundir_members(d->arena, d->dir, &members); /* of other machines */
    for (size_t i = 0; i < n; i++)
        lpo_run_folder_list(d->arena, d->dir, lpo_path_join(d->arena, members[i], stage), &all,
                            NULL);
    for (size_t i = 0; i < all.len; i++)
        if (lpo_str_ends(all.at[i], LPO_COUNTERS_SUFFIX))
            lpo_rundir_add_counters(d, all.at[i], lpo_rundir_path(d, all.at[i]));
}

static int read_config(struct lpo_rundir *d, struct lpo_err *err)
{
    const char *path = lpo_rundir_path(d, "config.yaml");
    LPO_AUTO(lpo_file_text) text = NULL;
    struct lpo_node *config = NULL;

    if (!lpo_path_exists(path))
        return 0;
    if (lpo_file_text_read(path, &text, err) < 0 ||
        lpo_yaml_parse(d->arena, text->at, text->len, "config.yaml", &config, err) < 0)
        return lpo_ctx(err, "cannot read the config of this run");
    if (config->kind == LPO_NODE_MAP)
        d->config = config;
    d->fingerprint = lpo_arena_printf(d->arena, "%016llx",
                                      (unsigned long long)lpo_str_hash(text->at, text->len));
    return 0;
}

static void read_manifest(struct lpo_rundir *d)
{
    struct lpo_err err = { 0 };
    const char *env = lpo_rundir_path(d, "env.json");

    d->manifest.arena = d->arena;
    d->manifest.dir = d->dir;
    if (lpo_path_exists(lpo_rundir_path(d, "run.json"))) {
        if (lpo_run_manifest_load(&d->manifest, &err) == 0)
            d->has_manifest = true;
        else
            lpo_vec_push(&d->problems, lpo_rundir_problem(d, "run.json", &err));
    }
    if (lpo_path_exists(env) && lpo_json_read_file(d->arena, env, &d->env, &err) < 0)
        lpo_vec_push(&d->problems, lpo_rundir_problem(d, "env.json", &err));
    if (d->has_manifest && d->manifest.fingerprint)
        d->fingerprint = d->manifest.fingerprint;
}

int lpo_rundir_text(const struct lpo_rundir *d, const char *file, struct lpo_file_text **out,
                    struct lpo_err *err)
{
    static const size_t most_bytes = (size_t)512 << 20; /* a folder may come from anybody */

    return lpo_file_text_read_limit(lpo_rundir_path(d, file), most_bytes, out, err);
}

int lpo_rundir_static_analysis(const struct lpo_rundir *d, const struct lpo_json **out,
                               struct lpo_err *err)
{
    const char *stage = lpo_rundir_stage_with(d, LPO_ROLE_MODEL);
    const char *file = stage ? lpo_path_join(d->arena, stage, "static_compute.json") : NULL;

    *out = NULL;
    if (file && lpo_rundir_has(d, file) &&
        lpo_json_read_file(d->arena, lpo_rundir_path(d, file), out, err) < 0)
        return lpo_ctx(err, "the static analysis cannot be read");
    return 0;
}

static bool holds_anything(const struct lpo_rundir *d)
{
    for (size_t i = 0; i < d->sources.len; i++)
        if (d->sources.at[i].nfiles)
            return true;
    return d->has_manifest || d->speeds.len || d->fingerprint;
}

static int fail_empty(const struct lpo_rundir *d, struct lpo_err *err)
{
    LPO_STR folders = { 0 };

    for (size_t i = 0; i < d->sources.len; i++)
        lpo_str_addf(&folders, "%s%s/",
                     i == 0                    ? ""
                     : i + 1 == d->sources.len ? " or "
                                               : ", ",
                     d->sources.at[i].stage);
    return lpo_fail(err, LPO_E_NOTFOUND, "'%s' holds no run: neither run.json nor traces under %s",
                    d->dir, lpo_str_text(&folders));
}

struct lpo_rundir *lpo_rundir_open(const char *dir, const struct lpo_rundir_kind *const *kinds)
{
    struct lpo_rundir *d = lpo_xcalloc(1, sizeof *d);

    d->arena = lpo_arena_create();
    d->dir = lpo_path_absolute(d->arena, dir);
    lpo_rundir_sources_list(d, kinds);
    return d;
}

int lpo_rundir_load(struct lpo_rundir *d, const char *const *overrides, struct lpo_err *err)
{
    d->ranks_too = true;
    if (read_config(d, err) < 0)
        return err->code;
    read_manifest(d);
    if (lpo_rundir_options_read(d, overrides, err) < 0 || lpo_rundir_sources_read(d, err) < 0)
        return err->code;
    read_speeds(d);
    find_counters(d);
    return holds_anything(d) ? 0 : fail_empty(d, err);
}

int lpo_rundir_create(const char *dir, const struct lpo_rundir_options *options,
                      struct lpo_rundir **out, struct lpo_err *err)
{
    LPO_AUTO(lpo_rundir) d = lpo_rundir_open(dir, options->kinds);

    d->skip = options->skip;
    if (!lpo_path_is_dir(dir))
        return lpo_fail(err, LPO_E_NOTFOUND, "'%s' is not a folder; give the folder of a run", dir);
    if (lpo_rundir_load(d, options->overrides, err) < 0)
        return err->code;
    *out = d;
    d = NULL;
    return 0;
}

void lpo_rundir_destroy(struct lpo_rundir *d)
{
    if (!d)
        return;
    for (size_t i = 0; i < d->sources.len; i++) {
        lpo_trace_destroy(d->sources.at[i].trace);
        lpo_region_selection_destroy(d->sources.at[i].select);
    }
    lpo_region_selection_destroy(d->counters_select);
    lpo_region_own_rules_destroy(d->own_rules);
    for (size_t i = 0; i < d->counters.len; i++)
        lpo_counters_file_destroy(d->counters.at[i].file);
    lpo_vec_free(&d->counters);
    lpo_vec_free(&d->sources);
    lpo_vec_free(&d->speeds);
    lpo_vec_free(&d->served);
    lpo_vec_free(&d->problems);
    lpo_vec_free(&d->left);
    lpo_vec_free(&d->formats);
    lpo_arena_destroy(d->arena);
    free(d);
}
