/* A program that makes NVTX calls, one scenario per run, for test_collect.c to trace.
 *
 * It checks what NVTX gives back to it and exits 1 when that is wrong. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../workloads/nvtx_lite.h"

#define CHECK(x)                                                                                   \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x);                                \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static const char *self; /* argv[0] */

static void nap_ms(long ms)
{
    struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

    nanosleep(&t, NULL);
}

static int plain(void)
{
    CHECK(nvtx_lite_push("decode") == 0);
    for (int i = 0; i < 3; i++) {
        CHECK(nvtx_lite_push("step") == 1);
        CHECK(nvtx_lite_push("attn") == 2);
        CHECK(nvtx_lite_pop() == 2);
        CHECK(nvtx_lite_push("mlp") == 2);
        CHECK(nvtx_lite_pop() == 2);
        CHECK(nvtx_lite_pop() == 1);
    }
    CHECK(nvtx_lite_pop() == 0);
    return 0;
}

/* Every function of both tables, every kind of text, number and domain. */
static int every(void)
{
    struct nvtx_lite_attributes a = nvtx_lite_text("ex");
    struct nvtx_lite_resource_attributes r = {
        .version = 3, .size = sizeof r, .identifier_type = 0x10003, .message_type = NVTX_LITE_ASCII
    };
    nvtx_lite_dom d, same, wide;
    struct nvtx_lite_string *s;
    uint64_t ids[4];
    char text[] = "changes";

    nvtx_lite_initialize(NULL);
    nvtx_lite_name_thread((uint32_t)syscall(SYS_gettid), "renamed");
    nvtx_lite_name_thread_w(1, L"someone");
    nvtx_lite_name_category(7, "cat");
    nvtx_lite_name_category_w(8, L"cat");
    nvtx_lite_mark("m");
    nvtx_lite_mark_w(L"m");
    nvtx_lite_mark_ex(&a);
    CHECK(nvtx_lite_push(text) == 0);
    memcpy(text, "CHANGED", 7); /* the tool must have copied it */
    CHECK(nvtx_lite_push_w(L"w\u00e9\u20ac\U0001f600") == 1);
    a.category = 7;
    a.color_type = 1;
    a.color = 0xff00ff00;
    for (int type = NVTX_LITE_U64; type <= NVTX_LITE_F32; type++) {
        a.payload_type = type;
        a.payload.u64 = 42;
        CHECK(nvtx_lite_push_ex(&a) == 2);
        CHECK(nvtx_lite_pop() == 2);
    }
    CHECK(nvtx_lite_pop() == 1);
    CHECK(nvtx_lite_pop() == 0);
    ids[0] = nvtx_lite_start("s1");
    ids[1] = nvtx_lite_start_w(L"s2");
    ids[2] = nvtx_lite_start_ex(&a);
    d = nvtx_lite_domain_create("dom");
    same = nvtx_lite_domain_create("dom");
    wide = nvtx_lite_domain_create_w(L"d\u00f6m");
    CHECK(d && same == d && wide && wide != d);
    s = nvtx_lite_domain_register(d, "registered");
    CHECK(s && nvtx_lite_domain_register_w(d, L"registered") == s);
    a.message_type = NVTX_LITE_REGISTERED;
    a.message.registered = s;
    CHECK(nvtx_lite_domain_push_ex(d, &a) == 0);
    CHECK(nvtx_lite_domain_push_ex(wide, &a) == 0); /* each domain has its own stack */
    CHECK(nvtx_lite_domain_pop(d) == 0);
    CHECK(nvtx_lite_domain_pop(wide) == 0);
    ids[3] = nvtx_lite_domain_start_ex(d, &a);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < i; k++)
            CHECK(ids[i] != ids[k]);
    nvtx_lite_domain_end(d, ids[3]);
    nvtx_lite_end(ids[1]);
    nvtx_lite_end(ids[0]);
    nvtx_lite_end(ids[2]);
    nvtx_lite_domain_mark_ex(d, &a);
    nvtx_lite_domain_name_category(d, 1, "c");
    nvtx_lite_domain_name_category_w(d, 2, L"c");
    r.identifier = 1;
    r.message.ascii = "by resource";
    nvtx_lite_domain_resource_destroy(nvtx_lite_domain_resource_create(d, &r));
    nvtx_lite_domain_destroy(d);
    return 0;
}

static int wrong(void)
{
    struct nvtx_lite_attributes a = nvtx_lite_text("small");
    int not_ours = 0;

    CHECK(nvtx_lite_pop() < 0);
    CHECK(nvtx_lite_push(NULL) == 0);
    CHECK(nvtx_lite_push_ex(NULL) == 1);
    a.size = 8; /* an older caller: the text is beyond what it has */
    CHECK(nvtx_lite_push_ex(&a) == 2);
    a.size = sizeof a;
    a.message_type = NVTX_LITE_REGISTERED;
    a.message.registered = (struct nvtx_lite_string *)&not_ours;
    CHECK(nvtx_lite_push_ex(&a) == 3);
    a.message_type = 99;
    CHECK(nvtx_lite_push_ex(&a) == 4);
    for (int i = 4; i >= 0; i--)
        CHECK(nvtx_lite_pop() == i);
    CHECK(nvtx_lite_pop() < 0);
    nvtx_lite_end(12345);
    nvtx_lite_end(nvtx_lite_start("twice"));
    nvtx_lite_end(1);
    nvtx_lite_start("never ended");
    nvtx_lite_push("left");
    nvtx_lite_push("open");
    return 0;
}

static int deep(void)
{
    for (int i = 0; i < 5000; i++)
        CHECK(nvtx_lite_push(i % 2 ? "odd" : "even") == i);
    for (int i = 4999; i >= 0; i--)
        CHECK(nvtx_lite_pop() == i);
    return 0;
}

static void *worker(void *arg)
{
    int rounds = *(int *)arg;

    pthread_setname_np(pthread_self(), "worker");
    for (int i = 0; i < rounds; i++) {
        nvtx_lite_push("outer");
        nvtx_lite_push(i % 2 ? "odd" : "even");
        nvtx_lite_pop();
        nvtx_lite_pop();
    }
    return NULL;
}

static int threads(void)
{
    pthread_t t[8];
    int rounds = 10000;

    for (int i = 0; i < 8; i++)
        CHECK(pthread_create(&t[i], NULL, worker, &rounds) == 0);
    for (int i = 0; i < 8; i++)
        pthread_join(t[i], NULL);
    return 0;
}

static int many_threads(void)
{
    int rounds = 2;

    for (int i = 0; i < 200; i++) {
        pthread_t t[4];
        for (int k = 0; k < 4; k++)
            CHECK(pthread_create(&t[k], NULL, worker, &rounds) == 0);
        for (int k = 0; k < 4; k++)
            pthread_join(t[k], NULL);
    }
    return 0;
}

/* A range that starts in one thread and ends in another. */
static void *ender(void *id)
{
    nvtx_lite_end(*(uint64_t *)id);
    return NULL;
}

static int across(void)
{
    uint64_t id = nvtx_lite_start("job");
    pthread_t t;

    CHECK(pthread_create(&t, NULL, ender, &id) == 0);
    pthread_join(t, NULL);
    return 0;
}

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

static int execs(void)
{
    char *argv[] = { (char *)(uintptr_t)self, (char *)(uintptr_t) "plain", NULL };
    pid_t pid;

    nvtx_lite_push("before");
    nvtx_lite_pop();
    pid = fork();
    if (pid == 0) {
        execv(self, argv);
        _exit(9);
    }
    CHECK(wait_for(pid) == 0);
    nap_ms(120); /* older than the flush period: the next event writes the buffer */
    nvtx_lite_push("after");
    execv(self, argv); /* the same pid again: its file must not be taken */
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

static int pushes(void)
{
    for (int i = 0; i < 10000000; i++) {
        nvtx_lite_push(i & 1 ? "odd" : "even");
        nvtx_lite_pop();
    }
    return 0;
}

/* More names than the table holds: the rest stands in the events. */
static int many_names(void)
{
    char name[64];

    for (int i = 0; i < 1100000; i++) {
        snprintf(name, sizeof name, "request number %d of very many", i);
        CHECK(nvtx_lite_push(name) == 0);
        nvtx_lite_pop();
    }
    return 0;
}

static int long_names(void)
{
    char name[10001];

    memset(name, 'x', sizeof name);
    name[10000] = 0;
    nvtx_lite_push(name);
    nvtx_lite_pop();
    name[4096] = 0;
    nvtx_lite_push(name);
    nvtx_lite_pop();
    nvtx_lite_push("");
    nvtx_lite_pop();
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

static int off(void)
{
    CHECK(nvtx_lite_push("a") == -2);
    CHECK(nvtx_lite_pop() == -2);
    CHECK(nvtx_lite_start("a") == 0);
    CHECK(nvtx_lite_domain_create("a") == NULL);
    return 0;
}

/* A second copy of NVTX, in a library loaded by the program. */
static int two_copies(void)
{
    char path[4096];
    void (*second)(void) = NULL;
    char *slash;
    void *lib;

    snprintf(path, sizeof path, "%s", self);
    slash = strrchr(path, '/');
    CHECK(slash);
    snprintf(slash, sizeof path - (size_t)(slash - path), "/libnvtx_second.so");
    lib = dlopen(path, RTLD_NOW);
    CHECK(lib);
    *(void **)&second = dlsym(lib, "second_copy");
    CHECK(second);
    nvtx_lite_push("program");
    second();
    nvtx_lite_pop();
    return 0;
}

/* The collector's own thread state must be made anew after its destructor ran. */
static pthread_key_t late_key;

static void late(void *arg)
{
    (void)arg;
    nvtx_lite_push("late");
    nvtx_lite_pop();
}

static void *with_destructor(void *arg)
{
    pthread_setname_np(pthread_self(), "worker");
    pthread_setspecific(late_key, arg);
    nvtx_lite_push("early");
    nvtx_lite_pop();
    return NULL;
}

static int destructors(void)
{
    pthread_t t;

    nvtx_lite_push("first");
    nvtx_lite_pop();
    pthread_key_create(&late_key, late);
    CHECK(pthread_create(&t, NULL, with_destructor, &late_key) == 0);
    pthread_join(t, NULL);
    return 0;
}

static const struct {
    const char *name;
    int (*run)(void);
} scenarios[] = {
    { "plain", plain },           { "every", every },
    { "wrong", wrong },           { "deep", deep },
    { "threads", threads },       { "many_threads", many_threads },
    { "across", across },         { "forks", forks },
    { "execs", execs },           { "fork_storm", fork_storm },
    { "killed", killed },         { "aborted", aborted },
    { "exits_now", exits_now },   { "exit_code", exit_code },
    { "close_all", close_all },   { "signals", signals },
    { "pushes", pushes },         { "many_names", many_names },
    { "long_names", long_names }, { "keeps_errno", keeps_errno },
    { "file_limit", file_limit }, { "off", off },
    { "two_copies", two_copies }, { "destructors", destructors },
    { "exit_busy", exit_busy },
};

int main(int argc, char **argv)
{
    self = argv[0];
    for (size_t i = 0; argc > 1 && i < sizeof scenarios / sizeof *scenarios; i++)
        if (strcmp(argv[1], scenarios[i].name) == 0)
            return scenarios[i].run();
    fprintf(stderr, "no scenario '%s'\n", argc > 1 ? argv[1] : "");
    return 2;
}
