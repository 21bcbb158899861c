/* SPDX-License-Identifier: Apache-2.0 */
/* Names: nested ones, those inside a function, lambdas, operators, template arguments. */
#include <ctype.h>
#include <string.h>

#include "trace/demangle/parser.h"
#include "util/arena.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

bool lpo_demangle_number(struct parser *m, size_t *out)
{
    size_t n = 0;
    const char *from = m->p;

    while (isdigit((unsigned char)peek(m, 0)) && n < ((size_t)1 << 40))
        n = n * 10 + (size_t)(*m->p++ - '0');
    *out = n;
    return m->p > from;
}

bool lpo_demangle_sequence(struct parser *m, int base, size_t *out)
{
    size_t n = 0;

    if (take(m, '_')) {
        *out = 0;
        return true;
    }
    for (;; m->p++) {
        char c = peek(m, 0);

        if (isdigit((unsigned char)c))
            n = n * (size_t)base + (size_t)(c - '0');
        else if (base == 36 && c >= 'A' && c <= 'Z')
            n = n * (size_t)base + (size_t)(c - 'A') + 10;
        else
            break;
        if (n > DEMANGLE_BYTES)
            return false;
    }
    *out = n + 1;
    return take(m, '_');
}

static struct text source_name(struct parser *m)
{
    static const char global[] = "_GLOBAL_";
    size_t len;
    struct text t;

    if (!lpo_demangle_number(m, &len) || !len || len > (size_t)(m->end - m->p))
        return lpo_demangle_fail(m);
    t = (struct text){ m->p, len };
    m->p += len;
    if (len > 9 && memcmp(t.at, global, 8) == 0 && strchr("._$", t.at[8]) && t.at[9] == 'N')
        return TEXT("(anonymous namespace)");
    return t;
}

static const struct op {
    char code[3];
    const char *text;
} ops[] = {
    { "nw", " new" }, { "na", " new[]" }, { "dl", " delete" }, { "da", " delete[]" },
    { "ps", "+" },    { "ng", "-" },      { "ad", "&" },       { "de", "*" },
    { "co", "~" },    { "pl", "+" },      { "mi", "-" },       { "ml", "*" },
    { "dv", "/" },    { "rm", "%" },      { "an", "&" },       { "or", "|" },
    { "eo", "^" },    { "aS", "=" },      { "pL", "+=" },      { "mI", "-=" },
    { "mL", "*=" },   { "dV", "/=" },     { "rM", "%=" },      { "aN", "&=" },
    { "oR", "|=" },   { "eO", "^=" },     { "ls", "<<" },      { "rs", ">>" },
    { "lS", "<<=" },  { "rS", ">>=" },    { "eq", "==" },      { "ne", "!=" },
    { "lt", "<" },    { "gt", ">" },      { "le", "<=" },      { "ge", ">=" },
    { "ss", "<=>" },  { "nt", "!" },      { "aa", "&&" },      { "oo", "||" },
    { "pp", "++" },   { "mm", "--" },     { "cm", "," },       { "pm", "->*" },
    { "pt", "->" },   { "cl", "()" },     { "ix", "[]" },      { "qu", "?" },
};

static struct text operator_name(struct parser *m, struct name *n)
{
    char a = peek(m, 0), b = peek(m, 1);

    if (a == 'c' && b == 'v') {
        m->p += 2;
        n->no_return = true;
        return JOIN(m, TEXT("operator "), whole(m, lpo_demangle_type(m)));
    }
    for (size_t i = 0; i < COUNT(ops); i++)
        if (ops[i].code[0] == a && ops[i].code[1] == b) {
            m->p += 2;
            return JOIN(m, TEXT("operator"), (struct text){ ops[i].text, strlen(ops[i].text) });
        }
    return lpo_demangle_fail(m);
}

static struct text numbered(struct parser *m, struct text before)
{
    char digits[24];
    size_t n = 0, at = sizeof digits, value;
    const char *copy;

    if (!lpo_demangle_sequence(m, 10, &n))
        return lpo_demangle_fail(m);
    for (value = n + 1; value; value /= 10)
        digits[--at] = (char)('0' + value % 10);
    copy = lpo_arena_strndup(m->arena, digits + at, sizeof digits - at);
    return JOIN(m, before, TEXT("#"), (struct text){ copy, sizeof digits - at }, TEXT("}"));
}

static struct text unnamed(struct parser *m) /* behind 'U' */
{
    struct text parameters;

    if (take(m, 't'))
        return numbered(m, TEXT("{unnamed type"));
    if (!take(m, 'l'))
        return lpo_demangle_fail(m);
    m->in_lambda++;
    parameters = lpo_demangle_parameters(m);
    m->in_lambda--;
    if (!take(m, 'E'))
        return lpo_demangle_fail(m);
    return numbered(m, JOIN(m, TEXT("{lambda("), parameters, TEXT(")")));
}

/* The last part of a scope, without template arguments: what a constructor is called. */
static struct text last_part(struct text scope)
{
    size_t end = scope.len, from;
    int angle = 0;

    if (end && scope.at[end - 1] == '>')
        for (; end > 0; end--) {
            angle += scope.at[end - 1] == '>' ? 1 : scope.at[end - 1] == '<' ? -1 : 0;
            if (angle == 0) {
                end--;
                break;
            }
        }
    while (end && scope.at[end - 1] == ' ')
        end--;
    for (from = end; from > 0 && scope.at[from - 1] != ':'; from--)
        ;
    return (struct text){ scope.at + from, end - from };
}

/* A name without its scope. `scope` is what a constructor is named after. */
static struct text unqualified(struct parser *m, struct text scope, struct name *n)
{
    char a = peek(m, 0), b = peek(m, 1);
    struct text t;

    if (a == 'L') { /* internal linkage */
        m->p++;
        a = peek(m, 0);
    }
    n->no_return = false;
    if (isdigit((unsigned char)a)) {
        t = source_name(m);
    } else if (a == 'U') {
        m->p++;
        t = unnamed(m);
    } else if (a == 'C' && b >= '1' && b <= '5') {
        m->p += 2;
        n->no_return = true;
        t = last_part(scope);
    } else if (a == 'D' && isdigit((unsigned char)b)) {
        m->p += 2;
        n->no_return = true;
        t = JOIN(m, TEXT("~"), last_part(scope));
    } else if (islower((unsigned char)a)) {
        t = operator_name(m, n);
    } else {
        t = lpo_demangle_fail(m);
    }
    while (take(m, 'B')) /* an ABI tag */
        t = JOIN(m, t, TEXT("[abi:"), source_name(m), TEXT("]"));
    return t;
}

static struct type read_again(struct parser *m, const struct substitute *s)
{
    const char *behind = m->p;
    struct type t;

    m->p = s->from;
    m->again++;
    m->parameters++;
    t = lpo_demangle_type(m);
    m->again--;
    if (!m->failed)
        m->p = behind;
    return t;
}

struct type lpo_demangle_substitution(struct parser *m)
{
    static const struct {
        char code;
        const char *text;
    } known[] = {
        { 't', "std" },           { 'a', "std::allocator" }, { 'b', "std::basic_string" },
        { 's', "std::string" },   { 'i', "std::istream" },   { 'o', "std::ostream" },
        { 'd', "std::iostream" },
    };
    size_t n;

    if (!take(m, 'S'))
        return plain_type(lpo_demangle_fail(m));
    for (size_t i = 0; i < COUNT(known); i++)
        if (take(m, known[i].code))
            return plain_type((struct text){ known[i].text, strlen(known[i].text) });
    if (!lpo_demangle_sequence(m, 36, &n) || n >= m->nsubs)
        return plain_type(lpo_demangle_fail(m));
    if (m->subs[n].from && m->template && m->subs[n].template != m->template)
        return read_again(m, &m->subs[n]);
    return m->subs[n].type;
}

static struct text decimal(struct parser *m, size_t value)
{
    char digits[24];
    size_t at = sizeof digits;

    do
        digits[--at] = (char)('0' + value % 10);
    while (value /= 10);
    return (struct text){ lpo_arena_strndup(m->arena, digits + at, sizeof digits - at),
                          sizeof digits - at };
}

struct type lpo_demangle_parameter(struct parser *m)
{
    const struct argument *a;
    size_t n;

    if (!take(m, 'T') || !lpo_demangle_sequence(m, 10, &n))
        return plain_type(lpo_demangle_fail(m));
    m->parameters++;
    if (m->in_lambda)
        return plain_type(JOIN(m, TEXT("auto:"), decimal(m, n + 1)));
    if (!m->template || n >= m->template->len)
        return plain_type(lpo_demangle_fail(m));
    a = &m->template->at[n];
    if (!a->pack)
        return a->types[0];
    m->pack_len = a->len;
    return m->pack_at < a->len ? a->types[m->pack_at] : plain_type(TEXT(""));
}

/* One argument; several texts for a pack. */
static struct argument one_argument(struct parser *m, bool tag)
{
    struct argument a = { lpo_arena_alloc(m->arena, sizeof *a.types), 1, false };

    while (peek(m, 0) == 'T' && (peek(m, 1) == 'n' || peek(m, 1) == 'y')) {
        m->p += 2; /* the kind of parameter, which newer compilers write */
        if (m->p[-1] == 'n')
            lpo_demangle_type(m);
    }
    switch (peek(m, 0)) {
    case 'L':
        a.types[0] = plain_type(lpo_demangle_literal(m));
        break;
    case 'X':
        m->p++;
        a.types[0] = plain_type(lpo_demangle_expression(m));
        if (!take(m, 'E'))
            lpo_demangle_fail(m);
        break;
    case 'J': {
        struct type types[64] = { 0 };
        size_t len = 0;

        m->p++;
        while (!m->failed && !take(m, 'E')) {
            struct argument e = one_argument(m, tag);

            if (len < COUNT(types))
                types[len++] = e.types[0];
            else
                lpo_demangle_fail(m);
        }
        a.types = lpo_arena_array(m->arena, len + 1, sizeof *a.types);
        memcpy(a.types, types, len * sizeof *types);
        a.len = len;
        a.pack = true;
        break;
    }
    default:
        a.types[0] = lpo_demangle_type(m);
    }
    return a;
}

struct text lpo_demangle_arguments(struct parser *m, bool tag)
{
    struct arguments *list = lpo_arena_alloc(m->arena, sizeof *list);
    struct text all = TEXT("<");
    bool first = true;

    *list = (struct arguments){ 0 };
    if (!take(m, 'I') || !lpo_demangle_enter(m))
        return lpo_demangle_fail(m);
    if (tag)
        m->template = list;
    while (!m->failed && !take(m, 'E')) {
        struct argument a = one_argument(m, tag);

        if (tag && !m->failed) {
            m->template = list; /* a name inside may have set its own */
            if (list->len == list->cap) {
                struct argument *more = lpo_arena_array(m->arena, list->cap * 2 + 8, sizeof *more);

                if (list->len)
                    memcpy(more, list->at, list->len * sizeof *more);
                list->at = more;
                list->cap = list->cap * 2 + 8;
            }
            list->at[list->len++] = a;
        }
        for (size_t i = 0; i < a.len && !m->failed; i++) {
            struct text t = whole(m, a.types[i]);

            if (!t.len)
                continue;
            all = JOIN(m, all, first ? TEXT("") : TEXT(", "), t);
            first = false;
        }
    }
    m->depth--;
    return JOIN(m, all, all.at[all.len - 1] == '>' ? TEXT(" >") : TEXT(">"));
}

static struct text member_quals(struct parser *m)
{
    bool restricted = take(m, 'r'), is_volatile = take(m, 'V'), constant = take(m, 'K');
    struct text ref = take(m, 'R') ? TEXT(" &") : take(m, 'O') ? TEXT(" &&") : TEXT("");

    return JOIN(m, constant ? TEXT(" const") : TEXT(""), is_volatile ? TEXT(" volatile") : TEXT(""),
                restricted ? TEXT(" __restrict") : TEXT(""), ref);
}

static struct name nested_name(struct parser *m, bool tag) /* behind 'N' */
{
    struct name n = { .nested = true };
    struct text so_far = TEXT("");
    bool kept = false;

    n.quals = member_quals(m);
    while (!m->failed && !take(m, 'E')) {
        char a = peek(m, 0);

        n.template_args = false;
        kept = true;
        if (a == 'S' && peek(m, 1) != 't') {
            so_far = whole(m, lpo_demangle_substitution(m));
            kept = false;
        } else if (a == 'S') {
            m->p += 2;
            so_far = TEXT("std");
            kept = false;
        } else if (a == 'T') {
            so_far = whole(m, lpo_demangle_parameter(m));
        } else if (a == 'I') {
            so_far = JOIN(m, so_far, lpo_demangle_arguments(m, tag));
            n.template_args = true;
        } else if (a == 'D' && (peek(m, 1) == 't' || peek(m, 1) == 'T')) {
            so_far = whole(m, lpo_demangle_type(m));
            kept = false; /* the type is kept already */
        } else if (a == 'M') {
            m->p++; /* a data member, before a lambda in it */
            kept = false;
        } else {
            struct text part = unqualified(m, so_far, &n);

            so_far = so_far.len ? JOIN(m, so_far, TEXT("::"), part) : part;
        }
        if (kept && !m->failed)
            lpo_demangle_keep(m, plain_type(so_far), NULL);
    }
    if (kept && m->nsubs && !m->again)
        m->nsubs--; /* the whole name is kept by whoever uses it as a type */
    n.text = so_far;
    return n;
}

static void skip_discriminator(struct parser *m)
{
    size_t n;

    if (peek(m, 0) != '_')
        return;
    if (isdigit((unsigned char)peek(m, 1))) {
        m->p += 2;
    } else if (peek(m, 1) == '_') {
        m->p += 2;
        if (!lpo_demangle_number(m, &n) || !take(m, '_'))
            lpo_demangle_fail(m);
    }
}

static struct name local_name(struct parser *m) /* behind 'Z' */
{
    struct text function = lpo_demangle_encoding(m, false);
    struct name n = { 0 };
    size_t ignored;

    if (!take(m, 'E')) {
        n.text = lpo_demangle_fail(m);
        return n;
    }
    if (take(m, 's')) {
        skip_discriminator(m);
        n.text = JOIN(m, function, TEXT("::string literal"));
        return n;
    }
    if (peek(m, 0) == 'd' && (peek(m, 1) == '_' || isdigit((unsigned char)peek(m, 1)))) {
        m->p++; /* in a default argument */
        if (!lpo_demangle_sequence(m, 10, &ignored))
            lpo_demangle_fail(m);
        n = lpo_demangle_name(m, true);
        n.text = JOIN(m, function, TEXT("::{default arg#"), decimal(m, ignored + 1), TEXT("}::"),
                      n.text);
        return n;
    }
    n = lpo_demangle_name(m, true);
    skip_discriminator(m);
    n.text = JOIN(m, function, TEXT("::"), n.text);
    return n;
}

struct name lpo_demangle_name(struct parser *m, bool tag)
{
    struct name n = { 0 };
    bool std, keep = true;

    if (m->failed || !lpo_demangle_enter(m)) {
        n.text = lpo_demangle_fail(m);
        return n;
    }
    if (take(m, 'N')) {
        n = nested_name(m, tag);
        m->depth--;
        return n;
    }
    if (take(m, 'Z')) {
        n = local_name(m);
        m->depth--;
        return n;
    }
    std = peek(m, 0) == 'S' && peek(m, 1) == 't';
    if (peek(m, 0) == 'S' && !std) {
        n.text = whole(m, lpo_demangle_substitution(m));
        keep = false;
        if (peek(m, 0) != 'I')
            lpo_demangle_fail(m);
    } else {
        struct text part;

        m->p += std ? 2 : 0;
        part = unqualified(m, TEXT(""), &n);
        n.text = std ? JOIN(m, TEXT("std::"), part) : part;
        n.nested = std;
    }
    if (peek(m, 0) == 'I' && !m->failed) {
        if (keep)
            lpo_demangle_keep(m, plain_type(n.text), NULL);
        n.text = JOIN(m, n.text, lpo_demangle_arguments(m, tag));
        n.template_args = true;
    }
    m->depth--;
    return n;
}
