/* SPDX-License-Identifier: Apache-2.0 */
/* Described rows (table/table.h) as tables for people and as records for machines. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "report/doc/doc.h"
#include "util/arena.h"
#include "util/str.h"

/* One word of a choice: "gpu_ns", "kernel=name", "idle.host_ns=host_ns", "min_ns~2", "numbers?". */
struct chosen {
    const struct lpo_column *column;
    const char *group, *key; /* group: the record that the member is in, or NULL */
    int minor;               /* -1: as described */
    bool if_known;           /* no column, or member, where it is unknown */
};

struct choice {
    struct chosen *at;
    size_t len;
};

static struct chosen read_word(const struct lpo_table_kind *kind, char *word)
{
    char *minor = strchr(word, '~'), *from = strchr(word, '='), *dot, *maybe = strchr(word, '?');
    struct chosen c = { .minor = minor ? atoi(minor + 1) : -1, .key = word, .if_known = maybe };

    if (maybe)
        *maybe = '\0';
    if (minor)
        *minor = '\0';
    if (from)
        *from++ = '\0';
    dot = strchr(word, '.');
    if (dot) {
        *dot = '\0';
        c.group = word;
        c.key = dot + 1;
    }
    c.column = lpo_table_column(kind, from ? from : c.key);
    assert(c.column); /* a mistake of the builder, never of the input */
    c.if_known |= c.column->rare;
    return c;
}

/* The words of `columns`, or every column of the kind. */
static struct choice choose(struct lpo_arena *a, const struct lpo_table_kind *kind,
                            const char *columns)
{
    char *words = columns ? lpo_arena_strdup(a, columns) : NULL, *rest = NULL;
    size_t most = columns ? (strlen(columns) + 1) / 2 + 1 : kind->ncolumns;
    struct choice c = { lpo_arena_array(a, most, sizeof *c.at), 0 };

    if (!columns)
        for (; c.len < kind->ncolumns; c.len++)
            c.at[c.len] =
                (struct chosen){ &kind->columns[c.len], NULL, kind->columns[c.len].key, -1 };
    for (char *w = columns ? strtok_r(words, " ", &rest) : NULL; w; w = strtok_r(NULL, " ", &rest))
        c.at[c.len++] = read_word(kind, w);
    return c;
}

static struct lpo_doc_cell shown_cell(struct lpo_arena *a, const struct lpo_column *column,
                                      const struct lpo_cell *cell)
{
    struct lpo_doc_cell c = { .whole = cell->whole, .real = cell->real, .how = cell->how };

    if (cell->how && column->type == LPO_CELL_TEXT) {
        const char *text = cell->shown ? cell->shown : cell->text;

        c.len = cell->shown ? strlen(text) : cell->len;
        c.text = lpo_arena_strndup(a, text, c.len);
        c.indent = cell->indent;
        if (cell->shown)
            c.full = lpo_arena_strndup(a, cell->text, cell->len);
    } else if (column->type == LPO_CELL_PERCENT) {
        c.real *= 100;
    }
    return c;
}

/* Leaves out the columns that no row has a value for, where that was asked for. */
static void leave_out(struct choice *c, const struct lpo_rows *rows, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < c->len; i++) {
        bool known = !c->at[i].if_known;

        for (size_t row = 0; row < count && !known; row++)
            known = lpo_table_cell(rows, c->at[i].column, row).how != LPO_UNKNOWN;
        if (known)
            c->at[kept++] = c->at[i];
    }
    c->len = kept;
}

struct lpo_table *lpo_doc_table_of(struct lpo_doc *doc, const char *id, const char *title,
                                   const struct lpo_rows *from, const char *columns, size_t most)
{
    struct choice c = choose(doc->arena, from->kind, columns);
    size_t count = most && most < from->count ? most : from->count;
    struct lpo_rows rows = *from;
    struct lpo_column *own;
    struct lpo_table *t;
    LPO_STR scratch = { 0 };

    rows.scratch = &scratch;
    leave_out(&c, &rows, count);
    own = lpo_arena_array(doc->arena, c.len, sizeof *own);
    t = lpo_doc_table(doc, id, title, own, c.len);
    for (size_t i = 0; i < c.len; i++) {
        own[i] = *c.at[i].column;
        own[i].key = c.at[i].key;
        own[i].minor = c.at[i].minor < 0 ? own[i].minor : (unsigned)c.at[i].minor;
        if (own[i].type == LPO_CELL_LIST)
            own[i].type = LPO_CELL_TEXT;
    }
    for (size_t row = 0; row < count; row++)
        for (size_t i = 0; i < c.len; i++) {
            struct lpo_cell cell = lpo_table_cell(&rows, c.at[i].column, row);

            lpo_vec_push(&t->cells, shown_cell(doc->arena, &own[i], &cell));
        }
    if (rows.count > count)
        t->total_rows = rows.count;
    return t;
}

/* Lists of numbers and texts in JSON, as a reader keeps them, become lists of the document. */
static void put_list(struct lpo_record *to, const char *key, const struct lpo_cell *cell)
{
    enum { DEPTH = 4 };
    const char *p = cell->text, *end = p + cell->len;
    struct lpo_record *open[DEPTH + 1] = { to };
    int depth = 0;

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

static void put_cell(struct lpo_record *r, const struct chosen *c, const struct lpo_rows *rows,
                     size_t row)
{
    struct lpo_cell cell = lpo_table_cell(rows, c->column, row);
    struct lpo_measure real = { cell.real, cell.how };

    if (cell.how == LPO_UNKNOWN) {
        if (!c->if_known)
            lpo_doc_put_null(r, c->key);
        return;
    }
    switch (c->column->type) {
    case LPO_CELL_TEXT:
        /* what is no scratch lives as long as the rows */
        (cell.text == rows->scratch->at ? lpo_doc_put_textn
                                        : lpo_doc_put_name)(r, c->key, cell.text, cell.len);
        break;
    case LPO_CELL_LIST:
        put_list(r, c->key, &cell);
        break;
    case LPO_CELL_FLAG:
        lpo_doc_put_flag(r, c->key, cell.whole != 0);
        break;
    case LPO_CELL_COUNT:
    case LPO_CELL_NS:
        lpo_doc_put_int(r, c->key, cell.whole);
        break;
    case LPO_CELL_BYTES:
        lpo_doc_put_whole(r, c->key, real);
        break;
    default:
        lpo_doc_put_measure(r, c->key, real);
    }
}

static void put_members(struct lpo_record *r, const struct choice *c, const struct lpo_rows *from,
                        size_t row)
{
    struct lpo_rows rows = *from;
    struct lpo_record *to = r;
    LPO_STR scratch = { 0 };

    rows.scratch = &scratch;
    for (size_t i = 0; i < c->len; i++) {
        const char *group = c->at[i].group;

        if (i == 0 ? group != NULL : !lpo_streq(group, c->at[i - 1].group))
            to = group ? lpo_doc_put_record(r, group) : r;
        put_cell(to, &c->at[i], &rows, row);
    }
}

void lpo_doc_put_row(struct lpo_record *r, const struct lpo_rows *rows, size_t row,
                     const char *members)
{
    const struct choice c = choose(r->arena, rows->kind, members);

    put_members(r, &c, rows, row);
}

/* What the records of a list are made from. */
struct put_rows {
    struct lpo_rows rows;
    struct choice choice;
    lpo_doc_also *also;
};

static void make_record(const void *ctx, size_t i, struct lpo_record *out)
{
    const struct put_rows *p = ctx;

    put_members(out, &p->choice, &p->rows, i);
    if (p->also)
        p->also(&p->rows, i, out);
}

void lpo_doc_put_rows_and(struct lpo_record *to, const char *key, const struct lpo_rows *rows,
                          const char *members, lpo_doc_also *also)
{
    struct put_rows *p = LPO_NEW(to->arena, struct put_rows);

    *p = (struct put_rows){ *rows, choose(to->arena, rows->kind, members), also };
    lpo_doc_put_stream(to, key, rows->count, make_record, p);
}

void lpo_doc_put_rows(struct lpo_record *to, const char *key, const struct lpo_rows *rows,
                      const char *members)
{
    lpo_doc_put_rows_and(to, key, rows, members, NULL);
}
