/* collect/graphs.h - which launches of a CUDA graph are recorded kernel by kernel.
 *
 * CUPTI records a graph launch either node by node, which slows the GPU by a fraction of a
 * microsecond for every node, or as one piece, which costs next to nothing; it does one or the
 * other for the whole process. A graph runs the same nodes each time, so the first few launches of
 * each executable graph go node by node and later ones as one piece. */
#pragma once

#include <stdint.h>

struct lpoc_gpu;

enum { LPOC_GRAPH_SLOTS = 1 << 13 };

struct lpoc_graphs {
    int whole; /* atomic: what CUPTI does now */
    struct lpoc_graph_slot {
        uint64_t exec; /* atomic; 0: free. The driver's handle */
        uint32_t launches;
    } slots[LPOC_GRAPH_SLOTS];
};

/* Before a launch of the executable graph `exec`: sets CUPTI to what this launch should have. */
void lpoc_graph_launch(struct lpoc_gpu *g, uint64_t exec);
/* An executable graph was made; its handle may be that of one that is gone. */
void lpoc_graph_made(struct lpoc_gpu *g, uint64_t exec);
