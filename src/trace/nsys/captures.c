/* SPDX-License-Identifier: Apache-2.0 */
/* When the nodes of a CUDA graph were captured, and on which thread.
 *
 * A graph's kernels run under the range that launched the graph, long after the code that issued
 * them; the rows of node creation say where that code was. */

#include "trace/nsys/private.h"

/* A node is made at capture and copied when the graph is instantiated; the copy runs. */
struct birth {
    uint64_t original; /* node it was copied from; 0: none */
    int64_t time_ns;
    uint32_t thread;
};

struct graph {
    struct lpo_nsys_reading *r;
    struct lpo_map_u64 *births; /* node id to row of `all` */
    LPO_VEC(struct birth) all;
};

static int read_births(struct graph *g, const char *table, struct lpo_err *err)
{
    static const char *const names[] = { "start", "globalTid", "graphNodeId", "originalGraphNodeId",
                                         NULL };
    struct lpo_nsys_rows rows;
    int rc = lpo_nsys_begin(g->r->db, &rows, table, names, err);

    while (rc > 0 && lpo_nsys_step(&rows, g->r->t)) {
        bool fresh;
        uint32_t *slot;

        if (lpo_nsys_null(&rows, 2) || lpo_nsys_null(&rows, 1))
            continue;
        slot = lpo_map_u64_put(g->births, (uint64_t)lpo_nsys_int(&rows, 2), &fresh);
        if (!fresh)
            continue;
        *slot = (uint32_t)g->all.len;
        lpo_vec_push(&g->all, (struct birth){ (uint64_t)lpo_nsys_int(&rows, 3),
                                              lpo_nsys_time(g->r, &rows, 0),
                                              lpo_nsys_thread(g->r, lpo_nsys_int(&rows, 1)) });
    }
    lpo_nsys_end(&rows);
    return rc < 0 ? rc : 0;
}

/* Back to the node that was captured; copies of copies are few, and a loop is damage. */
static const struct birth *first_birth(const struct graph *g, uint64_t node)
{
    const struct birth *found = NULL;

    for (int hops = 0; hops < 16; hops++) {
        const uint32_t *row = lpo_map_u64_find(g->births, node);

        if (!row)
            break;
        found = &g->all.at[*row];
        if (found->original == 0 || found->original == node)
            break;
        node = found->original;
    }
    return found;
}

int lpo_nsys_read_nodes(struct lpo_nsys_reading *r, struct lpo_err *err)
{
    struct graph g = { .r = r };
    int rc;

    if (r->nodes.len == 0)
        return 0;
    g.births = lpo_map_u64_create(0);
    rc = read_births(&g, "CUDA_GRAPH_NODE_EVENTS", err);
    if (rc == 0 && g.all.len == 0)
        rc = read_births(&g, "CUDA_GRAPH_EVENTS", err); /* its name before 2023 */
    for (size_t i = 0; rc == 0 && i < r->nodes.len; i++) {
        const struct birth *b = first_birth(&g, r->nodes.at[i]);

        if (b)
            r->t->captures.at[r->first_capture + i] = (struct lpo_capture){ b->time_ns, b->thread };
    }
    lpo_map_u64_destroy(g.births);
    lpo_vec_free(&g.all);
    return rc;
}

/* Which stream a call of the host waited for. Waits for events are left out: the export does not
 * say which call recorded an event. */

/* The device of the streams of each process, by its GPU operations: rows of synchronization name
 * device 0 for another one. A number that two devices of a process have is no answer. */
struct streams {
    struct lpo_map_pair rows;  /* (process, stream) */
    LPO_VEC(uint32_t) devices; /* LPO_NONE: several */
};

static void streams_find(struct streams *s, const struct lpo_nsys_reading *r)
{
    for (size_t i = r->first_gpu_op; i < r->t->gpu_ops.len; i++) {
        const struct lpo_gpu_op *w = &r->t->gpu_ops.at[i];
        bool fresh;
        uint32_t row = lpo_map_pair_put(&s->rows, w->process, w->stream, &fresh);

        if (fresh)
            lpo_vec_push(&s->devices, w->device);
        else if (s->devices.at[row] != w->device)
            s->devices.at[row] = LPO_NONE;
    }
}

static void add_wait(struct lpo_nsys_reading *r, const struct lpo_nsys_rows *rows,
                     const struct streams *s)
{
    int64_t stream = lpo_nsys_int(rows, 1);
    /* a process that only waited is not one more; below the pid are 24 bits of a thread */
    const uint32_t *process = lpo_map_u64_find(r->processes, (uint64_t)lpo_nsys_int(rows, 2) >> 24);
    uint32_t row;

    if (!process || stream < 0 || stream >= LPO_NONE)
        return;
    row = lpo_map_pair_find(&s->rows, *process, (uint64_t)stream);
    if (row == UINT32_MAX || s->devices.at[row] == LPO_NONE)
        return;
    lpo_vec_push(&r->t->waits, (struct lpo_wait){ .ns = lpo_nsys_time(r, rows, 0),
                                                  .record_ns = LPO_NO_TIME,
                                                  .stream = (uint32_t)stream,
                                                  .on_stream = LPO_NONE,
                                                  .process = (uint16_t)*process,
                                                  .device = (uint16_t)s->devices.at[row],
                                                  .kind = LPO_WAIT_HOST_FOR_STREAM });
}

int lpo_nsys_read_waits(struct lpo_nsys_reading *r, struct lpo_err *err)
{
    /* CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE */
    static const char *const names[] = { "start", "streamId", "globalPid", "syncType", NULL };
    struct streams s = { 0 };
    struct lpo_nsys_rows rows;
    int rc = lpo_nsys_begin(r->db, &rows, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", names, err);

    if (rc > 0)
        streams_find(&s, r);
    while (rc > 0 && lpo_nsys_step(&rows, r->t))
        if (lpo_nsys_int(&rows, 3) == 3 && !lpo_nsys_null(&rows, 0) && !lpo_nsys_null(&rows, 1) &&
            !lpo_nsys_null(&rows, 2))
            add_wait(r, &rows, &s);
    lpo_nsys_end(&rows);
    lpo_map_pair_free(&s.rows);
    lpo_vec_free(&s.devices);
    return rc < 0 ? rc : 0;
}
