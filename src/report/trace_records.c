/* SPDX-License-Identifier: Apache-2.0 */
#include "report/trace_records.h"

#include <stdlib.h>

#include "analysis/analysis.h"
#include "analysis/counters/sampled.h"
#include "analysis/numbers/numbers.h"
#include "analysis/tables/tables.h"
#include "analysis/wall/timeline.h"
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

static void put_region_kernels(struct lpo_record *to, const struct lpo_analysis *a,
                               const struct lpo_region_scope *s, const struct lpo_region_row *row)
{
    struct lpo_rows rows =
        lpo_tables_region_kernels(lpo_tables_of(to->arena, a, NULL), s, row, NULL);
    struct lpo_sum left_out = { 0 };

    rows.count = lpo_report_listed_kernels(row);
    for (size_t i = rows.count; i < row->nkernels; i++)
        lpo_region_sum_add(&left_out, &s->kernels.at[row->kernels + i].all);
    if (left_out.launches)
        put_kernels_left_out(to, row->nkernels - rows.count, &left_out);
    lpo_doc_put_rows(to, "kernels", &rows,
                     "name linker launches gpu_ns min_ns max_ns launches_exclusive "
                     "gpu_ns_exclusive launches_time_estimated");
}

void lpo_report_put_gaps(struct lpo_record *to, const char *key, const struct lpo_gaps *g)
{
    struct lpo_record *gaps = lpo_doc_put_record(to, key);

    for (int i = 0; i < LPO_GAP_CAUSES; i++) {
        struct lpo_record *r = lpo_doc_put_record(gaps, lpo_wall_gap_name(i));

        lpo_doc_put_uint(r, "count", g->by[i].count);
        lpo_doc_put_int(r, "ns", g->by[i].ns);
    }
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

/* What is no value of one column. */
static void put_lists(const struct lpo_rows *rows, size_t i, struct lpo_record *r)
{
    const struct lpo_analysis *a = lpo_tables_analysis(rows);
    const struct lpo_region_scope *s;
    const struct lpo_region_row *row = lpo_tables_region_row(rows, i, &s);
    bool all = s->id.kind == LPO_SCOPE_ALL;

    if (all)
        put_numbers(r, a, row->node);
    /* gaps belong to streams, so only the scope that holds every stream has them */
    if (all && row->node != LPO_NODE_OUTSIDE && lpo_wall_gaps_ns(&a->timeline->nodes[row->node]))
        lpo_report_put_gaps(r, "idle", &a->timeline->nodes[row->node]);
    if (row->metrics != LPO_NONE && (row->measured || row->estimated)) {
        lpo_doc_put_uint(r, "kernels_measured", row->measured);
        lpo_doc_put_uint(r, "kernels_estimated", row->estimated);
    }
    put_metrics(r, "metrics", s, row->metrics, false);
    if (row->metrics_self != LPO_NONE)
        put_metrics(r, "metrics_exclusive", s, row->metrics_self, true);
    if (row->metrics_captured != LPO_NONE)
        put_metrics(r, "metrics_captured_here", s, row->metrics_captured, true);
    if (a->sampled && all && row->node != LPO_NODE_OUTSIDE && row->metrics != LPO_NONE) {
        lpo_doc_put_whole(r, "border_ns", lpo_measure_computed(a->sampled->borders[row->node].ns));
        lpo_doc_put_whole(r, "border_dram_bytes",
                          lpo_measure_computed(a->sampled->borders[row->node].bytes));
    }
    put_region_kernels(r, a, s, row);
}

#define PART(name, key)                                                                            \
    name ".launches=" key "_launches+ " name ".gpu_ns=" key "_ns " name                            \
         ".launches_time_estimated=" key "_estimated "

static const char members[] =
    "path parent depth kind source category color visits launches launches_exclusive host_ns "
    "host_ns_exclusive gpu_ns_inclusive gpu_ns_exclusive one_call.first_host_ns? "
    "one_call.later_host_ns one_call.first_gpu_ns one_call.later_gpu_ns launches_time_estimated "
    "distinct_kernels never_closed+ copies.count=copy_count+ copies.ns=copy_ns "
    "copies.bytes=copy_bytes " PART("captured_here", "captured") PART("adopted", "adopted")
        PART("backward", "backward") PART("recomputed", "recomputed");

void lpo_report_put_region(struct lpo_record *to, const struct lpo_analysis *a, size_t i)
{
    const uint32_t which = (uint32_t)i;
    const struct lpo_rows rows =
        lpo_tables_scope_regions(lpo_tables_of(to->arena, a, NULL),
                                 (struct lpo_scope_id){ .kind = LPO_SCOPE_ALL }, &which, 1);
    struct lpo_record *r = lpo_doc_put_record(to, "region");

    lpo_doc_put_row(r, &rows, 0, members);
    put_lists(&rows, 0, r);
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
    const struct lpo_rows regions =
        lpo_tables_scope_regions(lpo_tables_of(r->arena, a, NULL), id, rows, count);

    lpo_doc_put_rows_and(r, "regions", &regions, members, put_lists);
}

const char *lpo_report_device_scope(struct lpo_arena *arena, const struct lpo_device *d)
{
    return d->rank >= 0 ? lpo_arena_printf(arena, "rank:%d/device:%d", d->rank, d->id)
                        : lpo_arena_printf(arena, "device:%d", d->id);
}

void lpo_report_put_kernels(struct lpo_record *to, const struct lpo_analysis *a, size_t most)
{
    struct lpo_rows rows = lpo_tables_top(lpo_tables_of(to->arena, a, NULL), LPO_KERNEL, NULL);

    rows.count = most && most < rows.count ? most : rows.count;
    lpo_doc_put_rows(to, "kernels", &rows,
                     "name short_name launches gpu_ns min_ns max_ns launches_time_estimated share "
                     "class");
}

void lpo_report_put_most_kernels(struct lpo_record *to, const struct lpo_analysis *a)
{
    const lpo_top_rows *top = lpo_analysis_top(a, LPO_KERNEL);
    size_t most = lpo_budget()->listed_kernels;
    struct lpo_sum left_out = { 0 };

    for (size_t i = most; i < top->len; i++)
        lpo_region_sum_add(&left_out, &top->at[i].sum);
    if (most < top->len)
        put_kernels_left_out(to, top->len - most, &left_out);
    lpo_report_put_kernels(to, a, most);
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
