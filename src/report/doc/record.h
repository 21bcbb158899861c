/* SPDX-License-Identifier: Apache-2.0 */
/* report/doc/record.h - the part of a document that is for machines: records, lists and values.
 *
 * A record has named members; a list has members without names. A member is a number, a text, yes
 * or no, null (unknown, which is not 0), a record or a list. Members keep the order in which they
 * were put. Writers for people skip records; the JSON writer prints them as they are.
 *
 *     struct lpo_record *kernels = lpo_doc_put_list(doc->data, "kernels"), *k;
 *     k = lpo_doc_put_record(kernels, NULL);          inside a list the key is NULL
 *     lpo_doc_put_uint(k, "launches", 12);
 *     lpo_doc_put_int(k, "gpu_ns", ns);
 *
 * A region tree has hundreds of thousands of members, so a value is 32 bytes of the document's
 * arena and is never freed singly. For the same reason keys are not copied: give literals, or text
 * that lives as long as the document (lpo_doc_keep). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/measure.h"

struct lpo_arena;

enum lpo_value_kind {
    LPO_IS_NULL,
    LPO_IS_FLAG,
    LPO_IS_INT,
    LPO_IS_UINT,
    LPO_IS_REAL,
    LPO_IS_WHOLE, /* a real that is printed as the nearest integer: rounded nanoseconds, bytes */
    LPO_IS_TEXT,
    LPO_IS_LIST,
    LPO_IS_RECORD,
    LPO_IS_STREAM, /* a list of records that are made while it is written */
};

struct lpo_doc_stream;
struct lpo_record;

struct lpo_doc_value {
    const char *key; /* NULL in a list */
    const struct lpo_doc_value *next;
    union {
        int64_t integer; /* FLAG, INT */
        uint64_t count;  /* UINT */
        double real;     /* REAL, WHOLE */
        const char *text;
        const struct lpo_record *record; /* LIST, RECORD */
        const struct lpo_doc_stream *stream;
    };
    uint32_t len; /* TEXT: bytes */
    uint8_t kind; /* enum lpo_value_kind */
    uint8_t how;  /* enum lpo_how; LPO_UNKNOWN only with NULL */
};

/* A record or a list. */
struct lpo_record {
    struct lpo_arena *arena; /* the document's */
    struct lpo_doc_value *first, *last;
};

/* Fills the `i`th record of a stream. */
typedef void lpo_doc_make_record(const void *ctx, size_t i, struct lpo_record *out);

struct lpo_doc_stream {
    lpo_doc_make_record *make;
    const void *ctx;
    size_t count;
};

struct lpo_record *lpo_doc_record_create(struct lpo_arena *arena);

/* Each adds one member at the end. */
struct lpo_record *lpo_doc_put_record(struct lpo_record *r, const char *key);
struct lpo_record *lpo_doc_put_list(struct lpo_record *r, const char *key);
/* A list of `count` records that a writer asks for one at a time: a region tree of 45 MB of JSON
 * would take 60 MB more as records. `ctx` must live as long as the document (its arena does). */
void lpo_doc_put_stream(struct lpo_record *r, const char *key, size_t count,
                        lpo_doc_make_record *make, const void *ctx);
void lpo_doc_put_null(struct lpo_record *r, const char *key);
void lpo_doc_put_flag(struct lpo_record *r, const char *key, bool yes);
void lpo_doc_put_int(struct lpo_record *r, const char *key, int64_t v);
void lpo_doc_put_uint(struct lpo_record *r, const char *key, uint64_t v);
void lpo_doc_put_real(struct lpo_record *r, const char *key, double v); /* not finite: null */
void lpo_doc_put_measure(struct lpo_record *r, const char *key, struct lpo_measure m);
/* The nearest integer of what arithmetic left as a double. */
void lpo_doc_put_whole(struct lpo_record *r, const char *key, struct lpo_measure m);
/* `v` where it is known, else null. */
void lpo_doc_put_int_if(struct lpo_record *r, const char *key, bool known, int64_t v);
/* Copied; NULL is null. */
void lpo_doc_put_text(struct lpo_record *r, const char *key, const char *text);
void lpo_doc_put_textn(struct lpo_record *r, const char *key, const char *text, size_t len);
/* Not copied: names of a trace, which outlives its documents. */
void lpo_doc_put_name(struct lpo_record *r, const char *key, const char *text, size_t len);
