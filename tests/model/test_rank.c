/* SPDX-License-Identifier: Apache-2.0 */
/* One rank's part of what tensor parallelism divides, and products that do not wrap. */
#include "../unit.h"
#include "model/count.h"
#include "model/rank.h"

static const struct rank_case {
    const char *name;
    uint64_t n, ways, tp, want, pieces;
} ranks[] = {
    { "one rank has all", 100, 8, 1, 100, 8 },
    { "no rank count is one rank", 100, 8, 0, 100, 8 },
    { "divides evenly", 64, 8, 4, 16, 2 },
    { "the busiest of uneven ranks", 80, 10, 4, 24, 3 },
    { "more ranks than pieces: one each", 64, 2, 8, 32, 1 },
    { "cannot be divided: every rank does all", 64, 1, 8, 64, 1 },
    { "a rest is rounded up", 101, 4, 2, 51, 2 },
    { "what saturated stays so", LPO_COUNT_MAX, 8, 4, LPO_COUNT_MAX, 2 },
    { "close to the end of 64 bits", LPO_COUNT_MAX - 1, 2, 2, LPO_COUNT_MAX / 2, 1 },
};

static void check_rank(void **state)
{
    const struct rank_case *c = *state;

    assert_int_equal(lpo_model_rank_count(c->n, c->ways, c->tp), c->want);
    assert_int_equal(lpo_model_rank_pieces(c->ways, c->tp), c->pieces);
}

static const struct count_case {
    const char *name;
    uint64_t a, b, product, sum;
} counts[] = {
    { "small", 3, 4, 12, 7 },
    { "a product beyond 64 bits", (uint64_t)1 << 40, (uint64_t)1 << 30, LPO_COUNT_MAX,
      ((uint64_t)1 << 40) + ((uint64_t)1 << 30) },
    { "a sum beyond 64 bits", LPO_COUNT_MAX - 1, 2, LPO_COUNT_MAX, LPO_COUNT_MAX },
    { "nothing times too much", 0, LPO_COUNT_MAX, 0, LPO_COUNT_MAX },
};

static void check_count(void **state)
{
    const struct count_case *c = *state;

    assert_int_equal(lpo_model_mul(c->a, c->b), c->product);
    assert_int_equal(lpo_model_add(c->a, c->b), c->sum);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, ranks, check_rank);
    UNIT_ROWS(&u, counts, check_count);
    return unit_run(&u);
}
