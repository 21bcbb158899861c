/* SPDX-License-Identifier: Apache-2.0 */
/* Described rows (table/table.h) as tables for people and as records for machines. */
#include <assert.h>

#include "report/doc/doc.h"

/* One word of a choice. */
struct chosen {
    const struct lpo_column *column;
    const char *group, *key, *title; /* group: the record that the member is in, or NULL */
    int minor;                       /* -1: as described */
    char only_if;                    /* '?': only where it is known; '+': only where above 0 */
};

struct choice {
    struct chosen *at;
    size_t len;
};

/* Cuts a word at a mark, from the end: what is behind it, or NULL. */
static char *cut(char *word, char mark)
{
    char *at = strrchr(word, mark);

    if (!at)
        return NULL;
    *at = '\0';
    return at + 1;
}

static char cut_last(char *word)
{
    size_t len = strlen(word);
    char last = len ? word[len - 1] : '\0';

    if (last != '?' && last != '+')
        return '\0';
    word[len - 1] = '\0';
    return last;
}

/* "idle.host_ns=host_ns:Idle_because_of_the_host~2?" */
static struct chosen read_word(const struct lpo_table_kind *kind, char *word)
{
    struct chosen c = { .only_if = cut_last(word), .key = word };
    const char *minor = cut(word, '~'), *from, *key;
    char *title = cut(word, ':');

    for (char *p = title; p && *p; p++)
        *p = *p == '_' ? ' ' : *p;
    from = cut(word, '=');
    key = cut(word, '.');
    c.group = key ? word : NULL;
    c.key = key ? key : word;
    c.minor = minor ? atoi(minor) : -1;
    c.column = lpo_table_column(kind, from ? from : c.key);
    assert(c.column); /* a mistake of the builder, never of the input */
    c.title = title ? title : c.column->title;
    c.only_if = c.only_if ? c.only_if : c.column->rare ? '?' : '\0';
    return c;
}

static size_t count_words(const char *text)
{
    size_t n = 1;

    for (; *text; text++)
        n += *text == ' ';
    return n;
}

/* The words of `columns`, or every column of the kind. */
static struct choice choose(struct lpo_arena *a, const struct lpo_table_kind *kind,
                            const char *columns)
{
    char *words = columns ? lpo_arena_strdup(a, columns) : NULL, *rest = NULL;
    size_t most = columns ? count_words(columns) : kind->ncolumns;
    struct choice c = { lpo_arena_array(a, most, sizeof *c.at), 0 };

    for (; !columns && c.len < kind->ncolumns; c.len++) {
        const struct lpo_column *x = &kind->columns[c.len];

        c.at[c.len] = (struct chosen){ x, NULL, x->key, x->title, -1, x->rare ? '?' : '\0' };
    }
    for (char *w = columns ? strtok_r(words, " ", &rest) : NULL; w; w = strtok_r(NULL, " ", &rest))
        c.at[c.len++] = read_word(kind, w);
    return c;
}

/* Is this cell worth a column or a member? */
static bool is_wanted(const struct chosen *c, const struct lpo_cell *cell)
{
    return !c->only_if || (cell->how && (c->only_if == '?' || cell->real > 0));
}

/* Leaves out the columns that no row has a value for, where that was asked for. */
static void leave_out(struct choice *c, const struct lpo_rows *rows, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < c->len; i++) {
        bool wanted = !c->at[i].only_if;

        for (size_t row = 0; row < count && !wanted; row++) {
            const struct lpo_cell cell = lpo_table_cell(rows, c->at[i].column, row);

            wanted = is_wanted(&c->at[i], &cell);
        }
        if (wanted)
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
        own[i].title = c.at[i].title;
        own[i].minor = c.at[i].minor < 0 ? own[i].minor : (unsigned)c.at[i].minor;
        if (own[i].type == LPO_CELL_LIST)
            own[i].type = LPO_CELL_TEXT;
    }
    for (size_t row = 0; row < rows.count && row < count + LPO_DOC_REST; row++)
        for (size_t i = 0; i < c.len; i++) {
            struct lpo_cell cell = lpo_table_cell(&rows, c.at[i].column, row);

            lpo_doc_row_cells(t, &cell, 1);
        }
    for (size_t i = count * c.len; i < t->cells.len; i++)
        lpo_vec_push(&t->rest, t->cells.at[i]);
    t->cells.len -= t->rest.len;
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
            lpo_doc_put(open[depth], LPO_V(lpo_jv_textn(from, (size_t)(p - from))));
            p += p < end;
        } else if (*p >= '0' && *p <= '9' && depth) {
            lpo_doc_put(open[depth], LPO_V(strtoll(p, (char **)(uintptr_t)&p, 10)));
        } else {
            p++;
        }
        if (depth == 0)
            return;
    }
}

static void put_cell(struct lpo_record *r, const struct chosen *c, const struct lpo_rows *rows,
                     struct lpo_cell cell)
{
    enum lpo_cell_type type = c->column->type;
    bool whole = type == LPO_CELL_COUNT || type == LPO_CELL_NS;
    struct lpo_measure real = { cell.real, cell.how };
    struct lpo_jv v = type == LPO_CELL_TEXT    ? lpo_jv_name(cell.text, cell.len)
                      : type == LPO_CELL_FLAG  ? lpo_jv_flag(cell.whole != 0)
                      : type == LPO_CELL_BYTES ? lpo_jv_whole(real)
                      : whole                  ? lpo_jv_int(cell.whole)
                                               : lpo_jv_measure(real);

    /* what is no scratch lives as long as the rows */
    v.borrowed = cell.text != rows->scratch->at;
    if (cell.how == LPO_UNKNOWN)
        lpo_doc_put(r, LPO_KV(c->key, lpo_jv_null()));
    else if (type == LPO_CELL_LIST)
        put_list(r, c->key, &cell);
    else
        lpo_doc_put(r, LPO_KV(c->key, v));
}

/* A record in the record is there where its first member is wanted. */
static void put_members(struct lpo_record *r, const struct choice *c, const struct lpo_rows *from,
                        size_t row)
{
    struct lpo_rows rows = *from;
    struct lpo_record *to = r;
    LPO_STR scratch = { 0 };

    rows.scratch = &scratch;
    for (size_t i = 0; i < c->len; i++) {
        const char *group = c->at[i].group;
        bool first = i == 0 ? group != NULL : !lpo_streq(group, c->at[i - 1].group);
        struct lpo_cell cell;

        if (!first && !to)
            continue;
        cell = lpo_table_cell(&rows, c->at[i].column, row);
        if (is_wanted(&c->at[i], &cell)) {
            if (first)
                to = group ? lpo_doc_put_record(r, group) : r;
            put_cell(to, &c->at[i], &rows, cell);
        } else if (first) {
            to = group ? NULL : r;
        }
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
