/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/guard.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/thread.h"

/* The raw call: sigset_t of libc takes 128 bytes of a stack that may be small, and libc leaves its
 * own two signals out, one of which cancels threads. */
static bool set_mask(int how, const uint64_t *mask, uint64_t *old)
{
    return syscall(SYS_rt_sigprocmask, how, mask, old, sizeof *mask) == 0;
}

/* Signals that an instruction or a system call of this very thread raises: the kernel kills a
 * program that blocks them, whatever handler it has. Sandboxes answer system calls by SIGSYS. */
#define BIT(sig) (UINT64_C(1) << ((sig)-1))
static const uint64_t own_faults =
    BIT(SIGSYS) | BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGILL) | BIT(SIGFPE) | BIT(SIGTRAP);

void lpoc_guard(void)
{
    static const uint64_t others = ~own_faults;
    struct lpoc_guard_state *g = &lpoc_tls.guard;
    int saved = errno;

    if (g->depth) {
        g->depth++;
        return;
    }
    /* The mask first: a handler that came in between would find a guard that is half set up. */
    g->masked = set_mask(SIG_SETMASK, &others, &g->signals);
    g->depth = 1;
    g->saved_errno = saved;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &g->cancel);
}

void lpoc_unguard(void)
{
    struct lpoc_guard_state *g = &lpoc_tls.guard;
    uint64_t signals = g->signals;
    bool masked = g->masked;
    int saved = g->saved_errno;

    if (--g->depth)
        return;
    pthread_setcancelstate(g->cancel, NULL);
    /* The mask last: what waits is delivered inside this call, and its handler may never return.
     * It may also set up a guard of its own, so only locals are used from here on. */
    if (masked)
        set_mask(SIG_SETMASK, &signals, NULL);
    errno = saved;
}

void lpoc_lock(pthread_mutex_t *mutex)
{
    lpoc_guard();
    pthread_mutex_lock(mutex);
}

bool lpoc_try_lock(pthread_mutex_t *mutex)
{
    lpoc_guard();
    if (pthread_mutex_trylock(mutex) == 0)
        return true;
    lpoc_unguard();
    return false;
}

void lpoc_unlock(pthread_mutex_t *mutex)
{
    pthread_mutex_unlock(mutex);
    lpoc_unguard();
}
