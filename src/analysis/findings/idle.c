/* SPDX-License-Identifier: Apache-2.0 */
/* Idle time of the critical device: every gap in one bucket, every bucket a finding at most. */
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/findings/private.h"
#include "region/tree.h"
#include "util/map.h"
#include "util/str.h"
#include "util/xmalloc.h"

enum {
    SHORT_GAP_NS = 200000,     /* longer: the host did not launch kernel after kernel */
    SMALL_RESULT_BYTES = 4096, /* a token, a flag, a size */
    LEAST_RESULTS = 8,         /* fewer small results are no habit */
};

struct bucket {
    enum lpo_finding_kind kind;
    uint32_t call; /* name id; LPO_NONE: no single one */
    int64_t ns, longest_ns;
    uint64_t gaps;
};

struct sorter {
    struct lpo_findings_work *w;
    uint32_t *before; /* per GPU operation that ends a gap: the operation before it */
    lpo_findings_gaps gaps;
    LPO_VEC(struct bucket) buckets;
    struct lpo_map_pair bucket_rows; /* by kind and call: a trace may have a name for each call */
};

/* Calls that load or build code; calls that get or give back memory. By the beginning of the name,
 * without the library's prefix: hipMalloc, cudaMalloc and cuMemAlloc are of one kind. */
static const char *const builds[] = {
    "ModuleLoad", "LibraryLoad",       "GraphInstantiate",     "LinkAdd",           "LinkComplete",
    "LinkCreate", "ModuleGetFunction", "ModuleGetLoadingMode", "FuncGetAttributes", "OccupancyMax",
    NULL
};
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
    const char *call = g->cause == LPO_IDLE_BLOCKED && g->call != LPO_NONE
                           ? lpo_trace_text(t, t->calls.at[g->call].name)
                           : "";

    return g->ns <= SHORT_GAP_NS || strstr(call, "Synchronize") || strstr(call, "Memcpy");
}

static bool is_ping_pong(const struct sorter *s, const struct lpo_findings_gap *g)
{
    return (g->cause == LPO_IDLE_BLOCKED || g->cause == LPO_IDLE_HOST) &&
           is_small_result(s->w->trace, s->before[g->op]) && waits(s->w->trace, g);
}

/* What a gap costs as part of a first visit: that visit's own idle time is at most what it took
 * longer than later ones. The rest would be there in any visit; no finding counts it. */
static int64_t in_first_call(lpo_first_calls *first, const struct lpo_findings_gap *g)
{
    for (size_t i = 0; i < first->len; i++) {
        struct lpo_first_call *f = &first->at[i];
        int64_t left = f->end_ns - f->start_ns - f->later_ns - f->idle_ns;

        if (left <= 0 || g->start_ns < f->start_ns || g->start_ns + g->ns > f->end_ns)
            continue;
        left = left < g->ns ? left : g->ns;
        f->idle_ns += left;
        return left;
    }
    return 0;
}

static void choose(struct sorter *s, struct lpo_findings_gap *g, bool ping_pong,
                   enum lpo_finding_kind *kind, uint32_t *call)
{
    const struct lpo_trace *t = s->w->trace;
    bool blocked = g->cause == LPO_IDLE_BLOCKED;
    uint32_t name = blocked && g->call != LPO_NONE ? t->calls.at[g->call].name : LPO_NONE;
    const char *text = name == LPO_NONE ? "" : lpo_trace_text(t, name);
    int64_t first_ns;

    *call = LPO_NONE;
    g->counted_ns = g->ns;
    if (begins(text, builds)) {
        *kind = LPO_FINDING_FIRST_CALLS;
    } else if ((first_ns = in_first_call(&s->w->out->first, g)) > 0) {
        *kind = LPO_FINDING_FIRST_CALLS;
        g->counted_ns = first_ns;
    } else if (begins(text, allocates)) {
        *kind = LPO_FINDING_ALLOCATOR;
    } else if (ping_pong && is_ping_pong(s, g)) {
        *kind = LPO_FINDING_PING_PONG;
    } else if (blocked) {
        *kind = LPO_FINDING_BLOCKED;
        *call = name;
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

static void collect(void *ctx, const struct lpo_wall_device *d, const struct lpo_wall_gap *g)
{
    struct sorter *s = ctx;
    struct lpo_findings_gap gap = { .start_ns = g->start_ns,
                                    .ns = g->ns,
                                    .op = g->op,
                                    .call = g->call,
                                    .thread = lpo_wall_gap_thread(s->w->trace, g),
                                    .bucket = LPO_NONE,
                                    .operator_name = LPO_NONE,
                                    .python_name = LPO_NONE,
                                    .cause = g->cause };

    /* the host is not the cause of the others, and most gaps of a busy GPU are such */
    if (d->device == s->w->critical->device && g->cause != LPO_IDLE_UNKNOWN &&
        g->cause != LPO_IDLE_QUEUED)
        lpo_vec_push(&s->gaps, gap);
}

/* Longest gaps first, so that the time of a first visit goes to those that make it long. */
static int longest_first(const void *x, const void *y)
{
    const struct lpo_findings_gap *a = x, *b = y;

    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

static void sort_into_buckets(struct sorter *s)
{
    uint64_t results = 0;

    if (s->gaps.len)
        qsort(s->gaps.at, s->gaps.len, sizeof *s->gaps.at, longest_first);
    for (size_t i = 0; i < s->gaps.len; i++)
        results += is_ping_pong(s, &s->gaps.at[i]);
    for (size_t i = 0; i < s->gaps.len; i++) {
        struct lpo_findings_gap *g = &s->gaps.at[i];
        enum lpo_finding_kind kind;
        struct bucket *b;
        uint32_t call;

        choose(s, g, results >= LEAST_RESULTS, &kind, &call);
        g->bucket = bucket_of(s, kind, call);
        b = &s->buckets.at[g->bucket];
        b->ns += g->counted_ns;
        b->gaps++;
        if (g->ns > b->longest_ns)
            b->longest_ns = g->ns;
    }
}

/* The operation that ended last before each gap of the critical device. */
static uint32_t *find_before(const struct lpo_findings_work *w)
{
    const struct lpo_trace *t = w->trace;
    const struct lpo_findings_slack *order = &w->slack;
    uint32_t *before = lpo_xrealloc(NULL, t->gpu_ops.len + 1, sizeof *before), last = LPO_NONE;
    int64_t end_ns = INT64_MIN;

    for (size_t i = 0; i < t->gpu_ops.len; i++)
        before[i] = LPO_NONE;
    for (size_t i = 0; i < order->count; i++) {
        const struct lpo_gpu_op *op = &t->gpu_ops.at[order->rows[i]];

        if (op->start_ns > end_ns)
            before[order->rows[i]] = last;
        if (op->end_ns >= end_ns) {
            end_ns = op->end_ns;
            last = order->rows[i];
        }
    }
    return before;
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

struct name_sum {
    int64_t ns;
    uint32_t name;
};

/* The name with the most idle time, if that is a fifth of the bucket's. */
static void add_main_name(const struct sorter *s, struct lpo_finding *f, uint32_t bucket,
                          enum lpo_fact fact)
{
    struct lpo_map_pair rows = { 0 };
    LPO_VEC(struct name_sum) sums = { 0 };
    size_t best = 0;

    for (size_t i = 0; i < s->gaps.len; i++) {
        const struct lpo_findings_gap *g = &s->gaps.at[i];
        uint32_t name = fact == LPO_FACT_IN_PYTHON ? g->python_name : g->operator_name, row;
        bool fresh;

        if (g->bucket != bucket || name == LPO_NONE)
            continue;
        row = lpo_map_pair_put(&rows, name, 0, &fresh);
        if (fresh)
            lpo_vec_push(&sums, ((struct name_sum){ 0, name }));
        sums.at[row].ns += g->counted_ns;
    }
    for (size_t i = 1; i < sums.len; i++)
        if (sums.at[i].ns > sums.at[best].ns)
            best = i;
    if (sums.len && sums.at[best].ns >= s->buckets.at[bucket].ns / 5)
        lpo_findings_fact_name(f, fact, (double)sums.at[best].ns, sums.at[best].name);
    lpo_vec_free(&sums);
    lpo_map_pair_free(&rows);
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
    lpo_findings_fact_name(f, LPO_FACT_FIRST_NS, (double)(best->end_ns - best->start_ns),
                           best->name);
    lpo_findings_fact_name(f, LPO_FACT_LATER_NS, (double)best->later_ns, best->name);
}

static void make(const struct sorter *s, uint32_t bucket)
{
    const struct bucket *b = &s->buckets.at[bucket];
    struct lpo_finding *f = lpo_findings_add(s->w, b->kind, b->ns);

    if (!f)
        return;
    f->name = b->call;
    f->node = main_region(s, bucket);
    lpo_findings_fact(f, LPO_FACT_IDLE_NS, (double)b->ns);
    lpo_findings_fact(f, LPO_FACT_GAPS, (double)b->gaps);
    lpo_findings_fact(f, LPO_FACT_LONGEST_NS, (double)b->longest_ns);
    if (b->call != LPO_NONE)
        lpo_findings_fact_name(f, LPO_FACT_IN_CALL, 0, b->call);
    if (b->kind == LPO_FINDING_FIRST_CALLS)
        add_first_call(f, &s->w->out->first);
    add_main_name(s, f, bucket, LPO_FACT_IN_OPERATOR);
    add_main_name(s, f, bucket, LPO_FACT_IN_PYTHON);
}

void lpo_findings_idle(struct lpo_findings_work *w)
{
    struct sorter s = { .w = w };

    if (!w->critical->idle_ns)
        return;
    s.before = find_before(w);
    lpo_wall_destroy(lpo_wall_create_without(w->a->tree, w->aside, collect, &s));
    sort_into_buckets(&s);
    free(s.before); /* the next step has the largest need of memory */
    lpo_findings_host_frames(w->trace, &s.gaps);
    for (uint32_t i = 0; i < s.buckets.len; i++)
        make(&s, i);
    lpo_vec_free(&s.buckets);
    lpo_map_pair_free(&s.bucket_rows);
    lpo_vec_free(&s.gaps);
}
