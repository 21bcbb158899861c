/* SPDX-License-Identifier: Apache-2.0 */
/* Properties that hold for every family, and a roofline done by hand. */
#include <math.h>

#include "../unit.h"
#include "model/needs.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/json.h"

static const struct family_case {
    const char *name, *config;
    bool mla;
} cases[] = {
    { "llama", "{\"model_type\":\"llama\",\"num_hidden_layers\":3,\"num_key_value_heads\":8}" },
    { "qwen2", "{\"model_type\":\"qwen2\",\"num_hidden_layers\":3}" },
    { "mistral with a window of 8",
      "{\"model_type\":\"mistral\",\"num_hidden_layers\":2,\"sliding_window\":8}" },
    { "gemma 3 with both kinds of layers",
      "{\"model_type\":\"gemma3_text\",\"num_hidden_layers\":7,\"sliding_window\":5}" },
    { "gpt-oss", "{\"model_type\":\"gpt_oss\",\"num_hidden_layers\":4,\"sliding_window\":16}" },
    { "mixtral", "{\"model_type\":\"mixtral\",\"num_hidden_layers\":2}" },
    { "qwen2 moe", "{\"model_type\":\"qwen2_moe\",\"num_hidden_layers\":2}" },
    { "gpt2", "{\"model_type\":\"gpt2\"}" },
    { "falcon", "{\"model_type\":\"falcon\",\"num_hidden_layers\":2}" },
    { "deepseek v3", "{\"model_type\":\"deepseek_v3\",\"num_hidden_layers\":5}", true },
    { "vit", "{\"model_type\":\"vit\"}" },
    { "sam", "{\"model_type\":\"sam_vision_model\"}" },
    { "siglip", "{\"model_type\":\"siglip\"}" },
};

static struct lpo_arena *arena; /* of this program's configs; the code under test has none */

static struct lpo_model_needs *need(const struct family_case *c, struct lpo_needs_options o)
{
    const struct lpo_json *config = NULL;
    struct lpo_model_needs *needs = NULL;
    struct lpo_err err = { 0 };

    assert_int_equal(lpo_json_parse(arena, c->config, strlen(c->config), &config, &err), 0);
    if (lpo_model_needs_create(config, &o, &needs, &err) < 0)
        fail_msg("%s", lpo_err_cause(&err));
    return needs;
}

static void check_linear_in_batch(void **state)
{
    for (int counting = 0; counting < 2; counting++) {
        struct lpo_needs_options one = { .seq = 33, .context = 20, .batch = 1 };
        struct lpo_needs_options seven = { .seq = 33, .context = 20, .batch = 7 };
        LPO_AUTO(lpo_model_needs) a = NULL;
        LPO_AUTO(lpo_model_needs) b = NULL;

        one.counting = seven.counting = (enum lpo_counting)counting;
        a = need(*state, one);
        b = need(*state, seven);
        for (int k = 0; k < LPO_PHASES; k++)
            assert_int_equal(b->phase[k].all.flops, 7 * a->phase[k].all.flops);
        assert_int_equal(a->params, b->params);
    }
}

/* A prompt costs what its tokens cost one after the other, when each sees only those before it and
 * every one is given its logits. MLA is the exception: cached latents are expanded again. */
static void check_decode_sums_to_prefill(void **state)
{
    const struct family_case *c = *state;
    enum { LENGTH = 37 };
    struct lpo_needs_options o = { .seq = LENGTH, .head_all = true };
    LPO_AUTO(lpo_model_needs) whole = need(c, o);
    uint64_t sum;

    if (c->mla || !whole->phase[LPO_DECODE].present)
        return;
    o.seq = 1;
    {
        LPO_AUTO(lpo_model_needs) first = need(c, o);

        sum = first->phase[LPO_PREFILL].all.flops;
    }
    for (uint64_t cached = 1; cached < LENGTH; cached++) {
        LPO_AUTO(lpo_model_needs) step = NULL;

        o.context = cached;
        step = need(c, o);
        sum += step->phase[LPO_DECODE].all.flops;
    }
    assert_int_equal(sum, whole->phase[LPO_PREFILL].all.flops);
}

static bool whole_on_every_rank(const struct lpo_model_op *op, void *arg)
{
    return op->ways < *(uint64_t *)arg;
}

/* What two ranks do is what one does, plus what both repeat. An odd number of heads (Falcon's 71)
 * leaves the busiest rank with half a head more. */
static void check_ranks_add_up(void **state)
{
    uint64_t tp = 2;
    LPO_AUTO(lpo_model_needs) a = need(*state, (struct lpo_needs_options){ .seq = 64, .tp = tp });

    for (int k = 0; k < LPO_PHASES; k++) {
        struct lpo_sums repeated =
            lpo_model_needs_sum(a, &a->phase[k], tp, whole_on_every_rank, &tp);

        double both = (double)(tp * a->phase[k].rank.flops - repeated.flops);
        double all = (double)a->phase[k].all.flops;
        uint64_t heads = a->model->decoder ? a->model->decoder->base.heads : 2;

        assert_true(both >= all);
        assert_true(both <= all * (1 + (heads % tp ? 1.0 / (double)heads : 1e-4)));
    }
}

static const struct share_case {
    const char *name;
    uint64_t tp, heads, kv_heads; /* of the busiest rank: Llama 3 has 32 and 8 */
} shares[] = {
    { "one rank does all", 1, 32, 8 },
    { "heads that divide", 4, 8, 2 },
    { "heads that do not divide: the busiest rank", 3, 11, 3 },
    { "more ranks than KV heads: each keeps a copy of one", 16, 2, 1 },
    { "more ranks than heads", 64, 1, 1 },
};

/* Scores, the cache that is read and the cache that is kept are of the same heads. */
static void check_share_of_a_rank(void **state)
{
    const struct share_case *c = *state;
    struct family_case llama = { "llama", "{\"model_type\":\"llama\",\"num_hidden_layers\":2,"
                                          "\"num_attention_heads\":32,"
                                          "\"num_key_value_heads\":8}" };
    LPO_AUTO(lpo_model_needs)
    a = need(&llama, (struct lpo_needs_options){ .seq = 64, .tp = c->tp });
    const struct lpo_phase_result *p = &a->phase[LPO_DECODE];

    assert_int_equal(p->rank.by_kind[LPO_OP_SCORES] * 32, p->all.by_kind[LPO_OP_SCORES] * c->heads);
    assert_true(p->rank.kv_bytes * 8 == p->all.kv_bytes * (double)c->kv_heads);
    assert_true(a->memory.kv * 8 == a->memory.kv_model * (double)c->kv_heads);
}

static void check_modules_add_up(void **state)
{
    LPO_AUTO(lpo_arena) scratch = lpo_arena_create();
    LPO_AUTO(lpo_model_needs) a = need(*state, (struct lpo_needs_options){ .seq = 64, .tp = 2 });
    lpo_module_vec rows = { 0 };
    uint64_t params = 0, flops[LPO_PHASES] = { 0 }, rank[LPO_PHASES] = { 0 };

    lpo_model_modules_list(scratch, a, &rows);
    for (size_t i = 0; i < rows.len; i++) {
        params += rows.at[i].params;
        for (int k = 0; k < LPO_PHASES; k++) {
            flops[k] += rows.at[i].sums[k].flops;
            rank[k] += rows.at[i].rank[k].flops;
        }
    }
    assert_int_equal(params, a->params);
    for (int k = 0; k < LPO_PHASES; k++) {
        assert_int_equal(flops[k], a->phase[k].all.flops);
        assert_int_equal(rank[k], a->phase[k].rank.flops);
    }
    lpo_vec_free(&rows);
}

static void check_framework_counts_no_less(void **state)
{
    struct lpo_needs_options o = { .seq = 50, .mla = LPO_MLA_EXPANDED };
    LPO_AUTO(lpo_model_needs) model = need(*state, o);
    LPO_AUTO(lpo_model_needs) framework = NULL;

    o.counting = LPO_COUNT_FRAMEWORK;
    framework = need(*state, o);
    for (int k = 0; k < LPO_PHASES; k++)
        assert_true(framework->phase[k].all.flops >= model->phase[k].all.flops);
}

/* One product of 64 rows through a 128 x 256 matrix, by hand: on a device with 1 TFLOP/s and
 * 1 GB/s it is bound by memory, on one with 1 GFLOP/s and 1 TB/s by compute. */
static void check_roofline_by_hand(void **state)
{
    static const double flops = 2.0 * 64 * 128 * 256;
    static const double bytes = 2.0 * (128 * 256 + 64 * 128 + 64 * 256);
    struct lpo_hardware hw = { .name = "test", .bandwidth = 1e9, .flops = { [LPO_BF16] = 1e12 } };
    struct lpo_model_needs n = {
        .plain = LPO_BF16, .options = { .dtype = LPO_BF16, .kv_dtype = LPO_BF16, .hardware = &hw }
    };
    struct lpo_phase phase = { .batch = 1, .tokens = 64 };
    struct lpo_phase_result p = { .present = true };
    struct lpo_walk w = { .arena = arena, .phase = &phase, .ops = &p.ops };
    struct lpo_sums s;

    (void)state;
    lpo_model_walk_linear(&w, &(struct lpo_linear){ .name = "x", .in = 128, .out = 256 }, 64);
    s = lpo_model_needs_sum(&n, &p, 1, NULL, NULL);
    assert_int_equal(s.flops, (uint64_t)flops);
    assert_true(fabs(lpo_model_sums_bytes(&s) - bytes) < 0.5);
    assert_true(fabs(s.seconds - bytes / 1e9) < 1e-15);
    hw.bandwidth = 1e12;
    hw.flops[LPO_BF16] = 1e9;
    s = lpo_model_needs_sum(&n, &p, 1, NULL, NULL);
    assert_true(fabs(s.seconds - flops / 1e9) < 1e-12);
    lpo_vec_free(&p.ops);
    lpo_str_free(&w.path);
}

/* Llama 3 8B on one H200, decode at batch 1: every weight but the embedding is read once. */
static void check_decode_time_by_hand(void **state)
{
    struct lpo_hardware hw = { .name = "h200",
                               .bandwidth = 4.8e12,
                               .memory = 141.0 * 1024 * 1024 * 1024,
                               .flops = { [LPO_BF16] = 989e12 } };
    struct family_case llama = {
        "llama 3 8b",
        "{\"model_type\":\"llama\",\"hidden_size\":4096,\"intermediate_size\":14336,"
        "\"num_hidden_layers\":32,\"num_attention_heads\":32,\"num_key_value_heads\":8,"
        "\"vocab_size\":128256,\"torch_dtype\":\"bfloat16\",\"max_position_embeddings\":131072}"
    };
    LPO_AUTO(lpo_model_needs)
    a = need(&llama, (struct lpo_needs_options){ .seq = 1024, .hardware = &hw });
    double weights = 2.0 * (8030261248.0 - 128256.0 * 4096);
    double cache = 2.0 * 32 * 2 * 8 * 128 * 1025;

    (void)state;
    assert_int_equal(a->kv_elements, 32 * 2 * 8 * 128);
    assert_true(a->phase[LPO_DECODE].all.seconds > (weights + cache) / 4.8e12);
    assert_true(a->phase[LPO_DECODE].all.seconds < (weights + cache) / 4.8e12 * 1.01);
    assert_true(a->memory.fits);
    assert_true(a->memory.max_batch > 500 && a->memory.max_batch < 1200);
}

static void check_strict_refuses(void **state)
{
    static const char text[] = "{\"model_type\":\"brand_new\",\"hidden_size\":64,"
                               "\"num_hidden_layers\":2,\"num_attention_heads\":4,"
                               "\"vocab_size\":100,\"intermediate_size\":128}";
    struct lpo_needs_options o = lpo_model_needs_defaults();
    const struct lpo_json *config = NULL;
    LPO_AUTO(lpo_model_needs) needs = NULL;
    struct lpo_err err = { 0 };

    (void)state;
    assert_int_equal(lpo_json_parse(arena, text, sizeof text - 1, &config, &err), 0);
    assert_int_equal(lpo_model_needs_create(config, &o, &needs, &err), 0);
    assert_true(needs->model->guessed);
    assert_string_equal(needs->model->family, "generic");
    lpo_model_needs_destroy(needs);
    needs = NULL;
    o.strict = true;
    assert_int_equal(lpo_model_needs_create(config, &o, &needs, &err), LPO_E_NOTFOUND);
    assert_non_null(strstr(lpo_err_cause(&err), "brand_new"));
}

static void check_missing_field_is_named(void **state)
{
    static const char text[] = "{\"model_type\":\"brand_new\",\"hidden_size\":64}";
    struct lpo_needs_options o = lpo_model_needs_defaults();
    const struct lpo_json *config = NULL;
    LPO_AUTO(lpo_model_needs) needs = NULL;
    struct lpo_err err = { 0 };

    (void)state;
    assert_int_equal(lpo_json_parse(arena, text, sizeof text - 1, &config, &err), 0);
    assert_int_equal(lpo_model_needs_create(config, &o, &needs, &err), LPO_E_FORMAT);
    assert_non_null(strstr(lpo_err_cause(&err), "num_hidden_layers"));
}

static void check_overflow_is_refused(void **state)
{
    static const char text[] = "{\"model_type\":\"llama\",\"hidden_size\":67108864,"
                               "\"num_hidden_layers\":1024,\"vocab_size\":67108864,"
                               "\"num_attention_heads\":1,\"head_dim\":67108864}";
    struct lpo_needs_options o = { .seq = (uint64_t)1 << 32, .batch = 1 << 20 };
    const struct lpo_json *config = NULL;
    LPO_AUTO(lpo_model_needs) needs = NULL;
    struct lpo_err err = { 0 };

    (void)state;
    assert_int_equal(lpo_json_parse(arena, text, sizeof text - 1, &config, &err), 0);
    assert_int_equal(lpo_model_needs_create(config, &o, &needs, &err), LPO_E_RANGE);
}

int main(void)
{
    struct unit u = { 0 };
    int failed;

    arena = lpo_arena_create();
    UNIT_ROWS(&u, cases, check_linear_in_batch);
    UNIT_ROWS(&u, cases, check_decode_sums_to_prefill);
    UNIT_ROWS(&u, cases, check_ranks_add_up);
    UNIT_ROWS(&u, shares, check_share_of_a_rank);
    UNIT_ROWS(&u, cases, check_modules_add_up);
    UNIT_ROWS(&u, cases, check_framework_counts_no_less);
    UNIT_TEST(&u, check_roofline_by_hand);
    UNIT_TEST(&u, check_decode_time_by_hand);
    UNIT_TEST(&u, check_strict_refuses);
    UNIT_TEST(&u, check_missing_field_is_named);
    UNIT_TEST(&u, check_overflow_is_refused);
    failed = unit_run(&u);
    lpo_arena_destroy(arena);
    return failed;
}
