/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run/program_runs.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/run/job.h"
#include "pipeline/pipeline.h"
#include "settings/settings.h"

enum input { INPUT_NONE, INPUT_OPEN, INPUT_WAITS };

/* A pipe that nobody has written to may be one that a shell or CI server merely left there. */
static enum input find_input(void)
{
    struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
    struct stat st;
    int waiting = 0;

    if (fstat(STDIN_FILENO, &st) < 0)
        return INPUT_NONE;
    if (S_ISREG(st.st_mode))
        return st.st_size > lseek(STDIN_FILENO, 0, SEEK_CUR) ? INPUT_WAITS : INPUT_NONE;
    if (!S_ISFIFO(st.st_mode) && !S_ISSOCK(st.st_mode))
        return INPUT_NONE;
    if (poll(&p, 1, 0) == 1 && ioctl(STDIN_FILENO, FIONREAD, &waiting) == 0 && waiting > 0)
        return INPUT_WAITS;
    return p.revents & POLLHUP ? INPUT_NONE : INPUT_OPEN;
}

int lpo_cli_program_runs_settle(struct lpo_pipeline *p, bool alone, struct lpo_progress *progress,
                                struct lpo_err *err)
{
    enum input input = find_input();
    LPO_STR stages = { 0 };
    size_t times;

    if (!lpo_streq(lpo_settings_text(p->config, "workload.kind"), "command"))
        return 0; /* programs of lpo's own, which read nothing */
    times = lpo_pipeline_program_runs(p, &stages);
    p->passes_input = times == 1 && alone && input != INPUT_NONE;
    if (times == 0 || p->passes_input)
        return 0;
    if (input == INPUT_WAITS)
        return lpo_fail(err, LPO_E_USAGE,
                        "the program would run %zu times (%s), and standard input can be read "
                        "once: --once runs it once, under the native stage, and passes it on; "
                        "'< /dev/null' runs it without",
                        times, alone ? lpo_str_text(&stages) : "and the other jobs of the sweep");
    if (times == 1 || !progress)
        return 0;
    lpo_cli_progress_say(progress, "the program runs %zu times: %s", times, lpo_str_text(&stages));
    lpo_cli_progress_say(progress,
                         "(a tool disturbs what others measure; --once runs it once, in native)");
    return 0;
}
