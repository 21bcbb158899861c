/* SPDX-License-Identifier: Apache-2.0 */
/* run/folder.h - the folder of one run: made, locked, written, cleared.
 *
 * A new folder is built under another name beside its place and renamed when everything that
 * describes the run is in it: it is there complete, or not at all. A folder that is not empty and
 * was not made by lpo is refused. While a run uses a folder it holds a lock (flock on .lpo-lock),
 * which the kernel takes back when the process ends, however it ends. Nothing here follows a link
 * below the run folder. */
#pragma once

#include "util/base.h"

#define LPO_RUN_LOCK ".lpo-lock"

/* A folder that this process holds; filled by begin or open, also where these fail. */
struct lpo_run_folder {
    const char *dir;   /* absolute, in the arena; until it is published, where it is built */
    const char *place; /* where it will be; it may become place-2, -3, … */
    bool building;
    bool unlocked;  /* this file system has no locks */
    bool only_here; /* never place-2: publish fails where another run came first */
    bool in_place;  /* built where it stays: the place is the working folder or a mount point */
    int lock_fd, dir_fd;
};

/* Begins a new folder for `wanted`. LPO_E_CONFIG when a folder of somebody else's is there. */
int lpo_run_folder_begin(struct lpo_arena *a, const char *wanted, struct lpo_run_folder *out,
                         struct lpo_err *err);
/* Puts it in its place; two runs of the same second get two: the second one's name ends in -2. */
int lpo_run_folder_publish(struct lpo_arena *a, struct lpo_run_folder *f, struct lpo_err *err);
/* Takes the lock of a folder that is there. LPO_E_USAGE when another process holds it, with who. */
int lpo_run_folder_open(struct lpo_arena *a, const char *dir, struct lpo_run_folder *out,
                        struct lpo_err *err);
/* Does another process hold it now? */
bool lpo_run_folder_is_used(const char *dir);
/* Makes and locks a folder for reports: a new or empty one, or one that held reports before.
 * LPO_E_USAGE for a folder of somebody else's, and for one that holds a run. */
int lpo_run_folder_claim(struct lpo_arena *a, const char *dir, struct lpo_run_folder *out,
                         struct lpo_err *err);
/* Makes `latest` beside the folder lead to it. A file or folder of that name stays; failing is not
 * an error. */
void lpo_run_folder_link_latest(struct lpo_arena *a, const char *dir);
/* Gives the lock back; what was never published is removed. */
void lpo_run_folder_close(struct lpo_run_folder *f);

/* Writes run/name whole or not at all. */
int lpo_run_folder_write(const char *run, const char *name, const void *bytes, unsigned long len,
                         struct lpo_err *err);
/* Appends one line with a time stamp to run/lpo.log; failing to do so is not an error. */
void lpo_run_folder_log(const char *run, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

struct lpo_paths {
    const char **at;
    unsigned long len, cap;
    bool cut;              /* there are more, or deeper ones, than are listed */
    struct lpo_paths *odd; /* gets what is neither a file nor a folder (a pipe, a link, a device);
                              NULL: such things are left out */
};
/* Appends the relative paths of all files under run/name (sorted, links not followed). A folder
 * that is not there has none; one that cannot be read is an error. */
int lpo_run_folder_list(struct lpo_arena *a, const char *run, const char *name,
                        struct lpo_paths *out, struct lpo_err *err);

/* Removes run/name and what is in it. For what this very process made. */
int lpo_run_folder_remove(struct lpo_arena *a, const char *run, const char *name,
                          struct lpo_err *err);
/* Makes room for run/name before a stage runs again. Removes only what `files` (of the manifest)
 * lists: a path, or with a '/' at its end a whole folder. Where something else remains, run/name is
 * renamed and *kept is its new name; else *kept is NULL. */
int lpo_run_folder_clear(struct lpo_arena *a, const char *run, const char *name,
                         const char *const *files, size_t nfiles, const char **kept,
                         struct lpo_err *err);
