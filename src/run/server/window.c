/* SPDX-License-Identifier: Apache-2.0 */
#include "run/server/window.h"

#include <dirent.h>
#include <string.h>

#include "lpo/control.h"
#include "run/clock.h"
#include "run/control.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/str.h"

static const int64_t look_ns = 50000000; /* how late a new process may be told */

/* The same for the same sockets in any order. Asking the collectors themselves would wake a thread
 * in each process of the server, twenty times a second. */
static uint64_t sockets_of(const char *dir)
{
    DIR *d = opendir(dir);
    struct dirent *e;
    uint64_t hash = 0;

    while (d && (e = readdir(d)))
        if (lpo_str_ends(e->d_name, LPO_CONTROL_SUFFIX))
            hash += lpo_str_hash(e->d_name, strlen(e->d_name)) | 1;
    if (d)
        closedir(d);
    return hash;
}

static void send_all(struct lpo_server_window *w, const char *request, const char *refused)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_control_answers answers = { 0 };
    struct lpo_err err = { 0 };

    if (lpo_run_control_send(a, w->dir, request, &answers, &err) < 0)
        return; /* no folder yet: nothing listens */
    for (size_t i = 0; i < answers.len; i++)
        if (answers.at[i].error)
            w->refused = refused;
    if (answers.len > w->processes)
        w->processes = answers.len;
}

static void look(struct lpo_server_window *w)
{
    uint64_t now = sockets_of(w->dir);

    w->looked_ns = lpo_run_clock_ns();
    if (now == w->seen)
        return;
    w->seen = now;
    /* nothing changes in those that record already */
    send_all(w, "start", "a process of the server did not answer, and is not recorded");
}

void lpo_run_server_window_open(struct lpo_server_window *w)
{
    if (w->open || w->over)
        return;
    w->open = true;
    w->from_unix_ns = lpo_run_clock_unix_ns();
    if (w->dir)
        look(w);
}

void lpo_run_server_window_turn(struct lpo_server_window *w)
{
    if (w->open && w->dir && lpo_run_clock_ns() - w->looked_ns >= look_ns)
        look(w);
}

void lpo_run_server_window_close(struct lpo_server_window *w)
{
    if (!w->open)
        return;
    w->open = false;
    w->over = true;
    if (w->dir)
        send_all(w, "stop",
                 "a process of the server did not answer when the window was to end: its trace may "
                 "hold more than the load");
    w->to_unix_ns = lpo_run_clock_unix_ns();
}
