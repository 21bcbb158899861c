/* SPDX-License-Identifier: Apache-2.0 */
#include "util/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "util/budget.h"
#include "util/file.h"

enum { BLOCK = 256 * 1024, LOOK_MS = 50, TELL_SECONDS = 2 };

struct lpo_spool {
    int fd;     /* holds the lock that keeps other processes from sweeping the file */
    char *path; /* of the copy; it keeps its name because SQLite opens files by name */
};

bool lpo_spool_needed(const char *path)
{
    struct stat st;

    if (strcmp(path, "-") == 0)
        return true;
    return stat(path, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
}

static double now_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* What is being read. */
struct source {
    const char *path;
    int fd;
    bool ours;   /* opened here: it never blocks */
    bool any;    /* something came */
    bool nobody; /* a FIFO that nobody has opened for writing yet */
    bool told;   /* on_wait was called */
};

static void (*on_wait)(const char *path, double limit_seconds);

void lpo_spool_on_wait(void (*tell)(const char *path, double limit_seconds))
{
    on_wait = tell;
}

static int waited(struct source *s, double seconds, struct lpo_err *err)
{
    const struct lpo_budget *b = lpo_budget();
    double limit = s->nobody ? b->open_seconds : b->wait_seconds;

    if (seconds > TELL_SECONDS && on_wait && !s->told) {
        s->told = true;
        on_wait(s->path, limit);
    }
    if (seconds <= limit)
        return 0;
    return lpo_fail(err, LPO_E_LIMIT,
                    "stopped after %.0f s in which nothing came%s (" LPO_BUDGET_HINT ")", limit,
                    s->nobody ? ": nobody has opened it for writing" : "");
}

/* Bytes read; 0 at the end; negative: an error. */
static ssize_t read_some(struct source *s, char *block, struct lpo_err *err)
{
    const double began = now_seconds();

    for (;;) {
        struct pollfd p = { .fd = s->fd, .events = POLLIN };
        ssize_t n = 0;
        int rc;

        if (poll(&p, 1, LOOK_MS) < 0 && errno != EINTR)
            return lpo_fail_errno(err, "cannot wait for it");
        if (p.revents || s->ours) {
            n = read(s->fd, block, BLOCK);
            if (n > 0)
                return n;
            if (n < 0 && errno != EAGAIN && errno != EINTR)
                return lpo_fail_errno(err, "cannot read it");
            /* the end; poll() reports nothing at all for a FIFO that had no writer yet, and a read
             * finds an end where a silent writer makes it say EAGAIN */
            if (n == 0 && (s->any || p.revents))
                return 0;
            s->nobody = n == 0;
        }
        rc = waited(s, now_seconds() - began, err);
        if (rc < 0)
            return rc;
    }
}

static int copy_all(struct source *s, int to, struct lpo_err *err)
{
    LPO_FREED char *block = lpo_xmalloc(BLOCK);
    uint64_t total = 0;
    ssize_t n;
    int rc = 0;

    while (rc == 0 && (n = read_some(s, block, err)) != 0) {
        if (n < 0) {
            rc = (int)n;
            break;
        }
        s->any = true;
        total += (uint64_t)n;
        if (total > lpo_budget()->pipe_bytes)
            rc = lpo_fail(err, LPO_E_LIMIT, "stopped after %llu GB (" LPO_BUDGET_HINT ")",
                          (unsigned long long)(lpo_budget()->pipe_bytes >> 30));
        else
            rc = lpo_file_scratch_write(to, block, (size_t)n, err);
    }
    return rc;
}

static int open_source(const char *path, struct lpo_err *err)
{
    int fd;

    if (strcmp(path, "-") == 0) /* its flags are shared with whoever started us: left alone */
        fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    else
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    return fd < 0 ? lpo_fail_errno(err, "cannot open it") : fd;
}

int lpo_spool_create(const char *path, struct lpo_spool **out, struct lpo_err *err)
{
    struct lpo_spool *s = lpo_xcalloc(1, sizeof *s);
    struct source source = { .path = path,
                             .fd = open_source(path, err),
                             .ours = strcmp(path, "-") != 0 };
    int rc, from = source.fd;

    s->fd = from < 0 ? -1 : lpo_file_scratch("pipe", &s->path, err);
    rc = s->fd < 0 ? LPO_E_IO : copy_all(&source, s->fd, err);
    if (from >= 0)
        close(from);
    if (rc < 0) {
        lpo_spool_destroy(s);
        return lpo_ctx(err, "cannot read %s%s%s", strcmp(path, "-") == 0 ? "" : "the pipe '",
                       strcmp(path, "-") == 0 ? "standard input" : path,
                       strcmp(path, "-") == 0 ? "" : "'");
    }
    *out = s;
    return 0;
}

const char *lpo_spool_path(const struct lpo_spool *s)
{
    return s->path;
}

void lpo_spool_destroy(struct lpo_spool *s)
{
    if (!s)
        return;
    if (s->path)
        unlink(s->path);
    if (s->fd >= 0)
        close(s->fd);
    free(s->path);
    free(s);
}
