/* SPDX-License-Identifier: Apache-2.0 */
/* What the page draws over time: every chart of the run, and the stages that shade those of NVML.
 */

#include "report/doc/doc.h"
#include "report/over_time.h"
#include "report/page/page.h"
#include "rundir/rundir.h"
#include "util/pack.h"

/* Of one line, and of all: some 700 KB of the page at most. */
enum { MOST_POINTS = 2000, ALL_POINTS = 120000 };

/* Values are packed as whole numbers: bytes as they are, a fraction in thousandths. */
static double scale_of(const lpo_chart_points *p)
{
    for (size_t i = 0; i < p->len; i++)
        if (!isnan(p->at[i].value) && p->at[i].value != floor(p->at[i].value))
            return 1e-3;
    return 1;
}

static int64_t whole(double value, double scale)
{
    double n = value / scale;

    return n > 9e15 ? (int64_t)9e15 : n < -9e15 ? -(int64_t)9e15 : llround(n);
}

static void put_line(struct lpo_record *list, struct lpo_chart_line *l, int64_t zero_ns)
{
    struct lpo_record *r = lpo_doc_put_record(list, NULL);
    double scale = scale_of(&l->points);
    int64_t last_ns = zero_ns, last = 0;
    LPO_STR bytes = { 0 }, text = { 0 };

    for (size_t i = 0; i < l->points.len; i++) {
        const struct lpo_series_point *p = &l->points.at[i];

        lpo_pack_add_signed(&bytes, p->ns - last_ns);
        last_ns = p->ns;
        lpo_pack_add(&bytes, !isnan(p->value));
        if (isnan(p->value))
            continue;
        lpo_pack_add_signed(&bytes, whole(p->value, scale) - last);
        last = whole(p->value, scale);
    }
    lpo_doc_put(r, LPO_KV("scope", l->scope), LPO_KV("count", l->points.len),
                LPO_KV("seen", l->seen), LPO_KV("per_unit", scale < 1 ? 1000 : 1));
    lpo_pack_text(&text, lpo_str_text(&bytes), bytes.len);
    lpo_doc_put(r, LPO_KV("packed", lpo_jv_textn(lpo_str_text(&text), text.len)));
}

/* A damaged run.json may say anything: only stages that lie among the samples are shown. */
static void put_stages(struct lpo_record *to, const struct lpo_rundir *d, int64_t zero_ns,
                       int64_t end_ns)
{
    struct lpo_record *list = lpo_doc_put_list(to, "stages");

    for (size_t i = 0; d->has_manifest && i < d->manifest.nstages; i++) {
        const struct lpo_stage_record *s = &d->manifest.stages[i];
        struct lpo_record *r;

        if (!s->nsteps || s->wall_ns <= 0 || s->started_ns > end_ns ||
            s->started_ns < zero_ns - (end_ns - zero_ns) || s->wall_ns > INT64_MAX / 4)
            continue;
        r = lpo_doc_put_record(list, NULL);
        lpo_doc_put(r, LPO_KV("name", s->name), LPO_KV("at_ns", s->started_ns - zero_ns),
                    LPO_KV("ns", s->wall_ns));
    }
}

/* From the first point of all charts on one clock to the last. */
static bool extent(const struct lpo_charts *c, enum lpo_chart_clock clock, int64_t *zero_ns,
                   int64_t *end_ns)
{
    *zero_ns = INT64_MAX;
    *end_ns = INT64_MIN;
    for (size_t i = 0; i < c->all.len; i++)
        for (size_t k = 0; c->all.at[i].clock == clock && k < c->all.at[i].lines.len; k++) {
            const lpo_chart_points *p = &c->all.at[i].lines.at[k].points;

            *zero_ns = p->at[0].ns < *zero_ns ? p->at[0].ns : *zero_ns;
            *end_ns = p->at[p->len - 1].ns > *end_ns ? p->at[p->len - 1].ns : *end_ns;
        }
    return *zero_ns <= *end_ns;
}

void lpo_page_put_charts(struct lpo_record *to, const struct lpo_rundir *d,
                         const struct lpo_source *s, int64_t strip_zero_ns)
{
    static const char *const clocks[] = { "trace", "unix", "other" };
    struct lpo_charts *c = lpo_report_charts_create(d, s);
    struct lpo_record *list = c->all.len ? lpo_doc_put_list(to, "charts") : NULL;
    size_t nlines = 0, most;
    int64_t zero_ns, end_ns;

    for (size_t i = 0; i < c->all.len; i++)
        nlines += c->all.at[i].lines.len;
    most = nlines * MOST_POINTS > ALL_POINTS ? ALL_POINTS / nlines : MOST_POINTS;
    for (size_t i = 0; i < c->all.len; i++) {
        struct lpo_chart *chart = &c->all.at[i];
        struct lpo_record *r = lpo_doc_put_record(list, NULL), *lines;

        extent(c, chart->clock, &zero_ns, &end_ns);
        if (chart->clock == LPO_CLOCK_TRACE && strip_zero_ns != LPO_NO_TIME)
            zero_ns = strip_zero_ns;
        lpo_doc_put(r, LPO_KV("chapter", chart->chapter), LPO_KV("title", chart->title),
                    LPO_KV("unit", chart->unit), LPO_KV("clock", clocks[chart->clock]));
        lines = lpo_doc_put_list(r, "lines");
        for (size_t k = 0; k < chart->lines.len; k++) {
            lpo_report_chart_thin(&chart->lines.at[k].points, most > 16 ? most : 16);
            put_line(lines, &chart->lines.at[k], zero_ns);
        }
    }
    if (extent(c, LPO_CLOCK_UNIX, &zero_ns, &end_ns))
        put_stages(to, d, zero_ns, end_ns);
    lpo_report_charts_destroy(c);
}
