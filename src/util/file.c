/* SPDX-License-Identifier: Apache-2.0 */
#include "util/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/arena.h"
#include "util/err.h"
#include "util/path.h"
#include "util/str.h"

static const size_t default_limit = (size_t)1 << 30;
static lpo_file_filter file_filter;

/* Pipes and /proc files have no size, so read until the end and grow. */
static int read_all(int fd, const char *path, size_t limit, struct lpo_file_text *t,
                    struct lpo_err *err)
{
    size_t cap = 0;

    for (;;) {
        ssize_t n;

        if (cap - t->len < 2) {
            cap = cap ? cap * 2 : 16384;
            t->at = lpo_xrealloc(t->at, cap, 1);
        }
        n = read(fd, t->at + t->len, cap - t->len - 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return lpo_fail_errno(err, "cannot read '%s'", path);
        if (n == 0)
            break;
        t->len += (size_t)n;
        if (t->len > limit)
            return lpo_fail(err, LPO_E_LIMIT, "'%s' is larger than %zu bytes", path, limit);
    }
    t->at[t->len] = '\0';
    return 0;
}

int lpo_file_text_read_limit(const char *path, size_t limit, struct lpo_file_text **out,
                             struct lpo_err *err)
{
    LPO_AUTO(lpo_file_text) t = NULL;
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int rc;

    if (fd < 0)
        return lpo_fail_errno(err, "cannot open '%s'", path);
    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
        close(fd);
        return lpo_fail(err, LPO_E_IO, "'%s' is a folder, not a file", path);
    }
    t = lpo_xcalloc(1, sizeof *t);
    rc = read_all(fd, path, limit ? limit : default_limit, t, err);
    close(fd);
    if (rc < 0)
        return rc;
    *out = t;
    t = NULL;
    return 0;
}

int lpo_file_text_read(const char *path, struct lpo_file_text **out, struct lpo_err *err)
{
    return lpo_file_text_read_limit(path, 0, out, err);
}

void lpo_file_text_destroy(struct lpo_file_text *t)
{
    if (!t)
        return;
    free(t->at);
    free(t);
}

static int write_all(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, bytes, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        bytes += n;
        len -= (size_t)n;
    }
    return 0;
}

static int replace_file(const char *path, const void *bytes, size_t len, bool flush, mode_t mode,
                        struct lpo_err *err)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    char *temp = lpo_arena_printf(a, "%s.tmp-%d", path, (int)getpid());
    int fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    int rc = 0;

    if (fd < 0)
        return lpo_fail_errno(err, "cannot write '%s'", path);
    if (write_all(fd, bytes, len) < 0 || (flush && fsync(fd) < 0))
        rc = lpo_fail_errno(err, "cannot write '%s'", path);
    if (close(fd) < 0 && rc == 0)
        rc = lpo_fail_errno(err, "cannot write '%s'", path);
    if (rc == 0 && rename(temp, path) < 0)
        rc = lpo_fail_errno(err, "cannot put '%s' in place", path);
    if (rc < 0)
        unlink(temp);
    return rc;
}

void lpo_file_set_filter(lpo_file_filter filter)
{
    file_filter = filter;
}

static int write_filtered(const char *path, const void *bytes, size_t len, bool flush,
                          struct lpo_err *err)
{
    LPO_STR other = { 0 };

    if (file_filter && file_filter(bytes, len, &other))
        return replace_file(path, lpo_str_text(&other), other.len, flush, 0600, err);
    return replace_file(path, bytes, len, flush, 0666, err);
}

int lpo_file_write(const char *path, const void *bytes, size_t len, struct lpo_err *err)
{
    return write_filtered(path, bytes, len, true, err);
}

int lpo_file_write_quick(const char *path, const void *bytes, size_t len, struct lpo_err *err)
{
    return write_filtered(path, bytes, len, false, err);
}

int lpo_file_make_dirs(const char *path, struct lpo_err *err)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    char *copy = lpo_arena_strdup(a, path);

    for (char *p = copy + 1; *copy && p[-1]; p++) {
        char c = *p;

        if (c != '/' && c != '\0')
            continue;
        *p = '\0';
        if (mkdir(copy, 0777) < 0 && errno != EEXIST)
            return lpo_fail_errno(err, "cannot make the folder '%s'", copy);
        *p = c;
        if (c == '\0')
            break;
    }
    if (!lpo_path_is_dir(path))
        return lpo_fail(err, LPO_E_IO, "'%s' is not a folder", path);
    return 0;
}
