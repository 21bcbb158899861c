/* SPDX-License-Identifier: Apache-2.0 */
/* lpo kernels: the hardware counters of a few kernels of any program, and what holds each back.
 * First command.yaml of one kernel, enough to know what was measured, on what, and to do it again;
 * then kernel after kernel and the summary; then the command. */
#include <time.h>

#include "cli/app.h"
#include "cli/command.h"
#include "cli/run/job.h"
#include "cli/trace_options.h"
#include "gpu/driver.h"
#include "hydra/compose.h"
#include "pipeline/ncu/command.h"
#include "pipeline/ncu/kernels.h"
#include "pipeline/pipeline.h"
#include "pipeline/stage.h"
#include "report/doc/doc.h"
#include "report/profiled_kernels.h"
#include "run/child/interrupt.h"
#include "run/child/supervise.h"
#include "run/folder.h"
#include "run/provenance.h"
#include "run/secrets/secrets.h"
#include "rundir/read.h"
#include "util/file.h"
#include "util/path.h"
#include "util/units.h"
#include "writer/writer.h"

/* What the command line asks for. */
struct kernels_job {
    const struct lpo_job *job; /* config, with the options of the command line in it, and workload;
                                  run_dir is the folder wanted */
    struct lpo_node *flags;    /* of that config: what ncu is started with */
    const char *ncu;           /* the program */
    bool per_config;           /* launches are counted per (kernel, grid, block) */
    bool old_layout;           /* folders and command.yaml as ncu-profile-kernels made them */
    const char *list;          /* --kernel-config; NULL: --kernel-regex */
    size_t most;               /* --topk; 0: all */
    struct lpo_wanted_kernels wanted;
};

/* The same for every kernel of one call. */
struct facts {
    const struct kernels_job *k;
    const struct lpo_gpus *gpus;
    const char *ncu_version; /* NULL unknown */
};

/* What became of one. */
struct outcome_of {
    const struct lpo_wanted_kernel *kernel;
    const struct lpo_step *step;
    const struct lpo_result *result;
    const struct lpo_kernel_outcome *outcome;
};

static const char *now_text(struct lpo_arena *a)
{
    time_t now = time(NULL);
    char text[32];
    struct tm tm;

    gmtime_r(&now, &tm);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
    return lpo_arena_strdup(a, text);
}

static void set_text(struct lpo_arena *a, struct lpo_node *map, const char *key, const char *text)
{
    lpo_node_set(a, map, key, text ? lpo_node_string(a, text) : lpo_node_null(a));
}

static void set_copy(struct lpo_arena *a, struct lpo_node *map, const char *key,
                     const struct lpo_node *from)
{
    lpo_node_set(a, map, key, from ? lpo_node_clone(a, from) : lpo_node_null(a));
}

static struct lpo_node *words_node(struct lpo_arena *a, const char *const *words)
{
    struct lpo_node *list = lpo_node_list(a);

    for (; words && *words; words++)
        lpo_node_push(a, list, lpo_node_string(a, *words));
    return list;
}

static struct lpo_node *gpus_node(struct lpo_arena *a, const struct facts *f)
{
    struct lpo_node *list = lpo_node_list(a);

    for (size_t i = 0; i < f->gpus->len; i++)
        lpo_node_push(a, list, lpo_node_string(a, f->gpus->at[i].name));
    return list;
}

static struct lpo_node *ncu_node(struct lpo_arena *a, const struct facts *f)
{
    static const char *const keys[] = {
        "set",          "sections",    "metrics",         "launch_skip",
        "launch_count", "replay_mode", "kernel_name_base"
    };
    struct lpo_node *map = lpo_node_map(a);

    set_text(a, map, "program", f->k->ncu);
    set_text(a, map, "version", f->ncu_version);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        set_copy(a, map, keys[i], lpo_node_get(f->k->flags, keys[i]));
    lpo_node_set(a, map, "per_config", lpo_node_bool(a, f->k->per_config));
    return map;
}

static int write_record(struct lpo_arena *a, struct lpo_node *map, const char *dir,
                        struct lpo_err *err)
{
    LPO_STR text = { 0 };

    lpo_yaml_add(&text, lpo_secrets_mask_config(a, map, NULL));
    return lpo_file_write(lpo_path_join(a, dir, "command.yaml"), text.at, text.len, err);
}

static int record_call(struct lpo_arena *a, const struct facts *f, const char *dir,
                       struct lpo_err *err)
{
    const struct kernels_job *k = f->k;
    struct lpo_node *map = lpo_node_map(a);

    set_text(a, map, "timestamp", now_text(a));
    set_text(a, map, "script", "lpo kernels");
    set_text(a, map, "version", LPO_VERSION);
    set_text(a, map, "output_dir", dir);
    set_text(a, map, "kernel_source", k->list ? "yaml_config" : "single_regex");
    set_copy(a, map, "launch_skip", lpo_node_get(k->flags, "launch_skip"));
    set_copy(a, map, "launch_count", lpo_node_get(k->flags, "launch_count"));
    set_copy(a, map, "sections", lpo_node_get(k->flags, "sections"));
    set_copy(a, map, "launch_command", lpo_node_at(k->job->config, "workload.argv"));
    set_text(a, map, k->list ? "kernel_config" : "kernel_regex",
             k->list ? k->list : k->wanted.at[0].regex);
    if (k->most)
        lpo_node_set(a, map, "topk", lpo_node_int(a, (int64_t)k->most));
    set_text(a, map, "ncu_version", f->ncu_version);
    return write_record(a, map, dir, err);
}

static int record_kernel(struct lpo_arena *a, const struct facts *f, const struct outcome_of *end,
                         const char *dir, struct lpo_err *err)
{
    struct lpo_node *map = lpo_node_map(a);
    LPO_STR how = { 0 };

    lpo_run_result_describe(end->result, end->step, &how);
    set_text(a, map, "date", now_text(a));
    set_text(a, map, "lpo", LPO_VERSION);
    set_text(a, map, "kernel", end->kernel->name);
    set_text(a, map, "regex", end->kernel->regex);
    set_text(a, map, "name_base", end->kernel->base);
    set_copy(a, map, "program", lpo_node_at(f->k->job->config, "workload.argv"));
    set_text(a, map, "folder", end->step->cwd);
    lpo_node_set(a, map, "ncu", ncu_node(a, f));
    set_text(a, map, "driver", f->gpus->driver);
    lpo_node_set(a, map, "gpus", gpus_node(a, f));
    lpo_node_set(a, map, "command", words_node(a, end->step->argv));
    set_text(a, map, "outcome", lpo_report_kernel_state_name(end->outcome->state));
    set_text(a, map, "message", end->outcome->message);
    set_text(a, map, "ended", lpo_str_text(&how));
    lpo_node_set(a, map, "wall_ns", lpo_node_int(a, end->result->wall_ns));
    return write_record(a, map, dir, err);
}

struct session {
    const struct kernels_job *k;
    struct lpo_arena *arena;
    struct lpo_progress *progress;
    struct lpo_watch watch;
    struct lpo_gpus gpus;
    struct lpo_run_folder folder;
    struct lpo_kernel_summary summary;
    struct lpo_kernel_outcome *outcomes;
    bool failed, missing, stop, interrupted;
};

static struct lpo_stage_ctx make_ctx(struct lpo_arena *a, const struct kernels_job *k,
                                     const char *out, size_t i, bool dry_run)
{
    const char *dir = lpo_path_join(
        a, out, lpo_pipeline_ncu_kernel_folder(a, i + 1, &k->wanted.at[i], k->old_layout));

    struct lpo_stage_ctx ctx = {
        .arena = a,
        .config = k->job->config,
        .run_dir = out,
        .dir = dir,
        .workload_dir = dir,
        .call_dir = k->job->chdir ? dir : k->job->call_dir,
        .dry_run = dry_run,
    };

    lpo_pipeline_stage_read_settings(&lpo_pipeline_ncu, &ctx);
    return ctx;
}

static int show_commands(struct lpo_app *app, const struct kernels_job *k, struct lpo_str *out,
                         struct lpo_err *err)
{
    struct lpo_arena *a = app->arena;
    const char *folder = lpo_path_absolute(a, k->job->run_dir);

    for (size_t i = 0; i < k->wanted.len; i++) {
        struct lpo_stage_ctx ctx = make_ctx(a, k, folder, i, true);
        struct lpo_steps steps = { .arena = a };

        if (lpo_pipeline_ncu_kernel_plan(&ctx, k->ncu, k->per_config, &k->wanted.at[i], &steps,
                                         err) < 0)
            return err->code;
        lpo_pipeline_ncu_kernel_plan_tables(&ctx, k->ncu, &steps);
        for (size_t s = 0; s < steps.len; s++) {
            lpo_str_addf(out, "# kernel %zu: %s\n", i + 1, steps.at[s].label);
            lpo_run_step_print(&steps.at[s], out);
        }
    }
    return 0;
}

static const char *joined(struct lpo_arena *a, const char *first, const char *second)
{
    return first && second ? lpo_arena_printf(a, "%s; %s", first, second) : first ? first : second;
}

static int run_step(struct session *s, const struct lpo_step *step, struct lpo_result *r,
                    struct lpo_err *err)
{
    LPO_STR text = { 0 };

    if (step->cmd_path) {
        lpo_run_step_print(step, &text);
        if (lpo_file_write(step->cmd_path, text.at, text.len, err) < 0)
            return err->code;
    }
    return lpo_run_supervise(step, &s->watch, r, err);
}

static const char *name_base_of(const struct lpo_node *flags)
{
    const struct lpo_node *n = lpo_node_get(flags, "kernel_name_base");

    return n && n->kind == LPO_NODE_STRING ? n->text : NULL;
}

/* What became of the capture; the report may be there although something went wrong. */
static void judge(struct session *s, const struct lpo_stage_ctx *ctx,
                  const struct lpo_wanted_kernel *kernel, const struct lpo_step *step,
                  const struct lpo_result *r, struct lpo_kernel_outcome *o)
{
    const struct lpo_tool_message *m;
    const char *log = lpo_path_join(s->arena, ctx->dir, LPO_KERNEL_LOG);
    bool made = lpo_path_exists(lpo_path_join(s->arena, ctx->dir, LPO_KERNEL_REPORT));
    const char *base = kernel->base ? kernel->base : name_base_of(s->k->flags);
    bool ended_well = r->end == LPO_END_EXIT && r->code == 0;

    o->message = lpo_pipeline_ncu_problem(s->arena, log, step, r, &m);
    s->interrupted = r->end == LPO_END_INTERRUPTED || lpo_run_supervise_interrupted();
    if (made && ended_well) {
        o->state = LPO_KERNEL_DONE;
    } else if (!made && ended_well && (!m || (m->what & LPO_TOOL_FILTERED))) {
        o->state = LPO_KERNEL_NO_MATCH;
        o->message =
            lpo_arena_printf(s->arena,
                             "no launch matched '%s' (compared with %s names); 'lpo top' lists the "
                             "kernels of a trace",
                             kernel->regex, base ? base : "function");
    } else {
        o->state = LPO_KERNEL_FAILED;
        s->failed = true;
        s->missing |= m && (m->what & LPO_TOOL_MISSING);
        s->stop |= m && (m->what & LPO_TOOL_FATAL);
    }
    if (kernel->merged && made)
        o->message = joined(
            s->arena, o->message,
            lpo_arena_printf(s->arena, "%u more rows of the list are the same", kernel->merged));
}

static int read_profiles(struct session *s, const char *path, struct lpo_kernel_profiles *out,
                         struct lpo_err *err)
{
    LPO_AUTO(lpo_trace) t = lpo_trace_create();

    if (lpo_rundir_read_trace(path, s->k->ncu, t, err) < 0)
        return err->code;
    *out = lpo_counters_kernel_profiles(s->arena, t);
    return 0;
}

/* The CSVs, and our own reading of the report. Neither can turn a capture into a failure. */
static int read_report(struct session *s, struct lpo_stage_ctx *ctx,
                       const struct lpo_wanted_kernel *kernel, struct lpo_kernel_outcome *o,
                       struct lpo_err *err)
{
    const char *other = NULL;
    struct lpo_arena *a = s->arena;
    struct lpo_steps steps = { .arena = a };
    struct lpo_err why = { 0 };

    lpo_pipeline_ncu_kernel_plan_tables(ctx, s->k->ncu, &steps);
    for (size_t i = 0; i < steps.len && !s->interrupted; i++) {
        struct lpo_result r = { 0 };

        if (run_step(s, &steps.at[i], &r, err) < 0)
            return err->code;
        s->interrupted = r.end == LPO_END_INTERRUPTED;
        if (lpo_pipeline_stage_judge(&steps.at[i], &r, &why) < 0)
            o->message = joined(a, o->message, lpo_arena_strdup(a, lpo_err_cause(&why)));
    }
    if (read_profiles(s, lpo_path_join(a, ctx->dir, LPO_KERNEL_REPORT), &o->profiles, &why) < 0 &&
        read_profiles(s, lpo_path_join(a, ctx->dir, LPO_KERNEL_DETAILS), &o->profiles, &why) < 0)
        o->message = joined(a, o->message, lpo_arena_strdup(a, lpo_err_cause(&why)));
    lpo_pipeline_ncu_kernel_keep(a, kernel, &o->profiles, &other);
    if (other) {
        o->state = LPO_KERNEL_NO_MATCH;
        o->message = joined(a, other, o->message);
    }
    return 0;
}

static int run_kernel(struct session *s, size_t i, struct lpo_err *err)
{
    const struct lpo_wanted_kernel *kernel = &s->k->wanted.at[i];
    struct lpo_kernel_outcome *o = &s->outcomes[i];
    struct lpo_stage_ctx ctx = make_ctx(s->arena, s->k, s->summary.folder, i, false);
    struct lpo_steps steps = { .arena = s->arena };
    struct lpo_result r = { 0 };
    int rc = lpo_file_make_dirs(ctx.dir, err);

    if (rc == 0)
        rc = lpo_pipeline_ncu_kernel_plan(&ctx, s->k->ncu, s->k->per_config, kernel, &steps, err);
    if (rc == 0)
        rc = lpo_pipeline_stage_prepare_workload(&ctx, err);
    if (rc == 0)
        rc = run_step(s, &steps.at[0], &r, err);
    if (rc < 0)
        return rc;
    judge(s, &ctx, kernel, &steps.at[0], &r, o);
    if (lpo_path_exists(lpo_path_join(s->arena, ctx.dir, LPO_KERNEL_REPORT)) && !s->interrupted)
        rc = read_report(s, &ctx, kernel, o, err);
    if (rc == 0)
        rc = record_kernel(s->arena, &(struct facts){ s->k, &s->gpus, s->summary.ncu },
                           &(struct outcome_of){ kernel, &steps.at[0], &r, o }, ctx.dir, err);
    return rc;
}

/* --- all ------------------------------------------------------------------------------------ */

static const char *program_text(struct lpo_arena *a, const struct lpo_node *config)
{
    struct lpo_settings_words argv = lpo_settings_list(a, config, "workload.argv");
    LPO_STR text = { 0 };

    lpo_secrets_add_command(&text, (const char *const *)argv.at, argv.len);
    return text.len ? lpo_arena_strdup(a, lpo_str_text(&text))
                    : lpo_settings_text(config, "workload.kind");
}

static int begin(struct session *s, struct lpo_err *err)
{
    struct lpo_arena *a = s->arena;

    if (lpo_run_supervise_begin(err) < 0)
        return err->code;
    lpo_run_interrupt_arm(NULL); /* the folder of each kernel is kept as it is */
    if (lpo_run_folder_begin(a, s->k->job->run_dir, &s->folder, err) < 0 ||
        lpo_run_folder_publish(a, &s->folder, err) < 0) {
        lpo_run_folder_close(&s->folder);
        return lpo_ctx(err, "cannot make the output folder; give another with --output");
    }
    s->summary.folder = s->folder.dir; /* locked until lpo ends */
    lpo_gpu_list(a, &s->gpus);
    s->summary.program = program_text(a, s->k->job->config);
    s->summary.ncu = lpo_run_provenance_version(a, s->k->ncu);
    s->summary.gpu = s->gpus.len ? s->gpus.at[0].name : NULL;
    s->summary.len = s->k->wanted.len;
    s->outcomes = lpo_arena_array(a, s->k->wanted.len, sizeof *s->outcomes);
    s->summary.at = s->outcomes;
    for (size_t i = 0; i < s->k->wanted.len; i++)
        s->outcomes[i] = (struct lpo_kernel_outcome){
            .name = s->k->wanted.at[i].name,
            .regex = s->k->wanted.at[i].regex,
            .folder =
                lpo_pipeline_ncu_kernel_folder(a, i + 1, &s->k->wanted.at[i], s->k->old_layout),
        };
    return 0;
}

static int write_summary(struct session *s, struct lpo_app *app, bool json, struct lpo_err *err)
{
    LPO_AUTO(lpo_doc) doc = lpo_report_kernel_summary_doc(&s->summary);
    LPO_STR text = { 0 };

    lpo_writer_json.write(doc, &text);
    if (lpo_writer_write(doc, &lpo_writer_md,
                         lpo_path_join(s->arena, s->summary.folder, "summary.md"), err) < 0 ||
        lpo_run_folder_write(s->summary.folder, "summary.json", text.at, text.len, err) < 0)
        return err->code;
    if (json)
        fwrite(text.at, 1, text.len, app->out);
    else
        lpo_cli_print_doc(app, doc, &lpo_writer_text);
    lpo_cli_progress_say(s->progress, "written to %s", s->summary.folder);
    return 0;
}

static int exit_code(const struct session *s)
{
    size_t done = 0;

    for (size_t i = 0; i < s->summary.len; i++)
        done += s->outcomes[i].state == LPO_KERNEL_DONE;
    if (s->interrupted)
        return 130;
    return s->missing ? 3 : s->failed || done == 0 ? 1 : 0;
}

static int run_kernels(struct lpo_app *app, const struct kernels_job *k,
                       struct lpo_progress *progress, bool json, struct lpo_err *err)
{
    struct lpo_pipeline_events events = lpo_cli_progress_events(progress);
    struct session s = {
        .k = k,
        .arena = app->arena,
        .progress = progress,
        .watch = { .tick = events.tick,
                   .ctx = events.ctx,
                   .self_path = lpo_run_guard_program(app->arena) },
    };

    s.watch.grace_ns = lpo_settings_duration_ns(k->job->config, "run.grace");
    if (begin(&s, err) < 0 ||
        (k->old_layout && record_call(s.arena, &(struct facts){ k, &s.gpus, s.summary.ncu },
                                      s.summary.folder, err) < 0))
        return err->code;
    for (size_t i = 0; i < k->wanted.len && !s.stop && !s.interrupted; i++) {
        lpo_cli_progress_say(progress, "kernel %zu of %zu: %s", i + 1, k->wanted.len,
                             k->wanted.at[i].name);
        if (run_kernel(&s, i, err) < 0)
            return err->code;
    }
    if (write_summary(&s, app, json, err) < 0)
        return err->code;
    return exit_code(&s);
}

static const struct lpo_option options[] = {
    { "kernel-regex", 'k', LPO_OPT_LIST, "REGEX",
      "kernels whose function name matches; repeatable" },
    { "kernel-config", 'c', LPO_OPT_TEXT, "FILE", "the list that `lpo top -o FILE` writes" },
    { "topk", 'n', LPO_OPT_TEXT, "N", "only the first N of that list (default, and 0: all)" },
    { "set", 0, LPO_OPT_TEXT, "NAME", "a set of ncu instead of the preset's sections" },
    { "section", 0, LPO_OPT_LIST, "NAME", "these sections instead of the preset's; repeatable" },
    { "extra-section", 0, LPO_OPT_LIST, "NAME", "a section besides; repeatable" },
    { "metrics", 0, LPO_OPT_TEXT, "LIST",
      "additional metrics, separated by commas; default: none" },
    { "kernel-name-base", 0, LPO_OPT_TEXT, "BASE",
      "compare with function, demangled or mangled names; default: what the regex can fit" },
    { "launch-skip", 0, LPO_OPT_TEXT, "N", "matching launches to skip first; default: 0" },
    { "launch-count", 0, LPO_OPT_TEXT, "N", "matching launches to measure; default: 1" },
    { "per-config", 0, LPO_OPT_FLAG, NULL, "count launches per (kernel, grid, block)" },
    { "output", 'o', LPO_OPT_TEXT, "DIR", "the folder to write; default: tmp/kernels/<time>" },
    { "old-layout", 0, LPO_OPT_FLAG, NULL,
      "folders kernel_NNNN_<MD5> and a command.yaml, as ncu-profile-kernels" },
    { "ncu", 0, LPO_OPT_TEXT, "PROGRAM", "Nsight Compute, by name or path; default: ncu" },
    { "json", 0, LPO_OPT_FLAG, NULL, "the summary as JSON on stdout" },
    { "dry-run", 0, LPO_OPT_FLAG, NULL, "print each command that would be started; run nothing" },
    { "quiet", 'q', LPO_OPT_FLAG, NULL, "no progress on stderr" },
    LPO_CONFIG_OPTIONS,
    { NULL, 0, LPO_OPT_FLAG, NULL, NULL },
};

static int check_usage(const struct lpo_args *args, struct lpo_err *err)
{
    bool workload = false;

    for (size_t i = 0; i < args->nwords; i++)
        workload |= lpo_str_starts(args->words[i], "workload");
    if (args->rest ? args->nrest == 0 : !workload)
        return lpo_fail(err, LPO_E_USAGE,
                        "which program? usage: lpo kernels --kernel-regex R -- program args…");
    if (!*lpo_cli_args_list(args, "kernel-regex") && !lpo_cli_args_has(args, "kernel-config"))
        return lpo_fail(err, LPO_E_USAGE,
                        "which kernels? --kernel-regex R, or --kernel-config FILE as 'lpo top -o "
                        "FILE' writes it");
    if (lpo_cli_args_has(args, "topk") && !lpo_cli_args_has(args, "kernel-config"))
        return lpo_fail(err, LPO_E_USAGE, "--topk takes the first of --kernel-config");
    return 0;
}

static int read_wanted(struct lpo_app *app, const struct lpo_args *args, struct kernels_job *k,
                       struct lpo_err *err)
{
    struct lpo_wanted_kernels *out = &k->wanted;
    const char *file = lpo_cli_args_text(args, "kernel-config", NULL);

    out->base = lpo_cli_args_text(args, "kernel-name-base", NULL);
    if (out->base && strcmp(out->base, "function") != 0 && strcmp(out->base, "demangled") != 0 &&
        strcmp(out->base, "mangled") != 0)
        return lpo_fail(err, LPO_E_USAGE,
                        "--kernel-name-base is function, demangled or mangled, not '%s'",
                        out->base);
    for (const char *const *r = lpo_cli_args_list(args, "kernel-regex"); *r; r++)
        if (lpo_pipeline_ncu_wanted_add(app->arena, out, &(struct lpo_wanted_kernel){ .regex = *r },
                                        err) < 0)
            return lpo_ctx(err, "--kernel-regex");
    if (lpo_cli_count_from_args(args, "topk", 0, &k->most, err) < 0)
        return err->code;
    if (file && lpo_pipeline_ncu_wanted_read(app->arena, out, file, k->most, err) < 0)
        return lpo_ctx(err, "--kernel-config");
    return 0;
}

/* The preset decides, except for what a standalone look does otherwise. First in the list, so that
 * what the user writes has the last word. */
static const char **overrides_of(struct lpo_arena *a, const struct lpo_args *args)
{
    const char *const *own = lpo_pipeline_ncu_kernel_overrides();
    const char **all;
    size_t n = 0;

    while (own[n])
        n++;
    all = lpo_arena_array(a, 1 + n + args->nwords + 1, sizeof *all);
    all[0] = "hydra.run.dir=tmp/kernels/${now:%Y%m%d-%H%M%S}";
    for (size_t i = 0; i < n; i++)
        all[1 + i] = own[i];
    for (size_t i = 0; i < args->nwords; i++)
        all[1 + n + i] = args->words[i];
    return all;
}

static int set_count(struct lpo_arena *a, struct lpo_node *cli, const struct lpo_args *args,
                     const char *option, const char *key, struct lpo_err *err)
{
    size_t n = 0;

    if (!lpo_cli_args_has(args, option))
        return 0;
    if (lpo_cli_count_from_args(args, option, 0, &n, err) < 0)
        return err->code;
    lpo_node_set(a, cli, key, lpo_node_int(a, (int64_t)n));
    return 0;
}

static void add_sections(struct lpo_arena *a, struct lpo_node *cli, const struct lpo_args *args)
{
    struct lpo_node *there = lpo_node_get(cli, "sections");

    for (const char *const *s = lpo_cli_args_list(args, "extra-section"); *s; s++) {
        if (!there || there->kind != LPO_NODE_LIST) {
            there = lpo_node_list(a);
            lpo_node_set(a, cli, "sections", there);
        }
        lpo_node_push(a, there, lpo_node_string(a, *s));
    }
}

static int set_options(struct lpo_arena *a, struct lpo_node *cli, const struct lpo_args *args,
                       struct lpo_err *err)
{
    const char *const *sections = lpo_cli_args_list(args, "section");
    const char *set = lpo_cli_args_text(args, "set", NULL);
    const char *metrics = lpo_cli_args_text(args, "metrics", NULL);
    struct lpo_node *list = lpo_node_list(a);

    for (; *sections; sections++)
        lpo_node_push(a, list, lpo_node_string(a, *sections));
    if (list->count || set) /* what is asked for, and not the preset's choice besides */
        lpo_node_set(a, cli, "sections", list);
    add_sections(a, cli, args);
    if (set)
        lpo_node_set(a, cli, "set", lpo_node_string(a, set));
    if (metrics)
        lpo_node_set(a, cli, "metrics", lpo_node_string(a, metrics));
    if (set_count(a, cli, args, "launch-skip", "launch_skip", err) < 0 ||
        set_count(a, cli, args, "launch-count", "launch_count", err) < 0)
        return err->code;
    return 0;
}

static int find_ncu(struct lpo_app *app, const struct lpo_args *args, const struct lpo_job *job,
                    const char **out, struct lpo_err *err)
{
    const char *name = lpo_cli_args_text(args, "ncu", NULL);

    if (!name)
        name = lpo_settings_text(job->config, lpo_pipeline_ncu.program);
    *out = lpo_path_which(app->arena, name);
    if (!*out && lpo_cli_args_has(args, "dry-run"))
        *out = name; /* the command is shown even where the tool is not */
    if (!*out)
        return lpo_fail(err, LPO_E_MISSING,
                        "'%s' is not on PATH; give its path with --ncu. 'lpo doctor' says how to "
                        "get it",
                        name);
    return 0;
}

static int make_job(struct lpo_app *app, const struct lpo_args *args, struct lpo_job *job,
                    struct kernels_job *k, struct lpo_err *err)
{
    const char *const *program = (const char *const *)args->rest;
    struct lpo_node *config;

    if (check_usage(args, err) < 0 || read_wanted(app, args, k, err) < 0 ||
        lpo_cli_job_compose(app, args, overrides_of(app->arena, args), program, -1, job, err) < 0 ||
        find_ncu(app, args, job, &k->ncu, err) < 0)
        return err->code;
    job->run_dir = lpo_cli_args_text(args, "output", job->run_dir);
    config = lpo_node_clone(app->arena, job->config);
    job->config = config;
    k->job = job;
    k->list = lpo_cli_args_text(args, "kernel-config", NULL);
    k->old_layout = lpo_cli_args_has(args, "old-layout");
    k->per_config = lpo_cli_args_has(args, "per-config");
    k->flags = lpo_pipeline_ncu_kernel_flags(app->arena, config);
    return set_options(app->arena, k->flags, args, err);
}

static int run(struct lpo_app *app, const struct lpo_args *args, struct lpo_err *err)
{
    struct kernels_job k = { 0 };
    struct lpo_progress progress;
    struct lpo_job job = { 0 };
    LPO_STR plan = { 0 };

    if (make_job(app, args, &job, &k, err) < 0)
        return err->code;
    if (lpo_cli_args_has(args, "dry-run")) {
        if (show_commands(app, &k, &plan, err) < 0)
            return err->code;
        fwrite(lpo_str_text(&plan), 1, plan.len, app->out);
        return 0;
    }
    lpo_cli_progress_init(&progress, app->screen, lpo_cli_args_has(args, "quiet"));
    return run_kernels(app, &k, &progress, lpo_cli_args_has(args, "json"), err);
}

const struct lpo_command lpo_cli_cmd_kernels = {
    .name = "kernels",
    .summary = "hardware counters of chosen kernels of any program, and what holds each back",
    .usage = "[--kernel-regex R | --kernel-config FILE [--topk N]] [override…] -- program args…",
    .about = "  lpo kernels --kernel-regex 'flash_fwd.*' -- ./bench --size 2048\n"
             "  lpo top trace.json.gz -o top.yaml\n"
             "  lpo kernels --kernel-config top.yaml --topk 5 -- python generate.py",
    .options = options,
    .run = run,
};
