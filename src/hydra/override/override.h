/* SPDX-License-Identifier: Apache-2.0 */
/* hydra/override/override.h - one command-line override, read by Hydra 1.3's grammar.
 *
 *     db.port=3306   +new=1   ++force=1   ~gone   db@backup=mysql   x=1,2   x=choice(a,b)
 *
 * The lexer and the parser accept and refuse exactly what Hydra's do, so that a command line which
 * works there works here. What is read lives in the arena. A quoted string keeps its quote in
 * node->quote, because Hydra writes it back with the same one. */
#pragma once

#include "util/base.h"

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
    const struct lpo_sweep *sweep; /* sweeps, else NULL: hydra/override/override.h */
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

/* The functions of the override grammar: casts, sweeps, sort, shuffle.
 *
 * Arguments are checked as Hydra checks them, because an override that
 * fails there has to fail here. To add a function: one row in call.c. */

/* What an element of the grammar gives: exactly one of the two. */
struct lpo_override_value {
    struct lpo_node *node;
    struct lpo_sweep *sweep;
};

struct lpo_ov_arg {
    const char *name; /* NULL: positional */
    struct lpo_override_value value;
};

#define LPO_OV_MAX_PARAMS 4

/* A call with its arguments in place. */
struct lpo_override_call {
    struct lpo_arena *arena;
    const struct lpo_override_value *args; /* *args of the function */
    size_t count;
    struct lpo_override_value
        params[LPO_OV_MAX_PARAMS]; /* in the order of the row; both NULL: not given */
};

typedef int lpo_ov_fn(struct lpo_override_call *call, struct lpo_override_value *out,
                      struct lpo_err *err);

/* `name` (len bytes) applied to the arguments. LPO_E_CONFIG when the function refuses. */
int lpo_override_call(struct lpo_arena *a, const char *name, size_t len,
                      const struct lpo_ov_arg *args, size_t count, struct lpo_override_value *out,
                      struct lpo_err *err);

/* sort.c */
lpo_ov_fn lpo_override_sort, lpo_override_shuffle;

/* A list with one item per value; a sweep among them is refused. */
int lpo_override_list(struct lpo_arena *a, const struct lpo_override_value *values, size_t count,
                      struct lpo_node **out, struct lpo_err *err);
/* Changes the order of a list's items, differently each time. */
void lpo_override_shuffle_items(struct lpo_node *list);

/* Values to try, and the jobs they make.
 *
 * An override such as x=1,2 or x=range(3) is a sweep. `lpo run --multirun` makes the product of
 * all sweeps of a command line: the last one varies fastest, as with Hydra's basic sweeper. */

#define LPO_SWEEP_MAX_VALUES 100000 /* of one sweep */
#define LPO_SWEEP_MAX_JOBS   100000 /* of one command line */

struct lpo_sweep {
    enum lpo_value_type type;
    bool shuffle;
    const char **tags; /* sorted, each once */
    size_t ntags;
    struct lpo_node *values;              /* choices: a list */
    struct lpo_node *start, *stop, *step; /* range; an interval has start and stop */
    struct lpo_node *include, *exclude;   /* glob: lists of patterns */
};

/* The options of a config group, for glob(): a list of names in Hydra's order (sorted), put in the
 * arena. A group that does not exist has none. */
struct lpo_sweep_options {
    void *with;
    int (*list)(void *with, struct lpo_arena *a, const char *group, const char ***names,
                size_t *count, struct lpo_err *err);
};

/* One job: its overrides as Hydra rewrites them ("x=1", "s=a\ b", "~db=null"). */
struct lpo_sweep_job {
    size_t num; /* from 0 */
    const char **overrides;
    size_t count;
};

struct lpo_override_sweep_jobs {
    struct lpo_sweep_job *at;
    size_t count;
    struct lpo_override *hydra; /* the overrides of hydra's own settings, the same for all jobs */
    size_t nhydra;
};

/* `overrides` of the command line and `params` (hydra.sweeper.params: a map of key to the text of
 * a value; NULL when there are none). A later override of the same key replaces an earlier one in
 * its place; the command line wins over params. */
int lpo_override_sweep_jobs(struct lpo_arena *a, const struct lpo_override *overrides, size_t count,
                            const struct lpo_node *params, const struct lpo_sweep_options *from,
                            struct lpo_override_sweep_jobs *out, struct lpo_err *err);

/* Why a range gives no numbers; type is the name of the Python error Hydra ends with, and NULL
 * where Hydra would never end. */
struct lpo_range_fault {
    const char *type, *message;
};

/* Integers while all three are; else floats, stepped in decimals. Returns 0, or -1 with *fault. */
int lpo_override_range_values(struct lpo_arena *a, const struct lpo_sweep *range,
                              struct lpo_node **out, struct lpo_range_fault *fault);

/* As Python's fnmatch: * ? [a-z] [!a-z]. Characters are code points. A '[' without its ']' matches
 * itself. */
bool lpo_override_glob_match(const char *pattern, const char *name);
