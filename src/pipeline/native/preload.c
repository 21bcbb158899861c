/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/native/preload.h"

#include <stdlib.h>
#include <string.h>

#include "run/install.h"
#include "run/step.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/path.h"

static const char name[] = "liblpo-count.so";

static const char *find(struct lpo_arena *a, const char *collector)
{
    const char *beside = lpo_path_join(a, lpo_path_dir(a, collector), name);

    return lpo_path_exists(beside) ? beside : lpo_run_install_find(a, name);
}

int lpo_pipeline_native_preload(struct lpo_arena *a, const char *collector, struct lpo_step *step,
                                struct lpo_err *err)
{
    const char *library = find(a, collector), *others = getenv("LD_PRELOAD");

    if (!library)
        return lpo_fail(err, LPO_E_MISSING,
                        "%s is not beside lpo: install lpo whole, or set "
                        "pipeline.native.capture.attach=start to count by CUPTI",
                        name);
    if (strpbrk(library, " :")) /* what separates two libraries, and cannot be written otherwise */
        return lpo_fail(err, LPO_E_CONFIG,
                        "'%s' cannot be preloaded: its path has a space or a colon; install lpo "
                        "elsewhere, or set pipeline.native.capture.attach=start",
                        library);
    for (size_t i = 0; i < step->nenv; i++) /* the workload may bring its own */
        if (strcmp(step->env[i].name, "LD_PRELOAD") == 0)
            others = step->env[i].value;
    lpo_run_step_env(a, step, "LD_PRELOAD",
                     others && *others ? lpo_arena_printf(a, "%s:%s", library, others) : library);
    return 0;
}
