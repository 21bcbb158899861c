/* SPDX-License-Identifier: Apache-2.0 */
/* Making, locking and publishing the folder; what is in it: folder_files.c. */
#include "run/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "util/file.h"
#include "util/path.h"
#include "util/stale.h"

enum { MAX_TRIES = 10000 };

/* --- what is at a place --------------------------------------------------------------------- */

enum place { PLACE_FREE, PLACE_EMPTY, PLACE_OURS, PLACE_FOREIGN, PLACE_ERROR };

/* run.json or summary.json (lpo kernels): folders from before there was a lock have only these. */
static bool is_ours(const char *name)
{
    return strcmp(name, LPO_RUN_LOCK) == 0 || strcmp(name, "run.json") == 0 ||
           strcmp(name, "summary.json") == 0;
}

static enum place look(const char *dir, struct lpo_err *err)
{
    bool ours = false, empty = true;
    DIR *d = lpo_path_open_dir(dir);

    if (!d && errno == ENOENT)
        return PLACE_FREE;
    if (!d) {
        lpo_fail_errno(err, "cannot look into '%s'", dir);
        return PLACE_ERROR;
    }
    for (struct dirent *e; (e = readdir(d));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        empty = false;
        ours |= is_ours(e->d_name);
    }
    closedir(d);
    return empty ? PLACE_EMPTY : ours ? PLACE_OURS : PLACE_FOREIGN;
}

/* Absolute, without a '/' at the end. A link, or a name like '.', is replaced by what it leads to:
 * the folder is renamed into place, and the link must stay. */
static int resolve(struct lpo_arena *a, const char *wanted, const char **out, struct lpo_err *err)
{
    char *path = lpo_path_absolute(a, wanted), *real;
    size_t len = strlen(path);
    const char *base;
    struct stat st;

    while (len > 1 && path[len - 1] == '/')
        path[--len] = '\0';
    base = lpo_path_base(path);
    *out = path;
    if (strcmp(base, ".") != 0 && strcmp(base, "..") != 0 &&
        (lstat(path, &st) < 0 || !S_ISLNK(st.st_mode)))
        return 0;
    real = realpath(path, NULL);
    if (!real)
        return lpo_fail_errno(err, "cannot follow '%s'", path);
    *out = lpo_arena_strdup(a, real);
    free(real);
    return 0;
}

/* The first name at which no run is yet: place, place-2, … from the i-th on. */
static int choose(struct lpo_arena *a, const char *wanted, int *i, const char **out,
                  enum place *what, struct lpo_err *err)
{
    for (; *i <= MAX_TRIES; ++*i) {
        const char *dir = *i == 1 ? wanted : lpo_arena_printf(a, "%s-%d", wanted, *i);

        *what = look(dir, err);
        if (*what == PLACE_ERROR)
            return err ? err->code : LPO_E_IO;
        if (*what == PLACE_FOREIGN && *i == 1)
            return lpo_fail(err, LPO_E_CONFIG,
                            "the folder '%s' is not empty and was not made by lpo, so lpo does not "
                            "write into it; name a new or empty one, for example "
                            "hydra.run.dir=%s/lpo-run",
                            dir, dir);
        if (*what == PLACE_FREE || *what == PLACE_EMPTY) {
            *out = dir;
            return 0;
        }
    }
    return lpo_fail(err, LPO_E_LIMIT, "'%s' and its %d numbered neighbours are all taken", wanted,
                    MAX_TRIES);
}

/* An empty folder is replaced by rename, unless people or the system hold on to this very one: the
 * working folder would be gone from under the shell, a mount point cannot be renamed over. */
static bool must_stay(struct lpo_arena *a, const char *dir)
{
    struct stat it, here, above;

    if (stat(dir, &it) < 0)
        return false;
    if (stat(".", &here) == 0 && here.st_dev == it.st_dev && here.st_ino == it.st_ino)
        return true;
    return stat(lpo_path_dir(a, dir), &above) == 0 && above.st_dev != it.st_dev;
}

/* --- the lock ------------------------------------------------------------------------------- */

static void write_holder(int fd)
{
    char text[200], host[65] = "?", when[32];
    time_t now = time(NULL);
    struct tm tm;
    int n;

    gethostname(host, sizeof host - 1);
    gmtime_r(&now, &tm);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &tm);
    n = snprintf(text, sizeof text, "process %d on %s since %s\n", (int)getpid(), host, when);
    /* for people only: the lock itself is the kernel's */
    if (ftruncate(fd, 0) < 0 || pwrite(fd, text, (size_t)n, 0) < 0)
        return;
}

static const char *read_holder(struct lpo_arena *a, int fd)
{
    char text[200];
    ssize_t n = pread(fd, text, sizeof text - 1, 0);

    for (ssize_t i = 0; i < n; i++)
        if (text[i] < ' ' || text[i] > '~') {
            n = i;
            break;
        }
    return n > 0 ? lpo_arena_strndup(a, text, (size_t)n) : "another process";
}

/* Where a file system has no locks (some network ones), the run goes on without. */
static int take_lock(struct lpo_arena *a, struct lpo_run_folder *f, struct lpo_err *err)
{
    const char *dir = f->dir;
    const char *path = lpo_path_join(a, dir, LPO_RUN_LOCK);
    const char *holder;
    unsigned tries = 0;
    int fd;

    do
        fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    while (fd < 0 && lpo_stale_retry(errno, &tries));
    if (fd < 0 && (errno == EACCES || errno == EROFS)) /* another user's: ask all the same */
        fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return lpo_fail_errno(err, "cannot open the lock '%s'", path);
    f->unlocked = flock(fd, LOCK_EX | LOCK_NB) < 0;
    if (f->unlocked && errno == EWOULDBLOCK) {
        holder = read_holder(a, fd);
        close(fd);
        return lpo_fail(err, LPO_E_USAGE,
                        "the run folder '%s' is in use by %s; wait until it has ended", dir,
                        holder);
    }
    write_holder(fd);
    f->lock_fd = fd;
    return 0;
}

/* --- making one ----------------------------------------------------------------------------- */

/* A folder of an unguessable name beside the place. Its own lock keeps the sweep of another lpo
 * away; when that came first, in the moment before the lock, another one is made. */
static int make_beside(struct lpo_arena *a, struct lpo_run_folder *f, struct lpo_err *err)
{
    const char *above = lpo_path_dir(a, f->place);
    unsigned tries = 0;

    if (lpo_file_make_dirs(above, err) < 0)
        return err ? err->code : LPO_E_IO;
    lpo_file_sweep(above, false);
    for (int i = 0; i < 100; i++) {
        char name[LPO_TEMP_NAME];
        struct stat st, held;

        lpo_file_temp_name(name);
        f->dir = lpo_path_join(a, above, name);
        if (mkdir(f->dir, 0777) < 0) {
            if (errno == EEXIST || lpo_stale_retry(errno, &tries))
                continue;
            return lpo_fail_errno(err, "cannot make a folder in '%s'", above);
        }
        f->dir_fd = open(f->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (f->dir_fd < 0 && (errno == ENOENT || lpo_stale_retry(errno, &tries)))
            continue; /* swept before it could be opened: other ranks begin at the same time */
        if (f->dir_fd < 0)
            return lpo_fail_errno(err, "cannot make a folder in '%s'", above);
        if (lpo_file_keep(f->dir_fd) && fstat(f->dir_fd, &held) == 0 && lstat(f->dir, &st) == 0 &&
            st.st_ino == held.st_ino)
            return 0;
        close(f->dir_fd);
        f->dir_fd = -1;
    }
    return lpo_fail(err, LPO_E_IO, "cannot make a folder in '%s'", above);
}

int lpo_run_folder_begin(struct lpo_arena *a, const char *wanted, struct lpo_run_folder *out,
                         struct lpo_err *err)
{
    struct lpo_run_folder f = { .building = true, .lock_fd = -1, .dir_fd = -1 };
    const char *chosen = NULL;
    enum place what;
    int i = 1;

    *out = (struct lpo_run_folder){ .lock_fd = -1, .dir_fd = -1 };
    if (resolve(a, wanted, &f.place, err) < 0 || choose(a, f.place, &i, &chosen, &what, err) < 0)
        return lpo_ctx(err, "cannot make the run folder; set hydra.run.dir to another place");
    if (what == PLACE_EMPTY && must_stay(a, chosen)) {
        f.in_place = true;
        f.dir = chosen;
        f.dir_fd = open(f.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    } else if (make_beside(a, &f, err) < 0) {
        if (f.dir)
            rmdir(f.dir);
        return lpo_ctx(err, "cannot make the run folder; set hydra.run.dir to another place");
    }
    lpo_file_building(f.in_place ? NULL : f.dir);
    *out = f;
    if (take_lock(a, out, err) < 0) {
        lpo_run_folder_close(out);
        return lpo_ctx(err, "cannot make the run folder; set hydra.run.dir to another place");
    }
    return 0;
}

/* rename() of a folder replaces nothing but an empty folder, so a race is lost without harm: then
 * the next number is tried. */
int lpo_run_folder_publish(struct lpo_arena *a, struct lpo_run_folder *f, struct lpo_err *err)
{
    unsigned tries = 0;
    int above, i = 1;

    while (fsync(f->dir_fd) < 0 && errno != EINVAL)
        if (!lpo_stale_retry(errno, &tries))
            return lpo_fail_errno(err, "cannot write the run folder '%s'", f->dir);
    while (!f->in_place) {
        const char *chosen = NULL;
        enum place what;

        if (choose(a, f->place, &i, &chosen, &what, err) < 0)
            return err ? err->code : LPO_E_IO;
        if (f->only_here && i > 1)
            return lpo_fail(err, LPO_E_USAGE, "another run was put at '%s' first", f->place);
        if (rename(f->dir, chosen) == 0) {
            f->dir = chosen;
            break;
        }
        if (errno != ENOTEMPTY && errno != EEXIST && !lpo_stale_retry(errno, &tries))
            return lpo_fail_errno(err, "cannot put the run folder '%s' in place", chosen);
    }
    f->building = false;
    lpo_file_building(NULL);
    above = open(lpo_path_dir(a, f->dir), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (above >= 0) {
        fsync(above); /* some file systems cannot; the run goes on */
        close(above);
    }
    return 0;
}

void lpo_run_folder_link_latest(struct lpo_arena *a, const char *dir)
{
    const char *above = lpo_path_dir(a, dir), *link = lpo_path_join(a, above, "latest"), *temp;
    char name[LPO_TEMP_NAME];
    struct stat st;

    if (lstat(link, &st) == 0 && !S_ISLNK(st.st_mode))
        return;
    lpo_file_temp_name(name);
    temp = lpo_path_join(a, above, name);
    if (symlink(lpo_path_base(dir), temp) == 0 && rename(temp, link) < 0)
        unlink(temp);
}

bool lpo_run_folder_is_used(const char *dir)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    int fd =
        open(lpo_path_join(a, dir, LPO_RUN_LOCK), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool used;

    if (fd < 0)
        return false;
    used = flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
    close(fd);
    return used;
}

int lpo_run_folder_open(struct lpo_arena *a, const char *dir, struct lpo_run_folder *out,
                        struct lpo_err *err)
{
    *out = (struct lpo_run_folder){ .dir = lpo_path_absolute(a, dir), .lock_fd = -1, .dir_fd = -1 };
    if (!lpo_path_exists(lpo_path_join(a, out->dir, "run.json")))
        return lpo_fail(err, LPO_E_USAGE, "'%s' is not a run folder: it has no run.json", dir);
    if (take_lock(a, out, err) < 0)
        return err ? err->code : LPO_E_IO;
    lpo_file_sweep(out->dir, true); /* what the run before left half-written */
    return 0;
}

int lpo_run_folder_claim(struct lpo_arena *a, const char *dir, struct lpo_run_folder *out,
                         struct lpo_err *err)
{
    enum place what;

    *out = (struct lpo_run_folder){ .dir = lpo_path_absolute(a, dir), .lock_fd = -1, .dir_fd = -1 };
    what = look(out->dir, err);
    if (what == PLACE_ERROR)
        return err ? err->code : LPO_E_IO;
    if (what == PLACE_FOREIGN)
        return lpo_fail(err, LPO_E_USAGE,
                        "the folder '%s' is not empty and was not made by lpo, so lpo does not "
                        "write into it; name a new or empty one: -o %s/lpo-report",
                        dir, dir);
    if (what == PLACE_OURS && lpo_path_exists(lpo_path_join(a, out->dir, "run.json")))
        return lpo_fail(err, LPO_E_USAGE,
                        "the folder '%s' holds another run, and its reports would be replaced; "
                        "name another one with -o",
                        dir);
    if (lpo_file_make_dirs(out->dir, err) < 0 || take_lock(a, out, err) < 0)
        return err ? err->code : LPO_E_IO;
    lpo_file_sweep(out->dir, true);
    return 0;
}

void lpo_run_folder_close(struct lpo_run_folder *f)
{
    if (f->building && f->dir && !f->in_place) {
        lpo_file_remove_at(AT_FDCWD, f->dir);
        lpo_file_building(NULL);
    }
    if (f->lock_fd >= 0)
        close(f->lock_fd);
    if (f->dir_fd >= 0)
        close(f->dir_fd);
    *f = (struct lpo_run_folder){ .lock_fd = -1, .dir_fd = -1 };
}
