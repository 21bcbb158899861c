/* SPDX-License-Identifier: Apache-2.0 */
/* lpo ctl DIR status --prometheus: one line for each figure, as Prometheus and node_exporter's text
 * files have them. */
#include "cli/ctl.h"

#include "analysis/analysis.h"
#include "analysis/run.h"
#include "analysis/steps/steps.h"
#include "analysis/wall/wall.h"
#include "cli/app.h"
#include "cli/trace_options.h"
#include "run/control.h"
#include "trace/trace.h"
#include "util/err.h"
#include "util/str.h"

static void begin(struct lpo_str *out, const char *name, const char *type, const char *help)
{
    lpo_str_addf(out, "# HELP lpo_%s %s\n# TYPE lpo_%s %s\n", name, help, name, type);
}

static uint64_t recording(const struct lpo_control_answer *p)
{
    return p->recording;
}

static uint64_t windows(const struct lpo_control_answer *p)
{
    return p->windows;
}

static uint64_t seen(const struct lpo_control_answer *p)
{
    return p->seen;
}

static uint64_t recorded(const struct lpo_control_answer *p)
{
    return p->recorded;
}

static const struct {
    const char *name, *type, *help;
    uint64_t (*get)(const struct lpo_control_answer *p);
} figures[] = {
    { "recording", "gauge", "1 while the process records", recording },
    { "windows_total", "counter", "windows that were recorded before", windows },
    { "calls_seen_total", "counter", "calls of the range that windows are made of", seen },
    { "calls_recorded_total", "counter", "of them, those that were recorded", recorded },
};

static void add_answers(struct lpo_str *out, const struct lpo_control_answers *answers)
{
    for (size_t f = 0; f < sizeof figures / sizeof *figures; f++) {
        begin(out, figures[f].name, figures[f].type, figures[f].help);
        for (size_t i = 0; i < answers->len; i++)
            if (answers->at[i].pid >= 0)
                lpo_str_addf(out, "lpo_%s{pid=\"%lld\"} %llu\n", figures[f].name,
                             (long long)answers->at[i].pid,
                             (unsigned long long)figures[f].get(&answers->at[i]));
    }
}

/* The median step of the group with most time; nothing where the program names no steps. */
static void add_steps(struct lpo_str *out, const struct lpo_program_steps *s)
{
    if (!s || !s->groups.len)
        return;
    begin(out, "steps_total", "counter", "steps in the traces");
    lpo_str_addf(out, "lpo_steps_total %zu\n", s->rows.len);
    begin(out, "step_seconds", "gauge", "median wall time of a step");
    lpo_str_addf(out, "lpo_step_seconds %.9g\n", (double)s->groups.at[0].wall_ns / 1e9);
    begin(out, "step_seconds_max", "gauge", "longest of these steps");
    lpo_str_addf(out, "lpo_step_seconds_max %.9g\n", (double)s->groups.at[0].max_ns / 1e9);
}

static void add_trace(struct lpo_str *out, const struct lpo_analysis *a)
{
    const struct lpo_wall *wall = lpo_analysis_wall(a);

    begin(out, "lost_records_total", "counter", "records that the collector had no room for");
    lpo_str_addf(out, "lpo_lost_records_total %llu\n", (unsigned long long)a->trace->dropped);
    add_steps(out, lpo_analysis_steps(a));
    if (!wall || !wall->devices.len)
        return;
    begin(out, "gpu_busy_ratio", "gauge", "part of the recorded span in which the GPU worked");
    for (size_t i = 0; i < wall->devices.len; i++) {
        const struct lpo_wall_device *d = &wall->devices.at[i];

        if (d->span_ns > 0)
            lpo_str_addf(out, "lpo_gpu_busy_ratio{device=\"%u\"} %.6g\n",
                         a->trace->devices.at[d->device].id,
                         1 - (double)d->idle_ns / (double)d->span_ns);
    }
}

void lpo_cli_ctl_metrics(struct lpo_app *app, const char *dir,
                         const struct lpo_control_answers *answers, struct lpo_str *out)
{
    const char *words[] = { dir, NULL };
    const struct lpo_args args = { .words = words, .nwords = 1 };
    LPO_AUTO(lpo_analysis_run) run = NULL;
    struct lpo_err ignored = { 0 }; /* nothing was written yet */
    const struct lpo_analysis *a = NULL;

    add_answers(out, answers);
    if (lpo_cli_traces_open(app, &args, LPO_SKIP_OPS | LPO_SKIP_CALLS, NULL, &run, &ignored) == 0)
        a = lpo_analysis_run_main(run);
    if (a)
        add_trace(out, a);
}
