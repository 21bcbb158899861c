/* SPDX-License-Identifier: Apache-2.0 */
/* collect/driver_abi.h - the few declarations of the CUDA driver that graph.c uses.
 *
 * As cupti_abi.h: our own declarations of a public binary interface, compared with the real headers
 * by tests/collect/check_abi.c where these are found. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { CU_CAPTURE_RELAXED = 2 }; /* CU_STREAM_CAPTURE_MODE_RELAXED */

enum cu_node_type {
    CU_NODE_KERNEL = 0,
    CU_NODE_COPY = 1,
    CU_NODE_SET = 2,
    CU_NODE_GRAPH = 4,
    CU_NODE_CONDITIONAL = 13,
};

struct cu_kernel_node { /* CUDA_KERNEL_NODE_PARAMS_v2 */
    void *function;
    uint32_t grid[3], block[3], dynamic_shared;
    void **params, **extra;
    void *kernel, *context;
};

struct cu_copy_node {  /* CUDA_MEMCPY3D */
    uint8_t ends[176]; /* source and target */
    size_t width, height, depth;
};

struct cu_set_node { /* CUDA_MEMSET_NODE_PARAMS */
    uint64_t target;
    size_t pitch;
    uint32_t value, element;
    size_t width, height;
};

struct cu_instantiate_params { /* how the parameters of every cuGraphInstantiate… begin */
    void **exec;
    void *graph;
};

/* The entry points, found by name at run time. */
struct cu_graphs {
    int (*nodes)(void *graph, void **nodes, size_t *count);
    int (*type)(void *node, int *type);
    int (*kernel)(void *node, struct cu_kernel_node *out);
    int (*copy)(void *node, struct cu_copy_node *out);
    int (*set)(void *node, struct cu_set_node *out);
    int (*child)(void *node, void **graph);
    int (*function_name)(const char **name, void *function);
};
