/* SPDX-License-Identifier: Apache-2.0 */
/* A comparison for people: verdict, what differs, findings, waterfall, tables. */

#include "analysis/diff/diff.h"
#include "report/diff/diff.h"
#include "report/doc/doc.h"
#include "util/units.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

enum { MOST_SETTINGS = 12, MOST_GROUPS = 10, MOST_DEVICES = 16 };

static const char *change_words(struct lpo_arena *a, double ns)
{
    LPO_STR s = { 0 };

    lpo_report_diff_add_change(&s, ns);
    return lpo_arena_strdup(a, lpo_str_text(&s));
}

static const char *percent_words(struct lpo_arena *arena, double a, double b, bool real)
{
    return a > 0   ? lpo_arena_printf(arena, "%s%+.1f %%", real ? "" : "~", 100 * (b / a - 1))
           : b > 0 ? "new"
                   : "";
}

/* --- verdict -------------------------------------------------------------------------------- */

/* A limit that no change can break would pass in silence. */
static void vain_limits(struct lpo_doc *doc, const struct lpo_diff *d,
                        const struct lpo_report_diff_options *o)
{
    for (size_t i = 0; d->comparable && i < o->checks.len; i++) {
        const struct lpo_diff_budget *b = o->checks.at[i].budget;

        if (b->share >= 0 && b->share < lpo_diff_least(d) && lpo_diff_least(d) == LPO_DIFF_LEAST &&
            !lpo_str_starts(b->what, "metric:"))
            lpo_doc_note(doc, LPO_NOTE_WARNING,
                         "the limit of %s for %s counts as %g %%: with fewer than four runs in all "
                         "no smaller change is called real",
                         b->limit, b->what, 100 * LPO_DIFF_LEAST);
    }
}

static void verdict(struct lpo_doc *doc, const struct lpo_diff *d,
                    const struct lpo_report_diff_options *o)
{
    lpo_doc_section(doc, "verdict", "Verdict", 1);
    lpo_doc_paragraph(doc, "%s", lpo_report_diff_sentence(doc->arena, d));
    if (o->gated && d->comparable)
        lpo_doc_paragraph(doc, "%s", lpo_report_diff_failed(o) ? "Failed." : "Passed.");
    for (size_t i = 0; i < d->differences.len && i < MOST_SETTINGS; i++)
        if (!d->differences.at[i].fatal && !d->differences.at[i].work) /* said above */
            lpo_doc_note(doc, LPO_NOTE_WARNING, "%s",
                         lpo_report_diff_reason(doc->arena, &d->differences.at[i]));
    if (d->differences.len > MOST_SETTINGS)
        lpo_doc_note(doc, LPO_NOTE_WARNING, "%zu more settings differ; --json lists them",
                     d->differences.len - MOST_SETTINGS);
    vain_limits(doc, d, o);
}

/* --- why ------------------------------------------------------------------------------------ */

static const struct lpo_column cause_columns[] = {
    { "change", "Change", LPO_CELL_TEXT, NULL },
    { "of_unit", "Of A's", LPO_CELL_TEXT, NULL },
    { "a", "A", LPO_CELL_TEXT, NULL },
    { "b", "B", LPO_CELL_TEXT, NULL },
    { "what", "What", LPO_CELL_TEXT, NULL, 0, 60 },
};

static const char *amount_words(struct lpo_arena *a, double amount, bool bytes, bool sign)
{
    LPO_STR s = { 0 };

    if (sign && amount > 0)
        lpo_str_addc(&s, '+');
    if (bytes && amount < 0)
        lpo_str_addc(&s, '-');
    if (bytes)
        lpo_units_add_bytes(&s, fabs(amount));
    else
        lpo_units_add_duration(&s, (int64_t)llround(amount));
    return lpo_arena_strdup(a, lpo_str_text(&s));
}

static void causes(struct lpo_doc *doc, const struct lpo_diff *d)
{
    struct lpo_table *t;

    if (!d->causes.len)
        return;
    lpo_doc_section(doc, "causes", "Why", 1);
    t = lpo_doc_table(doc, "causes", "", cause_columns, COUNT(cause_columns));
    t->least_rows = SIZE_MAX;
    for (size_t i = 0; i < d->causes.len; i++) {
        const struct lpo_diff_cause *c = &d->causes.at[i];
        bool bytes = c->kind == LPO_DIFF_CAUSE_MEMORY;
        double by = c->value[LPO_DIFF_B] - c->value[LPO_DIFF_A], unit = d->wall.unit_ns[LPO_DIFF_A];

        lpo_doc_row(t, amount_words(t->arena, by, bytes, true),
                    unit > 0 ? lpo_arena_printf(t->arena, "%+.1f %%", 100 * by / unit) : "",
                    amount_words(t->arena, c->value[LPO_DIFF_A], bytes, false),
                    amount_words(t->arena, c->value[LPO_DIFF_B], bytes, false),
                    lpo_report_diff_cause(doc->arena, d, c));
    }
}

/* --- wall ----------------------------------------------------------------------------------- */

static const struct lpo_column wall_columns[] = {
    { "part", "Part", LPO_CELL_TEXT, NULL },
    { "a_ns", "A", LPO_CELL_NS, NULL },
    { "b_ns", "B", LPO_CELL_NS, NULL },
    { "change", "Change", LPO_CELL_TEXT, NULL },
    { "of_wall", "Of A's wall", LPO_CELL_TEXT, NULL },
};

static void wall_row(struct lpo_table *t, const char *name, unsigned indent, int64_t a, int64_t b,
                     int64_t wall)
{
    double by = (double)(b - a);

    lpo_doc_row(t, lpo_cell_tree(name, indent), a, b, change_words(t->arena, by),
                wall > 0 ? lpo_arena_printf(t->arena, "%+.2f %%", 100 * by / (double)wall) : NULL);
}

static void wall(struct lpo_doc *doc, const struct lpo_diff *d)
{
    const struct lpo_diff_wall *w = &d->wall;
    const struct lpo_diff_device *a = w->device[LPO_DIFF_A], *b = w->device[LPO_DIFF_B];
    struct lpo_table *t;

    if (!w->known && w->unit_ns[LPO_DIFF_A] == 0)
        return; /* memory or numbers alone */
    if (!w->known) {
        lpo_doc_note(doc, LPO_NOTE_INFO,
                     "no wall time: the traces do not say when each operation ran");
        return;
    }
    lpo_doc_section(doc, "wall", "Where the wall time changed", 1);
    t = lpo_doc_table(doc, "wall", "", wall_columns, COUNT(wall_columns));
    t->least_rows = SIZE_MAX;
    wall_row(t, "wall time", 0, w->ns[LPO_DIFF_A], w->ns[LPO_DIFF_B], w->ns[LPO_DIFF_A]);
    for (size_t i = 0; i < LPO_DIFF_PARTS; i++)
        if (a->parts[i] || b->parts[i])
            wall_row(t, lpo_report_diff_part(i), 1, a->parts[i], b->parts[i], w->ns[LPO_DIFF_A]);
    if (d->shown[LPO_DIFF_A]->devices.len > 1 || d->shown[LPO_DIFF_B]->devices.len > 1)
        lpo_doc_paragraph(doc,
                          "The wall time is the span of the GPU that was in use longest: %s "
                          "in A, %s in B.",
                          a->scope, b->scope);
    if (a->parts_unknown || b->parts_unknown)
        lpo_doc_note(doc, LPO_NOTE_WARNING,
                     "communication ran in CUDA graphs that were timed as a whole: how the parts "
                     "divide is not known");
}

static const struct lpo_column device_columns[] = {
    { "scope", "GPU", LPO_CELL_TEXT, NULL }, { "a_ns", "A", LPO_CELL_NS, NULL },
    { "b_ns", "B", LPO_CELL_NS, NULL },      { "change", "Change", LPO_CELL_TEXT, NULL },
    { "busy", "Busy", LPO_CELL_TEXT, NULL }, { "idle", "Idle", LPO_CELL_TEXT, NULL },
};

static void devices(struct lpo_doc *doc, const struct lpo_diff *d)
{
    const struct lpo_diff_digest *ga = d->shown[LPO_DIFF_A], *gb = d->shown[LPO_DIFF_B];
    struct lpo_table *t = NULL;

    for (size_t i = 0; i < ga->devices.len && ga->devices.len > 1 && i < MOST_DEVICES; i++)
        for (size_t k = 0; k < gb->devices.len; k++) {
            const struct lpo_diff_device *a = &ga->devices.at[i], *b = &gb->devices.at[k];
            double change = (double)(b->span_ns - a->span_ns), idle = 0;

            if (strcmp(a->scope, b->scope) != 0)
                continue;
            if (!t)
                t = lpo_doc_table(doc, "devices", "By GPU", device_columns, COUNT(device_columns));
            for (size_t p = LPO_DIFF_PART_IDLE; p < LPO_DIFF_PARTS; p++)
                idle += (double)(b->parts[p] - a->parts[p]);
            lpo_doc_row(t, a->scope, a->span_ns, b->span_ns, change_words(t->arena, change),
                        change_words(t->arena, change - idle), change_words(t->arena, idle));
        }
}

/* --- figures and groups --------------------------------------------------------------------- */

static const struct lpo_column figure_columns[] = {
    { "figure", "Figure", LPO_CELL_TEXT, NULL }, { "a", "A", LPO_CELL_MEASURE, "" },
    { "b", "B", LPO_CELL_MEASURE, "" },          { "change", "Change", LPO_CELL_TEXT, NULL },
    { "n", "Values", LPO_CELL_TEXT, NULL },
};

static void figures(struct lpo_doc *doc, const struct lpo_diff *d)
{
    struct lpo_table *t;

    if (!d->figures.len)
        return;
    lpo_doc_section(doc, "figures", "Speed, memory and energy", 1);
    t = lpo_doc_table(doc, "figures", "", figure_columns, COUNT(figure_columns));
    for (size_t i = 0; i < d->figures.len; i++) {
        const struct lpo_diff_figure_row *f = &d->figures.at[i];
        double a = f->value[LPO_DIFF_A], b = f->value[LPO_DIFF_B];
        unsigned long long na = f->verdict.n[LPO_DIFF_A], nb = f->verdict.n[LPO_DIFF_B];

        lpo_doc_row(t, f->key, a, b,
                    na && nb ? percent_words(t->arena, a, b, f->verdict.significant) : NULL,
                    lpo_arena_printf(t->arena, "%llu/%llu", na, nb));
    }
}

static const struct lpo_column measure_columns[] = {
    { "path", "Region", LPO_CELL_TEXT, NULL },   { "name", "Measure", LPO_CELL_TEXT, NULL },
    { "a", "A", LPO_CELL_TEXT, NULL },           { "b", "B", LPO_CELL_TEXT, NULL },
    { "change", "Change", LPO_CELL_TEXT, NULL },
};

/* Counters and shares of limits that moved by 5 % or more; they are not tested. */
static void measures(struct lpo_doc *doc, const struct lpo_diff *d)
{
    enum { MOST = 20 };
    struct lpo_table *t = NULL;
    size_t shown = 0;

    for (size_t i = 0; i < d->measures.len && shown < MOST; i++) {
        const struct lpo_diff_measure_row *m = &d->measures.at[i];
        double a = m->side[LPO_DIFF_A]->value, b = m->side[LPO_DIFF_B]->value;

        if (!(fabs(b - a) >= 0.05 * fmax(fabs(a), fabs(b))) || a == b)
            continue;
        if (!shown++) {
            lpo_doc_section(doc, "measures", "Counters and limits that changed by 5 % or more", 1);
            t = lpo_doc_table(doc, "measures", "", measure_columns, COUNT(measure_columns));
        }
        lpo_doc_row(t, m->path, m->side[LPO_DIFF_A]->name,
                    lpo_arena_printf(t->arena, "%.4g %s", a, m->side[LPO_DIFF_A]->unit),
                    lpo_arena_printf(t->arena, "%.4g %s", b, m->side[LPO_DIFF_B]->unit),
                    percent_words(t->arena, a, b, true));
    }
}

static const char *short_name(const struct lpo_diff *d, uint32_t row)
{
    const struct lpo_diff_row *r = &d->rows[LPO_DIFF_KERNELS].at[row];

    return r->item[r->item[LPO_DIFF_B] ? 1 : 0]->detail;
}

static void add_names(struct lpo_str *s, const struct lpo_diff *d, const uint32_t *rows,
                      size_t count)
{
    enum { SHOWN = 3 };

    for (size_t i = 0; i < count && i < SHOWN; i++)
        lpo_str_addf(s, "%s%s", i ? ", " : "", short_name(d, rows[i]));
    if (count > SHOWN)
        lpo_str_addf(s, " and %zu more", count - SHOWN);
}

static void groups(struct lpo_doc *doc, const struct lpo_diff *d)
{
    for (size_t i = 0; i < d->groups.len && i < MOST_GROUPS; i++) {
        const struct lpo_diff_group *g = &d->groups.at[i];
        LPO_STR s = { 0 };

        if (i == 0)
            lpo_doc_section(doc, "groups", "Kernels that gave way to others", 1);
        lpo_str_addf(&s, "- %s: ", g->region);
        add_names(&s, d, g->gone.at, g->gone.len);
        lpo_str_addf(&s, " (%llu launch%s, ", (unsigned long long)g->gone_launches,
                     g->gone_launches == 1 ? "" : "es");
        lpo_units_add_duration(&s, g->gone_ns);
        lpo_str_addf(&s, ") %s ", g->fused ? "became fewer:" : "were replaced by");
        add_names(&s, d, g->come.at, g->come.len);
        lpo_str_addf(&s, " (%llu launch%s, ", (unsigned long long)g->come_launches,
                     g->come_launches == 1 ? "" : "es");
        lpo_units_add_duration(&s, g->come_ns);
        lpo_str_add(&s, "): ");
        lpo_report_diff_add_change(&s, (double)(g->come_ns - g->gone_ns));
        lpo_doc_paragraph(doc, "%s", s.at);
    }
    if (d->groups.len > MOST_GROUPS)
        lpo_doc_paragraph(doc, "%zu more regions; --json lists them.", d->groups.len - MOST_GROUPS);
}

/* --- tables of rows ------------------------------------------------------------------------- */

static const struct lpo_column row_columns[] = {
    { "a_ns", "A", LPO_CELL_NS, NULL },
    { "b_ns", "B", LPO_CELL_NS, NULL },
    { "change", "Change", LPO_CELL_TEXT, NULL },
    { "percent", "", LPO_CELL_TEXT, NULL },
    { "call", "Per call", LPO_CELL_TEXT, NULL, 2 },
    { "n", "Calls A/B", LPO_CELL_TEXT, NULL },
    { "tested", "Tested over", LPO_CELL_TEXT, NULL, 1 },
    { "name", "Name", LPO_CELL_TEXT, NULL },
};

static const char *basis_words(struct lpo_arena *a, const struct lpo_diff_row *r)
{
    const struct lpo_diff_verdict *v = &r->verdict;

    if (v->basis == LPO_DIFF_BY_COUNT)
        return r->kind == LPO_DIFF_ADDED     ? "added"
               : r->kind == LPO_DIFF_REMOVED ? "removed"
                                             : "launched more or less often";
    if (v->basis == LPO_DIFF_BY_NOTHING)
        return "nothing";
    return lpo_arena_printf(a, "%llu/%llu %s", (unsigned long long)v->n[LPO_DIFF_A],
                            (unsigned long long)v->n[LPO_DIFF_B], lpo_diff_basis_name(v->basis));
}

static void add_row(struct lpo_table *t, const struct lpo_diff_row *r, enum lpo_diff_table table,
                    bool full)
{
    const struct lpo_diff_item *item = r->item[r->item[LPO_DIFF_B] ? LPO_DIFF_B : LPO_DIFF_A];
    const struct lpo_diff_amount *a = &r->amount[LPO_DIFF_A], *b = &r->amount[LPO_DIFF_B];

    struct lpo_cell name =
        table == LPO_DIFF_KERNELS ? lpo_cell_path(item->name, full ? item->name : item->detail, 0)
        : *item->detail
            ? lpo_cell_text(lpo_arena_printf(t->arena, "%s %s", item->name, item->detail))
            : lpo_cell_text(item->name);

    lpo_doc_row(t, a->step_ns, b->step_ns, change_words(t->arena, r->delta_step_ns),
                percent_words(t->arena, a->step_ns, b->step_ns, r->verdict.significant),
                r->verdict.n[LPO_DIFF_A]
                    ? lpo_arena_printf(t->arena, "%+.1f %%", 100 * r->verdict.change)
                    : "",
                lpo_arena_printf(t->arena, "%llu/%llu", (unsigned long long)a->count,
                                 (unsigned long long)b->count),
                basis_words(t->arena, r), name);
}

static void rows(struct lpo_doc *doc, const struct lpo_diff *d, enum lpo_diff_table table,
                 const struct lpo_report_diff_options *o)
{
    static const char *const ids[] = { "kernels", "regions", "operators" };
    static const char *const titles[] = { "Kernels", "Regions", "Operators" };
    size_t shown = 0, changed = 0;
    struct lpo_table *t;

    for (size_t i = 0; i < d->rows[table].len; i++)
        changed += o->all || d->rows[table].at[i].verdict.significant;
    if (!d->rows[table].len)
        return;
    lpo_doc_section(doc, ids[table], titles[table], 1);
    if (!changed) {
        lpo_doc_paragraph(doc, "No change that chance could not explain in %zu rows.",
                          d->rows[table].len);
        return;
    }
    t = lpo_doc_table(doc, ids[table], "", row_columns, COUNT(row_columns));
    for (size_t i = 0; i < d->rows[table].len && (!o->rows || shown < o->rows); i++)
        if (o->all || d->rows[table].at[i].verdict.significant) {
            add_row(t, &d->rows[table].at[i], table, o->full_names);
            shown++;
        }
    if (shown < changed)
        t->total_rows = changed;
}

struct lpo_doc *lpo_report_diff_doc(const struct lpo_diff *d,
                                    const struct lpo_report_diff_options *o)
{
    const char *title = lpo_arena_printf(
        d->arena, "A against B: %s%s", lpo_report_diff_verdict(d),
        strcmp(lpo_report_diff_verdict(d), "no change") == 0 ? " beyond chance" : "");
    struct lpo_doc *doc = lpo_doc_create_data(LPO_DIFF_SCHEMA, "diff", title);

    doc->whole = o->full_names;
    lpo_report_diff_put(doc->data, d, o);
    verdict(doc, d, o);
    lpo_report_diff_checks(doc, d, o);
    causes(doc, d);
    wall(doc, d);
    devices(doc, d);
    lpo_report_diff_figures(doc, d);
    figures(doc, d);
    measures(doc, d);
    groups(doc, d);
    rows(doc, d, LPO_DIFF_REGIONS, o);
    rows(doc, d, LPO_DIFF_OPERATORS, o);
    rows(doc, d, LPO_DIFF_KERNELS, o);
    return doc;
}
