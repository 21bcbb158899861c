/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/counters/match.h"

#include "region/tree.h"

/* GPU operations of the base trace in one queue, in the order of their launches. */
struct queue {
    LPO_VEC(uint32_t) gpu_ops;
    size_t next;
};

struct peers {
    LPO_VEC(int64_t) ns;
    int64_t median;
};

struct lpo_counters_match {
    const struct lpo_trace *base, *counters;
    const struct lpo_region_tree *base_tree, *counters_tree;
    bool by_linker;
    struct lpo_map *wanted;          /* shape keys that were measured */
    struct lpo_map *with_path, *any; /* key -> queue */
    LPO_VEC(struct queue) queues;
    bool *taken;
    struct lpo_map *places; /* configuration, folded path, ordinal -> group of peers */
    uint32_t *peers_of;     /* per GPU operation of base */
    LPO_VEC(struct peers) peers;
};

void lpo_counters_match_name_key(const struct lpo_counters_match *m, const struct lpo_trace *t,
                                 const struct lpo_gpu_op *w, struct lpo_str *key)
{
    uint32_t id = m->by_linker && w->linker ? w->linker : w->name;

    lpo_str_clear(key);
    lpo_str_addn(key, lpo_trace_text(t, id), lpo_trace_text_len(t, id));
}

static void add_shape(const struct lpo_trace *t, const struct lpo_gpu_op *w, struct lpo_str *key)
{
    uint32_t shape[6] = { 0 };

    if (w->shape != LPO_NONE) {
        memcpy(shape, t->shapes.at[w->shape].grid, 3 * sizeof *shape);
        memcpy(shape + 3, t->shapes.at[w->shape].block, 3 * sizeof *shape);
    }
    lpo_str_addc(key, '\0');
    lpo_str_addn(key, (const char *)shape, sizeof shape);
}

void lpo_counters_match_shape_key(const struct lpo_counters_match *m, const struct lpo_trace *t,
                                  const struct lpo_gpu_op *w, struct lpo_str *key)
{
    lpo_counters_match_name_key(m, t, w, key);
    add_shape(t, w, key);
}

/* "void at::native::reduce_kernel<512, 1>(…)" to "reduce_kernel". */
static void add_function(struct lpo_str *key, const char *name, size_t len)
{
    const char *end = memchr(name, '<', len);
    size_t n = end ? (size_t)(end - name) : len, from;

    if (!end && n && name[n - 1] == ')')
        while (n && name[--n] != '(')
            ;
    for (from = n; from && name[from - 1] != ':' && name[from - 1] != ' '; from--)
        ;
    lpo_str_addn(key, name + from, n - from);
}

void lpo_counters_match_family_key(const struct lpo_trace *t, const struct lpo_gpu_op *w,
                                   struct lpo_str *key)
{
    lpo_str_clear(key);
    add_function(key, lpo_trace_text(t, w->name), lpo_trace_text_len(t, w->name));
    add_shape(t, w, key);
}

/* The push/pop ranges around the launch, outermost first. */
static void add_path(const struct lpo_region_tree *tree, const struct lpo_gpu_op *w,
                     struct lpo_str *key)
{
    uint32_t node = tree->places.at[lpo_region_place(tree, w)].leaf, chain[LPO_REGION_DEPTH];
    size_t n = 0;

    for (; node != LPO_NONE && n < LPO_REGION_DEPTH; node = tree->nodes.at[node].parent)
        chain[n++] = tree->nodes.at[node].name;
    while (n--) {
        lpo_str_addc(key, '\0');
        lpo_str_addn(key, lpo_trace_text(tree->trace, chain[n]),
                     lpo_trace_text_len(tree->trace, chain[n]));
    }
}

static struct queue *queue_at(struct lpo_counters_match *m, struct lpo_map *map,
                              const struct lpo_str *key)
{
    bool fresh;
    uint64_t *slot = lpo_map_put(map, key->at, key->len, &fresh);

    if (fresh) {
        *slot = m->queues.len;
        lpo_vec_push(&m->queues, (struct queue){ 0 });
    }
    return &m->queues.at[*slot];
}

/* A launch and its moment: traces hold GPU operations in the order of their completion. */
struct moment {
    int64_t launched, started;
    uint32_t gpu_op;
};

LPO_COMPARE(by_moment, struct moment, LPO_UP(launched) ?: LPO_UP(started));

static struct moment *kernels_in_order(const struct lpo_trace *t, size_t *count)
{
    struct moment *at = lpo_xcalloc(t->gpu_ops.len + 1, sizeof *at);

    *count = 0;
    for (size_t i = 0; i < t->gpu_ops.len; i++) {
        const struct lpo_gpu_op *w = &t->gpu_ops.at[i];

        if (w->kind == LPO_KERNEL)
            at[(*count)++] =
                (struct moment){ w->launch == LPO_NONE ? w->start_ns
                                                       : t->launches.at[w->launch].start_ns,
                                 w->start_ns, (uint32_t)i };
    }
    qsort(at, *count, sizeof *at, by_moment);
    return at;
}

static void fill_queues(struct lpo_counters_match *m)
{
    LPO_STR key = { 0 };
    size_t count;
    LPO_FREED struct moment *order = kernels_in_order(m->base, &count);

    for (size_t i = 0; i < m->counters->gpu_ops.len; i++) {
        lpo_counters_match_shape_key(m, m->counters, &m->counters->gpu_ops.at[i], &key);
        lpo_map_put(m->wanted, key.at, key.len, NULL);
    }
    for (size_t i = 0; i < count; i++) {
        const struct lpo_gpu_op *w = &m->base->gpu_ops.at[order[i].gpu_op];
        struct queue *q;

        lpo_counters_match_shape_key(m, m->base, w, &key);
        if (!lpo_map_find(m->wanted, key.at, key.len))
            continue;
        q = queue_at(m, m->any, &key);
        lpo_vec_push(&q->gpu_ops, order[i].gpu_op);
        add_path(m->base_tree, w, &key);
        q = queue_at(m, m->with_path, &key);
        lpo_vec_push(&q->gpu_ops, order[i].gpu_op);
    }
}

LPO_COMPARE(by_ns, int64_t, LPO_UP_OF(*a, *b));

static void add_peer(struct lpo_counters_match *m, uint32_t gpu_op, const struct lpo_str *key)
{
    bool fresh;
    uint64_t *slot = lpo_map_put(m->places, key->at, key->len, &fresh);

    if (fresh) {
        *slot = m->peers.len;
        lpo_vec_push(&m->peers, (struct peers){ 0 });
    }
    m->peers_of[gpu_op] = (uint32_t)*slot;
    lpo_vec_push(&m->peers.at[*slot].ns, lpo_trace_gpu_op_ns(&m->base->gpu_ops.at[gpu_op]));
}

/* How often this configuration came since the path last changed; the counts die with the path. */
struct ordinals {
    struct lpo_str path;
    struct lpo_map *seen;
};

static uint32_t next_ordinal(struct ordinals *o, const struct lpo_str *path,
                             const struct lpo_str *shape)
{
    if (!o->seen || path->len != o->path.len ||
        (path->len && memcmp(path->at, o->path.at, path->len) != 0)) {
        lpo_map_destroy(o->seen);
        o->seen = lpo_map_create();
        lpo_str_clear(&o->path);
        lpo_str_addn(&o->path, lpo_str_text(path), path->len);
    }
    return (uint32_t)(*lpo_map_put(o->seen, shape->at, shape->len, NULL))++;
}

static void group_peers(struct lpo_counters_match *m)
{
    LPO_STR path = { 0 };
    LPO_STR key = { 0 };
    struct ordinals o = { 0 };
    size_t count;
    LPO_FREED struct moment *order = kernels_in_order(m->base, &count);

    for (size_t i = 0; i < count; i++) {
        const struct lpo_gpu_op *w = &m->base->gpu_ops.at[order[i].gpu_op];
        uint32_t ordinal;

        lpo_str_clear(&path);
        add_path(m->base_tree, w, &path);
        lpo_counters_match_shape_key(m, m->base, w, &key);
        ordinal = next_ordinal(&o, &path, &key);
        lpo_str_add_starred(&key, lpo_str_text(&path), path.len);
        lpo_str_addn(&key, (const char *)&ordinal, sizeof ordinal);
        add_peer(m, order[i].gpu_op, &key);
    }
    for (size_t i = 0; i < m->peers.len; i++) {
        struct peers *p = &m->peers.at[i];

        lpo_vec_sort(&p->ns, by_ns);
        p->median = p->ns.at[p->ns.len / 2];
    }
    lpo_map_destroy(o.seen);
    lpo_str_free(&o.path);
}

struct lpo_counters_match *lpo_counters_match_create(const struct lpo_region_tree *base,
                                                     const struct lpo_region_tree *counters)
{
    struct lpo_counters_match *m = lpo_xcalloc(1, sizeof *m);

    m->base = base->trace;
    m->counters = counters->trace;
    m->base_tree = base;
    m->counters_tree = counters;
    m->wanted = lpo_map_create();
    m->with_path = lpo_map_create();
    m->any = lpo_map_create();
    m->taken = lpo_xcalloc(base->trace->gpu_ops.len, sizeof *m->taken);
    for (size_t i = 0; i < counters->trace->gpu_ops.len; i++)
        m->by_linker |= counters->trace->gpu_ops.at[i].linker != 0;
    m->places = lpo_map_create();
    m->peers_of = lpo_xmalloc((base->trace->gpu_ops.len + 1) * sizeof *m->peers_of);
    memset(m->peers_of, 0xff, (base->trace->gpu_ops.len + 1) * sizeof *m->peers_of);
    fill_queues(m);
    group_peers(m);
    return m;
}

void lpo_counters_match_destroy(struct lpo_counters_match *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->queues.len; i++)
        lpo_vec_free(&m->queues.at[i].gpu_ops);
    lpo_vec_free(&m->queues);
    lpo_map_destroy(m->wanted);
    lpo_map_destroy(m->with_path);
    lpo_map_destroy(m->any);
    for (size_t i = 0; i < m->peers.len; i++)
        lpo_vec_free(&m->peers.at[i].ns);
    lpo_vec_free(&m->peers);
    lpo_map_destroy(m->places);
    free(m->peers_of);
    free(m->taken);
    free(m);
}

static uint32_t take_from(struct lpo_counters_match *m, struct lpo_map *map,
                          const struct lpo_str *key)
{
    const uint64_t *slot = lpo_map_find(map, key->at, key->len);
    struct queue *q = slot ? &m->queues.at[*slot] : NULL;

    while (q && q->next < q->gpu_ops.len) {
        uint32_t i = q->gpu_ops.at[q->next++];

        if (!m->taken[i]) {
            m->taken[i] = true;
            return i;
        }
    }
    return LPO_NONE;
}

uint32_t lpo_counters_match_take(struct lpo_counters_match *m, const struct lpo_gpu_op *reading)
{
    LPO_STR key = { 0 };
    uint32_t found;

    lpo_counters_match_shape_key(m, m->counters, reading, &key);
    add_path(m->counters_tree, reading, &key);
    found = take_from(m, m->with_path, &key);
    if (found != LPO_NONE)
        return found;
    lpo_counters_match_shape_key(m, m->counters, reading, &key);
    return take_from(m, m->any, &key);
}

uint32_t lpo_counters_match_peers(const struct lpo_counters_match *m, uint32_t gpu_op)
{
    return m->peers_of[gpu_op];
}

int64_t lpo_counters_match_peers_ns(const struct lpo_counters_match *m, uint32_t peers)
{
    return m->peers.at[peers].median;
}
