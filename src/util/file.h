/* SPDX-License-Identifier: Apache-2.0 */
/* util/file.h - whole files in, whole files out.
 *
 * A file under its final name is always complete: writing goes to a temporary neighbour, is
 * flushed to disk, then renamed over. */
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

/* Refuses folders and files over `limit` bytes (0: 1 GiB). */
int lpo_file_text_read_limit(const char *path, size_t limit, struct lpo_file_text **out,
                             struct lpo_err *err);
int lpo_file_text_read(const char *path, struct lpo_file_text **out, struct lpo_err *err);
void lpo_file_text_destroy(struct lpo_file_text *t); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_file_text);

int lpo_file_write(const char *path, const void *bytes, size_t len, struct lpo_err *err);
/* The same without waiting for the disk: for what can be made again from other files. */
int lpo_file_write_quick(const char *path, const void *bytes, size_t len, struct lpo_err *err);
/* Sees every file before it is written. Returns true where other bytes, which it put into *out, are
 * written instead; such a file is for its owner alone (0600). */
typedef bool (*lpo_file_filter)(const void *bytes, size_t len, struct lpo_str *out);
/* For the whole process, so that no writer can forget it: run/secrets.c. NULL: none. */
void lpo_file_set_filter(lpo_file_filter filter);
/* mkdir -p */
int lpo_file_make_dirs(const char *path, struct lpo_err *err);
