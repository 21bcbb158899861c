/* SPDX-License-Identifier: Apache-2.0 */
/* The scopes of report.json: the most expensive regions where all of them would be too much. */
#include "report/short_scopes.h"

#include <stdlib.h>

#include "analysis/analysis.h"
#include "region/scope.h"
#include "report/doc/doc.h"
#include "report/trace_records.h"
#include "util/arena.h"
#include "util/budget.h"
#include "util/str.h"

/* About what a region takes as JSON: names are the most of it. */
static size_t region_bytes(const struct lpo_region_scope *s, const struct lpo_region_row *row)
{
    enum { MEMBERS = 320, KERNEL = 150, METRIC = 120 };
    const struct lpo_trace *t = s->cells->tree->trace;
    size_t bytes = MEMBERS;

    if (row->node != LPO_NODE_OUTSIDE)
        bytes += 2 * (size_t)s->cells->tree->nodes.at[row->node].path_bytes;
    for (uint32_t i = 0; i < lpo_report_listed_kernels(row); i++) {
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
    uint32_t *order = lpo_xcalloc(s->rows.len + 1, sizeof *order);
    uint32_t *rows = lpo_arena_array(arena, s->rows.len + 1, sizeof *rows);
    bool *taken = lpo_xcalloc(s->rows.len + 1, sizeof *taken);

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
    free(order);
    free(taken);
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
    lpo_doc_put_uint(r, "regions", s->rows.len - count);
    lpo_doc_put_uint(r, "launches_exclusive", launches);
    lpo_doc_put_int(r, "gpu_ns_exclusive", ns);
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
    lpo_report_put_regions(r, a, id, rows, count);
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
    lpo_scope_ids ids = { 0 };

    lpo_region_scopes_list(a->cells, &ids);
    for (size_t i = aggregate ? 0 : 1; i < ids.len && bytes <= most; i++)
        bytes += scope_bytes(lpo_analysis_scope(a, ids.at[i]));
    for (size_t i = aggregate ? 0 : 1; i < ids.len; i++) {
        struct lpo_record *r = lpo_report_put_scope_head(scopes, a, ids.at[i]);

        if (bytes > most)
            put_most_expensive(r, a, ids.at[i], share_of(&ids, i, most));
        else
            lpo_report_put_regions(r, a, ids.at[i], NULL,
                                   lpo_analysis_scope(a, ids.at[i])->rows.len);
    }
    lpo_vec_free(&ids);
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
    LPO_VEC(struct seen_scope) seen = { 0 };
    lpo_scope_ids ids = { 0 };

    lpo_region_scopes_list(a->cells, &ids);
    for (size_t i = 0; i < ids.len; i++) {
        const struct lpo_region_scope *s = lpo_analysis_scope(a, ids.at[i]);
        struct seen_scope this = { mark_of(s), s->rows.len, ids.at[i] };
        size_t most = share_of(&ids, i, bytes), k = 0;
        struct lpo_record *r;
        LPO_STR same = { 0 };

        if (!aggregate && ids.at[i].kind == LPO_SCOPE_ALL)
            continue;
        r = lpo_report_put_scope_head(scopes, a, ids.at[i]);
        while (k < seen.len && (seen.at[k].mark != this.mark || seen.at[k].rows != this.rows))
            k++;
        if (k < seen.len) {
            lpo_region_scope_add_name(a->trace, seen.at[k].id, &same);
            lpo_doc_put_text(r, "same_as", lpo_str_text(&same));
            continue;
        }
        lpo_vec_push(&seen, this);
        put_most_expensive(r, a, ids.at[i], most);
    }
    lpo_vec_free(&seen);
    lpo_vec_free(&ids);
}
