/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>

#include "run/server/server.h"
#include "settings/settings.h"
#include "util/pattern.h"

#define NS_PER_MS 1000000ll

enum kind { TEXT, NUMBER, TIME, WORDS };

#define AT(member) offsetof(struct lpo_server_plan, member)

static const struct row {
    const char *flag;
    const char *key; /* NULL: not from a key of its own */
    enum kind kind;
    size_t at;
} rows[] = {
    { "--out", NULL, TEXT, AT(out_dir) },
    { "--host", "workload.server.host", TEXT, AT(host) },
    { "--port", "workload.server.port", NUMBER, AT(port) },
    { "--ready-url", "workload.server.ready.url", TEXT, AT(ready_url) },
    { "--ready-log", "workload.server.ready.log", TEXT, AT(ready_log) },
    { "--ready-ms", "workload.server.ready.timeout", TIME, AT(ready_ns) },
    { "--warmup-ms", "workload.server.warmup.timeout", TIME, AT(warmup_ns) },
    { "--load-ms", "workload.server.load.timeout", TIME, AT(load_ns) },
    { "--result", "workload.server.load.result", TEXT, AT(result) },
    { "--window", "workload.server.window.over", TEXT, AT(window) },
    { "--after-ms", "workload.server.window.after", TIME, AT(after_ns) },
    { "--for-ms", "workload.server.window.for", TIME, AT(for_ns) },
    { "--begin-url", "workload.server.window.begin_url", TEXT, AT(begin_url) },
    { "--end-url", "workload.server.window.end_url", TEXT, AT(end_url) },
    { "--signal", "workload.server.stop.signal", TEXT, AT(signal) },
    { "--grace-ms", "workload.server.stop.grace", TIME, AT(grace_ns) },
    { "--warmup", "workload.server.warmup.argv", WORDS, AT(warmup) },
    { "--load", "workload.server.load.argv", WORDS, AT(load) },
    { "--server", NULL, WORDS, AT(server) },
};

enum { ROWS = sizeof rows / sizeof *rows };

static void *member(struct lpo_server_plan *p, const struct row *r)
{
    return (char *)p + r->at;
}

static const void *member_of(const struct lpo_server_plan *p, const struct row *r)
{
    return (const char *)p + r->at;
}

void lpo_run_server_plan_read(struct lpo_arena *a, const struct lpo_node *config,
                              struct lpo_server_plan *out)
{
    *out = (struct lpo_server_plan){ 0 };
    for (size_t i = 0; i < ROWS; i++) {
        const struct row *r = &rows[i];

        if (!r->key)
            continue;
        if (r->kind == TEXT) {
            *(const char **)member(out, r) = lpo_settings_text(config, r->key);
        } else if (r->kind == NUMBER) {
            *(int64_t *)member(out, r) = lpo_settings_int(config, r->key);
        } else if (r->kind == TIME) {
            *(int64_t *)member(out, r) = lpo_settings_duration_ns(config, r->key);
        } else {
            struct lpo_settings_words words = lpo_settings_list(a, config, r->key);

            *(struct lpo_words *)member(out, r) = (struct lpo_words){ words.at, words.len };
        }
    }
}

/* A list is its length and its words: nothing in them can be taken for something else. */
static void add_words(struct lpo_arena *a, struct lpo_step *step, const struct row *r,
                      const struct lpo_words *words)
{
    lpo_run_step_arg(a, step, r->flag);
    lpo_run_step_argf(a, step, "%zu", words->len);
    for (size_t i = 0; i < words->len; i++)
        lpo_run_step_arg(a, step, words->at[i]);
}

void lpo_run_server_plan_add(struct lpo_arena *a, const struct lpo_server_plan *plan,
                             struct lpo_step *step)
{
    for (size_t i = 0; i < ROWS; i++) {
        const struct row *r = &rows[i];
        const void *at = member_of(plan, r);

        if (r->kind == WORDS) {
            if (((const struct lpo_words *)at)->len)
                add_words(a, step, r, at);
            continue;
        }
        if (r->kind == TEXT ? !*(const char *const *)at : !*(const int64_t *)at)
            continue; /* null, or the number that means none */
        lpo_run_step_arg(a, step, r->flag);
        if (r->kind == TEXT)
            lpo_run_step_arg(a, step, *(const char *const *)at);
        else
            lpo_run_step_argf(
                a, step, "%lld",
                (long long)(*(const int64_t *)at / (r->kind == TIME ? NS_PER_MS : 1)));
    }
}

static const struct row *find(const char *flag)
{
    return lpo_find(i, rows, ROWS, strcmp(rows[i].flag, flag) == 0);
}

static int take_number(const char *flag, const char *text, int64_t most, int64_t *out,
                       struct lpo_err *err)
{
    char *end = NULL;
    long long v;

    errno = 0;
    v = strtoll(text, &end, 10);
    if (end == text || *end || errno || v < 0 || v > most)
        return lpo_fail(err, LPO_E_USAGE, "%s '%s' is not a number from 0 to %lld", flag, text,
                        (long long)most);
    *out = v;
    return 0;
}

int lpo_run_server_plan_parse(struct lpo_arena *a, int argc, const char *const *argv,
                              struct lpo_server_plan *out, struct lpo_err *err)
{
    *out = (struct lpo_server_plan){ .host = "127.0.0.1", .window = "load", .signal = "INT" };
    for (int i = 0; i < argc; i++) {
        const struct row *r = find(argv[i]);
        int64_t n = 0;

        if (!r || i + 1 >= argc)
            return lpo_fail(err, LPO_E_USAGE, "unknown argument '%s' of lpo __server", argv[i]);
        i++;
        if (r->kind == TEXT) {
            *(const char **)member(out, r) = argv[i];
            continue;
        }
        if (take_number(r->flag, argv[i], r->kind == WORDS ? argc - i - 1 : INT64_MAX / NS_PER_MS,
                        &n, err) < 0)
            return err->code;
        if (r->kind != WORDS) {
            *(int64_t *)member(out, r) = r->kind == TIME ? n * NS_PER_MS : n;
            continue;
        }
        for (int64_t k = 0; k < n; k++)
            lpo_run_words_add(a, member(out, r), argv[++i]);
    }
    if (!out->out_dir || !out->server.len || !out->load.len)
        return lpo_fail(err, LPO_E_USAGE, "lpo __server needs --out, --server and --load");
    return 0;
}

static const char *fill_in(struct lpo_arena *a, const struct lpo_server_plan *p, const char *word)
{
    const char *port = lpo_arena_printf(a, "%lld", (long long)p->port);
    const struct {
        const char *name, *value;
    } places[] = {
        { "@host@", p->host },
        { "@port@", port },
        { "@url@", lpo_arena_printf(a, strchr(p->host, ':') ? "http://[%s]:%s" : "http://%s:%s",
                                    p->host, port) },
        { "@out@", p->out_dir },
    };
    LPO_STR text = { 0 };

    if (!word || !strchr(word, '@'))
        return word;
    while (*word) {
        size_t i = 0;

        while (i < 4 && !lpo_str_starts(word, places[i].name))
            i++;
        if (i < 4) {
            lpo_str_add(&text, places[i].value);
            word += strlen(places[i].name);
        } else {
            lpo_str_addc(&text, *word++);
        }
    }
    return lpo_arena_strdup(a, lpo_str_text(&text));
}

void lpo_run_server_plan_fill_in(struct lpo_arena *a, struct lpo_server_plan *plan)
{
    const char **texts[] = { &plan->ready_url, &plan->begin_url, &plan->end_url };
    struct lpo_words *lists[] = { &plan->server, &plan->warmup, &plan->load };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        *texts[i] = fill_in(a, plan, *texts[i]);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        struct lpo_words filled = { 0 };

        for (size_t k = 0; k < lists[i]->len; k++)
            lpo_run_words_add(a, &filled, fill_in(a, plan, lists[i]->at[k]));
        *lists[i] = filled;
    }
}

static int check_url(const char *key, const char *text, struct lpo_err *err)
{
    struct lpo_http_url url;

    if (text && lpo_run_http_url_parse(text, &url, err) < 0)
        return lpo_ctx(err, "%s is wrong", key);
    return 0;
}

int lpo_run_server_plan_check(struct lpo_arena *a, const struct lpo_server_plan *plan,
                              struct lpo_err *err)
{
    struct lpo_server_plan filled = *plan;
    LPO_AUTO(lpo_pattern) pattern = NULL;

    if (!plan->ready_url && !plan->ready_log)
        return lpo_fail(err, LPO_E_CONFIG,
                        "nothing says when the server is ready: set workload.server.ready.url or "
                        "workload.server.ready.log");
    if (!plan->load.len)
        return lpo_fail(err, LPO_E_CONFIG,
                        "workload.server.load.argv is empty: give the client that sends requests, "
                        "or [sleep,30] where others send them");
    if (strcmp(plan->window, "load") != 0 && (plan->after_ns || plan->for_ns))
        return lpo_fail(err, LPO_E_CONFIG,
                        "workload.server.window.after and for are parts of the load: set "
                        "workload.server.window.over=load");
    if (!plan->result || *plan->result == '/' || strstr(plan->result, ".."))
        return lpo_fail(err, LPO_E_CONFIG,
                        "workload.server.load.result is the name of a file below @out@, without "
                        "'..'");
    if (!filled.port)
        filled.port = 1; /* any number will do to look at the URLs */
    filled.out_dir = "";
    lpo_run_server_plan_fill_in(a, &filled);
    if (plan->ready_log && lpo_pattern_create(plan->ready_log, &pattern, err) < 0)
        return lpo_ctx(err, "workload.server.ready.log is not a valid pattern");
    if (check_url("workload.server.ready.url", filled.ready_url, err) < 0 ||
        check_url("workload.server.window.begin_url", filled.begin_url, err) < 0 ||
        check_url("workload.server.window.end_url", filled.end_url, err) < 0)
        return err->code;
    return 0;
}
