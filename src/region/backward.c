/* SPDX-License-Identifier: Apache-2.0 */
#include "region/links.h"

#include "trace/host.h"

/* What an operator or a Python function is here. */
enum kind {
    UNSEEN,
    OTHER,
    BACKWARD,   /* a function of the backward pass */
    RECOMPUTES, /* PyTorch's checkpoint, while it runs the forward again */
    FORWARD,    /* has a sequence number of its own */
};

static const char engine[] = "autograd::engine::evaluate_function:";

/* Both ways of torch.utils.checkpoint: the reentrant one is a backward function, the other one
 * computes again in a hook. */
static enum kind kind_of_name(const char *name)
{
    if (strstr(name, "CheckpointFunctionBackward") ||
        (strstr(name, "checkpoint.py(") && strstr(name, "recompute_fn")))
        return RECOMPUTES;
    return strncmp(name, engine, sizeof engine - 1) == 0 ? BACKWARD : OTHER;
}

/* Something on a thread that runs backward operators. */
struct entry {
    int64_t start_ns, end_ns;
    uint32_t thread;
    uint32_t op;      /* row of ops; LPO_NONE: a Python function */
    uint32_t forward; /* of a backward operator: row of ops, or LPO_NONE */
    uint32_t row;     /* of out->ops, once it has a forward */
    uint8_t kind;
    bool again; /* of a backward operator: what ran in it is differentiated later */
};

struct work {
    const struct lpo_trace *t;
    struct lpo_region_backward *out;
    unsigned char *kinds;       /* per name: enum kind */
    bool *arrow_ends;           /* per operator: the source says which one its forward is; NULL */
    bool *threads;              /* that run backward operators */
    LPO_VEC(uint32_t) forwards; /* operators with a number of their own, by (process, number) */
    LPO_VEC(struct entry) entries; /* by thread and time */
    struct lpo_map_pair linked;    /* thread and number of forwards that have a backward */
    struct lpo_map_pair votes;     /* autograd's thread and ours: rows of `counts` */
    LPO_VEC(uint64_t) counts;
    struct lpo_map_pair chosen; /* autograd's thread: rows of `owners` */
    LPO_VEC(uint32_t) owners;   /* ours */
    LPO_VEC(uint64_t) most;     /* votes of each owner */
};

static enum kind named(struct work *w, uint32_t name)
{
    if (w->kinds[name] == UNSEEN)
        w->kinds[name] = (unsigned char)kind_of_name(lpo_trace_text(w->t, name));
    return (enum kind)w->kinds[name];
}

static enum kind kind_of(struct work *w, const struct lpo_op *o)
{
    enum kind kind = named(w, o->name);

    if (kind != OTHER)
        return kind;
    if (o->forward_thread || (w->arrow_ends && w->arrow_ends[o - w->t->ops.at]))
        return BACKWARD;
    return o->sequence == LPO_NONE ? OTHER : FORWARD;
}

/* False: nothing here is about a backward pass. */
static bool find_threads(struct work *w)
{
    bool any = false;

    for (size_t i = 0; i < w->t->ops.len; i++) {
        enum kind kind = kind_of(w, &w->t->ops.at[i]);

        if (kind == BACKWARD || kind == RECOMPUTES)
            any = w->threads[w->t->ops.at[i].thread] = true;
        else if (kind == FORWARD)
            lpo_vec_push(&w->forwards, (uint32_t)i);
    }
    for (size_t i = 0; i < w->t->python.len; i++)
        if (named(w, w->t->python.at[i].name) == RECOMPUTES)
            any = w->threads[w->t->python.at[i].thread] = true;
    return any;
}

/* By process, number, thread, time. */
static bool forward_before(const void *trace, uint32_t a, uint32_t b)
{
    const struct lpo_trace *t = trace;
    const struct lpo_op *x = &t->ops.at[a], *y = &t->ops.at[b];
    uint16_t p = t->threads.at[x->thread].process, q = t->threads.at[y->thread].process;

    if (p != q)
        return p < q;
    if (x->sequence != y->sequence)
        return x->sequence < y->sequence;
    return x->thread != y->thread ? x->thread < y->thread : x->start_ns < y->start_ns;
}

/* The first row that does not come before (process, number, thread, time). */
static size_t lower_bound(const struct work *w, uint16_t process, uint32_t sequence,
                          uint32_t thread, int64_t start_ns)
{
    size_t from = 0, to = w->forwards.len;

    while (from < to) {
        size_t middle = from + (to - from) / 2;
        const struct lpo_op *o = &w->t->ops.at[w->forwards.at[middle]];
        uint16_t p = w->t->threads.at[o->thread].process;
        bool before = p != process              ? p < process
                      : o->sequence != sequence ? o->sequence < sequence
                      : o->thread != thread     ? o->thread < thread
                                                : o->start_ns < start_ns;

        if (before)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

/* The last operator of this number that the thread began before the backward operator did. */
static uint32_t forward_on(const struct work *w, const struct lpo_op *o, uint32_t thread)
{
    uint16_t process = w->t->threads.at[o->thread].process;
    size_t at = lower_bound(w, process, o->sequence, thread, o->start_ns);
    const struct lpo_op *f;

    if (!at)
        return LPO_NONE;
    f = &w->t->ops.at[w->forwards.at[at - 1]];
    return f->thread == thread && f->sequence == o->sequence ? w->forwards.at[at - 1] : LPO_NONE;
}

/* The one thread that used this number; LPO_NONE: none or several. */
static uint32_t only_thread(const struct work *w, const struct lpo_op *o)
{
    uint16_t process = w->t->threads.at[o->thread].process;
    size_t from = lower_bound(w, process, o->sequence, 0, INT64_MIN);
    size_t to = lower_bound(w, process, o->sequence, UINT32_MAX, INT64_MAX);
    uint32_t first;

    if (from == to)
        return LPO_NONE;
    first = w->t->ops.at[w->forwards.at[from]].thread;
    return first == w->t->ops.at[w->forwards.at[to - 1]].thread ? first : LPO_NONE;
}

static uint64_t autograd_thread(const struct work *w, const struct lpo_op *o)
{
    return (uint64_t)w->t->threads.at[o->thread].process << 32 | o->forward_thread;
}

/* The forward of an operator as the source itself gives it; LPO_NONE. */
static uint32_t forward_by_arrow(const struct work *w, uint32_t op)
{
    size_t from = 0, to = w->t->op_links.len;

    if (!w->arrow_ends || !w->arrow_ends[op])
        return LPO_NONE;
    lpo_search(from, to, middle, w->t->op_links.at[middle].backward < op);
    return w->t->op_links.at[from].forward;
}

/* Which of our threads each of autograd's is. The most votes decide: a number whose forward is not
 * in the trace may have been used by another thread. Where there is an arrow, it says which. */
static void find_owners(struct work *w)
{
    for (uint32_t i = 0; i < w->t->ops.len; i++) {
        const struct lpo_op *o = &w->t->ops.at[i];
        uint32_t forward, thread, row, owner;
        bool fresh;

        if (!o->forward_thread || o->sequence == LPO_NONE)
            continue;
        forward = forward_by_arrow(w, i);
        thread = forward == LPO_NONE ? only_thread(w, o) : w->t->ops.at[forward].thread;
        if (thread == LPO_NONE)
            continue;
        row = lpo_map_pair_put(&w->votes, autograd_thread(w, o), thread, &fresh);
        if (fresh)
            lpo_vec_push(&w->counts, 0);
        w->counts.at[row]++;
        owner = lpo_map_pair_put(&w->chosen, autograd_thread(w, o), 0, &fresh);
        if (fresh) {
            lpo_vec_push(&w->owners, thread);
            lpo_vec_push(&w->most, 0);
        }
        if (w->counts.at[row] > w->most.at[owner]) {
            w->most.at[owner] = w->counts.at[row];
            w->owners.at[owner] = thread;
        }
    }
}

static uint32_t forward_by_number(struct work *w, const struct lpo_op *o)
{
    uint32_t owner, forward;
    bool fresh;

    if (!o->forward_thread || o->sequence == LPO_NONE)
        return LPO_NONE;
    owner = lpo_map_pair_find(&w->chosen, autograd_thread(w, o), 0);
    if (owner == UINT32_MAX)
        return LPO_NONE;
    forward = forward_on(w, o, w->owners.at[owner]);
    if (forward != LPO_NONE)
        lpo_map_pair_put(&w->linked, w->owners.at[owner], o->sequence, &fresh);
    return forward;
}

/* Numbers first: an arrow ends at one operator, and numbers join those around and inside it, too.
 */
static uint32_t forward_of(struct work *w, const struct lpo_op *o, uint32_t op)
{
    uint32_t forward = forward_by_number(w, o);

    return forward == LPO_NONE ? forward_by_arrow(w, op) : forward;
}

/* In order of thread and time: of the threads that run backward operators. */
static void find_entries(struct work *w)
{
    for (uint32_t i = 0; i < w->t->threads.len; i++) {
        struct lpo_host_walk walk;
        struct lpo_slice s;

        if (!w->threads[i])
            continue;
        walk = lpo_host_walk(w->t, i, LPO_HOST_OP | LPO_HOST_PYTHON);
        while (lpo_host_next(&walk, &s)) {
            const struct lpo_op *op = s.kind == LPO_HOST_OP ? &w->t->ops.at[s.row] : NULL;
            enum kind kind = op ? kind_of(w, op) : named(w, s.name);

            if (op ? kind != OTHER : kind == RECOMPUTES)
                lpo_vec_push(&w->entries,
                             ((struct entry){ .start_ns = s.start_ns,
                                              .end_ns = s.end_ns,
                                              .thread = i,
                                              .op = op ? s.row : LPO_NONE,
                                              .forward = op ? forward_of(w, op, s.row) : LPO_NONE,
                                              .row = LPO_NONE,
                                              .kind = (uint8_t)kind }));
        }
    }
}

/* The arrow ends at the function; what autograd does around it, to add gradients up, is of the same
 * forward. It is the entry before. */
static void link_engine(struct work *w)
{
    for (size_t i = 0; i + 1 < w->entries.len; i++) {
        struct entry *e = &w->entries.at[i], *inside = e + 1;
        const char *name;

        if (e->op == LPO_NONE || e->forward != LPO_NONE || inside->op == LPO_NONE ||
            inside->forward == LPO_NONE || inside->thread != e->thread ||
            inside->end_ns > e->end_ns)
            continue;
        name = lpo_trace_text(w->t, w->t->ops.at[e->op].name);
        if (strncmp(name, engine, sizeof engine - 1) == 0 && name[sizeof engine - 1] == ' ' &&
            strcmp(name + sizeof engine, lpo_trace_text(w->t, w->t->ops.at[inside->op].name)) == 0)
            e->forward = inside->forward;
    }
}

/* An open entry, with what lies below it, so that no launch has to walk down. */
struct open {
    uint32_t entry;
    uint32_t window; /* the nearest entry at or below it that is no FORWARD; LPO_NONE */
    uint32_t linked; /* the nearest row of out->ops at or below it; LPO_NONE */
};

typedef LPO_VEC(struct open) open_entries;

static void push(struct work *w, open_entries *stack, uint32_t i)
{
    struct entry *e = &w->entries.at[i];
    struct open o = { i, LPO_NONE, LPO_NONE };

    while (stack->len && (w->entries.at[stack->at[stack->len - 1].entry].thread != e->thread ||
                          w->entries.at[stack->at[stack->len - 1].entry].end_ns < e->end_ns))
        stack->len--;
    if (stack->len) {
        o.window = stack->at[stack->len - 1].window;
        o.linked = stack->at[stack->len - 1].linked;
    }
    if (e->kind == FORWARD && o.window != LPO_NONE &&
        lpo_map_pair_find(&w->linked, e->thread, w->t->ops.at[e->op].sequence) != UINT32_MAX)
        w->entries.at[o.window].again = true;
    if (e->kind != FORWARD)
        o.window = i;
    if (e->forward != LPO_NONE && e->row == LPO_NONE) {
        e->row = (uint32_t)w->out->ops.len;
        lpo_vec_push(&w->out->ops, ((struct lpo_region_backward_op){ e->forward, o.linked }));
    }
    if (e->row != LPO_NONE)
        o.linked = e->row;
    lpo_vec_push(stack, o);
}

static void take_launch(struct work *w, open_entries *stack, uint32_t row)
{
    const struct lpo_launch *l = &w->t->launches.at[row];
    const struct open *o;
    const struct entry *window;

    while (stack->len && (w->entries.at[stack->at[stack->len - 1].entry].thread != l->thread ||
                          w->entries.at[stack->at[stack->len - 1].entry].end_ns < l->end_ns))
        stack->len--;
    if (!stack->len)
        return;
    o = &stack->at[stack->len - 1];
    w->out->launch_op[row] = o->linked;
    if (o->window == LPO_NONE)
        return;
    window = &w->entries.at[o->window];
    w->out->recomputed[row] =
        window->kind == RECOMPUTES || (o->entry != o->window && !window->again);
}

/* Once without launches, to see what is differentiated again, and once with them. */
static void sweep(struct work *w)
{
    LPO_FREED open_entries stack = { 0 };

    for (uint32_t i = 0; i < w->entries.len; i++)
        push(w, &stack, i);
    stack.len = 0;
    for (uint32_t i = 0; i < w->entries.len;) {
        uint32_t thread = w->entries.at[i].thread;
        struct lpo_host_rows launches = lpo_host_rows(w->t, thread, LPO_HOST_LAUNCH);

        for (size_t l = 0; l < launches.len; l++) {
            int64_t start_ns = w->t->launches.at[launches.at[l]].start_ns;

            for (; i < w->entries.len && w->entries.at[i].thread == thread &&
                   w->entries.at[i].start_ns <= start_ns;
                 i++)
                push(w, &stack, i);
            take_launch(w, &stack, launches.at[l]);
        }
        while (i < w->entries.len && w->entries.at[i].thread == thread)
            i++;
    }
}

void lpo_region_backward_find(const struct lpo_trace *t, struct lpo_region_backward *out)
{
    struct work w = { .t = t, .out = out };

    *out = (struct lpo_region_backward){ 0 };
    if (!t->launches.len || !t->ops.len)
        return;
    w.kinds = lpo_xcalloc(lpo_trace_name_count(t) + 1, 1);
    w.threads = lpo_xcalloc(t->threads.len, sizeof *w.threads);
    if (t->op_links.len)
        w.arrow_ends = lpo_xcalloc(t->ops.len, sizeof *w.arrow_ends);
    for (size_t i = 0; i < t->op_links.len; i++)
        w.arrow_ends[t->op_links.at[i].backward] = true;
    if (find_threads(&w)) {
        lpo_order_sort(w.forwards.at, w.forwards.len, forward_before, t);
        find_owners(&w);
        find_entries(&w);
        if (w.arrow_ends)
            link_engine(&w);
        out->launch_op = lpo_xrealloc(NULL, t->launches.len, sizeof *out->launch_op);
        memset(out->launch_op, 0xff, t->launches.len * sizeof *out->launch_op);
        out->recomputed = lpo_xcalloc(t->launches.len, sizeof *out->recomputed);
        sweep(&w);
    }
    free(w.kinds);
    free(w.threads);
    free(w.arrow_ends);
    lpo_vec_free(&w.forwards);
    lpo_vec_free(&w.entries);
    lpo_vec_free(&w.counts);
    lpo_vec_free(&w.owners);
    lpo_vec_free(&w.most);
    lpo_map_pair_free(&w.linked);
    lpo_map_pair_free(&w.votes);
    lpo_map_pair_free(&w.chosen);
}

void lpo_region_backward_free(struct lpo_region_backward *b)
{
    lpo_vec_free(&b->ops);
    free(b->launch_op);
    free(b->recomputed);
    b->launch_op = NULL;
    b->recomputed = NULL;
}

uint32_t lpo_region_backward_thread(const struct lpo_region_backward *b, const struct lpo_trace *t,
                                    uint32_t launch)
{
    uint32_t op = b->launch_op ? b->launch_op[launch] : LPO_NONE;

    if (op == LPO_NONE)
        return LPO_NONE;
    while (b->ops.at[op].around != LPO_NONE) /* out of what was recomputed */
        op = b->ops.at[op].around;
    return t->ops.at[b->ops.at[op].forward].thread;
}
