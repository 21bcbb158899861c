/* SPDX-License-Identifier: Apache-2.0 */
/* The chapter "Hardware counters": what was sampled while the program ran as it is. */
#include <math.h>

#include "analysis/analysis.h"
#include "analysis/counters/sampled.h"
#include "region/cells.h"
#include "report/chapters/chapters.h"
#include "report/doc/doc.h"
#include "report/tables/tables.h"
#include "report/trace_records.h"
#include "rundir/rundir.h"
#include "trace/trace.h"
#include "util/str.h"
#include "util/units.h"

enum { REGIONS = 60, KERNELS = 15, LEAST_ROWS = 8 };

/* Of the bytes: more than this of somebody else makes every figure doubtful. */
static const double most_others = 0.01;

static const char *scope_of(struct lpo_doc *doc, const struct lpo_analysis *a,
                            const struct lpo_sampled_gpu *g)
{
    return lpo_report_device_scope(doc->arena, &a->trace->devices.at[g->device]);
}

/* "100 us", or "100 us, later 200 us". */
static void add_intervals(struct lpo_str *s, const struct lpo_sampled_gpu *g)
{
    if (g->intervals.len < 2)
        lpo_units_add_duration(s, g->interval_ns);
    for (size_t i = 0; g->intervals.len > 1 && i < g->intervals.len; i++) {
        lpo_str_add(s, i ? ", later " : "");
        lpo_units_add_duration(s, g->intervals.at[i].interval_ns);
    }
}

static void add_intro(struct lpo_doc *doc, const struct lpo_analysis *a,
                      const struct lpo_sampled_gpu *g)
{
    LPO_STR every = { 0 }, samples = { 0 };

    add_intervals(&every, g);
    lpo_units_add_count(&samples, g->samples);
    lpo_doc_paragraph(
        doc,
        "%s: %s samples of %s, taken while the program ran as it is; they cover %.1f %% of its GPU "
        "time. What a sample counted is divided among the operations that ran in it. At borders is "
        "the share of a region's GPU time in samples that another region had a part in: there the "
        "division is an estimate.",
        scope_of(doc, a, g), samples.at, every.at,
        g->gpu_ns > 0 ? 100 * (double)g->covered_ns / (double)g->gpu_ns : 0);
}

/* What sampling took beside the program, and what gave way for it. */
static void add_cost(struct lpo_doc *doc, const struct lpo_analysis *a,
                     const struct lpo_sampled_gpu *g)
{
    const struct lpo_sampled_interval *at = g->intervals.at;
    LPO_STR when = { 0 }, every = { 0 };
    double share;

    if (g->sampler_cpu_ns < 0 || g->sampler_wall_ns <= 0)
        return;
    share = 100 * (double)g->sampler_cpu_ns / (double)g->sampler_wall_ns;
    if (g->intervals.len < 2) {
        lpo_doc_note(doc, LPO_NOTE_INFO, "%s: the sampler used %.1f %% of one core.",
                     scope_of(doc, a, g), share);
        return;
    }
    lpo_units_add_duration(&when, at[g->intervals.len - 1].from_ns - at[0].from_ns);
    lpo_units_add_duration(&every, at[g->intervals.len - 1].interval_ns);
    lpo_doc_note(doc, LPO_NOTE_INFO,
                 "%s: the sampler used %.1f %% of one core. To keep to pipeline.counters.core it "
                 "made the interval longer: from %s after its first sample on it is %s.",
                 scope_of(doc, a, g), share, when.at, every.at);
}

static void add_cautions(struct lpo_doc *doc, const struct lpo_analysis *a,
                         const struct lpo_sampled_gpu *g)
{
    const char *scope = scope_of(doc, a, g);
    double others = lpo_counters_others_share(g), quiet = lpo_counters_quiet_share(g);
    LPO_STR ns = { 0 };

    if (others - quiet > most_others)
        lpo_doc_note(doc, LPO_NOTE_WARNING,
                     "%s: %.1f %% of the DRAM bytes were counted while nothing of this trace ran. "
                     "Another process used the GPU, and what it did at other times is in the "
                     "figures of this chapter.",
                     scope, 100 * others);
    else if (others > most_others)
        lpo_doc_note(doc, LPO_NOTE_INFO,
                     "%s: %.1f %% of the DRAM bytes were counted while nothing of this trace ran "
                     "and no SM worked: the driver cleared memory, or somebody copied.",
                     scope, 100 * quiet);
    if (g->lost_ns > 0) {
        lpo_units_add_duration(&ns, g->lost_ns);
        lpo_doc_note(doc, LPO_NOTE_INFO,
                     "%s: the samples of %s were lost. Operations of that time count as the others "
                     "of their kind.",
                     scope, ns.at);
    }
    if (g->clock_ns) {
        lpo_str_clear(&ns);
        lpo_units_add_duration(&ns, llabs(g->clock_ns));
        lpo_doc_note(doc, LPO_NOTE_INFO,
                     "%s: the clock of the samples is %s %s that of the trace (correlation %.2f); "
                     "this was taken out.",
                     scope, ns.at, g->clock_ns > 0 ? "ahead of" : "behind", g->clock_fit);
    } else if (!g->clock_sure) {
        lpo_doc_note(doc, LPO_NOTE_INFO,
                     "%s: whether the samples are on the clock of the trace could not be checked: "
                     "busy time and activity have a correlation of %.2f.",
                     scope, g->clock_fit);
    }
    if (g->shares)
        lpo_doc_note(doc, LPO_NOTE_INFO,
                     "%s: CUDA graphs were traced as a whole, so their kernels have no figures of "
                     "their own; regions have.",
                     scope);
    if (g->left_out)
        lpo_doc_note(
            doc, LPO_NOTE_WARNING,
            "%s: %llu operations were given nothing: more than 500 ran at one time, or they "
            "ran in too many places.",
            scope, (unsigned long long)g->left_out);
}

/* Kernels that ncu measured too: do both say the same, give or take their errors? */
static void compare_ncu(struct lpo_doc *doc, const struct lpo_analysis *a,
                        const struct lpo_sampled_gpu *g)
{
    const struct lpo_sampled_config *worst = NULL;
    size_t both = 0, differ = 0;
    double most = 0;

    for (size_t i = 0; i < g->configs.len; i++) {
        const struct lpo_sampled_config *c = &g->configs.at[i];
        struct lpo_measure ncu = lpo_report_ncu_dram(a->trace, c);
        double bytes, error;

        if (!lpo_counters_config_dram(g, c, &bytes, &error) || !lpo_measure_known(ncu) ||
            ncu.value <= 0)
            continue;
        both++;
        if (fabs(bytes - ncu.value) <= 2 * error)
            continue;
        differ++;
        if (fabs(bytes / ncu.value - 1) > fabs(most)) {
            most = bytes / ncu.value - 1;
            worst = c;
        }
    }
    if (both && !differ)
        lpo_doc_note(doc, LPO_NOTE_INFO,
                     "%zu kernel configurations have DRAM bytes by samples and by ncu: they agree "
                     "within two standard errors.",
                     both);
    if (worst)
        lpo_doc_note(doc, LPO_NOTE_INFO,
                     "%zu kernel configurations have DRAM bytes by samples and by ncu; %zu of them "
                     "differ by more than two standard errors, most %s (%+.0f %%). ncu empties the "
                     "caches before each kernel, the program does not.",
                     both, differ, lpo_region_cells_shown_name(a->cells, worst->name), 100 * most);
}

static void add_kernels(struct lpo_doc *doc, const struct lpo_analysis *a,
                        const struct lpo_sampled_gpu *g)
{
    const struct lpo_sampled_metric *m = lpo_counters_sampled_find(g, LPO_COUNTER_DRAM_READ);

    lpo_report_add_kernel_counters(doc, a, g, KERNELS)->least_rows = LEAST_ROWS;
    if (m)
        lpo_doc_paragraph(doc,
                          "By least squares over %llu samples, which explain %.1f %% of how they "
                          "differ; ± is the standard error. A figure that the samples cannot "
                          "support is n/a.",
                          (unsigned long long)g->busy, 100 * m->r2);
    compare_ncu(doc, a, g);
}

static void add_calls(struct lpo_doc *doc, const struct lpo_analysis *a,
                      const struct lpo_table_options *options)
{
    struct lpo_table *t = lpo_report_add_call_counters(doc, a, lpo_analysis_all(a), options);

    if (!t)
        return;
    t->least_rows = LEAST_ROWS;
    lpo_doc_paragraph(doc,
                      "A call has figures where samples cover nine tenths of its GPU time and at "
                      "most a quarter of it lies in samples in which something else ran. The "
                      "first call of a region stands apart; the others have their least, their "
                      "median and their largest figure.");
}

void lpo_report_chapter_counters(struct lpo_doc *doc, const struct lpo_rundir *d,
                                 const struct lpo_source *s)
{
    const struct lpo_analysis *a = s->analysis;
    struct lpo_table_options options = { d->fold_over, REGIONS, .no_zeros = true };
    struct lpo_table *captured;

    if (!a->sampled)
        return;
    lpo_doc_section(doc, "counters", "Hardware counters", 1);
    for (size_t i = 0; i < a->sampled->gpus.len; i++) {
        add_intro(doc, a, &a->sampled->gpus.at[i]);
        add_cost(doc, a, &a->sampled->gpus.at[i]);
        add_cautions(doc, a, &a->sampled->gpus.at[i]);
    }
    lpo_report_add_region_counters(doc, a, lpo_analysis_all(a), &options)->least_rows = LEAST_ROWS;
    add_calls(doc, a, &options);
    captured = lpo_report_add_captured_counters(doc, lpo_analysis_all(a), &options);
    if (captured)
        captured->least_rows = LEAST_ROWS;
    if (a->sampled->gpus.len) /* of the first: others run the same kernels */
        add_kernels(doc, a, &a->sampled->gpus.at[0]);
}
