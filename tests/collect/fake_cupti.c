/* SPDX-License-Identifier: Apache-2.0 */
/* CUPTI's half of fake_cupti.h: what the client asked for, and the records on their way to it. */
#include "fake_cupti.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "fake_record.h"

enum { RECORDS_MAX = 1 << 20, KINDS = 64, IDS = 1024, HELD_MAX = 4096 };

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

static struct {
    pthread_mutex_t lock;
    cupti_callback callback;
    void *user;
    cupti_request request;
    cupti_complete complete;
    bool kinds[KINDS], ids[8][IDS], zeroed;
    union fake_record *pending;
    size_t count, dropped;
    int errors, finalized;
    bool held; /* by another tool */
} fake = { .lock = PTHREAD_MUTEX_INITIALIZER };

int fake_kernels_switched, fake_graphs_used;
void (*fake_meanwhile)(void);

int fake_verdict(const char *name, int argument)
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
        int code_ = fake_verdict(__func__, (argument));                                            \
        if (code_ != CUPTI_OK)                                                                     \
            return code_;                                                                          \
    } while (0)

EXPORT int cuptiGetVersion(uint32_t *version);
EXPORT int cuptiSubscribe_v2(void **subscriber, cupti_callback f, void *user,
                             struct cupti_subscriber_params *params);
EXPORT int cuptiSubscribe(void **subscriber, cupti_callback f, void *user);
EXPORT int cuptiUnsubscribe(void *subscriber);
EXPORT int cuptiEnableCallback(uint32_t enable, void *subscriber, int domain, uint32_t id);
EXPORT int cuptiActivityRegisterCallbacks(cupti_request request, cupti_complete complete);
EXPORT int cuptiActivityEnable(int kind);
EXPORT int cuptiActivityDisable(int kind);
EXPORT int cuptiActivitySetAttribute(int attribute, size_t *size, void *value);
EXPORT int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, struct cupti_record **record);
EXPORT int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped);
EXPORT int cuptiActivityFlushAll(uint32_t flag);
EXPORT int cuptiActivityFlushPeriod(uint32_t ms);
EXPORT int cuptiGetGraphNodeId(void *node, uint64_t *id);
EXPORT int cuptiFinalize(void);
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
    if (fake.callback || fake.held)
        return CUPTI_MULTIPLE_SUBSCRIBERS;
    if (fake_meanwhile)
        fake_meanwhile();
    /* First: other threads may be in the middle of a launch. */
    __atomic_store_n(&fake.user, user, __ATOMIC_RELAXED);
    __atomic_store_n(&fake.callback, f, __ATOMIC_RELEASE);
    *subscriber = &fake;
    return CUPTI_OK;
}

int cuptiUnsubscribe(void *subscriber)
{
    (void)subscriber;
    __atomic_store_n(&fake.callback, NULL, __ATOMIC_RELEASE);
    for (int i = 0; i < KINDS; i++)
        __atomic_store_n(&fake.kinds[i], false, __ATOMIC_RELAXED);
    return CUPTI_OK;
}

static __thread bool call_ends; /* this thread is in the callback at the end of a call */

/* As the real one: what was not delivered is lost, and calls are counted from the beginning. */
int cuptiFinalize(void)
{
    VERDICT(-1);
    if (__atomic_load_n(&fake_graphs_used, __ATOMIC_RELAXED))
        fake.errors++; /* the real one lets the program crash */
    if (!call_ends)
        fake.errors++; /* the real one frees memory that another thread may be using */
    fake_kernels_switched = 0;
    cuptiUnsubscribe(&fake);
    for (int domain = 0; domain < 8; domain++)
        for (int id = 0; id < IDS; id++)
            __atomic_store_n(&fake.ids[domain][id], false, __ATOMIC_RELEASE);
    pthread_mutex_lock(&fake.lock);
    fake.count = 0;
    fake.request = NULL;
    fake.complete = NULL;
    pthread_mutex_unlock(&fake.lock);
    fake_calls_restart();
    __atomic_add_fetch(&fake.finalized, 1, __ATOMIC_RELEASE);
    return CUPTI_OK;
}

int cuptiEnableCallback(uint32_t enable, void *subscriber, int domain, uint32_t id)
{
    VERDICT(domain);
    if (subscriber != &fake || domain < 0 || domain >= 8 || id >= IDS)
        return CUPTI_INVALID_PARAMETER;
    __atomic_store_n(&fake.ids[domain][id], enable != 0, __ATOMIC_RELEASE);
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
    __atomic_store_n(&fake.kinds[kind % KINDS], true, __ATOMIC_RELAXED);
    return CUPTI_OK;
}

int cuptiActivityDisable(int kind)
{
    VERDICT(kind);
    if (kind == CUPTI_KIND_GRAPH_TRACE)
        fake.errors++; /* the real one crashes at the next launch of a graph */
    if (kind == CUPTI_KIND_KERNEL)
        fake_kernels_switched = 1;
    __atomic_store_n(&fake.kinds[kind % KINDS], false, __ATOMIC_RELAXED);
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

/* Without force, a buffer waits for the kernels in it that still run; with force, these have no
 * times. A millisecond is not looked at. */
static bool all_have_ended(bool force)
{
    uint64_t now = fake_now() + 1000000;
    bool ended = true;

    pthread_mutex_lock(&fake.lock);
    for (size_t i = 0; fake.pending && i < fake.count; i++) {
        union fake_record *r = &fake.pending[i];

        if (r->head.kind != CUPTI_KIND_KERNEL || r->kernel.end <= now)
            continue;
        ended = false;
        if (force)
            r->kernel.start = r->kernel.end = 0;
    }
    pthread_mutex_unlock(&fake.lock);
    return ended;
}

int cuptiActivityFlushAll(uint32_t flag)
{
    VERDICT(-1);
    if (all_have_ended(flag) || flag)
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

static bool is_end(int domain, const void *data)
{
    return (domain == CUPTI_DOMAIN_DRIVER || domain == CUPTI_DOMAIN_RUNTIME) &&
           ((const struct cupti_call *)data)->site == CUPTI_EXIT;
}

bool fake_tell(int domain, uint32_t id, const void *data)
{
    cupti_callback callback = __atomic_load_n(&fake.callback, __ATOMIC_ACQUIRE);

    if (!callback || !__atomic_load_n(&fake.ids[domain][id], __ATOMIC_ACQUIRE))
        return false;
    call_ends = is_end(domain, data);
    callback(__atomic_load_n(&fake.user, __ATOMIC_RELAXED), domain, id, data);
    call_ends = false;
    return true;
}

bool fake_wants(int kind)
{
    return __atomic_load_n(&fake.kinds[kind % KINDS], __ATOMIC_RELAXED);
}

/* Not from malloc(), which meson lets write into what it gives: most of this is never touched. */
static union fake_record *map_records(void)
{
    void *at = mmap(NULL, RECORDS_MAX * sizeof(union fake_record), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return at == MAP_FAILED ? NULL : at;
}

void fake_keep(const union fake_record *r)
{
    if (!fake_wants((int)r->head.kind))
        return;
    pthread_mutex_lock(&fake.lock);
    if (!fake.pending)
        fake.pending = map_records();
    if (fake.pending && fake.count < RECORDS_MAX)
        fake.pending[fake.count++] = *r;
    pthread_mutex_unlock(&fake.lock);
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
static bool fill(const union fake_record *all, size_t count, size_t *next, int order,
                 struct full *out)
{
    size_t most = 0;

    *out = (struct full){ 0 };
    fake.request(&out->at, &out->size, &most);
    if (!out->at)
        return false;
    if ((uintptr_t)out->at % 8 || (fake.zeroed && !is_zero(out->at, out->size)))
        fake.errors++;
    for (; *next < count; (*next)++) {
        const union fake_record *r = &all[order == FAKE_REVERSED ? count - 1 - *next : *next];
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
    union fake_record *all;

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
    if (all)
        munmap(all, RECORDS_MAX * sizeof *all);
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

    fake_tell(CUPTI_DOMAIN_STATE, CUPTI_FATAL_ERROR, &s);
}

EXPORT int fake_has_kernels(void)
{
    return fake_wants(CUPTI_KIND_KERNEL);
}

EXPORT int fake_finalized(void)
{
    return __atomic_load_n(&fake.finalized, __ATOMIC_ACQUIRE);
}

EXPORT void fake_hold(int held)
{
    fake.held = held;
}

EXPORT int fake_errors(void)
{
    return fake.errors;
}
