/* SPDX-License-Identifier: Apache-2.0 */
#include "table/sql.h"

#include <sqlite3.h>
#include <time.h>
#include <unistd.h>

#include "util/budget.h"

enum {
    MOST_TABLES = 64,
    LONGEST_VALUE = 64 << 20,
    LONGEST_QUERY = 1 << 20,
    STEPS_BETWEEN_LOOKS = 100000,
    GUESSED_ROWS = 100000, /* of a table that nobody asked for yet: its rows are not known */
};

/* A table as one connection knows it. */
struct table {
    const struct lpo_table_source *source;
    const void *of;
    struct lpo_rows rows;
    struct lpo_str scratch;
    bool opened, has_ids;
    bool *declaring; /* of the connection: its columns are being declared */
};

struct lpo_table_sql {
    sqlite3 *db;
    struct table tables[MOST_TABLES];
    size_t count;
    bool declaring;
    double end_seconds; /* of the processor: when the query is stopped */
};

/* --- the tables as SQLite sees them ----------------------------------------------------------- */

struct vtab {
    sqlite3_vtab base;
    struct table *table;
};

struct cursor {
    sqlite3_vtab_cursor base;
    size_t row, end;
};

static struct table *table_of(sqlite3_vtab_cursor *c)
{
    return ((struct vtab *)c->pVtab)->table;
}

static void add_columns(struct lpo_str *sql, const struct lpo_table_kind *kind)
{
    for (size_t i = 0; i < kind->ncolumns; i++)
        lpo_str_addf(sql, "%s\"%s\" %s", i ? ", " : "", kind->columns[i].key,
                     lpo_table_sql_type(kind->columns[i].type));
}

static int connect_table(sqlite3 *db, void *aux, int argc, const char *const *argv,
                         sqlite3_vtab **out, char **message)
{
    struct table *table = aux;
    struct vtab *v = lpo_xcalloc(1, sizeof *v);
    LPO_STR sql = { 0 };
    int rc;

    (void)argc, (void)argv, (void)message;
    lpo_str_add(&sql, "create table x(");
    add_columns(&sql, table->source->kind);
    lpo_str_add(&sql, ")");
    v->table = table;
    *out = &v->base;
    *table->declaring = true;
    rc = sqlite3_declare_vtab(db, lpo_str_text(&sql));
    *table->declaring = false;
    return rc;
}

static int disconnect_table(sqlite3_vtab *v)
{
    free(v);
    return SQLITE_OK;
}

/* One row by its id, or all of them. */
static int plan_scan(sqlite3_vtab *v, sqlite3_index_info *info)
{
    const struct table *table = ((struct vtab *)v)->table;
    size_t count = table->opened ? table->rows.count : GUESSED_ROWS;

    info->estimatedCost = (double)count + 1;
    info->estimatedRows = (sqlite3_int64)count;
    for (int i = 0; i < info->nConstraint; i++) {
        if (!info->aConstraint[i].usable || info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ)
            continue;
        if (info->aConstraint[i].iColumn < 0 ||
            (info->aConstraint[i].iColumn == 0 && table->has_ids)) {
            info->aConstraintUsage[i].argvIndex = 1;
            info->idxNum = 1;
            info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
            info->estimatedCost = 1;
            info->estimatedRows = 1;
            break;
        }
    }
    return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *v, sqlite3_vtab_cursor **out)
{
    struct table *table = ((struct vtab *)v)->table;
    struct cursor *c = lpo_xcalloc(1, sizeof *c);

    if (!table->opened) {
        table->opened = true;
        table->rows = table->source->open(table->of);
        table->rows.scratch = &table->scratch;
    }
    *out = &c->base;
    return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *c)
{
    free(c);
    return SQLITE_OK;
}

static int filter_rows(sqlite3_vtab_cursor *base, int plan, const char *text, int argc,
                       sqlite3_value **argv)
{
    struct cursor *c = (struct cursor *)base;
    size_t count = table_of(base)->rows.count;

    (void)text;
    *c = (struct cursor){ c->base, 0, count };
    if (plan == 1 && argc == 1) {
        int64_t id =
            sqlite3_value_type(argv[0]) == SQLITE_INTEGER ? sqlite3_value_int64(argv[0]) : -1;

        c->row = id >= 0 && (size_t)id < count ? (size_t)id : count;
        c->end = c->row < count ? c->row + 1 : count;
    }
    return SQLITE_OK;
}

static int next_row(sqlite3_vtab_cursor *c)
{
    ((struct cursor *)c)->row++;
    return SQLITE_OK;
}

static int is_at_end(sqlite3_vtab_cursor *c)
{
    return ((struct cursor *)c)->row >= ((struct cursor *)c)->end;
}

/* Each event repeats its texts: a path of half a megabyte, open around thousands of kernels, would
 * make a database of gigabytes. */
enum { LONGEST_TEXT = 4096 };

static void return_text(sqlite3_context *out, const struct lpo_cell *cell)
{
    LPO_STR bounded = { 0 };

    if (cell->len > LONGEST_TEXT)
        lpo_str_add_bounded(&bounded, cell->text, cell->len, LONGEST_TEXT);
    sqlite3_result_text(out, bounded.len ? bounded.at : cell->text,
                        (int)(bounded.len ? bounded.len : cell->len), SQLITE_TRANSIENT);
}

static int read_column(sqlite3_vtab_cursor *c, sqlite3_context *out, int column)
{
    const struct lpo_rows *rows = &table_of(c)->rows;
    const struct lpo_column *col = &rows->kind->columns[column];
    struct lpo_cell cell = lpo_table_cell(rows, col, ((struct cursor *)c)->row);

    if (cell.how == LPO_UNKNOWN)
        sqlite3_result_null(out);
    else if (cell.text)
        return_text(out, &cell);
    else if (lpo_table_sql_type(col->type)[0] == 'I')
        sqlite3_result_int64(out, cell.whole);
    else
        sqlite3_result_double(out, cell.real);
    return SQLITE_OK;
}

static int read_rowid(sqlite3_vtab_cursor *c, sqlite3_int64 *out)
{
    *out = (sqlite3_int64)((struct cursor *)c)->row;
    return SQLITE_OK;
}

/* Without xCreate a table is there as soon as its module is. */
static const sqlite3_module module = {
    .xConnect = connect_table,
    .xBestIndex = plan_scan,
    .xDisconnect = disconnect_table,
    .xDestroy = disconnect_table,
    .xOpen = open_cursor,
    .xClose = close_cursor,
    .xFilter = filter_rows,
    .xNext = next_row,
    .xEof = is_at_end,
    .xColumn = read_column,
    .xRowid = read_rowid,
};

/* --- queries ---------------------------------------------------------------------------------- */

static int allow_reading(void *ctx, int action, const char *a, const char *b, const char *c,
                         const char *inside)
{
    const struct lpo_table_sql *sql = ctx;

    (void)a, (void)c, (void)inside;
    if (sql->declaring)
        return SQLITE_OK;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
        return SQLITE_OK;
    case SQLITE_FUNCTION:
        return b && strcmp(b, "load_extension") == 0 ? SQLITE_DENY : SQLITE_OK;
    default:
        return SQLITE_DENY;
    }
}

static int fail_sql(struct lpo_table_sql *sql, struct lpo_err *err)
{
    return lpo_fail(err, LPO_E_USAGE, "%s", sqlite3_errmsg(sql->db));
}

static int register_tables(struct lpo_table_sql *sql, const char *prefix, struct lpo_err *err)
{
    for (size_t i = 0; i < sql->count; i++) {
        char name[80];

        snprintf(name, sizeof name, "%s%s", prefix, sql->tables[i].source->kind->name);
        if (sqlite3_create_module(sql->db, name, &module, &sql->tables[i]) != SQLITE_OK)
            return fail_sql(sql, err);
    }
    return 0;
}

static int connect_to(struct lpo_table_sql *sql, const char *path, const char *prefix,
                      struct lpo_err *err)
{
    if (sqlite3_open_v2(path, &sql->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) !=
        SQLITE_OK)
        return lpo_fail(err, LPO_E_IO, "cannot open a database: %s", sqlite3_errmsg(sql->db));
    return register_tables(sql, prefix, err);
}

int lpo_table_sql_open(const struct lpo_table_source *sources, const void *of,
                       struct lpo_table_sql **out, struct lpo_err *err)
{
    LPO_AUTO(lpo_table_sql) sql = lpo_xcalloc(1, sizeof *sql);

    for (; sources[sql->count].kind && sql->count < MOST_TABLES; sql->count++)
        sql->tables[sql->count] = (struct table){
            .source = &sources[sql->count],
            .of = of,
            .declaring = &sql->declaring,
            .has_ids = strcmp(sources[sql->count].kind->columns[0].key, "id") == 0,
        };
    *out = sql;
    sql = NULL;
    (void)err;
    return 0;
}

void lpo_table_sql_destroy(struct lpo_table_sql *sql)
{
    if (!sql)
        return;
    sqlite3_close(sql->db);
    for (size_t i = 0; i < sql->count; i++)
        lpo_str_free(&sql->tables[i].scratch);
    free(sql);
}

static void take_value(sqlite3_stmt *s, int i, struct lpo_cell *cell, enum lpo_cell_type *type)
{
    switch (sqlite3_column_type(s, i)) {
    case SQLITE_INTEGER:
        *type = LPO_CELL_COUNT;
        *cell = lpo_cell_whole(sqlite3_column_int64(s, i));
        return;
    case SQLITE_FLOAT:
        *type = LPO_CELL_MEASURE;
        *cell = lpo_cell_measure(lpo_measure_computed(sqlite3_column_double(s, i)));
        return;
    case SQLITE_NULL:
        *type = LPO_CELL_TEXT;
        *cell = lpo_cell_unknown();
        return;
    default:
        *type = LPO_CELL_TEXT;
        *cell = lpo_cell_text((const char *)sqlite3_column_text(s, i));
        if (cell->how)
            cell->len = (size_t)sqlite3_column_bytes(s, i);
    }
}

/* An agent's query that never ends must not be its end, either. */
static double processor_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int is_out_of_time(void *ctx)
{
    const struct lpo_table_sql *sql = ctx;

    return processor_seconds() > sql->end_seconds;
}

static int fail_query(const struct lpo_table_sql *sql, int rc, struct lpo_err *err)
{
    if (rc != SQLITE_INTERRUPT)
        return lpo_fail(err, LPO_E_USAGE, "%s", sqlite3_errmsg(sql->db));
    return lpo_fail(err, LPO_E_LIMIT,
                    "the query was stopped after %g s of work (" LPO_BUDGET_HINT ")",
                    lpo_budget()->query_seconds);
}

static int give_rows(struct lpo_table_sql *sql, sqlite3_stmt *s, lpo_table_each *each, void *ctx,
                     struct lpo_err *err)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    size_t n = (size_t)sqlite3_column_count(s);
    const char **names = lpo_arena_array(a, n + 1, sizeof *names);
    struct lpo_table_result r = { n, names, lpo_arena_array(a, n + 1, sizeof *r.cells),
                                  lpo_arena_array(a, n + 1, sizeof *r.types) };
    struct lpo_cell *cells = r.cells;
    int rc;

    for (size_t i = 0; i < n; i++)
        names[i] = lpo_arena_strdup(a, sqlite3_column_name(s, (int)i));
    r.cells = NULL;
    if (!each(ctx, &r))
        return 0;
    r.cells = cells;
    while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
        for (size_t i = 0; i < n; i++)
            take_value(s, (int)i, &r.cells[i], &r.types[i]);
        if (!each(ctx, &r))
            return 0;
    }
    return rc == SQLITE_DONE ? 0 : fail_query(sql, rc, err);
}

int lpo_table_sql_query(struct lpo_table_sql *sql, const char *query, lpo_table_each *each,
                        void *ctx, struct lpo_err *err)
{
    sqlite3_stmt *s = NULL;
    const char *rest = NULL;
    int rc = sql->db ? 0 : connect_to(sql, ":memory:", "", err);

    if (rc < 0)
        return rc;
    sqlite3_limit(sql->db, SQLITE_LIMIT_LENGTH, LONGEST_VALUE);
    sqlite3_limit(sql->db, SQLITE_LIMIT_SQL_LENGTH, LONGEST_QUERY);
    sqlite3_set_authorizer(sql->db, allow_reading, sql);
    sql->end_seconds = processor_seconds() + lpo_budget()->query_seconds;
    sqlite3_progress_handler(sql->db, STEPS_BETWEEN_LOOKS, is_out_of_time, sql);
    if (sqlite3_prepare_v2(sql->db, query, -1, &s, &rest) != SQLITE_OK)
        rc = fail_sql(sql, err);
    else if (!s)
        rc = lpo_fail(err, LPO_E_USAGE, "the query is empty");
    else if (rest[strspn(rest, " \t\r\n;")])
        rc = lpo_fail(err, LPO_E_USAGE, "one query at a time; another begins at '%.40s'", rest);
    else
        rc = give_rows(sql, s, each, ctx, err);
    sqlite3_finalize(s);
    return rc;
}

/* --- a database of their own ------------------------------------------------------------------ */

static void add_quoted(struct lpo_str *sql, const char *text)
{
    lpo_str_addc(sql, '\'');
    for (const char *p = text ? text : ""; *p; p++) {
        if (*p == '\'')
            lpo_str_addc(sql, '\'');
        lpo_str_addc(sql, *p);
    }
    lpo_str_addc(sql, '\'');
}

/* The table "columns": what each column of each table means. */
static void add_meanings(struct lpo_str *sql, const struct lpo_table_kind *kind)
{
    for (size_t i = 0; i < kind->ncolumns; i++) {
        const struct lpo_column *c = &kind->columns[i];

        lpo_str_addf(sql, "insert into columns values ('%s', '%s', ", kind->name, c->key);
        add_quoted(sql, c->unit);
        lpo_str_add(sql, ", ");
        add_quoted(sql, c->meaning);
        lpo_str_add(sql, ");");
    }
}

static int write_tables(struct lpo_table_sql *sql, struct lpo_err *err)
{
    LPO_STR text = { 0 };

    lpo_str_add(&text, "pragma journal_mode = off; pragma synchronous = off; begin;"
                       "create table columns(\"table\" TEXT, \"column\" TEXT, unit TEXT, "
                       "meaning TEXT);");
    for (size_t i = 0; i < sql->count; i++) {
        const struct lpo_table_kind *kind = sql->tables[i].source->kind;

        lpo_str_addf(&text, "create table \"%s\"(", kind->name);
        add_columns(&text, kind);
        lpo_str_addf(&text, "); insert into \"%s\" select * from \"from_%s\";", kind->name,
                     kind->name);
        add_meanings(&text, kind);
    }
    lpo_str_add(&text, "commit;");
    if (sqlite3_exec(sql->db, lpo_str_text(&text), NULL, NULL, NULL) != SQLITE_OK)
        return lpo_fail(err, LPO_E_IO, "%s", sqlite3_errmsg(sql->db));
    return 0;
}

int lpo_table_sql_export(struct lpo_table_sql *sql, const char *path, struct lpo_err *err)
{
    LPO_STR part = { 0 };
    int rc;

    lpo_str_addf(&part, "%s.part", path);
    unlink(lpo_str_text(&part)); /* of an export that was interrupted */
    sqlite3_close(sql->db);
    sql->db = NULL;
    rc = connect_to(sql, lpo_str_text(&part), "from_", err);
    if (rc == 0)
        rc = write_tables(sql, err);
    sqlite3_close(sql->db);
    sql->db = NULL;
    if (rc == 0 && rename(lpo_str_text(&part), path) < 0)
        rc = lpo_fail_errno(err, "cannot make '%s'", path);
    if (rc < 0)
        unlink(lpo_str_text(&part));
    return rc < 0 ? lpo_ctx(err, "cannot write '%s'", path) : 0;
}
