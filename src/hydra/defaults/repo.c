/* SPDX-License-Identifier: Apache-2.0 */

#include <dirent.h>
#include <sys/stat.h>

#include "hydra/defaults/entry.h"
#include "hydra/interp/interp.h"
#include "hydra/yaml/yaml.h"
#include "util/file.h"
#include "util/path.h"

/* --- built-in configs: Hydra 1.3's own settings, as far as they have a meaning here -------------
 */

static const struct builtin {
    const char *path, *text;
} table[] = {
    { "hydra/config", "defaults:\n"
                      "- output: default\n"
                      "- launcher: basic\n"
                      "- sweeper: basic\n"
                      "- help: default\n"
                      "- hydra_help: default\n"
                      "- hydra_logging: default\n"
                      "- job_logging: default\n"
                      "- callbacks: null\n"
                      "- env: default\n"
                      "- _self_\n"
                      "mode: null\n"
                      "searchpath: []\n"
                      "callbacks: {}\n"
                      "output_subdir: .hydra\n"
                      "overrides: {hydra: [], task: []}\n"
                      "job:\n"
                      "  name: ???\n"
                      "  chdir: null\n"
                      "  override_dirname: ???\n"
                      "  id: ???\n"
                      "  num: ???\n"
                      "  config_name: ???\n"
                      "  env_set: {}\n"
                      "  env_copy: []\n"
                      "  config:\n"
                      "    override_dirname: {kv_sep: '=', item_sep: ',', exclude_keys: []}\n"
                      "runtime:\n"
                      "  version: ???\n"
                      "  version_base: ???\n"
                      "  cwd: ???\n"
                      "  config_sources: ???\n"
                      "  output_dir: ???\n"
                      "  choices: {}\n"
                      "verbose: false\n" },
    { "hydra/output/default", "# @package hydra\n"
                              "run:\n"
                              "  dir: outputs/${now:%Y-%m-%d}/${now:%H-%M-%S}\n"
                              "sweep:\n"
                              "  dir: multirun/${now:%Y-%m-%d}/${now:%H-%M-%S}\n"
                              "  subdir: ${hydra.job.num}\n" },
    { "hydra/launcher/basic",
      "_target_: hydra._internal.core_plugins.basic_launcher.BasicLauncher\n" },
    { "hydra/sweeper/basic", "_target_: hydra._internal.core_plugins.basic_sweeper.BasicSweeper\n"
                             "max_batch_size: null\n"
                             "params: null\n" },
    { "hydra/help/default", "app_name: ${hydra.job.name}\n"
                            "header: ''\n"
                            "footer: ''\n"
                            "template: ''\n" },
    { "hydra/hydra_help/default", "hydra_help: ???\ntemplate: ''\n" },
    { "hydra/hydra_logging/default", "version: 1\nroot: {level: INFO}\n" },
    { "hydra/hydra_logging/disabled", "version: 1\nroot: null\n" },
    { "hydra/hydra_logging/hydra_debug", "version: 1\nroot: {level: DEBUG}\n" },
    { "hydra/hydra_logging/none", "" },
    { "hydra/job_logging/default", "version: 1\nroot: {level: INFO, handlers: [console, file]}\n" },
    { "hydra/job_logging/disabled", "version: 1\nroot: null\n" },
    { "hydra/job_logging/none", "" },
    { "hydra/job_logging/stdout", "version: 1\nroot: {level: INFO, handlers: [console]}\n" },
    { "hydra/env/default", "" },
};

enum { ROWS = sizeof table / sizeof *table };

static const char *builtin_text(const char *path)
{
    for (int i = 0; i < ROWS; i++)
        if (strcmp(table[i].path, path) == 0)
            return table[i].text;
    return NULL;
}

static bool is_builtin_group(const char *path)
{
    size_t len = strlen(path);

    if (len == 0)
        return true;
    return lpo_any(i, ROWS, strncmp(table[i].path, path, len) == 0 && table[i].path[len] == '/');
}

static const char *builtin_option(const char *group, size_t n)
{
    size_t len = strlen(group);

    for (int i = 0; i < ROWS; i++) {
        const char *path = table[i].path;

        if (strncmp(path, group, len) != 0 || path[len] != '/' || strchr(path + len + 1, '/'))
            continue;
        if (n-- == 0)
            return path + len + 1;
    }
    return NULL;
}

/* --- the search path ----------------------------------------------------------------------------
 */

/* "# @package name" at the top of a file */

enum { HEADER_CHARS = 512 }; /* Hydra looks no further */

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f);
}

static void strip(const char **p, size_t *len)
{
    while (*len && is_blank(**p))
        (*p)++, (*len)--;
    while (*len && is_blank((*p)[*len - 1]))
        (*len)--;
}

/* How many bytes the first HEADER_CHARS characters take. */
static size_t head_of(const char *text, size_t len)
{
    size_t chars = 0, i = 0;

    for (; i < len; i++)
        if (((unsigned char)text[i] & 0xc0) != 0x80 && ++chars > HEADER_CHARS)
            break;
    return i;
}

/* One "# @key value" line. */
static int read_line(struct lpo_arena *a, const char *line, size_t len, const char **package,
                     struct lpo_err *err)
{
    const char *words[2] = { NULL, NULL };
    size_t lens[2] = { 0, 0 }, count = 0;

    while (len && *line == '#')
        line++, len--;
    strip(&line, &len);
    for (size_t i = 0; i < len;) {
        size_t from = i;

        while (i < len && line[i] != ' ')
            i++;
        if (i > from && count < 2) {
            words[count] = line + from;
            lens[count] = i - from;
        }
        count += i > from;
        i++;
    }
    if (count < 2)
        return lpo_fail(err, LPO_E_CONFIG, "Expected header format: KEY VALUE, got '%.*s'",
                        (int)len, line);
    if (count > 2)
        return lpo_fail(err, LPO_E_CONFIG, "Too many components in '%.*s'", (int)len, line);
    if (lens[0] == 8 && strncmp(words[0], "@package", 8) == 0)
        *package = lpo_arena_strndup(a, words[1], lens[1]);
    return 0;
}

static bool is_header(const char *line, size_t len)
{
    size_t i = 1;

    if (len == 0 || *line != '#')
        return false;
    while (i < len && is_blank(line[i]))
        i++;
    return i < len && line[i] == '@';
}

/* *package NULL: the file has none. Only comment lines at the very top count. */
static int read_header(struct lpo_arena *a, const char *text, size_t len, const char **package,
                       struct lpo_err *err)
{
    *package = NULL;
    len = head_of(text, len);
    while (len) {
        size_t n = 0;
        const char *line = text;
        size_t line_len;

        while (n < len && text[n] != '\n' && text[n] != '\r')
            n++;
        line_len = n;
        strip(&line, &line_len);
        n += n < len;
        text += n;
        len -= n;
        if (line_len == 0)
            continue;
        if (!is_header(line, line_len))
            return 0;
        if (read_line(a, line, line_len, package, err) < 0)
            return err ? err->code : LPO_E_CONFIG;
    }
    return 0;
}

/* The search path */

enum { MAX_SOURCES = 64 };

struct source {
    const char *provider;
    const char *dir; /* NULL: the built-in one */
    bool behind;     /* its options are listed only for groups that no folder before it has */
};

struct cached {
    const char *path;
    struct lpo_loaded *loaded; /* NULL: not there */
    struct cached *next;
};

struct lpo_repo {
    struct lpo_arena *arena;
    struct source sources[MAX_SOURCES];
    size_t count;
    struct cached *cache;
    struct lpo_node *warnings; /* NULL: no file is mended */
};

struct lpo_repo *lpo_defaults_repo_new(struct lpo_arena *a)
{
    struct lpo_repo *r = LPO_NEW(a, struct lpo_repo);

    r->arena = a;
    r->sources[r->count++] = (struct source){ "hydra", NULL };
    return r;
}

void lpo_defaults_repo_add_behind(struct lpo_repo *r, const char *provider, const char *dir)
{
    size_t before = r->count;

    lpo_defaults_repo_add(r, provider, dir);
    if (r->count > before)
        r->sources[before].behind = true;
}

void lpo_defaults_repo_mend(struct lpo_repo *r, struct lpo_node *warnings)
{
    r->warnings = warnings;
}

void lpo_defaults_repo_add(struct lpo_repo *r, const char *provider, const char *dir)
{
    if (r->count < MAX_SOURCES)
        r->sources[r->count++] = (struct source){ provider, lpo_arena_strdup(r->arena, dir) };
}

/* Files */

static const char *file_of(const struct lpo_repo *r, const struct source *s, const char *path)
{
    return lpo_arena_printf(r->arena, "%s/%s%s", s->dir, path,
                            lpo_str_ends(path, ".yaml") ? "" : ".yaml");
}

static bool is_file(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static bool source_has(const struct lpo_repo *r, const struct source *s, const char *path)
{
    return s->dir ? is_file(file_of(r, s, path)) : builtin_text(path) != NULL;
}

static const struct source *find_source(const struct lpo_repo *r, const char *path)
{
    return lpo_find(i, r->sources, r->count, source_has(r, &r->sources[i], path));
}

bool lpo_defaults_repo_has_config(const struct lpo_repo *r, const char *path)
{
    return find_source(r, path) != NULL;
}

bool lpo_defaults_repo_has_group(const struct lpo_repo *r, const char *path)
{
    for (size_t i = 0; i < r->count; i++) {
        const struct source *s = &r->sources[i];

        if (s->dir ? lpo_path_is_dir(lpo_arena_printf(r->arena, "%s/%s", s->dir, path))
                   : is_builtin_group(path))
            return true;
    }
    return false;
}

/* Loading */

/* Every string that holds ${ must be well-formed, and no key may be null. */
static int check_values(struct lpo_arena *a, const struct lpo_spot *at, struct lpo_err *err)
{
    const struct lpo_node *n = at->node;
    LPO_STR key = { 0 };
    int rc = 0;

    if (lpo_node_is_interpolation(n)) {
        if (lpo_interp_check(a, n->text, n->len, err) == 0)
            return 0;
        lpo_interp_spot_add_key(&key, at);
        return lpo_ctx(err, "%s:%u:%u: '%s' is not a valid interpolation", n->where.file,
                       n->where.line, n->where.column, lpo_str_text(&key));
    }
    for (size_t i = 0; n->kind == LPO_NODE_LIST && rc == 0 && i < n->count; i++)
        rc = lpo_node_is_container(n->items[i]) || lpo_node_is_interpolation(n->items[i])
                 ? check_values(a, lpo_interp_spot_child(a, at, NULL, i, n->items[i]), err)
                 : 0;
    for (size_t i = 0; n->kind == LPO_NODE_MAP && rc == 0 && i < n->npairs; i++) {
        const struct lpo_pair *p = &n->pairs[i];

        if (p->key->kind == LPO_NODE_NULL) {
            lpo_interp_spot_add_key(&key, at);
            return lpo_fail(
                err, LPO_E_CONFIG, "%s:%u:%u: Incompatible key type 'NoneType' (in '%s')",
                p->key->where.file, p->key->where.line, p->key->where.column, lpo_str_text(&key));
        }
        if (lpo_node_is_container(p->value) || lpo_node_is_interpolation(p->value))
            rc = check_values(a, lpo_interp_spot_child(a, at, p->key, 0, p->value), err);
    }
    return rc;
}

/* What OmegaConf makes of a document that is no map or list: nothing is an empty map, text is read
 * once more as YAML and, when it is still text, is a key without a value. */
static int as_config(struct lpo_arena *a, const char *file, struct lpo_node **root,
                     struct lpo_err *err)
{
    struct lpo_node *map = lpo_node_map(a), *again;

    if ((*root)->kind == LPO_NODE_STRING) {
        int rc = lpo_yaml_parse(a, (*root)->text, (*root)->len, file, &again, err);

        if (rc < 0)
            return rc;
        if (again->kind == LPO_NODE_STRING)
            lpo_node_set_key(a, map, again, lpo_node_null(a));
        *root = again->kind == LPO_NODE_STRING ? map : again;
    }
    if ((*root)->kind == LPO_NODE_NULL)
        *root = map;
    if (!lpo_node_is_container(*root))
        return lpo_fail(err, LPO_E_CONFIG, "%s: a config must be a map, not %s", file,
                        lpo_node_kind_name((*root)->kind));
    return 0;
}

static int take_defaults(struct lpo_repo *r, const char *path, struct lpo_loaded *l,
                         struct lpo_err *err)
{
    struct lpo_node *list = lpo_node_get(l->config, "defaults");
    struct lpo_node *key = lpo_node_string(r->arena, "defaults");
    int rc;

    if (!list)
        return 0;
    rc = lpo_node_is_missing(list) /* ??? is as good as no list */
             ? 0
             : lpo_defaults_entries_read(r->arena, list, path, &l->entries, &l->count, err);
    lpo_node_remove(l->config, key);
    return rc;
}

/* `description: Preset: decode` is not YAML (a plain text may not hold ": "), but people write it,
 * and nothing else can be meant. The text with that value quoted, or NULL. */
static const char *quoted_description(struct lpo_arena *a, const char *text, size_t len)
{
    static const char key[] = "description: ";
    const char *line = text, *end = text + len, *stop, *value;
    LPO_STR out = { 0 };

    while (line < end && !((size_t)(end - line) > sizeof key && lpo_str_starts(line, key))) {
        line = memchr(line, '\n', (size_t)(end - line));
        line = line ? line + 1 : end;
    }
    if (line >= end)
        return NULL;
    value = line + strlen(key);
    stop = memchr(value, '\n', (size_t)(end - value));
    stop = stop ? stop : end;
    if (strchr("'\"[{&*!|>", *value))
        return NULL;
    lpo_str_addn(&out, text, (size_t)(value - text));
    lpo_str_addc(&out, '\'');
    for (; value < stop && strncmp(value, " #", 2) != 0; value++) {
        if (*value == '\'')
            lpo_str_addc(&out, '\'');
        lpo_str_addc(&out, *value);
    }
    lpo_str_addc(&out, '\'');
    lpo_str_addn(&out, value, (size_t)(end - value));
    return lpo_arena_strdup(a, lpo_str_text(&out));
}

static int parse_mended(struct lpo_repo *r, const char *text, size_t len, struct lpo_loaded *l,
                        struct lpo_err *err)
{
    const char *better = quoted_description(r->arena, text, len);
    struct lpo_err again = { 0 };

    if (!better ||
        lpo_yaml_parse(r->arena, better, strlen(better), l->file, &l->config, &again) < 0)
        return LPO_E_CONFIG; /* with the first error */
    if (err)
        *err = (struct lpo_err){ 0 };
    lpo_node_push(
        r->arena, r->warnings,
        lpo_node_string(r->arena, lpo_arena_printf(r->arena,
                                                   "%s: the description has a colon in it; quote "
                                                   "it: description: \"…\"",
                                                   l->file)));
    return 0;
}

static int parse(struct lpo_repo *r, const char *path, const char *text, size_t len,
                 struct lpo_loaded *l, struct lpo_err *err)
{
    struct lpo_spot root = { 0 };
    int rc = read_header(r->arena, text, len, &l->package, err);

    if (rc < 0)
        return lpo_ctx(err, "%s", l->file);
    rc = lpo_yaml_parse(r->arena, text, len, l->file, &l->config, err);
    if (rc < 0 && r->warnings)
        rc = parse_mended(r, text, len, l, err);
    if (rc == 0)
        rc = as_config(r->arena, l->file, &l->config, err);
    if (rc < 0)
        return rc;
    root.node = l->config;
    rc = check_values(r->arena, &root, err);
    return rc < 0 ? rc : take_defaults(r, path, l, err);
}

static int load(struct lpo_repo *r, const struct source *s, const char *path,
                struct lpo_loaded **out, struct lpo_err *err)
{
    struct lpo_loaded *l = LPO_NEW(r->arena, struct lpo_loaded);
    LPO_AUTO(lpo_file_text) text = NULL;
    int rc;

    if (!s->dir) {
        const char *builtin = builtin_text(path);

        l->file = lpo_arena_printf(r->arena, "<lpo>/%s.yaml", path);
        rc = parse(r, path, builtin, strlen(builtin), l, err);
    } else {
        l->file = file_of(r, s, path);
        rc = lpo_file_text_read_limit(l->file, LPO_YAML_MAX_BYTES, &text, err);
        if (rc == 0)
            rc = parse(r, path, text->at, text->len, l, err);
    }
    *out = rc < 0 ? NULL : l;
    return rc;
}

int lpo_defaults_repo_load(struct lpo_repo *r, const char *path, struct lpo_loaded **out,
                           struct lpo_err *err)
{
    const struct source *s;
    struct cached *c;
    int rc = 0;

    for (c = r->cache; c; c = c->next)
        if (strcmp(c->path, path) == 0) {
            *out = c->loaded;
            return 0;
        }
    *out = NULL;
    s = find_source(r, path);
    if (s)
        rc = load(r, s, path, out, err);
    if (rc < 0)
        return rc;
    c = LPO_NEW(r->arena, struct cached);
    *c = (struct cached){ lpo_arena_strdup(r->arena, path), *out, r->cache };
    r->cache = c;
    return 0;
}

/* Listing */

LPO_COMPARE(by_name, char *const, strcmp(*a, *b));

static void list_dir(const struct lpo_repo *r, const char *dir, struct lpo_map *names)
{
    DIR *d = opendir(dir);
    const struct dirent *e;

    while (d && (e = readdir(d))) {
        size_t len = strlen(e->d_name);

        if (len > 5 && lpo_str_ends(e->d_name, ".yaml") &&
            is_file(lpo_arena_printf(r->arena, "%s/%s", dir, e->d_name)))
            lpo_map_put(names, e->d_name, len - 5, NULL);
    }
    if (d)
        closedir(d);
}

size_t lpo_defaults_repo_options(const struct lpo_repo *r, const char *group, const char ***out)
{
    LPO_AUTO(lpo_map) names = lpo_map_create();
    const char *name;
    size_t n;

    for (size_t i = 0; i < r->count; i++) {
        if (r->sources[i].behind && lpo_map_count(names))
            continue;
        if (r->sources[i].dir)
            list_dir(r, lpo_arena_printf(r->arena, "%s/%s", r->sources[i].dir, group), names);
        else
            for (size_t j = 0; (name = builtin_option(group, j)); j++)
                lpo_map_put(names, name, strlen(name), NULL);
    }
    n = lpo_map_count(names);
    *out = lpo_arena_array(r->arena, n, sizeof(**out));
    for (size_t i = 0; i < n; i++)
        (*out)[i] = lpo_arena_strdup(r->arena, lpo_map_key(names, i, NULL));
    if (n)
        qsort(*out, n, sizeof(**out), by_name);
    return n;
}

size_t lpo_defaults_repo_source_count(const struct lpo_repo *r)
{
    return r->count;
}

void lpo_defaults_repo_source(const struct lpo_repo *r, size_t i, const char **scheme,
                              const char **path, const char **provider)
{
    *scheme = r->sources[i].dir ? "file" : "pkg";
    *path = r->sources[i].dir ? r->sources[i].dir : "hydra.conf";
    *provider = r->sources[i].provider;
}

void lpo_defaults_repo_add_sources(const struct lpo_repo *r, struct lpo_str *s)
{
    for (size_t i = 0; i < r->count; i++) {
        const char *scheme, *path, *provider;

        lpo_defaults_repo_source(r, i, &scheme, &path, &provider);
        lpo_str_addf(s, "\n\tprovider=%s, path=%s://%s", provider, scheme, path);
    }
}
