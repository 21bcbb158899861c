#include "run/conf.h"

#include <string.h>

#include "hydra/compose.h"
#include "run/step.h"
#include "util/arena.h"
#include "util/str.h"

const char *lpo_run_conf_word(struct lpo_arena *a, const struct lpo_node *n)
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

static const char *trimmed(struct lpo_arena *a, const char *from, size_t n)
{
    size_t skip = strspn(from, " \t\n");

    if (skip >= n)
        return "";
    for (from += skip, n -= skip; strchr(" \t\n", from[n - 1]); n--)
        ;
    return lpo_arena_strndup(a, from, n);
}

/* One more word; lists are short. */
static void add(struct lpo_arena *a, const char ***words, size_t *len, const char *word)
{
    const char **grown = lpo_arena_array(a, *len + 1, sizeof *grown);

    if (!*word)
        return;
    if (*len)
        memcpy(grown, *words, *len * sizeof *grown);
    grown[(*len)++] = word;
    *words = grown;
}

size_t lpo_run_conf_list(struct lpo_arena *a, const struct lpo_node *knobs, const char *key,
                         bool commas, const char ***out)
{
    const struct lpo_node *n = lpo_node_at(knobs, key);
    size_t count = !n ? 0 : n->kind == LPO_NODE_LIST ? n->count : 1, len = 0;

    *out = NULL;
    for (size_t i = 0; i < count; i++) {
        const char *p = lpo_run_conf_word(a, n->kind == LPO_NODE_LIST ? n->items[i] : n);

        while (p && *p) {
            size_t end = commas ? strcspn(p, ",") : strlen(p);

            add(a, out, &len, commas ? trimmed(a, p, end) : p);
            p += end + (p[end] == ',');
        }
    }
    return len;
}

const char *lpo_run_conf_joined(struct lpo_arena *a, const struct lpo_node *knobs, const char *key)
{
    const char **words;
    size_t n = lpo_run_conf_list(a, knobs, key, true, &words);
    LPO_STR out = { 0 };

    for (size_t i = 0; i < n; i++)
        lpo_str_addf(&out, "%s%s", i ? "," : "", words[i]);
    return n ? lpo_arena_strdup(a, out.at) : NULL;
}

void lpo_run_conf_add_words(struct lpo_arena *a, const struct lpo_node *knobs, const char *key,
                            struct lpo_step *step)
{
    const struct lpo_node *n = lpo_node_at(knobs, key);
    size_t count = !n ? 0 : n->kind == LPO_NODE_LIST ? n->count : 1;

    for (size_t i = 0; i < count; i++) {
        const char *word = lpo_run_conf_word(a, n->kind == LPO_NODE_LIST ? n->items[i] : n);

        if (word) /* an empty one is a word, too */
            lpo_run_step_arg(a, step, word);
    }
}
