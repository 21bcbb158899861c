/* SPDX-License-Identifier: Apache-2.0 */
/* After the last event of a file: its numbers of processes, threads and devices become those of the
 * trace, its times those of the trace's clock, and operations find their launches. */
#include <stdlib.h>

#include "trace/kineto/build.h"
#include "trace/link.h"
#include "trace/trace.h"
#include "util/map.h"

/* Before the base time existed, times counted from 1970: such numbers are larger than this. */
static const int64_t since_1970 = 1000000000000000000;

/* A file's clock further away than this is no clock; see max_time in build.c. */
static const int64_t max_shift = 4000000000000000000;

/* GPU operations do not name their process: without a launch, it is the one that calls the GPU
 * most. */
static uint16_t main_process(const struct lpo_kineto_build *b)
{
    size_t best = 0;

    for (size_t i = 1; i < b->processes.len; i++) {
        const struct kineto_process *p = &b->processes.at[i], *m = &b->processes.at[best];

        if (p->calls > m->calls || (p->calls == m->calls && p->others > m->others))
            best = i;
    }
    return (uint16_t)best;
}

/* Numbers of this file to numbers of the trace. */
struct renumber {
    uint16_t *processes, *devices;
    uint32_t *threads;
};

static void renumber_create(struct lpo_kineto_build *b, int32_t rank, struct renumber *r)
{
    r->processes = lpo_xcalloc(b->processes.len + 1, sizeof *r->processes);
    r->devices = lpo_xcalloc(b->devices.len + 1, sizeof *r->devices);
    r->threads = lpo_xcalloc(b->threads.len + 1, sizeof *r->threads);
    if (b->processes.len == 0 && b->t->gpu_ops.len > b->first_gpu_op)
        r->processes[0] = lpo_trace_process(b->t, -1, rank);
    for (size_t i = 0; i < b->processes.len; i++)
        r->processes[i] = lpo_trace_process(b->t, b->processes.at[i].pid, rank);
    for (size_t i = 0; i < b->devices.len; i++)
        r->devices[i] = lpo_trace_device(b->t, b->devices.at[i], rank);
    for (size_t i = 0; i < b->threads.len; i++)
        r->threads[i] =
            lpo_trace_thread(b->t, r->processes[b->threads.at[i].process], b->threads.at[i].tid);
}

static void renumber_free(struct renumber *r)
{
    free(r->processes);
    free(r->devices);
    free(r->threads);
}

static void settle_gpu_ops(struct lpo_kineto_build *b, const struct renumber *r, int64_t shift)
{
    struct lpo_trace *t = b->t;

    for (size_t i = b->first_gpu_op; i < t->gpu_ops.len; i++) {
        struct lpo_gpu_op *w = &t->gpu_ops.at[i];

        w->start_ns += shift;
        w->end_ns += shift;
        w->process = r->processes[w->process];
        w->device = r->devices[w->device];
    }
    for (size_t i = b->first_launch; i < t->launches.len; i++) {
        struct lpo_launch *l = &t->launches.at[i];

        l->start_ns += shift;
        l->end_ns += shift;
        l->thread = r->threads[l->thread];
    }
}

static void settle_host(struct lpo_kineto_build *b, const struct renumber *r, int64_t shift)
{
    struct lpo_trace *t = b->t;

    for (size_t i = b->first_range; i < t->ranges.len; i++) {
        struct lpo_range *g = &t->ranges.at[i];

        if (g->flags & LPO_RANGE_OPEN)
            g->end_ns = b->processes.at[b->threads.at[g->thread].process].end_ns;
        g->start_ns += shift;
        g->end_ns += shift;
        g->thread = r->threads[g->thread];
    }
    for (size_t i = b->first_op; i < t->ops.len; i++) {
        struct lpo_op *o = &t->ops.at[i];

        o->start_ns += shift;
        o->end_ns += shift;
        o->thread = r->threads[o->thread];
    }
    for (size_t i = b->first_call; i < t->calls.len; i++) {
        struct lpo_api_call *c = &t->calls.at[i];

        c->start_ns += shift;
        c->end_ns += shift;
        c->thread = r->threads[c->thread];
        t->processes.at[t->threads.at[c->thread].process].has_calls = true;
    }
    for (size_t i = b->first_python; i < t->python.len; i++) {
        struct lpo_python_call *c = &t->python.at[i];

        c->start_ns += shift;
        c->end_ns += shift;
        c->thread = r->threads[c->thread];
    }
    for (size_t i = 0; i < b->processes.len; i++) {
        struct lpo_process *p = &t->processes.at[r->processes[i]];
        int64_t end = b->processes.at[i].end_ns + shift;

        if (p->end_ns == LPO_NO_TIME || end > p->end_ns)
            p->end_ns = end;
    }
}

/* Beside GPUs that worked, one of which only memory is known would be a GPU more than ran. */
static void settle_memory(struct lpo_kineto_build *b, const struct renumber *r, int32_t rank,
                          int64_t shift)
{
    for (size_t i = 0; i < lpo_kineto_allocations_count(b->allocations); i++) {
        int32_t id = lpo_kineto_allocations_device(b->allocations, i);
        const uint64_t *row = lpo_map_find(b->device_rows, (const char *)&id, sizeof id);

        if (row || !b->devices.len)
            lpo_kineto_allocations_settle(b->allocations, i,
                                          row ? r->devices[*row] : lpo_trace_device(b->t, id, rank),
                                          shift);
    }
    lpo_kineto_allocations_finish(b->allocations, r->threads, shift);
}

/* Labels come for every pid and tid there is, streams too: only those of our threads are used. */
static void settle_labels(struct lpo_kineto_build *b, const struct renumber *r)
{
    for (size_t i = 0; i < b->labels.len; i++) {
        const struct kineto_label *l = &b->labels.at[i];
        int64_t key[2] = { l->pid, l->tid };
        const uint64_t *row =
            l->whole_process ? lpo_map_find(b->process_rows, (const char *)&l->pid, sizeof l->pid)
                             : lpo_map_find(b->thread_rows, (const char *)key, sizeof key);

        if (row && l->whole_process)
            b->t->processes.at[r->processes[*row]].name = l->text;
        else if (row)
            b->t->threads.at[r->threads[*row]].name = l->text;
    }
}

/* The clock of the trace is that of its first file with a base, so ranks lie side by side. */
static int64_t clock_shift(const struct lpo_kineto_build *b, const struct kineto_facts *facts)
{
    struct lpo_trace *t = b->t;
    int64_t epoch = t->epoch_ns, shift;

    if (!facts->has_base && b->some_ns < since_1970)
        return 0;
    if (epoch == LPO_NO_TIME && t->sources <= 1)
        epoch = t->epoch_ns = 0;
    if (epoch == LPO_NO_TIME || __builtin_sub_overflow(facts->base_ns, epoch, &shift) ||
        shift > max_shift || shift < -max_shift) {
        lpo_trace_note(t, 0,
                       "this file has no clock in common with the others: times of "
                       "different files cannot be compared");
        return 0;
    }
    return shift;
}

/* What another file says of the nodes of this rank: its row of captures by id. */
static struct lpo_map_u64 *captures_of_nodes(struct lpo_trace *t, int32_t rank)
{
    struct lpo_map_u64 *rows = lpo_map_u64_create(0);
    bool one_file = true, fresh;

    for (size_t i = 1; i < t->graph_nodes.len; i++)
        one_file &= t->graph_nodes.at[i].rank == t->graph_nodes.at[0].rank;
    for (size_t i = 0; i < t->graph_nodes.len; i++) {
        const struct lpo_graph_node *n = &t->graph_nodes.at[i];
        uint32_t *row;

        if (!one_file && n->rank != rank)
            continue;
        row = lpo_map_u64_put(rows, n->id, &fresh);
        if (fresh) {
            *row = (uint32_t)t->captures.len;
            lpo_vec_push(&t->captures,
                         (struct lpo_capture){ .thread = LPO_NONE, .stack = n->stack + 1 });
        }
    }
    return rows;
}

/* PyTorch names a node by its id, or by that of its graph too: (graph << 32) | node. */
static void join_nodes(struct lpo_kineto_build *b, int32_t rank)
{
    struct lpo_map_u64 *rows;
    uint64_t unknown = 0;

    if (!b->nodes.len)
        return;
    rows = captures_of_nodes(b->t, rank >= 0 ? rank : (int32_t)b->t->file_rank - 1);
    for (size_t i = 0; i < b->nodes.len; i++) {
        const struct kineto_node *n = &b->nodes.at[i];
        const uint32_t *row = lpo_map_u64_find(rows, n->node);

        row = row ? row : lpo_map_u64_find(rows, n->graph << 32 | n->node);
        if (row)
            b->t->gpu_ops.at[n->op].capture = *row;
        else
            unknown++;
    }
    if (unknown)
        lpo_trace_note(b->t, unknown, "GPU operations of CUDA graphs have no annotation");
    lpo_map_u64_destroy(rows);
}

void lpo_kineto_build_finish(struct lpo_kineto_build *b, const struct kineto_facts *facts)
{
    uint16_t own = main_process(b);
    struct renumber r;
    int64_t shift;

    for (size_t i = b->first_gpu_op; i < b->t->gpu_ops.len; i++)
        b->t->gpu_ops.at[i].process = own;
    lpo_trace_links_resolve(b->links, b->t);
    if (lpo_kineto_captures_any(b->captures))
        lpo_trace_links_idle(b->links, lpo_kineto_captures_launch, b->captures);
    shift = clock_shift(b, facts);
    renumber_create(b, facts->rank, &r);
    settle_gpu_ops(b, &r, shift);
    settle_host(b, &r, shift);
    lpo_kineto_captures_settle(b->captures, b->t, r.threads, shift);
    lpo_kineto_flows_settle(b->flows, b->t, b->first_op, b->thread_rows, r.threads, shift);
    settle_memory(b, &r, facts->rank, shift);
    lpo_kineto_waits_settle(b->waits, b->t, b->device_rows, r.devices, r.processes[own], shift);
    settle_labels(b, &r);
    join_nodes(b, facts->rank);
    renumber_free(&r);
    if (b->without_time)
        lpo_trace_note(b->t, b->without_time, "events without a time that can be read");
    if (b->without_length)
        lpo_trace_note(b->t, b->without_length, "events without a duration");
}
