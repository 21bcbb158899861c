/* SPDX-License-Identifier: Apache-2.0 */
#include "run/child/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/file.h"

struct text {
    size_t len;
    mode_t mode;
    char bytes[];
};

/* A signal reaches the process, not a call: this outlives calls. */
static struct {
    atomic_bool armed, held, ending;
    int dir;
    pid_t main_thread;
    char temp[LPO_TEMP_NAME]; /* chosen beforehand: the handler must not ask for random bytes */
    struct text *_Atomic now;
    struct text *before; /* kept for a handler that is reading it in another thread */
} state = { .dir = -1 };

/* Only what signal-safety(7) allows. Not flushed to the disk: that may take longer than people
 * wait, and the file is whole for everybody but a machine that loses its power. */
static void write_manifest(const struct text *t)
{
    int fd = openat(state.dir, state.temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                    t->mode);
    size_t done = 0;

    if (fd < 0)
        return;
    while (done < t->len) {
        ssize_t n = write(fd, t->bytes + done, t->len - done);

        if (n <= 0 && errno != EINTR)
            break;
        done += n > 0 ? (size_t)n : 0;
    }
    close(fd);
    if (done < t->len || renameat(state.dir, state.temp, state.dir, "run.json") < 0)
        unlinkat(state.dir, state.temp, 0);
}

static void say(const char *text)
{
    ssize_t ignored = write(STDERR_FILENO, text, strlen(text));

    (void)ignored;
}

static void on_signal(int sig)
{
    int kept = errno;
    const struct text *t;

    if (!state.armed || state.held) {
        /* It reached a thread that does not block it (the sampler of the nvml stage). The main
         * thread blocks it and reads it from its descriptor. */
        syscall(SYS_tgkill, getpid(), state.main_thread, sig);
        errno = kept;
        return;
    }
    if (atomic_exchange(&state.ending, true))
        return; /* another thread is at it */
    lpo_file_drop_temp();
    t = state.now;
    if (state.dir >= 0 && t) {
        write_manifest(t);
        say("\nlpo: interrupted; finished stages are kept, lpo run --resume continues\n");
    } else {
        say("\nlpo: interrupted\n");
    }
    _exit(130);
}

static void set_blocked(bool block)
{
    sigset_t set;

    lpo_run_signals_ending(&set);
    pthread_sigmask(block ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

void lpo_run_interrupt_arm(const char *dir)
{
    static const int sigs[] = { SIGINT, SIGTERM, SIGHUP };
    struct sigaction act = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

    lpo_run_interrupt_disarm();
    lpo_run_signals_ending(&act.sa_mask);
    state.main_thread = (pid_t)syscall(SYS_gettid);
    state.dir = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    lpo_file_temp_name(state.temp);
    for (size_t i = 0; i < sizeof sigs / sizeof *sigs; i++) {
        struct sigaction before;

        /* nohup, or a shell's background job: they stay ignored */
        if (sigaction(sigs[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(sigs[i], &act, NULL);
    }
    state.armed = true;
    set_blocked(false);
}

void lpo_run_interrupt_disarm(void)
{
    if (!state.armed)
        return;
    set_blocked(true);
    state.armed = false;
    if (state.dir >= 0)
        close(state.dir);
    state.dir = -1;
    free(state.before);
    free(atomic_exchange(&state.now, NULL));
    state.before = NULL;
}

bool lpo_run_interrupt_armed(void)
{
    return state.armed;
}

void lpo_run_interrupt_prepare(const void *bytes, size_t len)
{
    LPO_STR other = { 0 };
    bool masked = lpo_file_filtered(bytes, len, &other);
    struct text *t;

    if (masked) {
        bytes = lpo_str_text(&other);
        len = other.len;
    }
    t = lpo_xmalloc(sizeof *t + len);
    t->len = len;
    t->mode = masked ? 0600 : 0666;
    memcpy(t->bytes, bytes, len);
    free(state.before);
    state.before = atomic_exchange(&state.now, t);
}

void lpo_run_interrupt_hold(void)
{
    if (!state.armed)
        return;
    set_blocked(true);
    state.held = true;
}

void lpo_run_interrupt_release(void)
{
    if (!state.armed)
        return;
    state.held = false;
    set_blocked(false); /* one that came in between is delivered now */
}

void lpo_run_signals_start(void)
{
    struct sigaction act;
    sigset_t none;

    for (int sig = 1; sig < NSIG; sig++)
        if (sig != SIGHUP && sig != SIGINT && sig != SIGQUIT && sig != SIGTERM &&
            sigaction(sig, NULL, &act) == 0 && act.sa_handler == SIG_IGN)
            signal(sig, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

void lpo_run_signals_ending(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGHUP);
}

int lpo_run_signals_open(int also, sigset_t *before)
{
    sigset_t set;

    lpo_run_signals_ending(&set);
    sigaddset(&set, SIGCHLD);
    if (also)
        sigaddset(&set, also);
    sigprocmask(SIG_BLOCK, &set, before);
    signal(SIGPIPE, SIG_IGN);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}
