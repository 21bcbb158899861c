#include "writer/build.h"

#include <string.h>

#include "analysis/analysis.h"
#include "analysis/limits/run.h"
#include "hydra/compose.h"
#include "report/chapters.h"
#include "report/doc/doc.h"
#include "report/ncu_regions.h"
#include "report/numbers.h"
#include "report/operators_doc.h"
#include "report/outcome.h"
#include "report/timeline_doc.h"
#include "run/folder.h"
#include "rundir/rundir.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/path.h"
#include "writer/svg.h"
#include "writer/writer.h"

static const char *title(const struct lpo_rundir *d)
{
    const char *program = lpo_report_run_program(d);
    const char *what = program ? program : lpo_report_run_model(d);

    return what ? lpo_arena_printf(d->arena, "Profile of %s", what) : "Profile";
}

static void add_limits(struct lpo_doc *doc, const struct lpo_rundir *d, const struct lpo_source *s)
{
    struct lpo_err err = { 0 };
    LPO_AUTO(lpo_limits) limits = lpo_limits_of_run(d, s, &err);

    if (limits) {
        lpo_report_chapter_limits(doc, limits);
        lpo_report_chapter_kernel_roofline(doc, limits, s->analysis, d->top);
        lpo_report_attach_limits(doc, limits);
    } else if (err.code) {
        lpo_doc_note(doc, LPO_NOTE_WARNING, "how far regions are from the limit is not known: %s",
                     lpo_err_cause(&err));
    }
}

static struct lpo_doc *report_doc(const struct lpo_rundir *d, const struct lpo_source *s)
{
    struct lpo_doc *doc = lpo_doc_create("run", title(d));

    lpo_report_chapter_run(doc, d);
    lpo_report_chapter_speed(doc, d);
    if (s) {
        add_limits(doc, d, s);
        lpo_report_chapter_regions(doc, d, s);
        lpo_report_chapter_gpu(doc, d, s);
    } else {
        lpo_doc_section(doc, "regions", "Time by region", 1);
        lpo_doc_paragraph(doc, "%s", lpo_report_why_no_trace(d));
    }
    lpo_report_chapter_power(doc, d, s);
    lpo_report_chapter_coverage(doc, d, s);
    if (s)
        lpo_report_attach_analysis(doc, d, s);
    return doc;
}

static int write_doc(const struct lpo_rundir *d, struct lpo_doc *doc,
                     const struct lpo_writer *writer, const char *name, struct lpo_err *err)
{
    int rc = lpo_writer_write(doc, writer, lpo_path_join(d->arena, d->dir, name), err);

    lpo_doc_destroy(doc);
    return rc;
}

/* report.<ext> in every format asked for that this run has something for. */
static int write_report(const struct lpo_rundir *d, const struct lpo_source *s,
                        const struct lpo_report_out *out, struct lpo_err *err)
{
    LPO_AUTO(lpo_doc) doc = report_doc(d, s);

    for (size_t i = 0; i < d->formats.len; i++) {
        const struct lpo_writer *w = d->formats.at[i];
        const char *file = "timeline.perfetto.json";
        int rc;

        if (w == &lpo_writer_perfetto && !s)
            continue;
        if (w == &lpo_writer_perfetto) {
            rc = write_doc(d, lpo_report_timeline_doc(s->analysis), w, file, err);
        } else {
            file = lpo_arena_printf(d->arena, "report.%s", w->ext);
            rc = lpo_writer_write(doc, w, lpo_path_join(d->arena, d->dir, file), err);
        }
        if (rc < 0)
            return rc;
        if (out)
            lpo_vec_push(out->files, lpo_arena_strdup(out->arena, file));
    }
    return lpo_writer_svg_write_all(doc, d->dir, err);
}

int lpo_writer_all_reports(const char *run_dir, const struct lpo_report_options *options,
                           const struct lpo_report_out *out, struct lpo_err *err)
{
    LPO_AUTO(lpo_rundir) d = NULL;
    const struct lpo_source *s;

    if (lpo_rundir_create(run_dir, options, &d, err) < 0)
        return lpo_ctx(err, "cannot report on '%s'", run_dir);
    s = lpo_rundir_main(d);
    if (write_report(d, s, out, err) < 0 ||
        write_doc(d, lpo_report_kernels_doc(d, s), &lpo_writer_md, "kernels.md", err) < 0 ||
        write_doc(d, lpo_report_operators_doc(d, lpo_rundir_source(d, "torch_profiler")),
                  &lpo_writer_md, "operators.md", err) < 0 ||
        write_doc(d, lpo_summary_doc(d, s), &lpo_writer_md, "stakeholder_summary.md", err) < 0)
        return err->code;
    if (lpo_writer_torch_write(d, err) < 0)
        return err->code;
    return lpo_report_ncu_regions_write(d, err);
}
