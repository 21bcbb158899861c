/* SPDX-License-Identifier: Apache-2.0 */
/* Which steps are steady, and the time of each process that a person waits for. Leading steps that
 * do once what later ones do not are not steady; a step in the middle that compiles again is steady
 * and slow. */

#include "analysis/phases/private.h"
#include "analysis/steps/steps.h"
#include "trace/trace.h"

enum { LEAST_PART = 100 }; /* of a step: what it must do once to be no steady one */

static bool is_clean(const struct lpo_phases *p, const struct lpo_program_step *s)
{
    int64_t ns = s->wall_ns > 0 ? s->wall_ns : s->host_ns;

    return lpo_phases_once_ns(p, s->process, s->start_ns, s->start_ns + ns) <= ns / LEAST_PART;
}

static int64_t end_of(const struct lpo_program_step *s)
{
    int64_t end_ns = s->start_ns + s->host_ns;

    return s->operations && s->last_ns > end_ns ? s->last_ns : end_ns;
}

/* A profiler that records in windows leaves seconds between steps that are several times as long as
 * all of them: the window with most steps is the one that is looked at, of equals the last. */
static void longest_window(const struct lpo_program_steps *steps, size_t *from, size_t *to)
{
    const int64_t least_ns = 1000000000;
    int64_t inside = 0, gaps = 0;
    size_t begin = *from, best = *from, most = 0;

    for (size_t i = *from; i + 1 < *to; i++) {
        int64_t gap = steps->rows.at[i + 1].start_ns - end_of(&steps->rows.at[i]);

        gaps += gap > least_ns ? gap : 0;
    }
    inside =
        *to > *from ? end_of(&steps->rows.at[*to - 1]) - steps->rows.at[*from].start_ns - gaps : 0;
    for (size_t i = *from; gaps > 3 * inside && i < *to; i++)
        if (i + 1 == *to ||
            steps->rows.at[i + 1].start_ns - end_of(&steps->rows.at[i]) > least_ns) {
            best = i + 1 - begin >= most ? begin : best;
            most = i + 1 - begin >= most ? i + 1 - begin : most;
            begin = i + 1;
        }
    if (most) {
        *from = best;
        *to = best + most;
    }
}

/* Steps [from, to) are those of one process. */
static void judge_steps(struct lpo_phases *p, const struct lpo_program_steps *steps, size_t from,
                        size_t to)
{
    struct lpo_phases_window w = { .process = steps->rows.at[from].process, .end_ns = INT64_MIN };
    size_t first = from;

    while (to > from && steps->rows.at[to - 1].cut)
        to--;
    longest_window(steps, &from, &to);
    first = from;
    while (first < to && !is_clean(p, &steps->rows.at[first]))
        first++;
    if (first == to) /* none does without */
        first = from;
    for (size_t i = first; i < to; i++) {
        int64_t end_ns = end_of(&steps->rows.at[i]);

        p->steady_steps[i] = true;
        w.end_ns = end_ns > w.end_ns ? end_ns : w.end_ns;
    }
    w.start_ns = steps->rows.at[first].start_ns;
    w.first_step = first;
    w.steps = to - first;
    if (w.steps)
        lpo_vec_push(&p->windows, w);
}

static void widen(struct lpo_phases_window *w, int64_t start_ns, int64_t end_ns)
{
    w->start_ns = start_ns < w->start_ns ? start_ns : w->start_ns;
    w->end_ns = end_ns > w->end_ns ? end_ns : w->end_ns;
}

/* Of each process: from the first to the last event of the threads that launch, and of the GPU. */
static struct lpo_phases_window *whole_runs(const struct lpo_trace *t)
{
    struct lpo_phases_window *all = lpo_xcalloc(t->processes.len + 1, sizeof *all);
    LPO_FREED bool *launches = lpo_xcalloc(t->threads.len + 1, sizeof *launches);

    for (size_t i = 0; i < t->processes.len; i++)
        all[i] = (struct lpo_phases_window){ INT64_MAX, INT64_MIN, (uint16_t)i, 0, 0 };
    for (size_t i = 0; i < t->launches.len; i++)
        launches[t->launches.at[i].thread] = true;
    for (size_t i = 0; i < t->threads.len && !t->launches.len; i++)
        launches[i] = true; /* nothing says which ones do */
#define WIDEN(rows)                                                                                \
    for (size_t i = 0; i < t->rows.len; i++)                                                       \
        if (launches[t->rows.at[i].thread])                                                        \
            widen(&all[t->threads.at[t->rows.at[i].thread].process], t->rows.at[i].start_ns,       \
                  t->rows.at[i].end_ns);
    WIDEN(ranges)
    WIDEN(ops)
    WIDEN(calls)
    WIDEN(launches)
    WIDEN(python)
#undef WIDEN
    for (size_t i = 0; i < t->gpu_ops.len; i++)
        if (!(t->gpu_ops.at[i].flags & LPO_GPU_OP_UNTIMED))
            widen(&all[t->gpu_ops.at[i].process], t->gpu_ops.at[i].start_ns,
                  t->gpu_ops.at[i].end_ns);
    return all;
}

LPO_COMPARE(by_process, struct lpo_phases_window, LPO_UP(process));

void lpo_phases_find_windows(const struct lpo_trace *t, const struct lpo_program_steps *steps,
                             struct lpo_phases *out)
{
    LPO_FREED struct lpo_phases_window *whole = whole_runs(t);
    size_t count = steps ? steps->rows.len : 0, judged;
    LPO_FREED bool *has = lpo_xcalloc(t->processes.len + 1, sizeof *has);

    if (count)
        out->steady_steps = lpo_xcalloc(count, sizeof *out->steady_steps);
    for (size_t i = 0, from; i < count;) {
        for (from = i; i < count && steps->rows.at[i].process == steps->rows.at[from].process; i++)
            ;
        judge_steps(out, steps, from, i);
    }
    judged = out->windows.len;
    for (size_t i = 0; i < judged; i++)
        has[out->windows.at[i].process] = true;
    for (uint16_t i = 0; i < t->processes.len; i++)
        if (!has[i] && whole[i].end_ns >= whole[i].start_ns)
            lpo_vec_push(&out->windows, whole[i]);
    lpo_vec_sort(&out->windows, by_process);
}
