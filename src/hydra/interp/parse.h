/* SPDX-License-Identifier: Apache-2.0 */
/* hydra/interp/parse.h - the grammar of ${…}, read into an expression.
 *
 *     ${a.b[0]}   ${..up}   ${oc.env:HOME,none}   text ${a} text   \${not one}
 *
 * OmegaConf 2.3's lexer and grammar, rule for rule: what it refuses is refused here, with the
 * column. Escapes are resolved while parsing, so evaluation only ever joins texts. */
#pragma once

#include <stddef.h>

struct lpo_arena;
struct lpo_err;
struct lpo_node;

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
