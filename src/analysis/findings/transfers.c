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
    if (others > 1)
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

/* Per direction: all copies, hidden ones too, because bytes of a covered copy tell the bandwidth as
 * well as any other. */
struct moved {
    double bytes[3];
    int64_t ns[3], pageable_ns;
};

static void sum_copies(const struct lpo_findings_work *w, struct moved *m)
{
    for (size_t i = 0; i < w->trace->gpu_ops.len; i++) {
        const struct lpo_gpu_op *op = &w->trace->gpu_ops.at[i];
        const char *name = lpo_trace_text(w->trace, op->name);
        int at;

        if (op->kind != LPO_COPY || op->device != w->critical->device ||
            (w->aside && w->aside[lpo_region_place(w->a->tree, op)]))
            continue;
        at = (int)direction(name) - LPO_FACT_BYTES_TO_DEVICE;
        m->bytes[at] += (double)op->bytes;
        m->ns[at] += lpo_trace_gpu_op_ns(op);
        if (strstr(name, "Pageable"))
            m->pageable_ns += lpo_trace_gpu_op_ns(op);
    }
}

void lpo_findings_copies(struct lpo_findings_work *w)
{
    struct lpo_finding *f = lpo_findings_add(w, LPO_FINDING_COPIES, copies(w->critical));
    struct moved m = { 0 };
    int64_t all_ns;

    if (!f)
        return;
    lpo_findings_fact(f, LPO_FACT_EXPOSED_NS, (double)f->saving_ns);
    sum_copies(w, &m);
    all_ns = m.ns[0] + m.ns[1] + m.ns[2];
    for (int i = 0; i < 3; i++) {
        if (!(m.bytes[i] > 0) || m.ns[i] < all_ns / 20)
            continue; /* a few bytes say nothing about the copies that cost time */
        lpo_findings_fact(f, (enum lpo_fact)(LPO_FACT_BYTES_TO_DEVICE + i), m.bytes[i]);
        if (m.ns[i] > 0)
            lpo_findings_fact(f, (enum lpo_fact)(LPO_FACT_RATE_TO_DEVICE + i),
                              m.bytes[i] * 1e9 / (double)m.ns[i]);
    }
    if (m.pageable_ns > 0)
        lpo_findings_fact(f, LPO_FACT_PAGEABLE_NS, (double)m.pageable_ns);
    add_others(w, f, copies);
}
