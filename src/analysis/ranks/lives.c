/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks as stretches between their collectives. */
#include "analysis/ranks/lives.h"

#include "analysis/steps/steps.h"
#include "analysis/wall/collectives.h"
#include "analysis/wall/computing.h"
#include "analysis/wall/private.h"
#include "region/tree.h"

enum { LEAST_WAIT_NS = 4000, BEHIND_NS = 5000, LINES = 64 };

/* A GPU operation that is a collective of a family. */
struct matched {
    uint32_t op, instance, family;
};

struct build {
    const struct lpo_trace *t;
    const struct lpo_region_tree *tree;
    const struct lpo_ranks *r;
    struct ranks_lives *out;
    LPO_VEC(struct matched) matched; /* by op */
};

static void add_interval(struct lpo_wall_computing *c, int64_t start_ns, int64_t end_ns)
{
    struct lpo_gpu_op op = { .start_ns = start_ns, .end_ns = end_ns };

    if (end_ns > start_ns)
        lpo_wall_computing_add(c, &op);
}

static bool is_stop(const struct build *b, const struct lpo_gpu_op *op)
{
    return op->kind == LPO_KERNEL && lpo_wall_communicates(b->tree, op->name);
}

/* Stretches of `all` that are not in `busy`. */
static struct lpo_wall_computing without(const struct lpo_wall_computing *all,
                                         const struct lpo_wall_computing *busy)
{
    struct lpo_wall_computing out = { 0 };
    size_t at = 0;

    for (size_t i = 0; i < all->all.len; i++) {
        int64_t from = all->all.at[i].start_ns, end = all->all.at[i].end_ns;

        while (at < busy->all.len && busy->all.at[at].end_ns <= from)
            at++;
        for (size_t k = at; from < end; k++) {
            bool more = k < busy->all.len && busy->all.at[k].start_ns < end;

            add_interval(&out, from, more ? busy->all.at[k].start_ns : end);
            from = more ? busy->all.at[k].end_ns : end;
        }
    }
    return out;
}

LPO_COMPARE(by_end, struct ranks_join, LPO_UP(ns) ?: LPO_UP(stop));

/* Exposed collectives that ended before anything else began: the device waited for them. What is
 * left of the exposed time is a gap between kernels. Times are still those of the rank. */
static struct lpo_wall_computing find_waits(struct ranks_life *life,
                                            const struct lpo_wall_computing *exposed)
{
    struct lpo_wall_computing out = { 0 };
    size_t at = 0, kept = 0;

    for (size_t i = 0; i < life->stops.len; i++)
        lpo_vec_push(&life->joins, (struct ranks_join){ 0, life->stops.at[i].end_ns, (uint32_t)i });
    lpo_vec_sort(&life->joins, by_end);
    for (size_t i = 0; i < exposed->all.len; i++) {
        const struct lpo_wall_stretch *x = &exposed->all.at[i];
        size_t first;

        while (at < life->joins.len && life->joins.at[at].ns <= x->start_ns)
            at++;
        first = at;
        while (at < life->joins.len && life->joins.at[at].ns <= x->end_ns)
            at++;
        if (at == first || life->joins.at[at - 1].ns - x->start_ns < LEAST_WAIT_NS)
            continue;
        add_interval(&out, x->start_ns, life->joins.at[at - 1].ns);
        for (size_t k = first; k < at; k++)
            life->joins.at[kept++] =
                (struct ranks_join){ 0, life->joins.at[at - 1].ns, life->joins.at[k].stop };
    }
    life->joins.len = kept;
    return out;
}

/* --- one device --- */

static uint16_t line_of(uint32_t *streams, struct ranks_life *life, uint32_t stream)
{
    uint16_t i = 0;

    while (i < life->lines && streams[i] != stream)
        i++;
    if (i == life->lines && i < LINES)
        streams[life->lines++] = stream;
    return i < LINES ? i : LINES - 1;
}

LPO_COMPARE(by_op, struct matched, LPO_UP(op));

static const struct matched *find_matched(const struct build *b, uint32_t op)
{
    const struct matched key = { .op = op };

    return b->matched.len
               ? bsearch(&key, b->matched.at, b->matched.len, sizeof *b->matched.at, by_op)
               : NULL;
}

static void add_stop(struct build *b, struct ranks_life *life, uint32_t row, uint32_t *streams)
{
    const struct lpo_gpu_op *op = &b->t->gpu_ops.at[row];
    const struct matched *at = find_matched(b, row);
    struct ranks_stop s = { .start_ns = op->start_ns,
                            .end_ns = op->end_ns,
                            .op = row,
                            .meeting = at ? at->instance : LPO_NONE,
                            .family = at ? at->family : LPO_NONE };

    s.line = line_of(streams, life, op->stream);
    lpo_vec_push(&life->stops, s);
}

/* When the first step began on this rank, where that is before its first GPU operation. */
static int64_t first_moment(const struct build *b, const struct lpo_program_steps *steps,
                            const struct lpo_gpu_op *first)
{
    int64_t ns = INT64_MAX;

    for (size_t i = 0; steps && i < steps->rows.len; i++)
        if (steps->rows.at[i].process == first->process && steps->rows.at[i].start_ns < ns)
            ns = steps->rows.at[i].start_ns;
    (void)b;
    return ns < first->start_ns ? ns : first->start_ns;
}

/* The end of all that was launched before, by moment of launch. */
struct launched {
    int64_t ns, end_ns;
};

typedef LPO_VEC(struct launched) launched_vec;

LPO_COMPARE(by_launch, struct launched, LPO_UP(ns));

static int64_t ready_at(const launched_vec *all, int64_t launch_ns)
{
    size_t from = 0, to = all->len;

    while (from < to) {
        size_t middle = from + (to - from) / 2;

        if (all->at[middle].ns < launch_ns)
            from = middle + 1;
        else
            to = middle;
    }
    return from && all->at[from - 1].end_ns > launch_ns ? all->at[from - 1].end_ns : launch_ns;
}

static int by_post(const void *x, const void *y)
{
    const struct ranks_stop *a = x, *b = y;

    if (a->post_ns != b->post_ns)
        return a->post_ns < b->post_ns ? -1 : 1;
    return a->start_ns != b->start_ns ? (a->start_ns < b->start_ns ? -1 : 1)
           : a->op < b->op            ? -1
                                      : 1;
}

/* Behind another one on its stream a collective starts when that has ended. It was posted when what
 * was launched before it had ended. */
static void find_posts(const struct build *b, struct ranks_life *life, launched_vec *all)
{
    int64_t *ends = lpo_xcalloc((size_t)life->lines + 1, sizeof *ends);
    int64_t *posts = lpo_xcalloc((size_t)life->lines + 1, sizeof *posts);

    lpo_vec_sort(all, by_launch);
    for (size_t i = 1; i < all->len; i++)
        if (all->at[i].end_ns < all->at[i - 1].end_ns)
            all->at[i].end_ns = all->at[i - 1].end_ns;
    for (size_t i = 0; i < life->stops.len; i++) {
        struct ranks_stop *s = &life->stops.at[i];
        uint32_t launch = b->t->gpu_ops.at[s->op].launch;
        int64_t ready;

        s->post_ns = s->start_ns;
        if (ends[s->line] && s->start_ns - ends[s->line] < BEHIND_NS && launch != LPO_NONE) {
            ready = ready_at(all, b->t->launches.at[launch].start_ns);
            ready =
                ready > posts[s->line] ? ready : posts[s->line]; /* in the order of the stream */
            s->post_ns = ready < s->start_ns ? ready : s->start_ns;
        }
        ends[s->line] = s->end_ns;
        posts[s->line] = s->post_ns;
    }
    free(ends);
    free(posts);
    lpo_vec_sort(&life->stops, by_post);
}

struct unions {
    struct lpo_wall_computing compute, busy, stops, exposed, waits;
};

static int64_t position(const struct unions *u, int64_t ns)
{
    return ns - lpo_wall_computed_before(&u->waits, ns);
}

static void measure(struct ranks_life *life, const struct unions *u)
{
    int64_t from = life->start_ns, at = position(u, from);

    life->start_at_ns = at;
    life->end_at_ns = position(u, life->end_ns);
    for (size_t i = 0; i < life->stops.len; i++) {
        struct ranks_stop *s = &life->stops.at[i];
        int64_t compute = lpo_wall_computed_before(&u->compute, s->post_ns) -
                          lpo_wall_computed_before(&u->compute, from);
        int64_t busy = lpo_wall_computed_before(&u->busy, s->post_ns) -
                       lpo_wall_computed_before(&u->busy, from);

        s->at_ns = position(u, s->post_ns);
        s->parts[RANKS_COMPUTE] = compute;
        s->parts[RANKS_COPY] = busy - compute;
        s->parts[RANKS_IDLE] = s->at_ns - at - busy;
        from = s->post_ns;
        at = s->at_ns;
    }
    for (size_t i = 0; i < life->joins.len; i++)
        life->joins.at[i].at_ns = position(u, life->joins.at[i].ns);
}

static void to_common(const struct lpo_rank_row *row, struct ranks_life *life)
{
    for (size_t i = 0; i < life->stops.len; i++) {
        life->stops.at[i].start_ns = lpo_ranks_common_ns(row, life->stops.at[i].start_ns);
        life->stops.at[i].end_ns = lpo_ranks_common_ns(row, life->stops.at[i].end_ns);
        life->stops.at[i].post_ns = lpo_ranks_common_ns(row, life->stops.at[i].post_ns);
    }
    for (size_t i = 0; i < life->joins.len; i++)
        life->joins.at[i].ns = lpo_ranks_common_ns(row, life->joins.at[i].ns);
    life->start_ns = lpo_ranks_common_ns(row, life->start_ns);
    life->end_ns = lpo_ranks_common_ns(row, life->end_ns);
}

static void add_life(struct build *b, const struct lpo_program_steps *steps, uint32_t row,
                     const uint32_t *ops, size_t count)
{
    const struct lpo_gpu_op *first = &b->t->gpu_ops.at[ops[0]];
    struct ranks_life life = { .row = row, .device = first->device };
    uint32_t streams[LINES];
    struct unions u = { 0 };
    launched_vec launched = { 0 };

    life.start_ns = first_moment(b, steps, first);
    for (size_t i = 0; i < count; i++) {
        const struct lpo_gpu_op *op = &b->t->gpu_ops.at[ops[i]];
        bool stop = is_stop(b, op);

        life.end_ns = i && life.end_ns > op->end_ns ? life.end_ns : op->end_ns;
        lpo_wall_computing_add(stop ? &u.stops : &u.busy, op);
        if (stop)
            add_stop(b, &life, ops[i], streams);
        else if (op->kind == LPO_KERNEL)
            lpo_wall_computing_add(&u.compute, op);
        if (!stop && op->launch != LPO_NONE)
            lpo_vec_push(&launched,
                         (struct launched){ b->t->launches.at[op->launch].start_ns, op->end_ns });
    }
    find_posts(b, &life, &launched);
    lpo_vec_free(&launched);
    u.exposed = without(&u.stops, &u.busy);
    u.waits = find_waits(&life, &u.exposed);
    measure(&life, &u);
    to_common(&b->r->rows.at[row], &life);
    lpo_vec_push(&b->out->all, life);
    lpo_wall_computing_free(&u.compute);
    lpo_wall_computing_free(&u.busy);
    lpo_wall_computing_free(&u.stops);
    lpo_wall_computing_free(&u.exposed);
    lpo_wall_computing_free(&u.waits);
}

static uint32_t row_of(const struct lpo_ranks *r, int32_t rank)
{
    for (size_t i = 0; i < r->rows.len; i++)
        if (r->rows.at[i].rank == rank)
            return r->rows.at[i].aligned ? (uint32_t)i : LPO_NONE;
    return LPO_NONE;
}

/* --- the job --- */

/* Who waits how long, and how long the sending takes. */
static void meet(struct ranks_lives *l)
{
    LPO_FREED int64_t *last = lpo_xcalloc(l->meetings + 1, sizeof *last);

    l->members = lpo_xcalloc(l->meetings + 1, sizeof *l->members);
    for (size_t i = 0; i < l->all.len; i++)
        for (size_t k = 0; k < l->all.at[i].stops.len; k++) {
            const struct ranks_stop *s = &l->all.at[i].stops.at[k];

            if (s->meeting != LPO_NONE &&
                (!l->members[s->meeting]++ || s->start_ns > last[s->meeting]))
                last[s->meeting] = s->start_ns;
        }
    for (size_t i = 0; i < l->all.len; i++)
        for (size_t k = 0; k < l->all.at[i].stops.len; k++) {
            struct ranks_stop *s = &l->all.at[i].stops.at[k];

            s->alone = s->meeting == LPO_NONE || l->members[s->meeting] < 2 ||
                       s->end_ns <= last[s->meeting];
            s->wait_ns = s->alone ? 0 : last[s->meeting] - s->start_ns;
            s->send_ns = s->end_ns - s->start_ns - s->wait_ns;
        }
}

/* Of two numbers in their order. */
static uint64_t mix(uint64_t a, uint64_t b)
{
    a = (a * 31 + b + 1) * UINT64_C(0x9E3779B97F4A7C15);
    return a ^ (a >> 29);
}

static uint64_t kind_of(const struct build *b, const struct ranks_stop *s)
{
    const struct ranks_family *f = &b->out->families->at[s->family];
    const struct lpo_collective *said = lpo_wall_collective_said(b->t, s->op);
    uint64_t h = mix(1, f->group_ranks);

    for (const char *c = f->kind; *c; c++)
        h = mix(h, (unsigned char)*c);
    if (lpo_measure_known(f->bytes))
        h = mix(h, (uint64_t)f->bytes.value);
    return f->together || !said ? h : mix(h, said->kind);
}

/* Ranks that do the same before a collective: it is of the same kind and size and the same in its
 * order, and so is the one before it. */
static void find_same(struct build *b)
{
    for (size_t i = 0; i < b->out->all.len; i++) {
        struct ranks_life *life = &b->out->all.at[i];
        uint64_t before = 1;

        for (size_t k = 0; k < life->stops.len; k++) {
            struct ranks_stop *s = &life->stops.at[k];
            uint64_t kind = s->meeting == LPO_NONE ? 0 : kind_of(b, s);
            uint32_t first = kind ? b->out->families->at[s->family].first_instance : 0;

            s->same = kind && before ? mix(mix(before, kind), s->meeting - first) : 0;
            before = kind;
        }
    }
}

static int by_row(const void *x, const void *y)
{
    uint32_t a = ((const struct ranks_life *)x)->row, b = ((const struct ranks_life *)y)->row;

    return a < b ? -1 : a > b;
}

static void find_all(struct build *b, const struct lpo_program_steps *steps)
{
    struct lpo_wall_order order = lpo_wall_order_find(b->t);
    bool *seen = lpo_xcalloc(b->r->rows.len + 1, sizeof *seen);

    for (size_t i = 0; i < order.count;) {
        size_t end = lpo_wall_order_device(&order, b->t, i);
        uint32_t row = row_of(b->r, b->t->devices.at[b->t->gpu_ops.at[order.rows[i]].device].rank);

        if (row != LPO_NONE && !seen[row]) {
            seen[row] = true;
            add_life(b, steps, row, order.rows + i, end - i);
        }
        i = end;
    }
    free(seen);
    lpo_wall_order_free(&order);
    lpo_vec_sort(&b->out->all, by_row);
}

LPO_COMPARE(by_start, struct ranks_stop *const, LPO_UP_OF((*a)->start_ns, (*b)->start_ns));

/* A profiler may record a job in windows, minutes apart. Seconds in which nobody communicates are
 * no part of it where they are together several times what is left. */
static int64_t find_gaps(const struct ranks_lives *l)
{
    const int64_t least_ns = 1000000000;
    LPO_FREED LPO_VEC(const struct ranks_stop *) all = { 0 };
    int64_t until = INT64_MAX, ns = 0;

    for (size_t i = 0; i < l->all.len; i++)
        for (size_t k = 0; k < l->all.at[i].stops.len; k++)
            lpo_vec_push(&all, &l->all.at[i].stops.at[k]);
    lpo_vec_sort(&all, by_start);
    for (size_t i = 0; i < all.len; i++) {
        if (until != INT64_MAX && all.at[i]->start_ns - until > least_ns)
            ns += all.at[i]->start_ns - until;
        until = until == INT64_MAX || all.at[i]->end_ns > until ? all.at[i]->end_ns : until;
    }
    return ns > 3 * (l->end_ns - l->start_ns - ns) ? ns : 0;
}

void lpo_ranks_lives_find(const struct lpo_region_tree *tree, const struct lpo_program_steps *steps,
                          const struct lpo_ranks *r, struct ranks_lives *out)
{
    struct build b = { .t = tree->trace, .tree = tree, .r = r, .out = out };

    *out = (struct ranks_lives){ .meetings = r->kept->instances,
                                 .families = &r->kept->families,
                                 .start_ns = INT64_MAX,
                                 .end_ns = INT64_MIN };
    for (size_t i = 0; i < out->families->len; i++)
        for (size_t k = 0; k < out->families->at[i].series.len; k++) {
            const ranks_events *v = &out->families->at[i].series.at[k].events;

            for (size_t n = 0; n < v->len; n++)
                lpo_vec_push(&b.matched,
                             (struct matched){ v->at[n].op, v->at[n].instance, (uint32_t)i });
        }
    lpo_vec_sort(&b.matched, by_op);
    find_all(&b, steps);
    lpo_vec_free(&b.matched);
    meet(out);
    find_same(&b);
    for (size_t i = 0; i < out->all.len; i++) {
        const struct ranks_life *life = &out->all.at[i];

        out->start_ns = life->start_ns < out->start_ns ? life->start_ns : out->start_ns;
        out->end_ns = life->end_ns > out->end_ns ? life->end_ns : out->end_ns;
    }
    out->gaps_ns = find_gaps(out);
}

void lpo_ranks_lives_free(struct ranks_lives *l)
{
    for (size_t i = 0; i < l->all.len; i++) {
        lpo_vec_free(&l->all.at[i].stops);
        lpo_vec_free(&l->all.at[i].joins);
    }
    lpo_vec_free(&l->all);
    free(l->members);
}
