/* SPDX-License-Identifier: Apache-2.0 */
#include "settings/schema.h"

#include "hydra/compose.h"
#include "lpo/launchers.h"
#include "settings/settings.h"
#include "util/json_write.h"
#include "util/units.h"

/* " (config.yaml:3:5)" or " (from 'run.repeats=x')". */
static void add_place(struct lpo_str *s, const struct lpo_node *n)
{
    if (n->where.file && n->where.line)
        lpo_str_addf(s, " (%s:%u:%u)", n->where.file, n->where.line, n->where.column);
    else if (n->where.file)
        lpo_str_addf(s, " (from '%s')", n->where.file);
}

static void add_value(struct lpo_str *s, const struct lpo_node *n)
{
    LPO_STR shown = { 0 };

    lpo_yaml_py_add_repr(&shown, n);
    lpo_str_addf(s, "%s", lpo_node_kind_name(n->kind));
    if (n->kind != LPO_NODE_NULL && shown.len < 80)
        lpo_str_addf(s, " (%s)", shown.at);
}

static int wrong(const struct lpo_schema_row *row, const struct lpo_node *n, const char *wanted,
                 struct lpo_err *err)
{
    LPO_STR s = { 0 };

    lpo_str_addf(&s, "'%s' must be %s%s, not ", row->path, wanted, row->nullable ? " or null" : "");
    add_value(&s, n);
    add_place(&s, n);
    return lpo_fail(err, LPO_E_CONFIG, "%s", lpo_str_text(&s));
}

/* Values */

/* Calls back with each of "a|b|c". */
static bool next_value(const char **values, const char **word, size_t *len)
{
    if (!*values)
        return false;
    *word = *values;
    *len = strcspn(*values, "|");
    *values = (*values)[*len] ? *values + *len + 1 : NULL;
    return true;
}

static bool is_allowed(const char *values, const char *text)
{
    const char *word;
    size_t len;

    while (next_value(&values, &word, &len)) {
        if (len && word[len - 1] == '*' && strncmp(text, word, len - 1) == 0)
            return true;
        if (strlen(text) == len && strncmp(text, word, len) == 0)
            return true;
    }
    return false;
}

static int check_allowed(struct lpo_arena *a, const struct lpo_schema_row *row,
                         const struct lpo_node *n, const char *text, struct lpo_err *err)
{
    const char *values = row->values, *word, *names[32], *near;
    LPO_STR s = { 0 };
    size_t len, count = 0;

    if (!values || is_allowed(values, text))
        return 0;
    lpo_str_addf(&s, "'%s' is '%s', but must be one of", row->path, text);
    while (next_value(&values, &word, &len)) {
        if (len == 0)
            continue;
        lpo_str_addf(&s, "%s%.*s", count ? ", " : " ", (int)len, word);
        if (count < 32)
            names[count++] = lpo_arena_strndup(a, word, len);
    }
    near = lpo_str_nearest(text, names, count);
    if (near)
        lpo_str_addf(&s, "; did you mean '%s'?", near);
    add_place(&s, n);
    return lpo_fail(err, LPO_E_CONFIG, "%s", lpo_str_text(&s));
}

/* A text, or a bare boolean where the values have one (`auto|true|false`). */
static int check_text(struct lpo_arena *a, const struct lpo_schema_row *row,
                      const struct lpo_node *n, struct lpo_err *err)
{
    if (n->kind == LPO_NODE_STRING)
        return check_allowed(a, row, n, n->text, err);
    if (n->kind == LPO_NODE_BOOL && row->values)
        return check_allowed(a, row, n, n->boolean ? "true" : "false", err);
    if (n->kind == LPO_NODE_INT && row->number)
        return 0;
    return wrong(row, n, "a string", err);
}

/* "md, json": one text may hold several words. */
static int check_joined(struct lpo_arena *a, const struct lpo_schema_row *row,
                        const struct lpo_node *n, struct lpo_err *err)
{
    int rc = 0;

    for (const char *at = n->text; row->values && rc == 0 && *at;) {
        size_t len = strcspn(at, ","), skip = strspn(at, " \t");
        size_t end = len;

        skip = skip < len ? skip : len;
        while (end > skip && strchr(" \t", at[end - 1]))
            end--;
        if (end > skip)
            rc = check_allowed(a, row, n, lpo_arena_strndup(a, at + skip, end - skip), err);
        at += len + (at[len] == ',');
    }
    return rc;
}

static int check_words(struct lpo_arena *a, const struct lpo_schema_row *row,
                       const struct lpo_node *n, struct lpo_err *err)
{
    if (n->kind == LPO_NODE_STRING && row->type == LPO_S_WORDS)
        return check_joined(a, row, n, err);
    if (n->kind == LPO_NODE_STRING && row->type != LPO_S_TEXTS)
        return 0;
    if (n->kind == LPO_NODE_INT && row->number)
        return 0;
    if (n->kind != LPO_NODE_LIST)
        return wrong(row, n,
                     row->type == LPO_S_TEXTS ? "a list of strings"
                                              : "a list of strings or one string",
                     err);
    for (size_t i = 0; i < n->count; i++) {
        const struct lpo_node *item = n->items[i];
        int rc = 0;

        if (lpo_node_is_container(item) || item->kind == LPO_NODE_NULL)
            return wrong(row, item, "a list of strings", err);
        if (item->kind == LPO_NODE_STRING)
            rc = check_allowed(a, row, item, item->text, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int check_number(const struct lpo_schema_row *row, const struct lpo_node *n,
                        struct lpo_err *err)
{
    double value = n->kind == LPO_NODE_FLOAT ? n->real : (double)n->integer;
    const char *kind = row->type == LPO_S_INT ? "an integer" : "a number";
    bool is_number =
        n->kind == LPO_NODE_INT || (row->type == LPO_S_REAL && n->kind == LPO_NODE_FLOAT);
    char wanted[64];

    if (row->to > 0) {
        snprintf(wanted, sizeof wanted, "%s from %g to %g", kind, row->from, row->to);
        return is_number && value >= row->from && value <= row->to ? 0 : wrong(row, n, wanted, err);
    }
    if (!is_number)
        return wrong(row, n, kind, err);
    if (row->min == INT64_MIN || value >= (double)row->min)
        return 0;
    snprintf(wanted, sizeof wanted, "%s of at least %lld", kind, (long long)row->min);
    return wrong(row, n, wanted, err);
}

static int check_duration(const struct lpo_schema_row *row, const struct lpo_node *n,
                          struct lpo_err *err)
{
    struct lpo_err why = { 0 };
    int64_t ns;

    if (n->kind != LPO_NODE_STRING || lpo_units_parse_duration(n->text, &ns, &why) < 0)
        return wrong(row, n, "a duration such as 90s or 10m", err);
    if (row->min != INT64_MIN && ns < row->min)
        return wrong(row, n, "a duration longer than 0, such as 90s or 10m", err);
    return 0;
}

/* Keys */

static bool is_child(const char *path, const char *parent, const char **name)
{
    size_t len = strlen(parent);

    if (strncmp(path, parent, len) != 0 || (len && path[len] != '.') || !path[len])
        return false;
    *name = path + len + (len > 0);
    return !strchr(*name, '.');
}

/* The right name may also be one that lives elsewhere: `enabled` for enable, a key of ncu_cli. */
static const char *suggest(struct lpo_arena *a, const char *parent, const char *key)
{
    size_t count, n = 0;
    const struct lpo_schema_row *rows = lpo_settings_schema_rows(&count);
    const char **names = lpo_arena_array(a, count, sizeof(*names)), *name, *near;

    for (size_t i = 0; i < count; i++)
        if (is_child(rows[i].path, parent, &name))
            names[n++] = name;
    near = lpo_str_nearest(key, names, n);
    if (near)
        return *parent ? lpo_arena_printf(a, "%s.%s", parent, near) : near;
    for (size_t i = 0; i < count; i++) {
        const char *last = strrchr(rows[i].path, '.');

        if (last && strcmp(last + 1, key) == 0 && lpo_str_starts(rows[i].path, parent))
            return rows[i].path;
    }
    return NULL;
}

/* Where a config is checked: an unknown key is an error where nobody takes the warnings. */
struct check {
    struct lpo_arena *arena;
    struct lpo_node *warnings;
    struct lpo_err *err;
};

static int unknown_key(const struct check *c, const char *parent, const struct lpo_node *key,
                       const struct lpo_node *value)
{
    LPO_STR name = { 0 }, s = { 0 };
    const char *near;

    lpo_yaml_py_add_str(&name, key);
    near = suggest(c->arena, parent, lpo_str_text(&name));
    lpo_str_addf(&s, "unknown key '%s%s%s'", parent, *parent ? "." : "", lpo_str_text(&name));
    add_place(&s, key->where.file ? key : value);
    if (near)
        lpo_str_addf(&s, "; did you mean '%s'?", near);
    else
        lpo_str_add(&s, "; `lpo config --schema` lists the keys");
    if (!c->warnings)
        return lpo_fail(c->err, LPO_E_CONFIG, "%s", lpo_str_text(&s));
    lpo_node_push(c->arena, c->warnings, lpo_node_string(c->arena, lpo_str_text(&s)));
    return 0;
}

static int check_value(const struct check *c, const struct lpo_schema_row *row,
                       const struct lpo_node *n);

static int check_map(const struct check *c, const struct lpo_schema_row *row,
                     const struct lpo_node *n)
{
    if (n->kind != LPO_NODE_MAP)
        return wrong(row, n, "a map", c->err);
    for (size_t i = 0; i < n->npairs; i++) {
        const struct lpo_node *key = n->pairs[i].key;
        const struct lpo_schema_row *member = NULL;
        int rc = 0;

        if (key->kind == LPO_NODE_STRING && !strchr(key->text, '.'))
            member = lpo_settings_schema_member(row, key->text);
        if (member)
            rc = check_value(c, member, n->pairs[i].value);
        else if (row->type == LPO_S_MAP || (*row->path == '\0' && key->kind == LPO_NODE_STRING &&
                                            suggest(c->arena, "", key->text)))
            rc = unknown_key(c, row->path, key, n->pairs[i].value);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int check_value(const struct check *c, const struct lpo_schema_row *row,
                       const struct lpo_node *n)
{
    struct lpo_arena *a = c->arena;
    struct lpo_err *err = c->err;

    if (lpo_node_is_missing(n)) {
        LPO_STR s = { 0 };

        lpo_str_addf(&s, "'%s' has no value yet; give it one: %s=… (%s)", row->path, row->path,
                     row->doc);
        add_place(&s, n);
        return lpo_fail(err, LPO_E_CONFIG, "%s", lpo_str_text(&s));
    }
    if (n->kind == LPO_NODE_NULL && row->nullable)
        return 0;
    switch (row->type) {
    case LPO_S_BOOL:
        return n->kind == LPO_NODE_BOOL ? 0 : wrong(row, n, "a boolean (true or false)", err);
    case LPO_S_INT:
    case LPO_S_REAL:
        return check_number(row, n, err);
    case LPO_S_TEXT:
        return check_text(a, row, n, err);
    case LPO_S_DURATION:
        return check_duration(row, n, err);
    case LPO_S_WORDS:
    case LPO_S_PATTERNS:
    case LPO_S_ARGS:
    case LPO_S_TEXTS:
        return check_words(a, row, n, err);
    case LPO_S_MAP:
    case LPO_S_OPEN:
        return check_map(c, row, n);
    }
    return 0;
}

/* Keys that contradict each other */

static bool has_words(const struct lpo_node *n)
{
    if (!n || n->kind == LPO_NODE_NULL)
        return false;
    return n->kind == LPO_NODE_LIST ? n->count > 0 : n->kind != LPO_NODE_STRING || n->len > 0;
}

static int check_nsys(const struct lpo_node *config, struct lpo_err *err)
{
    const struct lpo_node *nsys = lpo_node_at(config, "pipeline.nsys");
    const struct lpo_node *range = nsys ? lpo_node_get(nsys, "capture_range") : NULL;
    LPO_STR s = { 0 };

    if (!nsys)
        return 0;
    if (lpo_settings_bool(config, "pipeline.nsys.gating_nvtx") && lpo_node_is_text(range, "nvtx") &&
        !has_words(lpo_node_get(nsys, "nvtx_capture"))) {
        lpo_str_add(&s, "'pipeline.nsys.capture_range' is nvtx, but 'pipeline.nsys.nvtx_capture' "
                        "names no range");
        add_place(&s, range);
        lpo_str_add(&s, "; give it one (pipeline.nsys.nvtx_capture=decode) or set "
                        "pipeline.nsys.capture_range=none");
        return lpo_fail(err, LPO_E_CONFIG, "%s", lpo_str_text(&s));
    }
    if (has_words(lpo_node_get(nsys, "nvtx_domain_include")) &&
        has_words(lpo_node_get(nsys, "nvtx_domain_exclude")))
        return lpo_fail(err, LPO_E_CONFIG,
                        "'pipeline.nsys.nvtx_domain_include' and "
                        "'pipeline.nsys.nvtx_domain_exclude' cannot both be given: nsys takes one");
    return 0;
}

/* A word that stands for several ranks, alone; or numbers. */
static int check_ranks(struct lpo_arena *a, const struct lpo_node *config, struct lpo_err *err)
{
    struct lpo_settings_words ranks = lpo_settings_list(a, config, "run.ranks");

    if (ranks.len == 1 &&
        (strcmp(ranks.at[0], "all") == 0 || strcmp(ranks.at[0], "one per node") == 0))
        return 0;
    for (size_t i = 0; i < ranks.len; i++)
        if (lpo_launcher_number(ranks.at[i], LPO_RANK_MAX) < 0)
            return lpo_fail(err, LPO_E_CONFIG,
                            "'run.ranks' has '%s'; it must be all, one per node, or a list of "
                            "ranks: run.ranks=[0,7]",
                            ranks.at[i]);
    return 0;
}

int lpo_settings_schema_check(struct lpo_arena *a, const struct lpo_node *config,
                              struct lpo_node *warnings, struct lpo_err *err)
{
    const struct check c = { a, warnings, err };
    int rc = check_value(&c, lpo_settings_schema_find(""), config);

    if (rc < 0 || (rc = check_ranks(a, config, err)) < 0)
        return rc;
    return check_nsys(config, err);
}

/* --- as JSON Schema, for editors ----------------------------------------------------------------
 */

static const char *const json_types[] = {
    [LPO_S_BOOL] = "boolean",   [LPO_S_INT] = "integer",     [LPO_S_REAL] = "number",
    [LPO_S_TEXT] = "string",    [LPO_S_DURATION] = "string", [LPO_S_WORDS] = "array",
    [LPO_S_PATTERNS] = "array", [LPO_S_ARGS] = "array",      [LPO_S_TEXTS] = "array",
    [LPO_S_MAP] = "object",     [LPO_S_OPEN] = "object",
};

static bool is_map(const struct lpo_schema_row *row)
{
    return row->type == LPO_S_MAP || row->type == LPO_S_OPEN;
}

static bool is_list(const struct lpo_schema_row *row)
{
    return row->type >= LPO_S_WORDS && row->type <= LPO_S_TEXTS;
}

/* The words of "a|b|repeat:*" as JSON values; those with a star are patterns: write_type(). */
static void write_enum(struct lpo_json_writer *w, const char *values)
{
    lpo_jw_array(w, "enum");
    for (const char *p = values; p;) {
        size_t len = strcspn(p, "|");

        if (len == 4 && strncmp(p, "true", 4) == 0)
            lpo_jw_put(w, LPO_V(lpo_jv_flag(true)));
        else if (len == 5 && strncmp(p, "false", 5) == 0)
            lpo_jw_put(w, LPO_V(lpo_jv_flag(false)));
        else if (len == 0 || p[len - 1] != '*')
            lpo_jw_put(w, LPO_V(lpo_jv_textn(p, len)));
        p = p[len] ? p + len + 1 : NULL;
    }
    lpo_jw_end(w);
}

static void write_alternative(struct lpo_json_writer *w, const char *type, const char *pattern)
{
    lpo_jw_record(w, NULL, LPO_KV("type", type), LPO_KV_IF(pattern, "pattern", pattern));
}

static void write_words(struct lpo_json_writer *w, const struct lpo_schema_row *row)
{
    lpo_jw_put(w, LPO_KV("type", "array"));
    lpo_jw_object(w, "items");
    if (row->values) {
        write_enum(w, row->values);
    } else if (row->number) {
        lpo_jw_list(w, "type", LPO_V("string"), LPO_V("integer"));
    } else {
        lpo_jw_put(w, LPO_KV("type", "string"));
    }
    lpo_jw_end(w);
}

/* The value itself, or an interpolation that will give it, or null. */
static void write_type(struct lpo_json_writer *w, const struct lpo_schema_row *row)
{
    lpo_jw_array(w, "anyOf");
    lpo_jw_object(w, NULL);
    if (is_list(row))
        write_words(w, row);
    else if (row->values)
        write_enum(w, row->values);
    else
        lpo_jw_put(w, LPO_KV("type", json_types[row->type]));
    if (row->to > 0 && row->type == LPO_S_INT) {
        lpo_jw_put(w, LPO_KV("minimum", (int64_t)row->from), LPO_KV("maximum", (int64_t)row->to));
    } else if (row->to > 0) {
        lpo_jw_put(w, LPO_KV("minimum", row->from), LPO_KV("maximum", row->to));
    } else if ((row->type == LPO_S_INT || row->type == LPO_S_REAL) && row->min != INT64_MIN) {
        lpo_jw_put(w, LPO_KV("minimum", row->min));
    }
    lpo_jw_end(w);
    if (is_list(row) && row->type != LPO_S_TEXTS)
        write_alternative(w, "string", NULL);
    else if (row->values && strchr(row->values, '*'))
        write_alternative(w, "string", "[:{]");
    else if (row->values || row->type != LPO_S_TEXT)
        write_alternative(w, "string", "[$][{]");
    if (row->number)
        write_alternative(w, "integer", NULL);
    if (row->nullable)
        write_alternative(w, "null", NULL);
    lpo_jw_end(w);
}

/* The default, typed. */
static void write_default(struct lpo_json_writer *w, const struct lpo_schema_row *row)
{
    const char *text = row->fallback;

    if (!text)
        return;
    if (strcmp(text, "null") == 0) {
        lpo_jw_put(w, LPO_KV("default", lpo_jv_null()));
    } else if (is_list(row)) {
        lpo_jw_array(w, "default");
        while (*text) {
            size_t len = strcspn(text, ",");

            lpo_jw_put(w, LPO_V(lpo_jv_textn(text, len)));
            text += len + (text[len] == ',');
        }
        lpo_jw_end(w);
    } else if (row->type == LPO_S_TEXT || row->type == LPO_S_DURATION) {
        lpo_jw_put(w, LPO_KV("default", text));
    } else {
        /* numbers and booleans are written alike in JSON */
        lpo_jw_put(w, LPO_KV("default", lpo_jv_raw(text)));
    }
}

static void write_row(struct lpo_json_writer *w, const struct lpo_schema_row *row)
{
    size_t count;
    const struct lpo_schema_row *rows = lpo_settings_schema_rows(&count);
    const char *name;

    lpo_jw_put(w, LPO_KV("description", row->doc));
    if (!is_map(row)) {
        write_type(w, row);
        write_default(w, row);
        return;
    }
    if (row->nullable) {
        lpo_jw_list(w, "type", LPO_V("object"), LPO_V("null"));
    } else {
        lpo_jw_put(w, LPO_KV("type", "object"));
    }
    lpo_jw_object(w, "properties");
    for (size_t i = 0; i < count; i++)
        if (is_child(rows[i].path, row->path, &name)) {
            lpo_jw_object(w, name);
            write_row(w, &rows[i]);
            lpo_jw_end(w);
        }
    lpo_jw_end(w);
    if (row->type == LPO_S_MAP)
        lpo_jw_put(w, LPO_KV("additionalProperties", lpo_jv_flag(false)));
}

void lpo_settings_schema_write_json(struct lpo_json_writer *w)
{
    lpo_jw_object(w, NULL);
    lpo_jw_put(w, LPO_KV("$schema", "https://json-schema.org/draft/2020-12/schema"),
               LPO_KV("title", "llm-perf-opt config"));
    write_row(w, lpo_settings_schema_find(""));
    lpo_jw_end(w);
}
