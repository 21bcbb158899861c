/* SPDX-License-Identifier: Apache-2.0 */
#include "report/region_rows.h"

#include <stdlib.h>
#include <string.h>

#include "region/select.h"
#include "region/tree.h"
#include "rundir/rundir.h"
#include "trace/reader.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/path.h"
#include "util/str.h"
#include "util/vec.h"

enum { MOST_BYTES = 512 << 20 };

struct row {
    const char *at;
    size_t len; /* with its line end */
};

/* One raw page: its rows as text, and the place of each as the trace reader understands it. */
struct page {
    struct lpo_file_text *text;
    struct lpo_trace *trace;
    struct lpo_region_tree *tree;
    bool *in;                 /* by name: the kernels that the patterns allow; NULL: all */
    LPO_VEC(struct row) rows; /* names, units, then one for each GPU operation */
};

struct lpo_region_rows {
    LPO_VEC(struct page) pages;
};

/* Lines that do not begin with a quote are messages of the tool. A quoted cell may hold line ends.
 */
static void split(struct page *p)
{
    const char *at = p->text->at, *end = at + p->text->len;

    while (at < end) {
        const char *from = at;
        bool quoted = false;

        for (; at < end && (quoted || *at != '\n'); at++)
            quoted ^= *at == '"';
        at += at < end;
        if (*from == '"')
            lpo_vec_push(&p->rows, (struct row){ from, (size_t)(at - from) });
    }
}

static void free_page(struct page *p)
{
    lpo_region_tree_destroy(p->tree);
    lpo_trace_destroy(p->trace);
    lpo_file_text_destroy(p->text);
    free(p->in);
    lpo_vec_free(&p->rows);
}

/* Where rows and results do not pair up, which row is whose would be a guess. */
static bool read_page(const char *path, const struct lpo_source *s, struct page *out)
{
    struct lpo_err why = { 0 };

    *out = (struct page){ .trace = lpo_trace_create() };
    if (lpo_file_text_read_limit(path, MOST_BYTES, &out->text, NULL) < 0 ||
        lpo_trace_read(path, out->trace, &why) < 0)
        return false;
    split(out);
    out->tree = lpo_region_tree_create(out->trace);
    out->in = s->select ? lpo_region_selection_kernels(s->select, out->trace) : NULL;
    return out->rows.len >= 2 && out->rows.len - 2 == out->trace->gpu_ops.len;
}

/* Of a run alone: a raw.csv beside any other report may be of something else. */
struct lpo_region_rows *lpo_report_region_rows_create(const struct lpo_rundir *d)
{
    const struct lpo_source *s = lpo_rundir_source_with(d, LPO_ROLE_COUNTERS);
    struct lpo_region_rows *rows = lpo_xcalloc(1, sizeof *rows);
    const char *last = NULL;

    for (size_t i = 0; s && d->dir && i < s->nfiles; i++) {
        const char *folder = lpo_path_dir(d->arena, s->files[i]);
        const char *raw = lpo_rundir_path(d, lpo_path_join(d->arena, folder, "raw.csv"));
        struct page page;

        if ((last && strcmp(last, folder) == 0) || !lpo_path_exists(raw))
            continue;
        last = folder;
        if (read_page(raw, s, &page))
            lpo_vec_push(&rows->pages, page);
        else
            free_page(&page);
    }
    if (rows->pages.len)
        return rows;
    lpo_report_region_rows_destroy(rows);
    return NULL;
}

void lpo_report_region_rows_destroy(struct lpo_region_rows *rows)
{
    if (!rows)
        return;
    for (size_t i = 0; i < rows->pages.len; i++)
        free_page(&rows->pages.at[i]);
    lpo_vec_free(&rows->pages);
    free(rows);
}

/* The node at this path; LPO_NONE: the page has no kernel there. */
static uint32_t find_node(const struct lpo_region_tree *tree, const char *path, size_t len)
{
    for (size_t i = 0; i < tree->nodes.len; i++) {
        LPO_STR text = { 0 };

        if (tree->nodes.at[i].path_bytes != len)
            continue;
        lpo_region_add_path(tree, (uint32_t)i, &text);
        if (text.len == len && memcmp(text.at, path, len) == 0)
            return (uint32_t)i;
    }
    return LPO_NONE;
}

static bool is_in(const struct lpo_region_tree *tree, const struct lpo_place *place, uint32_t node)
{
    const struct lpo_region_set *set = &tree->sets.at[place->set];

    for (uint32_t at = place->leaf; at != LPO_NONE; at = tree->nodes.at[at].parent)
        if (at == node)
            return true;
    for (uint32_t i = 0; i < set->count; i++)
        if (tree->set_nodes.at[set->first + i] == node)
            return true;
    return false;
}

static void add_page(const struct page *p, const char *path, size_t len, struct lpo_str *out)
{
    bool outside = len == strlen("(outside)") && memcmp(path, "(outside)", len) == 0;
    uint32_t node = outside ? LPO_NONE : find_node(p->tree, path, len);

    if (node == LPO_NONE && !outside)
        return;
    for (size_t i = 0; i < p->trace->gpu_ops.len; i++) {
        const struct lpo_gpu_op *op = &p->trace->gpu_ops.at[i];
        const struct lpo_place *place = &p->tree->places.at[lpo_region_place(p->tree, op)];
        const struct row *row = &p->rows.at[i + 2];

        if (p->in && !p->in[op->name])
            continue;
        if (outside ? place->leaf == LPO_NONE && !p->tree->sets.at[place->set].count
                    : is_in(p->tree, place, node))
            lpo_str_addn(out, row->at, row->len);
    }
}

void lpo_report_region_rows_add(const struct lpo_region_rows *rows, const char *path, size_t len,
                                struct lpo_str *out)
{
    const struct page *first = &rows->pages.at[0];

    for (size_t i = 0; i < 2; i++)
        lpo_str_addn(out, first->rows.at[i].at, first->rows.at[i].len);
    for (size_t i = 0; i < rows->pages.len; i++) {
        const struct page *p = &rows->pages.at[i];

        /* columns of another capture would stand under the wrong names */
        if (p->rows.at[0].len == first->rows.at[0].len &&
            memcmp(p->rows.at[0].at, first->rows.at[0].at, p->rows.at[0].len) == 0)
            add_page(p, path, len, out);
    }
}
