/* SPDX-License-Identifier: Apache-2.0 */
/* Names by the grammar of the Itanium C++ ABI, read once from left to right.
 *
 * A type is kept as two texts, what stands left and right of a name that it would declare: a
 * pointer to a function is "void (*" and ")(int)". Every text is in an arena; the sum of their
 * lengths is bounded, because a short name may stand for a very long one. */
#include "trace/demangle.h"

#include <ctype.h>

enum { DEPTH = 200, BYTES = 4 << 20, SUBSTITUTES = 4096, LONGEST = 65536, PACK = 64 };

#define COUNT(a) (sizeof(a) / sizeof *(a))

struct type {
    const char *left, *right;
    bool bare; /* a function or an array: a pointer to it needs brackets */
};

/* One template argument; a pack has several types. */
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
    struct lpo_str scratch; /* the text that is being made */
    size_t bytes;           /* of all texts made so far */
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
    const char *text;
    const char *quals;  /* " const", " &" of a member function */
    bool template_args; /* ends with them: a return type follows */
    bool no_return;     /* a constructor, destructor or conversion */
    bool nested;
};

/* Each returns with `failed` set when the name is not one. */
static struct type read_type(struct parser *m);
static struct name read_name(struct parser *m, bool tag);
static const char *read_encoding(struct parser *m, bool outer);
static const char *read_expression(struct parser *m);
/* "<int, 4>"; `tag`: T_ means these from now on. */
static const char *read_arguments(struct parser *m, bool tag);
/* The parameters up to the end of this encoding or 'E', without brackets: "int, float*". */
static const char *read_parameters(struct parser *m);

/* --- texts ---------------------------------------------------------------------------------- */

static const char *fail(struct parser *m)
{
    m->failed = true;
    m->p = m->end; /* nothing more is read */
    return "?";
}

/* A new text: "%s", "%z" (a size_t) and "%n" (a length and bytes). All together are bounded. printf
 * takes three times as long, and a trace may have 200,000 names. */
static const char *say(struct parser *m, const char *format, ...)
{
    va_list args;

    if (m->failed)
        return fail(m);
    lpo_str_clear(&m->scratch);
    va_start(args, format);
    for (const char *text, *at; *format; format = *at ? at + 2 : at) {
        at = strchrnul(format, '%');
        lpo_str_addn(&m->scratch, format, (size_t)(at - format));
        if (at[0] == '%' && at[1] == 'n') {
            size_t len = va_arg(args, size_t);

            text = va_arg(args, const char *);
            lpo_str_addn(&m->scratch, text, len);
        } else if (at[0] == '%' && at[1] == 'z') {
            lpo_str_add_uint(&m->scratch, va_arg(args, size_t));
        } else if (*at) {
            lpo_str_add(&m->scratch, va_arg(args, const char *));
        }
    }
    va_end(args);
    m->bytes += m->scratch.len;
    return m->bytes > BYTES
               ? fail(m)
               : lpo_arena_strndup(m->arena, lpo_str_text(&m->scratch), m->scratch.len);
}

static char peek(const struct parser *m, size_t i)
{
    return (size_t)(m->end - m->p) > i ? m->p[i] : 0;
}

static bool take(struct parser *m, char c)
{
    if (peek(m, 0) != c || !c)
        return false;
    m->p++;
    return true;
}

static bool take_two(struct parser *m, const char *two)
{
    if (peek(m, 0) != two[0] || peek(m, 1) != two[1])
        return false;
    m->p += 2;
    return true;
}

static void expect(struct parser *m, char c)
{
    if (!take(m, c))
        fail(m);
}

static struct type plain(const char *t)
{
    return (struct type){ t, "", false };
}

static const char *whole(struct parser *m, struct type t)
{
    return *t.right ? say(m, "%s%s", t.left, t.right) : t.left;
}

static const char *whole_type(struct parser *m)
{
    return whole(m, read_type(m));
}

static const char *bracketed(struct parser *m, const char *t)
{
    return say(m, "(%s)", t);
}

/* One level deeper; false: too deep. */
static bool enter(struct parser *m)
{
    return !m->failed && ++m->depth <= DEPTH;
}

/* --- numbers, substitutes ------------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool read_number(struct parser *m, size_t *out)
{
    const char *from = m->p;

    for (*out = 0; is_digit(peek(m, 0)) && *out < (size_t)1 << 40; m->p++)
        *out = *out * 10 + (size_t)(*m->p - '0');
    return m->p > from;
}

/* "_" is 0, "0_" is 1. */
static bool read_sequence(struct parser *m, size_t base, size_t *out)
{
    size_t n = 0;

    *out = 0;
    if (take(m, '_'))
        return true;
    for (; n <= BYTES; m->p++) {
        char c = peek(m, 0);

        if (is_digit(c))
            n = n * base + (size_t)(c - '0');
        else if (base == 36 && c >= 'A' && c <= 'Z')
            n = n * base + (size_t)(c - 'A') + 10;
        else
            break;
    }
    *out = n + 1;
    return n <= BYTES && take(m, '_');
}

/* The number of one of several things of a kind: "#2}". */
static const char *numbered(struct parser *m, const char *before)
{
    size_t n = 0;

    return read_sequence(m, 10, &n) ? say(m, "%s#%z}", before, n + 1) : fail(m);
}

/* Room for one more in an array of the arena. */
static void *more(struct parser *m, void *old, size_t len, size_t *cap, size_t size)
{
    void *at = old;

    if (len == *cap) {
        *cap = *cap * 2 + 8;
        at = lpo_arena_array(m->arena, *cap, size);
        if (len)
            memcpy(at, old, len * size);
    }
    return at;
}

/* A substitute for later. `from`: see struct substitute. */
static void keep(struct parser *m, struct type t, const char *from)
{
    if (m->again || m->failed)
        return;
    if (m->nsubs == SUBSTITUTES) {
        fail(m);
        return;
    }
    m->subs = more(m, m->subs, m->nsubs, &m->subs_cap, sizeof *m->subs);
    m->subs[m->nsubs++] = (struct substitute){ t, from, m->template };
}

static struct type read_again(struct parser *m, const struct substitute *s)
{
    const char *behind = m->p;
    struct type t;

    m->p = s->from;
    m->again++;
    m->parameters++;
    t = read_type(m);
    m->again--;
    if (!m->failed)
        m->p = behind;
    return t;
}

static struct type read_substitution(struct parser *m) /* at 'S' */
{
    static const char *const known[] = { "tstd",          "astd::allocator", "bstd::basic_string",
                                         "sstd::string",  "istd::istream",   "ostd::ostream",
                                         "dstd::iostream" };
    const struct substitute *s;
    size_t n;

    m->p++;
    for (size_t i = 0; i < COUNT(known); i++)
        if (take(m, known[i][0]))
            return plain(known[i] + 1);
    if (!read_sequence(m, 36, &n) || n >= m->nsubs)
        return plain(fail(m));
    s = &m->subs[n];
    return s->from && m->template && s->template != m->template ? read_again(m, s) : s->type;
}

static struct type read_parameter(struct parser *m) /* T_ */
{
    const struct argument *a;
    size_t n;

    if (!take(m, 'T') || !read_sequence(m, 10, &n))
        return plain(fail(m));
    m->parameters++;
    if (m->in_lambda)
        return plain(say(m, "auto:%z", n + 1));
    if (!m->template || n >= m->template->len)
        return plain(fail(m));
    a = &m->template->at[n];
    if (!a->pack)
        return a->types[0];
    m->pack_len = a->len;
    return m->pack_at < a->len ? a->types[m->pack_at] : plain("");
}

/* --- names ---------------------------------------------------------------------------------- */

/* A word behind its length. */
static const char *read_source_name(struct parser *m)
{
    const char *at;
    size_t len;

    if (!read_number(m, &len) || !len || len > (size_t)(m->end - m->p))
        return fail(m);
    at = m->p;
    m->p += len;
    if (len > 9 && memcmp(at, "_GLOBAL_", 8) == 0 && strchr("._$", at[8]) && at[9] == 'N')
        return "(anonymous namespace)";
    return say(m, "%n", len, at);
}

/* Operators, and how many operands they have in an expression; 0: there is none of it. */
static const struct op {
    char code[3];
    char operands;
    const char *text;
} operators[] = {
    { "nw", 0, " new" }, { "na", 0, " new[]" }, { "dl", 0, " delete" }, { "da", 0, " delete[]" },
    { "ps", 1, "+" },    { "ng", 1, "-" },      { "ad", 1, "&" },       { "de", 1, "*" },
    { "co", 1, "~" },    { "pl", 2, "+" },      { "mi", 2, "-" },       { "ml", 2, "*" },
    { "dv", 2, "/" },    { "rm", 2, "%" },      { "an", 2, "&" },       { "or", 2, "|" },
    { "eo", 2, "^" },    { "aS", 0, "=" },      { "pL", 0, "+=" },      { "mI", 0, "-=" },
    { "mL", 0, "*=" },   { "dV", 0, "/=" },     { "rM", 0, "%=" },      { "aN", 0, "&=" },
    { "oR", 0, "|=" },   { "eO", 0, "^=" },     { "ls", 2, "<<" },      { "rs", 2, ">>" },
    { "lS", 0, "<<=" },  { "rS", 0, ">>=" },    { "eq", 2, "==" },      { "ne", 2, "!=" },
    { "lt", 2, "<" },    { "gt", 2, ">" },      { "le", 2, "<=" },      { "ge", 2, ">=" },
    { "ss", 0, "<=>" },  { "nt", 1, "!" },      { "aa", 2, "&&" },      { "oo", 2, "||" },
    { "pp", 0, "++" },   { "mm", 0, "--" },     { "cm", 0, "," },       { "pm", 0, "->*" },
    { "pt", 0, "->" },   { "cl", 0, "()" },     { "ix", 0, "[]" },      { "qu", 0, "?" },
};

static const struct op *find_operator(struct parser *m)
{
    return lpo_find(i, operators, COUNT(operators), take_two(m, operators[i].code));
}

static const char *read_operator_name(struct parser *m, struct name *n)
{
    const struct op *o;

    if (take_two(m, "cv")) {
        n->no_return = true;
        return say(m, "operator %s", whole_type(m));
    }
    o = find_operator(m);
    return o ? say(m, "operator%s", o->text) : fail(m);
}

static const char *read_unnamed(struct parser *m) /* behind 'U' */
{
    const char *parameters;

    if (take(m, 't'))
        return numbered(m, "{unnamed type");
    expect(m, 'l');
    m->in_lambda++;
    parameters = read_parameters(m);
    m->in_lambda--;
    expect(m, 'E');
    return numbered(m, say(m, "{lambda(%s)", parameters));
}

/* The last part of a scope, without template arguments: what a constructor is called. */
static const char *last_part(struct parser *m, const char *scope)
{
    size_t end = strlen(scope), from;
    int angle = 0;

    if (end && scope[end - 1] == '>')
        do {
            end--;
            angle += scope[end] == '>' ? 1 : scope[end] == '<' ? -1 : 0;
        } while (angle && end);
    while (end && scope[end - 1] == ' ')
        end--;
    for (from = end; from > 0 && scope[from - 1] != ':'; from--)
        ;
    return say(m, "%n", end - from, scope + from);
}

/* A name without its scope. `scope` is what a constructor is named after. */
static const char *read_unqualified(struct parser *m, const char *scope, struct name *n)
{
    const char *t;
    char a, b;

    take(m, 'L'); /* internal linkage */
    a = peek(m, 0);
    b = peek(m, 1);
    n->no_return = (a == 'C' && b >= '1' && b <= '5') || (a == 'D' && is_digit(b));
    if (n->no_return) {
        m->p += 2;
        t = a == 'C' ? last_part(m, scope) : say(m, "~%s", last_part(m, scope));
    } else if (is_digit(a)) {
        t = read_source_name(m);
    } else if (take(m, 'U')) {
        t = read_unnamed(m);
    } else {
        t = read_operator_name(m, n);
    }
    while (take(m, 'B')) /* an ABI tag */
        t = say(m, "%s[abi:%s]", t, read_source_name(m));
    return t;
}

/* r, V and K in any number, and what stands behind a type for each of them. */
static const char *read_qualifiers(struct parser *m, bool *constant)
{
    bool restricted = take(m, 'r'), is_volatile = take(m, 'V');

    *constant = take(m, 'K');
    return say(m, "%s%s", is_volatile ? " volatile" : "", restricted ? " __restrict" : "");
}

static const char *read_member_quals(struct parser *m)
{
    bool constant;
    const char *others = read_qualifiers(m, &constant);
    const char *ref = take(m, 'R') ? " &" : take(m, 'O') ? " &&" : "";

    return say(m, "%s%s%s", constant ? " const" : "", others, ref);
}

static struct name read_nested_name(struct parser *m, bool tag) /* behind 'N' */
{
    struct name n = { .text = "", .quals = "", .nested = true };
    const char *so_far = "";
    bool kept = false;

    n.quals = read_member_quals(m);
    while (!m->failed && !take(m, 'E')) {
        char a = peek(m, 0), b = peek(m, 1);

        n.template_args = a == 'I';
        kept = a == 'T' || a == 'I';
        if (a == 'S') {
            so_far = whole(m, read_substitution(m));
        } else if (a == 'T') {
            so_far = whole(m, read_parameter(m));
        } else if (a == 'I') {
            so_far = say(m, "%s%s", so_far, read_arguments(m, tag));
        } else if (a == 'D' && (b == 't' || b == 'T')) {
            so_far = whole_type(m); /* kept already */
        } else if (!take(m, 'M')) { /* a data member, before a lambda in it */
            const char *part = read_unqualified(m, so_far, &n);

            so_far = *so_far ? say(m, "%s::%s", so_far, part) : part;
            kept = true;
        }
        if (kept)
            keep(m, plain(so_far), NULL);
    }
    if (kept && m->nsubs && !m->again)
        m->nsubs--; /* the whole name is kept by whoever uses it as a type */
    n.text = so_far;
    return n;
}

static void skip_discriminator(struct parser *m)
{
    size_t n;

    if (take_two(m, "__")) {
        if (!read_number(m, &n))
            fail(m);
        expect(m, '_');
    } else if (peek(m, 0) == '_' && is_digit(peek(m, 1))) {
        m->p += 2;
    }
}

static struct name read_local_name(struct parser *m) /* behind 'Z' */
{
    const char *function = read_encoding(m, false), *between = "::";
    struct name n = { .text = "string literal", .quals = "" };
    bool is_default = false;

    expect(m, 'E');
    if (!take(m, 's')) {
        is_default = peek(m, 0) == 'd' && (peek(m, 1) == '_' || is_digit(peek(m, 1)));
        if (is_default) {
            m->p++;
            between = say(m, "%s::", numbered(m, "::{default arg"));
        }
        n = read_name(m, true);
    }
    if (!is_default)
        skip_discriminator(m);
    n.text = say(m, "%s%s%s", function, between, n.text);
    return n;
}

static struct name read_plain_name(struct parser *m, bool tag)
{
    bool std = peek(m, 0) == 'S' && peek(m, 1) == 't', again = peek(m, 0) == 'S' && !std;
    struct name n = { .text = "", .quals = "", .nested = std };

    if (again) {
        n.text = whole(m, read_substitution(m));
        if (peek(m, 0) != 'I')
            fail(m);
    } else {
        m->p += std ? 2 : 0;
        n.text = read_unqualified(m, "", &n);
        if (std)
            n.text = say(m, "std::%s", n.text);
    }
    if (peek(m, 0) == 'I' && !m->failed) {
        if (!again)
            keep(m, plain(n.text), NULL);
        n.text = say(m, "%s%s", n.text, read_arguments(m, tag));
        n.template_args = true;
    }
    return n;
}

static struct name read_name(struct parser *m, bool tag)
{
    struct name n = { .text = "", .quals = "" };

    if (!enter(m)) {
        n.text = fail(m);
        return n;
    }
    n = take(m, 'N')   ? read_nested_name(m, tag)
        : take(m, 'Z') ? read_local_name(m)
                       : read_plain_name(m, tag);
    m->depth--;
    return n;
}

/* --- template arguments, expressions -------------------------------------------------------- */

/* A literal; the letter of its type says how it is written. */
static const char *read_literal(struct parser *m) /* at 'L' */
{
    static const char *const suffixes[] = { "i", "ju", "ll", "mul", "xll", "yull" };
    const char *sign, *value;
    const char *from;
    struct type t;
    char code;

    m->p++;
    if (take_two(m, "_Z")) {
        value = read_encoding(m, true);
        expect(m, 'E');
        return value;
    }
    code = peek(m, 0);
    if (code == 'b' && peek(m, 2) == 'E' && (peek(m, 1) == '0' || peek(m, 1) == '1')) {
        m->p += 3;
        return m->p[-2] == '1' ? "true" : "false";
    }
    t = read_type(m);
    sign = take(m, 'n') ? "-" : "";
    for (from = m->p; isalnum((unsigned char)peek(m, 0)) && *m->p != 'E'; m->p++)
        ;
    value = say(m, "%n", (size_t)(m->p - from), from);
    expect(m, 'E');
    for (size_t i = 0; i < COUNT(suffixes); i++)
        if (suffixes[i][0] == code)
            return say(m, "%s%s%s", sign, value, suffixes[i] + 1);
    return say(m, "%s%s%s", bracketed(m, whole(m, t)), sign, value);
}

/* The address of a function that has no template arguments is written without its parameters. */
static bool read_address(struct parser *m, const char **out)
{
    struct parser copy = *m;
    struct name n;

    if (peek(m, 0) != 'L' || peek(m, 1) != '_' || peek(m, 2) != 'Z' || peek(m, 3) != 'N')
        return false;
    copy.p += 3;
    n = read_name(&copy, false);
    if (copy.failed || n.template_args || *n.quals || !n.nested)
        return false;
    read_literal(m);
    *out = say(m, "&%s", n.text);
    return true;
}

static const char *read_operation(struct parser *m, const struct op *o)
{
    const char *sign = o->text, *a, *b;

    if (o->operands == 1 && *o->text == '&' && read_address(m, &a))
        return a;
    a = bracketed(m, read_expression(m));
    if (o->operands == 1)
        return say(m, "%s%s", sign, a);
    b = bracketed(m, read_expression(m));
    a = say(m, "%s%s%s", a, sign, b);
    return strcmp(o->text, ">") == 0 ? bracketed(m, a) : a;
}

/* A variable that depends on a template argument: "3fooIT_E" is foo<T>. Not a substitute for later,
 * as the same name would be elsewhere. */
static const char *read_dependent(struct parser *m)
{
    const char *t = read_source_name(m);

    return peek(m, 0) == 'I' ? say(m, "%s%s", t, read_arguments(m, false)) : t;
}

static const char *read_inner_expression(struct parser *m)
{
    const struct op *o;
    const char *t;

    if (peek(m, 0) == 'L')
        return read_literal(m);
    if (peek(m, 0) == 'T')
        return whole(m, read_parameter(m));
    if (is_digit(peek(m, 0)))
        return read_dependent(m);
    if (take_two(m, "sr")) { /* a name in the scope of a type */
        t = whole_type(m);
        return say(m, "%s::%s", t, read_name(m, false).text);
    }
    if (take_two(m, "st"))
        return say(m, "sizeof %s", bracketed(m, whole_type(m)));
    if (take_two(m, "at"))
        return say(m, "alignof %s", bracketed(m, whole_type(m)));
    if (take_two(m, "cv")) {
        t = bracketed(m, whole_type(m));
        return say(m, "%s%s", t, bracketed(m, read_expression(m)));
    }
    o = find_operator(m);
    return o && o->operands ? read_operation(m, o) : fail(m);
}

static const char *read_expression(struct parser *m)
{
    const char *t;

    if (!enter(m))
        return fail(m);
    t = read_inner_expression(m);
    m->depth--;
    return t;
}

/* One argument; several types for a pack. */
static struct argument read_argument(struct parser *m)
{
    struct type types[PACK] = { { "", "", false } };
    struct argument a = { NULL, 1, false };

    while (take_two(m, "Tn") || take_two(m, "Ty")) /* the kind of parameter, of newer compilers */
        if (m->p[-1] == 'n')
            read_type(m);
    if (peek(m, 0) == 'L') {
        types[0] = plain(read_literal(m));
    } else if (take(m, 'X')) {
        types[0] = plain(read_expression(m));
        expect(m, 'E');
    } else if (take(m, 'J')) {
        a.pack = true;
        for (a.len = 0; !m->failed && !take(m, 'E'); a.len++) {
            struct argument e = read_argument(m);

            if (a.len == PACK - 1)
                fail(m);
            types[a.len] = e.types[0];
        }
    } else {
        types[0] = read_type(m);
    }
    a.types = lpo_arena_array(m->arena, a.len + 1, sizeof *a.types);
    memcpy(a.types, types, a.len * sizeof *types);
    return a;
}

static const char *read_arguments(struct parser *m, bool tag)
{
    struct arguments *list = lpo_arena_alloc(m->arena, sizeof *list);
    const char *all = "<";

    *list = (struct arguments){ 0 };
    if (!take(m, 'I') || !enter(m))
        return fail(m);
    if (tag)
        m->template = list;
    while (!m->failed && !take(m, 'E')) {
        struct argument a = read_argument(m);

        if (tag) {
            m->template = list; /* a name inside may have set its own */
            list->at = more(m, list->at, list->len, &list->cap, sizeof *list->at);
            list->at[list->len++] = a;
        }
        for (size_t i = 0; i < a.len && !m->failed; i++) {
            const char *t = whole(m, a.types[i]);

            if (*t)
                all = say(m, "%s%s%s", all, all[1] ? ", " : "", t);
        }
    }
    m->depth--;
    return say(m, "%s%s", all, lpo_str_ends(all, ">") ? " >" : ">");
}

/* --- types ---------------------------------------------------------------------------------- */

static bool read_builtin(struct parser *m, struct type *out)
{
    /* code, blank, text */
    /* clang-format off */
    static const char *const builtins[] = {
        "v void", "w wchar_t", "b bool", "c char", "a signed char", "h unsigned char", "s short",
        "t unsigned short", "i int", "j unsigned int", "l long", "m unsigned long", "x long long",
        "y unsigned long long", "n __int128", "o unsigned __int128", "f float", "d double",
        "e long double", "g __float128", "z ...", "Dd decimal64", "De decimal128", "Df decimal32",
        "Dh half", "Di char32_t", "Ds char16_t", "Du char8_t", "Da auto", "Dc decltype(auto)",
        "Dn decltype(nullptr)", "DF16b std::bfloat16_t", "DF16_ _Float16", "DF32_ _Float32",
        "DF64_ _Float64",
    };
    /* clang-format on */

    for (size_t i = 0; i < COUNT(builtins); i++) {
        size_t len = strcspn(builtins[i], " ");

        if ((size_t)(m->end - m->p) < len || memcmp(m->p, builtins[i], len) != 0)
            continue;
        m->p += len;
        *out = plain(builtins[i] + len + 1);
        return true;
    }
    return false;
}

/* Puts `mark` where a declared name would stand. */
static struct type around(struct parser *m, struct type t, const char *mark)
{
    if (!t.bare)
        return (struct type){ say(m, "%s%s", t.left, mark), t.right, false };
    return (struct type){ say(m, "%s(%s", t.left, mark),
                          say(m, "%s%s", *t.right == '[' ? ") " : ")", t.right), false };
}

/* References collapse, as in C++: & of && is &, and && of & is &. */
static struct type read_reference(struct parser *m, bool right)
{
    struct type t = read_type(m);
    bool has = !t.bare && lpo_str_ends(t.left, "&");

    if (has && !right && lpo_str_ends(t.left, "&&"))
        t.left = say(m, "%n", strlen(t.left) - 1, t.left);
    return has ? t : around(m, t, right ? "&&" : "&");
}

static struct type read_function(struct parser *m)
{
    struct type result;
    const char *parameters, *quals = "";

    take(m, 'Y'); /* extern "C" */
    result = read_type(m);
    parameters = bracketed(m, read_parameters(m));
    if (peek(m, 1) == 'E')
        quals = take(m, 'R') ? " &" : take(m, 'O') ? " &&" : "";
    expect(m, 'E');
    return (struct type){ say(m, "%s ", result.left),
                          say(m, "%s%s%s", parameters, quals, result.right), true };
}

/* "8_" as it is written: of an array, of a _BitInt, and before the type of a vector's elements. */
static const char *read_size(struct parser *m)
{
    const char *from = m->p;
    const char *size;
    size_t n;

    if (!read_number(m, &n))
        fail(m);
    size = say(m, "%n", (size_t)(m->p - from), from);
    expect(m, '_');
    return size;
}

static struct type read_array(struct parser *m)
{
    const char *size = "";
    struct type of;

    if (is_digit(peek(m, 0))) {
        size = read_size(m);
    } else if (!take(m, '_')) {
        size = read_expression(m);
        expect(m, '_');
    }
    of = read_type(m);
    return (struct type){ of.bare ? of.left : say(m, "%s ", of.left),
                          say(m, "[%s]%s", size, of.right), true };
}

static struct type read_member_pointer(struct parser *m)
{
    struct type class = read_type(m), of = read_type(m);
    const char *mark = say(m, "%s::*", whole(m, class));

    return around(m, of, of.bare ? mark : say(m, " %s", mark));
}

/* A type with r, V and K; of a function they stand behind its parameters. */
static struct type read_qualified(struct parser *m)
{
    bool constant;
    const char *others = read_qualifiers(m, &constant);
    struct type t = read_type(m);
    const char **side = t.bare && *t.right == '(' ? &t.right : &t.left;

    if (lpo_str_ends(*side, " const"))
        constant = false; /* T may have it already */
    *side = say(m, "%s%s%s", *side, constant ? " const" : "", others);
    return t;
}

/* Dp: the same type for each element of a pack. */
static struct type read_expansion(struct parser *m)
{
    const char *from = m->p;
    size_t at = m->pack_at, len = m->pack_len, count, subs;
    const char *all;

    m->pack_at = 0;
    m->pack_len = SIZE_MAX;
    all = whole_type(m);
    count = m->pack_len;
    subs = m->nsubs;
    if (count == 0)
        all = "";
    else if (count == SIZE_MAX)
        all = say(m, "%s...", all);
    for (size_t i = 1; count != SIZE_MAX && i < count && !m->failed; i++) {
        m->p = from;
        m->pack_at = i;
        all = say(m, "%s, %s", all, whole_type(m));
        if (!m->again)
            m->nsubs = subs; /* they count once */
    }
    m->pack_at = at;
    m->pack_len = len;
    return plain(all);
}

static struct type read_extended(struct parser *m) /* behind 'D' */
{
    const char *t;
    struct type of;

    switch (peek(m, 0) ? *m->p++ : 0) {
    case 'p':
        return read_expansion(m);
    case 't':
    case 'T':
        t = say(m, "decltype %s", bracketed(m, read_expression(m)));
        expect(m, 'E');
        return plain(t);
    case 'v':
        t = read_size(m);
        return plain(say(m, "%s __vector%s", whole_type(m), bracketed(m, t)));
    case 'B': /* of which AMD's libraries make 8 bit floats; it may be repeated by a number (S1_) */
        return plain(say(m, "_BitInt%s", bracketed(m, read_size(m))));
    case 'U':
        return plain(say(m, "unsigned _BitInt%s", bracketed(m, read_size(m))));
    case 'o':
        of = read_type(m);
        return (struct type){ of.left, say(m, "%s noexcept", of.right), of.bare };
    default:
        return plain(fail(m));
    }
}

/* A substitute or parameter, perhaps with template arguments; those make a new one. */
static struct type read_repeated(struct parser *m, bool *fresh)
{
    bool parameter = peek(m, 0) == 'T';
    struct type t;

    if (!parameter && peek(m, 1) == 't')
        return plain(read_name(m, false).text);
    t = parameter ? read_parameter(m) : read_substitution(m);
    *fresh = parameter || peek(m, 0) == 'I';
    if (peek(m, 0) != 'I')
        return t;
    if (parameter)
        keep(m, t, NULL);
    return plain(say(m, "%s%s", whole(m, t), read_arguments(m, false)));
}

static struct type read_compound(struct parser *m, bool *fresh)
{
    char c = peek(m, 0);

    if (c == 'r' || c == 'V' || c == 'K')
        return read_qualified(m);
    if (c == 'S' || c == 'T')
        return read_repeated(m, fresh);
    if (!c || !strchr("PROCFAMDu", c))
        return plain(read_name(m, false).text);
    m->p++;
    switch (c) {
    case 'P':
        return around(m, read_type(m), "*");
    case 'R':
    case 'O':
        return read_reference(m, c == 'O');
    case 'C':
        return plain(say(m, "%s _Complex", whole_type(m)));
    case 'F':
        return read_function(m);
    case 'A':
        return read_array(m);
    case 'M':
        return read_member_pointer(m);
    case 'D':
        return read_extended(m);
    default: /* a vendor's own */
        return plain(read_name(m, false).text);
    }
}

static struct type read_type(struct parser *m)
{
    const char *from = m->p;
    size_t met = m->parameters;
    struct type t;
    bool fresh = true;

    if (!enter(m))
        return plain(fail(m));
    if (!read_builtin(m, &t)) {
        t = read_compound(m, &fresh);
        if (fresh)
            keep(m, t, m->parameters > met && !m->in_lambda ? from : NULL);
    }
    m->depth--;
    return t;
}

static const char *read_parameters(struct parser *m)
{
    const char *all = "";

    if (peek(m, 0) == 'v' && strchr("E.", peek(m, 1))) { /* strchr() finds the end, too */
        m->p++;
        return all;
    }
    while (!m->failed && peek(m, 0) && !strchr("E.", *m->p) &&
           !((*m->p == 'R' || *m->p == 'O') && peek(m, 1) == 'E')) {
        const char *t = whole_type(m);

        if (*t) /* else an empty pack */
            all = *all ? say(m, "%s, %s", all, t) : t;
    }
    return all;
}

/* --- whole names ---------------------------------------------------------------------------- */

/* A function's return type is shown for the outermost name alone. */
static const char *read_function_or_variable(struct parser *m, bool outer)
{
    struct name n = read_name(m, true);
    struct type result = plain("");
    const char *all;

    if (m->p >= m->end || *m->p == 'E' || *m->p == '.')
        return say(m, "%s%s", n.text, n.quals);
    if (n.template_args && !n.no_return)
        result = read_type(m);
    all = say(m, "%s%s%s", n.text, bracketed(m, read_parameters(m)), n.quals);
    if (!outer || !*result.left)
        return all;
    return say(m, "%s%s%s%s", result.left, result.bare || *result.right ? "" : " ", all,
               result.right);
}

static const char *read_encoding(struct parser *m, bool outer)
{
    struct arguments *before = m->template;
    unsigned lambda = m->in_lambda;
    const char *all;

    if (!enter(m))
        return fail(m);
    m->in_lambda = 0;
    m->template = NULL;
    all = read_function_or_variable(m, outer);
    m->template = before;
    m->in_lambda = lambda;
    m->depth--;
    return all;
}

/* ".kd", ".constprop.0": shown as a copy of the function. */
static bool add_suffix(const struct parser *m, struct lpo_str *out)
{
    for (const char *p = m->p; p < m->end; p++)
        if (!isalnum((unsigned char)*p) && *p != '.' && *p != '_')
            return false;
    if (m->p < m->end)
        lpo_str_addf(out, " [clone %.*s]", (int)(m->end - m->p), m->p);
    return true;
}

bool lpo_trace_demangle(const char *name, struct lpo_str *out)
{
    size_t len = strnlen(name, LONGEST + 1), from = out->len;
    struct parser m = { .p = name + 2, .end = name + len, .pack_len = SIZE_MAX };
    const char *all;
    bool good;

    if (len < 3 || len > LONGEST || name[0] != '_' || name[1] != 'Z')
        return false;
    m.arena = lpo_arena_create();
    all = read_encoding(&m, true);
    good = !m.failed && *all && (m.p == m.end || *m.p == '.');
    if (good) {
        lpo_str_add(out, all);
        good = add_suffix(&m, out);
    }
    if (!good && out->at) {
        out->len = from;
        out->at[from] = 0;
    }
    lpo_arena_destroy(m.arena);
    lpo_str_free(&m.scratch);
    return good;
}
