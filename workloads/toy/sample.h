/* SPDX-License-Identifier: Apache-2.0 */
/* toy/sample.h - from logits to the next token. */
#pragma once

#include <stdint.h>

struct toy_sampling {
    double temperature; /* 0: the largest logit, always */
    int top_k;          /* 0: all of the vocabulary */
    uint64_t seed;
};

/* The token at position `step` of sequence `sequence`: the same arguments give the same token. */
int toy_sample(const struct toy_sampling *s, const float *logits, int vocab, int sequence,
               int step);
