/* SPDX-License-Identifier: Apache-2.0 */
/* report.needs: what is taken, what is refused and in which words, and which regions it speaks of.
 */
#include "../unit.h"
#include "analysis/limits/limits.h"
#include "analysis/limits/private.h"
#include "hydra/compose.h"
#include "report/limits/chapter_limits.h"
#include "rundir/needs.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/str.h"

static const struct read_case {
    const char *name, *yaml;
    const char *region;  /* of the first entry; NULL: there is none */
    double flops, bytes; /* -1: not known */
    enum lpo_dtype dtype;
} taken[] = {
    { "absent", "report: {}", NULL, -1, -1, LPO_DTYPE_NONE },
    { "null", "report: {needs: null}", NULL, -1, -1, LPO_DTYPE_NONE },
    { "no entry", "report: {needs: {}}", NULL, -1, -1, LPO_DTYPE_NONE },
    { "all three", "report: {needs: {gemm: {flops: 1099511627776, bytes: 402653184, dtype: bf16}}}",
      "gemm", 1099511627776.0, 402653184.0, LPO_BF16 },
    { "torch's name of a format", "report: {needs: {a: {flops: 1, dtype: torch.float16}}}", "a", 1,
      -1, LPO_FP16 },
    { "bytes alone", "report: {needs: {copy: {bytes: 8}}}", "copy", -1, 8, LPO_DTYPE_NONE },
    { "null is not known", "report: {needs: {a: {flops: 2.5e12, bytes: null, dtype: null}}}", "a",
      2.5e12, -1, LPO_DTYPE_NONE },
    { "nothing is needed", "report: {needs: {a: {flops: 0}}}", "a", 0, -1, LPO_DTYPE_NONE },
    { "a range called by a number", "report: {needs: {7: {flops: 3}}}", "7", 3, -1,
      LPO_DTYPE_NONE },
    { "a path with a pattern", "report: {needs: {decode/layer*: {flops: 3}}}", "decode/layer*", 3,
      -1, LPO_DTYPE_NONE },
};

static const struct refused_case {
    const char *name, *yaml, *words;
} refused[] = {
    { "a list", "report: {needs: [1]}", "'report.needs' must be a map of regions" },
    { "a bare number", "report: {needs: {gemm: 3}}",
      "report.needs of 'gemm' must be {flops: N, bytes: N, dtype: bf16}, not 3 (t.yaml:1:24)" },
    { "negative FLOPs", "report: {needs: {gemm: {flops: -1}}}",
      "report.needs of 'gemm': 'flops' must be a number of at least 0, not -1" },
    { "bytes without end", "report: {needs: {gemm: {flops: 1, bytes: .inf}}}",
      "'bytes' must be a number of at least 0, not inf" },
    { "more than there is", "report: {needs: {gemm: {flops: 1e308}}}",
      "'flops' must be a number of at most 1e30, not 1e+308" },
    { "FLOPs that are none", "report: {needs: {gemm: {flops: .nan}}}", "not nan" },
    { "FLOPs in words", "report: {needs: {gemm: {flops: 1 TFLOP}}}", "not '1 TFLOP'" },
    { "a flag for a number", "report: {needs: {gemm: {flops: true}}}", "not True" },
    { "an unknown format", "report: {needs: {gemm: {flops: 1, dtype: bf61}}}",
      "(did you mean 'bf16'?), not 'bf61'" },
    { "a number for a format", "report: {needs: {gemm: {flops: 1, dtype: 16}}}",
      "'dtype' must be one of fp64, fp32" },
    { "a mistyped key", "report: {needs: {gemm: {flop: 1}}}",
      "unknown key 'flop'; did you mean 'flops'?" },
    { "a key of another thing", "report: {needs: {gemm: {minutes: 1}}}",
      "unknown key 'minutes'; it takes {flops: N, bytes: N, dtype: bf16}" },
    { "neither", "report: {needs: {gemm: {dtype: bf16}}}", "states neither flops nor bytes" },
    { "a pattern without end", "report: {needs: {'regex:(': {flops: 1}}}", "regex:(" },
};

static int read_text(struct lpo_arena *a, const char *yaml, struct lpo_stated_needs *out,
                     struct lpo_err *err)
{
    struct lpo_node *config = NULL;

    assert_int_equal(lpo_yaml_parse(a, yaml, strlen(yaml), "t.yaml", &config, err), 0);
    return lpo_rundir_needs_read(a, config, out, err);
}

static double value(struct lpo_measure m)
{
    return lpo_measure_known(m) ? m.value : -1;
}

static void check_taken(void **state)
{
    const struct read_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_stated_needs s;
    struct lpo_err err = { 0 };

    assert_int_equal(read_text(a, c->yaml, &s, &err), 0);
    assert_int_equal(s.len, c->region ? 1 : 0);
    if (!c->region)
        return;
    assert_string_equal(s.at[0].region, c->region);
    assert_true(value(s.at[0].flops) == c->flops);
    assert_true(value(s.at[0].bytes) == c->bytes);
    assert_int_equal(s.at[0].dtype, c->dtype);
}

static void check_refused(void **state)
{
    const struct refused_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_stated_needs s;
    struct lpo_err err = { 0 };
    bool told = false;

    assert_true(read_text(a, c->yaml, &s, &err) < 0);
    for (unsigned i = 0; i < err.lines; i++)
        told |= strstr(err.text + err.at[i], c->words) != NULL;
    if (!told)
        fail_msg("'%s' does not say '%s'", lpo_err_cause(&err), c->words);
}

static const struct match_case {
    const char *name, *path;
    int entry; /* -1: none */
} matches[] = {
    { "its own path", "decode", 0 },
    { "a pattern of its level", "decode/layer7", 1 },
    { "its own path before a pattern", "decode/layer3", 3 },
    { "the longer pattern", "decode/layer12", 2 },
    { "inside a stated region", "decode/step", -1 },
    { "below a pattern", "decode/layer7/attn", -1 },
    { "the same beginning of a name", "decoder", -1 },
    { "a name at any depth", "request/decode", 0 },
    { "levels at any depth", "request/decode/layer7", 1 },
    { "a leading slash is the outermost", "warmup", 4 },
    { "and no other", "request/warmup", -1 },
    { "any number of levels", "train/a/b/loss", 5 },
};

static void check_match(void **state)
{
    static struct lpo_stated_need needs[] = {
        { .region = "decode" },          { .region = "decode/layer*" },
        { .region = "decode/layer1?*" }, { .region = "decode/layer3" },
        { .region = "/warmup" },         { .region = "train/.../loss" },
    };
    const struct match_case *c = *state;
    const struct lpo_limits_region r = { .path = c->path, .parent = UINT32_MAX };
    const struct lpo_stated_needs s = { needs, sizeof needs / sizeof *needs };
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    uint32_t got = lpo_limits_stated_match(a, &s, &r, 1)[0];

    assert_int_equal(got, c->entry < 0 ? LPO_NOT_STATED : (uint32_t)c->entry);
}

static const struct unmatched_case {
    const char *name, *region, *words;
} unmatched[] = {
    { "a near name", "decod", "no region 'decod'; did you mean 'decode'?" },
    { "a name of nothing", "backward", "no region 'backward'; there are: load, decode" },
};

static void check_unmatched(void **state)
{
    static const struct lpo_limits_region r[] = {
        { .path = "load", .parent = UINT32_MAX },
        { .path = "decode", .parent = UINT32_MAX },
        { .path = "decode/step", .parent = 1 },
    };
    const struct unmatched_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_limits_note note = lpo_limits_region_unmatched(a, false, c->region, r, 3);
    struct lpo_limits l = { 0 };
    LPO_STR said = { 0 };

    for (size_t i = 0; i < 3; i++)
        lpo_vec_push(&l.rows, (struct lpo_limit_row){ .path = r[i].path, .parent = r[i].parent });
    lpo_report_limits_add_note(&l, &note, &said);
    lpo_vec_free(&l.rows);
    if (!strstr(lpo_str_text(&said), c->words))
        fail_msg("'%s' does not say '%s'", lpo_str_text(&said), c->words);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, taken, check_taken);
    UNIT_ROWS(&u, refused, check_refused);
    UNIT_ROWS(&u, matches, check_match);
    UNIT_ROWS(&u, unmatched, check_unmatched);
    return unit_run(&u);
}
