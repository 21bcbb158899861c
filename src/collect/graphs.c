#include "collect/graphs.h"

#include "collect/gpu.h"

enum { PROBES = 64 };

/* NULL when there are more graphs than places: such a graph is recorded as one piece. */
static struct lpoc_graph_slot *slot_of(struct lpoc_graphs *t, uint64_t exec)
{
    uint64_t at = exec * 0x9e3779b97f4a7c15u >> 32;

    for (unsigned i = 0; i < PROBES; i++) {
        struct lpoc_graph_slot *s = &t->slots[(at + i) % LPOC_GRAPH_SLOTS];
        uint64_t seen = __atomic_load_n(&s->exec, __ATOMIC_RELAXED);

        if (seen == exec ||
            (!seen && __atomic_compare_exchange_n(&s->exec, &seen, exec, false, __ATOMIC_RELAXED,
                                                  __ATOMIC_RELAXED)) ||
            seen == exec)
            return s;
    }
    return NULL;
}

void lpoc_graph_launch(struct lpoc_gpu *g, uint64_t exec)
{
    int64_t detailed = g->owner->knobs.graph_launches;
    struct lpoc_graph_slot *s;
    int whole;

    if (!g->graphs || !exec)
        return;
    s = slot_of(g->graphs, exec);
    whole = !s || __atomic_load_n(&s->launches, __ATOMIC_RELAXED) >= detailed;
    if (!whole)
        __atomic_fetch_add(&s->launches, 1, __ATOMIC_RELAXED);
    if (__atomic_load_n(&g->graphs->whole, __ATOMIC_RELAXED) == whole ||
        __atomic_exchange_n(&g->graphs->whole, whole, __ATOMIC_RELAXED) == whole)
        return;
    if (whole)
        g->api.enable(CUPTI_KIND_GRAPH_TRACE);
    else
        g->api.disable(CUPTI_KIND_GRAPH_TRACE);
}

void lpoc_graph_made(struct lpoc_gpu *g, uint64_t exec)
{
    struct lpoc_graph_slot *s = g->graphs && exec ? slot_of(g->graphs, exec) : NULL;

    if (s)
        __atomic_store_n(&s->launches, 0, __ATOMIC_RELAXED);
}
