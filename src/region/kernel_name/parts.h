/* SPDX-License-Identifier: Apache-2.0 */
/* region/kernel_name/parts.h - a kernel's name taken apart, and its words.
 *
 *     void at::native::elementwise_kernel<128, 4, F>(int, F)
 *          scope       function           arguments          the parameters are left out
 *
 * Words are how names are compared: small letters, parts joined by '_', one '_' at each end.
 * "CatArrayBatchedCopy" becomes "_cat_array_batched_copy_", "conv2d" "_conv_2_d_". */
#pragma once

#include "util/base.h"

struct lpo_kernel_span {
    const char *at;
    size_t len;
};

static inline bool lpo_kernel_is(struct lpo_kernel_span s, const char *text)
{
    return s.len == strlen(text) && memcmp(s.at, text, s.len) == 0;
}

/* With something behind it, or before it. */
static inline bool lpo_kernel_begins(struct lpo_kernel_span s, const char *text)
{
    return s.len > strlen(text) && memcmp(s.at, text, strlen(text)) == 0;
}

static inline bool lpo_kernel_ends(struct lpo_kernel_span s, const char *text)
{
    size_t n = strlen(text);

    return s.len > n && memcmp(s.at + s.len - n, text, n) == 0;
}

/* From `text` on; at NULL: it is not in it. */
static inline struct lpo_kernel_span lpo_kernel_from(struct lpo_kernel_span s, const char *text)
{
    const char *at = memmem(s.at, s.len, text, strlen(text));

    return (struct lpo_kernel_span){ at, at ? s.len - (size_t)(at - s.at) : 0 };
}

static inline size_t lpo_kernel_digits(struct lpo_kernel_span s)
{
    size_t n = 0;

    while (n < s.len && s.at[n] >= '0' && s.at[n] <= '9')
        n++;
    return n;
}

/* Points into the name it was made from. */
struct lpo_kernel_parts {
    struct lpo_kernel_span scope;     /* namespaces and classes, template arguments included */
    struct lpo_kernel_span function;  /* never empty, unless the name is */
    struct lpo_kernel_span arguments; /* template arguments, without the outer < > */
    const char *cut;                  /* where a table has cut the name; NULL: it is whole */
};

/* A name that was cut inside its template arguments has them as far as they go. */
void lpo_region_kernel_parts(const char *name, size_t len, struct lpo_kernel_parts *out);

/* Appends "scope::function<word, word, " of a mangled name that was cut, and that no demangler
 * takes therefore; false (nothing appended): this is none. */
bool lpo_region_kernel_cut_mangled(struct lpo_kernel_span name, struct lpo_str *out);

/* Adds the whole of a function, or of the functor at the end of `arguments`, that a table has cut
 * where only a common one of PyTorch begins so; false: none does. What was left of the functor is
 * then taken from `arguments`. */
bool lpo_region_kernel_cut_function(struct lpo_kernel_span scope, struct lpo_kernel_span function,
                                    struct lpo_str *out);
bool lpo_region_kernel_cut_functor(struct lpo_kernel_span *arguments, struct lpo_str *out);

/* The part of a function's name that somebody chose, without what compilers put around it:
 * constants behind Triton's "…_kernel_", and module and types of one of CuTe DSL's,
 * "kernel_cutlass_kernel_<module><Class>_object_at_<types>". Else the function as it is. */
struct lpo_kernel_span lpo_region_kernel_chosen_part(struct lpo_kernel_span function);

/* The bare function of a demangled kernel name: no return type, namespace, template or parameters.
 * This is what ncu's --kernel-name matches by default. Points into `name`. */
const char *lpo_region_kernel_function(const char *name, size_t *len);

/* Appends the words of `text`, at most LPO_KERNEL_WORDS bytes of them. Types of parameters, in
 * round brackets, are left out: they say what a kernel is given, not what it does. */
enum { LPO_KERNEL_WORDS = 4096 };
void lpo_region_kernel_words(struct lpo_kernel_span text, struct lpo_str *out);

/* Is `pattern` anywhere in these words? A '_' in it is the edge of a word; elsewhere edges do not
 * count, so "rmsnorm" is in "_rms_norm_" too, unless it begins inside of a word. A '^' at its
 * beginning: only at the beginning. Words that end in LPO_KERNEL_CUT are those of a name that was
 * cut there: most of a pattern at their end is enough, "dropout" is in "_fused_dropou~". */
enum { LPO_KERNEL_CUT = '~' };
bool lpo_region_kernel_words_have(const char *words, const char *pattern);
