/* SPDX-License-Identifier: Apache-2.0 */
#include "toy/main.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "toy/metrics.h"
#include "toy/model.h"
#include "toy/pool.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/str.h"

/* Engines add in another order than the CPU, so results differ a little; a difference above this
 * share of the largest logit is an error. */
static const double check_tolerance = 2e-3;

static double worst_difference(const float *a, const float *b, size_t n)
{
    double worst = 0, most = 0;

    for (size_t i = 0; i < n; i++) {
        worst = fmax(worst, fabs((double)a[i] - b[i]));
        most = fmax(most, fabs((double)b[i]));
        if (isnan(a[i]) || isnan(b[i]))
            return INFINITY;
    }
    return most > 0 ? worst / most : worst;
}

/* Both get the same prompt and the same next tokens (the CPU's choice), so that one different token
 * does not make all later ones incomparable. */
static int check_steps(const struct toy_options *o, const struct toy_engine *e,
                       struct toy_session *cpu, float *mine, float *theirs, struct lpo_err *err)
{
    const size_t n = (size_t)o->batch * o->model.vocab;
    const int steps = o->max_new_tokens < 4 ? o->max_new_tokens : 4;
    int *tokens = lpo_xcalloc((size_t)o->batch * o->prompt_tokens, sizeof *tokens);
    double worst = 0;
    int rc = 0;

    for (int i = 0; i < o->batch * o->prompt_tokens; i++)
        tokens[i] = toy_prompt_token(o, i / o->prompt_tokens, i % o->prompt_tokens);
    e->reset(e->self);
    for (int step = 0, count = o->prompt_tokens; step < steps && rc == 0; step++, count = 1) {
        if ((rc = toy_forward(cpu, tokens, count, mine, err)) < 0 ||
            (rc = e->forward(e->self, tokens, count, theirs, err)) < 0)
            break;
        worst = fmax(worst, worst_difference(theirs, mine, n));
        for (int b = 0; b < o->batch; b++)
            tokens[b] = toy_sample(&(struct toy_sampling){ 0 }, mine + (size_t)b * o->model.vocab,
                                   o->model.vocab, b, step);
    }
    free(tokens);
    if (rc == 0 && worst > check_tolerance)
        return lpo_fail(err, LPO_E_RANGE,
                        "the logits of %s differ from the CPU's by %g of the largest", e->name,
                        worst);
    if (rc == 0)
        printf("check: %s logits are the CPU's to %.2g of the largest, %d forward passes\n",
               e->name, worst, steps);
    return rc;
}

static int check(const struct toy_options *o, const struct toy_weights *w,
                 const struct toy_engine *e, struct toy_ranges *ranges, struct lpo_err *err)
{
    const size_t n = (size_t)o->batch * o->model.vocab;
    LPO_AUTO(toy_session) cpu = NULL;
    LPO_AUTO(toy_pool) pool = NULL;
    float *mine, *theirs;
    int rc;

    if ((rc = toy_pool_create(1, &pool, err)) < 0)
        return rc;
    cpu = toy_session_create(w, o->batch, pool, ranges);
    mine = lpo_xcalloc(n, sizeof *mine);
    theirs = lpo_xcalloc(n, sizeof *theirs);
    ranges->on = false;
    rc = check_steps(o, e, cpu, mine, theirs, err);
    ranges->on = true;
    free(mine);
    free(theirs);
    return rc;
}

static int write_model(const struct toy_options *o, const struct toy_weights *w,
                       struct lpo_err *err)
{
    LPO_STR text = { 0 };

    if (o->write_config) {
        toy_config_write(&o->model, &text);
        if (lpo_file_write(o->write_config, text.at, text.len, err) < 0)
            return lpo_ctx(err, "cannot write the model's config");
    }
    if (o->write_model && toy_model_write(w, o->write_model, err) < 0)
        return lpo_ctx(err, "cannot write the model");
    return 0;
}

static int write_results(const struct toy_options *o, const struct toy_results *r,
                         const char *engine, struct lpo_err *err)
{
    LPO_STR text = { 0 };

    if (o->metrics) {
        toy_metrics_write(o, r, engine, &text);
        if (lpo_file_write(o->metrics, text.at, text.len, err) < 0)
            return lpo_ctx(err, "cannot write the metrics");
    }
    lpo_str_clear(&text);
    if (o->predictions) {
        toy_predictions_write(o, r, &text);
        if (lpo_file_write(o->predictions, text.at, text.len, err) < 0)
            return lpo_ctx(err, "cannot write the predictions");
    }
    return 0;
}

static void print_summary(const struct toy_options *o, const struct toy_results *r,
                          const char *engine)
{
    double prefill = 0, decode = 0, rate = 0;

    for (int i = 0; i < r->count; i++) {
        prefill += r->runs[i].prefill_ms / r->count;
        decode += r->runs[i].decode_ms / r->count;
        rate += toy_tokens_per_s(o, &r->runs[i]) / r->count;
    }
    printf("%s: %zu weights, batch %d, %d prompt tokens: prefill %.2f ms", engine,
           toy_param_count(&o->model), o->batch, o->prompt_tokens, prefill);
    if (o->max_new_tokens > 1)
        printf("; %d more tokens: decode %.2f ms, %.1f tokens/s", o->max_new_tokens - 1, decode,
               rate);
    printf("; mean of %d\n", r->count);
}

static int run_engine(const struct toy_options *o, const struct toy_weights *w,
                      const struct toy_engine *e, struct toy_ranges *ranges, double load_ms,
                      struct lpo_err *err)
{
    LPO_AUTO(toy_results) r = NULL;
    int rc;

    if (o->check && (rc = check(o, w, e, ranges, err)) < 0)
        return rc;
    if ((rc = toy_run(o, e, ranges, &r, err)) < 0)
        return rc;
    r->load_ms = load_ms;
    print_summary(o, r, e->name);
    return write_results(o, r, e->name, err);
}

static int run(const struct toy_backend *backend, const struct toy_options *o, struct lpo_err *err)
{
    struct toy_ranges ranges = { .on = true };
    LPO_AUTO(toy_weights) w = NULL;
    struct toy_engine e = { 0 };
    const double from = toy_now_ms();
    double load_ms;
    int rc;

    toy_push(&ranges, "load");
    w = toy_weights_create(&o->model);
    rc = backend->open(o, w, &ranges, &e, err);
    toy_pop(&ranges);
    load_ms = toy_now_ms() - from;
    if (rc < 0)
        return rc;
    rc = write_model(o, w, err);
    if (rc == 0)
        rc = run_engine(o, w, &e, &ranges, load_ms, err);
    backend->close(&e);
    return rc;
}

static int help(const char *program)
{
    LPO_STR text = { 0 };

    toy_options_help(&text);
    printf("usage: %s [option...]\n"
           "A small decoder-only transformer with seeded random weights and NVTX ranges.\n%s",
           program, text.at);
    return 0;
}

int toy_main(const struct toy_backend *backend, int argc, char **argv)
{
    LPO_AUTO(lpo_arena) arena = lpo_arena_create();
    struct toy_options o;
    struct lpo_err err = { 0 };
    int rc = toy_options_read(arena, argc - 1, argv + 1, getenv("LPO_WORKLOAD_CONFIG"), &o, &err);

    if (rc < 0) {
        lpo_err_print(stderr, backend->program, &err);
        return 2;
    }
    if (o.help)
        return help(backend->program);
    rc = run(backend, &o, &err);
    if (rc < 0) {
        lpo_err_print(stderr, backend->program, &err);
        return lpo_err_exit_code(rc);
    }
    return 0;
}
