/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread was in, moment by moment: one sweep over its operators and calls. */

#include "analysis/critical/private.h"
#include "trace/host.h"

struct critical_sweep {
    const struct lpo_trace *t;
    critical_frame_fn *each;
    void *ctx;
    uint32_t thread; /* at hand; LPO_NONE: none yet */
    struct lpo_host_walk walk;
    struct lpo_slice next; /* the first that is still to come */
    bool any_next;
    LPO_VEC(struct lpo_slice) stack;
};

static void drop_ended(struct critical_sweep *s, int64_t ns)
{
    while (s->stack.len && s->stack.at[s->stack.len - 1].end_ns <= ns)
        s->stack.len--;
}

void lpo_critical_sweep_slice(struct critical_sweep *s, const struct critical_slice *slice)
{
    int64_t at = slice->start_ns;

    if (slice->thread != s->thread) {
        s->thread = slice->thread;
        s->walk = lpo_host_walk(s->t, s->thread, LPO_HOST_OP | LPO_HOST_CALL);
        s->any_next = lpo_host_next(&s->walk, &s->next);
        s->stack.len = 0;
    }
    while (at < slice->end_ns) {
        enum lpo_critical_part part = slice->in_call ? LPO_PATH_CALLS : LPO_PATH_HOST;
        uint32_t name = LPO_NONE;
        int64_t until = slice->end_ns;

        for (; s->any_next && s->next.start_ns <= at;
             s->any_next = lpo_host_next(&s->walk, &s->next)) {
            drop_ended(s, s->next.start_ns);
            lpo_vec_push(&s->stack, s->next);
        }
        drop_ended(s, at);
        if (s->stack.len) {
            const struct lpo_slice *top = &s->stack.at[s->stack.len - 1];

            if (top->kind == LPO_HOST_CALL || !slice->in_call) {
                part = top->kind == LPO_HOST_CALL ? LPO_PATH_CALLS : LPO_PATH_HOST;
                name = top->name;
            }
            until = top->end_ns < until ? top->end_ns : until;
        }
        if (s->any_next && s->next.start_ns < until)
            until = s->next.start_ns;
        s->each(s->ctx, slice, at, until, part, name);
        at = until;
    }
}

struct critical_sweep *lpo_critical_sweep_create(const struct lpo_trace *t, critical_frame_fn *each,
                                                 void *ctx)
{
    struct critical_sweep *s = lpo_xcalloc(1, sizeof *s);

    s->t = t;
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
