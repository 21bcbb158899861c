/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu/sampler/find.h"

#include <dlfcn.h>
#include <glob.h>

#include "gpu/driver.h"
#include "util/path.h"

enum { PREFIXES_MAX = 32 };

/* Below the folder of a toolkit, and below a Python's packages. */
static const char *const in_toolkit[] = { "extras/CUPTI/lib64", "lib64", "lib" };
static const char *const in_packages[] = { "nvidia/cuda_cupti/lib", "nvidia/cu13/lib" };
static const char *const toolkits[] = { "/usr/local/cuda", "/usr/local/cuda-*", "/opt/cuda" };

static bool load_entries(struct pm_cupti *c)
{
    const struct lpo_gpu_entry entries[] = {
        { &c->version, "cuptiGetVersion", false },
        { &c->result_text, "cuptiGetResultString", true },
        { &c->initialize, "cuptiProfilerInitialize", false },
        { &c->chip_name, "cuptiDeviceGetChipName", false },
        { &c->supported, "cuptiProfilerDeviceSupported", true },
        { &c->availability, "cuptiPmSamplingGetCounterAvailability", false },
        { &c->enable, "cuptiPmSamplingEnable", false },
        { &c->disable, "cuptiPmSamplingDisable", false },
        { &c->set_config, "cuptiPmSamplingSetConfig", false },
        { &c->start, "cuptiPmSamplingStart", false },
        { &c->stop, "cuptiPmSamplingStop", false },
        { &c->data_size, "cuptiPmSamplingGetCounterDataSize", false },
        { &c->data_init, "cuptiPmSamplingCounterDataImageInitialize", false },
        { &c->decode, "cuptiPmSamplingDecodeData", false },
        { &c->data_info, "cuptiPmSamplingGetCounterDataInfo", false },
        { &c->sample_info, "cuptiPmSamplingCounterDataGetSampleInfo", false },
        { &c->host_initialize, "cuptiProfilerHostInitialize", false },
        { &c->host_deinitialize, "cuptiProfilerHostDeinitialize", false },
        { &c->host_add, "cuptiProfilerHostConfigAddMetrics", false },
        { &c->host_size, "cuptiProfilerHostGetConfigImageSize", false },
        { &c->host_image, "cuptiProfilerHostGetConfigImage", false },
        { &c->host_passes, "cuptiProfilerHostGetNumOfPasses", false },
        { &c->host_evaluate, "cuptiProfilerHostEvaluateToGpuValues", false },
    };

    return lpo_gpu_library_load(c->library, entries, sizeof entries / sizeof *entries);
}

/* What was found on the way, for the error. */
struct search {
    struct lpo_arena *a;
    struct pm_cupti *out;
    const char *too_old; /* a libcupti without PM sampling */
};

static bool try_file(struct search *s, const char *path)
{
    struct pm_cupti c = { .library = dlopen(path, RTLD_NOW | RTLD_LOCAL) };

    if (!c.library)
        return false;
    if (load_entries(&c)) {
        *s->out = c;
        return true;
    }
    s->too_old = lpo_arena_strdup(s->a, path);
    dlclose(c.library);
    return false;
}

static bool try_pattern(struct search *s, const char *pattern)
{
    glob_t found = { 0 };
    bool done = false;

    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = found.gl_pathc; !done && i-- > 0;) /* the newest version comes last */
            done = try_file(s, found.gl_pathv[i]);
    globfree(&found);
    return done;
}

static bool try_toolkit(struct search *s, const char *folder, const char *name)
{
    return lpo_any(i, sizeof in_toolkit / sizeof *in_toolkit,
                   try_pattern(s, lpo_arena_printf(s->a, "%s/%s/%s", folder, in_toolkit[i], name)));
}

static bool try_python(struct search *s, const char *prefix, const char *name)
{
    for (size_t i = 0; i < sizeof in_packages / sizeof *in_packages; i++)
        if (try_pattern(s, lpo_arena_printf(s->a, "%s/lib/python3*/*-packages/%s/%s", prefix,
                                            in_packages[i], name)))
            return true;
    return false;
}

/* The environment that is active, then those whose python3 is on PATH. */
static bool try_pythons(struct search *s, const char *name)
{
    static const char *const variables[] = { "VIRTUAL_ENV", "CONDA_PREFIX" };
    const char *path = getenv("PATH"), *home = getenv("HOME");

    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if (getenv(variables[i]) && try_python(s, getenv(variables[i]), name))
            return true;
    for (int n = 0; path && *path && n < PREFIXES_MAX; n++) {
        size_t len = strcspn(path, ":");

        if (len > 4 && memcmp(path + len - 4, "/bin", 4) == 0 &&
            try_python(s, lpo_arena_strndup(s->a, path, len - 4), name))
            return true;
        path += len + (path[len] == ':');
    }
    return home && try_python(s, lpo_arena_printf(s->a, "%s/.local", home), name);
}

static bool try_name(struct search *s, const char *name)
{
    static const char *const homes[] = { "CUDA_HOME", "CUDA_PATH" };

    if (try_file(s, name))
        return true;
    for (size_t i = 0; i < sizeof homes / sizeof *homes; i++)
        if (getenv(homes[i]) && try_toolkit(s, getenv(homes[i]), name))
            return true;
    for (size_t i = 0; i < sizeof toolkits / sizeof *toolkits; i++)
        if (try_toolkit(s, toolkits[i], name))
            return true;
    return try_pythons(s, name);
}

/* CUPTI opens libnvperf_host.so and libnvperf_target.so by name. In a Python package nothing tells
 * the loader where they are; once they are loaded, the name alone finds them. */
static void load_companions(struct lpo_arena *a, const struct pm_cupti *c)
{
    static const char *const names[] = { "libnvperf_host.so", "libnvperf_target.so" };
    const char *path = lpo_sampler_cupti_path(a, c, NULL);
    const char *end = path ? strrchr(path, '/') : NULL;

    for (size_t i = 0; end && i < sizeof names / sizeof *names; i++)
        dlopen(lpo_arena_printf(a, "%.*s/%s", (int)(end - path), path, names[i]),
               RTLD_LAZY | RTLD_LOCAL);
}

int lpo_sampler_cupti_open(struct lpo_arena *a, int driver, struct pm_cupti *out,
                           struct lpo_err *err)
{
    static const char *const newest_first[] = { "libcupti.so.13", "libcupti.so.12" };
    struct search s = { .a = a, .out = out };
    const char *given = getenv("LPO_LIBCUPTI");
    bool found = given && *given ? try_file(&s, given) : false;
    bool old_driver = driver && driver < 13000;

    for (int i = 0; !found && !(given && *given) && i < 2; i++)
        found = try_name(&s, newest_first[old_driver ? 1 - i : i]);
    if (found) {
        load_companions(a, out);
        return 0;
    }
    if (s.too_old)
        return lpo_fail(err, LPO_E_MISSING,
                        "%s is older than CUDA 12.6 and cannot sample counters; install CUPTI of "
                        "CUDA 12.6 or later",
                        s.too_old);
    return lpo_fail(err, LPO_E_MISSING,
                    "libcupti was not found%s%s; install CUPTI of CUDA 12.6 or later (it comes "
                    "with the CUDA toolkit and with PyTorch), or set LPO_LIBCUPTI to its path",
                    given && *given ? ": " : "", given && *given ? given : "");
}

const char *lpo_sampler_cupti_path(struct lpo_arena *a, const struct pm_cupti *c, bool *has_host)
{
    void *symbol;
    const char *path, *end;
    Dl_info info;

    memcpy(&symbol, &c->enable, sizeof symbol);
    if (!dladdr(symbol, &info) || !info.dli_fname)
        return NULL;
    path = lpo_arena_strdup(a, info.dli_fname);
    end = strrchr(path, '/');
    if (has_host)
        *has_host = end && lpo_path_exists(lpo_arena_printf(a, "%.*s/libnvperf_host.so",
                                                            (int)(end - path), path));
    return path;
}

void lpo_sampler_host_close(const struct pm_cupti *c, void *host)
{
    struct pm_object p = { .size = PM_SIZE(pm_object, object), .object = host };

    if (host)
        c->host_deinitialize(&p);
}

/* What the metrics of the host object need: the image, then the number of passes in it. */
static int get_image(const struct pm_cupti *c, void *host, uint8_t **image, size_t *bytes,
                     size_t *passes)
{
    struct pm_host_size size = { .size = PM_SIZE(pm_host_size, bytes), .object = host };
    struct pm_host_image get = { .size = PM_SIZE(pm_host_image, image), .object = host };
    struct pm_host_passes count = { .size = PM_SIZE(pm_host_passes, passes) };
    int rc = c->host_size(&size);

    if (rc != PM_OK)
        return rc;
    *image = lpo_xcalloc(1, size.bytes + 1);
    *bytes = get.bytes = count.bytes = size.bytes;
    get.image = count.image = *image;
    rc = c->host_image(&get);
    if (rc == PM_OK)
        rc = c->host_passes(&count);
    *passes = count.passes;
    return rc;
}

int lpo_sampler_host_configure(const struct pm_cupti *c, const char *chip,
                               const uint8_t *availability, const char **names, size_t count,
                               void **host, uint8_t **image, size_t *bytes)
{
    struct pm_host_initialize init = {
        .size = PM_SIZE(pm_host_initialize, object),
        .type = PM_HOST_TYPE_SAMPLING,
        .chip = chip,
        .availability = availability,
    };
    struct pm_host_add add = { .size = PM_SIZE(pm_host_add, count),
                               .names = names,
                               .count = count };
    size_t passes = 0;
    int rc = c->host_initialize(&init);

    *image = NULL;
    *bytes = 0;
    *host = rc == PM_OK ? init.object : NULL;
    add.object = *host;
    if (rc == PM_OK && count)
        rc = c->host_add(&add);
    if (rc == PM_OK && count)
        rc = get_image(c, *host, image, bytes, &passes);
    return rc == PM_OK ? (int)passes : -rc;
}

int lpo_sampler_host_passes(const struct pm_cupti *c, const char *chip, const uint8_t *availability,
                            const char **names, size_t count)
{
    LPO_FREED uint8_t *image = NULL;
    void *host = NULL;
    size_t bytes;
    int passes =
        lpo_sampler_host_configure(c, chip, availability, names, count, &host, &image, &bytes);

    lpo_sampler_host_close(c, host);
    return passes;
}
