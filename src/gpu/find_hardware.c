#include "gpu/find_hardware.h"

#include <string.h>

#include "gpu/read_hardware.h"
#include "gpu/this_machine.h"

static const double cpu_seconds = 0.05;

int lpo_gpu_hardware_find(struct lpo_arena *a, const char *const *dirs, const char *name,
                          struct lpo_hardware *out, struct lpo_err *err)
{
    int rc = 0;

    if (strcmp(name, "cpu") == 0)
        lpo_gpu_hardware_measure_cpu(a, cpu_seconds, out);
    else if (strcmp(name, "this") != 0)
        rc = lpo_gpu_hardware_read(a, dirs, name, out, err);
    else if (!lpo_gpu_hardware_this_gpu(a, dirs, 0, out))
        lpo_gpu_hardware_measure_cpu(a, cpu_seconds, out);
    if (rc == 0)
        lpo_gpu_hardware_from_env(out);
    return rc;
}
