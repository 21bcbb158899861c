/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/diff/digest.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/diff/private.h"
#include "analysis/run.h"
#include "region/cells.h"
#include "region/fold.h"
#include "rundir/rundir.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/str.h"

enum {
    ALL_KEPT = 2000000, /* calls in all samples of a digest: 16 MB */
    FEW_KEPT = 64,      /* of a sample once that is reached */
};

size_t lpo_diff_room(const struct lpo_diff_builder *b)
{
    return b->kept < ALL_KEPT ? LPO_DIFF_KEPT : FEW_KEPT;
}

void lpo_diff_keep(struct lpo_diff_builder *b, struct lpo_diff_sample *s, int64_t ns)
{
    size_t before = s->kept.len;

    lpo_diff_sample_add(s, ns, lpo_diff_room(b));
    b->kept += s->kept.len - before;
}

const char *lpo_diff_part_name(size_t part)
{
    /* the names of classes are for people: "GEMM", "MoE" */
    static const char *const names[LPO_DIFF_PARTS] = {
        [LPO_CLASS_GEMM] = "compute.gemm",
        [LPO_CLASS_ATTENTION] = "compute.attention",
        [LPO_CLASS_CONVOLUTION] = "compute.convolution",
        [LPO_CLASS_NORM] = "compute.norm",
        [LPO_CLASS_SOFTMAX] = "compute.softmax",
        [LPO_CLASS_ROTARY] = "compute.rotary",
        [LPO_CLASS_ELEMENTWISE] = "compute.elementwise",
        [LPO_CLASS_REDUCTION] = "compute.reduction",
        [LPO_CLASS_INDEXING] = "compute.indexing",
        [LPO_CLASS_SORTING] = "compute.sorting",
        [LPO_CLASS_COPY] = "compute.copy",
        [LPO_CLASS_OPTIMIZER] = "compute.optimizer",
        [LPO_CLASS_RANDOM] = "compute.random",
        [LPO_CLASS_COLLECTIVE] = "compute.collective",
        [LPO_CLASS_QUANTIZE] = "compute.quantize",
        [LPO_CLASS_MOE] = "compute.moe",
        [LPO_CLASS_OTHER] = "compute.other",
        [LPO_DIFF_PART_COMMUNICATION] = "exposed_communication",
        [LPO_DIFF_PART_COPY] = "exposed_copy",
        [LPO_DIFF_PART_IDLE + LPO_IDLE_BLOCKED] = "idle.blocked",
        [LPO_DIFF_PART_IDLE + LPO_IDLE_HOST] = "idle.host",
        [LPO_DIFF_PART_IDLE + LPO_IDLE_QUEUED] = "idle.queued",
        [LPO_DIFF_PART_IDLE + LPO_IDLE_UNKNOWN] = "idle.unknown",
    };

    return names[part];
}

static void digest_device(struct lpo_diff_builder *b, const struct lpo_wall_device *d)
{
    const struct lpo_device *device = &b->a->trace->devices.at[d->device];
    struct lpo_arena *arena = b->out->arena;
    struct lpo_diff_device out = {
        .scope = device->rank >= 0
                     ? lpo_arena_printf(arena, "rank:%d/device:%d", device->rank, device->id)
                     : lpo_arena_printf(arena, "device:%d", device->id),
        .span_ns = d->span_ns,
        .idle_squares = d->idle_squares,
        .parts_unknown = d->parts_unknown,
    };

    memcpy(out.parts, d->class_ns, sizeof d->class_ns);
    out.parts[LPO_DIFF_PART_COMMUNICATION] = d->exposed_communication_ns;
    out.parts[LPO_DIFF_PART_COPY] = d->exposed_copy_ns;
    for (int i = 0; i < LPO_IDLE_CAUSES; i++)
        out.parts[LPO_DIFF_PART_IDLE + i] = d->idle[i].ns;
    lpo_vec_push(&b->out->devices, out);
}

static void digest_findings(struct lpo_diff_builder *b)
{
    const struct lpo_ladders *l = lpo_analysis_ladders(b->dir, b->source);
    const struct lpo_trace *t = b->a->trace;

    for (size_t i = 0; l->all.len && i < l->all.at[0].rungs.len; i++) {
        const struct lpo_rung *x = &l->all.at[0].rungs.at[i];
        uint32_t row = x->node == LPO_NONE ? LPO_NONE : b->region_of[x->node];
        struct lpo_diff_finding out = { .kind = x->kind, .where = "", .call = "" };

        if (row != LPO_NONE)
            out.where = b->out->items[LPO_DIFF_REGIONS].at[row].name;
        if (x->name != LPO_NONE)
            out.call = lpo_arena_name(b->out->arena, lpo_trace_text(t, x->name),
                                      lpo_trace_text_len(t, x->name));
        out.saving_ns = x->saving_ns;
        lpo_vec_push(&b->out->findings, out);
    }
}

static void sort_samples(struct lpo_diff_digest *d)
{
    lpo_diff_sample_sort(&d->step_calls);
    for (int t = 0; t < LPO_DIFF_TABLES; t++)
        for (size_t i = 0; i < d->items[t].len; i++)
            for (size_t k = 0; k < d->items[t].at[i].strata.len; k++)
                lpo_diff_sample_sort(&d->items[t].at[i].strata.at[k].calls);
}

static void digest_trace(struct lpo_diff_builder *b)
{
    const struct lpo_trace *t = b->a->trace;
    const struct lpo_wall *w = lpo_analysis_wall(b->a);

    b->kernel_of = lpo_xcalloc(lpo_trace_name_count(t) + 1, sizeof *b->kernel_of);
    b->region_of = lpo_xcalloc(b->a->tree->nodes.len + 1, sizeof *b->region_of);
    lpo_diff_digest_kernels(b);
    lpo_diff_digest_regions(b);
    lpo_diff_digest_operators(b);
    lpo_diff_digest_calls(b);
    for (size_t i = 0; w && i < w->devices.len; i++)
        digest_device(b, &w->devices.at[i]);
    lpo_diff_digest_strip(b);
    lpo_diff_digest_measures(b);
    b->out->lost = t->dropped;
    b->out->sums = t->gpu_ops.len == 0 && t->summaries.len > 0;
    b->out->replay = t->gpu_ops.len > 0;
    for (size_t i = 0; i < t->gpu_ops.len && b->out->replay; i++)
        b->out->replay = t->gpu_ops.at[i].flags & LPO_GPU_OP_UNTIMED;
    digest_findings(b);
    sort_samples(b->out);
    free(b->kernel_of);
    free(b->region_of);
}

struct lpo_diff_digest *lpo_diff_digest_create(struct lpo_analysis_run *run, const char *label)
{
    const struct lpo_source *s = lpo_rundir_main(run->dir);
    struct lpo_diff_digest *out;
    struct lpo_diff_builder b;

    if (!s || !s->analysis)
        return NULL;
    out = lpo_xcalloc(1, sizeof *out);
    out->arena = lpo_arena_create();
    out->label = lpo_arena_strdup(out->arena, label);
    out->step = UINT32_MAX;
    b = (struct lpo_diff_builder){
        .out = out, .dir = run->dir, .source = s, .a = lpo_analysis_unselected(s->analysis)
    };
    digest_trace(&b);
    lpo_diff_digest_facts(&b);
    lpo_diff_digest_figures(&b);
    return out;
}

void lpo_diff_digest_destroy(struct lpo_diff_digest *d)
{
    if (!d)
        return;
    for (int t = 0; t < LPO_DIFF_TABLES; t++) {
        for (size_t i = 0; i < d->items[t].len; i++) {
            for (size_t k = 0; k < d->items[t].at[i].strata.len; k++)
                lpo_diff_sample_free(&d->items[t].at[i].strata.at[k].calls);
            lpo_vec_free(&d->items[t].at[i].strata);
        }
        lpo_vec_free(&d->items[t]);
    }
    for (size_t i = 0; i < d->figures.len; i++)
        lpo_vec_free(&d->figures.at[i].values);
    lpo_diff_sample_free(&d->step_calls);
    lpo_vec_free(&d->places);
    lpo_vec_free(&d->devices);
    lpo_vec_free(&d->facts);
    lpo_vec_free(&d->figures);
    lpo_vec_free(&d->findings);
    lpo_vec_free(&d->measures);
    lpo_arena_destroy(d->arena);
    free(d);
}
