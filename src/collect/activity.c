/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/activity.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "collect/collect.h"
#include "collect/encode.h"
#include "collect/gpu.h"
#include "collect/guard.h"
#include "collect/mem.h"
#include "lpo/trace_format.h"

/* --- numbers for launch shapes and for places (device, context, stream) -----------------------
 *
 * A shape or a place is written once, with a number; records then use the number. */

/* Without padding, so that shapes compare as bytes. */
struct lpoc_shape {
    const char *name; /* CUPTI's copy: the same address for the same kernel */
    uint32_t grid[3], block[3];
    uint32_t registers, static_shared, dynamic_shared, local, place, zero;
};

struct lpoc_shapes {
    struct lpoc *owner;
    struct lpoc_shape_slot *shapes;
    uint32_t nshapes, shape_ids;
    struct lpoc_place_slot *places;
    uint32_t nplaces, place_ids;
};

/* A table that is three quarters full is emptied, and its numbers go on: memory stays bounded, and
 * a program with so many shapes has some of them written again. */
enum { SHAPES = 1 << 15, PLACES = 1 << 10 };

struct lpoc_shape_slot {
    struct lpoc_shape key;
    uint32_t id;     /* + 1; 0: empty */
    uint32_t string; /* CUPTI may use the memory of a name again for another kernel's: compared with
                        this */
};

struct lpoc_place_slot {
    uint32_t device, context, stream;
    uint32_t id; /* + 1; 0: empty */
};

/* -1: no memory */
static int start_shapes(struct lpoc_shapes *s, struct lpoc *owner)
{
    s->owner = owner;
    s->shapes = lpoc_map(SHAPES * sizeof *s->shapes);
    s->places = lpoc_map(PLACES * sizeof *s->places);
    return s->shapes && s->places ? 0 : -1;
}

/* Numbers start from 0 again. */
static void forget_shapes(struct lpoc_shapes *s)
{
    memset(s->shapes, 0, SHAPES * sizeof *s->shapes);
    memset(s->places, 0, PLACES * sizeof *s->places);
    s->nshapes = s->shape_ids = s->nplaces = s->place_ids = 0;
}

static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * 0xff51afd7ed558ccdu;
    return h ^ (h >> 31);
}

/* The number of this place or shape; a new one is defined at *p, which moves on by at most 128
 * bytes. */
static uint32_t place_id(struct lpoc_shapes *s, uint32_t device, uint32_t context, uint32_t stream,
                         uint8_t **p)
{
    struct lpoc_place_slot *slot;

    if (s->nplaces > PLACES / 4 * 3) {
        memset(s->places, 0, PLACES * sizeof *s->places);
        s->nplaces = 0;
    }
    for (uint64_t h = mix(mix(mix(1, device), context), stream);; h++) {
        slot = &s->places[h % PLACES];
        if (!slot->id)
            break;
        if (slot->device == device && slot->context == context && slot->stream == stream)
            return slot->id - 1;
    }
    *slot = (struct lpoc_place_slot){ device, context, stream, ++s->place_ids };
    s->nplaces++;
    *(*p)++ = LPOT_GPU_PLACE;
    *p = lpoc_put_v(*p, device);
    *p = lpoc_put_v(*p, context);
    *p = lpoc_put_v(*p, stream);
    return s->place_ids - 1;
}

static bool same_name(const struct lpoc *c, const struct lpoc_shape_slot *slot)
{
    const struct lpoc_string *s = &c->defs.strings[slot->string];

    return !slot->string ||
           (strncmp(slot->key.name, lpoc_defs_text(&c->defs, slot->string), s->len) == 0 &&
            (s->len == LPOC_KERNEL_NAME_MAX || !slot->key.name[s->len]));
}

static uint64_t shape_hash(const struct lpoc_shape *shape)
{
    uint64_t h = 7, word;

    for (size_t i = 0; i < sizeof *shape; i += 8) {
        memcpy(&word, (const char *)shape + i, 8);
        h = mix(h, word);
    }
    return h;
}

static uint8_t *put_shape(uint8_t *p, const struct lpoc_shape *shape, uint32_t string)
{
    *p++ = LPOT_GPU_SHAPE;
    p = lpoc_put_v(p, string);
    for (int i = 0; i < 3; i++)
        p = lpoc_put_v(p, shape->grid[i]);
    for (int i = 0; i < 3; i++)
        p = lpoc_put_v(p, shape->block[i]);
    p = lpoc_put_v(p, shape->registers);
    p = lpoc_put_v(p, shape->static_shared);
    p = lpoc_put_v(p, shape->dynamic_shared);
    p = lpoc_put_v(p, shape->local);
    return lpoc_put_v(p, shape->place);
}

static uint32_t shape_id(struct lpoc_shapes *s, const struct lpoc_shape *shape, uint8_t **p)
{
    struct lpoc_shape_slot *slot;

    if (s->nshapes > SHAPES / 4 * 3) {
        memset(s->shapes, 0, SHAPES * sizeof *s->shapes);
        s->nshapes = 0;
    }
    for (uint64_t h = shape_hash(shape);; h++) {
        slot = &s->shapes[h % SHAPES];
        if (!slot->id) {
            s->nshapes++;
            break;
        }
        if (memcmp(&slot->key, shape, sizeof *shape) != 0)
            continue;
        if (same_name(s->owner, slot))
            return slot->id - 1;
        break;
    }
    slot->key = *shape;
    slot->string = lpoc_kernel_name(s->owner, shape->name);
    slot->id = ++s->shape_ids;
    *p = put_shape(*p, shape, slot->string);
    return slot->id - 1;
}

/* --- empty activity buffers for CUPTI ----------------------------------------------------------
 */

enum { LPOC_POOL_MAX = 1024 };

struct lpoc_pool {
    pthread_mutex_t lock;
    size_t bytes; /* of one buffer */
    unsigned free_count, made, most;
    bool zeroed; /* buffers in the pool hold only zeros */
    uint8_t *free[LPOC_POOL_MAX], *all[LPOC_POOL_MAX];
};

static uint8_t *make(struct lpoc_pool *p)
{
    uint8_t *buffer;

    if (p->made >= p->most)
        return NULL;
    buffer = lpoc_map(p->bytes);
    if (buffer)
        p->all[p->made++] = buffer;
    return buffer;
}

/* Makes `ready` buffers now, so that the first launches do not wait for their page faults. */
static void start_pool(struct lpoc_pool *p, size_t bytes, unsigned ready, unsigned most,
                       bool zeroed)
{
    pthread_mutex_init(&p->lock, NULL);
    p->bytes = bytes;
    p->most = most < LPOC_POOL_MAX ? most : LPOC_POOL_MAX;
    p->zeroed = zeroed;
    while (p->free_count < ready) {
        uint8_t *buffer = make(p);
        if (!buffer)
            return;
        for (size_t at = 0; at < bytes; at += 4096)
            *(volatile uint8_t *)(buffer + at) = 0; /* take the page faults here */
        p->free[p->free_count++] = buffer;
    }
}

/* CUPTI asks for a buffer in the middle of a launch, so those that are ready were touched before;
 * at the limit it gets none and drops records, which it counts and we report. */
static uint8_t *take_buffer(struct lpoc_pool *p)
{
    uint8_t *buffer;

    lpoc_lock(&p->lock);
    buffer = p->free_count ? p->free[--p->free_count] : make(p);
    lpoc_unlock(&p->lock);
    return buffer;
}

static void give_buffer(struct lpoc_pool *p, uint8_t *buffer, size_t used)
{
    if (p->zeroed)
        memset(buffer, 0, used < p->bytes ? used : p->bytes);
    lpoc_lock(&p->lock);
    if (p->free_count < LPOC_POOL_MAX)
        p->free[p->free_count++] = buffer;
    lpoc_unlock(&p->lock);
}

static bool is_free(const struct lpoc_pool *p, const uint8_t *buffer)
{
    for (unsigned i = 0; i < p->free_count; i++)
        if (p->free[i] == buffer)
            return true;
    return false;
}

/* How much of one that did not come back was used is not known. */
static void reclaim_buffers(struct lpoc_pool *p)
{
    lpoc_lock(&p->lock);
    for (unsigned i = 0; i < p->made; i++) {
        if (is_free(p, p->all[i]))
            continue;
        if (p->zeroed)
            memset(p->all[i], 0, p->bytes);
        p->free[p->free_count++] = p->all[i];
    }
    lpoc_unlock(&p->lock);
}

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
    if (!r->out || start_shapes(&r->shapes, gpu->owner) < 0)
        return NULL;
    start_pool(&r->pool, (size_t)k->cupti_buffer_kb << 10, (unsigned)k->cupti_buffers,
               (unsigned)k->cupti_buffers_max, k->cupti_zeroed != 0);
    return r;
}

void lpoc_buffer_request(struct lpoc_records *r, uint8_t **buffer, size_t *size)
{
    *buffer = take_buffer(&r->pool);
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
        forget_shapes(&r->shapes);
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
    uint32_t id = place_id(&r->shapes, device, context, stream, &p);

    end(r, p);
    return id;
}

static uint32_t shape_of(struct lpoc_records *r, const struct lpoc_shape *s)
{
    uint8_t *p = begin(r);
    uint32_t id = shape_id(&r->shapes, s, &p);

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
    give_buffer(&r->pool, buffer, valid);
}

void lpoc_records_finish(struct lpoc_records *r)
{
    lpoc_lock(&r->lock);
    write_out(r, false);
    lpoc_unlock(&r->lock);
}

void lpoc_records_detached(struct lpoc_records *r)
{
    reclaim_buffers(&r->pool);
}
