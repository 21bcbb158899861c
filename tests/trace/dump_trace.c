/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what a reader made of the files given: the event model in sums that a second, independent
 * program can work out from the same file. Plain and slow on purpose; see oracle_kineto.py. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/operators/operators.h"
#include "trace/reader.h"
#include "trace/trace.h"
#include "util/err.h"
#include "util/json_write.h"

struct sum {
    int64_t ns;
    uint64_t count;
};

static void text_sum(struct lpo_json_writer *w, const char *name, struct sum s)
{
    lpo_jw_list(w, NULL, LPO_V(name), LPO_V(s.count), LPO_V(s.ns));
}

static void write_kernels(struct lpo_json_writer *w, const struct lpo_trace *t)
{
    struct sum *sums = calloc(lpo_trace_name_count(t) + 1, sizeof *sums);

    for (size_t i = 0; i < t->gpu_ops.len; i++) {
        const struct lpo_gpu_op *k = &t->gpu_ops.at[i];

        if (k->kind != LPO_KERNEL)
            continue;
        sums[k->name].count++;
        sums[k->name].ns += lpo_trace_gpu_op_ns(k);
    }
    lpo_jw_array(w, "kernels");
    for (size_t i = 0; i < lpo_trace_name_count(t); i++)
        if (sums[i].count)
            text_sum(w, lpo_trace_text(t, (uint32_t)i), sums[i]);
    lpo_jw_end(w);
    free(sums);
}

static int by_stream(const void *a, const void *b)
{
    const struct lpo_gpu_op *x = a, *y = b;

    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* [rank, device, stream, works, bytes, busy ns, first start, last end] */
static void write_streams(struct lpo_json_writer *w, const struct lpo_trace *t)
{
    struct lpo_gpu_op *gpu_ops = malloc((t->gpu_ops.len + 1) * sizeof *gpu_ops);

    if (t->gpu_ops.len)
        memcpy(gpu_ops, t->gpu_ops.at, t->gpu_ops.len * sizeof *gpu_ops);
    qsort(gpu_ops, t->gpu_ops.len, sizeof *gpu_ops, by_stream);
    lpo_jw_array(w, "streams");
    for (size_t i = 0; i < t->gpu_ops.len;) {
        const struct lpo_gpu_op *first = &gpu_ops[i];
        int64_t busy = 0, end = INT64_MIN;
        uint64_t count = 0, bytes = 0;

        for (; i < t->gpu_ops.len && gpu_ops[i].device == first->device &&
               gpu_ops[i].stream == first->stream;
             i++, count++) {
            int64_t from = gpu_ops[i].start_ns > end ? gpu_ops[i].start_ns : end;

            bytes += gpu_ops[i].bytes;
            if (gpu_ops[i].end_ns > from)
                busy += gpu_ops[i].end_ns - from;
            if (gpu_ops[i].end_ns > end)
                end = gpu_ops[i].end_ns;
        }
        lpo_jw_list(w, NULL, LPO_V(t->devices.at[first->device].rank),
                    LPO_V(t->devices.at[first->device].id), LPO_V(first->stream), LPO_V(count),
                    LPO_V(bytes), LPO_V(busy), LPO_V(first->start_ns), LPO_V(end));
    }
    lpo_jw_end(w);
    free(gpu_ops);
}

/* [name, pid, tid, start, end, kernels whose whole launch call lies in it, their ns] */
static void write_ranges(struct lpo_json_writer *w, const struct lpo_trace *t)
{
    lpo_jw_array(w, "ranges");
    for (size_t i = 0; i < t->ranges.len; i++) {
        const struct lpo_range *r = &t->ranges.at[i];
        const struct lpo_thread *th = &t->threads.at[r->thread];
        struct sum s = { 0 };

        for (size_t k = 0; k < t->gpu_ops.len; k++) {
            const struct lpo_gpu_op *x = &t->gpu_ops.at[k];
            const struct lpo_launch *l = x->launch == LPO_NONE ? NULL : &t->launches.at[x->launch];

            if (x->kind != LPO_KERNEL || !l || l->thread != r->thread ||
                l->start_ns < r->start_ns || l->end_ns > r->end_ns)
                continue;
            s.count++;
            s.ns += lpo_trace_gpu_op_ns(x);
        }
        lpo_jw_list(w, NULL, LPO_V(lpo_trace_text(t, r->name)),
                    LPO_V(t->processes.at[th->process].pid), LPO_V(th->tid), LPO_V(r->start_ns),
                    LPO_V(r->end_ns), LPO_V(s.count), LPO_V(s.ns));
    }
    lpo_jw_end(w);
}

/* [name, shapes, types, calls, ns] */
static void write_ops(struct lpo_json_writer *w, const struct lpo_trace *t)
{
    lpo_jw_array(w, "ops");
    for (size_t i = 0; i < t->ops.len; i++) {
        const struct lpo_op *o = &t->ops.at[i];

        lpo_jw_list(w, NULL, LPO_V(lpo_trace_text(t, o->name)),
                    LPO_V(lpo_trace_op_dims(t, o) == LPO_NONE
                              ? NULL
                              : lpo_trace_text(t, lpo_trace_op_dims(t, o))),
                    LPO_V(o->start_ns), LPO_V(o->end_ns), LPO_V(t->threads.at[o->thread].tid));
    }
    lpo_jw_end(w);
}

/* [name, shapes, calls, CPU total, CPU self, GPU total, GPU self, [[kernel, count, ns], …]] */
static void write_operators(struct lpo_json_writer *w, const struct lpo_trace *t)
{
    LPO_AUTO(lpo_operators) o = lpo_operators_create(t, true, NULL, NULL);

    lpo_jw_array(w, "operators");
    for (size_t i = 0; i < o->rows.len; i++) {
        const struct lpo_operator *r = &o->rows.at[i];

        lpo_jw_array(w, NULL);
        lpo_jw_put(w, LPO_V(lpo_trace_text(t, r->name)), LPO_V(lpo_trace_text(t, r->shapes)),
                   LPO_V(lpo_trace_text(t, r->types)), LPO_V(r->calls), LPO_V(r->cpu_total_ns),
                   LPO_V(r->cpu_self_ns), LPO_V(r->gpu_total_ns), LPO_V(r->gpu_self_ns));
        lpo_jw_array(w, NULL);
        for (uint32_t k = 0; k < r->nkernels; k++) {
            const struct lpo_operator_kernel *x = &o->kernels.at[r->kernels + k];

            text_sum(w, lpo_trace_text(t, x->name), (struct sum){ x->ns, x->count });
        }
        lpo_jw_end(w);
        lpo_jw_end(w);
    }
    lpo_jw_end(w);
    lpo_jw_put(w, LPO_KV("gpu_outside_operators", o->outside.ns),
               LPO_KV("gpu_without_launch", o->no_launch.ns));
}

static void write_totals(struct lpo_json_writer *w, const struct lpo_trace *t)
{
    uint64_t unlaunched = 0, graphed = 0;

    for (size_t i = 0; i < t->gpu_ops.len; i++) {
        unlaunched += t->gpu_ops.at[i].launch == LPO_NONE;
        graphed += (t->gpu_ops.at[i].flags & LPO_GPU_OP_GRAPH) != 0;
    }
    lpo_jw_put(w, LPO_KV("works", t->gpu_ops.len), LPO_KV("without_launch", unlaunched),
               LPO_KV("graph_works", graphed), LPO_KV("launches", t->launches.len));
    lpo_jw_array(w, "notes");
    for (size_t i = 0; i < t->notes.len; i++)
        lpo_jw_put(w, LPO_V(lpo_trace_text(t, t->notes.at[i].text)));
    lpo_jw_end(w);
}

int main(int argc, char **argv)
{
    LPO_AUTO(lpo_trace) t = lpo_trace_create();
    struct lpo_err err = { 0 };
    LPO_STR out = { 0 };
    struct lpo_json_writer w = lpo_json_writer(&out, 0);

    for (int i = 1; i < argc; i++)
        if (lpo_trace_read(argv[i], t, &err) < 0) {
            lpo_err_print(stderr, "dump_trace", &err);
            return 1;
        }
    lpo_jw_object(&w, NULL);
    write_totals(&w, t);
    write_kernels(&w, t);
    write_streams(&w, t);
    write_ranges(&w, t);
    write_ops(&w, t);
    write_operators(&w, t);
    lpo_jw_end(&w);
    fwrite(out.at, 1, out.len, stdout);
    return 0;
}
