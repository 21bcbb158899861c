/* SPDX-License-Identifier: Apache-2.0 */
/* Without a GPU the host is judged: its time in the parts of the model, against what this CPU
 * allows, as a ladder. */

#include "analysis/analysis.h"
#include "analysis/ladder/ladder.h"
#include "analysis/limits/limits.h"
#include "report/doc/doc.h"
#include "report/findings/findings.h"
#include "report/findings/private.h"
#include "rundir/rundir.h"

enum { RUNGS = 8 };

struct host_ladder {
    const struct lpo_limits *limits; /* NULL: there is none */
    const struct lpo_limit_row *rungs[RUNGS];
    size_t count;
};

static int by_saving(const void *x, const void *y)
{
    double a = (*(const struct lpo_limit_row *const *)x)->saving_ns.value;
    double b = (*(const struct lpo_limit_row *const *)y)->saving_ns.value;

    return (a < b) - (a > b);
}

/* Parts that no other part is around: their times and limits add up to those of the model. */
static struct host_ladder find(const struct lpo_ladder_words *w)
{
    const struct lpo_trace *t = w->s->analysis->trace;
    struct host_ladder h = { NULL };
    struct lpo_err ignored;
    const struct lpo_limits *l;

    if (w->ladder || w->all->other.len || t->gpu_ops.len || t->summaries.len || t->counted_kernels)
        return h;
    l = lpo_analysis_limits(w->d, w->s, &ignored);
    if (!l || !lpo_measure_known(l->model.measured_ns) || !lpo_measure_known(l->model.limit_ns))
        return h;
    for (size_t i = 0; i < l->rows.len && h.count < RUNGS; i++) {
        const struct lpo_limit_row *r = &l->rows.at[i];

        if (r->top && lpo_measure_known(r->saving_ns) && r->saving_ns.value > 0)
            h.rungs[h.count++] = r;
    }
    qsort(h.rungs, h.count, sizeof h.rungs[0], by_saving);
    h.limits = h.count ? l : NULL;
    return h;
}

const char *lpo_report_host_verdict(const struct lpo_ladder_words *w)
{
    struct host_ladder h = find(w);
    const struct lpo_limit_row *m = h.limits ? &h.limits->model : NULL;

    if (!m && w->s->analysis->trace->counted_kernels)
        return "Counters of the kernels were recorded, but not when the kernels ran, so what could "
               "be saved is not known.";
    if (!m && w->all->other.len)
        return "The file holds no times: a trace shows what the program and the GPU did.";
    if (!m)
        return "No GPU operation was recorded: times are of the host.";
    return lpo_arena_printf(
        w->arena,
        "No GPU was used, so the host is judged: the model takes %s and needs at least %s on %s.",
        lpo_report_duration(w->arena, (int64_t)m->measured_ns.value),
        lpo_report_duration(w->arena, (int64_t)m->limit_ns.value),
        h.limits->hardware ? h.limits->hardware : "this CPU");
}

static const char *saving(const struct lpo_ladder_words *w, const struct host_ladder *h, size_t i)
{
    double ns = h->rungs[i]->saving_ns.value, share = h->rungs[i]->share.value;
    double whole = h->limits->model.measured_ns.value;

    return lpo_arena_printf(
        w->arena, "%s (%.1f %%) could be saved: it runs at %.1f %% of what the CPU allows",
        lpo_report_duration(w->arena, (int64_t)ns), 100 * ns / whole, 100 * share);
}

void lpo_report_add_host_ladder(struct lpo_doc *doc, const struct lpo_ladder_words *w)
{
    struct host_ladder h = find(w);
    struct lpo_table *t;
    int64_t whole, left;

    if (!h.limits)
        return;
    whole = left = (int64_t)h.limits->model.measured_ns.value;
    t = lpo_report_ladder_table(doc, "host_ladder");
    lpo_report_ladder_bar(t, "today", 0, whole, whole);
    for (size_t i = 0; i < h.count; i++) {
        int64_t ns = (int64_t)h.rungs[i]->saving_ns.value;

        left -= ns;
        lpo_report_ladder_bar(
            t, lpo_arena_printf(w->arena, "%zu. %s at the CPU's limit", i + 1, h.rungs[i]->path),
            ns, left, whole);
    }
    lpo_report_ladder_bar(t, "floor: what the model needs on this CPU", 0,
                          (int64_t)h.limits->model.limit_ns.value, whole);
    for (size_t i = 0; i < h.count && i < 3; i++)
        lpo_doc_paragraph(doc, "%zu. %s: %s.", i + 1, h.rungs[i]->path, saving(w, &h, i));
}

void lpo_report_host_lines(const struct lpo_ladder_words *w, size_t most, struct lpo_str *out)
{
    struct host_ladder h = find(w);

    for (size_t i = 0; i < h.count && i < most; i++)
        lpo_str_addf(out, "%zu. %s: %s\n", i + 1, h.rungs[i]->path, saving(w, &h, i));
}

/* "host_ladder": the same for scripts, where there is one. */
void lpo_report_put_host_ladder(struct lpo_record *to, const struct lpo_ladder_words *w)
{
    struct host_ladder h = find(w);
    struct lpo_record *list;
    int64_t left;

    if (!h.limits)
        return;
    left = (int64_t)h.limits->model.measured_ns.value;
    to = lpo_doc_put_record(to, "host_ladder");
    lpo_doc_put(to, LPO_KV("measured_ns", left));
    list = lpo_doc_put_list(to, "rungs");
    for (size_t i = 0; i < h.count; i++) {
        const struct lpo_limit_row *r = h.rungs[i];
        int64_t ns = (int64_t)r->saving_ns.value;

        left -= ns;
        lpo_doc_put(lpo_doc_put_record(list, NULL), LPO_KV("region", r->path),
                    LPO_KV("saving_ns", ns), LPO_KV("after_ns", left),
                    LPO_KV("share", r->share.value));
    }
    lpo_doc_put(to, LPO_KV("floor_ns", (int64_t)h.limits->model.limit_ns.value),
                LPO_KV("hardware", h.limits->hardware));
}
