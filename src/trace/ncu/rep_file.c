/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a report in memory. */
#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/ncu/rep.h"
#include "util/budget.h"
#include "util/err.h"
#include "util/unpack.h"

void lpo_ncu_unload(struct lpo_ncu_walk *w)
{
    munmap((void *)w->bytes, w->room);
}

/* Data of a sparse file only: holes are zeros already, and a file of a terabyte may be one hole. */
static int read_bytes(int fd, unsigned char *to, off_t len, off_t *got, struct lpo_err *err)
{
    off_t at = 0;

    *got = len;
    while (at < len) {
        off_t data = lseek(fd, at, SEEK_DATA);
        off_t hole = data < 0 ? -1 : lseek(fd, data, SEEK_HOLE);

        if (data < 0 && errno == ENXIO)
            return 0; /* the rest is a hole */
        if (data < 0 || hole < 0)
            data = at, hole = len; /* a file system that does not say */
        for (at = data; at < hole && at < len;) {
            size_t want = (size_t)((hole < len ? hole : len) - at);
            ssize_t n = pread(fd, to + at, want, at);

            if (n < 0 && errno == EINTR)
                continue;
            if (n < 0)
                return lpo_fail_errno(err, "cannot read the file");
            if (n == 0) { /* cut while it was read */
                *got = at;
                return 0;
            }
            at += n;
        }
    }
    return 0;
}

/* Not mapped: a file that another process cuts would end us with SIGBUS. */
int lpo_ncu_load(const struct lpo_unpack_file *file, struct lpo_ncu_walk *w, struct lpo_err *err)
{
    const uint64_t most = lpo_budget()->whole_file_bytes;
    struct stat st;
    off_t got;
    void *p;

    if (fstat(file->fd, &st) < 0)
        return lpo_fail_errno(err, "cannot look at the file");
    if (st.st_size == 0)
        return lpo_fail(err, LPO_E_FORMAT, "the file is empty");
    if ((uint64_t)st.st_size > most)
        return lpo_fail(err, LPO_E_LIMIT, "the report has %llu GB, more than %llu GB (%s)",
                        (unsigned long long)st.st_size >> 30, (unsigned long long)most >> 30,
                        LPO_BUDGET_HINT);
    p = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return lpo_fail_errno(err, "no memory for the %llu MB of the report",
                              (unsigned long long)st.st_size >> 20);
    /* Whole reports are hundreds of MB: with small pages, a third of the time goes into page
     * faults. Where the kernel has no large ones, nothing changes. */
    madvise(p, (size_t)st.st_size, MADV_HUGEPAGE);
    w->bytes = p;
    w->room = (size_t)st.st_size;
    if (read_bytes(file->fd, p, st.st_size, &got, err) < 0) {
        lpo_ncu_unload(w);
        return err ? err->code : LPO_E_IO;
    }
    w->len = (size_t)got;
    return 0;
}
