/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a report, a window at a time. */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/ncu/rep.h"
#include "util/budget.h"
#include "util/unpack.h"

/* Small enough that the four windows that are read ahead stay in the processor's cache: bytes are
 * then copied once and never wait for memory. A result with all sections has some 100 kB. */
enum { WINDOW = 256 << 10, WINDOW_MOST = 4 << 20 };

int lpo_ncu_open(const struct lpo_unpack_file *file, struct lpo_ncu_walk *w, struct lpo_err *err)
{
    const uint64_t most = lpo_budget()->whole_file_bytes;
    struct stat st;

    if (fstat(file->fd, &st) < 0)
        return lpo_fail_errno(err, "cannot look at the file");
    if (st.st_size == 0)
        return lpo_fail(err, LPO_E_FORMAT, "the file is empty");
    if ((uint64_t)st.st_size > most)
        return lpo_fail(err, LPO_E_LIMIT, "the report has %llu GB, more than %llu GB (%s)",
                        (unsigned long long)st.st_size >> 30, (unsigned long long)most >> 30,
                        LPO_BUDGET_HINT);
    *w = (struct lpo_ncu_walk){ .fd = file->fd, .len = (uint64_t)st.st_size };
    return 0;
}

/* The file ends here after all: it was cut since it was opened, or the rest is a hole. */
static void end_at(struct lpo_ncu_walk *w, uint64_t len)
{
    w->len = len;
    if (w->block_end > len) {
        w->block_end = len;
        w->block_cut = true;
    }
}

/* Zeros are empty messages, and a sparse file of gigabytes may be nothing else. */
static bool only_a_hole_follows(const struct lpo_ncu_walk *w)
{
    for (size_t i = 0; i < w->window_len && i < 64; i++) {
        if (w->window[i] != 0)
            return false;
    }
    return lseek(w->fd, (off_t)w->at, SEEK_DATA) < 0 && errno == ENXIO;
}

/* Where one message did not fit, its neighbours are as large: room for four, since what is left of
 * a window is read again with the next. Not so for a message of megabytes, which would be kept in
 * every batch. */
static size_t wanted(struct lpo_ncu_walk *w)
{
    size_t want = w->wanted * 4;

    if (want > WINDOW_MOST) {
        want = w->wanted;
        w->wanted = 0;
    }
    return want > WINDOW ? want : WINDOW;
}

/* Not mapped: a file that another process cuts would end us with SIGBUS. */
void lpo_ncu_window(struct lpo_ncu_walk *w, struct lpo_ncu_batch *b)
{
    uint64_t left = w->len - w->at;
    size_t want = wanted(w);

    want = want < left ? want : (size_t)left;
    if (b->room < want) {
        free(b->bytes); /* nothing in it is still needed: no copy */
        b->bytes = lpo_xrealloc(NULL, want, 1);
        b->room = want;
    }
    w->window = b->bytes;
    w->window_at = w->at;
    w->window_len = 0;
    while (w->window_len < want) {
        ssize_t n = pread(w->fd, b->bytes + w->window_len, want - w->window_len,
                          (off_t)(w->at + w->window_len));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            w->io_error = errno;
        if (n <= 0) {
            end_at(w, w->at + w->window_len);
            return;
        }
        w->window_len += (size_t)n;
    }
    if (left > 0 && only_a_hole_follows(w)) {
        w->cut = true;
        w->window_len = 0;
        end_at(w, w->at);
    }
}
