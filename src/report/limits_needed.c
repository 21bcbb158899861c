#include "report/limits_needed.h"

#include <string.h>

#include "model/needs.h"
#include "report/limits_map.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/json.h"

static struct lpo_need read_need(const struct lpo_json *sums, const struct lpo_needed *n)
{
    struct lpo_need need = { 0 };

    if (!sums)
        return need;
    need.flops = lpo_json_real(lpo_json_get(sums, "flops"), 0);
    need.bytes = lpo_json_real(lpo_json_get(sums, "bytes"), 0);
    need.seconds = lpo_json_real(lpo_json_get(sums, "seconds"), 0);
    need.compute_seconds = n->peak > 0 ? need.flops / n->peak : 0;
    need.memory_seconds = n->bandwidth > 0 ? need.bytes / n->bandwidth : 0;
    need.modules = 1;
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
            m->need[k] = read_need(lpo_json_get(item, lpo_phase_name((enum lpo_phase_kind)k)), n);
    }
}

int lpo_needed_read(struct lpo_arena *a, const struct lpo_json *root, struct lpo_needed *out,
                    struct lpo_err *err)
{
    const struct lpo_json *hw = lpo_json_get(root, "hardware");
    const struct lpo_json *modules = lpo_json_get(root, "modules");

    if (!modules || modules->kind != LPO_JSON_ARRAY)
        return lpo_fail(err, LPO_E_FORMAT, "this is no static analysis: it has no 'modules'");
    *out = (struct lpo_needed){
        .peak = lpo_json_real(lpo_json_get(hw, "peak_flops"), 0),
        .bandwidth = lpo_json_real(lpo_json_get(hw, "bandwidth"), 0),
        .hardware = lpo_json_text(lpo_json_get(hw, "label"), NULL),
        .source = lpo_json_text(lpo_json_get(hw, "source"), NULL),
        .dtype = lpo_json_text(lpo_json_get(hw, "peak_dtype"), NULL),
    };
    out->sheet_peak = lpo_json_real(lpo_json_get(hw, "sheet_peak_flops"), out->peak);
    read_modules(a, modules, out);
    return 0;
}

void lpo_need_add(struct lpo_need *to, const struct lpo_need *more, double times)
{
    to->flops += more->flops * times;
    to->bytes += more->bytes * times;
    to->seconds += more->seconds * times;
    to->compute_seconds += more->compute_seconds * times;
    to->memory_seconds += more->memory_seconds * times;
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

struct lpo_need lpo_needed_of(const struct lpo_needed *n, const struct lpo_meaning *m)
{
    struct lpo_need need = { 0 };

    for (size_t i = 0; i < n->count; i++)
        if (n->modules[i].need[m->phase].modules && fits(&n->modules[i], m))
            lpo_need_add(&need, &n->modules[i].need[m->phase], 1);
    return need;
}
