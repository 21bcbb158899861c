/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/ncu/private.h"

#include <stdio.h>
#include <string.h>

#include "util/str.h"

static const struct unit_row {
    const char *text, *base;
    double scale;
} units[] = {
    { "ns", "ns", 1 },
    { "us", "ns", 1e3 },
    { "ms", "ns", 1e6 },
    { "s", "ns", 1e9 },
    /* before 2023 */
    { "nsecond", "ns", 1 },
    { "usecond", "ns", 1e3 },
    { "msecond", "ns", 1e6 },
    { "second", "ns", 1e9 },
    { "cycle/second", "hz", 1 },
    { "cycle/usecond", "hz", 1e6 },
    { "cycle/nsecond", "hz", 1e9 },
    { "cycle/s", "hz", 1 },
    { "cycle/us", "hz", 1e6 },
    { "cycle/ns", "hz", 1e9 },
    { "Hz", "hz", 1 },
};

static const struct denominator_row {
    const char *text, *base;
    double scale;
} denominators[] = {
    { "/second", "/s", 1 },    { "/msecond", "/s", 1e3 }, { "/usecond", "/s", 1e6 },
    { "/nsecond", "/s", 1e9 }, { "/s", "/s", 1 },         { "/ms", "/s", 1e3 },
    { "/us", "/s", 1e6 },      { "/ns", "/s", 1e9 },
};

/* "K" in "Kbyte": a prefix only before a lower-case word, so that "SM" stays a word. */
static double prefix_scale(const char *unit)
{
    static const char letters[] = "KMGTPE";
    const char *at = unit[0] ? strchr(letters, unit[0]) : NULL;
    double scale = 1;

    if (!at || unit[1] < 'a' || unit[1] > 'z')
        return 1;
    for (const char *p = letters; p <= at; p++)
        scale *= 1e3;
    return scale;
}

double lpo_ncu_unit_scale(const char *unit, size_t len, char base[LPO_NCU_UNIT])
{
    char text[LPO_NCU_UNIT];
    const char *slash;
    double scale;

    if (len >= sizeof text)
        len = sizeof text - 1;
    memcpy(text, unit, len);
    text[len] = '\0';
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(text, units[i].text) == 0) {
            snprintf(base, LPO_NCU_UNIT, "%s", units[i].base);
            return units[i].scale;
        }
    }
    scale = prefix_scale(text);
    slash = strchr(text, '/');
    for (size_t i = 0; slash && i < sizeof denominators / sizeof *denominators; i++) {
        if (strcmp(slash, denominators[i].text) == 0) {
            snprintf(base, LPO_NCU_UNIT, "%.*s%s", (int)(slash - text - (scale != 1)),
                     text + (scale != 1), denominators[i].base);
            return scale * denominators[i].scale;
        }
    }
    snprintf(base, LPO_NCU_UNIT, "%s", text + (scale != 1));
    return scale;
}

/* Names that say more than their parts. The first row that fits decides. */
static const struct name_row {
    const char *part, *unit;
    bool whole;
} exact[] = {
    { "launch__registers_per_thread", "register/thread", false },
    { "launch__shared_mem_per_block", "byte/block", false },
    { "launch__shared_mem_config_size", "byte", true },
    { "launch__persisting_l2_cache_size", "byte", true },
    { "launch__block_dim_", "block", false }, /* as ncu prints it */
    { "launch__cluster_max_potential_size", "block", true },
    { "launch__cluster_max_active", "cluster", true },
    { "launch__occupancy_limit_", "block", false },
    { "launch__occupancy_cluster", "%", false },
    { "launch__sm_count", "SM", true },
    { "launch__thread_count", "thread", true },
    { "launch__", "", false },
    { "profiler__replayer_passes", "pass", false },
    { "maximum_warps_avg_per_active_cycle", "warp", false },
};

/* What is counted. */
static const struct name_row quantities[] = {
    { "__time_duration", "ns", false }, { "_bytes", "byte", false },
    { "cycles_", "cycle", false },      { "__cycles", "cycle", false },
    { "_cycles", "cycle", false },      { "lsu_writeback_active", "cycle", false },
    { "inst_executed", "inst", false }, { "inst_issued", "inst", false },
    { "_sectors", "sector", false },    { "_requests", "request", false },
    { "warps_", "warp", false },
};

static const char *quantity_of(const char *name)
{
    for (size_t i = 0; i < sizeof quantities / sizeof *quantities; i++) {
        if (strstr(name, quantities[i].part))
            return quantities[i].unit;
    }
    return "";
}

/* "….pct_of_peak…", "…_ratio": a part of the name, not letters inside a word. */
static bool has_part(const char *name, const char *part)
{
    const char *at = strstr(name, part);

    return at && at > name && (at[-1] == '.' || at[-1] == '_');
}

static const char *over(const char *quantity, const char *what, char base[LPO_NCU_UNIT])
{
    if (strcmp(quantity, "cycle") == 0)
        return strcmp(what, "s") == 0 ? "hz" : "";
    snprintf(base, LPO_NCU_UNIT, "%s/%s", quantity, what);
    return base;
}

const char *lpo_ncu_metric_unit(const char *name, char base[LPO_NCU_UNIT])
{
    const char *quantity = quantity_of(name);
    const char *dot = strchr(name, '.');

    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++) {
        if (exact[i].whole ? strcmp(name, exact[i].part) == 0 : !!strstr(name, exact[i].part))
            return exact[i].unit;
    }
    if (has_part(name, "pct"))
        return "%";
    if (has_part(name, "ratio"))
        return "";
    if (!*quantity || !dot || lpo_str_starts(name, "derived__"))
        return quantity;
    if (strstr(dot, "per_second"))
        return over(quantity, "s", base);
    if (strstr(dot, "per_cycle") || strstr(dot, "peak_sustained"))
        return over(quantity, "cycle", base);
    return quantity;
}
