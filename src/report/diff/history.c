/* SPDX-License-Identifier: Apache-2.0 */
#include "report/diff/history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analysis/diff/trend.h"
#include "report/doc/doc.h"
#include "util/arena.h"
#include "util/map.h"
#include "util/str.h"
#include "util/units.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* "2026-01-31 12:00", in UTC: the same everywhere. */
static void row_time(struct lpo_table *t, int64_t unix_s)
{
    struct tm tm;
    time_t at = (time_t)unix_s;
    char text[32];

    if (unix_s > 0 && gmtime_r(&at, &tm) && strftime(text, sizeof text, "%Y-%m-%d %H:%M", &tm))
        lpo_doc_row_text(t, text);
    else
        lpo_doc_row_unknown(t);
}

static void row_ns(struct lpo_table *t, double ns)
{
    if (isnan(ns))
        lpo_doc_row_unknown(t);
    else
        lpo_doc_row_ns(t, (int64_t)llround(ns));
}

static struct lpo_doc *create(const char *title)
{
    return lpo_doc_create_data(LPO_HISTORY_SCHEMA, "history", title);
}

/* --- list ----------------------------------------------------------------------------------- */

static const struct lpo_column list_columns[] = {
    { "name", "Name", LPO_CELL_TEXT, NULL },
    { "runs", "Runs", LPO_CELL_COUNT, NULL },
    { "last", "Last added (UTC)", LPO_CELL_TEXT, NULL },
    { "wall_ns", "Last: wall, a step", LPO_CELL_NS, NULL },
};

struct lpo_doc *lpo_report_history_list(const lpo_report_history_runs *runs)
{
    struct lpo_doc *doc = create("History");
    struct lpo_record *names = lpo_doc_put_list(doc->data, "names");
    LPO_AUTO(lpo_map) seen = lpo_map_create();
    struct lpo_table *t;

    for (size_t i = 0; i < runs->len; i++)
        *lpo_map_put(seen, runs->at[i].name, strlen(runs->at[i].name), NULL) = i; /* the last one */
    lpo_doc_section(doc, "names", "", 1);
    t = lpo_doc_table(doc, "names", "", list_columns, COUNT(list_columns));
    for (size_t i = 0; i < lpo_map_count(seen); i++) {
        const struct lpo_report_history_run *last = &runs->at[lpo_map_value(seen, i)];
        struct lpo_record *r = lpo_doc_put_record(names, NULL);
        size_t n = 0;

        for (size_t k = 0; k < runs->len; k++)
            n += strcmp(runs->at[k].name, last->name) == 0;
        lpo_doc_row_text(t, last->name);
        lpo_doc_row_count(t, n);
        row_time(t, last->unix_s);
        row_ns(t, last->wall_ns);
        lpo_doc_put_text(r, "name", last->name);
        lpo_doc_put_uint(r, "runs", n);
        lpo_doc_put_int(r, "last_unix_s", last->unix_s);
    }
    return doc;
}

/* --- show ----------------------------------------------------------------------------------- */

static const struct lpo_column show_columns[] = {
    { "id", "Run", LPO_CELL_COUNT, NULL },
    { "name", "Name", LPO_CELL_TEXT, NULL },
    { "added", "Added (UTC)", LPO_CELL_TEXT, NULL },
    { "wall_ns", "Wall, a step", LPO_CELL_NS, NULL },
    { "gpu_ns", "GPU, a step", LPO_CELL_NS, NULL },
    { "tokens_per_s", "Tokens/s", LPO_CELL_MEASURE, "" },
    { "label", "From", LPO_CELL_TEXT, NULL },
};

static void put_run(struct lpo_record *list, const struct lpo_report_history_run *x)
{
    struct lpo_record *r = lpo_doc_put_record(list, NULL);

    lpo_doc_put_int(r, "id", x->id);
    lpo_doc_put_text(r, "name", x->name);
    lpo_doc_put_text(r, "label", x->label);
    lpo_doc_put_int(r, "unix_s", x->unix_s);
    lpo_doc_put_real(r, "wall_ns", x->wall_ns);
    lpo_doc_put_real(r, "gpu_ns", x->gpu_ns);
    lpo_doc_put_real(r, "tokens_per_s", x->tokens_per_s);
}

struct lpo_doc *lpo_report_history_show(const lpo_report_history_runs *runs)
{
    struct lpo_doc *doc = create("History");
    struct lpo_record *list = lpo_doc_put_list(doc->data, "runs");
    struct lpo_table *t;

    lpo_doc_section(doc, "runs", "", 1);
    t = lpo_doc_table(doc, "runs", "", show_columns, COUNT(show_columns));
    for (size_t i = 0; i < runs->len; i++) {
        const struct lpo_report_history_run *x = &runs->at[i];

        lpo_doc_row_count(t, (uint64_t)x->id);
        lpo_doc_row_text(t, x->name);
        row_time(t, x->unix_s);
        row_ns(t, x->wall_ns);
        row_ns(t, x->gpu_ns);
        lpo_doc_row_measure(t, isnan(x->tokens_per_s) ? lpo_measure_unknown()
                                                      : lpo_measure_measured(x->tokens_per_s));
        lpo_doc_row_text(t, x->label);
        put_run(list, x);
    }
    return doc;
}

/* --- trend ---------------------------------------------------------------------------------- */

static bool is_time(const char *what)
{
    return strcmp(what, "wall") == 0 || strcmp(what, "gpu") == 0 || strchr(what, ':') != NULL;
}

static void add_value(struct lpo_str *s, const char *what, double value)
{
    if (is_time(what))
        lpo_units_add_duration(s, (int64_t)llround(value));
    else
        lpo_str_addf(s, "%.6g", value);
}

/* A level: runs between two change points. */
struct level {
    size_t from, to;
    double mean;
};

static void draw(struct lpo_doc *doc, const lpo_report_history_runs *runs, const char *what,
                 const struct level *levels, size_t nlevels)
{
    struct lpo_figure *f = lpo_doc_figure(
        doc, "trend", lpo_arena_printf(doc->arena, "%s over the runs", what), LPO_FIG_LINES);

    f->x_title = "run";
    f->y_title = is_time(what) ? "ns" : "";
    for (size_t i = 0; i < runs->len; i++)
        lpo_doc_figure_point(f, "value", runs->at[i].label, (double)(i + 1), runs->at[i].value);
    for (size_t i = 0; i < nlevels; i++) {
        lpo_doc_figure_point(f, "level", "", (double)(levels[i].from + 1), levels[i].mean);
        lpo_doc_figure_point(f, "level", "", (double)levels[i].to, levels[i].mean);
        if (i)
            lpo_doc_figure_point(f, "change",
                                 lpo_arena_printf(doc->arena, "%+.1f %%",
                                                  100 * (levels[i].mean / levels[i - 1].mean - 1)),
                                 (double)(levels[i].from + 1), levels[i].mean);
    }
}

static void say_levels(struct lpo_doc *doc, const lpo_report_history_runs *runs, const char *what,
                       const struct level *levels, size_t nlevels)
{
    struct lpo_record *list = lpo_doc_put_list(doc->data, "changes");

    if (nlevels == 1)
        lpo_doc_paragraph(doc, "No change beyond chance in %zu runs.", runs->len);
    for (size_t i = 1; i < nlevels; i++) {
        const struct lpo_report_history_run *x = &runs->at[levels[i].from];
        double change = levels[i].mean / levels[i - 1].mean - 1;
        struct lpo_record *r = lpo_doc_put_record(list, NULL);
        LPO_STR before = { 0 };
        LPO_STR after = { 0 };

        add_value(&before, what, levels[i - 1].mean);
        add_value(&after, what, levels[i].mean);
        lpo_doc_paragraph(doc, "- With run %lld (%s): %s to %s, %+.2f %%.", (long long)x->id,
                          x->label, before.at, after.at, 100 * change);
        lpo_doc_put_int(r, "id", x->id);
        lpo_doc_put_text(r, "label", x->label);
        lpo_doc_put_real(r, "before", levels[i - 1].mean);
        lpo_doc_put_real(r, "after", levels[i].mean);
        lpo_doc_put_real(r, "change", change);
    }
}

static size_t find_levels(const lpo_report_history_runs *runs, struct level *out)
{
    double *values = lpo_xcalloc(runs->len + 1, sizeof *values);
    bool *starts = lpo_xcalloc(runs->len + 1, sizeof *starts);
    size_t n = 0;

    for (size_t i = 0; i < runs->len; i++)
        values[i] = runs->at[i].value;
    lpo_diff_change_points(values, runs->len, starts);
    for (size_t i = 0; i < runs->len; i++) {
        if (i == 0 || starts[i])
            out[n++] = (struct level){ i, i, 0 };
        out[n - 1].to = i + 1;
        out[n - 1].mean += values[i];
    }
    for (size_t i = 0; i < n; i++)
        out[i].mean /= (double)(out[i].to - out[i].from);
    free(values);
    free(starts);
    return n;
}

struct lpo_doc *lpo_report_history_trend(const lpo_report_history_runs *all, const char *name,
                                         const char *what)
{
    struct lpo_doc *doc = create("Trend");
    lpo_report_history_runs runs = { 0 };
    struct lpo_record *list;
    struct level *levels;
    size_t n;

    for (size_t i = 0; i < all->len; i++)
        if (all->at[i].value > 0)
            lpo_vec_push(&runs, all->at[i]);
    lpo_doc_put_text(doc->data, "name", name);
    lpo_doc_put_text(doc->data, "what", what);
    lpo_doc_section(doc, "trend", lpo_arena_printf(doc->arena, "%s of %s", what, name), 1);
    if (!runs.len)
        lpo_doc_paragraph(doc, "No run of '%s' has '%s'.", name, what);
    levels = lpo_xcalloc(runs.len + 1, sizeof *levels);
    n = find_levels(&runs, levels);
    say_levels(doc, &runs, what, levels, n);
    if (runs.len)
        draw(doc, &runs, what, levels, n);
    list = lpo_doc_put_list(doc->data, "values");
    for (size_t i = 0; i < runs.len; i++) {
        struct lpo_record *r = lpo_doc_put_record(list, NULL);

        lpo_doc_put_int(r, "id", runs.at[i].id);
        lpo_doc_put_text(r, "label", runs.at[i].label);
        lpo_doc_put_real(r, "value", runs.at[i].value);
    }
    free(levels);
    lpo_vec_free(&runs);
    return doc;
}
