/* SPDX-License-Identifier: Apache-2.0 */
/* lpo mcp: JSON-RPC 2.0, one message a line. One call runs at a time; those that come meanwhile
 * wait in line, so that the answers of one large trace do not fight over memory, and can be
 * cancelled. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "cli/app.h"
#include "cli/command.h"
#include "cli/mcp/private.h"
#include "util/json.h"
#include "util/json_write.h"

enum {
    MOST_LINE = 4 << 20, /* of a request */
    MOST_WAITING = 64,   /* calls in line */
    TICK_MS = 1000,      /* between two reports of progress */
};

/* JSON-RPC's own numbers. */
enum { BAD_JSON = -32700, BAD_REQUEST = -32600, NO_METHOD = -32601, BAD_PARAMS = -32602 };

/* Newest first; a client that asks for another one gets the newest. */
static const char *const versions[] = { "2025-06-18", "2025-03-26", "2024-11-05" };

struct call {
    struct lpo_arena *arena;
    const char *id;       /* as JSON: a number or a text */
    const char *progress; /* the client's token, as JSON; NULL: it wants none */
    struct mcp_plan plan;
    bool cancelled;
};

struct session {
    struct mcp_server server;
    struct lpo_str in;            /* bytes of a line that is not whole yet */
    bool skipping;                /* a line that was too long, up to its end */
    bool closed;                  /* the client has hung up */
    LPO_VEC(struct call *) calls; /* the first one runs */
    struct mcp_child child;
    struct timespec begun;
};

static void send_text(const struct session *s, struct lpo_str *line)
{
    lpo_str_addc(line, '\n');
    fwrite(line->at, 1, line->len, s->server.app->out);
    fflush(s->server.app->out);
}

static struct lpo_json_writer begin_reply(struct lpo_str *out, const char *id)
{
    struct lpo_json_writer w = lpo_json_writer(out, 0);

    lpo_jw_object(&w, NULL);
    lpo_jw_put(&w, LPO_KV("jsonrpc", "2.0"), LPO_KV("id", lpo_jv_raw(id ? id : "null")));
    return w;
}

/* lpo_jw_end() ends the last with a newline of its own. */
static void finish(const struct session *s, struct lpo_json_writer *w)
{
    while (w->depth)
        lpo_jw_end(w);
    while (w->out->len && w->out->at[w->out->len - 1] == '\n')
        w->out->at[--w->out->len] = '\0';
    send_text(s, w->out);
}

static void send_error(const struct session *s, const char *id, int code, const char *message)
{
    LPO_STR out = { 0 };
    struct lpo_json_writer w = begin_reply(&out, id);

    lpo_jw_object(&w, "error");
    lpo_jw_put(&w, LPO_KV("code", code), LPO_KV("message", message));
    finish(s, &w);
}

/* The result of a tool: text that a model reads. What went wrong is such a text too, so that it can
 * do better. */
static void send_result(const struct session *s, const char *id, const char *text, size_t len,
                        bool failed)
{
    LPO_STR out = { 0 };
    struct lpo_json_writer w = begin_reply(&out, id);

    lpo_jw_object(&w, "result");
    lpo_jw_array(&w, "content");
    lpo_jw_record(&w, NULL, LPO_KV("type", "text"), LPO_KV("text", lpo_jv_textn(text, len)));
    lpo_jw_end(&w);
    lpo_jw_put(&w, LPO_KV("isError", failed));
    finish(s, &w);
}

static const char *json_of(struct lpo_arena *a, const struct lpo_json *v)
{
    LPO_STR out = { 0 };

    if (!v || (v->kind != LPO_JSON_INT && v->kind != LPO_JSON_STRING))
        return NULL;
    if (v->kind == LPO_JSON_INT)
        return lpo_arena_strdup(a, v->text);
    lpo_json_add_json(&out, v->text, v->len, false);
    return lpo_arena_strndup(a, out.at, out.len);
}

static void free_call(struct call *c)
{
    lpo_vec_free(&c->plan.words);
    lpo_arena_destroy(c->arena);
}

/* Starts the first call in line; one that cannot be started is answered. */
static void start_next(struct session *s)
{
    while (s->calls.len && s->child.pid <= 0) {
        struct call *c = s->calls.at[0];
        struct lpo_err err = { 0 };

        clock_gettime(CLOCK_MONOTONIC, &s->begun);
        if (lpo_cli_mcp_child_start(&s->child, &c->plan, &err) == 0)
            return;
        send_result(s, c->id, lpo_err_cause(&err), strlen(lpo_err_cause(&err)), true);
        free_call(c);
        memmove(s->calls.at, s->calls.at + 1, --s->calls.len * sizeof *s->calls.at);
    }
}

static void answer_call(struct session *s, const struct call *c, int code)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const struct lpo_json *data = NULL;
    const char *said =
        s->child.said.len ? lpo_str_text(&s->child.said) : "the command said nothing";
    struct lpo_err err = { 0 };
    LPO_STR out = { 0 };

    if (c->cancelled)
        return; /* who cancels wants no answer */
    if (s->child.too_long) {
        said = "the answer is too large to read: ask for fewer files or use sql";
        code = 1;
    } else if (code != 0 && code != 1 &&
               code != 4) { /* a stage that failed, a regression: results */
        code = 2;
    } else if (s->child.printed.len &&
               lpo_json_parse(a, s->child.printed.at, s->child.printed.len, &data, &err) == 0) {
        lpo_cli_mcp_answer(&out, &c->plan, data);
        send_result(s, c->id, out.at, out.len, false);
        return;
    } else if (code == 0 && s->child.printed.len) { /* lpo run prints text */
        size_t n = s->child.printed.len, most = c->plan.cut.most_bytes;

        send_result(s, c->id, s->child.printed.at + (n > most ? n - most : 0), n > most ? most : n,
                    false);
        return;
    }
    send_result(s, c->id, said, strlen(said), true);
}

static void end_call(struct session *s)
{
    struct call *c = s->calls.at[0];

    answer_call(s, c, lpo_cli_mcp_child_end(&s->child));
    free_call(c);
    memmove(s->calls.at, s->calls.at + 1, --s->calls.len * sizeof *s->calls.at);
    start_next(s);
}

static void report_progress(const struct session *s)
{
    LPO_STR out = { 0 };
    struct lpo_json_writer w = lpo_json_writer(&out, 0);
    struct timespec now;

    if (!s->calls.len || !s->calls.at[0]->progress)
        return;
    clock_gettime(CLOCK_MONOTONIC, &now);
    lpo_jw_object(&w, NULL);
    lpo_jw_put(&w, LPO_KV("jsonrpc", "2.0"), LPO_KV("method", "notifications/progress"));
    lpo_jw_object(&w, "params");
    lpo_jw_put(&w, LPO_KV("progressToken", lpo_jv_raw(s->calls.at[0]->progress)),
               LPO_KV("progress", now.tv_sec - s->begun.tv_sec),
               LPO_KV("message", "seconds so far"));
    finish(s, &w);
}

/* --- requests --- */

static void reply_initialize(struct session *s, const char *id, const struct lpo_json *params)
{
    const char *asked = lpo_json_text(lpo_json_get(params, "protocolVersion"), ""),
               *version = versions[0];
    LPO_STR out = { 0 };
    struct lpo_json_writer w = begin_reply(&out, id);

    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        if (strcmp(versions[i], asked) == 0)
            version = versions[i];
    lpo_jw_object(&w, "result");
    lpo_jw_put(&w, LPO_KV("protocolVersion", version),
               LPO_KV("capabilities", lpo_jv_raw("{\"tools\":{},\"resources\":{}}")));
    lpo_jw_record(&w, "serverInfo", LPO_KV("name", "lpo"), LPO_KV("version", LPO_VERSION));
    lpo_jw_put(
        &w,
        LPO_KV("instructions",
               "Where the time of an LLM goes on a GPU. Begin with 'ladder'; 'explain' says how a "
               "finding was computed; 'sql' answers what no other tool does; 'diff' proves a "
               "change. Times are nanoseconds; null is unknown, which is not 0."));
    finish(s, &w);
}

static void reply_tools(struct session *s, const char *id, const struct lpo_json *params)
{
    LPO_STR out = { 0 };
    struct lpo_json_writer w = begin_reply(&out, id);
    const struct mcp_tool *t;

    (void)params;
    lpo_jw_object(&w, "result");
    lpo_jw_array(&w, "tools");
    for (size_t i = 0; (t = lpo_cli_mcp_tool(i)); i++) {
        if (t->runs && !s->server.allow_run)
            continue;
        lpo_jw_object(&w, NULL);
        lpo_jw_put(&w, LPO_KV("name", t->name), LPO_KV("title", t->title),
                   LPO_KV("description", t->meaning));
        lpo_cli_mcp_put_schema(&w, t);
        lpo_jw_put(&w, LPO_KV("annotations", lpo_jv_raw(t->runs ? "{\"readOnlyHint\":false}"
                                                                : "{\"readOnlyHint\":true}")));
        lpo_jw_end(&w);
    }
    finish(s, &w);
}

static void reply_resources(struct session *s, const char *id, const struct lpo_json *params)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    LPO_STR out = { 0 };
    struct lpo_json_writer w = begin_reply(&out, id);

    (void)params;
    lpo_jw_object(&w, "result");
    lpo_cli_mcp_put_resources(&w, a);
    finish(s, &w);
}

static void reply_templates(struct session *s, const char *id, const struct lpo_json *params)
{
    LPO_STR out = { 0 };
    struct lpo_json_writer w = begin_reply(&out, id);

    (void)params;
    lpo_jw_put(&w, LPO_KV("result", lpo_jv_raw("{\"resourceTemplates\":[]}")));
    finish(s, &w);
}

static void reply_read(struct session *s, const char *id, const struct lpo_json *params)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const char *uri = lpo_json_text(lpo_json_get(params, "uri"), ""), *text;
    size_t len = 0;
    LPO_STR out = { 0 };
    struct lpo_json_writer w;

    text = lpo_cli_mcp_resource(a, uri, &len);
    if (!text) {
        send_error(s, id, -32002, "there is no such resource");
        return;
    }
    w = begin_reply(&out, id);
    lpo_jw_object(&w, "result");
    lpo_jw_array(&w, "contents");
    lpo_jw_object(&w, NULL);
    lpo_jw_put(&w, LPO_KV("uri", uri), LPO_KV("mimeType", "text/markdown"),
               LPO_KV("text", lpo_jv_textn(text, len)));
    finish(s, &w);
}

static void reply_ping(struct session *s, const char *id, const struct lpo_json *params)
{
    LPO_STR out = { 0 };
    struct lpo_json_writer w = begin_reply(&out, id);

    (void)params;
    lpo_jw_put(&w, LPO_KV("result", lpo_jv_raw("{}")));
    finish(s, &w);
}

static void begin_call(struct session *s, const char *id, const struct lpo_json *params)
{
    const char *name = lpo_json_text(lpo_json_get(params, "name"), "");
    const struct lpo_json *arguments = lpo_json_get(params, "arguments");
    const struct mcp_tool *tool;
    struct lpo_arena *a;
    struct lpo_err err = { 0 };
    struct call *c;
    LPO_STR copy = { 0 };

    for (size_t i = 0; (tool = lpo_cli_mcp_tool(i)); i++)
        if (strcmp(tool->name, name) == 0)
            break;
    if (!tool || (arguments && arguments->kind != LPO_JSON_OBJECT)) {
        send_error(s, id, BAD_PARAMS,
                   tool ? "'arguments' must be an object" : "there is no such tool");
        return;
    }
    if (s->calls.len >= MOST_WAITING) {
        send_result(s, id, "too many calls are waiting", 26, true);
        return;
    }
    a = lpo_arena_create();
    c = LPO_NEW(a, struct call);
    c->arena = a;
    c->id = lpo_arena_strdup(a, id);
    c->progress = json_of(a, lpo_json_at(params, "_meta.progressToken"));
    c->plan = (struct mcp_plan){ .server = &s->server, .arena = a, .arguments = arguments };
    if (lpo_cli_mcp_plan(tool, &c->plan, &err) < 0) {
        send_result(s, id, lpo_err_cause(&err), strlen(lpo_err_cause(&err)), true);
        free_call(c);
        return;
    }
    /* the message that the arguments stand in goes: what is still needed of them was copied */
    if (c->plan.only_id)
        c->plan.only_id = lpo_arena_strdup(a, c->plan.only_id);
    for (size_t i = 0; i < c->plan.words.len; i++)
        c->plan.words.at[i] = lpo_arena_strdup(a, c->plan.words.at[i]);
    c->plan.arguments = NULL;
    lpo_vec_push(&s->calls, c);
    start_next(s);
}

/* The answer to a cancelled call is never sent; one that waits is forgotten. */
static void cancel_call(struct session *s, const struct lpo_json *params)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const char *id = json_of(a, lpo_json_get(params, "requestId"));

    for (size_t i = 0; id && i < s->calls.len; i++) {
        struct call *c = s->calls.at[i];

        if (strcmp(c->id, id) != 0)
            continue;
        c->cancelled = true;
        if (i == 0) {
            lpo_cli_mcp_child_kill(&s->child);
            return;
        }
        free_call(c);
        memmove(s->calls.at + i, s->calls.at + i + 1, (--s->calls.len - i) * sizeof *s->calls.at);
        return;
    }
}

static const struct {
    const char *method;
    void (*reply)(struct session *s, const char *id, const struct lpo_json *params);
} methods[] = {
    { "initialize", reply_initialize },
    { "ping", reply_ping },
    { "tools/list", reply_tools },
    { "tools/call", begin_call },
    { "resources/list", reply_resources },
    { "resources/read", reply_read },
    { "resources/templates/list", reply_templates },
};

static void take_message(struct session *s, const char *text, size_t len)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const struct lpo_json *message = NULL, *params;
    const char *method, *id;
    struct lpo_err err = { 0 };

    if (lpo_json_parse(a, text, len, &message, &err) < 0) {
        send_error(s, NULL, BAD_JSON, lpo_err_cause(&err));
        return;
    }
    method = lpo_json_text(lpo_json_get(message, "method"), NULL);
    params = lpo_json_get(message, "params");
    id = json_of(a, lpo_json_get(message, "id"));
    if (message->kind != LPO_JSON_OBJECT ||
        (!method && !lpo_json_get(message, "result") && !lpo_json_get(message, "error"))) {
        send_error(s, id, BAD_REQUEST, "a request is an object with a method");
        return;
    }
    if (!method)
        return; /* an answer: nothing was asked */
    if (!id) {
        if (strcmp(method, "notifications/cancelled") == 0)
            cancel_call(s, params);
        return;
    }
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (strcmp(methods[i].method, method) == 0) {
            methods[i].reply(s, id, params);
            return;
        }
    send_error(s, id, NO_METHOD, "there is no such method");
}

static void take_lines(struct session *s)
{
    size_t from = 0;

    for (size_t i = 0; i < s->in.len; i++) {
        if (s->in.at[i] != '\n')
            continue;
        if (!s->skipping && i > from)
            take_message(s, s->in.at + from, i - from);
        s->skipping = false;
        from = i + 1;
    }
    memmove(s->in.at, s->in.at + from, s->in.len - from);
    s->in.len -= from;
    if (s->in.len <= MOST_LINE)
        return;
    if (!s->skipping)
        send_error(s, NULL, BAD_REQUEST, "a message of more than 4 MiB");
    s->skipping = true;
    s->in.len = 0;
}

static void read_input(struct session *s)
{
    ssize_t n = read(STDIN_FILENO, lpo_str_room(&s->in, 1 << 16), 1 << 16);

    if (n > 0) {
        s->in.len += (size_t)n;
        take_lines(s);
    } else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
        s->closed = true;
    }
}

/* Until the client has hung up and its last call is answered. */
static void serve(struct session *s)
{
    while (!s->closed || s->calls.len) {
        struct mcp_child *c = &s->child;
        bool busy = c->pid > 0;
        struct pollfd fds[] = { { s->closed ? -1 : STDIN_FILENO, POLLIN, 0 },
                                { busy ? c->out : -1, POLLIN, 0 },
                                { busy ? c->err : -1, POLLIN, 0 } };
        int n = poll(fds, 3, busy ? TICK_MS : -1);

        if (n == 0)
            report_progress(s);
        if (n <= 0)
            continue;
        if (fds[1].revents)
            lpo_cli_mcp_child_read(c, &c->out, &c->printed);
        if (fds[2].revents)
            lpo_cli_mcp_child_read(c, &c->err, &c->said);
        if (busy && ((c->out < 0 && c->err < 0) || s->calls.at[0]->cancelled))
            end_call(s);
        if (fds[0].revents)
            read_input(s);
    }
}

static int find_roots(struct lpo_app *app, const struct lpo_args *args, struct session *s,
                      struct lpo_err *err)
{
    const char **roots = lpo_arena_array(app->arena, args->nwords + 1, sizeof *roots);
    char real[PATH_MAX];

    for (size_t i = 0; i < (args->nwords ? args->nwords : 1); i++) {
        const char *word = args->nwords ? args->words[i] : ".";

        if (!realpath(word, real))
            return lpo_fail_errno(err, "cannot open %s", word);
        roots[s->server.nroots++] = lpo_arena_strdup(app->arena, real);
    }
    s->server.roots = roots;
    return 0;
}

int lpo_cli_mcp_serve(struct lpo_app *app, const struct lpo_args *args, struct lpo_err *err)
{
    struct session s = { .server = { .app = app, .allow_run = lpo_cli_args_has(args, "allow-run") },
                         .child = { .pid = -1, .out = -1, .err = -1 } };

    if (find_roots(app, args, &s, err) < 0)
        return err->code;
    signal(SIGPIPE, SIG_IGN); /* a client that is gone is seen at the next read */
    serve(&s);
    lpo_vec_free(&s.calls);
    lpo_str_free(&s.in);
    lpo_str_free(&s.child.printed);
    lpo_str_free(&s.child.said);
    return 0;
}

/* lpo mcp: the same answers for coding agents. */

static const struct lpo_option options[] = {
    { "allow-run", 0, LPO_OPT_FLAG, NULL, "offer the tool 'run', which starts programs" },
    { NULL, 0, 0, NULL, NULL },
};

const struct lpo_command lpo_cli_cmd_mcp = {
    .name = "mcp",
    .summary = "answers for coding agents (Model Context Protocol on stdin and stdout)",
    .usage = "[DIR|FILE…] [--allow-run]",
    .about =
        "A client such as a coding agent starts it and asks for the ladder, findings, regions,\n"
        "kernels, operators, SQL and comparisons. Only what lies in the folders named here is\n"
        "read; without one, the working folder.\n\n"
        "  lpo mcp tmp/profile-output\n"
        "  lpo mcp traces --allow-run",
    .options = options,
    .run = lpo_cli_mcp_serve,
};
