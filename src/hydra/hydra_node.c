/* SPDX-License-Identifier: Apache-2.0 */

#include <strings.h>

#include "hydra/compose.h"
#include "hydra/defaults/entry.h"
#include "hydra/override/override.h"
#include "hydra/yaml/yaml.h"
#include "util/path.h"

extern char **environ;

enum type { ANY, STR, OPT_STR, OPT_BOOL, INT, MODE, LIST, LIST_STR, DICT, DICT_STR, STRUCT };

/* A struct's members are the rows whose path is one step longer; `name` is Hydra's class. */
static const struct row {
    const char *path;
    enum type type;
    const char *name;
} rows[] = {
    { "", STRUCT, "HydraConf" },
    { "mode", MODE, NULL },
    { "searchpath", LIST_STR, NULL },
    { "run", STRUCT, "RunDir" },
    { "run.dir", STR, NULL },
    { "sweep", STRUCT, "SweepDir" },
    { "sweep.dir", STR, NULL },
    { "sweep.subdir", STR, NULL },
    { "hydra_logging", DICT, NULL },
    { "job_logging", DICT, NULL },
    { "sweeper", ANY, NULL },
    { "launcher", ANY, NULL },
    { "callbacks", DICT, NULL },
    { "env", DICT, NULL },
    { "help", STRUCT, "HelpConf" },
    { "help.app_name", STR, NULL },
    { "help.header", STR, NULL },
    { "help.footer", STR, NULL },
    { "help.template", STR, NULL },
    { "hydra_help", STRUCT, "HydraHelpConf" },
    { "hydra_help.hydra_help", STR, NULL },
    { "hydra_help.template", STR, NULL },
    { "output_subdir", OPT_STR, NULL },
    { "overrides", STRUCT, "OverridesConf" },
    { "overrides.hydra", LIST_STR, NULL },
    { "overrides.task", LIST_STR, NULL },
    { "job", STRUCT, "JobConf" },
    { "job.name", STR, NULL },
    { "job.chdir", OPT_BOOL, NULL },
    { "job.override_dirname", STR, NULL },
    { "job.id", STR, NULL },
    { "job.num", INT, NULL },
    { "job.config_name", OPT_STR, NULL },
    { "job.env_set", DICT_STR, NULL },
    { "job.env_copy", LIST_STR, NULL },
    { "job.config", STRUCT, "JobConfig" },
    { "job.config.override_dirname", STRUCT, "OverrideDirname" },
    { "job.config.override_dirname.kv_sep", STR, NULL },
    { "job.config.override_dirname.item_sep", STR, NULL },
    { "job.config.override_dirname.exclude_keys", LIST_STR, NULL },
    { "runtime", STRUCT, "RuntimeConf" },
    { "runtime.version", STR, NULL },
    { "runtime.version_base", STR, NULL },
    { "runtime.cwd", STR, NULL },
    { "runtime.config_sources", LIST, NULL },
    { "runtime.output_dir", STR, NULL },
    { "runtime.choices", DICT, NULL },
    { "verbose", ANY, NULL },
};

enum { ROWS = sizeof rows / sizeof *rows };

/* The member `key` of a struct: all that is below a row follows it at once. */
static const struct row *find_member(const struct row *row, const char *key)
{
    size_t len = strlen(row->path), skip = len + (len > 0);

    for (const struct row *r = row + 1; r < rows + ROWS; r++) {
        if (strncmp(r->path, row->path, len) != 0 || (len && r->path[len] != '.'))
            break;
        if (strcmp(r->path + skip, key) == 0)
            return r;
    }
    return NULL;
}

static int bad_value(const struct lpo_node *v, const char *path, const char *wanted,
                     struct lpo_err *err)
{
    LPO_STR shown = { 0 };

    lpo_yaml_py_add_str(&shown, v);
    lpo_fail(err, LPO_E_CONFIG, "Invalid value '%s' for 'hydra.%s', expected %s",
             lpo_str_text(&shown), path, wanted);
    if (v->where.line)
        lpo_ctx(err, "%s:%u:%u", v->where.file, v->where.line, v->where.column);
    return LPO_E_CONFIG;
}

/* OmegaConf converts on assignment: a field of type str takes 5 as "5". */
static int to_text(struct lpo_arena *a, struct lpo_node **slot, const char *path,
                   struct lpo_err *err)
{
    struct lpo_where where = (*slot)->where;
    LPO_STR s = { 0 };

    if ((*slot)->kind == LPO_NODE_STRING)
        return 0;
    if (lpo_node_is_container(*slot))
        return bad_value(*slot, path, "a string", err);
    lpo_yaml_py_add_str(&s, *slot);
    *slot = lpo_node_string(a, lpo_str_text(&s));
    (*slot)->where = where;
    return 0;
}

static int to_bool(struct lpo_arena *a, struct lpo_node **slot, const char *path,
                   struct lpo_err *err)
{
    static const char *const yes[] = { "yes", "y", "on", "true", "1" };
    static const char *const no[] = { "no", "n", "off", "false", "0" };
    const struct lpo_node *v = *slot;

    if (v->kind == LPO_NODE_BOOL)
        return 0;
    if (v->kind == LPO_NODE_INT) {
        *slot = lpo_node_bool(a, v->integer != 0);
        return 0;
    }
    for (size_t i = 0; v->kind == LPO_NODE_STRING && i < sizeof yes / sizeof *yes; i++)
        if (strcasecmp(v->text, yes[i]) == 0 || strcasecmp(v->text, no[i]) == 0) {
            *slot = lpo_node_bool(a, strcasecmp(v->text, yes[i]) == 0);
            return 0;
        }
    return bad_value(v, path, "a boolean", err);
}

static int to_int(struct lpo_arena *a, struct lpo_node **slot, const char *path,
                  struct lpo_err *err)
{
    const struct lpo_node *v = *slot;

    if (v->kind == LPO_NODE_INT)
        return 0;
    if (v->kind != LPO_NODE_STRING || !lpo_yaml_py_is_int(v->text, v->len))
        return bad_value(v, path, "an integer", err);
    *slot = lpo_node_int(a, strtoll(v->text, NULL, 10));
    return 0;
}

static int to_texts(struct lpo_arena *a, struct lpo_node *v, enum type type, const char *path,
                    struct lpo_err *err)
{
    bool wants_list = type == LIST || type == LIST_STR;
    int rc = 0;

    if (v->kind != (wants_list ? LPO_NODE_LIST : LPO_NODE_MAP))
        return bad_value(v, path, wants_list ? "a list" : "a map", err);
    for (size_t i = 0; type == LIST_STR && rc == 0 && i < v->count; i++)
        rc = to_text(a, &v->items[i], path, err);
    for (size_t i = 0; type == DICT_STR && rc == 0 && i < v->npairs; i++)
        rc = to_text(a, &v->pairs[i].value, path, err);
    return rc;
}

static int check_struct(struct lpo_arena *a, struct lpo_node *v, const struct row *row, bool closed,
                        struct lpo_err *err);

static int check_value(struct lpo_arena *a, struct lpo_node **slot, const struct row *row,
                       bool closed, struct lpo_err *err)
{
    struct lpo_node *v = *slot;

    if (row->type == ANY || lpo_node_is_missing(v) || lpo_node_is_interpolation(v))
        return 0;
    if (v->kind == LPO_NODE_NULL) {
        if (row->type == OPT_STR || row->type == OPT_BOOL || row->type == MODE)
            return 0;
        return lpo_fail(err, LPO_E_CONFIG, "field 'hydra.%s' is not Optional", row->path);
    }
    switch (row->type) {
    case STR:
    case OPT_STR:
        return to_text(a, slot, row->path, err);
    case OPT_BOOL:
        return to_bool(a, slot, row->path, err);
    case INT:
        return to_int(a, slot, row->path, err);
    case MODE:
        if (lpo_node_is_text(v, "RUN") || lpo_node_is_text(v, "MULTIRUN"))
            return 0;
        return bad_value(v, row->path, "one of [RUN, MULTIRUN]", err);
    case STRUCT:
        return check_struct(a, v, row, closed, err);
    default:
        return to_texts(a, v, row->type, row->path, err);
    }
}

static int unknown_key(const struct row *row, const struct lpo_node *key, struct lpo_err *err)
{
    const char *names[ROWS], *near;
    size_t len = strlen(row->path), n = 0;
    LPO_STR name = { 0 };

    for (int i = 0; i < ROWS; i++) {
        const char *tail = rows[i].path + len;

        if (strncmp(rows[i].path, row->path, len) == 0 && *tail && (len == 0 || *tail == '.') &&
            !strchr(tail + (len > 0), '.'))
            names[n++] = tail + (len > 0);
    }
    lpo_yaml_py_add_str(&name, key);
    near = lpo_str_nearest(lpo_str_text(&name), names, n);
    lpo_fail(err, LPO_E_CONFIG, "Key '%s' not in '%s' (full key: hydra.%s%s%s)%s%s%s",
             lpo_str_text(&name), row->name, row->path, len ? "." : "", lpo_str_text(&name),
             near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    if (key->where.line)
        lpo_ctx(err, "%s:%u:%u", key->where.file, key->where.line, key->where.column);
    return LPO_E_CONFIG;
}

static int check_struct(struct lpo_arena *a, struct lpo_node *v, const struct row *row, bool closed,
                        struct lpo_err *err)
{
    if (v->kind != LPO_NODE_MAP)
        return bad_value(v, row->path, "a map", err);
    for (size_t i = 0; i < v->npairs; i++) {
        const struct lpo_node *key = v->pairs[i].key;
        const struct row *member = NULL;
        int rc;

        if (key->kind == LPO_NODE_STRING && !strchr(key->text, '.'))
            member = find_member(row, key->text);
        if (!member && closed)
            return unknown_key(row, key, err);
        rc = member ? check_value(a, &v->pairs[i].value, member, closed, err) : 0;
        if (rc < 0)
            return rc;
    }
    return 0;
}

int lpo_hydra_check(struct lpo_arena *a, struct lpo_node *hydra, bool closed, struct lpo_err *err)
{
    return check_struct(a, hydra, &rows[0], closed, err);
}

/* Hydra's structs are dataclasses, which lose no field. */
int lpo_hydra_check_delete(struct lpo_arena *a, const char *path, struct lpo_err *err)
{
    const char *below = path + strlen("hydra."), *dot = strrchr(below, '.');
    const char *parent = lpo_arena_strndup(a, below, dot ? (size_t)(dot - below) : 0);

    for (int i = 0; i < ROWS; i++)
        if (rows[i].type == STRUCT && strcmp(rows[i].path, parent) == 0)
            return lpo_fail(err, LPO_E_CONFIG, "%s does not support deletion ('%s')", rows[i].name,
                            path);
    return 0;
}

/* What composing fills in */

LPO_COMPARE(by_name, char *const, strcmp(*a, *b));

static bool list_has(const struct lpo_node *list, const char *text)
{
    for (size_t i = 0; list && list->kind == LPO_NODE_LIST && i < list->count; i++)
        if (lpo_node_is_text(list->items[i], text))
            return true;
    return false;
}

/* "db=sqlite,x=2": the job's overrides, sorted, as a folder name. */
static void add_dirname(struct lpo_arena *a, const struct lpo_node *hydra,
                        const struct lpo_hydra_facts *f, struct lpo_str *out)
{
    const struct lpo_node *conf = lpo_node_at(hydra, "job.config.override_dirname");
    const char **lines = lpo_arena_array(a, f->noverrides, sizeof(*lines));
    const char *kv = lpo_node_text_at(conf, "kv_sep"), *item = lpo_node_text_at(conf, "item_sep");
    LPO_STR s = { 0 };
    size_t n = 0;

    kv = kv ? kv : "="; /* Hydra's own defaults, where a config took the key away */
    item = item ? item : ",";
    for (size_t i = 0; i < f->noverrides; i++) {
        const struct lpo_override *ov = &f->overrides[i];

        if (!lpo_override_is_hydra(ov) && !list_has(lpo_node_get(conf, "exclude_keys"), ov->key))
            lines[n++] = ov->text;
    }
    if (n)
        qsort(lines, n, sizeof(*lines), by_name);
    for (size_t i = 0; i < n; i++)
        lpo_str_addf(&s, "%s%s", i ? item : "", lines[i]);
    for (const char *p = lpo_str_text(&s); *p; p++) {
        if (*p == '=')
            lpo_str_add(out, kv);
        else
            lpo_str_addc(out, *p);
    }
}

static struct lpo_node *member(struct lpo_arena *a, struct lpo_node *map, const char *key)
{
    struct lpo_node *v = lpo_node_get(map, key);

    if (!v || v->kind != LPO_NODE_MAP) {
        v = lpo_node_map(a);
        lpo_node_set(a, map, key, v);
    }
    return v;
}

static void fill_overrides(struct lpo_arena *a, struct lpo_node *hydra,
                           const struct lpo_hydra_facts *f)
{
    struct lpo_node *into = member(a, hydra, "overrides");
    struct lpo_node *own = lpo_node_get(into, "hydra"), *task = lpo_node_get(into, "task");

    if (!own || own->kind != LPO_NODE_LIST)
        lpo_node_set(a, into, "hydra", own = lpo_node_list(a));
    if (!task || task->kind != LPO_NODE_LIST)
        lpo_node_set(a, into, "task", task = lpo_node_list(a));
    for (size_t i = 0; i < f->noverrides; i++)
        lpo_node_push(a, lpo_override_is_hydra(&f->overrides[i]) ? own : task,
                      lpo_node_string(a, f->overrides[i].text));
}

static void fill_runtime(struct lpo_arena *a, struct lpo_node *hydra,
                         const struct lpo_hydra_facts *f)
{
    struct lpo_node *rt = member(a, hydra, "runtime"), *choices = member(a, rt, "choices");
    struct lpo_node *sources = lpo_node_list(a);

    for (size_t i = 0; i < f->choices->npairs; i++)
        lpo_node_set_key(a, choices, f->choices->pairs[i].key, f->choices->pairs[i].value);
    lpo_node_set(a, rt, "version", lpo_node_string(a, "1.3.2")); /* whose rules we follow */
    lpo_node_set(a, rt, "version_base", lpo_node_string(a, "1.3"));
    lpo_node_set(a, rt, "cwd", lpo_node_string(a, f->cwd));
    for (size_t i = 0; i < lpo_defaults_repo_source_count(f->repo); i++) {
        const char *scheme, *path, *provider;
        struct lpo_node *s = lpo_node_map(a);

        lpo_defaults_repo_source(f->repo, i, &scheme, &path, &provider);
        lpo_node_set(a, s, "path", lpo_node_string(a, path));
        lpo_node_set(a, s, "schema", lpo_node_string(a, scheme));
        lpo_node_set(a, s, "provider", lpo_node_string(a, provider));
        lpo_node_push(a, sources, s);
    }
    lpo_node_set(a, rt, "config_sources", sources);
}

static const char *find_env(const char *const *env, const char *name)
{
    size_t len = strlen(name);

    for (env = env ? env : (const char *const *)environ; env && *env; env++)
        if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
            return *env + len + 1;
    return NULL;
}

static int copy_env(struct lpo_arena *a, struct lpo_node *job, const struct lpo_hydra_facts *f,
                    struct lpo_err *err)
{
    const struct lpo_node *names = lpo_node_get(job, "env_copy");
    struct lpo_node *set = member(a, job, "env_set");

    for (size_t i = 0; names && names->kind == LPO_NODE_LIST && i < names->count; i++) {
        const char *name = names->items[i]->text, *value = find_env(f->env, name);

        if (!value)
            return lpo_fail(err, LPO_E_CONFIG,
                            "hydra.job.env_copy: environment variable '%s' is not set", name);
        lpo_node_set(a, set, name, lpo_node_string(a, value));
    }
    return 0;
}

int lpo_hydra_fill(struct lpo_arena *a, struct lpo_node *hydra, const struct lpo_hydra_facts *f,
                   struct lpo_err *err)
{
    struct lpo_node *job = member(a, hydra, "job"), *name;
    LPO_STR dirname = { 0 };
    int rc;

    fill_overrides(a, hydra, f);
    fill_runtime(a, hydra, f);
    rc = copy_env(a, job, f, err);
    if (rc < 0)
        return rc;
    name = lpo_node_get(job, "name");
    if (!name || lpo_node_is_missing(name))
        lpo_node_set(a, job, "name", lpo_node_string(a, f->job_name));
    add_dirname(a, hydra, f, &dirname);
    lpo_node_set(a, job, "override_dirname", lpo_node_string(a, lpo_str_text(&dirname)));
    lpo_node_set(a, job, "config_name", lpo_node_string(a, f->config_name));
    return 0;
}

/* --- which job a composed config belongs to, and the folder it gets -----------------------------
 */

/* A value of hydra's as text; a folder may well be named by a number. */
static int text_of(struct lpo_composed *c, const char *path, const char **out, struct lpo_err *err)
{
    struct lpo_node *n = NULL;
    LPO_STR s = { 0 };
    int rc = lpo_compose_hydra(c, path, &n, err);

    if (rc < 0)
        return lpo_ctx(err, "hydra.%s", path);
    if (!n || n->kind == LPO_NODE_NULL)
        return lpo_fail(err, LPO_E_CONFIG, "hydra.%s names no folder", path);
    lpo_yaml_py_add_str(&s, n);
    *out = lpo_arena_strndup(c->arena, lpo_str_text(&s), s.len);
    return 0;
}

static struct lpo_node *map_at(struct lpo_composed *c, const char *key)
{
    struct lpo_node *map = lpo_node_get(c->hydra, key);

    if (!map || map->kind != LPO_NODE_MAP) {
        map = lpo_node_map(c->arena);
        lpo_node_set(c->arena, c->hydra, key, map);
    }
    return map;
}

/* "a/./b" and "a/" as people write folders, as Hydra shows them. */
static const char *tidy(struct lpo_arena *a, const char *path)
{
    LPO_STR s = { 0 };

    for (const char *p = path; *p;) {
        size_t n = strcspn(p, "/");
        if (n > 0 && !(n == 1 && *p == '.')) {
            lpo_str_addc(&s, '/');
            lpo_str_addn(&s, p, n);
        }
        p += n + (p[n] == '/');
    }
    return s.len ? lpo_arena_strndup(a, s.at, s.len) : "/";
}

int lpo_hydra_job_dir(struct lpo_composed *c, int num, const char **dir, struct lpo_err *err)
{
    const char *top = NULL, *below = NULL, *cwd = NULL;
    int rc;

    if (num >= 0) {
        struct lpo_node *job = map_at(c, "job");
        lpo_node_set(c->arena, job, "num", lpo_node_int(c->arena, num));
        lpo_node_set(c->arena, job, "id",
                     lpo_node_string(c->arena, lpo_arena_printf(c->arena, "%d", num)));
    }
    rc = text_of(c, num < 0 ? "run.dir" : "sweep.dir", &top, err);
    if (rc == 0 && num >= 0)
        rc = text_of(c, "sweep.subdir", &below, err);
    if (rc == 0)
        rc = text_of(c, "runtime.cwd", &cwd, err);
    if (rc < 0)
        return rc;
    if (below)
        top = lpo_path_join(c->arena, top, below);
    *dir = tidy(c->arena, lpo_path_join(c->arena, cwd, top));
    lpo_hydra_set_output_dir(c, *dir);
    return 0;
}

void lpo_hydra_set_output_dir(struct lpo_composed *c, const char *dir)
{
    lpo_node_set(c->arena, map_at(c, "runtime"), "output_dir", lpo_node_string(c->arena, dir));
}

int lpo_hydra_is_multirun(struct lpo_composed *c, bool *out, struct lpo_err *err)
{
    struct lpo_node *mode = NULL;
    int rc = lpo_compose_hydra(c, "mode", &mode, err);

    *out = rc == 0 && mode && lpo_node_is_text(mode, "MULTIRUN");
    return rc;
}
