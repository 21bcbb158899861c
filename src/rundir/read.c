/* SPDX-License-Identifier: Apache-2.0 */
#include "rundir/read.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/child/supervise.h"
#include "trace/reader.h"
#include "trace/trace.h"
#include "util/file.h"
#include "util/path.h"
#include "util/spool.h"
#include "util/work.h"

/* --- through nsys export -----------------------------------------------------------------------
 *
 * For a report that lpo cannot read itself (trace/nsysrep): damaged, or of a later version. An
 * export that lies beside it is taken; else one is made in a temporary folder. */

static const int64_t export_ns = 3600000000000; /* a report of gigabytes takes nsys long */

struct lpo_rundir_export;

static void lpo_rundir_export_destroy(struct lpo_rundir_export *e);
LPO_AUTO_DEFINE(lpo_rundir_export);

struct lpo_rundir_export {
    char *path;   /* the SQLite file */
    char *folder; /* temporary; NULL: the export was there already */
    int fd;       /* of the folder: nobody sweeps it while this is open */
};

static const char *const report_endings[] = { ".nsys-rep", ".qdrep" };

/* Length of the one that the path ends in; 0: none. */
static size_t ending(const char *path)
{
    size_t len = strlen(path);

    for (size_t i = 0; i < sizeof report_endings / sizeof *report_endings; i++) {
        size_t n = strlen(report_endings[i]);

        if (len > n && strcmp(path + len - n, report_endings[i]) == 0)
            return n;
    }
    return 0;
}

bool lpo_rundir_is_named_report(const char *path)
{
    return ending(path) != 0;
}

static char *sqlite_name(struct lpo_arena *a, const char *report)
{
    const char *stem = lpo_arena_strndup(a, report, strlen(report) - ending(report));

    return lpo_arena_printf(a, "%s.sqlite", stem);
}

/* Where it is not older; else NULL. */
static const char *find_beside(struct lpo_arena *a, const char *report)
{
    const char *path = sqlite_name(a, report);
    struct stat of_report, of_export;

    return lpo_path_stat(report, &of_report) && lpo_path_stat(path, &of_export) &&
                   S_ISREG(of_export.st_mode) && of_export.st_mtime >= of_report.st_mtime
               ? path
               : NULL;
}

static int fail_without_nsys(struct lpo_arena *a, const char *report, struct lpo_err *err)
{
    LPO_STR command = { 0 };

    lpo_str_add(&command, "nsys export --type sqlite --output ");
    lpo_str_add_shell(&command, sqlite_name(a, report));
    lpo_str_addc(&command, ' ');
    lpo_str_add_shell(&command, report);
    return lpo_fail(err, LPO_E_MISSING,
                    "lpo cannot read the report '%s', and nsys is not on PATH; where nsys is "
                    "installed, run: %s",
                    report, lpo_str_text(&command));
}

static int export(struct lpo_arena *a, const char *report, struct lpo_rundir_export *e,
                  struct lpo_err *err)
{
    static const char name[] = "export.sqlite";
    LPO_STR said = { 0 };

    e->fd = lpo_file_scratch_folder("nsys", name, &e->folder, err);
    if (e->fd < 0)
        return lpo_ctx(err, "cannot export '%s'", report);
    e->path = lpo_xstrdup(lpo_path_join(a, e->folder, name));
    if (lpo_run_capture((const char *const[]){ "nsys", "export", "--type", "sqlite", "--output",
                                               e->path, report, NULL },
                        export_ns, &said, err) < 0)
        return lpo_ctx(err, "nsys cannot export '%s'", report);
    return 0;
}

/* LPO_E_MISSING without nsys: the error is the command that makes the export elsewhere. */
static int export_create(struct lpo_arena *a, const char *report, struct lpo_rundir_export **out,
                         struct lpo_err *err)
{
    LPO_AUTO(lpo_rundir_export) e = lpo_xcalloc(1, sizeof *e);
    const char *beside = find_beside(a, report);

    e->fd = -1;
    if (beside)
        e->path = lpo_xstrdup(beside);
    else if (!lpo_path_which(a, "nsys"))
        return fail_without_nsys(a, report, err);
    else if (export(a, report, e, err) < 0)
        return err ? err->code : LPO_E_CHILD;
    *out = e;
    e = NULL;
    return 0;
}

/* it ends in .nsys-rep or .qdrep */
static const char *export_path(const struct lpo_rundir_export *e)
{
    return e->path;
}

static void lpo_rundir_export_destroy(struct lpo_rundir_export *e)
{
    if (!e)
        return;
    if (e->folder)
        lpo_file_remove_at(AT_FDCWD, e->folder);
    if (e->fd >= 0)
        close(e->fd);
    free(e->folder);
    free(e->path);
    free(e);
}

/* --- one trace file ------------------------------------------------------------------------------
 */

static const int64_t limit_ns = 600000000000; /* a large report takes ncu minutes */

static int read_through_ncu(struct lpo_arena *a, const char *ncu, const char *path,
                            struct lpo_trace *into, struct lpo_err *err)
{
    const char *const argv[] = { ncu,     "--import",      path,   "--page", "raw",
                                 "--csv", "--print-units", "base", NULL };
    const char *csv = NULL;
    int fd, rc;

    if (lpo_run_capture_file(a, argv, limit_ns, 0, &csv, &fd, err) < 0)
        return lpo_ctx(err, "ncu cannot import '%s'", path);
    rc = lpo_trace_read(csv, into, err);
    close(fd);
    return rc;
}

/* That results of the file cannot be read is no longer true. */
static void drop_notes(struct lpo_trace *t, size_t from, size_t count)
{
    if (!count) /* there may be no notes at all, and no array of them */
        return;
    memmove(t->notes.at + from, t->notes.at + from + count,
            (t->notes.len - from - count) * sizeof *t->notes.at);
    t->notes.len -= count;
}

/* `own` says why lpo cannot. */
static int read_through_nsys(struct lpo_arena *a, const char *path, struct lpo_trace *into,
                             const struct lpo_err *own, struct lpo_err *err)
{
    LPO_AUTO(lpo_rundir_export) e = NULL;
    struct lpo_err why = { 0 };

    if (export_create(a, path, &e, &why) < 0) {
        if (err && why.code == LPO_E_MISSING) /* lpo's own reason says what nsys would do */
            *err = *own;
        else if (err)
            *err = why;
        return err ? err->code : why.code;
    }
    if (lpo_trace_read(export_path(e), into, err) < 0)
        return err ? err->code : LPO_E_FORMAT;
    lpo_trace_note(into, 0, "lpo cannot read this report itself: it was read through nsys export");
    return 0;
}

/* Read first, converted only when that shows a need for it. */
static int read_file(const char *path, const char *ncu, struct lpo_trace *into, struct lpo_err *err)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const size_t notes = into->notes.len;
    size_t own_notes;
    const uint32_t sources = into->sources;
    struct lpo_err why = { 0 }, own = { 0 };
    int rc = lpo_trace_read(path, into, &own);
    const bool ranges = into->need == LPO_NEEDS_NCU_RANGES;

    if (rc < 0 && err)
        *err = own;
    if (into->need == LPO_NEEDS_NOTHING ||
        (into->need != LPO_NEEDS_NSYS && !lpo_path_which(a, ncu)))
        return rc;
    into->sources = sources; /* the same file once more */
    if (into->need == LPO_NEEDS_NSYS)
        return read_through_nsys(a, path, into, &own, err);
    own_notes = into->notes.len - notes;
    if (read_through_ncu(a, ncu, path, into, &why) == 0) {
        drop_notes(into, notes, own_notes);
        lpo_trace_note(into, 0,
                       ranges
                           ? "range results were read through ncu"
                           : "this report's format is not known to lpo: it was read through ncu");
        if (err)
            *err = (struct lpo_err){ 0 };
        return 0;
    }
    into->sources = sources + 1;
    if (ranges) /* what could be read of it stays */
        return rc;
    if (err)
        *err = why;
    return why.code;
}

int lpo_rundir_read_trace(const char *path, const char *ncu, struct lpo_trace *into,
                          struct lpo_err *err)
{
    LPO_AUTO(lpo_spool) copy = NULL;

    lpo_work_file(path);
    if (!lpo_spool_needed(path))
        return read_file(path, ncu, into, err);
    if (lpo_spool_create(path, &copy, err) < 0)
        return err ? err->code : LPO_E_IO;
    if (read_file(lpo_spool_path(copy), ncu, into, err) < 0)
        return lpo_ctx(err, "'%s' was copied to a temporary file, because it can be read only once",
                       path);
    return 0;
}
