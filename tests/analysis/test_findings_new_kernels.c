/* SPDX-License-Identifier: Apache-2.0 */
/* Findings about idle time before a kernel that runs for the first time: it is loaded, or chosen,
 * in the meantime. Times are microseconds. */
#include "findings_trace.h"

#include "analysis/analysis.h"

/* A kernel runs from 0 to 10 us and the next one from 1010 to 1020, launched at 1000: the host is
 * late for 1000 us. */
static const struct new_case {
    const char *name;
    struct span operator, inner; /* around the launch */
    struct span launch;          /* of the second kernel */
    struct op kernels[3];        /* after the first; the first of them ends the gap */
    const char *found;
    int64_t saving;
} new_cases[] = {
    { "in the operator that launches it for the first time",
      { "aten::mm", 15, 1005 },
      { 0 },
      { "cudaLaunchKernel", 1000, 1001 },
      { { "new", 1010, 1020 } },
      "first-calls",
      1000 },
    { "a memset of such an operator",
      { "aten::mm", 15, 1005 },
      { 0 },
      { "cudaMemsetAsync", 1000, 1001 },
      { { "Memset", 1010, 1011, .how = TO_DEVICE }, { "new", 1011, 1020 } },
      "first-calls",
      1000 },
    { "in the launch call itself",
      { 0 },
      { 0 },
      { "cudaLaunchKernel", 400, 1001 },
      { { "new", 1010, 1020 } },
      "first-calls",
      1000 },
    { "a kernel that ran before",
      { "aten::mm", 15, 1005 },
      { 0 },
      { "cudaLaunchKernel", 1000, 1001 },
      { { "old", 1010, 1020 } },
      "host-work",
      1000 },
    { "the host did something else",
      { "aten::mm", 800, 1005 },
      { 0 },
      { "cudaLaunchKernel", 1000, 1001 },
      { { "new", 1010, 1020 } },
      "host-work",
      1000 },
    { "the innermost operator decides",
      { "aten::linear", 15, 1005 },
      { "aten::mm", 700, 1004 },
      { "cudaLaunchKernel", 1000, 1001 },
      { { "new", 1010, 1020 } },
      "host-work",
      1000 },
    { "an operator that may hold any Python",
      { "Optimizer.step#SGD.step", 15, 1005 },
      { 0 },
      { "cudaLaunchKernel", 1000, 1001 },
      { { "new", 1010, 1020 } },
      "host-work",
      1000 },
    { "it comes again",
      { "aten::mm", 15, 3005 },
      { 0 },
      { "cudaLaunchKernel", 1000, 1001 },
      { { "new", 1010, 1020 }, { "new", 1520, 1530 } },
      "host-work",
      1500 },
    { "what is in no process is not called new",
      { "aten::mm", 15, 1005 },
      { 0 },
      { "cudaLaunchKernel", 1000, 1001 },
      { { "new", 1010, 1020 }, { "new", -20, -10, .launch = -1 } },
      "host-work",
      1000 },
};

static void push_host_op(struct lpo_trace *t, const struct span *o)
{
    if (o->name)
        lpo_vec_push(&t->ops, (struct lpo_op){ us(o->start), us(o->end), lpo_trace_name(t, o->name),
                                               0, LPO_NONE, LPO_NONE });
}

static void check_new_kernel(void **state)
{
    const struct new_case *c = *state;
    LPO_AUTO(lpo_trace) t = empty_trace();
    uint16_t device = lpo_trace_device(t, 0, -1);
    LPO_AUTO(lpo_analysis) a = NULL;
    LPO_AUTO(lpo_findings) f = NULL;
    bool first_call = strcmp(c->found, "first-calls") == 0;

    push_call(t, &(struct span){ "cudaLaunchKernel", -50, -49 }, 0);
    push_op(t, &(struct op){ .name = "old", .start = -10, .end = 10, .launch = 1 }, 0, 0, device);
    push_call(t, &c->launch, 0);
    push_call(t, &(struct span){ "cudaLaunchKernel", 1510, 1511 }, 0);
    push_host_op(t, &c->operator);
    push_host_op(t, &c->inner);
    for (int i = 0; i < 3 && c->kernels[i].name; i++) {
        struct op o = c->kernels[i];

        o.launch = o.launch < 0 ? 0 : o.start > 1500 ? 3 : 2;
        push_op(t, &o, 0, 0, device);
    }
    a = lpo_analysis_of(t, NULL);
    f = lpo_findings_create(NULL, NULL, a);
    assert_true(f->all.len >= 1);
    assert_string_equal(lpo_findings_id(f->all.at[0].kind), c->found);
    assert_int_equal(f->all.at[0].saving_ns, us(c->saving));
    if (first_call)
        assert_true(evidence(&f->all.at[0], LPO_FACT_NEW_KERNELS)->value == 1);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, new_cases, check_new_kernel);
    return unit_run(&u);
}
