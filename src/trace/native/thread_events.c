/* SPDX-License-Identifier: Apache-2.0 */
/* The stream of one thread: its ranges, and the launches inside them. */

#include "lpo/trace_format.h"
#include "trace/native/private.h"

enum {
    START_ENDS_MOST = 2 << 20, /* in a file whose other ranges are summed: about 70 bytes each */
    ENDS_MOST = 1 << 20,
    MARKS_MOST = 1 << 20, /* that a viewer can still show */
};

/* One event, apart from what its kind adds. */
struct event {
    unsigned kind, flags;
    int64_t ns;
    uint16_t domain; /* row in the trace */
    uint64_t file_domain;
};

/* What the program gave with a range or mark. */
struct attributes {
    double number; /* NaN: none */
    struct lpo_range_look look;
    bool looks; /* it has one */
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
    if (!text)
        return LPO_NONE;
    return n->sums ? lpo_native_sums_name(n, text, len) : lpo_native_inline_name(n, text, len);
}

/* The payload as a number; NaN where it is none. */
static double number_of(unsigned type, uint64_t bits)
{
    double real;
    float narrow;
    uint32_t low = (uint32_t)bits;

    memcpy(&real, &bits, sizeof real);
    memcpy(&narrow, &low, sizeof narrow);
    switch (type) { /* as NVTX numbers them */
    case 1:
        return (double)bits;
    case 2:
        return (double)(int64_t)bits;
    case 3:
        return real;
    case 4:
        return (double)low;
    case 5:
        return (double)(int32_t)low;
    case 6:
        return (double)narrow;
    default:
        return NAN;
    }
}

/* A category without a name is its number. */
static uint32_t category_name(struct native *n, uint64_t domain, uint64_t category)
{
    uint32_t row = lpo_map_pair_find(&n->by_category, domain, category);
    char text[24];
    int len;

    if (row != UINT32_MAX)
        return n->categories.at[row];
    len = snprintf(text, sizeof text, "%llu", (unsigned long long)category);
    return lpo_native_inline_name(n, text, (size_t)len);
}

static struct attributes get_attributes(struct native *n, const struct event *e,
                                        struct lpo_cursor *c)
{
    uint64_t mask = e->flags & LPOT_EV_ATTRIBUTES ? lpo_native_get_v(c) : 0;
    struct attributes a = { .number = NAN, .look = { .category = LPO_NONE } };

    a.looks = (mask & 3) != 0;
    if (mask & 1)
        a.look.category = category_name(n, e->file_domain, lpo_native_get_v(c));
    if (mask & 2) {
        a.look.color = (uint32_t)lpo_native_get_fixed(c, 4) & 0xffffff;
        a.look.has_color = true;
    }
    if (mask & 4) {
        unsigned type = lpo_native_get_byte(c);

        a.number = number_of(type, lpo_native_get_fixed(c, 8));
    }
    return a;
}

static void keep_look(struct native *n, const struct event *e, uint32_t name,
                      const struct attributes *a)
{
    if (a->looks && name != LPO_NONE)
        lpo_trace_look_set(n->trace, name, e->domain, a->look);
}

/* Numbers of one name are summed: what they mean is the program's, but it is the same for all. */
static void add_number(struct native *n, uint32_t name, uint16_t domain, double value)
{
    struct lpo_range_number *r;
    bool fresh;
    uint32_t row;

    if (!isfinite(value) || name == LPO_NONE)
        return;
    row = lpo_map_pair_put(&n->by_number_name, name, domain, &fresh);
    if (fresh)
        lpo_vec_push(&n->trace->range_numbers,
                     (struct lpo_range_number){
                         .name = name, .domain = domain, .least = value, .most = value });
    r = &n->trace->range_numbers.at[n->first_number + row];
    r->count++;
    r->sum += value;
    r->least = value < r->least ? value : r->least;
    r->most = value > r->most ? value : r->most;
}

static uint32_t add_range(struct native *n, const struct native_thread *t, const struct event *e,
                          uint32_t name, unsigned kind)
{
    lpo_vec_push(&n->trace->ranges, (struct lpo_range){ .start_ns = e->ns,
                                                        .end_ns = LPO_NO_TIME,
                                                        .name = name,
                                                        .thread = t->row,
                                                        .domain = e->domain,
                                                        .kind = (uint8_t)kind });
    return (uint32_t)(n->trace->ranges.len - 1);
}

/* Returns its place, plus one. */
static uint32_t push_open(struct native_opens *o, uint16_t domain, struct native_open open)
{
    uint32_t place = o->unused;

    while (o->tops.len <= domain)
        lpo_vec_push(&o->tops, 0);
    if (!place) {
        lpo_vec_push(&o->at, open);
        place = (uint32_t)o->at.len;
    } else {
        o->unused = o->at.at[place - 1].under;
    }
    o->count++;
    open.under = o->tops.at[domain];
    o->at.at[place - 1] = open;
    o->tops.at[domain] = place;
    return place;
}

/* The youngest of `domain`, which stays as it is until the next push; NULL when none is open. */
static const struct native_open *pop_open(struct native_opens *o, uint16_t domain)
{
    uint32_t place = domain < o->tops.len ? o->tops.at[domain] : 0;
    struct native_open *gone;

    if (!place)
        return NULL;
    gone = &o->at.at[place - 1];
    o->count--;
    o->tops.at[domain] = gone->under;
    gone->under = o->unused;
    o->unused = place;
    return gone;
}

static void on_push(struct native *n, struct native_thread *t, const struct event *e,
                    struct lpo_cursor *c)
{
    uint32_t name = get_name(n, e, c), place;
    struct native_open open = { .range = LPO_NONE,
                                .level = LPO_NONE,
                                .inherited = (e->flags & LPOT_EV_INHERITED) != 0 };
    const bool plain = !(e->flags & LPOT_EV_ATTRIBUTES); /* nearly all are */
    struct attributes a = { .number = NAN };

    if (!plain)
        a = get_attributes(n, e, c);
    if (c->bad || n->only_start_end)
        return;
    if (!plain) {
        keep_look(n, e, name, &a);
        add_number(n, name, e->domain, a.number);
    }
    if (open.inherited && t->again) {
        t->again--;
        return;
    }
    if (!n->sums && !(n->trace->skip & LPO_SKIP_RANGES))
        open.range = add_range(n, t, e, name, LPO_PUSH_POP);
    place = push_open(&t->open, e->domain, open);
    if (n->sums)
        lpo_native_sums_push(
            n, t,
            &(struct lpo_range){
                .start_ns = e->ns, .name = name, .thread = t->row, .domain = e->domain },
            &t->open.at.at[place - 1], place);
    if (!plain)
        lpo_native_number(n, t, e->ns, LPO_NONE, a.number);
}

static void on_pop(struct native *n, struct native_thread *t, const struct event *e,
                   struct lpo_cursor *c)
{
    const struct native_open *gone;

    (void)c;
    if (n->only_start_end)
        return;
    gone = pop_open(&t->open, e->domain);
    if (!gone)
        n->stray_pops++;
    else if (n->sums)
        lpo_native_sums_pop(n, t, gone, e->ns);
    else if (gone->range != LPO_NONE)
        n->trace->ranges.at[gone->range].end_ns = e->ns;
}

static void on_start(struct native *n, struct native_thread *t, const struct event *e,
                     struct lpo_cursor *c)
{
    uint64_t id = lpo_native_get_v(c);
    uint32_t name = get_name(n, e, c);
    struct attributes a = get_attributes(n, e, c);

    /* Start/end ranges are few, and their ends are matched by row: they are kept in any case. */
    if (c->bad || !(n->only_start_end || !n->gpu_sums))
        return;
    if (n->sums && n->start_ends == START_ENDS_MOST) {
        n->start_ends_lost++;
        return;
    }
    n->start_ends++;
    keep_look(n, e, name, &a);
    add_number(n, name, e->domain, a.number);
    lpo_native_start_number(n, name, e->domain, a.number);
    *lpo_map_u64_put(n->by_range, id, NULL) = add_range(n, t, e, name, LPO_START_END);
}

/* Ends whose start is known by now; the others stay, unless the file is made of them. */
static void settle_ends(struct native *n, bool last)
{
    size_t kept = 0;

    for (size_t i = 0; i < n->ends.len; i++) {
        const struct native_end end = n->ends.at[i];
        const uint32_t *row = lpo_map_u64_find(n->by_range, end.id);
        struct lpo_range *r = row ? &n->trace->ranges.at[*row] : NULL;

        if (r && r->end_ns == LPO_NO_TIME)
            r->end_ns = end.ns > r->start_ns ? end.ns : r->start_ns;
        else if (!r && !last && kept < ENDS_MOST / 2)
            n->ends.at[kept++] = end;
        else
            n->stray_ends++;
    }
    n->ends.len = kept;
}

/* The start may be in a block that comes later in the file: matched at the end. */
static void on_end(struct native *n, struct native_thread *t, const struct event *e,
                   struct lpo_cursor *c)
{
    uint64_t id = lpo_native_get_v(c);

    (void)t;
    if (!c->bad && (n->only_start_end || !n->gpu_sums))
        lpo_vec_push(&n->ends, (struct native_end){ id, e->ns });
    if (n->sums && n->ends.len == ENDS_MOST)
        settle_ends(n, false);
}

static void on_mark(struct native *n, struct native_thread *t, const struct event *e,
                    struct lpo_cursor *c)
{
    uint32_t name = get_name(n, e, c);
    struct attributes a = get_attributes(n, e, c);

    if (c->bad || n->only_start_end || name == LPO_NONE)
        return;
    if (lpo_native_is_number(n, e->domain))
        lpo_native_number(n, t, e->ns, name, a.number);
    else if (n->trace->marks.len < MARKS_MOST)
        lpo_vec_push(&n->trace->marks, (struct lpo_mark){ e->ns, name, t->row });
}

/* What is known of the last launch call is all that will be known of it. */
static void finish_call(struct native *n, struct native_thread *t)
{
    /* the GPU records are read by now: a call that launched nothing needs no place */
    if (t->in_call && n->gpu_sums)
        lpo_native_gpu_sums_launch(n, t->corr, &t->call);
    else if (t->in_call && lpo_trace_links_wanted(n->links, t->corr))
        lpo_trace_links_call(n->links, t->corr, &t->call);
    t->in_call = false;
}

static void on_launch(struct native *n, struct native_thread *t, const struct event *e,
                      struct lpo_cursor *c)
{
    finish_call(n, t);
    t->corr += (uint32_t)lpo_native_get_z(c);
    if (c->bad || n->only_start_end || (n->trace->skip & LPO_SKIP_LAUNCHES))
        return;
    t->call = (struct lpo_call){
        .start_ns = e->ns, .end_ns = e->ns, .thread = t->row, .process = n->process
    };
    if (n->sums)
        t->call.path = lpo_native_sums_path(n, t, e->ns, e->ns);
    t->call_changes = t->changes;
    t->in_call = true;
}

static void on_return(struct native *n, struct native_thread *t, const struct event *e,
                      struct lpo_cursor *c)
{
    (void)c;
    t->call.end_ns = e->ns;
    if (n->sums && t->in_call && (t->closed || t->changes != t->call_changes))
        t->call.path = lpo_native_sums_path(n, t, t->call.start_ns, e->ns);
}

/* CUPTI reports a node that is a copy twice: created, where the graph is made ready, then cloned.
 * What it was copied from leads to the range that captured it. */
static void add_node(struct native *n, uint64_t id, struct native_node node)
{
    bool fresh;
    uint32_t *slot = lpo_map_u64_put(n->by_node, id, &fresh);

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
    t->node += (uint64_t)lpo_native_get_z(c);
    if (!c->bad && !n->only_start_end)
        add_node(
            n, t->node,
            (struct native_node){ .ns = e->ns,
                                  .thread = t->row,
                                  .capture = LPO_NONE,
                                  .path = n->sums ? lpo_native_sums_path(n, t, e->ns, e->ns) : 0 });
}

static void on_clone(struct native *n, struct native_thread *t, const struct event *e,
                     struct lpo_cursor *c)
{
    (void)e;
    t->node += (uint64_t)lpo_native_get_z(c);
    t->original += (uint64_t)lpo_native_get_z(c);
    if (!c->bad && !n->only_start_end)
        add_node(n, t->node, (struct native_node){ .original = t->original, .clone = true });
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
        e.domain = domain_row(n, e.file_domain = lpo_native_get_v(c));
    if (!takers[e.kind]) {
        c->bad = true;
        return;
    }
    if (!(e.flags & LPOT_EV_INHERITED))
        t->again = 0;
    t->last_ns = e.ns;
    takers[e.kind](n, t, &e, c);
    if (e.ns > n->end_ns)
        n->end_ns = e.ns;
}

/* The collector kept the last seconds only, and what came before this block is lost: what is open
 * ends with the last event that is known. */
static void end_ranges(struct native *n, struct native_thread *t)
{
    for (size_t domain = 0; domain < t->open.tops.len; domain++) {
        struct event e = { .kind = LPOT_EV_POP, .ns = t->last_ns, .domain = (uint16_t)domain };

        while (t->open.tops.at[domain])
            on_pop(n, t, &e, NULL);
    }
}

/* A block that stands for itself. Where it follows the one before it, its first pushes are of
 * ranges that are open already. */
static void start_afresh(struct native *n, struct native_thread *t,
                         const struct lpo_native_block *block)
{
    finish_call(n, t);
    if (t->broken || block->sequence != t->sequence)
        end_ranges(n, t);
    t->again = t->open.count;
    t->broken = false;
    t->sequence = block->sequence;
    t->ticks = t->node = t->original = 0;
    t->corr = 0;
}

void lpo_native_take_thread(struct native *n, const struct lpo_native_block *block)
{
    struct native_thread *t = lpo_native_thread_at(n, block->stream);
    struct lpo_cursor c = { block->payload, block->payload + block->len, false };

    if (block->kind == LPOT_THREAD_FRESH && !n->only_start_end)
        start_afresh(n, t, block);
    else if (block->kind == LPOT_THREAD_FRESH) /* the pass that looks for start/end ranges */
        t->sequence = block->sequence, t->broken = false, t->ticks = 0;
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

void lpo_native_close_threads(struct native *n)
{
    for (size_t i = 0; i < n->threads.len; i++)
        finish_call(n, &n->threads.at[i]);
}

void lpo_native_rewind_threads(struct native *n)
{
    n->damaged = 0; /* will be counted again */
    settle_ends(n, true);
    for (size_t i = n->first_range; i < n->trace->ranges.len; i++)
        if (n->trace->ranges.at[i].end_ns == LPO_NO_TIME)
            n->trace->ranges.at[i].flags |= LPO_RANGE_OPEN;
    for (size_t i = 0; i < n->threads.len; i++) {
        struct native_thread *t = &n->threads.at[i];

        t->broken = t->in_call = false;
        t->again = 0;
        t->sequence = t->corr = 0;
        t->ticks = t->node = t->original = 0;
    }
}

static void leave_open(struct native *n, struct lpo_range *r)
{
    r->end_ns = n->end_ns;
    r->flags |= LPO_RANGE_OPEN;
}

/* What was never popped or ended ends with the process. */
void lpo_native_close_ranges(struct native *n)
{
    settle_ends(n, true);
    n->stray_ends -= n->stray_ends < n->start_ends_lost ? n->stray_ends : n->start_ends_lost;
    for (size_t i = n->first_range; i < n->trace->ranges.len; i++) {
        struct lpo_range *r = &n->trace->ranges.at[i];

        if (r->kind == LPO_START_END && r->end_ns == LPO_NO_TIME) {
            leave_open(n, r);
            n->unclosed++;
        }
    }
    for (size_t i = 0; i < n->threads.len; i++) {
        const struct native_opens *o = &n->threads.at[i].open;

        if (n->sums)
            lpo_native_sums_close(n, &n->threads.at[i]);
        for (size_t domain = 0; domain < o->tops.len; domain++) {
            for (uint32_t at = o->tops.at[domain]; at; at = o->at.at[at - 1].under) {
                const struct native_open *open = &o->at.at[at - 1];

                if (open->range != LPO_NONE && !n->sums)
                    leave_open(n, &n->trace->ranges.at[open->range]);
                n->unclosed += !open->inherited; /* the parent of a fork closes those */
            }
        }
    }
}
