/* SPDX-License-Identifier: Apache-2.0 */
/* What one NVTX range costs the program, in ns per push+pop: best of several rounds.
 *
 *     NVTX_INJECTION64_PATH=…/liblpo-collect.so LPO_COLLECT_DIR=/tmp/x nvtx_cost [pairs]
 *
 * Without the variables it measures NVTX alone. `nvtx_cost --once N` only makes N pairs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../workloads/nvtx_lite.h"

enum { ROUNDS = 9 };

static double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void pairs_of(long pairs, const char *const *names)
{
    for (long i = 0; i < pairs; i++) {
        nvtx_lite_push(names[i & 3]);
        nvtx_lite_pop();
    }
}

static double best_of(long pairs, const char *const *names)
{
    double best = 1e30;

    pairs_of(pairs / 10 + 1, names);
    for (int round = 0; round < ROUNDS; round++) {
        double start = now_ns(), took;
        pairs_of(pairs, names);
        took = (now_ns() - start) / (double)pairs;
        if (took < best)
            best = took;
    }
    return best;
}

int main(int argc, char **argv)
{
    static const char *const few[] = { "decode", "layer12", "attn", "mlp" };
    static const char *const lengthy[] = { "model.layers.0.self_attn.q_proj_linear",
                                           "model.layers.0.self_attn.k_proj_linear",
                                           "model.layers.0.self_attn.v_proj_linear",
                                           "model.layers.0.self_attn.o_proj_linear" };
    long pairs = argc > 1 ? atol(argv[1]) : 1000000;

    if (argc > 2 && strcmp(argv[1], "--once") == 0) {
        pairs_of(atol(argv[2]), few);
        return 0;
    }
    printf("{\"short_ns\": %.1f, \"long_ns\": %.1f}\n", best_of(pairs, few),
           best_of(pairs, lengthy));
    return 0;
}
