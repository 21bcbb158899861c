/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of SQLite that lpo calls, loaded when a database is first opened.
 *
 * Linked in the usual way, libsqlite3 has 1,600 of the 2,100 symbols that the loader looks up at
 * each start, a quarter of the time of `lpo -h`, and few commands open a database. Each function
 * here has SQLite's name and passes the call on, as a jump table of the linker would. Where SQLite
 * is linked statically this file is not compiled. One more function is one more line in FUNCTIONS.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sqlite3.h>

#include "util/base.h"

/* X(result, name, parameters, arguments): those that are passed on as they are. */
#define FUNCTIONS(X)                                                                               \
    X(int, bind_int64, (sqlite3_stmt * s, int i, sqlite3_int64 v), (s, i, v))                      \
    X(int, bind_text, (sqlite3_stmt * s, int i, const char *t, int n, void (*f)(void *)),          \
      (s, i, t, n, f))                                                                             \
    X(int, busy_timeout, (sqlite3 * db, int ms), (db, ms))                                         \
    X(int, column_bytes, (sqlite3_stmt * s, int i), (s, i))                                        \
    X(int, column_count, (sqlite3_stmt * s), (s))                                                  \
    X(double, column_double, (sqlite3_stmt * s, int i), (s, i))                                    \
    X(const char *, column_name, (sqlite3_stmt * s, int i), (s, i))                                \
    X(int, create_module, (sqlite3 * db, const char *name, const sqlite3_module *m, void *ctx),    \
      (db, name, m, ctx))                                                                          \
    X(int, declare_vtab, (sqlite3 * db, const char *sql), (db, sql))                               \
    X(int, column_int, (sqlite3_stmt * s, int i), (s, i))                                          \
    X(sqlite3_int64, column_int64, (sqlite3_stmt * s, int i), (s, i))                              \
    X(const unsigned char *, column_text, (sqlite3_stmt * s, int i), (s, i))                       \
    X(int, column_type, (sqlite3_stmt * s, int i), (s, i))                                         \
    X(int, exec,                                                                                   \
      (sqlite3 * db, const char *sql, int (*f)(void *, int, char **, char **), void *ctx,          \
       char **message),                                                                            \
      (db, sql, f, ctx, message))                                                                  \
    X(sqlite3_int64, last_insert_rowid, (sqlite3 * db), (db))                                      \
    X(int, limit, (sqlite3 * db, int what, int most), (db, what, most))                            \
    X(int, prepare_v2,                                                                             \
      (sqlite3 * db, const char *sql, int n, sqlite3_stmt **out, const char **rest),               \
      (db, sql, n, out, rest))                                                                     \
    X(int, reset, (sqlite3_stmt * s), (s))                                                         \
    X(void, result_double, (sqlite3_context * c, double v), (c, v))                                \
    X(void, result_int64, (sqlite3_context * c, sqlite3_int64 v), (c, v))                          \
    X(void, result_null, (sqlite3_context * c), (c))                                               \
    X(void, result_text, (sqlite3_context * c, const char *t, int n, void (*f)(void *)),           \
      (c, t, n, f))                                                                                \
    X(int, set_authorizer,                                                                         \
      (sqlite3 * db,                                                                               \
       int (*f)(void *, int, const char *, const char *, const char *, const char *), void *ctx),  \
      (db, f, ctx))                                                                                \
    X(int, step, (sqlite3_stmt * s), (s))                                                          \
    X(sqlite3_int64, value_int64, (sqlite3_value * v), (v))                                        \
    X(int, value_type, (sqlite3_value * v), (v))                                                   \
    X(int, vfs_register, (sqlite3_vfs * vfs, int chosen), (vfs, chosen))

#define POINTER(result, name, parameters, arguments) result(*name) parameters;
static struct {
    FUNCTIONS(POINTER)
    int (*close)(sqlite3 *);
    int (*db_config)(sqlite3 *, int, ...);
    const char *(*errmsg)(sqlite3 *);
    int (*finalize)(sqlite3_stmt *);
    int (*open_v2)(const char *, sqlite3 **, int, const char *);
    void (*progress_handler)(sqlite3 *, int, int (*)(void *), void *);
    sqlite3_vfs *(*vfs_find)(const char *);
} api;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool loaded;
static char why_not[512]; /* it was not loaded */

static bool find(void *lib, const char *name, void *out)
{
    return (*(void **)out = dlsym(lib, name)) != NULL;
}

static void load(void)
{
    void *lib = dlopen("libsqlite3.so.0", RTLD_NOW | RTLD_LOCAL);

#define FIND(result, name, parameters, arguments) &&find(lib, "sqlite3_" #name, &api.name)
    loaded = lib FUNCTIONS(FIND) && find(lib, "sqlite3_close", &api.close) &&
             find(lib, "sqlite3_db_config", &api.db_config) &&
             find(lib, "sqlite3_errmsg", &api.errmsg) &&
             find(lib, "sqlite3_finalize", &api.finalize) &&
             find(lib, "sqlite3_open_v2", &api.open_v2) &&
             find(lib, "sqlite3_progress_handler", &api.progress_handler) &&
             find(lib, "sqlite3_vfs_find", &api.vfs_find);
    if (!loaded)
        snprintf(why_not, sizeof why_not, "SQLite cannot be loaded (Debian: libsqlite3-0): %s",
                 dlerror());
}

#define PASS_ON(result, name, parameters, arguments)                                               \
    result sqlite3_##name parameters                                                               \
    {                                                                                              \
        return api.name arguments;                                                                 \
    }
FUNCTIONS(PASS_ON)

/* This or the next is the first call of all. Without a database the others are not called, but for
 * the three below. */
sqlite3_vfs *sqlite3_vfs_find(const char *name)
{
    pthread_once(&once, load);
    return loaded ? api.vfs_find(name) : NULL;
}

int sqlite3_open_v2(const char *path, sqlite3 **out, int flags, const char *vfs)
{
    pthread_once(&once, load);
    *out = NULL;
    return loaded ? api.open_v2(path, out, flags, vfs) : SQLITE_ERROR;
}

const char *sqlite3_errmsg(sqlite3 *db)
{
    return loaded ? api.errmsg(db) : why_not;
}

int sqlite3_finalize(sqlite3_stmt *s)
{
    return s ? api.finalize(s) : SQLITE_OK;
}

int sqlite3_close(sqlite3 *db)
{
    return db ? api.close(db) : SQLITE_OK;
}

void sqlite3_progress_handler(sqlite3 *db, int steps, int (*f)(void *), void *ctx)
{
    api.progress_handler(db, steps, f, ctx);
}

/* All that lpo sets is on or off. */
int sqlite3_db_config(sqlite3 *db, int what, ...)
{
    va_list rest;
    int on, *now;

    va_start(rest, what);
    on = va_arg(rest, int);
    now = va_arg(rest, int *);
    va_end(rest);
    return api.db_config(db, what, on, now);
}
