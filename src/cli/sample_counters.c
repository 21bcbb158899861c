/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <unistd.h>

#include "cli/app.h"
#include "gpu/sampler/sampler.h"

static const struct lpo_option options[] = {
    { "out", 'o', LPO_OPT_TEXT, "FILE", "the file of samples" },
    { "device", 0, LPO_OPT_TEXT, "N", "the GPU, as CUDA numbers them (0)" },
    { "interval-ns", 0, LPO_OPT_TEXT, "NS",
      "time between two samples; none: the shortest that can be kept up" },
    { "least-ns", 0, LPO_OPT_TEXT, "NS", "of an interval that is chosen (50000)" },
    { "core-millionths", 0, LPO_OPT_TEXT, "N",
      "the share of one core that it may take; it lengthens the interval for that (no limit)" },
    { "metric", 0, LPO_OPT_LIST, "NAME", "sample this one; none: the usual ones" },
    { "max-mb", 0, LPO_OPT_TEXT, "N", "size limit of the file (1024)" },
    { "beside", 0, LPO_OPT_TEXT, "STAGE", "the stage whose program runs at the same time" },
    { "seconds", 0, LPO_OPT_TEXT, "N", "stop after this time" },
    { "period-ms", 0, LPO_OPT_TEXT, "N", "time between two rounds of decoding (20)" },
    { "image-samples", 0, LPO_OPT_TEXT, "N", "samples decoded at once" },
    { "buffer-mb", 0, LPO_OPT_TEXT, "N", "the hardware's buffer" },
    { "check", 0, LPO_OPT_FLAG, NULL, "only check whether counters are available" },
    { 0 },
};

static int number(const struct lpo_args *args, const char *name, long long fallback, long long min,
                  long long max, long long *out, struct lpo_err *err)
{
    const char *text = lpo_cli_args_text(args, name, NULL);
    char *end;

    *out = fallback;
    if (!text)
        return 0;
    *out = strtoll(text, &end, 10);
    if (*end || !*text || *out < min || *out > max)
        return lpo_fail(err, LPO_E_USAGE, "--%s must be a number from %lld to %lld, not '%s'", name,
                        min, max, text);
    return 0;
}

/* Before CUDA starts its threads, so that they inherit the mask. */
static int watch_signals(long long seconds)
{
    struct itimerval timer = { .it_value = { .tv_sec = seconds } };
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGALRM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a full disk is an error of write() */
    if (seconds)
        setitimer(ITIMER_REAL, &timer, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC);
}

static void say_ready(void *ctx, const struct lpo_sampler_gpu *g)
{
    struct lpo_app *app = ctx;

    lpo_sampler_say_ready(app->out, g);
}

static int fill(struct lpo_app *app, const struct lpo_args *args, struct lpo_sampler_options *o,
                long long *seconds, struct lpo_err *err)
{
    const char *const *metrics = lpo_cli_args_list(args, "metric");
    long long device, interval, least, max_mb, period, image, buffer, core;

    if (number(args, "device", 0, 0, 1023, &device, err) < 0 ||
        number(args, "interval-ns", 0, 1000, 1000000000, &interval, err) < 0 ||
        number(args, "least-ns", 50000, 1000, 1000000000, &least, err) < 0 ||
        number(args, "core-millionths", 0, 10000, 1000000, &core, err) < 0 ||
        number(args, "max-mb", 1024, 0, 1 << 30, &max_mb, err) < 0 ||
        number(args, "seconds", 0, 1, 1 << 30, seconds, err) < 0 ||
        number(args, "period-ms", 20, 1, 10000, &period, err) < 0 ||
        number(args, "image-samples", 0, 16, 1 << 20, &image, err) < 0 ||
        number(args, "buffer-mb", 0, 1, 1 << 16, &buffer, err) < 0)
        return err->code;
    *o = (struct lpo_sampler_options){
        .ask = { .device = (int)device,
                 .interval_ns = interval,
                 .least_ns = least,
                 .period_ns = period * 1000000,
                 .core_millionths = core,
                 .metrics = metrics,
                 .image_samples = (uint32_t)image,
                 .buffer_bytes = (size_t)buffer << 20 },
        .path = lpo_cli_args_text(args, "out", NULL),
        .max_bytes = (uint64_t)max_mb * 1000000,
        .version = LPO_VERSION,
        .beside = lpo_cli_args_text(args, "beside", ""),
        .stop_fd = *seconds ? -1 : STDIN_FILENO,
        .ready = say_ready,
        .ctx = app,
    };
    while (metrics[o->ask.nmetrics])
        o->ask.nmetrics++;
    return 0;
}

static int check(struct lpo_app *app, const struct lpo_sampler_options *o, struct lpo_err *err)
{
    LPO_AUTO(lpo_sampler_session) session = NULL;
    int rc = lpo_sampler_session_open(app->arena, &o->ask, &session, err);

    if (rc < 0)
        return rc;
    say_ready(app, lpo_sampler_session_gpu(session));
    return 0;
}

static int sample(struct lpo_app *app, const struct lpo_args *args, struct lpo_err *err)
{
    struct lpo_sampler_options o = { 0 };
    struct lpo_sampler_result r = { 0 };
    long long seconds = 0;
    int rc = fill(app, args, &o, &seconds, err);

    if (rc < 0)
        return rc;
    o.signal_fd = watch_signals(seconds);
    if (o.signal_fd < 0)
        return lpo_fail_errno(err, "cannot watch for signals");
    if (lpo_cli_args_has(args, "check"))
        return check(app, &o, err);
    if (!o.path)
        return lpo_fail(err, LPO_E_USAGE, "sample-counters needs -o FILE");
    setpriority(PRIO_PROCESS, 0, 5); /* the program that is studied comes first */
    rc = lpo_sampler_run(app->arena, &o, &r, err);
    if (rc == 0)
        lpo_sampler_say_result(app->out, &r);
    return rc;
}

int lpo_cli_sample_counters_main(struct lpo_app *app, int argc, const char *const *argv)
{
    struct lpo_err err = { 0 };
    struct lpo_args args;
    int rc = lpo_cli_args_parse(app, options, argc, argv, &args, &err);

    if (rc == 0)
        rc = sample(app, &args, &err);
    if (rc < 0)
        fprintf(app->out, "failed: %s\n", lpo_err_cause(&err));
    fflush(app->out);
    return rc < 0 ? lpo_err_exit_code(rc) : 0;
}
