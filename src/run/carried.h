/* SPDX-License-Identifier: Apache-2.0 */
/* run/carried.h - conf and the demo as an archive, as scripts/embed.py puts them into a single
 * binary. */
#pragma once

#include "util/base.h"

extern const char lpo_run_carried[];      /* zlib over ustar */
extern const size_t lpo_run_carried_len,  /* 0: this program has its files beside it */
    lpo_run_carried_whole;                /* of the archive */
extern const char lpo_run_carried_mark[]; /* stands for the archive's bytes */
