/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels, copies, memsets and the calls that launched them. */
#include "trace/link.h"
#include "trace/nsys/private.h"

/* Every table of GPU operations begins with these. */
enum { W_START, W_END, W_DEVICE, W_STREAM, W_CORRELATION, W_PID, W_NODE, W_OWN };

#define OP_COLUMNS                                                                                 \
    "start", "end", "deviceId", "streamId", "correlationId", "globalPid", "graphNodeId"

enum {
    K_DEMANGLED = W_OWN,
    K_SHORT,
    K_MANGLED,
    K_GRID, /* X, Y, Z, then the block's */
    K_REGISTERS = K_GRID + 6,
    K_STATIC,
    K_DYNAMIC,
};

enum { C_KIND = W_OWN + 1, C_SOURCE, C_TARGET };

/* Correlation ids are of a process. */
static int64_t launch_id(uint16_t process, uint32_t correlation)
{
    return (int64_t)process << 32 | correlation;
}

static struct lpo_gpu_op *push_gpu_op(struct lpo_nsys_reading *r, const struct lpo_nsys_rows *rows,
                                      enum lpo_gpu_op_kind kind)
{
    struct lpo_gpu_op w = { LPO_GPU_OP_UNKNOWN, .name = LPO_NONE, .kind = (uint8_t)kind };
    int64_t correlation = lpo_nsys_int(rows, W_CORRELATION), end = lpo_nsys_int(rows, W_END);

    w.start_ns = lpo_nsys_time(r, rows, W_START);
    w.end_ns = lpo_nsys_shift(r, end);
    if (lpo_nsys_was_null(rows, W_END, end) || w.end_ns < w.start_ns) {
        w.end_ns = w.start_ns;
        w.flags |= LPO_GPU_OP_NO_LENGTH;
    }
    w.stream = (uint32_t)lpo_nsys_int(rows, W_STREAM);
    w.process = lpo_nsys_process(r, lpo_nsys_int(rows, W_PID));
    w.device = lpo_nsys_device(r, w.process, lpo_nsys_int(rows, W_DEVICE));
    lpo_vec_push(&r->correlations,
                 correlation > 0 && correlation < LPO_NONE ? (uint32_t)correlation : 0);
    lpo_nsys_alive(r, w.process, w.end_ns);
    lpo_vec_push(&r->t->gpu_ops, w);
    return &r->t->gpu_ops.at[r->t->gpu_ops.len - 1];
}

static void note_node(struct lpo_nsys_reading *r, const struct lpo_nsys_rows *rows,
                      struct lpo_gpu_op *w)
{
    int64_t node = lpo_nsys_int(rows, W_NODE);
    uint32_t *slot;
    bool fresh;

    if (node == 0)
        return;
    w->flags |= LPO_GPU_OP_GRAPH;
    slot = lpo_map_u64_put(r->captures, (uint64_t)node, &fresh);
    if (fresh) { /* when and where is read later */
        *slot = (uint32_t)r->t->captures.len;
        lpo_vec_push(&r->t->captures, (struct lpo_capture){ 0, LPO_NONE });
        lpo_vec_push(&r->nodes, (uint64_t)node);
    }
    w->capture = *slot;
}

static uint32_t kernel_name(struct lpo_nsys_reading *r, const struct lpo_nsys_rows *rows)
{
    for (int c = K_DEMANGLED; c <= K_MANGLED; c++) {
        int type = lpo_nsys_type(rows, c);
        uint32_t name = LPO_NONE;

        if (type == SQLITE_TEXT)
            name = lpo_nsys_text(rows, r->t, c);
        else if (type != SQLITE_NULL)
            name = lpo_nsys_string(r->db, r->t, lpo_nsys_int(rows, c));
        if (name != LPO_NONE)
            return name;
    }
    return lpo_trace_name(r->t, "(kernel without a name)");
}

static uint32_t kernel_shape(struct lpo_nsys_reading *r, const struct lpo_nsys_rows *rows)
{
    uint32_t v[9];
    struct lpo_shape shape;

    if (!rows->has[K_GRID])
        return LPO_NONE;
    for (int i = 0; i < 9; i++)
        v[i] = rows->has[K_GRID + i] ? (uint32_t)lpo_nsys_int(rows, K_GRID + i) : LPO_NONE;
    memcpy(shape.grid, v, sizeof shape.grid);
    memcpy(shape.block, v + 3, sizeof shape.block);
    shape.registers = v[6];
    shape.static_smem = v[7];
    shape.dynamic_smem = v[8];
    return lpo_trace_shape(r->t, &shape);
}

static void kernel_row(struct lpo_nsys_reading *r, const struct lpo_nsys_rows *rows)
{
    struct lpo_gpu_op *w = push_gpu_op(r, rows, LPO_KERNEL);

    w->name = kernel_name(r, rows);
    if (lpo_nsys_type(rows, K_MANGLED) == SQLITE_INTEGER) {
        uint32_t linker = lpo_nsys_string(r->db, r->t, lpo_nsys_int(rows, K_MANGLED));

        w->linker = linker == LPO_NONE ? 0 : linker;
    }
    w->shape = kernel_shape(r, rows);
    note_node(r, rows, w);
}

/* What nsys calls ENUM_CUDA_MEM_KIND; CUPTI counts from "unknown". */
static const char *const memory_kinds[] = { "Pageable", "Pinned",        "Device",        "Array",
                                            "Managed",  "Device Static", "Managed Static" };

static const char *memory_kind(const struct lpo_nsys_rows *rows, int column)
{
    bool known = rows->has[column] && lpo_nsys_type(rows, column) == SQLITE_INTEGER;
    int64_t kind = known ? lpo_nsys_int(rows, column) : -1;

    return kind >= 0 && kind < (int64_t)(sizeof memory_kinds / sizeof *memory_kinds)
               ? memory_kinds[kind]
               : NULL;
}

/* The names that PyTorch's profiler uses: pinned memory is advised only where it is not used. */
static uint32_t copy_name(struct lpo_nsys_reading *r, const struct lpo_nsys_rows *rows,
                          const char *kind)
{
    const char *source = memory_kind(rows, C_SOURCE), *target = memory_kind(rows, C_TARGET);
    char name[96];

    if (!source || !target || strchr(kind, '('))
        return lpo_trace_name(r->t, kind);
    snprintf(name, sizeof name, "%s (%s -> %s)", kind, source, target);
    return lpo_trace_name(r->t, name);
}

static void copy_row(struct lpo_nsys_reading *r, const struct lpo_nsys_rows *rows)
{
    static const char *const kinds[] = {
        "Memcpy",
        "Memcpy HtoD",
        "Memcpy DtoH",
        "Memcpy HtoA",
        "Memcpy AtoH",
        "Memcpy AtoA",
        "Memcpy AtoD",
        "Memcpy DtoA",
        "Memcpy DtoD",
        "Memcpy HtoH",
        "Memcpy PtoP",
        "Memcpy HtoD (unified)",
        "Memcpy DtoH (unified)",
        "Memcpy DtoD (unified)",
    };
    struct lpo_gpu_op *w = push_gpu_op(r, rows, LPO_COPY);
    int64_t kind = lpo_nsys_int(rows, C_KIND);

    w->bytes = (uint64_t)lpo_nsys_int(rows, W_OWN);
    if (kind < 0 || kind >= (int64_t)(sizeof kinds / sizeof *kinds))
        kind = 0;
    w->name = copy_name(r, rows, kinds[kind]);
    note_node(r, rows, w);
}

static void set_row(struct lpo_nsys_reading *r, const struct lpo_nsys_rows *rows)
{
    struct lpo_gpu_op *w = push_gpu_op(r, rows, LPO_MEMSET);

    w->bytes = (uint64_t)lpo_nsys_int(rows, W_OWN);
    w->name = lpo_trace_name(r->t, "Memset");
    note_node(r, rows, w);
}

/* How far ahead of the join its ids are known. */
enum { AHEAD = 16 };

static int64_t id_at(const struct lpo_nsys_reading *r, size_t i)
{
    return launch_id(r->t->gpu_ops.at[r->first_gpu_op + i].process, r->correlations.at[i]);
}

/* From GPU operation `from` of this file on: their ids wait for a call. */
static void expect_calls(struct lpo_nsys_reading *r, size_t from)
{
    size_t count = r->correlations.len;

    if (!r->links)
        r->links = lpo_trace_links_create(count);
    for (size_t i = from; i < count; i++) {
        if (i + AHEAD < count)
            lpo_trace_links_prefetch(r->links, id_at(r, i + AHEAD));
        if (r->correlations.at[i])
            lpo_trace_links_op(r->links, (uint32_t)(r->first_gpu_op + i), id_at(r, i));
    }
}

/* A graph launch traced as one span: kept only where no node of that launch has a row. */
static void graph_row(struct lpo_nsys_reading *r, const struct lpo_nsys_rows *rows)
{
    int64_t correlation = lpo_nsys_int(rows, W_CORRELATION);
    uint16_t process = lpo_nsys_process(r, lpo_nsys_int(rows, W_PID));
    struct lpo_gpu_op *w;
    char name[64];

    if (!r->links)
        expect_calls(r, 0);
    if (correlation > 0 &&
        lpo_trace_links_wanted(r->links, launch_id(process, (uint32_t)correlation)))
        return;
    w = push_gpu_op(r, rows, LPO_KERNEL);
    snprintf(name, sizeof name, "CUDA graph %lld (whole launch)",
             (long long)lpo_nsys_int(rows, W_OWN));
    w->name = lpo_trace_name(r->t, name);
    w->flags |= LPO_GPU_OP_GRAPH | LPO_GPU_OP_WHOLE;
}

static const struct gpu_op_table {
    const char *table;
    const char *const names[LPO_NSYS_COLUMNS];
    void (*row)(struct lpo_nsys_reading *r, const struct lpo_nsys_rows *rows);
} gpu_op_tables[] = {
    { "CUPTI_ACTIVITY_KIND_KERNEL",
      { OP_COLUMNS, "demangledName", "shortName", "mangledName", "gridX", "gridY", "gridZ",
        "blockX", "blockY", "blockZ", "registersPerThread", "staticSharedMemory",
        "dynamicSharedMemory" },
      kernel_row },
    { "CUPTI_ACTIVITY_KIND_MEMCPY",
      { OP_COLUMNS, "bytes", "copyKind", "srcKind", "dstKind" },
      copy_row },
    { "CUPTI_ACTIVITY_KIND_MEMSET", { OP_COLUMNS, "bytes" }, set_row },
};

static const struct gpu_op_table graph_table = { "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
                                                 { OP_COLUMNS, "graphId" },
                                                 graph_row };

static int read_table(struct lpo_nsys_reading *r, const struct gpu_op_table *table,
                      struct lpo_err *err)
{
    struct lpo_nsys_rows rows;
    int rc = lpo_nsys_begin(r->db, &rows, table->table, table->names, err);

    while (rc > 0 && lpo_nsys_step(&rows, r->t)) {
        if (!lpo_nsys_null(&rows, W_START))
            table->row(r, &rows);
    }
    lpo_nsys_end(&rows);
    return rc < 0 ? rc : 0;
}

int lpo_nsys_read_gpu_ops(struct lpo_nsys_reading *r, struct lpo_err *err)
{
    const struct lpo_trace *t = r->t;
    size_t before;

    for (size_t i = 0; i < sizeof gpu_op_tables / sizeof *gpu_op_tables; i++) {
        if (read_table(r, &gpu_op_tables[i], err) < 0)
            return err->code;
    }
    before = t->gpu_ops.len;
    if (read_table(r, &graph_table, err) < 0)
        return err->code;
    if (!(t->skip & LPO_SKIP_LAUNCHES))
        expect_calls(r, r->links ? before - r->first_gpu_op : 0);
    if (t->gpu_ops.len > before)
        lpo_trace_note(r->t, t->gpu_ops.len - before,
                       "CUDA graph launches were traced as a whole (--cuda-graph-trace=graph): "
                       "their kernels are not known one by one");
    return 0;
}

/* A row of the call table, held back until the memory of its id is near. */
struct held_call {
    int64_t start_ns, end_ns, tid, id;
};

static void join_call(struct lpo_nsys_reading *r, const struct held_call *c)
{
    struct lpo_call call = { .start_ns = c->start_ns,
                             .end_ns = c->end_ns < c->start_ns ? c->start_ns : c->end_ns };

    if (!lpo_trace_links_wanted(r->links, c->id)) /* most calls launch nothing */
        return;
    call.thread = lpo_nsys_thread(r, c->tid);
    call.process = r->t->threads.at[call.thread].process;
    lpo_trace_links_call(r->links, c->id, &call);
}

enum { C_START, C_END, C_TID, C_CORRELATION, C_NAME, C_CBID };

static uint32_t call_name(struct lpo_nsys_reading *r, const struct lpo_nsys_rows *rows)
{
    uint32_t name = LPO_NONE;

    if (!lpo_nsys_null(rows, C_NAME))
        name = lpo_nsys_string(r->db, r->t, lpo_nsys_int(rows, C_NAME));
    if (name == LPO_NONE && !lpo_nsys_null(rows, C_CBID)) { /* CUPTI's number of the function */
        char text[48];

        snprintf(text, sizeof text, "CUDA call %lld", (long long)lpo_nsys_int(rows, C_CBID));
        name = lpo_trace_name(r->t, text);
    }
    return name != LPO_NONE ? name : lpo_trace_name(r->t, "(call without a name)");
}

static void keep_call(struct lpo_nsys_reading *r, const struct lpo_nsys_rows *rows,
                      const struct held_call *c)
{
    uint32_t thread = lpo_nsys_thread(r, c->tid);

    r->t->processes.at[r->t->threads.at[thread].process].has_calls = true;
    lpo_vec_push(&r->t->calls, (struct lpo_api_call){
                                   c->start_ns, c->end_ns < c->start_ns ? c->start_ns : c->end_ns,
                                   call_name(r, rows), thread });
}

static int read_calls(struct lpo_nsys_reading *r, const char *table, struct lpo_err *err)
{
    static const char *const names[] = { "start",  "end",  "globalTid", "correlationId",
                                         "nameId", "cbid", NULL };
    struct lpo_nsys_rows rows;
    struct held_call held[AHEAD];
    size_t n = 0;
    int rc = lpo_nsys_begin(r->db, &rows, table, names, err);

    while (rc > 0 && lpo_nsys_step(&rows, r->t)) {
        struct held_call c = { lpo_nsys_time(r, &rows, C_START), lpo_nsys_time(r, &rows, C_END),
                               lpo_nsys_int(&rows, C_TID), 0 };
        uint16_t process = lpo_nsys_process(r, c.tid);
        int64_t correlation = lpo_nsys_int(&rows, C_CORRELATION);

        lpo_nsys_alive(r, process, c.end_ns);
        if (!(r->t->skip & LPO_SKIP_CALLS))
            keep_call(r, &rows, &c);
        if (correlation <= 0 || correlation >= LPO_NONE)
            continue;
        c.id = launch_id(process, (uint32_t)correlation);
        lpo_trace_links_prefetch(r->links, c.id);
        if (n >= AHEAD)
            join_call(r, &held[n % AHEAD]);
        held[n++ % AHEAD] = c;
    }
    for (size_t i = n > AHEAD ? n - AHEAD : 0; i < n; i++)
        join_call(r, &held[i % AHEAD]);
    lpo_nsys_end(&rows);
    return rc < 0 ? rc : 0;
}

int lpo_nsys_read_launches(struct lpo_nsys_reading *r, struct lpo_err *err)
{
    if (read_calls(r, "CUPTI_ACTIVITY_KIND_RUNTIME", err) < 0 ||
        read_calls(r, "CUPTI_ACTIVITY_KIND_DRIVER", err) < 0)
        return err->code;
    lpo_trace_links_resolve(r->links, r->t);
    lpo_trace_links_destroy(r->links); /* the ranges need the memory */
    r->links = NULL;
    lpo_vec_free(&r->correlations);
    return 0;
}
