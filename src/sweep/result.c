/* SPDX-License-Identifier: Apache-2.0 */
/* What became of each job. */
#include <sys/stat.h>

#include "report/doc/doc.h"
#include "run/secrets/secrets.h"
#include "sweep/launcher.h"
#include "sweep/plan.h"
#include "util/file.h"
#include "util/json.h"
#include "util/path.h"
#include "util/units.h"
#include "writer/writer.h"

static const char *const states[] = {
    [LPO_SWEEP_PENDING] = "pending",
    [LPO_SWEEP_RUNNING] = "running",
    [LPO_SWEEP_ENDED] = "ended",
    [LPO_SWEEP_LOST] = "lost",
};

enum { STATES = sizeof states / sizeof *states, MOST_BYTES = 1 << 20, LOST_CODE = 1 };

const char *lpo_sweep_result_word(const struct lpo_sweep_result *r)
{
    static const struct {
        int code;
        const char *word;
    } words[] = { { 0, "done" }, { 3, "missing" }, { 130, "interrupted" } };

    if (r->state != LPO_SWEEP_ENDED)
        return states[r->state];
    for (size_t i = 0; !r->error && i < sizeof words / sizeof *words; i++)
        if (words[i].code == r->exit_code)
            return words[i].word;
    return "failed";
}

bool lpo_sweep_result_open(const struct lpo_sweep_result *r)
{
    return r->state != LPO_SWEEP_ENDED || r->error || r->exit_code != 0;
}

int lpo_sweep_result_worst(const struct lpo_sweep_result *results, size_t count)
{
    int worst = 0;

    for (size_t i = 0; i < count; i++) {
        int code = results[i].state == LPO_SWEEP_ENDED  ? results[i].exit_code
                   : results[i].state == LPO_SWEEP_LOST ? LOST_CODE
                                                        : 0;

        worst = code > worst ? code : worst;
    }
    return worst;
}

static const char *file_of(struct lpo_arena *a, const struct lpo_sweep_plan *p, size_t job)
{
    return lpo_arena_printf(a, "%s/%s/%" PRId64 ".json", p->dir, LPO_SWEEP_FOLDER,
                            p->jobs[job].num);
}

int lpo_sweep_result_save(const struct lpo_sweep_plan *p, size_t job,
                          const struct lpo_sweep_result *r, struct lpo_err *err)
{
    LPO_STR out = { 0 };
    struct lpo_json_writer w = lpo_json_writer(&out, 1);

    lpo_jw_record(&w, NULL, LPO_KV("schema", "lpo.sweep-job/1"), LPO_KV("state", states[r->state]),
                  LPO_KV("exit_code", r->exit_code), LPO_KV("error", r->error),
                  LPO_KV("run_dir", r->run_dir), LPO_KV("host", r->host),
                  LPO_KV("wall_ns", r->wall_ns), LPO_KV("total_ms", r->total_ms),
                  LPO_KV("tokens_per_s", r->tokens_s), LPO_KV("gpu_ns", r->gpu_ns));
    return lpo_file_write(file_of(p->arena, p, job), lpo_str_text(&out), out.len, err);
}

static struct lpo_measure measure_at(const struct lpo_json *v, const char *key)
{
    double n = lpo_json_real(lpo_json_get(v, key), NAN);

    return isfinite(n) && n >= 0 ? lpo_measure_measured(n) : lpo_measure_unknown();
}

static const char *text_at(struct lpo_arena *a, const struct lpo_json *v, const char *key)
{
    const char *text = lpo_json_text(lpo_json_get(v, key), NULL);

    return text ? lpo_arena_strdup(a, text) : NULL;
}

int64_t lpo_sweep_result_stamp(const struct lpo_sweep_plan *p, size_t job)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct stat st;

    if (!lpo_path_stat(file_of(a, p, job), &st))
        return 0;
    /* written by rename, so a new file has another number even within the clock's grain */
    return (int64_t)(((uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec +
                      (uint64_t)st.st_ino) |
                     1);
}

void lpo_sweep_result_load(const struct lpo_sweep_plan *p, size_t job, struct lpo_sweep_result *out)
{
    LPO_AUTO(lpo_arena) parsing = lpo_arena_create();
    LPO_AUTO(lpo_file_text) text = NULL;
    const struct lpo_json *v = NULL;
    const char *state;

    *out = (struct lpo_sweep_result){ .total_ms = lpo_measure_unknown(),
                                      .tokens_s = lpo_measure_unknown(),
                                      .gpu_ns = lpo_measure_unknown() };
    if (lpo_file_text_read_limit(file_of(parsing, p, job), MOST_BYTES, &text, NULL) < 0 ||
        lpo_json_parse(parsing, text->at, text->len, &v, NULL) < 0)
        return;
    state = lpo_json_text(lpo_json_get(v, "state"), "");
    for (int i = 0; i < STATES; i++)
        if (strcmp(states[i], state) == 0)
            out->state = (enum lpo_sweep_state)i;
    out->exit_code = (int)(lpo_json_int(lpo_json_get(v, "exit_code"), 1) & 0xff);
    out->error = text_at(p->arena, v, "error");
    out->run_dir = text_at(p->arena, v, "run_dir");
    out->host = text_at(p->arena, v, "host");
    out->wall_ns = lpo_json_int(lpo_json_get(v, "wall_ns"), 0);
    out->total_ms = measure_at(v, "total_ms");
    out->tokens_s = measure_at(v, "tokens_per_s");
    out->gpu_ns = measure_at(v, "gpu_ns");
}

/* --- what a user sees while it runs -------------------------------------------------------------
 */

struct counts {
    size_t done, failed, running, waiting;
};

static struct counts count(const struct lpo_sweep_run *s)
{
    struct counts c = { 0 };

    for (size_t i = 0; i < s->plan->count; i++) {
        const struct lpo_sweep_result *r = &s->results[i];

        if (r->state == LPO_SWEEP_PENDING)
            c.waiting++;
        else if (r->state == LPO_SWEEP_RUNNING)
            c.running++;
        else if (lpo_sweep_result_open(r))
            c.failed++;
        else
            c.done++;
    }
    return c;
}

void lpo_sweep_watch_say_end(struct lpo_sweep_run *s, size_t job)
{
    const struct lpo_sweep_result *r = &s->results[job];
    struct counts c = count(s);
    LPO_STR line = { 0 };

    lpo_str_addf(&line, "job %" PRId64 " (%zu of %zu): %s", s->plan->jobs[job].num,
                 c.done + c.failed, s->plan->count, lpo_sweep_result_word(r));
    if (r->wall_ns > 0) {
        lpo_str_add(&line, " in ");
        lpo_units_add_duration(&line, r->wall_ns);
    }
    if (r->error)
        lpo_str_addf(&line, ": %s", r->error);
    else if (lpo_sweep_result_open(r) && r->run_dir) /* why is in its report */
        lpo_str_addf(&line, "; see %s", r->run_dir);
    s->say(s->ctx, lpo_str_text(&line));
}

void lpo_sweep_watch_show(struct lpo_sweep_run *s, const char *why)
{
    struct counts c = count(s);
    LPO_STR line = { 0 };

    lpo_str_addf(&line, "%zu of %zu done", c.done, s->plan->count);
    if (c.failed)
        lpo_str_addf(&line, ", %zu failed", c.failed);
    lpo_str_addf(&line, ", %zu running, %zu waiting", c.running, c.waiting);
    if (why && *why)
        lpo_str_addf(&line, " (%s)", why);
    s->show(s->ctx, lpo_str_text(&line));
}

/* --- all jobs together: multirun.json, and a table for people -----------------------------------
 */

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
    lpo_jw_put(&w, LPO_KV("schema", LPO_SWEEP_SUMMARY_SCHEMA));
    lpo_jw_array(&w, "jobs");
    for (size_t i = 0; i < p->count; i++) {
        const struct lpo_sweep_result *r = &results[i];

        lpo_jw_object(&w, NULL);
        lpo_jw_put(&w, LPO_KV("num", p->jobs[i].num));
        lpo_jw_array(&w, "overrides");
        for (size_t k = 0; k < p->jobs[i].shown; k++)
            lpo_jw_put(&w, LPO_V(lpo_secrets_mask_override(a, p->jobs[i].words[k])));
        lpo_jw_end(&w);
        lpo_jw_put(&w, LPO_KV("state", state_of(r)), LPO_KV("error", r->error),
                   LPO_KV("run_dir", r->run_dir),
                   LPO_KV("exit_code",
                          lpo_jv_int_if(r->state == LPO_SWEEP_ENDED && !r->error, r->exit_code)),
                   LPO_KV("host", r->host));
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
    return lpo_any(i, p->count,
                   k >= p->jobs[i].shown || strcmp(p->jobs[i].words[k], job->words[k]) != 0);
}

static void add_job(struct lpo_arena *a, struct lpo_table *t, const struct lpo_sweep_plan *p,
                    const struct lpo_sweep_plan_job *job, const struct lpo_sweep_result *r)
{
    LPO_STR overrides = { 0 };

    for (size_t k = 0; k < job->shown; k++)
        if (is_swept(p, job, k))
            lpo_str_addf(&overrides, "%s%s", overrides.len ? " " : "",
                         lpo_secrets_mask_override(a, job->words[k]));
    lpo_doc_row(t, (uint64_t)job->num, lpo_sweep_result_word(r),
                r->wall_ns > 0 ? lpo_measure_measured((double)r->wall_ns) : lpo_measure_unknown(),
                lpo_measure_known(r->total_ms) ? lpo_measure_measured(r->total_ms.value * 1e6)
                                               : lpo_measure_unknown(),
                r->tokens_s, r->gpu_ns, lpo_cell_textn(lpo_str_text(&overrides), overrides.len));
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
