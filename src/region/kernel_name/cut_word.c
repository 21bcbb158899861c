/* SPDX-License-Identifier: Apache-2.0 */
/* The rest of a word that a table has cut. PyTorch's own table leaves twelve letters of a function
 * behind "void at::native::(anonymous namespace)::"; which one it was can be said all the same. */
#include <ctype.h>
#include <string.h>

#include "region/kernel_name/parts.h"
#include "rules/rules.h"
#include "util/err.h"
#include "util/str.h"

/* Does `t` end in at::native's scope, or in one without a name inside of it? */
static bool in_native(struct lpo_kernel_span t)
{
    static const char *const ends[] = { "at::native", "at::native::(anonymous namespace)",
                                        "at::native::<unnamed>", "at::native::_GLOBAL__N_1" };

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t n = strlen(ends[i]);

        if (t.len >= n && memcmp(t.at + t.len - n, ends[i], n) == 0)
            return true;
    }
    return false;
}

struct search {
    struct lpo_kernel_span begin;
    const char *kind;
    struct lpo_str *found;
};

/* Of several that begin alike the first is the most common one. */
static int compare_word(void *ctx, const char *kind, const char *word, size_t len,
                        struct lpo_err *err)
{
    struct search *s = ctx;

    (void)err;
    if (!s->found->len && strcmp(kind, s->kind) == 0 && len >= s->begin.len &&
        memcmp(word, s->begin.at, s->begin.len) == 0)
        lpo_str_addn(s->found, word, len);
    return 0;
}

static bool find_whole(const char *kind, struct lpo_kernel_span begin, struct lpo_str *out)
{
    struct search s = { begin, kind, out };
    struct lpo_err err = { 0 };

    lpo_rules_each(lpo_rules("kernels"), "pytorch", compare_word, &s, &err);
    return out->len > 0;
}

bool lpo_region_kernel_cut_function(struct lpo_kernel_span scope, struct lpo_kernel_span function,
                                    struct lpo_str *out)
{
    return function.len >= 7 && in_native(scope) && find_whole("function", function, out);
}

bool lpo_region_kernel_cut_functor(struct lpo_kernel_span *arguments, struct lpo_str *out)
{
    struct lpo_kernel_span before = *arguments, word;

    while (before.len &&
           (isalnum((unsigned char)before.at[before.len - 1]) || before.at[before.len - 1] == '_'))
        before.len--;
    word = (struct lpo_kernel_span){ before.at + before.len, arguments->len - before.len };
    if (word.len < 3 || before.len < 2 || memcmp(word.at - 2, "::", 2) != 0)
        return false;
    before.len -= 2;
    if (!in_native(before) || !find_whole("functor", word, out))
        return false;
    arguments->len -= word.len;
    return true;
}
