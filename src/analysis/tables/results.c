/* SPDX-License-Identifier: Apache-2.0 */
/* What analyses computed, as tables. */

#include "analysis/analysis.h"
#include "analysis/counters/by_kernel.h"
#include "analysis/critical/critical.h"
#include "analysis/operators/operators.h"
#include "analysis/ranks/ranks.h"
#include "analysis/steps/steps.h"
#include "analysis/tables/tables.h"
#include "analysis/wall/collectives.h"
#include "analysis/wall/wall.h"
#include "reference/reference.h"
#include "rundir/rundir.h"
#include "trace/metric_rules.h"

/* Launches with a time of their own: the least or most of them. */
static struct lpo_cell extreme_cell(const struct lpo_sum *s, int64_t ns)
{
    return lpo_cell_whole_if(s->launches > s->unknown && s->min_ns != LPO_NO_TIME, ns);
}

static struct lpo_cell device_rank_cell(const struct lpo_rows *rows, uint16_t device)
{
    const struct lpo_trace *t = lpo_tables_trace(rows);
    int32_t rank = device < t->devices.len ? t->devices.at[device].rank : -1;

    return lpo_cell_whole_if(rank >= 0, rank);
}

/* --- regions ---------------------------------------------------------------------------------- */

struct region_at {
    struct lpo_scope_id scope;
    uint32_t row;
};

struct region_row {
    struct lpo_scope_id scope;
    const struct lpo_region_scope *s;
    const struct lpo_region_row *r;
};

/* Scopes are kept one at a time: rows of one stand together. */
static struct region_row region_of(const struct lpo_rows *rows, size_t i)
{
    const struct region_at *at = (const struct region_at *)rows->at + i;
    const struct lpo_region_scope *s = lpo_analysis_scope(lpo_tables_analysis(rows), at->scope);

    return (struct region_row){ at->scope, s, &s->rows.at[at->row] };
}

static struct lpo_cell scope_name(const struct lpo_rows *rows, struct lpo_scope_id id)
{
    lpo_region_scope_add_name(lpo_tables_trace(rows), id, lpo_table_scratch(rows));
    return lpo_cell_scratch(rows);
}

static struct lpo_cell path_cell(const struct lpo_rows *rows, const struct lpo_region_scope *s,
                                 const struct lpo_region_row *r)
{
    lpo_region_row_add_path(s, r, lpo_table_scratch(rows));
    return lpo_cell_scratch(rows);
}

static struct lpo_cell parent_cell(const struct lpo_rows *rows, const struct lpo_region_scope *s,
                                   const struct lpo_region_row *r)
{
    uint32_t parent =
        r->node == LPO_NODE_OUTSIDE ? LPO_NONE : s->cells->tree->nodes.at[r->node].parent;

    if (parent == LPO_NONE)
        return lpo_cell_unknown();
    lpo_region_add_path(s->cells->tree, parent, lpo_table_scratch(rows));
    return lpo_cell_scratch(rows);
}

/* As the program gave its ranges of this name. */
static const struct lpo_range_look *look_of(const struct region_row *r)
{
    const struct lpo_region_tree *tree = r->s->cells->tree;
    const struct lpo_region *region =
        r->r->node == LPO_NODE_OUTSIDE ? NULL : &tree->nodes.at[r->r->node];

    return region ? lpo_trace_look(tree->trace, region->name, region->domain) : NULL;
}

static struct lpo_cell color_cell(const struct lpo_rows *rows, const struct lpo_range_look *look)
{
    if (!look || !look->has_color)
        return lpo_cell_unknown();
    lpo_str_addf(lpo_table_scratch(rows), "#%06x", look->color);
    return lpo_cell_scratch(rows);
}

/* Of the calls of a region, where the first differ from later ones. */
static struct lpo_cell call_cell(const struct region_row *r, size_t member)
{
    struct lpo_region_calls c;
    int64_t ns;

    if (!lpo_region_row_calls(r->s, r->r, &c) || !c.differ)
        return lpo_cell_unknown();
    ns = *(const int64_t *)((const char *)&c + member);
    return lpo_cell_whole_if(ns != LPO_NO_TIME, ns);
}

/* Launches whose time is a share of their CUDA graph's; else the shares are whole graphs again. */
static struct lpo_cell estimated_cell(const struct lpo_sum *s, bool some)
{
    return lpo_cell_whole_if(some && s->shares > 0, (int64_t)s->shares);
}

#define CALL(X, member, title, meaning)                                                            \
    X(region, member, title, NS, FACT, meaning,                                                    \
      call_cell(&r, offsetof(struct lpo_region_calls, member)))

#define PART(X, key, word, meaning)                                                                \
    X(region, key##_launches, word " launches", COUNT, ADDS, meaning, r.r->key.launches)           \
    X(region, key##_ns, word, NS, ADDS, "GPU time of these", lpo_tables_sum(&r.r->key))            \
    X(region, key##_estimated, word " estimated", COUNT, ADDS, "of these: shares of CUDA graphs",  \
      estimated_cell(&r.r->key, true), .rare = true)

#define REGION(X)                                                                                  \
    X(region, scope, "Scope", TEXT, KEY, "aggregate, process:<pid>, device:<id> or rank:<n>",      \
      scope_name(rows, r.scope))                                                                   \
    X(region, path, "Region", TEXT, KEY, "names of the ranges, outermost first",                   \
      path_cell(rows, r.s, r.r))                                                                   \
    X(region, parent, "Parent", TEXT, FACT, "path of the region it lies in",                       \
      parent_cell(rows, r.s, r.r))                                                                 \
    X(region, depth, "Depth", COUNT, FACT, "0 at the top", lpo_region_row_depth(r.s, r.r))         \
    X(region, kind, "Kind", TEXT, FACT, "push_pop, start_end, outside, module or python",          \
      lpo_region_row_kind(r.s, r.r))                                                               \
    X(region, source, "Source", TEXT, FACT, "file and line of a module or function",               \
      lpo_region_row_source(r.s, r.r), .rare = true)                                               \
    X(region, category, "Category", TEXT, FACT, "that the program gave its range",                 \
      lpo_tables_name(rows, look_of(&r) ? look_of(&r)->category : LPO_NONE), .rare = true)         \
    X(region, color, "Colour", TEXT, FACT, "that the program gave its range",                      \
      color_cell(rows, look_of(&r)), .rare = true)                                                 \
    X(region, visits, "Calls", COUNT, ADDS, "times it was entered",                                \
      lpo_cell_whole_if(r.r->visits_known, (int64_t)r.r->visits))                                  \
    X(region, launches, "Launches", COUNT, ADDS, "kernels, those of regions in it included",       \
      r.r->all.launches)                                                                           \
    X(region, launches_exclusive, "Own launches", COUNT, ADDS, "without those",                    \
      r.r->self.launches)                                                                          \
    X(region, host_ns, "Host time", NS, ADDS, "time of the host inside",                           \
      lpo_cell_whole_if(r.r->visits_known, r.r->host_ns))                                          \
    X(region, host_ns_exclusive, "Own host time", NS, ADDS, "of it in no region inside",           \
      lpo_cell_whole_if(r.r->visits_known, r.r->host_self_ns))                                     \
    X(region, gpu_ns_inclusive, "GPU time", NS, ADDS,                                              \
      "time of its kernels, those of regions in it included", lpo_tables_sum(&r.r->all))           \
    X(region, gpu_ns_exclusive, "Own GPU time", NS, ADDS, "of it in no region inside",             \
      lpo_tables_sum(&r.r->self))                                                                  \
    CALL(X, first_host_ns, "First call, host", "where it differs much from later ones")            \
    CALL(X, later_host_ns, "Later calls, host", "mean of one")                                     \
    CALL(X, first_gpu_ns, "First call, GPU", "time of its kernels")                                \
    CALL(X, later_gpu_ns, "Later calls, GPU", "mean of one")                                       \
    X(region, launches_time_estimated, "Estimated", COUNT, ADDS,                                   \
      "launches whose time is a share of their CUDA graph's",                                      \
      estimated_cell(&r.r->all, r.s->cells->left_out || r.r->copies.shares), .rare = true)         \
    X(region, distinct_kernels, "Kernels", COUNT, FACT, "kernels by name", r.r->nkernels)          \
    X(region, never_closed, "Never closed", COUNT, ADDS, "calls that end with their process",      \
      r.r->open)                                                                                   \
    X(region, copy_count, "Copies", COUNT, ADDS, "copies and memsets", r.r->copies.launches)       \
    X(region, copy_ns, "Copies", NS, ADDS, "time of copies and memsets",                           \
      lpo_tables_sum(&r.r->copies))                                                                \
    X(region, copy_bytes, "Copied", BYTES, ADDS, "that they moved", r.r->copies.bytes)             \
    PART(X, captured, "Captured", "kernels of graphs that were captured in it")                    \
    PART(X, adopted, "Adopted", "kernels of threads without ranges")                               \
    PART(X, backward, "Backward", "kernels of the backward pass of what ran here")                 \
    PART(X, recomputed, "Recomputed", "kernels of the forward pass that were launched again")      \
    X(region, kernels_measured, "Measured", COUNT, ADDS, "launches with counters of their own",    \
      r.r->measured)                                                                               \
    X(region, kernels_estimated, "By representative", COUNT, ADDS,                                 \
      "launches with the counters of another", r.r->estimated)

LPO_TABLE_OF(region, REGION)

const struct lpo_table_kind lpo_tables_regions = LPO_TABLE_KIND(
    region, "regions", "Time by region, for everything together and by process, GPU and rank");

struct lpo_rows lpo_tables_scope_regions(const struct lpo_tables_of *of, struct lpo_scope_id scope,
                                         const uint32_t *which, size_t count)
{
    struct region_at *all = lpo_arena_array(of->arena, count + 1, sizeof *all);

    for (size_t i = 0; i < count; i++)
        all[i] = (struct region_at){ scope, which ? which[i] : (uint32_t)i };
    return lpo_tables_rows(of, &lpo_tables_regions, all, count);
}

const struct lpo_region_row *lpo_tables_region_row(const struct lpo_rows *regions, size_t i,
                                                   const struct lpo_region_scope **s)
{
    const struct region_row r = region_of(regions, i);

    *s = r.s;
    return r.r;
}

struct lpo_rows lpo_tables_open_regions(const void *of)
{
    const struct lpo_tables_of *o = of;
    lpo_scope_ids scopes = { 0 };
    LPO_FREED LPO_VEC(struct region_at) rows = { 0 };
    struct lpo_rows out;

    lpo_region_scopes_list(o->a->cells, &scopes);
    for (size_t i = 0; i < scopes.len; i++) {
        size_t count = lpo_analysis_scope(o->a, scopes.at[i])->rows.len;

        for (size_t k = 0; k < count; k++)
            lpo_vec_push(&rows, (struct region_at){ scopes.at[i], (uint32_t)k });
    }
    lpo_vec_free(&scopes);
    out = lpo_tables_kept(of, &lpo_tables_regions, rows.at, rows.len, sizeof *rows.at);
    return out;
}

/* --- kernels ---------------------------------------------------------------------------------- */

/* What rows of kernels are made from: of a whole trace, or of one region. */
struct kernels {
    const struct lpo_top_row *top;
    const struct lpo_kernel_row *of_region;
    int64_t total_ns;
    const struct lpo_counters_by_kernel *measured; /* NULL: none */
    enum lpo_gpu_op_kind kind;
};

struct kernel_row {
    const struct lpo_region_cells *cells;
    uint32_t name;
    const struct lpo_sum *sum, *self; /* self: NULL but in a region */
    int64_t total_ns;
    const struct lpo_kernel_counters *counters;
    const char *class;
};

static struct kernel_row kernel_of(const struct lpo_rows *rows, size_t i)
{
    const struct kernels *from = rows->at;
    const struct lpo_region_cells *cells = lpo_tables_analysis(rows)->cells;
    const struct lpo_trace *t = cells->tree->trace;
    const struct lpo_kernel_row *k = from->of_region ? &from->of_region[i] : NULL;
    struct kernel_row r = { cells, k ? k->name : from->top[i].name, k ? &k->all : &from->top[i].sum,
                            k ? &k->self : NULL, from->total_ns };
    uint32_t linker = from->measured ? lpo_region_cells_linker(cells, r.name) : 0;

    if (from->measured)
        r.counters = lpo_counters_find_kernel(from->measured, lpo_trace_text(t, r.name),
                                              linker ? lpo_trace_text(t, linker) : NULL);
    r.class = from->kind == LPO_COPY ? "memory copy"
              : from->kind == LPO_MEMSET
                  ? "memset"
                  : lpo_region_class_name(lpo_region_cells_class(cells, r.name));
    return r;
}

static int64_t mean_ns(const struct lpo_sum *s)
{
    uint64_t timed = s->launches - s->unknown;

    return timed ? s->ns / (int64_t)timed : 0;
}

/* Each source spells a demangled name in its own way; this one is the same in all. */
static struct lpo_cell linker_cell(const struct lpo_rows *rows, const struct kernel_row *r)
{
    uint32_t linker = lpo_region_cells_linker(r->cells, r->name);

    return lpo_tables_name(rows, linker && linker != r->name ? linker : LPO_NONE);
}

static struct lpo_cell figure_cell(const struct kernel_row *r, enum lpo_kernel_figure f)
{
    struct lpo_measure m = r->counters ? r->counters->figure[f] : lpo_measure_unknown();

    if (f <= LPO_FIGURE_OCCUPANCY) /* percent */
        m.value /= 100;
    return lpo_cell_measure(m);
}

#define KERNEL(X)                                                                                  \
    X(kernel, name, "Kernel", TEXT, KEY, "as the source prints it",                                \
      lpo_tables_kernel(rows, r.name), .width = 60)                                                \
    X(kernel, linker, "Linker name", TEXT, FACT, "mangled name, the same in every source",         \
      linker_cell(rows, &r), .rare = true)                                                         \
    X(kernel, short_name, "Kernel", TEXT, FACT, "what tells it from the others",                   \
      lpo_region_cells_short_name(r.cells, r.name))                                                \
    X(kernel, launches, "Launches", COUNT, ADDS, "of it", r.sum->launches)                         \
    X(kernel, gpu_ns, "GPU time", NS, ADDS, "of all launches",                                     \
      lpo_tables_some(r.sum, r.sum->ns, true))                                                     \
    X(kernel, min_ns, "Min", NS, LEAST, "shortest launch", extreme_cell(r.sum, r.sum->min_ns),     \
      .minor = 1)                                                                                  \
    X(kernel, max_ns, "Max", NS, MOST, "longest launch", extreme_cell(r.sum, r.sum->max_ns),       \
      .minor = 1)                                                                                  \
    X(kernel, mean_ns, "Mean", NS, FACT, "one launch",                                             \
      lpo_tables_some(r.sum, mean_ns(r.sum), true))                                                \
    X(kernel, launches_time_estimated, "Estimated", COUNT, ADDS,                                   \
      "launches whose time is a share of their CUDA graph's",                                      \
      lpo_cell_whole_if(r.sum->shares > 0, (int64_t)r.sum->shares), .rare = true)                  \
    X(kernel, share, "Share", PERCENT, FACT, "of the GPU time of all kernels",                     \
      lpo_tables_part(r.sum, r.total_ns, true))                                                    \
    X(kernel, sm_share, "SM", PERCENT, FACT, "of the peak rate of the SMs, by ncu",                \
      figure_cell(&r, LPO_FIGURE_SM))                                                              \
    X(kernel, tensor_share, "Tensor", PERCENT, FACT, "of the peak rate of tensor cores, by ncu",   \
      figure_cell(&r, LPO_FIGURE_TENSOR))                                                          \
    X(kernel, l1_share, "L1", PERCENT, FACT, "of the peak rate of L1, by ncu",                     \
      figure_cell(&r, LPO_FIGURE_L1), .minor = 2)                                                  \
    X(kernel, l2_share, "L2", PERCENT, FACT, "of the peak rate of L2, by ncu",                     \
      figure_cell(&r, LPO_FIGURE_L2), .minor = 1)                                                  \
    X(kernel, dram_share, "DRAM", PERCENT, FACT, "of the peak rate of the memory, by ncu",         \
      figure_cell(&r, LPO_FIGURE_DRAM))                                                            \
    X(kernel, occupancy_share, "Occupancy", PERCENT, FACT, "warps that were active, by ncu",       \
      figure_cell(&r, LPO_FIGURE_OCCUPANCY))                                                       \
    X(kernel, registers, "Regs", MEASURE(NULL), FACT, "of a thread, by ncu",                       \
      figure_cell(&r, LPO_FIGURE_REGISTERS), .minor = 1)                                           \
    X(kernel, waves, "Waves", MEASURE(NULL), FACT, "of blocks on each SM, by ncu",                 \
      figure_cell(&r, LPO_FIGURE_WAVES), .minor = 2)                                               \
    X(kernel, class, "Class", TEXT, KEY, "what kind of computation it does, by its name", r.class)

LPO_TABLE_OF(kernel, KERNEL)

const struct lpo_table_kind lpo_tables_kernels =
    LPO_TABLE_KIND(kernel, "kernels", "Kernels by name, longest time first");

/* Besides, in a region: what is in none inside it. */
#define OWN(X)                                                                                     \
    X(kernel, launches_exclusive, "Own launches", COUNT, ADDS, "in no region inside",              \
      r.self->launches)                                                                            \
    X(kernel, gpu_ns_exclusive, "Own GPU time", NS, ADDS, "of these", lpo_tables_sum(r.self))

OWN(LPO_TABLE_GETTER)
static const struct lpo_column region_kernel_columns[] = { KERNEL(LPO_TABLE_COLUMN)
                                                               OWN(LPO_TABLE_COLUMN) };
static const struct lpo_table_kind region_kernels =
    LPO_TABLE_KIND(region_kernel, "region_kernels", "Kernels of a region");

struct lpo_rows lpo_tables_top(const struct lpo_tables_of *of, enum lpo_gpu_op_kind kind,
                               const struct lpo_counters_by_kernel *measured)
{
    const lpo_top_rows *top = lpo_analysis_top(of->a, kind);
    struct kernels from = { .top = top->at, .measured = measured, .kind = kind };
    struct lpo_rows out;

    for (size_t i = 0; i < top->len; i++)
        from.total_ns += top->at[i].sum.ns;
    out = lpo_tables_kept(of, &lpo_tables_kernels, &from, 1, sizeof from);
    out.count = top->len;
    return out;
}

struct lpo_rows lpo_tables_region_kernels(const struct lpo_tables_of *of,
                                          const struct lpo_region_scope *s,
                                          const struct lpo_region_row *row,
                                          const struct lpo_counters_by_kernel *measured)
{
    struct kernels from = { .measured = measured && measured->len ? measured : NULL,
                            .of_region = row->nkernels ? &s->kernels.at[row->kernels] : NULL,
                            .total_ns = row->all.ns };
    struct lpo_rows out = lpo_tables_kept(of, &region_kernels, &from, 1, sizeof from);

    out.count = row->nkernels;
    return out;
}

struct lpo_rows lpo_tables_open_kernels(const void *of)
{
    const struct lpo_tables_of *tables = of;
    const struct lpo_source *counters =
        tables->d ? lpo_rundir_source_with(tables->d, LPO_ROLE_COUNTERS) : NULL;
    struct lpo_counters_by_kernel *measured = LPO_NEW(tables->arena, struct lpo_counters_by_kernel);

    *measured = lpo_counters_by_kernel(
        tables->arena, counters && counters->trace ? counters->trace : tables->a->trace);
    return lpo_tables_top(of, LPO_KERNEL, measured->len ? measured : NULL);
}

/* --- operators -------------------------------------------------------------------------------- */

/* Rows in their order, and in which of the ways they are seen. */
struct operators {
    const struct lpo_operators *all;
    const struct lpo_operator **order;
    enum lpo_tables_operators which;
};

/* An operator, or what CUDA graphs replayed of it. */
struct operator_row {
    const struct lpo_operator *o;
    uint64_t calls;
    struct lpo_cell self_ns, total_ns, share;
    const struct lpo_operator_cost *cost;
    struct lpo_operator_rates rates;
};

static struct operator_row operator_of(const struct lpo_rows *rows, size_t i)
{
    const struct operators *from = rows->at;
    const struct lpo_operator *o = from->order[i];
    const struct lpo_tables_of *of = rows->of;
    bool again = from->which == LPO_OPERATORS_REPLAYED;
    bool gpu = again || lpo_tables_trace(rows)->gpu_ops.len > 0;
    int64_t self_ns = again ? o->replayed_self_ns : o->gpu_self_ns;
    int64_t total_ns = again ? o->replayed_total_ns : o->gpu_total_ns;
    struct operator_row r = { .o = o,
                              .calls = again ? o->replayed : o->calls,
                              .self_ns = lpo_cell_whole_if(gpu, self_ns),
                              .total_ns = lpo_cell_whole_if(gpu, total_ns),
                              .cost = again ? &o->replayed_cost : &o->cost };

    if (gpu)
        r.share = lpo_cell_share((double)self_ns,
                                 (double)(again ? from->all->replays.ns : from->all->all.ns));
    r.rates = lpo_operators_rates(r.cost, r.calls, gpu ? total_ns : 0,
                                  again || !o->copies ? of->hw : NULL,
                                  lpo_analysis_reference(of->a, of->hw));
    return r;
}

/* Per call, where calls of a row have its shapes; where other arguments differ (causal or not), one
 * of them is their mean. */
static struct lpo_cell mean_cell(struct lpo_cell sum, uint64_t calls)
{
    return lpo_cell_whole_if(sum.how && calls, calls ? sum.whole / (int64_t)calls : 0);
}

static struct lpo_cell share_cell(struct lpo_measure m)
{
    return lpo_measure_known(m) ? lpo_cell_share(m.value, 1) : lpo_cell_unknown();
}

#define OPERATOR(X)                                                                                \
    X(operator, name, "Operator", TEXT, KEY, "of the framework", lpo_tables_name(rows, r.o->name)) \
    X(operator, shapes, "Input shapes", LIST, KEY, "of its inputs",                                \
      lpo_tables_name(rows, r.o->shapes))                                                          \
    X(operator, dtypes, "Types", LIST, KEY, "of its inputs", lpo_tables_name(rows, r.o->types),    \
      .minor = 7)                                                                                  \
    X(operator, calls, "Calls", COUNT, ADDS, "with these shapes and types", r.calls)               \
    X(operator, host_ns, "CPU total", NS, ADDS, "time of the host, operators inside included",     \
      r.o->cpu_total_ns)                                                                           \
    X(operator, host_ns_self, "CPU self", NS, ADDS, "without operators inside", r.o->cpu_self_ns)  \
    X(operator, host_ns_mean, "CPU mean", NS, FACT, "of one call",                                 \
      mean_cell(lpo_cell_whole(r.o->cpu_total_ns), r.calls), .minor = 4)                           \
    X(operator, host_ns_min, "CPU min", NS, LEAST, "shortest call", r.o->cpu_min_ns)               \
    X(operator, host_ns_max, "CPU max", NS, MOST, "longest call", r.o->cpu_max_ns)                 \
    X(operator, gpu_ns_self, "GPU self", NS, ADDS, "GPU time of what it launched itself",          \
      r.self_ns)                                                                                   \
    X(operator, gpu_ns_total, "GPU total", NS, ADDS, "GPU time of everything launched under it",   \
      r.total_ns)                                                                                  \
    X(operator, gpu_ns_mean, "GPU mean", NS, FACT, "of one call", mean_cell(r.total_ns, r.calls),  \
      .minor = 3)                                                                                  \
    X(operator, share, "Share", PERCENT, FACT, "of the GPU time of all operations", r.share)       \
    X(operator, gpu_operations_self, "GPU operations", COUNT, ADDS, "that it launched itself",     \
      lpo_cell_whole_if(r.self_ns.how != LPO_UNKNOWN, (int64_t)r.o->gpu_ops_self))                 \
    X(operator, gpu_operations_total, "All GPU operations", COUNT, ADDS, "launched under it",      \
      lpo_cell_whole_if(r.self_ns.how != LPO_UNKNOWN, (int64_t)r.o->gpu_ops_total))                \
    X(operator, replayed_ns_self, "In CUDA graphs", NS, ADDS, "GPU time of it in replayed graphs", \
      r.o->replayed_self_ns)                                                                       \
    X(operator, flops, "FLOPs", BYTES, FACT, "that one call computes", r.rates.flops)              \
    X(operator, bytes, "Bytes", BYTES, FACT,                                                       \
      "that one call moves: inputs, weights and outputs once", r.rates.bytes)                      \
    X(operator, flops_per_second, "Computed", MEASURE("FLOP/s"), FACT,                             \
      "FLOPs of all calls over their GPU time", r.rates.flop_rate, .minor = 2)                     \
    X(operator, bytes_per_second, "Moved", MEASURE("B/s"), FACT,                                   \
      "bytes of all calls over their GPU time", r.rates.byte_rate, .minor = 4)                     \
    X(operator, share_of_roof, "Of the roof", PERCENT, FACT,                                       \
      "least time on this hardware over GPU time", share_cell(r.rates.share))                      \
    X(operator, bound, "Bound by", TEXT, FACT, "what decides that least time: compute or memory",  \
      r.rates.bound, .minor = 6, .width = 8)                                                       \
    X(operator, best_us, "Best in us", MEASURE(""), FACT,                                          \
      "one call as measured best on this GPU (docs/references.md)", r.rates.best_us, .minor = 9)   \
    X(operator, to_best, "Of the best", PERCENT, FACT,                                             \
      "that time over the time of a call: 1 is as good", share_cell(r.rates.to_best))

LPO_TABLE_OF(operator, OPERATOR)

const struct lpo_table_kind lpo_tables_operators =
    LPO_TABLE_KIND(operator, "operators",
                   "Operators of the framework by input shapes, most GPU time of their own first");

static int by_own_time(const void *a, const void *b)
{
    const struct lpo_operator *x = *(const struct lpo_operator *const *)a;
    const struct lpo_operator *y = *(const struct lpo_operator *const *)b;

    if (x->gpu_self_ns != y->gpu_self_ns)
        return x->gpu_self_ns > y->gpu_self_ns ? -1 : 1;
    if (x->cpu_self_ns != y->cpu_self_ns)
        return x->cpu_self_ns > y->cpu_self_ns ? -1 : 1;
    return (x > y) - (x < y);
}

/* The same with what graphs replayed of them. */
static int by_own_and_replayed(const void *a, const void *b)
{
    const struct lpo_operator *x = *(const struct lpo_operator *const *)a;
    const struct lpo_operator *y = *(const struct lpo_operator *const *)b;
    int64_t of_x = x->gpu_self_ns + x->replayed_self_ns;
    int64_t of_y = y->gpu_self_ns + y->replayed_self_ns;

    return of_x != of_y ? (of_x > of_y ? -1 : 1) : by_own_time(a, b);
}

static int by_replayed(const void *a, const void *b)
{
    const struct lpo_operator *x = *(const struct lpo_operator *const *)a;
    const struct lpo_operator *y = *(const struct lpo_operator *const *)b;

    if (x->replayed_self_ns != y->replayed_self_ns)
        return x->replayed_self_ns > y->replayed_self_ns ? -1 : 1;
    return (x > y) - (x < y); /* most expensive first, as they are */
}

struct lpo_rows lpo_tables_operators_as(const struct lpo_tables_of *of,
                                        enum lpo_tables_operators which)
{
    static int (*const orders[])(const void *, const void *) = {
        [LPO_OPERATORS_BY_SHAPES] = by_own_time,
        [LPO_OPERATORS_BY_NAME] = by_own_and_replayed,
        [LPO_OPERATORS_REPLAYED] = by_replayed,
    };
    const struct lpo_operators *all = lpo_analysis_operators(
        of->a, which == LPO_OPERATORS_BY_SHAPES || which == LPO_OPERATORS_REPLAYED);
    struct operators from = { all,
                              lpo_arena_array(of->arena, all->rows.len + 1, sizeof *from.order),
                              which };
    struct lpo_rows out = lpo_tables_rows(of, &lpo_tables_operators, NULL, 0);

    for (size_t i = 0; i < all->rows.len; i++)
        if (which != LPO_OPERATORS_REPLAYED || all->rows.at[i].replayed_self_ns)
            from.order[out.count++] = &all->rows.at[i];
    if (orders[which])
        qsort(from.order, out.count, sizeof *from.order, orders[which]);
    out.at = lpo_tables_kept(of, out.kind, &from, 1, sizeof from).at;
    return out;
}

struct lpo_rows lpo_tables_as_replayed(const struct lpo_rows *operators)
{
    struct operators from = *(const struct operators *)operators->at;
    struct lpo_rows out = *operators;

    from.which = LPO_OPERATORS_REPLAYED;
    out.at = lpo_tables_kept(out.of, out.kind, &from, 1, sizeof from).at;
    return out;
}

const struct lpo_operator *lpo_tables_operator(const struct lpo_rows *operators, size_t i)
{
    return ((const struct operators *)operators->at)->order[i];
}

struct lpo_rows lpo_tables_open_operators(const void *of)
{
    return lpo_tables_operators_as(of, LPO_OPERATORS_BY_SHAPES);
}

/* --- steps ------------------------------------------------------------------------------------ */

#define ON_GPU (r->device != UINT16_MAX)

typedef struct lpo_program_step step_row;

#define STEP(X)                                                                                    \
    X(step, name, "Step", TEXT, KEY, "of its range", lpo_tables_name(rows, r->name))               \
    X(step, number, "Number", COUNT, KEY, "that the name gives",                                   \
      lpo_cell_whole_if(r->facts.number >= 0, r->facts.number))                                    \
    X(step, kind, "Kind", TEXT, KEY, "step, prefill, decode or mixed",                             \
      lpo_steps_kind_name(r->facts.kind))                                                          \
    X(step, process, "Process", COUNT, KEY, "number of the process",                               \
      lpo_tables_pid(rows, r->process))                                                            \
    X(step, rank, "Rank", COUNT, KEY, "rank of the process in its job",                            \
      lpo_tables_rank(rows, r->process))                                                           \
    X(step, start_ns, "Start", NS, FACT, "when it began", r->start_ns)                             \
    X(step, wall_ns, "Wall time", NS, ADDS,                                                        \
      "to the start of the next step; of the last one to its own end", r->wall_ns)                 \
    X(step, host_ns, "Host", NS, ADDS, "how long its range was open", r->host_ns)                  \
    X(step, gpu_ns, "GPU", NS, ADDS, "from the first start to the last end of its work",           \
      lpo_cell_whole_if(ON_GPU, r->gpu_ns))                                                        \
    X(step, compute_ns, "Compute", NS, ADDS, "of it, kernels that are no communication",           \
      lpo_cell_whole_if(ON_GPU, r->compute_ns))                                                    \
    X(step, exposed_communication_ns, "Exposed communication", NS, ADDS,                           \
      "of it, communication alone", lpo_cell_whole_if(ON_GPU, r->exposed_communication_ns))        \
    X(step, exposed_copy_ns, "Exposed copies", NS, ADDS, "of it, copies and memsets alone",        \
      lpo_cell_whole_if(ON_GPU, r->exposed_copy_ns))                                               \
    X(step, idle_ns, "Idle", NS, ADDS, "of it, nothing", lpo_cell_whole_if(ON_GPU, r->idle_ns))    \
    X(step, gpu_operations, "GPU operations", COUNT, ADDS, "that it launched", r->operations)      \
    X(step, requests, "Requests", COUNT, FACT, "that the name gives",                              \
      lpo_cell_whole_if(r->facts.requests >= 0, r->facts.requests))                                \
    X(step, tokens, "Tokens", COUNT, ADDS, "that the name gives",                                  \
      lpo_cell_whole_if(r->facts.tokens >= 0, r->facts.tokens))                                    \
    X(step, slow, "Slow", FLAG, FACT, "1: far above the others of its kind", r->slow)

LPO_TABLE(step, STEP)

const struct lpo_table_kind lpo_tables_steps = LPO_TABLE_KIND(
    step, "steps", "Steps of a training, batches of a server, in order of process and time");

struct lpo_rows lpo_tables_open_steps(const void *of)
{
    const struct lpo_program_steps *s = lpo_analysis_steps(((const struct lpo_tables_of *)of)->a);

    return lpo_tables_rows(of, &lpo_tables_steps, s ? s->rows.at : NULL, s ? s->rows.len : 0);
}

/* --- wall time -------------------------------------------------------------------------------- */

typedef struct lpo_wall_device wall_row;

static uint64_t gaps_of(const struct lpo_wall_device *d)
{
    uint64_t n = 0;

    for (int i = 0; i < LPO_IDLE_CAUSES; i++)
        n += d->idle[i].count;
    return n;
}

#define CAUSE(X, key, title, meaning, at)                                                          \
    X(wall, key##_ns, title, NS, ADDS, meaning, r->idle[at].ns)                                    \
    X(wall, key##_gaps, title " gaps", COUNT, ADDS, "how often", r->idle[at].count)

#define WALL(X)                                                                                    \
    X(wall, device, "GPU", COUNT, KEY, "number of the GPU", lpo_tables_device(rows, r->device))    \
    X(wall, rank, "Rank", COUNT, KEY, "rank of the process that saw it",                           \
      device_rank_cell(rows, r->device))                                                           \
    X(wall, scope, "GPU", TEXT, FACT, "device:<id>, of a job rank:<n>/device:<id>",                \
      lpo_tables_scope(rows, r->device))                                                           \
    X(wall, start_ns, "Start", NS, FACT, "first start of its work", r->start_ns)                   \
    X(wall, span_ns, "Span", NS, ADDS, "first start to last end", r->span_ns)                      \
    X(wall, compute_ns, "Compute", NS, ADDS, "a kernel runs that is no communication",             \
      lpo_cell_whole_if(!r->parts_unknown, r->compute_ns))                                         \
    X(wall, exposed_communication_ns, "Exposed communication", NS, ADDS,                           \
      "else communication runs",                                                                   \
      lpo_cell_whole_if(!r->parts_unknown, r->exposed_communication_ns))                           \
    X(wall, exposed_copy_ns, "Exposed copies", NS, ADDS, "else a copy or memset runs",             \
      lpo_cell_whole_if(!r->parts_unknown, r->exposed_copy_ns))                                    \
    X(wall, idle_ns, "Idle", NS, ADDS, "else nothing runs", r->idle_ns)                            \
    X(wall, gaps, "Gaps", COUNT, ADDS, "stretches without any operation", gaps_of(r))              \
    X(wall, longest_gap_ns, "Longest gap", NS, MOST, "of these",                                   \
      r->longest.len ? r->longest.at[0].ns : 0)                                                    \
    CAUSE(X, blocked, "Blocked", "idle: the host waited in a call", LPO_IDLE_BLOCKED)              \
    CAUSE(X, host, "Host", "idle: the host launched too late", LPO_IDLE_HOST)                      \
    CAUSE(X, queued, "Queued", "idle: launched, but it waited for something else",                 \
          LPO_IDLE_QUEUED)                                                                         \
    CAUSE(X, unknown, "Unknown", "idle: the trace does not say why", LPO_IDLE_UNKNOWN)

LPO_TABLE(wall, WALL)

const struct lpo_table_kind lpo_tables_wall =
    LPO_TABLE_KIND(wall, "wall", "Where the wall time of each GPU went, longest span first");

struct lpo_rows lpo_tables_open_wall(const void *of)
{
    const struct lpo_wall *w = lpo_analysis_wall(((const struct lpo_tables_of *)of)->a);

    return lpo_tables_rows(of, &lpo_tables_wall, w ? w->devices.at : NULL, w ? w->devices.len : 0);
}

/* --- gaps ------------------------------------------------------------------------------------- */

struct gap {
    int64_t start_ns, ns;
    uint32_t op, call;
    uint16_t device;
    uint8_t cause;
};

typedef LPO_VEC(struct gap) gap_rows;

static void keep_gap(void *ctx, uint16_t device, const struct lpo_wall_gap *g)
{
    gap_rows *rows = ctx;

    lpo_vec_push(rows, (struct gap){ g->start_ns, g->ns, g->op, g->call, device, g->cause });
}

typedef struct gap gap_row;

#define GAP(X)                                                                                     \
    X(gap, device, "GPU", COUNT, KEY, "number of the GPU", lpo_tables_device(rows, r->device))     \
    X(gap, rank, "Rank", COUNT, KEY, "rank of the process that saw it",                            \
      device_rank_cell(rows, r->device))                                                           \
    X(gap, start_ns, "Start", NS, FACT, "when it began", r->start_ns)                              \
    X(gap, idle_ns, "Length", NS, ADDS, "how long nothing ran", r->ns)                             \
    X(gap, cause, "Cause", TEXT, KEY, "blocked, host, queued or unknown",                          \
      lpo_wall_cause_name(r->cause))                                                               \
    X(gap, call, "Call", TEXT, KEY, "call of the launching thread that covers most of it",         \
      r->call == LPO_NONE                                                                          \
          ? lpo_cell_unknown()                                                                     \
          : lpo_tables_name(rows, lpo_trace_call(lpo_tables_trace(rows), r->call).name))           \
    X(gap, next_op, "Next operation", COUNT, FACT, "gpu_ops.id of what ends it", r->op)            \
    X(gap, region, "Launched from", TEXT, KEY, "path of the region of that operation",             \
      lpo_tables_region_of(rows, lpo_region_place(lpo_tables_analysis(rows)->tree,                 \
                                                  &lpo_tables_trace(rows)->gpu_ops.at[r->op])))

LPO_TABLE(gap, GAP)

const struct lpo_table_kind lpo_tables_gaps =
    LPO_TABLE_KIND(gap, "gaps", "Stretches in which a GPU did nothing, by GPU and time");

struct lpo_rows lpo_tables_open_gaps(const void *of)
{
    const struct lpo_tables_of *o = of;
    LPO_FREED gap_rows rows = { 0 };
    struct lpo_rows out;

    if (o->a->trace->gpu_ops.len)
        lpo_wall_each_gap(o->a->tree, NULL, keep_gap, &rows);
    out = lpo_tables_kept(of, &lpo_tables_gaps, rows.at, rows.len, sizeof *rows.at);
    return out;
}

/* --- collectives ------------------------------------------------------------------------------ */

typedef struct lpo_collective_row collective_row;

static struct lpo_measure best_of(const struct lpo_rows *rows, const collective_row *r)
{
    const struct lpo_tables_of *of = rows->of;
    struct lpo_reference_answer a;

    return lpo_wall_collective_best(lpo_analysis_reference(of->a, of->hw), r->kind, r->ranks,
                                    r->bytes, &a)
               ? lpo_measure_estimated(a.best_us)
               : lpo_measure_unknown();
}

#define COLLECTIVE(X)                                                                              \
    X(collective, kind, "Collective", TEXT, KEY, "all-reduce, all-gather …", r->kind)              \
    X(collective, bytes, "Message", BYTES, KEY, "of one message", r->bytes)                        \
    X(collective, dtype, "Type", TEXT, KEY, "of its elements", lpo_tables_name(rows, r->dtype),    \
      .minor = 3, .width = 8)                                                                      \
    X(collective, ranks, "Ranks", COUNT, KEY, "of its group",                                      \
      lpo_cell_whole_if(r->ranks > 0, r->ranks))                                                   \
    X(collective, group, "Group", TEXT, KEY, "name of the group", lpo_tables_name(rows, r->group), \
      .minor = 3, .width = 12)                                                                     \
    X(collective, calls, "Calls", COUNT, ADDS, "kernels", r->calls)                                \
    X(collective, gpu_ns, "Time", NS, ADDS, "of the kernels, waiting included", r->ns)             \
    X(collective, exposed_ns, "Exposed", NS, ADDS, "of it with nothing computed on that GPU",      \
      lpo_cell_whole_if(!r->exposed_unknown, r->exposed_ns))                                       \
    X(collective, min_ns, "Min", NS, LEAST, "shortest call", r->min_ns, .minor = 2)                \
    X(collective, mean_ns, "Mean", NS, FACT, "mean of the calls", r->ns / (int64_t)r->calls,       \
      .minor = 1)                                                                                  \
    X(collective, max_ns, "Max", NS, MOST, "longest call", r->max_ns, .minor = 2)                  \
    X(collective, bytes_per_s, "Algorithm bandwidth", MEASURE("B/s"), FACT,                        \
      "bytes of the messages over the time of the kernels", r->rate, .minor = 3)                   \
    X(collective, bus_bytes_per_s, "Bus bandwidth", MEASURE("B/s"), FACT,                          \
      "the same as it loads the busiest link, as nccl-tests defines it", r->bus_rate)              \
    X(collective, best_bus_bytes_per_s, "Of the fastest call", MEASURE("B/s"), FACT,               \
      "bus bandwidth of the fastest call", r->best_bus_rate, .minor = 3)                           \
    X(collective, best_us, "Best in us", MEASURE(""), FACT,                                        \
      "one call as NCCL was measured best between such GPUs of one node", best_of(rows, r),        \
      .minor = 3)                                                                                  \
    X(collective, to_best, "Of the best", PERCENT, FACT,                                           \
      "that time over the time of the shortest call: 1 is as good",                                \
      best_of(rows, r).how && r->min_ns > 0                                                        \
          ? lpo_cell_share(best_of(rows, r).value * 1000, (double)r->min_ns)                       \
          : lpo_cell_unknown())

LPO_TABLE(collective, COLLECTIVE)

const struct lpo_table_kind lpo_tables_collectives =
    LPO_TABLE_KIND(collective, "collectives", "Collectives by kind, size, type and group");

struct lpo_rows lpo_tables_open_collectives(const void *of)
{
    const struct lpo_wall_collectives *c =
        lpo_analysis_collectives(((const struct lpo_tables_of *)of)->a);

    return lpo_tables_rows(of, &lpo_tables_collectives, c ? c->rows.at : NULL, c ? c->rows.len : 0);
}

/* --- ranks ------------------------------------------------------------------------------------ */

typedef struct lpo_rank_row rank_row;

#define RANK(X)                                                                                    \
    X(rank, rank, "Rank", COUNT, KEY, "number of the rank", r->rank)                               \
    X(rank, offset_ns, "Clock", NS, FACT, "its clock minus that of the first rank",                \
      lpo_cell_whole_if(r->aligned, r->offset_ns))                                                 \
    X(rank, error_ns, "Error", NS, FACT, "error of that",                                          \
      lpo_cell_whole_if(r->aligned, r->error_ns))                                                  \
    X(rank, drift_ppm, "Drift", MEASURE("ppm"), FACT, "how much faster its clock runs",            \
      r->aligned ? lpo_cell_real(1e6 * r->drift) : lpo_cell_unknown())                             \
    X(rank, offset_at_ns, "Clock at", NS, FACT, "moment at which offset_ns holds",                 \
      lpo_cell_whole_if(r->aligned, r->middle_ns))                                                 \
    X(rank, collectives, "Collectives", COUNT, ADDS, "kernels that communicate", r->collectives)   \
    X(rank, matched, "Matched", COUNT, ADDS, "of them with a counterpart elsewhere", r->matched)   \
    X(rank, waiting_ns, "Waiting", NS, ADDS, "in collectives, for other ranks",                    \
      lpo_cell_whole_if(r->aligned, r->waiting_ns))                                                \
    X(rank, sending_ns, "Sending", NS, ADDS, "in collectives, when all had come",                  \
      lpo_cell_whole_if(r->aligned, r->sending_ns))                                                \
    X(rank, exposed_waiting_ns, "Waits, exposed", NS, ADDS,                                        \
      "of the waiting, with nothing computed", r->exposed_waiting_ns)                              \
    X(rank, exposed_sending_ns, "Sends, exposed", NS, ADDS,                                        \
      "of the sending, with nothing computed", r->exposed_sending_ns)                              \
    X(rank, exposed_unknown_ns, "Not known, exposed", NS, ADDS,                                    \
      "exposed communication that was not matched", r->exposed_unknown_ns, .minor = 2)             \
    X(rank, late, "Last", COUNT, ADDS, "collectives to which it came last",                        \
      lpo_cell_whole_if(r->aligned, (int64_t)r->late))                                             \
    X(rank, delay_ns, "Behind", NS, ADDS, "after the second to last, summed",                      \
      lpo_cell_whole_if(r->aligned, r->delay_ns))

LPO_TABLE(rank, RANK)

const struct lpo_table_kind lpo_tables_ranks =
    LPO_TABLE_KIND(rank, "ranks", "The ranks of a job beside each other");

struct lpo_rows lpo_tables_open_ranks(const void *of)
{
    const struct lpo_ranks *ranks = lpo_analysis_ranks(((const struct lpo_tables_of *)of)->a);

    return lpo_tables_rows(of, &lpo_tables_ranks, ranks ? ranks->rows.at : NULL,
                           ranks ? ranks->rows.len : 0);
}

/* --- critical paths ----------------------------------------------------------------------------
 */

/* A step on the critical path of its process. */
struct critical_step {
    const struct lpo_critical_step *in;
    const struct lpo_program_step *step;
};

#define ON_PATH(part) lpo_cell_whole(r->in->parts.ns[LPO_PATH_##part])
#define CRITICAL(X)                                                                                \
    X(critical, rank, "Rank", COUNT, KEY, "rank of the process in its job",                        \
      lpo_tables_rank(rows, r->step->process))                                                     \
    X(critical, process, "Process", COUNT, KEY, "number of the process",                           \
      lpo_tables_pid(rows, r->step->process))                                                      \
    X(critical, step, "Step", TEXT, KEY, "name of its range",                                      \
      lpo_tables_name(rows, r->step->name))                                                        \
    X(critical, start_ns, "Start", NS, FACT, "when it began", r->step->start_ns)                   \
    X(critical, wall_ns, "Wall time", NS, ADDS, "to the start of the next step", r->step->wall_ns) \
    X(critical, host_ns, "Host", NS, ADDS, "of the path: the program on the host", ON_PATH(HOST))  \
    X(critical, calls_ns, "Calls", NS, ADDS, "calls that do not wait", ON_PATH(CALLS))             \
    X(critical, launch_delay_ns, "Launch delay", NS, ADDS, "from a launch to its start",           \
      ON_PATH(LAUNCH_DELAY))                                                                       \
    X(critical, compute_ns, "Compute", NS, ADDS, "kernels", ON_PATH(COMPUTE))                      \
    X(critical, communication_ns, "Communication", NS, ADDS, "kernels of collectives",             \
      ON_PATH(COMMUNICATION))                                                                      \
    X(critical, copy_ns, "Copies", NS, ADDS, "copies and memsets", ON_PATH(COPY))                  \
    X(critical, gap_ns, "Gaps", NS, ADDS, "between operations that follow each other",             \
      ON_PATH(GAP))                                                                                \
    X(critical, return_ns, "Return", NS, ADDS, "until a call that waited returned",                \
      ON_PATH(RETURN))                                                                             \
    X(critical, unexplained_ns, "Unexplained", NS, ADDS, "no cause is known", ON_PATH(UNEXPLAINED))

typedef struct critical_step critical_row;
LPO_TABLE(critical, CRITICAL)

const struct lpo_table_kind lpo_tables_critical_steps =
    LPO_TABLE_KIND(critical, "critical_steps", "What the critical path is made of in each step");

struct lpo_rows lpo_tables_open_critical_steps(const void *of)
{
    const struct lpo_tables_of *o = of;
    const struct lpo_critical *c = lpo_analysis_critical(o->a);
    const struct lpo_program_steps *steps = lpo_analysis_steps(o->a);
    LPO_FREED LPO_VEC(struct critical_step) rows = { 0 };
    struct lpo_rows out;

    for (size_t i = 0; c && steps && i < c->paths.len; i++)
        for (size_t k = 0; k < c->paths.at[i].steps.len; k++) {
            const struct lpo_critical_step *s = &c->paths.at[i].steps.at[k];

            lpo_vec_push(&rows, (struct critical_step){ s, &steps->rows.at[s->step] });
        }
    out = lpo_tables_kept(of, &lpo_tables_critical_steps, rows.at, rows.len, sizeof *rows.at);
    return out;
}

/* --- metrics ---------------------------------------------------------------------------------- */

/* A metric of a region: numbers are few where the values are. */
struct region_metric {
    uint32_t row, metric;
};

static struct lpo_cell metric_value(const struct lpo_rows *rows, const struct region_metric *m)
{
    const struct lpo_region_scope *s = lpo_analysis_all(lpo_tables_analysis(rows));
    const struct lpo_trace *t = lpo_tables_trace(rows);
    size_t at = (size_t)s->rows.at[m->row].metrics * t->metrics.len + m->metric;

    return lpo_cell_real(
        lpo_region_metric_value(t->metrics.at[m->metric].combine, &s->metric_sums.at[at]));
}

static struct lpo_cell metric_region(const struct lpo_rows *rows, const struct region_metric *m)
{
    const struct lpo_region_scope *s = lpo_analysis_all(lpo_tables_analysis(rows));

    return path_cell(rows, s, &s->rows.at[m->row]);
}

#define IS (&lpo_tables_trace(rows)->metrics.at[r->metric])
typedef struct region_metric metric_row;

#define METRIC(X)                                                                                  \
    X(metric, region, "Region", TEXT, KEY, "path of the region", metric_region(rows, r))           \
    X(metric, metric, "Metric", TEXT, KEY, "name of the counter, as the source has it",            \
      lpo_tables_name(rows, IS->name))                                                             \
    X(metric, value, "Value", MEASURE(NULL), FACT, "over all kernels of the region",               \
      metric_value(rows, r))                                                                       \
    X(metric, unit, "Unit", TEXT, FACT, "of the value", lpo_tables_name(rows, IS->unit))           \
    X(metric, how, "How", TEXT, FACT, "how values of kernels were put together, or sampled",       \
      IS->sampled ? "sampled" : lpo_trace_combine_name(IS->combine))

LPO_TABLE(metric, METRIC)

const struct lpo_table_kind lpo_tables_metrics =
    LPO_TABLE_KIND(metric, "metrics", "Hardware counters by region");

struct lpo_rows lpo_tables_open_metrics(const void *of)
{
    const struct lpo_tables_of *o = of;
    const struct lpo_region_scope *s = lpo_analysis_all(o->a);
    const size_t width = o->a->trace->metrics.len;
    LPO_FREED LPO_VEC(struct region_metric) rows = { 0 };
    struct lpo_rows out;

    for (size_t i = 0; i < s->rows.len; i++)
        for (size_t k = 0; k < width && s->rows.at[i].metrics != LPO_NONE; k++)
            if (s->metric_sums.at[s->rows.at[i].metrics * width + k].weight != 0)
                lpo_vec_push(&rows, (struct region_metric){ (uint32_t)i, (uint32_t)k });
    out = lpo_tables_kept(of, &lpo_tables_metrics, rows.at, rows.len, sizeof *rows.at);
    return out;
}
