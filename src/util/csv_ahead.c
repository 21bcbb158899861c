/* Splitting rows on a second thread, a few hundred kilobytes ahead of whoever reads them. */
#include "util/csv_ahead.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "util/arena.h"
#include "util/csv.h"
#include "util/err.h"
#include "util/vec.h"

enum { BATCHES = 3, BATCH_BYTES = 256 << 10 };

struct row {
    uint32_t first, count; /* cells */
    uint64_t line;
};

/* Rows that are ready. Their text is copied, so that the file's window may move on. */
struct batch {
    char *text;
    size_t len, cap;
    LPO_VEC(struct lpo_cell) cells;
    LPO_VEC(struct row) rows;
    uint64_t skipped;
    bool last;
    int code; /* of the last batch: 0, or why it is the last */
};

struct lpo_csv_ahead {
    struct lpo_csv *from; /* the thread's */
    bool waiting;         /* a row of `from` that did not fit into the batch before */
    struct lpo_err err;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t moved;
    struct batch batches[BATCHES];
    uint64_t filled, emptied; /* batches ever */
    bool stop;
    struct batch *reading; /* the reader's; NULL before the first */
    size_t next;           /* its row that comes next */
};

/* The bytes of the row in c->cells; all lie between its first cell and the end of its last. */
static size_t row_bytes(const struct lpo_csv *c, const char **from)
{
    const struct lpo_cell *last = &c->cells[c->count - 1];

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
        struct lpo_cell cell = c->cells[i];

        cell.at = b->text + b->len + (cell.at - from);
        b->cells.at[b->cells.len++] = cell;
    }
    memcpy(b->text + b->len, from, len);
    b->len += len;
    return true;
}

static void fill(struct lpo_csv_ahead *a, struct batch *b)
{
    int rc = 1;

    b->len = b->cells.len = b->rows.len = 0;
    b->last = false;
    if (a->waiting)
        add_row(b, a->from);
    a->waiting = false;
    while (!a->waiting && (rc = lpo_csv_next(a->from, &a->err)) > 0)
        a->waiting = !add_row(b, a->from);
    b->skipped = a->from->skipped;
    b->last = rc <= 0;
    b->code = rc;
}

static void *run(void *arg)
{
    struct lpo_csv_ahead *a = arg;
    bool last = false;

    while (!last) {
        struct batch *b = &a->batches[a->filled % BATCHES];

        pthread_mutex_lock(&a->lock);
        while (!a->stop && a->filled - a->emptied == BATCHES)
            pthread_cond_wait(&a->moved, &a->lock);
        last = a->stop;
        pthread_mutex_unlock(&a->lock);
        if (last)
            break;
        fill(a, b);
        last = b->last;
        pthread_mutex_lock(&a->lock);
        a->filled++;
        pthread_cond_broadcast(&a->moved);
        pthread_mutex_unlock(&a->lock);
    }
    return NULL;
}

struct lpo_csv_ahead *lpo_csv_ahead_start(struct lpo_csv *from)
{
    struct lpo_csv_ahead *a = lpo_xcalloc(1, sizeof *a);

    a->from = from;
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->moved, NULL);
    if (pthread_create(&a->thread, NULL, run, a) == 0)
        return a;
    pthread_mutex_destroy(&a->lock);
    pthread_cond_destroy(&a->moved);
    free(a);
    return NULL;
}

void lpo_csv_ahead_stop(struct lpo_csv_ahead *a)
{
    pthread_mutex_lock(&a->lock);
    a->stop = true;
    pthread_cond_broadcast(&a->moved);
    pthread_mutex_unlock(&a->lock);
    pthread_join(a->thread, NULL);
    lpo_csv_destroy(a->from);
    for (int i = 0; i < BATCHES; i++) {
        free(a->batches[i].text);
        lpo_vec_free(&a->batches[i].cells);
        lpo_vec_free(&a->batches[i].rows);
    }
    pthread_mutex_destroy(&a->lock);
    pthread_cond_destroy(&a->moved);
    free(a);
}

/* The batch being read, once it is there. */
static struct batch *current(struct lpo_csv_ahead *a)
{
    pthread_mutex_lock(&a->lock);
    while (a->filled == a->emptied)
        pthread_cond_wait(&a->moved, &a->lock);
    pthread_mutex_unlock(&a->lock);
    return &a->batches[a->emptied % BATCHES];
}

static void give_back(struct lpo_csv_ahead *a)
{
    pthread_mutex_lock(&a->lock);
    a->emptied++;
    pthread_cond_broadcast(&a->moved);
    pthread_mutex_unlock(&a->lock);
    a->next = 0;
}

int lpo_csv_ahead_next(struct lpo_csv_ahead *a, struct lpo_csv *to, struct lpo_err *err)
{
    struct batch *b = a->reading;

    while (!b || a->next == b->rows.len) {
        if (b && b->last) {
            to->cut = a->from->cut; /* the thread is done with it */
            if (b->code < 0 && err)
                *err = a->err;
            return b->code;
        }
        if (b)
            give_back(a);
        b = a->reading = current(a);
        /* cppcheck-suppress nullPointerRedundantCheck ; current() waits for one */
        to->skipped = b->skipped;
    }
    to->cells = b->cells.at + b->rows.at[a->next].first;
    to->count = b->rows.at[a->next].count;
    to->line = b->rows.at[a->next].line;
    a->next++;
    return 1;
}
