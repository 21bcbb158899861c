/* SPDX-License-Identifier: Apache-2.0 */
/* trace/nsysrep/tables.h - a report as the tables of the export that nsys would make of it.
 *
 * A row is an event whose fields stand where the columns say. */
#pragma once

#include "trace/nsys/tables.h"
#include "trace/nsysrep/events.h"

enum { LPO_NSYSREP_CLASSES = 128, LPO_NSYSREP_ANCHOR = 16 };

struct lpo_nsysrep {
    struct lpo_nsys_tables given; /* how the reader of nsys sees it */
    struct lpo_nsysrep_index index;
    int64_t utc_ns;            /* of the session's start; LPO_NO_TIME */
    uint64_t strings;          /* how many there are: millions, of which few are asked for */
    LPO_VEC(uint32_t) anchors; /* where each LPO_NSYSREP_ANCHOR-th of them begins */
    uint32_t *names;           /* of the trace, plus one; 0: not asked for yet */
    uint64_t classes[LPO_NSYSREP_CLASSES]; /* calls that are not read; the last: all beyond */
};

/* `rep` is zeroed but for the file of its index. */
void lpo_nsysrep_tables_begin(struct lpo_nsysrep *rep);
void lpo_nsysrep_tables_end(struct lpo_nsysrep *rep);
/* Does a table have rows of such events? */
bool lpo_nsysrep_type_is_read(const struct lpo_nsysrep *rep, uint32_t type);

/* UTC of the session's start by the clocks of the report; LPO_NO_TIME (clock.c). */
int64_t lpo_nsysrep_utc(const struct lpo_nsysrep_file *f);
