/* SPDX-License-Identifier: Apache-2.0 */
#include "region/attribute.h"

#include <stdlib.h>

#include "region/tree.h"
#include "trace/recorded.h"
#include "util/checked.h"

/* The call may move the rows: it comes first. */
static struct lpo_visits *visits_of(struct lpo_region_tree *tree, uint32_t node, uint16_t process)
{
    uint32_t row = lpo_region_visits_of(tree, node, process);

    return &tree->visits.at[row];
}

/* The reader asks for the path of a call when it begins and may learn at its end that it is another
 * one. No region is made in which nothing ever was. */
static bool *find_used(const struct lpo_trace *t)
{
    bool *used = lpo_xcalloc(t->paths.len + 1, sizeof *used);

    for (size_t i = 0; i < t->launches.len; i++)
        used[t->launches.at[i].path] = true;
    for (size_t i = 0; i < t->captures.len; i++)
        used[t->captures.at[i].path] = true;
    for (size_t i = 0; i < t->open_paths.len; i++)
        used[t->open_paths.at[i].path + 1] = true;
    for (size_t i = t->paths.len; i; i--) {
        const struct lpo_path *p = &t->paths.at[i - 1];

        used[i] = used[i] || p->count;
        if (used[i] && p->parent != LPO_NONE)
            used[p->parent + 1] = true;
    }
    return used;
}

struct lpo_summed_paths lpo_region_summed_paths(struct lpo_region_tree *tree)
{
    const struct lpo_trace *t = tree->trace;
    struct lpo_summed_paths s = { NULL, NULL };

    s.nodes = lpo_xcalloc(t->paths.len, sizeof *s.nodes);
    s.used = find_used(t);
    tree->too_deep += t->path_losses.too_deep;
    tree->too_long += t->path_losses.too_long;
    tree->too_many += t->path_losses.too_many;
    tree->crooked += t->path_losses.crooked;
    return s;
}

static void add_path(struct lpo_region_tree *tree, const struct lpo_summed_paths *s, uint32_t row)
{
    const struct lpo_path *p = &tree->trace->paths.at[row];
    uint32_t around = p->parent == LPO_NONE ? LPO_NONE : s->nodes[p->parent];
    uint32_t node = lpo_region_node(tree, around, p->name, p->domain, LPO_PUSH_POP);
    struct lpo_visits *v;

    s->nodes[row] = node == LPO_NONE ? around : node; /* no room for one more path */
    if (node == LPO_NONE)
        tree->too_long += p->count;
    if (node == LPO_NONE || (!p->count && !p->child_ns))
        return;
    v = visits_of(tree, node, tree->trace->threads.at[p->thread].process);
    v->count += p->count;
    v->host_ns = lpo_ns_add(v->host_ns, p->host_ns);
    v->child_ns = lpo_ns_add(v->child_ns, p->child_ns);
}

void lpo_region_summed_add(struct lpo_region_tree *tree, const struct lpo_summed_paths *s,
                           uint32_t thread)
{
    struct lpo_host_rows paths = lpo_host_rows(tree->trace, thread, LPO_HOST_PATH);

    for (size_t i = 0; i < paths.len; i++)
        if (s->used[paths.at[i] + 1])
            add_path(tree, s, paths.at[i]);
}

void lpo_region_summed_close(struct lpo_region_tree *tree, const struct lpo_summed_paths *s)
{
    const struct lpo_trace *t = tree->trace;

    for (size_t i = 0; i < t->open_paths.len; i++) {
        const struct lpo_open_path *o = &t->open_paths.at[i];
        uint16_t process = t->threads.at[t->paths.at[o->path].thread].process;
        int64_t ns = lpo_trace_recorded_ns(tree->recorded, process, o->start_ns,
                                           lpo_host_process_end(t, process));
        struct lpo_visits *v;

        if (s->nodes[o->path] == LPO_NONE)
            continue;
        v = visits_of(tree, s->nodes[o->path], process);
        v->count++;
        v->host_ns = lpo_ns_add(v->host_ns, ns);
        v->open++;
        tree->open++;
        if (o->around == LPO_NONE || s->nodes[o->around] == LPO_NONE)
            continue;
        v = visits_of(tree, s->nodes[o->around], process);
        v->child_ns = lpo_ns_add(v->child_ns, ns);
    }
}

void lpo_region_summed_free(struct lpo_summed_paths *s)
{
    free(s->nodes);
    free(s->used);
    s->nodes = NULL;
    s->used = NULL;
}
