/* SPDX-License-Identifier: Apache-2.0 */
/* Scenarios of programs that do what a guest least expects: calls in signal handlers at the worst
 * moment, cancelled threads, small stacks, vfork, jumps, a clock that is set, a full
 * disk, another user. Each is a promise of docs/collector.md, "What a program may do". */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../sanitized.h"
#include "nvtx_client.h"
#include "nvtx_client_hooks.h"

enum { FLUSH_MS = 120, WATCH_S = 40, WATCH_CODE = 97 };

/* A program that hangs ends with a code of its own, soon. */
static void *watchdog(void *arg)
{
    (void)arg;
    nap_ms(WATCH_S * 1000);
    _exit(WATCH_CODE);
}

static void watch(void)
{
    sigset_t all, old;
    pthread_t t;

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old); /* signals are for the other threads */
    CHECK(pthread_create(&t, NULL, watchdog, NULL) == 0);
    pthread_detach(t);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void range(const char *name)
{
    nvtx_lite_push(name);
    nvtx_lite_pop();
}

/* A name that the collector has not seen, so that the call takes its lock. */
static void fresh_range(const char *prefix)
{
    static int count;
    char name[48];

    snprintf(name, sizeof name, "%s %d", prefix, __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED));
    range(name);
}

static void on_signal(int sig)
{
    (void)sig;
    fresh_range("handler");
    range("handler");
}

static void handle(int sig, void (*handler)(int), int flags)
{
    struct sigaction act = { .sa_handler = handler, .sa_flags = flags };

    CHECK(sigaction(sig, &act, NULL) == 0);
}

static void timer_us(long us)
{
    struct itimerval often = { { 0, us }, { 0, us } };

    CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
}

/* The fork handlers of a program that is older than its guest run while the guest's locks are
 * held. */
static void in_fork(void)
{
    raise(SIGUSR1);
    fresh_range("fork handler");
}

static int signal_in_fork(void)
{
    watch();
    handle(SIGUSR1, on_signal, 0);
    CHECK(pthread_atfork(in_fork, NULL, NULL) == 0);
    nvtx_lite_initialize(NULL);
    for (int i = 0; i < 3; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            range("child");
            exit(0);
        }
        CHECK(waitpid(pid, NULL, 0) == pid);
        range("parent");
    }
    return 0;
}

static int signal_in_exit(void)
{
    watch();
    handle(SIGUSR1, on_signal, 0);
    fresh_range("main");
    hook_signal_in_write = SIGUSR1; /* the next write is the one at exit */
    exit(5);
}

/* fork in a handler that interrupted the collector: both processes go on where it was. */
enum { FORKS = 20 };
static volatile sig_atomic_t forked, in_child;

static void on_fork(int sig)
{
    pid_t pid;

    (void)sig;
    if (in_child || forked >= FORKS)
        return;
    pid = fork();
    in_child = pid == 0;
    forked++;
    if (pid > 0)
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
}

static int fork_in_signal(void)
{
    watch();
    nvtx_lite_initialize(NULL);
    handle(SIGALRM, on_fork, SA_RESTART);
    timer_us(500);
    while (forked < FORKS && !in_child)
        range("loop");
    timer_us(0);
    for (int i = 0; i < 100; i++)
        range(in_child ? "child" : "parent");
    exit(0);
}

static void *cancelled(void *arg)
{
    (void)arg;
    pthread_cancel(pthread_self()); /* takes effect at the first cancellation point */
    range("cancelled");
    pthread_testcancel();
    return NULL;
}

static int cancel(void)
{
    pthread_t t;
    void *result = NULL;

    watch();
    CHECK(pthread_create(&t, NULL, cancelled, NULL) == 0);
    CHECK(pthread_join(t, &result) == 0);
    CHECK(result == PTHREAD_CANCELED);
    range("main"); /* whatever the thread held would be held for ever */
    nap_ms(FLUSH_MS);
    range("main");
    return 0;
}

static void *small(void *arg)
{
    (void)arg;
    range("small");
    nvtx_lite_push_w(L"wide");
    nvtx_lite_pop();
    nap_ms(FLUSH_MS);
    range("small"); /* writes the buffer */
    return NULL;
}

/* Threads of libc have one page of guard: a large frame steps over it. */
static void run_small(size_t stack)
{
    size_t nothing = 256 << 10;
    pthread_attr_t attr;
    pthread_t t;
    char *at;

    stack = SANITIZED ? stack * 8 : stack; /* frames are several times as large */
    at = mmap(NULL, nothing + stack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED && mprotect(at, nothing, PROT_NONE) == 0);
    CHECK(pthread_attr_init(&attr) == 0);
    CHECK(pthread_attr_setstack(&attr, at + nothing, stack) == 0);
    CHECK(pthread_create(&t, &attr, small, NULL) == 0);
    CHECK(pthread_join(t, NULL) == 0);
}

static int small_stack_first(void)
{
    run_small(32 << 10); /* the tool itself is loaded here */
    return 0;
}

static int small_stack(void)
{
    nvtx_lite_initialize(NULL);
    run_small(16 << 10); /* PTHREAD_STACK_MIN */
    return 0;
}

/* The first call of a thread, and of a forked process, on the stack of a signal handler. Below it
 * is nothing that could be touched. */
static void use_small_altstack(void)
{
    size_t least = (size_t)sysconf(_SC_MINSIGSTKSZ) + 4096, nothing = 256 << 10, size;
    stack_t alt = { 0 };
    char *at;

    size = ((SANITIZED ? 16 * least : least) + 4095) & ~(size_t)4095;
    at = mmap(NULL, nothing + size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED && mprotect(at, nothing, PROT_NONE) == 0);
    alt.ss_sp = at + nothing;
    alt.ss_size = size;
    CHECK(sigaltstack(&alt, NULL) == 0);
    handle(SIGUSR1, on_signal, SA_ONSTACK);
    raise(SIGUSR1);
}

static void *on_altstack(void *arg)
{
    (void)arg;
    use_small_altstack();
    return NULL;
}

static int small_altstack(void)
{
    int status = 0;
    pthread_t t;
    pid_t pid;

    nvtx_lite_initialize(NULL);
    CHECK(pthread_create(&t, NULL, on_altstack, NULL) == 0);
    CHECK(pthread_join(t, NULL) == 0);
    pid = fork();
    if (pid == 0) {
        use_small_altstack();
        exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    return 0;
}

/* The child shares its parent's memory: its ranges are the parent's. */
static int vforks(void)
{
    volatile int i;
    pid_t pid;

    range("before");
    pid = vfork();
    if (pid == 0) {
        for (i = 0; i < 2; i++) {
            nvtx_lite_push("child");
            nvtx_lite_pop();
            nap_ms(FLUSH_MS); /* the second one writes the buffer */
        }
        _exit(0);
    }
    CHECK(waitpid(pid, NULL, 0) == pid);
    nap_ms(FLUSH_MS);
    for (i = 0; i < 1000; i++)
        range("after");
    return 0;
}

/* A copy of the process that libc does not see. */
static int raw_fork(void)
{
    long pid;

    range("before");
    pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) {
        for (int i = 0; i < 2; i++) {
            range("copy");
            nap_ms(FLUSH_MS);
        }
        _exit(0);
    }
    CHECK(waitpid((pid_t)pid, NULL, 0) == pid);
    for (int i = 0; i < 1000; i++)
        range("after");
    return 0;
}

/* A handler that never returns to the call that it interrupted. */
static sigjmp_buf out;
static volatile sig_atomic_t jumps;

static void on_jump(int sig)
{
    (void)sig;
    jumps++;
    siglongjmp(out, 1);
}

static __attribute__((noinline)) int deeper(int depth)
{
    char room[256];

    memset(room, depth, sizeof room);
    __asm__ volatile("" : : "r"(room) : "memory");
    if (depth)
        return deeper(depth - 1) + room[3];
    for (int i = 0; i < 1000; i++)
        range("deep");
    return room[0];
}

static __attribute__((noinline)) void range_deep_down(int depth)
{
    volatile char room[256];

    room[depth & 255] = 0;
    if (depth)
        range_deep_down(depth - 1);
    else
        range("loop");
    CHECK(room[depth & 255] == 0);
}

static int jump(void)
{
    volatile int shallow = 0;

    watch();
    nvtx_lite_initialize(NULL);
    handle(SIGALRM, on_jump, SA_NODEFER);
    timer_us(200);
    sigsetjmp(out, 1);
    while (jumps < 1000)
        if (shallow ^= 1)
            range("loop");
        else
            range_deep_down(3);
    timer_us(0);
    for (int i = 0; i < 1000; i++)
        range("after");
    deeper(8);
    return 0;
}

/* The last jump before the check is out of a call that was made far up the stack. */
static int jump_then_deeper(void)
{
    watch();
    nvtx_lite_initialize(NULL);
    handle(SIGALRM, on_jump, SA_NODEFER);
    timer_us(200);
    sigsetjmp(out, 1);
    while (jumps < 1000)
        range("loop");
    timer_us(0);
    deeper(8);
    return 0;
}

/* 100 ms on, then 1 s back, with ranges open. */
static int clock_steps(void)
{
    nvtx_lite_push("outer");
    nap_ms(FLUSH_MS);
    range("first"); /* each writes the buffer, and so a pair of clocks */
    nvtx_lite_push("forward");
    hook_wall_step_ns = 100000000;
    nap_ms(FLUSH_MS);
    range("second");
    nvtx_lite_pop();
    nvtx_lite_push("back");
    hook_wall_step_ns = -900000000;
    nap_ms(FLUSH_MS);
    range("third");
    nvtx_lite_pop();
    nvtx_lite_pop();
    return 0;
}

static int full_disk(void)
{
    range("first");
    hook_disk_bytes = 100000;
    for (int i = 0; i < 300000; i++)
        range(i & 1 ? "odd" : "even");
    return 0;
}

/* No space for a while, in the middle of two ranges of which one ends meanwhile. */
static int disk_trouble(void)
{
    nvtx_lite_push("outer");
    for (int i = 0; i < 1000; i++)
        range("before");
    nvtx_lite_push("inner");
    nap_ms(FLUSH_MS);
    range("before");       /* its push writes all that was before it */
    hook_disk_bytes = 100; /* a part of a block */
    for (int i = 0; i < 300000; i++)
        range(i & 1 ? "odd" : "even");
    nvtx_lite_pop();
    for (int i = 0; i < 100000; i++)
        range("meanwhile");
    hook_disk_bytes = -1;
    nap_ms(1100); /* it is tried once a second */
    for (int i = 0; i < 100000; i++)
        range("after");
    nvtx_lite_pop();
    return 0;
}

/* A write that fails once, and is tried again when the next is due. */
static int disk_hiccup(void)
{
    range("first");
    nap_ms(FLUSH_MS);
    hook_failing_writes = 1;
    for (int i = 0; i < 100; i++)
        range("second");
    nap_ms(FLUSH_MS);
    for (int i = 0; i < 100; i++)
        range("third");
    return 0;
}

static void *short_thread(void *arg)
{
    (void)arg;
    range("thread");
    return NULL;
}

/* A thread ends while the disk is full: its place waits for it. */
static int disk_thread(void)
{
    pthread_t thread;

    range("first");
    hook_disk_bytes = 0;
    for (int i = 0; i < 10; i++) {
        CHECK(pthread_create(&thread, NULL, short_thread, NULL) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
    }
    hook_disk_bytes = -1;
    return 0;
}

static void *busy_thread(void *arg)
{
    for (int i = 0; i < 20000; i++)
        range(arg);
    return NULL;
}

/* Threads at work while the disk fails again and again. */
static int disk_threads(void)
{
    pthread_t threads[4];

    hook_failing_every = 3;
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, busy_thread, i & 1 ? "odd" : "even") == 0);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    return 0;
}

/* The forked child may not write where its parent writes. */
static int other_user(void)
{
    const char *dir = getenv("LPO_COLLECT_DIR");
    pid_t pid;

    range("before");
    pid = fork();
    if (pid == 0) {
        CHECK(geteuid() == 0 ? setuid(65534) == 0 : chmod(dir, 0500) == 0);
        for (int i = 0; i < 10; i++)
            range("child");
        CHECK(geteuid() == 65534 || chmod(dir, 0700) == 0);
        exit(0);
    }
    CHECK(waitpid(pid, NULL, 0) == pid);
    range("after");
    return 0;
}

const struct scenario victim_scenarios[] = {
    { "signal_in_fork", signal_in_fork },
    { "signal_in_exit", signal_in_exit },
    { "fork_in_signal", fork_in_signal },
    { "cancel", cancel },
    { "small_stack_first", small_stack_first },
    { "small_stack", small_stack },
    { "small_altstack", small_altstack },
    { "vforks", vforks },
    { "raw_fork", raw_fork },
    { "jump", jump },
    { "jump_then_deeper", jump_then_deeper },
    { "clock_steps", clock_steps },
    { "full_disk", full_disk },
    { "disk_trouble", disk_trouble },
    { "disk_hiccup", disk_hiccup },
    { "disk_thread", disk_thread },
    { "disk_threads", disk_threads },
    { "other_user", other_user },
    { NULL, NULL },
};
