/* SPDX-License-Identifier: Apache-2.0 */
/* A table whose values are their own index. */
#include "trace/names.h"

#include "util/arena.h"
#include "util/map.h"
#include "util/str.h"

#include <stdlib.h>
#include <string.h>

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

enum { LONGEST = 32768, KEPT = 4096 };

/* Nobody reads a name of a megabyte, and every table, page and search would carry it at each use.
 */
static const char *bound(const char *text, size_t *len, struct lpo_str *room)
{
    if (*len <= LONGEST)
        return text;
    lpo_str_add_bounded(room, text, *len, KEPT);
    *len = room->len;
    return room->at;
}

uint32_t lpo_trace_names_put(struct lpo_trace_names *n, const char *text, size_t len)
{
    LPO_STR room = { 0 };
    const char *kept = bound(text, &len, &room);
    bool fresh;
    uint64_t *slot = lpo_map_put(n->map, kept, len, &fresh);

    if (fresh)
        *slot = lpo_map_count(n->map) - 1;
    return (uint32_t)*slot;
}

uint32_t lpo_trace_names_find(const struct lpo_trace_names *n, const char *text, size_t len)
{
    LPO_STR room = { 0 };
    const char *kept = bound(text, &len, &room);
    const uint64_t *slot = lpo_map_find(n->map, kept, len);

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
