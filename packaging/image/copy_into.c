/* SPDX-License-Identifier: Apache-2.0 */
/* copy-into FROM TO: a folder with all that is in it, for an image that has no shell and no cp.
 *
 * An init container runs it to put lpo into a volume of a pod. Linked statically, so that it runs
 * whatever else the image has. Files are written beside their place and renamed: a program in the
 * pod that looks too early sees a whole file or none. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH = 32, PATH = 4096, PIECE = 65536 };

static int fail(const char *what, const char *path)
{
    fprintf(stderr, "copy-into: %s '%s': %s\n", what, path, strerror(errno));
    return -1;
}

static int copy_bytes(int in, int out, const char *path)
{
    static char piece[PIECE];
    ssize_t n;

    while ((n = read(in, piece, sizeof piece)) > 0)
        for (ssize_t done = 0, k; done < n; done += k)
            if ((k = write(out, piece + done, (size_t)(n - done))) < 0)
                return fail("cannot write", path);
    return n < 0 ? fail("cannot read", path) : 0;
}

static int copy_file(const char *from, const char *to, mode_t mode)
{
    char temp[PATH];
    int in = open(from, O_RDONLY | O_CLOEXEC), out = -1, rc = -1;

    if (in < 0)
        return fail("cannot open", from);
    if (snprintf(temp, sizeof temp, "%s.new", to) < (int)sizeof temp)
        out = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, mode & 0777);
    if (out < 0)
        fail("cannot make", to);
    else if (copy_bytes(in, out, to) == 0 && fchmod(out, mode & 0777) == 0)
        rc = rename(temp, to) == 0 ? 0 : fail("cannot name", to);
    close(in);
    if (out >= 0)
        close(out);
    return rc;
}

static int copy_link(const char *from, const char *to)
{
    char target[PATH];
    ssize_t n = readlink(from, target, sizeof target - 1);

    if (n < 0)
        return fail("cannot read", from);
    target[n] = '\0';
    unlink(to);
    return symlink(target, to) == 0 ? 0 : fail("cannot make", to);
}

static int copy(const char *from, const char *to, int depth);

static int copy_folder(const char *from, const char *to, mode_t mode, int depth)
{
    char a[PATH], b[PATH];
    struct dirent *e;
    DIR *d = opendir(from);
    int rc = 0;

    if (!d)
        return fail("cannot open", from);
    if (mkdir(to, mode & 0777) < 0 && errno != EEXIST)
        rc = fail("cannot make", to);
    while (rc == 0 && (e = readdir(d))) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        errno = ENAMETOOLONG;
        if (snprintf(a, sizeof a, "%s/%s", from, e->d_name) >= (int)sizeof a ||
            snprintf(b, sizeof b, "%s/%s", to, e->d_name) >= (int)sizeof b)
            rc = fail("cannot copy", from);
        else
            rc = copy(a, b, depth + 1);
    }
    closedir(d);
    return rc;
}

static int copy(const char *from, const char *to, int depth)
{
    struct stat st;

    if (lstat(from, &st) < 0)
        return fail("cannot look at", from);
    if (S_ISLNK(st.st_mode))
        return copy_link(from, to);
    if (S_ISREG(st.st_mode))
        return copy_file(from, to, st.st_mode);
    errno = ELOOP;
    if (!S_ISDIR(st.st_mode) || depth > DEPTH)
        return fail("cannot copy", from);
    return copy_folder(from, to, st.st_mode, depth);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: copy-into FROM TO\n");
        return 2;
    }
    return copy(argv[1], argv[2], 0) < 0;
}
