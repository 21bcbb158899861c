/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz/memory_file.h - bytes as a file with a path, without touching the disk. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* `path` gets a name that is good until close(fd). */
static inline int memory_file(const uint8_t *data, size_t size, char *path, size_t room)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);

    if (fd < 0 || write(fd, data, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET) != 0)
        abort();
    snprintf(path, room, "/proc/self/fd/%d", fd);
    return fd;
}
