#include "rundir/rundir.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "hydra/compose.h"
#include "region/select.h"
#include "run/folder.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/json.h"
#include "util/path.h"
#include "util/str.h"

const char *lpo_rundir_problem(struct lpo_rundir *d, const char *file, const struct lpo_err *err)
{
    const char *why = lpo_err_cause(err), *at;
    LPO_STR text = { 0 };

    lpo_str_addf(&text, "%s cannot be read: ", file);
    while ((at = strstr(why, d->dir)) && at < why + strcspn(why, "\n")) {
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

    lpo_run_folder_list(d->arena, d->dir, "workload", &all);
    for (size_t i = 0; i < all.len; i++) {
        struct lpo_err err = { 0 };
        struct lpo_speed s = { NULL, NULL };
        const char *name = all.at[i] + strlen("workload/");
        const char *slash = strchr(name, '/');

        if (!slash || strcmp(slash + 1, "metrics.json") != 0)
            continue;
        s.stage = lpo_arena_strndup(d->arena, name, (size_t)(slash - name));
        if (lpo_json_read_file(d->arena, lpo_path_join(d->arena, d->dir, all.at[i]), &s.metrics,
                               &err) < 0)
            lpo_vec_push(&d->problems, lpo_rundir_problem(d, all.at[i], &err));
        else
            lpo_vec_push(&d->speeds, s);
    }
}

static int read_config(struct lpo_rundir *d, struct lpo_err *err)
{
    const char *path = lpo_path_join(d->arena, d->dir, "config.yaml");
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
    const char *env = lpo_path_join(d->arena, d->dir, "env.json");

    d->manifest.arena = d->arena;
    d->manifest.dir = d->dir;
    if (lpo_path_exists(lpo_path_join(d->arena, d->dir, "run.json"))) {
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

static bool holds_anything(const struct lpo_rundir *d)
{
    for (size_t i = 0; i < d->sources.len; i++)
        if (d->sources.at[i].nfiles)
            return true;
    return d->has_manifest || d->speeds.len || d->fingerprint;
}

int lpo_rundir_create(const char *dir, const struct lpo_report_options *options,
                      struct lpo_rundir **out, struct lpo_err *err)
{
    LPO_AUTO(lpo_rundir) d = lpo_xcalloc(1, sizeof *d);

    d->arena = lpo_arena_create();
    if (!lpo_path_is_dir(dir))
        return lpo_fail(err, LPO_E_NOTFOUND, "'%s' is no folder; give the folder of a run", dir);
    d->dir = lpo_path_absolute(d->arena, dir);
    if (read_config(d, err) < 0)
        return err->code;
    read_manifest(d);
    if (lpo_rundir_options_read(d, options, err) < 0 || lpo_rundir_sources_read(d, err) < 0)
        return err->code;
    read_speeds(d);
    if (!holds_anything(d))
        return lpo_fail(err, LPO_E_NOTFOUND,
                        "'%s' holds no run: neither run.json nor traces under native/, nsys/, "
                        "torch_profiler/ or ncu/",
                        dir);
    *out = d;
    d = NULL;
    return 0;
}

void lpo_rundir_destroy(struct lpo_rundir *d)
{
    if (!d)
        return;
    for (size_t i = 0; i < d->sources.len; i++) {
        lpo_analysis_destroy(d->sources.at[i].analysis);
        lpo_region_selection_destroy(d->sources.at[i].select);
    }
    lpo_vec_free(&d->sources);
    lpo_vec_free(&d->speeds);
    lpo_vec_free(&d->problems);
    lpo_vec_free(&d->formats);
    lpo_arena_destroy(d->arena);
    free(d);
}

const struct lpo_source *lpo_rundir_source(const struct lpo_rundir *d, const char *stage)
{
    for (size_t i = 0; i < d->sources.len; i++)
        if (d->sources.at[i].analysis && strcmp(d->sources.at[i].stage, stage) == 0)
            return &d->sources.at[i];
    return NULL;
}

/* A trace with kernels before one without, then the order of the table. */
const struct lpo_source *lpo_rundir_main(const struct lpo_rundir *d)
{
    const struct lpo_source *first = NULL;

    for (size_t i = 0; i < d->sources.len; i++) {
        const struct lpo_source *s = &d->sources.at[i];

        if (!s->analysis)
            continue;
        if (s->analysis->trace->gpu_ops.len)
            return s;
        first = first ? first : s;
    }
    return first;
}
