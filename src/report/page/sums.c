/* SPDX-License-Identifier: Apache-2.0 */
/* Exact sums of any stretch of the timeline, however much of it is drawn as one: what ran, from
 * which region, why the GPUs were idle, and what was copied, for each of many equal buckets. */

#include "analysis/analysis.h"
#include "analysis/wall/wall.h"
#include "report/doc/doc.h"
#include "report/page/page.h"
#include "report/trace_records.h"
#include "util/pack.h"
#include "util/thread.h"

/* MOST_SUMS: some 600 KB of the page. MOST_WORK: many streams that are always busy. */
enum { BUCKETS = 2048, MOST_SUMS = 120000, MOST_WORK = 1 << 26 };

struct sum {
    uint32_t bucket, key;
    int64_t value;
};

struct sums {
    const struct lpo_page_detail *d;
    int64_t end_ns, step_ns;
    uint32_t first_region, first_idle, bytes; /* keys: kernels and "other", regions and outside,
                                                 devices × causes, bytes */
    struct lpo_map_u64 *rows;
    LPO_VEC(struct sum) all;
    size_t work;
};

static bool is_too_much(const struct sums *s)
{
    return s->step_ns < s->end_ns && (s->all.len > MOST_SUMS || s->work > MOST_WORK);
}

static void add(struct sums *s, int64_t bucket, uint32_t key, int64_t value)
{
    bool fresh;
    uint32_t *row = lpo_map_u64_put(s->rows, (uint64_t)bucket << 32 | key, &fresh);

    s->work++;
    if (fresh) {
        *row = (uint32_t)s->all.len;
        lpo_vec_push(&s->all, (struct sum){ (uint32_t)bucket, key, 0 });
    }
    s->all.at[*row].value += value;
}

/* Two buckets become one. */
static void widen_buckets(struct sums *s)
{
    size_t count = s->all.len;

    lpo_map_u64_destroy(s->rows);
    s->rows = lpo_map_u64_create(0);
    s->all.len = s->work = 0;
    s->step_ns *= 2;
    for (size_t i = 0; i < count; i++) {
        struct sum old = s->all.at[i];

        add(s, old.bucket / 2, old.key, old.value);
    }
}

/* To the bucket of that moment, counted from zero. */
static void add_at(struct sums *s, int64_t ns, uint32_t key, int64_t value)
{
    add(s, ns / s->step_ns, key, value);
    while (is_too_much(s))
        widen_buckets(s);
}

/* The parts of [from, to), both from zero, to their buckets. */
static void add_span(struct sums *s, uint32_t key, int64_t from_ns, int64_t to_ns)
{
    while (from_ns < to_ns) {
        int64_t end_ns = (from_ns / s->step_ns + 1) * s->step_ns;

        end_ns = end_ns < to_ns ? end_ns : to_ns;
        add_at(s, from_ns, key, end_ns - from_ns);
        from_ns = end_ns;
    }
}

static void add_operation(struct sums *s, const struct lpo_gpu_op *op)
{
    uint32_t kernel = s->d->kernels.rows[op->name], region = lpo_page_region_of(s->d, op);
    int64_t from_ns = op->start_ns - s->d->zero_ns, to_ns = op->end_ns - s->d->zero_ns;

    add_span(s, kernel == LPO_NONE ? (uint32_t)s->d->kernels.count : kernel, from_ns, to_ns);
    add_span(s, s->first_region + region, from_ns, to_ns);
    if (op->bytes)
        add_at(s, from_ns, s->bytes, (int64_t)op->bytes);
}

static void add_gap(void *ctx, uint16_t device, const struct lpo_wall_gap *gap)
{
    struct sums *s = ctx;
    int64_t from_ns = gap->start_ns - s->d->zero_ns;

    add_span(s, s->first_idle + device * LPO_IDLE_CAUSES + gap->cause, from_ns, from_ns + gap->ns);
}

LPO_COMPARE(by_bucket, struct sum, LPO_UP(bucket) ?: LPO_UP(key));

/* What ran is one half, when nothing did the other. */
static void gather_half(void *ctx, size_t i)
{
    struct sums *s = &((struct sums *)ctx)[i];
    const struct lpo_trace *t = s->d->analysis->trace;

    s->rows = lpo_map_u64_create(0);
    for (size_t k = 0; i == 0 && k < s->d->noperations; k++)
        add_operation(s, &t->gpu_ops.at[s->d->operations[k]]);
    if (i == 1 && s->d->analysis->timeline)
        lpo_wall_each_gap(s->d->analysis->tree, NULL, add_gap, s);
}

static void gather(struct sums *s)
{
    struct sums halves[2] = { *s, *s };

    lpo_thread_each(2, gather_half, halves);
    *s = halves[0];
    while (s->step_ns < halves[1].step_ns)
        widen_buckets(s);
    for (size_t i = 0; i < halves[1].all.len; i++) {
        const struct sum *n = &halves[1].all.at[i];

        add_at(s, n->bucket * halves[1].step_ns, n->key, n->value);
    }
    lpo_map_u64_destroy(halves[1].rows);
    lpo_vec_free(&halves[1].all);
}

/* Per sum: buckets since the one before, key (less that before, in one bucket), value. */
static void put_packed(struct lpo_record *to, const struct sums *s)
{
    struct sum last = { 0, 0, 0 };
    LPO_STR bytes = { 0 }, text = { 0 };

    lpo_vec_sort(&s->all, by_bucket);
    for (size_t i = 0; i < s->all.len; i++) {
        const struct sum *n = &s->all.at[i];

        lpo_pack_add(&bytes, n->bucket - last.bucket);
        lpo_pack_add(&bytes, n->bucket > last.bucket ? n->key : n->key - last.key);
        lpo_pack_add_signed(&bytes, n->value);
        last = *n;
    }
    lpo_pack_text(&text, lpo_str_text(&bytes), bytes.len);
    lpo_doc_put(to, LPO_KV("packed", lpo_jv_textn(lpo_str_text(&text), text.len)));
}

/* The end of the last operation, and how many keys the regions take. */
static uint32_t find_end(struct sums *s)
{
    uint32_t regions = 1;

    for (size_t i = 0; i < s->d->noperations; i++) {
        const struct lpo_gpu_op *op = &s->d->analysis->trace->gpu_ops.at[s->d->operations[i]];
        uint32_t region = lpo_page_region_of(s->d, op);

        s->end_ns = op->end_ns - s->d->zero_ns > s->end_ns ? op->end_ns - s->d->zero_ns : s->end_ns;
        regions = region >= regions ? region + 1 : regions;
    }
    return regions;
}

void lpo_page_put_sums(struct lpo_record *to, const struct lpo_page_detail *d)
{
    const struct lpo_trace *t = d->analysis->trace;
    struct sums s = { .d = d, .first_region = (uint32_t)d->kernels.count + 1 };
    uint32_t regions = find_end(&s);
    struct lpo_record *r, *list;

    if (!d->noperations || s.end_ns > INT64_MAX / 4)
        return;
    s.first_idle = s.first_region + regions;
    s.bytes = s.first_idle + (uint32_t)t->devices.len * LPO_IDLE_CAUSES;
    s.step_ns = s.end_ns / BUCKETS + 1;
    gather(&s);
    r = lpo_doc_put_record(to, "sums");
    lpo_doc_put(r, LPO_KV("step_ns", s.step_ns), LPO_KV("count", s.all.len),
                LPO_KV("regions", regions));
    list = lpo_doc_put_list(r, "devices");
    for (size_t i = 0; i < t->devices.len; i++)
        lpo_doc_put(list, LPO_V(lpo_report_device_scope(to->arena, &t->devices.at[i])));
    list = lpo_doc_put_list(r, "causes");
    for (int i = 0; i < LPO_IDLE_CAUSES; i++)
        lpo_doc_put(list, LPO_V(lpo_wall_cause_name((enum lpo_idle_cause)i)));
    put_packed(r, &s);
    lpo_map_u64_destroy(s.rows);
    lpo_vec_free(&s.all);
}
