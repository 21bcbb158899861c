/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/sheets.h - hardware sheets: the entries of conf/hardware, found by entry or by GPU name.
 *
 * The user's own folder comes before the shipped one. A `<name>.measured.yaml` beside or before an
 * entry (written by `lpo doctor --calibrate`) replaces its ceilings; the sheet's stay reachable,
 * because MFU is a convention on sheets. */
#pragma once

#include <stdbool.h>

#include "gpu/hardware.h"

struct lpo_arena;
struct lpo_err;

/* `dirs` are config folders (run/install.h), NULL-terminated. `name` is an entry ("h200_sxm"), a
 * path to a .yaml file, or a GPU's name ("NVIDIA H100 80GB HBM3"). The error names the nearest
 * entry. */
int lpo_gpu_hardware_read(struct lpo_arena *a, const char *const *dirs, const char *name,
                          struct lpo_hardware *out, struct lpo_err *err);

/* The entry whose `match` is the longest run of words in a GPU's name. False: none; then compute
 * it (gpu/hardware.h). */
bool lpo_gpu_hardware_match(struct lpo_arena *a, const char *const *dirs, const char *gpu_name,
                            struct lpo_hardware *out);

/* The words of `pattern` stand in `name` one after the other: "A100 SXM4 80GB" in
 * "NVIDIA A100-SXM4-80GB". Returns their letters, 0 when they do not. */
unsigned lpo_gpu_hardware_name_score(const char *name, const char *pattern);

/* Names of all entries, sorted; NULL-terminated. */
const char **lpo_gpu_hardware_list(struct lpo_arena *a, const char *const *dirs);

/* Ceilings from the environment: MFU_PEAK_TFLOPS (16-bit products) and MFU_PEAK_GBS. */
void lpo_gpu_hardware_from_env(struct lpo_hardware *hw);
