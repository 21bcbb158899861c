/* SPDX-License-Identifier: Apache-2.0 */
/* What the reader makes of a .lpoc file, one line each, for test_lpoc.py. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "trace/counters/counters.h"
#include "util/err.h"

int main(int argc, char **argv)
{
    LPO_AUTO(lpo_counters_file) c = NULL;
    const struct lpo_counters_about *about;
    const struct lpo_counters_totals *t;
    struct lpo_counters_sample s;
    int64_t interval_ns;
    struct lpo_err err = { 0 };

    if (argc != 2 || lpo_counters_open(argv[1], &c, &err) < 0) {
        lpo_err_print(stderr, "dump_counters", &err);
        return 1;
    }
    about = lpo_counters_about(c);
    printf("about %s|%s|%s|%s|%s|%" PRId64 "|%" PRId64 "|%" PRId64 "\n", about->chip,
           about->gpu_name, about->gpu_uuid, about->host, about->trigger, about->gpu_index,
           about->interval_ns, about->pid);
    interval_ns = about->interval_ns;
    for (size_t i = 0; i < about->nmetrics; i++)
        printf("metric %s %d %d %u %s\n", about->metrics[i].name, about->metrics[i].meaning,
               about->metrics[i].kind, about->metrics[i].scale, about->metrics[i].unit);
    while (lpo_counters_next(c, &s)) {
        if (s.interval_ns != interval_ns)
            printf("interval %" PRId64 "\n", s.interval_ns);
        interval_ns = s.interval_ns;
        printf("%s %" PRId64 " %" PRId64, s.values ? "sample" : "loss", s.start_ns, s.end_ns);
        for (size_t i = 0; s.values && i < about->nmetrics; i++)
            if (isnan(s.values[i]))
                printf(" None");
            else
                printf(" %.17g", s.values[i]);
        if (!s.values)
            printf(" %" PRIu64 " %d", s.lost, s.why);
        putchar('\n');
    }
    t = lpo_counters_totals(c);
    for (size_t i = 0; i < t->nnotes; i++)
        printf("note %s\n", t->notes[i]);
    printf("totals %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRId64 " %" PRIu64 " %" PRIu64
           " %d %u %" PRId64 "\n",
           t->samples, t->losses, t->lost, t->lost_ns, t->skipped, t->ignored_bytes, t->ended,
           t->ended_by, t->cpu_ns);
    if (t->wall_ns >= 0)
        printf("wall %" PRId64 "\n", t->wall_ns);
    return 0;
}
