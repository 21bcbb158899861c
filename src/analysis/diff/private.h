/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/diff/private.h - how a digest is made, and how digests are compared. */
#pragma once

#include "analysis/diff/diff.h"

struct lpo_analysis;
struct lpo_rundir;
struct lpo_source;

/* A digest while it is made. */
struct lpo_diff_builder {
    struct lpo_diff_digest *out;
    const struct lpo_rundir *dir;
    const struct lpo_source *source;
    const struct lpo_analysis *a;
    uint32_t *kernel_of; /* per name of the trace: row of kernels, or LPO_NONE */
    uint32_t *region_of; /* per node of the tree, then `(outside)`: row of regions, or LPO_NONE */
    uint32_t *op_of;     /* per launch: row of operators, or LPO_NONE */
    size_t kept;         /* calls that were kept so far, in all samples */
    uint16_t process;    /* that keeps the critical GPU busy */
};

/* How many calls one more sample may keep. */
size_t lpo_diff_room(const struct lpo_diff_builder *b);
void lpo_diff_keep(struct lpo_diff_builder *b, struct lpo_diff_sample *s, int64_t ns);

/* `moments`: when the first unit began and when each of them ended. */
void lpo_diff_add_series(struct lpo_diff_digest *d, enum lpo_diff_unit_kind kind, uint32_t row,
                         const int64_t *moments, size_t units);

/* In this order. */
void lpo_diff_digest_rows(struct lpo_diff_builder *b);
void lpo_diff_digest_window(struct lpo_diff_builder *b);
void lpo_diff_digest_facts(struct lpo_diff_builder *b);

/* The steps of lpo_diff_create(), in this order. */
void lpo_diff_match(struct lpo_diff *d);           /* rows: which items belong together */
void lpo_diff_compare_facts(struct lpo_diff *d);   /* differences, comparable */
void lpo_diff_compare_lengths(struct lpo_diff *d); /* unit, length */
void lpo_diff_compare_rows(struct lpo_diff *d);    /* amounts and changes */
void lpo_diff_compare_wall(struct lpo_diff *d);    /* wall without its verdict, and `shown` */
/* What the causes say of a change that too few units prove. */
void lpo_diff_judge_causes(struct lpo_diff *d);
void lpo_diff_judge(struct lpo_diff *d); /* every verdict, then the order of rows */
void lpo_diff_compare_groups(struct lpo_diff *d);
void lpo_diff_find_causes(struct lpo_diff *d); /* after figures */

/* Run `i` of both sides together, those of A first. */
const struct lpo_diff_digest *lpo_diff_run_at(const struct lpo_diff *d, size_t i);
enum lpo_diff_side lpo_diff_run_side(const struct lpo_diff *d, size_t i);
/* Steps of a run; 1 where lengths are not compared. */
double lpo_diff_run_length(const struct lpo_diff *d, size_t i);
/* Rows of the diff for the items of the run that stands for a side; free it. */
uint32_t *lpo_diff_rows_of(const struct lpo_diff *d, enum lpo_diff_table table,
                           enum lpo_diff_side side);
/* Time of one unit of a run. */
double lpo_diff_unit_ns(const struct lpo_diff *d, size_t run);
/* The wall time by its units. False: they are too few on a side. */
bool lpo_diff_judge_units(struct lpo_diff *d);
/* After that: do few long ones make up the change, beyond the noise? */
bool lpo_diff_judge_pauses(struct lpo_diff *d);
double lpo_diff_few_units_p(const struct lpo_diff *d);
/* At least four runs in all: runs are compared, and not their calls. */
bool lpo_diff_has_repeats(const struct lpo_diff *d);
