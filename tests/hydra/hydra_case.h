/* SPDX-License-Identifier: Apache-2.0 */
/* tests/hydra/hydra_case.h - cases of tests/data/hydra: trees on disk, expected texts.
 *
 * A case names a tree of files, which is written into an empty folder that becomes the working
 * folder; {{CWD}} and {{NOW:format}} in expected texts stand for that folder and a time. */
#pragma once

#include <ftw.h>
#include <limits.h>
#include <time.h>
#include <unistd.h>

#include "hydra/compose.h"
#include "unit.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/json.h"
#include "util/path.h"
#include "util/str.h"

struct hydra_case {
    const struct lpo_json *c, *tree;
};

struct hydra_place {
    struct lpo_arena *arena;
    char dir[PATH_MAX]; /* the working folder */
    const char **env;   /* of the case */
    time_t now;
};

/* The cases are part of the tree: without them the test fails. */
static inline int hydra_no_cases(const char *path)
{
    printf("Bail out! cannot read %s\n", path);
    return 1;
}

static inline int hydra_remove(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st, (void)flag, (void)ftw;
    return remove(path);
}

static inline void hydra_leave(struct hydra_place *p)
{
    if (chdir("/") == 0)
        nftw(p->dir, hydra_remove, 16, FTW_DEPTH | FTW_PHYS);
    lpo_arena_destroy(p->arena);
}

static inline void hydra_write_tree(struct hydra_place *p, const struct lpo_json *tree)
{
    struct lpo_err err = { 0 };

    LPO_JSON_EACH(file, tree)
    {
        if (lpo_str_ends(file->key, "/")) {
            assert_int_equal(lpo_file_make_dirs(file->key, &err), 0);
            continue;
        }
        assert_int_equal(lpo_file_make_dirs(lpo_path_dir(p->arena, file->key), &err), 0);
        FILE *f = fopen(file->key, "wb");
        assert_non_null(f);
        fwrite(file->text, 1, file->len, f);
        fclose(f);
    }
}

static inline void hydra_enter(struct hydra_place *p, const struct hydra_case *hc)
{
    const struct lpo_json *env = lpo_json_get(hc->c, "env");
    char name[] = "/tmp/lpo-hydra-XXXXXX";
    size_t n = 0;

    *p = (struct hydra_place){ .arena = lpo_arena_create(), .now = time(NULL) };
    assert_non_null(mkdtemp(name));
    assert_non_null(realpath(name, p->dir));
    assert_int_equal(chdir(p->dir), 0);
    hydra_write_tree(p, hc->tree);
    p->env = lpo_arena_array(p->arena, (env ? env->count : 0) + 4, sizeof(*p->env));
    p->env[n++] = "PATH=/usr/bin:/bin";
    p->env[n++] = "HOME=/home/user";
    p->env[n++] = "LANG=C.UTF-8";
    LPO_JSON_EACH(e, env)
    p->env[n++] = lpo_arena_printf(p->arena, "%s=%s", e->key, e->text);
}

/* `text` with its placeholders filled in. */
static inline char *hydra_fill(struct hydra_place *p, const char *text)
{
    LPO_STR s = { 0 };
    struct tm tm;

    localtime_r(&p->now, &tm);
    while (*text) {
        const char *end = strstr(text, "}}");
        char format[64], when[128];

        if (lpo_str_starts(text, "{{CWD}}")) {
            lpo_str_add(&s, p->dir);
            text += strlen("{{CWD}}");
        } else if (lpo_str_starts(text, "{{NOW:") && end && end - text < 60) {
            snprintf(format, sizeof format, "%.*s", (int)(end - text - 6), text + 6);
            strftime(when, sizeof when, format, &tm);
            lpo_str_add(&s, when);
            text = end + 2;
        } else {
            lpo_str_addc(&s, *text++);
        }
    }
    return lpo_arena_strdup(p->arena, lpo_str_text(&s));
}

static inline const char **hydra_words(struct hydra_place *p, const struct lpo_json *list)
{
    const char **words = lpo_arena_array(p->arena, (list ? list->count : 0) + 1, sizeof(*words));
    size_t n = 0;

    LPO_JSON_EACH(w, list)
    words[n++] = w->text;
    return words;
}

/* Is the node the JSON value, types and key order included? */
static bool hydra_same(struct hydra_place *p, const struct lpo_node *n, const struct lpo_json *j);

static inline bool hydra_same_map(struct hydra_place *p, const struct lpo_node *n,
                                  const struct lpo_json *j)
{
    const struct lpo_json *pairs = lpo_json_get(j, "$map"), *item;
    size_t i = 0;

    item = pairs ? pairs->first : j->first;
    for (; item && i < n->npairs; item = item->next, i++) {
        const struct lpo_node *key = n->pairs[i].key;

        if (pairs ? !hydra_same(p, key, item->first) : !lpo_node_is_text(key, item->key))
            return false;
        if (!hydra_same(p, n->pairs[i].value, pairs ? item->first->next : item))
            return false;
    }
    return !item && i == n->npairs;
}

static inline bool hydra_same_real(double d, const char *text)
{
    return (strcmp(text, "nan") == 0 && d != d) || strtod(text, NULL) == d;
}

static bool hydra_same(struct hydra_place *p, const struct lpo_node *n, const struct lpo_json *j)
{
    const struct lpo_json *item;
    size_t i = 0;

    switch (n->kind) {
    case LPO_NODE_NULL:
        return j->kind == LPO_JSON_NULL;
    case LPO_NODE_BOOL:
        return j->kind == LPO_JSON_BOOL && j->boolean == n->boolean;
    case LPO_NODE_INT:
        return j->kind == LPO_JSON_INT && j->integer == n->integer;
    case LPO_NODE_BIGINT:
        return j->kind == LPO_JSON_REAL && strcmp(j->text, n->text) == 0;
    case LPO_NODE_FLOAT:
        if (j->kind == LPO_JSON_OBJECT)
            return hydra_same_real(n->real, lpo_json_text(lpo_json_get(j, "$float"), "x"));
        return j->kind == LPO_JSON_REAL && strpbrk(j->text, ".eE") && j->real == n->real;
    case LPO_NODE_STRING:
        return j->kind == LPO_JSON_STRING && lpo_node_is_text(n, hydra_fill(p, j->text));
    case LPO_NODE_BYTES:
        return lpo_json_get(j, "$bytes") != NULL;
    case LPO_NODE_MAP:
        return j->kind == LPO_JSON_OBJECT && hydra_same_map(p, n, j);
    case LPO_NODE_LIST:
        if (j->kind != LPO_JSON_ARRAY)
            return false;
        for (item = j->first; item && i < n->count; item = item->next, i++)
            if (!hydra_same(p, n->items[i], item))
                return false;
        return !item && i == n->count;
    }
    return false;
}

/* An error must name what Hydra's names: keys, options; a YAML error its line. */
static inline void hydra_check_error(struct hydra_place *p, const struct lpo_err *err,
                                     const struct lpo_json *want)
{
    LPO_STR all = { 0 };
    const struct lpo_json *line = lpo_json_get(want, "line");

    for (unsigned i = 0; i < err->lines; i++)
        lpo_str_addf(&all, "%s\n", err->text + err->at[i]);
    assert_true(all.len > 0);
    LPO_JSON_EACH(m, lpo_json_get(want, "mentions"))
    if (!strstr(all.at, hydra_fill(p, m->text)))
        fail_msg("'%s' is not in: %s", m->text, all.at);
    if (line && !strstr(all.at, lpo_arena_printf(p->arena, ":%d:", (int)line->integer)))
        fail_msg("line %d is not in: %s", (int)line->integer, all.at);
}

/* Adds one test per case of `kind` in the file; false when the file is not there. */
static inline bool hydra_add_cases(struct lpo_arena *a, struct unit *u, const char *path,
                                   const char *kind, CMUnitTestFunction check)
{
    const struct lpo_json *doc;
    struct lpo_err err = { 0 };

    if (!lpo_path_exists(path))
        return false;
    if (lpo_json_read_file(a, path, &doc, &err) < 0) {
        printf("Bail out! %s\n", lpo_err_cause(&err));
        exit(1);
    }
    LPO_JSON_EACH(c, lpo_json_get(doc, "cases"))
    {
        struct hydra_case *row;

        if (strcmp(lpo_json_text(lpo_json_get(c, "kind"), ""), kind) != 0)
            continue;
        row = LPO_NEW(a, struct hydra_case);
        row->c = c;
        row->tree =
            lpo_json_get(lpo_json_get(doc, "trees"), lpo_json_text(lpo_json_get(c, "tree"), ""));
        unit_add(u, lpo_json_text(lpo_json_get(c, "id"), "?"), check, row);
    }
    return true;
}
