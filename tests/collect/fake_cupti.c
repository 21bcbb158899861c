#include "fake_cupti.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collect/cupti_abi.h"

#define EXPORT __attribute__((visibility("default")))

enum { RECORDS_MAX = 1 << 20, RECORD_ROOM = 216, KINDS = 64, IDS = 1024, HELD_MAX = 4096 };

/* Sizes as in CUDA 13.0: larger than the beginnings that the collector declares. */
static size_t record_bytes(uint32_t kind)
{
    switch (kind) {
    case CUPTI_KIND_KERNEL:
        return 216;
    case CUPTI_KIND_MEMCPY:
        return 96;
    case CUPTI_KIND_MEMCPY2:
        return 104;
    case CUPTI_KIND_MEMSET:
        return 88;
    default:
        return 56;
    }
}

union record {
    struct cupti_record head;
    struct cupti_kernel kernel;
    struct cupti_memcpy copy;
    struct cupti_memcpy2 peer;
    struct cupti_memset set;
    struct cupti_graph_trace graph;
    uint8_t bytes[RECORD_ROOM];
};

static struct {
    pthread_mutex_t lock;
    cupti_callback callback;
    void *user;
    cupti_request request;
    cupti_complete complete;
    bool kinds[KINDS], ids[8][IDS], zeroed;
    union record *pending;
    size_t count, dropped;
    uint32_t correlation;
    int errors;
} fake = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* The code FAKE_FAIL wants of this call; `argument` -1: none to tell by. */
static int verdict(const char *name, int argument)
{
    const char *at = getenv("FAKE_FAIL");
    char with[96], line[512], *save = NULL;

    if (!at)
        return CUPTI_OK;
    snprintf(line, sizeof line, "%s", at);
    snprintf(with, sizeof with, "%s.%d", name, argument);
    for (char *word = strtok_r(line, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
        char *colon = strrchr(word, ':');
        if (!colon)
            continue;
        *colon = 0;
        if (strcmp(word, name) == 0 || strcmp(word, with) == 0)
            return atoi(colon + 1);
    }
    return CUPTI_OK;
}

#define VERDICT(argument)                                                                          \
    do {                                                                                           \
        int code_ = verdict(__func__, (argument));                                                 \
        if (code_ != CUPTI_OK)                                                                     \
            return code_;                                                                          \
    } while (0)

/* CUPTI. */

EXPORT int cuptiGetVersion(uint32_t *version);
EXPORT int cuptiSubscribe_v2(void **subscriber, cupti_callback f, void *user,
                             struct cupti_subscriber_params *params);
EXPORT int cuptiSubscribe(void **subscriber, cupti_callback f, void *user);
EXPORT int cuptiUnsubscribe(void *subscriber);
EXPORT int cuptiEnableCallback(uint32_t enable, void *subscriber, int domain, uint32_t id);
EXPORT int cuptiActivityRegisterCallbacks(cupti_request request, cupti_complete complete);
EXPORT int cuptiActivityEnable(int kind);
EXPORT int cuptiActivitySetAttribute(int attribute, size_t *size, void *value);
EXPORT int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, struct cupti_record **record);
EXPORT int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped);
EXPORT int cuptiActivityFlushAll(uint32_t flag);
EXPORT int cuptiActivityFlushPeriod(uint32_t ms);
EXPORT int cuptiGetGraphNodeId(void *node, uint64_t *id);
EXPORT int cuptiGetResultString(int result, const char **text);

int cuptiGetVersion(uint32_t *version)
{
    const char *given = getenv("FAKE_VERSION");

    VERDICT(-1);
    *version = given ? (uint32_t)atol(given) : 130001;
    return CUPTI_OK;
}

int cuptiSubscribe_v2(void **subscriber, cupti_callback f, void *user,
                      struct cupti_subscriber_params *params)
{
    const char *holder = getenv("FAKE_HOLDER");

    if (params && (params->size != sizeof *params || params->old_size < 64))
        fake.errors++;
    if (holder && params && params->old_name)
        snprintf(params->old_name, params->old_size, "%s", holder);
    VERDICT(-1);
    return cuptiSubscribe(subscriber, f, user);
}

int cuptiSubscribe(void **subscriber, cupti_callback f, void *user)
{
    VERDICT(-1);
    if (fake.callback)
        return CUPTI_MULTIPLE_SUBSCRIBERS;
    fake.callback = f;
    fake.user = user;
    *subscriber = &fake;
    return CUPTI_OK;
}

int cuptiUnsubscribe(void *subscriber)
{
    (void)subscriber;
    fake.callback = NULL;
    memset(fake.kinds, 0, sizeof fake.kinds);
    return CUPTI_OK;
}

int cuptiEnableCallback(uint32_t enable, void *subscriber, int domain, uint32_t id)
{
    VERDICT(domain);
    if (subscriber != &fake || domain < 0 || domain >= 8 || id >= IDS)
        return CUPTI_INVALID_PARAMETER;
    fake.ids[domain][id] = enable != 0;
    return CUPTI_OK;
}

int cuptiActivityRegisterCallbacks(cupti_request request, cupti_complete complete)
{
    VERDICT(-1);
    fake.request = request;
    fake.complete = complete;
    return CUPTI_OK;
}

int cuptiActivityEnable(int kind)
{
    VERDICT(kind);
    if (!fake.callback)
        fake.errors++; /* subscribe first */
    fake.kinds[kind % KINDS] = true;
    return CUPTI_OK;
}

int cuptiActivitySetAttribute(int attribute, size_t *size, void *value)
{
    VERDICT(attribute);
    if (attribute == CUPTI_ATTR_ZEROED_BUFFER) {
        if (*size != 1)
            return CUPTI_INVALID_PARAMETER;
        fake.zeroed = *(uint8_t *)value;
    }
    return CUPTI_OK;
}

int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, struct cupti_record **record)
{
    uint8_t *next = *record ? (uint8_t *)*record + record_bytes((*record)->kind) : buffer;

    VERDICT(-1);
    if (next >= buffer + valid)
        return CUPTI_MAX_LIMIT_REACHED;
    *record = (struct cupti_record *)(void *)next;
    return CUPTI_OK;
}

int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped)
{
    (void)context, (void)stream;
    *dropped = __atomic_exchange_n(&fake.dropped, 0, __ATOMIC_RELAXED);
    return CUPTI_OK;
}

int cuptiActivityFlushAll(uint32_t flag)
{
    VERDICT(-1);
    if (flag)
        fake_complete(FAKE_IN_ORDER);
    return CUPTI_OK;
}

int cuptiActivityFlushPeriod(uint32_t ms)
{
    (void)ms;
    return CUPTI_OK;
}

int cuptiGetGraphNodeId(void *node, uint64_t *id)
{
    VERDICT(-1);
    *id = (uint64_t)(uintptr_t)node;
    return CUPTI_OK;
}

int cuptiGetResultString(int result, const char **text)
{
    static __thread char room[64];

    snprintf(room, sizeof room, "CUPTI_ERROR_%d", result);
    *text = room;
    return CUPTI_OK;
}

/* The driver. */

EXPORT int cuDriverGetVersion(int *version);
EXPORT int cuDeviceGetCount(int *count);
EXPORT int cuDeviceGet(int *device, int ordinal);
EXPORT int cuDeviceGetName(char *name, int len, int device);
EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device);
EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device);

int cuDriverGetVersion(int *version)
{
    *version = 13000;
    return 0;
}

int cuDeviceGetCount(int *count)
{
    *count = 2;
    return 0;
}

int cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal;
    return 0;
}

int cuDeviceGetName(char *name, int len, int device)
{
    snprintf(name, (size_t)len, "Fake GPU %d", device);
    return 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    (void)device;
    *value = attribute * 10;
    return attribute == 34; /* one that is not known here */
}

int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    *bytes = (size_t)(device + 1) << 40;
    return 0;
}

EXPORT int cuInit(unsigned flags)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    void *lib = path ? dlopen(path, RTLD_NOW) : NULL;
    int (*init)(void) = NULL;

    (void)flags;
    if (lib)
        *(void **)&init = dlsym(lib, "InitializeInjection");
    return init && init() != 1;
}

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The two callbacks of one call, with `kind`'s record between them. */
static uint32_t call(uint32_t id, bool silent)
{
    uint32_t correlation = __atomic_add_fetch(&fake.correlation, 3, __ATOMIC_RELAXED);
    struct cupti_call c = { .site = CUPTI_ENTER, .function = "cuCall", .correlation = correlation };

    if (!silent && fake.callback && fake.ids[CUPTI_DOMAIN_DRIVER][id]) {
        fake.callback(fake.user, CUPTI_DOMAIN_DRIVER, id, &c);
        c.site = CUPTI_EXIT;
        fake.callback(fake.user, CUPTI_DOMAIN_DRIVER, id, &c);
    }
    return correlation;
}

static void record(const union record *r)
{
    if (!fake.kinds[r->head.kind % KINDS])
        return;
    pthread_mutex_lock(&fake.lock);
    if (!fake.pending)
        fake.pending = calloc(RECORDS_MAX, sizeof *fake.pending);
    if (fake.count < RECORDS_MAX)
        fake.pending[fake.count++] = *r;
    pthread_mutex_unlock(&fake.lock);
}

static union record kernel_record(const struct fake_kernel *k, uint32_t correlation)
{
    uint64_t start = k->untimed ? 0 : now_ns();
    union record r = { .kernel = { .kind = CUPTI_KIND_KERNEL,
                                   .registers = 32,
                                   .start = start,
                                   .end = start ? start + 1500 : 0,
                                   .device = k->device,
                                   .context = 1,
                                   .stream = k->stream,
                                   .grid = { (int32_t)k->grid, 1, 1 },
                                   .block = { (int32_t)k->block, 1, 1 },
                                   .dynamic_shared = 4096,
                                   .correlation = correlation,
                                   .name = k->name } };
    return r;
}

EXPORT void fake_launch(const struct fake_kernel *k)
{
    union record r = kernel_record(k, call(307, false));
    record(&r);
}

EXPORT void fake_silent_launch(const struct fake_kernel *k)
{
    union record r = kernel_record(k, call(307, true));
    record(&r);
}

EXPORT void fake_copy(unsigned kind, uint64_t bytes)
{
    uint64_t start = now_ns();
    union record r = { .copy = { .kind = CUPTI_KIND_MEMCPY,
                                 .copy = (uint8_t)kind,
                                 .source = 1,
                                 .target = 3,
                                 .bytes = bytes,
                                 .start = start,
                                 .end = start + 900,
                                 .context = 1,
                                 .stream = 7,
                                 .correlation = call(277, false) } };
    record(&r);
}

EXPORT void fake_peer(uint32_t from, uint32_t to, uint64_t bytes)
{
    uint64_t start = now_ns();
    union record r = { .peer = { .kind = CUPTI_KIND_MEMCPY2,
                                 .copy = 10,
                                 .source = 3,
                                 .target = 3,
                                 .bytes = bytes,
                                 .start = start,
                                 .end = start + 900,
                                 .device = from,
                                 .context = 1,
                                 .stream = 7,
                                 .source_device = from,
                                 .target_device = to,
                                 .correlation = call(319, false) } };
    record(&r);
}

EXPORT void fake_set(uint64_t bytes)
{
    uint64_t start = now_ns();
    union record r = { .set = { .kind = CUPTI_KIND_MEMSET,
                                .value = 255,
                                .bytes = bytes,
                                .start = start,
                                .end = start + 400,
                                .context = 1,
                                .stream = 7,
                                .memory = 3,
                                .correlation = call(220, false) } };
    record(&r);
}

static void resource(uint32_t id, uint64_t node, uint64_t original)
{
    struct cupti_graph_data g = { .node = (void *)(uintptr_t)node,
                                  .original_node = (void *)(uintptr_t)original };
    struct cupti_resource_data r = { .descriptor = &g };

    if (fake.callback && fake.ids[CUPTI_DOMAIN_RESOURCE][id])
        fake.callback(fake.user, CUPTI_DOMAIN_RESOURCE, id, &r);
}

EXPORT void fake_capture(uint64_t node)
{
    resource(CUPTI_NODE_CREATED, node, 0);
}

EXPORT void fake_instantiate(const uint64_t *nodes, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        resource(CUPTI_NODE_CLONED, nodes[i] + 1000, nodes[i]);
}

EXPORT void fake_graph_launch(const uint64_t *nodes, unsigned count, const struct fake_kernel *k)
{
    uint32_t correlation = call(514, false);
    uint64_t start = now_ns();
    union record whole = { .graph = { .kind = CUPTI_KIND_GRAPH_TRACE,
                                      .correlation = correlation,
                                      .start = start,
                                      .end = start + 5000,
                                      .graph = 9,
                                      .context = 1,
                                      .stream = 7 } };

    if (fake.kinds[CUPTI_KIND_GRAPH_TRACE]) {
        record(&whole);
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        union record r = kernel_record(&k[i], correlation);
        r.kernel.graph = 9;
        r.kernel.graph_node = nodes[i] + 1000;
        record(&r);
    }
}

static bool is_zero(const uint8_t *p, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (p[i])
            return false;
    return true;
}

/* A buffer that waits to be completed. */
struct full {
    uint8_t *at;
    size_t size, used;
};

/* Takes a buffer and fills it from record *next on; false when none is to be had. */
static bool fill(const union record *all, size_t count, size_t *next, int order, struct full *out)
{
    size_t most = 0;

    *out = (struct full){ 0 };
    fake.request(&out->at, &out->size, &most);
    if (!out->at)
        return false;
    if ((uintptr_t)out->at % 8 || (fake.zeroed && !is_zero(out->at, out->size)))
        fake.errors++;
    for (; *next < count; (*next)++) {
        const union record *r = &all[order == FAKE_REVERSED ? count - 1 - *next : *next];
        size_t bytes = record_bytes(r->head.kind);
        if (out->used + bytes > out->size)
            break;
        memcpy(out->at + out->used, r, bytes);
        out->used += bytes;
    }
    return true;
}

/* Fills buffers until all is delivered or none is to be had. FAKE_HOLD completes them only when
 * the last is full, and the last one first. */
static void *deliver(void *order)
{
    struct full held[HELD_MAX];
    size_t count, next = 0, nheld = 0;
    bool hold = getenv("FAKE_HOLD") != NULL;
    union record *all;

    pthread_mutex_lock(&fake.lock);
    all = fake.pending;
    count = fake.count;
    fake.pending = NULL;
    fake.count = 0;
    pthread_mutex_unlock(&fake.lock);
    while (next < count && fake.request && fake.complete && nheld < HELD_MAX) {
        if (!fill(all, count, &next, *(int *)order, &held[nheld])) {
            __atomic_add_fetch(&fake.dropped, count - next, __ATOMIC_RELAXED);
            break;
        }
        nheld++;
        while (nheld && (!hold || next == count)) {
            nheld--;
            fake.complete(NULL, 0, held[nheld].at, held[nheld].size, held[nheld].used);
        }
    }
    while (nheld--)
        fake.complete(NULL, 0, held[nheld].at, held[nheld].size, held[nheld].used);
    free(all);
    return NULL;
}

EXPORT void fake_complete(int order)
{
    pthread_t worker;

    if (pthread_create(&worker, NULL, deliver, &order) == 0)
        pthread_join(worker, NULL);
}

EXPORT void fake_fatal(int result)
{
    struct cupti_state_data s = { result, "the device fell off" };

    if (fake.callback && fake.ids[CUPTI_DOMAIN_STATE][CUPTI_FATAL_ERROR])
        fake.callback(fake.user, CUPTI_DOMAIN_STATE, CUPTI_FATAL_ERROR, &s);
}

EXPORT int fake_errors(void)
{
    return fake.errors;
}
