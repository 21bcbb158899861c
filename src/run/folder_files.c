/* SPDX-License-Identifier: Apache-2.0 */
/* The files in a run folder: written, listed, removed. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "run/folder.h"
#include "run/secrets/secrets.h"
#include "util/file.h"
#include "util/path.h"
#include "util/stale.h"
#include "util/visible.h"

enum { MAX_DEPTH = 16, MAX_FILES = 20000, MAX_KEPT = 1000 };

int lpo_run_folder_write(const char *run, const char *name, const void *bytes, unsigned long len,
                         struct lpo_err *err)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();

    return lpo_file_write(lpo_path_join(a, run, name), bytes, len, err);
}

void lpo_run_folder_log(const char *run, const char *fmt, ...)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    int fd = open(lpo_path_join(a, run, "lpo.log"),
                  O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0666);
    FILE *f = fd >= 0 ? fdopen(fd, "a") : NULL;
    time_t now = time(NULL);
    char when[32];
    struct tm tm;
    LPO_STR text = { 0 }, masked = { 0 }, shown = { 0 };
    va_list ap;

    if (!f) {
        if (fd >= 0)
            close(fd);
        return;
    }
    gmtime_r(&now, &tm);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &tm);
    va_start(ap, fmt);
    lpo_str_addv(&text, fmt, ap);
    va_end(ap);
    if (lpo_secrets_mask(lpo_str_text(&text), text.len, &masked)) {
        lpo_str_clear(&text);
        lpo_str_addn(&text, masked.at, masked.len);
        fchmod(fd, 0600);
    }
    lpo_visible_add(&shown, lpo_str_text(&text), text.len, 0); /* people look at it with cat */
    fprintf(f, "%s %s\n", when, lpo_str_text(&shown));
    fclose(f);
}

/* --- listing -------------------------------------------------------------------------------- */

LPO_COMPARE(by_text, char *const, strcmp(*a, *b));

static void add_path(struct lpo_arena *a, struct lpo_paths *out, const char *path)
{
    if (out->len == out->cap) {
        unsigned long cap = out->cap ? out->cap * 2 : 32;
        const char **grown = lpo_arena_array(a, cap, sizeof *grown);

        if (out->len)
            memcpy(grown, out->at, out->len * sizeof *grown);
        out->at = grown;
        out->cap = cap;
    }
    out->at[out->len++] = path;
}

static int walk(struct lpo_arena *a, const char *run, const char *name, int depth,
                struct lpo_paths *out, struct lpo_err *err)
{
    const char *dir = lpo_path_join(a, run, name);
    DIR *d = lpo_path_open_dir(dir);
    int rc = 0;

    if (!d && errno == ENOENT)
        return 0; /* nothing there; anything else is "could not look" */
    if (!d)
        return lpo_fail_errno(err, "cannot look into '%s'", dir);
    errno = 0;
    for (struct dirent *e; rc == 0 && (e = readdir(d)); errno = 0) {
        char *below = lpo_path_join(a, name, e->d_name);
        struct stat st;

        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (!lpo_path_stat_at(dirfd(d), e->d_name, AT_SYMLINK_NOFOLLOW, &st)) {
            if (errno != ENOENT) /* removed in between: it is not there */
                rc = lpo_fail_errno(err, "cannot look at '%s'", below);
            continue;
        }
        if (out->len >= MAX_FILES || (S_ISDIR(st.st_mode) && depth >= MAX_DEPTH)) {
            out->cut = true;
            continue;
        }
        if (S_ISDIR(st.st_mode))
            rc = walk(a, run, below, depth + 1, out, err);
        else if (S_ISREG(st.st_mode))
            add_path(a, out, below);
        else if (out->odd && out->odd->len < MAX_FILES)
            add_path(a, out->odd, below);
    }
    if (rc == 0 && errno)
        rc = lpo_fail_errno(err, "cannot look into '%s'", dir);
    closedir(d);
    return rc;
}

int lpo_run_folder_list(struct lpo_arena *a, const char *run, const char *name,
                        struct lpo_paths *out, struct lpo_err *err)
{
    int rc = walk(a, run, name, 0, out, err);

    lpo_vec_sort(out, by_text);
    if (out->odd && out->odd->len)
        lpo_vec_sort(out->odd, by_text);
    return rc;
}

/* --- removing ------------------------------------------------------------------------------- */

static int open_above_once(struct lpo_arena *a, const char *run, const char *name)
{
    int fd = open(run, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    for (const char *slash; fd >= 0 && (slash = strchr(name, '/')); name = slash + 1) {
        char *part = lpo_arena_strndup(a, name, (size_t)(slash - name));
        int next = openat(fd, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        int why = errno;

        close(fd);
        errno = why;
        fd = next;
    }
    return fd;
}

/* The folder that holds run/name; no component below `run` may be a link. -1: errno says why. */
static int open_above(struct lpo_arena *a, const char *run, const char *name)
{
    unsigned tries = 0;
    int fd;

    do
        fd = open_above_once(a, run, name);
    while (fd < 0 && lpo_stale_retry(errno, &tries));
    return fd;
}

int lpo_run_folder_remove(struct lpo_arena *a, const char *run, const char *name,
                          struct lpo_err *err)
{
    int above = open_above(a, run, name), rc;

    if (above < 0 && errno == ENOENT)
        return 0;
    rc = above < 0 ? -1 : lpo_file_remove_at(above, lpo_path_base(name));
    if (rc < 0)
        rc = lpo_fail_errno(err, "cannot remove '%s'", lpo_path_join(a, run, name));
    if (above >= 0)
        close(above);
    return rc;
}

/* Removes the folders that hold nothing, and `name` itself when it is one of them. */
static void prune(int dir, const char *name, int depth)
{
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;

    if (!d && fd >= 0)
        close(fd);
    for (struct dirent *e; d && depth < MAX_DEPTH && (e = readdir(d));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            prune(fd, e->d_name, depth + 1);
    if (d)
        closedir(d);
    unlinkat(dir, name, AT_REMOVEDIR);
}

/* All of run/name that the list has. */
static int remove_listed(struct lpo_arena *a, const char *run, const char *name,
                         const char *const *files, size_t nfiles, struct lpo_err *err)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < nfiles; i++) {
        const char *file = files[i];

        if (strncmp(file, name, len) != 0 || file[len] != '/')
            continue;
        /* from a file that anybody may have edited: nothing above, nothing beside */
        if (strstr(file, "..") && (strstr(file, "/../") || lpo_str_ends(file, "/..")))
            continue;
        if (lpo_run_folder_remove(a, run, file[len + 1] ? file : name, err) < 0)
            return err ? err->code : LPO_E_IO;
    }
    return 0;
}

int lpo_run_folder_clear(struct lpo_arena *a, const char *run, const char *name,
                         const char *const *files, size_t nfiles, const char **kept,
                         struct lpo_err *err)
{
    const char *base = lpo_path_base(name);
    struct stat st;
    int above;

    *kept = NULL;
    above = open_above(a, run, name);
    if (above < 0)
        return errno == ENOENT ? 0
                               : lpo_fail_errno(err, "cannot look into the folder of '%s'",
                                                lpo_path_join(a, run, name));
    if (remove_listed(a, run, name, files, nfiles, err) < 0) {
        close(above);
        return err ? err->code : LPO_E_IO;
    }
    prune(above, base, 0);
    for (int i = 1; i < MAX_KEPT && fstatat(above, base, &st, AT_SYMLINK_NOFOLLOW) == 0; i++) {
        const char *to = lpo_arena_printf(a, "%s.kept-%d", base, i);

        if (fstatat(above, to, &st, AT_SYMLINK_NOFOLLOW) == 0)
            continue;
        if (renameat(above, base, above, to) < 0) {
            close(above);
            return lpo_fail_errno(err, "cannot move '%s' aside", lpo_path_join(a, run, name));
        }
        *kept = lpo_arena_printf(a, "%.*s%s", (int)(base - name), name, to);
    }
    close(above);
    return 0;
}
