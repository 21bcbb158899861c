/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA graphs of fake_cupti.h: what the driver says about them, and their launches. A graph's
 * handle is its struct fake_graph; a node's the number that its capture gave it. */
#include <stddef.h>
#include <stdlib.h>

#include "collect/driver_abi.h"
#include "fake_cupti.h"
#include "fake_record.h"

enum { INSTANTIATE = 643, LAUNCH = 514, WHOLE_NS = 5000, DEPTH = 16 };

static __thread const struct fake_graph *made; /* the last: the one that is being asked about */

#ifndef FAKE_OLD /* a driver before CUDA 12.3 cannot name kernels */
EXPORT int cuGraphGetNodes(const struct fake_graph *g, void **nodes, size_t *count);
EXPORT int cuGraphNodeGetType(void *node, int *type);
EXPORT int cuGraphKernelNodeGetParams_v2(void *node, struct cu_kernel_node *out);
EXPORT int cuGraphMemcpyNodeGetParams(void *node, struct cu_copy_node *out);
EXPORT int cuGraphMemsetNodeGetParams(void *node, struct cu_set_node *out);
EXPORT int cuGraphChildGraphNodeGetGraph(void *node, const struct fake_graph **child);
EXPORT int cuFuncGetName(const char **name, const void *function);
EXPORT int cuptiGetGraphExecId(const struct fake_graph *exec, uint32_t *id);

static const struct fake_node *find(const struct fake_graph *g, uint64_t id, int depth)
{
    const struct fake_node *found = NULL;

    for (unsigned i = 0; !found && i < g->count; i++) {
        if (g->nodes[i].id == id)
            found = &g->nodes[i];
        else if (g->nodes[i].child && depth < DEPTH)
            found = find(g->nodes[i].child, id, depth + 1);
    }
    return found;
}

static const struct fake_node *node_of(void *node)
{
    return find(made, (uint64_t)(uintptr_t)node, 0);
}

int cuGraphGetNodes(const struct fake_graph *g, void **nodes, size_t *count)
{
    for (unsigned i = 0; nodes && i < g->count && i < *count; i++)
        nodes[i] = (void *)(uintptr_t)g->nodes[i].id;
    *count = g->count;
    return 0;
}

int cuGraphNodeGetType(void *node, int *type)
{
    *type = node_of(node)->type;
    return 0;
}

int cuGraphKernelNodeGetParams_v2(void *node, struct cu_kernel_node *out)
{
    const struct fake_kernel *k = &node_of(node)->kernel;

    *out = (struct cu_kernel_node){ .function = (void *)(uintptr_t)k->name,
                                    .grid = { k->grid, 1, 1 },
                                    .block = { k->block, 1, 1 },
                                    .dynamic_shared = 4096 };
    return 0;
}

int cuGraphMemcpyNodeGetParams(void *node, struct cu_copy_node *out)
{
    *out = (struct cu_copy_node){ .width = node_of(node)->bytes, .height = 1, .depth = 1 };
    return 0;
}

int cuGraphMemsetNodeGetParams(void *node, struct cu_set_node *out)
{
    *out = (struct cu_set_node){ .element = 4, .width = node_of(node)->bytes / 4, .height = 1 };
    return 0;
}

int cuGraphChildGraphNodeGetGraph(void *node, const struct fake_graph **child)
{
    *child = node_of(node)->child;
    return 0;
}

int cuFuncGetName(const char **name, const void *function)
{
    *name = function;
    return 0;
}

int cuptiGetGraphExecId(const struct fake_graph *exec, uint32_t *id)
{
    *id = exec->id;
    return fake_verdict(__func__, -1);
}
#endif

static void resource(uint32_t id, uint64_t node, uint64_t original)
{
    struct cupti_graph_data g = { .node = (void *)(uintptr_t)node,
                                  .original_node = (void *)(uintptr_t)original };
    struct cupti_resource_data r = { .descriptor = &g };

    fake_tell(CUPTI_DOMAIN_RESOURCE, id, &r);
}

EXPORT void fake_capture(uint64_t node)
{
    resource(CUPTI_NODE_CREATED, node, 0);
}

EXPORT void fake_instantiate(const struct fake_graph *g)
{
    void *exec = (void *)(uintptr_t)g;
    struct cu_instantiate_params params = { &exec, exec };

    for (unsigned i = 0; i < g->count; i++) { /* as CUPTI 13.0 does: both */
        resource(CUPTI_NODE_CREATED, g->nodes[i].id + 1000, 0);
        resource(CUPTI_NODE_CLONED, g->nodes[i].id + 1000, g->nodes[i].id);
    }
    made = g;
    fake_call(INSTANTIATE, &params);
}

EXPORT void fake_graph_change(uint32_t id, int result)
{
    struct cupti_call c = { .site = CUPTI_ENTER,
                            .function = "cuGraphExecChange",
                            .result = &result };

    fake_tell(CUPTI_DOMAIN_DRIVER, id, &c);
    c.site = CUPTI_EXIT;
    fake_tell(CUPTI_DOMAIN_DRIVER, id, &c);
}

EXPORT void fake_graph_launch(const struct fake_graph *g)
{
    uint32_t correlation = fake_call(LAUNCH, NULL);
    uint64_t start = fake_now();
    union fake_record whole = { .graph = { .kind = CUPTI_KIND_GRAPH_TRACE,
                                           .correlation = correlation,
                                           .start = start,
                                           .end = start + WHOLE_NS,
                                           .graph = g->id,
                                           .context = 1,
                                           .stream = 7 } };

    if (fake_wants(CUPTI_KIND_GRAPH_TRACE)) {
        fake_keep(&whole);
        return;
    }
    if (fake_wants(CUPTI_KIND_KERNEL))
        __atomic_store_n(&fake_graphs_used, 1, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < g->count; i++) {
        union fake_record r = fake_kernel_record(&g->nodes[i].kernel, correlation);
        r.kernel.graph = g->id;
        r.kernel.graph_node = g->nodes[i].id + 1000;
        /* As seen on an H200: the times of an earlier launch. By more than a busy machine may keep
         * this thread waiting since the launch was noted. */
        if (fake_kernels_switched || getenv("FAKE_STALE"))
            r.kernel.start -= UINT64_C(600000000000);
        fake_keep(&r);
    }
}
