/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of conf/rules/settings.yaml, read when one is first asked for. */
#include "settings/schema.h"

#include <pthread.h>

#include "hydra/compose.h"
#include "rules/rules.h"
#include "settings/settings.h"

/* What a row says first: its type. */
static const char *const types[] = {
    [LPO_S_BOOL] = "bool",         [LPO_S_INT] = "int",           [LPO_S_REAL] = "real",
    [LPO_S_TEXT] = "text",         [LPO_S_DURATION] = "duration", [LPO_S_WORDS] = "words",
    [LPO_S_PATTERNS] = "patterns", [LPO_S_ARGS] = "args",         [LPO_S_TEXTS] = "texts",
    [LPO_S_MAP] = "map",           [LPO_S_OPEN] = "open",
};

static struct {
    struct lpo_arena *arena; /* never freed: data of the program */
    struct lpo_schema_row *at;
    size_t len;
} rows;

/* A type that nothing has is a bug: a test reads them all. */
static enum lpo_schema_type type_of(const char *word)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i], word) == 0)
            return (enum lpo_schema_type)i;
    abort();
}

static void read_row(const char *path, const struct lpo_node *said, struct lpo_schema_row *row)
{
    const struct lpo_node *value = said->pairs[0].value, *least = lpo_node_get(said, "min");
    enum lpo_schema_type type = type_of(said->pairs[0].key->text);
    bool is_map = type == LPO_S_MAP || type == LPO_S_OPEN, is_null = value->kind == LPO_NODE_NULL;

    *row = (struct lpo_schema_row){
        .path = path,
        .type = type,
        .doc = is_map ? value->text : lpo_node_text_at(said, "doc"),
        .values = lpo_node_text_at(said, "values"),
        .min = least && least->kind == LPO_NODE_INT ? least->integer
               : least                              ? INT64_MIN
                                                    : 0,
        .from = lpo_node_real_at(said, "from"),
        .to = lpo_node_real_at(said, "to"),
        .nullable = is_null || lpo_node_get(said, "nullable"),
        .number = lpo_node_get(said, "number"),
    };
    if (!is_map && !lpo_node_is_missing(value))
        row->fallback = is_null ? "null" : lpo_settings_node_word(rows.arena, value);
}

static void read_rows(void)
{
    const struct lpo_node *all = lpo_node_get(lpo_rules("settings"), "settings");

    rows.arena = lpo_arena_create();
    rows.at = lpo_arena_array(rows.arena, all->npairs, sizeof *rows.at);
    for (; rows.len < all->npairs; rows.len++)
        read_row(all->pairs[rows.len].key->text, all->pairs[rows.len].value, &rows.at[rows.len]);
}

const struct lpo_schema_row *lpo_settings_schema_rows(size_t *count)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, read_rows);
    *count = rows.len;
    return rows.at;
}

const struct lpo_schema_row *lpo_settings_schema_find(const char *path)
{
    size_t count;
    const struct lpo_schema_row *row = lpo_settings_schema_rows(&count);

    for (size_t i = 0; i < count; i++, row++)
        if (strcmp(row->path, path) == 0)
            return row;
    return NULL;
}

const struct lpo_schema_row *lpo_settings_schema_member(const struct lpo_schema_row *row,
                                                        const char *key)
{
    size_t len = strlen(row->path), skip = len + (len > 0);

    for (const struct lpo_schema_row *r = row + 1; r < rows.at + rows.len; r++) {
        if (strncmp(r->path, row->path, len) != 0 || (len && r->path[len] != '.'))
            break;
        if (strcmp(r->path + skip, key) == 0)
            return r;
    }
    return NULL;
}
