/* SPDX-License-Identifier: Apache-2.0 */
#include "../unit.h"

#include "util/arena.h"
#include "util/vec.h"

static const struct size_case {
    const char *name;
    size_t size, count;
} sizes[] = {
    { "nothing", 0, 100 },
    { "bytes", 1, 10000 },
    { "odd sizes", 13, 10000 },
    { "pages", 4096, 200 },
    { "larger than a block", 3 << 20, 5 },
};

static void check_sizes(void **state)
{
    const struct size_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    unsigned char *last = NULL;

    for (size_t i = 0; i < c->count; i++) {
        unsigned char *p = lpo_arena_alloc(a, c->size);

        assert_non_null(p);
        assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
        for (size_t k = 0; k < c->size; k++)
            assert_int_equal(p[k], 0);
        memset(p, 0xaa, c->size);
        if (last && c->size)
            assert_int_equal(last[c->size - 1], 0xaa); /* the one before is untouched */
        last = p;
    }
}

static void text_is_copied(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    char text[] = "layer 12";
    char *whole = lpo_arena_strdup(a, text), *part = lpo_arena_strndup(a, text, 5);

    (void)state;
    text[0] = 'X';
    assert_string_equal(whole, "layer 12");
    assert_string_equal(part, "layer");
    assert_string_equal(lpo_arena_printf(a, "%s-%d", part, 7), "layer-7");
}

static void arrays_grow(void **state)
{
    LPO_VEC(int) v = { 0 };

    (void)state;
    for (int i = 0; i < 100000; i++)
        lpo_vec_push(&v, i);
    for (int i = 0; i < 100000; i++)
        assert_int_equal(v.at[i], i);
    lpo_vec_reserve(&v, 10);
    assert_int_equal(v.len, 100000);
    lpo_vec_free(&v);
    assert_true(v.len == 0 && v.cap == 0 && !v.at);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, sizes, check_sizes);
    UNIT_TEST(&u, text_is_copied);
    UNIT_TEST(&u, arrays_grow);
    return unit_run(&u);
}
