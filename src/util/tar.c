/* SPDX-License-Identifier: Apache-2.0 */
#include "util/tar.h"

#include "util/file.h"
#include "util/path.h"

/* A header: a name, a size in octal digits, '0' for a plain file; blocks of 512 bytes. */
enum { BLOCK = 512, NAME = 100, SIZE_AT = 124, SIZE = 12, TYPE_AT = 156 };

static bool stays_below(const char *name)
{
    return *name && *name != '/' && strncmp(name, "../", 3) != 0 && !strstr(name, "/../");
}

int lpo_tar_unpack(struct lpo_arena *a, const char *at, size_t len, const char *dir,
                   struct lpo_err *err)
{
    for (size_t here = 0; here + BLOCK <= len && at[here];) {
        const char *head = at + here;
        const char *name = lpo_arena_printf(a, "%.*s", NAME, head);
        const char *digits = lpo_arena_printf(a, "%.*s", SIZE, head + SIZE_AT), *path;
        size_t size = strtoul(digits, NULL, 8), body = here + BLOCK;

        if (size > len - body || !stays_below(name))
            return lpo_fail(err, LPO_E_FORMAT, "the archive is damaged at byte %zu", here);
        here = body + (size + BLOCK - 1) / BLOCK * BLOCK;
        if (head[TYPE_AT] != '0')
            continue;
        path = lpo_path_join(a, dir, name);
        if (lpo_file_make_dirs(lpo_path_dir(a, path), err) < 0 ||
            lpo_file_write(path, at + body, size, err) < 0)
            return err->code;
    }
    return 0;
}
