/* SPDX-License-Identifier: Apache-2.0 */
/* trace/digest/layout.h - what the writer and the reader of digests share. docs/digest.md */
#pragma once

#include <stddef.h>

#include "trace/rows.h"

#define DIGEST_MAGIC "lpodigest"
enum { DIGEST_VERSION = 1, DIGEST_MAGIC_LEN = sizeof DIGEST_MAGIC - 1 };

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
