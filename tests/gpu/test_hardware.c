/* SPDX-License-Identifier: Apache-2.0 */
/* Entries, names and the formula. */
#include <math.h>

#include "../unit.h"
#include "gpu/hardware.h"
#include "gpu/sheets.h"
#include "run/provenance.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/json.h"
#include "util/path.h"
#include "util/str.h"

static const char **conf_dirs(struct lpo_arena *a)
{
    const char **dirs = lpo_arena_array(a, 2, sizeof *dirs);

    dirs[0] = lpo_path_join(a, unit_env("LPO_SOURCE_ROOT", "."), "conf");
    return dirs;
}

static const struct name_case {
    const char *name, *entry; /* NULL: unknown, to be computed */
} names[] = {
    { "NVIDIA H100 80GB HBM3", "h100_sxm" },
    { "NVIDIA H100 PCIe", "h100_pcie" },
    { "NVIDIA H100 NVL", "h100_nvl" },
    { "NVIDIA A100-SXM4-80GB", "a100_80_sxm" },
    { "NVIDIA A100-SXM4-40GB", "a100_40_sxm" },
    { "NVIDIA A100-PCIE-40GB", "a100_40_pcie" },
    { "NVIDIA A100 80GB PCIe", "a100_80_pcie" },
    { "NVIDIA GeForce RTX 4090", "rtx4090" },
    { "NVIDIA GeForce RTX 4090 Laptop GPU", NULL },
    { "NVIDIA GeForce RTX 3090 Ti", NULL },
    { "NVIDIA GeForce RTX 3090", "rtx3090" },
    { "NVIDIA RTX 6000 Ada Generation", "rtx6000_ada" },
    { "NVIDIA H200", "h200_sxm" },
    { "NVIDIA H20", "h20" },
    { "NVIDIA L4", "l4" },
    { "NVIDIA L40S", "l40s" },
    { "NVIDIA L40", NULL },
    { "Tesla T4", "t4" },
    { "Tesla V100-SXM2-16GB", "v100_sxm2" },
    { "Tesla V100-PCIE-32GB", "v100_pcie" },
    { "NVIDIA A10", "a10" },
    { "NVIDIA A10G", NULL },
    { "NVIDIA B200", "b200" },
    { "NVIDIA GB200", "gb200" },
    { "NVIDIA GeForce RTX 5090", "rtx5090" },
    { "NVIDIA B300 SXM6 AC", "b300" },
    { "NVIDIA GB300", "gb300" },
    { "NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx_pro_6000" },
    { "AMD Instinct MI300X VF", "mi300x" },
    { "AMD Instinct MI325X", "mi325x" },
    { "AMD Instinct MI355X", "mi355x" },
    { "AMD Instinct MI250X/MI250", "mi250x" },
    { "AMD Instinct MI210", "mi210" },
    { "AMD Instinct MI100", NULL },
};

static void check_name(void **state)
{
    const struct name_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const char *const *dirs = (const char *const *)conf_dirs(a);
    struct lpo_hardware hw = { 0 };
    bool found = lpo_gpu_hardware_match(a, dirs, c->name, &hw);

    assert_int_equal(found, c->entry != NULL);
    if (found)
        assert_string_equal(hw.name, c->entry);
}

/* Sheets follow the formula within 1.5 %, but for those that docs/hardware.md names. */
static void check_sheets_follow_the_formula(void **state)
{
    static const char *const exceptions[] = { "h20", "gb200", "gb300", "b300" };
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const char *const *dirs = (const char *const *)conf_dirs(a);
    const char **entries = lpo_gpu_hardware_list(a, dirs);
    int checked = 0;

    (void)state;
    for (; *entries; entries++) {
        struct lpo_hardware hw, formula;
        struct lpo_err err = { 0 };
        struct lpo_gpu_attributes gpu;
        bool except;

        if (lpo_gpu_hardware_read(a, dirs, *entries, &hw, &err) < 0)
            fail_msg("%s", lpo_err_cause(&err));
        except = hw.cc_major == 0; /* not NVIDIA's: no formula */
        for (int i = 0; i < 4; i++)
            except |= strcmp(exceptions[i], *entries) == 0;
        assert_true(hw.bandwidth > 1e11 && hw.memory > 1e10 && hw.flops[LPO_FP16] > 1e13);
        if (except)
            continue;
        gpu = (struct lpo_gpu_attributes){ .name = hw.label,
                                           .sms = hw.sms,
                                           .cc_major = hw.cc_major,
                                           .cc_minor = hw.cc_minor,
                                           .clock_hz = hw.tensor_hz };
        assert_true(lpo_gpu_hardware_compute(&gpu, &formula));
        if (fabs(formula.flops[LPO_FP16] / hw.flops[LPO_FP16] - 1) > 0.015)
            fail_msg("%s: %g against %g", *entries, hw.flops[LPO_FP16], formula.flops[LPO_FP16]);
        checked++;
    }
    assert_int_equal(checked, 21);
}

/* Where a sheet says what the best kernels reach, verdicts use that and MFU the sheet. */
static void check_achievable(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const char *const *dirs = (const char *const *)conf_dirs(a);
    struct lpo_hardware hw;
    struct lpo_err err = { 0 };

    (void)state;
    assert_int_equal(lpo_gpu_hardware_read(a, dirs, "mi300x", &hw, &err), 0);
    assert_string_equal(hw.source, "achievable");
    assert_true(hw.flops[LPO_BF16] == 708e12);
    assert_true(lpo_gpu_hardware_sheet(&hw)->flops[LPO_BF16] == 1307e12);
    assert_string_equal(lpo_gpu_hardware_sheet(&hw)->source, "sheet");
    assert_int_equal(lpo_gpu_hardware_read(a, dirs, "mi355x", &hw, &err), 0);
    assert_null(hw.sheet);
}

static void check_unknown_names_the_nearest(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_hardware hw;
    struct lpo_err err = { 0 };

    (void)state;
    assert_int_equal(
        lpo_gpu_hardware_read(a, (const char *const *)conf_dirs(a), "h200_smx", &hw, &err),
        LPO_E_CONFIG);
    assert_non_null(strstr(lpo_err_cause(&err), "did you mean 'h200_sxm'"));
}

static void check_wider_unit(void **state)
{
    struct lpo_hardware v100 = { .flops = { [LPO_FP16] = 125e12, [LPO_FP32] = 15.7e12 } };
    enum lpo_dtype used;

    (void)state;
    assert_true(lpo_gpu_hardware_peak(&v100, LPO_FP8, &used) == 125e12); /* no fp8, no bf16 */
    assert_int_equal(used, LPO_FP16);
    assert_true(lpo_gpu_hardware_peak(&v100, LPO_FP64, &used) == 0);
    assert_int_equal(used, LPO_DTYPE_NONE);
}

static void check_h200_computed(void **state)
{
    struct lpo_gpu_attributes gpu = { .name = "NVIDIA H200",
                                      .sms = 132,
                                      .cc_major = 9,
                                      .clock_hz = 1980e6,
                                      .memory_clock_hz = 3201e6,
                                      .bus_bits = 6016 };
    struct lpo_hardware hw;

    (void)state;
    assert_true(lpo_gpu_hardware_compute(&gpu, &hw));
    assert_true(fabs(hw.flops[LPO_BF16] / 1070.5e12 - 1) < 0.001);
    assert_true(fabs(hw.bandwidth / 4814e9 - 1) < 0.001);
    assert_string_equal(hw.source, "computed");
}

static void check_cpu_is_plausible(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_hardware hw;

    (void)state;
    lpo_gpu_hardware_measure_cpu(a, 0.01, &hw);
    assert_true(hw.flops[LPO_FP32] > 1e8 && hw.flops[LPO_FP32] < 1e14);
    assert_true(hw.bandwidth > 1e7 && hw.bandwidth < 1e13);
    assert_string_equal(hw.source, "measured");
}

/* What a run writes down of its hardware is what its reports read. */
static void check_kept_in_a_run(void **state)
{
    static const struct lpo_hardware sheet = {
        .name = "x",
        .label = "X",
        .source = "sheet",
        .flops = { [LPO_BF16] = 989e12, [LPO_FP8] = 1979e12 },
        .bandwidth = 4800e9
    };
    struct lpo_hardware measured = sheet, back;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const struct lpo_json *root = NULL;
    struct lpo_err err = { 0 };
    LPO_STR text = { 0 };

    (void)state;
    measured.source = "measured";
    measured.flops[LPO_BF16] = 714.25e12;
    measured.memory = 151e9;
    measured.sheet = &sheet;
    lpo_run_hardware_write(&measured, &text);
    assert_int_equal(lpo_json_parse(a, text.at, text.len, &root, &err), 0);
    assert_int_equal(lpo_run_hardware_read(a, root, &back, &err), 0);
    assert_memory_equal(back.flops, measured.flops, sizeof back.flops);
    assert_memory_equal(back.sheet->flops, sheet.flops, sizeof sheet.flops);
    assert_true(back.bandwidth == measured.bandwidth && back.memory == measured.memory);
    assert_string_equal(back.label, "X");
    assert_string_equal(back.source, "measured");
    assert_int_equal(lpo_run_hardware_read(a, lpo_json_get(root, "name"), &back, &err),
                     LPO_E_FORMAT);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, names, check_name);
    UNIT_TEST(&u, check_sheets_follow_the_formula);
    UNIT_TEST(&u, check_achievable);
    UNIT_TEST(&u, check_unknown_names_the_nearest);
    UNIT_TEST(&u, check_wider_unit);
    UNIT_TEST(&u, check_h200_computed);
    UNIT_TEST(&u, check_kept_in_a_run);
    UNIT_TEST(&u, check_cpu_is_plausible);
    return unit_run(&u);
}
