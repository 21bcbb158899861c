#include <stdlib.h>
#include <unistd.h>

#include "run/plan.h"
#include "run/supervise.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/str.h"

/* Helper programs go through the same supervision as stages, by way of a temporary file. */
int lpo_capture(const char *const *argv, int64_t timeout_ns, struct lpo_str *out,
                struct lpo_err *err)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    LPO_AUTO(lpo_text) text = NULL;
    struct lpo_steps steps = { .arena = a };
    struct lpo_step *step = lpo_steps_add(&steps, argv[0]);
    const char *tmp = getenv("TMPDIR");
    char *path = lpo_arena_printf(a, "%s/lpo-capture-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    struct lpo_result result;
    int fd = mkstemp(path), rc;

    if (fd < 0)
        return lpo_fail_errno(err, "cannot make a temporary file '%s'", path);
    close(fd);
    lpo_step_args(a, step, argv);
    step->stdout_path = path;
    step->timeout_ns = timeout_ns;
    step->output_limit = 65536;
    rc = lpo_supervise(step, NULL, &result, err);
    if (rc == 0)
        rc = lpo_text_read(path, &text, err);
    unlink(path);
    if (rc < 0)
        return rc;
    if (result.end != LPO_END_EXIT || result.code != 0) {
        LPO_STR how = { 0 };

        lpo_result_describe(&result, step, &how);
        return lpo_fail(err, LPO_E_CHILD, "%s: %s", argv[0], lpo_str_text(&how));
    }
    lpo_str_addn(out, text->at, text->len);
    return 0;
}
