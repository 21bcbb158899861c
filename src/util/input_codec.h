/* SPDX-License-Identifier: Apache-2.0 */
/* util/input_codec.h - the compressions that util/input reads, as rows of a table. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Where a decoder gets its compressed bytes from. */
struct lpo_raw {
    int fd;
    const char *path;  /* to open it again; NULL: not by its name */
    unsigned char *at; /* not yet taken */
    size_t len;
    unsigned char *block; /* LPO_RAW_SIZE bytes and slack; at points into it */
    int error;            /* errno of a read that failed */
    uint64_t taken;       /* compressed bytes read so far */
};

/* The slack behind a block is for ISA-L, which reads past the end of some damaged streams. */
enum { LPO_RAW_SIZE = 256 * 1024, LPO_RAW_SLACK = 64 };

/* Makes at least one byte available; false at the end of the file or when reading failed. */
int lpo_input_raw_fill(struct lpo_raw *raw);

struct lpo_codec {
    const char *name;
    unsigned char magic[4];
    size_t magic_len;
    void *(*create)(void);
    void (*destroy)(void *state);
    /* Writes up to `room` bytes; the count, 0 at the end. *damage says why it ends early. */
    size_t (*decode)(void *state, struct lpo_raw *raw, char *out, size_t room, const char **damage);
};

/* The row whose magic fits; plain bytes when none does. Never NULL. */
const struct lpo_codec *lpo_input_codec_find(const unsigned char *head, size_t len);
