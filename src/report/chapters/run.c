/* SPDX-License-Identifier: Apache-2.0 */
/* The chapter "What ran": program and machine; and the stages of the run. */
#include <time.h>

#include "report/chapters/chapters.h"
#include "report/doc/doc.h"
#include "report/what_ran.h"
#include "rundir/rundir.h"
#include "settings/settings.h"
#include "util/json.h"
#include "util/units.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const char *utc(struct lpo_arena *a, int64_t unix_ns)
{
    time_t t = (time_t)(unix_ns / 1000000000);
    struct tm tm;
    char text[40];

    if (unix_ns <= 0 || !gmtime_r(&t, &tm) || !strftime(text, sizeof text, "%F %T UTC", &tm))
        return NULL;
    return lpo_arena_strdup(a, text);
}

static void gpu_facts(struct lpo_doc *doc, const struct lpo_rundir *d)
{
    const struct lpo_json *devices = lpo_json_at(d->env, "gpus.devices");
    const char *note = lpo_json_text(lpo_json_at(d->env, "gpus.note"), NULL);
    const char *traced = d->env ? NULL : lpo_report_traced_gpus(d);
    LPO_STR names = { 0 };

    LPO_JSON_EACH(device, devices)
    {
        if (names.len)
            lpo_str_add(&names, ", ");
        lpo_str_add(&names, lpo_json_text(lpo_json_get(device, "name"), "unknown GPU"));
    }
    if (names.len)
        lpo_doc_fact(doc, "gpus", "GPUs", TEXT, names.at);
    else if (traced)
        lpo_doc_fact(doc, "gpus", "GPUs", TEXT, traced);
    else if (note)
        lpo_doc_fact(doc, "gpus", "GPUs", TEXT, note);
    if (lpo_json_text(lpo_json_at(d->env, "gpus.driver"), NULL))
        lpo_doc_fact(doc, "driver", "Driver", TEXT,
                     lpo_json_text(lpo_json_at(d->env, "gpus.driver"), NULL));
}

static void host_facts(struct lpo_doc *doc, const struct lpo_rundir *d)
{
    const char *cpu = lpo_json_text(lpo_json_at(d->env, "host.cpu"), NULL);
    int64_t cpus = lpo_json_int(lpo_json_at(d->env, "host.cpus"), 0);
    double memory = lpo_json_real(lpo_json_at(d->env, "host.memory_bytes"), 0);
    LPO_STR text = { 0 };

    if (cpu && cpus > 0) {
        lpo_str_addf(&text, "%s, %" PRId64 " cores", cpu, cpus);
        if (memory > 0) {
            lpo_str_add(&text, ", ");
            lpo_units_add_bytes(&text, memory);
        }
        lpo_doc_fact(doc, "cpu", "CPU", TEXT, text.at);
    }
    /* host names and environment variables are private: reports are shared */
    if (!d->private_too)
        return;
    lpo_doc_fact(doc, "host", "Host", TEXT, lpo_json_text(lpo_json_at(d->env, "host.name"), NULL));
    LPO_JSON_EACH(v, lpo_json_get(d->env, "variables"))
    if (v->kind == LPO_JSON_STRING)
        lpo_doc_fact(doc, "variable", v->key, TEXT, v->text);
}

/* What a list of traces says about itself. */
static void traced_facts(struct lpo_doc *doc, const struct lpo_rundir *d)
{
    const struct {
        const char *id, *title, *text;
    } facts[] = {
        { "traces", "Traces", lpo_report_traced_files(d) },
        { "framework", "Framework", lpo_report_traced_framework(d) },
        { "ranks", "Ranks", lpo_report_traced_ranks(d) },
    };

    for (size_t i = 0; i < COUNT(facts); i++)
        if (facts[i].text)
            lpo_doc_fact(doc, facts[i].id, facts[i].title, TEXT, facts[i].text);
}

static void run_facts(struct lpo_doc *doc, const struct lpo_rundir *d)
{
    const struct lpo_manifest *m = &d->manifest;
    const char *model = lpo_report_run_model(d), *command = lpo_report_run_command(d);
    const char *kind = lpo_settings_text(d->config, "workload.kind");
    const char *commit = lpo_json_text(lpo_json_at(d->env, "git.commit"), NULL);

    if (!d->dir)
        traced_facts(doc, d);
    else if (kind)
        lpo_doc_fact(doc, "workload", "Workload", TEXT, kind);
    if (command)
        lpo_doc_fact(doc, "command", "Command", TEXT, command);
    if (model)
        lpo_doc_fact(doc, "model", "Model", TEXT, model);
    gpu_facts(doc, d);
    host_facts(doc, d);
    if (d->has_manifest) {
        lpo_doc_fact(doc, "state", "State of the run", TEXT, lpo_run_state_name(m->state));
        if (utc(d->arena, m->started_ns))
            lpo_doc_fact(doc, "started", "Started", TEXT, utc(d->arena, m->started_ns));
        if (m->started_ns > 0 && m->ended_ns > m->started_ns)
            lpo_doc_fact(doc, "wall_ns", "Duration", NS, m->ended_ns - m->started_ns);
        if (m->version)
            lpo_doc_fact(doc, "lpo_version", "lpo", TEXT, m->version);
    }
    if (commit)
        lpo_doc_fact(doc, "git_commit", "Git commit", TEXT, commit);
    if (d->fingerprint)
        lpo_doc_fact(doc, "config_fingerprint", "Config fingerprint", TEXT, d->fingerprint);
}

static const struct lpo_column stage_columns[] = {
    { "stage", "Stage", LPO_CELL_TEXT, NULL },
    { "state", "State", LPO_CELL_TEXT, NULL },
    { "wall_ns", "Duration", LPO_CELL_NS, NULL },
    { "message", "Message", LPO_CELL_TEXT, NULL },
};

void lpo_report_chapter_stages(struct lpo_doc *doc, const struct lpo_rundir *d)
{
    struct lpo_table *t;

    if (!d->has_manifest || !d->manifest.nstages)
        return;
    lpo_doc_section(doc, "stages", "Stages of the run", 1);
    t = lpo_doc_table(doc, "stages", "", stage_columns, COUNT(stage_columns));
    t->least_rows = SIZE_MAX;
    for (size_t i = 0; i < d->manifest.nstages; i++) {
        const struct lpo_stage_record *s = &d->manifest.stages[i];

        lpo_doc_row(t, s->name, lpo_run_state_name(s->state),
                    lpo_cell_whole_if(s->started_ns && s->state != LPO_SKIPPED, s->wall_ns),
                    s->message ? lpo_report_stage_message(d, s) : "");
    }
}

void lpo_report_chapter_run(struct lpo_doc *doc, const struct lpo_rundir *d)
{
    lpo_doc_section(doc, "run", "What ran", 1);
    run_facts(doc, d);
    lpo_report_add_stage_endings(doc, d);
}
