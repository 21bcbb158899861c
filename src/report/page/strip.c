/* SPDX-License-Identifier: Apache-2.0 */
/* The timeline of the page: every GPU operation where that fits, else neighbours drawn as one. */

#include "analysis/analysis.h"
#include "report/doc/doc.h"
#include "report/page/page.h"
#include "report/trace_records.h"
#include "util/pack.h"

/* Up to ten bytes each in the page: 3.2 MB of the 6 that it may take. */
enum { MOST_OPERATIONS = 320000, MOST_LANES = 256 };

struct strip {
    const struct lpo_page_detail *d;
    uint32_t *rows; /* of gpu_ops, by device, stream and start */
    size_t count;
    int64_t zero_ns, end_ns;
};

static bool before(const void *trace, uint32_t x, uint32_t y)
{
    const struct lpo_trace *t = trace;
    const struct lpo_gpu_op *a = &t->gpu_ops.at[x], *b = &t->gpu_ops.at[y];

    if (a->device != b->device)
        return a->device < b->device;
    if (a->stream != b->stream)
        return a->stream < b->stream;
    return a->start_ns < b->start_ns;
}

static bool same_lane(const struct lpo_gpu_op *a, const struct lpo_gpu_op *b)
{
    return a->device == b->device && a->stream == b->stream;
}

static void gather(struct strip *s)
{
    const struct lpo_trace *t = s->d->analysis->trace;

    s->rows = lpo_xrealloc(NULL, t->gpu_ops.len + 1, sizeof *s->rows);
    s->zero_ns = INT64_MAX;
    s->end_ns = INT64_MIN;
    for (size_t i = 0; i < t->gpu_ops.len; i++) {
        const struct lpo_gpu_op *w = &t->gpu_ops.at[i];

        if (w->flags & (LPO_GPU_OP_UNTIMED | LPO_GPU_OP_NO_LENGTH))
            continue;
        s->rows[s->count++] = (uint32_t)i;
        s->zero_ns = w->start_ns < s->zero_ns ? w->start_ns : s->zero_ns;
        s->end_ns = w->end_ns > s->end_ns ? w->end_ns : s->end_ns;
    }
    lpo_order_sort(s->rows, s->count, before, t);
}

/* The end of a block that begins with operation `i`: neighbours on the lane that start less than
 * `step` ns after the block began are drawn as one. */
static size_t block_end(const struct strip *s, size_t i, size_t end, int64_t step)
{
    const struct lpo_gpu_op *ops = s->d->analysis->trace->gpu_ops.at;
    int64_t from = ops[s->rows[i]].start_ns;
    size_t k = i + 1;

    while (k < end && ops[s->rows[k]].start_ns - from < step)
        k++;
    return k;
}

static size_t lane_end(const struct strip *s, size_t i)
{
    const struct lpo_gpu_op *ops = s->d->analysis->trace->gpu_ops.at;
    size_t k = i + 1;

    while (k < s->count && same_lane(&ops[s->rows[i]], &ops[s->rows[k]]))
        k++;
    return k;
}

/* The finest step by which no more than `most` are left in the lanes that are drawn; 0
 * where all fit. A lane has one at least, however long the step is. */
static int64_t choose_step(const struct strip *s, size_t most)
{
    int64_t step = 0;
    size_t blocks = s->count;

    while (blocks > most) {
        step = step ? step * 2 : 1024;
        blocks = 0;
        for (size_t i = 0, lanes = 0; i < s->count && lanes < MOST_LANES; lanes++) {
            size_t end = lane_end(s, i);

            for (; i < end; i = block_end(s, i, end, step))
                blocks++;
        }
    }
    return step;
}

uint32_t lpo_page_region_of(const struct lpo_page_detail *d, const struct lpo_gpu_op *op)
{
    const struct lpo_region_tree *tree = d->analysis->tree;
    uint32_t leaf = tree->places.at[lpo_region_place(tree, op)].leaf;

    /* a region that was left out is small: its nearest shown ancestor stands for it */
    while (leaf != LPO_NONE && d->regions[leaf] == LPO_NONE)
        leaf = tree->nodes.at[leaf].parent;
    return leaf == LPO_NONE ? 0 : d->regions[leaf] + 1;
}

/* The row of its thread plus one, and how long before the operation it was; 0: not known. */
static void add_launch(const struct lpo_trace *t, struct lpo_str *bytes,
                       const struct lpo_gpu_op *op)
{
    const struct lpo_launch *l = op->launch == LPO_NONE ? NULL : &t->launches.at[op->launch];

    if (!l || l->thread == LPO_NONE) {
        lpo_pack_add(bytes, 0);
        return;
    }
    lpo_pack_add(bytes, l->thread + 1);
    lpo_pack_add_signed(bytes, op->start_ns - l->start_ns);
}

/* Adds operations [i, end) as one; `last_ns` is the start of the block before. */
static void add_block(const struct strip *s, struct lpo_str *bytes, size_t i, size_t end,
                      int64_t last_ns)
{
    const struct lpo_gpu_op *ops = s->d->analysis->trace->gpu_ops.at, *longest = &ops[s->rows[i]];
    int64_t start_ns = longest->start_ns, end_ns = longest->end_ns;
    bool several = end - i > 1;
    uint32_t kernel;

    for (size_t k = i + 1; k < end; k++) {
        const struct lpo_gpu_op *w = &ops[s->rows[k]];

        if (lpo_trace_gpu_op_ns(w) > lpo_trace_gpu_op_ns(longest))
            longest = w;
        end_ns = w->end_ns > end_ns ? w->end_ns : end_ns;
    }
    kernel = s->d->kernels.rows[longest->name];
    lpo_pack_add(bytes, (uint64_t)(start_ns - last_ns));
    lpo_pack_add(bytes, (uint64_t)(end_ns - start_ns));
    /* one row past the last: a name beyond those that are listed */
    lpo_pack_add(bytes, (kernel == LPO_NONE ? s->d->kernels.count : kernel) * 2 + several);
    if (several)
        lpo_pack_add(bytes, end - i);
    lpo_pack_add(bytes, lpo_page_region_of(s->d, longest));
    add_launch(s->d->analysis->trace, bytes, longest);
}

/* Adds a lane, operations [i, end); returns how many it was drawn as. */
static size_t add_lane(const struct strip *s, struct lpo_str *bytes, size_t i, size_t end,
                       int64_t step)
{
    int64_t last_ns = s->zero_ns;
    size_t blocks = 0;

    for (size_t next; i < end; i = next, blocks++) {
        next = block_end(s, i, end, step);
        add_block(s, bytes, i, next, last_ns);
        last_ns = s->d->analysis->trace->gpu_ops.at[s->rows[i]].start_ns;
    }
    return blocks;
}

static void put_packed(struct lpo_record *to, const struct lpo_str *bytes)
{
    LPO_STR text = { 0 };

    lpo_pack_text(&text, lpo_str_text(bytes), bytes->len);
    lpo_doc_put(to, LPO_KV("packed", lpo_jv_textn(lpo_str_text(&text), text.len)));
}

void lpo_page_put_strip(struct lpo_record *to, struct lpo_page_detail *d)
{
    const struct lpo_analysis *a = d->analysis;
    struct strip s = { .d = d };
    struct lpo_record *strip, *lanes;
    LPO_STR bytes = { 0 };
    size_t nlanes = 0, left_out = 0, end;
    int64_t step;

    gather(&s);
    d->operations = s.rows;
    d->noperations = s.count;
    if (!s.count)
        return;
    d->zero_ns = s.zero_ns;
    strip = lpo_doc_put_record(to, "strip");
    lpo_doc_put(strip, LPO_KV("zero_ns", s.zero_ns), LPO_KV("span_ns", s.end_ns - s.zero_ns));
    lanes = lpo_doc_put_list(strip, "lanes");
    step = choose_step(&s, MOST_OPERATIONS);
    lpo_doc_put(strip, LPO_KV("step_ns", step));
    for (size_t i = 0; i < s.count; i = end) {
        const struct lpo_gpu_op *first = &a->trace->gpu_ops.at[s.rows[i]];
        struct lpo_record *lane;

        end = lane_end(&s, i);
        if (nlanes++ == MOST_LANES) {
            left_out = s.count - i;
            break;
        }
        lane = lpo_doc_put_record(lanes, NULL);
        lpo_doc_put(lane,
                    LPO_KV("device", lpo_report_device_scope(to->arena,
                                                             &a->trace->devices.at[first->device])),
                    LPO_KV("stream", first->stream),
                    LPO_KV("count", add_lane(&s, &bytes, i, end, step)));
    }
    lpo_doc_put(strip, LPO_KV("operations", s.count), LPO_KV("left_out", left_out));
    put_packed(strip, &bytes);
}

bool lpo_page_put_operations(struct lpo_record *to, const struct lpo_page_detail *d, size_t lane,
                             int64_t from_ns, int64_t to_ns)
{
    const struct lpo_gpu_op *ops = d->analysis->trace->gpu_ops.at;
    struct strip s = { d, d->operations, d->noperations, d->zero_ns, 0 };
    size_t i = 0, end = s.count ? lane_end(&s, 0) : 0;
    LPO_STR bytes = { 0 };
    int64_t step;

    for (; lane && end < d->noperations; lane--) {
        i = end;
        end = lane_end(&s, i);
    }
    if (lane || !s.count)
        return false;
    s.rows = lpo_xrealloc(NULL, end - i, sizeof *s.rows);
    for (s.count = 0; i < end; i++) {
        const struct lpo_gpu_op *op = &ops[d->operations[i]];
        int64_t start_ns = op->start_ns - s.zero_ns;

        if (start_ns < to_ns && (op->end_ns - s.zero_ns > from_ns || start_ns >= from_ns))
            s.rows[s.count++] = d->operations[i];
    }
    step = choose_step(&s, LPO_PAGE_MOST_EVENTS);
    lpo_doc_put(to, LPO_KV("count", add_lane(&s, &bytes, 0, s.count, step)),
                LPO_KV("step_ns", step));
    put_packed(to, &bytes);
    free(s.rows);
    return true;
}
