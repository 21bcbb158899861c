/* SPDX-License-Identifier: Apache-2.0 */
/* Files of sampled counters made of any bytes: what is given must keep the promises of the header.
 * A wrong checksum would stop every mutation at its frame, so the input is also cut at each block
 * mark and framed anew. */
#include "framed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trace/counters/counters.h"
#include "util/err.h"
#include "util/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static uint64_t pass(struct lpo_counters_file *c)
{
    const struct lpo_counters_about *about = lpo_counters_about(c);
    const struct lpo_counters_totals *t = lpo_counters_totals(c);
    struct lpo_counters_sample s;
    int64_t last = 0;
    uint64_t samples = 0, losses = 0;

    while (lpo_counters_next(c, &s)) {
        must(s.start_ns >= last && s.end_ns > s.start_ns && s.end_ns < INT64_C(1) << 62);
        last = s.start_ns;
        samples += s.values != NULL;
        losses += s.values == NULL;
        for (size_t i = 0; s.values && i < about->nmetrics; i++)
            must(isnan(s.values[i]) || s.values[i] >= 0);
    }
    must(t->samples == samples && t->losses == losses && t->nnotes <= 64 && t->lost_ns >= 0);
    for (size_t i = 0; i < t->nnotes; i++)
        must(t->notes[i] != NULL);
    return samples;
}

static void read_it(const void *bytes, size_t len)
{
    LPO_AUTO(lpo_counters_file) c = NULL;
    uint64_t samples;

    if (lpo_counters_over(bytes, len, &c, NULL) < 0)
        return;
    must(lpo_counters_about(c)->nmetrics <= LPO_COUNTERS_METRICS_MAX);
    for (size_t i = 0; i < lpo_counters_about(c)->nmetrics; i++)
        must(lpo_counters_about(c)->metrics[i].meaning < LPO_COUNTER_MEANINGS);
    samples = pass(c);
    lpo_counters_rewind(c);
    must(pass(c) == samples);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    LPO_STR framed = { 0 };

    read_it(data, size);
    framed_input(&framed, LPO_COUNTERS_MAGIC "\1\0\0\0\0\0\0", data, size);
    read_it(framed.at, framed.len);
    return 0;
}
