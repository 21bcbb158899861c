/* SPDX-License-Identifier: Apache-2.0 */
/* util/budget.h - how much work one input may cause, whatever it claims to be.
 *
 * A file of 50 KB can ask for hours of work or gigabytes of memory: pages of a database that lead
 * in a circle, a stream that inflates without end, names that nest until their paths fill the
 * memory. Every reader and the config ask this one table how far to go. Honest files stay far below
 * it; what stops says so, with LPO_BUDGET_HINT, and `lpo --limit N` raises all limits N times.
 *
 * The table belongs to the process: it is set before anything is read, and only read after that. */
#pragma once

#include "util/base.h"

struct lpo_budget {
    double factor; /* what --limit says; 1 when it is not given */
    /* A compressed stream may inflate to inflate_bytes + inflate_ratio times what was read. */
    uint64_t inflate_bytes, inflate_ratio;
    uint64_t pipe_bytes;       /* of a pipe, kept in TMPDIR while it is read */
    uint64_t whole_file_bytes; /* of a .ncu-rep, whose results are all kept in memory */
    uint64_t recovery_bytes;   /* of damaged JSON, read again in search of the next event */
    uint64_t path_bytes;       /* text of all region paths of a trace */
    uint64_t gpu_record_bytes; /* of native traces whose GPU operations are kept one by one */
    uint64_t range_bytes;      /* of events in native traces whose ranges are kept one by one */
    uint64_t kernel_rows;      /* kernels listed in regions, in one table of regions */
    uint64_t listed_kernels;   /* kernels in one list of a report: of a region, or of the run */
    uint64_t json_bytes;       /* about what the regions of `lpo regions --json` take */
    uint64_t scopes;           /* processes, devices and ranks with a table of their own */
    uint64_t interp_bytes;     /* text that the interpolations of one config produce */
    uint64_t interp_steps;     /* interpolations and parts of them that are evaluated */
    double sql_seconds;        /* processor time of SQLite for one file … */
    double sql_bytes_per_s;    /* … and one more second for each of that many bytes */
    double query_seconds;      /* processor time of one query of `lpo sql` */
    double open_seconds;       /* for somebody who writes to a FIFO */
    double wait_seconds;       /* for the next byte, from somebody who could write one */
};

#define LPO_BUDGET_HINT "'--limit 10' raises every limit ten times"

const struct lpo_budget *lpo_budget(void);
/* All limits at `factor` times their defaults. Call it before the first thread starts. */
void lpo_budget_raise(double factor);
/* These limits, as they are: for tests. */
void lpo_budget_use(const struct lpo_budget *limits);
