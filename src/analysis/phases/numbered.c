/* SPDX-License-Identifier: Apache-2.0 */
/* A program that numbers its regions ("step0", "step1", …) comes along each path once, so no path
 * has later visits. Its first step is compared with the others instead: with ranges whose paths
 * differ only in numbers. Numbers may also stand for different work (a prompt and its tokens, a
 * layer of another kind, a step that was cut), so both must give the GPU about as much to do. */

#include "analysis/phases/private.h"
#include "trace/trace.h"
#include "util/checked.h"

enum {
    MOST_FAMILIES = 16, /* the GPU's work is summed for each of them in one pass over the trace */
    LEAST_LATER = LPO_PHASES_LEAST_LATER
};

typedef LPO_VEC(uint32_t) numbers;

/* Visits of a path that come too seldom to be compared with each other. Not of operators that
 * PyTorch numbers: two of them may get other shapes. */
static void keep_rare(lpo_phases_visits *all)
{
    LPO_FREED struct lpo_map_pair rows = { 0 };
    LPO_FREED numbers counts = { 0 };
    size_t kept = 0;
    bool fresh;

    for (size_t i = 0; i < all->len; i++) {
        uint32_t row = lpo_map_pair_put(&rows, all->at[i].key, all->at[i].process, &fresh);

        if (fresh)
            lpo_vec_push(&counts, 0);
        counts.at[row]++;
    }
    for (size_t i = 0; i < all->len; i++)
        if (all->at[i].family != LPO_NONE &&
            counts.at[lpo_map_pair_find(&rows, all->at[i].key, all->at[i].process)] <= LEAST_LATER)
            all->at[kept++] = all->at[i];
    all->len = kept;
}

LPO_COMPARE(by_family_and_start, struct lpo_phases_visit, LPO_UP(family) ?: LPO_UP(start_ns));

static int by_length(const void *x, const void *y)
{
    const struct lpo_phases_visit *a = x, *b = y;
    int64_t i = a->end_ns - a->start_ns, k = b->end_ns - b->start_ns;

    return i < k ? -1 : i > k;
}

/* The first of a family beside one of usual length, and the GPU time of what each launched. */
struct pair {
    struct lpo_phases_visit first, usual;
    int64_t first_gpu_ns, usual_gpu_ns;
    size_t later;
};

typedef LPO_VEC(struct pair) pairs;

static int64_t length(const struct lpo_phases_visit *v)
{
    return v->end_ns - v->start_ns;
}

static int64_t extra(const struct pair *p)
{
    return length(&p->first) - length(&p->usual);
}

static int longest_first(const void *x, const void *y)
{
    const struct pair *a = x, *b = y;

    if (extra(a) != extra(b))
        return extra(a) > extra(b) ? -1 : 1;
    return a->first.start_ns < b->first.start_ns ? -1 : a->first.start_ns > b->first.start_ns;
}

static bool is_longer(const struct pair *p, int times)
{
    return length(&p->first) / times >= length(&p->usual) && extra(p) > 0;
}

/* `v` is one family in order of time, and is put into another order. */
static void compare_family(int64_t least_ns, struct lpo_phases_visit *v, size_t count, pairs *out)
{
    struct pair p = { .first = v[0], .later = count - 1 };

    if (count < 1 + LEAST_LATER)
        return;
    for (size_t i = 1; i < count; i++) /* a layer that is always the longest one is no first call */
        if (v[i].key == v[0].key && length(&v[0]) / LPO_PHASES_FIRST_TIMES < length(&v[i]))
            return;
    qsort(v + 1, count - 1, sizeof *v, by_length);
    p.usual = v[1 + (count - 1) / 2];
    if (is_longer(&p, LPO_PHASES_FIRST_TIMES) && extra(&p) >= least_ns &&
        length(&p.first) > length(&v[count - 1])) /* or it is within what the others vary */
        lpo_vec_push(out, p);
}

static bool holds(const struct lpo_phases_visit *v, const struct lpo_launch *l, uint16_t process)
{
    return v->process == process && l->start_ns >= v->start_ns && l->end_ns <= v->end_ns;
}

/* Work of any thread of the process: the backward pass has one of its own. */
static void sum_work(const struct lpo_trace *t, pairs *all)
{
    for (size_t i = 0; i < t->gpu_ops.len && all->len; i++) {
        const struct lpo_gpu_op *op = &t->gpu_ops.at[i];
        const struct lpo_launch *l = op->launch == LPO_NONE ? NULL : &t->launches.at[op->launch];
        uint16_t process = l ? t->threads.at[l->thread].process : 0;

        for (size_t k = 0; l && op->kind == LPO_KERNEL && k < all->len; k++) {
            struct pair *p = &all->at[k];

            if (holds(&p->first, l, process))
                p->first_gpu_ns = lpo_ns_add(p->first_gpu_ns, lpo_trace_gpu_op_ns(op));
            if (holds(&p->usual, l, process))
                p->usual_gpu_ns = lpo_ns_add(p->usual_gpu_ns, lpo_trace_gpu_op_ns(op));
        }
    }
}

/* Where no work is known to be in them, nothing shows that they do the same. */
static bool is_first_call(const struct pair *p, bool any_work)
{
    if (any_work && !p->first_gpu_ns && !p->usual_gpu_ns)
        return is_longer(p, LPO_PHASES_UNLIKE_TIMES);
    return p->first_gpu_ns / 2 <= p->usual_gpu_ns &&
           p->first_gpu_ns - p->usual_gpu_ns < extra(p) / 2;
}

void lpo_phases_find_numbered(const struct lpo_trace *t, int64_t least_ns, lpo_phases_visits *all,
                              lpo_first_calls *out)
{
    LPO_FREED pairs found = { 0 };

    keep_rare(all);
    lpo_vec_sort(all, by_family_and_start);
    for (size_t i = 0; i < all->len;) {
        size_t from = i;

        while (i < all->len && all->at[i].family == all->at[from].family)
            i++;
        compare_family(least_ns, &all->at[from], i - from, &found);
    }
    lpo_vec_sort(&found, longest_first);
    if (found.len > MOST_FAMILIES)
        found.len = MOST_FAMILIES;
    sum_work(t, &found);
    for (size_t i = 0; i < found.len; i++) {
        const struct pair *p = &found.at[i];

        if (is_first_call(p, t->gpu_ops.len > 0))
            lpo_vec_push(out, ((struct lpo_first_call){ .start_ns = p->first.start_ns,
                                                        .end_ns = p->first.end_ns,
                                                        .later_ns = length(&p->usual),
                                                        .later = p->later,
                                                        .name = p->first.name,
                                                        .process = p->first.process,
                                                        .numbered = true }));
    }
}
