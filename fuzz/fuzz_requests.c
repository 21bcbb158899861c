/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON of a client, of any bytes: what is known of it is a number that can be one. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "analysis/requests/requests.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void insist(struct lpo_measure m)
{
    if (lpo_measure_known(m) && !(isfinite(m.value) && m.value >= 0))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const struct lpo_json *doc = NULL;
    struct lpo_err err = { 0 };
    struct lpo_requests r;

    if (lpo_json_parse(a, (const char *)data, size, &doc, &err) < 0 || !lpo_requests_read(doc, &r))
        return 0;
    if (!r.client)
        abort();
    for (size_t i = 0; i < LPO_REQUESTS_FIGURES; i++)
        insist(r.figures[i]);
    for (size_t i = 0; i < LPO_REQUESTS_TIMES; i++)
        for (size_t k = 0; k < LPO_REQUESTS_STATS; k++)
            insist(r.times[i][k]);
    return 0;
}
