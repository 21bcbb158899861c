/* SPDX-License-Identifier: Apache-2.0 */
/* The list of all tables; and those of the ladder, whose titles are sentences. */
#include "report/catalog.h"

#include "analysis/analysis.h"
#include "analysis/ladder/ladder.h"
#include "analysis/tables/tables.h"
#include "report/findings/findings.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/vec.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* A rung and the ladder it belongs to. */
struct rung_at {
    struct lpo_ladder_words words;
    const struct lpo_rung *rung;
    size_t number; /* from 1 */
};

static struct lpo_cell evidence_cell(const struct lpo_rows *rows, const struct rung_at *r)
{
    struct lpo_str *s = lpo_table_scratch(rows);

    for (size_t i = 0; i < r->rung->nevidence; i++)
        lpo_str_addf(s, "%s%s", i ? " " : "",
                     lpo_report_rung_fact(&r->words, &r->rung->evidence[i]));
    return lpo_cell_scratch(rows);
}

static struct lpo_cell process_cell(const struct lpo_rows *rows, const struct rung_at *r)
{
    const struct lpo_trace *t = ((const struct lpo_tables_of *)rows->of)->a->trace;
    int64_t pid = r->words.ladder ? t->processes.at[r->words.ladder->process].pid : -1;

    return lpo_cell_whole_if(pid >= 0, pid);
}

#define ON_CLOCK (r->words.ladder != NULL)

LPO_CELL(rung_process, struct rung_at, process_cell(rows, r))
LPO_CELL(rung_number, struct rung_at, lpo_cell_count(r->number))
LPO_CELL(rung_id, struct rung_at, lpo_cell_text(lpo_ladder_id(r->rung->kind)))
LPO_CELL(rung_title, struct rung_at, lpo_cell_text(lpo_report_rung_title(&r->words, r->rung)))
LPO_CELL(rung_where, struct rung_at, lpo_cell_text(lpo_report_rung_where(&r->words, r->rung)))
LPO_CELL(rung_saving, struct rung_at, lpo_cell_whole_if(ON_CLOCK, r->rung->saving_ns))
LPO_CELL(rung_share, struct rung_at,
         ON_CLOCK ? lpo_cell_share((double)r->rung->saving_ns, (double)r->words.ladder->wall_ns)
                  : lpo_cell_unknown())
LPO_CELL(rung_alone, struct rung_at, lpo_cell_whole_if(ON_CLOCK, r->rung->alone_ns))
LPO_CELL(rung_after, struct rung_at, lpo_cell_whole_if(ON_CLOCK, r->rung->after_ns))
LPO_CELL(rung_basis, struct rung_at, lpo_cell_text(lpo_ladder_basis_name(r->rung->basis)))
LPO_CELL(rung_evidence, struct rung_at, evidence_cell(rows, r))
LPO_CELL(rung_advice, struct rung_at, lpo_cell_text(lpo_report_rung_advice(&r->words, r->rung)))

#define RUNG_COLUMNS                                                                               \
    { "number",           "Rung",                                                                  \
      LPO_CELL_COUNT,     .meaning = "from 1, the largest saving first",                           \
      .get = rung_number, .role = LPO_COLUMN_KEY },                                                \
        { "id",           "Kind",                                                                  \
          LPO_CELL_TEXT,  .meaning = "kind of the change, as in docs/findings.md",                 \
          .get = rung_id, .role = LPO_COLUMN_KEY },                                                \
        { "where",           "Where",                                                              \
          LPO_CELL_TEXT,     .meaning = "file and line or operator, region; else the GPU",         \
          .get = rung_where, .role = LPO_COLUMN_KEY },                                             \
        { "saving_ns",        "Saving",                                                            \
          LPO_CELL_NS,        .meaning = "wall time that it saves on top of the rungs before it",  \
          .get = rung_saving, .role = LPO_COLUMN_ADDS },                                           \
        { "share", "Share", LPO_CELL_PERCENT, .meaning = "of the window", .get = rung_share },     \
        { "basis", "Basis", LPO_CELL_TEXT,                                                         \
          .meaning = "measured, simulated, estimated or reference", .get = rung_basis },

static const struct lpo_column finding_columns[] = {
    RUNG_COLUMNS{ "title", "Finding", LPO_CELL_TEXT, .meaning = "what it is", .get = rung_title },
    { "evidence", "Evidence", LPO_CELL_TEXT, .meaning = "why lpo thinks so", .get = rung_evidence },
    { "advice", "Advice", LPO_CELL_TEXT, .meaning = "what to do", .get = rung_advice },
};

static const struct lpo_column ladder_columns[] = {
    RUNG_COLUMNS{ "alone_ns", "Alone", LPO_CELL_NS, .meaning = "what it saves by itself",
                  .get = rung_alone },
    { "after_ns", "After", LPO_CELL_NS, .meaning = "what is left of the window after it",
      .get = rung_after },
    { "process", "Process", LPO_CELL_COUNT, .meaning = "whose window it is", .get = rung_process,
      .role = LPO_COLUMN_KEY },
};

static const struct lpo_table_kind findings_kind = {
    "findings", "What to change first: the rungs of the main ladder, in its order", finding_columns,
    COUNT(finding_columns)
};
static const struct lpo_table_kind ladder_kind = {
    "ladder", "From the measured time down to the floor, for each process", ladder_columns,
    COUNT(ladder_columns)
};

typedef LPO_VEC(struct rung_at) rung_rows;

static bool keep_rungs(const struct lpo_tables_of *of, rung_rows *rungs, struct lpo_rows *out)
{
    struct rung_at *kept = lpo_arena_array(of->arena, rungs->len + 1, sizeof *kept);

    for (size_t i = 0; i < rungs->len; i++)
        kept[i] = rungs->at[i];
    *out = (struct lpo_rows){ .count = rungs->len, .of = of, .at = kept };
    lpo_vec_free(rungs);
    return true;
}

static bool open_findings(const void *of, struct lpo_rows *out)
{
    const struct lpo_tables_of *o = of;
    struct lpo_ladder_words w = lpo_report_ladder_words(o->arena, o->d, o->s);
    const struct lpo_rung *r;
    rung_rows rungs = { 0 };

    for (size_t i = 0; (r = lpo_report_rung_at(&w, i)); i++)
        lpo_vec_push(&rungs, (struct rung_at){ w, r, i + 1 });
    return keep_rungs(o, &rungs, out);
}

static bool open_ladder(const void *of, struct lpo_rows *out)
{
    const struct lpo_tables_of *o = of;
    struct lpo_ladder_words w = lpo_report_ladder_words(o->arena, o->d, o->s);
    rung_rows rungs = { 0 };

    for (size_t i = 0; w.all && i < w.all->all.len; i++) {
        w.ladder = &w.all->all.at[i];
        for (size_t k = 0; k < w.ladder->rungs.len; k++)
            lpo_vec_push(&rungs, (struct rung_at){ w, &w.ladder->rungs.at[k], k + 1 });
    }
    return keep_rungs(o, &rungs, out);
}

const struct lpo_table_source lpo_report_catalog[] = {
    { &findings_kind, open_findings },
    { &ladder_kind, open_ladder },
    { &lpo_tables_wall, lpo_tables_open_wall },
    { &lpo_tables_gaps, lpo_tables_open_gaps },
    { &lpo_tables_steps, lpo_tables_open_steps },
    { &lpo_tables_regions, lpo_tables_open_regions },
    { &lpo_tables_kernels, lpo_tables_open_kernels },
    { &lpo_tables_operators, lpo_tables_open_operators },
    { &lpo_tables_collectives, lpo_tables_open_collectives },
    { &lpo_tables_ranks, lpo_tables_open_ranks },
    { &lpo_tables_metrics, lpo_tables_open_metrics },
    { &lpo_tables_slices, lpo_tables_open_slices },
    { &lpo_tables_launches, lpo_tables_open_launches },
    { &lpo_tables_gpu_ops, lpo_tables_open_gpu_ops },
    { &lpo_tables_memory, lpo_tables_open_memory },
    { &lpo_tables_flight, lpo_tables_open_flight },
    { NULL, NULL },
};
