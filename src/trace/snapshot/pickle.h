/* SPDX-License-Identifier: Apache-2.0 */
/* trace/snapshot/pickle.h - plain data out of a Python pickle, without Python.
 *
 * A pickle is a small program: Python would import modules and call what it names. This reader
 * knows the instructions that build plain data (None, bool, int, float, str, bytes, list, tuple,
 * dict) and refuses every other one by its name. Protocols 2 to 5.
 *
 * Values are 16 bytes; containers are shared, as the pickle shares them, and one may hold itself:
 * never walk them without a bound. Memory grows with the bytes of the file and with nothing that
 * the file says. */
#pragma once

#include "util/base.h"

enum lpo_pickle_kind {
    LPO_PICKLE_NONE,
    LPO_PICKLE_BOOL,
    LPO_PICKLE_INT,
    LPO_PICKLE_BIG, /* an int of more than 64 bits: its value is not kept */
    LPO_PICKLE_FLOAT,
    LPO_PICKLE_TEXT, /* UTF-8 as the file has it, not checked; a NUL follows */
    LPO_PICKLE_BYTES,
    LPO_PICKLE_LIST,
    LPO_PICKLE_TUPLE,
    LPO_PICKLE_DICT,
};

struct lpo_pickle_value {
    union {
        int64_t integer; /* BOOL, INT */
        double real;
        const char *text; /* TEXT, BYTES */
        struct lpo_pickle_box *box;
    };
    uint32_t len; /* TEXT, BYTES */
    uint8_t kind; /* enum lpo_pickle_kind */
};

/* What one instruction added to a container. */
struct lpo_pickle_part {
    struct lpo_pickle_part *next;
    size_t count;
    struct lpo_pickle_value at[];
};

/* A list, a tuple, or a dict: there keys and values take turns. */
struct lpo_pickle_box {
    struct lpo_pickle_part *first, *last;
    size_t count; /* values; of a dict twice its members */
};

struct lpo_pickle {
    struct lpo_pickle_value root;
    uint64_t bytes; /* of the file, decompressed */
};

/* The values live in `a`. An error names the instruction and its byte. */
int lpo_snapshot_pickle_read(struct lpo_arena *a, const char *path, struct lpo_pickle *out,
                             struct lpo_err *err);

/* The same of a pickle, or of JSON: both hold plain data. */
int lpo_snapshot_plain_read(struct lpo_arena *a, const char *path, struct lpo_pickle *out,
                            struct lpo_err *err);
/* Do files of either begin so? */
bool lpo_snapshot_is_plain(const unsigned char *head, size_t len);

/* A walk over a list or tuple: { 0 } at the beginning. NULL: the end, or it is no list. */
struct lpo_pickle_walk {
    const struct lpo_pickle_part *part;
    size_t i;
    bool begun;
};

const struct lpo_pickle_value *lpo_snapshot_pickle_next(const struct lpo_pickle_value *list,
                                                        struct lpo_pickle_walk *w);
/* The member of a dict; NULL: not among the first 64, or it is no dict. */
const struct lpo_pickle_value *lpo_snapshot_pickle_get(const struct lpo_pickle_value *dict,
                                                       const char *key);
/* The same where it is a number (a text); else `otherwise` (NULL). */
int64_t lpo_snapshot_pickle_int(const struct lpo_pickle_value *dict, const char *key,
                                int64_t otherwise);
const struct lpo_pickle_value *lpo_snapshot_pickle_text(const struct lpo_pickle_value *dict,
                                                        const char *key);
bool lpo_snapshot_pickle_is(const struct lpo_pickle_value *v, const char *text);
