/* SPDX-License-Identifier: Apache-2.0 */
/* What a person waits for (analysis/phases), and what the GPU did in it. */

#include "analysis/analysis.h"
#include "analysis/ladder/private.h"
#include "analysis/phases/phases.h"
#include "analysis/steps/steps.h"
#include "trace/host.h"

enum { LEAST_EARLIER_NS = 1000000 };

static const unsigned slices = LPO_HOST_RANGE | LPO_HOST_OP | LPO_HOST_CALL;

/* The last moment of a thread inside the window; LPO_NO_TIME: it does nothing in it. */
static int64_t thread_end(const struct lpo_trace *t, uint32_t thread, int64_t start_ns,
                          int64_t end_ns)
{
    struct lpo_host_walk walk = lpo_host_walk(t, thread, slices);
    int64_t last = LPO_NO_TIME;
    struct lpo_slice s;

    /* a range around the whole window says nothing about its end */
    while (lpo_host_next(&walk, &s) && s.start_ns < end_ns)
        if (s.end_ns > start_ns && s.end_ns > last &&
            (s.kind != LPO_HOST_RANGE || s.end_ns <= end_ns))
            last = s.end_ns;
    return last < end_ns ? last : end_ns;
}

/* The threads of a process. */
static size_t first_thread(const struct ladder_work *w, size_t process)
{
    return w->rows->thread_starts[process];
}

/* The GPU operations of a process, in order of time. */
static size_t first_op(const struct ladder_work *w, size_t process)
{
    return w->rows->starts[process];
}

static const struct lpo_gpu_op *op_at(const struct ladder_work *w, size_t i)
{
    return &w->t->gpu_ops.at[w->rows->op_rows[i]];
}

/* Without steps: Python frames reach from the start of the profiler to its end, and what it does
 * there is not the program's time. */
static void trim(const struct ladder_work *w, uint16_t process, struct lpo_time_window *out)
{
    const struct lpo_trace *t = w->t;
    int64_t start_ns = INT64_MAX, end_ns = INT64_MIN;

    for (size_t i = first_thread(w, process); i < first_thread(w, process + 1u); i++) {
        uint32_t thread = w->rows->threads[i];
        struct lpo_host_walk walk = lpo_host_walk(t, thread, slices);
        struct lpo_slice s;

        if (!lpo_host_rows(t, thread, LPO_HOST_LAUNCH).len)
            continue;
        while (lpo_host_next(&walk, &s)) {
            start_ns = s.start_ns < start_ns ? s.start_ns : start_ns;
            end_ns = s.end_ns > end_ns ? s.end_ns : end_ns;
        }
    }
    for (size_t i = first_op(w, process); i < first_op(w, process + 1u); i++) {
        const struct lpo_gpu_op *op = op_at(w, i);

        start_ns = op->start_ns < start_ns ? op->start_ns : start_ns;
        end_ns = op->end_ns > end_ns ? op->end_ns : end_ns;
    }
    if (start_ns > out->start_ns && start_ns < end_ns) {
        out->wall_ns -= start_ns - out->start_ns;
        out->start_ns = start_ns;
    }
    if (end_ns < out->start_ns + out->wall_ns && end_ns > out->start_ns)
        out->wall_ns = end_ns - out->start_ns;
}

/* Loading and warming up come once: without steps the rest begins where the last GPU operation of
 * them ends. */
static void skip_preparing(const struct ladder_work *w, uint16_t process,
                           struct lpo_time_window *out)
{
    const struct lpo_phases *p = lpo_analysis_phases(w->a);
    int64_t last = INT64_MIN, first = INT64_MAX;

    for (size_t i = first_op(w, process); p->any_prepares && i < first_op(w, process + 1u); i++) {
        const struct lpo_gpu_op *op = op_at(w, i);

        if (!p->places[lpo_region_place(w->tree, op)])
            first = op->start_ns < first ? op->start_ns : first;
        else
            last = op->end_ns > last ? op->end_ns : last;
    }
    if (last > out->start_ns && last <= first && first < out->start_ns + out->wall_ns) {
        out->wall_ns -= last - out->start_ns;
        out->start_ns = last;
    }
}

/* The last thing that was recorded in the window, other than ranges. */
static int64_t last_recorded(const struct ladder_work *w, uint16_t process,
                             const struct lpo_time_window *out)
{
    const struct lpo_trace *t = w->t;
    int64_t end_ns = out->start_ns + out->wall_ns, last = out->start_ns;

    for (size_t i = first_thread(w, process); i < first_thread(w, process + 1u); i++) {
        struct lpo_host_walk walk =
            lpo_host_walk(t, w->rows->threads[i], LPO_HOST_SLICES & ~LPO_HOST_RANGE);
        struct lpo_slice s;

        while (lpo_host_next(&walk, &s) && s.start_ns < end_ns)
            last = s.end_ns > last ? s.end_ns : last;
    }
    for (size_t i = first_op(w, process); i < first_op(w, process + 1u); i++)
        if (op_at(w, i)->start_ns < end_ns && op_at(w, i)->end_ns > last)
            last = op_at(w, i)->end_ns;
    return last < end_ns ? last : end_ns;
}

/* A range in whose later half nothing was recorded is no evidence that somebody waited for that. */
static void cut_tail(const struct ladder_work *w, uint16_t process, struct lpo_time_window *out)
{
    int64_t last = last_recorded(w, process, out);

    if (last > out->start_ns && last - out->start_ns < out->wall_ns / 2)
        out->wall_ns = last - out->start_ns;
}

/* What is known of a stream in the window. */
struct stream {
    int64_t ns;
    const struct lpo_gpu_op *first; /* of the whole trace; NULL: it is not in the window */
};

/* Does nothing of the process run for nearly all of that time? */
static bool is_quiet(const struct ladder_work *w, uint16_t process, int64_t from_ns, int64_t to_ns)
{
    int64_t busy = 0;

    for (size_t i = first_op(w, process); i < first_op(w, process + 1u); i++) {
        int64_t from = op_at(w, i)->start_ns > from_ns ? op_at(w, i)->start_ns : from_ns;
        int64_t to = op_at(w, i)->end_ns < to_ns ? op_at(w, i)->end_ns : to_ns;

        busy += to > from ? to - from : 0;
    }
    return busy < (to_ns - from_ns) / 20;
}

/* The first operation of a stream with most of the work starts long after its launch, and nothing
 * else ran: the GPU was busy with what was launched before the capture. The window begins where
 * that ends. */
static void skip_earlier(const struct ladder_work *w, uint16_t process, struct lpo_time_window *out)
{
    int64_t end_ns = out->start_ns + out->wall_ns, all = 0;
    LPO_FREED struct lpo_map_pair rows = { 0 };
    LPO_FREED LPO_VEC(struct stream) streams = { 0 };

    for (size_t i = first_op(w, process); i < first_op(w, process + 1u); i++) {
        const struct lpo_gpu_op *op = op_at(w, i);
        bool fresh, in = op->end_ns > out->start_ns && op->start_ns < end_ns;
        uint32_t row = lpo_map_pair_put(&rows, op->device, op->stream, &fresh);

        if (fresh)
            lpo_vec_push(&streams, (struct stream){ .first = in ? op : NULL });
        streams.at[row].ns += in ? op->end_ns - op->start_ns : 0;
        all += in ? op->end_ns - op->start_ns : 0;
    }
    for (size_t i = 0; i < streams.len; i++) {
        const struct lpo_gpu_op *op = streams.at[i].first;
        int64_t launched = op && op->launch != LPO_NONE ? w->t->launches.at[op->launch].end_ns : 0;

        if (!launched || 2 * streams.at[i].ns <= all || op->start_ns <= out->start_ns ||
            op->start_ns - launched <= out->wall_ns / 20 ||
            op->start_ns - launched <= LEAST_EARLIER_NS ||
            !is_quiet(w, process, launched, op->start_ns))
            continue;
        out->earlier_ns = op->start_ns - out->start_ns;
        out->start_ns = op->start_ns;
        out->wall_ns -= out->earlier_ns;
    }
}

static void find_gpu(const struct ladder_work *w, uint16_t process, struct lpo_time_window *out)
{
    int64_t end_ns = out->start_ns + out->wall_ns, first = end_ns, last = out->start_ns;

    for (size_t i = first_op(w, process); i < first_op(w, process + 1u); i++) {
        const struct lpo_gpu_op *op = op_at(w, i);

        if (op->end_ns <= out->start_ns || op->start_ns >= end_ns)
            continue;
        first = op->start_ns < first ? op->start_ns : first;
        last = op->end_ns > last ? op->end_ns : last;
    }
    out->before_gpu_ns = first > out->start_ns ? first - out->start_ns : 0;
    out->after_gpu_ns = last < end_ns ? end_ns - last : 0;
}

struct lpo_time_window lpo_ladder_window(const struct ladder_work *w, uint16_t process,
                                         int64_t *end_ns)
{
    const struct lpo_phases_window *p = lpo_phases_window_of(lpo_analysis_phases(w->a), process);
    struct lpo_time_window out = { .basis = LPO_WINDOW_EVENTS };

    if (!p || p->end_ns <= p->start_ns)
        return out;
    out.start_ns = p->start_ns;
    out.wall_ns = p->end_ns - p->start_ns;
    out.steps = p->steps;
    out.basis = p->steps ? LPO_WINDOW_STEPS : LPO_WINDOW_EVENTS;
    if (!out.steps && w->t->python.len)
        trim(w, process, &out);
    if (!out.steps)
        skip_preparing(w, process, &out);
    cut_tail(w, process, &out);
    if (out.steps <= 1)
        skip_earlier(w, process, &out);
    for (size_t i = first_thread(w, process); i < first_thread(w, process + 1u); i++)
        end_ns[w->rows->threads[i]] =
            thread_end(w->t, w->rows->threads[i], out.start_ns, out.start_ns + out.wall_ns);
    find_gpu(w, process, &out);
    return out;
}

uint32_t lpo_ladder_step_at(const struct ladder_work *w, int64_t ns)
{
    const struct lpo_phases_window *p =
        lpo_phases_window_of(lpo_analysis_phases(w->a), w->out->process);
    size_t low = 0, high = w->steps && p ? p->steps : 0;

    lpo_search(low, high, i, w->steps->rows.at[p->first_step + i].start_ns <= ns);
    return low ? (uint32_t)(p->first_step + low - 1) : LPO_NONE;
}

/* Each nanosecond counts once: computing before communication before copies. */
void lpo_ladder_parts(struct ladder_work *w)
{
    int64_t *const sums[] = { &w->out->compute_ns, &w->out->communication_ns, &w->out->copy_ns };
    int64_t end_ns = w->out->window.start_ns + w->out->window.wall_ns;
    int64_t done = 0;

    for (int most = 0; most < 3; most++) { /* the union of the first one, two, three kinds */
        int64_t until = w->out->window.start_ns, ns = 0;

        for (uint32_t i = 0; i < w->g.ops.len; i++) {
            const struct lpo_gpu_op *op = lpo_critical_gpu_op(&w->g, i);
            int part = (int)lpo_critical_part_of(&w->g, w->g.op_rows[i]) - LPO_PATH_COMPUTE;
            int64_t from = op->start_ns > until ? op->start_ns : until;
            int64_t to = op->end_ns < end_ns ? op->end_ns : end_ns;

            if (part > most || to <= from)
                continue;
            ns += to - from;
            until = to;
        }
        *sums[most] = ns - done;
        done = ns;
    }
}
