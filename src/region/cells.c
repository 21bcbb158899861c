/* SPDX-License-Identifier: Apache-2.0 */
#include "region/cells.h"

#include "region/kernel_name/short.h"
#include "region/select.h"
#include "util/checked.h"

/* Does any launch have a time of its own? */
static bool timed(const struct lpo_sum *s)
{
    return s->launches > s->unknown + s->shares;
}

void lpo_region_sum_add(struct lpo_sum *to, const struct lpo_sum *from)
{
    bool first = !timed(to);

    if (timed(from)) {
        to->min_ns = first || from->min_ns < to->min_ns ? from->min_ns : to->min_ns;
        to->max_ns = first || from->max_ns > to->max_ns ? from->max_ns : to->max_ns;
    } else if (first && from->shares) {
        to->min_ns = to->max_ns = LPO_NO_TIME;
    }
    to->launches += from->launches;
    to->unknown += from->unknown;
    to->shares += from->shares;
    to->ns = lpo_ns_add(to->ns, from->ns);
    to->bytes += from->bytes;
}

static inline void merge(enum lpo_combine rule, struct lpo_metric_sum *to,
                         const struct lpo_metric_sum *from)
{
    if (from->weight == 0)
        return;
    if (to->weight == 0) {
        *to = *from;
        return;
    }
    switch (rule) {
    case LPO_SUM:
    case LPO_TIME_WEIGHTED:
        to->value += from->value;
        break;
    case LPO_MAX:
        to->value = fmax(to->value, from->value);
        break;
    case LPO_MIN:
        to->value = fmin(to->value, from->value);
        break;
    case LPO_FIRST:
        break;
    }
    to->weight += from->weight;
}

void lpo_region_metric_merge(enum lpo_combine rule, struct lpo_metric_sum *to,
                             const struct lpo_metric_sum *from)
{
    merge(rule, to, from);
}

double lpo_region_metric_value(enum lpo_combine rule, const struct lpo_metric_sum *m)
{
    if (m->weight == 0)
        return NAN;
    return rule == LPO_TIME_WEIGHTED ? m->value / m->weight : m->value;
}

/* Representatives share their rows among thousands of launches: those are counted first and
 * multiplied once. */
static void use_metrics(struct lpo_region_cells *c, uint32_t cell, const struct lpo_gpu_op *w)
{
    uint32_t *row = lpo_map_u64_put(c->use_map, (uint64_t)cell << 32 | w->metrics, NULL);
    struct lpo_metric_use *use;

    if (*row == UINT32_MAX) {
        *row = (uint32_t)c->uses.len;
        lpo_vec_push(&c->uses, (struct lpo_metric_use){ cell, w->metrics, 0, 0 });
    }
    use = &c->uses.at[*row];
    use->count++;
    /* a kernel of unknown length must not weigh nothing where all are of unknown length */
    use->weight += lpo_trace_gpu_op_ns(w) > 0 ? (double)lpo_trace_gpu_op_ns(w) : 1e-9;
    if (w->flags & LPO_GPU_OP_SAMPLED)
        return; /* no counters of its own */
    if (w->flags & LPO_GPU_OP_ESTIMATED)
        c->cells.at[cell].estimated++;
    else
        c->cells.at[cell].measured++;
}

static void add_use(struct lpo_region_cells *c, const struct lpo_metric_use *use)
{
    const struct lpo_trace *t = c->tree->trace;
    struct lpo_region_cell *cell = &c->cells.at[use->cell];
    size_t width = t->metrics.len;
    struct lpo_metric_sum *row;
    const double *values;

    if (cell->metrics == LPO_NONE) {
        cell->metrics = (uint32_t)(c->metric_sums.len / width);
        for (size_t i = 0; i < width; i++)
            lpo_vec_push(&c->metric_sums, (struct lpo_metric_sum){ 0, 0 });
    }
    row = c->metric_sums.at + (size_t)cell->metrics * width;
    /* A large report has ten million values: read in a row, merged without a call. */
    values = t->metric_rows + (size_t)use->row * t->metric_cap;
    for (size_t i = 0; i < width; i++) {
        double v = values[i];
        enum lpo_combine rule = t->metrics.at[i].combine;
        struct lpo_metric_sum one = { v, use->weight };

        if (isnan(v))
            continue;
        if (rule == LPO_TIME_WEIGHTED)
            one.value *= use->weight;
        else if (rule == LPO_SUM)
            one.value *= (double)use->count;
        merge(rule, &row[i], &one);
    }
}

/* A row per (place, capture, links, name, process, device, kind, launch known). */
static uint32_t cell_of(struct lpo_region_cells *c, const struct lpo_gpu_op *w)
{
    uint32_t place = lpo_region_place(c->tree, w), capture = LPO_NONE;
    uint32_t links = lpo_region_links_of(c->tree, w), besides;
    bool lost = w->stack == LPO_NONE && w->launch == LPO_NONE, fresh;
    uint32_t owner, row;

    if (w->capture != LPO_NONE)
        capture = c->tree->capture_place[w->capture];
    besides =
        c->tree->launch_links ? lpo_map_pair_put(&c->besides, capture, links, &fresh) : capture;
    owner = lpo_map_pair_put(&c->owners, w->process, w->device, &fresh);
    row = lpo_map_pair_put(&c->map, (uint64_t)place << 32 | w->name,
                           (uint64_t)besides << 32 | owner << 3 | (uint32_t)w->kind << 1 | lost,
                           &fresh);
    if (fresh)
        lpo_vec_push(&c->cells, (struct lpo_region_cell){ .place = place,
                                                          .capture = capture,
                                                          .links = links,
                                                          .name = w->name,
                                                          .metrics = LPO_NONE,
                                                          .process = w->process,
                                                          .device = w->device,
                                                          .kind = w->kind,
                                                          .no_launch = lost });
    return row;
}

static void add_gpu_op(struct lpo_region_cells *c, const struct lpo_gpu_op *w)
{
    uint32_t cell = cell_of(c, w);
    bool unknown = w->flags & LPO_GPU_OP_NO_LENGTH;
    bool share = w->flags & LPO_GPU_OP_SHARE;
    int64_t ns = unknown ? 0 : lpo_trace_gpu_op_ns(w);
    struct lpo_sum one = { 1, unknown, share && !unknown, ns, ns, ns, w->bytes };

    lpo_region_sum_add(&c->cells.at[cell].sum, &one);
    c->whole += (w->flags & LPO_GPU_OP_WHOLE) != 0;
    if (share)
        *(w->kind == LPO_KERNEL ? &c->shares : &c->shared_copies) += 1;
    if (w->metrics != LPO_NONE)
        use_metrics(c, cell, w);
}

/* Sums of a reader that had too many operations to keep: they have a place. */
static void add_placed(struct lpo_region_cells *c, const struct lpo_summary *s)
{
    uint32_t cell = cell_of(c, &(struct lpo_gpu_op){ .stack = s->stack,
                                                     .launch = LPO_NONE,
                                                     .capture = s->capture,
                                                     .name = s->name,
                                                     .process = s->process,
                                                     .device = s->device,
                                                     .kind = s->kind });

    lpo_region_sum_add(&c->cells.at[cell].sum, &(struct lpo_sum){ .launches = s->count,
                                                                  .unknown = s->unknown,
                                                                  .ns = s->total_ns,
                                                                  .min_ns = s->min_ns,
                                                                  .max_ns = s->max_ns,
                                                                  .bytes = s->bytes });
    c->whole += s->whole;
}

/* Sums of a source that kept no single GPU operations. */
static void add_summary(struct lpo_region_cells *c, const struct lpo_summary *s)
{
    struct lpo_sum sum = {
        .launches = s->count, .ns = s->total_ns, .min_ns = s->min_ns, .max_ns = s->max_ns
    };

    if (s->total_ns == LPO_NO_TIME) {
        sum.unknown = s->count;
        sum.ns = 0;
    }
    lpo_vec_push(&c->cells, (struct lpo_region_cell){ .sum = sum,
                                                      .capture = LPO_NONE,
                                                      .name = s->name,
                                                      .metrics = LPO_NONE,
                                                      .process = LPO_NO_OWNER,
                                                      .device = LPO_NO_OWNER,
                                                      .kind = s->kind,
                                                      .no_launch = true });
}

static void widen(struct lpo_cell_span *span, size_t cell)
{
    span->first = span->end ? span->first : cell;
    span->end = cell + 1;
}

static void find_spans(struct lpo_region_cells *c)
{
    c->processes = lpo_xcalloc(c->tree->trace->processes.len + 1, sizeof *c->processes);
    c->devices = lpo_xcalloc(c->tree->trace->devices.len + 1, sizeof *c->devices);
    for (size_t i = 0; i < c->cells.len; i++) {
        if (c->cells.at[i].process == LPO_NO_OWNER)
            continue;
        widen(&c->processes[c->cells.at[i].process], i);
        widen(&c->devices[c->cells.at[i].device], i);
    }
}

/* Once per name: the rules are many and the names long. */
static void find_classes(struct lpo_region_cells *c)
{
    const struct lpo_trace *t = c->tree->trace;

    c->classes = lpo_xcalloc(lpo_trace_name_count(t) + 1, sizeof *c->classes);
    memset(c->classes, LPO_CLASSES, lpo_trace_name_count(t) + 1);
    for (size_t i = 0; i < c->cells.len; i++) {
        uint32_t name = c->cells.at[i].name;

        if (c->cells.at[i].kind == LPO_KERNEL && c->classes[name] == LPO_CLASSES)
            c->classes[name] = (unsigned char)lpo_region_tree_class(c->tree, name);
    }
}

/* Two kernels may read the same once demangled; then the name alone cannot say which. */
static void find_linkers(struct lpo_region_cells *c)
{
    const struct lpo_trace *t = c->tree->trace;

    c->linkers = lpo_xcalloc(lpo_trace_name_count(t) + 1, sizeof *c->linkers);
    for (size_t i = 0; i < t->gpu_ops.len; i++) {
        const struct lpo_gpu_op *w = &t->gpu_ops.at[i];
        uint32_t *at = &c->linkers[w->name];

        if (w->kind == LPO_KERNEL && w->linker && *at != w->linker)
            *at = *at ? LPO_NONE : w->linker;
    }
    for (size_t i = 0; i < t->summaries.len; i++) {
        const struct lpo_summary *s = &t->summaries.at[i];
        uint32_t *at = &c->linkers[s->name];

        if (s->kind == LPO_KERNEL && s->linker && *at != s->linker)
            *at = *at ? LPO_NONE : s->linker;
    }
}

enum lpo_region_kernel_class lpo_region_cells_class(const struct lpo_region_cells *c, uint32_t name)
{
    return c->classes[name] < LPO_CLASSES ? c->classes[name] : LPO_CLASS_OTHER;
}

/* Whoever reads the cells has them as const; this part is filled behind that. */
struct lpo_cell_names {
    struct lpo_arena *arena; /* NULL: not made yet */
    const char **of;         /* per name of the trace; kernels only */
    bool whole;              /* tables for people show whole names */
};

static void make_names(const struct lpo_region_cells *c)
{
    const struct lpo_trace *t = c->tree->trace;
    struct lpo_cell_names *n = c->names;
    LPO_FREED LPO_VEC(uint32_t) ids = { 0 };
    LPO_FREED LPO_VEC(struct lpo_kernel_span) spans = { 0 };
    LPO_FREED const char **shorts = NULL;

    n->arena = lpo_arena_create();
    n->of = lpo_arena_array(n->arena, lpo_trace_name_count(t) + 1, sizeof *n->of);
    for (uint32_t i = 0; i < lpo_trace_name_count(t); i++)
        if (c->classes[i] != LPO_CLASSES) {
            lpo_vec_push(&ids, i);
            lpo_vec_push(
                &spans, (struct lpo_kernel_span){ lpo_trace_text(t, i), lpo_trace_text_len(t, i) });
        }
    shorts = lpo_xcalloc(ids.len + 1, sizeof *shorts);
    lpo_region_short_names(n->arena, spans.at, spans.len, shorts);
    for (size_t i = 0; i < ids.len; i++)
        n->of[ids.at[i]] = shorts[i];
}

const char *lpo_region_cells_short_name(const struct lpo_region_cells *c, uint32_t name)
{
    if (!c->names->arena)
        make_names(c);
    return c->names->of[name] ? c->names->of[name] : lpo_trace_text(c->tree->trace, name);
}

const char *lpo_region_cells_shown_name(const struct lpo_region_cells *c, uint32_t name)
{
    return c->names->whole ? lpo_trace_text(c->tree->trace, name)
                           : lpo_region_cells_short_name(c, name);
}

uint32_t lpo_region_cells_linker(const struct lpo_region_cells *c, uint32_t name)
{
    return c->linkers[name] == LPO_NONE ? 0 : c->linkers[name];
}

struct lpo_region_cells *lpo_region_cells_create(const struct lpo_region_tree *tree,
                                                 struct lpo_region_selection *select)
{
    const struct lpo_trace *t = tree->trace;
    struct lpo_region_cells *c = lpo_xcalloc(1, sizeof *c);
    bool *picked = lpo_region_selection_kernels(select, t);

    c->tree = tree;
    c->names = lpo_xcalloc(1, sizeof *c->names);
    c->names->whole = lpo_region_selection_full_names(select);
    c->use_map = lpo_map_u64_create(t->nmetric_rows);
    for (size_t i = 0; i < t->gpu_ops.len; i++) {
        const struct lpo_gpu_op *w = &t->gpu_ops.at[i];

        if (w->kind == LPO_KERNEL && picked && !picked[w->name])
            c->left_out++;
        else
            add_gpu_op(c, w);
    }
    for (size_t i = 0; i < t->summaries.len; i++) {
        const struct lpo_summary *sum = &t->summaries.at[i];

        if (sum->kind == LPO_KERNEL && picked && !picked[sum->name])
            c->left_out += sum->count;
        else if (sum->placed)
            add_placed(c, sum);
        else
            add_summary(c, sum);
    }
    for (size_t i = 0; i < c->uses.len && t->metrics.len; i++)
        add_use(c, &c->uses.at[i]);
    lpo_vec_free(&c->uses);
    lpo_map_u64_destroy(c->use_map);
    c->use_map = NULL;
    free(picked);
    find_classes(c);
    find_spans(c);
    find_linkers(c);
    return c;
}

void lpo_region_cells_destroy(struct lpo_region_cells *c)
{
    if (!c)
        return;
    lpo_vec_free(&c->cells);
    lpo_vec_free(&c->metric_sums);
    free(c->classes);
    free(c->processes);
    free(c->devices);
    free(c->linkers);
    if (c->names)
        lpo_arena_destroy(c->names->arena);
    free(c->names);
    lpo_map_pair_free(&c->map);
    lpo_map_pair_free(&c->owners);
    lpo_map_pair_free(&c->besides);
    free(c);
}

static int by_cost(const void *pa, const void *pb, void *trace)
{
    const struct lpo_top_row *a = pa, *b = pb;

    if (a->sum.ns != b->sum.ns)
        return a->sum.ns > b->sum.ns ? -1 : 1;
    if (a->sum.launches != b->sum.launches)
        return a->sum.launches > b->sum.launches ? -1 : 1;
    return strcmp(lpo_trace_text(trace, a->name), lpo_trace_text(trace, b->name));
}

/* Summed from the cells, not from the operations: there are a thousand times fewer, and a trace
 * that was summed while it was read has no operations. */
void lpo_region_top(const struct lpo_region_cells *cells, enum lpo_gpu_op_kind kind,
                    lpo_top_rows *out)
{
    LPO_FREED struct lpo_map_pair map = { 0 };
    int64_t total_ns = 0;

    for (size_t i = 0; i < cells->cells.len; i++) {
        const struct lpo_region_cell *c = &cells->cells.at[i];
        bool fresh;
        uint32_t row;

        if (c->kind != kind)
            continue;
        row = lpo_map_pair_put(&map, c->name, 0, &fresh);
        if (fresh)
            lpo_vec_push(out, (struct lpo_top_row){ .name = c->name });
        lpo_region_sum_add(&out->at[row].sum, &c->sum);
        total_ns = lpo_ns_add(total_ns, c->sum.ns);
    }
    for (size_t i = 0; i < out->len && total_ns > 0; i++)
        out->at[i].share = (double)out->at[i].sum.ns / (double)total_ns;
    if (out->len)
        qsort_r(out->at, out->len, sizeof *out->at, by_cost, (void *)cells->tree->trace);
}
