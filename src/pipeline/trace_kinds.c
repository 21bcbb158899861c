/* The traces that stages leave, for those who read a run folder. */
#include "pipeline/ncu/ncu.h"
#include "pipeline/stage.h"
#include "region/select.h"
#include "rundir/rundir.h"
#include "trace/trace.h"

static const char *const native_files[] = { "*.lpot", NULL };
static const char *const nsys_files[] = { "*.sqlite", "*.sqlite.gz", NULL };
static const char *const torch_files[] = { "*trace*.json", "*trace*.json.gz", NULL };
static const char *const ncu_reports[] = { "*.ncu-rep", "*.ncu-repz", NULL };
static const char *const ncu_tables[] = { "*raw.csv", "*raw.csv.gz", NULL };

static const char *const ncu_selection[LPO_SELECT_LISTS] = {
    [LPO_REGIONS_INCLUDE] = "pipeline.ncu.regions.include",
    [LPO_REGIONS_EXCLUDE] = "pipeline.ncu.regions.exclude",
    [LPO_KERNELS_INCLUDE] = "pipeline.ncu.regions.kernels.include",
    [LPO_KERNELS_EXCLUDE] = "pipeline.ncu.regions.kernels.exclude",
};

static const struct lpo_rundir_kind native = {
    .stage = "native",
    .what = "the trace of lpo's own collector",
    .patterns = native_files,
    .trust = 1,
    .skip = LPO_SKIP_OPS,
};

static const struct lpo_rundir_kind nsys = {
    .stage = "nsys",
    .what = "the export of Nsight Systems",
    .patterns = nsys_files,
    .trust = 2,
    .skip = LPO_SKIP_OPS,
};

static const struct lpo_rundir_kind torch = {
    .stage = "torch_profiler",
    .what = "the trace of the PyTorch profiler",
    .patterns = torch_files,
    .trust = 3,
};

static const struct lpo_rundir_kind ncu = {
    .stage = "ncu",
    .what = "the report of Nsight Compute",
    .patterns = ncu_reports,
    .otherwise = ncu_tables,
    .trust = 4,
    .skip = LPO_SKIP_OPS,
    .selection = ncu_selection,
    .representatives = lpo_pipeline_ncu_representatives,
};

const struct lpo_rundir_kind *const *lpo_pipeline_trace_kinds(void)
{
    static const struct lpo_rundir_kind *const kinds[] = { &native, &nsys, &torch, &ncu, NULL };

    return kinds;
}
