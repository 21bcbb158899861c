/* SPDX-License-Identifier: Apache-2.0 */
#include "util/csv.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "util/ahead.h"
#include "util/input.h"

static struct lpo_csv *create(void)
{
    struct lpo_csv *c = lpo_xcalloc(1, sizeof *c);

    c->window = "";
    c->next_line = 1;
    return c;
}

int lpo_csv_open(const char *path, struct lpo_csv **out, struct lpo_err *err)
{
    struct lpo_input *in = NULL;
    int rc = lpo_input_open(path, &in, err);

    if (rc < 0)
        return rc;
    *out = create();
    (*out)->in = in;
    return 0;
}

struct lpo_csv *lpo_csv_text(const char *bytes, size_t len)
{
    struct lpo_csv *c = create();

    c->copy = lpo_xmalloc(len);
    memcpy(c->copy, bytes, len);
    c->window = c->copy;
    c->len = len;
    c->eof = true;
    return c;
}

/* --- rows split on a second thread, a few hundred kilobytes ahead of whoever reads them ------- */

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

/* Takes `from` over; NULL, and `from` untouched, when no thread is to be had. */
static struct lpo_csv_ahead *start_ahead(struct lpo_csv *from)
{
    struct lpo_csv_ahead *a = lpo_xcalloc(1, sizeof *a);

    a->from = from;
    a->batches = lpo_ahead_start(sizeof(struct batch), fill, a);
    if (a->batches)
        return a;
    free(a);
    return NULL;
}

/* destroys `from` too */
static void stop_ahead(struct lpo_csv_ahead *a)
{
    lpo_ahead_stop(a->batches, release);
    lpo_csv_destroy(a->from);
    free(a);
}

/* As lpo_csv_next, into the public fields of `to`. */
static int next_of_ahead(struct lpo_csv_ahead *a, struct lpo_csv *to, struct lpo_err *err)
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

void lpo_csv_destroy(struct lpo_csv *c)
{
    if (!c)
        return;
    if (c->ahead)
        stop_ahead(c->ahead); /* the cells are its */
    else
        free(c->cells);
    lpo_input_destroy(c->in);
    free(c->copy);
    free(c);
}

void lpo_csv_read_ahead(struct lpo_csv *c)
{
    struct lpo_csv *from = lpo_xmalloc(sizeof *from);

    if (c->ahead)
        return;
    *from = *c;
    from->cells = NULL; /* the present row stays with its reader */
    from->cells_cap = 0;
    c->ahead = start_ahead(from);
    if (!c->ahead) {
        free(from);
        return;
    }
    c->in = NULL;
    c->copy = NULL;
    free(c->cells);
    c->cells = NULL;
    c->count = 0;
}

/* More bytes behind those not yet consumed; at the end of the file sets eof. */
static int refill(struct lpo_csv *c, struct lpo_err *err)
{
    struct lpo_input_window w;
    int rc;

    if (c->len - c->at > LPO_CSV_ROW_LIMIT)
        return lpo_fail(err, LPO_E_LIMIT, "line %llu: a row of more than %zu MiB (a lost quote?)",
                        (unsigned long long)c->next_line, LPO_CSV_ROW_LIMIT >> 20);
    rc = lpo_input_next(c->in, c->len - c->at, &w, err);
    if (rc < 0)
        return rc;
    c->window = w.at;
    c->len = w.len;
    c->at = 0;
    c->eof = rc == 0;
    c->cut = c->eof && lpo_input_damage(c->in) != NULL;
    return 0;
}

/* The first `"` at or after p; `end` when there is none. */
static const char *find_quote(const char *p, const char *end)
{
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"');

    for (; end - p >= 16; p += 16) {
        unsigned hit =
            (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)p), quote));

        if (hit)
            return p + __builtin_ctz(hit);
    }
#endif
    while (p < end && *p != '"')
        p++;
    return p;
}

/* `p` is behind the opening quote. Sets *next behind the closing one; false when the window
 * ends before the cell does. */
static bool quoted_cell(const struct lpo_csv *c, const char *p, struct lpo_csv_cell *cell,
                        const char **next)
{
    const char *end = c->window + c->len;
    const char *q = find_quote(p, end);
    bool doubled = false;

    while (end - q > 1 && q[1] == '"') {
        doubled = true;
        q = find_quote(q + 2, end);
    }
    if (end - q <= 1 && !c->eof)
        return false;
    *cell = (struct lpo_csv_cell){ p, (uint32_t)(q - p), doubled };
    *next = q < end ? q + 1 : end;
    return true;
}

static const char *bare_end(const char *p, const char *end)
{
    while (p < end && *p != ',' && *p != '\n')
        p++;
    return p;
}

static void push_cell(struct lpo_csv *c, struct lpo_csv_cell cell)
{
    if (c->count == c->cells_cap) {
        c->cells_cap = c->cells_cap ? c->cells_cap * 2 : 64;
        c->cells = lpo_xrealloc(c->cells, c->cells_cap, sizeof *c->cells);
    }
    c->cells[c->count++] = cell;
}

/* Splits the row at c->at. False: the window holds only a part of it. */
static bool split_row(struct lpo_csv *c)
{
    const char *p = c->window + c->at, *end = c->window + c->len;

    c->count = 0;
    for (;;) {
        struct lpo_csv_cell cell = { p, 0, false };

        if (p < end && *p == '"') {
            if (!quoted_cell(c, p + 1, &cell, &p))
                return false;
            if (p < end && *p != ',')
                p = bare_end(p, end); /* what follows a closing quote is lost */
        } else {
            p = bare_end(p, end);
            cell.len = (uint32_t)(p - cell.at);
            if ((p == end || *p == '\n') && cell.len && p[-1] == '\r')
                cell.len--;
        }
        if (p == end && !c->eof)
            return false;
        push_cell(c, cell);
        if (p == end || *p == '\n')
            break;
        p++;
    }
    c->at = (size_t)(p - c->window) + (p < end);
    return true;
}

static uint64_t count_lines(const char *p, const char *end)
{
    uint64_t n = 0;

    while ((p = memchr(p, '\n', (size_t)(end - p)))) {
        n++;
        if (++p == end)
            break;
    }
    return n;
}

int lpo_csv_next(struct lpo_csv *c, struct lpo_err *err)
{
    size_t start;

    if (c->ahead)
        return next_of_ahead(c->ahead, c, err);
    for (;;) {
        if (c->at == c->len) {
            if (c->eof)
                return 0;
            if (refill(c, err) < 0)
                return err ? err->code : LPO_E_IO;
            continue;
        }
        if (c->lead && c->window[c->at] != c->lead) {
            c->skipped++;
            lpo_csv_skip_line(c);
            continue;
        }
        start = c->at;
        c->line = c->next_line;
        if (split_row(c))
            break;
        if (refill(c, err) < 0)
            return err ? err->code : LPO_E_IO;
    }
    c->next_line += count_lines(c->window + start, c->window + c->at);
    return 1;
}

const char *lpo_csv_peek_line(struct lpo_csv *c, size_t *len, struct lpo_err *err)
{
    for (;;) {
        const char *p = c->window + c->at;
        const char *nl = c->at < c->len ? memchr(p, '\n', c->len - c->at) : NULL;

        if (nl || c->eof) {
            *len = nl ? (size_t)(nl - p) : c->len - c->at;
            return nl || *len ? p : NULL;
        }
        if (refill(c, err) < 0)
            return NULL;
    }
}

void lpo_csv_skip_line(struct lpo_csv *c)
{
    size_t len;

    if (!lpo_csv_peek_line(c, &len, NULL)) {
        c->at = c->len; /* unreadable or over the limit: give up the window */
        return;
    }
    c->at += len;
    if (c->at < c->len) {
        c->at++;
        c->next_line++;
    }
}
