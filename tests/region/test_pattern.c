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

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, fit_cases, check_fit);
    return unit_run(&u);
}
