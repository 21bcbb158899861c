/* SPDX-License-Identifier: Apache-2.0 */
/* report/doc/record.h - the part of a document that is for machines: records, lists and values.
 *
 * A record has named members; a list has members without names. A member is a number, a text, yes
 * or no, null (unknown, which is not 0), a record or a list. Members keep the order in which they
 * were put. Writers for people skip records; the JSON writer prints them as they are.
 *
 *     struct lpo_record *kernels = lpo_doc_put_list(doc->data, "kernels"), *k;
 *     k = lpo_doc_put_record(kernels, NULL);          inside a list the key is NULL
 *     lpo_doc_put(k, LPO_KV("launches", 12), LPO_KV("gpu_ns", ns));
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
    uint32_t len;  /* TEXT: bytes */
    uint8_t kind;  /* enum lpo_value_kind */
    uint8_t how;   /* enum lpo_how; LPO_UNKNOWN only with NULL */
    bool borrowed; /* TEXT: need not be copied when it is put */
    bool absent;   /* a member that is not put */
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

/* A record or list at the end. */
struct lpo_record *lpo_doc_put_record(struct lpo_record *r, const char *key);
struct lpo_record *lpo_doc_put_list(struct lpo_record *r, const char *key);
/* A list of `count` records that a writer asks for one at a time: a region tree of 45 MB of JSON
 * would take 60 MB more as records. `ctx` must live as long as the document (its arena does). */
void lpo_doc_put_stream(struct lpo_record *r, const char *key, size_t count,
                        lpo_doc_make_record *make, const void *ctx);

/* Members at the end:
 *
 *     lpo_doc_put(r, LPO_KV("launches", k->launches), LPO_KV("name", k->name));
 *
 * A value is put by its type: whole numbers, `bool`, `double` (not finite: null), text (copied;
 * NULL: null), a measure, or what one of the functions below gives. Values of a list have no key:
 * LPO_V(value). */
#define lpo_doc_put(r, ...)                                                                        \
    lpo_doc_put_values(r, (const struct lpo_doc_value[]){ __VA_ARGS__ },                           \
                       sizeof((const struct lpo_doc_value[]){ __VA_ARGS__ }) /                     \
                           sizeof(struct lpo_doc_value))
#define LPO_KV(key, value) lpo_doc_member(key, LPO_V(value))
#define LPO_V(value)                                                                               \
    _Generic((value),                                                                              \
        bool: lpo_doc_flag,                                                                        \
        float: lpo_doc_real, \
        double: lpo_doc_real,                                                                      \
        char *: lpo_doc_text,                                                                      \
        const char *: lpo_doc_text,                                                                \
        unsigned long: lpo_doc_uint,                                                               \
        unsigned long long: lpo_doc_uint,                                                          \
        struct lpo_measure: lpo_doc_measure,                                                       \
        struct lpo_doc_value: lpo_doc_same,                                                        \
        default: lpo_doc_int)(value)

struct lpo_doc_value lpo_doc_null(void);
struct lpo_doc_value lpo_doc_flag(bool yes); /* a comparison is an int in C */
struct lpo_doc_value lpo_doc_int_if(bool known, int64_t v);
/* The nearest integer of what arithmetic left as a double. */
struct lpo_doc_value lpo_doc_whole(struct lpo_measure m);
struct lpo_doc_value lpo_doc_textn(const char *text, size_t len);
/* Not copied: names of a trace, which outlives its documents. */
struct lpo_doc_value lpo_doc_name(const char *text, size_t len);
/* A member that is there only if. */
struct lpo_doc_value lpo_doc_if(bool there, struct lpo_doc_value v);
#define LPO_KV_IF(there, key, value) lpo_doc_if(there, LPO_KV(key, value))

struct lpo_doc_value lpo_doc_real(double v);
struct lpo_doc_value lpo_doc_text(const char *text);
struct lpo_doc_value lpo_doc_uint(uint64_t v);
struct lpo_doc_value lpo_doc_int(int64_t v);
struct lpo_doc_value lpo_doc_measure(struct lpo_measure m);
struct lpo_doc_value lpo_doc_same(struct lpo_doc_value v);
struct lpo_doc_value lpo_doc_member(const char *key, struct lpo_doc_value v);
void lpo_doc_put_values(struct lpo_record *r, const struct lpo_doc_value *values, size_t count);
