/* SPDX-License-Identifier: Apache-2.0 */
/* What frameworks call their steps, and what the names say. */
#include "../unit.h"

#include <stdio.h>

#include "analysis/steps/steps.h"

static const struct name_case {
    const char *name;
    const char *want; /* family: kind number requests tokens context generation; NULL: no step */
} cases[] = {
    { "ProfilerStep#12", "the PyTorch profiler: step 12 -1 -1 -1 -1" },
    { "ProfilerStep#", NULL },
    { "ProfilerStep#12a", NULL },
    { "ProfilerStep#99999999999999999999", NULL },
    { "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55086sqsq32sqsk55086)",
      "vLLM: decode -1 32 32 0 32" },
    { "execute_9_context_1(sq8sk8)_generation_8(sq8)", "vLLM: mixed -1 9 -1 1 8" },
    { "execute_context_2(1024)_generation_0(0)", "vLLM: prefill -1 2 1024 2 0" },
    { "execute_context_0(0)_generation_16(16)", "vLLM: decode -1 16 16 0 16" },
    { "execute_context_0(0)_generation_16(16", NULL },
    { "step[DECODE bs=32]", "SGLang: decode -1 32 32 -1 -1" },
    { "step[EXTEND bs=2 toks=4096]", "SGLang: prefill -1 2 4096 -1 -1" },
    { "step[MIXED bs=2 c=1 g=1 c_sq=5]", "SGLang: mixed -1 2 -1 -1 -1" },
    { "prefill[bs=2 tok=14721 ctx=[7803, 6918]]", "ATOM: prefill -1 2 14721 -1 -1" },
    { "decode[bs=117/128 tok=117 d=117]", "ATOM: decode -1 117 117 -1 -1" },
    { "decode[bs=64 tok=192 d=64 spec=2]", "ATOM: decode -1 64 192 -1 -1" },
    { "step[IDLE bs=0]", "SGLang: step -1 0 -1 -1 -1" },
    { "[Executor] _forward_step 7: 0 ctx reqs, 4 gen reqs", "TensorRT-LLM: decode 7 4 4 0 4" },
    { "[Executor] _forward_step 7: 2 ctx reqs, 300 ctx tokens, 4 gen reqs",
      "TensorRT-LLM: mixed 7 6 300 2 4" },
    { "iteration 3", "the program: step 3 -1 -1 -1 -1" },
    { "iter_3", "the program: step 3 -1 -1 -1 -1" },
    { "step", "the program: step -1 -1 -1 -1 -1" },
    { "step4", "the program: step 4 -1 -1 -1 -1" },
    { "Iteration 12", "the program: step 12 -1 -1 -1 -1" },
    { "ITERATION_12", "the program: step 12 -1 -1 -1 -1" },
    { "iteration-0", "the program: step 0 -1 -1 -1 -1" },
    { "Step #5", "the program: step 5 -1 -1 -1 -1" },
    { "train_step_2", "the program: step 2 -1 -1 -1 -1" },
    { "PipelineEngine.train_batch", "the program: step -1 -1 -1 -1 -1" },
    { "[pl][profile]run_training_batch", "the program: step -1 -1 -1 -1 -1" },
    { "profilerstep#12", NULL }, /* a framework writes its names in one way */
    { "STEP[DECODE bs=32]", NULL },
    { "Iterations", NULL },
    { "stepper", NULL },
    { "steps", NULL },
    { "", NULL },
    { "decode", NULL },
};

static void check(void **state)
{
    const struct name_case *c = *state;
    struct lpo_step_facts f;
    char got[256];
    int family;

    if (!lpo_steps_read_name(c->name, &family, &f)) {
        assert_null(c->want);
        return;
    }
    snprintf(got, sizeof got, "%s: %s %lld %lld %lld %lld %lld", lpo_steps_family_name(family),
             lpo_steps_kind_name(f.kind), (long long)f.number, (long long)f.requests,
             (long long)f.tokens, (long long)f.context_requests, (long long)f.generation_requests);
    assert_non_null(c->want);
    assert_string_equal(got, c->want);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check);
    return unit_run(&u);
}
