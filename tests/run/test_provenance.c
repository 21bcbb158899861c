/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets never reach a file. */
#include "../unit.h"

#include "hydra/compose.h"
#include "run/provenance.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/str.h"

static const struct override_case {
    const char *name, *given, *want;
} override_cases[] = {
    { "an ordinary key", "run.repeats=3", "run.repeats=3" },
    { "a variable", "workload.env.CUDA_VISIBLE_DEVICES=0", "workload.env.CUDA_VISIBLE_DEVICES=0" },
    { "a secret variable", "workload.env.HF_TOKEN=hf_abc", "workload.env.HF_TOKEN=(hidden)" },
    { "added", "+workload.env.API_KEY=x", "+workload.env.API_KEY=(hidden)" },
    { "a secret inside a map", "workload.env={A: 1, MY_PASSWORD: x}", "workload.env=(hidden)" },
    { "removed: no value to hide", "~workload.env.HF_TOKEN", "~workload.env.HF_TOKEN" },
    { "a key that only reads like one", "infer.max_new_tokens=3", "infer.max_new_tokens=3" },
};

static void check_override(void **state)
{
    const struct override_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();

    assert_string_equal(lpo_run_provenance_mask_override(a, c->given), c->want);
}

static void config_is_masked_in_a_copy(void **state)
{
    static const char text[] = "workload: {env: {HF_TOKEN: hf_abc, PLAIN: 1}}\n";
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_node *config = NULL;
    struct lpo_err err = { 0 };
    const struct lpo_node *masked;

    (void)state;
    assert_int_equal(lpo_yaml_parse(a, text, strlen(text), "test", &config, &err), 0);
    masked = lpo_run_provenance_mask(a, config);
    assert_string_equal(lpo_node_at(masked, "workload.env.HF_TOKEN")->text, "(hidden)");
    assert_int_equal(lpo_node_at(masked, "workload.env.PLAIN")->integer, 1);
    assert_string_equal(lpo_node_at(config, "workload.env.HF_TOKEN")->text, "hf_abc");
}

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

    UNIT_ROWS(&u, override_cases, check_override);
    UNIT_TEST(&u, config_is_masked_in_a_copy);
    UNIT_TEST(&u, environment_hides_secrets_and_skips_the_rest);
    return unit_run(&u);
}
