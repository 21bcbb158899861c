/* The traces of a run folder: found, read, and counters laid over them. */
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/counters/overlay.h"
#include "hydra/compose.h"
#include "region/levels.h"
#include "region/select.h"
#include "run/folder.h"
#include "rundir/rundir.h"
#include "settings/settings.h"
#include "trace/reader.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/path.h"
#include "util/str.h"

static bool is_native(const char *name)
{
    return lpo_str_ends(name, ".lpot");
}

static bool is_sqlite(const char *name)
{
    return lpo_str_ends(name, ".sqlite") || lpo_str_ends(name, ".sqlite.gz");
}

static bool is_kineto(const char *name)
{
    return strstr(name, "trace") && (lpo_str_ends(name, ".json") || lpo_str_ends(name, ".json.gz"));
}

static bool is_ncu_report(const char *name)
{
    return lpo_str_ends(name, ".ncu-rep") || lpo_str_ends(name, ".ncu-repz");
}

static bool is_ncu_csv(const char *name)
{
    return lpo_str_ends(name, "raw.csv") || lpo_str_ends(name, "raw.csv.gz");
}

/* In the order in which they are trusted with the question where time goes. */
static const struct kind {
    const char *stage, *what;
    bool (*mine)(const char *name);
    bool (*instead)(const char *name); /* when the first kind is not there or tells no kernel */
    unsigned skip;
} kinds[] = {
    { "native", "the trace of lpo's own collector", is_native, NULL, LPO_SKIP_OPS },
    { "nsys", "the export of Nsight Systems", is_sqlite, NULL, LPO_SKIP_OPS },
    { "torch_profiler", "the trace of the PyTorch profiler", is_kineto, NULL, 0 },
    { "ncu", "the report of Nsight Compute", is_ncu_report, is_ncu_csv, LPO_SKIP_OPS },
};

enum { NKINDS = sizeof kinds / sizeof *kinds };

static size_t list_files(struct lpo_arena *a, const char *dir, const char *stage,
                         bool (*mine)(const char *name), const char ***out)
{
    struct lpo_paths all = { 0 };
    size_t n = 0;

    lpo_run_folder_list(a, dir, stage, &all);
    *out = lpo_arena_array(a, all.len + 1, sizeof **out);
    for (size_t i = 0; i < all.len; i++)
        if (mine(lpo_path_base(all.at[i])))
            (*out)[n++] = all.at[i];
    return n;
}

bool lpo_rundir_trace_files(struct lpo_arena *a, const char *dir, size_t kind, const char ***out,
                            size_t *count)
{
    if (kind >= NKINDS)
        return false;
    *count = list_files(a, dir, kinds[kind].stage, kinds[kind].mine, out);
    for (size_t i = 0; i < *count; i++)
        (*out)[i] = lpo_path_join(a, dir, (*out)[i]);
    return true;
}

static void pick_files(struct lpo_rundir *d, struct lpo_source *s, bool (*mine)(const char *name))
{
    s->nfiles = list_files(d->arena, d->dir, s->stage, mine, &s->files);
}

static int add_patterns(struct lpo_rundir *d, struct lpo_region_selection *s,
                        enum lpo_select_list list, const char *path, struct lpo_err *err)
{
    struct lpo_settings_words patterns = lpo_settings_list(d->arena, d->config, path);

    for (size_t i = 0; i < patterns.len; i++)
        if (lpo_region_selection_add(s, list, patterns.at[i], err) < 0)
            return lpo_ctx(err, "config key %s", path);
    return 0;
}

/* Patterns of the capture, which say more than a report's. What is in ncu's own grammar needs no
 * second look: the capture holds nothing else. */
static int add_captured(struct lpo_rundir *d, struct lpo_region_selection *s,
                        enum lpo_select_list list, const char *path, struct lpo_err *err)
{
    struct lpo_settings_words patterns = lpo_settings_list(d->arena, d->config, path);

    for (size_t i = 0; i < patterns.len && list == LPO_REGIONS_INCLUDE; i++)
        if (lpo_region_levels_ncu_grammar(patterns.at[i]))
            return 0;
    for (size_t i = 0; i < patterns.len; i++) {
        struct lpo_levels levels;
        LPO_STR text = { 0 };

        if (lpo_region_levels_ncu_grammar(patterns.at[i]) ||
            lpo_region_levels_of_pattern(d->arena, patterns.at[i], &levels) < 0)
            continue;
        lpo_region_levels_add_selection(&levels, &text);
        if (lpo_region_selection_add(s, list, lpo_str_text(&text), err) < 0)
            return lpo_ctx(err, "config key %s", path);
    }
    return 0;
}

/* report.* for every source; ncu's region mode has patterns of its own. */
static int make_selection(struct lpo_rundir *d, const char *stage,
                          struct lpo_region_selection **out, struct lpo_err *err)
{
    static const struct {
        const char *report, *ncu;
        enum lpo_select_list list;
        int (*add)(struct lpo_rundir *d, struct lpo_region_selection *s, enum lpo_select_list list,
                   const char *path, struct lpo_err *err);
    } keys[] = {
        { "report.regions.include", "pipeline.ncu.regions.include", LPO_REGIONS_INCLUDE,
          add_captured },
        { "report.regions.exclude", "pipeline.ncu.regions.exclude", LPO_REGIONS_EXCLUDE,
          add_captured },
        { "report.kernels.include", "pipeline.ncu.regions.kernels.include", LPO_KERNELS_INCLUDE,
          add_patterns },
        { "report.kernels.exclude", "pipeline.ncu.regions.kernels.exclude", LPO_KERNELS_EXCLUDE,
          add_patterns },
    };
    LPO_AUTO(lpo_region_selection) s = lpo_region_selection_create();

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (add_patterns(d, s, keys[i].list, keys[i].report, err) < 0)
            return err->code;
        if (strcmp(stage, "ncu") == 0 && keys[i].add(d, s, keys[i].list, keys[i].ncu, err) < 0)
            return err->code;
    }
    *out = s;
    s = NULL;
    return 0;
}

static struct lpo_trace *read_trace(struct lpo_rundir *d, struct lpo_source *s, unsigned skip)
{
    struct lpo_trace *t = lpo_trace_create();
    size_t good = 0;

    t->skip = skip;
    for (size_t i = 0; i < s->nfiles; i++) {
        struct lpo_err err = { 0 };

        if (lpo_trace_read(lpo_path_join(d->arena, d->dir, s->files[i]), t, &err) == 0) {
            good++;
            continue;
        }
        s->problem = lpo_rundir_problem(d, s->files[i], &err);
        lpo_vec_push(&d->problems, s->problem);
    }
    if (good)
        return t;
    lpo_trace_destroy(t);
    return NULL;
}

static bool has_kernels(const struct lpo_trace *t)
{
    for (size_t i = 0; i < t->gpu_ops.len; i++)
        if (t->gpu_ops.at[i].kind == LPO_KERNEL)
            return true;
    return false;
}

/* The trace of one stage. A report of range replay holds results that only ncu itself can read: its
 * own page of them is beside it. */
static struct lpo_trace *read_kind(struct lpo_rundir *d, const struct kind *k, struct lpo_source *s)
{
    struct lpo_source other = { .stage = k->stage, .what = k->what };
    struct lpo_trace *t, *second;

    pick_files(d, s, k->mine);
    t = s->nfiles ? read_trace(d, s, k->skip) : NULL;
    if (!k->instead || (t && has_kernels(t)))
        return t;
    pick_files(d, &other, k->instead);
    second = other.nfiles ? read_trace(d, &other, k->skip) : NULL;
    if (!second || (t && !has_kernels(second))) {
        lpo_trace_destroy(second);
        return t;
    }
    lpo_trace_destroy(t);
    *s = other;
    return second;
}

bool lpo_rundir_representatives(const struct lpo_node *config)
{
    const char *mode = lpo_settings_text(config, "pipeline.ncu.sampling.mode");

    return strcmp(mode, "representative") == 0 ||
           (strcmp(mode, "auto") == 0 && lpo_settings_bool(config, "pipeline.ncu.regions.enable"));
}

/* Counters of a few launches are laid over the first trace that has all of them on a clock. */
static void overlay(struct lpo_rundir *d, struct lpo_trace **traces)
{
    struct lpo_trace *counters = traces[NKINDS - 1];

    if (!lpo_rundir_representatives(d->config) || !counters || !has_kernels(counters))
        return;
    for (size_t i = 0; i + 1 < NKINDS; i++) {
        struct lpo_overlay o;

        if (!traces[i] || !has_kernels(traces[i]))
            continue;
        o = lpo_counters_overlay(traces[i], counters);
        d->overlay = (struct lpo_overlay_facts){ kinds[i].stage, o.launches, o.by_shape, o.by_name,
                                                 o.uncovered,    o.configs,  o.measured };
        return;
    }
}

int lpo_rundir_sources_read(struct lpo_rundir *d, struct lpo_err *err)
{
    struct lpo_trace *traces[NKINDS] = { NULL };
    int rc = 0;

    for (size_t i = 0; i < NKINDS; i++) {
        struct lpo_source s = { .stage = kinds[i].stage, .what = kinds[i].what };

        traces[i] = read_kind(d, &kinds[i], &s);
        lpo_vec_push(&d->sources, s);
    }
    overlay(d, traces);
    for (size_t i = 0; i < NKINDS; i++) {
        struct lpo_source *s = &d->sources.at[i];

        if (rc == 0 && traces[i])
            rc = make_selection(d, s->stage, &s->select, err);
        if (rc == 0 && traces[i])
            s->analysis = lpo_analysis_of(traces[i], s->select);
        else
            lpo_trace_destroy(traces[i]);
    }
    return rc;
}
