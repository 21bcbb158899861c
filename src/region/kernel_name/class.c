/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel computes, by the parts of its name: first the functors of functions that only say
 * how, then the function's own name, then its scope, last its template arguments. Types of
 * parameters never count. */
#include "region/kernel_name/class.h"

#include <stdint.h>
#include <string.h>

#include "region/kernel_name/parts.h"
#include "trace/demangle.h"
#include "util/str.h"

/* Which pairs of letters follow each other in some words, edges aside. Most rules are refused by
 * their first pair alone: a trace may have 200,000 names, and there are hundreds of rules. */
struct pairs {
    uint64_t bits[16];
};

static unsigned pair_number(char a, char b)
{
    return ((unsigned char)a * 31u + (unsigned char)b) % (16 * 64);
}

static void find_pairs(const char *words, struct pairs *out)
{
    char last = 0;

    memset(out, 0, sizeof *out);
    for (; *words; words++) {
        unsigned n = pair_number(last, *words);

        if (*words == '_')
            continue;
        out->bits[n / 64] |= UINT64_C(1) << n % 64;
        last = *words;
    }
}

static bool may_have(const struct pairs *pairs, const char *pattern)
{
    unsigned n;

    while (*pattern == '^' || *pattern == '_') /* strspn() costs more than all the rest */
        pattern++;
    if (!pattern[0] || !pattern[1] || pattern[1] == '_')
        return true;
    n = pair_number(pattern[0], pattern[1]);
    return pairs->bits[n / 64] >> n % 64 & 1;
}

static const struct lpo_class_rule *first_rule(struct lpo_class_rules rules, const char *words)
{
    struct pairs pairs;

    find_pairs(words, &pairs);
    for (size_t i = 0; i < rules.len; i++)
        if (may_have(&pairs, rules.at[i].part) &&
            lpo_region_kernel_words_have(words, rules.at[i].part) &&
            (!rules.at[i].also || lpo_region_kernel_words_have(words, rules.at[i].also)))
            return &rules.at[i];
    return NULL;
}

/* Operators that only move data, as PyTorch's compiler writes them into a kernel's name. */
static const char *const moving[] = {
    "to_copy", "unsafe_view",   "view_as",     "view",    "constant_pad_nd",
    "clone",   "slice_scatter", "slice",       "cat",     "permute",
    "copy",    "transpose",     "stack",       "expand",  "select_scatter",
    "select",  "unsqueeze",     "squeeze",     "reshape", "split_with_sizes",
    "split",   "full_like",     "full",        "zeros",   "zeros_like",
    "ones",    "ones_like",     "fill",        "repeat",  "as_strided",
    "empty",   "alias",         "detach",      "t",       "lift_fresh",
    "roll",    "flip",          "moe_forward",
};

/* The length of the operator at the beginning of `words` that only moves data; 0: none. */
static size_t moving_here(const char *words)
{
    size_t best = 0;

    for (size_t i = 0; i < sizeof moving / sizeof *moving; i++) {
        size_t len = strlen(moving[i]);

        if (len > best && strncmp(words, moving[i], len) == 0 && words[len] == '_')
            best = len;
    }
    return best;
}

static size_t number_here(const char *words)
{
    size_t len = strspn(words, "0123456789");

    return len && words[len] == '_' ? len : 0;
}

/* Do these operators, "add_clone_3_", only move data? One that names nothing might do anything. */
static bool only_moves(const char *words)
{
    bool any = false;

    while (*words) {
        size_t len = moving_here(words);

        any = any || len;
        if (!len)
            len = number_here(words);
        if (!len)
            return false;
        words += len + 1;
    }
    return any;
}

/* PyTorch's compiler writes the kind of a kernel and its operators into the name. */
static const struct compiled {
    const char *kind, *operators; /* patterns; NULL: any */
    enum lpo_region_kernel_class class;
} compiled[] = {
    { "^_triton_tem_", "attention", LPO_CLASS_ATTENTION },
    { "^_triton_tem_", "_conv", LPO_CLASS_CONVOLUTION },
    { "^_triton_tem_", NULL, LPO_CLASS_GEMM },
    { "^_triton_red_", "norm_", LPO_CLASS_NORM },
    { "^_triton_per_", "norm_", LPO_CLASS_NORM },
    { "^_triton_red_", "rsqrt", LPO_CLASS_NORM },
    { "^_triton_per_", "rsqrt", LPO_CLASS_NORM },
    { "^_triton_red_", "softmax", LPO_CLASS_SOFTMAX },
    { "^_triton_per_", "softmax", LPO_CLASS_SOFTMAX },
    { "^_triton_red_", "_nll_loss", LPO_CLASS_SOFTMAX },
    { "^_triton_per_", "_nll_loss", LPO_CLASS_SOFTMAX },
    { "^_triton_red_", "logsumexp", LPO_CLASS_SOFTMAX },
    { "^_triton_per_", "logsumexp", LPO_CLASS_SOFTMAX },
    { "^_triton_red_", "_amax_exp_", LPO_CLASS_SOFTMAX },
    { "^_triton_per_", "_amax_exp_", LPO_CLASS_SOFTMAX },
    { "^_triton_red_", "_sort_", LPO_CLASS_SORTING },
    { "^_triton_per_", "_sort_", LPO_CLASS_SORTING },
    { "^_triton_red_", NULL, LPO_CLASS_REDUCTION },
    { "^_triton_per_", NULL, LPO_CLASS_REDUCTION },
    { "^_triton_split_scan_", NULL, LPO_CLASS_REDUCTION },
    { "^_triton_poi_", "embedding", LPO_CLASS_INDEXING },
    { "^_triton_poi_fused_index_", NULL, LPO_CLASS_INDEXING },
    { "^_triton_poi_fused_gather_", NULL, LPO_CLASS_INDEXING },
    { "^_triton_poi_", "scatter_", LPO_CLASS_INDEXING },
    { "^_triton_poi_", "index_put", LPO_CLASS_INDEXING },
    { "^_triton_poi_", "_bernoulli_", LPO_CLASS_RANDOM },
    { "^_triton_poi_fused_rand", NULL, LPO_CLASS_RANDOM },
    { "^_triton_poi_", NULL, LPO_CLASS_ELEMENTWISE },
    { "^_triton_for_", NULL, LPO_CLASS_ELEMENTWISE },
};

static bool compiled_class(const char *words, struct lpo_class_decision *out)
{
    static const char poi[] = "_triton_poi_fused_";

    if (strncmp(words, poi, sizeof poi - 1) == 0 && only_moves(words + sizeof poi - 1)) {
        *out = (struct lpo_class_decision){ LPO_CLASS_COPY, NULL };
        return true;
    }
    for (size_t i = 0; i < sizeof compiled / sizeof *compiled; i++)
        if (lpo_region_kernel_words_have(words, compiled[i].kind) &&
            (!compiled[i].operators ||
             lpo_region_kernel_words_have(words, compiled[i].operators))) {
            *out = (struct lpo_class_decision){ compiled[i].class, NULL };
            return true;
        }
    return false;
}

static const struct lpo_class_carrier *carrier_of(const char *function, const char *scope)
{
    for (size_t i = 0; i < lpo_region_class_carrier_count; i++) {
        const struct lpo_class_carrier *c = &lpo_region_class_carriers[i];

        if (lpo_region_kernel_words_have(function, c->function) &&
            (!c->scope || lpo_region_kernel_words_have(scope, c->scope)))
            return c;
    }
    return NULL;
}

static struct lpo_class_decision by_rule(const struct lpo_class_rule *r)
{
    return r ? (struct lpo_class_decision){ r->class, r->example }
             : (struct lpo_class_decision){ LPO_CLASS_OTHER, NULL };
}

static struct lpo_class_decision decide(const struct lpo_kernel_parts *parts)
{
    LPO_STR function = { 0 }, scope = { 0 }, arguments = { 0 };
    struct lpo_class_decision out;
    const struct lpo_class_carrier *carrier;
    const struct lpo_class_rule *r;

    lpo_region_kernel_words(parts->function, &function);
    if (compiled_class(function.at, &out))
        return out;
    lpo_region_kernel_words(parts->scope, &scope);
    carrier = carrier_of(function.at, scope.at);
    if (carrier) {
        lpo_region_kernel_words(parts->arguments, &arguments);
        r = first_rule(carrier->functors, arguments.at);
        return r ? by_rule(r) : (struct lpo_class_decision){ carrier->otherwise, carrier->example };
    }
    r = first_rule(lpo_region_class_functions, function.at);
    if (!r)
        r = first_rule(lpo_region_class_scopes, scope.at);
    if (!r && parts->arguments.len) {
        lpo_region_kernel_words(parts->arguments, &arguments);
        r = first_rule(lpo_region_class_functions, arguments.at);
    }
    if (!r)
        r = first_rule(lpo_region_class_fusions, function.at);
    return by_rule(r);
}

struct lpo_class_decision lpo_region_class_decide(const char *name, size_t len)
{
    LPO_STR plain = { 0 };
    struct lpo_kernel_parts parts;

    if (lpo_trace_demangle(name, &plain)) {
        name = plain.at;
        len = plain.len;
    }
    lpo_region_kernel_parts(name, len, &parts);
    return decide(&parts);
}

enum lpo_region_kernel_class lpo_region_kernel_class(const char *name)
{
    return lpo_region_class_decide(name, strlen(name)).class;
}

static const char *const class_names[LPO_CLASSES] = {
    [LPO_CLASS_GEMM] = "GEMM",
    [LPO_CLASS_ATTENTION] = "attention",
    [LPO_CLASS_CONVOLUTION] = "convolution",
    [LPO_CLASS_NORM] = "norm",
    [LPO_CLASS_SOFTMAX] = "softmax",
    [LPO_CLASS_ROTARY] = "rotary",
    [LPO_CLASS_ELEMENTWISE] = "elementwise",
    [LPO_CLASS_REDUCTION] = "reduction",
    [LPO_CLASS_INDEXING] = "indexing",
    [LPO_CLASS_SORTING] = "sorting",
    [LPO_CLASS_COPY] = "copy",
    [LPO_CLASS_OPTIMIZER] = "optimizer",
    [LPO_CLASS_RANDOM] = "random",
    [LPO_CLASS_COLLECTIVE] = "collective",
    [LPO_CLASS_QUANTIZE] = "quantize",
    [LPO_CLASS_MOE] = "moe",
    [LPO_CLASS_OTHER] = "other",
};

const char *lpo_region_class_name(enum lpo_region_kernel_class c)
{
    return class_names[c];
}

bool lpo_region_class_from_name(const char *text, enum lpo_region_kernel_class *out)
{
    for (int i = 0; i < LPO_CLASSES; i++)
        if (strcasecmp(text, class_names[i]) == 0) {
            *out = (enum lpo_region_kernel_class)i;
            return true;
        }
    return false;
}
