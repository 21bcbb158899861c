/* SPDX-License-Identifier: Apache-2.0 */
/* rundir/history/numbers.h - numbers that other programs measured: what the bench commands of vLLM
 * and SGLang, AIPerf, pytest-benchmark and Google Benchmark write, as JSON, JSON lines or CSV.
 *
 * Every number of a result is a figure under the name that the file gives it; several results of
 * one name are its repeats. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "util/auto.h"
#include "util/vec.h"

struct lpo_arena;
struct lpo_err;

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
