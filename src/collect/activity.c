/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/activity.h"

#include <string.h>

#include "collect/encode.h"
#include "collect/gpu.h"
#include "collect/guard.h"
#include "collect/mem.h"
#include "collect/pool.h"
#include "collect/shape.h"
#include "lpo/trace_format.h"

enum {
    OUT_BYTES = 256 << 10,
    RECORD_MAX = 256,
};

struct lpoc_records {
    struct lpoc_gpu *gpu;
    struct lpoc_pool pool;
    pthread_mutex_t lock; /* all below: buffers may complete on two threads */
    uint8_t *out;
    size_t used;
    uint32_t sequence;
    uint64_t last_start, last_node;
    uint32_t last_corr;
    uint64_t in_block;
    bool fresh; /* the block stands for itself: records before it are lost */
    struct lpoc_shapes shapes;
};

struct lpoc_records *lpoc_records_create(struct lpoc_gpu *gpu)
{
    const struct lpoc_knobs *k = &gpu->owner->knobs;
    struct lpoc_records *r = lpoc_map(sizeof *r);

    if (!r)
        return NULL;
    r->gpu = gpu;
    r->out = lpoc_map(OUT_BYTES);
    pthread_mutex_init(&r->lock, NULL);
    if (!r->out || lpoc_shapes_start(&r->shapes, gpu->owner) < 0)
        return NULL;
    lpoc_pool_start(&r->pool, (size_t)k->cupti_buffer_kb << 10, (unsigned)k->cupti_buffers,
                    (unsigned)k->cupti_buffers_max, k->cupti_zeroed != 0);
    return r;
}

void lpoc_buffer_request(struct lpoc_records *r, uint8_t **buffer, size_t *size)
{
    *buffer = lpoc_pool_take(&r->pool);
    *size = *buffer ? r->pool.bytes : 0;
    if (!*buffer)
        lpoc_count(r->gpu->owner, LPOT_COUNT_BUFFERS_REFUSED, 1);
}

/* Definitions first: a reader that meets a cut file must know every name that it meets. Where the
 * disk may come back, `wait` leaves what there is room for. */
static void write_out(struct lpoc_records *r, bool wait)
{
    struct lpoc *c = r->gpu->owner;
    unsigned kind = c->ring.on || r->fresh ? LPOT_GPU_FRESH : LPOT_GPU;
    bool filed;

    if (!r->used)
        return;
    filed = lpoc_write_defs(c) == 0 && lpoc_block(c, kind, 0, r->sequence, r->out, r->used) == 0;
    if (!filed && wait && r->used <= OUT_BYTES / 2 && lpoc_file_may_recover(&c->file))
        return;
    if (filed)
        r->sequence++;
    else
        lpoc_count(c, LPOT_COUNT_GPU_LOST, r->in_block);
    r->used = 0;
    r->in_block = 0;
    r->fresh = !filed;
    if (c->ring.on || r->fresh) { /* the next block stands for itself */
        r->last_start = r->last_node = 0;
        r->last_corr = 0;
        lpoc_shapes_forget(&r->shapes);
    }
}

/* Where the next record goes. */
static uint8_t *begin(struct lpoc_records *r)
{
    if (r->used + RECORD_MAX > OUT_BYTES)
        write_out(r, false);
    return r->out + r->used;
}

static void end(struct lpoc_records *r, const uint8_t *p)
{
    r->used = (size_t)(p - r->out);
}

/* Definitions go out before the record that uses them, which may be in the same block. */
static uint32_t place_of(struct lpoc_records *r, uint32_t device, uint32_t context, uint32_t stream)
{
    uint8_t *p = begin(r);
    uint32_t id = lpoc_place_id(&r->shapes, device, context, stream, &p);

    end(r, p);
    return id;
}

static uint32_t shape_of(struct lpoc_records *r, const struct lpoc_shape *s)
{
    uint8_t *p = begin(r);
    uint32_t id = lpoc_shape_id(&r->shapes, s, &p);

    end(r, p);
    return id;
}

struct timing {
    uint64_t start, end, node;
    uint32_t corr, graph;
};

/* CUPTI reports times of 0, or an end before its start, for kernels that it could not time: they
 * are counted and have no length, which is not 0 ns. */
static unsigned timing_flags(struct lpoc_records *r, const struct timing *t)
{
    unsigned flags = t->graph || t->node ? LPOT_GPU_GRAPH : 0;

    if (!t->start || t->end < t->start) {
        flags |= LPOT_GPU_UNTIMED;
        lpoc_count(r->gpu->owner, LPOT_COUNT_UNTIMED, 1);
    }
    return flags;
}

/* span, corr and graph of the format, and the end of the record. */
static void put_timing(struct lpoc_records *r, uint8_t *p, unsigned flags, const struct timing *t)
{
    uint32_t corr = lpoc_correlation(r->gpu, t->corr);

    if (!(flags & LPOT_GPU_UNTIMED)) {
        p = lpoc_put_z(p, (int64_t)(t->start - r->last_start));
        p = lpoc_put_v(p, t->end - t->start);
        r->last_start = t->start;
    }
    p = lpoc_put_z(p, (int32_t)(corr - r->last_corr));
    r->last_corr = corr;
    if (flags & LPOT_GPU_GRAPH) {
        p = lpoc_put_v(p, t->graph);
        p = lpoc_put_z(p, (int64_t)(t->node - r->last_node));
        r->last_node = t->node;
    }
    r->in_block++;
    end(r, p);
}

static void on_kernel(struct lpoc_records *r, const struct cupti_record *record)
{
    const struct cupti_kernel *k = (const void *)record;
    struct timing t = { k->start, k->end, k->graph_node, k->correlation, k->graph };
    struct lpoc_shape s = { .name = k->name,
                            .registers = k->registers,
                            .static_shared = (uint32_t)k->static_shared,
                            .dynamic_shared = (uint32_t)k->dynamic_shared,
                            .local = k->local_per_thread };
    unsigned flags = timing_flags(r, &t);
    uint32_t shape;
    uint8_t *p;

    for (int i = 0; i < 3; i++) {
        s.grid[i] = (uint32_t)k->grid[i];
        s.block[i] = (uint32_t)k->block[i];
    }
    s.place = place_of(r, k->device, k->context, k->stream);
    shape = shape_of(r, &s);
    p = begin(r);
    *p++ = (uint8_t)(LPOT_GPU_KERNEL | flags);
    p = lpoc_put_v(p, shape);
    put_timing(r, p, flags, &t);
    lpoc_count(r->gpu->owner, LPOT_COUNT_KERNELS, 1);
}

static void on_copy(struct lpoc_records *r, const struct cupti_record *record)
{
    const struct cupti_memcpy *m = (const void *)record;
    struct timing t = { m->start, m->end, m->graph_node, m->correlation, m->graph };
    unsigned flags = timing_flags(r, &t);
    uint32_t place = place_of(r, m->device, m->context, m->stream);
    uint8_t *p = begin(r);

    *p++ = (uint8_t)(LPOT_GPU_COPY | flags);
    p = lpoc_put_v(p, place);
    *p++ = m->copy;
    *p++ = m->source;
    *p++ = m->target;
    p = lpoc_put_v(p, m->bytes);
    put_timing(r, p, flags, &t);
    lpoc_count(r->gpu->owner, LPOT_COUNT_COPIES, 1);
}

static void on_peer(struct lpoc_records *r, const struct cupti_record *record)
{
    const struct cupti_memcpy2 *m = (const void *)record;
    struct timing t = { m->start, m->end, m->graph_node, m->correlation, m->graph };
    unsigned flags = timing_flags(r, &t);
    uint32_t place = place_of(r, m->device, m->context, m->stream);
    uint8_t *p = begin(r);

    *p++ = (uint8_t)(LPOT_GPU_PEER | flags);
    p = lpoc_put_v(p, place);
    *p++ = m->copy;
    *p++ = m->source;
    *p++ = m->target;
    p = lpoc_put_v(p, m->bytes);
    p = lpoc_put_v(p, m->source_device);
    p = lpoc_put_v(p, m->target_device);
    put_timing(r, p, flags, &t);
    lpoc_count(r->gpu->owner, LPOT_COUNT_COPIES, 1);
}

static void on_set(struct lpoc_records *r, const struct cupti_record *record)
{
    const struct cupti_memset *m = (const void *)record;
    struct timing t = { m->start, m->end, m->graph_node, m->correlation, m->graph };
    unsigned flags = timing_flags(r, &t);
    uint32_t place = place_of(r, m->device, m->context, m->stream);
    uint8_t *p = begin(r);

    *p++ = (uint8_t)(LPOT_GPU_SET | flags);
    p = lpoc_put_v(p, place);
    *p++ = (uint8_t)m->memory;
    p = lpoc_put_v(p, m->value);
    p = lpoc_put_v(p, m->bytes);
    put_timing(r, p, flags, &t);
    lpoc_count(r->gpu->owner, LPOT_COUNT_SETS, 1);
}

static void on_graph(struct lpoc_records *r, const struct cupti_record *record)
{
    const struct cupti_graph_trace *g = (const void *)record;
    struct timing t = { g->start, g->end, 0, g->correlation, 0 };
    unsigned flags = timing_flags(r, &t);
    uint32_t place = place_of(r, g->device, g->context, g->stream);
    uint8_t *p = begin(r);

    *p++ = (uint8_t)(LPOT_GPU_WHOLE | flags);
    p = lpoc_put_v(p, place);
    p = lpoc_put_v(p, g->graph);
    put_timing(r, p, flags, &t);
}

#define AT(type) offsetof(struct type, correlation)

static const struct {
    uint32_t kind;
    void (*take)(struct lpoc_records *r, const struct cupti_record *record);
    size_t correlation; /* where it stands in the record */
    bool always;        /* not switched with the windows */
} kinds[] = {
    { CUPTI_KIND_KERNEL, on_kernel, AT(cupti_kernel), false },
    { CUPTI_KIND_MEMCPY, on_copy, AT(cupti_memcpy), true },
    { CUPTI_KIND_MEMSET, on_set, AT(cupti_memset), true },
    { CUPTI_KIND_MEMCPY2, on_peer, AT(cupti_memcpy2), true },
    { CUPTI_KIND_GRAPH_TRACE, on_graph, AT(cupti_graph_trace), true },
};

/* A record of what is reported outside windows too. */
static bool is_outside(const struct lpoc_records *r, size_t kind, const struct cupti_record *record)
{
    uint32_t correlation;
    bool noted;

    memcpy(&correlation, (const char *)record + kinds[kind].correlation, sizeof correlation);
    noted = lpoc_window_noted(r->gpu->owner, lpoc_correlation(r->gpu, correlation));
    return !noted && (kinds[kind].always || r->gpu->steady);
}

static void take(struct lpoc_records *r, const struct cupti_record *record)
{
    /* A block must not end between a shape and the record that uses it where it stands for itself.
     */
    if (r->used + 4 * RECORD_MAX > OUT_BYTES)
        write_out(r, false);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].kind == record->kind) {
            if (!is_outside(r, i, record))
                kinds[i].take(r, record);
            return;
        }
    lpoc_count(r->gpu->owner, LPOT_COUNT_RECORDS_UNKNOWN, 1);
}

void lpoc_buffer_complete(struct lpoc_records *r, void *context, uint32_t stream, uint8_t *buffer,
                          size_t size, size_t valid)
{
    const struct cupti *api = &r->gpu->api;
    struct cupti_record *record = NULL;
    size_t dropped = 0;

    (void)size;
    if (!buffer)
        return;
    lpoc_lock(&r->lock);
    while (valid && api->next_record(buffer, valid, &record) == CUPTI_OK)
        take(r, record);
    write_out(r, true);
    lpoc_unlock(&r->lock);
    if (api->dropped_records && api->dropped_records(context, stream, &dropped) == CUPTI_OK &&
        dropped)
        lpoc_count(r->gpu->owner, LPOT_COUNT_CUPTI_DROPPED, dropped);
    lpoc_pool_give(&r->pool, buffer, valid);
}

void lpoc_records_finish(struct lpoc_records *r)
{
    lpoc_lock(&r->lock);
    write_out(r, false);
    lpoc_unlock(&r->lock);
}

void lpoc_records_detached(struct lpoc_records *r)
{
    lpoc_pool_reclaim(&r->pool);
}
