/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/diff/digest.h"

#include "analysis/analysis.h"
#include "analysis/diff/private.h"
#include "analysis/limits/limits.h"
#include "analysis/run.h"
#include "analysis/steps/steps.h"
#include "region/fold.h"
#include "rundir/history/history.h"
#include "rundir/rundir.h"

enum {
    ALL_KEPT = 2000000, /* calls in all samples of a digest: 16 MB */
    FEW_KEPT = 64,      /* of a sample once that is reached */
};

size_t lpo_diff_room(const struct lpo_diff_builder *b)
{
    return b->kept < ALL_KEPT ? LPO_DIFF_KEPT : FEW_KEPT;
}

void lpo_diff_keep(struct lpo_diff_builder *b, struct lpo_diff_sample *s, int64_t ns)
{
    size_t before = s->kept.len;

    lpo_diff_sample_add(s, ns, lpo_diff_room(b));
    b->kept += s->kept.len - before;
}

const char *lpo_diff_part_name(size_t part)
{
    /* the names of classes are for people: "GEMM", "MoE" */
    static const char *const names[LPO_DIFF_PARTS] = {
        [LPO_CLASS_GEMM] = "compute.gemm",
        [LPO_CLASS_ATTENTION] = "compute.attention",
        [LPO_CLASS_CONVOLUTION] = "compute.convolution",
        [LPO_CLASS_NORM] = "compute.norm",
        [LPO_CLASS_SOFTMAX] = "compute.softmax",
        [LPO_CLASS_ROTARY] = "compute.rotary",
        [LPO_CLASS_ELEMENTWISE] = "compute.elementwise",
        [LPO_CLASS_REDUCTION] = "compute.reduction",
        [LPO_CLASS_INDEXING] = "compute.indexing",
        [LPO_CLASS_SORTING] = "compute.sorting",
        [LPO_CLASS_COPY] = "compute.copy",
        [LPO_CLASS_OPTIMIZER] = "compute.optimizer",
        [LPO_CLASS_RANDOM] = "compute.random",
        [LPO_CLASS_COLLECTIVE] = "compute.collective",
        [LPO_CLASS_QUANTIZE] = "compute.quantize",
        [LPO_CLASS_MOE] = "compute.moe",
        [LPO_CLASS_OTHER] = "compute.other",
        [LPO_DIFF_PART_COMMUNICATION] = "exposed_communication",
        [LPO_DIFF_PART_COPY] = "exposed_copy",
        [LPO_DIFF_PART_IDLE + LPO_IDLE_BLOCKED] = "idle.blocked",
        [LPO_DIFF_PART_IDLE + LPO_IDLE_HOST] = "idle.host",
        [LPO_DIFF_PART_IDLE + LPO_IDLE_QUEUED] = "idle.queued",
        [LPO_DIFF_PART_IDLE + LPO_IDLE_UNKNOWN] = "idle.unknown",
    };

    return names[part];
}

static void digest_device(struct lpo_diff_builder *b, const struct lpo_wall_device *d)
{
    const struct lpo_device *device = &b->a->trace->devices.at[d->device];
    struct lpo_arena *arena = b->out->arena;
    struct lpo_diff_device out = {
        .scope = device->rank >= 0
                     ? lpo_arena_printf(arena, "rank:%d/device:%d", device->rank, device->id)
                     : lpo_arena_printf(arena, "device:%d", device->id),
        .span_ns = d->span_ns,
        .idle_squares = d->idle_squares,
        .parts_unknown = d->parts_unknown,
    };

    memcpy(out.parts, d->class_ns, sizeof d->class_ns);
    out.parts[LPO_DIFF_PART_COMMUNICATION] = d->exposed_communication_ns;
    out.parts[LPO_DIFF_PART_COPY] = d->exposed_copy_ns;
    for (int i = 0; i < LPO_IDLE_CAUSES; i++)
        out.parts[LPO_DIFF_PART_IDLE + i] = d->idle[i].ns;
    lpo_vec_push(&b->out->devices, out);
}

static void digest_findings(struct lpo_diff_builder *b)
{
    const struct lpo_ladders *l = lpo_analysis_ladders(b->dir, b->source);
    const struct lpo_trace *t = b->a->trace;

    for (size_t i = 0; l->all.len && i < l->all.at[0].rungs.len; i++) {
        const struct lpo_rung *x = &l->all.at[0].rungs.at[i];
        uint32_t row = x->node == LPO_NONE ? LPO_NONE : b->region_of[x->node];
        struct lpo_diff_finding out = { .kind = x->kind, .where = "", .call = "" };

        if (row != LPO_NONE)
            out.where = b->out->items[LPO_DIFF_REGIONS].at[row].name;
        if (x->name != LPO_NONE)
            out.call = lpo_arena_name(b->out->arena, lpo_trace_text(t, x->name),
                                      lpo_trace_text_len(t, x->name));
        out.saving_ns = x->saving_ns;
        lpo_vec_push(&b->out->findings, out);
    }
}

/* --- equal layers ----------------------------------------------------------------------------- */

enum { FEWEST_MEMBERS = 3, MOST_MEMBERS = 4000 };

/* A path on which steps have no numbers: what lies in each of them is the same region. */
static void add_path_in_step(const struct lpo_region_tree *tree, uint32_t node, struct lpo_str *out)
{
    struct lpo_step_facts facts;
    LPO_STR name = { 0 };
    int family;

    if (tree->nodes.at[node].parent != LPO_NONE) {
        add_path_in_step(tree, tree->nodes.at[node].parent, out);
        lpo_str_addc(out, '/');
    }
    lpo_region_add_name(tree, node, &name);
    if (lpo_steps_read_name(lpo_str_text(&name), &family, &facts))
        lpo_str_add_starred(out, name.at, name.len);
    else
        lpo_str_addn(out, lpo_str_text(&name), name.len);
}

/* Regions, and modules where the trace has them, that differ from each other in numbers only: one
 * of them may change alone. */
static void digest_members(struct lpo_diff_builder *b)
{
    const struct lpo_analysis *modules = lpo_analysis_modules(b->a);
    const struct lpo_analysis *a = modules ? modules : b->a;
    const struct lpo_region_scope *all = lpo_analysis_all(a);
    LPO_AUTO(lpo_region_fold) fold = lpo_region_fold_create(all, 1);
    LPO_AUTO(lpo_map) names = lpo_map_create();
    LPO_STR path = { 0 };

    for (size_t i = 0; i < all->rows.len && b->out->members.len < MOST_MEMBERS; i++) {
        const struct lpo_fold_row *row = &fold->rows.at[fold->line_of[i]];
        uint64_t *at;

        if (row->members < FEWEST_MEMBERS || all->rows.at[i].node >= a->tree->nodes.len)
            continue;
        lpo_str_clear(&path);
        add_path_in_step(a->tree, all->rows.at[i].node, &path);
        at = lpo_map_put(names, path.at, path.len, NULL);
        if (!*at) {
            lpo_vec_push(&b->out->members, (struct lpo_diff_member){
                                               .family = lpo_arena_strdup(b->out->arena, row->path),
                                               .name = lpo_arena_strdup(b->out->arena, path.at) });
            *at = b->out->members.len;
        }
        b->out->members.at[*at - 1].ns += all->rows.at[i].all.ns;
    }
}

/* --- the picture: what most of each piece of the critical GPU's span went to -------------------
 */

static size_t part_of(const struct lpo_diff_builder *b, const struct lpo_gpu_op *op)
{
    if (op->kind != LPO_KERNEL)
        return LPO_DIFF_PART_COPY;
    size_t class = lpo_region_tree_class(b->a->tree, op->name);

    return class == LPO_CLASS_COLLECTIVE ? LPO_DIFF_PART_COMMUNICATION : class;
}

/* Adds an operation to every piece that it touches. */
static void add_op(double (*pieces)[LPO_DIFF_PARTS], const struct lpo_wall_device *v, size_t part,
                   const struct lpo_gpu_op *op)
{
    double piece_ns = (double)v->span_ns / LPO_DIFF_STRIP;
    double from = (double)(op->start_ns - v->start_ns), to = (double)(op->end_ns - v->start_ns);
    size_t first = from > 0 ? (size_t)(from / piece_ns) : 0;

    for (size_t i = first; i < LPO_DIFF_STRIP && (double)i * piece_ns < to; i++) {
        double low = (double)i * piece_ns, high = low + piece_ns;

        pieces[i][part] += (to < high ? to : high) - (from > low ? from : low);
    }
}

static void draw_strip(struct lpo_diff_builder *b)
{
    const struct lpo_wall *w = lpo_analysis_wall(b->a);
    const struct lpo_trace *t = b->a->trace;
    double(*pieces)[LPO_DIFF_PARTS];

    if (!w || !w->devices.len || w->devices.at[0].span_ns <= 0)
        return;
    pieces = lpo_xcalloc(LPO_DIFF_STRIP, sizeof *pieces);
    for (size_t i = 0; i < t->gpu_ops.len; i++) {
        const struct lpo_gpu_op *op = &t->gpu_ops.at[i];

        if (op->device == w->devices.at[0].device && !(op->flags & LPO_GPU_OP_UNTIMED))
            add_op(pieces, &w->devices.at[0], part_of(b, op), op);
    }
    for (size_t i = 0; i < LPO_DIFF_STRIP; i++) {
        double busy = 0, most = 0;

        b->out->strip[i] = LPO_DIFF_PART_IDLE;
        for (size_t k = 0; k < LPO_DIFF_PARTS; k++)
            busy += pieces[i][k];
        for (size_t k = 0; k < LPO_DIFF_PARTS; k++)
            if (pieces[i][k] > most &&
                busy * 2 >= (double)w->devices.at[0].span_ns / LPO_DIFF_STRIP) {
                most = pieces[i][k];
                b->out->strip[i] = (uint8_t)k;
            }
    }
    b->out->has_strip = true;
    free(pieces);
}

/* --- counters and limits -------------------------------------------------------------------- */

enum {
    MOST_METRICS = 256,    /* columns of a trace: ncu may have thousands */
    MOST_MEASURES = 20000, /* of a run */
};

const char *lpo_diff_measure_path(const struct lpo_diff_digest *d, const struct lpo_diff_measure *m)
{
    return m->region == UINT32_MAX ? LPO_DIFF_WHOLE_RUN
                                   : d->items[LPO_DIFF_REGIONS].at[m->region].name;
}

static void add(struct lpo_diff_builder *b, uint32_t region, const char *name, const char *unit,
                double value)
{
    if (isfinite(value) && b->out->measures.len < MOST_MEASURES)
        lpo_vec_push(&b->out->measures, (struct lpo_diff_measure){ region, name, unit, value });
}

/* What ncu says of the GPU is the same in every row, and no counter. */
static size_t pick_columns(const struct lpo_trace *t, uint32_t *out)
{
    size_t n = 0;

    for (uint32_t m = 0; m < t->metrics.len && n < MOST_METRICS; m++)
        if (!lpo_str_starts(lpo_trace_text(t, t->metrics.at[m].name), "device__"))
            out[n++] = m;
    return n;
}

/* Regions that are one line are put together by the rule of each metric. */
static void add_counters(struct lpo_diff_builder *b)
{
    const struct lpo_region_scope *all = lpo_analysis_all(b->a);
    const struct lpo_trace *t = b->a->trace;
    uint32_t columns[MOST_METRICS];
    size_t n = pick_columns(t, columns);
    size_t lines = b->out->items[LPO_DIFF_REGIONS].len, nodes = b->a->tree->nodes.len;
    LPO_FREED struct lpo_metric_sum *sums = lpo_xcalloc(lines * n + 1, sizeof *sums);

    for (size_t i = 0; i < all->rows.len && n; i++) {
        const struct lpo_region_row *r = &all->rows.at[i];
        uint32_t line = b->region_of[r->node == LPO_NODE_OUTSIDE ? nodes : r->node];

        if (r->metrics == LPO_NONE || line == LPO_NONE)
            continue;
        for (size_t m = 0; m < n; m++)
            lpo_region_metric_merge(
                t->metrics.at[columns[m]].combine, &sums[line * n + m],
                &all->metric_sums.at[(size_t)r->metrics * t->metrics.len + columns[m]]);
    }
    for (size_t m = 0; m < n; m++) {
        const struct lpo_metric *metric = &t->metrics.at[columns[m]];
        const char *name = lpo_arena_strdup(b->out->arena, lpo_trace_text(t, metric->name));
        const char *unit = lpo_arena_strdup(b->out->arena, lpo_trace_text(t, metric->unit));

        for (uint32_t line = 0; line < lines; line++)
            if (sums[line * n + m].weight != 0)
                add(b, line, name, unit,
                    lpo_region_metric_value(metric->combine, &sums[line * n + m]));
    }
}

/* Each kernel is in one cell, and in the row of every region around it. */
static void add_whole_run(struct lpo_diff_builder *b)
{
    const struct lpo_region_cells *c = lpo_analysis_all(b->a)->cells;
    const struct lpo_trace *t = b->a->trace;
    uint32_t columns[MOST_METRICS];
    size_t n = pick_columns(t, columns);

    for (size_t m = 0; m < n; m++) {
        const struct lpo_metric *metric = &t->metrics.at[columns[m]];
        struct lpo_metric_sum sum = { 0, 0 };

        for (size_t i = 0; i < c->cells.len; i++)
            if (c->cells.at[i].metrics != LPO_NONE)
                lpo_region_metric_merge(
                    metric->combine, &sum,
                    &c->metric_sums
                         .at[(size_t)c->cells.at[i].metrics * t->metrics.len + columns[m]]);
        if (sum.weight != 0)
            add(b, UINT32_MAX, lpo_arena_strdup(b->out->arena, lpo_trace_text(t, metric->name)),
                lpo_arena_strdup(b->out->arena, lpo_trace_text(t, metric->unit)),
                lpo_region_metric_value(metric->combine, &sum));
    }
}

static uint32_t region_called(const struct lpo_diff_digest *d, const char *path)
{
    for (uint32_t i = 0; i < d->items[LPO_DIFF_REGIONS].len; i++)
        if (strcmp(d->items[LPO_DIFF_REGIONS].at[i].name, path) == 0)
            return i;
    return UINT32_MAX;
}

/* Only regions that are lines of their own: shares of several do not add up. */
static void add_limits(struct lpo_diff_builder *b)
{
    const struct lpo_limits *l = lpo_analysis_limits(b->dir, b->source, NULL);

    for (size_t i = 0; l && i < l->rows.len; i++) {
        const struct lpo_limit_row *r = &l->rows.at[i];
        uint32_t region = region_called(b->out, r->path);

        if (region == UINT32_MAX)
            continue;
        if (lpo_measure_known(r->share))
            add(b, region, "limit_share", "share", r->share.value);
        if (lpo_measure_known(r->mfu))
            add(b, region, "mfu", "share", r->mfu.value);
        if (lpo_measure_known(r->bandwidth_use))
            add(b, region, "bandwidth_use", "share", r->bandwidth_use.value);
    }
}

static void digest_measures(struct lpo_diff_builder *b)
{
    add_whole_run(b);
    add_counters(b);
    add_limits(b);
}

static void sort_samples(struct lpo_diff_digest *d)
{
    for (int t = 0; t < LPO_DIFF_TABLES; t++)
        for (size_t i = 0; i < d->items[t].len; i++)
            for (size_t k = 0; k < d->items[t].at[i].strata.len; k++)
                lpo_diff_sample_sort(&d->items[t].at[i].strata.at[k].calls);
}

static void digest_trace(struct lpo_diff_builder *b)
{
    const struct lpo_trace *t = b->a->trace;
    const struct lpo_wall *w = lpo_analysis_wall(b->a);

    b->kernel_of = lpo_xcalloc(lpo_trace_name_count(t) + 1, sizeof *b->kernel_of);
    b->region_of = lpo_xcalloc(b->a->tree->nodes.len + 1, sizeof *b->region_of);
    b->op_of = lpo_xmalloc((t->launches.len + 1) * sizeof *b->op_of);
    lpo_diff_digest_rows(b);
    lpo_diff_digest_window(b);
    digest_members(b);
    for (size_t i = 0; w && i < w->devices.len; i++)
        digest_device(b, &w->devices.at[i]);
    draw_strip(b);
    digest_measures(b);
    b->out->lost = t->dropped;
    b->out->sums = t->gpu_ops.len == 0 && t->summaries.len > 0;
    b->out->replay = t->gpu_ops.len > 0;
    for (size_t i = 0; i < t->gpu_ops.len && b->out->replay; i++)
        b->out->replay = t->gpu_ops.at[i].flags & LPO_GPU_OP_UNTIMED;
    digest_findings(b);
    sort_samples(b->out);
    free(b->kernel_of);
    free(b->region_of);
    free(b->op_of);
}

struct lpo_diff_digest *lpo_diff_digest_create(struct lpo_analysis_run *run, const char *label)
{
    const struct lpo_source *s = lpo_rundir_main(run->dir);
    struct lpo_diff_digest *out;
    struct lpo_diff_builder b;

    if (!s || !s->analysis)
        return NULL;
    out = lpo_xcalloc(1, sizeof *out);
    out->arena = lpo_arena_create();
    out->label = lpo_arena_strdup(out->arena, label);
    out->step = UINT32_MAX;
    b = (struct lpo_diff_builder){
        .out = out, .dir = run->dir, .source = s, .a = lpo_analysis_unselected(s->analysis)
    };
    digest_trace(&b);
    lpo_diff_digest_facts(&b);
    return out;
}

struct lpo_diff_digest *lpo_diff_digest_of_numbers(const struct lpo_history_numbers *n,
                                                   const char *label)
{
    struct lpo_diff_digest *d = lpo_xcalloc(1, sizeof *d);

    d->arena = lpo_arena_create();
    d->label = lpo_arena_strdup(d->arena, label);
    d->step = UINT32_MAX;
    for (size_t i = 0; i < n->all.len; i++) {
        struct lpo_diff_figure f = { .key = lpo_arena_strdup(d->arena, n->all.at[i].name) };

        for (size_t k = 0; k < n->all.at[i].values.len; k++)
            lpo_vec_push(&f.values, n->all.at[i].values.at[k]);
        lpo_vec_push(&d->figures, f);
    }
    if (*n->revision)
        lpo_vec_push(&d->facts,
                     (struct lpo_diff_fact){ "commit", lpo_arena_strdup(d->arena, n->revision) });
    return d;
}

const char *lpo_diff_digest_fact(const struct lpo_diff_digest *d, const char *key)
{
    for (size_t i = 0; i < d->facts.len; i++)
        if (strcmp(d->facts.at[i].key, key) == 0)
            return d->facts.at[i].value;
    return NULL;
}

void lpo_diff_digest_destroy(struct lpo_diff_digest *d)
{
    if (!d)
        return;
    for (int t = 0; t < LPO_DIFF_TABLES; t++) {
        for (size_t i = 0; i < d->items[t].len; i++) {
            for (size_t k = 0; k < d->items[t].at[i].strata.len; k++)
                lpo_diff_sample_free(&d->items[t].at[i].strata.at[k].calls);
            lpo_vec_free(&d->items[t].at[i].strata);
        }
        lpo_vec_free(&d->items[t]);
    }
    for (size_t i = 0; i < d->figures.len; i++)
        lpo_vec_free(&d->figures.at[i].values);
    for (size_t i = 0; i < d->series.len; i++)
        lpo_vec_free(&d->series.at[i].ns);
    lpo_vec_free(&d->series);
    lpo_vec_free(&d->cells);
    lpo_vec_free(&d->copies);
    lpo_vec_free(&d->names);
    lpo_vec_free(&d->idle);
    lpo_vec_free(&d->members);
    lpo_vec_free(&d->devices);
    lpo_vec_free(&d->facts);
    lpo_vec_free(&d->figures);
    lpo_vec_free(&d->findings);
    lpo_vec_free(&d->measures);
    lpo_arena_destroy(d->arena);
    free(d);
}
