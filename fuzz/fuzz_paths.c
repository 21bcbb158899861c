/* SPDX-License-Identifier: Apache-2.0 */
/* Critical path, launch queue and fusion candidates of any trace: eight bytes are one launch, call,
 * operator, wait, range or operation without a launch. Aborts where parts are not the whole. */
#include <stdint.h>
#include <stdlib.h>

#include "analysis/critical/critical.h"
#include "analysis/fusion/fusion.h"
#include "analysis/queue/queue.h"
#include "analysis/steps/steps.h"
#include "check_trace.h"
#include "region/tree.h"
#include "trace/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Near times mostly, and now and then one at the end of all clocks. */
static int64_t time_of(uint8_t high, uint8_t low)
{
    if (high == 255)
        return (int64_t)1 << 61;
    return high == 254 ? -((int64_t)1 << 61) : (int64_t)high * 9000 + low * 37;
}

static uint32_t name_of(struct lpo_trace *t, uint8_t n)
{
    static const char *const names[] = {
        "cudaLaunchKernel",
        "cudaDeviceSynchronize",
        "cudaFree",
        "ProfilerStep#1",
        "ncclDevKernel_AllReduce",
        "void at::native::vectorized_elementwise_kernel<4, a>",
        "void at::native::reduce_kernel<512>",
        "aten::mm",
        "ampere_sgemm_128x64_nn",
    };

    return lpo_trace_name(t, names[n % (sizeof names / sizeof *names)]);
}

static void add_op(struct lpo_trace *t, const uint8_t *p, uint32_t launch)
{
    int64_t start = time_of(p[4], p[5]);

    lpo_vec_push(&t->gpu_ops,
                 (struct lpo_gpu_op){ .start_ns = start,
                                      .end_ns = start + p[6] * 700,
                                      .name = name_of(t, p[1]),
                                      .launch = launch,
                                      .stack = LPO_NONE,
                                      .capture = LPO_NONE,
                                      .shape = LPO_NONE,
                                      .metrics = LPO_NONE,
                                      .stream = p[7] % 3,
                                      .process = lpo_trace_process(t, p[7] / 8 % 2, -1),
                                      .device = lpo_trace_device(t, p[7] / 16 % 2, -1),
                                      .kind = p[1] % 8 == 7 ? LPO_COPY : LPO_KERNEL,
                                      .flags = p[7] & LPO_GPU_OP_GRAPH });
}

static void add_record(struct lpo_trace *t, const uint8_t *p)
{
    uint16_t process = lpo_trace_process(t, p[7] / 8 % 2, -1);
    uint32_t thread = lpo_trace_thread(t, process, p[7] / 64);
    int64_t start = time_of(p[2], p[3]), end = start + p[6] * 1000;
    uint32_t name = name_of(t, p[1]);

    switch (p[0] % 8) {
    case 0:
        lpo_vec_push(&t->calls, (struct lpo_api_call){ start, end, name, thread });
        break;
    case 1:
        lpo_vec_push(&t->ops, (struct lpo_op){ .start_ns = start,
                                               .end_ns = end,
                                               .name = name,
                                               .thread = thread,
                                               .args = LPO_NONE,
                                               .sequence = LPO_NONE });
        break;
    case 2:
        lpo_vec_push(&t->ranges, (struct lpo_range){ start, end, name, thread });
        break;
    case 3:
        lpo_vec_push(&t->waits, (struct lpo_wait){ .ns = start,
                                                   .record_ns = p[6] % 4 ? end : LPO_NO_TIME,
                                                   .stream = p[5] % 4,
                                                   .on_stream = p[4] % 4,
                                                   .process = process,
                                                   .device = lpo_trace_device(t, p[6] % 2, -1),
                                                   .kind = p[1] % 3 });
        break;
    case 4:
        add_op(t, p, t->launches.len && p[0] & 8 ? p[3] % (uint32_t)t->launches.len : LPO_NONE);
        break;
    default:
        lpo_vec_push(&t->launches, (struct lpo_launch){ start, end, thread });
        add_op(t, p, (uint32_t)t->launches.len - 1);
        break;
    }
}

static void check_path(const struct lpo_critical_path *p)
{
    int64_t sum = 0;

    for (int i = 0; i < LPO_PATH_PARTS; i++) {
        insist(p->parts.ns[i] >= 0);
        sum += p->parts.ns[i];
    }
    insist(sum == p->end_ns - p->start_ns);
    for (int i = 0; i < LPO_PATH_RETURN; i++)
        insist(!p->savings[i].known || (p->savings[i].removed_ns >= p->savings[i].halved_ns &&
                                        p->savings[i].halved_ns >= 0));
    for (size_t i = 0; i < p->entries.len; i++)
        insist(!p->entries.at[i].saving.known || p->entries.at[i].saving.removed_ns >= 0);
    insist(p->simulated_ns >= 0 && (!p->fits || p->stretches || sum == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    LPO_AUTO(lpo_trace) t = lpo_trace_create();
    LPO_AUTO(lpo_region_tree) tree = NULL;
    LPO_AUTO(lpo_critical) c = NULL;
    LPO_AUTO(lpo_queue) q = NULL;
    LPO_AUTO(lpo_fusion) f = NULL;
    struct lpo_program_steps *steps;
    uint64_t fused = 0;

    for (size_t i = 0; i + 8 <= size && i < 8 * 512; i += 8)
        add_record(t, data + i);
    t->has_ranges = true;
    tree = lpo_region_tree_create(t);
    steps = lpo_steps_create(tree);
    c = lpo_critical_create(tree, steps);
    for (size_t i = 0; i < c->paths.len; i++)
        check_path(&c->paths.at[i]);
    q = lpo_queue_create(t);
    for (size_t i = 0; i < q->devices.len; i++)
        insist(q->devices.at[i].all.min_ns >= 0 && q->devices.at[i].all.launches > 0 &&
               q->devices.at[i].all.empty_ns <= q->devices.at[i].all.span_ns);
    f = lpo_fusion_create(tree);
    for (size_t i = 0; i < f->sequences.len; i++)
        fused += f->sequences.at[i].count * f->sequences.at[i].length;
    insist(fused <= f->kernels);
    lpo_steps_destroy(steps);
    return 0;
}
