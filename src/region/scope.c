/* SPDX-License-Identifier: Apache-2.0 */
#include "region/scope.h"

#include "region/modules.h"
#include "region/select.h"
#include "util/budget.h"
#include "util/checked.h"

/* Everything known of one node while a scope is being put together. */
struct draft {
    struct lpo_region_row row;
    uint32_t first_child, next; /* siblings, in no order yet */
};

struct builder {
    struct lpo_region_scope *scope;
    const struct lpo_region_tree *tree;
    struct draft *drafts; /* one per node, then `(outside)` */
    uint32_t *rows;       /* row that a node got, or LPO_NONE */
    struct lpo_map_pair kernel_map;
    struct lpo_cell_span span;
    bool *process_in;    /* processes whose visits belong to this scope */
    size_t only_process; /* the one of them; SIZE_MAX: none, or several */
    bool short_lists;    /* a region lists only the kernels that it launched itself */
    bool sampled;        /* metrics are wanted without children, too */
};

static bool cell_in(const struct lpo_region_scope *s, const struct lpo_region_cell *c)
{
    const struct lpo_trace *t = s->cells->tree->trace;

    switch (s->id.kind) {
    case LPO_SCOPE_PROCESS:
        return c->process == s->id.index;
    case LPO_SCOPE_DEVICE:
        return c->device == s->id.index;
    case LPO_SCOPE_RANK:
        return c->process != LPO_NO_OWNER && t->processes.at[c->process].rank == s->id.index;
    default:
        return true;
    }
}

/* The cells that may be in it. */
static struct lpo_cell_span span_of(const struct lpo_region_scope *s)
{
    const struct lpo_region_cells *c = s->cells;
    const struct lpo_trace *t = c->tree->trace;
    struct lpo_cell_span span = { c->cells.len, 0 };

    if (s->id.kind == LPO_SCOPE_ALL || !c->processes)
        return (struct lpo_cell_span){ 0, c->cells.len };
    if (s->id.kind == LPO_SCOPE_DEVICE)
        return c->devices[s->id.index];
    if (s->id.kind == LPO_SCOPE_PROCESS)
        return c->processes[s->id.index];
    for (size_t p = 0; p < t->processes.len; p++)
        if (t->processes.at[p].rank == s->id.index && c->processes[p].end) {
            span.first = c->processes[p].first < span.first ? c->processes[p].first : span.first;
            span.end = c->processes[p].end > span.end ? c->processes[p].end : span.end;
        }
    return span;
}

static struct draft *draft_of(struct builder *b, uint32_t node)
{
    return &b->drafts[node == LPO_NODE_OUTSIDE ? b->tree->nodes.len : node];
}

/* A device has no ranges of its own: it gets those of the processes that used it. */
static void find_processes(struct builder *b)
{
    const struct lpo_trace *t = b->tree->trace;
    const struct lpo_region_scope *s = b->scope;

    for (size_t p = 0; p < t->processes.len; p++)
        b->process_in[p] = s->id.kind == LPO_SCOPE_ALL ||
                           (s->id.kind == LPO_SCOPE_PROCESS && (size_t)s->id.index == p) ||
                           (s->id.kind == LPO_SCOPE_RANK && t->processes.at[p].rank == s->id.index);
    if (s->id.kind != LPO_SCOPE_DEVICE)
        return;
    for (size_t i = b->span.first; i < b->span.end; i++)
        if (s->cells->cells.at[i].process != LPO_NO_OWNER && cell_in(s, &s->cells->cells.at[i]))
            b->process_in[s->cells->cells.at[i].process] = true;
}

static size_t only_process(const struct builder *b)
{
    size_t only = SIZE_MAX;

    for (size_t p = 0; p < b->tree->trace->processes.len; p++) {
        if (b->process_in[p] && only != SIZE_MAX)
            return SIZE_MAX;
        only = b->process_in[p] ? p : only;
    }
    return only;
}

static void add_first(struct lpo_region_row *row, const struct lpo_visits *v, bool *known)
{
    if (!v->count)
        return;
    if (v->first_start_ns == LPO_NO_TIME || v->open) {
        *known = false;
        return;
    }
    row->firsts++;
    row->first_host_ns = lpo_ns_add(row->first_host_ns, v->first_host_ns);
    row->first_gpu_ns += v->count > 1 ? v->first_gpu_ns : 0;
}

static void add_visits_of(struct lpo_region_row *row, const struct lpo_visits *v, bool *known)
{
    row->visits += v->count;
    row->host_ns = lpo_ns_add(row->host_ns, v->host_ns);
    row->host_self_ns = lpo_ns_add(row->host_self_ns, v->host_ns - v->child_ns);
    row->open += v->open;
    add_first(row, v, known);
}

static void add_visits(struct builder *b)
{
    const struct lpo_region_tree *tree = b->tree;

    for (uint32_t n = 0; n < tree->nodes.len; n++) {
        struct lpo_region_row *row = &b->drafts[n].row;
        bool known = true;

        if (b->only_process != SIZE_MAX) {
            const struct lpo_visits *v = lpo_region_visits_find(tree, n, (uint16_t)b->only_process);

            if (v)
                add_visits_of(row, v, &known);
        }
        for (uint32_t v = b->only_process == SIZE_MAX ? tree->nodes.at[n].visits : LPO_NONE;
             v != LPO_NONE; v = tree->visits.at[v].next)
            if (b->process_in[tree->visits.at[v].process])
                add_visits_of(row, &tree->visits.at[v], &known);
        row->firsts = known ? row->firsts : 0;
        /* a source with ranges records every visit; one with stacks alone (ncu) none */
        row->visits_known = tree->trace->ranges.len > 0 || tree->trace->paths.len > 0;
    }
}

static void add_metrics(struct builder *b, uint32_t *row, uint32_t from)
{
    const struct lpo_trace *t = b->tree->trace;
    struct lpo_region_scope *s = b->scope;
    size_t width = t->metrics.len;

    if (!width)
        return;
    if (*row == LPO_NONE) {
        *row = (uint32_t)(s->metric_sums.len / width);
        for (size_t i = 0; i < width; i++)
            lpo_vec_push(&s->metric_sums, (struct lpo_metric_sum){ 0, 0 });
    }
    for (size_t i = 0; i < width; i++)
        lpo_region_metric_merge(t->metrics.at[i].combine,
                                &s->metric_sums.at[(size_t)*row * width + i],
                                &s->cells->metric_sums.at[(size_t)from * width + i]);
}

static void add_kernel(struct builder *b, uint32_t node, const struct lpo_region_cell *c, bool self)
{
    struct lpo_region_scope *s = b->scope;
    bool fresh;
    uint32_t row;

    if (b->short_lists && !self) {
        s->kernels_left_out++;
        return;
    }
    row = lpo_map_pair_put(&b->kernel_map, node, c->name, &fresh);
    if (fresh)
        lpo_vec_push(&s->kernels, (struct lpo_kernel_row){ .node = node, .name = c->name });
    lpo_region_sum_add(&s->kernels.at[row].all, &c->sum);
    if (self)
        lpo_region_sum_add(&s->kernels.at[row].self, &c->sum);
}

/* One region's part of one cell. */
static void add_to_node(struct builder *b, uint32_t node, const struct lpo_region_cell *c,
                        bool self)
{
    struct lpo_region_row *row = &draft_of(b, node)->row;

    if (c->metrics != LPO_NONE) {
        add_metrics(b, &row->metrics, c->metrics);
        if (self && b->sampled)
            add_metrics(b, &row->metrics_self, c->metrics);
    }
    if (c->kind != LPO_KERNEL) {
        lpo_region_sum_add(&row->copies, &c->sum);
        return;
    }
    lpo_region_sum_add(&row->all, &c->sum);
    if (self)
        lpo_region_sum_add(&row->self, &c->sum);
    add_kernel(b, node, c, self);
    row->measured += c->measured;
    row->estimated += c->estimated;
}

static void add_capture(struct builder *b, const struct lpo_region_cell *c)
{
    uint32_t node;

    if (c->capture == LPO_NONE || c->kind != LPO_KERNEL)
        return;
    node = b->tree->places.at[c->capture].leaf;
    for (; node != LPO_NONE; node = b->tree->nodes.at[node].parent) {
        lpo_region_sum_add(&b->drafts[node].row.captured, &c->sum);
        if (b->sampled && c->metrics != LPO_NONE)
            add_metrics(b, &b->drafts[node].row.metrics_captured, c->metrics);
    }
}

/* Kernels alone, as in the other sums; the region and those around it. */
static void add_links(struct builder *b, const struct lpo_region_cell *c)
{
    const struct lpo_region_links *links = &b->tree->links.at[c->links];

    if (!c->links || c->kind != LPO_KERNEL)
        return;
    for (uint32_t n = links->adopted; n != LPO_NONE; n = b->tree->nodes.at[n].parent)
        lpo_region_sum_add(&b->drafts[n].row.adopted, &c->sum);
    if (links->adopted != LPO_NONE)
        lpo_region_sum_add(&b->scope->coverage.adopted, &c->sum);
    for (uint32_t n = links->forward; n != LPO_NONE; n = b->tree->nodes.at[n].parent) {
        struct lpo_region_row *row = &b->drafts[n].row;

        lpo_region_sum_add(links->recomputed ? &row->recomputed : &row->backward, &c->sum);
    }
    if (links->recomputed)
        lpo_region_sum_add(&b->scope->coverage.recomputed, &c->sum);
    else if (links->forward != LPO_NONE)
        lpo_region_sum_add(&b->scope->coverage.backward, &c->sum);
}

static void add_coverage(struct lpo_coverage *cov, const struct lpo_region_cell *c, bool inside)
{
    if (c->kind != LPO_KERNEL) {
        lpo_region_sum_add(c->kind == LPO_COPY ? &cov->copies : &cov->sets, &c->sum);
        return;
    }
    lpo_region_sum_add(&cov->total, &c->sum);
    if (inside)
        lpo_region_sum_add(&cov->in_region, &c->sum);
    else
        lpo_region_sum_add(c->no_launch ? &cov->no_launch : &cov->outside, &c->sum);
    cov->measured += c->measured;
    cov->estimated += c->estimated;
}

static void add_cell(struct builder *b, const struct lpo_region_cell *c)
{
    const struct lpo_place *place = &b->tree->places.at[c->place];
    const struct lpo_region_set *set = &b->tree->sets.at[place->set];
    uint32_t node = place->leaf;

    for (; node != LPO_NONE; node = b->tree->nodes.at[node].parent)
        add_to_node(b, node, c, node == place->leaf);
    for (uint32_t i = 0; i < set->count; i++)
        add_to_node(b, b->tree->set_nodes.at[set->first + i], c, true);
    if (place->leaf == LPO_NONE && !set->count)
        add_to_node(b, LPO_NODE_OUTSIDE, c, true);
    add_capture(b, c);
    add_links(b, c);
    add_coverage(&b->scope->coverage, c, place->leaf != LPO_NONE || set->count);
}

static int by_cost(const struct lpo_region_row *a, const struct lpo_region_row *b)
{
    if (a->all.ns != b->all.ns)
        return a->all.ns > b->all.ns ? -1 : 1;
    if (a->all.launches != b->all.launches)
        return a->all.launches > b->all.launches ? -1 : 1;
    if (a->host_ns != b->host_ns)
        return a->host_ns > b->host_ns ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

/* Start/end regions after the tree, else most expensive first; nodes are numbered in the order of
 * their first visit. */
static int by_place(const void *pa, const void *pb, void *ctx)
{
    const struct builder *b = ctx;
    const uint32_t na = *(const uint32_t *)pa, nb = *(const uint32_t *)pb;
    int kind = (b->tree->nodes.at[na].kind == LPO_START_END) -
               (b->tree->nodes.at[nb].kind == LPO_START_END);

    return kind ? kind : by_cost(&b->drafts[na].row, &b->drafts[nb].row);
}

/* Where visits are not recorded (ncu), a region is known by its kernels, selected or not. */
static bool worth_a_row(const struct builder *b, const struct lpo_region_row *row)
{
    if (!row->visits_known && b->scope->id.kind == LPO_SCOPE_ALL)
        return true;
    return row->visits || row->all.launches || row->copies.launches || row->captured.launches ||
           row->adopted.launches || row->backward.launches || row->recomputed.launches;
}

/* Children of `first`'s list in order; returns how many were put at the end of `out`. */
static size_t push_sorted(struct builder *b, uint32_t first, uint32_t **out, size_t *len,
                          size_t *cap)
{
    size_t from = *len;

    for (uint32_t n = first; n != LPO_NONE; n = b->drafts[n].next) {
        if (*len == *cap) {
            *cap = *cap ? *cap * 2 : 64;
            *out = lpo_xrealloc(*out, *cap, sizeof **out);
        }
        (*out)[(*len)++] = n;
    }
    if (*len - from > 1)
        qsort_r(*out + from, *len - from, sizeof **out, by_place, b);
    /* the stack is emptied from its end: the first child must lie on top */
    for (size_t i = from, k = *len; i + 1 < k; i++, k--) {
        uint32_t t = (*out)[i];

        (*out)[i] = (*out)[k - 1];
        (*out)[k - 1] = t;
    }
    return *len - from;
}

static void emit_row(struct builder *b, struct draft *d, uint32_t parent)
{
    d->row.parent_row = parent;
    lpo_vec_push(&b->scope->rows, d->row);
}

static void emit_rows(struct builder *b, const bool *picked)
{
    uint32_t *stack = NULL, root = LPO_NONE;
    size_t len = 0, cap = 0;

    for (uint32_t n = (uint32_t)b->tree->nodes.len; n-- > 0;) {
        uint32_t parent = b->tree->nodes.at[n].parent;
        uint32_t *head = parent == LPO_NONE ? &root : &b->drafts[parent].first_child;

        b->rows[n] = LPO_NONE;
        b->drafts[n].next = *head;
        *head = n;
    }
    push_sorted(b, root, &stack, &len, &cap);
    while (len) {
        uint32_t n = stack[--len], parent = b->tree->nodes.at[n].parent;
        uint32_t child = b->drafts[n].first_child;

        if (worth_a_row(b, &b->drafts[n].row) && (!picked || picked[n])) {
            b->rows[n] = (uint32_t)b->scope->rows.len;
            emit_row(b, &b->drafts[n], parent == LPO_NONE ? LPO_NONE : b->rows[parent]);
        }
        push_sorted(b, child, &stack, &len, &cap);
    }
    free(stack);
    if (!picked)
        emit_row(b, draft_of(b, LPO_NODE_OUTSIDE), LPO_NONE);
}

static int by_node_and_cost(const void *pa, const void *pb, void *ctx)
{
    const struct lpo_kernel_row *a = pa, *b = pb;
    const struct lpo_trace *t = ctx;

    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    if (a->all.ns != b->all.ns)
        return a->all.ns > b->all.ns ? -1 : 1;
    if (a->all.launches != b->all.launches)
        return a->all.launches > b->all.launches ? -1 : 1;
    return strcmp(lpo_trace_text(t, a->name), lpo_trace_text(t, b->name));
}

/* Every row learns where its kernels are. */
static void place_kernels(struct builder *b)
{
    struct lpo_region_scope *s = b->scope;

    if (s->kernels.len)
        qsort_r(s->kernels.at, s->kernels.len, sizeof *s->kernels.at, by_node_and_cost,
                (void *)b->tree->trace);
    for (size_t i = 0; i < s->kernels.len;) {
        size_t from = i;
        uint32_t node = s->kernels.at[i].node;
        struct lpo_region_row *row = &draft_of(b, node)->row;

        while (i < s->kernels.len && s->kernels.at[i].node == node)
            i++;
        row->kernels = (uint32_t)from;
        row->nkernels = (uint32_t)(i - from);
    }
}

/* A hundred thousand kernels below 250 nested ranges would be listed 250 times each. */
static bool too_many_kernel_rows(const struct lpo_region_scope *s, struct lpo_cell_span span)
{
    const struct lpo_region_tree *tree = s->cells->tree;
    uint64_t rows = 0;

    for (size_t i = span.first; i < span.end; i++) {
        uint32_t leaf = tree->places.at[s->cells->cells.at[i].place].leaf;

        if (leaf != LPO_NONE && cell_in(s, &s->cells->cells.at[i]))
            rows += tree->nodes.at[leaf].depth;
    }
    return rows > lpo_budget()->kernel_rows;
}

struct lpo_region_scope *lpo_region_scope_create(const struct lpo_region_cells *cells,
                                                 struct lpo_scope_id id,
                                                 struct lpo_region_selection *select)
{
    struct lpo_region_scope *s = lpo_xcalloc(1, sizeof *s);
    size_t n = cells->tree->nodes.len;
    struct builder b = { .scope = s, .tree = cells->tree };
    LPO_FREED bool *picked = lpo_region_selection_regions(select, cells->tree);

    s->id = id;
    s->cells = cells;
    b.span = span_of(s);
    b.drafts = lpo_xcalloc(n + 1, sizeof *b.drafts);
    b.rows = lpo_xcalloc(n + 1, sizeof *b.rows);
    b.process_in = lpo_xcalloc(cells->tree->trace->processes.len + 1, sizeof *b.process_in);
    for (uint32_t i = 0; i <= n; i++) {
        b.drafts[i].row.node = i < n ? i : LPO_NODE_OUTSIDE;
        b.drafts[i].row.metrics = b.drafts[i].row.metrics_self = LPO_NONE;
        b.drafts[i].row.metrics_captured = b.drafts[i].first_child = LPO_NONE;
    }
    for (size_t i = 0; i < cells->tree->trace->metrics.len; i++)
        b.sampled |= cells->tree->trace->metrics.at[i].sampled;
    find_processes(&b);
    b.only_process = only_process(&b);
    add_visits(&b);
    b.short_lists = too_many_kernel_rows(s, b.span);
    for (size_t i = b.span.first; i < b.span.end; i++)
        if (cell_in(s, &cells->cells.at[i]))
            add_cell(&b, &cells->cells.at[i]);
    place_kernels(&b);
    emit_rows(&b, picked);
    free(b.drafts);
    free(b.rows);
    free(b.process_in);
    lpo_map_pair_free(&b.kernel_map);
    return s;
}

bool lpo_region_scope_is_all(const struct lpo_region_cells *cells, struct lpo_scope_id id)
{
    const struct lpo_trace *t = cells->tree->trace;
    const struct lpo_region_scope s = { .id = id, .cells = cells };

    if (t->processes.len != 1 || (id.kind == LPO_SCOPE_DEVICE && !cells->cells.len) ||
        (cells->tree->nodes.len && !t->ranges.len && !t->paths.len)) /* see worth_a_row() */
        return false;
    if (id.kind == LPO_SCOPE_RANK && t->processes.at[0].rank != id.index)
        return false;
    return !lpo_any(i, cells->cells.len,
                    !cell_in(&s, &cells->cells.at[i]) ||
                        cells->cells.at[i].process == LPO_NO_OWNER);
}

struct lpo_region_scope *lpo_region_scope_alias(const struct lpo_region_scope *all,
                                                struct lpo_scope_id id)
{
    struct lpo_region_scope *s = lpo_xmalloc(sizeof *s);

    *s = *all;
    s->id = id;
    s->borrowed = true;
    return s;
}

void lpo_region_scope_destroy(struct lpo_region_scope *s)
{
    if (!s)
        return;
    if (!s->borrowed) {
        lpo_vec_free(&s->rows);
        lpo_vec_free(&s->kernels);
        lpo_vec_free(&s->metric_sums);
    }
    free(s);
}

/* --- what a row says -----------------------------------------------------------------------------
 */

/* What the row of a region says: its path, kind and source line; first calls beside later ones. */

void lpo_region_row_add_path(const struct lpo_region_scope *s, const struct lpo_region_row *row,
                             struct lpo_str *out)
{
    if (row->node == LPO_NODE_OUTSIDE)
        lpo_str_add(out, "(outside)");
    else
        lpo_region_add_path(s->cells->tree, row->node, out);
}

const char *lpo_region_row_kind(const struct lpo_region_scope *s, const struct lpo_region_row *row)
{
    static const char *const kinds[] = { [LPO_PUSH_POP] = "push_pop",
                                         [LPO_START_END] = "start_end",
                                         [LPO_MODULE] = "module",
                                         [LPO_PYTHON] = "python" };

    if (row->node == LPO_NODE_OUTSIDE)
        return "outside";
    return kinds[s->cells->tree->nodes.at[row->node].kind];
}

const char *lpo_region_row_source(const struct lpo_region_scope *s,
                                  const struct lpo_region_row *row)
{
    const struct lpo_region_tree *tree = s->cells->tree;
    uint32_t name = row->node == LPO_NODE_OUTSIDE ? LPO_NONE : tree->nodes.at[row->node].name;

    if (!tree->modules || name >= tree->modules->ncode ||
        tree->nodes.at[row->node].kind < LPO_MODULE || tree->modules->code[name] == LPO_NONE)
        return NULL;
    return lpo_trace_text(tree->trace, tree->modules->code[name]);
}

unsigned lpo_region_row_depth(const struct lpo_region_scope *s, const struct lpo_region_row *row)
{
    return row->node == LPO_NODE_OUTSIDE ? 0 : s->cells->tree->nodes.at[row->node].depth;
}

enum { LEAST_LATER = 1 };

/* Twice as long, and enough to change the mean. */
static bool is_unlike(int64_t first_ns, int64_t later_ns, uint64_t firsts, int64_t all_ns)
{
    return first_ns / 2 >= later_ns && first_ns > later_ns &&
           (double)(first_ns - later_ns) * (double)firsts * 20 >= (double)all_ns;
}

bool lpo_region_row_calls(const struct lpo_region_scope *s, const struct lpo_region_row *row,
                          struct lpo_region_calls *out)
{
    uint64_t later = row->visits - row->firsts;

    if (!row->visits_known || !row->firsts || row->visits < row->firsts + LEAST_LATER)
        return false;
    *out = (struct lpo_region_calls){
        .first_host_ns = row->first_host_ns / (int64_t)row->firsts,
        .later_host_ns = (row->host_ns - row->first_host_ns) / (int64_t)later,
        .first_gpu_ns = LPO_NO_TIME,
        .later_gpu_ns = LPO_NO_TIME,
    };
    out->differ = is_unlike(out->first_host_ns, out->later_host_ns, row->firsts, row->host_ns);
    /* the first visits were summed over all devices and all kernels of their processes */
    if ((s->id.kind == LPO_SCOPE_DEVICE && s->cells->tree->trace->devices.len > 1) ||
        s->cells->left_out || row->all.unknown || !row->all.launches)
        return true;
    out->first_gpu_ns = row->first_gpu_ns / (int64_t)row->firsts;
    out->later_gpu_ns = (row->all.ns - row->first_gpu_ns) / (int64_t)later;
    out->differ |= is_unlike(out->first_gpu_ns, out->later_gpu_ns, row->firsts, row->all.ns);
    return true;
}

/* --- which scopes there are ----------------------------------------------------------------------
 */

/* Which scopes a trace has, and their names. */

static void add_rank(lpo_scope_ids *out, size_t from, int32_t rank)
{
    for (size_t i = from; i < out->len; i++)
        if (out->at[i].index == rank)
            return;
    lpo_vec_push(out, (struct lpo_scope_id){ LPO_SCOPE_RANK, rank });
}

/* The number people know a scope by, then its rank. */
static int by_number(const void *pa, const void *pb, void *trace)
{
    const struct lpo_trace *t = trace;
    const struct lpo_scope_id *a = pa, *b = pb;
    int64_t na = a->index, nb = b->index, ra = 0, rb = 0;

    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->kind == LPO_SCOPE_PROCESS) {
        na = t->processes.at[a->index].pid, nb = t->processes.at[b->index].pid;
        ra = t->processes.at[a->index].rank, rb = t->processes.at[b->index].rank;
    } else if (a->kind == LPO_SCOPE_DEVICE) {
        na = t->devices.at[a->index].id, nb = t->devices.at[b->index].id;
        ra = t->devices.at[a->index].rank, rb = t->devices.at[b->index].rank;
    }
    if (na != nb)
        return na < nb ? -1 : 1;
    return ra < rb ? -1 : ra > rb;
}

/* Processes and devices that only appear in a header are no scopes. */
void lpo_region_scopes_list(const struct lpo_region_cells *cells, lpo_scope_ids *out)
{
    const struct lpo_region_tree *tree = cells->tree;
    const struct lpo_trace *t = tree->trace;
    LPO_FREED bool *processes = lpo_xcalloc(t->processes.len + 1, sizeof *processes);
    LPO_FREED bool *devices = lpo_xcalloc(t->devices.len + 1, sizeof *devices);
    size_t from;

    for (size_t i = 0; i < cells->cells.len; i++) {
        if (cells->cells.at[i].process == LPO_NO_OWNER)
            continue;
        processes[cells->cells.at[i].process] = true;
        devices[cells->cells.at[i].device] = true;
    }
    for (size_t i = 0; i < tree->visits.len; i++)
        processes[tree->visits.at[i].process] = true;
    lpo_vec_push(out, (struct lpo_scope_id){ LPO_SCOPE_ALL, 0 });
    for (size_t i = 0; i < t->processes.len; i++)
        if (processes[i])
            lpo_vec_push(out, (struct lpo_scope_id){ LPO_SCOPE_PROCESS, (int32_t)i });
    for (size_t i = 0; i < t->devices.len; i++)
        if (devices[i])
            lpo_vec_push(out, (struct lpo_scope_id){ LPO_SCOPE_DEVICE, (int32_t)i });
    from = out->len;
    for (size_t i = 0; i < t->processes.len; i++)
        if (processes[i] && t->processes.at[i].rank >= 0)
            add_rank(out, from, t->processes.at[i].rank);
    qsort_r(out->at, out->len, sizeof *out->at, by_number, (void *)(uintptr_t)t);
    if (out->len > lpo_budget()->scopes) /* each costs a pass over the whole tree */
        out->len = (size_t)lpo_budget()->scopes;
}

/* Two hosts may both have a process 1 or a device 0: then the rank keeps them apart. */
void lpo_region_scope_add_name(const struct lpo_trace *t, struct lpo_scope_id id,
                               struct lpo_str *out)
{
    int32_t rank = -1;
    bool twice = false;

    if (id.kind == LPO_SCOPE_ALL) {
        lpo_str_add(out, "aggregate");
        return;
    }
    if (id.kind == LPO_SCOPE_RANK) {
        lpo_str_addf(out, "rank:%d", id.index);
        return;
    }
    if (id.kind == LPO_SCOPE_PROCESS) {
        rank = t->processes.at[id.index].rank;
        lpo_str_addf(out, "process:%lld", (long long)t->processes.at[id.index].pid);
        for (size_t i = 0; i < t->processes.len; i++)
            twice |=
                (int32_t)i != id.index && t->processes.at[i].pid == t->processes.at[id.index].pid;
    } else {
        rank = t->devices.at[id.index].rank;
        lpo_str_addf(out, "device:%d", t->devices.at[id.index].id);
        for (size_t i = 0; i < t->devices.len; i++)
            twice |= (int32_t)i != id.index && t->devices.at[i].id == t->devices.at[id.index].id;
    }
    if (twice && rank >= 0)
        lpo_str_addf(out, "@rank:%d", rank);
}
