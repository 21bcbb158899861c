/* SPDX-License-Identifier: Apache-2.0 */
/* In the chapter "Ranks": the steps of all ranks beside each other, and the ranks that are above
 * the others in some of them. */
#include <stdlib.h>

#include "analysis/analysis.h"
#include "analysis/ranks/steps.h"
#include "report/chapters/chapters.h"
#include "report/doc/doc.h"
#include "report/trace_records.h"
#include "rundir/rundir.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/units.h"
#include "util/xmalloc.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

enum { MOST_ROWS = 8, DRAWN = 2048 /* cells */ };

static const struct lpo_column columns[] = {
    { "step", "Step", LPO_CELL_TEXT, NULL, 0, 8 },
    { "wall_ns", "Wall, median", LPO_CELL_NS, NULL },
    { "compute_ns", "Compute, median", LPO_CELL_NS, NULL },
    { "exposed_communication_ns", "Exposed communication, median", LPO_CELL_NS, NULL, 1 },
    { "idle_ns", "Idle, median", LPO_CELL_NS, NULL },
    { "odd", "Above the others", LPO_CELL_TEXT, NULL },
};

static const struct lpo_column bubble_columns[] = {
    { "rank", "Rank", LPO_CELL_COUNT, NULL },
    { "step_ns", "Step", LPO_CELL_NS, NULL },
    { "bubble_ns", "Bubble", LPO_CELL_NS, NULL },
    { "share", "Of the step", LPO_CELL_PERCENT, NULL },
    { "idle_ns", "Idle", LPO_CELL_NS, NULL },
    { "waiting_ns", "In sends and receives", LPO_CELL_NS, NULL },
};

static const enum lpo_rank_step_part shown[] = { LPO_RANK_STEP_WALL, LPO_RANK_STEP_COMPUTE,
                                                 LPO_RANK_STEP_COMMUNICATION, LPO_RANK_STEP_IDLE };

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

struct place {
    const struct lpo_rank_step_column *c;
    size_t at;
};

static int odd_first(const void *x, const void *y)
{
    const struct place *a = x, *b = y;

    if (a->c->odd_ns != b->c->odd_ns)
        return a->c->odd_ns > b->c->odd_ns ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

static void add_row(struct lpo_table *t, const struct lpo_rank_step_column *c)
{
    LPO_STR odd = { 0 };

    lpo_doc_row_text(t, step_text(t->arena, c));
    for (size_t i = 0; i < COUNT(shown); i++)
        lpo_doc_row_ns(t, c->median_ns[shown[i]]);
    if (c->odd_rank < 0) {
        lpo_doc_row_text(t, NULL);
        return;
    }
    lpo_str_addf(&odd, "rank %d, %s +", c->odd_rank, lpo_ranks_step_part_name(c->odd_part));
    lpo_units_add_duration(&odd, c->odd_ns);
    lpo_doc_row_textn(t, lpo_str_text(&odd), odd.len);
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

/* Means of one step. */
static void add_bubbles(struct lpo_doc *doc, const struct lpo_ranks_steps *s)
{
    struct lpo_table *t;

    if (!s->bubbles.len)
        return;
    lpo_doc_paragraph(doc, "These ranks send to each other as stages of a pipeline do. A bubble is "
                           "the part of a step, from its first GPU operation on any rank to that "
                           "of the next, in which a rank is idle or only sends and receives.");
    t = lpo_doc_table(doc, "bubbles", "Pipeline bubbles, of one step", bubble_columns,
                      COUNT(bubble_columns));
    for (size_t i = 0; i < s->bubbles.len && i < MOST_ROWS; i++) {
        const struct lpo_rank_bubble *b = &s->bubbles.at[i];
        int64_t steps = (int64_t)b->steps;

        lpo_doc_row_count(t, (uint64_t)b->rank);
        lpo_doc_row_ns(t, b->step_ns / steps);
        lpo_doc_row_ns(t, b->bubble_ns / steps);
        lpo_doc_row_share(t, (double)b->bubble_ns, (double)b->step_ns);
        lpo_doc_row_ns(t, b->idle_ns / steps);
        lpo_doc_row_ns(t, b->waiting_ns / steps);
    }
    if (s->bubbles.len > MOST_ROWS)
        t->total_rows = s->bubbles.len;
}

void lpo_report_chapter_rank_steps(struct lpo_doc *doc, const struct lpo_source *source)
{
    const struct lpo_ranks_steps *s = lpo_analysis_rank_steps(source->analysis);
    struct lpo_table *t;
    struct place *places;

    if (!s)
        return;
    lpo_doc_section(doc, "rank_steps", "Ranks × steps", 2);
    add_words(doc, s);
    add_figure(doc, s);
    t = lpo_doc_table(doc, "rank_steps", "", columns, COUNT(columns));
    places = lpo_xcalloc(s->columns.len, sizeof *places);
    for (size_t i = 0; i < s->columns.len; i++)
        places[i] = (struct place){ &s->columns.at[i], i };
    qsort(places, s->columns.len, sizeof *places, odd_first);
    for (size_t i = 0; i < s->columns.len && i < MOST_ROWS; i++)
        add_row(t, places[i].c);
    if (s->columns.len > MOST_ROWS)
        t->total_rows = s->columns.len;
    free(places);
    add_bubbles(doc, s);
}

static void put_column(struct lpo_record *to, const struct lpo_rank_step_column *c)
{
    lpo_doc_put_int(to, "first", c->first);
    lpo_doc_put_int(to, "last", c->last);
    for (size_t i = 0; i < LPO_RANK_STEP_BUBBLE; i++)
        lpo_doc_put_int(to, keys[i], c->median_ns[i]);
    lpo_doc_put_int_if(to, "odd_rank", c->odd_rank >= 0, c->odd_rank);
    lpo_doc_put_text(to, "odd_part",
                     c->odd_rank < 0 ? NULL : lpo_ranks_step_part_name(c->odd_part));
    lpo_doc_put_int_if(to, "odd_ns", c->odd_rank >= 0, c->odd_ns);
}

static void put_row(const void *ctx, size_t row, struct lpo_record *to)
{
    const struct lpo_ranks_steps *s = ctx;
    struct lpo_record *list;

    lpo_doc_put_int(to, "rank", s->ranks.at[row]);
    list = lpo_doc_put_list(to, "steps");
    for (size_t k = 0; k < s->columns.len; k++)
        lpo_doc_put_uint(list, NULL, lpo_ranks_steps_cell(s, row, k)->steps);
    for (size_t part = 0; part < (s->bubbles.len ? LPO_RANK_STEP_PARTS : LPO_RANK_STEP_BUBBLE);
         part++) {
        list = lpo_doc_put_list(to, keys[part]);
        for (size_t k = 0; k < s->columns.len; k++) {
            const struct lpo_rank_step *cell = lpo_ranks_steps_cell(s, row, k);

            lpo_doc_put_int_if(list, NULL, lpo_ranks_step_known(cell, part) > 0, cell->ns[part]);
        }
    }
}

void lpo_report_put_rank_steps(struct lpo_record *to, const struct lpo_analysis *a)
{
    const struct lpo_ranks_steps *s = lpo_analysis_rank_steps(a);
    struct lpo_record *all, *list;

    if (!s)
        return;
    all = lpo_doc_put_record(to, "rank_steps");
    lpo_doc_put_text(all, "named_by", s->family);
    lpo_doc_put_flag(all, "numbered", s->numbered);
    lpo_doc_put_uint(all, "steps", s->steps);
    lpo_doc_put_uint(all, "steps_per_column", s->per_column);
    lpo_doc_put_uint(all, "left_out", s->left_out);
    list = lpo_doc_put_list(all, "columns");
    for (size_t i = 0; i < s->columns.len; i++)
        put_column(lpo_doc_put_record(list, NULL), &s->columns.at[i]);
    lpo_doc_put_stream(all, "rows", s->ranks.len, put_row, s);
    if (!s->bubbles.len)
        return;
    list = lpo_doc_put_list(all, "bubbles");
    for (size_t i = 0; i < s->bubbles.len; i++) {
        const struct lpo_rank_bubble *b = &s->bubbles.at[i];
        struct lpo_record *one = lpo_doc_put_record(list, NULL);

        lpo_doc_put_int(one, "rank", b->rank);
        lpo_doc_put_uint(one, "steps", b->steps);
        lpo_doc_put_int(one, "step_ns", b->step_ns);
        lpo_doc_put_int(one, "bubble_ns", b->bubble_ns);
        lpo_doc_put_int(one, "idle_ns", b->idle_ns);
        lpo_doc_put_int(one, "waiting_ns", b->waiting_ns);
        lpo_doc_put_measure(one, "share",
                            lpo_measure_measured((double)b->bubble_ns / (double)b->step_ns));
    }
}
