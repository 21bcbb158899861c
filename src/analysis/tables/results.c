/* SPDX-License-Identifier: Apache-2.0 */
/* What analyses computed, as tables. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/operators/operators.h"
#include "analysis/ranks/ranks.h"
#include "analysis/steps/steps.h"
#include "analysis/tables/tables.h"
#include "analysis/wall/collectives.h"
#include "analysis/wall/wall.h"
#include "gpu/hardware.h"
#include "region/cells.h"
#include "region/classes.h"
#include "region/scope.h"
#include "region/top_kernels.h"
#include "region/tree.h"
#include "trace/metric_rules.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/vec.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* Rows that were made for a table: of `size` bytes each, kept as long as it. */
static struct lpo_rows keep_rows(const void *of, const void *rows, size_t count, size_t size)
{
    void *kept = lpo_arena_array(((const struct lpo_tables_of *)of)->arena, count + 1, size);

    if (count)
        memcpy(kept, rows, count * size);
    return (struct lpo_rows){ .count = count, .of = of, .at = kept };
}

static const struct lpo_analysis *analysis_of(const struct lpo_rows *rows)
{
    return ((const struct lpo_tables_of *)rows->of)->a;
}

static const struct lpo_trace *trace_of(const struct lpo_rows *rows)
{
    return analysis_of(rows)->trace;
}

static struct lpo_cell name_cell(const struct lpo_rows *rows, uint32_t name)
{
    const struct lpo_trace *t = trace_of(rows);

    return name == LPO_NONE ? lpo_cell_unknown()
                            : lpo_cell_textn(lpo_trace_text(t, name), lpo_trace_text_len(t, name));
}

static struct lpo_cell sum_cell(const struct lpo_sum *s)
{
    return lpo_cell_whole_if(lpo_region_sum_known(s), s->ns);
}

/* The least or most of launches with a time of their own. */
static struct lpo_cell extreme_cell(const struct lpo_sum *s, int64_t ns)
{
    return lpo_cell_whole_if(s->launches > s->unknown && s->min_ns != LPO_NO_TIME, ns);
}

static struct lpo_cell device_cell(const struct lpo_rows *rows, uint16_t device)
{
    const struct lpo_trace *t = trace_of(rows);

    return lpo_cell_whole_if(device < t->devices.len,
                             device < t->devices.len ? t->devices.at[device].id : 0);
}

static struct lpo_cell device_rank_cell(const struct lpo_rows *rows, uint16_t device)
{
    const struct lpo_trace *t = trace_of(rows);
    int32_t rank = device < t->devices.len ? t->devices.at[device].rank : -1;

    return lpo_cell_whole_if(rank >= 0, rank);
}

/* --- regions ---------------------------------------------------------------------------------- */

struct region_at {
    struct lpo_scope_id scope;
    uint32_t row;
};

/* Scopes are kept one at a time: rows of one stand together. */
static const struct lpo_region_scope *scope_of(const struct lpo_rows *rows,
                                               const struct region_at *at)
{
    return lpo_analysis_scope(analysis_of(rows), at->scope);
}

#define REGION(name, value)                                                                        \
    static struct lpo_cell region_##name(const struct lpo_rows *rows, size_t i)                    \
    {                                                                                              \
        const struct region_at *at = (const struct region_at *)rows->at + i;                       \
        const struct lpo_region_scope *s = scope_of(rows, at);                                     \
        const struct lpo_region_row *r = &s->rows.at[at->row];                                     \
        (void)r;                                                                                   \
        return value;                                                                              \
    }

static struct lpo_cell scope_name(const struct lpo_rows *rows, struct lpo_scope_id id)
{
    lpo_region_scope_add_name(trace_of(rows), id, lpo_table_scratch(rows));
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

REGION(scope, scope_name(rows, at->scope))
REGION(path, path_cell(rows, s, r))
REGION(parent, parent_cell(rows, s, r))
REGION(depth, lpo_cell_count(lpo_region_row_depth(s, r)))
REGION(kind, lpo_cell_text(lpo_region_row_kind(s, r)))
REGION(source, lpo_cell_text(lpo_region_row_source(s, r)))
REGION(visits, lpo_cell_whole_if(r->visits_known, (int64_t)r->visits))
REGION(launches, lpo_cell_count(r->all.launches))
REGION(launches_self, lpo_cell_count(r->self.launches))
REGION(host, lpo_cell_whole_if(r->visits_known, r->host_ns))
REGION(host_self, lpo_cell_whole_if(r->visits_known, r->host_self_ns))
REGION(gpu, sum_cell(&r->all))
REGION(gpu_self, sum_cell(&r->self))
REGION(backward, lpo_cell_whole_if(r->backward.launches > 0, r->backward.ns))
REGION(copies, sum_cell(&r->copies))
REGION(copied, lpo_cell_count(r->copies.bytes))
REGION(kernels, lpo_cell_count(r->nkernels))

static const struct lpo_column region_columns[] = {
    { "scope", "Scope", LPO_CELL_TEXT,
      .meaning = "aggregate, process:<pid>, device:<id> or rank:<n>", .get = region_scope,
      .role = LPO_COLUMN_KEY },
    { "path", "Region", LPO_CELL_TEXT, .meaning = "names of the ranges, outermost first",
      .get = region_path, .role = LPO_COLUMN_KEY },
    { "parent", "Parent", LPO_CELL_TEXT, .meaning = "path of the region it lies in",
      .get = region_parent },
    { "depth", "Depth", LPO_CELL_COUNT, .meaning = "0 at the top", .get = region_depth },
    { "kind", "Kind", LPO_CELL_TEXT, .meaning = "push_pop, start_end, outside, module or python",
      .get = region_kind },
    { "source", "Source", LPO_CELL_TEXT, .meaning = "file and line of a module or function",
      .get = region_source },
    { "visits", "Calls", LPO_CELL_COUNT, .meaning = "times it was entered", .get = region_visits,
      .role = LPO_COLUMN_ADDS },
    { "launches", "Launches", LPO_CELL_COUNT, .meaning = "kernels, those of regions in it included",
      .get = region_launches, .role = LPO_COLUMN_ADDS },
    { "launches_exclusive", "Own launches", LPO_CELL_COUNT, .meaning = "without those",
      .get = region_launches_self, .role = LPO_COLUMN_ADDS },
    { "host_ns", "Host time", LPO_CELL_NS, .meaning = "time of the host inside", .get = region_host,
      .role = LPO_COLUMN_ADDS },
    { "host_ns_exclusive", "Own host time", LPO_CELL_NS, .meaning = "of it in no region inside",
      .get = region_host_self, .role = LPO_COLUMN_ADDS },
    { "gpu_ns_inclusive", "GPU time", LPO_CELL_NS,
      .meaning = "time of its kernels, those of regions in it included", .get = region_gpu,
      .role = LPO_COLUMN_ADDS },
    { "gpu_ns_exclusive", "Own GPU time", LPO_CELL_NS, .meaning = "of it in no region inside",
      .get = region_gpu_self, .role = LPO_COLUMN_ADDS },
    { "backward_ns", "Backward", LPO_CELL_NS,
      .meaning = "GPU time of the backward pass of what ran here", .get = region_backward,
      .role = LPO_COLUMN_ADDS },
    { "copy_ns", "Copies", LPO_CELL_NS, .meaning = "time of copies and memsets",
      .get = region_copies, .role = LPO_COLUMN_ADDS },
    { "copy_bytes", "Copied", LPO_CELL_BYTES, .meaning = "that they moved", .get = region_copied,
      .role = LPO_COLUMN_ADDS },
    { "distinct_kernels", "Kernels", LPO_CELL_COUNT, .meaning = "kernels by name",
      .get = region_kernels },
};

const struct lpo_table_kind lpo_tables_regions = {
    "regions", "Time by region, for everything together and by process, GPU and rank",
    region_columns, COUNT(region_columns)
};

bool lpo_tables_open_regions(const void *of, struct lpo_rows *out)
{
    const struct lpo_tables_of *o = of;
    lpo_scope_ids scopes = { 0 };
    LPO_VEC(struct region_at) rows = { 0 };

    lpo_region_scopes_list(o->a->cells, &scopes);
    for (size_t i = 0; i < scopes.len; i++) {
        size_t count = lpo_analysis_scope(o->a, scopes.at[i])->rows.len;

        for (size_t k = 0; k < count; k++)
            lpo_vec_push(&rows, (struct region_at){ scopes.at[i], (uint32_t)k });
    }
    lpo_vec_free(&scopes);
    *out = keep_rows(of, rows.at, rows.len, sizeof *rows.at);
    lpo_vec_free(&rows);
    return true;
}

/* --- kernels ---------------------------------------------------------------------------------- */

static struct lpo_cell mean_cell(const struct lpo_sum *s)
{
    uint64_t timed = s->launches - s->unknown;

    return timed ? lpo_cell_whole(s->ns / (int64_t)timed) : lpo_cell_unknown();
}

LPO_CELL(kernel_name, struct lpo_top_row, name_cell(rows, r->name))
LPO_CELL(kernel_short, struct lpo_top_row,
         lpo_cell_text(lpo_region_cells_short_name(analysis_of(rows)->cells, r->name)))
LPO_CELL(kernel_launches, struct lpo_top_row, lpo_cell_count(r->sum.launches))
LPO_CELL(kernel_gpu, struct lpo_top_row, sum_cell(&r->sum))
LPO_CELL(kernel_min, struct lpo_top_row, extreme_cell(&r->sum, r->sum.min_ns))
LPO_CELL(kernel_max, struct lpo_top_row, extreme_cell(&r->sum, r->sum.max_ns))
LPO_CELL(kernel_mean, struct lpo_top_row, mean_cell(&r->sum))
LPO_CELL(kernel_shares, struct lpo_top_row,
         lpo_cell_whole_if(r->sum.shares > 0, (int64_t)r->sum.shares))
LPO_CELL(kernel_share, struct lpo_top_row,
         lpo_region_sum_known(&r->sum) ? lpo_cell_measure(lpo_measure_computed(r->share))
                                       : lpo_cell_unknown())
LPO_CELL(kernel_class, struct lpo_top_row,
         lpo_cell_text(lpo_region_class_name(lpo_region_cells_class(analysis_of(rows)->cells,
                                                                    r->name))))

static const struct lpo_column kernel_columns[] = {
    { "name", "Kernel", LPO_CELL_TEXT, .meaning = "as the source prints it", .get = kernel_name,
      .role = LPO_COLUMN_KEY },
    { "short_name", "Kernel", LPO_CELL_TEXT, .meaning = "what tells it from the others",
      .get = kernel_short },
    { "launches", "Launches", LPO_CELL_COUNT, .meaning = "of it", .get = kernel_launches,
      .role = LPO_COLUMN_ADDS },
    { "gpu_ns", "GPU time", LPO_CELL_NS, .meaning = "of all launches", .get = kernel_gpu,
      .role = LPO_COLUMN_ADDS },
    { "min_ns", "Min", LPO_CELL_NS, .meaning = "shortest launch", .get = kernel_min,
      .role = LPO_COLUMN_LEAST },
    { "max_ns", "Max", LPO_CELL_NS, .meaning = "longest launch", .get = kernel_max,
      .role = LPO_COLUMN_MOST },
    { "mean_ns", "Mean", LPO_CELL_NS, .meaning = "one launch", .get = kernel_mean },
    { "launches_time_estimated", "Estimated", LPO_CELL_COUNT,
      .meaning = "launches whose time is a share of their CUDA graph's", .get = kernel_shares,
      .role = LPO_COLUMN_ADDS, .rare = true },
    { "share", "Share", LPO_CELL_PERCENT, .meaning = "of the GPU time of all kernels",
      .get = kernel_share },
    { "class", "Class", LPO_CELL_TEXT, .meaning = "what kind of computation it does, by its name",
      .get = kernel_class, .role = LPO_COLUMN_KEY },
};

const struct lpo_table_kind lpo_tables_kernels = { "kernels", "Kernels by name, longest time first",
                                                   kernel_columns, COUNT(kernel_columns) };

struct lpo_rows lpo_tables_of_kernels(const struct lpo_tables_of *of,
                                      const struct lpo_top_row *rows, size_t count)
{
    return (struct lpo_rows){ &lpo_tables_kernels, count, of, rows, NULL };
}

bool lpo_tables_open_kernels(const void *of, struct lpo_rows *out)
{
    const lpo_top_rows *top = lpo_analysis_top(((const struct lpo_tables_of *)of)->a, LPO_KERNEL);

    *out = lpo_tables_of_kernels(of, top->at, top->len);
    return true;
}

/* --- operators -------------------------------------------------------------------------------- */

static struct lpo_measure known(double v)
{
    return isfinite(v) ? lpo_measure_computed(v) : lpo_measure_unknown();
}

/* The least time that what was computed and moved takes on the hardware, and what decides it. NaN:
 * one of two roofs is not known, and may be the one that holds. Copies may go over a link: no roof
 * of the GPU is theirs. */
static double roof_seconds(const struct lpo_rows *rows, const struct lpo_operator *o,
                           const char **bound)
{
    const struct lpo_hardware *hw = ((const struct lpo_tables_of *)rows->of)->hw;
    double compute = NAN, memory = NAN;

    *bound = NULL;
    if (!hw || o->copies)
        return NAN;
    if (isfinite(o->cost.flops) && lpo_gpu_hardware_peak(hw, o->cost.math, NULL) > 0)
        compute = o->cost.flops / lpo_gpu_hardware_peak(hw, o->cost.math, NULL);
    if (isfinite(o->cost.bytes) && hw->bandwidth > 0)
        memory = o->cost.bytes / hw->bandwidth;
    if (isfinite(o->cost.flops) && (isnan(compute) || isnan(memory)))
        return NAN;
    if (!isnan(compute) || !isnan(memory))
        *bound = compute > memory ? "compute" : "memory";
    return fmax(compute, memory);
}

static struct lpo_cell roof_share(const struct lpo_rows *rows, const struct lpo_operator *o)
{
    const char *bound;
    double seconds = roof_seconds(rows, o, &bound);

    return isnan(seconds) ? lpo_cell_unknown()
                          : lpo_cell_share(seconds, (double)o->gpu_total_ns / 1e9);
}

static struct lpo_cell bound_cell(const struct lpo_rows *rows, const struct lpo_operator *o)
{
    const char *bound;

    if (o->gpu_total_ns > 0)
        roof_seconds(rows, o, &bound);
    else
        bound = NULL;
    return lpo_cell_text(bound);
}

static struct lpo_cell rate_cell(double amount, int64_t ns)
{
    return lpo_cell_measure(known(ns > 0 ? amount / ((double)ns / 1e9) : NAN));
}

#define OPERATOR(name, value)                                                                      \
    static struct lpo_cell operator_##name(const struct lpo_rows *rows, size_t i)                  \
    {                                                                                              \
        const struct lpo_operator *o = ((const struct lpo_operator *const *)rows->at)[i];          \
        bool gpu = trace_of(rows)->gpu_ops.len > 0;                                                \
        (void)gpu;                                                                                 \
        return value;                                                                              \
    }

OPERATOR(name, name_cell(rows, o->name))
OPERATOR(shapes, name_cell(rows, o->shapes))
OPERATOR(types, name_cell(rows, o->types))
OPERATOR(calls, lpo_cell_count(o->calls))
OPERATOR(host, lpo_cell_whole(o->cpu_total_ns))
OPERATOR(host_self, lpo_cell_whole(o->cpu_self_ns))
OPERATOR(gpu_self, lpo_cell_whole_if(gpu, o->gpu_self_ns))
OPERATOR(gpu_total, lpo_cell_whole_if(gpu, o->gpu_total_ns))
OPERATOR(ops_self, lpo_cell_count(o->gpu_ops_self))
OPERATOR(ops_total, lpo_cell_count(o->gpu_ops_total))
OPERATOR(flops, lpo_cell_measure(known(o->cost.flops / (double)o->calls)))
OPERATOR(bytes, lpo_cell_measure(known(o->cost.bytes / (double)o->calls)))
OPERATOR(flop_rate, rate_cell(o->cost.flops, o->gpu_total_ns))
OPERATOR(byte_rate, rate_cell(o->cost.bytes, o->gpu_total_ns))
OPERATOR(share, roof_share(rows, o))
OPERATOR(bound, bound_cell(rows, o))

static const struct lpo_column operator_columns[] = {
    { "name", "Operator", LPO_CELL_TEXT, .meaning = "of the framework", .get = operator_name,
      .role = LPO_COLUMN_KEY },
    { "shapes", "Input shapes", LPO_CELL_LIST, .meaning = "of its inputs", .get = operator_shapes,
      .role = LPO_COLUMN_KEY },
    { "dtypes", "Types", LPO_CELL_LIST, .meaning = "of its inputs", .get = operator_types,
      .role = LPO_COLUMN_KEY },
    { "calls", "Calls", LPO_CELL_COUNT, .meaning = "with these shapes and types",
      .get = operator_calls, .role = LPO_COLUMN_ADDS },
    { "host_ns", "Host", LPO_CELL_NS, .meaning = "time of the host, operators inside included",
      .get = operator_host, .role = LPO_COLUMN_ADDS },
    { "host_ns_self", "Own host", LPO_CELL_NS, .meaning = "without operators inside",
      .get = operator_host_self, .role = LPO_COLUMN_ADDS },
    { "gpu_ns_self", "GPU self", LPO_CELL_NS, .meaning = "GPU time of what it launched itself",
      .get = operator_gpu_self, .role = LPO_COLUMN_ADDS },
    { "gpu_ns_total", "GPU total", LPO_CELL_NS,
      .meaning = "GPU time of everything launched under it", .get = operator_gpu_total,
      .role = LPO_COLUMN_ADDS },
    { "gpu_operations_self", "GPU operations", LPO_CELL_COUNT, .meaning = "that it launched itself",
      .get = operator_ops_self, .role = LPO_COLUMN_ADDS },
    { "gpu_operations_total", "All GPU operations", LPO_CELL_COUNT, .meaning = "launched under it",
      .get = operator_ops_total, .role = LPO_COLUMN_ADDS },
    { "flops", "FLOPs", LPO_CELL_BYTES, .meaning = "that one call computes",
      .get = operator_flops },
    { "bytes", "Bytes", LPO_CELL_BYTES,
      .meaning = "that one call moves: inputs, weights and "
                 "outputs once",
      .get = operator_bytes },
    { "flops_per_second", "Computed", LPO_CELL_MEASURE, "FLOP/s",
      .meaning = "FLOPs of all calls over their GPU time", .get = operator_flop_rate },
    { "bytes_per_second", "Moved", LPO_CELL_MEASURE, "B/s",
      .meaning = "bytes of all calls over their GPU time", .get = operator_byte_rate },
    { "share_of_roof", "Of the roof", LPO_CELL_PERCENT,
      .meaning = "least time on this hardware over GPU time", .get = operator_share },
    { "bound", "Bound by", LPO_CELL_TEXT,
      .meaning = "what decides that least time: compute or "
                 "memory",
      .get = operator_bound },
};

const struct lpo_table_kind lpo_tables_operators = {
    "operators", "Operators of the framework by input shapes, most GPU time of their own first",
    operator_columns, COUNT(operator_columns)
};

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

bool lpo_tables_open_operators(const void *of, struct lpo_rows *out)
{
    const struct lpo_tables_of *o = of;
    const struct lpo_operators *ops = lpo_analysis_operators(o->a, true);
    const struct lpo_operator **order = lpo_arena_array(o->arena, ops->rows.len + 1, sizeof *order);

    for (size_t i = 0; i < ops->rows.len; i++)
        order[i] = &ops->rows.at[i];
    qsort(order, ops->rows.len, sizeof *order, by_own_time);
    *out = (struct lpo_rows){ &lpo_tables_operators, ops->rows.len, of, order, NULL };
    return true;
}

/* --- steps ------------------------------------------------------------------------------------ */

#define STEP(name, value) LPO_CELL(step_##name, struct lpo_program_step, value)
#define ON_GPU            (r->device != UINT16_MAX)

static struct lpo_cell step_rank_cell(const struct lpo_rows *rows, uint16_t process)
{
    int32_t rank = trace_of(rows)->processes.at[process].rank;

    return lpo_cell_whole_if(rank >= 0, rank);
}

STEP(name, name_cell(rows, r->name))
STEP(number, lpo_cell_whole_if(r->facts.number >= 0, r->facts.number))
STEP(kind, lpo_cell_text(lpo_steps_kind_name(r->facts.kind)))
STEP(process, lpo_cell_whole_if(trace_of(rows)->processes.at[r->process].pid >= 0,
                                trace_of(rows)->processes.at[r->process].pid))
STEP(rank, step_rank_cell(rows, r->process))
STEP(start, lpo_cell_whole(r->start_ns))
STEP(wall, lpo_cell_whole(r->wall_ns))
STEP(host, lpo_cell_whole(r->host_ns))
STEP(gpu, lpo_cell_whole_if(ON_GPU, r->gpu_ns))
STEP(compute, lpo_cell_whole_if(ON_GPU, r->compute_ns))
STEP(communication, lpo_cell_whole_if(ON_GPU, r->exposed_communication_ns))
STEP(copy, lpo_cell_whole_if(ON_GPU, r->exposed_copy_ns))
STEP(idle, lpo_cell_whole_if(ON_GPU, r->idle_ns))
STEP(operations, lpo_cell_count(r->operations))
STEP(requests, lpo_cell_whole_if(r->facts.requests >= 0, r->facts.requests))
STEP(tokens, lpo_cell_whole_if(r->facts.tokens >= 0, r->facts.tokens))
STEP(slow, lpo_cell_whole(r->slow))

static const struct lpo_column step_columns[] = {
    { "name", "Step", LPO_CELL_TEXT, .meaning = "of its range", .get = step_name,
      .role = LPO_COLUMN_KEY },
    { "number", "Number", LPO_CELL_COUNT, .meaning = "that the name gives", .get = step_number,
      .role = LPO_COLUMN_KEY },
    { "kind", "Kind", LPO_CELL_TEXT, .meaning = "step, prefill, decode or mixed", .get = step_kind,
      .role = LPO_COLUMN_KEY },
    { "process", "Process", LPO_CELL_COUNT, .meaning = "number of the process", .get = step_process,
      .role = LPO_COLUMN_KEY },
    { "rank", "Rank", LPO_CELL_COUNT, .meaning = "rank of the process in its job", .get = step_rank,
      .role = LPO_COLUMN_KEY },
    { "start_ns", "Start", LPO_CELL_NS, .meaning = "when it began", .get = step_start },
    { "wall_ns", "Wall time", LPO_CELL_NS,
      .meaning = "to the start of the next step; of the last one to its own end", .get = step_wall,
      .role = LPO_COLUMN_ADDS },
    { "host_ns", "Host", LPO_CELL_NS, .meaning = "how long its range was open", .get = step_host,
      .role = LPO_COLUMN_ADDS },
    { "gpu_ns", "GPU", LPO_CELL_NS, .meaning = "from the first start to the last end of its work",
      .get = step_gpu, .role = LPO_COLUMN_ADDS },
    { "compute_ns", "Compute", LPO_CELL_NS, .meaning = "of it, kernels that are no communication",
      .get = step_compute, .role = LPO_COLUMN_ADDS },
    { "exposed_communication_ns", "Exposed communication", LPO_CELL_NS,
      .meaning = "of it, communication alone", .get = step_communication, .role = LPO_COLUMN_ADDS },
    { "exposed_copy_ns", "Exposed copies", LPO_CELL_NS,
      .meaning = "of it, copies and memsets alone", .get = step_copy, .role = LPO_COLUMN_ADDS },
    { "idle_ns", "Idle", LPO_CELL_NS, .meaning = "of it, nothing", .get = step_idle,
      .role = LPO_COLUMN_ADDS },
    { "gpu_operations", "GPU operations", LPO_CELL_COUNT, .meaning = "that it launched",
      .get = step_operations, .role = LPO_COLUMN_ADDS },
    { "requests", "Requests", LPO_CELL_COUNT, .meaning = "that the name gives",
      .get = step_requests },
    { "tokens", "Tokens", LPO_CELL_COUNT, .meaning = "that the name gives", .get = step_tokens,
      .role = LPO_COLUMN_ADDS },
    { "slow", "Slow", LPO_CELL_FLAG, .meaning = "1: far above the others of its kind",
      .get = step_slow },
};

const struct lpo_table_kind lpo_tables_steps = {
    "steps", "Steps of a training, batches of a server, in order of process and time", step_columns,
    COUNT(step_columns)
};

bool lpo_tables_open_steps(const void *of, struct lpo_rows *out)
{
    const struct lpo_program_steps *s = lpo_analysis_steps(((const struct lpo_tables_of *)of)->a);

    *out = (struct lpo_rows){ .count = s ? s->rows.len : 0, .of = of, .at = s ? s->rows.at : NULL };
    return s != NULL;
}

/* --- wall time -------------------------------------------------------------------------------- */

#define WALL(name, value) LPO_CELL(wall_##name, struct lpo_wall_device, value)

WALL(device, device_cell(rows, r->device))
WALL(rank, device_rank_cell(rows, r->device))
WALL(start, lpo_cell_whole(r->start_ns))
WALL(span, lpo_cell_whole(r->span_ns))
WALL(compute, lpo_cell_whole_if(!r->parts_unknown, r->compute_ns))
WALL(communication, lpo_cell_whole_if(!r->parts_unknown, r->exposed_communication_ns))
WALL(copy, lpo_cell_whole_if(!r->parts_unknown, r->exposed_copy_ns))
WALL(idle, lpo_cell_whole(r->idle_ns))
WALL(blocked, lpo_cell_whole(r->idle[LPO_IDLE_BLOCKED].ns))
WALL(host, lpo_cell_whole(r->idle[LPO_IDLE_HOST].ns))
WALL(queued, lpo_cell_whole(r->idle[LPO_IDLE_QUEUED].ns))
WALL(unknown, lpo_cell_whole(r->idle[LPO_IDLE_UNKNOWN].ns))

static const struct lpo_column wall_columns[] = {
    { "device", "GPU", LPO_CELL_COUNT, .meaning = "number of the GPU", .get = wall_device,
      .role = LPO_COLUMN_KEY },
    { "rank", "Rank", LPO_CELL_COUNT, .meaning = "rank of the process that saw it",
      .get = wall_rank, .role = LPO_COLUMN_KEY },
    { "start_ns", "Start", LPO_CELL_NS, .meaning = "first start of its work", .get = wall_start },
    { "span_ns", "Span", LPO_CELL_NS, .meaning = "first start to last end", .get = wall_span,
      .role = LPO_COLUMN_ADDS },
    { "compute_ns", "Compute", LPO_CELL_NS, .meaning = "a kernel runs that is no communication",
      .get = wall_compute, .role = LPO_COLUMN_ADDS },
    { "exposed_communication_ns", "Exposed communication", LPO_CELL_NS,
      .meaning = "else communication runs", .get = wall_communication, .role = LPO_COLUMN_ADDS },
    { "exposed_copy_ns", "Exposed copies", LPO_CELL_NS, .meaning = "else a copy or memset runs",
      .get = wall_copy, .role = LPO_COLUMN_ADDS },
    { "idle_ns", "Idle", LPO_CELL_NS, .meaning = "else nothing runs", .get = wall_idle,
      .role = LPO_COLUMN_ADDS },
    { "blocked_ns", "Blocked", LPO_CELL_NS, .meaning = "idle: the host waited in a call",
      .get = wall_blocked, .role = LPO_COLUMN_ADDS },
    { "host_ns", "Host", LPO_CELL_NS, .meaning = "idle: the host launched too late",
      .get = wall_host, .role = LPO_COLUMN_ADDS },
    { "queued_ns", "Queued", LPO_CELL_NS,
      .meaning = "idle: launched, but it waited for something else", .get = wall_queued,
      .role = LPO_COLUMN_ADDS },
    { "unknown_ns", "Unknown", LPO_CELL_NS, .meaning = "idle: the trace does not say why",
      .get = wall_unknown, .role = LPO_COLUMN_ADDS },
};

const struct lpo_table_kind lpo_tables_wall = {
    "wall", "Where the wall time of each GPU went, longest span first", wall_columns,
    COUNT(wall_columns)
};

bool lpo_tables_open_wall(const void *of, struct lpo_rows *out)
{
    const struct lpo_wall *w = lpo_analysis_wall(((const struct lpo_tables_of *)of)->a);

    *out = (struct lpo_rows){ .count = w ? w->devices.len : 0,
                              .of = of,
                              .at = w ? w->devices.at : NULL };
    return w != NULL;
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

static struct lpo_cell gap_region_cell(const struct lpo_rows *rows, uint32_t op)
{
    const struct lpo_region_tree *tree = analysis_of(rows)->tree;
    uint32_t leaf = tree->places.at[lpo_region_place(tree, &trace_of(rows)->gpu_ops.at[op])].leaf;

    if (leaf == LPO_NONE)
        return lpo_cell_unknown();
    lpo_region_add_path(tree, leaf, lpo_table_scratch(rows));
    return lpo_cell_scratch(rows);
}

LPO_CELL(gap_device, struct gap, device_cell(rows, r->device))
LPO_CELL(gap_rank, struct gap, device_rank_cell(rows, r->device))
LPO_CELL(gap_start, struct gap, lpo_cell_whole(r->start_ns))
LPO_CELL(gap_ns, struct gap, lpo_cell_whole(r->ns))
LPO_CELL(gap_cause, struct gap, lpo_cell_text(lpo_wall_cause_name(r->cause)))
LPO_CELL(gap_call, struct gap,
         r->call == LPO_NONE ? lpo_cell_unknown()
                             : name_cell(rows, trace_of(rows)->calls.at[r->call].name))
LPO_CELL(gap_op, struct gap, lpo_cell_whole(r->op))
LPO_CELL(gap_region, struct gap, gap_region_cell(rows, r->op))

static const struct lpo_column gap_columns[] = {
    { "device", "GPU", LPO_CELL_COUNT, .meaning = "number of the GPU", .get = gap_device,
      .role = LPO_COLUMN_KEY },
    { "rank", "Rank", LPO_CELL_COUNT, .meaning = "rank of the process that saw it", .get = gap_rank,
      .role = LPO_COLUMN_KEY },
    { "start_ns", "Start", LPO_CELL_NS, .meaning = "when it began", .get = gap_start },
    { "idle_ns", "Length", LPO_CELL_NS, .meaning = "how long nothing ran", .get = gap_ns,
      .role = LPO_COLUMN_ADDS },
    { "cause", "Cause", LPO_CELL_TEXT, .meaning = "blocked, host, queued or unknown",
      .get = gap_cause, .role = LPO_COLUMN_KEY },
    { "call", "Call", LPO_CELL_TEXT,
      .meaning = "call of the launching thread that covers most of it", .get = gap_call,
      .role = LPO_COLUMN_KEY },
    { "next_op", "Next operation", LPO_CELL_COUNT, .meaning = "gpu_ops.id of what ends it",
      .get = gap_op },
    { "region", "Launched from", LPO_CELL_TEXT, .meaning = "path of the region of that operation",
      .get = gap_region, .role = LPO_COLUMN_KEY },
};

const struct lpo_table_kind lpo_tables_gaps = {
    "gaps", "Stretches in which a GPU did nothing, by GPU and time", gap_columns, COUNT(gap_columns)
};

bool lpo_tables_open_gaps(const void *of, struct lpo_rows *out)
{
    const struct lpo_tables_of *o = of;
    gap_rows rows = { 0 };

    if (o->a->trace->gpu_ops.len)
        lpo_wall_each_gap(o->a->tree, NULL, keep_gap, &rows);
    *out = keep_rows(of, rows.at, rows.len, sizeof *rows.at);
    lpo_vec_free(&rows);
    return true;
}

/* --- collectives ------------------------------------------------------------------------------ */

#define COLLECTIVE(name, value) LPO_CELL(collective_##name, struct lpo_collective_row, value)

COLLECTIVE(kind, lpo_cell_text(r->kind))
COLLECTIVE(bytes, lpo_cell_measure(r->bytes))
COLLECTIVE(dtype, name_cell(rows, r->dtype))
COLLECTIVE(ranks, lpo_cell_whole_if(r->ranks > 0, r->ranks))
COLLECTIVE(group, name_cell(rows, r->group))
COLLECTIVE(calls, lpo_cell_count(r->calls))
COLLECTIVE(gpu, lpo_cell_whole(r->ns))
COLLECTIVE(exposed, lpo_cell_whole_if(!r->exposed_unknown, r->exposed_ns))
COLLECTIVE(min, lpo_cell_whole(r->min_ns))
COLLECTIVE(max, lpo_cell_whole(r->max_ns))
COLLECTIVE(rate, lpo_cell_measure(r->rate))
COLLECTIVE(bus_rate, lpo_cell_measure(r->bus_rate))
COLLECTIVE(best_bus_rate, lpo_cell_measure(r->best_bus_rate))

static const struct lpo_column collective_columns[] = {
    { "kind", "Collective", LPO_CELL_TEXT, .meaning = "all-reduce, all-gather …",
      .get = collective_kind, .role = LPO_COLUMN_KEY },
    { "bytes", "Message", LPO_CELL_BYTES, .meaning = "of one message", .get = collective_bytes,
      .role = LPO_COLUMN_KEY },
    { "dtype", "Type", LPO_CELL_TEXT, .meaning = "of its elements", .get = collective_dtype,
      .role = LPO_COLUMN_KEY },
    { "ranks", "Ranks", LPO_CELL_COUNT, .meaning = "of its group", .get = collective_ranks,
      .role = LPO_COLUMN_KEY },
    { "group", "Group", LPO_CELL_TEXT, .meaning = "name of the group", .get = collective_group,
      .role = LPO_COLUMN_KEY },
    { "calls", "Calls", LPO_CELL_COUNT, .meaning = "kernels", .get = collective_calls,
      .role = LPO_COLUMN_ADDS },
    { "gpu_ns", "Time", LPO_CELL_NS, .meaning = "of the kernels, waiting included",
      .get = collective_gpu, .role = LPO_COLUMN_ADDS },
    { "exposed_ns", "Exposed", LPO_CELL_NS, .meaning = "of it with nothing computed on that GPU",
      .get = collective_exposed, .role = LPO_COLUMN_ADDS },
    { "min_ns", "Min", LPO_CELL_NS, .meaning = "shortest call", .get = collective_min,
      .role = LPO_COLUMN_LEAST },
    { "max_ns", "Max", LPO_CELL_NS, .meaning = "longest call", .get = collective_max,
      .role = LPO_COLUMN_MOST },
    { "bytes_per_s", "Algorithm bandwidth", LPO_CELL_MEASURE, "B/s",
      .meaning = "bytes of the messages over the time of the kernels", .get = collective_rate },
    { "bus_bytes_per_s", "Bus bandwidth", LPO_CELL_MEASURE, "B/s",
      .meaning = "the same as it loads the busiest link, as nccl-tests defines it",
      .get = collective_bus_rate },
    { "best_bus_bytes_per_s", "Of the fastest call", LPO_CELL_MEASURE, "B/s",
      .meaning = "bus bandwidth of the fastest call", .get = collective_best_bus_rate },
};

const struct lpo_table_kind lpo_tables_collectives = { "collectives",
                                                       "Collectives by kind, size, type and group",
                                                       collective_columns,
                                                       COUNT(collective_columns) };

bool lpo_tables_open_collectives(const void *of, struct lpo_rows *out)
{
    const struct lpo_wall_collectives *c =
        lpo_analysis_collectives(((const struct lpo_tables_of *)of)->a);

    *out = (struct lpo_rows){ .count = c ? c->rows.len : 0, .of = of, .at = c ? c->rows.at : NULL };
    return c != NULL;
}

/* --- ranks ------------------------------------------------------------------------------------ */

#define RANK(name, value) LPO_CELL(rank_##name, struct lpo_rank_row, value)

RANK(rank, lpo_cell_whole(r->rank))
RANK(offset, lpo_cell_whole_if(r->aligned, r->offset_ns))
RANK(error, lpo_cell_whole_if(r->aligned, r->error_ns))
RANK(collectives, lpo_cell_count(r->collectives))
RANK(matched, lpo_cell_count(r->matched))
RANK(waiting, lpo_cell_whole_if(r->aligned, r->waiting_ns))
RANK(sending, lpo_cell_whole_if(r->aligned, r->sending_ns))
RANK(late, lpo_cell_whole_if(r->aligned, (int64_t)r->late))
RANK(delay, lpo_cell_whole_if(r->aligned, r->delay_ns))

static const struct lpo_column rank_columns[] = {
    { "rank", "Rank", LPO_CELL_COUNT, .meaning = "number of the rank", .get = rank_rank,
      .role = LPO_COLUMN_KEY },
    { "offset_ns", "Clock", LPO_CELL_NS, .meaning = "its clock minus that of the first rank",
      .get = rank_offset },
    { "error_ns", "Error", LPO_CELL_NS, .meaning = "error of that", .get = rank_error },
    { "collectives", "Collectives", LPO_CELL_COUNT, .meaning = "kernels that communicate",
      .get = rank_collectives, .role = LPO_COLUMN_ADDS },
    { "matched", "Matched", LPO_CELL_COUNT, .meaning = "of them with a counterpart elsewhere",
      .get = rank_matched, .role = LPO_COLUMN_ADDS },
    { "waiting_ns", "Waiting", LPO_CELL_NS, .meaning = "in collectives, for other ranks",
      .get = rank_waiting, .role = LPO_COLUMN_ADDS },
    { "sending_ns", "Sending", LPO_CELL_NS, .meaning = "in collectives, when all had come",
      .get = rank_sending, .role = LPO_COLUMN_ADDS },
    { "late", "Last", LPO_CELL_COUNT, .meaning = "collectives to which it came last",
      .get = rank_late, .role = LPO_COLUMN_ADDS },
    { "delay_ns", "Behind", LPO_CELL_NS, .meaning = "after the second to last, summed",
      .get = rank_delay, .role = LPO_COLUMN_ADDS },
};

const struct lpo_table_kind lpo_tables_ranks = { "ranks", "The ranks of a job beside each other",
                                                 rank_columns, COUNT(rank_columns) };

bool lpo_tables_open_ranks(const void *of, struct lpo_rows *out)
{
    const struct lpo_ranks *ranks = lpo_analysis_ranks(((const struct lpo_tables_of *)of)->a);

    *out = (struct lpo_rows){ .count = ranks ? ranks->rows.len : 0,
                              .of = of,
                              .at = ranks ? ranks->rows.at : NULL };
    return ranks != NULL;
}

/* --- metrics ---------------------------------------------------------------------------------- */

/* A metric of a region: numbers are few where the values are. */
struct region_metric {
    uint32_t row, metric;
};

static struct lpo_cell metric_region(const struct lpo_rows *rows, size_t i)
{
    const struct region_metric *m = (const struct region_metric *)rows->at + i;
    const struct lpo_region_scope *s = lpo_analysis_all(analysis_of(rows));

    return path_cell(rows, s, &s->rows.at[m->row]);
}

static struct lpo_cell metric_value(const struct lpo_rows *rows, size_t i)
{
    const struct region_metric *m = (const struct region_metric *)rows->at + i;
    const struct lpo_region_scope *s = lpo_analysis_all(analysis_of(rows));
    const struct lpo_trace *t = trace_of(rows);
    size_t at = (size_t)s->rows.at[m->row].metrics * t->metrics.len + m->metric;

    return lpo_cell_measure(
        known(lpo_region_metric_value(t->metrics.at[m->metric].combine, &s->metric_sums.at[at])));
}

static struct lpo_cell metric_how(const struct lpo_rows *rows, size_t i)
{
    const struct region_metric *m = (const struct region_metric *)rows->at + i;
    const struct lpo_metric *is = &trace_of(rows)->metrics.at[m->metric];

    return lpo_cell_text(is->sampled ? "sampled" : lpo_trace_combine_name(is->combine));
}

LPO_CELL(metric_name, struct region_metric,
         name_cell(rows, trace_of(rows)->metrics.at[r->metric].name))
LPO_CELL(metric_unit, struct region_metric,
         name_cell(rows, trace_of(rows)->metrics.at[r->metric].unit))

static const struct lpo_column metric_columns[] = {
    { "region", "Region", LPO_CELL_TEXT, .meaning = "path of the region", .get = metric_region,
      .role = LPO_COLUMN_KEY },
    { "metric", "Metric", LPO_CELL_TEXT, .meaning = "name of the counter, as the source has it",
      .get = metric_name, .role = LPO_COLUMN_KEY },
    { "value", "Value", LPO_CELL_MEASURE, .meaning = "over all kernels of the region",
      .get = metric_value },
    { "unit", "Unit", LPO_CELL_TEXT, .meaning = "of the value", .get = metric_unit },
    { "how", "How", LPO_CELL_TEXT, .meaning = "how values of kernels were put together, or sampled",
      .get = metric_how },
};

const struct lpo_table_kind lpo_tables_metrics = { "metrics", "Hardware counters by region",
                                                   metric_columns, COUNT(metric_columns) };

bool lpo_tables_open_metrics(const void *of, struct lpo_rows *out)
{
    const struct lpo_tables_of *o = of;
    const struct lpo_region_scope *s = lpo_analysis_all(o->a);
    const size_t width = o->a->trace->metrics.len;
    LPO_VEC(struct region_metric) rows = { 0 };

    for (size_t i = 0; i < s->rows.len; i++)
        for (size_t k = 0; k < width && s->rows.at[i].metrics != LPO_NONE; k++)
            if (s->metric_sums.at[s->rows.at[i].metrics * width + k].weight != 0)
                lpo_vec_push(&rows, (struct region_metric){ (uint32_t)i, (uint32_t)k });
    *out = keep_rows(of, rows.at, rows.len, sizeof *rows.at);
    lpo_vec_free(&rows);
    return true;
}
