/* The order here is the order of a run and of `lpo doctor`. */
#include "pipeline/stage.h"

#include <string.h>

extern const struct lpo_stage lpo_stage_static_analysis, lpo_stage_direct_inference,
    lpo_stage_native, lpo_stage_torch_profiler, lpo_stage_nsys, lpo_stage_ncu, lpo_stage_nvml;

static const struct lpo_stage *const stages[] = {
    &lpo_stage_static_analysis,
    &lpo_stage_direct_inference,
    &lpo_stage_native,
    &lpo_stage_torch_profiler,
    &lpo_stage_nsys,
    &lpo_stage_ncu,
    &lpo_stage_nvml,
    NULL,
};

const struct lpo_stage *const *lpo_stages(void)
{
    return stages;
}

const struct lpo_stage *lpo_stage_find(const char *name)
{
    for (size_t i = 0; stages[i]; i++)
        if (strcmp(stages[i]->name, name) == 0)
            return stages[i];
    return NULL;
}
