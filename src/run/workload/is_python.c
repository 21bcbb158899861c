/* SPDX-License-Identifier: Apache-2.0 */
/* Is there a Python interpreter in the workload? Asked before it runs, so that a profiler of Python
 * programs does not cost one more run of every other program. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "run/workload/workload.h"
#include "settings/settings.h"
#include "util/arena.h"
#include "util/path.h"
#include "util/str.h"

static bool is_shell(const char *program)
{
    static const char *const shells[] = {
        "sh", "bash", "dash", "zsh", "ksh", "fish", "csh", "tcsh"
    };
    const char *base = lpo_path_base(program);

    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (strcmp(base, shells[i]) == 0)
            return true;
    return false;
}

/* The first two bytes are enough: another program reads the file. */
static bool is_script(const char *path)
{
    char start[2] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO would wait */
    bool script;

    if (fd < 0)
        return false;
    script = read(fd, start, sizeof start) == (ssize_t)sizeof start && start[0] == '#' &&
             start[1] == '!';
    close(fd);
    return script;
}

/* The file that a word names: the program on PATH, any other relative to the working folder. */
static const char *file_of(struct lpo_arena *a, const char *word, bool program, const char *folder)
{
    const char *found = program && !strchr(word, '/') ? lpo_path_which(a, word) : NULL;

    if (found || *word == '/')
        return found ? found : word;
    return lpo_path_join(a, folder, word);
}

static bool command_may_be_python(struct lpo_arena *a, const struct lpo_node *config,
                                  const char *call_dir)
{
    struct lpo_settings_words argv = lpo_settings_list(a, config, "workload.argv");
    const char *cwd = lpo_settings_text(config, "workload.cwd");
    const char *program = lpo_settings_text(config, "workload.program");

    if (!cwd)
        cwd = call_dir;
    else if (*cwd != '/')
        cwd = lpo_path_join(a, call_dir, cwd);
    if (program)
        return true; /* not how a command is given: nothing is known about it */
    for (size_t i = 0; i < argv.len; i++) {
        const char *word = argv.at[i];

        if (strstr(word, "python") || strstr(word, ".py") || (i == 0 && is_shell(word)) ||
            is_script(file_of(a, word, i == 0, i == 0 ? call_dir : cwd)))
            return true;
    }
    return false;
}

bool lpo_workload_may_be_python(struct lpo_arena *a, const struct lpo_node *config,
                                const char *call_dir)
{
    const char *kind = lpo_settings_text(config, "workload.kind");

    if (lpo_streq(kind, "command") || lpo_streq(kind, "server"))
        return command_may_be_python(a, config, call_dir);
    return !lpo_streq(kind, "toy");
}
