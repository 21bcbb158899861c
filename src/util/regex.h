/* SPDX-License-Identifier: Apache-2.0 */
/* util/regex.h - regular expressions of the program itself (PCRE2), compiled when first used.
 *
 *     static struct lpo_regex number = LPO_REGEX("[0-9]++");
 *
 * Anchored at the beginning; bytes, not characters. Write repetitions possessive ("++", "*+"), so
 * that a long text costs no memory. From any thread. Patterns of users are util/pattern.h. */
#pragma once

#include "util/base.h"

struct lpo_regex {
    const char *text;
    _Atomic(void *) code; /* of the whole run; never freed */
};

#define LPO_REGEX(text)                                                                            \
    {                                                                                              \
        text, NULL                                                                                 \
    }

/* How many bytes it matches; `none` where it does not match. */
size_t lpo_regex_length(struct lpo_regex *r, const char *at, size_t len, size_t none);
/* Does it match all of the text? */
bool lpo_regex_is(struct lpo_regex *r, const char *at, size_t len);
