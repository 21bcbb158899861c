#include "trace/ncu_import.h"

#include <stdlib.h>
#include <unistd.h>

#include "run/plan.h"
#include "run/supervise.h"
#include "trace/readers.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/path.h"
#include "util/str.h"

static const int64_t limit_ns = 600000000000; /* a large report takes ncu minutes */

bool lpo_ncu_can_import(void)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();

    return lpo_path_which(a, "ncu") != NULL;
}

static int convert(struct lpo_arena *a, const char *path, const char *csv, struct lpo_err *err)
{
    const char *const argv[] = { "ncu",   "--import",      path,   "--page", "raw",
                                 "--csv", "--print-units", "base", NULL };
    struct lpo_steps steps = { .arena = a };
    struct lpo_step *step = lpo_steps_add(&steps, "ncu --import");
    bool ours = !lpo_supervise_active();
    struct lpo_result r;
    LPO_STR how = { 0 };
    int rc;

    lpo_step_args(a, step, argv);
    step->stdout_path = csv;
    step->timeout_ns = limit_ns;
    rc = lpo_supervise(step, NULL, &r, err);
    if (ours) /* a command that only reads keeps the signals it had */
        lpo_supervise_end();
    if (rc < 0 || (r.end == LPO_END_EXIT && r.code == 0))
        return rc;
    lpo_result_describe(&r, step, &how);
    return lpo_fail(err, LPO_E_CHILD, "ncu --import '%s': %s", path, lpo_str_text(&how));
}

int lpo_ncu_import(const char *path, struct lpo_trace *into, struct lpo_err *err)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const char *tmp = getenv("TMPDIR");
    char *csv = lpo_arena_printf(a, "%s/lpo-import-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    int fd = mkstemp(csv), rc;

    if (fd < 0)
        return lpo_fail_errno(err, "cannot make a temporary file '%s'", csv);
    close(fd);
    rc = convert(a, path, csv, err);
    if (rc == 0)
        rc = lpo_reader_ncu_csv.read(csv, into, err);
    unlink(csv);
    return rc;
}
