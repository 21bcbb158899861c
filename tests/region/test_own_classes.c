/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of the user for classes of kernels: report.classes. */
#include "../unit.h"
#include "region/classes.h"
#include "trace/trace.h"
#include "util/err.h"

static const struct own_case {
    const char *name, *rules[3], *kernel, *want; /* NULL: the rules are refused */
} cases[] = {
    { "no rule", { NULL }, "my_product", "other" },
    { "a glob", { "GEMM=my_*" }, "my_product", "GEMM" },
    { "a glob is over the whole name", { "GEMM=my" }, "my_product", "other" },
    { "a regular expression", { "attention=regex:^my" }, "my_product", "attention" },
    { "before the rules of lpo", { "copy=*gemm*" }, "ampere_sgemm_128x64_nn", "copy" },
    { "the first decides", { "GEMM=my_*", "norm=*" }, "my_product", "GEMM" },
    { "others keep theirs", { "norm=my_*" }, "ampere_sgemm_128x64_nn", "GEMM" },
    { "letters of any case", { "gemm=my_*" }, "my_product", "GEMM" },
    { "no class of that name", { "product=my_*" }, "my_product", NULL },
    { "no pattern", { "GEMM" }, "my_product", NULL },
    { "a broken pattern", { "GEMM=regex:(" }, "my_product", NULL },
};

static void check_own(void **state)
{
    const struct own_case *c = *state;
    LPO_AUTO(lpo_trace) t = lpo_trace_create();
    uint32_t name = lpo_trace_name(t, c->kernel);
    struct lpo_err err = { 0 };
    size_t count = 0;
    int rc;

    while (c->rules[count])
        count++;
    rc = lpo_region_classes_set(t, c->rules, count, &err);
    assert_int_equal(rc == 0, c->want != NULL);
    if (c->want)
        assert_string_equal(lpo_region_class_name(lpo_region_class_of(t, name)), c->want);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check_own);
    return unit_run(&u);
}
