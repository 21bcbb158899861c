/* SPDX-License-Identifier: Apache-2.0 */
/* tests/collect/gpu_case.h - a scenario of gpu_client under the collector, and what must be in its
 * trace. */
#pragma once

#include "traced.h"

struct lpo_str;

#define GEMM "kernel gemm(float*) <<<128,1,1|256,1,1>>> dev 0 stream 7 in "
#define NORM "kernel rms_norm <<<64,1,1|128,1,1>>> dev 0 stream 7 in "

struct gpu_case {
    const char *name, *scenario; /* "old:NAME" runs it under a driver before CUDA 12.3 */
    const char *env[6];
    const char
        *want; /* the trace as traced_text() prints it; NULL: of "decode", that there is a note */
};

/* Runs it; the program must end well and say nothing. */
void gpu_run(const char *scenario, const char *const *env, struct traced *t, struct lpo_str *text);
void gpu_check(void **state); /* a struct gpu_case */
