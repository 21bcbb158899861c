/* SPDX-License-Identifier: Apache-2.0 */
/* hydra/yaml/yaml.h - YAML text to nodes and back.
 *
 * Reads what PyYAML's safe loader reads under OmegaConf's rules: anchors, aliases and merge keys
 * are expanded, a repeated key is an error, every value remembers file, line and column. Writes
 * block style laid out as PyYAML's dump, so that files can be compared by eye with Hydra's. */
#pragma once

#include <stddef.h>

struct lpo_arena;
struct lpo_err;
struct lpo_node;
struct lpo_str;

#define LPO_YAML_MAX_BYTES  (16u << 20) /* of one file */
#define LPO_YAML_MAX_VALUES 1000000u    /* of one file, after aliases are expanded */
#define LPO_YAML_MAX_DEPTH  256u

/* One document. An empty one gives null. `file` names the text in messages and in the nodes, and
 * is copied. Errors read "file:line:column: what". */
int lpo_yaml_parse(struct lpo_arena *a, const char *text, size_t len, const char *file,
                   struct lpo_node **out, struct lpo_err *err);

/* Appends the document; ends with a newline. */
void lpo_yaml_add(struct lpo_str *s, const struct lpo_node *root);
