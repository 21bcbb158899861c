#include "run/conf.h"

#include "config/node.h"
#include "run/plan.h"
#include "util/arena.h"
#include "util/str.h"

const char *lpo_conf_word(struct lpo_arena *a, const struct lpo_node *n)
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

const char *lpo_conf_joined(struct lpo_arena *a, const struct lpo_node *knobs, const char *key)
{
    const struct lpo_node *n = lpo_node_at(knobs, key);
    LPO_STR out = { 0 };

    if (!n)
        return NULL;
    if (n->kind != LPO_NODE_LIST) {
        const char *word = lpo_conf_word(a, n);

        return word && *word ? word : NULL;
    }
    for (size_t i = 0; i < n->count; i++) {
        const char *word = lpo_conf_word(a, n->items[i]);

        if (word && *word)
            lpo_str_addf(&out, "%s%s", out.len ? "," : "", word);
    }
    return out.len ? lpo_arena_strdup(a, out.at) : NULL;
}

void lpo_conf_add_words(struct lpo_arena *a, const struct lpo_node *knobs, const char *key,
                        struct lpo_step *step)
{
    const struct lpo_node *n = lpo_node_at(knobs, key);

    for (size_t i = 0; n && n->kind == LPO_NODE_LIST && i < n->count; i++) {
        const char *word = lpo_conf_word(a, n->items[i]);

        if (word)
            lpo_step_arg(a, step, word);
    }
}
