/* SPDX-License-Identifier: Apache-2.0 */
/* lpo/control.h - how `lpo ctl` speaks to a collector in a living program.
 *
 * The collector listens on a socket, PID.ctl in the folder of its traces. A client connects, sends
 * one line and reads lines "key value" until the other side closes. The first is "error TEXT" when
 * the request was not understood. Clients of another user are not answered.
 *
 *     start | stop | status | dump | mark TEXT
 *
 *     pid 4711
 *     recording 1
 *     windows 3        windows that have ended
 *     seen 40          calls of the chosen range, and those of them that were recorded
 *     recorded 5 */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define LPO_CONTROL_SUFFIX ".ctl"

enum { LPO_CONTROL_REQUEST_MAX = 512, LPO_CONTROL_REPLY_MAX = 512 };

/* The address of `name` in the open folder `fd`: a path may be longer than an address can be. */
static inline socklen_t lpo_control_address(struct sockaddr_un *a, int fd, const char *name)
{
    a->sun_family = AF_UNIX;
    snprintf(a->sun_path, sizeof a->sun_path, "/proc/self/fd/%d/%s", fd, name);
    return (socklen_t)sizeof *a;
}

/* For who listens. The folder may be open to other users; the program is not theirs to steer. */
static inline bool lpo_control_same_user(int client)
{
    struct ucred peer = { .uid = (uid_t)-1 };
    socklen_t len = sizeof peer;

    return getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.uid == geteuid();
}

/* The request, without its end of line; false when `room` is too small or nothing comes for
 * `limit_ms`: a client that says nothing must not stop whoever listens. */
static inline bool lpo_control_get_line(int client, char *line, size_t room, long limit_ms)
{
    struct timeval limit = { .tv_sec = limit_ms / 1000, .tv_usec = limit_ms % 1000 * 1000 };
    size_t len = 0;
    ssize_t n;

    setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    while (len + 1 < room && (n = recv(client, line + len, room - 1 - len, 0)) > 0) {
        char *end = memchr(line + len, '\n', (size_t)n);

        len += (size_t)n;
        if (end) {
            *end = '\0';
            return true;
        }
    }
    return false;
}
