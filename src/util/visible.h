/* SPDX-License-Identifier: Apache-2.0 */
/* util/visible.h - text of others made safe to look at.
 *
 * File names, config keys, the output of programs and the names of ranges and kernels come from
 * others. On a terminal or in a page they must not move the cursor, reverse the line or break it:
 * control bytes, bidi and zero-width marks and broken UTF-8 are shown as escapes, and long names
 * are cut. Every table and page uses lpo_visible_add(); everything else that lpo prints goes
 * through lpo_visible_stream(), so that no message can be forgotten. */
#pragma once

#include "util/base.h"

/* Whether a character must not be shown as it is: a control, or a mark that is invisible or turns
 * the direction of what follows. */
bool lpo_visible_hidden(uint32_t code_point);
/* At most `max` characters (0: no limit); a name that was cut shows how many bytes it has. */
void lpo_visible_add(struct lpo_str *out, const char *text, size_t len, size_t max);
/* Characters of `text`, which must be output of lpo_visible_add(): every code point is one column.
 */
size_t lpo_visible_width(const char *text, size_t len);

/* Whole lines: '\n' and '\t' stay. */
void lpo_visible_add_lines(struct lpo_str *out, const char *text, size_t len);

/* A stream that shows on `to` what is printed on it: '\n' and '\t' stay, everything else that is
 * hidden becomes an escape. Line-buffered. fclose() leaves `to` open. NULL without memory. */
FILE *lpo_visible_stream(FILE *to);
