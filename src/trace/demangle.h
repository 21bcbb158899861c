/* SPDX-License-Identifier: Apache-2.0 */
/* trace/demangle.h - C++ names as people write them.
 *
 * Kernels are recorded by their linker names, mangled by the rules of the Itanium C++ ABI. The text
 * is that of c++filt. What is too long, too deep or unknown stays as it is: names come from files
 * of others. */
#pragma once

#include "util/base.h"

/* Appends the plain form of a mangled name; false (nothing appended) when `name` is not mangled. */
bool lpo_trace_demangle(const char *name, struct lpo_str *out);
