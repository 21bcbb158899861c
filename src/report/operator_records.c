/* SPDX-License-Identifier: Apache-2.0 */
#include "report/operator_records.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/operators/operators.h"
#include "gpu/hardware.h"
#include "report/doc/doc.h"
#include "report/tables/tables.h"
#include "trace/trace.h"
#include "util/arena.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* What a row achieved, and what the GPU allows. */
struct rates {
    struct lpo_measure flops, bytes; /* of one call */
    struct lpo_measure flop_rate, byte_rate, share;
    const char *bound; /* NULL: not known */
};

static struct lpo_measure known(double v)
{
    return isfinite(v) ? lpo_measure_computed(v) : lpo_measure_unknown();
}

/* What `calls` calls cost, in `ns` on the GPU. Calls of a row have its shapes; where other
 * arguments differ (causal or not), one of them is their mean. */
static struct rates rates_of(const struct lpo_operator_cost *cost, uint64_t calls, int64_t ns,
                             const struct lpo_hardware *hw)
{
    double seconds = (double)ns / 1e9, compute = NAN, memory = NAN, roof;
    struct rates r = { .flops = known(cost->flops / (double)calls),
                       .bytes = known(cost->bytes / (double)calls) };

    r.flop_rate = known(seconds > 0 ? cost->flops / seconds : NAN);
    r.byte_rate = known(seconds > 0 ? cost->bytes / seconds : NAN);
    r.share = lpo_measure_unknown();
    if (!hw || !(seconds > 0))
        return r;
    if (isfinite(cost->flops) && lpo_gpu_hardware_peak(hw, cost->math, NULL) > 0)
        compute = cost->flops / lpo_gpu_hardware_peak(hw, cost->math, NULL);
    if (isfinite(cost->bytes) && hw->bandwidth > 0)
        memory = cost->bytes / hw->bandwidth;
    if (isfinite(cost->flops) && (isnan(compute) || isnan(memory)))
        return r;                 /* one of two roofs: the other may be the one that holds */
    roof = fmax(compute, memory); /* of one known value that one */
    r.share = known(roof / seconds);
    if (!isnan(roof))
        r.bound = compute > memory ? "compute" : "memory";
    return r;
}

/* Copies may go over a link: no roof of the GPU is theirs. */
static struct rates rates_of_row(const struct lpo_operator *o, const struct lpo_hardware *hw)
{
    return rates_of(&o->cost, o->calls, o->gpu_total_ns, o->copies ? NULL : hw);
}

static struct rates rates_in_graphs(const struct lpo_operator *o, const struct lpo_hardware *hw)
{
    return rates_of(&o->replayed_cost, o->replayed, o->replayed_total_ns, hw);
}

/* Lists of numbers and texts in JSON, as the reader keeps them, become lists of the document. */
static void put_json(struct lpo_record *to, const char *key, const struct lpo_trace *t,
                     uint32_t name)
{
    enum { DEPTH = 4 };
    const char *p = lpo_trace_text(t, name), *end = p + lpo_trace_text_len(t, name);
    struct lpo_record *open[DEPTH + 1] = { to };
    int depth = 0;

    if (name == LPO_NONE) {
        lpo_doc_put_null(to, key);
        return;
    }
    while (p < end) {
        if (*p == '[' && depth < DEPTH) {
            open[depth + 1] = lpo_doc_put_list(open[depth], depth ? NULL : key);
            depth++;
            p++;
        } else if (*p == ']') {
            depth -= depth > 0;
            p++;
        } else if (*p == '"' && depth) {
            const char *from = ++p;

            while (p < end && *p != '"')
                p += *p == '\\' && p + 1 < end ? 2 : 1;
            lpo_doc_put_textn(open[depth], NULL, from, (size_t)(p - from));
            p += p < end;
        } else if (*p >= '0' && *p <= '9' && depth) {
            lpo_doc_put_int(open[depth], NULL, strtoll(p, (char **)(uintptr_t)&p, 10));
        } else {
            p++;
        }
        if (depth == 0)
            return;
    }
}

struct rows {
    const struct lpo_trace *trace;
    const struct lpo_operator *const *order;
    const struct lpo_hardware *hw;
};

static void put_rates(struct lpo_record *out, const struct rates *r)
{
    lpo_doc_put_whole(out, "flops", r->flops);
    lpo_doc_put_whole(out, "bytes", r->bytes);
    lpo_doc_put_measure(out, "flops_per_second", r->flop_rate);
    lpo_doc_put_measure(out, "bytes_per_second", r->byte_rate);
    lpo_doc_put_measure(out, "share_of_roof", r->share);
    lpo_doc_put_text(out, "bound", r->bound);
}

/* The same call in CUDA graphs; nothing where none was joined with it. */
static void put_replayed(struct lpo_record *out, const struct lpo_operator *o,
                         const struct lpo_hardware *hw)
{
    struct rates r = rates_in_graphs(o, hw);
    struct lpo_record *p;

    if (!o->replayed)
        return;
    p = lpo_doc_put_record(out, "replayed");
    lpo_doc_put_uint(p, "calls", o->replayed);
    lpo_doc_put_int(p, "gpu_ns_self", o->replayed_self_ns);
    lpo_doc_put_int(p, "gpu_ns_total", o->replayed_total_ns);
    put_rates(p, &r);
}

/* What a backward pass did again; nothing where it did none. */
static void put_recomputed(struct lpo_record *out, const struct lpo_operator *o)
{
    struct lpo_record *p;

    if (!o->recomputed)
        return;
    p = lpo_doc_put_record(out, "recomputed");
    lpo_doc_put_uint(p, "calls", o->recomputed);
    lpo_doc_put_int(p, "gpu_ns_self", o->recomputed_self_ns);
}

static void put_row(const void *ctx, size_t i, struct lpo_record *out)
{
    const struct rows *rows = ctx;
    const struct lpo_operator *o = rows->order[i];
    const struct lpo_trace *t = rows->trace;
    struct rates r = rates_of_row(o, rows->hw);
    bool gpu = t->gpu_ops.len > 0;

    lpo_doc_put_name(out, "name", lpo_trace_text(t, o->name), lpo_trace_text_len(t, o->name));
    put_json(out, "shapes", t, o->shapes);
    put_json(out, "dtypes", t, o->types);
    lpo_doc_put_uint(out, "calls", o->calls);
    lpo_doc_put_int(out, "host_ns", o->cpu_total_ns);
    lpo_doc_put_int(out, "host_ns_self", o->cpu_self_ns);
    lpo_doc_put_int_if(out, "gpu_ns_self", gpu, o->gpu_self_ns);
    lpo_doc_put_int_if(out, "gpu_ns_total", gpu, o->gpu_total_ns);
    lpo_doc_put_uint(out, "gpu_operations_self", o->gpu_ops_self);
    lpo_doc_put_uint(out, "gpu_operations_total", o->gpu_ops_total);
    put_rates(out, &r);
    put_replayed(out, o, rows->hw);
    put_recomputed(out, o);
}

static void put_replays(struct lpo_record *to, const struct lpo_operator_replays *p)
{
    struct lpo_record *r;

    if (!p->kernels)
        return;
    r = lpo_doc_put_record(to, "replays");
    lpo_doc_put_uint(r, "launches", p->launches);
    lpo_doc_put_uint(r, "kernels", p->kernels);
    lpo_doc_put_int(r, "gpu_ns", p->ns);
    lpo_doc_put_uint(r, "joined_launches", p->joined_launches);
    lpo_doc_put_uint(r, "joined_kernels", p->joined_kernels);
    lpo_doc_put_int(r, "joined_gpu_ns", p->joined_ns);
    lpo_doc_put_uint(r, "captured_launches", p->captured_launches);
    lpo_doc_put_uint(r, "ambiguous_launches", p->ambiguous_launches);
}

void lpo_report_put_operators(struct lpo_doc *doc, const struct lpo_analysis *a,
                              const struct lpo_hardware *hw, size_t most)
{
    const struct lpo_operators *ops = lpo_analysis_operators(a, true);
    struct rows *rows = LPO_NEW(doc->arena, struct rows);
    const struct lpo_operator **order = lpo_report_operators_in_order(ops);
    size_t count = most && most < ops->rows.len ? most : ops->rows.len;
    const struct lpo_operator **kept = lpo_arena_alloc(doc->arena, (count + 1) * sizeof *kept);

    memcpy(kept, order, count * sizeof *kept);
    free(order);
    *rows = (struct rows){ a->trace, kept, hw };
    lpo_doc_put_stream(doc->data, "operators", count, put_row, rows);
    put_replays(doc->data, &ops->replays);
    if (hw)
        lpo_doc_put_text(doc->data, "roof", hw->label ? hw->label : hw->name);
    else
        lpo_doc_put_null(doc->data, "roof");
}

static const struct lpo_column columns[] = {
    { "calls", "Calls", LPO_CELL_COUNT, NULL },
    { "gpu_ns_self", "GPU self", LPO_CELL_NS, NULL },
    { "share", "Share", LPO_CELL_PERCENT, NULL, 3 },
    { "gpu_ns_total", "GPU total", LPO_CELL_NS, NULL, 1 },
    { "host_ns", "Host", LPO_CELL_NS, NULL, 5 },
    { "flops_per_second", "Computed", LPO_CELL_MEASURE, "FLOP/s", 2 },
    { "bytes_per_second", "Moved", LPO_CELL_MEASURE, "B/s", 4 },
    { "share_of_roof", "Of the roof", LPO_CELL_PERCENT, NULL },
    { "bound", "Bound by", LPO_CELL_TEXT, NULL, 6, 8 },
    { "operator", "Operator", LPO_CELL_TEXT, NULL },
    { "shapes", "Input shapes", LPO_CELL_TEXT, NULL },
    { "dtypes", "Types", LPO_CELL_TEXT, NULL, 7 },
};

static void row_types(struct lpo_table *table, const struct lpo_trace *t, uint32_t types)
{
    if (types == LPO_NONE)
        lpo_doc_row_text(table, NULL);
    else
        lpo_doc_row_textn(table, lpo_trace_text(t, types), lpo_trace_text_len(t, types));
}

/* Computed, moved, share of the roof, what bounds it. */
static void row_rates(struct lpo_table *table, const struct rates *r)
{
    lpo_doc_row_measure(table, r->flop_rate);
    lpo_doc_row_measure(table, r->byte_rate);
    if (lpo_measure_known(r->share))
        lpo_doc_row_percent(table, 100 * r->share.value);
    else
        lpo_doc_row_unknown(table);
    lpo_doc_row_text(table, r->bound);
}

struct lpo_table *lpo_report_add_operator_shapes(struct lpo_doc *doc, const struct lpo_analysis *a,
                                                 const struct lpo_hardware *hw, size_t most)
{
    const struct lpo_operators *ops = lpo_analysis_operators(a, true);
    const struct lpo_operator **order = lpo_report_operators_in_order(ops);
    const struct lpo_trace *t = a->trace;
    struct lpo_table *table = lpo_doc_table(doc, "operator_shapes", "", columns, COUNT(columns));

    for (size_t i = 0; i < ops->rows.len && (!most || i < most); i++) {
        const struct lpo_operator *o = order[i];
        struct rates r = rates_of_row(o, hw);

        lpo_doc_row_count(table, o->calls);
        if (t->gpu_ops.len) {
            lpo_doc_row_ns(table, o->gpu_self_ns);
            lpo_doc_row_share(table, (double)o->gpu_self_ns, (double)ops->all.ns);
            lpo_doc_row_ns(table, o->gpu_total_ns);
        } else {
            for (int c = 0; c < 3; c++)
                lpo_doc_row_unknown(table);
        }
        lpo_doc_row_ns(table, o->cpu_total_ns);
        row_rates(table, &r);
        lpo_doc_row_textn(table, lpo_trace_text(t, o->name), lpo_trace_text_len(t, o->name));
        lpo_doc_row_text(table, o->shapes == LPO_NONE ? NULL : lpo_trace_text(t, o->shapes));
        row_types(table, t, o->types);
    }
    if (most && ops->rows.len > most)
        table->total_rows = ops->rows.len;
    free(order);
    return table;
}

static const struct lpo_column replay_columns[] = {
    { "calls", "Replays", LPO_CELL_COUNT, NULL },
    { "gpu_ns_self", "GPU self", LPO_CELL_NS, NULL },
    { "share", "Share", LPO_CELL_PERCENT, NULL, 3 },
    { "gpu_ns_total", "GPU total", LPO_CELL_NS, NULL, 1 },
    { "flops_per_second", "Computed", LPO_CELL_MEASURE, "FLOP/s", 2 },
    { "bytes_per_second", "Moved", LPO_CELL_MEASURE, "B/s", 4 },
    { "share_of_roof", "Of the roof", LPO_CELL_PERCENT, NULL },
    { "bound", "Bound by", LPO_CELL_TEXT, NULL, 5, 8 },
    { "operator", "Operator", LPO_CELL_TEXT, NULL },
    { "shapes", "Input shapes", LPO_CELL_TEXT, NULL },
    { "dtypes", "Types", LPO_CELL_TEXT, NULL, 7 },
};

static int by_replayed(const void *a, const void *b)
{
    const struct lpo_operator *x = *(const struct lpo_operator *const *)a,
                              *y = *(const struct lpo_operator *const *)b;

    if (x->replayed_self_ns != y->replayed_self_ns)
        return x->replayed_self_ns > y->replayed_self_ns ? -1 : 1;
    return (x > y) - (x < y); /* most expensive first, as they are */
}

static void add_replayed_rows(struct lpo_doc *doc, const struct lpo_analysis *a,
                              const struct lpo_operator **rows, size_t count,
                              const struct lpo_hardware *hw, size_t most)
{
    const struct lpo_operators *ops = lpo_analysis_operators(a, true);
    const struct lpo_trace *t = a->trace;
    struct lpo_table *table =
        lpo_doc_table(doc, "replayed", "In CUDA graphs", replay_columns, COUNT(replay_columns));

    for (size_t i = 0; i < count && (!most || i < most); i++) {
        const struct lpo_operator *o = rows[i];
        struct rates r = rates_in_graphs(o, hw);

        lpo_doc_row_count(table, o->replayed);
        lpo_doc_row_ns(table, o->replayed_self_ns);
        lpo_doc_row_share(table, (double)o->replayed_self_ns, (double)ops->replays.ns);
        lpo_doc_row_ns(table, o->replayed_total_ns);
        row_rates(table, &r);
        lpo_doc_row_textn(table, lpo_trace_text(t, o->name), lpo_trace_text_len(t, o->name));
        lpo_doc_row_text(table, o->shapes == LPO_NONE ? NULL : lpo_trace_text(t, o->shapes));
        row_types(table, t, o->types);
    }
    if (most && count > most)
        table->total_rows = count;
}

static void add_replay_notes(struct lpo_doc *doc, const struct lpo_operator_replays *r)
{
    lpo_doc_note(doc, LPO_NOTE_INFO,
                 "%.1f %% of the time of kernels in CUDA graphs is joined with operators%s%s",
                 r->ns > 0 ? 100.0 * (double)r->joined_ns / (double)r->ns : 0,
                 r->captured_launches < r->joined_launches
                     ? " that ran the same kernels outside of graphs"
                     : "",
                 r->joined_kernels ? ""
                                   : "; give the trace of the capture beside this one, with its "
                                     "warm-up where there is one");
    if (r->captured_launches)
        lpo_doc_note(doc, LPO_NOTE_INFO,
                     "%llu of %llu launches of graphs are joined with a capture by the number and "
                     "order of kernels: nothing else says which kernel is of which operator",
                     (unsigned long long)r->captured_launches, (unsigned long long)r->launches);
    if (r->ambiguous_launches)
        lpo_doc_note(doc, LPO_NOTE_INFO,
                     "%llu of %llu launches of graphs fit several operators or shapes and are not "
                     "joined; give only the trace that captured the same batch size",
                     (unsigned long long)r->ambiguous_launches, (unsigned long long)r->launches);
}

void lpo_report_add_replays(struct lpo_doc *doc, const struct lpo_analysis *a,
                            const struct lpo_hardware *hw, size_t most)
{
    const struct lpo_operators *ops = lpo_analysis_operators(a, true);
    const struct lpo_operator_replays *r = &ops->replays;
    const struct lpo_operator **rows;
    size_t count = 0;

    if (!r->kernels)
        return;
    rows = lpo_xrealloc(NULL, ops->rows.len + 1, sizeof *rows);
    for (size_t i = 0; i < ops->rows.len; i++)
        if (ops->rows.at[i].replayed_self_ns)
            rows[count++] = &ops->rows.at[i];
    if (count) {
        qsort(rows, count, sizeof *rows, by_replayed);
        add_replayed_rows(doc, a, rows, count, hw, most);
    }
    free(rows);
    add_replay_notes(doc, r);
}
