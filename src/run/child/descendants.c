/* SPDX-License-Identifier: Apache-2.0 */
#include "run/child/descendants.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "run/clock.h"

enum { QUICK_ROUNDS = 2000 }; /* without a pause: see lpo_run_descendants_kill() */

static const int64_t limit_ns = 2000000000;

/* The parent of `pid` from /proc/<pid>/stat. The name in it may hold anything, blanks and brackets
 * too, so the fields are those behind the last ')'. Returns -1 when the process is gone. */
static pid_t parent_of(pid_t pid)
{
    char path[64], line[1024], state, *p;
    int fd, parent = -1;
    ssize_t n;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    n = read(fd, line, sizeof line - 1);
    close(fd);
    line[n > 0 ? n : 0] = '\0';
    p = strrchr(line, ')');
    if (!p || sscanf(p + 1, " %c %d", &state, &parent) != 2)
        return -1;
    return parent;
}

/* Kills the pids of one /proc/self/task/<tid>/children. A kernel may be built without that file. */
static bool kill_children_of(const char *task)
{
    char path[300], text[4096];
    ssize_t n;
    int fd;

    snprintf(path, sizeof path, "/proc/self/task/%s/children", task);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    /* A page at most in one read; the next round gets the rest. A pid that is cut at the end of the
     * page must not be used: it would be another process. */
    n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n < 0)
        return false;
    text[n] = '\0';
    for (char *p = text; isdigit((unsigned char)*p);) {
        char *end;
        long pid = strtol(p, &end, 10);

        if (*end != ' ')
            break;
        kill((pid_t)pid, SIGKILL);
        p = end + 1;
    }
    return true;
}

static bool kill_by_list(void)
{
    DIR *tasks = opendir("/proc/self/task");
    bool read_one = false;

    if (!tasks)
        return false;
    for (struct dirent *e; (e = readdir(tasks));)
        if (isdigit((unsigned char)e->d_name[0]))
            read_one |= kill_children_of(e->d_name);
    closedir(tasks);
    return read_one;
}

/* The slow way: every process of the machine is asked for its parent. */
static bool kill_by_scan(void)
{
    DIR *proc = opendir("/proc");
    pid_t self = getpid();
    bool saw_self = false; /* a /proc that does not even show us shows nothing */

    if (!proc)
        return false;
    for (struct dirent *e; (e = readdir(proc));) {
        pid_t pid = (pid_t)atoi(e->d_name);

        saw_self |= pid == self;
        if (pid > 0 && parent_of(pid) == self)
            kill(pid, SIGKILL);
    }
    closedir(proc);
    return saw_self;
}

/* Takes every child that has ended. False when there is no child at all any more: the kernel's own
 * answer, right even where /proc cannot be read. */
static bool reap_some(void)
{
    for (;;) {
        pid_t pid = waitpid(-1, NULL, WNOHANG);

        if (pid == 0)
            return true;
        if (pid < 0 && errno != EINTR)
            return false;
    }
}

/* Only direct children are killed. Grandchildren become our children as these die, because we are
 * their reaper, so the next round finds them; process groups would miss those that called setsid().
 * A daemon that forks and exits all the time gets a new pid each time, so the first rounds run
 * without a pause: reading one short file and killing is faster than a fork. */
bool lpo_run_descendants_kill(pid_t group)
{
    int64_t end = lpo_run_clock_ns() + limit_ns;

    for (int round = 0; reap_some(); round++) {
        struct timespec nap = { 0, 1000000 };

        if (lpo_run_clock_ns() > end)
            return false;
        if (!kill_by_list() && !kill_by_scan() && group > 0)
            kill(-group, SIGKILL);
        if (round > QUICK_ROUNDS)
            nanosleep(&nap, NULL);
    }
    return true;
}
