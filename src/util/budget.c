/* SPDX-License-Identifier: Apache-2.0 */
#include "util/budget.h"

/* The defaults: a file of 100 KB is answered within 10 s and 1 GB on a slow laptop, and a real
 * trace of 10 GB does not come near them (docs/reliability.md, Bounds). */
static const struct lpo_budget defaults = {
    .factor = 1,
    .inflate_bytes = (uint64_t)256 << 20,
    .inflate_ratio = 100, /* JSON and SQLite of real traces: 4 to 40 */
    .pipe_bytes = (uint64_t)16 << 30,
    .whole_file_bytes = (uint64_t)8 << 30,
    .recovery_bytes = (uint64_t)256 << 20,
    .path_bytes = (uint64_t)32 << 20,
    .gpu_record_bytes = (uint64_t)32 << 20, /* about 4 million operations, 0.7 GB */
    .range_bytes = (uint64_t)64 << 20,      /* at most 13 million ranges, 420 MB */
    .kernel_rows = 2000000,
    .listed_kernels = 100000, /* real programs have some thousand */
    .json_bytes = (uint64_t)128 << 20,
    .scopes = 1024,
    .interp_bytes = (uint64_t)16 << 20,
    .interp_steps = 1000000,
    .sql_seconds = 1,
    .sql_bytes_per_s = 10e6,
    .query_seconds = 60,
    .open_seconds = 6,
    .wait_seconds = 60, /* a slow zcat, a network in between */
};

static struct lpo_budget current;

const struct lpo_budget *lpo_budget(void)
{
    return current.factor > 0 ? &current : &defaults;
}

static uint64_t times(uint64_t n, double factor)
{
    double raised = (double)n * factor;

    return raised < 9e18 ? (uint64_t)raised : (uint64_t)9e18;
}

void lpo_budget_raise(double factor)
{
    current = (struct lpo_budget){
        .factor = factor,
        .inflate_bytes = times(defaults.inflate_bytes, factor),
        .inflate_ratio = times(defaults.inflate_ratio, factor),
        .pipe_bytes = times(defaults.pipe_bytes, factor),
        .whole_file_bytes = times(defaults.whole_file_bytes, factor),
        .recovery_bytes = times(defaults.recovery_bytes, factor),
        .path_bytes = times(defaults.path_bytes, factor),
        .gpu_record_bytes = times(defaults.gpu_record_bytes, factor),
        .range_bytes = times(defaults.range_bytes, factor),
        .kernel_rows = times(defaults.kernel_rows, factor),
        .listed_kernels = times(defaults.listed_kernels, factor),
        .json_bytes = times(defaults.json_bytes, factor),
        .scopes = times(defaults.scopes, factor),
        .interp_bytes = times(defaults.interp_bytes, factor),
        .interp_steps = times(defaults.interp_steps, factor),
        .sql_seconds = defaults.sql_seconds * factor,
        .sql_bytes_per_s = defaults.sql_bytes_per_s / factor,
        .query_seconds = defaults.query_seconds * factor,
        .open_seconds = defaults.open_seconds * factor,
        .wait_seconds = defaults.wait_seconds * factor,
    };
}

void lpo_budget_use(const struct lpo_budget *limits)
{
    current = *limits;
}
