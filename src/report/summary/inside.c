/* SPDX-License-Identifier: Apache-2.0 */
/* Where one part takes nearly everything, as the step of a profiler does, or nothing is marked:
 * what it consists of, by the ranges inside it, else by the modules of PyTorch. */

#include "analysis/analysis.h"
#include "analysis/wall/steady.h"
#include "region/fold.h"
#include "report/chapters/chapters.h"
#include "report/doc/doc.h"
#include "report/summary/private.h"
#include "rundir/rundir.h"
#include "util/checked.h"

#define NEARLY_ALL 0.95
#define NO_ROW     SIZE_MAX

struct inside {
    const struct lpo_summary_page *t;
    const struct lpo_region_fold *fold;
    const struct lpo_wall_steady *steady; /* of the same regions */
};

static int64_t ns_of(const struct inside *v, size_t row)
{
    return lpo_summary_part_ns(v->t, &v->fold->rows.at[row]);
}

/* Rows stand below the row that they are in. `parent` NO_ROW: the outermost. */
static size_t first_child(size_t parent)
{
    return parent == NO_ROW ? 0 : parent + 1;
}

static bool is_inside(const struct inside *v, size_t parent, size_t row)
{
    return row < v->fold->rows.len &&
           (parent == NO_ROW || v->fold->rows.at[row].depth > v->fold->rows.at[parent].depth);
}

static bool was_had(const size_t *had, size_t nhad, size_t row)
{
    return lpo_any(i, nhad, had[i] == row);
}

/* Of the parts right inside `parent` that were not had yet: the one that takes longest, or NO_ROW.
 */
static size_t longest_child(const struct inside *v, size_t parent, const size_t *had, size_t nhad)
{
    unsigned depth = parent == NO_ROW ? 0 : v->fold->rows.at[parent].depth + 1;
    size_t best = NO_ROW;

    for (size_t i = first_child(parent); is_inside(v, parent, i); i++) {
        uint32_t node = v->fold->rows.at[i].sum.node;

        if (v->fold->rows.at[i].depth == depth && node != LPO_NODE_OUTSIDE &&
            !v->steady->prepares[node] && !was_had(had, nhad, i) && ns_of(v, i) > 0 &&
            (best == NO_ROW || ns_of(v, i) > ns_of(v, best)))
            best = i;
    }
    return best;
}

static int64_t children_ns(const struct inside *v, size_t parent)
{
    unsigned depth = parent == NO_ROW ? 0 : v->fold->rows.at[parent].depth + 1;
    int64_t ns = 0;

    for (size_t i = first_child(parent); is_inside(v, parent, i); i++)
        if (v->fold->rows.at[i].depth == depth && v->fold->rows.at[i].sum.node != LPO_NODE_OUTSIDE)
            ns = lpo_ns_add(ns, ns_of(v, i));
    return ns;
}

/* Down to the innermost part that has parts itself and takes nearly all of what is around it. */
static size_t descend(const struct inside *v)
{
    size_t at = NO_ROW, next;

    while ((next = longest_child(v, at, NULL, 0)) != NO_ROW &&
           longest_child(v, next, NULL, 0) != NO_ROW) {
        int64_t around = at == NO_ROW ? children_ns(v, at) : ns_of(v, at);

        if ((double)ns_of(v, next) < NEARLY_ALL * (double)around)
            break;
        at = next;
    }
    return at;
}

/* False: nothing is inside, or it explains less than half, or it is again nearly all. */
static bool add_parts(const struct inside *v, bool any_marked, const char *what, int64_t whole)
{
    size_t at = descend(v), shown[LPO_SUMMARY_ROWS], n = 0, row;
    int64_t around = at == NO_ROW ? whole : ns_of(v, at), sum = 0;
    LPO_STR s = { 0 };

    while (n < LPO_SUMMARY_ROWS && (row = longest_child(v, at, shown, n)) != NO_ROW &&
           ns_of(v, row) >= whole / 100) {
        lpo_str_addf(&s, "%s\"%s\" %s (%s)", n ? ", " : "", v->fold->rows.at[row].name,
                     lpo_summary_percent(v->t, ns_of(v, row), whole),
                     lpo_summary_duration(v->t, ns_of(v, row)));
        sum = lpo_ns_add(sum, ns_of(v, row));
        shown[n++] = row;
    }
    if (!n || (any_marked && at == NO_ROW) || sum < around / 2 ||
        (double)ns_of(v, shown[0]) > NEARLY_ALL * (double)around)
        return false;
    lpo_doc_paragraph(v->t->doc, "- %s: %s.", what, lpo_str_text(&s));
    return true;
}

static const struct lpo_analysis *modules_of(const struct lpo_summary_page *t)
{
    const struct lpo_source *from;
    const struct lpo_analysis *m = t->gpu ? lpo_report_modules(t->d, &from) : NULL;

    return m && from == t->s ? m : NULL; /* times of another run do not belong here */
}

void lpo_summary_add_inside(const struct lpo_summary_page *t, size_t parts, int64_t whole)
{
    struct inside own = { t, t->fold, t->steady };
    size_t top = longest_child(&own, NO_ROW, NULL, 0);
    const struct lpo_analysis *m;

    if (parts && (double)ns_of(&own, top) < NEARLY_ALL * (double)children_ns(&own, NO_ROW))
        return;
    if (parts && add_parts(&own, true, "Inside it", whole))
        return;
    m = modules_of(t);
    if (m) {
        LPO_AUTO(lpo_region_fold) fold = lpo_region_fold_create(lpo_analysis_steady(m)->all, 1);
        struct inside v = { t, fold, lpo_analysis_steady(m) };

        add_parts(&v, parts > 0, parts ? "Inside it, by module" : "By module", whole);
    }
}
