/* SPDX-License-Identifier: Apache-2.0 */
#include "rundir/read.h"

#include <string.h>
#include <unistd.h>

#include "run/child/capture.h"
#include "rundir/nsys_export.h"
#include "trace/reader.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/path.h"
#include "util/spool.h"

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

    if (lpo_rundir_export_create(a, path, &e, &why) < 0) {
        if (err && why.code == LPO_E_MISSING) /* lpo's own reason says what nsys would do */
            *err = *own;
        else if (err)
            *err = why;
        return err ? err->code : why.code;
    }
    if (lpo_trace_read(lpo_rundir_export_path(e), into, err) < 0)
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

    if (!lpo_spool_needed(path))
        return read_file(path, ncu, into, err);
    if (lpo_spool_create(path, &copy, err) < 0)
        return err ? err->code : LPO_E_IO;
    if (read_file(lpo_spool_path(copy), ncu, into, err) < 0)
        return lpo_ctx(err, "'%s' was copied to a temporary file, because it can be read only once",
                       path);
    return 0;
}
