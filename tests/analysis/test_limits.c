/* SPDX-License-Identifier: Apache-2.0 */
/* Needed, measured, possible: on made-up regions, against arithmetic done by hand. */
#include <math.h>

#include "../unit.h"
#include "analysis/limits/limits.h"
#include "analysis/limits/private.h"
#include "gpu/hardware.h"
#include "limits_case.h"
#include "model/needs.h"
#include "report/doc/doc.h"
#include "report/limits/chapter_limits.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/json.h"
#include "util/str.h"
#include "writer/writer.h"

static const struct meaning_case {
    const char *name, *path; /* the name is the row's */
    int phase;
    const char *part;
    int layer;
    const char *block;
} meanings[] = {
    { "a phase", "prefill", LPO_PREFILL, NULL, -1, NULL },
    { "a layer's attention", "prefill/layer3/attn", LPO_PREFILL, NULL, 3, "attn" },
    { "a step of decode", "decode/step/layer.12/mlp", LPO_DECODE, NULL, 12, "mlp" },
    { "numbered steps", "decode/step 7/lm_head", LPO_DECODE, NULL, -1, "lm_head" },
    { "a domain before the name", "LLM@decode/layers[0]", -1, NULL, -1, NULL },
    { "vision inside prefill", "prefill/sam", LPO_IMAGE, "sam", -1, NULL },
    { "vision alone", "clip/layer4/mlp", LPO_IMAGE, "clip", 4, "mlp" },
    { "projector", "prefill/projector", LPO_IMAGE, "projector", -1, NULL },
    { "a name that says nothing", "prefill/warmup", -1, NULL, -1, NULL },
    { "a layer of nothing", "layer3", -1, NULL, -1, NULL },
    { "a kernel's range below a part", "decode/step/layer0/attn/matmul", -1, NULL, -1, NULL },
    { "mapped by config", "generate/forward/layer2", LPO_PREFILL, NULL, 2, NULL },
    { "mapped whole", "generate/next", LPO_DECODE, NULL, -1, NULL },
};

static struct lpo_stated_mapping mappings[] = {
    { "generate/forward", "prefill" },
    { "generate/next", "decode/step" },
};

static void check_meaning(void **state)
{
    const struct meaning_case *c = *state;
    struct lpo_meaning m =
        lpo_limits_region_meaning(c->path, &(struct lpo_stated_mappings){ mappings, 2 });

    assert_int_equal(m.phase, c->phase);
    if (c->phase < 0)
        return;
    assert_int_equal(m.layer, c->layer);
    assert_string_equal(m.part ? m.part : "", c->part ? c->part : "");
    assert_string_equal(m.block ? m.block : "", c->block ? c->block : "");
}

/* Two prompts, each of one image; two decodes of five steps together. */
static const struct lpo_limits_region regions[] = {
    { .path = "prefill", .parent = UINT32_MAX, .visits = 2, .gpu_ns = 36 * MS, .host_ns = NONE },
    { .path = "prefill/sam", .parent = 0, .visits = 2, .gpu_ns = 16 * MS, .host_ns = NONE },
    { .path = "prefill/layer0", .parent = 0, .visits = 2, .gpu_ns = 10 * MS, .host_ns = NONE },
    { .path = "decode",
      .parent = UINT32_MAX,
      .visits = 2,
      .gpu_ns = 5 * MS,
      .host_gap_ns = 14 * MS,
      .other_gap_ns = 1 * MS },
    { .path = "decode/step", .parent = 3, .visits = 5, .gpu_ns = 5 * MS },
    { .path = "decode/step/layer0", .parent = 4, .visits = 5, .gpu_ns = 2 * MS },
    { .path = "decode/step/layer0/attn", .parent = 5, .visits = 5, .gpu_ns = 1 * MS },
    { .path = "load", .parent = UINT32_MAX, .visits = 1, .gpu_ns = 3 * MS },
};

enum { PREFILL, SAM, LAYER0, DECODE, STEP, STEP_LAYER0, STEP_ATTN, LOAD };

static void check_by_hand(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    LPO_AUTO(lpo_limits) l = join(a, regions, sizeof regions / sizeof *regions, 0);
    const struct lpo_limit_row *r = l->rows.at;
    LPO_STR evidence = { 0 };

    (void)state;
    /* two passes of 5 GFLOP, and two images of 4 GFLOP inside */
    near(r[PREFILL].needed_flops, 2 * 5e9 + 2 * 4e9);
    near(r[PREFILL].limit_ns, 2 * 5e6 + 2 * 4e6);
    near(r[PREFILL].measured_ns, 36e6);
    near(r[PREFILL].flop_rate, 18e9 / 36e-3);
    near(r[PREFILL].mfu, 18e9 / 36e-3 / 2e12); /* MFU is relative to the sheet */
    near(r[PREFILL].share, 0.5);               /* the share against the measured ceiling */
    near(r[PREFILL].saving_ns, 18e6);
    assert_int_equal(r[PREFILL].held, LPO_HELD_COMPUTE);
    near(r[SAM].needed_flops, 2 * 4e9);
    near(r[SAM].share, 0.5);
    near(r[LAYER0].needed_flops, 2 * 3e9);
    /* five steps, whichever region of decode asks */
    near(r[DECODE].needed_flops, 5 * 5e6);
    near(r[DECODE].limit_ns, 5 * 0.5e6);
    near(r[DECODE].measured_ns, 20e6);
    assert_int_equal(r[DECODE].held, LPO_HELD_LAUNCH);
    lpo_report_limits_add_evidence(&r[DECODE], &evidence);
    assert_non_null(strstr(lpo_str_text(&evidence), "75 %"));
    near(r[STEP].needed_flops, 5 * 5e6);
    near(r[STEP_LAYER0].needed_bytes, 5 * 300000.0);
    near(r[STEP_ATTN].limit_ns, 5 * 0.1e6);
    near(r[STEP_ATTN].best_ns, 5 * 0.2e6);
    near(r[STEP_ATTN].to_best, 1e6 / r[STEP_ATTN].measured_ns.value);
    assert_false(lpo_measure_known(r[STEP].best_ns)); /* a part of it was not measured */
    assert_false(lpo_measure_known(r[LOAD].needed_flops));
    near(r[LOAD].measured_ns, 3e6);
    assert_null(r[LOAD].means);
}

/* Vision nested in prefill is not counted again beside it. */
static void check_model_counts_once(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    LPO_AUTO(lpo_limits) l = join(a, regions, sizeof regions / sizeof *regions, 0);

    (void)state;
    near(l->model.needed_flops, 18e9 + 25e6);
    near(l->model.measured_ns, 36e6 + 20e6);
    near(l->model.mfu, (18e9 + 25e6) / 56e-3 / 2e12);
}

static void check_ranked_by_time_to_win(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    LPO_AUTO(lpo_limits) l = join(a, regions, sizeof regions / sizeof *regions, 0);

    (void)state;
    assert_int_equal(l->ranked, 7);
    assert_int_equal(l->by_saving[0], PREFILL);
    assert_int_equal(l->by_saving[1], DECODE);
    for (size_t i = 1; i < l->ranked; i++)
        assert_true(l->rows.at[l->by_saving[i - 1]].saving_ns.value >=
                    l->rows.at[l->by_saving[i]].saving_ns.value);
}

static void check_steps_must_be_known(void **state)
{
    static const struct lpo_limits_region bare[] = {
        { .path = "decode", .parent = UINT32_MAX, .visits = 2, .gpu_ns = 5 * MS },
    };
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    LPO_AUTO(lpo_limits) unknown = join(a, bare, 1, 0);
    LPO_AUTO(lpo_limits) told = join(a, bare, 1, 31);

    (void)state;
    assert_false(lpo_measure_known(unknown->rows.at[0].needed_flops));
    assert_int_equal(unknown->notes.len, 1);
    near(told->rows.at[0].needed_flops, 2 * 31 * 5e6);
}

static void check_host_time_without_gpu(void **state)
{
    static const struct lpo_limits_region cpu[] = {
        { .path = "prefill",
          .parent = UINT32_MAX,
          .visits = 1,
          .gpu_ns = NONE,
          .host_ns = 10 * MS },
    };
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    LPO_AUTO(lpo_limits) l = join(a, cpu, 1, 0);

    (void)state;
    near(l->rows.at[0].measured_ns, 10e6);
    near(l->rows.at[0].share, 0.5);
    assert_false(lpo_measure_known(l->rows.at[0].busy_ns));
}

static struct lpo_limits *state_needs(struct lpo_stated_need *needs, size_t n, enum lpo_dtype dtype,
                                      const struct lpo_hardware *hw, const struct lpo_json *model)
{
    struct lpo_limits_input in = { .regions = regions,
                                   .nregions = sizeof regions / sizeof *regions,
                                   .stated = { needs, n },
                                   .needed = model,
                                   .hardware = hw,
                                   .dtype = dtype };
    struct lpo_limits *l = NULL;
    struct lpo_err err = { 0 };

    assert_int_equal(lpo_limits_create(&in, &l, &err), 0);
    return l;
}

/* No model at all: two visits of 18 ms in prefill, one of 3 ms in load. */
static void check_stated_by_hand(void **state)
{
    static struct lpo_stated_need needs[] = {
        { "prefill", { 9e9, LPO_COMPUTED }, { 1e6, LPO_COMPUTED }, LPO_BF16 },
        { "load", { 0, LPO_UNKNOWN }, { 1.5e6, LPO_COMPUTED }, LPO_DTYPE_NONE },
    };
    LPO_AUTO(lpo_limits) l = state_needs(needs, 2, LPO_DTYPE_NONE, &device, NULL);
    const struct lpo_limit_row *r = l->rows.at;

    (void)state;
    near(r[PREFILL].needed_flops, 18e9);
    near(r[PREFILL].needed_bytes, 2e6);
    near(r[PREFILL].limit_ns, 18e6); /* 9 ms of products, longer than 1 ms of memory, twice */
    near(r[PREFILL].share, 0.5);
    near(r[PREFILL].flop_rate, 18e9 / 36e-3);
    near(r[PREFILL].mfu, 0.25); /* of the sheet's 2 TFLOP/s */
    near(r[PREFILL].bandwidth_use, 2e6 / 36e-3 / 1e9);
    near(r[PREFILL].saving_ns, 18e6);
    assert_string_equal(lpo_report_limits_means(&r[PREFILL]), "stated in report.needs");
    assert_string_equal(r[PREFILL].dtype, "bf16");
    assert_int_equal(r[PREFILL].held, LPO_HELD_COMPUTE);
    near(r[LOAD].limit_ns, 1.5e6);
    near(r[LOAD].bandwidth_use, 0.5);
    assert_false(lpo_measure_known(r[LOAD].needed_flops));
    assert_false(lpo_measure_known(r[LOAD].mfu));
    assert_false(
        lpo_measure_known(r[LAYER0].needed_flops)); /* a part of prefill that nobody stated */
    assert_int_equal(l->ranked, 2);
    assert_int_equal(l->by_saving[0], PREFILL);
    near(l->model.measured_ns, 39e6);
    near(l->model.limit_ns, 19.5e6);
    assert_false(lpo_measure_known(l->model.needed_flops)); /* a sum with an unknown part */
    assert_string_equal(l->hardware, "Test GPU");
    assert_int_equal(l->notes.len, 0);
}

/* Each need against the rate of its own format; together by the time at those rates. */
static void check_stated_formats(void **state)
{
    static struct lpo_stated_need needs[] = {
        { "prefill", { 9e9, LPO_COMPUTED }, { 0, LPO_UNKNOWN }, LPO_BF16 },
        { "load", { 1.5e9, LPO_COMPUTED }, { 0, LPO_UNKNOWN }, LPO_DTYPE_NONE },
    };
    LPO_AUTO(lpo_limits) l = state_needs(needs, 2, LPO_FP32, &device, NULL);

    (void)state;
    near(l->rows.at[PREFILL].mfu, 0.25);
    near(l->rows.at[LOAD].mfu, 0.5); /* 1.5 GFLOP in 3 ms, of 1 TFLOP/s */
    near(l->model.mfu, (9e-3 + 1.5e-3) / 39e-3);
    assert_null(l->model.dtype);
    assert_false(lpo_measure_known(l->model.needed_bytes));
    assert_string_equal(l->dtype, "bf16"); /* the first that is stated */
}

/* What is stated of a region wins over the model; the regions around and inside keep theirs. */
static void check_stated_over_model(void **state)
{
    static struct lpo_stated_need needs[] = {
        { "decode", { 1e9, LPO_COMPUTED }, { 0, LPO_UNKNOWN }, LPO_BF16 },
    };
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const struct lpo_json *model = NULL;
    struct lpo_err err = { 0 };
    LPO_AUTO(lpo_limits) l = NULL;

    (void)state;
    assert_int_equal(lpo_json_parse(a, analysis, sizeof analysis - 1, &model, &err), 0);
    l = state_needs(needs, 1, LPO_DTYPE_NONE, NULL, model); /* the rate of the analysis itself */
    near(l->rows.at[DECODE].needed_flops, 2e9);
    near(l->rows.at[DECODE].mfu, 2e9 / 20e-3 / 2e12);
    assert_true(l->rows.at[DECODE].stated);
    near(l->rows.at[STEP].needed_flops, 5 * 5e6);
    assert_false(l->rows.at[STEP].stated);
    assert_string_equal(l->rows.at[STEP].means, "decode");
    near(l->rows.at[PREFILL].needed_flops, 18e9);
    near(l->model.needed_flops, 18e9 + 2e9);
    assert_false(l->model.stated);
}

static const struct note_case {
    const char *name;
    struct lpo_stated_need need;
    bool hardware;
    const char *words;
} stated_notes[] = {
    { "a region that was never entered",
      { "prefil", { 1, LPO_COMPUTED }, { 0 }, LPO_BF16 },
      true,
      "no region 'prefil'; did you mean 'prefill'?" },
    { "no format", { "load", { 1, LPO_COMPUTED }, { 0 }, LPO_DTYPE_NONE }, true, "names no dtype" },
    { "no hardware",
      { "load", { 1, LPO_COMPUTED }, { 0 }, LPO_BF16 },
      false,
      "no hardware is known" },
};

static void check_stated_notes(void **state)
{
    const struct note_case *c = *state;
    struct lpo_stated_need need = c->need;
    LPO_AUTO(lpo_limits)
    l = state_needs(&need, 1, LPO_DTYPE_NONE, c->hardware ? &device : NULL, NULL);
    LPO_STR said = { 0 };

    assert_int_equal(l->notes.len, 1);
    lpo_report_limits_add_note(l, &l->notes.at[0], &said);
    if (!strstr(lpo_str_text(&said), c->words))
        fail_msg("'%s' does not say '%s'", lpo_str_text(&said), c->words);
    assert_false(lpo_measure_known(l->rows.at[LOAD].mfu));
    assert_false(lpo_measure_known(l->rows.at[LOAD].limit_ns));
}

static const struct held_case {
    const char *name;
    struct lpo_limits_region region;
    enum lpo_held held;
    const char *words; /* in the evidence; NULL: any */
} helds[] = {
    { "counters say memory",
      { .path = "prefill",
        .visits = 1,
        .gpu_ns = 10 * MS,
        .counters = { .sm_percent = { 30, LPO_MEASURED }, .dram_percent = { 85, LPO_MEASURED } } },
      LPO_HELD_MEMORY },
    { "counters say compute",
      { .path = "prefill",
        .visits = 1,
        .gpu_ns = 10 * MS,
        .counters = { .sm_percent = { 80, LPO_MEASURED }, .dram_percent = { 40, LPO_MEASURED } } },
      LPO_HELD_COMPUTE },
    { "few warps",
      { .path = "prefill",
        .visits = 1,
        .gpu_ns = 100 * MS,
        .counters = { .sm_percent = { 20, LPO_MEASURED },
                      .dram_percent = { 10, LPO_MEASURED },
                      .occupancy_percent = { 12, LPO_MEASURED } } },
      LPO_HELD_OCCUPANCY },
    { "samples say memory", /* 0.7 of 1 GB/s */
      { .path = "prefill",
        .visits = 1,
        .gpu_ns = 10 * MS,
        .counters = { .sampled = true,
                      .dram_rate = { 0.7e9, LPO_COMPUTED },
                      .tensor_percent = { 3, LPO_MEASURED } } },
      LPO_HELD_MEMORY },
    { "samples say compute",
      { .path = "prefill",
        .visits = 1,
        .gpu_ns = 10 * MS,
        .counters = { .sampled = true,
                      .dram_rate = { 0.3e9, LPO_COMPUTED },
                      .tensor_percent = { 80, LPO_MEASURED } } },
      LPO_HELD_COMPUTE,
      "sampled counters: tensor cores at 80 %, DRAM at 30 % of their peaks" },
    { "samples say that few SMs have work",
      { .path = "prefill",
        .visits = 1,
        .gpu_ns = 500 * MS,
        .counters = { .sampled = true,
                      .dram_rate = { 0.1e9, LPO_COMPUTED },
                      .sm_active_percent = { 20, LPO_MEASURED } } },
      LPO_HELD_OCCUPANCY },
    { "samples that say nothing",
      { .path = "prefill",
        .visits = 1,
        .gpu_ns = 500 * MS,
        .counters = { .sampled = true,
                      .dram_rate = { 0.1e9, LPO_COMPUTED },
                      .sm_active_percent = { 90, LPO_MEASURED },
                      .tensor_percent = { 11, LPO_MEASURED } } },
      LPO_HELD_OVERHEAD,
      "sampled counters: tensor cores at 11 %, DRAM at 10 % of their peaks" },
    { "idle, but not for the host",
      { .path = "prefill", .visits = 1, .gpu_ns = 10 * MS, .other_gap_ns = 10 * MS },
      LPO_HELD_IDLE },
    { "slow kernels", { .path = "prefill", .visits = 1, .gpu_ns = 500 * MS }, LPO_HELD_OVERHEAD },
    { "nothing measured", { .path = "prefill", .visits = 1 }, LPO_HELD_UNKNOWN },
};

static void check_held(void **state)
{
    const struct held_case *c = *state;
    struct lpo_limits_region r = c->region;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    LPO_AUTO(lpo_limits) l = NULL;
    LPO_STR evidence = { 0 };

    r.parent = UINT32_MAX;
    l = join(a, &r, 1, 0);
    assert_int_equal(l->rows.at[0].held, c->held);
    lpo_report_limits_add_evidence(&l->rows.at[0], &evidence);
    assert_int_equal(evidence.len == 0, c->held == LPO_HELD_UNKNOWN);
    if (c->words && !strstr(lpo_str_text(&evidence), c->words))
        fail_msg("'%s' does not say '%s'", lpo_str_text(&evidence), c->words);
}

/* Names come from the profiled program: nothing of them may become part of the picture's markup. */
static void check_picture_escapes(void **state)
{
    static const enum lpo_figure_kind kinds[] = { LPO_FIG_SCATTER, LPO_FIG_STACKED };

    (void)state;
    for (int i = 0; i < 2; i++) {
        LPO_AUTO(lpo_doc) doc = lpo_doc_create("test", "test");
        struct lpo_figure *f;
        LPO_STR svg = { 0 };

        lpo_doc_section(doc, "x", "x", 1);
        f = lpo_doc_figure(doc, "x", "<b>", kinds[i]);
        lpo_doc_figure_point(f, "a\"b", "</text><script>", 2, 3);
        lpo_doc_figure_point(f, "roof", "r", 1, 1);
        lpo_doc_figure_point(f, "zero", "z", 0, 0);
        lpo_doc_figure_point(f, "bad", "b", NAN, INFINITY);
        assert_true(lpo_writer_svg.draw(f, &svg));
        assert_null(strstr(svg.at, "<script"));
        assert_null(strstr(svg.at, "<b>"));
        assert_null(strstr(svg.at, "nan"));
        assert_null(strstr(svg.at, "inf"));
        assert_non_null(strstr(svg.at, "&lt;script&gt;"));
    }
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, meanings, check_meaning);
    UNIT_TEST(&u, check_by_hand);
    UNIT_TEST(&u, check_model_counts_once);
    UNIT_TEST(&u, check_ranked_by_time_to_win);
    UNIT_TEST(&u, check_steps_must_be_known);
    UNIT_TEST(&u, check_host_time_without_gpu);
    UNIT_TEST(&u, check_stated_by_hand);
    UNIT_TEST(&u, check_stated_formats);
    UNIT_TEST(&u, check_stated_over_model);
    UNIT_ROWS(&u, stated_notes, check_stated_notes);
    UNIT_ROWS(&u, helds, check_held);
    UNIT_TEST(&u, check_picture_escapes);
    return unit_run(&u);
}
