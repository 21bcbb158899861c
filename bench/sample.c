/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one command and prints what it cost: "<wall ns> <CPU ns> <peak KiB> <exit status>".
 *
 *     sample OUTPUT command [args…]
 *
 * The command's output goes to the file OUTPUT. A small static program does this, and not the
 * script above it, because a child's peak memory starts at that of the process that started it. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static int64_t cpu_ns(const struct rusage *u)
{
    return (u->ru_utime.tv_sec + u->ru_stime.tv_sec) * INT64_C(1000000000) +
           (u->ru_utime.tv_usec + u->ru_stime.tv_usec) * INT64_C(1000);
}

int main(int argc, char **argv)
{
    struct rusage used;
    int status, out;

    if (argc < 3)
        return 2;
    out = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (out < 0) {
        fprintf(stderr, "sample: %s: %s\n", argv[1], strerror(errno));
        return 2;
    }
    int64_t start = now_ns();
    pid_t pid = fork();
    if (pid == 0) {
        dup2(out, 1);
        dup2(out, 2);
        execvp(argv[2], argv + 2);
        _exit(127);
    }
    if (pid < 0 || wait4(pid, &status, 0, &used) != pid)
        return 2;
    printf("%" PRId64 " %" PRId64 " %ld %d\n", now_ns() - start, cpu_ns(&used), used.ru_maxrss,
           WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    return 0;
}
