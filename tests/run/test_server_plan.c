/* SPDX-License-Identifier: Apache-2.0 */
#include "../unit.h"

#include "run/server/server.h"
#include "util/arena.h"
#include "util/err.h"

static struct lpo_words words(struct lpo_arena *a, const char *const *at)
{
    struct lpo_words w = { 0 };

    for (; *at; at++)
        lpo_run_words_add(a, &w, *at);
    return w;
}

static struct lpo_server_plan plan(struct lpo_arena *a)
{
    return (struct lpo_server_plan){
        .out_dir = "/out",
        .host = "127.0.0.1",
        .port = 8000,
        .server = words(a, (const char *const[]){ "serve", "--load", "2", "--port=@port@", NULL }),
        .warmup = words(a, (const char *const[]){ "--", "", NULL }),
        .load = words(a, (const char *const[]){ "bench", "--url", "@url@/v1", "@out@/c.json", "a@b",
                                                "@none@", NULL }),
        .ready_url = "http://@host@:@port@/health",
        .ready_ns = 600000000000,
        .load_ns = 1500000000,
        .result = "c.json",
        .window = "load",
        .for_ns = 2000000,
        .signal = "TERM",
        .grace_ns = 30000000000,
    };
}

static void assert_words(const struct lpo_words *a, const struct lpo_words *b)
{
    assert_int_equal(a->len, b->len);
    for (size_t i = 0; i < a->len; i++)
        assert_string_equal(a->at[i], b->at[i]);
}

/* Words that look like ours, "--" and empty ones too. */
static void what_is_passed_comes_back(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_server_plan in = plan(a), out;
    struct lpo_step step = { 0 };
    struct lpo_err err = { 0 };

    (void)state;
    lpo_run_server_plan_add(a, &in, &step);
    assert_int_equal(
        lpo_run_server_plan_parse(a, (int)step.argc, (const char *const *)step.argv, &out, &err),
        0);
    assert_words(&out.server, &in.server);
    assert_words(&out.warmup, &in.warmup);
    assert_words(&out.load, &in.load);
    assert_string_equal(out.ready_url, in.ready_url);
    assert_null(out.ready_log);
    assert_null(out.begin_url);
    assert_string_equal(out.signal, "TERM");
    assert_int_equal(out.port, 8000);
    assert_int_equal(out.ready_ns, in.ready_ns);
    assert_int_equal(out.load_ns, in.load_ns);
    assert_int_equal(out.warmup_ns, 0);
    assert_int_equal(out.for_ns, in.for_ns);
    assert_int_equal(out.grace_ns, in.grace_ns);
}

static void places_are_filled_in(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_server_plan p = plan(a);

    (void)state;
    lpo_run_server_plan_fill_in(a, &p);
    assert_string_equal(p.server.at[3], "--port=8000");
    assert_string_equal(p.load.at[2], "http://127.0.0.1:8000/v1");
    assert_string_equal(p.load.at[3], "/out/c.json");
    assert_string_equal(p.load.at[4], "a@b");
    assert_string_equal(p.load.at[5], "@none@");
    assert_string_equal(p.ready_url, "http://127.0.0.1:8000/health");
    p = plan(a);
    p.host = "::1";
    lpo_run_server_plan_fill_in(a, &p);
    assert_string_equal(p.load.at[2], "http://[::1]:8000/v1");
}

static const struct bad_case {
    const char *name;
    const char *words[8];
} bad[] = {
    { "nothing", { NULL } },
    { "an unknown word", { "--what", "1", NULL } },
    { "no value", { "--out", NULL } },
    { "more words than there are", { "--out", "/o", "--server", "3", "a", "b", NULL } },
    { "a length below 0", { "--server", "-1", NULL } },
    { "a time that is none", { "--ready-ms", "1s", NULL } },
    { "a time beyond all bounds", { "--ready-ms", "99999999999999999", NULL } },
    { "no client", { "--out", "/o", "--server", "1", "a", NULL } },
};

static void check_bad(void **state)
{
    const struct bad_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_server_plan out;
    struct lpo_err err = { 0 };
    int n = 0;

    while (c->words[n])
        n++;
    assert_int_equal(lpo_run_server_plan_parse(a, n, c->words, &out, &err), LPO_E_USAGE);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_TEST(&u, what_is_passed_comes_back);
    UNIT_TEST(&u, places_are_filled_in);
    UNIT_ROWS(&u, bad, check_bad);
    return unit_run(&u);
}
