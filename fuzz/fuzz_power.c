/* SPDX-License-Identifier: Apache-2.0 */
/* NVML samples from any bytes, and time windows over what was read. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/power/power.h"
#include "util/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void insist(int truth)
{
    if (!truth)
        abort();
}

static void look(const struct lpo_power_gpu *g, int64_t from_ns, int64_t to_ns)
{
    struct lpo_measure joules = lpo_power_joules(g, from_ns, to_ns);
    struct lpo_power_window w;

    insist(!lpo_measure_known(joules) || joules.value >= -1e-6 * (1 + joules.value));
    lpo_power_look(g, from_ns, to_ns, &w);
    insist(w.slowed <= w.samples && w.samples <= g->samples.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    LPO_AUTO(lpo_power) p = NULL;
    struct lpo_err err = { 0 };
    char *text = malloc(size ? size : 1); /* no byte behind it */
    int rc;

    if (size)
        memcpy(text, data, size);
    rc = lpo_power_parse(text, size, &p, &err);
    insist((rc == 0) == (p != NULL) && (rc == 0 || lpo_err_cause(&err)[0]));
    for (size_t i = 0; p && i < p->gpus.len; i++) {
        const struct lpo_power_gpu *g = &p->gpus.at[i];
        int64_t first = g->samples.at[0].unix_ns, last = g->samples.at[g->samples.len - 1].unix_ns;

        for (size_t k = 1; k < g->samples.len; k++)
            insist(g->samples.at[k].unix_ns > g->samples.at[k - 1].unix_ns);
        look(g, first, last);
        look(g, first - 5000000000, first + 1);
        look(g, last, INT64_MAX / 4);
        look(g, (first + last) / 2, last + 10);
        look(g, INT64_MIN, INT64_MAX);
    }
    free(text);
    return 0;
}
