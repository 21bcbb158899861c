/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/collect.h"
#include "collect/sampler.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collect/activity.h"
#include "collect/encode.h"
#include "collect/gpu.h"
#include "collect/guard.h"
#include "collect/mem.h"
#include "collect/thread.h"
#include "lpo/refusal.h"
#include "lpo/trace_format.h"

enum {
    DEFS_PIECE = 1 << 20,
    NOTE_TEXT = 512,
    OWN_STACK = 1 << 20, /* CUPTI may come and go on it */
};

/* What a failure to open or write means to the person who reads the report. */
static const char *failure_text(int failure)
{
    static const struct {
        int failure;
        const char *text;
    } texts[] = {
        { LPOC_AT_LIMIT, "it reached its size limit (LPO_COLLECT_MAX_MB or the process's file size "
                         "limit)" },
        { ENOSPC, "no space is left on the disk" },
        { EDQUOT, "the disk quota is used up" },
        { EACCES, "permission denied" },
        { EPERM, "permission denied" },
        { EROFS, "the file system is read-only" },
        { EMFILE, "the process has too many open files" },
        { ENFILE, "the system has too many open files" },
        { ENOENT, "the folder is not there" },
        { EIO, "the disk failed" },
    };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].failure == failure)
            return texts[i].text;
    return "the system refused";
}

/* A note as the payload of a block, by hand: it is written where the stack may be small. */
struct note {
    size_t len;
    uint8_t bytes[320];
};

static void begin_note(struct note *n, unsigned code, uint64_t count, size_t text_len)
{
    uint8_t *p = lpoc_put_v(lpoc_put_v(n->bytes, code), count);

    n->len = (size_t)(lpoc_put_v(p, text_len) - n->bytes);
}

static void make_note(struct note *n, unsigned code, uint64_t count, const char *const *parts)
{
    size_t len = 0;

    for (size_t i = 0; parts[i]; i++)
        len += strlen(parts[i]);
    if (len > sizeof n->bytes - 3 * LPOC_VARINT_MAX)
        return;
    begin_note(n, code, count, len);
    for (size_t i = 0; parts[i]; i++) {
        memcpy(n->bytes + n->len, parts[i], strlen(parts[i]));
        n->len += strlen(parts[i]);
    }
}

/* The first time: everything. False leaves the collector off for good. */
static bool start(struct lpoc *c)
{
    lpoc_knobs_read(&c->knobs);
    c->rank = lpo_launcher_rank();
    if (!lpo_launcher_chosen(&c->rank, c->knobs.ranks))
        return false;
    if (!c->knobs.dir[0] || !c->has_key || lpoc_defs_start(&c->defs) < 0)
        return false;
    lpoc_clock_start(&c->clock, c->knobs.tsc != 0);
    lpoc_ring_start(c);
    lpoc_window_start(c);
    lpoc_detach_start(c);
    return true;
}

/* A child of fork that may not write (it changed its user, say) is named in its parent's file. */
static void name_in_parent(struct lpoc *c, int failure)
{
    struct lpoc_moment now = lpoc_clock_now(&c->clock);
    struct note n = { 0 };
    char pid[24];
    const char *const parts[] = {
        "process ", pid, ", forked from this one, is not recorded: it could not make its trace, ",
        failure_text(failure), NULL
    };

    pid[lpoc_put_decimal(pid, getpid())] = 0;
    make_note(&n, LPOT_NOTE_CHILD_UNRECORDED, 1, parts);
    lpoc_file_in_parent(
        &c->file, &now,
        &(struct lpoc_block){ .kind = LPOT_NOTE, .payload = n.bytes, .len = n.len });
}

/* A program that was started and may not write leaves nothing in the folder, so a message goes to
 * the lpo that waits for it. */
static void tell_lpo(const struct lpoc *c, int failure)
{
    struct lpo_refusal refusal = { LPO_REFUSAL_MAGIC, failure };
    struct sockaddr_un address = { 0 };
    socklen_t len = lpo_refusal_address(&address, c->knobs.dir);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return;
    sendto(fd, &refusal, sizeof refusal, MSG_NOSIGNAL, (struct sockaddr *)&address, len);
    close(fd);
}

/* A disk may fail once and be well again a moment later; most failures are for good. */
static bool try_again(int failure, unsigned *tries)
{
    static const struct timespec pause = { 0, 20000000 };

    if ((failure != EIO && failure != ESTALE && failure != EAGAIN && failure != ENOSPC) ||
        ++*tries > 4)
        return false;
    nanosleep(&pause, NULL);
    return true;
}

static int open_patiently(struct lpoc *c, const struct lpoc_place *place)
{
    unsigned tries = 0;
    int failure;

    do
        failure = lpoc_file_open(&c->file, place, (uint64_t)c->knobs.max_mb << 20);
    while (failure && try_again(failure, &tries));
    return failure;
}

/* Without the facts, the clock among them, the file cannot be read; without the space for the last
 * words it may not say what it lacks. */
static void write_first_blocks(struct lpoc *c, pid_t forked_from)
{
    struct lpoc_moment now;
    unsigned tries = 0;

    do {
        lpoc_file_hurry(&c->file);
        c->facts = 0;
        lpoc_write_first_facts(c, forked_from);
    } while (lpoc_file_may_recover(&c->file) && try_again(EIO, &tries));
    do {
        lpoc_file_hurry(&c->file);
        now = lpoc_clock_now(&c->clock);
    } while (lpoc_file_reserve(&c->file, &now) < 0 && lpoc_file_may_recover(&c->file) &&
             try_again(EIO, &tries));
}

static bool open_file(struct lpoc *c, pid_t forked_from)
{
    const struct lpoc_place place = { c->knobs.dir, c->rank.rank, forked_from != 0 };
    int failure = open_patiently(c, &place);

    if (failure) {
        if (forked_from)
            name_in_parent(c, failure);
        else
            tell_lpo(c, failure);
        return false;
    }
    c->pid = getpid();
    c->notes = c->footers = c->facts = 0;
    c->nthreads = 0;
    c->defs.written = 0;
    c->defs.inherited = forked_from ? c->defs.used : 0;
    c->defs.sequence = 0;
    write_first_blocks(c, forked_from);
    lpoc_tail_open(c, forked_from != 0);
    return true;
}

bool lpoc_own_thread(struct lpoc *c, void *(*run)(void *collector))
{
    pthread_attr_t attr;
    pthread_t thread;
    bool made;

    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, OWN_STACK);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    made = pthread_create(&thread, &attr, run, c) == 0;
    pthread_attr_destroy(&attr);
    return made;
}

bool lpoc_ready(struct lpoc *c)
{
    int state = __atomic_load_n(&c->state, __ATOMIC_ACQUIRE);
    bool fresh;

    if (state == LPOC_ON || state == LPOC_OFF)
        return state == LPOC_ON;
    lpoc_lock(&c->lock);
    state = c->state;
    fresh = state == LPOC_FRESH;
    if (fresh)
        state = start(c) && open_file(c, 0) ? LPOC_ON : LPOC_OFF;
    else if (state == LPOC_FORKED)
        state = open_file(c, c->pid) ? LPOC_ON : LPOC_OFF;
    __atomic_store_n(&c->state, state, __ATOMIC_RELEASE);
    if (state == LPOC_ON)
        lpoc_control_start(c, !fresh);
    lpoc_unlock(&c->lock);
    if (state == LPOC_ON && !fresh)
        lpoc_write_defs(c); /* its parent's names, which it may use at once */
    return state == LPOC_ON;
}

uint32_t lpoc_kernel_name(struct lpoc *c, const char *name)
{
    size_t len = name ? strnlen(name, LPOC_KERNEL_NAME_MAX) : 0;
    uint32_t id;

    if (!len)
        return 0;
    lpoc_lock(&c->lock);
    id = lpoc_defs_string(&c->defs, name, len, lpoc_defs_hash(name, len), true);
    lpoc_unlock(&c->lock);
    return id == LPOC_NAME_FULL ? 0 : id;
}

static size_t put_totals(const struct lpoc *c, uint8_t *bytes)
{
    uint8_t *p = bytes;

    for (unsigned i = 1; i < LPOC_COUNTERS; i++) {
        uint64_t value = __atomic_load_n(&c->counters[i], __ATOMIC_RELAXED);
        if (!value)
            continue;
        p = lpoc_put_v(p, i);
        p = lpoc_put_v(p, value);
    }
    return (size_t)(p - bytes);
}

static void note_end(struct note *n, int failure)
{
    const char *const parts[] = { "the trace ends early: ", failure_text(failure),
                                  "; what the program did after this is not recorded", NULL };

    make_note(n, failure == LPOC_AT_LIMIT ? LPOT_NOTE_SIZE_LIMIT : LPOT_NOTE_WRITE_FAILED, 0,
              parts);
}

/* The disk failed and came back. */
static void note_gap(struct note *n, const struct lpoc_troubles *t)
{
    char ms[24];
    const char *const parts[] = { "for ",
                                  ms,
                                  " ms in all nothing could be written: ",
                                  failure_text(t->why),
                                  "; some of what the program did then is not recorded",
                                  NULL };

    ms[lpoc_put_decimal(ms, (int64_t)(t->ns / 1000000))] = 0;
    make_note(n, LPOT_NOTE_WRITE_FAILED, 0, parts);
}

static bool has_losses(const struct lpoc *c)
{
    return __atomic_load_n(&c->counters[LPOT_COUNT_EVENTS_LOST], __ATOMIC_RELAXED) ||
           __atomic_load_n(&c->counters[LPOT_COUNT_GPU_LOST], __ATOMIC_RELAXED);
}

/* Nothing can be appended now, or could for a while: why, and the totals so far, in the reserved
 * space. They replace those of an earlier time. */
static void write_last_words(struct lpoc *c)
{
    struct lpoc_moment now = lpoc_clock_now(&c->clock);
    uint8_t totals[LPOC_COUNTERS * (LPOC_VARINT_MAX + 1)];
    struct note n = { 0 };
    struct lpoc_troubles troubles;
    struct lpoc_block blocks[] = {
        { .kind = LPOT_FOOTER, .payload = totals },
        { .kind = LPOT_NOTE, .payload = n.bytes },
    };
    int failure;

    lpoc_lock(&c->file.lock);
    failure = c->file.failure;
    troubles = c->file.troubles;
    lpoc_unlock(&c->file.lock);
    if (failure)
        note_end(&n, failure);
    else
        note_gap(&n, &troubles);
    blocks[0].len = put_totals(c, totals);
    blocks[1].len = n.len;
    lpoc_file_last_words(&c->file, &now, blocks, failure || has_losses(c) ? 2 : 1);
}

static void note_clock_step(struct lpoc *c, int64_t step_ns)
{
    struct note n = { 0 };
    char ms[24];
    const char *const parts[] = {
        "the wall clock was set by ", ms,
        " ms while the program ran: host times go on as if it had not "
        "been, GPU times that CUPTI gave after that may be off by as much",
        NULL
    };

    ms[lpoc_put_decimal(ms, (step_ns + (step_ns < 0 ? -500000 : 500000)) / 1000000)] = 0;
    make_note(&n, LPOT_NOTE_CLOCK_STEP, 0, parts);
    lpoc_block(c, LPOT_NOTE, 0, lpoc_next(&c->notes), n.bytes, n.len);
}

/* Goes into the ring, where there is one: events and records. */
static bool is_kept(const struct lpoc *c, unsigned kind)
{
    return c->ring.on && (kind == LPOT_THREAD || kind == LPOT_THREAD_FRESH ||
                          kind == LPOT_GPU_FRESH || kind == LPOT_CALLS);
}

int lpoc_block(struct lpoc *c, unsigned kind, uint32_t stream, uint32_t sequence,
               const void *payload, size_t len)
{
    struct lpoc_block b = { kind, stream, sequence, payload, len };
    struct lpoc_moment now;
    int64_t step;
    int rc;

    if (!lpoc_file_is_ours(&c->file)) {
        __atomic_store_n(&c->state, LPOC_OFF, __ATOMIC_RELEASE); /* of the copy */
        return -1;
    }
    lpoc_guard();
    now = lpoc_clock_now(&c->clock);
    rc = is_kept(c, kind) ? lpoc_ring_put(c, &now, &b) : lpoc_file_block(&c->file, &now, &b);
    if (!is_kept(c, kind) &&
        __atomic_exchange_n(&c->file.explained, rc < 0, __ATOMIC_RELAXED) != (rc < 0))
        write_last_words(c);
    step = lpoc_clock_step(&c->clock, &now);
    if (step)
        note_clock_step(c, step);
    lpoc_unguard();
    return rc;
}

int lpoc_write_defs(struct lpoc *c)
{
    const uint8_t *at;
    size_t len;

    lpoc_lock(&c->lock);
    while ((len = lpoc_defs_pending(&c->defs, DEFS_PIECE, &at))) {
        if (lpoc_block(c, LPOT_DEFS, 0, c->defs.sequence, at, len) < 0)
            break;
        c->defs.sequence++;
        c->defs.written += len;
    }
    if (!len)
        lpoc_defs_filed(&c->defs);
    lpoc_unlock(&c->lock);
    return len ? -1 : 0;
}

/* Pages of its own, as the calling thread's stack may be small. */
struct note_room {
    char text[NOTE_TEXT];
    uint8_t bytes[NOTE_TEXT + 3 * LPOC_VARINT_MAX];
};

void lpoc_note(struct lpoc *c, unsigned code, uint64_t count, const char *fmt, ...)
{
    struct note_room *r = NULL;
    va_list args;
    uint8_t *p;
    int len;

    if (__atomic_load_n(&c->state, __ATOMIC_ACQUIRE) != LPOC_ON || !(r = lpoc_map(sizeof *r)))
        return;
    va_start(args, fmt);
    len = vsnprintf(r->text, sizeof r->text, fmt, args);
    va_end(args);
    if (len >= 0) {
        if ((size_t)len >= sizeof r->text)
            len = sizeof r->text - 1;
        p = lpoc_put_v(lpoc_put_v(r->bytes, code), count);
        p = lpoc_put_text(p, r->text, (size_t)len);
        lpoc_block(c, LPOT_NOTE, 0, lpoc_next(&c->notes), r->bytes, (size_t)(p - r->bytes));
    }
    lpoc_unmap(r, sizeof *r);
}

static bool had_troubles(struct lpoc *c)
{
    bool had;

    lpoc_lock(&c->file.lock);
    had = c->file.troubles.count != 0;
    lpoc_unlock(&c->file.lock);
    return had;
}

static void write_totals(struct lpoc *c, bool exits)
{
    uint8_t totals[LPOC_COUNTERS * (LPOC_VARINT_MAX + 1)];
    uint32_t sequence = lpoc_next(&c->footers);
    unsigned tries = 0;

    while (lpoc_block(c, LPOT_FOOTER, 0, sequence, totals, put_totals(c, totals)) < 0) {
        if (!exits || !lpoc_file_may_recover(&c->file) || !try_again(EIO, &tries)) {
            write_last_words(c);
            return;
        }
        lpoc_file_hurry(&c->file);
    }
}

/* Who counted launches outside windows: CUPTI, where it was there all the time. */
static void write_who_counted(struct lpoc *c)
{
    const char *why = NULL, *fact[1][2] = { { "launches.counted", "callback" } };

    if (!c->counts_launches)
        return;
    if (!c->knobs.launches)
        why = "LPO_COLLECT_LAUNCHES=0 has no callbacks";
    else if (c->knobs.capture_attach != LPOC_ATTACH_START)
        why = "CUPTI was not always there (LPO_COLLECT_CAPTURE_ATTACH)";
    else if (!lpoc_gpu_of(c))
        why = "CUPTI was not there";
    if (why) {
        fact[0][1] = "unknown";
        lpoc_note(c, LPOT_NOTE_UNCOUNTED, 0,
                  "kernels launched outside windows were not counted: %s", why);
    }
    lpoc_write_facts(c, (const char *const(*)[2])fact, 1);
}

void lpoc_finish(struct lpoc *c, bool exits)
{
    uintptr_t busy = lpoc_tls.busy;

    /* A child of vfork that exits shares this memory, and must not end its parent's trace. */
    if (__atomic_load_n(&c->state, __ATOMIC_ACQUIRE) != LPOC_ON || getpid() != c->pid)
        return;
    if (exits) {
        lpoc_sampler_stop(c);
        lpoc_detach_end(c);
        write_who_counted(c);
    }
    lpoc_guard();
    lpoc_tls.busy = LPOC_BUSY_HELD;
    if (exits) {
        c->counters[LPOT_COUNT_EXIT] = 1;
        lpoc_control_end(c);
    }
    lpoc_file_hurry(&c->file);
    for (struct lpoc_thread *t = __atomic_load_n(&c->threads, __ATOMIC_ACQUIRE); t; t = t->next)
        lpoc_thread_write_committed(t, exits);
    if (exits && c->gpu)
        lpoc_records_finish(c->gpu->records);
    lpoc_write_defs(c);
    lpoc_window_finish(c, exits);
    if (had_troubles(c))
        write_last_words(c); /* with the losses of this moment */
    write_totals(c, exits);
    if (exits) {
        lpoc_lock(&c->lock);
        lpoc_tail_remove(c);
        lpoc_unlock(&c->lock);
    }
    lpoc_tls.busy = busy;
    lpoc_unguard();
}

void lpoc_forked(struct lpoc *c, bool inside)
{
    struct lpoc_thread *self = lpoc_tls.self;

    if (c->state != LPOC_ON && c->state != LPOC_FORKED)
        return;
    lpoc_file_forked(&c->file);
    lpoc_tail_forked(c);
    memset(c->counters, 0, sizeof c->counters);
    c->sampler_stop = NULL;
    c->orphans = 0;
    c->control.name[0] = 0; /* the thread that listens is the parent's */
    c->gpu_waits = false;
    lpoc_detach_start(c);
    c->counts_launches = false;
    /* CUDA does not survive a fork, and neither does our view of it */
    c->gpu = c->gpu_ready = NULL;
    for (struct lpoc_thread *t = c->threads; t; t = t->next)
        if (t != self)
            lpoc_thread_vanish(t);
    if (self)
        lpoc_thread_survive(self, inside);
    lpoc_window_forked(c, lpoc_tls.self);
    lpoc_ring_forked(c);
    c->state = LPOC_FORKED;
}
