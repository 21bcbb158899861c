/* SPDX-License-Identifier: Apache-2.0 */
/* The events of ranges and marks, for the core calls and for the payload extension. */
#include "collect/nvtx.h"

enum { HAS_CATEGORY = 1, HAS_COLOR = 2, HAS_PAYLOAD = 4 };

#define HAS_FIELD(a, field)                                                                        \
    ((a)->size >= offsetof(struct nvtx_attributes, field) + sizeof((a)->field))

static unsigned attribute_mask(const struct nvtx_attributes *a)
{
    unsigned mask = 0;

    if (!a)
        return 0;
    if (HAS_FIELD(a, category) && a->category)
        mask |= HAS_CATEGORY;
    if (HAS_FIELD(a, color) && a->color_type == 1)
        mask |= HAS_COLOR;
    if (HAS_FIELD(a, payload) && a->payload_type > 0 && a->payload_type <= NVTX_PAYLOAD_LAST)
        mask |= HAS_PAYLOAD;
    return mask;
}

static uint8_t *put_attributes(uint8_t *p, unsigned mask, const struct nvtx_attributes *a)
{
    if (!mask)
        return p;
    *p++ = (uint8_t)mask;
    if (mask & HAS_CATEGORY)
        p = lpoc_put_v(p, a->category);
    if (mask & HAS_COLOR)
        p = lpoc_put_bytes(p, &a->color, 4);
    if (mask & HAS_PAYLOAD) {
        *p++ = (uint8_t)a->payload_type;
        p = lpoc_put_bytes(p, &a->payload, 8);
    }
    return p;
}

static inline unsigned flags_of(uint32_t domain, struct lpoc_name name, unsigned mask)
{
    return (domain ? LPOT_EV_DOMAIN : 0) | (mask ? LPOT_EV_ATTRIBUTES : 0) | lpoc_name_flag(name);
}

/* Inlined into the general function and into that of the default domain, where the compiler drops
 * all that asks for a domain or for attributes. */
#define IN_BOTH static inline __attribute__((always_inline))

IN_BOTH int push(struct lpoc_thread *t, uint32_t domain, struct lpoc_name name,
                 const struct nvtx_attributes *a)
{
    unsigned mask = a ? attribute_mask(a) : 0;
    uint8_t *p;

    if (LPOC_RARE(t->windowed) && !lpoc_window_push(t, domain, name))
        return lpoc_stack_push(t, domain, name.id == LPOC_NAME_FULL ? 0 : name.id);
    /* A push reads the clock last and a pop reads it first: our own time is not in the range. */
    p = lpoc_event(t, LPOT_EV_PUSH | flags_of(domain, name, mask), lpoc_thread_ticks(t),
                   lpoc_name_room(name));
    if (domain)
        p = lpoc_put_v(p, domain);
    p = lpoc_put_name(p, name);
    lpoc_commit(t, put_attributes(p, mask, a));
    return lpoc_stack_push(t, domain, name.id == LPOC_NAME_FULL ? 0 : name.id);
}

int lpoc_range_push(struct lpoc_thread *t, uint32_t domain, struct lpoc_name name,
                    const struct nvtx_attributes *a)
{
    return push(t, domain, name, a);
}

int lpoc_range_push_plain(struct lpoc_thread *t, struct lpoc_name name)
{
    return push(t, 0, name, NULL);
}

/* The pop of a run that is recorded in windows. */
static int pop_windowed(struct lpoc_thread *t, uint32_t domain, uint64_t now)
{
    int depth;

    if (lpoc_window_pop(t, domain)) {
        uint8_t *p = lpoc_event(t, LPOT_EV_POP | (domain ? LPOT_EV_DOMAIN : 0), now, 0);

        lpoc_commit(t, domain ? lpoc_put_v(p, domain) : p);
        if (t->stacks[domain].depth)
            t->stacks[domain].filed--;
    }
    depth = lpoc_stack_pop(t, domain);
    lpoc_window_popped(t, domain, depth);
    return depth;
}

IN_BOTH int pop(struct lpoc_thread *t, uint32_t domain, uint64_t now)
{
    uint8_t *p;

    if (LPOC_RARE(t->windowed))
        return pop_windowed(t, domain, now);
    p = lpoc_event(t, LPOT_EV_POP | (domain ? LPOT_EV_DOMAIN : 0), now, 0);
    if (domain)
        p = lpoc_put_v(p, domain);
    lpoc_commit(t, p);
    if (LPOC_RARE(t->eager))
        lpoc_thread_write_early(t, now);
    return lpoc_stack_pop(t, domain);
}

int lpoc_range_pop(struct lpoc_thread *t, uint32_t domain, uint64_t now)
{
    return pop(t, domain, now);
}

int lpoc_range_pop_plain(struct lpoc_thread *t, uint64_t now)
{
    return pop(t, 0, now);
}

uint64_t lpoc_range_start(struct lpoc_thread *t, uint32_t domain, struct lpoc_name name,
                          const struct nvtx_attributes *a)
{
    uint64_t id = __atomic_add_fetch(&t->owner->last_range, 1, __ATOMIC_RELAXED);
    unsigned mask = attribute_mask(a);
    uint8_t *p;

    if (LPOC_RARE(t->windowed))
        lpoc_window_range_start(t, name, id);
    p = lpoc_event(t, LPOT_EV_START | flags_of(domain, name, mask), lpoc_thread_ticks(t),
                   lpoc_name_room(name));
    if (domain)
        p = lpoc_put_v(p, domain);
    p = lpoc_put_v(p, id);
    p = lpoc_put_name(p, name);
    lpoc_commit(t, put_attributes(p, mask, a));
    return id;
}

void lpoc_range_end(struct lpoc_thread *t, uint64_t id)
{
    uint64_t now = lpoc_thread_ticks(t);

    lpoc_commit(t, lpoc_put_v(lpoc_event(t, LPOT_EV_END, now, 0), id));
    if (LPOC_RARE(t->windowed))
        lpoc_window_range_end(t, id);
    if (LPOC_RARE(t->eager))
        lpoc_thread_write_early(t, now);
}

void lpoc_mark(struct lpoc_thread *t, uint32_t domain, struct lpoc_name name,
               const struct nvtx_attributes *a)
{
    unsigned mask = attribute_mask(a);
    uint8_t *p;

    if (LPOC_RARE(t->windowed) && !lpoc_window_sync(t))
        return;
    p = lpoc_event(t, LPOT_EV_MARK | flags_of(domain, name, mask), lpoc_thread_ticks(t),
                   lpoc_name_room(name));
    if (domain)
        p = lpoc_put_v(p, domain);
    p = lpoc_put_name(p, name);
    lpoc_commit(t, put_attributes(p, mask, a));
}
