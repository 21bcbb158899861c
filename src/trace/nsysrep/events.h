/* SPDX-License-Identifier: Apache-2.0 */
/* trace/nsysrep/events.h - the events of some types, block by block.
 *
 * A second thread decompresses the blocks and looks for the events; no block is kept. What is in a
 * block is known once it was passed: later walks leave out those that have nothing for them. */
#pragma once

#include "trace/nsysrep/file.h"
#include "util/proto.h"

struct lpo_nsysrep_events;
struct lpo_trace;

enum { LPO_NSYSREP_TYPES = 256 };

/* What all blocks together hold, and which types somebody reads. */
struct lpo_nsysrep_index {
    struct lpo_nsysrep_file *file;
    uint32_t readers[LPO_NSYSREP_TYPES]; /* bits of those who read events of a type */
    size_t counted;                      /* blocks whose events are in these: */
    uint64_t events, generic;
    uint64_t types[LPO_NSYSREP_TYPES]; /* by type; the last: all beyond */
    bool damage_noted;
};

/* Of the reader with this bit: the field `payload` of its events. */
struct lpo_nsysrep_events *lpo_nsysrep_events_begin(struct lpo_nsysrep_index *x, uint32_t bit,
                                                    uint32_t payload);
/* False at the end. Damage ends the walk with a note in `t`. Good until the next. */
bool lpo_nsysrep_events_next(struct lpo_nsysrep_events *e, struct lpo_proto *payload,
                             struct lpo_trace *t);
void lpo_nsysrep_events_end(struct lpo_nsysrep_events *e); /* NULL is fine */
