/* SPDX-License-Identifier: Apache-2.0 */
#include "run/child/descendants.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The parent of `pid` from /proc/<pid>/stat. The name in it may hold anything, blanks and brackets
 * too, so the fields are those behind the last ')'. Returns -1 when the process is gone. */
static pid_t parent_of(pid_t pid, char *state)
{
    char path[64], line[1024], *p;
    size_t n;
    FILE *f;
    int parent = -1;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    f = fopen(path, "re");
    if (!f)
        return -1;
    n = fread(line, 1, sizeof line - 1, f);
    fclose(f);
    line[n] = '\0';
    for (p = line + n; p > line && *p != ')'; p--)
        ;
    if (p == line || sscanf(p + 1, " %c %d", state, &parent) != 2)
        return -1;
    return parent;
}

/* One pass: kill the direct children. Grandchildren become our children as these die, because we
 * are their reaper, so the next pass finds them. Process groups would miss those that called
 * setsid(). Returns how many live ones were found. */
static int kill_children(pid_t spare)
{
    DIR *proc = opendir("/proc");
    pid_t self = getpid();
    int found = 0;

    if (!proc)
        return 0;
    for (struct dirent *e; (e = readdir(proc));) {
        pid_t pid = (pid_t)atoi(e->d_name);
        char state = '?';

        if (pid <= 0 || pid == spare || parent_of(pid, &state) != self || state == 'Z')
            continue;
        kill(pid, SIGKILL);
        found++;
    }
    closedir(proc);
    return found;
}

int lpo_run_descendants_kill(pid_t spare)
{
    int ended = 0;

    for (int round = 0; round < 200; round++) {
        int found = kill_children(spare);
        struct timespec nap = { 0, 5000000 };

        ended += found;
        for (;;) {
            siginfo_t who = { 0 };

            /* look before reaping: the spared child belongs to someone else */
            if (waitid(P_ALL, 0, &who, WEXITED | WNOHANG | WNOWAIT) < 0 || who.si_pid == 0 ||
                who.si_pid == spare)
                break;
            waitpid(who.si_pid, NULL, 0);
        }
        if (found == 0)
            break;
        nanosleep(&nap, NULL);
    }
    return ended;
}
