/* SPDX-License-Identifier: Apache-2.0 */
/* A driver and a libcupti in one, for the sampler: it makes samples whose values can be computed,
 * loses some, and fails in each way that is known. FAKE_PM has the modes, FAKE_PM_ROUNDS after how
 * many rounds of decoding it sends this process SIGTERM (5), so that no clock decides a test.
 *
 * Mode "paced" has clocks of its own, for a sampler in this process (test_sampler_budget.c): time
 * passes when the test says so, a round finds the samples of the time since the last one, and CPU
 * time is FAKE_PM_SAMPLE_NS for each sample and FAKE_PM_ROUND_NS for each round. */
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu/sampler/cupti_pm_abi.h"

#include "../collect/fake_devices.h"
#include "fake_pm.h"

enum { PER_ROUND = 100, METRICS = 64, RESTART_NS = 200000000 };

static const uint64_t first_ns = 1794755025000000000u;

static struct {
    bool context, enabled, started;
    uint64_t interval, now_ns;
    size_t sample_bytes;
    unsigned rounds, in_image, room, left;
    uint64_t starts[1 << 16], ends[1 << 16]; /* of the image */
    uint64_t number;                         /* of the next sample */
    bool fresh, overflowed;
    unsigned enables, configured, sized;
    struct fake_pm_clocks clocks; /* paced */
    uint64_t sampled_until;       /* of clocks.wall_ns: what came before was decoded */
    size_t first_image;
} fake = { .now_ns = 1794755025000000000u };

static bool mode(const char *name)
{
    const char *modes = getenv("FAKE_PM");
    size_t len = strlen(name);

    for (const char *at = modes; at && (at = strstr(at, name)); at += len)
        if ((at == modes || at[-1] == ',') && (at[len] == ',' || !at[len]))
            return true;
    return false;
}

static uint64_t number(const char *name)
{
    const char *text = getenv(name);

    return text ? strtoull(text, NULL, 10) : 0;
}

/* --- what the test of the same process asks --- */

struct fake_pm_clocks *fake_pm_clocks(void)
{
    return &fake.clocks;
}

void fake_pm_reset(void)
{
    memset(&fake, 0, sizeof fake);
    fake.now_ns = first_ns;
}

/* --- the driver --- */

EXPORT int cuInit(unsigned flags);
EXPORT int cuDeviceGetAttribute(int *value, int which, int device);
EXPORT int cuDeviceGetUuid(unsigned char *uuid, int device);
EXPORT int cuDevicePrimaryCtxRetain(void **context, int device);
EXPORT int cuCtxSetCurrent(void *context);

int cuInit(unsigned flags)
{
    return mode("no_gpu") ? 100 : (int)flags;
}

int cuDeviceGetAttribute(int *value, int which, int device)
{
    (void)device;
    *value = which == 13 ? 1400000 : 0;
    return which != 13;
}

int cuDeviceGetUuid(unsigned char *uuid, int device)
{
    memset(uuid, 0xa0 + device, 16);
    return 0;
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
    (void)device;
    *context = &fake;
    return 0;
}

int cuCtxSetCurrent(void *context)
{
    fake.context = context == &fake;
    return 0;
}

/* --- CUPTI: what is asked once --- */

#define CALL(name, type) EXPORT int name(struct type *p);

CALL(cuptiProfilerInitialize, pm_initialize)
CALL(cuptiDeviceGetChipName, pm_chip_name)
CALL(cuptiProfilerDeviceSupported, pm_supported)
CALL(cuptiPmSamplingGetCounterAvailability, pm_availability)
CALL(cuptiPmSamplingEnable, pm_enable)
CALL(cuptiPmSamplingDisable, pm_object)
CALL(cuptiPmSamplingSetConfig, pm_set_config)
CALL(cuptiPmSamplingStart, pm_object)
CALL(cuptiPmSamplingStop, pm_object)
CALL(cuptiPmSamplingGetCounterDataSize, pm_data_size)
CALL(cuptiPmSamplingCounterDataImageInitialize, pm_data_init)
CALL(cuptiPmSamplingDecodeData, pm_decode)
CALL(cuptiPmSamplingGetCounterDataInfo, pm_data_info)
CALL(cuptiPmSamplingCounterDataGetSampleInfo, pm_sample_info)
CALL(cuptiProfilerHostInitialize, pm_host_initialize)
CALL(cuptiProfilerHostDeinitialize, pm_object)
CALL(cuptiProfilerHostConfigAddMetrics, pm_host_add)
CALL(cuptiProfilerHostGetConfigImageSize, pm_host_size)
CALL(cuptiProfilerHostGetConfigImage, pm_host_image)
CALL(cuptiProfilerHostGetNumOfPasses, pm_host_passes)
CALL(cuptiProfilerHostEvaluateToGpuValues, pm_host_evaluate)
EXPORT int cuptiGetVersion(uint32_t *version);
EXPORT int cuptiGetResultString(int result, const char **text);

/* Every caller must give the size that ends with the last member, and nothing private. */
#define RIGHT(type, last)                                                                          \
    if (p->size != PM_SIZE(type, last) || p->priv)                                                 \
    return PM_INVALID_PARAMETER

int cuptiGetVersion(uint32_t *version)
{
    *version = 130000;
    return 0;
}

int cuptiGetResultString(int result, const char **text)
{
    *text = result == PM_ERROR_UNKNOWN ? "CUPTI_ERROR_UNKNOWN" : "CUPTI_ERROR_OTHER";
    return 0;
}

int cuptiProfilerInitialize(struct pm_initialize *p)
{
    RIGHT(pm_initialize, priv);
    return mode("no_host_library") ? PM_ERROR_UNKNOWN : PM_OK;
}

int cuptiDeviceGetChipName(struct pm_chip_name *p)
{
    RIGHT(pm_chip_name, chip);
    p->chip = mode("volta") ? "GV100" : mode("turing") ? "TU102" : "GH100";
    return PM_OK;
}

int cuptiProfilerDeviceSupported(struct pm_supported *p)
{
    RIGHT(pm_supported, api);
    p->all = p->architecture = p->sli = p->vgpu = p->confidential = p->mining = p->wsl =
        PM_SUPPORTED;
    if (mode("vgpu_off"))
        p->vgpu = PM_DISABLED;
    if (mode("confidential"))
        p->confidential = PM_UNSUPPORTED;
    return PM_OK;
}

int cuptiPmSamplingGetCounterAvailability(struct pm_availability *p)
{
    static const struct {
        const char *mode;
        int result;
    } refusals[] = {
        { "no_permission", PM_NO_PERMISSION }, { "mig", PM_MIG },
        { "virtual", PM_VIRTUAL_GPU },         { "vgpu_off", PM_ERROR_UNKNOWN },
        { "confidential", PM_ERROR_UNKNOWN },  { "unknown_error", PM_ERROR_UNKNOWN },
        { "old_driver", PM_NOT_COMPATIBLE },
    };

    RIGHT(pm_availability, image);
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        if (mode(refusals[i].mode))
            return refusals[i].result;
    if (mode("context") && !fake.context)
        return PM_INVALID_CONTEXT;
    if (p->image)
        memset(p->image, 0x5a, p->bytes);
    p->bytes = 128;
    return PM_OK;
}

/* --- the host object: a list of names --- */

struct host {
    char names[METRICS][128];
    size_t count;
};

int cuptiProfilerHostInitialize(struct pm_host_initialize *p)
{
    RIGHT(pm_host_initialize, object);
    if (mode("unknown_chip"))
        return PM_INVALID_CHIP;
    if (p->type != PM_HOST_TYPE_SAMPLING || !p->chip || !p->availability ||
        p->availability[0] != 0x5a)
        return PM_INVALID_PARAMETER;
    p->object = calloc(1, sizeof(struct host));
    return PM_OK;
}

int cuptiProfilerHostDeinitialize(struct pm_object *p)
{
    RIGHT(pm_object, object);
    free(p->object);
    return PM_OK;
}

static bool known(const char *name)
{
    if (mode("no_nvlink") && strncmp(name, "nvl", 3) == 0)
        return false;
    if (mode("op_names") && strncmp(name, "dram__bytes_read", 16) == 0)
        return false;
    return strstr(name, "__") && !strstr(name, "unheard");
}

int cuptiProfilerHostConfigAddMetrics(struct pm_host_add *p)
{
    struct host *h = p->object;

    RIGHT(pm_host_add, count);
    for (size_t i = 0; i < p->count; i++) {
        if (!known(p->names[i]) || h->count == METRICS)
            return PM_INVALID_PARAMETER; /* as CUPTI 13.0 does for a name that it does not know */
        snprintf(h->names[h->count++], sizeof h->names[0], "%s", p->names[i]);
    }
    return PM_OK;
}

int cuptiProfilerHostGetConfigImageSize(struct pm_host_size *p)
{
    RIGHT(pm_host_size, bytes);
    p->bytes = 8;
    return PM_OK;
}

int cuptiProfilerHostGetConfigImage(struct pm_host_image *p)
{
    struct host *h = p->object;

    RIGHT(pm_host_image, image);
    memcpy(p->image, &h->count, 8);
    return PM_OK;
}

int cuptiProfilerHostGetNumOfPasses(struct pm_host_passes *p)
{
    size_t count;

    RIGHT(pm_host_passes, passes);
    memcpy(&count, p->image, 8);
    p->passes = mode("few_counters") && count > 3 ? 2 : 1;
    return PM_OK;
}

/* Metric k of sample n is 1000 * n + k, so that a wrong order is seen. */
int cuptiProfilerHostEvaluateToGpuValues(struct pm_host_evaluate *p)
{
    struct host *h = p->object;
    uint64_t n = (fake.starts[p->index] - first_ns) / fake.interval;
    uint64_t length = fake.ends[p->index] - fake.starts[p->index];

    RIGHT(pm_host_evaluate, values);
    if (mode("no_values") && n % 10 == 3)
        return PM_ERROR_UNKNOWN;
    for (size_t i = 0; i < p->count; i++) {
        if (strcmp(h->names[i], p->names[i]) != 0)
            return PM_INVALID_PARAMETER;
        p->values[i] = mode("nan") && i == 1 ? NAN : (double)(1000 * n + i);
        if (mode("paced")) /* 3 bytes in a nanosecond, or 30 % of it */
            p->values[i] = strstr(p->names[i], "pct") ? 30.0 : 3.0 * (double)length;
    }
    return PM_OK;
}

/* --- sampling --- */

int cuptiPmSamplingEnable(struct pm_enable *p)
{
    RIGHT(pm_enable, object);
    if (mode("busy") || fake.enabled)
        return PM_INVALID_OPERATION;
    if (mode("no_restart") && fake.rounds)
        return PM_ERROR_UNKNOWN;
    fake.enabled = true;
    fake.overflowed = false;
    fake.enables++;
    p->object = &fake;
    return PM_OK;
}

int cuptiPmSamplingDisable(struct pm_object *p)
{
    RIGHT(pm_object, object);
    fake.enabled = fake.started = false;
    fake.left = fake.in_image = 0;
    return PM_OK;
}

int cuptiPmSamplingSetConfig(struct pm_set_config *p)
{
    bool turing = mode("turing");
    size_t want =
        mode("cuda12_6") ? PM_SIZE(pm_set_config, trigger) : PM_SIZE(pm_set_config, append);

    if (p->size != want || p->priv || p->object != &fake)
        return PM_INVALID_PARAMETER;
    if (p->trigger != (turing ? PM_TRIGGER_SYSCLK : PM_TRIGGER_TIME))
        return PM_NOT_SUPPORTED;
    fake.interval = turing ? p->interval * 1000 / 1400 : p->interval;
    fake.configured = fake.enables;
    return PM_OK;
}

/* By number of metrics: the first and the last as CUPTI 13.0 gives them for an H200, the others
 * between them. */
static size_t bytes_of_sample(size_t metrics)
{
    static const size_t h200[] = { 1638, 3200, 9000, 15400, 16600, 17300, 17900 };
    const size_t most = sizeof h200 / sizeof *h200;

    if (mode("h200"))
        return h200[metrics < most ? metrics - 1 : most - 1];
    return metrics * (mode("heavy") ? 4000 : 500);
}

int cuptiPmSamplingGetCounterDataSize(struct pm_data_size *p)
{
    RIGHT(pm_data_size, bytes);
    if (mode("no_size") && !fake.interval)
        return PM_INVALID_OPERATION; /* not before the configuration is set */
    if (fake.started)
        return PM_ERROR_UNKNOWN; /* as CUPTI 13.0 then says of the image */
    fake.sized = fake.enables;
    fake.sample_bytes = bytes_of_sample(p->count);
    p->bytes = p->samples * fake.sample_bytes;
    return PM_OK;
}

int cuptiPmSamplingCounterDataImageInitialize(struct pm_data_init *p)
{
    RIGHT(pm_data_init, image);
    if (!fake.first_image)
        fake.first_image = p->bytes;
    if (p->bytes > fake.first_image)
        return PM_INVALID_OPERATION; /* CUPTI 13.0 takes no second, larger image */
    if (fake.sized != fake.enables)
        return PM_INVALID_OPERATION; /* as CUPTI 13.0 says of a new object */
    fake.in_image = 0;
    return PM_OK;
}

int cuptiPmSamplingStart(struct pm_object *p)
{
    RIGHT(pm_object, object);
    if (fake.started)
        return PM_INVALID_OPERATION;
    /* after an overflow CUPTI 13.0 wants to be enabled and set up again */
    if (fake.overflowed || fake.configured != fake.enables)
        return PM_ERROR_UNKNOWN;
    fake.started = fake.fresh = true;
    if (fake.enables > 1)
        fake.clocks.wall_ns += RESTART_NS;
    fake.sampled_until = (uint64_t)fake.clocks.wall_ns;
    return PM_OK;
}

int cuptiPmSamplingStop(struct pm_object *p)
{
    RIGHT(pm_object, object);
    fake.started = false;
    return PM_OK;
}

static void add_record(uint64_t start, uint64_t end)
{
    fake.starts[fake.in_image] = start;
    fake.ends[fake.in_image++] = end;
    fake.now_ns = end;
}

/* What one round finds: PER_ROUND samples; after a start first the record of the time before it;
 * after the stop a few more. */
static void begin_round(void)
{
    const char *most = getenv("FAKE_PM_ROUNDS");

    fake.rounds++;
    fake.left = fake.started ? PER_ROUND : mode("backlog") ? 50 * PER_ROUND : PER_ROUND / 5;
    if (mode("late") && fake.rounds == 3)
        fake.left = 2 * PER_ROUND;
    if (mode("paced")) {
        fake.left =
            (unsigned)(((uint64_t)fake.clocks.wall_ns - fake.sampled_until) / fake.interval);
        fake.sampled_until += fake.left * fake.interval;
        fake.clocks.cpu_ns +=
            (int64_t)(fake.left * number("FAKE_PM_SAMPLE_NS") + number("FAKE_PM_ROUND_NS"));
    }
    if (fake.rounds == (unsigned)atoi(most ? most : "5"))
        kill(getpid(), SIGTERM);
    if (fake.rounds == 3 && mode("gap"))
        fake.now_ns += 7 * fake.interval;
    if (fake.rounds == 3 && mode("long_record"))
        add_record(fake.now_ns, fake.now_ns + 20 * fake.interval);
}

int cuptiPmSamplingDecodeData(struct pm_decode *p)
{
    RIGHT(pm_decode, overflow);
    p->overflow = 0;
    fake.room = mode("small_image") ? 30 : (unsigned)(p->bytes / fake.sample_bytes);
    if (!fake.left)
        begin_round();
    if (mode("decode_error") && fake.rounds == 3)
        return PM_ERROR_UNKNOWN;
    if (fake.fresh) {
        uint64_t lost = fake.rounds > 1 ? 40 * fake.interval : 0;

        if (mode("paced")) /* until the first of the samples that this round has */
            lost = first_ns + fake.sampled_until - fake.left * fake.interval - fake.now_ns;
        fake.fresh = false;
        /* the first covers the time before sampling, the one after a restart what was lost */
        add_record(fake.rounds > 1 ? fake.now_ns : fake.now_ns - 3000000000u, fake.now_ns + lost);
    }
    if (mode("overflow") && fake.started && fake.enables == 1 && fake.rounds == 3) {
        for (int i = 0; i < 10; i++)
            add_record(fake.now_ns, fake.now_ns + fake.interval);
        fake.overflowed = true;
        fake.left = 0;
        p->overflow = 1;
        return PM_OUT_OF_MEMORY;
    }
    while (fake.left && fake.in_image < fake.room) {
        add_record(fake.now_ns, fake.now_ns + fake.interval);
        fake.left--;
    }
    fake.clocks.full += fake.left > 0;
    p->stopped_by = fake.left ? PM_STOP_IMAGE_FULL : PM_STOP_END_OF_RECORDS;
    if (mode("late") && fake.left) /* CUPTI 13.0 loses those that were not complete */
        fake.now_ns += 30 * fake.interval;
    return PM_OK;
}

int cuptiPmSamplingGetCounterDataInfo(struct pm_data_info *p)
{
    RIGHT(pm_data_info, completed);
    p->total = fake.room;
    p->populated = p->completed = fake.in_image;
    return PM_OK;
}

int cuptiPmSamplingCounterDataGetSampleInfo(struct pm_sample_info *p)
{
    RIGHT(pm_sample_info, end_ns);
    p->start_ns = fake.starts[p->index];
    p->end_ns = fake.ends[p->index];
    return PM_OK;
}
