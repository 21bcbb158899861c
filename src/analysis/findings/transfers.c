/* SPDX-License-Identifier: Apache-2.0 */
/* Communication and copies that no computing covers. One rank cannot tell waiting from sending, so
 * exposed communication is all that is said of it. */
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/findings/private.h"
#include "region/cells.h"
#include "region/classes.h"
#include "region/tree.h"
#include "util/map.h"
#include "util/xmalloc.h"

static int64_t communication(const struct lpo_wall_device *d)
{
    return d->parts_unknown ? 0 : d->exposed_communication_ns;
}

static int64_t copies(const struct lpo_wall_device *d)
{
    return d->parts_unknown ? 0 : d->exposed_copy_ns;
}

/* What the program would end sooner without them, where that is clearly less than `exposed_ns`. */
static int64_t worth(struct lpo_findings_work *w, enum lpo_critical_part part, int64_t exposed_ns)
{
    int64_t ns = exposed_ns;

    if ((double)exposed_ns >= LPO_FINDINGS_LEAST * (double)w->out->span_ns)
        ns = lpo_findings_simulated(w, part, exposed_ns);
    if (ns < exposed_ns)
        w->out->masked[part == LPO_PATH_COPY] = (struct lpo_findings_masked){ exposed_ns, ns };
    return ns;
}

static void add_simulated(const struct lpo_findings_work *w, struct lpo_finding *f,
                          enum lpo_critical_part part)
{
    const struct lpo_findings_masked *m = &w->out->masked[part == LPO_PATH_COPY];

    if (m->exposed_ns)
        lpo_findings_fact(f, LPO_FACT_SIMULATED_NS, (double)m->saving_ns);
}

/* Operations of one kind on the critical device, those that others hide too. */
struct all_of {
    int64_t ns, *regions; /* per node */
    struct lpo_map_pair rows;
    LPO_VEC(struct name_sum {
        int64_t ns;
        uint32_t name;
    })
    names;
};

static void sum_one(const struct lpo_findings_work *w, struct all_of *s,
                    const struct lpo_gpu_op *op)
{
    uint32_t place = lpo_region_place(w->a->tree, op), leaf = w->a->tree->places.at[place].leaf;
    bool fresh;
    uint32_t row;

    if (op->device != w->critical->device || (w->aside && w->aside[place]))
        return;
    row = lpo_map_pair_put(&s->rows, op->name, 0, &fresh);
    if (fresh)
        lpo_vec_push(&s->names, ((struct name_sum){ 0, op->name }));
    s->names.at[row].ns += lpo_trace_gpu_op_ns(op);
    s->ns += lpo_trace_gpu_op_ns(op);
    if (leaf != LPO_NONE)
        s->regions[leaf] += lpo_trace_gpu_op_ns(op);
}

/* All of it, the region and the kernel that have more than half of it. */
static void add_all(const struct lpo_findings_work *w, struct lpo_finding *f, bool copies)
{
    struct all_of s = { .regions = lpo_xcalloc(w->a->tree->nodes.len + 1, sizeof *s.regions) };

    for (size_t i = 0; i < w->trace->gpu_ops.len; i++) {
        const struct lpo_gpu_op *op = &w->trace->gpu_ops.at[i];

        if (copies ? op->kind != LPO_KERNEL
                   : op->kind == LPO_KERNEL &&
                         lpo_region_cells_class(w->a->cells, op->name) == LPO_CLASS_COLLECTIVE)
            sum_one(w, &s, op);
    }
    lpo_findings_fact(f, LPO_FACT_ALL_NS, (double)s.ns);
    f->node = lpo_findings_main_region(w->a->tree, s.regions, s.ns);
    for (size_t i = 0; i < s.names.len && !copies; i++)
        if (s.names.at[i].ns > s.ns - s.names.at[i].ns)
            lpo_findings_fact_name(f, LPO_FACT_KERNEL, (double)s.names.at[i].ns,
                                   s.names.at[i].name);
    lpo_vec_free(&s.names);
    lpo_map_pair_free(&s.rows);
    free(s.regions);
}

/* Overlap hides at most as much as there is to compute. */
static void add_hides(const struct lpo_findings_work *w, struct lpo_finding *f)
{
    if (f->saving_ns > w->critical->compute_ns)
        lpo_findings_fact(f, LPO_FACT_HIDES_NS, (double)w->critical->compute_ns);
}

/* Others take part in what it communicates, and most of them were not recorded. */
static bool others_are_missing(const struct lpo_findings_work *w)
{
    size_t recorded = w->wall->devices.len;

    return recorded == 1 || recorded < w->trace->ranks / 2;
}

/* Where the idle time between them is a finding, that one has said it. */
static void add_messages(const struct lpo_findings_work *w, struct lpo_finding *f)
{
    struct lpo_findings_messages m;

    for (size_t i = 0; i < w->out->all.len; i++)
        if (w->out->all.at[i].kind == LPO_FINDING_MESSAGES)
            return;
    lpo_findings_messages_find(w, &m);
    lpo_findings_messages_facts(&m, f);
    lpo_findings_messages_free(&m);
}

void lpo_findings_communication(struct lpo_findings_work *w)
{
    int64_t exposed_ns = communication(w->critical);
    int64_t most_ns = worth(w, LPO_PATH_COMMUNICATION, exposed_ns);
    struct lpo_finding *f =
        lpo_findings_add(w, LPO_FINDING_COMMUNICATION, most_ns - w->waits_for_rank_ns);

    if (!f || w->other)
        return;
    add_messages(w, f);
    if (others_are_missing(w))
        lpo_findings_fact(f, LPO_FACT_FEW_RANKS, (double)w->wall->devices.len);
    add_all(w, f, false);
    lpo_findings_fact(f, LPO_FACT_EXPOSED_NS, (double)exposed_ns);
    if (w->waits_for_rank_ns)
        lpo_findings_fact(f, LPO_FACT_RANK_WAIT_NS, (double)w->waits_for_rank_ns);
    add_simulated(w, f, LPO_PATH_COMMUNICATION);
    add_hides(w, f);
}

/* Sources print the direction in the name of a copy, each in its own way. */
enum lpo_findings_direction lpo_findings_direction(const char *name)
{
    static const struct {
        const char *part;
        enum lpo_findings_direction direction;
    } words[] = {
        { "HtoD", LPO_TO_DEVICE },         { "Host -> Device", LPO_TO_DEVICE },
        { "HostToDevice", LPO_TO_DEVICE }, { "Host-to-Device", LPO_TO_DEVICE },
        { "DtoH", LPO_TO_HOST },           { "Device -> Host", LPO_TO_HOST },
        { "DeviceToHost", LPO_TO_HOST },   { "Device-to-Host", LPO_TO_HOST },
    };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(name, words[i].part))
            return words[i].direction;
    return LPO_ON_DEVICE;
}

/* Per direction: all copies, hidden ones too, because bytes of a covered copy tell the bandwidth as
 * well as any other. */
struct moved {
    double bytes[3];
    int64_t ns[3];
};

static void sum_copies(const struct lpo_findings_work *w, struct moved *m)
{
    for (size_t i = 0; i < w->trace->gpu_ops.len; i++) {
        const struct lpo_gpu_op *op = &w->trace->gpu_ops.at[i];
        int at;

        if (op->kind != LPO_COPY || op->device != w->critical->device ||
            (w->aside && w->aside[lpo_region_place(w->a->tree, op)]))
            continue;
        at = (int)lpo_findings_direction(lpo_trace_text(w->trace, op->name));
        m->bytes[at] += (double)op->bytes;
        m->ns[at] += lpo_trace_gpu_op_ns(op);
    }
}

static void add_pinned(const struct lpo_findings_work *w, struct lpo_finding *f)
{
    struct lpo_findings_pinned p;

    lpo_findings_pinned(w, &p);
    if (p.pageable_ns <= f->saving_ns / 20)
        return;
    lpo_findings_fact(f, LPO_FACT_PAGEABLE_NS, (double)p.pageable_ns);
    if (!(p.rate > 0))
        return;
    lpo_findings_fact(f, p.from_trace ? LPO_FACT_PINNED_RATE : LPO_FACT_LINK_RATE, p.rate);
    lpo_findings_fact(f, LPO_FACT_PINNED_SAVES_NS, (double)p.saving_ns);
}

void lpo_findings_copies(struct lpo_findings_work *w)
{
    int64_t exposed_ns = copies(w->critical);
    struct lpo_finding *f =
        lpo_findings_add(w, LPO_FINDING_COPIES, worth(w, LPO_PATH_COPY, exposed_ns));
    struct moved m = { 0 };
    int64_t all_ns;

    if (!f || w->other)
        return;
    add_all(w, f, true);
    lpo_findings_fact(f, LPO_FACT_EXPOSED_NS, (double)exposed_ns);
    add_simulated(w, f, LPO_PATH_COPY);
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
    add_pinned(w, f);
    add_hides(w, f); /* after it: pinned memory is the better advice */
}
