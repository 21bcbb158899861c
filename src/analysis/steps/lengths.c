/* SPDX-License-Identifier: Apache-2.0 */
/* Lengths of sequences in the names of steps, sq for the queries of a request and sk for its keys:
 *     execute_6147_context_2(sq6144sk7144sqsq20971520sqsk23019520)_generation_3(sq3sk6144…)
 *     step[MIXED bs=2 c=1 g=1 c_sq=5 c_sk=8 c_sqsq=25 c_sqsk=40 g_sq=1 g_sk=12 …]
 *     decode[bs=32 tok=128 d=32 spec=3 sqsq=512 sqsk=262144 sk=65536] */

#include "analysis/steps/steps.h"

enum { MOST_DIGITS = 18 };

/* The number behind `key`, which no letter stands before; false where it is not there. */
static bool number_after(const char *text, const char *end, const char *key, double *out)
{
    size_t len = strlen(key);

    for (const char *p = text; p + len < end; p++) {
        double v = 0;
        int digits = 0;

        if (memcmp(p, key, len) != 0 ||
            (p > text && ((p[-1] >= 'a' && p[-1] <= 'z') || p[-1] == '_')))
            continue;
        for (p += len; p < end && *p >= '0' && *p <= '9' && digits <= MOST_DIGITS; p++, digits++)
            v = v * 10 + (*p - '0');
        *out = v;
        return digits > 0 && digits <= MOST_DIGITS;
    }
    return false;
}

/* "sq6144sk7144sqsq20971520sqsk23019520", all of it. */
static bool read_run(const char **p, struct lpo_step_sums *out)
{
    static const char *const keys[] = { "sq", "sk", "sqsq", "sqsk" };
    double *to[] = { &out->queries, &out->keys, &out->queries_squared, &out->queries_by_keys };

    for (int i = 0; i < 4; i++) {
        size_t len = strlen(keys[i]);
        int digits = 0;

        if (strncmp(*p, keys[i], len) != 0)
            return false;
        *to[i] = 0;
        for (*p += len; **p >= '0' && **p <= '9' && digits <= MOST_DIGITS; (*p)++, digits++)
            *to[i] = *to[i] * 10 + (**p - '0');
        if (digits == 0 || digits > MOST_DIGITS)
            return false;
    }
    return true;
}

static bool read_vllm(const char *name, struct lpo_step_lengths *out)
{
    static const char between[] = ")_generation_";
    const char *p = strchr(name, '(');

    if (strncmp(name, "execute_", 8) != 0 || !p)
        return false;
    p++;
    if (!read_run(&p, &out->context) || strncmp(p, between, sizeof between - 1) != 0)
        return false;
    p = strchr(p + 1, '(');
    if (!p)
        return false;
    p++;
    return read_run(&p, &out->generation) && *p == ')';
}

/* Servers that write no number of queries write how many tokens the step has, or requests. */
static bool read_keys(const char *name, const char *const keys[4], const char *instead,
                      struct lpo_step_sums *out)
{
    const char *end = strrchr(name, ']');

    *out = (struct lpo_step_sums){ 0 };
    if (end && number_after(name, end, keys[1], &out->keys) &&
        number_after(name, end, keys[2], &out->queries_squared) &&
        number_after(name, end, keys[3], &out->queries_by_keys) &&
        (number_after(name, end, keys[0], &out->queries) ||
         number_after(name, end, instead, &out->queries)))
        return true;
    *out = (struct lpo_step_sums){ 0 };
    return false;
}

static bool read_sglang(const char *name, struct lpo_step_lengths *out)
{
    static const char *const context[] = { "c_sq=", "c_sk=", "c_sqsq=", "c_sqsk=" };
    static const char *const generation[] = { "g_sq=", "g_sk=", "g_sqsq=", "g_sqsk=" };
    bool c, g;

    if (strncmp(name, "step[", 5) != 0)
        return false;
    c = read_keys(name, context, "toks=", &out->context);
    g = read_keys(name, generation, "bs=", &out->generation);
    return c || g;
}

static bool read_atom(const char *name, struct lpo_step_lengths *out)
{
    static const char *const keys[] = { "tok=", "sk=", "sqsq=", "sqsk=" };

    if (strncmp(name, "prefill[", 8) == 0)
        return read_keys(name, keys, "tok=", &out->context);
    return strncmp(name, "decode[", 7) == 0 && read_keys(name, keys, "tok=", &out->generation);
}

bool lpo_steps_read_lengths(const char *name, struct lpo_step_lengths *out)
{
    static bool (*const readers[])(const char *, struct lpo_step_lengths *) = {
        read_vllm,
        read_sglang,
        read_atom,
    };

    if (!*name || !strchr("espd", *name)) /* nearly all names of a trace */
        return false;
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
        *out = (struct lpo_step_lengths){ { 0, 0, 0, 0 }, { 0, 0, 0, 0 } };
        if (readers[i](name, out))
            return true;
    }
    return false;
}
