/* SPDX-License-Identifier: Apache-2.0 */
/* Answers: the grid of the shape's variant, interpolated between the points around it. */
#include <math.h>
#include <string.h>

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
    struct place p[REF_AXES];
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
    least = lpo_reference_roofline(r, k, shape) * 1e6;
    if (!isfinite(least))
        return false;
    out->roofline_us = least;
    out->best_us = exp(ratio) * (r->floor_us + least);
    out->error = out->inside ? stated_error(r, k, shape, out->best_us) : NAN;
    return true;
}

/* The word of a number format, as a kind's tables spell it. */
static double word_of(const struct lpo_reference *r, enum lpo_reference_kind k, enum lpo_dtype t)
{
    static const struct {
        enum lpo_dtype dtype;
        const char *words[3];
    } names[] = {
        { LPO_BF16, { "bfloat16", "half" } },    { LPO_FP16, { "float16", "bfloat16", "half" } },
        { LPO_FP8, { "fp8", "fp8_block" } },     { LPO_INT8, { "sq", "int8" } },
        { LPO_FP4, { "nvfp4", "w4a16_mxfp4" } }, { LPO_INT4, { "int4_wo" } },
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int n = 0; names[i].dtype == t && n < 3 && names[i].words[n]; n++) {
            double word = lpo_reference_word(r, k, names[i].words[n]);

            if (word >= 0)
                return word;
        }
    return -1;
}

bool lpo_reference_best(const struct lpo_reference *r, const struct lpo_reference_work *w,
                        struct lpo_reference_answer *out)
{
    enum lpo_reference_kind k = w->kind;
    double word, kv, shape[LPO_REF_COLUMNS] = { 0 };

    if (k >= LPO_REF_KINDS)
        return false;
    word = w->variant ? lpo_reference_word(r, k, w->variant) : word_of(r, k, w->dtype);
    kv = word_of(r, k, w->kv_dtype == LPO_FP8 ? LPO_FP8 : LPO_BF16);
    shape[0] = word;
    switch (k) {
    case LPO_REF_GEMM:
        memcpy(shape, (double[]){ word, w->k, w->n, w->m }, 4 * sizeof *shape);
        break;
    case LPO_REF_CONTEXT_ATTENTION:
        memcpy(shape,
               (double[]){ word, kv, w->head_dim, w->window, 0, w->kv_heads, w->heads, w->batch,
                           w->tokens },
               9 * sizeof *shape);
        /* equal heads are written as such, or as 0 in some tables */
        break;
    case LPO_REF_GENERATION_ATTENTION:
        shape[0] = word_of(r, k, LPO_BF16);
        memcpy(
            shape + 1,
            (double[]){ kv, w->head_dim, w->window, 1, w->kv_heads, w->heads, w->batch, w->cached },
            8 * sizeof *shape);
        break;
    case LPO_REF_CONTEXT_MLA:
    case LPO_REF_GENERATION_MLA:
        shape[0] = word_of(r, k, LPO_BF16);
        memcpy(shape + 1,
               (double[]){ kv, w->tp, k == LPO_REF_CONTEXT_MLA ? 0 : 1, w->heads, w->batch,
                           k == LPO_REF_CONTEXT_MLA ? w->tokens : w->cached },
               6 * sizeof *shape);
        break;
    case LPO_REF_MOE:
        memcpy(shape + 1,
               (double[]){ lpo_reference_word(r, k, "power_law_1.01"), w->hidden, w->inter,
                           w->top_k, w->experts, w->ep, w->tp, w->tokens },
               8 * sizeof *shape);
        break;
    case LPO_REF_NCCL:
        shape[0] = lpo_reference_word(r, k, w->collective ? w->collective : "all_reduce");
        shape[1] = lpo_reference_word(r, k, "half");
        shape[2] = w->ranks;
        shape[3] = w->bytes / 2;
        break;
    case LPO_REF_KINDS:
        return false;
    }
    return lpo_reference_ask(r, k, shape, out);
}
