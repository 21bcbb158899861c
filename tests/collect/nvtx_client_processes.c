/* SPDX-License-Identifier: Apache-2.0 */
/* Scenarios of a process and its end: fork, exec, exit, and death. */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nvtx_client.h"

static int wait_for(pid_t pid)
{
    int status = 0;

    CHECK(waitpid(pid, &status, 0) == pid);
    return status;
}

/* As a data loader does: workers by fork, ended by _exit. */
static int forks(void)
{
    nvtx_lite_push("epoch");
    for (int i = 0; i < 3; i++) {
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
            CHECK(nvtx_lite_push("load") == 1);
            nap_ms(2);
            nvtx_lite_pop();
            _exit(0);
        }
        CHECK(wait_for(pid) == 0);
    }
    nvtx_lite_pop();
    if (fork() == 0)
        _exit(0); /* a child that records nothing leaves no file */
    wait(NULL);
    return 0;
}

/* Workers that are done before any flush would come, with names that only they have. */
static int bursts(void)
{
    nvtx_lite_push("epoch");
    nvtx_lite_pop();
    for (int i = 0; i < 3; i++) {
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
            for (int n = 0; n < 4000; n++) {
                char name[32];

                snprintf(name, sizeof name, "sample %d", n & 1023);
                nvtx_lite_push("load");
                nvtx_lite_push(name);
                nvtx_lite_pop();
                nvtx_lite_pop();
            }
            _exit(0);
        }
        CHECK(wait_for(pid) == 0);
    }
    return 0;
}

/* Threads that are killed in the middle of it. How many ranges each had ended is printed: all of
 * them, and at most the one that followed, are in the trace. */
enum { BUSY = 4 };

static struct busy {
    uint64_t ended;
    uint64_t apart[15];
} * busy;

static void *count_ranges(void *arg)
{
    struct busy *b = arg;
    char name[32];

    for (uint64_t n = 0;; n++) {
        snprintf(name, sizeof name, "thread %d", (int)(b - busy));
        nvtx_lite_push(name);
        if (n % 64 == 0) {
            snprintf(name, sizeof name, "%d.%d", (int)(b - busy), (int)(n / 64 % 8192));
            nvtx_lite_push(name);
            nvtx_lite_pop();
        }
        nvtx_lite_pop();
        __atomic_store_n(&b->ended, n + 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

static int killed_busy(void)
{
    pthread_t t[BUSY];
    pid_t pid;

    busy = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(busy != MAP_FAILED);
    nvtx_lite_push("parent");
    nvtx_lite_pop();
    pid = fork();
    if (pid == 0) {
        for (int i = 0; i < BUSY; i++)
            CHECK(pthread_create(&t[i], NULL, count_ranges, &busy[i]) == 0);
        pause();
    }
    nap_ms(50 + (getpid() & 31));
    kill(pid, SIGKILL);
    wait_for(pid);
    for (int i = 0; i < BUSY; i++)
        printf("%llu ", (unsigned long long)busy[i].ended);
    return 0;
}

/* Whether the collector's thread that listens has come as far as its own code. */
static bool listens(void)
{
    DIR *tasks = opendir("/proc/self/task");
    bool found = false;

    for (struct dirent *e; tasks && !found && (e = readdir(tasks));) {
        char path[300], name[32] = "";
        FILE *f;

        snprintf(path, sizeof path, "/proc/self/task/%s/comm", e->d_name);
        f = fopen(path, "r");
        found = f && fgets(name, sizeof name, f) && strcmp(name, "lpo-control\n") == 0;
        if (f)
            fclose(f);
    }
    if (tasks)
        closedir(tasks);
    return found;
}

/* As a server does that makes ready first and then forks a worker: a call of "decode" for each line
 * that comes in. The worker ends by _exit. */
static int prefork(void)
{
    char line[64];
    pid_t pid;

    nvtx_lite_push("ready");
    nvtx_lite_pop();
    /* A thread that begins holds locks of ASan, which a child made just then would never get. */
    for (int i = 0; i < 500 && !listens(); i++)
        nap_ms(10);
    pid = fork();
    CHECK(pid >= 0);
    if (pid > 0)
        return wait_for(pid) != 0;
    nvtx_lite_push("begin");
    nvtx_lite_pop();
    printf("ready\n");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        nvtx_lite_push("decode");
        nvtx_lite_pop();
        printf("done\n");
        fflush(stdout);
    }
    _exit(0);
}

static int execs(void)
{
    char *argv[] = { program_invocation_name, (char *)(uintptr_t) "plain", NULL };
    pid_t pid;

    nvtx_lite_push("before");
    nvtx_lite_pop();
    pid = fork();
    if (pid == 0) {
        execv(program_invocation_name, argv);
        _exit(9);
    }
    CHECK(wait_for(pid) == 0);
    nap_ms(120); /* older than the flush period: the next event writes the buffer */
    nvtx_lite_push("after");
    execv(program_invocation_name, argv); /* the same pid again: its file must not be taken */
    return 9;
}

/* Many threads record while another forks: no lock may stay behind in a child. */
static int stop;

static void *pusher(void *arg)
{
    char name[32];

    (void)arg;
    for (int i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
        snprintf(name, sizeof name, "n%d", i % 100000); /* new names take the lock */
        nvtx_lite_push(name);
        nvtx_lite_pop();
        if (i % 64 == 0)
            nap_ms(1);
    }
    return NULL;
}

static int fork_storm(void)
{
    pthread_t t[4];

    nvtx_lite_initialize(NULL); /* NVTX itself does not bear a fork while it loads its tool */
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&t[i], NULL, pusher, NULL) == 0);
    for (int i = 0; i < 50; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            alarm(60);
            nvtx_lite_push("child");
            nvtx_lite_push("a name only the child has");
            nvtx_lite_pop();
            nvtx_lite_pop();
            exit(0);
        }
        CHECK(wait_for(pid) == 0);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    return 0;
}

/* The program ends while its threads still record: all that was committed is written. */
static int exit_busy(void)
{
    pthread_t t[4];

    nvtx_lite_push("main");
    nvtx_lite_pop();
    for (int i = 0; i < 4; i++) {
        CHECK(pthread_create(&t[i], NULL, pusher, NULL) == 0);
        pthread_detach(t[i]);
    }
    nap_ms(50);
    return 0;
}

static int die(void (*how)(void))
{
    nvtx_lite_push("kept");
    nvtx_lite_pop();
    nap_ms(120);
    nvtx_lite_push("kept too"); /* writes what came before */
    nvtx_lite_pop();
    how();
    return 9;
}

static void by_kill(void)
{
    kill(getpid(), SIGKILL);
}

static void by_exit_now(void)
{
    _exit(3);
}

static int killed(void)
{
    return die(by_kill);
}

static int aborted(void)
{
    struct rlimit none = { 0, 0 };

    setrlimit(RLIMIT_CORE, &none);
    return die(abort);
}

static int exits_now(void)
{
    return die(by_exit_now);
}

static int exit_code(void)
{
    nvtx_lite_push("a");
    nvtx_lite_pop();
    return 42;
}

const struct scenario process_scenarios[] = {
    { "prefork", prefork },         { "forks", forks },         { "bursts", bursts },
    { "killed_busy", killed_busy }, { "execs", execs },         { "fork_storm", fork_storm },
    { "exit_busy", exit_busy },     { "killed", killed },       { "aborted", aborted },
    { "exits_now", exits_now },     { "exit_code", exit_code }, { NULL, NULL },
};
