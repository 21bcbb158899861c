/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/findings/findings.h"

#include <stdlib.h>

#include "analysis/analysis.h"
#include "analysis/findings/private.h"
#include "analysis/speed/variation.h"
#include "analysis/wall/order.h"
#include "analysis/wall/steady.h"
#include "region/tree.h"
#include "rundir/rundir.h"
#include "util/xmalloc.h"

/* Of rules about kernels, those with the clearer advice come first: what they claim is gone. The
 * slow rank comes before communication, of which it may be the reason. */
static lpo_findings_rule *const rules[] = {
    lpo_findings_idle,      lpo_findings_recomputation, lpo_findings_attention,
    lpo_findings_tail,      lpo_findings_occupancy,     lpo_findings_small_kernels,
    lpo_findings_unfused,   lpo_findings_roof,          lpo_findings_throttling,
    lpo_findings_slow_rank, lpo_findings_communication, lpo_findings_copies,
    lpo_findings_cautions,
};

static const char *const ids[LPO_FINDING_KINDS] = {
    [LPO_FINDING_BLOCKED] = "blocked-in-call",
    [LPO_FINDING_LAUNCH_BOUND] = "launch-bound",
    [LPO_FINDING_HOST_WORK] = "host-work",
    [LPO_FINDING_PING_PONG] = "ping-pong",
    [LPO_FINDING_ALLOCATOR] = "allocator",
    [LPO_FINDING_FIRST_CALLS] = "first-calls",
    [LPO_FINDING_MESSAGES] = "small-collectives",
    [LPO_FINDING_COMMUNICATION] = "exposed-communication",
    [LPO_FINDING_COPIES] = "exposed-copies",
    [LPO_FINDING_ATTENTION] = "unfused-attention",
    [LPO_FINDING_SMALL_KERNELS] = "small-kernels",
    [LPO_FINDING_UNFUSED] = "unfused-kernels",
    [LPO_FINDING_TAIL] = "tail-effect",
    [LPO_FINDING_OCCUPANCY] = "low-occupancy",
    [LPO_FINDING_ROOF] = "far-from-roof",
    [LPO_FINDING_RECOMPUTATION] = "recomputation",
    [LPO_FINDING_SLOW_RANK] = "slow-rank",
    [LPO_FINDING_THROTTLING] = "throttling",
};

static const char *const caution_ids[LPO_CAUTION_KINDS] = {
    [LPO_CAUTION_JOBS] = "several-jobs",
    [LPO_CAUTION_NOISE] = "too-noisy",
    [LPO_CAUTION_SHORT] = "too-short",
    [LPO_CAUTION_FEW] = "few-kernels",
    [LPO_CAUTION_NO_LAUNCH] = "no-launch-records",
    [LPO_CAUTION_UNKNOWN] = "idle-unknown",
    [LPO_CAUTION_OUTSIDE] = "outside-regions",
    [LPO_CAUTION_LOST] = "records-lost",
    [LPO_CAUTION_STACKS] = "python-stacks",
    [LPO_CAUTION_COUNTED] = "counters-recorded",
};

const char *lpo_findings_id(enum lpo_finding_kind kind)
{
    return ids[kind];
}

const char *lpo_findings_caution_id(enum lpo_caution_kind kind)
{
    return caution_ids[kind];
}

static bool is_enough(const struct lpo_findings_work *w, int64_t saving_ns)
{
    return saving_ns > 0 && (double)saving_ns >= LPO_FINDINGS_LEAST * (double)w->out->span_ns;
}

struct lpo_finding *lpo_findings_add(struct lpo_findings_work *w, enum lpo_finding_kind kind,
                                     int64_t saving_ns)
{
    if (!is_enough(w, saving_ns))
        return NULL;
    lpo_vec_push(&w->out->all, ((struct lpo_finding){
                                   .kind = kind,
                                   .saving_ns = saving_ns,
                                   .device = w->critical->device,
                                   .node = LPO_NONE,
                                   .name = LPO_NONE,
                               }));
    return &w->out->all.at[w->out->all.len - 1];
}

void lpo_findings_fact_name(struct lpo_finding *f, enum lpo_fact fact, double value, uint32_t name)
{
    if (f->nevidence < LPO_MOST_EVIDENCE)
        f->evidence[f->nevidence++] = (struct lpo_evidence){ fact, value, name };
}

void lpo_findings_fact(struct lpo_finding *f, enum lpo_fact fact, double value)
{
    lpo_findings_fact_name(f, fact, value, LPO_NONE);
}

uint32_t lpo_findings_main_region(const struct lpo_region_tree *tree, int64_t *sums, int64_t whole)
{
    /* a parent has a smaller number than its parts, so the first one found is the innermost */
    for (size_t i = tree->nodes.len; i-- > 0;) {
        if (sums[i] > whole - sums[i])
            return (uint32_t)i;
        if (tree->nodes.at[i].parent != LPO_NONE)
            sums[tree->nodes.at[i].parent] += sums[i];
    }
    return LPO_NONE;
}

static int by_saving(const void *x, const void *y)
{
    const struct lpo_finding *a = x, *b = y;

    if (a->saving_ns != b->saving_ns)
        return a->saving_ns > b->saving_ns ? -1 : 1;
    return a->kind != b->kind ? (int)a->kind - (int)b->kind : a->name < b->name ? -1 : 1;
}

static void sort_findings(struct lpo_findings *f)
{
    if (f->all.len)
        qsort(f->all.at, f->all.len, sizeof *f->all.at, by_saving);
}

struct gaps_of {
    const struct lpo_trace *trace;
    lpo_findings_gaps *all;
    struct lpo_findings *out;
};

/* Was the work that ends the gap submitted before it, by another call than the one that the thread
 * is blocked in? Then that call only waits for it, and to wait later saves nothing. */
static bool was_submitted(const struct lpo_trace *t, const struct lpo_wall_gap *g)
{
    const struct lpo_gpu_op *op = &t->gpu_ops.at[g->op];
    const struct lpo_launch *l = op->launch == LPO_NONE ? NULL : &t->launches.at[op->launch];
    const struct lpo_api_call *c = g->call == LPO_NONE ? NULL : &t->calls.at[g->call];

    return l && c && l->start_ns <= g->start_ns &&
           !(c->start_ns <= l->start_ns && l->end_ns <= c->end_ns);
}

/* The same in the gap: the call began when the work had been launched. */
static bool was_launched(const struct lpo_trace *t, const struct lpo_wall_gap *g)
{
    uint32_t launch = t->gpu_ops.at[g->op].launch;

    return launch != LPO_NONE && g->call != LPO_NONE &&
           t->launches.at[launch].end_ns <= t->calls.at[g->call].start_ns;
}

static void collect_gap(void *ctx, uint16_t device, const struct lpo_wall_gap *g)
{
    const struct gaps_of *to = ctx;
    bool blocked = g->cause == LPO_IDLE_BLOCKED;

    if (blocked && was_submitted(to->trace, g)) {
        to->out->submitted_ns += device == to->out->device ? g->ns : 0;
        to->out->submitted_gaps += device == to->out->device;
        return;
    }
    /* the host is not the cause of the others, and most gaps of a busy GPU are such */
    if (!blocked && g->cause != LPO_IDLE_HOST)
        return;
    lpo_vec_push(to->all,
                 ((struct lpo_findings_gap){ .ns = g->ns,
                                             .op = g->op,
                                             .launched = blocked && was_launched(to->trace, g),
                                             .blocked_in = blocked && g->call != LPO_NONE
                                                               ? to->trace->calls.at[g->call].name
                                                               : LPO_NONE }));
}

/* Rules that found something on the critical device look at the others too. */
static void run_rules(struct lpo_findings_work *w)
{
    lpo_findings_rule *found[sizeof rules / sizeof *rules];
    size_t count = 0;

    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        size_t before = w->out->all.len;

        rules[i](w);
        for (size_t k = before; k < w->out->all.len; k++) /* after the evidence of its rule */
            if (w->out->all.at[k].shorter_ns)
                lpo_findings_fact(&w->out->all.at[k], LPO_FACT_SHORTER_NS,
                                  (double)w->out->all.at[k].shorter_ns);
        if (w->out->all.len > before && rules[i] != lpo_findings_slow_rank)
            found[count++] = rules[i]; /* cppcheck-suppress legacyUninitvar */
    }
    lpo_findings_others(w, found, count);
}

/* Of all devices at once: who launched what for the first time is found in one pass. */
static void find_new_kernels(const struct lpo_trace *t, const lpo_findings_gaps *gaps,
                             lpo_wall_rows *out)
{
    lpo_wall_late_gaps late = { 0 };

    for (size_t i = 0; i < gaps->len; i++)
        if (gaps->at[i].ns > LPO_WALL_LATE_NS && gaps->at[i].blocked_in == LPO_NONE)
            lpo_vec_push(&late, ((struct lpo_wall_late_gap){ gaps->at[i].ns, gaps->at[i].op }));
    lpo_wall_new_kernels(t, &late, out);
    lpo_vec_free(&late);
}

static void copy_first_calls(struct lpo_findings_work *w)
{
    const lpo_first_calls *all = &lpo_analysis_phases(w->a)->first_calls;

    for (size_t i = 0; i < all->len; i++)
        lpo_vec_push(&w->out->first, all->at[i]);
}

static void find(struct lpo_findings_work *w)
{
    struct lpo_wall_order order;
    lpo_findings_gaps gaps = { 0 };
    lpo_wall_rows new_kernels = { 0 };
    LPO_AUTO(lpo_critical_simulator) simulator = NULL;
    struct gaps_of to = { w->trace, &gaps, w->out };

    w->critical = &w->wall->devices.at[0]; /* the longest span */
    w->out->any_device = true;
    w->out->device = w->critical->device;
    w->out->span_ns = w->critical->span_ns;
    w->out->compute_ns = w->critical->compute_ns;
    lpo_findings_simulate(w);
    order = lpo_wall_order_find(w->trace);
    lpo_wall_each_gap(w->a->tree, w->aside, collect_gap, &to);
    w->order = &order;
    w->gaps = &gaps;
    find_new_kernels(w->trace, &gaps, &new_kernels);
    w->new_kernels = &new_kernels;
    w->simulator = &simulator;
    lpo_findings_slack_find(w);
    copy_first_calls(w);
    run_rules(w);
    lpo_findings_slack_free(&w->slack);
    w->gaps = NULL; /* these live in this frame */
    w->new_kernels = NULL;
    w->simulator = NULL;
    w->order = NULL;
    lpo_vec_free(&new_kernels);
    lpo_vec_free(&gaps);
    lpo_wall_order_free(&order);
}

struct lpo_findings *lpo_findings_create(const struct lpo_rundir *d, const struct lpo_source *s,
                                         const struct lpo_analysis *a)
{
    const struct lpo_wall_steady *steady = lpo_analysis_steady(a);
    struct lpo_findings *f = lpo_xcalloc(1, sizeof *f);
    struct lpo_findings_work w = {
        .d = d,
        .s = s,
        .a = a,
        .trace = a->trace,
        .wall = steady->wall,
        .out = f,
        .aside = steady->any ? steady->places : NULL,
    };

    if (d && d->dir)
        f->noise = lpo_speed_run_variation(d).cv;
    if (w.wall && w.wall->devices.len) {
        find(&w);
    } else {
        copy_first_calls(&w);
        lpo_findings_cautions(&w);
    }
    sort_findings(f);
    return f;
}

void lpo_findings_destroy(struct lpo_findings *f)
{
    if (!f)
        return;
    for (size_t i = 0; i < f->all.len; i++)
        lpo_vec_free(&f->all.at[i].others);
    lpo_vec_free(&f->all);
    lpo_vec_free(&f->cautions);
    lpo_vec_free(&f->first);
    free(f);
}

bool lpo_findings_above_noise(const struct lpo_findings *f, const struct lpo_finding *x)
{
    return (double)x->saving_ns >= f->noise * (double)f->span_ns;
}
