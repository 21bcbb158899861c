/* SPDX-License-Identifier: Apache-2.0 */
/* The ladder at the head of a report, after a command, and as records. */

#include "analysis/analysis.h"
#include "analysis/ladder/ladder.h"
#include "analysis/phases/phases.h"
#include "analysis/wall/steady.h"
#include "report/chapters/chapters.h"
#include "report/doc/doc.h"
#include "report/findings/findings.h"
#include "report/findings/private.h"
#include "report/trace_notes.h"
#include "report/trace_records.h"
#include "report/what_ran.h"
#include "rundir/rundir.h"
#include "util/units.h"

enum { LINES = 2, BAR = 30 /* characters */ };

const char *lpo_report_duration(struct lpo_arena *a, int64_t ns)
{
    LPO_STR s = { 0 };

    lpo_units_add_duration(&s, ns);
    return lpo_arena_strdup(a, lpo_str_text(&s));
}

static const char *duration(const struct lpo_ladder_words *w, int64_t ns)
{
    return lpo_report_duration(w->arena, ns);
}

static const char *percent(const struct lpo_ladder_words *w, int64_t part, int64_t whole)
{
    LPO_STR s = { 0 };

    lpo_units_add_percent(&s, whole > 0 ? 100 * (double)part / (double)whole : 0);
    return lpo_arena_strdup(w->arena, lpo_str_text(&s));
}

static const char *const floor_bases[] = {
    [LPO_FLOOR_NONE] = "not known",
    [LPO_FLOOR_MODEL] = "what the model must compute and move",
    [LPO_FLOOR_OPERATORS] = "what the operators need at the hardware's rates",
    [LPO_FLOOR_GPU] = "the GPU's own work as it is",
};

/* --- what is said of the whole --- */

const char *lpo_report_ladder_verdict(const struct lpo_ladder_words *w)
{
    const struct lpo_ladder *l = w->ladder;
    LPO_STR s = { 0 };

    if (!l)
        return NULL;
    lpo_str_addf(&s, "Of %s", duration(w, l->window.wall_ns));
    if (l->window.basis == LPO_WINDOW_STEPS)
        lpo_str_addf(&s, " (%llu step%s)", (unsigned long long)l->window.steps,
                     l->window.steps == 1 ? "" : "s");
    lpo_str_addf(&s, ", the GPU computed for %s", percent(w, l->compute_ns, l->window.wall_ns));
    if (l->communication_ns > 0)
        lpo_str_addf(&s, ", communicated alone for %s",
                     percent(w, l->communication_ns, l->window.wall_ns));
    if (l->copy_ns > l->window.wall_ns / 100)
        lpo_str_addf(&s, ", copied alone for %s", percent(w, l->copy_ns, l->window.wall_ns));
    lpo_str_addf(&s, " and was idle for %s.",
                 percent(w, l->window.wall_ns - l->compute_ns - l->communication_ns - l->copy_ns,
                         l->window.wall_ns));
    if (l->window.before_gpu_ns > l->window.wall_ns / 20)
        lpo_str_addf(&s,
                     " The first %s pass before the GPU begins; of the rest it computed for %s.",
                     duration(w, l->window.before_gpu_ns),
                     percent(w, l->compute_ns, l->window.wall_ns - l->window.before_gpu_ns));
    return lpo_arena_strdup(w->arena, lpo_str_text(&s));
}

/* Nothing large is left: what takes the time then. */
static const char *healthy(const struct lpo_ladder_words *w)
{
    const struct lpo_wall_steady *steady = lpo_analysis_steady(w->s->analysis);
    LPO_STR s = { 0 };
    int64_t ns = 0;

    if (w->ladder->unexplained_ns > w->ladder->window.wall_ns / 10)
        lpo_str_addf(&s,
                     "No change that this trace shows would save 1 %% of it; what %s of it waited "
                     "for is not in the trace.",
                     percent(w, w->ladder->unexplained_ns, w->ladder->window.wall_ns));
    else
        lpo_str_add(&s, "Nothing large is left: no change that this trace shows would save 1 % of "
                        "it.");
    lpo_str_addf(&s, " The floor is %s, %s.", duration(w, w->ladder->floor_ns),
                 floor_bases[w->ladder->floor_basis]);
    for (size_t i = 0; i < steady->top.len && i < 2; i++) {
        lpo_str_addf(&s, "%s%.120s", i ? " and " : " Most of its time is in ",
                     lpo_region_cells_shown_name(w->s->analysis->cells, steady->top.at[i].name));
        ns += steady->top.at[i].sum.ns;
    }
    if (steady->top.len)
        lpo_str_addf(&s, " (%s of the kernels' time).", percent(w, ns, steady->kernel_ns));
    return lpo_arena_strdup(w->arena, lpo_str_text(&s));
}

/* Of kernels that have no counters: the longest. */
static const char *longest_kernel(const struct lpo_ladder_words *w)
{
    const struct lpo_wall_steady *steady = lpo_analysis_steady(w->s->analysis);
    const struct lpo_top_row *top = steady->top.len ? &steady->top.at[0] : NULL;

    if (!top || top->sum.ns <= 0 || w->all->other.len)
        return "";
    if (lpo_str_starts(lpo_trace_text(w->s->analysis->trace, top->name), "range "))
        return "Each result is of a whole range: its kernels one by one are in a capture with "
               "pipeline.ncu.ncu_cli.replay_mode=kernel. ";
    return lpo_arena_printf(
        w->arena, "Look first at the kernel %.200s: it takes %s of the time of all kernels (%s). ",
        lpo_region_cells_shown_name(w->s->analysis->cells, top->name),
        percent(w, (int64_t)(1000 * top->share), 1000), duration(w, top->sum.ns));
}

const char *lpo_report_ladder_rest(const struct lpo_ladder_words *w)
{
    const struct lpo_trace *t = w->s->analysis->trace;

    if (w->ladder && w->ladder->rungs.len)
        return "Every saving that was found is smaller than the difference between repeats.";
    if (w->ladder)
        return healthy(w);
    if (t->flight_groups.len)
        return lpo_report_flight_rest(w->arena, w->s->analysis);
    if (lpo_report_is_replay(t))
        return lpo_arena_printf(
            w->arena,
            "%sNsight Compute runs each kernel alone and repeats it, so the wall time of "
            "the program is not known: a trace of nsys, of the PyTorch profiler or of lpo "
            "run shows it.",
            longest_kernel(w));
    if (t->summaries.len)
        return lpo_arena_printf(
            w->arena,
            "%sThe file holds sums, and not when each kernel ran, so what could be saved "
            "of the wall time is not known: the recording itself shows it (nsys export "
            "--type sqlite).",
            longest_kernel(w));
    return t->gpu_ops.len
               ? "When GPU operations ran was not recorded, so what could be saved of the "
                 "wall time is not known."
               : lpo_report_host_verdict(w);
}

static const struct lpo_column picture_columns[] = {
    { "rung", "Change", LPO_CELL_TEXT, NULL, .width = 48 },
    { "saving_ns", "Saves", LPO_CELL_NS, NULL },
    { "after_ns", "Then it takes", LPO_CELL_NS, NULL },
    { "bar", "", LPO_CELL_TEXT, NULL, .minor = 1, .width = BAR },
};

struct lpo_table *lpo_report_ladder_table(struct lpo_doc *doc, const char *id)
{
    return lpo_doc_table(doc, id, "", picture_columns,
                         sizeof picture_columns / sizeof *picture_columns);
}

void lpo_report_ladder_bar(struct lpo_table *t, const char *label, int64_t saving_ns, int64_t ns,
                           int64_t whole)
{
    int n = whole > 0 ? (int)((double)BAR * (double)ns / (double)whole + 0.5) : 0;
    LPO_STR bar = { 0 };

    for (int i = 0; i < n; i++)
        lpo_str_add(&bar, "█");
    lpo_doc_row(t, label, lpo_cell_whole_if(saving_ns, saving_ns), ns, lpo_str_text(&bar));
}

static void add_bar(struct lpo_table *t, const struct lpo_ladder_words *w, const char *label,
                    int64_t saving_ns, int64_t ns)
{
    lpo_report_ladder_bar(t, label, saving_ns, ns, w->ladder->wall_ns);
}

void lpo_report_add_ladder(struct lpo_doc *doc, const struct lpo_ladder_words *w)
{
    struct lpo_table *t;

    if (!w->ladder || !w->ladder->rungs.len)
        return;
    t = lpo_report_ladder_table(doc, "ladder");
    add_bar(t, w, "today", 0, w->ladder->wall_ns);
    for (size_t i = 0; i < w->ladder->rungs.len; i++)
        if (lpo_report_rung_counts(w, &w->ladder->rungs.at[i]))
            add_bar(t, w,
                    lpo_arena_printf(w->arena, "%zu. %s", i + 1,
                                     lpo_report_rung_title(w, &w->ladder->rungs.at[i])),
                    w->ladder->rungs.at[i].saving_ns, w->ladder->rungs.at[i].after_ns);
    if (w->ladder->floor_ns > 0)
        add_bar(t, w, lpo_arena_printf(w->arena, "floor: %s", floor_bases[w->ladder->floor_basis]),
                0, w->ladder->floor_ns);
}

/* --- rungs --- */

const struct lpo_rung *lpo_report_rung_at(const struct lpo_ladder_words *w, size_t i)
{
    size_t rungs = w->ladder ? w->ladder->rungs.len : 0;

    if (i < rungs)
        return &w->ladder->rungs.at[i];
    return i - rungs < w->all->other.len ? &w->all->other.at[i - rungs] : NULL;
}

bool lpo_report_rung_has_time(const struct lpo_ladder_words *w, const struct lpo_rung *r)
{
    return w->ladder && r >= w->ladder->rungs.at && r < w->ladder->rungs.at + w->ladder->rungs.len;
}

/* The next one to be shown, at most `most` of the ladder and as many of the others; `shown` counts
 * both by lpo_report_rung_has_time(). */
static const struct lpo_rung *next_shown(const struct lpo_ladder_words *w, size_t *i, size_t most,
                                         size_t shown[2])
{
    const struct lpo_rung *r;

    while ((r = lpo_report_rung_at(w, (*i)++)))
        if (lpo_report_rung_counts(w, r) && shown[lpo_report_rung_has_time(w, r)] < most) {
            shown[lpo_report_rung_has_time(w, r)]++;
            return r;
        }
    return NULL;
}

static void add_rung(struct lpo_doc *doc, const struct lpo_ladder_words *w,
                     const struct lpo_rung *r, size_t number)
{
    LPO_STR evidence = { 0 };

    for (size_t i = 0; i < r->nevidence; i++) {
        const char *text = lpo_report_rung_fact(w, &r->evidence[i]);

        if (text)
            lpo_str_addf(&evidence, " %s", text);
    }
    if (lpo_report_rung_has_time(w, r) || r->bytes)
        lpo_doc_paragraph(doc, "%zu. %s%s: %s could be saved.%s %s", number,
                          lpo_report_rung_title(w, r), lpo_report_rung_place(w, r),
                          lpo_report_rung_saving(w, r), lpo_str_text(&evidence),
                          lpo_report_rung_advice(w, r));
    else
        lpo_doc_paragraph(doc, "%zu. %s.%s %s", number, lpo_report_rung_title(w, r),
                          lpo_str_text(&evidence), lpo_report_rung_advice(w, r));
}

void lpo_report_chapter_findings(struct lpo_doc *doc, const struct lpo_rundir *d,
                                 const struct lpo_source *s, size_t most)
{
    struct lpo_ladder_words w = lpo_report_ladder_words(doc->arena, d, s);
    const char *verdict = lpo_report_ladder_verdict(&w);
    const struct lpo_rung *r;
    size_t shown[2] = { 0 }, at = 0;

    lpo_doc_section(doc, "findings", "What to do first", 1);
    for (size_t i = 0; i < w.all->cautions.len; i++) /* before what they make less sure */
        lpo_doc_note(doc, LPO_NOTE_WARNING, "%s",
                     lpo_report_ladder_caution(&w, &w.all->cautions.at[i]));
    if (verdict)
        lpo_doc_paragraph(doc, "%s", verdict);
    lpo_report_add_ladder(doc, &w);
    while ((r = next_shown(&w, &at, most, shown)))
        add_rung(doc, &w, r, shown[true] + shown[false]);
    if (!shown[true])
        lpo_doc_paragraph(doc, "%s", lpo_report_ladder_rest(&w));
    lpo_report_add_host_ladder(doc, &w);
}

void lpo_report_findings_lines(struct lpo_arena *arena, const struct lpo_rundir *d,
                               const struct lpo_source *s, struct lpo_str *out)
{
    struct lpo_ladder_words w = lpo_report_ladder_words(arena, d, s);
    const char *verdict = lpo_report_ladder_verdict(&w);
    const struct lpo_rung *r;
    size_t shown[2] = { 0 }, at = 0;

    for (size_t i = 0; i < w.all->cautions.len; i++)
        lpo_str_addf(out, "Take care: %s\n", lpo_report_ladder_caution(&w, &w.all->cautions.at[i]));
    if (verdict)
        lpo_str_addf(out, "%s\n", verdict);
    while ((r = next_shown(&w, &at, LINES, shown)))
        if (lpo_report_rung_has_time(&w, r) || r->bytes || r->saving_ns)
            lpo_str_addf(out, "%zu. %s: %s\n", shown[true] + shown[false],
                         lpo_report_rung_title(&w, r), lpo_report_rung_saving(&w, r));
        else
            lpo_str_addf(out, "%zu. %s.\n", shown[true] + shown[false],
                         lpo_report_rung_title(&w, r));
    if (!shown[true] && (w.ladder || !shown[false]))
        lpo_str_addf(out, "%s\n", lpo_report_ladder_rest(&w));
    lpo_report_host_lines(&w, LINES, out);
}

static void add_warning(void *doc, bool warning, const char *text)
{
    if (warning)
        lpo_doc_note(doc, LPO_NOTE_WARNING, "%s", text);
}

/* Without the chapter on coverage, so what the trace lacks is said here. */
struct lpo_doc *lpo_report_findings_doc(const struct lpo_rundir *d, const struct lpo_source *s)
{
    struct lpo_doc *doc = lpo_doc_create("findings", "Findings");

    if (!s) {
        lpo_doc_paragraph(doc, "%s", lpo_report_why_no_trace(d));
        return doc;
    }
    lpo_report_chapter_findings(doc, d, s, SIZE_MAX);
    lpo_report_notes_each(s->analysis, s->select, add_warning, doc);
    return doc;
}

/* --- records --- */

static void put_evidence(struct lpo_record *to, const struct lpo_ladder_words *w,
                         const struct lpo_rung *r)
{
    struct lpo_record *list = lpo_doc_put_list(to, "evidence");

    for (size_t i = 0; i < r->nevidence; i++) {
        const char *text = lpo_report_rung_fact(w, &r->evidence[i]);

        if (text)
            lpo_doc_put(lpo_doc_put_record(list, NULL), LPO_KV("text", text),
                        LPO_KV("value", r->evidence[i].value[0]), LPO_KV("unit", lpo_jv_null()));
    }
}

/* The members that a rung and a finding share. */
static void put_rung(struct lpo_record *to, const struct lpo_ladder_words *w,
                     const struct lpo_rung *r, bool rung)
{
    const struct lpo_trace *t = w->s->analysis->trace;
    bool has_time = lpo_report_rung_has_time(w, r);

    lpo_doc_put(to, LPO_KV("id", lpo_ladder_ids[r->kind]),
                LPO_KV("title", lpo_report_rung_title(w, r)),
                LPO_KV("where", lpo_report_rung_where(w, r)),
                LPO_KV("device", r->device < t->devices.len
                                     ? lpo_report_device_scope(to->arena, &t->devices.at[r->device])
                                     : ""),
                LPO_KV("saving_ns", lpo_jv_int_if(has_time || r->saving_ns, r->saving_ns)),
                LPO_KV("share", has_time ? (double)r->saving_ns / (double)w->ladder->wall_ns : NAN),
                LPO_KV_IF(rung, "alone_ns", r->alone_ns), LPO_KV_IF(rung, "after_ns", r->after_ns),
                LPO_KV("basis", lpo_ladder_basis_name(r->basis)));
    put_evidence(to, w, r);
    lpo_doc_put(to, LPO_KV("advice", lpo_report_rung_advice(w, r)),
                LPO_KV_IF(r->bytes, "saving_bytes", r->bytes),
                LPO_KV_IF(!lpo_report_rung_counts(w, r), "within_noise", lpo_jv_flag(true)));
}

static void put_ladder(struct lpo_record *to, const struct lpo_ladder_words *w)
{
    const struct lpo_ladder *l = w->ladder;
    struct lpo_record *list;

    lpo_doc_put(to, LPO_KV("window_ns", l->wall_ns), LPO_KV("unexplained_ns", l->unexplained_ns));
    list = lpo_doc_put_list(to, "rungs");
    for (size_t i = 0; i < l->rungs.len; i++)
        put_rung(lpo_doc_put_record(list, NULL), w, &l->rungs.at[i], true);
    lpo_doc_put(to, LPO_KV("floor_ns", lpo_jv_int_if(l->floor_ns > 0, l->floor_ns)),
                LPO_KV("floor_basis", floor_bases[l->floor_basis]));
}

static void put_window(struct lpo_record *to, const struct lpo_ladder *l)
{
    lpo_doc_put(to, LPO_KV("start_ns", l->window.start_ns), LPO_KV("wall_ns", l->window.wall_ns),
                LPO_KV("steps", (int64_t)l->window.steps),
                LPO_KV("basis", l->window.basis == LPO_WINDOW_STEPS ? "steps" : "events"),
                LPO_KV("before_gpu_ns", l->window.before_gpu_ns),
                LPO_KV("after_gpu_ns", l->window.after_gpu_ns));
}

static void put_others(struct lpo_record *to, struct lpo_ladder_words w)
{
    struct lpo_record *list = lpo_doc_put_list(to, "ladders");
    const struct lpo_trace *t = w.s->analysis->trace;

    for (size_t i = 1; i < w.all->all.len; i++) {
        struct lpo_record *r = lpo_doc_put_record(list, NULL);

        w.ladder = &w.all->all.at[i];
        lpo_doc_put(r, LPO_KV("process", t->processes.at[w.ladder->process].pid),
                    LPO_KV("rank", t->processes.at[w.ladder->process].rank));
        put_window(lpo_doc_put_record(r, "window"), w.ladder);
        put_ladder(r, &w);
    }
}

void lpo_report_put_findings(struct lpo_record *to, const struct lpo_rundir *d,
                             const struct lpo_source *s)
{
    struct lpo_ladder_words w = lpo_report_ladder_words(to->arena, d, s);
    const struct lpo_rung *r;
    struct lpo_record *list;

    lpo_doc_put(to, LPO_KV("verdict", lpo_report_ladder_verdict(&w)));
    if (w.ladder) {
        put_window(lpo_doc_put_record(to, "window"), w.ladder);
        put_ladder(lpo_doc_put_record(to, "ladder"), &w);
    } else {
        lpo_doc_put(to, LPO_KV("window", lpo_jv_null()), LPO_KV("ladder", lpo_jv_null()));
    }
    lpo_report_put_host_ladder(to, &w);
    put_others(to, w);
    list = lpo_doc_put_list(to, "cautions");
    for (size_t i = 0; i < w.all->cautions.len; i++)
        lpo_doc_put(lpo_doc_put_record(list, NULL),
                    LPO_KV("id", lpo_ladder_caution_ids[w.all->cautions.at[i].kind]),
                    LPO_KV("title", lpo_report_ladder_caution(&w, &w.all->cautions.at[i])));
    list = lpo_doc_put_list(to, "findings");
    for (size_t i = 0; (r = lpo_report_rung_at(&w, i)); i++)
        put_rung(lpo_doc_put_record(list, NULL), &w, r, false);
    list = lpo_doc_put_list(to, "remarks");
    if (!w.ladder || !w.ladder->rungs.len)
        lpo_doc_put(list, LPO_V(lpo_report_ladder_rest(&w)));
}
