#include "collect/collect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "collect/thread.h"
#include "collect/wire.h"
#include "lpo/trace_format.h"

#ifndef LPO_VERSION
#define LPO_VERSION "0"
#endif

enum { FACTS_BYTES = 32 << 10, DEFS_PIECE = 1 << 20, NOTE_TEXT = 512 };

static uint32_t next(uint32_t *sequence)
{
    return __atomic_fetch_add(sequence, 1, __ATOMIC_RELAXED);
}

/* Facts gather here until they are one block; what does not fit is left out. */
struct facts {
    uint8_t bytes[FACTS_BYTES];
    size_t len;
};

static void add_fact(struct facts *f, const char *key, const char *value)
{
    size_t klen = strlen(key), vlen = strlen(value);
    uint8_t *p = f->bytes + f->len;

    if (!vlen || f->len + klen + vlen + 2 * LPOC_VARINT_MAX > sizeof f->bytes)
        return;
    p = lpoc_put_text(p, key, klen);
    p = lpoc_put_text(p, value, vlen);
    f->len = (size_t)(p - f->bytes);
}

static void add_number(struct facts *f, const char *key, int64_t value)
{
    char text[32];

    snprintf(text, sizeof text, "%lld", (long long)value);
    add_fact(f, key, text);
}

static void add_command(struct facts *f)
{
    char text[4096];
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return;
    while (n > 0 && !text[n - 1])
        n--;
    for (ssize_t i = 0; i < n; i++)
        if (!text[i])
            text[i] = ' ';
    text[n] = 0;
    add_fact(f, "command", text);
}

/* Launchers tell a process its rank in their own words. */
static const char *const rank_variables[] = { "RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK",
                                              "SLURM_PROCID" };

static void add_rank(struct facts *f)
{
    for (size_t i = 0; i < sizeof rank_variables / sizeof *rank_variables; i++) {
        const char *rank = getenv(rank_variables[i]);
        if (rank && *rank && strlen(rank) < 12) {
            add_fact(f, "rank", rank);
            return;
        }
    }
}

static void write_first_facts(struct lpoc *c, pid_t forked_from)
{
    struct facts f;
    struct utsname host;
    char exe[LPOC_PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    const char *knob;
    int64_t value;

    f.len = 0;
    add_fact(&f, "collector", LPO_VERSION);
    add_number(&f, "pid", getpid());
    add_number(&f, "ppid", getppid());
    if (forked_from)
        add_number(&f, "forked_from", forked_from);
    add_fact(&f, "clock", lpoc_clock_name(&c->clock));
    add_rank(&f);
    if (n > 0) {
        exe[n] = 0;
        add_fact(&f, "program", exe);
    }
    add_command(&f);
    if (uname(&host) == 0)
        add_fact(&f, "host", host.nodename);
    for (unsigned i = 0; (knob = lpoc_knob_at(&c->knobs, i, &value)); i++)
        add_number(&f, knob, value);
    lpoc_file_block(&c->file, &c->clock, LPOT_FACTS, 0, next(&c->facts), f.bytes, f.len, NULL);
}

void lpoc_write_facts(struct lpoc *c, const char *const (*pairs)[2], unsigned count)
{
    struct facts f;

    f.len = 0;
    for (unsigned i = 0; i < count; i++)
        add_fact(&f, pairs[i][0], pairs[i][1]);
    lpoc_file_block(&c->file, &c->clock, LPOT_FACTS, 0, next(&c->facts), f.bytes, f.len, NULL);
}

/* The first time: everything. False leaves the collector off for good. */
static bool start(struct lpoc *c)
{
    lpoc_knobs_read(&c->knobs);
    if (!c->knobs.dir[0] || lpoc_defs_start(&c->defs) < 0 ||
        pthread_key_create(&c->key, lpoc_thread_end) != 0)
        return false;
    lpoc_clock_start(&c->clock, c->knobs.tsc != 0);
    return true;
}

static bool open_file(struct lpoc *c, pid_t forked_from)
{
    if (lpoc_file_open(&c->file, c->knobs.dir, (uint64_t)c->knobs.max_mb << 20) < 0)
        return false;
    c->pid = getpid();
    c->notes = c->footers = c->facts = 0;
    c->nthreads = 0;
    c->defs.written = 0;
    c->defs.inherited = forked_from ? c->defs.used : 0;
    c->defs.sequence = 0;
    write_first_facts(c, forked_from);
    return true;
}

bool lpoc_ready(struct lpoc *c)
{
    int state = __atomic_load_n(&c->state, __ATOMIC_ACQUIRE);
    int saved = errno;

    if (state == LPOC_ON || state == LPOC_OFF)
        return state == LPOC_ON;
    pthread_mutex_lock(&c->lock);
    state = c->state;
    if (state == LPOC_FRESH)
        state = start(c) && open_file(c, 0) ? LPOC_ON : LPOC_OFF;
    else if (state == LPOC_FORKED)
        state = open_file(c, c->pid) ? LPOC_ON : LPOC_OFF;
    __atomic_store_n(&c->state, state, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&c->lock);
    errno = saved;
    return state == LPOC_ON;
}

uint32_t lpoc_kernel_name(struct lpoc *c, const char *name)
{
    size_t len = name ? strnlen(name, LPOC_KERNEL_NAME_MAX) : 0;
    uint32_t id;

    if (!len)
        return 0;
    pthread_mutex_lock(&c->lock);
    id = lpoc_defs_string(&c->defs, name, len, lpoc_defs_hash(name, len), true);
    pthread_mutex_unlock(&c->lock);
    return id == LPOC_NAME_FULL ? 0 : id;
}

void lpoc_write_defs(struct lpoc *c)
{
    const uint8_t *at;
    size_t len;

    pthread_mutex_lock(&c->lock);
    while ((len = lpoc_defs_pending(&c->defs, DEFS_PIECE, &at))) {
        if (lpoc_file_block(&c->file, &c->clock, LPOT_DEFS, 0, c->defs.sequence, at, len, NULL) < 0)
            break;
        c->defs.sequence++;
        c->defs.written += len;
    }
    pthread_mutex_unlock(&c->lock);
}

void lpoc_note(struct lpoc *c, unsigned code, uint64_t count, const char *fmt, ...)
{
    uint8_t bytes[NOTE_TEXT + 3 * LPOC_VARINT_MAX], *p = bytes;
    char text[NOTE_TEXT];
    va_list args;
    int len;

    if (__atomic_load_n(&c->state, __ATOMIC_ACQUIRE) != LPOC_ON)
        return;
    va_start(args, fmt);
    len = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (len < 0)
        return;
    if ((size_t)len >= sizeof text)
        len = sizeof text - 1;
    p = lpoc_put_v(p, code);
    p = lpoc_put_v(p, count);
    p = lpoc_put_text(p, text, (size_t)len);
    lpoc_file_block(&c->file, &c->clock, LPOT_NOTE, 0, next(&c->notes), bytes, (size_t)(p - bytes),
                    NULL);
}

void lpoc_finish(struct lpoc *c)
{
    uint8_t bytes[LPOC_COUNTERS * 2 * LPOC_VARINT_MAX], *p = bytes;

    if (__atomic_load_n(&c->state, __ATOMIC_ACQUIRE) != LPOC_ON || getpid() != c->pid)
        return;
    for (struct lpoc_thread *t = __atomic_load_n(&c->threads, __ATOMIC_ACQUIRE); t; t = t->next)
        lpoc_thread_write_committed(t);
    lpoc_write_defs(c);
    for (unsigned i = 1; i < LPOC_COUNTERS; i++) {
        uint64_t value = __atomic_load_n(&c->counters[i], __ATOMIC_RELAXED);
        if (!value)
            continue;
        p = lpoc_put_v(p, i);
        p = lpoc_put_v(p, value);
    }
    lpoc_file_block(&c->file, &c->clock, LPOT_FOOTER, 0, next(&c->footers), bytes,
                    (size_t)(p - bytes), NULL);
}

void lpoc_forked(struct lpoc *c)
{
    struct lpoc_thread *self = lpoc_tls.self;

    if (c->state != LPOC_ON && c->state != LPOC_FORKED)
        return;
    lpoc_file_close(&c->file);
    memset(c->counters, 0, sizeof c->counters);
    c->gpu = NULL; /* CUDA does not survive a fork, and neither does what we knew of it */
    for (struct lpoc_thread *t = c->threads; t; t = t->next)
        if (t == self)
            lpoc_thread_survive(t);
        else
            lpoc_thread_vanish(t);
    c->state = LPOC_FORKED;
}
