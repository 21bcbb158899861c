/* How long the kernels of a CUDA graph took, where only its launches were timed.
 *
 * A node gets its share of every launch of its graph: in proportion to the mean time of the same
 * launch shape outside graphs (a program warms up before it captures), else of the same kernel,
 * else of all kernels. */
#include "trace/native_state.h"
#include "util/map.h"

/* Means over works outside graphs, by a key of some bytes. */
struct mean {
    double ns; /* a hostile file may have more than an integer holds */
    double count;
};

struct means {
    struct lpo_map *rows;
    LPO_VEC(struct mean) at;
};

static void mean_add(struct means *m, const void *key, size_t len, const struct mean *add)
{
    bool fresh;
    uint64_t *row = lpo_map_put(m->rows, key, len, &fresh);

    if (fresh) {
        *row = m->at.len;
        lpo_vec_push(&m->at, (struct mean){ 0, 0 });
    }
    m->at.at[*row].ns += add->ns;
    m->at.at[*row].count += add->count;
}

/* Negative when there is none. */
static double mean_get(const struct means *m, const void *key, size_t len)
{
    const uint64_t *row = lpo_map_find(m->rows, key, len);
    const struct mean *at = row ? &m->at.at[*row] : NULL;

    return at && at->ns > 0 ? at->ns / at->count : -1;
}

/* What tells one launch shape from another, as far as a graph node knows it. */
struct shape_key {
    uint32_t name, grid[3], block[3], dynamic_smem;
};

static struct shape_key key_of(const struct lpo_trace *t, uint32_t linker, uint32_t shape)
{
    struct shape_key k = { .name = linker };

    if (shape < t->shapes.len) {
        const struct lpo_shape *s = &t->shapes.at[shape];
        for (int i = 0; i < 3; i++) {
            k.grid[i] = s->grid[i];
            k.block[i] = s->block[i];
        }
        k.dynamic_smem = s->dynamic_smem;
    }
    return k;
}

struct eager {
    struct means shapes, names, kinds;
    struct lpo_map *full; /* shape_key to a shape that knows its registers */
};

/* Works of one kernel in one shape, or of one kind where they have none. */
struct group {
    struct mean mean;
    uint32_t linker, shape;
    uint8_t kind;
};

typedef LPO_VEC(struct group) groups;

/* Millions of works, a few hundred groups. */
static void gather(const struct native *n, size_t first_work, groups *out)
{
    LPO_AUTO(lpo_idmap) rows = lpo_idmap_create(0);

    for (size_t i = first_work; i < n->trace->works.len; i++) {
        const struct lpo_work *w = &n->trace->works.at[i];
        uint64_t key =
            w->kind == LPO_KERNEL ? (uint64_t)w->linker << 32 | w->shape : UINT64_MAX - w->kind;
        uint32_t *row;
        bool fresh;

        if (w->flags & (LPO_WORK_GRAPH | LPO_WORK_NO_LENGTH))
            continue;
        row = lpo_idmap_put(rows, key, &fresh);
        if (fresh) {
            *row = (uint32_t)out->len;
            lpo_vec_push(out, (struct group){ { 0, 0 }, w->linker, w->shape, w->kind });
        }
        out->at[*row].mean.ns += (double)lpo_work_ns(w);
        out->at[*row].mean.count++;
    }
}

static void learn(const struct native *n, size_t first_work, struct eager *e)
{
    groups all = { 0 };

    gather(n, first_work, &all);
    for (size_t i = 0; i < all.len; i++) {
        const struct group *g = &all.at[i];
        struct shape_key key = key_of(n->trace, g->linker, g->shape);

        mean_add(&e->kinds, &g->kind, sizeof g->kind, &g->mean);
        if (g->kind != LPO_KERNEL)
            continue;
        mean_add(&e->shapes, &key, sizeof key, &g->mean);
        mean_add(&e->names, &g->linker, sizeof g->linker, &g->mean);
        *lpo_map_put(e->full, (const char *)&key, sizeof key, NULL) = g->shape;
    }
    lpo_vec_free(&all);
}

static double weight_of(struct native *n, struct native_graph_node *node, const struct eager *e,
                        bool *own)
{
    struct shape_key key = key_of(n->trace, node->linker, node->shape);
    const uint64_t *full = lpo_map_find(e->full, (const char *)&key, sizeof key);
    uint8_t kind = node->kind, kernel = LPO_KERNEL;
    double ns = -1;

    if (node->kind == LPO_KERNEL) {
        if (full)
            node->shape = (uint32_t)*full;
        ns = mean_get(&e->shapes, &key, sizeof key);
        if (ns < 0)
            ns = mean_get(&e->names, &node->linker, sizeof node->linker);
    }
    *own = ns >= 0;
    if (ns < 0)
        ns = mean_get(&e->kinds, &kind, sizeof kind);
    if (ns < 0)
        ns = mean_get(&e->kinds, &kernel, sizeof kernel);
    return ns < 0 ? 1 : ns;
}

/* Each node's end as a part of the launch, 0 … 1. */
static void weigh(struct native *n, struct native_graph *g, const struct eager *e)
{
    double sum = 0, before = 0;

    for (size_t i = 0; i < g->nodes.len; i++) {
        bool own;
        g->nodes.at[i].until = weight_of(n, &g->nodes.at[i], e, &own);
        g->unseen += g->nodes.at[i].kind == LPO_KERNEL && !own;
        sum += g->nodes.at[i].until;
    }
    for (size_t i = 0; i < g->nodes.len; i++) {
        before += g->nodes.at[i].until;
        g->nodes.at[i].until = before / sum;
    }
    if (g->nodes.len)
        g->nodes.at[g->nodes.len - 1].until = 1;
}

static void eager_free(struct eager *e)
{
    struct means *all[] = { &e->shapes, &e->names, &e->kinds };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        lpo_map_destroy(all[i]->rows);
        lpo_vec_free(&all[i]->at);
    }
    lpo_map_destroy(e->full);
}

void native_weigh_graphs(struct native *n, size_t first_work)
{
    struct eager e = { { .rows = lpo_map_create() },
                       { .rows = lpo_map_create() },
                       { .rows = lpo_map_create() },
                       lpo_map_create() };

    learn(n, first_work, &e);
    for (size_t i = 0; i < n->graphs.len; i++)
        weigh(n, &n->graphs.at[i], &e);
    eager_free(&e);
}
