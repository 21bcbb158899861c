/* SPDX-License-Identifier: Apache-2.0 */
/* util/tar.h - the plain files of a ustar archive in memory, written below a folder. */
#pragma once

#include "util/base.h"

/* Names that lead out of `dir` and sizes beyond the end are LPO_E_FORMAT; anything that is no plain
 * file is passed over. */
int lpo_tar_unpack(struct lpo_arena *a, const char *at, size_t len, const char *dir,
                   struct lpo_err *err);
