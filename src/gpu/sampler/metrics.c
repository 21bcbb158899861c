/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu/sampler/metrics.h"

enum { SPELLINGS = 4, PERCENT = 10000, MEAN = 1000 };

#define OF_PEAK ".avg.pct_of_peak_sustained_elapsed"

/* The first spelling that exists is taken. Asked of CUPTI 13.0's host object for every chip from
 * TU102 to GB207: tests/gpu/test_sampler_metrics.c repeats that where a libcupti is here. */
static const struct wish {
    enum lpo_counters_meaning meaning;
    enum lpo_counters_kind kind;
    unsigned scale;
    const char *unit;
    bool standard; /* sampled unless the user names metrics */
    const char *spellings[SPELLINGS];
} wishes[] = {
    { LPO_COUNTER_DRAM_READ,
      LPO_COUNTER_AMOUNT,
      1,
      "byte",
      true,
      { "dram__bytes_read.sum", "dram__bytes_op_read.sum", "fbpa__dram_read_bytes.sum" } },
    { LPO_COUNTER_DRAM_WRITE,
      LPO_COUNTER_AMOUNT,
      1,
      "byte",
      true,
      { "dram__bytes_write.sum", "dram__bytes_op_write.sum", "fbpa__dram_write_bytes.sum" } },
    { LPO_COUNTER_TENSOR_ACTIVE,
      LPO_COUNTER_SHARE,
      PERCENT,
      "%",
      true,
      { "sm__pipe_tensor_cycles_active_realtime" OF_PEAK, "sm__pipe_tensor_cycles_active" OF_PEAK,
        "sm__inst_executed_pipe_tensor" OF_PEAK } },
    { LPO_COUNTER_SM_ACTIVE,
      LPO_COUNTER_SHARE,
      PERCENT,
      "%",
      true,
      { "sm__cycles_active" OF_PEAK } },
    { LPO_COUNTER_L2_BYTES, LPO_COUNTER_AMOUNT, 1, "byte", true, { "lts__t_bytes.sum" } },
    { LPO_COUNTER_PCIE_READ, LPO_COUNTER_AMOUNT, 1, "byte", true, { "pcie__read_bytes.sum" } },
    { LPO_COUNTER_PCIE_WRITE, LPO_COUNTER_AMOUNT, 1, "byte", true, { "pcie__write_bytes.sum" } },
    { LPO_COUNTER_NVLINK_RX, LPO_COUNTER_AMOUNT, 1, "byte", true, { "nvlrx__bytes.sum" } },
    { LPO_COUNTER_NVLINK_TX, LPO_COUNTER_AMOUNT, 1, "byte", true, { "nvltx__bytes.sum" } },
    { LPO_COUNTER_GPU_ACTIVE,
      LPO_COUNTER_SHARE,
      PERCENT,
      "%",
      false,
      { "gr__cycles_active" OF_PEAK } },
    { LPO_COUNTER_SM_CYCLES,
      LPO_COUNTER_AMOUNT,
      MEAN,
      "cycle",
      false,
      { "sm__cycles_active.avg" } },
    { LPO_COUNTER_WARPS_ACTIVE,
      LPO_COUNTER_SHARE,
      PERCENT,
      "%",
      false,
      { "sm__warps_active.avg.pct_of_peak_sustained_active", "sm__warps_active" OF_PEAK,
        "tpc__warps_active_realtime" OF_PEAK } },
    { LPO_COUNTER_INSTRUCTIONS,
      LPO_COUNTER_AMOUNT,
      1,
      "inst",
      false,
      { "sm__inst_executed_realtime.sum", "sm__inst_executed.sum" } },
    { LPO_COUNTER_SM_CLOCK,
      LPO_COUNTER_AMOUNT,
      MEAN,
      "cycle",
      false,
      { "sm__cycles_elapsed.avg", "sm__cycles_elapsed.max" } },
    { LPO_COUNTER_DRAM_BYTES, LPO_COUNTER_AMOUNT, 1, "byte", false, { "dram__bytes.sum" } },
};

enum { NWISHES = sizeof wishes / sizeof *wishes };

struct chooser {
    struct lpo_arena *a;
    lpo_sampler_passes passes;
    void *ctx;
    struct lpo_sampler_choice *out;
    struct lpo_str left_out;
};

static struct lpo_sampler_metric metric_of(const struct wish *w, const char *name)
{
    return (struct lpo_sampler_metric){ name, w->unit, w->meaning, w->kind, w->scale };
}

/* A metric that the table does not have: its name says how it adds up. */
static struct lpo_sampler_metric own_metric(const char *name)
{
    bool share = strstr(name, ".pct") || strstr(name, ".ratio");
    bool sum = lpo_str_ends(name, ".sum");

    return (struct lpo_sampler_metric){ name, share ? "%" : "", LPO_COUNTER_OTHER,
                                        share ? LPO_COUNTER_SHARE : LPO_COUNTER_AMOUNT,
                                        share ? PERCENT
                                        : sum ? 1
                                              : MEAN };
}

static int passes_with(struct chooser *c, const char *more)
{
    const char *names[LPO_COUNTERS_METRICS_MAX + 1];
    size_t n = 0;

    for (; n < c->out->len; n++)
        names[n] = c->out->at[n].name;
    if (more)
        names[n++] = more;
    return c->passes(c->ctx, names, n);
}

static void leave_out(struct chooser *c, const char *name, const char *why)
{
    lpo_str_addf(&c->left_out, "%s%s (%s)", c->left_out.len ? ", " : "", name, why);
}

/* Takes the metric where all still run in one pass. False: this chip has no such metric. */
static bool consider(struct chooser *c, const struct lpo_sampler_metric *m)
{
    const char *alone[] = { m->name };

    if (c->out->len < LPO_COUNTERS_METRICS_MAX && passes_with(c, m->name) == 1) {
        c->out->at[c->out->len++] = *m;
        return true;
    }
    if (c->passes(c->ctx, alone, 1) <= 0)
        return false;
    leave_out(c, m->name, "no counter is free for it in the one pass");
    return true;
}

static void consider_wish(struct chooser *c, const struct wish *w)
{
    for (size_t i = 0; i < SPELLINGS && w->spellings[i]; i++) {
        struct lpo_sampler_metric m = metric_of(w, w->spellings[i]);

        if (consider(c, &m))
            return;
    }
    leave_out(c, w->spellings[0], "this GPU does not have it");
}

static void consider_name(struct chooser *c, const char *name)
{
    struct lpo_sampler_metric m = own_metric(name);

    for (size_t i = 0; i < c->out->len; i++)
        if (strcmp(c->out->at[i].name, name) == 0)
            return;
    for (size_t i = 0; i < NWISHES; i++)
        for (size_t k = 0; k < SPELLINGS && wishes[i].spellings[k]; k++)
            if (strcmp(wishes[i].spellings[k], name) == 0)
                m = metric_of(&wishes[i], name);
    if (!consider(c, &m))
        leave_out(c, name, "this GPU does not have it");
}

/* Usually the first spellings of all wishes fit: asking for them together saves a question for each
 * of them, which is most of the time that starting takes. */
static bool all_at_once(struct chooser *c)
{
    for (size_t i = 0; i < NWISHES; i++)
        if (wishes[i].standard)
            c->out->at[c->out->len++] = metric_of(&wishes[i], wishes[i].spellings[0]);
    if (passes_with(c, NULL) == 1)
        return true;
    c->out->len = 0;
    return false;
}

void lpo_sampler_choose(struct lpo_arena *a, const char *const *names, size_t count,
                        lpo_sampler_passes passes, void *ctx, struct lpo_sampler_choice *out)
{
    struct chooser c = { .a = a, .passes = passes, .ctx = ctx, .out = out };

    out->len = 0;
    out->left_out = NULL;
    for (size_t i = 0; i < count; i++)
        consider_name(&c, names[i]);
    if (count == 0 && !all_at_once(&c))
        for (size_t i = 0; i < NWISHES; i++)
            if (wishes[i].standard)
                consider_wish(&c, &wishes[i]);
    if (c.left_out.len)
        out->left_out = lpo_arena_strdup(a, c.left_out.at);
    lpo_str_free(&c.left_out);
}

size_t lpo_sampler_choice_core(const struct lpo_sampler_choice *c)
{
    size_t n = 0;

    while (n < c->len && (c->at[n].meaning == LPO_COUNTER_DRAM_READ ||
                          c->at[n].meaning == LPO_COUNTER_DRAM_WRITE ||
                          c->at[n].meaning == LPO_COUNTER_TENSOR_ACTIVE ||
                          c->at[n].meaning == LPO_COUNTER_SM_ACTIVE))
        n++;
    return n;
}

void lpo_sampler_choice_cut(struct lpo_arena *a, struct lpo_sampler_choice *c, size_t len)
{
    for (size_t i = len; i < c->len; i++)
        c->left_out = lpo_arena_printf(a, "%s%s%s (the sampler could not keep up at this interval)",
                                       c->left_out ? c->left_out : "", c->left_out ? ", " : "",
                                       c->at[i].name);
    if (len < c->len)
        c->len = len;
}

bool lpo_sampler_chip_counts_clocks(const char *chip)
{
    return lpo_str_starts(chip, "TU") || strcmp(chip, "GA100") == 0;
}

bool lpo_sampler_chip_too_old(const char *chip)
{
    static const char *const families[] = { "GK", "GM", "GP", "GV" };

    return lpo_any(i, sizeof families / sizeof *families, lpo_str_starts(chip, families[i]));
}
