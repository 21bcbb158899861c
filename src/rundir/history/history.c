/* SPDX-License-Identifier: Apache-2.0 */
#include "rundir/history/history.h"

#include <ctype.h>
#include <sqlite3.h>

#include "util/file.h"
#include "util/path.h"

struct lpo_history {
    char *path;
    sqlite3 *db; /* NULL: a folder */
};

static int check_name(const char *name, struct lpo_err *err)
{
    size_t n = strlen(name);

    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)name[i]) && !strchr("._-", name[i]))
            n = 0;
    if (!n || n > LPO_HISTORY_NAME || name[0] == '.')
        return lpo_fail(err, LPO_E_USAGE,
                        "'%.120s' cannot name a part of a history: letters, digits, '.', '_' and "
                        "'-', at most %d",
                        name, LPO_HISTORY_NAME);
    return 0;
}

static int fail_sql(const struct lpo_history *h, struct lpo_err *err)
{
    return lpo_fail(err, LPO_E_FORMAT, "history '%s': %s", h->path, sqlite3_errmsg(h->db));
}

static int open_file(struct lpo_history *h, bool create, struct lpo_err *err)
{
    static const char table[] =
        "CREATE TABLE IF NOT EXISTS runs (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT "
        "NULL, "
        "label TEXT NOT NULL, unix_s INTEGER NOT NULL, digest TEXT NOT NULL, revision TEXT, "
        "figures "
        "TEXT);"
        "CREATE INDEX IF NOT EXISTS runs_name ON runs (name, id)";
    int flags = create ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;

    if (sqlite3_open_v2(h->path, &h->db, flags, NULL) != SQLITE_OK)
        return fail_sql(h, err);
    sqlite3_busy_timeout(h->db, 10000);
    sqlite3_limit(h->db, SQLITE_LIMIT_LENGTH, LPO_HISTORY_TEXT + 4096);
    sqlite3_db_config(h->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(h->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(h->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(h->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    if (create && sqlite3_exec(h->db, table, NULL, NULL, NULL) != SQLITE_OK)
        return fail_sql(h, err);
    if (create) { /* of an older lpo; fails where they are there */
        sqlite3_exec(h->db, "ALTER TABLE runs ADD COLUMN revision TEXT", NULL, NULL, NULL);
        sqlite3_exec(h->db, "ALTER TABLE runs ADD COLUMN figures TEXT", NULL, NULL, NULL);
    }
    return 0;
}

int lpo_history_open(const char *path, bool create, struct lpo_history **out, struct lpo_err *err)
{
    bool folder = lpo_str_ends(path, "/") || lpo_path_is_dir(path);
    LPO_AUTO(lpo_history) h = NULL;

    if (!create && !lpo_path_exists(path))
        return lpo_fail(err, LPO_E_NOTFOUND, "there is no history '%s'; lpo history add makes one",
                        path);
    if (create && folder && lpo_file_make_dirs(path, err) < 0)
        return lpo_ctx(err, "cannot make the history");
    h = lpo_xcalloc(1, sizeof *h);
    h->path = strdup(path);
    if (!folder && open_file(h, create, err) < 0)
        return err->code;
    *out = h;
    h = NULL;
    return 0;
}

void lpo_history_destroy(struct lpo_history *h)
{
    if (!h)
        return;
    sqlite3_close(h->db);
    free(h->path);
    free(h);
}

int lpo_history_add(struct lpo_history *h, const struct lpo_history_entry *e, int64_t *id,
                    struct lpo_err *err)
{
    sqlite3_stmt *s = NULL;
    int rc;

    if (check_name(e->name, err) < 0)
        return err->code;
    if (e->len > LPO_HISTORY_TEXT)
        return lpo_fail(err, LPO_E_LIMIT, "a run of %zu bytes is too large for a history", e->len);
    if (!h->db)
        return lpo_history_folder_add(h->path, e, id, err);
    if (sqlite3_prepare_v2(
            h->db,
            "INSERT INTO runs (name, label, unix_s, digest, revision, figures) VALUES "
            "(?, ?, ?, ?, ?, ?)",
            -1, &s, NULL) != SQLITE_OK)
        return fail_sql(h, err);
    sqlite3_bind_text(s, 1, e->name, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 2, e->label, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 3, e->unix_s);
    sqlite3_bind_text(s, 4, e->text, (int)e->len, SQLITE_STATIC);
    sqlite3_bind_text(s, 5, e->revision, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 6, e->figures, -1, SQLITE_STATIC);
    rc = sqlite3_step(s);
    sqlite3_finalize(s);
    if (rc != SQLITE_DONE)
        return fail_sql(h, err);
    *id = sqlite3_last_insert_rowid(h->db);
    return 0;
}

static const char *text_of(sqlite3_stmt *s, int column)
{
    const unsigned char *text = sqlite3_column_text(s, column);

    return text ? (const char *)text : "";
}

static int step_rows(const struct lpo_history *h, sqlite3_stmt *s, lpo_history_fn *each, void *ctx,
                     struct lpo_err *err)
{
    int rc, seen = 0;

    while ((rc = sqlite3_step(s)) == SQLITE_ROW && seen++ < LPO_HISTORY_ENTRIES) {
        struct lpo_history_entry e = { .id = sqlite3_column_int64(s, 0),
                                       .name = text_of(s, 1),
                                       .label = text_of(s, 2),
                                       .unix_s = sqlite3_column_int64(s, 3),
                                       .text = text_of(s, 4),
                                       .revision = text_of(s, 5),
                                       .figures = text_of(s, 6) };

        e.len = (size_t)sqlite3_column_bytes(s, 4);
        if (each(ctx, &e, err) < 0)
            return err->code;
    }
    return rc == SQLITE_DONE || rc == SQLITE_ROW ? 0 : fail_sql(h, err);
}

int lpo_history_each(struct lpo_history *h, const struct lpo_history_query *q, lpo_history_fn *each,
                     void *ctx, struct lpo_err *err)
{
    static const char head[] = "SELECT id, name, label, unix_s, ";
    static const char rest[] =
        " FROM (SELECT * FROM runs WHERE ?1 IS NULL OR name = ?1 ORDER BY id DESC LIMIT ?2) "
        "ORDER BY id";
    static const char *const columns[] = {
        "CASE WHEN ?3 AND figures <> '' THEN '' ELSE digest END, revision, figures",
        "digest, '', ''", /* of an older lpo */
    };
    sqlite3_stmt *s = NULL;
    char query[400];
    int rc = SQLITE_ERROR;

    if (q->name && check_name(q->name, err) < 0)
        return err->code;
    if (!h->db)
        return lpo_history_folder_each(h->path, q, each, ctx, err);
    for (size_t i = 0; i < 2 && rc != SQLITE_OK; i++) {
        snprintf(query, sizeof query, "%s%s%s", head, columns[i], rest);
        rc = sqlite3_prepare_v2(h->db, query, -1, &s, NULL);
    }
    if (rc != SQLITE_OK)
        return fail_sql(h, err);
    if (q->name)
        sqlite3_bind_text(s, 1, q->name, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 2, q->last ? (int64_t)q->last : LPO_HISTORY_ENTRIES);
    sqlite3_bind_int64(s, 3, q->brief);
    rc = step_rows(h, s, each, ctx, err);
    sqlite3_finalize(s);
    return rc;
}
