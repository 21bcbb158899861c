/* SPDX-License-Identifier: Apache-2.0 */
#include "report/top_yaml.h"

#include <ctype.h>

#include "region/cells.h"
#include "util/json_write.h"
#include "util/visible.h"

static void add_escaped(struct lpo_str *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] && strchr("\\^$.[]|()?*+{}", text[i]))
            lpo_str_addc(out, '\\');
        lpo_str_addc(out, text[i]);
    }
}

void lpo_report_kernel_regex(struct lpo_str *out, const char *name)
{
    size_t len;
    const char *text = lpo_region_kernel_function(name, &len);

    lpo_str_addc(out, '^');
    add_escaped(out, text, len);
    lpo_str_addc(out, '$');
}

/* --- one instance of a template, as any demangler prints it --------------------------------- */

/* Demanglers differ in blanks, in how they write constants ("4", "(int)4", "4u"; "true",
 * "(bool)1"), lambdas ("{lambda(int)#1}", "[lambda(int) (instance 1)]") and unnamed namespaces. */
struct scan {
    const char *at, *end;
    struct lpo_str *out;
};

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

static bool skip(struct scan *s, const char *text)
{
    size_t len = strlen(text);

    if ((size_t)(s->end - s->at) < len || strncmp(s->at, text, len) != 0)
        return false;
    s->at += len;
    return true;
}

/* The number of "(int)4", or of a bare 4: how far its cast goes; 0: there is none here. */
static size_t cast_of(const struct scan *s)
{
    const char *p = s->at;

    if (*p != '(')
        return 0;
    for (p++; p < s->end && (islower((unsigned char)*p) || *p == ' '); p++)
        ;
    if (p + 1 >= s->end || *p != ')' || (!isdigit((unsigned char)p[1]) && p[1] != '-'))
        return 0;
    return (size_t)(p + 1 - s->at);
}

static void add_number(struct scan *s, bool boolean)
{
    size_t n = *s->at == '-';

    while (s->at + n < s->end && isdigit((unsigned char)s->at[n]))
        n++;
    if (boolean)
        lpo_str_add(s->out,
                    s->at[n - 1] == '0' ? "(\\(bool\\))?(0|false)" : "(\\(bool\\))?(1|true)");
    else
        lpo_str_addf(s->out, "(\\([a-z ]+\\))?%.*s[ul]*", (int)n, s->at);
    s->at += n;
    while (s->at < s->end && strchr("uUlL", *s->at))
        s->at++;
}

static bool add_constant(struct scan *s, char before)
{
    size_t cast = cast_of(s);
    bool boolean = cast && strncmp(s->at, "(bool)", 6) == 0;

    if (cast) {
        s->at += cast;
        add_number(s, boolean);
        return true;
    }
    if (is_word(before))
        return false;
    if (isdigit((unsigned char)*s->at) ||
        (*s->at == '-' && s->at + 1 < s->end && isdigit((unsigned char)s->at[1]))) {
        add_number(s, false);
        return true;
    }
    if (skip(s, "true"))
        lpo_str_add(s->out, "(\\(bool\\))?(1|true)");
    else if (skip(s, "false"))
        lpo_str_add(s->out, "(\\(bool\\))?(0|false)");
    else
        return false;
    return true;
}

/* The number of a lambda: "#1}" or " (instance 1)]". */
static bool add_instance(struct scan *s)
{
    const char *rest = s->at;
    size_t n;

    if (!skip(s, "#") && !skip(s, " (instance "))
        return false;
    n = strspn(s->at, "0123456789");
    if (!n || (s->at[n] != '}' && s->at[n] != ')')) {
        s->at = rest;
        return false;
    }
    lpo_str_addf(s->out, "( \\(instance |#)%.*s\\)?[\\]}]", (int)n, s->at);
    s->at += n;
    if (!skip(s, ")]"))
        s->at++;
    return true;
}

static void add_sign(struct scan *s, char before)
{
    if (skip(s, "(anonymous namespace)") || skip(s, "<unnamed>")) {
        lpo_str_add(s->out, "(\\(anonymous namespace\\)|<unnamed>)");
    } else if (skip(s, "{lambda") || skip(s, "[lambda")) {
        lpo_str_add(s->out, "[\\[{]lambda");
    } else if (*s->at == ' ') {
        s->at++;
        if (s->at < s->end && strchr("*&>(", *s->at) && !cast_of(s))
            return; /* these bring their own */
        lpo_str_add(s->out, is_word(before) && s->at < s->end && is_word(*s->at) ? " " : " ?");
    } else {
        if (strchr("*&>(", *s->at))
            lpo_str_add(s->out, " ?");
        add_escaped(s->out, s->at++, 1);
    }
}

/* The parameters are left out: one demangler has "(int, T2)" where another has the types. */
static void add_instance_regex(struct lpo_str *out, const char *name,
                               const struct lpo_kernel_parts *parts)
{
    const char *from = parts->scope.len ? parts->scope.at : parts->function.at;
    struct scan s = { from, parts->arguments.at + parts->arguments.len, out };

    lpo_str_add(out, from == name ? "^" : "(^| )");
    while (s.at < s.end) {
        char before = s.at > from ? s.at[-1] : '\0';

        if (!add_instance(&s) && !add_constant(&s, before))
            add_sign(&s, before);
    }
    lpo_str_add(out, " ?>( ?\\(|$)");
}

const char *lpo_report_kernel_pattern(struct lpo_str *out, const char *name, const char *linker)
{
    struct lpo_kernel_parts parts;

    if (linker && *linker) {
        lpo_str_addc(out, '^');
        add_escaped(out, linker, strlen(linker));
        lpo_str_addc(out, '$');
        return "mangled";
    }
    lpo_region_kernel_parts(name, strlen(name), &parts);
    if (!parts.arguments.len || parts.cut) {
        lpo_report_kernel_regex(out, name);
        return "function";
    }
    add_instance_regex(out, name, &parts);
    return "demangled";
}

/* A double-quoted YAML scalar. Not a JSON string: a surrogate pair is two characters to YAML, and
 * YAML folds U+0085, U+2028 and U+2029 as line ends and refuses controls, U+FFFE and U+FFFF. */
static void add_quoted(struct lpo_str *out, const char *text, size_t len)
{
    lpo_str_addc(out, '"');
    for (size_t i = 0; i < len;) {
        size_t n = lpo_str_utf8_len(text + i, len - i);
        uint32_t cp = n ? lpo_str_code_point(text + i, n) : 0xfffd;

        if (cp == '"' || cp == '\\')
            lpo_str_addf(out, "\\%c", (int)cp);
        else if (cp > 0xffff && lpo_visible_hidden(cp))
            lpo_str_addf(out, "\\U%08x", cp);
        else if (lpo_visible_hidden(cp) || cp == 0xfffe || cp == 0xffff)
            lpo_str_addf(out, "\\u%04x", cp);
        else
            lpo_str_add_utf8(out, cp);
        i += n ? n : 1;
    }
    lpo_str_addc(out, '"');
}

/* Of all launches of each row, those of the shape with the most GPU time. */
static void find_shapes(const struct lpo_trace *t, const struct lpo_top_row *rows, size_t count,
                        uint32_t *shapes)
{
    LPO_FREED struct lpo_map_pair map = { 0 };
    LPO_FREED LPO_VEC(int64_t) sums = { 0 };
    LPO_FREED int64_t *best = calloc(lpo_trace_name_count(t) + 1, sizeof *best);
    LPO_FREED uint32_t *shape = malloc((lpo_trace_name_count(t) + 1) * sizeof *shape);

    for (size_t i = 0; best && shape && i < t->gpu_ops.len; i++) {
        const struct lpo_gpu_op *op = &t->gpu_ops.at[i];
        bool fresh;
        uint32_t at;

        if (op->kind != LPO_KERNEL || op->shape == LPO_NONE)
            continue;
        at = lpo_map_pair_put(&map, op->name, op->shape, &fresh);
        if (fresh)
            lpo_vec_push(&sums, 0);
        sums.at[at] += op->end_ns - op->start_ns;
        if (sums.at[at] > best[op->name]) {
            best[op->name] = sums.at[at];
            shape[op->name] = op->shape;
        }
    }
    for (size_t i = 0; i < count; i++)
        shapes[i] = best && shape && best[rows[i].name] > 0 ? shape[rows[i].name] : LPO_NONE;
}

static void add_shape(struct lpo_str *out, const char *key, const uint32_t size[3])
{
    lpo_str_addf(out, "    %s: [%u, %u, %u]\n", key, size[0], size[1], size[2]);
}

static void add_row(struct lpo_str *out, const struct lpo_region_cells *cells,
                    const struct lpo_top_row *row, uint32_t shape)
{
    const struct lpo_trace *t = cells->tree->trace;
    const char *name = lpo_trace_text(t, row->name), *base;
    uint32_t linker = lpo_region_cells_linker(cells, row->name);
    LPO_STR regex = { 0 };

    base = lpo_report_kernel_pattern(&regex, name, linker ? lpo_trace_text(t, linker) : NULL);
    lpo_str_add(out, "  - name: ");
    add_quoted(out, name, lpo_trace_text_len(t, row->name));
    lpo_str_add(out, "\n    regex: ");
    add_quoted(out, regex.at, regex.len);
    lpo_str_addf(out, "\n    name_base: %s\n", base);
    if (shape != LPO_NONE) {
        add_shape(out, "grid", t->shapes.at[shape].grid);
        add_shape(out, "block", t->shapes.at[shape].block);
    }
    lpo_str_addf(out, "    launches: %llu\n", (unsigned long long)row->sum.launches);
    if (!lpo_region_sum_known(&row->sum))
        return;
    lpo_str_addf(out, "    gpu_ns: %lld%s\n    share: ", (long long)row->sum.ns,
                 lpo_region_sum_estimated(&row->sum) ? " # of a CUDA graph's time: estimated" : "");
    lpo_json_add_real(out, row->share);
    lpo_str_addc(out, '\n');
}

void lpo_report_top_yaml(struct lpo_str *out, const struct lpo_region_cells *cells,
                         const struct lpo_top_row *rows, size_t count)
{
    LPO_FREED uint32_t *shapes = malloc((count + 1) * sizeof *shapes);

    lpo_str_add(out,
                "# Kernels by GPU time, written by lpo top. Of each the launches of one shape are\n"
                "# measured, the one with the most GPU time; without grid and block the first.\n"
                "# lpo kernels --kernel-config THIS --topk N -- program…\n");
    lpo_str_add(out, count ? "kernels:\n" : "kernels: []\n");
    if (shapes)
        find_shapes(cells->tree->trace, rows, count, shapes);
    for (size_t i = 0; i < count; i++)
        add_row(out, cells, &rows[i], shapes ? shapes[i] : LPO_NONE);
}
