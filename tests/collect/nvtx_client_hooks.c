/* SPDX-License-Identifier: Apache-2.0 */
#include "nvtx_client_hooks.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

int64_t hook_wall_step_ns;
int64_t hook_disk_bytes = -1;
int hook_failing_writes;
unsigned hook_failing_every;
int hook_signal_in_write;

typedef long (*syscall_fn)(long number, ...);

static syscall_fn libc_syscall(void)
{
    static syscall_fn found;

    if (!found)
        *(void **)&found = dlsym(RTLD_NEXT, "syscall");
    return found;
}

int clock_gettime(clockid_t id, struct timespec *t)
{
    long rc = libc_syscall()(SYS_clock_gettime, id, t);
    int64_t ns;

    if (rc != 0 || id != CLOCK_REALTIME || !hook_wall_step_ns)
        return (int)rc;
    ns = t->tv_sec * 1000000000ll + t->tv_nsec + hook_wall_step_ns;
    *t = (struct timespec){ ns / 1000000000, ns % 1000000000 };
    return 0;
}

/* Writes what there is space for. */
static long short_writev(long fd, const struct iovec *io, long count)
{
    struct iovec part[8];
    long n = 0;
    int64_t left = hook_disk_bytes;

    for (; n < count && n < 8 && left > 0; n++) {
        part[n] = io[n];
        if ((int64_t)part[n].iov_len > left)
            part[n].iov_len = (size_t)left;
        left -= (int64_t)part[n].iov_len;
    }
    hook_disk_bytes = left;
    if (n == 0) {
        errno = ENOSPC;
        return -1;
    }
    return libc_syscall()(SYS_writev, fd, part, n);
}

static bool fails_now(void)
{
    static unsigned writes;

    if (hook_failing_every)
        return __atomic_add_fetch(&writes, 1, __ATOMIC_RELAXED) % hook_failing_every == 0;
    hook_failing_writes--;
    return true;
}

/* The sixth is read from the stack whether it was passed or not, as libc's own does. */
__attribute__((no_sanitize("address"))) long syscall(long number, ...)
{
    long a[6];
    va_list args;

    va_start(args, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(args, long);
    va_end(args);
    if (number == SYS_writev && hook_signal_in_write) {
        int sig = hook_signal_in_write;
        hook_signal_in_write = 0;
        raise(sig);
    }
    if (number == SYS_writev && (hook_failing_writes || hook_failing_every) && fails_now()) {
        errno = EIO;
        return -1;
    }
    if (number == SYS_writev && hook_disk_bytes >= 0)
        return short_writev(a[0], (const struct iovec *)a[1], a[2]);
    return libc_syscall()(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
