/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/steps/steps.h"

#include "analysis/wall/order.h"
#include "region/tree.h"
#include "trace/host.h"

enum { FEWEST_TO_JUDGE = 5 };

/* Length of the union of intervals that come in order of their starts. */
struct cover {
    int64_t end, ns; /* end begins as INT64_MIN */
};

static void cover_add(struct cover *c, const struct lpo_gpu_op *w)
{
    if (w->end_ns > c->end) {
        c->ns += w->end_ns - (w->start_ns > c->end ? w->start_ns : c->end);
        c->end = w->end_ns;
    }
}

/* The work of one step on one GPU. Each cover holds the one before it and more. */
struct part {
    uint32_t step;
    uint16_t device;
    int64_t start_ns, end_ns;
    struct cover compute, with_communication, all;
    uint64_t operations, graph_operations;
};

struct build {
    const struct lpo_region_tree *tree;
    const struct lpo_trace *t;
    struct lpo_program_steps *out;
    struct lpo_map_pair part_rows;
    LPO_VEC(struct part) parts;
};

LPO_COMPARE(by_time, struct lpo_program_step, LPO_UP(process) ?: LPO_UP(start_ns) ?: LPO_DOWN(host_ns));

/* Names are few, ranges are many: each name is read once. -1: no step. */
static int *read_names(const struct lpo_trace *t, struct lpo_step_facts *facts, int *family)
{
    size_t count = lpo_trace_name_count(t);
    int *family_of = lpo_xmalloc((count + 1) * sizeof *family_of);
    uint64_t seen[LPO_STEP_FAMILIES] = { 0 };

    for (size_t i = 0; i < count; i++) {
        family_of[i] = -1;
        lpo_steps_read_name(lpo_trace_text(t, (uint32_t)i), &family_of[i], &facts[i]);
    }
    for (size_t i = 0; i < t->ranges.len; i++)
        if (family_of[t->ranges.at[i].name] >= 0)
            seen[family_of[t->ranges.at[i].name]]++;
    *family = 0;
    while (*family < LPO_STEP_FAMILIES && !seen[*family])
        (*family)++;
    return family_of;
}

/* A step inside a step (one range in another of the same name) is not one of its own. */
static void drop_nested(struct lpo_program_steps *s)
{
    size_t kept = 0;

    for (size_t i = 0; i < s->rows.len; i++) {
        const struct lpo_program_step *x = &s->rows.at[i],
                                      *last = kept ? &s->rows.at[kept - 1] : NULL;

        if (last && last->process == x->process && x->start_ns < last->start_ns + last->host_ns)
            continue;
        s->rows.at[kept++] = *x;
    }
    s->rows.len = kept;
}

static void find_steps(struct build *b)
{
    const struct lpo_trace *t = b->t;
    struct lpo_step_facts *facts = lpo_xcalloc(lpo_trace_name_count(t) + 1, sizeof *facts);
    int family;
    int *family_of = read_names(t, facts, &family);

    for (size_t i = 0; family < LPO_STEP_FAMILIES && i < t->ranges.len; i++) {
        const struct lpo_range *r = &t->ranges.at[i];

        if (family_of[r->name] == family)
            lpo_vec_push(&b->out->rows, (struct lpo_program_step){
                                            .name = r->name,
                                            .range = (uint32_t)i,
                                            .process = t->threads.at[r->thread].process,
                                            .device = UINT16_MAX,
                                            .facts = facts[r->name],
                                            .start_ns = r->start_ns,
                                            .host_ns = lpo_host_range_end(t, r) - r->start_ns });
    }
    free(family_of);
    free(facts);
    if (!b->out->rows.len)
        return;
    b->out->family = lpo_steps_family_name(family);
    lpo_vec_sort(&b->out->rows, by_time);
    drop_nested(b->out);
    for (size_t i = 0; i < b->out->rows.len; i++) {
        struct lpo_program_step *x = &b->out->rows.at[i];
        const struct lpo_program_step *next = i + 1 < b->out->rows.len ? x + 1 : NULL;

        x->wall_ns =
            next && next->process == x->process ? next->start_ns - x->start_ns : x->host_ns;
    }
}

/* The step in which a process was at a moment; LPO_NONE: none. */
static uint32_t step_at(const struct lpo_program_steps *s, uint16_t process, int64_t ns)
{
    size_t low = 0, high = s->rows.len;

    lpo_search(low, high, i,
               s->rows.at[i].process < process ||
                   (s->rows.at[i].process == process && s->rows.at[i].start_ns <= ns));
    if (low == 0 || s->rows.at[low - 1].process != process ||
        ns > s->rows.at[low - 1].start_ns + s->rows.at[low - 1].host_ns)
        return LPO_NONE;
    return (uint32_t)(low - 1);
}

static struct part *part_of(struct build *b, uint32_t step, const struct lpo_gpu_op *w)
{
    bool fresh;
    uint32_t row = lpo_map_pair_put(&b->part_rows, step, w->device, &fresh);

    if (fresh)
        lpo_vec_push(&b->parts, (struct part){ .step = step,
                                               .device = w->device,
                                               .start_ns = w->start_ns,
                                               .end_ns = w->end_ns,
                                               .compute.end = INT64_MIN,
                                               .with_communication.end = INT64_MIN,
                                               .all.end = INT64_MIN });
    return &b->parts.at[row];
}

static void share_operations(struct build *b)
{
    const struct lpo_trace *t = b->t;
    struct lpo_wall_order order = lpo_wall_order_find(t);

    for (size_t i = 0; i < order.count; i++) {
        const struct lpo_gpu_op *w = &t->gpu_ops.at[order.rows[i]];
        bool kernel = w->kind == LPO_KERNEL, talks;
        const struct lpo_launch *l;
        struct part *p;
        uint32_t step;

        if (w->launch == LPO_NONE)
            continue;
        l = &t->launches.at[w->launch];
        step = step_at(b->out, t->threads.at[l->thread].process, l->start_ns);
        if (step == LPO_NONE)
            continue;
        p = part_of(b, step, w);
        talks = kernel && lpo_region_tree_class(b->tree, w->name) == LPO_CLASS_COLLECTIVE;
        if (kernel && !talks)
            cover_add(&p->compute, w);
        if (kernel)
            cover_add(&p->with_communication, w);
        cover_add(&p->all, w);
        if (w->end_ns > p->end_ns)
            p->end_ns = w->end_ns;
        p->operations++;
        p->graph_operations += (w->flags & LPO_GPU_OP_GRAPH) != 0;
    }
    lpo_wall_order_free(&order);
}

/* Of the GPUs of a step, the one where it took longest. */
static void take_parts(struct build *b)
{
    for (size_t i = 0; i < b->parts.len; i++) {
        const struct part *p = &b->parts.at[i];
        struct lpo_program_step *x = &b->out->rows.at[p->step];

        x->last_ns = !x->operations || p->end_ns > x->last_ns ? p->end_ns : x->last_ns;
        x->operations += p->operations;
        x->graph_operations += p->graph_operations;
        if (x->device != UINT16_MAX && x->gpu_ns >= p->end_ns - p->start_ns)
            continue;
        x->device = p->device;
        x->gpu_ns = p->end_ns - p->start_ns;
        x->gpu_start_ns = p->start_ns;
        x->compute_ns = p->compute.ns;
        x->exposed_communication_ns = p->with_communication.ns - p->compute.ns;
        x->exposed_copy_ns = p->all.ns - p->with_communication.ns;
        x->idle_ns = x->gpu_ns - p->all.ns;
    }
}

/* Sorts them. */
static int64_t median(int64_t *values, size_t count)
{
    lpo_order_sort_ns(values, count);
    return count % 2 ? values[count / 2]
                     : values[count / 2 - 1] + (values[count / 2] - values[count / 2 - 1]) / 2;
}

struct figure {
    size_t step, group; /* offsets of the same figure in both */
};

#define FIGURE(member)                                                                             \
    {                                                                                              \
        offsetof(struct lpo_program_step, member), offsetof(struct lpo_step_group, member)         \
    }

static const struct figure figures[] = {
    FIGURE(wall_ns),         FIGURE(gpu_ns),  FIGURE(compute_ns), FIGURE(exposed_communication_ns),
    FIGURE(exposed_copy_ns), FIGURE(idle_ns),
};

/* More than a half above the median and further from it than five times what is usual. */
static bool far_above(int64_t ns, int64_t middle, int64_t usual)
{
    return ns > middle + middle / 2 && (ns - middle) / 5 > usual;
}

static void judge(struct lpo_program_steps *s, struct lpo_step_group *g, const uint32_t *members,
                  int64_t *room)
{
    int64_t usual;

    for (size_t f = 0; f < sizeof figures / sizeof *figures; f++) {
        for (size_t i = 0; i < g->count; i++)
            memcpy(&room[i], (const char *)&s->rows.at[members[i]] + figures[f].step, sizeof *room);
        *(int64_t *)(void *)((char *)g + figures[f].group) = median(room, g->count);
    }
    for (size_t i = 0; i < g->count; i++)
        room[i] = llabs(s->rows.at[members[i]].wall_ns - g->wall_ns);
    usual = median(room, g->count);
    for (size_t i = 0; i < g->count; i++) {
        struct lpo_program_step *x = &s->rows.at[members[i]];

        x->slow = g->count >= FEWEST_TO_JUDGE && far_above(x->wall_ns, g->wall_ns, usual);
        g->slow += x->slow;
        g->min_ns = i == 0 || x->wall_ns < g->min_ns ? x->wall_ns : g->min_ns;
        g->max_ns = i == 0 || x->wall_ns > g->max_ns ? x->wall_ns : g->max_ns;
        g->operations += x->operations;
        g->graph_operations += x->graph_operations;
        g->tokens = i == 0 || (g->tokens >= 0 && x->facts.tokens >= 0)
                        ? (i ? g->tokens : 0) + x->facts.tokens
                        : -1;
    }
}

static int by_total(const void *a, const void *b)
{
    const struct lpo_step_group *x = a, *y = b;
    double p = (double)x->wall_ns * (double)x->count, q = (double)y->wall_ns * (double)y->count;

    if (p != q)
        return p < q ? 1 : -1;
    return x->kind != y->kind ? (int)x->kind - (int)y->kind
                              : (x->requests > y->requests) - (x->requests < y->requests);
}

/* The profiler was stopped just after this step began: it says nothing about how long steps are. */
static bool is_cut(const struct lpo_program_steps *s, size_t i)
{
    const struct lpo_program_step *x = &s->rows.at[i];
    bool last = i + 1 == s->rows.len || x[1].process != x->process;

    return last && !x->operations && i && x[-1].process == x->process && x[-1].operations;
}

static void make_groups(struct lpo_program_steps *s)
{
    LPO_FREED struct lpo_map_pair rows = { 0 };
    LPO_FREED uint32_t *group_of = lpo_xmalloc((s->rows.len + 1) * sizeof *group_of);
    LPO_FREED uint32_t *members = lpo_xmalloc((s->rows.len + 1) * sizeof *members);
    LPO_FREED int64_t *room = lpo_xmalloc((s->rows.len + 1) * sizeof *room);
    LPO_FREED size_t *starts = NULL;

    for (size_t i = 0; i < s->rows.len; i++) {
        const struct lpo_step_facts *f = &s->rows.at[i].facts;
        bool fresh;

        group_of[i] = LPO_NONE;
        s->rows.at[i].cut = is_cut(s, i);
        if (s->rows.at[i].cut)
            continue;
        group_of[i] = lpo_map_pair_put(&rows, f->kind, (uint64_t)f->requests, &fresh);
        if (fresh)
            lpo_vec_push(&s->groups,
                         (struct lpo_step_group){ .kind = f->kind, .requests = f->requests });
        s->groups.at[group_of[i]].count++;
    }
    starts = lpo_xcalloc(s->groups.len + 1, sizeof *starts);
    for (size_t g = 0; g < s->groups.len; g++)
        starts[g + 1] = starts[g] + s->groups.at[g].count;
    for (size_t i = 0; i < s->rows.len; i++)
        if (group_of[i] != LPO_NONE)
            members[starts[group_of[i]]++] = (uint32_t)i;
    for (size_t g = 0; g < s->groups.len; g++) /* starts[g] is its end by now */
        judge(s, &s->groups.at[g], members + starts[g] - s->groups.at[g].count, room);
    lpo_vec_sort(&s->groups, by_total);
}

struct lpo_program_steps *lpo_steps_create(const struct lpo_region_tree *tree)
{
    struct build b = { .tree = tree, .t = tree->trace };

    b.out = lpo_xcalloc(1, sizeof *b.out);
    find_steps(&b);
    if (!b.out->rows.len) {
        lpo_steps_destroy(b.out);
        return NULL;
    }
    share_operations(&b);
    take_parts(&b);
    lpo_map_pair_free(&b.part_rows);
    lpo_vec_free(&b.parts);
    make_groups(b.out);
    return b.out;
}

void lpo_steps_destroy(struct lpo_program_steps *s)
{
    if (!s)
        return;
    lpo_vec_free(&s->rows);
    lpo_vec_free(&s->groups);
    free(s);
}
