/* SPDX-License-Identifier: Apache-2.0 */
/* Forward work that the backward pass does again (activation checkpointing). A kernel was
 * recomputed when the innermost window around its launch is one of PyTorch's checkpoint, and not a
 * backward function that runs inside it. */
#include <stdlib.h>
#include <string.h>

#include "analysis/findings/private.h"
#include "util/xmalloc.h"

enum kind { UNSEEN, NO_WINDOW, RECOMPUTES, BACKWARD };

struct window {
    int64_t start_ns, end_ns;
    uint32_t thread;
    enum kind kind;
};

typedef LPO_VEC(struct window) windows;

/* Both ways of torch.utils.checkpoint: the reentrant one is a backward function, the other one
 * computes again in a hook. */
static enum kind kind_of(const char *name)
{
    if (strstr(name, "CheckpointFunctionBackward") ||
        (strstr(name, "checkpoint.py(") && strstr(name, "recompute_fn")))
        return RECOMPUTES;
    return strncmp(name, "autograd::engine::evaluate_function:", 36) == 0 ? BACKWARD : NO_WINDOW;
}

/* Names are few, operators are many. */
static enum kind cached(const struct lpo_trace *t, unsigned char *kinds, uint32_t name)
{
    if (kinds[name] == UNSEEN)
        kinds[name] = (unsigned char)kind_of(lpo_trace_text(t, name));
    return (enum kind)kinds[name];
}

static int by_thread_and_start(const void *x, const void *y)
{
    const struct window *a = x, *b = y;

    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    if (a->end_ns != b->end_ns)
        return a->end_ns > b->end_ns ? -1 : 1;
    return (int)b->kind - (int)a->kind; /* of equals the one that recomputes is the inner one */
}

/* False where nothing recomputes. */
static bool find_windows(const struct lpo_trace *t, windows *out)
{
    unsigned char *kinds = lpo_xcalloc(lpo_trace_name_count(t) + 1, 1);
    bool any = false;

    for (size_t i = 0; i < t->ops.len; i++) {
        const struct lpo_op *o = &t->ops.at[i];
        enum kind kind = cached(t, kinds, o->name);

        any |= kind == RECOMPUTES;
        if (kind != NO_WINDOW)
            lpo_vec_push(out, ((struct window){ o->start_ns, o->end_ns, o->thread, kind }));
    }
    for (size_t i = 0; i < t->python.len; i++) {
        const struct lpo_python_call *p = &t->python.at[i];

        if (cached(t, kinds, p->name) != RECOMPUTES)
            continue;
        any = true;
        lpo_vec_push(out, ((struct window){ p->start_ns, p->end_ns, p->thread, RECOMPUTES }));
    }
    free(kinds);
    if (any)
        qsort(out->at, out->len, sizeof *out->at, by_thread_and_start);
    return any;
}

/* A kernel of the critical device that the program waited for. */
struct waited {
    struct window at; /* its launch call */
    size_t row;       /* of slack */
};

static int by_launch(const void *x, const void *y)
{
    return by_thread_and_start(&((const struct waited *)x)->at, &((const struct waited *)y)->at);
}

static struct waited *find_kernels(const struct lpo_findings_work *w, size_t *count)
{
    struct waited *all = lpo_xrealloc(NULL, w->slack.count + 1, sizeof *all);
    size_t n = 0;

    for (size_t i = 0; i < w->slack.count; i++) {
        const struct lpo_gpu_op *op = &w->trace->gpu_ops.at[w->slack.rows[i]];
        const struct lpo_launch *l;

        if (op->kind != LPO_KERNEL || op->launch == LPO_NONE)
            continue;
        l = &w->trace->launches.at[op->launch];
        all[n++] = (struct waited){ { l->start_ns, l->end_ns, l->thread, NO_WINDOW }, i };
    }
    qsort(all, n, sizeof *all, by_launch);
    *count = n;
    return all;
}

struct totals {
    uint64_t kernels;
    int64_t gpu_ns, *want; /* per row of slack */
};

static void sum(const struct lpo_findings_work *w, const struct waited *kernels, size_t count,
                const windows *all, struct totals *out)
{
    windows open = { 0 };
    size_t next = 0;

    for (size_t i = 0; i < count; i++) {
        const struct window *k = &kernels[i].at;

        for (; next < all->len &&
               (all->at[next].thread < k->thread ||
                (all->at[next].thread == k->thread && all->at[next].start_ns <= k->start_ns));
             next++)
            lpo_vec_push(&open, all->at[next]);
        while (open.len && (open.at[open.len - 1].thread != k->thread ||
                            open.at[open.len - 1].end_ns < k->end_ns))
            open.len--;
        if (!open.len || open.at[open.len - 1].kind != RECOMPUTES)
            continue;
        out->kernels++;
        out->want[kernels[i].row] =
            lpo_trace_gpu_op_ns(&w->trace->gpu_ops.at[w->slack.rows[kernels[i].row]]);
        out->gpu_ns += out->want[kernels[i].row];
    }
    lpo_vec_free(&open);
}

void lpo_findings_recomputation(struct lpo_findings_work *w)
{
    struct totals total = { 0 };
    struct waited *kernels;
    struct lpo_finding *f;
    windows all = { 0 };
    size_t count;

    if (find_windows(w->trace, &all)) {
        kernels = find_kernels(w, &count);
        total.want = lpo_findings_wants(w);
        sum(w, kernels, count, &all, &total);
        free(kernels);
        f = lpo_findings_claim(w, LPO_FINDING_RECOMPUTATION, total.want);
        free(total.want);
        if (f) {
            lpo_findings_fact(f, LPO_FACT_LAUNCHES, (double)total.kernels);
            lpo_findings_fact(f, LPO_FACT_GPU_NS, (double)total.gpu_ns);
        }
    }
    lpo_vec_free(&all);
}
