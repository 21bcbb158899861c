/* SPDX-License-Identifier: Apache-2.0 */
#include "rundir/read.h"

#include <unistd.h>

#include "run/child/capture.h"
#include "trace/reader.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/path.h"
#include "util/spool.h"

static const int64_t limit_ns = 600000000000; /* a large report takes ncu minutes */

static int read_through_ncu(struct lpo_arena *a, const char *path, struct lpo_trace *into,
                            struct lpo_err *err)
{
    const char *const argv[] = { "ncu",   "--import",      path,   "--page", "raw",
                                 "--csv", "--print-units", "base", NULL };
    const char *csv = NULL;
    int fd, rc;

    if (lpo_run_capture_file(a, argv, limit_ns, 0, &csv, &fd, err) < 0)
        return lpo_ctx(err, "ncu cannot import '%s'", path);
    rc = lpo_trace_read(csv, into, err);
    close(fd);
    return rc;
}

static int read_file(const char *path, struct lpo_trace *into, struct lpo_err *err)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    enum lpo_trace_need need =
        lpo_path_which(a, "ncu") ? lpo_trace_needs_ncu(path) : LPO_NEEDS_NOTHING;
    struct lpo_err why = { 0 };

    if (need == LPO_NEEDS_NOTHING)
        return lpo_trace_read(path, into, err);
    if (read_through_ncu(a, path, into, &why) == 0) {
        lpo_trace_note(into, 0,
                       need == LPO_NEEDS_NCU_RANGES
                           ? "range results were read through ncu"
                           : "this report's format is not known to lpo: it was read through ncu");
        return 0;
    }
    if (need == LPO_NEEDS_NCU_RANGES) /* the rest of the report can be read */
        return lpo_trace_read(path, into, err);
    if (err)
        *err = why;
    return why.code;
}

int lpo_rundir_read_trace(const char *path, struct lpo_trace *into, struct lpo_err *err)
{
    LPO_AUTO(lpo_spool) copy = NULL;

    if (!lpo_spool_needed(path))
        return read_file(path, into, err);
    if (lpo_spool_create(path, &copy, err) < 0)
        return err ? err->code : LPO_E_IO;
    if (read_file(lpo_spool_path(copy), into, err) < 0)
        return lpo_ctx(err, "'%s' was copied to a temporary file, because it can be read only once",
                       path);
    return 0;
}
