/* SPDX-License-Identifier: Apache-2.0 */
/* The short name of one kernel. */
#include "region/kernel_name/short.h"

#include <ctype.h>
#include <pthread.h>
#include <string.h>

#include "region/kernel_name/short_text.h"
#include "rules/rules.h"
#include "trace/demangle.h"
#include "util/str.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static struct lpo_short_rules short_rules;

static void read_rules(void)
{
    short_rules = (struct lpo_short_rules){
        .types = lpo_rules_words("kernels", "short_types", NULL),
        .carriers = lpo_rules_words("kernels", "short_carriers", NULL),
        .wrappers = lpo_rules_words("kernels", "short_words", "wrapper"),
        .noise = lpo_rules_words("kernels", "short_words", "noise"),
        .common = lpo_rules_words("kernels", "short_words", "common"),
    };
}

const struct lpo_short_rules *lpo_region_short_rules(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, read_rules);
    return &short_rules;
}

bool lpo_region_short_type(struct lpo_kernel_span s, struct lpo_kernel_span *out)
{
    const char *text = lpo_rules_value(lpo_region_short_rules()->types, s.at, s.len);

    if (text)
        *out = (struct lpo_kernel_span){ text, strlen(text) };
    return text != NULL;
}

/* "silu_kernel_cuda" is "silu". */
struct lpo_kernel_span lpo_region_short_word(struct lpo_kernel_span s)
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
    if (lpo_rules_value(lpo_region_short_rules()->wrappers, w.at, w.len))
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
        if (lpo_region_short_type(w, &type)) {
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
    const char *text =
        lpo_rules_value(lpo_region_short_rules()->carriers, p->function.at, p->function.len);
    struct functor f;

    if (!text)
        return false;
    f = find_functor(p->arguments);
    if (!f.name.len)
        return false;
    if (lpo_kernel_begins(f.name, "cutlass_")) { /* a name of its own */
        if (!lpo_region_short_long_word(&(struct lpo_kernel_parts){ .function = f.name }, out))
            lpo_str_addn(out, f.name.at, f.name.len);
        return true;
    }
    f.name = lpo_region_short_word(f.name);
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
    struct lpo_kernel_span f = lpo_region_short_word(p->function);
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
    *out = lpo_region_short_word(inside.function);
    return out->len > 0;
}

/* "internal::gemvx::kernel" is called by its scope. */
static struct lpo_kernel_span plain_name(const struct lpo_kernel_parts *p)
{
    size_t from = p->scope.len;

    if (!lpo_kernel_is(p->function, "kernel"))
        return p->arguments.len ? lpo_region_short_word(p->function) : p->function;
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

    lpo_region_short_type(w, &type);
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

size_t lpo_region_short_cut(const char *text, size_t len, size_t columns)
{
    size_t at = 0;

    for (size_t n = 0; at < len && n < columns; n++) {
        size_t c = lpo_str_utf8_len(text + at, len - at);

        at += c ? c : 1;
    }
    return at;
}

void lpo_region_short_fit(struct lpo_str *s, size_t from, size_t columns)
{
    size_t len = s->len - from;

    if (lpo_region_short_cut(s->at + from, len, columns) == len)
        return;
    s->len = from + lpo_region_short_cut(s->at + from, len, columns - 1);
    s->at[s->len] = 0;
    lpo_str_add(s, "…");
}

void lpo_region_short_name(struct lpo_kernel_span name, struct lpo_str *out)
{
    static bool (*const families[])(const struct lpo_kernel_parts *, struct lpo_str *) = {
        lpo_region_short_one_word,
        lpo_region_short_cute,
        lpo_region_short_long_word,
        add_carried,
        add_flash,
        add_plain,
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
    lpo_region_short_fit(out, from, LPO_SHORT_NAME);
}
