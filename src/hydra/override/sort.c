/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/random.h>

#include "hydra/node.h"
#include "hydra/override/override.h"

static bool is_number(const struct lpo_node *n)
{
    return n->kind == LPO_NODE_BOOL || n->kind == LPO_NODE_INT || n->kind == LPO_NODE_BIGINT ||
           n->kind == LPO_NODE_FLOAT;
}

static int bigint_sign(const struct lpo_node *n)
{
    return *n->text == '-' ? -1 : 1;
}

/* Beyond 64 bits only the order matters here: more digits, or larger digits. */
static bool bigint_less(const struct lpo_node *x, const struct lpo_node *y)
{
    int sx = x->kind == LPO_NODE_BIGINT ? bigint_sign(x) : 0;
    int sy = y->kind == LPO_NODE_BIGINT ? bigint_sign(y) : 0;

    if (sx != sy || sx == 0)
        return sx < sy;
    bool smaller = x->len != y->len ? x->len < y->len : memcmp(x->text, y->text, x->len) < 0;
    bool equal = x->len == y->len && memcmp(x->text, y->text, x->len) == 0;
    return !equal && (sx > 0 ? smaller : !smaller);
}

static long double as_real(const struct lpo_node *n)
{
    switch (n->kind) {
    case LPO_NODE_BOOL:
        return n->boolean;
    case LPO_NODE_INT:
        return n->integer;
    case LPO_NODE_FLOAT:
        return n->real;
    default:
        return bigint_sign(n) * powl(10, (long double)(n->len - 1));
    }
}

static bool number_less(const struct lpo_node *x, const struct lpo_node *y)
{
    bool floats = x->kind == LPO_NODE_FLOAT || y->kind == LPO_NODE_FLOAT;
    bool big = x->kind == LPO_NODE_BIGINT || y->kind == LPO_NODE_BIGINT;
    return big && !floats ? bigint_less(x, y) : as_real(x) < as_real(y);
}

/* Python's x < y: 1, 0, or an error when the two cannot be ordered. Hydra keeps a quoted string as
 * an object of its own that has no order, so quoted strings are refused here too. */
static int less(const struct lpo_node *x, const struct lpo_node *y, struct lpo_err *err)
{
    if (is_number(x) && is_number(y))
        return number_less(x, y);
    if (x->kind == LPO_NODE_STRING && y->kind == LPO_NODE_STRING && !x->quote && !y->quote) {
        size_t n = x->len < y->len ? x->len : y->len;
        int order = memcmp(x->text, y->text, n); /* UTF-8 keeps the order of code points */
        return order ? order < 0 : x->len < y->len;
    }
    if (x->kind == LPO_NODE_LIST && y->kind == LPO_NODE_LIST) {
        size_t i = 0;
        while (i < x->count && i < y->count && lpo_node_alike(x->items[i], y->items[i]))
            i++;
        if (i == x->count || i == y->count)
            return x->count < y->count;
        return less(x->items[i], y->items[i], err);
    }
    return lpo_fail(err, LPO_E_CONFIG, "%s and %s cannot be put in order%s",
                    lpo_node_kind_name(x->kind), lpo_node_kind_name(y->kind),
                    x->quote || y->quote ? " (quoted strings inside a list have none)" : "");
}

static void reverse(struct lpo_node **items, size_t count)
{
    for (size_t i = 0; i < count / 2; i++) {
        struct lpo_node *t = items[i];
        items[i] = items[count - 1 - i];
        items[count - 1 - i] = t;
    }
}

/* How many items from the start are in order already; a falling run is turned round. */
static int first_run(struct lpo_node **items, size_t count, size_t *run, struct lpo_err *err)
{
    int falling = count > 1 ? less(items[1], items[0], err) : 0;
    size_t n = count > 1 ? 2 : count;

    for (; falling >= 0 && n < count; n++) {
        int lower = less(items[n], items[n - 1], err);
        if (lower < 0)
            return lower;
        if (lower != falling)
            break;
    }
    if (falling > 0)
        reverse(items, n);
    *run = n;
    return falling < 0 ? falling : 0;
}

/* Stable insertion by halves, the way Python sorts short lists, so that NaN ends up where it does
 * there. */
static int sort_items(struct lpo_node **items, size_t count, struct lpo_err *err)
{
    size_t run = 0;
    int rc = first_run(items, count, &run, err);

    for (size_t i = run; rc >= 0 && i < count; i++) {
        struct lpo_node *pivot = items[i];
        size_t low = 0, high = i;
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            rc = less(pivot, items[middle], err);
            if (rc < 0)
                return rc;
            if (rc)
                high = middle;
            else
                low = middle + 1;
        }
        memmove(items + low + 1, items + low, (i - low) * sizeof *items);
        items[low] = pivot;
    }
    return rc < 0 ? rc : 0;
}

/* reverse=True as Python does it: the list is turned, sorted, and turned back, so that equal items
 * keep their order. */
static int sorted(struct lpo_arena *a, const struct lpo_node *list, bool down,
                  struct lpo_node **out, struct lpo_err *err)
{
    struct lpo_node *copy = lpo_node_list(a);

    for (size_t i = 0; i < list->count; i++)
        lpo_node_push(a, copy, list->items[i]);
    if (down)
        reverse(copy->items, copy->count);
    int rc = sort_items(copy->items, copy->count, err);
    if (down)
        reverse(copy->items, copy->count);
    *out = copy;
    return rc;
}

/* x + sign * |step|, an integer as long as both are. */
static int shifted(struct lpo_arena *a, const struct lpo_node *x, int sign,
                   const struct lpo_node *step, struct lpo_node **out, struct lpo_err *err)
{
    int64_t sum;

    if (x->kind == LPO_NODE_BIGINT || step->kind == LPO_NODE_BIGINT)
        return lpo_fail(err, LPO_E_CONFIG, "a range beyond 64 bits cannot be sorted");
    if (x->kind == LPO_NODE_FLOAT || step->kind == LPO_NODE_FLOAT) {
        *out = lpo_node_float(a, (double)as_real(x) + sign * fabs((double)as_real(step)));
        return 0;
    }
    int64_t by = step->kind == LPO_NODE_BOOL ? step->boolean : step->integer;
    int64_t from = x->kind == LPO_NODE_BOOL ? x->boolean : x->integer;
    bool over = by == INT64_MIN;
    if (!over) {
        by = by < 0 ? -by : by;
        over = __builtin_add_overflow(from, sign * by, &sum);
    }
    if (over)
        return lpo_fail(err, LPO_E_CONFIG, "a range beyond 64 bits cannot be sorted");
    *out = lpo_node_int(a, sum);
    return 0;
}

/* Hydra 1.3 turns a range round only when its ends say so, and takes the new ends from `stop`
 * even where the step does not reach it. */
static int sort_range(struct lpo_arena *a, struct lpo_sweep *s, bool down, struct lpo_err *err)
{
    bool turn = down ? number_less(s->start, s->stop) : number_less(s->stop, s->start);
    struct lpo_node *start = NULL, *stop = NULL;
    int sign = down ? -1 : 1;

    if (!turn)
        return 0;
    int rc = shifted(a, s->stop, sign, s->step, &start, err);
    if (rc == 0)
        rc = shifted(a, s->start, sign, s->step, &stop, err);
    if (rc < 0)
        return rc;
    s->start = start;
    s->stop = stop;
    if (s->step->kind == LPO_NODE_FLOAT)
        s->step = lpo_node_float(a, -s->step->real);
    else
        s->step = lpo_node_int(a, s->step->kind == LPO_NODE_BOOL ? -(int64_t)s->step->boolean
                                                                 : -s->step->integer);
    return 0;
}

static int sort_sweep(struct lpo_override_call *c, const struct lpo_sweep *in, bool down,
                      struct lpo_override_value *out, struct lpo_err *err)
{
    out->node = NULL;
    out->sweep = LPO_NEW(c->arena, struct lpo_sweep);
    *out->sweep = *in;
    if (in->type == LPO_VALUE_RANGE)
        return sort_range(c->arena, out->sweep, down, err);
    return sorted(c->arena, in->values, down, &out->sweep->values, err);
}

/* The one thing to work on: list=, else sweep=, else the only positional argument. */
static struct lpo_override_value subject(const struct lpo_override_call *c)
{
    struct lpo_override_value list = c->params[1], sweep = c->params[0];

    if (list.node && list.node->kind == LPO_NODE_LIST)
        return list;
    if (sweep.sweep)
        return sweep;
    return c->count == 1 ? c->args[0] : (struct lpo_override_value){ 0 };
}

/* a,b,c of the positional arguments. */
static int simple_choice(struct lpo_override_call *c, struct lpo_override_value *out,
                         struct lpo_err *err)
{
    struct lpo_node *values;
    int rc = lpo_override_list(c->arena, c->args, c->count, &values, err);

    if (rc < 0)
        return rc;
    out->node = NULL;
    out->sweep = LPO_NEW(c->arena, struct lpo_sweep);
    out->sweep->type = LPO_VALUE_SIMPLE_CHOICE;
    out->sweep->values = values;
    return 0;
}

/* sort(…) of one value that is no list gives the value itself, as in Hydra. */
int lpo_override_sort(struct lpo_override_call *c, struct lpo_override_value *out,
                      struct lpo_err *err)
{
    bool down = c->params[2].node && c->params[2].node->boolean;
    struct lpo_override_value one = subject(c);

    *out = one;
    if (one.sweep)
        return sort_sweep(c, one.sweep, down, out, err);
    if (one.node && one.node->kind == LPO_NODE_LIST)
        return sorted(c->arena, one.node, down, &out->node, err);
    if (one.node)
        return 0;
    if (c->count == 0)
        return lpo_fail(err, LPO_E_CONFIG, "there is nothing to sort");
    for (size_t i = 0; i < c->count; i++)
        if (!c->args[i].node || lpo_node_is_container(c->args[i].node))
            return lpo_fail(err, LPO_E_CONFIG, "only plain values can be sorted side by side");
    int rc = simple_choice(c, out, err);
    return rc < 0 ? rc : sort_sweep(c, out->sweep, down, out, err);
}

void lpo_override_shuffle_items(struct lpo_node *list)
{
    for (size_t i = list->count; i > 1; i--) {
        size_t draw = 0;
        if (getrandom(&draw, sizeof draw, 0) != sizeof draw)
            return;
        size_t j = draw % i;
        struct lpo_node *t = list->items[i - 1];
        list->items[i - 1] = list->items[j];
        list->items[j] = t;
    }
}

int lpo_override_shuffle(struct lpo_override_call *c, struct lpo_override_value *out,
                         struct lpo_err *err)
{
    struct lpo_override_value one = subject(c);

    *out = (struct lpo_override_value){ 0 };
    if (one.sweep) {
        out->sweep = LPO_NEW(c->arena, struct lpo_sweep);
        *out->sweep = *one.sweep;
        out->sweep->shuffle = true;
        return 0;
    }
    if (!one.node) {
        int rc = simple_choice(c, out, err);
        if (rc == 0)
            out->sweep->shuffle = true;
        return rc;
    }
    out->node = lpo_node_list(c->arena);
    if (one.node->kind != LPO_NODE_LIST) {
        lpo_node_push(c->arena, out->node, one.node);
        return 0;
    }
    for (size_t i = 0; i < one.node->count; i++)
        lpo_node_push(c->arena, out->node, one.node->items[i]);
    lpo_override_shuffle_items(out->node);
    return 0;
}
