/* SPDX-License-Identifier: Apache-2.0 */
/* The timeline of the page: every GPU operation where that fits, else neighbours drawn as one. */
#include <stdlib.h>

#include "analysis/analysis.h"
#include "region/tree.h"
#include "report/doc/doc.h"
#include "report/page/page.h"
#include "report/trace_records.h"
#include "trace/trace.h"
#include "util/order.h"
#include "util/pack.h"
#include "util/str.h"
#include "util/xmalloc.h"

/* Up to ten bytes each in the page: 3.2 MB of the 6 that it may take. */
enum { MOST_OPERATIONS = 320000, MOST_LANES = 256 };

struct strip {
    const struct lpo_analysis *a;
    const struct lpo_page_kernels *kernels;
    const uint32_t *regions;
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
    const struct lpo_trace *t = s->a->trace;

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
    const struct lpo_gpu_op *ops = s->a->trace->gpu_ops.at;
    int64_t from = ops[s->rows[i]].start_ns;
    size_t k = i + 1;

    while (k < end && ops[s->rows[k]].start_ns - from < step)
        k++;
    return k;
}

static size_t lane_end(const struct strip *s, size_t i)
{
    const struct lpo_gpu_op *ops = s->a->trace->gpu_ops.at;
    size_t k = i + 1;

    while (k < s->count && same_lane(&ops[s->rows[i]], &ops[s->rows[k]]))
        k++;
    return k;
}

/* The finest step by which no more than MOST_OPERATIONS are left in the lanes that are drawn; 0
 * where all fit. A lane has one at least, however long the step is. */
static int64_t choose_step(const struct strip *s)
{
    int64_t step = 0;
    size_t blocks = s->count;

    while (blocks > MOST_OPERATIONS) {
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

static uint32_t region_of(const struct strip *s, const struct lpo_gpu_op *w)
{
    const struct lpo_region_tree *tree = s->a->tree;
    uint32_t leaf = tree->places.at[lpo_region_place(tree, w)].leaf;

    /* a region that was left out is small: its nearest shown ancestor stands for it */
    while (leaf != LPO_NONE && s->regions[leaf] == LPO_NONE)
        leaf = tree->nodes.at[leaf].parent;
    return leaf == LPO_NONE ? 0 : s->regions[leaf] + 1;
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
    const struct lpo_gpu_op *ops = s->a->trace->gpu_ops.at, *longest = &ops[s->rows[i]];
    int64_t start_ns = longest->start_ns, end_ns = longest->end_ns;
    bool several = end - i > 1;
    uint32_t kernel;

    for (size_t k = i + 1; k < end; k++) {
        const struct lpo_gpu_op *w = &ops[s->rows[k]];

        if (lpo_trace_gpu_op_ns(w) > lpo_trace_gpu_op_ns(longest))
            longest = w;
        end_ns = w->end_ns > end_ns ? w->end_ns : end_ns;
    }
    kernel = s->kernels->rows[longest->name];
    lpo_pack_add(bytes, (uint64_t)(start_ns - last_ns));
    lpo_pack_add(bytes, (uint64_t)(end_ns - start_ns));
    /* one row past the last: a name beyond those that are listed */
    lpo_pack_add(bytes, (kernel == LPO_NONE ? s->kernels->count : kernel) * 2 + several);
    if (several)
        lpo_pack_add(bytes, end - i);
    lpo_pack_add(bytes, region_of(s, longest));
    add_launch(s->a->trace, bytes, longest);
}

int64_t lpo_page_put_strip(struct lpo_record *to, const struct lpo_analysis *a,
                           const struct lpo_page_kernels *kernels, const uint32_t *regions)
{
    struct strip s = { .a = a, .kernels = kernels, .regions = regions };
    struct lpo_record *strip, *lanes;
    LPO_STR bytes = { 0 }, text = { 0 };
    size_t nlanes = 0, left_out = 0;
    int64_t step;

    gather(&s);
    if (!s.count) {
        free(s.rows);
        return LPO_NO_TIME;
    }
    strip = lpo_doc_put_record(to, "strip");
    lpo_doc_put_int(strip, "zero_ns", s.zero_ns);
    lpo_doc_put_int(strip, "span_ns", s.end_ns - s.zero_ns);
    lanes = lpo_doc_put_list(strip, "lanes");
    step = choose_step(&s);
    lpo_doc_put_int(strip, "step_ns", step);
    for (size_t i = 0; i < s.count;) {
        const struct lpo_gpu_op *first = &a->trace->gpu_ops.at[s.rows[i]];
        size_t end = lane_end(&s, i), blocks = 0;
        int64_t last_ns = s.zero_ns;
        struct lpo_record *lane;

        if (nlanes++ == MOST_LANES) {
            left_out = s.count - i;
            break;
        }
        lane = lpo_doc_put_record(lanes, NULL);
        lpo_doc_put_text(lane, "device",
                         lpo_report_device_scope(to->arena, &a->trace->devices.at[first->device]));
        lpo_doc_put_uint(lane, "stream", first->stream);
        while (i < end) {
            size_t next = block_end(&s, i, end, step);

            add_block(&s, &bytes, i, next, last_ns);
            last_ns = a->trace->gpu_ops.at[s.rows[i]].start_ns;
            blocks++;
            i = next;
        }
        lpo_doc_put_uint(lane, "count", blocks);
    }
    lpo_doc_put_uint(strip, "operations", s.count);
    lpo_doc_put_uint(strip, "left_out", left_out);
    lpo_pack_text(&text, lpo_str_text(&bytes), bytes.len);
    lpo_doc_put_textn(strip, "packed", lpo_str_text(&text), text.len);
    free(s.rows);
    return s.zero_ns;
}
