/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/counters/sweep.h"

/* A GPU runs 128 kernels at one time, and a few copies. A damaged file has more; without a bound
 * each sample would walk over all of them. */
enum { MOST_RUNNING = 512 };

struct lpo_sample_sweep lpo_counters_sweep(const struct lpo_sweep_ops *ops, int64_t shift_ns)
{
    return (struct lpo_sample_sweep){ .ops = ops, .shift_ns = shift_ns };
}

void lpo_counters_sweep_rewind(struct lpo_sample_sweep *s)
{
    s->next = 0;
    s->running.len = s->found.len = 0;
    s->left_out = 0;
}

void lpo_counters_sweep_free(struct lpo_sample_sweep *s)
{
    lpo_vec_free(&s->running);
    lpo_vec_free(&s->found);
}

/* Operations are in the order of their start, so their union grows from the left. */
static void note(struct lpo_sample_sweep *s, uint32_t entry, int64_t from, int64_t to,
                 int64_t *covered)
{
    lpo_vec_push(&s->found, (struct lpo_overlap){ entry, to - from });
    if (from < *covered)
        from = *covered;
    if (to > from) {
        s->busy_ns += to - from;
        *covered = to;
    }
}

/* The part of an operation inside the sample. True: it goes on after it. */
static bool look(struct lpo_sample_sweep *s, uint32_t entry, int64_t start_ns, int64_t end_ns,
                 int64_t *covered)
{
    int64_t move = s->ops->clock_ns + s->shift_ns;
    int64_t from = s->ops->times[entry].start_ns + move, to = s->ops->times[entry].end_ns + move;

    if (to > start_ns && from < end_ns)
        note(s, entry, from > start_ns ? from : start_ns, to < end_ns ? to : end_ns, covered);
    return to > end_ns;
}

void lpo_counters_sweep_to(struct lpo_sample_sweep *s, int64_t start_ns, int64_t end_ns)
{
    int64_t move = s->ops->clock_ns + s->shift_ns, covered = start_ns;
    size_t kept = 0;

    s->found.len = 0;
    s->busy_ns = 0;
    for (size_t i = 0; i < s->running.len; i++)
        if (look(s, s->running.at[i], start_ns, end_ns, &covered))
            s->running.at[kept++] = s->running.at[i];
    s->running.len = kept;
    for (; s->next < s->ops->count && s->ops->times[s->next].start_ns + move < end_ns; s->next++) {
        if (!look(s, (uint32_t)s->next, start_ns, end_ns, &covered))
            continue;
        if (s->running.len < MOST_RUNNING)
            lpo_vec_push(&s->running, (uint32_t)s->next);
        else
            s->left_out++;
    }
}
