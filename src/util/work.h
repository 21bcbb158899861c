/* SPDX-License-Identifier: Apache-2.0 */
/* util/work.h - how far long work is, for who waits for it.
 *
 * Rooms say what they begin and what they have read; nothing is printed here. The command line sets
 * who looks (cli/waiting.c); without it the calls cost nothing. */
#pragma once

#include "util/base.h"

enum { LPO_WORK_FILE = 200 };

struct lpo_work_state {
    const char *phase;        /* "reading"; NULL: nothing long goes on */
    char file[LPO_WORK_FILE]; /* begun last; "": none */
    uint64_t files, of_files; /* begun; all, 0 where that is not known */
    uint64_t bytes, of_bytes; /* read from the disk; all, or 0 */
};

/* `begin` and `end` are called on the thread that does the work, in pairs. NULL: nobody looks. */
struct lpo_work_watch {
    void (*begin)(void);
    void (*end)(void);
};
void lpo_work_watch(const struct lpo_work_watch *watch);

/* `phase` lives for ever. A phase inside another is a part of it. */
void lpo_work_begin(const char *phase);
void lpo_work_end(void);

/* From any thread. */
void lpo_work_expect(size_t files, uint64_t bytes);
void lpo_work_file(const char *path);
void lpo_work_bytes(size_t bytes);
void lpo_work_look(struct lpo_work_state *out);
