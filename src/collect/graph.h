/* SPDX-License-Identifier: Apache-2.0 */
/* collect/graph.h - the nodes of a CUDA graph, listed by the driver when the graph is instantiated.
 *
 * Where graph launches are timed as a whole (LPO_COLLECT_GRAPH_NODES=0) nothing is paid per kernel,
 * and this list says which kernels, copies and memsets every launch ran. It is made once per
 * graph, so it costs a launch nothing. */
#pragma once

#include <stdbool.h>

struct cupti_call;
struct lpoc;
struct lpoc_gpu;

/* Finds the calls that listing takes; false when this driver (before CUDA 12.3) or CUPTI lacks
 * one. Then every kernel is recorded instead: it costs more, but nothing is lost. */
bool lpoc_graph_can_list(struct lpoc_gpu *g);

/* A cuGraphInstantiate… of this thread has done its work: one definition, or several, of its nodes.
 * A graph that cannot be listed in full (conditional nodes, no room) is counted and not listed. */
void lpoc_graph_list(struct lpoc *c, const struct cupti_call *call);
