/* SPDX-License-Identifier: Apache-2.0 */
#include "hydra/defaults/entry.h"

#include <string.h>

#include "hydra/yaml/pytext.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/str.h"

#define GLOBAL "_global_"

/* Reading */

/* "a@b:c" to "a" and "b". */
static void split_package(struct lpo_arena *a, const char *text, const char **head,
                          const char **package)
{
    const char *at = strchr(text, '@');

    *head = at ? lpo_arena_strndup(a, text, (size_t)(at - text)) : text;
    *package = at ? lpo_arena_strndup(a, at + 1, strcspn(at + 1, ":")) : NULL;
}

/* "optional override group": the last word is the group; an unknown word ends the keywords. */
static void take_keywords(struct lpo_entry *e)
{
    const char *last = strrchr(e->group, ' '), *p = e->group;

    while (last && p <= last) {
        size_t len = strcspn(p, " ");

        if (len == 8 && strncmp(p, "optional", 8) == 0)
            e->optional = true;
        else if (len == 8 && strncmp(p, "override", 8) == 0)
            e->override = true;
        else
            break;
        p += len + 1;
    }
    if (last)
        e->group = last + 1;
}

static int read_option(struct lpo_arena *a, const struct lpo_node *v, struct lpo_entry *e,
                       struct lpo_err *err)
{
    if (v->kind == LPO_NODE_NULL)
        return 0;
    if (v->kind == LPO_NODE_STRING) {
        e->option = v->text;
        return 0;
    }
    if (v->kind != LPO_NODE_LIST)
        return lpo_fail(err, LPO_E_CONFIG,
                        "Unsupported item value in defaults : %s. Supported: string or list",
                        lpo_yaml_py_type(v));
    e->is_list = true;
    e->noptions = v->count;
    e->options = lpo_arena_array(a, v->count, sizeof(*e->options));
    for (size_t i = 0; i < v->count; i++) {
        if (v->items[i]->kind != LPO_NODE_STRING)
            return lpo_fail(err, LPO_E_CONFIG,
                            "Unsupported item value in defaults : %s, nested list items must be "
                            "strings",
                            lpo_yaml_py_type(v->items[i]));
        e->options[i] = v->items[i]->text;
    }
    return 0;
}

static int read_group(struct lpo_arena *a, const struct lpo_node *item, const char *config,
                      struct lpo_entry *e, struct lpo_err *err)
{
    const struct lpo_node *key;
    LPO_STR shown = { 0 };

    lpo_yaml_py_add_repr(&shown, item);
    if (item->npairs > 1)
        return lpo_fail(err, LPO_E_CONFIG, "In %s: Too many keys in default item %s", config,
                        lpo_str_text(&shown));
    if (item->npairs == 0)
        return lpo_fail(err, LPO_E_CONFIG, "In %s: Missing group name in %s", config,
                        lpo_str_text(&shown));
    key = item->pairs[0].key;
    if (key->kind != LPO_NODE_STRING)
        return lpo_fail(err, LPO_E_CONFIG, "In %s: a group name must be a string: %s", config,
                        lpo_str_text(&shown));
    e->is_group = true;
    e->where = key->where;
    split_package(a, key->text, &e->group, &e->package);
    take_keywords(e);
    if (*e->group == '\0')
        return lpo_fail(err, LPO_E_CONFIG, "In %s: Missing group name in %s", config,
                        lpo_str_text(&shown));
    return read_option(a, item->pairs[0].value, e, err);
}

static int read_entry(struct lpo_arena *a, const struct lpo_node *item, const char *config,
                      struct lpo_entry *e, struct lpo_err *err)
{
    int rc = 0;

    if (item->kind == LPO_NODE_MAP) {
        rc = read_group(a, item, config, e, err);
    } else if (item->kind == LPO_NODE_STRING) {
        e->where = item->where;
        split_package(a, item->text, &e->path, &e->package);
        if (lpo_defaults_entry_is_self(e) && e->package)
            return lpo_fail(err, LPO_E_CONFIG, "_self_@PACKAGE is not supported");
    } else {
        return lpo_fail(err, LPO_E_CONFIG, "Unsupported type in defaults : %s",
                        item->kind == LPO_NODE_LIST ? "ListConfig" : lpo_yaml_py_type(item));
    }
    if (rc == 0 && lpo_streq(e->package, "_here_"))
        e->package = "";
    return rc;
}

int lpo_defaults_entries_read(struct lpo_arena *a, const struct lpo_node *list, const char *config,
                              struct lpo_entry **out, size_t *count, struct lpo_err *err)
{
    *count = 0;
    if (list->kind != LPO_NODE_LIST)
        return lpo_fail(err, LPO_E_CONFIG,
                        "Invalid defaults list in '%s', defaults must be a list (got %s)", config,
                        list->kind == LPO_NODE_MAP ? "mapping" : lpo_yaml_py_type(list));
    *out = lpo_arena_array(a, list->count, sizeof(**out));
    for (size_t i = 0; i < list->count; i++) {
        const struct lpo_where *w = &list->items[i]->where;
        int rc = read_entry(a, list->items[i], config, &(*out)[i], err);

        if (rc < 0)
            return w->file ? lpo_ctx(err, "%s:%u:%u: defaults list", w->file, w->line, w->column)
                           : rc;
    }
    *count = list->count;
    return 0;
}

/* Names */

bool lpo_defaults_entry_is_self(const struct lpo_entry *e)
{
    return lpo_streq(e->is_group ? e->option : e->path, "_self_");
}

const char *lpo_defaults_entry_name(const struct lpo_entry *e)
{
    const char *slash;

    if (e->is_group)
        return e->option;
    slash = strrchr(e->path, '/');
    return slash ? slash + 1 : e->path;
}

bool lpo_defaults_entry_is_missing(const struct lpo_entry *e)
{
    return !(e->is_group && e->is_list) && lpo_streq(lpo_defaults_entry_name(e), "???");
}

bool lpo_defaults_entry_is_interpolation(struct lpo_arena *a, const struct lpo_entry *e)
{
    if (e->is_group)
        return !e->is_list && e->option && strstr(e->option, "${");
    return strstr(lpo_defaults_entry_config_path(a, e), "${");
}

/* A path with or without a leading '/' below `base`, unless it is absolute. */
static const char *below(struct lpo_arena *a, const char *base, const char *path, bool absolute)
{
    if (*path == '/')
        return path + 1;
    if (absolute || *base == '\0')
        return path;
    return *path ? lpo_arena_printf(a, "%s/%s", base, path) : base;
}

static const char *dir_of(struct lpo_arena *a, const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? lpo_arena_strndup(a, path, (size_t)(slash - path)) : "";
}

const char *lpo_defaults_entry_group_path(struct lpo_arena *a, const struct lpo_entry *e)
{
    const char *dir;

    if (e->is_group)
        return below(a, e->base_dir, e->group, e->external);
    if (*e->path == '/')
        return dir_of(a, e->path + 1);
    dir = dir_of(a, e->path);
    return below(a, e->base_dir, dir, false);
}

const char *lpo_defaults_entry_config_path(struct lpo_arena *a, const struct lpo_entry *e)
{
    const char *name = lpo_defaults_entry_name(e);

    if (!e->is_group)
        return below(a, e->base_dir, e->path, false);
    return lpo_arena_printf(a, "%s/%s", lpo_defaults_entry_group_path(a, e), name ? name : "None");
}

static const char *dotted(struct lpo_arena *a, const char *path)
{
    char *s = lpo_arena_strdup(a, path);

    for (char *p = s; *p; p++)
        if (*p == '/')
            *p = '.';
    return s;
}

const char *lpo_defaults_entry_package(const struct lpo_entry *e)
{
    return e->package ? e->package : e->header;
}

static const char *relative_package(struct lpo_arena *a, const struct lpo_entry *e)
{
    const char *path = e->is_group ? e->group : e->path;

    path += *path == '/';
    return dotted(a, e->is_group ? path : dir_of(a, path));
}

/* _global_ inside a package starts again at the root, so only what follows the last one counts. */
const char *lpo_defaults_entry_final_package(struct lpo_arena *a, const struct lpo_entry *e,
                                             bool header)
{
    const char *parent = e->external ? "" : e->parent_package, *last = NULL, *p;
    const char *package = header ? lpo_defaults_entry_package(e) : e->package;

    if (!package)
        package = relative_package(a, e);
    if (*parent && *package)
        package = lpo_arena_printf(a, "%s.%s", parent, package);
    else if (*parent)
        package = parent;
    for (p = package; (p = strstr(p, GLOBAL)); p++)
        last = p;
    if (!last)
        return package;
    last += sizeof GLOBAL - 1; /* what follows the last _global_ and its dot */
    return *last ? last + 1 : last;
}

const char *lpo_defaults_entry_key(struct lpo_arena *a, const struct lpo_entry *e)
{
    const char *group = lpo_defaults_entry_group_path(a, e);
    const char *package = lpo_defaults_entry_final_package(a, e, false);

    if (strcmp(package, dotted(a, group)) == 0)
        return group;
    return lpo_arena_printf(a, "%s@%s", group, *package ? package : GLOBAL);
}

/* Its place */

static const char *replace_all(struct lpo_arena *a, const char *text, const char *what,
                               const char *by)
{
    LPO_STR s = { 0 };
    const char *at;

    for (; (at = strstr(text, what)); text = at + strlen(what)) {
        lpo_str_addn(&s, text, (size_t)(at - text));
        lpo_str_add(&s, by);
    }
    lpo_str_add(&s, text);
    return lpo_arena_strdup(a, lpo_str_text(&s));
}

/* _group_ is Hydra 1.0's spelling of "the package named after the group"; it is absolute, hence the
 * _global_ before it. */
void lpo_defaults_entry_adopt(struct lpo_arena *a, struct lpo_entry *e, const char *base_dir,
                              const char *parent_package)
{
    e->base_dir = base_dir;
    e->parent_package = parent_package;
    if (e->package && strstr(e->package, "_group_"))
        e->package = lpo_arena_printf(
            a, GLOBAL ".%s",
            replace_all(a, e->package, "_group_", dotted(a, lpo_defaults_entry_group_path(a, e))));
}

/* "# @package x" is absolute, a package in a defaults list is relative to its parent. */
void lpo_defaults_entry_set_header(struct lpo_arena *a, struct lpo_entry *e, const char *package)
{
    if (!package)
        return;
    if (strcmp(package, GLOBAL) == 0 || lpo_str_starts(package, GLOBAL "."))
        e->header = package;
    else
        e->header = lpo_arena_printf(a, GLOBAL ".%s", package);
}
