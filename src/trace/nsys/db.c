/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/nsys/db.h"

#include <ctype.h>
#include <malloc.h>
#include <sys/stat.h>
#include <time.h>

#include "trace/nsys/private.h"
#include "util/budget.h"
#include "util/unpack.h"

struct lpo_nsys {
    struct lpo_nsys_tables given; /* how readers see it */
    sqlite3 *db;
    struct lpo_unpack_file *file;
    struct lpo_arena *arena;
    LPO_VEC(const char *) tables;
    sqlite3_stmt *string;        /* SELECT value FROM StringIds WHERE id = ?; NULL: no such table */
    struct lpo_map_u64 *strings; /* ids seen so far to names */
    uint64_t bytes;
    double seconds_limit; /* of processor time, for all queries of this file */
    double began;         /* processor time of this thread when the file was opened */
    uint64_t text_bytes;  /* text of columns so far */
    bool cut, stopped, stop_noted, too_much_text;
};

enum { STEPS_BETWEEN_LOOKS = 4000 }; /* of SQLite's machine: about 0.2 ms */

static double processor_seconds(void)
{
    struct timespec t;

    /* not the wall clock: a slow disk or a busy machine is not the file's fault */
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Pages of a damaged file can lead to each other, and a scan of 60 KB then never ends. SQLite calls
 * this while it works; anything but 0 ends the query. */
static int out_of_time(void *ctx)
{
    struct lpo_nsys *db = ctx;

    db->stopped |= processor_seconds() - db->began > db->seconds_limit;
    return db->stopped;
}

/* Only what our own queries need: reading tables, the two PRAGMAs, and the copy of StringIds. A
 * view, a trigger or a function that the file brings along is not run. */
static int allow(void *ctx, int action, const char *a, const char *b, const char *c,
                 const char *inside)
{
    (void)ctx, (void)a, (void)b, (void)c;
    if (inside) /* the query of a view or a trigger */
        return SQLITE_DENY;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_PRAGMA:
    case SQLITE_CREATE_TEMP_TABLE:
    case SQLITE_INSERT:
    case SQLITE_UPDATE: /* of the schema of the temporary table */
        return SQLITE_OK;
    default:
        return SQLITE_DENY;
    }
}

static void set_bounds(struct lpo_nsys *db)
{
    const struct lpo_budget *b = lpo_budget();

    db->began = processor_seconds();
    db->seconds_limit = b->sql_seconds + (double)db->bytes / b->sql_bytes_per_s;
    sqlite3_progress_handler(db->db, STEPS_BETWEEN_LOOKS, out_of_time, db);
    sqlite3_set_authorizer(db->db, allow, NULL);
    /* a row is not longer than its file, whatever its header says */
    sqlite3_limit(db->db, SQLITE_LIMIT_LENGTH, db->bytes < 64 << 20 ? (int)db->bytes : 64 << 20);
    sqlite3_limit(db->db, SQLITE_LIMIT_SQL_LENGTH, 1 << 20);
    sqlite3_limit(db->db, SQLITE_LIMIT_COLUMN, 512);
    sqlite3_limit(db->db, SQLITE_LIMIT_EXPR_DEPTH, 100);
    sqlite3_limit(db->db, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(db->db, SQLITE_LIMIT_TRIGGER_DEPTH, 1);
}

void lpo_nsys_destroy(struct lpo_nsys *db)
{
    if (!db)
        return;
    sqlite3_finalize(db->string);
    sqlite3_close(db->db);
    lpo_unpack_file_destroy(db->file);
    lpo_map_u64_destroy(db->strings);
    lpo_arena_destroy(db->arena);
    lpo_vec_free(&db->tables);
    free(db);
    malloc_trim(0); /* SQLite's pages lie scattered between what is kept: megabytes */
}

/* Plain tables only: a view or a virtual table could run anything. */
static int list_tables(struct lpo_nsys *db, struct lpo_err *err)
{
    sqlite3_stmt *s = NULL;
    int rc = sqlite3_prepare_v2(db->db,
                                "SELECT name FROM sqlite_master WHERE type = 'table' AND "
                                "rootpage > 0",
                                -1, &s, NULL);

    while (rc == SQLITE_OK && (rc = sqlite3_step(s)) == SQLITE_ROW && db->tables.len < 4096) {
        const char *name = (const char *)sqlite3_column_text(s, 0);

        if (name)
            lpo_vec_push(&db->tables, lpo_arena_strdup(db->arena, name));
        rc = SQLITE_OK;
    }
    sqlite3_finalize(s);
    if (db->stopped)
        return lpo_fail(err, LPO_E_LIMIT,
                        "stopped after %.0f s of work on the list of tables: the file is damaged, "
                        "or very slow to read (" LPO_BUDGET_HINT ")",
                        db->seconds_limit);
    if (rc != SQLITE_OK && rc != SQLITE_DONE)
        return lpo_fail(err, LPO_E_FORMAT, "not a readable SQLite file: %s",
                        sqlite3_errmsg(db->db));
    return 0;
}

static void add_uri(struct lpo_str *uri, const char *path)
{
    lpo_str_add(uri, "file:");
    for (const char *p = path; *p; p++) {
        if (isalnum((unsigned char)*p) || strchr("/._-", *p))
            lpo_str_addc(uri, *p);
        else
            lpo_str_addf(uri, "%%%02x", (unsigned char)*p);
    }
    lpo_str_add(uri, "?mode=ro&immutable=1");
}

static int open_db(struct lpo_nsys *db, struct lpo_err *err)
{
    LPO_STR uri = { 0 };
    struct stat st;

    add_uri(&uri, db->file->path);
    if (fstat(db->file->fd, &st) == 0)
        db->bytes = (uint64_t)st.st_size;
    if (sqlite3_open_v2(lpo_str_text(&uri), &db->db,
                        SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX,
                        lpo_nsys_stale_disk()) != SQLITE_OK)
        return lpo_fail(err, LPO_E_IO, "SQLite cannot open it: %s", sqlite3_errmsg(db->db));
    sqlite3_db_config(db->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    set_bounds(db);
    sqlite3_exec(db->db, "PRAGMA cell_size_check = ON", NULL, NULL, NULL);
    if (list_tables(db, err) == 0)
        return 0;
    if (db->stopped)
        return err ? err->code : LPO_E_LIMIT;
    /* this switch makes SQLite take the pages that are there, fewer than the header says */
    sqlite3_db_config(db->db, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1, NULL);
    db->tables.len = 0;
    db->cut = true;
    return list_tables(db, err);
}

static bool id_is_key(struct lpo_nsys *db, const char *table)
{
    LPO_STR sql = { 0 };
    sqlite3_stmt *s = NULL;
    bool key = false;

    lpo_str_addf(&sql, "PRAGMA table_info(\"%s\")", table);
    if (sqlite3_prepare_v2(db->db, lpo_str_text(&sql), -1, &s, NULL) == SQLITE_OK) {
        while (sqlite3_step(s) == SQLITE_ROW) {
            const char *name = (const char *)sqlite3_column_text(s, 1);

            key |= name && strcmp(name, "id") == 0 && sqlite3_column_int(s, 5) == 1;
        }
    }
    sqlite3_finalize(s);
    return key;
}

/* By its key one string costs a lookup. Without a key (a filtered copy of an export) each lookup
 * would walk the table, so an index is made in memory, beside the file. */
static void prepare_strings(struct lpo_nsys *db)
{
    const char *table = lpo_nsys_table(db, "StringIds");
    LPO_STR sql = { 0 };

    if (!table || strchr(table, '"'))
        return;
    if (!id_is_key(db, table)) {
        lpo_str_addf(&sql,
                     "CREATE TEMP TABLE lpo_strings(id INTEGER PRIMARY KEY, value TEXT);"
                     "INSERT OR IGNORE INTO lpo_strings SELECT id, value FROM \"%s\"",
                     table);
        sqlite3_exec(db->db, lpo_str_text(&sql), NULL, NULL, NULL);
        table = "lpo_strings";
    }
    lpo_str_clear(&sql);
    lpo_str_addf(&sql, "SELECT value FROM \"%s\" WHERE id = ?", table);
    if (sqlite3_prepare_v2(db->db, lpo_str_text(&sql), -1, &db->string, NULL) != SQLITE_OK)
        db->string = NULL;
}

/* "X" is 1, "X_V2" is 2, anything else 0. */
static unsigned version_of(const char *name, const char *table)
{
    size_t len = strlen(table);
    const char *rest = name + len;

    if (strncmp(name, table, len) != 0)
        return 0;
    if (!*rest)
        return 1;
    if (rest[0] != '_' || rest[1] != 'V' || !isdigit((unsigned char)rest[2]))
        return 0;
    for (const char *p = rest + 2; *p; p++) {
        if (!isdigit((unsigned char)*p))
            return 0;
    }
    return (unsigned)strtoul(rest + 2, NULL, 10);
}

static bool has_rows(struct lpo_nsys *db, const char *table)
{
    LPO_STR sql = { 0 };
    sqlite3_stmt *s = NULL;
    bool some = false;

    lpo_str_addf(&sql, "SELECT 1 FROM \"%s\" LIMIT 1", table);
    if (sqlite3_prepare_v2(db->db, lpo_str_text(&sql), -1, &s, NULL) == SQLITE_OK)
        some = sqlite3_step(s) == SQLITE_ROW;
    sqlite3_finalize(s);
    return some;
}

const char *lpo_nsys_table(struct lpo_nsys *db, const char *table)
{
    const char *best = NULL;
    unsigned best_version = 0;

    for (size_t i = 0; i < db->tables.len; i++) {
        unsigned v = version_of(db->tables.at[i], table);

        /* where an old and a new table stand side by side, the newest that is filled */
        if (v > best_version && (!best || has_rows(db, db->tables.at[i]))) {
            best = db->tables.at[i];
            best_version = v;
        }
    }
    return best;
}

const char *lpo_nsys_table_at(const struct lpo_nsys *db, size_t i)
{
    return i < db->tables.len ? db->tables.at[i] : NULL;
}

size_t lpo_nsys_count_tables(const struct lpo_nsys *db)
{
    static const char *const known[] = { "StringIds", "NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_",
                                         "ANALYSIS_DETAILS", "TARGET_INFO_" };
    size_t n = 0;

    for (size_t i = 0; i < db->tables.len; i++) {
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            n += lpo_str_starts(db->tables.at[i], known[k]);
    }
    return n;
}

/* Which of `names` the table has. */
static void probe_columns(struct lpo_nsys *db, struct lpo_nsys_rows *rows, const char *table,
                          const char *const *names)
{
    LPO_STR sql = { 0 };
    sqlite3_stmt *s = NULL;

    lpo_str_addf(&sql, "PRAGMA table_info(\"%s\")", table);
    if (sqlite3_prepare_v2(db->db, lpo_str_text(&sql), -1, &s, NULL) != SQLITE_OK)
        return;
    while (sqlite3_step(s) == SQLITE_ROW) {
        const char *have = (const char *)sqlite3_column_text(s, 1);

        for (int i = 0; have && names[i]; i++)
            rows->has[i] |= strcmp(have, names[i]) == 0;
    }
    sqlite3_finalize(s);
}

static int begin(void *source, struct lpo_nsys_rows *rows, const char *table,
                 const char *const *names, struct lpo_err *err)
{
    struct lpo_nsys *db = source;
    LPO_STR sql = { 0 };
    const char *real = lpo_nsys_table(db, table);

    rows->limit = db->bytes + 1000;
    if (!real || strchr(real, '"'))
        return 0;
    probe_columns(db, rows, real, names);
    lpo_str_add(&sql, "SELECT ");
    for (int i = 0; names[i]; i++) {
        if (rows->has[i])
            lpo_str_addf(&sql, "%s\"%s\"", i ? ", " : "", names[i]);
        else
            lpo_str_addf(&sql, "%sNULL", i ? ", " : "");
    }
    lpo_str_addf(&sql, " FROM \"%s\"", real);
    if (sqlite3_prepare_v2(db->db, lpo_str_text(&sql), -1, &rows->stmt, NULL) != SQLITE_OK)
        return lpo_fail(err, LPO_E_FORMAT, "table %s: %s", real, sqlite3_errmsg(db->db));
    return 1;
}

/* One note for the file, not one for each table that could no longer be read. */
static void note_stop(struct lpo_nsys *db, struct lpo_trace *t)
{
    if (db->stop_noted)
        return;
    db->stop_noted = true;
    lpo_trace_note_damage(
        t, 0,
        "stopped after %.0f s of work on the SQLite file, what was read until then is "
        "here: its tables are damaged, or very slow to read (" LPO_BUDGET_HINT ")",
        db->seconds_limit);
}

static int step(struct lpo_nsys_rows *rows, struct lpo_trace *t)
{
    struct lpo_nsys *db = rows->of->source;
    int rc;

    if (rows->seen++ >= rows->limit) {
        lpo_trace_note_damage(t, 0, "the SQLite file is damaged: a table repeats itself");
        return 0;
    }
    if (db->too_much_text) /* noted when it happened */
        return 0;
    rc = sqlite3_step(rows->stmt);
    if (rc == SQLITE_ROW)
        return 1;
    if (db->stopped) {
        note_stop(db, t);
        return 0;
    }
    if (rc != SQLITE_DONE)
        lpo_trace_note_damage(t, 0, "the SQLite file is damaged, a table was read in part: %s",
                              sqlite3_errmsg(db->db));
    return 0;
}

static void end(struct lpo_nsys_rows *rows)
{
    sqlite3_finalize(rows->stmt);
    rows->stmt = NULL;
}

/* A long default value of a column, or rows that share their pages, give each row text that is in
 * the file once. Text that really is there does not add up to several times the file. */
static uint32_t intern(void *source, struct lpo_trace *t, const char *text, size_t len)
{
    struct lpo_nsys *db = source;
    const uint64_t most = 4 * db->bytes + (16 << 20);

    if (!text || !len || db->too_much_text)
        return LPO_NONE;
    db->text_bytes += len;
    if (db->text_bytes > most) {
        db->too_much_text = true;
        lpo_trace_note(t, 0,
                       "stopped reading the SQLite file, what was read until then is here: the "
                       "names in its rows are several times larger than the file");
        return LPO_NONE;
    }
    return lpo_trace_namen(t, text, len);
}

static uint32_t string(void *source, struct lpo_trace *t, int64_t id)
{
    struct lpo_nsys *db = source;
    uint32_t *slot;
    bool fresh;

    if (!db->string)
        return LPO_NONE;
    slot = lpo_map_u64_put(db->strings, (uint64_t)id, &fresh);
    if (!fresh)
        return *slot;
    sqlite3_bind_int64(db->string, 1, id);
    if (sqlite3_step(db->string) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(db->string, 0);
        size_t len = (size_t)sqlite3_column_bytes(db->string, 0);

        *slot = intern(db, t, text, len);
    }
    sqlite3_reset(db->string);
    return *slot;
}

static const struct lpo_nsys_source calls = { begin, step, end, string, intern };

int lpo_nsys_open(const char *path, struct lpo_nsys **out, struct lpo_err *err)
{
    LPO_AUTO(lpo_nsys) db = lpo_xcalloc(1, sizeof *db);

    db->given = (struct lpo_nsys_tables){ &calls, db };
    db->arena = lpo_arena_create();
    db->strings = lpo_map_u64_create(0);
    if (lpo_unpack(path, &db->file, err) < 0 || open_db(db, err) < 0)
        return err ? err->code : LPO_E_FORMAT;
    lpo_unpack_file_unname(db->file); /* SQLite holds its own handle by now */
    prepare_strings(db);
    *out = db;
    db = NULL;
    return 0;
}

const struct lpo_nsys_tables *lpo_nsys_tables_of(const struct lpo_nsys *db)
{
    return &db->given;
}

bool lpo_nsys_cut(const struct lpo_nsys *db)
{
    return db->cut || db->file->cut;
}
