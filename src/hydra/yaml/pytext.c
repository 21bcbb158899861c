/* SPDX-License-Identifier: Apache-2.0 */
#include "hydra/yaml/yaml.h"

#include <ctype.h>

#include "hydra/node.h"
#include "util/regex.h"

/* The fewest digits d1d2…dn (no point) and exponent so that 0.d1…dn × 10^exp reads back as d. */
static int shortest(double d, char digits[32], int *exp10)
{
    char buf[40];
    int n = 0;

    for (int precision = 0; precision < 17; precision++) {
        snprintf(buf, sizeof buf, "%.*e", precision, d);
        if (strtod(buf, NULL) == d)
            break;
    }
    for (const char *p = buf; *p && *p != 'e'; p++)
        if (isdigit((unsigned char)*p))
            digits[n++] = *p;
    while (n > 1 && digits[n - 1] == '0')
        n--;
    digits[n] = '\0';
    *exp10 = atoi(strchr(buf, 'e') + 1) + 1;
    return n;
}

void lpo_yaml_py_add_float(struct lpo_str *s, double d)
{
    char digits[32];
    int n, point;

    if (isnan(d) || isinf(d)) {
        lpo_str_add(s, isnan(d) ? "nan" : d < 0 ? "-inf" : "inf");
        return;
    }
    if (signbit(d))
        lpo_str_addc(s, '-');
    n = shortest(fabs(d), digits, &point);
    if (d == 0)
        point = 1;
    if (point > 16 || point <= -4) {
        lpo_str_addc(s, digits[0]);
        if (n > 1)
            lpo_str_addf(s, ".%s", digits + 1);
        lpo_str_addf(s, "e%c%02d", point - 1 < 0 ? '-' : '+', abs(point - 1));
        return;
    }
    if (point <= 0) {
        lpo_str_add(s, "0.");
        for (int i = point; i < 0; i++)
            lpo_str_addc(s, '0');
        lpo_str_add(s, digits);
        return;
    }
    for (int i = 0; i < point || i < n; i++) {
        if (i == point)
            lpo_str_addc(s, '.');
        lpo_str_addc(s, i < n ? digits[i] : '0');
    }
    if (n <= point)
        lpo_str_add(s, ".0");
}

static uint32_t code_point(const char *p, size_t len)
{
    static const unsigned char lead[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
    uint32_t cp = (unsigned char)*p & lead[len];

    for (size_t i = 1; i < len; i++)
        cp = cp << 6 | ((unsigned char)p[i] & 0x3f);
    return cp;
}

static bool is_printable(uint32_t cp)
{
    if (cp < 0x7f)
        return cp >= 0x20;
    return cp > 0xa0 && cp != 0xad && !(cp >= 0x2028 && cp <= 0x202e) && cp != 0xfeff &&
           !(cp >= 0xe000 && cp <= 0xf8ff);
}

static void add_code_point(struct lpo_str *s, const char *p, size_t len, char quote)
{
    uint32_t cp = code_point(p, len);

    if (cp == '\\' || cp == (unsigned char)quote)
        lpo_str_addf(s, "\\%c", (char)cp);
    else if (cp == '\n' || cp == '\t' || cp == '\r')
        lpo_str_add(s, cp == '\n' ? "\\n" : cp == '\t' ? "\\t" : "\\r");
    else if (is_printable(cp))
        lpo_str_addn(s, p, len);
    else if (cp < 0x100)
        lpo_str_addf(s, "\\x%02x", cp);
    else if (cp < 0x10000)
        lpo_str_addf(s, "\\u%04x", cp);
    else
        lpo_str_addf(s, "\\U%08x", cp);
}

static void add_quoted(struct lpo_str *s, const char *text, size_t len)
{
    char quote = memchr(text, '\'', len) && !memchr(text, '"', len) ? '"' : '\'';

    lpo_str_addc(s, quote);
    for (size_t i = 0; i < len;) {
        size_t n = lpo_str_utf8_len(text + i, len - i);

        if (n == 0) {
            lpo_str_addf(s, "\\x%02x", (unsigned char)text[i++]);
            continue;
        }
        add_code_point(s, text + i, n, quote);
        i += n;
    }
    lpo_str_addc(s, quote);
}

static void add_bytes(struct lpo_str *s, const struct lpo_node *n)
{
    lpo_str_add(s, "b'");
    for (size_t i = 0; i < n->len; i++) {
        unsigned char c = (unsigned char)n->text[i];

        if (c == '\\' || c == '\'')
            lpo_str_addf(s, "\\%c", c);
        else if (c >= 0x20 && c < 0x7f)
            lpo_str_addc(s, (char)c);
        else
            lpo_str_addf(s, "\\x%02x", c);
    }
    lpo_str_addc(s, '\'');
}

void lpo_yaml_py_add_repr(struct lpo_str *s, const struct lpo_node *n)
{
    switch (n->kind) {
    case LPO_NODE_NULL:
        lpo_str_add(s, "None");
        break;
    case LPO_NODE_BOOL:
        lpo_str_add(s, n->boolean ? "True" : "False");
        break;
    case LPO_NODE_INT:
        lpo_str_addf(s, "%" PRId64, n->integer);
        break;
    case LPO_NODE_BIGINT:
        lpo_str_addn(s, n->text, n->len);
        break;
    case LPO_NODE_FLOAT:
        lpo_yaml_py_add_float(s, n->real);
        break;
    case LPO_NODE_STRING:
        add_quoted(s, n->text, n->len);
        break;
    case LPO_NODE_BYTES:
        add_bytes(s, n);
        break;
    case LPO_NODE_LIST:
        lpo_str_addc(s, '[');
        for (size_t i = 0; i < n->count; i++) {
            lpo_str_add(s, i ? ", " : "");
            lpo_yaml_py_add_repr(s, n->items[i]);
        }
        lpo_str_addc(s, ']');
        break;
    case LPO_NODE_MAP:
        lpo_str_addc(s, '{');
        for (size_t i = 0; i < n->npairs; i++) {
            lpo_str_add(s, i ? ", " : "");
            lpo_yaml_py_add_repr(s, n->pairs[i].key);
            lpo_str_add(s, ": ");
            lpo_yaml_py_add_repr(s, n->pairs[i].value);
        }
        lpo_str_addc(s, '}');
        break;
    }
}

void lpo_yaml_py_add_str(struct lpo_str *s, const struct lpo_node *n)
{
    if (n->kind == LPO_NODE_STRING)
        lpo_str_addn(s, n->text, n->len);
    else
        lpo_yaml_py_add_repr(s, n);
}

const char *lpo_yaml_py_type(const struct lpo_node *n)
{
    static const char *const names[] = {
        [LPO_NODE_NULL] = "NoneType", [LPO_NODE_BOOL] = "bool",   [LPO_NODE_INT] = "int",
        [LPO_NODE_BIGINT] = "int",    [LPO_NODE_FLOAT] = "float", [LPO_NODE_STRING] = "str",
        [LPO_NODE_BYTES] = "bytes",   [LPO_NODE_LIST] = "list",   [LPO_NODE_MAP] = "dict",
    };

    return names[n->kind];
}

#define BLANKS "[ \\t-\\r]*+"
#define DIGITS "[0-9](?:_?[0-9])*+"

bool lpo_yaml_py_is_int(const char *text, size_t len)
{
    static struct lpo_regex an_int = LPO_REGEX(BLANKS "[+-]?" DIGITS BLANKS "\\z");

    return lpo_regex_is(&an_int, text, len);
}

bool lpo_yaml_py_is_float(const char *text, size_t len)
{
    static struct lpo_regex a_float =
        LPO_REGEX(BLANKS "[+-]?(?:(?i:infinity|inf|nan)|(?:" DIGITS "(?:\\.(?:" DIGITS
                         ")?)?|\\." DIGITS ")(?:[eE][+-]?" DIGITS ")?)" BLANKS "\\z");

    return lpo_regex_is(&a_float, text, len);
}
