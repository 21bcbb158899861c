/* SPDX-License-Identifier: Apache-2.0 */
/* Names that compilers write: PyTorch's (Triton), XLA, TensorRT's Myelin, tinygrad. They list
 * operators, of which those that only move data decide nothing where another one computes. */
#include <ctype.h>
#include <string.h>

#include "region/kernel_name/class_rules.h"
#include "region/kernel_name/parts.h"

/* What an operator in such a name does. */
enum op {
    OP_NOTHING = 0, /* a word of the compiler, or a product that another kernel computes */
    OP_MOVES = 1,
    OP_READS = 2, /* reads or writes by index */
    OP_COMPUTES = 4,
    OP_SELECTS = 8, /* PyTorch's takes a slice, XLA's chooses between two values */
};

static const struct op_name {
    const char *words;
    enum op op;
} op_names[] = {
    { "to_copy", OP_MOVES },
    { "unsafe_view", OP_MOVES },
    { "view_as", OP_MOVES },
    { "view", OP_MOVES },
    { "constant_pad_nd", OP_MOVES },
    { "clone", OP_MOVES },
    { "slice_scatter", OP_MOVES },
    { "slice", OP_MOVES },
    { "cat", OP_MOVES },
    { "permute", OP_MOVES },
    { "copy", OP_MOVES },
    { "transpose", OP_MOVES },
    { "stack", OP_MOVES },
    { "expand", OP_MOVES },
    { "select_scatter", OP_MOVES },
    { "unsqueeze", OP_MOVES },
    { "squeeze", OP_MOVES },
    { "reshape", OP_MOVES },
    { "split_with_sizes", OP_MOVES },
    { "split", OP_MOVES },
    { "chunk", OP_MOVES },
    { "full_like", OP_MOVES },
    { "full", OP_MOVES },
    { "zeros", OP_MOVES },
    { "zeros_like", OP_MOVES },
    { "new_zeros", OP_MOVES },
    { "zero", OP_MOVES },
    { "ones", OP_MOVES },
    { "ones_like", OP_MOVES },
    { "new_ones", OP_MOVES },
    { "fill", OP_MOVES },
    { "repeat", OP_MOVES },
    { "as_strided", OP_MOVES },
    { "empty", OP_MOVES },
    { "alias", OP_MOVES },
    { "detach", OP_MOVES },
    { "t", OP_MOVES },
    { "lift_fresh", OP_MOVES },
    { "roll", OP_MOVES },
    { "flip", OP_MOVES },
    { "moe_forward", OP_MOVES },
    { "unbind", OP_MOVES },
    { "contiguous", OP_MOVES },
    { "convert_element_type", OP_MOVES },
    { "pixel_shuffle", OP_MOVES },
    { "reflection_pad", OP_MOVES },
    { "replication_pad", OP_MOVES },
    /* XLA's */
    { "convert", OP_MOVES },
    { "bitcast", OP_MOVES },
    { "bitcast_convert", OP_MOVES },
    { "broadcast", OP_MOVES },
    { "concatenate", OP_MOVES },
    { "pad", OP_MOVES },
    { "reverse", OP_MOVES },
    { "dynamic_slice", OP_MOVES },
    { "dynamic_update_slice", OP_MOVES },
    /* Myelin's, often cut to three or four letters */
    { "move", OP_MOVES },
    { "mov", OP_MOVES },
    { "cast", OP_MOVES },
    { "cas", OP_MOVES },
    { "tran", OP_MOVES },
    { "tra", OP_MOVES },
    { "resh", OP_MOVES },
    { "res", OP_MOVES },
    { "rep", OP_MOVES },
    { "repl", OP_MOVES },
    { "replicate", OP_MOVES },
    { "conc", OP_MOVES },
    { "slic", OP_MOVES },
    { "sli", OP_MOVES },
    { "unsq", OP_MOVES },
    { "bro", OP_MOVES },
    /* by index */
    { "index", OP_READS },
    { "index_select", OP_READS },
    { "index_put", OP_READS },
    { "index_add", OP_READS },
    { "gather", OP_READS },
    { "gath", OP_READS },
    { "scatter", OP_READS },
    { "scat", OP_READS },
    { "embedding", OP_READS },
    { "select", OP_SELECTS },
    /* computed by the kernel before or behind this one */
    { "bmm", OP_NOTHING },
    { "mm", OP_NOTHING },
    { "scaled_mm", OP_NOTHING },
    { "unquantized_gemm", OP_NOTHING },
    { "rocm_unquantized_gemm", OP_NOTHING },
    { "marlin_gemm", OP_NOTHING },
    { "linear", OP_NOTHING },
    { "scaled_dot_product_flash_attention", OP_NOTHING },
    { "scaled_dot_product_efficient_attention", OP_NOTHING },
    { "scaled_dot_product_cudnn_attention", OP_NOTHING },
    { "scaled_dot_product_attention", OP_NOTHING },
    { "loop", OP_NOTHING },
    { "input", OP_NOTHING },
    { "wrapped", OP_NOTHING },
    { "fusion", OP_NOTHING },
    { "triton", OP_NOTHING },
    { "poi", OP_NOTHING },
    { "fused", OP_NOTHING },
    { "myl", OP_NOTHING },
    { "bb", OP_NOTHING }, /* a block of Myelin's program: "__myl_bb1_2_TraSli" */
};

static bool ends_word(char c)
{
    return c == '_' || c == LPO_KERNEL_CUT;
}

static const struct op_name *op_here(const char *words, size_t *len)
{
    const struct op_name *best = NULL;

    *len = 0;
    for (size_t i = 0; i < sizeof op_names / sizeof *op_names; i++) {
        size_t n = strlen(op_names[i].words);

        if (n > *len && strncmp(words, op_names[i].words, n) == 0 && ends_word(words[n])) {
            best = &op_names[i];
            *len = n;
        }
    }
    return best;
}

/* Older versions of Triton put behind a name which arguments can be divided by 16: "_0d1d2de". */
static bool is_divisor_mark(const char *word)
{
    size_t len = strcspn(word, "_~");

    return len <= 2 && strspn(word, "cde") == len;
}

/* All that these operators do, "add_clone_3_": a set of enum op. */
static unsigned ops_of(const char *words)
{
    bool after_number = false;
    unsigned all = 0;

    while (*words && strncmp(words, "0_x", 3) != 0) { /* a hash ends Myelin's */
        size_t len;
        const struct op_name *op = op_here(words, &len);

        if (op)
            all |= op->op;
        else if (!isdigit((unsigned char)*words) && !(after_number && is_divisor_mark(words)))
            all |= OP_COMPUTES;
        after_number = isdigit((unsigned char)*words);
        if (!op)
            len = strcspn(words, "_~");
        words += len + ends_word(words[len]);
    }
    return all;
}

/* PyTorch's compiler writes the kind of a kernel and its operators into the name. */
static const struct compiled {
    const char *kind, *operators, *also; /* patterns; NULL: any */
    enum lpo_region_kernel_class class;
} inductor[] = {
    { "^_triton_tem_", "attention", NULL, LPO_CLASS_ATTENTION },
    { "^_triton_tem_", "_conv", NULL, LPO_CLASS_CONVOLUTION },
    { "^_triton_tem_", NULL, NULL, LPO_CLASS_GEMM },
    { "^_triton_poi_", "embedding", NULL, LPO_CLASS_INDEXING },
    { "^_triton_poi_fused_index_", NULL, NULL, LPO_CLASS_INDEXING },
    { "^_triton_poi_fused_gather_", NULL, NULL, LPO_CLASS_INDEXING },
    { "^_triton_poi_", "scatter_", NULL, LPO_CLASS_INDEXING },
    { "^_triton_poi_", "index_put", NULL, LPO_CLASS_INDEXING },
    { "^_triton_poi_", "_bernoulli_", NULL, LPO_CLASS_RANDOM },
    { "^_triton_poi_fused_rand", NULL, NULL, LPO_CLASS_RANDOM },
    /* the elements of a norm whose sums are known */
    { "^_triton_poi_", "normbackward", NULL, LPO_CLASS_ELEMENTWISE },
    { "^_triton_poi_", "batchnorm_", NULL, LPO_CLASS_NORM },
    { "^_triton_poi_", "layernorm_", NULL, LPO_CLASS_NORM },
    { "^_triton_poi_", "groupnorm_", NULL, LPO_CLASS_NORM },
    { "^_triton_poi_", "_mean_", "rsqrt", LPO_CLASS_NORM },
    { "^_triton_poi_", "rotary", NULL, LPO_CLASS_ROTARY },
    /* one half of a head is negated, then both are put together */
    { "^_triton_poi_", "_neg_", "_cat_", LPO_CLASS_ROTARY },
    { "^_triton_poi_", "_neg_", "_stack_", LPO_CLASS_ROTARY },
    { "^_triton_poi_", "_cos_", "_exp_", LPO_CLASS_ELEMENTWISE }, /* the step of a diffusion */
    { "^_triton_poi_", "_cos_", "_sin_slice", LPO_CLASS_ROTARY },
    { "^_triton_poi_", "_cos_", "_sin_split", LPO_CLASS_ROTARY },
    { "^_triton_poi_", "_pool", "_backward_", LPO_CLASS_OTHER },
    { "^_triton_poi_", "avgpool", NULL, LPO_CLASS_REDUCTION },
    { "^_triton_poi_", "maxpool", NULL, LPO_CLASS_REDUCTION },
    { "^_triton_poi_", NULL, NULL, LPO_CLASS_ELEMENTWISE },
    { "^_triton_for_", "_adam", NULL, LPO_CLASS_OPTIMIZER },
    { "^_triton_for_", "_sgd_", NULL, LPO_CLASS_OPTIMIZER },
    { "^_triton_for_", NULL, NULL, LPO_CLASS_ELEMENTWISE },
    /* what is left reduces: triton_red, triton_per, triton_split_scan */
    { NULL, "rmsnorm_", NULL, LPO_CLASS_NORM },
    { NULL, "layernorm_", NULL, LPO_CLASS_NORM },
    { NULL, "batchnorm_", NULL, LPO_CLASS_NORM },
    { NULL, "groupnorm_", NULL, LPO_CLASS_NORM },
    { NULL, "rsqrt", NULL, LPO_CLASS_NORM },
    { NULL, "vectornorm_", NULL, LPO_CLASS_REDUCTION },
    { NULL, "norm_", NULL, LPO_CLASS_NORM },
    { NULL, "softmax", NULL, LPO_CLASS_SOFTMAX },
    { NULL, "_nll_loss", NULL, LPO_CLASS_SOFTMAX },
    { NULL, "crossentropy", NULL, LPO_CLASS_SOFTMAX },
    { NULL, "logsumexp", NULL, LPO_CLASS_SOFTMAX },
    { NULL, "_amax_", "_exp_", LPO_CLASS_SOFTMAX },
    { NULL, "_sort_", NULL, LPO_CLASS_SORTING },
    /* cut: the operators are in the order of the alphabet, and "pow", "rsqrt" would follow */
    { "^_triton_red_", "_mean_", "~", LPO_CLASS_NORM },
    { "^_triton_per_", "_mean_", "~", LPO_CLASS_NORM },
    { "^_triton_red_", NULL, NULL, LPO_CLASS_REDUCTION },
    { "^_triton_per_", NULL, NULL, LPO_CLASS_REDUCTION },
    { "^_triton_split_scan_", NULL, NULL, LPO_CLASS_REDUCTION },
    { NULL, "_sum_", NULL, LPO_CLASS_REDUCTION },
    { NULL, "_mean_", NULL, LPO_CLASS_REDUCTION },
    { NULL, NULL, NULL, LPO_CLASS_ELEMENTWISE },
};

/* The name of one of XLA's fusions is a list of operators too, in the order of the alphabet. */
static const struct compiled xla[] = {
    { "^_input_fusion_", NULL, NULL, LPO_CLASS_REDUCTION },
    { NULL, "attention", NULL, LPO_CLASS_ATTENTION },
    { NULL, "fmha", NULL, LPO_CLASS_ATTENTION },
    { NULL, "allreduce", NULL, LPO_CLASS_COLLECTIVE },
    { NULL, "allgather", NULL, LPO_CLASS_COLLECTIVE },
    { NULL, "reducescatter", NULL, LPO_CLASS_COLLECTIVE },
    { NULL, "collective", NULL, LPO_CLASS_COLLECTIVE },
    { NULL, "softmax", NULL, LPO_CLASS_SOFTMAX },
    { NULL, "norm_", NULL, LPO_CLASS_NORM },
    { NULL, "gemm", NULL, LPO_CLASS_GEMM },
    { NULL, "_dot_", NULL, LPO_CLASS_GEMM },
    { NULL, "_conv_", NULL, LPO_CLASS_CONVOLUTION },
    { NULL, "convolution", NULL, LPO_CLASS_CONVOLUTION },
    { NULL, "reduce", NULL, LPO_CLASS_REDUCTION },
    { NULL, "_sort_", NULL, LPO_CLASS_SORTING },
    { NULL, "_rng_", NULL, LPO_CLASS_RANDOM },
    { NULL, "gather", NULL, LPO_CLASS_INDEXING },
    { NULL, "scatter", NULL, LPO_CLASS_INDEXING },
    { NULL, NULL, NULL, LPO_CLASS_ELEMENTWISE },
};

/* Myelin cuts operators to three or four letters: "__myl_MulMeaAddSqrDivMul". */
static const struct compiled myelin[] = {
    { NULL, "softmax", NULL, LPO_CLASS_SOFTMAX },    { NULL, "_exp_", "_max_", LPO_CLASS_SOFTMAX },
    { NULL, "_exp_", "_sum_", LPO_CLASS_SOFTMAX },   { NULL, "_fc_", NULL, LPO_CLASS_GEMM },
    { NULL, "gemm", NULL, LPO_CLASS_GEMM },          { NULL, "matmul", NULL, LPO_CLASS_GEMM },
    { NULL, "_conv_", NULL, LPO_CLASS_CONVOLUTION }, { NULL, "_mea_", "_sqr", LPO_CLASS_NORM },
    { NULL, "_mean_", "sqr", LPO_CLASS_NORM },       { NULL, "_mea", NULL, LPO_CLASS_REDUCTION },
    { NULL, "_sum_", NULL, LPO_CLASS_REDUCTION },    { NULL, "_red", NULL, LPO_CLASS_REDUCTION },
    { NULL, "_topk", NULL, LPO_CLASS_SORTING },      { NULL, NULL, NULL, LPO_CLASS_ELEMENTWISE },
};

static bool find_row(const struct compiled *rows, size_t count, const char *words,
                     enum lpo_region_kernel_class *out)
{
    for (size_t i = 0; i < count; i++) {
        const char *patterns[] = { rows[i].kind, rows[i].operators, rows[i].also };
        bool fits = true;

        for (size_t p = 0; p < 3; p++)
            fits = fits && (!patterns[p] || lpo_region_kernel_words_have(words, patterns[p]));
        if (fits) {
            *out = rows[i].class;
            return true;
        }
    }
    return false;
}

/* How the names of a compiler begin, and the operators of which a copy consists; 0: kernels of this
 * kind never copy. */
static const struct family {
    const char *begin, *also; /* patterns; NULL: any */
    unsigned moves;
    const struct compiled *rows;
    size_t count;
} families[] = {
#define ROWS(table) table, sizeof(table) / sizeof *(table)
    { "^_triton_poi_fused_", NULL, OP_MOVES | OP_SELECTS, ROWS(inductor) },
    { "^_triton_poi_", NULL, 0, ROWS(inductor) },
    { "^_triton_red_", NULL, 0, ROWS(inductor) },
    { "^_triton_per_", NULL, 0, ROWS(inductor) },
    { "^_triton_tem_", NULL, 0, ROWS(inductor) },
    { "^_triton_for_", NULL, 0, ROWS(inductor) },
    { "^_triton_split_scan_", NULL, 0, ROWS(inductor) },
    { "^_triton_fused_", NULL, OP_MOVES | OP_SELECTS, ROWS(inductor) },
    { "^_loop_", "_fusion_", OP_MOVES, ROWS(xla) },
    { "^_input_", "_fusion_", OP_MOVES, ROWS(xla) },
    { "^_wrapped_", NULL, OP_MOVES, ROWS(xla) },
    { "^_myl_", NULL, OP_MOVES, ROWS(myelin) },
#undef ROWS
};

/* tinygrad's names are the sizes of its loops: "E_4096_32" computes elements, "r_16_8_4" reduces.
 */
static bool tinygrad(const char *words, enum lpo_region_kernel_class *out)
{
    const char *p = words + 3;

    if (strncmp(words, "_e_", 3) != 0 && strncmp(words, "_r_", 3) != 0)
        return false;
    for (; *p; p++)
        if (!isdigit((unsigned char)*p) && *p != '_' && *p != 'n') /* n: one more of that name */
            return false;
    *out = words[1] == 'e' ? LPO_CLASS_ELEMENTWISE : LPO_CLASS_REDUCTION;
    return p > words + 3;
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
    *out = LPO_CLASS_ELEMENTWISE;
    if (listed(word, len, " is ia sa "))
        *out = LPO_CLASS_INDEXING;
    else if ((word[0] != 'u' && word[0] != 'b') || !listed(word + 1, len - 1, ops))
        return false;
    return true;
}

static bool family_class(const struct family *f, const char *words,
                         enum lpo_region_kernel_class *out)
{
    unsigned ops = f->moves ? ops_of(words + 1) : OP_COMPUTES;

    if (!ops || ops & ~(f->moves | OP_READS))
        return find_row(f->rows, f->count, words, out);
    *out = ops & OP_READS ? LPO_CLASS_INDEXING : LPO_CLASS_COPY;
    return true;
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
    const char *at = strstr(words, last), *p;

    if (!at || at == words) /* "fusion_3" lists no operators */
        return false;
    for (p = at + sizeof last - 1; *p; p++)
        if (!isdigit((unsigned char)*p) && *p != '_')
            return false;
    return true;
}

bool lpo_region_class_compiled(const char *words, enum lpo_region_kernel_class *out)
{
    static const struct family bare = { NULL, NULL, OP_MOVES, xla, sizeof xla / sizeof *xla };

    words = inductor_begin(words);
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (lpo_region_kernel_words_have(words, families[i].begin) &&
            (!families[i].also || lpo_region_kernel_words_have(words, families[i].also)))
            return family_class(&families[i], words, out);
    if (ends_in_fusion(words))
        return family_class(&bare, words, out);
    return tinygrad(words, out) || candle(words, out);
}
