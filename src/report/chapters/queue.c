/* SPDX-License-Identifier: Apache-2.0 */
/* Launches that wait for the GPU: two sentences for people, everything for machines. The charts are
 * made by report/over_time.c. */
#include "analysis/queue/queue.h"

#include "analysis/analysis.h"
#include "report/chapters/chapters.h"
#include "report/doc/doc.h"
#include "report/trace_records.h"
#include "rundir/rundir.h"
#include "util/budget.h"
#include "util/str.h"
#include "util/units.h"

static double share(int64_t part, int64_t whole)
{
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

/* The GPU with the most launches. */
static const struct lpo_queue_device *busiest(const struct lpo_queue *q)
{
    const struct lpo_queue_device *best = &q->devices.at[0];

    for (size_t i = 1; i < q->devices.len; i++)
        if (q->devices.at[i].all.launches > best->all.launches)
            best = &q->devices.at[i];
    return best;
}

void lpo_report_add_queue(struct lpo_doc *doc, const struct lpo_source *s)
{
    const struct lpo_queue *q = lpo_analysis_queue(s->analysis);
    const struct lpo_queue_device *d;
    LPO_STR median = { 0 }, p90 = { 0 };

    if (!q || !q->devices.len)
        return;
    d = busiest(q);
    lpo_units_add_duration(&median, d->all.median_ns);
    lpo_units_add_duration(&p90, d->all.p90_ns);
    lpo_doc_paragraph(doc,
                      "Half of all launches%s%s started within %s of the call, 90 %% within %s. At "
                      "most %llu were waiting at one time, and none for %.1f %% of the time.",
                      q->devices.len > 1 ? " of " : "",
                      q->devices.len > 1
                          ? lpo_report_device_scope(doc->arena, &s->trace->devices.at[d->device])
                          : "",
                      lpo_str_text(&median), lpo_str_text(&p90), (unsigned long long)d->all.most,
                      share(d->all.empty_ns, d->all.span_ns));
}

static void put_sum(struct lpo_record *r, const struct lpo_queue_sum *s)
{
    lpo_doc_put_uint(r, "launches", s->launches);
    lpo_doc_put_int(r, "delay_min_ns", s->min_ns);
    lpo_doc_put_int(r, "delay_median_ns", s->median_ns);
    lpo_doc_put_int(r, "delay_p90_ns", s->p90_ns);
    lpo_doc_put_int(r, "delay_p99_ns", s->p99_ns);
    lpo_doc_put_int(r, "delay_max_ns", s->max_ns);
    lpo_doc_put_int(r, "delay_sum_ns", s->waiting_ns);
    lpo_doc_put_uint(r, "depth_median", s->median);
    lpo_doc_put_uint(r, "depth_p90", s->p90);
    lpo_doc_put_uint(r, "depth_max", s->most);
    lpo_doc_put_int(r, "span_ns", s->span_ns);
    lpo_doc_put_int(r, "empty_ns", s->empty_ns);
}

void lpo_report_put_queue(struct lpo_record *to, const struct lpo_analysis *a)
{
    const struct lpo_queue *q = lpo_analysis_queue(a);
    uint64_t left = lpo_budget()->scopes;
    struct lpo_record *list;

    if (!q || !q->devices.len)
        return;
    list = lpo_doc_put_list(to, "launch_queue");
    for (size_t i = 0; i < q->devices.len && i < lpo_budget()->scopes; i++) {
        const struct lpo_queue_device *d = &q->devices.at[i];
        struct lpo_record *r = lpo_doc_put_record(list, NULL), *streams;

        lpo_doc_put_text(r, "scope",
                         lpo_report_device_scope(r->arena, &a->trace->devices.at[d->device]));
        put_sum(r, &d->all);
        lpo_doc_put_uint(r, "skewed", d->skewed);
        streams = lpo_doc_put_list(r, "streams");
        for (size_t k = 0; k < d->streams.len && left; k++, left--) {
            struct lpo_record *one = lpo_doc_put_record(streams, NULL);

            lpo_doc_put_uint(one, "stream", d->streams.at[k].stream);
            put_sum(one, &d->streams.at[k].sum);
        }
    }
}
