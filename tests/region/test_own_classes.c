/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of the user for classes of kernels: report.classes. */
#include "../unit.h"
#include "region/classes.h"
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
    LPO_AUTO(lpo_region_own_rules) own = NULL;
    struct lpo_err err = { 0 };
    size_t count = 0;
    int rc;

    while (c->rules[count])
        count++;
    rc = lpo_region_own_rules_read(c->rules, count, &own, &err);
    assert_int_equal(rc == 0, c->want != NULL);
    if (c->want)
        assert_string_equal(lpo_region_class_name(lpo_region_class_by(own, c->kernel)), c->want);
}

/* Files in the grammar of conf/rules/kernels.yaml. */
static const struct file_case {
    const char *name, *text, *kernel, *want; /* NULL: the file is refused */
} files[] = {
    { "words, not the whole name", "functions:\n- GEMM: my_product+fast\n",
      "void MyProduct<Fast>(int)", "other" },
    { "a rule of its own", "functions:\n- GEMM: myproduct\n", "void MyProduct<1>(int)", "GEMM" },
    { "its order", "functions:\n- norm: my+product\n- GEMM: my\n", "my_product", "norm" },
    { "ours where it says nothing", "functions:\n- norm: my\n", "ampere_sgemm_128x64_nn", "GEMM" },
    { "by another table", "carriers:\n- copy by mine: ^_apply_\nmine:\n- norm: normalize\n",
      "apply<Normalize>(int)", NULL }, /* a table that no file of ours has */
    { "by a table of ours", "carriers:\n- copy by xla: ^_apply_\nxla:\n- norm: normalize\n",
      "apply<Normalize>(int)", "norm" },
    { "in a scope", "carriers:\n- moe: ^_run_@_experts_\n", "void experts::run<1>(int)", "moe" },
    { "a compiler of theirs", "compilers:\n- GEMM: ^_mine_\n", "mine_mm_0", "GEMM" },
    { "one whose table says nothing", "compilers:\n- GEMM by xla: ^_mine_\nxla:\n- norm: x\n",
      "mine_mm_0", "GEMM" },
    { "tables that name each other",
      "carriers:\n- GEMM by xla: ^_mine_\nxla:\n- norm by myelin: a\nmyelin:\n- copy by xla: b\n",
      "mine<a>(int)", "norm" },
    { "no class of that name", "functions:\n- product: my\n", "my_product", NULL },
    { "a table that is not there", "funktions:\n- GEMM: my\n", "my_product", NULL },
    { "no table at all", "- GEMM: my\n", "my_product", NULL },
    { "a row of two", "functions:\n- GEMM: my\n  norm: product\n", "my_product", NULL },
    { "four patterns", "functions:\n- GEMM: a+b+c+d\n", "my_product", NULL },
    { "an empty pattern", "functions:\n- GEMM: a++c\n", "my_product", NULL },
    { "no YAML", "functions: [\n", "my_product", NULL },
};

static void check_file(void **state)
{
    const struct file_case *c = *state;
    LPO_AUTO(lpo_region_own_rules) own = NULL;
    struct lpo_err err = { 0 };
    char path[64], rule[80];
    const char *rules[] = { rule };
    int rc;

    unit_file(c->text, strlen(c->text), path);
    snprintf(rule, sizeof rule, "file:%s", path);
    rc = lpo_region_own_rules_read(rules, 1, &own, &err);
    unlink(path);
    assert_int_equal(rc == 0, c->want != NULL);
    if (c->want)
        assert_string_equal(lpo_region_class_name(lpo_region_class_by(own, c->kernel)), c->want);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check_own);
    UNIT_ROWS(&u, files, check_file);
    return unit_run(&u);
}
