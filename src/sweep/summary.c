/* SPDX-License-Identifier: Apache-2.0 */
#include "sweep/summary.h"

#include <stdbool.h>
#include <string.h>

#include "report/doc/doc.h"
#include "run/secrets/secrets.h"
#include "sweep/plan.h"
#include "util/arena.h"
#include "util/file.h"
#include "util/json_write.h"
#include "util/path.h"
#include "util/str.h"
#include "writer/writer.h"

static const char *state_of(const struct lpo_sweep_result *r)
{
    if (r->state != LPO_SWEEP_ENDED)
        return lpo_sweep_result_word(r);
    return r->error ? "failed" : "ran";
}

int lpo_sweep_summary_save(const struct lpo_sweep_plan *p, const struct lpo_sweep_result *results,
                           struct lpo_err *err)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    LPO_STR out = { 0 };
    struct lpo_json_writer w = lpo_json_writer(&out, 2);

    lpo_jw_object(&w, NULL);
    lpo_jw_text(&w, "schema", LPO_SWEEP_SUMMARY_SCHEMA);
    lpo_jw_array(&w, "jobs");
    for (size_t i = 0; i < p->count; i++) {
        const struct lpo_sweep_result *r = &results[i];

        lpo_jw_object(&w, NULL);
        lpo_jw_int(&w, "num", p->jobs[i].num);
        lpo_jw_array(&w, "overrides");
        for (size_t k = 0; k < p->jobs[i].shown; k++)
            lpo_jw_text(&w, NULL, lpo_secrets_mask_override(a, p->jobs[i].words[k]));
        lpo_jw_end(&w);
        lpo_jw_text(&w, "state", state_of(r));
        lpo_jw_text(&w, "error", r->error);
        lpo_jw_text(&w, "run_dir", r->run_dir);
        if (r->state == LPO_SWEEP_ENDED && !r->error)
            lpo_jw_int(&w, "exit_code", r->exit_code);
        else
            lpo_jw_null(&w, "exit_code");
        lpo_jw_text(&w, "host", r->host);
        lpo_jw_end(&w);
    }
    lpo_jw_end(&w);
    lpo_jw_end(&w);
    if (lpo_file_make_dirs(p->dir, err) < 0)
        return -1;
    return lpo_file_write(lpo_path_join(a, p->dir, "multirun.json"), out.at, out.len, err);
}

static const struct lpo_column columns[] = {
    { "job", "Job", LPO_CELL_COUNT, NULL },
    { "state", "State", LPO_CELL_TEXT, NULL },
    { "wall_ns", "Duration", LPO_CELL_NS, NULL },
    { "total_ns", "Workload", LPO_CELL_NS, NULL },
    { "tokens_per_s", "Tokens/s", LPO_CELL_MEASURE, "/s" },
    { "gpu_ns", "GPU time", LPO_CELL_NS, NULL },
    { "overrides", "Swept", LPO_CELL_TEXT, NULL },
};

/* What is the same in every job is no news. */
static bool is_swept(const struct lpo_sweep_plan *p, const struct lpo_sweep_plan_job *job, size_t k)
{
    for (size_t i = 0; i < p->count; i++)
        if (k >= p->jobs[i].shown || strcmp(p->jobs[i].words[k], job->words[k]) != 0)
            return true;
    return false;
}

static void add_job(struct lpo_arena *a, struct lpo_table *t, const struct lpo_sweep_plan *p,
                    const struct lpo_sweep_plan_job *job, const struct lpo_sweep_result *r)
{
    LPO_STR overrides = { 0 };

    for (size_t k = 0; k < job->shown; k++)
        if (is_swept(p, job, k))
            lpo_str_addf(&overrides, "%s%s", overrides.len ? " " : "",
                         lpo_secrets_mask_override(a, job->words[k]));
    lpo_doc_row_count(t, (uint64_t)job->num);
    lpo_doc_row_text(t, lpo_sweep_result_word(r));
    lpo_doc_row_measure(t, r->wall_ns > 0 ? lpo_measure_measured((double)r->wall_ns)
                                          : lpo_measure_unknown());
    lpo_doc_row_measure(t, lpo_measure_known(r->total_ms)
                               ? lpo_measure_measured(r->total_ms.value * 1e6)
                               : lpo_measure_unknown());
    lpo_doc_row_measure(t, r->tokens_s);
    lpo_doc_row_measure(t, r->gpu_ns);
    lpo_doc_row_textn(t, lpo_str_text(&overrides), overrides.len);
}

void lpo_sweep_summary_add_table(const struct lpo_sweep_plan *p,
                                 const struct lpo_sweep_result *results, struct lpo_str *out)
{
    LPO_AUTO(lpo_doc) doc = lpo_doc_create("sweep", "Sweep");
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_table *t;

    lpo_doc_section(doc, "jobs", "jobs of the sweep", 1);
    t = lpo_doc_table(doc, "jobs", "", columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < p->count; i++)
        add_job(a, t, p, &p->jobs[i], &results[i]);
    lpo_writer_text.write(doc, out);
}
