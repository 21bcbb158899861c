/* SPDX-License-Identifier: Apache-2.0 */
/* Which job a composed config belongs to, and the folder it gets. */
#include <string.h>

#include "hydra/compose.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/path.h"
#include "util/str.h"

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
