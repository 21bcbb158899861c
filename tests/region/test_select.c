/* SPDX-License-Identifier: Apache-2.0 */
#include "../unit.h"
#include "build.h"

#include "region/cells.h"
#include "region/fold.h"
#include "region/scope.h"
#include "region/select.h"
#include "util/err.h"
#include "util/str.h"

static const char small[] = "decode 0-100 layer0 10-40 attn 12-20 k:gemm 13-14=5 k:norm 30-31=2 "
                            "layer1 50-90 attn 52-60 k:gemm 53-54=8 prefill 200-300 attn 210-220 "
                            "k:flash 211-212=9";

static const struct select_case {
    const char *name;
    const char *include, *exclude, *kernels, *no_kernels;
    const char *want;  /* path=launches of every row */
    const char *notes; /* joined */
} cases[] = {
    { "everything", NULL, NULL, NULL, NULL,
      "decode=3 decode/layer1=1 decode/layer1/attn=1 decode/layer0=2 decode/layer0/attn=1 "
      "prefill=1 prefill/attn=1 (outside)=0",
      "" },
    { "a name anywhere", "attn", NULL, NULL, NULL,
      "decode/layer1/attn=1 decode/layer0/attn=1 prefill/attn=1", "" },
    { "a path", "decode/**/attn", NULL, NULL, NULL, "decode/layer1/attn=1 decode/layer0/attn=1",
      "" },
    { "with what lies inside", "layer0", NULL, NULL, NULL, "decode/layer0=2 decode/layer0/attn=1",
      "" },
    { "exclude wins", "decode", "layer*", NULL, NULL, "decode=3", "" },
    { "kernels", "decode", NULL, "*gemm*", NULL,
      "decode=2 decode/layer1=1 decode/layer1/attn=1 decode/layer0=1 decode/layer0/attn=1", "" },
    { "kernels left out", "decode", NULL, NULL, "gemm",
      "decode=1 decode/layer0=1 decode/layer0/attn=0 decode/layer1=0 decode/layer1/attn=0", "" },
    { "nothing matched", "decoder", NULL, "regex:^cutlass", NULL, "",
      "the region pattern 'decoder' matched nothing; did you mean 'decode'?;the kernel pattern "
      "'regex:^cutlass' matched nothing;" },
    { "nothing of that path matched", "prefill/atn", NULL, NULL, NULL, "",
      "the region pattern 'prefill/atn' matched nothing; did you mean 'prefill/attn'?;" },
    { "nothing like it", "backward*", NULL, NULL, NULL, "",
      "the region pattern 'backward*' matched nothing; there are: decode, prefill;" },
};

static void say(void *ctx, const char *text)
{
    lpo_str_addf(ctx, "%s;", text);
}

static void add(struct lpo_region_selection *s, enum lpo_select_list list, const char *pattern)
{
    if (pattern)
        assert_int_equal(lpo_region_selection_add(s, list, pattern, NULL), 0);
}

static void check_select(void **state)
{
    const struct select_case *c = *state;
    LPO_AUTO(lpo_trace) t = build_trace(small);
    LPO_AUTO(lpo_region_selection) select = lpo_region_selection_create();
    LPO_AUTO(lpo_region_tree) tree = lpo_region_tree_create(t);
    LPO_AUTO(lpo_region_cells) cells = NULL;
    LPO_AUTO(lpo_region_scope) s = NULL;
    LPO_STR got = { 0 };
    LPO_STR notes = { 0 };

    add(select, LPO_REGIONS_INCLUDE, c->include);
    add(select, LPO_REGIONS_EXCLUDE, c->exclude);
    add(select, LPO_KERNELS_INCLUDE, c->kernels);
    add(select, LPO_KERNELS_EXCLUDE, c->no_kernels);
    cells = lpo_region_cells_create(tree, select);
    s = lpo_region_scope_create(cells, (struct lpo_scope_id){ LPO_SCOPE_ALL, 0 }, select);
    for (size_t i = 0; i < s->rows.len; i++) {
        lpo_str_add(&got, i ? " " : "");
        lpo_region_row_add_path(s, &s->rows.at[i], &got);
        lpo_str_addf(&got, "=%llu", (unsigned long long)s->rows.at[i].all.launches);
    }
    assert_string_equal(lpo_str_text(&got), c->want);
    lpo_region_selection_notes(select, tree, say, &notes);
    assert_string_equal(lpo_str_text(&notes), c->notes);
}

static const struct fold_case {
    const char *name, *trace;
    size_t over;
    const char *want; /* path*members=min/median/max of every line */
} fold_cases[] = {
    { "a family", "l0 0-1 k 0-0=1 l1 2-3 k 2-2=5 l2 4-5 k 4-4=3", 2, "l**3=1/3/5" },
    { "too few", "l0 0-1 k 0-0=1 l1 2-3 k 2-2=5", 2, "l1*1=5/5/5 l0*1=1/1/1" },
    { "children are put together",
      "l0 0-9 mlp 0-4 k 1-1=1 att 5-9 k 6-6=2 l1 10-19 mlp 10-14 k 11-11=3 att 15-19 k 16-16=9", 1,
      "l**2=3/3/12 l*/att*2=2/2/9 l*/mlp*2=1/1/3" },
    { "a number that all share stays", "h100.l0 0-1 h100.l1 2-3", 1, "h100.l**2=1/1/1" },
    { "several numbers", "op,a=1,b=10 0-1 op,a=2,b=11 2-3", 1, "op,a=*,b=**2=1/1/1" },
    { "other words stay apart", "l0 0-1 l1 2-3 m0 4-5", 1, "l**2=1/1/1 m0*1=1/1/1" },
};

static void check_fold(void **state)
{
    const struct fold_case *c = *state;
    LPO_AUTO(lpo_trace) t = build_trace(c->trace);
    LPO_AUTO(lpo_region_tree) tree = lpo_region_tree_create(t);
    LPO_AUTO(lpo_region_cells) cells = lpo_region_cells_create(tree, NULL);
    LPO_AUTO(lpo_region_scope)
    s = lpo_region_scope_create(cells, (struct lpo_scope_id){ LPO_SCOPE_ALL, 0 }, NULL);
    LPO_AUTO(lpo_region_fold) f = lpo_region_fold_create(s, c->over);
    LPO_STR got = { 0 };

    for (size_t i = 0; i < f->rows.len; i++) {
        const struct lpo_fold_row *r = &f->rows.at[i];
        uint32_t members = 0;

        for (size_t row = 0; row < s->rows.len; row++)
            members += f->line_of[row] == i;
        assert_int_equal(members, r->members);
        if (r->sum.node == LPO_NODE_OUTSIDE)
            continue;
        lpo_str_addf(&got, "%s%s*%u=%lld/%lld/%lld", got.len ? " " : "", r->path, r->members,
                     (long long)r->min_ns, (long long)r->median_ns, (long long)r->max_ns);
    }
    assert_string_equal(lpo_str_text(&got), c->want);
}

static const struct shown_case {
    const char *name, *range, *want;
} shown_cases[] = {
    { "both numbers", "aten::to, seq = 1, op_id = 2", "aten::to" },
    { "one number", "aten::to, op_id = 2", "aten::to" },
    { "shapes behind them", "aten::mm, seq = 1, op_id = 2, sizes = [[1, 2]]", "aten::mm" },
    { "no number", "a, seq = x", "a, seq = x" },
    { "a name of numbers alone stays", ", seq = 1", ", seq = 1" },
    { "an end without a number", "a, op_id = ", "a, op_id = " },
    { "other names stay", "seq = 7, layer", "seq = 7, layer" },
};

static void check_shown(void **state)
{
    const struct shown_case *c = *state;

    assert_int_equal(lpo_region_shown_len(c->range, strlen(c->range)), strlen(c->want));
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check_select);
    UNIT_ROWS(&u, fold_cases, check_fold);
    UNIT_ROWS(&u, shown_cases, check_shown);
    return unit_run(&u);
}
