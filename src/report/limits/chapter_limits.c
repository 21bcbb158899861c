/* SPDX-License-Identifier: Apache-2.0 */
/* The chapter on limits: what could be saved, region by region, and two pictures of it. */
#include <math.h>
#include <string.h>

#include "analysis/limits/limits.h"
#include "model/needs.h"
#include "report/doc/doc.h"
#include "report/limits/chapter_limits.h"
#include "util/arena.h"
#include "util/map.h"
#include "util/str.h"

/* Rows with the same name but for their numbers, put together: layer0 … layer31 are "layer*". */
struct folded {
    struct lpo_limit_row row;
    uint32_t members;
};

typedef LPO_VEC(struct folded) folded_vec;

static struct lpo_measure plus(struct lpo_measure a, struct lpo_measure b)
{
    if (!lpo_measure_known(a) || !lpo_measure_known(b))
        return lpo_measure_known(a) ? a : b;
    return (struct lpo_measure){ a.value + b.value, a.how > b.how ? a.how : b.how };
}

/* A share of a peak over both: the mean, weighted by time. */
static struct lpo_measure mean(struct lpo_measure a, double wa, struct lpo_measure b, double wb)
{
    if (!lpo_measure_known(a) || !lpo_measure_known(b) || wa + wb <= 0)
        return lpo_measure_unknown();
    return lpo_measure_estimated((a.value * wa + b.value * wb) / (wa + wb));
}

static void merge(struct folded *to, const struct lpo_limit_row *r)
{
    struct lpo_limit_row *t = &to->row;
    double had = t->measured_ns.value, adds = r->measured_ns.value;

    t->counters.sm_percent = mean(t->counters.sm_percent, had, r->counters.sm_percent, adds);
    t->counters.dram_percent = mean(t->counters.dram_percent, had, r->counters.dram_percent, adds);
    t->counters.occupancy_percent =
        mean(t->counters.occupancy_percent, had, r->counters.occupancy_percent, adds);
    t->counters.flops = plus(t->counters.flops, r->counters.flops);
    t->counters.dram_bytes = plus(t->counters.dram_bytes, r->counters.dram_bytes);
    lpo_limits_row_add(t, r);
    to->members++;
}

/* First calls that are rows as a whole ("step0") are shown in the line of the others. */
static void add_first_rows(const struct lpo_limits *l, const struct lpo_map *seen, folded_vec *out)
{
    for (size_t i = 0; i < l->rows.len; i++) {
        const struct lpo_limit_row *r = &l->rows.at[i];
        LPO_STR path = { 0 };
        const uint64_t *slot;

        if (lpo_measure_known(r->measured_ns) || !lpo_measure_known(r->first_ns))
            continue;
        lpo_str_add_starred(&path, r->path, strlen(r->path));
        slot = lpo_map_find(seen, lpo_str_text(&path), path.len);
        if (!slot)
            continue;
        out->at[*slot].row.first_ns = plus(out->at[*slot].row.first_ns, r->first_ns);
        out->at[*slot].row.first_calls += r->first_calls;
    }
}

static void fold(const struct lpo_limits *l, struct lpo_arena *arena, folded_vec *out)
{
    LPO_AUTO(lpo_map) seen = lpo_map_create();

    for (size_t i = 0; i < l->ranked; i++) {
        const struct lpo_limit_row *r = &l->rows.at[l->by_saving[i]];
        LPO_STR path = { 0 };
        uint64_t *slot;
        bool fresh;

        lpo_str_add_starred(&path, r->path, strlen(r->path));
        slot = lpo_map_put(seen, lpo_str_text(&path), path.len, &fresh);
        if (fresh) {
            *slot = out->len;
            lpo_vec_push(out, (struct folded){ .row = *r, .members = 1 });
        } else {
            merge(&out->at[*slot], r);
            out->at[*slot].row.path = lpo_arena_strdup(arena, lpo_str_text(&path));
        }
    }
    add_first_rows(l, seen, out);
    for (size_t i = 0; i < out->len; i++)
        if (out->at[i].members > 1)
            lpo_limits_row_judge(l, &out->at[i].row);
}

static struct lpo_measure over(struct lpo_measure a, struct lpo_measure b, double scale)
{
    if (!lpo_measure_known(a) || !lpo_measure_known(b) || b.value <= 0)
        return lpo_measure_unknown();
    return lpo_measure_computed(a.value / b.value * scale);
}

static int more_to_save(const void *x, const void *y)
{
    const struct folded *a = x, *b = y;
    double d = a->row.saving_ns.value - b->row.saving_ns.value;

    if (lpo_measure_known(a->row.saving_ns) != lpo_measure_known(b->row.saving_ns))
        return lpo_measure_known(a->row.saving_ns) ? -1 : 1;
    return d != 0 ? (d < 0) - (d > 0) : strcmp(a->row.path, b->row.path);
}

/* The verdict first, then what it rests on. */
static const struct lpo_column columns[] = {
    { "region", "Region", LPO_CELL_TEXT, NULL, 0 },
    { "saving_ns", "Saving", LPO_CELL_NS, NULL, 0 },
    { "share", "Of roof", LPO_CELL_PERCENT, NULL, 0 },
    { "to_best", "Of best", LPO_CELL_PERCENT, NULL, 0 },
    { "held_by", "Limited by", LPO_CELL_TEXT, NULL, 0 },
    { "measured_ns", "Measured", LPO_CELL_NS, NULL, 0 },
    { "limit_ns", "Limit", LPO_CELL_NS, NULL, 0 },
    { "first_ns", "First calls", LPO_CELL_NS, NULL, 1 },
    { "mfu", "MFU", LPO_CELL_PERCENT, NULL, 0 },
    { "bandwidth_use", "Bandwidth", LPO_CELL_PERCENT, NULL, 1 },
    { "needed_flops", "Needed FLOPs", LPO_CELL_MEASURE, "FLOP", 4 },
    { "needed_bytes", "Needed bytes", LPO_CELL_BYTES, NULL, 4 },
    { "flop_rate", "FLOP rate", LPO_CELL_MEASURE, "FLOP/s", 5 },
    { "byte_rate", "Byte rate", LPO_CELL_MEASURE, "B/s", 5 },
    { "need_from", "Need from", LPO_CELL_TEXT, NULL, 2 },
    { "evidence", "Evidence", LPO_CELL_TEXT, NULL, 3 },
    { "counted_bytes", "Counted bytes", LPO_CELL_BYTES, NULL, 2 },
    { "dram_use", "DRAM use", LPO_CELL_PERCENT, NULL, 2 },
    { "tensor_active", "Tensor cores", LPO_CELL_PERCENT, NULL, 2 },
};

/* Columns that some tables do not have: of first calls, and the last ones, of sampled counters. */
enum { NCOLUMNS = sizeof columns / sizeof *columns, FIRST = 7, SAMPLED = 3, MOST_ROWS = 40 };

struct shown {
    bool first, sampled;
};

/* A part of 1 in a column of per cent. */
static void share_cell(struct lpo_table *t, struct lpo_measure m)
{
    m.value *= 100;
    lpo_doc_row_measure(t, m);
}

static void add_row(struct lpo_table *t, const struct lpo_limit_row *r, uint32_t members,
                    struct shown shown)
{
    LPO_STR evidence = { 0 };

    lpo_report_limits_add_evidence(r, &evidence);
    if (members > 1)
        lpo_doc_row_textf(t, "%s (%u)", r->path, members);
    else
        lpo_doc_row_text(t, r->path);
    lpo_doc_row_measure(t, r->saving_ns);
    share_cell(t, r->share);
    share_cell(t, r->to_best);
    lpo_doc_row_text(t, r->held == LPO_HELD_UNKNOWN ? NULL : lpo_report_limits_bound(r->held));
    lpo_doc_row_measure(t, r->measured_ns);
    lpo_doc_row_measure(t, r->limit_ns);
    if (shown.first)
        lpo_doc_row_measure(t, r->first_ns);
    share_cell(t, r->mfu);
    share_cell(t, r->bandwidth_use);
    lpo_doc_row_measure(t, r->needed_flops);
    lpo_doc_row_measure(t, r->needed_bytes);
    lpo_doc_row_measure(t, r->flop_rate);
    lpo_doc_row_measure(t, r->byte_rate);
    lpo_doc_row_text(t, r->stated ? "report.needs" : "model");
    lpo_doc_row_text(t, evidence.len ? evidence.at : NULL);
    if (!shown.sampled)
        return;
    lpo_doc_row_measure(t, r->counters.dram_bytes);
    lpo_doc_row_measure(t, r->counters.dram_percent);
    lpo_doc_row_measure(t, r->counters.tensor_percent);
}

static struct shown what_to_show(const struct lpo_limits *l, const folded_vec *rows)
{
    struct shown s = { 0 };

    for (size_t i = 0; i < l->rows.len; i++)
        s.sampled |= l->rows.at[i].counters.sampled;
    for (size_t i = 0; i < rows->len; i++)
        s.first |= lpo_measure_known(rows->at[i].row.first_ns);
    return s;
}

static struct lpo_table *make_table(struct lpo_doc *doc, struct shown shown)
{
    struct lpo_column *some = lpo_arena_array(doc->arena, NCOLUMNS, sizeof *some);
    size_t n = 0;

    for (size_t i = 0; i < NCOLUMNS; i++)
        if (i == FIRST ? shown.first : i < NCOLUMNS - SAMPLED || shown.sampled)
            some[n++] = columns[i];
    return lpo_doc_table(doc, "limits", "By the time that could be saved", some, n);
}

/* Where each region stands under the roof: by what it needs, and by what ncu counted. */
static void add_roofline(struct lpo_doc *doc, const struct lpo_limits *l, const folded_vec *rows)
{
    struct lpo_figure *f = lpo_doc_figure(doc, "roofline", "Roofline", LPO_FIG_SCATTER);
    double ridge = l->bandwidth > 0 ? l->peak / l->bandwidth : 0;

    f->x_title = "FLOP/B";
    f->y_title = "FLOP/s";
    if (ridge > 0) {
        lpo_doc_figure_point(f, "roof", "memory", ridge / 1000, l->peak / 1000);
        lpo_doc_figure_point(f, "roof", "ridge", ridge, l->peak);
        lpo_doc_figure_point(f, "roof", "compute", ridge * 100, l->peak);
    }
    for (size_t i = 0; i < rows->len && i < MOST_ROWS; i++) {
        const struct lpo_limit_row *r = &rows->at[i].row;
        struct lpo_measure x = over(r->needed_flops, r->needed_bytes, 1);
        struct lpo_measure seen = over(r->counters.flops, r->counters.dram_bytes, 1);
        /* counters are of all calls, as this time is */
        struct lpo_measure all_ns = lpo_measure_measured(r->all_busy_ns);
        struct lpo_measure rate = over(r->counters.flops, all_ns, 1e9);

        if (lpo_measure_known(x) && lpo_measure_known(r->flop_rate) && r->flop_rate.value > 0)
            lpo_doc_figure_point(f, "needed", r->path, x.value, r->flop_rate.value);
        if (lpo_measure_known(seen) && lpo_measure_known(rate) && rate.value > 0)
            lpo_doc_figure_point(f, "counted by ncu", r->path, seen.value, rate.value);
        if (r->counters.sampled && lpo_measure_known(r->flop_rate) && r->flop_rate.value > 0 &&
            r->first_calls <= 0) {
            x = over(r->needed_flops, r->counters.dram_bytes, 1);
            rate = over(r->needed_flops, r->busy_ns, 1e9);
            if (lpo_measure_known(x) && lpo_measure_known(rate))
                lpo_doc_figure_point(f, "needed FLOPs over sampled bytes", r->path, x.value,
                                     rate.value);
        }
    }
}

/* Of each region's time: what the limit asks for, what kernels take beyond it, what is idle. */
static void add_bars(struct lpo_doc *doc, const folded_vec *rows)
{
    struct lpo_figure *f = lpo_doc_figure(doc, "limits", "Time against the limit", LPO_FIG_STACKED);

    f->x_title = "region";
    f->y_title = "ms";
    for (size_t i = 0; i < rows->len && i < 12 && lpo_measure_known(rows->at[i].row.limit_ns);
         i++) {
        const struct lpo_limit_row *r = &rows->at[i].row;
        double idle = lpo_measure_known(r->idle_ns) ? r->idle_ns.value : 0;
        double limit = fmin(r->limit_ns.value, r->measured_ns.value);

        lpo_doc_figure_point(f, "at the limit", r->path, (double)i, limit / 1e6);
        lpo_doc_figure_point(f, "beyond the limit", r->path, (double)i,
                             fmax(0, r->measured_ns.value - idle - limit) / 1e6);
        lpo_doc_figure_point(f, "idle", r->path, (double)i,
                             fmin(idle, r->measured_ns.value - limit) / 1e6);
    }
}

void lpo_report_chapter_limits(struct lpo_doc *doc, const struct lpo_limits *l)
{
    folded_vec rows = { 0 };
    struct lpo_table *t;
    struct shown shown;

    lpo_doc_section(doc, "limits", "How far from the limit", 1);
    lpo_report_limits_words(doc, l);
    if (l->ranked == 0)
        return;
    fold(l, doc->arena, &rows);
    qsort(rows.at, rows.len, sizeof *rows.at, more_to_save);
    shown = what_to_show(l, &rows);
    t = make_table(doc, shown);
    for (size_t i = 0; i < rows.len && i < MOST_ROWS; i++)
        add_row(t, &rows.at[i].row, rows.at[i].members, shown);
    if (rows.len > MOST_ROWS)
        t->total_rows = rows.len;
    add_roofline(doc, l, &rows);
    add_bars(doc, &rows);
    lpo_vec_free(&rows);
}

/* A rate that is not known, or that differs from row to row, is 0 in the limits. */
static void put_rate(struct lpo_record *r, const char *key, double rate)
{
    lpo_doc_put_real(r, key, rate > 0 ? rate : NAN);
}

static void put_row(struct lpo_record *to, const struct lpo_limit_row *row, const char *means)
{
    LPO_STR evidence = { 0 };

    lpo_report_limits_add_evidence(row, &evidence);
    lpo_doc_put_text(to, "path", row->path);
    lpo_doc_put_text(to, "means", means);
    lpo_doc_put_text(to, "need_from", row->stated ? "report.needs" : "model");
    lpo_doc_put_flag(to, "top", row->top);
    lpo_doc_put_whole(to, "runs",
                      row->runs > 0 ? lpo_measure_computed(row->runs) : lpo_measure_unknown());
    lpo_doc_put_text(to, "dtype", row->dtype);
    put_rate(to, "sheet_peak_flops", row->sheet_peak);
    lpo_doc_put_whole(to, "needed_flops", row->needed_flops);
    lpo_doc_put_whole(to, "needed_bytes", row->needed_bytes);
    lpo_doc_put_whole(to, "limit_ns", row->limit_ns);
    lpo_doc_put_whole(to, "measured_ns", row->measured_ns);
    lpo_doc_put_whole(to, "busy_ns", row->busy_ns);
    lpo_doc_put_whole(to, "idle_ns", row->idle_ns);
    lpo_doc_put_whole(to, "saving_ns", row->saving_ns);
    if (row->first_calls > 0)
        lpo_doc_put_whole(to, "first_calls", lpo_measure_measured(row->first_calls));
    if (lpo_measure_known(row->first_ns))
        lpo_doc_put_whole(to, "first_ns", row->first_ns);
    lpo_doc_put_measure(to, "flop_rate", row->flop_rate);
    lpo_doc_put_measure(to, "byte_rate", row->byte_rate);
    lpo_doc_put_measure(to, "mfu", row->mfu);
    lpo_doc_put_measure(to, "bandwidth_use", row->bandwidth_use);
    lpo_doc_put_measure(to, "share", row->share);
    if (lpo_measure_known(row->to_best)) {
        lpo_doc_put_whole(to, "best_ns", row->best_ns);
        lpo_doc_put_measure(to, "to_best", row->to_best);
    }
    lpo_doc_put_whole(to, "counted_flops", row->counters.flops);
    lpo_doc_put_whole(to, "counted_dram_bytes", row->counters.dram_bytes);
    if (lpo_measure_known(row->counters.dram_rate)) {
        lpo_doc_put_text(to, "counted_by", row->counters.sampled ? "sampled" : "ncu");
        lpo_doc_put_measure(to, "dram_rate", row->counters.dram_rate);
        lpo_doc_put_measure(to, "dram_percent", row->counters.dram_percent);
        lpo_doc_put_measure(to, "tensor_percent", row->counters.tensor_percent);
        lpo_doc_put_measure(to, "sm_active_percent", row->counters.sm_active_percent);
    }
    lpo_doc_put_text(to, "held_by",
                     row->held == LPO_HELD_UNKNOWN ? NULL : lpo_report_limits_bound(row->held));
    lpo_doc_put_text(to, "evidence", evidence.len ? evidence.at : NULL);
}

void lpo_report_put_limits(struct lpo_record *to, const struct lpo_limits *l)
{
    struct lpo_record *r = lpo_doc_put_record(to, "limits"), *regions;

    lpo_doc_put_text(r, "hardware", l->hardware);
    lpo_doc_put_text(r, "source", l->source);
    put_rate(r, "peak_flops", l->peak);
    put_rate(r, "sheet_peak_flops", l->sheet_peak);
    put_rate(r, "bandwidth", l->bandwidth);
    put_row(lpo_doc_put_record(r, "model"), &l->model, NULL);
    regions = lpo_doc_put_list(r, "regions");
    for (size_t i = 0; i < l->ranked; i++) {
        const struct lpo_limit_row *row = &l->rows.at[l->by_saving[i]];

        put_row(lpo_doc_put_record(regions, NULL), row, lpo_report_limits_means(row));
    }
}
