/* SPDX-License-Identifier: Apache-2.0 */
/* Calls in which the host waits for the GPU and launches nothing: all of one place together. */
#include "analysis/ladder/private.h"

bool lpo_ladder_is_mark(const struct ladder_work *w, uint32_t call)
{
    uint32_t row = w->g.calls.at[call].row;

    return !(row & CRITICAL_ONLY_WAITS) && row & CRITICAL_MARK;
}

bool lpo_ladder_is_rest(const struct ladder_work *w, uint32_t call)
{
    return lpo_ladder_is_mark(w, call) && w->g.calls.at[call].waits != LPO_NONE;
}

bool lpo_ladder_is_user_code(const char *name)
{
    return strstr(name, ".py(") && !strstr(name, "torch/") && !strstr(name, "site-packages/") &&
           !strstr(name, "<built-in") && !strstr(name, "importlib");
}

struct wait_group {
    uint64_t calls, bytes; /* bytes: most of a copy that is waited for */
    int64_t ns, bound_ns;
    uint32_t call, op, code, candidate, steps, step;
};

struct waits {
    struct ladder_work *w;
    struct lpo_map_pair rows;
    LPO_VEC(struct wait_group) all;
    int64_t behind_ns; /* of the path: the host from the return of a wait to the next one */
    int64_t *bound_ns; /* per call */
};

static void take_wait(void *ctx, const struct critical_stretch *s)
{
    struct waits *f = ctx;
    int64_t ns = s->end_ns - s->start_ns;

    if (s->part == LPO_PATH_HOST || s->part == LPO_PATH_CALLS || s->part == LPO_PATH_LAUNCH_DELAY)
        f->behind_ns += ns;
    if (s->part != LPO_PATH_RETURN || s->call == LPO_NONE)
        return;
    f->bound_ns[s->call] += f->behind_ns + ns;
    f->behind_ns = 0;
}

static struct wait_group *group_of(struct waits *f, uint32_t call)
{
    const struct critical_graph *g = &f->w->g;
    const struct lpo_trace *t = f->w->t;
    struct critical_span c = lpo_critical_times(g, call);
    uint32_t thread = lpo_critical_thread(g, call), row;
    struct wait_group out = {
        .call = LPO_NONE, .op = LPO_NONE, .code = LPO_NONE, .candidate = LPO_NONE, .step = LPO_NONE
    };
    struct lpo_slice s, outer;
    struct lpo_slice open[64];
    bool fresh;
    size_t n;

    if (lpo_host_at(t, thread, c.start_ns, LPO_HOST_CALL, &s))
        out.call = s.name;
    if (lpo_host_at(t, thread, c.start_ns, LPO_HOST_OP, &s)) {
        out.op = s.name;
        while ((lpo_str_starts(lpo_trace_text(t, s.name), "aten::_") ||
                lpo_str_starts(lpo_trace_text(t, s.name), "aten::copy_")) &&
               lpo_host_parent(t, &s, LPO_HOST_OP, &outer) &&
               lpo_str_starts(lpo_trace_text(t, outer.name), "aten::")) {
            s = outer;
            out.op = s.name;
        }
    }
    n = lpo_host_open(t, thread, c.start_ns, LPO_HOST_PYTHON, open, 64);
    while (n-- > 0)
        if (lpo_ladder_is_user_code(lpo_trace_text(t, open[n].name))) {
            out.code = open[n].name;
            break;
        }
    row = lpo_map_pair_put(&f->rows, (uint64_t)out.call << 32 | out.op, out.code, &fresh);
    if (fresh)
        lpo_vec_push(&f->all, out);
    return &f->all.at[row];
}

static void add_wait_group(struct waits *f, struct wait_group *x)
{
    struct lpo_rung r = { .kind = LPO_RUNG_BLOCKED,
                          .basis = LPO_BASIS_SIMULATED,
                          .name = x->call,
                          .code = x->code,
                          .node = LPO_NONE };
    uint64_t steps = f->w->out->window.steps;

    if (x->op != LPO_NONE)
        lpo_ladder_fact(&r, LPO_FACT_OPERATOR, x->op, 0, 0, 0);
    lpo_ladder_fact(&r, LPO_FACT_WAITS, x->call, (double)x->calls, (double)x->ns, 0);
    if (x->bytes)
        lpo_ladder_fact(&r, LPO_FACT_WAITS_BYTES, LPO_NONE, (double)x->bytes, 0, 0);
    if (steps > 1)
        lpo_ladder_fact(&r, LPO_FACT_STEPS, LPO_NONE, x->steps, (double)steps,
                        (double)x->ns / (x->steps ? x->steps : 1));
    x->candidate = lpo_ladder_add(f->w, r, x->bound_ns);
}

bool lpo_ladder_waits_earlier(const struct ladder_work *w, uint32_t call)
{
    const struct critical_graph *g = &w->g;
    uint32_t op = g->calls.at[call].waits;

    if (lpo_critical_launch(g, call) != LPO_NONE || !g->ops.len)
        return false;
    if (op == LPO_NONE)
        return lpo_critical_times(g, call).start_ns < lpo_critical_gpu_op(g, 0)->start_ns;
    return g->ops.at[op].call == LPO_NONE && w->first_launch != LPO_NONE &&
           lpo_critical_times(g, call).start_ns < lpo_critical_times(g, w->first_launch).start_ns;
}

/* Of the copy that a call launches and waits for; 0: it waits for something else. */
static uint64_t copied_bytes(const struct ladder_work *w, uint32_t call)
{
    uint32_t op = w->g.calls.at[call].waits;

    return w->g.ops.at[op].call == call && lpo_critical_gpu_op(&w->g, op)->kind == LPO_COPY
               ? lpo_critical_gpu_op(&w->g, op)->bytes
               : 0;
}

/* Without the wait the host goes on at once: all calls of one place, also those off the path. */
void lpo_ladder_waits(struct ladder_work *w)
{
    struct waits f = { .w = w };
    int64_t all_ns = 0,
            last_ns = INT64_MIN; /* the last launch: who waits later waits for the end */

    f.bound_ns = lpo_xcalloc(w->g.calls.len + 1, sizeof *f.bound_ns);
    for (uint32_t i = 0; i < w->g.calls.len; i++)
        if (lpo_critical_launch(&w->g, i) != LPO_NONE &&
            lpo_critical_times(&w->g, i).start_ns > last_ns)
            last_ns = lpo_critical_times(&w->g, i).start_ns;
    lpo_critical_walk(&w->g, take_wait, &f);
    for (size_t i = 0; i < w->g.calls.len; i++)
        all_ns += f.bound_ns[i];
    for (int pass = 0; pass < 2 && all_ns >= w->out->window.wall_ns / 100; pass++) {
        for (uint32_t i = 0; i < w->g.calls.len; i++) {
            struct critical_span c = lpo_critical_times(&w->g, i);
            struct wait_group *x;

            /* what an operator waits for without a call can only be guessed */
            if (w->g.calls.at[i].waits == LPO_NONE || c.start_ns > last_ns ||
                lpo_ladder_is_rest(w, i) || lpo_ladder_waits_earlier(w, i))
                continue;
            x = group_of(&f, i);
            if (pass == 0) {
                uint32_t step = lpo_ladder_step_at(w, c.start_ns);

                x->calls++;
                x->ns += c.end_ns - c.start_ns;
                x->bound_ns += f.bound_ns[i];
                x->bytes = copied_bytes(w, i) > x->bytes ? copied_bytes(w, i) : x->bytes;
                x->steps += step != x->step;
                x->step = step;
            } else if (x->candidate != LPO_NONE) {
                lpo_critical_replay_edit(&w->replay, CRITICAL_EDIT_WAIT, i, x->candidate, 0);
            }
        }
        for (size_t i = 0; pass == 0 && i < f.all.len; i++)
            add_wait_group(&f, &f.all.at[i]);
    }
    free(f.bound_ns);
    lpo_map_pair_free(&f.rows);
    lpo_vec_free(&f.all);
}
