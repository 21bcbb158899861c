/* SPDX-License-Identifier: Apache-2.0 */
/* The NVTX payload extension. Ranges stay balanced and get the name of their schema; the payload
 * itself is not recorded. */
#include "collect/nvtx.h"

enum { ATTR_NAME = 2 }; /* bit of nvtxPayloadSchemaAttr_t.fieldMask */
#define DYNAMIC_ID ((uint64_t)1 << 32)

struct schema { /* what the attributes of schemas, enums and scopes start with */
    uint64_t fields;
    const char *name;
};

struct payload {
    uint64_t schema;
    size_t size;
    const void *bytes;
};

/* The id that the program gets is the string id of the schema's name, so no table is needed. */
static uint64_t on_register(const void *domain, const struct schema *s)
{
    struct lpoc_thread *t = lpoc_enter();
    uint64_t id = DYNAMIC_ID;

    (void)domain;
    if (!t)
        return id;
    if (s && (s->fields & ATTR_NAME)) {
        struct lpoc_name name = lpoc_name(t, s->name);
        id += name.id == LPOC_NAME_FULL ? 0 : name.id;
    }
    lpoc_leave();
    return id;
}

static struct lpoc_name name_in(const struct payload *p, size_t count)
{
    for (size_t i = 0; p && i < count; i++)
        if (p[i].schema > DYNAMIC_ID && p[i].schema - DYNAMIC_ID < LPOC_NAMES_MAX)
            return (struct lpoc_name){ .id = (uint32_t)(p[i].schema - DYNAMIC_ID) };
    return (struct lpoc_name){ 0 };
}

static int on_push(const void *domain, const struct payload *p, size_t count)
{
    struct lpoc_thread *t = lpoc_enter();
    int depth;

    if (!t)
        return NVTX_NO_TRACKING;
    depth =
        lpoc_range_push(t, lpoc_defs_domain_of(&t->owner->defs, domain), name_in(p, count), NULL);
    lpoc_leave();
    return depth;
}

static int on_pop(const void *domain, const struct payload *p, size_t count)
{
    struct lpoc_thread *t = lpoc_enter();
    int depth;

    (void)p, (void)count;
    if (!t)
        return NVTX_NO_TRACKING;
    depth = lpoc_range_pop(t, lpoc_defs_domain_of(&t->owner->defs, domain), lpoc_thread_ticks(t));
    lpoc_leave();
    return depth;
}

static uint64_t on_start(const void *domain, const struct payload *p, size_t count)
{
    struct lpoc_thread *t = lpoc_enter();
    uint64_t id;

    if (!t)
        return 0;
    id = lpoc_range_start(t, lpoc_defs_domain_of(&t->owner->defs, domain), name_in(p, count), NULL);
    lpoc_leave();
    return id;
}

static void on_end(const void *domain, uint64_t id, const struct payload *p, size_t count)
{
    struct lpoc_thread *t = lpoc_enter();

    (void)domain, (void)p, (void)count;
    if (!t)
        return;
    lpoc_range_end(t, id);
    lpoc_leave();
}

static void on_mark(const void *domain, const struct payload *p, size_t count)
{
    struct lpoc_thread *t = lpoc_enter();

    if (!t)
        return;
    lpoc_mark(t, lpoc_defs_domain_of(&t->owner->defs, domain), name_in(p, count), NULL);
    lpoc_leave();
}

/* NVTX 3.2.0 and 3.2.1 drop every event when a tool leaves this one empty. */
static uint8_t on_enabled(const void *domain)
{
    (void)domain;
    return 1;
}

static const struct {
    size_t slot;
    nvtx_fn function;
} slots[] = {
    { NVTX_PAYLOAD_SCHEMA, (nvtx_fn)on_register }, { NVTX_PAYLOAD_ENUM, (nvtx_fn)on_register },
    { NVTX_PAYLOAD_MARK, (nvtx_fn)on_mark },       { NVTX_PAYLOAD_PUSH, (nvtx_fn)on_push },
    { NVTX_PAYLOAD_POP, (nvtx_fn)on_pop },         { NVTX_PAYLOAD_START, (nvtx_fn)on_start },
    { NVTX_PAYLOAD_END, (nvtx_fn)on_end },         { NVTX_PAYLOAD_ENABLED, (nvtx_fn)on_enabled },
    { NVTX_PAYLOAD_SCOPE, (nvtx_fn)on_register },
};

int lpoc_nvtx_attach_payload(struct nvtx_ext_module *module)
{
    if (!module || module->size < sizeof *module || module->module != NVTX_EXT_PAYLOAD)
        return 0;
    for (size_t s = 0; s < module->count; s++) {
        struct nvtx_ext_segment *segment = &module->segments[s];
        for (size_t i = 0; segment->id == 0 && i < sizeof slots / sizeof *slots; i++)
            if (slots[i].slot < segment->count)
                segment->slots[slots[i].slot] = (intptr_t)slots[i].function;
    }
    return 1;
}
