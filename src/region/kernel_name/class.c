/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel computes, by the parts of its name: first the functors of functions that only say
 * how, then the function's own name, then its scope, last its template arguments. Types of
 * parameters never count. */
#include "region/kernel_name/class.h"

#include <ctype.h>
#include <string.h>

#include "region/kernel_name/parts.h"
#include "trace/demangle.h"
#include "util/str.h"

/* A rule that fits as a whole comes before one that a cut leaves open. */
static const struct lpo_class_rule *first_rule(const struct lpo_class_table *rules,
                                               const char *words)
{
    const struct lpo_class_rule *r = NULL;
    LPO_STR whole = { 0 };
    size_t len = strlen(words);

    if (len && words[len - 1] == LPO_KERNEL_CUT) {
        lpo_str_addf(&whole, "%.*s_", (int)(len - 1), words);
        r = lpo_region_class_find(rules, whole.at, NULL);
    }
    return r ? r : lpo_region_class_find(rules, words, NULL);
}

static const struct lpo_class_rule *by_operation(const struct lpo_class_rules *rules,
                                                 const char *words)
{
    const struct lpo_class_rule *r = first_rule(&rules->functions, words);

    return r ? r : first_rule(&rules->layer, words);
}

static const struct lpo_class_rule *by_name(const struct lpo_class_rules *rules, const char *words)
{
    const struct lpo_class_rule *r = by_operation(rules, words);

    return r ? r : first_rule(&rules->simple, words);
}

/* The function says most, then its scope. But what a library for communication calls "copy" or
 * "mask" moves data between GPUs, so such a scope comes before simple words; and attention's own
 * "reduce" merges its parts, as "permute" moves tokens between experts. */
static bool scope_comes_first(const struct lpo_class_rule *scope, const char *function)
{
    switch (scope->class) {
    case LPO_CLASS_COLLECTIVE:
        return true;
    case LPO_CLASS_ATTENTION:
        return lpo_region_kernel_words_have(function, "^_reduce_");
    case LPO_CLASS_MOE:
        return lpo_region_kernel_words_have(function, "^_permute_");
    default:
        return false;
    }
}

static const struct lpo_class_rule *by_function(const struct lpo_class_rules *rules,
                                                const char *function, const char *scope)
{
    const struct lpo_class_rule *r = by_operation(rules, function), *s;

    if (r)
        return r;
    s = first_rule(&rules->scopes, scope);
    if (s && scope_comes_first(s, function))
        return s;
    r = first_rule(&rules->simple, function);
    return r ? r : s;
}

/* A module may say what its class does not, and constants what a function does not. The types that
 * follow a class are only types. */
static struct lpo_kernel_span around(struct lpo_kernel_span function, struct lpo_kernel_span chosen)
{
    if (chosen.at > function.at)
        function.len = (size_t)(chosen.at - function.at) + chosen.len;
    return function;
}

/* The words of a part where a table has cut the name end in LPO_KERNEL_CUT. */
static void mark_cut(struct lpo_kernel_span part, struct lpo_str *words)
{
    if (isalnum((unsigned char)part.at[part.len - 1]))
        words->at[words->len - 1] = LPO_KERNEL_CUT;
}

static bool is_cut(const struct lpo_kernel_parts *parts, struct lpo_kernel_span part)
{
    return part.len && part.at + part.len == parts->cut;
}

static void function_words(const struct lpo_kernel_parts *parts, struct lpo_kernel_span function,
                           struct lpo_str *out)
{
    LPO_STR whole = { 0 };
    bool cut = is_cut(parts, function);

    if (cut && lpo_region_kernel_cut_function(parts->scope, function, &whole)) {
        function = (struct lpo_kernel_span){ whole.at, whole.len };
        cut = false;
    }
    lpo_region_kernel_words(function, out);
    if (cut)
        mark_cut(function, out);
}

static void argument_words(const struct lpo_kernel_parts *parts, struct lpo_str *out)
{
    struct lpo_kernel_span arguments = parts->arguments;
    LPO_STR functor = { 0 };
    bool cut = is_cut(parts, arguments);

    if (cut)
        lpo_region_kernel_cut_functor(&arguments, &functor);
    lpo_region_kernel_words(arguments, out);
    if (functor.len)
        lpo_region_kernel_words((struct lpo_kernel_span){ functor.at, functor.len }, out);
    else if (cut)
        mark_cut(arguments, out);
}

static struct lpo_class_decision decide(const struct lpo_class_rules *rules,
                                        const struct lpo_kernel_parts *parts)
{
    LPO_STR function = { 0 }, scope = { 0 }, arguments = { 0 }, whole = { 0 };
    struct lpo_class_decision out = { LPO_CLASS_OTHER, NULL };
    const struct lpo_class_rule *r, *carrier;
    struct lpo_kernel_span chosen = lpo_region_kernel_chosen_part(parts->function);

    function_words(parts, chosen, &function);
    if (lpo_region_class_compiled(rules, function.at, &out))
        return out;
    lpo_region_kernel_words(parts->scope, &scope);
    carrier = lpo_region_class_find(&rules->carriers, function.at, scope.at);
    if (carrier) {
        argument_words(parts, &arguments);
        r = carrier->by ? first_rule(carrier->by, arguments.at) : NULL;
        r = r ? r : carrier;
        return (struct lpo_class_decision){ r->class, r };
    }
    r = by_function(rules, function.at, scope.at);
    if (!r && parts->arguments.len) {
        argument_words(parts, &arguments);
        r = by_name(rules, arguments.at);
    }
    if (!r)
        r = first_rule(&rules->leftovers, function.at);
    if (!r && chosen.len < parts->function.len) {
        lpo_region_kernel_words(around(parts->function, chosen), &whole);
        r = by_name(rules, whole.at);
    }
    return (struct lpo_class_decision){
        r ? (enum lpo_region_kernel_class)r->class : LPO_CLASS_OTHER, r
    };
}

struct lpo_class_decision lpo_region_class_decide(const struct lpo_class_rules *rules,
                                                  const char *name, size_t len)
{
    LPO_STR plain = { 0 };
    struct lpo_kernel_parts parts;
    struct lpo_class_decision out = { LPO_CLASS_OTHER, NULL };

    if (lpo_trace_demangle(name, &plain)) {
        name = plain.at;
        len = plain.len;
    } else if (lpo_region_kernel_cut_mangled((struct lpo_kernel_span){ name, len }, &plain)) {
        lpo_region_kernel_parts(plain.at, plain.len, &parts);
        out = decide(rules, &parts);
    }
    if (out.class != LPO_CLASS_OTHER)
        return out;
    lpo_region_kernel_parts(name, len, &parts);
    return decide(rules, &parts);
}

enum lpo_region_kernel_class lpo_region_kernel_class(const char *name)
{
    return lpo_region_class_decide(lpo_region_class_rules(), name, strlen(name)).class;
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
