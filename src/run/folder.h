/* SPDX-License-Identifier: Apache-2.0 */
/* run/folder.h - the folder of one run.
 *
 * Claimed by creating its main file exclusively, so two runs of the same second get two folders:
 * the second one's name ends in "-2". */
#pragma once

struct lpo_arena;
struct lpo_err;

/* Makes `wanted` (or wanted-2, -3, …) and claims it. *out is absolute, in the arena. */
int lpo_run_folder_create(struct lpo_arena *a, const char *wanted, const char **out,
                          struct lpo_err *err);
/* The same for a folder whose main file is another than run.json. */
int lpo_run_folder_claim(struct lpo_arena *a, const char *wanted, const char *file,
                         const char **out, struct lpo_err *err);
/* mkdir -p of run/name; returns the absolute path. */
int lpo_run_folder_sub(struct lpo_arena *a, const char *run, const char *name, const char **out,
                       struct lpo_err *err);
/* Writes run/name whole or not at all. */
int lpo_run_folder_write(const char *run, const char *name, const void *bytes, unsigned long len,
                         struct lpo_err *err);
/* Appends one line with a time stamp to run/lpo.log; failing to do so is not an error. */
void lpo_run_folder_log(const char *run, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Appends the relative paths of all files under run/name (sorted, links not followed). */
struct lpo_paths {
    const char **at;
    unsigned long len, cap;
};
void lpo_run_folder_list(struct lpo_arena *a, const char *run, const char *name,
                         struct lpo_paths *out);
/* Removes run/name and what is in it; used by --resume before a stage runs again. */
int lpo_run_folder_remove(struct lpo_arena *a, const char *run, const char *name,
                          struct lpo_err *err);
