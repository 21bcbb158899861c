/* SPDX-License-Identifier: Apache-2.0 */
/* What is left of a mangled name that a table has cut: a demangler refuses it, but its words stand
 * there with their lengths, "_ZN7ck_tile6kentryILi256ENS_13FmhaFwdKernelI…". */
#include <ctype.h>
#include <string.h>

#include "region/kernel_name/parts.h"
#include "util/str.h"

static bool digit(struct lpo_kernel_span t, size_t i)
{
    return i < t.len && isdigit((unsigned char)t.at[i]);
}

static bool word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* The word whose length stands at *i, as much of it as there is. *cut: that is not all. */
static bool next_word(struct lpo_kernel_span t, size_t *i, struct lpo_kernel_span *out, bool *cut)
{
    size_t len = 0;

    *cut = false;
    if (!digit(t, *i))
        return false;
    for (; digit(t, *i); ++*i)
        len = len < t.len ? len * 10 + (size_t)(t.at[*i] - '0') : len;
    *out = (struct lpo_kernel_span){ t.at + *i, 0 };
    while (out->len < len && *i + out->len < t.len && word(out->at[out->len]))
        out->len++; /* not into the mark of the cut */
    *cut = out->len < len;
    *i += out->len;
    return out->len > 0;
}

/* Behind a name that was there before ("S_", "S1_", "St"), or `i`: there is none. */
static size_t skip_repeated(struct lpo_kernel_span t, size_t i)
{
    if (i + 1 >= t.len || t.at[i] != 'S')
        return i;
    if (islower((unsigned char)t.at[i + 1]))
        return i + 2;
    for (i++; i < t.len && isalnum((unsigned char)t.at[i]); i++)
        ;
    return i < t.len ? i + 1 : i;
}

/* Behind a number that is a template argument ("Li256E") or the size of a type ("DF16b", "DB8_"),
 * or `i`. */
static size_t skip_number(struct lpo_kernel_span t, size_t i)
{
    size_t end = i + 2;

    if (end < t.len && t.at[i] == 'D' && strchr("FBU", t.at[i + 1])) {
        while (digit(t, end))
            end++;
        return end < t.len && (t.at[end] == 'b' || t.at[end] == '_') ? end + 1 : end;
    }
    if (end >= t.len || t.at[i] != 'L' || !islower((unsigned char)t.at[i + 1]))
        return i;
    if (t.at[end] == 'n')
        end++;
    if (!digit(t, end))
        return i;
    while (digit(t, end))
        end++;
    return end;
}

static void add_arguments(struct lpo_kernel_span t, size_t i, struct lpo_str *out)
{
    struct lpo_kernel_span w;
    bool cut;

    lpo_str_addc(out, '<');
    while (i < t.len && out->len < LPO_KERNEL_WORDS) {
        size_t behind = skip_number(t, i);

        if (behind == i)
            behind = skip_repeated(t, i);
        if (behind > i)
            i = behind;
        else if (!digit(t, i))
            i++;
        else if (next_word(t, &i, &w, &cut))
            lpo_str_addf(out, "%.*s, ", (int)w.len, w.at);
    }
}

bool lpo_region_kernel_cut_mangled(struct lpo_kernel_span t, struct lpo_str *out)
{
    const size_t from = out->len;
    struct lpo_kernel_span w;
    bool cut = false;
    size_t i = 2;

    if (t.len < 4 || memcmp(t.at, "_Z", 2) != 0)
        return false;
    while (i < t.len && strchr("NKVrL", t.at[i]))
        i++;
    for (;;) {
        size_t behind = skip_repeated(t, i);

        if (behind > i)
            i = behind;
        else if (next_word(t, &i, &w, &cut))
            lpo_str_addf(out, "%s%.*s%s", out->len > from ? "::" : "", (int)w.len, w.at,
                         cut ? "..." : "");
        else
            break;
    }
    if (out->len == from)
        return false;
    if (i < t.len && t.at[i] == 'I')
        add_arguments(t, i + 1, out);
    return true;
}
