/* collect/graph.h - what a CUDA graph consists of, asked of the driver when it is made ready.
 *
 * Where graph launches are timed as a whole (LPO_COLLECT_GRAPH_NODES=0) nothing is paid per kernel,
 * and this list tells which kernels, copies and sets every launch ran: once per graph, so at no
 * cost to its launches. */
#pragma once

#include <stdbool.h>

struct cupti_call;
struct lpoc;
struct lpoc_gpu;

/* Finds the calls that listing takes; false when this driver (before CUDA 12.3) or CUPTI lacks
 * one. Then every kernel is recorded instead: dearer, but nothing is lost. */
bool lpoc_graph_can_list(struct lpoc_gpu *g);

/* A cuGraphInstantiate… of this thread has done its work: one definition, or several, of its nodes.
 * A graph that cannot be told in full (conditional nodes, no room) is counted and not told at all.
 */
void lpoc_graph_list(struct lpoc *c, const struct cupti_call *call);
