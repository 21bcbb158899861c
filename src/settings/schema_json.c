/* SPDX-License-Identifier: Apache-2.0 */
/* The schema as JSON Schema, for editors. */
#include <string.h>

#include "settings/schema.h"
#include "util/json_write.h"
#include "util/str.h"

static const char *const names[] = {
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
            lpo_jw_bool(w, NULL, true);
        else if (len == 5 && strncmp(p, "false", 5) == 0)
            lpo_jw_bool(w, NULL, false);
        else if (len == 0 || p[len - 1] != '*')
            lpo_jw_textn(w, NULL, p, len);
        p = p[len] ? p + len + 1 : NULL;
    }
    lpo_jw_end(w);
}

static void write_alternative(struct lpo_json_writer *w, const char *type, const char *pattern)
{
    lpo_jw_object(w, NULL);
    lpo_jw_text(w, "type", type);
    if (pattern)
        lpo_jw_text(w, "pattern", pattern);
    lpo_jw_end(w);
}

static void write_words(struct lpo_json_writer *w, const struct lpo_schema_row *row)
{
    lpo_jw_text(w, "type", "array");
    lpo_jw_object(w, "items");
    if (row->values) {
        write_enum(w, row->values);
    } else if (row->number) {
        lpo_jw_array(w, "type");
        lpo_jw_text(w, NULL, "string");
        lpo_jw_text(w, NULL, "integer");
        lpo_jw_end(w);
    } else {
        lpo_jw_text(w, "type", "string");
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
        lpo_jw_text(w, "type", names[row->type]);
    if (row->to > 0 && row->type == LPO_S_INT) {
        lpo_jw_int(w, "minimum", (int64_t)row->from);
        lpo_jw_int(w, "maximum", (int64_t)row->to);
    } else if (row->to > 0) {
        lpo_jw_real(w, "minimum", row->from);
        lpo_jw_real(w, "maximum", row->to);
    } else if ((row->type == LPO_S_INT || row->type == LPO_S_REAL) && row->min != INT64_MIN) {
        lpo_jw_int(w, "minimum", row->min);
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
        lpo_jw_null(w, "default");
    } else if (is_list(row)) {
        lpo_jw_array(w, "default");
        while (*text) {
            size_t len = strcspn(text, ",");

            lpo_jw_textn(w, NULL, text, len);
            text += len + (text[len] == ',');
        }
        lpo_jw_end(w);
    } else if (row->type == LPO_S_TEXT || row->type == LPO_S_DURATION) {
        lpo_jw_text(w, "default", text);
    } else {
        lpo_jw_raw(w, "default", text); /* numbers and booleans are written alike in JSON */
    }
}

static bool is_child(const char *path, const char *parent)
{
    size_t len = strlen(parent);

    if (strncmp(path, parent, len) != 0 || !path[len] || (len && path[len] != '.'))
        return false;
    return !strchr(path + len + (len > 0), '.');
}

static void write_row(struct lpo_json_writer *w, const struct lpo_schema_row *row)
{
    size_t count, len = strlen(row->path);
    const struct lpo_schema_row *rows = lpo_settings_schema_rows(&count);

    lpo_jw_text(w, "description", row->doc);
    if (!is_map(row)) {
        write_type(w, row);
        write_default(w, row);
        return;
    }
    if (row->nullable) {
        lpo_jw_array(w, "type");
        lpo_jw_text(w, NULL, "object");
        lpo_jw_text(w, NULL, "null");
        lpo_jw_end(w);
    } else {
        lpo_jw_text(w, "type", "object");
    }
    lpo_jw_object(w, "properties");
    for (size_t i = 0; i < count; i++)
        if (is_child(rows[i].path, row->path)) {
            lpo_jw_object(w, rows[i].path + len + (len > 0));
            write_row(w, &rows[i]);
            lpo_jw_end(w);
        }
    lpo_jw_end(w);
    if (row->type == LPO_S_MAP)
        lpo_jw_bool(w, "additionalProperties", false);
}

void lpo_settings_schema_write_json(struct lpo_json_writer *w)
{
    lpo_jw_object(w, NULL);
    lpo_jw_text(w, "$schema", "https://json-schema.org/draft/2020-12/schema");
    lpo_jw_text(w, "title", "llm-perf-opt config");
    write_row(w, lpo_settings_schema_find(""));
    lpo_jw_end(w);
}
