/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that make NVTX calls, run under the collector; their traces compared as text. */
#include <signal.h>
#include <sys/wait.h>

#include "../unit.h"
#include "analysis/numbers/numbers.h"
#include "region/scope.h"
#include "region/tree.h"
#include "traced.h"
#include "util/budget.h"

#define PLAIN                                                                                      \
    "thread main\n"                                                                                \
    "  decode x1\n"                                                                                \
    "    step x3\n"                                                                                \
    "      attn x3\n"                                                                              \
    "      mlp x3\n"

static const struct row {
    const char *name, *scenario;
    const char *env[4];
    int exit_code, signal;
    size_t files;
    const char *want; /* NULL: looked at by `check` alone */
} rows[] = {
    { "nested ranges", "plain", { 0 }, 0, 0, 1, PLAIN },
    { "nested ranges on CLOCK_MONOTONIC", "plain", { "LPO_COLLECT_TSC=0" }, 0, 0, 1, PLAIN },
    { "every NVTX call",
      "every",
      { 0 },
      0,
      0,
      1,
      "thread renamed\n"
      "  changes x1\n"
      "    w\u00e9\u20ac\U0001f600 x1\n"
      "      ex x6\n"
      "  dom@registered x1\n"
      "  d\u00f6m@registered x1\n"
      "start/end dom@registered x1\n"
      "start/end ex x1\n"
      "start/end s1 x1\n"
      "start/end s2 x1\n" },
    { "wrong nesting, wrong handles, ranges left open",
      "wrong",
      { 0 },
      0,
      0,
      1,
      "thread main\n"
      "  (unnamed) x1\n"
      "    (unnamed) x1\n"
      "      (unnamed) x1\n"
      "        (unnamed) x1\n"
      "          (unnamed) x1\n"
      "  left x1 (1 open)\n"
      "    open x1 (1 open)\n"
      "start/end never ended (open) x1\n"
      "start/end twice x1\n"
      "note 2 range pops had no open range in their thread\n"
      "note 2 range ends name no open range\n"
      "note 3 ranges were never closed and end with their process\n" },
    { "eight threads",
      "threads",
      { 0 },
      0,
      0,
      1,
      "thread worker x8\n"
      "  outer x10000\n"
      "    even x5000\n"
      "    odd x5000\n" },
    { "eight threads, buffers written all the time",
      "threads",
      { "LPO_COLLECT_FLUSH_MS=1" },
      0,
      0,
      1,
      "thread worker x8\n"
      "  outer x10000\n"
      "    even x5000\n"
      "    odd x5000\n" },
    { "a range ended by another thread", "across", { 0 }, 0, 0, 1, "start/end job x1\n" },
    { "workers by fork, ended by _exit",
      "forks",
      { 0 },
      0,
      0,
      4,
      "thread main\n"
      "  epoch x1\n"
      "thread main x3\n"
      "  epoch x1 (1 open)\n"
      "    load x1\n" },
    { "workers that are done at once", "bursts", { 0 }, 0, 0, 4, NULL },
    { "exec in a child and in place", "execs", { 0 }, 0, 0, 3, NULL },
    { "fork while other threads record", "fork_storm", { 0 }, 0, 0, 51, NULL },
    { "kill -9 keeps what was written",
      "killed",
      { 0 },
      0,
      SIGKILL,
      1,
      "thread main\n"
      "  kept x1\n"
      "  kept too x1\n" },
    { "abort keeps what was written",
      "aborted",
      { 0 },
      0,
      SIGABRT,
      1,
      "thread main\n"
      "  kept x1\n"
      "  kept too x1\n" },
    { "_exit keeps what was written",
      "exits_now",
      { 0 },
      3,
      0,
      1,
      "thread main\n"
      "  kept x1\n"
      "  kept too x1\n" },
    { "the exit code is the program's",
      "exit_code",
      { 0 },
      42,
      0,
      1,
      "thread main\n"
      "  a x1\n" },
    { "descriptors closed behind our back",
      "close_all",
      { 0 },
      0,
      0,
      1,
      "thread main\n"
      "  before x1\n"
      "  after x2\n" },
    { "calls from signal handlers", "signals", { 0 }, 0, 0, 1, NULL },
    { "names cut at 4096 bytes", "long_names", { 0 }, 0, 0, 1, NULL },
    { "errno is the program's", "keeps_errno", { 0 }, 0, 0, 1, NULL },
    { "the file size limit of the process", "file_limit", { 0 }, 0, 0, 1, NULL },
    { "the limit of the trace", "pushes", { "LPO_COLLECT_MAX_MB=1" }, 0, 0, 1, NULL },
    { "no folder: nothing happens", "off", { "LPO_COLLECT_DIR=" }, 0, 0, 0, "" },
    { "a folder that cannot be", "off", { "LPO_COLLECT_DIR=/dev/null/x" }, 0, 0, 0, "" },
    { "NVTX switched off", "off", { "LPO_COLLECT_NVTX=0" }, 0, 0, 1, "" },
    { "two copies of NVTX",
      "two_copies",
      { 0 },
      0,
      0,
      1,
      "thread main\n"
      "  program x1\n"
      "    library x1\n"
      "  lib@inner x1\n" },
    { "a thread that records after its end", "destructors", { 0 }, 0, 0, 1, NULL },
    { "knobs out of bounds",
      "plain",
      { "LPO_COLLECT_BUFFER_KB=-5", "LPO_COLLECT_FLUSH_MS=soon" },
      0,
      0,
      1,
      PLAIN },
};

static void run_row(const struct row *r, struct traced *t, struct lpo_str *text)
{
    const char *argv[] = { "nvtx_client", r->scenario, NULL };

    traced_run(argv, r->env, t);
    if (strcmp(t->output, "") != 0)
        fail_msg("output: %s", t->output);
    if (r->signal) {
        assert_true(WIFSIGNALED(t->status));
        assert_int_equal(WTERMSIG(t->status), r->signal);
    } else {
        assert_true(WIFEXITED(t->status));
        assert_int_equal(WEXITSTATUS(t->status), r->exit_code);
    }
    assert_int_equal(t->files, r->files);
    traced_text(t->trace, text);
}

static void check_row(void **state)
{
    const struct row *r = *state;
    struct traced t;
    LPO_STR text = { 0 };

    run_row(r, &t, &text);
    if (r->want)
        assert_string_equal(lpo_str_text(&text), r->want);
    traced_free(&t);
}

static uint64_t visits(const struct lpo_trace *t, const char *name)
{
    uint64_t count = 0;

    for (size_t i = 0; i < t->ranges.len; i++)
        count += strcmp(lpo_trace_text(t, t->ranges.at[i].name), name) == 0;
    return count;
}

static uint64_t note_count(const struct lpo_trace *t, const char *part)
{
    for (size_t i = 0; i < t->notes.len; i++)
        if (strstr(lpo_trace_text(t, t->notes.at[i].text), part))
            return t->notes.at[i].count;
    return 0;
}

static const struct row *row_named(const char *scenario, const char *env)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].scenario, scenario) == 0 &&
            (!env || (rows[i].env[0] && strcmp(rows[i].env[0], env) == 0)))
            return &rows[i];
    fail_msg("no row %s", scenario);
    return NULL;
}

/* Three programs, one pid twice, none took another's file. */
/* Marks, and the payloads of ranges as numbers: six types of 42, of which as bits of a floating
 * point number two are next to nothing; then a start/end range. */
static void check_marks_and_numbers(void **state)
{
    static const char *const argv[] = { "nvtx_client", "every", NULL };
    struct traced t;
    const struct lpo_range_number *n = NULL;
    const struct lpo_range_look *look;
    size_t marks = 0;

    (void)state;
    traced_run(argv, NULL, &t);
    for (size_t i = 0; i < t.trace->marks.len; i++)
        marks += strcmp(lpo_trace_text(t.trace, t.trace->marks.at[i].name), "m") == 0;
    assert_int_equal(marks, 2);
    assert_true(t.trace->marks.len >= 3);
    for (size_t i = 0; i < t.trace->range_numbers.len; i++)
        if (strcmp(lpo_trace_text(t.trace, t.trace->range_numbers.at[i].name), "ex") == 0)
            n = &t.trace->range_numbers.at[i];
    assert_non_null(n);
    assert_int_equal(n->count, 7);
    assert_true(n->most == 42 && n->least < 1e-40);
    assert_true(n->sum >= 4 * 42 && n->sum < 4 * 42 + 1e-6);
    look = lpo_trace_look(t.trace, n->name, 0);
    assert_non_null(look);
    assert_string_equal(lpo_trace_text(t.trace, look->category), "cat");
    assert_true(look->has_color && look->color == 0x00ff00);
    assert_null(lpo_trace_look(t.trace, n->name, 200));
    traced_free(&t);
}

/* The same numbers whether ranges are kept or summed while they are read. */
static void check_region_numbers(void **state)
{
    static const char *const argv[] = { "nvtx_client", "numbers", NULL };
    static const char *const want[] = {
        "decode tokens 6: 33 (0 to 10)\n",          "decode ratio 3: 1.5 (0.5 to 0.5)\n",
        "decode/attn tokens 3: 300 (100 to 100)\n", "paid (payload) 1: 9 (9 to 9)\n",
        "request (payload) 3: 27 (9 to 9)\n",       "(outside) alone 1: -1 (-1 to -1)\n",
    };
    struct lpo_budget ordinary = *lpo_budget(), small = ordinary;

    (void)state;
    small.range_bytes = 0;
    for (int summed = 0; summed < 2; summed++) {
        struct traced t;
        LPO_STR text = { 0 };

        lpo_budget_use(summed ? &small : &ordinary);
        traced_run(argv, NULL, &t);
        assert_int_equal(t.trace->paths.len > 0, summed);
        assert_int_equal(t.trace->marks.len, 1); /* numbers are none */
        {
            LPO_AUTO(lpo_region_tree) tree = lpo_region_tree_create(t.trace);
            LPO_AUTO(lpo_numbers) numbers = lpo_numbers_create(tree);

            assert_int_equal(numbers->rows.len, sizeof want / sizeof *want);
            for (size_t i = 0; i < numbers->rows.len; i++) {
                const struct lpo_numbers_row *r = &numbers->rows.at[i];

                if (r->node == LPO_NODE_OUTSIDE)
                    lpo_str_add(&text, "(outside)");
                else
                    lpo_region_add_path(tree, r->node, &text);
                lpo_str_addf(&text, " %s %d: %g (%g to %g)\n",
                             r->name == LPO_NONE ? "(payload)" : lpo_trace_text(t.trace, r->name),
                             (int)r->count, r->sum, r->least, r->most);
            }
        }
        for (size_t i = 0; i < sizeof want / sizeof *want; i++)
            assert_non_null(strstr(lpo_str_text(&text), want[i]));
        traced_free(&t);
    }
    lpo_budget_use(&ordinary);
}

static void check_execs(void **state)
{
    struct traced t;
    LPO_STR text = { 0 };

    (void)state;
    run_row(row_named("execs", NULL), &t, &text);
    assert_int_equal(visits(t.trace, "before"), 1);
    assert_int_equal(visits(t.trace, "decode"), 2);
    assert_int_equal(visits(t.trace, "step"), 6);
    assert_int_equal(t.trace->processes.len, 2);
    traced_free(&t);
}

static void check_bursts(void **state)
{
    struct traced t;
    LPO_STR text = { 0 };

    (void)state;
    run_row(row_named("bursts", NULL), &t, &text);
    assert_int_equal(visits(t.trace, "load"), 12000);
    assert_int_equal(visits(t.trace, "sample 1023"), 9);
    assert_int_equal(visits(t.trace, "sample 0"), 12);
    assert_int_equal(t.trace->notes.len, 0);
    traced_free(&t);
}

/* By SIGKILL at any moment: of each thread at most the range that it was in is missing. */
static void check_killed_busy(void **state)
{
    static const char *const argv[] = { "nvtx_client", "killed_busy", NULL };
    static const char *const often[] = { "LPO_COLLECT_FLUSH_MS=1", "LPO_COLLECT_BUFFER_KB=16",
                                         NULL };

    (void)state;
    for (int round = 0; round < 10; round++) {
        struct traced t;
        const char *at;
        char *end;

        traced_run(argv, round & 1 ? often : NULL, &t);
        assert_int_equal(t.files, 2);
        at = t.output;
        for (int i = 0; i < 4; i++, at = end) {
            unsigned long long ended = strtoull(at, &end, 10);
            char name[16];
            uint64_t there;

            assert_true(end > at);
            snprintf(name, sizeof name, "thread %d", i);
            there = visits(t.trace, name);
            assert_true(there >= ended && there <= ended + 2);
        }
        assert_int_equal(note_count(t.trace, "damaged"), 0);
        assert_int_equal(note_count(t.trace, "no open range"), 0);
        assert_int_equal(note_count(t.trace, "whole block"), 0);
        traced_free(&t);
    }
}

static void check_fork_storm(void **state)
{
    struct traced t;
    LPO_STR text = { 0 };

    (void)state;
    run_row(row_named("fork_storm", NULL), &t, &text);
    assert_int_equal(visits(t.trace, "child"), 50);
    assert_int_equal(visits(t.trace, "a name only the child has"), 50);
    traced_free(&t);
}

/* Each of the handler's calls is either whole in the trace or counted. */
static void check_signals(void **state)
{
    struct traced t;
    LPO_STR text = { 0 };

    (void)state;
    run_row(row_named("signals", NULL), &t, &text);
    assert_int_equal(visits(t.trace, "main"), 300000);
    assert_true(visits(t.trace, "signal") + note_count(t.trace, "signal handler") / 2 > 0);
    assert_int_equal(note_count(t.trace, "never closed"), 0);
    assert_int_equal(note_count(t.trace, "no open range"), 0);
    traced_free(&t);
}

static void check_long_names(void **state)
{
    struct traced t;
    LPO_STR text = { 0 };

    (void)state;
    run_row(row_named("long_names", NULL), &t, &text);
    assert_int_equal(t.trace->ranges.len, 3);
    assert_int_equal(lpo_trace_text_len(t.trace, t.trace->ranges.at[0].name), 4096);
    assert_int_equal(t.trace->ranges.at[0].name, t.trace->ranges.at[1].name);
    assert_string_equal(lpo_trace_text(t.trace, t.trace->ranges.at[2].name), "");
    assert_int_equal(note_count(t.trace, "longer than 4096"), 1);
    traced_free(&t);
}

static void check_file_limit(void **state)
{
    struct traced t;
    LPO_STR text = { 0 };

    (void)state;
    run_row(row_named("file_limit", NULL), &t, &text);
    assert_true(t.bytes <= 65536);
    assert_non_null(strstr(lpo_str_text(&text), "reached its size limit"));
    assert_true(note_count(t.trace, "could not be written") + 2 * t.trace->ranges.len >= 400000);
    traced_free(&t);
}

/* What is there is whole, what is not is counted: together all 20 million events. */
static void check_trace_limit(void **state)
{
    struct traced t;
    LPO_STR text = { 0 };
    uint64_t lost;

    (void)state;
    run_row(row_named("pushes", "LPO_COLLECT_MAX_MB=1"), &t, &text);
    assert_true(t.bytes <= (1 << 20) + 4096);
    lost = note_count(t.trace, "could not be written");
    assert_true(note_count(t.trace, "size limit") == 0);
    assert_non_null(strstr(lpo_str_text(&text), "reached its size limit"));
    assert_true(t.trace->dropped == lost);
    assert_true(lost + 2 * t.trace->ranges.len >= 20000000);
    assert_true(lost + 2 * t.trace->ranges.len <= 20000001);
    traced_free(&t);
}

static void check_destructors(void **state)
{
    struct traced t;
    LPO_STR text = { 0 };

    (void)state;
    run_row(row_named("destructors", NULL), &t, &text);
    assert_int_equal(visits(t.trace, "early"), 1);
    assert_int_equal(visits(t.trace, "late"), 1);
    traced_free(&t);
}

static void run_scenario(const char *scenario, struct traced *t)
{
    const char *argv[] = { "nvtx_client", scenario, NULL };

    traced_run(argv, NULL, t);
    if (strcmp(t->output, "") != 0)
        fail_msg("output: %s", t->output);
    assert_int_equal(t->status, 0);
}

static void check_pushes(void **state)
{
    const struct lpo_budget ordinary = *lpo_budget();
    struct lpo_budget large = ordinary;
    struct traced t;

    (void)state;
    /* The slower the machine, the larger the times between events, and the more bytes they take:
     * whether these ranges are summed must not depend on that. */
    large.range_bytes *= 4;
    lpo_budget_use(&large);
    run_scenario("pushes", &t);
    lpo_budget_use(&ordinary);
    assert_int_equal(t.trace->ranges.len, 10000000);
    assert_int_equal(visits(t.trace, "odd"), 5000000);
    assert_int_equal(t.trace->notes.len, 0);
    assert_true(t.bytes < 100u * 1000 * 1000); /* 10 bytes for a push and its pop */
    traced_free(&t);
}

static void check_many_names(void **state)
{
    struct traced t;

    (void)state;
    run_scenario("many_names", &t);
    assert_int_equal(t.trace->ranges.len, 1100000);
    for (size_t i = 0; i < t.trace->ranges.len; i += 997) {
        char want[64];
        snprintf(want, sizeof want, "request number %zu of very many", i);
        assert_string_equal(lpo_trace_text(t.trace, t.trace->ranges.at[i].name), want);
    }
    traced_free(&t);
}

static void check_deep(void **state)
{
    struct traced t;

    (void)state;
    run_scenario("deep", &t);
    assert_int_equal(t.trace->ranges.len, 5000);
    assert_int_equal(t.trace->notes.len, 0);
    for (size_t i = 1; i < 5000; i++) {
        assert_true(t.trace->ranges.at[i].start_ns >= t.trace->ranges.at[i - 1].start_ns);
        assert_true(t.trace->ranges.at[i].end_ns <= t.trace->ranges.at[i - 1].end_ns);
    }
    traced_free(&t);
}

/* Written by the thread that ends the process, from under the hands of those that record. */
static void check_exit_busy(void **state)
{
    struct traced t;

    (void)state;
    run_scenario("exit_busy", &t);
    assert_int_equal(visits(t.trace, "main"), 1);
    assert_true(t.trace->ranges.len > 100);
    assert_int_equal(note_count(t.trace, "damaged"), 0);
    assert_int_equal(note_count(t.trace, "no open range"), 0);
    traced_free(&t);
}

static void check_many_threads(void **state)
{
    struct traced t;

    (void)state;
    run_scenario("many_threads", &t);
    assert_int_equal(visits(t.trace, "outer"), 1600);
    assert_int_equal(t.trace->notes.len, 0);
    traced_free(&t);
}

int main(void)
{
    struct unit u = { 0 };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].want)
            unit_add(&u, rows[i].name, check_row, &rows[i]);
    UNIT_TEST(&u, check_marks_and_numbers);
    UNIT_TEST(&u, check_region_numbers);
    UNIT_TEST(&u, check_execs);
    UNIT_TEST(&u, check_bursts);
    UNIT_TEST(&u, check_killed_busy);
    UNIT_TEST(&u, check_fork_storm);
    UNIT_TEST(&u, check_signals);
    UNIT_TEST(&u, check_long_names);
    UNIT_TEST(&u, check_file_limit);
    UNIT_TEST(&u, check_trace_limit);
    UNIT_TEST(&u, check_destructors);
    UNIT_TEST(&u, check_pushes);
    UNIT_TEST(&u, check_many_names);
    UNIT_TEST(&u, check_deep);
    UNIT_TEST(&u, check_many_threads);
    UNIT_TEST(&u, check_exit_busy);
    return unit_run(&u);
}
