/* SPDX-License-Identifier: Apache-2.0 */
/* trace/digest/digest.h - the trace of a rank in little space: `lpo digest`, *.lpod.
 *
 * A digest is the event model itself, column by column: it holds every event, so what is computed
 * of digests is what is computed of the traces. docs/digest.md describes the bytes. */
#pragma once

#include "trace/rows.h"

struct lpo_trace;

/* Where the events came from. */
struct lpo_digest_origin {
    const char *format; /* the reader that read them: "kineto" */
    const char *file;   /* the name of the trace, which may say its rank */
};

/* Appends the bytes of the file. */
void lpo_digest_add(const struct lpo_trace *t, const struct lpo_digest_origin *origin,
                    struct lpo_str *to);
/* False: the file is no digest, or its head is damaged. */
bool lpo_digest_origin_of(struct lpo_arena *a, const char *path, struct lpo_digest_origin *out);

/* What the writer and the reader of digests share. docs/digest.md */

#define DIGEST_MAGIC "lpodigest"
enum { DIGEST_VERSION = 2, DIGEST_MAGIC_LEN = sizeof DIGEST_MAGIC - 1 };

enum digest_column {
    DIGEST_SAME,   /* one value for all rows */
    DIGEST_DELTAS, /* of each row the difference from the row before it */
};

/* Numbers of a whole trace, in the order in which they stand in the file. */
struct digest_fact {
    size_t at;
    uint8_t size;
};
enum { DIGEST_FACTS = 18 };
extern const struct digest_fact digest_facts[DIGEST_FACTS];
