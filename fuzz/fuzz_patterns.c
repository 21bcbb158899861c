/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns that users write, and names they are matched with: the first line is the pattern. As a
 * glob or regular expression, as levels of regions, and as an expression in ncu's grammar. */
#include "scratch.h"

#include "pipeline/ncu/nvtx_expr.h"
#include "pipeline/stage.h"
#include "region/pattern/pattern.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/pattern.h"
#include "util/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void match(const char *pattern, const char *name, size_t len)
{
    LPO_AUTO(lpo_pattern) p = NULL;
    struct lpo_err err = { 0 };

    if (lpo_pattern_create(pattern, &p, &err) < 0)
        insist(lpo_err_cause(&err)[0] != '\0');
    else
        lpo_pattern_matches(p, name, len);
}

/* What a report shows, a capture that knows the regions holds. */
static void levels(struct lpo_arena *a, const char *pattern, const char *name)
{
    static const char *const domains[] = { "LLM", "x" };
    LPO_AUTO(lpo_region_pattern) p = NULL;
    struct lpo_levels path = { 0 };
    struct lpo_region_run run;
    struct lpo_err err = { 0 };
    bool fits, runs;

    if (lpo_region_pattern_create(pattern, &p, &err) < 0) {
        insist(lpo_err_cause(&err)[0] != '\0');
        return;
    }
    if (lpo_region_path_parse(a, name, domains, 2, &path) < 0)
        return;
    fits = lpo_region_pattern_fits(p, &path);
    lpo_region_pattern_run_in(p, &path, true, &run);
    runs = lpo_region_pattern_run_in(p, &path, false, &run);
    if (fits && strcmp(pattern, name) != 0 && !lpo_str_starts(pattern, "regex:") &&
        !lpo_region_pattern_gave_up(p))
        insist(runs && run.levels.len > 0);
    for (size_t i = 0; lpo_region_pattern_run(p, i, &run); i++)
        insist(run.levels.len > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const char *text = (const char *)data, *nl, *pattern, *name, *note = NULL;
    struct lpo_known_region region = { 0 };
    struct lpo_known_regions known = { .at = &region, .len = 1 }, none = { 0 };
    struct lpo_exprs exprs = { 0 };
    struct lpo_err err = { 0 };
    size_t len;

    if (size == 0 || size > 2048)
        return 0;
    nl = memchr(text, '\n', size);
    len = nl ? (size_t)(nl - text) : size;
    pattern = lpo_arena_strndup(a, text, len);
    name = lpo_arena_name(a, nl ? nl + 1 : "", nl ? size - len - 1 : 0);
    match(pattern, name, strlen(name));
    levels(a, pattern, name);
    region.path = name;
    lpo_region_pattern_in_ncu_grammar(pattern);
    if (lpo_pipeline_ncu_expr_add(a, pattern, size % 2 ? &known : &none, &exprs, &err) < 0 ||
        lpo_pipeline_ncu_exprs_join(a, &exprs, &note, &err) < 0)
        insist(lpo_err_cause(&err)[0] != '\0');
    return 0;
}
