/* SPDX-License-Identifier: Apache-2.0 */
/* Hydra's own settings, as far as they have a meaning here: the run folder, the job, the sweeper.
 * The names and defaults are Hydra 1.3's, because people's command lines use them. */
#include <string.h>

#include "hydra/defaults/repo.h"
#include "util/str.h"

static const struct builtin {
    const char *path, *text;
} table[] = {
    { "hydra/config", "defaults:\n"
                      "- output: default\n"
                      "- launcher: basic\n"
                      "- sweeper: basic\n"
                      "- help: default\n"
                      "- hydra_help: default\n"
                      "- hydra_logging: default\n"
                      "- job_logging: default\n"
                      "- callbacks: null\n"
                      "- env: default\n"
                      "- _self_\n"
                      "mode: null\n"
                      "searchpath: []\n"
                      "callbacks: {}\n"
                      "output_subdir: .hydra\n"
                      "overrides: {hydra: [], task: []}\n"
                      "job:\n"
                      "  name: ???\n"
                      "  chdir: null\n"
                      "  override_dirname: ???\n"
                      "  id: ???\n"
                      "  num: ???\n"
                      "  config_name: ???\n"
                      "  env_set: {}\n"
                      "  env_copy: []\n"
                      "  config:\n"
                      "    override_dirname: {kv_sep: '=', item_sep: ',', exclude_keys: []}\n"
                      "runtime:\n"
                      "  version: ???\n"
                      "  version_base: ???\n"
                      "  cwd: ???\n"
                      "  config_sources: ???\n"
                      "  output_dir: ???\n"
                      "  choices: {}\n"
                      "verbose: false\n" },
    { "hydra/output/default", "# @package hydra\n"
                              "run:\n"
                              "  dir: outputs/${now:%Y-%m-%d}/${now:%H-%M-%S}\n"
                              "sweep:\n"
                              "  dir: multirun/${now:%Y-%m-%d}/${now:%H-%M-%S}\n"
                              "  subdir: ${hydra.job.num}\n" },
    { "hydra/launcher/basic",
      "_target_: hydra._internal.core_plugins.basic_launcher.BasicLauncher\n" },
    { "hydra/sweeper/basic", "_target_: hydra._internal.core_plugins.basic_sweeper.BasicSweeper\n"
                             "max_batch_size: null\n"
                             "params: null\n" },
    { "hydra/help/default", "app_name: ${hydra.job.name}\n"
                            "header: ''\n"
                            "footer: ''\n"
                            "template: ''\n" },
    { "hydra/hydra_help/default", "hydra_help: ???\ntemplate: ''\n" },
    { "hydra/hydra_logging/default", "version: 1\nroot: {level: INFO}\n" },
    { "hydra/hydra_logging/disabled", "version: 1\nroot: null\n" },
    { "hydra/hydra_logging/hydra_debug", "version: 1\nroot: {level: DEBUG}\n" },
    { "hydra/hydra_logging/none", "" },
    { "hydra/job_logging/default", "version: 1\nroot: {level: INFO, handlers: [console, file]}\n" },
    { "hydra/job_logging/disabled", "version: 1\nroot: null\n" },
    { "hydra/job_logging/none", "" },
    { "hydra/job_logging/stdout", "version: 1\nroot: {level: INFO, handlers: [console]}\n" },
    { "hydra/env/default", "" },
};

enum { ROWS = sizeof table / sizeof *table };

const char *lpo_builtin_text(const char *path)
{
    for (int i = 0; i < ROWS; i++)
        if (strcmp(table[i].path, path) == 0)
            return table[i].text;
    return NULL;
}

bool lpo_builtin_has_group(const char *path)
{
    size_t len = strlen(path);

    if (len == 0)
        return true;
    for (int i = 0; i < ROWS; i++)
        if (strncmp(table[i].path, path, len) == 0 && table[i].path[len] == '/')
            return true;
    return false;
}

const char *lpo_builtin_option(const char *group, size_t n)
{
    size_t len = strlen(group);

    for (int i = 0; i < ROWS; i++) {
        const char *path = table[i].path;

        if (strncmp(path, group, len) != 0 || path[len] != '/' || strchr(path + len + 1, '/'))
            continue;
        if (n-- == 0)
            return path + len + 1;
    }
    return NULL;
}
