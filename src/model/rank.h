/* SPDX-License-Identifier: Apache-2.0 */
/* model/rank.h - one rank's part of what tensor parallelism divides.
 *
 * A tensor or an operation can be cut into `ways` equal pieces and no finer (a head, a column). A
 * rank takes whole pieces. Where the pieces do not divide evenly, the busiest rank is
 * counted, because the others wait for it; with more ranks than pieces each has one, some of them
 * copies. */
#pragma once

#include "model/count.h"

/* Pieces of the busiest of `tp` ranks: at least one. */
static inline uint64_t lpo_model_rank_pieces(uint64_t ways, uint64_t tp)
{
    if (ways < 2 || tp < 2)
        return ways ? ways : 1;
    return ways / tp + (ways % tp != 0);
}

/* Its part of a whole number, rounded up; what saturated stays so. */
static inline uint64_t lpo_model_rank_count(uint64_t n, uint64_t ways, uint64_t tp)
{
    uint64_t pieces = lpo_model_rank_pieces(ways, tp), rest;

    if (ways < 2 || pieces == ways || n == LPO_COUNT_MAX)
        return n;
    rest = lpo_model_mul(n % ways, pieces);
    return n / ways * pieces + rest / ways + (rest % ways != 0);
}

/* The same for a mean or for bytes, not rounded. */
static inline double lpo_model_rank_real(double n, uint64_t ways, uint64_t tp)
{
    return ways > 1 ? n * ((double)lpo_model_rank_pieces(ways, tp) / (double)ways) : n;
}
