/* SPDX-License-Identifier: Apache-2.0 */
/* SVG: each figure a picture. Timelines are Perfetto's. Every text in a picture is escaped: labels
 * come from the profiled program. */

#include "report/doc/doc.h"
#include "util/units.h"
#include "writer/svg_parts.h"
#include "writer/svg_plots.h"
#include "writer/writer.h"

enum {
    WIDTH = LPO_SVG_WIDTH,
    HEIGHT = 420,
    LEFT = 80,
    RIGHT = 20,
    TOP = 40,
    BOTTOM = 60,
    MOST_SERIES = 8
};

static const char *const colours[MOST_SERIES] = { "#1f6feb", "#d1553d", "#8b949e", "#2da44e",
                                                  "#bf8700", "#8250df", "#0e7490", "#57606a" };

/* The order in which series first appear; at most MOST_SERIES have a colour of their own. */
static size_t series_of(const struct lpo_figure *f, const char **names)
{
    size_t n = 0;

    for (size_t i = 0; i < f->points.len; i++) {
        size_t k = 0;

        if (strcmp(f->points.at[i].series, "roof") == 0)
            continue;
        while (k < n && strcmp(names[k], f->points.at[i].series) != 0)
            k++;
        if (k == n && n < MOST_SERIES)
            names[n++] = f->points.at[i].series;
    }
    return n;
}

static size_t index_of(const char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return n ? n - 1 : 0;
}

static void legend(struct lpo_str *s, const char *const *names, size_t n, double y)
{
    double x = LEFT;

    for (size_t i = 0; i < n; i++) {
        lpo_str_addf(s, "<rect x=\"%.1f\" y=\"%.1f\" width=\"10\" height=\"10\" fill=\"%s\"/>\n", x,
                     y - 9, colours[i]);
        lpo_writer_svg_label(s, x + 14, y, "start", 11, names[i]);
        x += 30 + 7.0 * (double)strlen(names[i]);
    }
}

struct axis {
    double low, high; /* powers of ten, or values */
    bool linear;
};

static struct axis axis_of(const struct lpo_figure *f, bool vertical)
{
    double low = INFINITY, high = -INFINITY;

    if (f->percent)
        return (struct axis){ 0, 100, true };

    for (size_t i = 0; i < f->points.len; i++) {
        double v = vertical ? f->points.at[i].y : f->points.at[i].x;

        if (v > 0 && isfinite(v)) {
            low = fmin(low, log10(v));
            high = fmax(high, log10(v));
        }
    }
    if (!(low <= high))
        return (struct axis){ 0, 1, false };
    return (struct axis){ floor(low), fmax(ceil(high), floor(low) + 1), false };
}

/* From 0 to 1 along the axis. */
static double along(const struct axis *a, double v)
{
    return ((a->linear ? v : log10(v)) - a->low) / (a->high - a->low);
}

static double place_x(const struct axis *a, double v)
{
    return LEFT + along(a, v) * (WIDTH - LEFT - RIGHT);
}

static double place_y(const struct axis *a, double v)
{
    return HEIGHT - BOTTOM - along(a, v) * (HEIGHT - TOP - BOTTOM);
}

static void ticks(struct lpo_str *s, const struct axis *a, bool vertical)
{
    int step = a->linear ? 20 : a->high - a->low > 12 ? 3 : 1;

    for (int e = (int)a->low; e <= (int)a->high; e += step) {
        double v = a->linear ? e : pow(10, e), at = vertical ? place_y(a, v) : place_x(a, v);
        LPO_STR text = { 0 };

        lpo_units_add_si(&text, v, "");
        if (vertical) {
            lpo_str_addf(s, "<path d=\"M%d %.1fH%d\" stroke=\"#d0d7de\"/>\n", LEFT, at,
                         WIDTH - RIGHT);
            lpo_writer_svg_label(s, LEFT - 6, at + 4, "end", 11, lpo_str_text(&text));
        } else {
            lpo_str_addf(s, "<path d=\"M%.1f %dV%d\" stroke=\"#d0d7de\"/>\n", at, TOP,
                         HEIGHT - BOTTOM);
            lpo_writer_svg_label(s, at, HEIGHT - BOTTOM + 16, "middle", 11, lpo_str_text(&text));
        }
    }
}

/* A logarithm has no place for what is not above 0 and finite. */
static bool can_place(const struct lpo_figure *f, const struct lpo_point *p)
{
    return f->percent ? p->x >= 0 && p->x <= 100 && p->y >= 0 && p->y <= 100
                      : p->x > 0 && p->y > 0 && isfinite(p->x) && isfinite(p->y);
}

/* Names of points that are close would cover each other: the first is shown, the others have
 * tooltips. */
struct spots {
    double x[64], y[64];
    size_t n;
};

static bool is_free(struct spots *t, double x, double y)
{
    for (size_t i = 0; i < t->n; i++)
        if (fabs(t->x[i] - x) < 110 && fabs(t->y[i] - y) < 11)
            return false;
    if (t->n == 64)
        return false;
    t->x[t->n] = x;
    t->y[t->n++] = y;
    return true;
}

static void dot(struct lpo_str *s, double x, double y, const char *colour, const char *name,
                struct spots *taken)
{
    lpo_str_addf(s, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\"><title>", x, y, colour);
    lpo_writer_svg_text(s, name);
    lpo_str_add(s, "</title></circle>\n");
    if (is_free(taken, x, y))
        lpo_writer_svg_label(s, x + 6, y - 5, "start", 9, name);
}

/* "memory 4.800 TB/s" beside the slope, "compute 66.90 TFLOP/s" over the flat part: along the slope
 * the rate is y over x bytes per second. */
static void label_roofs(const struct lpo_figure *f, const struct axis *x, const struct axis *y,
                        struct lpo_str *s)
{
    const struct lpo_point *roof[3] = { NULL };
    LPO_STR memory = { 0 };
    LPO_STR compute = { 0 };
    size_t n = 0;

    for (size_t i = 0; i < f->points.len && n < 3; i++)
        if (strcmp(f->points.at[i].series, "roof") == 0 && can_place(f, &f->points.at[i]))
            roof[n++] = &f->points.at[i];
    if (n < 3)
        return;
    lpo_str_addf(&memory, "%s ", roof[0]->label);
    lpo_units_add_si(&memory, roof[0]->y / roof[0]->x, "B/s");
    lpo_str_addf(&compute, "%s ", roof[2]->label);
    lpo_units_add_si(&compute, roof[2]->y, "FLOP/s");
    lpo_writer_svg_label(s, (place_x(x, roof[0]->x) + place_x(x, roof[1]->x)) / 2 - 8,
                         (place_y(y, roof[0]->y) + place_y(y, roof[1]->y)) / 2, "end", 11,
                         lpo_str_text(&memory));
    lpo_writer_svg_label(s, place_x(x, roof[2]->x), place_y(y, roof[2]->y) - 6, "end", 11,
                         lpo_str_text(&compute));
}

/* The series "roof" is a line; every other point is a dot with its name. */
static void scatter(const struct lpo_figure *f, struct lpo_str *s)
{
    struct axis x = axis_of(f, false), y = axis_of(f, true);
    const char *names[MOST_SERIES];
    size_t n = series_of(f, names);
    struct spots taken = { .n = 0 };
    bool started = false;

    lpo_writer_svg_begin(s, f->title, HEIGHT);
    ticks(s, &x, false);
    ticks(s, &y, true);
    lpo_str_add(s, "<path fill=\"none\" stroke=\"#24292f\" stroke-width=\"2\" d=\"");
    for (size_t i = 0; i < f->points.len; i++) {
        const struct lpo_point *p = &f->points.at[i];

        if (strcmp(p->series, "roof") != 0 || !can_place(f, p))
            continue;
        lpo_str_addf(s, "%c%.1f %.1f", started ? 'L' : 'M', place_x(&x, p->x), place_y(&y, p->y));
        started = true;
    }
    lpo_str_add(s, started ? "\"/>\n" : "M0 0\"/>\n");
    label_roofs(f, &x, &y, s);
    for (size_t i = 0; i < f->points.len; i++) {
        const struct lpo_point *p = &f->points.at[i];

        if (strcmp(p->series, "roof") == 0 || !can_place(f, p))
            continue;
        dot(s, place_x(&x, p->x), place_y(&y, p->y), colours[index_of(names, n, p->series)],
            p->label, &taken);
    }
    if (f->x_title)
        lpo_writer_svg_label(s, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 26, "middle", 12,
                             f->x_title);
    if (f->y_title)
        lpo_writer_svg_label(s, 8, TOP - 8, "start", 12, f->y_title);
    legend(s, names, n, HEIGHT - 8);
    lpo_str_add(s, "</svg>\n");
}

enum { BAR = 26, LABEL = 220 };

static double length(const struct lpo_point *p)
{
    return p->y > 0 && isfinite(p->y) ? p->y : 0;
}

/* Points with the same label are one bar, laid end to end in the order they came. */
static void bars(const struct lpo_figure *f, struct lpo_str *s)
{
    const char *names[MOST_SERIES];
    size_t n = series_of(f, names), count = 0;
    const char *last = NULL;
    double longest = 0, sum = 0, scale, x = 0, y = TOP;

    for (size_t i = 0; i < f->points.len; i++) {
        bool fresh = !last || !lpo_streq(last, f->points.at[i].label);

        count += fresh;
        sum = (fresh ? 0 : sum) + length(&f->points.at[i]);
        longest = fmax(longest, sum);
        last = f->points.at[i].label;
    }
    scale = longest > 0 ? (WIDTH - LABEL - 90) / longest : 0;
    lpo_writer_svg_begin(s, f->title, TOP + (int)count * BAR + 40);
    last = NULL;
    for (size_t i = 0; i < f->points.len; i++) {
        const struct lpo_point *p = &f->points.at[i];
        bool fresh = !last || !lpo_streq(last, p->label);
        double width = length(p) * scale;

        if (fresh) {
            y = last ? y + BAR : y;
            x = LABEL;
            sum = 0;
            lpo_writer_svg_label(s, LABEL - 8, y + 15, "end", 11, p->label);
        }
        lpo_str_addf(s,
                     "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" "
                     "fill=\"%s\"><title>",
                     x, y + 2, width, BAR - 6, colours[index_of(names, n, p->series)]);
        lpo_writer_svg_text(s, p->series);
        lpo_str_addf(s, ": %.4g</title></rect>\n", length(p));
        x += width;
        sum += length(p);
        last = p->label;
        if (i + 1 == f->points.len || !lpo_streq(f->points.at[i + 1].label, p->label)) {
            LPO_STR total = { 0 };

            lpo_str_addf(&total, "%.4g %s", sum, f->y_title ? f->y_title : "");
            lpo_writer_svg_label(s, x + 6, y + 15, "start", 11, lpo_str_text(&total));
        }
    }
    legend(s, names, n, TOP + (double)count * BAR + 24);
    lpo_str_add(s, "</svg>\n");
}

static bool svg_draw(const struct lpo_figure *f, struct lpo_str *out)
{
    if (f->points.len == 0 || f->kind == LPO_FIG_LANES)
        return false;
    if (f->kind == LPO_FIG_LINES)
        return lpo_writer_svg_lines(f, out);
    if (f->kind == LPO_FIG_HEAT)
        return lpo_writer_svg_heat(f, out);
    if (f->kind == LPO_FIG_SCATTER)
        scatter(f, out);
    else
        bars(f, out);
    return true;
}

const struct lpo_writer lpo_writer_svg = {
    .name = "svg",
    .summary = "figures as pictures: scatter plots with log axes, stacked bars, heat maps",
    .kind = "run",
    .file = "figures/%s.svg",
    .always = true, /* report.md links to them */
    .draw = svg_draw,
};
