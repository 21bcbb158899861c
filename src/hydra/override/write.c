/* SPDX-License-Identifier: Apache-2.0 */
/* An override written back: as the text that Hydra would write, and as the JSON of --explain. */

#include "hydra/node.h"
#include "hydra/override/override.h"
#include "hydra/yaml/yaml.h"
#include "util/json_write.h"

static const char *const type_names[] = {
    [LPO_OV_CHANGE] = "change",
    [LPO_OV_ADD] = "add",
    [LPO_OV_FORCE_ADD] = "force_add",
    [LPO_OV_DEL] = "del",
};

static const char *const prefixes[] = {
    [LPO_OV_CHANGE] = "",
    [LPO_OV_ADD] = "+",
    [LPO_OV_FORCE_ADD] = "++",
    [LPO_OV_DEL] = "~",
};

static const char *const value_names[] = {
    [LPO_VALUE_NONE] = NULL,           [LPO_VALUE_ELEMENT] = "element",
    [LPO_VALUE_GLOB] = "glob",         [LPO_VALUE_SIMPLE_CHOICE] = "simple_choice",
    [LPO_VALUE_RANGE] = "range",       [LPO_VALUE_CHOICE] = "choice",
    [LPO_VALUE_INTERVAL] = "interval",
};

static const char *const fault_names[] = {
    [LPO_FAULT_NONE] = "none",         [LPO_FAULT_LEXER] = "lexer", [LPO_FAULT_SYNTAX] = "syntax",
    [LPO_FAULT_FUNCTION] = "function", [LPO_FAULT_VALUE] = "value",
};

const char *lpo_override_fault_name(enum lpo_override_fault fault)
{
    return fault_names[fault];
}

bool lpo_override_is_hydra(const struct lpo_override *ov)
{
    return lpo_str_starts(ov->key, "hydra.") || lpo_str_starts(ov->key, "hydra/");
}

const char *lpo_override_key_text(struct lpo_arena *a, const struct lpo_override *ov)
{
    return lpo_arena_printf(a, "%s%s%s%s", prefixes[ov->type], ov->key, ov->package ? "@" : "",
                            ov->package ? ov->package : "");
}

/* A string inside its quotes, so that the lexer gives it back. */
static void add_quoted(struct lpo_str *s, const char *text, size_t len, char quote)
{
    size_t run = 0; /* backslashes just written: doubled when a quote follows */

    lpo_str_addc(s, quote);
    for (size_t i = 0; i <= len; i++) {
        char c = i < len ? text[i] : quote;
        if (c == quote) {
            for (; run; run--)
                lpo_str_addc(s, '\\');
            if (i < len)
                lpo_str_addc(s, '\\');
        }
        run = c == '\\' ? run + 1 : 0;
        lpo_str_addc(s, c);
    }
}

/* A string without quotes, special characters escaped. */
static void add_escaped(struct lpo_str *s, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] && strchr("\\()[]{}:=, \t", text[i]))
            lpo_str_addc(s, '\\');
        lpo_str_addc(s, text[i]);
    }
}

static void add_value(struct lpo_str *s, const struct lpo_node *n)
{
    switch (n->kind) {
    case LPO_NODE_NULL:
        lpo_str_add(s, "null");
        break;
    case LPO_NODE_STRING:
    case LPO_NODE_BYTES:
        if (n->quote)
            add_quoted(s, n->text, n->len, n->quote);
        else
            add_escaped(s, n->text, n->len);
        break;
    case LPO_NODE_LIST:
        lpo_str_addc(s, '[');
        for (size_t i = 0; i < n->count; i++) {
            if (i)
                lpo_str_addc(s, ',');
            add_value(s, n->items[i]);
        }
        lpo_str_addc(s, ']');
        break;
    case LPO_NODE_MAP:
        lpo_str_addc(s, '{');
        for (size_t i = 0; i < n->npairs; i++) {
            if (i)
                lpo_str_addc(s, ',');
            add_value(s, n->pairs[i].key);
            lpo_str_addc(s, ':');
            add_value(s, n->pairs[i].value);
        }
        lpo_str_addc(s, '}');
        break;
    default:
        lpo_yaml_py_add_str(s, n);
    }
}

const char *lpo_override_value_text(struct lpo_arena *a, const struct lpo_node *value)
{
    LPO_STR s = { 0 };

    add_value(&s, value);
    return lpo_arena_strndup(a, lpo_str_text(&s), s.len);
}

static void write_text(struct lpo_json_writer *w, const char *key, const struct lpo_node *n)
{
    LPO_STR s = { 0 };
    add_value(&s, n);
    lpo_jw_put(w, LPO_KV(key, lpo_jv_textn(lpo_str_text(&s), s.len)));
}

static void write_texts(struct lpo_json_writer *w, const struct lpo_node *list)
{
    lpo_jw_array(w, "strings");
    for (size_t i = 0; i < list->count; i++)
        write_text(w, NULL, list->items[i]);
    lpo_jw_end(w);
}

static void write_range_texts(struct lpo_json_writer *w, const struct lpo_sweep *s)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_range_fault fault;
    struct lpo_node *values;

    if (lpo_override_range_values(a, s, &values, &fault) == 0) {
        write_texts(w, values);
        return;
    }
    lpo_jw_record(w, "iter_error", LPO_KV("type", fault.type), LPO_KV("message", fault.message));
}

static void write_sweep(struct lpo_json_writer *w, const struct lpo_sweep *s)
{
    lpo_jw_object(w, "sweep");
    if (s->values) {
        lpo_node_write_json(w, "values", s->values);
        write_texts(w, s->values);
        lpo_jw_put(w, LPO_KV("simple", lpo_jv_flag(s->type == LPO_VALUE_SIMPLE_CHOICE)));
    } else if (s->type == LPO_VALUE_GLOB) {
        lpo_node_write_json(w, "include", s->include);
        lpo_node_write_json(w, "exclude", s->exclude);
    } else {
        lpo_node_write_json(w, "start", s->start);
        lpo_node_write_json(w, s->type == LPO_VALUE_INTERVAL ? "end" : "stop", s->stop);
        if (s->step)
            lpo_node_write_json(w, "step", s->step);
    }
    if (s->ntags)
        lpo_jw_texts(w, "tags", s->tags, s->ntags);
    if (s->shuffle)
        lpo_jw_put(w, LPO_KV("shuffle", lpo_jv_flag(true)));
    else if (s->type == LPO_VALUE_RANGE)
        write_range_texts(w, s);
    lpo_jw_end(w);
}

static void write_fault(struct lpo_json_writer *w, const struct lpo_override *ov,
                        const char *message)
{
    lpo_jw_put(w, LPO_KV("ok", lpo_jv_flag(false)));
    lpo_jw_record(w, "error", LPO_KV("class", fault_names[ov->fault]),
                  LPO_KV_IF(ov->fault == LPO_FAULT_LEXER, "column", ov->column),
                  LPO_KV_IF(message, "message", message));
}

void lpo_override_explain(const struct lpo_override *ov, const char *message,
                          struct lpo_json_writer *w)
{
    lpo_jw_object(w, NULL);
    if (ov->fault != LPO_FAULT_NONE) {
        write_fault(w, ov, message);
        lpo_jw_end(w);
        return;
    }
    lpo_jw_put(w, LPO_KV("ok", lpo_jv_flag(true)), LPO_KV("type", type_names[ov->type]),
               LPO_KV("key", ov->key), LPO_KV("package", ov->package),
               LPO_KV("value_type", value_names[ov->value_type]));
    if (ov->value) {
        lpo_node_write_json(w, "value", ov->value);
        write_text(w, "string", ov->value);
        if (ov->value->quote)
            lpo_jw_put(w, LPO_KV("quoted", ov->value->quote == '\'' ? "single" : "double"));
    }
    if (ov->sweep)
        write_sweep(w, ov->sweep);
    lpo_jw_end(w);
}
