#include "hydra/override/range.h"

#include <math.h>
#include <stdlib.h>

#include "hydra/node.h"
#include "hydra/override/sweep.h"
#include "hydra/yaml/decimal.h"
#include "hydra/yaml/pytext.h"
#include "util/arena.h"
#include "util/str.h"

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

static struct lpo_decimal as_decimal(const struct lpo_node *n)
{
    return n->kind == LPO_NODE_INT || n->kind == LPO_NODE_BOOL ? lpo_yaml_decimal_of_int(as_int(n))
                                                               : lpo_yaml_decimal_of(as_real(n));
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
    struct lpo_decimal at = as_decimal(r->start), end = as_decimal(r->stop);
    struct lpo_decimal by = as_decimal(r->step);
    for (;;) {
        int order = lpo_yaml_decimal_compare(&at, &end);
        if (step > 0 ? order >= 0 : order <= 0)
            return 0;
        if (list->count == LPO_SWEEP_MAX_VALUES)
            return endless(fault);
        lpo_node_push(a, list, lpo_node_float(a, lpo_yaml_decimal_real(&at)));
        struct lpo_decimal next = lpo_yaml_decimal_add(&at, &by);
        if (lpo_yaml_decimal_compare(&next, &at) == 0) /* the step is lost in rounding */
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
