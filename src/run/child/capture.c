/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "run/child/capture.h"
#include "run/child/supervise.h"
#include "run/step.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/str.h"

enum { ANSWER_BYTES = 65536 };

/* Helper programs go through the same supervision as stages. */
static int run(struct lpo_arena *a, const char *const *argv, int64_t timeout_ns, uint64_t limit,
               const char *path, struct lpo_err *err)
{
    struct lpo_steps steps = { .arena = a };
    struct lpo_step *step = lpo_run_steps_add(&steps, argv[0]);
    struct lpo_watch watch = { .self_path = lpo_run_guard_program(a) };
    struct lpo_result r;
    LPO_STR how = { 0 };

    lpo_run_step_args(a, step, argv);
    step->stdout_path = path;
    step->timeout_ns = timeout_ns;
    step->output_limit = limit;
    if (lpo_run_supervise(step, &watch, &r, err) < 0)
        return err ? err->code : LPO_E_CHILD;
    if (r.end == LPO_END_EXIT && r.code == 0)
        return 0;
    lpo_run_result_describe(&r, step, &how);
    if (r.end == LPO_END_EXIT && r.last_line[0]) /* its own words say more than the number */
        lpo_str_addf(&how, ": %s", r.last_line);
    return lpo_fail(err, LPO_E_CHILD, "%s: %s", argv[0], lpo_str_text(&how));
}

int lpo_run_capture_file(struct lpo_arena *a, const char *const *argv, int64_t timeout_ns,
                         uint64_t limit, const char **out, int *fd, struct lpo_err *err)
{
    bool ours = !lpo_run_supervise_active();
    char *name = NULL;
    int rc;

    *fd = lpo_file_scratch("capture", &name, err);
    if (*fd < 0)
        return err ? err->code : LPO_E_IO;
    /* From here on the file has no name, so nothing is left whatever ends us. Its descriptor still
     * has a path for those who want one. */
    unlink(name);
    free(name);
    *out = lpo_arena_printf(a, "/proc/self/fd/%d", *fd);
    rc = run(a, argv, timeout_ns, limit, *out, err);
    if (ours) /* a command that only asks keeps the signals it had, and the one that came */
        lpo_run_supervise_end();
    if (ours && lpo_run_supervise_interrupted())
        raise(SIGINT);
    if (rc < 0) {
        close(*fd);
        *fd = -1;
    }
    return rc;
}

int lpo_run_capture(const char *const *argv, int64_t timeout_ns, struct lpo_str *out,
                    struct lpo_err *err)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    LPO_AUTO(lpo_file_text) text = NULL;
    const char *path = NULL;
    int fd, rc = lpo_run_capture_file(a, argv, timeout_ns, ANSWER_BYTES, &path, &fd, err);

    if (rc < 0)
        return rc;
    rc = lpo_file_text_read(path, &text, err);
    close(fd);
    if (rc == 0)
        lpo_str_addn(out, text->at, text->len);
    return rc;
}
