/* SPDX-License-Identifier: Apache-2.0 */
/* collect/arrive.h - the records of kernels that still run when their window closes.
 *
 * A kernel that was launched in a window may run, or wait to run, long after it. CUPTI, made to
 * give up all it has before such a kernel ends, gives it without its times. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct lpoc;

/* What has come since a window closed. */
struct lpoc_arrivals {
    uint64_t closed_ns, records, last_ns;
};

/* One look, for which CUPTI hands over what has ended. True: everything of the window that closed
 * at `closed_ns` has come, or nothing has for so long that the rest is given up. Under the lock of
 * the windows. */
bool lpoc_all_came(struct lpoc *c, struct lpoc_arrivals *a, uint64_t closed_ns, uint64_t now);
/* Looks until then, until another window opens, or for three seconds. */
void lpoc_await_records(struct lpoc *c);
