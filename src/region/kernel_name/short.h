/* SPDX-License-Identifier: Apache-2.0 */
/* region/kernel_name/short.h - names of kernels that fit into a table.
 *
 *     void at::native::vectorized_elementwise_kernel<8, at::native::BinaryFunctor<c10::BFloat16, …
 *     elementwise<MulFunctor bf16>
 *
 * A short name keeps what differs between kernels: the functor, the type, the tile, the layout. */
#pragma once

#include "region/kernel_name/parts.h"

enum { LPO_SHORT_NAME = 60 }; /* columns at most */

/* Appends the short name of one kernel. Names of other kernels may come out the same. Here and
 * below a name ends with a NUL, as those of a trace do. */
void lpo_region_short_name(struct lpo_kernel_span name, struct lpo_str *out);

/* Short names of all kernels of a report, each different from the others: those that would be the
 * same get what tells them apart in brackets, or a number. out[i] is of names[i], in the arena. */
void lpo_region_short_names(struct lpo_arena *a, const struct lpo_kernel_span *names, size_t count,
                            const char **out);
