/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target over its seeds: argv[1] names a folder (each file one input), and
 * argv[1].lines a file (each line one input). Either may be absent, not both. Prints TAP. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/path.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t replay_file(struct lpo_arena *a, const char *path, bool by_line)
{
    LPO_AUTO(lpo_file_text) text = NULL;
    struct lpo_err err = { 0 };
    size_t count = 0;

    if (lpo_file_text_read(path, &text, &err) < 0) {
        printf("Bail out! %s: %s\n", path, lpo_err_cause(&err));
        return 0;
    }
    if (!by_line) {
        LLVMFuzzerTestOneInput((const uint8_t *)text->at, text->len);
        return 1;
    }
    for (const char *p = text->at, *end = p + text->len; p < end; count++) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        size_t len = nl ? (size_t)(nl - p) : (size_t)(end - p);
        /* a copy of its own, so that a read past the end is seen */
        const char *line = lpo_arena_strndup(a, p, len);
        LLVMFuzzerTestOneInput((const uint8_t *)line, len);
        p += len + 1;
    }
    return count;
}

int main(int argc, char **argv)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    size_t count = 0;

    if (argc != 2)
        return 2;
    const char *lines = lpo_arena_printf(a, "%s.lines", argv[1]);
    if (lpo_path_exists(lines))
        count += replay_file(a, lines, true);
    DIR *dir = opendir(argv[1]);
    for (struct dirent *e; dir && (e = readdir(dir));)
        if (e->d_name[0] != '.')
            count += replay_file(a, lpo_path_join(a, argv[1], e->d_name), false);
    if (dir)
        closedir(dir);
    printf("1..1\n%s 1 - %zu seeds\n", count ? "ok" : "not ok", count);
    return count ? 0 : 1;
}
