/* Levels as text in ncu's grammar, plain or as a regular expression. */
#include "pipeline/ncu/expr.h"

#include <string.h>

#include "region/levels.h"
#include "util/arena.h"
#include "util/str.h"

/* What ncu's plain grammar cannot say for certain: globs, a backslash, nothing at all, its own word
 * for a regular expression. */
static bool wants_regex(const struct lpo_levels *levels)
{
    for (size_t i = 0; i < levels->len; i++) {
        const struct lpo_level *l = &levels->at[i];

        if (!l->any_depth && (l->glob || !*l->name || strchr(l->name, '\\')))
            return true;
        if (strpbrk(l->domain, "*?\\"))
            return true;
    }
    return levels->len &&
           lpo_str_starts(*levels->at[0].domain ? levels->at[0].domain : levels->at[0].name,
                          "regex:");
}

/* ncu's own marks cannot be told from a regular expression's there: any character stands for one
 * ("regex:^a/b$/" matches nothing, measured). */
static const char *regex_of(struct lpo_arena *a, const char *name, bool glob)
{
    LPO_STR out = { 0 };

    for (; *name; name++) {
        bool literal = !glob;

        if (glob && *name == '\\' && name[1]) {
            literal = true;
            name++;
        }
        if (!literal && *name == '*')
            lpo_str_add(&out, ".*");
        else if ((!literal && *name == '?') || strchr("@,/", *name))
            lpo_str_addc(&out, '.');
        else if (strchr("\\.^$|()[]{}+*?", *name))
            lpo_str_addf(&out, "\\%c", *name);
        else
            lpo_str_addc(&out, *name);
    }
    return lpo_arena_strdup(a, lpo_str_text(&out));
}

/* A '$' behind a backslash is not found, bare it is (measured). */
static void add_name(struct lpo_str *out, const char *name)
{
    for (; *name; name++) {
        if (strchr("@,[]/*+", *name))
            lpo_str_addc(out, '\\');
        lpo_str_addc(out, *name);
    }
}

static const char *plain_text(struct lpo_arena *a, const struct lpo_levels *levels, bool start_end)
{
    LPO_STR text = { 0 };

    if (*levels->at[0].domain) {
        add_name(&text, levels->at[0].domain);
        lpo_str_addc(&text, '@');
    }
    for (size_t i = 0; i < levels->len; i++) {
        if (levels->at[i].any_depth)
            lpo_str_addc(&text, '*');
        else
            add_name(&text, levels->at[i].name);
        lpo_str_add(&text, start_end ? "" : "/");
    }
    return lpo_arena_strdup(a, lpo_str_text(&text));
}

static const char **parts_of(struct lpo_arena *a, const struct lpo_levels *levels)
{
    const char **parts = lpo_arena_array(a, levels->len + 1, sizeof *parts);
    const char *domain = levels->at[0].domain;

    parts[0] = regex_of(a, domain, strpbrk(domain, "*?") != NULL);
    for (size_t i = 0; i < levels->len; i++)
        parts[i + 1] = levels->at[i].any_depth
                           ? LPO_PART_ANY_DEPTH
                           : regex_of(a, levels->at[i].name, levels->at[i].glob);
    return parts;
}

const char *lpo_pipeline_ncu_expr_regex(struct lpo_arena *a, const struct lpo_expr *e)
{
    LPO_STR text = { 0 };

    lpo_str_add(&text, "regex:");
    if (*e->parts[0])
        lpo_str_addf(&text, "^%s$@", e->parts[0]);
    for (size_t i = 1; i < e->nparts; i++) {
        bool depth = strcmp(e->parts[i], LPO_PART_ANY_DEPTH) == 0;

        lpo_str_addf(&text, depth ? "%s" : "^%s$", e->parts[i]);
        lpo_str_add(&text, e->start_end ? "" : "/");
    }
    return lpo_arena_strdup(a, lpo_str_text(&text));
}

static void push(struct lpo_arena *a, struct lpo_exprs *out, struct lpo_expr e)
{
    for (size_t i = 0; i < out->len; i++)
        if (strcmp(out->at[i].text, e.text) == 0)
            return;
    if (out->len == out->cap) {
        size_t cap = out->cap ? out->cap * 2 : 8;
        struct lpo_expr *grown = lpo_arena_array(a, cap, sizeof *grown);

        if (out->len)
            memcpy(grown, out->at, out->len * sizeof *grown);
        out->at = grown;
        out->cap = cap;
    }
    out->bytes += strlen(e.text) + 1;
    out->at[out->len++] = e;
}

void lpo_pipeline_ncu_expr_push(struct lpo_arena *a, const char *pattern,
                                const struct lpo_levels *levels, bool start_end,
                                struct lpo_exprs *out)
{
    struct lpo_expr e = { .pattern = pattern,
                          .parts = parts_of(a, levels),
                          .nparts = levels->len + 1,
                          .start_end = start_end,
                          .regex = wants_regex(levels) };

    e.text = e.regex ? lpo_pipeline_ncu_expr_regex(a, &e) : plain_text(a, levels, start_end);
    push(a, out, e);
}

static bool has_bare(const char *text, const char *marks)
{
    for (; *text; text++) {
        if (*text == '\\' && text[1])
            text++;
        else if (strchr(marks, *text))
            return true;
    }
    return false;
}

void lpo_pipeline_ncu_expr_push_own(struct lpo_arena *a, const char *text, struct lpo_exprs *out)
{
    bool regex = lpo_str_starts(text, "regex:");

    push(a, out,
         (struct lpo_expr){ .text = text,
                            .pattern = text,
                            .start_end = !has_bare(text, regex ? "/" : "/[]"),
                            .regex = regex });
}
