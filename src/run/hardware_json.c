/* SPDX-License-Identifier: Apache-2.0 */
#include "run/hardware_json.h"

#include <string.h>

#include "gpu/this_machine.h"
#include "run/folder.h"
#include "run/install.h"
#include "settings/settings.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/json.h"
#include "util/json_write.h"
#include "util/path.h"
#include "util/str.h"

static const char file[] = "hardware.json";

int lpo_run_hardware_find(struct lpo_arena *a, const struct lpo_node *config, const char *name,
                          struct lpo_hardware *out, struct lpo_err *err)
{
    const char *device = lpo_settings_text(config, "run.device");
    const char *const *dirs = (const char *const *)lpo_run_install_config_dirs(a);

    if (strcmp(name, "auto") == 0)
        name = strcmp(device, "cpu") == 0 ? "cpu" : "this";
    return lpo_gpu_hardware_find(a, dirs, name, out, err);
}

int lpo_run_hardware(struct lpo_arena *a, const char *run_dir, const struct lpo_node *config,
                     const char *name, struct lpo_hardware *out, struct lpo_err *err)
{
    struct lpo_hardware *kept = NULL;
    int rc = lpo_run_hardware_load(a, run_dir, &kept, err);

    if (rc < 0 || !kept)
        return rc < 0 ? rc : lpo_run_hardware_find(a, config, name, out, err);
    *out = *kept;
    return 0;
}

static void write_ceilings(struct lpo_json_writer *w, const struct lpo_hardware *hw)
{
    lpo_jw_object(w, "flops");
    for (int t = 1; t < LPO_DTYPES; t++)
        if (hw->flops[t] > 0)
            lpo_jw_real(w, lpo_dtype_name((enum lpo_dtype)t), hw->flops[t]);
    lpo_jw_end(w);
    lpo_jw_real(w, "bandwidth", hw->bandwidth);
}

void lpo_run_hardware_write(const struct lpo_hardware *hw, struct lpo_str *out)
{
    struct lpo_json_writer w = lpo_json_writer(out, 2);

    lpo_jw_object(&w, NULL);
    lpo_jw_text(&w, "schema", "lpo.hardware/1");
    lpo_jw_text(&w, "name", hw->name);
    lpo_jw_text(&w, "label", hw->label);
    lpo_jw_text(&w, "source", hw->source);
    write_ceilings(&w, hw);
    lpo_jw_whole(&w, "memory",
                 hw->memory > 0 ? lpo_measure_computed(hw->memory) : lpo_measure_unknown());
    if (hw->sheet) {
        lpo_jw_object(&w, "sheet");
        write_ceilings(&w, hw->sheet);
        lpo_jw_end(&w);
    }
    lpo_jw_end(&w);
}

/* A rate that somebody's editor made negative, endless or next to nothing is no rate. */
static double rate(const struct lpo_json *v)
{
    double x = lpo_json_real(v, 0);

    return x >= 1 && x <= 1e30 ? x : 0;
}

static void read_ceilings(const struct lpo_json *from, struct lpo_hardware *hw)
{
    const struct lpo_json *flops = lpo_json_get(from, "flops");

    for (int t = 1; t < LPO_DTYPES; t++)
        hw->flops[t] = rate(lpo_json_get(flops, lpo_dtype_name((enum lpo_dtype)t)));
    hw->bandwidth = rate(lpo_json_get(from, "bandwidth"));
}

int lpo_run_hardware_read(struct lpo_arena *a, const struct lpo_json *root,
                          struct lpo_hardware *out, struct lpo_err *err)
{
    const struct lpo_json *sheet = lpo_json_get(root, "sheet");

    if (!lpo_json_get(root, "flops"))
        return lpo_fail(err, LPO_E_FORMAT, "this is no %s: it has no 'flops'", file);
    *out = (struct lpo_hardware){
        .name = lpo_json_text(lpo_json_get(root, "name"), "unnamed"),
        .source = lpo_json_text(lpo_json_get(root, "source"), "unknown"),
        .memory = rate(lpo_json_get(root, "memory")),
    };
    out->label = lpo_json_text(lpo_json_get(root, "label"), out->name);
    read_ceilings(root, out);
    if (sheet && sheet->kind == LPO_JSON_OBJECT) {
        struct lpo_hardware *s = LPO_NEW(a, struct lpo_hardware);

        *s = *out;
        s->source = "sheet";
        read_ceilings(sheet, s);
        out->sheet = s;
    }
    return 0;
}

int lpo_run_hardware_save(const char *run_dir, const struct lpo_hardware *hw, struct lpo_err *err)
{
    LPO_STR text = { 0 };

    lpo_run_hardware_write(hw, &text);
    return lpo_run_folder_write(run_dir, file, text.at, text.len, err);
}

int lpo_run_hardware_load(struct lpo_arena *a, const char *run_dir, struct lpo_hardware **out,
                          struct lpo_err *err)
{
    const char *path = lpo_path_join(a, run_dir, file);
    const struct lpo_json *root = NULL;
    struct lpo_hardware *hw;

    *out = NULL;
    if (!lpo_path_exists(path))
        return 0;
    hw = LPO_NEW(a, struct lpo_hardware);
    if (lpo_json_read_file(a, path, &root, err) < 0 || lpo_run_hardware_read(a, root, hw, err) < 0)
        return lpo_ctx(err, "'%s' cannot be read", path);
    *out = hw;
    return 0;
}
