/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/diff/digest_json.h - a digest as text, for a history of runs.
 *
 * Of each sample at most LPO_DIFF_STORED calls are written, spread evenly over their sizes: a
 * digest takes some hundred KB, whatever the trace took. A text may come from anywhere: what is
 * read is checked and bounded. */
#pragma once

#include "util/base.h"

struct lpo_diff_digest;

#define LPO_DIFF_DIGEST_SCHEMA "lpo.digest/1"

enum { LPO_DIFF_STORED = 128 };

void lpo_diff_digest_write(const struct lpo_diff_digest *d, struct lpo_str *out);
/* LPO_E_FORMAT where the text is no digest, or a damaged one. */
int lpo_diff_digest_parse(const char *text, size_t len, struct lpo_diff_digest **out,
                          struct lpo_err *err);
