/* SPDX-License-Identifier: Apache-2.0 */
/* hydra/interp/private.h - between the files of this folder: expressions, read and evaluated.
 *
 *     ${a.b[0]}   ${..up}   ${oc.env:HOME,none}   text ${a} text   \${not one}
 *
 * OmegaConf 2.3's lexer and grammar, rule for rule: what it refuses is refused here, with the
 * column. Escapes are resolved while parsing, so evaluation only ever joins texts. */
#pragma once

#include "hydra/interp/interp.h"

enum lpo_iexpr_kind {
    LPO_I_TEXT,     /* kids joined; a lone interpolation keeps its type */
    LPO_I_QUOTED,   /* kids joined, always a string */
    LPO_I_LITERAL,  /* `value` */
    LPO_I_NODE,     /* ${path}: kids joined are the path */
    LPO_I_RESOLVER, /* ${name:args}: `name` joined is the name, kids the arguments */
    LPO_I_LIST,
    LPO_I_DICT, /* kids: key, value, key, value */
};

struct lpo_iexpr {
    enum lpo_iexpr_kind kind;
    struct lpo_node *value;
    struct lpo_iexpr *name; /* a LPO_I_TEXT */
    struct lpo_iexpr **kids;
    size_t count, cap;
    const char *source; /* the text it was read from, for messages */
    size_t source_len;
};

/* A whole config value: text with interpolations in it. */
int lpo_interp_parse(struct lpo_arena *a, const char *text, size_t len, struct lpo_iexpr **out,
                     struct lpo_err *err);
/* One element, as oc.decode takes it: a number, a word, [a, b], {k: v}. */
int lpo_interp_parse_element(struct lpo_arena *a, const char *text, size_t len,
                             struct lpo_iexpr **out, struct lpo_err *err);

/* The value of an expression in container `parent`, as the value of `self`. */
int lpo_interp_eval(struct lpo_interp_scope *s, const struct lpo_iexpr *e,
                    const struct lpo_spot *parent, const struct lpo_spot *self,
                    struct lpo_found *out, struct lpo_err *err);

/* interp.c: counts one step and the bytes that it made; LPO_E_LIMIT when they are too many. */
int lpo_interp_charge(struct lpo_interp_scope *s, uint64_t bytes, struct lpo_err *err);
/* interp.c: what ${path} refers to. */
int lpo_interp_node_at(struct lpo_interp_scope *s, const struct lpo_spot *from, const char *path,
                       struct lpo_found *out, struct lpo_err *err);
