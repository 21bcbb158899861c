/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu_case.h"

#include "../unit.h"
#include "util/str.h"

void gpu_run(const char *scenario, const char *const *env, struct traced *t, struct lpo_str *text)
{
    bool old = lpo_str_starts(scenario, "old:");
    const char *argv[] = { old ? "gpu_client_old" : "gpu_client", scenario + (old ? 4 : 0), NULL };

    traced_run(argv, env, t);
    if (strcmp(t->output, "") != 0)
        fail_msg("output: %s", t->output);
    assert_int_equal(t->status, 0);
    traced_text(t->trace, text);
}

void gpu_check(void **state)
{
    const struct gpu_case *r = *state;
    struct traced t;
    LPO_STR text = { 0 };

    gpu_run(r->scenario, r->env, &t, &text);
    if (r->want)
        assert_string_equal(lpo_str_text(&text), r->want);
    else if (strcmp(r->scenario, "decode") == 0)
        assert_non_null(strstr(lpo_str_text(&text), "\nnote "));
    traced_free(&t);
}
