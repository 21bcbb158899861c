/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/nsysrep/file.h"

#include <stdlib.h>

#include "trace/trace.h"
#include "util/ahead.h"

enum { EVENT = 1, GENERIC_EVENT = 2 }; /* fields of a block */
enum { EVENT_TYPE = 1 };               /* field of an event */

/* Bytes of a payload in its block. */
struct span {
    uint32_t at, len;
};

/* A block on its way from the thread that decompresses it to the one that reads it. */
struct batch {
    struct lpo_nsysrep_room room;
    struct lpo_nsysrep_bytes body;
    LPO_VEC(struct span) found;
    const char *wrong; /* NULL: nothing is */
};

struct lpo_nsysrep_events {
    struct lpo_nsysrep_index *x; /* the thread's until the walk has ended, but for `damage_noted` */
    uint32_t bit, payload;
    struct lpo_ahead *ahead; /* NULL: blocks are decompressed as they are needed */
    struct batch own;
    size_t next_block;

    const struct batch *batch; /* that is read; NULL: none */
    size_t next;               /* of what was found in it */
    bool done;
};

/* --- what a block has: on the thread -------------------------------------------------------- */

/* Its type comes first in every file seen, so that others are passed by their first bytes. */
static void pass_event(struct lpo_nsysrep_events *e, struct batch *b, struct lpo_proto m,
                       bool count, uint32_t *seen)
{
    struct lpo_proto_field f;
    struct span payload = { 0 };
    uint32_t type = LPO_NSYSREP_TYPES - 1, readers = 0;

    while (lpo_proto_next(&m, &f)) {
        if (f.number == EVENT_TYPE) {
            type = f.value < type ? (uint32_t)f.value : type;
            readers = e->x->readers[type];
            if (!(readers & e->bit))
                break;
        } else if (f.number == e->payload && f.wire == LPO_WIRE_BYTES) {
            payload = (struct span){ (uint32_t)(f.bytes - b->body.at), (uint32_t)f.value };
        }
    }
    if (readers & e->bit && payload.at)
        lpo_vec_push(&b->found, payload);
    if (count) {
        e->x->types[type]++;
        *seen |= readers;
    }
}

/* Passes events that nobody asked for, as long as length and type have as few bytes as in all but
 * some; stops in front of another. Most of the time of a report is this and LZ4. */
static uint64_t pass_others(struct lpo_nsysrep_events *e, struct lpo_proto *m, bool count,
                            uint32_t *seen)
{
    enum { KEY = EVENT << 3 | LPO_WIRE_BYTES, TYPE_KEY = EVENT_TYPE << 3, HEAD = 5 };
    const unsigned char *at = m->at;
    uint64_t n = 0;

    while (m->end - at >= HEAD && at[0] == KEY) {
        bool long_one = at[1] & 0x80;
        size_t len = long_one ? (at[1] & 0x7fU) | (size_t)at[2] << 7 : at[1];
        const unsigned char *body = at + 2 + long_one;
        uint32_t readers = body[1] & 0x80 ? e->bit : e->x->readers[body[1]];

        if ((long_one && at[2] & 0x80) || body[0] != TYPE_KEY || len < 2 ||
            len > (size_t)(m->end - body) || readers & e->bit)
            break;
        if (count) {
            e->x->types[body[1]]++;
            *seen |= readers;
        }
        at = body + len;
        n++;
    }
    m->at = at;
    return n;
}

static void pass_block(struct lpo_nsysrep_events *e, struct batch *b,
                       struct lpo_nsysrep_block *block)
{
    const bool count = block->tables == UINT32_MAX;
    struct lpo_proto m = lpo_proto(b->body.at, b->body.len);
    struct lpo_proto_field f;
    uint64_t events = 0, generic = 0;
    uint32_t seen = 0;

    b->found.len = 0;
    while (events += pass_others(e, &m, count, &seen), lpo_proto_next(&m, &f)) {
        if (f.number == EVENT && f.wire == LPO_WIRE_BYTES) {
            pass_event(e, b, lpo_proto_inner(&f), count, &seen);
            events++;
        }
        generic += f.number == GENERIC_EVENT;
    }
    if (m.bad)
        b->wrong = "an event is longer than its block";
    if (!count)
        return;
    e->x->events += events;
    e->x->generic += generic;
    e->x->counted++;
    block->tables = seen;
}

/* True: there may be more. The last one may be without a block. */
static bool fill(void *ctx, void *batch)
{
    struct lpo_nsysrep_events *e = ctx;
    struct lpo_nsysrep_file *f = e->x->file;
    struct batch *b = batch;
    struct lpo_nsysrep_block *block;

    b->found.len = 0;
    b->wrong = NULL;
    while (e->next_block < f->blocks.len && !(f->blocks.at[e->next_block].tables & e->bit))
        e->next_block++;
    if (e->next_block >= f->blocks.len)
        return false;
    block = &f->blocks.at[e->next_block++];
    b->wrong = lpo_nsysrep_unpack(f, block, &b->room, &b->body);
    if (!b->wrong)
        pass_block(e, b, block);
    return !b->wrong;
}

static void release(void *batch)
{
    struct batch *b = batch;

    lpo_nsysrep_room_free(&b->room);
    lpo_vec_free(&b->found);
}

/* --- and what is read of it ----------------------------------------------------------------- */

struct lpo_nsysrep_events *lpo_nsysrep_events_begin(struct lpo_nsysrep_index *x, uint32_t bit,
                                                    uint32_t payload)
{
    struct lpo_nsysrep_events *e = lpo_xcalloc(1, sizeof *e);

    e->x = x;
    e->bit = bit;
    e->payload = payload;
    if (x->file->blocks.len > 1)
        e->ahead = lpo_ahead_start(sizeof(struct batch), fill, e);
    return e;
}

static const struct batch *next_batch(struct lpo_nsysrep_events *e)
{
    if (e->ahead)
        return lpo_ahead_next(e->ahead);
    if (e->done)
        return NULL;
    e->done = !fill(e, &e->own);
    return &e->own;
}

static void note_damage(struct lpo_nsysrep_events *e, struct lpo_trace *t)
{
    if (!e->x->damage_noted)
        lpo_trace_note_damage(t, 0, "the report is damaged, %s: what comes after it was not read",
                              e->batch->wrong);
    e->x->damage_noted = true;
}

bool lpo_nsysrep_events_next(struct lpo_nsysrep_events *e, struct lpo_proto *payload,
                             struct lpo_trace *t)
{
    while (!e->batch || e->next >= e->batch->found.len) {
        e->batch = next_batch(e);
        e->next = 0;
        if (!e->batch)
            return false;
        if (e->batch->wrong)
            note_damage(e, t);
    }
    *payload = lpo_proto(e->batch->body.at + e->batch->found.at[e->next].at,
                         e->batch->found.at[e->next].len);
    e->next++;
    return true;
}

void lpo_nsysrep_events_end(struct lpo_nsysrep_events *e)
{
    if (!e)
        return;
    if (e->ahead)
        lpo_ahead_stop(e->ahead, release);
    release(&e->own);
    free(e);
}
