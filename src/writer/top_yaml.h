/* SPDX-License-Identifier: Apache-2.0 */
/* writer/top_yaml.h - the list of kernels that `lpo kernels --kernel-config` reads. */
#pragma once

#include <stddef.h>

struct lpo_str;
struct lpo_top_row;
struct lpo_trace;

/* "^name$" over the bare function name of a demangled kernel name, its characters escaped. */
void lpo_writer_kernel_regex(struct lpo_str *out, const char *name);

/* kernels: [{name, regex, launches, gpu_ns, share}], most expensive first. `regex` matches the bare
 * function name, which is what ncu compares by default. */
void lpo_writer_top_yaml(struct lpo_str *out, const struct lpo_trace *t,
                         const struct lpo_top_row *rows, size_t count);
