/* SPDX-License-Identifier: Apache-2.0 */
/* Operators by name, out of conf/rules/operators.yaml: the formula of each, and which of the
 * arguments are the ones it needs, "attention(0,1,2) word=5 tokens". */
#include "analysis/operators/rules.h"

#include <pthread.h>

#include "rules/rules.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const struct formula {
    const char *name;
    lpo_operators_formula *cost;
    lpo_operators_step_formula *by_step;
} formulas[] = {
#define COST(name)                                                                                 \
    {                                                                                              \
#name, lpo_operators_##name, NULL                                                          \
    }
    COST(product),
    COST(grouped),
    COST(turned_by_words),
    COST(turned_by_flags),
    COST(product_of_flat),
    COST(layer),
    COST(packed),
    COST(packed_by_sizes),
    COST(experts),
    COST(experts_up),
    COST(experts_down),
    COST(experts_into),
    COST(attention),
    COST(sparse_attention),
    COST(scan),
    COST(convolution),
    COST(causal_convolution),
    COST(elementwise),
    COST(like_first),
    COST(copy),
    COST(look_up),
    COST(gather),
    COST(every_tensor),
    COST(rewrite),
    COST(quantized),
    COST(reduction),
    COST(running),
#undef COST
    { "paged_attention", NULL, lpo_operators_paged_attention },
    { "gated_delta", NULL, lpo_operators_gated_delta },
};

/* Bits of enum lpo_operators_how, in its order. */
static const char *const flags[] = {
    "turned",     "tokens",   "backward",   "transposed",  "pad_first",
    "packed",     "packed_b", "rows_first", "each_expert", "decode",
    "not_spread", "one_dim",  "with_place", "only_place",  "to_bool",
};

const char *lpo_operators_read_places(const char *p, struct lpo_operators_rule *r)
{
    int *places[] = { &r->a, &r->b, &r->c };

    if (*p++ != '(')
        return NULL;
    for (size_t i = 0; i < COUNT(places) && *p && *p != ')'; i++) {
        char *end = (char *)p + 1;

        *places[i] = *p == '-' ? NOT_THERE : (int)strtol(p, &end, 10);
        if (*p != '-' && (*p < '0' || *p > '9' || end - p > 2))
            return NULL;
        p = end + (*end == ',');
    }
    return *p == ')' ? p + 1 : NULL;
}

/* "word=5" or "tokens". */
static bool read_option(const char *p, size_t len, struct lpo_operators_rule *r)
{
    const struct {
        const char *key;
        int *to;
    } numbers[] = { { "word=", &r->word }, { "ends=", &r->ends }, { "longest=", &r->longest } };

    for (size_t i = 0; i < COUNT(numbers); i++) {
        size_t key = strlen(numbers[i].key);

        if (len > key && len < key + 3 && strncmp(p, numbers[i].key, key) == 0) {
            *numbers[i].to = atoi(p + key);
            return strspn(p + key, "0123456789") >= len - key;
        }
    }
    for (size_t i = 0; i < COUNT(flags); i++)
        if (strlen(flags[i]) == len && strncmp(p, flags[i], len) == 0) {
            r->how |= 1u << i;
            return true;
        }
    return false;
}

int lpo_operators_rule_read(const char *value, struct lpo_operators_rule *out, struct lpo_err *err)
{
    struct lpo_operators_rule r = {
        .a = NOT_THERE, .b = NOT_THERE, .c = NOT_THERE, .word = NOT_THERE
    };
    const size_t len = strcspn(value, "(");
    const char *p;
    bool good = false;

    for (size_t i = 0; i < COUNT(formulas); i++)
        if (strlen(formulas[i].name) == len && strncmp(value, formulas[i].name, len) == 0) {
            r.cost = formulas[i].cost;
            r.by_step = formulas[i].by_step;
            good = true;
        }
    p = good ? lpo_operators_read_places(value + len, &r) : NULL;
    while (p && *p == ' ') {
        size_t word = strcspn(++p, " ");

        p = read_option(p, word, &r) ? p + word : NULL;
    }
    if (!p || *p)
        return lpo_fail(err, LPO_E_CONFIG,
                        "'%s' is not a formula with its arguments, such as 'product(0,1) turned'; "
                        "conf/rules/operators.yaml lists them",
                        value);
    *out = r;
    return 0;
}

/* A name that ends in '*'. */
struct prefix {
    const char *text;
    size_t len, rule;
};

/* All of ours, read once; `names` has rows of `rules`. */
static struct {
    LPO_VEC(struct lpo_operators_rule) rules;
    LPO_VEC(struct prefix) prefixes;
    struct lpo_map *names;
    const char *value; /* that was read last, and is the last one of `rules` */
} ours;

static int add_name(void *ctx, const char *value, const char *word, size_t len, struct lpo_err *err)
{
    struct lpo_operators_rule r;

    (void)ctx;
    if (value != ours.value) {
        if (lpo_operators_rule_read(value, &r, err) < 0)
            return err->code;
        lpo_vec_push(&ours.rules, r);
        ours.value = value;
    }
    if (word[len - 1] == '*')
        lpo_vec_push(&ours.prefixes, ((struct prefix){ word, len - 1, ours.rules.len - 1 }));
    else
        *lpo_map_put(ours.names, word, len, NULL) = ours.rules.len - 1;
    return 0;
}

static void read_ours(void)
{
    struct lpo_err err = { 0 };

    ours.names = lpo_map_create();
    if (lpo_rules_each(lpo_rules("operators"), "operators", add_name, NULL, &err) < 0)
        abort(); /* a test reads them */
}

static const struct lpo_operators_rule *rule_named(const char *name, size_t len)
{
    const uint64_t *row = lpo_map_find(ours.names, name, len);

    return row ? &ours.rules.at[*row] : NULL;
}

const struct lpo_operators_rule *lpo_operators_rule_find(const char *name, size_t len)
{
    static const struct lpo_operators_rule in_place = { /* aten::mul_ writes what it reads */
                                                        .cost = lpo_operators_like_first,
                                                        .b = NOT_THERE,
                                                        .c = NOT_THERE,
                                                        .word = NOT_THERE
    };
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const struct lpo_operators_rule *r;

    pthread_once(&once, read_ours);
    r = rule_named(name, len);
    for (size_t i = 0; !r && i < ours.prefixes.len; i++)
        if (len > ours.prefixes.at[i].len &&
            memcmp(ours.prefixes.at[i].text, name, ours.prefixes.at[i].len) == 0)
            r = &ours.rules.at[ours.prefixes.at[i].rule];
    if (r || len < 2 || name[len - 1] != '_')
        return r;
    r = rule_named(name, len - 1);
    return r && r->cost == lpo_operators_elementwise ? &in_place : NULL;
}
