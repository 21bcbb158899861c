/* SPDX-License-Identifier: Apache-2.0 */
/* tests/collect/fake_cupti.h - a CUDA driver and a CUPTI in one library, with no GPU.
 *
 * It has CUPTI's entry points, callback order and record layouts, and does nothing but remember
 * and deliver. What goes wrong is chosen by the environment:
 *
 *     FAKE_FAIL=cuptiSubscribe_v2:39,cuptiActivityEnable.10:27   a call, or a call with this first
 *                                                                argument, gives this code
 *     FAKE_VERSION=130001     FAKE_HOLDER=name of the tool that holds the slot (with code 39)
 *     FAKE_STALE=1    kernels of graphs have start times from before their launch
 *     FAKE_HOLD=1     buffers complete only when all are full, the last one first */
#pragma once

#include <stdint.h>

struct fake_kernel {
    const char *name;
    uint32_t grid, block, device, stream;
    int untimed; /* CUPTI lost its times */
    uint32_t ns; /* how long it takes; 0: 1500 */
};

/* A node of a graph, of the driver's types: a kernel, a copy or set of `bytes`, a graph inside it.
 */
struct fake_node {
    uint64_t id;
    int type;
    struct fake_kernel kernel;
    uint64_t bytes;
    const struct fake_graph *child;
};

struct fake_graph {
    uint32_t id; /* of its executable copy */
    unsigned count;
    const struct fake_node *nodes;
};

enum { FAKE_IN_ORDER, FAKE_REVERSED };

/* Called while a tool subscribes, where it is set: what other threads do in that time. */
extern void (*fake_meanwhile)(void);

int cuInit(unsigned flags); /* loads CUDA_INJECTION64_PATH, as the driver does */

void fake_launch(const struct fake_kernel *k);
/* The same by another driver call: CUPTI's id of it. */
void fake_launch_as(uint32_t id, const struct fake_kernel *k);
void fake_copy(unsigned kind, uint64_t bytes);
void fake_peer(uint32_t from, uint32_t to, uint64_t bytes);
void fake_set(uint64_t bytes);
/* A launch that the driver refuses. */
void fake_failed_launch(void);
/* A launch with no call seen before it: another thread's, or one before we were there. */
void fake_silent_launch(const struct fake_kernel *k);

/* A call of the runtime, with the driver call inside it; either may be missing (id 0). It takes at
 * least so long. */
struct fake_wait {
    uint32_t runtime, driver;
    const char *runtime_name, *driver_name;
    unsigned us;
};
void fake_block(const struct fake_wait *w);

/* Graphs: capture nodes, make an executable copy (node + 1000 for each), change it, launch it. A
 * launch that is traced as a whole takes 5000 ns. */
void fake_capture(uint64_t node);
void fake_instantiate(const struct fake_graph *g);
void fake_graph_change(uint32_t id, int result); /* a driver call and what it answers */
void fake_graph_launch(const struct fake_graph *g);

/* Delivers all that was launched, from a thread of its own. */
void fake_complete(int order);
void fake_fatal(int result);
int fake_finalized(void);   /* how often CUPTI left */
int fake_has_kernels(void); /* CUPTI records them now */
void fake_hold(int held);   /* another tool holds CUPTI, or lets it go */
int fake_errors(void); /* rules of CUPTI that the client broke: a buffer that is not zeroed … */
