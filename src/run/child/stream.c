/* SPDX-License-Identifier: Apache-2.0 */
#include "run/child/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/secrets/secrets.h"
#include "util/stale.h"

/* Never through a link that lies there; /proc/self/fd is our own way to a file without name. */
static int open_file(const struct lpo_stream *s, const char *path, int how)
{
    unsigned tries = 0;
    int fd;

    do
        fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | how | (s->as_it_is ? 0 : O_NOFOLLOW),
                  0666);
    while (fd < 0 && lpo_stale_retry(errno, &tries));
    return fd;
}

int lpo_run_stream_pipes(int out[2], int errs[2], struct lpo_err *err)
{
    if (pipe2(out, O_CLOEXEC) < 0)
        return lpo_fail_errno(err, "cannot make a pipe");
    if (pipe2(errs, O_CLOEXEC) < 0) {
        int why = errno;

        close(out[0]);
        close(out[1]);
        errno = why;
        return lpo_fail_errno(err, "cannot make a pipe");
    }
    return 0;
}

void lpo_run_stream_open(struct lpo_stream *s, int fd, const char *path, uint64_t limit)
{
    *s = (struct lpo_stream){ .fd = fd, .file_fd = -1, .limit = limit };
    fcntl(fd, F_SETFL, O_NONBLOCK); /* two streams, one thread: neither may block the other */
    if (!path)
        return;
    s->as_it_is = lpo_str_starts(path, "/proc/self/fd/");
    lpo_str_add(&s->path, path);
    s->file_fd = open_file(s, path, O_CREAT | O_TRUNC);
    if (s->file_fd < 0)
        s->disk_errno = errno;
}

/* The handle is stale: the name leads to the file, which goes on where it ended. */
static bool get_again(struct lpo_stream *s, int error, unsigned *tries)
{
    int fd;

    if (!lpo_stale_retry(error, tries))
        return false;
    fd = open_file(s, lpo_str_text(&s->path), 0);
    if (fd >= 0) {
        close(s->file_fd);
        s->file_fd = fd;
    }
    return true;
}

static void put(struct lpo_stream *s, const char *bytes, size_t len)
{
    unsigned tries = 0;

    if (s->echo && len)
        s->echo(s->echo_ctx, s->is_stderr, bytes, len);
    while (len > 0) {
        ssize_t n = write(s->file_fd, bytes, len);

        if (n < 0 && (errno == EINTR || get_again(s, errno, &tries)))
            continue;
        if (n < 0) {
            s->disk_errno = errno;
            s->lost += len;
            return;
        }
        bytes += n;
        len -= (size_t)n;
    }
}

static void put_masked(struct lpo_stream *s, const char *bytes, size_t len, bool last)
{
    LPO_STR shown = { 0 };
    bool hid = false;
    size_t done;

    if (s->as_it_is) {
        put(s, bytes, len);
        return;
    }
    lpo_str_addn(&s->held, bytes, len);
    done = lpo_secrets_mask_piece(s->held.at, s->held.len, &s->written, last, &shown, &hid);
    if (hid)
        fchmod(s->file_fd, 0600);
    put(s, shown.at, shown.len);
    memmove(s->held.at, s->held.at + done, s->held.len - done);
    s->held.len -= done;
}

static void keep(struct lpo_stream *s, const char *bytes, size_t len)
{
    if (s->limit && s->bytes + len > s->limit) {
        size_t room = s->bytes < s->limit ? (size_t)(s->limit - s->bytes) : 0;

        s->lost += len - room;
        s->bytes += len - room;
        len = room;
    }
    s->bytes += len;
    if (s->file_fd < 0) {
        s->lost += s->disk_errno ? len : 0;
        return;
    }
    if (len)
        put_masked(s, bytes, len, false);
}

/* A carriage return starts a line anew, as progress bars do; other control bytes become '?'. */
static void note_line(struct lpo_stream *s, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        char c = bytes[i];

        if (c == '\n' || c == '\r') {
            if (s->line_len) {
                memcpy(s->last_line, s->line, s->line_len);
                s->last_line[s->line_len] = '\0';
            }
            s->line_len = 0;
        } else if (s->line_len < sizeof s->line - 1) {
            s->line[s->line_len++] = (unsigned char)c < 0x20 || c == 0x7f ? '?' : c;
        }
    }
}

void lpo_run_stream_pump(struct lpo_stream *s)
{
    char buffer[65536];

    /* a bounded number of turns, so that one chatty stream cannot starve the loop */
    for (int turn = 0; turn < 16 && s->fd >= 0; turn++) {
        ssize_t n = read(s->fd, buffer, sizeof buffer);

        if (n > 0) {
            keep(s, buffer, (size_t)n);
            /* only the tail can hold the last line */
            size_t tail = (size_t)n > 1024 ? 1024 : (size_t)n;

            note_line(s, buffer + n - tail, tail);
            continue;
        }
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n < 0) /* not the end: what follows is missing */
            s->disk_errno = errno;
        close(s->fd);
        s->fd = -1;
    }
}

void lpo_run_stream_close(struct lpo_stream *s)
{
    if (s->fd >= 0)
        lpo_run_stream_pump(s);
    if (s->fd >= 0)
        close(s->fd);
    if (s->file_fd >= 0 && s->held.len)
        put_masked(s, "", 0, true);
    lpo_str_free(&s->held);
    lpo_str_free(&s->path);
    if (s->file_fd >= 0 && close(s->file_fd) < 0 && !s->disk_errno)
        s->disk_errno = errno;
    if (s->line_len) {
        memcpy(s->last_line, s->line, s->line_len);
        s->last_line[s->line_len] = '\0';
        s->line_len = 0;
    }
    s->fd = s->file_fd = -1;
}
