/* SPDX-License-Identifier: Apache-2.0 */
/* Does a region fit? Paths as levels, and one matcher over them. */
#include <string.h>

#include "region/pattern/private.h"
#include "util/arena.h"
#include "util/pattern.h"
#include "util/str.h"

static bool known_domain(const char *p, size_t len, const char *const *domains, size_t count)
{
    for (size_t i = 0; domains && i < count; i++)
        if (strlen(domains[i]) == len && memcmp(domains[i], p, len) == 0)
            return true;
    return !domains;
}

int lpo_region_path_parse(struct lpo_arena *a, const char *path, const char *const *domains,
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
            level.domain = lpo_region_pattern_unescape(a, path, at, true);
            path = at + 1;
        }
        level.name = lpo_region_pattern_unescape(a, path, stop, true);
        level.name_len = strlen(level.name);
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

/* As reports print it. */
static void add_printed(const struct lpo_level *level, struct lpo_str *out)
{
    if (*level->domain) {
        lpo_str_add(out, level->domain);
        lpo_str_addc(out, '@');
    }
    for (size_t i = 0; i < level->name_len; i++) {
        if (level->name[i] == '/')
            lpo_str_addc(out, '\\');
        lpo_str_addc(out, level->name[i]);
    }
}

static void add_printed_path(const struct lpo_levels *path, size_t len, struct lpo_str *out)
{
    for (size_t i = 0; i < len; i++) {
        lpo_str_add(out, i ? "/" : "");
        add_printed(&path->at[i], out);
    }
}

/* A glob without a domain is also compared with "domain@name", as reports print it: "*" is every
 * range, whichever its domain. */
static bool glob_fits_printed(const struct matcher *m, const struct lpo_level *level)
{
    LPO_STR text = { 0 };

    lpo_str_addf(&text, "%s@", level->domain);
    lpo_str_addn(&text, level->name, level->name_len);
    return lpo_pattern_matches(m->name, lpo_str_text(&text), text.len);
}

static bool level_fits(const struct reading *r, size_t p, const struct lpo_level *level)
{
    const struct matcher *m = &r->at[p];
    bool name = lpo_pattern_matches(m->name, level->name, level->name_len);

    if (m->domain && name && lpo_pattern_matches(m->domain, level->domain, strlen(level->domain)))
        return true;
    if (m->whole) /* "m@n" may be a name */
        return !*level->domain && lpo_pattern_matches(m->whole, level->name, level->name_len);
    if (!*level->domain)
        return name;
    return r->levels.at[p].glob && glob_fits_printed(m, level);
}

/* From the innermost level out, as a glob is matched: the last "**" takes one level more until the
 * rest fits, so that the run is as short as it can be. `where` gets the place in `w` of each level
 * of the pattern, "**" aside. */
static bool run_fits(const struct lpo_region_pattern *pattern, const struct reading *r, size_t len,
                     const struct lpo_levels *path, const struct walk *w, size_t *where)
{
    size_t p = len, i = w->len, stars = 0, taken = 0; /* `stars` - 1: of the last "**"; 0: none */

    for (;;) {
        if (p == 0 && (!pattern->outermost || (i == 0 && w->index[0] == 0)))
            return true;
        if (p > 0 && r->levels.at[p - 1].any_depth) {
            stars = p--;
            taken = i;
        } else if (p > 0 && i > 0 && level_fits(r, p - 1, &path->at[w->index[i - 1]])) {
            where[--p] = --i;
        } else if (stars && taken > 0) {
            i = --taken;
            p = stars - 1;
        } else {
            return false;
        }
    }
}

/* The first `len` levels of the path: all, or those of the last one's domain. */
static struct walk walk_of(const struct lpo_levels *path, size_t len, bool own)
{
    struct walk w;

    w.len = 0;
    for (size_t i = 0; i < len; i++)
        if (!own || strcmp(path->at[i].domain, path->at[len - 1].domain) == 0)
            w.index[w.len++] = i;
    return w;
}

bool lpo_region_pattern_reading_fits(const struct lpo_region_pattern *p, const struct reading *r,
                                     size_t levels, const struct lpo_levels *path, size_t len,
                                     struct walk *w, size_t *where)
{
    *w = walk_of(path, len, true);
    if (run_fits(p, r, levels, path, w, where))
        return true;
    if (w->len == len)
        return false;
    *w = walk_of(path, len, false);
    return run_fits(p, r, levels, path, w, where);
}

bool lpo_region_pattern_fits(const struct lpo_region_pattern *p, const struct lpo_levels *path)
{
    size_t where[LPO_MAX_LEVELS];
    LPO_STR text = { 0 };
    struct walk w;

    if (path->len == 0)
        return false;
    for (size_t i = 0; i < p->count; i++)
        if (lpo_region_pattern_reading_fits(p, p->readings[i], p->readings[i]->levels.len, path,
                                            path->len, &w, where))
            return true;
    if (!p->regex && !strpbrk(p->text, "*?[]\\@:."))
        return false; /* its levels are its text: it cannot be a path in another way */
    if (p->regex && !p->whole_path)
        add_printed(&path->at[path->len - 1], &text);
    else
        add_printed_path(path, path->len, &text);
    if (p->regex && lpo_pattern_matches(p->regex, lpo_str_text(&text), text.len))
        return true;
    return strcmp(lpo_str_text(&text), p->text) == 0;
}
