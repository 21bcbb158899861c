/* SPDX-License-Identifier: Apache-2.0 */
#include "toy/run.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "util/arena.h"
#include "util/err.h"

double toy_now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

int toy_prompt_token(const struct toy_options *o, uint64_t sequence, int position)
{
    uint64_t stream = toy_mix(o->model.seed, 0x70726f6d7074u + sequence);

    return (int)(toy_mix(stream, (uint64_t)position) % (uint64_t)o->model.vocab);
}

void toy_prompts(const struct toy_options *o, int sample, int *out)
{
    for (int b = 0; b < o->batch; b++)
        for (int t = 0; t < o->prompt_tokens; t++)
            *out++ = toy_prompt_token(o, (uint64_t)sample * o->batch + b, t);
}

static size_t peak_bytes(void)
{
    struct rusage u;

    return getrusage(RUSAGE_SELF, &u) == 0 ? (size_t)u.ru_maxrss * 1024 : 0;
}

/* The state of one generation. */
struct work {
    const struct toy_options *o;
    const struct toy_engine *e;
    const struct toy_ranges *ranges;
    struct toy_results *results;
    float *logits; /* [batch][vocab] */
    int *next;     /* [batch] */
    int *tokens;   /* [batch][max_new_tokens], of the sample at hand */
};

static void choose(struct work *w, int step)
{
    const struct toy_options *o = w->o;

    for (int b = 0; b < o->batch; b++) {
        const float *logits = w->logits + (size_t)b * o->model.vocab;
        int token = toy_sample(&o->sampling, logits, o->model.vocab, b, step);

        w->next[b] = token;
        w->tokens[(size_t)b * o->max_new_tokens + step] = token;
    }
}

static int decode(struct work *w, struct toy_timing *t, struct lpo_err *err)
{
    uint64_t window = 0;
    int rc = 0;

    if (w->o->start_end_ranges && w->ranges->on)
        window = nvtx_lite_start("decode_window");
    toy_push(w->ranges, "decode");
    for (int step = 0; step < t->steps && rc == 0; step++) {
        double from = toy_now_ms();

        toy_push(w->ranges, "step");
        rc = w->e->forward(w->e->self, w->next, 1, w->logits, err);
        if (rc == 0)
            choose(w, step + 1);
        toy_pop(w->ranges);
        t->step_ms[step] = toy_now_ms() - from;
        t->decode_ms += t->step_ms[step];
    }
    toy_pop(w->ranges);
    if (w->o->start_end_ranges && w->ranges->on)
        nvtx_lite_end(window);
    return rc;
}

/* One prompt to its last token. */
static int generate(struct work *w, struct toy_timing *t, struct lpo_err *err)
{
    const struct toy_options *o = w->o;
    const double from = toy_now_ms();
    int rc;

    t->decode_ms = 0;
    w->e->reset(w->e->self);
    toy_push(w->ranges, "prefill");
    rc = w->e->forward(w->e->self, w->results->prompts, o->prompt_tokens, w->logits, err);
    toy_pop(w->ranges);
    if (rc < 0)
        return rc;
    t->prefill_ms = toy_now_ms() - from;
    choose(w, 0);
    t->ttft_ms = toy_now_ms() - from;
    rc = decode(w, t, err);
    t->total_ms = toy_now_ms() - from;
    t->peak_bytes = peak_bytes();
    return rc;
}

static struct toy_results *results_create(const struct toy_options *o)
{
    struct toy_results *r = lpo_xcalloc(1, sizeof *r);
    const int samples = toy_options_samples(o);

    r->count = samples * o->repeats;
    r->runs = lpo_xcalloc(r->count, sizeof *r->runs);
    for (int i = 0; i < r->count; i++) {
        r->runs[i].sample = i / o->repeats;
        r->runs[i].repeat = i % o->repeats;
        r->runs[i].steps = o->max_new_tokens - 1;
        r->runs[i].step_ms = lpo_xcalloc(o->max_new_tokens, sizeof(double));
    }
    r->prompts = lpo_xcalloc((size_t)o->batch * o->prompt_tokens, sizeof *r->prompts);
    r->tokens = lpo_xcalloc((size_t)samples * o->batch * o->max_new_tokens, sizeof *r->tokens);
    return r;
}

void toy_results_destroy(struct toy_results *r)
{
    if (!r)
        return;
    for (int i = 0; i < r->count; i++)
        free(r->runs[i].step_ms);
    free(r->runs);
    free(r->prompts);
    free(r->tokens);
    free(r);
}

static void take_sample(struct work *w, int sample)
{
    toy_prompts(w->o, sample, w->results->prompts);
    w->tokens = w->results->tokens + (size_t)sample * w->o->batch * w->o->max_new_tokens;
}

/* Warm-up writes its times where the first repeat's will be; that repeat overwrites them. */
static int warm_up(struct work *w, struct toy_ranges *ranges, struct lpo_err *err)
{
    int rc = 0;

    if (w->o->warmup == 0)
        return 0;
    nvtx_lite_push("warmup");
    ranges->on = false;
    for (int i = 0; i < w->o->warmup && rc == 0; i++)
        rc = generate(w, &w->results->runs[0], err);
    ranges->on = true;
    nvtx_lite_pop();
    return rc;
}

int toy_run(const struct toy_options *o, const struct toy_engine *e, struct toy_ranges *ranges,
            struct toy_results **out, struct lpo_err *err)
{
    LPO_AUTO(toy_results) r = results_create(o);
    struct work w = { o, e, ranges, r, NULL, NULL, NULL };
    int rc;

    w.logits = lpo_xcalloc((size_t)o->batch * o->model.vocab, sizeof *w.logits);
    w.next = lpo_xcalloc(o->batch, sizeof *w.next);
    take_sample(&w, 0);
    rc = warm_up(&w, ranges, err);
    for (int i = 0; i < r->count && rc == 0; i++) {
        if (r->runs[i].repeat == 0)
            take_sample(&w, r->runs[i].sample);
        rc = generate(&w, &r->runs[i], err);
    }
    free(w.logits);
    free(w.next);
    if (rc < 0)
        return rc;
    if (e->device_bytes)
        r->device_bytes = e->device_bytes(e->self);
    *out = r;
    r = NULL;
    return 0;
}
