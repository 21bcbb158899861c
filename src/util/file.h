/* SPDX-License-Identifier: Apache-2.0 */
/* util/file.h - whole files in, whole files out.
 *
 * A file under its final name is always complete: writing goes to a temporary neighbour, is
 * flushed to disk, then renamed over. The neighbour has a random name and is opened with O_EXCL and
 * O_NOFOLLOW in the folder's descriptor, so nobody can put a link in its place. It is locked
 * (flock) while it is written: one that nobody holds was left by a killed process and is swept. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "util/auto.h"

struct lpo_err;
struct lpo_str;

struct lpo_file_text {
    char *at; /* NUL-terminated; may hold NUL bytes inside */
    size_t len;
};

/* Refuses folders and files over `limit` bytes (0: 1 GiB). A pipe is read with the time limits of
 * util/spool.h. */
int lpo_file_text_read_limit(const char *path, size_t limit, struct lpo_file_text **out,
                             struct lpo_err *err);
int lpo_file_text_read(const char *path, struct lpo_file_text **out, struct lpo_err *err);
void lpo_file_text_destroy(struct lpo_file_text *t); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_file_text);

int lpo_file_write(const char *path, const void *bytes, size_t len, struct lpo_err *err);
/* Sees every file before it is written. Returns true where other bytes, which it put into *out, are
 * written instead; such a file is for its owner alone (0600). */
typedef bool (*lpo_file_filter)(const void *bytes, size_t len, struct lpo_str *out);
/* For the whole process, so that no writer can forget it: run/secrets.c. NULL: none. */
void lpo_file_set_filter(lpo_file_filter filter);
/* What the filter would write: true, and *out, or false for the bytes as they are. */
bool lpo_file_filtered(const void *bytes, size_t len, struct lpo_str *out);
/* lpo_file_write() in its steps, for who writes several files into a folder (util/file_queue.h):
 * the descriptor of the folder, or -1 and errno; the file, flushed and renamed to the last part of
 * `path`, its bytes as they are; the new names, which are on the disk only when their folder is. */
int lpo_file_open_folder(const char *path);
int lpo_file_replace(int dir, const char *path, const void *bytes, size_t len, unsigned mode,
                     struct lpo_err *err);
int lpo_file_flush_folder(int dir, const char *path, struct lpo_err *err);
/* mkdir -p */
int lpo_file_make_dirs(const char *path, struct lpo_err *err);

/* --- temporary files --- */

#define LPO_TEMP_PREFIX ".lpo-tmp-"
enum { LPO_TEMP_NAME = sizeof LPO_TEMP_PREFIX + 16 };

/* A name that begins with LPO_TEMP_PREFIX and cannot be guessed. */
void lpo_file_temp_name(char out[LPO_TEMP_NAME]);
/* Removes the temporary file that is being written, if any, and the scratch files. For a signal
 * handler that ends the process. */
void lpo_file_drop_temp(void);
/* Removes what killed processes of this user left in `dir` under such names; `deep`: below it, too.
 * What a living process holds, other users' files and links stay. Failing is not an error. */
void lpo_file_sweep(const char *dir, bool deep);
/* The same for the scratch files in TMPDIR. */
void lpo_file_sweep_scratch(void);

/* A locked, empty file TMPDIR/lpo-<what>-XXXXXX, readable by this user only. Returns its
 * descriptor, *path is malloc'd; or -1 and err. The caller unlinks it as soon as it can. */
int lpo_file_scratch(const char *what, char **path, struct lpo_err *err);
/* All of it, or LPO_E_IO. */
int lpo_file_scratch_write(int fd, const char *at, size_t len, struct lpo_err *err);

/* The same for a folder, for programs that write a file by name: nobody sweeps it while the
 * descriptor is open. A signal that ends the process removes the file `inside` and the folder. The
 * caller removes it with lpo_file_remove_at(). */
int lpo_file_scratch_folder(const char *what, const char *inside, char **path, struct lpo_err *err);

/* Removes `name` in the folder `dir` and, where it is a folder, all in it. A link is removed, never
 * followed; what is not there is fine. Returns 0, or -1 and errno. */
int lpo_file_remove_at(int dir, const char *name);
