/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of classes, out of YAML: "- GEMM by cutlass_functors: ^_kernel_@_cutlass". */
#include "region/kernel_name/class_rules.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "region/kernel_name/parts.h"
#include "rules/rules.h"
#include "util/arena.h"
#include "util/err.h"

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
                        "'%s' is no class of kernels: docs/kernel-names.md has them", word);
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

int lpo_region_class_rules_read(struct lpo_arena *a, const struct lpo_node *file,
                                struct lpo_class_rules *out, struct lpo_err *err)
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
            lpo_region_class_rules_free(out);
            return err->code;
        }
    return 0;
}

void lpo_region_class_rules_free(struct lpo_class_rules *r)
{
    struct lpo_class_table *tables[] = { &r->functions, &r->layer,    &r->simple,   &r->scopes,
                                         &r->leftovers, &r->carriers, &r->compilers };

    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        lpo_vec_free(&tables[i]->rules);
    for (size_t i = 0; i < r->others.len; i++)
        lpo_vec_free(&r->others.at[i]->rules);
    lpo_vec_free(&r->others);
}

static struct lpo_class_rules ours;
static struct lpo_arena *ours_arena; /* never freed */

static void read_ours(void)
{
    struct lpo_err err = { 0 };

    ours_arena = lpo_arena_create();
    if (lpo_region_class_rules_read(ours_arena, lpo_rules("kernels"), &ours, &err) < 0)
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

const struct lpo_class_rule *lpo_region_class_find(const struct lpo_class_table *t,
                                                   const char *words, const char *scope)
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
