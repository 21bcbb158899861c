/* SPDX-License-Identifier: Apache-2.0 */
/* Values to try, and the jobs they make.
 *
 * Hydra walks range(0,1,0.1) in Python's decimal module with 28 digits, not in binary floats; which
 * values come out, and whether the last one is below the end, depends on that rounding. */

#include "hydra/node.h"
#include "hydra/override/override.h"
#include "hydra/yaml/yaml.h"

/* --- the numbers of a range sweep ---------------------------------------------------------------
 */

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
    return !lpo_any(i, DIGITS, x->digit[i]);
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
    char text[DIGITS + 24], *p = text;
    int first = 0, last = DIGITS;

    while (first < last && !x->digit[first])
        first++;
    while (last > first && !x->digit[last - 1])
        last--;
    *p++ = x->negative ? '-' : '+';
    *p++ = '0';
    for (int i = first; i < last; i++)
        *p++ = (char)('0' + x->digit[i]);
    snprintf(p, 16, "e%d", WHOLE - last);
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

/* --- shell patterns on names --------------------------------------------------------------------
 */

static size_t char_len(const char *p)
{
    size_t n = lpo_str_utf8_len(p, strnlen(p, 4));
    return n ? n : 1;
}

static int compare(const char *x, size_t xn, const char *y, size_t yn)
{
    int order = memcmp(x, y, xn < yn ? xn : yn); /* the order of code points */
    return order ? order : (int)xn - (int)yn;
}

/* The ']' that closes the set which opens at p, or NULL. */
static const char *set_end(const char *p)
{
    p++;
    if (*p == '!')
        p++;
    if (*p == ']')
        p++; /* as the first character it matches itself */
    return strchr(p, ']');
}

static bool in_set(const char *p, const char *end, const char *c, size_t n)
{
    bool negate = p[1] == '!', found = false;

    p += 1 + negate;
    while (p < end) {
        size_t low = char_len(p);
        if (p + low < end && p[low] == '-' && p + low + 1 < end) {
            const char *to = p + low + 1;
            size_t high = char_len(to);
            found = found || (compare(p, low, c, n) <= 0 && compare(c, n, to, high) <= 0);
            p = to + high;
        } else {
            found = found || compare(p, low, c, n) == 0;
            p += low;
        }
    }
    return found != negate;
}

/* How far the pattern moves when its next piece takes the character at c; 0 when it does not. */
static size_t step(const char *pattern, const char *c, size_t n)
{
    if (*pattern == '?')
        return 1;
    if (*pattern == '[') {
        const char *end = set_end(pattern);
        if (end)
            return in_set(pattern, end, c, n) ? (size_t)(end + 1 - pattern) : 0;
    }
    size_t m = char_len(pattern);
    return *pattern && compare(pattern, m, c, n) == 0 ? m : 0;
}

bool lpo_override_glob_match(const char *pattern, const char *name)
{
    const char *star = NULL, *retry = NULL;

    while (*name) {
        size_t n = char_len(name), moved = *pattern == '*' ? 0 : step(pattern, name, n);
        if (*pattern == '*') {
            star = pattern++;
            retry = name;
        } else if (moved) {
            pattern += moved;
            name += n;
        } else if (star) {
            pattern = star + 1;
            retry += char_len(retry);
            name = retry;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

/* --- the jobs -----------------------------------------------------------------------------------
 */

/* All texts one key takes, in order. */
struct axis {
    const char **texts;
    size_t count;
};

typedef LPO_VEC(struct axis) axis_vec;

static bool any_matches(const struct lpo_node *patterns, const char *name)
{
    return lpo_any(i, patterns->count,
                   patterns->items[i]->kind == LPO_NODE_STRING &&
                       lpo_override_glob_match(patterns->items[i]->text, name));
}

static int glob_values(struct lpo_arena *a, const struct lpo_override *ov,
                       const struct lpo_sweep_options *from, struct lpo_node *out,
                       struct lpo_err *err)
{
    const char **names = NULL;
    size_t count = 0;

    if (!from || !from->list)
        return lpo_fail(err, LPO_E_CONFIG, "glob() needs a config folder to choose from");
    int rc = from->list(from->with, a, ov->key, &names, &count, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < count; i++)
        if (any_matches(ov->sweep->include, names[i]) && !any_matches(ov->sweep->exclude, names[i]))
            lpo_node_push(a, out, lpo_node_string(a, names[i]));
    return 0;
}

/* Every value as a list of nodes; a shuffled sweep in an order drawn anew. Intervals cannot be
 * enumerated. */
static int values_of(struct lpo_arena *a, const struct lpo_override *ov,
                     const struct lpo_sweep_options *from, struct lpo_node **out,
                     struct lpo_err *err)
{
    const struct lpo_sweep *s = ov->sweep;
    struct lpo_node *list = lpo_node_list(a);
    struct lpo_range_fault fault = { 0 };
    int rc = 0;

    if (s->values)
        for (size_t i = 0; i < s->values->count; i++)
            lpo_node_push(a, list, s->values->items[i]);
    else if (s->type == LPO_VALUE_GLOB)
        rc = glob_values(a, ov, from, list, err);
    else if (s->type != LPO_VALUE_RANGE)
        rc = lpo_fail(err, LPO_E_CONFIG,
                      "an interval has no single values to try; use choice(…) or range(…)");
    else if (lpo_override_range_values(a, s, &list, &fault) < 0)
        rc = lpo_fail(err, LPO_E_CONFIG, "%s", fault.message);
    if (rc < 0)
        return lpo_ctx(err, "cannot sweep over '%.200s'", ov->text);
    if (s->shuffle)
        lpo_override_shuffle_items(list);
    *out = list;
    return 0;
}

/* Names out of a glob are written as they are, all else so that the grammar reads it back. */
static const char *item_text(struct lpo_arena *a, const struct lpo_override *ov, const char *key,
                             const struct lpo_node *item)
{
    bool bare = ov->value_type == LPO_VALUE_GLOB;
    return lpo_arena_printf(a, "%s=%s", key, bare ? item->text : lpo_override_value_text(a, item));
}

/* A plain override is an axis with one value: it takes part in the product, and so every job names
 * it.
 * "~key" alone is written as "~key=null", as Hydra rewrites it. */
static int axis_of(struct lpo_arena *a, const struct lpo_override *ov, const char *key,
                   const struct lpo_sweep_options *from, struct axis *out, struct lpo_err *err)
{
    if (!ov->sweep) {
        const char *text = ov->value ? lpo_override_value_text(a, ov->value) : "null";
        out->texts = lpo_arena_array(a, 1, sizeof *out->texts);
        out->texts[0] = lpo_arena_printf(a, "%s=%s", key, text);
        out->count = 1;
        return 0;
    }
    struct lpo_node *values = NULL;
    int rc = values_of(a, ov, from, &values, err);
    if (rc < 0)
        return rc;
    out->texts = lpo_arena_array(a, values->count, sizeof *out->texts);
    out->count = values->count;
    for (size_t i = 0; i < values->count; i++)
        out->texts[i] = item_text(a, ov, key, values->items[i]);
    return 0;
}

/* A key given again takes the place of the first. */
static int add_axis(struct lpo_arena *a, const struct lpo_override *ov,
                    const struct lpo_sweep_options *from, struct lpo_map *places, axis_vec *axes,
                    struct lpo_err *err)
{
    const char *key = lpo_override_key_text(a, ov);
    struct axis axis = { 0 };
    bool fresh;

    int rc = axis_of(a, ov, key, from, &axis, err);
    if (rc < 0)
        return rc;
    uint64_t *place = lpo_map_put(places, key, strlen(key), &fresh);
    if (fresh) {
        *place = axes->len;
        lpo_vec_push(axes, axis);
    } else {
        axes->at[*place] = axis;
    }
    return 0;
}

static int add_params(struct lpo_arena *a, const struct lpo_node *params,
                      const struct lpo_sweep_options *from, struct lpo_map *places, axis_vec *axes,
                      struct lpo_err *err)
{
    if (!params || params->kind == LPO_NODE_NULL)
        return 0;
    if (params->kind != LPO_NODE_MAP)
        return lpo_fail(err, LPO_E_CONFIG, "hydra.sweeper.params has to be a map, not %s",
                        lpo_node_kind_name(params->kind));
    for (size_t i = 0; i < params->npairs; i++) {
        LPO_STR text = { 0 };
        struct lpo_override ov;

        lpo_yaml_py_add_str(&text, params->pairs[i].key);
        lpo_str_addc(&text, '=');
        lpo_yaml_py_add_str(&text, params->pairs[i].value);
        int rc = lpo_override_parse(a, lpo_str_text(&text), &ov, err);
        if (rc == 0)
            rc = add_axis(a, &ov, from, places, axes, err);
        if (rc < 0)
            return lpo_ctx(err, "hydra.sweeper.params");
    }
    return 0;
}

static int count_jobs(const axis_vec *axes, size_t *jobs, struct lpo_err *err)
{
    *jobs = 1;
    for (size_t i = 0; i < axes->len; i++)
        if (__builtin_mul_overflow(*jobs, axes->at[i].count, jobs) || *jobs > LPO_SWEEP_MAX_JOBS)
            return lpo_fail(err, LPO_E_CONFIG, "the sweep has more than %d jobs",
                            LPO_SWEEP_MAX_JOBS);
    return 0;
}

/* Job `num` in mixed radix: the last axis is the lowest digit. */
static void fill_job(struct lpo_arena *a, const axis_vec *axes, size_t num,
                     struct lpo_sweep_job *job)
{
    size_t left = num;

    job->num = num;
    job->count = axes->len;
    job->overrides = lpo_arena_array(a, axes->len, sizeof *job->overrides);
    for (size_t i = axes->len; i-- > 0;) {
        job->overrides[i] = axes->at[i].texts[left % axes->at[i].count];
        left /= axes->at[i].count;
    }
}

static int gather(struct lpo_arena *a, const struct lpo_override *overrides, size_t count,
                  const struct lpo_sweep_options *from, struct lpo_map *places, axis_vec *axes,
                  struct lpo_override_sweep_jobs *out, struct lpo_err *err)
{
    out->hydra = lpo_arena_array(a, count, sizeof *out->hydra);
    for (size_t i = 0; i < count; i++) {
        const struct lpo_override *ov = &overrides[i];
        int rc = 0;

        if (!lpo_override_is_hydra(ov))
            rc = add_axis(a, ov, from, places, axes, err);
        else if (ov->sweep)
            rc = lpo_fail(err, LPO_E_CONFIG,
                          "Sweeping over Hydra's configuration is not supported : '%.200s'",
                          ov->text);
        else
            out->hydra[out->nhydra++] = *ov;
        if (rc < 0)
            return rc;
    }
    return 0;
}

int lpo_override_sweep_jobs(struct lpo_arena *a, const struct lpo_override *overrides, size_t count,
                            const struct lpo_node *params, const struct lpo_sweep_options *from,
                            struct lpo_override_sweep_jobs *out, struct lpo_err *err)
{
    LPO_AUTO(lpo_map) places = lpo_map_create();
    struct lpo_override_sweep_jobs jobs = { 0 };
    LPO_FREED axis_vec axes = { 0 };

    int rc = add_params(a, params, from, places, &axes, err);
    if (rc == 0)
        rc = gather(a, overrides, count, from, places, &axes, &jobs, err);
    if (rc == 0)
        rc = count_jobs(&axes, &jobs.count, err);
    if (rc == 0) {
        jobs.at = lpo_arena_array(a, jobs.count, sizeof *jobs.at);
        for (size_t i = 0; i < jobs.count; i++)
            fill_job(a, &axes, i, &jobs.at[i]);
        *out = jobs;
    }
    return rc;
}
