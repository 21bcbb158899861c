/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of PyTorch modules and Python functions as regions. */
#include "../unit.h"
#include "build.h"

#include "region/cells.h"
#include "region/modules.h"
#include "region/scope.h"
#include "util/str.h"

/* The text of build.h, where a range "M:X" is a call of module X, "F:X" one of forward() of file X,
 * and "P:X" one of function X of the program. `want`: kind path=launches/time*calls, and [code]. */
static const struct module_case {
    const char *name, *trace, *want;
} cases[] = {
    { "modules nest", "M:Net_0 0-100 M:Linear_0 10-40 k 20-22=5 k 50-51=7",
      "module Net_0=2/12*1 module Net_0/Linear_0=1/5*1" },
    { "below a range of the program", "step 0-200 M:Net_0 10-100 k 20-22=5 k 150-151=7",
      "push_pop step=2/12*1 module step/Net_0=1/5*1" },
    { "around a range of the program", "M:Net_0 10-100 part 20-50 k 30-31=5",
      "module Net_0=1/5*1 push_pop Net_0/part=1/5*1" },
    { "calls add up", "M:A_0 0-10 k 1-2=1 M:A_0 20-30 k 21-22=2", "module A_0=2/3*2" },
    { "a module of another thread", "M:A_0 0-100 @2 M:B_0 10-90 k 20-22=5",
      "module B_0=1/5*1 module A_0=0/0*1" },
    { "the code of a module is its first forward",
      "M:A_0 0-100 F:a 5-95 M:B_0 10-50 F:b 12-48 k 20-22=5 M:C_0 60-70 F:a 80-90",
      "module A_0=1/5*1[a.py(1): forward] module A_0/B_0=1/5*1[b.py(1): forward] "
      "module A_0/C_0=0/0*1" },
    { "a forward of another thread is not its code", "M:A_0 0-100 k 1-2=1 @2 F:a 5-95",
      "module A_0=1/1*1" },
    { "a forward that outlives it is not its code", "M:A_0 0-100 F:a 5-105 k 10-11=1",
      "module A_0=1/1*1" },
    { "functions where there are no modules", "P:main 0-100 P:step 10-50 k 20-22=5 P:idle 60-90",
      "python main.py(7): main=1/5*1[main.py(7): main] "
      "python main.py(7): main/step.py(7): step=1/5*1[step.py(7): step]" },
    { "functions of libraries are passed over", "P:main 0-100 P:torch/x 10-50 k 20-22=5",
      "python main.py(7): main=1/5*1[main.py(7): main]" },
    { "no functions where there are modules", "P:main 0-100 M:A_0 10-50 k 20-22=5",
      "module A_0=1/5*1" },
    { "each process for itself", "M:A_0 0-9 k 1-2=1 #2 P:main 0-9 k 1-2=2",
      "python main.py(7): main=1/2*1[main.py(7): main] module A_0=1/1*1" },
    { "functions without any launch, where nothing was launched", "P:main 0-100",
      "python main.py(7): main=0/0*1[main.py(7): main]" },
    { "a launch that outlives the function is not its own", "P:main 0-100 P:f 10-20 k 15-25=5",
      "python main.py(7): main=1/5*1[main.py(7): main]" },
    { "neither", "step 0-100 k 20-22=5", "" },
    { "a function that launched nothing", "P:main 0-10 k 20-22=5", "" },
};

static bool take(struct lpo_trace *t, const struct lpo_range *r)
{
    const char *text = lpo_trace_text(t, r->name);
    char name[64];

    if (strncmp(text, "M:", 2) == 0)
        snprintf(name, sizeof name, "nn.Module: %s", text + 2);
    else if (strncmp(text, "F:", 2) == 0)
        snprintf(name, sizeof name, "%s.py(1): forward", text + 2);
    else if (strncmp(text, "P:", 2) == 0)
        snprintf(name, sizeof name, "%s.py(7): %s", text + 2, text + 2);
    else
        return false;
    lpo_vec_push(&t->python, ((struct lpo_python_call){ r->start_ns, r->end_ns,
                                                        lpo_trace_name(t, name), r->thread }));
    return true;
}

static struct lpo_trace *build_python(const char *text)
{
    struct lpo_trace *t = build_trace(text);
    size_t kept = 0;

    for (size_t i = 0; i < t->ranges.len; i++)
        if (!take(t, &t->ranges.at[i]))
            t->ranges.at[kept++] = t->ranges.at[i];
    t->ranges.len = kept;
    return t;
}

static void describe(const struct lpo_region_scope *s, struct lpo_str *out)
{
    for (size_t i = 0; i < s->rows.len; i++) {
        const struct lpo_region_row *r = &s->rows.at[i];

        if (r->node == LPO_NODE_OUTSIDE)
            continue;
        lpo_str_addf(out, "%s%s ", out->len ? " " : "", lpo_region_row_kind(s, r));
        lpo_region_row_add_path(s, r, out);
        lpo_str_addf(out, "=%llu/%lld*%llu", (unsigned long long)r->all.launches,
                     (long long)r->all.ns, (unsigned long long)r->visits);
        if (lpo_region_row_source(s, r))
            lpo_str_addf(out, "[%s]", lpo_region_row_source(s, r));
    }
}

static void check_modules(void **state)
{
    const struct module_case *c = *state;
    LPO_AUTO(lpo_trace) t = build_python(c->trace);
    LPO_AUTO(lpo_region_modules) m = lpo_region_modules_create(t);
    LPO_AUTO(lpo_region_tree) tree = m ? lpo_region_tree_create_with(t, m) : NULL;
    LPO_AUTO(lpo_region_cells) cells = m ? lpo_region_cells_create(tree, NULL) : NULL;
    LPO_AUTO(lpo_region_scope) s = NULL;
    LPO_STR got = { 0 };

    if (m) {
        s = lpo_region_scope_create(cells, (struct lpo_scope_id){ LPO_SCOPE_ALL, 0 }, NULL);
        describe(s, &got);
    }
    assert_string_equal(lpo_str_text(&got), c->want);
}

/* Ten thousand calls inside one another: the depth of a path is bounded, the text of all is too. */
static void nesting_is_bounded(void **state)
{
    LPO_AUTO(lpo_trace) t = build_trace("k 50000-50001=1");
    LPO_AUTO(lpo_region_modules) m = NULL;
    LPO_AUTO(lpo_region_tree) tree = NULL;

    (void)state;
    for (int i = 0; i < 10000; i++)
        lpo_vec_push(&t->python, ((struct lpo_python_call){
                                     i, 100000 - i, lpo_trace_name(t, "nn.Module: A_0"), 0 }));
    m = lpo_region_modules_create(t);
    tree = lpo_region_tree_create_with(t, m);
    assert_int_equal(tree->nodes.len, LPO_REGION_DEPTH);
    assert_int_equal(t->ranges.len, 0); /* the trace itself stays as it is */
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check_modules);
    UNIT_TEST(&u, nesting_is_bounded);
    return unit_run(&u);
}
