/* SPDX-License-Identifier: Apache-2.0 */
/* Run folders of any bytes: everything that `lpo report` reads besides traces (manifest,
 * environment, config, hardware, speeds, samples, the static analysis, a server and its client),
 * and one small trace. The reports are built, and every JSON file among them is read back. */
#include "scratch.h"

#include "analysis/run.h"
#include "pipeline/stage.h"
#include "rundir/rundir.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/json.h"
#include "util/path.h"
#include "writer/reports.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const files[] = {
    "run.json",
    "config.yaml",
    "env.json",
    "hardware.json",
    "workload/direct_inference/metrics.json",
    "nvml/samples.csv",
    "static_analysis/static_compute.json",
    "native/regions.json",
    "torch_profiler/trace.json",
    "workload/direct_inference/server.json",
    "workload/direct_inference/client.json",
};

static void read_back(struct lpo_arena *a, const char *name)
{
    const char *path = lpo_path_join(a, scratch(), name);
    const struct lpo_json *root;
    struct lpo_err err = { 0 };

    if (lpo_path_exists(path))
        insist(lpo_json_read_file(a, path, &root, &err) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    LPO_AUTO(lpo_analysis_run) run = NULL;
    struct lpo_rundir_options o = { .kinds = lpo_pipeline_trace_kinds(a) };
    struct lpo_known_regions known = { 0 };
    struct lpo_err err = { 0 };

    if (size > 65536)
        return 0;
    scratch_parts(files, sizeof files / sizeof *files, (const char *)data, size);
    lpo_pipeline_known_regions_read(a, lpo_path_join(a, scratch(), "native/regions.json"), &known);
    if (lpo_analysis_run_create(scratch(), &o, &run, &err) < 0) {
        insist(lpo_err_cause(&err)[0] != '\0');
        return 0;
    }
    if (lpo_writer_all_reports(run->dir, NULL, &err) < 0)
        insist(lpo_err_cause(&err)[0] != '\0');
    read_back(a, "report.json");
    return 0;
}
