/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/memory/asked.h"

#include "analysis/steps/steps.h"
#include "trace/host.h"
#include "trace/trace.h"

static const char engine_prefix[] = "autograd::engine::evaluate_function: ";

struct asked {
    const struct lpo_trace *t;
    struct lpo_arena *a;
    struct lpo_map *places; /* a path once */
    struct lpo_slice *open; /* room for LPO_HOST_DEPTH */
};

static bool is_of_torch(const char *function)
{
    return function[0] == '<' || lpo_str_starts(function, "torch/") ||
           strstr(function, "/torch/") != NULL;
}

static const char *kept(struct asked *r, const char *text, size_t len)
{
    bool fresh;
    uint64_t *at = lpo_map_put(r->places, text, len, &fresh);

    if (fresh)
        *at = (uint64_t)(uintptr_t)lpo_arena_name(r->a, text, len);
    return (const char *)(uintptr_t)*at;
}

/* The path of ranges and modules, else the innermost function; *inner: where its operators begin.
 */
static const char *place_of(struct asked *r, const struct lpo_slice *open, size_t count,
                            size_t *inner)
{
    const char *function = NULL;
    LPO_STR path = { 0 };

    *inner = 0;
    for (size_t i = 0; i < count; i++) {
        const char *name = lpo_trace_text(r->t, open[i].name);

        if (open[i].kind == LPO_HOST_PYTHON && !is_of_torch(name))
            function = name;
        if (open[i].kind != LPO_HOST_RANGE && open[i].kind != LPO_HOST_MODULE)
            continue;
        lpo_str_add(&path, path.len ? "/" : "");
        lpo_str_add(&path,
                    open[i].kind == LPO_HOST_MODULE ? name + strlen(LPO_MODULE_PREFIX) : name);
        *inner = i + 1;
    }
    if (path.len)
        return kept(r, lpo_str_text(&path), path.len);
    return function ? kept(r, function, strlen(function)) : NULL;
}

/* The outermost operator from `inner` on, the work of autograd's engine by the name of its node. */
static void find_op(const struct asked *r, const struct lpo_slice *open, size_t inner, size_t count,
                    struct lpo_memory_moment *m)
{
    const struct lpo_slice *found = NULL;

    for (size_t i = inner; i < count; i++) {
        bool engine = open[i].kind == LPO_HOST_OP &&
                      lpo_str_starts(lpo_trace_text(r->t, open[i].name), engine_prefix);

        if (open[i].kind != LPO_HOST_OP)
            continue;
        found = &open[i];
        if (!engine)
            break;
    }
    if (!found)
        return;
    m->op = found->name;
    m->shapes = lpo_trace_op_dims(r->t, &r->t->ops.at[found->row]);
}

/* Nodes of autograd have the number of the operator that made them. */
static bool is_backward(const char *name)
{
    return strstr(name, "Backward") != NULL || lpo_str_starts(name, engine_prefix);
}

/* What was open; steps are left out: one of its own for each owner would tear apart what belongs
 * together. */
static size_t find_open(const struct asked *r, uint32_t thread, int64_t ns)
{
    size_t n =
        lpo_host_open(r->t, thread, ns, LPO_HOST_SLICES & ~LPO_HOST_CALL, r->open, LPO_HOST_DEPTH);
    struct lpo_step_facts facts;
    size_t kept = 0;
    int family;

    for (size_t i = 0; i < n; i++)
        if (r->open[i].kind != LPO_HOST_RANGE ||
            !lpo_steps_read_name(lpo_trace_text(r->t, r->open[i].name), &family, &facts))
            r->open[kept++] = r->open[i];
    return kept;
}

/* Returns the sequence number of the backward operator, where there is no place; LPO_NONE. */
static uint32_t describe(struct asked *r, struct lpo_memory_moment *m)
{
    size_t inner, count = find_open(r, m->thread, m->ns);
    uint32_t sequence = LPO_NONE;

    m->place = place_of(r, r->open, count, &inner);
    find_op(r, r->open, inner, count, m);
    for (size_t i = 0; i < count && !m->place; i++)
        if (r->open[i].kind == LPO_HOST_OP && r->t->ops.at[r->open[i].row].sequence != LPO_NONE &&
            is_backward(lpo_trace_text(r->t, r->open[i].name)))
            sequence = r->t->ops.at[r->open[i].row].sequence;
    if (m->op == LPO_NONE) /* a range may have begun inside of an operator */
        find_op(r, r->open, 0, inner, m);
    return sequence;
}

/* --- the backward pass ---------------------------------------------------------------------- */

/* Threads on which autograd works. */
static bool *backward_threads(const struct lpo_trace *t)
{
    bool *is = lpo_xcalloc(t->threads.len + 1, sizeof *is);

    for (size_t i = 0; i < t->ops.len; i++)
        is[t->ops.at[i].thread] |= t->ops.at[i].forward_thread != 0;
    return is;
}

/* The forward operator of each number that is wanted. Operators that make no node have the number
 * that comes next: of all with one number the last is the one that made it. What autograd's own
 * threads compute again has numbers of theirs, and counts where no other thread has that number. */
static struct lpo_map_u64 *find_forward(const struct lpo_trace *t, const uint32_t *sequences,
                                        size_t count)
{
    struct lpo_map_u64 *ops = lpo_map_u64_create(0);
    LPO_FREED bool *backward = backward_threads(t);

    for (size_t i = 0; i < count; i++)
        if (sequences[i] != LPO_NONE)
            lpo_map_u64_put(ops, sequences[i], NULL);
    for (size_t i = 0; lpo_map_u64_count(ops) && i < t->ops.len; i++) {
        const struct lpo_op *o = &t->ops.at[i], *was;
        uint32_t *known = o->sequence == LPO_NONE ? NULL : lpo_map_u64_find(ops, o->sequence);

        if (!known || is_backward(lpo_trace_text(t, o->name)))
            continue;
        was = *known == UINT32_MAX ? NULL : &t->ops.at[*known];
        if (!was || (backward[was->thread] && !backward[o->thread]) ||
            (backward[was->thread] == backward[o->thread] && o->start_ns > was->start_ns))
            *known = (uint32_t)i;
    }
    return ops;
}

/* Places of moments that had none, from a second look at where their operators ran forward. */
static void look_forward(struct asked *r, struct lpo_memory_moment *moments,
                         const uint32_t *sequences, size_t count)
{
    LPO_AUTO(lpo_map_u64) ops = find_forward(r->t, sequences, count);

    for (size_t i = 0; i < count; i++) {
        const uint32_t *row = sequences[i] == LPO_NONE ? NULL : lpo_map_u64_find(ops, sequences[i]);
        const struct lpo_op *op = row && *row != UINT32_MAX ? &r->t->ops.at[*row] : NULL;
        size_t inner;

        if (!op || op->start_ns > moments[i].ns)
            continue;
        moments[i].place = place_of(r, r->open, find_open(r, op->thread, op->start_ns), &inner);
        moments[i].backward = moments[i].place != NULL;
    }
}

void lpo_memory_asked(const struct lpo_trace *t, struct lpo_arena *a,
                      struct lpo_memory_moment *moments, size_t count)
{
    struct asked r = { .t = t, .a = a };
    LPO_FREED uint32_t *sequences = NULL;

    if (!count)
        return;
    r.places = lpo_map_create();
    r.open = lpo_xmalloc(LPO_HOST_DEPTH * sizeof *r.open);
    sequences = lpo_xmalloc(count * sizeof *sequences);
    for (size_t i = 0; i < count; i++)
        sequences[i] = describe(&r, &moments[i]);
    look_forward(&r, moments, sequences, count);
    lpo_map_destroy(r.places);
    free(r.open);
}
