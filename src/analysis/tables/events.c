/* SPDX-License-Identifier: Apache-2.0 */
/* The event model as tables: what the host was in, what it launched, what the GPU did. Ids are the
 * numbers of rows, so that tables can be joined. */
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/tables/tables.h"
#include "region/cells.h"
#include "region/classes.h"
#include "region/tree.h"
#include "trace/host.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/str.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const struct lpo_tables_of *from(const struct lpo_rows *rows)
{
    return rows->of;
}

static const struct lpo_trace *trace_of(const struct lpo_rows *rows)
{
    return from(rows)->a->trace;
}

static struct lpo_cell name_cell(const struct lpo_rows *rows, uint32_t name)
{
    const struct lpo_trace *t = trace_of(rows);

    return name == LPO_NONE ? lpo_cell_unknown()
                            : lpo_cell_textn(lpo_trace_text(t, name), lpo_trace_text_len(t, name));
}

/* Also names that are "" where the source gives none. */
static struct lpo_cell given_cell(const struct lpo_rows *rows, uint32_t name)
{
    return name ? name_cell(rows, name) : lpo_cell_unknown();
}

static struct lpo_cell reference_cell(uint32_t row)
{
    return lpo_cell_whole_if(row != LPO_NONE, row);
}

static struct lpo_cell rank_cell(const struct lpo_rows *rows, uint16_t process)
{
    int32_t rank = trace_of(rows)->processes.at[process].rank;

    return lpo_cell_whole_if(rank >= 0, rank);
}

static struct lpo_cell pid_cell(const struct lpo_rows *rows, uint16_t process)
{
    int64_t pid = trace_of(rows)->processes.at[process].pid;

    return lpo_cell_whole_if(pid >= 0, pid);
}

static struct lpo_cell row_id(const struct lpo_rows *rows, size_t row)
{
    (void)rows;
    return lpo_cell_count(row);
}

/* --- slices ----------------------------------------------------------------------------------- */

/* Slices of the kinds, one kind after the other. */
static const enum lpo_host_kind slice_kinds[] = { LPO_HOST_RANGE, LPO_HOST_PYTHON, LPO_HOST_OP,
                                                  LPO_HOST_CALL };

static size_t rows_of(const struct lpo_trace *t, enum lpo_host_kind kind)
{
    switch (kind) {
    case LPO_HOST_RANGE:
        return t->ranges.len;
    case LPO_HOST_PYTHON:
        return t->python.len;
    case LPO_HOST_OP:
        return t->ops.len;
    default:
        return t->calls.len;
    }
}

/* Modules are rows of python, start/end ranges of ranges. */
static struct lpo_slice slice_at(const struct lpo_trace *t, size_t row)
{
    size_t k = 0;
    struct lpo_slice s;

    while (row >= rows_of(t, slice_kinds[k]))
        row -= rows_of(t, slice_kinds[k++]);
    s = lpo_host_slice(t, slice_kinds[k], (uint32_t)row);
    if (slice_kinds[k] == LPO_HOST_RANGE && t->ranges.at[row].kind == LPO_START_END)
        s.kind = LPO_HOST_START_END;
    else if (slice_kinds[k] == LPO_HOST_PYTHON && s.name != LPO_NONE &&
             lpo_str_starts(lpo_trace_text(t, s.name), LPO_MODULE_PREFIX))
        s.kind = LPO_HOST_MODULE;
    return s;
}

static uint32_t slice_id(const struct lpo_trace *t, const struct lpo_slice *s)
{
    unsigned kind = s->kind == LPO_HOST_MODULE      ? LPO_HOST_PYTHON
                    : s->kind == LPO_HOST_START_END ? LPO_HOST_RANGE
                                                    : s->kind;
    size_t before = 0;

    for (size_t k = 0; slice_kinds[k] != kind; k++)
        before += rows_of(t, slice_kinds[k]);
    return (uint32_t)(before + s->row);
}

/* A slice is read column by column: it is looked up for each, which is an index into an array. */
#define SLICE(name, value)                                                                         \
    static struct lpo_cell slice_##name(const struct lpo_rows *rows, size_t row)                   \
    {                                                                                              \
        const struct lpo_trace *t = trace_of(rows);                                                \
        struct lpo_slice s = slice_at(t, row);                                                     \
        (void)t;                                                                                   \
        return value;                                                                              \
    }

static const char *kind_name(unsigned kind)
{
    return kind == LPO_HOST_RANGE       ? "range"
           : kind == LPO_HOST_START_END ? "start_end"
           : kind == LPO_HOST_MODULE    ? "module"
           : kind == LPO_HOST_PYTHON    ? "python"
           : kind == LPO_HOST_OP        ? "operator"
                                        : "call";
}

static struct lpo_cell parent_cell(const struct lpo_trace *t, const struct lpo_slice *s)
{
    struct lpo_slice parent;

    if (s->kind == LPO_HOST_START_END || !lpo_host_parent(t, s, LPO_HOST_SLICES, &parent))
        return lpo_cell_unknown();
    return lpo_cell_whole(slice_id(t, &parent));
}

static struct lpo_cell op_args_cell(const struct lpo_rows *rows, const struct lpo_slice *s,
                                    bool types)
{
    const struct lpo_trace *t = trace_of(rows);
    uint32_t args = s->kind == LPO_HOST_OP ? t->ops.at[s->row].args : LPO_NONE;

    if (args == LPO_NONE)
        return lpo_cell_unknown();
    return name_cell(rows, types ? t->op_args.at[args].types : t->op_args.at[args].dims);
}

SLICE(start_ns, lpo_cell_whole(s.start_ns))
SLICE(end_ns, lpo_cell_whole(s.end_ns))
SLICE(name, name_cell(rows, s.name))
SLICE(kind, lpo_cell_text(kind_name(s.kind)))
SLICE(thread, lpo_cell_whole_if(s.thread != LPO_NONE, t->threads.at[s.thread].tid))
SLICE(process,
      s.thread == LPO_NONE ? lpo_cell_unknown() : pid_cell(rows, t->threads.at[s.thread].process))
SLICE(rank,
      s.thread == LPO_NONE ? lpo_cell_unknown() : rank_cell(rows, t->threads.at[s.thread].process))
SLICE(parent, parent_cell(t, &s))
SLICE(domain, s.kind &(LPO_HOST_RANGE | LPO_HOST_START_END)
                  ? name_cell(rows, t->domains.at[t->ranges.at[s.row].domain])
                  : lpo_cell_unknown())
SLICE(shapes, op_args_cell(rows, &s, false))
SLICE(dtypes, op_args_cell(rows, &s, true))

static const struct lpo_column slice_columns[] = {
    { "id", "Id", LPO_CELL_COUNT, .meaning = "number of the row", .get = row_id,
      .role = LPO_COLUMN_KEY },
    { "start_ns", "Start", LPO_CELL_NS, .meaning = "when it began, on the clock of the trace",
      .get = slice_start_ns },
    { "end_ns", "End", LPO_CELL_NS,
      .meaning = "when it ended; a range that was never closed ends "
                 "with its process",
      .get = slice_end_ns },
    { "name", "Name", LPO_CELL_TEXT, .meaning = "of the range, operator, function or call",
      .get = slice_name },
    { "kind", "Kind", LPO_CELL_TEXT,
      .meaning = "range, start_end, module, python, operator or call (of the CUDA or HIP API)",
      .get = slice_kind },
    { "thread", "Thread", LPO_CELL_COUNT, .meaning = "number of the thread", .get = slice_thread,
      .role = LPO_COLUMN_KEY },
    { "process", "Process", LPO_CELL_COUNT, .meaning = "number of the process",
      .get = slice_process, .role = LPO_COLUMN_KEY },
    { "rank", "Rank", LPO_CELL_COUNT, .meaning = "rank of the process in its job",
      .get = slice_rank, .role = LPO_COLUMN_KEY },
    { "parent", "Parent", LPO_CELL_COUNT,
      .meaning = "slices.id of the innermost slice of any kind that it lies in",
      .get = slice_parent },
    { "domain", "Domain", LPO_CELL_TEXT, .meaning = "NVTX domain of a range; '' is the default one",
      .get = slice_domain },
    { "shapes", "Shapes", LPO_CELL_LIST, .meaning = "input shapes of an operator",
      .get = slice_shapes },
    { "dtypes", "Types", LPO_CELL_LIST, .meaning = "input types of an operator",
      .get = slice_dtypes },
};

const struct lpo_table_kind lpo_tables_slices = {
    "slices", "What host threads were in: ranges, operators, modules, Python functions, API calls",
    slice_columns, COUNT(slice_columns)
};

bool lpo_tables_open_slices(const void *of, struct lpo_rows *out)
{
    const struct lpo_tables_of *o = of;
    size_t count = 0;

    for (size_t k = 0; k < COUNT(slice_kinds); k++)
        count += rows_of(o->a->trace, slice_kinds[k]);
    *out = (struct lpo_rows){ .count = count, .of = of };
    return true;
}

/* --- launches --------------------------------------------------------------------------------- */

static struct lpo_cell launch_slice(const struct lpo_rows *rows, size_t row)
{
    struct lpo_slice s;

    /* the innermost that is no call: the call is the launch itself */
    if (!lpo_host_around(trace_of(rows), (uint32_t)row, LPO_HOST_SLICES & ~LPO_HOST_CALL, &s))
        return lpo_cell_unknown();
    return lpo_cell_whole(slice_id(trace_of(rows), &s));
}

static struct lpo_cell place_cell(const struct lpo_rows *rows, uint32_t place)
{
    const struct lpo_region_tree *tree = from(rows)->a->tree;
    uint32_t leaf = place == LPO_NONE ? LPO_NONE : tree->places.at[place].leaf;

    if (leaf == LPO_NONE)
        return lpo_cell_unknown();
    lpo_region_add_path(tree, leaf, lpo_table_scratch(rows));
    return lpo_cell_scratch(rows);
}

static struct lpo_cell launch_region(const struct lpo_rows *rows, size_t row)
{
    const struct lpo_region_tree *tree = from(rows)->a->tree;

    return place_cell(rows, tree->launch_place ? tree->launch_place[row] : LPO_NONE);
}

LPO_CELL(launch_start_ns, struct lpo_launch, lpo_cell_whole(r->start_ns))
LPO_CELL(launch_end_ns, struct lpo_launch, lpo_cell_whole(r->end_ns))
LPO_CELL(launch_thread, struct lpo_launch,
         lpo_cell_whole(trace_of(rows)->threads.at[r->thread].tid))
LPO_CELL(launch_process, struct lpo_launch,
         pid_cell(rows, trace_of(rows)->threads.at[r->thread].process))

static const struct lpo_column launch_columns[] = {
    { "id", "Id", LPO_CELL_COUNT, .meaning = "number of the row", .get = row_id,
      .role = LPO_COLUMN_KEY },
    { "start_ns", "Start", LPO_CELL_NS, .meaning = "when the call began", .get = launch_start_ns },
    { "end_ns", "End", LPO_CELL_NS, .meaning = "when the call returned", .get = launch_end_ns },
    { "thread", "Thread", LPO_CELL_COUNT, .meaning = "number of the launching thread",
      .get = launch_thread, .role = LPO_COLUMN_KEY },
    { "process", "Process", LPO_CELL_COUNT, .meaning = "number of the process",
      .get = launch_process, .role = LPO_COLUMN_KEY },
    { "slice", "Slice", LPO_CELL_COUNT,
      .meaning = "slices.id of the innermost range, operator or function around it",
      .get = launch_slice },
    { "region", "Region", LPO_CELL_TEXT, .meaning = "path of the push/pop ranges around it",
      .get = launch_region, .role = LPO_COLUMN_KEY },
};

const struct lpo_table_kind lpo_tables_launches = {
    "launches", "Calls of the host that started GPU operations; a CUDA graph is one of them",
    launch_columns, COUNT(launch_columns)
};

bool lpo_tables_open_launches(const void *of, struct lpo_rows *out)
{
    const struct lpo_trace *t = ((const struct lpo_tables_of *)of)->a->trace;

    *out = (struct lpo_rows){ .count = t->launches.len, .of = of, .at = t->launches.at };
    return true;
}

/* --- GPU operations --------------------------------------------------------------------------- */

static const char *const gpu_op_kinds[] = {
    [LPO_KERNEL] = "kernel", [LPO_COPY] = "copy", [LPO_MEMSET] = "memset"
};

static struct lpo_cell grid_cell(const struct lpo_rows *rows, const struct lpo_gpu_op *o,
                                 bool block)
{
    const struct lpo_shape *s = o->shape == LPO_NONE ? NULL : &trace_of(rows)->shapes.at[o->shape];
    const uint32_t *side = !s ? NULL : block ? s->block : s->grid;

    if (!s || side[0] == LPO_NONE)
        return lpo_cell_unknown();
    lpo_str_addf(lpo_table_scratch(rows), "[%u,%u,%u]", side[0], side[1], side[2]);
    return lpo_cell_scratch(rows);
}

static struct lpo_cell class_cell(const struct lpo_rows *rows, const struct lpo_gpu_op *o)
{
    if (o->kind != LPO_KERNEL)
        return lpo_cell_unknown();
    return lpo_cell_text(
        lpo_region_class_name(lpo_region_tree_class(from(rows)->a->tree, o->name)));
}

#define TIMED(r)  (!((r)->flags & LPO_GPU_OP_UNTIMED))
#define LASTED(r) (!((r)->flags & LPO_GPU_OP_NO_LENGTH))

LPO_CELL(op_start_ns, struct lpo_gpu_op, lpo_cell_whole_if(TIMED(r), r->start_ns))
LPO_CELL(op_end_ns, struct lpo_gpu_op, lpo_cell_whole_if(TIMED(r), r->end_ns))
LPO_CELL(op_gpu_ns, struct lpo_gpu_op, lpo_cell_whole_if(LASTED(r), r->end_ns - r->start_ns))
LPO_CELL(op_kind, struct lpo_gpu_op, lpo_cell_text(gpu_op_kinds[r->kind]))
LPO_CELL(op_name, struct lpo_gpu_op, name_cell(rows, r->name))
LPO_CELL(op_linker, struct lpo_gpu_op, given_cell(rows, r->linker))
LPO_CELL(op_class, struct lpo_gpu_op, class_cell(rows, r))
LPO_CELL(op_device, struct lpo_gpu_op, lpo_cell_whole(trace_of(rows)->devices.at[r->device].id))
LPO_CELL(op_stream, struct lpo_gpu_op, lpo_cell_whole(r->stream))
LPO_CELL(op_bytes, struct lpo_gpu_op, lpo_cell_whole_if(r->kind != LPO_KERNEL, (int64_t)r->bytes))
LPO_CELL(op_process, struct lpo_gpu_op, pid_cell(rows, r->process))
LPO_CELL(op_rank, struct lpo_gpu_op, rank_cell(rows, r->process))
LPO_CELL(op_launch, struct lpo_gpu_op, reference_cell(r->launch))
LPO_CELL(op_region, struct lpo_gpu_op, place_cell(rows, lpo_region_place(from(rows)->a->tree, r)))
LPO_CELL(op_graph, struct lpo_gpu_op, lpo_cell_whole((r->flags & LPO_GPU_OP_GRAPH) != 0))
LPO_CELL(op_grid, struct lpo_gpu_op, grid_cell(rows, r, false))
LPO_CELL(op_block, struct lpo_gpu_op, grid_cell(rows, r, true))

static const struct lpo_column op_columns[] = {
    { "id", "Id", LPO_CELL_COUNT, .meaning = "number of the row", .get = row_id,
      .role = LPO_COLUMN_KEY },
    { "start_ns", "Start", LPO_CELL_NS,
      .meaning = "when it began; null where the source gives durations alone (ncu)",
      .get = op_start_ns },
    { "end_ns", "End", LPO_CELL_NS, .meaning = "when it ended", .get = op_end_ns },
    { "gpu_ns", "GPU time", LPO_CELL_NS, .meaning = "how long it took", .get = op_gpu_ns,
      .role = LPO_COLUMN_ADDS },
    { "kind", "Kind", LPO_CELL_TEXT, .meaning = "kernel, copy or memset", .get = op_kind },
    { "name", "Name", LPO_CELL_TEXT, .meaning = "of a kernel as the source prints it",
      .get = op_name, .role = LPO_COLUMN_KEY },
    { "linker", "Linker name", LPO_CELL_TEXT, .meaning = "mangled name, the same in every source",
      .get = op_linker },
    { "class", "Class", LPO_CELL_TEXT,
      .meaning = "what kind of computation a kernel does, by its "
                 "name",
      .get = op_class, .role = LPO_COLUMN_KEY },
    { "device", "GPU", LPO_CELL_COUNT, .meaning = "number of the GPU, as the source counts them",
      .get = op_device, .role = LPO_COLUMN_KEY },
    { "stream", "Stream", LPO_CELL_COUNT, .meaning = "number of the stream", .get = op_stream,
      .role = LPO_COLUMN_KEY },
    { "bytes", "Bytes", LPO_CELL_BYTES, .meaning = "that a copy moved or a memset wrote",
      .get = op_bytes, .role = LPO_COLUMN_ADDS },
    { "process", "Process", LPO_CELL_COUNT, .meaning = "number of the process", .get = op_process,
      .role = LPO_COLUMN_KEY },
    { "rank", "Rank", LPO_CELL_COUNT, .meaning = "rank of the process in its job", .get = op_rank,
      .role = LPO_COLUMN_KEY },
    { "launch", "Launch", LPO_CELL_COUNT,
      .meaning = "launches.id of the call that started it; null without a launch record",
      .get = op_launch },
    { "region", "Region", LPO_CELL_TEXT, .meaning = "path of the region it belongs to",
      .get = op_region, .role = LPO_COLUMN_KEY },
    { "graph", "CUDA graph", LPO_CELL_FLAG, .meaning = "1: it was launched by a CUDA graph",
      .get = op_graph },
    { "grid", "Grid", LPO_CELL_LIST, .meaning = "blocks of the launch", .get = op_grid },
    { "block", "Block", LPO_CELL_LIST, .meaning = "threads of a block", .get = op_block },
};

const struct lpo_table_kind lpo_tables_gpu_ops = { "gpu_ops",
                                                   "What GPUs did: kernels, copies, memsets",
                                                   op_columns, COUNT(op_columns) };

bool lpo_tables_open_gpu_ops(const void *of, struct lpo_rows *out)
{
    const struct lpo_trace *t = ((const struct lpo_tables_of *)of)->a->trace;

    *out = (struct lpo_rows){ .count = t->gpu_ops.len, .of = of, .at = t->gpu_ops.at };
    return true;
}

/* --- memory ----------------------------------------------------------------------------------- */

static struct lpo_cell owner_cell(const struct lpo_rows *rows, const struct lpo_memory_event *e,
                                  bool place)
{
    const struct lpo_memory_owner *o =
        e->owner == LPO_NONE ? NULL : &trace_of(rows)->memory_owners.at[e->owner];

    return o ? name_cell(rows, place ? o->place : o->op) : lpo_cell_unknown();
}

static const struct lpo_device *gpu_of(const struct lpo_rows *rows,
                                       const struct lpo_memory_event *e)
{
    const struct lpo_trace *t = trace_of(rows);

    return &t->devices.at[t->allocators.at[e->allocator].device];
}

LPO_CELL(memory_ns, struct lpo_memory_event, lpo_cell_whole(r->ns))
LPO_CELL(memory_bytes, struct lpo_memory_event, lpo_cell_whole(r->bytes))
LPO_CELL(memory_allocated, struct lpo_memory_event,
         lpo_cell_whole_if(r->allocated != LPO_NO_TIME, r->allocated))
LPO_CELL(memory_reserved, struct lpo_memory_event,
         lpo_cell_whole_if(r->reserved != LPO_NO_TIME, r->reserved))
LPO_CELL(memory_address, struct lpo_memory_event, lpo_cell_whole((int64_t)r->address))
LPO_CELL(memory_device, struct lpo_memory_event, lpo_cell_whole(gpu_of(rows, r)->id))
LPO_CELL(memory_place, struct lpo_memory_event, owner_cell(rows, r, true))
LPO_CELL(memory_op, struct lpo_memory_event, owner_cell(rows, r, false))

static const struct lpo_column memory_columns[] = {
    { "id", "Id", LPO_CELL_COUNT, .meaning = "number of the row", .get = row_id,
      .role = LPO_COLUMN_KEY },
    { "ns", "Time", LPO_CELL_NS, .meaning = "when it happened", .get = memory_ns },
    { "bytes", "Bytes", LPO_CELL_BYTES, .meaning = "allocated; below 0: freed", .get = memory_bytes,
      .role = LPO_COLUMN_ADDS },
    { "allocated_bytes", "Allocated", LPO_CELL_BYTES, .meaning = "in use on the GPU after it",
      .get = memory_allocated },
    { "reserved_bytes", "Reserved", LPO_CELL_BYTES,
      .meaning = "held by the allocator on the GPU after it", .get = memory_reserved },
    { "address", "Address", LPO_CELL_COUNT, .meaning = "of the block", .get = memory_address },
    { "device", "GPU", LPO_CELL_COUNT, .meaning = "number of the GPU", .get = memory_device,
      .role = LPO_COLUMN_KEY },
    { "place", "Allocated by", LPO_CELL_TEXT,
      .meaning = "innermost frame outside of the framework, where the source has stacks",
      .get = memory_place },
    { "operator", "Operator", LPO_CELL_TEXT, .meaning = "that allocated it", .get = memory_op },
};

const struct lpo_table_kind lpo_tables_memory = {
    "memory", "What the allocator of a framework did, in the order in which it happened",
    memory_columns, COUNT(memory_columns)
};

bool lpo_tables_open_memory(const void *of, struct lpo_rows *out)
{
    const struct lpo_trace *t = ((const struct lpo_tables_of *)of)->a->trace;

    *out = (struct lpo_rows){ .count = t->memory_events.len, .of = of, .at = t->memory_events.at };
    return true;
}

/* --- flight recorders ------------------------------------------------------------------------- */

static const struct lpo_flight_group *flight_group(const struct lpo_rows *rows,
                                                   const struct lpo_flight_call *c)
{
    return &trace_of(rows)->flight_groups.at[c->group];
}

static struct lpo_cell moment_cell(int64_t ns)
{
    return lpo_cell_whole_if(ns != LPO_NO_TIME, ns);
}

static struct lpo_cell state_cell(const struct lpo_flight_call *c)
{
    static const char *const states[] = { "scheduled", "started", "completed" };

    return lpo_cell_text(states[c->state]);
}

#define FLIGHT(name, value) LPO_CELL(flight_##name, struct lpo_flight_call, value)

FLIGHT(rank, lpo_cell_whole_if(flight_group(rows, r)->rank >= 0, flight_group(rows, r)->rank))
FLIGHT(group_name, name_cell(rows, flight_group(rows, r)->name))
FLIGHT(number, lpo_cell_whole_if(r->number >= 0, r->number))
FLIGHT(call, name_cell(rows, r->name))
FLIGHT(p2p, lpo_cell_whole(r->p2p))
FLIGHT(state, state_cell(r))
FLIGHT(created, moment_cell(r->created_ns))
FLIGHT(started, moment_cell(r->started_ns))
FLIGHT(ended, moment_cell(r->ended_ns))
FLIGHT(sizes, name_cell(rows, r->sizes))
FLIGHT(types, name_cell(rows, r->types))
FLIGHT(place, name_cell(rows, r->place))

static const struct lpo_column flight_columns[] = {
    { "id", "Id", LPO_CELL_COUNT, .meaning = "number of the row", .get = row_id,
      .role = LPO_COLUMN_KEY },
    { "rank", "Rank", LPO_CELL_COUNT, .meaning = "that called it", .get = flight_rank,
      .role = LPO_COLUMN_KEY },
    { "group", "Group", LPO_CELL_TEXT, .meaning = "of ranks", .get = flight_group_name,
      .role = LPO_COLUMN_KEY },
    { "number", "Number", LPO_CELL_COUNT, .meaning = "counted in its group, equal on all ranks",
      .get = flight_number, .role = LPO_COLUMN_KEY },
    { "call", "Call", LPO_CELL_TEXT, .meaning = "all_reduce and others", .get = flight_call },
    { "message", "Message", LPO_CELL_FLAG, .meaning = "between two ranks: counted apart",
      .get = flight_p2p },
    { "state", "State", LPO_CELL_TEXT, .meaning = "scheduled, started or completed",
      .get = flight_state },
    { "created_ns", "Called", LPO_CELL_NS, .meaning = "when the host called it",
      .get = flight_created },
    { "started_ns", "Started", LPO_CELL_NS, .meaning = "when that was noticed",
      .get = flight_started },
    { "completed_ns", "Completed", LPO_CELL_NS, .meaning = "when that was noticed",
      .get = flight_ended },
    { "sizes", "Sizes", LPO_CELL_TEXT, .meaning = "of its inputs", .get = flight_sizes },
    { "types", "Types", LPO_CELL_TEXT, .meaning = "of its inputs", .get = flight_types },
    { "place", "Place", LPO_CELL_TEXT,
      .meaning = "innermost frame outside of the framework, where stacks were recorded",
      .get = flight_place },
};

const struct lpo_table_kind lpo_tables_flight = {
    "flight", "Collectives of each rank, by the flight recorders of NCCL", flight_columns,
    COUNT(flight_columns)
};

bool lpo_tables_open_flight(const void *of, struct lpo_rows *out)
{
    const struct lpo_trace *t = ((const struct lpo_tables_of *)of)->a->trace;

    *out = (struct lpo_rows){ .count = t->flight_calls.len, .of = of, .at = t->flight_calls.at };
    return true;
}
