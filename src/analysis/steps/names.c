/* SPDX-License-Identifier: Apache-2.0 */
/* What frameworks call their steps. A new one is a row. */
#include <string.h>

#include "analysis/steps/steps.h"

/* Of two kinds of steps in one trace the first family counts. */
enum family {
    VLLM,
    SGLANG,
    TENSORRT_LLM,
    ATOM,
    PROFILER,
    OWN, /* names that no framework gives */
};

enum fact { NUMBER, REQUESTS, TOKENS, CONTEXT, GENERATION, IGNORED, FACTS };

/* '%' is a whole number, '*' any text. Programs write their own names in any case, "Iteration 3":
 * those of the last family are compared without regard to it. */
static const struct step_name {
    enum family family;
    const char *pattern;
    enum lpo_step_kind kind;
    enum fact numbers[4]; /* what each '%' means */
} names[] = {
    { VLLM,
      "execute_%_context_%(*)_generation_%(*)",
      LPO_STEP_ANY,
      { REQUESTS, CONTEXT, GENERATION } },
    { VLLM,
      "execute_context_%(%)_generation_%(%)",
      LPO_STEP_ANY,
      { CONTEXT, TOKENS, GENERATION, IGNORED } },
    { VLLM, "execute_new_%_cached_%", LPO_STEP_ANY, { CONTEXT, GENERATION } },
    { SGLANG, "step[DECODE bs=%*", LPO_STEP_DECODE, { REQUESTS } },
    { SGLANG, "step[EXTEND bs=% toks=%*", LPO_STEP_PREFILL, { REQUESTS, TOKENS } },
    { SGLANG, "step[EXTEND bs=%*", LPO_STEP_PREFILL, { REQUESTS } },
    { SGLANG, "step[MIXED bs=%*", LPO_STEP_MIXED, { REQUESTS } },
    { SGLANG, "step[* bs=%*", LPO_STEP_ANY, { REQUESTS } },
    { ATOM, "prefill[bs=% tok=%*", LPO_STEP_PREFILL, { REQUESTS, TOKENS } },
    { ATOM, "decode[bs=%/% tok=%*", LPO_STEP_DECODE, { REQUESTS, IGNORED, TOKENS } },
    { ATOM, "decode[bs=% tok=%*", LPO_STEP_DECODE, { REQUESTS, TOKENS } },
    { TENSORRT_LLM,
      "[Executor] _forward_step %: % ctx reqs, % ctx tokens, % gen reqs",
      LPO_STEP_ANY,
      { NUMBER, CONTEXT, TOKENS, GENERATION } },
    { TENSORRT_LLM,
      "[Executor] _forward_step %: % ctx reqs, % gen reqs",
      LPO_STEP_ANY,
      { NUMBER, CONTEXT, GENERATION } },
    { PROFILER, "ProfilerStep#%", LPO_STEP_ANY, { NUMBER } },
    { OWN, "iteration %", LPO_STEP_ANY, { NUMBER } },
    { OWN, "iteration%", LPO_STEP_ANY, { NUMBER } },
    { OWN, "iteration_%", LPO_STEP_ANY, { NUMBER } },
    { OWN, "iteration-%", LPO_STEP_ANY, { NUMBER } },
    { OWN, "iteration #%", LPO_STEP_ANY, { NUMBER } },
    { OWN, "iteration: %", LPO_STEP_ANY, { NUMBER } },
    { OWN, "iter %", LPO_STEP_ANY, { NUMBER } },
    { OWN, "iter_%", LPO_STEP_ANY, { NUMBER } },
    { OWN, "iter%", LPO_STEP_ANY, { NUMBER } },
    { OWN, "iteration", LPO_STEP_ANY, { NUMBER } },
    { OWN, "train_step", LPO_STEP_ANY, { NUMBER } },
    { OWN, "training_step", LPO_STEP_ANY, { NUMBER } },
    { OWN, "train_batch", LPO_STEP_ANY, { NUMBER } },
    { OWN, "train step %", LPO_STEP_ANY, { NUMBER } },
    { OWN, "train_step_%", LPO_STEP_ANY, { NUMBER } },
    { OWN, "pipelineengine.train_batch", LPO_STEP_ANY, { NUMBER } },      /* DeepSpeed */
    { OWN, "[pl][profile]run_training_batch", LPO_STEP_ANY, { NUMBER } }, /* Lightning */
    { OWN, "step %", LPO_STEP_ANY, { NUMBER } },
    { OWN, "step_%", LPO_STEP_ANY, { NUMBER } },
    { OWN, "step-%", LPO_STEP_ANY, { NUMBER } },
    { OWN, "step #%", LPO_STEP_ANY, { NUMBER } },
    { OWN, "step: %", LPO_STEP_ANY, { NUMBER } },
    { OWN, "step%", LPO_STEP_ANY, { NUMBER } },
    { OWN, "step", LPO_STEP_ANY, { NUMBER } },
};

static const char *const families[LPO_STEP_FAMILIES] = {
    "vLLM", "SGLang", "TensorRT-LLM", "ATOM", "the PyTorch profiler", "the program"
};

const char *lpo_steps_family_name(int family)
{
    return families[family];
}

const char *lpo_steps_kind_name(enum lpo_step_kind kind)
{
    static const char *const kinds[] = { "step", "prefill", "decode", "mixed" };

    return kinds[kind];
}

/* At most 15 digits: a number of things, and no overflow. */
static bool number(const char **p, int64_t *out)
{
    int64_t v = 0;
    int digits = 0;

    for (; **p >= '0' && **p <= '9' && digits < 16; (*p)++, digits++)
        v = v * 10 + (**p - '0');
    *out = v;
    return digits > 0 && digits < 16;
}

static bool same(const struct step_name *n, char pattern, char c)
{
    return pattern == c || (n->family == OWN && c >= 'A' && c <= 'Z' && pattern == c - 'A' + 'a');
}

/* One star at a time is enough to come back to: what it swallowed grows until the rest fits. */
static bool fits(const struct step_name *n, const char *text, int64_t found[FACTS])
{
    const char *p = n->pattern, *star = NULL, *from = NULL;
    int seen = 0, seen_at_star = 0;

    while (*text || *p) {
        int64_t v;

        if (*p == '*') {
            star = ++p;
            from = text;
            seen_at_star = seen;
        } else if (*p == '%' && number(&text, &v)) {
            found[n->numbers[seen++]] = v;
            p++;
        } else if (*p && *p != '%' && same(n, *p, *text)) {
            p++;
            text++;
        } else if (star && *from) {
            p = star;
            text = ++from;
            seen = seen_at_star;
        } else {
            return false;
        }
    }
    return true;
}

static enum lpo_step_kind kind_of(const struct step_name *n, const int64_t found[FACTS])
{
    if (n->kind != LPO_STEP_ANY || found[CONTEXT] < 0 || found[GENERATION] < 0)
        return n->kind;
    if (found[CONTEXT] > 0)
        return found[GENERATION] > 0 ? LPO_STEP_MIXED : LPO_STEP_PREFILL;
    return LPO_STEP_DECODE;
}

bool lpo_steps_read_name(const char *name, int *family, struct lpo_step_facts *out)
{
    if (!strchr("esi[PtSITpd", *name) || !*name) /* nearly all names of a trace */
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int64_t found[FACTS] = { -1, -1, -1, -1, -1, -1 };

        if (!fits(&names[i], name, found))
            continue;
        *family = (int)names[i].family;
        *out = (struct lpo_step_facts){ .kind = kind_of(&names[i], found),
                                        .number = found[NUMBER],
                                        .requests = found[REQUESTS],
                                        .tokens = found[TOKENS],
                                        .context_requests = found[CONTEXT],
                                        .generation_requests = found[GENERATION] };
        if (out->requests < 0 && found[CONTEXT] >= 0 && found[GENERATION] >= 0)
            out->requests = found[CONTEXT] + found[GENERATION];
        if (out->kind == LPO_STEP_DECODE && out->tokens <= 0)
            out->tokens = out->requests; /* one each */
        return true;
    }
    return false;
}
