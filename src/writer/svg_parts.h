/* SPDX-License-Identifier: Apache-2.0 */
/* writer/svg_parts.h - what every picture is made of. Names come from the profiled program: here
 * they are escaped, so that none becomes markup. */
#pragma once

#include "util/base.h"

enum { LPO_SVG_WIDTH = 760 };

/* The picture's beginning with its title; the caller adds "</svg>". */
void lpo_writer_svg_begin(struct lpo_str *s, const char *title, int height);
void lpo_writer_svg_label(struct lpo_str *s, double x, double y, const char *anchor, int size,
                          const char *text);
void lpo_writer_svg_text(struct lpo_str *s, const char *text);
