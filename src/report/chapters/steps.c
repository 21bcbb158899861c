/* SPDX-License-Identifier: Apache-2.0 */
/* The chapter "Steps": what a step of a training or a batch of a server takes, by kind and size,
 * and the ones that took far longer than the others. */
#include "analysis/steps/steps.h"

#include <string.h>

#include "analysis/analysis.h"
#include "report/chapters/chapters.h"
#include "report/doc/doc.h"
#include "report/trace_records.h"
#include "rundir/rundir.h"
#include "trace/trace.h"
#include "util/arena.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

enum { GROUPS = 12, SLOW = 5, IN_JSON = 2000, NOTHING_TO_SAY = 9 };

enum {
    KIND,
    REQUESTS,
    TOKENS,
    STEPS,
    WALL,
    LEAST,
    MOST,
    ON_THE_GPU,
    COMPUTE,
    COMMUNICATION,
    COPIES,
    IDLE,
    IN_GRAPHS
};

static const struct lpo_column group_columns[] = {
    [KIND] = { "kind", "Kind", LPO_CELL_TEXT, NULL, 0, 8 },
    [REQUESTS] = { "requests", "Requests", LPO_CELL_COUNT, NULL },
    [TOKENS] = { "tokens", "Tokens", LPO_CELL_COUNT, NULL },
    [STEPS] = { "count", "Steps", LPO_CELL_COUNT, NULL },
    [WALL] = { "wall_ns", "Wall", LPO_CELL_NS, NULL },
    [LEAST] = { "min_ns", "Least", LPO_CELL_NS, NULL, 3 },
    [MOST] = { "max_ns", "Most", LPO_CELL_NS, NULL, 2 },
    [ON_THE_GPU] = { "gpu_ns", "On the GPU", LPO_CELL_NS, NULL },
    [COMPUTE] = { "compute_ns", "Compute", LPO_CELL_NS, NULL },
    [COMMUNICATION] = { "exposed_communication_ns", "Exposed communication", LPO_CELL_NS, NULL, 1 },
    [COPIES] = { "exposed_copy_ns", "Exposed copies", LPO_CELL_NS, NULL, 4 },
    [IDLE] = { "idle_ns", "Idle", LPO_CELL_NS, NULL },
    [IN_GRAPHS] = { "graph_share", "In CUDA graphs", LPO_CELL_PERCENT, NULL },
};

static const struct lpo_column slow_columns[] = {
    { "step", "Step", LPO_CELL_TEXT, NULL },
    { "wall_ns", "Wall", LPO_CELL_NS, NULL },
    { "compute_ns", "Compute", LPO_CELL_NS, NULL },
    { "exposed_communication_ns", "Exposed communication", LPO_CELL_NS, NULL, 1 },
    { "idle_ns", "Idle", LPO_CELL_NS, NULL },
};

static void row_count_if(struct lpo_table *t, int64_t n)
{
    if (n < 0)
        lpo_doc_row_unknown(t);
    else
        lpo_doc_row_count(t, (uint64_t)n);
}

/* Servers have requests, tokens and graphs, trainings communicate: what no row has anything to say
 * about is the first to go where the table is too wide. */
static const struct lpo_column *columns_of(struct lpo_doc *doc, const struct lpo_program_steps *s)
{
    struct lpo_column *c = lpo_arena_alloc(doc->arena, sizeof group_columns);
    bool says[COUNT(group_columns)] = { false };

    memcpy(c, group_columns, sizeof group_columns);
    for (size_t i = 0; i < s->groups.len; i++) {
        const struct lpo_step_group *g = &s->groups.at[i];

        says[REQUESTS] |= g->requests >= 0;
        says[TOKENS] |= g->tokens >= 0;
        says[COMMUNICATION] |= g->exposed_communication_ns > 0;
        says[IN_GRAPHS] |= g->graph_operations > 0;
    }
    for (size_t i = 0; i < COUNT(group_columns); i++)
        if (!says[i] && (i == REQUESTS || i == TOKENS || i == COMMUNICATION || i == IN_GRAPHS))
            c[i].minor = NOTHING_TO_SAY;
    return c;
}

static void add_groups(struct lpo_doc *doc, const struct lpo_program_steps *s, bool gpu)
{
    struct lpo_table *t = lpo_doc_table(doc, "steps", "", columns_of(doc, s), COUNT(group_columns));

    for (size_t i = 0; i < s->groups.len && i < GROUPS; i++) {
        const struct lpo_step_group *g = &s->groups.at[i];
        const int64_t parts[] = { g->gpu_ns, g->compute_ns, g->exposed_communication_ns,
                                  g->exposed_copy_ns, g->idle_ns };

        lpo_doc_row_text(t, lpo_steps_kind_name(g->kind));
        row_count_if(t, g->requests);
        row_count_if(t, g->tokens);
        lpo_doc_row_count(t, g->count);
        lpo_doc_row_ns(t, g->wall_ns);
        lpo_doc_row_ns(t, g->min_ns);
        lpo_doc_row_ns(t, g->max_ns);
        for (size_t p = 0; p < COUNT(parts); p++) {
            if (gpu)
                lpo_doc_row_ns(t, parts[p]);
            else
                lpo_doc_row_unknown(t);
        }
        lpo_doc_row_share(t, (double)g->graph_operations, (double)g->operations);
    }
    if (s->groups.len > GROUPS)
        t->total_rows = s->groups.len;
}

static void add_slow(struct lpo_doc *doc, const struct lpo_program_steps *s,
                     const struct lpo_trace *t)
{
    struct lpo_table *table = NULL;
    size_t slow = 0;

    for (size_t i = 0; i < s->rows.len; i++) {
        const struct lpo_program_step *x = &s->rows.at[i];

        if (!x->slow || slow++ >= SLOW)
            continue;
        if (!table)
            table = lpo_doc_table(doc, "slow_steps", "Far slower than the others", slow_columns,
                                  COUNT(slow_columns));
        lpo_doc_row_textn(table, lpo_trace_text(t, x->name), lpo_trace_text_len(t, x->name));
        lpo_doc_row_ns(table, x->wall_ns);
        lpo_doc_row_ns(table, x->compute_ns);
        lpo_doc_row_ns(table, x->exposed_communication_ns);
        lpo_doc_row_ns(table, x->idle_ns);
    }
    if (slow > SLOW)
        table->total_rows = slow;
}

void lpo_report_chapter_steps(struct lpo_doc *doc, const struct lpo_source *s)
{
    const struct lpo_program_steps *steps = lpo_analysis_steps(s->analysis);

    if (!steps)
        return;
    lpo_doc_section(doc, "steps", "Steps", 1);
    lpo_doc_paragraph(
        doc,
        "Steps are ranges with names as %s gives them. Times are medians; the wall time goes to "
        "the start of "
        "the next step, the time on the GPU from the first to the last work that a step "
        "launched.",
        steps->family);
    add_groups(doc, steps, s->analysis->trace->gpu_ops.len > 0);
    add_slow(doc, steps, s->analysis->trace);
}

static void put_parts(struct lpo_record *r, bool gpu, int64_t span, int64_t compute, int64_t talk,
                      int64_t copy, int64_t idle)
{
    lpo_doc_put_int_if(r, "gpu_ns", gpu, span);
    lpo_doc_put_int_if(r, "compute_ns", gpu, compute);
    lpo_doc_put_int_if(r, "exposed_communication_ns", gpu, talk);
    lpo_doc_put_int_if(r, "exposed_copy_ns", gpu, copy);
    lpo_doc_put_int_if(r, "idle_ns", gpu, idle);
}

static void put_step(const void *ctx, size_t i, struct lpo_record *r)
{
    const struct lpo_analysis *a = ctx;
    const struct lpo_program_step *x = &lpo_analysis_steps(a)->rows.at[i];
    const struct lpo_step_facts *f = &x->facts;

    lpo_doc_put_name(r, "name", lpo_trace_text(a->trace, x->name),
                     lpo_trace_text_len(a->trace, x->name));
    lpo_doc_put_text(r, "kind", lpo_steps_kind_name(f->kind));
    lpo_doc_put_int_if(r, "requests", f->requests >= 0, f->requests);
    lpo_doc_put_int_if(r, "tokens", f->tokens >= 0, f->tokens);
    lpo_doc_put_int(r, "start_ns", x->start_ns);
    lpo_doc_put_int(r, "wall_ns", x->wall_ns);
    lpo_doc_put_int(r, "host_ns", x->host_ns);
    put_parts(r, x->device != UINT16_MAX, x->gpu_ns, x->compute_ns, x->exposed_communication_ns,
              x->exposed_copy_ns, x->idle_ns);
    lpo_doc_put_uint(r, "gpu_operations", x->operations);
    lpo_doc_put_flag(r, "slow", x->slow);
}

void lpo_report_put_steps(struct lpo_record *to, const struct lpo_analysis *a)
{
    const struct lpo_program_steps *s = lpo_analysis_steps(a);
    struct lpo_record *steps, *groups;

    if (!s)
        return;
    steps = lpo_doc_put_record(to, "steps");
    lpo_doc_put_text(steps, "named_by", s->family);
    lpo_doc_put_uint(steps, "count", s->rows.len);
    groups = lpo_doc_put_list(steps, "groups");
    for (size_t i = 0; i < s->groups.len; i++) {
        const struct lpo_step_group *g = &s->groups.at[i];
        struct lpo_record *r = lpo_doc_put_record(groups, NULL);

        lpo_doc_put_text(r, "kind", lpo_steps_kind_name(g->kind));
        lpo_doc_put_int_if(r, "requests", g->requests >= 0, g->requests);
        lpo_doc_put_uint(r, "count", g->count);
        lpo_doc_put_uint(r, "slow", g->slow);
        lpo_doc_put_int_if(r, "tokens", g->tokens >= 0, g->tokens);
        lpo_doc_put_int(r, "wall_ns", g->wall_ns);
        lpo_doc_put_int(r, "min_ns", g->min_ns);
        lpo_doc_put_int(r, "max_ns", g->max_ns);
        put_parts(r, a->trace->gpu_ops.len > 0, g->gpu_ns, g->compute_ns,
                  g->exposed_communication_ns, g->exposed_copy_ns, g->idle_ns);
        lpo_doc_put_uint(r, "gpu_operations", g->operations);
        lpo_doc_put_uint(r, "graph_operations", g->graph_operations);
    }
    lpo_doc_put_stream(steps, "steps", s->rows.len < IN_JSON ? s->rows.len : IN_JSON, put_step, a);
}
