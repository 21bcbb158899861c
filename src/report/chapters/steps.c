/* SPDX-License-Identifier: Apache-2.0 */
/* The chapter "Steps": what a step of a training or a batch of a server takes, by kind and size,
 * and the ones that took far longer than the others. */
#include "analysis/steps/steps.h"
#include "analysis/tables/tables.h"

#include "analysis/analysis.h"
#include "report/chapters/chapters.h"
#include "report/doc/doc.h"
#include "report/trace_records.h"
#include "rundir/rundir.h"

enum { GROUPS = 12, SLOW = 5, IN_JSON = 2000 };

/* Medians of a group; without GPU operations nothing is known of the GPU. */
typedef struct lpo_step_group group_row;

static struct lpo_cell gpu_cell(const struct lpo_rows *rows, int64_t ns)
{
    return lpo_cell_whole_if(lpo_tables_trace(rows)->gpu_ops.len > 0, ns);
}

#define GROUP(X)                                                                                   \
    X(group, kind, "Kind", TEXT, KEY, "step, prefill, decode or mixed",                            \
      lpo_steps_kind_name(r->kind), .width = 8)                                                    \
    X(group, requests, "Requests", COUNT, KEY, "of a step",                                        \
      lpo_cell_whole_if(r->requests >= 0, r->requests))                                            \
    X(group, tokens, "Tokens", COUNT, ADDS, "of all steps",                                        \
      lpo_cell_whole_if(r->tokens >= 0, r->tokens))                                                \
    X(group, count, "Steps", COUNT, ADDS, "of the group", r->count)                                \
    X(group, slow, "Slow", COUNT, ADDS, "far above the others", r->slow)                           \
    X(group, wall_ns, "Wall", NS, FACT, "median", r->wall_ns)                                      \
    X(group, min_ns, "Least", NS, LEAST, "wall time", r->min_ns, .minor = 3)                       \
    X(group, max_ns, "Most", NS, MOST, "wall time", r->max_ns, .minor = 2)                         \
    X(group, gpu_ns, "On the GPU", NS, FACT, "from the first to the last work",                    \
      gpu_cell(rows, r->gpu_ns))                                                                   \
    X(group, compute_ns, "Compute", NS, FACT, "of it", gpu_cell(rows, r->compute_ns))              \
    X(group, exposed_communication_ns, "Exposed communication", NS, FACT, "of it",                 \
      gpu_cell(rows, r->exposed_communication_ns), .minor = 1)                                     \
    X(group, exposed_copy_ns, "Exposed copies", NS, FACT, "of it",                                 \
      gpu_cell(rows, r->exposed_copy_ns), .minor = 4)                                              \
    X(group, idle_ns, "Idle", NS, FACT, "of it", gpu_cell(rows, r->idle_ns))                       \
    X(group, gpu_operations, "GPU operations", COUNT, ADDS, "of all steps", r->operations)         \
    X(group, graph_operations, "Of graphs", COUNT, ADDS, "GPU operations of CUDA graphs",          \
      r->graph_operations)                                                                         \
    X(group, graph_share, "In CUDA graphs", PERCENT, FACT, "of the GPU operations",                \
      lpo_cell_share((double)r->graph_operations, (double)r->operations))

LPO_TABLE(group, GROUP)

static const struct lpo_table_kind groups_kind =
    LPO_TABLE_KIND(group, "step_groups", "Steps of one kind and size");

static void add_slow(struct lpo_doc *doc, const struct lpo_tables_of *of,
                     const struct lpo_program_steps *s)
{
    LPO_FREED LPO_VEC(struct lpo_program_step) slow = { 0 };
    struct lpo_rows rows;

    for (size_t i = 0; i < s->rows.len; i++)
        if (s->rows.at[i].slow)
            lpo_vec_push(&slow, s->rows.at[i]);
    rows = lpo_tables_rows(of, &lpo_tables_steps, slow.at, slow.len);
    if (slow.len)
        lpo_doc_table_of(doc, "slow_steps", "Far slower than the others", &rows,
                         "step=name wall_ns compute_ns exposed_communication_ns~1 idle_ns", SLOW);
}

void lpo_report_chapter_steps(struct lpo_doc *doc, const struct lpo_source *s)
{
    const struct lpo_program_steps *steps = lpo_analysis_steps(s->analysis);
    const struct lpo_tables_of *of;
    struct lpo_rows rows;

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
    of = lpo_tables_of(doc->arena, s->analysis, NULL);
    rows = lpo_tables_rows(of, &groups_kind, steps->groups.at, steps->groups.len);
    lpo_doc_table_of(doc, "steps", "", &rows,
                     "kind requests? tokens? count wall_ns min_ns max_ns gpu_ns compute_ns "
                     "exposed_communication_ns+ exposed_copy_ns idle_ns graph_share+",
                     GROUPS);
    add_slow(doc, of, steps);
}

void lpo_report_put_steps(struct lpo_record *to, const struct lpo_analysis *a)
{
    const struct lpo_program_steps *s = lpo_analysis_steps(a);
    const struct lpo_tables_of *of = lpo_tables_of(to->arena, a, NULL);
    struct lpo_record *steps;
    struct lpo_rows rows;

    if (!s)
        return;
    steps = lpo_doc_put_record(to, "steps");
    lpo_doc_put(steps, LPO_KV("named_by", s->family), LPO_KV("count", s->rows.len));
    rows = lpo_tables_rows(of, &groups_kind, s->groups.at, s->groups.len);
    lpo_doc_put_rows(steps, "groups", &rows,
                     "kind requests count slow tokens wall_ns min_ns max_ns gpu_ns compute_ns "
                     "exposed_communication_ns exposed_copy_ns idle_ns gpu_operations "
                     "graph_operations");
    rows = lpo_tables_open_steps(of);
    rows.count = rows.count < IN_JSON ? rows.count : IN_JSON;
    lpo_doc_put_rows(steps, "steps", &rows,
                     "name kind requests tokens start_ns wall_ns host_ns gpu_ns compute_ns "
                     "exposed_communication_ns exposed_copy_ns idle_ns gpu_operations slow");
}
