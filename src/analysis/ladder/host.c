/* SPDX-License-Identifier: Apache-2.0 */
/* What the launching threads do between launches: data loading, compilation, allocation, other
 * work, and launching itself. Each moment of a thread belongs to one of them.
 *
 * The slices of a thread (ranges, operators, modules, Python frames, calls) make a tree of
 * contexts: what was open, in what. A context whose time on the path is nearly all in long
 * stretches without a launch is work that could be done elsewhere; what is left is the price of
 * launching. */

#include "trace/host.h"
#include "analysis/analysis.h"
#include "analysis/ladder/private.h"
#include "analysis/phases/phases.h"
#include "analysis/steps/steps.h"
#include "rules/rules.h"

enum {
    MOST_CONTEXTS = 1 << 20,
    LEAST_LONG_NS = 100000,
    LONG_TIMES = 8,
    SAMPLES = 4096,
    FIRST_TIMES = 5
};

/* What a slice of this name is for, whatever it lies in: conf/rules/findings.yaml. The first that
 * fits. */
struct known {
    int rung;
    const char *part;
    bool call; /* an API call alone */
};

static const struct lpo_rules_member known_members[] = {
    { "rung", offsetof(struct known, rung), LPO_RULES_INT, lpo_ladder_ids, NULL },
    LPO_RULES_MEMBER(known, TEXT, part),
    LPO_RULES_MEMBER(known, FLAG, call),
};
static struct lpo_rules_table known =
    LPO_RULES_TABLE("findings", "host_work", known_members, known);

enum { NO_KIND = LPO_RUNG_KINDS };

/* What a profiler itself adds to a thread for each slice that it records there: a Python frame with
 * its two events, an operator with its shapes. docs/findings.md has where the figures are from. A
 * range around an operator, with its shapes as text, costs what the trace shows: range_cost(). */
enum { FRAME_COST_NS = 500, OPERATOR_COST_NS = 700 };

struct context {
    uint32_t parent, name, kind;
    uint8_t rung;            /* enum lpo_rung_kind by its name or what it lies in; NO_KIND */
    bool named;              /* by its own name */
    uint32_t candidate;      /* LPO_NONE */
    int64_t all_ns, long_ns; /* of the path; after add_up() what lies in it too */
    int64_t most_ns;         /* the longest visit */
    int64_t total_ns;        /* of the window, on the path or not */
    uint64_t visits;
    uint32_t step, steps; /* the last step with a visit on the path; how many */
};

struct piece;

/* What was counted of a candidate: of all its contexts. */
struct sum {
    int64_t ns, most_ns;
    uint64_t visits;
    uint32_t step, steps;
};

struct host {
    struct ladder_work *w;
    LPO_VEC(struct context) all; /* row 0: in nothing */
    struct lpo_map_pair rows;
    uint8_t *kind_of; /* per name: 1 + kind, by slices of any kind; 0: not looked up */
    bool *is_step;    /* per name: 1: a step, which is no context of its own */
    int64_t long_ns, range_cost_ns;
    void (*each)(struct host *h, const struct piece *p);
    bool counted;                              /* contexts were counted in the first pass */
    uint32_t launch, first, compile, profiler; /* candidates */
    int64_t launch_ns, first_ns, compile_ns;
    int64_t gpu_begins_ns; /* the first launch returns; without steps what is before comes once */
    const struct lpo_phases *phases;
    struct sum sums[CRITICAL_EXPERIMENTS];
};

static int known_kind(const struct host *h, uint32_t name, unsigned slice)
{
    const char *text = lpo_trace_text(h->w->t, name);
    size_t count;
    const struct known *all = lpo_rules_rows(&known, &count);

    for (size_t i = 0; i < count; i++)
        if ((!all[i].call || slice == LPO_HOST_CALL) && strstr(text, all[i].part))
            return all[i].rung;
    return NO_KIND;
}

/* All steps are one context: their names differ in numbers. */
static bool is_step(const struct host *h, const struct lpo_slice *s)
{
    struct lpo_step_facts facts;
    int family;

    return s->kind & (LPO_HOST_RANGE | LPO_HOST_OP) &&
           lpo_steps_read_name(lpo_trace_text(h->w->t, s->name), &family, &facts);
}

static uint32_t context_of(struct host *h, uint32_t parent, const struct lpo_slice *s)
{
    struct context c = {
        .parent = parent, .name = s->name, .kind = s->kind, .candidate = LPO_NONE, .step = LPO_NONE
    };
    bool fresh, step;
    uint32_t row;

    if (h->all.len >= MOST_CONTEXTS || s->name == LPO_NONE)
        return parent;
    step = is_step(h, s);
    row = 1 + lpo_map_pair_put(&h->rows, parent,
                               step ? LPO_HOST_RANGE : (uint64_t)(s->name + 1) << 9 | s->kind,
                               &fresh);
    if (!fresh)
        return row;
    c.rung = h->all.at[parent].rung;
    if (c.rung == NO_KIND || s->kind == LPO_HOST_CALL) {
        int k = known_kind(h, s->name, s->kind);

        c.named = k != NO_KIND;
        c.rung = c.named ? (uint8_t)k : c.rung;
    }
    if (h->counted)
        c.candidate = h->all.at[parent].candidate;
    else if (step)
        c.candidate = LPO_NONE - 1; /* a step: its parts are looked at */
    lpo_vec_push(&h->all, c);
    return row;
}

/* --- one sweep over a thread --- */

struct frame {
    int64_t end_ns;
    uint32_t context;
};

struct sweep {
    struct host *h;
    struct lpo_host_walk walk;
    struct lpo_slice next;
    bool any_next;
    LPO_VEC(struct frame) stack;
    int64_t cost_ns; /* of slices that were opened since the last piece */
};

static int64_t cost_of(const struct host *h, const struct lpo_slice *s)
{
    const struct lpo_trace *t = h->w->t;

    if (s->kind & (LPO_HOST_PYTHON | LPO_HOST_MODULE))
        return FRAME_COST_NS;
    if (s->kind == LPO_HOST_OP && t->python.len)
        return OPERATOR_COST_NS;
    return s->kind == LPO_HOST_RANGE && strstr(lpo_trace_text(t, s->name), "op_id =")
               ? h->range_cost_ns
               : 0;
}

static void open_until(struct sweep *s, int64_t ns)
{
    while (s->any_next && s->next.start_ns <= ns) {
        uint32_t parent;

        while (s->stack.len && s->stack.at[s->stack.len - 1].end_ns <= s->next.start_ns)
            s->stack.len--;
        parent = s->stack.len ? s->stack.at[s->stack.len - 1].context : 0;
        if (s->next.end_ns > s->next.start_ns) {
            uint32_t context = context_of(s->h, parent, &s->next);
            struct context *c = &s->h->all.at[context];

            if (!s->h->counted && context != parent) {
                int64_t ns_of = s->next.end_ns - s->next.start_ns;

                c->visits++;
                c->total_ns += ns_of;
                c->most_ns = ns_of > c->most_ns ? ns_of : c->most_ns;
            }
            lpo_vec_push(&s->stack, (struct frame){ s->next.end_ns, context });
        }
        s->cost_ns += cost_of(s->h, &s->next);
        s->any_next = lpo_host_next(&s->walk, &s->next);
    }
    while (s->stack.len && s->stack.at[s->stack.len - 1].end_ns <= ns)
        s->stack.len--;
}

/* A stretch of the host before a call, or inside it. */
struct piece {
    uint32_t call, context;
    bool in_call, is_long;
    int64_t start_ns, ns, path_ns, cost_ns;
};

/* The end of the window on a thread: what is before it launches nothing. */
static bool is_end(const struct host *h, uint32_t call)
{
    const struct critical_graph *g = &h->w->g;

    return lpo_ladder_is_mark(h->w, call) && !lpo_ladder_is_rest(h->w, call) &&
           (call + 1 == g->calls.len ||
            lpo_critical_thread(g, call + 1) != lpo_critical_thread(g, call));
}

static bool is_framework(const char *name)
{
    return lpo_str_starts(name, "aten::") || lpo_str_starts(name, "autograd::") ||
           lpo_str_starts(name, "torch::") || strstr(name, "Backward");
}

/* Without steps the first launch is where the capture began, and the program with it. */
static bool begins(const struct host *h, const struct piece *p)
{
    return !h->w->out->window.steps && p->start_ns < h->gpu_begins_ns;
}

/* Half of what the host needs for a launch is what graphs and fusion usually save of it: not all of
 * a program can be captured. A long stretch in no operator or call is something else, and the trace
 * does not say what. */
static int64_t launching(const struct host *h, const struct piece *p, int64_t ns)
{
    const struct context *c = &h->all.at[p->context];
    bool launches = lpo_critical_launch(&h->w->g, p->call) != LPO_NONE;
    bool unknown = p->is_long && !(c->kind & (LPO_HOST_OP | LPO_HOST_CALL));

    if ((p->in_call && !launches) || is_end(h, p->call) || unknown || begins(h, p))
        return 0;
    return ns / 2;
}

/* What comes once, by analysis/phases: the candidate that it belongs to; NULL: it is steady. */
static uint32_t *once(struct host *h, const struct piece *p, int64_t **ns)
{
    enum lpo_run_phase phase = lpo_phases_at(h->phases, h->w->out->process, p->start_ns);

    if (phase == LPO_PHASE_STEADY || is_end(h, p->call) || begins(h, p))
        return NULL;
    *ns = phase == LPO_PHASE_COMPILE && h->w->out->window.steps ? &h->compile_ns : &h->first_ns;
    return *ns == &h->compile_ns ? &h->compile : &h->first;
}

/* Before the first launch only data is worth a word: the rest is the start of the program. */
static bool starts_up(const struct host *h, const struct piece *p)
{
    return begins(h, p) && h->all.at[p->context].rung != LPO_RUNG_DATA;
}

static void sum_piece(struct host *h, const struct piece *p)
{
    uint32_t step = h->w->steps ? lpo_ladder_step_at(h->w, p->start_ns) : LPO_NONE;
    struct context *c = &h->all.at[p->context];

    if (starts_up(h, p) || p->path_ns <= 0)
        return;
    c->all_ns += p->path_ns;
    c->long_ns += p->is_long ? p->path_ns : 0;
    /* what is around a context with that step has it already */
    for (; c->step != step; c = &h->all.at[c->parent]) {
        c->step = step;
        c->steps++;
    }
}

/* Rows come after those that they lie in. */
static void add_up(struct host *h)
{
    for (size_t i = h->all.len; i-- > 1;) {
        struct context *around = &h->all.at[h->all.at[i].parent];

        around->all_ns += h->all.at[i].all_ns;
        around->long_ns += h->all.at[i].long_ns;
    }
}

/* What lies in the context of a candidate is that candidate. */
static void hand_down(struct host *h)
{
    for (size_t i = 0; i < h->all.len; i++) {
        struct context *c = &h->all.at[i];

        if (c->candidate >= LPO_NONE - 1)
            c->candidate = i ? h->all.at[c->parent].candidate : LPO_NONE;
    }
}

static void count_step(struct host *h, uint32_t candidate, const struct piece *p)
{
    struct sum *s = &h->sums[candidate];
    uint32_t step = h->w->steps ? lpo_ladder_step_at(h->w, p->start_ns) : LPO_NONE;

    if (p->path_ns <= 0 || (s->steps && step == s->step))
        return;
    s->step = step;
    s->steps++;
}

static void emit_piece(struct host *h, const struct piece *p)
{
    uint32_t candidate = h->all.at[p->context].candidate, *at;
    int64_t ns = p->ns, *sum;

    if (starts_up(h, p))
        return;

    if (h->profiler != LPO_NONE && p->cost_ns && !is_end(h, p->call)) {
        int64_t cost = p->cost_ns < ns ? p->cost_ns : ns;

        lpo_critical_replay_edit(&h->w->replay,
                                 p->in_call ? CRITICAL_EDIT_CALL : CRITICAL_EDIT_HOST, p->call,
                                 h->profiler, cost);
        ns -= cost;
    }
    if (candidate == LPO_NONE && (at = once(h, p, &sum))) {
        candidate = *at;
    } else if (candidate == LPO_NONE) {
        candidate = h->launch;
        ns = launching(h, p, ns);
    }
    if (candidate == LPO_NONE)
        return;
    count_step(h, candidate, p);
    lpo_critical_replay_edit(&h->w->replay, p->in_call ? CRITICAL_EDIT_CALL : CRITICAL_EDIT_HOST,
                             p->call, candidate, ns);
    if (candidate != h->launch && p->in_call && lpo_critical_launch(&h->w->g, p->call) == LPO_NONE)
        lpo_critical_replay_edit(&h->w->replay, CRITICAL_EDIT_WAIT, p->call, candidate, 0);
}

/* Of the path, what no context took: launching, or what comes once. */
static void sum_rest(struct host *h, const struct piece *p)
{
    int64_t *sum;

    if (h->all.at[p->context].candidate != LPO_NONE)
        return;
    if (once(h, p, &sum))
        *sum += p->path_ns;
    else
        h->launch_ns += launching(h, p, p->path_ns);
}

static void sweep_stretch(struct sweep *s, uint32_t call, bool in_call, int64_t from, int64_t to)
{
    struct host *h = s->h;
    int64_t path = in_call ? h->w->in_ns[call] : h->w->before_ns[call], all = to - from;
    bool is_long = !in_call && all >= h->long_ns;

    while (from < to) {
        int64_t until = to;
        struct piece p = { .call = call, .in_call = in_call, .is_long = is_long, .start_ns = from };

        open_until(s, from);
        if (s->stack.len) {
            const struct frame *top = &s->stack.at[s->stack.len - 1];

            p.context = top->context;
            until = top->end_ns < until ? top->end_ns : until;
        }
        if (s->any_next && s->next.start_ns < until)
            until = s->next.start_ns;
        p.ns = until - from;
        p.cost_ns = s->cost_ns;
        s->cost_ns = 0;
        p.path_ns = path >= all ? p.ns : (int64_t)((double)p.ns * (double)path / (double)all);
        h->each(h, &p);
        from = until;
    }
}

/* The calls of a graph stand thread by thread. */
static void sweep_all(struct host *h)
{
    struct critical_graph *g = &h->w->g;
    struct sweep s = { .h = h };
    uint32_t thread = LPO_NONE;
    int64_t done = 0;

    for (uint32_t i = 0; i < g->calls.len; i++) {
        struct critical_span c = lpo_critical_times(g, i);
        uint32_t before = g->calls.at[i].before;

        if (lpo_critical_thread(g, i) != thread) {
            thread = lpo_critical_thread(g, i);
            s.walk = lpo_host_walk(h->w->t, thread, LPO_HOST_SLICES);
            s.any_next = lpo_host_next(&s.walk, &s.next);
            s.stack.len = 0;
            done = h->w->out->window.start_ns;
        }
        if (before != LPO_NONE) {
            int64_t from = lpo_critical_times(g, before).end_ns;

            if (from <= c.start_ns)
                sweep_stretch(&s, i, false, from > done ? from : done, c.start_ns);
        }
        sweep_stretch(&s, i, true, c.start_ns > done ? c.start_ns : done, c.end_ns);
        done = c.end_ns > done ? c.end_ns : done;
    }
    lpo_vec_free(&s.stack);
}

/* From the start of a range around an operator to the start of the first one in it hardly more is
 * done than writing that one's text: a quarter of them take less than this. */
static int64_t range_cost(const struct lpo_trace *t)
{
    LPO_FREED LPO_VEC(int64_t) ns = { 0 };

    for (uint32_t thread = 0; thread < t->threads.len; thread++) {
        struct lpo_host_rows rows = lpo_host_rows(t, thread, LPO_HOST_RANGE);
        size_t every = rows.len / SAMPLES + 1;

        for (size_t i = 0; i + 1 < rows.len; i += every) {
            struct lpo_slice a = lpo_host_slice(t, LPO_HOST_RANGE, rows.at[i]);
            struct lpo_slice b = lpo_host_slice(t, LPO_HOST_RANGE, rows.at[i + 1]);

            if (b.start_ns < a.end_ns && strstr(lpo_trace_text(t, a.name), "op_id =") &&
                strstr(lpo_trace_text(t, b.name), "op_id ="))
                lpo_vec_push(&ns, b.start_ns - a.start_ns);
        }
    }
    if (ns.len)
        lpo_order_sort_ns(ns.at, ns.len);
    return ns.len ? ns.at[ns.len / 4] : 0;
}

/* --- which contexts are worth an experiment --- */

/* From how long on a stretch without a launch is more than the price of a launch. */
static int64_t find_long(const struct critical_graph *g)
{
    LPO_FREED LPO_VEC(int64_t) all = { 0 };
    size_t every = g->calls.len / SAMPLES + 1;
    int64_t out = LEAST_LONG_NS;

    for (uint32_t i = 0; i < g->calls.len; i += every)
        if (g->calls.at[i].before != LPO_NONE)
            lpo_vec_push(&all, lpo_critical_times(g, i).start_ns -
                                   lpo_critical_times(g, g->calls.at[i].before).end_ns);
    if (all.len) {
        lpo_order_sort_ns(all.at, all.len);
        if (LONG_TIMES * all.at[all.len / 2] > out)
            out = LONG_TIMES * all.at[all.len / 2];
    }
    return out;
}

/* Rows of contexts by parent: first child, next sibling. */
struct family {
    uint32_t *child, *next;
};

/* A line of Python: of the context's main line downwards the first of the user, else of those
 * around it. */
static uint32_t code_of(const struct host *h, const struct family *f, uint32_t context)
{
    const struct lpo_trace *t = h->w->t;
    uint32_t any = LPO_NONE;

    for (uint32_t at = context; at != 0; at = h->all.at[at].parent) {
        if (h->all.at[at].kind != LPO_HOST_PYTHON)
            continue;
        if (lpo_ladder_is_user_code(lpo_trace_text(t, h->all.at[at].name)))
            return h->all.at[at].name;
        any = any == LPO_NONE ? h->all.at[at].name : any;
    }
    for (uint32_t at = f->child[context]; at != LPO_NONE; at = f->next[at])
        if (h->all.at[at].kind == LPO_HOST_PYTHON &&
            2 * h->all.at[at].all_ns > h->all.at[context].all_ns)
            return h->all.at[at].name;
    return any;
}

/* The first part of a context that has most of it, and most of that in one name. */
static uint32_t main_child(const struct host *h, const struct family *f, uint32_t context,
                           bool only_long)
{
    uint32_t best = LPO_NONE;

    for (uint32_t at = f->child[context]; at != LPO_NONE; at = f->next[at])
        if (best == LPO_NONE || (only_long ? h->all.at[at].long_ns > h->all.at[best].long_ns
                                           : h->all.at[at].all_ns > h->all.at[best].all_ns))
            best = at;
    return best;
}

static enum lpo_rung_kind kind_of(const struct host *h, const struct context *c)
{
    uint64_t steps = h->w->out->window.steps;

    if (c->rung != NO_KIND)
        return (enum lpo_rung_kind)c->rung;
    return steps >= 5 && c->steps && c->steps * 3 <= steps ? LPO_RUNG_PAUSE : LPO_RUNG_HOST;
}

static void describe(const struct host *h, const struct family *f, uint32_t at, struct lpo_rung *r)
{
    const struct context *c = &h->all.at[at];

    r->name = c->name;
    r->code = code_of(h, f, at);
    lpo_ladder_fact(r, LPO_FACT_HOST_TIME, LPO_NONE, 0, 0, 0); /* add_sums() */
    if (h->w->out->window.steps > 1)
        lpo_ladder_fact(r, LPO_FACT_STEPS, LPO_NONE, 0, 0, 0);
    for (uint32_t in = main_child(h, f, at, false); in != LPO_NONE;
         in = main_child(h, f, in, false)) {
        uint32_t below = main_child(h, f, in, false);

        if (2 * h->all.at[in].all_ns < c->all_ns)
            break;
        if (below != LPO_NONE && 2 * h->all.at[below].all_ns > c->all_ns)
            continue;
        lpo_ladder_fact(r, LPO_FACT_INSIDE, h->all.at[in].name, (double)h->all.at[in].all_ns, 0, 0);
        break;
    }
}

static void add_context(struct host *h, const struct context *c)
{
    struct sum *s = c->candidate == LPO_NONE ? NULL : &h->sums[c->candidate];

    if (!s)
        return;
    s->ns += c->all_ns;
    s->visits += c->visits;
    s->most_ns = c->most_ns > s->most_ns ? c->most_ns : s->most_ns;
}

/* Contexts of one kind and name are one experiment; of compilation, first calls and the allocator
 * all are. */
static void make_candidate(struct host *h, const struct family *f, uint32_t at)
{
    struct context *c = &h->all.at[at];
    enum lpo_rung_kind kind = kind_of(h, c);
    bool all = kind == LPO_RUNG_COMPILE || kind == LPO_RUNG_FIRST || kind == LPO_RUNG_ALLOCATOR ||
               kind == LPO_RUNG_DATA;
    struct lpo_rung rung = {
        .kind = kind, .basis = LPO_BASIS_SIMULATED, .code = LPO_NONE, .node = LPO_NONE
    };

    for (uint32_t i = 0; i < h->w->candidates.len; i++) {
        struct ladder_candidate *x = &h->w->candidates.at[i];

        if (x->rung.kind == kind && (all || x->rung.name == c->name)) {
            c->candidate = i;
            x->bound_ns += c->all_ns;
            add_context(h, c);
            return;
        }
    }
    describe(h, f, at, &rung);
    c->candidate = lpo_ladder_add(h->w, rung, c->all_ns);
    add_context(h, c);
}

/* Work of one name may be spread over many contexts; a small one is taken where its kind is known.
 */
static bool is_enough(const struct host *h, int64_t ns)
{
    return ns > 0 && ns >= h->w->out->window.wall_ns / 100;
}

static void pick(struct host *h, const struct family *f, uint32_t at, int depth)
{
    struct context *c = &h->all.at[at];
    uint32_t best = main_child(h, f, at, true);
    /* what lasts for nearly the whole window is the program, not a part of it */
    bool whole = c->candidate == LPO_NONE - 1 || c->total_ns > h->w->out->window.wall_ns / 10 * 9;
    int64_t in_parts = 0;

    if (c->candidate == LPO_NONE - 1)
        c->candidate = LPO_NONE;
    if (c->rung != NO_KIND && c->named) {
        make_candidate(h, f, at);
        if (c->candidate != LPO_NONE)
            return;
    }
    if (depth > 1000)
        return;
    for (uint32_t i = f->child[at]; i != LPO_NONE; i = f->next[i])
        in_parts += is_enough(h, h->all.at[i].long_ns) || h->all.at[i].rung != NO_KIND
                        ? h->all.at[i].long_ns
                        : 0;
    /* most of it is in parts that are worth a look, or it does other things too */
    if (at != 0 && !whole && !is_framework(lpo_trace_text(h->w->t, c->name)) &&
        is_enough(h, c->long_ns) && c->long_ns >= c->all_ns / 5 * 4 &&
        !(best != LPO_NONE && in_parts >= c->long_ns / 5 * 4)) {
        make_candidate(h, f, at);
        return;
    }
    for (uint32_t i = f->child[at]; i != LPO_NONE; i = f->next[i])
        if (h->all.at[i].all_ns > 0)
            pick(h, f, i, depth + 1);
}

static void pick_all(struct host *h)
{
    struct family f = { lpo_xrealloc(NULL, h->all.len, sizeof *f.child),
                        lpo_xrealloc(NULL, h->all.len, sizeof *f.next) };

    for (uint32_t i = 0; i < h->all.len; i++)
        f.child[i] = f.next[i] = LPO_NONE;
    for (uint32_t i = (uint32_t)h->all.len; i-- > 1;) {
        f.next[i] = f.child[h->all.at[i].parent];
        f.child[h->all.at[i].parent] = i;
    }
    pick(h, &f, 0, 0);
    free(f.child);
    free(f.next);
}

/* --- launching, and what comes once --- */

/* Where most is launched: the region, and the outermost operator. */
static void find_launches(const struct host *h, struct lpo_rung *r)
{
    const struct ladder_work *w = h->w;
    int64_t *host_ns = lpo_ladder_wants(w), most = 0;
    LPO_FREED struct lpo_map_pair rows = { 0 };
    LPO_FREED LPO_VEC(int64_t) sums = { 0 };
    struct lpo_slice s, outer;
    uint32_t best = LPO_NONE;
    bool fresh;

    for (uint32_t i = 0; i < w->g.ops.len; i++) {
        uint32_t call = w->g.ops.at[i].call, op, row;

        if (call == LPO_NONE)
            continue;
        host_ns[i] = w->before_ns[call] + w->in_ns[call];
        if (!lpo_ladder_around(w, i, &s))
            continue;
        while (lpo_host_parent(w->t, &s, LPO_HOST_OP, &outer) && !is_step(h, &outer))
            s = outer;
        if (is_step(h, &s)) /* launched between operators: a step is no place */
            continue;
        op = s.name;
        row = lpo_map_pair_put(&rows, op, 0, &fresh);
        if (fresh)
            lpo_vec_push(&sums, 0);
        sums.at[row] += host_ns[i];
        if (sums.at[row] > most) {
            most = sums.at[row];
            best = op;
        }
    }
    r->node = lpo_ladder_main_region(w, host_ns);
    if (best != LPO_NONE)
        lpo_ladder_fact(r, LPO_FACT_MOST_LAUNCHES, best, (double)most, 0, 0);
    free(host_ns);
}

static void add_launching(struct host *h)
{
    struct ladder_work *w = h->w;
    struct lpo_rung r = { .kind = LPO_RUNG_LAUNCH,
                          .basis = LPO_BASIS_ESTIMATED,
                          .name = LPO_NONE,
                          .code = LPO_NONE,
                          .node = LPO_NONE };
    uint64_t launches = 0, graphs = 0, kernels = 0;
    int64_t host_ns = 0, gpu_ns = 0;

    for (uint32_t i = 0; i < w->g.calls.len; i++)
        if (lpo_critical_launch(&w->g, i) != LPO_NONE) {
            host_ns += w->before_ns[i] + w->in_ns[i];
            launches++;
        }
    for (uint32_t i = 0; i < w->g.ops.len; i++) {
        const struct lpo_gpu_op *op = lpo_critical_gpu_op(&w->g, i);

        kernels += op->kind == LPO_KERNEL;
        graphs += (op->flags & LPO_GPU_OP_GRAPH) != 0;
        gpu_ns += lpo_trace_gpu_op_ns(op);
    }
    if (!launches || !w->g.ops.len)
        return;
    lpo_ladder_fact(&r, LPO_FACT_LAUNCHES, LPO_NONE, (double)launches,
                    (double)host_ns / (double)launches, (double)gpu_ns / (double)w->g.ops.len);
    if (graphs)
        lpo_ladder_fact(&r, LPO_FACT_GRAPHS, LPO_NONE, (double)graphs, (double)kernels, 0);
    if (lpo_ladder_is_compiled(w))
        lpo_ladder_fact(&r, LPO_FACT_COMPILED, LPO_NONE, 0, 0, 0);
    find_launches(h, &r);
    h->launch = lpo_ladder_add(w, r, h->launch_ns);
}

/* The time on the host stays that of the old name. */
static void rename_rung(struct lpo_rung *r, uint32_t name)
{
    for (size_t i = 0; i < r->nevidence; i++)
        if (r->evidence[i].fact == LPO_FACT_HOST_TIME)
            r->evidence[i].name = r->name;
    r->name = name;
}

/* The candidate that contexts of this kind already are; else one of its own, named by the longest
 * first call. */
static uint32_t add_once(struct host *h, enum lpo_rung_kind kind, int64_t ns)
{
    struct lpo_rung r = { .kind = kind,
                          .basis = LPO_BASIS_SIMULATED,
                          .name = LPO_NONE,
                          .code = LPO_NONE,
                          .node = LPO_NONE };
    const struct lpo_first_call *f =
        h->phases->first_calls.len ? &h->phases->first_calls.at[0] : NULL;
    uint32_t at = LPO_NONE;

    for (uint32_t i = 0; i < h->w->candidates.len; i++)
        if (h->w->candidates.at[i].rung.kind == kind)
            at = i;
    if (f && kind == LPO_RUNG_FIRST) {
        r.name = f->name;
        lpo_ladder_fact(&r, LPO_FACT_FIRST, f->name, (double)(f->end_ns - f->start_ns),
                        (double)f->later_ns, 0);
    }
    if (at == LPO_NONE)
        return lpo_ladder_add(h->w, r, ns);
    h->w->candidates.at[at].bound_ns += ns;
    if (r.name != LPO_NONE && ns > h->sums[at].ns)
        rename_rung(&h->w->candidates.at[at].rung, r.name);
    if (r.nevidence && ns > 0)
        lpo_ladder_fact(&h->w->candidates.at[at].rung, LPO_FACT_FIRST, f->name,
                        r.evidence[0].value[0], r.evidence[0].value[1], 0);
    return at;
}

static void find_begin(struct host *h)
{
    uint32_t first = LPO_NONE;

    h->gpu_begins_ns = INT64_MIN;
    for (uint32_t i = 0; first == LPO_NONE && i < h->w->g.ops.len; i++)
        first = h->w->g.ops.at[i].call;
    if (first != LPO_NONE)
        h->gpu_begins_ns = lpo_critical_times(&h->w->g, first).end_ns;
}

/* What stands in the evidence of all contexts of a candidate. */
static void add_sums(struct host *h)
{
    for (size_t i = 0; i < h->w->candidates.len; i++) {
        struct lpo_rung *r = &h->w->candidates.at[i].rung;
        const struct sum *s = &h->sums[i];

        for (size_t k = 0; k < r->nevidence; k++) {
            struct lpo_evidence *e = &r->evidence[k];

            if (e->fact == LPO_FACT_HOST_TIME) {
                e->value[0] = (double)s->ns;
                e->value[1] = (double)s->visits;
                e->value[2] = (double)s->most_ns;
            } else if (e->fact == LPO_FACT_STEPS) {
                e->value[0] = s->steps;
                e->value[1] = (double)h->w->out->window.steps;
                e->value[2] = (double)s->ns / (s->steps ? s->steps : 1);
            }
        }
    }
}

void lpo_ladder_host(struct ladder_work *w)
{
    struct host h = { .w = w,
                      .launch = LPO_NONE,
                      .profiler = LPO_NONE,
                      .first = LPO_NONE,
                      .compile = LPO_NONE,
                      .each = sum_piece,
                      .phases = lpo_analysis_phases(w->a) };

    lpo_vec_push(&h.all, (struct context){ .parent = 0,
                                           .name = LPO_NONE,
                                           .rung = NO_KIND,
                                           .candidate = LPO_NONE,
                                           .step = LPO_NONE });
    if (lpo_ladder_operator_ranges(w->t) >= w->t->gpu_ops.len ||
        w->t->python.len >= w->t->gpu_ops.len)
        h.profiler = w->profiler = lpo_ladder_add(
            w, (struct lpo_rung){ .kind = LPO_RUNG_KINDS, .name = LPO_NONE, .code = LPO_NONE },
            w->out->window.wall_ns);
    h.long_ns = find_long(&w->g);
    h.range_cost_ns = h.profiler == LPO_NONE ? 0 : range_cost(w->t);
    find_begin(&h);
    sweep_all(&h);
    add_up(&h);
    pick_all(&h);
    hand_down(&h);
    h.counted = true;
    h.each = sum_rest;
    sweep_all(&h);
    h.first = add_once(&h, LPO_RUNG_FIRST, h.first_ns);
    h.compile = add_once(&h, LPO_RUNG_COMPILE, h.compile_ns);
    add_launching(&h);
    h.each = emit_piece;
    if (w->candidates.len)
        sweep_all(&h);
    add_sums(&h);
    lpo_vec_free(&h.all);
    lpo_map_pair_free(&h.rows);
}
