/* SPDX-License-Identifier: Apache-2.0 */
/* The region trees of the page, packed, because a program may mark tens of thousands of regions:
 * one with every region, and one in which families that differ only in numbers are one line. */

#include "analysis/analysis.h"
#include "analysis/wall/wall.h"
#include "region/fold.h"
#include "report/doc/doc.h"
#include "report/page/page.h"
#include "util/pack.h"

enum {
    MOST_REGIONS = 20000,
    KERNELS_OF_REGION = 12,
    MOST_PAIRS = 80000,
    MOST_NAME_BYTES = 1 << 19, /* of one tree: a name may have 4 KB, and a page has 5 MB */
};

/* A line of a tree: one region, or a family of them. */
struct line {
    const struct lpo_region_row *sum;
    const struct lpo_fold_row *family; /* NULL: one region */
    uint32_t parent;                   /* line; LPO_NONE at the top */
    uint32_t fold;                     /* one region: its line of the folded tree, or LPO_NONE */
    const uint32_t *members;           /* rows of the scope */
    uint32_t count;
};

struct trees {
    const struct lpo_region_scope *scope;
    const struct lpo_page_kernels *kernels;
    int64_t *idle_ns; /* per row of the scope, regions inside included */
    int64_t host_ns;
    struct lpo_kernel_row *sums; /* per row of the page's kernels: scratch of add_kernels() */
};

/* How much of the picture a line takes, in either of its widths. A part never takes more than the
 * whole it lies in, so leaving out the smallest never leaves a region without its parent. */
static double size_of(const struct trees *t, const struct lpo_region_row *r)
{
    int64_t total_ns = t->scope->coverage.total.ns;
    double gpu = total_ns > 0 ? (double)r->all.ns / (double)total_ns : 0;
    double host = t->host_ns > 0 ? (double)r->host_ns / (double)t->host_ns : 0;

    return gpu > host ? gpu : host;
}

LPO_COMPARE(larger_first, double, LPO_UP_OF(*b, *a));

/* Which lines fit: those above `size`, and the first `equal` of exactly that size. */
struct cut {
    double size;
    size_t equal;
};

static struct cut find_cut(const struct trees *t, const struct line *lines, size_t count)
{
    struct cut c = { -1, 0 };
    LPO_FREED double *sorted = NULL;

    if (count <= MOST_REGIONS)
        return c;
    sorted = lpo_xrealloc(NULL, count, sizeof *sorted);
    for (size_t i = 0; i < count; i++)
        sorted[i] = size_of(t, lines[i].sum);
    qsort(sorted, count, sizeof *sorted, larger_first);
    c.size = sorted[MOST_REGIONS];
    for (c.equal = MOST_REGIONS; c.equal > 0 && sorted[MOST_REGIONS - c.equal] > c.size;)
        c.equal--;
    return c;
}

static bool fits(struct cut *c, double size)
{
    return size > c->size || (size == c->size && c->equal > 0 && c->equal--);
}

/* One tree while it is written. */
struct walk {
    const struct trees *t;
    struct lpo_record *names, *colors; /* colors: NULL until a region has one */
    struct lpo_record *to;
    uint32_t name_count;
    size_t name_bytes;
    struct lpo_str bytes;
    size_t pairs;
};

static uint32_t name_row(struct walk *w, const struct line *l)
{
    LPO_STR text = { 0 };

    if (l->family)
        lpo_str_add(&text, l->family->name);
    else if (l->sum->node == LPO_NODE_OUTSIDE || l->sum->parent_row == LPO_NONE)
        lpo_region_row_add_path(w->t->scope, l->sum, &text);
    else
        lpo_region_add_name(w->t->scope->cells->tree, l->sum->node, &text);
    lpo_doc_put(w->names, LPO_V(lpo_jv_textn(lpo_str_text(&text), text.len)));
    w->name_bytes += text.len;
    return w->name_count++;
}

LPO_COMPARE(more_time_first, struct lpo_kernel_row, LPO_DOWN(all.ns) ?: LPO_UP(name));

/* The kernels of all members together, by row of the page's list; the caller frees them. */
static struct lpo_kernel_row *kernels_of(const struct trees *t, const struct line *l, size_t *count)
{
    struct lpo_kernel_row *out;
    size_t n = 0;

    for (uint32_t m = 0; m < l->count; m++) {
        const struct lpo_region_row *r = &t->scope->rows.at[l->members[m]];

        for (uint32_t i = 0; i < r->nkernels; i++) {
            const struct lpo_kernel_row *k = &t->scope->kernels.at[r->kernels + i];
            uint32_t row = t->kernels->rows[k->name];

            if (row == LPO_NONE)
                continue;
            n += t->sums[row].all.launches == 0;
            lpo_region_sum_add(&t->sums[row].all, &k->all);
        }
    }
    out = lpo_xcalloc(n + 1, sizeof *out);
    *count = 0;
    /* a second walk instead of a list of touched rows: each is taken and emptied where first met */
    for (uint32_t m = 0; m < l->count; m++) {
        const struct lpo_region_row *r = &t->scope->rows.at[l->members[m]];

        for (uint32_t i = 0; i < r->nkernels; i++) {
            uint32_t row = t->kernels->rows[t->scope->kernels.at[r->kernels + i].name];

            if (row == LPO_NONE || !t->sums[row].all.launches)
                continue;
            out[*count] = t->sums[row];
            out[(*count)++].name = row;
            t->sums[row] = (struct lpo_kernel_row){ 0 };
        }
    }
    qsort(out, *count, sizeof *out, more_time_first);
    return out;
}

static void add_kernels(struct walk *w, const struct line *l)
{
    size_t n, room = MOST_PAIRS - w->pairs;
    LPO_FREED struct lpo_kernel_row *rows = kernels_of(w->t, l, &n);

    n = n < KERNELS_OF_REGION ? n : KERNELS_OF_REGION;
    n = n < room ? n : room;
    w->pairs += n;
    lpo_pack_add(&w->bytes, n);
    for (size_t i = 0; i < n; i++) {
        lpo_pack_add(&w->bytes, rows[i].name);
        lpo_pack_add(&w->bytes, rows[i].all.launches);
        lpo_pack_add_signed(&w->bytes, rows[i].all.ns);
    }
}

static unsigned kind_of(const struct walk *w, const struct lpo_region_row *r)
{
    const struct lpo_region_tree *tree = w->t->scope->cells->tree;
    unsigned kind = r->node == LPO_NODE_OUTSIDE ? 2 : tree->nodes.at[r->node].kind == LPO_START_END;

    return lpo_region_sum_known(&r->all) ? kind : kind + 4;
}

/* The colour that the program gave its ranges of this name. */
static void add_color(struct walk *w, const struct line *l, uint32_t row)
{
    const struct lpo_region_tree *tree = w->t->scope->cells->tree;
    uint32_t node = l->count ? w->t->scope->rows.at[l->members[0]].node : l->sum->node;
    const struct lpo_region *region = node == LPO_NODE_OUTSIDE ? NULL : &tree->nodes.at[node];
    const struct lpo_range_look *look =
        region ? lpo_trace_look(tree->trace, region->name, region->domain) : NULL;
    struct lpo_record *pair;

    if (!look || !look->has_color)
        return;
    if (!w->colors)
        w->colors = lpo_doc_put_list(w->to, "colors");
    pair = lpo_doc_put_list(w->colors, NULL);
    lpo_doc_put(pair, LPO_V(row), LPO_V(lpo_arena_printf(w->to->arena, "#%06x", look->color)));
}

static int64_t idle_of(const struct trees *t, const struct line *l)
{
    int64_t ns = 0;

    for (uint32_t m = 0; m < l->count; m++)
        ns += t->idle_ns[l->members[m]];
    return ns;
}

static void add_line(struct walk *w, const struct line *l, uint32_t back)
{
    const struct lpo_region_row *r = l->sum;

    lpo_pack_add(&w->bytes, back);
    lpo_pack_add(&w->bytes, name_row(w, l));
    lpo_pack_add(&w->bytes, kind_of(w, r));
    lpo_pack_add(&w->bytes, r->visits_known ? r->visits + 1 : 0);
    lpo_pack_add_signed(&w->bytes, r->visits_known ? r->host_ns : 0);
    lpo_pack_add_signed(&w->bytes, r->all.ns);
    lpo_pack_add_signed(&w->bytes, r->self.ns);
    lpo_pack_add(&w->bytes, r->all.launches);
    lpo_pack_add_signed(&w->bytes, r->copies.ns);
    lpo_pack_add(&w->bytes, r->copies.bytes);
    lpo_pack_add_signed(&w->bytes, idle_of(w->t, l));
    if (l->family) {
        lpo_pack_add(&w->bytes, l->family->members);
        lpo_pack_add_signed(&w->bytes, l->family->min_ns);
        lpo_pack_add_signed(&w->bytes, l->family->median_ns);
        lpo_pack_add_signed(&w->bytes, l->family->max_ns);
    } else {
        lpo_pack_add(&w->bytes, l->fold == LPO_NONE ? 0 : l->fold + 1);
    }
    add_kernels(w, l);
}

/* Writes the lines that fit; shown[i] becomes the row of line i in the page, or LPO_NONE. */
static void put_tree(struct lpo_record *to, const struct trees *t, const struct line *lines,
                     size_t count, uint32_t *shown)
{
    struct walk w = { .t = t, .names = lpo_doc_put_list(to, "names"), .to = to };
    struct cut cut = find_cut(t, lines, count);
    uint32_t n = 0;
    LPO_STR text = { 0 };

    for (size_t i = 0; i < count; i++) {
        uint32_t up = lines[i].parent, parent = up == LPO_NONE ? LPO_NONE : shown[up];

        shown[i] = LPO_NONE;
        if (w.name_bytes > MOST_NAME_BYTES || (up != LPO_NONE && parent == LPO_NONE) ||
            !fits(&cut, size_of(t, lines[i].sum)))
            continue;
        add_line(&w, &lines[i], parent == LPO_NONE ? 0 : n - parent);
        add_color(&w, &lines[i], n);
        shown[i] = n++;
    }
    lpo_doc_put(to, LPO_KV("count", n), LPO_KV("left_out", count - n));
    lpo_pack_text(&text, lpo_str_text(&w.bytes), w.bytes.len);
    lpo_doc_put(to, LPO_KV("packed", lpo_jv_textn(lpo_str_text(&text), text.len)));
    lpo_str_free(&w.bytes);
}

/* The folded tree; line_of[i] becomes the row in it of row i of the scope. */
static void put_folded(struct lpo_record *to, const struct trees *t,
                       const struct lpo_region_fold *f, uint32_t *line_of)
{
    size_t n = f->rows.len, rows = t->scope->rows.len;
    LPO_FREED struct line *lines = lpo_xcalloc(n + 1, sizeof *lines);
    LPO_FREED uint32_t *members = lpo_xcalloc(rows + 1, sizeof *members);
    uint32_t *shown = lpo_xcalloc(n + 1, sizeof *shown), at = 0;
    LPO_FREED uint32_t *above =
        lpo_xcalloc(n + 1, sizeof *above); /* per depth: the last line there */

    for (size_t i = 0; i < rows; i++)
        lines[f->line_of[i]].count++;
    for (size_t i = 0; i < n; i++) {
        unsigned depth = f->rows.at[i].depth;

        lines[i].sum = &f->rows.at[i].sum;
        lines[i].family = &f->rows.at[i];
        lines[i].members = members + at;
        at += lines[i].count;
        lines[i].count = 0;
        lines[i].parent = depth ? above[depth - 1] : LPO_NONE;
        above[depth] = (uint32_t)i;
    }
    for (size_t i = 0; i < rows; i++) {
        struct line *l = &lines[f->line_of[i]];

        members[(size_t)(l->members - members) + l->count++] = (uint32_t)i;
    }
    put_tree(to, t, lines, n, shown);
    for (size_t i = 0; i < rows; i++)
        line_of[i] = shown[f->line_of[i]];
    free(shown);
}

static int64_t host_total(const struct lpo_region_scope *s)
{
    int64_t ns = 0;

    for (size_t i = 0; i < s->rows.len; i++)
        if (s->rows.at[i].parent_row == LPO_NONE && s->rows.at[i].visits_known)
            ns += s->rows.at[i].host_ns;
    return ns;
}

/* A gap belongs to the innermost region that launched the operation after it, and to those around
 * that region. */
static int64_t *idle_by_row(const struct lpo_analysis *a, const struct lpo_region_scope *s)
{
    const struct lpo_wall *w = a->timeline ? lpo_analysis_wall(a) : NULL;
    int64_t *ns = lpo_xcalloc(s->rows.len + 1, sizeof *ns);

    for (size_t i = s->rows.len; w && i-- > 0;) {
        const struct lpo_region_row *r = &s->rows.at[i];
        size_t node = r->node == LPO_NODE_OUTSIDE ? s->cells->tree->nodes.len : r->node;

        for (int c = 0; c < LPO_IDLE_CAUSES; c++)
            ns[i] += w->regions[node].ns[c];
        if (r->parent_row != LPO_NONE)
            ns[r->parent_row] += ns[i];
    }
    return ns;
}

uint32_t *lpo_page_put_regions(struct lpo_record *to, const struct lpo_analysis *a,
                               const struct lpo_page_kernels *kernels, bool folded)
{
    const struct lpo_region_scope *s = lpo_analysis_all(a);
    struct lpo_record *regions = lpo_doc_put_record(to, "regions");
    LPO_AUTO(lpo_region_fold) fold = lpo_region_fold_create(s, folded ? 1 : SIZE_MAX);
    size_t n = s->rows.len;
    struct trees t = { s, kernels, idle_by_row(a, s), host_total(s),
                       lpo_xcalloc(kernels->count + 1, sizeof *t.sums) };
    uint32_t *nodes = lpo_xrealloc(NULL, a->tree->nodes.len + 1, sizeof *nodes);
    LPO_FREED uint32_t *shown = lpo_xcalloc(n + 1, sizeof *shown);
    LPO_FREED uint32_t *rows = lpo_xcalloc(n + 1, sizeof *rows);
    LPO_FREED uint32_t *line_of = lpo_xcalloc(n + 1, sizeof *line_of);
    LPO_FREED struct line *lines = lpo_xcalloc(n + 1, sizeof *lines);

    for (size_t i = 0; i < n; i++)
        line_of[i] = LPO_NONE;
    if (fold->rows.len < n)
        put_folded(lpo_doc_put_record(regions, "folded"), &t, fold, line_of);
    for (size_t i = 0; i < n; i++) {
        rows[i] = (uint32_t)i;
        lines[i] = (struct line){
            &s->rows.at[i], NULL, s->rows.at[i].parent_row, line_of[i], &rows[i], 1,
        };
    }
    put_tree(regions, &t, lines, n, shown);
    for (size_t i = 0; i <= a->tree->nodes.len; i++)
        nodes[i] = LPO_NONE;
    for (size_t i = 0; i < n; i++)
        nodes[s->rows.at[i].node == LPO_NODE_OUTSIDE ? a->tree->nodes.len : s->rows.at[i].node] =
            shown[i];
    free(t.sums);
    free(t.idle_ns);
    return nodes;
}
