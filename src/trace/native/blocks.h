/* SPDX-License-Identifier: Apache-2.0 */
/* trace/native/blocks.h - the frame of our own files (lpo/trace_format.h): blocks and bytes.
 *
 * Blocks come one at a time, checked. A file cut off in the middle of a block ends before that
 * block: whatever killed the writer, all before it is good. */
#pragma once

#include "util/base.h"

struct lpo_native_blocks;

struct lpo_native_block {
    unsigned kind; /* enum lpot_block */
    uint32_t stream, sequence;
    uint64_t ticks, real_ns;
    const uint8_t *payload; /* good until the next call */
    size_t len;
};

/* A format that uses this frame. */
struct lpo_native_format {
    const char *magic; /* the first 8 bytes of a file */
    unsigned major;
    const char *word; /* "trace", for errors */
    const char *what; /* "trace of liblpo-collect.so" */
};

/* A trace. Refuses a file of another format or of another major version. */
int lpo_native_blocks_open(const char *path, struct lpo_native_blocks **out, struct lpo_err *err);
/* The same from memory, which must outlive it. */
int lpo_native_blocks_over(const void *bytes, size_t len, struct lpo_native_blocks **out,
                           struct lpo_err *err);
/* A file of another format: from `fd`, which it then owns, or from memory where fd is -1. */
int lpo_native_blocks_as(const struct lpo_native_format *format, int fd, const void *bytes,
                         size_t len, struct lpo_native_blocks **out, struct lpo_err *err);
void lpo_native_blocks_destroy(struct lpo_native_blocks *b); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_native_blocks);

bool lpo_native_blocks_next(struct lpo_native_blocks *b,
                            struct lpo_native_block *out); /* false: the end */
/* LPO_E_IO where a block could not be read although the file has it: what came is not all. */
int lpo_native_blocks_failed(const struct lpo_native_blocks *b, struct lpo_err *err);
void lpo_native_blocks_rewind(struct lpo_native_blocks *b);
uint64_t lpo_native_blocks_ignored(
    const struct lpo_native_blocks *b); /* bytes after the last whole block */

/* A place in a payload. Reading past the end, or a malformed varint, sets `bad` and gives 0. */
struct lpo_cursor {
    const uint8_t *at, *end;
    bool bad;
};

uint8_t lpo_native_get_byte(struct lpo_cursor *c);
uint64_t lpo_native_get_v(struct lpo_cursor *c);
int64_t lpo_native_get_z(struct lpo_cursor *c);
uint64_t lpo_native_get_fixed(struct lpo_cursor *c, unsigned bytes); /* little-endian */
const char *lpo_native_get_bytes(struct lpo_cursor *c, size_t len);  /* NULL when not there */
const char *lpo_native_get_text(struct lpo_cursor *c, size_t *len);

/* From ticks of a cycle counter to CLOCK_REALTIME.
 *
 * Every block header is a pair of both clocks. Between two pairs the rate is taken as even, so a
 * clock that the system slews while the program runs is followed. */
struct lpo_tick_pair {
    uint64_t ticks, real_ns;
};

struct lpo_tick_clock {
    LPO_VEC(struct lpo_tick_pair) pairs;
    bool ticks_are_ns;
    size_t last; /* the segment used last: events come in order */
};

void lpo_native_tick_clock_add(struct lpo_tick_clock *c, uint64_t ticks, uint64_t real_ns);
/* After the last pair: sorts them and leaves out those too close to give a rate. */
void lpo_native_tick_clock_settle(struct lpo_tick_clock *c);
/* Never decreases with `ticks`. */
int64_t lpo_native_tick_clock_ns(struct lpo_tick_clock *c, uint64_t ticks);
void lpo_native_tick_clock_free(struct lpo_tick_clock *c);

/* A time of the file as one that sums and differences cannot overflow. */
int64_t lpo_native_ns(uint64_t ns);
