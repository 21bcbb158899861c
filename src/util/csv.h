/* SPDX-License-Identifier: Apache-2.0 */
/* util/csv.h - comma-separated values, one row at a time, as fast as the disk.
 *
 *     while ((rc = lpo_csv_next(csv, err)) > 0)
 *         use(csv->cells[0], csv->count);
 *
 * Cells point into the reader's window and are good until the next call. Rows may be ragged; a
 * quoted cell may hold commas, line ends and doubled quotes. Compressed files are inflated
 * on the way. */
#pragma once

#include "util/base.h"

struct lpo_csv_ahead;
struct lpo_input;

/* A longer row is refused: a lost quote would otherwise swallow the file into memory. */
#define LPO_CSV_ROW_LIMIT ((size_t)16 << 20)

struct lpo_csv_cell {
    const char *at; /* without the quotes around it; not NUL-terminated */
    uint32_t len;
    bool doubled; /* holds doubled quotes: lpo_csv_cell_text() makes them single */
};

struct lpo_csv {
    struct lpo_csv_cell *cells;
    size_t count;
    uint64_t line;    /* where this row began, from 1 */
    char lead;        /* lines that do not begin with it are no rows: skipped; 0 takes all */
    uint64_t skipped; /* by `lead` */
    bool cut;         /* the compressed file ended early; known at the end */

    /* private */
    struct lpo_csv_ahead *ahead;
    struct lpo_input *in; /* NULL: the text is `copy` */
    char *copy;
    const char *window;
    size_t at, len, cells_cap;
    uint64_t next_line;
    bool eof;
};

int lpo_csv_open(const char *path, struct lpo_csv **out, struct lpo_err *err);
struct lpo_csv *lpo_csv_text(const char *bytes, size_t len); /* copies */
void lpo_csv_destroy(struct lpo_csv *c);                     /* NULL is fine */
LPO_AUTO_DEFINE(lpo_csv);

/* 1: a row; 0: the end; negative: cannot be read. Empty lines are rows of one empty cell. */
int lpo_csv_next(struct lpo_csv *c, struct lpo_err *err);
/* The raw line that would come next, without its end, or NULL at the end of the file. For files
 * that begin with something else; lpo_csv_skip_line() passes it over. */
const char *lpo_csv_peek_line(struct lpo_csv *c, size_t *len, struct lpo_err *err);
void lpo_csv_skip_line(struct lpo_csv *c);

/* From here on rows are split on a second thread, ahead of the reader; only lpo_csv_next() may
 * follow. For large files whose cells take time to use. */
void lpo_csv_read_ahead(struct lpo_csv *c);

bool lpo_csv_cell_is(struct lpo_csv_cell cell, const char *text);
/* Replaces what `to` holds; returns its text. */
const char *lpo_csv_cell_text(struct lpo_csv_cell cell, struct lpo_str *to);
/* "57,536", "-1.5e3", "12 (3; 4; 5)" (ncu's instances after the total); false for "n/a" and "". */
bool lpo_csv_cell_number_slow(struct lpo_csv_cell cell, double *out);
extern const double lpo_csv_cell_tens[19]; /* powers of ten */

/* Nearly every cell is a number below 2^53 with separators and a point: digits and power are exact
 * doubles then, and the one division gives the nearest. */
static inline bool lpo_csv_cell_number(struct lpo_csv_cell cell, double *out)
{
    uint64_t v = 0;
    uint32_t digits = 0, point = UINT32_MAX;

    for (uint32_t i = 0; i < cell.len; i++) {
        unsigned d = (unsigned)(unsigned char)cell.at[i] - '0';

        if (d <= 9) {
            v = v * 10 + d;
            digits++;
        } else if (cell.at[i] == '.' && point == UINT32_MAX) {
            point = digits;
        } else if (cell.at[i] != ',' || digits == 0 || point != UINT32_MAX) {
            return lpo_csv_cell_number_slow(cell, out);
        }
    }
    if (digits == 0 || digits > 18 || v >= (uint64_t)1 << 53)
        return lpo_csv_cell_number_slow(cell, out);
    *out = point >= digits ? (double)v : (double)v / lpo_csv_cell_tens[digits - point];
    return true;
}

/* Whole numbers, with or without separators; false when it is anything else or does not fit. */
bool lpo_csv_cell_int(struct lpo_csv_cell cell, int64_t *out);
/* Decimal text times 10^power as an exact integer; digits beyond are rounded. */
bool lpo_csv_cell_scaled(struct lpo_csv_cell cell, int power, int64_t *out);
/* Three numbers with anything between them: "(128, 1, 1)", "  16    1    1". */
bool lpo_csv_cell_three(struct lpo_csv_cell cell, uint32_t out[3]);
