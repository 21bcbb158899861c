/* SPDX-License-Identifier: Apache-2.0 */
/* GPU operations summed while they are read, for files that have more of them than memory.
 *
 * All blocks are then read in the order of the file. A launch is remembered by its correlation id
 * until its operations come, an operation that comes first waits for its launch, and each is added
 * to the sum of its place, name and device. In a real file the two stand close together: the
 * collector writes both several times a second. So old launches can be forgotten, and what remains
 * does not grow with the file. */

#include "trace/native/private.h"
#include "trace/times.h"
#include "util/checked.h"

enum {
    LAUNCHES_KEPT = 1 << 20, /* at least so many, at most twice: each takes about 30 bytes */
    WAITING_MOST = 1 << 20,
    RETRY_FIRST = 4096,
    FRAMES_MOST = 4 << 20, /* of all stacks together */
};

/* An operation whose launch, or whose graph node, stands further on in the file. */
struct waiting {
    struct lpo_gpu_op op;
    uint64_t node;
    uint32_t corr;
    bool of_node;
};

struct native_gpu_sums {
    struct lpo_map_u64 *launches, *older; /* correlation id to the row of its stack */
    LPO_VEC(struct waiting) waiting;
    size_t retry_at;
    struct lpo_map_pair stack_of; /* (path, set of start/end ranges) to a row of `stacks` */
    LPO_VEC(uint32_t) stacks;
    struct lpo_map_pair sums; /* to a summary, counted from first_summary */
    size_t first_summary;
};

struct native_gpu_sums *lpo_native_gpu_sums_create(const struct native *n)
{
    struct native_gpu_sums *s = lpo_xcalloc(1, sizeof *s);

    s->launches = lpo_map_u64_create(0);
    s->older = lpo_map_u64_create(0);
    s->first_summary = n->trace->summaries.len;
    s->retry_at = RETRY_FIRST;
    return s;
}

void lpo_native_gpu_sums_destroy(struct native_gpu_sums *s)
{
    if (!s)
        return;
    lpo_map_u64_destroy(s->launches);
    lpo_map_u64_destroy(s->older);
    lpo_vec_free(&s->waiting);
    lpo_vec_free(&s->stacks);
    lpo_map_pair_free(&s->stack_of);
    lpo_map_pair_free(&s->sums);
    free(s);
}

/* The ranges around a launch as a stack of the trace: those of its path, then the start/end ones.
 */
static uint32_t make_stack(struct native *n, uint32_t path, uint32_t set)
{
    struct lpo_frame frames[LPO_PATH_DEPTH + NATIVE_OPEN_SETS];
    size_t count = path ? n->trace->paths.at[path - 1].depth + 1u : 0;

    if (n->trace->frames.len > FRAMES_MOST) {
        n->trace->path_losses.too_long++;
        return lpo_trace_stack(n->trace, NULL, 0);
    }
    for (size_t i = count; i; i--) {
        const struct lpo_path *p = &n->trace->paths.at[path - 1];

        frames[i - 1] =
            (struct lpo_frame){ .name = p->name, .domain = p->domain, .kind = LPO_PUSH_POP };
        path = p->parent + 1; /* LPO_NONE + 1 is 0 */
    }
    count += lpo_native_set_frames(n, set, frames + count);
    return lpo_trace_stack(n->trace, frames, count);
}

static uint32_t stack_of(struct native *n, uint32_t path, uint32_t set)
{
    struct native_gpu_sums *s = n->gpu_sums;
    bool fresh;
    uint32_t row = lpo_map_pair_put(&s->stack_of, path, set, &fresh);

    if (fresh)
        lpo_vec_push(&s->stacks, make_stack(n, path, set));
    return s->stacks.at[row];
}

void lpo_native_gpu_sums_launch(struct native *n, uint32_t corr, const struct lpo_call *call)
{
    struct native_gpu_sums *s = n->gpu_sums;
    uint32_t set = lpo_native_set_at(n, call->start_ns, call->end_ns);

    if (lpo_map_u64_count(s->launches) >= LAUNCHES_KEPT) {
        lpo_map_u64_destroy(s->older);
        s->older = s->launches;
        s->launches = lpo_map_u64_create(LAUNCHES_KEPT);
    }
    *lpo_map_u64_put(s->launches, corr, NULL) = stack_of(n, call->path, set);
}

static const uint32_t *find_launch(const struct native_gpu_sums *s, uint32_t corr)
{
    const uint32_t *stack = lpo_map_u64_find(s->launches, corr);

    return stack ? stack : lpo_map_u64_find(s->older, corr);
}

static struct lpo_summary *sum_of(struct native *n, const struct lpo_gpu_op *w)
{
    struct native_gpu_sums *s = n->gpu_sums;
    bool fresh;
    uint32_t row =
        lpo_map_pair_put(&s->sums, (uint64_t)w->stack << 32 | w->name,
                         (uint64_t)w->capture << 32 | (uint32_t)w->device << 2 | w->kind, &fresh);

    if (fresh)
        lpo_vec_push(&n->trace->summaries, (struct lpo_summary){ .name = w->name,
                                                                 .linker = w->linker,
                                                                 .stack = w->stack,
                                                                 .capture = w->capture,
                                                                 .min_ns = INT64_MAX,
                                                                 .process = n->process,
                                                                 .device = w->device,
                                                                 .kind = w->kind,
                                                                 .placed = true });
    return &n->trace->summaries.at[s->first_summary + row];
}

static void add(struct native *n, const struct lpo_gpu_op *w)
{
    struct lpo_summary *s = sum_of(n, w);
    int64_t ns = w->end_ns - w->start_ns;
    bool damaged = ns < 0 || ns > LPO_LONGEST_NS;

    n->trace->path_losses.damaged += damaged;
    n->unlaunched += w->stack == LPO_NONE && !(n->trace->skip & LPO_SKIP_LAUNCHES);
    s->count++;
    s->bytes += w->bytes;
    s->whole += (w->flags & LPO_GPU_OP_WHOLE) != 0;
    if (s->linker != w->linker)
        s->linker = LPO_NONE;
    if (damaged || w->flags & LPO_GPU_OP_NO_LENGTH) {
        s->unknown++;
        return;
    }
    s->total_ns = lpo_ns_add(s->total_ns, ns);
    s->min_ns = ns < s->min_ns ? ns : s->min_ns;
    s->max_ns = ns > s->max_ns ? ns : s->max_ns;
}

/* False: what it needs is not read yet. */
static bool place(struct native *n, struct waiting *w)
{
    const uint32_t *stack = find_launch(n->gpu_sums, w->corr);

    if (w->of_node && w->op.capture == LPO_NONE)
        w->op.capture = lpo_native_capture(n, w->node);
    if (stack)
        w->op.stack = *stack;
    return stack && (!w->of_node || w->op.capture != LPO_NONE);
}

/* What waits is tried again; with `leave`, what still has to wait waits no longer. */
static void retry(struct native *n, bool leave)
{
    struct native_gpu_sums *s = n->gpu_sums;
    size_t kept = 0;

    for (size_t i = 0; i < s->waiting.len; i++) {
        struct waiting w = s->waiting.at[i];

        if (place(n, &w) || leave)
            add(n, &w.op);
        else
            s->waiting.at[kept++] = w;
    }
    s->waiting.len = kept;
    s->retry_at = kept * 2 + RETRY_FIRST;
}

void lpo_native_gpu_sums_op(struct native *n, const struct lpo_gpu_op *op, uint32_t corr,
                            const uint64_t *node)
{
    struct native_gpu_sums *s = n->gpu_sums;
    struct waiting w = { .op = *op, .corr = corr, .of_node = node != NULL };

    w.node = node ? *node : 0;
    n->summed_ops++;
    if (n->trace->skip & LPO_SKIP_LAUNCHES || place(n, &w))
        add(n, &w.op);
    else
        lpo_vec_push(&s->waiting, w);
    if (s->waiting.len >= s->retry_at)
        retry(n, s->waiting.len >= WAITING_MOST);
}

void lpo_native_gpu_sums_close(struct native *n)
{
    struct lpo_trace *t = n->trace;

    retry(n, true);
    for (size_t i = n->gpu_sums->first_summary; i < t->summaries.len; i++)
        if (t->summaries.at[i].count == t->summaries.at[i].unknown)
            t->summaries.at[i].min_ns = t->summaries.at[i].max_ns = LPO_NO_TIME;
}
