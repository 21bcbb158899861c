/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations of a Llama on an H200, as torch 2.11 wrote them (tests/data/kineto). The figures were
 * added up from the JSON apart from lpo. */
#include "../unit.h"

#include "trace/memory.h"
#include "util/err.h"

static const struct peak_case {
    const char *name;
    int64_t type, device;
    uint64_t allocations, frees;
    double allocated, reserved;
    int64_t largest;
} cases[] = {
    { "the GPU", 1, 0, 357, 356, 214757376, 239075328, 65536000 },
    { "the host", 0, -1, 31, 31, 512, 0, 512 },
};

static void check_peak(void **state)
{
    const struct peak_case *c = *state;
    struct lpo_kineto_memory memory = { 0 };
    struct lpo_err err = { 0 };
    const struct lpo_memory_peak *found = NULL;
    char path[1024];

    snprintf(path, sizeof path, "%s/tests/data/kineto/h200_llama_memory.json.gz",
             unit_env("LPO_SOURCE_ROOT", "."));
    assert_true(lpo_kineto_has_memory(path));
    if (lpo_kineto_memory(path, &memory, &err) < 0)
        fail_msg("%s", lpo_err_cause(&err));
    for (size_t i = 0; i < memory.rows.len; i++)
        if (memory.rows.at[i].type == c->type && memory.rows.at[i].device == c->device)
            found = &memory.rows.at[i];
    assert_non_null(found);
    assert_int_equal(found->allocations, c->allocations);
    assert_int_equal(found->frees, c->frees);
    assert_true(lpo_measure_known(found->allocated) && found->allocated.value == c->allocated);
    assert_true(lpo_measure_known(found->reserved) && found->reserved.value == c->reserved);
    assert_int_equal(found->largest_bytes, c->largest);
    lpo_kineto_memory_free(&memory);
}

/* An event without a name is no allocation, and a total that is not there is not 0. */
static void what_is_not_said_is_not_counted(void **state)
{
    static const char text[] =
        "{\"traceEvents\": [{\"ph\": \"i\", \"ts\": 1, \"args\": {\"Bytes\": 4}}, "
        "{\"ph\": \"i\", \"name\": \"[memory]\", \"ts\": 2, \"args\": {\"Device Type\": 6, "
        "\"Device Id\": 0, \"Bytes\": 8, \"Total Allocated\": 16}}]}";
    struct lpo_kineto_memory memory = { 0 };
    struct lpo_err err = { 0 };
    char path[UNIT_PATH];

    (void)state;
    unit_file(text, sizeof text - 1, path);
    assert_int_equal(lpo_kineto_memory(path, &memory, &err), 0);
    unlink(path);
    assert_int_equal(memory.events, 1);
    assert_int_equal(memory.rows.len, 1);
    assert_true(memory.rows.at[0].allocated.value == 16);
    assert_false(lpo_measure_known(memory.rows.at[0].reserved));
    assert_string_equal(lpo_kineto_memory_type(memory.rows.at[0].type), "GPU");
    lpo_kineto_memory_free(&memory);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check_peak);
    UNIT_TEST(&u, what_is_not_said_is_not_counted);
    return unit_run(&u);
}
