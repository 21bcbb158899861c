/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/svg_plots.h"

#include "report/doc/doc.h"
#include "util/units.h"
#include "writer/svg_parts.h"

enum {
    WIDTH = LPO_SVG_WIDTH,
    HEIGHT = 320,
    LEFT = 90,
    RIGHT = 20,
    TOP = 40,
    BOTTOM = 40,
    ROW = 18,
    MOST_SPANS = 20000,
    COLOURS = 10,
};

static const char *const colours[COLOURS] = {
    "#1f6feb", "#d1553d", "#2da44e", "#bf8700", "#8250df",
    "#0e7490", "#cf222e", "#57606a", "#9a6700", "#1a7f37"
};

/* --- lines ---------------------------------------------------------------------------------- */

struct plane {
    double x0, x1, y0, y1;
};

static struct plane plane_of(const struct lpo_figure *f)
{
    struct plane p = { INFINITY, -INFINITY, INFINITY, -INFINITY };
    double margin;

    for (size_t i = 0; i < f->points.len; i++) {
        const struct lpo_point *q = &f->points.at[i];

        if (!isfinite(q->x) || !isfinite(q->y))
            continue;
        p.x0 = fmin(p.x0, q->x);
        p.x1 = fmax(p.x1, q->x);
        p.y0 = fmin(p.y0, q->y);
        p.y1 = fmax(p.y1, q->y);
    }
    margin = p.y1 > p.y0 ? 0.1 * (p.y1 - p.y0) : fmax(fabs(p.y1) * 0.1, 1);
    p.y0 -= margin;
    p.y1 += margin;
    if (!(p.x1 > p.x0))
        p.x1 = p.x0 + 1;
    return p;
}

static double px(const struct plane *p, double x)
{
    return LEFT + (x - p->x0) / (p->x1 - p->x0) * (WIDTH - LEFT - RIGHT);
}

static double py(const struct plane *p, double y)
{
    return HEIGHT - BOTTOM - (y - p->y0) / (p->y1 - p->y0) * (HEIGHT - TOP - BOTTOM);
}

static void curve(struct lpo_str *s, const struct lpo_figure *f, const struct plane *p,
                  const char *series, bool steps)
{
    bool any = false;
    double last = 0;

    for (size_t i = 0; i < f->points.len; i++) {
        const struct lpo_point *q = &f->points.at[i];

        if (strcmp(q->series, series) != 0 || !isfinite(q->y))
            continue;
        if (!any)
            lpo_str_add(s, "<polyline fill=\"none\" points=\"");
        if (any && steps)
            lpo_str_addf(s, "%.1f,%.1f ", px(p, q->x), last);
        last = py(p, q->y);
        lpo_str_addf(s, "%.1f,%.1f ", px(p, q->x), last);
        any = true;
    }
    if (any)
        lpo_str_addf(s, "\" stroke=\"%s\" stroke-width=\"%s\"/>\n", steps ? "#8b949e" : colours[0],
                     steps ? "3" : "1.5");
}

static void axis_labels(struct lpo_str *s, const struct lpo_figure *f, const struct plane *p)
{
    for (int i = 0; i <= 4; i++) {
        double y = p->y0 + (p->y1 - p->y0) * i / 4;
        LPO_STR text = { 0 };

        if (f->y_title && strcmp(f->y_title, "ns") == 0)
            lpo_units_add_duration(&text, (int64_t)llround(y));
        else
            lpo_str_addf(&text, "%.4g", y);
        lpo_writer_svg_label(s, LEFT - 6, py(p, y) + 4, "end", 11, lpo_str_text(&text));
        lpo_str_addf(s, "<path d=\"M%d %.1fH%d\" stroke=\"#d0d7de\"/>\n", LEFT, py(p, y),
                     WIDTH - RIGHT);
    }
    if (f->x_title)
        lpo_writer_svg_label(s, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 10, "middle", 11,
                             f->x_title);
}

bool lpo_writer_svg_lines(const struct lpo_figure *f, struct lpo_str *s)
{
    struct plane p = plane_of(f);

    if (!(p.x0 < INFINITY))
        return false;
    lpo_writer_svg_begin(s, f->title, HEIGHT);
    axis_labels(s, f, &p);
    curve(s, f, &p, "level", true);
    curve(s, f, &p, "value", false);
    for (size_t i = 0; i < f->points.len; i++) {
        const struct lpo_point *q = &f->points.at[i];

        if (!isfinite(q->y) || strcmp(q->series, "level") == 0)
            continue;
        if (strcmp(q->series, "change") == 0) {
            lpo_str_addf(s, "<path d=\"M%.1f %dV%d\" stroke=\"#d1553d\" stroke-dasharray=\"4\"/>\n",
                         px(&p, q->x), TOP, HEIGHT - BOTTOM);
            lpo_writer_svg_label(s, px(&p, q->x) + 3, TOP + 10, "start", 11, q->label);
            continue;
        }
        lpo_str_addf(s, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"><title>", px(&p, q->x),
                     py(&p, q->y), colours[0]);
        lpo_writer_svg_text(s, q->label);
        lpo_str_add(s, "</title></circle>\n");
    }
    lpo_str_add(s, "</svg>\n");
    return true;
}

/* --- lanes ---------------------------------------------------------------------------------- */

/* Equal names have one colour on both sides of a comparison. */
static const char *colour_of(const char *name)
{
    if (strncmp(name, "idle", 4) == 0)
        return "#eaeef2";
    return colours[lpo_str_hash(name, strlen(name)) % COLOURS];
}

static void span(struct lpo_str *s, const struct lpo_span *x, double left, double width, double y)
{
    LPO_STR ns = { 0 };

    lpo_units_add_duration(&ns, x->end_ns - x->start_ns);
    lpo_str_addf(s, "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%d\" fill=\"%s\"><title>",
                 left, y, width, ROW - 2, colour_of(x->name));
    lpo_writer_svg_text(s, x->name);
    lpo_str_addf(s, ": %s</title></rect>\n", ns.at);
    if (width > 7.0 * (double)strlen(x->name) + 4 && strlen(x->name) < 100) {
        lpo_str_addf(s,
                     "<text x=\"%.1f\" y=\"%.1f\" font-size=\"10\" fill=\"%s\" "
                     "pointer-events=\"none\">",
                     left + 2, y + 12, strncmp(x->name, "idle", 4) == 0 ? "#57606a" : "white");
        lpo_writer_svg_text(s, x->name);
        lpo_str_add(s, "</text>\n");
    }
}

bool lpo_writer_svg_lanes(const struct lpo_figure *f, struct lpo_str *s)
{
    int64_t first = INT64_MAX, last = INT64_MIN;
    double scale;

    for (size_t i = 0; i < f->spans.len; i++) {
        first = f->spans.at[i].start_ns < first ? f->spans.at[i].start_ns : first;
        last = f->spans.at[i].end_ns > last ? f->spans.at[i].end_ns : last;
    }
    if (last <= first || f->spans.len > MOST_SPANS || f->lanes.len > 200)
        return false;
    scale = (WIDTH - LEFT - RIGHT) / ((double)last - (double)first);
    lpo_writer_svg_begin(s, f->title, TOP + (int)f->lanes.len * ROW + 20);
    for (size_t i = 0; i < f->lanes.len; i++)
        if (i == 0 || strcmp(f->lanes.at[i].group, f->lanes.at[i - 1].group) != 0)
            lpo_writer_svg_label(s, LEFT - 6, TOP + (double)i * ROW + 12, "end", 11,
                                 f->lanes.at[i].group);
    for (size_t i = 0; i < f->spans.len; i++) {
        const struct lpo_span *x = &f->spans.at[i];
        double width = ((double)x->end_ns - (double)x->start_ns) * scale;

        if (width >= 0.1)
            span(s, x, LEFT + ((double)x->start_ns - (double)first) * scale, width,
                 TOP + (double)x->lane * ROW);
    }
    lpo_str_add(s, "</svg>\n");
    return true;
}

/* --- heat ----------------------------------------------------------------------------------- */

enum { MOST_CELLS = 20000, NAMED_COLUMNS = 12, KEY_STEPS = 5 };

/* From a light blue to a dark one: darker is more in print and for those who see no colours. */
static void heat_colour(char out[8], double share)
{
    static const int light[3] = { 0xdd, 0xeb, 0xff }, dark[3] = { 0x03, 0x2f, 0x62 };
    int c[3];

    for (int i = 0; i < 3; i++)
        c[i] = light[i] + (int)lround(share * (dark[i] - light[i]));
    snprintf(out, 8, "#%02x%02x%02x", c[0] & 0xff, c[1] & 0xff, c[2] & 0xff);
}

static void heat_value(struct lpo_str *s, const struct lpo_figure *f, double y)
{
    if (f->y_title && strcmp(f->y_title, "ns") == 0)
        lpo_units_add_duration(s, (int64_t)llround(y));
    else
        lpo_str_addf(s, "%.4g", y);
}

static void heat_key(struct lpo_str *s, const struct lpo_figure *f, const struct plane *p, double y)
{
    for (int i = 0; i < KEY_STEPS; i++) {
        char colour[8];

        heat_colour(colour, (double)i / (KEY_STEPS - 1));
        lpo_str_addf(s, "<rect x=\"%d\" y=\"%.1f\" width=\"24\" height=\"10\" fill=\"%s\"/>\n",
                     LEFT + i * 24, y, colour);
    }
    for (int i = 0; i < 2; i++) {
        LPO_STR text = { 0 };

        heat_value(&text, f, i ? p->y1 : p->y0);
        lpo_writer_svg_label(s, i ? LEFT + KEY_STEPS * 24 + 6 : LEFT - 6, y + 9,
                             i ? "start" : "end", 11, lpo_str_text(&text));
    }
}

/* The least and the most of what can be drawn. */
static size_t heat_plane(const struct lpo_figure *f, struct plane *p)
{
    size_t rows = 0;

    *p = (struct plane){ 0, 0, INFINITY, -INFINITY };
    for (size_t i = 0; i < f->points.len; i++) {
        const struct lpo_point *q = &f->points.at[i];

        rows += !i || strcmp(q->label, q[-1].label) != 0;
        if (!isfinite(q->y) || !(q->x >= 0 && q->x < MOST_CELLS))
            continue;
        p->x1 = fmax(p->x1, q->x + 1);
        p->y0 = fmin(p->y0, q->y);
        p->y1 = fmax(p->y1, q->y);
    }
    return rows;
}

static void heat_cell(struct lpo_str *s, const struct lpo_figure *f, const struct lpo_point *q,
                      const struct plane *p, double wide, double y)
{
    LPO_STR value = { 0 };
    char colour[8];

    heat_colour(colour, p->y1 > p->y0 ? (q->y - p->y0) / (p->y1 - p->y0) : 0.5);
    heat_value(&value, f, q->y);
    lpo_str_addf(s, "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%d\" fill=\"%s\"><title>",
                 LEFT + q->x * wide, y, wide > 3 ? wide - 1 : wide, ROW - 2, colour);
    lpo_writer_svg_text(s, q->label);
    lpo_str_add(s, ", ");
    lpo_writer_svg_text(s, q->series);
    lpo_str_addf(s, ": %s</title></rect>\n", lpo_str_text(&value));
}

bool lpo_writer_svg_heat(const struct lpo_figure *f, struct lpo_str *s)
{
    struct plane p;
    size_t rows = heat_plane(f, &p);
    double wide = (WIDTH - LEFT - RIGHT) / fmax(p.x1, 1), y = TOP - ROW, named = -INFINITY;

    if (!(p.y0 < INFINITY) || f->points.len > MOST_CELLS)
        return false;
    lpo_writer_svg_begin(s, f->title, TOP + (int)rows * ROW + 60);
    for (size_t i = 0; i < f->points.len; i++) {
        const struct lpo_point *q = &f->points.at[i];

        if (!i || strcmp(q->label, q[-1].label) != 0) {
            y += ROW;
            lpo_writer_svg_label(s, LEFT - 6, y + 12, "end", 11, q->label);
        }
        if (isfinite(q->y) && q->x >= 0 && q->x < p.x1)
            heat_cell(s, f, q, &p, wide, y);
        if (y == TOP && q->x - named >= p.x1 / NAMED_COLUMNS) {
            named = q->x;
            lpo_writer_svg_label(s, LEFT + (q->x + 0.5) * wide, TOP + (double)rows * ROW + 14,
                                 "middle", 11, q->series);
        }
    }
    if (f->x_title)
        lpo_writer_svg_label(s, (LEFT + WIDTH - RIGHT) / 2.0, TOP + (double)rows * ROW + 30,
                             "middle", 11, f->x_title);
    heat_key(s, f, &p, TOP + (double)rows * ROW + 40);
    lpo_str_add(s, "</svg>\n");
    return true;
}
