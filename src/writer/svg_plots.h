/* SPDX-License-Identifier: Apache-2.0 */
/* writer/svg_plots.h - pictures of figures that are not points on log axes. Private to writer/.
 *
 * Lines: a value over a number, as a curve. The points of the series "level" are drawn as steps,
 * those of "change" as vertical marks with their label.
 * Lanes: bars on common time, one row for each lane; what is narrower than a tenth of a pixel is
 * left out.
 * Heat: a cell for each point, from light (the least value of the picture) to dark (the most); rows
 * in the order in which their labels first appear. */
#pragma once

#include "util/base.h"

struct lpo_figure;

bool lpo_writer_svg_lines(const struct lpo_figure *f, struct lpo_str *out);
bool lpo_writer_svg_lanes(const struct lpo_figure *f, struct lpo_str *out);
bool lpo_writer_svg_heat(const struct lpo_figure *f, struct lpo_str *out);
