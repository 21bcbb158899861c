/* SPDX-License-Identifier: Apache-2.0 */
/* What the limits found, in words: the bound of a row, what that rests on, and notes. */

#include "analysis/limits/limits.h"
#include "report/limits/chapter_limits.h"

LPO_NAMES(lpo_report_limits_bound, enum lpo_held, "unknown", "compute", "memory", "launch gaps",
          "idle", "occupancy", "overhead");

const char *lpo_report_limits_means(const struct lpo_limit_row *r)
{
    return r->stated ? "stated in report.needs" : r->means;
}

/* A counter that was not read shows as 0 beside one that was. */
static double percent(struct lpo_measure m)
{
    return lpo_measure_known(m) ? fmax(m.value, 0) : 0;
}

static void add_idle(const struct lpo_limit_row *r, struct lpo_str *out)
{
    lpo_str_addf(
        out, "the GPU is idle for %.0f %% of it, %s", 100 * r->idle_ns.value / r->measured_ns.value,
        r->held == LPO_HELD_LAUNCH ? "waiting for the host to launch" : "not for lack of launches");
}

static void add_counters(const struct lpo_limit_row *r, struct lpo_str *out)
{
    lpo_str_addf(out, "counters: SMs at %.0f %%, DRAM at %.0f %% of their peaks",
                 percent(r->counters.sm_percent), percent(r->counters.dram_percent));
}

static void add_warps(const struct lpo_limit_row *r, struct lpo_str *out)
{
    lpo_str_addf(out, "counters: %.0f %% of the warps active, SMs at %.0f %%, DRAM at %.0f %%",
                 percent(r->counters.occupancy_percent), percent(r->counters.sm_percent),
                 percent(r->counters.dram_percent));
}

static void add_samples(const struct lpo_limit_row *r, struct lpo_str *out)
{
    lpo_str_addf(out, "sampled counters: tensor cores at %.0f %%, DRAM at %.0f %% of their peaks",
                 percent(r->counters.tensor_percent), percent(r->counters.dram_percent));
}

static void add_few_sms(const struct lpo_limit_row *r, struct lpo_str *out)
{
    lpo_str_addf(out, "sampled counters: %.0f %% of the SMs have work, DRAM at %.0f %%",
                 percent(r->counters.sm_active_percent), percent(r->counters.dram_percent));
}

static const char *roof(const struct lpo_limit_row *r)
{
    return r->need_memory_ns >= r->need_compute_ns ? "memory" : "compute";
}

static void add_near_roof(const struct lpo_limit_row *r, struct lpo_str *out)
{
    lpo_str_addf(out, "at %.0f %% of the %s roof", 100 * r->share.value, roof(r));
    if (lpo_measure_known(r->needed_flops) && lpo_measure_known(r->needed_bytes) &&
        r->needed_bytes.value > 0)
        lpo_str_addf(out, " that its %.3g FLOP/B allow",
                     r->needed_flops.value / r->needed_bytes.value);
}

static void add_far_from_roof(const struct lpo_limit_row *r, struct lpo_str *out)
{
    bool gpu = lpo_measure_known(r->busy_ns);

    lpo_str_addf(out, "at %.1f %% of its %s roof%s: %s far from it", 100 * r->share.value, roof(r),
                 gpu ? " with the GPU busy" : "", gpu ? "its kernels are" : "its code is");
    if (r->counters.sampled) {
        lpo_str_add(out, "; ");
        add_samples(r, out);
    }
}

void lpo_report_limits_add_evidence(const struct lpo_limit_row *r, struct lpo_str *out)
{
    static void (*const add[])(const struct lpo_limit_row *r, struct lpo_str *out) = {
        [LPO_REASON_IDLE] = add_idle,
        [LPO_REASON_COUNTERS] = add_counters,
        [LPO_REASON_WARPS] = add_warps,
        [LPO_REASON_SAMPLES] = add_samples,
        [LPO_REASON_FEW_SMS] = add_few_sms,
        [LPO_REASON_NEAR_ROOF] = add_near_roof,
        [LPO_REASON_FAR_FROM_ROOF] = add_far_from_roof,
    };

    if (add[r->reason])
        add[r->reason](r, out);
}

/* Some of the outermost regions, for who wrote a name that is near to none. */
static void add_regions(const struct lpo_limits *l, struct lpo_str *out)
{
    enum { SHOWN = 8 };
    unsigned shown = 0;

    lpo_str_add(out, l->rows.len ? "; there are: " : ": it marked none");
    for (size_t i = 0; i < l->rows.len; i++)
        if (l->rows.at[i].parent == UINT32_MAX && shown++ < SHOWN)
            lpo_str_addf(out, "%s%s", shown > 1 ? ", " : "", l->rows.at[i].path);
    if (shown > SHOWN)
        lpo_str_add(out, ", …");
}

static void add_no_region(const struct lpo_limits *l, const struct lpo_limits_note *n,
                          struct lpo_str *out)
{
    lpo_str_addf(out, "%s: this run has no region '%s'",
                 n->mapping ? "report.mapping" : "report.needs", n->region);
    if (n->near)
        lpo_str_addf(out, "; did you mean '%s'?", n->near);
    else
        add_regions(l, out);
}

static void add_no_part(const struct lpo_limits_note *n, struct lpo_str *out)
{
    lpo_str_addf(out, "report.mapping of '%s': '%s' is not a part of the model; ", n->region,
                 n->means);
    if (n->near)
        lpo_str_addf(out, "did you mean '%s'?", n->near);
    else
        lpo_str_add(out, "write prefill, decode, decode/step, prefill/layer3/attn, vision, "
                         "projector, …");
}

void lpo_report_limits_add_note(const struct lpo_limits *l, const struct lpo_limits_note *n,
                                struct lpo_str *out)
{
    switch (n->kind) {
    case LPO_LIMITS_NO_REGION:
        add_no_region(l, n, out);
        break;
    case LPO_LIMITS_NO_PART:
        add_no_part(n, out);
        break;
    case LPO_LIMITS_NO_VISITS:
        lpo_str_addf(out,
                     "this trace does not say how often '%s' was called, so its entry in "
                     "report.needs cannot be used",
                     n->region);
        break;
    case LPO_LIMITS_NO_DTYPE:
        lpo_str_addf(out,
                     "report.needs of '%s' names no dtype and the run has none: its MFU is not "
                     "known",
                     n->region);
        break;
    case LPO_LIMITS_NO_NAMED_REGION:
        lpo_str_add(out, "no region is named after a part of the model (prefill, decode, layerN, "
                         "attn, …): report.mapping can say which is which, report.needs what a "
                         "region needs");
        break;
    case LPO_LIMITS_NO_STEPS:
        lpo_str_add(out, "how many steps 'decode' holds is not known: mark each with a range "
                         "'step'");
        break;
    case LPO_LIMITS_NO_HARDWARE:
        lpo_str_add(out, "no hardware is known: needs are shown without limits");
        break;
    }
}
