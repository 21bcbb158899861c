/* SPDX-License-Identifier: Apache-2.0 */
/* hydra/yaml/scalar.h - what a bare YAML word means: YAML 1.1 as OmegaConf reads it.
 *
 * `yes` is a boolean, `017` is 15, `1:30` is 90, `1e3` is a number, `2001-01-01` is text. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct lpo_arena;
struct lpo_err;
struct lpo_node;

enum lpo_scalar_tag {
    LPO_TAG_STR,
    LPO_TAG_NULL,
    LPO_TAG_BOOL,
    LPO_TAG_INT,
    LPO_TAG_FLOAT,
    LPO_TAG_MERGE, /* << */
    LPO_TAG_VALUE, /* = */
    LPO_TAG_BINARY,
    LPO_TAG_TIMESTAMP, /* only when written out: !!timestamp */
    LPO_TAG_SEQ,
    LPO_TAG_MAP,
    LPO_TAG_SET,
    LPO_TAG_OMAP,
    LPO_TAG_PAIRS,
    LPO_TAG_UNKNOWN,
};

/* The tag of a bare word on reading. */
enum lpo_scalar_tag lpo_yaml_scalar_resolve(const char *text, size_t len);

/* Would a bare word be read back as text by any YAML 1.1 reader, so that it needs no quotes? */
bool lpo_yaml_scalar_is_plain_text(const char *text, size_t len);

/* "tag:yaml.org,2002:int" and the like. */
enum lpo_scalar_tag lpo_yaml_scalar_tag_of(const char *tag);

/* The value of `text` under `tag`; LPO_E_FORMAT when the text does not fit the tag. */
int lpo_yaml_scalar_make(struct lpo_arena *a, enum lpo_scalar_tag tag, const char *text, size_t len,
                         struct lpo_node **out, struct lpo_err *err);
