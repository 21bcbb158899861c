/* SPDX-License-Identifier: Apache-2.0 */
/* Speed with its spread, whether repeats agree, what profilers added, peak memory. */

#include "analysis/speed/variation.h"
#include "report/chapters/chapters.h"
#include "report/doc/doc.h"
#include "report/what_ran.h"
#include "rundir/rundir.h"
#include "util/json.h"
#include "util/units.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const struct figure {
    const char *key, *title;
} times[] = {
    { "prefill_ms", "Prefill" },
    { "ttft_ms", "First token" },
    { "inter_token_ms", "Between tokens" },
    { "decode_ms", "Decode" },
    { "total_ms", "Total" },
};

enum { LEAST_FOR_P90 = 10, LEAST_FOR_P99 = 100 }; /* of fewer values it is the largest one */

/* What figure_row() asks the aggregate for, in the order of the columns, and of how many values it
 * can be said. */
static const struct {
    const char *key;
    int least;
} spread[] = {
    { "mean", 1 }, { "std", 2 }, { "p50", 1 }, { "p90", LEAST_FOR_P90 }, { "p99", LEAST_FOR_P99 },
};

static const struct lpo_column time_columns[] = {
    { "stage", "Stage", LPO_CELL_TEXT, NULL },   { "figure", "Figure", LPO_CELL_TEXT, NULL },
    { "count", "Values", LPO_CELL_COUNT, NULL }, { "mean_ns", "Mean", LPO_CELL_NS, NULL },
    { "std_ns", "Std", LPO_CELL_NS, NULL },      { "p50_ns", "p50", LPO_CELL_NS, NULL },
    { "p90_ns", "p90", LPO_CELL_NS, NULL },      { "p99_ns", "p99", LPO_CELL_NS, NULL },
};

static const struct lpo_column rate_columns[] = {
    { "stage", "Stage", LPO_CELL_TEXT, NULL },   { "figure", "Figure", LPO_CELL_TEXT, NULL },
    { "count", "Values", LPO_CELL_COUNT, NULL }, { "mean", "Mean", LPO_CELL_MEASURE, "/s" },
    { "std", "Std", LPO_CELL_MEASURE, "/s" },    { "p50", "p50", LPO_CELL_MEASURE, "/s" },
    { "p90", "p90", LPO_CELL_MEASURE, "/s" },    { "p99", "p99", LPO_CELL_MEASURE, "/s" },
};

/* Beyond 2^53 no figure of a run is exact, nor is it one. */
static struct lpo_measure known(double v)
{
    return isfinite(v) && fabs(v) < 0x1p53 ? lpo_measure_measured(v) : lpo_measure_unknown();
}

/* aggregate.<figure>.<what> of a metrics.json, times `scale`. */
static struct lpo_measure figure_of(const struct lpo_json *metrics, const char *figure,
                                    const char *what, double scale)
{
    const struct lpo_json *row = lpo_json_get(lpo_json_get(metrics, "aggregate"), figure);
    double v = lpo_json_real(lpo_json_get(row, what), NAN);

    return known(v * scale);
}

static void figure_row(struct lpo_table *t, const struct lpo_speed *s, const struct figure *f,
                       double scale)
{
    struct lpo_measure count = figure_of(s->metrics, f->key, "count", 1);

    if (!lpo_measure_known(figure_of(s->metrics, f->key, "mean", 1)))
        return; /* a model that does not generate has no decode */
    lpo_doc_row(t, s->stage, f->title, count);
    for (size_t i = 0; i < COUNT(spread); i++)
        lpo_doc_row(t, !lpo_measure_known(count) || count.value >= spread[i].least
                           ? figure_of(s->metrics, f->key, spread[i].key, scale)
                           : lpo_measure_unknown());
}

static const struct lpo_column median_columns[] = {
    { "stage", "Stage", LPO_CELL_TEXT, NULL },
    { "prefill_ns", "Prefill", LPO_CELL_NS, NULL },
    { "ttft_ns", "First token", LPO_CELL_NS, NULL },
    { "inter_token_ns", "Between tokens", LPO_CELL_NS, NULL },
    { "total_ns", "Total", LPO_CELL_NS, NULL },
    { "tokens_per_s", "Tokens/s", LPO_CELL_MEASURE, "/s" },
    { "repeats", "Repeats", LPO_CELL_COUNT, NULL },
};

static void median_table(struct lpo_doc *doc, const struct lpo_rundir *d)
{
    struct lpo_table *t = NULL;

    for (size_t i = 0; i < d->speeds.len; i++) {
        const struct lpo_json *m = d->speeds.at[i].metrics;

        if (!lpo_json_get(m, "aggregate"))
            continue;
        if (!t)
            t = lpo_doc_table(doc, "speed", "Medians over repeats", median_columns,
                              COUNT(median_columns));
        lpo_doc_row(t, d->speeds.at[i].stage, figure_of(m, "prefill_ms", "p50", 1e6),
                    figure_of(m, "ttft_ms", "p50", 1e6), figure_of(m, "inter_token_ms", "p50", 1e6),
                    figure_of(m, "total_ms", "p50", 1e6), figure_of(m, "tokens_per_s", "p50", 1),
                    (uint64_t)lpo_json_int(lpo_json_at(m, "aggregate.total_ms.count"), 0));
    }
}

static void spread_tables(struct lpo_doc *doc, const struct lpo_rundir *d)
{
    static const struct figure rate = { "tokens_per_s", "Tokens/s" };
    struct lpo_table *t =
        lpo_doc_table(doc, "speed_times", "Times over repeats", time_columns, COUNT(time_columns));
    t->detail = true;

    for (size_t i = 0; i < d->speeds.len; i++)
        for (size_t k = 0; k < COUNT(times); k++)
            figure_row(t, &d->speeds.at[i], &times[k], 1e6);
    t = lpo_doc_table(doc, "speed_rates", "Tokens per second over repeats", rate_columns,
                      COUNT(rate_columns));
    t->detail = true;
    for (size_t i = 0; i < d->speeds.len; i++)
        figure_row(t, &d->speeds.at[i], &rate, 1);
}

static void stability(struct lpo_doc *doc, const struct lpo_rundir *d)
{
    double most = d->max_cv;
    struct lpo_variation worst = lpo_speed_run_variation(d);

    if (!worst.repeats) {
        lpo_doc_fact(doc, "stable", "Stable", TEXT, lpo_cell_unknown());
        lpo_doc_note(
            doc, LPO_NOTE_INFO,
            "Nothing was measured twice, so the spread is unknown: set run.repeats to 2 or more.");
        return;
    }
    lpo_doc_fact(doc, "stable", "Stable", TEXT, worst.cv > most ? "no" : "yes");
    lpo_doc_fact(doc, "variation_figure", "Figure that varies most", TEXT, worst.figure);
    lpo_doc_fact(doc, "variation_stage", "In stage", TEXT, worst.stage);
    lpo_doc_fact(doc, "variation", "Variation (std / mean)", MEASURE("%"),
                 lpo_measure_computed(worst.cv * 100));
    for (size_t i = 0; i < d->speeds.len; i++) {
        struct lpo_variation v =
            lpo_speed_variation(d->speeds.at[i].metrics, d->speeds.at[i].stage);

        if (v.repeats && v.cv > most)
            lpo_doc_note(doc, LPO_NOTE_WARNING,
                         "unstable: in stage %s, %s varies by %.1f %% (std / mean) between %zu "
                         "repeats of one sample; run.max_cv allows %.1f %%. More run.warmup and "
                         "run.repeats, or a quiet machine, may help.",
                         v.stage, v.figure, v.cv * 100, v.repeats, most * 100);
    }
}

static const struct lpo_column overhead_columns[] = {
    { "stage", "Stage", LPO_CELL_TEXT, NULL },
    { "prefill_ns", "Prefill", LPO_CELL_NS, NULL },
    { "prefill_ratio", "vs. direct", LPO_CELL_MEASURE, "x" },
    { "inter_token_ns", "Between tokens", LPO_CELL_NS, NULL },
    { "decode_ratio", "vs. direct", LPO_CELL_MEASURE, "x" },
    { "total_ns", "Total", LPO_CELL_NS, NULL },
};

static struct lpo_measure ratio(struct lpo_measure with, struct lpo_measure without)
{
    if (!lpo_measure_known(with) || !lpo_measure_known(without) || without.value <= 0)
        return lpo_measure_unknown();
    return lpo_measure_computed(with.value / without.value);
}

/* Of the stage that no profiler disturbs. */
static const struct lpo_json *undisturbed_metrics(const struct lpo_rundir *d)
{
    const char *stage = lpo_rundir_stage_with(d, LPO_ROLE_UNDISTURBED);

    for (size_t i = 0; i < d->speeds.len; i++)
        if (lpo_streq(d->speeds.at[i].stage, stage))
            return d->speeds.at[i].metrics;
    return NULL;
}

static bool is_noise(struct lpo_measure ratio, double cv)
{
    return !lpo_measure_known(ratio) || fabs(ratio.value - 1) <= cv;
}

/* Where the stage and the run without a profiler differ by no more than repeats of either do. */
static void note_noise(struct lpo_doc *doc, const struct lpo_speed *s,
                       const struct lpo_json *direct, struct lpo_measure prefill,
                       struct lpo_measure token)
{
    struct lpo_variation with = lpo_speed_variation(s->metrics, s->stage);
    struct lpo_variation without = lpo_speed_variation(direct, s->stage);
    double cv = with.cv > without.cv ? with.cv : without.cv;

    if ((with.repeats || without.repeats) &&
        (lpo_measure_known(prefill) || lpo_measure_known(token)) && is_noise(prefill, cv) &&
        is_noise(token, cv))
        lpo_doc_note(doc, LPO_NOTE_INFO,
                     "The overhead of %s is smaller than the difference between repeats (%.1f %%).",
                     s->stage, 100 * cv);
}

/* Tokens are compared one by one: a profiler's stage may have generated fewer. */
static void overhead_table(struct lpo_doc *doc, const struct lpo_rundir *d)
{
    const struct lpo_json *direct = undisturbed_metrics(d);
    struct lpo_table *t = NULL;

    for (size_t i = 0; i < d->speeds.len; i++) {
        const struct lpo_json *m = d->speeds.at[i].metrics;
        struct lpo_measure prefill = figure_of(m, "prefill_ms", "p50", 1e6);
        struct lpo_measure token = figure_of(m, "inter_token_ms", "p50", 1e6);
        /* a stage whose profiler recorded nothing is a second run without a profiler */
        const struct lpo_json *plain =
            lpo_report_why_stage_left_no_trace(d, d->speeds.at[i].stage) ? NULL : direct;
        struct lpo_measure slower[2];

        if (m == direct)
            continue;
        if (!t)
            t = lpo_doc_table(doc, "overhead", "Overhead of each profiler, medians",
                              overhead_columns, COUNT(overhead_columns));
        slower[0] = ratio(prefill, figure_of(plain, "prefill_ms", "p50", 1e6));
        slower[1] = ratio(token, figure_of(plain, "inter_token_ms", "p50", 1e6));
        lpo_doc_row(t, d->speeds.at[i].stage, prefill, slower[0], token, slower[1],
                    figure_of(m, "total_ms", "p50", 1e6));
        note_noise(doc, &d->speeds.at[i], direct, slower[0], slower[1]);
    }
    for (size_t i = 0; i < d->speeds.len; i++) {
        const char *why = lpo_report_why_stage_left_no_trace(d, d->speeds.at[i].stage);

        if (why)
            lpo_doc_note(doc, LPO_NOTE_INFO, "The overhead of %s is not known: %s.",
                         d->speeds.at[i].stage, why);
    }
    if (t && !direct)
        lpo_doc_note(doc, LPO_NOTE_INFO,
                     "There is no run without a profiler (pipeline.direct_inference.enable=true), "
                     "so the overhead is unknown.");
}

static const struct lpo_column memory_columns[] = {
    { "stage", "Stage", LPO_CELL_TEXT, NULL },
    { "peak_device_bytes", "GPU memory", LPO_CELL_BYTES, NULL },
    { "peak_host_bytes", "Host memory", LPO_CELL_BYTES, NULL },
    { "load_ns", "Loading took", LPO_CELL_NS, NULL },
};

static struct lpo_measure real_of(const struct lpo_json *m, const char *key, double scale)
{
    return known(lpo_json_real(lpo_json_get(m, key), NAN) * scale);
}

static void memory_table(struct lpo_doc *doc, const struct lpo_rundir *d)
{
    struct lpo_table *t = lpo_doc_table(doc, "peak_memory", "Peak memory of the workload",
                                        memory_columns, COUNT(memory_columns));

    for (size_t i = 0; i < d->speeds.len; i++) {
        const struct lpo_json *m = d->speeds.at[i].metrics;

        lpo_doc_row(t, d->speeds.at[i].stage, real_of(m, "peak_device_bytes", 1),
                    real_of(m, "peak_host_bytes", 1), real_of(m, "load_ms", 1e6));
    }
}

static void add_failures(struct lpo_doc *doc, const struct lpo_rundir *d)
{
    for (size_t i = 0; i < d->speeds.len; i++) {
        const struct lpo_json *f = lpo_json_get(d->speeds.at[i].metrics, "failures");

        if (f && f->kind == LPO_JSON_ARRAY && f->count)
            lpo_doc_note(doc, LPO_NOTE_WARNING,
                         "%zu samples failed in stage %s and are left out of every figure; see "
                         "'failures' in "
                         "workload/%s/metrics.json",
                         f->count, d->speeds.at[i].stage, d->speeds.at[i].stage);
    }
}

void lpo_report_chapter_speed(struct lpo_doc *doc, const struct lpo_rundir *d)
{
    if (!d->speeds.len)
        return;
    lpo_doc_section(doc, "numbers", "Speed", 1);
    lpo_doc_paragraph(
        doc, "As the workload measured itself (metrics.json of each stage under workload/), over "
             "its repeats; the time between tokens is over all steps of all repeats.");
    median_table(doc, d);
    stability(doc, d);
    spread_tables(doc, d);
    overhead_table(doc, d);
    memory_table(doc, d);
    add_failures(doc, d);
}

void lpo_report_summary_speed(struct lpo_doc *doc, const struct lpo_rundir *d)
{
    const struct lpo_json *m = undisturbed_metrics(d);
    struct lpo_measure p50 = figure_of(m, "inter_token_ms", "p50", 1);
    struct lpo_measure p99 = figure_of(m, "inter_token_ms", "p99", 1);
    struct lpo_measure values = figure_of(m, "inter_token_ms", "count", 1);
    struct lpo_variation worst = lpo_speed_run_variation(d);
    double bytes = lpo_json_real(lpo_json_get(m, "peak_device_bytes"), NAN);
    LPO_STR memory = { 0 };

    if (lpo_measure_known(p50) && lpo_measure_known(values) && values.value < LEAST_FOR_P99)
        lpo_doc_paragraph(doc, "Each further token took %.4g ms.", p50.value);
    else if (lpo_measure_known(p50) && lpo_measure_known(p99))
        lpo_doc_paragraph(doc, "Each further token took %.4g ms (p99: %.4g ms).", p50.value,
                          p99.value);
    if (bytes > 0) {
        lpo_units_add_bytes(&memory, bytes);
        lpo_doc_paragraph(doc, "It needed %s of GPU memory at its peak.", memory.at);
    }
    if (worst.repeats && worst.cv > d->max_cv)
        lpo_doc_note(doc, LPO_NOTE_WARNING,
                     "The measurement was not stable: the same work varied by %.0f %% between "
                     "repeats, so small differences on this page mean nothing.",
                     worst.cv * 100);
}
