/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of conf/rules/families.yaml, read when one is first asked for. */
#include "model/family/family.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "hydra/compose.h"
#include "model/family/fields.h"
#include "rules/rules.h"
#include "util/arena.h"
#include "util/str.h"

enum kind { TEXT, FLAG, NUMBER, MOE };

/* A key of a row and the member that it fills. */
struct member {
    const char *key;
    size_t at;
    enum kind kind;
    const char *const *words; /* of a number: the names of its values */
};

/* All rows of a table; the last one is for models that no row names. */
struct table {
    const char *name, *bases;
    const struct member *members;
    size_t nmembers, size, len;
    char *rows;
};

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const char *const windows[] = { "all", "none", "pattern", "above", NULL };
static const char *const qk_norms[] = { "head", "head_ln", "wide", "matrix", "per_head", NULL };
static const char *const mlps[] = { "gated", "gated_fused", "plain", NULL };

/* clang-format off */
#define OF(family, kind, member, words) { #member, offsetof(struct family, member), kind, words }
#define T(member) OF(lpo_moe_names, TEXT, member, NULL)
#define F(member) OF(lpo_moe_names, FLAG, member, NULL)
static const struct member moe_members[] = {
    T(module), T(router), T(experts), F(router_bias), F(in_first), F(expert_bias), T(shared),
    T(shared_gate), T(correction),
};
#undef T
#undef F

#define T(member)        OF(lpo_decoder_family, TEXT, member, NULL)
#define F(member)        OF(lpo_decoder_family, FLAG, member, NULL)
#define N(member, words) OF(lpo_decoder_family, NUMBER, member, words)
static const struct member decoder_members[] = {
    T(model_type), T(name), T(when), T(defaults), T(root), T(embed), T(positions), T(layers),
    T(final_norm), T(head), T(head_bias), T(pooled), T(attn), T(qkv), T(q), T(k), T(v), T(o),
    T(qkv_bias), T(o_bias), F(in_first), F(bias_after), T(qk_norm), N(qk_norm_form, qk_norms),
    T(q_norm), T(k_norm), T(sinks), T(norms), F(norm_bias), T(mlp), N(mlp_form, mlps), T(gate),
    T(up), T(down), T(mlp_bias), OF(lpo_decoder_family, MOE, moe, NULL), F(no_rotary),
    F(rotary_per_type), N(window, windows), N(window_every, NULL), F(bidirectional),
    F(no_cache),
};
#undef T
#undef F
#undef N

#define T(member) OF(lpo_vision_family, TEXT, member, NULL)
#define F(member) OF(lpo_vision_family, FLAG, member, NULL)
static const struct member vision_members[] = {
    T(model_type), T(name), T(part), T(when), T(defaults), T(root), T(patch), F(patch_bias),
    T(cls), T(mask), T(positions), T(mask_when), F(cls_flat), F(mask_flat),
    F(positions_embedding), T(pre_norm), T(post_norm), F(post_norm_pooled), T(layers), T(attn),
    T(qkv), T(q), T(k), T(v), T(o), T(qkv_bias), T(norm1), T(norm2), T(scale1), T(scale2),
    T(mlp), T(up), T(down), T(swiglu_when), T(swiglu_up), T(swiglu_down), T(merger), T(pooler),
    T(pool_head), T(pool_when), F(windowed), T(classifier_root), F(classifier_doubled),
};
#undef T
#undef F

#define TABLE(name, bases, members, family)                                                        \
    { name, bases, members, COUNT(members), sizeof(struct family), 0, NULL }
static struct table decoders = TABLE("decoders", "decoder_bases", decoder_members, lpo_decoder_family);
static struct table visions = TABLE("visions", "vision_bases", vision_members, lpo_vision_family);
static const struct table moes = TABLE("moe", "moe", moe_members, lpo_moe_names);
/* clang-format on */

static void read_row(struct lpo_arena *a, const struct table *t, const struct lpo_node *row,
                     void *out);

/* The row of `table` that others name so. A name that no row has is a bug: a test reads them all.
 */
static const struct lpo_node *find_base(const char *table, const char *name)
{
    const struct lpo_node *rows = lpo_node_get(lpo_rules("families"), table);

    for (size_t i = 0; rows && i < rows->count; i++)
        if (lpo_streq(lpo_node_text_at(rows->items[i], "as"), name))
            return rows->items[i];
    abort();
}

static int number_of(const struct lpo_node *value, const char *const *words)
{
    for (int i = 0; words && words[i]; i++)
        if (strcmp(value->text, words[i]) == 0)
            return i;
    if (words)
        abort();
    return (int)value->integer;
}

static void fill(struct lpo_arena *a, const struct member *m, const struct lpo_node *value,
                 char *row)
{
    void *to = row + m->at;
    struct lpo_moe_names *moe;

    switch (m->kind) {
    case TEXT:
        *(const char **)to = value->kind == LPO_NODE_NULL ? NULL : value->text;
        break;
    case FLAG:
        *(bool *)to = value->boolean;
        break;
    case NUMBER:
        *(int *)to = number_of(value, m->words);
        break;
    case MOE:
        moe = LPO_NEW(a, struct lpo_moe_names);
        read_row(a, &moes, find_base("moe", value->text), moe);
        *(const struct lpo_moe_names **)to = moe;
        break;
    }
}

static void read_row(struct lpo_arena *a, const struct table *t, const struct lpo_node *row,
                     void *out)
{
    const char *base = lpo_node_text_at(row, "base");

    if (base)
        read_row(a, t, find_base(t->bases, base), out);
    for (size_t i = 0; i < row->npairs; i++) {
        const char *key = row->pairs[i].key->text;
        const struct member *m = t->members;

        if (strcmp(key, "base") == 0 || strcmp(key, "as") == 0)
            continue;
        while (m < t->members + t->nmembers && strcmp(m->key, key) != 0)
            m++;
        if (m == t->members + t->nmembers)
            abort();
        fill(a, m, row->pairs[i].value, out);
    }
}

static void read_table(struct lpo_arena *a, struct table *t)
{
    const struct lpo_node *rows = lpo_node_get(lpo_rules("families"), t->name);

    t->rows = lpo_arena_array(a, rows->count, t->size);
    memset(t->rows, 0, rows->count * t->size);
    for (size_t i = 0; i < rows->count; i++)
        read_row(a, t, rows->items[i], t->rows + i * t->size);
    t->len = rows->count;
}

static struct lpo_arena *rows_arena; /* never freed: data of the program */

static void read_families(void)
{
    rows_arena = lpo_arena_create();
    read_table(rows_arena, &decoders);
    read_table(rows_arena, &visions);
}

/* NULL past the last row of a known model. */
static const void *row_at(const struct table *t, size_t i)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, read_families);
    return i + 1 < t->len ? t->rows + i * t->size : NULL;
}

static const void *generic_row(const struct table *t)
{
    row_at(t, 0);
    return t->rows + (t->len - 1) * t->size;
}

bool lpo_model_family_is(const char *types, const char *model_type)
{
    size_t len = strlen(model_type);

    for (const char *p = types; *p; p += strcspn(p, "|"), p += *p == '|')
        if (strcspn(p, "|") == len && strncmp(p, model_type, len) == 0)
            return true;
    return false;
}

bool lpo_model_family_says(const struct lpo_fields *fields, const char *key_or_yes)
{
    if (!key_or_yes)
        return false;
    return strcmp(key_or_yes, "yes") == 0 || lpo_model_field_bool(fields, key_or_yes, false);
}

static bool fits(const struct lpo_fields *fields, const char *types, const char *when,
                 const char *defaults, const char *model_type)
{
    struct lpo_fields with = { fields->config, defaults };

    return lpo_model_family_is(types, model_type) && lpo_model_field_match(&with, when);
}

const struct lpo_decoder_family *lpo_model_decoder_family_at(size_t i)
{
    return row_at(&decoders, i);
}

const struct lpo_vision_family *lpo_model_vision_family_at(size_t i)
{
    return row_at(&visions, i);
}

const struct lpo_decoder_family *lpo_model_decoder_family_find(const char *model_type,
                                                               const struct lpo_fields *fields)
{
    const struct lpo_decoder_family *f;

    for (size_t i = 0; (f = row_at(&decoders, i)); i++)
        if (fits(fields, f->model_type, f->when, f->defaults, model_type))
            break;
    return f;
}

const struct lpo_vision_family *lpo_model_vision_family_find(const char *model_type,
                                                             const struct lpo_fields *fields)
{
    const struct lpo_vision_family *f;

    for (size_t i = 0; (f = row_at(&visions, i)); i++)
        if (fits(fields, f->model_type, f->when, f->defaults, model_type))
            break;
    return f;
}

const struct lpo_decoder_family *lpo_model_decoder_family_generic(void)
{
    return generic_row(&decoders);
}

const struct lpo_vision_family *lpo_model_vision_family_generic(void)
{
    return generic_row(&visions);
}
