/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/wall/computing.h"

#include "trace/trace.h"

void lpo_wall_computing_add(struct lpo_wall_computing *c, const struct lpo_gpu_op *op)
{
    struct lpo_wall_stretch *last = c->all.len ? &c->all.at[c->all.len - 1] : NULL;
    struct lpo_wall_stretch next = { op->start_ns, op->end_ns, 0 };

    if (last && op->start_ns <= last->end_ns) {
        last->end_ns = op->end_ns > last->end_ns ? op->end_ns : last->end_ns;
        return;
    }
    if (last)
        next.before_ns = last->before_ns + last->end_ns - last->start_ns;
    lpo_vec_push(&c->all, next);
}

int64_t lpo_wall_computed_before(const struct lpo_wall_computing *c, int64_t ns)
{
    size_t lo = 0, hi = c->all.len;
    const struct lpo_wall_stretch *s;

    lpo_search(lo, hi, mid, c->all.at[mid].start_ns < ns);
    if (!lo)
        return 0;
    s = &c->all.at[lo - 1];
    return s->before_ns + (ns < s->end_ns ? ns : s->end_ns) - s->start_ns;
}

void lpo_wall_computing_free(struct lpo_wall_computing *c)
{
    lpo_vec_free(&c->all);
}
