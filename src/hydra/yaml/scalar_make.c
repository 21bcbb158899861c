/* The value of a word whose tag is known. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "hydra/node.h"
#include "hydra/yaml/bigint.h"
#include "hydra/yaml/scalar.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/str.h"

enum { MAX_DIGITS = 4300 }; /* Python's own limit; the arithmetic below is quadratic */

static int digit_of(char c)
{
    if (isdigit((unsigned char)c))
        return c - '0';
    return isalpha((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10 : 99;
}

/* Digits of `base`, in parts of base 60 where there are colons. */
static bool push_digits(struct lpo_bigint *n, const char *p, unsigned base)
{
    size_t count = 0;

    for (; *p; p++) {
        if (*p == ':' && base == 10) {
            unsigned long part = strtoul(p + 1, NULL, 10);

            if (!isdigit((unsigned char)p[1]) || part > 99)
                return false;
            lpo_yaml_bigint_push(n, 60, (unsigned)part);
            while (isdigit((unsigned char)p[1]))
                p++;
            continue;
        }
        if (digit_of(*p) >= (int)base || ++count > MAX_DIGITS)
            return false;
        lpo_yaml_bigint_push(n, base, (unsigned)digit_of(*p));
    }
    return count > 0;
}

static bool make_int(struct lpo_arena *a, const char *text, struct lpo_node **out)
{
    struct lpo_bigint n = { 0 };
    LPO_STR s = { 0 };
    unsigned base = 10;
    bool ok, minus = *text == '-';

    if (*text == '-' || *text == '+')
        text++;
    if (text[0] == '0' && (text[1] == 'b' || text[1] == 'B')) {
        base = 2;
        text += 2;
    } else if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
        base = 16;
        text += 2;
    } else if (text[0] == '0' && text[1]) {
        base = 8;
        text += text[1] == 'o' || text[1] == 'O' ? 2 : 1;
    }
    if (minus)
        lpo_str_addc(&s, '-');
    ok = push_digits(&n, text, base);
    lpo_yaml_bigint_add_text(&n, &s);
    lpo_yaml_bigint_free(&n);
    if (ok)
        *out = lpo_node_bigint(a, s.at, s.len);
    return ok;
}

static bool make_float(struct lpo_arena *a, const char *text, struct lpo_node **out)
{
    double sign = *text == '-' ? -1 : 1, total = 0;
    char *end;

    if (*text == '-' || *text == '+')
        text++;
    if (strcasecmp(text, ".inf") == 0 || strcasecmp(text, ".nan") == 0) {
        *out = lpo_node_float(a, tolower((unsigned char)text[1]) == 'n' ? NAN : sign * INFINITY);
        return true;
    }
    for (;;) {
        double part;

        if (!isdigit((unsigned char)*text) && *text != '.')
            return false;
        part = strtod(text, &end);
        if (end == text)
            return false;
        total = total * 60 + part;
        if (*end != ':')
            break;
        text = end + 1;
    }
    *out = lpo_node_float(a, sign * total);
    return *end == '\0';
}

static bool make_bool(struct lpo_arena *a, const char *text, struct lpo_node **out)
{
    static const char *const yes[] = { "yes", "true", "on" };
    static const char *const no[] = { "no", "false", "off" };

    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) {
        bool is_yes = strcasecmp(text, yes[i]) == 0;

        if (is_yes || strcasecmp(text, no[i]) == 0) {
            *out = lpo_node_bool(a, is_yes);
            return true;
        }
    }
    return false;
}

static bool make_binary(struct lpo_arena *a, const char *text, size_t len, struct lpo_node **out)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *bytes = lpo_arena_alloc(a, len + 1);
    unsigned bits = 0, have = 0, chars = 0, pads = 0;
    size_t n = 0;

    for (size_t i = 0; i < len; i++) {
        const char *at = text[i] ? strchr(letters, text[i]) : NULL;

        if (text[i] == '=' && chars % 4 >= 2) {
            pads++;
            continue;
        }
        if (!at)
            continue; /* as Python's decoder: what is no letter is passed over */
        if (pads)
            break;
        bits = bits << 6 | (unsigned)(at - letters);
        have += 6;
        chars++;
        if (have >= 8) {
            have -= 8;
            bytes[n++] = (char)(bits >> have);
            bits &= (1u << have) - 1;
        }
    }
    if ((chars + pads) % 4 && !(pads && (chars + pads) % 4 == 0))
        return false;
    *out = lpo_node_bytes(a, bytes, n);
    return true;
}

static char *without_underscores(struct lpo_arena *a, const char *text, size_t len)
{
    char *copy = lpo_arena_alloc(a, len + 1), *to = copy;

    for (size_t i = 0; i < len; i++)
        if (text[i] != '_')
            *to++ = text[i];
    return copy;
}

int lpo_yaml_scalar_make(struct lpo_arena *a, enum lpo_scalar_tag tag, const char *text, size_t len,
                         struct lpo_node **out, struct lpo_err *err)
{
    bool ok = false;

    switch (tag) {
    case LPO_TAG_STR:
        *out = lpo_node_stringn(a, text, len);
        return 0;
    case LPO_TAG_NULL:
        *out = lpo_node_null(a);
        return 0;
    case LPO_TAG_BOOL:
        ok = make_bool(a, text, out);
        break;
    case LPO_TAG_INT:
        ok = make_int(a, without_underscores(a, text, len), out);
        break;
    case LPO_TAG_FLOAT:
        ok = make_float(a, without_underscores(a, text, len), out);
        break;
    case LPO_TAG_BINARY:
        ok = make_binary(a, text, len, out);
        break;
    case LPO_TAG_TIMESTAMP:
        return lpo_fail(err, LPO_E_FORMAT, "Value 'datetime' is not a supported primitive type");
    default:
        return lpo_fail(err, LPO_E_FORMAT, "a scalar cannot have this tag");
    }
    if (!ok)
        return lpo_fail(err, LPO_E_FORMAT, "'%s' does not fit its tag", text);
    return 0;
}
