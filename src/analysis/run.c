/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/run.h"

#include "analysis/analysis.h"
#include "analysis/counters/overlay.h"
#include "analysis/counters/sampled.h"
#include "analysis/operators/cost.h"
#include "analysis/power/power.h"
#include "analysis/power/regions.h"
#include "region/select.h"
#include "rundir/belonging.h"
#include "rundir/rundir.h"
#include "settings/settings.h"
#include "util/work.h"

static struct lpo_analysis_run *wrap(struct lpo_rundir *dir)
{
    struct lpo_analysis_run *run = lpo_xcalloc(1, sizeof *run);

    run->dir = dir;
    return run;
}

static void attribute(struct lpo_analysis_run *run, struct lpo_source *s)
{
    s->analysis = lpo_analysis_attribute(s->trace);
    run->attributed++;
}

static const struct lpo_analysis *analyse(struct lpo_analysis_run *run, struct lpo_source *s)
{
    if (!s->analysis) {
        attribute(run, s);
        lpo_analysis_select(s->analysis, s->select, false);
    }
    return s->analysis;
}

struct lpo_analysis_run *lpo_analysis_run_open(const char *dir,
                                               const struct lpo_rundir_kind *const *kinds)
{
    return wrap(lpo_rundir_open(dir, kinds));
}

/* The source that measured a few launches for all of them: under this config, or beside another
 * trace in a list of files, which has no config. */
static const struct lpo_source *representatives(const struct lpo_rundir *d)
{
    for (size_t i = 0; i < d->sources.len; i++) {
        const struct lpo_source *s = &d->sources.at[i];

        if (s->trace && s->kind->representatives &&
            (!d->dir || s->kind->representatives(d->config)) && lpo_rundir_has_kernels(s->trace))
            return s;
    }
    return NULL;
}

/* Counters of a few launches are laid over the most trusted trace that has all of them. Adds
 * metrics to that trace: sums over it are made after this. */
static const struct lpo_source *lay_counters(struct lpo_rundir *d)
{
    const struct lpo_source *counters = representatives(d);

    for (size_t i = 0; counters && i < d->sources.len; i++) {
        struct lpo_source *s = &d->sources.at[i];
        struct lpo_overlay o;

        if (s == counters || !s->trace || !lpo_rundir_has_kernels(s->trace))
            continue;
        o = lpo_counters_overlay(s->trace, s->analysis->tree, counters->analysis->tree);
        d->overlay = (struct lpo_overlay_facts){ s->stage,    o.launches, o.by_shape, o.by_name,
                                                 o.uncovered, o.configs,  o.measured };
        return s;
    }
    return NULL;
}

/* The GPU that a file is about: by its number of the maker's, else the only one there is, else by
 * its place on the bus, which two machines may have both. UINT16_MAX: none. */
static uint16_t device_of(const struct lpo_rundir *d, const struct lpo_trace *t,
                          const struct lpo_counters_about *about, bool of_another_rank)
{
    bool numbered = false;

    for (size_t i = 0; i < t->devices.len && *about->gpu_uuid; i++) {
        numbered |= *t->devices.at[i].uuid != '\0';
        if (strcmp(t->devices.at[i].uuid, about->gpu_uuid) == 0)
            return (uint16_t)i;
    }
    if (numbered)
        return UINT16_MAX;
    if (t->devices.len == 1 && d->counters.len == 1)
        return 0;
    for (size_t i = 0; i < t->devices.len && !of_another_rank; i++)
        if (t->devices.at[i].id == about->gpu_index)
            return (uint16_t)i;
    return UINT16_MAX;
}

/* Every walk has read the file to its end. */
static void put_sampler_cost(struct lpo_counters_sampled *s, const struct lpo_counters_totals *t)
{
    struct lpo_sampled_gpu *g = &s->gpus.at[s->gpus.len - 1];

    g->sampler_cpu_ns = t->cpu_ns;
    g->sampler_wall_ns = t->wall_ns;
}

static bool lay_files(struct lpo_rundir *d, struct lpo_source *s)
{
    struct lpo_analysis *a = s->analysis;

    a->sampled = lpo_counters_sampled_create(a->tree);
    for (size_t i = 0; i < d->counters.len; i++) {
        struct lpo_sample_source source = lpo_counters_source_of_file(d->counters.at[i].file);
        bool of_another = lpo_rundir_member_rank(d->counters.at[i].name) >= 0;
        uint16_t device = device_of(d, s->trace, source.about, of_another);

        if (device != UINT16_MAX &&
            lpo_counters_lay_samples(a->sampled, s->trace, a->tree, device, &source))
            put_sampler_cost(a->sampled, lpo_counters_totals(d->counters.at[i].file));
    }
    if (a->sampled->gpus.len)
        return true;
    lpo_counters_sampled_destroy(a->sampled);
    a->sampled = NULL;
    return false;
}

/* Sampled counters are laid over the most trusted trace that was recorded at their time. */
static void lay_samples(struct lpo_rundir *d)
{
    if (d->skip & LPO_SKIP_METRICS)
        return;
    for (size_t i = 0; d->counters.len && i < d->sources.len; i++) {
        struct lpo_source *s = &d->sources.at[i];

        if (s->trace && s->analysis && s->trace->epoch_ns != LPO_NO_TIME && !s->analysis->sampled &&
            lpo_rundir_has_kernels(s->trace) && lay_files(d, s))
            return;
    }
    if (d->counters.len)
        lpo_vec_push(&d->problems, "no trace here was recorded while the counters were sampled");
}

static void lay_power(struct lpo_analysis_run *run)
{
    struct lpo_rundir *d = run->dir;
    struct lpo_err ignored = { 0 }; /* the chapter on power says what is wrong with the file */

    if (!run->power)
        lpo_power_read(d, lpo_rundir_stage_with(d, LPO_ROLE_POWER), &run->power, &ignored);
    for (size_t i = 0; i < d->sources.len; i++)
        if (d->sources.at[i].analysis)
            d->sources.at[i].analysis->power = run->power;
}

/* A tool that counts sees only regions with kernels of its own: a pattern for one that another
 * source saw is no pattern that matched nothing. */
static void match_other_regions(struct lpo_rundir *d)
{
    for (size_t i = 0; i < d->sources.len; i++)
        for (size_t k = 0; k < d->sources.len; k++) {
            const struct lpo_source *s = &d->sources.at[i], *other = &d->sources.at[k];

            if (i == k || !s->analysis || !other->analysis || !s->select ||
                !(s->kind->roles & LPO_ROLE_COUNTERS))
                continue;
            free(lpo_region_selection_regions(s->select, other->analysis->tree));
            if (d->counters_select)
                free(lpo_region_selection_regions(d->counters_select, other->analysis->tree));
        }
}

static void analyse_all(struct lpo_analysis_run *run)
{
    struct lpo_rundir *d = run->dir;
    const struct lpo_source *changed;

    for (size_t i = 0; i < d->sources.len; i++)
        if (d->sources.at[i].trace && !d->sources.at[i].analysis)
            attribute(run, &d->sources.at[i]);
    for (size_t i = 0; i < d->sources.len; i++)
        if (d->sources.at[i].analysis)
            lpo_region_tree_use(d->sources.at[i].analysis->tree, d->own_rules);
    changed = lay_counters(d);
    lay_samples(d);
    lay_power(run);
    for (size_t i = 0; i < d->sources.len; i++) {
        struct lpo_source *s = &d->sources.at[i];

        if (s->analysis)
            lpo_analysis_select(s->analysis, s->select, s == changed || s->analysis->sampled);
    }
    match_other_regions(d);
}

int lpo_analysis_run_operator_rules(struct lpo_analysis_run *run, const char *const *texts,
                                    size_t count, struct lpo_err *err)
{
    struct lpo_operators_rules *rules = NULL;

    if (!count)
        return 0;
    if (lpo_operators_rules_read(texts, count, &rules, err) < 0)
        return err->code;
    lpo_operators_rules_destroy(run->rules);
    run->rules = rules;
    for (size_t i = 0; i < run->dir->sources.len; i++)
        if (run->dir->sources.at[i].analysis)
            run->dir->sources.at[i].analysis->rules = rules;
    return 0;
}

/* report.operators of the config. */
static int read_rules(struct lpo_analysis_run *run, struct lpo_err *err)
{
    struct lpo_settings_words words =
        lpo_settings_list(run->dir->arena, run->dir->config, "report.operators");

    if (lpo_analysis_run_operator_rules(run, words.at, words.len, err) < 0)
        return lpo_ctx(err, "config key report.operators");
    return 0;
}

int lpo_analysis_run_load(struct lpo_analysis_run *run, const char *const *overrides,
                          struct lpo_err *err)
{
    int rc;

    lpo_work_begin("reading");
    rc = lpo_rundir_load(run->dir, overrides, err);
    if (rc == 0)
        analyse_all(run);
    lpo_work_end();
    return rc == 0 ? read_rules(run, err) : rc;
}

int lpo_analysis_run_of_paths(const char *const *paths, size_t count,
                              const struct lpo_rundir_options *options,
                              struct lpo_analysis_run **out, struct lpo_err *err)
{
    struct lpo_rundir *d = NULL;
    int rc;

    lpo_work_begin("reading");
    rc = lpo_rundir_of_paths(paths, count, options, &d, err);
    if (rc == 0) {
        *out = wrap(d);
        analyse_all(*out);
    }
    lpo_work_end();
    return rc == 0 ? read_rules(*out, err) : rc;
}

int lpo_analysis_run_create(const char *dir, const struct lpo_rundir_options *options,
                            struct lpo_analysis_run **out, struct lpo_err *err)
{
    LPO_AUTO(lpo_analysis_run) run = lpo_analysis_run_open(dir, options->kinds);

    if (lpo_analysis_run_load(run, options->overrides, err) < 0)
        return err->code;
    *out = run;
    run = NULL;
    return 0;
}

void lpo_analysis_run_destroy(struct lpo_analysis_run *run)
{
    if (!run)
        return;
    for (size_t i = 0; i < run->dir->sources.len; i++)
        lpo_analysis_destroy(run->dir->sources.at[i].analysis);
    lpo_rundir_destroy(run->dir);
    lpo_operators_rules_destroy(run->rules);
    lpo_power_destroy(run->power);
    free(run);
}

const struct lpo_analysis *lpo_analysis_run_stage(struct lpo_analysis_run *run, const char *stage)
{
    struct lpo_source *s = lpo_rundir_read_source(run->dir, stage);

    return s ? analyse(run, s) : NULL;
}

void lpo_analysis_run_forget(struct lpo_analysis_run *run, const char *stage)
{
    const struct lpo_source *s = lpo_rundir_source(run->dir, stage);

    if (s)
        lpo_analysis_destroy(s->analysis); /* before the trace that it borrows */
    lpo_rundir_forget(run->dir, stage);
}

const struct lpo_analysis *lpo_analysis_run_main(struct lpo_analysis_run *run)
{
    struct lpo_source *s = (struct lpo_source *)lpo_rundir_main(run->dir);

    return s ? analyse(run, s) : NULL;
}
