/* writer/svg.h - figures as pictures: scatter plots with log axes, and stacked bars.
 *
 * Every text in a picture is escaped: labels come from the profiled program. */
#pragma once

#include <stdbool.h>

struct lpo_doc;
struct lpo_err;
struct lpo_figure;
struct lpo_str;

/* False when this kind of figure is not drawn (timelines are Perfetto's). */
bool lpo_writer_svg_write(const struct lpo_figure *f, struct lpo_str *out);

/* Writes figures/<id>.svg below `dir` for every figure that can be drawn. */
int lpo_writer_svg_write_all(const struct lpo_doc *doc, const char *dir, struct lpo_err *err);
