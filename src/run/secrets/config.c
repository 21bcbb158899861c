/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>

#include "hydra/compose.h"
#include "run/secrets/shapes.h"
#include "settings/schema.h"
#include "settings/settings.h"

/* --- command lines -----------------------------------------------------------------------------
 */

void lpo_secrets_variable(const char *name, char out[LPO_SECRETS_NAME])
{
    const char *dot = strrchr(name, '.');
    size_t n = 0;

    if (dot)
        name = dot + 1;
    name += strspn(name, "-+@/");
    if (!*name || isdigit((unsigned char)*name))
        n = (size_t)sprintf(out, "SECRET_");
    for (; *name && n < LPO_SECRETS_NAME - 1; name++)
        out[n++] = isalnum((unsigned char)*name) ? (char)toupper((unsigned char)*name) : '_';
    out[n] = '\0';
}

static const char *variable_of(struct lpo_arena *a, const char *path)
{
    char out[LPO_SECRETS_NAME];

    lpo_secrets_variable(path, out);
    return lpo_arena_strdup(a, out);
}

/* What is searched for secrets: a word with those before it, or a text alone. */
struct searched {
    const char *text; /* behind `begin` is the word itself */
    size_t len, begin;
    enum lpo_secrets_where where;
};

/* `before` is the words before it, as join_words() gives them. */
static struct searched search_word(struct lpo_arena *a, const char *before, const char *word)
{
    const char *text = lpo_arena_printf(a, "%s%c%s", before, LPO_SECRETS_WORD, word);

    return (struct searched){ text, strlen(text), strlen(before) + 1, LPO_SECRETS_COMMAND };
}

/* The one before a word says that it is a value, an earlier one to which program. */
static const char *join_words(struct lpo_arena *a, const char *before, const char *word)
{
    size_t len = strlen(before);

    if (!len)
        return word;
    before += len > LPO_SECRETS_BEFORE ? len - LPO_SECRETS_BEFORE : 0;
    return lpo_arena_printf(a, "%s%c%s", before, LPO_SECRETS_WORD, word);
}

static struct searched search_text(const char *text)
{
    return (struct searched){ text, strlen(text), 0, LPO_SECRETS_FILE };
}

static bool find_next(const struct searched *s, size_t done, struct lpo_secrets_hit *h)
{
    return lpo_secrets_find(s->text, s->len, done, s->where, h);
}

int lpo_secrets_in_command(const char *const *argv, size_t argc)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_secrets_hit h;
    const char *before = "";

    for (size_t i = 0; i < argc; before = join_words(a, before, argv[i++])) {
        struct searched s = search_word(a, before, argv[i]);

        if (find_next(&s, s.begin, &h))
            return (int)i;
    }
    return -1;
}

static void add_shell(struct lpo_str *out, struct lpo_arena *a, const struct searched *s)
{
    size_t done = s->begin;
    struct lpo_secrets_hit h;

    for (; find_next(s, done, &h); done = h.from + h.len) {
        if (h.from > done)
            lpo_str_add_shell(out, lpo_arena_strndup(a, s->text + done, h.from - done));
        lpo_str_addf(out, "\"$%s\"", h.variable);
    }
    if (done == s->begin || done < s->len)
        lpo_str_add_shell(out, s->text + done);
}

void lpo_secrets_add_shell(struct lpo_str *out, const char *word)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct searched s = search_text(word);

    add_shell(out, a, &s);
}

void lpo_secrets_add_command(struct lpo_str *out, const char *const *argv, size_t argc)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const char *before = "";

    for (size_t i = 0; i < argc; before = join_words(a, before, argv[i++])) {
        struct searched s = search_word(a, before, argv[i]);

        if (i)
            lpo_str_addc(out, ' ');
        add_shell(out, a, &s);
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
    struct lpo_secrets_hit h;

    if (!text || !*text || lpo_node_is_missing(n) || strcmp(text, LPO_HIDDEN) == 0 ||
        n->kind == LPO_NODE_BOOL || (kind == LPO_NAME_SECRET && n->kind != LPO_NODE_STRING))
        return;
    /* the variable that it came from, or the one that is named like the key */
    variable = lpo_secrets_find(text, strlen(text), 0, LPO_SECRETS_FILE, &h)
                   ? lpo_arena_strdup(w->a, h.variable)
                   : "";
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

/* A text anywhere: secrets by their place in a command, by their shape and by their value. */
static void visit_text(struct walk *w, const char *path, const char *before, struct lpo_node *n)
{
    struct lpo_node *variables = lpo_node_list(w->a);
    struct searched s = before ? search_word(w->a, before, n->text) : search_text(n->text);
    size_t done = s.begin;
    struct lpo_secrets_hit h;
    LPO_STR out = { 0 };

    if (!w->mask) {
        lpo_secrets_collect_text(s.text, s.begin, s.where, variable_of(w->a, path));
        return;
    }
    for (; find_next(&s, done, &h); done = h.from + h.len) {
        lpo_node_push(w->a, variables, lpo_node_string(w->a, lpo_arena_strdup(w->a, h.variable)));
        lpo_str_addn(&out, s.text + done, h.from - done);
        lpo_str_add(&out, LPO_HIDDEN);
    }
    if (!variables->count)
        return;
    lpo_str_add(&out, s.text + done);
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
            last = join_words(w->a, last, text);
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
