/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/arrive.h"
#include "collect/gpu.h"
#include "collect/nvtx.h"
#include "lpo/control.h"

enum {
    LOOK_MS = 20,    /* how late a signal may be noticed */
    IDLE_MS = 1000,  /* and a socket that the program closed */
    CLIENT_MS = 200, /* a client that says nothing */
    FD_LEAST = 64,
};

/* --- the signal ----------------------------------------------------------------------------- */

static void on_signal(int sig)
{
    (void)sig;
    __atomic_fetch_add(&lpoc_get()->control.signals, 1, __ATOMIC_RELAXED);
}

/* A program that has a handler of its own keeps it. */
static void take_signal(struct lpoc *c)
{
    struct sigaction old, ours = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
    int sig = (int)c->knobs.capture_signal;

    if (!sig)
        return;
    if (sigaction(sig, NULL, &old) == 0 &&
        (old.sa_handler == on_signal ||
         (old.sa_handler == SIG_DFL && sigaction(sig, &ours, NULL) == 0)))
        return;
    lpoc_note(c, LPOT_NOTE_OTHER, 0,
              "signal %d does not switch the recording: the program uses it itself", sig);
}

/* --- the socket ----------------------------------------------------------------------------- */

static bool still_ours(const struct lpoc_control *k)
{
    struct stat st;

    return k->fd >= 0 && fstat(k->fd, &st) == 0 && st.st_dev == k->dev && st.st_ino == k->ino;
}

static int bind_in(int folder, const char *name)
{
    struct sockaddr_un address;
    socklen_t len = lpo_control_address(&address, folder, name);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), high;

    if (fd < 0)
        return -1;
    unlinkat(folder, name, 0); /* of a process that had our number before */
    high = fcntl(fd, F_DUPFD_CLOEXEC, FD_LEAST);
    if (high >= 0) {
        close(fd);
        fd = high;
    }
    if (bind(fd, (struct sockaddr *)&address, len) == 0 && listen(fd, 8) == 0)
        return fd;
    close(fd);
    return -1;
}

static bool listen_in(struct lpoc *c)
{
    struct lpoc_control *k = &c->control;
    int folder = open(c->knobs.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat st;

    k->fd = folder < 0 ? -1 : bind_in(folder, k->name);
    if (folder >= 0)
        close(folder);
    if (k->fd < 0 || fstat(k->fd, &st) < 0)
        return false;
    k->dev = st.st_dev;
    k->ino = st.st_ino;
    return true;
}

static void write_mark(const char *text)
{
    struct lpoc_thread *t = lpoc_enter();

    if (!t)
        return;
    t->windowed = false; /* a mark from outside is always written */
    lpoc_mark(t, 0, lpoc_name(t, text), NULL);
    lpoc_thread_write(t, lpoc_thread_ticks(t));
    lpoc_leave();
}

/* Who ends a window from outside may end the program next, and by force: what was recorded is
 * written now, not when the program has time for it; kernels that run get the time to end. */
static void end_window(struct lpoc *c)
{
    lpoc_window_gate(c, false, 0);
    lpoc_await_records(c);
    lpoc_gpu_finish(c);
}

/* NULL, or why it cannot be done. */
static const char *obey(struct lpoc *c, const char *request)
{
    if (strcmp(request, "start") == 0)
        lpoc_window_gate(c, true, LPOT_WINDOW_CONTROL);
    else if (strcmp(request, "dump") == 0 && !c->ring.on)
        return "nothing is kept that could be written: capture.ring (LPO_COLLECT_RING_MS) is not "
               "set";
    else if (strcmp(request, "dump") == 0)
        lpoc_ring_dump(c, LPOT_WINDOW_CONTROL);
    else if (strcmp(request, "stop") == 0)
        end_window(c);
    else if (strncmp(request, "mark ", 5) == 0 && request[5])
        write_mark(request + 5);
    else if (strcmp(request, "status") != 0)
        return "not a request";
    return NULL;
}

static void answer(struct lpoc *c, int fd, const char *request)
{
    struct lpoc_window *w = &c->window;
    char reply[LPO_CONTROL_REPLY_MAX];
    uint64_t windows;
    const char *error = obey(c, request);
    bool on;
    int len;

    lpoc_lock(&w->lock);
    on = w->on;
    windows = w->count;
    lpoc_unlock(&w->lock);
    len = snprintf(reply, sizeof reply,
                   "%s%s%spid %lld\nrecording %d\nwindows %llu\nseen %llu\n"
                   "recorded %llu\n",
                   error ? "error " : "", error ? error : "", error ? "\n" : "",
                   (long long)getpid(), on, (unsigned long long)windows,
                   (unsigned long long)__atomic_load_n(&w->seen, __ATOMIC_RELAXED),
                   (unsigned long long)__atomic_load_n(&w->recorded, __ATOMIC_RELAXED));
    if (len > 0)
        send(fd, reply, (size_t)len, MSG_NOSIGNAL);
}

static void serve(struct lpoc *c)
{
    char line[LPO_CONTROL_REQUEST_MAX];
    int fd = accept4(c->control.fd, NULL, NULL, SOCK_CLOEXEC);

    if (fd < 0)
        return;
    if (lpo_control_same_user(fd) && lpo_control_get_line(fd, line, sizeof line, CLIENT_MS))
        answer(c, fd, line);
    close(fd);
}

/* --- the thread ----------------------------------------------------------------------------- */

/* What is due by time; the ms until the next such moment, or `idle`. */
static int64_t by_time(struct lpoc *c, int64_t since_ms, int *step, int64_t idle)
{
    const struct lpoc_knobs *k = &c->knobs;
    const int64_t ends_ms = k->capture_after_ms + k->capture_for_ms;

    if (*step == 0 && since_ms >= k->capture_after_ms) {
        if (k->capture_after_ms)
            lpoc_window_gate(c, true, LPOT_WINDOW_TIME);
        *step = k->capture_for_ms ? 1 : 2;
    }
    if (*step == 1 && since_ms >= ends_ms) {
        lpoc_window_gate(c, false, 0);
        *step = 2;
    }
    if (*step < 2) {
        int64_t left = (*step ? ends_ms : k->capture_after_ms) - since_ms;
        return left < idle ? left : idle;
    }
    return idle;
}

static void by_signal(struct lpoc *c)
{
    uint32_t why = __atomic_load_n(&c->ring.wanted, __ATOMIC_ACQUIRE);

    if (why) {
        lpoc_ring_dump(c, why);
        __atomic_store_n(&c->ring.wanted, 0, __ATOMIC_RELEASE);
    }
    if (c->ring.on) {
        if (__atomic_exchange_n(&c->control.signals, 0, __ATOMIC_RELAXED))
            lpoc_ring_dump(c, LPOT_WINDOW_SIGNAL);
        return;
    }
    if (__atomic_exchange_n(&c->control.signals, 0, __ATOMIC_RELAXED) % 2)
        lpoc_window_gate(c, !__atomic_load_n(&c->window.gate, __ATOMIC_RELAXED),
                         LPOT_WINDOW_SIGNAL);
}

/* Things that nobody wakes the thread for. */
static bool looks(const struct lpoc *c)
{
    return c->knobs.capture_signal || c->ring.on;
}

static void *control(void *collector)
{
    struct lpoc *c = collector;
    struct lpoc_control *k = &c->control;
    const uint64_t start_ns = lpoc_clock_read(CLOCK_MONOTONIC);
    int step = c->knobs.capture_after_ms || c->knobs.capture_for_ms ? 0 : 2;

    prctl(PR_SET_NAME, "lpo-control");
    for (;;) {
        int64_t since_ms = (int64_t)((lpoc_clock_read(CLOCK_MONOTONIC) - start_ns) / 1000000);
        int64_t wait_ms = by_time(c, since_ms, &step, looks(c) ? LOOK_MS : IDLE_MS);
        struct pollfd p = { .fd = -1, .events = POLLIN };

        by_signal(c);
        if (k->name[0] && (still_ours(k) || listen_in(c)))
            p.fd = k->fd;
        else if (step == 2 && !looks(c) && !k->name[0])
            return NULL; /* nothing more will happen */
        if (poll(&p, 1, (int)(wait_ms > 0 ? wait_ms : 1)) > 0 && p.revents && still_ours(k))
            serve(c);
    }
}

static bool is_wanted(const struct lpoc *c, bool forked)
{
    const struct lpoc_knobs *k = &c->knobs;
    bool by_itself = k->capture_after_ms || k->capture_for_ms || c->ring.on;

    return forked ? k->capture_control && !by_itself
                  : by_itself || k->capture_signal || k->capture_control;
}

void lpoc_control_start(struct lpoc *c, bool forked)
{
    const struct lpoc_knobs *k = &c->knobs;
    struct lpoc_control *s = &c->control;

    if (forked && still_ours(s))
        close(s->fd); /* the parent's: who asks the parent after its end would wait for us */
    s->fd = -1;
    if (!is_wanted(c, forked))
        return;
    if (k->capture_control) {
        s->name[lpoc_put_decimal(s->name, getpid())] = 0;
        strcat(s->name, LPO_CONTROL_SUFFIX);
        if (!listen_in(c)) /* now: who waits for the socket may come before the thread runs */
            s->name[0] = 0;
    }
    take_signal(c);
    if (!lpoc_own_thread(c, control))
        s->name[0] = 0;
}

void lpoc_control_end(struct lpoc *c)
{
    int folder;

    if (!c->control.name[0])
        return;
    folder = open(c->knobs.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return;
    unlinkat(folder, c->control.name, 0);
    close(folder);
}
