/* gpu/this_machine.h - the machine lpo runs on, as a hardware entry.
 *
 * A GPU is asked through its driver and looked up by name, or computed from its attributes; a CPU
 * is measured, because no sheet says what its cores reach together: multiply-adds in registers
 * and a stream through memory, a few tens of milliseconds each. */
#pragma once

#include <stdbool.h>

#include "gpu/hardware.h"

struct lpo_arena;

/* The GPU with that number, in the driver's order. False: no driver or no such GPU. */
bool lpo_gpu_ask(struct lpo_arena *a, int device, struct lpo_gpu_attributes *out);

/* Asks, looks up, computes; the device's own memory and L2 replace the sheet's. */
bool lpo_gpu_hardware_this_gpu(struct lpo_arena *a, const char *const *dirs, int device,
                               struct lpo_hardware *out);

/* Measures on all cores that this process may use. `seconds` for each of the two parts. */
void lpo_gpu_hardware_measure_cpu(struct lpo_arena *a, double seconds, struct lpo_hardware *out);
