/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels by name, and the bare function in a name. */
#include "../unit.h"
#include "build.h"

#include "region/cells.h"
#include "util/str.h"

/* `want` lists name=launches/ns, most expensive first. */
static const struct top_case {
    const char *name, *trace, *want;
} tops[] = {
    { "nothing", "A 0-9", "" },
    { "one name", "k:f 1-2=5 k:f 3-4=6", "f=2/11" },
    { "the most expensive first", "k:f 1-2=5 k:g 3-4=6 k:f 5-6=2", "f=2/7 g=1/6" },
    { "wherever it was launched", "A 0-9 k:f 1-2=5 #2 k:f 3-4=6", "f=2/11" },
};

static void check_top(void **state)
{
    const struct top_case *c = *state;
    LPO_AUTO(lpo_trace) t = build_trace(c->trace);
    LPO_AUTO(lpo_region_tree) tree = lpo_region_tree_create(t);
    LPO_AUTO(lpo_region_cells) cells = lpo_region_cells_create(tree, NULL);
    lpo_top_rows rows = { 0 };
    LPO_STR got = { 0 };

    lpo_region_top(cells, LPO_KERNEL, &rows);
    for (size_t i = 0; i < rows.len; i++)
        lpo_str_addf(&got, "%s%s=%llu/%lld", i ? " " : "", lpo_trace_text(t, rows.at[i].name),
                     (unsigned long long)rows.at[i].sum.launches, (long long)rows.at[i].sum.ns);
    lpo_vec_free(&rows);
    assert_string_equal(lpo_str_text(&got), c->want);
}

static const struct function_case {
    const char *name, *kernel, *want;
} functions[] = {
    { "a plain name", "gemm", "gemm" },
    { "return type and parameters", "void gemm(float *, int)", "gemm" },
    { "namespaces and template", "void at::native::reduce<512, at::Op<int>>(int)", "reduce" },
    { "an anonymous namespace", "void (anonymous namespace)::softmax<float>(float *)", "softmax" },
    { "nothing", "", "" },
};

static void check_function(void **state)
{
    const struct function_case *c = *state;
    size_t len = 0;
    const char *at = lpo_region_kernel_function(c->kernel, &len);

    assert_int_equal(len, strlen(c->want));
    assert_memory_equal(at, c->want, len);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, tops, check_top);
    UNIT_ROWS(&u, functions, check_function);
    return unit_run(&u);
}
