/* SPDX-License-Identifier: Apache-2.0 */
#include "util/units.h"

#include <errno.h>

struct scale {
    double size;
    const char *name;
};

/* Four significant digits, no exponent, no trailing point. */
static void add_digits(struct lpo_str *s, double v)
{
    double a = fabs(v);
    int decimals = a >= 1000 ? 0 : a >= 100 ? 1 : a >= 10 ? 2 : 3;

    if (a == floor(a) && a < 1000)
        decimals = 0;
    lpo_str_addf(s, "%.*f", decimals, v);
}

static void add_scaled(struct lpo_str *s, double v, const struct scale *scales, size_t n,
                       const char *unit)
{
    const struct scale *best = &scales[n - 1];

    if (!isfinite(v)) {
        lpo_str_add(s, "n/a");
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (fabs(v) >= scales[i].size) {
            best = &scales[i];
            break;
        }
    }
    add_digits(s, v / best->size);
    if (best->name[0] || unit[0])
        lpo_str_addf(s, " %s%s", best->name, unit);
}

void lpo_units_add_duration(struct lpo_str *s, int64_t ns)
{
    static const struct scale scales[] = {
        { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "us" }, { 1, "ns" }
    };

    add_scaled(s, (double)ns, scales, 4, "");
}

void lpo_units_add_bytes(struct lpo_str *s, double bytes)
{
    static const struct scale scales[] = {
        { 0x1p50, "PiB" }, { 0x1p40, "TiB" }, { 0x1p30, "GiB" },
        { 0x1p20, "MiB" }, { 0x1p10, "KiB" }, { 1, "B" },
    };

    add_scaled(s, bytes, scales, 6, "");
}

void lpo_units_add_si(struct lpo_str *s, double value, const char *unit)
{
    static const struct scale scales[] = {
        { 1e18, "E" }, { 1e15, "P" }, { 1e12, "T" }, { 1e9, "G" },
        { 1e6, "M" },  { 1e3, "k" },  { 1, "" },
    };

    add_scaled(s, value, scales, 7, unit);
}

void lpo_units_add_percent(struct lpo_str *s, double percent)
{
    /* "0.0 %" would say that there is nothing */
    if (percent > 0 && percent < 0.05)
        lpo_str_add(s, "<0.1 %");
    else
        lpo_str_addf(s, "%.1f %%", percent);
}

void lpo_units_add_count(struct lpo_str *s, uint64_t n)
{
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%" PRIu64, n);

    for (int i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0)
            lpo_str_addc(s, ',');
        lpo_str_addc(s, digits[i]);
    }
}

int lpo_units_parse_duration(const char *text, int64_t *ns, struct lpo_err *err)
{
    static const struct scale scales[] = { { 1, "ns" },  { 1e3, "us" }, { 1e6, "ms" },
                                           { 1e9, "s" }, { 60e9, "m" }, { 3600e9, "h" } };
    char *end;
    double v;

    errno = 0;
    v = strtod(text, &end);
    if (end == text || !isfinite(v) || v < 0)
        return lpo_fail(err, LPO_E_FORMAT, "'%s' is not a duration (try 2s, 150ms, 5m)", text);
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
        if (strcmp(end, scales[i].name) != 0)
            continue;
        if (v * scales[i].size > 9e18)
            return lpo_fail(err, LPO_E_RANGE, "duration '%s' is too long", text);
        *ns = (int64_t)(v * scales[i].size);
        return 0;
    }
    return lpo_fail(err, LPO_E_FORMAT, "duration '%s' needs a unit: ns, us, ms, s, m or h", text);
}
