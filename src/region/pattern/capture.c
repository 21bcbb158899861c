/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns for tools that capture: which are in ncu's own grammar, and runs of levels for the
 * others. */
#include <string.h>

#include "region/pattern/private.h"
#include "util/str.h"

/* Behind the set "[…]" of two or more characters that begins at `p` inside one level; NULL: it is
 * none. "x[0]" is what frameworks call the parts of a list, not a set of one character. */
static const char *set_end(const char *p, const char *end)
{
    const char *close = p + 1 < end ? memchr(p + 2, ']', (size_t)(end - p - 2)) : NULL;

    if (!close || close < p + 3 || memchr(p, '/', (size_t)(close - p)))
        return NULL;
    return close + 1;
}

bool lpo_region_pattern_in_ncu_grammar(const char *pattern)
{
    const char *end = pattern + strlen(pattern), *level = pattern;

    if (lpo_str_starts(pattern, "regex:") || strstr(pattern, "/+/"))
        return true;
    for (const char *p = pattern; p < end; p++) {
        const char *set = *p == '[' && p > level ? set_end(p, end) : NULL;

        if (*p == '\\' && p + 1 < end)
            p++;
        else if (set)
            p = set - 1;
        else if (strchr("[],", *p) || (*p == '/' && p > pattern && p + 1 == end))
            return true;
        else if (*p == '/' || *p == '@')
            level = p + 1;
    }
    return false;
}

/* Without "**" at the end and the "*" that stands for one level at least. */
static size_t without_end(const struct lpo_levels *levels)
{
    size_t n = levels->len;

    if (n > 1 && levels->at[n - 2].any_depth && strcmp(levels->at[n - 1].name, "*") == 0)
        n--;
    while (n > 1 && levels->at[n - 1].any_depth)
        n--;
    return n > 1 || !levels->at[0].any_depth ? n : levels->len;
}

static void tidy(struct lpo_levels *levels)
{
    struct lpo_level *at = levels->at;
    size_t n = 0;

    for (size_t i = 0; i < levels->len; i++)
        if (!at[i].any_depth || (n && !at[n - 1].any_depth))
            at[n++] = at[i];
    if (n && at[n - 1].any_depth)
        n--;
    levels->len = n;
}

static void keep_domain(struct lpo_region_run *run)
{
    size_t n = run->levels.len;

    lpo_region_levels_of_last_domain(&run->levels);
    run->wider |= run->levels.len < n;
    tidy(&run->levels);
}

/* Names for the globs; a "**" that stands for no level here is left out. */
static void name_levels(const struct reading *r, size_t len, const struct lpo_levels *path,
                        const struct walk *w, const size_t *where, struct lpo_region_run *out)
{
    size_t before = 0;

    out->levels.len = 0;
    out->wider = false;
    for (size_t p = 0; p < len; p++) {
        const struct lpo_level *level = &r->levels.at[p];

        if (level->any_depth)
            continue;
        if (out->levels.len && where[p] > before + 1) {
            struct lpo_level any = { path->at[w->index[where[p]]].domain, "**", 2, true, true };

            out->levels.at[out->levels.len++] = any;
        }
        before = where[p];
        out->levels.at[out->levels.len++] = path->at[w->index[before]];
    }
    keep_domain(out);
}

/* Ncu cannot ask for an outermost region (its '[' was not measured), so it gets all of that name.
 */
bool lpo_region_pattern_run_in(const struct lpo_region_pattern *p, const struct lpo_levels *path,
                               bool exact, struct lpo_region_run *out)
{
    size_t where[LPO_MAX_LEVELS];
    struct walk w;

    for (size_t len = 1; len <= path->len; len++) { /* the outermost region that fits */
        for (size_t i = 0; i < p->count; i++) {
            const struct reading *r = p->readings[i];
            size_t levels = exact ? r->levels.len : without_end(&r->levels);

            if (!lpo_region_pattern_reading_fits(p, r, levels, path, len, &w, where))
                continue;
            name_levels(r, levels, path, &w, where, out);
            out->wider |= levels < r->levels.len;
            return true;
        }
    }
    return false;
}

static bool has_globs(const struct lpo_region_pattern *p)
{
    for (size_t i = 0; i < p->count; i++)
        for (size_t k = 0; k < p->readings[i]->levels.len; k++)
            if (p->readings[i]->levels.at[k].glob ||
                strpbrk(p->readings[i]->levels.at[k].domain, "*?"))
                return true;
    return false;
}

bool lpo_region_pattern_run(const struct lpo_region_pattern *p, size_t i,
                            struct lpo_region_run *out)
{
    size_t len;

    if (i >= p->count || p->readings[i]->crossing || (i > 0 && has_globs(p)))
        return false;
    *out = (struct lpo_region_run){ .levels = p->readings[i]->levels };
    len = without_end(&out->levels);
    out->wider = p->outermost || len < out->levels.len;
    out->levels.len = len;
    for (size_t k = 0; k < len; k++)
        out->wider |= out->levels.at[k].glob && strchr(out->levels.at[k].name, '[');
    keep_domain(out);
    return true;
}
