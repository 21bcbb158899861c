/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts on what has no wall time: memory snapshots, and kernels that ncu measured alone. */
#include <math.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/counters/rules.h"
#include "analysis/ladder/private.h"
#include "analysis/memory/memory.h"
#include "rundir/rundir.h"

enum { HOLDERS = 3 };

static struct lpo_rung plain(enum lpo_rung_kind kind)
{
    return (struct lpo_rung){ .kind = kind,
                              .basis = LPO_BASIS_MEASURED,
                              .name = LPO_NONE,
                              .code = LPO_NONE,
                              .node = LPO_NONE };
}

static void add_peak(const struct lpo_trace *t, const struct lpo_memory_peaks_row *p, uint32_t at,
                     struct lpo_ladders *out)
{
    struct lpo_rung r = plain(LPO_RUNG_MEMORY);
    int64_t unused = 0;

    if (p->peak_bytes == LPO_NO_TIME || p->peak_bytes <= 0)
        return;
    r.device = t->allocators.at[p->allocator].device;
    r.bytes = p->owners.len ? p->owners.at[0].bytes : 0;
    lpo_ladder_fact(&r, LPO_FACT_PEAK, at, (double)p->peak_bytes,
                    p->most_reserved == LPO_NO_TIME ? 0 : (double)p->most_reserved, 0);
    for (size_t i = 0; i < p->owners.len && i < HOLDERS; i++)
        lpo_ladder_fact(&r, LPO_FACT_HOLDER, (uint32_t)i, (double)p->owners.at[i].bytes,
                        (double)p->owners.at[i].bytes / (double)p->peak_bytes,
                        (double)p->owners.at[i].allocations);
    if (p->most_reserved != LPO_NO_TIME)
        unused = p->most_reserved - p->peak_bytes;
    if (unused > p->peak_bytes / 10)
        lpo_ladder_fact(&r, LPO_FACT_FRAGMENTS, LPO_NONE, (double)p->most_reserved, (double)unused,
                        0);
    lpo_vec_push(&out->other, r);
}

void lpo_ladder_memory(const struct lpo_analysis *a, struct lpo_ladders *out)
{
    const struct lpo_memory_peaks *peaks;
    bool snapshot = false;

    for (size_t i = 0; i < a->trace->allocators.len; i++)
        snapshot |= a->trace->allocators.at[i].source == LPO_ALLOCATOR_SNAPSHOT;
    if (!snapshot && (out->all.len || !a->trace->allocators.len))
        return;
    peaks = lpo_analysis_memory(a);
    for (size_t i = 0; i < peaks->rows.len; i++)
        add_peak(a->trace, &peaks->rows.at[i], (uint32_t)i, out);
}

/* Of an ncu report: what the rules of ncu say, what could save most first. */
void lpo_ladder_profiles(const struct lpo_analysis *a, struct lpo_ladders *out)
{
    const struct lpo_counters_rules *rules;

    if (out->all.len || !a->trace->rules.len)
        return;
    rules = lpo_analysis_rules(a);
    for (size_t i = 0; i < rules->rows.len && i < HOLDERS; i++) {
        const struct lpo_counters_rule *x = &rules->rows.at[i];
        struct lpo_rung r = plain(LPO_RUNG_KERNEL);

        if (!(x->saving_ns > 0))
            continue;
        r.basis = LPO_BASIS_ESTIMATED;
        r.name = x->kernel;
        r.saving_ns = r.alone_ns = (int64_t)x->saving_ns;
        lpo_ladder_fact(&r, LPO_FACT_RULE, x->title, x->percent, (double)x->launches,
                        (double)x->gpu_ns);
        lpo_ladder_fact(&r, LPO_FACT_RULE, x->text, x->percent, 0, 0);
        lpo_vec_push(&out->other, r);
    }
}
