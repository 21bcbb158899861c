/* SPDX-License-Identifier: Apache-2.0 */
/* Idle time of the critical device: every gap in one bucket, every bucket a finding at most. */
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/findings/private.h"
#include "analysis/wall/new_kernels.h"
#include "region/thread_rows.h"
#include "region/tree.h"
#include "util/map.h"
#include "util/search.h"
#include "util/str.h"
#include "util/xmalloc.h"

enum {
    SHORT_GAP_NS = 200000,     /* longer: the host did not launch kernel after kernel */
    SMALL_RESULT_BYTES = 4096, /* a token, a flag, a size */
    LEAST_RESULTS = 8,         /* fewer small results are no habit */
    MANY_GAPS = 20,            /* fewer long ones are looked at one by one */
};

struct bucket {
    enum lpo_finding_kind kind;
    uint32_t call; /* name id; LPO_NONE: no single one */
    int64_t ns, longest_ns;
    int64_t launched_ns; /* of ns: the next work had been launched before the host was blocked */
    uint32_t longest_op; /* that ends the first of the longest: row of gpu_ops */
    uint64_t gaps;
};

/* The idle time of a bucket in which the host was in one operator or Python function. */
struct frame_sum {
    int64_t ns;
    uint32_t bucket, name;
};

struct frame_sums {
    LPO_VEC(struct frame_sum) all;
    struct lpo_map_pair rows; /* by bucket and name */
};

struct sorter {
    struct lpo_findings_work *w;
    lpo_findings_gaps gaps; /* of the device, in order of time until they are in buckets */
    uint32_t *before;       /* per gap: the operation that ended last before it */
    LPO_VEC(struct bucket) buckets;
    struct lpo_map_pair bucket_rows; /* by kind and call: a trace may have a name for each call */
    struct frame_sums operators, python;
    struct lpo_findings_messages messages;
    uint64_t new_gaps; /* that were put into a bucket because of one */
};

/* Calls that load or build code; calls that get or give back memory. By the beginning of the name,
 * without the library's prefix: hipMalloc, cudaMalloc and cuMemAlloc are of one kind. */
static const char *const builds[] = { "ModuleLoad", "LibraryLoad",  "GraphInstantiate",
                                      "LinkAdd",    "LinkComplete", "LinkCreate",
                                      NULL };
static const char *const allocates[] = {
    "Malloc",     "Free",         "HostAlloc",         "HostRegister", "HostUnregister",
    "MemAlloc",   "MemFree",      "MemCreate",         "MemMap",       "MemUnmap",
    "MemRelease", "MemSetAccess", "MemAddressReserve", "ExtMalloc",    NULL
};

static bool begins(const char *call, const char *const *names)
{
    static const char *const prefixes[] = { "cuda", "hip", "cu" };

    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        if (!lpo_str_starts(call, prefixes[i]))
            continue;
        for (size_t k = 0; names[k]; k++)
            if (lpo_str_starts(call + strlen(prefixes[i]), names[k]))
                return true;
    }
    return false;
}

static bool is_small_result(const struct lpo_trace *t, uint32_t row)
{
    const struct lpo_gpu_op *op = row == LPO_NONE ? NULL : &t->gpu_ops.at[row];
    const char *name = op ? lpo_trace_text(t, op->name) : "";

    return op && op->kind == LPO_COPY && op->bytes > 0 && op->bytes <= SMALL_RESULT_BYTES &&
           lpo_findings_direction(name) == LPO_TO_HOST;
}

/* Waiting for a result, not for something else that happens after a copy. */
static bool waits(const struct lpo_trace *t, const struct lpo_findings_gap *g)
{
    const char *call = g->blocked_in == LPO_NONE ? "" : lpo_trace_text(t, g->blocked_in);

    return g->ns <= SHORT_GAP_NS || strstr(call, "Synchronize") || strstr(call, "Memcpy");
}

static bool is_ping_pong(const struct sorter *s, const struct lpo_findings_gap *g)
{
    return is_small_result(s->w->trace, s->before[g - s->gaps.at]) && waits(s->w->trace, g);
}

/* The part of a gap in a first visit; 0 where that is less than nine tenths of it: the operation
 * that ends a gap often starts when the visit has just ended. */
static int64_t part_in(const struct lpo_first_call *f, int64_t start_ns, int64_t ns)
{
    int64_t from = start_ns > f->start_ns ? start_ns : f->start_ns,
            to = start_ns + ns < f->end_ns ? start_ns + ns : f->end_ns;

    return to - from >= ns - ns / 10 ? to - from : 0;
}

static bool is_in_any(const struct sorter *s, const struct lpo_findings_gap *g)
{
    const lpo_first_calls *first = &s->w->out->first;
    int64_t start_ns = lpo_findings_gap_start(s->w->trace, g);

    for (size_t i = 0; i < first->len; i++)
        if (part_in(&first->at[i], start_ns, g->ns) > 0)
            return true;
    return false;
}

/* What a gap costs as part of a first visit: that visit's own idle time is at most what it took
 * longer than later ones. The rest would be there in any visit; no finding counts it. */
static int64_t in_first_call(const struct sorter *s, const struct lpo_findings_gap *g)
{
    lpo_first_calls *first = &s->w->out->first;
    int64_t start_ns = lpo_findings_gap_start(s->w->trace, g);

    for (size_t i = 0; i < first->len; i++) {
        struct lpo_first_call *f = &first->at[i];
        int64_t left = f->end_ns - f->start_ns - f->later_ns - f->idle_ns;
        int64_t part_ns = part_in(f, start_ns, g->ns);

        if (left <= 0 || part_ns <= 0)
            continue;
        left = left < part_ns ? left : part_ns;
        f->idle_ns += left;
        return left;
    }
    return 0;
}

static void choose(struct sorter *s, struct lpo_findings_gap *g, bool ping_pong, bool in_first,
                   enum lpo_finding_kind *kind, uint32_t *call)
{
    uint32_t name = g->blocked_in;
    const char *text = name == LPO_NONE ? NULL : lpo_trace_text(s->w->trace, name);
    int64_t first_ns;

    *call = LPO_NONE;
    g->counted_ns = g->ns;
    if (text && begins(text, builds)) {
        *kind = LPO_FINDING_FIRST_CALLS;
    } else if (in_first && (first_ns = in_first_call(s, g)) > 0) {
        *kind = LPO_FINDING_FIRST_CALLS;
        g->counted_ns = first_ns;
    } else if (text && begins(text, allocates)) {
        *kind = LPO_FINDING_ALLOCATOR;
    } else if (ping_pong && is_ping_pong(s, g)) {
        *kind = LPO_FINDING_PING_PONG;
    } else if (name != LPO_NONE) {
        *kind = LPO_FINDING_BLOCKED;
        *call = name;
    } else if (lpo_wall_is_new_kernel(s->w->new_kernels, g->op)) {
        *kind = LPO_FINDING_FIRST_CALLS;
        s->new_gaps++;
    } else if (lpo_findings_messages_around(&s->messages, lpo_findings_gap_start(s->w->trace, g),
                                            lpo_findings_gap_start(s->w->trace, g) + g->ns)) {
        *kind = LPO_FINDING_MESSAGES;
    } else {
        *kind = g->ns <= SHORT_GAP_NS ? LPO_FINDING_LAUNCH_BOUND : LPO_FINDING_HOST_WORK;
    }
}

static uint32_t bucket_of(struct sorter *s, enum lpo_finding_kind kind, uint32_t call)
{
    bool fresh;
    uint32_t row = lpo_map_pair_put(&s->bucket_rows, kind, call, &fresh);

    if (fresh)
        lpo_vec_push(&s->buckets, ((struct bucket){ .kind = kind, .call = call }));
    return row;
}

static bool is_longer(const struct lpo_trace *t, int64_t ns, uint32_t op, int64_t than_ns,
                      uint32_t than_op)
{
    return ns != than_ns ? ns > than_ns
                         : t->gpu_ops.at[op].start_ns < t->gpu_ops.at[than_op].start_ns;
}

static bool longest_first(const void *sorter, uint32_t x, uint32_t y)
{
    const struct sorter *s = sorter;
    const struct lpo_findings_gap *a = &s->gaps.at[x], *b = &s->gaps.at[y];

    return is_longer(s->w->trace, a->ns, a->op, b->ns, b->op);
}

static bool longest_bucket_first(const void *sorter, uint32_t x, uint32_t y)
{
    const struct sorter *s = sorter;
    const struct bucket *a = &s->buckets.at[x], *b = &s->buckets.at[y];

    return is_longer(s->w->trace, a->longest_ns, a->longest_op, b->longest_ns, b->longest_op);
}

static void put(struct sorter *s, struct lpo_findings_gap *g, bool ping_pong, bool in_first)
{
    enum lpo_finding_kind kind;
    struct bucket *b;
    uint32_t call;

    choose(s, g, ping_pong, in_first, &kind, &call);
    g->bucket = bucket_of(s, kind, call);
    b = &s->buckets.at[g->bucket];
    if (!b->gaps || is_longer(s->w->trace, g->ns, g->op, b->longest_ns, b->longest_op)) {
        b->longest_ns = g->ns;
        b->longest_op = g->op;
    }
    b->ns += g->counted_ns;
    b->launched_ns += g->launched ? g->counted_ns : 0;
    b->gaps++;
}

/* Gaps of first visits come longest first, so that the time of a visit goes to those that make it
 * long. The others, which are nearly all, need no order. */
static void sort_into_buckets(struct sorter *s)
{
    LPO_VEC(uint32_t) in_first = { 0 };
    uint64_t results = 0;

    for (size_t i = 0; i < s->gaps.len && results < LEAST_RESULTS; i++)
        results += is_ping_pong(s, &s->gaps.at[i]);
    for (size_t i = 0; i < s->gaps.len; i++) {
        if (is_in_any(s, &s->gaps.at[i]))
            lpo_vec_push(&in_first, (uint32_t)i);
        else
            put(s, &s->gaps.at[i], results >= LEAST_RESULTS, false);
    }
    lpo_region_order_sort(in_first.at, in_first.len, longest_first, s);
    for (size_t i = 0; i < in_first.len; i++)
        put(s, &s->gaps.at[in_first.at[i]], results >= LEAST_RESULTS, true);
    lpo_vec_free(&in_first);
}

static int64_t gap_end(const struct sorter *s, size_t gap)
{
    return s->w->trace->gpu_ops.at[s->gaps.at[gap].op].start_ns;
}

/* One pass over the operations of the device: both are in order of time. */
static void find_before(struct sorter *s)
{
    const struct lpo_trace *t = s->w->trace;
    const struct lpo_findings_slack *order = &s->w->slack;
    int64_t end_ns = INT64_MIN;
    uint32_t last = LPO_NONE;
    size_t gap = 0;

    s->before = lpo_xrealloc(NULL, s->gaps.len + 1, sizeof *s->before);
    for (size_t i = 0; i < order->count && gap < s->gaps.len; i++) {
        const struct lpo_gpu_op *op = &t->gpu_ops.at[order->rows[i]];

        if (gap_end(s, gap) <= op->start_ns)
            s->before[gap++] = last;
        if (op->end_ns >= end_ns) {
            end_ns = op->end_ns;
            last = order->rows[i];
        }
    }
    while (gap < s->gaps.len)
        s->before[gap++] = LPO_NONE;
}

static uint32_t region_of(const struct lpo_findings_work *w, const struct lpo_findings_gap *g)
{
    const struct lpo_region_tree *tree = w->a->tree;

    return tree->places.at[lpo_region_place(tree, &w->trace->gpu_ops.at[g->op])].leaf;
}

static uint32_t main_region(const struct sorter *s, uint32_t bucket)
{
    const struct lpo_region_tree *tree = s->w->a->tree;
    int64_t *sums = lpo_xcalloc(tree->nodes.len + 1, sizeof *sums);
    uint32_t region;

    for (size_t i = 0; i < s->gaps.len; i++) {
        uint32_t leaf = s->gaps.at[i].bucket == bucket ? region_of(s->w, &s->gaps.at[i]) : LPO_NONE;

        if (leaf != LPO_NONE)
            sums[leaf] += s->gaps.at[i].counted_ns;
    }
    region = lpo_findings_main_region(tree, sums, s->buckets.at[bucket].ns);
    free(sums);
    return region;
}

static void add_frame(void *ctx, const struct lpo_findings_gap *g, uint32_t name, int64_t ns)
{
    struct frame_sums *sums = ctx;
    bool fresh;
    uint32_t row = lpo_map_pair_put(&sums->rows, g->bucket, name, &fresh);

    if (fresh)
        lpo_vec_push(&sums->all, ((struct frame_sum){ 0, g->bucket, name }));
    sums->all.at[row].ns += ns < g->counted_ns ? ns : g->counted_ns;
}

static void frame_sums_free(struct frame_sums *sums)
{
    lpo_vec_free(&sums->all);
    lpo_map_pair_free(&sums->rows);
}

/* The name with the most idle time, if that is a fifth of the bucket's. */
static void add_main_name(const struct sorter *s, struct lpo_finding *f, uint32_t bucket,
                          const struct frame_sums *sums, enum lpo_fact fact)
{
    const struct frame_sum *best = NULL;

    for (size_t i = 0; i < sums->all.len; i++)
        if (sums->all.at[i].bucket == bucket && (!best || sums->all.at[i].ns > best->ns))
            best = &sums->all.at[i];
    if (best && best->ns >= s->buckets.at[bucket].ns / 5)
        lpo_findings_fact_name(f, fact, (double)best->ns, best->name);
}

/* "aten::mm", "autograd::engine::…", "AddmmBackward0" */
static bool is_framework(const char *operator)
{
    return strstr(operator, "::") || strstr(operator, "Backward");
}

/* The host is late again and again, and inside operators that do nothing but launch: it is slow as
 * a whole, and no single thing that it does is at fault. */
static void add_framework(const struct sorter *s, struct lpo_finding *f, uint32_t bucket)
{
    const struct bucket *b = &s->buckets.at[bucket];
    const struct frame_sums *sums = &s->operators;
    int64_t ns = 0, most = 0;

    for (size_t i = 0; i < sums->all.len; i++)
        if (sums->all.at[i].bucket == bucket &&
            is_framework(lpo_trace_text(s->w->trace, sums->all.at[i].name))) {
            ns += sums->all.at[i].ns;
            most = sums->all.at[i].ns > most ? sums->all.at[i].ns : most;
        }
    if (b->gaps >= MANY_GAPS && ns > b->ns / 2 && most <= b->ns / 2)
        lpo_findings_fact(f, LPO_FACT_IN_FRAMEWORK, (double)ns);
}

/* The one that most of the idle time was counted as. */
static void add_first_call(struct lpo_finding *f, const lpo_first_calls *all)
{
    const struct lpo_first_call *best = NULL;

    for (size_t i = 0; i < all->len; i++)
        if (all->at[i].idle_ns > (best ? best->idle_ns : 0))
            best = &all->at[i];
    if (!best)
        return;
    lpo_findings_fact_name(f, best->numbered ? LPO_FACT_MEMBER_NS : LPO_FACT_FIRST_NS,
                           (double)(best->end_ns - best->start_ns), best->name);
    lpo_findings_fact_name(f, best->numbered ? LPO_FACT_MEMBERS_NS : LPO_FACT_LATER_NS,
                           (double)best->later_ns, best->name);
}

/* What is advised against late launches, where the program does it already. */
static void add_remedies(const struct lpo_findings_work *w, struct lpo_finding *f)
{
    const struct lpo_trace *t = w->trace;
    uint64_t graph = 0;

    for (size_t i = 0; i < w->slack.count; i++)
        graph += (t->gpu_ops.at[w->slack.rows[i]].flags & LPO_GPU_OP_GRAPH) != 0;
    if (graph)
        lpo_findings_fact(f, LPO_FACT_GRAPHS, (double)graph);
    lpo_findings_add_compiled(t, f);
}

/* Without a second call nothing shows what the first one cost more. */
static bool was_called_once(const struct lpo_region_tree *tree, uint32_t node)
{
    uint64_t calls = 0;

    if (node == LPO_NONE)
        return false;
    for (uint32_t i = tree->nodes.at[node].visits; i != LPO_NONE; i = tree->visits.at[i].next)
        calls += tree->visits.at[i].count;
    return calls == 1;
}

static void make(const struct sorter *s, uint32_t bucket)
{
    const struct bucket *b = &s->buckets.at[bucket];
    struct lpo_finding *f = lpo_findings_add(s->w, b->kind, b->ns);

    if (!f)
        return;
    f->name = b->call;
    if (s->w->other)
        return;
    f->node = main_region(s, bucket);
    if (b->kind == LPO_FINDING_MESSAGES) /* before the gaps: they are what the others follow from */
        lpo_findings_messages_facts(&s->messages, f);
    lpo_findings_fact(f, LPO_FACT_IDLE_NS, (double)b->ns);
    lpo_findings_fact(f, LPO_FACT_GAPS, (double)b->gaps);
    if (b->gaps > 1)
        lpo_findings_fact(f, LPO_FACT_LONGEST_NS, (double)b->longest_ns);
    if (b->call != LPO_NONE)
        lpo_findings_fact_name(f, LPO_FACT_IN_CALL, 0, b->call);
    if (b->kind == LPO_FINDING_FIRST_CALLS)
        add_first_call(f, &s->w->out->first);
    if (b->kind == LPO_FINDING_FIRST_CALLS && s->new_gaps)
        lpo_findings_fact(f, LPO_FACT_NEW_KERNELS, (double)s->new_gaps);
    add_main_name(s, f, bucket, &s->operators, LPO_FACT_IN_OPERATOR);
    add_main_name(s, f, bucket, &s->python, LPO_FACT_IN_PYTHON);
    if (b->kind == LPO_FINDING_BLOCKED && b->launched_ns > b->ns / 2)
        lpo_findings_fact(f, LPO_FACT_LAUNCHED_NS, (double)b->launched_ns);
    if (b->kind == LPO_FINDING_HOST_WORK)
        add_framework(s, f, bucket);
    if (b->kind == LPO_FINDING_LAUNCH_BOUND)
        add_remedies(s->w, f);
    if ((b->kind == LPO_FINDING_HOST_WORK || b->kind == LPO_FINDING_ALLOCATOR) &&
        was_called_once(s->w->a->tree, f->node))
        lpo_findings_fact(f, LPO_FACT_CALLED_ONCE, 0);
}

static void take_gaps(struct sorter *s)
{
    const lpo_findings_gaps *all = s->w->gaps;
    const struct lpo_gpu_op *ops = s->w->trace->gpu_ops.at;
    uint16_t device = s->w->critical->device;
    size_t low = 0, high = all->len;

    lpo_search(low, high, i, ops[all->at[i].op].device < device);
    for (; low < all->len && ops[all->at[low].op].device == device; low++)
        lpo_vec_push(&s->gaps, all->at[low]);
}

static void make_all(struct sorter *s)
{
    uint32_t *order = lpo_xrealloc(NULL, s->buckets.len + 1, sizeof *order);

    for (uint32_t i = 0; i < s->buckets.len; i++)
        order[i] = i;
    lpo_region_order_sort(order, s->buckets.len, longest_bucket_first, s);
    for (size_t i = 0; i < s->buckets.len; i++)
        make(s, order[i]);
    free(order);
}

void lpo_findings_idle(struct lpo_findings_work *w)
{
    struct sorter s = { .w = w };

    if (!w->critical->idle_ns)
        return;
    take_gaps(&s);
    find_before(&s);
    lpo_findings_messages_find(w, &s.messages);
    sort_into_buckets(&s);
    free(s.before); /* the next step has the largest need of memory */
    if (!w->other) {
        lpo_findings_gaps_by_thread(w->trace, &s.gaps);
        lpo_findings_host_frames(w->trace, &s.gaps, false, add_frame, &s.operators);
        lpo_findings_host_frames(w->trace, &s.gaps, true, add_frame, &s.python);
    }
    make_all(&s);
    frame_sums_free(&s.operators);
    frame_sums_free(&s.python);
    lpo_findings_messages_free(&s.messages);
    lpo_vec_free(&s.buckets);
    lpo_map_pair_free(&s.bucket_rows);
    lpo_vec_free(&s.gaps);
}
