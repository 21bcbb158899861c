/* SPDX-License-Identifier: Apache-2.0 */
/* env.json: what is kept of the environment. */
#include "../unit.h"

#include "run/provenance.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/str.h"

static void environment_hides_secrets_and_skips_the_rest(void **state)
{
    static const char *const tools[] = { "/no/such/tool", NULL };
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_err err = { 0 };
    LPO_STR out = { 0 };

    (void)state;
    setenv("HF_TOKEN", "hf_abc", 1);
    setenv("CUDA_VISIBLE_DEVICES", "5", 1);
    setenv("SOMETHING_ELSE", "private", 1);
    assert_int_equal(lpo_run_provenance_env(a, "/", tools, &out, &err), 0);
    assert_non_null(strstr(out.at, "\"schema\": \"lpo.env/1\""));
    assert_non_null(strstr(out.at, "\"HF_TOKEN\": \"(hidden)\""));
    assert_non_null(strstr(out.at, "\"CUDA_VISIBLE_DEVICES\": \"5\""));
    assert_non_null(strstr(out.at, "\"tool\": null"));
    assert_null(strstr(out.at, "hf_abc"));
    assert_null(strstr(out.at, "SOMETHING_ELSE"));
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_TEST(&u, environment_hides_secrets_and_skips_the_rest);
    return unit_run(&u);
}
