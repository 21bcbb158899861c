/* SPDX-License-Identifier: Apache-2.0 */
/* The order here is the order of a run and of `lpo doctor`. */
#include "pipeline/stage.h"

#include "rundir/rundir.h"

extern const struct lpo_stage lpo_pipeline_static_analysis, lpo_pipeline_direct_inference,
    lpo_pipeline_native, lpo_pipeline_torch_profiler, lpo_pipeline_nsys, lpo_pipeline_ncu,
    lpo_pipeline_counters, lpo_pipeline_nvml;

static const struct lpo_stage *const stages[] = {
    &lpo_pipeline_static_analysis,
    &lpo_pipeline_direct_inference,
    &lpo_pipeline_native,
    &lpo_pipeline_torch_profiler,
    &lpo_pipeline_nsys,
    &lpo_pipeline_ncu,
    &lpo_pipeline_counters,
    &lpo_pipeline_nvml,
    NULL,
};

const struct lpo_stage *const *lpo_pipeline_stages(void)
{
    return stages;
}

const struct lpo_stage *lpo_pipeline_stage_find(const char *name)
{
    for (size_t i = 0; stages[i]; i++)
        if (strcmp(stages[i]->name, name) == 0)
            return stages[i];
    return NULL;
}

const struct lpo_stage *lpo_pipeline_stage_with(unsigned role)
{
    for (size_t i = 0; stages[i]; i++)
        if (stages[i]->results && stages[i]->results->roles & role)
            return stages[i];
    return NULL;
}

const struct lpo_rundir_kind *const *lpo_pipeline_trace_kinds(struct lpo_arena *a)
{
    const struct lpo_rundir_kind **kinds =
        lpo_arena_array(a, sizeof stages / sizeof *stages, sizeof *kinds);
    size_t n = 0;

    for (size_t i = 0; stages[i]; i++)
        if (stages[i]->results)
            kinds[n++] = stages[i]->results;
    return kinds;
}
