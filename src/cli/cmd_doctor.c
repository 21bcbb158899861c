/* SPDX-License-Identifier: Apache-2.0 */
/* lpo doctor: what is here, what each missing thing costs, how to get it. */
#include "cli/app.h"
#include "cli/command.h"
#include "cli/doctor_calibrate.h"
#include "pipeline/stage.h"
#include "run/install.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/json_write.h"
#include "util/path.h"
#include "util/str.h"

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
    lpo_jw_text(&w, "schema", DOCTOR_SCHEMA);
    lpo_jw_array(&w, "checks");
    for (size_t i = 0; i < found->len; i++) {
        const struct finding *f = &found->at[i];

        lpo_jw_object(&w, NULL);
        lpo_jw_text(&w, "name", f->name);
        lpo_jw_bool(&w, "here", f->here);
        lpo_jw_text(&w, "detail", f->detail);
        lpo_jw_text(&w, "cost", f->here ? NULL : f->cost);
        lpo_jw_text(&w, "remedy", f->here ? NULL : f->remedy);
        lpo_jw_end(&w);
    }
    lpo_jw_end(&w);
    lpo_jw_end(&w);
    fputs(lpo_str_text(&out), app->out);
}

static void print_text(struct lpo_app *app, const struct findings *found)
{
    for (size_t i = 0; i < found->len; i++) {
        const struct finding *f = &found->at[i];

        fprintf(app->out, "%-10s %s  %s\n", f->name, f->here ? "yes" : "no ", f->detail);
        if (!f->here)
            fprintf(app->out, "%15swithout it: %s\n%15sto get it:  %s\n", "", f->cost, "",
                    f->remedy);
    }
}

static int doctor_run(struct lpo_app *app, const struct lpo_args *args, struct lpo_err *err)
{
    struct findings found = { .len = 0 };

    if (args->nwords)
        return lpo_fail(err, LPO_E_USAGE, "doctor takes no arguments, but got '%s'",
                        args->words[0]);
    if (lpo_cli_args_has(args, "calibrate"))
        return lpo_cli_doctor_calibrate(app, lpo_cli_args_has(args, "json"), err);
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
