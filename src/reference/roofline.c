/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of each kind, and the least time of a shape. scripts/make-references.py computes the
 * same: the ratios of a reference are of these times. */

#include "reference/private.h"

static const struct kind {
    const char *name;
    int keys;
    struct lpo_reference_column columns[LPO_REF_COLUMNS];
} kinds[LPO_REF_KINDS] = {
    { "gemm",
      1,
      { { "gemm_dtype", true, -1 }, { "k", false, -1 }, { "n", false, -1 }, { "m", false, -1 } } },
    { "context_attention",
      7,
      { { "attn_dtype", true, -1 },
        { "kv_cache_dtype", true, -1 },
        { "head_dim", false, -1 },
        { "window_size", false, 0 },
        { "step", false, 0 },
        { "num_key_value_heads", false, -1 },
        { "num_heads", false, -1 },
        { "batch_size", false, 1 },
        { "isl", false, -1 } } },
    { "generation_attention",
      7,
      { { "attn_dtype", true, -1 },
        { "kv_cache_dtype", true, -1 },
        { "head_dim", false, -1 },
        { "window_size", false, 0 },
        { "isl", false, 1 },
        { "num_key_value_heads", false, -1 },
        { "num_heads", false, -1 },
        { "batch_size", false, 1 },
        { "step", false, -1 } } },
    { "context_mla",
      5,
      { { "mla_dtype", true, -1 },
        { "kv_cache_dtype", true, -1 },
        { "tp_size", false, 1 },
        { "step", false, 0 },
        { "num_heads", false, -1 },
        { "batch_size", false, 1 },
        { "isl", false, -1 } } },
    { "generation_mla",
      5,
      { { "mla_dtype", true, -1 },
        { "kv_cache_dtype", true, -1 },
        { "tp_size", false, 1 },
        { "isl", false, 1 },
        { "num_heads", false, -1 },
        { "batch_size", false, 1 },
        { "step", false, -1 } } },
    { "moe",
      8,
      { { "moe_dtype", true, -1 },
        { "distribution", true, -1 },
        { "hidden_size", false, -1 },
        { "inter_size", false, -1 },
        { "topk", false, -1 },
        { "num_experts", false, -1 },
        { "moe_ep_size", false, 1 },
        { "moe_tp_size", false, 1 },
        { "num_tokens", false, -1 } } },
    { "nccl",
      3,
      { { "op_name", true, -1 },
        { "nccl_dtype", true, -1 },
        { "num_gpus", false, -1 },
        { "message_size", false, -1 } } },
};

const char *lpo_reference_kind_name(enum lpo_reference_kind k)
{
    return kinds[k].name;
}

const struct lpo_reference_column *lpo_reference_columns(enum lpo_reference_kind k)
{
    return kinds[k].columns;
}

int lpo_reference_key_count(enum lpo_reference_kind k)
{
    return kinds[k].keys;
}

static const struct {
    const char *word;
    enum lpo_dtype unit;
    double weight, activation;
} formats[] = {
    { "bfloat16", LPO_BF16, 2, 2 },
    { "float16", LPO_FP16, 2, 2 },
    { "half", LPO_FP16, 2, 2 },
    { "fp8", LPO_FP8, 1, 1 },
    { "fp8_static", LPO_FP8, 1, 1 },
    { "fp8_block", LPO_FP8, 1, 1 },
    { "sq", LPO_INT8, 1, 1 },
    { "int8", LPO_INT8, 1, 1 },
    { "int8_wo", LPO_BF16, 1, 2 },
    { "int4_wo", LPO_BF16, 0.5, 2 },
    { "nvfp4", LPO_FP4, 0.5625, 0.5625 },
    { "w4a16_mxfp4", LPO_BF16, 0.53125, 2 },
    { "w4a8_mxfp4_mxfp8", LPO_FP8, 0.53125, 1 },
    { "w4afp8", LPO_FP8, 0.5, 1 },
};

struct ref_format lpo_reference_format(const struct lpo_reference *r, const char *word)
{
    struct ref_format f = { r->rates[LPO_BF16], 2, 2, 2, strcmp(word, "all_reduce") == 0 };

    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(formats[i].word, word) == 0) {
            f.rate = r->rates[formats[i].unit];
            f.weight = formats[i].weight;
            f.activation = formats[i].activation;
            f.cache = formats[i].weight < 2 ? 1 : 2;
        }
    return f;
}

struct work {
    double flops, bytes, rate;
};

static struct work gemm(const struct ref_format *f, const double *s)
{
    double k = s[1], n = s[2], m = s[3];

    return (struct work){ 2 * m * n * k, m * k * f->activation + n * k * f->weight + m * n * 2,
                          f->rate };
}

static struct work moe(const struct ref_format *f, const double *s)
{
    double hidden = s[2], inter = s[3] / s[7], top = s[4], experts = s[5], ep = s[6], tokens = s[8];
    double here = fmax(experts / ep, 1);
    double hit = here * (1 - pow(1 - fmin(top / experts, 1), tokens));

    return (struct work){ 6 * tokens * top / ep * hidden * inter,
                          hit * 3 * hidden * inter * f->weight + tokens * hidden * 4, f->rate };
}

static struct work attention(const struct lpo_reference *r, const struct ref_format *f,
                             const struct ref_format *kv, const double *s, bool prefill)
{
    double dim = s[2], kv_heads = s[5], heads = s[6], batch = s[7];
    double fresh = prefill ? s[8] : s[4], past = prefill ? s[4] : s[8];
    double window = s[3] > 0 ? s[3] : fresh + past;
    double keys = prefill ? fresh + past : fmin(fresh + past, window);
    double pairs = prefill ? fmin(fresh * (past + (fresh + 1) / 2), fresh * window) : fresh * keys;

    return (struct work){ 4 * batch * heads * dim * pairs,
                          batch * dim * (fresh * heads * 4 + keys * kv_heads * 2 * kv->cache),
                          prefill ? f->rate : r->rates[LPO_BF16] };
}

static struct work mla(const struct lpo_reference *r, const struct ref_format *kv, const double *s,
                       bool prefill)
{
    double heads = s[4], batch = s[5], fresh = prefill ? s[6] : s[3], past = prefill ? s[3] : s[6];

    if (prefill)
        return (struct work){ 2 * batch * heads * 320 * fresh * (past + (fresh + 1) / 2),
                              batch * fresh * heads * 640 * 2, r->rates[LPO_BF16] };
    return (struct work){ 2 * batch * heads * 1088 * (fresh + past),
                          batch * ((fresh + past) * 576 * kv->cache + heads * 1088 * 2),
                          r->rates[LPO_BF16] };
}

static double link_seconds(const struct lpo_reference *r, const struct ref_table *t,
                           const double *s)
{
    double bytes = s[3] * (t->formats[(int)s[1]].weight < 2 ? 1 : 2);

    return bytes * (t->formats[(int)s[0]].all_reduce ? 2 : 1) * (s[2] - 1) / s[2] / r->link;
}

double lpo_reference_roofline(const struct lpo_reference *r, enum lpo_reference_kind k,
                              const double *shape, bool *compute)
{
    const struct ref_table *t = &r->table[k];
    const struct ref_format *f = &t->formats[(int)shape[0]];
    const struct ref_format *kv = kinds[k].columns[1].word ? &t->formats[(int)shape[1]] : f;
    struct work w = { 0 };

    switch (k) {
    case LPO_REF_GEMM:
        w = gemm(f, shape);
        break;
    case LPO_REF_CONTEXT_ATTENTION:
    case LPO_REF_GENERATION_ATTENTION:
        w = attention(r, f, kv, shape, k == LPO_REF_CONTEXT_ATTENTION);
        break;
    case LPO_REF_CONTEXT_MLA:
    case LPO_REF_GENERATION_MLA:
        w = mla(r, kv, shape, k == LPO_REF_CONTEXT_MLA);
        break;
    case LPO_REF_MOE:
        w = moe(f, shape);
        break;
    case LPO_REF_NCCL:
        *compute = false;
        return link_seconds(r, t, shape);
    case LPO_REF_KINDS:
        break;
    }
    *compute = w.flops / w.rate > w.bytes / r->bandwidth;
    return fmax(w.flops / w.rate, w.bytes / r->bandwidth);
}
