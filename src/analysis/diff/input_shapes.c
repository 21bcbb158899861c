/* SPDX-License-Identifier: Apache-2.0 */
/* Did both sides compute with inputs of the same size? Operators that both have are looked up by
 * name: those whose input shapes are on one side only, and of another size, were called with other
 * inputs. Shapes that change from call to call, as in serving, are not: their means are alike. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/diff/compare.h"
#include "util/arena.h"
#include "util/map.h"

enum { MOST_ITEMS = 3000, FIRST_TENSORS = 3 }; /* an `out` is the last one, and not always there */

#define OTHER_SHARE 0.8 /* of the GPU time of operators that both sides have */
#define OTHER_SIZE  0.1 /* by which their sizes differ on average */

/* Elements of the first tensors of "[[4,512],[512,64],[]]". */
static double elements(const char *shapes)
{
    double sum = 0, product = 0;
    int tensors = 0;

    for (const char *p = shapes; *p && tensors < FIRST_TENSORS;) {
        char *end;
        double n;

        if (*p == ']' && product > 0) {
            sum += product;
            product = 0;
            tensors++;
        }
        n = strtod(p, &end);
        if (end == p || *p == ' ' || *p == '-') {
            p++;
            continue;
        }
        product = (product > 0 ? product : 1) * n;
        p = end;
    }
    return sum;
}

/* "[[4,512],[512,64]]" and "[[4,512],[512,64],[4,64]]": one is the beginning of the other. */
static bool alike(const char *x, const char *y)
{
    size_t nx = strlen(x), ny = strlen(y), n = nx < ny ? nx : ny;

    return n > 0 && strncmp(x, y, n - 1) == 0;
}

/* What is known of the operators of one name on one side. */
struct sums {
    double ns, other_ns; /* GPU time; of it, of shapes that the other side does not have */
    double elements, calls;
};

static bool other_has(const struct lpo_diff_digest *g, const struct lpo_diff_item *x)
{
    for (size_t i = 0; i < g->items[LPO_DIFF_OPERATORS].len; i++) {
        const struct lpo_diff_item *y = &g->items[LPO_DIFF_OPERATORS].at[i];

        if (strcmp(x->name, y->name) == 0 && alike(x->detail, y->detail))
            return true;
    }
    return false;
}

static void add_side(const struct lpo_diff_digest *g, const struct lpo_diff_digest *other,
                     struct lpo_map *names, struct sums *sums, int side)
{
    for (size_t i = 0; i < g->items[LPO_DIFF_OPERATORS].len; i++) {
        const struct lpo_diff_item *x = &g->items[LPO_DIFF_OPERATORS].at[i];
        struct sums *s;

        if (!*x->detail || x->self_ns <= 0)
            continue;
        s = &sums[2 * *lpo_map_put(names, x->name, strlen(x->name), NULL) + side];
        s->ns += (double)x->self_ns;
        s->other_ns += other_has(other, x) ? 0 : (double)x->self_ns;
        s->elements += elements(x->detail) * (double)x->count;
        s->calls += (double)x->count;
    }
}

static void number_names(const struct lpo_diff_digest *g, struct lpo_map *names)
{
    for (size_t i = 0; i < g->items[LPO_DIFF_OPERATORS].len; i++) {
        const char *name = g->items[LPO_DIFF_OPERATORS].at[i].name;
        bool fresh;
        uint64_t *at = lpo_map_put(names, name, strlen(name), &fresh);

        if (fresh)
            *at = lpo_map_count(names) - 1;
    }
}

bool lpo_diff_other_shapes(const struct lpo_diff_digest *a, const struct lpo_diff_digest *b)
{
    LPO_AUTO(lpo_map) names = lpo_map_create();
    double all = 0, other = 0;
    struct sums *sums;

    if (a->items[LPO_DIFF_OPERATORS].len > MOST_ITEMS ||
        b->items[LPO_DIFF_OPERATORS].len > MOST_ITEMS)
        return false;
    number_names(a, names);
    number_names(b, names);
    sums = lpo_xcalloc(2 * lpo_map_count(names) + 1, sizeof *sums);
    add_side(a, b, names, sums, 0);
    add_side(b, a, names, sums, 1);
    for (size_t i = 0; i < lpo_map_count(names); i++) {
        const struct sums *x = &sums[2 * i], *y = &sums[2 * i + 1];
        double size;

        if (!(x->ns > 0) || !(y->ns > 0))
            continue;
        all += x->ns + y->ns;
        size = x->elements > 0 ? y->elements / y->calls / (x->elements / x->calls) : 1;
        if (fabs(log(size > 0 ? size : 1)) > OTHER_SIZE)
            other += x->other_ns + y->other_ns;
    }
    free(sums);
    return all > 0 && other > OTHER_SHARE * all;
}
