#include "stage/ncu/expr.h"

#include <string.h>

#include "region/levels.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/str.h"

bool lpo_region_pattern_fits(struct lpo_arena *a, const char *pattern, const char *path)
{
    struct lpo_levels want, have;

    if (lpo_levels_of_pattern(a, pattern, &want) < 0 ||
        lpo_levels_of_path(a, path, NULL, 0, &have) < 0)
        return false;
    lpo_levels_of_last_domain(&want);
    return lpo_levels_fit(&want, &have, false);
}

/* Names that ncu's own grammar cannot say for certain: globs, and a backslash. */
static bool wants_regex(const struct lpo_levels *levels)
{
    for (size_t i = 0; i < levels->len; i++) {
        const struct lpo_level *l = &levels->at[i];

        if (!l->any_depth && (l->glob || strchr(l->name, '\\')))
            return true;
        if (strpbrk(l->domain, "*?\\"))
            return true;
    }
    return false;
}

/* ncu takes a part of a name for a match (measured), so the expression is anchored. Its own marks
 * cannot be told from a regular expression's there: any character stands for one. */
static void add_regex(struct lpo_str *out, const char *name, bool glob)
{
    lpo_str_addc(out, '^');
    for (; *name; name++) {
        bool literal = !glob;

        if (glob && *name == '\\' && name[1]) {
            literal = true;
            name++;
        }
        if (!literal && *name == '*')
            lpo_str_add(out, ".*");
        else if ((!literal && *name == '?') || strchr("@,/", *name))
            lpo_str_addc(out, '.');
        else if (strchr("\\.^$|()[]{}+*?", *name))
            lpo_str_addf(out, "\\%c", *name);
        else
            lpo_str_addc(out, *name);
    }
    lpo_str_addc(out, '$');
}

static void add_name(struct lpo_str *out, const char *name, bool regex, bool glob)
{
    if (regex) {
        add_regex(out, name, glob);
        return;
    }
    for (; *name; name++) {
        if (strchr("@,[]/*+$", *name))
            lpo_str_addc(out, '\\');
        lpo_str_addc(out, *name);
    }
}

static void push(struct lpo_arena *a, struct lpo_exprs *out, const struct lpo_str *text)
{
    for (size_t i = 0; i < out->len; i++)
        if (strcmp(out->at[i], text->at) == 0)
            return;
    if (out->len == out->cap) {
        size_t cap = out->cap ? out->cap * 2 : 8;
        const char **grown = lpo_arena_array(a, cap, sizeof *grown);

        if (out->len)
            memcpy(grown, out->at, out->len * sizeof *grown);
        out->at = grown;
        out->cap = cap;
    }
    out->at[out->len++] = lpo_arena_strdup(a, text->at);
}

/* The levels are of one domain. */
static void add_expression(struct lpo_arena *a, const struct lpo_levels *levels, bool start_end,
                           struct lpo_exprs *out)
{
    const char *domain = levels->len ? levels->at[0].domain : "";
    bool regex = wants_regex(levels);
    LPO_STR text = { 0 };

    lpo_str_add(&text, regex ? "regex:" : "");
    if (*domain) {
        add_name(&text, domain, regex, strpbrk(domain, "*?") != NULL);
        lpo_str_addc(&text, '@');
    }
    for (size_t i = 0; i < levels->len; i++) {
        if (levels->at[i].any_depth)
            lpo_str_addc(&text, '*');
        else
            add_name(&text, levels->at[i].name, regex, levels->at[i].glob);
        if (!start_end)
            lpo_str_addc(&text, '/');
    }
    push(a, out, &text);
}

static bool has_any_depth(const struct lpo_levels *levels)
{
    for (size_t i = 0; i < levels->len; i++)
        if (levels->at[i].any_depth)
            return true;
    return false;
}

static bool levels_of(struct lpo_arena *a, const struct lpo_seen_regions *seen, size_t i,
                      struct lpo_levels *out)
{
    return lpo_levels_of_path(a, seen->at[i].path, seen->domains, seen->ndomains, out) == 0;
}

/* What ncu makes of any number of levels inside a regular expression is not known, so where the
 * regions are, those that fit are named one by one. */
static void add_by_name(struct lpo_arena *a, const struct lpo_levels *want,
                        const struct lpo_seen_regions *seen, struct lpo_exprs *out)
{
    for (size_t i = 0; i < seen->len; i++) {
        struct lpo_levels have;

        if (seen->at[i].start_end || !levels_of(a, seen, i, &have) ||
            !lpo_levels_fit(want, &have, true))
            continue;
        lpo_levels_of_last_domain(&have);
        add_expression(a, &have, false, out);
    }
}

static int no_such_region(struct lpo_arena *a, const char *pattern,
                          const struct lpo_seen_regions *seen, struct lpo_err *err)
{
    const char **names = lpo_arena_array(a, seen->len * 2 + 1, sizeof *names);
    LPO_STR some = { 0 };
    const char *near;
    size_t n = 0;

    for (size_t i = 0; i < seen->len; i++) {
        const char *last = strrchr(seen->at[i].path, '/');

        names[n++] = seen->at[i].path;
        if (last)
            names[n++] = last + 1;
        if (i < 8)
            lpo_str_addf(&some, "%s%s", i ? ", " : "", seen->at[i].path);
    }
    near = lpo_nearest(pattern, names, n);
    if (near)
        return lpo_fail(err, LPO_E_CONFIG,
                        "no region fits '%s'; did you mean '%s'? native/regions.json lists all %zu",
                        pattern, near, seen->len);
    return lpo_fail(err, LPO_E_CONFIG, "no region fits '%s'; the run has %zu: %s%s", pattern,
                    seen->len, lpo_str_text(&some), seen->len > 8 ? ", …" : "");
}

static void add_kinds(struct lpo_arena *a, const struct lpo_levels *levels, bool push_pop,
                      bool start_end, struct lpo_exprs *out)
{
    if (push_pop)
        add_expression(a, levels, false, out);
    if (start_end && levels->len == 1) /* a start/end range has no parents */
        add_expression(a, levels, true, out);
}

/* A path exactly as reports print it, whatever characters it holds. */
static bool add_path(struct lpo_arena *a, const char *path, const struct lpo_seen_regions *seen,
                     struct lpo_exprs *out)
{
    bool found = false;

    for (size_t i = 0; i < seen->len; i++) {
        struct lpo_levels levels;

        if (strcmp(seen->at[i].path, path) != 0 || !levels_of(a, seen, i, &levels))
            continue;
        found = true;
        lpo_levels_of_last_domain(&levels);
        add_kinds(a, &levels, !seen->at[i].start_end, seen->at[i].start_end, out);
    }
    return found;
}

int lpo_ncu_expr_add(struct lpo_arena *a, const char *pattern, const struct lpo_seen_regions *seen,
                     struct lpo_exprs *out, struct lpo_err *err)
{
    bool known = seen && seen->at, push_pop = !known, start_end = !known;
    struct lpo_levels want;

    if (known && add_path(a, pattern, seen, out))
        return 0;
    if (lpo_levels_ncu_grammar(pattern)) {
        LPO_STR text = { 0 };

        lpo_str_add(&text, pattern);
        push(a, out, &text);
        return 0;
    }
    if (lpo_levels_of_pattern(a, pattern, &want) < 0 || want.len == 0)
        return lpo_fail(err, LPO_E_CONFIG, "'%s' is no region pattern; try prefill, decode* or a/b",
                        pattern);
    lpo_levels_of_last_domain(&want);
    for (size_t i = 0; known && i < seen->len; i++) {
        struct lpo_levels have;

        if (!levels_of(a, seen, i, &have) || !lpo_levels_fit(&want, &have, false))
            continue;
        start_end |= seen->at[i].start_end;
        push_pop |= !seen->at[i].start_end;
    }
    if (!push_pop && !start_end)
        return no_such_region(a, pattern, seen, err);
    if (known && push_pop && wants_regex(&want) && has_any_depth(&want)) {
        add_by_name(a, &want, seen, out);
        push_pop = false;
    }
    add_kinds(a, &want, push_pop, start_end, out);
    return 0;
}
