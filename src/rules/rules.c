/* SPDX-License-Identifier: Apache-2.0 */
#include "rules/rules.h"

#include <pthread.h>

#include "hydra/compose.h"
#include "rules/private.h"
#include "util/file.h"

enum { MOST_BYTES = 4 << 20 }; /* of a file of the user */

/* One file of ours; the rest of a row is filled when it is first asked for and stays for the whole
 * run: it is data of the program. */
static struct embedded {
    const char *name, *text;
    const size_t *len;
    struct lpo_arena *arena; /* never freed */
    struct lpo_node *root;
} files[] = {
#define FILE_OF(table)                                                                             \
    {                                                                                              \
        .name = #table, .text = lpo_rules_##table, .len = &lpo_rules_##table##_len                 \
    }
    FILE_OF(kernels),  FILE_OF(operators), FILE_OF(steps), FILE_OF(clients), FILE_OF(metrics),
    FILE_OF(families), FILE_OF(settings),  FILE_OF(tools), FILE_OF(secrets), FILE_OF(findings),
#undef FILE_OF
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void parse_embedded(struct embedded *f)
{
    struct lpo_err err = { 0 };

    f->arena = lpo_arena_create();
    if (lpo_yaml_parse(f->arena, f->text, *f->len, f->name, &f->root, &err) < 0)
        abort(); /* a test reads them all */
}

const struct lpo_node *lpo_rules(const char *name)
{
    struct embedded *f = files;

    while (strcmp(f->name, name) != 0)
        f++; /* names are written in the program: one that is not there is a bug */
    pthread_mutex_lock(&lock);
    if (!f->root)
        parse_embedded(f);
    pthread_mutex_unlock(&lock);
    return f->root;
}

static bool is_known(const char *table)
{
    return lpo_any(i, sizeof files / sizeof *files, lpo_node_get(lpo_rules(files[i].name), table));
}

int lpo_rules_read(struct lpo_arena *a, const char *path, const struct lpo_node **out,
                   struct lpo_err *err)
{
    LPO_AUTO(lpo_file_text) text = NULL;
    struct lpo_node *root;

    if (lpo_file_text_read_limit(path, MOST_BYTES, &text, err) < 0 ||
        lpo_yaml_parse(a, text->at, text->len, path, &root, err) < 0)
        return lpo_ctx(err, "rules '%s'", path);
    if (root->kind != LPO_NODE_MAP)
        return lpo_fail(err, LPO_E_CONFIG, "'%s' has no tables: see conf/rules for some", path);
    for (size_t i = 0; i < root->npairs; i++) {
        const struct lpo_node *key = root->pairs[i].key;

        if (key->kind != LPO_NODE_STRING || !is_known(key->text))
            return lpo_fail(err, LPO_E_CONFIG, "%s:%u: no such table of rules: %s", path,
                            key->where.line,
                            key->kind == LPO_NODE_STRING ? key->text : "not a name");
    }
    *out = root;
    return 0;
}

int lpo_rules_each_row(const struct lpo_node *file, const char *table, lpo_rules_word_fn *fn,
                       void *ctx, struct lpo_err *err)
{
    const struct lpo_node *rows = lpo_node_get(file, table);

    for (size_t i = 0; rows && i < rows->count; i++) {
        const struct lpo_node *row = rows->items[i];
        const struct lpo_pair *p =
            row->kind == LPO_NODE_MAP && row->npairs == 1 ? row->pairs : NULL;

        if (!p || p->key->kind != LPO_NODE_STRING || p->value->kind != LPO_NODE_STRING) {
            lpo_fail(err, LPO_E_CONFIG, "a row is '- VALUE: WORD WORD …'");
            p = NULL;
        }
        if (!p || fn(ctx, p->key->text, p->value->text, p->value->len, err) < 0)
            return lpo_ctx(err, "%s:%u: table %s", row->where.file, row->where.line, table);
    }
    return 0;
}

/* Words of a row for whoever asked for words. */
struct words_of {
    lpo_rules_word_fn *fn;
    void *ctx;
};

static int each_word(void *ctx, const char *value, const char *words, size_t len,
                     struct lpo_err *err)
{
    const struct words_of *w = ctx;

    (void)len;
    for (const char *at = words; *at;) {
        size_t n = strcspn(at, " ");

        if (n && w->fn(w->ctx, value, at, n, err) < 0)
            return err->code;
        at += n + (at[n] == ' ');
    }
    return 0;
}

int lpo_rules_each(const struct lpo_node *file, const char *table, lpo_rules_word_fn *fn, void *ctx,
                   struct lpo_err *err)
{
    struct words_of w = { fn, ctx };

    return lpo_rules_each_row(file, table, each_word, &w, err);
}

/* A table of words that was asked for; they stay for the whole run. */
struct words {
    const char *name, *table, *value;
    struct lpo_map *map;
    struct words *next;
};

static int add_word(void *ctx, const char *value, const char *word, size_t len, struct lpo_err *err)
{
    struct words *w = ctx;

    (void)err;
    if (!w->value || strcmp(w->value, value) == 0)
        *lpo_map_put(w->map, word, len, NULL) = (uintptr_t)value;
    return 0;
}

const struct lpo_map *lpo_rules_words(const char *name, const char *table, const char *value)
{
    static struct words *made;
    const struct lpo_node *file = lpo_rules(name);
    struct lpo_err err = { 0 };
    struct words *w;

    pthread_mutex_lock(&lock);
    for (w = made; w; w = w->next)
        if (lpo_streq(w->name, name) && lpo_streq(w->table, table) && lpo_streq(w->value, value))
            break;
    if (!w) {
        w = lpo_xmalloc(sizeof *w);
        *w = (struct words){ name, table, value, lpo_map_create(), made };
        if (lpo_rules_each(file, table, add_word, w, &err) < 0)
            abort(); /* a test reads them all */
        made = w;
    }
    pthread_mutex_unlock(&lock);
    return w->map;
}

const char *lpo_rules_value(const struct lpo_map *words, const char *word, size_t len)
{
    const uint64_t *value = lpo_map_find(words, word, len);

    return value ? (const char *)(uintptr_t)*value : NULL;
}

bool lpo_rules_has(const char *name, const char *table, const char *value, const char *word)
{
    return lpo_rules_value(lpo_rules_words(name, table, value), word, strlen(word)) != NULL;
}

/* --- rows into structs ---------------------------------------------------------------------- */

static void read_row(const struct lpo_rules_table *t, const struct lpo_node *row, char *out);

/* The row of `table` that others name so. A name that no row has is a bug: a test reads them all.
 */
static const struct lpo_node *find_row(const char *file, const char *table, const char *name)
{
    const struct lpo_node *rows = lpo_node_get(lpo_rules(file), table);

    for (size_t i = 0; rows && i < rows->count; i++)
        if (lpo_streq(lpo_node_text_at(rows->items[i], "as"), name))
            return rows->items[i];
    abort();
}

static int number_of(const char *const *words, const char *word, size_t len)
{
    for (int i = 0; words[i]; i++)
        if (strlen(words[i]) == len && memcmp(words[i], word, len) == 0)
            return i;
    abort();
}

static unsigned set_of(const char *const *words, const char *said)
{
    unsigned all = 0;

    for (size_t n; *said; said += n + (said[n] == ' ')) {
        n = strcspn(said, " ");
        all |= 1u << number_of(words, said, n);
    }
    return all;
}

static const void *row_of(const struct lpo_rules_member *m, const char *name)
{
    char *row = lpo_xcalloc(1, m->of->size); /* data of the program: never freed */

    read_row(m->of, find_row(m->of->file, m->of->name, name), row);
    return row;
}

static void fill(const struct lpo_rules_member *m, const struct lpo_node *said, void *to)
{
    switch (m->kind) {
    case LPO_RULES_TEXT:
        *(const char **)to = said->kind == LPO_NODE_NULL ? NULL : said->text;
        break;
    case LPO_RULES_FLAG:
        *(bool *)to = said->boolean;
        break;
    case LPO_RULES_INT:
        *(int *)to =
            m->words ? number_of(m->words, said->text, strlen(said->text)) : (int)said->integer;
        break;
    case LPO_RULES_SET:
        *(unsigned *)to = set_of(m->words, said->text);
        break;
    case LPO_RULES_SIZE:
        *(size_t *)to = (size_t)said->integer;
        break;
    case LPO_RULES_ROW:
        *(const void **)to = row_of(m, said->text);
        break;
    }
}

static void read_row(const struct lpo_rules_table *t, const struct lpo_node *row, char *out)
{
    const char *base = row->kind == LPO_NODE_MAP ? lpo_node_text_at(row, "base") : NULL;

    if (base)
        read_row(t, find_row(t->file, t->bases, base), out);
    for (size_t i = 0; row->kind == LPO_NODE_LIST && i < row->count; i++)
        fill(&t->members[i], row->items[i], out + t->members[i].at);
    for (size_t i = 0; row->kind == LPO_NODE_MAP && i < row->npairs; i++) {
        const char *key = row->pairs[i].key->text;
        const struct lpo_rules_member *m = t->members;

        if (strcmp(key, "base") == 0 || strcmp(key, "as") == 0)
            continue;
        while (m < t->members + t->nmembers && strcmp(m->key, key) != 0)
            m++;
        if (m == t->members + t->nmembers)
            abort();
        fill(m, row->pairs[i].value, out + m->at);
    }
}

const void *lpo_rules_rows(struct lpo_rules_table *t, size_t *count)
{
    static pthread_mutex_t tables = PTHREAD_MUTEX_INITIALIZER;
    const struct lpo_node *all = lpo_node_get(lpo_rules(t->file), t->name);

    *count = all->count;
    pthread_mutex_lock(&tables);
    if (!t->rows) {
        t->rows = lpo_xcalloc(all->count, t->size); /* as above */
        for (size_t i = 0; i < all->count; i++)
            read_row(t, all->items[i], t->rows + i * t->size);
    }
    pthread_mutex_unlock(&tables);
    return t->rows;
}
