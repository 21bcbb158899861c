/* SPDX-License-Identifier: Apache-2.0 */
#include "region/capture_pattern.h"

#include <fnmatch.h>
#include <string.h>

#include "util/arena.h"
#include "util/str.h"

bool lpo_region_levels_ncu_grammar(const char *pattern)
{
    size_t n = strlen(pattern);

    if (lpo_str_starts(pattern, "regex:") || strstr(pattern, "/+/"))
        return true;
    for (size_t i = 0; i < n; i++) {
        if (pattern[i] == '\\' && pattern[i + 1])
            i++;
        else if (strchr("[],", pattern[i]) || (pattern[i] == '/' && i + 1 == n))
            return true;
    }
    return false;
}

/* The first `stop` (a character, or "::") not behind a backslash, or the end. */
static const char *find_bare(const char *p, const char *end, const char *stop)
{
    size_t n = strlen(stop);

    for (; p < end; p++) {
        if (*p == '\\' && p + 1 < end)
            p++;
        else if ((size_t)(end - p) >= n && memcmp(p, stop, n) == 0)
            return p;
    }
    return end;
}

/* Copies with each backslash taken away; of a path only those before a slash are marks. */
static const char *plain(struct lpo_arena *a, const char *from, const char *end, bool path)
{
    char *out = lpo_arena_alloc(a, (size_t)(end - from) + 1);
    size_t n = 0;

    for (; from < end; from++) {
        if (*from == '\\' && from + 1 < end && (!path || from[1] == '/'))
            from++;
        out[n++] = *from;
    }
    out[n] = '\0';
    return out;
}

static bool has_glob(const char *p, const char *end)
{
    return find_bare(p, end, "*") < end || find_bare(p, end, "?") < end;
}

static struct lpo_level pattern_level(struct lpo_arena *a, const char *p, const char *end,
                                      const char *domain)
{
    const char *at = find_bare(p, end, "@");
    struct lpo_level level = { .domain = domain };

    if (at < end) {
        level.domain =
            has_glob(p, at) ? lpo_arena_strndup(a, p, (size_t)(at - p)) : plain(a, p, at, false);
        p = at + 1;
    }
    level.glob = has_glob(p, end);
    level.name = level.glob ? lpo_arena_strndup(a, p, (size_t)(end - p)) : plain(a, p, end, false);
    level.any_depth = strcmp(level.name, "**") == 0 || strcmp(level.name, "...") == 0;
    return level;
}

int lpo_region_levels_of_pattern(struct lpo_arena *a, const char *text, struct lpo_levels *out)
{
    const char *end = text + strlen(text), *domain = "";

    out->len = 0;
    for (;;) {
        const char *slash = find_bare(text, end, "/"), *colons = find_bare(text, end, "::");
        const char *stop = slash < colons ? slash : colons;

        if (stop > text) {
            if (out->len == LPO_MAX_LEVELS)
                return -1;
            out->at[out->len] = pattern_level(a, text, stop, domain);
            domain = out->at[out->len++].domain;
        }
        if (stop == end)
            return 0;
        text = stop + (stop == slash ? 1 : 2);
    }
}

static bool known_domain(const char *p, size_t len, const char *const *domains, size_t count)
{
    for (size_t i = 0; domains && i < count; i++)
        if (strlen(domains[i]) == len && memcmp(domains[i], p, len) == 0)
            return true;
    return !domains;
}

int lpo_region_levels_of_path(struct lpo_arena *a, const char *path, const char *const *domains,
                              size_t count, struct lpo_levels *out)
{
    const char *end = path + strlen(path);

    out->len = 0;
    for (;;) {
        const char *stop = path, *at;
        struct lpo_level level = { .domain = "" };

        while (stop < end && *stop != '/')
            stop += *stop == '\\' && stop[1] == '/' ? 2 : 1;
        at = memchr(path, '@', (size_t)(stop - path));
        if (at && known_domain(path, (size_t)(at - path), domains, count)) {
            level.domain = plain(a, path, at, true);
            path = at + 1;
        }
        level.name = plain(a, path, stop, true);
        if (out->len == LPO_MAX_LEVELS)
            return -1;
        out->at[out->len++] = level;
        if (stop == end)
            return 0;
        path = stop + 1;
    }
}

void lpo_region_levels_of_last_domain(struct lpo_levels *levels)
{
    const char *last = levels->len ? levels->at[levels->len - 1].domain : "";
    size_t n = 0;

    for (size_t i = 0; i < levels->len; i++)
        if (strcmp(levels->at[i].domain, last) == 0)
            levels->at[n++] = levels->at[i];
    levels->len = n;
}

static bool level_fits(const struct lpo_level *pattern, const struct lpo_level *level)
{
    return pattern->glob ? fnmatch(pattern->name, level->name, 0) == 0
                         : strcmp(pattern->name, level->name) == 0;
}

/* As a glob over levels: the last any-depth takes one level more until the rest fits. `where` gets
 * the path's level for each of the pattern's, any-depth ones aside. */
static bool fits_from(const struct lpo_levels *pattern, const struct lpo_levels *path, size_t i,
                      size_t *where)
{
    size_t p = 0, after = 0, taken = 0; /* `after` the last any-depth, 0: none was met */

    for (;;) {
        if (p == pattern->len && i == path->len)
            return true;
        if (p < pattern->len && pattern->at[p].any_depth) {
            after = ++p;
            taken = i;
        } else if (p < pattern->len && i < path->len && level_fits(&pattern->at[p], &path->at[i])) {
            where[p++] = i++;
        } else if (after && taken < path->len) {
            p = after;
            i = ++taken;
        } else {
            return false;
        }
    }
}

void lpo_region_levels_tidy(struct lpo_levels *pattern)
{
    struct lpo_level *at = pattern->at;
    const char *domain = pattern->len ? at[0].domain : "";
    size_t n = 0;

    for (size_t i = 0; i < pattern->len; i++)
        if (!at[i].any_depth || (n && !at[n - 1].any_depth))
            at[n++] = at[i];
    if (n && at[n - 1].any_depth)
        n--;
    if (!n && pattern->len)
        at[n++] = (struct lpo_level){ .domain = domain, .name = "*", .glob = true };
    pattern->len = n;
}

bool lpo_region_levels_instance(const struct lpo_levels *pattern, const struct lpo_levels *path,
                                struct lpo_levels *out)
{
    const char *domain = pattern->len ? pattern->at[pattern->len - 1].domain : "";
    struct lpo_levels own = *path, head = { 0 };
    size_t where[LPO_MAX_LEVELS], i;

    lpo_region_levels_of_last_domain(&own);
    if (own.len == 0 || fnmatch(domain, own.at[0].domain, 0) != 0)
        return false;
    do { /* the outermost end first, of its runs the shortest */
        head.at[head.len] = own.at[head.len];
        head.len++;
        for (i = head.len; i > 0 && !fits_from(pattern, &head, i - 1, where);)
            i--;
    } while (i == 0 && head.len < own.len);
    out->len = 0;
    for (size_t p = 0; i > 0 && p < pattern->len; p++) {
        if (!pattern->at[p].any_depth)
            out->at[out->len++] = own.at[where[p]];
        else if (where[p + 1] > where[p - 1] + 1) /* tidy: names on both sides */
            out->at[out->len++] = pattern->at[p];
    }
    return i > 0;
}

static void add_glob(struct lpo_str *out, const char *name, bool glob)
{
    for (; *name; name++) {
        if (!glob && strchr("*?[]\\/", *name))
            lpo_str_addc(out, '\\');
        lpo_str_addc(out, *name);
    }
}

void lpo_region_levels_add_selection(const struct lpo_levels *pattern, struct lpo_str *out)
{
    if (pattern->len > 1)
        lpo_str_add(out, "**/"); /* a run of levels may begin anywhere */
    for (size_t i = 0; i < pattern->len; i++) {
        const struct lpo_level *l = &pattern->at[i];

        lpo_str_add(out, i ? "/" : "");
        if (l->any_depth) {
            lpo_str_add(out, "**");
            continue;
        }
        if (*l->domain) {
            add_glob(out, l->domain, strpbrk(l->domain, "*?") != NULL);
            lpo_str_addc(out, '@');
        }
        add_glob(out, l->name, l->glob);
    }
}
