/* SPDX-License-Identifier: Apache-2.0 */
/* What Nsight's tools say, in plain words. */
#include "../unit.h"

#include "pipeline/stage.h"

static const struct message_case {
    const char *name, *log;
    const char *meaning; /* NULL: nothing known in it */
    int rerun;
} message_cases[] = {
    { "permission before no kernels",
      "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n"
      "==WARNING== No kernels were profiled.\n",
      "may not read", 0 },
    { "no kernels", "==WARNING== No kernels were profiled.\n", "no kernel passed", 1 },
    { "range replay in PyTorch",
      "==ERROR== Unsupported API during capture (cuKernelSetAttribute)\n", "range replay", 0 },
    { "ncu 2022.3 and calls of a range",
      "unrecognised option '--range-filter'\n\nUse --help for further details.\n",
      "cannot choose calls", 0 },
    { "one kernel failed", "==ERROR== Failed to profile \"k\" in process 3\n", "one kernel", 0 },
    { "all is well", "==PROF== Connected to process 3 (x)\n==PROF== Report: run.ncu-rep\n", NULL,
      0 },
};

static void check_message(void **state)
{
    const struct message_case *c = *state;
    const struct lpo_tool_message *m = lpo_pipeline_tool_message_find(c->log);

    if (!c->meaning) {
        assert_null(m);
        return;
    }
    assert_non_null(m);
    assert_non_null(strstr(m->meaning, c->meaning));
    assert_int_equal((m->what & LPO_TOOL_FILTERED) != 0, c->rerun);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, message_cases, check_message);
    return unit_run(&u);
}
