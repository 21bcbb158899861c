/* SPDX-License-Identifier: Apache-2.0 */
/* Splitting rows on a second thread, a few hundred kilobytes ahead of whoever reads them. */
#include "util/csv_ahead.h"

#include <stdlib.h>
#include <string.h>

#include "util/ahead.h"
#include "util/arena.h"
#include "util/csv.h"
#include "util/err.h"
#include "util/vec.h"

enum { BATCH_BYTES = 192 << 10 };

struct row {
    uint32_t first, count; /* cells */
    uint64_t line;
};

/* Rows that are ready. Their text is copied, so that the file's window may move on. */
struct batch {
    char *text;
    size_t len, cap;
    LPO_VEC(struct lpo_csv_cell) cells;
    LPO_VEC(struct row) rows;
    uint64_t skipped;
    int code; /* 1: more batches follow; 0: the end; negative: cannot be read on */
};

struct lpo_csv_ahead {
    struct lpo_csv *from; /* the thread's */
    bool waiting;         /* a row of `from` that did not fit into the batch before */
    struct lpo_err err;
    struct lpo_ahead *batches;
    struct batch *reading; /* the reader's; NULL before the first */
    size_t next;           /* its row that comes next */
};

/* The bytes of the row in c->cells; all lie between its first cell and the end of its last. */
static size_t row_bytes(const struct lpo_csv *c, const char **from)
{
    const struct lpo_csv_cell *last = &c->cells[c->count - 1];

    *from = c->cells[0].at;
    return (size_t)(last->at + last->len - *from);
}

/* False when the batch is full; an empty one takes a row of any size. */
static bool add_row(struct batch *b, const struct lpo_csv *c)
{
    const char *from;
    size_t len = row_bytes(c, &from);

    if (b->len + len > b->cap) {
        if (b->rows.len > 0)
            return false;
        b->cap = len > BATCH_BYTES ? len : BATCH_BYTES;
        b->text = lpo_xrealloc(b->text, b->cap, 1);
    }
    lpo_vec_push(&b->rows, (struct row){ (uint32_t)b->cells.len, (uint32_t)c->count, c->line });
    lpo_vec_reserve(&b->cells, b->cells.len + c->count);
    for (size_t i = 0; i < c->count; i++) {
        struct lpo_csv_cell cell = c->cells[i];

        cell.at = b->text + b->len + (cell.at - from);
        b->cells.at[b->cells.len++] = cell;
    }
    memcpy(b->text + b->len, from, len);
    b->len += len;
    return true;
}

static bool fill(void *ctx, void *batch)
{
    struct lpo_csv_ahead *a = ctx;
    struct batch *b = batch;

    b->len = b->cells.len = b->rows.len = 0;
    b->code = 1;
    if (a->waiting)
        add_row(b, a->from);
    a->waiting = false;
    while (!a->waiting && (b->code = lpo_csv_next(a->from, &a->err)) > 0)
        a->waiting = !add_row(b, a->from);
    b->skipped = a->from->skipped;
    return b->code > 0;
}

static void release(void *batch)
{
    struct batch *b = batch;

    free(b->text);
    lpo_vec_free(&b->cells);
    lpo_vec_free(&b->rows);
}

struct lpo_csv_ahead *lpo_csv_ahead_start(struct lpo_csv *from)
{
    struct lpo_csv_ahead *a = lpo_xcalloc(1, sizeof *a);

    a->from = from;
    a->batches = lpo_ahead_start(sizeof(struct batch), fill, a);
    if (a->batches)
        return a;
    free(a);
    return NULL;
}

void lpo_csv_ahead_stop(struct lpo_csv_ahead *a)
{
    lpo_ahead_stop(a->batches, release);
    lpo_csv_destroy(a->from);
    free(a);
}

int lpo_csv_ahead_next(struct lpo_csv_ahead *a, struct lpo_csv *to, struct lpo_err *err)
{
    struct batch *b = a->reading;

    while (!b || a->next == b->rows.len) {
        if (b && b->code <= 0) {
            to->cut = a->from->cut; /* the thread is done with it */
            if (b->code < 0 && err)
                *err = a->err;
            return b->code;
        }
        b = a->reading = lpo_ahead_next(a->batches);
        if (!b)
            return 0;
        a->next = 0;
        to->skipped = b->skipped;
    }
    to->cells = b->cells.at + b->rows.at[a->next].first;
    to->count = b->rows.at[a->next].count;
    to->line = b->rows.at[a->next].line;
    a->next++;
    return 1;
}
