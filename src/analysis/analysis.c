/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/analysis.h"

#include <malloc.h>

#include "analysis/counters/rules.h"
#include "analysis/counters/sampled.h"
#include "analysis/critical/critical.h"
#include "analysis/frameworks.h"
#include "analysis/fusion/fusion.h"
#include "analysis/ladder/ladder.h"
#include "analysis/limits/limits.h"
#include "analysis/memory/memory.h"
#include "analysis/numbers/numbers.h"
#include "analysis/operators/operators.h"
#include "analysis/phases/phases.h"
#include "analysis/queue/queue.h"
#include "analysis/ranks/balance.h"
#include "analysis/ranks/causes.h"
#include "analysis/ranks/flight.h"
#include "analysis/ranks/jobs.h"
#include "analysis/ranks/ranks.h"
#include "analysis/ranks/regions.h"
#include "analysis/ranks/steps.h"
#include "analysis/stacks/stacks.h"
#include "analysis/steps/steps.h"
#include "analysis/wall/collectives.h"
#include "analysis/wall/steady.h"
#include "analysis/wall/timeline.h"
#include "analysis/wall/wall.h"
#include "reference/reference.h"
#include "region/modules.h"
#include "region/select.h"
#include "run/install.h"
#include "rundir/rundir.h"
#include "util/thread.h"

/* Scopes beside the aggregate are kept while their rows together stay below this: some 20 MB. */
/* WORTH_THREADS: operations below which threads cost more than they save. */
enum { KEPT_ROWS = 1 << 16, KINDS = LPO_MEMSET + 1, WORTH_THREADS = 50000 };

/* What is computed when it is first asked for, by lpo_analysis_<name>(): its type, what of the
 * analysis `a` it needs (it is NULL without that), how it is made, who destroys it. What one is
 * made of it asks for. */
/* clang-format off */
#define OF_TRACE(row)                                                                              \
    row(steps, lpo_program_steps, true, lpo_steps_create(a->tree), lpo_steps_destroy)              \
    row(phases, lpo_phases, true, lpo_phases_create(a->tree, lpo_analysis_steps(a)),               \
        lpo_phases_destroy)                                                                        \
    row(memory, lpo_memory_peaks, true, lpo_memory_peaks_create(a->trace),                         \
        lpo_memory_peaks_destroy)                                                                  \
    row(flight, lpo_flight, a->trace->flight_groups.len, lpo_ranks_flight_create(a->trace),        \
        lpo_ranks_flight_destroy)                                                                  \
    row(numbers, lpo_numbers, true, lpo_numbers_create(a->tree), lpo_numbers_destroy)              \
    row(rules, lpo_counters_rules, true, lpo_counters_rules_create(a->trace),                      \
        lpo_counters_rules_destroy)                                                                \
    row(wall, lpo_wall, a->timeline, lpo_wall_create(a->tree), lpo_wall_destroy)                   \
    row(collectives, lpo_wall_collectives, a->timeline, lpo_wall_collectives_create(a->tree),      \
        lpo_wall_collectives_destroy)                                                              \
    row(ranks, lpo_ranks, a->timeline && is_one_job(a), lpo_ranks_create(a->tree),                 \
        lpo_ranks_destroy)                                                                         \
    row(rank_causes, lpo_ranks_causes, lpo_analysis_ranks(a),                                      \
        lpo_ranks_causes_create(a->tree, lpo_analysis_steps(a), lpo_analysis_ranks(a)),            \
        lpo_ranks_causes_destroy)                                                                  \
    row(rank_balance, lpo_ranks_balance, is_one_job(a), lpo_ranks_balance_create(a->tree),         \
        lpo_ranks_balance_destroy)                                                                 \
    row(rank_steps, lpo_ranks_steps, lpo_analysis_steps(a) && is_one_job(a),                       \
        lpo_ranks_steps_create(a->tree, lpo_analysis_steps(a), lpo_analysis_ranks(a)),             \
        lpo_ranks_steps_destroy)                                                                   \
    row(queue, lpo_queue, a->timeline, lpo_queue_create(a->trace), lpo_queue_destroy)              \
    row(fusion, lpo_fusion, true, lpo_fusion_create(a->tree), lpo_fusion_destroy)                  \
    row(frameworks, lpo_frameworks, true, lpo_analysis_frameworks_create(a->trace), lpo_analysis_frameworks_destroy)   \
    row(stacks, lpo_stacks, true, lpo_stacks_create(a->tree, a->power), lpo_stacks_destroy)

/* The same of what is forgotten under another selection, or when metrics are added. */
#define OF_SELECTION(row)                                                                          \
    row(steady, lpo_wall_steady, true, lpo_wall_steady_create(a), lpo_wall_steady_destroy)         \
    row(rank_regions, lpo_ranks_regions, is_one_job(a),                                            \
        lpo_ranks_regions_create(lpo_analysis_all(a)), lpo_ranks_regions_destroy)
/* clang-format on */

#define MEMBER(name, type, needs, made, destroy)                                                   \
    struct type *name;                                                                             \
    bool has_##name; /* it may be NULL all the same */
#define DESTROY(name, type, needs, made, destroy)                                                  \
    destroy(m->name);                                                                              \
    m->name = NULL;                                                                                \
    m->has_##name = false;
#define GET(name, type, needs, made, destroy)                                                      \
    const struct type *lpo_analysis_##name(const struct lpo_analysis *a)                           \
    {                                                                                              \
        struct lpo_analysis_memo *m = a->memo;                                                     \
                                                                                                   \
        if (m->has_##name) /* ladders ask on several threads for what is there already */          \
            return m->name;                                                                        \
        if (needs)                                                                                 \
            m->name = (made);                                                                      \
        m->has_##name = true;                                                                      \
        return m->name;                                                                            \
    }

struct lpo_analysis_memo {
    struct lpo_region_scope *all;
    LPO_VEC(struct lpo_region_scope *) scopes; /* others, in the order in which they were asked */
    size_t scope_rows;                         /* of all in `scopes` */
    size_t found;                              /* in `scopes`: what was asked for last */
    struct lpo_region_scope *last;             /* one that was too much to keep */
    lpo_top_rows top[KINDS];
    bool has_top[KINDS];
    struct lpo_class_sum classes[LPO_CLASSES];
    size_t nclasses;
    bool has_classes;
    struct lpo_operators *operators[2];
    struct lpo_critical *critical;
    struct lpo_ladders *ladders;
    struct lpo_reference *reference;
    bool has_reference;
    struct lpo_limits *limits;
    struct lpo_err limits_err;                  /* why there are none */
    bool has_limits;                            /* the two above are filled */
    struct lpo_analysis *unselected, *selected; /* views of the same trace */
    struct lpo_region_modules *module_ranges;
    struct lpo_analysis *modules; /* of those */
    bool has_modules;             /* the two above are filled */
    OF_TRACE(MEMBER)
    OF_SELECTION(MEMBER)
};

/* A view shares tree and timeline with its owner. */
static void destroy_view(struct lpo_analysis **view)
{
    if (*view) {
        (*view)->timeline = NULL;
        (*view)->sampled = NULL;
        (*view)->tree = NULL;
    }
    lpo_analysis_destroy(*view);
    *view = NULL;
}

/* What depends on the selection or on metrics; operators depend on neither. */
static void forget_sums(struct lpo_analysis_memo *m)
{
    lpo_region_scope_destroy(m->all);
    lpo_region_scope_destroy(m->last);
    for (size_t i = 0; i < m->scopes.len; i++)
        lpo_region_scope_destroy(m->scopes.at[i]);
    lpo_vec_free(&m->scopes);
    for (size_t i = 0; i < KINDS; i++)
        lpo_vec_free(&m->top[i]);
    memset(m->has_top, 0, sizeof m->has_top);
    memset(m->classes, 0, sizeof m->classes);
    m->has_classes = false;
    OF_SELECTION(DESTROY)
    lpo_ladder_destroy(m->ladders);
    lpo_limits_destroy(m->limits);
    destroy_view(&m->unselected);
    destroy_view(&m->selected);
    lpo_analysis_destroy(m->modules);
    lpo_region_modules_destroy(m->module_ranges);
    m->modules = NULL;
    m->module_ranges = NULL;
    m->has_modules = false;
    m->all = m->last = NULL;
    m->scope_rows = 0;
    m->ladders = NULL;
    m->limits = NULL;
    m->has_limits = false;
    m->limits_err = (struct lpo_err){ 0 };
}

static bool selects_any(const struct lpo_region_selection *s)
{
    for (int list = 0; s && list < LPO_SELECT_LISTS; list++)
        if (lpo_region_selection_has(s, (enum lpo_select_list)list))
            return true;
    return false;
}

static struct lpo_analysis *attribute(const struct lpo_trace *trace,
                                      const struct lpo_region_modules *modules)
{
    struct lpo_analysis *a = lpo_xcalloc(1, sizeof *a);

    a->trace = trace;
    a->tree = lpo_region_tree_create_with(trace, modules);
    if (!(trace->skip & LPO_SKIP_LAUNCHES))
        a->timeline = lpo_wall_timeline_create(a->tree);
    a->memo = lpo_xcalloc(1, sizeof *a->memo);
    return a;
}

struct lpo_analysis *lpo_analysis_attribute(const struct lpo_trace *trace)
{
    return attribute(trace, NULL);
}

void lpo_analysis_select(struct lpo_analysis *a, struct lpo_region_selection *select, bool counters)
{
    bool same = a->cells && !counters && !selects_any(a->select) && !selects_any(select) &&
                !a->tree->own_rules; /* they may be newer than the cells */

    a->select = select;
    if (same)
        return;
    forget_sums(a->memo);
    lpo_region_cells_destroy(a->cells);
    a->cells = lpo_region_cells_create(a->tree, select);
    if (a->tree->own_rules && a->timeline) { /* made before the rules were read */
        lpo_wall_timeline_destroy(a->timeline);
        a->timeline = lpo_wall_timeline_create(a->tree);
    }
}

struct lpo_analysis *lpo_analysis_of(const struct lpo_trace *trace,
                                     struct lpo_region_selection *select)
{
    struct lpo_analysis *a = lpo_analysis_attribute(trace);

    lpo_analysis_select(a, select, false);
    return a;
}

static struct lpo_analysis *view_of(const struct lpo_analysis *a,
                                    struct lpo_region_selection *select)
{
    struct lpo_analysis *view = lpo_xcalloc(1, sizeof *view);

    *view = *a; /* trace, tree and timeline: see destroy_view() */
    view->select = select;
    view->cells = lpo_region_cells_create(a->tree, select);
    view->memo = lpo_xcalloc(1, sizeof *view->memo);
    return view;
}

const struct lpo_analysis *lpo_analysis_unselected(const struct lpo_analysis *a)
{
    if (!selects_any(a->select))
        return a;
    if (!a->memo->unselected)
        a->memo->unselected = view_of(a, NULL);
    return a->memo->unselected;
}

const struct lpo_analysis *lpo_analysis_selected(const struct lpo_analysis *a,
                                                 struct lpo_region_selection *select)
{
    if (a->memo->selected && a->memo->selected->select != select)
        destroy_view(&a->memo->selected);
    if (!a->memo->selected)
        a->memo->selected = view_of(a, select);
    return a->memo->selected;
}

const struct lpo_analysis *lpo_analysis_modules(const struct lpo_analysis *a)
{
    struct lpo_analysis_memo *m = a->memo;

    if (!m->has_modules) {
        m->module_ranges = lpo_region_modules_create(a->trace);
        if (m->module_ranges) {
            m->modules = attribute(a->trace, m->module_ranges);
            lpo_region_tree_use(m->modules->tree, a->tree->own_rules);
            lpo_analysis_select(m->modules, a->select, false);
        }
        m->has_modules = true;
    }
    return m->modules;
}

void lpo_analysis_destroy(struct lpo_analysis *a)
{
    struct lpo_analysis_memo *m;

    if (!a)
        return;
    m = a->memo;
    forget_sums(m);
    for (int i = 0; i < 2; i++)
        lpo_operators_destroy(m->operators[i]);
    lpo_critical_destroy(m->critical);
    lpo_reference_destroy(m->reference);
    OF_TRACE(DESTROY)
    free(m);
    lpo_wall_timeline_destroy(a->timeline);
    lpo_counters_sampled_destroy(a->sampled);
    lpo_region_cells_destroy(a->cells);
    lpo_region_tree_destroy(a->tree);
    free(a);
}

const struct lpo_region_scope *lpo_analysis_all(const struct lpo_analysis *a)
{
    static const struct lpo_scope_id all = { LPO_SCOPE_ALL, 0 };

    if (!a->memo->all)
        a->memo->all = lpo_region_scope_create(a->cells, all, a->select);
    return a->memo->all;
}

static bool same_scope(struct lpo_scope_id x, struct lpo_scope_id y)
{
    return x.kind == y.kind && x.index == y.index;
}

const struct lpo_region_scope *lpo_analysis_scope(const struct lpo_analysis *a,
                                                  struct lpo_scope_id id)
{
    struct lpo_analysis_memo *m = a->memo;
    struct lpo_region_scope *s;
    size_t rows;

    if (id.kind == LPO_SCOPE_ALL)
        return lpo_analysis_all(a);
    if (m->last && same_scope(m->last->id, id))
        return m->last;
    if (m->found < m->scopes.len && same_scope(m->scopes.at[m->found]->id, id))
        return m->scopes.at[m->found];
    for (size_t i = 0; i < m->scopes.len; i++)
        if (same_scope(m->scopes.at[i]->id, id))
            return m->scopes.at[m->found = i];
    s = lpo_region_scope_is_all(a->cells, id) ? lpo_region_scope_alias(lpo_analysis_all(a), id)
                                              : lpo_region_scope_create(a->cells, id, a->select);
    rows = s->borrowed ? 0 : s->rows.len + s->kernels.len;
    if (m->scope_rows + rows <= KEPT_ROWS) {
        m->scope_rows += rows;
        lpo_vec_push(&m->scopes, s);
    } else {
        lpo_region_scope_destroy(m->last);
        m->last = s;
    }
    return s;
}

const lpo_top_rows *lpo_analysis_top(const struct lpo_analysis *a, enum lpo_gpu_op_kind kind)
{
    struct lpo_analysis_memo *m = a->memo;

    if (!m->has_top[kind])
        lpo_region_top(a->cells, kind, &m->top[kind]);
    m->has_top[kind] = true;
    return &m->top[kind];
}

static int by_class_cost(const void *a, const void *b)
{
    const struct lpo_class_sum *x = a, *y = b;

    if (!x->kernels != !y->kernels) /* empty classes last */
        return x->kernels ? -1 : 1;
    if (x->sum.ns != y->sum.ns)
        return x->sum.ns > y->sum.ns ? -1 : 1;
    return (int)x->class - (int)y->class;
}

static void sum_classes(const struct lpo_analysis *a)
{
    const lpo_top_rows *rows = lpo_analysis_top(a, LPO_KERNEL);
    struct lpo_analysis_memo *m = a->memo;

    for (size_t i = 0; i < rows->len; i++) { /* most expensive first */
        struct lpo_class_sum *c = &m->classes[lpo_region_cells_class(a->cells, rows->at[i].name)];

        if (!c->kernels++)
            c->most_expensive = rows->at[i].name;
        lpo_region_sum_add(&c->sum, &rows->at[i].sum);
    }
    m->nclasses = 0;
    for (int i = 0; i < LPO_CLASSES; i++) {
        m->classes[i].class = (enum lpo_region_kernel_class)i;
        m->nclasses += m->classes[i].kernels > 0;
    }
    qsort(m->classes, LPO_CLASSES, sizeof *m->classes, by_class_cost);
    m->has_classes = true;
}

const struct lpo_class_sum *lpo_analysis_classes(const struct lpo_analysis *a, size_t *count)
{
    if (!a->memo->has_classes)
        sum_classes(a);
    *count = a->memo->nclasses;
    return a->memo->classes;
}

const struct lpo_operators *lpo_analysis_operators(const struct lpo_analysis *a, bool by_shapes)
{
    bool shapes = by_shapes && (a->trace->op_args.len || a->rules); /* else both are one */
    struct lpo_operators **o = &a->memo->operators[shapes];

    if (!*o)
        *o = lpo_operators_create(a->trace, shapes, a->rules, a->tree);
    return *o;
}

/* Ranks of different jobs are not compared. */
static bool is_one_job(const struct lpo_analysis *a)
{
    return lpo_ranks_jobs(a->trace).why == LPO_RANKS_ONE_JOB;
}

OF_TRACE(GET)
OF_SELECTION(GET)

const struct lpo_critical *lpo_analysis_critical(const struct lpo_analysis *a)
{
    if (!a->memo->critical && a->timeline)
        a->memo->critical = lpo_critical_create(a->tree, lpo_analysis_steps(a));
    return a->memo->critical;
}

const struct lpo_reference *lpo_analysis_reference(const struct lpo_analysis *a,
                                                   const struct lpo_hardware *hw)
{
    struct lpo_analysis_memo *m = a->memo;

    if (hw && !m->has_reference) {
        LPO_AUTO(lpo_arena) arena = lpo_arena_create();
        const char *const *dirs = (const char *const *)lpo_run_install_config_dirs(arena);
        const char *path = lpo_reference_path(arena, dirs, hw->name);
        struct lpo_err ignored = { 0 }; /* a damaged file says nothing */

        if (path)
            lpo_reference_load(path, &m->reference, &ignored);
        m->has_reference = true;
    }
    return hw ? m->reference : NULL;
}

/* What takes long, most of all first. They ask for steps, and for nothing of each other. The graphs
 * of several processes take all cores themselves. */
static void compute_long(void *ctx, size_t i)
{
    const struct lpo_analysis *a = ctx;

    switch (i) {
    case 0:
        if (a->trace->processes.len == 1)
            lpo_analysis_critical(a);
        break;
    case 1: /* one after the other: they may be the same */
        lpo_analysis_operators(a, false);
        lpo_analysis_operators(a, true);
        break;
    case 2:
        lpo_analysis_queue(a);
        break;
    case 3:
        lpo_analysis_wall(a);
        break;
    case 4:
        lpo_analysis_ranks(a);
        break;
    case 5:
        lpo_analysis_collectives(a);
        break;
    case 6:
        lpo_analysis_fusion(a);
        break;
    default:
        break;
    }
}

/* What asks for some of those, and not for each other. */
static void compute_more(void *ctx, size_t i)
{
    if (i)
        lpo_analysis_steady(ctx);
    else
        lpo_analysis_rank_causes(ctx);
}

void lpo_analysis_start(const struct lpo_analysis *a)
{
    void *ctx = (void *)(uintptr_t)a;

    if (!a->timeline || a->trace->gpu_ops.len < WORTH_THREADS)
        return;
    lpo_region_tree_look_up_classes(a->tree);
    lpo_analysis_steps(a);
    lpo_thread_each(7, compute_long, ctx);
    lpo_thread_each(2, compute_more, ctx);
    malloc_trim(0); /* what several threads gave back lies in as many heaps */
}

const struct lpo_limits *lpo_analysis_limits(const struct lpo_rundir *d, const struct lpo_source *s,
                                             struct lpo_err *err)
{
    struct lpo_analysis_memo *m = s->analysis->memo;

    if (!m->has_limits) {
        m->limits = lpo_limits_of_run(d, s, &m->limits_err);
        m->has_limits = true;
    }
    if (err && m->limits_err.code)
        *err = m->limits_err;
    return m->limits;
}

const struct lpo_ladders *lpo_analysis_ladders(const struct lpo_rundir *d,
                                               const struct lpo_source *s)
{
    struct lpo_analysis_memo *m = s->analysis->memo;

    if (!m->ladders) {
        m->ladders = lpo_ladder_create(d, s, s->analysis);
        malloc_trim(0); /* graphs of all processes */
    }
    return m->ladders;
}
