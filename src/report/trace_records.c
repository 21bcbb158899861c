/* SPDX-License-Identifier: Apache-2.0 */
/* Records of a trace: scopes with their regions, kernels, notes. Where all regions would be too
 * much, the most expensive. */

#include "report/trace_records.h"
#include "analysis/analysis.h"
#include "analysis/counters/sampled.h"
#include "analysis/numbers/numbers.h"
#include "analysis/tables/tables.h"
#include "analysis/wall/timeline.h"
#include "report/doc/doc.h"
#include "report/trace_notes.h"
#include "trace/metric_rules.h"
#include "util/budget.h"

/* null when no duration is known: that is not 0 */
static struct lpo_jv ns_of(const struct lpo_sum *s)
{
    return lpo_jv_int_if(lpo_region_sum_known(s), s->ns);
}

/* `launches_time_estimated`: launches whose time is a share of their CUDA graph's. */
static void put_part(struct lpo_record *to, const char *key, const struct lpo_sum *s)
{
    lpo_doc_put(lpo_doc_put_record(to, key), LPO_KV("launches", s->launches),
                LPO_KV("gpu_ns", ns_of(s)),
                LPO_KV_IF(s->shares, "launches_time_estimated", s->shares));
}

static void put_copies(struct lpo_record *to, const char *key, const struct lpo_sum *s)
{
    lpo_doc_put(lpo_doc_put_record(to, key), LPO_KV("count", s->launches), LPO_KV("ns", ns_of(s)),
                LPO_KV("bytes", s->bytes));
}

struct lpo_jv lpo_report_name(const struct lpo_trace *t, uint32_t name)
{
    return name == LPO_NONE ? lpo_jv_null()
                            : lpo_jv_name(lpo_trace_text(t, name), lpo_trace_text_len(t, name));
}

static void put_metrics(struct lpo_record *to, const char *key, const struct lpo_region_scope *s,
                        uint32_t row, bool sampled)
{
    const struct lpo_trace *t = s->cells->tree->trace;
    struct lpo_record *metrics = lpo_doc_put_record(to, key);

    for (size_t i = 0; row != LPO_NONE && i < t->metrics.len; i++) {
        const struct lpo_metric *m = &t->metrics.at[i];
        const struct lpo_metric_sum *sum = &s->metric_sums.at[(size_t)row * t->metrics.len + i];

        if (sum->weight != 0 && (m->sampled || !sampled))
            lpo_doc_put(lpo_doc_put_record(metrics, lpo_trace_text(t, m->name)),
                        LPO_KV("value", lpo_region_metric_value(m->combine, sum)),
                        LPO_KV("unit", lpo_report_name(t, m->unit)),
                        LPO_KV("how", m->sampled ? "sampled" : lpo_trace_combine_name(m->combine)));
    }
}

/* How many of a region's kernels are listed. */
static uint32_t listed_kernels(const struct lpo_region_row *row)
{
    return row->nkernels < lpo_budget()->listed_kernels ? row->nkernels
                                                        : (uint32_t)lpo_budget()->listed_kernels;
}

/* Sums of kernels that are not listed, so that everything still adds up. */
static void put_kernels_left_out(struct lpo_record *to, uint64_t kernels, const struct lpo_sum *sum)
{
    lpo_doc_put(lpo_doc_put_record(to, "kernels_left_out"), LPO_KV("kernels", kernels),
                LPO_KV("launches", sum->launches), LPO_KV("gpu_ns", ns_of(sum)));
}

static void put_region_kernels(struct lpo_record *to, const struct lpo_analysis *a,
                               const struct lpo_region_scope *s, const struct lpo_region_row *row)
{
    struct lpo_rows rows =
        lpo_tables_region_kernels(lpo_tables_of(to->arena, a, NULL), s, row, NULL);
    struct lpo_sum left_out = { 0 };

    rows.count = listed_kernels(row);
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

    for (int i = 0; i < LPO_GAP_CAUSES; i++)
        lpo_doc_put(lpo_doc_put_record(gaps, lpo_wall_gap_name(i)), LPO_KV("count", g->by[i].count),
                    LPO_KV("ns", g->by[i].ns));
}

/* Of the whole trace: which process gave a number is not kept. */
static void put_numbers(struct lpo_record *to, const struct lpo_analysis *a, uint32_t node)
{
    size_t count;
    const struct lpo_numbers_row *rows = lpo_numbers_of(lpo_analysis_numbers(a), node, &count);
    struct lpo_record *numbers = count ? lpo_doc_put_record(to, "numbers") : NULL;

    for (size_t i = 0; i < count; i++) {
        const struct lpo_numbers_row *n = &rows[i];

        lpo_doc_put(lpo_doc_put_record(numbers, n->name == LPO_NONE
                                                    ? "(payload)"
                                                    : lpo_trace_text(a->trace, n->name)),
                    LPO_KV("count", n->count), LPO_KV("sum", n->sum),
                    LPO_KV("mean", n->sum / (double)n->count), LPO_KV("min", n->least),
                    LPO_KV("max", n->most));
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
    if (row->metrics != LPO_NONE && (row->measured || row->estimated))
        lpo_doc_put(r, LPO_KV("kernels_measured", row->measured),
                    LPO_KV("kernels_estimated", row->estimated));
    put_metrics(r, "metrics", s, row->metrics, false);
    if (row->metrics_self != LPO_NONE)
        put_metrics(r, "metrics_exclusive", s, row->metrics_self, true);
    if (row->metrics_captured != LPO_NONE)
        put_metrics(r, "metrics_captured_here", s, row->metrics_captured, true);
    if (a->sampled && all && row->node != LPO_NODE_OUTSIDE && row->metrics != LPO_NONE)
        lpo_doc_put(r,
                    LPO_KV("border_ns",
                           lpo_jv_whole(lpo_measure_computed(a->sampled->borders[row->node].ns))),
                    LPO_KV("border_dram_bytes", lpo_jv_whole(lpo_measure_computed(
                                                    a->sampled->borders[row->node].bytes))));
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
    lpo_doc_put(r, LPO_KV("kernels_without_duration", c->total.unknown),
                LPO_KV("kernels_measured", c->measured), LPO_KV("kernels_estimated", c->estimated));
    put_copies(to, "copies", &c->copies);
    put_copies(to, "memsets", &c->sets);
}

void lpo_report_put_coverage(struct lpo_record *to, const struct lpo_analysis *a)
{
    put_coverage(to, &lpo_analysis_all(a)->coverage, a->trace);
}

/* A scope in the list `to`, without its regions. */
static struct lpo_record *put_scope_head(struct lpo_record *to, const struct lpo_analysis *a,
                                         struct lpo_scope_id id)
{
    const struct lpo_region_scope *s = lpo_analysis_scope(a, id);
    struct lpo_record *r = lpo_doc_put_record(to, NULL);
    const struct lpo_sum *total = &s->coverage.total;
    LPO_STR name = { 0 };

    lpo_region_scope_add_name(a->trace, id, &name);
    lpo_doc_put(r, LPO_KV("scope", lpo_str_text(&name)), LPO_KV("gpu_ns", ns_of(total)),
                LPO_KV_IF(total->shares && lpo_region_cells_parted(s->cells),
                          "launches_time_estimated", total->shares),
                LPO_KV("launches", total->launches));
    put_coverage(r, &s->coverage, a->trace);
    return r;
}

/* "regions": these rows of the scope, `count` of them; NULL: all. */
static void put_regions(struct lpo_record *r, const struct lpo_analysis *a, struct lpo_scope_id id,
                        const uint32_t *rows, size_t count)
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
    lpo_doc_put(lpo_doc_put_record(list, NULL), LPO_KV("level", warning ? "warning" : "info"),
                LPO_KV("text", text));
}

void lpo_report_put_notes(struct lpo_record *to, const struct lpo_analysis *a,
                          const struct lpo_region_selection *select)
{
    lpo_report_notes_each(a, select, put_note, lpo_doc_put_list(to, "notes"));
}

/* About what a region takes as JSON: names are the most of it. */
static size_t region_bytes(const struct lpo_region_scope *s, const struct lpo_region_row *row)
{
    enum { MEMBERS = 320, KERNEL = 150, METRIC = 120 };
    const struct lpo_trace *t = s->cells->tree->trace;
    size_t bytes = MEMBERS;

    if (row->node != LPO_NODE_OUTSIDE)
        bytes += 2 * (size_t)s->cells->tree->nodes.at[row->node].path_bytes;
    for (uint32_t i = 0; i < listed_kernels(row); i++) {
        uint32_t name = s->kernels.at[row->kernels + i].name;
        uint32_t linker = lpo_region_cells_linker(s->cells, name);

        bytes += KERNEL + lpo_trace_text_len(t, name);
        if (linker && linker != name)
            bytes += lpo_trace_text_len(t, linker);
    }
    return bytes + (row->metrics == LPO_NONE ? 0 : METRIC * t->metrics.len);
}

static int more_expensive(const void *x, const void *y, void *scope)
{
    const struct lpo_region_row *rows = ((const struct lpo_region_scope *)scope)->rows.at;
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;

    if (rows[a].all.ns != rows[b].all.ns)
        return rows[a].all.ns > rows[b].all.ns ? -1 : 1;
    if (rows[a].host_ns != rows[b].host_ns)
        return rows[a].host_ns > rows[b].host_ns ? -1 : 1;
    return (a > b) - (a < b); /* a region around others stands before them */
}

/* The most expensive regions that fit into `bytes`, the regions around them and `(outside)`, in the
 * order of the scope. */
static uint32_t *choose(const struct lpo_region_scope *s, size_t bytes, struct lpo_arena *arena,
                        size_t *count)
{
    LPO_FREED uint32_t *order = lpo_xcalloc(s->rows.len + 1, sizeof *order);
    uint32_t *rows = lpo_arena_array(arena, s->rows.len + 1, sizeof *rows);
    LPO_FREED bool *taken = lpo_xcalloc(s->rows.len + 1, sizeof *taken);

    for (size_t i = 0; i < s->rows.len; i++)
        order[i] = (uint32_t)i;
    qsort_r(order, s->rows.len, sizeof *order, more_expensive, (void *)s);
    for (size_t i = 0; i < s->rows.len; i++) {
        const struct lpo_region_row *row = &s->rows.at[order[i]];
        size_t is = region_bytes(s, row);

        if (row->node != LPO_NODE_OUTSIDE && is > bytes)
            break;
        bytes -= is < bytes ? is : bytes;
        for (uint32_t k = order[i]; k != LPO_NONE && !taken[k]; k = s->rows.at[k].parent_row)
            taken[k] = true;
    }
    *count = 0;
    for (size_t i = 0; i < s->rows.len; i++)
        if (taken[i] || s->rows.at[i].node == LPO_NODE_OUTSIDE)
            rows[(*count)++] = (uint32_t)i;
    return rows;
}

/* Sums of what is not listed, so that everything still adds up. */
static void put_left_out(struct lpo_record *to, const struct lpo_region_scope *s,
                         const uint32_t *rows, size_t count)
{
    struct lpo_record *r = lpo_doc_put_record(to, "regions_left_out");
    uint64_t launches = 0;
    int64_t ns = 0;

    for (size_t i = 0, k = 0; i < s->rows.len; i++) {
        if (k < count && rows[k] == i) {
            k++;
            continue;
        }
        launches += s->rows.at[i].self.launches;
        ns += s->rows.at[i].self.ns;
    }
    lpo_doc_put(r, LPO_KV("regions", s->rows.len - count), LPO_KV("launches_exclusive", launches),
                LPO_KV("gpu_ns_exclusive", ns));
}

/* Two scopes with the same rows have the same mark: a scope may be gone when the next is made. */
static uint64_t mark_of(const struct lpo_region_scope *s)
{
    uint64_t mark = 14695981039346656037u;

    for (size_t i = 0; i < s->rows.len; i++) {
        const struct lpo_region_row *r = &s->rows.at[i];
        const uint64_t fields[] = { r->node,
                                    r->all.launches,
                                    (uint64_t)r->all.ns,
                                    r->self.launches,
                                    (uint64_t)r->self.ns,
                                    r->copies.launches,
                                    (uint64_t)r->copies.ns,
                                    r->adopted.launches,
                                    (uint64_t)r->adopted.ns,
                                    r->backward.launches,
                                    (uint64_t)r->backward.ns,
                                    r->recomputed.launches,
                                    (uint64_t)r->recomputed.ns,
                                    r->visits,
                                    (uint64_t)r->host_ns };

        for (size_t k = 0; k < sizeof fields / sizeof *fields; k++)
            mark = (mark ^ fields[k]) * 1099511628211u;
    }
    return mark;
}

static void put_most_expensive(struct lpo_record *r, const struct lpo_analysis *a,
                               struct lpo_scope_id id, size_t bytes)
{
    const struct lpo_region_scope *s = lpo_analysis_scope(a, id);
    size_t count = 0;
    const uint32_t *rows = choose(s, bytes, r->arena, &count);

    if (count < s->rows.len)
        put_left_out(r, s, rows, count);
    put_regions(r, a, id, rows, count);
}

static size_t scope_bytes(const struct lpo_region_scope *s)
{
    size_t bytes = 0;

    for (size_t i = 0; i < s->rows.len; i++)
        bytes += region_bytes(s, &s->rows.at[i]);
    return bytes;
}

/* The aggregate may have half of it, the others share the rest. */
static size_t share_of(const lpo_scope_ids *ids, size_t i, size_t bytes)
{
    return i == 0 ? bytes / 2 : bytes / 2 / (ids->len - 1);
}

void lpo_report_put_scopes(struct lpo_record *to, const struct lpo_analysis *a, bool aggregate)
{
    struct lpo_record *scopes = lpo_doc_put_list(to, "scopes");
    size_t bytes = 0, most = lpo_budget()->json_bytes;
    LPO_FREED lpo_scope_ids ids = { 0 };

    lpo_region_scopes_list(a->cells, &ids);
    for (size_t i = aggregate ? 0 : 1; i < ids.len && bytes <= most; i++)
        bytes += scope_bytes(lpo_analysis_scope(a, ids.at[i]));
    for (size_t i = aggregate ? 0 : 1; i < ids.len; i++) {
        struct lpo_record *r = put_scope_head(scopes, a, ids.at[i]);

        if (bytes > most)
            put_most_expensive(r, a, ids.at[i], share_of(&ids, i, most));
        else
            put_regions(r, a, ids.at[i], NULL, lpo_analysis_scope(a, ids.at[i])->rows.len);
    }
}

struct seen_scope {
    uint64_t mark;
    size_t rows;
    struct lpo_scope_id id;
};

void lpo_report_put_scopes_in(struct lpo_record *to, const struct lpo_analysis *a, bool aggregate,
                              size_t bytes)
{
    struct lpo_record *scopes = lpo_doc_put_list(to, "scopes");
    LPO_FREED LPO_VEC(struct seen_scope) seen = { 0 };
    LPO_FREED lpo_scope_ids ids = { 0 };

    lpo_region_scopes_list(a->cells, &ids);
    for (size_t i = 0; i < ids.len; i++) {
        const struct lpo_region_scope *s = lpo_analysis_scope(a, ids.at[i]);
        struct seen_scope this = { mark_of(s), s->rows.len, ids.at[i] };
        size_t most = share_of(&ids, i, bytes), k = 0;
        struct lpo_record *r;
        LPO_STR same = { 0 };

        if (!aggregate && ids.at[i].kind == LPO_SCOPE_ALL)
            continue;
        r = put_scope_head(scopes, a, ids.at[i]);
        while (k < seen.len && (seen.at[k].mark != this.mark || seen.at[k].rows != this.rows))
            k++;
        if (k < seen.len) {
            lpo_region_scope_add_name(a->trace, seen.at[k].id, &same);
            lpo_doc_put(r, LPO_KV("same_as", lpo_str_text(&same)));
            continue;
        }
        lpo_vec_push(&seen, this);
        put_most_expensive(r, a, ids.at[i], most);
    }
}
