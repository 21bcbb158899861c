/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/nsys/private.h"

#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>

#include "util/stale.h"

#define NAME "lpo-stale-disk"

/* SQLite's own file stands behind ours, in the memory that SQLite gives us. */
struct file {
    sqlite3_file base;
    const char *path; /* SQLite's: it stays until the file is closed */
    int flags;
};

static sqlite3_vfs layer;

static sqlite3_vfs *below(void)
{
    return layer.pAppData;
}

static sqlite3_file *inner(sqlite3_file *f)
{
    return (sqlite3_file *)(void *)((struct file *)(void *)f + 1);
}

static int close_inner(sqlite3_file *f)
{
    sqlite3_file *in = inner(f);
    int rc = in->pMethods ? in->pMethods->xClose(in) : SQLITE_OK;

    in->pMethods = NULL;
    return rc;
}

static int open_inner(sqlite3_file *f, int *out_flags)
{
    const struct file *ours = (const struct file *)(const void *)f;
    unsigned tries = 0;
    int rc;

    do {
        errno = 0;
        memset(inner(f), 0, (size_t)below()->szOsFile);
        rc = below()->xOpen(below(), ours->path, inner(f), ours->flags, out_flags);
    } while (rc != SQLITE_OK && lpo_stale_retry(errno, &tries));
    return rc;
}

static int read_file(sqlite3_file *f, void *bytes, int len, sqlite3_int64 at)
{
    unsigned tries = 0;
    int rc;

    for (;;) {
        sqlite3_file *in = inner(f);

        errno = 0;
        rc = in->pMethods ? in->pMethods->xRead(in, bytes, len, at) : SQLITE_IOERR_READ;
        if (rc == SQLITE_OK || rc == SQLITE_IOERR_SHORT_READ || !lpo_stale_retry(errno, &tries))
            return rc;
        close_inner(f);
        if (open_inner(f, NULL) != SQLITE_OK)
            return rc;
    }
}

static int file_size(sqlite3_file *f, sqlite3_int64 *out)
{
    return inner(f)->pMethods->xFileSize(inner(f), out);
}

static int refuse_write(sqlite3_file *f, const void *bytes, int len, sqlite3_int64 at)
{
    (void)f, (void)bytes, (void)len, (void)at;
    return SQLITE_READONLY;
}

static int refuse_truncate(sqlite3_file *f, sqlite3_int64 size)
{
    (void)f, (void)size;
    return SQLITE_READONLY;
}

static int do_nothing(sqlite3_file *f, int how)
{
    (void)f, (void)how;
    return SQLITE_OK;
}

static int no_lock(sqlite3_file *f, int *out)
{
    (void)f;
    *out = 0;
    return SQLITE_OK;
}

static int no_control(sqlite3_file *f, int op, void *arg)
{
    (void)f, (void)op, (void)arg;
    return SQLITE_NOTFOUND;
}

static int sector_size(sqlite3_file *f)
{
    (void)f;
    return 4096;
}

static int characteristics(sqlite3_file *f)
{
    (void)f;
    return SQLITE_IOCAP_IMMUTABLE;
}

static const sqlite3_io_methods methods = { .iVersion = 1,
                                            .xClose = close_inner,
                                            .xRead = read_file,
                                            .xWrite = refuse_write,
                                            .xTruncate = refuse_truncate,
                                            .xSync = do_nothing,
                                            .xFileSize = file_size,
                                            .xLock = do_nothing,
                                            .xUnlock = do_nothing,
                                            .xCheckReservedLock = no_lock,
                                            .xFileControl = no_control,
                                            .xSectorSize = sector_size,
                                            .xDeviceCharacteristics = characteristics };

/* The database itself goes through the layer; SQLite's temporary files do not. */
static int open_file(sqlite3_vfs *vfs, const char *path, sqlite3_file *f, int flags, int *out_flags)
{
    struct file *ours = (struct file *)(void *)f;
    int rc;

    (void)vfs;
    if (!(flags & SQLITE_OPEN_MAIN_DB))
        return below()->xOpen(below(), path, f, flags, out_flags);
    *ours = (struct file){ .path = path, .flags = flags };
    rc = open_inner(f, out_flags);
    ours->base.pMethods = rc == SQLITE_OK ? &methods : NULL;
    return rc;
}

/* As it was given: SQLite would look at each folder above it, and give up where one is stale. */
static int keep_name(sqlite3_vfs *vfs, const char *path, int room, char *out)
{
    (void)vfs;
    return snprintf(out, (size_t)room, "%s", path) < room ? SQLITE_OK : SQLITE_CANTOPEN;
}

static void make_layer(void)
{
    sqlite3_vfs *own = sqlite3_vfs_find(NULL);

    if (!own)
        return;
    layer = *own;
    layer.zName = NAME;
    layer.pNext = NULL;
    layer.pAppData = own;
    layer.szOsFile = own->szOsFile + (int)sizeof(struct file);
    layer.xOpen = open_file;
    layer.xFullPathname = keep_name;
    if (sqlite3_vfs_register(&layer, 0) != SQLITE_OK)
        layer.zName = NULL;
}

const char *lpo_nsys_stale_disk(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, make_layer);
    return layer.zName;
}
