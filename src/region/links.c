/* SPDX-License-Identifier: Apache-2.0 */
#include "region/links.h"

#include "region/tree.h"

LPO_COMPARE(by_thread_and_time, struct lpo_region_lookup, LPO_UP(thread) ?: LPO_UP(start_ns) ?: LPO_UP(end_ns));

void lpo_region_lookups_sort(lpo_region_lookups *all)
{
    lpo_vec_sort(all, by_thread_and_time);
}

/* The row of these links, made when new. */
static uint32_t row_of(struct lpo_region_tree *tree, const struct lpo_region_links *links)
{
    bool fresh;
    uint32_t row =
        lpo_map_pair_put(&tree->link_map, (uint64_t)links->adopted << 32 | links->forward,
                         links->recomputed, &fresh);

    if (fresh)
        lpo_vec_push(&tree->links, *links);
    return row;
}

void lpo_region_links_ask(const struct lpo_trace *t, const struct lpo_region_backward *backward,
                          lpo_region_lookups *out)
{
    for (size_t i = 0; i < backward->ops.len; i++) {
        const struct lpo_op *o = &t->ops.at[backward->ops.at[i].forward];

        lpo_vec_push(out, ((struct lpo_region_lookup){ .start_ns = o->start_ns,
                                                       .end_ns = o->end_ns,
                                                       .thread = o->thread,
                                                       .asker = (uint32_t)i,
                                                       .forward = true,
                                                       .node = LPO_NONE }));
    }
}

/* Per backward operator: the region of its forward, or of that of the one around it. */
static uint32_t *forward_nodes(const struct lpo_region_backward *backward,
                               const lpo_region_lookups *answers)
{
    uint32_t *nodes = lpo_xcalloc(backward->ops.len + 1, sizeof *nodes);

    for (size_t i = 0; i < answers->len; i++)
        if (answers->at[i].forward)
            nodes[answers->at[i].asker] = answers->at[i].node;
    for (size_t i = 0; i < backward->ops.len; i++)
        if (nodes[i] == LPO_NONE && backward->ops.at[i].around != LPO_NONE)
            nodes[i] = nodes[backward->ops.at[i].around];
    return nodes;
}

/* Where a module ran again, its calls are regions of the backward thread, too: the forward work
 * belongs to the region of the same names, below the one of the first pass. */
static uint32_t first_pass(const struct lpo_region_tree *tree, uint32_t forward, uint32_t own)
{
    uint32_t chain[LPO_REGION_DEPTH];
    size_t n = 0;

    for (; own != LPO_NONE && n < LPO_REGION_DEPTH; own = tree->nodes.at[own].parent)
        chain[n++] = own;
    if (!n)
        return forward;
    for (uint32_t at = forward; at != LPO_NONE; at = tree->nodes.at[at].parent) {
        if (tree->nodes.at[at].name != tree->nodes.at[chain[n - 1]].name)
            continue;
        while (--n) {
            const struct lpo_region *r = &tree->nodes.at[chain[n - 1]];
            uint32_t next = lpo_region_node_find(tree, at, r->name, r->domain, r->kind);

            if (next == LPO_NONE)
                break;
            at = next;
        }
        return at;
    }
    return forward;
}

void lpo_region_links_fill(struct lpo_region_tree *tree, const struct lpo_region_backward *backward,
                           const lpo_region_lookups *answers)
{
    static const struct lpo_region_links none = { LPO_NONE, LPO_NONE, false };
    size_t launches = tree->trace->launches.len;
    uint32_t *nodes, *adopted;

    row_of(tree, &none);
    if (!answers->len && !backward->recomputed)
        return;
    nodes = forward_nodes(backward, answers);
    adopted = lpo_xrealloc(NULL, launches + 1, sizeof *adopted);
    memset(adopted, 0xff, (launches + 1) * sizeof *adopted);
    for (size_t i = 0; i < answers->len; i++)
        if (!answers->at[i].forward)
            adopted[answers->at[i].asker] = answers->at[i].node;
    tree->launch_links = lpo_xcalloc(launches, sizeof *tree->launch_links);
    for (size_t i = 0; i < launches; i++) {
        uint32_t op = backward->launch_op ? backward->launch_op[i] : LPO_NONE;
        struct lpo_region_links links = { .adopted = adopted[i],
                                          .forward = op == LPO_NONE ? LPO_NONE : nodes[op],
                                          .recomputed =
                                              backward->recomputed && backward->recomputed[i] };

        if (links.recomputed)
            links.forward =
                first_pass(tree, links.forward, tree->places.at[tree->launch_place[i]].leaf);
        tree->launch_links[i] = row_of(tree, &links);
    }
    free(nodes);
    free(adopted);
}
