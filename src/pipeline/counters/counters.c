/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu/driver.h"
#include "lpo/counters_format.h"
#include "pipeline/stage.h"
#include "run/clock.h"
#include "run/install.h"
#include "rundir/rundir.h"
#include "util/path.h"
#include "util/units.h"

/* --- one `lpo sample-counters`, from its start to its last line ---------------------------------
 */

/* It runs beside the program, as a child of lpo. Its standard input is a pipe from lpo: when that
 * ends, because lpo closes it or dies, it stops. So nothing is left running. */
struct lpo_sampling {
    pid_t pid; /* 0: not started, or over */
    int stop_fd, said_fd;
    const char *failed; /* why there are no samples, or not all; NULL */
    bool ready;         /* sampling has begun */
    const char *about;  /* what it says about the GPU: "GH100, 9 metrics, CUPTI 130000" */
    /* after the stop */
    bool done;
    uint64_t samples, lost;
    int64_t lost_ns, cpu_ns, wall_ns;
    unsigned ended_by;   /* enum lpo_counters_ended */
    int64_t interval_ns; /* at the end; 0: unknown */
    unsigned lengthened; /* times that it became longer */
};

enum { LINE_MAX_BYTES = 4096 };

static const int64_t stop_ns = 10000000000; /* for the last round of decoding and the file */

/* What the program is given decides which GPUs there are and how they are numbered; what would load
 * a profiler into the sampler is left out. */
static const char *const follow[] = { "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER",
                                      "LD_LIBRARY_PATH" };
static const char *const drop[] = { "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH",
                                    "LD_PRELOAD" };

static const struct lpo_env_var *of_step(const struct lpo_step *step, const char *name)
{
    const struct lpo_env_var *found = NULL;

    for (size_t i = 0; step && i < step->nenv; i++)
        if (strcmp(step->env[i].name, name) == 0)
            found = &step->env[i];
    return found;
}

static char **environment(struct lpo_arena *a, const struct lpo_step *step)
{
    struct lpo_env_var vars[sizeof follow / sizeof *follow + sizeof drop / sizeof *drop];
    size_t n = 0;

    for (size_t i = 0; i < sizeof follow / sizeof *follow; i++)
        if (of_step(step, follow[i]))
            vars[n++] = *of_step(step, follow[i]);
    for (size_t i = 0; i < sizeof drop / sizeof *drop; i++)
        vars[n++] = (struct lpo_env_var){ drop[i], NULL };
    return lpo_run_environment(a, vars, n);
}

static int spawn(struct lpo_arena *a, const char *const *argv, const struct lpo_step *step,
                 int in_fd, int out_fd, pid_t *pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none, all;
    int rc;

    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setpgroup(&attr, 0); /* Ctrl-C reaches lpo alone, which stops it afterwards */
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &all);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                        POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, in_fd, 0);
    posix_spawn_file_actions_adddup2(&files, out_fd, 1);
    posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclosefrom_np(&files, 3);
    rc = posix_spawn(pid, argv[0], &files, &attr, (char *const *)argv, environment(a, step));
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attr);
    return rc;
}

static void start_helper(struct lpo_arena *a, const char *const *words, const struct lpo_step *step,
                         struct lpo_sampling *out)
{
    struct lpo_words argv = { 0 };
    const char *self = lpo_path_program(a);
    int in[2], said[2], rc;

    *out = (struct lpo_sampling){ .stop_fd = -1, .said_fd = -1 };
    if (!self) {
        out->failed = "lpo does not know its own path";
        return;
    }
    lpo_run_words_add(a, &argv, self);
    lpo_run_words_add(a, &argv, "sample-counters");
    for (; *words; words++)
        lpo_run_words_add(a, &argv, *words);
    if (pipe2(in, O_CLOEXEC) < 0) {
        out->failed = lpo_arena_printf(a, "cannot make a pipe: %s", strerror(errno));
        return;
    }
    if (pipe2(said, O_CLOEXEC) < 0) {
        out->failed = lpo_arena_printf(a, "cannot make a pipe: %s", strerror(errno));
        close(in[0]);
        close(in[1]);
        return;
    }
    rc = spawn(a, argv.at, step, in[0], said[1], &out->pid);
    close(in[0]);
    close(said[1]);
    out->stop_fd = in[1];
    out->said_fd = said[0];
    if (rc == 0)
        return;
    out->failed = lpo_arena_printf(a, "the sampler could not be started: %s", strerror(rc));
    out->pid = 0;
    close(out->stop_fd);
    close(out->said_fd);
}

/* The next line it prints, without its end; NULL: it said nothing more, or not in time. */
static const char *next_line(struct lpo_arena *a, struct lpo_sampling *s, int64_t deadline_ns)
{
    char line[LINE_MAX_BYTES];
    size_t len = 0;

    for (;;) {
        int64_t left = deadline_ns - lpo_run_clock_ns();
        struct pollfd fd = { .fd = s->said_fd, .events = POLLIN };
        ssize_t n;
        char c;

        if (left < 0 || poll(&fd, 1, (int)(left / 1000000) + 1) == 0)
            return NULL;
        n = read(s->said_fd, &c, 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return len ? lpo_arena_strndup(a, line, len) : NULL;
        if (c == '\n')
            return lpo_arena_strndup(a, line, len);
        if (len < sizeof line)
            line[len++] = c;
    }
}

static void read_totals(struct lpo_sampling *s, const char *line)
{
    s->done =
        sscanf(line,
               "done samples=%" SCNu64 " lost=%" SCNu64 " lost_ns=%" SCNd64 " cpu_ns=%" SCNd64
               " wall_ns=%" SCNd64 " rounds=%*u ended_by=%u",
               &s->samples, &s->lost, &s->lost_ns, &s->cpu_ns, &s->wall_ns, &s->ended_by) == 6;
    line = strstr(line, " interval_ns=");
    if (!line || sscanf(line, " interval_ns=%" SCNd64 " lengthened=%u", &s->interval_ns,
                        &s->lengthened) != 2)
        s->lengthened = 0;
}

static void take_line(struct lpo_sampling *s, const char *line)
{
    if (lpo_str_starts(line, "failed: "))
        s->failed = line + strlen("failed: ");
    else if (lpo_str_starts(line, "ready ")) {
        s->ready = true;
        s->about = line + strlen("ready ");
    } else
        read_totals(s, line);
}

static void wait_for_helper(struct lpo_arena *a, struct lpo_sampling *s, int64_t deadline_ns)
{
    const char *line;

    if (!s->pid || s->ready || s->failed)
        return;
    line = next_line(a, s, deadline_ns);
    if (line)
        take_line(s, line);
    if (!s->ready && !s->failed)
        s->failed = lpo_run_clock_ns() >= deadline_ns ? "the sampler was not ready in time"
                                                      : "the sampler ended at once";
}

static void wait_for_end(struct lpo_sampling *s, int64_t deadline_ns)
{
    struct pollfd fd = { .fd = s->said_fd, .events = POLLIN };
    int status;

    /* It has closed its output, or is about to: the end follows within moments. */
    while (waitpid(s->pid, &status, WNOHANG) == 0) {
        if (lpo_run_clock_ns() > deadline_ns)
            kill(s->pid, SIGKILL);
        poll(&fd, 0, 1);
    }
    s->pid = 0;
}

static void stop_helper(struct lpo_arena *a, struct lpo_sampling *s)
{
    int64_t deadline = lpo_run_clock_ns() + (s->ready ? stop_ns : 0);
    const char *line;
    ssize_t n;

    if (!s->pid)
        return;
    n = write(s->stop_fd, "x", 1); /* one that is gone already needs no telling */
    (void)n;
    close(s->stop_fd);
    while (s->ready && (line = next_line(a, s, deadline)))
        take_line(s, line);
    if (s->ready && !s->done && !s->failed)
        s->failed = "the sampler was killed before it could write its totals";
    wait_for_end(s, deadline);
    close(s->said_fd);
}

static void read_said(struct lpo_arena *a, const char *file, struct lpo_sampling *s)
{
    const char *path = lpo_arena_printf(a, "%s.said", file), *line;

    *s = (struct lpo_sampling){ .stop_fd = -1 };
    s->said_fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (s->said_fd < 0) {
        s->failed = "the program did not start CUDA with the collector inside";
        return;
    }
    while ((line = next_line(a, s, lpo_run_clock_ns() + stop_ns)))
        take_line(s, line);
    close(s->said_fd);
    unlink(path);
    if (s->ready && !s->done && !s->failed)
        s->failed = "the program ended before the sampler inside could write its totals";
    else if (!s->ready && !s->failed)
        s->failed = "the program ended before the sampler inside had begun";
}

/* --- the stage ----------------------------------------------------------------------------------
 */

enum { MAX_GPUS = 16, MAX_RUNS = 32 };

static const int64_t ready_ns = 15000000000; /* CUDA starts slowly on large machines */
static const int64_t check_ns = 20000000000;
static const int64_t long_run_ns = 60000000000; /* from then on every second sample is enough */
static const int64_t usual_ns = 50000, long_ns = 100000;

struct counters_settings {
    const char *enable, *where;
    struct lpo_settings_words with, metrics;
    int64_t interval_ns, max_mb;
    double core;
};

static const struct lpo_settings_field fields[] = {
    LPO_SETTING(counters_settings, enable, LPO_S_TEXT, "pipeline.counters.enable"),
    LPO_SETTING(counters_settings, where, LPO_S_TEXT, "pipeline.counters.where"),
    LPO_SETTING(counters_settings, with, LPO_S_WORDS, "pipeline.counters.with"),
    LPO_SETTING(counters_settings, metrics, LPO_S_WORDS, "pipeline.counters.metrics"),
    LPO_SETTING(counters_settings, interval_ns, LPO_S_DURATION, "pipeline.counters.interval"),
    LPO_SETTING(counters_settings, core, LPO_S_REAL, "pipeline.counters.core"),
    LPO_SETTING(counters_settings, max_mb, LPO_S_INT, "pipeline.counters.max_mb"),
};

/* One GPU beside one program. */
struct sampled {
    const char *stage, *file;
    int gpu;
    bool inside; /* a thread of the program, not a process beside it */
    struct lpo_sampling s;
};

struct counters_run {
    struct sampled at[MAX_RUNS];
    size_t len, running; /* those from `running` on are alive */
};

/* --- which GPUs ----------------------------------------------------------------------------- */

static bool ours(const struct lpo_stage_ctx *ctx)
{
    return !lpo_streq(lpo_settings_text(ctx->config, "workload.kind"), "command");
}

/* How many GPUs the program may see: CUDA_VISIBLE_DEVICES lists them, or all are. */
static int visible_gpus(struct lpo_stage_ctx *ctx, const struct lpo_step *step)
{
    const char *list = getenv("CUDA_VISIBLE_DEVICES");
    struct lpo_gpus gpus;
    int count = 0;

    for (size_t i = 0; step && i < step->nenv; i++)
        if (strcmp(step->env[i].name, "CUDA_VISIBLE_DEVICES") == 0)
            list = step->env[i].value;
    lpo_gpu_list(ctx->arena, &gpus);
    count = (int)(gpus.len < MAX_GPUS ? gpus.len : MAX_GPUS);
    if (list) {
        int listed = *list && *list != '-' ? 1 : 0;

        for (const char *p = list; listed && *p; p++)
            listed += *p == ',';
        count = count == 0 || listed < count ? listed : count;
    }
    return count < MAX_GPUS ? count : MAX_GPUS;
}

/* Our own workloads run on run.device alone. -1: on none. */
static int only_gpu(const struct lpo_stage_ctx *ctx)
{
    const char *device = lpo_settings_text(ctx->config, "run.device");

    if (!device || !lpo_str_starts(device, "cuda"))
        return -1;
    return device[4] == ':' ? atoi(device + 5) : 0;
}

/* --- beside the program --------------------------------------------------------------------- */

/* A long run has enough samples at a longer interval, and its file is smaller. */
static int64_t least_interval(const struct lpo_stage_ctx *ctx)
{
    const struct lpo_stage *plain = lpo_pipeline_stage_with(LPO_ROLE_UNDISTURBED);
    const struct lpo_stage_record *ran = lpo_run_manifest_stage(ctx->manifest, plain->name);

    return ran && ran->state == LPO_DONE && ran->wall_ns > long_run_ns ? long_ns : usual_ns;
}

static const char *const *words_of(struct lpo_stage_ctx *ctx, const struct sampled *r)
{
    const struct counters_settings *settings = ctx->settings;
    struct lpo_words words = { 0 };
    struct lpo_arena *a = ctx->arena;

    lpo_run_words_add_flag(a, &words, "--out", lpo_path_join(a, ctx->dir, r->file));
    lpo_run_words_add_flag(a, &words, "--device", lpo_arena_printf(a, "%d", r->gpu));
    lpo_run_words_add_flag(a, &words, "--least-ns",
                           lpo_arena_printf(a, "%" PRId64, least_interval(ctx)));
    if (settings->interval_ns)
        lpo_run_words_add_flag(a, &words, "--interval-ns",
                               lpo_arena_printf(a, "%" PRId64, settings->interval_ns));
    if (settings->core < 1) /* in whole numbers: a program may have a decimal comma */
        lpo_run_words_add_flag(a, &words, "--core-millionths",
                               lpo_arena_printf(a, "%lld", llround(settings->core * 1e6)));
    lpo_run_words_add_flag(a, &words, "--max-mb",
                           lpo_arena_printf(a, "%" PRId64, settings->max_mb));
    lpo_run_words_add_flag(a, &words, "--beside", r->stage);
    for (size_t i = 0; i < settings->metrics.len; i++)
        lpo_run_words_add_flag(a, &words, "--metric", settings->metrics.at[i]);
    return words.at;
}

static bool goes_with(const struct lpo_stage_ctx *ctx, const char *stage)
{
    const struct counters_settings *settings = ctx->settings;

    return lpo_any(i, settings->with.len, strcmp(settings->with.at[i], stage) == 0);
}

/* Beside the stage whose trace reports read first, files have the plain names. */
static bool is_most_trusted(const struct lpo_stage *stage)
{
    if (!stage->results || !stage->results->patterns)
        return false;
    for (const struct lpo_stage *const *s = lpo_pipeline_stages(); *s; s++)
        if ((*s)->results && (*s)->results->patterns &&
            (*s)->results->trust < stage->results->trust)
            return false;
    return true;
}

static void add_gpu(struct lpo_stage_ctx *ctx, const struct lpo_stage *stage, int gpu, bool inside)
{
    struct counters_run *run = ctx->private;
    struct sampled *r;

    if (run->len == MAX_RUNS)
        return;
    r = &run->at[run->len++];
    *r = (struct sampled){ .inside = inside };
    r->stage = stage->name;
    r->gpu = gpu;
    r->file =
        is_most_trusted(stage)
            ? lpo_arena_printf(ctx->arena, "gpu%d%s", gpu, LPO_COUNTERS_SUFFIX)
            : lpo_arena_printf(ctx->arena, "%s-gpu%d%s", stage->name, gpu, LPO_COUNTERS_SUFFIX);
}

static void add_gpus(struct lpo_stage_ctx *ctx, const struct lpo_stage *stage,
                     const struct lpo_step *step, bool inside)
{
    int only = ours(ctx) ? only_gpu(ctx) : -1;
    int count = only >= 0 ? 0 : visible_gpus(ctx, step);

    if (only >= 0)
        add_gpu(ctx, stage, only, inside);
    for (int i = 0; i < count; i++)
        add_gpu(ctx, stage, i, inside);
}

/* Only a program that loads the collector can have the sampler inside. */
static bool loads_collector(const struct lpo_step *step)
{
    for (size_t i = 0; i < step->nenv; i++)
        if (strcmp(step->env[i].name, "CUDA_INJECTION64_PATH") == 0)
            return step->env[i].value != NULL;
    return false;
}

/* A sampler inside the program is told by its environment what to do. */
static void counters_plan_along(struct lpo_stage_ctx *ctx, const struct lpo_stage *other,
                                struct lpo_step *step)
{
    const struct counters_settings *settings = ctx->settings;
    const char *library = lpo_run_install_find(ctx->arena, "liblpo-sample.so");
    struct counters_run *run = ctx->private;
    struct lpo_str words = { 0 };

    run->running = run->len;
    if (!goes_with(ctx, other->name))
        return;
    if (strcmp(settings->where, "inside") != 0 || !library || !loads_collector(step)) {
        add_gpus(ctx, other, step, false);
        return;
    }
    add_gpus(ctx, other, step, true);
    for (size_t i = run->running; i < run->len; i++) {
        lpo_str_add(&words, i > run->running ? "\n" : "");
        for (const char *const *w = words_of(ctx, &run->at[i]); *w; w++)
            lpo_str_addf(&words, "%s\n", *w);
    }
    lpo_run_step_env(ctx->arena, step, "LPO_COLLECT_SAMPLER", library);
    lpo_run_step_env(ctx->arena, step, "LPO_SAMPLE", lpo_arena_strdup(ctx->arena, words.at));
    lpo_str_free(&words);
}

static void counters_start_along(struct lpo_stage_ctx *ctx, const struct lpo_stage *other,
                                 const struct lpo_step *step)
{
    struct counters_run *run = ctx->private;
    int64_t deadline = lpo_run_clock_ns() + ready_ns;

    (void)other;
    for (size_t i = run->running; i < run->len; i++)
        if (!run->at[i].inside)
            start_helper(ctx->arena, words_of(ctx, &run->at[i]), step, &run->at[i].s);
    for (size_t i = run->running; i < run->len; i++)
        wait_for_helper(ctx->arena, &run->at[i].s, deadline);
}

static void counters_stop_along(struct lpo_stage_ctx *ctx)
{
    struct counters_run *run = ctx->private;

    for (size_t i = run->running; i < run->len; i++) {
        struct sampled *r = &run->at[i];

        if (r->inside)
            read_said(ctx->arena, lpo_path_join(ctx->arena, ctx->dir, r->file), &r->s);
        else
            stop_helper(ctx->arena, &r->s);
    }
    run->running = run->len;
}

/* --- from the first stage to the last ------------------------------------------------------- */

static int counters_begin(struct lpo_stage_ctx *ctx, struct lpo_err *err)
{
    struct lpo_gpus gpus;

    (void)err;
    ctx->private = LPO_NEW(ctx->arena, struct counters_run);
    lpo_gpu_list(ctx->arena, &gpus);
    if (ours(ctx) && only_gpu(ctx) < 0)
        ctx->nothing_to_do = "the workload runs on the CPU";
    else if (gpus.len == 0)
        ctx->nothing_to_do = "there is no NVIDIA GPU here";
    return 0;
}

static void note_result(struct lpo_stage_ctx *ctx, const struct sampled *r)
{
    const struct counters_settings *settings = ctx->settings;
    const struct lpo_sampling *s = &r->s;
    double share = s->wall_ns > 0 ? 100.0 * (double)s->cpu_ns / (double)s->wall_ns : 0;

    if (s->done)
        lpo_run_manifest_note(ctx->manifest, ctx->record,
                              "GPU %d %s %s: %" PRIu64 " samples (%s); the sampler used %.1f %% "
                              "of one core",
                              r->gpu, r->inside ? "inside" : "beside", r->stage, s->samples,
                              s->about, share);
    if (s->lengthened) {
        LPO_STR every = { 0 };

        lpo_units_add_duration(&every, s->interval_ns);
        lpo_run_manifest_note(
            ctx->manifest, ctx->record,
            "GPU %d %s %s: the interval was lengthened to %s, so that the sampler "
            "takes at most %.4g %% of one core (pipeline.counters.core)",
            r->gpu, r->inside ? "inside" : "beside", r->stage, every.at, 100 * settings->core);
    }
    if (s->lost_ns > 0)
        lpo_run_manifest_note(ctx->manifest, ctx->record,
                              "GPU %d beside %s: no samples of %.3f s (about %" PRIu64
                              " lost); the report marks that time",
                              r->gpu, r->stage, (double)s->lost_ns / 1e9, s->lost);
    if (s->ended_by == LPO_COUNTERS_ENDED_LIMIT)
        lpo_run_manifest_note(ctx->manifest, ctx->record,
                              "GPU %d beside %s: sampling ended at pipeline.counters.max_mb; raise "
                              "it, or set a longer pipeline.counters.interval",
                              r->gpu, r->stage);
    if (s->failed)
        lpo_run_manifest_note(ctx->manifest, ctx->record, "GPU %d beside %s: %s", r->gpu, r->stage,
                              s->failed);
}

static int counters_collect(struct lpo_stage_ctx *ctx, struct lpo_err *err)
{
    const struct counters_settings *settings = ctx->settings;
    const struct counters_run *run = ctx->private;
    const char *why = "none of the stages that it goes along with ran (pipeline.counters.with)";
    bool any = false;

    for (size_t i = 0; i < run->len; i++) {
        any |= run->at[i].s.ready;
        if (run->at[i].s.failed)
            why = run->at[i].s.failed;
    }
    for (size_t i = 0; any && i < run->len; i++)
        note_result(ctx, &run->at[i]);
    if (any)
        return 0;
    if (run->len && strcmp(settings->enable, "true") == 0)
        return lpo_fail(err, LPO_E_MISSING, "%s", why);
    ctx->nothing_to_do = why;
    return 0;
}

/* --- lpo doctor ----------------------------------------------------------------------------- */

static bool look_for_counters(struct lpo_arena *a, const char **detail, const char **remedy)
{
    static const char *const words[] = { "--check", NULL };
    struct lpo_sampling s;

    (void)remedy;
    start_helper(a, words, NULL, &s);
    wait_for_helper(a, &s, lpo_run_clock_ns() + check_ns);
    *detail = s.ready ? s.about : s.failed;
    stop_helper(a, &s);
    return s.ready;
}

static const struct lpo_stage_check checks[] = {
    { "sampling", "no measured bytes and activity of regions from an ordinary run; ncu still can",
      "an NVIDIA GPU since Turing, CUPTI of CUDA 12.6 or later, and the permission to read "
      "counters: docs/counters.md",
      look_for_counters },
    { NULL, NULL, NULL, NULL },
};

static const struct lpo_rundir_kind results = {
    .stage = "counters",
    .what = "the sampled hardware counters",
    .roles = LPO_ROLE_SAMPLES,
};

const struct lpo_stage lpo_pipeline_counters = {
    .name = "counters",
    .summary = "hardware counters, sampled while the program runs as it is",
    .light = true,
    LPO_STAGE_SETTINGS(counters_settings, fields),
    .results = &results,
    .checks = checks,
    .begin = counters_begin,
    .collect = counters_collect,
    .plan_along = counters_plan_along,
    .start_along = counters_start_along,
    .stop_along = counters_stop_along,
};
