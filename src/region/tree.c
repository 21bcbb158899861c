/* SPDX-License-Identifier: Apache-2.0 */
#include "region/tree.h"

#include "region/links.h"
#include "trace/host.h"
#include "trace/recorded.h"
#include "util/budget.h"
#include "util/checked.h"

/* --- first visits, apart from later ones ---------------------------------------------------------
 */

/* The first visit of each region, apart from the later ones. */

void lpo_region_count_visit(struct lpo_region_tree *tree, uint32_t row, const struct lpo_slice *s)
{
    struct lpo_visits *v = &tree->visits.at[row];
    int64_t ns = lpo_trace_recorded_ns(tree->recorded, v->process, s->start_ns, s->end_ns);

    v->count++;
    v->host_ns = lpo_ns_add(v->host_ns, ns);
    if (v->first_start_ns == LPO_NO_TIME || v->first_start_ns > s->start_ns) {
        v->first_start_ns = s->start_ns;
        v->first_end_ns = s->end_ns;
        v->first_host_ns = ns;
        v->first_thread = s->thread;
    }
    if (s->kind & (LPO_HOST_RANGE | LPO_HOST_START_END) &&
        tree->trace->ranges.at[s->row].flags & LPO_RANGE_OPEN) {
        v->open++;
        tree->open++;
    }
}

/* The row of visits whose first one holds this launch; NULL: a later one does. */
static struct lpo_visits *first_with(const struct lpo_region_tree *tree, uint32_t node,
                                     const struct lpo_launch *l)
{
    struct lpo_visits *v =
        lpo_region_visits_find(tree, node, tree->trace->threads.at[l->thread].process);
    bool any_thread = tree->nodes.at[node].kind == LPO_START_END;

    if (v && v->count > 1 && v->first_start_ns != LPO_NO_TIME && l->start_ns >= v->first_start_ns &&
        l->end_ns <= v->first_end_ns && (any_thread || l->thread == v->first_thread))
        return v;
    return NULL;
}

static void add(struct lpo_region_tree *tree, uint32_t node, const struct lpo_launch *l, int64_t ns)
{
    struct lpo_visits *v = first_with(tree, node, l);

    if (v)
        v->first_gpu_ns += ns;
}

bool lpo_region_in_first_visit(const struct lpo_region_tree *tree, uint32_t node,
                               const struct lpo_launch *l)
{
    return l->end_ns <= tree->last_firsts[tree->trace->threads.at[l->thread].process] &&
           first_with(tree, node, l);
}

/* Most launches come after every first visit of what is visited again: they are not looked up. */
static int64_t *last_firsts(const struct lpo_region_tree *tree)
{
    int64_t *last = lpo_xcalloc(tree->trace->processes.len + 1, sizeof *last);

    for (size_t i = 0; i < tree->trace->processes.len; i++)
        last[i] = INT64_MIN;
    for (size_t i = 0; i < tree->visits.len; i++) {
        const struct lpo_visits *v = &tree->visits.at[i];

        if (v->count > 1 && v->first_start_ns != LPO_NO_TIME && v->first_end_ns > last[v->process])
            last[v->process] = v->first_end_ns;
    }
    return last;
}

/* After all visits: the GPU time of the first ones. */
static void first_visits_sum(struct lpo_region_tree *tree)
{
    const struct lpo_trace *t = tree->trace;
    int64_t *last = tree->last_firsts = last_firsts(tree);

    for (size_t i = 0; i < t->gpu_ops.len; i++) {
        const struct lpo_gpu_op *op = &t->gpu_ops.at[i];
        const struct lpo_launch *l = op->launch == LPO_NONE ? NULL : &t->launches.at[op->launch];
        const struct lpo_place *place;
        const struct lpo_region_set *set;

        if (!l || op->kind != LPO_KERNEL || l->end_ns > last[t->threads.at[l->thread].process])
            continue;
        place = &tree->places.at[lpo_region_place(tree, op)];
        set = &tree->sets.at[place->set];
        for (uint32_t n = place->leaf; n != LPO_NONE; n = tree->nodes.at[n].parent)
            add(tree, n, l, lpo_trace_gpu_op_ns(op));
        for (uint32_t k = 0; k < set->count; k++)
            add(tree, tree->set_nodes.at[set->first + k], l, lpo_trace_gpu_op_ns(op));
    }
}

/* --- the tree ------------------------------------------------------------------------------------
 */

static bool is_called(const struct lpo_region *r, uint32_t name, uint16_t domain, uint8_t kind)
{
    return r->name == name && r->domain == domain && r->kind == kind;
}

/* LPO_NONE: paths would take more than they may. */
static uint32_t add_node(struct lpo_region_tree *tree, uint32_t parent, uint32_t name,
                         uint16_t domain, uint8_t kind)
{
    const struct lpo_region *above = parent == LPO_NONE ? NULL : &tree->nodes.at[parent];
    uint64_t len = (above ? above->path_bytes + 1 : 0) + lpo_trace_text_len(tree->trace, name);
    uint16_t depth = above ? (uint16_t)(above->depth + 1) : 0;
    bool fresh;

    /* names stand in the file, so those at the top cost no more than the file itself */
    if (above && tree->path_bytes + len > lpo_budget()->path_bytes)
        return LPO_NONE;
    tree->path_bytes += len;
    lpo_vec_push(&tree->nodes,
                 (struct lpo_region){ .parent = parent,
                                      .name = name,
                                      .visits = LPO_NONE,
                                      .domain = domain,
                                      .depth = depth,
                                      .path_bytes = len < UINT32_MAX ? (uint32_t)len : UINT32_MAX,
                                      .kind = kind });
    return lpo_map_pair_put(&tree->node_map, (uint64_t)parent << 32 | name,
                            (uint64_t)domain << 8 | kind, &fresh);
}

uint32_t lpo_region_node(struct lpo_region_tree *tree, uint32_t parent, uint32_t name,
                         uint16_t domain, uint8_t kind)
{
    const struct lpo_region *above = parent == LPO_NONE ? NULL : &tree->nodes.at[parent];
    const uint64_t first = (uint64_t)parent << 32 | name, second = (uint64_t)domain << 8 | kind;
    uint32_t row = above ? above->last_child : tree->last_top;

    /* each range comes here: most are of the same name as the one before in their parent */
    if (row && is_called(&tree->nodes.at[row - 1], name, domain, kind))
        return row - 1;
    row = lpo_map_pair_find(&tree->node_map, first, second);
    if (row == LPO_NONE)
        row = add_node(tree, parent, name, domain, kind);
    if (row != LPO_NONE)
        *(parent == LPO_NONE ? &tree->last_top : &tree->nodes.at[parent].last_child) = row + 1;
    return row;
}

uint32_t lpo_region_node_find(const struct lpo_region_tree *tree, uint32_t parent, uint32_t name,
                              uint16_t domain, uint8_t kind)
{
    return lpo_map_pair_find(&tree->node_map, (uint64_t)parent << 32 | name,
                             (uint64_t)domain << 8 | kind);
}

uint32_t lpo_region_place_of(struct lpo_region_tree *tree, uint32_t leaf, uint32_t set)
{
    bool fresh;
    uint32_t row = lpo_map_pair_put(&tree->place_map, leaf, set, &fresh);

    if (fresh)
        lpo_vec_push(&tree->places, (struct lpo_place){ leaf, set });
    return row;
}

uint32_t lpo_region_set_of(struct lpo_region_tree *tree, const uint32_t *nodes, size_t count)
{
    bool fresh;
    uint64_t *slot = lpo_map_put(tree->set_map, (const char *)nodes, count * sizeof *nodes, &fresh);

    if (fresh) {
        *slot = tree->sets.len;
        lpo_vec_push(&tree->sets,
                     (struct lpo_region_set){ (uint32_t)tree->set_nodes.len, (uint32_t)count });
        for (size_t i = 0; i < count; i++)
            lpo_vec_push(&tree->set_nodes, nodes[i]);
    }
    return (uint32_t)*slot;
}

static uint64_t visit_key(uint32_t node, uint16_t process)
{
    return (uint64_t)node << 16 | process;
}

/* Rows of one node form a list; the sweep goes process by process, so the first often fits. With
 * sixty thousand processes walking the list would take minutes, so the rows of a node that several
 * processes entered are in a table too. Most nodes have one row and need none. */
uint32_t lpo_region_visits_of(struct lpo_region_tree *tree, uint32_t node, uint16_t process)
{
    uint32_t first = tree->nodes.at[node].visits, *row = NULL;
    bool fresh = true;

    if (first != LPO_NONE) {
        const struct lpo_visits *v = &tree->visits.at[first];

        if (v->process == process)
            return first;
        if (v->next == LPO_NONE)
            *lpo_map_u64_put(tree->visit_map, visit_key(node, v->process), NULL) = first;
        row = lpo_map_u64_put(tree->visit_map, visit_key(node, process), &fresh);
        if (!fresh)
            return *row;
        *row = (uint32_t)tree->visits.len;
    }
    lpo_vec_push(&tree->visits, ((struct lpo_visits){ .next = first,
                                                      .process = process,
                                                      .first_start_ns = LPO_NO_TIME,
                                                      .first_thread = LPO_NONE }));
    return tree->nodes.at[node].visits = (uint32_t)tree->visits.len - 1;
}

struct lpo_visits *lpo_region_visits_find(const struct lpo_region_tree *tree, uint32_t node,
                                          uint16_t process)
{
    uint32_t first = tree->nodes.at[node].visits;
    const uint32_t *row;

    if (first == LPO_NONE || tree->visits.at[first].process == process)
        return first == LPO_NONE ? NULL : &tree->visits.at[first];
    if (tree->visits.at[first].next == LPO_NONE)
        return NULL;
    row = lpo_map_u64_find(tree->visit_map, visit_key(node, process));
    return row ? &tree->visits.at[*row] : NULL;
}

/* Where the name of a kernel says nothing, that of the operator which launched it may: of its first
 * launch. The rules read both. */
static void find_classes(struct lpo_region_tree *tree)
{
    const struct lpo_trace *t = tree->trace;
    struct lpo_slice op;

    memset(tree->classes, 0, tree->nclasses);
    for (size_t i = 0; t->ops.len && i < t->gpu_ops.len; i++) {
        const struct lpo_gpu_op *k = &t->gpu_ops.at[i];
        enum lpo_region_kernel_class class = LPO_CLASS_OTHER;

        if (k->kind != LPO_KERNEL || k->launch == LPO_NONE || k->name >= tree->nclasses ||
            tree->classes[k->name] || lpo_region_tree_class(tree, k->name) != LPO_CLASS_OTHER)
            continue;
        if (lpo_host_around(t, k->launch, LPO_HOST_OP, &op))
            class = lpo_region_kernel_class(lpo_trace_text(t, op.name));
        tree->classes[k->name] = (unsigned char)(1 + class);
    }
}

struct lpo_region_tree *lpo_region_tree_create(const struct lpo_trace *trace)
{
    return lpo_region_tree_create_with(trace, NULL);
}

struct lpo_region_tree *lpo_region_tree_create_with(const struct lpo_trace *trace,
                                                    const struct lpo_region_modules *modules)
{
    struct lpo_region_tree *tree = lpo_xcalloc(1, sizeof *tree);

    tree->trace = trace;
    tree->modules = modules;
    tree->recorded = lpo_trace_recorded_create(trace);
    tree->set_map = lpo_map_create();
    tree->visit_map = lpo_map_u64_create(0);
    tree->nclasses = lpo_trace_name_count(trace);
    tree->classes = lpo_xcalloc(tree->nclasses + 1, 1);
    find_classes(tree);
    lpo_region_set_of(tree, &(uint32_t){ 0 }, 0);
    lpo_region_place_of(tree, LPO_NONE, 0);
    lpo_region_attribute(tree);
    first_visits_sum(tree);
    return tree;
}

void lpo_region_tree_destroy(struct lpo_region_tree *tree)
{
    if (!tree)
        return;
    lpo_trace_recorded_destroy(tree->recorded);
    lpo_vec_free(&tree->nodes);
    lpo_vec_free(&tree->visits);
    lpo_vec_free(&tree->places);
    lpo_vec_free(&tree->sets);
    lpo_vec_free(&tree->set_nodes);
    free(tree->launch_place);
    free(tree->capture_place);
    free(tree->stack_place);
    free(tree->last_firsts);
    free(tree->launch_links);
    lpo_vec_free(&tree->links);
    free(tree->classes);
    lpo_map_pair_free(&tree->node_map);
    lpo_map_pair_free(&tree->place_map);
    lpo_map_pair_free(&tree->link_map);
    lpo_map_u64_destroy(tree->visit_map);
    lpo_map_destroy(tree->set_map);
    free(tree);
}

uint32_t lpo_region_place(const struct lpo_region_tree *tree, const struct lpo_gpu_op *gpu_op)
{
    if (gpu_op->stack != LPO_NONE)
        return tree->stack_place[gpu_op->stack];
    if (gpu_op->launch == LPO_NONE)
        return 0;
    return tree->launch_place[gpu_op->launch];
}

uint32_t lpo_region_links_of(const struct lpo_region_tree *tree, const struct lpo_gpu_op *gpu_op)
{
    if (!tree->launch_links || gpu_op->stack != LPO_NONE || gpu_op->launch == LPO_NONE)
        return 0;
    return tree->launch_links[gpu_op->launch];
}

void lpo_region_tree_use(struct lpo_region_tree *tree, const struct lpo_region_own_rules *rules)
{
    tree->own_rules = rules;
    find_classes(tree);
}

enum lpo_region_kernel_class lpo_region_tree_class(const struct lpo_region_tree *tree,
                                                   uint32_t name)
{
    const char *text = lpo_trace_text(tree->trace, name);

    if (name >= tree->nclasses)
        return lpo_region_class_by(tree->own_rules, text);
    if (!tree->classes[name])
        tree->classes[name] = (unsigned char)(1 + lpo_region_class_by(tree->own_rules, text));
    return (enum lpo_region_kernel_class)(tree->classes[name] - 1);
}

void lpo_region_tree_look_up_classes(const struct lpo_region_tree *tree)
{
    for (size_t i = 0; i < tree->trace->gpu_ops.len; i++)
        lpo_region_tree_class(tree, tree->trace->gpu_ops.at[i].name);
}

void lpo_region_add_name(const struct lpo_region_tree *tree, uint32_t node, struct lpo_str *out)
{
    const struct lpo_region *n = &tree->nodes.at[node];
    const char *text = lpo_trace_text(tree->trace, n->name);
    size_t len = lpo_trace_text_len(tree->trace, n->name);
    size_t done = n->kind == LPO_MODULE ? strlen(LPO_MODULE_PREFIX) : 0;

    if (n->domain) {
        lpo_str_add(out, lpo_trace_text(tree->trace, tree->trace->domains.at[n->domain]));
        lpo_str_addc(out, '@');
    }
    while (done < len) {
        const char *slash = memchr(text + done, '/', len - done);
        size_t part = slash ? (size_t)(slash - text) - done : len - done;

        lpo_str_addn(out, text + done, part);
        done += part;
        if (slash) {
            lpo_str_add(out, "\\/");
            done++;
        }
    }
}

void lpo_region_add_path(const struct lpo_region_tree *tree, uint32_t node, struct lpo_str *out)
{
    uint32_t chain[LPO_REGION_DEPTH];
    size_t n = 0;

    for (; node != LPO_NONE && n < LPO_REGION_DEPTH; node = tree->nodes.at[node].parent)
        chain[n++] = node;
    while (n--) {
        lpo_region_add_name(tree, chain[n], out);
        if (n)
            lpo_str_addc(out, '/');
    }
}
