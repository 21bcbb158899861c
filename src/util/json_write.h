/* SPDX-License-Identifier: Apache-2.0 */
/* util/json_write.h - JSON out, streaming, field order as written.
 *
 *     struct lpo_json_writer w = lpo_json_writer(&buffer, 2);
 *     lpo_jw_object(&w, NULL);
 *     lpo_jw_put(&w, LPO_KV("launches", 12), LPO_KV("gpu_ns", ns));
 *     lpo_jw_end(&w);
 *
 * The key is NULL inside arrays and at the top. Doubles print as the shortest text that reads back
 * the same; NaN and infinities print as null. Invalid UTF-8 becomes U+FFFD. */
#pragma once

#include "util/base.h"

#define LPO_JW_DEPTH 1024 /* three levels for each of a config's 256 */

struct lpo_json_writer {
    struct lpo_str *out;
    int indent; /* spaces per level; 0 writes one line */
    int depth;
    bool html; /* escape '<', so the text can be put inside <script> */
    bool filled[LPO_JW_DEPTH];
    char close[LPO_JW_DEPTH];
};

struct lpo_json_writer lpo_json_writer(struct lpo_str *out, int indent);

void lpo_jw_object(struct lpo_json_writer *w, const char *key);
void lpo_jw_array(struct lpo_json_writer *w, const char *key);
void lpo_jw_end(struct lpo_json_writer *w); /* closes the innermost; a newline after the last */

/* A value that is put by its type: whole numbers, `bool`, `double` (not finite: null), text (NULL:
 * null), a measure, or what one of the functions below gives. */
enum lpo_jv_kind {
    LPO_IS_NULL,
    LPO_IS_FLAG,
    LPO_IS_INT,
    LPO_IS_UINT,
    LPO_IS_REAL,
    LPO_IS_WHOLE, /* a real that is printed as the nearest integer: rounded nanoseconds, bytes */
    LPO_IS_TEXT,
    LPO_IS_RAW,  /* JSON, as it is */
    LPO_IS_LIST, /* from here on: of a document (report/doc/record.h), which writes them itself */
    LPO_IS_RECORD,
    LPO_IS_STREAM, /* a list of records that are made while it is written */
};

struct lpo_jv {
    const char *key; /* NULL in a list */
    union {
        int64_t integer; /* FLAG, INT */
        uint64_t count;  /* UINT */
        double real;     /* REAL, WHOLE */
        const char *text;
        const void *inner; /* LIST, RECORD, STREAM */
    };
    uint32_t len;  /* TEXT: bytes */
    uint8_t kind;  /* enum lpo_jv_kind */
    uint8_t how;   /* enum lpo_how; LPO_UNKNOWN only with NULL */
    bool borrowed; /* TEXT: need not be copied when a document keeps it */
    bool absent;   /* a member that is not put */
};

/* The next members, or values of a list; and a whole object or list of them:
 *
 *     lpo_jw_record(&w, "step", LPO_KV("name", s->name), LPO_KV_IF(s->ns > 0, "ns", s->ns));
 *     lpo_jw_list(&w, "grid", LPO_V(1), LPO_V(2)); */
#define lpo_jw_put(w, ...)                                                                         \
    lpo_jw_values(w, (const struct lpo_jv[]){ __VA_ARGS__ },                                       \
                  sizeof((const struct lpo_jv[]){ __VA_ARGS__ }) / sizeof(struct lpo_jv))
#define lpo_jw_record(w, key, ...)                                                                 \
    (lpo_jw_object(w, key), lpo_jw_put(w, __VA_ARGS__), lpo_jw_end(w))
#define lpo_jw_list(w, key, ...) (lpo_jw_array(w, key), lpo_jw_put(w, __VA_ARGS__), lpo_jw_end(w))
void lpo_jw_values(struct lpo_json_writer *w, const struct lpo_jv *values, size_t count);
void lpo_jw_texts(struct lpo_json_writer *w, const char *key, const char *const *texts,
                  size_t count);

#define LPO_KV_IF(there, key, value) lpo_jv_if(there, LPO_KV(key, value))
#define LPO_KV(key, value)           lpo_jv_member(key, LPO_V(value))
#define LPO_V(value)                                                                               \
    _Generic((value),                                                                              \
        bool: lpo_jv_flag,                                                                         \
        float: lpo_jv_real,                                                                        \
        double: lpo_jv_real,                                                                       \
        char *: lpo_jv_text,                                                                       \
        const char *: lpo_jv_text,                                                                 \
        unsigned long: lpo_jv_uint,                                                                \
        unsigned long long: lpo_jv_uint,                                                           \
        struct lpo_measure: lpo_jv_measure,                                                        \
        struct lpo_jv: lpo_jv_same,                                                                \
        default: lpo_jv_int)(value)

struct lpo_jv lpo_jv_null(void);
struct lpo_jv lpo_jv_flag(bool yes); /* a comparison is an int in C */
struct lpo_jv lpo_jv_int(int64_t v);
struct lpo_jv lpo_jv_int_if(bool known, int64_t v);
struct lpo_jv lpo_jv_uint(uint64_t v);
struct lpo_jv lpo_jv_real(double v);
struct lpo_jv lpo_jv_measure(struct lpo_measure m);
/* The nearest integer of what arithmetic left as a double: nanoseconds, bytes, counts. */
struct lpo_jv lpo_jv_whole(struct lpo_measure m);
struct lpo_jv lpo_jv_text(const char *text);
struct lpo_jv lpo_jv_textn(const char *text, size_t len);
/* Not copied: names of a trace, which outlives its documents. */
struct lpo_jv lpo_jv_name(const char *text, size_t len);
struct lpo_jv lpo_jv_raw(const char *json); /* trusted text */
struct lpo_jv lpo_jv_same(struct lpo_jv v);
struct lpo_jv lpo_jv_member(const char *key, struct lpo_jv v);
struct lpo_jv lpo_jv_if(bool there, struct lpo_jv v); /* a member that is there only if */

/* "…" with escapes, for other writers. */
void lpo_json_add_json(struct lpo_str *s, const char *text, size_t len, bool html);
/* The shortest digits that read back as v; "null" when not finite. */
void lpo_json_add_real(struct lpo_str *s, double v);
/* The nearest integer, without a point; "null" when not finite. */
void lpo_json_add_whole(struct lpo_str *s, double v);
