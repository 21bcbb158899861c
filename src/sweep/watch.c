/* SPDX-License-Identifier: Apache-2.0 */
#include "sweep/watch.h"

#include <inttypes.h>

#include "sweep/launcher.h"
#include "util/str.h"
#include "util/units.h"

struct counts {
    size_t done, failed, running, waiting;
};

static struct counts count(const struct lpo_sweep_run *s)
{
    struct counts c = { 0 };

    for (size_t i = 0; i < s->plan->count; i++) {
        const struct lpo_sweep_result *r = &s->results[i];

        if (r->state == LPO_SWEEP_PENDING)
            c.waiting++;
        else if (r->state == LPO_SWEEP_RUNNING)
            c.running++;
        else if (lpo_sweep_result_open(r))
            c.failed++;
        else
            c.done++;
    }
    return c;
}

void lpo_sweep_watch_say_end(struct lpo_sweep_run *s, size_t job)
{
    const struct lpo_sweep_result *r = &s->results[job];
    struct counts c = count(s);
    LPO_STR line = { 0 };

    lpo_str_addf(&line, "job %" PRId64 " (%zu of %zu): %s", s->plan->jobs[job].num,
                 c.done + c.failed, s->plan->count, lpo_sweep_result_word(r));
    if (r->wall_ns > 0) {
        lpo_str_add(&line, " in ");
        lpo_units_add_duration(&line, r->wall_ns);
    }
    if (r->error)
        lpo_str_addf(&line, ": %s", r->error);
    else if (lpo_sweep_result_open(r) && r->run_dir) /* why is in its report */
        lpo_str_addf(&line, "; see %s", r->run_dir);
    s->say(s->ctx, lpo_str_text(&line));
}

void lpo_sweep_watch_show(struct lpo_sweep_run *s, const char *why)
{
    struct counts c = count(s);
    LPO_STR line = { 0 };

    lpo_str_addf(&line, "%zu of %zu done", c.done, s->plan->count);
    if (c.failed)
        lpo_str_addf(&line, ", %zu failed", c.failed);
    lpo_str_addf(&line, ", %zu running, %zu waiting", c.running, c.waiting);
    if (why && *why)
        lpo_str_addf(&line, " (%s)", why);
    s->show(s->ctx, lpo_str_text(&line));
}
