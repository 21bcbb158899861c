/* SPDX-License-Identifier: Apache-2.0 */
/* Names of XLA's ranges, as JAX 0.8 on an H200 pushed them, and what they become. */
#include "../unit.h"

#include "trace/times.h"
#include "trace/trace.h"
#include "trace/xla_names.h"
#include "util/str.h"

static const struct name_case {
    const char *name, *text, *want; /* want NULL: not one of XLA's */
} cases[] = {
    { "a module", "XlaModule:#hlo_module=jit_layer,program_id=2651#", "jit_layer" },
    { "a module without a program", "XlaModule:#hlo_module=gemm_fusion_dot#", "gemm_fusion_dot" },
    { "an op with its place in the program",
      "Thunk:#name=jit(layer)/dot_general,hlo_op=gemm_fusion_dot,unique_hlo_op_id=12884901892#",
      "gemm_fusion_dot" },
    { "an op alone", "Thunk:#hlo_op=custom-call.1#", "custom-call.1" },
    { "a comma inside a value", "Thunk:#name=f(a,b)/mul,hlo_op=fusion.2#", "fusion.2" },
    { "an op that is not named", "Thunk:#name=jit(f)/mul#", "Thunk jit(f)/mul" },
    { "a pass", "XlaPass:#name=config-assigner,module=jit_layer,program_id=2651#",
      "XlaPass config-assigner" },
    { "a compilation", "XlaCompile:#module=jit_layer#", "XlaCompile jit_layer" },
    { "a part of a key is not the key", "Thunk:#my_hlo_op=a#", NULL },
    { "nothing that names it", "Xla:#a=1,b=2#", NULL },
    { "no values", "Thunk:##", NULL },
    { "an empty value", "Thunk:#hlo_op=#", NULL },
    { "no kind", ":#hlo_op=a#", NULL },
    { "it does not end", "Thunk:#hlo_op=a", NULL },
    { "only its beginning", "Thunk:#", NULL },
    { "a user's name", "decode", NULL },
    { "empty", "", NULL },
};

static void check(void **state)
{
    const struct name_case *c = *state;
    LPO_STR out = { 0 };
    size_t len = strlen(c->text);
    char *exact = malloc(len + 1); /* so that a read behind its end is found */

    memcpy(exact, c->text, len);
    assert_int_equal(lpo_trace_xla_name(exact, len, &out), c->want != NULL);
    assert_string_equal(lpo_str_text(&out), c->want ? c->want : "");
    free(exact);
}

/* Names of ops, and the scopes that are left of them. */
static const struct scope_case {
    const char *name, *want;
} scopes[] = {
    { "jit(layer)/dot_general", "" },
    { "jit(step)/jit(main)/layer/dot_general", "layer" },
    { "jit(step)/jit(main)/jvp(layer)/attn/dot_general", "layer|attn" },
    { "jit(step)/transpose(jvp(layer))/attn/dot_general", "layer (backward)|attn" },
    { "jit(step)/jvp()/dot_general", "" },
    { "jit(step)/transpose(jvp())/layer/mul", "layer (backward)" },
    { "jit(f)/vmap(jvp(Model))/layers_0/mul", "Model|layers_0" },
    { "jit(f)/while/body/layer/add", "layer" },
    { "jit(f)/cond/branch_1_fun/layer/add", "layer" },
    { "jit(f)/checkpoint/rematted_computation/layer/add", "layer" },
    { "jit(f)/norm(x/y)/add", "norm(x/y)" },
    { "model/dense/MatMul", "model|dense" },
    { "jit(f)/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/add", "a|b|c|d|e|f|g|h|i|j|k|l|m|n|o|p" },
    { "jit(f)/jvp(layer/add", "" },
    { "reduce_max", "" },
    { "args[0]", "" },
    { "/", "" },
    { "//x", "" },
    { "", "" },
};

static void check_scopes(void **state)
{
    const struct scope_case *c = *state;
    LPO_AUTO(lpo_trace) t = lpo_trace_create();
    uint32_t found[LPO_XLA_SCOPES];
    size_t len = strlen(c->name), n;
    char *exact = malloc(len + 1);
    LPO_STR got = { 0 };

    memcpy(exact, c->name, len);
    n = lpo_trace_xla_scopes(t, exact, len, found);
    for (size_t i = 0; i < n; i++)
        lpo_str_addf(&got, "%s%s", i ? "|" : "", lpo_trace_text(t, found[i]));
    assert_string_equal(lpo_str_text(&got), c->want);
    free(exact);
}

/* Each op is inside the scopes of its name: ranges of its own times, the outermost first. */
static void scopes_are_ranges_around_their_op(void **state)
{
    static const char *const names[] = {
        "XlaModule:#hlo_module=jit_step,program_id=1#",
        "Thunk:#name=jit(step)/jvp(layer)/attn/dot_general,hlo_op=gemm.1#",
        "Thunk:#name=jit(step)/mul,hlo_op=fusion.2#",
    };
    static const char *const want[] = { "jit_step 0-100", "layer 10-20", "fusion.2 30-40",
                                        "attn 10-20", "gemm.1 10-20" };
    LPO_AUTO(lpo_trace) t = lpo_trace_create();
    struct lpo_trace_mark mark = lpo_trace_mark(t);
    uint16_t domain = lpo_trace_domain(t, LPO_XLA_DOMAIN, strlen(LPO_XLA_DOMAIN));

    (void)state;
    for (int i = 0; i < 3; i++)
        lpo_vec_push(&t->ranges, ((struct lpo_range){ .start_ns = i ? 20 * i - 10 : 0,
                                                      .end_ns = i ? 20 * i : 100,
                                                      .name = lpo_trace_name(t, names[i]),
                                                      .domain = domain }));
    lpo_trace_xla_rename(t, &mark);
    assert_int_equal(t->ranges.len, 5);
    for (size_t i = 0; i < 5; i++) {
        LPO_STR got = { 0 };

        lpo_str_addf(&got, "%s %lld-%lld", lpo_trace_text(t, t->ranges.at[i].name),
                     (long long)t->ranges.at[i].start_ns, (long long)t->ranges.at[i].end_ns);
        assert_string_equal(lpo_str_text(&got), want[i]);
        assert_int_equal(t->ranges.at[i].domain, domain);
    }
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check);
    UNIT_ROWS(&u, scopes, check_scopes);
    UNIT_TEST(&u, scopes_are_ranges_around_their_op);
    return unit_run(&u);
}
