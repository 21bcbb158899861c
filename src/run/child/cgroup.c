/* SPDX-License-Identifier: Apache-2.0 */
#include "run/child/cgroup.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "run/clock.h"

#define PREFIX "lpo-run-"

static const int64_t limit_ns = 2000000000;

/* The rest of the first line of a file that begins with `start`; false: there is none. */
static bool find_line(const char *file, const char *start, char *out, size_t room)
{
    FILE *f = fopen(file, "re");
    char line[1024];
    bool found = false;

    while (f && !found && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        found = strncmp(line, start, strlen(start)) == 0 && strlen(line) - strlen(start) < room;
        if (found)
            strcpy(out, line + strlen(start));
    }
    if (f)
        fclose(f);
    return found;
}

/* Where version 2 is mounted: alone, or beside version 1 (systemd's "unified"). A mount that shows
 * only a part of the tree, as some containers have, fits since /proc/self/cgroup starts there too.
 */
static const char *const mounts[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };

static bool own_folder(char *out, size_t room)
{
    char below[LPO_CGROUP_PATH], file[LPO_CGROUP_PATH + 32];

    if (!find_line("/proc/self/cgroup", "0::", below, sizeof below))
        return false;
    for (size_t i = 0; i < sizeof mounts / sizeof *mounts; i++) {
        int n = snprintf(out, room, "%s%s", mounts[i], strcmp(below, "/") == 0 ? "" : below);

        snprintf(file, sizeof file, "%s/cgroup.procs", out);
        if (n > 0 && (size_t)n < room && access(file, F_OK) == 0)
            return true;
    }
    return false;
}

static bool put(const struct lpo_cgroup *c, const char *name, const char *text)
{
    int fd = c->fd < 0 ? -1 : openat(c->fd, name, O_WRONLY | O_CLOEXEC);
    bool done = fd >= 0 && write(fd, text, strlen(text)) > 0;

    if (fd >= 0)
        close(fd);
    return done;
}

void lpo_run_cgroup_hold(struct lpo_cgroup *c, const char *path)
{
    *c = (struct lpo_cgroup){ .fd = -1 };
    if (!*path || strlen(path) >= sizeof c->path)
        return;
    c->fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (c->fd < 0)
        return;
    strcpy(c->path, path);
    flock(c->fd, LOCK_SH | LOCK_NB);
}

void lpo_run_cgroup_make(struct lpo_cgroup *c)
{
    static unsigned count;
    char folder[LPO_CGROUP_PATH], path[LPO_CGROUP_PATH + 64];

    *c = (struct lpo_cgroup){ .fd = -1, .why = "cgroup version 2 is not mounted" };
    if (!own_folder(folder, sizeof folder))
        return;
    snprintf(path, sizeof path, "%s/" PREFIX "%d-%u", folder, (int)getpid(), ++count);
    if (mkdir(path, 0755) < 0) {
        c->why = errno == EEXIST ? "its name is taken"
                                 : "this user may not make one (the cgroup is not delegated)";
        return;
    }
    lpo_run_cgroup_hold(c, path);
    if (c->fd >= 0 && faccessat(c->fd, "cgroup.kill", W_OK, 0) == 0 &&
        faccessat(c->fd, "cgroup.procs", W_OK, 0) == 0)
        return;
    lpo_run_cgroup_remove(c);
    rmdir(path);
    c->why = "the kernel is older than Linux 5.14";
}

/* Born in it: moving a process that runs waits for every processor of the machine, and that time
 * would count as the program's. */
pid_t lpo_run_cgroup_fork(const struct lpo_cgroup *c)
{
    struct clone_args args = { .flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD };
    pid_t pid;

    if (c->fd < 0)
        return fork();
    args.cgroup = (uint64_t)c->fd;
    pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);
    if (pid >= 0)
        return pid;
    pid = fork(); /* a filter of system calls that does not know it, as containers have */
    if (pid == 0)
        put(c, "cgroup.procs", "0");
    return pid;
}

void lpo_run_cgroup_kill(const struct lpo_cgroup *c)
{
    put(c, "cgroup.kill", "1");
}

bool lpo_run_cgroup_remove(struct lpo_cgroup *c)
{
    int64_t end = lpo_run_clock_ns() + limit_ns;
    bool gone = !c->path[0];

    lpo_run_cgroup_kill(c); /* once is enough: the kernel kills what is forked meanwhile, too */
    while (!gone) {
        struct timespec nap = { 0, 1000000 };

        gone = rmdir(c->path) == 0 || errno == ENOENT;
        if (gone || lpo_run_clock_ns() > end)
            break;
        nanosleep(&nap, NULL);
    }
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
    c->path[0] = '\0';
    return gone;
}

void lpo_run_cgroup_sweep(void)
{
    char folder[LPO_CGROUP_PATH], path[LPO_CGROUP_PATH + 300];
    DIR *d = own_folder(folder, sizeof folder) ? opendir(folder) : NULL;

    for (struct dirent *e; d && (e = readdir(d));) {
        struct lpo_cgroup c;

        if (strncmp(e->d_name, PREFIX, strlen(PREFIX)) != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        lpo_run_cgroup_hold(&c, path);
        /* alone: every lpo and guard that held it is gone */
        if (c.fd >= 0 && flock(c.fd, LOCK_EX | LOCK_NB) == 0)
            lpo_run_cgroup_remove(&c);
        else if (c.fd >= 0)
            close(c.fd);
    }
    if (d)
        closedir(d);
}

enum { QUICK_ROUNDS = 2000 }; /* without a pause: see lpo_run_descendants_kill() */

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
