/* SPDX-License-Identifier: Apache-2.0 */
#include "region/links.h"

#include <stdlib.h>

#include "region/tree.h"
#include "util/xmalloc.h"

static int by_thread_and_time(const void *x, const void *y)
{
    const struct lpo_region_lookup *a = x, *b = y;

    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return (a->end_ns > b->end_ns) - (a->end_ns < b->end_ns);
}

void lpo_region_lookups_sort(lpo_region_lookups *all)
{
    if (all->len > 1)
        qsort(all->at, all->len, sizeof *all->at, by_thread_and_time);
}

/* The row of these links, made when new. */
static uint32_t row_of(struct lpo_region_tree *tree, const struct lpo_region_links *links)
{
    bool fresh;
    uint32_t row = lpo_map_pair_put(&tree->link_map, links->adopted, 0, &fresh);

    if (fresh)
        lpo_vec_push(&tree->links, *links);
    return row;
}

void lpo_region_links_fill(struct lpo_region_tree *tree, const lpo_region_lookups *adopted)
{
    row_of(tree, &(struct lpo_region_links){ LPO_NONE });
    if (!adopted->len)
        return;
    tree->launch_links = lpo_xcalloc(tree->trace->launches.len, sizeof *tree->launch_links);
    for (size_t i = 0; i < adopted->len; i++)
        tree->launch_links[adopted->at[i].launch] =
            row_of(tree, &(struct lpo_region_links){ adopted->at[i].node });
}
