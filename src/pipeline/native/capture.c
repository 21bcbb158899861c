/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/native/capture.h"

#include <string.h>

#include "pipeline/capture_words.h"
#include "run/step.h"
#include "util/arena.h"
#include "util/err.h"

enum { LONGEST_RANGE = 255 }; /* bytes */

static void set_number(struct lpo_arena *a, struct lpo_step *step, const char *name, int64_t value)
{
    lpo_run_step_env(a, step, name, lpo_arena_printf(a, "%lld", (long long)value));
}

/* What the collector takes at most (collect/knobs.c): it would record with less, and say nothing.
 */
static int check_bounds(const struct lpo_native_capture *c, struct lpo_err *err)
{
    static const int64_t hour_ns = 3600000000000;

    if (c->range && !*c->range)
        return lpo_fail(err, LPO_E_CONFIG,
                        "pipeline.native.capture.range is empty: name an NVTX range, '*' for any, "
                        "or set null to record the whole run");
    if (c->range && strlen(c->range) > LONGEST_RANGE)
        return lpo_fail(err, LPO_E_CONFIG,
                        "pipeline.native.capture.range has %zu bytes, and the collector compares "
                        "%d at most: shorten it with '*', which is any text",
                        strlen(c->range), LONGEST_RANGE);
    if (c->ring_ns > hour_ns)
        return lpo_fail(err, LPO_E_CONFIG,
                        "pipeline.native.capture.ring keeps the last hour at most: set 1h or less");
    if (c->slow_ns > 24 * hour_ns)
        return lpo_fail(err, LPO_E_CONFIG,
                        "pipeline.native.capture.slow is 24h at most: no longer call is watched");
    return 0;
}

int lpo_pipeline_native_capture_check(const struct lpo_native_capture *c, struct lpo_err *err)
{
    int64_t first, last;

    if (!c->range && (c->calls || c->every > 1 || c->in_a_row > 1 || c->count))
        return lpo_fail(err, LPO_E_CONFIG,
                        "pipeline.native.capture has calls, every, in_a_row or count and no range: "
                        "set pipeline.native.capture.range to the NVTX range they are about");
    if (c->count && strcmp(c->attach, "start") != 0)
        return lpo_fail(
            err, LPO_E_CONFIG,
            "pipeline.native.capture.count=true needs CUPTI all the time, and attach=%s "
            "has it in windows alone: set attach=start, or count=false",
            c->attach);
    if (c->in_a_row > 1 && c->every == 1)
        return lpo_fail(err, LPO_E_CONFIG,
                        "pipeline.native.capture.in_a_row=%lld needs every: every=8 records the "
                        "first %lld calls of each %lld",
                        (long long)c->in_a_row, (long long)c->in_a_row,
                        (long long)(8 * c->in_a_row));
    if (c->ring_ns && (c->calls || c->every > 1 || c->count || c->after_ns || c->for_ns ||
                       c->wait || (c->range && !c->slow_ns)))
        return lpo_fail(err, LPO_E_CONFIG,
                        "pipeline.native.capture.ring keeps everything of the last seconds: set "
                        "beside it only signal, control, or range and slow");
    if (c->slow_ns && !(c->ring_ns && c->range))
        return lpo_fail(err, LPO_E_CONFIG,
                        "pipeline.native.capture.slow needs ring, and the range whose calls must "
                        "not take longer");
    if (c->wait && !c->signal && !c->control)
        return lpo_fail(err, LPO_E_CONFIG,
                        "pipeline.native.capture.wait=true waits for nothing: set signal or "
                        "control beside it");
    if (c->wait && c->after_ns)
        return lpo_fail(err, LPO_E_CONFIG,
                        "pipeline.native.capture has wait and after: choose one of them");
    return check_bounds(c, err) < 0
               ? err->code
               : lpo_pipeline_capture_calls("native", c->calls, &first, &last, err);
}

int lpo_pipeline_native_capture_env(struct lpo_arena *a, const struct lpo_native_capture *c,
                                    struct lpo_step *step, struct lpo_err *err)
{
    int64_t first = 1, last = 0;

    if (lpo_pipeline_native_capture_check(c, err) < 0 ||
        lpo_pipeline_capture_calls("native", c->calls, &first, &last, err) < 0)
        return err->code;
    if (c->range) {
        lpo_run_step_env(a, step, "LPO_COLLECT_CAPTURE_RANGE", c->range);
        set_number(a, step, "LPO_COLLECT_CAPTURE_FIRST", first);
        set_number(a, step, "LPO_COLLECT_CAPTURE_LAST", last);
        set_number(a, step, "LPO_COLLECT_CAPTURE_EVERY", c->every);
        set_number(a, step, "LPO_COLLECT_CAPTURE_IN_A_ROW", c->in_a_row);
        set_number(a, step, "LPO_COLLECT_CAPTURE_COUNT", c->count);
    }
    if (c->after_ns)
        set_number(a, step, "LPO_COLLECT_CAPTURE_AFTER_MS", c->after_ns / 1000000);
    if (c->for_ns)
        set_number(a, step, "LPO_COLLECT_CAPTURE_FOR_MS", (c->for_ns + 999999) / 1000000);
    if (lpo_pipeline_capture_signal(c->signal))
        set_number(a, step, "LPO_COLLECT_CAPTURE_SIGNAL", lpo_pipeline_capture_signal(c->signal));
    if (c->ring_ns) {
        set_number(a, step, "LPO_COLLECT_RING_MS", (c->ring_ns + 999999) / 1000000);
        set_number(a, step, "LPO_COLLECT_RING_MB", c->ring_mb);
        set_number(a, step, "LPO_COLLECT_SLOW_MS", (c->slow_ns + 999999) / 1000000);
    }
    if (c->control)
        lpo_run_step_env(a, step, "LPO_COLLECT_CAPTURE_CONTROL", "1");
    if (c->wait)
        lpo_run_step_env(a, step, "LPO_COLLECT_CAPTURE_WAIT", "1");
    if (strcmp(c->attach, "start") != 0)
        lpo_run_step_env(a, step, "LPO_COLLECT_CAPTURE_ATTACH",
                         strcmp(c->attach, "window") == 0 ? "1" : "2");
    return 0;
}
