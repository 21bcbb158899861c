/* SPDX-License-Identifier: Apache-2.0 */
/* util/pack.h - many small numbers in little space, for pages that are read by a browser.
 *
 * A number is a varint: seven bits in a byte, lowest first, the top bit says that more follow. The
 * bytes are then deflated (raw, RFC 1951) and written in base64, which any browser takes apart
 * again without a library. */
#pragma once

#include "util/base.h"

void lpo_pack_add(struct lpo_str *to, uint64_t number);
/* Small numbers of either sign stay small: 0, -1, 1, -2 … become 0, 1, 2, 3 … */
void lpo_pack_add_signed(struct lpo_str *to, int64_t number);
/* Appends the bytes, deflated, as base64 text. */
void lpo_pack_text(struct lpo_str *to, const char *bytes, size_t len);
/* Appends them as a gzip file. */
void lpo_pack_gzip(struct lpo_str *to, const char *bytes, size_t len);
