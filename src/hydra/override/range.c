/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of a range sweep.
 *
 * Hydra walks range(0,1,0.1) in Python's decimal module with 28 digits, not in binary floats; which
 * values come out, and whether the last one is below the end, depends on that rounding. */
#include "hydra/override/range.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hydra/node.h"
#include "hydra/override/sweep.h"
#include "hydra/yaml/pytext.h"
#include "util/arena.h"
#include "util/str.h"

/* Decimals */

#define PRECISION 28
#define WHOLE     320  /* digits before the point: any double, and sums of two */
#define FRACTION  1080 /* digits after it: any double exactly */
#define DIGITS    (WHOLE + FRACTION)

/* A finite number. */
struct decimal {
    bool negative;
    uint8_t digit[DIGITS]; /* the largest first */
};

static struct decimal from_text(const char *text)
{
    struct decimal d = { .negative = *text == '-' };
    const char *p = text + (*text == '-'), *point = strchr(p, '.');
    size_t whole = point ? (size_t)(point - p) : strlen(p);
    size_t at = WHOLE - whole;

    for (; *p && at < DIGITS; p++)
        if (*p != '.')
            d.digit[at++] = (uint8_t)(*p - '0');
    return d;
}

static struct decimal decimal_of(double d)
{
    char text[DIGITS + 8];
    snprintf(text, sizeof text, "%.*f", FRACTION, d); /* exact in glibc */
    return from_text(text);
}

static struct decimal decimal_of_int(int64_t i)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, i);
    return from_text(text);
}

static int compare_size(const struct decimal *x, const struct decimal *y)
{
    return memcmp(x->digit, y->digit, DIGITS);
}

static bool is_zero(const struct decimal *x)
{
    for (int i = 0; i < DIGITS; i++)
        if (x->digit[i])
            return false;
    return true;
}

static int decimal_compare(const struct decimal *x, const struct decimal *y)
{
    bool xn = x->negative && !is_zero(x), yn = y->negative && !is_zero(y);

    if (xn != yn)
        return xn ? -1 : 1;
    return xn ? compare_size(y, x) : compare_size(x, y);
}

/* Adds one to the digit at `i` and carries. */
static void increment(struct decimal *x, int i)
{
    for (; i >= 0 && ++x->digit[i] == 10; i--)
        x->digit[i] = 0;
}

static void round_off(struct decimal *x)
{
    int first = 0;
    while (first < DIGITS && !x->digit[first])
        first++;
    int cut = first + PRECISION; /* the first digit to go */
    if (cut >= DIGITS)
        return;

    bool above = false; /* anything after the cut digit */
    for (int i = cut + 1; i < DIGITS && !above; i++)
        above = x->digit[i] != 0;
    uint8_t d = x->digit[cut];
    bool up = d > 5 || (d == 5 && (above || x->digit[cut - 1] % 2));
    memset(x->digit + cut, 0, (size_t)(DIGITS - cut));
    if (up)
        increment(x, cut - 1);
}

static void add_digits(struct decimal *x, const struct decimal *y)
{
    int carry = 0;
    for (int i = DIGITS - 1; i >= 0; i--) {
        int sum = x->digit[i] + y->digit[i] + carry;
        carry = sum >= 10;
        x->digit[i] = (uint8_t)(sum - 10 * carry);
    }
}

/* y is not larger than x. */
static void subtract_digits(struct decimal *x, const struct decimal *y)
{
    int borrow = 0;
    for (int i = DIGITS - 1; i >= 0; i--) {
        int left = x->digit[i] - y->digit[i] - borrow;
        borrow = left < 0;
        x->digit[i] = (uint8_t)(left + 10 * borrow);
    }
}

/* Exact sum, then rounded to 28 digits, halves to the even digit. */
static struct decimal decimal_add(const struct decimal *x, const struct decimal *y)
{
    bool swap = compare_size(x, y) < 0;
    struct decimal sum = swap ? *y : *x;
    const struct decimal *other = swap ? x : y;

    if (x->negative == y->negative)
        add_digits(&sum, other);
    else
        subtract_digits(&sum, other);
    round_off(&sum);
    if (is_zero(&sum))
        sum.negative = x->negative && y->negative;
    return sum;
}

static double decimal_real(const struct decimal *x)
{
    char text[DIGITS + 16], *p = text;
    int first = 0, last = DIGITS;

    while (first < last && !x->digit[first])
        first++;
    while (last > first && !x->digit[last - 1])
        last--;
    *p++ = x->negative ? '-' : '+';
    *p++ = '0';
    for (int i = first; i < last; i++)
        *p++ = (char)('0' + x->digit[i]);
    snprintf(p, 12, "e%d", WHOLE - last);
    return strtod(text, NULL);
}

/* Ranges */

static int fail(struct lpo_range_fault *fault, const char *type, const char *message)
{
    *fault = (struct lpo_range_fault){ type, message };
    return -1;
}

static int endless(struct lpo_range_fault *fault)
{
    return fail(fault, NULL, "the range has more than 100,000 values");
}

static int not_a_number(struct lpo_range_fault *fault)
{
    return fail(fault, "InvalidOperation", "[<class 'decimal.InvalidOperation'>]");
}

static int64_t as_int(const struct lpo_node *n)
{
    return n->kind == LPO_NODE_BOOL ? n->boolean : n->integer;
}

static double as_real(const struct lpo_node *n)
{
    switch (n->kind) {
    case LPO_NODE_FLOAT:
        return n->real;
    case LPO_NODE_BIGINT:
        return strtod(n->text, NULL);
    default:
        return (double)as_int(n);
    }
}

static struct decimal as_decimal(const struct lpo_node *n)
{
    return n->kind == LPO_NODE_INT || n->kind == LPO_NODE_BOOL ? decimal_of_int(as_int(n))
                                                               : decimal_of(as_real(n));
}

static int int_values(struct lpo_arena *a, const struct lpo_sweep *r, struct lpo_node *list,
                      struct lpo_range_fault *fault)
{
    int64_t at = as_int(r->start), stop = as_int(r->stop), step = as_int(r->step);

    if (step == 0)
        return fail(fault, "ValueError", "range() arg 3 must not be zero");
    while (step > 0 ? at < stop : at > stop) {
        if (list->count == LPO_SWEEP_MAX_VALUES)
            return endless(fault);
        lpo_node_push(a, list, lpo_node_int(a, at));
        if (__builtin_add_overflow(at, step, &at))
            break;
    }
    return 0;
}

/* One of the three is infinite: at most one value, or no end. */
static int infinite_values(struct lpo_arena *a, double start, double stop, double step,
                           struct lpo_node *list, struct lpo_range_fault *fault)
{
    if (step > 0 ? !(start < stop) : !(start > stop))
        return 0;
    if (isinf(start) && isinf(step))
        return not_a_number(fault);
    if (isinf(start) || !isinf(step))
        return endless(fault);
    lpo_node_push(a, list, lpo_node_float(a, start));
    return 0;
}

static int zero_step(struct lpo_arena *a, const struct lpo_sweep *r, struct lpo_range_fault *fault)
{
    LPO_STR s = { 0 };
    const struct lpo_node *const parts[] = { r->start, r->stop, r->step };
    static const char *const names[] = { "(start:", ", stop:", ", step:" };

    lpo_str_add(&s, "Invalid range values ");
    for (int i = 0; i < 3; i++)
        lpo_str_addf(&s, "%s%.17g", names[i], as_real(parts[i]));
    lpo_str_add(&s, ")");
    return fail(fault, "HydraException", lpo_arena_strdup(a, lpo_str_text(&s)));
}

static int float_values(struct lpo_arena *a, const struct lpo_sweep *r, struct lpo_node *list,
                        struct lpo_range_fault *fault)
{
    double start = as_real(r->start), stop = as_real(r->stop), step = as_real(r->step);

    if (step == 0)
        return zero_step(a, r, fault);
    if (isnan(start) || isnan(stop) || isnan(step))
        return not_a_number(fault);
    if (isinf(start) || isinf(stop) || isinf(step))
        return infinite_values(a, start, stop, step, list, fault);

    if (stop / step - start / step > 2.0 * LPO_SWEEP_MAX_VALUES)
        return endless(fault);
    struct decimal at = as_decimal(r->start), end = as_decimal(r->stop);
    struct decimal by = as_decimal(r->step);
    for (;;) {
        int order = decimal_compare(&at, &end);
        if (step > 0 ? order >= 0 : order <= 0)
            return 0;
        if (list->count == LPO_SWEEP_MAX_VALUES)
            return endless(fault);
        lpo_node_push(a, list, lpo_node_float(a, decimal_real(&at)));
        struct decimal next = decimal_add(&at, &by);
        if (decimal_compare(&next, &at) == 0) /* the step is lost in rounding */
            return endless(fault);
        at = next;
    }
}

static bool is_int(const struct lpo_node *n)
{
    return n->kind == LPO_NODE_INT || n->kind == LPO_NODE_BOOL;
}

int lpo_override_range_values(struct lpo_arena *a, const struct lpo_sweep *range,
                              struct lpo_node **out, struct lpo_range_fault *fault)
{
    struct lpo_node *list = lpo_node_list(a);
    const struct lpo_sweep *r = range;
    bool floats = r->start->kind == LPO_NODE_FLOAT || r->stop->kind == LPO_NODE_FLOAT ||
                  r->step->kind == LPO_NODE_FLOAT;
    bool big = !floats && !(is_int(r->start) && is_int(r->stop) && is_int(r->step));
    int rc;

    *out = list;
    if (big)
        return fail(fault, NULL, "the range is beyond 64 bits");
    rc = floats ? float_values(a, r, list, fault) : int_values(a, r, list, fault);
    return rc;
}
