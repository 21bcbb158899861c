/* SPDX-License-Identifier: Apache-2.0 */
/* What a region needs: from the static analysis, or as stated; and the roofs it is set against. */

#include "analysis/limits/private.h"
#include "model/needs.h"
#include "util/json.h"

static double at_rate(double amount, double rate)
{
    return rate > 0 ? amount / rate : NAN;
}

static struct lpo_need need_of(double flops, double bytes, const struct lpo_roof *roof)
{
    return (struct lpo_need){
        .flops = flops,
        .bytes = bytes,
        .seconds = NAN,
        .best_seconds = NAN,
        .compute_seconds = at_rate(flops, roof->peak),
        .memory_seconds = at_rate(bytes, roof->bandwidth),
        .sheet_seconds = at_rate(flops, roof->sheet_peak),
        .modules = 1,
    };
}

static struct lpo_need read_need(const struct lpo_json *sums, const struct lpo_roof *roof)
{
    struct lpo_need need = { 0 };

    if (!sums)
        return need;
    need = need_of(lpo_json_real(lpo_json_get(sums, "flops"), 0),
                   lpo_json_real(lpo_json_get(sums, "bytes"), 0), roof);
    need.seconds = lpo_json_real(lpo_json_get(sums, "seconds"), NAN);
    need.best_seconds = lpo_json_real(lpo_json_get(sums, "best_seconds"), NAN);
    return need;
}

static void read_modules(struct lpo_arena *a, const struct lpo_json *list, struct lpo_needed *n)
{
    n->modules = lpo_arena_array(a, list->count + 1, sizeof *n->modules);
    LPO_JSON_EACH(item, list)
    {
        struct lpo_need_module *m = &n->modules[n->count++];

        m->part = lpo_json_text(lpo_json_get(item, "part"), "");
        m->block = lpo_json_text(lpo_json_get(item, "block"), "");
        m->layer = (int)lpo_json_int(lpo_json_get(item, "layer"), -1);
        for (int k = 0; k < LPO_PHASES; k++)
            m->need[k] = read_need(lpo_json_get(item, lpo_model_phase_name((enum lpo_phase_kind)k)),
                                   &n->roof);
    }
}

static struct lpo_roof read_roof(struct lpo_arena *a, const struct lpo_json *hw)
{
    const char *dtype = lpo_json_text(lpo_json_get(hw, "peak_dtype"), NULL);
    struct lpo_roof r = {
        .dtype = dtype ? lpo_arena_strdup(a, dtype) : NULL,
        .peak = lpo_json_real(lpo_json_get(hw, "peak_flops"), 0),
        .bandwidth = lpo_json_real(lpo_json_get(hw, "bandwidth"), 0),
    };

    r.sheet_peak = lpo_json_real(lpo_json_get(hw, "sheet_peak_flops"), r.peak);
    return r;
}

int lpo_limits_needed_read(struct lpo_arena *a, const struct lpo_json *root, struct lpo_needed *out,
                           struct lpo_err *err)
{
    const struct lpo_json *hw = lpo_json_get(root, "hardware");
    const struct lpo_json *modules = lpo_json_get(root, "modules");

    *out = (struct lpo_needed){ 0 };
    if (!root)
        return 0;
    if (!modules || modules->kind != LPO_JSON_ARRAY)
        return lpo_fail(err, LPO_E_FORMAT, "this is not a static analysis: it has no 'modules'");
    out->roof = read_roof(a, hw);
    out->hardware = lpo_json_text(lpo_json_get(hw, "label"), NULL);
    out->source = lpo_json_text(lpo_json_get(hw, "source"), NULL);
    read_modules(a, modules, out);
    return 0;
}

void lpo_limits_need_add(struct lpo_need *to, const struct lpo_need *more, double times)
{
    to->flops += more->flops * times;
    to->bytes += more->bytes * times;
    to->seconds += more->seconds * times;
    to->compute_seconds += more->compute_seconds * times;
    to->memory_seconds += more->memory_seconds * times;
    to->sheet_seconds += more->sheet_seconds * times;
    to->best_seconds += more->best_seconds * times;
    to->modules += more->modules;
}

static bool fits(const struct lpo_need_module *module, const struct lpo_meaning *m)
{
    if (m->part && strcmp(m->part, "vision") != 0 && strcmp(m->part, module->part) != 0)
        return false;
    if (m->layer >= 0 && module->layer != m->layer)
        return false;
    return !m->block || strcmp(m->block, module->block) == 0;
}

struct lpo_need lpo_limits_needed_of(const struct lpo_needed *n, const struct lpo_meaning *m)
{
    struct lpo_need need = { 0 };

    for (size_t i = 0; i < n->count; i++)
        if (n->modules[i].need[m->phase].modules && fits(&n->modules[i], m))
            lpo_limits_need_add(&need, &n->modules[i].need[m->phase], 1);
    return need;
}

struct lpo_roof lpo_limits_roof_of(const struct lpo_hardware *hw, const struct lpo_needed *n,
                                   enum lpo_dtype dtype)
{
    struct lpo_roof r = { .bandwidth = hw ? hw->bandwidth : n->roof.bandwidth };
    enum lpo_dtype used = LPO_DTYPE_NONE;

    if (dtype != LPO_DTYPE_NONE && n->roof.dtype && lpo_dtype_parse(n->roof.dtype) == dtype)
        return n->roof; /* one format, one rate in one report */
    if (!hw || dtype == LPO_DTYPE_NONE)
        return r;
    r.peak = lpo_gpu_hardware_peak(hw, dtype, &used);
    r.sheet_peak = lpo_gpu_hardware_peak(lpo_gpu_hardware_sheet(hw), dtype, NULL);
    r.dtype = r.peak > 0 ? lpo_dtype_name(used) : NULL;
    return r;
}

static double stated(struct lpo_measure m)
{
    return lpo_measure_known(m) ? m.value : NAN;
}

struct lpo_need lpo_limits_need_stated(const struct lpo_stated_need *s, const struct lpo_roof *roof)
{
    struct lpo_need need = need_of(stated(s->flops), stated(s->bytes), roof);

    if (!lpo_measure_known(s->flops))
        need.seconds = need.memory_seconds;
    else if (!lpo_measure_known(s->bytes))
        need.seconds = need.compute_seconds;
    else if (!isnan(need.compute_seconds) && !isnan(need.memory_seconds))
        need.seconds = fmax(need.compute_seconds, need.memory_seconds);
    return need;
}
