/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that do what a guest least expects (nvtx_client_victims.c): they end as they would
 * without the collector, and the trace has all it can have and says what it has not. */
#include <sys/wait.h>

#include "../unit.h"
#include "traced.h"

static uint64_t calls(const struct lpo_trace *t, const char *name)
{
    uint64_t count = 0;

    for (size_t i = 0; i < t->ranges.len; i++)
        count += strcmp(lpo_trace_text(t, t->ranges.at[i].name), name) == 0;
    return count;
}

static bool has_note(const struct lpo_trace *t, const char *part, uint64_t *count)
{
    for (size_t i = 0; i < t->notes.len; i++)
        if (strstr(lpo_trace_text(t, t->notes.at[i].text), part)) {
            if (count)
                *count = t->notes.at[i].count;
            return true;
        }
    return false;
}

static uint64_t note_count(const struct lpo_trace *t, const char *part)
{
    uint64_t count = 0;

    has_note(t, part, &count);
    return count;
}

static int64_t longest_ns(const struct lpo_trace *t, const char *name)
{
    int64_t longest = -1;

    for (size_t i = 0; i < t->ranges.len; i++) {
        const struct lpo_range *r = &t->ranges.at[i];
        if (strcmp(lpo_trace_text(t, r->name), name) == 0 && r->end_ns - r->start_ns > longest)
            longest = r->end_ns - r->start_ns;
    }
    return longest;
}

static void after_fork(const struct traced *t)
{
    assert_int_equal(calls(t->trace, "parent"), 3);
    assert_int_equal(calls(t->trace, "child"), 3);
    assert_int_equal(calls(t->trace, "handler"), 3);
    assert_int_equal(note_count(t->trace, "interrupted the collector"), 6);
}

static void after_exit(const struct traced *t)
{
    assert_int_equal(calls(t->trace, "main 1"), 1);
}

static void after_fork_in_signal(const struct traced *t)
{
    assert_int_equal(calls(t->trace, "parent"), 100);
    assert_int_equal(calls(t->trace, "child"), 2000);
}

static void after_cancel(const struct traced *t)
{
    assert_int_equal(calls(t->trace, "cancelled"), 1);
    assert_int_equal(calls(t->trace, "main"), 2);
}

static void after_small_stack(const struct traced *t)
{
    assert_int_equal(calls(t->trace, "small"), 2);
    assert_int_equal(calls(t->trace, "wide"), 1);
}

static void after_altstack(const struct traced *t)
{
    assert_int_equal(calls(t->trace, "handler"), 2);
}

static void after_vfork(const struct traced *t)
{
    assert_int_equal(calls(t->trace, "before"), 1);
    assert_int_equal(calls(t->trace, "child"), 2);
    assert_int_equal(calls(t->trace, "after"), 1000);
}

static void after_raw_fork(const struct traced *t)
{
    assert_int_equal(calls(t->trace, "before"), 1);
    assert_int_equal(calls(t->trace, "copy"), 0);
    assert_int_equal(calls(t->trace, "after"), 1000);
}

static void after_jump(const struct traced *t)
{
    assert_true(note_count(t->trace, "siglongjmp") > 0);
    assert_int_equal(calls(t->trace, "after"), 1000);
    assert_int_equal(calls(t->trace, "deep"), 1000);
}

/* A call from further down the stack may be inside a handler that is still running: some are
 * turned away before the collector believes that there is none. */
static void after_jump_then_deeper(const struct traced *t)
{
    uint64_t lost = note_count(t->trace, "interrupted the collector");

    assert_true(note_count(t->trace, "siglongjmp") > 0);
    assert_true(calls(t->trace, "deep") + (lost + 1) / 2 >= 1000);
    assert_true(calls(t->trace, "deep") >= 1000 - 33);
}

/* Each range took at least 120 ms and nothing near the steps; the machine may be busy. */
static void after_clock_steps(const struct traced *t)
{
    static const char *const names[] = { "forward", "back" };
    struct lpo_range outer = t->trace->ranges.at[0];

    for (size_t i = 0; i < 2; i++) {
        assert_true(longest_ns(t->trace, names[i]) >= 119000000);
        assert_true(longest_ns(t->trace, names[i]) < longest_ns(t->trace, "outer") - 230000000);
    }
    assert_string_equal(lpo_trace_text(t->trace, outer.name), "outer");
    assert_true(longest_ns(t->trace, "outer") >= 359000000);
    for (size_t i = 1; i < t->trace->ranges.len; i++) {
        assert_true(t->trace->ranges.at[i].start_ns >= outer.start_ns);
        assert_true(t->trace->ranges.at[i].end_ns <= outer.end_ns);
    }
    assert_true(has_note(t->trace, "wall clock was set by 100 ms", NULL));
    assert_true(has_note(t->trace, "wall clock was set by -1000 ms", NULL));
}

static void after_full_disk(const struct traced *t)
{
    uint64_t lost = note_count(t->trace, "could not be written");

    assert_true(has_note(t->trace, "no space is left on the disk", NULL));
    assert_true(lost > 0 && t->trace->ranges.len > 0);
    assert_true(lost + 2 * t->trace->ranges.len >= 600002);
    assert_true(lost + 2 * t->trace->ranges.len <= 600003);
}

static int64_t ends_of(const struct lpo_trace *t, const char *name, int which)
{
    int64_t last = 0;

    for (size_t i = 0; i < t->ranges.len; i++)
        if (strcmp(lpo_trace_text(t, t->ranges.at[i].name), name) == 0 &&
            (which < 0 || which-- == 0))
            last = t->ranges.at[i].end_ns;
    return last;
}

static int64_t starts_of(const struct lpo_trace *t, const char *name)
{
    for (size_t i = 0; i < t->ranges.len; i++)
        if (strcmp(lpo_trace_text(t, t->ranges.at[i].name), name) == 0)
            return t->ranges.at[i].start_ns;
    return 0;
}

/* What is in the file, and what is said to be lost, is all there was. */
static void after_disk_trouble(const struct traced *t)
{
    uint64_t lost = note_count(t->trace, "could not be written to the trace");
    uint64_t events = 2 * (2 + 1001 + 300000 + 100000 + 100000), there = 2 * t->trace->ranges.len;

    assert_true(has_note(t->trace, "ms in all nothing could be written: no space is left", NULL));
    assert_false(has_note(t->trace, "ends early", NULL));
    assert_int_equal(calls(t->trace, "before"), 1000); /* the last was still in the buffer */
    assert_true(calls(t->trace, "after") > 0);
    assert_true(lost > 100000);
    /* "outer" is there twice, before the hole and after it; "inner" ended inside */
    assert_int_equal(calls(t->trace, "outer"), 2);
    assert_int_equal(calls(t->trace, "inner"), 1);
    assert_int_equal(ends_of(t->trace, "outer", 1) - ends_of(t->trace, "after", -1) > 0, 1);
    assert_true(ends_of(t->trace, "inner", -1) < starts_of(t->trace, "after"));
    /* its pop is lost, a second push of "outer" is there, and one range may lie across the edge */
    assert_in_range(lost + there, events + 2, events + 5);
}

static void after_disk_hiccup(const struct traced *t)
{
    assert_int_equal(calls(t->trace, "second"), 100);
    assert_int_equal(calls(t->trace, "third"), 100);
    assert_false(has_note(t->trace, "could not be written", NULL));
    assert_false(has_note(t->trace, "could be written", NULL));
}

static void after_disk_thread(const struct traced *t)
{
    assert_int_equal(calls(t->trace, "thread"), 10);
    assert_false(has_note(t->trace, "could not be written", NULL));
}

/* Each third write fails. No range is open where a buffer is lost but the one that is beginning or
 * ending, so of each hole at most one range lies across the edge. */
static void after_disk_threads(const struct traced *t)
{
    uint64_t lost = note_count(t->trace, "could not be written to the trace");
    uint64_t there = 2 * t->trace->ranges.len;

    assert_false(has_note(t->trace, "damaged", NULL));
    assert_true(there > 0);
    assert_in_range(lost + there, 160000, 161000);
}

static void after_other_user(const struct traced *t)
{
    assert_int_equal(calls(t->trace, "before"), 1);
    assert_int_equal(calls(t->trace, "child"), 0);
    assert_int_equal(calls(t->trace, "after"), 1);
    assert_true(has_note(t->trace, "could not make its trace, permission denied", NULL));
}

static void after_sandbox(const struct traced *t)
{
    assert_int_equal(calls(t->trace, "in the sandbox"), 1);
    assert_int_equal(t->trace->notes.len, 0);
}

/* The reserved space still takes the reason and the totals: what is lost is counted. */
static void after_refused_writes(const struct traced *t)
{
    uint64_t lost = note_count(t->trace, "could not be written");

    assert_true(calls(t->trace, "before") > 0);
    assert_true(has_note(t->trace, "the trace ends early: permission denied", NULL));
    assert_true(lost + 2 * t->trace->ranges.len >= 2 * (2 + 101000));
    assert_true(lost + 2 * t->trace->ranges.len <= 2 * (2 + 101000) + 1);
}

static void after_refused_all(const struct traced *t)
{
    uint64_t lost = note_count(t->trace, "could not be written");

    assert_true(calls(t->trace, "before") > 0);
    assert_true(lost > 0 && calls(t->trace, "in the sandbox") > 0); /* what the buffer holds */
    assert_in_range(lost + 2 * t->trace->ranges.len, 2 * (2 + 101000), 2 * (2 + 101000) + 2);
    assert_false(has_note(t->trace, "wall clock", NULL));
}

/* The cycle counter goes on; without it time stands still, and every call is still counted. */
static void after_refused_clock(const struct traced *t)
{
    assert_int_equal(calls(t->trace, "in the sandbox"), 100000);
    assert_false(has_note(t->trace, "wall clock", NULL));
    for (size_t i = 0; i < t->trace->ranges.len; i++)
        assert_true(t->trace->ranges.at[i].end_ns >= t->trace->ranges.at[i].start_ns);
    assert_true(longest_ns(t->trace, "long") < 60000000000); /* and not years */
}

static void after_containers(const struct traced *t)
{
    assert_int_equal(calls(t->trace, "in the sandbox"), 100000);
    assert_int_equal(t->trace->ranges.len, 101000);
    assert_int_equal(t->trace->notes.len, 0);
}

static void after_trap(const struct traced *t)
{
    assert_true(calls(t->trace, "before") > 0);
    assert_int_equal(calls(t->trace, "handler"), 0);
    assert_true(has_note(t->trace, "the trace ends early", NULL));
}

static const struct victim {
    const char *name, *scenario;
    const char *env[3];
    int exit_code;
    size_t files;
    void (*check)(const struct traced *t);
} rows[] = {
    { "signal handlers and fork handlers during fork", "signal_in_fork", { 0 }, 0, 4, after_fork },
    { "a signal handler during exit", "signal_in_exit", { 0 }, 5, 1, after_exit },
    { "fork in a signal handler", "fork_in_signal", { 0 }, 0, 21, after_fork_in_signal },
    { "a cancelled thread makes the first call", "cancel", { 0 }, 0, 1, after_cancel },
    { "the first call on a stack of 32 KiB", "small_stack_first", { 0 }, 0, 1, after_small_stack },
    { "a thread with a stack of 16 KiB", "small_stack", { 0 }, 0, 1, after_small_stack },
    { "first calls on a small signal stack", "small_altstack", { 0 }, 0, 2, after_altstack },
    { "a sandbox that kills at system calls", "sandbox", { 0 }, 6, 1, after_sandbox },
    { "a sandbox that refuses to write",
      "sandbox_refuses_writes",
      { 0 },
      6,
      1,
      after_refused_writes },
    { "a sandbox that refuses everything", "sandbox_refuses_all", { 0 }, 6, 1, after_refused_all },
    { "a sandbox that refuses everything, without a cycle counter",
      "sandbox_refuses_all",
      { "LPO_COLLECT_TSC=0" },
      6,
      1,
      after_refused_all },
    { "a sandbox that refuses the clock",
      "sandbox_refuses_clock",
      { 0 },
      6,
      1,
      after_refused_clock },
    { "a sandbox that refuses the clock, without a cycle counter",
      "sandbox_refuses_clock",
      { "LPO_COLLECT_TSC=0" },
      6,
      1,
      after_refused_clock },
    { "the default sandbox of containers", "sandbox_of_containers", { 0 }, 6, 1, after_containers },
    { "a sandbox that raises SIGSYS", "sandbox_traps", { 0 }, 6, 1, after_trap },
    { "a child of vfork", "vforks", { 0 }, 0, 1, after_vfork },
    { "a copy that libc does not see", "raw_fork", { 0 }, 0, 1, after_raw_fork },
    { "siglongjmp out of the collector", "jump", { 0 }, 0, 1, after_jump },
    { "siglongjmp, then calls from deeper",
      "jump_then_deeper",
      { 0 },
      0,
      1,
      after_jump_then_deeper },
    { "the wall clock is set", "clock_steps", { 0 }, 0, 1, after_clock_steps },
    { "the wall clock is set, without a cycle counter",
      "clock_steps",
      { "LPO_COLLECT_TSC=0" },
      0,
      1,
      after_clock_steps },
    { "a full disk", "full_disk", { 0 }, 0, 1, after_full_disk },
    { "a disk that is full for a while", "disk_trouble", { 0 }, 0, 1, after_disk_trouble },
    { "a write that fails once", "disk_hiccup", { 0 }, 0, 1, after_disk_hiccup },
    { "threads at work while the disk fails",
      "disk_threads",
      { "LPO_COLLECT_FLUSH_MS=1", "LPO_COLLECT_BUFFER_KB=16" },
      0,
      1,
      after_disk_threads },
    { "threads that end while the disk is full", "disk_thread", { 0 }, 0, 1, after_disk_thread },
    { "a child of another user", "other_user", { 0 }, 0, 1, after_other_user },
};

static void check_victim(void **state)
{
    const struct victim *v = *state;
    const char *argv[] = { "nvtx_client", v->scenario, NULL };
    struct traced t;

    traced_run(argv, v->env, &t);
    if (strcmp(t.output, "") != 0)
        fail_msg("output: %s", t.output);
    if (!WIFEXITED(t.status) || WEXITSTATUS(t.status) != v->exit_code)
        fail_msg("ended with status 0x%x", (unsigned)t.status);
    assert_int_equal(t.files, v->files);
    assert_false(has_note(t.trace, "damaged", NULL));
    assert_false(has_note(t.trace, "not a whole block", NULL));
    v->check(&t);
    traced_free(&t);
}

int main(void)
{
    struct unit u = { 0 };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        unit_add(&u, rows[i].name, check_victim, &rows[i]);
    return unit_run(&u);
}
