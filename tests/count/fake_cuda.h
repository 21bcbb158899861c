/* SPDX-License-Identifier: Apache-2.0 */
/* tests/count/fake_cuda.h - a libcuda.so.1 that launches by the fake driver (fake_cupti.h).
 *
 * Each launch function checks that its arguments are those of FAKE_ARGUMENTS below, counts the call
 * and answers with a code of its own, so that a caller sees which one it reached. */
#pragma once

#include <stdint.h>

enum fake_entry {
    FAKE_KERNEL,
    FAKE_KERNEL_PTSZ,
    FAKE_KERNEL_NEWER, /* another cuLaunchKernel, for those that ask for version 13000 */
    FAKE_EX,
    FAKE_EX_PTSZ,
    FAKE_COOPERATIVE,
    FAKE_COOPERATIVE_PTSZ,
    FAKE_MULTI_DEVICE,
    FAKE_LAUNCH,
    FAKE_GRID,
    FAKE_GRID_ASYNC,
    FAKE_GRAPH,
    FAKE_GRAPH_PTSZ,
    FAKE_ENTRIES
};

enum { FAKE_ANSWERS = 700, FAKE_WRONG_ARGUMENTS = 1 };
enum { FAKE_PTSZ = 2 }; /* flag of cuGetProcAddress */

#define FAKE_POINTER(n) ((void *)(uintptr_t)(0x1000 + (n)))

/* What the client passes. Small and large numbers: half a register must not get lost. */
#define FAKE_GRID_ARGUMENTS 11, 0xfffffff2u, 13, 14, 15, 16, 0xfffffff7u, FAKE_POINTER(8)
#define FAKE_PARAMS         (void **)FAKE_POINTER(9)
#define FAKE_EXTRA          (void **)FAKE_POINTER(10)

uint64_t fake_cuda_calls(int entry); /* how often it was reached */
