/* SPDX-License-Identifier: Apache-2.0 */
#include "util/csv.h"

#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "util/arena.h"
#include "util/csv_ahead.h"
#include "util/err.h"
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

void lpo_csv_destroy(struct lpo_csv *c)
{
    if (!c)
        return;
    if (c->ahead)
        lpo_csv_ahead_stop(c->ahead); /* the cells are its */
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
    c->ahead = lpo_csv_ahead_start(from);
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
        return lpo_csv_ahead_next(c->ahead, c, err);
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
