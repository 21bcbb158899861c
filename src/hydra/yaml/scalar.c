#include "hydra/yaml/scalar.h"

#include <string.h>

#include "util/str.h"

/* A cursor over one word; each take_* eats what it can and says how much. */
struct word {
    const char *at, *end;
};

static size_t take_of(struct word *w, const char *set)
{
    const char *from = w->at;

    while (w->at < w->end && *w->at && strchr(set, *w->at))
        w->at++;
    return (size_t)(w->at - from);
}

static bool take_one(struct word *w, const char *set)
{
    if (w->at < w->end && *w->at && strchr(set, *w->at)) {
        w->at++;
        return true;
    }
    return false;
}

static bool done(const struct word *w)
{
    return w->at == w->end;
}

#define DIGITS  "0123456789"
#define DIGITS_ "0123456789_"

static bool is_one_of(const char *text, size_t len, const char *const *words)
{
    for (; *words; words++)
        if (strlen(*words) == len && memcmp(*words, text, len) == 0)
            return true;
    return false;
}

/* (:[0-5]?[0-9])+ */
static bool take_sixties(struct word *w)
{
    bool any = false;

    while (take_one(w, ":")) {
        const char *from = w->at;

        if (take_of(w, DIGITS) == 0 || w->at - from > 2 || (w->at - from == 2 && *from > '5'))
            return false;
        any = true;
    }
    return any;
}

static bool is_int(struct word w)
{
    struct word z;

    take_one(&w, "+-");
    z = w;
    if (take_one(&z, "0")) {
        struct word y = z;

        if (done(&y) || (take_of(&y, "01234567_") && done(&y)))
            return true;
        y = z;
        if (take_one(&y, "b") && take_of(&y, "01_") && done(&y))
            return true;
        y = z;
        return take_one(&y, "x") && take_of(&y, "0123456789abcdefABCDEF_") && done(&y);
    }
    if (!take_one(&w, "123456789"))
        return false;
    take_of(&w, DIGITS_);
    return done(&w) || (take_sixties(&w) && done(&w));
}

/* [eE][-+]?[0-9]+ where the sign may be left out only if `bare_ok` */
static bool take_exponent(struct word *w, bool bare_ok)
{
    if (!take_one(w, "eE"))
        return false;
    if (!take_one(w, "+-") && !bare_ok)
        return false;
    return take_of(w, DIGITS) > 0;
}

static bool is_special_float(struct word w)
{
    static const char *const infs[] = { ".inf", ".Inf", ".INF", NULL };
    static const char *const nans[] = { ".nan", ".NaN", ".NAN", NULL };

    if (is_one_of(w.at, (size_t)(w.end - w.at), nans))
        return true;
    take_one(&w, "+-");
    return is_one_of(w.at, (size_t)(w.end - w.at), infs);
}

/* `relaxed` is the reading side: OmegaConf takes 1e3 and ._ where plain YAML 1.1 does not. */
static bool is_float(struct word w, bool relaxed)
{
    struct word v = w;

    if (is_special_float(w))
        return true;
    if (take_one(&v, ".")) {
        if (!relaxed && (v.at == v.end || *v.at == '_'))
            return false;
        return take_of(&v, DIGITS_) > 0 && (done(&v) || (take_exponent(&v, false) && done(&v)));
    }
    take_one(&w, "+-");
    if (!take_one(&w, DIGITS))
        return false;
    take_of(&w, DIGITS_);
    v = w;
    if (take_one(&v, ".")) {
        take_of(&v, DIGITS_);
        return done(&v) || (take_exponent(&v, relaxed) && done(&v));
    }
    v = w;
    if (relaxed && take_exponent(&v, true) && done(&v))
        return true;
    if (!take_sixties(&w) || !take_one(&w, "."))
        return false;
    take_of(&w, DIGITS_);
    return done(&w);
}

static bool take_n(struct word *w, size_t least, size_t most)
{
    size_t n = 0;

    while (n < most && take_one(w, DIGITS))
        n++;
    return n >= least;
}

/* Dates are text to us, but other YAML 1.1 readers would not leave them so. */
static bool is_timestamp(struct word w)
{
    struct word d = w;

    if (take_n(&d, 4, 4) && take_one(&d, "-") && take_n(&d, 2, 2) && take_one(&d, "-") &&
        take_n(&d, 2, 2) && done(&d))
        return true;
    if (!take_n(&w, 4, 4) || !take_one(&w, "-") || !take_n(&w, 1, 2) || !take_one(&w, "-") ||
        !take_n(&w, 1, 2))
        return false;
    if (!take_one(&w, "Tt") && take_of(&w, " \t") == 0)
        return false;
    if (!take_n(&w, 1, 2) || !take_one(&w, ":") || !take_n(&w, 2, 2) || !take_one(&w, ":") ||
        !take_n(&w, 2, 2))
        return false;
    if (take_one(&w, "."))
        take_of(&w, DIGITS);
    d = w;
    take_of(&d, " \t");
    if (take_one(&d, "Z"))
        return done(&d);
    if (take_one(&d, "+-") && take_n(&d, 1, 2))
        return done(&d) || (take_one(&d, ":") && take_n(&d, 2, 2) && done(&d));
    return done(&w);
}

static const char *const bools[] = {
    "yes",   "Yes",   "YES", "no", "No", "NO",  "true", "True", "TRUE", "false",
    "False", "FALSE", "on",  "On", "ON", "off", "Off",  "OFF",  NULL,
};
static const char *const nulls[] = { "~", "null", "Null", "NULL", "", NULL };

static enum lpo_scalar_tag resolve(const char *text, size_t len, bool relaxed)
{
    struct word w = { text, text + len };

    if (is_one_of(text, len, bools))
        return LPO_TAG_BOOL;
    if (is_one_of(text, len, nulls))
        return LPO_TAG_NULL;
    if (len == 2 && memcmp(text, "<<", 2) == 0)
        return LPO_TAG_MERGE;
    if (len == 1 && *text == '=')
        return LPO_TAG_VALUE;
    if (!strchr("+-.0123456789", *text))
        return LPO_TAG_STR;
    if (is_float(w, relaxed))
        return LPO_TAG_FLOAT;
    if (is_int(w))
        return LPO_TAG_INT;
    return !relaxed && is_timestamp(w) ? LPO_TAG_TIMESTAMP : LPO_TAG_STR;
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
