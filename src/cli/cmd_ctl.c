/* SPDX-License-Identifier: Apache-2.0 */
/* lpo ctl: begin and end recording in a program that runs with the collector; figures for
 * Prometheus; a trace of a PyTorch that runs, without a daemon.
 *
 * Kineto reads /tmp/libkineto.conf when its process gets SIGUSR2, records as it says, and writes
 * the trace to ACTIVITIES_LOG_FILE with "_PID" before ".json". It catches the signal only where the
 * config that it was started with says ENABLE_SIGUSR2=YES; any other process would be killed, so
 * /proc is asked first. */
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "analysis/analysis.h"
#include "analysis/run.h"
#include "analysis/steps/steps.h"
#include "analysis/wall/wall.h"
#include "cli/app.h"
#include "cli/command.h"
#include "cli/trace_options.h"
#include "run/control.h"
#include "util/file.h"
#include "util/json_write.h"
#include "util/path.h"

static void begin(struct lpo_str *out, const char *name, const char *type, const char *help)
{
    lpo_str_addf(out, "# HELP lpo_%s %s\n# TYPE lpo_%s %s\n", name, help, name, type);
}

static uint64_t recording(const struct lpo_control_answer *p)
{
    return p->recording;
}

static uint64_t windows(const struct lpo_control_answer *p)
{
    return p->windows;
}

static uint64_t seen(const struct lpo_control_answer *p)
{
    return p->seen;
}

static uint64_t recorded(const struct lpo_control_answer *p)
{
    return p->recorded;
}

static const struct {
    const char *name, *type, *help;
    uint64_t (*get)(const struct lpo_control_answer *p);
} figures[] = {
    { "recording", "gauge", "1 while the process records", recording },
    { "windows_total", "counter", "windows that were recorded before", windows },
    { "calls_seen_total", "counter", "calls of the range that windows are made of", seen },
    { "calls_recorded_total", "counter", "of them, those that were recorded", recorded },
};

static void add_answers(struct lpo_str *out, const struct lpo_control_answers *answers)
{
    for (size_t f = 0; f < sizeof figures / sizeof *figures; f++) {
        begin(out, figures[f].name, figures[f].type, figures[f].help);
        for (size_t i = 0; i < answers->len; i++)
            if (answers->at[i].pid >= 0)
                lpo_str_addf(out, "lpo_%s{pid=\"%lld\"} %llu\n", figures[f].name,
                             (long long)answers->at[i].pid,
                             (unsigned long long)figures[f].get(&answers->at[i]));
    }
}

/* The median step of the group with most time; nothing where the program names no steps. */
static void add_steps(struct lpo_str *out, const struct lpo_program_steps *s)
{
    if (!s || !s->groups.len)
        return;
    begin(out, "steps_total", "counter", "steps in the traces");
    lpo_str_addf(out, "lpo_steps_total %zu\n", s->rows.len);
    begin(out, "step_seconds", "gauge", "median wall time of a step");
    lpo_str_addf(out, "lpo_step_seconds %.9g\n", (double)s->groups.at[0].wall_ns / 1e9);
    begin(out, "step_seconds_max", "gauge", "longest of these steps");
    lpo_str_addf(out, "lpo_step_seconds_max %.9g\n", (double)s->groups.at[0].max_ns / 1e9);
}

static void add_trace(struct lpo_str *out, const struct lpo_analysis *a)
{
    const struct lpo_wall *wall = lpo_analysis_wall(a);

    begin(out, "lost_records_total", "counter", "records that the collector had no room for");
    lpo_str_addf(out, "lpo_lost_records_total %llu\n", (unsigned long long)a->trace->dropped);
    add_steps(out, lpo_analysis_steps(a));
    if (!wall || !wall->devices.len)
        return;
    begin(out, "gpu_busy_ratio", "gauge", "part of the recorded span in which the GPU worked");
    for (size_t i = 0; i < wall->devices.len; i++) {
        const struct lpo_wall_device *d = &wall->devices.at[i];

        if (d->span_ns > 0)
            lpo_str_addf(out, "lpo_gpu_busy_ratio{device=\"%u\"} %.6g\n",
                         a->trace->devices.at[d->device].id,
                         1 - (double)d->idle_ns / (double)d->span_ns);
    }
}

/* The text format of Prometheus: what the collectors answered, and what the traces in `dir` hold so
 * far. A folder without a readable trace gives the first part alone. */
static void add_metrics(struct lpo_app *app, const char *dir,
                        const struct lpo_control_answers *answers, struct lpo_str *out)
{
    const char *words[] = { dir, NULL };
    const struct lpo_args args = { .words = words, .nwords = 1 };
    LPO_AUTO(lpo_analysis_run) run = NULL;
    struct lpo_err ignored = { 0 }; /* nothing was written yet */
    const struct lpo_analysis *a = NULL;

    add_answers(out, answers);
    if (lpo_cli_traces_open(app, &args, LPO_SKIP_OPS | LPO_SKIP_CALLS, NULL, &run, &ignored) == 0)
        a = lpo_analysis_run_main(run);
    if (a)
        add_trace(out, a);
}

static const char kineto_conf[] = "/tmp/libkineto.conf";

enum { WAIT_MS = 100, QUIET_ROUNDS = 5, USUAL_WAIT_S = 120 };

/* Does it catch SIGUSR2? "SigCgt" of /proc/PID/status is a mask in hexadecimal. */
static int check_process(long pid, struct lpo_err *err)
{
    char path[64];
    LPO_AUTO(lpo_file_text) text = NULL;
    const char *caught;

    snprintf(path, sizeof path, "/proc/%ld/status", pid);
    if (lpo_file_text_read(path, &text, err) < 0)
        return lpo_fail(err, LPO_E_NOTFOUND, "there is no process %ld", pid);
    caught = strstr(text->at, "\nSigCgt:");
    if (caught && strtoull(caught + 8, NULL, 16) >> (SIGUSR2 - 1) & 1)
        return 0;
    return lpo_fail(err, LPO_E_MISSING,
                    "process %ld does not listen for SIGUSR2, which would kill it: start the "
                    "program with KINETO_CONFIG=FILE, where FILE has the line ENABLE_SIGUSR2=YES "
                    "(and KINETO_USE_DAEMON=1, so that PyTorch counts steps)",
                    pid);
}

/* Where others may write, a name of ours may be somebody else's: it must be new. */
static int write_request(const char *conf, const char *log, size_t steps, size_t ms,
                         struct lpo_err *err)
{
    LPO_STR text = { 0 };
    int fd;
    bool whole;

    lpo_str_addf(&text, "ACTIVITIES_LOG_FILE=%s\nPROFILE_REPORT_INPUT_SHAPES=true\n", log);
    if (steps)
        lpo_str_addf(&text, "PROFILE_START_ITERATION_ROUNDUP=1\nACTIVITIES_ITERATIONS=%zu\n",
                     steps);
    else
        lpo_str_addf(&text, "ACTIVITIES_WARMUP_PERIOD_SECS=1\nACTIVITIES_DURATION_MSECS=%zu\n", ms);
    fd = open(conf, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return lpo_fail_errno(
            err, "cannot create '%s': another request may be under way; if not, remove it", conf);
    whole = write(fd, text.at, text.len) == (ssize_t)text.len;
    close(fd);
    return whole ? 0 : lpo_fail_errno(err, "'%s' cannot be written", conf);
}

/* Kineto writes the trace where it stands: it is complete when it has stopped growing and ends as
 * JSON does. */
static bool ends_as_json(const char *path, off_t size)
{
    char last = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    for (off_t at = size; fd >= 0 && at-- > 0 && at > size - 16;)
        if (pread(fd, &last, 1, at) != 1 || !strchr(" \n\r\t", last))
            break;
    if (fd >= 0)
        close(fd);
    return last == '}' || last == ']';
}

static int wait_for(const char *path, long pid, size_t seconds, struct lpo_err *err)
{
    const struct timespec pause = { 0, WAIT_MS * 1000000L };
    off_t size = -1;
    int quiet = 0;

    for (size_t ms = 0; ms < seconds * 1000; ms += WAIT_MS) {
        struct stat s;

        nanosleep(&pause, NULL);
        if (stat(path, &s) == 0) {
            quiet = s.st_size == size ? quiet + 1 : 0;
            size = s.st_size;
            if (quiet >= QUIET_ROUNDS && ends_as_json(path, size))
                return 0;
        } else if (kill((pid_t)pid, 0) < 0) {
            return lpo_fail(err, LPO_E_CHILD, "process %ld ended before it wrote a trace", pid);
        }
    }
    return lpo_fail(err, LPO_E_CHILD,
                    "process %ld wrote no trace in %zu s: with --steps it must make steps that "
                    "PyTorch counts (an optimizer's, with KINETO_USE_DAEMON=1); --seconds needs "
                    "none; --wait gives it longer",
                    pid, seconds);
}

/* The report is that of `lpo report`, in lpo-report/ beside the trace. */
static int report(struct lpo_app *app, const char *trace, struct lpo_err *err)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    char *argv[] = { "lpo", "report", lpo_arena_strdup(app->arena, trace), NULL };

    fprintf(app->out, "%s\n", trace);
    fflush(app->out);
    self[n > 0 ? n : 0] = '\0';
    execv(self, argv);
    return lpo_fail_errno(err, "'%s' was written, but no report can be made of it", trace);
}

/* Returns only where it failed. */
static int trace_process(struct lpo_app *app, const struct lpo_args *args, struct lpo_err *err)
{
    const char *conf = getenv("LPO_KINETO_CONF"); /* for tests: Kineto's own is fixed */
    const char *dir = lpo_cli_args_text(args, "output", "lpo-trace"), *whole, *trace;
    long pid = strtol(args->words[0], NULL, 10);
    size_t steps = 0, seconds = 0, wait = 0;
    int rc = lpo_cli_count_from_args(args, "steps", 0, &steps, err);

    conf = conf ? conf : kineto_conf;
    if (rc == 0)
        rc = lpo_cli_count_from_args(args, "seconds", steps ? 0 : 5, &seconds, err);
    if (rc == 0)
        rc = lpo_cli_count_from_args(args, "wait", USUAL_WAIT_S, &wait, err);
    if (rc == 0 && steps && seconds)
        rc = lpo_fail(err, LPO_E_USAGE, "give --steps or --seconds, not both");
    if (rc == 0)
        rc = check_process(pid, err);
    if (rc == 0)
        rc = lpo_file_make_dirs(dir, err);
    if (rc < 0)
        return rc;
    whole = realpath(dir, NULL);
    dir = whole ? lpo_arena_strdup(app->arena, whole) : dir;
    free((void *)(uintptr_t)whole);
    trace = lpo_arena_printf(app->arena, "%s/kineto_%ld.json", dir, pid);
    unlink(trace);
    rc = write_request(conf, lpo_path_join(app->arena, dir, "kineto.json"), steps, seconds * 1000,
                       err);
    if (rc < 0)
        return rc;
    if (kill((pid_t)pid, SIGUSR2) < 0)
        rc = lpo_fail_errno(err, "process %ld cannot be asked", pid);
    else
        rc = wait_for(trace, pid, wait + seconds, err);
    unlink(conf);
    return rc < 0 ? rc : report(app, trace, err);
}

#define CTL_SCHEMA "lpo.ctl/1"

static const char *const requests[] = { "start", "stop", "status", "dump", "mark" };

static void print_json(struct lpo_app *app, const struct lpo_control_answers *answers)
{
    LPO_STR out = { 0 };
    struct lpo_json_writer w = lpo_json_writer(&out, 2);

    lpo_jw_object(&w, NULL);
    lpo_jw_put(&w, LPO_KV("schema", CTL_SCHEMA));
    lpo_jw_array(&w, "processes");
    for (size_t i = 0; i < answers->len; i++) {
        const struct lpo_control_answer *p = &answers->at[i];

        lpo_jw_record(&w, NULL, LPO_KV("pid", p->pid), LPO_KV("recording", p->recording),
                      LPO_KV("windows", p->windows), LPO_KV("calls_seen", p->seen),
                      LPO_KV("calls_recorded", p->recorded), LPO_KV("error", p->error));
    }
    lpo_jw_end(&w);
    lpo_jw_end(&w);
    fputs(lpo_str_text(&out), app->out);
}

static void print_text(struct lpo_app *app, const struct lpo_control_answers *answers)
{
    for (size_t i = 0; i < answers->len; i++) {
        const struct lpo_control_answer *p = &answers->at[i];

        if (p->error && p->pid < 0) {
            fprintf(app->out, "%s: %s\n", p->name, p->error);
            continue;
        }
        fprintf(app->out, "process %lld: %s, %llu window%s recorded before", (long long)p->pid,
                p->recording ? "recording" : "not recording", (unsigned long long)p->windows,
                p->windows == 1 ? "" : "s");
        if (p->seen)
            fprintf(app->out, ", %llu of %llu calls", (unsigned long long)p->recorded,
                    (unsigned long long)p->seen);
        fprintf(app->out, "%s%s\n", p->error ? ": " : "", p->error ? p->error : "");
    }
}

/* On stdout, or as a file that node_exporter takes up whole. */
static int put_metrics(struct lpo_app *app, const struct lpo_args *args,
                       const struct lpo_control_answers *answers, struct lpo_err *err)
{
    const char *path = lpo_cli_args_text(args, "output", NULL);
    LPO_STR text = { 0 };

    add_metrics(app, args->words[0], answers, &text);
    if (path)
        return lpo_file_write(path, lpo_str_text(&text), text.len, err);
    fputs(lpo_str_text(&text), app->out);
    return 0;
}

static int request_of(struct lpo_app *app, const struct lpo_args *args, const char **out,
                      struct lpo_err *err)
{
    const char *word = args->nwords > 1 ? args->words[1] : "";
    bool known = false, mark = strcmp(word, "mark") == 0;

    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
        known |= strcmp(requests[i], word) == 0;
    if (!known || args->nwords != (mark ? 3 : 2))
        return lpo_fail(err, LPO_E_USAGE,
                        "usage: lpo ctl DIR start|stop|dump|status, or lpo ctl DIR mark TEXT");
    *out = mark ? lpo_arena_printf(app->arena, "mark %s", args->words[2]) : word;
    return 0;
}

static int ctl_run(struct lpo_app *app, const struct lpo_args *args, struct lpo_err *err)
{
    struct lpo_control_answers answers = { 0 };
    const char *request = NULL;
    bool metrics = lpo_cli_args_has(args, "prometheus");
    int failed = 0;

    if (args->nwords == 2 && strcmp(args->words[1], "trace") == 0 &&
        args->words[0][strspn(args->words[0], "0123456789")] == '\0')
        return trace_process(app, args, err);
    if (request_of(app, args, &request, err) < 0)
        return err->code;
    if (metrics && strcmp(request, "status") != 0)
        return lpo_fail(err, LPO_E_USAGE, "--prometheus goes with status");
    if (lpo_run_control_send(app->arena, args->words[0], request, &answers, err) < 0)
        return err->code;
    if (!answers.len)
        return lpo_fail(err, LPO_E_MISSING,
                        "no collector listens in '%s': the program has ended, or it runs without "
                        "pipeline.native.capture.control=true (LPO_COLLECT_CAPTURE_CONTROL=1) or "
                        "pipeline.nsys.capture.control=true",
                        args->words[0]);
    if (metrics && put_metrics(app, args, &answers, err) < 0)
        return err->code;
    if (metrics)
        return 0;
    if (lpo_cli_args_has(args, "json"))
        print_json(app, &answers);
    else
        print_text(app, &answers);
    for (size_t i = 0; i < answers.len; i++)
        failed |= answers.at[i].error != NULL;
    return failed;
}

static const struct lpo_option options[] = {
    { "json", 0, LPO_OPT_FLAG, NULL, "print JSON" },
    { "prometheus", 0, LPO_OPT_FLAG, NULL,
      "status: figures for Prometheus: windows, lost records, step time, GPU busy share" },
    { "output", 'o', LPO_OPT_TEXT, "PATH",
      "with --prometheus a file for node_exporter, with trace the folder (lpo-trace)" },
    { "steps", 0, LPO_OPT_TEXT, "N", "trace: number of steps to record" },
    { "seconds", 0, LPO_OPT_TEXT, "S", "trace: so long (5)" },
    { "wait", 0, LPO_OPT_TEXT, "S", "trace: how long it may take (120)" },
    { 0 },
};

const struct lpo_command lpo_cli_cmd_ctl = {
    .name = "ctl",
    .summary = "begin and end recording in a program that runs with the collector",
    .usage = "DIR start|stop|status|dump|mark [TEXT] [--json] | PID trace [--steps N]",
    .about =
        "DIR is a run folder, or the folder of the traces (LPO_COLLECT_DIR). Every process that "
        "listens there\nis asked; the program must run with "
        "pipeline.native.capture.control=true, or pipeline.nsys.capture.control=true for nsys.\n"
        "PID trace asks a PyTorch that was started with KINETO_CONFIG (docs/ctl.md) for a trace, "
        "and\n"
        "reports on it.",
    .options = options,
    .run = ctl_run,
};
