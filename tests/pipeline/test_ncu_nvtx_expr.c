/* SPDX-License-Identifier: Apache-2.0 */
#include "../unit.h"

#include "pipeline/ncu/nvtx_expr.h"
#include "pipeline/stage.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/str.h"

static struct lpo_known_region regions[] = {
    { "prefill", false },     { "decode", false },
    { "decode/step", false }, { "decode/step/attn", false },
    { "LLM@decode", false },  { "window", true },
    { "a\\/b", false },       { "outer/LLM@inner", false },
    { "x[0]", false },        { "c,d", false },
    { "m@n", false },         { "LLM@decode/LLM@attn", false },
    { "u$v", false },         { "decode_tail", false },
    { "decode/attn", false }, { "e\\f", false },
    { "decode_x", true },     { "LLM@span", true },
    { "regex:r", false },     { "decode/step/deep/attn", false },
};
static const char *domains[] = { "LLM" };
static const struct lpo_known_regions seen = { regions, sizeof regions / sizeof *regions, domains,
                                               1 };

static const struct expr_case {
    const char *name, *pattern;
    int known;           /* are the regions known? */
    const char *want[4]; /* NULL first: refused */
    const char *says;    /* the error holds this */
} expr_cases[] = {
    { "a bare name, kinds unknown", "prefill", 0, { "prefill/", "prefill" }, NULL },
    { "a bare name that is push/pop", "prefill", 1, { "prefill/" }, NULL },
    { "a bare name that is start/end", "window", 1, { "window" }, NULL },
    { "a glob: every name that fits",
      "decode*",
      1,
      { "decode/", "decode_tail/", "decode_x" },
      NULL },
    { "a glob below: what is inside is not named again", "*/step", 1, { "decode/step/" }, NULL },
    { "a glob at every level", "d*/s*/a*", 1, { "decode/step/attn/" }, NULL },
    { "a glob for start/end ranges alone", "LLM@sp*", 1, { "LLM@span" }, NULL },
    { "a glob over names that hold marks", "x*", 1, { "x\\[0\\]/" }, NULL },
    { "a glob that fits nothing", "z*", 1, { NULL }, "no region fits 'z*'" },
    { "glob, kinds unknown", "dec?de", 0, { "regex:^dec.de$/", "regex:^dec.de$" }, NULL },
    { "nested by colons", "decode::step", 1, { "decode/step/" }, NULL },
    { "nested by slash", "decode/step", 1, { "decode/step/" }, NULL },
    { "anywhere below: at any depth, and at none",
      "decode/**/attn",
      1,
      { "decode/*/attn/", "decode/attn/" },
      NULL },
    { "a glob and any depth", "dec*/**/st*/att?", 1, { "decode/step/attn/" }, NULL },
    { "any depth in front means the same",
      "**/dec*",
      1,
      { "decode/", "decode_tail/", "decode_x" },
      NULL },
    { "nor behind, nor twice", "**/decode/**/**", 1, { "decode/" }, NULL },
    { "in front, regions unknown", "**/attn", 0, { "attn/", "attn" }, NULL },
    { "any depth alone is any name",
      "LLM@**",
      1,
      { "LLM@decode/", "LLM@inner/", "LLM@span" },
      NULL },
    { "a glob and any depth, regions unknown",
      "dec*/**/attn",
      0,
      { "regex:^dec.*$/*/^attn$/" },
      NULL },
    { "domain", "LLM@decode", 1, { "LLM@decode/" }, NULL },
    { "slash inside a name", "a\\/b", 1, { "a\\/b/" }, NULL },
    { "a domain inside another's range", "LLM@inner", 1, { "LLM@inner/" }, NULL },
    { "the same as reports print it", "outer/LLM@inner", 1, { "LLM@inner/" }, NULL },
    { "a domain holds for the levels behind it",
      "LLM@decode/attn",
      1,
      { "LLM@decode/attn/" },
      NULL },
    { "each level with its domain", "LLM@decode/LLM@attn", 0, { "LLM@decode/attn/" }, NULL },
    { "a glob for the domain",
      "L*@decode",
      0,
      { "regex:^L.*$@^decode$/", "regex:^L.*$@^decode$" },
      NULL },
    { "a module of XLA, whose range has a longer name",
      "TSL@jit_f/op.1",
      0,
      { "regex:^TSL$@^(jit_f|.*:#(.*.)?(hlo_module|hlo_op|name|module)=jit_f(..*)?#)$/"
        "^(op\\.1|.*:#(.*.)?(hlo_module|hlo_op|name|module)=op\\.1(..*)?#)$/" },
      NULL },
    { "a region with brackets, by its path", "x[0]", 1, { "x\\[0\\]/" }, NULL },
    { "a region with a comma, by its path", "c,d", 1, { "c\\,d/" }, NULL },
    { "an at sign that ends no domain", "m@n", 1, { "m\\@n/" }, NULL },
    { "marks behind backslashes are names", "op\\[3\\]", 0, { "op\\[3\\]/", "op\\[3\\]" }, NULL },
    { "a star behind a backslash", "p\\*q", 0, { "p\\*q/", "p\\*q" }, NULL },
    { "the same beside a glob", "p\\*q*", 0, { "regex:^p\\*q.*$/", "regex:^p\\*q.*$" }, NULL },
    { "ncu's marks in a regular expression",
      "a\\/b*",
      0,
      { "regex:^a.b.*$/", "regex:^a.b.*$" },
      NULL },
    { "a dollar is no mark of ncu's", "u$v", 0, { "u$v/", "u$v" }, NULL },
    { "a glob over a dollar", "u*", 1, { "u$v/" }, NULL },
    { "a backslash in a name", "e\\f", 1, { "regex:^e\\\\f$/" }, NULL },
    { "a name that reads like ncu's word", "rege*", 1, { "regex:^regex:r$/" }, NULL },
    { "brackets are ncu's own", "op[3]+", 0, { "op[3]+" }, NULL },
    { "plus in a name", "a+b", 0, { "a\\+b/", "a\\+b" }, NULL },
    { "already ncu: trailing slash", "A/*/B/", 1, { "A/*/B/" }, NULL },
    { "already ncu: regex", "regex:x.*/", 1, { "regex:x.*/" }, NULL },
    { "already ncu: both at once", "A,B", 1, { "A,B" }, NULL },
    { "no such region, near", "prefil", 1, { NULL }, "prefill" },
    { "no such region, far", "zzzzzz", 1, { NULL }, "the run has 20" },
    { "nothing", "", 0, { NULL }, "not a region pattern" },
};

static void check_expr(void **state)
{
    const struct expr_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_exprs out = { 0 };
    struct lpo_err err = { 0 };
    int rc = lpo_pipeline_ncu_expr_add(a, c->pattern, c->known ? &seen : NULL, &out, &err);
    size_t n = 0;

    if (!c->want[0]) {
        assert_int_equal(rc, LPO_E_CONFIG);
        assert_non_null(strstr(lpo_err_cause(&err), c->says));
        return;
    }
    assert_int_equal(rc, 0);
    for (; n < 4 && c->want[n]; n++) {
        assert_true(n < out.len);
        assert_string_equal(out.at[n].text, c->want[n]);
    }
    assert_int_equal(out.len, n);
}

static const struct join_case {
    const char *name;
    int known;
    const char *patterns[5];
    const char *want[6]; /* NULL first: refused */
    const char *says;    /* the error or the note holds this; NULL: no note */
} join_cases[] = {
    { "names alone stay names", 0, { "a", "b" }, { "a/", "a", "b/", "b" }, NULL },
    { "a name beside a glob, of start/end ranges one expression",
      0,
      { "prefill", "decode*" },
      { "prefill/", "regex:^(prefill|decode.*)$", "regex:^decode.*$/" },
      NULL },
    { "globs of one level",
      0,
      { "a*", "b?", "c*" },
      { "regex:^(a.*|b.|c.*)$/", "regex:^(a.*|b.|c.*)$" },
      NULL },
    { "globs that differ in one level",
      0,
      { "d*/layer?/a*", "d*/layer?/m*" },
      { "regex:^d.*$/^layer.$/^(a.*|m.*)$/" },
      NULL },
    { "globs that differ in their domain",
      0,
      { "A@x/y*", "B@x/y*" },
      { "regex:^(A|B)$@^x$/^y.*$/" },
      NULL },
    { "in two levels: alternatives would take more",
      0,
      { "a*/x", "b*/y" },
      { NULL },
      "'a*/x' and 'b*/y' in one capture" },
    { "of another depth", 0, { "a*/x*", "a*/b/x*" }, { NULL }, "pipeline.native" },
    { "a start/end name of another domain",
      0,
      { "decode_*", "LLM@span" },
      { NULL },
      "for start/end ranges" },
    { "the same where the regions are known",
      1,
      { "decode_*", "LLM@span", "d*/st*", "dec*/**/att?" },
      { "decode_tail/", "decode_x", "LLM@span", "decode/step/", "decode/*/attn/", "decode/attn/" },
      NULL },
    { "two of ncu's own: a note, passed on as they are",
      1,
      { "regex:^a$/", "regex:^b$/" },
      { "regex:^a$/", "regex:^b$/" },
      "a single regular expression for push/pop" },
    { "a name beside one of ncu's own, of start/end ranges",
      1,
      { "regex:^a$", "window" },
      { "regex:^a$", "window" },
      "'regex:^a$' and 'window'" },
    { "a name beside one of ncu's own, of push/pop ranges",
      1,
      { "regex:^a$/", "prefill" },
      { "regex:^a$/", "prefill/" },
      NULL },
    { "one of ncu's own for each kind",
      1,
      { "regex:^a$/", "regex:^[ab]$" },
      { "regex:^a$/", "regex:^[ab]$" },
      NULL },
    { "a glob beside one of ncu's own", 0, { "regex:^a$/", "b*/c" }, { NULL }, "'b*/c'" },
};

static void check_join(void **state)
{
    const struct join_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_exprs out = { 0 };
    struct lpo_err err = { 0 };
    const char *note = NULL;
    size_t n = 0;
    int rc;

    for (size_t i = 0; i < 5 && c->patterns[i]; i++)
        assert_int_equal(
            lpo_pipeline_ncu_expr_add(a, c->patterns[i], c->known ? &seen : NULL, &out, &err), 0);
    rc = lpo_pipeline_ncu_exprs_join(a, &out, &note, &err);
    if (!c->want[0]) {
        assert_int_equal(rc, LPO_E_CONFIG);
        assert_non_null(strstr(lpo_err_cause(&err), c->says));
        return;
    }
    assert_int_equal(rc, 0);
    for (; n < 6 && c->want[n]; n++) {
        assert_true(n < out.len);
        assert_string_equal(out.at[n].text, c->want[n]);
    }
    assert_int_equal(out.len, n);
    assert_true(c->says ? note && strstr(note, c->says) : !note);
}

static void no_ranges_at_all(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_known_regions none = { regions, 0, NULL, 0 };
    struct lpo_exprs out = { 0 };
    struct lpo_err err = { 0 };

    (void)state;
    assert_int_equal(lpo_pipeline_ncu_expr_add(a, "decode*", &none, &out, &err), LPO_E_CONFIG);
    assert_non_null(strstr(lpo_err_cause(&err), "no NVTX range"));
}

/* Steps with a name each: within the bound by name, beyond it by a regular expression. */
static const struct many_case {
    const char *name;
    size_t regions, want;
    const char *first;
} many_cases[] = {
    { "as many names as fit", LPO_MAX_EXPRS, LPO_MAX_EXPRS, "step0/" },
    { "one more", LPO_MAX_EXPRS + 1, 1, "regex:^step.*$/" },
};

static void check_many(void **state)
{
    const struct many_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_known_regions steps = { lpo_arena_array(a, c->regions, sizeof *steps.at), c->regions,
                                       NULL, 0 };
    struct lpo_exprs out = { 0 }, all = { 0 };
    struct lpo_err err = { 0 };

    for (size_t i = 0; i < c->regions; i++)
        steps.at[i].path = lpo_arena_printf(a, "step%zu", i);
    assert_int_equal(lpo_pipeline_ncu_expr_add(a, "step*", &steps, &out, &err), 0);
    assert_int_equal(out.len, c->want);
    assert_string_equal(out.at[0].text, c->first);
    assert_int_equal(lpo_pipeline_ncu_expr_add_outermost(a, &steps, &all),
                     c->regions <= LPO_MAX_EXPRS);
    assert_int_equal(all.len, c->regions <= LPO_MAX_EXPRS ? c->regions : 0);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, expr_cases, check_expr);
    UNIT_ROWS(&u, join_cases, check_join);
    UNIT_ROWS(&u, many_cases, check_many);
    UNIT_TEST(&u, no_ranges_at_all);
    return unit_run(&u);
}
