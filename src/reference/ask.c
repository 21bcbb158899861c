/* SPDX-License-Identifier: Apache-2.0 */
/* Answers: the grid of the shape's variant, interpolated between the points around it. */

#include "reference/private.h"

double lpo_reference_word(const struct lpo_reference *r, enum lpo_reference_kind k,
                          const char *word)
{
    const struct ref_table *t = &r->table[k];

    for (uint32_t i = 0; i < t->nwords; i++)
        if (strcmp(t->words[i], word) == 0)
            return (double)i;
    return -1;
}

static double key_at(const struct ref_block *b, uint32_t variant, int key)
{
    return b->keys[(size_t)key * b->variants + variant];
}

static bool find_exact(const struct ref_table *t, const double *shape, int keys,
                       struct ref_slot *out)
{
    uint32_t at = lpo_reference_hash(shape, keys) & t->mask;

    for (; t->slots[at].block; at = (at + 1) & t->mask) {
        const struct ref_block *b = &t->blocks[t->slots[at].block - 1];
        int same = 0;

        while (same < keys && key_at(b, t->slots[at].variant, same) == shape[same])
            same++;
        if (same == keys) {
            *out = t->slots[at];
            return true;
        }
    }
    return false;
}

/* The variant with the same words whose numbers are nearest, as ratios. */
static bool find_nearest(const struct ref_table *t, enum lpo_reference_kind k, const double *shape,
                         int keys, struct ref_slot *out)
{
    const struct lpo_reference_column *columns = lpo_reference_columns(k);
    double best = INFINITY;

    for (uint32_t i = 0; i < t->nblocks; i++)
        for (uint32_t v = 0; v < t->blocks[i].variants; v++) {
            double far = 0;

            for (int n = 0; n < keys && far < best; n++) {
                double key = key_at(&t->blocks[i], v, n);

                if (key == shape[n])
                    continue;
                far += columns[n].word ? INFINITY : fabs(log((key + 1) / (shape[n] + 1)));
            }
            if (far < best) {
                best = far;
                *out = (struct ref_slot){ i + 1, v };
            }
        }
    return best < INFINITY;
}

struct place {
    uint32_t low;
    double part; /* of the way to the next */
};

static struct place find_place(const double *logs, uint32_t size, double value, bool *inside)
{
    double x = log(value + 1);
    uint32_t low = 0, high = size - 1;

    if (x <= logs[0] || size == 1) {
        *inside &= fabs(x - logs[0]) < 1e-9;
        return (struct place){ 0, 0 };
    }
    if (x >= logs[high]) {
        *inside &= x - logs[high] < 1e-9;
        return (struct place){ high, 0 };
    }
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;

        if (logs[middle] <= x)
            low = middle;
        else
            high = middle;
    }
    return (struct place){ low, (x - logs[low]) / (logs[high] - logs[low]) };
}

static double ratio_at(const struct ref_table *t, const struct ref_row *row, uint32_t i,
                       bool *inside)
{
    *inside &= i < row->len;
    return t->ratios[row->first + (i < row->len ? i : row->len - 1)];
}

/* The mean over the corners around the shape, each by its nearness. Rows in which nothing was
 * measured say nothing. */
static bool interpolate(const struct ref_table *t, const struct ref_block *b, uint32_t variant,
                        const double *at, double *out, bool *inside)
{
    struct place p[REF_AXES] = { 0 };
    double sum = 0, weight = 0;
    int outer = b->naxes - 1;

    for (int i = 0; i < b->naxes; i++)
        p[i] = find_place(b->logs[i], b->sizes[i], at[i], inside);
    for (int corner = 0; corner < 1 << outer; corner++) {
        const struct ref_row *row;
        uint32_t index = 0;
        double share = 1, ratio;

        for (int i = 0; i < outer; i++) {
            bool next = corner >> i & 1;

            share *= next ? p[i].part : 1 - p[i].part;
            index = index * b->sizes[i] + p[i].low + (next && p[i].part > 0);
        }
        if (share <= 0)
            continue;
        row = &t->rows[b->first_row + variant * b->rows + index];
        if (row->len == 0) {
            *inside = false;
            continue;
        }
        ratio = ratio_at(t, row, p[outer].low, inside);
        if (p[outer].part > 0)
            ratio += p[outer].part * (ratio_at(t, row, p[outer].low + 1, inside) - ratio);
        sum += share * ratio;
        weight += share;
    }
    *out = weight > 0 ? sum / weight * b->step : 0;
    return weight > 0;
}

static double stated_error(const struct lpo_reference *r, enum lpo_reference_kind k,
                           const double *shape, double us)
{
    const char *word = r->table[k].words[(int)shape[0]];

    for (size_t i = 0; i < r->nerrors; i++)
        if (r->errors[i].kind == (int)k && us < r->errors[i].below_us &&
            strcmp(r->errors[i].word, word) == 0)
            return r->errors[i].most;
    return NAN;
}

bool lpo_reference_ask(const struct lpo_reference *r, enum lpo_reference_kind k,
                       const double shape[LPO_REF_COLUMNS], struct lpo_reference_answer *out)
{
    const struct ref_table *t = &r->table[k];
    const struct lpo_reference_column *columns = lpo_reference_columns(k);
    int keys = lpo_reference_key_count(k);
    struct ref_slot slot = { 0 };
    double ratio, least;

    if (!t->slots)
        return false;
    for (int i = 0; i < LPO_REF_COLUMNS && columns[i].name; i++)
        if (!(shape[i] >= 0 && shape[i] < 1e12) || (columns[i].word && shape[i] >= t->nwords))
            return false;
    out->inside = find_exact(t, shape, keys, &slot);
    if (!out->inside && !find_nearest(t, k, shape, keys, &slot))
        return false;
    if (!interpolate(t, &t->blocks[slot.block - 1], slot.variant, shape + keys, &ratio,
                     &out->inside))
        return false;
    least = lpo_reference_roofline(r, k, shape, &out->compute) * 1e6;
    if (!isfinite(least))
        return false;
    out->roofline_us = least;
    out->best_us = exp(ratio) * (r->floor_us + least);
    out->error = out->inside ? stated_error(r, k, shape, out->best_us) : NAN;
    return true;
}

/* How tables spell a number format; several where frameworks compute with it in several ways. */
static const struct {
    enum lpo_dtype dtype;
    const char *words[3];
} spellings[] = {
    { LPO_BF16, { "bfloat16", "half" } },
    { LPO_FP16, { "float16", "bfloat16", "half" } },
    { LPO_FP8, { "fp8", "fp8_block" } },
    { LPO_INT8, { "sq", "int8", "int8_wo" } },
    { LPO_FP4, { "nvfp4", "w4a8_mxfp4_mxfp8", "w4a16_mxfp4" } },
    { LPO_INT4, { "int4_wo" } },
};

static const char *const *spellings_of(enum lpo_dtype t)
{
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
        if (spellings[i].dtype == t)
            return spellings[i].words;
    return NULL;
}

/* The values behind the word that chooses the format, in the order of the kind's columns. */
static void fill_shape(const struct lpo_reference *r, const struct lpo_reference_work *w,
                       double *shape)
{
    bool prefill = w->kind == LPO_REF_CONTEXT_ATTENTION || w->kind == LPO_REF_CONTEXT_MLA;
    double kv = lpo_reference_word(r, w->kind, w->kv_dtype == LPO_FP8 ? "fp8" : "bfloat16");
    double fresh = prefill ? 0 : 1, at = prefill ? w->tokens : w->cached;
    const double rows[LPO_REF_KINDS][LPO_REF_COLUMNS - 1] = {
        [LPO_REF_GEMM] = { w->k, w->n, w->m },
        [LPO_REF_CONTEXT_ATTENTION] = { kv, w->head_dim, w->window, fresh, w->kv_heads, w->heads,
                                        w->batch, at },
        [LPO_REF_GENERATION_ATTENTION] = { kv, w->head_dim, w->window, fresh, w->kv_heads, w->heads,
                                           w->batch, at },
        [LPO_REF_CONTEXT_MLA] = { kv, w->tp, fresh, w->heads, w->batch, at },
        [LPO_REF_GENERATION_MLA] = { kv, w->tp, fresh, w->heads, w->batch, at },
        [LPO_REF_MOE] = { lpo_reference_word(r, w->kind, "power_law_1.01"), w->hidden, w->inter,
                          w->top_k, w->experts, w->ep, w->tp, w->tokens },
        [LPO_REF_NCCL] = { lpo_reference_word(r, w->kind, "half"), w->ranks, w->bytes / 2 },
    };

    memcpy(shape + 1, rows[w->kind], sizeof rows[w->kind]);
}

/* One word, or the fastest of a format's spellings; what was measured goes before what is scaled.
 */
bool lpo_reference_best(const struct lpo_reference *r, const struct lpo_reference_work *w,
                        struct lpo_reference_answer *out)
{
    /* latent attention and a step's attention compute in 16 bits whatever the weights are in */
    bool wide = w->kind == LPO_REF_GENERATION_ATTENTION || w->kind == LPO_REF_CONTEXT_MLA ||
                w->kind == LPO_REF_GENERATION_MLA;
    const char *only[3] = { w->kind == LPO_REF_NCCL && !w->variant
                                ? w->collective ? w->collective : "all_reduce"
                                : w->variant };
    const char *const *words = only[0] ? only : spellings_of(wide ? LPO_BF16 : w->dtype);
    double shape[LPO_REF_COLUMNS] = { 0 };
    bool found = false;

    if (w->kind >= LPO_REF_KINDS || !words)
        return false;
    fill_shape(r, w, shape);
    for (int i = 0; i < 3 && words[i]; i++) {
        struct lpo_reference_answer one;

        shape[0] = lpo_reference_word(r, w->kind, words[i]);
        if (shape[0] < 0 || !lpo_reference_ask(r, w->kind, shape, &one))
            continue;
        if (!found || one.inside > out->inside ||
            (one.inside == out->inside && one.inside && one.best_us < out->best_us))
            *out = one;
        found = true;
    }
    return found;
}
