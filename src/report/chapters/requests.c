/* SPDX-License-Identifier: Apache-2.0 */
/* The chapter "Requests": what the clients of a server measured, and how the server ran. */

#include "analysis/requests/requests.h"
#include "report/chapters/chapters.h"
#include "report/doc/doc.h"
#include "rundir/rundir.h"
#include "util/json.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const struct lpo_column load_columns[] = {
    { "stage", "Stage", LPO_CELL_TEXT, NULL },
    { "client", "Client", LPO_CELL_TEXT, NULL, 2 },
    { "completed", "Requests", LPO_CELL_COUNT, NULL },
    { "failed", "Failed", LPO_CELL_COUNT, NULL },
    { "requests_per_s", "Requests/s", LPO_CELL_MEASURE, "/s" },
    { "output_tokens_per_s", "Output tokens/s", LPO_CELL_MEASURE, "/s" },
    { "output_ratio", "vs. direct", LPO_CELL_MEASURE, "x" },
    { "ttft_p50_ns", "First token, median", LPO_CELL_NS, NULL },
    { "tpot_p50_ns", "Each further token, median", LPO_CELL_NS, NULL, 1 },
    { "e2e_p50_ns", "Whole request, median", LPO_CELL_NS, NULL, 1 },
};

static const struct lpo_column time_columns[] = {
    { "stage", "Stage", LPO_CELL_TEXT, NULL },      { "figure", "Figure", LPO_CELL_TEXT, NULL },
    { "count", "Values", LPO_CELL_COUNT, NULL, 2 }, { "mean_ns", "Mean", LPO_CELL_NS, NULL },
    { "std_ns", "Std", LPO_CELL_NS, NULL, 2 },      { "min_ns", "Min", LPO_CELL_NS, NULL, 3 },
    { "p50_ns", "p50", LPO_CELL_NS, NULL },         { "p90_ns", "p90", LPO_CELL_NS, NULL },
    { "p95_ns", "p95", LPO_CELL_NS, NULL, 1 },      { "p99_ns", "p99", LPO_CELL_NS, NULL },
    { "max_ns", "Max", LPO_CELL_NS, NULL, 3 },
};

static const struct lpo_column phase_columns[] = {
    { "stage", "Stage", LPO_CELL_TEXT, NULL },
    { "ready_ns", "Ready after", LPO_CELL_NS, NULL },
    { "warmup_ns", "Warm-up", LPO_CELL_NS, NULL },
    { "load_ns", "Load", LPO_CELL_NS, NULL },
    { "window_ns", "Recorded", LPO_CELL_NS, NULL },
    { "processes", "Processes recorded", LPO_CELL_COUNT, NULL },
    { "stop_ns", "Ended in", LPO_CELL_NS, NULL, 1 },
    { "server_end", "Server", LPO_CELL_TEXT, NULL },
};

static const char *const titles[LPO_REQUESTS_TIMES] = {
    "First token (TTFT)", "Between tokens (ITL)", "Each further token (TPOT)", "Whole request"
};

static struct lpo_measure ms_at(const struct lpo_json *server, const char *path, double scale)
{
    double v = lpo_json_real(lpo_json_at(server, path), NAN) * scale;

    return isfinite(v) && fabs(v) < 0x1p53 ? lpo_measure_measured(v) : lpo_measure_unknown();
}

/* Of the two ends, whose digits are more than a double holds. */
static struct lpo_measure window_ns(const struct lpo_json *server)
{
    int64_t from = lpo_json_int(lpo_json_at(server, "window.from_unix_ns"), 0);
    int64_t to = lpo_json_int(lpo_json_at(server, "window.to_unix_ns"), 0);

    if (from <= 0 || to < from)
        return lpo_measure_unknown();
    return lpo_measure_measured((double)(to - from));
}

static void phase_table(struct lpo_doc *doc, const struct lpo_rundir *d)
{
    struct lpo_table *t =
        lpo_doc_table(doc, "server", "The server", phase_columns, COUNT(phase_columns));

    for (size_t i = 0; i < d->served.len; i++) {
        const struct lpo_json *s = d->served.at[i].server;
        bool recorded =
            lpo_measure_known(ms_at(s, "window.processes", 1)); /* no collector: no window */

        lpo_doc_row(t, d->served.at[i].stage, ms_at(s, "ready_ms", 1e6), ms_at(s, "warmup_ms", 1e6),
                    ms_at(s, "load_ms", 1e6), recorded ? window_ns(s) : lpo_measure_unknown(),
                    ms_at(s, "window.processes", 1), ms_at(s, "stop_ms", 1e6),
                    lpo_json_text(lpo_json_get(s, "server_end"), "n/a"));
    }
}

/* Of the stage that no profiler disturbs; NULL: none was asked for. */
static const struct lpo_requests *undisturbed(const struct lpo_rundir *d,
                                              const struct lpo_requests *all, const bool *known)
{
    const char *stage = lpo_rundir_stage_with(d, LPO_ROLE_UNDISTURBED);

    return lpo_find(i, all, d->served.len, known[i] && lpo_streq(d->served.at[i].stage, stage));
}

static struct lpo_measure ratio(struct lpo_measure with, const struct lpo_requests *direct)
{
    struct lpo_measure without =
        direct ? direct->figures[LPO_REQUESTS_OUTPUT_RATE] : lpo_measure_unknown();

    if (!lpo_measure_known(with) || !lpo_measure_known(without) || without.value <= 0)
        return lpo_measure_unknown();
    return lpo_measure_computed(with.value / without.value);
}

static void load_row(struct lpo_table *t, const char *stage, const struct lpo_requests *r,
                     const struct lpo_requests *direct)
{
    lpo_doc_row(
        t, stage, r->client, r->figures[LPO_REQUESTS_COMPLETED], r->figures[LPO_REQUESTS_FAILED],
        r->figures[LPO_REQUESTS_RATE], r->figures[LPO_REQUESTS_OUTPUT_RATE],
        r == direct ? lpo_measure_unknown() : ratio(r->figures[LPO_REQUESTS_OUTPUT_RATE], direct),
        r->times[LPO_REQUESTS_TTFT][LPO_REQUESTS_P50],
        r->times[LPO_REQUESTS_TPOT][LPO_REQUESTS_P50],
        r->times[LPO_REQUESTS_E2E][LPO_REQUESTS_P50]);
}

/* Of fewer values than these the percentile is the largest of them. How many there were, a client
 * may not say: of times of requests there are as many as requests. */
static bool can_be_said(const struct lpo_requests *r, int time, int stat)
{
    static const int least[LPO_REQUESTS_STATS] = {
        [LPO_REQUESTS_P90] = 10, [LPO_REQUESTS_P95] = 20, [LPO_REQUESTS_P99] = 100
    };
    struct lpo_measure count = r->times[time][LPO_REQUESTS_COUNT];

    if (!lpo_measure_known(count) && time != LPO_REQUESTS_ITL)
        count = r->figures[LPO_REQUESTS_COMPLETED];
    return !lpo_measure_known(count) || count.value >= least[stat];
}

static void time_rows(struct lpo_table *t, const char *stage, const struct lpo_requests *r)
{
    for (int k = 0; k < LPO_REQUESTS_TIMES; k++) {
        if (!lpo_measure_known(r->times[k][LPO_REQUESTS_MEAN]) &&
            !lpo_measure_known(r->times[k][LPO_REQUESTS_P50]))
            continue; /* this client does not measure it */
        lpo_doc_row(t, stage, titles[k]);
        for (int s = 0; s < LPO_REQUESTS_STATS; s++)
            lpo_doc_row(t, can_be_said(r, k, s) ? r->times[k][s] : lpo_measure_unknown());
    }
}

static bool is_count(int figure)
{
    return figure == LPO_REQUESTS_COMPLETED || figure == LPO_REQUESTS_FAILED ||
           figure == LPO_REQUESTS_INPUT_TOKENS || figure == LPO_REQUESTS_OUTPUT_TOKENS;
}

static void put(struct lpo_doc *doc, struct lpo_record *list, const struct lpo_served *served,
                const struct lpo_requests *r)
{
    struct lpo_record *to = lpo_doc_put_record(list, NULL);

    lpo_doc_put(to, LPO_KV("stage", served->stage), LPO_KV("client", r->client));
    for (int f = 0; f < LPO_REQUESTS_FIGURES; f++)
        lpo_doc_put(to, LPO_KV(lpo_requests_figure_name(f), is_count(f)
                                                                ? lpo_jv_whole(r->figures[f])
                                                                : lpo_jv_measure(r->figures[f])));
    for (int t = 0; t < LPO_REQUESTS_TIMES; t++) {
        struct lpo_record *spread = lpo_doc_put_record(to, lpo_requests_time_name(t));

        for (int s = 0; s < LPO_REQUESTS_STATS; s++)
            lpo_doc_put(spread, LPO_KV(s == LPO_REQUESTS_COUNT
                                           ? "count"
                                           : lpo_arena_printf(doc->arena, "%s_ns",
                                                              lpo_requests_stat_name(s)),
                                       lpo_jv_whole(r->times[t][s])));
    }
}

static void note_failures(struct lpo_doc *doc, const struct lpo_rundir *d,
                          const struct lpo_requests *all, const bool *known)
{
    for (size_t i = 0; i < d->served.len; i++) {
        struct lpo_measure failed =
            known[i] ? all[i].figures[LPO_REQUESTS_FAILED] : lpo_measure_unknown();

        if (lpo_measure_known(failed) && failed.value > 0)
            lpo_doc_note(doc, LPO_NOTE_WARNING,
                         "%.0f requests failed in stage %s; all times leave them out.",
                         failed.value, d->served.at[i].stage);
        if (d->served.at[i].client && !known[i])
            lpo_doc_note(doc, LPO_NOTE_WARNING,
                         "The client's JSON of stage %s is of a kind that lpo does not know: its "
                         "figures are not shown.",
                         d->served.at[i].stage);
    }
}

/* All stages, each with whether its client's JSON is known; false where none is. */
static bool read_all(const struct lpo_rundir *d, struct lpo_requests **all, bool **known)
{
    bool any = false;

    *all = lpo_arena_array(d->arena, d->served.len + 1, sizeof **all);
    *known = lpo_arena_array(d->arena, d->served.len + 1, sizeof **known);
    for (size_t i = 0; i < d->served.len; i++) {
        const struct lpo_json *client = d->served.at[i].client;

        (*known)[i] = client && lpo_requests_read(client, &(*all)[i]);
        any |= (*known)[i];
    }
    return any;
}

static void load_table(struct lpo_doc *doc, const struct lpo_rundir *d,
                       const struct lpo_requests *all, const bool *known)
{
    const struct lpo_requests *direct = undisturbed(d, all, known);
    struct lpo_table *t = lpo_doc_table(doc, "requests", "", load_columns, COUNT(load_columns));

    for (size_t i = 0; i < d->served.len; i++)
        if (known[i])
            load_row(t, d->served.at[i].stage, &all[i], direct);
}

bool lpo_report_add_requests(struct lpo_doc *doc, const struct lpo_rundir *d, const char *title)
{
    struct lpo_requests *all;
    bool *known;

    if (!d->served.len || !read_all(d, &all, &known))
        return false;
    lpo_doc_section(doc, "requests", title, 1);
    load_table(doc, d, all, known);
    return true;
}

void lpo_report_chapter_requests(struct lpo_doc *doc, const struct lpo_rundir *d)
{
    struct lpo_requests *all;
    bool *known, any;

    if (!d->served.len)
        return;
    any = read_all(d, &all, &known);
    lpo_doc_section(doc, "requests", "Requests", 1);
    lpo_doc_paragraph(doc, "As the client saw them from outside, while the server was under load. "
                           "The regions below are what the server did in that time.");
    if (any) {
        struct lpo_record *list = lpo_doc_put_list(doc->data, "requests");
        struct lpo_table *times;

        load_table(doc, d, all, known);
        times = lpo_doc_table(doc, "request_times", "Times of requests", time_columns,
                              COUNT(time_columns));
        for (size_t i = 0; i < d->served.len; i++) {
            if (!known[i])
                continue;
            time_rows(times, d->served.at[i].stage, &all[i]);
            put(doc, list, &d->served.at[i], &all[i]);
        }
    }
    phase_table(doc, d);
    note_failures(doc, d, all, known);
}

void lpo_report_summary_requests(struct lpo_doc *doc, const struct lpo_rundir *d)
{
    const char *stage = lpo_rundir_stage_with(d, LPO_ROLE_UNDISTURBED);
    const struct lpo_served *best = NULL;
    struct lpo_requests r;
    struct lpo_measure first, rate;

    for (size_t i = 0; i < d->served.len; i++)
        if (d->served.at[i].client && (!best || lpo_streq(d->served.at[i].stage, stage)))
            best = &d->served.at[i];
    if (!best || !lpo_requests_read(best->client, &r))
        return;
    first = r.times[LPO_REQUESTS_TTFT][LPO_REQUESTS_P50];
    rate = r.figures[LPO_REQUESTS_OUTPUT_RATE];
    if (lpo_measure_known(rate) && lpo_measure_known(first))
        lpo_doc_paragraph(doc,
                          "Under load: %.4g tokens/s, median time to first token (TTFT) %.4g ms.",
                          rate.value, first.value / 1e6);
}
