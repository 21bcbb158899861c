/* SPDX-License-Identifier: Apache-2.0 */
/* util/path.h - file names as text. Nothing here touches the disk but lpo_path_exists & co. */
#pragma once

#include <dirent.h>
#include <sys/stat.h>

#include "util/base.h"

/* "a/b"; a second part that starts with '/' stands alone; "" parts vanish. */
char *lpo_path_join(struct lpo_arena *a, const char *dir, const char *name);
char *lpo_path_dir(struct lpo_arena *a, const char *path); /* "." when there is none */
const char *lpo_path_base(const char *path);               /* points into path */
char *lpo_path_absolute(struct lpo_arena *a,
                        const char *path); /* by the working folder, no links */

bool lpo_path_exists(const char *path);
bool lpo_path_is_dir(const char *path);

/* stat(), fstatat() and opendir(), made again where a name is stale; false and NULL set errno. */
bool lpo_path_stat(const char *path, struct stat *st);
bool lpo_path_stat_at(int dir, const char *name, int flags, struct stat *st);
DIR *lpo_path_open_dir(const char *path);

/* The first executable of that name on PATH (or the path itself when it holds a '/'), or NULL. */
char *lpo_path_which(struct lpo_arena *a, const char *name);

/* Appends `name` made safe as one folder or file name: letters, digits, '.', '_', '-' stay, the
 * rest becomes '_'; never empty, "." or ".."; at most 80 bytes; when anything was changed, a
 * short hash of the real name follows so that two names stay apart. */
void lpo_path_add_safe(struct lpo_str *s, const char *name, size_t len);

/* The running program, also where /proc is not mounted, or NULL. */
char *lpo_path_program(struct lpo_arena *a);
/* Its folder, or NULL. */
char *lpo_path_program_dir(struct lpo_arena *a);
