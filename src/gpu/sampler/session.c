/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu/sampler/session.h"

#include <time.h>

#include "gpu/driver.h"
#include "gpu/sampler/budget.h"
#include "gpu/sampler/cupti_pm_abi.h"
#include "gpu/sampler/find.h"

/* --- what a result of CUPTI means for the user, and what helps -------------------------------- */

#define SHARE                                                                                      \
    "another program holds the GPU's counters (ncu, nsys with GPU metrics, DCGM, another lpo): "   \
    "end "                                                                                         \
    "it and run again"

static const struct {
    int result;
    const char *text;
} texts[] = {
    { PM_NO_PERMISSION,
      "this user may not read the GPU's counters: run as root (in a container with "
      "--cap-add=SYS_ADMIN), or load the driver with NVreg_RestrictProfilingToAdminUsers=0" },
    { PM_VIRTUAL_NO_PERMISSION, "profiling is not switched on for this virtual GPU: the "
                                "administrator of the host can do it" },
    { PM_VIRTUAL_GPU, "this is a virtual GPU, whose counters cannot be read" },
    { PM_MIG, "the GPU is divided (MIG): its counters can be read only while MIG is off" },
    { PM_CONFIDENTIAL, "confidential computing is on: the GPU's counters cannot be read" },
    { PM_MINING, "this is a mining processor (CMP), whose counters cannot be read" },
    { PM_SLI, "SLI is on: switch it off to read the GPU's counters" },
    { PM_WSL, "the GPU's counters cannot be read under WSL" },
    { PM_HARDWARE_BUSY, SHARE },
    { PM_OUT_OF_MEMORY, "there is no memory for the buffer of the counters" },
    { PM_INVALID_CHIP, "this libcupti does not know the chip: install a newer CUPTI" },
    { PM_NOT_COMPATIBLE, "this libcupti and the driver are not compatible: install a newer driver, "
                         "or set LPO_LIBCUPTI to a libcupti of the driver's CUDA version" },
    { PM_OLD_PROFILER, "another profiler of CUPTI's older interface is in use: " SHARE },
    { PM_NOT_SUPPORTED, "this GPU or its driver cannot sample counters" },
};

/* Where the result itself says nothing. */
static const char *text_of_device(const struct pm_cupti *c, int device)
{
    struct pm_supported p = {
        .size = PM_SIZE(pm_supported, api),
        .device = device,
        .api = PM_API_SAMPLING,
    };
    const struct {
        const int *level;
        const char *unsupported, *disabled;
    } reasons[] = {
        { &p.architecture, "the GPU is older than Turing, and counters are sampled since Turing",
          NULL },
        { &p.vgpu, "this is a virtual GPU, whose counters cannot be read",
          "profiling is not switched on for this virtual GPU: the administrator of the host can "
          "do it" },
        { &p.confidential, "confidential computing is on: the GPU's counters cannot be read",
          NULL },
        { &p.mining, "this is a mining processor (CMP), whose counters cannot be read", NULL },
        { &p.wsl, "the GPU's counters cannot be read under WSL", NULL },
        { &p.sli, "SLI is on: switch it off to read the GPU's counters", NULL },
    };

    if (device < 0 || !c->supported || c->supported(&p) != PM_OK)
        return NULL;
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        if (*reasons[i].level == PM_UNSUPPORTED)
            return reasons[i].unsupported;
        if (*reasons[i].level == PM_DISABLED && reasons[i].disabled)
            return reasons[i].disabled;
    }
    return NULL;
}

/* Fails with LPO_E_MISSING and one line. `call` is the function that gave `result`; `device` is
 * asked for reasons (a virtual GPU, confidential computing) where the result has none. */
static int explain_problem(const struct pm_cupti *c, const char *call, int result, int device,
                           struct lpo_err *err)
{
    const char *name = NULL, *why;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].result == result)
            return lpo_fail(err, LPO_E_MISSING, "%s", texts[i].text);
    why = text_of_device(c, device);
    if (why)
        return lpo_fail(err, LPO_E_MISSING, "%s", why);
    if (!c->result_text || c->result_text(result, &name) != PM_OK || !name)
        name = "an unknown result";
    return lpo_fail(err, LPO_E_MISSING,
                    "%s returned %s (%d), an error that lpo does not know: no counters are sampled",
                    call, name, result);
}

enum {
    /* samples: emptying an image costs by its size, used or not; and two of the longest rounds */
    IMAGE_LEAST = 2 * LPO_SAMPLER_LONGEST_ROUND_MS / LPO_SAMPLER_LONGEST_INTERVAL_MS,
    IMAGE_MOST = 4096,
    LATE_ROUNDS = 8,            /* so many rounds' samples find room in the image for late ones */
    SIZE_ASKED = 256,           /* samples of the image whose size is asked to learn that of one */
    BUFFER_BYTES = 256 << 20,   /* of the hardware: about a second on a large GPU */
    IMAGE_BYTES_MAX = 1 << 30,  /* of decoded samples */
    IMAGES_PER_DECODE = 64,     /* then the caller has a look at the clock */
    CLOCK_KHZ = 13,             /* CUdevice_attribute */
    DEFAULT_CLOCK_KHZ = 1500000 /* where the driver does not say */
};

struct driver {
    void *library;
    int (*init)(unsigned flags);
    int (*version)(int *version);
    int (*count)(int *count);
    int (*get)(int *device, int ordinal);
    int (*name)(char *text, int len, int device);
    int (*attribute)(int *value, int which, int device);
    int (*uuid)(unsigned char *uuid, int device);
    int (*retain)(void **context, int device);
    int (*set_current)(void *context);
};

struct lpo_sampler_session {
    struct lpo_arena *a;
    struct lpo_sampler_gpu gpu;
    struct driver driver;
    struct pm_cupti cupti;
    int device;
    int handle; /* of the driver */
    uint8_t *availability, *config, *image;
    size_t config_bytes, image_bytes;
    size_t buffer_bytes;    /* of the hardware */
    uint32_t image_asked;   /* as asked for; 0: by the rounds */
    uint32_t image_samples; /* at most so many in an image */
    struct lpo_sampler_costs costs;
    void *host, *object;
    const char *names[LPO_COUNTERS_METRICS_MAX];
    bool running;
};

static int64_t clock_ns(clockid_t which)
{
    struct timespec t;

    clock_gettime(which, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int problem(const struct lpo_sampler_session *s, const char *call, int result,
                   struct lpo_err *err)
{
    return explain_problem(&s->cupti, call, result, s->handle, err);
}

/* --- the driver and the library --- */

static int open_driver(struct lpo_sampler_session *s, struct lpo_err *err)
{
    static const char *const names[] = { "libcuda.so.1", NULL };
    struct driver *d = &s->driver;
    const struct lpo_gpu_entry entries[] = {
        { &d->init, "cuInit", false },
        { &d->version, "cuDriverGetVersion", false },
        { &d->count, "cuDeviceGetCount", false },
        { &d->get, "cuDeviceGet", false },
        { &d->name, "cuDeviceGetName", false },
        { &d->attribute, "cuDeviceGetAttribute", false },
        { &d->uuid, "cuDeviceGetUuid", true },
        { &d->retain, "cuDevicePrimaryCtxRetain", true },
        { &d->set_current, "cuCtxSetCurrent", true },
    };
    int count = 0, rc;

    d->library = lpo_gpu_library_open("LPO_LIBCUDA", names);
    if (!d->library)
        return lpo_fail(err, LPO_E_MISSING, "there is no NVIDIA driver here");
    if (!lpo_gpu_library_load(d->library, entries, sizeof entries / sizeof *entries))
        return lpo_fail(err, LPO_E_MISSING, "the NVIDIA driver is too old: install a newer one");
    rc = d->init(0);
    if (rc != 0)
        return lpo_fail(err, LPO_E_MISSING, "the NVIDIA driver finds no GPU (cuInit gave %d)", rc);
    d->version(&s->gpu.driver);
    if (d->count(&count) != 0 || s->device >= count || d->get(&s->handle, s->device) != 0)
        return lpo_fail(err, LPO_E_MISSING, "there is no GPU %d: CUDA sees %d here", s->device,
                        count);
    return 0;
}

static void ask_driver(struct lpo_sampler_session *s)
{
    unsigned char id[16];
    char text[256] = "";

    if (s->driver.name(text, sizeof text - 1, s->handle) == 0)
        s->gpu.name = lpo_arena_strdup(s->a, text);
    if (s->driver.uuid && s->driver.uuid(id, s->handle) == 0) {
        char *hex = lpo_arena_alloc(s->a, 33);

        for (int i = 0; i < 16; i++) {
            hex[2 * i] = "0123456789abcdef"[id[i] >> 4];
            hex[2 * i + 1] = "0123456789abcdef"[id[i] & 15];
        }
        s->gpu.uuid = hex;
    }
}

/* A context takes hundreds of MB of the GPU's memory, so one is made only where CUPTI refuses to
 * answer without it. */
static bool make_context(struct lpo_sampler_session *s, int result)
{
    void *context = NULL;

    if (s->gpu.has_context || !s->driver.retain || !s->driver.set_current)
        return false;
    if (result != PM_INVALID_CONTEXT && result != PM_NOT_INITIALIZED &&
        result != PM_INVALID_DEVICE && result != PM_INVALID_PARAMETER)
        return false;
    s->gpu.has_context =
        s->driver.retain(&context, s->handle) == 0 && s->driver.set_current(context) == 0;
    return s->gpu.has_context;
}

static int open_cupti(struct lpo_sampler_session *s, struct lpo_err *err)
{
    struct pm_initialize init = { .size = PM_SIZE(pm_initialize, priv) };
    struct pm_chip_name chip = { .size = PM_SIZE(pm_chip_name, chip), .device = (size_t)s->device };
    bool has_host = true;
    int rc;

    if (lpo_sampler_cupti_open(s->a, s->gpu.driver, &s->cupti, err) < 0)
        return err ? err->code : LPO_E_MISSING;
    s->gpu.cupti_path = lpo_sampler_cupti_path(s->a, &s->cupti, &has_host);
    s->cupti.version(&s->gpu.cupti_version);
    rc = s->cupti.initialize(&init);
    if (rc != PM_OK && !has_host)
        return lpo_fail(err, LPO_E_MISSING,
                        "libnvperf_host.so is not beside %s, which needs it: install CUPTI whole",
                        s->gpu.cupti_path);
    if (rc != PM_OK)
        return problem(s, "cuptiProfilerInitialize", rc, err);
    rc = s->cupti.chip_name(&chip);
    if (rc != PM_OK || !chip.chip)
        return problem(s, "cuptiDeviceGetChipName", rc, err);
    s->gpu.chip = lpo_arena_strdup(s->a, chip.chip);
    if (lpo_sampler_chip_too_old(s->gpu.chip))
        return lpo_fail(err, LPO_E_MISSING,
                        "the GPU (%s) is older than Turing, and counters are sampled since Turing",
                        s->gpu.chip);
    return 0;
}

/* Which counters this very GPU has: some are fused off, and NVLink may not be there. */
static int ask_availability(struct lpo_sampler_session *s, struct lpo_err *err)
{
    struct pm_availability p = { .size = PM_SIZE(pm_availability, image),
                                 .device = (size_t)s->device };
    int rc = s->cupti.availability(&p);

    if (rc != PM_OK && make_context(s, rc))
        rc = s->cupti.availability(&p);
    if (rc != PM_OK)
        return problem(s, "cuptiPmSamplingGetCounterAvailability", rc, err);
    s->availability = lpo_xcalloc(1, p.bytes + 1);
    p.image = s->availability;
    rc = s->cupti.availability(&p);
    return rc == PM_OK ? 0 : problem(s, "cuptiPmSamplingGetCounterAvailability", rc, err);
}

/* --- metrics --- */

static int passes_of(void *ctx, const char **names, size_t count)
{
    struct lpo_sampler_session *s = ctx;

    return lpo_sampler_host_passes(&s->cupti, s->gpu.chip, s->availability, names, count);
}

static int choose_metrics(struct lpo_sampler_session *s, const struct lpo_sampler_ask *ask,
                          struct lpo_err *err)
{
    struct lpo_sampler_choice *c = &s->gpu.metrics;
    const char *none = NULL;
    uint8_t *image = NULL;
    int rc;

    lpo_sampler_choose(s->a, ask->metrics, ask->nmetrics, passes_of, s, c);
    for (size_t i = 0; i < c->len; i++)
        s->names[i] = c->at[i].name;
    if (c->len)
        return 0;
    rc = lpo_sampler_host_configure(&s->cupti, s->gpu.chip, s->availability, &none, 0, &s->host,
                                    &image, &s->config_bytes);
    free(image);
    if (rc < 0) /* not even an empty set */
        return problem(s, "cuptiProfilerHostInitialize", -rc, err);
    return lpo_fail(err, LPO_E_MISSING, "%s has none of the metrics: %s", s->gpu.chip,
                    c->left_out ? c->left_out : "none was asked for");
}

static int configure_host(struct lpo_sampler_session *s, struct lpo_err *err)
{
    int passes =
        lpo_sampler_host_configure(&s->cupti, s->gpu.chip, s->availability, s->names,
                                   s->gpu.metrics.len, &s->host, &s->config, &s->config_bytes);

    if (passes < 0)
        return problem(s, "cuptiProfilerHostGetConfigImage", -passes, err);
    if (passes != 1)
        return lpo_fail(err, LPO_E_MISSING, "the metrics need %d passes", passes);
    return 0;
}

/* --- the hardware --- */

static int enable(struct lpo_sampler_session *s, struct lpo_err *err)
{
    struct pm_enable p = { .size = PM_SIZE(pm_enable, object), .device = (size_t)s->device };
    int rc = s->cupti.enable(&p);

    if (rc != PM_OK && make_context(s, rc))
        rc = s->cupti.enable(&p);
    if (rc == PM_INVALID_OPERATION)
        rc = PM_HARDWARE_BUSY; /* CUPTI's word for: already enabled */
    if (rc != PM_OK)
        return problem(s, "cuptiPmSamplingEnable", rc, err);
    s->object = p.object;
    return 0;
}

/* The bytes of an image for so many samples of the first metrics; 0: CUPTI does not say. */
static size_t size_of_image(struct lpo_sampler_session *s, size_t metrics, uint32_t samples,
                            int *result)
{
    struct pm_data_size p = {
        .size = PM_SIZE(pm_data_size, bytes),
        .object = s->object,
        .names = s->names,
        .count = metrics,
        .samples = samples,
    };

    *result = s->cupti.data_size(&p);
    return *result == PM_OK ? p.bytes : 0;
}

double lpo_sampler_ask_core(const struct lpo_sampler_ask *ask)
{
    return ask->core_millionths < 1000000 ? (double)ask->core_millionths / 1e6 : 0;
}

/* Interval and metrics that the sampler can keep up with; and an interval that was not asked for is
 * what the share of a core is enough for, as far as that is known before the first sample. */
static void settle_cost(struct lpo_sampler_session *s, const struct lpo_sampler_ask *ask)
{
    struct lpo_sampler_choice *c = &s->gpu.metrics;
    size_t bytes[LPO_COUNTERS_METRICS_MAX] = { 0 };
    struct lpo_sampler_offer offer = {
        .bytes = bytes,
        .metrics = c->len,
        .core = lpo_sampler_choice_core(c),
        .interval_ns = ask->interval_ns,
        .least_ns = ask->least_ns,
        .fixed = ask->nmetrics > 0,
    };
    double core = lpo_sampler_ask_core(ask);
    struct lpo_sampler_pace pace;
    struct lpo_sampler_deal deal;
    int result;

    for (size_t i = 0; i < c->len; i++)
        bytes[i] = size_of_image(s, i + 1, SIZE_ASKED, &result) / SIZE_ASKED;
    lpo_sampler_cost_settle(&offer, &deal);
    pace = (struct lpo_sampler_pace){ deal.interval_ns, ask->period_ns };
    if (core > 0 && !ask->interval_ns && deal.share > 0)
        lpo_sampler_pace_lengthen(&pace, deal.share + lpo_sampler_cost_rounds(ask->period_ns),
                                  core);
    s->gpu.interval_ns = pace.interval_ns;
    s->gpu.round_ns = pace.round_ns;
    s->gpu.share = deal.share * (double)deal.interval_ns / (double)pace.interval_ns;
    s->gpu.sample_bytes = bytes[deal.metrics - 1];
    lpo_sampler_choice_cut(s->a, c, deal.metrics);
}

static uint64_t interval_in_clocks(struct lpo_sampler_session *s, int64_t interval_ns)
{
    int khz = 0;

    if (s->driver.attribute(&khz, CLOCK_KHZ, s->handle) != 0 || khz <= 0)
        khz = DEFAULT_CLOCK_KHZ;
    return (uint64_t)((double)interval_ns * khz / 1e6);
}

static int set_config(struct lpo_sampler_session *s, struct lpo_err *err)
{
    struct pm_set_config p = {
        .size = PM_SIZE(pm_set_config, append),
        .object = s->object,
        .config_bytes = s->config_bytes,
        .config = s->config,
        .buffer_bytes = s->buffer_bytes,
        .interval = (uint64_t)s->gpu.interval_ns,
        .trigger = PM_TRIGGER_TIME,
        .append = PM_KEEP_OLDEST,
    };
    int rc;

    s->gpu.counts_clocks = lpo_sampler_chip_counts_clocks(s->gpu.chip);
    if (s->gpu.counts_clocks) {
        p.trigger = PM_TRIGGER_SYSCLK;
        p.interval = s->gpu.interval_clocks = interval_in_clocks(s, s->gpu.interval_ns);
    }
    rc = s->cupti.set_config(&p);
    if (rc == PM_INVALID_PARAMETER) { /* before CUDA 12.8 the struct ended earlier */
        p.size = PM_SIZE(pm_set_config, trigger);
        rc = s->cupti.set_config(&p);
    }
    return rc == PM_OK ? 0 : problem(s, "cuptiPmSamplingSetConfig", rc, err);
}

static int empty_image(struct lpo_sampler_session *s)
{
    struct pm_data_init p = { .size = PM_SIZE(pm_data_init, image),
                              .object = s->object,
                              .bytes = s->image_bytes,
                              .image = s->image };

    return s->cupti.data_init(&p);
}

/* Room for the samples of two rounds: an image that gets full loses the last ones, of which CUPTI
 * has seen only a part, and a round may be late. CUPTI 13.0 takes no second, larger image; a longer
 * pace (budget.h) needs none. */
static uint32_t samples_of_rounds(const struct lpo_sampler_session *s)
{
    int64_t n = s->gpu.round_ns / s->gpu.interval_ns * 2;

    if (s->image_asked)
        return s->image_asked;
    return (uint32_t)(n < IMAGE_LEAST ? IMAGE_LEAST : n > IMAGE_MOST ? IMAGE_MOST : n);
}

/* Asking for the size is what tells CUPTI's object which metrics its images have: a new object
 * refuses an image (CUPTI_ERROR_INVALID_OPERATION) until it has been asked. */
static int make_image(struct lpo_sampler_session *s, struct lpo_err *err)
{
    uint32_t samples = s->image_samples;
    int rc;

    s->image_bytes = size_of_image(s, s->gpu.metrics.len, samples, &rc);
    while (rc == PM_OK && s->image_bytes > IMAGE_BYTES_MAX && samples > IMAGE_LEAST) {
        samples /= 2;
        s->image_bytes = size_of_image(s, s->gpu.metrics.len, samples, &rc);
    }
    if (rc != PM_OK)
        return problem(s, "cuptiPmSamplingGetCounterDataSize", rc, err);
    free(s->image);
    s->image = lpo_xcalloc(1, s->image_bytes + 1);
    rc = empty_image(s);
    return rc == PM_OK ? 0 : problem(s, "cuptiPmSamplingCounterDataImageInitialize", rc, err);
}

int lpo_sampler_session_open(struct lpo_arena *a, const struct lpo_sampler_ask *ask,
                             struct lpo_sampler_session **out, struct lpo_err *err)
{
    struct lpo_sampler_session *s = lpo_xcalloc(1, sizeof *s);

    s->a = a;
    s->device = ask->device;
    s->handle = -1;
    s->buffer_bytes = ask->buffer_bytes ? ask->buffer_bytes : BUFFER_BYTES;
    s->gpu = (struct lpo_sampler_gpu){ .chip = "", .name = "", .uuid = "", .cupti_path = "" };
    if (open_driver(s, err) < 0 || open_cupti(s, err) < 0 || ask_availability(s, err) < 0 ||
        choose_metrics(s, ask, err) < 0 || enable(s, err) < 0) {
        lpo_sampler_session_destroy(s);
        return err ? err->code : LPO_E_MISSING;
    }
    settle_cost(s, ask);
    s->image_asked = ask->image_samples;
    s->image_samples = samples_of_rounds(s);
    if (configure_host(s, err) < 0 || set_config(s, err) < 0 || make_image(s, err) < 0) {
        lpo_sampler_session_destroy(s);
        return err ? err->code : LPO_E_MISSING;
    }
    ask_driver(s);
    *out = s;
    return 0;
}

static void disable(struct lpo_sampler_session *s)
{
    struct pm_object p = { .size = PM_SIZE(pm_object, object), .object = s->object };

    lpo_sampler_session_stop(s, NULL);
    if (s->object)
        s->cupti.disable(&p);
    s->object = NULL;
}

void lpo_sampler_session_destroy(struct lpo_sampler_session *s)
{
    if (!s)
        return;
    disable(s);
    lpo_sampler_host_close(&s->cupti, s->host);
    free(s->availability);
    free(s->config);
    free(s->image);
    free(s); /* the libraries stay: CUPTI and the driver cannot be unloaded */
}

const struct lpo_sampler_gpu *lpo_sampler_session_gpu(const struct lpo_sampler_session *s)
{
    return &s->gpu;
}

int lpo_sampler_session_start(struct lpo_sampler_session *s, struct lpo_err *err)
{
    struct pm_object p = { .size = PM_SIZE(pm_object, object), .object = s->object };
    int rc = s->cupti.start(&p);

    s->running = rc == PM_OK;
    return rc == PM_OK ? 0 : problem(s, "cuptiPmSamplingStart", rc, err);
}

int lpo_sampler_session_stop(struct lpo_sampler_session *s, struct lpo_err *err)
{
    struct pm_object p = { .size = PM_SIZE(pm_object, object), .object = s->object };
    int rc;

    if (!s->running)
        return 0;
    s->running = false;
    rc = s->cupti.stop(&p);
    return rc == PM_OK ? 0 : problem(s, "cuptiPmSamplingStop", rc, err);
}

int lpo_sampler_session_restart(struct lpo_sampler_session *s, const struct lpo_sampler_pace *pace,
                                struct lpo_err *err)
{
    disable(s);
    if (pace) {
        s->gpu.interval_ns = pace->interval_ns;
        s->gpu.round_ns = pace->round_ns;
        s->image_samples = samples_of_rounds(s);
    }
    if (enable(s, err) < 0 || set_config(s, err) < 0 || make_image(s, err) < 0)
        return err ? err->code : LPO_E_MISSING;
    return lpo_sampler_session_start(s, err);
}

/* --- samples --- */

/* Of this thread; CUPTI works on it. */
static int64_t cpu_ns(void)
{
    return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

const struct lpo_sampler_costs *lpo_sampler_session_costs(const struct lpo_sampler_session *s)
{
    return &s->costs;
}

static int give_sample(struct lpo_sampler_session *s, size_t index, lpo_sampler_sink sink,
                       void *ctx, struct lpo_err *err)
{
    double values[LPO_COUNTERS_METRICS_MAX];
    struct pm_sample_info info = {
        .size = PM_SIZE(pm_sample_info, end_ns),
        .object = s->object,
        .image = s->image,
        .bytes = s->image_bytes,
        .index = index,
    };
    struct pm_host_evaluate evaluate = {
        .size = PM_SIZE(pm_host_evaluate, values),
        .object = s->host,
        .image = s->image,
        .bytes = s->image_bytes,
        .index = index,
        .names = s->names,
        .count = s->gpu.metrics.len,
        .values = values,
    };
    int rc = s->cupti.sample_info(&info);

    if (rc != PM_OK)
        return problem(s, "cuptiPmSamplingCounterDataGetSampleInfo", rc, err);
    if (s->cupti.host_evaluate(&evaluate) != PM_OK)
        for (size_t i = 0; i < s->gpu.metrics.len; i++)
            values[i] = NAN; /* the time is known, and that nothing is known about it */
    return sink(ctx, info.start_ns, info.end_ns, values, err);
}

/* One image full of samples. *more: there was no room for all. */
static int decode_image(struct lpo_sampler_session *s, lpo_sampler_sink sink, void *ctx,
                        bool *overflow, bool *more, struct lpo_err *err)
{
    struct pm_decode d = {
        .size = PM_SIZE(pm_decode, overflow),
        .object = s->object,
        .image = s->image,
        .bytes = s->image_bytes,
    };
    struct pm_data_info info = {
        .size = PM_SIZE(pm_data_info, completed),
        .image = s->image,
        .bytes = s->image_bytes,
    };
    int64_t began = cpu_ns(), decoded;
    int rc = s->cupti.decode(&d);

    decoded = cpu_ns();
    s->costs.decode_ns += decoded - began;
    *more = d.stopped_by == PM_STOP_IMAGE_FULL;
    if (rc == PM_OUT_OF_MEMORY || d.overflow)
        *overflow = true; /* what came before the overflow is in the image all the same */
    else if (rc != PM_OK)
        return problem(s, "cuptiPmSamplingDecodeData", rc, err);
    rc = s->cupti.data_info(&info);
    if (rc != PM_OK)
        return problem(s, "cuptiPmSamplingGetCounterDataInfo", rc, err);
    for (size_t i = 0; i < info.completed; i++)
        if (give_sample(s, i, sink, ctx, err) < 0)
            return err ? err->code : LPO_E_MISSING;
    if (info.populated == 0 && info.completed == 0)
        return 0;
    began = cpu_ns();
    s->costs.evaluate_ns += began - decoded;
    rc = empty_image(s);
    s->costs.empty_ns += cpu_ns() - began;
    return rc == PM_OK ? 0 : problem(s, "cuptiPmSamplingCounterDataImageInitialize", rc, err);
}

int lpo_sampler_session_decode(struct lpo_sampler_session *s, lpo_sampler_sink sink, void *ctx,
                               bool *overflow, struct lpo_err *err)
{
    bool more = true;

    *overflow = false;
    for (int i = 0; more && !*overflow && i < IMAGES_PER_DECODE; i++)
        if (decode_image(s, sink, ctx, overflow, &more, err) < 0)
            return err ? err->code : LPO_E_MISSING;
    return more && !*overflow ? 1 : 0;
}
