/* SPDX-License-Identifier: Apache-2.0 */
/* lpo doctor: what is here, what each missing thing costs, how to get it; and what this GPU
 * reaches. */

#include "cli/app.h"
#include "cli/command.h"
#include "cli/screen.h"
#include "gpu/calibrate.h"
#include "gpu/sheets.h"
#include "pipeline/stage.h"
#include "reference/reference.h"
#include "run/install.h"
#include "util/json_write.h"
#include "util/path.h"

#define CALIBRATION_SCHEMA "lpo.calibration/1"

static const double seconds = 1;

/* The card beside the reference of its kind: a dozen products. */
struct compared {
    struct lpo_reference_answer best[LPO_CALIBRATION_SHAPES];
    bool known[LPO_CALIBRATION_SHAPES];
    double middle; /* of time here over the best measured; NAN: no reference, or nothing measured */
};

LPO_COMPARE(by_size, double, LPO_UP_OF(*a, *b));

static struct compared compare(const struct lpo_reference *r, const struct lpo_calibration *c)
{
    struct compared all = { .middle = NAN };
    double ratios[LPO_CALIBRATION_SHAPES];
    size_t n = 0;

    for (int i = 0; r && i < LPO_CALIBRATION_SHAPES; i++) {
        const struct lpo_calibration_shape *s = &c->shapes[i];
        struct lpo_reference_work w = { LPO_REF_GEMM, .dtype = LPO_BF16, .m = s->m, .n = s->n,
                                        .k = s->k };

        all.known[i] = s->seconds > 0 && lpo_reference_best(r, &w, &all.best[i]);
        if (all.known[i])
            ratios[n++] = s->seconds * 1e6 / all.best[i].best_us;
    }
    qsort(ratios, n, sizeof *ratios, by_size);
    if (n)
        all.middle = n % 2 ? ratios[n / 2] : (ratios[n / 2 - 1] + ratios[n / 2]) / 2;
    return all;
}

static void put_shapes(struct lpo_json_writer *w, const struct lpo_calibration *c,
                       const struct compared *all)
{
    lpo_jw_array(w, "shapes");
    for (int i = 0; i < LPO_CALIBRATION_SHAPES; i++) {
        const struct lpo_calibration_shape *s = &c->shapes[i];

        if (!(s->seconds > 0))
            continue;
        lpo_jw_record(w, NULL, LPO_KV("m", s->m), LPO_KV("n", s->n), LPO_KV("k", s->k),
                      LPO_KV("us", s->seconds * 1e6),
                      LPO_KV("best_us", all->known[i] ? all->best[i].best_us : NAN));
    }
    lpo_jw_end(w);
    lpo_jw_put(w, LPO_KV("to_reference", all->middle)); /* NAN: null */
}

static void print_shapes(struct lpo_app *app, const struct lpo_calibration *c,
                         const struct compared *all)
{
    if (isnan(all->middle))
        return;
    fprintf(app->out, "bf16 products beside the best measured on such a GPU:\n");
    for (int i = 0; i < LPO_CALIBRATION_SHAPES; i++)
        if (all->known[i])
            fprintf(app->out, "  %5d x %5d x %5d  %9.2f us, best %9.2f us: %.2f times\n",
                    c->shapes[i].m, c->shapes[i].n, c->shapes[i].k, c->shapes[i].seconds * 1e6,
                    all->best[i].best_us, c->shapes[i].seconds * 1e6 / all->best[i].best_us);
    fprintf(app->out, "This card takes %.2f times as long in the median.\n", all->middle);
}

static void print_rates_json(struct lpo_app *app, const struct lpo_calibration *c,
                             const struct compared *all, const struct lpo_hardware *sheet,
                             const char *path)
{
    LPO_STR out = { 0 };
    struct lpo_json_writer w = lpo_json_writer(&out, 2);

    lpo_jw_object(&w, NULL);
    lpo_jw_put(&w, LPO_KV("schema", CALIBRATION_SCHEMA), LPO_KV("gpu", c->gpu),
               LPO_KV("entry", sheet->name), LPO_KV("written", path),
               LPO_KV("bandwidth", c->bandwidth),
               LPO_KV("sheet_bandwidth", lpo_gpu_hardware_sheet(sheet)->bandwidth));
    lpo_jw_object(&w, "flops");
    for (int t = 1; t < LPO_DTYPES; t++)
        if (c->flops[t] > 0)
            lpo_jw_put(&w, LPO_KV(lpo_dtype_name((enum lpo_dtype)t), c->flops[t]));
    lpo_jw_end(&w);
    put_shapes(&w, c, all);
    lpo_jw_end(&w);
    fputs(lpo_str_text(&out), app->out);
}

static void print_rates(struct lpo_app *app, const struct lpo_calibration *c,
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

static int calibrate(struct lpo_app *app, bool json, struct lpo_err *err)
{
    const char *const *dirs = (const char *const *)lpo_run_install_config_dirs(app->arena);
    const char *home = lpo_run_install_user_dir(app->arena), *path = NULL;
    LPO_AUTO(lpo_reference) reference = NULL;
    const char *measured;
    struct lpo_err ignored = { 0 }; /* a damaged reference is none */
    struct lpo_calibration c;
    struct lpo_hardware entry;
    struct compared all;
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
    measured = lpo_reference_path(app->arena, dirs, entry.name);
    if (measured)
        lpo_reference_load(measured, &reference, &ignored);
    all = compare(reference, &c);
    if (json) {
        print_rates_json(app, &c, &all, &entry, path);
    } else {
        print_rates(app, &c, &entry, path);
        print_shapes(app, &c, &all);
    }
    return 0;
}

#define DOCTOR_SCHEMA "lpo.doctor/1"

struct finding {
    const char *name;
    bool here;
    const char *detail; /* version, path, or what is missing */
    const char *cost;   /* what does not work without it */
    const char *remedy;
};

enum { MAX_CHECKS = 64 };

struct findings {
    struct finding at[MAX_CHECKS];
    size_t len;
};

static bool look_for_config(struct lpo_arena *a, const char **detail, const char **remedy)
{
    (void)remedy;
    *detail = lpo_run_install_find(a, "conf");
    if (!*detail)
        *detail = "the shipped config tree is not beside lpo";
    return lpo_path_is_dir(*detail);
}

/* The only thing that lpo cannot do without. */
static const struct lpo_stage_check config_check = { "config", "nothing runs",
                                                     "install lpo whole, or set LPO_CONFIG_DIR",
                                                     look_for_config };

static void check(struct lpo_arena *a, const struct lpo_stage_check *c, struct findings *out)
{
    struct finding f = { .name = c->name, .cost = c->cost, .remedy = c->remedy };

    f.here = c->look(a, &f.detail, &f.remedy);
    if (out->len < MAX_CHECKS)
        out->at[out->len++] = f;
}

/* What each stage needs is in its row: a new stage brings its checks with it. */
static void check_all(struct lpo_arena *a, struct findings *out)
{
    check(a, &config_check, out);
    for (const struct lpo_stage *const *s = lpo_pipeline_stages(); *s; s++)
        for (const struct lpo_stage_check *c = (*s)->checks; c && c->name; c++)
            check(a, c, out);
}

static void print_json(struct lpo_app *app, const struct findings *found)
{
    LPO_STR out = { 0 };
    struct lpo_json_writer w = lpo_json_writer(&out, 2);

    lpo_jw_object(&w, NULL);
    lpo_jw_put(&w, LPO_KV("schema", DOCTOR_SCHEMA));
    lpo_jw_array(&w, "checks");
    for (size_t i = 0; i < found->len; i++) {
        const struct finding *f = &found->at[i];

        lpo_jw_record(&w, NULL, LPO_KV("name", f->name), LPO_KV("here", f->here),
                      LPO_KV("detail", f->detail), LPO_KV("cost", f->here ? NULL : f->cost),
                      LPO_KV("remedy", f->here ? NULL : f->remedy));
    }
    lpo_jw_end(&w);
    lpo_jw_end(&w);
    fputs(lpo_str_text(&out), app->out);
}

static void print_text(struct lpo_app *app, const struct findings *found)
{
    for (size_t i = 0; i < found->len; i++) {
        const struct finding *f = &found->at[i];

        fprintf(app->out, "%-10s %s  ", f->name, f->here ? "yes" : "no ");
        lpo_cli_print_wrapped(app, f->detail, 16);
        if (f->here)
            continue;
        fprintf(app->out, "%15swithout it: ", "");
        lpo_cli_print_wrapped(app, f->cost, 27);
        fprintf(app->out, "%15sto get it:  ", "");
        lpo_cli_print_wrapped(app, f->remedy, 27);
    }
}

static int doctor_run(struct lpo_app *app, const struct lpo_args *args, struct lpo_err *err)
{
    struct findings found = { .len = 0 };

    if (args->nwords)
        return lpo_fail(err, LPO_E_USAGE, "doctor takes no arguments, but got '%s'",
                        args->words[0]);
    if (lpo_cli_args_has(args, "calibrate"))
        return calibrate(app, lpo_cli_args_has(args, "json"), err);
    check_all(app->arena, &found);
    if (lpo_cli_args_has(args, "json"))
        print_json(app, &found);
    else
        print_text(app, &found);
    return found.at[0].here ? 0 : 3; /* only the config tree is indispensable */
}

static const struct lpo_option options[] = {
    { "json", 0, LPO_OPT_FLAG, NULL, "print JSON" },
    { "calibrate", 0, LPO_OPT_FLAG, NULL,
      "measure this GPU's copy and matrix rate, and keep them" },
    { 0 },
};

const struct lpo_command lpo_cli_cmd_doctor = {
    .name = "doctor",
    .summary = "which tools, permissions and libraries are here, what each missing one costs",
    .usage = "[--json] [--calibrate]",
    .options = options,
    .run = doctor_run,
};
