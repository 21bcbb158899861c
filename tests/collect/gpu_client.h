/* SPDX-License-Identifier: Apache-2.0 */
/* tests/collect/gpu_client.h - a program that uses the fake driver, one scenario per run.
 *
 * test_gpu.c and test_gpu_graph.c trace `gpu_client SCENARIO`. One more scenario is a function and
 * a row at the end of the file it belongs to. */
#pragma once

#include "../../workloads/nvtx_lite.h"
#include "fake_cupti.h"

struct gpu_scenario {
    const char *name; /* NULL ends a group */
    int (*run)(void);
};

extern const struct gpu_scenario graph_scenarios[], call_scenarios[], window_scenarios[],
    detach_scenarios[];
extern const struct fake_kernel gemm, norm;

int four_times(void *(*gpu_op)(void *)); /* in threads that get the names t0 … t3 */
