/* SPDX-License-Identifier: Apache-2.0 */
/* collect/file.h - the trace file: whole blocks appended, one at a time.
 *
 * Before each write the descriptor is checked to be still ours: programs close descriptors they
 * did not open, and the number may by then belong to their own file. A block that could be
 * written only in part (the disk is full) is cut off again, so that the file ends with a whole
 * one. After a failure the disk is tried again, first soon and then once a second: its trouble may
 * be short, and the streams go on with blocks that stand for themselves (THREAD_FRESH, GPU_FRESH).
 * Space for the last words, a note and the totals, is reserved at the start of the file: they
 * are written over a block that is there already, which takes no new space. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/clock.h"
#include "collect/knobs.h"

/* struct lpoc_file.failure, beside errno values. Both are for good: the limit of the user or of the
 * process; not the file of this process. */
enum { LPOC_AT_LIMIT = -1, LPOC_NOT_OURS = -2 };

/* The times that a disk could not be written to, and came back. */
struct lpoc_troubles {
    uint64_t count, ns;          /* ended ones */
    uint64_t from_ns;            /* of the one that lasts; steady time */
    uint64_t pause_ns, again_ns; /* nothing is tried until then */
    int why;                     /* errno of the first */
};

struct lpoc_file {
    pthread_mutex_t lock; /* all below */
    int fd;               /* -1: not open */
    int failure;          /* atomic: why nothing is appended now; 0: all is well */
    bool explained;       /* atomic: the last words say so */
    char path[LPOC_PATH_MAX];
    dev_t dev;
    ino_t ino;
    struct lpoc_troubles troubles;
    off_t torn_at, torn_end; /* a part of a block that could not be cut off yet; 0: none */
    uint64_t bytes;          /* written so far */
    uint64_t limit;          /* stop here; 0: no limit */
    uint64_t reserve_at;     /* where the block for the last words is; 0: there is none */
    pid_t pid;               /* who opened it */
    uint32_t *mark;   /* 1 in the memory that opened the file, 0 in a copy of it; may be NULL */
    uint8_t *scratch; /* LPOC_RESERVE bytes */
};

enum { LPOC_RESERVE = 1024 };

struct lpoc_block {
    unsigned kind;
    uint32_t stream, sequence;
    const void *payload;
    size_t len;
};

struct lpoc_place {
    const char *dir;
    int32_t rank; /* of the job; -1: not a rank */
    bool forked;  /* the process that the launcher started is another one */
};

/* Makes DIR/PID.lpot, or DIR/PID-2.lpot … when that name is taken: an exec'd program has the pid
 * of the one before it, and pids are used again. The first process of rank 3 makes DIR/rank3.lpot,
 * the others of that rank DIR/rank3.PID.lpot and so on: two machines may use the same pid. No file
 * that is there is ever opened. The preamble is written. 0, or an errno; then the descriptor of the
 * parent of a fork, if there was one, is still open. */
int lpoc_file_open(struct lpoc_file *f, const struct lpoc_place *place, uint64_t limit_bytes);
/* The same descriptor under a high number: programs expect the lowest ones to be theirs. */
int lpoc_file_move_up(int fd);
/* In a child of fork: nothing is written to the parent's file any more, but it stays open until
 * the child has its own. */
void lpoc_file_forked(struct lpoc_file *f);
/* In a child of fork that could not open its own file: one block in that of its parent. */
void lpoc_file_in_parent(struct lpoc_file *f, const struct lpoc_moment *now,
                         const struct lpoc_block *b);

/* False in a copy of the process that the fork handlers did not see (a raw clone): its locks and
 * its streams are the parent's. A child of vfork shares the memory and is no copy. */
bool lpoc_file_is_ours(const struct lpoc_file *f);

/* Appends. -1 when it could not be written: the caller keeps it, or counts what it lost. */
int lpoc_file_block(struct lpoc_file *f, const struct lpoc_moment *now, const struct lpoc_block *b);
/* It cannot be written now and may be later: what there is room for is worth keeping. */
bool lpoc_file_may_recover(const struct lpoc_file *f);
/* The next block is tried whatever happened before: there may be no later chance. */
void lpoc_file_hurry(struct lpoc_file *f);
/* Sets aside the space for the last words, once, as the file's next block. */
int lpoc_file_reserve(struct lpoc_file *f, const struct lpoc_moment *now);
/* Writes these blocks into it, over what is there; at most LPOC_RESERVE bytes. */
void lpoc_file_last_words(struct lpoc_file *f, const struct lpoc_moment *now,
                          const struct lpoc_block *blocks, unsigned count);
