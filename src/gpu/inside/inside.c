/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu/inside/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gpu/sampler/sampler.h"

#define EXPORT __attribute__((visibility("default")))

enum { MAX_GPUS = 16, MAX_WORDS = 256, STOP_SECONDS = 5, PERIOD_MS = 20 };

struct guest {
    int stop[2];                         /* a byte in it: stop */
    int over[2];                         /* its other end is closed: the thread has written all */
    char *words;                         /* of this GPU, changed while they are read */
    struct lpo_sampler_session *session; /* after the end */
};

/* What a library that others load has to keep between two calls. */
static struct {
    struct guest at[MAX_GPUS];
    size_t len;
    pid_t pid; /* a forked child has the variables and not the threads */
} inside;

EXPORT int lpo_inside_start(void);
EXPORT void lpo_inside_stop(void);

/* In place of the program's own, which ends the process: only this thread may suffer. */
void lpo_xmalloc_failed(size_t size)
{
    (void)size;
    for (;;)
        pause();
}

static const struct {
    const char *flag;
    size_t at;
    int64_t unit;
} numbers[] = {
    { "--interval-ns", offsetof(struct lpo_sampler_options, ask.interval_ns), 1 },
    { "--least-ns", offsetof(struct lpo_sampler_options, ask.least_ns), 1 },
    { "--core-millionths", offsetof(struct lpo_sampler_options, ask.core_millionths), 1 },
    { "--period-ms", offsetof(struct lpo_sampler_options, ask.period_ns), 1000000 },
    { "--max-mb", offsetof(struct lpo_sampler_options, max_bytes), 1000000 },
};

static void take_number(struct lpo_sampler_options *o, const char *flag, const char *value)
{
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(numbers[i].flag, flag) == 0) {
            int64_t n = (int64_t)strtoll(value, NULL, 10) * numbers[i].unit;

            memcpy((char *)o + numbers[i].at, &n, sizeof n);
        }
}

/* lpo wrote them: what it did not write is passed over. */
static void read_words(char *words, struct lpo_sampler_options *o, const char **metrics)
{
    char *next = NULL;

    for (char *flag = strtok_r(words, "\n", &next); flag; flag = strtok_r(NULL, "\n", &next)) {
        char *value = strtok_r(NULL, "\n", &next);

        if (!value)
            return;
        if (strcmp(flag, "--out") == 0)
            o->path = value;
        else if (strcmp(flag, "--beside") == 0)
            o->beside = value;
        else if (strcmp(flag, "--device") == 0)
            o->ask.device = atoi(value);
        else if (strcmp(flag, "--metric") == 0 && o->ask.nmetrics < MAX_WORDS)
            metrics[o->ask.nmetrics++] = value;
        else
            take_number(o, flag, value);
    }
}

static void say_ready(void *ctx, const struct lpo_sampler_gpu *gpu)
{
    lpo_sampler_say_ready(ctx, gpu);
}

/* A second process of the program finds the GPU taken, or comes later: the first one's file stays.
 */
static FILE *open_said(struct lpo_arena *a, const char *path)
{
    int fd =
        open(lpo_arena_printf(a, "%s.said", path), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

    return fd < 0 ? NULL : fdopen(fd, "w");
}

static void sample(struct guest *g)
{
    const char *metrics[MAX_WORDS];
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_sampler_options o = {
        .ask = { .period_ns = (int64_t)PERIOD_MS * 1000000, .metrics = metrics },
        .version = LPO_VERSION,
        .beside = "",
        .stop_fd = g->stop[0],
        .signal_fd = -1,
        .left = &g->session,
        .ready = say_ready,
    };
    struct lpo_sampler_result r;
    struct lpo_err err = { 0 };
    FILE *said;

    read_words(g->words, &o, metrics);
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 5); /* of this thread alone */
    said = o.path ? open_said(a, o.path) : NULL;
    if (!said)
        return;
    o.ctx = said;
    if (lpo_sampler_run(a, &o, &r, &err) < 0)
        fprintf(said, "failed: %s\n", lpo_err_cause(&err));
    else
        lpo_sampler_say_result(said, &r);
    fclose(said);
}

static void *run_thread(void *guest)
{
    sample(guest);
    close(((struct guest *)guest)->over[1]);
    return NULL;
}

static bool start_one(struct guest *g, const char *words, size_t len)
{
    pthread_t thread;

    g->words = calloc(1, len + 1);
    if (!g->words)
        return false;
    memcpy(g->words, words, len);
    if (pipe2(g->stop, O_CLOEXEC) < 0 || pipe2(g->over, O_CLOEXEC) < 0)
        return false;
    if (pthread_create(&thread, NULL, run_thread, g) != 0)
        return false;
    pthread_detach(thread);
    return true;
}

int lpo_inside_start(void)
{
    const char *at = getenv("LPO_SAMPLE");
    sigset_t all, before;

    if (!at || inside.pid)
        return -1;
    inside.pid = getpid();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the program's */
    while (*at && inside.len < MAX_GPUS) {
        const char *end = strstr(at, "\n\n");
        size_t len = end ? (size_t)(end - at) : strlen(at);

        if (!start_one(&inside.at[inside.len], at, len))
            break;
        inside.len++;
        at += end ? len + 2 : len;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return 0;
}

void lpo_inside_stop(void)
{
    if (inside.pid != getpid())
        return;
    for (size_t i = 0; i < inside.len; i++)
        while (write(inside.at[i].stop[1], "x", 1) < 0 && errno == EINTR)
            ;
    for (size_t i = 0; i < inside.len; i++)
        poll(&(struct pollfd){ .fd = inside.at[i].over[0], .events = POLLIN }, 1,
             STOP_SECONDS * 1000);
    inside.len = 0;
}
