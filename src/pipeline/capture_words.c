/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/capture_words.h"

#include <errno.h>
#include <signal.h>

#include "pipeline/stage.h"
#include "run/workload/workload.h"

/* No program makes more, and sums of such numbers do not overflow. */
static const int64_t most_calls = 1000000000000000;

/* A number from 1 on that ends at `until`; 0 when it is not one. */
static int64_t number_before(const char *text, char until, const char **rest)
{
    char *end = NULL;
    long long value;

    errno = 0;
    value = text[0] >= '0' && text[0] <= '9' ? strtoll(text, &end, 10) : 0;
    if (value < 1 || value > most_calls || errno || !end || *end != until)
        return 0;
    *rest = until ? end + 1 : end;
    return value;
}

int lpo_pipeline_capture_calls(const char *stage, const char *text, int64_t *first, int64_t *last,
                               struct lpo_err *err)
{
    const char *rest = text;

    *first = 1;
    *last = 0;
    if (!text)
        return 0;
    *first = *last = number_before(text, 0, &rest);
    if (!*first && (*first = number_before(text, '-', &rest)))
        *last = rest[0] ? number_before(rest, 0, &rest) : 0;
    if (!*first || *rest || (*last && *last < *first))
        return lpo_fail(err, LPO_E_CONFIG,
                        "pipeline.%s.capture.calls is '%s'; write 3, 3-10 or 3- (from the third "
                        "on)",
                        stage, text);
    return 0;
}

int lpo_pipeline_capture_signal(const char *name)
{
    static const struct {
        const char *name;
        int number;
    } signals[] = { { "USR1", SIGUSR1 }, { "USR2", SIGUSR2 }, { "HUP", SIGHUP } };

    for (size_t i = 0; name && i < sizeof signals / sizeof *signals; i++)
        if (strcmp(signals[i].name, name) == 0)
            return signals[i].number;
    return 0;
}

int lpo_pipeline_capture_check(const char *stage, const struct lpo_capture_words *c,
                               struct lpo_err *err)
{
    if ((c->calls || c->every > 1) && !c->range)
        return lpo_fail(err, LPO_E_CONFIG,
                        "pipeline.%s.capture has calls or every and no range: set "
                        "pipeline.%s.capture.range to the NVTX range they are about",
                        stage, stage);
    if (c->ring_ns || c->slow_ns)
        return lpo_fail(err, LPO_E_CONFIG,
                        "pipeline.%s.capture has ring or slow, and %s cannot keep the last seconds "
                        "alone: pipeline.native.capture.ring can",
                        stage, stage);
    if (c->count)
        return lpo_fail(err, LPO_E_CONFIG,
                        "%s does not count the kernels of calls that it leaves out; "
                        "pipeline.native.capture.count does",
                        stage);
    return 0;
}

/* What counts time from the start of each process would record while the server is loading, and the
 * window of the server could not change that. */
int lpo_pipeline_capture_check_server(const struct lpo_node *config, struct lpo_err *err)
{
    if (!lpo_workload_server_under_load(config))
        return 0;
    for (const struct lpo_stage *const *s = lpo_pipeline_stages(); *s; s++)
        for (const char *const *key = (*s)->from_start; key && *key; key++)
            if (lpo_settings_duration_ns(config, *key))
                return lpo_fail(err, LPO_E_CONFIG,
                                "%s counts from the start of each process, but this server is "
                                "recorded while it is under load: set workload.server.window.after "
                                "or for, or workload.server.window.over=all",
                                *key);
    return 0;
}
