/* SPDX-License-Identifier: Apache-2.0 */
#include "run/install.h"

#include <stdlib.h>
#include <string.h>

#include "util/arena.h"
#include "util/path.h"

/* Beside the binary; under its build folder; in the source tree; in an installation. */
static const char *const places[] = {
    ".",
    "workloads",
    "demo",
    "src/collect",
    "..",
    "../workloads",
    "../libexec/llm-perf-opt",
    "../share/llm-perf-opt",
    "../share/llm-perf-opt/workloads",
    "../lib/llm-perf-opt",
    "../lib/x86_64-linux-gnu/llm-perf-opt",
    "../lib/aarch64-linux-gnu/llm-perf-opt",
    "../lib64/llm-perf-opt",
};

const char *lpo_run_install_find(struct lpo_arena *a, const char *name)
{
    const char *base = lpo_path_program_dir(a);

    for (size_t i = 0; base && i < sizeof places / sizeof *places; i++) {
        char *path = lpo_path_join(a, lpo_path_join(a, base, places[i]), name);
        char *real = lpo_path_exists(path) ? realpath(path, NULL) : NULL;

        if (real) {
            path = lpo_arena_strdup(a, real);
            free(real);
            return path;
        }
    }
    return NULL;
}

const char *lpo_run_install_user_dir(struct lpo_arena *a)
{
    const char *base = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

    if (base && *base)
        return lpo_path_join(a, base, "llm-perf-opt");
    return home && *home ? lpo_path_join(a, home, ".config/llm-perf-opt") : NULL;
}

const char **lpo_run_install_config_dirs(struct lpo_arena *a)
{
    const char **dirs = lpo_arena_array(a, 4, sizeof *dirs);
    const char *others[] = { getenv("LPO_CONFIG_DIR"), lpo_run_install_user_dir(a),
                             lpo_run_install_find(a, "conf") };
    size_t n = 0;

    for (size_t i = 0; i < 3; i++)
        if (others[i] && *others[i] && lpo_path_is_dir(others[i]))
            dirs[n++] = others[i];
    return dirs;
}
