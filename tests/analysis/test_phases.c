/* SPDX-License-Identifier: Apache-2.0 */
/* What comes once, which steps are steady, and the window of a process. */
#include "../region/build.h"
#include "../unit.h"

#include "analysis/phases/phases.h"
#include "analysis/steps/steps.h"
#include "region/tree.h"

enum { P = LPO_PHASE_PREPARE, F = LPO_PHASE_FIRST_CALL, C = LPO_PHASE_COMPILE };

/* Times in units of build.h: nanoseconds. */
static const struct phases_case {
    const char *name, *text;
    struct {
        int phase;
        int64_t start, end;
    } once[3];
    const char *steady; /* per step: 's' or '-' */
    int64_t window[2];
} cases[] = {
    { "no steps: from the first to the last event",
      "A 5-100 k 20-22=500",
      { { 0, 0, 0 } },
      "",
      { 5, 522 } },
    { "a thread that launches nothing is no part of it",
      "A 10-600 k 20-22=500 @2 B 0-5000",
      { { 0, 0, 0 } },
      "",
      { 10, 600 } },
    { "loading is what the outermost range says",
      "load_model 0-1000 run 1000-9000 load 1200-1300 k 1210-1212=50",
      { { P, 0, 1000 } },
      "",
      { 0, 9000 } },
    { "the first of numbered steps is longer",
      "step_0 0-500 k 410-412=70 step_1 500-600 k 510-512=70 step_2 600-700 k 610-612=70 "
      "step_3 700-800 k 710-712=70",
      { { F, 0, 500 } },
      "-sss",
      { 500, 800 } },
    { "steps alike are all steady",
      "step_0 0-100 k 10-12=70 step_1 100-200 k 110-112=70 step_2 200-300 k 210-212=70",
      { { 0, 0, 0 } },
      "sss",
      { 0, 300 } },
    { "a leading step that compiles is not steady, one in the middle is",
      "step_0 0-100 x(dynamo_timed) 5-50 k 60-62=9 step_1 100-200 k 110-112=9 step_2 200-300 "
      "y(dynamo_timed) 205-250 k 260-262=9 step_3 300-400 k 310-312=9",
      { { C, 5, 50 }, { C, 205, 250 } },
      "-sss",
      { 100, 400 } },
    { "where every step compiles, all are steady",
      "step_0 0-100 x(dynamo_timed) 5-50 k 60-62=9 step_1 100-200 x(dynamo_timed) 105-150 k "
      "160-162=9",
      { { C, 5, 50 }, { C, 105, 150 } },
      "ss",
      { 0, 200 } },
    { "a little of it does not matter",
      "step_0 0-1000 x(dynamo_timed) 5-15 k 60-62=9 step_1 1000-2000 k 1060-1062=9",
      { { C, 5, 15 } },
      "ss",
      { 0, 2000 } },
    { "GPU work of the last step ends later",
      "step_0 0-100 k 10-12=50 step_1 100-200 k 110-112=400",
      { { 0, 0, 0 } },
      "ss",
      { 0, 512 } },
    { "a last step that launched nothing was cut",
      "step_0 0-100 k 10-12=50 step_1 100-200 k 110-112=50 step_2 200-210",
      { { 0, 0, 0 } },
      "ss-",
      { 0, 200 } },
};

/* Kernels run right after their launches. */
static struct lpo_trace *trace_of(const char *text)
{
    struct lpo_trace *t = build_trace(text);

    for (size_t i = 0; i < t->gpu_ops.len; i++) {
        struct lpo_gpu_op *op = &t->gpu_ops.at[i];
        int64_t ns = op->end_ns - op->start_ns;

        op->start_ns = t->launches.at[op->launch].end_ns;
        op->end_ns = op->start_ns + ns;
    }
    return t;
}

static void check_phases(void **state)
{
    const struct phases_case *c = *state;
    LPO_AUTO(lpo_trace) t = trace_of(c->text);
    LPO_AUTO(lpo_region_tree) tree = lpo_region_tree_create(t);
    struct lpo_program_steps *steps = lpo_steps_create(tree);
    LPO_AUTO(lpo_phases) p = lpo_phases_create(tree, steps);
    const struct lpo_phases_window *w = lpo_phases_window_of(p, 0);
    size_t once = 0;

    while (once < 3 && c->once[once].phase)
        once++;
    assert_int_equal(p->once.len, once);
    for (size_t i = 0; i < once; i++) {
        assert_int_equal(p->once.at[i].phase, c->once[i].phase);
        assert_int_equal(p->once.at[i].start_ns, c->once[i].start);
        assert_int_equal(p->once.at[i].end_ns, c->once[i].end);
        assert_int_equal(lpo_phases_at(p, 0, c->once[i].start), c->once[i].phase);
        assert_int_equal(lpo_phases_at(p, 0, c->once[i].end), LPO_PHASE_STEADY);
    }
    assert_int_equal(steps ? steps->rows.len : 0, strlen(c->steady));
    for (size_t i = 0; c->steady[i]; i++)
        assert_int_equal(p->steady_steps[i], c->steady[i] == 's');
    assert_non_null(w);
    assert_int_equal(w->start_ns, c->window[0]);
    assert_int_equal(w->end_ns, c->window[1]);
    assert_null(lpo_phases_window_of(p, 1));
    lpo_steps_destroy(steps);
}

/* Stretches that overlap are counted once. */
static void time_that_comes_once(void **state)
{
    LPO_AUTO(lpo_trace)
    t = build_trace("warmup 0-100 a(dynamo_timed) 50-150 @2 b(dynamo_timed) 140-160 k 170-171=9");
    LPO_AUTO(lpo_region_tree) tree = lpo_region_tree_create(t);
    LPO_AUTO(lpo_phases) p = lpo_phases_create(tree, NULL);

    (void)state;
    assert_int_equal(lpo_phases_once_ns(p, 0, 0, 1000), 160);
    assert_int_equal(lpo_phases_once_ns(p, 0, 90, 155), 65);
    assert_int_equal(lpo_phases_once_ns(p, 1, 0, 1000), 0);
    assert_int_equal(lpo_phases_at(p, 0, 155), LPO_PHASE_COMPILE);
}

static void names_that_prepare(void **state)
{
    static const struct {
        const char *path;
        bool prepares;
    } rows[] = {
        { "load", true },          { "Load-Model", true },    { "warm up 3", true },
        { "warmup_2/step", true }, { "my@loading", true },    { "loader", false },
        { "load_balance", false }, { "run/load", false },     { "", false },
        { "warmup2", true },       { "model_load: 7", true }, { "upload", false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        print_message("# %s\n", rows[i].path);
        assert_int_equal(lpo_phases_path_prepares(rows[i].path), rows[i].prepares);
    }
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check_phases);
    UNIT_TEST(&u, time_that_comes_once);
    UNIT_TEST(&u, names_that_prepare);
    return unit_run(&u);
}
