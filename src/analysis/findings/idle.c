/* SPDX-License-Identifier: Apache-2.0 */
/* Idle time of the critical device: every gap in one bucket, every bucket a finding at most. */
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/findings/private.h"
#include "analysis/wall/order.h"
#include "region/tree.h"
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
    uint32_t op; /* that ended the longest */
};

struct sorter {
    struct lpo_findings_work *w;
    uint32_t *before; /* per GPU operation that ends a gap: the operation before it */
    lpo_first_calls first;
    LPO_VEC(struct bucket) buckets;
    uint64_t results; /* gaps after a small result */
    bool count_only;  /* the first walk: results alone */
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
           (strstr(name, "DtoH") || strstr(name, "Device -> Host") ||
            strstr(name, "DeviceToHost") || strstr(name, "Device-to-Host"));
}

static bool in_first_call(const lpo_first_calls *first, const struct lpo_wall_gap *g)
{
    for (size_t i = 0; i < first->len; i++)
        if (g->start_ns >= first->at[i].start_ns && g->start_ns + g->ns <= first->at[i].end_ns)
            return true;
    return false;
}

/* False: no finding is made of this gap. */
static bool choose(struct sorter *s, const struct lpo_wall_gap *g, enum lpo_finding_kind *kind,
                   uint32_t *call)
{
    const struct lpo_trace *t = s->w->trace;
    bool blocked = g->cause == LPO_IDLE_BLOCKED;
    uint32_t name = blocked && g->call != LPO_NONE ? t->calls.at[g->call].name : LPO_NONE;
    const char *text = name == LPO_NONE ? "" : lpo_trace_text(t, name);

    *call = LPO_NONE;
    if (g->cause == LPO_IDLE_UNKNOWN || g->cause == LPO_IDLE_QUEUED)
        return false;
    if (begins(text, builds) || in_first_call(&s->first, g)) {
        *kind = LPO_FINDING_FIRST_CALLS;
    } else if (begins(text, allocates)) {
        *kind = LPO_FINDING_ALLOCATOR;
    } else if (s->results >= LEAST_RESULTS && is_small_result(t, s->before[g->op])) {
        *kind = LPO_FINDING_PING_PONG;
    } else if (blocked) {
        *kind = LPO_FINDING_BLOCKED;
        *call = name;
    } else {
        *kind = g->ns <= SHORT_GAP_NS ? LPO_FINDING_LAUNCH_BOUND : LPO_FINDING_HOST_WORK;
    }
    return true;
}

static struct bucket *bucket_of(struct sorter *s, enum lpo_finding_kind kind, uint32_t call)
{
    for (size_t i = 0; i < s->buckets.len; i++)
        if (s->buckets.at[i].kind == kind && s->buckets.at[i].call == call)
            return &s->buckets.at[i];
    lpo_vec_push(&s->buckets, ((struct bucket){ .kind = kind, .call = call, .op = LPO_NONE }));
    return &s->buckets.at[s->buckets.len - 1];
}

static void take(void *ctx, const struct lpo_wall_device *d, const struct lpo_wall_gap *g)
{
    struct sorter *s = ctx;
    enum lpo_finding_kind kind;
    struct bucket *b;
    uint32_t call;

    if (d->device != s->w->critical->device)
        return;
    if (s->count_only) {
        s->results += is_small_result(s->w->trace, s->before[g->op]) &&
                      (g->cause == LPO_IDLE_BLOCKED || g->cause == LPO_IDLE_HOST);
        return;
    }
    if (!choose(s, g, &kind, &call))
        return;
    b = bucket_of(s, kind, call);
    b->ns += g->ns;
    b->gaps++;
    if (g->ns > b->longest_ns) {
        b->longest_ns = g->ns;
        b->op = g->op;
    }
}

/* The operation that ended last before each gap of the critical device. */
static uint32_t *find_before(const struct lpo_findings_work *w)
{
    const struct lpo_trace *t = w->trace;
    struct lpo_wall_order order = lpo_wall_order_find(t);
    uint32_t *before = lpo_xrealloc(NULL, t->gpu_ops.len + 1, sizeof *before), last = LPO_NONE;
    int64_t end_ns = INT64_MIN;

    for (size_t i = 0; i < t->gpu_ops.len; i++)
        before[i] = LPO_NONE;
    for (size_t i = 0; i < order.count; i++) {
        const struct lpo_gpu_op *op = &t->gpu_ops.at[order.rows[i]];

        if (op->device != w->critical->device)
            continue;
        if (op->start_ns > end_ns)
            before[order.rows[i]] = last;
        if (op->end_ns >= end_ns) {
            end_ns = op->end_ns;
            last = order.rows[i];
        }
    }
    lpo_wall_order_free(&order);
    return before;
}

/* Of the longest gap of a bucket: what the host was in, where the trace says so. */
static void add_stack(struct lpo_findings_work *w, struct lpo_finding *f, const struct bucket *b)
{
    for (size_t i = 0; i < w->critical->longest.len; i++) {
        const struct lpo_wall_gap *g = &w->critical->longest.at[i];

        if (g->op != b->op || g->ns != b->longest_ns)
            continue;
        if (g->operators.count)
            lpo_findings_fact_name(f, LPO_FACT_IN_OPERATOR, 0,
                                   g->operators.names[g->operators.count - 1]);
        if (g->python.count)
            lpo_findings_fact_name(f, LPO_FACT_IN_PYTHON, 0, g->python.names[g->python.count - 1]);
        return;
    }
}

static void make(struct lpo_findings_work *w, const struct bucket *b, const lpo_first_calls *first)
{
    struct lpo_finding *f = lpo_findings_add(w, b->kind, b->ns);

    if (!f)
        return;
    f->name = b->call;
    lpo_findings_fact(f, LPO_FACT_IDLE_NS, (double)b->ns);
    lpo_findings_fact(f, LPO_FACT_GAPS, (double)b->gaps);
    lpo_findings_fact(f, LPO_FACT_LONGEST_NS, (double)b->longest_ns);
    if (b->call != LPO_NONE)
        lpo_findings_fact_name(f, LPO_FACT_IN_CALL, 0, b->call);
    if (b->kind == LPO_FINDING_FIRST_CALLS && first->len) {
        lpo_findings_fact_name(f, LPO_FACT_FIRST_NS,
                               (double)(first->at[0].end_ns - first->at[0].start_ns),
                               first->at[0].name);
        lpo_findings_fact_name(f, LPO_FACT_LATER_NS, (double)first->at[0].later_ns,
                               first->at[0].name);
    }
    if (b->op != LPO_NONE)
        f->node =
            w->a->tree->places.at[lpo_region_place(w->a->tree, &w->trace->gpu_ops.at[b->op])].leaf;
    add_stack(w, f, b);
}

static void walk(struct sorter *s)
{
    lpo_wall_destroy(lpo_wall_create_without(s->w->a->tree, s->w->aside, take, s));
}

void lpo_findings_idle(struct lpo_findings_work *w)
{
    struct sorter s = { .w = w, .count_only = true };

    if (!w->critical->idle_ns)
        return;
    s.before = find_before(w);
    lpo_findings_first_calls(w, &s.first);
    walk(&s);
    s.count_only = false;
    walk(&s);
    for (size_t i = 0; i < s.buckets.len; i++)
        make(w, &s.buckets.at[i], &s.first);
    lpo_vec_free(&s.buckets);
    lpo_vec_free(&s.first);
    free(s.before);
}
