/* writer/visible.h - program text made safe to look at.
 *
 * Names of ranges and kernels come from the profiled program. On a terminal or in a page they must
 * not move the cursor, reverse the line or break it: control bytes, bidi and zero-width marks and
 * broken UTF-8 are shown as escapes, and long names are cut. */
#pragma once

#include <stddef.h>

struct lpo_str;

/* At most `max` characters (0: no limit); a name that was cut shows how many bytes it has. */
void lpo_writer_add_visible(struct lpo_str *out, const char *text, size_t len, size_t max);
/* Characters of `text`, which must be output of the above: every code point is one column. */
size_t lpo_writer_visible_width(const char *text, size_t len);
