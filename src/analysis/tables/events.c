/* SPDX-License-Identifier: Apache-2.0 */
/* The event model as tables: what the host was in, what it launched, what the GPU did. Ids are the
 * numbers of rows, so that tables can be joined. */

#include "analysis/analysis.h"
#include "analysis/tables/tables.h"
#include "trace/host.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* Also names that are "" where the source gives none. */
static struct lpo_cell given_cell(const struct lpo_rows *rows, uint32_t name)
{
    return name ? lpo_tables_name(rows, name) : lpo_cell_unknown();
}

/* --- slices ----------------------------------------------------------------------------------- */

/* Slices of the kinds, one kind after the other. */
static const enum lpo_host_kind slice_kinds[] = { LPO_HOST_RANGE, LPO_HOST_PYTHON, LPO_HOST_OP,
                                                  LPO_HOST_CALL };

/* A source names all of its launches or none, which are no calls then. */
static size_t first_call(const struct lpo_trace *t)
{
    return t->launches.len && !t->launches.at[0].name ? t->launches.len : 0;
}

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
        return lpo_trace_call_count(t) - first_call(t);
    }
}

/* Modules are rows of python, start/end ranges of ranges. */
static struct lpo_slice slice_at(const struct lpo_trace *t, size_t row)
{
    size_t k = 0;
    struct lpo_slice s;

    while (row >= rows_of(t, slice_kinds[k]))
        row -= rows_of(t, slice_kinds[k++]);
    if (slice_kinds[k] == LPO_HOST_CALL)
        row += first_call(t);
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
    return (uint32_t)(before + s->row - (kind == LPO_HOST_CALL ? first_call(t) : 0));
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
    const struct lpo_trace *t = lpo_tables_trace(rows);
    uint32_t args = s->kind == LPO_HOST_OP ? t->ops.at[s->row].args : LPO_NONE;

    if (args == LPO_NONE)
        return lpo_cell_unknown();
    return lpo_tables_name(rows, types ? t->op_args.at[args].types : t->op_args.at[args].dims);
}

/* A slice is read column by column: it is looked up for each, which is an index into an array. */
static struct lpo_slice slice_of(const struct lpo_rows *rows, size_t row)
{
    return slice_at(lpo_tables_trace(rows), row);
}

#define SLICE(X)                                                                                   \
    X(slice, id, "Id", COUNT, KEY, "number of the row", i)                                         \
    X(slice, start_ns, "Start", NS, FACT, "when it began, on the clock of the trace", r.start_ns)  \
    X(slice, end_ns, "End", NS, FACT,                                                              \
      "when it ended; a range that was never closed ends with its process", r.end_ns)              \
    X(slice, name, "Name", TEXT, FACT, "of the range, operator, function or call",                 \
      lpo_tables_name(rows, r.name))                                                               \
    X(slice, kind, "Kind", TEXT, FACT,                                                             \
      "range, start_end, module, python, operator or call (of the CUDA or HIP API)",               \
      kind_name(r.kind))                                                                           \
    X(slice, thread, "Thread", COUNT, KEY, "number of the thread",                                 \
      lpo_cell_whole_if(r.thread != LPO_NONE, lpo_tables_trace(rows)->threads.at[r.thread].tid))   \
    X(slice, process, "Process", COUNT, KEY, "number of the process",                              \
      r.thread == LPO_NONE                                                                         \
          ? lpo_cell_unknown()                                                                     \
          : lpo_tables_pid(rows, lpo_tables_trace(rows)->threads.at[r.thread].process))            \
    X(slice, rank, "Rank", COUNT, KEY, "rank of the process in its job",                           \
      r.thread == LPO_NONE                                                                         \
          ? lpo_cell_unknown()                                                                     \
          : lpo_tables_rank(rows, lpo_tables_trace(rows)->threads.at[r.thread].process))           \
    X(slice, parent, "Parent", COUNT, FACT,                                                        \
      "slices.id of the innermost slice of any kind that it lies in",                              \
      parent_cell(lpo_tables_trace(rows), &r))                                                     \
    X(slice, domain, "Domain", TEXT, FACT, "NVTX domain of a range; '' is the default one",        \
      r.kind &(LPO_HOST_RANGE | LPO_HOST_START_END)                                                \
          ? lpo_tables_name(rows,                                                                  \
                            lpo_tables_trace(rows)                                                 \
                                ->domains.at[lpo_tables_trace(rows)->ranges.at[r.row].domain])     \
          : lpo_cell_unknown())                                                                    \
    X(slice, shapes, "Shapes", LIST, FACT, "input shapes of an operator",                          \
      op_args_cell(rows, &r, false))                                                               \
    X(slice, dtypes, "Types", LIST, FACT, "input types of an operator",                            \
      op_args_cell(rows, &r, true))

LPO_TABLE_OF(slice, SLICE)

const struct lpo_table_kind lpo_tables_slices = LPO_TABLE_KIND(
    slice, "slices",
    "What host threads were in: ranges, operators, modules, Python functions, API calls");

struct lpo_rows lpo_tables_open_slices(const void *of)
{
    const struct lpo_tables_of *o = of;
    size_t count = 0;

    for (size_t k = 0; k < COUNT(slice_kinds); k++)
        count += rows_of(o->a->trace, slice_kinds[k]);
    return lpo_tables_rows(of, &lpo_tables_slices, NULL, count);
}

/* --- launches --------------------------------------------------------------------------------- */

static struct lpo_cell launch_slice(const struct lpo_rows *rows, size_t row)
{
    struct lpo_slice s;

    /* the innermost that is no call: the call is the launch itself */
    if (!lpo_host_around(lpo_tables_trace(rows), (uint32_t)row, LPO_HOST_SLICES & ~LPO_HOST_CALL,
                         &s))
        return lpo_cell_unknown();
    return lpo_cell_whole(slice_id(lpo_tables_trace(rows), &s));
}

static struct lpo_cell launch_region(const struct lpo_rows *rows, size_t row)
{
    const struct lpo_region_tree *tree = lpo_tables_analysis(rows)->tree;

    return lpo_tables_region_of(rows, tree->launch_place ? tree->launch_place[row] : LPO_NONE);
}

typedef struct lpo_launch launch_row;

#define LAUNCH(X)                                                                                  \
    X(launch, id, "Id", COUNT, KEY, "number of the row", i)                                        \
    X(launch, start_ns, "Start", NS, FACT, "when the call began", r->start_ns)                     \
    X(launch, end_ns, "End", NS, FACT, "when the call returned", r->end_ns)                        \
    X(launch, thread, "Thread", COUNT, KEY, "number of the launching thread",                      \
      lpo_tables_trace(rows)->threads.at[r->thread].tid)                                           \
    X(launch, process, "Process", COUNT, KEY, "number of the process",                             \
      lpo_tables_pid(rows, lpo_tables_trace(rows)->threads.at[r->thread].process))                 \
    X(launch, slice, "Slice", COUNT, FACT,                                                         \
      "slices.id of the innermost range, operator or function around it", launch_slice(rows, i))   \
    X(launch, region, "Region", TEXT, KEY, "path of the push/pop ranges around it",                \
      launch_region(rows, i))

LPO_TABLE(launch, LAUNCH)

const struct lpo_table_kind lpo_tables_launches =
    LPO_TABLE_KIND(launch, "launches",
                   "Calls of the host that started GPU operations; a CUDA graph is one of them");

struct lpo_rows lpo_tables_open_launches(const void *of)
{
    const struct lpo_trace *t = ((const struct lpo_tables_of *)of)->a->trace;

    return lpo_tables_rows(of, &lpo_tables_launches, t->launches.at, t->launches.len);
}

/* --- GPU operations --------------------------------------------------------------------------- */

static const char *const gpu_op_kinds[] = {
    [LPO_KERNEL] = "kernel", [LPO_COPY] = "copy", [LPO_MEMSET] = "memset"
};

static struct lpo_cell grid_cell(const struct lpo_rows *rows, const struct lpo_gpu_op *o,
                                 bool block)
{
    const struct lpo_shape *s =
        o->shape == LPO_NONE ? NULL : &lpo_tables_trace(rows)->shapes.at[o->shape];
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
        lpo_region_class_name(lpo_region_tree_class(lpo_tables_analysis(rows)->tree, o->name)));
}

#define TIMED(r)  (!((r)->flags & LPO_GPU_OP_UNTIMED))
#define LASTED(r) (!((r)->flags & LPO_GPU_OP_NO_LENGTH))

typedef struct lpo_gpu_op op_row;

#define OP(X)                                                                                      \
    X(op, id, "Id", COUNT, KEY, "number of the row", i)                                            \
    X(op, start_ns, "Start", NS, FACT,                                                             \
      "when it began; null where the source gives durations alone (ncu)",                          \
      lpo_cell_whole_if(TIMED(r), r->start_ns))                                                    \
    X(op, end_ns, "End", NS, FACT, "when it ended", lpo_cell_whole_if(TIMED(r), r->end_ns))        \
    X(op, gpu_ns, "GPU time", NS, ADDS, "how long it took",                                        \
      lpo_cell_whole_if(LASTED(r), r->end_ns - r->start_ns))                                       \
    X(op, kind, "Kind", TEXT, FACT, "kernel, copy or memset", gpu_op_kinds[r->kind])               \
    X(op, name, "Name", TEXT, KEY, "of a kernel as the source prints it",                          \
      lpo_tables_name(rows, r->name))                                                              \
    X(op, linker, "Linker name", TEXT, FACT, "mangled name, the same in every source",             \
      given_cell(rows, r->linker))                                                                 \
    X(op, class, "Class", TEXT, KEY, "what kind of computation a kernel does, by its name",        \
      class_cell(rows, r))                                                                         \
    X(op, device, "GPU", COUNT, KEY, "number of the GPU, as the source counts them",               \
      lpo_tables_trace(rows)->devices.at[r->device].id)                                            \
    X(op, stream, "Stream", COUNT, KEY, "number of the stream", r->stream)                         \
    X(op, bytes, "Bytes", BYTES, ADDS, "that a copy moved or a memset wrote",                      \
      lpo_cell_whole_if(r->kind != LPO_KERNEL, (int64_t)r->bytes))                                 \
    X(op, process, "Process", COUNT, KEY, "number of the process",                                 \
      lpo_tables_pid(rows, r->process))                                                            \
    X(op, rank, "Rank", COUNT, KEY, "rank of the process in its job",                              \
      lpo_tables_rank(rows, r->process))                                                           \
    X(op, launch, "Launch", COUNT, FACT,                                                           \
      "launches.id of the call that started it; null without a launch record",                     \
      lpo_cell_whole_if(r->launch != LPO_NONE, r->launch))                                         \
    X(op, region, "Region", TEXT, KEY, "path of the region it belongs to",                         \
      lpo_tables_region_of(rows, lpo_region_place(lpo_tables_analysis(rows)->tree, r)))            \
    X(op, graph, "CUDA graph", FLAG, FACT, "1: it was launched by a CUDA graph",                   \
      (r->flags & LPO_GPU_OP_GRAPH) != 0)                                                          \
    X(op, grid, "Grid", LIST, FACT, "blocks of the launch", grid_cell(rows, r, false))             \
    X(op, block, "Block", LIST, FACT, "threads of a block", grid_cell(rows, r, true))

LPO_TABLE(op, OP)

const struct lpo_table_kind lpo_tables_gpu_ops =
    LPO_TABLE_KIND(op, "gpu_ops", "What GPUs did: kernels, copies, memsets");

struct lpo_rows lpo_tables_open_gpu_ops(const void *of)
{
    const struct lpo_trace *t = ((const struct lpo_tables_of *)of)->a->trace;

    return lpo_tables_rows(of, &lpo_tables_gpu_ops, t->gpu_ops.at, t->gpu_ops.len);
}

/* --- memory ----------------------------------------------------------------------------------- */

static struct lpo_cell owner_cell(const struct lpo_rows *rows, const struct lpo_memory_event *e,
                                  bool place)
{
    const struct lpo_memory_owner *o =
        e->owner == LPO_NONE ? NULL : &lpo_tables_trace(rows)->memory_owners.at[e->owner];

    return o ? lpo_tables_name(rows, place ? o->place : o->op) : lpo_cell_unknown();
}

static const struct lpo_device *gpu_of(const struct lpo_rows *rows,
                                       const struct lpo_memory_event *e)
{
    const struct lpo_trace *t = lpo_tables_trace(rows);

    return &t->devices.at[t->allocators.at[e->allocator].device];
}

typedef struct lpo_memory_event memory_row;

#define MEMORY(X)                                                                                  \
    X(memory, id, "Id", COUNT, KEY, "number of the row", i)                                        \
    X(memory, ns, "Time", NS, FACT, "when it happened", r->ns)                                     \
    X(memory, bytes, "Bytes", BYTES, ADDS, "allocated; below 0: freed", r->bytes)                  \
    X(memory, allocated_bytes, "Allocated", BYTES, FACT, "in use on the GPU after it",             \
      lpo_cell_whole_if(r->allocated != LPO_NO_TIME, r->allocated))                                \
    X(memory, reserved_bytes, "Reserved", BYTES, FACT,                                             \
      "held by the allocator on the GPU after it",                                                 \
      lpo_cell_whole_if(r->reserved != LPO_NO_TIME, r->reserved))                                  \
    X(memory, address, "Address", COUNT, FACT, "of the block", (int64_t)r->address)                \
    X(memory, device, "GPU", COUNT, KEY, "number of the GPU", gpu_of(rows, r)->id)                 \
    X(memory, place, "Allocated by", TEXT, FACT,                                                   \
      "innermost frame outside of the framework, where the source has stacks",                     \
      owner_cell(rows, r, true))                                                                   \
    X(memory, operator, "Operator", TEXT, FACT, "that allocated it", owner_cell(rows, r, false))

LPO_TABLE(memory, MEMORY)

const struct lpo_table_kind lpo_tables_memory = LPO_TABLE_KIND(
    memory, "memory", "What the allocator of a framework did, in the order in which it happened");

struct lpo_rows lpo_tables_open_memory(const void *of)
{
    const struct lpo_trace *t = ((const struct lpo_tables_of *)of)->a->trace;

    return lpo_tables_rows(of, &lpo_tables_memory, t->memory_events.at, t->memory_events.len);
}

/* --- flight recorders ------------------------------------------------------------------------- */

static const struct lpo_flight_group *flight_group(const struct lpo_rows *rows,
                                                   const struct lpo_flight_call *c)
{
    return &lpo_tables_trace(rows)->flight_groups.at[c->group];
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

typedef struct lpo_flight_call flight_row;

#define FLIGHT(X)                                                                                  \
    X(flight, id, "Id", COUNT, KEY, "number of the row", i)                                        \
    X(flight, rank, "Rank", COUNT, KEY, "that called it",                                          \
      lpo_cell_whole_if(flight_group(rows, r)->rank >= 0, flight_group(rows, r)->rank))            \
    X(flight, group, "Group", TEXT, KEY, "of ranks",                                               \
      lpo_tables_name(rows, flight_group(rows, r)->name))                                          \
    X(flight, number, "Number", COUNT, KEY, "counted in its group, equal on all ranks",            \
      lpo_cell_whole_if(r->number >= 0, r->number))                                                \
    X(flight, call, "Call", TEXT, FACT, "all_reduce and others", lpo_tables_name(rows, r->name))   \
    X(flight, message, "Message", FLAG, FACT, "between two ranks: counted apart", r->p2p)          \
    X(flight, state, "State", TEXT, FACT, "scheduled, started or completed", state_cell(r))        \
    X(flight, created_ns, "Called", NS, FACT, "when the host called it",                           \
      moment_cell(r->created_ns))                                                                  \
    X(flight, started_ns, "Started", NS, FACT, "when that was noticed",                            \
      moment_cell(r->started_ns))                                                                  \
    X(flight, completed_ns, "Completed", NS, FACT, "when that was noticed",                        \
      moment_cell(r->ended_ns))                                                                    \
    X(flight, sizes, "Sizes", TEXT, FACT, "of its inputs", lpo_tables_name(rows, r->sizes))        \
    X(flight, types, "Types", TEXT, FACT, "of its inputs", lpo_tables_name(rows, r->types))        \
    X(flight, place, "Place", TEXT, FACT,                                                          \
      "innermost frame outside of the framework, where stacks were recorded",                      \
      lpo_tables_name(rows, r->place))

LPO_TABLE(flight, FLIGHT)

const struct lpo_table_kind lpo_tables_flight =
    LPO_TABLE_KIND(flight, "flight", "Collectives of each rank, by the flight recorders of NCCL");

struct lpo_rows lpo_tables_open_flight(const void *of)
{
    const struct lpo_trace *t = ((const struct lpo_tables_of *)of)->a->trace;

    return lpo_tables_rows(of, &lpo_tables_flight, t->flight_calls.at, t->flight_calls.len);
}
