/* SPDX-License-Identifier: Apache-2.0 */
#include "report/diff/history.h"

#include <time.h>

#include "analysis/diff/trend.h"
#include "report/doc/doc.h"
#include "util/json.h"
#include "util/units.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* "2026-01-31 12:00", in UTC: the same everywhere. */
static const char *time_words(struct lpo_arena *a, int64_t unix_s)
{
    struct tm tm;
    time_t at = (time_t)unix_s;
    char text[32];

    if (unix_s > 0 && gmtime_r(&at, &tm) && strftime(text, sizeof text, "%Y-%m-%d %H:%M", &tm))
        return lpo_arena_strdup(a, text);
    return NULL;
}

static struct lpo_doc *create(const char *title)
{
    return lpo_doc_create_data(LPO_HISTORY_SCHEMA, "history", title);
}

/* --- one figure ----------------------------------------------------------------------------- */

double lpo_report_history_figure(const struct lpo_report_history_run *x, const char *key)
{
    return x->figures ? lpo_json_real(lpo_json_get(x->figures, key), NAN) : NAN;
}

/* A level: runs between two change points. */
struct level {
    size_t from, to;
    double mean;
};

/* The runs that have a figure. */
struct line {
    const char *what;
    lpo_report_history_runs runs;
    struct level *levels;
    size_t nlevels;
    struct lpo_diff_noise noise;
};

static struct line line_of(const lpo_report_history_runs *all, const char *what, bool asked)
{
    struct line l = { .what = what };
    LPO_FREED double *values = lpo_xcalloc(all->len + 1, sizeof *values);
    LPO_FREED bool *starts = lpo_xcalloc(all->len + 1, sizeof *starts);

    for (size_t i = 0; i < all->len; i++) {
        struct lpo_report_history_run x = all->at[i];

        if (!asked)
            x.value = lpo_report_history_figure(&x, what);
        if (x.value > 0)
            lpo_vec_push(&l.runs, x);
    }
    l.levels = lpo_xcalloc(l.runs.len + 1, sizeof *l.levels);
    for (size_t i = 0; i < l.runs.len; i++)
        values[i] = l.runs.at[i].value;
    l.noise = lpo_diff_change_points(values, l.runs.len, starts);
    for (size_t i = 0; i < l.runs.len; i++) {
        if (i == 0 || starts[i])
            l.levels[l.nlevels++] = (struct level){ i, i, 0 };
        l.levels[l.nlevels - 1].to = i + 1;
        l.levels[l.nlevels - 1].mean += values[i];
    }
    for (size_t i = 0; i < l.nlevels; i++)
        l.levels[i].mean /= (double)(l.levels[i].to - l.levels[i].from);
    return l;
}

static void free_line(struct line *l)
{
    lpo_vec_free(&l->runs);
    free(l->levels);
}

static double level_change(const struct line *l, size_t i)
{
    return l->levels[i].mean / l->levels[i - 1].mean - 1;
}

static bool is_time(const char *what)
{
    return strcmp(what, "wall") == 0 || strcmp(what, "gpu") == 0 || lpo_str_starts(what, "part:") ||
           lpo_diff_figure_is_row(what);
}

static void add_value(struct lpo_str *s, const char *what, double value)
{
    if (is_time(what))
        lpo_units_add_duration(s, (int64_t)llround(value));
    else
        lpo_str_addf(s, "%.6g", value);
}

static const char *value_words(struct lpo_arena *a, const char *what, double value)
{
    LPO_STR s = { 0 };

    if (isnan(value))
        return NULL;
    add_value(&s, what, value);
    return lpo_arena_strdup(a, s.at);
}

/* The values as a line of bars, from the least to the most; of many, means of several. */
static const char *spark(struct lpo_arena *a, const lpo_report_history_runs *runs)
{
    enum { WIDTH = 32 };
    static const char *const bars[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
    size_t n = runs->len < WIDTH ? runs->len : WIDTH;
    double means[WIDTH], least = INFINITY, most = 0;
    LPO_STR s = { 0 };

    for (size_t i = 0; i < n; i++) {
        size_t from = i * runs->len / n, to = (i + 1) * runs->len / n;

        means[i] = 0;
        for (size_t k = from; k < to; k++)
            means[i] += runs->at[k].value / (double)(to - from);
        least = fmin(least, means[i]);
        most = fmax(most, means[i]);
    }
    for (size_t i = 0; i < n; i++)
        lpo_str_add(&s, bars[most > least ? (int)(7.99 * (means[i] - least) / (most - least)) : 3]);
    return lpo_arena_strdup(a, lpo_str_text(&s));
}

/* A commit as people write it. */
static const char *short_revision(struct lpo_arena *a, const struct lpo_report_history_run *x)
{
    return strlen(x->revision) >= 40 ? lpo_arena_strndup(a, x->revision, 10) : x->revision;
}

static const char *run_words(struct lpo_arena *a, const struct lpo_report_history_run *x)
{
    return lpo_arena_printf(a, "run %lld (%s%s%s)", (long long)x->id, x->label,
                            *x->revision ? ", " : "", short_revision(a, x));
}

/* --- list ----------------------------------------------------------------------------------- */

static const struct lpo_column list_columns[] = {
    { "name", "Name", LPO_CELL_TEXT, NULL },
    { "runs", "Runs", LPO_CELL_COUNT, NULL },
    { "last", "Last added (UTC)", LPO_CELL_TEXT, NULL },
    { "wall_ns", "Last: wall, a step", LPO_CELL_NS, NULL },
    { "trend", "Wall over the runs", LPO_CELL_TEXT, NULL },
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
        LPO_FREED lpo_report_history_runs mine = { 0 };
        size_t n = 0;

        for (size_t k = 0; k < runs->len; k++) {
            struct lpo_report_history_run x = runs->at[k];

            if (strcmp(x.name, last->name) != 0)
                continue;
            n++;
            x.value = lpo_report_history_figure(&x, "wall");
            if (x.value > 0)
                lpo_vec_push(&mine, x);
        }
        lpo_doc_row(t, last->name, n, time_words(doc->arena, last->unix_s),
                    lpo_report_history_figure(last, "wall"), spark(doc->arena, &mine));
        lpo_doc_put(r, LPO_KV("name", last->name), LPO_KV("runs", n),
                    LPO_KV("last_unix_s", last->unix_s));
    }
    return doc;
}

/* --- show ----------------------------------------------------------------------------------- */

static const struct lpo_column show_columns[] = {
    { "id", "Run", LPO_CELL_COUNT, NULL },
    { "name", "Name", LPO_CELL_TEXT, NULL },
    { "added", "Added (UTC)", LPO_CELL_TEXT, NULL },
    { "revision", "Commit", LPO_CELL_TEXT, NULL },
    { "wall_ns", "Wall, a step", LPO_CELL_NS, NULL },
    { "gpu_ns", "GPU, a step", LPO_CELL_NS, NULL },
    { "tokens_per_s", "Tokens/s", LPO_CELL_MEASURE, "" },
    { "label", "From", LPO_CELL_TEXT, NULL },
};

static void put_run(struct lpo_record *list, const struct lpo_report_history_run *x)
{
    lpo_doc_put(lpo_doc_put_record(list, NULL), LPO_KV("id", x->id), LPO_KV("name", x->name),
                LPO_KV("label", x->label), LPO_KV("revision", *x->revision ? x->revision : NULL),
                LPO_KV("unix_s", x->unix_s),
                LPO_KV("wall_ns", lpo_report_history_figure(x, "wall")),
                LPO_KV("gpu_ns", lpo_report_history_figure(x, "gpu")),
                LPO_KV("tokens_per_s", lpo_report_history_figure(x, "tokens_per_s")));
}

static const struct lpo_column figure_columns[] = {
    { "figure", "Figure", LPO_CELL_TEXT, NULL }, { "runs", "Runs", LPO_CELL_COUNT, NULL },
    { "last", "Last", LPO_CELL_TEXT, NULL },     { "trend", "Over the runs", LPO_CELL_TEXT, NULL },
    { "noise", "Noise", LPO_CELL_TEXT, NULL },   { "change", "Last change", LPO_CELL_TEXT, NULL },
};

/* Figures in the order in which the runs have them. */
static struct lpo_map *keys_of(const lpo_report_history_runs *runs)
{
    struct lpo_map *keys = lpo_map_create();

    for (size_t i = 0; i < runs->len; i++)
        for (const struct lpo_json *v = runs->at[i].figures ? runs->at[i].figures->first : NULL; v;
             v = v->next)
            lpo_map_put(keys, v->key, v->key_len, NULL);
    return keys;
}

static void put_changes(struct lpo_record *to, const struct line *l)
{
    struct lpo_record *list = lpo_doc_put_list(to, "changes");

    for (size_t i = 1; i < l->nlevels; i++) {
        const struct lpo_report_history_run *x = &l->runs.at[l->levels[i].from];

        lpo_doc_put(lpo_doc_put_record(list, NULL), LPO_KV("id", x->id), LPO_KV("label", x->label),
                    LPO_KV("revision", *x->revision ? x->revision : NULL),
                    LPO_KV("before", l->levels[i - 1].mean), LPO_KV("after", l->levels[i].mean),
                    LPO_KV("change", level_change(l, i)));
    }
}

static void figure_row(struct lpo_doc *doc, struct lpo_table *t, struct lpo_record *list,
                       const struct line *l)
{
    struct lpo_record *r = lpo_doc_put_record(list, NULL);
    double last = l->runs.at[l->runs.len - 1].value;
    const char *change = "";

    if (l->nlevels > 1)
        change =
            lpo_arena_printf(t->arena, "%+.1f %% with %s", 100 * level_change(l, l->nlevels - 1),
                             run_words(doc->arena, &l->runs.at[l->levels[l->nlevels - 1].from]));
    lpo_doc_row(
        t, l->what, l->runs.len, value_words(t->arena, l->what, last), spark(doc->arena, &l->runs),
        l->runs.len > 3 ? lpo_arena_printf(t->arena, "%.1f %%", 100 * l->noise.deviation) : "",
        change);
    lpo_doc_put(r, LPO_KV("name", l->what), LPO_KV("runs", l->runs.len), LPO_KV("last", last),
                LPO_KV("noise", l->noise.deviation));
    put_changes(r, l);
}

static void all_figures(struct lpo_doc *doc, const lpo_report_history_runs *runs)
{
    LPO_AUTO(lpo_map) keys = keys_of(runs);
    struct lpo_record *list = lpo_doc_put_list(doc->data, "figures");
    struct lpo_table *t;

    lpo_doc_section(doc, "figures", "Figures", 1);
    t = lpo_doc_table(doc, "figures", "", figure_columns, COUNT(figure_columns));
    for (size_t i = 0; i < lpo_map_count(keys); i++) {
        struct line l = line_of(runs, lpo_map_key(keys, i, NULL), false);

        if (l.runs.len)
            figure_row(doc, t, list, &l);
        free_line(&l);
    }
}

struct lpo_doc *lpo_report_history_show(const lpo_report_history_runs *runs, const char *name)
{
    struct lpo_doc *doc = create("History");
    struct lpo_record *list = lpo_doc_put_list(doc->data, "runs");
    struct lpo_table *t;

    lpo_doc_section(doc, "runs", "", 1);
    t = lpo_doc_table(doc, "runs", "", show_columns, COUNT(show_columns));
    for (size_t i = 0; i < runs->len; i++) {
        const struct lpo_report_history_run *x = &runs->at[i];

        lpo_doc_row(t, x->id, x->name, time_words(doc->arena, x->unix_s),
                    *x->revision ? short_revision(doc->arena, x) : NULL,
                    lpo_report_history_figure(x, "wall"), lpo_report_history_figure(x, "gpu"),
                    lpo_report_history_figure(x, "tokens_per_s"), x->label);
        put_run(list, x);
    }
    if (name)
        all_figures(doc, runs);
    return doc;
}

/* --- trend ---------------------------------------------------------------------------------- */

static void draw(struct lpo_doc *doc, const struct line *l)
{
    struct lpo_figure *f = lpo_doc_figure(
        doc, "trend", lpo_arena_printf(doc->arena, "%s over the runs", l->what), LPO_FIG_LINES);

    f->x_title = "run";
    f->y_title = is_time(l->what) ? "ns" : "";
    for (size_t i = 0; i < l->runs.len; i++)
        lpo_doc_figure_point(f, "value", run_words(doc->arena, &l->runs.at[i]), (double)(i + 1),
                             l->runs.at[i].value);
    for (size_t i = 0; i < l->nlevels; i++) {
        const struct level *v = &l->levels[i];

        lpo_doc_figure_point(f, "level", "", (double)(v->from + 1), v->mean);
        lpo_doc_figure_point(f, "level", "", (double)v->to, v->mean);
        if (i)
            lpo_doc_figure_point(f, "change",
                                 lpo_arena_printf(doc->arena, "%+.1f %%", 100 * level_change(l, i)),
                                 (double)(v->from + 1), v->mean);
    }
}

static void say_levels(struct lpo_doc *doc, const struct line *l)
{
    lpo_doc_paragraph(doc, "%s", spark(doc->arena, &l->runs));
    if (l->nlevels == 1)
        lpo_doc_paragraph(doc, "No change beyond chance in %zu runs, which vary by %.1f %%.",
                          l->runs.len, 100 * l->noise.deviation);
    for (size_t i = 1; i < l->nlevels; i++) {
        LPO_STR s = { 0 };

        add_value(&s, l->what, l->levels[i - 1].mean);
        lpo_str_add(&s, " to ");
        add_value(&s, l->what, l->levels[i].mean);
        lpo_doc_paragraph(doc, "- With %s: %s, %+.2f %%.",
                          run_words(doc->arena, &l->runs.at[l->levels[i].from]), s.at,
                          100 * level_change(l, i));
    }
}

static const struct lpo_column value_columns[] = {
    { "id", "Run", LPO_CELL_COUNT, NULL },
    { "added", "Added (UTC)", LPO_CELL_TEXT, NULL },
    { "revision", "Commit", LPO_CELL_TEXT, NULL },
    { "value", "Value", LPO_CELL_TEXT, NULL },
    { "change", "Of its level", LPO_CELL_TEXT, NULL },
    { "label", "From", LPO_CELL_TEXT, NULL },
};

static void values(struct lpo_doc *doc, const struct line *l)
{
    struct lpo_record *list = lpo_doc_put_list(doc->data, "values");
    struct lpo_table *t = lpo_doc_table(doc, "values", "", value_columns, COUNT(value_columns));
    size_t level = 0;

    for (size_t i = 0; i < l->runs.len; i++) {
        const struct lpo_report_history_run *x = &l->runs.at[i];
        struct lpo_record *r = lpo_doc_put_record(list, NULL);

        level += i == l->levels[level].to;
        lpo_doc_row(t, x->id, time_words(doc->arena, x->unix_s),
                    *x->revision ? short_revision(doc->arena, x) : NULL,
                    value_words(t->arena, l->what, x->value),
                    lpo_arena_printf(t->arena, "%+.1f %%%s",
                                     100 * (x->value / l->levels[level].mean - 1),
                                     i && i == l->levels[level].from ? ", new level" : ""),
                    x->label);
        lpo_doc_put(r, LPO_KV("id", x->id), LPO_KV("label", x->label),
                    LPO_KV("revision", *x->revision ? x->revision : NULL),
                    LPO_KV("value", x->value));
    }
}

struct lpo_doc *lpo_report_history_trend(const lpo_report_history_runs *all, const char *name,
                                         const char *what)
{
    struct lpo_doc *doc = create("Trend");
    struct line l = line_of(all, what, true);

    lpo_doc_put(doc->data, LPO_KV("name", name), LPO_KV("what", what),
                LPO_KV("noise", l.noise.deviation));
    lpo_doc_section(doc, "trend", lpo_arena_printf(doc->arena, "%s of %s", what, name), 1);
    say_levels(doc, &l);
    put_changes(doc->data, &l);
    draw(doc, &l);
    values(doc, &l);
    free_line(&l);
    return doc;
}

struct lpo_doc *lpo_report_history_page(const lpo_report_history_runs *runs, const char *name)
{
    struct lpo_doc *doc = create(name);
    LPO_AUTO(lpo_map) keys = keys_of(runs);

    all_figures(doc, runs);
    for (size_t i = 0; i < lpo_map_count(keys); i++) {
        struct line l = line_of(runs, lpo_map_key(keys, i, NULL), false);

        if (l.runs.len) {
            lpo_doc_section(doc, lpo_arena_printf(doc->arena, "figure-%zu", i),
                            lpo_arena_strdup(doc->arena, l.what), 1);
            say_levels(doc, &l);
            draw(doc, &l);
        }
        free_line(&l);
    }
    return doc;
}
