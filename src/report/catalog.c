/* SPDX-License-Identifier: Apache-2.0 */
/* The list of all tables; and those of the ladder, whose titles are sentences. */
#include "report/catalog.h"

#include "analysis/analysis.h"
#include "analysis/ladder/ladder.h"
#include "analysis/tables/tables.h"
#include "report/findings/findings.h"

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

#define ON_CLOCK lpo_report_rung_has_time(&r->words, r->rung)

typedef struct rung_at rung_row;

#define RUNG(X)                                                                                    \
    X(rung, number, "Rung", COUNT, KEY, "from 1, the largest saving first", r->number)             \
    X(rung, id, "Kind", TEXT, KEY, "kind of the change, as in docs/findings.md",                   \
      lpo_ladder_ids[r->rung->kind])                                                               \
    X(rung, where, "Where", TEXT, KEY, "file and line or operator, region; else the GPU",          \
      lpo_report_rung_where(&r->words, r->rung))                                                   \
    X(rung, saving_ns, "Saving", NS, ADDS,                                                         \
      "wall time that it saves on top of the rungs before it",                                     \
      lpo_cell_whole_if(ON_CLOCK, r->rung->saving_ns))                                             \
    X(rung, share, "Share", PERCENT, FACT, "of the window",                                        \
      ON_CLOCK ? lpo_cell_share((double)r->rung->saving_ns, (double)r->words.ladder->wall_ns)      \
               : lpo_cell_unknown())                                                               \
    X(rung, basis, "Basis", TEXT, FACT, "measured, simulated, estimated or reference",             \
      lpo_ladder_basis_name(r->rung->basis))

#define FINDING(X)                                                                                 \
    X(rung, title, "Finding", TEXT, FACT, "what it is", lpo_report_rung_title(&r->words, r->rung)) \
    X(rung, evidence, "Evidence", TEXT, FACT, "why lpo thinks so", evidence_cell(rows, r))         \
    X(rung, advice, "Advice", TEXT, FACT, "what to do", lpo_report_rung_advice(&r->words, r->rung))

#define STEP(X)                                                                                    \
    X(rung, alone_ns, "Alone", NS, FACT, "what it saves by itself",                                \
      lpo_cell_whole_if(ON_CLOCK, r->rung->alone_ns))                                              \
    X(rung, after_ns, "After", NS, FACT, "what is left of the window after it",                    \
      lpo_cell_whole_if(ON_CLOCK, r->rung->after_ns))                                              \
    X(rung, process, "Process", COUNT, KEY, "whose window it is", process_cell(rows, r))

LPO_TABLE_ROWS(rung)
RUNG(LPO_TABLE_GETTER)
FINDING(LPO_TABLE_GETTER)
STEP(LPO_TABLE_GETTER)

static const struct lpo_column finding_columns[] = { RUNG(LPO_TABLE_COLUMN)
                                                         FINDING(LPO_TABLE_COLUMN) };
static const struct lpo_column ladder_columns[] = { RUNG(LPO_TABLE_COLUMN) STEP(LPO_TABLE_COLUMN) };

static const struct lpo_table_kind findings_kind = LPO_TABLE_KIND(
    finding, "findings", "What to change first: the rungs of the main ladder, in its order");
static const struct lpo_table_kind ladder_kind =
    LPO_TABLE_KIND(ladder, "ladder", "From the measured time down to the floor, for each process");

typedef LPO_VEC(struct rung_at) rung_rows;

static struct lpo_rows open_findings(const void *of)
{
    const struct lpo_tables_of *o = of;
    struct lpo_ladder_words w = lpo_report_ladder_words(o->arena, o->d, o->s);
    const struct lpo_rung *r;
    LPO_FREED rung_rows rungs = { 0 };
    struct lpo_rows out;

    for (size_t i = 0; (r = lpo_report_rung_at(&w, i)); i++)
        lpo_vec_push(&rungs, (struct rung_at){ w, r, i + 1 });
    out = lpo_tables_kept(of, &findings_kind, rungs.at, rungs.len, sizeof *rungs.at);
    return out;
}

static struct lpo_rows open_ladder(const void *of)
{
    const struct lpo_tables_of *o = of;
    struct lpo_ladder_words w = lpo_report_ladder_words(o->arena, o->d, o->s);
    LPO_FREED rung_rows rungs = { 0 };
    struct lpo_rows out;

    for (size_t i = 0; w.all && i < w.all->all.len; i++) {
        w.ladder = &w.all->all.at[i];
        for (size_t k = 0; k < w.ladder->rungs.len; k++)
            lpo_vec_push(&rungs, (struct rung_at){ w, &w.ladder->rungs.at[k], k + 1 });
    }
    out = lpo_tables_kept(of, &ladder_kind, rungs.at, rungs.len, sizeof *rungs.at);
    return out;
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
    { &lpo_tables_critical_steps, lpo_tables_open_critical_steps },
    { &lpo_tables_metrics, lpo_tables_open_metrics },
    { &lpo_tables_slices, lpo_tables_open_slices },
    { &lpo_tables_launches, lpo_tables_open_launches },
    { &lpo_tables_gpu_ops, lpo_tables_open_gpu_ops },
    { &lpo_tables_memory, lpo_tables_open_memory },
    { &lpo_tables_flight, lpo_tables_open_flight },
    { NULL, NULL },
};
