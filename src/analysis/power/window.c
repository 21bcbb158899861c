/* SPDX-License-Identifier: Apache-2.0 */
/* Questions about a stretch of time, answered from the samples around it. */

#include "analysis/power/power.h"

static bool has(const struct lpo_power_sample *s, enum lpo_power_column c)
{
    return s->known & (1u << c);
}

/* The number of samples before `ns`. */
static size_t before(const struct lpo_power_gpu *g, int64_t ns)
{
    size_t low = 0, high = g->samples.len;

    lpo_search(low, high, mid, g->samples.at[mid].unix_ns < ns);
    return low;
}

static void count_sample(struct lpo_power_window *w, const struct lpo_power_sample *s,
                         size_t *counts)
{
    w->samples++;
    for (int c = 0; c < LPO_POWER_COLUMNS; c++) {
        if (!has(s, c))
            continue;
        counts[c]++;
        w->mean[c] =
            lpo_measure_measured(w->mean[c].value + (double)s->value[c]); /* a sum so far */
        if (counts[c] == 1 || (double)s->value[c] > w->max[c].value)
            w->max[c] = lpo_measure_measured((double)s->value[c]);
    }
    if (has(s, LPO_POWER_THROTTLE)) {
        w->reasons |= s->value[LPO_POWER_THROTTLE];
        w->slowed += (s->value[LPO_POWER_THROTTLE] & lpo_power_throttle_slows) != 0;
    }
}

void lpo_power_look(const struct lpo_power_gpu *g, int64_t from_ns, int64_t to_ns,
                    struct lpo_power_window *out)
{
    size_t first = before(g, from_ns), counts[LPO_POWER_COLUMNS] = { 0 };

    *out = (struct lpo_power_window){ 0 };
    for (size_t i = first; i < g->samples.len && g->samples.at[i].unix_ns <= to_ns; i++)
        count_sample(out, &g->samples.at[i], counts);
    if (!out->samples && first > 0 &&
        g->samples.at[first - 1].unix_ns >= from_ns - LPO_POWER_HOLE_NS)
        count_sample(out, &g->samples.at[first - 1], counts);
    for (int c = 0; c < LPO_POWER_COLUMNS; c++)
        if (counts[c])
            out->mean[c].value /= (double)counts[c];
}

/* The integral of power up to a moment, and how much of that time is unknown. */
struct point {
    double joules, unknown_ns;
};

/* Outside the samples power is taken to stay as it was at the nearest one. */
static struct point beyond(const struct lpo_power_sample *s, int64_t dt)
{
    struct point p = { s->joules, (double)s->unknown_ns };
    int64_t far = dt < 0 ? -dt : dt;

    if (far > LPO_POWER_HOLE_NS || !has(s, LPO_POWER_MW))
        p.unknown_ns += (double)dt;
    else
        p.joules += (double)s->value[LPO_POWER_MW] * 1e-12 * (double)dt;
    return p;
}

static struct point integral(const struct lpo_power_gpu *g, int64_t ns)
{
    size_t i = before(g, ns), last = g->samples.len - 1;
    const struct lpo_power_sample *a, *b;
    double part, joules;

    if (i == 0)
        return beyond(&g->samples.at[0], ns - g->samples.at[0].unix_ns);
    if (i > last)
        return beyond(&g->samples.at[last], ns - g->samples.at[last].unix_ns);
    a = &g->samples.at[i - 1];
    b = &g->samples.at[i];
    part = (double)(ns - a->unix_ns) / (double)(b->unix_ns - a->unix_ns);
    joules = part * (b->joules - a->joules);
    if (b->joules > a->joules) /* power changes evenly */
        joules *=
            (part * (double)b->value[LPO_POWER_MW] + (2 - part) * (double)a->value[LPO_POWER_MW]) /
            ((double)a->value[LPO_POWER_MW] + (double)b->value[LPO_POWER_MW]);
    return (struct point){ a->joules + joules,
                           (double)a->unknown_ns + part * (double)(b->unknown_ns - a->unknown_ns) };
}

/* The counter's difference between the samples at both ends, stretched to the whole window. */
static struct lpo_measure counted(const struct lpo_power_gpu *g, int64_t from_ns, int64_t to_ns)
{
    size_t first = before(g, from_ns), past = before(g, to_ns);
    const struct lpo_power_sample *a, *b;
    double covered;

    if (past < first + 2)
        return lpo_measure_unknown();
    a = &g->samples.at[first];
    b = &g->samples.at[past - 1];
    for (size_t i = first; i < past; i++) /* a driver that was loaded anew starts from 0 */
        if (!has(&g->samples.at[i], LPO_POWER_ENERGY_MJ) ||
            (i > first && g->samples.at[i].value[LPO_POWER_ENERGY_MJ] <
                              g->samples.at[i - 1].value[LPO_POWER_ENERGY_MJ]))
            return lpo_measure_unknown();
    covered = (double)(b->unix_ns - a->unix_ns);
    if ((double)(to_ns - from_ns) - covered > (double)LPO_POWER_HOLE_NS)
        return lpo_measure_unknown();
    return lpo_measure_measured(
        (double)(b->value[LPO_POWER_ENERGY_MJ] - a->value[LPO_POWER_ENERGY_MJ]) * 1e-3 *
        (double)(to_ns - from_ns) / covered);
}

struct lpo_measure lpo_power_joules(const struct lpo_power_gpu *g, int64_t from_ns, int64_t to_ns)
{
    struct lpo_measure m = lpo_measure_unknown();
    struct point from, to;

    /* times that no sample of ours can have are not worth an overflow */
    if (!g->samples.len || from_ns < 0 || to_ns <= from_ns || to_ns > INT64_MAX / 4)
        return m;
    if (to_ns - from_ns >= LPO_POWER_COUNTER_NS)
        m = counted(g, from_ns, to_ns);
    if (lpo_measure_known(m))
        return m;
    from = integral(g, from_ns);
    to = integral(g, to_ns);
    if (to.unknown_ns - from.unknown_ns > 0.01 * (double)(to_ns - from_ns))
        return lpo_measure_unknown();
    return lpo_measure_estimated(to.joules - from.joules);
}

/* NVML's clock event reasons. */
static const struct reason {
    uint64_t bit;
    const char *name;
} reasons[] = {
    { 0x001, "idle" },
    { 0x002, "clocks set by the user" },
    { 0x004, "power cap" },
    { 0x008, "hardware slowdown" },
    { 0x010, "sync boost" },
    { 0x020, "heat (software)" },
    { 0x040, "heat (hardware)" },
    { 0x080, "power brake" },
    { 0x100, "display clocks" },
};

const uint64_t lpo_power_throttle_slows = 0x004 | 0x008 | 0x010 | 0x020 | 0x040 | 0x080;

void lpo_power_throttle_add(struct lpo_str *s, uint64_t bits)
{
    const char *comma = "";

    if (!bits)
        lpo_str_add(s, "none");
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        if (!(bits & reasons[i].bit))
            continue;
        lpo_str_addf(s, "%s%s", comma, reasons[i].name);
        comma = ", ";
        bits &= ~reasons[i].bit;
    }
    if (bits)
        lpo_str_addf(s, "%s0x%" PRIx64, comma, bits);
}
