/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a digest: kernels, regions, operators, as the tables of analysis/ have them, and how
 * much their single calls differ: one sweep per thread over ranges (or operators) and launches in
 * order of time, with what is open on a stack. */
#include <ctype.h>

#include "analysis/analysis.h"
#include "analysis/diff/private.h"
#include "analysis/operators/operators.h"
#include "region/fold.h"
#include "trace/host.h"

static const char *name_of(struct lpo_diff_builder *b, uint32_t name)
{
    const struct lpo_trace *t = b->a->trace;

    return lpo_arena_name(b->out->arena, lpo_trace_text(t, name), lpo_trace_text_len(t, name));
}

/* --- kernels -------------------------------------------------------------------------------- */

static void add_kernel(struct lpo_diff_builder *b, const struct lpo_top_row *row)
{
    uint32_t linker = lpo_region_cells_linker(b->a->cells, row->name);
    struct lpo_diff_item k = {
        .name = name_of(b, row->name),
        .detail =
            lpo_arena_strdup(b->out->arena, lpo_region_cells_short_name(b->a->cells, row->name)),
        .linker = linker && linker != LPO_NONE ? name_of(b, linker) : "",
        .class = lpo_region_cells_class(b->a->cells, row->name),
        .count = row->sum.launches,
        .launches = row->sum.launches,
        .ns = row->sum.ns,
        .self_ns = row->sum.ns,
        .host_ns = -1,
        .known = lpo_region_sum_known(&row->sum),
        .estimated = lpo_region_sum_estimated(&row->sum),
        .parent = LPO_NONE,
    };

    k.key = k.name;
    b->kernel_of[row->name] = (uint32_t)b->out->items[LPO_DIFF_KERNELS].len;
    lpo_vec_push(&b->out->items[LPO_DIFF_KERNELS], k);
    b->out->gpu_ns += row->sum.ns;
    b->out->launches += row->sum.launches;
}

static struct lpo_diff_stratum *stratum_of(struct lpo_diff_builder *b, struct lpo_map_pair *map,
                                           uint32_t **at, const struct lpo_gpu_op *op)
{
    struct lpo_diff_item *k = &b->out->items[LPO_DIFF_KERNELS].at[b->kernel_of[op->name]];
    bool fresh;
    uint32_t row = lpo_map_pair_put(map, op->name, op->shape, &fresh);

    if (fresh) {
        struct lpo_diff_stratum s = { { 0 } };

        if (op->shape != LPO_NONE) {
            memcpy(s.grid, b->a->trace->shapes.at[op->shape].grid, sizeof s.grid);
            memcpy(s.block, b->a->trace->shapes.at[op->shape].block, sizeof s.block);
        }
        if ((row & (row - 1)) == 0) /* grows at every power of two */
            *at = lpo_xrealloc(*at, row ? (size_t)row * 2 : 1, sizeof **at);
        (*at)[row] = (uint32_t)k->strata.len;
        lpo_vec_push(&k->strata, s);
    }
    return &k->strata.at[(*at)[row]];
}

static void add_launches(struct lpo_diff_builder *b)
{
    const struct lpo_trace *t = b->a->trace;
    LPO_FREED struct lpo_map_pair map = { 0 };
    LPO_FREED uint32_t *at = NULL;

    for (size_t i = 0; i < t->gpu_ops.len; i++) {
        const struct lpo_gpu_op *op = &t->gpu_ops.at[i];
        struct lpo_diff_stratum *s;

        if (op->kind != LPO_KERNEL || b->kernel_of[op->name] == LPO_NONE)
            continue;
        s = stratum_of(b, &map, &at, op);
        s->count++;
        s->ns += lpo_trace_gpu_op_ns(op);
        if (!(op->flags & (LPO_GPU_OP_NO_LENGTH | LPO_GPU_OP_SHARE)))
            lpo_diff_keep(b, &s->calls, lpo_trace_gpu_op_ns(op));
    }
}

static void digest_kernels(struct lpo_diff_builder *b)
{
    const lpo_top_rows *rows = lpo_analysis_top(b->a, LPO_KERNEL);

    memset(b->kernel_of, 0xff, (lpo_trace_name_count(b->a->trace) + 1) * sizeof *b->kernel_of);
    for (size_t i = 0; i < rows->len; i++)
        add_kernel(b, &rows->at[i]);
    add_launches(b);
}

/* --- regions -------------------------------------------------------------------------------- */

/* Every run of digits as one star: a family of which the other run has one member only still
 * meets it. */
static const char *starred(struct lpo_arena *a, const char *path)
{
    LPO_STR out = { 0 };

    lpo_str_add_starred(&out, path, strlen(path));
    return lpo_arena_strdup(a, lpo_str_text(&out));
}

/* Is a visit of a region of this name one step of a program? */
static bool is_step(const char *path)
{
    static const char *const names[] = { "profilerstep", "step",       "iteration",   "iter",
                                         "trainstep",    "decodestep", "trainingstep" };
    const char *last = strrchr(path, '/');
    char letters[24];
    size_t n = 0;

    for (const char *p = last ? last + 1 : path; *p && n < sizeof letters - 1; p++)
        if (isalpha((unsigned char)*p))
            letters[n++] = (char)tolower((unsigned char)*p);
    letters[n] = '\0';
    return lpo_any(i, sizeof names / sizeof *names, strcmp(letters, names[i]) == 0);
}

static void add_region(struct lpo_diff_builder *b, const struct lpo_fold_row *row)
{
    struct lpo_diff_item *all = b->out->items[LPO_DIFF_REGIONS].at;
    size_t n = b->out->items[LPO_DIFF_REGIONS].len;
    const struct lpo_region_row *sum = &row->sum;
    struct lpo_diff_item r = {
        .name = lpo_arena_strdup(b->out->arena, row->path),
        .detail = "",
        .linker = "",
        .count = sum->visits,
        .launches = sum->all.launches,
        .ns = sum->all.ns,
        .self_ns = sum->self.ns,
        .host_ns = sum->visits_known ? sum->host_ns : -1,
        .known = lpo_region_sum_known(&sum->all),
        .estimated = lpo_region_sum_estimated(&sum->all),
        .host = sum->all.launches == 0,
        .parent = LPO_NONE,
        .depth = row->depth,
    };

    r.key = starred(b->out->arena, r.name);
    for (size_t i = n; i > 0 && r.parent == LPO_NONE && row->depth > 0; i--)
        if (all[i - 1].depth < row->depth) /* rows stand in the order of a walk down the tree */
            r.parent = (uint32_t)(i - 1);
    lpo_vec_push(&r.strata, (struct lpo_diff_stratum){ .count = r.count, .ns = r.ns });
    if (sum->visits_known && is_step(r.name) &&
        (b->out->step == UINT32_MAX || row->depth < all[b->out->step].depth))
        b->out->step = (uint32_t)n;
    lpo_vec_push(&b->out->items[LPO_DIFF_REGIONS], r);
}

/* Steps are counted by one process: all ranks of a job take them together. */
static void count_steps(struct lpo_diff_builder *b)
{
    const struct lpo_region_tree *tree = b->a->tree;
    size_t processes = b->a->trace->processes.len, seen = 0;
    bool *in;

    if (b->out->step == UINT32_MAX)
        return;
    in = lpo_xcalloc(processes + 1, sizeof *in);
    for (size_t n = 0; n < tree->nodes.len; n++)
        for (uint32_t v = b->region_of[n] == b->out->step ? tree->nodes.at[n].visits : LPO_NONE;
             v != LPO_NONE; v = tree->visits.at[v].next)
            in[tree->visits.at[v].process] = true;
    for (size_t i = 0; i < processes; i++)
        seen += in[i];
    free(in);
    if (seen)
        b->out->steps = b->out->items[LPO_DIFF_REGIONS].at[b->out->step].count / seen;
}

static void digest_regions(struct lpo_diff_builder *b)
{
    const struct lpo_region_scope *all = lpo_analysis_all(b->a);
    LPO_AUTO(lpo_region_fold) fold = lpo_region_fold_create(all, 1);
    size_t nodes = b->a->tree->nodes.len;

    memset(b->region_of, 0xff, (nodes + 1) * sizeof *b->region_of);
    for (size_t i = 0; i < fold->rows.len; i++)
        add_region(b, &fold->rows.at[i]);
    for (size_t i = 0; i < all->rows.len; i++) {
        uint32_t node = all->rows.at[i].node;

        b->region_of[node == LPO_NODE_OUTSIDE ? nodes : node] = fold->line_of[i];
    }
    count_steps(b);
}

/* --- operators ------------------------------------------------------------------------------ */

static void digest_operators(struct lpo_diff_builder *b)
{
    const struct lpo_operators *ops = lpo_analysis_operators(b->a, true);
    bool gpu = lpo_trace_has_gpu_ops(b->a->trace);

    for (size_t i = 0; i < ops->rows.len; i++) {
        const struct lpo_operator *row = &ops->rows.at[i];
        struct lpo_diff_item o = {
            .name = name_of(b, row->name),
            .detail = row->shapes == LPO_NONE ? "" : name_of(b, row->shapes),
            .linker = row->types == LPO_NONE ? "" : name_of(b, row->types),
            .count = row->calls,
            .launches = row->gpu_ops_total,
            .ns = row->gpu_total_ns,
            .self_ns = row->gpu_self_ns,
            .host_ns = row->cpu_total_ns,
            .known = gpu,
            .host = row->gpu_ops_total == 0,
            .parent = LPO_NONE,
        };

        o.key = lpo_arena_printf(b->out->arena, "%s %s %s",
                                 is_step(o.name) ? starred(b->out->arena, o.name) : o.name,
                                 o.detail, o.linker);
        lpo_vec_push(&o.strata, (struct lpo_diff_stratum){ .count = o.count, .ns = o.ns });
        lpo_vec_push(&b->out->items[LPO_DIFF_OPERATORS], o);
        if (row->gpu_self_ns > 0 && row->cost.math != LPO_DTYPE_NONE && row->cost.flops > 0)
            b->out->flops += row->cost.flops; /* only where it launches itself: once */
    }
}

/* --- single calls ---------------------------------------------------------------------------- */

struct open {
    int64_t start_ns, end_ns, gpu_ns;
    uint32_t key; /* node of the tree or row of operators; LPO_NONE: none */
};

struct sweep {
    struct lpo_diff_builder *b;
    const struct lpo_trace *t;
    int64_t *launched; /* per launch: time of what it started */
    LPO_VEC(struct open) stack;
    enum lpo_diff_table table;
    uint32_t thread;
    struct lpo_map_pair map; /* to rows of `keys` */
    LPO_VEC(uint32_t) keys;
    struct visits *visits; /* per row of regions */
};

/* When the visits of a region ended, on the thread that entered it first. */
struct visits {
    uint32_t thread;
    LPO_VEC(int64_t) ends; /* before them, when the first one began */
};

enum { MOST_VISITS = 100000, MOST_SERIES = 16 };

static void sum_launches(struct sweep *s, bool kernels_only)
{
    for (size_t i = 0; i < s->t->launches.len; i++)
        s->launched[i] = 0;
    for (size_t i = 0; i < s->t->gpu_ops.len; i++) {
        const struct lpo_gpu_op *op = &s->t->gpu_ops.at[i];

        if (op->launch != LPO_NONE && (!kernels_only || op->kind == LPO_KERNEL))
            s->launched[op->launch] += lpo_trace_gpu_op_ns(op);
    }
}

static void put_key(struct sweep *s, uint64_t a, uint64_t b, uint32_t key)
{
    bool fresh;

    lpo_map_pair_put(&s->map, a, b, &fresh);
    if (fresh)
        lpo_vec_push(&s->keys, key);
}

static uint32_t key_at(struct sweep *s, uint64_t a, uint64_t b)
{
    uint32_t row = lpo_map_pair_find(&s->map, a, b);

    return row == UINT32_MAX ? LPO_NONE : s->keys.at[row];
}

static uint64_t both_names(uint32_t dims, uint32_t types)
{
    return (uint64_t)dims << 32 | types;
}

static uint64_t dims_and_types(const struct lpo_trace *t, const struct lpo_op *op)
{
    if (op->args == LPO_NONE)
        return both_names(LPO_NONE, LPO_NONE);
    return both_names(t->op_args.at[op->args].dims, t->op_args.at[op->args].types);
}

static void note_end(struct sweep *s, uint32_t row, const struct open *o)
{
    struct visits *v = &s->visits[row];

    if (!v->ends.len) {
        v->thread = s->thread;
        lpo_vec_push(&v->ends, o->start_ns);
    }
    if (v->thread == s->thread && v->ends.len < MOST_VISITS &&
        o->end_ns > v->ends.at[v->ends.len - 1])
        lpo_vec_push(&v->ends, o->end_ns);
}

static void leave(struct sweep *s)
{
    const struct open o = s->stack.at[--s->stack.len];
    uint32_t row = o.key == LPO_NONE                ? LPO_NONE
                   : s->table == LPO_DIFF_OPERATORS ? o.key
                                                    : s->b->region_of[o.key];

    if (s->stack.len)
        s->stack.at[s->stack.len - 1].gpu_ns += o.gpu_ns;
    if (row != LPO_NONE) {
        struct lpo_diff_item *item = &s->b->out->items[s->table].at[row];

        lpo_diff_keep(s->b, &item->strata.at[0].calls,
                      item->host ? o.end_ns - o.start_ns : o.gpu_ns);
        if (s->table == LPO_DIFF_REGIONS)
            note_end(s, row, &o);
    }
}

static void enter(struct sweep *s, const struct lpo_slice *now)
{
    struct open o = { .start_ns = now->start_ns, .end_ns = now->end_ns };

    while (s->stack.len && s->stack.at[s->stack.len - 1].end_ns < o.end_ns)
        leave(s);
    if (s->table == LPO_DIFF_OPERATORS)
        o.key = key_at(s, now->name, dims_and_types(s->t, &s->t->ops.at[now->row]));
    else
        o.key = lpo_region_node_find(s->b->a->tree,
                                     s->stack.len ? s->stack.at[s->stack.len - 1].key : LPO_NONE,
                                     now->name, s->t->ranges.at[now->row].domain, LPO_PUSH_POP);
    lpo_vec_push(&s->stack, o);
}

static void launch(struct sweep *s, const struct lpo_slice *call)
{
    size_t i = s->stack.len;

    while (i && s->stack.at[i - 1].end_ns < call->end_ns)
        i--;
    if (i)
        s->stack.at[i - 1].gpu_ns += s->launched[call->row];
    if (s->table == LPO_DIFF_OPERATORS && i)
        s->b->op_of[call->row] = s->stack.at[i - 1].key;
}

static void sweep_table(struct sweep *s, enum lpo_diff_table table, enum lpo_host_kind kind)
{
    s->table = table;
    sum_launches(s, table == LPO_DIFF_REGIONS);
    for (uint32_t i = 0; i < s->t->threads.len; i++) {
        struct lpo_host_walk walk = lpo_host_walk(s->t, i, kind | LPO_HOST_LAUNCH);
        struct lpo_slice now;

        s->thread = i;
        while (lpo_host_next(&walk, &now))
            if (now.kind == LPO_HOST_LAUNCH)
                launch(s, &now);
            else if (kind == LPO_HOST_OP || !s->t->ranges.at[now.row].flags)
                enter(s, &now); /* neither never closed nor summed by the reader */
        while (s->stack.len)
            leave(s);
    }
}

/* Regions that come again and again may be what a unit of work is: the outermost ones first. */
static void keep_visits(struct sweep *s)
{
    const struct lpo_diff_digest *d = s->b->out;

    for (unsigned depth = 0; depth < 4; depth++)
        for (uint32_t i = 0; i < d->items[LPO_DIFF_REGIONS].len; i++)
            if (d->items[LPO_DIFF_REGIONS].at[i].depth == depth && s->visits[i].ends.len > 2 &&
                d->series.len < MOST_SERIES)
                lpo_diff_add_series(s->b->out, LPO_DIFF_CALL, i, s->visits[i].ends.at,
                                    s->visits[i].ends.len - 1);
    for (size_t i = 0; i < d->items[LPO_DIFF_REGIONS].len; i++)
        lpo_vec_free(&s->visits[i].ends);
}

static void digest_calls(struct lpo_diff_builder *b)
{
    const struct lpo_operators *ops = lpo_analysis_operators(b->a, true);
    struct sweep s = { .b = b, .t = b->a->trace };

    s.launched = lpo_xcalloc(s.t->launches.len + 1, sizeof *s.launched);
    s.visits = lpo_xcalloc(b->out->items[LPO_DIFF_REGIONS].len + 1, sizeof *s.visits);
    if (s.t->ranges.len)
        sweep_table(&s, LPO_DIFF_REGIONS, LPO_HOST_RANGE);
    for (uint32_t i = 0; i < ops->rows.len; i++)
        put_key(&s, ops->rows.at[i].name, both_names(ops->rows.at[i].shapes, ops->rows.at[i].types),
                i);
    if (s.t->ops.len)
        sweep_table(&s, LPO_DIFF_OPERATORS, LPO_HOST_OP);
    keep_visits(&s);
    lpo_map_pair_free(&s.map);
    lpo_vec_free(&s.stack);
    lpo_vec_free(&s.keys);
    free(s.visits);
    free(s.launched);
}

void lpo_diff_digest_rows(struct lpo_diff_builder *b)
{
    memset(b->op_of, 0xff, (b->a->trace->launches.len + 1) * sizeof *b->op_of);
    digest_kernels(b);
    digest_regions(b);
    digest_operators(b);
    digest_calls(b);
}
