/* SPDX-License-Identifier: Apache-2.0 */
/* writer/markup.h - text of the profiled program inside HTML, SVG and XML. */
#pragma once

#include "util/base.h"

/* Like lpo_visible_add: characters that would not be seen, which XML does not allow either, are
 * made visible. Then the five characters that markup reserves are escaped. */
void lpo_writer_markup_add(struct lpo_str *out, const char *text, size_t len, size_t longest);
