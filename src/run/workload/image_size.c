/* SPDX-License-Identifier: Apache-2.0 */
#include "run/workload/image_size.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Metadata stands before the size in a JPEG: a thumbnail or a colour profile is a few segments of
 * at most 64 KiB. A file with more of them than this is left without a size. */
enum { MAX_SEGMENTS = 1024 };

static uint32_t big_endian(const unsigned char *at, int bytes)
{
    uint32_t n = 0;

    for (int i = 0; i < bytes; i++)
        n = n << 8 | at[i];
    return n;
}

static bool read_at(int fd, off_t at, unsigned char *out, size_t len)
{
    return pread(fd, out, len, at) == (ssize_t)len;
}

static bool png_size(int fd, uint32_t *width, uint32_t *height)
{
    unsigned char head[24];

    if (!read_at(fd, 0, head, sizeof head) || memcmp(head, "\x89PNG\r\n\x1a\n", 8) != 0 ||
        memcmp(head + 12, "IHDR", 4) != 0)
        return false;
    *width = big_endian(head + 16, 4);
    *height = big_endian(head + 20, 4);
    return true;
}

/* Start of frame: C0 to CF, but for the tables C4 and CC and the reserved C8. */
static bool is_frame(unsigned char marker)
{
    return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
}

static bool jpeg_size(int fd, uint32_t *width, uint32_t *height)
{
    unsigned char head[9];
    off_t at = 2;

    if (!read_at(fd, 0, head, 3) || memcmp(head, "\xff\xd8\xff", 3) != 0)
        return false;
    for (int i = 0; i < MAX_SEGMENTS; i++) {
        if (!read_at(fd, at, head, 4) || head[0] != 0xFF)
            return false;
        if (head[1] == 0xFF) { /* any number of these may fill the space before a marker */
            at++;
            continue;
        }
        if (is_frame(head[1])) {
            if (!read_at(fd, at, head, 9))
                return false;
            *height = big_endian(head + 5, 2);
            *width = big_endian(head + 7, 2);
            return true;
        }
        if (head[1] == 0xDA || head[1] == 0xD9 || big_endian(head + 2, 2) < 2)
            return false; /* the picture begins or ends without a frame */
        at += 2 + (off_t)big_endian(head + 2, 2);
    }
    return false;
}

bool lpo_workload_image_size(const char *path, uint32_t *width, uint32_t *height)
{
    /* a named pipe would block the open, and a device could do anything */
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    struct stat st;
    bool known = false;

    if (fd < 0)
        return false;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        known = png_size(fd, width, height) || jpeg_size(fd, width, height);
    close(fd);
    return known && *width && *height;
}
