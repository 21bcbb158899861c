/* SPDX-License-Identifier: Apache-2.0 */
/* Every `override` case of the Hydra data in tests/data/hydra: what Hydra 1.3.2 itself makes of the
 * text. */
#include "hydra/compose.h"
#include "same_json.h"
#include "unit.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/json_write.h"
#include "util/path.h"

/* Of an error only its class and column are given facts; the words are ours. */
static void check_error(const struct lpo_json *have, const struct lpo_json *want)
{
    assert_string_equal(lpo_json_text(lpo_json_at(have, "error.class"), "none"),
                        lpo_json_text(lpo_json_at(want, "error.class"), ""));
    assert_true(same_json(lpo_json_at(have, "error.column"), lpo_json_at(want, "error.column")));
    assert_true(strlen(lpo_json_text(lpo_json_at(have, "error.message"), "")) > 0);
}

static void check_case(void **state)
{
    const struct lpo_json *c = *state, *want = lpo_json_get(c, "expect"), *have;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_err err = { 0 };
    struct lpo_override ov;
    LPO_STR text = { 0 };
    struct lpo_json_writer w = lpo_json_writer(&text, 2);

    int rc = lpo_override_parse(a, lpo_json_text(lpo_json_get(c, "in"), NULL), &ov, &err);
    lpo_override_explain(&ov, lpo_err_cause(&err), &w);
    assert_int_equal(lpo_json_parse(a, text.at, text.len, &have, &err), 0);
    if (lpo_json_bool(lpo_json_get(want, "ok"), false)) {
        if (!same_json(have, want))
            fail_msg("understood as %s", text.at);
        assert_int_equal(rc, 0);
    } else {
        assert_int_equal(rc, LPO_E_CONFIG);
        check_error(have, want);
    }
}

int main(void)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const char *path =
        lpo_path_join(a, unit_env("LPO_SOURCE_ROOT", "."), "tests/data/hydra/cases-grammar.json");
    const struct lpo_json *doc;
    struct lpo_err err = { 0 };
    struct unit u = { 0 };

    if (lpo_json_read_file(a, path, &doc, &err) < 0) {
        printf("Bail out! %s\n", lpo_err_cause(&err));
        return 1;
    }
    LPO_JSON_EACH(c, lpo_json_get(doc, "cases"))
    unit_add(&u, lpo_json_text(lpo_json_get(c, "id"), "?"), check_case, c);
    return unit_run(&u);
}
