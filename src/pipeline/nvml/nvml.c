/* SPDX-License-Identifier: Apache-2.0 */
/* NVML sampled by a thread beside the other stages: nvml/samples.csv. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "gpu/driver.h"
#include "pipeline/stage.h"
#include "run/clock.h"
#include "rundir/rundir.h"
#include "util/path.h"
#include "util/stale.h"

enum { MAX_GPUS = 64 };

struct nvml_settings {
    int64_t interval_ms;
};

static const struct lpo_settings_field fields[] = {
    LPO_SETTING(nvml_settings, interval_ms, LPO_S_INT, "pipeline.nvml.interval_ms"),
};

struct sampler {
    struct lpo_nvml nvml;
    void *devices[MAX_GPUS];
    unsigned count;
    FILE *out;
    int64_t interval_ns;
    pthread_t thread;
    atomic_bool stop;
    uint64_t samples;
};

/* An empty cell means unknown, which is not 0. */
static void cell(FILE *out, int rc, unsigned long long value)
{
    if (rc == 0)
        fprintf(out, ",%llu", value);
    else
        fputc(',', out);
}

static void sample(struct sampler *s, unsigned gpu)
{
    const struct lpo_nvml *n = &s->nvml;
    void *d = s->devices[gpu];
    unsigned power = 0, sm = 0, mem = 0, celsius = 0;
    struct lpo_nvml_memory memory = { 0 };
    struct lpo_nvml_rates rates = { 0 };
    unsigned long long reasons = 0, energy = 0;
    int rc;

    fprintf(s->out, "%" PRId64 ",%u", lpo_run_clock_unix_ns(), gpu);
    rc = n->power(d, &power);
    cell(s->out, rc, power);
    rc = n->clock(d, LPO_NVML_SM_CLOCK, &sm);
    cell(s->out, rc, sm);
    rc = n->clock(d, LPO_NVML_MEMORY_CLOCK, &mem);
    cell(s->out, rc, mem);
    rc = n->temperature(d, 0, &celsius);
    cell(s->out, rc, celsius);
    rc = n->memory(d, &memory);
    cell(s->out, rc, memory.used);
    rc = n->utilisation(d, &rates);
    cell(s->out, rc, rates.gpu);
    cell(s->out, rc, rates.memory);
    rc = n->throttle ? n->throttle(d, &reasons) : -1;
    cell(s->out, rc, reasons);
    rc = n->energy ? n->energy(d, &energy) : -1;
    cell(s->out, rc, energy);
    fputc('\n', s->out);
    s->samples++;
}

static void *sample_loop(void *arg)
{
    struct sampler *s = arg;
    int64_t next = lpo_run_clock_ns();

    while (!atomic_load(&s->stop)) {
        struct timespec until;

        for (unsigned i = 0; i < s->count; i++)
            sample(s, i);
        fflush(s->out);
        next += s->interval_ns;
        if (next < lpo_run_clock_ns()) /* a late sample is not made up for by a burst of others */
            next = lpo_run_clock_ns();
        until = (struct timespec){ next / 1000000000, next % 1000000000 };
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    }
    return NULL;
}

static int open_devices(struct sampler *s, struct lpo_err *err)
{
    unsigned total = 0;

    if (s->nvml.count(&total) != 0 || total == 0)
        return lpo_fail(err, LPO_E_MISSING, "NVML lists no GPU");
    for (unsigned i = 0; i < total && s->count < MAX_GPUS; i++)
        if (s->nvml.handle(i, &s->devices[s->count]) == 0)
            s->count++;
    return 0;
}

static int open_file(struct lpo_stage_ctx *ctx, struct sampler *s, struct lpo_err *err)
{
    const char *path = lpo_path_join(ctx->arena, ctx->dir, "samples.csv");
    unsigned tries = 0;
    int fd;

    do
        fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    while (fd < 0 && lpo_stale_retry(errno, &tries));
    s->out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!s->out && fd >= 0)
        close(fd);
    if (!s->out)
        return lpo_fail_errno(err, "cannot write '%s'", path);
    fputs("unix_ns,gpu,power_mw,sm_mhz,memory_mhz,temperature_c,memory_used_bytes,gpu_percent,"
          "memory_percent,throttle_reasons,energy_mj\n",
          s->out);
    return 0;
}

static int nvml_begin(struct lpo_stage_ctx *ctx, struct lpo_err *err)
{
    const struct nvml_settings *settings = ctx->settings;
    struct sampler *s = LPO_NEW(ctx->arena, struct sampler);
    const char *why = lpo_gpu_nvml_open(&s->nvml);

    if (why)
        return lpo_fail(
            err, LPO_E_MISSING,
            "%s; power and clocks are not sampled (pipeline.nvml.enable=false skips the stage)",
            why);
    s->interval_ns = settings->interval_ms * 1000000;
    if (open_devices(s, err) < 0 || open_file(ctx, s, err) < 0) {
        lpo_gpu_nvml_close(&s->nvml);
        return err->code;
    }
    if (pthread_create(&s->thread, NULL, sample_loop, s) != 0) {
        fclose(s->out);
        lpo_gpu_nvml_close(&s->nvml);
        return lpo_fail(err, LPO_E_IO, "cannot start the sampling thread");
    }
    ctx->private = s;
    return 0;
}

static int nvml_collect(struct lpo_stage_ctx *ctx, struct lpo_err *err)
{
    struct sampler *s = ctx->private;
    bool bad;

    atomic_store(&s->stop, true);
    pthread_join(s->thread, NULL);
    bad = ferror(s->out) != 0;
    bad |= fclose(s->out) != 0;
    lpo_gpu_nvml_close(&s->nvml);
    if (bad)
        return lpo_fail(err, LPO_E_IO, "nvml/samples.csv could not be written whole");
    lpo_run_manifest_note(ctx->manifest, ctx->record, "%" PRIu64 " samples of %u GPUs", s->samples,
                          s->count);
    return 0;
}

static const struct lpo_rundir_kind results = {
    .stage = "nvml",
    .what = "the samples of NVML",
    .roles = LPO_ROLE_POWER,
};

const struct lpo_stage lpo_pipeline_nvml = {
    .name = "nvml",
    .summary = "power, clocks and temperature beside the other stages",
    LPO_STAGE_SETTINGS(nvml_settings, fields),
    .results = &results,
    .no_checks = "the driver brings NVML; the check for the GPU covers both",
    .begin = nvml_begin,
    .collect = nvml_collect,
};
