#include "trace/ncu/import.h"

#include <unistd.h>

#include "run/child/capture.h"
#include "trace/readers.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/path.h"

static const int64_t limit_ns = 600000000000; /* a large report takes ncu minutes */

bool lpo_ncu_can_import(void)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();

    return lpo_path_which(a, "ncu") != NULL;
}

int lpo_ncu_import(const char *path, struct lpo_trace *into, struct lpo_err *err)
{
    const char *const argv[] = { "ncu",   "--import",      path,   "--page", "raw",
                                 "--csv", "--print-units", "base", NULL };
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const char *csv = NULL;
    int rc;

    if (lpo_run_capture_file(a, argv, limit_ns, 0, &csv, err) < 0)
        return lpo_ctx(err, "ncu cannot import '%s'", path);
    rc = lpo_ncu_csv_reader.read(csv, into, err);
    unlink(csv);
    return rc;
}
