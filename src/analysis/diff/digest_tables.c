/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a digest: kernels, regions, operators, as the tables of analysis/ have them. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/diff/private.h"
#include "analysis/operators/operators.h"
#include "region/cells.h"
#include "region/fold.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/map.h"
#include "util/str.h"

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
    struct lpo_map_pair map = { 0 };
    uint32_t *at = NULL;

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
    free(at);
    lpo_map_pair_free(&map);
}

void lpo_diff_digest_kernels(struct lpo_diff_builder *b)
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
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(letters, names[i]) == 0)
            return true;
    return false;
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

static void add_places(struct lpo_diff_builder *b)
{
    const struct lpo_region_cells *cells = b->a->cells;
    const struct lpo_region_tree *tree = b->a->tree;
    struct lpo_map_pair map = { 0 };

    for (size_t i = 0; i < cells->cells.len; i++) {
        const struct lpo_region_cell *c = &cells->cells.at[i];
        uint32_t leaf = tree->places.at[c->place].leaf;
        uint32_t region = b->region_of[leaf == LPO_NONE ? tree->nodes.len : leaf];
        uint32_t row;
        bool fresh;

        if (c->kind != LPO_KERNEL || region == LPO_NONE || b->kernel_of[c->name] == LPO_NONE)
            continue;
        row = lpo_map_pair_put(&map, region, c->name, &fresh);
        if (fresh)
            lpo_vec_push(&b->out->places,
                         (struct lpo_diff_place){ region, b->kernel_of[c->name], 0, 0 });
        b->out->places.at[row].launches += c->sum.launches;
        b->out->places.at[row].ns += c->sum.ns;
    }
    lpo_map_pair_free(&map);
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

void lpo_diff_digest_regions(struct lpo_diff_builder *b)
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
    add_places(b);
    count_steps(b);
}

/* --- operators ------------------------------------------------------------------------------ */

void lpo_diff_digest_operators(struct lpo_diff_builder *b)
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

        o.key = lpo_arena_printf(b->out->arena, "%s %s %s", o.name, o.detail, o.linker);
        lpo_vec_push(&o.strata, (struct lpo_diff_stratum){ .count = o.count, .ns = o.ns });
        lpo_vec_push(&b->out->items[LPO_DIFF_OPERATORS], o);
    }
}
