/* SPDX-License-Identifier: Apache-2.0 */
/* Operators (what the host called, and the GPU operations inside): the chapter, operators.md, and
 * `lpo operators` for people and machines. */
#include "analysis/operators/operators.h"
#include "analysis/analysis.h"
#include "analysis/tables/tables.h"
#include "report/chapters/chapters.h"
#include "report/doc/doc.h"
#include "report/documents.h"
#include "report/tables/tables.h"
#include "report/trace_records.h"
#include "report/what_ran.h"
#include "rundir/rundir.h"

enum { IN_REPORT = 20, LEAST_ROWS = 10, OPERATORS = 200, WITH_KERNELS = 40, KERNELS_EACH = 8 };

/* --- for machines ----------------------------------------------------------------------------- */

#define RATES "flops bytes flops_per_second bytes_per_second share_of_roof bound best_us to_best"

/* The same call in CUDA graphs, and what a backward pass did again; nothing where there is none. */
static void put_again(const struct lpo_rows *rows, size_t i, struct lpo_record *out)
{
    const struct lpo_operator *o = lpo_tables_operator(rows, i);

    if (o->replayed) {
        const struct lpo_rows replayed = lpo_tables_as_replayed(rows);

        lpo_doc_put_row(lpo_doc_put_record(out, "replayed"), &replayed, i,
                        "calls gpu_ns_self gpu_ns_total " RATES);
    }
    if (o->recomputed)
        lpo_doc_put(lpo_doc_put_record(out, "recomputed"), LPO_KV("calls", o->recomputed),
                    LPO_KV("gpu_ns_self", o->recomputed_self_ns));
}

typedef struct lpo_operator_replays replays_row;

#define REPLAYS(X)                                                                                 \
    X(replays, launches, "Launches", COUNT, ADDS, "of graphs", r->launches)                        \
    X(replays, kernels, "Kernels", COUNT, ADDS, "in graphs", r->kernels)                           \
    X(replays, gpu_ns, "GPU time", NS, ADDS, "of these kernels", r->ns)                            \
    X(replays, joined_launches, "Joined", COUNT, ADDS, "launches joined with operators",           \
      r->joined_launches)                                                                          \
    X(replays, joined_kernels, "Joined kernels", COUNT, ADDS, "kernels of these",                  \
      r->joined_kernels)                                                                           \
    X(replays, joined_gpu_ns, "Joined time", NS, ADDS, "of these kernels", r->joined_ns)           \
    X(replays, captured_launches, "By capture", COUNT, ADDS, "joined by their capture alone",      \
      r->captured_launches)                                                                        \
    X(replays, ambiguous_launches, "Ambiguous", COUNT, ADDS,                                       \
      "launches that fit several operators", r->ambiguous_launches)

LPO_TABLE(replays, REPLAYS)

static const struct lpo_table_kind replays_kind =
    LPO_TABLE_KIND(replays, "replays", "Kernels of CUDA graphs that are joined with operators");

void lpo_report_put_operators(struct lpo_doc *doc, const struct lpo_analysis *a,
                              const struct lpo_hardware *hw, size_t most)
{
    const struct lpo_tables_of *of = lpo_tables_of(doc->arena, a, hw);
    struct lpo_rows rows = lpo_tables_operators_as(of, LPO_OPERATORS_BY_SHAPES);
    const struct lpo_operator_replays *replays = &lpo_analysis_operators(a, true)->replays;

    rows.count = most && most < rows.count ? most : rows.count;
    lpo_doc_put_rows_and(doc->data, "operators", &rows,
                         "name shapes dtypes calls host_ns host_ns_self gpu_ns_self gpu_ns_total "
                         "gpu_operations_self gpu_operations_total " RATES,
                         put_again);
    if (replays->kernels) {
        const struct lpo_rows one = lpo_tables_rows(of, &replays_kind, replays, 1);

        lpo_doc_put_row(lpo_doc_put_record(doc->data, "replays"), &one, 0, NULL);
    }
    lpo_doc_put(doc->data, LPO_KV("roof", !hw ? NULL : hw->label ? hw->label : hw->name));
}

/* --- for people ------------------------------------------------------------------------------- */

struct lpo_table *lpo_report_add_operator_shapes(struct lpo_doc *doc, const struct lpo_analysis *a,
                                                 const struct lpo_hardware *hw, size_t most)
{
    const struct lpo_rows rows =
        lpo_tables_operators_as(lpo_tables_of(doc->arena, a, hw), LPO_OPERATORS_BY_SHAPES);

    return lpo_doc_table_of(
        doc, "operator_shapes", "", &rows,
        "calls gpu_ns_self share~3 gpu_ns_total~1 host_ns~5 flops_per_second "
        "bytes_per_second share_of_roof best_us to_best bound operator=name shapes dtypes",
        most);
}

static void add_replay_notes(struct lpo_doc *doc, const struct lpo_operator_replays *r)
{
    lpo_doc_note(doc, LPO_NOTE_INFO,
                 "%.1f %% of the time of kernels in CUDA graphs is joined with operators%s%s",
                 r->ns > 0 ? 100.0 * (double)r->joined_ns / (double)r->ns : 0,
                 r->captured_launches < r->joined_launches
                     ? " that ran the same kernels outside of graphs"
                     : "",
                 r->joined_kernels ? ""
                                   : "; give the trace of the capture beside this one, with its "
                                     "warm-up where there is one");
    if (r->captured_launches)
        lpo_doc_note(doc, LPO_NOTE_INFO,
                     "%llu of %llu launches of graphs are joined with a capture by the number and "
                     "order of kernels: nothing else says which kernel is of which operator",
                     (unsigned long long)r->captured_launches, (unsigned long long)r->launches);
    if (r->ambiguous_launches)
        lpo_doc_note(doc, LPO_NOTE_INFO,
                     "%llu of %llu launches of graphs fit several operators or shapes and are not "
                     "joined; give only the trace that captured the same batch size",
                     (unsigned long long)r->ambiguous_launches, (unsigned long long)r->launches);
}

void lpo_report_add_replays(struct lpo_doc *doc, const struct lpo_analysis *a,
                            const struct lpo_hardware *hw, size_t most)
{
    const struct lpo_operator_replays *r = &lpo_analysis_operators(a, true)->replays;
    struct lpo_rows rows;

    if (!r->kernels)
        return;
    rows = lpo_tables_operators_as(lpo_tables_of(doc->arena, a, hw), LPO_OPERATORS_REPLAYED);
    if (rows.count)
        lpo_doc_table_of(
            doc, "replayed", "In CUDA graphs", &rows,
            "calls gpu_ns_self share~3 gpu_ns_total~1 flops_per_second "
            "bytes_per_second share_of_roof best_us to_best bound~5 operator=name shapes dtypes",
            most);
    add_replay_notes(doc, r);
}

struct lpo_table *lpo_report_add_operators(struct lpo_doc *doc, const struct lpo_analysis *a,
                                           const char *id, size_t most)
{
    const struct lpo_rows rows =
        lpo_tables_operators_as(lpo_tables_of(doc->arena, a, NULL), LPO_OPERATORS_BY_NAME);
    const bool graphs = lpo_analysis_operators(a, false)->replays.joined_kernels > 0;

    return lpo_doc_table_of(
        doc, id, "", &rows,
        graphs ? "calls cpu_total_ns=host_ns~1 cpu_self_ns=host_ns_self cpu_mean_ns=host_ns_mean "
                 "gpu_total_ns=gpu_ns_total gpu_self_ns=gpu_ns_self gpu_mean_ns=gpu_ns_mean share "
                 "gpu_ops=gpu_operations_self~2 replayed_self_ns=replayed_ns_self operator=name"
               : "calls cpu_total_ns=host_ns~1 cpu_self_ns=host_ns_self cpu_mean_ns=host_ns_mean "
                 "gpu_total_ns=gpu_ns_total gpu_self_ns=gpu_ns_self gpu_mean_ns=gpu_ns_mean share "
                 "gpu_ops=gpu_operations_self~2 operator=name",
        most);
}

/* What an operator launched itself, under one name. */
typedef struct {
    const struct lpo_operator *o;
    const struct lpo_operator_kernel *k;
} launched_row;

#define LAUNCHED(X)                                                                                \
    X(launched, operator, "Operator", TEXT, KEY, "that launched it",                               \
      lpo_tables_name(rows, r->o->name))                                                           \
    X(launched, launches, "Launches", COUNT, ADDS, "of it", r->k->count)                           \
    X(launched, gpu_ns, "GPU time", NS, ADDS, "of these", r->k->ns)                                \
    X(launched, mean_ns, "Mean", NS, FACT, "of one",                                               \
      r->k->ns / (int64_t)(r->k->count ? r->k->count : 1))                                         \
    X(launched, share, "Share", PERCENT, FACT, "of the GPU time of all operations",                \
      lpo_cell_share((double)r->k->ns,                                                             \
                     (double)lpo_analysis_operators(lpo_tables_analysis(rows), false)->all.ns))    \
    X(launched, kernel, "GPU operation", TEXT, KEY, "as the source prints it",                     \
      lpo_tables_kernel(rows, r->k->name))

LPO_TABLE(launched, LAUNCHED)

static const struct lpo_table_kind launched_kind =
    LPO_TABLE_KIND(launched, "operator_kernels", "What each operator launched itself");

void lpo_report_put_operator_kernels(const struct lpo_rows *rows, size_t i, struct lpo_record *out)
{
    const struct lpo_operator *o = lpo_tables_operator(rows, i);
    const struct lpo_operators *ops = lpo_analysis_operators(lpo_tables_analysis(rows), false);
    launched_row *all = lpo_arena_array(out->arena, o->nkernels + 1, sizeof *all);
    struct lpo_rows kernels;

    for (size_t k = 0; k < o->nkernels; k++)
        all[k] = (launched_row){ o, &ops->kernels.at[o->kernels + k] };
    kernels = lpo_tables_rows(rows->of, &launched_kind, all, o->nkernels);
    lpo_doc_put_rows(out, "kernels", &kernels, "kernel launches gpu_ns");
}

void lpo_report_add_operator_kernels(struct lpo_doc *doc, const struct lpo_analysis *a, size_t most,
                                     size_t kernels)
{
    const struct lpo_tables_of *of = lpo_tables_of(doc->arena, a, NULL);
    const struct lpo_operators *ops = lpo_analysis_operators(a, false);
    const struct lpo_rows from = lpo_tables_operators_as(of, LPO_OPERATORS_BY_NAME);
    LPO_FREED LPO_VEC(launched_row) all = { 0 };
    struct lpo_rows rows;

    for (size_t i = 0; i < from.count && i < most; i++) {
        const struct lpo_operator *o = lpo_tables_operator(&from, i);

        for (size_t k = 0; k < o->nkernels && k < kernels; k++)
            lpo_vec_push(&all, (launched_row){ o, &ops->kernels.at[o->kernels + k] });
    }
    rows = lpo_tables_kept(of, &launched_kind, all.at, all.len, sizeof *all.at);
    lpo_doc_table_of(doc, "operator_kernels", "", &rows, NULL, 0);
}

/* NULL: not known; the chapter of limits says why. */
static const struct lpo_hardware *hardware_of(const struct lpo_rundir *d,
                                              const struct lpo_source *s)
{
    const struct lpo_hardware *hw = NULL;
    struct lpo_err ignored = { 0 };

    return lpo_rundir_hardware(d, s, &hw, &ignored) < 0 ? NULL : hw;
}

void lpo_report_chapter_operators(struct lpo_doc *doc, const struct lpo_rundir *d)
{
    const struct lpo_source *s = lpo_rundir_source_with(d, LPO_ROLE_OPERATORS);
    struct lpo_table *t;

    if (!s || !s->analysis->trace->ops.len)
        return;
    lpo_doc_section(doc, "operators", "Most expensive operators", 1);
    lpo_doc_section_page(doc, "operators.md");
    lpo_doc_paragraph(doc,
                      "From %s. Total includes the operators called inside, self does not; "
                      "operators.md has all, and what they launched.",
                      s->what);
    t = lpo_report_add_operator_shapes(doc, s->analysis, hardware_of(d, s), IN_REPORT);
    t->least_rows = LEAST_ROWS;
    t = lpo_report_add_operators(doc, s->analysis, "operators", IN_REPORT);
    t->detail = true;
}

struct lpo_doc *lpo_report_operators_doc(const struct lpo_rundir *d, const struct lpo_source *s)
{
    struct lpo_doc *doc = lpo_doc_create("operators", "Operators");
    const char *stage = lpo_rundir_stage_with(d, LPO_ROLE_OPERATORS);
    const struct lpo_hardware *hw;
    const char *why = !s && stage ? lpo_report_why_stage_left_no_trace(d, stage) : NULL;

    if (why) {
        lpo_doc_paragraph(doc, "No operators were recorded in this run. %s: %s.", stage, why);
        return doc;
    }
    if (!s || !s->analysis->trace->ops.len) {
        lpo_doc_paragraph(doc, s ? "The PyTorch profiler recorded no operators: add cpu to "
                                   "pipeline.torch_profiler.activities."
                                 : "No operators were recorded in this run: they come from the "
                                   "PyTorch profiler (pipeline.torch_profiler.enable=true).");
        return doc;
    }
    lpo_doc_section(doc, "operators", "By operator", 1);
    lpo_doc_paragraph(doc,
                      "From %s. Total includes the operators called inside, self does not; "
                      "GPU time is that of the GPU operations launched inside.",
                      s->what);
    if (!s->analysis->trace->gpu_ops.len)
        lpo_doc_note(doc, LPO_NOTE_INFO,
                     "No GPU operations were recorded, so GPU times are not known.");
    lpo_report_add_operators(doc, s->analysis, "operators", OPERATORS);
    lpo_doc_section(doc, "shapes", "By operator and input shapes", 1);
    hw = hardware_of(d, s);
    lpo_report_add_operator_shapes(doc, s->analysis, hw, OPERATORS);
    lpo_report_add_replays(doc, s->analysis, hw, OPERATORS);
    if (s->analysis->trace->gpu_ops.len) {
        lpo_doc_section(doc, "operator_kernels", "GPU operations by operator", 1);
        lpo_doc_paragraph(doc, "What an operator launched itself, not through others.");
        lpo_report_add_operator_kernels(doc, s->analysis, WITH_KERNELS, KERNELS_EACH);
    }
    return doc;
}
