/* SPDX-License-Identifier: Apache-2.0 */
/* In the chapter "Ranks": the steps of all ranks beside each other, and the ranks that are above
 * the others in some of them. */

#include "analysis/analysis.h"
#include "analysis/ranks/steps.h"
#include "analysis/tables/tables.h"
#include "report/chapters/chapters.h"
#include "report/doc/doc.h"
#include "report/trace_records.h"
#include "rundir/rundir.h"
#include "util/units.h"

enum { MOST_ROWS = 8, DRAWN = 2048 /* cells */ };

/* In the order of enum lpo_rank_step_part. */
static const char *const keys[LPO_RANK_STEP_PARTS] = {
    "wall_ns", "compute_ns", "exposed_communication_ns", "exposed_copy_ns", "idle_ns", "bubble_ns"
};

/* "12", or "12 to 15" of a column of several. */
static const char *step_text(struct lpo_arena *a, const struct lpo_rank_step_column *c)
{
    return c->first == c->last
               ? lpo_arena_printf(a, "%lld", (long long)c->first)
               : lpo_arena_printf(a, "%lld to %lld", (long long)c->first, (long long)c->last);
}

/* A column, and its number among them. */
typedef struct {
    const struct lpo_rank_step_column *c;
    size_t at;
} column_row;

LPO_COMPARE(odd_first, column_row, LPO_DOWN(c->odd_ns) ?: LPO_UP(at));

static struct lpo_cell odd_cell(const struct lpo_rows *rows, const struct lpo_rank_step_column *c)
{
    struct lpo_str *odd = lpo_table_scratch(rows);

    if (c->odd_rank < 0)
        return lpo_cell_unknown();
    lpo_str_addf(odd, "rank %d, %s +", c->odd_rank, lpo_ranks_step_part_name(c->odd_part));
    lpo_units_add_duration(odd, c->odd_ns);
    return lpo_cell_scratch(rows);
}

#define MEDIAN(X, key, title, part, ...)                                                           \
    X(column, key, title ", median", NS, FACT, "over the ranks, of one step",                      \
      r->c->median_ns[part], __VA_ARGS__)

#define COLUMN(X)                                                                                  \
    X(column, step, "Step", TEXT, KEY, "number, or the first to the last",                         \
      step_text(((const struct lpo_tables_of *)rows->of)->arena, r->c), .width = 8)                \
    X(column, first, "First", COUNT, KEY, "step of the column", r->c->first)                       \
    X(column, last, "Last", COUNT, KEY, "step of the column", r->c->last)                          \
    MEDIAN(X, wall_ns, "Wall", LPO_RANK_STEP_WALL)                                                 \
    MEDIAN(X, compute_ns, "Compute", LPO_RANK_STEP_COMPUTE)                                        \
    MEDIAN(X, exposed_communication_ns, "Exposed communication", LPO_RANK_STEP_COMMUNICATION,      \
           .minor = 1)                                                                             \
    MEDIAN(X, exposed_copy_ns, "Exposed copies", LPO_RANK_STEP_COPY)                               \
    MEDIAN(X, idle_ns, "Idle", LPO_RANK_STEP_IDLE)                                                 \
    X(column, odd, "Above the others", TEXT, FACT, "rank, part and by how much",                   \
      odd_cell(rows, r->c))                                                                        \
    X(column, odd_rank, "Odd rank", COUNT, FACT, "that is above the others",                       \
      lpo_cell_whole_if(r->c->odd_rank >= 0, r->c->odd_rank))                                      \
    X(column, odd_part, "Odd part", TEXT, FACT, "of the step",                                     \
      r->c->odd_rank < 0 ? NULL : lpo_ranks_step_part_name(r->c->odd_part))                        \
    X(column, odd_ns, "Above by", NS, FACT, "the median",                                          \
      lpo_cell_whole_if(r->c->odd_rank >= 0, r->c->odd_ns))

LPO_TABLE(column, COLUMN)

static const struct lpo_table_kind columns_kind =
    LPO_TABLE_KIND(column, "rank_steps", "Steps over ranks");

static struct lpo_rows column_rows(struct lpo_arena *arena, const struct lpo_ranks_steps *s)
{
    column_row *all = lpo_arena_array(arena, s->columns.len + 1, sizeof *all);

    for (size_t i = 0; i < s->columns.len; i++)
        all[i] = (column_row){ &s->columns.at[i], i };
    return lpo_tables_rows(lpo_tables_of(arena, NULL, NULL), &columns_kind, all, s->columns.len);
}

typedef struct lpo_rank_bubble bubble_row;

/* Means of one step. */
#define BUBBLE(X)                                                                                  \
    X(bubble, rank, "Rank", COUNT, KEY, "number of the rank", r->rank)                             \
    X(bubble, steps, "Steps", COUNT, ADDS, "that were summed", r->steps)                           \
    X(bubble, step_ns, "Steps", NS, ADDS, "time of all steps", r->step_ns)                         \
    X(bubble, bubble_ns, "Bubbles", NS, ADDS, "of that", r->bubble_ns)                             \
    X(bubble, idle_ns, "Idle", NS, ADDS, "of the bubbles", r->idle_ns)                             \
    X(bubble, waiting_ns, "Waiting", NS, ADDS, "of the bubbles", r->waiting_ns)                    \
    X(bubble, share, "Of the step", PERCENT, FACT, "bubbles",                                      \
      lpo_cell_share((double)r->bubble_ns, (double)r->step_ns))                                    \
    X(bubble, one_step_ns, "Step", NS, FACT, "mean of one", r->step_ns / (int64_t)r->steps)        \
    X(bubble, one_bubble_ns, "Bubble", NS, FACT, "mean of one step",                               \
      r->bubble_ns / (int64_t)r->steps)                                                            \
    X(bubble, one_idle_ns, "Idle", NS, FACT, "mean of one step", r->idle_ns / (int64_t)r->steps)   \
    X(bubble, one_waiting_ns, "In sends and receives", NS, FACT, "mean of one step",               \
      r->waiting_ns / (int64_t)r->steps)

LPO_TABLE(bubble, BUBBLE)

static const struct lpo_table_kind bubbles_kind =
    LPO_TABLE_KIND(bubble, "bubbles", "Pipeline bubbles by rank");

static struct lpo_rows bubble_rows(struct lpo_arena *arena, const struct lpo_ranks_steps *s)
{
    return lpo_tables_rows(lpo_tables_of(arena, NULL, NULL), &bubbles_kind, s->bubbles.at,
                           s->bubbles.len);
}

/* The rank that is above the others in most columns, and in how many. */
static size_t most_often(const struct lpo_ranks_steps *s, int32_t *rank)
{
    size_t *count = lpo_xcalloc(s->ranks.len, sizeof *count), most = 0, times;

    for (size_t i = 0; i < s->columns.len; i++)
        for (size_t k = 0; k < s->ranks.len && s->columns.at[i].odd_rank >= 0; k++)
            count[k] += s->columns.at[i].odd_rank == s->ranks.at[k];
    for (size_t k = 0; k < s->ranks.len; k++)
        most = count[k] > count[most] ? k : most;
    *rank = s->ranks.at[most];
    times = count[most];
    free(count);
    return times;
}

static void add_words(struct lpo_doc *doc, const struct lpo_ranks_steps *s)
{
    int32_t rank;
    size_t times = most_often(s, &rank);

    lpo_doc_paragraph(doc,
                      "Steps of %zu ranks beside each other, as %s names them%s. Times are those "
                      "of one step, medians over the ranks.",
                      s->ranks.len, s->family,
                      s->numbered ? "" : "; the names have no numbers, so they are counted from 0");
    if (s->per_column > 1)
        lpo_doc_paragraph(doc,
                          "%zu steps are too many to be shown one by one: %zu of them are one "
                          "row here.",
                          s->steps, s->per_column);
    if (times)
        lpo_doc_paragraph(doc,
                          "Rank %d differs most often: in %zu of %zu%s it computes, or is idle, "
                          "for clearly longer than the others.",
                          rank, times, s->columns.len,
                          s->per_column > 1     ? " rows"
                          : s->columns.len == 1 ? " step"
                                                : " steps");
    if (s->left_out)
        lpo_doc_note(doc, LPO_NOTE_INFO, "%llu steps of some ranks have no counterpart",
                     (unsigned long long)s->left_out);
}

/* Compute is what differs where one rank is slow: the others wait for it, so all steps last as
 * long. */
static void add_figure(struct lpo_doc *doc, const struct lpo_ranks_steps *s)
{
    struct lpo_figure *f;

    if (s->ranks.len * s->columns.len > DRAWN)
        return; /* the page draws any number of them */
    f = lpo_doc_figure(doc, "rank_steps", "Compute time of ranks × steps", LPO_FIG_HEAT);
    f->x_title = "Step";
    f->y_title = "ns";
    for (size_t i = 0; i < s->ranks.len; i++) {
        const char *label = lpo_arena_printf(f->arena, "rank %d", s->ranks.at[i]);

        for (size_t k = 0; k < s->columns.len; k++) {
            const struct lpo_rank_step *cell = lpo_ranks_steps_cell(s, i, k);

            if (cell->on_gpu)
                lpo_doc_figure_point(f, step_text(f->arena, &s->columns.at[k]), label, (double)k,
                                     (double)lpo_ranks_step_mean(cell, LPO_RANK_STEP_COMPUTE));
        }
    }
}

static void add_bubbles(struct lpo_doc *doc, const struct lpo_ranks_steps *s)
{
    const struct lpo_rows rows = bubble_rows(doc->arena, s);

    if (!rows.count)
        return;
    lpo_doc_paragraph(doc, "These ranks send to each other as stages of a pipeline do. A bubble is "
                           "the part of a step, from its first GPU operation on any rank to that "
                           "of the next, in which a rank is idle or only sends and receives.");
    lpo_doc_table_of(doc, "bubbles", "Pipeline bubbles, of one step", &rows,
                     "rank step_ns=one_step_ns bubble_ns=one_bubble_ns share idle_ns=one_idle_ns "
                     "waiting_ns=one_waiting_ns",
                     MOST_ROWS);
}

void lpo_report_chapter_rank_steps(struct lpo_doc *doc, const struct lpo_source *source)
{
    const struct lpo_ranks_steps *s = lpo_analysis_rank_steps(source->analysis);
    struct lpo_rows rows;

    if (!s)
        return;
    lpo_doc_section(doc, "rank_steps", "Ranks × steps", 2);
    add_words(doc, s);
    add_figure(doc, s);
    rows = column_rows(doc->arena, s);
    qsort((void *)(uintptr_t)rows.at, rows.count, sizeof(column_row), odd_first);
    lpo_doc_table_of(doc, "rank_steps", "", &rows,
                     "step wall_ns compute_ns exposed_communication_ns idle_ns odd", MOST_ROWS);
    add_bubbles(doc, s);
}

static void put_row(const void *ctx, size_t row, struct lpo_record *to)
{
    const struct lpo_ranks_steps *s = ctx;
    struct lpo_record *list;

    lpo_doc_put(to, LPO_KV("rank", s->ranks.at[row]));
    list = lpo_doc_put_list(to, "steps");
    for (size_t k = 0; k < s->columns.len; k++)
        lpo_doc_put(list, LPO_V(lpo_ranks_steps_cell(s, row, k)->steps));
    for (size_t part = 0; part < (s->bubbles.len ? LPO_RANK_STEP_PARTS : LPO_RANK_STEP_BUBBLE);
         part++) {
        list = lpo_doc_put_list(to, keys[part]);
        for (size_t k = 0; k < s->columns.len; k++) {
            const struct lpo_rank_step *cell = lpo_ranks_steps_cell(s, row, k);

            lpo_doc_put(list,
                        LPO_V(lpo_jv_int_if(lpo_ranks_step_known(cell, part) > 0, cell->ns[part])));
        }
    }
}

void lpo_report_put_rank_steps(struct lpo_record *to, const struct lpo_analysis *a)
{
    const struct lpo_ranks_steps *s = lpo_analysis_rank_steps(a);
    struct lpo_record *all;
    struct lpo_rows rows;

    if (!s)
        return;
    all = lpo_doc_put_record(to, "rank_steps");
    lpo_doc_put(all, LPO_KV("named_by", s->family), LPO_KV("numbered", s->numbered),
                LPO_KV("steps", s->steps), LPO_KV("steps_per_column", s->per_column),
                LPO_KV("left_out", s->left_out));
    rows = column_rows(to->arena, s);
    lpo_doc_put_rows(
        all, "columns", &rows,
        "first last wall_ns compute_ns exposed_communication_ns exposed_copy_ns idle_ns "
        "odd_rank odd_part odd_ns");
    lpo_doc_put_stream(all, "rows", s->ranks.len, put_row, s);
    rows = bubble_rows(to->arena, s);
    if (rows.count)
        lpo_doc_put_rows(all, "bubbles", &rows,
                         "rank steps step_ns bubble_ns idle_ns waiting_ns share");
}
