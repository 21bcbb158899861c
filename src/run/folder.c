/* SPDX-License-Identifier: Apache-2.0 */
#include "run/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "run/secrets/secrets.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/path.h"
#include "util/str.h"
#include "util/visible.h"

enum { MAX_TRIES = 10000, MAX_DEPTH = 16, MAX_FILES = 20000 };

/* 1 claimed, 0 taken by another run, negative an error. */
static int claim(struct lpo_arena *a, const char *dir, const char *file, struct lpo_err *err)
{
    char *manifest = lpo_path_join(a, dir, file);
    int fd;

    if (lpo_file_make_dirs(dir, err) < 0)
        return err->code;
    fd = open(manifest, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0) {
        close(fd);
        return 1;
    }
    if (errno == EEXIST)
        return 0;
    return lpo_fail_errno(err, "cannot write into the run folder '%s'", dir);
}

int lpo_run_folder_claim(struct lpo_arena *a, const char *wanted, const char *file,
                         const char **out, struct lpo_err *err)
{
    char *absolute = lpo_path_absolute(a, wanted);

    for (int i = 1; i <= MAX_TRIES; i++) {
        char *dir = i == 1 ? absolute : lpo_arena_printf(a, "%s-%d", absolute, i);
        int rc = claim(a, dir, file, err);

        if (rc < 0)
            return rc;
        if (rc == 1) {
            *out = dir;
            return 0;
        }
    }
    return lpo_fail(err, LPO_E_LIMIT, "'%s' and its %d numbered neighbours are all taken", wanted,
                    MAX_TRIES);
}

int lpo_run_folder_create(struct lpo_arena *a, const char *wanted, const char **out,
                          struct lpo_err *err)
{
    if (lpo_run_folder_claim(a, wanted, "run.json", out, err) < 0)
        return lpo_ctx(err, "cannot make the run folder; set hydra.run.dir to another place");
    return 0;
}

int lpo_run_folder_sub(struct lpo_arena *a, const char *run, const char *name, const char **out,
                       struct lpo_err *err)
{
    *out = lpo_path_join(a, run, name);
    return lpo_file_make_dirs(*out, err);
}

int lpo_run_folder_write(const char *run, const char *name, const void *bytes, unsigned long len,
                         struct lpo_err *err)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();

    return lpo_file_write(lpo_path_join(a, run, name), bytes, len, err);
}

void lpo_run_folder_log(const char *run, const char *fmt, ...)
{
    char path[4200], when[32];
    LPO_STR text = { 0 }, masked = { 0 }, shown = { 0 };
    struct tm tm;
    time_t now = time(NULL);
    va_list ap;
    FILE *f;

    snprintf(path, sizeof path, "%s/lpo.log", run);
    f = fopen(path, "ae");
    if (!f)
        return;
    gmtime_r(&now, &tm);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &tm);
    va_start(ap, fmt);
    lpo_str_addv(&text, fmt, ap);
    va_end(ap);
    if (lpo_secrets_mask(lpo_str_text(&text), text.len, &masked)) {
        lpo_str_clear(&text);
        lpo_str_addn(&text, masked.at, masked.len);
        fchmod(fileno(f), 0600);
    }
    lpo_visible_add(&shown, lpo_str_text(&text), text.len, 0); /* people look at it with cat */
    fprintf(f, "%s %s\n", when, lpo_str_text(&shown));
    fclose(f);
}

static int by_text(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

static void walk(struct lpo_arena *a, const char *run, const char *name, int depth,
                 struct lpo_paths *out)
{
    DIR *d = opendir(lpo_path_join(a, run, name));

    if (!d)
        return;
    for (struct dirent *e; (e = readdir(d)) && out->len < MAX_FILES;) {
        char *below = lpo_path_join(a, name, e->d_name);
        struct stat st;

        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            lstat(lpo_path_join(a, run, below), &st) < 0)
            continue;
        if (S_ISDIR(st.st_mode) && depth < MAX_DEPTH)
            walk(a, run, below, depth + 1, out);
        if (!S_ISREG(st.st_mode))
            continue;
        if (out->len == out->cap) {
            unsigned long cap = out->cap ? out->cap * 2 : 32;
            const char **grown = lpo_arena_array(a, cap, sizeof *grown);

            if (out->len)
                memcpy(grown, out->at, out->len * sizeof *grown);
            out->at = grown;
            out->cap = cap;
        }
        out->at[out->len++] = below;
    }
    closedir(d);
}

void lpo_run_folder_list(struct lpo_arena *a, const char *run, const char *name,
                         struct lpo_paths *out)
{
    walk(a, run, name, 0, out);
    if (out->len)
        qsort(out->at, out->len, sizeof *out->at, by_text);
}

static int remove_tree(struct lpo_arena *a, const char *path, int depth, struct lpo_err *err)
{
    struct stat st;
    int rc = 0;
    DIR *d;

    if (lstat(path, &st) < 0)
        return 0;
    if (!S_ISDIR(st.st_mode))
        return unlink(path) < 0 ? lpo_fail_errno(err, "cannot remove '%s'", path) : 0;
    if (depth > MAX_DEPTH)
        return lpo_fail(err, LPO_E_LIMIT, "'%s' is nested too deeply to remove", path);
    d = opendir(path);
    if (!d)
        return lpo_fail_errno(err, "cannot open '%s'", path);
    for (struct dirent *e; rc == 0 && (e = readdir(d));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            rc = remove_tree(a, lpo_path_join(a, path, e->d_name), depth + 1, err);
    closedir(d);
    if (rc < 0)
        return rc;
    return rmdir(path) < 0 ? lpo_fail_errno(err, "cannot remove '%s'", path) : 0;
}

int lpo_run_folder_remove(struct lpo_arena *a, const char *run, const char *name,
                          struct lpo_err *err)
{
    return remove_tree(a, lpo_path_join(a, run, name), 0, err);
}
