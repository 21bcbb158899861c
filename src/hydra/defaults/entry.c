/* SPDX-License-Identifier: Apache-2.0 */
#include "hydra/defaults/entry.h"

#include "hydra/override/override.h"
#include "hydra/yaml/yaml.h"

/* --- entries ------------------------------------------------------------------------------------
 */

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

/* --- what the command line and `override` entries say about them --------------------------------
 */

static struct lpo_choice *find(const struct lpo_choices *c, const char *key)
{
    return lpo_find(i, c->choice, c->nchoices, strcmp(c->choice[i].key, key) == 0);
}

static struct lpo_choice *grow(struct lpo_choices *c)
{
    if (c->nchoices == c->choices_cap) {
        size_t cap = c->choices_cap ? c->choices_cap * 2 : 8;
        struct lpo_choice *more = lpo_arena_array(c->arena, cap, sizeof(*more));

        if (c->nchoices)
            memcpy(more, c->choice, c->nchoices * sizeof(*more));
        c->choice = more;
        c->choices_cap = cap;
    }
    return &c->choice[c->nchoices++];
}

/* "group" or "group@package", as an override names it. */
static const char *key_of(struct lpo_arena *a, const struct lpo_override *ov)
{
    return ov->package ? lpo_arena_printf(a, "%s@%s", ov->key, ov->package) : ov->key;
}

/* An option or a list of options from an override's value. */
static void read_value(struct lpo_arena *a, const struct lpo_node *v, const char **option,
                       const char ***options, size_t *noptions, bool *is_list)
{
    *is_list = v->kind == LPO_NODE_LIST;
    if (!*is_list) {
        *option = v->text;
        return;
    }
    *noptions = v->count;
    *options = lpo_arena_array(a, v->count, sizeof(**options));
    for (size_t i = 0; i < v->count; i++) {
        LPO_STR s = { 0 };

        lpo_yaml_py_add_str(&s, v->items[i]);
        (*options)[i] = lpo_arena_strdup(a, lpo_str_text(&s));
    }
}

/* ~db or ~db=mysql: the entry goes only if it has that option. */
static int take_deletion(struct lpo_choices *c, const struct lpo_override *ov, struct lpo_err *err)
{
    const struct lpo_node *v = ov->value;
    const char *key = key_of(c->arena, ov);
    struct lpo_deletion *d = NULL;

    if (v && v->kind != LPO_NODE_STRING && v->kind != LPO_NODE_NULL)
        return lpo_fail(err, LPO_E_CONFIG,
                        "Config group override deletion value must be a string : '%s'", ov->text);
    for (size_t i = 0; i < c->ndeletions; i++)
        if (strcmp(c->deletion[i].key, key) == 0)
            d = &c->deletion[i];
    if (!d)
        d = &c->deletion[c->ndeletions++];
    *d = (struct lpo_deletion){ key, v && v->kind == LPO_NODE_STRING ? v->text : NULL, false };
    return 0;
}

/* +db=mysql: an entry after all others, as if the primary config listed it. Hydra reads its group
 * from the root of the search path, not relative to a config: `external`. */
static void take_append(struct lpo_choices *c, const struct lpo_override *ov)
{
    struct lpo_entry *e = &c->append[c->nappend++];

    *e = (struct lpo_entry){ .is_group = true, .group = ov->key, .package = ov->package };
    e->external = true;
    e->where.file = ov->text;
    read_value(c->arena, ov->value, &e->option, &e->options, &e->noptions, &e->is_list);
    if (lpo_streq(e->package, "_here_"))
        e->package = "";
}

static int take_group(struct lpo_choices *c, const struct lpo_override *ov, struct lpo_err *err)
{
    struct lpo_choice *choice;
    const char *key;

    if (ov->type == LPO_OV_FORCE_ADD)
        return lpo_fail(err, LPO_E_CONFIG, "force-add of config groups is not supported: '%s'",
                        ov->text);
    if (ov->type == LPO_OV_DEL)
        return take_deletion(c, ov, err);
    if (!ov->value || (ov->value->kind != LPO_NODE_STRING && ov->value->kind != LPO_NODE_LIST))
        return lpo_fail(err, LPO_E_CONFIG,
                        "'%s': Config group override must be a string or a list. Got %s", ov->text,
                        ov->value ? lpo_yaml_py_type(ov->value) : "NoneType");
    if (ov->type == LPO_OV_ADD) {
        if (*ov->key == '\0')
            return lpo_fail(err, LPO_E_CONFIG, "'%s' names no config group", ov->text);
        take_append(c, ov);
        return 0;
    }
    key = key_of(c->arena, ov);
    choice = find(c, key);
    if (!choice)
        choice = grow(c);
    *choice = (struct lpo_choice){ .key = key };
    read_value(c->arena, ov->value, &choice->option, &choice->options, &choice->noptions,
               &choice->is_list);
    return 0;
}

int lpo_defaults_choices_init(struct lpo_choices *c, struct lpo_arena *a,
                              const struct lpo_repo *repo, const struct lpo_override *overrides,
                              size_t count, struct lpo_err *err)
{
    *c = (struct lpo_choices){ .arena = a };
    c->deletion = lpo_arena_array(a, count, sizeof(*c->deletion));
    c->append = lpo_arena_array(a, count, sizeof(*c->append));
    c->config = lpo_arena_array(a, count, sizeof(*c->config));
    c->known = lpo_node_map(a);
    c->groups = lpo_node_map(a);
    for (size_t i = 0; i < count; i++) {
        const struct lpo_override *ov = &overrides[i];
        int rc = 0;

        if (ov->sweep)
            continue;
        /* Hydra's rule: an override chooses a config when its key is a folder of the search path
         * and its value is not a map; otherwise it changes a value */
        if ((ov->value && ov->value->kind == LPO_NODE_MAP) ||
            !lpo_defaults_repo_has_group(repo, ov->key))
            c->config[c->nconfig++] = ov;
        else
            rc = take_group(c, ov, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

void lpo_defaults_choices_add(struct lpo_choices *c, const char *from,
                              const struct lpo_entry *entry)
{
    const char *key = lpo_defaults_entry_key(c->arena, entry);

    if (find(c, key))
        return; /* the first one wins; the command line comes before all */
    *grow(c) = (struct lpo_choice){
        .key = key,
        .option = entry->option,
        .options = entry->options,
        .noptions = entry->noptions,
        .is_list = entry->is_list,
        .from = from,
    };
}

void lpo_defaults_choices_apply(struct lpo_choices *c, struct lpo_entry *entry)
{
    struct lpo_choice *choice =
        entry->is_group ? find(c, lpo_defaults_entry_key(c->arena, entry)) : NULL;

    if (!choice)
        return;
    entry->option = choice->option;
    entry->options = choice->options;
    entry->noptions = choice->noptions;
    entry->is_list = choice->is_list;
    choice->used = true;
}

int lpo_defaults_choices_know(struct lpo_choices *c, const struct lpo_entry *entry,
                              struct lpo_err *err)
{
    struct lpo_arena *a = c->arena;
    const char *key, *group;
    struct lpo_node *prev, *keys;

    if (!entry->is_group)
        return 0;
    key = lpo_defaults_entry_key(a, entry);
    group = lpo_defaults_entry_group_path(a, entry);
    /* two lists may name the same group only with the same option: the later one would win silently
     */
    prev = lpo_node_get(c->known, key);
    if (!prev)
        lpo_node_set(a, c->known, key,
                     entry->option ? lpo_node_string(a, entry->option) : lpo_node_null(a));
    else if (!lpo_streq(prev->kind == LPO_NODE_STRING ? prev->text : NULL, entry->option))
        return lpo_fail(err, LPO_E_CONFIG,
                        "Multiple values for %s. To override a value use 'override %s: %s'", key,
                        key, prev->kind == LPO_NODE_STRING ? prev->text : "None");
    keys = lpo_node_get(c->groups, group);
    if (!keys) {
        keys = lpo_node_map(a);
        lpo_node_set(a, c->groups, group, keys);
    }
    lpo_node_set(a, keys, key, lpo_node_null(a));
    return 0;
}

bool lpo_defaults_choices_delete(struct lpo_choices *c, struct lpo_entry *entry)
{
    const char *key;

    if (!entry->is_group)
        return false;
    key = lpo_defaults_entry_key(c->arena, entry);
    for (size_t i = 0; i < c->ndeletions; i++) {
        struct lpo_deletion *d = &c->deletion[i];

        if (strcmp(d->key, key) == 0 && (!d->option || lpo_streq(d->option, entry->option))) {
            d->used = entry->deleted = true;
            return true;
        }
    }
    return false;
}

/* Messages for overrides that found nothing to change */

LPO_COMPARE(by_name, char *const, strcmp(*a, *b));

static void add_alternatives(const struct lpo_choices *c, const char *key, struct lpo_str *s)
{
    const char *group = lpo_arena_strndup(c->arena, key, strcspn(key, "@"));
    const struct lpo_node *keys = lpo_node_get(c->groups, group);
    size_t n = keys ? keys->npairs : 0;
    const char **names = lpo_arena_array(c->arena, n, sizeof(*names));

    if (n == 0) {
        lpo_str_add(s, " No match in the defaults list.");
        return;
    }
    for (size_t i = 0; i < n; i++)
        names[i] = keys->pairs[i].key->text;
    qsort(names, n, sizeof(*names), by_name);
    lpo_str_addf(s, "\nDid you mean to override %s", n > 1 ? "one of " : "");
    for (size_t i = 0; i < n; i++)
        lpo_str_addf(s, "%s%s", i ? ", " : "", names[i]);
    lpo_str_addc(s, '?');
}

static int unused_choice(const struct lpo_choices *c, const struct lpo_choice *choice,
                         struct lpo_err *err)
{
    LPO_STR s = { 0 };

    if (choice->from)
        lpo_str_addf(&s, "In '%s': ", choice->from);
    lpo_str_addf(&s, "Could not override '%s'.", choice->key);
    add_alternatives(c, choice->key, &s);
    if (!choice->from) {
        lpo_str_addf(&s, "\nTo append to your default list use +%s=", choice->key);
        for (size_t i = 0; i < choice->noptions; i++)
            lpo_str_addf(&s, "%s%s", i ? "," : "[", choice->options[i]);
        lpo_str_add(&s, choice->is_list ? "]" : choice->option ? choice->option : "null");
    }
    return lpo_fail(err, LPO_E_CONFIG, "%s", lpo_str_text(&s));
}

int lpo_defaults_choices_check_used(const struct lpo_choices *c, struct lpo_err *err)
{
    for (size_t i = 0; i < c->nchoices; i++)
        if (!c->choice[i].used)
            return unused_choice(c, &c->choice[i], err);
    for (size_t i = 0; i < c->ndeletions; i++) {
        const struct lpo_deletion *d = &c->deletion[i];

        if (!d->used)
            return lpo_fail(err, LPO_E_CONFIG,
                            "Could not delete '%s%s%s'. No match in the defaults list", d->key,
                            d->option ? "=" : "", d->option ? d->option : "");
    }
    return 0;
}
