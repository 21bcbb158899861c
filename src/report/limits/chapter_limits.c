/* SPDX-License-Identifier: Apache-2.0 */
/* The chapter on limits: what could be saved, region by region, and two pictures of it. */

#include "report/limits/chapter_limits.h"
#include "analysis/limits/limits.h"
#include "analysis/tables/tables.h"
#include "model/needs.h"
#include "report/doc/doc.h"

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

enum { MOST_ROWS = 40 };

/* A row, or rows of a family put together. */
typedef struct {
    const struct lpo_limit_row *of;
    uint32_t members;
    bool model; /* the sum over all: it means no part */
} limit_row;

static struct lpo_cell line_cell(const struct lpo_rows *rows, const limit_row *r)
{
    if (r->members < 2)
        return lpo_cell_text(r->of->path);
    lpo_str_addf(lpo_table_scratch(rows), "%s (%u)", r->of->path, r->members);
    return lpo_cell_scratch(rows);
}

static struct lpo_cell evidence_cell(const struct lpo_rows *rows, const limit_row *r)
{
    struct lpo_str *s = lpo_table_scratch(rows);

    lpo_report_limits_add_evidence(r->of, s);
    return s->len ? lpo_cell_scratch(rows) : lpo_cell_unknown();
}

static struct lpo_cell percent_cell(struct lpo_measure m)
{
    m.value /= 100;
    return lpo_cell_measure(m);
}

static struct lpo_cell above_zero(double v)
{
    return v > 0 ? lpo_cell_real(v) : lpo_cell_unknown();
}

#define M(key) lpo_cell_measure(r->of->key)

#define LIMIT(X)                                                                                   \
    X(limit, region, "Region", TEXT, KEY, "or a family of them", line_cell(rows, r))               \
    X(limit, path, "Path", TEXT, KEY, "of the region", r->of->path)                                \
    X(limit, means, "Means", TEXT, FACT, "part of the model",                                      \
      r->model ? NULL : lpo_report_limits_means(r->of))                                            \
    X(limit, need_from, "Need from", TEXT, FACT, "the model or report.needs",                      \
      r->of->stated ? "report.needs" : "model", .minor = 2)                                        \
    X(limit, top, "Outermost", FLAG, FACT, "of those with a limit", r->of->top)                    \
    X(limit, runs, "Runs", COUNT, ADDS, "of the part", above_zero(r->of->runs))                    \
    X(limit, dtype, "Type", TEXT, FACT, "that it computes in", r->of->dtype)                       \
    X(limit, sheet_peak_flops, "Peak", MEASURE("FLOP/s"), FACT, "that MFU is of",                  \
      above_zero(r->of->sheet_peak))                                                               \
    X(limit, needed_flops, "Needed FLOPs", MEASURE("FLOP"), ADDS, "by the model", M(needed_flops), \
      .minor = 4)                                                                                  \
    X(limit, needed_flops_whole, "Needed FLOPs", BYTES, ADDS, "by the model", M(needed_flops))     \
    X(limit, needed_bytes, "Needed bytes", BYTES, ADDS, "by the model", M(needed_bytes),           \
      .minor = 4)                                                                                  \
    X(limit, limit_ns, "Limit", NS, ADDS, "least time on this hardware", M(limit_ns))              \
    X(limit, measured_ns, "Measured", NS, ADDS, "of steady calls", M(measured_ns))                 \
    X(limit, busy_ns, "Busy", NS, ADDS, "of it", M(busy_ns))                                       \
    X(limit, idle_ns, "Idle", NS, ADDS, "of it", M(idle_ns))                                       \
    X(limit, saving_ns, "Saving", NS, ADDS, "measured less the limit", M(saving_ns))               \
    X(limit, first_calls, "First calls", COUNT, ADDS, "that are not judged",                       \
      above_zero(r->of->first_calls))                                                              \
    X(limit, first_ns, "First calls", NS, ADDS, "time of these", M(first_ns), .minor = 1)          \
    X(limit, flop_rate, "FLOP rate", MEASURE("FLOP/s"), FACT, "needed over measured",              \
      M(flop_rate), .minor = 5)                                                                    \
    X(limit, byte_rate, "Byte rate", MEASURE("B/s"), FACT, "needed over measured", M(byte_rate),   \
      .minor = 5)                                                                                  \
    X(limit, mfu, "MFU", PERCENT, FACT, "of the data sheet's peak", M(mfu))                        \
    X(limit, bandwidth_use, "Bandwidth", PERCENT, FACT, "of the full bandwidth", M(bandwidth_use), \
      .minor = 1)                                                                                  \
    X(limit, share, "Of roof", PERCENT, FACT, "limit over measured", M(share))                     \
    X(limit, best_ns, "Best", NS, ADDS, "its kernels as measured best", M(best_ns))                \
    X(limit, to_best, "Of best", PERCENT, FACT, "that over measured", M(to_best))                  \
    X(limit, counted_flops, "Counted FLOPs", BYTES, ADDS, "by ncu or samples", M(counters.flops))  \
    X(limit, counted_dram_bytes, "Counted bytes", BYTES, ADDS, "by ncu or samples",                \
      M(counters.dram_bytes), .minor = 2)                                                          \
    X(limit, counted_by, "Counted by", TEXT, FACT, "sampled or ncu",                               \
      r->of->counters.sampled ? "sampled" : "ncu")                                                 \
    X(limit, dram_rate, "DRAM rate", MEASURE("B/s"), FACT, "counted", M(counters.dram_rate))       \
    X(limit, dram_percent, "DRAM", MEASURE("%"), FACT, "of its peak", M(counters.dram_percent))    \
    X(limit, dram_use, "DRAM use", PERCENT, FACT, "of its peak",                                   \
      percent_cell(r->of->counters.dram_percent), .minor = 2)                                      \
    X(limit, tensor_percent, "Tensor", MEASURE("%"), FACT, "of their peak",                        \
      M(counters.tensor_percent))                                                                  \
    X(limit, tensor_active, "Tensor cores", PERCENT, FACT, "of their peak",                        \
      percent_cell(r->of->counters.tensor_percent), .minor = 2)                                    \
    X(limit, sm_active_percent, "SMs", MEASURE("%"), FACT, "that had work",                        \
      M(counters.sm_active_percent))                                                               \
    X(limit, held_by, "Limited by", TEXT, FACT, "compute, memory, launch gaps …",                  \
      r->of->held == LPO_HELD_UNKNOWN ? NULL : lpo_report_limits_bound(r->of->held))               \
    X(limit, evidence, "Evidence", TEXT, FACT, "for that", evidence_cell(rows, r), .minor = 3)

LPO_TABLE(limit, LIMIT)

static const struct lpo_table_kind limits_kind =
    LPO_TABLE_KIND(limit, "limits", "How far regions are from what the hardware allows");

static void add_table(struct lpo_doc *doc, const struct lpo_limits *l, const folded_vec *folded)
{
    limit_row *all = lpo_arena_array(doc->arena, folded->len + 1, sizeof *all);
    const struct lpo_rows rows = lpo_tables_rows(NULL, &limits_kind, all, folded->len);
    bool sampled = false;

    for (size_t i = 0; i < folded->len; i++)
        all[i] = (limit_row){ &folded->at[i].row, folded->at[i].members, false };
    for (size_t i = 0; i < l->rows.len; i++)
        sampled |= l->rows.at[i].counters.sampled;
    /* the verdict first, then what it rests on */
    lpo_doc_table_of(doc, "limits", "By the time that could be saved", &rows,
                     sampled ? "region saving_ns share to_best held_by measured_ns limit_ns "
                               "first_ns? mfu bandwidth_use needed_flops needed_bytes flop_rate "
                               "byte_rate need_from evidence counted_bytes=counted_dram_bytes "
                               "dram_use tensor_active"
                             : "region saving_ns share to_best held_by measured_ns limit_ns "
                               "first_ns? mfu bandwidth_use needed_flops needed_bytes flop_rate "
                               "byte_rate need_from evidence",
                     MOST_ROWS);
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
    LPO_FREED folded_vec rows = { 0 };

    lpo_doc_section(doc, "limits", "How far from the limit", 1);
    lpo_report_limits_words(doc, l);
    if (l->ranked == 0)
        return;
    fold(l, doc->arena, &rows);
    lpo_vec_sort(&rows, more_to_save);
    add_table(doc, l, &rows);
    add_roofline(doc, l, &rows);
    add_bars(doc, &rows);
}

/* A rate that is not known, or that differs from row to row, is 0 in the limits. */
static void put_rate(struct lpo_record *r, const char *key, double rate)
{
    lpo_doc_put(r, LPO_KV(key, rate > 0 ? rate : NAN));
}

/* Members that only some rows have. */
static void put_row(const struct lpo_rows *rows, size_t i, struct lpo_record *to)
{
    const struct lpo_limit_row *row = limit_of(rows, i)->of;

    lpo_doc_put_row(to, rows, i,
                    "path means need_from top runs dtype sheet_peak_flops "
                    "needed_flops=needed_flops_whole needed_bytes limit_ns measured_ns busy_ns "
                    "idle_ns saving_ns first_calls? first_ns? flop_rate byte_rate mfu "
                    "bandwidth_use share");
    if (lpo_measure_known(row->to_best))
        lpo_doc_put_row(to, rows, i, "best_ns to_best");
    lpo_doc_put_row(to, rows, i, "counted_flops counted_dram_bytes");
    if (lpo_measure_known(row->counters.dram_rate))
        lpo_doc_put_row(to, rows, i,
                        "counted_by dram_rate dram_percent tensor_percent sm_active_percent");
    lpo_doc_put_row(to, rows, i, "held_by evidence");
}

void lpo_report_put_limits(struct lpo_record *to, const struct lpo_limits *l)
{
    struct lpo_record *r = lpo_doc_put_record(to, "limits"), *regions;
    limit_row *all = lpo_arena_array(to->arena, l->ranked + 1, sizeof *all);
    const struct lpo_rows rows = lpo_tables_rows(NULL, &limits_kind, all, l->ranked + 1);

    lpo_doc_put(r, LPO_KV("hardware", l->hardware), LPO_KV("source", l->source));
    put_rate(r, "peak_flops", l->peak);
    put_rate(r, "sheet_peak_flops", l->sheet_peak);
    put_rate(r, "bandwidth", l->bandwidth);
    all[0] = (limit_row){ &l->model, 1, true };
    for (size_t i = 0; i < l->ranked; i++)
        all[i + 1] = (limit_row){ &l->rows.at[l->by_saving[i]], 1, false };
    put_row(&rows, 0, lpo_doc_put_record(r, "model"));
    regions = lpo_doc_put_list(r, "regions");
    for (size_t i = 1; i < rows.count; i++)
        put_row(&rows, i, lpo_doc_put_record(regions, NULL));
}
