/* SPDX-License-Identifier: Apache-2.0 */
/* Names of XLA's ranges, as JAX 0.8 on an H200 pushed them, and what they become. */
#include "../unit.h"

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

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check);
    return unit_run(&u);
}
