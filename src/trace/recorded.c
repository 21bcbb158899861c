/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/recorded.h"

#include "trace/trace.h"
#include "util/checked.h"

struct stretch {
    int64_t start_ns, end_ns;
    int64_t before_ns; /* all that was recorded of the process before it */
    uint16_t process;
};

struct of_process {
    size_t first, count; /* stretches, in order of time */
    bool windowed;       /* else all of it was recorded */
    bool open_end;       /* windows after the last one may be missing */
};

struct lpo_trace_recorded {
    LPO_VEC(struct stretch) stretches;
    struct of_process *processes;
    size_t nprocesses;
};

LPO_COMPARE(by_time, struct stretch, LPO_UP(process) ?: LPO_UP(start_ns));

/* Windows of a process do not overlap; those of a damaged file may. */
static void add_up(struct lpo_trace_recorded *r)
{
    for (size_t i = 0; i < r->stretches.len; i++) {
        struct stretch *s = &r->stretches.at[i];
        struct of_process *p = &r->processes[s->process];
        const struct stretch *last = p->count ? s - 1 : NULL;

        if (!p->count++)
            p->first = i;
        if (last && s->start_ns < last->end_ns)
            s->start_ns = last->end_ns;
        if (s->end_ns < s->start_ns)
            s->end_ns = s->start_ns;
        if (last)
            s->before_ns = lpo_ns_add(last->before_ns, last->end_ns - last->start_ns);
    }
}

struct lpo_trace_recorded *lpo_trace_recorded_create(const struct lpo_trace *t)
{
    struct lpo_trace_recorded *r;

    if (!t->window_ranges.len)
        return NULL;
    r = lpo_xcalloc(1, sizeof *r);
    r->nprocesses = t->processes.len;
    r->processes = lpo_xcalloc(t->processes.len + 1, sizeof *r->processes);
    for (size_t i = 0; i < t->window_ranges.len; i++) {
        const struct lpo_window_range *w = &t->window_ranges.at[i];

        /* A block in a ring is older than the moment that its window says, so that all that a ring
         * held counts. */
        r->processes[w->process].windowed |= !w->ring;
        r->processes[w->process].open_end |= w->open_end;
    }
    for (size_t i = 0; i < t->windows.len; i++) {
        const struct lpo_window *w = &t->windows.at[i];

        lpo_vec_push(&r->stretches, (struct stretch){ w->start_ns, w->end_ns, 0, w->process });
    }
    lpo_vec_sort(&r->stretches, by_time);
    add_up(r);
    return r;
}

void lpo_trace_recorded_destroy(struct lpo_trace_recorded *r)
{
    if (!r)
        return;
    lpo_vec_free(&r->stretches);
    free(r->processes);
    free(r);
}

/* What of the process's time was recorded up to that moment. */
static int64_t until(const struct lpo_trace_recorded *r, const struct of_process *p, int64_t ns)
{
    size_t low = p->first, high = p->first + p->count;
    const struct stretch *s;

    lpo_search(low, high, i, r->stretches.at[i].start_ns <= ns);
    if (low == p->first)
        return p->open_end && !p->count ? ns : 0;
    s = &r->stretches.at[low - 1];
    if (ns <= s->end_ns || (p->open_end && low == p->first + p->count))
        return lpo_ns_add(s->before_ns, ns - s->start_ns);
    return lpo_ns_add(s->before_ns, s->end_ns - s->start_ns);
}

static const struct of_process *windowed(const struct lpo_trace_recorded *r, uint16_t process)
{
    return r && process < r->nprocesses && r->processes[process].windowed ? &r->processes[process]
                                                                          : NULL;
}

int64_t lpo_trace_recorded_ns(const struct lpo_trace_recorded *r, uint16_t process,
                              int64_t start_ns, int64_t end_ns)
{
    const struct of_process *p = windowed(r, process);

    return p ? until(r, p, end_ns) - until(r, p, start_ns) : end_ns - start_ns;
}

bool lpo_trace_recorded_touches(const struct lpo_trace_recorded *r, uint16_t process,
                                int64_t start_ns, int64_t end_ns)
{
    const struct of_process *p = windowed(r, process);
    size_t low, high;

    if (!p)
        return true;
    low = p->first;
    high = p->first + p->count;
    lpo_search(low, high, i, r->stretches.at[i].end_ns < start_ns);
    return low < p->first + p->count ? r->stretches.at[low].start_ns <= end_ns : p->open_end;
}
