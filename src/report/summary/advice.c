/* SPDX-License-Identifier: Apache-2.0 */
/* "What to do first": what could be done, and the time that it could save. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/wall/steady.h"
#include "region/fold.h"
#include "region/scope.h"
#include "region/top_kernels.h"
#include "report/doc/doc.h"
#include "report/summary/summary.h"
#include "rundir/rundir.h"
#include "trace/trace.h"
#include "util/arena.h"

enum { MOST_ADVICE = 16 };

struct advice {
    const char *text;
    int64_t ns;
};

struct advice_list {
    struct lpo_summary_facts *facts;
    struct advice at[MOST_ADVICE];
    size_t len;
};

static void advise(struct advice_list *list, int64_t ns, const char *text)
{
    if (ns > 0 && list->len < MOST_ADVICE)
        list->at[list->len++] = (struct advice){ text, ns };
}

static int by_ns(const void *a, const void *b)
{
    const struct advice *x = a, *y = b;

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

/* The most expensive regions, without what is inside them: one beside the advice about the GPU,
 * else three. */
static void advise_regions(struct advice_list *list)
{
    struct lpo_summary_facts *t = list->facts;
    int64_t under = INT64_MAX;

    for (int k = 0; k < (t->gpu ? 1 : LPO_SUMMARY_ROWS); k++) {
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
        advise(list, best_ns / 4,
               lpo_arena_printf(t->doc->arena,
                                "Look at \"%s\", which takes %s by itself%s. Making it a quarter "
                                "faster would save %s.",
                                best->path, lpo_summary_duration(t, best_ns),
                                k ? "" : ", more than any other part",
                                lpo_summary_duration(t, best_ns / 4)));
    }
}

static void advise_kernel(struct advice_list *list)
{
    struct lpo_summary_facts *t = list->facts;
    const lpo_top_rows *rows = &t->steady->top;

    if (rows->len && rows->at[0].sum.ns > 0) {
        size_t len;
        const char *function = lpo_region_kernel_function(
            lpo_trace_text(t->steady->cells.tree->trace, rows->at[0].name), &len);

        advise(
            list, rows->at[0].sum.ns / 4,
            lpo_arena_printf(t->doc->arena,
                             "Profile the most expensive kernel, \"%.*s\" (%s of the time of all "
                             "kernels), in detail with "
                             "lpo top and lpo kernels. Making it a quarter faster would save %s.",
                             (int)(len < 120 ? len : 120), function,
                             lpo_summary_percent(t, rows->at[0].sum.ns, t->steady->kernel_ns),
                             lpo_summary_duration(t, rows->at[0].sum.ns / 4)));
    }
}

/* By the parts and causes of the GPU with the longest span. */
static void advise_wall(struct advice_list *list)
{
    struct lpo_summary_facts *t = list->facts;
    const struct lpo_wall_device *d = t->wall;
    struct lpo_arena *arena = t->doc->arena;

    if (d->idle[LPO_IDLE_HOST].ns * 20 > d->span_ns)
        advise(list, d->idle[LPO_IDLE_HOST].ns,
               lpo_arena_printf(arena,
                                "Launch kernels earlier or in groups (CUDA graphs, torch.compile, "
                                "larger batches): up to %s of idle time could be saved.",
                                lpo_summary_duration(t, d->idle[LPO_IDLE_HOST].ns)));
    if (d->calls.len && d->calls.at[0].idle_ns * 20 > d->span_ns)
        advise(list, d->calls.at[0].idle_ns,
               lpo_arena_printf(arena,
                                "Find out what the program waits for in %.80s: the GPU was idle "
                                "for %s meanwhile.",
                                lpo_trace_text(t->s->analysis->trace, d->calls.at[0].name),
                                lpo_summary_duration(t, d->calls.at[0].idle_ns)));
    if (d->parts_unknown)
        return;
    if (d->exposed_communication_ns * 50 > d->span_ns)
        advise(list, d->exposed_communication_ns,
               lpo_arena_printf(arena, "Overlap communication with computing: up to %s is exposed.",
                                lpo_summary_duration(t, d->exposed_communication_ns)));
    if (d->exposed_copy_ns * 20 > d->span_ns)
        advise(
            list, d->exposed_copy_ns,
            lpo_arena_printf(arena,
                             "Copy less, or copy while computing (other streams): up to %s could "
                             "be saved.",
                             lpo_summary_duration(t, d->exposed_copy_ns)));
}

static void gather(struct advice_list *list)
{
    struct lpo_summary_facts *t = list->facts;
    int64_t small = t->steady->class_ns[LPO_CLASS_ELEMENTWISE] +
                    t->steady->class_ns[LPO_CLASS_COPY] + t->steady->class_ns[LPO_CLASS_NORM];

    if (t->wall)
        advise_wall(list);
    if (small * 5 > t->steady->kernel_ns)
        advise(list, small / 2,
               lpo_arena_printf(t->doc->arena,
                                "Fuse small kernels (operator fusion, torch.compile): they take %s "
                                "of the GPU work; half of that, %s, is a usual saving.",
                                lpo_summary_percent(t, small, t->steady->kernel_ns),
                                lpo_summary_duration(t, small / 2)));
    if (t->gpu)
        advise_kernel(list);
    advise_regions(list);
    if (t->all->coverage.outside.ns * 5 > t->steady->kernel_ns || (!t->gpu && !t->fold->rows.len))
        advise(
            list, t->all->coverage.outside.ns / 20 + 1,
            "Mark the parts of the program with NVTX ranges: a large share of the work is outside "
            "every marked part, so the report cannot say what it is for.");
}

bool lpo_summary_advise(struct lpo_summary_facts *t)
{
    struct advice_list list = { .facts = t };

    gather(&list);
    qsort(list.at, list.len, sizeof *list.at, by_ns);
    for (size_t i = 0; i < list.len && i < LPO_SUMMARY_ROWS; i++)
        lpo_doc_paragraph(t->doc, "%zu. %s", i + 1, list.at[i].text);
    return list.len > 0;
}
