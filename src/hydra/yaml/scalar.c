/* SPDX-License-Identifier: Apache-2.0 */
#include "hydra/yaml/yaml.h"

#include <ctype.h>
#include <strings.h>

#include "hydra/node.h"
#include "util/regex.h"

/* Which kind of value a word is: PyYAML's patterns. 0b11, 0x1f, 017 (octal) and 1_000 are integers,
 * 08 and 0o17 are text; 1:30 is 90 in the base 60 of YAML 1.1. */
#define SIXTIES "(?::[0-5]?[0-9])"
#define SPECIAL "\\.(?:nan|NaN|NAN)|[+-]?\\.(?:inf|Inf|INF)"

static struct lpo_regex an_int =
    LPO_REGEX("[+-]?(?:0[0-7_]*+|0b[01_]++|0x[0-9a-fA-F_]++|[1-9][0-9_]*+" SIXTIES "*+)\\z");
static struct lpo_regex a_float =
    LPO_REGEX("(?:" SPECIAL "|\\.[0-9][0-9_]*+(?:[eE][+-][0-9]++)?|[+-]?[0-9][0-9_]*+(?:\\.[0-9_]*+"
              "(?:[eE][+-][0-9]++)?|" SIXTIES "++\\.[0-9_]*+))\\z");
/* For reading: OmegaConf accepts 1e3 and ._ as numbers, plain YAML 1.1 does not. */
static struct lpo_regex a_relaxed_float =
    LPO_REGEX("(?:" SPECIAL "|\\.[0-9_]++(?:[eE][+-][0-9]++)?|[+-]?[0-9][0-9_]*+(?:\\.[0-9_]*+"
              "(?:[eE][+-]?[0-9]++)?|[eE][+-]?[0-9]++|" SIXTIES "++\\.[0-9_]*+))\\z");
/* Dates are text to us, but other YAML 1.1 readers would not leave them so. */
static struct lpo_regex a_timestamp =
    LPO_REGEX("(?:[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt]|[ \\t]++)"
              "[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\\.[0-9]*+)?"
              "(?:[ \\t]*+(?:Z|[+-][0-9]{1,2}(?::[0-9]{2})?))?)\\z");

/* Every word of a config comes here: the first letter rules out nearly all. */
static bool is_one_of(const char *text, size_t len, const char *const *words)
{
    char first = len ? *text : 0;

    for (; *words; words++)
        if (**words == first && strlen(*words) == len && memcmp(*words, text, len) == 0)
            return true;
    return false;
}

static const char *const bools[] = {
    "yes",   "Yes",   "YES", "no", "No", "NO",  "true", "True", "TRUE", "false",
    "False", "FALSE", "on",  "On", "ON", "off", "Off",  "OFF",  NULL,
};
static const char *const nulls[] = { "~", "null", "Null", "NULL", "", NULL };

static enum lpo_scalar_tag resolve(const char *text, size_t len, bool relaxed)
{
    if (is_one_of(text, len, bools))
        return LPO_TAG_BOOL;
    if (is_one_of(text, len, nulls))
        return LPO_TAG_NULL;
    if (len == 2 && memcmp(text, "<<", 2) == 0)
        return LPO_TAG_MERGE;
    if (len == 1 && *text == '=')
        return LPO_TAG_VALUE;
    /* PyYAML chooses its patterns by the first character; no number begins with any other one */
    if (!strchr("+-.0123456789", *text))
        return LPO_TAG_STR;
    if (lpo_regex_is(relaxed ? &a_relaxed_float : &a_float, text, len))
        return LPO_TAG_FLOAT;
    if (lpo_regex_is(&an_int, text, len))
        return LPO_TAG_INT;
    return !relaxed && lpo_regex_is(&a_timestamp, text, len) ? LPO_TAG_TIMESTAMP : LPO_TAG_STR;
}

enum lpo_scalar_tag lpo_yaml_scalar_resolve(const char *text, size_t len)
{
    return resolve(text, len, true);
}

bool lpo_yaml_scalar_is_plain_text(const char *text, size_t len)
{
    return resolve(text, len, false) == LPO_TAG_STR && resolve(text, len, true) == LPO_TAG_STR;
}

enum lpo_scalar_tag lpo_yaml_scalar_tag_of(const char *tag)
{
    static const char prefix[] = "tag:yaml.org,2002:";
    static const char *const names[] = {
        [LPO_TAG_STR] = "str",     [LPO_TAG_NULL] = "null",     [LPO_TAG_BOOL] = "bool",
        [LPO_TAG_INT] = "int",     [LPO_TAG_FLOAT] = "float",   [LPO_TAG_MERGE] = "merge",
        [LPO_TAG_VALUE] = "value", [LPO_TAG_BINARY] = "binary", [LPO_TAG_TIMESTAMP] = "timestamp",
        [LPO_TAG_SEQ] = "seq",     [LPO_TAG_MAP] = "map",       [LPO_TAG_SET] = "set",
        [LPO_TAG_OMAP] = "omap",   [LPO_TAG_PAIRS] = "pairs",
    };

    if (!lpo_str_starts(tag, prefix))
        return LPO_TAG_UNKNOWN;
    for (int i = 0; i < LPO_TAG_UNKNOWN; i++)
        if (strcmp(tag + sizeof prefix - 1, names[i]) == 0)
            return (enum lpo_scalar_tag)i;
    return LPO_TAG_UNKNOWN;
}

/* Whole numbers of any size, from any base to decimal digits */

enum { LIMB = 1000000000 };

/* Under construction; starts as { 0 }. YAML and Hydra keep integers exact however long they are; we
 * only ever print them again. */
struct bigint {
    unsigned *limbs; /* base 10^9, least significant first */
    size_t count, cap;
};

static void bigint_free(struct bigint *n)
{
    free(n->limbs);
    *n = (struct bigint){ 0 };
}

static void grow(struct bigint *n, unsigned limb)
{
    if (n->count == n->cap) {
        n->cap = n->cap ? n->cap * 2 : 8;
        n->limbs = lpo_xrealloc(n->limbs, n->cap, sizeof *n->limbs);
    }
    n->limbs[n->count++] = limb;
}

static void bigint_push(struct bigint *n, unsigned base, unsigned digit)
{
    uint64_t carry = digit;

    for (size_t i = 0; i < n->count; i++) {
        carry += (uint64_t)n->limbs[i] * base;
        n->limbs[i] = (unsigned)(carry % LIMB);
        carry /= LIMB;
    }
    if (carry)
        grow(n, (unsigned)carry);
}

static void bigint_add_text(const struct bigint *n, struct lpo_str *s)
{
    if (n->count == 0) {
        lpo_str_addc(s, '0');
        return;
    }
    lpo_str_addf(s, "%u", n->limbs[n->count - 1]);
    for (size_t i = n->count - 1; i-- > 0;)
        lpo_str_addf(s, "%09u", n->limbs[i]);
}

/* The value */

enum { MAX_DIGITS = 4300 }; /* Python's own limit; the arithmetic below is quadratic */

static int digit_of(char c)
{
    if (isdigit((unsigned char)c))
        return c - '0';
    return isalpha((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10 : 99;
}

/* Digits of `base`, in parts of base 60 where there are colons. */
static bool push_digits(struct bigint *n, const char *p, unsigned base)
{
    size_t count = 0;

    for (; *p; p++) {
        if (*p == ':' && base == 10) {
            unsigned long part = strtoul(p + 1, NULL, 10);

            if (!isdigit((unsigned char)p[1]) || part > 99)
                return false;
            bigint_push(n, 60, (unsigned)part);
            while (isdigit((unsigned char)p[1]))
                p++;
            continue;
        }
        if (digit_of(*p) >= (int)base || ++count > MAX_DIGITS)
            return false;
        bigint_push(n, base, (unsigned)digit_of(*p));
    }
    return count > 0;
}

/* PyYAML's int constructor. It sees more than is_int() lets through: !!int "0o17" states the tag.
 */
static bool make_int(struct lpo_arena *a, const char *text, struct lpo_node **out)
{
    struct bigint n = { 0 };
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
    bigint_add_text(&n, &s);
    bigint_free(&n);
    if (ok)
        *out = lpo_node_bigint(a, s.at, s.len);
    return ok;
}

/* Base 60 again, for 1:30.5. strtod() accepts more than Python's float(): a sign in the middle,
 * "inf" and hex digits, which the checks below keep out. */
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

        if ((!isdigit((unsigned char)*text) && *text != '.') || strpbrk(text, "xX"))
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
