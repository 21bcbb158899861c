/* SPDX-License-Identifier: Apache-2.0 */
/* tests/collect/traced.h - run a program under the collector, and what its traces say as text. */
#pragma once

#include "trace/trace.h"
#include "util/str.h"

struct traced {
    int status;     /* as waitpid gives it */
    size_t files;   /* traces found */
    uint64_t bytes; /* of all of them */
    char *output;   /* what the program wrote, both streams */
    struct lpo_trace *trace;
};

/* argv[0] is a program of the build folder's tests/collect. `env` is NULL-terminated "NAME=value"
 * lines beside the ones that load the collector. The folder is removed again. */
void traced_run(const char *const *argv, const char *const *env, struct traced *out);
void traced_free(struct traced *t);

/* The ranges of each thread as a tree with visits, then launches by path, then notes:
 *
 *     thread main
 *       decode x1
 *         step x3
 *     start/end S x1
 *     kernel k <<<1,1,1>>> in decode/step x6
 *     note 2 range pops had no open range in their thread
 *
 * Threads of the same name and the same tree are one entry, "thread worker x8". */
void traced_text(const struct lpo_trace *t, struct lpo_str *out);
