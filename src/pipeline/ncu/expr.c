#include "pipeline/ncu/expr.h"

#include <string.h>

#include "region/levels.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/str.h"

static bool levels_of(struct lpo_arena *a, const struct lpo_seen_regions *seen, size_t i,
                      struct lpo_levels *out)
{
    return lpo_region_levels_of_path(a, seen->at[i].path, seen->domains, seen->ndomains, out) == 0;
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
    if (!seen->len)
        return lpo_fail(err, LPO_E_CONFIG,
                        "no region fits '%s': native saw no NVTX range in this program", pattern);
    near = lpo_str_nearest(pattern, names, n);
    if (near)
        return lpo_fail(err, LPO_E_CONFIG,
                        "no region fits '%s'; did you mean '%s'? native/regions.json lists all %zu",
                        pattern, near, seen->len);
    return lpo_fail(err, LPO_E_CONFIG, "no region fits '%s'; the run has %zu: %s%s", pattern,
                    seen->len, lpo_str_text(&some), seen->len > 8 ? ", …" : "");
}

static void add_kinds(struct lpo_arena *a, const char *pattern, const struct lpo_levels *levels,
                      bool push_pop, bool start_end, struct lpo_exprs *out)
{
    if (push_pop)
        lpo_pipeline_ncu_expr_push(a, pattern, levels, false, out);
    if (start_end && levels->len == 1) /* a start/end range has no parents */
        lpo_pipeline_ncu_expr_push(a, pattern, levels, true, out);
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
        lpo_region_levels_of_last_domain(&levels);
        add_kinds(a, path, &levels, !seen->at[i].start_end, seen->at[i].start_end, out);
    }
    return found;
}

/* By the names of the regions that fit; the pattern itself where those are too many. */
static int add_names(struct lpo_arena *a, const char *pattern, const struct lpo_levels *want,
                     const struct lpo_seen_regions *seen, struct lpo_exprs *out,
                     struct lpo_err *err)
{
    struct lpo_exprs all = *out; /* grows elsewhere once it is full: `out` stays as it is */
    bool push_pop = false, start_end = false, many = false;

    for (size_t i = 0; i < seen->len; i++) {
        struct lpo_levels have, found;

        if (!levels_of(a, seen, i, &have) || !lpo_region_levels_instance(want, &have, &found))
            continue;
        start_end |= seen->at[i].start_end;
        push_pop |= !seen->at[i].start_end;
        if (!many)
            add_kinds(a, pattern, &found, !seen->at[i].start_end, seen->at[i].start_end, &all);
        many |= all.len > LPO_MAX_EXPRS || all.bytes > LPO_MAX_EXPR_BYTES;
    }
    if (!push_pop && !start_end)
        return no_such_region(a, pattern, seen, err);
    if (many)
        add_kinds(a, pattern, want, push_pop, start_end, out);
    else
        *out = all;
    return 0;
}

int lpo_pipeline_ncu_expr_add(struct lpo_arena *a, const char *pattern,
                              const struct lpo_seen_regions *seen, struct lpo_exprs *out,
                              struct lpo_err *err)
{
    bool known = seen && seen->at;
    struct lpo_levels want;

    if (known && add_path(a, pattern, seen, out))
        return 0;
    if (lpo_region_levels_ncu_grammar(pattern)) {
        lpo_pipeline_ncu_expr_push_own(a, pattern, out);
        return 0;
    }
    if (lpo_region_levels_of_pattern(a, pattern, &want) < 0 || want.len == 0)
        return lpo_fail(err, LPO_E_CONFIG, "'%s' is no region pattern; try prefill, decode* or a/b",
                        pattern);
    lpo_region_levels_of_last_domain(&want);
    lpo_region_levels_tidy(&want);
    if (known)
        return add_names(a, pattern, &want, seen, out, err);
    add_kinds(a, pattern, &want, true, true, out);
    return 0;
}
