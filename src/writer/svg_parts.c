/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/svg_parts.h"

#include "writer/markup.h"

void lpo_writer_svg_text(struct lpo_str *s, const char *text)
{
    enum { LONGEST = 200 };

    lpo_writer_markup_add(s, text, strlen(text), LONGEST);
}

void lpo_writer_svg_label(struct lpo_str *s, double x, double y, const char *anchor, int size,
                          const char *text)
{
    lpo_str_addf(s, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" font-size=\"%d\">", x, y,
                 anchor, size);
    lpo_writer_svg_text(s, text);
    lpo_str_add(s, "</text>\n");
}

void lpo_writer_svg_begin(struct lpo_str *s, const char *title, int height)
{
    lpo_str_addf(s,
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
                 "font-family=\"sans-serif\" fill=\"#24292f\">\n"
                 "<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n",
                 LPO_SVG_WIDTH, height, LPO_SVG_WIDTH, height);
    lpo_writer_svg_label(s, LPO_SVG_WIDTH / 2.0, 22, "middle", 15, title);
}
