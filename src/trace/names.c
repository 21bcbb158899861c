/* SPDX-License-Identifier: Apache-2.0 */
/* A table whose values are their own index. */
#include "trace/names.h"

#include "util/arena.h"
#include "util/map.h"

#include <stdlib.h>

struct lpo_trace_names {
    struct lpo_map *map;
};

struct lpo_trace_names *lpo_trace_names_create(void)
{
    struct lpo_trace_names *n = lpo_xcalloc(1, sizeof *n);

    n->map = lpo_map_create();
    return n;
}

void lpo_trace_names_destroy(struct lpo_trace_names *n)
{
    if (!n)
        return;
    lpo_map_destroy(n->map);
    free(n);
}

uint32_t lpo_trace_names_put(struct lpo_trace_names *n, const char *text, size_t len)
{
    bool fresh;
    uint64_t *slot = lpo_map_put(n->map, text, len, &fresh);

    if (fresh)
        *slot = lpo_map_count(n->map) - 1;
    return (uint32_t)*slot;
}

uint32_t lpo_trace_names_find(const struct lpo_trace_names *n, const char *text, size_t len)
{
    const uint64_t *slot = lpo_map_find(n->map, text, len);

    return slot ? (uint32_t)*slot : UINT32_MAX;
}

const char *lpo_trace_names_text(const struct lpo_trace_names *n, uint32_t id, size_t *len)
{
    return lpo_map_key(n->map, id, len);
}

size_t lpo_trace_names_count(const struct lpo_trace_names *n)
{
    return lpo_map_count(n->map);
}
