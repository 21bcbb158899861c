/* SPDX-License-Identifier: Apache-2.0 */
/* Types: builtin ones, pointers, functions, arrays, and the words that stand before them. */
#include <string.h>

#include "trace/demangle/parser.h"

static const struct builtin {
    const char *code, *text;
} builtins[] = {
    { "v", "void" },
    { "w", "wchar_t" },
    { "b", "bool" },
    { "c", "char" },
    { "a", "signed char" },
    { "h", "unsigned char" },
    { "s", "short" },
    { "t", "unsigned short" },
    { "i", "int" },
    { "j", "unsigned int" },
    { "l", "long" },
    { "m", "unsigned long" },
    { "x", "long long" },
    { "y", "unsigned long long" },
    { "n", "__int128" },
    { "o", "unsigned __int128" },
    { "f", "float" },
    { "d", "double" },
    { "e", "long double" },
    { "g", "__float128" },
    { "z", "..." },
    { "Dd", "decimal64" },
    { "De", "decimal128" },
    { "Df", "decimal32" },
    { "Dh", "half" },
    { "Di", "char32_t" },
    { "Ds", "char16_t" },
    { "Du", "char8_t" },
    { "Da", "auto" },
    { "Dc", "decltype(auto)" },
    { "Dn", "decltype(nullptr)" },
    { "DF16b", "std::bfloat16_t" },
    { "DF16_", "_Float16" },
    { "DF32_", "_Float32" },
    { "DF64_", "_Float64" },
};

static bool builtin(struct parser *m, struct type *out)
{
    for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++) {
        size_t len = strlen(builtins[i].code);

        if ((size_t)(m->end - m->p) >= len && memcmp(m->p, builtins[i].code, len) == 0) {
            m->p += len;
            *out = plain_type((struct text){ builtins[i].text, strlen(builtins[i].text) });
            return true;
        }
    }
    return false;
}

/* Puts `mark` where a declared name would stand. */
static struct type around(struct parser *m, struct type t, struct text mark)
{
    if (!t.bare)
        return (struct type){ JOIN(m, t.left, mark), t.right, false };
    return (struct type){ JOIN(m, t.left, TEXT("("), mark),
                          JOIN(m, t.right.at[0] == '[' ? TEXT(") ") : TEXT(")"), t.right), false };
}

/* References collapse, as in C++: & of && is &, and && of & is &. */
static struct type reference(struct parser *m, bool right)
{
    struct type t = lpo_demangle_type(m);
    bool has = !t.bare && t.left.len && t.left.at[t.left.len - 1] == '&';
    bool two = has && t.left.len > 1 && t.left.at[t.left.len - 2] == '&';

    if (has && two && !right)
        t.left.len--;
    return has ? t : around(m, t, right ? TEXT("&&") : TEXT("&"));
}

static struct type function(struct parser *m)
{
    struct type result;
    struct text parameters, quals = TEXT("");

    take(m, 'Y'); /* extern "C" */
    result = lpo_demangle_type(m);
    parameters = lpo_demangle_parameters(m);
    if (peek(m, 1) == 'E' && take(m, 'R'))
        quals = TEXT(" &");
    else if (peek(m, 1) == 'E' && take(m, 'O'))
        quals = TEXT(" &&");
    if (!take(m, 'E'))
        lpo_demangle_fail(m);
    return (struct type){ JOIN(m, result.left, TEXT(" ")),
                          JOIN(m, TEXT("("), parameters, TEXT(")"), quals, result.right), true };
}

static struct type array(struct parser *m)
{
    const char *from = m->p;
    struct text size = TEXT("");
    struct type of;

    if (peek(m, 0) >= '0' && peek(m, 0) <= '9') {
        size_t n;

        lpo_demangle_number(m, &n);
        size = (struct text){ from, (size_t)(m->p - from) };
    } else if (peek(m, 0) != '_') {
        size = lpo_demangle_expression(m);
    }
    if (!take(m, '_'))
        lpo_demangle_fail(m);
    of = lpo_demangle_type(m);
    return (struct type){ of.bare ? of.left : JOIN(m, of.left, TEXT(" ")),
                          JOIN(m, TEXT("["), size, TEXT("]"), of.right), true };
}

static struct type member_pointer(struct parser *m)
{
    struct type class = lpo_demangle_type(m), of = lpo_demangle_type(m);
    struct text mark = JOIN(m, whole(m, class), TEXT("::*"));

    return around(m, of, of.bare ? mark : JOIN(m, TEXT(" "), mark));
}

/* r, V and K in any number, then a type; of a function they stand behind its parameters. */
static struct type qualified(struct parser *m)
{
    bool restricted = take(m, 'r'), is_volatile = take(m, 'V'), constant = take(m, 'K');
    struct type t = lpo_demangle_type(m);
    struct text *side = t.bare && t.right.len && t.right.at[0] == '(' ? &t.right : &t.left;

    if (side->len > 6 && memcmp(side->at + side->len - 6, " const", 6) == 0)
        constant = false; /* T may have it already */
    *side = JOIN(m, *side, constant ? TEXT(" const") : TEXT(""),
                 is_volatile ? TEXT(" volatile") : TEXT(""),
                 restricted ? TEXT(" __restrict") : TEXT(""));
    return t;
}

/* Dp: the same type for each element of a pack. */
static struct type expansion(struct parser *m)
{
    const char *from = m->p;
    size_t at = m->pack_at, len = m->pack_len, count, subs;
    struct text all;

    m->pack_at = 0;
    m->pack_len = SIZE_MAX;
    all = whole(m, lpo_demangle_type(m));
    count = m->pack_len;
    subs = m->nsubs;
    if (count == 0)
        all = TEXT("");
    else if (count == SIZE_MAX)
        all = JOIN(m, all, TEXT("..."));
    for (size_t i = 1; count != SIZE_MAX && i < count && !m->failed; i++) {
        m->p = from;
        m->pack_at = i;
        all = JOIN(m, all, TEXT(", "), whole(m, lpo_demangle_type(m)));
        if (!m->again)
            m->nsubs = subs; /* they count once */
    }
    m->pack_at = at;
    m->pack_len = len;
    return plain_type(all);
}

static struct type decltype_of(struct parser *m)
{
    struct text e = lpo_demangle_expression(m);

    if (!take(m, 'E'))
        lpo_demangle_fail(m);
    return plain_type(JOIN(m, TEXT("decltype ("), e, TEXT(")")));
}

/* "8_" as it is written; all of a _BitInt, and before the type of a vector's elements. */
static struct text size_of_type(struct parser *m)
{
    const char *from = m->p;
    size_t n;
    struct text size;

    if (!lpo_demangle_number(m, &n))
        lpo_demangle_fail(m);
    size = (struct text){ from, (size_t)(m->p - from) };
    if (!take(m, '_'))
        lpo_demangle_fail(m);
    return size;
}

static struct type vector(struct parser *m)
{
    struct text size = size_of_type(m);

    return plain_type(JOIN(m, whole(m, lpo_demangle_type(m)), TEXT(" __vector("), size, TEXT(")")));
}

/* _BitInt(8), of which AMD's libraries make 8 bit floats. Unlike other built-in types it may be
 * repeated by a number (S1_). */
static struct type bit_int(struct parser *m, struct text begin)
{
    return plain_type(JOIN(m, begin, size_of_type(m), TEXT(")")));
}

static struct type extended(struct parser *m) /* behind 'D' */
{
    switch (peek(m, 0)) {
    case 'p':
        m->p++;
        return expansion(m);
    case 't':
    case 'T':
        m->p++;
        return decltype_of(m);
    case 'v':
        m->p++;
        return vector(m);
    case 'B':
        m->p++;
        return bit_int(m, TEXT("_BitInt("));
    case 'U':
        m->p++;
        return bit_int(m, TEXT("unsigned _BitInt("));
    case 'o': {
        struct type t;

        m->p++;
        t = lpo_demangle_type(m);
        return (struct type){ t.left, JOIN(m, t.right, TEXT(" noexcept")), t.bare };
    }
    default:
        return plain_type(lpo_demangle_fail(m));
    }
}

/* A substitute, perhaps with template arguments; those make a new one. */
static struct type substituted(struct parser *m, bool *fresh)
{
    struct type t;

    if (peek(m, 1) == 't') {
        struct name n = lpo_demangle_name(m, false);

        return plain_type(n.text);
    }
    t = lpo_demangle_substitution(m);
    *fresh = peek(m, 0) == 'I';
    if (*fresh)
        t = plain_type(JOIN(m, whole(m, t), lpo_demangle_arguments(m, false)));
    return t;
}

static struct type parameter_type(struct parser *m)
{
    struct type t = lpo_demangle_parameter(m);

    if (peek(m, 0) != 'I')
        return t;
    lpo_demangle_keep(m, t, NULL);
    return plain_type(JOIN(m, whole(m, t), lpo_demangle_arguments(m, false)));
}

static struct type compound(struct parser *m, bool *fresh)
{
    switch (peek(m, 0)) {
    case 'r':
    case 'V':
    case 'K':
        return qualified(m);
    case 'P':
        m->p++;
        return around(m, lpo_demangle_type(m), TEXT("*"));
    case 'R':
        m->p++;
        return reference(m, false);
    case 'O':
        m->p++;
        return reference(m, true);
    case 'C':
        m->p++;
        return plain_type(JOIN(m, whole(m, lpo_demangle_type(m)), TEXT(" _Complex")));
    case 'F':
        m->p++;
        return function(m);
    case 'A':
        m->p++;
        return array(m);
    case 'M':
        m->p++;
        return member_pointer(m);
    case 'T':
        return parameter_type(m);
    case 'D':
        m->p++;
        return extended(m);
    case 'S':
        return substituted(m, fresh);
    default:
        return plain_type(lpo_demangle_name(m, false).text);
    }
}

struct type lpo_demangle_type(struct parser *m)
{
    const char *from = m->p;
    size_t met = m->parameters;
    struct type t;
    bool fresh = true;

    if (m->failed || !lpo_demangle_enter(m))
        return plain_type(lpo_demangle_fail(m));
    if (!builtin(m, &t)) {
        if (peek(m, 0) == 'u') { /* a vendor's own */
            m->p++;
            t = plain_type(lpo_demangle_name(m, false).text);
        } else {
            t = compound(m, &fresh);
        }
        if (fresh && !m->failed)
            lpo_demangle_keep(m, t, m->parameters > met && !m->in_lambda ? from : NULL);
    }
    m->depth--;
    return t;
}

struct text lpo_demangle_parameters(struct parser *m)
{
    struct text all = TEXT("");
    bool first = true;

    if (peek(m, 0) == 'v' && (peek(m, 1) == 'E' || peek(m, 1) == 0 || peek(m, 1) == '.')) {
        m->p++;
        return all;
    }
    while (!m->failed && m->p < m->end && *m->p != 'E' && *m->p != '.' &&
           !((*m->p == 'R' || *m->p == 'O') && peek(m, 1) == 'E')) {
        struct text t = whole(m, lpo_demangle_type(m));

        if (!t.len)
            continue; /* an empty pack */
        all = first ? t : JOIN(m, all, TEXT(", "), t);
        first = false;
    }
    return all;
}
