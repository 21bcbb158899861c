/* SPDX-License-Identifier: Apache-2.0 */
/* collect/cupti_abi.h - the few declarations of CUPTI that the collector uses.
 *
 * Our own declarations of a public binary interface, so that the library builds with no CUDA
 * toolkit and one build serves CUDA 12 and 13. CUPTI's records only ever grow at their end: each
 * struct here is the common beginning of its generations (kernels since Kernel5, copies since
 * Memcpy4, sets since Memset3). tests/collect/check_abi.c compares with the real headers where
 * found. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum cupti_result {
    CUPTI_OK = 0,
    CUPTI_INVALID_PARAMETER = 1,
    CUPTI_MAX_LIMIT_REACHED = 12,
    CUPTI_NOT_INITIALIZED = 15,
    CUPTI_HARDWARE_BUSY = 26,
    CUPTI_NOT_SUPPORTED = 27,
    CUPTI_VIRTUALIZED_DEVICE = 33,
    CUPTI_INSUFFICIENT_PRIVILEGES = 35,
    CUPTI_OLD_PROFILER = 36,
    CUPTI_MULTIPLE_SUBSCRIBERS = 39,
    CUPTI_VIRTUALIZED_PRIVILEGES = 40,
    CUPTI_CONFIDENTIAL_COMPUTING = 41,
    CUPTI_MIG_DEVICE = 43,
    CUPTI_WSL_DEVICE = 45,
};

enum cupti_kind {
    CUPTI_KIND_MEMCPY = 1,
    CUPTI_KIND_MEMSET = 2,
    CUPTI_KIND_KERNEL = 10, /* CONCURRENT_KERNEL: the other one serialises */
    CUPTI_KIND_MEMCPY2 = 22,
    CUPTI_KIND_GRAPH_TRACE = 51,
};

enum cupti_attribute {
    CUPTI_ATTR_DEVICE_BUFFER_SIZE = 0,
    CUPTI_ATTR_ZEROED_BUFFER = 5,
    CUPTI_ATTR_DEVICE_BUFFERS = 6,
    CUPTI_ATTR_HOST_PINNED = 8,
    CUPTI_ATTR_PER_THREAD = 9,
};

enum cupti_domain {
    CUPTI_DOMAIN_DRIVER = 1,
    CUPTI_DOMAIN_RUNTIME = 2,
    CUPTI_DOMAIN_RESOURCE = 3,
    CUPTI_DOMAIN_STATE = 6,
};

enum cupti_resource { CUPTI_NODE_CREATED = 13, CUPTI_NODE_CLONED = 20 };
enum cupti_state { CUPTI_FATAL_ERROR = 1 };
enum { CUPTI_ENTER = 0, CUPTI_EXIT = 1 };
enum { CUPTI_FLUSH_FORCED = 1 };

struct cupti_call { /* CUpti_CallbackData */
    int32_t site;
    const char *function;
    const void *params;
    void *result;
    const char *symbol;
    void *context;
    uint32_t context_id;
    uint64_t *data;
    uint32_t correlation;
};

struct cupti_resource_data {
    void *context, *handle, *descriptor;
};

struct cupti_graph_data {
    void *graph, *original_graph, *node, *original_node;
    int32_t node_type;
    void *dependency, *exec;
};

struct cupti_state_data {
    int32_t result;
    const char *message;
};

struct cupti_subscriber_params {
    size_t size;
    const char *name;
    char *old_name;
    size_t old_size;
};

struct cupti_record {
    uint32_t kind;
};

struct cupti_kernel {
    uint32_t kind;
    uint8_t cache, shared_config;
    uint16_t registers;
    uint32_t partition[2];
    uint64_t start, end, completed;
    uint32_t device, context, stream;
    int32_t grid[3], block[3];
    int32_t static_shared, dynamic_shared;
    uint32_t local_per_thread, local_total;
    uint32_t correlation;
    int64_t grid_id;
    const char *name;
    void *reserved;
    uint64_t queued, submitted;
    uint8_t launch_type, carveout[3];
    uint32_t shared_executed;
    uint64_t graph_node;
    uint32_t shared_limit;
    uint32_t graph;
};

struct cupti_memcpy {
    uint32_t kind;
    uint8_t copy, source, target, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream;
    uint32_t correlation, runtime_correlation, pad;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph;
};

struct cupti_memcpy2 { /* peer to peer */
    uint32_t kind;
    uint8_t copy, source, target, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream;
    uint32_t source_device, source_context, target_device, target_context;
    uint32_t correlation;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph;
};

struct cupti_memset {
    uint32_t kind;
    uint32_t value;
    uint64_t bytes, start, end;
    uint32_t device, context, stream;
    uint32_t correlation;
    uint16_t flags, memory;
    uint32_t pad;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph;
};

struct cupti_graph_trace {
    uint32_t kind;
    uint32_t correlation;
    uint64_t start, end;
    uint32_t device, graph, context, stream;
};

typedef void (*cupti_callback)(void *user, int domain, uint32_t id, const void *data);
typedef void (*cupti_request)(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void (*cupti_complete)(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                               size_t valid);

/* The entry points, found by name at run time. */
struct cupti {
    int (*get_version)(uint32_t *version);
    int (*subscribe_v2)(void **subscriber, cupti_callback f, void *user,
                        struct cupti_subscriber_params *params);
    int (*subscribe)(void **subscriber, cupti_callback f, void *user);
    int (*unsubscribe)(void *subscriber);
    int (*enable_callback)(uint32_t enable, void *subscriber, int domain, uint32_t id);
    int (*register_callbacks)(cupti_request request, cupti_complete complete);
    int (*enable)(int kind);
    int (*disable)(int kind);
    int (*set_attribute)(int attribute, size_t *size, void *value);
    int (*next_record)(uint8_t *buffer, size_t valid, struct cupti_record **record);
    int (*dropped_records)(void *context, uint32_t stream, size_t *dropped);
    int (*flush_all)(uint32_t flag);
    int (*flush_period)(uint32_t ms);
    int (*graph_node_id)(void *node, uint64_t *id);
    int (*graph_exec_id)(void *exec, uint32_t *id); /* what a GRAPH_TRACE record calls its graph */
    int (*finalize)(void);
    int (*result_string)(int result, const char **text);
};
