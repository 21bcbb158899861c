/* SPDX-License-Identifier: Apache-2.0 */
/* Backward operators: the region of their forward, and what they compute again. */
#include "../unit.h"
#include "build.h"

#include "region/cells.h"
#include "region/scope.h"
#include "util/str.h"

/* An operator of process 1: its number, and autograd's number of the forward thread (0: it is no
 * backward operator). */
struct op {
    const char *name;
    int64_t start, end;
    int thread;
    uint32_t sequence, forward_thread;
};

#define NO_NUMBER LPO_NONE
#define ENGINE    "autograd::engine::evaluate_function: "

/* `want`: path<launches/time of backward kernels, path~launches/time of recomputed ones, path+… of
 * adopted ones. */
static const struct backward_case {
    const char *name, *trace;
    struct op ops[8];
    const char *want;
    const char *arrows; /* "0>1 …": rows of ops that the source itself joins */
} cases[] = {
    { "kernels of another thread go to the region of the forward",
      "step 0-90 attn 10-20 k 12-13=1 @2 k 52-53=5",
      { { "aten::mm", 11, 15, 1, 7, 0 }, { "MmBackward0", 50, 60, 2, 7, 1 } },
      "step<1/5 +1/5 step/attn<1/5" },
    { "without numbers nothing is known",
      "attn 10-20 @2 k 52-53=5",
      { { "aten::mm", 11, 15, 1, NO_NUMBER, 0 }, { "MmBackward0", 50, 60, 2, NO_NUMBER, 0 } },
      "" },
    { "of one number the operator that began last",
      "A 0-9 B 10-20 @2 k 52-53=5",
      { { "aten::linear", 5, 30, 1, 7, 0 },
        { "aten::addmm", 11, 15, 1, 7, 0 },
        { "AddmmBackward0", 50, 60, 2, 7, 1 } },
      "B<1/5" },
    { "a forward that began later is another one",
      "A 0-40 B 70-80 @2 k 52-53=5",
      { { "aten::mm", 11, 15, 1, 7, 0 },
        { "aten::mm", 71, 75, 1, 7, 0 },
        { "MmBackward0", 50, 60, 2, 7, 1 } },
      "A<1/5" },
    { "the whole forward must lie in the region",
      "A 0-40 B 10-13 @2 k 52-53=5",
      { { "aten::mm", 11, 15, 1, 7, 0 }, { "MmBackward0", 50, 60, 2, 7, 1 } },
      "A<1/5" },
    { "the forward ran outside",
      "A 20-40 @2 k 52-53=5",
      { { "aten::mm", 11, 15, 1, 7, 0 }, { "MmBackward0", 50, 60, 2, 7, 1 } },
      "" },
    { "a launch beside the backward operator",
      "A 0-40 @2 k 62-63=5",
      { { "aten::mm", 11, 15, 1, 7, 0 }, { "MmBackward0", 50, 60, 2, 7, 1 } },
      "" },
    { "a launch that outlives it",
      "A 0-40 @2 k 58-63=5",
      { { "aten::mm", 11, 15, 1, 7, 0 }, { "MmBackward0", 50, 60, 2, 7, 1 } },
      "" },
    { "the innermost backward operator",
      "A 10-20 B 20-40 @2 k 52-53=5 k 70-71=7",
      { { "aten::mm", 11, 15, 1, 7, 0 },
        { "aten::mul", 21, 25, 1, 8, 0 },
        { ENGINE "MmBackward0", 50, 80, 2, 7, 1 },
        { ENGINE "MulBackward0", 51, 60, 2, 8, 1 } },
      "B<1/5 A<1/7" },
    { "a number that two threads used: other numbers say whose",
      "A 10-20 @3 B 10-20 @2 k 52-53=5",
      { { "aten::mm", 11, 15, 1, 7, 0 },
        { "aten::mm", 11, 15, 3, 7, 0 },
        { "aten::mul", 16, 17, 3, 9, 0 },
        { "MmBackward0", 50, 60, 2, 7, 4 },
        { "MulBackward0", 61, 65, 2, 9, 4 } },
      "B<1/5" },
    { "a number that two threads used: nobody knows",
      "A 10-20 @3 B 10-20 @2 k 52-53=5",
      { { "aten::mm", 11, 15, 1, 7, 0 },
        { "aten::mm", 11, 15, 3, 7, 0 },
        { "MmBackward0", 50, 60, 2, 7, 4 } },
      "" },
    { "the thread is known and did not run it",
      "A 10-20 @3 B 10-20 @2 k 52-53=5",
      { { "aten::mm", 11, 15, 1, 7, 0 },
        { "aten::mul", 16, 17, 3, 9, 0 },
        { "aten::mul", 18, 19, 3, 10, 0 },
        { "MmBackward0", 50, 60, 2, 7, 4 },
        { "MulBackward0", 61, 65, 2, 9, 4 },
        { "MulBackward0", 66, 69, 2, 10, 4 } },
      "" },
    { "a forward operator in a backward one is forward work again",
      "A 0-40 @2 k 53-54=5 k 57-58=7",
      { { "aten::mm", 11, 15, 1, 7, 0 },
        { "MmBackward0", 50, 60, 2, 7, 1 },
        { "aten::mm", 52, 55, 2, 3, 0 } },
      "A<1/7 A~1/5" },
    { "a gradient of a gradient is not",
      "A 0-40 @2 k 53-54=5",
      { { "aten::mm", 11, 15, 1, 7, 0 },
        { "MmBackward0", 50, 60, 2, 7, 1 },
        { "aten::mm", 52, 55, 2, 3, 0 },
        { "MmBackward0", 80, 85, 2, 3, 2 } },
      "A<1/5" },
    { "an operator without a number in a backward one is not",
      "A 0-40 @2 k 53-54=5",
      { { "aten::mm", 11, 15, 1, 7, 0 },
        { "MmBackward0", 50, 60, 2, 7, 1 },
        { "aten::mm", 52, 55, 2, NO_NUMBER, 0 } },
      "A<1/5" },
    { "a checkpoint runs forward and backward",
      "A 0-40 @2 k 53-54=5 k 63-64=7",
      { { "CheckpointFunction", 11, 15, 1, 7, 0 },
        { "CheckpointFunctionBackward", 50, 70, 2, 7, 1 },
        { "aten::mm", 52, 55, 2, 3, 0 },
        { ENGINE "MmBackward0", 60, 68, 2, 3, 2 } },
      "A<1/7 A~1/5" },
    { "forward work on the thread of the forward",
      "A 0-40 k 12-13=5 @2 k 53-54=7",
      { { "aten::mm", 11, 15, 1, 7, 0 }, { "MmBackward0", 50, 60, 2, 7, 1 } },
      "A<1/7" },
    { "two threads in ranges: the one of the forward adopts",
      "A 0-90 @3 B 0-90 @2 k 52-53=5",
      { { "aten::mm", 11, 15, 3, 7, 0 }, { "MmBackward0", 50, 60, 2, 7, 1 } },
      "B<1/5 +1/5" },
    { "two threads in ranges, neither of the forward",
      "A 0-90 @3 B 0-90 @4 C 10-20 @2 k 52-53=5",
      { { "aten::mm", 11, 15, 4, 7, 0 }, { "MmBackward0", 50, 60, 2, 7, 1 } },
      "C<1/5" },
    { "two threads in ranges: a checkpoint leads back to the first forward",
      "A 0-90 @3 B 0-90 @2 k 63-64=7",
      { { "CheckpointFunction", 11, 15, 3, 7, 0 },
        { "CheckpointFunctionBackward", 50, 70, 2, 7, 1 },
        { "aten::mm", 52, 55, 2, 3, 0 },
        { ENGINE "MmBackward0", 60, 68, 2, 3, 2 } },
      "B<1/7 +1/7" },
    { "an arrow leads to the forward where there are no numbers",
      "A 10-20 @2 k 52-53=5",
      { { "aten::mm", 11, 15, 1, NO_NUMBER, 0 }, { "MmBackward0", 50, 60, 2, NO_NUMBER, 0 } },
      "A<1/5",
      "0>1" },
    { "an arrow says whose number it is that two threads used",
      "A 10-20 @3 B 10-20 @2 k 52-53=5",
      { { "aten::mm", 11, 15, 1, 7, 0 },
        { "aten::mm", 11, 15, 3, 7, 0 },
        { "MmBackward0", 50, 60, 2, 7, 4 } },
      "B<1/5",
      "1>2" },
    { "one arrow names the thread for all of its numbers",
      "A 10-20 @3 B 10-20 @2 k 52-53=5 k 72-73=7",
      { { "aten::mm", 11, 15, 1, 7, 0 },
        { "aten::mul", 16, 17, 1, 8, 0 },
        { "aten::mm", 11, 15, 3, 7, 0 },
        { "aten::mul", 16, 17, 3, 8, 0 },
        { "MmBackward0", 50, 60, 2, 7, 4 },
        { "MulBackward0", 70, 80, 2, 8, 4 } },
      "B<2/12",
      "2>4" },
    { "numbers count before an arrow",
      "A 10-20 B 20-30 @2 k 52-53=5",
      { { "aten::mm", 11, 15, 1, 7, 0 },
        { "aten::mm", 21, 25, 1, 9, 0 },
        { "MmBackward0", 50, 60, 2, 7, 1 } },
      "A<1/5",
      "1>2" },
};

static void add_sum(struct lpo_str *out, const char *mark, const struct lpo_sum *s)
{
    if (s->launches)
        lpo_str_addf(out, "%s%llu/%lld ", mark, (unsigned long long)s->launches, (long long)s->ns);
}

static void describe(const struct lpo_region_scope *s, struct lpo_str *out)
{
    for (size_t i = 0; i < s->rows.len; i++) {
        const struct lpo_region_row *r = &s->rows.at[i];
        LPO_STR path = { 0 }, mark = { 0 };

        lpo_region_row_add_path(s, r, &path);
        lpo_str_addf(&mark, "%s<", lpo_str_text(&path));
        add_sum(out, lpo_str_text(&mark), &r->backward);
        lpo_str_clear(&mark);
        lpo_str_addf(&mark, "%s~", lpo_str_text(&path));
        add_sum(out, lpo_str_text(&mark), &r->recomputed);
        if (r->backward.launches || r->recomputed.launches)
            add_sum(out, "+", &r->adopted);
    }
    if (out->len)
        out->at[--out->len] = '\0';
}

static void push_ops(struct lpo_trace *t, const struct op *ops)
{
    for (size_t i = 0; i < 8 && ops[i].name; i++)
        lpo_vec_push(&t->ops, ((struct lpo_op){ .start_ns = ops[i].start,
                                                .end_ns = ops[i].end,
                                                .name = lpo_trace_name(t, ops[i].name),
                                                .thread = lpo_trace_thread(t, 0, ops[i].thread),
                                                .args = LPO_NONE,
                                                .sequence = ops[i].sequence,
                                                .forward_thread = ops[i].forward_thread }));
}

static void push_arrows(struct lpo_trace *t, const char *arrows)
{
    for (; arrows && *arrows; arrows += arrows[3] ? 4 : 3)
        lpo_vec_push(&t->op_links, ((struct lpo_op_link){ (uint32_t)(arrows[0] - '0'),
                                                          (uint32_t)(arrows[2] - '0') }));
}

static void check_backward(void **state)
{
    const struct backward_case *c = *state;
    LPO_AUTO(lpo_trace) t = build_trace(c->trace);
    LPO_AUTO(lpo_region_tree) tree = NULL;
    LPO_AUTO(lpo_region_cells) cells = NULL;
    LPO_AUTO(lpo_region_scope) s = NULL;
    LPO_STR got = { 0 };

    push_ops(t, c->ops);
    push_arrows(t, c->arrows);
    tree = lpo_region_tree_create(t);
    cells = lpo_region_cells_create(tree, NULL);
    s = lpo_region_scope_create(cells, (struct lpo_scope_id){ LPO_SCOPE_ALL, 0 }, NULL);
    describe(s, &got);
    assert_string_equal(lpo_str_text(&got), c->want);
}

/* Processes number for themselves. */
static void another_process_has_other_numbers(void **state)
{
    LPO_AUTO(lpo_trace) t = build_trace("A 0-40 #2 k 52-53=5");
    LPO_AUTO(lpo_region_tree) tree = NULL;
    const struct op forward[8] = { { "aten::mm", 11, 15, 1, 7, 0 } };

    (void)state;
    push_ops(t, forward);
    lpo_vec_push(&t->ops, ((struct lpo_op){ 50, 60, lpo_trace_name(t, "MmBackward0"),
                                            lpo_trace_thread(t, lpo_trace_process(t, 2, -1), 1),
                                            LPO_NONE, 7, 1 }));
    tree = lpo_region_tree_create(t);
    for (size_t i = 0; i < tree->links.len; i++)
        assert_int_equal(tree->links.at[i].forward, LPO_NONE);
}

/* Half a million operators of one number, on a thousand threads, inside one another: a sweep that
 * walked down for every launch would take minutes. */
static void many_operators_of_one_number(void **state)
{
    enum { OPS = 500000, LAUNCHES = 200000, LONG = 100000000 };
    LPO_AUTO(lpo_trace) t = build_trace("k 5-6=1");
    LPO_AUTO(lpo_region_tree) tree = NULL;
    uint32_t name = lpo_trace_name(t, "MmBackward0");

    (void)state;
    for (int i = 0; i < OPS; i++)
        lpo_vec_push(&t->ops,
                     ((struct lpo_op){ i, LONG - i, name,
                                       lpo_trace_thread(t, 0, i % 2 ? 1 : 2 + i / 2 % 1000),
                                       LPO_NONE, 7, (uint32_t)(i % 2) }));
    for (int i = 0; i < LAUNCHES; i++)
        lpo_vec_push(&t->launches, (struct lpo_launch){ OPS + i, OPS + i + 1, 0, 0 });
    tree = lpo_region_tree_create(t);
    assert_int_equal(tree->nodes.len, 0);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check_backward);
    UNIT_TEST(&u, another_process_has_other_numbers);
    UNIT_TEST(&u, many_operators_of_one_number);
    return unit_run(&u);
}
