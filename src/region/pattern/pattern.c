/* SPDX-License-Identifier: Apache-2.0 */
#include "region/pattern/pattern.h"

#include "util/pattern.h"

enum { MAX_READINGS = 3 }; /* "::" split, as it is, and with stars that cross levels */

/* One level of a pattern, compiled. */
struct matcher {
    struct lpo_pattern *name;
    struct lpo_pattern *domain; /* NULL: none is written here or before */
    struct lpo_pattern *whole;  /* with "domain@" where that is written here: it may be a name */
    const char *domain_text;    /* as written; NULL: none */
};

/* One way to read a pattern: "A::A1" is one level or two. */
struct reading {
    struct lpo_levels levels;
    struct matcher at[LPO_MAX_LEVELS];
    bool crossing; /* of stars inside a level that stand for several levels */
};

struct lpo_region_pattern {
    struct lpo_arena *arena;
    const char *text;
    struct lpo_pattern *regex; /* then there are no readings */
    bool whole_path;           /* of a regular expression: it is compared with the path */
    bool outermost;            /* a leading '/' */
    struct reading *readings[MAX_READINGS];
    size_t count;
};

/* The levels of a path that count, outermost first. */
struct walk {
    size_t index[LPO_MAX_LEVELS];
    size_t len;
};

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

/* Copies with each backslash taken away; of a path only those before a slash are marks. */
static const char *unescape(struct lpo_arena *a, const char *from, const char *end, bool path)
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
        level->domain = has_glob(p, at) ? m->domain_text : unescape(a, p, at, false);
    }
    level->any_depth = any_depth(name, end);
    level->glob = has_glob(name, end);
    level->name = level->glob ? lpo_arena_strndup(a, name, (size_t)(end - name))
                              : unescape(a, name, end, false);
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

/* --- is it a match -------------------------------------------------------------------------------
 */

/* Does a region fit? Paths as levels, and one matcher over them. */

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
            level.domain = unescape(a, path, at, true);
            path = at + 1;
        }
        level.name = unescape(a, path, stop, true);
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

/* Do the first `levels` levels of this reading fit a run that ends with level `len` of the path?
 * `where` gets the place in `w` of each of them, "**" aside. */
static bool reading_fits(const struct lpo_region_pattern *p, const struct reading *r, size_t levels,
                         const struct lpo_levels *path, size_t len, struct walk *w, size_t *where)
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
        if (reading_fits(p, p->readings[i], p->readings[i]->levels.len, path, path->len, &w, where))
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

/* --- as runs of levels, for tools ----------------------------------------------------------------
 */

/* Patterns for tools that capture: which are in ncu's own grammar, and runs of levels for the
 * others. */

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
    size_t where[LPO_MAX_LEVELS] = { 0 };
    struct walk w;

    for (size_t len = 1; len <= path->len; len++) { /* the outermost region that fits */
        for (size_t i = 0; i < p->count; i++) {
            const struct reading *r = p->readings[i];
            size_t levels = exact ? r->levels.len : without_end(&r->levels);

            if (!reading_fits(p, r, levels, path, len, &w, where))
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
