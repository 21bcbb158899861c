/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/analysis.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/counters/rules.h"
#include "analysis/counters/sampled.h"
#include "analysis/critical/critical.h"
#include "analysis/critical_thread.h"
#include "analysis/findings/findings.h"
#include "analysis/fusion/fusion.h"
#include "analysis/limits/limits.h"
#include "analysis/memory/memory.h"
#include "analysis/numbers/numbers.h"
#include "analysis/operators/operators.h"
#include "analysis/phases/phases.h"
#include "analysis/queue/queue.h"
#include "analysis/ranks/balance.h"
#include "analysis/ranks/jobs.h"
#include "analysis/ranks/ranks.h"
#include "analysis/ranks/regions.h"
#include "analysis/ranks/steps.h"
#include "analysis/steps/steps.h"
#include "analysis/wall/collectives.h"
#include "analysis/wall/steady.h"
#include "analysis/wall/timeline.h"
#include "analysis/wall/wall.h"
#include "region/cells.h"
#include "region/modules.h"
#include "region/select.h"
#include "region/tree.h"
#include "rundir/rundir.h"
#include "trace/trace.h"
#include "util/err.h"

/* Scopes beside the aggregate are kept while their rows together stay below this: some 20 MB. */
enum { KEPT_ROWS = 1 << 16, KINDS = LPO_MEMSET + 1 };

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
    struct lpo_program_steps *steps;
    struct lpo_phases *phases;
    bool has_steps;
    struct lpo_memory_peaks *memory;
    struct lpo_numbers *numbers;
    struct lpo_counters_rules *rules;
    struct lpo_wall *wall;
    struct lpo_wall_collectives *collectives;
    struct lpo_ranks *ranks;
    struct lpo_ranks_regions *rank_regions;
    struct lpo_ranks_steps *rank_steps;
    struct lpo_ranks_balance *rank_balance;
    /* asked for already: they may be NULL all the same */
    bool has_ranks, has_rank_regions, has_rank_steps, has_rank_balance;
    struct lpo_critical *critical;
    struct lpo_analysis_critical_thread *critical_thread; /* that computes it; NULL: nobody does */
    struct lpo_queue *queue;
    struct lpo_fusion *fusion;
    struct lpo_wall_steady *steady;
    struct lpo_findings *findings;
    struct lpo_limits *limits;
    struct lpo_err limits_err;                  /* why there are none */
    bool has_limits;                            /* the two above are filled */
    struct lpo_analysis *unselected, *selected; /* views of the same trace */
    struct lpo_region_modules *module_ranges;
    struct lpo_analysis *modules; /* of those */
    bool has_modules;             /* the two above are filled */
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
    lpo_wall_steady_destroy(m->steady);
    lpo_findings_destroy(m->findings);
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
    m->steady = NULL;
    m->findings = NULL;
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

static struct lpo_analysis *attribute(struct lpo_trace *trace,
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

struct lpo_analysis *lpo_analysis_attribute(struct lpo_trace *trace)
{
    return attribute(trace, NULL);
}

void lpo_analysis_select(struct lpo_analysis *a, struct lpo_region_selection *select, bool counters)
{
    bool same = a->cells && !counters && !selects_any(a->select) && !selects_any(select) &&
                !a->trace->own_classes; /* they may be newer than the cells */

    a->select = select;
    if (same)
        return;
    forget_sums(a->memo);
    lpo_region_cells_destroy(a->cells);
    a->cells = lpo_region_cells_create(a->tree, select);
    if (a->trace->own_classes && a->timeline) { /* made before the rules were read */
        lpo_wall_timeline_destroy(a->timeline);
        a->timeline = lpo_wall_timeline_create(a->tree);
    }
}

struct lpo_analysis *lpo_analysis_of(struct lpo_trace *trace, struct lpo_region_selection *select)
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
            lpo_analysis_select(m->modules, a->select, false);
        }
        m->has_modules = true;
    }
    return m->modules;
}

void lpo_analysis_destroy(struct lpo_analysis *a)
{
    if (!a)
        return;
    if (a->memo->critical_thread)
        lpo_analysis_critical(a); /* ends its thread, which reads the trace */
    forget_sums(a->memo);
    for (int i = 0; i < 2; i++)
        lpo_operators_destroy(a->memo->operators[i]);
    lpo_steps_destroy(a->memo->steps);
    lpo_phases_destroy(a->memo->phases);
    lpo_memory_peaks_destroy(a->memo->memory);
    lpo_numbers_destroy(a->memo->numbers);
    lpo_counters_rules_destroy(a->memo->rules);
    lpo_wall_destroy(a->memo->wall);
    lpo_wall_collectives_destroy(a->memo->collectives);
    lpo_ranks_destroy(a->memo->ranks);
    lpo_ranks_regions_destroy(a->memo->rank_regions);
    lpo_ranks_steps_destroy(a->memo->rank_steps);
    lpo_ranks_balance_destroy(a->memo->rank_balance);
    lpo_critical_destroy(a->memo->critical);
    lpo_queue_destroy(a->memo->queue);
    lpo_fusion_destroy(a->memo->fusion);
    free(a->memo);
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

const struct lpo_program_steps *lpo_analysis_steps(const struct lpo_analysis *a)
{
    if (!a->memo->has_steps)
        a->memo->steps = lpo_steps_create(a->tree);
    a->memo->has_steps = true;
    return a->memo->steps;
}

const struct lpo_phases *lpo_analysis_phases(const struct lpo_analysis *a)
{
    if (!a->memo->phases)
        a->memo->phases = lpo_phases_create(a->tree, lpo_analysis_steps(a));
    return a->memo->phases;
}

const struct lpo_counters_rules *lpo_analysis_rules(const struct lpo_analysis *a)
{
    if (!a->memo->rules)
        a->memo->rules = lpo_counters_rules_create(a->trace);
    return a->memo->rules;
}

const struct lpo_numbers *lpo_analysis_numbers(const struct lpo_analysis *a)
{
    if (!a->memo->numbers)
        a->memo->numbers = lpo_numbers_create(a->tree);
    return a->memo->numbers;
}

const struct lpo_memory_peaks *lpo_analysis_memory(const struct lpo_analysis *a)
{
    if (!a->memo->memory)
        a->memo->memory = lpo_memory_peaks_create(a->trace);
    return a->memo->memory;
}

const struct lpo_operators *lpo_analysis_operators(const struct lpo_analysis *a, bool by_shapes)
{
    struct lpo_operators **o = &a->memo->operators[by_shapes];

    if (!*o)
        *o = lpo_operators_create(a->trace, by_shapes, a->rules, a->tree);
    return *o;
}

const struct lpo_wall *lpo_analysis_wall(const struct lpo_analysis *a)
{
    if (!a->memo->wall && a->timeline)
        a->memo->wall = lpo_wall_create(a->tree);
    return a->memo->wall;
}

/* Ranks of different jobs are not compared. */
static bool is_one_job(const struct lpo_analysis *a)
{
    return lpo_ranks_jobs(a->trace).why == LPO_RANKS_ONE_JOB;
}

const struct lpo_ranks *lpo_analysis_ranks(const struct lpo_analysis *a)
{
    if (!a->memo->has_ranks && a->timeline && is_one_job(a))
        a->memo->ranks = lpo_ranks_create(a->tree);
    a->memo->has_ranks = true;
    return a->memo->ranks;
}

const struct lpo_ranks_regions *lpo_analysis_rank_regions(const struct lpo_analysis *a)
{
    if (!a->memo->has_rank_regions && is_one_job(a))
        a->memo->rank_regions = lpo_ranks_regions_create(lpo_analysis_all(a));
    a->memo->has_rank_regions = true;
    return a->memo->rank_regions;
}

const struct lpo_ranks_balance *lpo_analysis_rank_balance(const struct lpo_analysis *a)
{
    if (!a->memo->has_rank_balance && is_one_job(a))
        a->memo->rank_balance = lpo_ranks_balance_create(a->tree);
    a->memo->has_rank_balance = true;
    return a->memo->rank_balance;
}

const struct lpo_ranks_steps *lpo_analysis_rank_steps(const struct lpo_analysis *a)
{
    const struct lpo_program_steps *steps = lpo_analysis_steps(a);

    if (!a->memo->has_rank_steps && steps && is_one_job(a))
        a->memo->rank_steps = lpo_ranks_steps_create(a->tree, steps, lpo_analysis_ranks(a));
    a->memo->has_rank_steps = true;
    return a->memo->rank_steps;
}

const struct lpo_wall_collectives *lpo_analysis_collectives(const struct lpo_analysis *a)
{
    if (!a->memo->collectives && a->timeline)
        a->memo->collectives = lpo_wall_collectives_create(a->tree);
    return a->memo->collectives;
}

void lpo_analysis_start(const struct lpo_analysis *a)
{
    if (!a->timeline || a->memo->critical || a->memo->critical_thread)
        return;
    a->memo->critical_thread = lpo_analysis_critical_thread_start(a->tree, lpo_analysis_steps(a));
    if (!a->memo->critical_thread)
        return;
    lpo_analysis_operators(a, false); /* meanwhile, on this one */
    lpo_analysis_queue(a);
    lpo_analysis_fusion(a);
    lpo_analysis_collectives(a);
    lpo_analysis_ranks(a);
}

const struct lpo_critical *lpo_analysis_critical(const struct lpo_analysis *a)
{
    if (a->memo->critical_thread) {
        a->memo->critical = lpo_analysis_critical_thread_take(a->memo->critical_thread);
        a->memo->critical_thread = NULL;
    }
    if (!a->memo->critical && a->timeline)
        a->memo->critical = lpo_critical_create(a->tree, lpo_analysis_steps(a));
    return a->memo->critical;
}

const struct lpo_queue *lpo_analysis_queue(const struct lpo_analysis *a)
{
    if (!a->memo->queue && a->timeline)
        a->memo->queue = lpo_queue_create(a->trace);
    return a->memo->queue;
}

const struct lpo_fusion *lpo_analysis_fusion(const struct lpo_analysis *a)
{
    if (!a->memo->fusion)
        a->memo->fusion = lpo_fusion_create(a->tree);
    return a->memo->fusion;
}

const struct lpo_wall_steady *lpo_analysis_steady(const struct lpo_analysis *a)
{
    if (!a->memo->steady)
        a->memo->steady = lpo_wall_steady_create(a);
    return a->memo->steady;
}

const struct lpo_limits *lpo_analysis_limits(const struct lpo_rundir *d, const struct lpo_source *s,
                                             struct lpo_err *err)
{
    struct lpo_analysis_memo *m = s->analysis->memo;

    if (!m->has_limits)
        m->limits = lpo_limits_of_run(d, s, &m->limits_err);
    m->has_limits = true;
    if (err && m->limits_err.code)
        *err = m->limits_err;
    return m->limits;
}

const struct lpo_findings *lpo_analysis_findings(const struct lpo_rundir *d,
                                                 const struct lpo_source *s)
{
    struct lpo_analysis_memo *m = s->analysis->memo;

    if (!m->findings)
        m->findings = lpo_findings_create(d, s, s->analysis);
    return m->findings;
}
