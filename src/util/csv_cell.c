/* SPDX-License-Identifier: Apache-2.0 */
/* What a cell says: text, numbers as ncu and nsys print them. */
#include "util/csv.h"

#include <float.h>

bool lpo_csv_cell_is(struct lpo_csv_cell cell, const char *text)
{
    size_t len = strlen(text);

    return cell.len == len && memcmp(cell.at, text, len) == 0;
}

const char *lpo_csv_cell_text(struct lpo_csv_cell cell, struct lpo_str *to)
{
    lpo_str_clear(to);
    if (!cell.doubled)
        lpo_str_addn(to, cell.at, cell.len);
    for (size_t i = 0; cell.doubled && i < cell.len; i++) {
        lpo_str_addc(to, cell.at[i]);
        if (cell.at[i] == '"' && i + 1 < cell.len && cell.at[i + 1] == '"')
            i++;
    }
    return lpo_str_text(to);
}

/* A decimal number taken apart: value = digits * 10^-decimals * 10^exponent. */
struct decimal {
    uint64_t digits; /* the first 19 significant ones */
    int decimals;    /* of `digits`; negative when digits before the point were left out */
    int exponent;
    bool negative, inexact; /* inexact: more digits than fit */
    const char *end;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const char *scan_digits(const char *p, const char *end, struct decimal *d, bool *any)
{
    bool point = false;

    for (; p < end; p++) {
        if (*p == '.' && !point) {
            point = true;
        } else if (is_digit(*p)) {
            *any = true;
            if (d->digits < UINT64_MAX / 10 - 1) {
                d->digits = d->digits * 10 + (uint64_t)(*p - '0');
                d->decimals += point;
            } else {
                d->inexact |= *p != '0';
                d->decimals -= !point;
            }
        } else if (*p != ',' || !*any || point) {
            break; /* a comma between digits is a separator */
        }
    }
    return p;
}

static const char *scan_exponent(const char *p, const char *end, struct decimal *d)
{
    const char *q = p + 1;
    bool minus = false;
    int e = 0;

    if (p >= end || (*p != 'e' && *p != 'E'))
        return p;
    if (q < end && (*q == '+' || *q == '-'))
        minus = *q++ == '-';
    if (q >= end || !is_digit(*q))
        return p;
    for (; q < end && is_digit(*q); q++)
        e = e < 10000 ? e * 10 + (*q - '0') : e;
    d->exponent = minus ? -e : e;
    return q;
}

static bool scan_decimal(struct lpo_csv_cell cell, struct decimal *d)
{
    const char *p = cell.at, *end = cell.at + cell.len;
    bool any = false;

    *d = (struct decimal){ 0 };
    while (p < end && *p == ' ')
        p++;
    if (p < end && (*p == '-' || *p == '+'))
        d->negative = *p++ == '-';
    p = scan_digits(p, end, d, &any);
    if (!any)
        return false;
    p = scan_exponent(p, end, d);
    while (p < end && *p == ' ')
        p++;
    d->end = p;
    return p == end || *p == '(';
}

static double slow_number(const struct lpo_csv_cell cell)
{
    char text[128];
    size_t n = 0;

    for (size_t i = 0; i < cell.len && n + 1 < sizeof text && cell.at[i] != '('; i++) {
        if (cell.at[i] != ',')
            text[n++] = cell.at[i];
    }
    text[n] = '\0';
    return strtod(text, NULL);
}

const double lpo_csv_cell_tens[19] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8, 1e9,
                                       1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18 };

/* Up to 19 digits divided with 64 bits of mantissa: rounding that to a double gives the nearest
 * unless it lies just between two. False then, and where there are no more bits than a double's. */
static bool wide_number(const struct decimal *d, int power, double *out)
{
#if LDBL_MANT_DIG == 64
    long double v = (long double)d->digits;
    uint64_t mantissa;

    v = power < 0 ? v / lpo_csv_cell_tens[-power] : v * lpo_csv_cell_tens[power];
    memcpy(&mantissa, &v, sizeof mantissa);
    *out = (double)v;
    return (mantissa & 0x7ff) != 0x400;
#else
    (void)d, (void)power, (void)out;
    return false;
#endif
}

bool lpo_csv_cell_number_slow(struct lpo_csv_cell cell, double *out)
{
    struct decimal d;
    int power;
    bool small;

    if (!scan_decimal(cell, &d))
        return false;
    power = d.exponent - d.decimals;
    small = !d.inexact && power >= -18 && power <= 18;
    if (small && d.digits < (uint64_t)1 << 53)
        *out = power < 0 ? (double)d.digits / lpo_csv_cell_tens[-power]
                         : (double)d.digits * lpo_csv_cell_tens[power];
    else if (!small || !wide_number(&d, power, out))
        *out = slow_number(cell) * (d.negative ? -1 : 1);
    if (d.negative)
        *out = -*out;
    return true;
}

bool lpo_csv_cell_scaled(struct lpo_csv_cell cell, int power, int64_t *out)
{
    struct decimal d;
    uint64_t v;
    int shift;

    if (!scan_decimal(cell, &d) || d.end != cell.at + cell.len)
        return false;
    v = d.digits;
    shift = power + d.exponent - d.decimals;
    for (; shift > 0 && v; shift--) {
        if (__builtin_mul_overflow(v, (uint64_t)10, &v))
            return false;
    }
    for (; shift < 0 && v; shift++)
        v = v / 10 + (shift == -1 && v % 10 >= 5);
    if (v > INT64_MAX)
        return false;
    *out = d.negative ? -(int64_t)v : (int64_t)v;
    return true;
}

bool lpo_csv_cell_int(struct lpo_csv_cell cell, int64_t *out)
{
    struct decimal d;

    if (!scan_decimal(cell, &d) || d.decimals || d.exponent || d.inexact || d.digits > INT64_MAX ||
        d.end != cell.at + cell.len)
        return false;
    *out = d.negative ? -(int64_t)d.digits : (int64_t)d.digits;
    return true;
}

bool lpo_csv_cell_three(struct lpo_csv_cell cell, uint32_t out[3])
{
    const char *p = cell.at, *end = cell.at + cell.len;

    for (int i = 0; i < 3; i++) {
        uint64_t v = 0;

        while (p < end && !is_digit(*p))
            p++;
        if (p == end)
            return false;
        for (; p < end && is_digit(*p); p++)
            v = v < UINT32_MAX ? v * 10 + (uint64_t)(*p - '0') : v;
        out[i] = v < UINT32_MAX ? (uint32_t)v : UINT32_MAX;
    }
    return true;
}
