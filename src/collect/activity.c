#include "collect/activity.h"

#include <string.h>

#include "collect/gpu.h"
#include "collect/mem.h"
#include "collect/pool.h"
#include "collect/wire.h"
#include "lpo/trace_format.h"

enum {
    OUT_BYTES = 256 << 10,
    RECORD_MAX = 256,
    SHAPES = 1 << 15, /* slots; the table is emptied at three quarters, ids go on */
    PLACES = 1 << 10,
    KERNEL_NAME_MAX = 32 << 10,
};

/* Without padding, so that shapes compare as bytes. */
struct shape {
    const char *name; /* CUPTI's copy: the same address for the same kernel */
    uint32_t grid[3], block[3];
    uint32_t registers, static_shared, dynamic_shared, local, place, zero;
};

struct shape_slot {
    struct shape key;
    uint32_t id;     /* + 1; 0: empty */
    uint32_t string; /* to see that the memory of a name was not used again for another */
};

struct place {
    uint32_t device, context, stream;
    uint32_t id; /* + 1; 0: empty */
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
    struct shape_slot *shapes;
    uint32_t nshapes, shape_ids;
    struct place *places;
    uint32_t nplaces, place_ids;
};

struct lpoc_records *lpoc_records_create(struct lpoc_gpu *gpu)
{
    const struct lpoc_knobs *k = &gpu->owner->knobs;
    struct lpoc_records *r = lpoc_map(sizeof *r);

    if (!r)
        return NULL;
    r->gpu = gpu;
    r->out = lpoc_map(OUT_BYTES);
    r->shapes = lpoc_map(SHAPES * sizeof *r->shapes);
    r->places = lpoc_map(PLACES * sizeof *r->places);
    pthread_mutex_init(&r->lock, NULL);
    if (!r->out || !r->shapes || !r->places)
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

static void write_out(struct lpoc_records *r)
{
    struct lpoc *c = r->gpu->owner;

    if (!r->used)
        return;
    lpoc_write_defs(c);
    if (lpoc_file_block(&c->file, &c->clock, LPOT_GPU, 0, r->sequence, r->out, r->used, NULL) < 0)
        lpoc_count(c, LPOT_COUNT_GPU_LOST, r->in_block);
    else
        r->sequence++;
    r->used = 0;
    r->in_block = 0;
}

/* Where the next record goes. */
static uint8_t *begin(struct lpoc_records *r)
{
    if (r->used + RECORD_MAX > OUT_BYTES)
        write_out(r);
    return r->out + r->used;
}

static void end(struct lpoc_records *r, const uint8_t *p)
{
    r->used = (size_t)(p - r->out);
}

static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * 0xff51afd7ed558ccdu;
    return h ^ (h >> 31);
}

static uint32_t place_of(struct lpoc_records *r, uint32_t device, uint32_t context, uint32_t stream)
{
    uint64_t h = mix(mix(mix(1, device), context), stream);
    struct place *slot;
    uint8_t *p;

    if (r->nplaces > PLACES / 4 * 3) {
        memset(r->places, 0, PLACES * sizeof *r->places);
        r->nplaces = 0;
    }
    for (;; h++) {
        slot = &r->places[h % PLACES];
        if (!slot->id)
            break;
        if (slot->device == device && slot->context == context && slot->stream == stream)
            return slot->id - 1;
    }
    *slot = (struct place){ device, context, stream, ++r->place_ids };
    r->nplaces++;
    p = begin(r);
    *p++ = LPOT_GPU_PLACE;
    p = lpoc_put_v(p, device);
    p = lpoc_put_v(p, context);
    end(r, lpoc_put_v(p, stream));
    return r->place_ids - 1;
}

static uint32_t string_of(struct lpoc *c, const char *name)
{
    size_t len = name ? strnlen(name, KERNEL_NAME_MAX) : 0;
    uint32_t id;

    if (!len)
        return 0;
    pthread_mutex_lock(&c->lock);
    id = lpoc_defs_string(&c->defs, name, len, lpoc_defs_hash(name, len), true);
    pthread_mutex_unlock(&c->lock);
    return id == LPOC_NAME_FULL ? 0 : id;
}

static bool same_name(const struct lpoc *c, const struct shape_slot *slot)
{
    const struct lpoc_string *s = &c->defs.strings[slot->string];

    return !slot->string ||
           (strncmp(slot->key.name, lpoc_defs_text(&c->defs, slot->string), s->len) == 0 &&
            (s->len == KERNEL_NAME_MAX || !slot->key.name[s->len]));
}

static uint64_t shape_hash(const struct shape *s)
{
    uint64_t h = 7, word;

    for (size_t i = 0; i < sizeof *s; i += 8) {
        memcpy(&word, (const char *)s + i, 8);
        h = mix(h, word);
    }
    return h;
}

static void write_shape(struct lpoc_records *r, const struct shape *s, uint32_t string)
{
    uint8_t *p = begin(r);

    *p++ = LPOT_GPU_SHAPE;
    p = lpoc_put_v(p, string);
    for (int i = 0; i < 3; i++)
        p = lpoc_put_v(p, s->grid[i]);
    for (int i = 0; i < 3; i++)
        p = lpoc_put_v(p, s->block[i]);
    p = lpoc_put_v(p, s->registers);
    p = lpoc_put_v(p, s->static_shared);
    p = lpoc_put_v(p, s->dynamic_shared);
    p = lpoc_put_v(p, s->local);
    end(r, lpoc_put_v(p, s->place));
}

static uint32_t shape_of(struct lpoc_records *r, const struct shape *s)
{
    struct lpoc *c = r->gpu->owner;
    struct shape_slot *slot;

    if (r->nshapes > SHAPES / 4 * 3) {
        memset(r->shapes, 0, SHAPES * sizeof *r->shapes);
        r->nshapes = 0;
    }
    for (uint64_t h = shape_hash(s);; h++) {
        slot = &r->shapes[h % SHAPES];
        if (!slot->id) {
            r->nshapes++;
            break;
        }
        if (memcmp(&slot->key, s, sizeof *s) != 0)
            continue;
        if (same_name(c, slot))
            return slot->id - 1;
        break;
    }
    slot->key = *s;
    slot->string = string_of(c, s->name);
    slot->id = ++r->shape_ids;
    write_shape(r, s, slot->string);
    return slot->id - 1;
}

struct timing {
    uint64_t start, end, node;
    uint32_t corr, graph;
};

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
    if (!(flags & LPOT_GPU_UNTIMED)) {
        p = lpoc_put_z(p, (int64_t)(t->start - r->last_start));
        p = lpoc_put_v(p, t->end - t->start);
        r->last_start = t->start;
    }
    p = lpoc_put_z(p, (int32_t)(t->corr - r->last_corr));
    r->last_corr = t->corr;
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
    struct shape s = { .name = k->name,
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

static const struct {
    uint32_t kind;
    void (*take)(struct lpoc_records *r, const struct cupti_record *record);
} kinds[] = {
    { CUPTI_KIND_KERNEL, on_kernel },     { CUPTI_KIND_MEMCPY, on_copy },
    { CUPTI_KIND_MEMSET, on_set },        { CUPTI_KIND_MEMCPY2, on_peer },
    { CUPTI_KIND_GRAPH_TRACE, on_graph },
};

static void take(struct lpoc_records *r, const struct cupti_record *record)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].kind == record->kind) {
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
    pthread_mutex_lock(&r->lock);
    while (valid && api->next_record(buffer, valid, &record) == CUPTI_OK)
        take(r, record);
    write_out(r);
    pthread_mutex_unlock(&r->lock);
    if (api->dropped_records && api->dropped_records(context, stream, &dropped) == CUPTI_OK &&
        dropped)
        lpoc_count(r->gpu->owner, LPOT_COUNT_CUPTI_DROPPED, dropped);
    lpoc_pool_give(&r->pool, buffer, valid);
}
