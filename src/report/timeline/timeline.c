/* SPDX-License-Identifier: Apache-2.0 */
#include "report/documents.h"

#include "analysis/analysis.h"
#include "analysis/ranks/ranks.h"
#include "analysis/wall/timeline.h"
#include "report/doc/doc.h"
#include "report/timeline/private.h"
#include "trace/host.h"

/* A viewer that runs in a browser opens a million events, and not ten. */
enum { REGION_LEVELS = 6, MOST_EVENTS = 1000000 };

int64_t lpo_timeline_at(const struct lpo_timeline *b, uint16_t process, int64_t ns)
{
    const struct lpo_rank_row *clock = b->clocks[process];

    return (clock ? lpo_ranks_common_ns(clock, ns) : ns) - b->zero_ns;
}

static const struct lpo_rank_row **find_clocks(const struct lpo_analysis *a)
{
    const struct lpo_ranks *r = lpo_analysis_ranks(a);
    const struct lpo_trace *t = a->trace;
    const struct lpo_rank_row **out = lpo_xcalloc(t->processes.len + 1, sizeof *out);

    for (size_t p = 0; p < t->processes.len; p++)
        for (size_t i = 0; r && i < r->rows.len; i++)
            if (r->rows.at[i].aligned && r->rows.at[i].rank == t->processes.at[p].rank)
                out[p] = &r->rows.at[i];
    return out;
}

/* While zero_ns is 0. */
static int64_t first_moment(const struct lpo_timeline *b)
{
    const struct lpo_trace *t = b->a->trace;
    int64_t ns = INT64_MAX;

#define SEE(process, moment)                                                                       \
    do {                                                                                           \
        int64_t at = lpo_timeline_at(b, process, moment);                                          \
        ns = at < ns ? at : ns;                                                                    \
    } while (0)
#define SEE_ALL(rows, start)                                                                       \
    for (size_t i = 0; i < t->rows.len; i++)                                                       \
    SEE(t->threads.at[t->rows.at[i].thread].process, t->rows.at[i].start)
    for (size_t i = 0; i < t->gpu_ops.len; i++)
        if (!(t->gpu_ops.at[i].flags & LPO_GPU_OP_UNTIMED))
            SEE(t->gpu_ops.at[i].process, t->gpu_ops.at[i].start_ns);
    SEE_ALL(ranges, start_ns);
    SEE_ALL(ops, start_ns);
    SEE_ALL(calls, start_ns);
    SEE_ALL(marks, ns);
    SEE_ALL(launches, start_ns);
#undef SEE_ALL
#undef SEE
    return ns == INT64_MAX ? 0 : ns;
}

static const char *node_name(struct lpo_timeline *b, uint32_t node)
{
    LPO_STR s = { 0 };

    if (!b->node_names[node]) {
        lpo_region_add_name(b->a->tree, node, &s);
        b->node_names[node] = lpo_doc_keep(b->doc, lpo_str_text(&s), s.len);
    }
    return b->node_names[node];
}

/* As everywhere: '~' before what is estimated. */
static const char *gpu_op_name(struct lpo_timeline *b, const struct lpo_gpu_op *w)
{
    const char *name = lpo_trace_text(b->a->trace, w->name);

    if (!(w->flags & LPO_GPU_OP_SHARE))
        return name;
    if (!b->share_names[w->name])
        b->share_names[w->name] = lpo_arena_printf(b->doc->arena, "~%s", name);
    return b->share_names[w->name];
}

/* The region of one level from which a device got its operations, while it lasts. */
struct band {
    uint32_t node, lane;
    int64_t start_ns, end_ns;
};

static void close_band(struct lpo_timeline *b, struct band *band)
{
    if (band->node != LPO_NONE)
        lpo_doc_figure_span(b->f, band->lane, node_name(b, band->node), band->start_ns,
                            band->end_ns);
    band->node = LPO_NONE;
}

static uint32_t node_at_level(const struct lpo_region_tree *tree, uint32_t node, unsigned level)
{
    while (node != LPO_NONE && tree->nodes.at[node].depth > level)
        node = tree->nodes.at[node].parent;
    return node != LPO_NONE && tree->nodes.at[node].depth == level ? node : LPO_NONE;
}

static uint32_t own_leaf(const struct lpo_region_tree *tree, const struct lpo_gpu_op *w)
{
    return tree->places.at[lpo_region_place(tree, w)].leaf;
}

static uint32_t adopted_leaf(const struct lpo_region_tree *tree, const struct lpo_gpu_op *w)
{
    return tree->links.at[lpo_region_links_of(tree, w)].adopted;
}

static uint32_t forward_leaf(const struct lpo_region_tree *tree, const struct lpo_gpu_op *w)
{
    return tree->links.at[lpo_region_links_of(tree, w)].forward;
}

/* What an operation belongs to (region/links.h), in lanes of its own each. */
static const struct bands_of {
    const char *lane;
    uint32_t (*leaf)(const struct lpo_region_tree *tree, const struct lpo_gpu_op *w);
} all_bands[] = {
    { "regions", own_leaf },
    { "adopted by", adopted_leaf },
    { "backward of", forward_leaf },
};

/* GPU operations of one device in order of time. */
static void add_bands(struct lpo_timeline *b, const uint32_t *rows, size_t count, const char *group,
                      const struct bands_of *of)
{
    const struct lpo_region_tree *tree = b->a->tree;
    struct band bands[REGION_LEVELS];

    for (int i = 0; i < REGION_LEVELS; i++)
        bands[i] = (struct band){ .node = LPO_NONE, .lane = LPO_NONE };
    for (size_t i = 0; i < count; i++) {
        const struct lpo_gpu_op *w = &tree->trace->gpu_ops.at[rows[i]];
        uint32_t leaf = of->leaf(tree, w);

        for (unsigned level = 0; level < REGION_LEVELS; level++) {
            struct band *band = &bands[level];
            uint32_t node = node_at_level(tree, leaf, level);
            int64_t end_ns;

            if (node != band->node)
                close_band(b, band);
            if (node == LPO_NONE)
                continue;
            if (band->lane == LPO_NONE)
                band->lane = lpo_doc_figure_lane(
                    b->f, group,
                    lpo_arena_printf(b->doc->arena, "%s, level %u", of->lane, level + 1));
            if (band->node == LPO_NONE)
                band->start_ns = band->end_ns = lpo_timeline_at(b, w->process, w->start_ns);
            band->node = node;
            end_ns = lpo_timeline_at(b, w->process, w->end_ns);
            if (end_ns > band->end_ns)
                band->end_ns = end_ns;
        }
    }
    for (int i = 0; i < REGION_LEVELS; i++)
        close_band(b, &bands[i]);
}

static bool gpu_op_before(const void *trace, uint32_t x, uint32_t y)
{
    const struct lpo_trace *t = trace;
    const struct lpo_gpu_op *a = &t->gpu_ops.at[x], *c = &t->gpu_ops.at[y];

    return a->device != c->device ? a->device < c->device : a->start_ns < c->start_ns;
}

const char *lpo_timeline_group(struct lpo_timeline *b, uint16_t index)
{
    const struct lpo_device *d = &b->a->trace->devices.at[index];

    if (d->rank >= 0)
        return lpo_arena_printf(b->doc->arena, "GPU %d of rank %d", d->id, d->rank);
    return lpo_arena_printf(b->doc->arena, "GPU %d", d->id);
}

static void add_device(struct lpo_timeline *b, const uint32_t *rows, size_t count)
{
    const struct lpo_trace *t = b->a->trace;
    const char *group = lpo_timeline_group(b, t->gpu_ops.at[rows[0]].device);
    LPO_FREED struct lpo_map_pair streams = { 0 };
    LPO_FREED LPO_VEC(uint32_t) lanes = { 0 };

    for (size_t i = 0; i < sizeof all_bands / sizeof *all_bands; i++)
        if (i == 0 || b->a->tree->launch_links)
            add_bands(b, rows, count, group, &all_bands[i]);
    for (size_t i = 0; i < count; i++) {
        const struct lpo_gpu_op *w = &t->gpu_ops.at[rows[i]];
        bool fresh;
        uint32_t row = lpo_map_pair_put(&streams, w->stream, 0, &fresh);

        if (fresh)
            lpo_vec_push(&lanes,
                         lpo_doc_figure_lane(
                             b->f, group, lpo_arena_printf(b->doc->arena, "stream %u", w->stream)));
        lpo_doc_figure_span(b->f, lanes.at[row], gpu_op_name(b, w),
                            lpo_timeline_at(b, w->process, w->start_ns),
                            lpo_timeline_at(b, w->process, w->end_ns));
        lpo_timeline_add_arrow(b, w, lanes.at[row]);
    }
    lpo_timeline_count_waiting(b, rows, count, lanes.at[0]);
}

static void add_devices(struct lpo_timeline *b)
{
    const struct lpo_trace *t = b->a->trace;
    LPO_FREED uint32_t *rows = lpo_xrealloc(NULL, t->gpu_ops.len + 1, sizeof *rows);
    size_t n = 0;

    for (size_t i = 0; i < t->gpu_ops.len; i++)
        if (!(t->gpu_ops.at[i].flags & (LPO_GPU_OP_UNTIMED | LPO_GPU_OP_NO_LENGTH)))
            rows[n++] = (uint32_t)i;
    lpo_order_sort(rows, n, gpu_op_before, t);
    for (size_t i = 0; i < n;) {
        size_t from = i;

        while (i < n && t->gpu_ops.at[rows[i]].device == t->gpu_ops.at[rows[from]].device)
            i++;
        add_device(b, rows + from, i - from);
    }
}

/* Category and colour. Viewers colour slices by their names; the colour is among the details. */
static void add_look(struct lpo_timeline *b, const struct lpo_range *r)
{
    const struct lpo_trace *t = b->a->trace;
    const struct lpo_range_look *look = lpo_trace_look(t, r->name, r->domain);

    if (look && look->category != LPO_NONE)
        lpo_doc_figure_note(b->f, "category", lpo_trace_text(t, look->category));
    if (look && look->has_color)
        lpo_doc_figure_note(b->f, "color", lpo_arena_printf(b->doc->arena, "#%06x", look->color));
}

static void add_ranges(struct lpo_timeline *b, enum lpo_host_kind kind)
{
    const struct lpo_trace *t = b->a->trace;

    for (uint32_t i = 0; i < t->threads.len; i++) {
        const struct lpo_process *p = &t->processes.at[t->threads.at[i].process];
        struct lpo_host_rows ranges = lpo_host_rows(t, i, kind);
        uint32_t lane;

        if (!ranges.len)
            continue;
        lane = lpo_doc_figure_lane(
            b->f, lpo_arena_printf(b->doc->arena, "process %lld", (long long)p->pid),
            lpo_timeline_thread_name(
                b, i, kind == LPO_HOST_RANGE ? "push/pop ranges" : "start/end ranges"));
        for (size_t k = 0; k < ranges.len; k++) {
            const struct lpo_range *r = &t->ranges.at[ranges.at[k]];

            lpo_doc_figure_span(
                b->f, lane, lpo_trace_text(t, r->name),
                lpo_timeline_at(b, t->threads.at[i].process, r->start_ns),
                lpo_timeline_at(b, t->threads.at[i].process, lpo_host_range_end(t, r)));
            add_look(b, r);
        }
    }
}

struct lpo_doc *lpo_report_timeline_doc(const struct lpo_analysis *a, const struct lpo_rundir *d,
                                        const struct lpo_source *s)
{
    struct lpo_timeline b = { .a = a,
                              .doc = lpo_doc_create("timeline", "lpo timeline"),
                              .left = MOST_EVENTS };

    b.f = lpo_doc_figure(b.doc, "timeline", "Timeline", LPO_FIG_LANES);
    b.clocks = find_clocks(a);
    b.zero_ns = first_moment(&b);
    b.node_names = lpo_xcalloc(a->tree->nodes.len + 1, sizeof *b.node_names);
    b.share_names = lpo_xcalloc(lpo_trace_name_count(a->trace) + 1, sizeof *b.share_names);
    if (s)
        lpo_timeline_add_findings(&b, d, s);
    add_ranges(&b, LPO_HOST_RANGE);
    add_ranges(&b, LPO_HOST_START_END);
    lpo_timeline_add_host(&b);
    add_devices(&b);
    lpo_timeline_add_gaps(&b);
    if (s)
        lpo_timeline_add_charts(&b, d, s);
    lpo_timeline_nest(b.f);
    free(b.call_lanes);
    free(b.clocks);
    free(b.node_names);
    free(b.share_names);
    return b.doc;
}
