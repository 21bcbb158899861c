/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/wall/private.h"

#include <stdlib.h>

#include "region/classes.h"
#include "region/thread_rows.h"

static bool gpu_op_before(const void *trace, uint32_t a, uint32_t b)
{
    const struct lpo_trace *t = trace;
    const struct lpo_gpu_op *x = &t->gpu_ops.at[a], *y = &t->gpu_ops.at[b];

    return x->device != y->device ? x->device < y->device : x->start_ns < y->start_ns;
}

struct lpo_wall_order lpo_wall_order_find(const struct lpo_trace *t)
{
    struct lpo_wall_order o = { .rows = lpo_xcalloc(t->gpu_ops.len + 1, sizeof *o.rows) };

    for (size_t i = 0; i < t->gpu_ops.len; i++) {
        if (t->gpu_ops.at[i].flags & (LPO_GPU_OP_UNTIMED | LPO_GPU_OP_NO_LENGTH))
            o.untimed++;
        else
            o.rows[o.count++] = (uint32_t)i;
    }
    lpo_region_order_sort(o.rows, o.count, gpu_op_before, t);
    return o;
}

size_t lpo_wall_order_device(const struct lpo_wall_order *o, const struct lpo_trace *t, size_t from)
{
    uint16_t device = t->gpu_ops.at[o->rows[from]].device;

    while (from < o->count && t->gpu_ops.at[o->rows[from]].device == device)
        from++;
    return from;
}

void lpo_wall_order_free(struct lpo_wall_order *o)
{
    free(o->rows);
    *o = (struct lpo_wall_order){ 0 };
}

bool lpo_wall_communicates(const struct lpo_trace *t, unsigned char *known, uint32_t name)
{
    enum { NO = 1, YES };

    if (!known[name])
        known[name] = lpo_region_class_of(t, name) == LPO_CLASS_COLLECTIVE ? YES : NO;
    return known[name] == YES;
}
