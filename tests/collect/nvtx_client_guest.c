/* SPDX-License-Identifier: Apache-2.0 */
/* Scenarios of a program that must not notice its guest: its descriptors, signals, errno, limits.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "nvtx_client.h"

/* A daemon closes descriptors it did not open; its next file gets our number. */
static int close_all(void)
{
    char buffer[16] = "";
    int fd, mine = -1;

    nvtx_lite_push("before");
    nvtx_lite_pop();
    for (fd = 3; fd < 1024; fd++)
        close(fd);
    for (fd = 0; fd < 200; fd++) {
        mine = open("/tmp", O_TMPFILE | O_RDWR, 0600);
        CHECK(mine >= 0);
    }
    nap_ms(120);
    for (int i = 0; i < 2; i++) {
        nvtx_lite_push("after");
        nvtx_lite_pop();
    }
    for (fd = 3; fd <= mine; fd++)
        CHECK(pread(fd, buffer, sizeof buffer, 0) <= 0);
    return 0;
}

static void on_alarm(int sig)
{
    (void)sig;
    nvtx_lite_push("signal");
    nvtx_lite_pop();
}

static int signals(void)
{
    struct itimerval often = { { 0, 50 }, { 0, 50 } }, never = { { 0, 0 }, { 0, 0 } };
    struct sigaction act = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };

    nvtx_lite_initialize(NULL); /* NVTX itself does not bear a signal while it loads its tool */
    sigaction(SIGALRM, &act, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < 300000; i++) {
        CHECK(nvtx_lite_push("main") == 0);
        CHECK(nvtx_lite_pop() == 0);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    return 0;
}

static int keeps_errno(void)
{
    for (int i = 0; i < 300000; i++) { /* more than one buffer */
        errno = 77;
        nvtx_lite_push("e");
        CHECK(errno == 77);
        nvtx_lite_pop();
        CHECK(errno == 77);
    }
    return 0;
}

/* SIGXFSZ would end the program. */
static int file_limit(void)
{
    struct rlimit limit = { 65536, 65536 };

    setrlimit(RLIMIT_FSIZE, &limit);
    for (int i = 0; i < 200000; i++) {
        nvtx_lite_push("e");
        nvtx_lite_pop();
    }
    return 0;
}

const struct scenario guest_scenarios[] = {
    { "close_all", close_all },   { "signals", signals }, { "keeps_errno", keeps_errno },
    { "file_limit", file_limit }, { NULL, NULL },
};
