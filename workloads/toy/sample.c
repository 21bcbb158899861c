/* SPDX-License-Identifier: Apache-2.0 */
#include "toy/sample.h"

#include <math.h>
#include <stdlib.h>

#include "toy/weights.h"
#include "util/arena.h"

static int largest(const float *logits, int vocab)
{
    int best = 0;

    for (int i = 1; i < vocab; i++)
        if (logits[i] > logits[best])
            best = i;
    return best;
}

static int compare_down(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;

    return (x < y) - (x > y);
}

/* The k-th largest logit: what a token must reach to be among the top k. */
static float threshold(const float *logits, int vocab, int k)
{
    float *sorted = lpo_xmalloc(vocab * sizeof *sorted);
    float t;

    for (int i = 0; i < vocab; i++)
        sorted[i] = logits[i];
    qsort(sorted, vocab, sizeof *sorted, compare_down);
    t = sorted[k - 1];
    free(sorted);
    return t;
}

int toy_sample(const struct toy_sampling *s, const float *logits, int vocab, int sequence, int step)
{
    const int best = largest(logits, vocab);
    const int k = s->top_k > 0 && s->top_k < vocab ? s->top_k : vocab;
    double left, sum = 0;
    float least;
    int last = best;

    if (s->temperature <= 0 || k == 1)
        return best;
    least = k == vocab ? -INFINITY : threshold(logits, vocab, k);
    for (int i = 0; i < vocab; i++)
        if (logits[i] >= least)
            sum += exp((logits[i] - logits[best]) / s->temperature);
    left = sum * toy_unit(toy_mix(s->seed, (uint64_t)sequence), (uint64_t)step);
    for (int i = 0; i < vocab; i++) {
        if (!(logits[i] >= least))
            continue;
        left -= exp((logits[i] - logits[best]) / s->temperature);
        last = i;
        if (left < 0)
            break;
    }
    return last; /* rounding may leave the sum just below the draw: take the last candidate */
}
