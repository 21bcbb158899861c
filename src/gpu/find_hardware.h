/* gpu/find_hardware.h - the hardware a user means. */
#pragma once

struct lpo_arena;
struct lpo_err;
struct lpo_hardware;

/* "this" is the GPU that is here, else this CPU, measured; "cpu" the CPU in any case; all else an
 * entry of conf/hardware or a GPU's name. Ceilings in the environment come last. */
int lpo_gpu_hardware_find(struct lpo_arena *a, const char *const *dirs, const char *name,
                          struct lpo_hardware *out, struct lpo_err *err);
