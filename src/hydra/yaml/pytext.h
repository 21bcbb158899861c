/* SPDX-License-Identifier: Apache-2.0 */
/* hydra/yaml/pytext.h - values as Python writes them.
 *
 * Hydra puts values into strings, folder names and messages with Python's str() and repr(); to
 * give the same names we write the same text: True, None, 1e-05, ['a', 1], {'k': 'v'}. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct lpo_node;
struct lpo_str;

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
