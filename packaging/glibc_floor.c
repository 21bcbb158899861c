/* SPDX-License-Identifier: Apache-2.0 */
/* The portable build's way to run on glibc 2.28 although it is linked against a newer one.
 *
 * A linker binds each name to the newest version that its own libc has, so a program built on
 * Debian 12 asks for dlopen@GLIBC_2.34 and does not start on an older machine, although dlopen has
 * not changed: glibc 2.34 only moved it from libdl into libc. This file defines those names inside
 * our own binaries, also for the libraries that we link statically, and passes each call on to the
 * oldest version, which every later glibc still has. Nothing here is exported.
 *
 * tests/packaging/test_glibc_floor.py and scripts/dist.sh fail when a binary needs a version above
 * the floor: add the name here then. */
#ifndef __x86_64__
#error "the versions below are those of x86-64"
#endif

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define OLD(name) __asm__(".symver old_" #name ", " #name "@GLIBC_2.2.5")
/* One function: its result, its name, its parameters, its arguments. */
#define PASS_ON(result, name, parameters, arguments)                                               \
    OLD(name);                                                                                     \
    extern result old_##name parameters;                                                           \
    result name parameters                                                                         \
    {                                                                                              \
        return old_##name arguments;                                                               \
    }

PASS_ON(void *, dlopen, (const char *file, int mode), (file, mode))
PASS_ON(void *, dlsym, (void *restrict handle, const char *restrict name), (handle, name))
PASS_ON(int, dlclose, (void *handle), (handle))
PASS_ON(char *, dlerror, (void), ())
PASS_ON(int, dladdr, (const void *address, Dl_info *info), (address, info))
PASS_ON(int, pthread_key_create, (pthread_key_t * key, void (*destroy)(void *)), (key, destroy))
PASS_ON(int, pthread_setspecific, (pthread_key_t key, const void *value), (key, value))
PASS_ON(int, pthread_create,
        (pthread_t *restrict thread, const pthread_attr_t *restrict attr, void *(*run)(void *),
         void *restrict argument),
        (thread, attr, run, argument))
PASS_ON(int, pthread_detach, (pthread_t thread), (thread))
PASS_ON(int, pthread_sigmask, (int how, const sigset_t *restrict set, sigset_t *restrict before),
        (how, set, before))
PASS_ON(int, pthread_attr_setstacksize, (pthread_attr_t * attr, size_t bytes), (attr, bytes))
PASS_ON(int, pthread_mutex_trylock, (pthread_mutex_t * mutex), (mutex))

/* These came later than 2.2.5, so their oldest versions have other numbers. */
__asm__(".symver old_pthread_condattr_setclock, pthread_condattr_setclock@GLIBC_2.3.3");
extern int old_pthread_condattr_setclock(pthread_condattr_t *attributes, clockid_t clock);
int pthread_condattr_setclock(pthread_condattr_t *attributes, clockid_t clock)
{
    return old_pthread_condattr_setclock(attributes, clock);
}

__asm__(".symver old_pthread_setattr_default_np, pthread_setattr_default_np@GLIBC_2.18");
extern int old_pthread_setattr_default_np(const pthread_attr_t *attributes);
int pthread_setattr_default_np(const pthread_attr_t *attributes)
{
    return old_pthread_setattr_default_np(attributes);
}

/* Until glibc 2.33 these were inline functions around a call that names the layout of the struct;
 * 1 is the only layout that x86-64 has. */
enum { LAYOUT = 1 };
int __xstat64(int layout, const char *path, struct stat64 *out);
int __lxstat64(int layout, const char *path, struct stat64 *out);
int __fxstat64(int layout, int fd, struct stat64 *out);
int __fxstatat64(int layout, int dir, const char *path, struct stat64 *out, int flags);

int stat64(const char *restrict path, struct stat64 *restrict out)
{
    return __xstat64(LAYOUT, path, out);
}

int lstat64(const char *restrict path, struct stat64 *restrict out)
{
    return __lxstat64(LAYOUT, path, out);
}

int fstat64(int fd, struct stat64 *out)
{
    return __fxstat64(LAYOUT, fd, out);
}

int fstatat64(int dir, const char *restrict path, struct stat64 *restrict out, int flags)
{
    return __fxstatat64(LAYOUT, dir, path, out, flags);
}

#ifdef LPO_FLOOR_PROGRAM /* what only the programs need, not the collector */

PASS_ON(double, exp, (double x), (x))
PASS_ON(double, log, (double x), (x))
PASS_ON(double, pow, (double x, double y), (x, y))
PASS_ON(int, pthread_join, (pthread_t thread, void **result), (thread, result))
PASS_ON(int, pthread_once, (pthread_once_t * once, void (*run)(void)), (once, run))
PASS_ON(int, pthread_mutexattr_init, (pthread_mutexattr_t * attr), (attr))
PASS_ON(int, pthread_mutexattr_settype, (pthread_mutexattr_t * attr, int type), (attr, type))
PASS_ON(int, pthread_mutexattr_destroy, (pthread_mutexattr_t * attr), (attr))

/* Before glibc 2.34 a program brought its own function that runs its constructors, and libc called
 * it; the start code of a newer glibc passes NULL instead, and an old libc would run none. */
extern void _init(void);
extern void (*__init_array_start[])(int, char **, char **);
extern void (*__init_array_end[])(int, char **, char **);

static void run_constructors(int argc, char **argv, char **env)
{
    size_t n = (size_t)(__init_array_end - __init_array_start);

    _init();
    for (size_t i = 0; i < n; i++)
        __init_array_start[i](argc, argv, env);
}

typedef int main_function(int argc, char **argv, char **env);
typedef void init_function(int argc, char **argv, char **env);

OLD(__libc_start_main);
extern int old___libc_start_main(main_function *main, int argc, char **argv, init_function *init,
                                 void (*fini)(void), void (*rtld_fini)(void), void *stack_end);
int __libc_start_main(main_function *main, int argc, char **argv, init_function *init,
                      void (*fini)(void), void (*rtld_fini)(void), void *stack_end);

int __libc_start_main(main_function *main, int argc, char **argv, init_function *init,
                      void (*fini)(void), void (*rtld_fini)(void), void *stack_end)
{
    return old___libc_start_main(main, argc, argv, init ? init : run_constructors, fini, rtld_fini,
                                 stack_end);
}

/* Two steps of posix_spawn that glibc 2.28 does not have. Where the machine's glibc has them they
 * are used. Elsewhere the open files are listed now instead of in the child, and the folder is
 * changed around the spawn; lpo spawns from its main thread, and opens no relative path elsewhere
 * meanwhile. */
static char *child_folder;

int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *files, int from)
{
    int (*real)(posix_spawn_file_actions_t *, int) =
        (int (*)(posix_spawn_file_actions_t *, int))old_dlsym(
            RTLD_DEFAULT, "posix_spawn_file_actions_addclosefrom_np");
    struct dirent64 *entry;
    int rc = 0;
    DIR *open_files;

    if (real)
        return real(files, from);
    open_files = opendir("/proc/self/fd");
    if (!open_files)
        return errno;
    while (rc == 0 && (entry = readdir64(open_files))) {
        int fd = atoi(entry->d_name);

        if (fd >= from && fd != dirfd(open_files))
            rc = posix_spawn_file_actions_addclose(files, fd);
    }
    closedir(open_files);
    return rc;
}

int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *restrict files,
                                         const char *restrict path)
{
    int (*real)(posix_spawn_file_actions_t *, const char *) =
        (int (*)(posix_spawn_file_actions_t *, const char *))old_dlsym(
            RTLD_DEFAULT, "posix_spawn_file_actions_addchdir_np");

    if (real)
        return real(files, path);
    free(child_folder);
    child_folder = realpath(path, NULL);
    return child_folder ? 0 : errno;
}

__asm__(".symver old_posix_spawnp, posix_spawnp@GLIBC_2.15");
extern int old_posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *files,
                            const posix_spawnattr_t *attr, char *const argv[], char *const env[]);

int posix_spawnp(pid_t *restrict pid, const char *restrict file,
                 const posix_spawn_file_actions_t *files, const posix_spawnattr_t *restrict attr,
                 char *const argv[restrict], char *const env[restrict])
{
    int rc, here;

    if (!child_folder)
        return old_posix_spawnp(pid, file, files, attr, argv, env);
    here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    rc = here < 0 || chdir(child_folder) < 0 ? errno : 0;
    if (rc == 0)
        rc = old_posix_spawnp(pid, file, files, attr, argv, env);
    if (here >= 0) {
        if (fchdir(here) < 0 && rc == 0)
            rc = errno;
        close(here);
    }
    free(child_folder);
    child_folder = NULL;
    return rc;
}

#endif
