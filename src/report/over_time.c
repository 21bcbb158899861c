/* SPDX-License-Identifier: Apache-2.0 */
#include "report/over_time.h"

#include "analysis/analysis.h"
#include "analysis/power/power.h"
#include "analysis/power/regions.h"
#include "analysis/queue/queue.h"
#include "analysis/ranks/ranks.h"
#include "report/trace_records.h"
#include "rundir/belonging.h"
#include "rundir/rundir.h"
#include "util/file.h"
#include "util/path.h"

enum { MOST_GPUS = 64 };
/* Ranks of one job do not begin and end together: samples of another machine that are so far before
 * or after ours are still of the same run. */
static const double APART_NS = 60e9;

/* The columns of NVML that are drawn. */
static const struct sampled {
    enum lpo_power_column column;
    const char *title, *unit;
    double scale;
} sampled[] = {
    { LPO_POWER_MW, "Power", "W", 1e-3 },
    { LPO_POWER_SM_MHZ, "SM clock", "MHz", 1 },
    { LPO_POWER_MEMORY_MHZ, "Memory clock", "MHz", 1 },
    { LPO_POWER_CELSIUS, "Temperature", "°C", 1 },
    { LPO_POWER_MEMORY_BYTES, "Memory in use", "B", 1 },
    { LPO_POWER_GPU_PERCENT, "GPU in use", "%", 1 },
};

/* Which chapter a series of a trace belongs to. */
static const char *const chapters[] = {
    [LPO_SERIES_MEMORY] = "memory",
    [LPO_SERIES_COUNTER] = "counters",
};

static struct lpo_chart *chart_of(struct lpo_charts *c, const char *chapter, const char *title,
                                  const char *unit, enum lpo_chart_clock clock)
{
    for (size_t i = 0; i < c->all.len; i++) {
        struct lpo_chart *known = &c->all.at[i];

        if (strcmp(known->chapter, chapter) == 0 && strcmp(known->title, title) == 0)
            return known;
    }
    lpo_vec_push(&c->all, (struct lpo_chart){ chapter, title, unit, clock, { 0 } });
    return &c->all.at[c->all.len - 1];
}

/* Samples of one machine. */
struct machine {
    const char *name;  /* before the number of a GPU: "" for our own */
    int64_t offset_ns; /* its clock minus ours */
};

static void add_sampled(struct lpo_charts *c, const struct lpo_power_gpu *g,
                        const struct sampled *s, const struct machine *m)
{
    struct lpo_chart_line line = { .scope = lpo_arena_printf(c->arena, "%sdevice:%llu", m->name,
                                                             (unsigned long long)g->gpu),
                                   .device = LPO_NONE };
    struct lpo_chart *chart;
    bool any = false;

    for (size_t i = 0; i < g->samples.len; i++) {
        const struct lpo_power_sample *x = &g->samples.at[i];
        bool known = x->known >> s->column & 1 && x->value[s->column] < INT64_MAX;

        any |= known;
        lpo_vec_push(&line.points,
                     (struct lpo_series_point){ x->unix_ns - m->offset_ns,
                                                known ? (double)x->value[s->column] * s->scale
                                                      : (double)NAN });
    }
    line.seen = line.points.len;
    chart = any ? chart_of(c, "power", s->title, s->unit, LPO_CLOCK_UNIX) : NULL;
    if (chart && chart->lines.len < MOST_GPUS)
        lpo_vec_push(&chart->lines, line);
    else
        lpo_vec_free(&line.points);
}

/* When the samples of a machine were taken, by its own clock; empty: from > to. */
struct period {
    int64_t from_ns, to_ns;
};

static struct period period_of(const struct lpo_power *p)
{
    struct period all = { INT64_MAX, INT64_MIN };

    for (size_t i = 0; i < p->gpus.len; i++) {
        const struct lpo_power_gpu *g = &p->gpus.at[i];
        int64_t from = g->samples.len ? g->samples.at[0].unix_ns : INT64_MAX;
        int64_t to = g->samples.len ? g->samples.at[g->samples.len - 1].unix_ns : INT64_MIN;

        all.from_ns = from < all.from_ns ? from : all.from_ns;
        all.to_ns = to > all.to_ns ? to : all.to_ns;
    }
    return all;
}

static bool of_one_run(struct period its, double offset_ns, struct period ours)
{
    double from = (double)its.from_ns - offset_ns, to = (double)its.to_ns - offset_ns;

    return its.from_ns <= its.to_ns && from <= (double)ours.to_ns + APART_NS &&
           to >= (double)ours.from_ns - APART_NS;
}

/* The samples of `folder`. Those of another machine are drawn where its clock, compared with ours
 * if it can be, says that they are of the same run as `ours`. False: there are none. */
static bool add_machine(struct lpo_charts *c, const struct lpo_rundir *d, const char *folder,
                        const struct machine *m, struct period *ours)
{
    LPO_AUTO(lpo_power) p = NULL;
    struct lpo_err err = { 0 }; /* the chapter on power says what is wrong with the file */
    struct period its;

    if (lpo_power_read(d, folder, &p, &err) < 0 || !p)
        return false;
    its = period_of(p);
    if (m->name[0] && !of_one_run(its, (double)m->offset_ns, *ours))
        return false;
    if (!m->name[0])
        *ours = its;
    for (size_t k = 0; k < sizeof sampled / sizeof *sampled; k++)
        for (size_t i = 0; i < p->gpus.len && i < MOST_GPUS; i++)
            add_sampled(c, &p->gpus.at[i], &sampled[k], m);
    return true;
}

static int64_t offset_of(const struct lpo_source *s, int32_t rank)
{
    const struct lpo_ranks *r = s && s->analysis && s->trace->epoch_ns != LPO_NO_TIME
                                    ? lpo_analysis_ranks(s->analysis)
                                    : NULL;

    for (size_t i = 0; r && i < r->rows.len; i++)
        if (r->rows.at[i].rank == rank && r->rows.at[i].aligned)
            return r->rows.at[i].offset_ns;
    return 0;
}

static void add_power(struct lpo_charts *c, const struct lpo_rundir *d, const struct lpo_source *s)
{
    const char *stage = lpo_rundir_stage_with(d, LPO_ROLE_POWER), **members;
    const struct machine own = { .name = "" };
    struct period ours;
    size_t n;

    if (!stage || !add_machine(c, d, stage, &own, &ours))
        return;
    n = lpo_rundir_members(d->arena, d->dir, &members);
    for (size_t i = 0; i < n; i++) {
        const char *folder = lpo_path_join(d->arena, members[i], stage);
        int32_t rank = lpo_rundir_member_rank(lpo_path_join(d->arena, folder, "samples.csv"));
        const struct machine other = {
            lpo_arena_printf(d->arena, "machine of rank %d, ", (int)rank), offset_of(s, rank)
        };

        add_machine(c, d, folder, &other, &ours);
    }
}

static bool has_kind(const struct lpo_trace *t, enum lpo_series_kind kind)
{
    for (size_t i = 0; t && i < t->series.len; i++)
        if (t->series.at[i].kind == kind && t->series.at[i].points.len)
            return true;
    return false;
}

const struct lpo_source *lpo_report_memory_source(const struct lpo_rundir *d,
                                                  const struct lpo_source *s)
{
    const struct lpo_source *other;

    if (s && has_kind(s->trace, LPO_SERIES_MEMORY))
        return s;
    other = lpo_rundir_source_with(d, LPO_ROLE_OPERATORS);
    return other && has_kind(other->trace, LPO_SERIES_MEMORY) ? other : NULL;
}

static void add_series(struct lpo_charts *c, const struct lpo_source *from,
                       enum lpo_series_kind kind, enum lpo_chart_clock clock)
{
    const struct lpo_trace *t = from->trace;

    for (size_t i = 0; i < t->series.len; i++) {
        const struct lpo_series *s = &t->series.at[i];
        struct lpo_chart_line line = { .device = clock == LPO_CLOCK_TRACE ? s->device : LPO_NONE,
                                       .seen = s->seen };
        struct lpo_chart *chart;

        if (s->kind != kind || !s->points.len)
            continue;
        chart = chart_of(c, chapters[kind], lpo_trace_text(t, s->name),
                         s->unit == LPO_NONE ? "" : lpo_trace_text(t, s->unit), clock);
        if (chart->lines.len == MOST_GPUS)
            continue;
        line.scope = lpo_report_device_scope(c->arena, &t->devices.at[s->device]);
        lpo_vec_reserve(&line.points, s->points.len);
        memcpy(line.points.at, s->points.at, s->points.len * sizeof *s->points.at);
        line.points.len = s->points.len;
        lpo_vec_push(&chart->lines, line);
    }
}

static void add_line(struct lpo_charts *c, const struct lpo_trace *t, const struct lpo_series *s,
                     const char *title, const char *unit)
{
    struct lpo_chart *chart = chart_of(c, "critical_path", title, unit, LPO_CLOCK_TRACE);
    struct lpo_chart_line line = { .device = s->device, .seen = s->seen };

    if (chart->lines.len == MOST_GPUS)
        return;
    line.scope = lpo_report_device_scope(c->arena, &t->devices.at[s->device]);
    for (size_t i = 0; i < s->points.len; i++)
        lpo_vec_push(&line.points, s->points.at[i]);
    lpo_vec_push(&chart->lines, line);
}

static void add_queue(struct lpo_charts *c, const struct lpo_source *s)
{
    const struct lpo_queue *q = lpo_analysis_queue(s->analysis);

    for (size_t i = 0; q && i < q->devices.len; i++) {
        add_line(c, s->trace, &q->devices.at[i].depth, "Launches that wait", "");
        add_line(c, s->trace, &q->devices.at[i].delay, "From launch to start", "us");
    }
}

struct lpo_charts *lpo_report_charts_create(const struct lpo_rundir *d, const struct lpo_source *s)
{
    struct lpo_charts *c = lpo_xcalloc(1, sizeof *c);
    const struct lpo_source *memory = lpo_report_memory_source(d, s);

    c->arena = d->arena;
    add_power(c, d, s);
    if (memory)
        add_series(c, memory, LPO_SERIES_MEMORY, memory == s ? LPO_CLOCK_TRACE : LPO_CLOCK_OTHER);
    if (s && s->trace)
        add_series(c, s, LPO_SERIES_COUNTER, LPO_CLOCK_TRACE);
    if (s && s->trace && s->analysis)
        add_queue(c, s);
    return c;
}

void lpo_report_charts_destroy(struct lpo_charts *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->all.len; i++) {
        for (size_t k = 0; k < c->all.at[i].lines.len; k++)
            lpo_vec_free(&c->all.at[i].lines.at[k].points);
        lpo_vec_free(&c->all.at[i].lines);
    }
    lpo_vec_free(&c->all);
    free(c);
}

/* The smallest and the largest of [from, end), in their order; NaN only where there is no other. */
static size_t keep(struct lpo_series_point *p, size_t from, size_t end, size_t to)
{
    size_t least = from, most = from;

    for (size_t i = from + 1; i < end; i++) {
        if (isnan(p[i].value))
            continue;
        least = isnan(p[least].value) || p[i].value < p[least].value ? i : least;
        most = isnan(p[most].value) || p[i].value > p[most].value ? i : most;
    }
    p[to] = p[least < most ? least : most];
    if (least != most)
        p[to + 1] = p[least < most ? most : least];
    return to + 1 + (least != most);
}

void lpo_report_chart_thin(lpo_chart_points *p, size_t most)
{
    size_t group = p->len / (most / 2) + 1, to = 0;

    if (p->len <= most)
        return;
    for (size_t from = 0; from < p->len; from += group)
        to = keep(p->at, from, from + group < p->len ? from + group : p->len, to);
    p->len = to;
}
