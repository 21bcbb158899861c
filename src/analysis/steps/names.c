/* SPDX-License-Identifier: Apache-2.0 */
/* What frameworks call their steps: conf/rules/steps.yaml. */
#include <pthread.h>

#include "analysis/steps/steps.h"
#include "rules/rules.h"

enum fact { NUMBER, REQUESTS, TOKENS, CONTEXT, GENERATION, IGNORED, FACTS };
enum { NUMBERS = 4 };

static const char *const kinds[LPO_STEP_KINDS] = { "step", "prefill", "decode", "mixed" };

struct step_name {
    int family;
    enum lpo_step_kind kind;
    bool any_case; /* names that programs give: "Iteration 3" */
    char *pattern; /* '%' is a whole number, '*' any text */
    enum fact numbers[NUMBERS];
};

/* All of them, read once. */
static struct {
    LPO_VEC(struct step_name) names;
    LPO_VEC(char *) families;
    bool first[256]; /* letters that a name begins with */
} ours;

/* "{requests}" at `at`: what it means; the text goes on behind it. */
static enum fact read_fact(const char **at)
{
    static const char *const facts[FACTS] = { "number",  "requests",   "tokens",
                                              "context", "generation", "ignored" };
    size_t len = strcspn(++*at, "}");

    for (int i = 0; i < FACTS; i++)
        if (strlen(facts[i]) == len && strncmp(*at, facts[i], len) == 0) {
            *at += len;
            return (enum fact)i;
        }
    abort(); /* a test reads them */
}

/* "SGLang decode": the family, and the kind where the last word is one. */
static int family_of(const char *value, enum lpo_step_kind *kind)
{
    const char *last = strrchr(value, ' ');
    size_t len = strlen(value);

    for (int k = LPO_STEP_PREFILL; last && k < LPO_STEP_KINDS; k++)
        if (strcmp(last + 1, kinds[k]) == 0) {
            *kind = (enum lpo_step_kind)k;
            len = (size_t)(last - value);
        }
    for (size_t i = 0; i < ours.families.len; i++)
        if (strlen(ours.families.at[i]) == len && strncmp(ours.families.at[i], value, len) == 0)
            return (int)i;
    if (ours.families.len == LPO_STEP_FAMILIES)
        abort();
    lpo_vec_push(&ours.families, memcpy(lpo_xcalloc(len + 1, 1), value, len));
    return (int)ours.families.len - 1;
}

static int read_row(void *ctx, const char *value, const char *text, size_t len, struct lpo_err *err)
{
    struct step_name n = { .kind = LPO_STEP_ANY, .pattern = lpo_xmalloc(len + 1) };
    char *to = n.pattern;
    size_t count = 0;

    (void)ctx;
    (void)err;
    n.family = family_of(value, &n.kind);
    n.any_case = strcmp(value, "the program") == 0;
    for (const char *at = text; *at; at++)
        if (*at != '{')
            *to++ = *at;
        else if (*to++ = '%', count < NUMBERS)
            n.numbers[count++] = read_fact(&at);
    *to = 0;
    ours.first[(unsigned char)*text] = true;
    if (n.any_case && *text >= 'a' && *text <= 'z')
        ours.first[(unsigned char)(*text - 'a' + 'A')] = true;
    lpo_vec_push(&ours.names, n);
    return 0;
}

static void read_ours(void)
{
    struct lpo_err err = { 0 };

    if (lpo_rules_each_row(lpo_rules("steps"), "steps", read_row, NULL, &err) < 0)
        abort();
}

static void need_rules(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, read_ours);
}

const char *lpo_steps_family_name(int family)
{
    need_rules();
    return ours.families.at[family];
}

const char *lpo_steps_kind_name(enum lpo_step_kind kind)
{
    return kinds[kind];
}

/* At most 15 digits: a number of things, and no overflow. */
static bool number(const char **p, int64_t *out)
{
    int64_t v = 0;
    int digits = 0;

    for (; **p >= '0' && **p <= '9' && digits < 16; (*p)++, digits++)
        v = v * 10 + (**p - '0');
    *out = v;
    return digits > 0 && digits < 16;
}

static bool same(const struct step_name *n, char pattern, char c)
{
    return pattern == c || (n->any_case && c >= 'A' && c <= 'Z' && pattern == c - 'A' + 'a');
}

/* One star at a time is enough to come back to: what it swallowed grows until the rest fits. */
static bool fits(const struct step_name *n, const char *text, int64_t found[FACTS])
{
    const char *p = n->pattern, *star = NULL, *from = NULL;
    int seen = 0, seen_at_star = 0;

    while (*text || *p) {
        int64_t v;

        if (*p == '*') {
            star = ++p;
            from = text;
            seen_at_star = seen;
        } else if (*p == '%' && number(&text, &v)) {
            found[n->numbers[seen++]] = v;
            p++;
        } else if (*p && *p != '%' && same(n, *p, *text)) {
            p++;
            text++;
        } else if (star && *from) {
            p = star;
            text = ++from;
            seen = seen_at_star;
        } else {
            return false;
        }
    }
    return true;
}

static enum lpo_step_kind kind_of(const struct step_name *n, const int64_t found[FACTS])
{
    if (n->kind != LPO_STEP_ANY || found[CONTEXT] < 0 || found[GENERATION] < 0)
        return n->kind;
    if (found[CONTEXT] > 0)
        return found[GENERATION] > 0 ? LPO_STEP_MIXED : LPO_STEP_PREFILL;
    return LPO_STEP_DECODE;
}

bool lpo_steps_read_name(const char *name, int *family, struct lpo_step_facts *out)
{
    need_rules();
    if (!ours.first[(unsigned char)*name]) /* nearly all names of a trace */
        return false;
    for (size_t i = 0; i < ours.names.len; i++) {
        const struct step_name *n = &ours.names.at[i];
        int64_t found[FACTS] = { -1, -1, -1, -1, -1, -1 };

        if (!fits(n, name, found))
            continue;
        *family = n->family;
        *out = (struct lpo_step_facts){ .kind = kind_of(n, found),
                                        .number = found[NUMBER],
                                        .requests = found[REQUESTS],
                                        .tokens = found[TOKENS],
                                        .context_requests = found[CONTEXT],
                                        .generation_requests = found[GENERATION] };
        if (out->requests < 0 && found[CONTEXT] >= 0 && found[GENERATION] >= 0)
            out->requests = found[CONTEXT] + found[GENERATION];
        if (out->kind == LPO_STEP_DECODE && out->tokens <= 0)
            out->tokens = out->requests; /* one each */
        return true;
    }
    return false;
}
