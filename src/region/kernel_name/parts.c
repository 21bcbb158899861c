/* SPDX-License-Identifier: Apache-2.0 */
#include "region/kernel_name/parts.h"

#include <ctype.h>

#include "rules/rules.h"

static bool word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

/* Where the parameter list begins: the '(' outside <> that does not open "(anonymous namespace)"
 * or the "(lambda…)" of an enclosing scope, that is, the first not followed later by "::".
 * Tables cut long names: *cut is then the '<' that is never closed, else `len`. */
static size_t name_end(const char *name, size_t len, size_t *cut)
{
    size_t end = len, opened = len;
    int angle = 0, round = 0;

    for (size_t i = 0; i < len; i++) {
        if (name[i] == '<' && angle++ == 0)
            opened = i;
        else if (name[i] == '>' && angle && name[i - 1] != '-')
            angle--;
        else if (name[i] == '(' && !angle && round++ == 0 && end == len)
            end = i;
        else if (name[i] == ')' && !angle && round)
            round--;
        else if (name[i] == ':' && i + 1 < len && name[i + 1] == ':' && !angle && !round && end < i)
            end = len; /* that was part of a scope */
    }
    *cut = angle && end == len ? opened : len;
    return end;
}

/* Where the '<' stands that the '>' before `end` closes, or `end`: there is none. */
static size_t template_begin(const char *name, size_t end)
{
    int angle = 0;

    for (size_t from = end; from > 0; from--) {
        char c = name[from - 1];

        if (c == '>' && from > 1 && name[from - 2] == '-')
            continue; /* an arrow of decltype() */
        angle += c == '>' ? 1 : c == '<' ? -1 : 0;
        if (angle == 0)
            return from - 1;
    }
    return end;
}

/* Where the scope begins whose last character stands before `end`: behind the return type. */
static size_t scope_begin(const char *name, size_t end)
{
    int open = 0;
    size_t from = end;

    for (; from > 0; from--) {
        char c = name[from - 1];

        if (c == '>' || c == ')' || c == ']' || c == '}')
            open++;
        else if (c == '<' || c == '(' || c == '[' || c == '{')
            open--;
        else if (c == ' ' && open <= 0)
            break;
        if (open < 0)
            break;
    }
    return from;
}

static bool plain(const char *name, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!word(name[i]) && !strchr(".-:/", name[i]))
            return false;
    return !memmem(name, len, "::", 2);
}

/* Tables mark where they cut a name. */
static bool has_cut_mark(struct lpo_kernel_span s)
{
    return lpo_kernel_ends(s, "…") || lpo_kernel_ends(s, "...");
}

/* AMD's tools print the symbol of the kernel's descriptor, and of compiler's copies. */
static size_t without_suffix(struct lpo_kernel_span s)
{
    struct lpo_kernel_span clone;

    if (has_cut_mark(s))
        s.len -= 3;
    clone = lpo_kernel_from(s, " [clone ");
    if (clone.at > s.at && s.at[s.len - 1] == ']')
        s.len -= clone.len;
    return lpo_kernel_ends(s, ".kd") ? s.len - 3 : s.len;
}

/* The end of the function's own name before `end`, and its template arguments behind it. numba
 * puts a tag between the name and the parameters: "f[abi:v1]". */
static size_t function_end(const char *name, size_t end, struct lpo_kernel_span *arguments)
{
    size_t open;

    while (end && name[end - 1] == ' ')
        end--;
    if (end && name[end - 1] == ']') {
        size_t behind = lpo_kernel_from((struct lpo_kernel_span){ name, end }, "[abi:").len;

        end -= behind < end ? behind : 0;
    }
    if (!end || name[end - 1] != '>')
        return end;
    open = template_begin(name, end);
    if (open == 0 || open >= end)
        return end;
    *arguments = (struct lpo_kernel_span){ name + open + 1, end - open - 2 };
    return open;
}

void lpo_region_kernel_parts(const char *name, size_t len, struct lpo_kernel_parts *out)
{
    const bool marked = has_cut_mark((struct lpo_kernel_span){ name, len });
    size_t end, from, cut;

    len = without_suffix((struct lpo_kernel_span){ name, len });
    *out = (struct lpo_kernel_parts){ .scope = { name, 0 },
                                      .function = { name, len },
                                      .arguments = { name + len, 0 },
                                      .cut = marked ? name + len : NULL };
    if (plain(name, len)) /* "loop_add_fusion.3" is one function */
        return;
    end = name_end(name, len, &cut);
    if (cut > 0 && cut < len) {
        out->arguments = (struct lpo_kernel_span){ name + cut + 1, len - cut - 1 };
        out->cut = name + len;
        end = cut;
    } else {
        end = function_end(name, end, &out->arguments);
    }
    for (from = end; from && word(name[from - 1]); from--)
        ;
    if (from == end) { /* nothing that looks like a function: the name as it is */
        out->arguments = (struct lpo_kernel_span){ name + len, 0 };
        return;
    }
    out->function = (struct lpo_kernel_span){ name + from, end - from };
    end = from;
    if (end > 1 && name[end - 1] == ':' && name[end - 2] == ':') {
        from = scope_begin(name, end - 2);
        out->scope = (struct lpo_kernel_span){ name + from, end - 2 - from };
    }
}

const char *lpo_region_kernel_function(const char *name, size_t *len)
{
    struct lpo_kernel_span arguments;
    size_t cut, end = name_end(name, strlen(name), &cut), from;

    end = cut > 0 && name[cut] ? cut : function_end(name, end, &arguments);
    for (from = end; from && word(name[from - 1]); from--)
        ;
    if (from == end) {
        *len = strlen(name);
        return name;
    }
    *len = end - from;
    return name + from;
}

/* "BLOCK_SIZE_M_64", anywhere: large letters, then a number. */
static bool has_constants(struct lpo_kernel_span t)
{
    for (size_t i = 1; i + 1 < t.len; i++)
        if (t.at[i] == '_' && isupper((unsigned char)t.at[i - 1]) &&
            isdigit((unsigned char)t.at[i + 1]))
            return true;
    return false;
}

/* A module has small letters and its dots are gone; the class begins with the first large one. */
static struct lpo_kernel_span cute_class(struct lpo_kernel_span t)
{
    size_t from = 0, behind = lpo_kernel_from(t, "_object").len;

    if (!behind) { /* a function, or a name that was cut before its class was whole */
        t.len -= lpo_kernel_from(t, "_tensorptr").len;
        return t;
    }
    t.len -= behind;
    while (from < t.len && !isupper((unsigned char)t.at[from]))
        from++;
    return from < t.len ? (struct lpo_kernel_span){ t.at + from, t.len - from } : t;
}

struct lpo_kernel_span lpo_region_kernel_chosen_part(struct lpo_kernel_span function)
{
    static const char cute[] = "kernel_cutlass_", triton[] = "kernel_";
    const size_t begin = sizeof cute - 1, n = sizeof triton - 1;
    struct lpo_kernel_span behind;

    if (lpo_kernel_begins(function, cute))
        return cute_class((struct lpo_kernel_span){ function.at + begin, function.len - begin });
    behind = lpo_kernel_from(function, triton);
    if (behind.len > n && !lpo_kernel_begins(function, "_Z") &&
        has_constants((struct lpo_kernel_span){ behind.at + n, behind.len - n }))
        function.len -= behind.len - n + 1;
    return function;
}

/* Behind the bracket that closes the one at `i`, or the end. */
static size_t skip_brackets(struct lpo_kernel_span t, size_t i)
{
    int open = 0;

    for (; i < t.len; i++) {
        open += t.at[i] == '(' ? 1 : t.at[i] == ')' ? -1 : 0;
        if (open == 0)
            return i;
    }
    return t.len;
}

/* Does a new word begin at `i`? Where small letters turn into large ones, before the last of
 * several large letters ("RMSNorm"), and between letters and digits. */
static bool edge(struct lpo_kernel_span t, size_t i)
{
    unsigned char was = (unsigned char)t.at[i - 1], c = (unsigned char)t.at[i];
    unsigned char next = i + 1 < t.len ? (unsigned char)t.at[i + 1] : 0;

    if (isdigit(c) != isdigit(was))
        return true;
    return isupper(c) && (islower(was) || (isupper(was) && islower(next)));
}

/* FBGEMM is a library: most of its kernels read embeddings and quantize. Its name would say GEMM.
 */
static void drop_library(struct lpo_str *words, size_t from)
{
    static const char library[] = "_fbgemm_";
    const size_t cut = sizeof library - 2; /* one edge stays */
    char *at = words->at + from;

    while ((at = strstr(at, library)) != NULL) {
        memmove(at, at + cut, strlen(at + cut) + 1);
        words->len -= cut;
    }
}

/* The bracket of "&(op_add(float, float))" or "(&op_add)" holds no parameters. */
static bool of_functor(struct lpo_kernel_span t, size_t i)
{
    return (i > 0 && t.at[i - 1] == '&') || (i + 1 < t.len && t.at[i + 1] == '&');
}

void lpo_region_kernel_words(struct lpo_kernel_span t, struct lpo_str *out)
{
    size_t from = out->len;
    char last = '_';

    lpo_str_addc(out, '_');
    for (size_t i = 0; i < t.len && out->len < LPO_KERNEL_WORDS; i++) {
        unsigned char c = (unsigned char)t.at[i];

        if (c == '(' && !of_functor(t, i)) {
            i = skip_brackets(t, i);
            c = '_';
        }
        if (!isalnum(c)) {
            if (last != '_')
                lpo_str_addc(out, last = '_');
            continue;
        }
        if (last != '_' && edge(t, i))
            lpo_str_addc(out, '_');
        last = (char)tolower(c);
        lpo_str_addc(out, last);
    }
    if (last != '_')
        lpo_str_addc(out, '_');
    drop_library(out, from);
}

static size_t letters(const char *from, const char *to)
{
    size_t n = 0;

    for (; from < to; from++)
        n += *from != '_';
    return n;
}

/* The words were cut where `at` stands in the pattern: did enough of it fit? Five letters with two
 * missing at most, or twelve of a long one; one that wants no more than an edge fits. */
static bool fits_cut(const char *pattern, const char *at)
{
    size_t has = letters(pattern, at), missing = letters(at, at + strlen(at));

    return missing == 0 || (has >= 5 && missing <= 2) || has >= 12;
}

/* `inside`: the match begins within a word and ends there, or "dgrad" were in "backward_grad"; but
 * "conv1d" is in "causalconv1d". */
static bool fits_here(const char *words, const char *pattern, bool inside)
{
    const char *p = pattern;

    while (*p)
        if (*p == *words) {
            p++;
            words++;
        } else if (*words == '_' && p > pattern &&
                   (!inside || isdigit((unsigned char)words[-1]) ||
                    isdigit((unsigned char)words[1]))) {
            words++; /* the edge of a word that the pattern does not ask for */
        } else if (*words == LPO_KERNEL_CUT) {
            return !inside && fits_cut(pattern, p);
        } else {
            return false;
        }
    return true;
}

bool lpo_region_kernel_words_have(const char *words, const char *pattern)
{
    const char *at = words;

    if (*pattern == '^')
        return fits_here(words, pattern + 1, false);
    for (; (at = strchr(at, *pattern)) != NULL; at++)
        if (fits_here(at, pattern, at > words && *at != '_' && at[-1] != '_'))
            return true;
    return false;
}

/* --- names that a table has cut ------------------------------------------------------------------
 */

/* The rest of a word that a table has cut. PyTorch's own table leaves twelve letters of a function
 * behind "void at::native::(anonymous namespace)::"; which one it was can be said all the same. */

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

/* --- mangled names that were cut -----------------------------------------------------------------
 */

/* What is left of a mangled name that a table has cut: a demangler refuses it, but its words stand
 * there with their lengths, "_ZN7ck_tile6kentryILi256ENS_13FmhaFwdKernelI…". */

static bool digit(struct lpo_kernel_span t, size_t i)
{
    return i < t.len && isdigit((unsigned char)t.at[i]);
}

static bool is_word(char c)
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
    while (out->len < len && *i + out->len < t.len && is_word(out->at[out->len]))
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
