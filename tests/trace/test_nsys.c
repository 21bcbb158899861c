/* SPDX-License-Identifier: Apache-2.0 */
/* Real exports of nsys; databases that were made up are in test_nsys_schema.c. */
#include "../unit.h"

#include "trace/reader.h"
#include "trace/trace.h"
#include "util/err.h"
#include "util/str.h"

/* Counted with SQL of our own, never with nsys. */
static const struct file_case {
    const char *name, *file;
    size_t gpu_ops[3]; /* kernels, copies, sets */
    int64_t ns[3];
    uint64_t bytes;
    size_t launches, matched_kernels, ranges, processes, devices;
} file_cases[] = {
    { .name = "nsys 2025.3, one process",
      .file = "h200_ranges.sqlite.gz",
      .gpu_ops = { 13, 0, 2 },
      .ns = { 1034302, 0, 32416 },
      .bytes = 134217728,
      .launches = 15,
      .matched_kernels = 13,
      .ranges = 8,
      .processes = 1,
      .devices = 1 },
    { .name = "nsys 2022.2, two rows per call",
      .file = "a100_old.sqlite.gz",
      .gpu_ops = { 5, 15, 0 },
      .ns = { 88573480, 284699600, 0 },
      .bytes = 3932160000,
      .launches = 20,
      .matched_kernels = 5,
      .ranges = 22,
      .processes = 1,
      .devices = 1 },
    { .name = "nsys 2026.2, colliding ids of two processes",
      .file = "h100_2gpu_cut.sqlite.gz",
      .gpu_ops = { 252, 62, 16 },
      .ns = { 49132248, 466014, 12320 },
      .bytes = 664994832 + 64,
      .launches = 299,
      .matched_kernels = 228,
      .ranges = 1143,
      .processes = 2,
      .devices = 2 },
};

static void read_into(struct lpo_trace *t, const char *file)
{
    LPO_STR path = { 0 };
    struct lpo_err err = { 0 };

    lpo_str_addf(&path, "%s/tests/data/nsys/%s", unit_env("LPO_SOURCE_ROOT", "."), file);
    if (lpo_nsys_reader.read(lpo_str_text(&path), t, &err) != 0)
        fail_msg("%s: %s", file, lpo_err_cause(&err));
}

static struct lpo_trace *read_file(const char *file)
{
    struct lpo_trace *t = lpo_trace_create();

    read_into(t, file);
    return t;
}

static void check_file(void **state)
{
    const struct file_case *c = *state;
    LPO_AUTO(lpo_trace) t = read_file(c->file);
    size_t gpu_ops[3] = { 0 }, matched = 0;
    int64_t ns[3] = { 0 };
    uint64_t bytes = 0;

    for (size_t i = 0; i < t->gpu_ops.len; i++) {
        const struct lpo_gpu_op *w = &t->gpu_ops.at[i];

        gpu_ops[w->kind]++;
        ns[w->kind] += lpo_trace_gpu_op_ns(w);
        bytes += w->bytes;
        matched += w->kind == LPO_KERNEL && w->launch != LPO_NONE;
    }
    for (int k = 0; k < 3; k++) {
        assert_int_equal(gpu_ops[k], c->gpu_ops[k]);
        assert_int_equal(ns[k], c->ns[k]);
    }
    assert_int_equal(bytes, c->bytes);
    assert_int_equal(t->launches.len, c->launches);
    assert_int_equal(matched, c->matched_kernels);
    assert_int_equal(t->ranges.len, c->ranges);
    assert_int_equal(t->processes.len, c->processes);
    assert_int_equal(t->devices.len, c->devices);
    assert_int_equal(t->notes.len, 0);
}

/* Attribution by pairs, slow and plain: what src/region must agree with. */
static const struct member_case {
    const char *name, *file, *range;
    size_t kernels;
    int64_t ns;
} member_cases[] = {
    { "A", "h200_ranges.sqlite.gz", "A", 8, 739455 },
    { "A1 inside A", "h200_ranges.sqlite.gz", "A1", 4, 476703 },
    { "B", "h200_ranges.sqlite.gz", "B", 2, 110143 },
    { "S, a start/end range", "h200_ranges.sqlite.gz", "S", 2, 131840 },
    { "the outer call lies in the range", "a100_old.sqlite.gz", "saxpy", 5, 88573480 },
    { "one of two processes", "h100_2gpu_cut.sqlite.gz",
      "FlashAttnFunc, seq = 45460, op_id = 991219", 1, 7867198 },
};

static bool inside(const struct lpo_trace *t, const struct lpo_gpu_op *w, const char *name)
{
    const struct lpo_launch *l;

    if (w->launch == LPO_NONE)
        return false;
    l = &t->launches.at[w->launch];
    for (size_t i = 0; i < t->ranges.len; i++) {
        const struct lpo_range *r = &t->ranges.at[i];

        if (r->thread == l->thread && r->start_ns <= l->start_ns && l->end_ns <= r->end_ns &&
            strcmp(lpo_trace_text(t, r->name), name) == 0)
            return true;
    }
    return false;
}

static void check_member(void **state)
{
    const struct member_case *c = *state;
    LPO_AUTO(lpo_trace) t = read_file(c->file);
    size_t kernels = 0;
    int64_t ns = 0;

    for (size_t i = 0; i < t->gpu_ops.len; i++) {
        const struct lpo_gpu_op *w = &t->gpu_ops.at[i];

        if (w->kind != LPO_KERNEL || !inside(t, w, c->range))
            continue;
        kernels++;
        ns += lpo_trace_gpu_op_ns(w);
    }
    assert_int_equal(kernels, c->kernels);
    assert_int_equal(ns, c->ns);
}

/* The linker's name is the same in every source: what lays ncu's counters over this trace. */
static void kernels_have_their_linker_names(void **state)
{
    LPO_AUTO(lpo_trace) t = read_file("h200_ranges.sqlite.gz");

    (void)state;
    for (size_t i = 0; i < t->gpu_ops.len; i++) {
        const struct lpo_gpu_op *w = &t->gpu_ops.at[i];

        if (w->kind == LPO_KERNEL)
            assert_true(strncmp(lpo_trace_text(t, w->linker), "_Z", 2) == 0);
        else
            assert_int_equal(w->linker, 0);
    }
}

static void device_facts_are_told(void **state)
{
    LPO_AUTO(lpo_trace) t = read_file("h200_ranges.sqlite.gz");
    const struct lpo_device *d = &t->devices.at[0];

    (void)state;
    assert_string_equal(lpo_trace_text(t, d->name), "NVIDIA H200");
    assert_int_equal(d->sms, 132);
    assert_int_equal(d->cc_major, 9);
    assert_int_equal(d->l2_bytes, 62914560);
    assert_int_equal(d->sm_clock_khz, 1980000);
    assert_true(t->epoch_ns == 1794709464296477607);
}

/* Two files of one job on one clock: the second is shifted by the difference of their epochs. */
static void two_files_share_a_clock(void **state)
{
    LPO_AUTO(lpo_trace) t = read_file("a100_old.sqlite.gz");
    LPO_AUTO(lpo_trace) alone = read_file("h200_ranges.sqlite.gz");
    int64_t shift = 1794709464296477607 - 1687813257637297504;

    (void)state;
    read_into(t, "h200_ranges.sqlite.gz");
    assert_int_equal(t->gpu_ops.len, 20 + 15);
    assert_true(t->gpu_ops.at[20].start_ns == alone->gpu_ops.at[0].start_ns + shift);
    assert_true(t->gpu_ops.at[20].launch != LPO_NONE);
    assert_int_equal(t->processes.len, 2);
}

/* lpo top needs neither ranges nor launches; what is left must not change. */
static void what_is_not_wanted_is_not_read(void **state)
{
    LPO_AUTO(lpo_trace) t = lpo_trace_create();

    (void)state;
    t->skip = LPO_SKIP_LAUNCHES | LPO_SKIP_RANGES;
    read_into(t, "h200_ranges.sqlite.gz");
    assert_int_equal(t->gpu_ops.len, 15);
    assert_int_equal(t->launches.len, 0);
    assert_int_equal(t->ranges.len, 0);
    for (size_t i = 0; i < t->gpu_ops.len; i++)
        assert_int_equal(t->gpu_ops.at[i].launch, LPO_NONE);
}

/* Every row of the runtime table is a call, driver rows too, whether it launched something or not.
 */
static void calls_have_names_and_threads(void **state)
{
    LPO_AUTO(lpo_trace) t = read_file("a100_old.sqlite.gz");
    LPO_AUTO(lpo_trace) without = lpo_trace_create();

    (void)state;
    assert_int_equal(t->calls.len, 95);
    assert_string_equal(lpo_trace_text(t, t->calls.at[0].name), "cuModuleGetLoadingMode");
    assert_string_equal(lpo_trace_text(t, t->calls.at[1].name), "cudaHostRegister_v4000");
    assert_int_equal(t->calls.at[1].end_ns - t->calls.at[1].start_ns, 697228531 - 391977391);
    assert_true(t->processes.at[t->threads.at[t->calls.at[1].thread].process].has_calls);
    without->skip = LPO_SKIP_CALLS;
    read_into(without, "a100_old.sqlite.gz");
    assert_int_equal(without->calls.len, 0);
    assert_int_equal(without->launches.len, t->launches.len);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, file_cases, check_file);
    UNIT_ROWS(&u, member_cases, check_member);
    UNIT_TEST(&u, kernels_have_their_linker_names);
    UNIT_TEST(&u, device_facts_are_told);
    UNIT_TEST(&u, two_files_share_a_clock);
    UNIT_TEST(&u, calls_have_names_and_threads);
    UNIT_TEST(&u, what_is_not_wanted_is_not_read);
    return unit_run(&u);
}
