/* SPDX-License-Identifier: Apache-2.0 */
#include <glob.h>
#include <unistd.h>

#include "pipeline/nsys/command.h"
#include "pipeline/stage.h"
#include "run/child/supervise.h"
#include "run/folder.h"
#include "run/server/server.h"
#include "rundir/rundir.h"
#include "trace/trace.h"
#include "util/file.h"
#include "util/path.h"

/* --- the parts of an installation ---------------------------------------------------------------
 */

enum { MAX_LINKS = 16 };

static const int64_t ask_limit_ns = 30000000000;

static const struct {
    const char *now, *before;
} names[] = {
    { "cuda_gpu_kern_sum", "gpukernsum" },
    { "cuda_api_sum", "cudaapisum" },
    { "nvtx_sum", "nvtxsum" },
    { "nvtx_kern_sum", "nvtxkernsum" },
    { "nvtx_gpu_proj_trace", "nvtxgpuproj" },
    { "cuda_gpu_trace", "gputrace" },
    { "nvtx_pushpop_sum", "nvtxppsum" },
    { "nvtx_pushpop_trace", "nvtxpptrace" },
    { "cuda_gpu_mem_time_sum", "gpumemtimesum" },
    { "osrt_sum", "osrtsum" },
};

/* The name itself when it has no older one. */
static const char *old_name(const char *report)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].now, report) == 0)
            return names[i].before;
    return report;
}

/* Versions before 2023 call their reports gpukernsum, nvtxsum, … */
static bool has_old_names(struct lpo_arena *a, const char *nsys)
{
    const char *const argv[] = { nsys, "--version", NULL };
    LPO_STR out = { 0 };
    const char *at;

    (void)a;
    if (lpo_run_capture(argv, ask_limit_ns, &out, NULL) < 0)
        return false;
    at = strstr(lpo_str_text(&out), "version ");
    return at && atoi(at + 8) > 0 && atoi(at + 8) < 2023;
}

/* <root>/target-linux-x64/nsys and <root>/host-…/QdstrmImporter */
static const char *importer_beside(struct lpo_arena *a, const char *nsys)
{
    const char *root = lpo_path_dir(a, lpo_path_dir(a, nsys)), *found = NULL;
    glob_t g = { 0 };

    if (glob(lpo_path_join(a, root, "*/QdstrmImporter"), 0, NULL, &g) == 0)
        found = lpo_arena_strdup(a, g.gl_pathv[0]);
    globfree(&g);
    return found;
}

/* Debian keeps the two parts in two trees: /usr/bin/nsys is a link into the host's, which holds a
 * link into the target's. So every stop on the way is looked at. */
const char *lpo_pipeline_nsys_importer(struct lpo_arena *a, const char *nsys)
{
    const char *at = lpo_path_absolute(a, nsys);

    for (int i = 0; i < MAX_LINKS; i++) {
        const char *found = importer_beside(a, at);
        char to[4096];
        ssize_t n = found ? -1 : readlink(at, to, sizeof to - 1);

        if (n < 0)
            return found;
        to[n] = 0;
        at = lpo_path_join(a, lpo_path_dir(a, at), to);
    }
    return NULL;
}

/* Why the importer does not start: names the missing library. Returns the error. */
static int explain_importer(struct lpo_arena *a, const char *nsys, struct lpo_err *err)
{
    const char *importer = lpo_pipeline_nsys_importer(a, nsys);
    const char *const argv[] = { "ldd", importer ? importer : "", NULL };
    const char *missing;
    LPO_STR out = { 0 };

    if (!importer)
        return lpo_fail(
            err, LPO_E_MISSING,
            "nsys left only a .qdstrm and its QdstrmImporter was not found beside '%s'; "
            "install the host part of Nsight Systems and import the file there",
            nsys);
    if (lpo_run_capture(argv, ask_limit_ns, &out, NULL) == 0 &&
        (missing = strstr(lpo_str_text(&out), "=> not found"))) {
        const char *line = missing;

        while (line > out.at && line[-1] != '\n')
            line--;
        line += strspn(line, " \t");
        return lpo_fail(
            err, LPO_E_MISSING,
            "nsys left only a .qdstrm: its importer needs the library %.*s, which is not "
            "here; install it or put it on LD_LIBRARY_PATH, then lpo run --resume",
            (int)strcspn(line, " "), line);
    }
    return lpo_fail(err, LPO_E_CHILD,
                    "nsys left only a .qdstrm and '%s' could not import it; see import.err.log",
                    importer);
}

/* --- the stage ----------------------------------------------------------------------------------
 */

static const struct lpo_settings_field fields[] = {
    LPO_SETTING(lpo_nsys_settings, trace, LPO_S_WORDS, "pipeline.nsys.trace"),
    LPO_SETTING(lpo_nsys_settings, sample, LPO_S_TEXT, "pipeline.nsys.sample"),
    LPO_SETTING(lpo_nsys_settings, cpuctxsw, LPO_S_TEXT, "pipeline.nsys.cpuctxsw"),
    LPO_SETTING(lpo_nsys_settings, gating_nvtx, LPO_S_BOOL, "pipeline.nsys.gating_nvtx"),
    LPO_SETTING(lpo_nsys_settings, capture_range, LPO_S_TEXT, "pipeline.nsys.capture_range"),
    LPO_SETTING(lpo_nsys_settings, nvtx_capture, LPO_S_TEXT, "pipeline.nsys.nvtx_capture"),
    LPO_SETTING(lpo_nsys_settings, capture_range_end, LPO_S_TEXT,
                "pipeline.nsys.capture_range_end"),
    LPO_CAPTURE_WORDS(lpo_nsys_settings, "nsys"),
    LPO_SETTING(lpo_nsys_settings, nvtx_domain_include, LPO_S_WORDS,
                "pipeline.nsys.nvtx_domain_include"),
    LPO_SETTING(lpo_nsys_settings, nvtx_domain_exclude, LPO_S_WORDS,
                "pipeline.nsys.nvtx_domain_exclude"),
    LPO_SETTING(lpo_nsys_settings, cuda_graph_trace, LPO_S_TEXT, "pipeline.nsys.cuda_graph_trace"),
    LPO_SETTING(lpo_nsys_settings, export_sqlite, LPO_S_BOOL, "pipeline.nsys.export_sqlite"),
    LPO_SETTING(lpo_nsys_settings, stats, LPO_S_WORDS, "pipeline.nsys.stats"),
    LPO_SETTING(lpo_nsys_settings, extra_args, LPO_S_ARGS, "pipeline.nsys.extra_args"),
};

static const char *const trace_files[] = { "*.nsys-rep", "*.qdrep", "*.sqlite", "*.sqlite.gz",
                                           NULL };
static const char *const summaries[] = { "summary_cuda_gpu_kern_sum*.csv", NULL };

static const char *const from_start[] = { "pipeline.nsys.capture.after",
                                          "pipeline.nsys.capture.for", NULL };

static const char *const formats[] = { "nsys", "nsys-stats", NULL };

static const struct lpo_rundir_kind results = {
    .stage = "nsys",
    .what = "the report of Nsight Systems",
    .patterns = trace_files,
    .formats = formats,
    .otherwise = summaries,
    .trust = 2,
    .skip = LPO_SKIP_OPS,
};

static bool look_for_nsys(struct lpo_arena *a, const char **detail, const char **remedy)
{
    (void)remedy;
    return lpo_pipeline_stage_look_for_tool(a, lpo_settings_text(NULL, "pipeline.nsys.program"),
                                            detail);
}

static const struct lpo_stage_check checks[] = {
    { "nsys", "stage nsys (system timeline)",
      "install Nsight Systems (Debian: package nsight-systems in non-free)", look_for_nsys },
    { NULL, NULL, NULL, NULL },
};

struct state {
    const char *nsys;
    const char *temp;          /* where nsys keeps its raw stream */
    const char *gate;          /* the range that it waits for; NULL: none */
    const char *delay;         /* seconds until it begins; NULL: at once */
    int64_t first_call, every; /* of the gate; the reports of others are removed */
    bool switched;             /* lpo ctl or a signal begins and ends it */
    bool removed_calls;
    const char *recorded;        /* what pipeline.nsys.capture chose; NULL: nothing */
    size_t profile;              /* index of the main step */
    bool exported;               /* the follow-up steps were added */
    size_t last_import;          /* index of the last step that makes a report */
    const char *workload_failed; /* what the program did, when it failed under the profiler */
};

/* The program that runs the server, or the one under study, begins and ends the collection with
 * these commands. */
static void set_switch(struct lpo_arena *a, struct lpo_step *step, const char *variable,
                       struct lpo_words words)
{
    LPO_STR lines = { 0 };

    for (size_t i = 0; i < words.len; i++)
        lpo_str_addf(&lines, "%s%s", i ? "\n" : "", words.at[i]);
    lpo_run_step_env(a, step, variable, lpo_arena_strdup(a, lpo_str_text(&lines)));
}

static int nsys_plan(struct lpo_stage_ctx *ctx, struct lpo_steps *steps, struct lpo_err *err)
{
    struct state *s = LPO_NEW(ctx->arena, struct state);
    struct lpo_workload_opts opts = { .profiled = true };
    struct lpo_nsys_command command;
    struct lpo_words words;
    struct lpo_step *step;

    ctx->private = s;
    s->profile = steps->len;
    s->temp = lpo_path_join(ctx->arena, ctx->dir, "tmp");
    if (lpo_pipeline_stage_tool(ctx, &lpo_pipeline_nsys, &s->nsys, err) < 0 ||
        lpo_pipeline_stage_add_workload(ctx, steps, "nsys profile", &opts, &step, err) < 0)
        return err->code;
    if (lpo_pipeline_nsys_command(ctx, s->nsys, &command, err) < 0)
        return err->code;
    s->gate = command.nvtx_capture;
    s->delay = command.delay;
    s->first_call = command.first_call;
    s->every = command.every;
    s->switched = command.switched;
    s->recorded = command.recorded;
    words = lpo_pipeline_nsys_command_words(ctx->arena, &command);
    if (command.switched)
        lpo_pipeline_nsys_add_switch(ctx->arena,
                                     &((const struct lpo_nsys_settings *)ctx->settings)->capture,
                                     ctx->dir, &words);
    lpo_run_step_wrap(ctx->arena, step, &words);
    /* nsys keeps its raw stream in the temporary folder: that stays inside the run, too, because
     * /tmp is often a small disk */
    lpo_run_step_env(ctx->arena, step, "TMPDIR", s->temp);
    if (command.session) {
        set_switch(ctx->arena, step, LPO_SERVER_WINDOW_BEGIN,
                   lpo_pipeline_nsys_start_words(ctx->arena, &command));
        if (!command.capture_range) /* else nsys ends with the range, and refuses to end twice */
            set_switch(ctx->arena, step, LPO_SERVER_WINDOW_END,
                       lpo_pipeline_nsys_stop_words(ctx->arena, &command));
    }
    return 0;
}

static int nsys_prepare(struct lpo_stage_ctx *ctx, struct lpo_steps *steps, struct lpo_err *err)
{
    const struct state *s = ctx->private;

    (void)steps;
    return lpo_file_make_dirs(s->temp, err);
}

/* Files of the stage folder that match, sorted; the arena owns them. */
static size_t find_files(struct lpo_stage_ctx *ctx, const char *pattern, const char ***out)
{
    glob_t g = { 0 };
    size_t n = 0;

    *out = NULL;
    if (glob(lpo_path_join(ctx->arena, ctx->dir, pattern), 0, NULL, &g) == 0) {
        *out = lpo_arena_array(ctx->arena, g.gl_pathc, sizeof **out);
        for (; n < g.gl_pathc; n++)
            (*out)[n] = lpo_arena_strdup(ctx->arena, g.gl_pathv[n]);
    }
    globfree(&g);
    return n;
}

/* Reports under either name: newer versions write .nsys-rep, older ones .qdrep. */
static size_t find_reports(struct lpo_stage_ctx *ctx, const char ***out)
{
    size_t n = find_files(ctx, "*.nsys-rep", out);

    return n ? n : find_files(ctx, "*.qdrep", out);
}

/* "run.nsys-rep" with another ending. */
static char *with_ending(struct lpo_arena *a, const char *path, const char *ending)
{
    const char *base = lpo_path_base(path);
    const char *dot = strrchr(base, '.');
    size_t keep = dot ? (size_t)(dot - path) : strlen(path);

    return lpo_arena_printf(a, "%.*s%s", (int)keep, path, ending);
}

/* "export" for run.nsys-rep, "export.2" for run.2.nsys-rep: the second capture of a repeat. */
static const char *named_after(struct lpo_arena *a, const char *what, const char *report)
{
    const char *base = lpo_path_base(report), *first = strchr(base, '.'),
               *last = strrchr(base, '.');

    return first == last ? what : lpo_arena_printf(a, "%s%.*s", what, (int)(last - first), first);
}

/* nsys can only begin with the first call of a range and leaves none out: what was not asked for
 * goes, before it costs an import. The number is that in run.<number>.nsys-rep. */
static void remove_other_calls(struct lpo_stage_ctx *ctx, struct state *s)
{
    const char **files;
    size_t n = s->first_call > 1 || s->every > 1 ? find_files(ctx, "run.[0-9]*.*", &files) : 0;

    for (size_t i = 0; i < n; i++) {
        long long call = strtoll(lpo_path_base(files[i]) + strlen("run."), NULL, 10);
        bool wanted =
            call >= s->first_call && (s->every <= 1 || (call - s->first_call) % s->every == 0);

        if (!wanted && unlink(files[i]) == 0)
            s->removed_calls = true;
    }
}

static void add_importer(struct lpo_stage_ctx *ctx, struct lpo_steps *steps, const char *importer,
                         const char *stream)
{
    struct lpo_step *step = lpo_pipeline_stage_add_tool(ctx, steps, "nsys importer",
                                                        named_after(ctx->arena, "import", stream));

    lpo_run_step_arg(ctx->arena, step, importer);
    lpo_run_step_arg(ctx->arena, step, "-i");
    lpo_run_step_arg(ctx->arena, step, stream);
    lpo_run_step_arg(ctx->arena, step, "-o");
    lpo_run_step_arg(ctx->arena, step, with_ending(ctx->arena, stream, ".nsys-rep"));
    step->optional = true;
}

static bool has_report(struct lpo_stage_ctx *ctx, const char *stream)
{
    return lpo_path_exists(with_ending(ctx->arena, stream, ".nsys-rep"));
}

/* nsys could not start its importer: it left one stream for each capture it made. */
static void add_importers(struct lpo_stage_ctx *ctx, struct lpo_steps *steps, struct state *s)
{
    const char *importer = lpo_pipeline_nsys_importer(ctx->arena, s->nsys);
    const char **streams;
    size_t n = find_files(ctx, "*.qdstrm", &streams);

    s->last_import = s->profile;
    for (size_t i = 0; importer && i < n; i++) {
        if (has_report(ctx, streams[i]))
            continue;
        add_importer(ctx, steps, importer, streams[i]);
        s->last_import = steps->len - 1;
    }
}

/* The raw streams whose reports exist. nsys removes them itself when its importer starts. */
static void remove_streams(struct lpo_stage_ctx *ctx)
{
    const char **streams;
    size_t n = find_files(ctx, "*.qdstrm", &streams);

    for (size_t i = 0; i < n; i++)
        if (has_report(ctx, streams[i]))
            unlink(streams[i]);
}

static void add_export(struct lpo_stage_ctx *ctx, struct lpo_steps *steps, const char *nsys,
                       const char *report)
{
    struct lpo_arena *a = ctx->arena;
    struct lpo_step *step =
        lpo_pipeline_stage_add_tool(ctx, steps, "nsys export", named_after(a, "export", report));

    lpo_run_step_arg(a, step, nsys);
    lpo_run_step_arg(a, step, "export");
    lpo_run_step_arg(a, step, "--type=sqlite");
    lpo_run_step_arg(a, step, "--force-overwrite=true");
    lpo_run_step_argf(a, step, "--output=%s", with_ending(a, report, ".sqlite"));
    lpo_run_step_arg(a, step, report);
    step->optional = true;
}

static void add_stats(struct lpo_stage_ctx *ctx, struct lpo_steps *steps, const char *nsys,
                      const char *report, bool old_names)
{
    struct lpo_arena *a = ctx->arena;
    const struct lpo_nsys_settings *settings = ctx->settings;

    for (size_t i = 0; i < settings->stats.len; i++) {
        const char *name = settings->stats.at[i];
        struct lpo_step *step = lpo_pipeline_stage_add_tool(
            ctx, steps, lpo_arena_printf(a, "nsys stats %s", name),
            named_after(a, lpo_arena_printf(a, "stats-%s", name), report));
        lpo_run_step_arg(a, step, nsys);
        lpo_run_step_arg(a, step, "stats");
        lpo_run_step_argf(a, step, "--report=%s", old_names ? old_name(name) : name);
        lpo_run_step_arg(a, step, "--format=csv");
        lpo_run_step_arg(a, step, "--output=-");
        lpo_run_step_arg(a, step, "--force-export=true");
        lpo_run_step_arg(a, step, "--quiet"); /* older versions print their progress into the CSV */
        lpo_run_step_arg(a, step, report);
        step->stdout_path =
            lpo_arena_printf(a, "%s/summary_%s.csv", ctx->dir, named_after(a, name, report));
        step->optional = true;
    }
}

/* The report is there: everything that reads it. */
static void add_follow_ups(struct lpo_stage_ctx *ctx, struct lpo_steps *steps, struct state *s)
{
    const struct lpo_nsys_settings *settings = ctx->settings;
    const char **reports;
    size_t n = find_reports(ctx, &reports);
    bool old_names;

    if (s->exported || n == 0)
        return;
    s->exported = true;
    old_names = has_old_names(ctx->arena, s->nsys);
    for (size_t i = 0; i < n; i++) {
        if (settings->export_sqlite)
            add_export(ctx, steps, s->nsys, reports[i]);
        add_stats(ctx, steps, s->nsys, reports[i], old_names);
    }
}

static int nsys_after(struct lpo_stage_ctx *ctx, struct lpo_steps *steps, size_t i,
                      const struct lpo_result *r, struct lpo_err *err)
{
    struct state *s = ctx->private;
    int rc = lpo_pipeline_stage_judge(&steps->at[i], r, err);

    if (i == s->profile && rc < 0) {
        s->workload_failed = lpo_arena_strdup(ctx->arena, lpo_err_cause(err));
        *err = (struct lpo_err){ 0 };
        rc = 0; /* there may be a report nevertheless: collect() looks */
    }
    if (i == s->profile) {
        remove_other_calls(ctx, s);
        add_importers(ctx, steps, s);
    }
    if (i >= s->last_import)
        add_follow_ups(ctx, steps, s);
    return rc;
}

/* The known message that nsys printed, on the stream that it shares with the program; or NULL. */
static const struct lpo_tool_message *known_message(struct lpo_stage_ctx *ctx)
{
    enum { MAX_LOG = 64 << 20 };
    const char *log = lpo_path_join(ctx->arena, ctx->workload_dir, "stderr.log");
    LPO_AUTO(lpo_file_text) text = NULL;

    return lpo_file_text_read_limit(log, MAX_LOG, &text, NULL) == 0
               ? lpo_pipeline_tool_message_find(text->at)
               : NULL;
}

/* How often native saw the range of an nsys gate ("Range", "Range@Domain"), anywhere in a stack. */
static uint64_t visits_of(const struct lpo_known_regions *known, const char *gate)
{
    size_t len = strcspn(gate, "@");
    uint64_t visits = 0;

    for (size_t i = 0; i < known->len; i++) {
        const char *path = known->at[i].path;
        size_t n = strlen(path);

        if (n >= len && strncmp(path + n - len, gate, len) == 0 &&
            (n == len || strchr("/@", path[n - len - 1])))
            visits += known->at[i].visits;
    }
    return visits;
}

/* No report: what to check, in the order that finds it soonest. */
static int explain_no_report(struct lpo_stage_ctx *ctx, struct state *s, struct lpo_err *err)
{
    const struct lpo_tool_message *m = known_message(ctx);
    const char **files;
    uint64_t visits;

    if (find_files(ctx, "*.qdstrm", &files) > 0)
        return explain_importer(ctx->arena, s->nsys, err);
    if (m)
        return lpo_fail(err, LPO_E_CHILD, "nsys made no report: %s: %s", m->meaning, m->remedy);
    if (s->workload_failed)
        return lpo_fail(err, LPO_E_CHILD, "%s; nsys made no report", s->workload_failed);
    if (s->switched)
        return lpo_fail(err, LPO_E_CHILD,
                        "nsys made no report: nobody opened a window while the program ran. "
                        "'lpo ctl %s start' opens one, and so does the signal of "
                        "pipeline.nsys.capture.signal",
                        ctx->run_dir);
    if (s->removed_calls)
        return lpo_fail(err, LPO_E_CHILD,
                        "nsys made no report of call %lld or later: '%s' was entered fewer times "
                        "than that. Set pipeline.nsys.capture.calls to earlier ones",
                        (long long)s->first_call, s->gate);
    if (s->delay)
        return lpo_fail(err, LPO_E_CHILD,
                        "nsys made no report: the program ended before the %s s of "
                        "pipeline.nsys.capture.after had passed",
                        s->delay);
    if (s->gate && (visits = visits_of(&ctx->known, s->gate)))
        return lpo_fail(err, LPO_E_CHILD,
                        "nsys made no report: it saw no range '%s', which native recorded %llu "
                        "time%s in this run. The process that enters it may be one that nsys does "
                        "not follow, or may enter it before nsys is ready: compare with "
                        "pipeline.nsys.gating_nvtx=false",
                        s->gate, (unsigned long long)visits, visits == 1 ? "" : "s");
    if (s->gate)
        return lpo_fail(
            err, LPO_E_CHILD,
            "nsys made no report: the range '%s' was never entered. Check its name "
            "(native/regions.json lists those that exist) and domain (Range@Domain), then "
            "compare with pipeline.nsys.gating_nvtx=false",
            s->gate);
    return lpo_fail(err, LPO_E_CHILD, "nsys made no report; see %s/stderr.log", ctx->workload_dir);
}

static int nsys_collect(struct lpo_stage_ctx *ctx, struct lpo_err *err)
{
    const struct lpo_nsys_settings *settings = ctx->settings;
    struct state *s = ctx->private;
    const char **files;

    lpo_run_folder_remove(ctx->arena, ctx->dir, "tmp", NULL);
    if (find_reports(ctx, &files) == 0)
        return explain_no_report(ctx, s, err);
    remove_streams(ctx);
    if (s->recorded)
        lpo_run_manifest_note(ctx->manifest, ctx->record, "%s", s->recorded);
    if (find_files(ctx, "*.qdstrm", &files) > 0)
        lpo_run_manifest_note(ctx->manifest, ctx->record,
                              "%s could not be imported, see import*.err.log", files[0]);
    if (s->workload_failed)
        return lpo_fail(err, LPO_E_CHILD,
                        "the workload failed under nsys (the report was kept): %s",
                        s->workload_failed);
    if (find_files(ctx, "*.sqlite", &files) == 0 && settings->export_sqlite)
        lpo_run_manifest_note(ctx->manifest, ctx->record,
                              "no SQLite export was made: reports can only use the summary of "
                              "kernels, if there is one");
    return 0;
}

const struct lpo_stage lpo_pipeline_nsys = {
    .name = "nsys",
    .summary = "system timeline with Nsight Systems",
    .program = "pipeline.nsys.program",
    LPO_STAGE_SETTINGS(lpo_nsys_settings, fields),
    .results = &results,
    .checks = checks,
    .from_start = from_start,
    .check_settings = lpo_pipeline_nsys_check,
    .plan = nsys_plan,
    .prepare = nsys_prepare,
    .after = nsys_after,
    .collect = nsys_collect,
};
