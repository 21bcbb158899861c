/* SPDX-License-Identifier: Apache-2.0 */
#include "../unit.h"

#include <math.h>

#include "analysis/operators/operators.h"
#include "trace/trace.h"
#include "util/str.h"

enum { MOST = 8 };

struct op {
    const char *name, *shapes;
    int64_t start, end;
    int tid;
};

/* A launch call and the work it put on the GPU; a call before 0 was not recorded. */
struct launched {
    const char *name;
    int64_t start, end;
    int tid;
    int64_t ns;
};

static const struct operator_case {
    const char *name;
    struct op ops[MOST];
    struct launched gpu_ops[MOST];
    bool by_shapes;
    const char *want; /* name calls cpu_total/self gpu_total/self{kernels} */
} cases[] = {
    { "nothing", { { 0 } }, { { 0 } }, false, "" },
    { "nested",
      { { "linear", "", 0, 100, 1 }, { "mm", "", 20, 60, 1 }, { "add", "", 70, 80, 1 } },
      { { "gemm", 30, 40, 1, 500 }, { "plus", 72, 75, 1, 7 }, { "late", 90, 95, 1, 1 } },
      false,
      "linear 1 100/50 508/1{late 1 1} mm 1 40/40 500/500{gemm 1 500} add 1 10/10 7/7{plus 1 7} " },
    { "the whole call must lie inside",
      { { "mm", "", 0, 50, 1 } },
      { { "gemm", 40, 51, 1, 9 }, { "gemm", 40, 50, 1, 3 } },
      false,
      "mm 1 50/50 3/3{gemm 1 3} outside 9 " },
    { "another thread launches nothing for us",
      { { "mm", "", 0, 50, 1 } },
      { { "gemm", 10, 20, 2, 9 } },
      false,
      "mm 1 50/50 0/0{} outside 9 " },
    { "no launch record",
      { { "mm", "", 0, 50, 1 } },
      { { "gemm", -1, -1, 1, 9 } },
      false,
      "mm 1 50/50 0/0{} unlaunched 9 " },
    { "by name: calls are added",
      { { "mm", "[1]", 0, 10, 1 }, { "mm", "[2]", 20, 50, 1 } },
      { { "a", 1, 2, 1, 5 }, { "b", 21, 22, 1, 6 }, { "b", 23, 24, 1, 6 } },
      false,
      "mm 2 40/40 17/17{b 2 12,a 1 5} " },
    { "by shapes: calls are told apart",
      { { "mm", "[1]", 0, 10, 1 }, { "mm", "[2]", 20, 50, 1 } },
      { { "a", 1, 2, 1, 5 }, { "b", 21, 22, 1, 6 } },
      true,
      "mm[2] 1 30/30 6/6{b 1 6} mm[1] 1 10/10 5/5{a 1 5} " },
    { "an operator that calls itself",
      { { "to", "", 0, 100, 1 }, { "to", "", 10, 90, 1 } },
      { { "copy", 20, 30, 1, 5 } },
      false,
      "to 2 180/100 10/5{copy 1 5} " },
    { "equal times: the first in the file is outside",
      { { "outer", "", 0, 10, 1 }, { "inner", "", 0, 10, 1 } },
      { { "k", 0, 10, 1, 5 } },
      false,
      "inner 1 10/10 5/5{k 1 5} outer 1 10/0 5/0{} " },
    { "overlap without nesting: the later takes over",
      { { "p", "", 0, 100, 1 }, { "a", "", 10, 50, 1 }, { "b", "", 40, 80, 1 } },
      { { "x", 20, 30, 1, 1 }, { "y", 42, 45, 1, 10 }, { "z", 85, 86, 1, 100 } },
      false,
      "p 1 100/30 111/100{z 1 100} b 1 40/40 10/10{y 1 10} a 1 40/40 1/1{x 1 1} " },
    { "neighbours that touch",
      { { "a", "", 0, 10, 1 }, { "b", "", 10, 20, 1 } },
      { { "k", 10, 12, 1, 5 } },
      false,
      "b 1 10/10 5/5{k 1 5} a 1 10/10 0/0{} " },
};

static struct lpo_trace *make_trace(const struct operator_case *c)
{
    struct lpo_trace *t = lpo_trace_create();
    uint16_t p = lpo_trace_process(t, 1, -1), d = lpo_trace_device(t, 0, -1);

    for (int i = 0; i < MOST && c->ops[i].name; i++) {
        const struct op *x = &c->ops[i];

        struct lpo_op_args args = { lpo_trace_name(t, x->shapes), LPO_NONE, LPO_NONE };

        lpo_vec_push(&t->ops, (struct lpo_op){ x->start, x->end, lpo_trace_name(t, x->name),
                                               lpo_trace_thread(t, p, x->tid),
                                               lpo_trace_op_args(t, &args), LPO_NONE });
    }
    for (int i = 0; i < MOST && c->gpu_ops[i].name; i++) {
        const struct launched *x = &c->gpu_ops[i];
        struct lpo_gpu_op w = { .start_ns = 1000, .end_ns = 1000 + x->ns, .launch = LPO_NONE };

        w.name = lpo_trace_name(t, x->name);
        w.process = p;
        w.device = d;
        if (x->start >= 0) {
            w.launch = (uint32_t)t->launches.len;
            lpo_vec_push(&t->launches,
                         (struct lpo_launch){ x->start, x->end, lpo_trace_thread(t, p, x->tid) });
        }
        lpo_vec_push(&t->gpu_ops, w);
    }
    return t;
}

static void check(void **state)
{
    const struct operator_case *c = *state;
    LPO_AUTO(lpo_trace) t = make_trace(c);
    LPO_AUTO(lpo_operators) o = lpo_operators_create(t, c->by_shapes, NULL, NULL);
    LPO_STR got = { 0 };
    int64_t self = 0;

    for (size_t i = 0; i < o->rows.len; i++) {
        const struct lpo_operator *r = &o->rows.at[i];

        lpo_str_addf(&got, "%s%s %llu %lld/%lld %lld/%lld{", lpo_trace_text(t, r->name),
                     lpo_trace_text(t, r->shapes), (unsigned long long)r->calls,
                     (long long)r->cpu_total_ns, (long long)r->cpu_self_ns,
                     (long long)r->gpu_total_ns, (long long)r->gpu_self_ns);
        for (uint32_t k = 0; k < r->nkernels; k++) {
            const struct lpo_operator_kernel *x = &o->kernels.at[r->kernels + k];

            lpo_str_addf(&got, "%s%s %llu %lld", k ? "," : "", lpo_trace_text(t, x->name),
                         (unsigned long long)x->count, (long long)x->ns);
        }
        lpo_str_add(&got, "} ");
        self += r->gpu_self_ns;
    }
    if (o->outside.gpu_ops)
        lpo_str_addf(&got, "outside %lld ", (long long)o->outside.ns);
    if (o->no_launch.gpu_ops)
        lpo_str_addf(&got, "unlaunched %lld ", (long long)o->no_launch.ns);
    assert_string_equal(lpo_str_text(&got), c->want);
    assert_int_equal(self + o->outside.ns + o->no_launch.ns, o->all.ns);
}

#define SHAPES "[[4,8,16],[4,2,16],[4,2,16]]"
#define STEP(keys)                                                                                 \
    "execute_4_context_0(sq0sk0sqsq0sqsk0)_generation_4(sq4sk" keys "sqsq4sqsk" keys ")"

/* Attention over a paged cache: each call by the lengths of the step that it lies in. */
static void attention_goes_by_its_step(void **state)
{
    static const struct {
        const char *name;
        int64_t start, end;
        int tid;
    } ranges[] = { { STEP("100"), 0, 100, 1 },
                   { STEP("300"), 200, 300, 1 },
                   { "step9", 20, 30, 1 },
                   { STEP("700"), 0, 300, 2 } };
    static const struct operator_case first = {
        .ops = { { "vllm::unified_attention", SHAPES, 10, 40, 1 },
                 { "vllm::unified_attention", SHAPES, 210, 240, 1 } }
    };
    static const struct operator_case beside = {
        .ops = { { "vllm::unified_attention", SHAPES, 10, 40, 1 },
                 { "vllm::unified_attention", SHAPES, 90, 110, 1 } }
    };
    static const struct {
        const struct operator_case *ops;
        double flops;
    } all[] = { { &first, 4.0 * 8 * 16 * (100 + 300) }, { &beside, -1 } };

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        LPO_AUTO(lpo_trace) t = make_trace(all[i].ops);
        LPO_AUTO(lpo_operators) o = NULL;

        for (size_t k = 0; k < sizeof ranges / sizeof *ranges; k++)
            lpo_vec_push(&t->ranges,
                         ((struct lpo_range){ .start_ns = ranges[k].start,
                                              .end_ns = ranges[k].end,
                                              .name = lpo_trace_name(t, ranges[k].name),
                                              .thread = lpo_trace_thread(t, 0, ranges[k].tid) }));
        o = lpo_operators_create(t, true, NULL, NULL);
        assert_int_equal(o->rows.len, 1);
        if (all[i].flops < 0) /* one call of unknown work makes the sum unknown */
            assert_true(isnan(o->rows.at[0].cost.flops));
        else
            assert_float_equal(o->rows.at[0].cost.flops, all[i].flops, 0);
    }
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check);
    UNIT_TEST(&u, attention_goes_by_its_step);
    return unit_run(&u);
}
