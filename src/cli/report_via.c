/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trace_options.h"

#include <unistd.h>

#include "cli/app.h"
#include "run/child/supervise.h"
#include "run/folder.h"
#include "trace/reader.h"
#include "util/file.h"
#include "util/path.h"

/* MOST_TASKS: Slurm's MaxArraySize is 1001 unless somebody changed it; a task takes several. */
enum { MOST_TASKS = 1000 };
typedef LPO_VEC(const char *) trace_list;
static const int64_t most_ns = INT64_C(7) * 24 * 3600 * 1000000000;

/* Absolute: a node has another working folder. Of a folder those that lpo can read. */
static int list_traces(struct lpo_arena *a, const char *const *paths, size_t count, trace_list *out,
                       struct lpo_err *err)
{
    for (size_t i = 0; i < count; i++) {
        const char *path = lpo_path_absolute(a, paths[i]);
        struct lpo_paths files = { 0 }; /* in the arena */

        if (!lpo_path_is_dir(path)) {
            lpo_vec_push(out, path);
            continue;
        }
        if (lpo_run_folder_list(a, path, "", &files, err) < 0)
            return err->code;
        for (unsigned long k = 0; k < files.len; k++) {
            const char *file = lpo_path_join(a, path, files.at[k]);
            const struct lpo_reader *r = NULL;

            if (lpo_trace_reader_find(file, &r, NULL) == 0)
                lpo_vec_push(out, file);
        }
    }
    if (out->len)
        return 0;
    return lpo_fail(err, LPO_E_NOTFOUND, "'%s' holds no trace that lpo can read", paths[0]);
}

static const char *digest_of(struct lpo_arena *a, const char *dir, size_t i)
{
    return lpo_arena_printf(a, "%s/%zu.lpod", dir, i);
}

/* Task k makes the digests of lines k, k + tasks, … of the list. */
static int write_job(struct lpo_app *app, const trace_list *traces, const char *dir,
                     struct lpo_err *err)
{
    size_t tasks = traces->len < MOST_TASKS ? traces->len : MOST_TASKS;
    const char *program = lpo_path_program(app->arena);
    LPO_STR list = { 0 };
    LPO_STR script = { 0 };

    for (size_t i = 0; i < traces->len; i++) {
        if (strpbrk(traces->at[i], "\n\r"))
            return lpo_fail(err, LPO_E_USAGE, "the name of a trace contains a line break");
        lpo_str_addf(&list, "%s\n", traces->at[i]);
        unlink(digest_of(app->arena, dir, i));
    }
    lpo_str_addf(&script,
                 "#!/bin/sh\n"
                 "#SBATCH --job-name=lpo-digest\n"
                 "#SBATCH --array=0-%zu\n"
                 "#SBATCH --output=%s/slurm-%%A_%%a.log\n"
                 "status=0\n"
                 "i=$SLURM_ARRAY_TASK_ID\n"
                 "while [ $i -lt %zu ]; do\n"
                 "    trace=$(sed -n \"$((i + 1))p\" ",
                 tasks - 1, dir, traces->len);
    lpo_str_add_shell(&script, lpo_path_join(app->arena, dir, "traces"));
    lpo_str_add(&script, ")\n    ");
    lpo_str_add_shell(&script, program ? program : "lpo");
    lpo_str_add(&script, " digest \"$trace\" -o ");
    lpo_str_add_shell(&script, dir);
    lpo_str_addf(&script, "/$i.lpod || status=1\n    i=$((i + %zu))\ndone\nexit $status\n", tasks);
    if (lpo_file_write(lpo_path_join(app->arena, dir, "traces"), list.at, list.len, err) < 0 ||
        lpo_file_write(lpo_path_join(app->arena, dir, "digest.sh"), script.at, script.len, err) < 0)
        return err->code;
    return 0;
}

/* sbatch ends with the worst exit code of the tasks: what is there says more than that. */
static int submit(struct lpo_app *app, const char *dir, struct lpo_err *err)
{
    const char *script = lpo_path_join(app->arena, dir, "digest.sh");
    const char *const argv[] = { "sbatch", "--wait", "--parsable", script, NULL };
    LPO_STR answer = { 0 };

    if (!lpo_path_which(app->arena, "sbatch"))
        return lpo_fail(err, LPO_E_MISSING,
                        "sbatch was not found; --via slurm needs Slurm's commands. Elsewhere, "
                        "start 'lpo digest TRACE' for each trace and 'lpo report *.lpod' after");
    fprintf(app->log, "lpo report: waiting for the array job of %s\n", script);
    return lpo_run_capture(argv, most_ns, &answer, err);
}

int lpo_cli_report_via(struct lpo_app *app, const char *via, const char *const *paths, size_t count,
                       const char *dir, const char ***digests, size_t *ndigests,
                       struct lpo_err *err)
{
    const char *at = lpo_path_absolute(app->arena, dir);
    trace_list traces = { 0 };
    struct lpo_err job = { 0 };
    int rc;

    if (strcmp(via, "slurm") != 0)
        return lpo_fail(err, LPO_E_USAGE, "--via takes 'slurm', not '%s'", via);
    rc = list_traces(app->arena, paths, count, &traces, err);
    if (rc == 0)
        rc = lpo_file_make_dirs(at, err);
    if (rc == 0)
        rc = write_job(app, &traces, at, err);
    if (rc == 0 && submit(app, at, &job) < 0 && job.code == LPO_E_MISSING)
        rc = (*err = job).code;
    *digests = lpo_arena_array(app->arena, traces.len + 1, sizeof **digests);
    *ndigests = 0;
    for (size_t i = 0; rc == 0 && i < traces.len; i++) {
        const char *digest = digest_of(app->arena, at, i);

        if (lpo_path_exists(digest))
            (*digests)[(*ndigests)++] = digest;
        else
            fprintf(app->log, "lpo report: warning: no digest of %s was made; see %s/slurm-*.log\n",
                    traces.at[i], at);
    }
    lpo_vec_free(&traces);
    if (rc == 0 && !*ndigests)
        rc = job.code ? (*err = job).code
                      : lpo_fail(err, LPO_E_CHILD, "the array job made no digest; see %s", at);
    return rc;
}
