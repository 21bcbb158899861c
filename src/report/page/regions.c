/* SPDX-License-Identifier: Apache-2.0 */
/* The region tree of the page: packed, because a program may mark tens of thousands of regions. */
#include <stdlib.h>

#include "analysis/analysis.h"
#include "region/scope.h"
#include "region/tree.h"
#include "report/doc/doc.h"
#include "report/page/page.h"
#include "trace/trace.h"
#include "util/pack.h"
#include "util/str.h"
#include "util/xmalloc.h"

enum { MOST_REGIONS = 20000, KERNELS_OF_REGION = 12, MOST_PAIRS = 80000 };

/* How much of the picture a region takes, in either of its widths. A part never takes more than the
 * whole it lies in, so leaving out the smallest never leaves a region without its parent. */
static double size_of(const struct lpo_region_scope *s, const struct lpo_region_row *r,
                      int64_t host_ns)
{
    double gpu = s->coverage.total.ns > 0 ? (double)r->all.ns / (double)s->coverage.total.ns : 0;
    double host = host_ns > 0 ? (double)r->host_ns / (double)host_ns : 0;

    return gpu > host ? gpu : host;
}

static int larger_first(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;

    return a > b ? -1 : a < b;
}

/* Which regions fit: those above `size`, and the first `equal` of exactly that size. */
struct cut {
    double size;
    size_t equal;
};

static struct cut find_cut(const double *sizes, size_t count)
{
    struct cut c = { -1, 0 };
    double *sorted;

    if (count <= MOST_REGIONS)
        return c;
    sorted = lpo_xrealloc(NULL, count, sizeof *sorted);
    for (size_t i = 0; i < count; i++)
        sorted[i] = sizes[i];
    qsort(sorted, count, sizeof *sorted, larger_first);
    c.size = sorted[MOST_REGIONS];
    for (c.equal = MOST_REGIONS; c.equal > 0 && sorted[MOST_REGIONS - c.equal] > c.size;)
        c.equal--;
    free(sorted);
    return c;
}

static bool fits(struct cut *c, double size)
{
    return size > c->size || (size == c->size && c->equal > 0 && c->equal--);
}

struct walk {
    const struct lpo_region_scope *scope;
    const struct lpo_page_kernels *kernels;
    struct lpo_record *names;
    uint32_t name_count;
    struct lpo_str bytes;
    size_t pairs;
};

static uint32_t name_row(struct walk *w, const struct lpo_region_row *r)
{
    LPO_STR text = { 0 };

    if (r->node == LPO_NODE_OUTSIDE)
        lpo_region_row_add_path(w->scope, r, &text);
    else
        lpo_region_add_name(w->scope->cells->tree, r->node, &text);
    lpo_doc_put_textn(w->names, NULL, lpo_str_text(&text), text.len);
    return w->name_count++;
}

static void add_kernels(struct walk *w, const struct lpo_region_row *r)
{
    uint32_t shown[KERNELS_OF_REGION];
    size_t n = 0;

    for (uint32_t i = 0; i < r->nkernels && n < KERNELS_OF_REGION && w->pairs < MOST_PAIRS; i++) {
        if (w->kernels->rows[w->scope->kernels.at[r->kernels + i].name] == LPO_NONE)
            continue;
        shown[n++] = r->kernels + i;
        w->pairs++;
    }
    lpo_pack_add(&w->bytes, n);
    for (size_t i = 0; i < n; i++) {
        const struct lpo_kernel_row *k = &w->scope->kernels.at[shown[i]];

        lpo_pack_add(&w->bytes, w->kernels->rows[k->name]);
        lpo_pack_add(&w->bytes, k->all.launches);
        lpo_pack_add_signed(&w->bytes, k->all.ns);
    }
}

static void add_region(struct walk *w, const struct lpo_region_row *r, uint32_t row,
                       uint32_t parent)
{
    const struct lpo_region_tree *tree = w->scope->cells->tree;
    bool outside = r->node == LPO_NODE_OUTSIDE;

    lpo_pack_add(&w->bytes, parent == LPO_NONE ? 0 : row - parent);
    lpo_pack_add(&w->bytes, name_row(w, r));
    lpo_pack_add(&w->bytes, outside ? 2 : tree->nodes.at[r->node].kind == LPO_START_END);
    lpo_pack_add(&w->bytes, r->visits_known ? r->visits + 1 : 0);
    lpo_pack_add_signed(&w->bytes, r->visits_known ? r->host_ns : 0);
    lpo_pack_add_signed(&w->bytes, r->all.ns);
    lpo_pack_add_signed(&w->bytes, r->self.ns);
    lpo_pack_add(&w->bytes, r->all.launches);
    lpo_pack_add_signed(&w->bytes, r->copies.ns);
    add_kernels(w, r);
}

static int64_t host_total(const struct lpo_region_scope *s)
{
    int64_t ns = 0;

    for (size_t i = 0; i < s->rows.len; i++)
        if (s->rows.at[i].parent_row == LPO_NONE && s->rows.at[i].visits_known)
            ns += s->rows.at[i].host_ns;
    return ns;
}

uint32_t *lpo_page_put_regions(struct lpo_record *to, const struct lpo_analysis *a,
                               const struct lpo_page_kernels *kernels)
{
    const struct lpo_region_scope *s = lpo_analysis_all(a);
    struct lpo_record *regions = lpo_doc_put_record(to, "regions");
    struct walk w = { .scope = s, .kernels = kernels };
    uint32_t *nodes = lpo_xrealloc(NULL, a->tree->nodes.len + 1, sizeof *nodes);
    uint32_t *shown = lpo_xrealloc(NULL, s->rows.len + 1, sizeof *shown), count = 0;
    double *sizes = lpo_xrealloc(NULL, s->rows.len + 1, sizeof *sizes);
    int64_t host_ns = host_total(s);
    struct cut cut;
    LPO_STR text = { 0 };

    for (size_t i = 0; i < a->tree->nodes.len; i++)
        nodes[i] = LPO_NONE;
    for (size_t i = 0; i < s->rows.len; i++)
        sizes[i] = size_of(s, &s->rows.at[i], host_ns);
    cut = find_cut(sizes, s->rows.len);
    w.names = lpo_doc_put_list(regions, "names");
    for (size_t i = 0; i < s->rows.len; i++) {
        const struct lpo_region_row *r = &s->rows.at[i];
        uint32_t parent = r->parent_row == LPO_NONE ? LPO_NONE : shown[r->parent_row];

        shown[i] = LPO_NONE;
        if ((r->parent_row != LPO_NONE && parent == LPO_NONE) || !fits(&cut, sizes[i]))
            continue;
        add_region(&w, r, count, parent);
        if (r->node != LPO_NODE_OUTSIDE)
            nodes[r->node] = count;
        shown[i] = count++;
    }
    lpo_doc_put_uint(regions, "count", count);
    lpo_doc_put_uint(regions, "left_out", s->rows.len - count);
    lpo_pack_text(&text, lpo_str_text(&w.bytes), w.bytes.len);
    lpo_doc_put_textn(regions, "packed", lpo_str_text(&text), text.len);
    lpo_str_free(&w.bytes);
    free(sizes);
    free(shown);
    return nodes;
}
