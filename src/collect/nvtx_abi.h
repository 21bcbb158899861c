/* SPDX-License-Identifier: Apache-2.0 */
/* collect/nvtx_abi.h - the few declarations of NVTX v3 that a tool needs.
 *
 * Our own declarations of a public binary interface, so that the library builds with no CUDA
 * toolkit. tests/collect/check_abi.c compares them with the real headers where these are found. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

enum { NVTX_TABLE_CALLBACKS = 1, NVTX_TABLE_VERSION = 3 };
enum { NVTX_MODULE_CORE = 1, NVTX_MODULE_CORE2 = 5 };
enum { NVTX_NO_TRACKING = -2 };

enum nvtx_core_slot {
    NVTX_MARK_EX = 1,
    NVTX_MARK_A,
    NVTX_MARK_W,
    NVTX_START_EX,
    NVTX_START_A,
    NVTX_START_W,
    NVTX_END,
    NVTX_PUSH_EX,
    NVTX_PUSH_A,
    NVTX_PUSH_W,
    NVTX_POP,
    NVTX_NAME_CATEGORY_A,
    NVTX_NAME_CATEGORY_W,
    NVTX_NAME_THREAD_A,
    NVTX_NAME_THREAD_W,
};

enum nvtx_core2_slot {
    NVTX_DOMAIN_MARK_EX = 1,
    NVTX_DOMAIN_START_EX,
    NVTX_DOMAIN_END,
    NVTX_DOMAIN_PUSH_EX,
    NVTX_DOMAIN_POP,
    NVTX_DOMAIN_RESOURCE_CREATE,
    NVTX_DOMAIN_RESOURCE_DESTROY,
    NVTX_DOMAIN_NAME_CATEGORY_A,
    NVTX_DOMAIN_NAME_CATEGORY_W,
    NVTX_DOMAIN_REGISTER_A,
    NVTX_DOMAIN_REGISTER_W,
    NVTX_DOMAIN_CREATE_A,
    NVTX_DOMAIN_CREATE_W,
    NVTX_DOMAIN_DESTROY,
    NVTX_INITIALIZE,
};

enum { NVTX_TEXT_ASCII = 1, NVTX_TEXT_WIDE = 2, NVTX_TEXT_REGISTERED = 3 };
enum { NVTX_PAYLOAD_LAST = 6 }; /* 1 … 6 are plain numbers; others point somewhere */

union nvtx_text {
    const char *ascii;
    const wchar_t *wide;
    const void *registered;
};

/* Callers may be older and smaller: `size` says which fields are there. */
struct nvtx_attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload; /* the bits of whichever number it is */
    int32_t text_type;
    union nvtx_text text;
};

enum { NVTX_RESOURCE_THREAD_NATIVE = 0x10003, NVTX_RESOURCE_THREAD_POSIX = 0x10004 };

struct nvtx_resource {
    uint16_t version, size;
    int32_t type;
    uint64_t id;
    int32_t text_type;
    union nvtx_text text;
};

typedef void (*nvtx_fn)(void);
typedef const void *(*nvtx_get_table)(uint32_t id);

struct nvtx_callbacks {
    size_t size;
    int (*get_module)(int module, nvtx_fn ***table, unsigned *count);
};

struct nvtx_version {
    size_t size;
    uint32_t version, reserved;
    void (*set)(uint32_t version);
};

/* The payload extension. */
enum { NVTX_EXT_PAYLOAD = 2 };
enum nvtx_payload_slot {
    NVTX_PAYLOAD_SCHEMA = 0,
    NVTX_PAYLOAD_ENUM = 1,
    NVTX_PAYLOAD_MARK = 2,
    NVTX_PAYLOAD_PUSH = 3,
    NVTX_PAYLOAD_POP = 4,
    NVTX_PAYLOAD_START = 5,
    NVTX_PAYLOAD_END = 6,
    NVTX_PAYLOAD_ENABLED = 7,
    NVTX_PAYLOAD_SCOPE = 12,
};

struct nvtx_ext_segment {
    size_t id, count;
    intptr_t *slots;
};

struct nvtx_ext_module {
    uint16_t version, size, module, compat;
    size_t count;
    struct nvtx_ext_segment *segments;
    intptr_t (*get_export)(uint32_t id);
    const void *info;
};
