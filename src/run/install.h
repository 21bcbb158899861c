/* SPDX-License-Identifier: Apache-2.0 */
/* run/install.h - where the files that came with lpo are, relative to the program.
 *
 * A build folder inside the source tree, an installation and a folder carried to another machine
 * all work: the same few places beside the binary are tried in order. */
#pragma once

#include "util/base.h"

/* "liblpo-collect.so", "toy_llm", "hf_generate.py", "conf": the absolute path, or NULL. */
const char *lpo_run_install_find(struct lpo_arena *a, const char *name);

/* Config folders, first found wins: $LPO_CONFIG_DIR, the user's own folder
 * (~/.config/llm-perf-opt), the shipped tree. NULL-terminated. */
const char **lpo_run_install_config_dirs(struct lpo_arena *a);

/* The user's own config folder, there or not; NULL when there is no home. */
const char *lpo_run_install_user_dir(struct lpo_arena *a);
