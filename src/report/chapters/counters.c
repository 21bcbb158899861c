/* SPDX-License-Identifier: Apache-2.0 */
/* The chapter "Hardware counters": what was sampled while the program ran as it is. */

#include "analysis/limits/counters.h"
#include "analysis/analysis.h"
#include "analysis/counters/sampled.h"
#include "analysis/tables/tables.h"
#include "report/chapters/chapters.h"
#include "report/doc/doc.h"
#include "report/tables/tables.h"
#include "report/trace_records.h"
#include "rundir/rundir.h"
#include "util/units.h"

enum { MOST_KERNELS = 1000, MOST_CALLS = 1000 }; /* in the JSON */
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
        lpo_doc_note(
            doc, LPO_NOTE_INFO,
            "%s: sample timestamps were %s %s the trace clock (correlation %.2f); corrected.",
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

/* --- kernels ---------------------------------------------------------------------------------- */

static struct lpo_measure ncu_dram(const struct lpo_trace *t, const struct lpo_sampled_config *c)
{
    uint32_t column = lpo_trace_metric_find(t, "dram__bytes.sum");
    uint32_t row = t->gpu_ops.at[c->op].metrics;
    double v, scale = 1;

    if (column == LPO_NONE || row == LPO_NONE || t->metrics.at[column].sampled)
        return lpo_measure_unknown();
    v = lpo_trace_metric_get(t, row, column);
    if (t->metrics.at[column].unit != LPO_NONE)
        scale = lpo_limits_unit_scale(lpo_trace_text(t, t->metrics.at[column].unit));
    return v >= 0 ? lpo_measure_estimated(v * scale) : lpo_measure_unknown();
}

/* A configuration of a kernel on a GPU that was sampled. */
typedef struct {
    const struct lpo_sampled_gpu *g;
    const struct lpo_sampled_config *c;
    double bytes, error; /* of one launch; known: the samples support them */
    bool known;
} config_row;

static double mean_of(const config_row *r)
{
    return (double)r->c->ns / (double)r->c->launches;
}

static struct lpo_cell side_cell(const struct lpo_rows *rows, const config_row *r,
                                 const char *format, bool block)
{
    const struct lpo_trace *t = lpo_tables_trace(rows);
    const uint32_t *d;

    if (r->c->shape == LPO_NONE)
        return lpo_cell_unknown();
    d = block ? t->shapes.at[r->c->shape].block : t->shapes.at[r->c->shape].grid;
    lpo_str_addf(lpo_table_scratch(rows), format, d[0], d[1], d[2]);
    return lpo_cell_scratch(rows);
}

static struct lpo_cell known_cell(const config_row *r, struct lpo_measure m)
{
    return r->known ? lpo_cell_measure(m) : lpo_cell_unknown();
}

static struct lpo_cell active_cell(const config_row *r, enum lpo_counters_meaning meaning)
{
    double percent, error;

    return lpo_counters_config_share(r->g, r->c, meaning, &percent, &error)
               ? lpo_cell_measure(lpo_measure_estimated(percent / 100))
               : lpo_cell_unknown();
}

#define CONFIG(X)                                                                                  \
    X(config, name, "Kernel", TEXT, KEY, "of the kernel or copy",                                  \
      r->c->kind == LPO_KERNEL ? lpo_tables_kernel(rows, r->c->name)                               \
                               : lpo_tables_name(rows, r->c->name))                                \
    X(config, grid_shown, "Grid", TEXT, KEY, "blocks of a launch",                                 \
      side_cell(rows, r, "%u,%u,%u", false), .minor = 1, .width = 10)                              \
    X(config, grid, "Grid", LIST, KEY, "blocks of a launch",                                       \
      side_cell(rows, r, "[%u,%u,%u]", false))                                                     \
    X(config, block, "Block", LIST, KEY, "threads of a block",                                     \
      side_cell(rows, r, "[%u,%u,%u]", true))                                                      \
    X(config, bytes, "Bytes", BYTES, KEY, "of a copy",                                             \
      lpo_cell_whole_if(r->c->shape == LPO_NONE && r->c->kind != LPO_KERNEL,                       \
                        (int64_t)r->c->bytes))                                                     \
    X(config, launches, "Launches", COUNT, ADDS, "of it", r->c->launches)                          \
    X(config, gpu_ns, "GPU time", NS, ADDS, "of all launches", r->c->ns)                           \
    X(config, mean_ns, "Mean time", NS, FACT, "of one launch", (int64_t)mean_of(r))                \
    X(config, dram_bytes, "DRAM per launch", BYTES, FACT, "read and written",                      \
      known_cell(r, lpo_measure_estimated(r->bytes)))                                              \
    X(config, dram_bytes_error, "±", BYTES, FACT, "standard error of that",                        \
      known_cell(r, lpo_measure_computed(r->error)))                                               \
    X(config, dram_rate, "DRAM rate", MEASURE("B/s"), FACT, "bytes over time",                     \
      known_cell(r, lpo_measure_estimated(r->bytes / mean_of(r) * 1e9)))                           \
    X(config, tensor_active, "Tensor cores", PERCENT, FACT, "of their peak",                       \
      active_cell(r, LPO_COUNTER_TENSOR_ACTIVE), .minor = 1)                                       \
    X(config, sm_active, "SMs", PERCENT, FACT, "that had work",                                    \
      active_cell(r, LPO_COUNTER_SM_ACTIVE), .minor = 2)                                           \
    X(config, ncu_dram_bytes, "By ncu", BYTES, FACT, "the same as ncu measured it",                \
      ncu_dram(lpo_tables_trace(rows), r->c))

LPO_TABLE(config, CONFIG)

static const struct lpo_table_kind configs_kind =
    LPO_TABLE_KIND(config, "kernel_counters", "Sampled counters by kernel, of one launch");

static struct lpo_rows config_rows(struct lpo_arena *arena, const struct lpo_analysis *a,
                                   const struct lpo_sampled_gpu *g)
{
    config_row *all = lpo_arena_array(arena, g->configs.len + 1, sizeof *all);

    for (size_t i = 0; i < g->configs.len; i++) {
        all[i] = (config_row){ .g = g, .c = &g->configs.at[i] };
        all[i].known = lpo_counters_config_dram(g, all[i].c, &all[i].bytes, &all[i].error);
    }
    return lpo_tables_rows(lpo_tables_of(arena, a, NULL), &configs_kind, all, g->configs.len);
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
        struct lpo_measure ncu = ncu_dram(a->trace, c);
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
    const struct lpo_rows rows = config_rows(doc->arena, a, g);

    lpo_doc_table_of(doc, "kernel_counters", "Sampled counters by kernel, of one launch", &rows,
                     "kernel=name grid=grid_shown launches mean_ns dram_bytes dram_bytes_error "
                     "dram_rate tensor_active sm_active ncu_dram_bytes?",
                     KERNELS)
        ->least_rows = LEAST_ROWS;
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
    captured = lpo_report_add_captured_counters(doc, a, lpo_analysis_all(a), &options);
    if (captured)
        captured->least_rows = LEAST_ROWS;
    if (a->sampled->gpus.len) /* of the first: others run the same kernels */
        add_kernels(doc, a, &a->sampled->gpus.at[0]);
}

/* --- for machines ----------------------------------------------------------------------------- */

static void put_metric(struct lpo_record *to, const struct lpo_sampled_gpu *g,
                       const struct lpo_sampled_metric *m)
{
    /* the mean of a share over all busy time: percent times ns over ns */
    double mean = g->covered_ns > 0 ? m->total / (double)g->covered_ns : 0;

    lpo_doc_put(lpo_doc_put_record(to, NULL), LPO_KV("name", m->name),
                LPO_KV("counter", m->counter), LPO_KV("unit", m->unit),
                LPO_KV("total", m->kind == LPO_COUNTER_SHARE ? mean : m->total),
                LPO_KV("others_share", m->total > 0 ? m->others / m->total : 0),
                LPO_KV("baseline_per_second", m->baseline * 1e9), LPO_KV("ahead_ns", -m->shift_ns),
                LPO_KV("ahead_sure", m->shift_sure), LPO_KV("r2", m->r2),
                LPO_KV("fitted_share", m->fitted));
}

static void put_value(struct lpo_record *to, const char *name, const char *unit, bool known,
                      double value, double error)
{
    lpo_doc_put(lpo_doc_put_record(to, name),
                LPO_KV("value", known ? lpo_measure_estimated(value) : lpo_measure_unknown()),
                LPO_KV("error", known ? lpo_measure_estimated(error) : lpo_measure_unknown()),
                LPO_KV("unit", unit));
}

static void put_values(const struct lpo_rows *rows, size_t i, struct lpo_record *out)
{
    const config_row *row = config_of(rows, i);
    const struct lpo_sampled_gpu *g = row->g;
    const struct lpo_sampled_config *c = row->c;
    const struct lpo_measure ncu = ncu_dram(lpo_tables_trace(rows), c);
    struct lpo_record *to = lpo_doc_put_record(out, "metrics");

    put_value(to, "dram_bytes_both", "byte", row->known, row->bytes, row->error);
    for (size_t m = 0; m < g->nmetrics; m++) {
        size_t at = m * g->unknowns + c->unknown;
        double per = g->metrics[m].kind == LPO_COUNTER_SHARE ? mean_of(row) : 1;

        put_value(to, g->metrics[m].name, g->metrics[m].unit, lpo_counters_config_known(g, m, c),
                  g->value[at] / per, g->error[at] / per);
    }
    if (lpo_measure_known(ncu))
        lpo_doc_put(out, LPO_KV("ncu_dram_bytes", ncu));
}

static void put_clock(struct lpo_record *to, const struct lpo_sampled_gpu *g)
{
    lpo_doc_put(lpo_doc_put_record(to, "clock"), LPO_KV("offset_ns", g->clock_ns),
                LPO_KV("found_ns", g->clock_found_ns), LPO_KV("correlation", g->clock_fit),
                LPO_KV("sure", g->clock_sure));
}

/* Only where it changed: `interval_ns` says the first. */
static void put_intervals(struct lpo_record *to, const struct lpo_sampled_gpu *g)
{
    struct lpo_record *list;

    if (g->intervals.len < 2)
        return;
    list = lpo_doc_put_list(to, "intervals");
    for (size_t i = 0; i < g->intervals.len; i++)
        lpo_doc_put(lpo_doc_put_record(list, NULL), LPO_KV("from_ns", g->intervals.at[i].from_ns),
                    LPO_KV("interval_ns", g->intervals.at[i].interval_ns),
                    LPO_KV("samples", g->intervals.at[i].samples));
}

static void put_sampler(struct lpo_record *to, const struct lpo_sampled_gpu *g)
{
    if (g->sampler_cpu_ns < 0 || g->sampler_wall_ns <= 0)
        return;
    lpo_doc_put(lpo_doc_put_record(to, "sampler"), LPO_KV("cpu_ns", g->sampler_cpu_ns),
                LPO_KV("wall_ns", g->sampler_wall_ns),
                LPO_KV("core_share", (double)g->sampler_cpu_ns / (double)g->sampler_wall_ns));
}

static void put_spread(struct lpo_record *to, const char *name, const struct lpo_call_spread *s,
                       enum lpo_call_figure f)
{
    lpo_doc_put(lpo_doc_put_record(to, name), LPO_KV("first", s->first[f]),
                LPO_KV("min", s->least[f]), LPO_KV("median", s->median[f]),
                LPO_KV("max", s->most[f]));
}

/* Regions with a call that has figures, in the order of the tree. */
static void put_calls(struct lpo_record *to, const struct lpo_analysis *a,
                      const struct lpo_sampled_gpu *g)
{
    static const char *const names[LPO_CALL_FIGURES] = { "dram_bytes", "dram_rate", "tensor_active",
                                                         "sm_active" };
    size_t rows = 0;

    for (uint32_t n = 0; n < a->tree->nodes.len && rows < MOST_CALLS; n++) {
        struct lpo_call_spread s = lpo_counters_call_spread(g, &n, 1);
        struct lpo_record *r;
        LPO_STR path = { 0 };

        if (!s.counted)
            continue;
        rows++;
        r = lpo_doc_put_record(to, NULL);
        lpo_region_add_path(a->tree, n, &path);
        lpo_doc_put(r, LPO_KV("path", path.at), LPO_KV("calls", s.calls),
                    LPO_KV("calls_with_figures", s.counted),
                    LPO_KV("gpu_ns", lpo_jv_whole(lpo_measure_computed(s.gpu_ns))),
                    LPO_KV("border_ns", lpo_jv_whole(lpo_measure_computed(s.border_ns))));
        for (int f = 0; f < LPO_CALL_FIGURES; f++)
            put_spread(r, names[f], &s, (enum lpo_call_figure)f);
    }
}

static void put_gpu(struct lpo_record *to, const struct lpo_analysis *a,
                    const struct lpo_sampled_gpu *g)
{
    struct lpo_record *r = lpo_doc_put_record(to, NULL), *metrics;
    struct lpo_rows kernels;

    lpo_doc_put(
        r, LPO_KV("scope", lpo_report_device_scope(r->arena, &a->trace->devices.at[g->device])),
        LPO_KV("chip", g->chip),
        LPO_KV("interval_ns", lpo_jv_int_if(g->interval_ns > 0, g->interval_ns)));
    put_intervals(r, g);
    put_sampler(r, g);
    lpo_doc_put(r, LPO_KV("samples", g->samples), LPO_KV("samples_busy", g->busy),
                LPO_KV("samples_lost", g->lost), LPO_KV("lost_ns", g->lost_ns),
                LPO_KV("gpu_ns", g->gpu_ns), LPO_KV("covered_ns", g->covered_ns),
                LPO_KV("others_share", lpo_counters_others_share(g)),
                LPO_KV("others_without_sms_share", lpo_counters_quiet_share(g)));
    put_clock(r, g);
    metrics = lpo_doc_put_list(r, "metrics");
    for (size_t i = 0; i < g->nmetrics; i++)
        put_metric(metrics, g, &g->metrics[i]);
    kernels = config_rows(r->arena, a, g);
    kernels.count = kernels.count < MOST_KERNELS ? kernels.count : MOST_KERNELS;
    lpo_doc_put_rows_and(r, "kernels", &kernels, "name grid? block? bytes? launches gpu_ns",
                         put_values);
    if (g->configs.len > MOST_KERNELS)
        lpo_doc_put(r, LPO_KV("kernels_left_out", g->configs.len - MOST_KERNELS));
    put_calls(lpo_doc_put_list(r, "calls"), a, g);
}

void lpo_report_put_counters(struct lpo_record *to, const struct lpo_analysis *a)
{
    struct lpo_record *r, *gpus;

    if (!a->sampled)
        return;
    r = lpo_doc_put_record(to, "counters");
    gpus = lpo_doc_put_list(r, "gpus");
    for (size_t i = 0; i < a->sampled->gpus.len; i++)
        put_gpu(gpus, a, &a->sampled->gpus.at[i]);
}
