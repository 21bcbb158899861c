/* SPDX-License-Identifier: Apache-2.0 */
/* The findings at the head of a report, and as records. */
#include <stdint.h>

#include "analysis/analysis.h"
#include "analysis/findings/findings.h"
#include "report/doc/doc.h"
#include "report/findings/findings.h"
#include "report/stage_results.h"
#include "report/trace_notes.h"
#include "report/trace_records.h"
#include "rundir/rundir.h"
#include "trace/trace.h"
#include "util/str.h"

enum { LINES = 3 };

static void add_finding(struct lpo_doc *doc, const struct lpo_finding_words *w,
                        const struct lpo_finding *f, size_t number)
{
    LPO_STR evidence = { 0 };
    struct lpo_finding_fact fact;

    for (size_t i = 0; lpo_report_finding_evidence(w, f, i, &fact); i++)
        lpo_str_addf(&evidence, "%s%s", i ? ", " : "", fact.text);
    lpo_doc_paragraph(doc, "%zu. %s (%s): %s could be saved. Evidence: %s. %s", number,
                      lpo_report_finding_title(w, f), lpo_report_finding_where(w, f),
                      lpo_report_finding_saving(w, f), lpo_str_text(&evidence),
                      lpo_report_finding_advice(w, f));
}

void lpo_report_chapter_findings(struct lpo_doc *doc, const struct lpo_rundir *d,
                                 const struct lpo_source *s, size_t most)
{
    const struct lpo_findings *found = lpo_analysis_findings(d, s);
    struct lpo_finding_words w = { doc->arena, s, found };
    const char *verdict = lpo_report_finding_verdict(&w), *remarks[LPO_FINDING_REMARKS];
    const char *begin = lpo_report_finding_begin(&w);
    size_t shown = 0, nremarks = lpo_report_finding_remarks(&w, remarks);

    lpo_doc_section(doc, "findings", "What to do first", 1);
    for (size_t i = 0; i < found->cautions.len; i++) /* before what they make less sure */
        lpo_doc_note(doc, LPO_NOTE_WARNING, "%s",
                     lpo_report_finding_caution(&w, &found->cautions.at[i]));
    if (verdict)
        lpo_doc_paragraph(doc, "%s", verdict);
    for (size_t i = 0; i < found->all.len && shown < most; i++)
        if (lpo_findings_above_noise(found, &found->all.at[i]))
            add_finding(doc, &w, &found->all.at[i], ++shown);
    if (begin)
        lpo_doc_paragraph(doc, "%s", begin);
    if (!shown)
        lpo_doc_paragraph(doc, "%s", lpo_report_finding_none(s, found));
    for (size_t i = 0; i < nremarks; i++)
        lpo_doc_paragraph(doc, "%s", remarks[i]);
}

void lpo_report_findings_lines(struct lpo_arena *arena, const struct lpo_rundir *d,
                               const struct lpo_source *s, struct lpo_str *out)
{
    const struct lpo_findings *found = lpo_analysis_findings(d, s);
    struct lpo_finding_words w = { arena, s, found };
    const char *verdict = lpo_report_finding_verdict(&w);
    size_t shown = 0;

    if (!verdict)
        return;
    for (size_t i = 0; i < found->cautions.len; i++)
        lpo_str_addf(out, "Take care: %s\n",
                     lpo_report_finding_caution(&w, &found->cautions.at[i]));
    lpo_str_addf(out, "%s\n", verdict);
    for (size_t i = 0; i < found->all.len && shown < LINES; i++) {
        const struct lpo_finding *f = &found->all.at[i];

        if (lpo_findings_above_noise(found, f))
            lpo_str_addf(out, "%zu. %s: %s\n", ++shown, lpo_report_finding_title(&w, f),
                         lpo_report_finding_saving(&w, f));
    }
    if (!shown)
        lpo_str_addf(out, "%s\n", lpo_report_finding_none(s, found));
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

static void put_evidence(struct lpo_record *to, const struct lpo_finding_words *w,
                         const struct lpo_finding *f)
{
    struct lpo_record *list = lpo_doc_put_list(to, "evidence");
    struct lpo_finding_fact fact;

    for (size_t i = 0; lpo_report_finding_evidence(w, f, i, &fact); i++) {
        struct lpo_record *r = lpo_doc_put_record(list, NULL);

        lpo_doc_put_text(r, "text", fact.text);
        lpo_doc_put_real(r, "value", fact.value);
        if (fact.unit)
            lpo_doc_put_text(r, "unit", fact.unit);
        else
            lpo_doc_put_null(r, "unit");
    }
}

static void put_devices(struct lpo_record *to, const struct lpo_finding_words *w,
                        const struct lpo_finding *f)
{
    const struct lpo_trace *t = w->s->analysis->trace;
    struct lpo_record *list = lpo_doc_put_list(to, "other_devices");

    for (size_t i = 0; i < f->others.len; i++) {
        struct lpo_record *r = lpo_doc_put_record(list, NULL);

        lpo_doc_put_text(
            r, "device",
            lpo_report_device_scope(to->arena, &t->devices.at[f->others.at[i].device]));
        lpo_doc_put_int(r, "saving_ns", f->others.at[i].saving_ns);
    }
}

void lpo_report_put_findings(struct lpo_record *to, const struct lpo_rundir *d,
                             const struct lpo_source *s)
{
    const struct lpo_findings *found = lpo_analysis_findings(d, s);
    struct lpo_finding_words w = { to->arena, s, found };
    const char *verdict = lpo_report_finding_verdict(&w), *remarks[LPO_FINDING_REMARKS];
    size_t nremarks = lpo_report_finding_remarks(&w, remarks);
    struct lpo_record *list;

    if (verdict)
        lpo_doc_put_text(to, "verdict", verdict);
    else
        lpo_doc_put_null(to, "verdict");
    list = lpo_doc_put_list(to, "cautions");
    for (size_t i = 0; i < found->cautions.len; i++) {
        struct lpo_record *r = lpo_doc_put_record(list, NULL);

        lpo_doc_put_text(r, "id", lpo_findings_caution_id(found->cautions.at[i].kind));
        lpo_doc_put_text(r, "title", lpo_report_finding_caution(&w, &found->cautions.at[i]));
    }
    list = lpo_doc_put_list(to, "findings");
    for (size_t i = 0; i < found->all.len; i++) {
        const struct lpo_finding *f = &found->all.at[i];
        struct lpo_record *r = lpo_doc_put_record(list, NULL);

        lpo_doc_put_text(r, "id", lpo_findings_id(f->kind));
        lpo_doc_put_text(r, "title", lpo_report_finding_title(&w, f));
        lpo_doc_put_text(r, "where", lpo_report_finding_where(&w, f));
        lpo_doc_put_text(r, "device", lpo_report_finding_device(&w));
        put_devices(r, &w, f);
        lpo_doc_put_int(r, "saving_ns", f->saving_ns);
        lpo_doc_put_real(r, "share", (double)f->saving_ns / (double)found->span_ns);
        lpo_doc_put_text(r, "basis", f->estimated ? "estimated" : "measured");
        put_evidence(r, &w, f);
        lpo_doc_put_text(r, "advice", lpo_report_finding_advice(&w, f));
        if (!lpo_findings_above_noise(found, f))
            lpo_doc_put_flag(r, "within_noise", true);
    }
    list = lpo_doc_put_list(to, "remarks");
    for (size_t i = 0; i < nremarks; i++)
        lpo_doc_put_text(list, NULL, remarks[i]);
}
