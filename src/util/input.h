/* SPDX-License-Identifier: Apache-2.0 */
/* util/input.h - the bytes of a file in one pass, decompressed beside the one who reads them.
 *
 *     lpo_input_open(path, &in, err);
 *     while ((rc = lpo_input_next(in, kept, &w, err)) > 0)
 *         kept = w.len - use(w.at, w.len);
 *
 * Plain, gzip and zstd files are recognised by their first bytes, never by their name. A second
 * thread reads and inflates ahead, so parsing costs no extra time on a .gz. Memory is constant:
 * a few blocks, and what the reader asks to keep. */
#pragma once

#include "util/base.h"

struct lpo_input;

/* A piece of the text, good until the next lpo_input_next(). One NUL follows the last byte. */
struct lpo_input_window {
    const char *at;
    size_t len;
    uint64_t offset; /* of at[0] in the decompressed text */
};

/* A pipe is refused: it can be read only once, and formats are recognised before they are read
 * (util/spool.h makes a file of it). A stream that inflates beyond the budget ends as damaged. */
int lpo_input_open(const char *path, struct lpo_input **out, struct lpo_err *err);
/* A descriptor of a regular file; folders, pipes and terminals are refused without waiting. */
int lpo_input_open_file(const char *path, struct lpo_err *err);
void lpo_input_destroy(struct lpo_input *in); /* NULL is fine; stops the thread */
LPO_AUTO_DEFINE(lpo_input);

/* Moves the window on: its last `keep` bytes stay in front (0 the first time), new bytes follow,
 * at least as many as were kept where the text has them. Returns 1; 0 at the end, with the kept
 * bytes alone in the window; LPO_E_IO when the system refuses. */
int lpo_input_next(struct lpo_input *in, size_t keep, struct lpo_input_window *w,
                   struct lpo_err *err);

/* After the end: what is wrong with the compressed data ("the gzip data breaks off"), or NULL.
 * All bytes before the damage were given. */
const char *lpo_input_damage(const struct lpo_input *in);
/* After the end: was that because it inflates to more than the budget allows? */
bool lpo_input_over_budget(const struct lpo_input *in);

/* Up to `room` first bytes of the decompressed text, for recognising formats. */
int lpo_input_head(const char *path, unsigned char *head, size_t room, size_t *len,
                   struct lpo_err *err);

/* The compressions that util/input reads, as rows of a table. */

/* Where a decoder gets its compressed bytes from. */
struct lpo_raw {
    int fd;
    const char *path;  /* to open it again; NULL: not by its name */
    unsigned char *at; /* not yet taken */
    size_t len;
    unsigned char *block; /* LPO_RAW_SIZE bytes and slack; at points into it */
    size_t at_once;       /* of them that are read; 0: all */
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
