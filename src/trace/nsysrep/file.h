/* SPDX-License-Identifier: Apache-2.0 */
/* trace/nsysrep/file.h - the parts of a .nsys-rep: where they lie, and their bytes.
 *
 * A mark with the version, sections, a directory of them, a mark at the end. One section has the
 * events: blocks of up to 7,000, each compressed by itself (LZ4). Nothing here knows what an event
 * is. Every length is checked against what is left of the file (docs/nsys-rep.md). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/auto.h"
#include "util/vec.h"

struct lpo_err;

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
