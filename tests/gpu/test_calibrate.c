/* SPDX-License-Identifier: Apache-2.0 */
/* Calibration against a driver that keeps time by itself, and what comes of it. */
#include <math.h>
#include <unistd.h>

#include "../unit.h"
#include "gpu/calibrate.h"
#include "gpu/sheets.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/path.h"

static void check_measures(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_calibration c;
    struct lpo_err err = { 0 };

    (void)state;
    if (lpo_gpu_calibrate(a, 0, 0.05, &c, &err) < 0)
        fail_msg("%s", lpo_err_cause(&err));
    assert_string_equal(c.gpu, "NVIDIA H200");
    assert_true(fabs(c.bandwidth / (2.0 * (1 << 30) / 0.5e-3) - 1) < 1e-3);
    assert_true(fabs(c.flops[LPO_BF16] / (2.0 * 8192 * 8192 * 8192 / 1.4e-3) - 1) < 1e-3);
    assert_true(c.flops[LPO_FP32] == 0); /* refused, which is not 0 TFLOP/s */
    for (int i = 0; i < LPO_CALIBRATION_SHAPES; i++) {
        const struct lpo_calibration_shape *s = &c.shapes[i];

        assert_true(fabs(s->seconds / (20e-6 + 2.0 * s->m * s->n * s->k / 700e12) - 1) < 1e-3);
    }
}

static void check_no_such_gpu(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_calibration c;
    struct lpo_err err = { 0 };

    (void)state;
    assert_int_equal(lpo_gpu_calibrate(a, 1, 0.05, &c, &err), LPO_E_MISSING);
}

static void check_no_driver(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const char *was = getenv("LPO_LIBCUDA");
    char *kept = strdup(was ? was : "");
    struct lpo_calibration c;
    struct lpo_err err = { 0 };

    (void)state;
    setenv("LPO_LIBCUDA", "/nowhere/libcuda.so", 1);
    assert_int_equal(lpo_gpu_calibrate(a, 0, 0.05, &c, &err), LPO_E_MISSING);
    setenv("LPO_LIBCUDA", kept, 1);
    free(kept);
}

/* What was written is what the entry then uses, with the sheet still behind it. */
static void check_round_trip(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    char dir[] = "/tmp/lpo-calibrate-XXXXXX";
    const char *dirs[] = { dir, NULL, NULL }, *path = NULL;
    struct lpo_calibration c = { .gpu = "NVIDIA H200", .bandwidth = 4.3e12 };
    struct lpo_hardware hw;
    struct lpo_err err = { 0 };

    (void)state;
    assert_non_null(mkdtemp(dir));
    dirs[1] = lpo_path_join(a, unit_env("LPO_SOURCE_ROOT", "."), "conf");
    c.flops[LPO_BF16] = 785e12;
    assert_int_equal(lpo_gpu_calibration_write(a, dir, "h200_sxm", &c, &path, &err), 0);
    assert_int_equal(lpo_gpu_hardware_read(a, dirs, "h200_sxm", &hw, &err), 0);
    assert_string_equal(hw.source, "measured");
    assert_true(hw.flops[LPO_BF16] == 785e12 && hw.bandwidth == 4.3e12);
    assert_true(hw.flops[LPO_FP8] == 1979e12); /* not measured: the sheet's */
    assert_true(lpo_gpu_hardware_sheet(&hw)->flops[LPO_BF16] == 989e12);
    unlink(path);
    rmdir(lpo_path_join(a, dir, "hardware"));
    rmdir(dir);
}

int main(void)
{
    struct unit u = { 0 };

    setenv("LPO_LIBCUDA", FAKE_CUDA, 1);
    setenv("LPO_LIBCUBLAS", FAKE_CUDA, 1);
    UNIT_TEST(&u, check_measures);
    UNIT_TEST(&u, check_no_such_gpu);
    UNIT_TEST(&u, check_no_driver);
    UNIT_TEST(&u, check_round_trip);
    return unit_run(&u);
}
