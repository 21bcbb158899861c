/* The stream of one thread: its ranges, and the launches inside them. */
#include <stdlib.h>

#include "lpo/trace_format.h"
#include "trace/native/state.h"

/* One event, apart from what its kind adds. */
struct event {
    unsigned kind, flags;
    int64_t ns;
    uint16_t domain; /* row in the trace */
};

static uint16_t domain_row(const struct native *n, uint64_t domain)
{
    return domain && domain <= n->domains.len ? n->domains.at[domain - 1] : 0;
}

static uint32_t get_name(struct native *n, const struct event *e, struct lpo_cursor *c)
{
    size_t len;
    const char *text;

    if (!(e->flags & LPOT_EV_INLINE))
        return lpo_native_name(n, lpo_native_get_v(c));
    text = lpo_native_get_text(c, &len);
    return text ? lpo_native_inline_name(n, text, len) : LPO_NONE;
}

/* Category, colour and payload have no place in the event model. */
static void skip_attributes(const struct event *e, struct lpo_cursor *c)
{
    uint64_t mask = e->flags & LPOT_EV_ATTRIBUTES ? lpo_native_get_v(c) : 0;

    if (mask & 1)
        lpo_native_get_v(c);
    if (mask & 2)
        lpo_native_get_fixed(c, 4);
    if (mask & 4) {
        lpo_native_get_byte(c);
        lpo_native_get_fixed(c, 8);
    }
}

static uint32_t add_range(struct native *n, const struct native_thread *t, const struct event *e,
                          uint32_t name, unsigned kind)
{
    if (n->trace->skip & LPO_SKIP_RANGES)
        return LPO_NONE;
    lpo_vec_push(&n->trace->ranges, (struct lpo_range){ .start_ns = e->ns,
                                                        .end_ns = LPO_NO_TIME,
                                                        .name = name,
                                                        .thread = t->row,
                                                        .domain = e->domain,
                                                        .kind = (uint8_t)kind });
    return (uint32_t)(n->trace->ranges.len - 1);
}

static void on_push(struct native *n, struct native_thread *t, const struct event *e,
                    struct lpo_cursor *c)
{
    uint32_t name = get_name(n, e, c);

    skip_attributes(e, c);
    if (c->bad)
        return;
    lpo_native_opens_push(&t->open,
                          (struct native_open){ .range = add_range(n, t, e, name, LPO_PUSH_POP),
                                                .name = name,
                                                .domain = e->domain,
                                                .inherited = (e->flags & LPOT_EV_INHERITED) != 0 });
    t->stack_good = false;
}

static void on_pop(struct native *n, struct native_thread *t, const struct event *e,
                   struct lpo_cursor *c)
{
    struct native_open gone;

    (void)c;
    if (!lpo_native_opens_pop(&t->open, e->domain, &gone)) {
        n->stray_pops++;
        return;
    }
    if (gone.range != LPO_NONE)
        n->trace->ranges.at[gone.range].end_ns = e->ns;
    t->stack_good = false;
}

static void on_start(struct native *n, struct native_thread *t, const struct event *e,
                     struct lpo_cursor *c)
{
    uint64_t id = lpo_native_get_v(c);
    uint32_t name = get_name(n, e, c), row;

    skip_attributes(e, c);
    if (c->bad)
        return;
    /* Needed for the stacks of launches even where the caller skips ranges. */
    lpo_vec_push(&n->starts, (struct native_start){ .id = id,
                                                    .start_ns = e->ns,
                                                    .end_ns = LPO_NO_TIME,
                                                    .name = name,
                                                    .domain = e->domain });
    row = add_range(n, t, e, name, LPO_START_END);
    n->starts.at[n->starts.len - 1].range = row;
    *lpo_idmap_put(n->by_range, id, NULL) = (uint32_t)(n->starts.len - 1);
}

/* The start may stand in a block that comes later in the file: joined at the end. */
static void on_end(struct native *n, struct native_thread *t, const struct event *e,
                   struct lpo_cursor *c)
{
    uint64_t id = lpo_native_get_v(c);

    (void)t;
    if (!c->bad)
        lpo_vec_push(&n->ends, (struct native_end){ id, e->ns });
}

static void on_mark(struct native *n, struct native_thread *t, const struct event *e,
                    struct lpo_cursor *c)
{
    (void)t;
    get_name(n, e, c);
    skip_attributes(e, c);
}

uint32_t lpo_native_stack_of(struct native *n, struct native_thread *t)
{
    struct lpo_frame frames[NATIVE_DEPTH_MOST];
    bool more;
    size_t count;

    if (t->stack_good)
        return t->stack;
    count = lpo_native_opens_frames(&t->open, frames, NATIVE_DEPTH_MOST, &more);
    n->cut_stacks += more;
    t->stack = lpo_native_add_stack(n, frames, count);
    t->stack_good = true;
    return t->stack;
}

static void on_launch(struct native *n, struct native_thread *t, const struct event *e,
                      struct lpo_cursor *c)
{
    t->corr += (uint32_t)lpo_native_get_z(c);
    if (c->bad || (n->trace->skip & LPO_SKIP_LAUNCHES))
        return;
    lpo_vec_push(&n->launches, (struct native_launch){ .start_ns = e->ns,
                                                       .end_ns = e->ns,
                                                       .thread = t->row,
                                                       .stack = lpo_native_stack_of(n, t),
                                                       .row = LPO_NONE });
    t->last_launch = (uint32_t)(n->launches.len - 1);
    *lpo_idmap_put(n->by_corr, t->corr, NULL) = t->last_launch;
}

static void on_return(struct native *n, struct native_thread *t, const struct event *e,
                      struct lpo_cursor *c)
{
    (void)c;
    if (t->last_launch < n->launches.len)
        n->launches.at[t->last_launch].end_ns = e->ns;
}

/* CUPTI tells of a node that is a copy twice: created, where the graph is made ready, then cloned.
 * What it was copied from leads to the range that captured it. */
static void add_node(struct native *n, uint64_t id, struct native_node node)
{
    bool fresh;
    uint32_t *slot = lpo_idmap_put(n->by_node, id, &fresh);

    if (!fresh) {
        if (node.clone && !n->nodes.at[*slot].clone)
            n->nodes.at[*slot] = node;
        return;
    }
    *slot = (uint32_t)n->nodes.len;
    lpo_vec_push(&n->nodes, node);
}

static void on_node(struct native *n, struct native_thread *t, const struct event *e,
                    struct lpo_cursor *c)
{
    (void)e;
    t->node += (uint64_t)lpo_native_get_z(c);
    if (!c->bad)
        add_node(n, t->node, (struct native_node){ .stack = lpo_native_stack_of(n, t) });
}

static void on_clone(struct native *n, struct native_thread *t, const struct event *e,
                     struct lpo_cursor *c)
{
    (void)e;
    t->node += (uint64_t)lpo_native_get_z(c);
    t->original += (uint64_t)lpo_native_get_z(c);
    if (!c->bad)
        add_node(n, t->node,
                 (struct native_node){ .original = t->original, .stack = LPO_NONE, .clone = true });
}

static void (*const takers[16])(struct native *n, struct native_thread *t, const struct event *e,
                                struct lpo_cursor *c) = {
    [LPOT_EV_PUSH] = on_push,     [LPOT_EV_POP] = on_pop,   [LPOT_EV_START] = on_start,
    [LPOT_EV_END] = on_end,       [LPOT_EV_MARK] = on_mark, [LPOT_EV_LAUNCH] = on_launch,
    [LPOT_EV_RETURN] = on_return, [LPOT_EV_NODE] = on_node, [LPOT_EV_CLONE] = on_clone,
};

static void take_event(struct native *n, struct native_thread *t, struct lpo_cursor *c)
{
    unsigned tag = lpo_native_get_byte(c);
    struct event e = { .kind = tag & LPOT_EV_KIND, .flags = tag & ~(unsigned)LPOT_EV_KIND };
    uint64_t later = lpo_native_get_v(c);

    /* time never runs back in a thread, whatever a file says */
    t->ticks = later > UINT64_MAX - t->ticks ? UINT64_MAX : t->ticks + later;
    e.ns = lpo_native_tick_clock_ns(&n->clock, t->ticks) - n->shift_ns;
    if ((e.flags & LPOT_EV_DOMAIN) && e.kind <= LPOT_EV_MARK)
        e.domain = domain_row(n, lpo_native_get_v(c));
    if (!takers[e.kind]) {
        c->bad = true;
        return;
    }
    takers[e.kind](n, t, &e, c);
    if (e.ns > n->end_ns)
        n->end_ns = e.ns;
}

void lpo_native_take_thread(struct native *n, const struct lpo_native_block *block)
{
    struct native_thread *t = lpo_native_thread_at(n, block->stream);
    struct lpo_cursor c = { block->payload, block->payload + block->len, false };

    if (t->broken)
        return;
    if (block->sequence != t->sequence++) {
        t->broken = true; /* a block of this thread is missing: its stack is not known any more */
        n->damaged++;
        return;
    }
    if (t->row == LPO_NONE)
        t->row = lpo_trace_thread(n->trace, n->process, block->stream);
    while (!c.bad && c.at < c.end)
        take_event(n, t, &c);
    if (c.bad) {
        t->broken = true;
        n->damaged++;
    }
}

/* What was never popped ends with the process. */
void lpo_native_close_all(struct native *n)
{
    for (size_t i = 0; i < n->threads.len; i++) {
        struct native_opens *o = &n->threads.at[i].open;
        uint32_t place = o->started ? o->bottom : NATIVE_NO_OPEN;

        for (; place != NATIVE_NO_OPEN; place = o->at.at[place].above) {
            uint32_t row = o->at.at[place].range;
            if (row != LPO_NONE) {
                n->trace->ranges.at[row].end_ns = n->end_ns;
                n->trace->ranges.at[row].flags |= LPO_RANGE_OPEN;
            }
            n->unclosed += !o->at.at[place].inherited;
        }
    }
}
