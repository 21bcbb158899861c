/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ranks/steps.h"

#include "analysis/ranks/private.h"
#include "analysis/ranks/ranks.h"
#include "analysis/steps/steps.h"
#include "region/tree.h"

/* Cells: 2 MB here, and about as much in report.json. */
enum { MOST_CELLS = 32768, ODD_SHARE = 20 /* a twentieth */, ODD_DISTANCES = 4 };

struct build {
    const struct lpo_trace *t;
    const struct lpo_program_steps *in;
    const struct lpo_ranks *clocks;
    struct lpo_ranks_steps *out;
    uint32_t *rows;    /* of each step: its rank; LPO_NONE: of none */
    uint32_t *places;  /* of each step: among all steps, before they are folded; LPO_NONE */
    int64_t *numbers;  /* of each place */
    size_t *row_steps; /* of each rank */
};

LPO_NAMES(lpo_ranks_step_part_name, enum lpo_rank_step_part, "wall", "compute",
          "exposed communication", "exposed copies", "idle", "pipeline bubble");

LPO_COMPARE(by_rank, int32_t, LPO_UP_OF(*a, *b));

LPO_COMPARE(by_number, int64_t, LPO_UP_OF(*a, *b));

static int32_t rank_of(const struct build *b, size_t step)
{
    return b->t->processes.at[b->in->rows.at[step].process].rank;
}

static void find_rows(struct build *b)
{
    struct lpo_ranks_steps *s = b->out;
    size_t n = 0;

    for (size_t i = 0; i < b->in->rows.len; i++)
        if (rank_of(b, i) >= 0 && (!i || rank_of(b, i) != rank_of(b, i - 1)))
            lpo_vec_push(&s->ranks, rank_of(b, i));
    lpo_vec_sort(&s->ranks, by_rank);
    for (size_t i = 0; i < s->ranks.len; i++)
        if (!n || s->ranks.at[n - 1] != s->ranks.at[i])
            s->ranks.at[n++] = s->ranks.at[i];
    s->ranks.len = n;
    b->row_steps = lpo_xcalloc(n + 1, sizeof *b->row_steps);
    for (size_t i = 0; i < b->in->rows.len; i++) {
        int32_t rank = rank_of(b, i);
        const int32_t *at =
            rank < 0 || !n ? NULL : bsearch(&rank, s->ranks.at, n, sizeof rank, by_rank);

        b->rows[i] = at ? (uint32_t)(at - s->ranks.at) : LPO_NONE;
        if (at)
            b->row_steps[b->rows[i]]++;
    }
}

/* By the numbers of their names, where each has one and no rank has one twice. */
static bool place_by_number(struct build *b)
{
    size_t count = b->in->rows.len, n = 0;
    int64_t *all = b->numbers;
    LPO_FREED bool *seen = NULL;

    for (size_t i = 0; i < count; i++)
        if (b->rows[i] != LPO_NONE) {
            if (b->in->rows.at[i].facts.number < 0)
                return false;
            all[n++] = b->in->rows.at[i].facts.number;
        }
    qsort(all, n, sizeof *all, by_number);
    b->out->steps = 0;
    for (size_t i = 0; i < n; i++)
        if (!b->out->steps || all[b->out->steps - 1] != all[i])
            all[b->out->steps++] = all[i];
    seen = lpo_xcalloc(b->out->steps + 1, sizeof *seen);
    for (size_t i = 0, row = SIZE_MAX; i < count; i++) {
        const int64_t *at;

        if (b->rows[i] == LPO_NONE)
            continue;
        if (b->rows[i] != row)
            for (size_t k = 0; k < b->out->steps; k++)
                seen[k] = false;
        row = b->rows[i];
        at = bsearch(&b->in->rows.at[i].facts.number, all, b->out->steps, sizeof *all, by_number);
        b->places[i] = (uint32_t)(at - all);
        if (seen[b->places[i]])
            return false;
        seen[b->places[i]] = true;
    }
    return true;
}

static void place_in_order(struct build *b)
{
    LPO_FREED size_t *next = lpo_xcalloc(b->out->ranks.len + 1, sizeof *next);

    b->out->steps = 0;
    for (size_t i = 0; i < b->in->rows.len; i++) {
        if (b->rows[i] == LPO_NONE)
            continue;
        b->places[i] = (uint32_t)next[b->rows[i]]++;
        if (next[b->rows[i]] > b->out->steps)
            b->out->steps = next[b->rows[i]];
    }
    for (size_t i = 0; i < b->out->steps; i++)
        b->numbers[i] = (int64_t)i;
}

static const struct lpo_rank_row *clock_of(const struct lpo_ranks *r, int32_t rank)
{
    for (size_t i = 0; r && i < r->rows.len; i++)
        if (r->rows.at[i].rank == rank)
            return r->rows.at[i].aligned ? &r->rows.at[i] : NULL;
    return NULL;
}

/* Steps that began nearest to each other on one clock; the rank with most steps has the places. */
static bool place_by_clock(struct build *b)
{
    const struct lpo_ranks_steps *s = b->out;
    LPO_FREED int64_t *offsets = lpo_xcalloc(s->ranks.len + 1, sizeof *offsets);
    LPO_FREED LPO_VEC(int64_t) starts = { 0 };
    size_t most = 0;
    bool known = true;

    for (size_t i = 0; i < s->ranks.len && known; i++) {
        const struct lpo_rank_row *row = clock_of(b->clocks, s->ranks.at[i]);

        known = row != NULL;
        offsets[i] = row ? row->offset_ns : 0;
        most = b->row_steps[i] > b->row_steps[most] ? i : most;
    }
    for (size_t i = 0; known && i < b->in->rows.len; i++)
        if (b->rows[i] == most)
            lpo_vec_push(&starts, b->in->rows.at[i].start_ns - offsets[most]);
    for (size_t i = 0, at = 0, row = SIZE_MAX; known && i < b->in->rows.len; i++) {
        const struct lpo_program_step *x = &b->in->rows.at[i];
        int64_t start, half = x->wall_ns / 2;
        uint32_t last = i && b->rows[i] == row ? b->places[i - 1] : LPO_NONE;

        if (b->rows[i] == LPO_NONE)
            continue;
        if (b->rows[i] != row)
            at = 0;
        row = b->rows[i];
        start = x->start_ns - offsets[row];
        while (at + 1 < starts.len &&
               llabs(starts.at[at + 1] - start) <= llabs(starts.at[at] - start))
            at++;
        b->places[i] = (last != LPO_NONE && at <= last) || llabs(starts.at[at] - start) > half
                           ? LPO_NONE
                           : (uint32_t)at;
    }
    b->out->steps = known ? starts.len : b->out->steps;
    return known;
}

static void place(struct build *b)
{
    bool equal = true;

    b->out->numbered = place_by_number(b);
    if (b->out->numbered)
        return;
    place_in_order(b);
    for (size_t i = 1; i < b->out->ranks.len; i++)
        equal &= b->row_steps[i] == b->row_steps[0];
    if (!equal && !place_by_clock(b))
        place_in_order(b);
}

static void add_columns(struct build *b)
{
    struct lpo_ranks_steps *s = b->out;
    size_t most = MOST_CELLS / s->ranks.len;

    most = most ? most : 1;
    s->per_column = s->steps ? (s->steps + most - 1) / most : 1;
    for (size_t i = 0; i < s->steps; i += s->per_column) {
        size_t last = i + s->per_column < s->steps ? i + s->per_column - 1 : s->steps - 1;

        lpo_vec_push(&s->columns, (struct lpo_rank_step_column){ .first = b->numbers[i],
                                                                 .last = b->numbers[last],
                                                                 .odd_rank = -1 });
    }
}

static void add_cells(struct build *b)
{
    struct lpo_ranks_steps *s = b->out;

    s->cells = lpo_xcalloc(s->ranks.len * s->columns.len, sizeof *s->cells);
    for (size_t i = 0; i < b->in->rows.len; i++) {
        const struct lpo_program_step *x = &b->in->rows.at[i];
        struct lpo_rank_step *cell;

        if (b->rows[i] == LPO_NONE)
            continue;
        if (b->places[i] == LPO_NONE) {
            s->left_out++;
            continue;
        }
        cell = &s->cells[b->rows[i] * s->columns.len + b->places[i] / s->per_column];
        cell->steps++;
        cell->ns[LPO_RANK_STEP_WALL] += x->wall_ns;
        if (x->device == UINT16_MAX)
            continue;
        cell->on_gpu++;
        cell->ns[LPO_RANK_STEP_COMPUTE] += x->compute_ns;
        cell->ns[LPO_RANK_STEP_COMMUNICATION] += x->exposed_communication_ns;
        cell->ns[LPO_RANK_STEP_COPY] += x->exposed_copy_ns;
        cell->ns[LPO_RANK_STEP_IDLE] += x->idle_ns;
    }
}

/* The values of a part over the ranks that have the column. */
static size_t values_of(const struct lpo_ranks_steps *s, size_t column,
                        enum lpo_rank_step_part part, int64_t *out)
{
    size_t n = 0;

    for (size_t i = 0; i < s->ranks.len; i++) {
        const struct lpo_rank_step *cell = lpo_ranks_steps_cell(s, i, column);

        if (lpo_ranks_step_known(cell, part))
            out[n++] = lpo_ranks_step_mean(cell, part);
    }
    return n;
}

static void find_odd(const struct lpo_ranks_steps *s, size_t column, enum lpo_rank_step_part part,
                     int64_t *room)
{
    struct lpo_rank_step_column *c = &s->columns.at[column];
    size_t n = values_of(s, column, part, room);
    int64_t distance;

    for (size_t i = 0; i < n; i++)
        room[i] = llabs(room[i] - c->median_ns[part]);
    distance = lpo_ranks_median(room, n);
    for (size_t i = 0; i < s->ranks.len; i++) {
        const struct lpo_rank_step *cell = lpo_ranks_steps_cell(s, i, column);
        int64_t above = cell->on_gpu ? lpo_ranks_step_mean(cell, part) - c->median_ns[part] : 0;

        if (above > c->median_ns[LPO_RANK_STEP_WALL] / ODD_SHARE &&
            above / ODD_DISTANCES > distance && above > c->odd_ns) {
            c->odd_rank = s->ranks.at[i];
            c->odd_part = part;
            c->odd_ns = above;
        }
    }
}

static void judge(struct lpo_ranks_steps *s)
{
    LPO_FREED int64_t *room = lpo_xcalloc(s->ranks.len + 1, sizeof *room);

    for (size_t i = 0; i < s->columns.len; i++) {
        for (int part = 0; part < LPO_RANK_STEP_PARTS; part++)
            s->columns.at[i].median_ns[part] = lpo_ranks_median(room, values_of(s, i, part, room));
        find_odd(s, i, LPO_RANK_STEP_COMPUTE, room);
        find_odd(s, i, LPO_RANK_STEP_IDLE, room);
    }
}

struct lpo_ranks_steps *lpo_ranks_steps_create(const struct lpo_region_tree *tree,
                                               const struct lpo_program_steps *steps,
                                               const struct lpo_ranks *clocks)
{
    struct build b = { .t = tree->trace, .in = steps, .clocks = clocks };
    LPO_AUTO(lpo_ranks_steps) out = lpo_xcalloc(1, sizeof *out);
    struct lpo_ranks_steps *done = NULL;

    b.out = out;
    out->family = steps->family;
    b.rows = lpo_xcalloc(steps->rows.len + 1, sizeof *b.rows);
    b.places = lpo_xcalloc(steps->rows.len + 1, sizeof *b.places);
    b.numbers = lpo_xcalloc(steps->rows.len + 1, sizeof *b.numbers);
    find_rows(&b);
    if (out->ranks.len > 1) {
        place(&b);
        add_columns(&b);
        add_cells(&b);
        if (clocks)
            lpo_ranks_bubbles_add(tree, steps, clocks, b.rows, b.places, out);
        judge(out);
        done = out;
        out = NULL;
    }
    free(b.rows);
    free(b.places);
    free(b.numbers);
    free(b.row_steps);
    return done;
}

void lpo_ranks_steps_destroy(struct lpo_ranks_steps *s)
{
    if (!s)
        return;
    lpo_vec_free(&s->ranks);
    lpo_vec_free(&s->columns);
    lpo_vec_free(&s->bubbles);
    free(s->cells);
    free(s);
}
