/* SPDX-License-Identifier: Apache-2.0 */
/* util/units.h - numbers with units, for people and from people. */
#pragma once

#include "util/base.h"

/* "1.234 ms", "56 ns": four significant digits, the unit that keeps the number readable. */
void lpo_units_add_duration(struct lpo_str *s, int64_t ns);
/* "1.500 GiB" (binary), "312 B". */
void lpo_units_add_bytes(struct lpo_str *s, double bytes);
/* "989.4 TFLOP", "12.3 G": decimal prefixes before `unit`. */
void lpo_units_add_si(struct lpo_str *s, double value, const char *unit);
/* "12.3 %"; "<0.1 %" for what is there and would read as nothing. */
void lpo_units_add_percent(struct lpo_str *s, double percent);
/* Digits in groups of three: "1,234,567". */
void lpo_units_add_count(struct lpo_str *s, uint64_t n);

/* "2s", "150ms", "3m", "1h", "0.5s" to nanoseconds. A bare number is refused. */
int lpo_units_parse_duration(const char *text, int64_t *ns, struct lpo_err *err);
