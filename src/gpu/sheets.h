/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/sheets.h - hardware sheets: the entries of conf/hardware, found by entry or by GPU name.
 *
 * The user's own folder comes before the shipped one. A `<name>.measured.yaml` beside or before an
 * entry (written by `lpo doctor --calibrate`) replaces its ceilings; the sheet's stay reachable,
 * because MFU is a convention on sheets. */
#pragma once

#include "gpu/hardware.h"

/* `dirs` are config folders (run/install.h), NULL-terminated. `name` is an entry ("h200_sxm"), a
 * path to a .yaml file, or a GPU's name ("NVIDIA H100 80GB HBM3"). The error names the nearest
 * entry. */
int lpo_gpu_hardware_read(struct lpo_arena *a, const char *const *dirs, const char *name,
                          struct lpo_hardware *out, struct lpo_err *err);

/* The entry whose `match` is the longest run of words in a GPU's name. False: none; then compute
 * it (gpu/hardware.h). */
bool lpo_gpu_hardware_match(struct lpo_arena *a, const char *const *dirs, const char *gpu_name,
                            struct lpo_hardware *out);

/* Names of all entries, sorted; NULL-terminated. */
const char **lpo_gpu_hardware_list(struct lpo_arena *a, const char *const *dirs);

/* The machine that lpo runs on, as a hardware entry.
 *
 * The driver gives a GPU's name and attributes: the sheet is found by name, and where there is no
 * sheet the rates are computed from the attributes. A CPU is measured, because no sheet says what
 * its cores reach together: multiply-adds in registers and a stream through memory, a few tens of
 * milliseconds each. */

/* The GPU with that number, in the driver's order. False: no driver or no such GPU. */
bool lpo_gpu_ask(struct lpo_arena *a, int device, struct lpo_gpu_attributes *out);

/* That GPU as a hardware entry; its own memory and L2 sizes replace the sheet's. False: no driver,
 * no such GPU, or one with neither a sheet nor a known compute capability. */
bool lpo_gpu_hardware_this_gpu(struct lpo_arena *a, const char *const *dirs, int device,
                               struct lpo_hardware *out);

/* Measures on all cores that this process may use. `seconds` for each of the two parts. */
void lpo_gpu_hardware_measure_cpu(struct lpo_arena *a, double seconds, struct lpo_hardware *out);

/* The hardware that a user's word means: "this" is GPU 0 of this machine, or this CPU, measured,
 * where there is no GPU; "cpu" is the CPU in any case; all else is an entry of conf/hardware or a
 * GPU's name (gpu/sheets.h). Ceilings in the environment (MFU_PEAK_*) come last and win. */
int lpo_gpu_hardware_find(struct lpo_arena *a, const char *const *dirs, const char *name,
                          struct lpo_hardware *out, struct lpo_err *err);
