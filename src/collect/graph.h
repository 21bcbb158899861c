/* collect/graph.h - what a CUDA graph consists of, asked of the driver when it is made ready.
 *
 * Where graph launches are timed as a whole (LPO_COLLECT_GRAPH_NODES=0) nothing is paid per kernel,
 * and this list tells which kernels, copies and sets every launch ran: once per graph, so at no
 * cost to its launches. */
#pragma once

#include <stdint.h>

struct lpoc;
struct cupti_call;

/* A cuGraphInstantiate… of this thread has returned: one definition, or several, of its nodes. A
 * graph that cannot be told in full (conditional nodes, a driver without the names of kernels, no
 * room) is counted and not told at all. */
void lpoc_graph_list(struct lpoc *c, const struct cupti_call *call);
