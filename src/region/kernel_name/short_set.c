/* SPDX-License-Identifier: Apache-2.0 */
/* Short names of all kernels of a report, each of them different. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "region/kernel_name/short.h"
#include "region/kernel_name/short_text.h"
#include "rules/rules.h"
#include "trace/demangle.h"
#include "util/arena.h"
#include "util/map.h"
#include "util/str.h"
#include "util/xmalloc.h"

enum { ROUNDS = 3, DETAIL = 24 };

struct entry {
    struct lpo_kernel_span plain; /* demangled */
    struct lpo_kernel_span words; /* of the whole name; empty until they are asked for */
    const char *base;             /* the short name by itself */
    const char *detail;           /* what tells it apart, "" so far */
    const char *text;             /* both */
    size_t index;
};

static int by_text(const void *pa, const void *pb)
{
    const struct entry *a = pa, *b = pb;
    int c = strcmp(a->text, b->text);

    return c ? c : a->index < b->index ? -1 : a->index > b->index;
}

/* An underscore is an edge here: of "…_64x16_4x1_v" and "…_64x16_2x1_v" one word is enough. */
static bool word(char c)
{
    return isalnum((unsigned char)c) || (unsigned char)c >= 0x80;
}

/* The end of a cast as nsys writes it, "(int)" in "(int)4"; `at` when there is none here. */
static size_t skip_cast(struct lpo_kernel_span s, size_t at)
{
    size_t i = at + 1;

    if (s.at[at] != '(')
        return at;
    while (i < s.len && (word(s.at[i]) || strchr(" _:", s.at[i])))
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
    const struct lpo_map *noise = lpo_region_short_rules()->noise;
    LPO_STR out = { 0 };

    for (size_t i = 0; i < name.len; i++) {
        struct lpo_kernel_span w = { name.at + i, 0 }, type;
        size_t digits;

        i = skip_cast(name, i);
        while (i < name.len && word(name.at[i])) {
            w.len++;
            i++;
        }
        if (!w.len || lpo_rules_value(noise, w.at, w.len))
            continue;
        digits = lpo_kernel_digits(w);
        if (digits && digits < w.len && strchr("ul", w.at[digits]))
            w.len = digits;
        if (lpo_region_short_type(w, &type))
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
    lpo_region_short_fit(&text, 0,
                         LPO_SHORT_NAME - lpo_region_short_cut(lpo_str_text(&tail), tail.len, 40));
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
    lpo_region_short_fit(&detail, 0, DETAIL);
    e->detail = lpo_arena_strndup(a, detail.at, detail.len);
    set_text(a, e, "");
}

/* One round: of those with the same text, the next word that differs. */
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
        if (at == all[i].words.len) /* no word differs */
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
    struct entry *all = lpo_xcalloc(count + 1, sizeof *all);

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
    free(all);
}
