/* SPDX-License-Identifier: Apache-2.0 */
/* rundir/rank_names.h - the rank that the name of a file says: of several traces without one
 * inside.
 */
#pragma once

#include <stdint.h>

/* "rank3.json", "trace_rank_3.json.gz", "r3.json", "rank3/trace.json", SGLang's
 * "…-TP-3.trace.json.gz". -1: it says none. */
int32_t lpo_rundir_rank_of_name(const char *path);
