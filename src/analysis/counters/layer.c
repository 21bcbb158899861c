/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/counters/layer.h"

#include "analysis/wall/order.h"
#include "region/tree.h"

enum { CLASSES = LPO_LAYER_CLASSES, SINGLE = LPO_SAMPLED_UNKNOWNS - CLASSES - 1 };

/* Times beyond this cannot be added to each other safely; no clock shows them. */
static const int64_t most_ns = INT64_MAX / 3;
/* Launches of one configuration whose lengths differ more do not all move the same amount. */
static const double same_length = 0.2;

enum lpo_sampled_family lpo_counters_family(enum lpo_counters_meaning meaning)
{
    switch (meaning) {
    case LPO_COUNTER_TENSOR_ACTIVE:
        return LPO_FAMILY_TENSOR;
    case LPO_COUNTER_SM_ACTIVE:
    case LPO_COUNTER_GPU_ACTIVE:
    case LPO_COUNTER_SM_CYCLES:
    case LPO_COUNTER_WARPS_ACTIVE:
    case LPO_COUNTER_INSTRUCTIONS:
    case LPO_COUNTER_SM_CLOCK:
        return LPO_FAMILY_SM;
    default:
        return LPO_FAMILY_MEMORY;
    }
}

static bool usable(const struct lpo_gpu_op *w, int64_t clock_ns)
{
    return w->start_ns > -most_ns && w->end_ns < most_ns && w->end_ns > w->start_ns &&
           w->start_ns + clock_ns > -most_ns && w->end_ns + clock_ns < most_ns;
}

static void find_ops(struct lpo_layer *l, uint16_t device)
{
    struct lpo_wall_order o = lpo_wall_order_find(l->trace);
    int64_t epoch_ns = l->trace->epoch_ns == LPO_NO_TIME ? 0 : l->trace->epoch_ns;

    l->ops = (struct lpo_sweep_ops){ .clock_ns = epoch_ns };
    l->rows = lpo_xcalloc(o.count + 1, sizeof *l->rows);
    l->times = lpo_xcalloc(o.count + 1, sizeof *l->times);
    l->ops.times = l->times;
    for (size_t i = 0; i < o.count && epoch_ns > -most_ns && epoch_ns < most_ns; i++) {
        const struct lpo_gpu_op *w = &l->trace->gpu_ops.at[o.rows[i]];

        if (w->device != device || !usable(w, epoch_ns))
            continue;
        if (!l->ops.count || w->end_ns + epoch_ns > l->ops.last_ns)
            l->ops.last_ns = w->end_ns + epoch_ns;
        if (!l->ops.count)
            l->ops.first_ns = w->start_ns + epoch_ns;
        l->times[l->ops.count] = (struct lpo_sweep_time){ w->start_ns, w->end_ns };
        l->rows[l->ops.count++] = o.rows[i];
    }
    lpo_wall_order_free(&o);
}

static const struct lpo_gpu_op *op_at(const struct lpo_layer *l, size_t entry)
{
    return &l->trace->gpu_ops.at[l->rows[entry]];
}

/* A kernel's share of its CUDA graph's time is no measurement of that kernel. */
static bool shared(const struct lpo_gpu_op *w)
{
    return w->flags & LPO_GPU_OP_SHARE;
}

/* A row per (name, shape), of copies (name, bytes); of shares of graphs (name, place). */
static void find_configs(struct lpo_layer *l, double *square)
{
    LPO_FREED struct lpo_map_pair map = { 0 };

    for (size_t i = 0; i < l->ops.count; i++) {
        const struct lpo_gpu_op *w = op_at(l, i);
        uint64_t what = shared(w) ? l->place[i] : w->kind == LPO_KERNEL ? w->shape : w->bytes;
        double ns = (double)lpo_trace_gpu_op_ns(w);
        struct lpo_sampled_config *c;
        bool fresh;

        l->config[i] = lpo_map_pair_put(
            &map, (uint64_t)w->name << 3 | (uint64_t)w->kind << 1 | shared(w), what, &fresh);
        if (fresh)
            lpo_vec_push(&l->gpu->configs, (struct lpo_sampled_config){
                                               .name = w->name,
                                               .shape = w->kind == LPO_KERNEL ? w->shape : LPO_NONE,
                                               .bytes = w->bytes,
                                               .op = l->rows[i],
                                               .kind = w->kind,
                                               .single = !shared(w) });
        c = &l->gpu->configs.at[l->config[i]];
        c->launches++;
        c->ns += (int64_t)ns;
        square[l->config[i]] += ns * ns;
        l->gpu->shares += shared(w);
    }
}

static int most_time_first(const void *a, const void *b, void *configs)
{
    const struct lpo_sampled_config *c = configs;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    if (c[x].ns != c[y].ns)
        return c[x].ns > c[y].ns ? -1 : 1;
    return (x > y) - (x < y);
}

/* Sorts the configurations, and says so to the operations and the squares. */
static void sort_configs(struct lpo_layer *l, double *square)
{
    size_t count = l->gpu->configs.len;
    LPO_FREED uint32_t *order = lpo_xcalloc(count + 1, sizeof *order);
    LPO_FREED uint32_t *to = lpo_xcalloc(count + 1, sizeof *to);
    LPO_FREED double *squares = lpo_xcalloc(count + 1, sizeof *squares);
    LPO_FREED struct lpo_sampled_config *sorted = lpo_xcalloc(count + 1, sizeof *sorted);

    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    qsort_r(order, count, sizeof *order, most_time_first, l->gpu->configs.at);
    for (size_t i = 0; i < count; i++) {
        to[order[i]] = (uint32_t)i;
        sorted[i] = l->gpu->configs.at[order[i]];
        squares[i] = square[order[i]];
    }
    memcpy(l->gpu->configs.at, sorted, count * sizeof *sorted);
    memcpy(square, squares, count * sizeof *squares);
    for (size_t i = 0; i < l->ops.count; i++)
        l->config[i] = to[l->config[i]];
}

static uint8_t class_of(const struct lpo_layer *l, const struct lpo_sampled_config *c)
{
    if (c->kind != LPO_KERNEL)
        return (uint8_t)(LPO_CLASSES + c->kind - LPO_COPY);
    return (uint8_t)lpo_region_tree_class(l->tree, c->name);
}

static uint32_t class_unknown(struct lpo_layer *l, uint32_t *of_class, uint8_t class)
{
    if (of_class[class] == LPO_NONE) {
        of_class[class] = (uint32_t)l->unknowns.len;
        lpo_vec_push(&l->unknowns, (struct lpo_sampled_unknown){ 1000, true, class });
    }
    return of_class[class];
}

/* The most expensive configurations have an unknown each, the others one for their class: memory
 * grows with the square of their number. */
static void choose_unknowns(struct lpo_layer *l, const double *square)
{
    uint32_t of_class[CLASSES + 1];

    for (size_t i = 0; i <= CLASSES; i++)
        of_class[i] = LPO_NONE;
    for (size_t i = 0; i < l->gpu->configs.len; i++) {
        struct lpo_sampled_config *c = &l->gpu->configs.at[i];
        double mean = (double)c->ns / (double)c->launches;
        double variance = square[i] / (double)c->launches - mean * mean;
        uint8_t class = class_of(l, c);

        c->single &= l->unknowns.len < SINGLE;
        if (c->single) {
            c->unknown = (uint32_t)l->unknowns.len;
            lpo_vec_push(&l->unknowns,
                         (struct lpo_sampled_unknown){
                             mean, variance > same_length * mean * same_length * mean, class });
        } else {
            c->unknown = class_unknown(l, of_class, class);
        }
    }
    l->gpu->unknowns = l->unknowns.len;
    l->factor = lpo_xcalloc(l->unknowns.len + LPO_LAYER_FEW, sizeof *l->factor);
}

/* Fine enough that no cell of a region table (region/cells.h) has a part of a group. */
static void find_groups(struct lpo_layer *l)
{
    struct lpo_map_pair places = { 0 }, groups = { 0 };

    for (size_t i = 0; i < l->ops.count; i++) {
        const struct lpo_gpu_op *w = op_at(l, i);
        uint32_t capture = w->capture == LPO_NONE ? LPO_NONE : l->tree->capture_place[w->capture];
        bool lost = w->stack == LPO_NONE && w->launch == LPO_NONE, fresh;
        uint32_t where = lpo_map_pair_put(&places, (uint64_t)l->place[i] << 32 | l->config[i],
                                          (uint64_t)capture << 32 | w->metrics, &fresh);
        struct lpo_sampled_group *g;

        l->group[i] = lpo_map_pair_put(&groups, where, (uint64_t)w->process << 1 | lost, &fresh);
        if (fresh)
            lpo_vec_push(&l->groups,
                         (struct lpo_sampled_group){ .old_row = w->metrics, .row = LPO_NONE });
        g = &l->groups.at[l->group[i]];
        g->count++;
        g->ns += lpo_trace_gpu_op_ns(w);
        l->gpu->gpu_ns += lpo_trace_gpu_op_ns(w);
    }
    lpo_map_pair_free(&places);
    lpo_map_pair_free(&groups);
}

static void order_metrics(struct lpo_layer *l)
{
    const struct lpo_counters_about *about = l->source->about;
    size_t at = 0;

    l->nmetrics = about->nmetrics;
    l->baseline = lpo_xcalloc(l->nmetrics + 1, sizeof *l->baseline);
    l->by_family = lpo_xcalloc(l->nmetrics + 1, sizeof *l->by_family);
    for (int f = 0; f < LPO_FAMILIES; f++) {
        l->family_first[f] = at;
        for (size_t m = 0; m < l->nmetrics; m++)
            if (lpo_counters_family(about->metrics[m].meaning) == (enum lpo_sampled_family)f)
                l->by_family[at++] = m;
    }
    l->family_first[LPO_FAMILIES] = at;
}

bool lpo_counters_layer_open(struct lpo_layer *l, uint16_t device)
{
    double *square;

    find_ops(l, device);
    if (!l->ops.count)
        return false;
    l->config = lpo_xcalloc(l->ops.count, sizeof *l->config);
    l->group = lpo_xcalloc(l->ops.count, sizeof *l->group);
    l->place = lpo_xcalloc(l->ops.count, sizeof *l->place);
    for (size_t i = 0; i < l->ops.count; i++)
        l->place[i] = lpo_region_place(l->tree, op_at(l, i));
    square = lpo_xcalloc(l->ops.count, sizeof *square);
    find_configs(l, square);
    sort_configs(l, square);
    choose_unknowns(l, square);
    free(square);
    find_groups(l);
    order_metrics(l);
    l->amounts = lpo_xcalloc(l->groups.len * l->nmetrics + 1, sizeof *l->amounts);
    return true;
}

void lpo_counters_layer_close(struct lpo_layer *l)
{
    free(l->rows);
    free(l->times);
    free(l->config);
    free(l->group);
    free(l->place);
    free(l->amounts);
    free(l->by_family);
    free(l->baseline);
    free(l->factor);
    lpo_vec_free(&l->groups);
    lpo_vec_free(&l->unknowns);
    lpo_vec_free(&l->terms);
}

/* Each sample moves the same, so one of a longer interval moves less in its time. */
double lpo_counters_layer_slower(const struct lpo_layer *l, const struct lpo_counters_sample *s)
{
    int64_t first = l->gpu->interval_ns;

    return first > 0 && s->interval_ns > 0 ? (double)s->interval_ns / (double)first : 1;
}

double lpo_counters_layer_amount(const struct lpo_layer *l, const struct lpo_counters_sample *s,
                                 size_t metric)
{
    double v = s->values[metric], ns = (double)(s->end_ns - s->start_ns);

    if (l->source->about->metrics[metric].kind == LPO_COUNTER_SHARE)
        return v * ns;
    return v > 0 ? fmax(0, v - l->baseline[metric] * ns / lpo_counters_layer_slower(l, s)) : v;
}

void lpo_counters_layer_terms(struct lpo_layer *l, const struct lpo_sample_sweep *s,
                              const uint32_t *to)
{
    l->terms.len = 0;
    for (size_t i = 0; i < s->found.len; i++) {
        const struct lpo_overlap *o = &s->found.at[i];
        uint32_t unknown = l->gpu->configs.at[l->config[o->entry]].unknown;
        const struct lpo_sampled_unknown *u = &l->unknowns.at[unknown];
        double per = u->by_time ? u->unit_ns
                                : (double)(l->times[o->entry].end_ns - l->times[o->entry].start_ns);
        double factor;

        if (to && to[unknown] != unknown) { /* many together: by their time */
            unknown = to[unknown];
            per = 1000;
        }
        factor = (double)o->ns / per;
        if (l->factor[unknown] == 0)
            lpo_vec_push(&l->terms, (struct lpo_term){ unknown, 0 });
        l->factor[unknown] += factor;
    }
    for (size_t i = 0; i < l->terms.len; i++) {
        l->terms.at[i].factor = l->factor[l->terms.at[i].unknown];
        l->factor[l->terms.at[i].unknown] = 0;
    }
}
