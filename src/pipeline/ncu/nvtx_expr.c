/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/ncu/nvtx_expr.h"

#include "pipeline/stage.h"
#include "region/pattern/pattern.h"
#include "trace/xla_names.h"

/* --- levels as text in ncu's grammar, plain or as a regular expression ----------------------- */

/* What ncu's plain grammar cannot express reliably: globs, a backslash, an empty name, a name that
 * begins like its own "regex:". */
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

/* Inside a regular expression ncu still takes '@', ',' and '/' as its own marks ("regex:^a/b$/"
 * matches nothing, measured), so '.' stands for each of them. */
static const char *regex_of(struct lpo_arena *a, const char *name, bool glob)
{
    LPO_STR out = { 0 };

    for (; *name; name++) {
        bool literal = !glob;
        const char *close;

        if (glob && *name == '[' && (close = strchr(name + 1, ']'))) {
            lpo_str_addc(&out, '.'); /* not measured: the reports leave out what is too much */
            name = close;
            continue;
        }
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

/* Reports show ranges of XLA by the module or op in their names (trace/xla_names.h); ncu sees all
 * of the name. A comma is a mark of ncu's, so that a dot stands for it, and the capture may hold
 * more. */
static bool of_xla(const struct lpo_levels *levels)
{
    return strcmp(levels->at[0].domain, LPO_XLA_DOMAIN) == 0;
}

static const char *xla_regex(struct lpo_arena *a, const char *name)
{
    return lpo_arena_printf(a, "(%s|.*:#(.*.)?(hlo_module|hlo_op|name|module)=%s(..*)?#)", name,
                            name);
}

static const char **parts_of(struct lpo_arena *a, const struct lpo_levels *levels)
{
    const char **parts = lpo_arena_array(a, levels->len + 1, sizeof *parts);
    const char *domain = levels->at[0].domain;

    parts[0] = regex_of(a, domain, strpbrk(domain, "*?") != NULL);
    for (size_t i = 0; i < levels->len; i++)
        parts[i + 1] = levels->at[i].any_depth
                           ? LPO_EXPR_ANY_DEPTH
                           : regex_of(a, levels->at[i].name, levels->at[i].glob);
    for (size_t i = 0; of_xla(levels) && i < levels->len; i++)
        if (!levels->at[i].any_depth)
            parts[i + 1] = xla_regex(a, parts[i + 1]);
    return parts;
}

/* Each part is anchored, since ncu takes a part of a name for a match (measured). */
const char *lpo_pipeline_ncu_expr_regex(struct lpo_arena *a, const struct lpo_expr *e)
{
    LPO_STR text = { 0 };

    lpo_str_add(&text, "regex:");
    if (*e->parts[0])
        lpo_str_addf(&text, "^%s$@", e->parts[0]);
    for (size_t i = 1; i < e->nparts; i++) {
        bool depth = strcmp(e->parts[i], LPO_EXPR_ANY_DEPTH) == 0;

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

static void push_levels(struct lpo_arena *a, const char *pattern, const struct lpo_levels *levels,
                        bool start_end, struct lpo_exprs *out)
{
    struct lpo_expr e = { .pattern = pattern,
                          .parts = parts_of(a, levels),
                          .nparts = levels->len + 1,
                          .start_end = start_end,
                          .regex = wants_regex(levels) || of_xla(levels) };

    if (of_xla(levels) && out->exact)
        return; /* it might leave out more; the reports apply it */
    if (of_xla(levels))
        out->wider = pattern;

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

static void push_own(struct lpo_arena *a, const char *text, struct lpo_exprs *out)
{
    bool regex = lpo_str_starts(text, "regex:");

    push(a, out,
         (struct lpo_expr){ .text = text,
                            .pattern = text,
                            .start_end = !has_bare(text, regex ? "/" : "/[]"),
                            .regex = regex });
}

/* --- a pattern as expressions, by the regions that are known --------------------------------- */

static bool levels_of(struct lpo_arena *a, const struct lpo_known_regions *known, size_t i,
                      struct lpo_levels *out)
{
    return lpo_region_path_parse(a, known->at[i].path, known->domains, known->ndomains, out) == 0;
}

static int no_such_region(struct lpo_arena *a, const char *pattern,
                          const struct lpo_known_regions *known, struct lpo_err *err)
{
    const char **names = lpo_arena_array(a, known->len * 2 + 1, sizeof *names);
    LPO_STR some = { 0 };
    const char *near;
    size_t n = 0;

    for (size_t i = 0; i < known->len; i++) {
        const char *last = strrchr(known->at[i].path, '/');

        names[n++] = known->at[i].path;
        if (last)
            names[n++] = last + 1;
        if (i < 8)
            lpo_str_addf(&some, "%s%s", i ? ", " : "", known->at[i].path);
    }
    if (!known->len)
        return lpo_fail(err, LPO_E_CONFIG,
                        "no region fits '%s': native recorded no NVTX range in this program",
                        pattern);
    near = lpo_str_nearest(pattern, names, n);
    if (near)
        return lpo_fail(err, LPO_E_CONFIG,
                        "no region fits '%s'; did you mean '%s'? native/regions.json lists all %zu",
                        pattern, near, known->len);
    return lpo_fail(err, LPO_E_CONFIG, "no region fits '%s'; the run has %zu: %s%s", pattern,
                    known->len, lpo_str_text(&some), known->len > 8 ? ", …" : "");
}

static void add_kinds(struct lpo_arena *a, const char *pattern, const struct lpo_levels *levels,
                      bool push_pop, bool start_end, struct lpo_exprs *out)
{
    if (push_pop)
        push_levels(a, pattern, levels, false, out);
    if (start_end && levels->len == 1) /* a start/end range has no parents */
        push_levels(a, pattern, levels, true, out);
}

/* A path exactly as reports print it, whatever characters are in it. */
static bool add_path(struct lpo_arena *a, const char *path, const struct lpo_known_regions *known,
                     struct lpo_exprs *out)
{
    bool found = false;

    for (size_t i = 0; i < known->len; i++) {
        struct lpo_levels levels;

        size_t len;

        if (strcmp(known->at[i].path, path) != 0 || !levels_of(a, known, i, &levels))
            continue;
        found = true;
        len = levels.len;
        lpo_region_levels_of_last_domain(&levels);
        if (levels.len < len && out->exact) /* the ranges around it cannot be expressed */
            continue;
        if (levels.len < len)
            out->wider = path;
        add_kinds(a, path, &levels, !known->at[i].start_end, known->at[i].start_end, out);
    }
    return found;
}

static int too_wide(const char *pattern, struct lpo_err *err)
{
    return lpo_fail(err, LPO_E_CONFIG,
                    "ncu cannot express '%s': the expression would match more than that. The "
                    "reports still apply it",
                    pattern);
}

/* The pattern itself, in each of its readings. */
static int add_readings(struct lpo_arena *a, const struct lpo_region_pattern *p, bool push_pop,
                        bool start_end, struct lpo_exprs *out, struct lpo_err *err)
{
    const char *text = lpo_arena_strdup(a, lpo_region_pattern_text(p));
    struct lpo_region_run run;

    for (size_t i = 0; lpo_region_pattern_run(p, i, &run); i++) {
        if (run.wider && out->exact)
            return too_wide(text, err);
        if (run.wider)
            out->wider = text;
        add_kinds(a, text, &run.levels, push_pop, start_end, out);
    }
    return 0;
}

/* "/decode" where there is another decode deeper inside. ncu's own mark for an outermost range,
 * '[', was not measured, so that it would get both. */
static bool fits_deeper(struct lpo_arena *a, const struct lpo_region_pattern *p,
                        const struct lpo_known_regions *known)
{
    const char *text = lpo_region_pattern_text(p), *bare = text + strspn(text, "/");
    LPO_AUTO(lpo_region_pattern) anywhere = NULL;

    if (bare == text || lpo_region_pattern_create(bare, &anywhere, NULL) < 0)
        return false;
    for (size_t i = 0; i < known->len; i++) {
        struct lpo_region_run run;
        struct lpo_levels path;

        if (levels_of(a, known, i, &path) &&
            lpo_region_pattern_run_in(anywhere, &path, true, &run) &&
            !lpo_region_pattern_run_in(p, &path, true, &run))
            return true;
    }
    return false;
}

/* By the names of the regions that fit; the pattern itself where those are too many. `found`: one
 * is there already, by its path. */
static int add_names(struct lpo_arena *a, const struct lpo_region_pattern *p, bool found,
                     const struct lpo_known_regions *known, struct lpo_exprs *out,
                     struct lpo_err *err)
{
    const char *text = lpo_arena_strdup(a, lpo_region_pattern_text(p));
    struct lpo_exprs all = *out; /* grows elsewhere once it is full: `out` stays as it is */
    bool push_pop = false, start_end = false, many = false, deeper = fits_deeper(a, p, known);

    for (size_t i = 0; i < known->len; i++) {
        struct lpo_region_run run;
        struct lpo_levels path;

        if (!levels_of(a, known, i, &path) ||
            !lpo_region_pattern_run_in(p, &path, out->exact, &run))
            continue;
        run.wider |= deeper;
        if (run.wider && out->exact)
            return too_wide(text, err);
        if (run.wider)
            all.wider = text;
        start_end |= known->at[i].start_end;
        push_pop |= !known->at[i].start_end;
        if (!many)
            add_kinds(a, text, &run.levels, !known->at[i].start_end, known->at[i].start_end, &all);
        many |= all.len > LPO_MAX_EXPRS || all.bytes > LPO_MAX_EXPR_BYTES;
    }
    if (!push_pop && !start_end && !found)
        return no_such_region(a, text, known, err);
    if (many)
        return add_readings(a, p, push_pop, start_end, out, err);
    *out = all;
    return 0;
}

int lpo_pipeline_ncu_expr_add(struct lpo_arena *a, const char *pattern,
                              const struct lpo_known_regions *known, struct lpo_exprs *out,
                              struct lpo_err *err)
{
    LPO_AUTO(lpo_region_pattern) p = NULL;
    bool any = known && known->at, found = any && add_path(a, pattern, known, out);
    struct lpo_err why = { 0 };

    if (lpo_region_pattern_in_ncu_grammar(pattern)) {
        if (!found)
            push_own(a, pattern, out);
        return 0;
    }
    if (pattern[strspn(pattern, "/")] == '\0' || lpo_region_pattern_create(pattern, &p, &why) < 0)
        return lpo_fail(err, LPO_E_CONFIG,
                        "'%s' is not a region pattern; try prefill, decode* or a/b%s%s", pattern,
                        why.code ? ": " : "", why.code ? lpo_err_cause(&why) : "");
    if (any)
        return add_names(a, p, found, known, out, err);
    return add_readings(a, p, true, true, out, err);
}

static bool outermost(const char *path)
{
    for (; *path; path++) {
        if (*path == '\\' && path[1])
            path++;
        else if (*path == '/')
            return false;
    }
    return true;
}

bool lpo_pipeline_ncu_is_default(const struct lpo_known_regions *known, size_t i)
{
    bool prepares = known->at[i].prepares;

    for (size_t k = 0; prepares && k < known->len; k++)
        if (!known->at[k].prepares && outermost(known->at[k].path))
            return false;
    return outermost(known->at[i].path);
}

bool lpo_pipeline_ncu_expr_add_outermost(struct lpo_arena *a, const struct lpo_known_regions *known,
                                         struct lpo_exprs *out)
{
    struct lpo_exprs all = { 0 };

    for (size_t i = 0; i < known->len; i++) {
        if (lpo_pipeline_ncu_is_default(known, i))
            lpo_pipeline_ncu_expr_add(a, known->at[i].path, known, &all, NULL);
        if (all.len > LPO_MAX_EXPRS || all.bytes > LPO_MAX_EXPR_BYTES)
            return false;
    }
    *out = all;
    return true;
}

/* --- several regular expressions as one, because ncu uses a single one of a kind ---------------
 */

static bool is_name(const char *part)
{
    return *part && strcmp(part, LPO_EXPR_ANY_DEPTH) != 0;
}

/* Alternatives in one part match what the two expressions match; in two parts they would also match
 * combinations that neither does. */
static bool joinable(const struct lpo_expr *x, const struct lpo_expr *y, size_t *part)
{
    size_t differ = 0;

    if (x->start_end != y->start_end || x->nparts != y->nparts)
        return false;
    *part = 0;
    for (size_t i = 0; i < x->nparts; i++) {
        if (strcmp(x->parts[i], y->parts[i]) != 0) {
            *part = i;
            differ++;
        }
    }
    return differ == 0 || (differ == 1 && is_name(x->parts[*part]) && is_name(y->parts[*part]));
}

/* "(a|b)" and "c" are "(a|b|c)"; a bracket of a name is behind a backslash. */
static const char *either(struct lpo_arena *a, const char *x, const char *y)
{
    size_t nx = strlen(x), ny = strlen(y);

    if (strcmp(x, y) == 0)
        return x;
    if (*x == '(')
        x++, nx -= 2;
    if (*y == '(')
        y++, ny -= 2;
    return lpo_arena_printf(a, "(%.*s|%.*s)", (int)nx, x, (int)ny, y);
}

static void drop(struct lpo_exprs *exprs, size_t i)
{
    memmove(&exprs->at[i], &exprs->at[i + 1], (exprs->len - i - 1) * sizeof *exprs->at);
    exprs->len--;
}

static bool ours(const struct lpo_expr *e)
{
    return e->regex && e->parts;
}

/* Makes one expression of a pair that can be one; false: no pair can. */
static bool join_pair(struct lpo_arena *a, struct lpo_exprs *exprs)
{
    for (size_t i = 0; i < exprs->len; i++) {
        for (size_t j = i + 1; j < exprs->len; j++) {
            struct lpo_expr *x = &exprs->at[i], *y = &exprs->at[j];
            size_t part;

            if (!ours(x) || !ours(y) || !joinable(x, y, &part))
                continue;
            x->parts[part] = either(a, x->parts[part], y->parts[part]);
            drop(exprs, j);
            return true;
        }
    }
    return false;
}

/* Beside a regular expression ncu ignores the bare name of a start/end range (measured), so those
 * become regular expressions, too. */
static void spread_regex(struct lpo_exprs *exprs)
{
    bool any = false;

    for (size_t i = 0; i < exprs->len; i++)
        any |= exprs->at[i].start_end && ours(&exprs->at[i]);
    for (size_t i = 0; any && i < exprs->len; i++)
        exprs->at[i].regex |= exprs->at[i].start_end && exprs->at[i].parts;
}

/* Two of this kind of which ncu would use one; if possible the first is a regular expression of
 * ours, because then we can refuse. */
static bool clash(const struct lpo_exprs *exprs, bool start_end, const struct lpo_expr *pair[2])
{
    size_t all = 0, regexes = 0;

    pair[0] = pair[1] = NULL;
    for (size_t i = 0; i < exprs->len; i++) {
        const struct lpo_expr *e = &exprs->at[i];

        if (e->start_end != start_end)
            continue;
        all++;
        regexes += e->regex;
        if (e->regex && (!pair[0] || (ours(e) && !ours(pair[0])))) {
            pair[1] = pair[0];
            pair[0] = e;
        } else if (!pair[1] && (e->regex || start_end)) {
            pair[1] = e;
        }
    }
    return start_end ? regexes && all > 1 : regexes > 1;
}

int lpo_pipeline_ncu_exprs_join(struct lpo_arena *a, struct lpo_exprs *exprs, const char **note,
                                struct lpo_err *err)
{
    static const char *const kinds[] = { "push/pop", "start/end" };
    const struct lpo_expr *pair[2];

    *note = NULL;
    spread_regex(exprs);
    while (join_pair(a, exprs))
        ;
    for (size_t i = 0; i < exprs->len; i++)
        if (ours(&exprs->at[i]))
            exprs->at[i].text = lpo_pipeline_ncu_expr_regex(a, &exprs->at[i]);
    for (int kind = 0; kind < 2; kind++) {
        if (!clash(exprs, kind, pair))
            continue;
        if (ours(pair[0]))
            return lpo_fail(err, LPO_E_CONFIG,
                            "'%s' and '%s' in one capture: ncu takes a single regular expression "
                            "for %s ranges and would pass over the other. Name the regions, or "
                            "enable pipeline.native, whose regions then stand for the globs",
                            pair[0]->pattern, pair[1]->pattern, kinds[kind]);
        *note = lpo_arena_printf(a,
                                 "'%s' and '%s' in one capture: ncu 2025.3.1 takes a single "
                                 "regular expression for %s ranges and passes over the other",
                                 pair[0]->text, pair[1]->text, kinds[kind]);
    }
    return 0;
}
