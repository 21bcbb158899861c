/* SPDX-License-Identifier: Apache-2.0 */
/* trace/demangle/parser.h - a mangled name while it is read, between the files of this folder.
 *
 * A type is kept as two texts, what stands left and right of a name that it would declare: a
 * pointer to a function is "void (*" and ")(int)". Every text is in the arena; the sum of their
 * lengths is bounded, because a short name may stand for a very long one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lpo_arena;

enum { DEMANGLE_DEPTH = 200, DEMANGLE_BYTES = 4 << 20, DEMANGLE_SUBSTITUTES = 4096 };

struct text {
    const char *at;
    size_t len;
};

struct type {
    struct text left, right;
    bool bare; /* a function or an array: a pointer to it needs brackets */
};

/* One template argument; a pack has several texts. */
struct argument {
    struct type *types;
    size_t len;
    bool pack;
};

struct arguments {
    struct argument *at;
    size_t len, cap;
};

/* What S_ stands for. A type with T_ in it means the T_ of the place where it is used again, so
 * that it is read again there. */
struct substitute {
    struct type type;
    const char *from; /* where it was read, when it has a T_ in it; else NULL */
    const struct arguments *template;
};

struct parser {
    const char *p, *end;
    struct lpo_arena *arena;
    size_t bytes; /* of all texts made so far */
    struct substitute *subs;
    size_t nsubs, subs_cap;
    struct arguments *template; /* what T_ means; NULL: nothing yet */
    unsigned depth;
    unsigned in_lambda; /* T_ is then `auto:1` */
    size_t pack_at;     /* which element of a pack is wanted */
    size_t pack_len;    /* of the pack that was met; SIZE_MAX: none */
    size_t parameters;  /* T_ met so far */
    unsigned again;     /* inside a substitute that is read again: nothing is kept */
    bool failed;
};

/* What the name of an encoding says about the rest of it. */
struct name {
    struct text text;
    struct text quals;  /* " const", " &" of a member function */
    bool template_args; /* ends with them: a return type follows */
    bool no_return;     /* a constructor, destructor or conversion */
    bool nested;
};

/* Each returns with `failed` set when the name is not one. */
struct type lpo_demangle_type(struct parser *m);
struct name lpo_demangle_name(struct parser *m, bool tag);
struct text lpo_demangle_encoding(struct parser *m, bool outer);
struct text lpo_demangle_expression(struct parser *m);
struct text lpo_demangle_literal(struct parser *m);
/* "<int, 4>"; `tag`: T_ means these from now on. */
struct text lpo_demangle_arguments(struct parser *m, bool tag);
/* The parameters up to the end of this encoding or 'E', without brackets: "int, float*". */
struct text lpo_demangle_parameters(struct parser *m);
struct type lpo_demangle_parameter(struct parser *m);                /* T_ */
struct type lpo_demangle_substitution(struct parser *m);             /* S_, St, Sa … */
bool lpo_demangle_number(struct parser *m, size_t *out);             /* decimal digits */
bool lpo_demangle_sequence(struct parser *m, int base, size_t *out); /* "_" is 0, "0_" is 1 */

struct text lpo_demangle_fail(struct parser *m);
struct text lpo_demangle_join(struct parser *m, const struct text *parts, size_t count);
/* A substitute for later. `from`: see struct substitute. */
void lpo_demangle_keep(struct parser *m, struct type t, const char *from);
bool lpo_demangle_enter(struct parser *m); /* one level deeper; false: too deep */

#define TEXT(literal)                                                                              \
    (struct text)                                                                                  \
    {                                                                                              \
        literal, sizeof(literal) - 1                                                               \
    }
#define JOIN(m, ...)                                                                               \
    lpo_demangle_join((m), (const struct text[]){ __VA_ARGS__ },                                   \
                      sizeof((const struct text[]){ __VA_ARGS__ }) / sizeof(struct text))

static inline char peek(const struct parser *m, size_t i)
{
    return (size_t)(m->end - m->p) > i ? m->p[i] : 0;
}

static inline bool take(struct parser *m, char c)
{
    if (peek(m, 0) != c || !c)
        return false;
    m->p++;
    return true;
}

static inline struct type plain_type(struct text t)
{
    return (struct type){ .left = t };
}

static inline struct text whole(struct parser *m, struct type t)
{
    return t.right.len ? JOIN(m, t.left, t.right) : t.left;
}
