/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel classes against 721 names labelled by reading (tests/data/classes). The table is a guess,
 * so the test holds a floor: a change may raise these numbers, never lower them. */
#include "../unit.h"
#include "region/classes.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/json.h"
#include "util/path.h"

static const struct lpo_json *names;

static bool has(const struct lpo_json *classes, const char *name)
{
    LPO_JSON_EACH(c, classes)
    {
        if (strcmp(lpo_json_text(c, ""), name) == 0)
            return true;
    }
    return false;
}

static const struct floor_case {
    const char *name;
    bool sure_only;
    int right, of;
} floors[] = {
    { "names that leave no doubt", true, 644, 681 },
    { "all names", false, 674, 721 },
};

static void check_floor(void **state)
{
    const struct floor_case *f = *state;
    int right = 0, of = 0;

    LPO_JSON_EACH(row, names)
    {
        const char *name = lpo_json_text(lpo_json_get(row, "name"), "");

        if (f->sure_only && !lpo_json_bool(lpo_json_get(row, "sure"), false))
            continue;
        of++;
        right +=
            has(lpo_json_get(row, "classes"), lpo_region_class_name(lpo_region_kernel_class(name)));
    }
    assert_int_equal(of, f->of);
    assert_true(right >= f->right);
}

int main(void)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_err err = { 0 };
    struct unit u = { 0 };

    if (lpo_json_read_file(
            a, lpo_path_join(a, unit_env("LPO_SOURCE_ROOT", "."), "tests/data/classes/names.json"),
            &names, &err) < 0)
        return 1;
    UNIT_ROWS(&u, floors, check_floor);
    return unit_run(&u);
}
