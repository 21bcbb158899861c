/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "hydra/compose.h"
#include "run/secrets/secrets.h"
#include "settings/schema.h"
#include "settings/settings.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/str.h"

/* --- secrets by their place in a command line --------------------------------------------------
 */

enum { MAX_PARTS = 32, LONGEST_NAME = 128 };

/* A piece of a word that is the value of a secret option or variable. */
struct part {
    size_t from, len;
    enum lpo_secret_name kind;
    char name[LONGEST_NAME];
};

struct parts {
    struct part at[MAX_PARTS];
    size_t len;
};

static bool is_number(const char *at, size_t n)
{
    return n && strspn(at, "0123456789.+-") >= n;
}

static size_t name_length(const char *at, size_t n)
{
    size_t len = 0;

    while (len < n && (isalnum((unsigned char)at[len]) || strchr("_.-+@/", at[len])))
        len++;
    return len;
}

static void add_part(struct parts *out, const char *text, size_t from, size_t end, const char *name,
                     size_t name_len)
{
    struct part *p = &out->at[out->len];

    if (out->len == MAX_PARTS || from >= end || name_len == 0 || name_len >= LONGEST_NAME)
        return;
    memcpy(p->name, name, name_len);
    p->name[name_len] = '\0';
    p->from = from;
    p->len = end - from;
    p->kind = lpo_secrets_name(p->name);
    if (p->kind == LPO_NAME_PLAIN || text[from] == '$' || text[from] == '=' ||
        (p->kind == LPO_NAME_SECRET && is_number(text + from, p->len)) ||
        lpo_str_starts(text + from, LPO_HIDDEN))
        return;
    out->len++;
}

/* "--token=S", "TOKEN=S", "Authorization: Bearer S", or S behind "--token". */
static void find_in_piece(const char *before, size_t before_len, const char *text, size_t from,
                          size_t end, struct parts *out)
{
    const char *at = text + from;
    size_t name = name_length(at, end - from);

    if (name < end - from && (at[name] == '=' || at[name] == ':'))
        add_part(out, text, from + name + 1, end, at, name);
    else if (before_len && *before == '-' && !memchr(before, '=', before_len) && *at != '-')
        add_part(out, text, from, end, before, before_len);
}

/* A header is one word of a command line: 'Authorization: Bearer S'. */
static bool find_header(const char *text, struct parts *out)
{
    static const char *const schemes[] = { "Bearer ", "Basic ", "Token ", "token ", "bearer " };
    size_t name = name_length(text, strlen(text)), from = name + 2;

    if (text[name] != ':' || text[name + 1] != ' ')
        return false;
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
        if (lpo_str_starts(text + from, schemes[i]))
            from += strlen(schemes[i]);
    add_part(out, text, from, strlen(text), text, name);
    return true;
}

/* A word with blanks is the text of a script or a header: its own words are looked at. */
static void find_parts(const char *before, const char *text, struct parts *out)
{
    static const char blanks[] = " \t\r\n\"'`;|&()";
    const char *last = before;
    size_t last_len = before ? strlen(before) : 0;

    out->len = 0;
    /* behind a secret option the whole word is the value, blanks and all */
    find_in_piece(before, last_len, text, 0, strlen(text), out);
    if (!strpbrk(text, " \t\n") || (out->len && (out->at[0].from == 0 || *text == '-')))
        return;
    out->len = 0;
    if (find_header(text, out))
        return;
    last_len = 0;
    for (size_t i = strspn(text, blanks); text[i];) {
        size_t n = strcspn(text + i, blanks);

        find_in_piece(last, last_len, text, i, i + n, out);
        last = text + i;
        last_len = n;
        i += n;
        i += strspn(text + i, blanks);
    }
}

/* --api-key and a key that ends in .api_key: API_KEY; the name of a variable stays as it is. */
static const char *variable_of(struct lpo_arena *a, const char *name)
{
    const char *dot = strrchr(name, '.');
    char *out = lpo_arena_strdup(a, (dot ? dot + 1 : name) + strspn(dot ? dot + 1 : name, "-+@/"));

    if (!*out || isdigit((unsigned char)*out))
        out = lpo_arena_printf(a, "SECRET_%s", out);
    for (char *p = out; *p; p++)
        *p = isalnum((unsigned char)*p) ? (char)toupper((unsigned char)*p) : '_';
    return out;
}

/* Where the value of a part comes from: a variable of the environment that holds the same, or one
 * that is named after its place. */
static const char *variable_of_part(struct lpo_arena *a, const char *text, const struct part *p)
{
    struct lpo_node *known = lpo_node_list(a);

    lpo_secrets_variables(a, lpo_arena_strndup(a, text + p->from, p->len), known);
    return known->count == 1 ? known->items[0]->text : variable_of(a, p->name);
}

void lpo_secrets_add_command(struct lpo_str *out, const char *const *argv, size_t argc)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();

    for (size_t i = 0; i < argc; i++) {
        size_t done = 0;
        struct parts parts;

        if (i)
            lpo_str_addc(out, ' ');
        find_parts(i ? argv[i - 1] : NULL, argv[i], &parts);
        for (size_t k = 0; k < parts.len; k++) {
            const struct part *p = &parts.at[k];

            if (p->from > done)
                lpo_secrets_add_shell(out, lpo_arena_strndup(a, argv[i] + done, p->from - done));
            lpo_str_addf(out, "\"$%s\"", variable_of_part(a, argv[i], p));
            done = p->from + p->len;
        }
        if (!done || argv[i][done])
            lpo_secrets_add_shell(out, argv[i] + done);
    }
}

/* --- configs -----------------------------------------------------------------------------------
 */

struct walk {
    struct lpo_arena *a;
    struct lpo_node *hidden; /* NULL: not wanted */
    bool mask;               /* change what is found, or only collect it */
};

static const char *join(struct lpo_arena *a, const char *path, const char *key)
{
    return *path ? lpo_arena_printf(a, "%s.%s", path, key) : key;
}

static void note(struct walk *w, const char *path, struct lpo_node *variables)
{
    struct lpo_node *row = lpo_node_map(w->a);

    if (!w->hidden)
        return;
    lpo_node_set(w->a, row, "key", lpo_node_string(w->a, path));
    lpo_node_set(w->a, row, "variables", variables);
    lpo_node_push(w->a, w->hidden, row);
}

/* A value under a secret key. */
static void visit_secret(struct walk *w, const char *path, enum lpo_secret_name kind,
                         struct lpo_node *n)
{
    const char *text = lpo_settings_node_word(w->a, n), *variable, *value;
    struct lpo_node *variables;

    if (!text || !*text || lpo_node_is_missing(n) || strcmp(text, LPO_HIDDEN) == 0 ||
        n->kind == LPO_NODE_BOOL || (kind == LPO_NAME_SECRET && n->kind != LPO_NODE_STRING))
        return;
    variables = lpo_node_list(w->a);
    lpo_secrets_variables(w->a, text, variables);
    /* the variable that it came from, or the one that is named like the key */
    variable = variables->count == 1 ? variables->items[0]->text : "";
    value = *variable ? lpo_secrets_value(variable) : NULL;
    if (!value || strcmp(value, text) != 0)
        variable = variable_of(w->a, path);
    if (!w->mask) {
        lpo_secrets_add(kind, text, variable);
        return;
    }
    variables = lpo_node_list(w->a);
    lpo_node_push(w->a, variables, lpo_node_string(w->a, variable));
    note(w, path, variables);
    *n = *lpo_node_string(w->a, LPO_HIDDEN);
}

static void collect_text(struct walk *w, const char *path, const char *text,
                         const struct parts *parts)
{
    lpo_secrets_add_urls(text, variable_of(w->a, path));
    for (size_t i = 0; i < parts->len; i++) {
        const struct part *p = &parts->at[i];

        lpo_secrets_add(p->kind, lpo_arena_strndup(w->a, text + p->from, p->len),
                        variable_of(w->a, p->name));
    }
}

/* A text anywhere: secrets by their place in a command, and by their value. */
static void visit_text(struct walk *w, const char *path, const char *before, struct lpo_node *n)
{
    struct lpo_node *variables = lpo_node_list(w->a);
    const char *text = n->text;
    struct parts parts = { .len = 0 };
    LPO_STR out = { 0 };
    size_t done = 0;

    if (before)
        find_parts(before, text, &parts);
    if (!w->mask) {
        collect_text(w, path, text, &parts);
        return;
    }
    for (size_t i = 0; i <= parts.len; i++) {
        size_t end = i < parts.len ? parts.at[i].from : strlen(text);
        const char *plain = lpo_arena_strndup(w->a, text + done, end - done);

        lpo_secrets_variables(w->a, plain, variables);
        lpo_str_add(&out, lpo_secrets_mask_text(w->a, plain));
        if (i == parts.len)
            break;
        lpo_node_push(w->a, variables,
                      lpo_node_string(w->a, variable_of_part(w->a, text, &parts.at[i])));
        lpo_str_add(&out, LPO_HIDDEN);
        done = end + parts.at[i].len;
    }
    if (!variables->count)
        return;
    note(w, path, variables);
    *n = *lpo_node_string(w->a, lpo_arena_strdup(w->a, lpo_str_text(&out)));
}

static void visit(struct walk *w, const char *path, enum lpo_secret_name kind, const char *before,
                  struct lpo_node *n)
{
    if (n->kind == LPO_NODE_MAP) {
        for (size_t i = 0; i < n->npairs; i++) {
            const struct lpo_node *key = n->pairs[i].key;
            const char *name = key->kind == LPO_NODE_STRING ? key->text : "";
            const char *below = join(w->a, path, name);
            enum lpo_secret_name own = lpo_secrets_name(name);

            if (lpo_settings_schema_find(below))
                own = LPO_NAME_PLAIN; /* infer.max_new_tokens */
            visit(w, below, own > kind ? own : kind, NULL, n->pairs[i].value);
        }
    } else if (n->kind == LPO_NODE_LIST) {
        const char *last = "";

        for (size_t i = 0; i < n->count; i++) {
            struct lpo_node *item = n->items[i];
            const char *text = item->kind == LPO_NODE_STRING ? item->text : "";

            visit(w, join(w->a, path, lpo_arena_printf(w->a, "%zu", i)), kind, last, item);
            last = text;
        }
    } else if (kind != LPO_NAME_PLAIN) {
        visit_secret(w, path, kind, n);
    } else if (n->kind == LPO_NODE_STRING) {
        visit_text(w, path, before, n);
    }
}

void lpo_secrets_collect(struct lpo_arena *a, const struct lpo_node *config)
{
    struct walk w = { .a = a };

    visit(&w, "", LPO_NAME_PLAIN, NULL, lpo_node_clone(a, config));
}

struct lpo_node *lpo_secrets_mask_config(struct lpo_arena *a, const struct lpo_node *config,
                                         struct lpo_node *hidden)
{
    struct lpo_node *copy = lpo_node_clone(a, config);
    struct walk w = { .a = a, .hidden = hidden, .mask = true };

    visit(&w, "", LPO_NAME_PLAIN, NULL, copy);
    return copy;
}

/* --- overrides ---------------------------------------------------------------------------------
 */

static enum lpo_secret_name key_kind(struct lpo_arena *a, const char *key)
{
    enum lpo_secret_name kind = LPO_NAME_PLAIN;
    char *rest = NULL;

    if (lpo_settings_schema_find(key))
        return LPO_NAME_PLAIN;
    for (char *p = strtok_r(lpo_arena_strdup(a, key), "./", &rest); p;
         p = strtok_r(NULL, "./", &rest))
        if (lpo_secrets_name(p) > kind)
            kind = lpo_secrets_name(p);
    return kind;
}

const char *lpo_secrets_mask_override(struct lpo_arena *a, const char *override)
{
    size_t equals = strcspn(override, "=");
    struct lpo_override ov;
    struct lpo_node *hidden = lpo_node_list(a), *masked;
    struct lpo_err err = { 0 };
    enum lpo_secret_name kind;

    if (lpo_override_parse(a, override, &ov, &err) < 0 || !override[equals])
        return lpo_secrets_mask_text(a, override);
    kind = key_kind(a, ov.key);
    if (kind != LPO_NAME_PLAIN &&
        (!ov.value || kind == LPO_NAME_PASSWORD || ov.value->kind == LPO_NODE_STRING ||
         lpo_node_is_container(ov.value)))
        return lpo_arena_printf(a, "%.*s=%s", (int)equals, override, LPO_HIDDEN);
    if (!ov.value || !lpo_node_is_container(ov.value))
        return lpo_secrets_mask_text(a, override);
    masked = lpo_secrets_mask_config(a, ov.value, hidden);
    if (!hidden->count)
        return lpo_secrets_mask_text(a, override);
    if (masked->kind == LPO_NODE_MAP)
        return lpo_arena_printf(a, "%.*s=%s", (int)equals, override, LPO_HIDDEN);
    return lpo_arena_printf(a, "%.*s=%s", (int)equals, override,
                            lpo_override_value_text(a, masked));
}

/* --- the way back ------------------------------------------------------------------------------
 */

struct back {
    struct lpo_arena *a;
    const struct lpo_node *hidden;
    struct lpo_err *err;
};

/* The i-th variable of a key; without a row (a run of an older lpo) it has the key's name. */
static const char *variable_at(const struct back *b, const char *path, size_t i)
{
    for (size_t k = 0; b->hidden && b->hidden->kind == LPO_NODE_LIST && k < b->hidden->count; k++) {
        const struct lpo_node *row = b->hidden->items[k];
        const struct lpo_node *list =
            row->kind == LPO_NODE_MAP ? lpo_node_get(row, "variables") : NULL;
        const char *key = row->kind == LPO_NODE_MAP ? lpo_node_text_at(row, "key") : NULL;

        if (key && strcmp(key, path) == 0 && list && list->kind == LPO_NODE_LIST &&
            i < list->count && list->items[i]->kind == LPO_NODE_STRING)
            return list->items[i]->text;
    }
    return variable_of(b->a, path);
}

static int restore_text(struct back *b, const char *path, struct lpo_node *n)
{
    LPO_STR out = { 0 };
    const char *from = n->text;

    for (size_t i = 0;; i++) {
        const char *next = strstr(from, LPO_HIDDEN), *variable, *value;

        if (!next)
            break;
        variable = variable_at(b, path, i);
        value = lpo_secrets_value(variable);
        if (!value || !*value)
            return lpo_fail(b->err, LPO_E_CONFIG,
                            "the value of '%s' is a secret that was not written to the run folder; "
                            "set the variable %s to it and resume again",
                            path, variable);
        lpo_str_addn(&out, from, (size_t)(next - from));
        lpo_str_add(&out, value);
        from = next + strlen(LPO_HIDDEN);
    }
    if (from == n->text)
        return 0;
    lpo_str_add(&out, from);
    *n = *lpo_node_string(b->a, lpo_arena_strdup(b->a, lpo_str_text(&out)));
    return 0;
}

static int restore(struct back *b, const char *path, struct lpo_node *n)
{
    int rc = 0;

    if (n->kind == LPO_NODE_STRING)
        return restore_text(b, path, n);
    if (n->kind == LPO_NODE_MAP) {
        for (size_t i = 0; rc == 0 && i < n->npairs; i++) {
            const struct lpo_node *key = n->pairs[i].key;

            rc = restore(b, join(b->a, path, key->kind == LPO_NODE_STRING ? key->text : ""),
                         n->pairs[i].value);
        }
    } else if (n->kind == LPO_NODE_LIST) {
        for (size_t i = 0; rc == 0 && i < n->count; i++)
            rc = restore(b, join(b->a, path, lpo_arena_printf(b->a, "%zu", i)), n->items[i]);
    }
    return rc;
}

int lpo_secrets_restore(struct lpo_arena *a, struct lpo_node *config, const struct lpo_node *hidden,
                        struct lpo_err *err)
{
    struct back b = { a, hidden, err };

    return restore(&b, "", config);
}
