/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/window.h"

#include <string.h>

#include "collect/gpu.h"
#include "collect/mem.h"
#include "collect/name.h"

enum match { UNKNOWN, NO, YES };
enum { ENTRY_MAX = 3 * LPOC_VARINT_MAX };

/* '*' is any text, '?' any one byte. */
static bool matches_pattern(const char *p, const char *text, size_t len)
{
    const char *star = NULL, *end = text + len, *from = text;

    while (text < end) {
        if (*p == '*') {
            star = ++p;
            from = text;
        } else if (*p && (*p == '?' || *p == *text)) {
            p++;
            text++;
        } else if (star) {
            p = star;
            text = ++from;
        } else {
            return false;
        }
    }
    while (*p == '*')
        p++;
    return !*p;
}

static bool is_chosen(struct lpoc_thread *t, struct lpoc_name name)
{
    struct lpoc *c = t->owner;
    const char *pattern = c->knobs.capture_range, *text;
    uint8_t *known, seen;

    if (name.id == LPOC_NAME_FULL)
        return matches_pattern(pattern, name.text, name.len);
    if (!c->window.matches)
        return false;
    known = &c->window.matches[name.id];
    seen = __atomic_load_n(known, __ATOMIC_RELAXED);
    if (seen == UNKNOWN) {
        text = name.id ? lpoc_defs_text(&c->defs, name.id) : "";
        seen =
            matches_pattern(pattern, text, name.id ? c->defs.strings[name.id].len : 0) ? YES : NO;
        __atomic_store_n(known, seen, __ATOMIC_RELAXED);
    }
    return seen == YES;
}

/* Is the call number `k`, counted from 1, one of those asked for? */
static bool is_wanted(const struct lpoc_knobs *k, uint64_t call)
{
    return call >= (uint64_t)k->capture_first &&
           (!k->capture_last || call <= (uint64_t)k->capture_last) &&
           (call - (uint64_t)k->capture_first) / (uint64_t)k->capture_in_a_row %
                   (uint64_t)k->capture_every ==
               0;
}

/* --- the file ------------------------------------------------------------------------------- */

static void write_windows(struct lpoc *c, uint64_t now)
{
    struct lpoc_window *w = &c->window;
    uint8_t head[2 * LPOC_VARINT_MAX], *p = head;
    size_t len;

    p = lpoc_put_v(p, __atomic_load_n(&w->seen, __ATOMIC_RELAXED));
    p = lpoc_put_v(p, __atomic_load_n(&w->recorded, __ATOMIC_RELAXED));
    len = (size_t)(p - head);
    memmove(w->windows + len, w->windows, w->windows_used);
    memcpy(w->windows, head, len);
    w->windows_at = now;
    if (lpoc_block(c, LPOT_WINDOWS, 0, w->sequence, w->windows, len + w->windows_used) < 0 &&
        w->windows_used + ENTRY_MAX * 4 <= sizeof w->windows) { /* later, with those to come */
        memmove(w->windows, w->windows + len, w->windows_used);
        return;
    }
    w->sequence++;
    w->windows_used = 0;
    w->last_end = 0;
}

static void add_window(struct lpoc_window *w, uint64_t to)
{
    uint8_t *p = w->windows + w->windows_used;

    p = lpoc_put_v(p, w->from - w->last_end);
    p = lpoc_put_v(p, to - w->from);
    p = lpoc_put_v(p, w->why);
    w->windows_used = (size_t)(p - w->windows);
    w->last_end = to;
    w->count++;
}

/* --- open and close ------------------------------------------------------------------------- */

/* Follows what the gate and the chosen range say. Under the lock. */
static void decide(struct lpoc *c)
{
    struct lpoc_window *w = &c->window;
    bool on = c->ring.on || (w->gate && (!c->knobs.capture_range[0] || w->holds));
    uint64_t now = lpoc_ticks(c->clock.counter);

    if (on == w->on)
        return;
    if (on) { /* callbacks first, so that no kernel record lacks its launch */
        lpoc_detach_cancel(c);
        if (lpoc_gpu_attach(c)) /* it takes its time, in which nothing is recorded */
            now = lpoc_ticks(c->clock.counter);
        w->from = now > w->last_end ? now : w->last_end;
        __atomic_store_n(&w->on, true, __ATOMIC_RELEASE);
        lpoc_gpu_switch(c, true);
        return;
    }
    lpoc_gpu_switch(c, false);
    now = lpoc_ticks(c->clock.counter);
    __atomic_store_n(&w->on, false, __ATOMIC_RELEASE);
    add_window(w, now > w->from ? now : w->from);
    lpoc_detach_ask(c);
    if (w->windows_used + ENTRY_MAX * 2 > sizeof w->windows ||
        now - w->windows_at > (uint64_t)c->knobs.flush_ms * c->clock.ticks_per_ms)
        write_windows(c, now);
}

void lpoc_window_gate(struct lpoc *c, bool open, unsigned why)
{
    struct lpoc_window *w = &c->window;

    lpoc_lock(&w->lock);
    if (open && !w->gate && !c->knobs.capture_range[0])
        w->why = why;
    __atomic_store_n(&w->gate, open, __ATOMIC_RELAXED);
    decide(c);
    lpoc_unlock(&w->lock);
}

static void hold(struct lpoc *c, int by)
{
    lpoc_lock(&c->window.lock);
    c->window.holds += (uint32_t)by;
    decide(c);
    lpoc_unlock(&c->window.lock);
}

/* With its memory, so that a program in which launches fill it does not seem to grow. */
static uint64_t *map_notes(void)
{
    uint64_t *notes = lpoc_map(LPOC_NOTED * sizeof *notes);

    if (notes)
        memset(notes, 0, LPOC_NOTED * sizeof *notes);
    return notes;
}

void lpoc_window_start(struct lpoc *c)
{
    const struct lpoc_knobs *k = &c->knobs;
    struct lpoc_window *w = &c->window;

    w->used = k->capture_range[0] || k->capture_after_ms || k->capture_for_ms ||
              k->capture_signal || k->capture_control || k->capture_wait;
    w->gate = !k->capture_after_ms && !k->capture_wait;
    w->why = k->capture_range[0] ? LPOT_WINDOW_RANGE : LPOT_WINDOW_START;
    w->on = w->gate && !k->capture_range[0];
    w->from = w->windows_at = lpoc_ticks(c->clock.counter);
    if (c->ring.on) /* all is recorded, and a chosen range only watched */
        w->used = w->on = true;
    if (!w->used)
        return;
    if (!c->ring.on)
        w->noted = map_notes();
    if (k->capture_range[0])
        w->matches = lpoc_map(LPOC_NAMES_MAX + 1);
}

void lpoc_window_forked(struct lpoc *c, struct lpoc_thread *self)
{
    struct lpoc_window *w = &c->window;

    pthread_mutex_init(&w->lock, NULL);
    w->holds = self && self->chosen.recorded;
    w->seen = w->recorded = w->count = 0;
    w->windows_used = 0;
    w->last_end = 0;
    w->sequence = 0;
    memset(w->starts, 0, sizeof w->starts);
    w->on = c->ring.on || (w->gate && (!c->knobs.capture_range[0] || w->holds));
    w->from = w->windows_at = lpoc_ticks(c->clock.counter);
}

void lpoc_window_add(struct lpoc *c, uint64_t from, unsigned why)
{
    struct lpoc_window *w = &c->window;
    uint64_t now = lpoc_ticks(c->clock.counter);

    lpoc_lock(&w->lock);
    w->from = from > w->last_end ? from : w->last_end;
    w->why = why;
    add_window(w, now > w->from ? now : w->from);
    write_windows(c, now);
    lpoc_unlock(&w->lock);
}

void lpoc_window_finish(struct lpoc *c, bool exits)
{
    struct lpoc_window *w = &c->window;
    uint64_t now = lpoc_ticks(c->clock.counter);

    if (!w->used)
        return;
    lpoc_lock(&w->lock);
    if (exits && w->on && !c->ring.on) {
        add_window(w, now > w->from ? now : w->from);
        w->from = now;
    }
    write_windows(c, now);
    lpoc_unlock(&w->lock);
}

/* --- a thread's view ------------------------------------------------------------------------ */

void lpoc_window_resume(struct lpoc_thread *t)
{
    uint64_t now = lpoc_thread_ticks(t);

    if (!t->quiet)
        return;
    t->quiet = false;
    for (uint32_t d = 0; d < t->domains; d++) {
        struct lpoc_stack *s = &t->stacks[d];

        for (; s->filed < s->depth; s->filed++) {
            uint8_t *p =
                lpoc_event(t, LPOT_EV_PUSH | LPOT_EV_INHERITED | (d ? LPOT_EV_DOMAIN : 0), now, 0);

            if (d)
                p = lpoc_put_v(p, d);
            lpoc_commit(t, lpoc_put_v(p, s->filed < s->cap ? s->names[s->filed] : 0));
        }
    }
}

/* A forked child listens itself, from its first call on: a window could not reach it otherwise. */
static void listen_as_child(struct lpoc *c)
{
    if (!c->knobs.capture_control || __atomic_load_n(&c->state, __ATOMIC_ACQUIRE) != LPOC_FORKED)
        return;
    lpoc_guard();
    lpoc_ready(c);
    lpoc_unguard();
}

bool lpoc_window_sync(struct lpoc_thread *t)
{
    bool on = __atomic_load_n(&t->owner->window.on, __ATOMIC_ACQUIRE);

    if (on)
        lpoc_window_resume(t);
    else if (LPOC_RARE(t->forked))
        listen_as_child(t->owner);
    return on;
}

/* --- the chosen range ----------------------------------------------------------------------- */

/* Counts a call of the chosen range; true when it is to be recorded. */
static bool count_call(struct lpoc *c)
{
    uint64_t call = __atomic_add_fetch(&c->window.seen, 1, __ATOMIC_RELAXED);
    bool wanted = !c->ring.on && is_wanted(&c->knobs, call) &&
                  __atomic_load_n(&c->window.gate, __ATOMIC_RELAXED);

    if (wanted)
        __atomic_fetch_add(&c->window.recorded, 1, __ATOMIC_RELAXED);
    return wanted;
}

bool lpoc_window_push(struct lpoc_thread *t, uint32_t domain, struct lpoc_name name)
{
    struct lpoc *c = t->owner;

    /* A chosen range inside another is part of that call. */
    if (c->knobs.capture_range[0] && !t->chosen.open && is_chosen(t, name)) {
        t->chosen.open = true;
        t->chosen.domain = domain;
        t->chosen.depth = t->stacks[domain].depth;
        t->chosen.recorded = count_call(c);
        t->chosen.start = lpoc_thread_ticks(t);
        if (t->chosen.recorded)
            hold(c, 1);
    }
    if (domain >= t->domains)
        t->domains = domain + 1;
    if (lpoc_window_sync(t)) {
        t->stacks[domain].filed++;
        return true;
    }
    t->quiet = true;
    return false;
}

bool lpoc_window_pop(struct lpoc_thread *t, uint32_t domain)
{
    struct lpoc_stack *s = &t->stacks[domain];

    if (!s->depth)
        return __atomic_load_n(&t->owner->window.on, __ATOMIC_ACQUIRE);
    return s->filed >= s->depth;
}

void lpoc_window_popped(struct lpoc_thread *t, uint32_t domain, int depth)
{
    if (!t->chosen.open || t->chosen.domain != domain || depth < 0 ||
        (uint32_t)depth > t->chosen.depth)
        return;
    t->chosen.open = false;
    if (t->chosen.recorded)
        hold(t->owner, -1);
    t->chosen.recorded = false;
    if (t->owner->knobs.slow_ms && t->owner->ring.on &&
        lpoc_thread_ticks(t) - t->chosen.start >
            (uint64_t)t->owner->knobs.slow_ms * t->owner->clock.ticks_per_ms)
        lpoc_ring_ask(t->owner, LPOT_WINDOW_SLOW);
}

void lpoc_window_thread_end(struct lpoc_thread *t)
{
    if (t->chosen.recorded)
        hold(t->owner, -1);
    t->chosen.open = t->chosen.recorded = false;
}

/* Remembers `id` among the open ones in the place of `was`; false when it is not there. */
static bool replace_start(struct lpoc_window *w, uint64_t was, uint64_t id)
{
    for (size_t i = 0; i < LPOC_CHOSEN_STARTS; i++)
        if (w->starts[i] == was) {
            w->starts[i] = id;
            return true;
        }
    return false;
}

void lpoc_window_range_start(struct lpoc_thread *t, struct lpoc_name name, uint64_t id)
{
    struct lpoc *c = t->owner;

    if (!c->knobs.capture_range[0] || !is_chosen(t, name) || !count_call(c))
        return;
    lpoc_lock(&c->window.lock);
    if (replace_start(&c->window, 0, id)) {
        c->window.holds++;
        decide(c);
    } else { /* more at once than are followed: this one is not recorded */
        __atomic_fetch_sub(&c->window.recorded, 1, __ATOMIC_RELAXED);
    }
    lpoc_unlock(&c->window.lock);
}

void lpoc_window_range_end(struct lpoc_thread *t, uint64_t id)
{
    struct lpoc *c = t->owner;

    if (!c->knobs.capture_range[0] || !id)
        return;
    lpoc_lock(&c->window.lock);
    if (replace_start(&c->window, id, 0)) {
        c->window.holds--;
        decide(c);
    }
    lpoc_unlock(&c->window.lock);
}

/* --- records that come in any case ---------------------------------------------------------- */

enum { CAME = 1, SHIFT = 1 }; /* an entry: the id and this bit; 0 is none, no id is 0 */

static void raise_to(uint32_t *highest, uint32_t to)
{
    uint32_t was = __atomic_load_n(highest, __ATOMIC_RELAXED);

    while (was < to && !__atomic_compare_exchange_n(highest, &was, to, true, __ATOMIC_RELAXED,
                                                    __ATOMIC_RELAXED))
        ;
}

void lpoc_window_note(struct lpoc *c, uint32_t correlation)
{
    struct lpoc_window *w = &c->window;
    uint64_t was;

    if (!w->noted)
        return;
    was = __atomic_exchange_n(&w->noted[correlation % LPOC_NOTED], (uint64_t)correlation << SHIFT,
                              __ATOMIC_RELAXED);
    __atomic_fetch_add(&w->launched, 1, __ATOMIC_RELAXED);
    if (was && !(was & CAME)) /* so many launches ago that nobody waits for it any more */
        __atomic_fetch_add(&w->lost, 1, __ATOMIC_RELAXED);
    raise_to(&w->highest, correlation);
}

void lpoc_window_note_failed(struct lpoc *c, uint32_t correlation)
{
    struct lpoc_window *w = &c->window;
    uint64_t noted = (uint64_t)correlation << SHIFT;

    if (w->noted && __atomic_compare_exchange_n(&w->noted[correlation % LPOC_NOTED], &noted, 0,
                                                false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        __atomic_fetch_add(&w->lost, 1, __ATOMIC_RELAXED);
}

bool lpoc_window_noted(struct lpoc *c, uint32_t correlation)
{
    struct lpoc_window *w = &c->window;
    uint64_t noted = (uint64_t)correlation << SHIFT;

    if (!w->used || c->ring.on || !w->noted)
        return true;
    if (__atomic_compare_exchange_n(&w->noted[correlation % LPOC_NOTED], &noted, noted | CAME,
                                    false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        __atomic_fetch_add(&w->came, 1, __ATOMIC_RELAXED);
    else if (noted != ((uint64_t)correlation << SHIFT | CAME))
        return false;
    __atomic_fetch_add(&w->records, 1, __ATOMIC_RELAXED);
    return true;
}

/* An entry that is given up looks like one that came: a record that comes after all is kept. */
void lpoc_window_give_up(struct lpoc *c)
{
    struct lpoc_window *w = &c->window;

    for (size_t i = 0; w->noted && i < LPOC_NOTED; i++) {
        uint64_t noted = __atomic_load_n(&w->noted[i], __ATOMIC_RELAXED);

        if (noted && !(noted & CAME) &&
            __atomic_compare_exchange_n(&w->noted[i], &noted, noted | CAME, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            __atomic_fetch_add(&w->lost, 1, __ATOMIC_RELAXED);
    }
}

uint64_t lpoc_window_outstanding(const struct lpoc *c, uint64_t *records)
{
    const struct lpoc_window *w = &c->window;
    uint64_t done =
        __atomic_load_n(&w->came, __ATOMIC_RELAXED) + __atomic_load_n(&w->lost, __ATOMIC_RELAXED);
    uint64_t launched = __atomic_load_n(&w->launched, __ATOMIC_RELAXED);

    *records = __atomic_load_n(&w->records, __ATOMIC_RELAXED);
    return launched > done ? launched - done : 0;
}
