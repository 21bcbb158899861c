/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/duplicates.h"

#include <stdlib.h>

#include "trace/trace.h"
#include "util/path.h"
#include "util/vec.h"

/* From the first to the last moment of one process in one file. */
struct window {
    int64_t start_ns, end_ns;
    uint16_t process;
};

struct lpo_trace_duplicates {
    LPO_VEC(struct window) windows; /* of the files so far */
    size_t gpu_ops, ranges;         /* rows of those files */
};

void lpo_trace_duplicates_destroy(struct lpo_trace_duplicates *o)
{
    if (!o)
        return;
    lpo_vec_free(&o->windows);
    free(o);
}

static void widen(struct window *w, int64_t start_ns, int64_t end_ns)
{
    bool first = w->start_ns > w->end_ns;

    w->start_ns = first || start_ns < w->start_ns ? start_ns : w->start_ns;
    w->end_ns = first || end_ns > w->end_ns ? end_ns : w->end_ns;
}

static struct window *windows_of_rows(const struct lpo_trace_duplicates *o,
                                      const struct lpo_trace *t)
{
    struct window *now = lpo_xcalloc(t->processes.len + 1, sizeof *now);

    for (size_t i = 0; i < t->processes.len; i++)
        now[i] = (struct window){ 1, 0, (uint16_t)i };
    for (size_t i = o->gpu_ops; i < t->gpu_ops.len; i++) {
        const struct lpo_gpu_op *w = &t->gpu_ops.at[i];
        if (!(w->flags & LPO_GPU_OP_UNTIMED) && w->process < t->processes.len)
            widen(&now[w->process], w->start_ns, w->end_ns);
    }
    for (size_t i = o->ranges; i < t->ranges.len; i++) {
        const struct lpo_range *r = &t->ranges.at[i];
        uint16_t process =
            r->thread < t->threads.len ? t->threads.at[r->thread].process : UINT16_MAX;
        if (process < t->processes.len)
            widen(&now[process], r->start_ns, r->end_ns);
    }
    return now;
}

static void compare(const struct lpo_trace_duplicates *o, struct lpo_trace *t,
                    const struct window *w, const char *path)
{
    int64_t pid = t->processes.at[w->process].pid;

    for (size_t i = 0; pid >= 0 && i < o->windows.len; i++) {
        const struct window *before = &o->windows.at[i];

        if (before->process != w->process || w->end_ns <= before->start_ns ||
            w->start_ns >= before->end_ns)
            continue;
        lpo_trace_note(t, 0,
                       "'%s' and a file before it describe process %lld at the same time: was one "
                       "file given twice, or do they come from two machines? They are taken as one "
                       "process, and ranges that overlap as nested",
                       lpo_path_base(path), (long long)pid);
        return;
    }
}

void lpo_trace_duplicates_note(struct lpo_trace *t, const char *path)
{
    struct lpo_trace_duplicates *o = t->duplicates ? t->duplicates : lpo_xcalloc(1, sizeof *o);
    struct window *now = windows_of_rows(o, t);
    size_t count = t->processes.len;

    for (size_t i = 0; i < count; i++)
        if (now[i].start_ns <= now[i].end_ns)
            compare(o, t, &now[i], path);
    for (size_t i = 0; i < count; i++)
        if (now[i].start_ns <= now[i].end_ns)
            lpo_vec_push(&o->windows, now[i]);
    t->duplicates = o;
    o->gpu_ops = t->gpu_ops.len;
    o->ranges = t->ranges.len;
    free(now);
}
