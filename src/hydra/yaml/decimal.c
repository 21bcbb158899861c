#include "hydra/yaml/decimal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PRECISION 28

static struct lpo_decimal from_text(const char *text)
{
    struct lpo_decimal d = { .negative = *text == '-' };
    const char *p = text + (*text == '-'), *point = strchr(p, '.');
    size_t whole = point ? (size_t)(point - p) : strlen(p);
    size_t at = LPO_DEC_WHOLE - whole;

    for (; *p && at < LPO_DEC_DIGITS; p++)
        if (*p != '.')
            d.digit[at++] = (uint8_t)(*p - '0');
    return d;
}

struct lpo_decimal lpo_yaml_decimal_of(double d)
{
    char text[LPO_DEC_DIGITS + 8];
    snprintf(text, sizeof text, "%.*f", LPO_DEC_FRACTION, d); /* exact in glibc */
    return from_text(text);
}

struct lpo_decimal lpo_yaml_decimal_of_int(int64_t i)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, i);
    return from_text(text);
}

static int compare_size(const struct lpo_decimal *x, const struct lpo_decimal *y)
{
    return memcmp(x->digit, y->digit, LPO_DEC_DIGITS);
}

static bool is_zero(const struct lpo_decimal *x)
{
    for (int i = 0; i < LPO_DEC_DIGITS; i++)
        if (x->digit[i])
            return false;
    return true;
}

int lpo_yaml_decimal_compare(const struct lpo_decimal *x, const struct lpo_decimal *y)
{
    bool xn = x->negative && !is_zero(x), yn = y->negative && !is_zero(y);

    if (xn != yn)
        return xn ? -1 : 1;
    return xn ? compare_size(y, x) : compare_size(x, y);
}

/* Adds one to the digit at `i` and carries. */
static void increment(struct lpo_decimal *x, int i)
{
    for (; i >= 0 && ++x->digit[i] == 10; i--)
        x->digit[i] = 0;
}

static void round_off(struct lpo_decimal *x)
{
    int first = 0;
    while (first < LPO_DEC_DIGITS && !x->digit[first])
        first++;
    int cut = first + PRECISION; /* the first digit to go */
    if (cut >= LPO_DEC_DIGITS)
        return;

    bool above = false; /* anything after the cut digit */
    for (int i = cut + 1; i < LPO_DEC_DIGITS && !above; i++)
        above = x->digit[i] != 0;
    uint8_t d = x->digit[cut];
    bool up = d > 5 || (d == 5 && (above || x->digit[cut - 1] % 2));
    memset(x->digit + cut, 0, (size_t)(LPO_DEC_DIGITS - cut));
    if (up)
        increment(x, cut - 1);
}

static void add_digits(struct lpo_decimal *x, const struct lpo_decimal *y)
{
    int carry = 0;
    for (int i = LPO_DEC_DIGITS - 1; i >= 0; i--) {
        int sum = x->digit[i] + y->digit[i] + carry;
        carry = sum >= 10;
        x->digit[i] = (uint8_t)(sum - 10 * carry);
    }
}

/* y is not larger than x. */
static void subtract_digits(struct lpo_decimal *x, const struct lpo_decimal *y)
{
    int borrow = 0;
    for (int i = LPO_DEC_DIGITS - 1; i >= 0; i--) {
        int left = x->digit[i] - y->digit[i] - borrow;
        borrow = left < 0;
        x->digit[i] = (uint8_t)(left + 10 * borrow);
    }
}

struct lpo_decimal lpo_yaml_decimal_add(const struct lpo_decimal *x, const struct lpo_decimal *y)
{
    bool swap = compare_size(x, y) < 0;
    struct lpo_decimal sum = swap ? *y : *x;
    const struct lpo_decimal *other = swap ? x : y;

    if (x->negative == y->negative)
        add_digits(&sum, other);
    else
        subtract_digits(&sum, other);
    round_off(&sum);
    if (is_zero(&sum))
        sum.negative = x->negative && y->negative;
    return sum;
}

double lpo_yaml_decimal_real(const struct lpo_decimal *x)
{
    char text[LPO_DEC_DIGITS + 16], *p = text;
    int first = 0, last = LPO_DEC_DIGITS;

    while (first < last && !x->digit[first])
        first++;
    while (last > first && !x->digit[last - 1])
        last--;
    *p++ = x->negative ? '-' : '+';
    *p++ = '0';
    for (int i = first; i < last; i++)
        *p++ = (char)('0' + x->digit[i]);
    snprintf(p, 12, "e%d", LPO_DEC_WHOLE - last);
    return strtod(text, NULL);
}
