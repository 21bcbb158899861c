/* SPDX-License-Identifier: Apache-2.0 */
/* From the text of a pattern to compiled levels. */
#include <stdlib.h>
#include <string.h>

#include "region/pattern/private.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/pattern.h"
#include "util/str.h"

/* The first `stop` not behind a backslash, or the end. */
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

const char *lpo_region_pattern_unescape(struct lpo_arena *a, const char *from, const char *end,
                                        bool path)
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
    const char *open = find_bare(p, end, "[");

    return find_bare(p, end, "*") < end || find_bare(p, end, "?") < end ||
           (open < end && memchr(open, ']', (size_t)(end - open)));
}

static bool any_depth(const char *p, const char *end)
{
    size_t n = (size_t)(end - p);

    return (n == 2 && memcmp(p, "**", 2) == 0) || (n == 3 && memcmp(p, "...", 3) == 0);
}

static int compile(struct lpo_arena *a, const char *p, size_t len, struct lpo_pattern **out,
                   struct lpo_err *err)
{
    const char *text = lpo_arena_strndup(a, p, len);

    if (lpo_str_starts(text, "regex:")) /* only at the start of a pattern is it a mark */
        text = lpo_arena_printf(a, "\\%s", text);
    return lpo_pattern_create(text, out, err);
}

/* The level from `p` to `end`. A domain holds for the levels behind it as well. */
static int add_level(struct lpo_arena *a, struct reading *r, const char *p, const char *end,
                     struct lpo_err *err)
{
    size_t n = r->levels.len;
    const char *at = find_bare(p, end, "@");
    const char *name = at < end ? at + 1 : p;
    struct lpo_level *level;
    struct matcher *m;

    if (n == LPO_MAX_LEVELS)
        return lpo_fail(err, LPO_E_CONFIG, "a region pattern has at most %d levels",
                        LPO_MAX_LEVELS);
    level = &r->levels.at[n];
    m = &r->at[n];
    *level = (struct lpo_level){ .domain = n ? r->levels.at[n - 1].domain : "" };
    m->domain_text = n ? r->at[n - 1].domain_text : NULL;
    if (at < end) {
        m->domain_text = lpo_arena_strndup(a, p, (size_t)(at - p));
        level->domain =
            has_glob(p, at) ? m->domain_text : lpo_region_pattern_unescape(a, p, at, false);
    }
    level->any_depth = any_depth(name, end);
    level->glob = has_glob(name, end);
    level->name = level->glob ? lpo_arena_strndup(a, name, (size_t)(end - name))
                              : lpo_region_pattern_unescape(a, name, end, false);
    level->name_len = strlen(level->name);
    r->levels.len++;
    if (compile(a, name, (size_t)(end - name), &m->name, err) < 0)
        return err->code;
    if (at < end && compile(a, p, (size_t)(end - p), &m->whole, err) < 0)
        return err->code;
    if (m->domain_text)
        return compile(a, m->domain_text, strlen(m->domain_text), &m->domain, err);
    return 0;
}

/* Stars inside a level cross levels, too: "a**b" is "a*b", and in a second reading "a*" and "*b"
 * with any number of levels between them. */
static const char *inner_stars(const char *p, const char *end)
{
    const char *stars = find_bare(p, end, "**");

    return stars < end && !any_depth(p, end) && find_bare(p, end, "@") == end ? stars : NULL;
}

static int add_part(struct lpo_arena *a, struct reading *r, const char *p, const char *end,
                    struct lpo_err *err)
{
    const char *stars = inner_stars(p, end);
    static const char any[] = "**";

    if (!stars || !r->crossing)
        return add_level(a, r, p, end, err);
    if (add_level(a, r, p, stars + 1, err) < 0 || add_level(a, r, any, any + 2, err) < 0)
        return err->code;
    return add_level(a, r, stars + 1, end, err);
}

/* A "**" at the end means one level at least: what is inside, not the region itself. */
static int end_reading(struct lpo_arena *a, struct reading *r, struct lpo_err *err)
{
    const struct matcher *last;
    const char *star = "*";

    if (r->levels.len == 0)
        return add_level(a, r, star + 1, star + 1, err); /* fits a range without a name */
    last = &r->at[r->levels.len - 1];
    if (!r->levels.at[r->levels.len - 1].any_depth)
        return 0;
    if (last->whole) /* "LLM@**": every range of that domain */
        star = lpo_arena_printf(a, "%s@*", last->domain_text);
    return add_level(a, r, star, star + strlen(star), err);
}

static int add_reading(struct lpo_region_pattern *p, bool colons_split, bool crossing,
                       struct lpo_err *err)
{
    const char *text = p->text, *end = text + strlen(text);
    struct reading *r = LPO_NEW(p->arena, struct reading);

    r->crossing = crossing;
    p->readings[p->count++] = r;
    for (;;) {
        const char *slash = find_bare(text, end, "/");
        const char *colons = colons_split ? find_bare(text, end, "::") : end;
        const char *stop = slash < colons ? slash : colons;

        if (stop > text && add_part(p->arena, r, text, stop, err) < 0)
            return err->code;
        if (stop == end)
            return end_reading(p->arena, r, err);
        text = stop + (stop == slash ? 1 : 2);
    }
}

static bool holds_inner_stars(const char *text)
{
    const char *end = text + strlen(text);

    for (;;) {
        const char *slash = find_bare(text, end, "/");

        if (inner_stars(text, slash))
            return true;
        if (slash == end)
            return false;
        text = slash + 1;
    }
}

static int parse(struct lpo_region_pattern *p, struct lpo_err *err)
{
    const char *end = p->text + strlen(p->text);
    bool colons = find_bare(p->text, end, "::") < end;

    if (lpo_str_starts(p->text, "regex:")) {
        p->whole_path = find_bare(p->text, end, "/") < end;
        return lpo_pattern_create(p->text, &p->regex, err);
    }
    p->outermost = *p->text == '/' && !any_depth(p->text + 1, find_bare(p->text + 1, end, "/"));
    if (colons && add_reading(p, true, false, err) < 0)
        return err->code;
    if (add_reading(p, false, false, err) < 0)
        return err->code;
    return find_bare(p->text, end, "/") < end && holds_inner_stars(p->text)
               ? add_reading(p, false, true, err)
               : 0;
}

int lpo_region_pattern_create(const char *text, struct lpo_region_pattern **out,
                              struct lpo_err *err)
{
    LPO_AUTO(lpo_region_pattern) p = lpo_xcalloc(1, sizeof *p);
    struct lpo_err why = { 0 }; /* a caller may pass no err, and codes are read from it here */

    p->arena = lpo_arena_create();
    p->text = lpo_arena_strdup(p->arena, text);
    if (parse(p, &why) < 0) {
        if (err)
            *err = why;
        return why.code;
    }
    *out = p;
    p = NULL;
    return 0;
}

void lpo_region_pattern_destroy(struct lpo_region_pattern *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->count; i++) {
        for (size_t k = 0; k < p->readings[i]->levels.len; k++) {
            lpo_pattern_destroy(p->readings[i]->at[k].name);
            lpo_pattern_destroy(p->readings[i]->at[k].domain);
            lpo_pattern_destroy(p->readings[i]->at[k].whole);
        }
    }
    lpo_pattern_destroy(p->regex);
    lpo_arena_destroy(p->arena);
    free(p);
}

const char *lpo_region_pattern_text(const struct lpo_region_pattern *p)
{
    return p->text;
}

static bool gave_up(const struct lpo_pattern *p)
{
    return p && lpo_pattern_gave_up(p);
}

bool lpo_region_pattern_gave_up(const struct lpo_region_pattern *p)
{
    for (size_t i = 0; i < p->count; i++) {
        for (size_t k = 0; k < p->readings[i]->levels.len; k++) {
            const struct matcher *m = &p->readings[i]->at[k];

            if (gave_up(m->name) || gave_up(m->domain) || gave_up(m->whole))
                return true;
        }
    }
    return gave_up(p->regex);
}

bool lpo_region_pattern_is_path(const struct lpo_region_pattern *p)
{
    return p->regex ? p->whole_path : p->readings[p->count - 1]->levels.len > 1;
}
