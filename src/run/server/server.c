/* SPDX-License-Identifier: Apache-2.0 */
#include "run/server/server.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <glob.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lpo/control.h"
#include "run/child/interrupt.h"
#include "run/clock.h"
#include "run/control.h"
#include "util/file.h"
#include "util/json_write.h"
#include "util/path.h"
#include "util/pattern.h"

/* --- the part of a server's life that is recorded: while it is under load ----------------------
 *
 * Opens and closes the windows of the collectors in the server's processes, as `lpo ctl` does, and
 * of those that come up meanwhile. */

struct lpo_server_window {
    const char *dir; /* of the collectors (LPO_COLLECT_DIR); NULL: there are none */
    bool open, over;
    int64_t from_unix_ns, to_unix_ns;
    int64_t looked_ns;   /* when the folder was last looked at; monotonic */
    uint64_t seen;       /* a hash of the sockets in it */
    size_t processes;    /* that recorded */
    const char *refused; /* what one of them said; NULL */
};

static const int64_t look_ns = 50000000; /* how late a new process may be told */

/* The same for the same sockets in any order. Asking the collectors themselves would wake a thread
 * in each process of the server, twenty times a second. */
static uint64_t sockets_of(const char *dir)
{
    DIR *d = opendir(dir);
    struct dirent *e;
    uint64_t hash = 0;

    while (d && (e = readdir(d)))
        if (lpo_str_ends(e->d_name, LPO_CONTROL_SUFFIX))
            hash += lpo_str_hash(e->d_name, strlen(e->d_name)) | 1;
    if (d)
        closedir(d);
    return hash;
}

static void send_all(struct lpo_server_window *w, const char *request, const char *refused)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_control_answers answers = { 0 };
    struct lpo_err err = { 0 };

    if (lpo_run_control_send(a, w->dir, request, &answers, &err) < 0)
        return; /* no folder yet: nothing listens */
    for (size_t i = 0; i < answers.len; i++)
        if (answers.at[i].error)
            w->refused = refused;
    if (answers.len > w->processes)
        w->processes = answers.len;
}

static void look_for_processes(struct lpo_server_window *w)
{
    uint64_t now = sockets_of(w->dir);

    w->looked_ns = lpo_run_clock_ns();
    if (now == w->seen)
        return;
    w->seen = now;
    /* nothing changes in those that record already */
    send_all(w, "start", "a process of the server did not answer, and is not recorded");
}

static void begin_recording(struct lpo_server_window *w)
{
    if (w->open || w->over)
        return;
    w->open = true;
    w->from_unix_ns = lpo_run_clock_unix_ns();
    if (w->dir)
        look_for_processes(w);
}

/* While it is open, often: processes that are new are told, too. */
static void follow_recording(struct lpo_server_window *w)
{
    if (w->open && w->dir && lpo_run_clock_ns() - w->looked_ns >= look_ns)
        look_for_processes(w);
}

static void end_recording(struct lpo_server_window *w)
{
    if (!w->open)
        return;
    w->open = false;
    w->over = true;
    if (w->dir)
        send_all(w, "stop",
                 "a process of the server did not answer when the window was to end: its trace may "
                 "hold more than the load");
    w->to_unix_ns = lpo_run_clock_unix_ns();
}

/* --- server.json: what became of a server and its load ---------------------------------------- */

enum { LPO_SERVER_NOTES = 16 };

struct lpo_server_record {
    int64_t ready_ns, warmup_ns, load_ns, stop_ns; /* 0: it did not come to that */
    int64_t from_unix_ns, to_unix_ns;              /* the window; 0: there was none */
    int64_t recorded;                              /* processes in the window; -1: no collector */
    const char *server_end, *client_end;           /* "exit code 0"; NULL */
    const char *problem;                           /* why the load was not done; NULL */
    const char *notes[LPO_SERVER_NOTES];
    size_t nnotes;
};

static void __attribute__((format(printf, 3, 4)))
note_in_record(struct lpo_server_record *r, struct lpo_arena *a, const char *fmt, ...)
{
    LPO_STR text = { 0 };
    va_list ap;

    if (r->nnotes == LPO_SERVER_NOTES)
        return;
    va_start(ap, fmt);
    lpo_str_addv(&text, fmt, ap);
    va_end(ap);
    r->notes[r->nnotes++] = lpo_arena_strdup(a, lpo_str_text(&text));
}

/* Some clients choose a part of the name themselves, so it may be a pattern; the last in the order
 * of names is the latest of those with a date in them. NULL: no such file. */
static const char *find_result(const struct lpo_server_plan *p, struct lpo_arena *a)
{
    const char *found = NULL;
    size_t below = strlen(p->out_dir) + 1;
    LPO_STR pattern = { 0 };
    glob_t all;

    for (const char *c = p->out_dir; *c; c++) { /* the folder is a name, not a pattern */
        if (strchr("*?[\\", *c))
            lpo_str_addc(&pattern, '\\');
        lpo_str_addc(&pattern, *c);
    }
    lpo_str_addf(&pattern, "/%s", p->result);
    if (glob(pattern.at, 0, NULL, &all) != 0)
        return NULL;
    if (all.gl_pathc && strlen(all.gl_pathv[all.gl_pathc - 1]) > below)
        found = lpo_arena_strdup(a, all.gl_pathv[all.gl_pathc - 1] + below);
    globfree(&all);
    return found;
}

/* 0: null */
static double ms_of(int64_t ns)
{
    return ns ? (double)ns / 1e6 : NAN;
}

/* Also finds the client's result, and notes where there is none. */
static int write_record(struct lpo_server_record *r, const struct lpo_server_plan *plan,
                        struct lpo_arena *a, struct lpo_err *err)
{
    const char *result = find_result(plan, a);
    LPO_STR text = { 0 };
    struct lpo_json_writer w = lpo_json_writer(&text, 2);

    if (!result && r->load_ns)
        note_in_record(r, a,
                       "the client left no %s: the report has no figures of its "
                       "requests (workload.server.load.result; @out@ in its words is "
                       "the folder)",
                       plan->result);
    lpo_jw_object(&w, NULL);
    lpo_jw_put(&w, LPO_KV("schema", "lpo.server/1"), LPO_KV("port", plan->port),
               LPO_KV("ready_ms", ms_of(r->ready_ns)), LPO_KV("warmup_ms", ms_of(r->warmup_ns)),
               LPO_KV("load_ms", ms_of(r->load_ns)), LPO_KV("stop_ms", ms_of(r->stop_ns)));
    lpo_jw_record(&w, "window", LPO_KV("over", plan->window),
                  LPO_KV("from_unix_ns", lpo_jv_int_if(r->to_unix_ns, r->from_unix_ns)),
                  LPO_KV("to_unix_ns", lpo_jv_int_if(r->to_unix_ns, r->to_unix_ns)),
                  LPO_KV("processes", lpo_jv_int_if(r->recorded >= 0, r->recorded)));
    lpo_jw_put(&w, LPO_KV("server_end", r->server_end), LPO_KV("client_end", r->client_end),
               LPO_KV("client_result", result), LPO_KV("problem", r->problem));
    lpo_jw_texts(&w, "notes", r->notes, r->nnotes);
    lpo_jw_end(&w);
    return lpo_file_write(lpo_path_join(a, plan->out_dir, "server.json"), text.at, text.len, err);
}

enum { TURN_MS = 20 };

static const int64_t probe_ns = 5000000000; /* a health check that takes longer is no answer */
static const int64_t between_probes_ns = 100000000;
static const int64_t switch_limit_ns = 300000000000; /* a profiler may have much to write */
static const int64_t client_grace_ns = 5000000000;   /* between TERM and KILL */

struct driver {
    struct lpo_arena *a;
    struct lpo_server_plan plan;
    struct lpo_server_process server, client, switcher;
    struct lpo_server_window window;
    struct lpo_server_record record;
    struct lpo_http http;
    struct lpo_pattern *pattern; /* NULL: no line is waited for */
    bool line_seen, url_ready;
    int last_status;      /* of the last answer; 0: none */
    const char *last_why; /* of the last failure */
    const char *line;     /* the server's last, where it ended by itself; NULL */
    int signals;
    int64_t opened_ns; /* when the window was open: a profiler's switch takes its time; monotonic */
    bool interrupted;
};

/* One turn: signals, output, the request under way, processes that ended. */
static void turn(struct driver *d)
{
    struct lpo_server_process *all[] = { &d->server, &d->client, &d->switcher };
    struct pollfd fds[] = { { .fd = d->signals, .events = POLLIN },
                            { .fd = d->server.out.fd, .events = POLLIN },
                            { .fd = d->server.err.fd, .events = POLLIN },
                            lpo_run_http_pollfd(&d->http) };
    struct signalfd_siginfo info;

    poll(fds, 4, TURN_MS);
    while (read(d->signals, &info, sizeof info) == (ssize_t)sizeof info)
        d->interrupted |= info.ssi_signo != SIGCHLD;
    if (fds[1].revents)
        d->line_seen |= lpo_run_server_output_pump(&d->server.out, d->pattern);
    if (fds[2].revents)
        d->line_seen |= lpo_run_server_output_pump(&d->server.err, d->pattern);
    lpo_run_http_turn(&d->http);
    follow_recording(&d->window);
    lpo_run_server_process_reap(all, 3);
}

static int stopped(struct driver *d, struct lpo_err *err)
{
    return d->interrupted ? lpo_fail(err, LPO_E_INTERRUPTED, "interrupted") : 0;
}

/* What it wrote until it ended is still in the pipes. */
static const char *last_line(struct driver *d)
{
    for (int i = 0; i < 64 && (d->server.out.fd >= 0 || d->server.err.fd >= 0); i++) {
        lpo_run_server_output_pump(&d->server.out, NULL);
        lpo_run_server_output_pump(&d->server.err, NULL);
    }
    return d->server.err.last[0] ? d->server.err.last : d->server.out.last;
}

static int fail_server_ended(struct driver *d, const char *when, struct lpo_err *err)
{
    LPO_STR how = { 0 };

    d->line = last_line(d);
    lpo_run_server_process_describe(&d->server, &how);
    return lpo_fail(err, LPO_E_CHILD, "the server ended %s: %s", when, how.at);
}

/* --- start ---------------------------------------------------------------------------------- */

/* Nobody else takes it in the moment until the server does: the system gives the numbers out in
 * turn. */
static int free_port(struct driver *d, struct lpo_err *err)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE }, *found = NULL;
    struct sockaddr_storage at;
    socklen_t len = sizeof at;
    char port[8] = "";
    int rc = getaddrinfo(d->plan.host, "0", &hints, &found), fd;

    if (rc != 0)
        return lpo_fail(err, LPO_E_CONFIG, "workload.server.host '%s': %s", d->plan.host,
                        gai_strerror(rc));
    fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && bind(fd, found->ai_addr, found->ai_addrlen) == 0 &&
        getsockname(fd, (struct sockaddr *)&at, &len) == 0 &&
        getnameinfo((struct sockaddr *)&at, len, NULL, 0, port, sizeof port, NI_NUMERICSERV) == 0)
        d->plan.port = atoi(port);
    if (fd >= 0)
        close(fd);
    freeaddrinfo(found);
    return d->plan.port
               ? 0
               : lpo_fail(err, LPO_E_IO, "no free port on workload.server.host '%s'", d->plan.host);
}

/* Another server there would answer in place of ours, and be measured. */
static int check_port(struct driver *d, struct lpo_err *err)
{
    struct lpo_http_url url = { 0 };

    snprintf(url.host, sizeof url.host, "%s", d->plan.host);
    snprintf(url.port, sizeof url.port, "%lld", (long long)d->plan.port);
    if (!lpo_run_http_is_taken(&url, 1000000000))
        return 0;
    return lpo_fail(err, LPO_E_CHILD,
                    "something listens on %s, port %s, already: end it, or set "
                    "workload.server.port=0 for a free port (@port@ in the words of the server)",
                    url.host, url.port);
}

static void set_variables(struct driver *d)
{
    char port[24];

    snprintf(port, sizeof port, "%lld", (long long)d->plan.port);
    setenv("LPO_SERVER_PORT", port, 1);
    setenv("LPO_SERVER_HOST", d->plan.host, 1);
    setenv("LPO_SERVER_OUT", d->plan.out_dir, 1);
}

static int start_server(struct driver *d, struct lpo_err *err)
{
    if ((!d->plan.port && free_port(d, err) < 0) || check_port(d, err) < 0)
        return err->code;
    lpo_run_server_plan_fill_in(d->a, &d->plan);
    if (d->plan.ready_log && lpo_pattern_create(d->plan.ready_log, &d->pattern, err) < 0)
        return err->code;
    set_variables(d);
    return lpo_run_server_process_start(&d->server, &d->plan.server, true, false, err);
}

/* --- ready ---------------------------------------------------------------------------------- */

static void probe(struct driver *d, const struct lpo_http_url *url, int64_t *next)
{
    struct lpo_http *h = &d->http;

    if (h->state == LPO_HTTP_ANSWERED) {
        d->last_status = h->status;
        d->last_why = NULL;
        d->url_ready = h->status >= 200 && h->status < 300;
    } else if (h->state == LPO_HTTP_FAILED) {
        d->last_status = 0;
        d->last_why = h->why;
    }
    if (h->state != LPO_HTTP_BUSY) {
        h->state = LPO_HTTP_IDLE;
        if (lpo_run_clock_ns() >= *next && !d->url_ready) {
            *next = lpo_run_clock_ns() + between_probes_ns;
            lpo_run_http_start(h, "GET", url, probe_ns);
        }
    }
}

static int fail_not_ready(struct driver *d, struct lpo_err *err)
{
    LPO_STR why = { 0 };

    if (d->plan.ready_url && !d->url_ready) {
        lpo_str_addf(&why, "; GET %s: ", d->plan.ready_url);
        if (d->last_status)
            lpo_str_addf(&why, "status %d", d->last_status);
        else
            lpo_str_add(&why, d->last_why ? d->last_why : "no answer");
    }
    if (d->pattern && !d->line_seen)
        lpo_str_addf(&why, "; no line of its output is like '%s'", d->plan.ready_log);
    return lpo_fail(err, LPO_E_CHILD,
                    "the server was not ready after %.4g s%s; workload.server.ready.timeout "
                    "says how long to wait",
                    (double)d->plan.ready_ns / 1e9, lpo_str_text(&why));
}

static int wait_ready(struct driver *d, struct lpo_err *err)
{
    int64_t from = lpo_run_clock_ns(), next = 0;
    struct lpo_http_url url;

    if (d->plan.ready_url && lpo_run_http_url_parse(d->plan.ready_url, &url, err) < 0)
        return err->code;
    d->url_ready = !d->plan.ready_url;
    d->line_seen = !d->pattern;
    while (!d->url_ready || !d->line_seen) {
        turn(d);
        if (stopped(d, err) < 0)
            return err->code;
        if (d->server.ended)
            return fail_server_ended(d, "before it was ready", err);
        if (d->plan.ready_url)
            probe(d, &url, &next);
        if ((!d->url_ready || !d->line_seen) && d->plan.ready_ns &&
            lpo_run_clock_ns() - from >= d->plan.ready_ns)
            return fail_not_ready(d, err);
    }
    lpo_run_http_close(&d->http);
    d->record.ready_ns = lpo_run_clock_ns() - from;
    return 0;
}

/* --- load ----------------------------------------------------------------------------------- */

/* The server's own switch (vLLM's /start_profile). Its answer is waited for; a refusal is a note.
 */
static void post(struct driver *d, const char *text)
{
    struct lpo_http_url url;

    if (!text || lpo_run_http_url_parse(text, &url, NULL) < 0)
        return;
    lpo_run_http_start(&d->http, "POST", &url, 6 * probe_ns); /* a profile takes time to write */
    while (d->http.state == LPO_HTTP_BUSY && !d->interrupted && !d->server.ended)
        turn(d);
    if (d->http.state != LPO_HTTP_ANSWERED)
        note_in_record(&d->record, d->a, "POST %s: %s", text,
                       d->http.why ? d->http.why : "no answer");
    else if (d->http.status < 200 || d->http.status >= 300)
        note_in_record(&d->record, d->a, "POST %s: status %d", text, d->http.status);
    lpo_run_http_close(&d->http);
}

static void end_client(struct driver *d, struct lpo_server_process *client)
{
    while (lpo_run_server_process_lives(client)) {
        lpo_run_server_process_end(client, SIGTERM, client_grace_ns);
        turn(d);
    }
}

/* The words of a command, one in a line. */
static struct lpo_words words_of(struct lpo_arena *a, const char *lines)
{
    struct lpo_words out = { 0 };

    for (size_t len; *lines; lines += len + (lines[len] == '\n')) {
        len = strcspn(lines, "\n");
        lpo_run_words_addf(a, &out, "%.*s", (int)len, lines);
    }
    return out;
}

/* A profiler's own switch, where it has one. Its end is waited for; a failure is a note. */
static void run_switch(struct driver *d, const char *variable)
{
    const char *lines = strcmp(d->plan.window, "load") == 0 ? getenv(variable) : NULL;
    struct lpo_words words = words_of(d->a, lines ? lines : "");
    int64_t from = lpo_run_clock_ns();
    struct lpo_err err = { 0 };
    LPO_STR how = { 0 };

    if (!words.len)
        return;
    if (lpo_run_server_process_start(&d->switcher, &words, false, true, &err) < 0) {
        note_in_record(&d->record, d->a, "%s", lpo_err_cause(&err));
        return;
    }
    while (!d->switcher.ended && !d->interrupted && lpo_run_clock_ns() - from < switch_limit_ns)
        turn(d);
    end_client(d, &d->switcher);
    lpo_run_server_process_describe(&d->switcher, &how);
    if (d->switcher.status != 0)
        note_in_record(&d->record, d->a, "%s %s failed: %s", lpo_path_base(words.at[0]),
                       words.len > 1 ? words.at[1] : "", how.at);
}

static void open_window(struct driver *d)
{
    if (d->window.open || d->window.over)
        return;
    run_switch(d, LPO_SERVER_WINDOW_BEGIN);
    begin_recording(&d->window);
    d->opened_ns = lpo_run_clock_ns();
    post(d, d->plan.begin_url);
}

static void close_window(struct driver *d)
{
    if (!d->window.open)
        return;
    end_recording(&d->window);
    post(d, d->plan.end_url);
    run_switch(d, LPO_SERVER_WINDOW_END);
}

static void follow_window(struct driver *d, int64_t since_ns)
{
    const struct lpo_server_plan *p = &d->plan;

    if (strcmp(p->window, "all") == 0)
        return;
    if (since_ns >= p->after_ns)
        open_window(d);
    if (p->for_ns && lpo_run_clock_ns() - d->opened_ns >= p->for_ns)
        close_window(d);
}

/* A client to its end: `what` is "the warm-up" or "the client", `limit` its key. */
static int run_client(struct driver *d, const struct lpo_words *words, int64_t limit_ns,
                      const char *what, const char *limit, bool load, struct lpo_err *err)
{
    int64_t from = lpo_run_clock_ns(), took;
    LPO_STR how = { 0 };
    int rc = 0;

    if (lpo_run_server_process_start(&d->client, words, false, true, err) < 0)
        return lpo_ctx(err, "%s did not run", what);
    while (rc == 0 && !d->client.ended) {
        turn(d);
        if (load && !d->client.ended)
            follow_window(d, lpo_run_clock_ns() - from);
        rc = stopped(d, err);
        if (rc == 0 && d->server.ended)
            rc = fail_server_ended(d, load ? "while it was under load" : "during the warm-up", err);
        if (rc == 0 && limit_ns && lpo_run_clock_ns() - from >= limit_ns)
            rc = lpo_fail(err, LPO_E_CHILD, "%s took longer than %.4g s (%s)", what,
                          (double)limit_ns / 1e9, limit);
    }
    took = lpo_run_clock_ns() - from;
    if (load)
        close_window(d); /* which may take a profiler seconds */
    end_client(d, &d->client);
    if (rc < 0)
        return rc;
    lpo_run_server_process_describe(&d->client, &how);
    if (load)
        d->record.client_end = lpo_arena_strdup(d->a, how.at);
    if (d->client.status != 0)
        return lpo_fail(err, LPO_E_CHILD, "%s failed: %s", what, how.at);
    *(load ? &d->record.load_ns : &d->record.warmup_ns) = took;
    return 0;
}

static int under_load(struct driver *d, struct lpo_err *err)
{
    const struct lpo_server_plan *p = &d->plan;

    if (p->warmup.len && run_client(d, &p->warmup, p->warmup_ns, "the warm-up",
                                    "workload.server.warmup.timeout", false, err) < 0)
        return err->code;
    if (!p->after_ns && strcmp(p->window, "all") != 0)
        open_window(d); /* before the first request, whatever the client takes to send it */
    return run_client(d, &p->load, p->load_ns, "the client", "workload.server.load.timeout", true,
                      err);
}

/* --- end ------------------------------------------------------------------------------------ */

/* Asked to end, a server may say what it likes: only what it did before counts. */
static void note_end(struct driver *d, bool ended_alone)
{
    LPO_STR how = { 0 };

    lpo_run_server_process_describe(&d->server, &how);
    d->record.server_end = lpo_arena_strdup(d->a, how.at);
    if (ended_alone)
        return;
    if (d->server.asked == SIGKILL)
        note_in_record(&d->record, d->a,
                       "the server, or one of its processes, did not end within %.4g s of SIG%s "
                       "and of SIGTERM, and was killed: what profilers in it had not written is "
                       "lost (workload.server.stop.grace)",
                       (double)d->plan.grace_ns / 1e9, d->plan.signal);
    else if (WIFSIGNALED(d->server.status) && WTERMSIG(d->server.status) != SIGINT &&
             WTERMSIG(d->server.status) != SIGTERM)
        note_in_record(&d->record, d->a, "the server crashed when it was ended: %s", how.at);
}

static void end_server(struct driver *d)
{
    int first = strcmp(d->plan.signal, "TERM") == 0 ? SIGTERM : SIGINT;
    int64_t from = lpo_run_clock_ns();
    bool alone = d->server.ended;

    if (!d->server.pid)
        return;
    while (lpo_run_server_process_lives(&d->server)) {
        /* what a server that has ended left behind is no server any more */
        lpo_run_server_process_end(&d->server, d->server.ended ? SIGTERM : first, d->plan.grace_ns);
        turn(d);
    }
    last_line(d);
    lpo_run_server_output_close(&d->server.out);
    lpo_run_server_output_close(&d->server.err);
    d->record.stop_ns = lpo_run_clock_ns() - from;
    note_end(d, alone);
}

static void note_window(struct driver *d)
{
    const struct lpo_server_window *w = &d->window;

    d->record.from_unix_ns = w->over ? w->from_unix_ns : 0;
    d->record.to_unix_ns = w->over ? w->to_unix_ns : 0;
    d->record.recorded = w->dir ? (int64_t)w->processes : -1;
    if (w->refused)
        note_in_record(&d->record, d->a, "%s", w->refused);
    if (w->over && w->dir && !w->processes)
        note_in_record(&d->record, d->a,
                       "no process of the server made an NVTX or CUDA call while it "
                       "was under load: nothing was recorded");
}

static int drive(struct driver *d, struct lpo_err *err)
{
    int rc = start_server(d, err);

    if (rc == 0)
        rc = wait_ready(d, err);
    if (rc == 0)
        rc = under_load(d, err);
    lpo_run_http_close(&d->http);
    end_server(d);
    note_window(d);
    return rc;
}

int lpo_run_server_main(int argc, const char *const *argv)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct driver d = { .a = a, .http.fd = -1 };
    struct lpo_err err = { 0 }, unwritten = { 0 };
    int rc;

    if (lpo_run_server_plan_parse(a, argc, argv, &d.plan, &err) < 0 ||
        lpo_run_server_plan_check(a, &d.plan, &err) < 0) {
        lpo_err_print(stderr, "lpo", &err);
        return 2;
    }
    d.window.dir = strcmp(d.plan.window, "load") == 0 ? getenv("LPO_COLLECT_DIR") : NULL;
    d.signals = lpo_run_signals_open(0, NULL);
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* a server's workers stay ours when it ends */
    rc = drive(&d, &err);
    if (rc < 0)
        d.record.problem = lpo_arena_strdup(a, lpo_err_cause(&err));
    if (write_record(&d.record, &d.plan, a, &unwritten) < 0)
        lpo_err_print(stderr, "lpo", &unwritten);
    /* The last line of all. What the server printed may hold a secret: it is kept out of
     * server.json, and here lpo reads it and leaves secrets out. */
    if (rc < 0)
        fprintf(stderr, "lpo: %s%s%s\n", lpo_err_cause(&err),
                d.line && *d.line ? "; its last line: " : "", d.line ? d.line : "");
    lpo_pattern_destroy(d.pattern);
    close(d.signals);
    return rc == LPO_E_INTERRUPTED ? 130 : rc < 0 ? 1 : 0;
}
