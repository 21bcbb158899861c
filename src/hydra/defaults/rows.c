/* The defaults tree, read off as a list and as text. */
#include <string.h>

#include "hydra/defaults/tree.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/str.h"

const char *lpo_defaults_tree_config(struct lpo_arena *a, const struct lpo_tree *t)
{
    return t->entry ? lpo_defaults_entry_config_path(a, t->entry) : "<root>";
}

static size_t count_leaves(const struct lpo_tree *t)
{
    size_t n = t->count == 0;

    for (size_t i = 0; i < t->count; i++)
        n += count_leaves(t->kids[i]);
    return n;
}

static struct lpo_default_row row_of(struct lpo_arena *a, const struct lpo_tree *leaf)
{
    const struct lpo_entry *e = leaf->entry;
    const struct lpo_tree *holder = leaf->parent;
    struct lpo_default_row r = { 0 };

    if (lpo_defaults_entry_is_self(e)) { /* stands for the content of the file that holds it */
        r.config = lpo_defaults_tree_config(a, holder);
        r.package = lpo_defaults_entry_final_package(a, holder->entry, true);
        r.parent = lpo_defaults_tree_config(a, holder->parent);
        r.primary = holder->entry->primary;
        r.is_self = true;
        return r;
    }
    r.config = lpo_defaults_entry_config_path(a, e);
    r.package = lpo_defaults_entry_final_package(a, e, true);
    r.parent = lpo_defaults_tree_config(a, holder);
    r.primary = e->primary;
    r.key = e->is_group ? lpo_defaults_entry_key(a, e) : NULL;
    return r;
}

static void collect(struct lpo_arena *a, const struct lpo_tree *t, struct lpo_defaults *out)
{
    if (t->count == 0) {
        const struct lpo_entry *e = t->entry;

        if (!e->deleted && !lpo_defaults_entry_is_missing(e) && lpo_defaults_entry_name(e))
            out->rows[out->count++] = row_of(a, t);
        return;
    }
    for (size_t i = 0; i < t->count; i++)
        collect(a, t->kids[i], out);
}

int lpo_defaults_tree_rows(struct lpo_arena *a, const struct lpo_tree *root,
                           struct lpo_defaults *out, struct lpo_err *err)
{
    out->count = 0;
    out->rows = lpo_arena_array(a, count_leaves(root), sizeof(*out->rows));
    collect(a, root, out);
    for (size_t i = 0; i < out->count; i++)
        for (size_t j = 0; j < i && out->rows[i].key; j++)
            if (lpo_streq(out->rows[i].key, out->rows[j].key))
                return lpo_fail(err, LPO_E_CONFIG,
                                "%s appears more than once in the final defaults list",
                                out->rows[i].key);
    return 0;
}

static void add_node(struct lpo_arena *a, const struct lpo_tree *t, int depth, struct lpo_str *s)
{
    const struct lpo_entry *e = t->entry;

    lpo_str_addf(s, "%*s", depth * 2, "");
    if (!e)
        lpo_str_add(s, "<root>");
    else if (lpo_defaults_entry_is_self(e))
        lpo_str_add(s, "_self_");
    else if (e->is_group)
        lpo_str_addf(s, "%s: %s", lpo_defaults_entry_key(a, e), e->option ? e->option : "null");
    else
        lpo_str_add(s, lpo_defaults_entry_config_path(a, e));
    lpo_str_add(s, t->count ? ":\n" : "\n");
    for (size_t i = 0; i < t->count; i++)
        add_node(a, t->kids[i], depth + 1, s);
}

void lpo_defaults_add_tree(struct lpo_arena *a, const struct lpo_tree *tree, struct lpo_str *s)
{
    add_node(a, tree, 0, s);
}
