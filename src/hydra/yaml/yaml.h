/* SPDX-License-Identifier: Apache-2.0 */
/* hydra/yaml/yaml.h - YAML text to nodes and back.
 *
 * Reads what PyYAML's safe loader reads under OmegaConf's rules: anchors, aliases and merge keys
 * are expanded, a repeated key is an error, every value remembers file, line and column. Writes
 * block style laid out as PyYAML's dump, so that files can be compared by eye with Hydra's. */
#pragma once

#include "util/base.h"

struct lpo_node;

#define LPO_YAML_MAX_BYTES  (16u << 20) /* of one file */
#define LPO_YAML_MAX_VALUES 1000000u    /* of one file, after aliases are expanded */
#define LPO_YAML_MAX_DEPTH  256u

/* One document. An empty one gives null. `file` names the text in messages and in the nodes, and
 * is copied. Errors read "file:line:column: what". */
int lpo_yaml_parse(struct lpo_arena *a, const char *text, size_t len, const char *file,
                   struct lpo_node **out, struct lpo_err *err);

/* Appends the document; ends with a newline. */
void lpo_yaml_add(struct lpo_str *s, const struct lpo_node *root);

/* What a bare YAML word means: YAML 1.1 as OmegaConf reads it.
 *
 * `yes` is a boolean, `017` is 15, `1:30` is 90, `1e3` is a number, `2001-01-01` is text. */
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

/* Values as Python writes them.
 *
 * Hydra puts values into strings, folder names and messages with Python's str() and repr(); to
 * give the same names we write the same text: True, None, 1e-05, ['a', 1], {'k': 'v'}. */

/* Shortest digits that read back: 0.1, 1e-05, 1e+16, inf, nan. */
void lpo_yaml_py_add_float(struct lpo_str *s, double d);
/* str(): strings as they are. */
void lpo_yaml_py_add_str(struct lpo_str *s, const struct lpo_node *n);
/* repr(): strings quoted. */
void lpo_yaml_py_add_repr(struct lpo_str *s, const struct lpo_node *n);
/* type(x).__name__ of a plain value: "int", "str", "NoneType", "dict", "list". */
const char *lpo_yaml_py_type(const struct lpo_node *n);

/* Would Python's int(text) or float(text) accept it? */
bool lpo_yaml_py_is_int(const char *text, size_t len);
bool lpo_yaml_py_is_float(const char *text, size_t len);
