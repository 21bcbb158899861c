/* SPDX-License-Identifier: Apache-2.0 */
/* make_counters IN.lpoc OUT.lpoc COPIES - the samples of a file again and again, one copy after the
 * other in time: a long run out of a short recorded one. */
#include <stdio.h>
#include <stdlib.h>

#include "gpu/sampler/file.h"
#include "trace/counters/counters.h"
#include "util/err.h"

enum { BLOCK = 4096 };

static int64_t length_of(struct lpo_counters_file *in)
{
    struct lpo_counters_sample s;
    int64_t first = -1, last = 0;

    while (lpo_counters_next(in, &s)) {
        first = first < 0 ? s.start_ns : first;
        last = s.end_ns > last ? s.end_ns : last;
    }
    return last - first;
}

static int begin(const struct lpo_counters_about *about, struct lpo_sampler_file *out,
                 struct lpo_err *err)
{
    struct lpo_sampler_metric metrics[LPO_COUNTERS_METRICS_MAX];
    char interval[32];
    const char *const facts[][2] = { { "clock", "realtime" },
                                     { "chip", about->chip },
                                     { "interval_ns", interval } };

    snprintf(interval, sizeof interval, "%lld", (long long)about->interval_ns);
    for (size_t i = 0; i < about->nmetrics; i++) {
        const struct lpo_counters_metric *m = &about->metrics[i];

        metrics[i] = (struct lpo_sampler_metric){ m->name, m->unit, m->meaning, m->kind, m->scale };
    }
    if (lpo_sampler_file_facts(out, facts, sizeof facts / sizeof *facts, err) < 0)
        return err->code;
    return lpo_sampler_file_metrics(out, metrics, about->nmetrics, err);
}

static int copy(struct lpo_counters_file *in, struct lpo_sampler_file *out, int64_t later_ns,
                struct lpo_err *err)
{
    struct lpo_counters_sample s;
    int in_block = 0;

    lpo_counters_rewind(in);
    while (lpo_counters_next(in, &s)) {
        if (!s.values)
            continue;
        if (lpo_sampler_file_sample(out, (uint64_t)(s.start_ns + later_ns),
                                    (uint64_t)(s.end_ns + later_ns), s.values, err) < 0)
            return err->code;
        if (++in_block % BLOCK == 0 && lpo_sampler_file_flush(out, err) < 0)
            return err->code;
    }
    return lpo_sampler_file_flush(out, err);
}

int main(int argc, char **argv)
{
    const struct lpo_sampler_file_totals ended = { .ended_by = LPO_COUNTERS_ENDED_STOPPED };
    LPO_AUTO(lpo_counters_file) in = NULL;
    LPO_AUTO(lpo_sampler_file) out = NULL;
    struct lpo_err err = { 0 };
    int64_t length;

    if (argc != 4) {
        fprintf(stderr, "usage: make_counters IN.lpoc OUT.lpoc COPIES\n");
        return 2;
    }
    if (lpo_counters_open(argv[1], &in, &err) < 0 ||
        lpo_sampler_file_create(argv[2], 0, &out, &err) < 0 ||
        begin(lpo_counters_about(in), out, &err) < 0)
        goto failed;
    length = length_of(in);
    for (int i = 0; i < atoi(argv[3]); i++)
        if (copy(in, out, i * length, &err) < 0)
            goto failed;
    if (lpo_sampler_file_end(out, &ended, &err) == 0)
        return 0;
failed:
    fprintf(stderr, "make_counters: %s\n", lpo_err_cause(&err));
    return 1;
}
