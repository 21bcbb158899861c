/* SPDX-License-Identifier: Apache-2.0 */
/* What holds a kernel back: the rule itself, and on kernels that ncu measured. */
#include "../unit.h"

#include <math.h>

#include "analysis/counters/by_kernel.h"
#include "analysis/counters/kernel_profile.h"
#include "rundir/read.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/path.h"

static const struct bound_case {
    const char *name;
    double compute, memory; /* NAN: unknown */
    const char *want;       /* NULL: no class */
} bounds[] = {
    { "nothing is used", 0, 0, "latency" },
    { "both below the low mark", 59.9, 59.9, "latency" },
    { "memory at the low mark", 20, 60, "memory" },
    { "compute at the low mark", 60, 20, "compute" },
    { "memory far above", 12, 94, "memory" },
    { "compute far above", 96, 12, "compute" },
    { "both high and near", 85, 80, "balanced" },
    { "one below the mark, but near", 59, 61, "balanced" },
    { "ten points apart is not near", 70, 60, "compute" },
    { "no compute figure", NAN, 90, NULL },
    { "no memory figure", 90, NAN, NULL },
};

static const struct level_case {
    const char *name;
    double memory, l1, l2, dram;
    const char *want;
} levels[] = {
    { "what the figure comes from", 67, 19.4, 79.8, 67, "DRAM" },
    { "an access pattern: L1 busy, DRAM idle", 94, 94, 31, 2, "L1" },
    { "the L2", 70, 30, 70.2, 12, "L2" },
    { "no figure for all: the busiest", NAN, 20, 60, 50, "L2" },
    { "one is known", 80, NAN, NAN, 12, "DRAM" },
    { "none is known", 80, NAN, NAN, NAN, NULL },
};

static struct lpo_measure measure(double v)
{
    return isnan(v) ? lpo_measure_unknown() : lpo_measure_measured(v);
}

static void check_level(void **state)
{
    const struct level_case *c = *state;
    const char *got = lpo_counters_memory_level(measure(c->memory), measure(c->l1), measure(c->l2),
                                                measure(c->dram));

    assert_true(c->want ? got && strcmp(got, c->want) == 0 : !got);
}

static void check_bound(void **state)
{
    const struct bound_case *c = *state;
    const char *got =
        lpo_counters_bound_name(lpo_counters_bound_of(measure(c->compute), measure(c->memory)));

    if (!c->want)
        assert_null(got);
    else
        assert_string_equal(got, c->want);
}

/* Real captures, kernel by kernel. `advice` stands in what ncu itself says of them, so that our
 * class and its advice cannot drift apart. */
static const struct file_case {
    const char *name; /* the folder under shared data */
    const char *want, *advice;
    double compute, memory, duration_us;
} files[] = {
    { "dsocr_kernel_0001", "latency", "grid is too small", 9.15, 19.66, 6.75 },
    { "dsocr_kernel_0002", "latency", "low compute throughput and memory", 22.47, 54.36, 0 },
    { "dsocr_kernel_0003", "memory", "Memory is more heavily utilized", 41.49, 61.83, 0 },
    { "dsocr_kernel_0004", "latency", "grid is too small", 0.02, 6.32, 0 },
    { "dsocr_kernel_0005", "latency", "low compute throughput and memory", 32.10, 27.74, 0 },
    { "dsocr_kernel_0006", "latency", "grid is too small", 0.28, 10.47, 0 },
    { "dsocr_kernel_0007", "latency", "grid is too small", 0.64, 9.57, 0 },
    { "dsocr_kernel_0008", "latency", "grid is too small", 2.66, 49.42, 0 },
    { "dsocr_kernel_0009", "latency", "low compute throughput and memory", 36.75, 37.26, 0 },
    { "dsocr_kernel_0010", "memory", "greater than 80.0%", 12.07, 93.99, 0 },
};

static const char *shared(struct lpo_arena *a, const char *kernel, const char *file)
{
    const char *root = getenv("LPO_SOURCE_ROOT");

    return lpo_arena_printf(a, "%s/../shared/data/traces/ncu_csv/%s/%s", root ? root : ".", kernel,
                            file);
}

static int read_profiles(struct lpo_arena *a, const char *path, struct lpo_kernel_profiles *out,
                         struct lpo_err *err)
{
    LPO_AUTO(lpo_trace) t = lpo_trace_create();

    if (lpo_rundir_read_trace(path, "ncu", t, err) < 0)
        return err->code;
    *out = lpo_counters_kernel_profiles(a, t);
    return 0;
}

static void check_file(void **state)
{
    const struct file_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const char *path = shared(a, c->name, "ncu.details.csv");
    struct lpo_kernel_profiles got = { 0 };
    LPO_AUTO(lpo_file_text) text = NULL;
    struct lpo_err err = { 0 };

    if (read_profiles(a, path, &got, &err) < 0)
        fail_msg("%s", lpo_err_cause(&err));
    assert_int_equal(got.len, 1);
    assert_string_equal(lpo_counters_bound_name(got.at[0].bound), c->want);
    assert_true(fabs(got.at[0].compute_percent.value - c->compute) < 1e-9);
    assert_true(fabs(got.at[0].memory_percent.value - c->memory) < 1e-9);
    assert_true(lpo_measure_known(got.at[0].duration_ns) && got.at[0].shaped);
    if (c->duration_us > 0)
        assert_int_equal((int64_t)got.at[0].duration_ns.value, (int64_t)(c->duration_us * 1e3));
    assert_int_equal(lpo_file_text_read(path, &text, &err), 0);
    assert_non_null(strstr(text->at, c->advice));
}

/* The report and ncu's own page of it tell the same. */
static void report_and_page_agree(void **state)
{
    const char *root = getenv("LPO_SOURCE_ROOT");
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_kernel_profiles rep = { 0 }, page = { 0 };
    struct lpo_err err = { 0 };

    (void)state;
    assert_int_equal(
        read_profiles(a, lpo_path_join(a, root, "tests/data/ncu/ranges.ncu-rep.gz"), &rep, &err),
        0);
    assert_int_equal(read_profiles(a,
                                   lpo_path_join(a, root, "tests/data/ncu/ranges_details.csv.gz"),
                                   &page, &err),
                     0);
    assert_int_equal(rep.len, page.len);
    for (size_t i = 0; i < rep.len; i++) {
        assert_string_equal(rep.at[i].kernel, page.at[i].kernel);
        assert_int_equal(rep.at[i].bound, page.at[i].bound);
        assert_true(fabs(rep.at[i].memory_percent.value - page.at[i].memory_percent.value) < 0.006);
    }
}

static void not_a_report(void **state)
{
    const char *root = getenv("LPO_SOURCE_ROOT");
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_kernel_profiles got = { 0 };
    struct lpo_err err = { 0 };

    (void)state;
    assert_true(read_profiles(a, lpo_path_join(a, root, "meson.build"), &got, &err) < 0);
    assert_null(got.at);
}

static const char *data(struct lpo_arena *a, const char *file)
{
    const char *root = getenv("LPO_SOURCE_ROOT");

    return lpo_arena_printf(a, "%s/tests/data/%s", root ? root : ".", file);
}

/* A report and the details page of it say the same; the report has titles too. */
static void rules_belong_to_their_launch(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_kernel_profiles rep = { 0 }, page = { 0 };
    struct lpo_err err = { 0 };

    (void)state;
    assert_int_equal(read_profiles(a, data(a, "ncu/ranges_whole.ncu-rep.gz"), &rep, &err), 0);
    assert_int_equal(read_profiles(a, data(a, "ncu/ranges_details.csv.gz"), &page, &err), 0);
    assert_int_equal(rep.len, 12);
    assert_int_equal(page.len, rep.len);
    for (size_t i = 0; i < rep.len; i++) {
        assert_int_equal(rep.at[i].nrules, 2);
        assert_int_equal(page.at[i].nrules, 2);
        for (size_t k = 0; k < 2; k++) {
            assert_string_equal(rep.at[i].rules[k].text, page.at[i].rules[k].text);
            assert_string_equal(rep.at[i].rules[k].section, page.at[i].rules[k].section);
            assert_int_equal(rep.at[i].rules[k].kind, page.at[i].rules[k].kind);
            assert_non_null(rep.at[i].rules[k].title);
            assert_null(page.at[i].rules[k].title);
        }
    }
    assert_int_equal(read_profiles(a, data(a, "ncu/rules.ncu-rep.gz"), &rep, &err), 0);
    assert_int_equal(rep.at[0].rules[3].speedup, LPO_SPEEDUP_GLOBAL);
    assert_true(lpo_measure_known(rep.at[0].rules[3].percent));
}

int main(void)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct unit u = { 0 };

    UNIT_ROWS(&u, bounds, check_bound);
    UNIT_ROWS(&u, levels, check_level);
    if (lpo_path_exists(shared(a, files[0].name, "ncu.details.csv")))
        UNIT_ROWS(&u, files, check_file);
    else
        printf("# the recorded kernels of the shared data are not here: left out\n");
    UNIT_TEST(&u, report_and_page_agree);
    UNIT_TEST(&u, not_a_report);
    UNIT_TEST(&u, rules_belong_to_their_launch);
    return unit_run(&u);
}
