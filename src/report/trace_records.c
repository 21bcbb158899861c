/* SPDX-License-Identifier: Apache-2.0 */
#include "report/trace_records.h"

#include <stdlib.h>

#include "analysis/analysis.h"
#include "analysis/counters/sampled.h"
#include "analysis/numbers/numbers.h"
#include "analysis/wall/timeline.h"
#include "region/classes.h"
#include "region/scope.h"
#include "region/top_kernels.h"
#include "report/doc/doc.h"
#include "report/short_scopes.h"
#include "report/trace_notes.h"
#include "trace/metric_rules.h"
#include "util/arena.h"
#include "util/budget.h"
#include "util/str.h"

/* null when no duration is known: that is not 0 */
static void put_ns(struct lpo_record *r, const char *key, const struct lpo_sum *s)
{
    lpo_doc_put_int_if(r, key, lpo_region_sum_known(s), s->ns);
}

/* Launches whose time is a share of their CUDA graph's. */
static void put_estimated(struct lpo_record *r, const struct lpo_sum *s)
{
    if (s->shares)
        lpo_doc_put_uint(r, "launches_time_estimated", s->shares);
}

static void put_part(struct lpo_record *to, const char *key, const struct lpo_sum *s)
{
    struct lpo_record *r = lpo_doc_put_record(to, key);

    lpo_doc_put_uint(r, "launches", s->launches);
    put_ns(r, "gpu_ns", s);
    put_estimated(r, s);
}

static void put_copies(struct lpo_record *to, const char *key, const struct lpo_sum *s)
{
    struct lpo_record *r = lpo_doc_put_record(to, key);

    lpo_doc_put_uint(r, "count", s->launches);
    put_ns(r, "ns", s);
    lpo_doc_put_uint(r, "bytes", s->bytes);
}

static void put_trace_name(struct lpo_record *r, const char *key, const struct lpo_trace *t,
                           uint32_t name)
{
    lpo_doc_put_name(r, key, lpo_trace_text(t, name), lpo_trace_text_len(t, name));
}

static void put_metrics(struct lpo_record *to, const char *key, const struct lpo_region_scope *s,
                        uint32_t row, bool sampled)
{
    const struct lpo_trace *t = s->cells->tree->trace;
    struct lpo_record *metrics = lpo_doc_put_record(to, key);

    for (size_t i = 0; row != LPO_NONE && i < t->metrics.len; i++) {
        const struct lpo_metric *m = &t->metrics.at[i];
        const struct lpo_metric_sum *sum = &s->metric_sums.at[(size_t)row * t->metrics.len + i];
        struct lpo_record *r;

        if (sum->weight == 0 || (sampled && !m->sampled))
            continue;
        r = lpo_doc_put_record(metrics, lpo_trace_text(t, m->name));
        lpo_doc_put_real(r, "value", lpo_region_metric_value(m->combine, sum));
        if (m->unit == LPO_NONE)
            lpo_doc_put_null(r, "unit");
        else
            put_trace_name(r, "unit", t, m->unit);
        lpo_doc_put_text(r, "how", m->sampled ? "sampled" : lpo_trace_combine_name(m->combine));
    }
}

static void put_min_max(struct lpo_record *r, const struct lpo_sum *s)
{
    bool known = s->launches > s->unknown && s->min_ns != LPO_NO_TIME;

    lpo_doc_put_int_if(r, "min_ns", known, s->min_ns);
    lpo_doc_put_int_if(r, "max_ns", known, s->max_ns);
}

uint32_t lpo_report_listed_kernels(const struct lpo_region_row *row)
{
    return row->nkernels < lpo_budget()->listed_kernels ? row->nkernels
                                                        : (uint32_t)lpo_budget()->listed_kernels;
}

/* Sums of kernels that are not listed, so that everything still adds up. */
static void put_kernels_left_out(struct lpo_record *to, uint64_t kernels, const struct lpo_sum *sum)
{
    struct lpo_record *r = lpo_doc_put_record(to, "kernels_left_out");

    lpo_doc_put_uint(r, "kernels", kernels);
    lpo_doc_put_uint(r, "launches", sum->launches);
    put_ns(r, "gpu_ns", sum);
}

struct region_kernels {
    const struct lpo_region_scope *scope;
    const struct lpo_kernel_row *rows;
};

static void make_region_kernel(const void *ctx, size_t i, struct lpo_record *r)
{
    const struct region_kernels *from = ctx;
    const struct lpo_trace *t = from->scope->cells->tree->trace;
    const struct lpo_kernel_row *k = &from->rows[i];
    uint32_t linker = lpo_region_cells_linker(from->scope->cells, k->name);

    put_trace_name(r, "name", t, k->name);
    /* each source spells a demangled name in its own way; this one is the same in all */
    if (linker && linker != k->name)
        put_trace_name(r, "linker", t, linker);
    lpo_doc_put_uint(r, "launches", k->all.launches);
    put_ns(r, "gpu_ns", &k->all);
    put_min_max(r, &k->all);
    lpo_doc_put_uint(r, "launches_exclusive", k->self.launches);
    put_ns(r, "gpu_ns_exclusive", &k->self);
    put_estimated(r, &k->all);
}

static void put_region_kernels(struct lpo_record *to, const struct lpo_region_scope *s,
                               const struct lpo_region_row *row)
{
    struct region_kernels *kernels = LPO_NEW(to->arena, struct region_kernels);
    struct lpo_sum left_out = { 0 };

    *kernels = (struct region_kernels){ s, row->nkernels ? &s->kernels.at[row->kernels] : NULL };
    for (uint32_t i = lpo_report_listed_kernels(row); i < row->nkernels; i++)
        lpo_region_sum_add(&left_out, &kernels->rows[i].all);
    if (left_out.launches)
        put_kernels_left_out(to, row->nkernels - lpo_report_listed_kernels(row), &left_out);
    lpo_doc_put_stream(to, "kernels", lpo_report_listed_kernels(row), make_region_kernel, kernels);
}

static void put_gaps(struct lpo_record *to, const char *key, const struct lpo_gaps *g)
{
    struct lpo_record *gaps = lpo_doc_put_record(to, key);

    for (int i = 0; i < LPO_GAP_CAUSES; i++) {
        struct lpo_record *r = lpo_doc_put_record(gaps, lpo_wall_gap_name(i));

        lpo_doc_put_uint(r, "count", g->by[i].count);
        lpo_doc_put_int(r, "ns", g->by[i].ns);
    }
}

static void put_path(struct lpo_record *r, const struct lpo_region_scope *s,
                     const struct lpo_region_row *row)
{
    LPO_STR path = { 0 };
    uint32_t parent =
        row->node == LPO_NODE_OUTSIDE ? LPO_NONE : s->cells->tree->nodes.at[row->node].parent;

    lpo_region_row_add_path(s, row, &path);
    lpo_doc_put_textn(r, "path", lpo_str_text(&path), path.len);
    if (parent == LPO_NONE) {
        lpo_doc_put_null(r, "parent");
        return;
    }
    lpo_str_clear(&path);
    lpo_region_add_path(s->cells->tree, parent, &path);
    lpo_doc_put_textn(r, "parent", lpo_str_text(&path), path.len);
}

/* What the regions of a scope are made from. */
struct scope_regions {
    const struct lpo_analysis *a;
    struct lpo_scope_id id; /* not the scope itself: a large one is gone when the next is made */
    const uint32_t *rows;   /* which rows; NULL: all */
};

/* One call, where the first differ from later ones. */
static void put_calls(struct lpo_record *to, const struct lpo_region_scope *s,
                      const struct lpo_region_row *row)
{
    struct lpo_region_calls c;
    struct lpo_record *r;
    bool gpu;

    if (!lpo_region_row_calls(s, row, &c) || !c.differ)
        return;
    gpu = c.first_gpu_ns != LPO_NO_TIME;
    r = lpo_doc_put_record(to, "one_call");
    lpo_doc_put_int(r, "first_host_ns", c.first_host_ns);
    lpo_doc_put_int(r, "later_host_ns", c.later_host_ns);
    lpo_doc_put_int_if(r, "first_gpu_ns", gpu, c.first_gpu_ns);
    lpo_doc_put_int_if(r, "later_gpu_ns", gpu, c.later_gpu_ns);
}

/* As the program gave its ranges of this name. */
static void put_look(struct lpo_record *to, const struct lpo_region_tree *tree, uint32_t node)
{
    const struct lpo_region *region = node == LPO_NODE_OUTSIDE ? NULL : &tree->nodes.at[node];
    const struct lpo_range_look *look =
        region ? lpo_trace_look(tree->trace, region->name, region->domain) : NULL;

    if (look && look->category != LPO_NONE)
        put_trace_name(to, "category", tree->trace, look->category);
    if (look && look->has_color)
        lpo_doc_put_text(to, "color", lpo_arena_printf(to->arena, "#%06x", look->color));
}

/* Of the whole trace: which process gave a number is not kept. */
static void put_numbers(struct lpo_record *to, const struct lpo_analysis *a, uint32_t node)
{
    size_t count;
    const struct lpo_numbers_row *rows = lpo_numbers_of(lpo_analysis_numbers(a), node, &count);
    struct lpo_record *numbers = count ? lpo_doc_put_record(to, "numbers") : NULL;

    for (size_t i = 0; i < count; i++) {
        const struct lpo_numbers_row *n = &rows[i];
        struct lpo_record *r = lpo_doc_put_record(
            numbers, n->name == LPO_NONE ? "(payload)" : lpo_trace_text(a->trace, n->name));

        lpo_doc_put_uint(r, "count", n->count);
        lpo_doc_put_real(r, "sum", n->sum);
        lpo_doc_put_real(r, "mean", n->sum / (double)n->count);
        lpo_doc_put_real(r, "min", n->least);
        lpo_doc_put_real(r, "max", n->most);
    }
}

static void make_region(const void *ctx, size_t i, struct lpo_record *r)
{
    const struct scope_regions *from = ctx;
    const struct lpo_analysis *a = from->a;
    const struct lpo_region_scope *s = lpo_analysis_scope(a, from->id);
    const struct lpo_region_row *row = &s->rows.at[from->rows ? from->rows[i] : i];
    bool host = row->visits_known;

    put_path(r, s, row);
    lpo_doc_put_uint(r, "depth", lpo_region_row_depth(s, row));
    lpo_doc_put_text(r, "kind", lpo_region_row_kind(s, row));
    if (lpo_region_row_source(s, row))
        lpo_doc_put_text(r, "source", lpo_region_row_source(s, row));
    put_look(r, s->cells->tree, row->node);
    lpo_doc_put_int_if(r, "visits", host, (int64_t)row->visits);
    lpo_doc_put_uint(r, "launches", row->all.launches);
    lpo_doc_put_uint(r, "launches_exclusive", row->self.launches);
    lpo_doc_put_int_if(r, "host_ns", host, row->host_ns);
    lpo_doc_put_int_if(r, "host_ns_exclusive", host, row->host_self_ns);
    put_ns(r, "gpu_ns_inclusive", &row->all);
    put_ns(r, "gpu_ns_exclusive", &row->self);
    put_calls(r, s, row);
    if (s->id.kind == LPO_SCOPE_ALL)
        put_numbers(r, a, row->node);
    if (s->cells->left_out || row->copies.shares) /* else the shares are whole graphs again */
        put_estimated(r, &row->all);
    lpo_doc_put_uint(r, "distinct_kernels", row->nkernels);
    if (row->open)
        lpo_doc_put_uint(r, "never_closed", row->open);
    if (row->copies.launches)
        put_copies(r, "copies", &row->copies);
    if (row->captured.launches)
        put_part(r, "captured_here", &row->captured);
    if (row->adopted.launches)
        put_part(r, "adopted", &row->adopted);
    if (row->backward.launches)
        put_part(r, "backward", &row->backward);
    if (row->recomputed.launches)
        put_part(r, "recomputed", &row->recomputed);
    /* gaps belong to streams, so only the scope that holds every stream has them */
    if (s->id.kind == LPO_SCOPE_ALL && row->node != LPO_NODE_OUTSIDE &&
        lpo_wall_gaps_ns(&a->timeline->nodes[row->node]))
        put_gaps(r, "idle", &a->timeline->nodes[row->node]);
    if (row->metrics != LPO_NONE && (row->measured || row->estimated)) {
        lpo_doc_put_uint(r, "kernels_measured", row->measured);
        lpo_doc_put_uint(r, "kernels_estimated", row->estimated);
    }
    put_metrics(r, "metrics", s, row->metrics, false);
    if (row->metrics_self != LPO_NONE)
        put_metrics(r, "metrics_exclusive", s, row->metrics_self, true);
    if (row->metrics_captured != LPO_NONE)
        put_metrics(r, "metrics_captured_here", s, row->metrics_captured, true);
    if (a->sampled && s->id.kind == LPO_SCOPE_ALL && row->node != LPO_NODE_OUTSIDE &&
        row->metrics != LPO_NONE) {
        lpo_doc_put_whole(r, "border_ns", lpo_measure_computed(a->sampled->borders[row->node].ns));
        lpo_doc_put_whole(r, "border_dram_bytes",
                          lpo_measure_computed(a->sampled->borders[row->node].bytes));
    }
    put_region_kernels(r, s, row);
}

void lpo_report_put_region(struct lpo_record *to, const struct lpo_analysis *a, size_t i)
{
    struct scope_regions all = { a, { .kind = LPO_SCOPE_ALL }, NULL };

    make_region(&all, i, lpo_doc_put_record(to, "region"));
}

static void put_coverage(struct lpo_record *to, const struct lpo_coverage *c,
                         const struct lpo_trace *t)
{
    struct lpo_record *r = lpo_doc_put_record(to, "coverage");

    put_part(r, "in_regions", &c->in_region);
    put_part(r, "outside", &c->outside);
    if (t->launches.len && !(t->skip & LPO_SKIP_ADOPTION)) /* else nobody looked for any */
        put_part(r, "adopted", &c->adopted);
    put_part(r, "no_launch_record", &c->no_launch);
    if (c->backward.launches)
        put_part(r, "backward", &c->backward);
    if (c->recomputed.launches)
        put_part(r, "recomputed", &c->recomputed);
    lpo_doc_put_uint(r, "kernels_without_duration", c->total.unknown);
    lpo_doc_put_uint(r, "kernels_measured", c->measured);
    lpo_doc_put_uint(r, "kernels_estimated", c->estimated);
    put_copies(to, "copies", &c->copies);
    put_copies(to, "memsets", &c->sets);
}

void lpo_report_put_coverage(struct lpo_record *to, const struct lpo_analysis *a)
{
    put_coverage(to, &lpo_analysis_all(a)->coverage, a->trace);
}

struct lpo_record *lpo_report_put_scope_head(struct lpo_record *to, const struct lpo_analysis *a,
                                             struct lpo_scope_id id)
{
    const struct lpo_region_scope *s = lpo_analysis_scope(a, id);
    struct lpo_record *r = lpo_doc_put_record(to, NULL);
    LPO_STR name = { 0 };

    lpo_region_scope_add_name(a->trace, id, &name);
    lpo_doc_put_text(r, "scope", lpo_str_text(&name));
    put_ns(r, "gpu_ns", &s->coverage.total);
    if (lpo_region_cells_parted(s->cells))
        put_estimated(r, &s->coverage.total);
    lpo_doc_put_uint(r, "launches", s->coverage.total.launches);
    put_coverage(r, &s->coverage, a->trace);
    return r;
}

void lpo_report_put_regions(struct lpo_record *r, const struct lpo_analysis *a,
                            struct lpo_scope_id id, const uint32_t *rows, size_t count)
{
    struct scope_regions *regions = LPO_NEW(r->arena, struct scope_regions);

    *regions = (struct scope_regions){ a, id, rows };
    lpo_doc_put_stream(r, "regions", count, make_region, regions);
}

/* The streams of a device; of all devices together no more than there are tables of scopes. */
static void put_streams(struct lpo_record *to, const struct lpo_wall_timeline *t, uint16_t device,
                        uint64_t *left)
{
    struct lpo_record *streams = lpo_doc_put_list(to, "streams");

    for (size_t i = 0; i < t->streams.len && *left; i++) {
        const struct lpo_stream_time *s = &t->streams.at[i];
        struct lpo_record *r;

        if (s->device != device)
            continue;
        --*left;
        r = lpo_doc_put_record(streams, NULL);
        lpo_doc_put_uint(r, "stream", s->stream);
        lpo_doc_put_uint(r, "gpu_ops", s->gpu_ops);
        lpo_doc_put_int(r, "span_ns", s->end_ns - s->start_ns);
        lpo_doc_put_int(r, "busy_ns", s->busy_ns);
        lpo_doc_put_int(r, "idle_ns", lpo_wall_gaps_ns(&s->gaps));
        put_gaps(r, "gaps", &s->gaps);
    }
}

const char *lpo_report_device_scope(struct lpo_arena *arena, const struct lpo_device *d)
{
    return d->rank >= 0 ? lpo_arena_printf(arena, "rank:%d/device:%d", d->rank, d->id)
                        : lpo_arena_printf(arena, "device:%d", d->id);
}

void lpo_report_put_devices(struct lpo_record *to, const struct lpo_analysis *a)
{
    struct lpo_record *devices = lpo_doc_put_list(to, "devices");
    uint64_t streams = lpo_budget()->scopes;

    for (size_t i = 0; i < a->timeline->devices.len && i < lpo_budget()->scopes; i++) {
        const struct lpo_device_time *d = &a->timeline->devices.at[i];
        const struct lpo_device *device = &a->trace->devices.at[d->device];
        struct lpo_record *r = lpo_doc_put_record(devices, NULL);
        bool known = !d->overlap_unknown;

        lpo_doc_put_int(r, "device", device->id);
        lpo_doc_put_int_if(r, "rank", device->rank >= 0, device->rank);
        lpo_doc_put_text(r, "name",
                         device->name == LPO_NONE ? NULL : lpo_trace_text(a->trace, device->name));
        lpo_doc_put_uint(r, "gpu_ops", d->gpu_ops);
        lpo_doc_put_int(r, "span_ns", d->span_ns);
        lpo_doc_put_int(r, "busy_ns", d->busy_ns);
        lpo_doc_put_int(r, "idle_ns", d->idle_ns);
        lpo_doc_put_int_if(r, "compute_ns", known, d->compute_ns);
        lpo_doc_put_int_if(r, "communication_ns", known, d->communication_ns);
        lpo_doc_put_int_if(r, "exposed_communication_ns", known, d->exposed_ns);
        lpo_doc_put_int_if(r, "hidden_communication_ns", known,
                           d->communication_ns - d->exposed_ns);
        lpo_doc_put_int(r, "other_collectives_ns", 0); /* all of them are communication now */
        put_gaps(r, "gaps", &d->gaps);
        put_streams(r, a->timeline, d->device, &streams);
    }
}

struct top_kernels {
    const struct lpo_region_cells *cells;
    const struct lpo_top_row *rows;
};

static void make_kernel(const void *ctx, size_t i, struct lpo_record *r)
{
    const struct top_kernels *from = ctx;
    const struct lpo_region_cells *cells = from->cells;
    const struct lpo_top_row *row = &from->rows[i];
    const struct lpo_sum *sum = &row->sum;

    put_trace_name(r, "name", cells->tree->trace, row->name);
    lpo_doc_put_text(r, "short_name", lpo_region_cells_short_name(cells, row->name));
    lpo_doc_put_uint(r, "launches", sum->launches);
    put_ns(r, "gpu_ns", sum);
    put_min_max(r, sum);
    put_estimated(r, sum);
    lpo_doc_put_measure(r, "share",
                        lpo_region_sum_known(sum) ? lpo_measure_computed(row->share)
                                                  : lpo_measure_unknown());
    lpo_doc_put_text(r, "class", lpo_region_class_name(lpo_region_cells_class(cells, row->name)));
}

void lpo_report_put_kernels(struct lpo_record *to, const struct lpo_region_cells *cells,
                            const struct lpo_top_row *rows, size_t count)
{
    struct top_kernels *kernels = LPO_NEW(to->arena, struct top_kernels);

    *kernels = (struct top_kernels){ cells, rows };
    lpo_doc_put_stream(to, "kernels", count, make_kernel, kernels);
}

void lpo_report_put_most_kernels(struct lpo_record *to, const struct lpo_region_cells *cells,
                                 const struct lpo_top_row *rows, size_t count)
{
    size_t most = count < lpo_budget()->listed_kernels ? count : lpo_budget()->listed_kernels;
    struct lpo_sum left_out = { 0 };

    for (size_t i = most; i < count; i++)
        lpo_region_sum_add(&left_out, &rows[i].sum);
    if (most < count)
        put_kernels_left_out(to, count - most, &left_out);
    lpo_report_put_kernels(to, cells, rows, most);
}

static void put_note(void *list, bool warning, const char *text)
{
    struct lpo_record *r = lpo_doc_put_record(list, NULL);

    lpo_doc_put_text(r, "level", warning ? "warning" : "info");
    lpo_doc_put_text(r, "text", text);
}

void lpo_report_put_notes(struct lpo_record *to, const struct lpo_analysis *a,
                          const struct lpo_region_selection *select)
{
    lpo_report_notes_each(a, select, put_note, lpo_doc_put_list(to, "notes"));
}
