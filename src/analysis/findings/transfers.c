/* SPDX-License-Identifier: Apache-2.0 */
/* Communication and copies that no computing covers. One rank cannot tell waiting from sending, so
 * exposed communication is all that is said of it. */
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/findings/private.h"
#include "region/tree.h"

/* The same part on the other devices: evidence, never added. */
static void add_others(struct lpo_findings_work *w, struct lpo_finding *f,
                       int64_t (*part)(const struct lpo_wall_device *d))
{
    int64_t least = INT64_MAX, most = 0;
    size_t others = 0;

    for (size_t i = 0; i < w->wall->devices.len; i++) {
        const struct lpo_wall_device *d = &w->wall->devices.at[i];
        int64_t ns = part(d);

        if (d == w->critical || (double)ns < LPO_FINDINGS_LEAST * (double)d->span_ns)
            continue;
        others++;
        least = ns < least ? ns : least;
        most = ns > most ? ns : most;
    }
    if (!others)
        return;
    lpo_findings_fact(f, LPO_FACT_OTHER_GPUS, (double)others);
    lpo_findings_fact(f, LPO_FACT_OTHER_MIN_NS, (double)least);
    lpo_findings_fact(f, LPO_FACT_OTHER_MAX_NS, (double)most);
}

static int64_t communication(const struct lpo_wall_device *d)
{
    return d->parts_unknown ? 0 : d->exposed_communication_ns;
}

static int64_t copies(const struct lpo_wall_device *d)
{
    return d->parts_unknown ? 0 : d->exposed_copy_ns;
}

void lpo_findings_communication(struct lpo_findings_work *w)
{
    struct lpo_finding *f =
        lpo_findings_add(w, LPO_FINDING_COMMUNICATION, communication(w->critical));

    if (!f)
        return;
    lpo_findings_fact(f, LPO_FACT_EXPOSED_NS, (double)f->saving_ns);
    add_others(w, f, communication);
}

/* Sources print the direction in the name of a copy, each in its own way. */
static enum lpo_fact direction(const char *name)
{
    if (strstr(name, "HtoD") || strstr(name, "Host -> Device") || strstr(name, "HostToDevice"))
        return LPO_FACT_BYTES_TO_DEVICE;
    if (strstr(name, "DtoH") || strstr(name, "Device -> Host") || strstr(name, "DeviceToHost"))
        return LPO_FACT_BYTES_TO_HOST;
    return LPO_FACT_BYTES_ON_DEVICE;
}

void lpo_findings_copies(struct lpo_findings_work *w)
{
    struct lpo_finding *f = lpo_findings_add(w, LPO_FINDING_COPIES, copies(w->critical));
    double bytes[3] = { 0 };

    if (!f)
        return;
    lpo_findings_fact(f, LPO_FACT_EXPOSED_NS, (double)f->saving_ns);
    for (size_t i = 0; i < w->trace->gpu_ops.len; i++) {
        const struct lpo_gpu_op *op = &w->trace->gpu_ops.at[i];

        if (op->kind != LPO_COPY || op->device != w->critical->device ||
            (w->aside && w->aside[lpo_region_place(w->a->tree, op)]))
            continue;
        bytes[direction(lpo_trace_text(w->trace, op->name)) - LPO_FACT_BYTES_TO_DEVICE] +=
            (double)op->bytes;
    }
    for (int i = 0; i < 3; i++)
        if (bytes[i] > 0)
            lpo_findings_fact(f, (enum lpo_fact)(LPO_FACT_BYTES_TO_DEVICE + i), bytes[i]);
    add_others(w, f, copies);
}
