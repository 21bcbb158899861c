/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/wall/wall.h"

#include "analysis/wall/private.h"
#include "trace/host.h"

LPO_NAMES(lpo_wall_cause_name, enum lpo_idle_cause, "blocked", "host", "queued", "unknown");

/* --- the call that a thread was in --- */

/* BLOCK: a stretch that holds a million short calls is passed in steps of this many. KEPT: threads
 * that stay indexed from one GPU to the next; a job of a thousand ranks has as many. */
enum { BLOCK = 256, KEPT = 8 };

/* Beside the calls of a thread in order. */
struct calls {
    struct lpo_host_rows rows;
    int64_t *latest_ns;  /* per row: latest end up to there */
    int64_t *longest_ns; /* per block of rows: longest call in it */
};

struct all_calls {
    const struct lpo_trace *t;
    struct calls *threads;
    LPO_VEC(uint32_t) indexed; /* threads that were asked for */
};

static void index_calls(const struct lpo_trace *t, uint32_t thread, struct calls *c)
{
    int64_t latest_ns = INT64_MIN;

    c->rows = lpo_host_rows(t, thread, LPO_HOST_CALL);
    c->latest_ns = lpo_xmalloc((c->rows.len + 1) * sizeof *c->latest_ns);
    c->longest_ns = lpo_xcalloc(c->rows.len / BLOCK + 1, sizeof *c->longest_ns);
    for (size_t i = 0; i < c->rows.len; i++) {
        struct lpo_api_call k = lpo_trace_call(t, c->rows.at[i]);
        int64_t ns = k.end_ns - k.start_ns;

        latest_ns = c->latest_ns[i] = k.end_ns > latest_ns ? k.end_ns : latest_ns;
        if (ns > c->longest_ns[i / BLOCK])
            c->longest_ns[i / BLOCK] = ns;
    }
}

static void forget_calls(struct calls *c)
{
    free(c->latest_ns);
    free(c->longest_ns);
    *c = (struct calls){ 0 };
}

static const struct calls *calls_of(struct all_calls *all, uint32_t thread)
{
    struct calls *c = &all->threads[thread];

    if (!c->latest_ns) {
        lpo_vec_push(&all->indexed, thread);
        index_calls(all->t, thread, c);
    }
    return c;
}

static void forget_all(struct all_calls *all)
{
    for (size_t i = 0; i < all->indexed.len; i++)
        forget_calls(&all->threads[all->indexed.at[i]]);
    all->indexed.len = 0;
}

/* Calls that begin inside the stretch, from row `at` on. Their sum over the gaps of a device is at
 * most the number of calls, because gaps do not overlap. */
static uint32_t largest_inside(const struct lpo_trace *t, const struct calls *c, size_t at,
                               int64_t end_ns, uint32_t best, int64_t *best_ns)
{
    while (at < c->rows.len) {
        struct lpo_api_call k = lpo_trace_call(t, c->rows.at[at]);
        int64_t ns = (k.end_ns < end_ns ? k.end_ns : end_ns) - k.start_ns;

        if (k.start_ns >= end_ns)
            break;
        if (at % BLOCK == 0 && c->longest_ns[at / BLOCK] <= *best_ns) {
            at += BLOCK;
            continue;
        }
        if (ns > *best_ns) {
            *best_ns = ns;
            best = c->rows.at[at];
        }
        at++;
    }
    return best;
}

/* The call on `thread` with the largest overlap with [start, end): row of calls, LPO_NONE where
 * none overlaps; of equals the one that began first, then the longer, then the first of the file.
 * Several may be open at once: a driver call inside a runtime call. */
static uint32_t largest_call(struct all_calls *all, uint32_t thread, int64_t start_ns,
                             int64_t end_ns, int64_t *overlap_ns)
{
    const struct lpo_trace *t = all->t;
    const struct calls *c = calls_of(all, thread);
    size_t inside = 0, to = c->rows.len, first = 0, upto;
    uint32_t best = LPO_NONE;

    *overlap_ns = 0;
    lpo_search(inside, to, i, lpo_trace_call(t, c->rows.at[i]).start_ns <= start_ns);
    upto = inside;
    /* of those already open, the one that ends last; of those that outlast the stretch, the first
     */
    if (inside > 0 && c->latest_ns[inside - 1] > start_ns) {
        int64_t latest = c->latest_ns[inside - 1] < end_ns ? c->latest_ns[inside - 1] : end_ns;

        lpo_search(first, upto, i, c->latest_ns[i] < latest);
        best = c->rows.at[first];
        *overlap_ns = latest - start_ns;
    }
    return largest_inside(t, c, inside, end_ns, best, overlap_ns);
}

/* --- parts and gaps --- */

enum { ALL, KERNELS, COMPUTE, COVERS };

struct builder {
    struct lpo_wall *out; /* NULL: gaps alone */
    const struct lpo_region_tree *tree;
    const struct lpo_trace *trace;
    const bool *aside; /* per place, or NULL */
    struct all_calls calls;
    unsigned char *launches; /* per name: has "launch" in it */
    bool no_calls;
    lpo_wall_gap_fn *each; /* NULL: none */
    void *ctx;
    struct lpo_wall_cover covers[COVERS]; /* of the device at hand */
    struct lpo_map_pair call_rows;        /* its blocked calls by name */
};

static bool is_launch(struct builder *b, uint32_t name)
{
    enum { NO = 1, YES };

    if (!b->launches[name])
        b->launches[name] = strcasestr(lpo_trace_text(b->trace, name), "launch") ? YES : NO;
    return b->launches[name] == YES;
}

static bool is_aside(const struct builder *b, const struct lpo_gpu_op *op)
{
    return b->aside && b->aside[lpo_region_place(b->tree, op)];
}

static uint32_t gap_thread(const struct lpo_trace *t, const struct lpo_wall_gap *gap)
{
    uint32_t launch = t->gpu_ops.at[gap->op].launch;

    return launch == LPO_NONE ? LPO_NONE : t->launches.at[launch].thread;
}

/* Of the operations that start together with rows[0], the one whose launch call began first. */
static uint32_t ends_gap(const struct lpo_trace *t, const uint32_t *rows, size_t count)
{
    const struct lpo_gpu_op *first = &t->gpu_ops.at[rows[0]];
    uint32_t best = rows[0];

    for (size_t i = 1; i < count && t->gpu_ops.at[rows[i]].start_ns == first->start_ns; i++) {
        uint32_t launch = t->gpu_ops.at[rows[i]].launch, known = t->gpu_ops.at[best].launch;

        if (launch != LPO_NONE &&
            (known == LPO_NONE || t->launches.at[launch].start_ns < t->launches.at[known].start_ns))
            best = rows[i];
    }
    return best;
}

static enum lpo_idle_cause cause_of(struct builder *b, struct lpo_wall_gap *gap)
{
    const struct lpo_trace *t = b->trace;
    uint32_t launch = t->gpu_ops.at[gap->op].launch;
    const struct lpo_launch *l;
    int64_t overlap_ns;

    if (launch == LPO_NONE)
        return LPO_IDLE_UNKNOWN;
    l = &t->launches.at[launch];
    gap->call =
        largest_call(&b->calls, l->thread, gap->start_ns, gap->start_ns + gap->ns, &overlap_ns);
    if (gap->call != LPO_NONE && overlap_ns >= gap->ns - overlap_ns &&
        !is_launch(b, lpo_trace_call(t, gap->call).name))
        return LPO_IDLE_BLOCKED;
    if (l->start_ns <= gap->start_ns)
        return LPO_IDLE_QUEUED;
    /* late: but whether it was in a call or on its way nobody recorded */
    if (!t->processes.at[t->threads.at[l->thread].process].has_calls) {
        b->no_calls = true;
        return LPO_IDLE_UNKNOWN;
    }
    return LPO_IDLE_HOST;
}

static bool longer(const struct lpo_wall_gap *a, const struct lpo_wall_gap *b)
{
    return a->ns != b->ns ? a->ns > b->ns : a->start_ns < b->start_ns;
}

static void keep_longest(struct lpo_wall_device *d, const struct lpo_wall_gap *gap)
{
    size_t at;

    if (d->longest.len == LPO_WALL_GAPS && !longer(gap, &d->longest.at[LPO_WALL_GAPS - 1]))
        return;
    if (d->longest.len < LPO_WALL_GAPS)
        lpo_vec_push(&d->longest, *gap);
    for (at = d->longest.len - 1; at > 0 && longer(gap, &d->longest.at[at - 1]); at--)
        d->longest.at[at] = d->longest.at[at - 1];
    d->longest.at[at] = *gap;
}

static void add_blocked(struct builder *b, struct lpo_wall_device *d, uint32_t name, int64_t ns)
{
    bool fresh;
    uint32_t row = lpo_map_pair_put(&b->call_rows, name, 0, &fresh);

    if (fresh)
        lpo_vec_push(&d->calls, (struct lpo_wall_call){ .name = name });
    d->calls.at[row].idle_ns += ns;
    d->calls.at[row].gaps++;
}

static void add_to_region(struct builder *b, const struct lpo_wall_gap *gap)
{
    const struct lpo_region_tree *tree = b->tree;
    uint32_t place = lpo_region_place(tree, &b->trace->gpu_ops.at[gap->op]);
    uint32_t leaf = tree->places.at[place].leaf;
    struct lpo_wall_region *r = &b->out->regions[leaf == LPO_NONE ? tree->nodes.len : leaf];

    r->ns[gap->cause] += gap->ns;
    r->gaps++;
}

/* rows[0] is the first operation after the gap. */
static void add_gap(struct builder *b, struct lpo_wall_device *d, const uint32_t *rows,
                    size_t count, int64_t ns)
{
    int64_t end_ns = b->trace->gpu_ops.at[rows[0]].start_ns;
    struct lpo_wall_gap gap = {
        .start_ns = end_ns - ns, .ns = ns, .op = ends_gap(b->trace, rows, count), .call = LPO_NONE
    };

    gap.cause = cause_of(b, &gap);
    if (b->each)
        b->each(b->ctx, d->device, &gap);
    if (!b->out)
        return;
    d->idle_ns += ns;
    d->idle_squares += (double)ns * (double)ns;
    d->idle[gap.cause].count++;
    d->idle[gap.cause].ns += ns;
    if (gap.cause == LPO_IDLE_BLOCKED)
        add_blocked(b, d, lpo_trace_call(b->trace, gap.call).name, ns);
    keep_longest(d, &gap);
    add_to_region(b, &gap);
}

static void cover_compute(struct builder *b, struct lpo_wall_device *d, const struct lpo_gpu_op *op)
{
    struct lpo_wall_cover *c = &b->covers[COMPUTE];
    int64_t before_ns = c->sum_ns;

    lpo_wall_cover_add(c, op);
    d->class_ns[lpo_region_tree_class(b->tree, op->name)] += c->sum_ns - before_ns;
}

static void cover_gpu_op(struct builder *b, struct lpo_wall_device *d, const struct lpo_gpu_op *op)
{
    lpo_wall_cover_add(&b->covers[ALL], op);
    if (op->kind != LPO_KERNEL)
        return;
    lpo_wall_cover_add(&b->covers[KERNELS], op);
    if (!lpo_wall_communicates(b->tree, op->name))
        cover_compute(b, d, op);
    else if (op->flags & LPO_GPU_OP_SHARE)
        d->parts_unknown = true;
}

LPO_COMPARE(by_idle, struct lpo_wall_call, LPO_DOWN(idle_ns) ?: LPO_UP(name));

/* rows[0, count) are the operations of one device in order. */
static void build_device(struct builder *b, const uint32_t *rows, size_t count)
{
    const struct lpo_trace *t = b->trace;
    struct lpo_wall_device d = { .device = t->gpu_ops.at[rows[0]].device };
    struct lpo_wall_edge edge = { t->gpu_ops.at[rows[0]].start_ns, false };
    bool any = false;

    for (int i = 0; i < COVERS; i++)
        b->covers[i] = (struct lpo_wall_cover){ INT64_MIN, 0 };
    for (size_t i = 0; i < count; i++) {
        const struct lpo_gpu_op *op = &t->gpu_ops.at[rows[i]];
        bool aside = is_aside(b, op);
        int64_t ns = lpo_wall_edge_move(&edge, op, aside, lpo_wall_window(t, op));

        if (ns > 0)
            add_gap(b, &d, rows + i, count - i, ns);
        if (aside || !b->out)
            continue;
        if (!any)
            d.start_ns = op->start_ns;
        any = true;
        cover_gpu_op(b, &d, op);
    }
    lpo_map_pair_free(&b->call_rows);
    if (!any)
        return;
    d.end_ns = b->covers[ALL].end_ns;
    d.span_ns = b->covers[ALL].sum_ns + d.idle_ns;
    d.compute_ns = b->covers[COMPUTE].sum_ns;
    d.exposed_communication_ns = b->covers[KERNELS].sum_ns - d.compute_ns;
    d.exposed_copy_ns = b->covers[ALL].sum_ns - b->covers[KERNELS].sum_ns;
    lpo_vec_sort(&d.calls, by_idle);
    lpo_vec_push(&b->out->devices, d);
}

LPO_COMPARE(by_span, struct lpo_wall_device, LPO_DOWN(span_ns) ?: LPO_UP(device));

/* Every device of the trace. */
static void build_all(struct builder *b)
{
    struct lpo_wall_order order = lpo_wall_order_find(b->trace);

    b->calls.t = b->trace;
    b->calls.threads = lpo_xcalloc(b->trace->threads.len + 1, sizeof *b->calls.threads);
    b->launches = lpo_xcalloc(lpo_trace_name_count(b->trace) + 1, 1);
    for (size_t i = 0, end; i < order.count; i = end) {
        end = lpo_wall_order_device(&order, b->trace, i);
        build_device(b, order.rows + i, end - i);
        if (b->calls.indexed.len > KEPT)
            forget_all(&b->calls);
    }
    lpo_wall_order_free(&order);
    forget_all(&b->calls);
    lpo_vec_free(&b->calls.indexed);
    free(b->calls.threads);
    free(b->launches);
}

/* --- what the host was in -------------------------------------------------------------------- */

/* What covers half of a gap was open in its middle. */
static bool covers_half(const struct lpo_wall_gap *gap, const struct lpo_slice *s)
{
    int64_t gap_end = gap->start_ns + gap->ns;
    int64_t from = s->start_ns > gap->start_ns ? s->start_ns : gap->start_ns;
    int64_t to = s->end_ns < gap_end ? s->end_ns : gap_end;

    return to - from >= gap->ns - (to - from);
}

static void fill_stack(const struct lpo_trace *t, const struct lpo_wall_gap *gap, unsigned kinds,
                       struct lpo_slice *open, struct lpo_wall_stack *out)
{
    size_t n = lpo_host_open(t, gap_thread(t, gap), gap->start_ns + gap->ns / 2, kinds, open,
                             LPO_HOST_DEPTH);
    size_t kept = 0;

    for (size_t i = 0; i < n; i++)
        if (covers_half(gap, &open[i]))
            open[kept++] = open[i];
    for (size_t i = kept > LPO_WALL_FRAMES ? kept - LPO_WALL_FRAMES : 0; i < kept; i++)
        out->names[out->count++] = open[i].name;
}

static void fill_stacks(struct lpo_wall *w, const struct lpo_trace *t)
{
    LPO_FREED struct lpo_slice *open = lpo_xmalloc(LPO_HOST_DEPTH * sizeof *open);

    for (size_t i = 0; i < w->devices.len; i++)
        for (size_t k = 0; k < w->devices.at[i].longest.len; k++) {
            struct lpo_wall_gap *gap = &w->devices.at[i].longest.at[k];

            fill_stack(t, gap, LPO_HOST_OP, open, &gap->operators);
            fill_stack(t, gap, LPO_HOST_MODULE | LPO_HOST_PYTHON, open, &gap->python);
        }
}

struct lpo_wall *lpo_wall_create(const struct lpo_region_tree *tree)
{
    return lpo_wall_create_without(tree, NULL);
}

struct lpo_wall *lpo_wall_create_without(const struct lpo_region_tree *tree, const bool *aside)
{
    struct lpo_wall *out = lpo_xcalloc(1, sizeof *out);
    struct builder b = { .out = out, .tree = tree, .trace = tree->trace, .aside = aside };

    out->regions = lpo_xcalloc(tree->nodes.len + 1, sizeof *out->regions);
    build_all(&b);
    out->no_calls = b.no_calls;
    lpo_vec_sort(&out->devices, by_span);
    fill_stacks(out, tree->trace);
    return out;
}

void lpo_wall_each_gap(const struct lpo_region_tree *tree, const bool *aside, lpo_wall_gap_fn *each,
                       void *ctx)
{
    struct builder b = {
        .tree = tree, .trace = tree->trace, .aside = aside, .each = each, .ctx = ctx
    };

    build_all(&b);
}

void lpo_wall_destroy(struct lpo_wall *w)
{
    if (!w)
        return;
    for (size_t i = 0; i < w->devices.len; i++) {
        lpo_vec_free(&w->devices.at[i].calls);
        lpo_vec_free(&w->devices.at[i].longest);
    }
    lpo_vec_free(&w->devices);
    free(w->regions);
    free(w);
}
