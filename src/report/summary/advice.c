/* What could be done, and the time that lies in it. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/wall/preparation.h"
#include "region/fold.h"
#include "region/scope.h"
#include "region/top.h"
#include "report/doc/doc.h"
#include "report/summary/summary.h"
#include "trace/trace.h"
#include "util/arena.h"

enum { MOST_IDEAS = 16 };

struct idea {
    const char *text;
    int64_t ns;
};

struct ideas {
    struct lpo_summary_facts *story;
    struct idea at[MOST_IDEAS];
    size_t len;
};

static void idea(struct ideas *ideas, int64_t ns, const char *text)
{
    if (ns > 0 && ideas->len < MOST_IDEAS)
        ideas->at[ideas->len++] = (struct idea){ text, ns };
}

static int by_ns(const void *a, const void *b)
{
    const struct idea *x = a, *y = b;

    if (x->ns != y->ns)
        return x->ns > y->ns ? -1 : 1;
    return strcmp(x->text, y->text);
}

/* Time of a region by itself. */
static int64_t own_ns(const struct lpo_summary_facts *t, const struct lpo_fold_row *r)
{
    if (!lpo_summary_counts(t, r))
        return 0;
    return t->gpu ? r->sum.self.ns : r->sum.host_self_ns;
}

/* The dearest regions by themselves: one beside the GPU's own troubles, else three. */
static void idea_regions(struct ideas *ideas)
{
    struct lpo_summary_facts *t = ideas->story;
    int64_t under = INT64_MAX;

    for (int k = 0; k < (t->gpu ? 1 : LPO_STORY_WORST); k++) {
        const struct lpo_fold_row *best = NULL;
        int64_t best_ns = 0;

        for (size_t i = 0; i < t->fold->rows.len; i++) {
            int64_t ns = own_ns(t, &t->fold->rows.at[i]);

            if (ns > best_ns && ns < under) {
                best = &t->fold->rows.at[i];
                best_ns = ns;
            }
        }
        if (!best)
            return;
        under = best_ns;
        idea(ideas, best_ns / 4,
             lpo_arena_printf(t->doc->arena,
                              "Look at \"%s\", which takes %s by itself%s. Making it a quarter "
                              "faster would save %s.",
                              best->path, lpo_summary_duration(t, best_ns),
                              k ? "" : ", more than any other part",
                              lpo_summary_duration(t, best_ns / 4)));
    }
}

static void idea_kernel(struct ideas *ideas)
{
    struct lpo_summary_facts *t = ideas->story;
    lpo_top_rows rows = { 0 };

    lpo_region_top(&t->waited->cells, LPO_KERNEL, &rows);
    if (rows.len && rows.at[0].sum.ns > 0) {
        size_t len;
        const char *function = lpo_region_kernel_function(
            lpo_trace_text(t->waited->cells.tree->trace, rows.at[0].name), &len);

        idea(ideas, rows.at[0].sum.ns / 4,
             lpo_arena_printf(t->doc->arena,
                              "Measure the dearest single GPU job, \"%.*s\" (%s of the work), in "
                              "depth: lpo top and lpo kernels. A quarter off it would save %s.",
                              (int)(len < 120 ? len : 120), function,
                              lpo_summary_percent(t, rows.at[0].sum.ns, t->kernel_ns),
                              lpo_summary_duration(t, rows.at[0].sum.ns / 4)));
    }
    lpo_vec_free(&rows);
}

static void gather(struct ideas *ideas)
{
    struct lpo_summary_facts *t = ideas->story;
    int64_t host = t->gaps.by[LPO_GAP_HOST].ns, idle = t->span_ns - t->busy_ns;
    int64_t small = t->class_ns[LPO_CLASS_ELEMENTWISE] + t->class_ns[LPO_CLASS_COPY] +
                    t->class_ns[LPO_CLASS_NORM];

    if (host > idle) /* streams wait side by side; the GPU as a whole idles less */
        host = idle;

    if (host * 20 > t->span_ns)
        idea(ideas, host,
             lpo_arena_printf(t->doc->arena,
                              "Hand the GPU its jobs earlier or in bundles (CUDA graphs, "
                              "torch.compile, larger batches): up to %s of waiting can go.",
                              lpo_summary_duration(t, host)));
    if (t->exposed_ns * 50 > t->span_ns)
        idea(ideas, t->exposed_ns,
             lpo_arena_printf(t->doc->arena,
                              "Let talking to other GPUs overlap with computing: up to %s can be "
                              "hidden.",
                              lpo_summary_duration(t, t->exposed_ns)));
    if (t->copy_ns * 20 > t->busy_ns)
        idea(ideas, t->copy_ns,
             lpo_arena_printf(t->doc->arena,
                              "Copy less, or copy while computing (pinned memory, other streams): "
                              "up to %s.",
                              lpo_summary_duration(t, t->copy_ns)));
    if (small * 5 > t->kernel_ns)
        idea(ideas, small / 2,
             lpo_arena_printf(t->doc->arena,
                              "Melt small steps together (operator fusion, torch.compile): they "
                              "take %s of the work; half of it, %s, is a usual win.",
                              lpo_summary_percent(t, small, t->kernel_ns),
                              lpo_summary_duration(t, small / 2)));
    if (t->gpu)
        idea_kernel(ideas);
    idea_regions(ideas);
    if (t->all->coverage.outside.ns * 5 > t->kernel_ns || (!t->gpu && !t->fold->rows.len))
        idea(ideas, t->all->coverage.outside.ns / 20 + 1,
             "Mark the parts of the program with NVTX ranges: a large share of the work lies "
             "outside every marked part, so nobody can say what it is for.");
}

bool lpo_summary_advise(struct lpo_summary_facts *t)
{
    struct ideas ideas = { .story = t };

    gather(&ideas);
    qsort(ideas.at, ideas.len, sizeof *ideas.at, by_ns);
    for (size_t i = 0; i < ideas.len && i < LPO_STORY_WORST; i++)
        lpo_doc_paragraph(t->doc, "%zu. %s", i + 1, ideas.at[i].text);
    return ideas.len > 0;
}
