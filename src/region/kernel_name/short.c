/* SPDX-License-Identifier: Apache-2.0 */
/* Short names: of one kernel, and of all kernels of a report, each different. */
#include "region/kernel_name/short.h"

#include <ctype.h>
#include <pthread.h>

#include "region/kernel_name/parts.h"
#include "rules/rules.h"
#include "trace/demangle.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* The words of conf/rules/kernels.yaml that short names need, made once. */
struct rules {
    const struct lpo_map *types, *carriers, *wrappers, *noise, *common;
};

static struct rules short_rules;

static void read_rules(void)
{
    short_rules = (struct rules){
        .types = lpo_rules_words("kernels", "short_types", NULL),
        .carriers = lpo_rules_words("kernels", "short_carriers", NULL),
        .wrappers = lpo_rules_words("kernels", "short_words", "wrapper"),
        .noise = lpo_rules_words("kernels", "short_words", "noise"),
        .common = lpo_rules_words("kernels", "short_words", "common"),
    };
}

static const struct rules *the_rules(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, read_rules);
    return &short_rules;
}

/* "c10::BFloat16" without its scope is "bf16"; false: not a type of numbers. */
static bool short_type(struct lpo_kernel_span s, struct lpo_kernel_span *out)
{
    const char *text = lpo_rules_value(the_rules()->types, s.at, s.len);

    if (text)
        *out = (struct lpo_kernel_span){ text, strlen(text) };
    return text != NULL;
}

/* "silu_kernel_cuda" is "silu". */
static struct lpo_kernel_span without_tail(struct lpo_kernel_span s)
{
    static const char *const tails[] = { "_kernel_cuda", "_cuda_kernel", "_kernel_impl", "_kernel",
                                         "_cuda",        "CUDAKernel",   "Kernel" };

    for (size_t i = 0; i < COUNT(tails); i++)
        if (lpo_kernel_ends(s, tails[i])) {
            s.len -= strlen(tails[i]);
            break;
        }
    return s;
}

/* --- names that are one word -------------------------------------------------------------------
 *
 * Its parts between underscores say which tile, type and layout it is made for. */

typedef struct lpo_kernel_span span;

/* The next part of a name between underscores. */
static bool next_part(span s, size_t *at, span *out)
{
    size_t from = *at, i;

    while (from < s.len && s.at[from] == '_')
        from++;
    for (i = from; i < s.len && s.at[i] != '_'; i++)
        ;
    *at = i;
    *out = (span){ s.at + from, i - from };
    return i > from;
}

/* "MT64x32x8": *out is the size behind what stands before it. A whole one has an 'x'. */
static bool is_tile(span s, const char *before, bool need_whole, span *out)
{
    size_t n = strlen(before), digits;

    if (s.len <= n || memcmp(s.at, before, n) != 0)
        return false;
    *out = (span){ s.at + n, s.len - n };
    digits = lpo_kernel_digits(*out);
    return digits && (!need_whole || (digits + 1 < out->len && out->at[digits] == 'x' &&
                                      isdigit((unsigned char)out->at[digits + 1])));
}

/* What a family keeps of its parts, beside the first ones. */
static const struct family {
    const char *mark; /* its names have it; '^': at their beginning */
    const char *text; /* before what is kept */
    size_t skip;      /* bytes of the mark that are no part */
    int first;        /* parts that are kept and joined by '_' */
    const char *tile; /* stands before the tile */
    bool whole_tile;  /* which is kept too */
    bool one_tile;    /* only the first one; a name without any is of no family */
    const char *all_behind,
        *ends;  /* a part behind which all are kept; how parts that are kept end */
    bool typed; /* the first part with a digit at its end, layouts of two letters, "indexed" */
} word_families[] = {
    /* nvjet_sm90_tst_64x8_64x16_4x1_v_bz_splitK_TNT */
    { "^nvjet_", "nvjet", 6, 0, "", false, true, "bz", NULL, false },
    /* sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize32x32x8_stage3_… */
    { "_xmma_", "xmma", 6, 1, "tilesize", false, false, NULL, NULL, true },
    /* Cijk_Alik_Bljk_BBS_BH_…_MT64x32x256_…: Tensile's index names, types and macro tile */
    { "Cijk_", NULL, 0, 4, "MT", true, false, NULL, NULL, false },
    /* bmm_E2m1_E2m1E2m1_Fp32_Ab16_…_t128x32x512u2_s4_…_swiGlu_dynB_sm100f */
    { "^bmm_", "bmm", 4, 2, "t", false, true, NULL, "Glu", false },
};

static bool keeps(const struct family *f, int n, bool *typed, span part)
{
    bool type = !*typed && n && isdigit((unsigned char)part.at[part.len - 1]);

    if (!f->typed)
        return f->ends && lpo_kernel_ends(part, f->ends);
    *typed |= type;
    return type || lpo_kernel_is(part, "indexed") || (part.len == 2 && n < 8);
}

static bool add_parts(const struct family *f, span s, struct lpo_str *out)
{
    bool tile = false, behind = false, typed = false;
    span part, size;
    size_t from = out->len;
    int n = 0;

    for (size_t at = 0; next_part(s, &at, &part); n++) {
        bool has_tile = n >= f->first && is_tile(part, f->tile, f->one_tile, &size), kept;

        if (n < f->first) {
            lpo_str_addf(out, "%s%.*s",
                         n                            ? "_"
                         : out->len > from || f->text ? " "
                                                      : "",
                         (int)part.len, part.at);
            continue;
        }
        if (has_tile && (!tile || !f->one_tile)) {
            size = f->whole_tile ? part : size;
            lpo_str_addf(out, " %.*s", (int)size.len, size.at);
            if (f->typed)
                return true;
        }
        kept = behind || keeps(f, n, &typed, part);
        if (kept && !(has_tile && !tile))
            lpo_str_addf(out, " %.*s", (int)part.len, part.at);
        tile |= has_tile;
        behind |= f->all_behind && lpo_kernel_is(part, f->all_behind);
    }
    return tile || !f->one_tile;
}

/* Families of names that are one word; false: not of this family. */
static bool add_one_word(const struct lpo_kernel_parts *p, struct lpo_str *out)
{
    for (size_t i = 0; i < sizeof word_families / sizeof *word_families; i++) {
        const struct family *f = &word_families[i];
        span at = p->function;

        if (*f->mark == '^' ? !lpo_kernel_begins(at, f->mark + 1)
                            : !(at = lpo_kernel_from(at, f->mark)).at)
            continue;
        if (f->text)
            lpo_str_add(out, f->text);
        return add_parts(f, (span){ at.at + f->skip, at.len - f->skip }, out);
    }
    return false;
}

/* kernel_cutlass_kernel_<module><Class>_object_at_<types>: CuTe DSL's, of which the class says what
 * it is. */
static bool add_cute(const struct lpo_kernel_parts *p, struct lpo_str *out)
{
    span c;

    if (!lpo_kernel_begins(p->function, "kernel_cutlass_"))
        return false;
    c = without_tail(lpo_region_kernel_chosen_part(p->function));
    if (lpo_kernel_begins(c, "kernel_")) /* cut before its class */
        c = (span){ c.at + 7, c.len - 7 };
    lpo_str_addf(out, "cute<%.*s>", (int)c.len, c.at);
    return c.len > 0;
}

/* One word that is too long for a table: without parts that all of its kind have. */
static bool add_long_word(const struct lpo_kernel_parts *p, struct lpo_str *out)
{
    size_t begin = out->len;
    span w;

    if ((!lpo_kernel_from(p->function, "gemm_").at &&
         !lpo_kernel_from(p->function, "cudnn_generated_").at) ||
        p->arguments.len || p->function.len <= LPO_SHORT_NAME)
        return false;
    for (size_t at = 0; next_part(p->function, &at, &w);)
        if (!lpo_rules_value(the_rules()->common, w.at, w.len))
            lpo_str_addf(out, out->len > begin ? "_%.*s" : "%.*s", (int)w.len, w.at);
    return true;
}

/* --- other names ---------------------------------------------------------------------------------
 */

/* The short name of one kernel. */

static bool word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* The next word of `s` from *at on; what stands behind it decides whether it is a scope. */
static bool next_word(struct lpo_kernel_span s, size_t *at, struct lpo_kernel_span *out)
{
    size_t i = *at, from;

    while (i < s.len && !word(s.at[i]))
        i++;
    from = i;
    while (i < s.len && word(s.at[i]))
        i++;
    *at = i;
    *out = (struct lpo_kernel_span){ s.at + from, i - from };
    return i > from;
}

/* Words of template arguments that only wrap a functor. */
static bool wrapper(struct lpo_kernel_span w)
{
    if (lpo_rules_value(the_rules()->wrappers, w.at, w.len))
        return true;
    return isdigit((unsigned char)w.at[0]) || /* and the architecture that one is built for */
           lpo_kernel_begins(w, "enable_") ||
           (lpo_kernel_begins(w, "gfx") && isdigit((unsigned char)w.at[3]));
}

/* The first functor in template arguments, and the type it is made for. */
struct functor {
    struct lpo_kernel_span name, type;
};

static struct functor find_functor(struct lpo_kernel_span arguments)
{
    struct functor f = { { "", 0 }, { "", 0 } };
    struct lpo_kernel_span w, type;

    for (size_t at = 0; next_word(arguments, &at, &w);) {
        bool scope =
            at + 1 < arguments.len && arguments.at[at] == ':' && arguments.at[at + 1] == ':';

        if (at + 1 < arguments.len && arguments.at[at] == ')' &&
            isdigit((unsigned char)arguments.at[at + 1]))
            continue; /* nsys writes "(int)4" */
        if (short_type(w, &type)) {
            if (!f.type.len)
                f.type = type;
        } else if (!scope && !f.name.len && !wrapper(w)) {
            f.name = w;
        }
        if (f.name.len && f.type.len)
            break;
    }
    return f;
}

/* The sizes of the first cute::tuple of three: a tile of CUTLASS 3. */
static void add_tile(struct lpo_kernel_span arguments, struct lpo_str *out)
{
    static const char tuple[] = "tuple<cute::C<";
    const char *at = memmem(arguments.at, arguments.len, tuple, sizeof tuple - 1);

    while (at) {
        const char *p = at + sizeof tuple - 1, *end = arguments.at + arguments.len;
        unsigned size[3] = { 0 };
        int n = 0;

        while (n < 3 && p < end && isdigit((unsigned char)*p)) {
            for (; p < end && isdigit((unsigned char)*p) && size[n] < 100000; p++)
                size[n] = size[n] * 10 + (unsigned)(*p - '0');
            n++;
            if (end - p < 12 || memcmp(p, ">, cute::C<", 11) != 0)
                break;
            p += 11;
        }
        if (n == 3 && size[0] >= 8) {
            lpo_str_addf(out, " %ux%ux%u", size[0], size[1], size[2]);
            return;
        }
        at = memmem(at + 1, (size_t)(end - at - 1), tuple, sizeof tuple - 1);
    }
}

/* A function whose template arguments have the functor that matters. */
static bool add_carried(const struct lpo_kernel_parts *p, struct lpo_str *out)
{
    const char *text = lpo_rules_value(the_rules()->carriers, p->function.at, p->function.len);
    struct functor f;

    if (!text)
        return false;
    f = find_functor(p->arguments);
    if (!f.name.len)
        return false;
    if (lpo_kernel_begins(f.name, "cutlass_")) { /* a name of its own */
        if (!add_long_word(&(struct lpo_kernel_parts){ .function = f.name }, out))
            lpo_str_addn(out, f.name.at, f.name.len);
        return true;
    }
    f.name = without_tail(f.name);
    lpo_str_addf(out, "%s<%.*s", text, (int)f.name.len, f.name.at);
    if (f.type.len)
        lpo_str_addf(out, " %.*s", (int)f.type.len, f.type.at);
    add_tile(p->arguments, out);
    lpo_str_addc(out, '>');
    return true;
}

/* Numbers and booleans in the order they stand; -1: no such argument. */
static void find_values(struct lpo_kernel_span arguments, int *numbers, size_t count, int *bools,
                        size_t bool_count)
{
    struct lpo_kernel_span w;
    size_t n = 0, b = 0;
    int depth = 0;
    size_t was = 0;

    for (size_t at = 0; next_word(arguments, &at, &w); was = at) {
        for (size_t i = was; i < (size_t)(w.at - arguments.at); i++)
            depth += arguments.at[i] == '<' ? 1 : arguments.at[i] == '>' ? -1 : 0;
        if (isdigit((unsigned char)w.at[0]) && depth == 1 && n < count && w.len < 6) {
            int value = 0;

            for (size_t i = 0; i < w.len && isdigit((unsigned char)w.at[i]); i++)
                value = value * 10 + (w.at[i] - '0');
            numbers[n++] = value;
        }
        if (depth == 0 && b < bool_count && (lpo_kernel_is(w, "true") || lpo_kernel_is(w, "false")))
            bools[b++] = lpo_kernel_is(w, "true");
        else if (depth == 0 && b < bool_count && w.at - arguments.at > 6 &&
                 memcmp(w.at - 6, "(bool)", 6) == 0)
            bools[b++] = w.at[0] == '1';
    }
}

/* flash_fwd_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4, …>, dropout, causal, …>: the size of a
 * head, the tile, and whether the mask is causal. */
static bool add_flash(const struct lpo_kernel_parts *p, struct lpo_str *out)
{
    struct lpo_kernel_span f = without_tail(p->function);
    int numbers[3] = { -1, -1, -1 }, bools[2] = { -1, -1 };
    bool split = lpo_kernel_from(f, "splitkv").at != NULL;

    if (!lpo_kernel_begins(f, "flash_") || !lpo_kernel_from(p->arguments, "kernel_traits<").at)
        return false;
    find_values(p->arguments, numbers, 3, bools, 2);
    if (numbers[2] < 0)
        return false;
    lpo_str_addf(out, "%.*s<%d,%dx%d%s>", (int)f.len, f.at, numbers[0], numbers[1], numbers[2],
                 bools[split ? 0 : 1] == 1 ? ",causal" : "");
    return true;
}

/* "&(c10::Half vllm::silu_kernel<c10::Half>(c10::Half const&))" at *at: the function that is passed
 * on, and *at behind it. */
static bool passed_function(struct lpo_kernel_span s, size_t *at, struct lpo_kernel_span *out)
{
    size_t from = *at + 2, end = from;
    struct lpo_kernel_parts inside;
    int open = 1;

    if (s.len < from || s.at[*at] != '&' || s.at[*at + 1] != '(')
        return false;
    for (; end < s.len && open; end++)
        open += s.at[end] == '(' ? 1 : s.at[end] == ')' ? -1 : 0;
    lpo_region_kernel_parts(s.at + from, end - from - !open, &inside);
    *at = end;
    *out = without_tail(inside.function);
    return out->len > 0;
}

/* "internal::gemvx::kernel" is called by its scope. */
static struct lpo_kernel_span plain_name(const struct lpo_kernel_parts *p)
{
    size_t from = p->scope.len;

    if (!lpo_kernel_is(p->function, "kernel"))
        return p->arguments.len ? without_tail(p->function) : p->function;
    while (from && word(p->scope.at[from - 1]))
        from--;
    return from < p->scope.len ? (struct lpo_kernel_span){ p->scope.at + from, p->scope.len - from }
                               : p->function;
}

/* Behind the brackets that were opened and closed from `was` to `at`. */
static int depth_at(struct lpo_kernel_span s, size_t was, size_t at, int depth)
{
    for (size_t i = was; i < at; i++)
        depth += strchr("<({[", s.at[i]) ? 1 : strchr(">)}]", s.at[i]) ? -1 : 0;
    return depth;
}

/* "_BitInt(8)": how wide it is belongs to the type. */
static struct lpo_kernel_span with_width(struct lpo_kernel_span args, struct lpo_kernel_span w)
{
    const char *end = NULL;

    if (lpo_kernel_is(w, "_BitInt"))
        end = memchr(w.at, ')', args.len - (size_t)(w.at - args.at));
    if (end)
        w.len = (size_t)(end - w.at) + 1;
    return w;
}

static void add_argument(struct lpo_str *out, size_t begin, struct lpo_kernel_span w, bool minus)
{
    struct lpo_kernel_span type = w;
    size_t digits;

    short_type(w, &type);
    digits = lpo_kernel_digits(type);
    if (digits)
        type.len = digits;
    if (out->len > begin)
        lpo_str_addc(out, ',');
    if (digits && minus)
        lpo_str_addc(out, '-');
    lpo_str_addn(out, type.at, type.len);
}

/* Any other function: its own name and its template arguments in short: last names of scopes,
 * numbers without suffix, what is nested deeper left out. */
static bool add_plain(const struct lpo_kernel_parts *p, struct lpo_str *out)
{
    struct lpo_kernel_span f = plain_name(p), args = p->arguments, w;
    size_t begin, was = 0;
    int depth = 0;

    lpo_str_addn(out, f.at, f.len);
    if (!args.len)
        return true;
    lpo_str_addc(out, '<');
    begin = out->len;
    for (size_t at = 0; out->len - begin <= LPO_SHORT_NAME && next_word(args, &at, &w); was = at) {
        const char *passed = memchr(args.at + was, '&', (size_t)(w.at - args.at) - was);
        size_t from = passed ? (size_t)(passed - args.at) : 0, to = from;

        if (passed && passed_function(args, &to, &w)) {
            depth = depth_at(args, was, from, depth);
            at = to;
            if (depth == 0)
                add_argument(out, begin, w, false);
            continue;
        }
        depth = depth_at(args, was, (size_t)(w.at - args.at), depth);
        if (depth > 0 || lpo_kernel_is(w, "unsigned") || lpo_kernel_is(w, "const") ||
            lpo_kernel_is(w, "void") || (at + 1 < args.len && args.at[at] == ':'))
            continue;
        add_argument(out, begin, with_width(args, w), w.at > args.at && w.at[-1] == '-');
    }
    lpo_str_addc(out, '>');
    if (out->len == begin + 1)
        out->len -= 2;
    out->at[out->len] = 0;
    return true;
}

/* The bytes of the first `columns` characters. */
static size_t bytes_of_columns(const char *text, size_t len, size_t columns)
{
    size_t at = 0;

    for (size_t n = 0; at < len && n < columns; n++) {
        size_t c = lpo_str_utf8_len(text + at, len - at);

        at += c ? c : 1;
    }
    return at;
}

/* Cuts what stands behind `from` to that many columns, with "…" as the last. */
static void fit_columns(struct lpo_str *s, size_t from, size_t columns)
{
    size_t len = s->len - from;

    if (bytes_of_columns(s->at + from, len, columns) == len)
        return;
    s->len = from + bytes_of_columns(s->at + from, len, columns - 1);
    s->at[s->len] = 0;
    lpo_str_add(s, "…");
}

void lpo_region_short_name(struct lpo_kernel_span name, struct lpo_str *out)
{
    static bool (*const families[])(const struct lpo_kernel_parts *, struct lpo_str *) = {
        add_one_word, add_cute, add_long_word, add_carried, add_flash, add_plain,
    };
    const size_t from = out->len;
    struct lpo_kernel_parts parts;
    LPO_STR plain = { 0 };

    if (lpo_trace_demangle(name.at, &plain) || lpo_region_kernel_cut_mangled(name, &plain))
        name = (struct lpo_kernel_span){ plain.at, plain.len };
    lpo_region_kernel_parts(name.at, name.len, &parts);
    for (size_t i = 0; i < COUNT(families); i++) {
        lpo_str_addn(out, "", 0); /* never NULL below */
        out->len = from;
        out->at[from] = 0;
        if (families[i](&parts, out))
            break;
    }
    fit_columns(out, from, LPO_SHORT_NAME);
}

/* --- all names of a report -----------------------------------------------------------------------
 */

/* Short names of all kernels of a report, each of them different. */

enum { ROUNDS = 3, DETAIL = 24 };

struct entry {
    struct lpo_kernel_span plain; /* demangled */
    struct lpo_kernel_span words; /* of the whole name; empty until they are asked for */
    const char *base;             /* the short name by itself */
    const char *detail;           /* what tells it apart, "" so far */
    const char *text;             /* both */
    size_t index;
};

LPO_COMPARE(by_text, struct entry, LPO_TEXT(text) ?: LPO_UP(index));

/* An underscore is an edge here: of "…_64x16_4x1_v" and "…_64x16_2x1_v" one is_letter is enough. */
static bool is_letter(char c)
{
    return isalnum((unsigned char)c) || (unsigned char)c >= 0x80;
}

/* The end of a cast as nsys writes it, "(int)" in "(int)4"; `at` when there is none here. */
static size_t skip_cast(struct lpo_kernel_span s, size_t at)
{
    size_t i = at + 1;

    if (s.at[at] != '(')
        return at;
    while (i < s.len && (is_letter(s.at[i]) || strchr(" _:", s.at[i])))
        i++;
    return i + 1 < s.len && s.at[i] == ')' &&
                   (isdigit((unsigned char)s.at[i + 1]) || s.at[i + 1] == '-')
               ? i
               : at;
}

/* The words of a whole name, each with a space behind it: types in short, numbers without their
 * suffix, noise left out. Two tools write one kernel in two ways; here they are nearly the same. */
static struct lpo_kernel_span words_of(struct lpo_arena *a, struct lpo_kernel_span name)
{
    const struct lpo_map *noise = the_rules()->noise;
    LPO_STR out = { 0 };

    for (size_t i = 0; i < name.len; i++) {
        struct lpo_kernel_span w = { name.at + i, 0 }, type;
        size_t digits;

        i = skip_cast(name, i);
        while (i < name.len && is_letter(name.at[i])) {
            w.len++;
            i++;
        }
        if (!w.len || lpo_rules_value(noise, w.at, w.len))
            continue;
        digits = lpo_kernel_digits(w);
        if (digits && digits < w.len && strchr("ul", w.at[digits]))
            w.len = digits;
        if (short_type(w, &type))
            w = type;
        lpo_str_addn(&out, w.at, w.len);
        lpo_str_addc(&out, ' ');
    }
    return (struct lpo_kernel_span){ lpo_arena_strndup(a, lpo_str_text(&out), out.len), out.len };
}

/* Where the words of this run first differ. */
static size_t first_difference(const struct entry *run, size_t count)
{
    size_t same = run[0].words.len;

    for (size_t i = 1; i < count; i++) {
        size_t k = 0;

        while (k < same && k < run[i].words.len && run[i].words.at[k] == run[0].words.at[k])
            k++;
        same = k;
    }
    while (same && run[0].words.at[same - 1] != ' ')
        same--;
    return same;
}

static struct lpo_kernel_span word_at(struct lpo_kernel_span words, size_t at)
{
    const char *end = at < words.len ? memchr(words.at + at, ' ', words.len - at) : NULL;

    return end ? (struct lpo_kernel_span){ words.at + at, (size_t)(end - words.at) - at }
               : (struct lpo_kernel_span){ "-", 1 };
}

static void set_text(struct lpo_arena *a, struct entry *e, const char *number)
{
    LPO_STR tail = { 0 }, text = { 0 };

    if (*e->detail)
        lpo_str_addf(&tail, " [%s]", e->detail);
    lpo_str_add(&tail, number);
    lpo_str_add(&text, e->base);
    fit_columns(&text, 0, LPO_SHORT_NAME - bytes_of_columns(lpo_str_text(&tail), tail.len, 40));
    lpo_str_addn(&text, lpo_str_text(&tail), tail.len);
    e->text = lpo_arena_strndup(a, text.at, text.len);
}

static void add_detail(struct lpo_arena *a, struct entry *e, size_t at)
{
    struct lpo_kernel_span w = word_at(e->words, at);
    LPO_STR detail = { 0 };

    lpo_str_add(&detail, e->detail);
    if (detail.len)
        lpo_str_addc(&detail, ',');
    lpo_str_addn(&detail, w.at, w.len);
    fit_columns(&detail, 0, DETAIL);
    e->detail = lpo_arena_strndup(a, detail.at, detail.len);
    set_text(a, e, "");
}

/* One round: of those with the same text, the next is_letter that differs. */
static bool tell_apart(struct lpo_arena *a, struct entry *all, size_t count)
{
    bool changed = false;

    qsort(all, count, sizeof *all, by_text);
    for (size_t i = 0, end; i < count; i = end) {
        size_t at;

        for (end = i + 1; end < count && strcmp(all[end].text, all[i].text) == 0; end++)
            ;
        if (end - i < 2)
            continue;
        for (size_t k = i; k < end; k++)
            if (!all[k].words.at)
                all[k].words = words_of(a, all[k].plain);
        at = first_difference(all + i, end - i);
        if (at == all[i].words.len) /* no is_letter differs */
            continue;
        for (size_t k = i; k < end; k++)
            add_detail(a, &all[k], at);
        changed = true;
    }
    return changed;
}

/* What is still the same gets a number; one that is taken already is passed over. */
static void number_rest(struct lpo_arena *a, struct entry *all, size_t count)
{
    LPO_AUTO(lpo_map) taken = lpo_map_create();

    qsort(all, count, sizeof *all, by_text);
    for (size_t i = 0; i < count; i++)
        lpo_map_put(taken, all[i].text, strlen(all[i].text), NULL);
    for (size_t i = 0, end; i < count; i = end) {
        unsigned n = 2;

        for (end = i + 1; end < count && strcmp(all[end].text, all[i].text) == 0; end++)
            ;
        for (size_t k = i + 1; k < end; k++) {
            bool fresh = false;

            while (!fresh) {
                char number[16];

                snprintf(number, sizeof number, " #%u", n++);
                set_text(a, &all[k], number);
                lpo_map_put(taken, all[k].text, strlen(all[k].text), &fresh);
            }
        }
    }
}

void lpo_region_short_names(struct lpo_arena *a, const struct lpo_kernel_span *names, size_t count,
                            const char **out)
{
    LPO_FREED struct entry *all = lpo_xcalloc(count + 1, sizeof *all);

    for (size_t i = 0; i < count; i++) {
        LPO_STR plain = { 0 }, text = { 0 };
        struct entry *e = &all[i];

        *e = (struct entry){ .plain = names[i], .detail = "", .index = i };
        if (lpo_trace_demangle(names[i].at, &plain))
            e->plain =
                (struct lpo_kernel_span){ lpo_arena_strndup(a, plain.at, plain.len), plain.len };
        lpo_region_short_name(e->plain, &text);
        e->base = e->text = lpo_arena_strndup(a, lpo_str_text(&text), text.len);
    }
    for (int i = 0; i < ROUNDS && tell_apart(a, all, count); i++)
        ;
    number_rest(a, all, count);
    for (size_t i = 0; i < count; i++)
        out[all[i].index] = all[i].text;
}
