/* SPDX-License-Identifier: Apache-2.0 */
#include "report/stage_results.h"

#include <stddef.h>
#include <string.h>

#include "report/doc/doc.h"
#include "run/manifest.h"
#include "rundir/rundir.h"
#include "util/arena.h"
#include "util/str.h"

static const char recorders[] = "native, nsys, torch_profiler or ncu";

const struct lpo_stage_record *lpo_report_run_stage(const struct lpo_rundir *d, const char *stage)
{
    for (size_t i = 0; d->has_manifest && i < d->manifest.nstages; i++)
        if (strcmp(d->manifest.stages[i].name, stage) == 0)
            return &d->manifest.stages[i];
    return NULL;
}

/* Messages name files by absolute paths. They are shown relative to the run folder: its place is
 * private, and wrong as soon as the folder is moved. */
const char *lpo_report_stage_message(const struct lpo_rundir *d, const struct lpo_stage_record *r)
{
    const char *at = r->message;
    const char *const marks[] = { lpo_arena_printf(d->arena, "/workload/%s/", r->name),
                                  lpo_arena_printf(d->arena, "/%s/", r->name) };
    LPO_STR text = { 0 };

    for (size_t i = 0; at && i < sizeof marks / sizeof *marks; i++) {
        const char *own = strstr(at, marks[i]), *start = own;

        while (start && start > at && !strchr(" '\"(", start[-1]))
            start--;
        if (!start || *start != '/')
            continue;
        lpo_str_addn(&text, at, (size_t)(start - at));
        lpo_str_add(&text, own + 1);
        return lpo_arena_strdup(d->arena, lpo_str_text(&text));
    }
    return at;
}

static const struct lpo_source *source_of(const struct lpo_rundir *d, const char *stage)
{
    for (size_t i = 0; i < d->sources.len; i++)
        if (strcmp(d->sources.at[i].stage, stage) == 0)
            return &d->sources.at[i];
    return NULL;
}

const char *lpo_report_why_stage_left_no_trace(const struct lpo_rundir *d, const char *stage)
{
    const struct lpo_source *s = source_of(d, stage);
    const struct lpo_stage_record *r = lpo_report_run_stage(d, stage);

    if (!s || s->analysis)
        return NULL;
    if (s->problem)
        return s->problem;
    return r && r->started_ns ? lpo_report_stage_message(d, r) : NULL;
}

/* How stages may end, the worst first. %s: their names. */
static const struct ending {
    enum lpo_state state;
    const char *words;
} endings[] = {
    { LPO_INTERRUPTED, "The run was interrupted in %s" },
    { LPO_RUNNING, "The run was cut short in %s: lpo was killed, or is still running" },
    { LPO_FAILED, "The run failed in %s" },
    { LPO_MISSING, "Something is missing for %s" },
    { LPO_PENDING, "Not started: %s. lpo run --resume with this folder continues there" },
};

static bool any_in(const struct lpo_rundir *d, enum lpo_state state)
{
    for (size_t i = 0; d->has_manifest && i < d->manifest.nstages; i++)
        if (d->manifest.stages[i].state == state)
            return true;
    return false;
}

static void add_ending(struct lpo_doc *doc, const struct lpo_rundir *d, const struct ending *e)
{
    const char *said = NULL;
    LPO_STR names = { 0 };
    LPO_STR words = { 0 };

    for (size_t i = 0; i < d->manifest.nstages; i++) {
        const struct lpo_stage_record *r = &d->manifest.stages[i];

        if (r->state != e->state)
            continue;
        lpo_str_addf(&names, "%s%s", names.len ? ", " : "", r->name);
        if (!said && r->message && strcmp(r->message, lpo_run_state_name(r->state)) != 0)
            said = lpo_report_stage_message(d, r);
    }
    lpo_str_addn(&words, e->words, (size_t)(strstr(e->words, "%s") - e->words));
    lpo_str_add(&words, lpo_str_text(&names));
    lpo_str_add(&words, strstr(e->words, "%s") + 2);
    lpo_doc_note(doc, LPO_NOTE_WARNING, "%s%s%s", words.at, said ? ": " : ".", said ? said : "");
}

void lpo_report_add_stage_endings(struct lpo_doc *doc, const struct lpo_rundir *d)
{
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (any_in(d, endings[i].state))
            add_ending(doc, d, &endings[i]);
}

const char *lpo_report_why_no_trace(const struct lpo_rundir *d)
{
    LPO_STR text = { 0 };

    for (size_t i = 0; i < d->sources.len; i++) {
        const struct lpo_source *s = &d->sources.at[i];
        const struct lpo_stage_record *r = lpo_report_run_stage(d, s->stage);
        const char *why = lpo_report_why_stage_left_no_trace(d, s->stage);

        if (!why && r && r->started_ns)
            why = "its trace is not in the folder";
        if (!why)
            continue;
        lpo_str_add(&text, text.len ? "; " : "");
        if (!lpo_str_starts(why, s->stage)) /* a step has the stage's name, and files its folder */
            lpo_str_addf(&text, "%s: ", s->stage);
        lpo_str_add(&text, why);
    }
    if (text.len)
        return lpo_arena_printf(d->arena, "This run holds no trace that can be read. %s.", text.at);
    return lpo_arena_printf(d->arena,
                            d->has_manifest
                                ? "This run holds no trace: no stage that records one (%s) has run."
                                : "This folder holds no trace that lpo can read (from %s).",
                            recorders);
}

/* Did a stage do its work and find nothing to record? */
static bool found_nothing(const struct lpo_rundir *d)
{
    for (size_t i = 0; i < d->sources.len; i++) {
        const struct lpo_stage_record *r = lpo_report_run_stage(d, d->sources.at[i].stage);

        if (r && r->state == LPO_DONE && !d->sources.at[i].nfiles && r->message)
            return true;
    }
    return false;
}

const char *lpo_report_how_to_get_a_trace(const struct lpo_rundir *d)
{
    if (any_in(d, LPO_INTERRUPTED) || any_in(d, LPO_RUNNING))
        return "Complete the run first: lpo run --resume with this folder continues where it "
               "stopped.";
    if (any_in(d, LPO_FAILED))
        return "Make the run succeed first: the error is shown above.";
    if (found_nothing(d))
        return lpo_arena_printf(d->arena,
                                "What was recorded does not support any advice. %s Mark the parts "
                                "of the program with NVTX ranges to get some.",
                                lpo_report_why_no_trace(d));
    if (any_in(d, LPO_MISSING))
        return "Install what is missing (lpo doctor says how), or record without it: "
               "pipeline.native.enable=true.";
    for (size_t i = 0; i < d->sources.len; i++)
        if (lpo_report_why_stage_left_no_trace(d, d->sources.at[i].stage))
            return lpo_arena_printf(d->arena, "There is no advice. %s", lpo_report_why_no_trace(d));
    return "What was recorded does not support any advice: enable a stage that traces (native, "
           "nsys or torch_profiler).";
}
