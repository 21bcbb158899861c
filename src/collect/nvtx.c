/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that NVTX calls, one for each slot of its two tables. */
#include "collect/nvtx.h"

/* The body of a callback: does nothing when the thread cannot record now. */
#define RECORD(t, none, ...)                                                                       \
    struct lpoc_thread *t = lpoc_enter();                                                          \
    if (LPOC_RARE(!t))                                                                             \
        return none;                                                                               \
    __VA_ARGS__                                                                                    \
    lpoc_leave()

/* The name in the attributes, in any of its three forms. */
static struct lpoc_name name_of(struct lpoc_thread *t, int32_t type, union nvtx_text text)
{
    switch (type) {
    case NVTX_TEXT_ASCII:
        return lpoc_name(t, text.ascii);
    case NVTX_TEXT_WIDE:
        return text.wide ? lpoc_namen(t, t->wide, lpoc_name_narrow(t->wide, text.wide))
                         : (struct lpoc_name){ 0 };
    case NVTX_TEXT_REGISTERED:
        return (struct lpoc_name){ .id = lpoc_defs_string_of(&t->owner->defs, text.registered) };
    default:
        return (struct lpoc_name){ 0 };
    }
}

static struct lpoc_name name_in(struct lpoc_thread *t, const struct nvtx_attributes *a)
{
    if (!a || a->size < sizeof *a)
        return (struct lpoc_name){ 0 };
    return name_of(t, a->text_type, a->text);
}

static uint32_t domain_of(const struct lpoc_thread *t, const void *handle)
{
    return handle ? lpoc_defs_domain_of(&t->owner->defs, handle) : 0;
}

/* Push and pop of the default domain have functions of their own: most programs call only these. */

static int on_push_a(const char *text)
{
    int depth;
    RECORD(t, NVTX_NO_TRACKING, depth = lpoc_range_push_plain(t, lpoc_name(t, text)););
    return depth;
}

static int on_pop(void)
{
    int depth;
    RECORD(t, NVTX_NO_TRACKING, depth = lpoc_range_pop_plain(t, lpoc_thread_ticks(t)););
    return depth;
}

static int on_domain_push(const void *domain, const struct nvtx_attributes *a)
{
    int depth;
    RECORD(t, NVTX_NO_TRACKING,
           depth = lpoc_range_push(t, domain_of(t, domain), name_in(t, a), a););
    return depth;
}

static int on_domain_pop(const void *domain)
{
    int depth;
    RECORD(t, NVTX_NO_TRACKING, uint64_t now = lpoc_thread_ticks(t);
           depth = lpoc_range_pop(t, domain_of(t, domain), now););
    return depth;
}

static uint64_t on_domain_start(const void *domain, const struct nvtx_attributes *a)
{
    uint64_t id;
    RECORD(t, 0, id = lpoc_range_start(t, domain_of(t, domain), name_in(t, a), a););
    return id;
}

static void on_end(uint64_t id)
{
    RECORD(t, , lpoc_range_end(t, id););
}

static void on_domain_end(const void *domain, uint64_t id)
{
    (void)domain; /* ids are ours and unique in the process */
    on_end(id);
}

static void on_domain_mark(const void *domain, const struct nvtx_attributes *a)
{
    RECORD(t, , lpoc_mark(t, domain_of(t, domain), name_in(t, a), a););
}

/* Calls without attributes are turned into calls with them. */

static struct nvtx_attributes plain(int32_t type, union nvtx_text text)
{
    return (struct nvtx_attributes){
        .version = 3, .size = sizeof(struct nvtx_attributes), .text_type = type, .text = text
    };
}

#define ASCII(text) plain(NVTX_TEXT_ASCII, (union nvtx_text){ .ascii = (text) })
#define WIDE(text)  plain(NVTX_TEXT_WIDE, (union nvtx_text){ .wide = (text) })

static int on_push_ex(const struct nvtx_attributes *a)
{
    return on_domain_push(NULL, a);
}

static int on_push_w(const wchar_t *text)
{
    struct nvtx_attributes a = WIDE(text);
    return on_domain_push(NULL, &a);
}

static uint64_t on_start_ex(const struct nvtx_attributes *a)
{
    return on_domain_start(NULL, a);
}

static uint64_t on_start_a(const char *text)
{
    struct nvtx_attributes a = ASCII(text);
    return on_domain_start(NULL, &a);
}

static uint64_t on_start_w(const wchar_t *text)
{
    struct nvtx_attributes a = WIDE(text);
    return on_domain_start(NULL, &a);
}

static void on_mark_ex(const struct nvtx_attributes *a)
{
    on_domain_mark(NULL, a);
}

static void on_mark_a(const char *text)
{
    struct nvtx_attributes a = ASCII(text);
    on_domain_mark(NULL, &a);
}

static void on_mark_w(const wchar_t *text)
{
    struct nvtx_attributes a = WIDE(text);
    on_domain_mark(NULL, &a);
}

/* Names. */

static uint32_t string_id(struct lpoc_thread *t, int32_t type, union nvtx_text text)
{
    uint32_t id = name_of(t, type, text).id;

    return id == LPOC_NAME_FULL ? 0 : id;
}

static void define(struct lpoc_thread *t, unsigned tag, const uint64_t *numbers, unsigned count)
{
    lpoc_lock(&t->owner->lock);
    lpoc_defs_add(&t->owner->defs, tag, numbers, count);
    lpoc_unlock(&t->owner->lock);
}

static void name_category(const void *domain, uint32_t category, int32_t type, union nvtx_text text)
{
    RECORD(t, , uint64_t def[3] = { domain_of(t, domain), category, string_id(t, type, text) };
           define(t, LPOT_DEF_CATEGORY, def, 3););
}

static void name_thread(uint32_t tid, int32_t type, union nvtx_text text)
{
    RECORD(t, , uint64_t def[2] = { tid, string_id(t, type, text) };
           define(t, LPOT_DEF_THREAD_NAME, def, 2););
}

static void on_name_category_a(uint32_t category, const char *text)
{
    name_category(NULL, category, NVTX_TEXT_ASCII, (union nvtx_text){ .ascii = text });
}

static void on_name_category_w(uint32_t category, const wchar_t *text)
{
    name_category(NULL, category, NVTX_TEXT_WIDE, (union nvtx_text){ .wide = text });
}

static void on_domain_name_category_a(const void *domain, uint32_t category, const char *text)
{
    name_category(domain, category, NVTX_TEXT_ASCII, (union nvtx_text){ .ascii = text });
}

static void on_domain_name_category_w(const void *domain, uint32_t category, const wchar_t *text)
{
    name_category(domain, category, NVTX_TEXT_WIDE, (union nvtx_text){ .wide = text });
}

static void on_name_thread_a(uint32_t tid, const char *text)
{
    name_thread(tid, NVTX_TEXT_ASCII, (union nvtx_text){ .ascii = text });
}

static void on_name_thread_w(uint32_t tid, const wchar_t *text)
{
    name_thread(tid, NVTX_TEXT_WIDE, (union nvtx_text){ .wide = text });
}

static void *register_string(int32_t type, union nvtx_text text)
{
    void *handle;
    RECORD(t, NULL, handle = lpoc_defs_string_handle(&t->owner->defs, string_id(t, type, text)););
    return handle;
}

static void *on_register_a(const void *domain, const char *text)
{
    (void)domain; /* equal texts are one string, whatever the domain */
    return register_string(NVTX_TEXT_ASCII, (union nvtx_text){ .ascii = text });
}

static void *on_register_w(const void *domain, const wchar_t *text)
{
    (void)domain;
    return register_string(NVTX_TEXT_WIDE, (union nvtx_text){ .wide = text });
}

static void *create_domain(int32_t type, union nvtx_text text)
{
    void *handle;
    RECORD(t, NULL, uint32_t string = string_id(t, type, text); lpoc_lock(&t->owner->lock);
           handle =
               lpoc_defs_domain_handle(&t->owner->defs, lpoc_defs_domain(&t->owner->defs, string));
           lpoc_unlock(&t->owner->lock););
    return handle;
}

static void *on_create_a(const char *text)
{
    return create_domain(NVTX_TEXT_ASCII, (union nvtx_text){ .ascii = text });
}

static void *on_create_w(const wchar_t *text)
{
    return create_domain(NVTX_TEXT_WIDE, (union nvtx_text){ .wide = text });
}

/* Of all resources that a program may name, a trace uses only threads. */
static void *on_resource_create(const void *domain, struct nvtx_resource *r)
{
    (void)domain;
    if (r && r->size >= sizeof *r && r->type == NVTX_RESOURCE_THREAD_NATIVE)
        name_thread((uint32_t)r->id, r->text_type, r->text);
    return NULL;
}

static void on_nothing(const void *what)
{
    (void)what; /* domains and strings live as long as the process */
}

struct slot {
    unsigned id;
    nvtx_fn function;
};

#define SLOT(id, f)                                                                                \
    {                                                                                              \
        id, (nvtx_fn)(f)                                                                           \
    }

static const struct slot core[] = {
    SLOT(NVTX_MARK_EX, on_mark_ex),
    SLOT(NVTX_MARK_A, on_mark_a),
    SLOT(NVTX_MARK_W, on_mark_w),
    SLOT(NVTX_START_EX, on_start_ex),
    SLOT(NVTX_START_A, on_start_a),
    SLOT(NVTX_START_W, on_start_w),
    SLOT(NVTX_END, on_end),
    SLOT(NVTX_PUSH_EX, on_push_ex),
    SLOT(NVTX_PUSH_A, on_push_a),
    SLOT(NVTX_PUSH_W, on_push_w),
    SLOT(NVTX_POP, on_pop),
    SLOT(NVTX_NAME_CATEGORY_A, on_name_category_a),
    SLOT(NVTX_NAME_CATEGORY_W, on_name_category_w),
    SLOT(NVTX_NAME_THREAD_A, on_name_thread_a),
    SLOT(NVTX_NAME_THREAD_W, on_name_thread_w),
};

static const struct slot core2[] = {
    SLOT(NVTX_DOMAIN_MARK_EX, on_domain_mark),
    SLOT(NVTX_DOMAIN_START_EX, on_domain_start),
    SLOT(NVTX_DOMAIN_END, on_domain_end),
    SLOT(NVTX_DOMAIN_PUSH_EX, on_domain_push),
    SLOT(NVTX_DOMAIN_POP, on_domain_pop),
    SLOT(NVTX_DOMAIN_RESOURCE_CREATE, on_resource_create),
    SLOT(NVTX_DOMAIN_RESOURCE_DESTROY, on_nothing),
    SLOT(NVTX_DOMAIN_NAME_CATEGORY_A, on_domain_name_category_a),
    SLOT(NVTX_DOMAIN_NAME_CATEGORY_W, on_domain_name_category_w),
    SLOT(NVTX_DOMAIN_REGISTER_A, on_register_a),
    SLOT(NVTX_DOMAIN_REGISTER_W, on_register_w),
    SLOT(NVTX_DOMAIN_CREATE_A, on_create_a),
    SLOT(NVTX_DOMAIN_CREATE_W, on_create_w),
    SLOT(NVTX_DOMAIN_DESTROY, on_nothing),
    SLOT(NVTX_INITIALIZE, on_nothing),
};

static int fill(const struct nvtx_callbacks *from, int module, const struct slot *slots, size_t n)
{
    nvtx_fn **table = NULL;
    unsigned count = 0;

    if (!from->get_module(module, &table, &count) || !table)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (slots[i].id < count && table[slots[i].id])
            *table[slots[i].id] = slots[i].function;
    return 0;
}

int lpoc_nvtx_attach(struct lpoc *c, nvtx_get_table get)
{
    const struct nvtx_callbacks *from = get ? get(NVTX_TABLE_CALLBACKS) : NULL;
    const struct nvtx_version *version = get ? get(NVTX_TABLE_VERSION) : NULL;

    if (!from || from->size < sizeof *from || !from->get_module ||
        fill(from, NVTX_MODULE_CORE, core, sizeof core / sizeof *core) < 0)
        return -1;
    if (version && version->size >= sizeof *version && version->set)
        version->set(3);
    if (fill(from, NVTX_MODULE_CORE2, core2, sizeof core2 / sizeof *core2) < 0)
        lpoc_note(c, LPOT_NOTE_NVTX_PARTIAL, 1,
                  "an NVTX instance has no domain functions: ranges in domains are not recorded");
    return 0;
}
