/* SPDX-License-Identifier: Apache-2.0 */
/* hydra/yaml/tree.h - a YAML document before its words have meaning.
 *
 * read.c fills it from libyaml's events, make.c turns it into config nodes. The step
 * between is needed because merge keys and repeated keys are matters of the text, not of the
 * values. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "hydra/node.h"
#include "hydra/yaml/scalar.h"

struct lpo_err;

enum lpo_ykind { LPO_Y_SCALAR, LPO_Y_SEQ, LPO_Y_MAP };

struct lpo_ynode {
    enum lpo_ykind kind;
    enum lpo_scalar_tag tag;
    const char *tag_text; /* of an unknown tag */
    struct lpo_where where;
    char quote;
    const char *text; /* scalar */
    size_t len;
    struct lpo_ynode **kids; /* items; keys and values in turn */
    size_t count, cap;
    struct lpo_node *made; /* make.c: the value, once it exists */
    bool flat;             /* make.c: merge keys are resolved */
    bool open;             /* make.c: on the way down to it, to find loops */
};

/* *aliases: the document has some. *out is NULL for an empty document. The tree keeps `file`; all
 * else is copied into `a`. */
int lpo_yaml_tree_read(struct lpo_arena *a, const char *text, size_t len, const char *file,
                       struct lpo_ynode **out, bool *aliases, struct lpo_err *err);

void lpo_yaml_node_push(struct lpo_arena *a, struct lpo_ynode *n, struct lpo_ynode *kid);
