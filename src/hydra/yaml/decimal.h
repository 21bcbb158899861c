/* hydra/yaml/decimal.h - decimal sums with 28 digits, as Python's decimal module makes them.
 *
 * Hydra walks range(0,1,0.1) in decimals, not in binary floats; which values come out, and whether
 * the last one is below the end, depends on that rounding. Finite numbers only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define LPO_DEC_WHOLE    320  /* digits before the point: any double, and sums of two */
#define LPO_DEC_FRACTION 1080 /* digits after it: any double exactly */
#define LPO_DEC_DIGITS   (LPO_DEC_WHOLE + LPO_DEC_FRACTION)

struct lpo_decimal {
    bool negative;
    uint8_t digit[LPO_DEC_DIGITS]; /* the largest first */
};

struct lpo_decimal lpo_yaml_decimal_of(double d); /* exact */
struct lpo_decimal lpo_yaml_decimal_of_int(int64_t i);
/* Exact sum, then rounded to 28 digits, halves to the even digit. */
struct lpo_decimal lpo_yaml_decimal_add(const struct lpo_decimal *x, const struct lpo_decimal *y);
int lpo_yaml_decimal_compare(const struct lpo_decimal *x,
                             const struct lpo_decimal *y); /* <0, 0, >0 */
double lpo_yaml_decimal_real(const struct lpo_decimal *x); /* the nearest double */
