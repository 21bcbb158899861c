/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of published checkpoints, from their config alone: one row per family and variant. */
#include "../unit.h"
#include "model/needs.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/json.h"
#include "util/path.h"

static void check_params(void **state)
{
    const struct lpo_json *row = *state;
    struct lpo_needs_options o = lpo_model_needs_defaults();
    LPO_AUTO(lpo_model_needs) needs = NULL;
    struct lpo_err err = { 0 };

    o.strict = true;
    if (lpo_model_needs_create(lpo_json_get(row, "config"), &o, &needs, &err) < 0)
        fail_msg("%s", lpo_err_cause(&err));
    assert_int_equal(needs->params, lpo_json_int(lpo_json_get(row, "params"), -1));
}

int main(void)
{
    LPO_AUTO(lpo_arena) arena = lpo_arena_create();
    const char *root = unit_env("LPO_SOURCE_ROOT", ".");
    const struct lpo_json *rows = NULL;
    struct lpo_err err = { 0 };
    struct unit u = { 0 };

    if (lpo_json_read_file(arena, lpo_path_join(arena, root, "tests/data/known_models.json"), &rows,
                           &err) < 0) {
        fprintf(stderr, "%s\n", lpo_err_cause(&err));
        return 1;
    }
    LPO_JSON_EACH(row, rows)
    unit_add(&u, lpo_json_text(lpo_json_get(row, "name"), "?"), check_params, row);
    return unit_run(&u);
}
