/* SPDX-License-Identifier: Apache-2.0 */
/* hydra/override/override.h - one command-line override, read by Hydra 1.3's grammar.
 *
 *     db.port=3306   +new=1   ++force=1   ~gone   db@backup=mysql   x=1,2   x=choice(a,b)
 *
 * The lexer and the parser accept and refuse exactly what Hydra's do, so that a command line which
 * works there works here. What is read lives in the arena. A quoted string keeps its quote in
 * node->quote, because Hydra writes it back with the same one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct lpo_arena;
struct lpo_err;
struct lpo_json_writer;
struct lpo_node;
struct lpo_sweep;

enum lpo_override_type {
    LPO_OV_CHANGE,    /* key=value */
    LPO_OV_ADD,       /* +key=value */
    LPO_OV_FORCE_ADD, /* ++key=value */
    LPO_OV_DEL,       /* ~key, ~key=value */
};

enum lpo_value_type {
    LPO_VALUE_NONE,          /* ~key alone */
    LPO_VALUE_ELEMENT,       /* a plain value: `value` */
    LPO_VALUE_SIMPLE_CHOICE, /* a,b,c: this one and those below are in `sweep` */
    LPO_VALUE_CHOICE,        /* choice(a,b,c) */
    LPO_VALUE_GLOB,          /* glob(*) */
    LPO_VALUE_RANGE,         /* range(1,10) */
    LPO_VALUE_INTERVAL,      /* interval(0,1) */
};

/* Why a text is not an override. */
enum lpo_override_fault {
    LPO_FAULT_NONE,
    LPO_FAULT_LEXER,    /* no token begins at `column` */
    LPO_FAULT_SYNTAX,   /* the tokens make no override */
    LPO_FAULT_FUNCTION, /* a function refused its arguments, or is unknown */
    LPO_FAULT_VALUE,    /* a value made of blanks; a positional argument after a named one */
};

struct lpo_override {
    enum lpo_override_type type;
    const char *text;    /* as given */
    const char *key;     /* "a.b", "group/sub", "" */
    const char *package; /* NULL when there is no @; "" for "key@=" */
    enum lpo_value_type value_type;
    struct lpo_node *value;        /* LPO_VALUE_ELEMENT, else NULL */
    const struct lpo_sweep *sweep; /* sweeps, else NULL: hydra/override/sweep.h */
    enum lpo_override_fault fault; /* set when reading failed */
    size_t column;                 /* of a lexer fault: in characters, from 0 */
};

/* LPO_E_CONFIG when `text` is not an override; then only text, fault and column of *out count. */
int lpo_override_parse(struct lpo_arena *a, const char *text, struct lpo_override *out,
                       struct lpo_err *err);

/* All of them or the first error. *out is in the arena. */
int lpo_override_parse_all(struct lpo_arena *a, const char *const *texts, size_t count,
                           struct lpo_override **out, struct lpo_err *err);

/* "hydra.x" and "hydra/x": settings of the runner, not of the job. */
bool lpo_override_is_hydra(const struct lpo_override *ov);

/* "+key@package", as written before the '='. */
const char *lpo_override_key_text(struct lpo_arena *a, const struct lpo_override *ov);

/* A value written so that the grammar reads it back: quotes kept, special characters escaped. */
const char *lpo_override_value_text(struct lpo_arena *a, const struct lpo_node *value);

/* How it was understood: the object that `lpo config --explain` prints, in the shape of the
 * `override` cases of Hydra's data. After a failed parse it is {"ok": false, "error": …} with
 * `message` in it (may be NULL). */
void lpo_override_explain(const struct lpo_override *ov, const char *message,
                          struct lpo_json_writer *w);

const char *lpo_override_fault_name(enum lpo_override_fault fault); /* "lexer", "syntax", … */
