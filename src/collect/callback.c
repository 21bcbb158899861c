/* SPDX-License-Identifier: Apache-2.0 */
/* What CUPTI calls while the program runs: at launches, at changes of graphs, and when CUPTI itself
 * stops. These run inside the program's CUDA calls, on its threads, so they only append events. */
#include <errno.h>

#include "collect/cuda_calls.h"
#include "collect/device.h"
#include "collect/gpu.h"
#include "collect/graph.h"
#include "collect/thread.h"

/* A launch outside windows (CAPTURE_COUNT). */
static void count_launch(const struct lpoc_thread *t, unsigned about)
{
    struct lpoc *c = t->owner;

    if (about & LPOC_LAUNCHES_KERNEL) {
        lpoc_count(c, LPOT_COUNT_UNRECORDED_LAUNCHES, 1);
        if (t->chosen.open)
            lpoc_count(c, LPOT_COUNT_CHOSEN_LAUNCHES, 1);
    } else if (about & LPOC_LAUNCHES_GRAPH && t->chosen.open) {
        lpoc_count(c, LPOT_COUNT_CHOSEN_GRAPHS, 1);
    }
}

/* A launch of a run that is recorded in windows. Copies and graphs are reported outside them too,
 * kernels where they are counted. */
static bool window_takes(struct lpoc_thread *t, unsigned about, uint32_t correlation)
{
    struct lpoc *c = t->owner;
    bool takes = lpoc_window_sync(t);

    if (takes)
        lpoc_window_note(c, correlation);
    else
        count_launch(t, about);
    return takes;
}

static void on_launch(struct lpoc *c, unsigned about, const struct cupti_call *call)
{
    struct lpoc_thread *t = lpoc_enter();
    uint32_t corr = lpoc_correlation(c->gpu, call->correlation);
    uint64_t now;
    uint8_t *p;

    if (!t)
        return;
    if (LPOC_RARE(t->windowed) && !window_takes(t, about, corr)) {
        lpoc_leave();
        return;
    }
    if (LPOC_RARE(t->calls.queries.count))
        lpoc_queries_over(t);
    now = lpoc_thread_ticks(t);
    p = lpoc_event(t, LPOT_EV_LAUNCH | (about & LPOC_LAUNCHES_GRAPH ? LPOT_EV_DOMAIN : 0), now, 0);
    p = lpoc_put_z(p, (int32_t)(corr - t->last.corr));
    t->coming.corr = corr;
    lpoc_commit_ids(t, p);
    if (LPOC_RARE(!__atomic_load_n(&c->gpu->devices_written, __ATOMIC_RELAXED)) &&
        !__atomic_exchange_n(&c->gpu->devices_written, true, __ATOMIC_RELAXED))
        lpoc_devices_write(c);
    lpoc_leave();
}

static void on_return(struct lpoc *c, const struct cupti_call *call)
{
    const int *result = call->result;
    struct lpoc_thread *t;

    if (LPOC_RARE(result && *result != 0) && c->window.used)
        lpoc_window_note_failed(c, lpoc_correlation(c->gpu, call->correlation));
    if (!c->knobs.returns || !(t = lpoc_enter()))
        return;
    lpoc_commit(t, lpoc_event(t, LPOT_EV_RETURN, lpoc_thread_ticks(t), 0));
    lpoc_leave();
}

/* The event's place in the stream of its thread says which ranges are open at the capture. */
static void on_node(struct lpoc *c, uint32_t id, const struct cupti_resource_data *resource)
{
    const struct cupti_graph_data *graph = resource ? resource->descriptor : NULL;
    const struct cupti *api = &c->gpu->api;
    uint64_t node = 0, original = 0;
    struct lpoc_thread *t;
    uint8_t *p;

    __atomic_store_n(&c->gpu->graphs, true, __ATOMIC_RELAXED);
    if (!graph || !api->graph_node_id || api->graph_node_id(graph->node, &node) != CUPTI_OK)
        return;
    if (id == CUPTI_NODE_CLONED &&
        (!graph->original_node || api->graph_node_id(graph->original_node, &original) != CUPTI_OK))
        return;
    t = lpoc_enter();
    if (!t)
        return;
    if (LPOC_RARE(t->windowed))
        lpoc_window_resume(t);
    p = lpoc_event(t, id == CUPTI_NODE_CLONED ? LPOT_EV_CLONE : LPOT_EV_NODE, lpoc_thread_ticks(t),
                   0);
    p = lpoc_put_z(p, (int64_t)(node - t->last.node));
    t->coming.node = node;
    if (id == CUPTI_NODE_CLONED) {
        p = lpoc_put_z(p, (int64_t)(original - t->last.original));
        t->coming.original = original;
    }
    lpoc_commit_ids(t, p);
    lpoc_leave();
}

static void on_state(struct lpoc *c, const struct cupti_state_data *state)
{
    __atomic_store_n(&c->gpu->stopped, true, __ATOMIC_RELEASE);
    lpoc_note(c, LPOT_NOTE_CUPTI_FATAL, 1,
              "CUPTI stopped while the program ran: %s (%d)%s%s; kernels after this are not "
              "recorded",
              lpoc_result_text(&c->gpu->api, state->result), state->result,
              state->message ? ": " : "", state->message ? state->message : "");
}

/* A graph was instantiated. The thread is busy meanwhile: an NVTX call of a signal handler would
 * add events in the middle. */
static void on_instantiated(struct lpoc *c, const struct cupti_call *call)
{
    struct lpoc_thread *t = lpoc_enter();
    int saved = errno;

    if (!t) {
        lpoc_count(c, LPOT_COUNT_GRAPHS_UNLISTED, 1);
        return;
    }
    lpoc_graph_list(c, call);
    errno = saved;
    lpoc_leave();
}

/* CUPTI reports these only where graphs are timed as a whole. */
static void on_graph_call(struct lpoc *c, unsigned about, const struct cupti_call *call)
{
    const int *result = call->result;

    if (call->site == CUPTI_ENTER || (result && *result != 0))
        return; /* what failed changed nothing */
    if (about & LPOC_INSTANTIATES_GRAPH)
        on_instantiated(c, call);
    else
        lpoc_count(c, LPOT_COUNT_GRAPHS_CHANGED, 1);
}

static void on_blocking(unsigned about, int domain, uint32_t id, const struct cupti_call *call)
{
    struct lpoc_thread *t = lpoc_enter();
    int saved = errno;

    if (!t)
        return;
    if (LPOC_RARE(t->windowed) && !lpoc_window_sync(t))
        t->calls.domain = 0;
    else if (call->site == CUPTI_ENTER)
        lpoc_call_begin(t, domain, id, lpoc_thread_ticks(t));
    else if (about & LPOC_QUERIES)
        lpoc_query_end(t, domain, id, call->function, lpoc_thread_ticks(t));
    else
        lpoc_call_end(t, domain, id, call->function, lpoc_thread_ticks(t));
    errno = saved;
    lpoc_leave();
}

static void on_call(struct lpoc *c, int domain, uint32_t id, const struct cupti_call *call)
{
    unsigned about = 0;

    if (id < LPOC_CALL_IDS)
        about = c->gpu->about[domain == CUPTI_DOMAIN_RUNTIME][id];
    if (LPOC_RARE(about & (LPOC_CAN_BLOCK | LPOC_QUERIES)) && call->site == CUPTI_ENTER)
        on_blocking(about, domain, id, call);
    if (LPOC_RARE(about & LPOC_LAUNCHES_GRAPH))
        __atomic_store_n(&c->gpu->graphs, true, __ATOMIC_RELAXED);
    if (about & LPOC_LAUNCHES) {
        if (call->site == CUPTI_ENTER)
            on_launch(c, about, call);
        else
            on_return(c, call);
    }
    if (LPOC_RARE(about & (LPOC_INSTANTIATES_GRAPH | LPOC_CHANGES_GRAPH)))
        on_graph_call(c, about, call);
    if (LPOC_RARE(about & (LPOC_CAN_BLOCK | LPOC_QUERIES)) && call->site != CUPTI_ENTER)
        on_blocking(about, domain, id, call);
    /* Launches of kernels alone: other calls may be part of a call of the runtime, of whose end
     * CUPTI has yet to tell us. */
    if (LPOC_RARE(lpoc_detach_is_due(&c->detach)) && about & LPOC_LAUNCHES_KERNEL &&
        call->site != CUPTI_ENTER)
        lpoc_detach_now(c);
}

void lpoc_on_callback(void *user, int domain, uint32_t id, const void *data)
{
    struct lpoc *c = user;

    if (LPOC_RARE(!c->gpu))
        return; /* a child of fork */
    if (domain == CUPTI_DOMAIN_DRIVER || domain == CUPTI_DOMAIN_RUNTIME)
        on_call(c, domain, id, data);
    else if (domain == CUPTI_DOMAIN_RESOURCE)
        on_node(c, id, data);
    else if (domain == CUPTI_DOMAIN_STATE)
        on_state(c, data);
}
