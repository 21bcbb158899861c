/* SPDX-License-Identifier: Apache-2.0 */
/* This machine as a hardware entry, and what lpo says where there is no driver. */
#include <math.h>

#include "../unit.h"
#include "gpu/driver.h"
#include "gpu/sheets.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/path.h"

static const char *const *conf_dirs(struct lpo_arena *a)
{
    const char **dirs = lpo_arena_array(a, 2, sizeof *dirs);

    dirs[0] = lpo_path_join(a, unit_env("LPO_SOURCE_ROOT", "."), "conf");
    return dirs;
}

static void check_this_gpu(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_hardware hw;

    (void)state;
    setenv("LPO_LIBCUDA", FAKE_CUDA, 1);
    assert_true(lpo_gpu_hardware_this_gpu(a, conf_dirs(a), 0, &hw));
    assert_string_equal(hw.name, "h200_sxm");
    assert_true(hw.memory == 150.0 * (1 << 30)); /* the device's own, not the sheet's */
    assert_true(hw.l2_bytes == 62914560);
}

static const struct find_case {
    const char *name, *word, *driver;
    const char *tflops, *gbs; /* MFU_PEAK_*; NULL: not set */
    int code;
    const char *entry, *source;
    double bandwidth; /* 0: any */
} finds[] = {
    { "this is the GPU that is here", "this", FAKE_CUDA, NULL, NULL, 0, "h200_sxm", "sheet", 0 },
    { "this is the CPU where no driver is", "this", "/no/driver", NULL, NULL, 0, "cpu", "measured",
      0 },
    { "cpu is the CPU in any case", "cpu", FAKE_CUDA, NULL, NULL, 0, "cpu", "measured", 0 },
    { "an entry", "a10", "/no/driver", NULL, NULL, 0, "a10", "sheet", 600e9 },
    { "a GPU's name", "NVIDIA H100 PCIe", "/no/driver", NULL, NULL, 0, "h100_pcie", "sheet", 0 },
    { "the environment wins", "a10", "/no/driver", NULL, "123", 0, "a10", "given in MFU_PEAK_*",
      123e9 },
    { "an unreadable ceiling is no ceiling", "a10", "/no/driver", "fast", "-1", 0, "a10", "sheet",
      600e9 },
    { "an unknown word", "z9000", "/no/driver", NULL, NULL, LPO_E_CONFIG, NULL, NULL, 0 },
};

static void set_or_unset(const char *variable, const char *value)
{
    if (value)
        setenv(variable, value, 1);
    else
        unsetenv(variable);
}

static void check_find(void **state)
{
    const struct find_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_hardware hw = { 0 };
    struct lpo_err err = { 0 };

    setenv("LPO_LIBCUDA", c->driver, 1);
    set_or_unset("MFU_PEAK_TFLOPS", c->tflops);
    set_or_unset("MFU_PEAK_GBS", c->gbs);
    assert_int_equal(lpo_gpu_hardware_find(a, conf_dirs(a), c->word, &hw, &err), c->code);
    set_or_unset("MFU_PEAK_TFLOPS", NULL);
    set_or_unset("MFU_PEAK_GBS", NULL);
    if (c->code == 0) {
        assert_string_equal(hw.name, c->entry);
        assert_string_equal(hw.source, c->source);
        assert_true(c->bandwidth == 0 || hw.bandwidth == c->bandwidth);
    }
}

/* A library that is there and lacks the entry points is refused, not called. */
static const struct library_case {
    const char *name, *library;
    bool driver;
    const char *why; /* what the list of GPUs says */
} libraries[] = {
    { "no such file", "/no/driver", false, "no NVIDIA driver" },
    { "a library without the calls", "libm.so.6", false, "too old" },
    { "a driver, which is not NVML", FAKE_CUDA, true, "too old" },
};

static void check_library(void **state)
{
    const struct library_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_gpu_driver d;
    struct lpo_gpus gpus;

    setenv("LPO_LIBCUDA", c->library, 1);
    setenv("LPO_NVML", c->library, 1);
    assert_int_equal(lpo_gpu_driver_open(&d), c->driver);
    lpo_gpu_driver_close(&d); /* fine where there is nothing to close */
    lpo_gpu_list(a, &gpus);
    assert_int_equal(gpus.len, 0);
    assert_null(gpus.driver);
    assert_non_null(strstr(gpus.why, c->why));
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_TEST(&u, check_this_gpu);
    UNIT_ROWS(&u, finds, check_find);
    UNIT_ROWS(&u, libraries, check_library);
    return unit_run(&u);
}
