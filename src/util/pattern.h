/* SPDX-License-Identifier: Apache-2.0 */
/* util/pattern.h - names picked by glob or by regular expression.
 *
 * "gemm*" is a glob over the whole name: `*` any text, `?` one character, `[a-z]` a set, `\` takes
 * the next character as it is. "regex:gemm|conv" is a regular expression (PCRE2) that may match
 * anywhere. Regions have a grammar of their own on top of it (region/pattern/pattern.h). Patterns
 * come from users' files: matching is bounded, and one that gives up says so. */
#pragma once

#include "util/base.h"

struct lpo_pattern;

int lpo_pattern_create(const char *text, struct lpo_pattern **out, struct lpo_err *err);
void lpo_pattern_destroy(struct lpo_pattern *p); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_pattern);

bool lpo_pattern_matches(struct lpo_pattern *p, const char *text, size_t len);
const char *lpo_pattern_text(const struct lpo_pattern *p); /* as the user wrote it */
bool lpo_pattern_gave_up(const struct lpo_pattern *p);     /* a match ran into the limit */
