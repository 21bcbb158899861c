/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/fusion/fusion.h"

#include "analysis/wall/order.h"
#include "region/tree.h"

static const int64_t apart_ns = 1000000;

enum {
    LEAST = 3,       /* times that a sequence comes */
    SEQUENCES = 100, /* that are looked for */
};

/* A kernel of a run. Runs stand one behind the other. */
struct place {
    uint32_t row;  /* of gpu_ops */
    bool first;    /* of its run */
    bool taken;    /* part of a sequence */
    uint32_t next; /* place whose pair is the same; LPO_NONE */
};

/* Two names that follow each other. */
struct pair {
    uint32_t first; /* place; they come in order */
    uint32_t last, count;
};

struct work {
    const struct lpo_region_tree *tree;
    const struct lpo_trace *t;
    LPO_VEC(struct place) places;
    LPO_VEC(struct pair) pairs;
    LPO_VEC(uint32_t) at; /* where the sequence at hand begins */
    struct lpo_fusion *out;
};

bool lpo_fusion_class(enum lpo_region_kernel_class class)
{
    switch (class) {
    case LPO_CLASS_ELEMENTWISE:
    case LPO_CLASS_NORM:
    case LPO_CLASS_SOFTMAX:
    case LPO_CLASS_ROTARY:
    case LPO_CLASS_REDUCTION:
    case LPO_CLASS_COPY:
    case LPO_CLASS_INDEXING:
    case LPO_CLASS_QUANTIZE:
        return true;
    default:
        return false;
    }
}

static const struct lpo_gpu_op *op_at(const struct work *w, size_t place)
{
    return &w->t->gpu_ops.at[w->places.at[place].row];
}

static bool counts(const struct work *w, const struct lpo_gpu_op *op)
{
    return op->kind == LPO_KERNEL &&
           !(op->flags & (LPO_GPU_OP_GRAPH | LPO_GPU_OP_WHOLE | LPO_GPU_OP_SHARE)) &&
           lpo_trace_gpu_op_ns(op) < LPO_FUSION_SHORT_NS &&
           lpo_fusion_class(lpo_region_tree_class(w->tree, op->name));
}

/* The operations of one stream, in order of time: `rows` of gpu_ops. */
static void add_stream(struct work *w, const uint32_t *rows, size_t count)
{
    bool open = false;
    int64_t end_ns = 0;

    for (size_t i = 0; i < count; i++) {
        const struct lpo_gpu_op *op = &w->t->gpu_ops.at[rows[i]];
        bool near = open && op->start_ns - end_ns < apart_ns;

        if (!counts(w, op)) {
            open = false;
            continue;
        }
        lpo_vec_push(&w->places, (struct place){ rows[i], !near, false, LPO_NONE });
        open = true;
        end_ns = op->end_ns;
    }
}

/* Operations stream by stream: those of a device are in order of time, whatever their stream. */
static void find_runs(struct work *w)
{
    struct lpo_wall_order order = lpo_wall_order_find(w->t);
    LPO_FREED struct lpo_map_pair streams = { 0 };
    LPO_FREED LPO_VEC(size_t) ends = { 0 };
    LPO_FREED uint32_t *rows = lpo_xrealloc(NULL, order.count + 1, sizeof *rows);
    LPO_FREED uint32_t *stream_of = lpo_xrealloc(NULL, order.count + 1, sizeof *stream_of);

    for (size_t i = 0; i < order.count; i++) {
        const struct lpo_gpu_op *op = &w->t->gpu_ops.at[order.rows[i]];
        bool fresh;

        stream_of[i] = lpo_map_pair_put(&streams, op->device, op->stream, &fresh);
        if (fresh)
            lpo_vec_push(&ends, 0);
        ends.at[stream_of[i]]++;
    }
    for (size_t i = 0, sum = 0; i < ends.len; i++) { /* counts to starts */
        size_t n = ends.at[i];

        ends.at[i] = sum;
        sum += n;
    }
    for (size_t i = 0; i < order.count; i++) /* and starts to ends */
        rows[ends.at[stream_of[i]]++] = order.rows[i];
    for (size_t i = 0; i < ends.len; i++)
        add_stream(w, rows + (i ? ends.at[i - 1] : 0), ends.at[i] - (i ? ends.at[i - 1] : 0));
    lpo_wall_order_free(&order);
}

/* Kernels with a neighbour in their run. */
static void count_kernels(struct work *w)
{
    for (size_t i = 0; i < w->places.len; i++) {
        bool alone = w->places.at[i].first && (i + 1 == w->places.len || w->places.at[i + 1].first);

        w->out->kernels += !alone;
        w->out->gpu_ns += alone ? 0 : lpo_trace_gpu_op_ns(op_at(w, i));
    }
}

static void find_pairs(struct work *w)
{
    LPO_FREED struct lpo_map_pair rows = { 0 };

    for (uint32_t i = 0; i + 1 < w->places.len; i++) {
        struct pair *p;
        bool fresh;
        uint32_t row;

        if (w->places.at[i + 1].first)
            continue;
        row = lpo_map_pair_put(&rows, op_at(w, i)->name, op_at(w, i + 1)->name, &fresh);
        if (fresh)
            lpo_vec_push(&w->pairs, (struct pair){ i, i, 0 });
        p = &w->pairs.at[row];
        if (!fresh)
            w->places.at[p->last].next = i;
        p->last = i;
        p->count++;
    }
}

LPO_COMPARE(by_count, struct pair, LPO_DOWN(count) ?: LPO_UP(first));

/* The kernel `step` places from the beginning of the sequence at `at`, where it is in the same run
 * and free; LPO_NONE. For a step back the sequence itself must not begin the run. */
static uint32_t name_at(const struct work *w, uint32_t at, int step)
{
    size_t i = (size_t)at + (size_t)(ptrdiff_t)step;

    if (step < 0 ? w->places.at[at].first : i >= w->places.len || w->places.at[i].first)
        return LPO_NONE;
    return w->places.at[i].taken ? LPO_NONE : op_at(w, i)->name;
}

/* The name that nine of ten places have there, by a vote in one pass; LPO_NONE. */
static uint32_t agreed(const struct work *w, int step)
{
    uint32_t best = LPO_NONE;
    size_t lead = 0, votes = 0;

    for (size_t i = 0; i < w->at.len; i++) {
        uint32_t name = name_at(w, w->at.at[i], step);

        if (!lead)
            best = name;
        lead = name == best ? lead + 1 : lead - 1;
    }
    for (size_t i = 0; best != LPO_NONE && i < w->at.len; i++)
        votes += name_at(w, w->at.at[i], step) == best;
    return votes >= LEAST && votes * 10 >= w->at.len * 9 ? best : LPO_NONE;
}

/* One kernel more at the end or, with step -1, at the beginning; false: it is as long as it can be.
 * Places without it are given up, and so are those that would now overlap. */
static bool grow(struct work *w, int length, int step)
{
    uint32_t name = agreed(w, step), until = 0;
    size_t kept = 0;

    if (name == LPO_NONE)
        return false;
    for (size_t pass = 0; pass < 2; pass++) { /* first counted, then done */
        size_t to = 0;

        until = 0;
        for (size_t i = 0; i < w->at.len; i++) {
            uint32_t from = w->at.at[i] - (step < 0);

            if (name_at(w, w->at.at[i], step) != name || (to && from < until))
                continue;
            until = from + (uint32_t)length + 1;
            if (pass)
                w->at.at[to] = from;
            to++;
        }
        if (!pass && (to < LEAST || to * 10 < w->at.len * 9))
            return false;
        kept = to;
    }
    w->at.len = kept;
    return true;
}

static uint32_t node_of(const struct work *w, uint32_t place)
{
    return w->tree->places.at[lpo_region_place(w->tree, op_at(w, place))].leaf;
}

/* The innermost region around two; LPO_NONE. Parents have smaller numbers. */
static uint32_t around(const struct lpo_region_tree *tree, uint32_t a, uint32_t b)
{
    while (a != b && a != LPO_NONE && b != LPO_NONE) {
        if (a > b)
            a = tree->nodes.at[a].parent;
        else
            b = tree->nodes.at[b].parent;
    }
    return a == b ? a : LPO_NONE;
}

static void take(struct work *w, uint32_t length)
{
    struct lpo_fusion_sequence s = { .length = length, .count = w->at.len };

    for (uint32_t k = 0; k < length; k++)
        s.names[k] = op_at(w, w->at.at[0] + k)->name;
    s.node = node_of(w, w->at.at[0]);
    for (size_t i = 0; i < w->at.len; i++) {
        int64_t longest = 0, sum = 0;

        for (uint32_t k = w->at.at[i]; k < w->at.at[i] + length; k++) {
            const struct lpo_gpu_op *op = op_at(w, k);
            int64_t ns = lpo_trace_gpu_op_ns(op);
            int64_t gap = k > w->at.at[i] ? op->start_ns - op_at(w, k - 1)->end_ns : 0;

            sum += ns;
            longest = ns > longest ? ns : longest;
            s.gap_ns += gap > 0 ? gap : 0;
            w->places.at[k].taken = true;
        }
        s.gpu_ns += sum;
        s.rest_ns += sum - longest;
        s.node = around(w->tree, s.node, node_of(w, w->at.at[i]));
    }
    lpo_vec_push(&w->out->sequences, s);
}

/* The places of a pair that are free and do not overlap. */
static void gather(struct work *w, const struct pair *p)
{
    uint32_t until = 0;

    w->at.len = 0;
    for (uint32_t i = p->first; i != LPO_NONE; i = w->places.at[i].next) {
        if (i < until || w->places.at[i].taken || w->places.at[i + 1].taken)
            continue;
        lpo_vec_push(&w->at, i);
        until = i + 2;
    }
}

static void find_sequences(struct work *w)
{
    lpo_vec_sort(&w->pairs, by_count);
    for (size_t i = 0; i < w->pairs.len && w->out->sequences.len < SEQUENCES; i++) {
        int length = 2;

        if (w->pairs.at[i].count < LEAST)
            break;
        gather(w, &w->pairs.at[i]);
        if (w->at.len < LEAST)
            continue;
        while (length < LPO_FUSION_LONGEST && grow(w, length, length))
            length++;
        while (length < LPO_FUSION_LONGEST && grow(w, length, -1))
            length++;
        take(w, (uint32_t)length);
    }
}

static int by_time(const void *a, const void *b)
{
    const struct lpo_fusion_sequence *x = a, *y = b;
    int64_t p = x->gpu_ns + x->gap_ns, q = y->gpu_ns + y->gap_ns;

    if (p != q)
        return p > q ? -1 : 1;
    return (x->names[0] > y->names[0]) - (x->names[0] < y->names[0]);
}

struct lpo_fusion *lpo_fusion_create(const struct lpo_region_tree *tree)
{
    struct work w = { .tree = tree, .t = tree->trace, .out = lpo_xcalloc(1, sizeof *w.out) };

    find_runs(&w);
    count_kernels(&w);
    find_pairs(&w);
    if (w.pairs.len)
        find_sequences(&w);
    lpo_vec_sort(&w.out->sequences, by_time);
    lpo_vec_free(&w.places);
    lpo_vec_free(&w.pairs);
    lpo_vec_free(&w.at);
    return w.out;
}

void lpo_fusion_destroy(struct lpo_fusion *f)
{
    if (!f)
        return;
    lpo_vec_free(&f->sequences);
    free(f);
}
