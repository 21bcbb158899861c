/* collect/file.h - the trace file: whole blocks appended, each by one write().
 *
 * The file is opened for appending, so two threads may write at the same time and neither block
 * is torn. Before each write the descriptor is checked to be still ours: programs close
 * descriptors they did not open, and the number may by then belong to their own file. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/clock.h"
#include "collect/knobs.h"

struct lpoc_file {
    int fd;    /* -1: not open */
    bool dead; /* a write failed: nothing more is tried */
    bool full; /* the limit was reached: a stream with a hole in it could not be read anyway */
    char path[LPOC_PATH_MAX];
    dev_t dev;
    ino_t ino;
    uint64_t bytes; /* written so far, all threads */
    uint64_t limit; /* stop here; 0: no limit */
};

/* Makes DIR/PID.lpot, or DIR/PID-2.lpot … when that name is taken: an exec'd program has the pid
 * of the one before it, and pids come round again. The preamble is written. 0 or -1. */
int lpoc_file_open(struct lpoc_file *f, const char *dir, uint64_t limit_bytes);
void lpoc_file_close(struct lpoc_file *f);

/* One block. -1 when it could not be written: the caller counts what it lost. `over_limit` (may be
 * NULL) is set when that is why, the first time. */
int lpoc_file_block(struct lpoc_file *f, struct lpoc_clock *clock, unsigned kind, uint32_t stream,
                    uint32_t sequence, const void *payload, size_t len, bool *over_limit);
