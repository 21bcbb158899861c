/* SPDX-License-Identifier: Apache-2.0 */
/* Every sentence of a comparison. */

#include "analysis/diff/diff.h"
#include "report/diff/diff.h"
#include "util/units.h"

/* What differs, by the key of the fact; %s are the values of A and B. */
static const struct {
    const char *key, *words;
} reasons[] = {
    { "gpu", "the GPU differs: %s in A, %s in B" },
    { "gpus", "the number of GPUs differs: %s in A, %s in B" },
    { "ranks", "the number of ranks differs: %s in A, %s in B" },
    { "model", "the model differs: %s in A, %s in B" },
    { "source", "the profilers differ: %s in A, %s in B" },
    { "stacks", "the profilers' settings differ: %s in A, %s in B" },
    { "operators", "the profilers' settings differ: %s in A, %s in B" },
    { "ranges", "the programs' ranges differ: %s in A, %s in B" },
    { "coverage", "one side was recorded in part: %s in A, %s in B" },
    { "graphs", "CUDA graphs were recorded differently: %s in A, %s in B" },
    { "commit", "the commit differs: %s in A, %s in B" },
    { "lpo", "the version of lpo differs: %s in A, %s in B" },
    { "cpu", "the CPU differs: %s in A, %s in B" },
    { "kernel", "the kernel of the operating system differs: %s in A, %s in B" },
    { "driver", "the driver differs: %s in A, %s in B" },
    { "power_limit_mw", "the power limit differs: %s mW in A, %s mW in B" },
    { "max_sm_clock_mhz", "the highest clock differs: %s MHz in A, %s MHz in B" },
    { "sm_clock", "the GPU ran at a different clock: median of %s MHz in A, %s MHz in B (NVML)" },
    { "power", "the GPU drew different power: median of %s W in A, %s W in B (NVML)" },
    { "slowed", "the GPU was slowed down %s in A, %s in B (NVML)" },
    { "kernels", "one side has no kernels: %s launches in A, %s in B" },
    { "times", "the times are of different kinds: %s in A, %s in B" },
    { "shapes", "most inputs have another size: %s in A, %s in B" },
    { "steps", "the number of steps differs: %s in A, %s in B; rows are compared per step" },
    { "lost", "the profilers lost records: %s in A, %s in B" },
    { "noise", "repeats vary more than run.max_cv allows: %s in A, %s in B" },
    { "no_gpu", "there is no GPU time on either side (%s in A, %s in B): host times are compared" },
    { "common_kernels", "these may be different programs: kernels that both sides have take %s of "
                        "the GPU time of A, %s of B" },
    { "nothing_common", "no kernel, region or operator is on both sides: %s and %s" },
};

const char *lpo_report_diff_reason(struct lpo_arena *a, const struct lpo_diff_difference *x)
{
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (strcmp(reasons[i].key, x->key) == 0) {
            const char *words = reasons[i].words, *first = strstr(words, "%s");
            const char *second = strstr(first + 2, "%s");

            return lpo_arena_printf(a, "%.*s%s%.*s%s%s", (int)(first - words), words, x->a,
                                    (int)(second - first - 2), first + 2, x->b, second + 2);
        }
    if (lpo_str_starts(x->key, "version."))
        return lpo_arena_printf(a, "the version of %s differs: %s in A, %s in B", x->key + 8, x->a,
                                x->b);
    return lpo_arena_printf(a, "%s is %s in A and %s in B",
                            lpo_str_starts(x->key, "config.") ? x->key + 7
                            : lpo_str_starts(x->key, "env.")  ? x->key + 4
                                                              : x->key,
                            x->a, x->b);
}

const char *lpo_report_diff_part(size_t part)
{
    static const char *const idle[LPO_IDLE_CAUSES] = {
        [LPO_IDLE_BLOCKED] = "idle: the host waited in a call",
        [LPO_IDLE_HOST] = "idle: the host launched too late",
        [LPO_IDLE_QUEUED] = "idle: submitted, but waiting",
        [LPO_IDLE_UNKNOWN] = "idle: cause not known",
    };

    if (part == LPO_DIFF_PART_COMMUNICATION)
        return "exposed communication";
    if (part == LPO_DIFF_PART_COPY)
        return "exposed copies";
    return part >= LPO_DIFF_PART_IDLE ? idle[part - LPO_DIFF_PART_IDLE]
                                      : lpo_region_class_name((enum lpo_region_kernel_class)part);
}

void lpo_report_diff_add_change(struct lpo_str *s, double ns)
{
    if (ns > 0)
        lpo_str_addc(s, '+');
    lpo_units_add_duration(s, (int64_t)llround(ns));
}

const char *lpo_report_diff_verdict(const struct lpo_diff *d)
{
    const struct lpo_diff_figure_row *peak = lpo_diff_peak(d);

    if (!d->comparable)
        return "not comparable";
    if (peak && fabs(peak->value[LPO_DIFF_B] / peak->value[LPO_DIFF_A] - 1) > LPO_DIFF_LEAST_RUNS)
        return peak->value[LPO_DIFF_B] > peak->value[LPO_DIFF_A] ? "more memory" : "less memory";
    if (d->wall.unsure)
        return "unsure";
    if (!d->wall.verdict.significant)
        return "no change";
    return d->wall.verdict.change > 0 ? "slower" : "faster";
}

/* --- what one cause is ---------------------------------------------------------------------- */

static void add_amounts(struct lpo_str *s, const struct lpo_diff_cause *c)
{
    bool bytes = c->kind == LPO_DIFF_CAUSE_MEMORY;

    for (int side = 0; side < LPO_DIFF_SIDES; side++) {
        lpo_str_add(s, side == LPO_DIFF_A ? "" : " -> ");
        if (bytes)
            lpo_units_add_bytes(s, c->value[side]);
        else
            lpo_units_add_duration(s, (int64_t)llround(c->value[side]));
    }
}

/* "32.4 launches" of a unit, which need not be whole. */
static void add_number(struct lpo_str *s, double n)
{
    lpo_str_addf(s, fabs(n - round(n)) < 0.05 || n >= 100 ? "%.0f" : "%.1f", n);
}

static void add_launches(struct lpo_str *s, const struct lpo_diff_cause *c)
{
    double a = c->count[LPO_DIFF_A], b = c->count[LPO_DIFF_B];

    lpo_str_add(s, ", ");
    add_number(s, a);
    if (fabs(a - b) > 0.02 * fmax(a, b)) {
        lpo_str_add(s, " -> ");
        add_number(s, b);
    }
    lpo_str_add(s, a == 1 && b == 1 ? " launch" : " launches");
    if (c->kind != LPO_DIFF_CAUSE_KERNELS && a > 0 && b > 0 && c->busy[LPO_DIFF_A] > 0)
        lpo_str_addf(s, " (each %+.1f %%)",
                     100 * (c->busy[LPO_DIFF_B] / b / (c->busy[LPO_DIFF_A] / a) - 1));
}

static void add_place(struct lpo_str *s, const struct lpo_diff_cause *c)
{
    if (*c->op)
        lpo_str_addf(s, " %s %s", c->kind == LPO_DIFF_CAUSE_IDLE ? "in" : "for", c->op);
    if (*c->python)
        lpo_str_addf(s, ", called in %s", c->python);
    if (*c->member)
        lpo_str_addf(s, ", in %s alone", c->member);
    else if (*c->region)
        lpo_str_addf(s, ", in %s", c->region);
}

static void add_subject(struct lpo_str *s, const struct lpo_diff *d, const struct lpo_diff_cause *c)
{
    const char *a = c->name[LPO_DIFF_A], *b = c->name[LPO_DIFF_B];

    switch (c->kind) {
    case LPO_DIFF_CAUSE_KERNELS:
        lpo_str_addf(s, "%s in place of %s", b, a);
        break;
    case LPO_DIFF_CAUSE_EXPOSED:
        lpo_str_addf(s, "exposed communication, %s", b);
        break;
    case LPO_DIFF_CAUSE_COPY:
        lpo_str_addf(s, "copies with nothing beside them, %s", b);
        break;
    case LPO_DIFF_CAUSE_IDLE:
        if (!*b)
            lpo_str_add(s, "idle time of the GPU");
        else
            lpo_str_addf(s,
                         c->waits ? "the GPU is idle while the host waits in %s"
                                  : "the GPU is idle while the host is in %s",
                         b);
        if (*c->inner)
            lpo_str_addf(s, ", mostly %s", c->inner);
        break;
    case LPO_DIFF_CAUSE_REST:
        lpo_str_add(s, "all that changed less");
        break;
    default:
        if (c->row != UINT32_MAX && strcmp(a, b) != 0)
            lpo_str_addf(s, "%s (%s in A)", b, a);
        else
            lpo_str_add(s, b);
    }
    (void)d;
}

/* On one side alone the collectives run on the stream of the computing. */
static void add_moved(struct lpo_str *s, const struct lpo_diff *d)
{
    bool on[LPO_DIFF_SIDES] = { false, false };

    for (size_t i = 0; i < d->findings.len; i++)
        for (int side = 0; side < LPO_DIFF_SIDES; side++)
            on[side] |= d->findings.at[i].side[side] &&
                        d->findings.at[i].side[side]->kind == LPO_RUNG_SAME_STREAM;
    if (on[LPO_DIFF_A] != on[LPO_DIFF_B])
        lpo_str_addf(s, "; in %s they run on the stream of the computing, so they cannot overlap",
                     on[LPO_DIFF_B] ? "B" : "A");
}

const char *lpo_report_diff_cause(struct lpo_arena *a, const struct lpo_diff *d,
                                  const struct lpo_diff_cause *c)
{
    double hidden = c->busy[LPO_DIFF_B] - c->busy[LPO_DIFF_A];
    double by = c->value[LPO_DIFF_B] - c->value[LPO_DIFF_A];
    LPO_STR s = { 0 };

    add_subject(&s, d, c);
    add_place(&s, c);
    if (c->kind == LPO_DIFF_CAUSE_KERNELS || c->kind == LPO_DIFF_CAUSE_KERNEL ||
        c->kind == LPO_DIFF_CAUSE_EXPOSED || c->kind == LPO_DIFF_CAUSE_COPY)
        add_launches(&s, c);
    if (c->kind == LPO_DIFF_CAUSE_EXPOSED && fabs(hidden) < 0.5 * fabs(by)) {
        lpo_str_addf(&s, "; the collectives themselves take ");
        lpo_units_add_duration(&s, (int64_t)llround(c->busy[LPO_DIFF_A]));
        lpo_str_add(&s, " -> ");
        lpo_units_add_duration(&s, (int64_t)llround(c->busy[LPO_DIFF_B]));
        lpo_str_addf(&s, ", so %s of them is hidden behind kernels that compute",
                     by > 0 ? "less" : "more");
    }
    if (c->kind == LPO_DIFF_CAUSE_EXPOSED)
        add_moved(&s, d);
    if (*c->late)
        lpo_str_addf(&s, "; %s computes longer than before, and the others wait for it", c->late);
    return lpo_arena_strdup(a, s.at);
}

/* --- the first sentences -------------------------------------------------------------------- */

/* "wall time of a step" */
static const char *diff_subject(struct lpo_arena *a, const struct lpo_diff *d)
{
    const char *what = d->wall.known ? "wall time" : d->by_host ? "host time" : "GPU time";
    const char *name = d->work.name;
    LPO_STR counts = { 0 };

    add_number(&counts, d->units[LPO_DIFF_A]);
    lpo_str_add(&counts, " in A, ");
    add_number(&counts, d->units[LPO_DIFF_B]);
    lpo_str_add(&counts, " in B");
    switch (d->work.kind) {
    case LPO_DIFF_STEP:
        return lpo_arena_printf(a, "%s of a step (%s; %s)", what, name, counts.at);
    case LPO_DIFF_CALL:
        return lpo_arena_printf(a, "%s of a call of %s (%s)", what, name, counts.at);
    case LPO_DIFF_LAUNCH:
        if (d->wall.known)
            return lpo_arena_printf(a, "wall time for each launch of %s (%s)", name, counts.at);
        return lpo_arena_printf(a, "GPU time of a launch of %s (%s)", name, counts.at);
    default:
        return what;
    }
}

/* "steps", "calls" … */
static const char *units_word(const struct lpo_diff *d)
{
    static const char *const words[] = { "runs", "steps", "calls", "launches" };

    return words[d->work.kind];
}

static void add_pause(struct lpo_str *s, const struct lpo_diff *d)
{
    const struct lpo_diff_pauses *p = d->wall.pauses;
    enum lpo_diff_side side = p[LPO_DIFF_B].ns >= p[LPO_DIFF_A].ns ? LPO_DIFF_B : LPO_DIFF_A;

    lpo_str_addf(s, " %zu of %zu %s in %s took ", p[side].count, p[side].of, units_word(d),
                 side == LPO_DIFF_B ? "B" : "A");
    lpo_units_add_duration(s, (int64_t)llround(p[side].ns));
    lpo_str_add(s,
                p[side].count == 1 ? " more than the others." : " more than the others together.");
}

static void add_basis(struct lpo_str *s, const struct lpo_diff *d)
{
    const struct lpo_diff_wall *w = &d->wall;
    const struct lpo_diff_verdict *v = &w->verdict;

    if (v->basis == LPO_DIFF_BY_NOTHING)
        return;
    if (v->basis == LPO_DIFF_BY_CALLS) {
        if (w->unsure)
            lpo_str_addf(s,
                         " Too few %s for a test, so this is unsure; five or more a side, or "
                         "several runs (lpo diff A… -- B…), show more.",
                         units_word(d));
        return;
    }
    lpo_str_addf(s, " Tested over %llu and %llu %s", (unsigned long long)v->n[LPO_DIFF_A],
                 (unsigned long long)v->n[LPO_DIFF_B],
                 v->basis == LPO_DIFF_BY_RUNS ? "runs" : units_word(d));
    if (!isnan(v->low))
        lpo_str_addf(s, ": between %+.1f and %+.1f %% (99 %%)", 100 * v->low, 100 * v->high);
    if (w->visible > 0)
        lpo_str_addf(s, "; a change under %.1f %% would not show", 100 * w->visible);
    lpo_str_add(s, v->basis == LPO_DIFF_BY_RUNS ? "."
                                                : ". What differs from run to run is not in it.");
}

/* Two memory snapshots have no times: their peaks, and the owner whose share changed most. */
static bool add_memory(struct lpo_str *s, const struct lpo_diff *d)
{
    const struct lpo_diff_figure_row *peak = NULL, *most = NULL;
    double change, largest = 0;

    for (size_t i = 0; i < d->figures.len; i++) {
        const struct lpo_diff_figure_row *f = &d->figures.at[i];
        double a = isnan(f->value[0]) ? 0 : f->value[0], b = isnan(f->value[1]) ? 0 : f->value[1];

        if (strcmp(f->key, LPO_DIFF_SNAPSHOT_PEAK) == 0 && a > 0 && b > 0)
            peak = f;
        if (lpo_str_starts(f->key, LPO_DIFF_SNAPSHOT_OWNER) && fabs(b - a) > fabs(largest)) {
            most = f;
            largest = b - a;
        }
    }
    if (!peak)
        return false;
    change = peak->value[1] / peak->value[0] - 1;
    lpo_str_add(s, "Peak of GPU memory: ");
    lpo_units_add_bytes(s, peak->value[0]);
    lpo_str_add(s, " in A, ");
    lpo_units_add_bytes(s, peak->value[1]);
    lpo_str_addf(s, " in B: %+.2f %%.", 100 * change);
    if (!most)
        return true;
    lpo_str_addf(s, " Most changed: %s, by %s", most->key + strlen(LPO_DIFF_SNAPSHOT_OWNER),
                 largest < 0 ? "-" : "+");
    lpo_units_add_bytes(s, fabs(largest));
    lpo_str_add(s, ".");
    return true;
}

/* Numbers alone: the one that changed most, beyond chance where any did. */
static void add_figures(struct lpo_str *s, const struct lpo_diff *d)
{
    const struct lpo_diff_figure_row *most = NULL;
    double largest = -1;

    for (size_t i = 0; i < d->figures.len; i++) {
        const struct lpo_diff_figure_row *f = &d->figures.at[i];
        double by = f->value[0] > 0 && f->value[1] > 0 ? fabs(log(f->value[1] / f->value[0])) : -1;

        if (by > largest && (!most || f->verdict.significant >= most->verdict.significant)) {
            most = f;
            largest = by;
        }
    }
    lpo_str_addf(s, "%zu figures, no times of GPUs.", d->figures.len);
    if (most && largest > 0)
        lpo_str_addf(s, " Most changed: %s, %.6g in A, %.6g in B: %s%+.1f %%.", most->key,
                     most->value[0], most->value[1], most->verdict.significant ? "" : "~",
                     100 * (most->value[1] / most->value[0] - 1));
}

/* The largest cause in the direction of the change. */
static const struct lpo_diff_cause *main_cause(const struct lpo_diff *d)
{
    for (size_t i = 0; i < d->causes.len; i++) {
        const struct lpo_diff_cause *c = &d->causes.at[i];

        if (c->kind != LPO_DIFF_CAUSE_REST &&
            (c->value[LPO_DIFF_B] - c->value[LPO_DIFF_A]) * d->wall.verdict.change > 0)
            return c;
    }
    return d->causes.len ? &d->causes.at[0] : NULL;
}

static void add_cause(struct lpo_str *s, struct lpo_arena *a, const struct lpo_diff *d)
{
    const struct lpo_diff_cause *c = main_cause(d);
    bool said = d->wall.verdict.significant || d->wall.unsure;
    double by;

    if (!c || c->kind == LPO_DIFF_CAUSE_REST)
        return;
    by = c->value[LPO_DIFF_B] - c->value[LPO_DIFF_A];
    lpo_str_add(s, !said ? " Largest difference: " : by > 0 ? " What grew: " : " What shrank: ");
    lpo_report_diff_add_change(s, by);
    lpo_str_addf(s, " (%+.1f %% of A's), ", 100 * by / d->wall.unit_ns[LPO_DIFF_A]);
    lpo_str_addf(s, "%s: ", lpo_report_diff_cause(a, d, c));
    add_amounts(s, c);
    lpo_str_add(s, ".");
}

/* "GPU: MI300X in A, H100 in B": what makes the sides two different things. */
static void add_differences(struct lpo_str *s, struct lpo_arena *a, const struct lpo_diff *d,
                            const char *head, bool fatal)
{
    size_t n = 0;

    for (size_t i = 0; i < d->differences.len; i++)
        if (fatal ? d->differences.at[i].fatal : d->differences.at[i].work)
            lpo_str_addf(s, "%s%s", n++ ? "; " : head,
                         lpo_report_diff_reason(a, &d->differences.at[i]));
    if (n)
        lpo_str_add(s, ". ");
}

/* Where the work is another, what was done in a second says more than the time of a unit. */
static bool add_speed(struct lpo_str *s, const struct lpo_diff *d)
{
    static const char *const keys[] = { "tokens_per_s", "output_tokens_per_s" };

    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        for (size_t i = 0; i < d->figures.len; i++) {
            const struct lpo_diff_figure_row *f = &d->figures.at[i];

            if (strcmp(f->key, keys[k]) == 0 && f->value[0] > 0 && f->value[1] > 0) {
                lpo_str_addf(s, "Tokens a second: %.6g in A, %.6g in B (%+.1f %%). ", f->value[0],
                             f->value[1], 100 * (f->value[1] / f->value[0] - 1));
                return true;
            }
        }
    return false;
}

/* The same where no tokens are known: the GPU's time for each FLOP that operators need. */
static void add_per_flop(struct lpo_str *s, const struct lpo_diff *d)
{
    double ns[LPO_DIFF_SIDES];
    bool other_work = false;

    for (size_t i = 0; i < d->differences.len; i++) /* another GPU does the same work */
        other_work |= d->differences.at[i].work && !lpo_str_starts(d->differences.at[i].key, "gpu");
    for (int side = 0; side < LPO_DIFF_SIDES; side++) {
        const struct lpo_diff_digest *g = d->shown[side];

        if (!(g->flops > 0) || g->gpu_ns <= 0 || !other_work)
            return;
        ns[side] = (double)g->gpu_ns / (g->flops / 1e12);
    }
    lpo_str_add(s, "GPU time for each TFLOP of its operators: ");
    lpo_units_add_duration(s, (int64_t)llround(ns[LPO_DIFF_A]));
    lpo_str_add(s, " in A, ");
    lpo_units_add_duration(s, (int64_t)llround(ns[LPO_DIFF_B]));
    lpo_str_addf(s, " in B (%+.1f %%). ", 100 * (ns[LPO_DIFF_B] / ns[LPO_DIFF_A] - 1));
}

const char *lpo_report_diff_sentence(struct lpo_arena *a, const struct lpo_diff *d)
{
    const struct lpo_diff_wall *w = &d->wall;
    LPO_STR s = { 0 };
    const char *subject = diff_subject(a, d);

    if (!d->comparable) {
        add_differences(&s, a, d, "Not comparable: ", true);
        lpo_str_add(&s, "The numbers below describe two different things.");
        return lpo_arena_strdup(a, s.at);
    }
    add_differences(&s, a, d, "Not the same work or machine: ", false);
    if (s.len && !add_speed(&s, d))
        add_per_flop(&s, d);
    if (w->unit_ns[LPO_DIFF_A] == 0 && w->unit_ns[LPO_DIFF_B] == 0 && add_memory(&s, d))
        return lpo_arena_strdup(a, s.at);
    if (w->unit_ns[LPO_DIFF_A] == 0 && w->unit_ns[LPO_DIFF_B] == 0 && d->figures.len) {
        add_figures(&s, d);
        return lpo_arena_strdup(a, s.at);
    }
    lpo_str_addf(&s, "%c%s: ",
                 subject[0] == 'w'   ? 'W'
                 : subject[0] == 'h' ? 'H'
                                     : 'G',
                 subject + 1);
    lpo_units_add_duration(&s, (int64_t)llround(w->unit_ns[LPO_DIFF_A]));
    lpo_str_add(&s, " in A, ");
    lpo_units_add_duration(&s, (int64_t)llround(w->unit_ns[LPO_DIFF_B]));
    lpo_str_addf(&s, " in B: %s%+.1f %%%s.", w->verdict.significant || w->unsure ? "" : "~",
                 100 * w->verdict.change,
                 w->verdict.significant ? (w->verdict.change > 0 ? ", slower" : ", faster")
                 : w->unsure            ? ", unsure"
                 : w->paused            ? ", in few of them"
                                        : ", which chance can explain");
    if (w->paused)
        add_pause(&s, d);
    add_cause(&s, a, d);
    add_basis(&s, d);
    return lpo_arena_strdup(a, s.at);
}
