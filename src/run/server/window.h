/* SPDX-License-Identifier: Apache-2.0 */
/* run/server/window.h - the part of a server's life that is recorded: while it is under load.
 *
 * Opens and closes the windows of the collectors in the server's processes, as `lpo ctl` does, and
 * of those that come up meanwhile. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lpo_server_window {
    const char *dir; /* of the collectors (LPO_COLLECT_DIR); NULL: there are none */
    bool open, over;
    int64_t from_unix_ns, to_unix_ns;
    int64_t looked_ns;   /* when the folder was last looked at; monotonic */
    uint64_t seen;       /* a hash of the sockets in it */
    size_t processes;    /* that recorded */
    const char *refused; /* what one of them said; NULL */
};

void lpo_run_server_window_open(struct lpo_server_window *w);
/* While it is open, often: processes that are new are told, too. */
void lpo_run_server_window_turn(struct lpo_server_window *w);
void lpo_run_server_window_close(struct lpo_server_window *w); /* fine where it is not open */
