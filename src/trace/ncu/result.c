/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/ncu/private.h"

/* --- units ---------------------------------------------------------------------------------------
 */

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

/* --- results -------------------------------------------------------------------------------------
 */

#define DEVICE "device__attribute_"

static const struct fact_row {
    const char *name;
    enum lpo_ncu_fact fact;
} facts[] = {
    { "gpu__time_duration.sum", LPO_NCU_DURATION },
    { "gpu__time_duration.avg", LPO_NCU_DURATION_OTHER },
    { "gpu__time_duration.max", LPO_NCU_DURATION_OTHER },
    { "gpu__time_duration.min", LPO_NCU_DURATION_OTHER },
    { "launch__registers_per_thread", LPO_NCU_REGISTERS },
    { "launch__shared_mem_per_block_static", LPO_NCU_STATIC_SMEM },
    { "launch__shared_mem_per_block_dynamic", LPO_NCU_DYNAMIC_SMEM },
    { "launch__device_id", LPO_NCU_DEVICE_ID },
    { DEVICE "display_name", LPO_NCU_DEVICE_NAME },
    { DEVICE "multiprocessor_count", LPO_NCU_SMS },
    { DEVICE "compute_capability_major", LPO_NCU_CC_MAJOR },
    { DEVICE "compute_capability_minor", LPO_NCU_CC_MINOR },
    { DEVICE "total_memory", LPO_NCU_MEMORY },
    { DEVICE "l2_cache_size", LPO_NCU_L2 },
    { DEVICE "clock_rate", LPO_NCU_SM_CLOCK },
    { DEVICE "memory_clock_rate", LPO_NCU_MEM_CLOCK },
    { DEVICE "global_memory_bus_width", LPO_NCU_BUS },
};

enum lpo_ncu_fact lpo_ncu_fact_of(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        if (strlen(facts[i].name) == len && memcmp(facts[i].name, name, len) == 0)
            return facts[i].fact;
    }
    if (len >= strlen(DEVICE) && memcmp(name, DEVICE, strlen(DEVICE)) == 0)
        return LPO_NCU_DEVICE_OTHER;
    return LPO_NCU_NONE;
}

void lpo_ncu_result_reset(struct lpo_ncu_result *r)
{
    *r = (struct lpo_ncu_result){ .device_name = LPO_NONE };
    for (size_t i = 0; i < sizeof r->fact / sizeof *r->fact; i++)
        r->fact[i] = NAN;
}

/* A fact as a whole number; `missing` when it is not given or out of bounds. */
static uint64_t whole(const struct lpo_ncu_result *r, enum lpo_ncu_fact fact, uint64_t missing)
{
    double v = r->fact[fact];

    return v >= 0 && v < 1e18 ? (uint64_t)(v + 0.5) : missing;
}

static void fill_device(struct lpo_trace *t, uint16_t row, const struct lpo_ncu_result *r)
{
    struct lpo_device *d = &t->devices.at[row];

    if (d->name == LPO_NONE)
        d->name = r->device_name;
    d->sms = (uint32_t)whole(r, LPO_NCU_SMS, d->sms);
    d->cc_major = (uint32_t)whole(r, LPO_NCU_CC_MAJOR, d->cc_major);
    d->cc_minor = (uint32_t)whole(r, LPO_NCU_CC_MINOR, d->cc_minor);
    d->memory_bytes = whole(r, LPO_NCU_MEMORY, d->memory_bytes);
    d->l2_bytes = whole(r, LPO_NCU_L2, d->l2_bytes);
    d->sm_clock_khz = (uint32_t)whole(r, LPO_NCU_SM_CLOCK, d->sm_clock_khz);
    d->mem_clock_khz = (uint32_t)whole(r, LPO_NCU_MEM_CLOCK, d->mem_clock_khz);
    d->bus_bits = (uint32_t)whole(r, LPO_NCU_BUS, d->bus_bits);
}

static uint32_t shape_of(struct lpo_trace *t, const struct lpo_ncu_result *r)
{
    struct lpo_shape shape = { .registers = (uint32_t)whole(r, LPO_NCU_REGISTERS, LPO_NONE),
                               .static_smem = (uint32_t)whole(r, LPO_NCU_STATIC_SMEM, LPO_NONE),
                               .dynamic_smem = (uint32_t)whole(r, LPO_NCU_DYNAMIC_SMEM, LPO_NONE) };

    if (!r->has_shape)
        return LPO_NONE;
    memcpy(shape.grid, r->grid, sizeof shape.grid);
    memcpy(shape.block, r->block, sizeof shape.block);
    return lpo_trace_shape(t, &shape);
}

static void set_duration(struct lpo_gpu_op *w, double ns)
{
    w->flags = (uint8_t)((w->flags | LPO_GPU_OP_UNTIMED) & ~LPO_GPU_OP_NO_LENGTH);
    w->start_ns = w->end_ns = 0;
    if (ns >= 0 && ns < 1e18)
        w->end_ns = (int64_t)(ns + 0.5);
    else
        w->flags |= LPO_GPU_OP_NO_LENGTH;
}

void lpo_ncu_update(struct lpo_trace *t, uint32_t gpu_op, const struct lpo_ncu_result *r)
{
    struct lpo_gpu_op *w = &t->gpu_ops.at[gpu_op];
    double ns = r->fact[LPO_NCU_DURATION];

    fill_device(t, w->device, r);
    w->shape = shape_of(t, r);
    set_duration(w, isnan(ns) ? r->fact[LPO_NCU_DURATION_OTHER] : ns);
}

/* A machine has few GPUs: looked at one by one they are found before a hash is made. */
static uint16_t device_row(struct lpo_trace *t, int32_t id)
{
    for (size_t i = 0; i < t->devices.len && i < 16; i++) {
        if (t->devices.at[i].id == id && t->devices.at[i].rank == -1)
            return (uint16_t)i;
    }
    return lpo_trace_device(t, id, -1);
}

/* A result of range replay is of a range and no kernel: "range decode/layer0". */
static uint32_t range_name(struct lpo_trace *t, uint32_t name, uint32_t stack)
{
    const char *text = lpo_trace_text(t, name);
    LPO_STR out = { 0 };

    if (strcmp(text, "range") != 0 && strcmp(text, "(range)") != 0)
        return name;
    lpo_str_add(&out, "range");
    for (uint32_t i = 0; i < t->stacks.at[stack].count; i++)
        lpo_str_addf(&out, "%c%s", i ? '/' : ' ',
                     lpo_trace_text(t, t->frames.at[t->stacks.at[stack].first + i].name));
    return lpo_trace_namen(t, lpo_str_text(&out), out.len);
}

uint32_t lpo_ncu_push(struct lpo_trace *t, struct lpo_gpu_op w, const struct lpo_ncu_result *r,
                      int32_t device)
{
    uint32_t at = (uint32_t)t->gpu_ops.len;

    w.launch = w.capture = LPO_NONE;
    w.kind = LPO_KERNEL;
    if (w.flags & LPO_GPU_OP_WHOLE && w.stack != LPO_NONE)
        w.name = range_name(t, w.name, w.stack);
    w.device = device_row(t, (int32_t)whole(r, LPO_NCU_DEVICE_ID, (uint32_t)device));
    lpo_vec_push(&t->gpu_ops, w);
    lpo_ncu_update(t, at, r);
    return at;
}
