/* SPDX-License-Identifier: Apache-2.0 */
/* One grammar, two doors: every row is a selection of a report and a capture of ncu. The capture,
 * read as ncu reads it, must hold all that the report shows, and nothing else unless the row says
 * that ncu cannot express the pattern exactly. */
#include "../unit.h"

#include "pipeline/ncu/nvtx_expr.h"
#include "pipeline/stage.h"
#include "region/pattern/pattern.h"
#include "region/select.h"
#include "region/tree.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/pattern.h"
#include "util/str.h"

static struct lpo_known_region regions[] = {
    { "decode", false },
    { "decode/step", false },
    { "decode/step/attn", false },
    { "decode/attn", false },
    { "prefill", false },
    { "prefill/decode", false },
    { "prefill/decode/attn", false },
    { "LLM@gen", false },
    { "LLM@gen/LLM@attn", false },
    { "outer", false },
    { "outer/LLM@gen", false },
    { "outer/CCCL@scan", false },
    { "outer/CCCL@scan/attn", false },
    { "A", false },
    { "A/A1", false },
    { "A::A1", false },
    { "a\\/b", false },
    { "layer0", false },
    { "layer1", false },
    { "layer2", false },
    { "m@n", false },
    { "span", true },
    { "LLM@span", true },
};
enum { COUNT = sizeof regions / sizeof *regions };
static const char *domains[] = { "LLM", "CCCL" };
static const struct lpo_known_regions known = { regions, COUNT, domains, 2 };

enum { WIDER = 1, NATIVE_ONLY = 2 }; /* the second: without native ncu sees less */

static const struct door_case {
    const char *name, *pattern;
    int flags;
    const char *want; /* regions that the report shows */
} cases[] = {
    { "a name at any depth", "attn", 0,
      "decode/step/attn decode/attn prefill/decode/attn outer/CCCL@scan/attn" },
    { "with all inside", "decode", 0,
      "decode decode/step decode/step/attn decode/attn prefill/decode prefill/decode/attn" },
    { "levels may begin anywhere", "decode/attn", 0, "decode/attn prefill/decode/attn" },
    { "consecutive, without a gap", "decode/step", 0, "decode/step decode/step/attn" },
    { "a leading slash", "/decode/attn", WIDER, "decode/attn" },
    { "a leading slash, one level", "/decode", WIDER,
      "decode decode/step decode/step/attn decode/attn" },
    { "a leading slash where it makes no difference", "/prefill/decode", 0,
      "prefill/decode prefill/decode/attn" },
    { "a leading slash before stars says nothing", "/**/attn", 0,
      "decode/step/attn decode/attn prefill/decode/attn outer/CCCL@scan/attn" },
    { "any number of levels, none too", "decode/**/attn", 0,
      "decode/step/attn decode/attn prefill/decode/attn" },
    { "the same with dots", "decode/.../attn", 0,
      "decode/step/attn decode/attn prefill/decode/attn" },
    { "in front", "**/attn", 0,
      "decode/step/attn decode/attn prefill/decode/attn outer/CCCL@scan/attn" },
    { "at the end: what is inside", "decode/**", WIDER,
      "decode/step decode/step/attn decode/attn prefill/decode/attn" },
    { "one level below", "decode/*", 0,
      "decode/step decode/step/attn decode/attn prefill/decode/attn" },
    { "stars inside a level", "pre**/attn", NATIVE_ONLY, "prefill/decode/attn" },
    { "a name with colons, or two levels", "A::A1", 0, "A/A1 A::A1" },
    { "the same with a glob", "A::A*", NATIVE_ONLY, "A/A1 A::A1" },
    { "a glob", "layer*", 0, "layer0 layer1 layer2" },
    { "one character", "layer?", 0, "layer0 layer1 layer2" },
    { "a set", "layer[0-1]", 0, "layer0 layer1" },
    { "not of a set", "layer[!0-1]", 0, "layer2" },
    { "a slash inside a name", "a\\/b", 0, "a\\/b" },
    { "an at sign inside a name", "m@n", NATIVE_ONLY, "m@n" },
    { "a domain", "LLM@gen", 0, "LLM@gen LLM@gen/LLM@attn outer/LLM@gen" },
    { "a domain holds for what follows", "LLM@gen/attn", 0, "LLM@gen/LLM@attn" },
    { "each level with its domain", "LLM@gen/LLM@attn", 0, "LLM@gen/LLM@attn" },
    { "any domain", "*@attn", NATIVE_ONLY,
      "decode/step/attn decode/attn prefill/decode/attn LLM@gen/LLM@attn outer/CCCL@scan/attn" },
    { "all of a domain", "LLM@**", 0, "LLM@gen LLM@gen/LLM@attn outer/LLM@gen LLM@span" },
    { "levels of two domains", "outer/LLM@gen", WIDER, "outer/LLM@gen" },
    { "a domain's own stack", "outer/attn", 0, "outer/CCCL@scan/attn" },
    { "start/end ranges", "span", 0, "span" },
    { "start/end ranges of a domain", "LLM@s*", 0, "LLM@span" },
};

/* --- the report's door ------------------------------------------------------------------------ */

static void select_paths(const char *pattern, bool *out)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    LPO_AUTO(lpo_trace) t = lpo_trace_create();
    LPO_AUTO(lpo_region_selection) s = lpo_region_selection_create();
    LPO_AUTO(lpo_region_tree) tree = lpo_region_tree_create(t);
    uint32_t nodes[COUNT];
    bool *picked;

    for (size_t i = 0; i < COUNT; i++) {
        uint32_t node = LPO_NONE;
        struct lpo_levels path;

        assert_int_equal(lpo_region_path_parse(a, regions[i].path, domains, 2, &path), 0);
        for (size_t k = 0; k < path.len; k++) {
            const char *domain = path.at[k].domain;

            node = lpo_region_node(tree, node, lpo_trace_name(t, path.at[k].name),
                                   *domain ? lpo_trace_domain(t, domain, strlen(domain)) : 0,
                                   regions[i].start_end ? LPO_START_END : LPO_PUSH_POP);
        }
        nodes[i] = node;
    }
    assert_int_equal(lpo_region_selection_add(s, LPO_REGIONS_INCLUDE, pattern, NULL), 0);
    picked = lpo_region_selection_regions(s, tree);
    for (size_t i = 0; i < COUNT; i++)
        out[i] = picked[nodes[i]];
    free(picked);
}

/* --- the capture's door, as ncu was measured to read it --------------------------------------- */

static const char *cut(struct lpo_arena *a, const char **text, char stop)
{
    LPO_STR out = { 0 };
    const char *p = *text;

    for (; *p && *p != stop; p++) {
        if (*p == '\\' && p[1])
            lpo_str_addc(&out, *p++);
        lpo_str_addc(&out, *p);
    }
    *text = *p ? p + 1 : NULL;
    return lpo_arena_strdup(a, lpo_str_text(&out));
}

static bool part_fits(struct lpo_arena *a, const char *part, bool regex, const char *name)
{
    LPO_AUTO(lpo_pattern) p = NULL;

    part = lpo_arena_printf(a, "%s%s", regex ? "regex:" : "", part);
    assert_int_equal(lpo_pattern_create(part, &p, NULL), 0);
    return lpo_pattern_matches(p, name, strlen(name));
}

static bool run_at(struct lpo_arena *a, const char *rest, bool regex, const struct lpo_levels *path,
                   size_t i)
{
    const char *part;

    if (!rest || !*rest)
        return true;
    part = cut(a, &rest, '/');
    if (strcmp(part, "*") == 0) {
        for (; i <= path->len; i++)
            if (run_at(a, rest, regex, path, i))
                return true;
        return false;
    }
    return i < path->len && part_fits(a, part, regex, path->at[i].name) &&
           run_at(a, rest, regex, path, i + 1);
}

static bool holds(struct lpo_arena *a, const char *text, size_t region)
{
    bool regex = lpo_str_starts(text, "regex:");
    const char *rest = text + (regex ? 6 : 0), *after = rest;
    const char *domain = cut(a, &after, '@');
    struct lpo_levels path, own;

    if (after)
        rest = after;
    else
        domain = regex ? "^$" : "";
    if (regions[region].start_end != !lpo_str_ends(text, "/"))
        return false;
    assert_int_equal(lpo_region_path_parse(a, regions[region].path, domains, 2, &path), 0);
    for (size_t len = path.len; len > 0; len--) {
        path.len = len;
        own = path;
        lpo_region_levels_of_last_domain(&own);
        for (size_t i = 0; part_fits(a, domain, regex, own.at[0].domain) && i < own.len; i++)
            if (run_at(a, rest, regex, &own, i))
                return true;
    }
    return false;
}

static void check_capture(const struct door_case *c, bool native, const bool *shown)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_exprs exprs = { 0 };
    size_t more = 0;

    assert_int_equal(lpo_pipeline_ncu_expr_add(a, c->pattern, native ? &known : NULL, &exprs, NULL),
                     0);
    for (size_t i = 0; i < COUNT; i++) {
        bool captured = false;

        for (size_t k = 0; k < exprs.len; k++)
            captured |= holds(a, exprs.at[k].text, i);
        if (shown[i] && !captured && (native || !(c->flags & NATIVE_ONLY)))
            fail_msg("the capture %s native misses %s", native ? "with" : "without",
                     regions[i].path);
        more += captured && !shown[i];
    }
    if (more && !exprs.wider)
        fail_msg("the capture %s native holds %zu regions more", native ? "with" : "without", more);
    if (native)
        assert_int_equal(exprs.wider != NULL, (c->flags & WIDER) != 0);
}

static void check_doors(void **state)
{
    const struct door_case *c = *state;
    bool shown[COUNT];
    LPO_STR got = { 0 };

    select_paths(c->pattern, shown);
    for (size_t i = 0; i < COUNT; i++)
        if (shown[i])
            lpo_str_addf(&got, "%s%s", got.len ? " " : "", regions[i].path);
    assert_string_equal(lpo_str_text(&got), c->want);
    check_capture(c, true, shown);
    check_capture(c, false, shown);
}

/* What is left out of a capture must not be more than the pattern means. */
static const struct exclude_case {
    const char *name, *pattern, *want; /* the first expression; NULL: refused */
} exclude_cases[] = {
    { "a name", "attn", "attn/" },
    { "what is inside, not the region itself", "decode/**", "decode/step/" },
    { "an outermost region, where there is no other", "/prefill", "prefill/" },
    { "an outermost region among others cannot be expressed", "/decode", NULL },
    { "nor can levels of two domains", "outer/LLM@g*", NULL },
};

static void check_exclude(void **state)
{
    const struct exclude_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_exprs exprs = { .exact = true };
    struct lpo_err err = { 0 };
    int rc = lpo_pipeline_ncu_expr_add(a, c->pattern, &known, &exprs, &err);

    if (!c->want) {
        assert_int_equal(rc, LPO_E_CONFIG);
        assert_non_null(strstr(lpo_err_cause(&err), "ncu cannot express"));
        return;
    }
    assert_int_equal(rc, 0);
    assert_string_equal(exprs.at[0].text, c->want);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check_doors);
    UNIT_ROWS(&u, exclude_cases, check_exclude);
    return unit_run(&u);
}
