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

#include "util/json_write.h"

struct lpo_doc_value {
    struct lpo_jv
        v; /* LIST and RECORD: of a struct lpo_record, STREAM of a struct lpo_doc_stream */
    const struct lpo_doc_value *next;
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

/* Members at the end, values by their type (util/json_write.h); text is copied:
 *
 *     lpo_doc_put(r, LPO_KV("launches", k->launches), LPO_KV("name", k->name)); */
#define lpo_doc_put(r, ...)                                                                        \
    lpo_doc_put_values(r, (const struct lpo_jv[]){ __VA_ARGS__ },                                  \
                       sizeof((const struct lpo_jv[]){ __VA_ARGS__ }) / sizeof(struct lpo_jv))
void lpo_doc_put_values(struct lpo_record *r, const struct lpo_jv *values, size_t count);
