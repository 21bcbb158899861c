/* SPDX-License-Identifier: Apache-2.0 */
/* What the chapter on limits says before its tables, and the summary about it. */

#include "analysis/limits/limits.h"
#include "report/doc/doc.h"
#include "report/limits/chapter_limits.h"
#include "util/units.h"

/* Peak rates of the other number formats that rows were compared with. */
static void add_other_rates(struct lpo_doc *doc, const struct lpo_limits *l)
{
    const char *shown[8];
    size_t n = 0;

    for (size_t i = 0; i < l->ranked && n < sizeof shown / sizeof *shown; i++) {
        const struct lpo_limit_row *r = &l->rows.at[l->by_saving[i]];
        bool fresh = r->dtype && (!l->dtype || strcmp(r->dtype, l->dtype) != 0);

        for (size_t k = 0; k < n && fresh; k++)
            fresh = strcmp(shown[k], r->dtype) != 0;
        if (!fresh)
            continue;
        shown[n++] = r->dtype;
        lpo_doc_paragraph(doc, "In %s: %.4g TFLOP/s; MFU is relative to %.4g TFLOP/s.", r->dtype,
                          r->peak / 1e12, r->sheet_peak / 1e12);
    }
}

static void add_ceilings(struct lpo_doc *doc, const struct lpo_limits *l)
{
    if (!l->hardware)
        return;
    if (l->dtype)
        lpo_doc_paragraph(doc, "Ceilings of %s (%s): %.4g TFLOP/s in %s, %.4g GB/s.", l->hardware,
                          l->source, l->peak / 1e12, l->dtype, l->bandwidth / 1e9);
    else
        lpo_doc_paragraph(doc, "Ceilings of %s (%s): %.4g GB/s.", l->hardware, l->source,
                          l->bandwidth / 1e9);
    if (l->sheet_peak != l->peak)
        lpo_doc_paragraph(doc, "MFU is relative to the %.4g TFLOP/s of the data sheet.",
                          l->sheet_peak / 1e12);
    add_other_rates(doc, l);
}

/* Two decimals, since it is compared with published figures; two significant digits where it is
 * small. */
static void add_mfu(struct lpo_str *s, double percent)
{
    lpo_str_addf(s, percent > 0 && percent < 0.1 ? "%.2g %%" : "%.2f %%", percent);
}

/* "with an MFU of 12.3 % and 4.5 % of the bandwidth", of which each may be unknown. */
static void add_whole(struct lpo_doc *doc, const struct lpo_limits *l)
{
    const struct lpo_limit_row *m = &l->model;
    LPO_STR s = { 0 };

    if (!lpo_measure_known(m->share))
        return;
    lpo_str_addf(&s, "%s as a whole runs at ",
                 m->stated ? "The work stated in report.needs" : "The model");
    lpo_units_add_percent(&s, 100 * m->share.value);
    lpo_str_add(&s, " of its roof");
    if (lpo_measure_known(m->mfu)) {
        lpo_str_add(&s, ", with an MFU of ");
        add_mfu(&s, 100 * m->mfu.value);
    }
    if (lpo_measure_known(m->bandwidth_use)) {
        lpo_str_add(&s, lpo_measure_known(m->mfu) ? " and " : ", with ");
        lpo_units_add_percent(&s, 100 * m->bandwidth_use.value);
        lpo_str_add(&s, " of the bandwidth");
    }
    lpo_doc_paragraph(doc, "%s: %.4g of %.4g ms could be saved.", lpo_str_text(&s),
                      m->saving_ns.value / 1e6, m->measured_ns.value / 1e6);
}

/* What is left out of all rows, and of the whole. */
static void add_first_calls(struct lpo_doc *doc, const struct lpo_limits *l)
{
    const struct lpo_limit_row *m = &l->model;
    LPO_STR s = { 0 };
    size_t rows = 0;

    for (size_t i = 0; i < l->rows.len; i++)
        rows += lpo_measure_known(l->rows.at[i].first_ns) &&
                (l->rows.at[i].stated || l->rows.at[i].phase >= 0);
    if (!rows)
        return;
    lpo_str_add(&s, "Only steady calls are judged: first calls that take at least twice as long "
                    "as later ones (modules are loaded, kernels are tuned or compiled), and idle "
                    "time around the first launch of a kernel, are left out of needs, times and "
                    "savings.");
    if (lpo_measure_known(m->first_ns)) {
        lpo_str_add(&s, " They took ");
        lpo_units_add_duration(&s, (int64_t)m->first_ns.value);
        lpo_str_add(&s, "; the other calls took ");
        lpo_units_add_duration(&s, (int64_t)m->measured_ns.value);
        lpo_str_add(&s, ".");
    }
    lpo_doc_paragraph(doc, "%s", lpo_str_text(&s));
}

void lpo_report_limits_words(struct lpo_doc *doc, const struct lpo_limits *l)
{
    lpo_doc_paragraph(doc,
                      "This chapter compares what %s, what %s regions took and the least time that "
                      "the hardware allows. The least time of a %s is the larger of two: its FLOPs "
                      "at the peak rate, and its bytes at the full bandwidth. A region's time "
                      "includes the regions inside it and the idle time of the GPU in it.",
                      l->has_model ? "the model needs" : "report.needs states",
                      l->has_model ? "its" : "the", l->has_model ? "module" : "region");
    add_ceilings(doc, l);
    add_first_calls(doc, l);
    add_whole(doc, l);
    for (size_t i = 0; i < l->notes.len; i++) {
        LPO_STR note = { 0 };

        lpo_report_limits_add_note(l, &l->notes.at[i], &note);
        lpo_doc_note(doc, LPO_NOTE_INFO, "%s", lpo_str_text(&note));
    }
}

void lpo_report_limits_in_words(struct lpo_doc *doc, const struct lpo_limits *l)
{
    const struct lpo_limit_row *m = &l->model, *worst = NULL;
    LPO_STR share = { 0 };
    LPO_STR evidence = { 0 };

    if (!lpo_measure_known(m->share))
        return;
    lpo_units_add_percent(&share, 100 * m->share.value);
    lpo_doc_section(doc, "limits", "How far from what the hardware allows", 1);
    lpo_doc_paragraph(
        doc,
        "Measured against %s, %s could take %.3g ms instead of "
        "%.4g ms%s: it runs at %s of what the hardware allows.",
        l->hardware, l->has_model ? "the model's own work" : "the work stated in report.needs",
        m->limit_ns.value / 1e6, m->measured_ns.value / 1e6,
        lpo_measure_known(m->first_ns) ? " (without first calls)" : "", lpo_str_text(&share));
    for (size_t i = 0; i < l->ranked && !worst; i++)
        if (l->rows.at[l->by_saving[i]].top)
            worst = &l->rows.at[l->by_saving[i]];
    if (worst)
        lpo_report_limits_add_evidence(worst, &evidence);
    if (evidence.len)
        lpo_doc_paragraph(doc,
                          "The largest part of that difference is in \"%s\" (%.4g ms), which is "
                          "limited by %s (%s).",
                          worst->path, worst->saving_ns.value / 1e6,
                          lpo_report_limits_bound(worst->held), lpo_str_text(&evidence));
}
