#include "stage/ncu/expr.h"

#include <fnmatch.h>
#include <string.h>

#include "util/arena.h"
#include "util/err.h"
#include "util/str.h"

enum { MAX_PARTS = 64 };

/* A pattern or a path, taken apart: its domain and the names from the outside in. */
struct parts {
    const char *domain; /* "" is the default domain */
    const char *at[MAX_PARTS];
    size_t len;
};

/* The next separator: '/' not behind a backslash, or "::" in a pattern. */
static const char *next_separator(const char *p, bool pattern, size_t *width)
{
    for (; *p; p++) {
        if (*p == '\\' && p[1]) {
            p++;
        } else if (*p == '/') {
            *width = 1;
            return p;
        } else if (pattern && p[0] == ':' && p[1] == ':') {
            *width = 2;
            return p;
        }
    }
    *width = 0;
    return p;
}

/* Copies a name with `\/` made plain. */
static char *plain(struct lpo_arena *a, const char *from, size_t len)
{
    char *out = lpo_arena_alloc(a, len + 1);
    size_t n = 0;

    for (size_t i = 0; i < len; i++) {
        if (from[i] == '\\' && i + 1 < len && from[i + 1] == '/')
            i++;
        out[n++] = from[i];
    }
    return out;
}

static int split(struct lpo_arena *a, const char *text, bool pattern, struct parts *out)
{
    const char *at = strchr(text, '@');

    *out = (struct parts){ .domain = "" };
    if (at) {
        out->domain = lpo_arena_strndup(a, text, (size_t)(at - text));
        text = at + 1;
    }
    for (;;) {
        size_t width;
        const char *end = next_separator(text, pattern, &width);

        if (end > text) {
            if (out->len == MAX_PARTS)
                return -1;
            out->at[out->len++] = plain(a, text, (size_t)(end - text));
        }
        if (width == 0)
            return 0;
        text = end + width;
    }
}

static bool any_depth(const char *part)
{
    return strcmp(part, "**") == 0 || strcmp(part, "...") == 0;
}

/* Do pattern parts from p on fit path parts from i on, as a run that may end anywhere? */
static bool fits_from(const struct parts *pattern, size_t p, const struct parts *path, size_t i)
{
    if (p == pattern->len)
        return true;
    if (any_depth(pattern->at[p])) {
        for (size_t k = i; k <= path->len; k++)
            if (fits_from(pattern, p + 1, path, k))
                return true;
        return false;
    }
    return i < path->len && fnmatch(pattern->at[p], path->at[i], 0) == 0 &&
           fits_from(pattern, p + 1, path, i + 1);
}

bool lpo_region_pattern_fits(struct lpo_arena *a, const char *pattern, const char *path)
{
    struct parts want, have;

    if (split(a, pattern, true, &want) < 0 || split(a, path, false, &have) < 0)
        return false;
    if (fnmatch(want.domain, have.domain, 0) != 0)
        return false;
    for (size_t i = 0; i < have.len; i++)
        if (fits_from(&want, 0, &have, i))
            return true;
    return false;
}

/* Written by someone who knows ncu: leave it alone. */
static bool is_native(const char *pattern)
{
    size_t n = strlen(pattern);

    return lpo_starts(pattern, "regex:") || strpbrk(pattern, "[],") || strstr(pattern, "/+/") ||
           (n > 0 && pattern[n - 1] == '/');
}

static bool has_glob(const struct parts *p)
{
    for (size_t i = 0; i < p->len; i++)
        if (!any_depth(p->at[i]) && strpbrk(p->at[i], "*?"))
            return true;
    return strpbrk(p->domain, "*?") != NULL;
}

/* A name as a regular expression (globs become ".*") or with ncu's own marks escaped. ncu takes
 * a part of a name for a match (measured), so the expression is anchored. */
static void add_name(struct lpo_str *out, const char *name, bool regex)
{
    const char *special = regex ? "\\.^$|()[]{}+" : "@,[]/*+$";

    lpo_str_add(out, regex ? "^" : "");
    for (; *name; name++) {
        if (regex && *name == '*') {
            lpo_str_add(out, ".*");
        } else if (regex && *name == '?') {
            lpo_str_addc(out, '.');
        } else {
            if (strchr(special, *name))
                lpo_str_addc(out, '\\');
            lpo_str_addc(out, *name);
        }
    }
    lpo_str_add(out, regex ? "$" : "");
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

static void add_expression(struct lpo_arena *a, const struct parts *p, bool regex, bool start_end,
                           struct lpo_exprs *out)
{
    LPO_STR text = { 0 };

    lpo_str_add(&text, regex ? "regex:" : "");
    if (*p->domain) {
        add_name(&text, p->domain, regex);
        lpo_str_addc(&text, '@');
    }
    for (size_t i = 0; i < p->len; i++) {
        if (any_depth(p->at[i]))
            lpo_str_addc(&text, '*');
        else
            add_name(&text, p->at[i], regex);
        if (!start_end)
            lpo_str_addc(&text, '/');
    }
    push(a, out, &text);
}

/* Do pattern parts from p on fit path parts from i on, to the last? */
static bool fits_to_end(const struct parts *pattern, size_t p, const struct parts *path, size_t i)
{
    if (p == pattern->len)
        return i == path->len;
    if (any_depth(pattern->at[p])) {
        for (size_t k = i; k <= path->len; k++)
            if (fits_to_end(pattern, p + 1, path, k))
                return true;
        return false;
    }
    return i < path->len && fnmatch(pattern->at[p], path->at[i], 0) == 0 &&
           fits_to_end(pattern, p + 1, path, i + 1);
}

/* What ncu makes of any number of levels inside a regular expression is not known, so where the
 * regions are, those that fit are named one by one. */
static void add_by_name(struct lpo_arena *a, const struct parts *want,
                        const struct lpo_seen_regions *seen, struct lpo_exprs *out)
{
    for (size_t r = 0; r < seen->len; r++) {
        struct parts have, run = { 0 };

        if (seen->at[r].start_end || split(a, seen->at[r].path, false, &have) < 0 ||
            fnmatch(want->domain, have.domain, 0) != 0)
            continue;
        for (size_t i = 0; i < have.len && run.len == 0; i++) {
            if (!fits_to_end(want, 0, &have, i))
                continue;
            run.domain = have.domain;
            run.len = have.len - i;
            memcpy(run.at, have.at + i, run.len * sizeof *run.at);
            add_expression(a, &run, false, false, out);
        }
    }
}

static bool has_any_depth(const struct parts *p)
{
    for (size_t i = 0; i < p->len; i++)
        if (any_depth(p->at[i]))
            return true;
    return false;
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

int lpo_ncu_expr_add(struct lpo_arena *a, const char *pattern, const struct lpo_seen_regions *seen,
                     struct lpo_exprs *out, struct lpo_err *err)
{
    bool push_pop = !seen || !seen->at, start_end = push_pop;
    struct parts p;

    if (is_native(pattern)) {
        LPO_STR text = { 0 };

        lpo_str_add(&text, pattern);
        push(a, out, &text);
        return 0;
    }
    if (split(a, pattern, true, &p) < 0 || p.len == 0)
        return lpo_fail(err, LPO_E_CONFIG, "'%s' is no region pattern; try prefill, decode* or a/b",
                        pattern);
    for (size_t i = 0; seen && i < seen->len; i++) {
        if (!lpo_region_pattern_fits(a, pattern, seen->at[i].path))
            continue;
        start_end |= seen->at[i].start_end;
        push_pop |= !seen->at[i].start_end;
    }
    if (!push_pop && !start_end)
        return no_such_region(a, pattern, seen, err);
    if (push_pop && has_glob(&p) && has_any_depth(&p) && seen && seen->at)
        add_by_name(a, &p, seen, out);
    else if (push_pop)
        add_expression(a, &p, has_glob(&p), false, out);
    if (start_end && p.len == 1) /* a start/end range has no parents */
        add_expression(a, &p, has_glob(&p), true, out);
    return 0;
}
