/* SPDX-License-Identifier: Apache-2.0 */
/* FLOPs and bytes out of a real capture, against the same sums made by hand from its CSV. */
#include <math.h>

#include "../unit.h"
#include "analysis/analysis.h"
#include "analysis/limits/counters.h"
#include "analysis/limits/limits.h"
#include "analysis/run.h"
#include "report/doc/doc.h"
#include "report/limits/chapter_limits.h"
#include "rundir/rundir.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/path.h"

static const struct unit_case {
    const char *name, *unit;
    double scale;
} units[] = {
    { "nanoseconds", "ns", 1e-9 },
    { "bytes", "byte", 1 },
    { "gigabytes a second", "Gbyte/s", 1e9 },
    { "terabytes", "Tbyte", 1e12 },
    { "gigahertz", "Ghz", 1e9 },
    { "percent", "%", 1 },
    { "nothing", "", 1 },
    { "instructions", "inst", 1 },
};

static void check_unit(void **state)
{
    const struct unit_case *c = *state;

    assert_true(fabs(lpo_limits_unit_scale(c->unit) / c->scale - 1) < 1e-12);
}

static const char *capture; /* NULL: the shared data is not here */

static struct lpo_analysis_run *read_capture(void)
{
    static const char *const any[] = { "*", NULL }, *const formats[] = { "ncu-csv", NULL };
    static const struct lpo_rundir_kind ncu = {
        .stage = "ncu", .what = "a capture", .patterns = any, .formats = formats
    };
    static const struct lpo_rundir_kind *const kinds[] = { &ncu, NULL };
    const struct lpo_rundir_options o = { .kinds = kinds, .skip = LPO_SKIP_OPS };
    struct lpo_analysis_run *run = NULL;
    struct lpo_err err = { 0 };

    if (lpo_analysis_run_of_paths(&capture, 1, &o, &run, &err) < 0)
        fail_msg("%s", lpo_err_cause(&err));
    return run;
}

/* Sums over the kernels of `prefill` in llm_roof_raw.csv: tensor operations, those of the cores by
 * their rate, and DRAM bytes by theirs. */
static void check_region(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    LPO_AUTO(lpo_analysis_run) run = read_capture();
    lpo_limits_regions regions = { 0 };
    bool found = false;

    (void)state;
    lpo_limits_regions_of(a, lpo_analysis_run_main(run), &regions);
    for (size_t i = 0; i < regions.len; i++) {
        const struct lpo_counters *c = &regions.at[i].counters;

        if (strcmp(regions.at[i].path, "prefill") != 0)
            continue;
        found = true;
        assert_true(lpo_measure_known(c->flops) && lpo_measure_known(c->dram_bytes) &&
                    lpo_measure_known(c->sm_percent));
        if (fabs(c->flops.value / (38856032256.0 + 11567615.0) - 1) > 0.01)
            fail_msg("%.6g FLOPs", c->flops.value);
        if (fabs(c->dram_bytes.value / 105457401.0 - 1) > 0.01)
            fail_msg("%.6g bytes", c->dram_bytes.value);
    }
    assert_true(found);
    lpo_vec_free(&regions);
}

/* The head of the model: 512 tokens of width 1024 into 32,000 logits, to the last operation. */
static void check_known_product(void **state)
{
    LPO_AUTO(lpo_analysis_run) run = read_capture();
    struct lpo_limits l = { .peak = 989e12, .bandwidth = 4.8e12 };
    LPO_AUTO(lpo_doc) doc = lpo_doc_create("test", "test");
    const struct lpo_table *t;
    bool found = false;

    (void)state;
    lpo_report_chapter_kernel_roofline(doc, &l, lpo_analysis_run_main(run), 100);
    t = doc->sections.at[0]->items.at[1].table;
    for (size_t row = 0; row < lpo_doc_table_rows(t); row++) {
        if (!strstr(lpo_doc_table_cell(t, row, 0)->text, "nvjet 256x128 coopA"))
            continue;
        found = true;
        assert_true(lpo_doc_table_cell(t, row, 3)->real >= 2.0 * 512 * 1024 * 32000);
        assert_true(lpo_doc_table_cell(t, row, 3)->real < 2.0 * 512 * 1024 * 32000 * 1.001);
        assert_true(lpo_doc_table_cell(t, row, 7)->real > 0.2 &&
                    lpo_doc_table_cell(t, row, 7)->real < 1);
    }
    assert_true(found);
}

int main(void)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const char *path =
        lpo_path_join(a, unit_env("LPO_SOURCE_ROOT", "."), "tests/data/ncu/llm_roof_raw.csv.gz");
    struct unit u = { 0 };

    UNIT_ROWS(&u, units, check_unit);
    capture = lpo_path_exists(path) ? path : NULL;
    if (capture) {
        UNIT_TEST(&u, check_region);
        UNIT_TEST(&u, check_known_product);
    }
    return unit_run(&u);
}
