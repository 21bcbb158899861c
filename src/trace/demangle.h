/* SPDX-License-Identifier: Apache-2.0 */
/* trace/demangle.h - C++ names as people write them.
 *
 * Kernels are recorded by their linker names. The demangler is the C++ runtime's own, asked for at
 * run time: where there is none, names stay as they are. */
#pragma once

#include <stdbool.h>

struct lpo_str;

/* Appends the plain form of a mangled name; false (nothing appended) when `name` is not mangled. */
bool lpo_trace_demangle(const char *name, struct lpo_str *out);
