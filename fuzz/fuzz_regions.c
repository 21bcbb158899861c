/* SPDX-License-Identifier: Apache-2.0 */
/* The region engine and its writers on any trace: six bytes are one range, launch, stack, operator
 * or call of Python; what follows a byte 255 is a region pattern. Aborts where a parent is not the
 * sum of its parts, or other places of a kernel change its own. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "region/fold.h"
#include "region/select.h"
#include "report/doc/doc.h"
#include "report/documents.h"
#include "report/page/page.h"
#include "report/tables/tables.h"
#include "report/trace_records.h"
#include "trace/trace.h"
#include "util/str.h"
#include "writer/writer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t name_of(struct lpo_trace *t, uint8_t n)
{
    static const char *const names[] = { "a",     "layer0", "layer1", "x/y", "step 12",
                                         "a|`<b", "",       "nccl",   "\xff" };

    return lpo_trace_name(t, names[n % (sizeof names / sizeof *names)]);
}

static void add_gpu_op(struct lpo_trace *t, const uint8_t *p, uint32_t launch, uint32_t stack)
{
    uint16_t process = lpo_trace_process(t, p[5] % 2, p[5] % 3 - 1);

    lpo_vec_push(&t->gpu_ops, (struct lpo_gpu_op){ .start_ns = p[2] * 100,
                                                   .end_ns = p[2] * 100 + p[3],
                                                   .bytes = p[4],
                                                   .name = name_of(t, p[1]),
                                                   .launch = launch,
                                                   .stack = stack,
                                                   .capture = LPO_NONE,
                                                   .shape = LPO_NONE,
                                                   .metrics = LPO_NONE,
                                                   .stream = p[4] % 3,
                                                   .process = process,
                                                   .device = lpo_trace_device(t, p[5] % 2, -1),
                                                   .kind = p[4] % 3,
                                                   .flags = p[4] & 3 });
}

/* Names by which a backward pass, a checkpoint and modules are known. */
static uint32_t python_name(struct lpo_trace *t, uint8_t n)
{
    static const char *const names[] = {
        "aten::mm",         "MmBackward0",   "CheckpointFunctionBackward",
        "nn.Module: A",     "nn.Module: ",   "autograd::engine::evaluate_function: X",
        "a.py(1): forward", "b.py(2): main", "torch/utils/checkpoint.py(3): recompute_fn",
    };

    return lpo_trace_name(t, names[n % (sizeof names / sizeof *names)]);
}

static void add_host(struct lpo_trace *t, const uint8_t *p, uint32_t thread)
{
    if (p[0] % 2)
        lpo_vec_push(&t->python,
                     ((struct lpo_python_call){ p[2], p[2] + p[3], python_name(t, p[1]), thread }));
    else
        lpo_vec_push(&t->ops,
                     ((struct lpo_op){ p[2], p[2] + p[3], python_name(t, p[1]), thread, LPO_NONE,
                                       p[4] % 16 ? p[4] % 16 : LPO_NONE, p[4] / 16 % 4 }));
}

static void add_record(struct lpo_trace *t, const uint8_t *p)
{
    uint16_t process = lpo_trace_process(t, p[5] % 2, p[5] % 3 - 1);
    uint32_t thread = lpo_trace_thread(t, process, p[5] / 64);
    uint16_t domain = p[5] % 5 ? 0 : lpo_trace_domain(t, "LLM", 3);
    struct lpo_frame frame = { name_of(t, p[1]), domain, p[4] % 2, 0 };

    if (p[0] >= 232) {
        add_host(t, p, thread);
    } else if (p[0] < 100) {
        lpo_vec_push(&t->ranges, (struct lpo_range){ p[2], p[2] + p[3], name_of(t, p[1]), thread,
                                                     domain, p[0] % 4 == 0, p[0] % 16 == 1 });
    } else if (p[0] < 200) {
        lpo_vec_push(&t->launches, (struct lpo_launch){ p[2], p[2] + p[3] % 8, thread });
        add_gpu_op(t, p, (uint32_t)t->launches.len - 1, LPO_NONE);
        if (p[0] % 8 == 0) {
            t->gpu_ops.at[t->gpu_ops.len - 1].capture = (uint32_t)t->captures.len;
            lpo_vec_push(&t->captures, (struct lpo_capture){ p[3], p[0] % 16 ? thread : LPO_NONE });
        }
    } else {
        add_gpu_op(t, p, LPO_NONE, p[0] % 2 ? lpo_trace_stack(t, &frame, 1) : LPO_NONE);
    }
}

static void check_parts(const struct lpo_region_scope *s)
{
    int64_t *below = calloc(s->rows.len + 1, sizeof *below);

    for (size_t i = s->rows.len; i-- > 0;) {
        const struct lpo_region_row *r = &s->rows.at[i];

        if (r->self.ns + below[i] > r->all.ns)
            abort();
        if (r->node == LPO_NODE_OUTSIDE && (r->adopted.launches || r->backward.launches))
            abort();
        if (r->parent_row != LPO_NONE)
            below[r->parent_row] += r->all.ns;
    }
    free(below);
    if (s->coverage.adopted.launches > s->coverage.outside.launches ||
        s->coverage.backward.launches + s->coverage.recomputed.launches >
            s->coverage.total.launches)
        abort();
}

/* Modules are regions too; what lies outside the others can only become less. */
static void check_modules(const struct lpo_analysis *a)
{
    const struct lpo_analysis *m = lpo_analysis_modules(a);
    LPO_AUTO(lpo_doc) doc = lpo_doc_create("regions", "fuzz");

    if (!m)
        return;
    if (lpo_analysis_all(m)->coverage.outside.ns > lpo_analysis_all(a)->coverage.outside.ns ||
        lpo_analysis_all(m)->coverage.total.ns != lpo_analysis_all(a)->coverage.total.ns)
        abort();
    check_parts(lpo_analysis_all(m));
    lpo_report_add_regions(doc, lpo_analysis_all(m), &(struct lpo_table_options){ 1, 0 });
    lpo_report_put_scopes(doc->data, m, true);
}

/* What the views of report.html are drawn from, and what they ask of `lpo view` for later. */
static void put_page(struct lpo_record *to, const struct lpo_analysis *a)
{
    LPO_AUTO(lpo_page_detail) d = calloc(1, sizeof *d);

    d->analysis = a;
    d->zero_ns = LPO_NO_TIME;
    d->kernels = lpo_page_put_kernels(to, a, NULL);
    d->regions = lpo_page_put_regions(to, a, &d->kernels, true);
    lpo_page_put_shapes(to, a, &d->kernels);
    lpo_page_put_counters(to, a, d->regions);
    lpo_page_put_strip(to, d);
    lpo_page_put_sums(to, d);
    lpo_page_put_stacks(to, d);
    for (size_t row = 0; row < 3; row++) {
        lpo_page_put_operations(to, d, row, INT64_MIN, INT64_MAX);
        lpo_page_put_slices(to, d, row, -1, 1000);
    }
}

static void write_all(struct lpo_analysis *a, struct lpo_region_selection *select)
{
    struct lpo_table_options options = { 1, 0 };
    const struct lpo_table_options idle = { .fold_over = 1, .most_rows = 5 };
    LPO_AUTO(lpo_doc) doc = lpo_doc_create("regions", "fuzz");
    LPO_AUTO(lpo_doc) line = lpo_report_timeline_doc(a, NULL, NULL);
    lpo_scope_ids ids = { 0 };
    LPO_STR out = { 0 };

    lpo_region_scopes_list(a->cells, &ids);
    for (size_t i = 0; i < ids.len; i++) {
        LPO_AUTO(lpo_region_scope) s = lpo_region_scope_create(a->cells, ids.at[i], select);

        check_parts(s);
        lpo_report_add_regions(doc, s, &options);
        lpo_report_add_region_idle(doc, a, &idle);
        lpo_report_add_backward(doc, s, &options);
    }
    lpo_vec_free(&ids);
    lpo_report_add_top_kernels(doc, a, NULL, 0);
    lpo_report_add_devices(doc, a);
    lpo_report_put_scopes(doc->data, a, true);
    put_page(doc->data, a);
    for (size_t i = 0; lpo_writer_at(i); i++)
        if (lpo_writer_at(i)->write)
            lpo_writer_at(i)->write(strcmp(lpo_writer_at(i)->kind, "timeline") == 0 ? line : doc,
                                    &out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    LPO_AUTO(lpo_region_selection) select = lpo_region_selection_create();
    LPO_AUTO(lpo_trace) t = lpo_trace_create();
    LPO_AUTO(lpo_analysis) a = NULL;
    const uint8_t *end = memchr(data, 255, size);
    size_t records = (end ? (size_t)(end - data) : size) / 6;

    for (size_t i = 0; i < records && i < 400; i++)
        add_record(t, data + i * 6);
    if (end && end + 1 < data + size) {
        size_t len = (size_t)(data + size - end) - 1;
        char *pattern = strndup((const char *)end + 1, len < 60 ? len : 60);

        lpo_region_selection_add(select, LPO_REGIONS_INCLUDE, pattern, NULL);
        lpo_region_selection_add(select, LPO_KERNELS_EXCLUDE, pattern, NULL);
        free(pattern);
    }
    a = lpo_analysis_of(t, select);
    write_all(a, select);
    check_modules(a);
    return 0;
}
