/* SPDX-License-Identifier: Apache-2.0 */
/* report/top_yaml.h - the list of kernels that `lpo kernels --kernel-config` reads. */
#pragma once

#include "util/base.h"

struct lpo_region_cells;
struct lpo_top_row;

/* "^name$" over the bare function name of a demangled kernel name, its characters escaped. */
void lpo_report_kernel_regex(struct lpo_str *out, const char *name);

/* A regular expression for this kernel and no other instance of its template, and what it is
 * compared with (ncu's --kernel-name-base): the linker's name where that is known; else the
 * demangled one, whoever demangled it; else, where there is no template, the function's. */
const char *lpo_report_kernel_pattern(struct lpo_str *out, const char *name, const char *linker);

/* kernels: [{name, regex, name_base, grid, block, launches, gpu_ns, share}], most expensive first.
 */
void lpo_report_top_yaml(struct lpo_str *out, const struct lpo_region_cells *cells,
                         const struct lpo_top_row *rows, size_t count);
