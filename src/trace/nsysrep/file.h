/* SPDX-License-Identifier: Apache-2.0 */
/* trace/nsysrep/file.h - the parts of a .nsys-rep: where they lie, and their bytes.
 *
 * A mark with the version, sections, a directory of them, a mark at the end. One section has the
 * events: blocks of up to 7,000, each compressed by itself (LZ4). Nothing here knows what an event
 * is. Every length is checked against what is left of the file (docs/nsys-rep.md). */
#pragma once

#include "trace/nsys/tables.h"
#include "util/proto.h"

struct lpo_nsysrep_events;

#define LPO_NSYSREP_MAGIC "NVIDIA Tegra Profiler Report "

/* A part that is kept in memory. */
struct lpo_nsysrep_bytes {
    unsigned char *at;
    size_t len;
};

struct lpo_nsysrep_block {
    uint64_t at;           /* of its compressed bytes */
    uint32_t packed, size; /* compressed, decompressed */
    uint32_t tables;       /* bit for each table that it has rows of; all of them: not known yet */
};

struct lpo_nsysrep_file {
    struct lpo_unpack_file *file;
    uint64_t len;
    char version[32];                      /* "2025.5.1.121"; "1" */
    struct lpo_nsysrep_bytes header;       /* times and clocks; names of machines, too */
    struct lpo_nsysrep_bytes clocks;       /* from 2026 on; else empty */
    struct lpo_nsysrep_bytes counts;       /* how much of everything there is */
    struct lpo_nsysrep_bytes thread_names; /* and those below: as the page of the format says */
    struct lpo_nsysrep_bytes final;
    struct lpo_nsysrep_bytes strings;
    LPO_VEC(struct lpo_nsysrep_block) blocks;
};

int lpo_nsysrep_open(const char *path, struct lpo_nsysrep_file **out, struct lpo_err *err);
void lpo_nsysrep_file_destroy(struct lpo_nsysrep_file *f); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_nsysrep_file);

/* Room that one block after the other is decompressed into. All zero is empty. */
struct lpo_nsysrep_room {
    unsigned char *packed, *plain;
    size_t packed_room, plain_room;
};

/* The message that the block holds: `body` points into `room`. NULL, or what is wrong with it.
 * Threads may do this beside each other, each with a room of its own. */
const char *lpo_nsysrep_unpack(const struct lpo_nsysrep_file *f, const struct lpo_nsysrep_block *b,
                               struct lpo_nsysrep_room *room, struct lpo_nsysrep_bytes *body);
void lpo_nsysrep_room_free(struct lpo_nsysrep_room *room);

/* Rows of events, block by block.
 *
 * A second thread decompresses the blocks, looks for the events and makes rows of them; no block is
 * kept. What is in a block is known once it was passed: later walks leave out those that have
 * nothing for them. The payloads of tables with few bytes are kept at the first walk, so that a
 * report is decompressed once for all of them. */
enum { LPO_NSYSREP_TYPES = 256, LPO_NSYSREP_TABLES = 16 };

/* Rows of one table, one after the other: a mark of which cells are given and (above bit 32) which
 * are texts, then the cells (trace/nsys/tables.h). */
struct lpo_nsysrep_rows {
    LPO_VEC(int64_t) cells;
    LPO_VEC(char) texts;
};

/* How a walk makes rows of one table. */
struct lpo_nsysrep_maker {
    uint32_t bit; /* of the table */
    /* Puts a row behind those that are there; false: the event is none of this table. */
    bool (*make)(void *ctx, struct lpo_nsysrep_rows *rows, struct lpo_proto payload);
    void *ctx; /* the thread's until the walk has ended */
};

/* What all blocks together hold, and which types somebody reads. */
struct lpo_nsysrep_index {
    struct lpo_nsysrep_file *file;
    uint32_t readers[LPO_NSYSREP_TYPES];  /* bits of those who read events of a type */
    uint8_t payloads[LPO_NSYSREP_TABLES]; /* field of the payload, by bit */
    size_t counted;                       /* blocks whose events are in these: */
    uint64_t events, generic;
    uint64_t types[LPO_NSYSREP_TYPES]; /* by type; the last: all beyond */
    bool begun, damage_noted;
    /* Payloads of the tables with these bits, with their length in front, in the file's order. */
    uint32_t keep;
    size_t kept_bytes;
    LPO_VEC(unsigned char) kept[LPO_NSYSREP_TABLES];
};

/* Rows of `makers`, two at most; the first is the one that is walked. */
struct lpo_nsysrep_events *lpo_nsysrep_events_begin(struct lpo_nsysrep_index *x,
                                                    const struct lpo_nsysrep_maker *makers, int n);
/* The next rows of each of them, none perhaps. False at the end. Damage ends the walk with a note
 * in `t`. Good until the next. */
bool lpo_nsysrep_events_next(struct lpo_nsysrep_events *e, const struct lpo_nsysrep_rows **rows,
                             struct lpo_trace *t);
void lpo_nsysrep_events_end(struct lpo_nsysrep_events *e); /* NULL is fine */
void lpo_nsysrep_index_free(struct lpo_nsysrep_index *x);

/* A report as the tables of the export that nsys would make of it.
 *
 * A row is an event whose fields stand where the columns say. */
enum { LPO_NSYSREP_CLASSES = 128, LPO_NSYSREP_ANCHOR = 16 };

struct lpo_nsysrep {
    struct lpo_nsys_tables given; /* how the reader of nsys sees it */
    struct lpo_nsysrep_index index;
    struct lpo_nsys_beside *beside; /* given beside the next walk over events; NULL: nothing is */
    int64_t utc_ns;                 /* of the session's start; LPO_NO_TIME */
    uint64_t strings;               /* how many there are: millions, of which few are asked for */
    LPO_VEC(uint32_t) anchors;      /* where each LPO_NSYSREP_ANCHOR-th of them begins */
    uint32_t *names;                /* of the trace, plus one; 0: not asked for yet */
    uint64_t classes[LPO_NSYSREP_CLASSES]; /* calls that are not read; the last: all beyond */
};

/* `rep` is zeroed but for the file of its index. `skip`: of the trace that is read into. */
void lpo_nsysrep_tables_begin(struct lpo_nsysrep *rep, unsigned skip);
void lpo_nsysrep_tables_end(struct lpo_nsysrep *rep);
/* Does a table have rows of such events? */
bool lpo_nsysrep_type_is_read(const struct lpo_nsysrep *rep, uint32_t type);

/* UTC of the session's start by the clocks of the report; LPO_NO_TIME (file.c). */
int64_t lpo_nsysrep_utc(const struct lpo_nsysrep_file *f);
