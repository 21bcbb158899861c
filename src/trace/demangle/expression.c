/* SPDX-License-Identifier: Apache-2.0 */
/* Values in template arguments: literals, addresses of functions, and operators on them. */
#include <ctype.h>
#include <string.h>

#include "trace/demangle/parser.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static struct text digits(struct parser *m)
{
    const char *from = m->p;

    while (m->p < m->end && (isalnum((unsigned char)*m->p) && *m->p != 'E'))
        m->p++;
    return (struct text){ from, (size_t)(m->p - from) };
}

/* How a literal of a builtin type is written. */
static const struct literal {
    char code;
    const char *after;
} literals[] = { { 'i', "" },   { 'j', "u" },  { 'l', "l" },
                 { 'm', "ul" }, { 'x', "ll" }, { 'y', "ull" } };

struct text lpo_demangle_literal(struct parser *m) /* at 'L' */
{
    struct text sign, value;
    struct type t;
    char code;

    if (!take(m, 'L'))
        return lpo_demangle_fail(m);
    if (peek(m, 0) == '_' && peek(m, 1) == 'Z') {
        m->p += 2;
        value = lpo_demangle_encoding(m, true);
        return take(m, 'E') ? value : lpo_demangle_fail(m);
    }
    code = peek(m, 0);
    if (code == 'b' && peek(m, 2) == 'E' && (peek(m, 1) == '0' || peek(m, 1) == '1')) {
        m->p += 3;
        return m->p[-2] == '1' ? TEXT("true") : TEXT("false");
    }
    t = lpo_demangle_type(m);
    sign = take(m, 'n') ? TEXT("-") : TEXT("");
    value = digits(m);
    if (!take(m, 'E'))
        return lpo_demangle_fail(m);
    for (size_t i = 0; i < COUNT(literals); i++)
        if (literals[i].code == code)
            return JOIN(m, sign, value,
                        (struct text){ literals[i].after, strlen(literals[i].after) });
    return JOIN(m, TEXT("("), whole(m, t), TEXT(")"), sign, value);
}

static const struct operation {
    char code[3];
    int operands;
    const char *text;
} operations[] = {
    { "ps", 1, "+" },  { "ng", 1, "-" },  { "ad", 1, "&" },  { "de", 1, "*" },  { "co", 1, "~" },
    { "nt", 1, "!" },  { "pl", 2, "+" },  { "mi", 2, "-" },  { "ml", 2, "*" },  { "dv", 2, "/" },
    { "rm", 2, "%" },  { "an", 2, "&" },  { "or", 2, "|" },  { "eo", 2, "^" },  { "ls", 2, "<<" },
    { "rs", 2, ">>" }, { "eq", 2, "==" }, { "ne", 2, "!=" }, { "lt", 2, "<" },  { "gt", 2, ">" },
    { "le", 2, "<=" }, { "ge", 2, ">=" }, { "aa", 2, "&&" }, { "oo", 2, "||" },
};

static struct text bracketed(struct parser *m, struct text t)
{
    return JOIN(m, TEXT("("), t, TEXT(")"));
}

/* The address of a function that has no template arguments is written without its parameters. */
static bool address(struct parser *m, struct text *out)
{
    const char *from = m->p;
    struct name n;

    if (peek(m, 0) != 'L' || peek(m, 1) != '_' || peek(m, 2) != 'Z')
        return false;
    if (peek(m, 3) == 'N') {
        struct parser copy = *m;

        copy.p += 3;
        n = lpo_demangle_name(&copy, false);
        if (!copy.failed && !n.template_args && !n.quals.len && n.nested) {
            struct text all = lpo_demangle_literal(m);

            (void)all;
            *out = JOIN(m, TEXT("&"), n.text);
            return true;
        }
    }
    m->p = from;
    return false;
}

static struct text operation(struct parser *m, const struct operation *o)
{
    struct text sign = { o->text, strlen(o->text) }, a, b;

    if (o->operands == 1 && strcmp(o->code, "ad") == 0 && address(m, &a))
        return a;
    a = lpo_demangle_expression(m);
    if (o->operands == 1)
        return JOIN(m, sign, bracketed(m, a));
    b = lpo_demangle_expression(m);
    a = JOIN(m, bracketed(m, a), sign, bracketed(m, b));
    return strcmp(o->text, ">") == 0 ? bracketed(m, a) : a;
}

/* A variable that depends on a template argument: "3fooIT_E" is foo<T>. Not a substitute for later,
 * as the same name would be elsewhere. */
static struct text dependent(struct parser *m)
{
    struct text t;
    size_t len;

    if (!lpo_demangle_number(m, &len) || len == 0 || len > (size_t)(m->end - m->p))
        return lpo_demangle_fail(m);
    t = (struct text){ m->p, len };
    m->p += len;
    return peek(m, 0) == 'I' ? JOIN(m, t, lpo_demangle_arguments(m, false)) : t;
}

static struct text expression(struct parser *m)
{
    char a = peek(m, 0), b = peek(m, 1);

    if (a == 'L')
        return lpo_demangle_literal(m);
    if (a == 'T')
        return whole(m, lpo_demangle_parameter(m));
    if (isdigit((unsigned char)a))
        return dependent(m);
    for (size_t i = 0; i < COUNT(operations); i++)
        if (operations[i].code[0] == a && operations[i].code[1] == b) {
            m->p += 2;
            return operation(m, &operations[i]);
        }
    if (a == 's' && b == 'r') { /* a name in the scope of a type */
        struct text scope, part;

        m->p += 2;
        scope = whole(m, lpo_demangle_type(m));
        part = lpo_demangle_name(m, false).text;
        return JOIN(m, scope, TEXT("::"), part);
    }
    if ((a == 's' && b == 't') || (a == 'a' && b == 't')) {
        m->p += 2;
        return JOIN(m, a == 's' ? TEXT("sizeof (") : TEXT("alignof ("),
                    whole(m, lpo_demangle_type(m)), TEXT(")"));
    }
    if (a == 'c' && b == 'v') {
        struct text type;

        m->p += 2;
        type = whole(m, lpo_demangle_type(m));
        return JOIN(m, bracketed(m, type), bracketed(m, lpo_demangle_expression(m)));
    }
    return lpo_demangle_fail(m);
}

struct text lpo_demangle_expression(struct parser *m)
{
    struct text t;

    if (m->failed || !lpo_demangle_enter(m))
        return lpo_demangle_fail(m);
    t = expression(m);
    m->depth--;
    return t;
}
