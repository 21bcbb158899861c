/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/nsysrep/file.h"

#include "util/ahead.h"

enum { EVENT = 1, GENERIC_EVENT = 2 }; /* fields of a block */
enum { EVENT_TYPE = 1 };               /* field of an event */

/* More than this is decompressed again when it is walked. */
enum { MOST_KEPT = 128 << 20, KEPT_AT_ONCE = 256 << 10 };
enum { MOST_MAKERS = 2 };

/* Rows on their way from the thread that makes them to the one that reads them. */
struct batch {
    struct lpo_nsysrep_rows rows[MOST_MAKERS];
    const char *wrong; /* NULL: nothing is */
};

struct lpo_nsysrep_events {
    struct lpo_nsysrep_index *x; /* the thread's until the walk has ended, but for `damage_noted` */
    struct lpo_nsysrep_maker makers[MOST_MAKERS];
    int n;
    uint32_t bits, want;     /* of the makers; and of what is kept in this walk */
    struct lpo_ahead *ahead; /* NULL: rows are made as they are needed */
    struct batch own;
    bool done;

    struct lpo_nsysrep_room room; /* the thread's: of one block */
    size_t next_block;
    struct lpo_proto kept; /* instead of blocks */
};

/* --- what a block has: on the thread -------------------------------------------------------- */

static void drop_kept(struct lpo_nsysrep_index *x, unsigned table)
{
    x->keep &= ~((uint32_t)1 << table);
    x->kept_bytes -= x->kept[table].len;
    lpo_vec_free(&x->kept[table]);
}

static void keep(struct lpo_nsysrep_index *x, unsigned table, struct lpo_proto payload)
{
    uint32_t len = (uint32_t)(payload.end - payload.at);
    size_t at = x->kept[table].len;

    if (x->kept_bytes + sizeof len + len > MOST_KEPT) {
        drop_kept(x, table);
        return;
    }
    lpo_vec_reserve(&x->kept[table], at + sizeof len + len);
    memcpy(x->kept[table].at + at, &len, sizeof len);
    memcpy(x->kept[table].at + at + sizeof len, payload.at, len);
    x->kept[table].len = at + sizeof len + len;
    x->kept_bytes += sizeof len + len;
}

/* The payload goes to each table that reads it. */
static void take_payload(struct lpo_nsysrep_events *e, struct batch *b, uint32_t readers,
                         const struct lpo_proto_field *f)
{
    for (uint32_t left = readers & e->want; left; left &= left - 1) {
        unsigned table = (unsigned)__builtin_ctz(left);
        uint32_t bit = (uint32_t)1 << table;

        if (f->number != e->x->payloads[table])
            continue;
        for (int i = 0; i < e->n; i++)
            if (e->makers[i].bit == bit)
                e->makers[i].make(e->makers[i].ctx, &b->rows[i], lpo_proto_inner(f));
        if (!(e->bits & bit) && e->x->keep & bit)
            keep(e->x, table, lpo_proto_inner(f));
    }
}

static uint32_t type_of(const struct lpo_proto_field *f)
{
    return f->value < LPO_NSYSREP_TYPES ? (uint32_t)f->value : LPO_NSYSREP_TYPES - 1;
}

/* Its type comes before its payload in every file seen; where it does not, it is looked for. */
static void pass_event(struct lpo_nsysrep_events *e, struct batch *b, struct lpo_proto m,
                       bool count, uint32_t *seen)
{
    const struct lpo_proto whole = m;
    uint32_t type = LPO_NSYSREP_TYPES - 1, readers;
    struct lpo_proto_field f;
    bool first = lpo_proto_next(&m, &f) && f.number == EVENT_TYPE;
    bool found = first;

    while (!found && lpo_proto_next(&m, &f))
        found = f.number == EVENT_TYPE;
    if (found)
        type = type_of(&f);
    if (!first)
        m = whole;
    readers = e->x->readers[type];
    while (readers & e->want && lpo_proto_next(&m, &f))
        if (f.wire == LPO_WIRE_BYTES)
            take_payload(e, b, readers, &f);
    if (count) {
        e->x->types[type]++;
        *seen |= readers;
    }
}

/* Passes events that nobody asked for, as long as length and type come first and have as few bytes
 * as in all but some; stops in front of another. */
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
        uint32_t readers = body[1] & 0x80 ? e->want : e->x->readers[body[1]];

        if ((long_one && at[2] & 0x80) || body[0] != TYPE_KEY || len < 2 ||
            len > (size_t)(m->end - body) || readers & e->want)
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

static const char *pass_block(struct lpo_nsysrep_events *e, struct batch *b,
                              struct lpo_nsysrep_block *block)
{
    const bool count = block->tables == UINT32_MAX;
    struct lpo_nsysrep_bytes body;
    const char *wrong = lpo_nsysrep_unpack(e->x->file, block, &e->room, &body);
    struct lpo_proto m;
    struct lpo_proto_field f;
    uint64_t events = 0, generic = 0;
    uint32_t seen = 0;

    if (wrong)
        return wrong;
    m = lpo_proto(body.at, body.len);
    while (events += pass_others(e, &m, count, &seen), lpo_proto_next(&m, &f)) {
        if (f.number == EVENT && f.wire == LPO_WIRE_BYTES) {
            pass_event(e, b, lpo_proto_inner(&f), count, &seen);
            events++;
        }
        generic += f.number == GENERIC_EVENT;
    }
    if (count && !m.bad) {
        e->x->events += events;
        e->x->generic += generic;
        e->x->counted++;
        block->tables = seen;
    }
    return m.bad ? "an event is longer than its block" : NULL;
}

/* False: there is no block left for these tables. */
static bool fill_from_blocks(struct lpo_nsysrep_events *e, struct batch *b)
{
    struct lpo_nsysrep_file *f = e->x->file;

    while (e->next_block < f->blocks.len && !(f->blocks.at[e->next_block].tables & e->bits))
        e->next_block++;
    if (e->next_block >= f->blocks.len)
        return false;
    b->wrong = pass_block(e, b, &f->blocks.at[e->next_block++]);
    return !b->wrong;
}

static bool fill_from_kept(struct lpo_nsysrep_events *e, struct batch *b)
{
    const unsigned char *from = e->kept.at;

    while (e->kept.at < e->kept.end && e->kept.at - from < KEPT_AT_ONCE) {
        uint32_t len;

        memcpy(&len, e->kept.at, sizeof len);
        e->kept.at += sizeof len;
        e->makers[0].make(e->makers[0].ctx, &b->rows[0], lpo_proto(e->kept.at, len));
        e->kept.at += len;
    }
    return e->kept.at < e->kept.end;
}

/* True: there may be more. The last one may be without rows. */
static bool fill(void *ctx, void *batch)
{
    struct lpo_nsysrep_events *e = ctx;
    struct batch *b = batch;

    for (int i = 0; i < MOST_MAKERS; i++)
        b->rows[i].cells.len = b->rows[i].texts.len = 0;
    b->wrong = NULL;
    return e->kept.at ? fill_from_kept(e, b) : fill_from_blocks(e, b);
}

static void release(void *batch)
{
    struct batch *b = batch;

    for (int i = 0; i < MOST_MAKERS; i++) {
        lpo_vec_free(&b->rows[i].cells);
        lpo_vec_free(&b->rows[i].texts);
    }
}

/* --- and what is read of it ----------------------------------------------------------------- */

/* What another table keeps is kept by the first walk, which passes every block. */
static void begin_blocks(struct lpo_nsysrep_events *e)
{
    bool first = !e->x->begun;

    e->want = e->bits | (first ? e->x->keep : 0);
    if (first)
        e->x->keep &= ~e->bits;
    e->x->begun = true;
    if (e->x->file->blocks.len > 1)
        e->ahead = lpo_ahead_start(sizeof(struct batch), fill, e);
}

struct lpo_nsysrep_events *lpo_nsysrep_events_begin(struct lpo_nsysrep_index *x,
                                                    const struct lpo_nsysrep_maker *makers, int n)
{
    struct lpo_nsysrep_events *e = lpo_xcalloc(1, sizeof *e);
    unsigned table = (unsigned)__builtin_ctz(makers[0].bit);

    e->x = x;
    e->n = n;
    for (int i = 0; i < n; i++) {
        e->makers[i] = makers[i];
        e->bits |= makers[i].bit;
    }
    if (x->begun && x->keep & e->bits) {
        e->kept = lpo_proto(x->kept[table].len ? x->kept[table].at : (const unsigned char *)"",
                            x->kept[table].len);
        if (x->kept[table].len > KEPT_AT_ONCE)
            e->ahead = lpo_ahead_start(sizeof(struct batch), fill, e);
    } else {
        begin_blocks(e);
    }
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

bool lpo_nsysrep_events_next(struct lpo_nsysrep_events *e, const struct lpo_nsysrep_rows **rows,
                             struct lpo_trace *t)
{
    const struct batch *b = next_batch(e);

    if (!b)
        return false;
    if (b->wrong && !e->x->damage_noted) {
        lpo_trace_note_damage(t, 0, "the report is damaged, %s: what comes after it was not read",
                              b->wrong);
        e->x->damage_noted = true;
    }
    for (int i = 0; i < e->n; i++)
        rows[i] = &b->rows[i];
    return true;
}

void lpo_nsysrep_events_end(struct lpo_nsysrep_events *e)
{
    if (!e)
        return;
    if (e->ahead)
        lpo_ahead_stop(e->ahead, release);
    if (e->kept.at)
        drop_kept(e->x, (unsigned)__builtin_ctz(e->bits));
    release(&e->own);
    lpo_nsysrep_room_free(&e->room);
    free(e);
}

void lpo_nsysrep_index_free(struct lpo_nsysrep_index *x)
{
    for (int i = 0; i < LPO_NSYSREP_TABLES; i++)
        lpo_vec_free(&x->kept[i]);
}
