/* SPDX-License-Identifier: Apache-2.0 */
#include "rundir/nsys_export.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/child/capture.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/path.h"
#include "util/str.h"

static const int64_t limit_ns = 3600000000000; /* a report of gigabytes takes nsys long */

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

    return stat(report, &of_report) == 0 && stat(path, &of_export) == 0 &&
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
                        limit_ns, &said, err) < 0)
        return lpo_ctx(err, "nsys cannot export '%s'", report);
    return 0;
}

int lpo_rundir_export_create(struct lpo_arena *a, const char *report,
                             struct lpo_rundir_export **out, struct lpo_err *err)
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

const char *lpo_rundir_export_path(const struct lpo_rundir_export *e)
{
    return e->path;
}

void lpo_rundir_export_destroy(struct lpo_rundir_export *e)
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
