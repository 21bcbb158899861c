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

#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

#define LPO_CONTROL_SUFFIX ".ctl"

enum { LPO_CONTROL_REQUEST_MAX = 512, LPO_CONTROL_REPLY_MAX = 512 };

/* The address of `name` in the open folder `fd`: a path may be longer than an address can be. */
static inline socklen_t lpo_control_address(struct sockaddr_un *a, int fd, const char *name)
{
    a->sun_family = AF_UNIX;
    snprintf(a->sun_path, sizeof a->sun_path, "/proc/self/fd/%d/%s", fd, name);
    return (socklen_t)sizeof *a;
}
