/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/numbers/numbers.h"

#include "region/scope.h"

/* Regions of start/end ranges by name and domain: each name is one. */
struct start_ends {
    struct lpo_map_pair rows;
    LPO_VEC(uint32_t) nodes;
};

static void find_start_ends(const struct lpo_region_tree *tree, struct start_ends *out)
{
    for (size_t i = 0; i < tree->nodes.len; i++) {
        const struct lpo_region *r = &tree->nodes.at[i];
        bool fresh;

        if (r->kind != LPO_START_END)
            continue;
        lpo_map_pair_put(&out->rows, r->name, r->domain, &fresh);
        if (fresh)
            lpo_vec_push(&out->nodes, (uint32_t)i);
    }
}

static uint32_t node_of(const struct lpo_region_tree *tree, const struct start_ends *named,
                        const struct lpo_number *n)
{
    uint32_t row;

    if (n->capture == LPO_NONE) {
        row = lpo_map_pair_find(&named->rows, n->range, n->domain);
        return row == UINT32_MAX ? LPO_NODE_OUTSIDE : named->nodes.at[row];
    }
    row = tree->capture_place[n->capture];
    if (row == LPO_NONE || tree->places.at[row].leaf == LPO_NONE)
        return LPO_NODE_OUTSIDE;
    return tree->places.at[row].leaf;
}

LPO_COMPARE(by_node, struct lpo_numbers_row, LPO_UP(node) ?: LPO_UP(name));

struct lpo_numbers *lpo_numbers_create(const struct lpo_region_tree *tree)
{
    struct lpo_numbers *out = lpo_xcalloc(1, sizeof *out);
    const struct lpo_trace *t = tree->trace;
    struct start_ends named = { 0 };
    struct lpo_map_pair rows = { 0 };

    if (t->numbers.len)
        find_start_ends(tree, &named);
    for (size_t i = 0; i < t->numbers.len; i++) {
        const struct lpo_number *n = &t->numbers.at[i];
        uint32_t node = node_of(tree, &named, n), at;
        struct lpo_numbers_row *r;
        bool fresh;

        at = lpo_map_pair_put(&rows, node, n->name, &fresh);
        if (fresh)
            lpo_vec_push(&out->rows,
                         (struct lpo_numbers_row){
                             .node = node, .name = n->name, .least = n->least, .most = n->most });
        r = &out->rows.at[at];
        r->count += n->count;
        r->sum += n->sum;
        r->least = n->least < r->least ? n->least : r->least;
        r->most = n->most > r->most ? n->most : r->most;
    }
    lpo_map_pair_free(&rows);
    lpo_map_pair_free(&named.rows);
    lpo_vec_free(&named.nodes);
    lpo_vec_sort(&out->rows, by_node);
    return out;
}

void lpo_numbers_destroy(struct lpo_numbers *n)
{
    if (!n)
        return;
    lpo_vec_free(&n->rows);
    free(n);
}

const struct lpo_numbers_row *lpo_numbers_of(const struct lpo_numbers *n, uint32_t node,
                                             size_t *count)
{
    size_t low = 0, high = n->rows.len;

    lpo_search(low, high, middle, n->rows.at[middle].node < node);
    for (*count = 0; low + *count < n->rows.len && n->rows.at[low + *count].node == node;)
        ++*count;
    return *count ? &n->rows.at[low] : NULL;
}
