/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ranks/jobs.h"

#include "trace/trace.h"

#define DAY_NS   (86400 * INT64_C(1000000000))
#define SENSE_NS (INT64_C(1262304000) * 1000000000) /* 2010: clocks before that were never set */

/* PyTorch's names of the group that all ranks are in. */
static bool is_group_of_all(const char *name)
{
    return strcmp(name, "0") == 0 || strcmp(name, "default_pg") == 0;
}

static struct lpo_ranks_jobs other_groups(const struct lpo_trace *t)
{
    uint32_t least = 0, most = 0;

    for (size_t i = 0; i < t->collectives.len; i++) {
        const struct lpo_collective *c = &t->collectives.at[i];

        if (!c->ranks || c->group == LPO_NONE || !is_group_of_all(lpo_trace_text(t, c->group)))
            continue;
        least = !least || c->ranks < least ? c->ranks : least;
        most = c->ranks > most ? c->ranks : most;
    }
    return (struct lpo_ranks_jobs){ least != most ? LPO_RANKS_GROUPS : LPO_RANKS_ONE_JOB, least,
                                    most };
}

/* When a device worked. */
struct span {
    int64_t first_ns, last_ns;
};

LPO_COMPARE(by_first, struct span, LPO_UP(first_ns));

static struct span *spans_of(const struct lpo_trace *t, size_t *count)
{
    struct span *all = lpo_xcalloc(t->devices.len + 1, sizeof *all);
    size_t n = 0;

    for (size_t i = 0; i < t->gpu_ops.len; i++) {
        const struct lpo_gpu_op *op = &t->gpu_ops.at[i];
        struct span *s = &all[op->device];

        if ((op->flags & LPO_GPU_OP_UNTIMED) || op->start_ns < SENSE_NS)
            continue;
        s->first_ns = !s->first_ns || op->start_ns < s->first_ns ? op->start_ns : s->first_ns;
        s->last_ns = op->end_ns > s->last_ns ? op->end_ns : s->last_ns;
    }
    for (size_t i = 0; i < t->devices.len; i++)
        if (t->devices.at[i].rank >= 0 && all[i].first_ns)
            all[n++] = all[i];
    *count = n;
    return all;
}

/* A day or more in which no rank did anything. Clocks of one job may be hours apart. */
static struct lpo_ranks_jobs other_times(const struct lpo_trace *t)
{
    size_t count;
    LPO_FREED struct span *all = spans_of(t, &count);
    int64_t last = 0, gap = 0;

    qsort(all, count, sizeof *all, by_first);
    for (size_t i = 0; i < count; i++) {
        if (i && all[i].first_ns - last > gap)
            gap = all[i].first_ns - last;
        last = all[i].last_ns > last ? all[i].last_ns : last;
    }
    return (struct lpo_ranks_jobs){ gap >= DAY_NS ? LPO_RANKS_TIMES : LPO_RANKS_ONE_JOB,
                                    gap / DAY_NS, 0 };
}

struct lpo_ranks_jobs lpo_ranks_jobs(const struct lpo_trace *t)
{
    struct lpo_ranks_jobs jobs = { .why = LPO_RANKS_ONE_JOB };

    if (t->least_ranks && t->least_ranks != t->ranks)
        return (struct lpo_ranks_jobs){ LPO_RANKS_WORLDS, t->least_ranks, t->ranks };
    for (size_t i = 0; i < t->devices.len; i++)
        if (t->ranks && t->devices.at[i].rank >= (int64_t)t->ranks)
            return (struct lpo_ranks_jobs){ LPO_RANKS_OVERFULL, t->devices.at[i].rank, t->ranks };
    jobs = other_groups(t);
    return jobs.why != LPO_RANKS_ONE_JOB ? jobs : other_times(t);
}
