/* SPDX-License-Identifier: Apache-2.0 */
/* Real reports against ncu's own CSV of them; made-up ones are in test_ncu_rep_bytes.c. */
#include "../unit.h"

#include <math.h>

#include "dump.h"
#include "trace/ncu/private.h"
#include "trace/reader.h"
#include "util/csv.h"
#include "util/err.h"
#include "util/path.h"

static const struct pair_case {
    const char *name, *report, *csv;
    size_t kernels, least_values;
} pair_cases[] = {
    { "ranges, cut to what is read", "tests/data/ncu/ranges.ncu-rep.gz",
      "tests/data/ncu/ranges_raw.csv.gz", 12, 12 * 1100 },
    { "every form of NVTX range", "tests/data/ncu/forms.ncu-rep.gz",
      "tests/data/ncu/forms_raw.csv.gz", 37, 37 * 40 },
    { "ranges, as ncu wrote it", "tests/data/ncu/ranges_whole.ncu-rep.gz",
      "tests/data/ncu/ranges_raw.csv.gz", 12, 12 * 1100 },
    { "a Llama in PyTorch", "../shared/data/ncu/llm_roof.ncu-rep.gz",
      "tests/data/ncu/llm_roof_raw.csv.gz", 23, 23 * 1100 },
};

static const char *at_root(struct lpo_str *to, const char *path)
{
    lpo_str_clear(to);
    lpo_str_addf(to, "%s/%s", unit_env("LPO_SOURCE_ROOT", "."), path);
    return lpo_str_text(to);
}

static struct lpo_trace *read_with(const struct lpo_reader *reader, const char *path)
{
    struct lpo_trace *t = lpo_trace_create();
    struct lpo_err err = { 0 };

    if (reader->read(path, t, &err) < 0)
        fail_msg("%s: %s", path, lpo_err_cause(&err));
    return t;
}

/* Half a unit of the last digit printed, in base units. */
static double print_rounding(struct lpo_csv_cell cell, double scale)
{
    const char *dot = memchr(cell.at, '.', cell.len);
    int decimals = dot ? (int)(cell.at + cell.len - dot - 1) : 0;

    return 0.5000001 * scale * pow(10, -decimals);
}

struct columns {
    uint32_t metric[4096]; /* of the report's trace */
    double scale[4096];
    size_t count;
};

static void set_columns(struct columns *c, struct lpo_csv *csv, const struct lpo_trace *t)
{
    LPO_STR name = { 0 };
    struct lpo_err err = { 0 };
    char base[LPO_NCU_UNIT];

    assert_int_equal(lpo_csv_next(csv, &err), 1);
    c->count = csv->count;
    assert_true(c->count < 4096);
    for (size_t i = 0; i < c->count; i++)
        c->metric[i] = lpo_trace_metric_find(t, lpo_csv_cell_text(csv->cells[i], &name));
    assert_int_equal(lpo_csv_next(csv, &err), 1);
    for (size_t i = 0; i < c->count; i++)
        c->scale[i] = lpo_ncu_unit_scale(csv->cells[i].at, csv->cells[i].len, base);
}

static size_t compare_row(const struct columns *c, const struct lpo_csv *csv,
                          const struct lpo_trace *t, uint32_t row)
{
    size_t compared = 0;

    for (size_t i = 0; i < c->count; i++) {
        double printed, exact = lpo_trace_metric_get(t, row, c->metric[i]);

        if (c->metric[i] == LPO_NONE || !lpo_csv_cell_number(csv->cells[i], &printed))
            continue;
        printed *= c->scale[i];
        if (!(fabs(printed - exact) <=
              print_rounding(csv->cells[i], c->scale[i]) + fabs(exact) * 1e-12))
            fail_msg("%s: %.17g in the report, %.17g in the CSV",
                     lpo_trace_text(t, t->metrics.at[c->metric[i]].name), exact, printed);
        compared++;
    }
    return compared;
}

static void compare_shapes(const struct lpo_trace *a, const struct lpo_trace *b, size_t i)
{
    const struct lpo_gpu_op *x = &a->gpu_ops.at[i], *y = &b->gpu_ops.at[i];

    assert_memory_equal(a->shapes.at[x->shape].grid, b->shapes.at[y->shape].grid, 12);
    assert_memory_equal(a->shapes.at[x->shape].block, b->shapes.at[y->shape].block, 12);
    assert_int_equal(a->shapes.at[x->shape].registers, b->shapes.at[y->shape].registers);
    assert_int_equal(x->stream, y->stream);
    assert_int_equal(a->processes.at[x->process].pid, b->processes.at[y->process].pid);
    assert_true(llabs(lpo_trace_gpu_op_ns(x) - lpo_trace_gpu_op_ns(y)) <= 1);
}

/* The same path of names; only the report tells visits of push/pop ranges apart. */
static void compare_stacks(const struct lpo_trace *a, const struct lpo_trace *b, size_t i)
{
    const struct lpo_stack *x = &a->stacks.at[a->gpu_ops.at[i].stack];
    const struct lpo_stack *y = &b->stacks.at[b->gpu_ops.at[i].stack];

    assert_int_equal(x->count, y->count);
    for (uint32_t k = 0; k < x->count; k++) {
        const struct lpo_frame *f = &a->frames.at[x->first + k], *g = &b->frames.at[y->first + k];

        assert_string_equal(lpo_trace_text(a, f->name), lpo_trace_text(b, g->name));
        assert_int_equal(f->kind, g->kind);
        assert_int_equal(f->domain, g->domain);
        assert_true(f->visit != 0);
        if (f->kind == LPO_START_END)
            assert_int_equal(f->visit, g->visit);
    }
}

static void check_pair(void **state)
{
    const struct pair_case *c = *state;
    LPO_STR path = { 0 };
    LPO_AUTO(lpo_trace) report = NULL;
    LPO_AUTO(lpo_trace) csv = NULL;
    LPO_AUTO(lpo_csv) cells = NULL;
    struct columns *columns = calloc(1, sizeof *columns);
    struct lpo_err err = { 0 };
    size_t compared = 0;

    report = read_with(&lpo_ncu_rep_reader, at_root(&path, c->report));
    csv = read_with(&lpo_ncu_csv_reader, at_root(&path, c->csv));
    assert_int_equal(report->gpu_ops.len, c->kernels);
    assert_int_equal(csv->gpu_ops.len, c->kernels);
    assert_int_equal(lpo_csv_open(at_root(&path, c->csv), &cells, &err), 0);
    set_columns(columns, cells, report);
    for (size_t i = 0; i < c->kernels; i++) {
        assert_int_equal(lpo_csv_next(cells, &err), 1);
        compared += compare_row(columns, cells, report, report->gpu_ops.at[i].metrics);
        compare_shapes(report, csv, i);
        compare_stacks(report, csv, i);
    }
    assert_true(compared >= c->least_values);
    assert_int_equal(report->metrics.len, csv->metrics.len);
    assert_string_equal(lpo_trace_text(report, report->devices.at[0].name), "NVIDIA H200");
    assert_int_equal(report->devices.at[0].sms, csv->devices.at[0].sms);
    assert_int_equal(report->devices.at[0].memory_bytes, csv->devices.at[0].memory_bytes);
    assert_int_equal(report->notes.len, 0);
    free(columns);
}

/* Units are not in the report: those we give by name must be those that ncu prints. */
static void units_are_those_of_the_csv(void **state)
{
    LPO_STR path = { 0 };
    LPO_AUTO(lpo_trace) report = NULL;
    LPO_AUTO(lpo_trace) csv = NULL;

    (void)state;
    report = read_with(&lpo_ncu_rep_reader, at_root(&path, "tests/data/ncu/ranges.ncu-rep.gz"));
    csv = read_with(&lpo_ncu_csv_reader, at_root(&path, "tests/data/ncu/ranges_raw.csv.gz"));
    for (uint32_t i = 0; i < csv->metrics.len; i++) {
        const char *name = lpo_trace_text(csv, csv->metrics.at[i].name);
        uint32_t m = lpo_trace_metric_find(report, name);
        const char *want = lpo_trace_text(csv, csv->metrics.at[i].unit);
        const char *got =
            m == LPO_NONE ? "(absent)" : lpo_trace_text(report, report->metrics.at[m].unit);

        if (strcmp(want, got) != 0 &&
            strcmp(name, "derived__l1tex__lsu_writeback_bytes_mem_lgds.sum.peak_sustained") != 0 &&
            strcmp(name, "derived__l1tex__lsu_writeback_bytes_mem_lgds.sum.per_second") != 0)
            fail_msg("%s: '%s', ncu prints '%s'", name, got, want);
    }
}

/* lpo top does without metrics; names, durations and devices stay. */
static void without_metrics_durations_stay(void **state)
{
    static const struct lpo_reader *const readers[] = { &lpo_ncu_rep_reader, &lpo_ncu_csv_reader,
                                                        &lpo_ncu_csv_reader };
    static const char *const files[] = { "tests/data/ncu/ranges.ncu-rep.gz",
                                         "tests/data/ncu/ranges_raw.csv.gz",
                                         "tests/data/ncu/ranges_details.csv.gz" };

    (void)state;
    for (int i = 0; i < 3; i++) {
        LPO_AUTO(lpo_trace) t = lpo_trace_create();
        LPO_STR path = { 0 };
        struct lpo_err err = { 0 };
        int64_t ns = 0;

        t->skip = LPO_SKIP_METRICS;
        assert_int_equal(readers[i]->read(at_root(&path, files[i]), t, &err), 0);
        for (size_t k = 0; k < t->gpu_ops.len; k++) {
            ns += lpo_trace_gpu_op_ns(&t->gpu_ops.at[k]);
            assert_int_equal(t->gpu_ops.at[k].metrics, LPO_NONE);
        }
        assert_true(llabs(ns - 888096) < 50); /* the details page rounds to 10 ns */
        assert_int_equal(t->metrics.len, 0);
        assert_true(i == 2 || t->devices.at[0].sms == 132);
    }
}

static void visits_are_told_apart(void **state)
{
    LPO_STR path = { 0 }, got = { 0 };
    LPO_AUTO(lpo_trace) t = NULL;

    (void)state;
    t = read_with(&lpo_ncu_rep_reader, at_root(&path, "tests/data/ncu/ranges.ncu-rep.gz"));
    for (size_t i = 0; i < t->gpu_ops.len; i++) {
        dump_stack(&got, t, t->gpu_ops.at[i].stack);
        lpo_str_addc(&got, ' ');
    }
    assert_string_equal(lpo_str_text(&got), "A#572 A#572/A1#575 A#572/A1#575 A#572 B#582 ~S#1 "
                                            "A#586 A#586/A1#588 A#586/A1#588 A#586 B#594 ~S#2 ");
}

int main(void)
{
    struct unit u = { 0 };

    for (size_t i = 0; i < sizeof pair_cases / sizeof *pair_cases; i++) {
        LPO_STR path = { 0 };

        if (lpo_path_exists(at_root(&path, pair_cases[i].report)))
            unit_add(&u, pair_cases[i].name, check_pair, &pair_cases[i]);
    }
    UNIT_TEST(&u, units_are_those_of_the_csv);
    UNIT_TEST(&u, without_metrics_durations_stay);
    UNIT_TEST(&u, visits_are_told_apart);
    return unit_run(&u);
}
