/* SPDX-License-Identifier: Apache-2.0 */
#include "settings/settings.h"

#include <assert.h>

#include "hydra/compose.h"
#include "util/units.h"

static const struct lpo_schema_row *row_of(const char *key, enum lpo_schema_type from,
                                           enum lpo_schema_type to)
{
    const struct lpo_schema_row *row = lpo_settings_schema_find(key);

    assert(row && row->type >= from && row->type <= to);
    return row;
}

/* The config's node, or NULL where the default is due. A null that the row does not allow can only
 * come from a config that was never checked; it counts as absent. */
static const struct lpo_node *given(const struct lpo_node *config, const struct lpo_schema_row *row)
{
    const struct lpo_node *n = lpo_node_at(config, row->path);

    return n && (n->kind != LPO_NODE_NULL || row->nullable) ? n : NULL;
}

/* NULL where there is no default, or it is null. */
static const char *default_of(const struct lpo_schema_row *row)
{
    return lpo_streq(row->fallback, "null") ? NULL : row->fallback;
}

bool lpo_settings_bool(const struct lpo_node *config, const char *key)
{
    const struct lpo_schema_row *row = row_of(key, LPO_S_BOOL, LPO_S_BOOL);
    const struct lpo_node *n = given(config, row);

    return n && n->kind == LPO_NODE_BOOL ? n->boolean : lpo_streq(row->fallback, "true");
}

int64_t lpo_settings_int(const struct lpo_node *config, const char *key)
{
    const struct lpo_schema_row *row = row_of(key, LPO_S_INT, LPO_S_INT);
    const struct lpo_node *n = given(config, row);
    const char *usual = default_of(row);

    if (n && n->kind == LPO_NODE_INT)
        return n->integer;
    return usual && !(n && n->kind == LPO_NODE_NULL) ? strtoll(usual, NULL, 10) : 0;
}

double lpo_settings_real(const struct lpo_node *config, const char *key)
{
    const struct lpo_schema_row *row = row_of(key, LPO_S_REAL, LPO_S_REAL);
    const struct lpo_node *n = given(config, row);
    const char *usual = default_of(row);

    if (n && n->kind == LPO_NODE_INT)
        return (double)n->integer;
    if (n && n->kind == LPO_NODE_FLOAT)
        return n->real;
    return usual && !(n && n->kind == LPO_NODE_NULL) ? strtod(usual, NULL) : 0;
}

static const char *text_of(const struct lpo_node *config, const struct lpo_schema_row *row)
{
    const struct lpo_node *n = given(config, row);

    if (n && n->kind == LPO_NODE_STRING)
        return n->text;
    if (n && n->kind == LPO_NODE_NULL)
        return NULL;
    if (n && n->kind == LPO_NODE_BOOL &&
        row->values) /* `auto|true|false`, written without quotes */
        return n->boolean ? "true" : "false";
    return default_of(row);
}

const char *lpo_settings_text(const struct lpo_node *config, const char *key)
{
    return text_of(config, row_of(key, LPO_S_TEXT, LPO_S_TEXT));
}

int64_t lpo_settings_duration_ns(const struct lpo_node *config, const char *key)
{
    const struct lpo_schema_row *row = row_of(key, LPO_S_DURATION, LPO_S_DURATION);
    const char *text = text_of(config, row);
    int64_t ns = 0;

    if (text && lpo_units_parse_duration(text, &ns, NULL) < 0 && default_of(row))
        lpo_units_parse_duration(default_of(row), &ns, NULL);
    return ns;
}

/* Lists */

static const char *trimmed(struct lpo_arena *a, const char *from, size_t n)
{
    size_t skip = strspn(from, " \t\n");

    if (skip >= n)
        return "";
    for (from += skip, n -= skip; strchr(" \t\n", from[n - 1]); n--)
        ;
    return lpo_arena_strndup(a, from, n);
}

static void add_word(struct lpo_arena *a, struct lpo_settings_words *words, const char *word)
{
    const char **grown;

    if ((words->len & (words->len - 1)) == 0) { /* full at 0, 1, 2, 4, … */
        grown = lpo_arena_array(a, words->len ? words->len * 2 : 1, sizeof *grown);
        if (words->len)
            memcpy(grown, words->at, words->len * sizeof *grown);
        words->at = grown;
    }
    words->at[words->len++] = word;
}

/* One text of a list, or the one text in its place, by the rules of its type. */
static void add_text(struct lpo_arena *a, enum lpo_schema_type type, const char *text,
                     struct lpo_settings_words *out)
{
    if (type == LPO_S_ARGS || type == LPO_S_TEXTS) {
        add_word(a, out, text);
        return;
    }
    while (*text) {
        size_t end = type == LPO_S_WORDS ? strcspn(text, ",") : strlen(text);
        const char *word = type == LPO_S_WORDS ? trimmed(a, text, end) : text;

        if (*word)
            add_word(a, out, word);
        text += end + (text[end] == ',');
    }
}

/* "A;B;A::A1", as one text. */
static void add_patterns(struct lpo_arena *a, const char *text, struct lpo_settings_words *out)
{
    bool regex = lpo_str_starts(text, "regex:");

    while (*text) {
        size_t end = regex ? strlen(text) : strcspn(text, ";");
        const char *word = text[end] || out->len ? trimmed(a, text, end) : text;

        if (*word)
            add_word(a, out, word);
        text += end + (text[end] == ';');
    }
}

struct lpo_settings_words lpo_settings_list(struct lpo_arena *a, const struct lpo_node *config,
                                            const char *key)
{
    const struct lpo_schema_row *row = row_of(key, LPO_S_WORDS, LPO_S_TEXTS);
    const struct lpo_node *n = given(config, row);
    struct lpo_settings_words out = { 0 };
    const char *text;

    if (!n || n->kind == LPO_NODE_MAP) {
        text = default_of(row);
        if (text && *text) /* no default needs a comma inside a word */
            add_text(a, LPO_S_WORDS, text, &out);
        return out;
    }
    for (size_t i = 0; i < (n->kind == LPO_NODE_LIST ? n->count : 1); i++) {
        text = lpo_settings_node_word(a, n->kind == LPO_NODE_LIST ? n->items[i] : n);
        if (text && row->type == LPO_S_PATTERNS && n->kind == LPO_NODE_STRING)
            add_patterns(a, text, &out);
        else if (text)
            add_text(a, row->type, text, &out);
    }
    return out;
}

const char *lpo_settings_joined(struct lpo_arena *a, const struct lpo_node *config, const char *key)
{
    struct lpo_settings_words words = lpo_settings_list(a, config, key);
    LPO_STR out = { 0 };

    for (size_t i = 0; i < words.len; i++)
        lpo_str_addf(&out, "%s%s", i ? "," : "", words.at[i]);
    return words.len ? lpo_arena_strdup(a, out.at) : NULL;
}

/* Others */

const char *lpo_settings_node_word(struct lpo_arena *a, const struct lpo_node *n)
{
    switch (n ? n->kind : LPO_NODE_NULL) {
    case LPO_NODE_STRING:
    case LPO_NODE_BIGINT:
        return n->text;
    case LPO_NODE_INT:
        return lpo_arena_printf(a, "%lld", (long long)n->integer);
    case LPO_NODE_FLOAT:
        return lpo_arena_printf(a, "%.17g", n->real);
    case LPO_NODE_BOOL:
        return n->boolean ? "true" : "false";
    default:
        return NULL;
    }
}

const char *lpo_settings_word(struct lpo_arena *a, const struct lpo_node *config, const char *key)
{
    const struct lpo_schema_row *row = row_of(key, LPO_S_BOOL, LPO_S_DURATION);
    const struct lpo_node *n = given(config, row);

    return n && !lpo_node_is_container(n) ? lpo_settings_node_word(a, n) : default_of(row);
}

const struct lpo_node *lpo_settings_map(const struct lpo_node *config, const char *key)
{
    const struct lpo_node *n = given(config, row_of(key, LPO_S_MAP, LPO_S_OPEN));

    return n && n->kind == LPO_NODE_MAP ? n : NULL;
}

bool lpo_settings_is_set(const struct lpo_node *config, const char *key)
{
    const struct lpo_schema_row *row = row_of(key, LPO_S_BOOL, LPO_S_OPEN);
    const struct lpo_node *n = given(config, row);

    return n ? n->kind != LPO_NODE_NULL : default_of(row) != NULL;
}

void lpo_settings_fill(struct lpo_arena *a, const struct lpo_node *config,
                       const struct lpo_settings_field *fields, size_t count, void *out)
{
    for (size_t i = 0; i < count; i++) {
        const struct lpo_settings_field *f = &fields[i];
        void *at = (char *)out + f->offset;

        row_of(f->key, f->type, f->type);
        if (f->type == LPO_S_BOOL)
            *(bool *)at = lpo_settings_bool(config, f->key);
        else if (f->type == LPO_S_INT)
            *(int64_t *)at = lpo_settings_int(config, f->key);
        else if (f->type == LPO_S_REAL)
            *(double *)at = lpo_settings_real(config, f->key);
        else if (f->type == LPO_S_TEXT)
            *(const char **)at = lpo_settings_schema_find(f->key)->number
                                     ? lpo_settings_word(a, config, f->key)
                                     : lpo_settings_text(config, f->key);
        else if (f->type == LPO_S_DURATION)
            *(int64_t *)at = lpo_settings_duration_ns(config, f->key);
        else if (f->type <= LPO_S_TEXTS)
            *(struct lpo_settings_words *)at = lpo_settings_list(a, config, f->key);
        else
            *(const struct lpo_node **)at = lpo_settings_map(config, f->key);
    }
}

/* --- the defaults as a config -------------------------------------------------------------------
 */

/* Where a config may leave keys out. The other keys (model, infer, workload) belong to the choice
 * of a group: a default there would add keys of one workload to the config of another. */
static const char *const filled[] = { "run.", "artifacts.root", "dataset.sampling.", "pipeline.",
                                      "report." };

static bool is_filled(const char *path)
{
    return lpo_any(i, sizeof filled / sizeof *filled, lpo_str_starts(path, filled[i]));
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
