/* SPDX-License-Identifier: Apache-2.0 */
/* The body of a reference of any bytes: what is read answers any shape with a finite time. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "reference/private.h"
#include "util/xmalloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(const struct lpo_reference *r, enum lpo_reference_kind k, double value)
{
    double shape[LPO_REF_COLUMNS];
    struct lpo_reference_answer answer;

    for (int i = 0; i < LPO_REF_COLUMNS; i++)
        shape[i] = lpo_reference_columns(k)[i].word ? 0 : value + i;
    if (lpo_reference_ask(r, k, shape, &answer) && !(answer.best_us >= 0))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lpo_reference *r;

    if (size > 1 << 16)
        return 0;
    r = lpo_xcalloc(1, sizeof *r);
    r->bandwidth = r->link = 1e12;
    r->floor_us = 2;
    for (int t = 0; t < LPO_DTYPES; t++)
        r->rates[t] = 1e15;
    if (lpo_reference_read_body(r, data, size))
        for (int k = 0; k < LPO_REF_KINDS; k++)
            for (double value = 0; value < 1e7; value = value * 17 + 1)
                ask(r, (enum lpo_reference_kind)k, value);
    lpo_reference_destroy(r);
    return 0;
}
