/* SPDX-License-Identifier: Apache-2.0 */
#include "run/control.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/time.h>
#include <unistd.h>

#include "lpo/control.h"
#include "util/path.h"

enum {
    ANSWER_S = 5, /* a program that is stopped does not answer */
    TRIES = 3,    /* a collector hangs up on who connects and says nothing for 200 ms */
};

/* A connected socket; -1: nobody listens there any more. */
static int connect_to(int folder, const char *name)
{
    struct timeval limit = { .tv_sec = ANSWER_S };
    struct sockaddr_un address;
    socklen_t len = lpo_control_address(&address, folder, name);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (connect(fd, (struct sockaddr *)&address, len) == 0)
        return fd;
    close(fd);
    return -1;
}

static void take_line(struct lpo_arena *a, struct lpo_control_answer *out, const char *line)
{
    const char *value = strchr(line, ' ');
    const size_t len = value ? (size_t)(value - line) : 0;
    const struct {
        const char *key;
        uint64_t *at;
    } counts[] = { { "windows", &out->windows },
                   { "seen", &out->seen },
                   { "recorded", &out->recorded } };

    if (!value)
        return;
    value++;
    if (len == 5 && strncmp(line, "error", 5) == 0)
        out->error = lpo_arena_strdup(a, value);
    else if (len == 3 && strncmp(line, "pid", 3) == 0)
        out->pid = strtoll(value, NULL, 10);
    else if (len == 9 && strncmp(line, "recording", 9) == 0)
        out->recording = value[0] == '1';
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (strlen(counts[i].key) == len && strncmp(line, counts[i].key, len) == 0)
            *counts[i].at = strtoull(value, NULL, 10);
}

/* False: it hung up without an answer, and did nothing. On a busy machine we may have been late. */
static bool ask(struct lpo_arena *a, int fd, const char *request, struct lpo_control_answer *out)
{
    char reply[LPO_CONTROL_REPLY_MAX + 1], *save = NULL;
    size_t len = 0;
    bool silent;
    ssize_t n = send(fd, request, strlen(request), MSG_NOSIGNAL);

    while (n > 0 && len < sizeof reply - 1 &&
           (n = recv(fd, reply + len, sizeof reply - 1 - len, 0)) > 0)
        len += (size_t)n;
    silent = !len && n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
    reply[len] = 0;
    out->pid = -1;
    for (char *line = strtok_r(reply, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        take_line(a, out, line);
    if (out->pid < 0)
        out->error = silent ? "the program does not answer: it may be stopped"
                     : len  ? "what answers is not lpo's collector, or is one of another version"
                            : "refused: the program runs as another user";
    return silent || len;
}

LPO_COMPARE(by_name, char *const, strcmp(*a, *b));

/* Names in a folder, in order. */
struct names {
    const char **at;
    size_t len;
};

static bool is_socket(struct lpo_arena *a, const char *dir, const char *name)
{
    (void)a;
    (void)dir;
    return lpo_str_ends(name, LPO_CONTROL_SUFFIX);
}

static bool is_folder(struct lpo_arena *a, const char *dir, const char *name)
{
    return *name != '.' && lpo_path_is_dir(lpo_path_join(a, dir, name));
}

static struct names list(struct lpo_arena *a, const char *dir,
                         bool (*wanted)(struct lpo_arena *a, const char *dir, const char *name))
{
    struct names n = { lpo_arena_alloc(a, LPO_CONTROL_MOST * sizeof *n.at), 0 };
    DIR *d = opendir(dir);

    for (struct dirent *e; d && n.len < LPO_CONTROL_MOST && (e = readdir(d));)
        if (wanted(a, dir, e->d_name))
            n.at[n.len++] = lpo_arena_strdup(a, e->d_name);
    if (d)
        closedir(d);
    lpo_vec_sort(&n, by_name);
    return n;
}

static void ask_folder(struct lpo_arena *a, const char *dir, const char *request,
                       struct lpo_control_answers *out)
{
    struct names names = list(a, dir, is_socket);
    int folder = names.len ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    for (size_t i = 0; folder >= 0 && i < names.len && out->len < LPO_CONTROL_MOST; i++) {
        bool done = false, listens = false;

        for (int k = 0; k < TRIES && !done; k++) {
            int fd = connect_to(folder, names.at[i]);

            if (fd < 0)
                break;
            listens = true;
            out->at[out->len] = (struct lpo_control_answer){ .name = names.at[i] };
            done = ask(a, fd, request, &out->at[out->len]);
            close(fd);
        }
        out->len += listens;
    }
    if (folder >= 0)
        close(folder);
}

/* A run folder has one for each stage; the collector is in that of the stage that loaded it. */
static void ask_folders_in(struct lpo_arena *a, const char *dir, const char *request,
                           struct lpo_control_answers *out)
{
    struct names names = list(a, dir, is_folder);

    for (size_t i = 0; i < names.len; i++)
        ask_folder(a, lpo_path_join(a, dir, names.at[i]), request, out);
}

int lpo_run_control_send(struct lpo_arena *a, const char *dir, const char *request,
                         struct lpo_control_answers *out, struct lpo_err *err)
{
    const char *line = lpo_arena_printf(a, "%s\n", request);

    if (strcmp(request, "mark ") == 0)
        return lpo_fail(err, LPO_E_USAGE, "a mark needs a text: lpo ctl DIR mark TEXT");
    if (strlen(line) >= LPO_CONTROL_REQUEST_MAX || strchr(request, '\n'))
        return lpo_fail(err, LPO_E_USAGE, "a mark is one line of less than 500 bytes");
    if (!lpo_path_is_dir(dir))
        return lpo_fail(err, LPO_E_NOTFOUND, "there is no folder '%s'", dir);
    out->len = 0;
    out->at = lpo_arena_alloc(a, LPO_CONTROL_MOST * sizeof *out->at);
    ask_folder(a, dir, line, out);
    ask_folders_in(a, dir, line, out);
    return 0;
}
