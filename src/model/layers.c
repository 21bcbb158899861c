/* SPDX-License-Identifier: Apache-2.0 */
/* The blocks of every layer. Configs say in many ways that layers differ: lists of words, patterns
 * of letters, periods, lists of layer numbers, a record per layer. All of them end here, as a list
 * of blocks with their widths. A word that lpo does not know is an error: a wrong total is worse
 * than none. */

#include "model/count.h"
#include "model/family/fields.h"
#include "model/model.h"
#include "rules/rules.h"
#include "util/json.h"

enum { MAX_WIDTH = 1 << 26 };

/* The widths of each kind of mixer, read once. */
struct reading {
    struct lpo_model_decoder *d;
    const struct lpo_fields *f;
    struct lpo_model_layer_block full, sliding, linear, mamba;
    struct lpo_err *err;
};

static const struct lpo_json *list_of(const struct lpo_fields *f, const char *keys)
{
    const struct lpo_json *v = lpo_model_field_json(f, keys);

    return v && v->kind == LPO_JSON_ARRAY ? v : NULL;
}

static const struct lpo_json *item_at(const struct lpo_json *list, uint64_t l)
{
    const struct lpo_json *item = list ? list->first : NULL;

    while (item && l--)
        item = item->next;
    return item;
}

static bool in_list(const struct lpo_json *list, int64_t n)
{
    LPO_JSON_EACH(item, list)
    if (lpo_json_int(item, -1) == n)
        return true;
    return false;
}

static int size_of(struct reading *r, const char *keys, int64_t fallback, uint64_t *out)
{
    return lpo_model_size(r->f, keys, fallback, 1, MAX_WIDTH, out, r->err);
}

/* Gated DeltaNet (Qwen): a state of key by value dimensions for every value head. */
static int read_delta(struct reading *r)
{
    struct lpo_model_layer_block *b = &r->linear;
    int rc = size_of(r, "linear_num_value_heads", 0, &b->heads);

    *b = (struct lpo_model_layer_block){ .kind = LPO_LAYER_DELTA, .heads = b->heads };
    if (rc == 0)
        rc = size_of(r, "linear_num_key_heads", 0, &b->kv_heads);
    if (rc == 0)
        rc = size_of(r, "linear_key_head_dim", 0, &b->head_dim);
    if (rc == 0)
        rc = size_of(r, "linear_value_head_dim", 0, &b->v_dim);
    if (rc == 0)
        rc = size_of(r, "linear_conv_kernel_dim", 4, &b->conv);
    return rc;
}

static int read_kda(struct reading *r, const struct lpo_json *own)
{
    struct lpo_fields nested = { own, NULL };
    const struct lpo_fields *outer = r->f;
    struct lpo_model_layer_block *b = &r->linear;
    int rc;

    *b = (struct lpo_model_layer_block){ .kind = LPO_LAYER_KDA };
    r->f = &nested;
    rc = size_of(r, "num_heads", 0, &b->heads);
    if (rc == 0)
        rc = size_of(r, "head_dim", 0, &b->head_dim);
    if (rc == 0)
        rc = size_of(r, "short_conv_kernel_size", 4, &b->conv);
    b->gated = lpo_model_field_bool(&nested, "use_full_rank_gate", false);
    b->kv_heads = b->heads;
    b->v_dim = b->head_dim;
    r->f = outer;
    return rc;
}

static int read_mamba(struct reading *r)
{
    struct lpo_model_layer_block *b = &r->mamba;
    uint64_t inner =
        lpo_model_mul((uint64_t)lpo_model_field_int(r->f, "expand|mamba_expand", 2), r->d->hidden);
    int rc;

    *b = (struct lpo_model_layer_block){ .kind = LPO_LAYER_MAMBA };
    if (lpo_model_field_has(r->f, "mamba_dt_rank"))
        return lpo_fail(r->err, LPO_E_NOTFOUND,
                        "the layers are Mamba's first form ('mamba_dt_rank'), which lpo does not "
                        "have");
    rc = size_of(r, "mamba_head_dim|mamba_d_head", 64, &b->head_dim);
    if (rc == 0)
        rc = size_of(r, "mamba_num_heads|mamba_n_heads", (int64_t)(inner / b->head_dim), &b->heads);
    if (rc == 0)
        rc = size_of(r, "ssm_state_size|mamba_d_state|mamba_state_dim", 0, &b->state);
    if (rc == 0)
        rc = size_of(r, "n_groups|mamba_n_groups", 1, &b->groups);
    if (rc == 0)
        rc = size_of(r, "conv_kernel|mamba_d_conv", 4, &b->conv);
    return rc;
}

/* Layers that see everything may have other heads than those with a window (Gemma 4). */
static int read_full(struct reading *r)
{
    const struct lpo_fields *f = r->f;
    struct lpo_model_layer_block *b = &r->full;
    int rc = 0;

    r->full = r->sliding = r->d->base;
    r->sliding.window = (uint64_t)lpo_model_field_int(f, "sliding_window|attention_chunk_size", 0);
    if ((int64_t)r->sliding.window < 0)
        r->sliding.window = 0;
    if (lpo_model_field_has(f, "global_head_dim"))
        rc = size_of(r, "global_head_dim", 0, &b->head_dim);
    if (rc == 0)
        rc = size_of(r, "num_global_key_value_heads", (int64_t)b->kv_heads, &b->kv_heads);
    if (b->kind != LPO_LAYER_LATENT)
        b->v_dim = b->head_dim;
    b->keys_are_values = lpo_model_field_bool(f, "attention_k_eq_v", false);
    return rc;
}

/* DeepSeek V4: one key head; all queries, and the output, in two steps. */
static int read_compressed(struct reading *r)
{
    struct lpo_model_layer_block *b = &r->full;
    int rc = size_of(r, "q_lora_rank", 0, &b->q_rank);

    b->kind = LPO_LAYER_COMPRESSED;
    if (rc == 0)
        rc = size_of(r, "o_lora_rank", 0, &b->o_rank);
    if (rc == 0)
        rc = size_of(r, "o_groups", 0, &b->o_groups);
    if (rc == 0 && lpo_model_mul(b->heads, b->head_dim) % b->o_groups)
        rc = lpo_fail(r->err, LPO_E_RANGE, "'o_groups' does not divide the attention's width");
    b->window = r->sliding.window;
    return rc;
}

static bool rule_says_window(const struct reading *r, int64_t l)
{
    const struct lpo_fields *f = r->f;
    const struct lpo_decoder_family *family = r->d->family;
    int64_t every = lpo_model_field_int(f, "sliding_window_pattern|_sliding_window_pattern",
                                        family->window_every);

    switch (family->window) {
    case LPO_WINDOW_ALL:
        return lpo_model_field_bool(f, "use_sliding_window", true);
    case LPO_WINDOW_PATTERN:
        return every > 0 && (l + 1) % every != 0;
    case LPO_WINDOW_ABOVE:
        return lpo_model_field_bool(f, "use_sliding_window", false) &&
               l >= lpo_model_field_int(f, "max_window_layers", 0);
    case LPO_WINDOW_NONE:
        break;
    }
    return false;
}

/* "full_attention", "mamba", "*": a word or a letter for a block. */
static const struct {
    const char *word;
    enum { FULL, SLIDING, LINEAR, MAMBA, MLP, EXPERTS } form;
} words[] = {
    { "full_attention", FULL },
    { "attention", FULL },
    { "*", FULL },
    { "sliding_attention", SLIDING },
    { "chunked_attention", SLIDING },
    { "linear_attention", LINEAR },
    { "mamba", MAMBA },
    { "mamba2", MAMBA },
    { "M", MAMBA },
    { "mlp", MLP },
    { "-", MLP },
    { "moe", EXPERTS },
    { "E", EXPERTS },
};

static int find_form(struct reading *r, const char *word, uint64_t l, int *form)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i].word, word) == 0) {
            *form = (int)words[i].form;
            return 0;
        }
    return lpo_fail(r->err, LPO_E_NOTFOUND,
                    "layer %llu is of the type '%s', which lpo does not have",
                    (unsigned long long)l, word);
}

/* What mixes the tokens of a layer: FULL, SLIDING, LINEAR or MAMBA. */
static int mixer_form(struct reading *r, uint64_t l, int *form)
{
    const struct lpo_fields *f = r->f;
    const struct lpo_json *types = list_of(f, "layer_types");
    const struct lpo_json *kda =
        lpo_json_get(lpo_model_field_json(f, "linear_attn_config"), "kda_layers");
    int64_t period = lpo_model_field_int(f, "full_attention_interval", 0);

    if (types)
        return find_form(r, lpo_json_text(item_at(types, l), "full_attention"), l, form);
    if (kda) /* counted from 1 */
        *form = in_list(kda, (int64_t)l + 1) ? LINEAR : FULL;
    else if (period > 0)
        *form = (l + 1) % (uint64_t)period ? LINEAR : FULL;
    else
        *form = rule_says_window(r, (int64_t)l) ? SLIDING : FULL;
    return 0;
}

static bool is_sparse(const struct reading *r, int64_t l)
{
    const struct lpo_fields *f = r->f;
    const struct lpo_json *types = list_of(f, "mlp_layer_types"),
                          *each = list_of(f, "moe_layer_freq");
    const struct lpo_json *some = list_of(f, "moe_layers");
    int64_t first = lpo_model_field_int(f, "first_k_dense_replace|moe_layer_start_index", 0);
    int64_t last = lpo_model_field_int(f, "moe_layer_end_index", -1);
    int64_t step = lpo_model_field_int(
        f, "decoder_sparse_step|moe_layer_interval|interleave_moe_layer_step", 1);
    int64_t freq = each ? 1 : lpo_model_field_int(f, "moe_layer_freq", 1);

    if (r->d->base.experts == 0)
        return false;
    if (types)
        return strcmp(lpo_json_text(item_at(types, (uint64_t)l), ""), "sparse") == 0;
    if (each)
        return lpo_json_int(item_at(each, (uint64_t)l), 1) != 0;
    if (some)
        return in_list(some, l);
    last = last < 0 ? INT64_MAX : last;
    return l >= first && l <= last && (l + 1) % (step < 1 ? 1 : step) == 0 &&
           l % (freq < 1 ? 1 : freq) == 0 && !in_list(list_of(f, "mlp_only_layers"), l);
}

static struct lpo_model_layer_block *add(struct lpo_model_layer *layer,
                                         const struct lpo_model_layer_block *widths,
                                         enum lpo_model_layer_kind kind)
{
    struct lpo_model_layer_block *b = &layer->block[layer->count++];

    *b = *widths;
    b->kind = kind;
    return b;
}

static void add_mixer(struct reading *r, struct lpo_model_layer *layer, int form, uint64_t l)
{
    const struct lpo_model_layer_block *forms[] = { &r->full, &r->sliding, &r->linear, &r->mamba };
    struct lpo_model_layer_block *b = add(layer, forms[form], forms[form]->kind);
    const struct lpo_json *own = lpo_model_field_json(r->f, "sparse_attention_config");
    uint64_t borrow = (uint64_t)lpo_model_field_int(r->f, "num_kv_shared_layers", 0);

    b->borrows_cache = borrow < r->d->layers && l >= r->d->layers - borrow;
    if (lpo_json_int(item_at(lpo_json_get(own, "sparse_attention_freq"), l), 1) == 0)
        b->top_keys = b->index_heads = 0;
    b->compress =
        (uint64_t)lpo_json_int(item_at(list_of(r->f, "compress_ratios"), l), 0) & (MAX_WIDTH - 1);
}

static void add_feed_forward(struct reading *r, struct lpo_model_layer *layer, uint64_t l)
{
    const struct lpo_model_decoder *d = r->d;
    bool both = lpo_model_field_bool(r->f, "enable_moe_block", false);
    bool sparse = is_sparse(r, (int64_t)l);
    struct lpo_model_layer_block *b;

    if (!sparse || both) {
        b = add(layer, &d->base, LPO_LAYER_MLP);
        if (d->base.experts && !both)
            b->inter = (uint64_t)lpo_model_field_int(
                r->f, "intermediate_size_mlp|dense_intermediate_size", (int64_t)b->inter);
        if (layer->block[0].borrows_cache &&
            lpo_model_field_bool(r->f, "use_double_wide_mlp", false))
            b->inter = lpo_model_mul(2, b->inter);
    }
    if (sparse)
        add(layer, &d->base, LPO_LAYER_EXPERTS);
}

/* Layers of one block each: "MEM*E-", or ["mamba", "moe", …]. */
static int add_single(struct reading *r, const char *word, struct lpo_model_layer *layer,
                      uint64_t l)
{
    int form, rc = find_form(r, word, l, &form);

    if (rc < 0)
        return rc;
    if (form == EXPERTS && r->d->base.experts == 0)
        return lpo_fail(r->err, LPO_E_FORMAT,
                        "layer %llu has experts, but the config gives no number of them",
                        (unsigned long long)l);
    if (form < MLP)
        add_mixer(r, layer, form, l);
    else
        add(layer, &r->d->base, form == MLP ? LPO_LAYER_MLP : LPO_LAYER_EXPERTS);
    return 0;
}

/* A searched architecture: a record per layer says what is left of its blocks. */
static int add_searched(struct reading *r, const struct lpo_json *record,
                        struct lpo_model_layer *layer)
{
    const struct lpo_model_decoder *d = r->d;
    const struct lpo_json *attention = lpo_json_get(record, "attention");
    const struct lpo_json *ffn = lpo_json_get(record, "ffn");
    int64_t in_group = lpo_json_int(lpo_json_get(attention, "n_heads_in_group"), 0);
    int64_t kv = lpo_json_int(lpo_json_get(attention, "num_key_value_heads"), 0);
    int64_t inter = lpo_json_int(lpo_json_get(ffn, "intermediate_size"), 0);
    double mult = lpo_json_real(lpo_json_get(ffn, "ffn_mult"), 0);
    struct lpo_model_layer_block *b;

    if (!attention || !ffn || lpo_json_at(record, "ffn.moe.num_local_experts") ||
        lpo_json_at(record, "attention.mamba.state_dim"))
        return lpo_fail(r->err, LPO_E_NOTFOUND,
                        "'block_configs' has a record of a form that lpo does not have");
    if (lpo_json_bool(lpo_json_get(attention, "replace_with_linear"), false)) {
        add(layer, &d->base, LPO_LAYER_LINEAR);
    } else if (!lpo_json_bool(lpo_json_get(attention, "no_op"), false)) {
        b = add(layer, &r->full, r->full.kind);
        kv = kv > 0 ? kv : in_group > 0 ? (int64_t)b->heads / in_group : (int64_t)b->kv_heads;
        b->kv_heads = kv < 1 ? 1 : (uint64_t)kv;
    }
    if (lpo_json_bool(lpo_json_get(ffn, "replace_with_linear"), false)) {
        add(layer, &d->base, LPO_LAYER_LINEAR);
    } else if (!lpo_json_bool(lpo_json_get(ffn, "no_op"), false)) {
        if (inter <= 0 && mult > 0 && mult < 1024) /* two thirds, in whole multiples of 256 */
            inter = ((int64_t)(2 * mult * (double)d->hidden / 3) + 255) / 256 * 256;
        if (inter <= 0 || inter > MAX_WIDTH)
            return lpo_fail(r->err, LPO_E_RANGE, "'block_configs' gives no width of an MLP");
        b = add(layer, &d->base, LPO_LAYER_MLP);
        b->inter = (uint64_t)inter;
    }
    return 0;
}

static int read_layer(struct reading *r, uint64_t l)
{
    struct lpo_model_layer *layer = &r->d->layer[l];
    const char *pattern =
        lpo_json_text(lpo_model_field_json(r->f, "hybrid_override_pattern"), NULL);
    const struct lpo_json *single = list_of(r->f, "layers_block_type");
    const struct lpo_json *records = list_of(r->f, "block_configs");
    char letter[2] = "";
    int form, rc;

    if (pattern && strlen(pattern) == r->d->layers) {
        letter[0] = pattern[l];
        return add_single(r, letter, layer, l);
    }
    if (single)
        return add_single(r, lpo_json_text(item_at(single, l), ""), layer, l);
    if (records)
        return add_searched(r, item_at(records, l), layer);
    rc = mixer_form(r, l, &form);
    if (rc < 0)
        return rc;
    if (form > MAMBA)
        return lpo_fail(r->err, LPO_E_NOTFOUND,
                        "'layer_types' has a type that lpo does not have "
                        "there");
    add_mixer(r, layer, form, l);
    add_feed_forward(r, layer, l);
    return 0;
}

static bool says_nothing(const struct lpo_json *v)
{
    return v->kind == LPO_JSON_NULL || (v->kind == LPO_JSON_BOOL && !v->boolean) ||
           (v->kind == LPO_JSON_INT && v->integer == 0) ||
           ((v->kind == LPO_JSON_ARRAY || v->kind == LPO_JSON_OBJECT) && !v->first);
}

/* An unknown family with a key of a structure that is not read is not taken for a plain decoder. */
static int check_understood(struct reading *r)
{
    const struct lpo_map *structural = lpo_rules_words("families", "unknown_keys", "structural");

    LPO_JSON_EACH(item, r->f->config)
    {
        bool suspicious = false;

        for (size_t i = 0; i < lpo_map_count(structural); i++)
            suspicious |= strstr(item->key, lpo_map_key(structural, i, NULL)) != NULL;
        if (suspicious && !says_nothing(item) &&
            !lpo_rules_has("families", "unknown_keys", "understood", item->key))
            return lpo_fail(r->err, LPO_E_NOTFOUND,
                            "the config's '%s' says that this model has a structure lpo does not "
                            "know: nothing is counted rather than something wrong",
                            item->key);
    }
    return 0;
}

static int read_forms(struct reading *r)
{
    const struct lpo_json *kda = lpo_model_field_json(r->f, "linear_attn_config");
    int rc = read_full(r);

    if (rc == 0 && lpo_model_field_has(r->f, "compress_ratios"))
        rc = read_compressed(r);
    if (rc == 0 && kda)
        rc = read_kda(r, kda);
    if (rc == 0 && lpo_model_field_has(r->f, "linear_num_value_heads"))
        rc = read_delta(r);
    if (rc == 0 && lpo_model_field_has(r->f, "ssm_state_size|mamba_d_state|mamba_num_heads"))
        rc = read_mamba(r);
    return rc;
}

int lpo_model_layers_read(struct lpo_arena *a, struct lpo_model_decoder *d, struct lpo_err *err)
{
    struct reading r = { .d = d, .f = d->fields, .err = err };
    const char *act = lpo_json_text(lpo_model_field_json(r.f, "mlp_hidden_act|hidden_act"), "");
    int rc = d->family == lpo_model_decoder_family_generic() ? check_understood(&r) : 0;

    d->base.plain = d->family->mlp_form == LPO_MLP_PLAIN || strcmp(act, "relu2") == 0;
    d->layer = lpo_arena_array(a, d->layers, sizeof *d->layer);
    if (rc == 0)
        rc = read_forms(&r);
    for (uint64_t l = 0; l < d->layers && rc == 0; l++) {
        rc = read_layer(&r, l);
        for (int i = 0; i < d->layer[l].count && rc == 0; i++)
            if (d->layer[l].block[i].heads == 0)
                rc = lpo_fail(err, LPO_E_NOTFOUND,
                              "layer %llu is linear or a state space, and the config does not give "
                              "its widths",
                              (unsigned long long)l);
    }
    return rc;
}
