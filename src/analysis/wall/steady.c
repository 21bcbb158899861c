/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/wall/steady.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "util/str.h"

/* The length of `name` where the text begins with it, in any case; "-" and " " pass for "_". */
static size_t match(const char *text, const char *name)
{
    size_t n = 0;

    for (; name[n]; n++) {
        bool joint = name[n] == '_' && (text[n] == '-' || text[n] == ' ');

        if (!joint && tolower((unsigned char)text[n]) != name[n])
            return 0;
    }
    return n;
}

bool lpo_wall_path_prepares(const char *path)
{
    static const char *const names[] = {
        "load", "loading", "load_model", "load_weights", "model_load", "warmup", "warm_up",
    };
    size_t len = strcspn(path, "/");
    const char *domain = memchr(path, '@', len);
    const char *name = domain ? domain + 1 : path;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *rest = name + match(name, names[i]);

        if (rest == name)
            continue;
        while (rest < path + len && !isalpha((unsigned char)*rest))
            rest++; /* "warmup_2" is one; "loader" and "load_balance" are not */
        if (rest >= path + len)
            return true;
    }
    return false;
}

static void find_nodes(struct lpo_wall_steady *w, const struct lpo_region_tree *t)
{
    for (uint32_t n = 0; n < t->nodes.len; n++) { /* parents come before their children */
        LPO_STR name = { 0 };

        if (t->nodes.at[n].parent != LPO_NONE) {
            w->prepares[n] = w->prepares[t->nodes.at[n].parent];
            continue;
        }
        lpo_region_add_name(t, n, &name);
        w->prepares[n] = lpo_wall_path_prepares(lpo_str_text(&name));
        w->any |= w->prepares[n];
    }
}

static void find_places(struct lpo_wall_steady *w, const struct lpo_region_tree *t)
{
    for (uint32_t p = 0; p < t->places.len; p++) {
        const struct lpo_place *place = &t->places.at[p];
        const struct lpo_region_set *set = &t->sets.at[place->set];

        w->places[p] = place->leaf != LPO_NONE && w->prepares[place->leaf];
        for (uint32_t i = 0; i < set->count; i++)
            w->places[p] |= w->prepares[t->set_nodes.at[set->first + i]];
    }
}

static void sum_kernels(struct lpo_wall_steady *w)
{
    for (size_t i = 0; i < w->top.len; i++) {
        const struct lpo_sum *sum = &w->top.at[i].sum;

        w->class_ns[lpo_region_cells_class(&w->cells, w->top.at[i].name)] += sum->ns;
        w->kernel_ns += sum->ns;
        w->launches += sum->launches;
    }
}

/* Tables of the steady part alone. */
static void leave_out(struct lpo_wall_steady *w, const struct lpo_analysis *a)
{
    static const struct lpo_scope_id all = { LPO_SCOPE_ALL, 0 };

    memset(&w->cells.cells, 0, sizeof w->cells.cells);
    for (size_t i = 0; i < a->cells->cells.len; i++)
        if (!w->places[a->cells->cells.at[i].place])
            lpo_vec_push(&w->cells.cells, a->cells->cells.at[i]);
    if (a->timeline)
        w->wall = w->own_wall = lpo_wall_create_without(a->tree, w->places);
    w->all = w->own_all = lpo_region_scope_create(&w->cells, all, a->select);
    lpo_region_top(&w->cells, LPO_KERNEL, &w->top);
}

/* Nothing prepares: the tables of the whole trace, which may have a million rows, serve. */
static void borrow(struct lpo_wall_steady *w, const struct lpo_analysis *a)
{
    w->wall = lpo_analysis_wall(a);
    w->all = lpo_analysis_all(a);
    w->top = *lpo_analysis_top(a, LPO_KERNEL);
}

struct lpo_wall_steady *lpo_wall_steady_create(const struct lpo_analysis *a)
{
    struct lpo_wall_steady *w = lpo_xcalloc(1, sizeof *w);

    w->prepares = lpo_xcalloc(a->tree->nodes.len + 1, sizeof *w->prepares);
    w->places = lpo_xcalloc(a->tree->places.len + 1, sizeof *w->places);
    find_nodes(w, a->tree);
    find_places(w, a->tree);
    w->cells = *a->cells;
    if (w->any)
        leave_out(w, a);
    else
        borrow(w, a);
    sum_kernels(w);
    return w;
}

void lpo_wall_steady_destroy(struct lpo_wall_steady *w)
{
    if (!w)
        return;
    if (w->any) { /* else they are the analysis's */
        lpo_vec_free(&w->top);
        lpo_vec_free(&w->cells.cells);
    }
    lpo_region_scope_destroy(w->own_all);
    lpo_wall_destroy(w->own_wall);
    free(w->prepares);
    free(w->places);
    free(w);
}
