/* SPDX-License-Identifier: Apache-2.0 */
#include "../unit.h"

#include <math.h>

#include "toy/model.h"
#include "toy/pool.h"
#include "toy/sample.h"
#include "toy_reference.h"
#include "util/arena.h"
#include "util/err.h"

enum { PROMPT = 9, STEPS = 5, TOKENS = PROMPT + STEPS };

static const struct shape {
    const char *name;
    struct toy_config config;
} shapes[] = {
    { "one of everything", { 1, 2, 1, 1, 1, 2, TOKENS, 1 } },
    { "heads share keys (grouped)", { 2, 48, 6, 2, 70, 50, TOKENS, 2 } },
    { "one key head for all", { 2, 32, 8, 1, 64, 33, TOKENS, 3 } },
    { "a key head each", { 3, 40, 4, 4, 17, 100, TOKENS, 4 } },
    { "sizes off the vector width", { 2, 42, 3, 1, 31, 77, TOKENS, 5 } },
    { "deep", { 8, 16, 2, 1, 24, 40, TOKENS, 6 } },
    { "the default's layer", { 1, 256, 8, 2, 704, 128, TOKENS, 1 } },
};

/* A session with what it borrows. */
struct rig {
    struct toy_weights *w;
    struct toy_pool *pool;
    struct toy_session *session;
    float *logits;
};

static struct rig rig_make(const struct toy_config *c, int batch, int threads)
{
    static const struct toy_ranges ranges = { .on = true }; /* the session keeps the pointer */
    struct rig r = { 0 };
    struct lpo_err err = { 0 };

    assert_int_equal(toy_config_check(c, &err), 0);
    assert_int_equal(toy_pool_create(threads, &r.pool, &err), 0);
    r.w = toy_weights_create(c);
    r.session = toy_session_create(r.w, batch, r.pool, &ranges);
    r.logits = lpo_xcalloc((size_t)batch * c->vocab, sizeof(float));
    return r;
}

static void rig_free(struct rig *r)
{
    free(r->logits);
    toy_session_destroy(r->session);
    toy_pool_destroy(r->pool);
    toy_weights_destroy(r->w);
}

static void feed(struct rig *r, const int *tokens, int count)
{
    struct lpo_err err = { 0 };

    assert_int_equal(toy_forward(r->session, tokens, count, r->logits, &err), 0);
}

static void some_tokens(int *tokens, int count, int vocab, uint64_t seed)
{
    for (int i = 0; i < count; i++)
        tokens[i] = (int)(toy_mix(seed, i) % vocab);
}

static void assert_near(const float *got, const double *want, int n)
{
    double most = 1e-3;

    for (int i = 0; i < n; i++)
        most = fmax(most, fabs(want[i]));
    for (int i = 0; i < n; i++)
        if (!(fabs(got[i] - want[i]) <= 2e-5 * most))
            fail_msg("logit %d is %.9g, the reference says %.9g", i, got[i], want[i]);
}

/* Prefill and every decode step against the reference on the whole text so far. */
static void logits_match_reference(void **state)
{
    const struct shape *s = *state;
    struct rig r = rig_make(&s->config, 1, 1);
    double *want = lpo_xcalloc(s->config.vocab, sizeof *want);
    int tokens[TOKENS];

    some_tokens(tokens, TOKENS, s->config.vocab, 11);
    feed(&r, tokens, PROMPT);
    for (int n = PROMPT; n <= TOKENS; n++) {
        if (n > PROMPT)
            feed(&r, tokens + n - 1, 1);
        reference_logits(r.w, tokens, n, want);
        assert_near(r.logits, want, s->config.vocab);
    }
    free(want);
    rig_free(&r);
}

/* However the text is cut into calls, the last logits are the same to the bit. */
static void cache_equals_full_forward(void **state)
{
    const struct shape *s = *state;
    struct rig whole = rig_make(&s->config, 1, 1), cut = rig_make(&s->config, 1, 1);
    int tokens[TOKENS];

    some_tokens(tokens, TOKENS, s->config.vocab, 12);
    feed(&whole, tokens, TOKENS);
    for (int cut_at = 1; cut_at < TOKENS; cut_at++) {
        toy_session_reset(cut.session);
        feed(&cut, tokens, cut_at);
        for (int i = cut_at; i < TOKENS; i++)
            feed(&cut, tokens + i, 1);
        assert_memory_equal(cut.logits, whole.logits, s->config.vocab * sizeof(float));
    }
    rig_free(&whole);
    rig_free(&cut);
}

/* Two sequences of different lengths share steps; one leaves, another takes its place: each has the
 * logits that it has alone, to the bit. */
static void sequences_join_and_leave(void **state)
{
    const struct shape *s = *state;
    struct rig all = rig_make(&s->config, 2, 1), one = rig_make(&s->config, 1, 1);
    const int vocab = s->config.vocab, both[] = { 1, 0 };
    int a[TOKENS], b[TOKENS], pair[2];
    struct lpo_err err = { 0 };

    some_tokens(a, TOKENS, vocab, 15);
    some_tokens(b, TOKENS, vocab, 16);
    assert_int_equal(toy_forward_some(all.session, &both[1], 1, a, 5, all.logits, &err), 0);
    assert_int_equal(toy_forward_some(all.session, &both[0], 1, b, 3, all.logits, &err), 0);
    pair[0] = b[3];
    pair[1] = a[5];
    assert_int_equal(toy_forward_some(all.session, both, 2, pair, 1, all.logits, &err), 0);
    feed(&one, b, 4);
    assert_memory_equal(one.logits, all.logits, vocab * sizeof(float));
    toy_session_reset(one.session);
    feed(&one, a, 6);
    assert_memory_equal(one.logits, all.logits + vocab, vocab * sizeof(float));
    toy_session_reset_one(all.session, 1);
    assert_int_equal(toy_forward_some(all.session, &both[0], 1, a, 7, all.logits, &err), 0);
    feed(&one, a + 6, 1);
    assert_memory_equal(one.logits, all.logits, vocab * sizeof(float));
    rig_free(&all);
    rig_free(&one);
}

/* A sequence does not notice its neighbours in the batch. */
static void batch_equals_singles(void **state)
{
    enum { BATCH = 3 };
    const struct shape *s = *state;
    struct rig all = rig_make(&s->config, BATCH, 1), one = rig_make(&s->config, 1, 1);
    const int vocab = s->config.vocab;
    int tokens[BATCH * PROMPT], next[BATCH];

    some_tokens(tokens, BATCH * PROMPT, vocab, 13);
    some_tokens(next, BATCH, vocab, 14);
    feed(&all, tokens, PROMPT);
    feed(&all, next, 1);
    for (int b = 0; b < BATCH; b++) {
        toy_session_reset(one.session);
        feed(&one, tokens + b * PROMPT, PROMPT);
        feed(&one, next + b, 1);
        assert_memory_equal(one.logits, all.logits + b * vocab, vocab * sizeof(float));
    }
    rig_free(&all);
    rig_free(&one);
}

static void threads_change_nothing(void **state)
{
    const struct shape *s = *state;
    struct rig one = rig_make(&s->config, 2, 1), three = rig_make(&s->config, 2, 3);
    int tokens[2 * PROMPT];

    some_tokens(tokens, 2 * PROMPT, s->config.vocab, 15);
    feed(&one, tokens, PROMPT);
    feed(&three, tokens, PROMPT);
    assert_memory_equal(one.logits, three.logits, 2 * s->config.vocab * sizeof(float));
    rig_free(&one);
    rig_free(&three);
}

static void seed_makes_the_weights(void **state)
{
    struct toy_config c = { 2, 16, 2, 1, 8, 20, 4, 7 }, other = c;
    LPO_AUTO(toy_weights) a = toy_weights_create(&c);
    LPO_AUTO(toy_weights) again = toy_weights_create(&c);
    LPO_AUTO(toy_weights) b = NULL;
    size_t same = 0;

    (void)state;
    other.seed = 8;
    b = toy_weights_create(&other);
    assert_memory_equal(a->at, again->at, a->count * sizeof(float));
    for (size_t i = 0; i < a->count; i++)
        same += a->at[i] == b->at[i];
    assert_true(same < a->count / 100);
}

/* Every weight belongs to exactly one tensor. */
static void tensors_tile_the_weights(void **state)
{
    const struct shape *s = *state;
    size_t at = 0;

    for (size_t i = 0; i < toy_tensor_count(&s->config); i++) {
        struct toy_tensor t = toy_tensor_at(&s->config, i);

        assert_int_equal(t.offset, at);
        at += (t.rows ? t.rows : 1) * t.cols;
    }
    assert_int_equal(at, toy_param_count(&s->config));
}

static const struct refused_shape {
    const char *name;
    struct toy_config config;
    int code;
} refused[] = {
    { "heads do not divide hidden", { 1, 30, 4, 2, 8, 8, 8, 1 }, LPO_E_RANGE },
    { "an odd head", { 1, 12, 4, 2, 8, 8, 8, 1 }, LPO_E_RANGE },
    { "key heads do not divide heads", { 1, 48, 6, 4, 8, 8, 8, 1 }, LPO_E_RANGE },
    { "no layer", { 0, 16, 2, 2, 8, 8, 8, 1 }, LPO_E_RANGE },
    { "too large for a toy", { 1024, 65536, 8, 8, 262144, 8, 8, 1 }, LPO_E_LIMIT },
};

static void shape_is_refused(void **state)
{
    const struct refused_shape *c = *state;
    struct lpo_err err = { 0 };

    assert_int_equal(toy_config_check(&c->config, &err), c->code);
}

static void forward_refuses_what_does_not_fit(void **state)
{
    struct toy_config c = { 1, 16, 2, 1, 8, 20, 4, 7 };
    struct rig r = rig_make(&c, 1, 1);
    struct lpo_err err = { 0 };

    (void)state;
    assert_int_equal(toy_forward(r.session, (int[]){ 20 }, 1, r.logits, &err), LPO_E_RANGE);
    assert_int_equal(toy_forward(r.session, (int[]){ -1 }, 1, r.logits, &err), LPO_E_RANGE);
    feed(&r, (int[]){ 1, 2, 3, 4 }, 4);
    assert_int_equal(toy_forward(r.session, (int[]){ 1 }, 1, r.logits, &err), LPO_E_RANGE);
    rig_free(&r);
}

static const float four[] = { 0.5f, 2.0f, -1.0f, 1.0f };

static const struct sampling_case {
    const char *name;
    struct toy_sampling s;
    double want[4]; /* share of each token */
} sampling[] = {
    { "greedy", { 0, 0, 1 }, { 0, 1, 0, 0 } },
    { "top 1 is greedy", { 1, 1, 1 }, { 0, 1, 0, 0 } },
    { "softmax at temperature 1", { 1, 0, 1 }, { 0.1360, 0.6095, 0.0303, 0.2242 } },
    { "hotter is flatter", { 2, 0, 1 }, { 0.2052, 0.4344, 0.0969, 0.2635 } },
    { "top 2", { 1, 2, 1 }, { 0, 0.7311, 0, 0.2689 } },
    { "top k beyond the vocabulary is all", { 1, 9, 1 }, { 0.1360, 0.6095, 0.0303, 0.2242 } },
};

static void samples_follow_the_softmax(void **state)
{
    const struct sampling_case *c = *state;
    const int n = 40000;
    int seen[4] = { 0 };

    for (int i = 0; i < n; i++)
        seen[toy_sample(&c->s, four, 4, i % 7, i)]++;
    for (int i = 0; i < 4; i++) /* 4 standard deviations of a count */
        if (fabs((double)seen[i] / n - c->want[i]) > 4 * sqrt(0.25 / n))
            fail_msg("token %d was taken %d of %d times, expected %.4f", i, seen[i], n, c->want[i]);
}

static void same_seed_same_tokens(void **state)
{
    const struct toy_sampling s = { 1, 0, 5 }, other = { 1, 0, 6 };
    int differ = 0;

    (void)state;
    for (int i = 0; i < 200; i++) {
        assert_int_equal(toy_sample(&s, four, 4, 3, i), toy_sample(&s, four, 4, 3, i));
        differ += toy_sample(&s, four, 4, 3, i) != toy_sample(&other, four, 4, 3, i);
    }
    assert_true(differ > 20);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, shapes, logits_match_reference);
    UNIT_ROWS(&u, shapes, cache_equals_full_forward);
    UNIT_ROWS(&u, shapes, batch_equals_singles);
    UNIT_ROWS(&u, shapes, sequences_join_and_leave);
    UNIT_ROWS(&u, shapes, threads_change_nothing);
    UNIT_ROWS(&u, shapes, tensors_tile_the_weights);
    UNIT_ROWS(&u, refused, shape_is_refused);
    UNIT_ROWS(&u, sampling, samples_follow_the_softmax);
    UNIT_TEST(&u, seed_makes_the_weights);
    UNIT_TEST(&u, forward_refuses_what_does_not_fit);
    UNIT_TEST(&u, same_seed_same_tokens);
    return unit_run(&u);
}
