/* SPDX-License-Identifier: Apache-2.0 */
/* util/unpack.h - a compressed file as a plain one, for readers that seek.
 *
 * A plain file is opened as it is. A gzip or zstd file is inflated into a temporary file in TMPDIR
 * that vanishes with its handle; one that inflates beyond the budget is refused. */
#pragma once

#include "util/base.h"

struct lpo_unpack_file {
    int fd;           /* for reading, at its start */
    const char *path; /* of the plain bytes: the file itself or the temporary one */
    bool cut;         /* the compressed stream ended early; what came before is here */
    char *temp;       /* private: the temporary name while it exists */
};

int lpo_unpack(const char *path, struct lpo_unpack_file **out, struct lpo_err *err);
/* Takes the temporary name away now; the handle stays good. For a reader that opens `path` itself
 * and has done so. */
void lpo_unpack_file_unname(struct lpo_unpack_file *u);
void lpo_unpack_file_destroy(struct lpo_unpack_file *u); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_unpack_file);
