/* SPDX-License-Identifier: Apache-2.0 */
#include "report/region_rows.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/analysis.h"
#include "region/select.h"
#include "rundir/rundir.h"
#include "trace/reader.h"
#include "util/path.h"

enum { MOST_BYTES = 512 << 20 };

struct row {
    uint64_t offset;
    size_t len; /* with its line end */
};

/* One raw page: where its rows are, and the place of each as the trace reader understands it. The
 * text stays in the file, since a page of thousands of kernels is larger than all that is made of
 * it. */
struct page {
    FILE *file;
    const struct lpo_trace *trace;
    const struct lpo_region_tree *tree;
    struct lpo_trace *own_trace; /* NULL where the page is what the run's trace was read from */
    struct lpo_region_tree *own_tree;
    bool *in;                 /* by name: the kernels that the patterns allow; NULL: all */
    LPO_VEC(struct row) rows; /* names, units, then one for each GPU operation */
};

struct lpo_region_rows {
    LPO_VEC(struct page) pages;
};

/* In steps of a fixed size, which the compiler counts many bytes at a time. */
static size_t count_quotes(const char *at, size_t len)
{
    enum { STEP = 64 };
    size_t n = 0, i = 0;

    for (; i + STEP <= len; i += STEP) {
        unsigned char here = 0;

        for (size_t k = 0; k < STEP; k++)
            here += at[i + k] == '"';
        n += here;
    }
    for (; i < len; i++)
        n += at[i] == '"';
    return n;
}

/* The row that the next bytes belong to. */
struct splitting {
    uint64_t from;
    bool quoted;  /* inside a cell, where a line end is text */
    bool message; /* of the tool: such a line does not begin with a quote */
};

static void end_row(struct page *p, struct splitting *s, uint64_t end)
{
    if (!s->message && end > s->from)
        lpo_vec_push(&p->rows, (struct row){ s->from, (size_t)(end - s->from) });
    *s = (struct splitting){ .from = end };
}

static void split_block(struct page *p, struct splitting *s, uint64_t offset, const char *block,
                        size_t len)
{
    for (size_t at = 0; at < len;) {
        const char *line_end = memchr(block + at, '\n', len - at);
        size_t next = line_end ? (size_t)(line_end - block) + 1 : len;

        if (offset + at == s->from)
            s->message = block[at] != '"';
        s->quoted ^= count_quotes(block + at, next - at) & 1;
        at = next;
        if (line_end && !s->quoted)
            end_row(p, s, offset + at);
    }
}

static bool split(struct page *p)
{
    enum { BLOCK = 64 << 10 };
    LPO_FREED char *block = lpo_xmalloc(BLOCK);
    struct splitting s = { 0 };
    uint64_t offset = 0;
    size_t n;

    while (offset <= MOST_BYTES && (n = fread(block, 1, BLOCK, p->file)) > 0) {
        split_block(p, &s, offset, block, n);
        offset += n;
    }
    end_row(p, &s, offset);
    return offset <= MOST_BYTES && !ferror(p->file);
}

static void free_page(struct page *p)
{
    lpo_region_tree_destroy(p->own_tree);
    lpo_trace_destroy(p->own_trace);
    if (p->file)
        fclose(p->file);
    free(p->in);
    lpo_vec_free(&p->rows);
}

/* A plain file alone: a pipe could be read only once, and keep a report waiting. */
static FILE *open_page(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;

    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        return fdopen(fd, "r");
    if (fd >= 0)
        close(fd);
    return NULL;
}

/* Counters are not asked for: ncu's own rows are copied, whatever is in them. */
static bool read_trace(const char *path, struct page *p)
{
    struct lpo_err why = { 0 };

    p->own_trace = lpo_trace_create();
    p->own_trace->skip |= LPO_SKIP_METRICS;
    if (lpo_trace_read(path, p->own_trace, &why) < 0)
        return false;
    p->own_tree = lpo_region_tree_create(p->own_trace);
    p->trace = p->own_trace;
    p->tree = p->own_tree;
    return true;
}

/* Where rows and results do not pair up, which row is whose would be a guess. */
static bool read_page(const char *path, const struct lpo_source *s, bool same, struct page *out)
{
    *out = (struct page){ .file = open_page(path) };
    if (!out->file || !split(out))
        return false;
    if (same) {
        out->trace = s->analysis->trace;
        out->tree = s->analysis->tree;
    } else if (!read_trace(path, out)) {
        return false;
    }
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
        const char *name = lpo_path_join(d->arena, folder, "raw.csv");
        const char *raw = lpo_rundir_path(d, name);
        bool same = s->nfiles == 1 && strcmp(name, s->files[0]) == 0 && s->analysis;
        struct page page;

        if ((last && strcmp(last, folder) == 0) || !lpo_path_exists(raw))
            continue;
        last = folder;
        if (read_page(raw, s, same, &page))
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
    return lpo_any(i, set->count, tree->set_nodes.at[set->first + i] == node);
}

/* Rows of the region, gathered while they follow each other in the file: those are one read. */
struct run_of_rows {
    uint64_t offset;
    size_t len;
};

static void add_run(const struct page *p, const struct run_of_rows *run, struct lpo_str *out)
{
    char *text = lpo_str_room(out, run->len);

    if (pread(fileno(p->file), text, run->len, (off_t)run->offset) == (ssize_t)run->len)
        out->len += run->len;
    else
        *text = '\0';
}

static void add_row(const struct page *p, struct run_of_rows *run, size_t row, struct lpo_str *out)
{
    const struct row *r = &p->rows.at[row];

    if (run->offset + run->len != r->offset) {
        add_run(p, run, out);
        *run = (struct run_of_rows){ r->offset, 0 };
    }
    run->len += r->len;
}

static void add_page(const struct page *p, const char *path, size_t len, struct lpo_str *out)
{
    bool outside = len == strlen("(outside)") && memcmp(path, "(outside)", len) == 0;
    uint32_t node = outside ? LPO_NONE : find_node(p->tree, path, len);
    struct run_of_rows run = { 0 };

    if (node == LPO_NONE && !outside)
        return;
    for (size_t i = 0; i < p->trace->gpu_ops.len; i++) {
        const struct lpo_gpu_op *op = &p->trace->gpu_ops.at[i];
        const struct lpo_place *place = &p->tree->places.at[lpo_region_place(p->tree, op)];

        if (p->in && !p->in[op->name])
            continue;
        if (outside ? place->leaf == LPO_NONE && !p->tree->sets.at[place->set].count
                    : is_in(p->tree, place, node))
            add_row(p, &run, i + 2, out);
    }
    add_run(p, &run, out);
}

void lpo_report_region_rows_add(const struct lpo_region_rows *rows, const char *path, size_t len,
                                struct lpo_str *out)
{
    LPO_STR names = { 0 };

    for (size_t i = 0; i < rows->pages.len; i++) {
        const struct page *p = &rows->pages.at[i];
        LPO_STR own = { 0 };

        add_run(p, &(struct run_of_rows){ p->rows.at[0].offset, p->rows.at[0].len }, &own);
        if (i == 0) {
            names = own;
            own = (struct lpo_str){ 0 };
            lpo_str_addn(out, names.at, names.len);
            add_run(p, &(struct run_of_rows){ p->rows.at[1].offset, p->rows.at[1].len }, out);
        } else if (own.len != names.len || (own.len && memcmp(own.at, names.at, own.len) != 0)) {
            continue; /* columns of another capture would stand under the wrong names */
        }
        add_page(p, path, len, out);
    }
}
