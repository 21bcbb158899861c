/* SPDX-License-Identifier: Apache-2.0 */
/* What a server would do: its steps part by part, what they cost a request, and a run beside it. */

#include "analysis/limits/limits.h"
#include "report/doc/doc.h"
#include "report/static/static.h"

static struct lpo_measure ns_of(double us)
{
    return us > 0 ? lpo_measure_estimated(us * 1000) : lpo_measure_unknown();
}

static const struct lpo_column part_columns[] = {
    { "part", "Part", LPO_CELL_TEXT, NULL },
    { "prefill_ns", "Prefill of one request", LPO_CELL_NS, NULL },
    { "prefill_bound", "held by", LPO_CELL_TEXT, NULL },
    { "decode_ns", "Decode step", LPO_CELL_NS, NULL },
    { "decode_bound", "held by", LPO_CELL_TEXT, NULL },
};

static void add_parts(struct lpo_doc *doc, const struct lpo_serving *s)
{
    struct lpo_table *t = lpo_doc_table(doc, "serving", "Expected on this GPU", part_columns, 5);
    const struct lpo_serving_phase *phases[] = { &s->prefill, &s->decode };

    for (int p = 0; p < LPO_SERVING_PARTS; p++) {
        if (!(s->prefill.part[p].us > 0 || s->decode.part[p].us > 0))
            continue;
        lpo_doc_row(t, lpo_reference_serving_part((enum lpo_serving_part)p));
        for (int k = 0; k < 2; k++) {
            const struct lpo_serving_time *one = &phases[k]->part[p];

            lpo_doc_row(t, ns_of(one->us),
                        one->us > 0 ? lpo_reference_serving_bound(one->bound) : NULL);
        }
    }
    lpo_doc_row(t, "all");
    for (int k = 0; k < 2; k++)
        lpo_doc_row(t, ns_of(phases[k]->us), lpo_cell_unknown());
}

/* The last name of "decode/decoder/layer3/attn". */
static const char *block_of(const struct lpo_limit_row *r)
{
    const char *slash = strrchr(r->means, '/');

    return slash ? slash + 1 : r->means;
}

struct measured {
    double busy_ns, elapsed_ns; /* of the GPU; with the idle time inside */
};

/* Does a region inside this one stand for the same? `decode/step` does for `decode`. */
static bool is_split(const struct lpo_limits *l, size_t row)
{
    for (size_t i = row + 1; i < l->rows.len; i++) {
        const struct lpo_limit_row *r = &l->rows.at[i];

        if (!r->means || strcmp(r->means, l->rows.at[row].means) != 0)
            continue;
        for (uint32_t up = r->parent; up != UINT32_MAX; up = l->rows.at[up].parent)
            if (up == row)
                return true;
    }
    return false;
}

/* The mean over all regions that stand for this part of the model: steps may be numbered. */
static struct measured mean_of(const struct lpo_limits *l, const char *means)
{
    struct measured sum = { 0 };
    double runs = 0;

    for (size_t i = 0; i < l->rows.len; i++) {
        const struct lpo_limit_row *r = &l->rows.at[i];

        if (!r->means || !(r->runs > 0) || strcmp(r->means, means) != 0 || is_split(l, i))
            continue;
        runs += r->runs;
        sum.busy_ns += lpo_measure_known(r->busy_ns) ? r->busy_ns.value : 0;
        sum.elapsed_ns += lpo_measure_known(r->measured_ns) ? r->measured_ns.value : 0;
    }
    return runs > 0 ? (struct measured){ sum.busy_ns / runs, sum.elapsed_ns / runs } : sum;
}

/* One pass of a phase in the regions called `block`, of every layer. */
static struct measured measured_in(const struct lpo_limits *l, int phase, const char *block)
{
    struct measured all = { 0 }, one;

    for (size_t i = 0; l && i < l->rows.len; i++) {
        const char *means = l->rows.at[i].means;
        bool seen =
            !means || l->rows.at[i].phase != phase || strcmp(block_of(&l->rows.at[i]), block) != 0;

        for (size_t j = 0; j < i && !seen; j++)
            seen = l->rows.at[j].means && strcmp(l->rows.at[j].means, means) == 0;
        if (seen)
            continue;
        one = mean_of(l, means);
        all.busy_ns += one.busy_ns;
        all.elapsed_ns += one.elapsed_ns;
    }
    return all;
}

/* What people call these parts in their ranges, and which of ours they hold. */
static const struct {
    const char *region, *title;
    unsigned parts;
} groups[] = {
    { "", "all", ~0u },
    { "attn", "attn", 1u << LPO_SERVING_ATTENTION | 1u << LPO_SERVING_PROJECTIONS },
    { "mlp", "mlp", 1u << LPO_SERVING_MLP | 1u << LPO_SERVING_EXPERTS },
    { "lm_head", "lm_head", 1u << LPO_SERVING_HEAD },
};

enum { NGROUPS = sizeof groups / sizeof *groups };

static double expected_of(const struct lpo_serving_phase *p, unsigned parts)
{
    double us = 0;

    for (int i = 0; i < LPO_SERVING_PARTS; i++)
        us += parts >> i & 1 ? p->part[i].us : 0;
    return us;
}

static const struct lpo_column measured_columns[] = {
    { "phase", "Phase", LPO_CELL_TEXT, NULL },
    { "region", "Region", LPO_CELL_TEXT, NULL },
    { "expected_ns", "Expected", LPO_CELL_NS, NULL },
    { "busy_ns", "GPU busy", LPO_CELL_NS, NULL },
    { "measured_ns", "with idle time", LPO_CELL_NS, NULL },
    { "to_expected", "Busy / expected", LPO_CELL_MEASURE, "" },
};

/* Calls `visit` for each phase and group that was measured. */
static void each_measured(const struct lpo_static_serving *s,
                          void (*visit)(void *to, enum lpo_phase_kind k, int group, double expected,
                                        const struct measured *m),
                          void *to)
{
    for (int k = LPO_PREFILL; k <= LPO_DECODE; k++)
        for (int g = 0; g < NGROUPS; g++) {
            const char *name = lpo_model_phase_name((enum lpo_phase_kind)k);
            struct measured m =
                measured_in(s->measured, k, *groups[g].region ? groups[g].region : name);
            const struct lpo_serving_phase *p =
                k == LPO_PREFILL ? &s->predicted.prefill : &s->predicted.decode;

            if (m.elapsed_ns > 0)
                visit(to, (enum lpo_phase_kind)k, g, expected_of(p, groups[g].parts) * 1000, &m);
        }
}

static void add_row(void *to, enum lpo_phase_kind k, int group, double expected,
                    const struct measured *m)
{
    lpo_doc_row(to, lpo_model_phase_name(k), groups[group].title, ns_of(expected / 1000),
                m->busy_ns > 0 ? lpo_measure_measured(m->busy_ns) : lpo_measure_unknown(),
                lpo_measure_measured(m->elapsed_ns),
                expected > 0 && m->busy_ns > 0 ? lpo_measure_computed(m->busy_ns / expected)
                                               : lpo_measure_unknown());
}

static void put_row(void *to, enum lpo_phase_kind k, int group, double expected,
                    const struct measured *m)
{
    lpo_doc_put(lpo_doc_put_record(to, NULL), LPO_KV("phase", lpo_model_phase_name(k)),
                LPO_KV("region", groups[group].title), LPO_KV("expected_ns", expected),
                LPO_KV("busy_ns", m->busy_ns > 0 ? m->busy_ns : NAN),
                LPO_KV("measured_ns", m->elapsed_ns));
}

/* Throughput against what one user sees, for each point of a sweep. */
static void add_curve(struct lpo_doc *doc, const struct lpo_static_report *r)
{
    static const struct lpo_column columns[] = {
        { "batch", "Batch", LPO_CELL_COUNT, NULL },
        { "tp", "TP", LPO_CELL_COUNT, NULL },
        { "isl", "In", LPO_CELL_COUNT, NULL },
        { "osl", "Out", LPO_CELL_COUNT, NULL },
        { "ttft_ns", "First token", LPO_CELL_NS, NULL },
        { "tpot_ns", "Each further", LPO_CELL_NS, NULL },
        { "per_user", "Tokens/s of a request", LPO_CELL_MEASURE, "" },
        { "per_gpu", "Tokens/s of a GPU", LPO_CELL_MEASURE, "" },
        { "share", "of the most", LPO_CELL_PERCENT, NULL },
        { "fits", "Fits", LPO_CELL_TEXT, NULL },
    };
    struct lpo_figure *f;
    struct lpo_table *t;
    double most = 0;

    for (size_t i = 0; i < r->sweeps; i++)
        most = fmax(most, r->sweep[i].tokens_per_second / (double)r->sweep[i].tp);
    if (!(most > 0))
        return;
    t = lpo_doc_table(doc, "serving_sweep", "Throughput against latency", columns,
                      sizeof columns / sizeof *columns);
    f = lpo_doc_figure(doc, "serving_curve", "Throughput against latency", LPO_FIG_SCATTER);
    f->x_title = "tokens/s of a request";
    f->y_title = "tokens/s of a GPU";
    for (size_t i = 0; i < r->sweeps; i++) {
        const struct lpo_sweep_row *s = &r->sweep[i];
        double gpu = s->tokens_per_second / (double)s->tp, user = 1000 / s->tpot_ms;

        lpo_doc_row(t, s->batch, s->tp, s->seq, s->osl, ns_of(s->ttft_ms * 1000),
                    ns_of(s->tpot_ms * 1000),
                    user > 0 ? lpo_measure_estimated(user) : lpo_measure_unknown(),
                    gpu > 0 ? lpo_measure_estimated(gpu) : lpo_measure_unknown(),
                    lpo_cell_share(gpu > 0 ? gpu : 0, gpu > 0 ? most : 0),
                    s->fits < 0 ? NULL
                    : s->fits   ? "yes"
                                : "no");
        if (gpu > 0)
            lpo_doc_figure_point(f, "", "", user, gpu);
    }
}

void lpo_static_serving_add(struct lpo_doc *doc, const struct lpo_static_report *r)
{
    const struct lpo_static_serving *s = r->serving;
    const struct lpo_needs_options *o = &r->needs->options;
    const struct lpo_serving *p;

    if (!s)
        return;
    p = &s->predicted;
    add_parts(doc, p);
    lpo_doc_paragraph(doc,
                      "%" PRIu64 " requests at a time of %" PRIu64 " tokens and %" PRIu64
                      " generated, framework '%s', kernels as measured best on %s.",
                      o->batch, o->seq, o->output, p->framework, s->gpu);
    if (p->unknown)
        lpo_doc_note(doc, LPO_NOTE_WARNING, "No total: no table was measured for %s.", p->unknown);
    else
        lpo_doc_paragraph(
            doc,
            "First token %.4g ms without a queue, each further %.4g ms: %.4g tokens/s, "
            "%.4g of a GPU.",
            p->ttft_ms, p->tpot_ms, p->tokens_per_second, p->tokens_per_second / (double)o->tp);
    if (s->measured)
        each_measured(s, add_row,
                      lpo_doc_table(doc, "serving_measured", "Expected and measured, one pass",
                                    measured_columns, 6));
    add_curve(doc, r);
}

static void put_phase(struct lpo_record *to, const char *key, const struct lpo_serving_phase *p)
{
    struct lpo_record *r = lpo_doc_put_record(to, key), *list;

    lpo_doc_put(r, LPO_KV("us", p->us));
    list = lpo_doc_put_list(r, "parts");
    for (int i = 0; i < LPO_SERVING_PARTS; i++) {
        const struct lpo_serving_time *t = &p->part[i];
        struct lpo_record *one;

        if (!(t->us > 0))
            continue;
        one = lpo_doc_put_record(list, NULL);
        lpo_doc_put(one, LPO_KV("part", lpo_reference_serving_part((enum lpo_serving_part)i)),
                    LPO_KV("us", t->us), LPO_KV("outside_us", t->outside_us),
                    LPO_KV("bound", lpo_reference_serving_bound(t->bound)));
    }
}

void lpo_static_serving_put(struct lpo_record *data, const struct lpo_static_report *r)
{
    const struct lpo_static_serving *s = r->serving;
    const struct lpo_needs_options *o = &r->needs->options;
    const struct lpo_model_memory *m = &r->needs->memory;
    struct lpo_record *to;

    if (!s)
        return;
    to = lpo_doc_put_record(data, "serving");
    lpo_doc_put(to, LPO_KV("gpu", s->gpu), LPO_KV("source", s->source),
                LPO_KV("framework", s->predicted.framework), LPO_KV("isl", o->seq),
                LPO_KV("osl", o->output), LPO_KV("batch", o->batch), LPO_KV("tp", o->tp),
                LPO_KV("ep", o->ep), LPO_KV("unknown", s->predicted.unknown));
    put_phase(to, "prefill", &s->predicted.prefill);
    put_phase(to, "decode", &s->predicted.decode);
    lpo_doc_put(to, LPO_KV("ttft_ms", s->predicted.ttft_ms),
                LPO_KV("tpot_ms", s->predicted.tpot_ms),
                LPO_KV("tokens_per_second", s->predicted.tokens_per_second));
    if (o->hardware && o->hardware->memory > 0)
        lpo_doc_put(to, LPO_KV("requests_fit", m->max_batch));
    if (s->measured)
        each_measured(s, put_row, lpo_doc_put_list(to, "measured"));
}
