/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "hydra/compose.h"
#include "settings/settings.h"
#include "util/arena.h"
#include "util/str.h"

/* Where a config may leave keys out. The other keys (model, infer, workload) belong to the choice
 * of a group: a default there would add keys of one workload to the config of another. */
static const char *const filled[] = { "run.", "artifacts.root", "dataset.sampling.", "pipeline.",
                                      "report." };

static bool is_filled(const char *path)
{
    for (size_t i = 0; i < sizeof filled / sizeof *filled; i++)
        if (lpo_str_starts(path, filled[i]))
            return true;
    return false;
}

static struct lpo_node *list_of(struct lpo_arena *a, const char *text)
{
    struct lpo_node *list = lpo_node_list(a);

    while (*text) {
        size_t len = strcspn(text, ",");

        lpo_node_push(a, list, lpo_node_stringn(a, text, len));
        text += len + (text[len] == ',');
    }
    return list;
}

static struct lpo_node *value_of(struct lpo_arena *a, const struct lpo_schema_row *row)
{
    if (strcmp(row->fallback, "null") == 0)
        return lpo_node_null(a);
    switch (row->type) {
    case LPO_S_BOOL:
        return lpo_node_bool(a, strcmp(row->fallback, "true") == 0);
    case LPO_S_INT:
        return lpo_node_int(a, strtoll(row->fallback, NULL, 10));
    case LPO_S_REAL:
        return lpo_node_float(a, strtod(row->fallback, NULL));
    case LPO_S_WORDS:
    case LPO_S_PATTERNS:
    case LPO_S_ARGS:
    case LPO_S_TEXTS:
        return list_of(a, row->fallback);
    default:
        return lpo_node_string(a, row->fallback);
    }
}

struct lpo_node *lpo_settings_defaults(struct lpo_arena *a)
{
    size_t count;
    const struct lpo_schema_row *rows = lpo_settings_schema_rows(&count);
    struct lpo_node *root = lpo_node_map(a);

    for (size_t i = 0; i < count; i++) {
        struct lpo_node *in = root;
        const char *path = rows[i].path, *dot;

        if (!rows[i].fallback || !is_filled(path))
            continue;
        for (; (dot = strchr(path, '.')); path = dot + 1) {
            char *key = lpo_arena_strndup(a, path, (size_t)(dot - path));

            if (!lpo_node_get(in, key))
                lpo_node_set(a, in, key, lpo_node_map(a));
            in = lpo_node_get(in, key);
        }
        lpo_node_set(a, in, path, value_of(a, &rows[i]));
    }
    return root;
}
