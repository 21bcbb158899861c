/* SPDX-License-Identifier: Apache-2.0 */
/* The chapter "What takes the time" of the summary: parts of the program and kinds of kernels. */
#include "report/summary/private.h"

#include "analysis/analysis.h"
#include "analysis/wall/steady.h"
#include "analysis/wall/wall.h"
#include "region/fold.h"
#include "report/doc/doc.h"
#include "rundir/rundir.h"
#include "util/units.h"

const char *lpo_summary_percent(const struct lpo_summary_page *t, int64_t part, int64_t whole)
{
    double value = whole > 0 ? 100.0 * (double)part / (double)whole : 0.0;

    if (part < whole && value >= 99.5)
        return "more than 99 %";
    return lpo_arena_printf(t->doc->arena, "%.0f %%", value);
}

const char *lpo_summary_duration(const struct lpo_summary_page *t, int64_t ns)
{
    LPO_STR s = { 0 };

    lpo_units_add_duration(&s, ns);
    return lpo_arena_strdup(t->doc->arena, s.at);
}

bool lpo_summary_counts(const struct lpo_summary_page *t, const struct lpo_fold_row *r)
{
    return r->sum.node != LPO_NODE_OUTSIDE && !t->steady->prepares[r->sum.node];
}

/* "load" and "warmup": their time on the clock where it is known, else the GPU's. */
static void add_left_out(struct lpo_summary_page *t)
{
    LPO_AUTO(lpo_region_fold) fold = NULL;
    LPO_STR names = { 0 };
    int64_t host_ns = 0, gpu_ns = 0;

    if (!t->steady->any)
        return;
    fold = lpo_region_fold_create(lpo_analysis_all(t->s->analysis), 1);
    for (size_t i = 0; i < fold->rows.len; i++) {
        const struct lpo_fold_row *r = &fold->rows.at[i];

        if (r->depth > 0 || r->sum.node == LPO_NODE_OUTSIDE || lpo_summary_counts(t, r))
            continue;
        lpo_str_addf(&names, "%s\"%s\"", names.len ? ", " : "", r->path);
        host_ns += r->sum.visits_known ? r->sum.host_ns : 0;
        gpu_ns += r->sum.all.ns;
    }
    if (names.len)
        lpo_doc_paragraph(t->doc,
                          "Loading and warm-up (%s: %s%s) are left out of everything below, "
                          "because they happen only once.",
                          names.at, lpo_summary_duration(t, host_ns ? host_ns : gpu_ns),
                          host_ns ? "" : " of GPU time");
}

int64_t lpo_summary_copies_ns(const struct lpo_summary_page *t)
{
    return t->all->coverage.copies.ns + t->all->coverage.sets.ns;
}

int64_t lpo_summary_part_ns(const struct lpo_summary_page *t, const struct lpo_fold_row *r)
{
    return t->gpu ? r->sum.all.ns + r->sum.copies.ns : r->sum.host_ns;
}

static bool is_shown(const struct lpo_summary_page *t, const struct lpo_fold_row *r)
{
    return r->depth == 0 && lpo_summary_counts(t, r) && lpo_summary_part_ns(t, r) > 0;
}

/* The outermost part that was open on another thread for most of the work of threads without marks;
 * NULL: no single one. */
static const char *adopter(const struct lpo_summary_page *t)
{
    const struct lpo_fold_row *best = NULL;

    for (size_t i = 0; i < t->fold->rows.len; i++) {
        const struct lpo_fold_row *r = &t->fold->rows.at[i];

        if (r->depth == 0 && (!best || r->sum.adopted.ns > best->sum.adopted.ns))
            best = r;
    }
    return best && best->sum.adopted.ns > t->all->coverage.adopted.ns / 2 ? best->name : NULL;
}

/* Kernels outside every region, or without a launch record: what they are for is not known. */
static void add_uncovered(struct lpo_summary_page *t)
{
    const struct lpo_coverage *c = &t->all->coverage;
    const char *in = adopter(t);

    if (c->outside.ns > c->total.ns / 10 && t->s->analysis->tree->nodes.len && c->adopted.ns)
        lpo_doc_paragraph(
            t->doc,
            "- %s of the time of all kernels (%s) lies outside every marked part; %s "
            "of it was launched by threads without marks%s while one other thread was "
            "in %s.",
            lpo_summary_percent(t, c->outside.ns, c->total.ns),
            lpo_summary_duration(t, c->outside.ns),
            lpo_summary_percent(t, c->adopted.ns, c->outside.ns),
            t->s->analysis->trace->ops.len ? ", as PyTorch's backward pass is," : "",
            in ? lpo_arena_printf(t->doc->arena, "\"%s\"", in) : "a marked part");
    else if (c->outside.ns > c->total.ns / 10 && t->s->analysis->tree->nodes.len)
        lpo_doc_paragraph(t->doc,
                          "- %s of the time of all kernels (%s) lies outside every marked part.",
                          lpo_summary_percent(t, c->outside.ns, c->total.ns),
                          lpo_summary_duration(t, c->outside.ns));
    if (t->s->analysis->trace->launches.len && c->no_launch.ns > c->total.ns / 10)
        lpo_doc_paragraph(t->doc,
                          "- %s of the time of all kernels (%s) has no launch record, because the "
                          "recording began late: the part that it belongs to is not known.",
                          lpo_summary_percent(t, c->no_launch.ns, c->total.ns),
                          lpo_summary_duration(t, c->no_launch.ns));
}

/* Of the rows that were not shown yet: the one that takes longest, copies included. NULL: none. */
static const struct lpo_fold_row *longest_part(const struct lpo_summary_page *t,
                                               const struct lpo_fold_row *const *had, size_t nhad)
{
    const struct lpo_fold_row *best = NULL;

    for (size_t i = 0; i < t->fold->rows.len; i++) {
        const struct lpo_fold_row *r = &t->fold->rows.at[i];
        bool fresh =
            is_shown(t, r) && (!best || lpo_summary_part_ns(t, r) > lpo_summary_part_ns(t, best));

        for (size_t k = 0; k < nhad && fresh; k++)
            fresh = had[k] != r;
        if (fresh)
            best = r;
    }
    return best;
}

static void add_regions(struct lpo_summary_page *t)
{
    int64_t whole = t->gpu ? t->all->coverage.total.ns + lpo_summary_copies_ns(t) : 0;
    const struct lpo_fold_row *shown[LPO_SUMMARY_ROWS], *r;
    size_t n;

    for (size_t i = 0; !t->gpu && i < t->fold->rows.len; i++)
        if (is_shown(t, &t->fold->rows.at[i]))
            whole += t->fold->rows.at[i].sum.host_ns;
    for (n = 0; n < LPO_SUMMARY_ROWS && (r = longest_part(t, shown, n)); n++) {
        if (lpo_summary_part_ns(t, r) < whole / 100) /* "0 %" says nothing */
            break;
        shown[n] = r;
        lpo_doc_paragraph(t->doc, "- The part called \"%s\" takes %s of it (%s).", r->name,
                          lpo_summary_percent(t, lpo_summary_part_ns(t, r), whole),
                          lpo_summary_duration(t, lpo_summary_part_ns(t, r)));
    }
    lpo_summary_add_inside(t, n, whole);
    add_uncovered(t);
}

/* The class with the largest share, whichever it is. */
static void add_classes(struct lpo_summary_page *t)
{
    static const char *const words[LPO_CLASSES] = {
        [LPO_CLASS_GEMM] = "multiplying matrices",
        [LPO_CLASS_ATTENTION] = "attention",
        [LPO_CLASS_CONVOLUTION] = "convolutions",
        [LPO_CLASS_ELEMENTWISE] = "element-wise operations",
        [LPO_CLASS_COPY] = "kernels that move data",
        [LPO_CLASS_COLLECTIVE] = "communication with other GPUs",
        [LPO_CLASS_NORM] = "normalising values",
        [LPO_CLASS_OTHER] = "kernels whose kind is not known",
    };
    int best = 0;

    for (int i = 1; i < LPO_CLASSES; i++)
        if (t->steady->class_ns[i] > t->steady->class_ns[best])
            best = i;
    if (t->steady->class_ns[best] > 0)
        lpo_doc_paragraph(t->doc, "- By kind of kernel, the largest share (%s) is %s.",
                          lpo_summary_percent(t, t->steady->class_ns[best], t->steady->kernel_ns),
                          words[best] ? words[best]
                                      : lpo_region_class_name((enum lpo_region_kernel_class)best));
}

static bool any_part(const struct lpo_summary_page *t)
{
    return lpo_any(i, t->fold->rows.len, is_shown(t, &t->fold->rows.at[i]));
}

bool lpo_summary_has_steady_time(const struct lpo_summary_page *t)
{
    return !t->steady->any || t->steady->cells.cells.len || any_part(t);
}

/* What several GPUs did side by side is longer than the time that passed: say so. */
static const char *on_gpus(const struct lpo_summary_page *t)
{
    size_t n = t->steady->wall ? t->steady->wall->devices.len : 0;

    return n > 1 ? lpo_arena_printf(t->doc->arena, " of %zu GPUs", n) : "";
}

void lpo_summary_add_time(struct lpo_summary_page *t)
{
    lpo_doc_section(t->doc, "time", "What takes the time", 1);
    add_left_out(t);
    if (!lpo_summary_has_steady_time(t)) {
        lpo_doc_paragraph(t->doc, "Nothing else was recorded, so this run does not show how the "
                                  "real work of the program performs.");
        return;
    }
    if (t->gpu && lpo_summary_copies_ns(t))
        lpo_doc_paragraph(
            t->doc, "All GPU work%s together takes %s: kernels %s, copies and memsets %s.",
            on_gpus(t), lpo_summary_duration(t, t->steady->kernel_ns + lpo_summary_copies_ns(t)),
            lpo_summary_duration(t, t->steady->kernel_ns),
            lpo_summary_duration(t, lpo_summary_copies_ns(t)));
    else if (t->gpu)
        lpo_doc_paragraph(t->doc, "All GPU work%s together takes %s.", on_gpus(t),
                          lpo_summary_duration(t, t->steady->kernel_ns));
    else if (any_part(t))
        lpo_doc_paragraph(t->doc, "Time of the marked parts of the program on the host:");
    else
        lpo_doc_paragraph(t->doc, "No part of the program is marked, and no GPU operation was "
                                  "recorded.");
    add_regions(t);
    if (t->gpu)
        add_classes(t);
}
