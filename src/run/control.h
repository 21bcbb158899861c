/* SPDX-License-Identifier: Apache-2.0 */
/* run/control.h - speaks to the collectors of a folder: for `lpo ctl`, and for the window of a
 * server under load. */
#pragma once

#include "util/base.h"

enum { LPO_CONTROL_MOST = 1024 }; /* processes of one folder */

/* What one collector answered. */
struct lpo_control_answer {
    const char *name;  /* of its socket */
    const char *error; /* NULL: it did what was asked */
    int64_t pid;
    bool recording;
    uint64_t windows, seen, recorded;
};

struct lpo_control_answers {
    struct lpo_control_answer *at;
    size_t len;
};

/* Sends one line to every collector that listens in `dir` or in a folder of it, in the order of
 * their names. A socket that nobody answers is left out: its process has ended. */
int lpo_run_control_send(struct lpo_arena *a, const char *dir, const char *request,
                         struct lpo_control_answers *out, struct lpo_err *err);
