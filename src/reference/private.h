/* SPDX-License-Identifier: Apache-2.0 */
/* reference/private.h - the parts of a reference that its files share. */
#pragma once

#include "reference/reference.h"

#define REF_AXES 3

/* What a word says of the arithmetic. */
struct ref_format {
    double rate; /* operations a second; 0: the word says nothing of it */
    double weight, activation, cache;
    bool all_reduce;
};

struct ref_row {
    uint32_t first; /* into the table's ratios */
    uint32_t len;   /* beyond: not measured */
};

/* Variants with one grid: the axes vary from the slowest to the fastest. */
struct ref_block {
    double step; /* of a ratio, in logarithms */
    int naxes;
    uint32_t sizes[REF_AXES];
    double *logs[REF_AXES];  /* of the values + 1 */
    uint32_t variants, rows; /* rows of one variant */
    uint32_t first_row;      /* into the table's rows */
    double *keys;            /* columns after columns */
};

struct ref_slot {
    uint32_t block, variant; /* block 0 is "empty", others are counted from 1 */
};

struct ref_table {
    char **words;
    struct ref_format *formats;
    uint32_t nwords, nblocks, nrows, nratios;
    struct ref_block *blocks;
    struct ref_row *rows;
    int16_t *ratios;
    struct ref_slot *slots;
    uint32_t mask;
};

struct ref_error {
    int kind;
    char word[32];
    double below_us, half, most;
};

struct lpo_reference {
    char *source, *gpu, *hardware;
    double floor_us, bandwidth, link, rates[LPO_DTYPES];
    size_t size;
    struct ref_table table[LPO_REF_KINDS];
    struct ref_error *errors;
    size_t nerrors;
};

/* The bytes behind the lines of text, inflated; false when they are damaged. */
bool lpo_reference_read_body(struct lpo_reference *r, const unsigned char *at, size_t len);
/* Columns that choose a variant; the others are axes. */
int lpo_reference_key_count(enum lpo_reference_kind k);
/* Seconds that a shape needs at least, and whether products or bytes need them. */
double lpo_reference_roofline(const struct lpo_reference *r, enum lpo_reference_kind k,
                              const double *shape, bool *compute);
/* What the words of a table say. */
struct ref_format lpo_reference_format(const struct lpo_reference *r, const char *word);
uint32_t lpo_reference_hash(const double *keys, int count);
