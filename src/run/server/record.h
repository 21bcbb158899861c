/* SPDX-License-Identifier: Apache-2.0 */
/* run/server/record.h - server.json: what became of a server and its load. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct lpo_arena;
struct lpo_err;
struct lpo_server_plan;

enum { LPO_SERVER_NOTES = 16 };

struct lpo_server_record {
    int64_t ready_ns, warmup_ns, load_ns, stop_ns; /* 0: it did not come to that */
    int64_t from_unix_ns, to_unix_ns;              /* the window; 0: there was none */
    int64_t recorded;                              /* processes in the window; -1: no collector */
    const char *server_end, *client_end;           /* "exit code 0"; NULL */
    const char *problem;                           /* why the load was not done; NULL */
    const char *notes[LPO_SERVER_NOTES];
    size_t nnotes;
};

void lpo_run_server_record_note(struct lpo_server_record *r, struct lpo_arena *a, const char *fmt,
                                ...) __attribute__((format(printf, 3, 4)));
/* Also finds the client's result, and notes where there is none. */
int lpo_run_server_record_write(struct lpo_server_record *r, const struct lpo_server_plan *plan,
                                struct lpo_arena *a, struct lpo_err *err);
