/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread was in, moment by moment: one sweep over its operators and calls. */
#include <stdlib.h>

#include "analysis/critical/private.h"
#include "region/tree.h"

struct frame {
    int64_t end_ns;
    enum lpo_critical_part part;
    uint32_t name;
};

struct critical_sweep {
    const struct critical_input *in;
    const struct lpo_trace *t;
    critical_frame_fn *each;
    void *ctx;
    uint32_t thread;                       /* at hand; LPO_NONE: none yet */
    const uint32_t *o, *o_end, *c, *c_end; /* operators and calls that are still to come */
    int64_t next_ns;                       /* when the first of them opens; INT64_MAX: none does */
    LPO_VEC(struct frame) stack;
};

static void find_next(struct critical_sweep *s)
{
    int64_t o = s->o < s->o_end ? s->t->ops.at[*s->o].start_ns : INT64_MAX;
    int64_t c = s->c < s->c_end ? s->t->calls.at[*s->c].start_ns : INT64_MAX;

    s->next_ns = o < c ? o : c;
}

static void begin(struct critical_sweep *s, uint32_t thread)
{
    const struct critical_input *in = s->in;

    s->thread = thread;
    s->o = in->ops->rows + in->ops->starts[thread];
    s->o_end = in->ops->rows + in->ops->starts[thread + 1];
    s->c = in->calls->rows + in->calls->starts[thread];
    s->c_end = in->calls->rows + in->calls->starts[thread + 1];
    s->stack.len = 0;
    find_next(s);
}

static void drop_ended(struct critical_sweep *s, int64_t ns)
{
    while (s->stack.len && s->stack.at[s->stack.len - 1].end_ns <= ns)
        s->stack.len--;
}

/* An operator before a call that begins with it: the call is inside. */
static void open_next(struct critical_sweep *s)
{
    int64_t ns = s->next_ns;
    struct frame f;

    if (s->o < s->o_end && s->t->ops.at[*s->o].start_ns == ns) {
        const struct lpo_op *op = &s->t->ops.at[*s->o++];

        f = (struct frame){ op->end_ns, LPO_PATH_HOST, op->name };
    } else {
        const struct lpo_api_call *c = &s->t->calls.at[*s->c++];

        f = (struct frame){ c->end_ns, LPO_PATH_CALLS, c->name };
    }
    drop_ended(s, ns);
    lpo_vec_push(&s->stack, f);
    find_next(s);
}

void lpo_critical_sweep_slice(struct critical_sweep *s, const struct critical_slice *slice)
{
    int64_t at = slice->start_ns;

    if (slice->thread != s->thread)
        begin(s, slice->thread);
    while (at < slice->end_ns) {
        struct frame f = { slice->end_ns, slice->in_call ? LPO_PATH_CALLS : LPO_PATH_HOST,
                           LPO_NONE };
        int64_t until = slice->end_ns;

        while (s->next_ns <= at)
            open_next(s);
        drop_ended(s, at);
        if (s->stack.len) {
            const struct frame *top = &s->stack.at[s->stack.len - 1];

            if (top->part == LPO_PATH_CALLS || !slice->in_call)
                f = *top;
            until = top->end_ns < until ? top->end_ns : until;
        }
        until = s->next_ns < until ? s->next_ns : until;
        s->each(s->ctx, slice, at, until, f.part, f.name);
        at = until;
    }
}

struct critical_sweep *lpo_critical_sweep_create(const struct critical_input *in,
                                                 critical_frame_fn *each, void *ctx)
{
    struct critical_sweep *s = lpo_xcalloc(1, sizeof *s);

    s->in = in;
    s->t = in->tree->trace;
    s->each = each;
    s->ctx = ctx;
    s->thread = LPO_NONE;
    return s;
}

void lpo_critical_sweep_destroy(struct critical_sweep *s)
{
    lpo_vec_free(&s->stack);
    free(s);
}
