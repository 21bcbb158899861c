/* SPDX-License-Identifier: Apache-2.0 */
/* trace/rows.h - the arrays of the event model, described: what each field of a row is.
 *
 * Who copies rows into another trace (append.c) or packs them into a file (digest/) walks this
 * table and knows no struct. A new field of an event is one line in rows.c. */
#pragma once

#include "util/base.h"

struct lpo_trace;

/* In an order in which no row refers to an array further down, but for rows of its own. */
enum lpo_row_array {
    LPO_ROWS_PROCESSES,
    LPO_ROWS_THREADS,
    LPO_ROWS_DEVICES,
    LPO_ROWS_DOMAINS,
    LPO_ROWS_SHAPES,
    LPO_ROWS_OP_ARGS,
    LPO_ROWS_FRAMES,
    LPO_ROWS_STACKS,
    LPO_ROWS_METRICS,
    LPO_ROWS_PATHS,
    LPO_ROWS_OPEN_PATHS,
    LPO_ROWS_CAPTURES,
    LPO_ROWS_LAUNCHES,
    LPO_ROWS_CALLS,
    LPO_ROWS_PYTHON,
    LPO_ROWS_CAPTURED_LAUNCHES,
    LPO_ROWS_MARKS,
    LPO_ROWS_RANGE_NUMBERS,
    LPO_ROWS_NUMBERS,
    LPO_ROWS_LOOKS,
    LPO_ROWS_WINDOWS,
    LPO_ROWS_WINDOW_RANGES,
    LPO_ROWS_RANGES,
    LPO_ROWS_OPS,
    LPO_ROWS_OP_LINKS,
    LPO_ROWS_SUMMARIES,
    LPO_ROWS_MEMORY_OWNERS,
    LPO_ROWS_ALLOCATORS,
    LPO_ROWS_MEMORY_EVENTS,
    LPO_ROWS_MEMORY_POOLS,
    LPO_ROWS_METRIC_ROWS, /* of the matrix; the array below refers to them */
    LPO_ROWS_GPU_OPS,
    LPO_ROWS_RULES,
    LPO_ROWS_COLLECTIVES,
    LPO_ROWS_WAITS,
    LPO_ROWS_FLIGHT_GROUPS,
    LPO_ROWS_FLIGHT_CALLS,
    LPO_ROWS_GRAPH_NODES,
    LPO_ROW_ARRAYS
};

enum lpo_field_kind {
    LPO_FIELD_NUMBER,   /* means the same in every trace; also a double, by its bits */
    LPO_FIELD_MOMENT,   /* on the clock of the trace; LPO_NO_TIME stays */
    LPO_FIELD_END,      /* a moment that follows the first field of its row */
    LPO_FIELD_NAME,     /* id of one */
    LPO_FIELD_NAME_IF,  /* the same, or LPO_NONE */
    LPO_FIELD_ROW,      /* of another array */
    LPO_FIELD_ROW_IF,   /* the same, or LPO_NONE */
    LPO_FIELD_ROW_PLUS, /* the same plus one; 0: none */
    LPO_FIELD_GRAPH,    /* a number for each capture of the trace */
};

struct lpo_row_field {
    uint16_t at;
    uint8_t size;  /* 1, 2, 4, 8 */
    uint8_t kind;  /* enum lpo_field_kind */
    uint8_t of;    /* ROW: enum lpo_row_array; NUMBER: above 0, it is less than that */
    uint8_t count; /* so many of them in a row */
};

struct lpo_row_kind {
    size_t vec, row_bytes; /* where its LPO_VEC stands in struct lpo_trace */
    const struct lpo_row_field *fields;
    size_t nfields;
};

/* The matrix of metrics has no fields. */
extern const struct lpo_row_kind lpo_row_kinds[LPO_ROW_ARRAYS];

/* What all LPO_VECs look like. */
struct lpo_row_vec {
    char *at;
    size_t len, cap;
};

static inline struct lpo_row_vec *lpo_row_vec_of(const struct lpo_trace *t, enum lpo_row_array a)
{
    return (struct lpo_row_vec *)(void *)((char *)(uintptr_t)t + lpo_row_kinds[a].vec);
}

/* Room for `more` rows behind those there are, all zero; they count. Returns the first of them. */
char *lpo_trace_rows_grow(struct lpo_row_vec *v, size_t more, size_t row_bytes);

/* A field of a row, and its value of one to eight bytes. */
uint64_t lpo_trace_row_get(const char *row, const struct lpo_row_field *f, unsigned i);
void lpo_trace_row_set(char *row, const struct lpo_row_field *f, unsigned i, uint64_t value);
/* Appends the rows of `from`, a trace of its own, as if its file had been read into `t`: names,
 * processes and what else is kept once are found again, moments are moved to the clock of `t`.
 * Where the file says no rank, file_rank of `t` counts. */
int lpo_trace_append(struct lpo_trace *t, const struct lpo_trace *from, struct lpo_err *err);
