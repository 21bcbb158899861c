/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor_calibrate.h"

#include "cli/app.h"
#include "gpu/calibrate.h"
#include "gpu/sheets.h"
#include "run/install.h"
#include "util/err.h"
#include "util/json_write.h"
#include "util/str.h"

#define CALIBRATION_SCHEMA "lpo.calibration/1"

static const double seconds = 1;

static void print_json(struct lpo_app *app, const struct lpo_calibration *c,
                       const struct lpo_hardware *sheet, const char *path)
{
    LPO_STR out = { 0 };
    struct lpo_json_writer w = lpo_json_writer(&out, 2);

    lpo_jw_object(&w, NULL);
    lpo_jw_text(&w, "schema", CALIBRATION_SCHEMA);
    lpo_jw_text(&w, "gpu", c->gpu);
    lpo_jw_text(&w, "entry", sheet->name);
    lpo_jw_text(&w, "written", path);
    lpo_jw_real(&w, "bandwidth", c->bandwidth);
    lpo_jw_real(&w, "sheet_bandwidth", lpo_gpu_hardware_sheet(sheet)->bandwidth);
    lpo_jw_object(&w, "flops");
    for (int t = 1; t < LPO_DTYPES; t++)
        if (c->flops[t] > 0)
            lpo_jw_real(&w, lpo_dtype_name((enum lpo_dtype)t), c->flops[t]);
    lpo_jw_end(&w);
    lpo_jw_end(&w);
    fputs(lpo_str_text(&out), app->out);
}

static void print_text(struct lpo_app *app, const struct lpo_calibration *c,
                       const struct lpo_hardware *entry, const char *path)
{
    const struct lpo_hardware *sheet = lpo_gpu_hardware_sheet(entry);

    fprintf(app->out, "%s (%s)\n", c->gpu, entry->name);
    fprintf(app->out, "  %-5s %8.1f GB/s     %5.1f %% of the sheet's %.0f\n", "copy",
            c->bandwidth / 1e9, 100 * c->bandwidth / sheet->bandwidth, sheet->bandwidth / 1e9);
    for (int t = 1; t < LPO_DTYPES; t++)
        if (c->flops[t] > 0 && sheet->flops[t] > 0)
            fprintf(app->out, "  %-5s %8.1f TFLOP/s  %5.1f %% of the sheet's %.0f\n",
                    lpo_dtype_name((enum lpo_dtype)t), c->flops[t] / 1e12,
                    100 * c->flops[t] / sheet->flops[t], sheet->flops[t] / 1e12);
    fprintf(app->out, "written to %s\n", path);
}

int lpo_cli_doctor_calibrate(struct lpo_app *app, bool json, struct lpo_err *err)
{
    const char *const *dirs = (const char *const *)lpo_run_install_config_dirs(app->arena);
    const char *home = lpo_run_install_user_dir(app->arena), *path = NULL;
    struct lpo_calibration c;
    struct lpo_hardware entry;
    int rc = lpo_gpu_calibrate(app->arena, 0, seconds, &c, err);

    if (rc < 0)
        return rc;
    if (!lpo_gpu_hardware_match(app->arena, dirs, c.gpu, &entry))
        return lpo_fail(
            err, LPO_E_NOTFOUND,
            "no hardware sheet matches '%s': write one first, as docs/hardware.md describes",
            c.gpu);
    if (!home)
        return lpo_fail(err, LPO_E_MISSING,
                        "there is no home folder to write the measurements to: set HOME");
    rc = lpo_gpu_calibration_write(app->arena, home, entry.name, &c, &path, err);
    if (rc < 0)
        return rc;
    if (json)
        print_json(app, &c, &entry, path);
    else
        print_text(app, &c, &entry, path);
    return 0;
}
