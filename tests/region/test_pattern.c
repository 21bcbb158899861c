/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns of a capture against paths of regions. */
#include "../unit.h"

#include "region/pattern/pattern.h"
#include "util/arena.h"

static const struct fit_case {
    const char *name, *pattern, *path;
    int fits;
} fit_cases[] = {
    { "anywhere in the path", "step", "decode/step/attn", 1 },
    { "a run of names", "step/attn", "decode/step/attn", 1 },
    { "not with a gap", "decode/attn", "decode/step/attn", 0 },
    { "gap by stars", "decode/**/attn", "decode/step/attn", 1 },
    { "stars may be nothing", "decode/**/step", "decode/step", 1 },
    { "whole names only", "dec", "decode", 0 },
    { "other domain", "decode", "LLM@decode", 0 },
    { "any domain", "*@decode", "LLM@decode", 1 },
    { "a domain's own stack", "LLM@a/b", "LLM@a/x/LLM@b", 1 },
    { "another's range between", "a/c", "a/LLM@b/c", 1 },
    { "many depths end soon", "**/a/**/a/**/a/**/a/**/a/**/b",
      "a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a", 0 },
};

static void check_fit(void **state)
{
    const struct fit_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    LPO_AUTO(lpo_region_pattern) p = NULL;
    struct lpo_region_run run;
    struct lpo_levels path;

    assert_int_equal(lpo_region_pattern_create(c->pattern, &p, NULL), 0);
    assert_int_equal(lpo_region_path_parse(a, c->path, NULL, 0, &path), 0);
    assert_int_equal(lpo_region_pattern_run_in(p, &path, false, &run), c->fits);
}

/* The region itself, not one inside it. */
static const struct fit_case own_cases[] = {
    { "star stays in its level", "decode/*", "decode/layer0", 1 },
    { "star does not cross", "decode/*", "decode/layer0/attn", 0 },
    { "two stars cross", "decode/**", "decode/layer0/attn", 1 },
    { "two stars between", "decode/**/attn", "decode/layer0/attn", 1 },
    { "two stars may be nothing", "decode/**/attn", "decode/attn", 1 },
    { "two stars at the front", "**/attn", "attn", 1 },
    { "a slash in a name is no border", "a*", "a\\/b", 1 },
    { "a slash in a name cannot end a level", "*/b", "a\\/b", 0 },
    { "a slash in a name, written", "a\\/b", "a\\/b", 1 },
    { "domain", "LLM@dec*", "LLM@decode", 1 },
};

static void check_own(void **state)
{
    const struct fit_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    LPO_AUTO(lpo_region_pattern) p = NULL;
    struct lpo_levels path;

    assert_int_equal(lpo_region_pattern_create(c->pattern, &p, NULL), 0);
    assert_int_equal(lpo_region_path_parse(a, c->path, NULL, 0, &path), 0);
    assert_int_equal(lpo_region_pattern_fits(p, &path), c->fits);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, fit_cases, check_fit);
    UNIT_ROWS(&u, own_cases, check_own);
    return unit_run(&u);
}
