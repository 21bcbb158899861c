/* SPDX-License-Identifier: Apache-2.0 */
#include "util/path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "util/stale.h"

char *lpo_path_join(struct lpo_arena *a, const char *dir, const char *name)
{
    size_t n = strlen(dir);

    if (n == 0 || name[0] == '/')
        return lpo_arena_strdup(a, name);
    if (name[0] == '\0')
        return lpo_arena_strdup(a, dir);
    return lpo_arena_printf(a, "%s%s%s", dir, dir[n - 1] == '/' ? "" : "/", name);
}

char *lpo_path_dir(struct lpo_arena *a, const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!slash)
        return lpo_arena_strdup(a, ".");
    return lpo_arena_strndup(a, path, slash == path ? 1 : (size_t)(slash - path));
}

const char *lpo_path_base(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

char *lpo_path_absolute(struct lpo_arena *a, const char *path)
{
    char cwd[4096];

    if (path[0] == '/' || !getcwd(cwd, sizeof cwd))
        return lpo_arena_strdup(a, path);
    return lpo_path_join(a, cwd, path);
}

bool lpo_path_exists(const char *path)
{
    unsigned tries = 0;

    while (access(path, F_OK) < 0)
        if (!lpo_stale_retry(errno, &tries))
            return false;
    return true;
}

bool lpo_path_stat(const char *path, struct stat *st)
{
    return lpo_path_stat_at(AT_FDCWD, path, 0, st);
}

bool lpo_path_stat_at(int dir, const char *name, int flags, struct stat *st)
{
    unsigned tries = 0;

    while (fstatat(dir, name, st, flags) < 0)
        if (!lpo_stale_retry(errno, &tries))
            return false;
    return true;
}

DIR *lpo_path_open_dir(const char *path)
{
    unsigned tries = 0;
    DIR *d;

    do
        d = opendir(path);
    while (!d && lpo_stale_retry(errno, &tries));
    return d;
}

bool lpo_path_is_dir(const char *path)
{
    struct stat st;

    return lpo_path_stat(path, &st) && S_ISDIR(st.st_mode);
}

/* A folder passes access(X_OK) too. */
static bool runnable(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

char *lpo_path_which(struct lpo_arena *a, const char *name)
{
    const char *at = getenv("PATH");

    if (strchr(name, '/'))
        return runnable(name) ? lpo_arena_strdup(a, name) : NULL;
    if (!at || !*name)
        return NULL;
    while (*at) {
        size_t n = strcspn(at, ":");
        /* an empty part of PATH is the current folder */
        char *dir = n ? lpo_arena_strndup(a, at, n) : lpo_arena_strdup(a, ".");
        char *full = lpo_path_join(a, dir, name);

        if (runnable(full))
            return full;
        at += n + (at[n] == ':');
    }
    return NULL;
}

static bool safe_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
}

/* Names come from programs: a slash, a dot at the front or 4,000 bytes must not decide where a file
 * goes. Two names that become the same are kept apart by the hash. */
void lpo_path_add_safe(struct lpo_str *s, const char *name, size_t len)
{
    enum { MAX = 80, HASH = 9 };
    bool changed = len == 0 || len > MAX || name[0] == '.' || name[0] == '-';
    size_t keep;

    for (size_t i = 0; i < len && !changed; i++)
        changed = !safe_byte(name[i]);
    keep = changed && len > MAX - HASH ? MAX - HASH : len;
    for (size_t i = 0; i < keep; i++) {
        bool ok = safe_byte(name[i]) && !(i == 0 && (name[i] == '.' || name[i] == '-'));

        lpo_str_addc(s, ok ? name[i] : '_');
    }
    if (changed)
        lpo_str_addf(s, "-%08x", (unsigned)lpo_str_hash(name, len));
}

char *lpo_path_program(struct lpo_arena *a)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    const char *given;

    if (n > 0)
        return lpo_arena_strndup(a, self, (size_t)n);
    /* a chroot or a container without /proc: what the kernel was asked to run */
    given = (const char *)getauxval(AT_EXECFN); // NOLINT(performance-no-int-to-ptr): the kernel's
    return given && realpath(given, self) ? lpo_arena_strdup(a, self) : NULL;
}

char *lpo_path_program_dir(struct lpo_arena *a)
{
    const char *self = lpo_path_program(a);

    return self ? lpo_path_dir(a, self) : NULL;
}
