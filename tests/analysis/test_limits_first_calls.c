/* SPDX-License-Identifier: Apache-2.0 */
/* First calls, of a region and of regions that are numbered (step0), are not judged: their time
 * stands beside what is. */
#include <string.h>

#include "../region/build.h"
#include "../unit.h"
#include "analysis/analysis.h"
#include "analysis/limits/limits.h"
#include "analysis/limits/private.h"
#include "limits_case.h"
#include "report/doc/doc.h"
#include "report/limits/chapter_limits.h"
#include "util/str.h"
#include "writer/writer.h"

/* One prefill of 40 ms, in which `layer0` was entered four times: 13 ms of 16 at first, with 2 ms
 * idle. And a helper that nobody knows the need of: 10 ms, 7 of them at first. */
static const struct lpo_limits_region first_regions[] = {
    { .path = "prefill",
      .parent = UINT32_MAX,
      .visits = 1,
      .gpu_ns = 40 * MS,
      .other_gap_ns = 3 * MS },
    { .path = "prefill/layer0",
      .parent = 0,
      .visits = 4,
      .gpu_ns = 16 * MS,
      .other_gap_ns = 2 * MS,
      .firsts = 1,
      .first_gpu_ns = 13 * MS,
      .first_other_gap_ns = 2 * MS },
    { .path = "prefill/helper",
      .parent = 0,
      .visits = 4,
      .gpu_ns = 10 * MS,
      .firsts = 1,
      .first_gpu_ns = 7 * MS },
};

static void check_first_calls(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    LPO_AUTO(lpo_limits) l = join(a, first_regions, 3, 0);
    const struct lpo_limit_row *r = l->rows.at;

    (void)state;
    /* three of four calls; a pass of layer0 needs 3 ms */
    near(r[1].first_ns, 15e6);
    near(r[1].measured_ns, 3e6);
    near(r[1].busy_ns, 3e6);
    near(r[1].limit_ns, 2.25e6);
    near(r[1].saving_ns, 0.75e6);
    near(r[2].measured_ns, 3e6);
    /* around them: the first call of layer0 with its need, and the 6 ms that the helper's first
     * call took longer than a later one */
    assert_int_equal((int)r[0].first_calls, 2);
    near(r[0].first_ns, 15e6 + 6e6);
    near(r[0].measured_ns, 43e6 - 21e6);
    near(r[0].idle_ns, 1e6);
    near(r[0].limit_ns, 5e6 - 0.75e6);
    near(r[0].saving_ns, 22e6 - 4.25e6);
    assert_int_equal((int)r[0].runs, 1);
    near(l->model.first_ns, 21e6);
}

/* What is stated of the region around is not divided: only the 12 ms (and 2 idle) that the first
 * call of layer0 took longer are left out there. */
static void check_first_calls_stated(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_stated_need need = {
        "prefill", { 4e9, LPO_COMPUTED }, { 0, LPO_UNKNOWN }, LPO_BF16
    };
    struct lpo_limits_input in = { .regions = first_regions,
                                   .nregions = 3,
                                   .stated = { &need, 1 } };
    LPO_AUTO(lpo_limits) l = NULL;
    struct lpo_err err = { 0 };

    (void)state;
    assert_int_equal(lpo_json_parse(a, analysis, sizeof analysis - 1, &in.needed, &err), 0);
    assert_int_equal(lpo_limits_create(&in, &l, &err), 0);
    near(l->rows.at[0].needed_flops, 4e9);
    near(l->rows.at[0].first_ns, 12e6 + 2e6 + 6e6);
    near(l->rows.at[0].measured_ns, 23e6);
    near(l->rows.at[0].saving_ns, 23e6 - 4e6);
}

/* Idle time around first launches: beside first calls of the region's own, and at least that of the
 * first calls inside. */
static void check_first_launches(void **state)
{
    struct lpo_limits_region r[2] = { first_regions[0], first_regions[1] };
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    LPO_AUTO(lpo_limits) l = NULL;

    (void)state;
    r[0].host_gap_ns = 9 * MS;
    r[0].launch_gap_ns = 8 * MS;
    r[1].host_gap_ns = 3 * MS;
    r[1].first_host_gap_ns = 1 * MS;
    r[1].launch_gap_ns = 2 * MS;
    l = join(a, r, 2, 0);
    near(l->rows.at[1].first_ns, 15e6 + 1e6 + 2e6);
    near(l->rows.at[1].measured_ns, 3e6);
    near(l->rows.at[0].first_ns, 15e6 + 8e6); /* the 1 ms inside is one of the 8 */
    near(l->rows.at[0].measured_ns, 52e6 - 23e6);
}

/* Five numbered steps: step0 takes 30 ms, of which 25 are idle, the others 6 with 1 idle; half of
 * each step's kernels are in its layer. A step needs 0.5 ms, its layer 0.3. */
static const struct lpo_limits_region numbered_regions[] = {
    { .path = "decode",
      .parent = UINT32_MAX,
      .visits = 1,
      .gpu_ns = 25 * MS,
      .host_gap_ns = 29 * MS },
    { .path = "decode/step0",
      .parent = 0,
      .visits = 1,
      .gpu_ns = 5 * MS,
      .host_gap_ns = 25 * MS,
      .line = 2,
      .is_first = true },
    { .path = "decode/step0/layer0", .parent = 1, .visits = 1, .gpu_ns = 2 * MS },
    { .path = "decode/step1",
      .parent = 0,
      .visits = 1,
      .gpu_ns = 5 * MS,
      .host_gap_ns = 1 * MS,
      .line = 2 },
    { .path = "decode/step1/layer0", .parent = 3, .visits = 1, .gpu_ns = 2 * MS },
    { .path = "decode/step2",
      .parent = 0,
      .visits = 1,
      .gpu_ns = 5 * MS,
      .host_gap_ns = 1 * MS,
      .line = 2 },
    { .path = "decode/step3",
      .parent = 0,
      .visits = 1,
      .gpu_ns = 5 * MS,
      .host_gap_ns = 1 * MS,
      .line = 2 },
    { .path = "decode/step4",
      .parent = 0,
      .visits = 1,
      .gpu_ns = 5 * MS,
      .host_gap_ns = 1 * MS,
      .line = 2 },
};

static void check_numbered(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    LPO_AUTO(lpo_limits) l = join(a, numbered_regions, 8, 0);
    const struct lpo_limit_row *r = l->rows.at;

    (void)state;
    /* a numbered step is one step, not all of them */
    near(r[3].needed_flops, 5e6);
    near(r[3].limit_ns, 0.5e6);
    near(r[3].saving_ns, 5.5e6);
    near(r[4].limit_ns, 0.3e6);
    /* the first has no saving, and neither has what lies in it */
    near(r[1].first_ns, 30e6);
    assert_false(lpo_measure_known(r[1].saving_ns));
    assert_false(lpo_measure_known(r[2].saving_ns));
    for (size_t i = 0; i < l->ranked; i++)
        assert_true(l->by_saving[i] != 1 && l->by_saving[i] != 2);
    /* decode without it: four steps */
    near(r[0].first_ns, 30e6);
    near(r[0].measured_ns, 24e6);
    near(r[0].limit_ns, 2e6);
    near(r[0].saving_ns, 22e6);
    near(l->model.saving_ns, 22e6);
    near(l->model.first_ns, 30e6);
}

/* The same need stated for the steps alone, and for decode alone, which is then not divided. */
static void check_numbered_stated(void **state)
{
    static struct lpo_stated_need needs[] = {
        { "decode/step*", { 1e9, LPO_COMPUTED }, { 0, LPO_UNKNOWN }, LPO_BF16 },
        { "decode", { 5e9, LPO_COMPUTED }, { 0, LPO_UNKNOWN }, LPO_BF16 },
    };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        LPO_AUTO(lpo_arena) a = lpo_arena_create();
        struct lpo_limits_input in = { .regions = numbered_regions,
                                       .nregions = 8,
                                       .stated = { &needs[i], 1 } };
        LPO_AUTO(lpo_limits) l = NULL;
        struct lpo_err err = { 0 };

        assert_int_equal(lpo_json_parse(a, analysis, sizeof analysis - 1, &in.needed, &err), 0);
        in.needed = i ? in.needed : NULL;
        in.hardware = i ? NULL : &device;
        assert_int_equal(lpo_limits_create(&in, &l, &err), 0);
        near(l->model.first_ns, i ? 24e6 : 30e6); /* by so much it took longer than another */
        near(l->model.measured_ns, i ? 30e6 : 24e6);
        near(l->model.limit_ns, i ? 5e6 : 4e6);
    }
}

/* One line for the steps that are judged; the time of the first stands beside them. */
static void check_numbered_shown(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    LPO_AUTO(lpo_limits) l = join(a, numbered_regions, 8, 0);
    LPO_AUTO(lpo_doc) doc = lpo_doc_create("report", "t");
    LPO_STR s = { 0 };

    (void)state;
    lpo_report_chapter_limits(doc, l);
    lpo_writer_md.write(doc, &s);
    assert_non_null(strstr(lpo_str_text(&s), "| decode/step\\* (4) | 22\u00a0ms | 8.3\u00a0% | "
                                             "overhead | 24\u00a0ms | 2\u00a0ms | 30\u00a0ms |"));
    assert_null(strstr(lpo_str_text(&s), "(5)"));
}

/* From a trace: which row is the first call, and of which others. */
static void check_numbered_of_trace(void **state)
{
    LPO_AUTO(lpo_trace)
    t = build_trace("s0 0-40 A 1-31 k 2-3=3 s1 50-60 A 51-52 k 51-52=3 s2 70-80 A 71-72 k 71-72=3 "
                    "s3 90-100 A 91-92 k 91-92=3 x0 110-150 k 111-112=3 x1 160-170 k 161-162=3");
    LPO_AUTO(lpo_analysis) x = lpo_analysis_of(t, NULL);
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    lpo_limits_regions r = { 0 };
    LPO_STR got = { 0 };

    (void)state;
    lpo_limits_regions_of(a, x, &r);
    for (size_t i = 0; i < r.len; i++)
        if (r.at[i].line)
            lpo_str_addf(&got, "%s%s ", r.at[i].path, r.at[i].is_first ? "!" : "");
    assert_string_equal(lpo_str_text(&got), "s0! s0/A! s1 s1/A s2 s2/A s3 s3/A ");
    lpo_vec_free(&r);
}

/* A first call that is all there is: nothing would be left to judge. */
static void check_first_call_alone(void **state)
{
    static const struct lpo_limits_region alone[] = {
        { .path = "prefill",
          .parent = UINT32_MAX,
          .visits = 4,
          .gpu_ns = 10 * MS,
          .firsts = 1,
          .first_gpu_ns = 10 * MS },
    };
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    LPO_AUTO(lpo_limits) l = join(a, alone, 1, 0);

    (void)state;
    near(l->rows.at[0].measured_ns, 10e6);
    near(l->rows.at[0].limit_ns, 20e6);
    assert_false(lpo_measure_known(l->rows.at[0].first_ns));
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_TEST(&u, check_first_calls);
    UNIT_TEST(&u, check_first_calls_stated);
    UNIT_TEST(&u, check_first_launches);
    UNIT_TEST(&u, check_first_call_alone);
    UNIT_TEST(&u, check_numbered);
    UNIT_TEST(&u, check_numbered_stated);
    UNIT_TEST(&u, check_numbered_shown);
    UNIT_TEST(&u, check_numbered_of_trace);
    return unit_run(&u);
}
