/* SPDX-License-Identifier: Apache-2.0 */
/* util/md5.h - MD5 (RFC 1321), for folder names that another program made so. Not for secrets. */
#pragma once

#include "util/base.h"

/* Appends 32 hexadecimal digits. */
void lpo_md5_add(struct lpo_str *out, const char *text, size_t len);
