/* SPDX-License-Identifier: Apache-2.0 */
/* Names that compilers write: PyTorch's (Triton), XLA, TensorRT's Myelin, tinygrad, candle. They
 * list operators, of which those that only move data decide nothing where another one computes. */
#include <ctype.h>
#include <string.h>

#include "region/kernel_name/class_rules.h"
#include "region/kernel_name/parts.h"
#include "rules/rules.h"
#include "util/map.h"

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

bool lpo_region_class_compiled(const struct lpo_class_rules *rules, const char *words,
                               struct lpo_class_decision *out)
{
    const struct lpo_class_rule *r, *by;
    unsigned ops = LPO_OP_COMPUTES;

    *out = (struct lpo_class_decision){ LPO_CLASS_OTHER, NULL };
    words = inductor_begin(words);
    r = lpo_region_class_find(&rules->compilers, words, NULL);
    if (!r && ends_in_fusion(words))
        r = lpo_region_class_find(&rules->compilers, "_loop_x_fusion_", NULL);
    if (!r)
        return tinygrad(words, &out->class) || candle(words, &out->class);
    if (r->moves)
        ops = ops_of(words + 1);
    by = r->by ? lpo_region_class_find(r->by, words, NULL) : NULL;
    *out = (struct lpo_class_decision){ by ? by->class : r->class, by ? by : r };
    if (!(ops & ~(r->moves | LPO_OP_READS)))
        out->class = ops & LPO_OP_READS ? LPO_CLASS_INDEXING : ops ? LPO_CLASS_COPY : out->class;
    return true;
}
