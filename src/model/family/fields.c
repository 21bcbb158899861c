/* SPDX-License-Identifier: Apache-2.0 */
#include "model/family/fields.h"

#include "util/json.h"

/* One value from either source: a JSON node, or a word of the defaults. */
struct value {
    const struct lpo_json *json;
    char word[64];
    bool found;
};

static bool default_word(const char *defaults, const char *key, size_t len, char *out, size_t room)
{
    for (const char *p = defaults; p && *p;) {
        size_t term = strcspn(p, " "), name = strcspn(p, "=");

        if (name < term && name == len && strncmp(p, key, len) == 0) {
            size_t n = term - name - 1;

            n = n < room ? n : room - 1;
            memcpy(out, p + name + 1, n);
            out[n] = '\0';
            return true;
        }
        p += term;
        p += strspn(p, " ");
    }
    return false;
}

static const struct lpo_json *config_value(const struct lpo_json *config, const char *key,
                                           size_t len)
{
    const struct lpo_json *found = NULL;

    if (!config || config->kind != LPO_JSON_OBJECT)
        return NULL;
    LPO_JSON_EACH(item, config)
    if (item->key_len == len && memcmp(item->key, key, len) == 0)
        found = item;
    return found;
}

static struct value look_up(const struct lpo_fields *f, const char *keys)
{
    struct value v = { 0 };

    for (const char *p = keys; *p; p += strcspn(p, "|"), p += *p == '|') {
        v.json = config_value(f->config, p, strcspn(p, "|"));
        if (v.json) {
            v.found = true;
            return v;
        }
    }
    for (const char *p = keys; *p && !v.found; p += strcspn(p, "|"), p += *p == '|')
        v.found = default_word(f->defaults, p, strcspn(p, "|"), v.word, sizeof v.word);
    return v;
}

static bool is_null(const struct value *v)
{
    if (!v->found)
        return true;
    return v->json ? v->json->kind == LPO_JSON_NULL : strcmp(v->word, "null") == 0;
}

bool lpo_model_field_has(const struct lpo_fields *f, const char *keys)
{
    struct value v = look_up(f, keys);

    return !is_null(&v);
}

const struct lpo_json *lpo_model_field_json(const struct lpo_fields *f, const char *keys)
{
    struct value v = look_up(f, keys);

    return v.json && v.json->kind != LPO_JSON_NULL ? v.json : NULL;
}

double lpo_model_field_real(const struct lpo_fields *f, const char *keys, double fallback)
{
    struct value v = look_up(f, keys);
    char *end;
    double d;

    if (is_null(&v))
        return fallback;
    if (v.json && v.json->kind == LPO_JSON_ARRAY)
        return lpo_json_real(v.json->first, fallback);
    if (v.json)
        return lpo_json_real(v.json, fallback);
    d = strtod(v.word, &end);
    return *end ? fallback : d;
}

int64_t lpo_model_field_int(const struct lpo_fields *f, const char *keys, int64_t fallback)
{
    struct value v = look_up(f, keys);
    char *end;
    long long n;

    if (is_null(&v))
        return fallback;
    if (v.json && v.json->kind == LPO_JSON_ARRAY)
        return lpo_json_int(v.json->first, fallback);
    if (v.json)
        return lpo_json_int(v.json, fallback);
    n = strtoll(v.word, &end, 10);
    return *end ? fallback : n;
}

bool lpo_model_field_bool(const struct lpo_fields *f, const char *keys, bool fallback)
{
    struct value v = look_up(f, keys);

    if (is_null(&v))
        return fallback;
    if (v.json && v.json->kind == LPO_JSON_INT)
        return v.json->integer != 0;
    if (v.json)
        return lpo_json_bool(v.json, fallback);
    return strcmp(v.word, "true") == 0;
}

static bool term_holds(const struct lpo_fields *f, const char *key, const char *want)
{
    if (strcmp(want, "null") == 0)
        return !lpo_model_field_has(f, key);
    if (strcmp(want, "true") == 0 || strcmp(want, "false") == 0)
        return lpo_model_field_bool(f, key, false) == (strcmp(want, "true") == 0);
    return lpo_model_field_has(f, key) && lpo_model_field_real(f, key, -1) == strtod(want, NULL);
}

bool lpo_model_field_match(const struct lpo_fields *f, const char *terms)
{
    for (const char *p = terms; p && *p; p += strspn(p, " ")) {
        size_t term = strcspn(p, " "), name = strcspn(p, "=");
        char key[64], want[64];

        if (name >= term || name >= sizeof key || term - name - 1 >= sizeof want)
            return false;
        memcpy(key, p, name);
        key[name] = '\0';
        memcpy(want, p + name + 1, term - name - 1);
        want[term - name - 1] = '\0';
        if (!term_holds(f, key, want))
            return false;
        p += term;
    }
    return true;
}

int lpo_model_size(const struct lpo_fields *f, const char *keys, int64_t fallback, int64_t least,
                   int64_t most, uint64_t *out, struct lpo_err *err)
{
    int first = (int)strcspn(keys, "|");
    int64_t n = lpo_model_field_int(f, keys, fallback);

    if (!lpo_model_field_has(f, keys) && fallback < least)
        return lpo_fail(err, LPO_E_FORMAT, "the config has no '%.*s'", first, keys);
    if (n < least || n > most)
        return lpo_fail(err, LPO_E_RANGE, "'%.*s' is %lld; expected %lld to %lld", first, keys,
                        (long long)n, (long long)least, (long long)most);
    *out = (uint64_t)n;
    return 0;
}
