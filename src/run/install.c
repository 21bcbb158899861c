/* SPDX-License-Identifier: Apache-2.0 */
#include "run/install.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "run/carried.h"
#include "util/file.h"
#include "util/path.h"
#include "util/tar.h"

/* Beside the binary; under its build folder; in the source tree; in an installation. */
static const char *const places[] = {
    ".",
    "workloads",
    "demo",
    "src/collect",
    "..",
    "../workloads",
    "../libexec/llm-perf-opt",
    "../share/llm-perf-opt",
    "../share/llm-perf-opt/workloads",
    "../lib/llm-perf-opt",
    "../lib/x86_64-linux-gnu/llm-perf-opt",
    "../lib/aarch64-linux-gnu/llm-perf-opt",
    "../lib64/llm-perf-opt",
};

/* Where the program unpacks what it has inside: the user's cache, else the folder for temporary
 * files. There other users can write, so that folder must be ours alone. */
static const char *cache_folder(struct lpo_arena *a)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME"), *temp = getenv("TMPDIR");
    const char *base = cache && *cache ? cache : lpo_path_join(a, home ? home : "", ".cache");
    struct lpo_err ignored = { 0 };
    struct stat st;

    base = lpo_path_join(a, base, "llm-perf-opt");
    if (*base == '/' && lpo_file_make_dirs(base, &ignored) == 0 && access(base, W_OK) == 0)
        return base;
    base = lpo_arena_printf(a, "%s/llm-perf-opt-%u", temp && *temp ? temp : "/tmp",
                            (unsigned)geteuid());
    mkdir(base, 0700);
    if (lstat(base, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
        (st.st_mode & 022))
        return NULL;
    return base;
}

/* Unpacked beside its place and renamed: whoever finds the folder finds all of it. */
static bool unpack_carried(struct lpo_arena *a, const char *folder)
{
    const char *beside = lpo_arena_printf(a, "%s.%ld", folder, (long)getpid());
    unsigned long bytes = lpo_run_carried_whole;
    char *tar = lpo_arena_alloc(a, bytes);
    struct lpo_err ignored = { 0 };

    if (uncompress((unsigned char *)tar, &bytes, (const unsigned char *)lpo_run_carried,
                   lpo_run_carried_len) != Z_OK ||
        lpo_tar_unpack(a, tar, bytes, beside, &ignored) < 0 || rename(beside, folder) < 0)
        lpo_file_remove_at(AT_FDCWD, beside);
    return lpo_path_is_dir(folder);
}

/* A single binary has conf and the demo inside; in the others there is nothing. */
static const char *find_carried(struct lpo_arena *a, const char *name)
{
    const char *cache = lpo_run_carried_len ? cache_folder(a) : NULL, *folder, *path;

    if (!cache)
        return NULL;
    folder = lpo_arena_printf(a, "%s/" LPO_VERSION "-%s", cache, lpo_run_carried_mark);
    if (!lpo_path_is_dir(folder) && !unpack_carried(a, folder))
        return NULL;
    path = lpo_path_join(a, folder, name);
    return lpo_path_exists(path) ? path : NULL;
}

const char *lpo_run_install_find(struct lpo_arena *a, const char *name)
{
    const char *base = lpo_path_program_dir(a);

    for (size_t i = 0; base && i < sizeof places / sizeof *places; i++) {
        char *path = lpo_path_join(a, lpo_path_join(a, base, places[i]), name);
        char *real = lpo_path_exists(path) ? realpath(path, NULL) : NULL;

        if (real) {
            path = lpo_arena_strdup(a, real);
            free(real);
            return path;
        }
    }
    return find_carried(a, name);
}

const char *lpo_run_install_user_dir(struct lpo_arena *a)
{
    const char *base = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

    if (base && *base)
        return lpo_path_join(a, base, "llm-perf-opt");
    return home && *home ? lpo_path_join(a, home, ".config/llm-perf-opt") : NULL;
}

const char **lpo_run_install_config_dirs(struct lpo_arena *a)
{
    const char **dirs = lpo_arena_array(a, 4, sizeof *dirs);
    const char *others[] = { getenv("LPO_CONFIG_DIR"), lpo_run_install_user_dir(a),
                             lpo_run_install_find(a, "conf") };
    size_t n = 0;

    for (size_t i = 0; i < 3; i++)
        if (others[i] && *others[i] && lpo_path_is_dir(others[i]))
            dirs[n++] = others[i];
    return dirs;
}
