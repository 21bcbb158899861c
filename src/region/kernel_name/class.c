/* SPDX-License-Identifier: Apache-2.0 */
#include "region/kernel_name/class.h"

#include <ctype.h>
#include <pthread.h>

#include "region/kernel_name/parts.h"
#include "rules/rules.h"
#include "trace/demangle.h"
#include "util/pattern.h"

/* --- rules, out of YAML: "- GEMM by cutlass_functors: ^_kernel_@_cutlass" ----------------------
 */

enum { PAIRS = 1024, NO_PAIR = PAIRS, MOST_TABLES = 64 };

static unsigned pair_number(char a, char b)
{
    return ((unsigned char)a * 31u + (unsigned char)b) % PAIRS;
}

/* The first two letters of a pattern that must follow each other, edges aside. */
static uint16_t first_pair(const char *pattern)
{
    while (*pattern == '^' || *pattern == '_')
        pattern++;
    return pattern[0] && pattern[1] && pattern[1] != '_'
               ? (uint16_t)pair_number(*pattern, pattern[1])
               : NO_PAIR;
}

/* While a file is read. */
struct reading {
    struct lpo_arena *arena;
    const struct lpo_node *file;
    struct lpo_class_rules *out;
    struct lpo_class_table *table;
};

static int read_table(struct reading *in, struct lpo_class_table *t, const char *name,
                      struct lpo_err *err);

/* The table of this name that rows refer to, read when the first one does. */
static struct lpo_class_table *other_table(struct reading *in, const char *name,
                                           struct lpo_err *err)
{
    struct lpo_class_table *t;

    for (size_t i = 0; i < in->out->others.len; i++)
        if (strcmp(in->out->others.at[i]->name, name) == 0)
            return in->out->others.at[i];
    if (in->out->others.len == MOST_TABLES) {
        lpo_fail(err, LPO_E_CONFIG, "more than %d tables are named", MOST_TABLES);
        return NULL;
    }
    t = lpo_arena_alloc(in->arena, sizeof *t);
    *t = (struct lpo_class_table){ .name = name };
    lpo_vec_push(&in->out->others, t);
    return read_table(&(struct reading){ in->arena, in->file, in->out, t }, t, name, err) < 0 ? NULL
                                                                                              : t;
}

/* "GEMM", "other by xla of moves and selects". */
static int read_value(struct reading *in, const char *value, struct lpo_class_rule *r,
                      struct lpo_err *err)
{
    static const char by[] = " by ", of[] = " of ";
    const char *table = strstr(value, by), *moves = strstr(value, of);
    enum lpo_region_kernel_class class;
    const char *word = table ? lpo_arena_strndup(in->arena, value, (size_t)(table - value)) : value;

    if (!lpo_region_class_from_name(word, &class))
        return lpo_fail(err, LPO_E_CONFIG,
                        "'%s' is not a class of kernels: docs/kernel-names.md lists them", word);
    r->class = (uint8_t) class;
    if (!table)
        return 0;
    table += sizeof by - 1;
    r->moves = moves ? LPO_OP_MOVES : 0;
    if (moves && strstr(moves, "selects"))
        r->moves |= LPO_OP_SELECTS;
    if (moves)
        table = lpo_arena_strndup(in->arena, table, (size_t)(moves - table));
    r->by = other_table(in, table, err);
    return r->by ? 0 : err->code;
}

static int read_rule(void *ctx, const char *value, const char *word, size_t len,
                     struct lpo_err *err)
{
    struct reading *in = ctx;
    struct lpo_class_rule r = { .text = lpo_arena_strndup(in->arena, word, len) };
    char *at = lpo_arena_strndup(in->arena, word, len);
    size_t n = 0;

    r.scope = strchr(at, '@');
    if (r.scope)
        at[r.scope++ - at] = 0;
    for (char *part; (part = strsep(&at, "+")) != NULL; r.all[n++] = part)
        if (!*part || n == sizeof r.all / sizeof *r.all)
            return lpo_fail(err, LPO_E_CONFIG, "'%s' is not one to three patterns joined by '+'",
                            r.text);
    r.first_pair = first_pair(r.all[0]);
    if (read_value(in, value, &r, err) < 0)
        return err->code;
    lpo_vec_push(&in->table->rules, r);
    return 0;
}

static int read_table(struct reading *in, struct lpo_class_table *t, const char *name,
                      struct lpo_err *err)
{
    in->table = t;
    t->name = name;
    return lpo_rules_each(in->file, name, read_rule, in, err);
}

static void rules_free(struct lpo_class_rules *r)
{
    struct lpo_class_table *tables[] = { &r->functions, &r->layer,    &r->simple,   &r->scopes,
                                         &r->leftovers, &r->carriers, &r->compilers };

    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        lpo_vec_free(&tables[i]->rules);
    for (size_t i = 0; i < r->others.len; i++)
        lpo_vec_free(&r->others.at[i]->rules);
    lpo_vec_free(&r->others);
}

/* Those of a file; what it holds lives in the arena, but for what the next one frees. */
static int rules_read(struct lpo_arena *a, const struct lpo_node *file, struct lpo_class_rules *out,
                      struct lpo_err *err)
{
    struct reading in = { .arena = a, .file = file, .out = out };
    struct {
        struct lpo_class_table *table;
        const char *name;
    } tables[] = {
        { &out->functions, "functions" }, { &out->layer, "layer" },
        { &out->simple, "simple" },       { &out->scopes, "scopes" },
        { &out->leftovers, "leftovers" }, { &out->carriers, "carriers" },
        { &out->compilers, "compilers" },
    };

    *out = (struct lpo_class_rules){ 0 };
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (read_table(&in, tables[i].table, tables[i].name, err) < 0) {
            rules_free(out);
            return err->code;
        }
    return 0;
}

static struct lpo_class_rules ours;
static struct lpo_arena *ours_arena; /* never freed */

static void read_ours(void)
{
    struct lpo_err err = { 0 };

    ours_arena = lpo_arena_create();
    if (rules_read(ours_arena, lpo_rules("kernels"), &ours, &err) < 0)
        abort(); /* a test reads them */
}

const struct lpo_class_rules *lpo_region_class_rules(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, read_ours);
    return &ours;
}

/* Which pairs of letters follow each other in some words, edges aside. Most rules are refused by
 * their first pair alone: a trace may have 200,000 names, and there are hundreds of rules. */
static void find_pairs(const char *words, uint64_t pairs[PAIRS / 64])
{
    char last = 0;

    for (; *words; words++) {
        unsigned n = pair_number(last, *words);

        if (*words == '_')
            continue;
        pairs[n / 64] |= UINT64_C(1) << n % 64;
        last = *words;
    }
}

static bool fits(const struct lpo_class_rule *r, const char *words, const char *scope)
{
    for (size_t i = 0; i < sizeof r->all / sizeof *r->all && r->all[i]; i++)
        if (!lpo_region_kernel_words_have(words, r->all[i]))
            return false;
    return !r->scope || (scope && lpo_region_kernel_words_have(scope, r->scope));
}

/* The first rule that fits; NULL: none does. `scope` may be NULL. */
static const struct lpo_class_rule *find(const struct lpo_class_table *t, const char *words,
                                         const char *scope)
{
    uint64_t pairs[PAIRS / 64 + 1] = { 0 };

    find_pairs(words, pairs);
    pairs[NO_PAIR / 64] = 1;
    for (size_t i = 0; i < t->rules.len; i++) {
        const struct lpo_class_rule *r = &t->rules.at[i];

        if (pairs[r->first_pair / 64] >> r->first_pair % 64 & 1 && fits(r, words, scope))
            return r;
    }
    return NULL;
}

/* --- names of compilers --------------------------------------------------------------------------
 */

/* Names that compilers write: PyTorch's (Triton), XLA, TensorRT's Myelin, tinygrad, candle. They
 * list operators, of which those that only move data decide nothing where another one computes. */

static bool ends_word(char c)
{
    return c == '_' || c == LPO_KERNEL_CUT;
}

/* The longest operator that begins here, and what it does; 0 letters: none. */
static enum lpo_class_op op_here(const struct lpo_map *names, const char *words, size_t *len)
{
    const char *best = NULL;
    int parts = 0;

    *len = 0;
    for (size_t n = 0; words[n] && parts < 5; n++) { /* no operator has more words */
        const char *value;

        if (!ends_word(words[n + 1]))
            continue;
        parts++;
        value = lpo_rules_value(names, words, n + 1);
        best = value ? value : best;
        *len = value ? n + 1 : *len;
    }
    return !best || *best == 'n' ? LPO_OP_NOTHING
           : *best == 'm'        ? LPO_OP_MOVES
           : *best == 'r'        ? LPO_OP_READS
                                 : LPO_OP_SELECTS;
}

/* Older versions of Triton put behind a name which arguments can be divided by 16: "_0d1d2de". */
static bool is_divisor_mark(const char *word)
{
    size_t len = strcspn(word, "_~");

    return len <= 2 && strspn(word, "cde") == len;
}

/* All that these operators do, "add_clone_3_": a set of enum lpo_class_op. */
static unsigned ops_of(const char *words)
{
    const struct lpo_map *names = lpo_rules_words("kernels", "compiled_operators", NULL);
    bool after_number = false;
    unsigned all = 0;

    while (*words && strncmp(words, "0_x", 3) != 0) { /* a hash ends Myelin's */
        size_t len;
        enum lpo_class_op op = op_here(names, words, &len);

        all |= op;
        if (!len && !isdigit((unsigned char)*words) && !(after_number && is_divisor_mark(words)))
            all |= LPO_OP_COMPUTES;
        after_number = isdigit((unsigned char)*words);
        if (!len)
            len = strcspn(words, "_~");
        words += len + ends_word(words[len]);
    }
    return all;
}

/* tinygrad's names are the sizes of its loops: "E_4096_32" computes elements, "r_16_8_4" reduces.
 */
static bool tinygrad(const char *words, enum lpo_region_kernel_class *out)
{
    const char *p = words + 3;

    if (strncmp(words, "_e_", 3) != 0 && strncmp(words, "_r_", 3) != 0)
        return false;
    *out = words[1] == 'e' ? LPO_CLASS_ELEMENTWISE : LPO_CLASS_REDUCTION;
    return *p && strspn(p, "0123456789_n") == strlen(p); /* n: one more of that name */
}

/* Is this word in `list`, which has a blank at each side of its words? */
static bool listed(const char *word, size_t len, const char *list)
{
    for (const char *at = list; (at = strchr(at, ' ')) != NULL; at++)
        if (strncmp(at + 1, word, len) == 0 && at[1 + len] == ' ')
            return len > 0;
    return false;
}

/* candle's names are the arity, the operation and the type: "usilu_bf16", "bmul_f32". Two letters
 * before two types are index_select, index_add and scatter_add. */
static bool candle(const char *words, enum lpo_region_kernel_class *out)
{
    static const char ops[] = " neg recip exp log sin cos tanh erf ceil floor round abs sqr sqrt "
                              "gelu relu silu sign sigmoid add sub mul div eq ne lt le gt ge ";
    const char *word = words + 1, *type;
    size_t len = strcspn(word, "_"), type_len;

    if (!word[0] || !word[len])
        return false;
    type = word + len + 1;
    type_len = strcspn(type, "_");
    if (!listed(type, type_len, " bf f u i ") || !type[type_len] ||
        !isdigit((unsigned char)type[type_len + 1]))
        return false;
    *out = listed(word, len, " is ia sa ") ? LPO_CLASS_INDEXING : LPO_CLASS_ELEMENTWISE;
    return *out == LPO_CLASS_INDEXING ||
           ((word[0] == 'u' || word[0] == 'b') && listed(word + 1, len - 1, ops));
}

/* Where the name that PyTorch's compiler gave begins: programs put a word of their own before it,
 * as in "fwd_triton_red_fused_add_0". */
static const char *inductor_begin(const char *words)
{
    static const char *const kinds[] = { "_triton_poi_fused_", "_triton_red_fused_",
                                         "_triton_per_fused_", "_triton_for_fused_" };

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const char *at = strstr(words, kinds[i]);

        if (at)
            return at;
    }
    return words;
}

/* XLA's "add_convert_fusion_3", without a kind before the operators. */
static bool ends_in_fusion(const char *words)
{
    static const char last[] = "_fusion_";
    const char *at = strstr(words, last);

    return at && at > words && /* "fusion_3" lists no operators */
           strspn(at + sizeof last - 1, "0123456789_") == strlen(at + sizeof last - 1);
}

/* Kernels of compilers, whose names list operators: "triton_poi_fused_add_mul_3". `words` are those
 * of the function; false: not such a name, or it says nothing. */
static bool compiled(const struct lpo_class_rules *rules, const char *words,
                     struct lpo_class_decision *out)
{
    const struct lpo_class_rule *r, *by;
    unsigned ops = LPO_OP_COMPUTES;

    *out = (struct lpo_class_decision){ LPO_CLASS_OTHER, NULL };
    words = inductor_begin(words);
    r = find(&rules->compilers, words, NULL);
    if (!r && ends_in_fusion(words))
        r = find(&rules->compilers, "_loop_x_fusion_", NULL);
    if (!r)
        return tinygrad(words, &out->class) || candle(words, &out->class);
    if (r->moves)
        ops = ops_of(words + 1);
    by = r->by ? find(r->by, words, NULL) : NULL;
    *out = (struct lpo_class_decision){ by ? by->class : r->class, by ? by : r };
    if (!(ops & ~(r->moves | LPO_OP_READS)))
        out->class = ops & LPO_OP_READS ? LPO_CLASS_INDEXING : ops ? LPO_CLASS_COPY : out->class;
    return true;
}

/* --- the class of a name -------------------------------------------------------------------------
 */

/* What a kernel computes, by the parts of its name: first the functors of functions that only say
 * how, then the function's own name, then its scope, last its template arguments. Types of
 * parameters never count. */

/* A rule that fits as a whole comes before one that a cut leaves open. */
static const struct lpo_class_rule *first_rule(const struct lpo_class_table *rules,
                                               const char *words)
{
    const struct lpo_class_rule *r = NULL;
    LPO_STR whole = { 0 };
    size_t len = strlen(words);

    if (len && words[len - 1] == LPO_KERNEL_CUT) {
        lpo_str_addf(&whole, "%.*s_", (int)(len - 1), words);
        r = find(rules, whole.at, NULL);
    }
    return r ? r : find(rules, words, NULL);
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
    if (compiled(rules, function.at, &out))
        return out;
    lpo_region_kernel_words(parts->scope, &scope);
    carrier = find(&rules->carriers, function.at, scope.at);
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

/* --- rules of the user ---------------------------------------------------------------------------
 */

/* Classes by rules of the user: report.classes. */

enum { NONE = LPO_CLASSES };

/* One rule: a pattern over the whole name, or a file in the grammar of conf/rules/kernels.yaml. */
struct own {
    enum lpo_region_kernel_class class;
    struct lpo_pattern *pattern;
    struct lpo_arena *arena; /* of the file; NULL: it is a pattern */
    struct lpo_class_rules rules;
};

struct lpo_region_own_rules {
    LPO_VEC(struct own) rules;
};

static void own_destroy(struct own *o)
{
    lpo_pattern_destroy(o->pattern);
    if (o->arena)
        rules_free(&o->rules);
    lpo_arena_destroy(o->arena);
}

static int read_own_file(const char *path, struct own *out, struct lpo_err *err)
{
    const struct lpo_node *file;

    out->arena = lpo_arena_create();
    if (lpo_rules_read(out->arena, path, &file, err) < 0)
        return err->code;
    return rules_read(out->arena, file, &out->rules, err);
}

static int read_own_rule(const char *rule, struct own *out, struct lpo_err *err)
{
    static const char file[] = "file:";
    const char *sign = strchr(rule, '=');
    LPO_STR word = { 0 }, all = { 0 };

    if (lpo_str_starts(rule, file))
        return read_own_file(rule + sizeof file - 1, out, err);
    lpo_str_addn(&word, rule, sign ? (size_t)(sign - rule) : 0);
    if (!sign || !lpo_region_class_from_name(lpo_str_text(&word), &out->class)) {
        for (int i = 0; i < LPO_CLASSES; i++)
            lpo_str_addf(&all, "%s%s", i ? ", " : "",
                         lpo_region_class_name((enum lpo_region_kernel_class)i));
        return lpo_fail(err, LPO_E_CONFIG,
                        "'%s' is not CLASS=PATTERN, as in 'GEMM=my_product*', or file:PATH; the "
                        "classes are %s",
                        rule, all.at);
    }
    return lpo_pattern_create(sign + 1, &out->pattern, err);
}

static enum lpo_region_kernel_class own_class(const struct own *o, const char *name, size_t len)
{
    struct lpo_class_decision d;

    if (o->pattern)
        return lpo_pattern_matches(o->pattern, name, len) ? o->class : NONE;
    d = lpo_region_class_decide(&o->rules, name, len);
    return d.rule ? d.class : NONE;
}

int lpo_region_own_rules_read(const char *const *rules, size_t count,
                              struct lpo_region_own_rules **out, struct lpo_err *err)
{
    LPO_AUTO(lpo_region_own_rules) all = NULL;

    *out = NULL;
    if (!count)
        return 0;
    all = lpo_xcalloc(1, sizeof *all);
    for (size_t i = 0; i < count; i++) {
        lpo_vec_push(&all->rules, (struct own){ 0 });
        if (read_own_rule(rules[i], &all->rules.at[i], err) < 0)
            return err->code;
    }
    *out = all;
    all = NULL;
    return 0;
}

void lpo_region_own_rules_destroy(struct lpo_region_own_rules *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->rules.len; i++)
        own_destroy(&r->rules.at[i]);
    lpo_vec_free(&r->rules);
    free(r);
}

enum lpo_region_kernel_class lpo_region_class_by(const struct lpo_region_own_rules *r,
                                                 const char *name)
{
    for (size_t i = 0; r && i < r->rules.len; i++) {
        enum lpo_region_kernel_class class = own_class(&r->rules.at[i], name, strlen(name));

        if ((int)class != NONE)
            return class;
    }
    return lpo_region_kernel_class(name);
}
