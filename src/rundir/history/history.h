/* SPDX-License-Identifier: Apache-2.0 */
/* rundir/history/history.h - texts about runs, kept under names: a history.
 *
 * One SQLite file, or a folder of JSON files (a file for each entry, which git can keep). What the
 * texts are is not known here. A history may come from somebody else: sizes and numbers of entries
 * are bounded, and nothing that the file brings along is run. */
#pragma once

#include "util/base.h"

struct lpo_history;

enum { LPO_HISTORY_NAME = 100 }; /* bytes of a name at most */

struct lpo_history_entry {
    int64_t id;           /* given by the history: 1, 2, 3 … */
    const char *name;     /* letters, digits, '.', '_', '-' */
    const char *label;    /* where it came from */
    int64_t unix_s;       /* when it was added */
    const char *revision; /* of what was measured, such as a commit; "": not known */
    const char *figures;  /* a short text about it, read without the long one; "": it has none */
    const char *text;     /* "" where only figures were asked for and it has some */
    size_t len;
};

/* `path` that ends with '/' or is a folder: a folder of files; else an SQLite file. Not there:
 * LPO_E_NOTFOUND, or made where `create`. */
int lpo_history_open(const char *path, bool create, struct lpo_history **out, struct lpo_err *err);
void lpo_history_destroy(struct lpo_history *h); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_history);

/* *id is the number that the entry got. */
int lpo_history_add(struct lpo_history *h, const struct lpo_history_entry *e, int64_t *id,
                    struct lpo_err *err);

/* Returns below 0 to stop. The entry is valid during the call. */
typedef int lpo_history_fn(void *ctx, const struct lpo_history_entry *e, struct lpo_err *err);

/* Which entries: of this name (NULL: all), the newest `last` of them (0: all), in the order in
 * which they were added; the long texts of those that have figures are left out where `brief`. */
struct lpo_history_query {
    const char *name;
    size_t last;
    bool brief;
};

int lpo_history_each(struct lpo_history *h, const struct lpo_history_query *q, lpo_history_fn *each,
                     void *ctx, struct lpo_err *err);

/* The two kinds of stores behind a history. */
enum {
    LPO_HISTORY_TEXT = 64 << 20, /* bytes of one text */
    LPO_HISTORY_ENTRIES = 100000,
};

int lpo_history_folder_add(const char *dir, const struct lpo_history_entry *e, int64_t *id,
                           struct lpo_err *err);
int lpo_history_folder_each(const char *dir, const struct lpo_history_query *q,
                            lpo_history_fn *each, void *ctx, struct lpo_err *err);

/* Numbers that other programs measured: what the bench commands of vLLM
 * and SGLang, AIPerf, pytest-benchmark and Google Benchmark write, as JSON, JSON lines or CSV.
 *
 * Every number of a result is a figure under the name that the file gives it; several results of
 * one name are its repeats. */
struct lpo_history_number {
    const char *name; /* "median_ttft_ms", "test_sort mean_s" */
    LPO_VEC(double) values;
};

struct lpo_history_numbers {
    struct lpo_arena *arena;
    LPO_VEC(struct lpo_history_number) all;
    const char *revision; /* commit that the file names; "": none */
};

/* Does the file look like one of them? It is opened, and its beginning read. */
bool lpo_history_numbers_known(const char *path);
int lpo_history_numbers_read(const char *path, struct lpo_history_numbers **out,
                             struct lpo_err *err);
void lpo_history_numbers_destroy(struct lpo_history_numbers *n); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_history_numbers);
