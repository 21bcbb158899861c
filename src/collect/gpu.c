/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/gpu.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/activity.h"
#include "collect/cuda_calls.h"
#include "collect/find_cupti.h"
#include "collect/graph.h"
#include "collect/guard.h"
#include "collect/mem.h"
#include "lpo/trace_format.h"

enum { OLDEST_12 = 17, NEWEST_12 = 99, OLDEST_13 = 130000, NEWEST_13 = 139999, WHO = 128 };

/* What a refusal means to the person who reads the report. */
static const struct {
    int result;
    const char *advice;
} advices[] = {
    { CUPTI_NOT_INITIALIZED, "the driver is older than this CUPTI; update the driver" },
    { CUPTI_HARDWARE_BUSY, "another profiler holds the GPU" },
    { CUPTI_NOT_SUPPORTED, "this GPU or driver does not offer it" },
    { CUPTI_VIRTUALIZED_DEVICE, "the virtual GPU does not offer profiling" },
    { CUPTI_INSUFFICIENT_PRIVILEGES, "the driver keeps profiling to administrators" },
    { CUPTI_OLD_PROFILER, "the program uses CUPTI's old profiling interface" },
    { CUPTI_MULTIPLE_SUBSCRIBERS, "another tool (nsys, ncu, a profiler of the framework, a "
                                  "debugger) is in this process; run without it" },
    { CUPTI_VIRTUALIZED_PRIVILEGES, "profiling must be enabled for the virtual GPU on its host" },
    { CUPTI_CONFIDENTIAL_COMPUTING, "confidential computing forbids profiling" },
    { CUPTI_MIG_DEVICE, "this MIG configuration does not offer profiling" },
    { CUPTI_WSL_DEVICE, "WSL does not offer profiling on this configuration" },
};

static const char *advice_for(int result)
{
    for (size_t i = 0; i < sizeof advices / sizeof *advices; i++)
        if (advices[i].result == result)
            return advices[i].advice;
    return "see the CUPTI documentation for this code";
}

const char *lpoc_result_text(const struct cupti *api, int result)
{
    const char *text = NULL;

    if (api->result_string && api->result_string(result, &text) == CUPTI_OK && text)
        return text;
    return "CUPTI error";
}

bool lpoc_gpu_granted(struct lpoc_gpu *g, int result, unsigned code, const char *what)
{
    if (result == CUPTI_OK || g->quiet)
        return result == CUPTI_OK;
    lpoc_note(g->owner, code, 1, "%s: %s (%d): %s", what, lpoc_result_text(&g->api, result), result,
              advice_for(result));
    return false;
}

static void on_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
    struct lpoc_gpu *g = lpoc_get()->gpu;

    *max_records = 0;
    *buffer = NULL;
    *size = 0;
    if (g)
        lpoc_buffer_request(g->records, buffer, size);
}

static void on_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    struct lpoc_gpu *g = lpoc_get()->gpu;

    if (g)
        lpoc_buffer_complete(g->records, context, stream, buffer, size, valid);
}

static bool subscribe(struct lpoc_gpu *g)
{
    char who[WHO] = "";
    struct cupti_subscriber_params params = { sizeof params, "llm-perf-opt", who, sizeof who };
    int result = g->api.subscribe_v2
                     ? g->api.subscribe_v2(&g->subscriber, lpoc_on_callback, g->owner, &params)
                     : g->api.subscribe(&g->subscriber, lpoc_on_callback, g->owner);

    if (result == CUPTI_OK)
        return true;
    if (result == CUPTI_MULTIPLE_SUBSCRIBERS && !g->quiet)
        lpoc_note(g->owner, LPOT_NOTE_SUBSCRIBED, 0,
                  "CUPTI is held by another tool%s%s%s: ranges are recorded, kernels are not; run "
                  "without that tool to have both",
                  who[0] ? " (" : "", who, who[0] ? ")" : "");
    else
        lpoc_gpu_granted(g, result, LPOT_NOTE_CUPTI_REFUSED,
                         "CUPTI refused us, kernels are not recorded");
    return false;
}

static void set_number(struct lpoc_gpu *g, int attribute, size_t value, const char *what)
{
    size_t size = sizeof value;

    if (g->api.set_attribute)
        lpoc_gpu_granted(g, g->api.set_attribute(attribute, &size, &value), LPOT_NOTE_CUPTI_PARTIAL,
                         what);
}

static void set_byte(struct lpoc_gpu *g, int attribute, int64_t on, const char *what)
{
    uint8_t value = on != 0;
    size_t size = sizeof value;

    if (g->api.set_attribute)
        lpoc_gpu_granted(g, g->api.set_attribute(attribute, &size, &value), LPOT_NOTE_CUPTI_PARTIAL,
                         what);
}

static void set_attributes(struct lpoc_gpu *g)
{
    const struct lpoc_knobs *k = &g->owner->knobs;

    if (k->device_buffer_kb)
        set_number(g, CUPTI_ATTR_DEVICE_BUFFER_SIZE, (size_t)k->device_buffer_kb << 10,
                   "device buffer size");
    if (k->device_buffers)
        set_number(g, CUPTI_ATTR_DEVICE_BUFFERS, (size_t)k->device_buffers, "device buffers");
    if (k->host_pinned)
        set_byte(g, CUPTI_ATTR_HOST_PINNED, 1, "device buffers in pinned host memory");
    if (k->cupti_per_thread >= 0)
        set_byte(g, CUPTI_ATTR_PER_THREAD, k->cupti_per_thread, "buffers per thread");
    if (k->cupti_zeroed)
        set_byte(g, CUPTI_ATTR_ZEROED_BUFFER, 1, "zeroed buffers");
}

static bool enable_kind(struct lpoc_gpu *g, int64_t wanted, int kind, const char *what)
{
    return wanted && lpoc_gpu_granted(g, g->api.enable(kind), LPOT_NOTE_CUPTI_PARTIAL, what);
}

static bool enable_callbacks(struct lpoc_gpu *g, int domain, const struct lpoc_cbids *ids,
                             size_t count, const char *what)
{
    unsigned refused = 0;
    int last = CUPTI_OK;

    for (size_t i = 0; i < count; i++)
        for (uint32_t id = ids[i].first; id <= ids[i].last; id++) {
            int result = g->api.enable_callback(1, g->subscriber, domain, id);
            /* An older CUPTI does not know the newest calls, and the program cannot make them. */
            if (result != CUPTI_OK && result != CUPTI_INVALID_PARAMETER)
                last = result, refused++;
        }
    return !refused || lpoc_gpu_granted(g, last, LPOT_NOTE_CUPTI_PARTIAL, what);
}

static const char no_copy_ranges[] = "the ranges of copies and memsets are not known";
static const char no_graphs[] = "what CUDA graphs run is not known";
static const char no_calls[] = "calls that can block are not recorded";

/* Which calls are wanted for what. */
static const struct {
    int domain;
    const struct lpoc_cbids *ids;
    size_t count;
    unsigned about;
    const char *what; /* is missing when CUPTI refuses */
} wanted[] = {
    { CUPTI_DOMAIN_DRIVER, LPOC_CBIDS(lpoc_kernel_cbids), LPOC_LAUNCHES | LPOC_LAUNCHES_KERNEL,
      "the ranges of kernels are not known" },
    { CUPTI_DOMAIN_DRIVER, LPOC_CBIDS(lpoc_graph_cbids), LPOC_LAUNCHES | LPOC_LAUNCHES_GRAPH,
      "the ranges of CUDA graph launches are not known" },
    { CUPTI_DOMAIN_DRIVER, LPOC_CBIDS(lpoc_copy_cbids), LPOC_LAUNCHES | LPOC_CAN_BLOCK,
      no_copy_ranges },
    { CUPTI_DOMAIN_DRIVER, LPOC_CBIDS(lpoc_set_cbids), LPOC_LAUNCHES, no_copy_ranges },
    { CUPTI_DOMAIN_DRIVER, LPOC_CBIDS(lpoc_instantiate_cbids),
      LPOC_INSTANTIATES_GRAPH | LPOC_CAN_BLOCK, no_graphs },
    { CUPTI_DOMAIN_DRIVER, LPOC_CBIDS(lpoc_change_cbids), LPOC_CHANGES_GRAPH, no_graphs },
    { CUPTI_DOMAIN_DRIVER, LPOC_CBIDS(lpoc_driver_block_cbids), LPOC_CAN_BLOCK, no_calls },
    { CUPTI_DOMAIN_DRIVER, LPOC_CBIDS(lpoc_driver_query_cbids), LPOC_QUERIES, no_calls },
    { CUPTI_DOMAIN_RUNTIME, LPOC_CBIDS(lpoc_runtime_block_cbids), LPOC_CAN_BLOCK, no_calls },
    { CUPTI_DOMAIN_RUNTIME, LPOC_CBIDS(lpoc_runtime_query_cbids), LPOC_QUERIES, no_calls },
};

/* The part of `about` that the settings ask for. */
static unsigned asked_for(const struct lpoc_gpu *g, size_t row)
{
    const struct lpoc_knobs *k = &g->owner->knobs;
    unsigned about = wanted[row].about;
    bool copies = wanted[row].what == no_copy_ranges;

    if (!k->launches || (copies && !k->copies))
        about &= ~(unsigned)(LPOC_LAUNCHES | LPOC_LAUNCHES_GRAPH | LPOC_LAUNCHES_KERNEL);
    if (!g->whole_graphs)
        about &= ~(unsigned)(LPOC_INSTANTIATES_GRAPH | LPOC_CHANGES_GRAPH);
    if (!k->calls || (k->calls == 1 && wanted[row].domain == CUPTI_DOMAIN_RUNTIME))
        about &= ~(unsigned)(LPOC_CAN_BLOCK | LPOC_QUERIES);
    return about;
}

/* What is known of this CUPTI; the file has it from the first time on. */
static void write_fact(struct lpoc_gpu *g, const char *key, const char *value)
{
    const char *const fact[1][2] = { { key, value } };

    if (!g->again)
        lpoc_write_facts(g->owner, fact, 1);
}

/* False: calls that can block are not recorded, or not all of them. */
static bool enable_calls(struct lpoc_gpu *g)
{
    bool all = g->owner->knobs.calls != 0;

    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        unsigned about = asked_for(g, i);

        if (!about)
            continue;
        for (size_t k = 0; !g->again && k < wanted[i].count; k++)
            for (uint32_t id = wanted[i].ids[k].first; id <= wanted[i].ids[k].last; id++)
                g->about[wanted[i].domain == CUPTI_DOMAIN_RUNTIME][id] |= (uint8_t)about;
        if (!enable_callbacks(g, wanted[i].domain, wanted[i].ids, wanted[i].count,
                              wanted[i].what) &&
            about & LPOC_CAN_BLOCK)
            all = false;
    }
    return all;
}

static void enable_launches(struct lpoc_gpu *g)
{
    static const struct lpoc_cbids nodes[] = { { CUPTI_NODE_CREATED, CUPTI_NODE_CREATED },
                                               { CUPTI_NODE_CLONED, CUPTI_NODE_CLONED } };
    const struct lpoc_knobs *k = &g->owner->knobs;
    const char *calls = "none";

    if (enable_calls(g))
        calls = k->calls == 1 ? "driver" : "outermost";
    if (k->launches)
        enable_callbacks(g, CUPTI_DOMAIN_RESOURCE, LPOC_CBIDS(nodes),
                         "the ranges at graph capture are not known");
    g->api.enable_callback(1, g->subscriber, CUPTI_DOMAIN_STATE, CUPTI_FATAL_ERROR);
    write_fact(g, "cuda.calls", calls);
}

/* Chosen once for the whole run: CUPTI 12 and 13 crash when the kind of graph records is changed
 * between two launches of a graph. A collector that comes late has not seen graphs being made, so
 * it could not list their kernels: it asks for each of them. */
static void choose_graphs(struct lpoc_gpu *g)
{
    const struct lpoc_knobs *k = &g->owner->knobs;
    bool whole = !k->graph_nodes && !g->late && k->kernels && lpoc_graph_can_list(g) &&
                 g->api.enable(CUPTI_KIND_GRAPH_TRACE) == CUPTI_OK;

    if (g->again)
        return;
    g->whole_graphs = whole;
    /* Once kernel records were switched, CUPTI 13.0 gives the kernels of a graph times that reach
     * from one launch to another. Where those are recorded one by one, records go on and what lies
     * outside windows is dropped. */
    g->steady = !whole && k->kernels && k->launches;
    write_fact(g, "cuda.graphs", whole ? "whole" : "nodes");
}

bool lpoc_gpu_enable_kinds(struct lpoc_gpu *g)
{
    const struct lpoc_knobs *k = &g->owner->knobs;
    bool any = false;

    any |= enable_kind(g, k->kernels, CUPTI_KIND_KERNEL, "kernels are not recorded");
    any |= enable_kind(g, k->copies, CUPTI_KIND_MEMCPY, "copies are not recorded");
    any |= enable_kind(g, k->copies, CUPTI_KIND_MEMCPY2, "peer copies are not recorded");
    any |= enable_kind(g, k->copies, CUPTI_KIND_MEMSET, "memsets are not recorded");
    return any;
}

/* False when records were wanted and CUPTI gives none at all. */
static bool enable_records(struct lpoc_gpu *g)
{
    const struct lpoc_knobs *k = &g->owner->knobs;
    bool any = lpoc_gpu_enable_kinds(g);

    choose_graphs(g);
    return any || !(k->kernels || k->copies);
}

static bool known_version(struct lpoc_gpu *g)
{
    uint32_t version = 0;
    char text[32];
    Dl_info where = { 0 };
    const char *pairs[2][2] = { { "cupti.version", text }, { "cupti.path", "" } };

    if (!lpoc_gpu_granted(g, g->api.get_version(&version), LPOT_NOTE_CUPTI_REFUSED,
                          "CUPTI does not give its version, kernels are not recorded"))
        return false;
    snprintf(text, sizeof text, "%u", version);
    if (dladdr((void *)(uintptr_t)g->api.get_version, &where) && where.dli_fname)
        pairs[1][1] = where.dli_fname;
    lpoc_write_facts(g->owner, (const char *const(*)[2])pairs, 2);
    if ((version >= OLDEST_12 && version <= NEWEST_12) ||
        (version >= OLDEST_13 && version <= NEWEST_13))
        return true;
    lpoc_note(g->owner, LPOT_NOTE_CUPTI_VERSION, 0,
              "CUPTI %u at '%s' belongs to neither CUDA 12 nor CUDA 13: kernels are not recorded",
              version, pairs[1][1]);
    return false;
}

struct lpoc_gpu *lpoc_gpu_of(struct lpoc *c)
{
    struct lpoc_gpu *g = __atomic_load_n(&c->gpu_ready, __ATOMIC_ACQUIRE);

    return g && !__atomic_load_n(&g->stopped, __ATOMIC_ACQUIRE) ? g : NULL;
}

static void finish_at_exit(void)
{
    lpoc_detach_end(lpoc_get());
    lpoc_gpu_finish(lpoc_get());
}

/* All is enabled first: CUPTI must know of kernel records when the first context is made. The
 * control thread, or a range of another thread, may have opened or closed a window meanwhile: under
 * their lock it is decided once, and from here on they switch themselves. */
static void start_between_windows(struct lpoc *c)
{
    lpoc_lock(&c->window.lock);
    __atomic_store_n(&c->gpu_ready, c->gpu, __ATOMIC_RELEASE);
    if (c->window.used && !c->window.on)
        lpoc_gpu_switch(c, false);
    lpoc_unlock(&c->window.lock);
}

/* The library, and room for its records. */
static bool load(struct lpoc_gpu *g)
{
    char why[512];

    if (lpoc_cupti_load(&g->api, g->owner->knobs.cupti, why, sizeof why))
        return known_version(g) && (g->records = lpoc_records_create(g));
    lpoc_note(g->owner, LPOT_NOTE_NO_CUPTI, 0,
              "no usable libcupti: %s; kernels are not recorded; set LPO_COLLECT_CUPTI to the path "
              "of one",
              why);
    return false;
}

/* From a library to records. */
static bool start(struct lpoc_gpu *g)
{
    const struct lpoc_knobs *k = &g->owner->knobs;

    if (!subscribe(g))
        return false;
    if (!g->again)
        g->owner->gpu = g; /* callbacks may come from here on */
    set_attributes(g);
    if (!lpoc_gpu_granted(g, g->api.register_callbacks(on_request, on_complete),
                          LPOT_NOTE_CUPTI_REFUSED,
                          "CUPTI takes no buffers, kernels are not recorded") ||
        !enable_records(g)) {
        g->api.unsubscribe(g->subscriber);
        return false;
    }
    enable_launches(g);
    if (g->late) /* the window that opens holds their lock */
        __atomic_store_n(&g->owner->gpu_ready, g, __ATOMIC_RELEASE);
    else
        start_between_windows(g->owner);
    if (k->cupti_flush_ms && g->api.flush_period)
        g->api.flush_period((uint32_t)k->cupti_flush_ms);
    return true;
}

/* The first time. */
static void attach(struct lpoc *c, bool late)
{
    struct lpoc_gpu *g = lpoc_map(sizeof *g);

    if (!g)
        return;
    g->owner = c;
    g->late = late;
    if (!load(g) || !start(g)) {
        c->gpu = NULL;
        lpoc_unmap(g, sizeof *g);
        return;
    }
    atexit(finish_at_exit);
    if (late)
        write_fact(g, "cuda.attached",
                   c->knobs.capture_attach == LPOC_ATTACH_INSIDE ? "windows" : "first window");
    g->again = true;
}

/* CUPTI costs a program that launches many small kernels some percent from the moment that it is
 * there, whatever is recorded: who asks for it gets CUPTI with the first window, not before. */
static bool waits_for_window(struct lpoc *c)
{
    bool waits;

    lpoc_lock(&c->window.lock);
    waits = c->gpu_waits = c->knobs.capture_attach && c->window.used && !c->window.on;
    lpoc_unlock(&c->window.lock);
    return waits; /* the first window may have come meanwhile, and CUPTI with it */
}

void lpoc_gpu_start(struct lpoc *c)
{
    if (c->gpu)
        return; /* the driver was initialised before */
    if (!c->knobs.gpu) {
        lpoc_note(c, LPOT_NOTE_GPU_OFF, 0, "LPO_COLLECT_GPU=0: kernels are not recorded");
        return;
    }
    c->counts_launches = c->knobs.capture_count && c->window.used;
    if (!waits_for_window(c))
        attach(c, false);
}

int lpoc_gpu_capture_mode(int mode)
{
    int (*exchange)(int *mode) = NULL;
    void *f = dlsym(lpoc_driver(), "cuThreadExchangeStreamCaptureMode");

    memcpy(&exchange, &f, sizeof f);
    if (exchange)
        exchange(&mode);
    return mode;
}

/* Records come before the window is open. They are dropped: those of a late CUPTI are kept only
 * where their launch was noted. */
bool lpoc_gpu_attach(struct lpoc *c)
{
    int mode;

    if (!c->gpu_waits)
        return false;
    c->gpu_waits = false;
    mode = lpoc_gpu_capture_mode(CU_CAPTURE_RELAXED);
    if (!c->gpu)
        attach(c, true);
    else if (!start(c->gpu))
        c->gpu_waits = c->gpu->quiet = true; /* who holds CUPTI now may not at the next window */
    lpoc_gpu_capture_mode(mode);
    return true;
}

void lpoc_gpu_deliver(struct lpoc *c)
{
    struct lpoc_gpu *g = lpoc_gpu_of(c);

    if (g)
        g->api.flush_all(0);
}

/* Records alone: a thread that is in the middle of a launch when its callbacks end gives the number
 * of that launch to all that it launches later (CUPTI 13.0). */
void lpoc_gpu_switch(struct lpoc *c, bool on)
{
    struct lpoc_gpu *g = lpoc_gpu_of(c);
    int result;

    if (!g || !c->knobs.kernels || g->steady)
        return;
    result = on ? g->api.enable(CUPTI_KIND_KERNEL) : g->api.disable(CUPTI_KIND_KERNEL);
    if (result != CUPTI_OK && !g->switch_refused) {
        g->switch_refused = true;
        lpoc_gpu_granted(g, result, LPOT_NOTE_CUPTI_PARTIAL, "a window could not be switched");
    }
}

void lpoc_gpu_finish(struct lpoc *c)
{
    struct lpoc_gpu *g;

    lpoc_lock(&c->window.lock); /* CUPTI must not go meanwhile */
    g = lpoc_gpu_of(c);
    if (g)
        g->api.flush_all(CUPTI_FLUSH_FORCED);
    lpoc_unlock(&c->window.lock);
    lpoc_finish(c, false);
}
