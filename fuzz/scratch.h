/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz/scratch.h - a folder of this process, in memory where the machine has such a place, for
 * readers that open files by name; and an input taken apart into the files of that folder. */
#pragma once

#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static inline void insist(int truth)
{
    if (!truth)
        abort();
}

static inline int scratch_remove_one(const char *path, const struct stat *st, int kind,
                                     struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

static char scratch_dir[64];

static inline void scratch_remove(void)
{
    nftw(scratch_dir, scratch_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static inline const char *scratch(void)
{
    char *dir = scratch_dir;

    if (!dir[0]) {
        snprintf(dir, sizeof scratch_dir, "%s/lpo-fuzz-XXXXXX",
                 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
        insist(mkdtemp(dir) != NULL && atexit(scratch_remove) == 0);
    }
    return dir;
}

/* Writes a file below the folder; the folders of `name` are made. Returns its path, which is good
 * until the next call. */
static inline const char *scratch_file(const char *name, const void *bytes, size_t len)
{
    static char path[256];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", scratch(), name);
    for (char *slash = path + strlen(scratch()) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    f = fopen(path, "wb");
    insist(f != NULL && fwrite(bytes, 1, len, f) == len && fclose(f) == 0);
    return path;
}

/* One file for each part of the input; parts end at "\n%%\n". An empty part is a file that is not
 * there. */
static inline void scratch_parts(const char *const *names, size_t count, const char *text,
                                 size_t len)
{
    for (size_t i = 0; i < count; i++) {
        const char *end = len ? memmem(text, len, "\n%%\n", 4) : NULL;
        size_t part = end ? (size_t)(end - text) + 1 : len;

        if (part > 1)
            scratch_file(names[i], text, part);
        else
            unlink(scratch_file(names[i], "", 0));
        part = end ? part + 3 : len;
        text += part;
        len -= part;
    }
}
