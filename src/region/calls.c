/* SPDX-License-Identifier: Apache-2.0 */
#include "region/calls.h"

#include "region/tree.h"
#include "trace/host.h"

struct build {
    const struct lpo_region_tree *tree;
    struct lpo_region_call_list *calls;
    uint32_t *row_of; /* per range: its call; LPO_NONE: nothing was launched in it so far */
};

static bool is_called(const struct lpo_region_tree *tree, uint32_t node, const struct lpo_slice *s)
{
    const struct lpo_region *n = &tree->nodes.at[node];

    return n->kind == LPO_PUSH_POP && n->name == s->name &&
           n->domain == tree->trace->ranges.at[s->row].domain;
}

/* The call that a range is, when `node` is the region of it; LPO_NONE: it is that of another path.
 * The ranges around it become calls first. */
static uint32_t call_of(struct build *b, const struct lpo_slice *range, uint32_t node)
{
    const struct lpo_region_tree *tree = b->tree;
    struct lpo_slice chain[LPO_REGION_DEPTH];
    uint32_t nodes[LPO_REGION_DEPTH], parent = LPO_NONE;
    size_t n = 0;

    chain[0] = *range;
    for (; node != LPO_NONE; node = tree->nodes.at[node].parent) {
        if (!is_called(tree, node, &chain[n]))
            return LPO_NONE;
        nodes[n++] = node;
        if (n < LPO_REGION_DEPTH &&
            lpo_host_parent(tree->trace, &chain[n - 1], LPO_HOST_RANGE, &chain[n]))
            continue;
        if (tree->nodes.at[node].parent != LPO_NONE)
            return LPO_NONE;
    }
    while (n--) {
        uint32_t *row = &b->row_of[chain[n].row];

        if (*row == LPO_NONE) {
            *row = (uint32_t)b->calls->rows.len;
            lpo_vec_push(&b->calls->rows,
                         (struct lpo_region_call){ chain[n].start_ns, nodes[n], parent });
        }
        parent = *row;
    }
    return parent;
}

struct lpo_region_call_list *lpo_region_call_list_create(const struct lpo_region_tree *tree)
{
    const struct lpo_trace *t = tree->trace;
    struct lpo_region_call_list *c = lpo_xcalloc(1, sizeof *c);
    struct build b = { tree, c, lpo_xmalloc((t->ranges.len + 1) * sizeof *b.row_of) };

    memset(b.row_of, 0xff, t->ranges.len * sizeof *b.row_of);
    c->launch = lpo_xmalloc((t->launches.len + 1) * sizeof *c->launch);
    for (uint32_t i = 0; i < t->launches.len; i++) {
        uint32_t leaf = tree->places.at[tree->launch_place[i]].leaf;
        struct lpo_slice range;

        c->launch[i] = LPO_NONE;
        if (leaf != LPO_NONE && !t->launches.at[i].path &&
            lpo_host_around(t, i, LPO_HOST_RANGE, &range))
            c->launch[i] = call_of(&b, &range, leaf);
    }
    free(b.row_of);
    return c;
}

void lpo_region_call_list_destroy(struct lpo_region_call_list *c)
{
    if (!c)
        return;
    lpo_vec_free(&c->rows);
    free(c->launch);
    free(c);
}
