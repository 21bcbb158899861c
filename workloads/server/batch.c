/* SPDX-License-Identifier: Apache-2.0 */
#include "server/batch.h"

#include <stdlib.h>
#include <string.h>

#include "nvtx_lite.h"
#include "toy/model.h"
#include "toy/pool.h"
#include "toy/sample.h"
#include "util/arena.h"
#include "util/err.h"

/* The place of one sequence. */
struct slot {
    void *owner; /* NULL: free */
    bool fresh;  /* its prompt has not run yet */
    int *prompt, count;
    int next, made, answer; /* the token to go on with; tokens so far, and wanted */
};

struct toy_batch {
    const struct toy_options *o;
    struct toy_weights *weights;
    struct toy_pool *pool;
    struct toy_session *session;
    struct toy_ranges ranges;
    struct slot *slots; /* [o->batch] */
    float *logits;      /* [o->batch][vocab] */
    int *which, *tokens;
    int steps;
};

static void push(const char *name, int64_t payload)
{
    struct nvtx_lite_attributes a = nvtx_lite_text(name);

    a.payload_type = NVTX_LITE_I64;
    a.payload.i64 = payload;
    nvtx_lite_push_ex(&a);
}

int toy_batch_create(const struct toy_options *o, struct toy_batch **out, struct lpo_err *err)
{
    LPO_AUTO(toy_batch) b = lpo_xcalloc(1, sizeof *b);
    int rc;

    b->o = o;
    b->ranges.on = true;
    b->slots = lpo_xcalloc(o->batch, sizeof *b->slots);
    if ((rc = toy_pool_create(o->threads, &b->pool, err)) < 0)
        return rc;
    b->weights = toy_weights_create(&o->model);
    b->session = toy_session_create(b->weights, o->batch, b->pool, &b->ranges);
    b->logits = lpo_xcalloc((size_t)o->batch * o->model.vocab, sizeof *b->logits);
    b->which = lpo_xcalloc(o->batch, sizeof *b->which);
    b->tokens = lpo_xcalloc(o->batch, sizeof *b->tokens);
    for (int i = 0; i < o->batch; i++)
        b->slots[i].prompt = lpo_xcalloc(o->model.context, sizeof(int));
    *out = b;
    b = NULL;
    return 0;
}

void toy_batch_destroy(struct toy_batch *b)
{
    if (!b)
        return;
    for (int i = 0; i < b->o->batch; i++)
        free(b->slots[i].prompt);
    toy_session_destroy(b->session);
    toy_weights_destroy(b->weights);
    toy_pool_destroy(b->pool);
    free(b->slots);
    free(b->logits);
    free(b->which);
    free(b->tokens);
    free(b);
}

int toy_batch_check(const struct toy_batch *b, const int *prompt, int count, int answer,
                    struct lpo_err *err)
{
    const struct toy_config *c = &b->o->model;

    if (count < 1 || answer < 1 || count > c->context || answer > c->context - count)
        return lpo_fail(err, LPO_E_RANGE, "%d tokens and an answer of %d do not fit in %d", count,
                        answer, c->context);
    for (int i = 0; i < count; i++)
        if (prompt[i] < 0 || prompt[i] >= c->vocab)
            return lpo_fail(err, LPO_E_RANGE, "token %d is not in a vocabulary of %d", prompt[i],
                            c->vocab);
    return 0;
}

bool toy_batch_join(struct toy_batch *b, const int *prompt, int count, int answer, void *owner)
{
    for (int i = 0; i < b->o->batch; i++) {
        struct slot *s = &b->slots[i];

        if (s->owner)
            continue;
        s->owner = owner;
        s->fresh = true;
        s->count = count;
        s->made = 0;
        s->answer = answer;
        memcpy(s->prompt, prompt, (size_t)count * sizeof *prompt);
        toy_session_reset_one(b->session, i);
        return true;
    }
    return false;
}

void toy_batch_leave(struct toy_batch *b, const void *owner)
{
    for (int i = 0; i < b->o->batch; i++)
        if (b->slots[i].owner == owner)
            b->slots[i].owner = NULL;
}

int toy_batch_active(const struct toy_batch *b)
{
    int n = 0;

    for (int i = 0; i < b->o->batch; i++)
        n += b->slots[i].owner != NULL;
    return n;
}

/* The next token of slot i from its logits. */
static void choose(struct toy_batch *b, int i, const float *logits, toy_emit_fn *emit)
{
    struct slot *s = &b->slots[i];
    void *owner = s->owner;
    bool last;

    s->next = toy_sample(&b->o->sampling, logits, b->o->model.vocab, i, s->made);
    last = ++s->made == s->answer;
    if (last)
        s->owner = NULL;
    emit(owner, s->next, last);
}

static int prefill(struct toy_batch *b, int i, toy_emit_fn *emit, struct lpo_err *err)
{
    struct slot *s = &b->slots[i];
    int rc;

    push("prefill", s->count);
    rc = toy_forward_some(b->session, &i, 1, s->prompt, s->count, b->logits, err);
    nvtx_lite_pop();
    s->fresh = false;
    if (rc == 0)
        choose(b, i, b->logits, emit);
    return rc;
}

/* One token of every sequence in which[0..n). */
static int decode(struct toy_batch *b, int n, toy_emit_fn *emit, struct lpo_err *err)
{
    int rc;

    for (int k = 0; k < n; k++)
        b->tokens[k] = b->slots[b->which[k]].next;
    push("decode", n);
    rc = toy_forward_some(b->session, b->which, n, b->tokens, 1, b->logits, err);
    nvtx_lite_pop();
    for (int k = 0; k < n && rc == 0; k++)
        if (b->slots[b->which[k]].owner)
            choose(b, b->which[k], b->logits + (size_t)k * b->o->model.vocab, emit);
    return rc;
}

int toy_batch_step(struct toy_batch *b, toy_emit_fn *emit, struct lpo_err *err)
{
    int n = 0, rc = 0;

    for (int i = 0; i < b->o->batch; i++)
        if (b->slots[i].owner && !b->slots[i].fresh)
            b->which[n++] = i;
    push("step", toy_batch_active(b));
    for (int i = 0; i < b->o->batch && rc == 0; i++)
        if (b->slots[i].owner && b->slots[i].fresh)
            rc = prefill(b, i, emit, err);
    if (n && rc == 0)
        rc = decode(b, n, emit, err);
    nvtx_lite_pop();
    return rc;
}
