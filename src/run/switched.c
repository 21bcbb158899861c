/* SPDX-License-Identifier: Apache-2.0 */
#include "run/switched.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lpo/control.h"
#include "run/child/interrupt.h"
#include "run/clock.h"
#include "run/server/server.h"
#include "util/path.h"

enum { TURN_MS = 200, CLIENT_MS = 500, MOST_WAITING = 16 };

static const int64_t switch_limit_ns = 300000000000; /* a profiler may have much to write */
static const int64_t sign_of_life_ns = 1000000000;   /* well below what `lpo ctl` waits */
static const int64_t grace_ns = 5000000000;

struct switched {
    struct lpo_arena *a;
    const char *dir;         /* of the socket */
    const char *begin, *end; /* the profiler's commands, one word in a line */
    int signal;              /* that begins and ends a window; 0: none */
    bool wait;
    struct lpo_words program;
    struct lpo_server_process child, switcher;
    int folder, socket, signals;
    char name[32];             /* of the socket */
    int clients[MOST_WAITING]; /* who asked, in order */
    size_t waiting;            /* so many of them */
    bool recording, asked;     /* `asked`: by the signal, and not done yet */
    bool interrupted;          /* before the program was started */
    uint64_t windows;          /* begun */
    const char *problem;       /* what became of the last command; NULL: it did its work */
};

/* --- the profiler's commands ---------------------------------------------------------------- */

static struct lpo_words words_of(struct switched *s, const char *lines)
{
    struct lpo_words out = { 0 };

    for (size_t len; *lines; lines += len + (lines[len] == '\n')) {
        const char *at;
        char *word;

        len = strcspn(lines, "\n");
        word = lpo_arena_printf(s->a, "%.*s", (int)len, lines);
        at = strstr(word, LPO_SWITCHED_WINDOW);
        if (at)
            word = lpo_arena_printf(s->a, "%.*s%llu%s", (int)(at - word), word,
                                    (unsigned long long)s->windows + 1,
                                    at + strlen(LPO_SWITCHED_WINDOW));
        lpo_run_words_add(s->a, &out, word);
    }
    return out;
}

static void reap(struct switched *s)
{
    struct lpo_server_process *all[] = { &s->child, &s->switcher };

    lpo_run_server_process_reap(all, 2);
}

/* INT, TERM and HUP are meant for the program, which has a group of its own. */
static void take_signals(struct switched *s)
{
    struct signalfd_siginfo info;

    while (read(s->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        int sig = (int)info.ssi_signo;

        if (sig == s->signal)
            s->asked = !s->asked; /* twice is back again */
        else if (sig != SIGCHLD && !s->child.pid)
            s->interrupted = true;
        else if (sig != SIGCHLD && !s->child.ended)
            kill(-s->child.pid, sig);
    }
}

/* Who asks waits in a queue: a command of the profiler may be under way. */
static void take_client(struct switched *s)
{
    int fd = s->waiting < MOST_WAITING ? accept4(s->socket, NULL, NULL, SOCK_CLOEXEC) : -1;

    if (fd >= 0 && lpo_control_same_user(fd))
        s->clients[s->waiting++] = fd;
    else if (fd >= 0)
        close(fd);
}

/* To its end, which may take minutes. Those who wait for it hear a sign of life: an empty line is
 * none of the protocol's keys. */
static void wait_for_switcher(struct switched *s)
{
    int64_t from = lpo_run_clock_ns(), told = from;

    while (!s->switcher.ended) {
        struct pollfd p[] = { { .fd = s->signals, .events = POLLIN },
                              { .fd = s->waiting < MOST_WAITING ? s->socket : -1,
                                .events = POLLIN } };
        int64_t now = lpo_run_clock_ns();
        bool tell = now - told >= sign_of_life_ns;

        if (now - from >= switch_limit_ns)
            lpo_run_server_process_end(&s->switcher, SIGTERM, grace_ns);
        for (size_t i = 0; tell && i < s->waiting; i++)
            send(s->clients[i], "\n", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
        told = tell ? now : told;
        poll(p, 2, TURN_MS);
        if (p[1].revents)
            take_client(s);
        take_signals(s);
        reap(s);
    }
}

static bool run_command(struct switched *s, const char *lines)
{
    struct lpo_words words = words_of(s, lines);
    struct lpo_err err = { 0 };
    LPO_STR how = { 0 };

    s->problem = NULL;
    if (lpo_run_server_process_start(&s->switcher, &words, false, true, &err) < 0) {
        s->problem = lpo_arena_strdup(s->a, lpo_err_cause(&err));
    } else {
        wait_for_switcher(s);
        lpo_run_server_process_describe(&s->switcher, &how);
        if (s->switcher.status != 0)
            s->problem = lpo_arena_printf(s->a, "%s %s failed: %s", lpo_path_base(words.at[0]),
                                          words.len > 1 ? words.at[1] : "", lpo_str_text(&how));
    }
    if (s->problem)
        fprintf(stderr, "lpo: %s\n", s->problem);
    return !s->problem;
}

/* The state that is asked for, which may be there already. */
static void set_recording(struct switched *s, bool on)
{
    s->problem = NULL;
    if (s->recording == on || !run_command(s, on ? s->begin : s->end))
        return;
    s->recording = on;
    s->windows += on;
}

/* --- lpo ctl -------------------------------------------------------------------------------- */

static int listen_in(struct switched *s, struct lpo_err *err)
{
    struct sockaddr_un address;
    socklen_t len;

    snprintf(s->name, sizeof s->name, "%lld" LPO_CONTROL_SUFFIX, (long long)getpid());
    s->folder = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->folder < 0)
        return lpo_fail_errno(err, "cannot open '%s'", s->dir);
    len = lpo_control_address(&address, s->folder, s->name);
    s->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    unlinkat(s->folder, s->name, 0); /* of a process that had our number before */
    if (s->socket < 0 || bind(s->socket, (struct sockaddr *)&address, len) < 0 ||
        listen(s->socket, 8) < 0)
        return lpo_fail_errno(err, "cannot listen in '%s'", s->dir);
    return 0;
}

/* What a profiler's commands cannot do is refused, with who can. */
static const char *obey(struct switched *s, const char *request)
{
    s->problem = NULL;
    if (strcmp(request, "start") == 0)
        set_recording(s, true);
    else if (strcmp(request, "stop") == 0)
        set_recording(s, false);
    else if (strncmp(request, "mark ", 5) == 0)
        return "this profiler takes no marks from outside; the collector (stage native) does";
    else if (strcmp(request, "dump") == 0)
        return "this profiler keeps no ring; the collector (stage native) does";
    else if (strcmp(request, "status") != 0)
        return "not a request";
    return s->problem;
}

static void answer(struct switched *s, int client, const char *request)
{
    const char *error = obey(s, request);
    char reply[LPO_CONTROL_REPLY_MAX];
    int len =
        snprintf(reply, sizeof reply, "%s%.200s%spid %lld\nrecording %d\nwindows %llu\n",
                 error ? "error " : "", error ? error : "", error ? "\n" : "", (long long)getpid(),
                 s->recording, (unsigned long long)(s->windows - s->recording));

    if (len > 0)
        send(client, reply, (size_t)len, MSG_NOSIGNAL);
}

/* In the order in which they came. */
static void serve(struct switched *s)
{
    while (s->waiting) {
        char line[LPO_CONTROL_REQUEST_MAX];
        int fd = s->clients[0];

        if (lpo_control_get_line(fd, line, sizeof line, CLIENT_MS))
            answer(s, fd, line);
        close(fd);
        memmove(s->clients, s->clients + 1, --s->waiting * sizeof *s->clients);
    }
}

static void stop_listening(struct switched *s)
{
    if (s->socket >= 0)
        close(s->socket);
    s->socket = -1;
    if (s->folder >= 0) {
        unlinkat(s->folder, s->name, 0);
        close(s->folder);
    }
}

/* --- from start to end ---------------------------------------------------------------------- */

static int parse(struct switched *s, int argc, const char *const *argv, struct lpo_err *err)
{
    int i = 0;

    for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--wait") == 0)
            s->wait = true;
        else if (strcmp(argv[i], "--dir") == 0 && i + 1 < argc)
            s->dir = argv[++i];
        else if (strcmp(argv[i], "--signal") == 0 && i + 1 < argc)
            s->signal = atoi(argv[++i]);
        else
            return lpo_fail(err, LPO_E_USAGE, "unknown argument '%s' of lpo __switched", argv[i]);
    }
    for (i++; i < argc; i++)
        lpo_run_words_add(s->a, &s->program, argv[i]);
    s->begin = getenv(LPO_SERVER_WINDOW_BEGIN);
    s->end = getenv(LPO_SERVER_WINDOW_END);
    if (!s->dir || !s->program.len || !s->begin || !*s->begin || !s->end || !*s->end)
        return lpo_fail(err, LPO_E_USAGE,
                        "lpo __switched needs --dir, a program, and the commands of a profiler in "
                        "the environment");
    if (s->signal < 0 || s->signal >= NSIG)
        return lpo_fail(err, LPO_E_USAGE, "lpo __switched: no signal has the number %d", s->signal);
    s->begin = lpo_arena_strdup(s->a, s->begin);
    s->end = lpo_arena_strdup(s->a, s->end);
    unsetenv(LPO_SERVER_WINDOW_BEGIN); /* not the program's business */
    unsetenv(LPO_SERVER_WINDOW_END);
    return 0;
}

static void follow(struct switched *s)
{
    while (!s->child.ended) {
        struct pollfd p[] = { { .fd = s->signals, .events = POLLIN },
                              { .fd = s->socket, .events = POLLIN } };

        poll(p, 2, TURN_MS);
        take_signals(s);
        reap(s);
        if (p[1].revents)
            take_client(s);
        serve(s);
        if (s->asked && !s->child.ended) {
            s->asked = false;
            set_recording(s, !s->recording);
        }
    }
}

int lpo_run_switched_main(int argc, const char *const *argv)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct switched s = { .a = a, .folder = -1, .socket = -1 };
    struct lpo_err err = { 0 };
    int rc = parse(&s, argc, argv, &err), status;

    if (rc == 0) {
        s.signals = lpo_run_signals_open(s.signal, NULL);
        rc = listen_in(&s, &err);
    }
    if (rc == 0 && !s.wait)
        set_recording(&s, true);
    if (rc == 0 && s.interrupted)
        rc = lpo_fail(&err, LPO_E_INTERRUPTED, "interrupted");
    if (rc == 0)
        rc = lpo_run_server_process_start(&s.child, &s.program, false, false, &err);
    if (rc < 0) {
        lpo_err_print(stderr, "lpo", &err);
        stop_listening(&s);
        return rc == LPO_E_USAGE ? 2 : rc == LPO_E_INTERRUPTED ? 130 : 127;
    }
    follow(&s);
    status = s.child.status;
    stop_listening(&s);
    set_recording(&s, false);
    close(s.signals);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
