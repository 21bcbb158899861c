/* SPDX-License-Identifier: Apache-2.0 */
/* The share of a core that sampling may take: what gives way, when, and what the file says of it.
 * All times, CPU time too, are those of fake_pm.c: no clock decides. */
#include <dlfcn.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>

#include "../unit.h"
#include "fake_pm.h"
#include "gpu/sampler/budget.h"
#include "gpu/sampler/sampler.h"
#include "trace/counters/counters.h"
#include "util/arena.h"
#include "util/err.h"

enum { US = 1000, MS = 1000000, RESTART_MS = 200 };

/* --- how far it goes --- */

static const struct pace_case {
    const char *name;
    int64_t interval_us, round_ms;
    double share, core;
    int64_t to_us, to_ms;
    bool any;
} pace_cases[] = {
    { "what fits stays", 100, 20, 0.03, 0.03, 100, 20, false },
    { "a little too much is doubled once", 100, 20, 0.031, 0.03, 200, 40, true },
    { "far too much is doubled as often as it takes", 100, 20, 0.44, 0.03, 1600, 320, true },
    { "rounds end at 500 ms", 100, 20, 0.9, 0.03, 3200, 500, true },
    { "intervals end at 10 ms", 100, 20, 1, 0.01, 10000, 500, true },
    { "one that is long already: only the rounds", 20000, 20, 0.06, 0.03, 20000, 40, true },
    { "rounds that are long already: only the interval", 1000, 800, 0.06, 0.03, 2000, 800, true },
    { "nothing is left", 10000, 500, 0.06, 0.03, 10000, 500, false },
};

static void check_pace(void **state)
{
    const struct pace_case *c = *state;
    struct lpo_sampler_pace p = { c->interval_us * US, c->round_ms * MS };

    assert_int_equal(lpo_sampler_pace_lengthen(&p, c->share, c->core), c->any);
    assert_int_equal(p.interval_ns, c->to_us * US);
    assert_int_equal(p.round_ns, c->to_ms * MS);
}

/* --- when --- */

/* So many rounds of this length and CPU time; returns the verdict of the last, the others must be
 * GOES_ON. */
static enum lpo_sampler_verdict rounds(struct lpo_sampler_budget *b, int64_t clocks[2], int count,
                                       int64_t wall_ms, int64_t cpu_us)
{
    for (int i = 1;; i++) {
        enum lpo_sampler_verdict v;

        clocks[0] += wall_ms * MS;
        clocks[1] += cpu_us * US;
        v = lpo_sampler_budget_round(b, clocks[0], clocks[1]);
        if (i == count)
            return v;
        assert_int_equal(v, LPO_SAMPLER_GOES_ON);
    }
}

static struct lpo_sampler_budget budget_of(double core)
{
    return (struct lpo_sampler_budget){ .core = core, .pace = { 100 * US, 20 * MS } };
}

/* A second and eight rounds after the first are looked at together. */
static void some_rounds_decide(void **unused)
{
    struct lpo_sampler_budget b = budget_of(0.03);
    int64_t clocks[2] = { 5, 7 };

    (void)unused;
    assert_int_equal(rounds(&b, clocks, 50, 20, 1000), LPO_SAMPLER_GOES_ON);
    assert_int_equal(rounds(&b, clocks, 1, 20, 1000), LPO_SAMPLER_LENGTHENED);
    assert_int_equal(b.pace.interval_ns, 200 * US);
    lpo_sampler_budget_restart(&b);
    assert_int_equal(rounds(&b, clocks, 8, 320, 16000), LPO_SAMPLER_GOES_ON);
    assert_int_equal(rounds(&b, clocks, 1, 320, 16000), LPO_SAMPLER_LENGTHENED);
}

static void one_large_round_does_not(void **unused)
{
    struct lpo_sampler_budget b = budget_of(0.03);
    int64_t clocks[2] = { 0, 0 };

    (void)unused;
    assert_int_equal(rounds(&b, clocks, 20, 20, 400), LPO_SAMPLER_GOES_ON);
    assert_int_equal(rounds(&b, clocks, 1, 20, 9000), LPO_SAMPLER_GOES_ON);
    assert_int_equal(rounds(&b, clocks, 200, 20, 400), LPO_SAMPLER_GOES_ON);
    assert_int_equal(b.pace.interval_ns, 100 * US);
    assert_true(b.share > 0.019 && b.share < 0.021); /* of the last ones alone */
}

/* What a restart took is before the first round after it. */
static void a_restart_is_not_counted(void **unused)
{
    struct lpo_sampler_budget b = budget_of(0.03);
    int64_t clocks[2] = { 0, 0 };

    (void)unused;
    assert_int_equal(rounds(&b, clocks, 51, 20, 1000), LPO_SAMPLER_LENGTHENED);
    lpo_sampler_budget_restart(&b);
    clocks[1] += (int64_t)900 * MS;
    assert_int_equal(rounds(&b, clocks, 300, 40, 800), LPO_SAMPLER_GOES_ON);
}

static void without_a_limit_nothing_is_looked_at(void **unused)
{
    struct lpo_sampler_budget b = budget_of(0);
    int64_t clocks[2] = { 0, 0 };

    (void)unused;
    assert_int_equal(rounds(&b, clocks, 500, 20, 40000), LPO_SAMPLER_GOES_ON);
    assert_int_equal(b.pace.interval_ns, 100 * US);
}

static void the_end_is_said_once(void **unused)
{
    struct lpo_sampler_budget b = budget_of(0.03);
    int64_t clocks[2] = { 0, 0 };

    (void)unused;
    b.pace = (struct lpo_sampler_pace){ 10 * MS, 500 * MS };
    assert_int_equal(rounds(&b, clocks, 9, 500, 50000), LPO_SAMPLER_EXHAUSTED);
    assert_int_equal(rounds(&b, clocks, 100, 500, 50000), LPO_SAMPLER_GOES_ON);
}

/* --- the whole sampler --- */

static const struct run_case {
    const char *name, *modes;
    int64_t core_millionths, interval_us; /* interval 0: to be chosen */
    unsigned sample_us, round_us;         /* CPU time of each */
    int64_t first_us, last_us, last_ms; /* interval at the start; interval and rounds at the end */
    unsigned lengthened;
    bool too_much; /* at the end, too */
} run_cases[] = {
    { "no budget", "h200,no_nvlink", 0, 0, 44, 1200, 100, 100, 20, 0, false },
    { "a whole core is no limit", "h200,no_nvlink", 1000000, 0, 440, 1200, 100, 100, 20, 0, false },
    { "more than enough", "h200,no_nvlink", 600000, 0, 44, 1200, 100, 100, 20, 0, false },
    { "3 %: begins where the estimate is", "h200,no_nvlink", 30000, 0, 44, 1200, 3200, 3200, 500, 0,
      false },
    { "3 %: the estimate was too low", "h200,no_nvlink", 30000, 0, 120, 1200, 3200, 6400, 500, 1,
      false },
    { "3 % of an interval that was named: begins there", "h200,no_nvlink", 30000, 100, 44, 1200,
      100, 3200, 500, 1, false },
    { "rounds that cost much take more steps", "h200,no_nvlink", 30000, 0, 44, 12000, 3200, 10000,
      500, 2, false },
    { "nobody says what a sample costs", "no_size", 30000, 0, 44, 1200, 100, 3200, 500, 1, false },
    { "20 %", "h200,no_nvlink", 200000, 0, 44, 1200, 400, 400, 80, 0, false },
    { "an interval that is long already", "h200,no_nvlink", 30000, 20000, 44, 1200, 20000, 20000,
      80, 0, false },
    { "1 % cannot be had", "h200,no_nvlink", 10000, 0, 44, 20000, 6400, 10000, 500, 1, true },
};

static const int64_t most_ns = 1000000000000; /* no run with samples comes so far */
static struct fake_pm_clocks *clocks;

static int64_t fake_wall(void *unused)
{
    (void)unused;
    return clocks->wall_ns;
}

static int64_t fake_cpu(void *unused, bool thread)
{
    (void)unused;
    assert_false(thread); /* a process of its own counts all of its threads */
    return clocks->cpu_ns;
}

static int fake_wait(void *unused, struct pollfd *fds, unsigned count, int64_t until_ns)
{
    (void)unused;
    if (until_ns > clocks->wall_ns)
        clocks->wall_ns = until_ns;
    if (clocks->wall_ns > most_ns) /* a sampler that gave up decodes nothing more */
        kill(getpid(), SIGTERM);
    return poll(fds, count, 0);
}

static void use_fake(const char *modes, unsigned sample_us, unsigned round_us)
{
    struct fake_pm_clocks *(*get)(void);
    void (*reset)(void);
    void *library = dlopen(FAKE_PM_LIBRARY, RTLD_NOW);
    char text[64];

    assert_non_null(library);
    *(void **)&get = dlsym(library, "fake_pm_clocks");
    *(void **)&reset = dlsym(library, "fake_pm_reset");
    assert_non_null(get);
    assert_non_null(reset);
    reset();
    clocks = get();
    snprintf(text, sizeof text, "paced,%s", modes);
    setenv("FAKE_PM", text, 1);
    setenv("FAKE_PM_ROUNDS", "400", 1);
    snprintf(text, sizeof text, "%u", sample_us * US);
    setenv("FAKE_PM_SAMPLE_NS", text, 1);
    snprintf(text, sizeof text, "%u", round_us * US);
    setenv("FAKE_PM_ROUND_NS", text, 1);
    setenv("LPO_LIBCUDA", FAKE_PM_LIBRARY, 1);
    setenv("LPO_LIBCUPTI", FAKE_PM_LIBRARY, 1);
}

/* Samples until the fake says stop. */
static void run(const struct run_case *c, const char *path, struct lpo_sampler_result *r)
{
    static const struct lpo_sampler_clock clock = { fake_wall, fake_cpu, fake_wait, NULL };
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_sampler_options o = {
        .ask = { .interval_ns = c->interval_us * US,
                 .least_ns = 50 * US,
                 .period_ns = 20 * MS,
                 .core_millionths = c->core_millionths },
        .path = path,
        .version = "",
        .beside = "",
        .stop_fd = -1,
        .clock = &clock,
    };
    struct lpo_err err = { 0 };
    sigset_t set;

    use_fake(c->modes, c->sample_us, c->round_us);
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    o.signal_fd = signalfd(-1, &set, SFD_CLOEXEC);
    if (lpo_sampler_run(a, &o, r, &err) < 0)
        fail_msg("%s", lpo_err_cause(&err));
    for (struct signalfd_siginfo info; poll(&(struct pollfd){ o.signal_fd, POLLIN, 0 }, 1, 0) > 0;)
        assert_true(read(o.signal_fd, &info, sizeof info) > 0);
    close(o.signal_fd);
}

/* What a file holds, walked once: its samples and losses leave no time out. */
struct walked {
    int64_t first_us, last_us;
    unsigned changes;   /* of the interval, from one sample to the next */
    unsigned restarts;  /* losses because of that */
    double bytes, want; /* of the first metric; by the time of the samples */
    bool note;
};

static struct walked walk(const char *path, struct lpo_counters_file **c)
{
    struct walked w = { 0 };
    struct lpo_counters_sample s;
    int64_t end_ns = 0;

    assert_int_equal(lpo_counters_open(path, c, NULL), 0);
    unlink(path);
    while (lpo_counters_next(*c, &s)) {
        if (end_ns)
            assert_int_equal(s.start_ns, end_ns);
        end_ns = s.end_ns;
        if (!s.values) {
            assert_int_equal(s.why, LPO_COUNTERS_LOST_CHANGE);
            assert_true(s.end_ns - s.start_ns >= (int64_t)RESTART_MS * MS);
            assert_true(s.end_ns - s.start_ns < (int64_t)RESTART_MS * MS + w.last_us * US);
            w.restarts++;
            continue;
        }
        assert_int_equal(s.end_ns - s.start_ns, s.interval_ns);
        w.first_us = w.first_us ? w.first_us : s.interval_ns / US;
        w.changes += w.last_us && w.last_us != s.interval_ns / US;
        w.last_us = s.interval_ns / US;
        w.bytes += s.values[0];
        w.want += 3.0 * (double)s.interval_ns;
    }
    for (size_t i = 0; i < lpo_counters_totals(*c)->nnotes; i++)
        w.note |=
            strstr(lpo_counters_totals(*c)->notes[i], "with the longest interval, too") != NULL;
    return w;
}

static void check_run(void **state)
{
    const struct run_case *c = *state;
    LPO_AUTO(lpo_counters_file) file = NULL;
    struct lpo_sampler_result r;
    char path[UNIT_PATH];
    struct walked w;
    double rest;

    unit_file("", 0, path);
    run(c, path, &r);
    w = walk(path, &file);
    assert_int_equal(w.first_us, c->first_us);
    assert_int_equal(w.last_us, c->last_us);
    assert_int_equal(r.interval_ns, c->last_us * US);
    assert_int_equal(r.lengthened, c->lengthened);
    assert_int_equal(w.changes, c->lengthened);
    assert_int_equal(w.restarts, c->lengthened);
    assert_true(w.bytes == w.want && w.bytes > 0);
    assert_int_equal(w.note, c->too_much);
    assert_int_equal(clocks->full, 0); /* each round had room */
    /* what the file says it took is what the clocks say */
    assert_int_equal(lpo_counters_totals(file)->cpu_ns, clocks->cpu_ns);
    assert_int_equal(lpo_counters_totals(file)->wall_ns, clocks->wall_ns);
    rest = (double)c->sample_us / (double)c->last_us + c->round_us / 1e3 / (double)c->last_ms;
    if (c->core_millionths && c->core_millionths < 1000000)
        assert_int_equal(rest > (double)c->core_millionths / 1e6, c->too_much);
    /* the rounds are those that were meant: most of the time is spent in them */
    assert_true((double)clocks->wall_ns > 300.0 * (double)c->last_ms * MS);
    assert_true((double)clocks->wall_ns < 410.0 * (double)c->last_ms * MS);
}

/* Sampling that cannot be started again keeps what there is. */
static void a_change_that_fails_keeps_what_there_is(void **unused)
{
    static const struct run_case c = {
        "", "h200,no_nvlink,no_restart", 30000, 100, 44, 1200, 100, 100, 20, 0, false
    };
    LPO_AUTO(lpo_counters_file) file = NULL;
    const struct lpo_counters_totals *t;
    struct lpo_counters_sample s;
    struct lpo_sampler_result r;
    char path[UNIT_PATH];
    bool lost = false;

    (void)unused;
    unit_file("", 0, path);
    run(&c, path, &r);
    assert_int_equal(r.ended_by, LPO_COUNTERS_ENDED_STOPPED);
    assert_int_equal(r.lengthened, 0);
    assert_int_equal(r.interval_ns, 100 * US);
    assert_int_equal(lpo_counters_open(path, &file, NULL), 0);
    unlink(path);
    while (lpo_counters_next(file, &s))
        lost |= !s.values && s.why == LPO_COUNTERS_LOST_CHANGE;
    t = lpo_counters_totals(file);
    assert_true(lost);
    assert_true(t->samples > 9000 && t->samples < 11000); /* those of the first second */
    assert_int_equal(t->ended_by, LPO_COUNTERS_ENDED_STOPPED);
    assert_non_null(
        strstr(t->notes[t->nnotes - 1], "sampling ended when its interval was lengthened: "));
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, pace_cases, check_pace);
    UNIT_TEST(&u, some_rounds_decide);
    UNIT_TEST(&u, one_large_round_does_not);
    UNIT_TEST(&u, a_restart_is_not_counted);
    UNIT_TEST(&u, without_a_limit_nothing_is_looked_at);
    UNIT_TEST(&u, the_end_is_said_once);
    UNIT_ROWS(&u, run_cases, check_run);
    UNIT_TEST(&u, a_change_that_fails_keeps_what_there_is);
    return unit_run(&u);
}
