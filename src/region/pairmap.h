/* region/pairmap.h - a table from a pair of numbers to a dense row number.
 *
 * util/map keys on text; the region engine looks up pairs of ids once per range and per kernel,
 * where copying keys would cost more than the rest of the work. Rows are numbered as they are
 * first seen. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lpo_pairmap {
    uint64_t (*keys)[2];
    uint32_t *rows; /* row + 1; 0: empty */
    size_t cap, len;
};

/* The row of (a, b); when *fresh it is `next`, which must be the number of rows so far. */
uint32_t lpo_region_pairmap_put(struct lpo_pairmap *m, uint64_t a, uint64_t b, uint32_t next,
                                bool *fresh);
void lpo_region_pairmap_free(struct lpo_pairmap *m);
