/* SPDX-License-Identifier: Apache-2.0 */
/* Gaps around the first launch of a kernel. When a kernel is launched for the first time, its code
 * may have to be loaded, chosen or compiled, and a library to be set up. A gap belongs to that
 * where the host spent it in an operator that launches such a kernel, or in the launch call itself;
 * where the host did something else before, the kernel is new by chance. */
#include "analysis/wall/new_kernels.h"

#include <stdlib.h>
#include <string.h>

#include "trace/trace.h"
#include "util/map.h"
#include "util/search.h"

/* Pairs of operator and gap that are looked at: a damaged file may have all operators around all
 * gaps. Real ones have a few operators around each. */
enum { MOST_PAIRS = 20000000 };

/* A launch: which thread, and when it began. */
struct moment {
    uint32_t thread;
    int64_t ns;
};

typedef LPO_VEC(struct moment) moments;

struct candidate {
    struct moment launch;
    int64_t launch_end_ns;
    int64_t gap_start_ns, gap_end_ns;
    int64_t inner_start_ns, inner_end_ns; /* the innermost operator around the launch; INT64_MIN:
                                             none yet */
    uint32_t op;
};

typedef LPO_VEC(struct candidate) candidates;

static bool covers_half(const struct candidate *c, int64_t start_ns, int64_t end_ns)
{
    int64_t from = start_ns > c->gap_start_ns ? start_ns : c->gap_start_ns;
    int64_t to = end_ns < c->gap_end_ns ? end_ns : c->gap_end_ns;

    return to > from && to - from >= c->gap_end_ns - c->gap_start_ns - (to - from);
}

static void take(const struct lpo_trace *t, const struct lpo_wall_late_gap *g, candidates *out)
{
    const struct lpo_gpu_op *op = &t->gpu_ops.at[g->op];
    const struct lpo_launch *l;

    if (op->launch == LPO_NONE)
        return;
    l = &t->launches.at[op->launch];
    lpo_vec_push(out, ((struct candidate){ .launch = { l->thread, l->start_ns },
                                           .launch_end_ns = l->end_ns,
                                           .gap_start_ns = op->start_ns - g->ns,
                                           .gap_end_ns = op->start_ns,
                                           .inner_start_ns = INT64_MIN,
                                           .op = g->op }));
}

static int by_thread_and_time(const void *x, const void *y)
{
    const struct moment *a = x, *b = y;

    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    return a->ns < b->ns ? -1 : a->ns > b->ns;
}

static int candidates_in_order(const void *x, const void *y)
{
    return by_thread_and_time(&((const struct candidate *)x)->launch,
                              &((const struct candidate *)y)->launch);
}

/* The first launch of each kernel in each process. A kernel whose first run has no launch record
 * ran before the recording began, for all that is known. */
static void find_first_launches(const struct lpo_trace *t, moments *out)
{
    struct lpo_map_pair rows = { 0 };
    LPO_VEC(uint32_t) earliest = { 0 }; /* of gpu_ops */
    bool fresh;

    for (size_t i = 0; i < t->gpu_ops.len; i++) {
        const struct lpo_gpu_op *op = &t->gpu_ops.at[i];
        uint64_t process = op->launch == LPO_NONE
                               ? UINT64_MAX
                               : t->threads.at[t->launches.at[op->launch].thread].process;
        uint32_t row;

        if (op->kind != LPO_KERNEL)
            continue;
        row = lpo_map_pair_put(&rows, op->name, process, &fresh);
        if (fresh)
            lpo_vec_push(&earliest, (uint32_t)i);
        else if (op->start_ns < t->gpu_ops.at[earliest.at[row]].start_ns)
            earliest.at[row] = (uint32_t)i;
    }
    for (size_t i = 0; i < earliest.len; i++) {
        const struct lpo_gpu_op *op = &t->gpu_ops.at[earliest.at[i]];
        uint32_t unknown = lpo_map_pair_find(&rows, op->name, UINT64_MAX);
        const struct lpo_launch *l = op->launch == LPO_NONE ? NULL : &t->launches.at[op->launch];

        if (l &&
            (unknown == UINT32_MAX || op->start_ns <= t->gpu_ops.at[earliest.at[unknown]].start_ns))
            lpo_vec_push(out, ((struct moment){ l->thread, l->start_ns }));
    }
    if (out->len)
        qsort(out->at, out->len, sizeof *out->at, by_thread_and_time);
    lpo_vec_free(&earliest);
    lpo_map_pair_free(&rows);
}

/* Was a kernel launched for the first time by this thread in [start, end]? */
static bool any_first(const moments *firsts, uint32_t thread, int64_t start_ns, int64_t end_ns)
{
    struct moment key = { thread, start_ns };
    size_t low = 0, high = firsts->len;

    lpo_search(low, high, at, by_thread_and_time(&firsts->at[at], &key) < 0);
    return low < firsts->len && firsts->at[low].thread == thread && firsts->at[low].ns <= end_ns;
}

/* The first candidate of this thread whose launch did not begin before. */
static size_t candidate_from(const candidates *c, uint32_t thread, int64_t start_ns)
{
    struct moment key = { thread, start_ns };
    size_t low = 0, high = c->len;

    lpo_search(low, high, at, by_thread_and_time(&c->at[at].launch, &key) < 0);
    return low;
}

/* "aten::addmm" is work of the framework; "Optimizer.step#SGD.step" may hold any Python. */
static bool is_framework(const struct lpo_trace *t, const struct lpo_op *o)
{
    return strstr(lpo_trace_text(t, o->name), "::") != NULL;
}

/* An operator of less than half of the shortest gap cannot cover half of any. */
static void find_operators(const struct lpo_trace *t, candidates *c, int64_t least_ns)
{
    size_t pairs = 0;

    for (size_t i = 0; i < t->ops.len && pairs < MOST_PAIRS; i++) {
        const struct lpo_op *o = &t->ops.at[i];

        if (o->end_ns - o->start_ns < least_ns / 2)
            continue;
        for (size_t k = candidate_from(c, o->thread, o->start_ns);
             k < c->len && c->at[k].launch.thread == o->thread && c->at[k].launch.ns <= o->end_ns;
             k++) {
            pairs++;
            if (c->at[k].launch_end_ns > o->end_ns || c->at[k].inner_start_ns > o->start_ns)
                continue;
            c->at[k].inner_start_ns = o->start_ns;
            c->at[k].inner_end_ns = is_framework(t, o) ? o->end_ns : o->start_ns;
        }
    }
}

static bool is_new(const struct candidate *c, const moments *firsts)
{
    if (c->inner_start_ns != INT64_MIN && covers_half(c, c->inner_start_ns, c->inner_end_ns))
        return any_first(firsts, c->launch.thread, c->inner_start_ns, c->inner_end_ns);
    return covers_half(c, c->launch.ns, c->launch_end_ns) &&
           any_first(firsts, c->launch.thread, c->launch.ns, c->launch.ns);
}

/* The longest gap, and the next one, before one kernel on one GPU. */
struct longest {
    int64_t ns[2];
};

/* Drops kernels before which the host is as late again later: that is no first call. */
static void drop_those_that_come_again(const struct lpo_trace *t, candidates *c)
{
    struct lpo_map_pair rows = { 0 };
    LPO_VEC(struct longest) all = { 0 };
    size_t kept = 0;
    bool fresh;

    for (size_t i = 0; i < c->len; i++) {
        const struct lpo_gpu_op *op = &t->gpu_ops.at[c->at[i].op];
        uint32_t row = lpo_map_pair_put(&rows, op->name, op->device, &fresh);
        int64_t ns = c->at[i].gap_end_ns - c->at[i].gap_start_ns, *two;

        if (fresh)
            lpo_vec_push(&all, (struct longest){ 0 });
        two = all.at[row].ns;
        two[1] = ns > two[0] ? two[0] : ns > two[1] ? ns : two[1];
        two[0] = ns > two[0] ? ns : two[0];
    }
    for (size_t i = 0; i < c->len; i++) {
        const struct lpo_gpu_op *op = &t->gpu_ops.at[c->at[i].op];
        const int64_t *two = all.at[lpo_map_pair_find(&rows, op->name, op->device)].ns;
        int64_t ns = c->at[i].gap_end_ns - c->at[i].gap_start_ns;

        if (op->kind != LPO_KERNEL || (ns == two[0] ? two[1] : two[0]) < ns / 2)
            c->at[kept++] = c->at[i];
    }
    c->len = kept;
    lpo_vec_free(&all);
    lpo_map_pair_free(&rows);
}

static int by_row(const void *x, const void *y)
{
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;

    return a < b ? -1 : a > b;
}

void lpo_wall_new_kernels(const struct lpo_trace *t, const lpo_wall_late_gaps *gaps,
                          lpo_wall_rows *out)
{
    candidates c = { 0 };
    moments firsts = { 0 };

    for (size_t i = 0; i < gaps->len; i++)
        take(t, &gaps->at[i], &c);
    if (!c.len)
        return;
    drop_those_that_come_again(t, &c);
    if (c.len)
        qsort(c.at, c.len, sizeof *c.at, candidates_in_order);
    find_first_launches(t, &firsts);
    find_operators(t, &c, LPO_WALL_LATE_NS);
    for (size_t i = 0; i < c.len; i++)
        if (is_new(&c.at[i], &firsts))
            lpo_vec_push(out, c.at[i].op);
    if (out->len)
        qsort(out->at, out->len, sizeof *out->at, by_row);
    lpo_vec_free(&firsts);
    lpo_vec_free(&c);
}

bool lpo_wall_is_new_kernel(const lpo_wall_rows *rows, uint32_t op)
{
    return rows->len && bsearch(&op, rows->at, rows->len, sizeof op, by_row);
}
