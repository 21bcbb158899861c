/* SPDX-License-Identifier: Apache-2.0 */
/* The hash tables: the same keys through all three, in patterns that real ids and names have. */
#include "../unit.h"

#include "util/map.h"

static uint64_t counted(uint64_t i)
{
    return i;
}

static uint64_t shifted(uint64_t i)
{
    return i << 24; /* as nsys packs process ids */
}

static uint64_t pointers(uint64_t i)
{
    return 0x7f0000000000u + i * 64; /* graph nodes */
}

static uint64_t scattered(uint64_t i)
{
    return i * 0x9e3779b97f4a7c15u;
}

static uint64_t from_the_top(uint64_t i)
{
    return UINT64_MAX - i;
}

static const struct map_case {
    const char *name;
    uint64_t (*key)(uint64_t i);
    size_t count;
} cases[] = {
    { "none", counted, 0 },
    { "one", counted, 1 },
    { "up to the first growth", counted, 12 },
    { "numbers in a row", counted, 50000 },
    { "multiples of a power of two", shifted, 50000 },
    { "addresses", pointers, 50000 },
    { "anything", scattered, 50000 },
    { "the largest numbers", from_the_top, 50000 },
};

static void check_text(void **state)
{
    const struct map_case *c = *state;
    LPO_AUTO(lpo_map) m = lpo_map_create();
    uint64_t other = c->key(c->count), key;
    size_t len;
    bool fresh;

    for (uint64_t i = 0; i < c->count; i++) {
        key = c->key(i);
        *lpo_map_put(m, (const char *)&key, sizeof key, &fresh) = i;
        assert_true(fresh);
    }
    for (uint64_t i = 0; i < c->count; i++) {
        key = c->key(i);
        assert_int_equal(*lpo_map_find(m, (const char *)&key, sizeof key), i);
        assert_int_equal(*lpo_map_put(m, (const char *)&key, sizeof key, &fresh), i);
        assert_false(fresh);
        assert_int_equal(lpo_map_value(m, i), i); /* the order of insertion */
        assert_memory_equal(lpo_map_key(m, i, &len), &key, sizeof key);
        assert_int_equal(len, sizeof key);
    }
    assert_null(lpo_map_find(m, (const char *)&other, sizeof other));
    assert_int_equal(lpo_map_count(m), c->count);
}

static void check_number(void **state)
{
    const struct map_case *c = *state;
    size_t expected[] = { 0, c->count };

    for (size_t k = 0; k < 2; k++) {
        LPO_AUTO(lpo_map_u64) m = lpo_map_u64_create(expected[k]);
        bool fresh;

        for (uint64_t i = 0; i < c->count; i++) {
            uint32_t *value = lpo_map_u64_put(m, c->key(i), &fresh);

            assert_true(fresh && *value == UINT32_MAX);
            *value = (uint32_t)i;
        }
        for (uint64_t i = 0; i < c->count; i++) {
            lpo_map_u64_prefetch(m, c->key(i));
            assert_int_equal(*lpo_map_u64_find(m, c->key(i)), i);
            assert_int_equal(*lpo_map_u64_put(m, c->key(i), &fresh), i);
            assert_false(fresh);
        }
        assert_null(lpo_map_u64_find(m, c->key(c->count)));
        assert_int_equal(lpo_map_u64_count(m), c->count);
    }
}

/* Both halves of a key count, and their order. */
static void check_pair(void **state)
{
    const struct map_case *c = *state;
    struct lpo_map_pair m = { 0 };
    bool fresh;

    for (uint64_t i = 0; i < c->count; i++) {
        assert_int_equal(lpo_map_pair_put(&m, c->key(i), 3, &fresh), 2 * i);
        assert_true(fresh);
        assert_int_equal(lpo_map_pair_put(&m, 1 + c->key(i) % 2, c->key(i) ^ 1ull << 63, &fresh),
                         2 * i + 1);
        assert_true(fresh);
    }
    for (uint64_t i = 0; i < c->count; i++) {
        assert_int_equal(lpo_map_pair_put(&m, c->key(i), 3, &fresh), 2 * i);
        assert_false(fresh);
    }
    assert_int_equal(m.count, 2 * c->count);
    lpo_map_pair_free(&m);
}

static void empty_text_and_nul_bytes_are_keys(void **state)
{
    LPO_AUTO(lpo_map) m = lpo_map_create();

    (void)state;
    *lpo_map_put(m, "", 0, NULL) = 1;
    *lpo_map_put(m, "\0", 1, NULL) = 2;
    *lpo_map_put(m, "a\0b", 3, NULL) = 3;
    *lpo_map_put(m, "a", 1, NULL) = 4;
    assert_int_equal(*lpo_map_find(m, "", 0), 1);
    assert_int_equal(*lpo_map_find(m, "\0", 1), 2);
    assert_int_equal(*lpo_map_find(m, "a\0b", 3), 3);
    assert_int_equal(*lpo_map_find(m, "a", 1), 4);
    assert_null(lpo_map_find(m, "a\0", 2));
}

static void destroying_none_is_fine(void **state)
{
    (void)state;
    lpo_map_destroy(NULL);
    lpo_map_u64_destroy(NULL);
    lpo_map_pair_free(&(struct lpo_map_pair){ 0 });
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check_text);
    UNIT_ROWS(&u, cases, check_number);
    UNIT_ROWS(&u, cases, check_pair);
    UNIT_TEST(&u, empty_text_and_nul_bytes_are_keys);
    UNIT_TEST(&u, destroying_none_is_fine);
    return unit_run(&u);
}
