/* SPDX-License-Identifier: Apache-2.0 */
/* util/file.h - whole files in, whole files out.
 *
 * A file under its final name is always complete: writing goes to a temporary neighbour, is
 * flushed to disk, then renamed over. The neighbour has a random name and is opened with O_EXCL and
 * O_NOFOLLOW in the folder's descriptor, so nobody can put a link in its place. It is locked
 * (flock) while it is written: one that nobody holds was left by a killed process and is swept. */
#pragma once

#include "util/base.h"

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
/* The same, for its owner alone: command lines of others, which may hold what nobody recognises. */
int lpo_file_write_private(const char *path, const void *bytes, size_t len, struct lpo_err *err);
/* Sees every file before it is written. Returns true where other bytes, which it put into *out, are
 * written instead; such a file is for its owner alone (0600). */
typedef bool (*lpo_file_filter)(const void *bytes, size_t len, struct lpo_str *out);
/* For the whole process, so that no writer can forget it: run/secrets.c. NULL: none. */
void lpo_file_set_filter(lpo_file_filter filter);
/* What the filter would write: true, and *out, or false for the bytes as they are. */
bool lpo_file_filtered(const void *bytes, size_t len, struct lpo_str *out);
/* mkdir -p */
int lpo_file_make_dirs(const char *path, struct lpo_err *err);

/* --- temporary files --- */

#define LPO_TEMP_PREFIX ".lpo-tmp-"
enum { LPO_TEMP_HOST = 8, LPO_TEMP_NAME = sizeof LPO_TEMP_PREFIX + LPO_TEMP_HOST + 16 };

/* A name that begins with LPO_TEMP_PREFIX and a number for this machine, and cannot be guessed. */
void lpo_file_temp_name(char out[LPO_TEMP_NAME]);
bool lpo_file_temp_is_foreign(const char *name); /* another machine made it */
/* Locks a temporary file or folder that was just made, so that lpo_file_sweep() of another process
 * leaves it alone. False: such a sweep came first and removes it: make another. */
bool lpo_file_keep(int fd);
/* Removes the temporary files that are being written, and the scratch files. For a signal handler
 * that ends the process. */
void lpo_file_drop_temp(void);
/* A folder that is not yet in its place (an absolute path; NULL: none), which goes too. */
void lpo_file_building(const char *path);
void lpo_file_drop_building(void);
void lpo_file_drop_scratch(void); /* the scratch files alone */

/* lpo_file_write() in its steps, for callers that write many files (util/file_queue.h). Flushing
 * waits for the disk, and a disk takes many files at once nearly as fast as one: so write them all,
 * flush them all, then name them all. */
struct lpo_file_new { /* written, but without its name */
    int dir, fd;
    unsigned mode;
    char temp[LPO_TEMP_NAME]; /* empty: it has its name already (lpo_file_new_same) */
};

int lpo_file_open_folder(const char *path); /* its descriptor, or -1 and errno */
/* `dir` must stay open until the file has its name; `path` is its last part and for messages. The
 * bytes are written as they are, without the filter. */
int lpo_file_new_write(int dir, const char *path, const void *bytes, size_t len, unsigned mode,
                       struct lpo_file_new *out, struct lpo_err *err);
/* Does the file hold these bytes already? Then *out is that file, to flush and name as a new one;
 * naming it changes nothing. A link is not followed, and only a plain file counts. */
bool lpo_file_new_same(int dir, const char *path, const void *bytes, size_t len,
                       struct lpo_file_new *out);
/* Flushes all of them, files or folders, from several threads: each waits for the disk alone.
 * errors[i] is 0 or the errno of fds[i]; what it means for a file and for a folder: the next two.
 */
void lpo_file_flush_all(const int *fds, int *errors, size_t count);
int lpo_file_flushed(int error, const char *path, struct lpo_err *err);
int lpo_file_flushed_folder(int error, const char *path, struct lpo_err *err);
/* After the flush. Named or not, *f is gone. The name is on the disk when its folder is. */
int lpo_file_new_name(struct lpo_file_new *f, const char *path, struct lpo_err *err);
void lpo_file_new_drop(struct lpo_file_new *f);

/* Removes what killed processes of this user left in `dir` under such names; `deep`: below it, too.
 * What a living process holds, other users' files and links stay, and for a day what another
 * machine made: its locks may not be seen here. Failing is not an error. */
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
