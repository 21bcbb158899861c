/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/critical_thread.h"

#include <stdbool.h>
#include <stdlib.h>

#include "analysis/critical/critical.h"
#include "region/tree.h"
#include "trace/trace.h"
#include "util/ahead.h"
#include "util/xmalloc.h"

/* Operations below which a thread costs more than it saves: some milliseconds of work. */
enum { FEWEST_OPS = 50000 };

struct lpo_analysis_critical_thread {
    const struct lpo_region_tree *tree;
    const struct lpo_program_steps *steps;
    struct lpo_ahead *thread;
};

struct batch {
    struct lpo_critical *critical;
};

static bool compute(void *ctx, void *to)
{
    const struct lpo_analysis_critical_thread *e = ctx;
    struct batch *b = to;

    b->critical = lpo_critical_create(e->tree, e->steps);
    return false;
}

static void keep(void *batch)
{
    (void)batch; /* what is in it was taken */
}

/* The tree looks up the class of a kernel when it is first asked for, and keeps it: two threads
 * must not do that. */
static void look_up_classes(const struct lpo_region_tree *tree)
{
    for (size_t i = 0; i < tree->trace->gpu_ops.len; i++)
        lpo_region_tree_class(tree, tree->trace->gpu_ops.at[i].name);
}

struct lpo_analysis_critical_thread *lpo_analysis_critical_thread_start(
    const struct lpo_region_tree *tree, const struct lpo_program_steps *steps)
{
    struct lpo_analysis_critical_thread *e;

    /* the graph of a single process is as large as its trace: beside the operators it would be the
     * most that a report takes */
    if (tree->trace->gpu_ops.len < FEWEST_OPS || tree->trace->processes.len < 2)
        return NULL;
    look_up_classes(tree);
    e = lpo_xcalloc(1, sizeof *e);
    e->tree = tree;
    e->steps = steps;
    e->thread = lpo_ahead_start(sizeof(struct batch), compute, e);
    if (e->thread)
        return e;
    free(e);
    return NULL;
}

struct lpo_critical *lpo_analysis_critical_thread_take(struct lpo_analysis_critical_thread *e)
{
    struct batch *b = lpo_ahead_next(e->thread);
    struct lpo_critical *critical = b ? b->critical : NULL;

    lpo_ahead_stop(e->thread, keep);
    free(e);
    return critical;
}
