/* SPDX-License-Identifier: Apache-2.0 */
/* tests/collect/nvtx_client.h - a program that makes NVTX calls, one scenario per run.
 *
 * test_collect.c traces `nvtx_client SCENARIO`. A scenario checks what NVTX gives back to it and
 * exits 1 when that is wrong; what it returns is the program's exit code. One more scenario is a
 * function and a row at the end of the file it belongs to. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include "../../workloads/nvtx_lite.h"

#define CHECK(x)                                                                                   \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x);                                \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

struct scenario {
    const char *name; /* NULL ends a group */
    int (*run)(void);
};

extern const struct scenario range_scenarios[];   /* what a call says: names, domains, mistakes */
extern const struct scenario thread_scenarios[];  /* who calls: threads, and what they share */
extern const struct scenario process_scenarios[]; /* fork, exec, and every way to end */
extern const struct scenario guest_scenarios[];   /* what the collector must leave as it was */
extern const struct scenario victim_scenarios[];  /* what hurts a guest that is not careful */
extern const struct scenario sandbox_scenarios[]; /* the same, in a sandbox */

void nap_ms(long ms);
