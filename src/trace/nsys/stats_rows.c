/* Rows of `nsys stats` CSVs into the event model. */
#include "trace/nsys/stats.h"

#include <stdlib.h>
#include <string.h>

static int64_t whole(const struct lpo_nsys_table *s, enum lpo_nsys_role role, int64_t missing)
{
    int64_t v;

    return lpo_csv_cell_int(lpo_nsys_cell(s, role), &v) ? v : missing;
}

static uint32_t name_of(struct lpo_nsys_table *s)
{
    return lpo_trace_name(s->t, lpo_csv_cell_text(lpo_nsys_cell(s, LPO_NSYS_NAME), &s->text));
}

/* "[CUDA memcpy HtoD]", "[CUDA memcpy Host-to-Device]", "[CUDA memset]"; all else is a kernel. */
static enum lpo_gpu_op_kind kind_of(const char *name)
{
    if (lpo_str_starts(name, "[CUDA memcpy") || lpo_str_starts(name, "[CUDA Unified Memory memcpy"))
        return LPO_COPY;
    return lpo_str_starts(name, "[CUDA memset") ? LPO_SET : LPO_KERNEL;
}

bool lpo_nsys_sum_row(struct lpo_nsys_table *s)
{
    struct lpo_summary sum = { .min_ns = LPO_NO_TIME, .max_ns = LPO_NO_TIME };
    int64_t count;

    if (!lpo_nsys_quantity(s, LPO_NSYS_TOTAL, &sum.total_ns) ||
        !lpo_csv_cell_int(lpo_nsys_cell(s, LPO_NSYS_COUNT), &count) || count < 0)
        return false;
    sum.count = (uint64_t)count;
    sum.name = name_of(s);
    sum.kind = (uint8_t)kind_of(lpo_trace_text(s->t, sum.name));
    lpo_nsys_quantity(s, LPO_NSYS_MIN, &sum.min_ns);
    lpo_nsys_quantity(s, LPO_NSYS_MAX, &sum.max_ns);
    lpo_vec_push(&s->t->summaries, sum);
    return true;
}

static uint32_t dimension(const struct lpo_nsys_table *s, enum lpo_nsys_role role)
{
    int64_t v = whole(s, role, 0);

    return v >= 0 && v < LPO_NONE ? (uint32_t)v : LPO_NONE;
}

static uint32_t shape_of(struct lpo_nsys_table *s)
{
    struct lpo_shape shape = { .registers = LPO_NONE,
                               .static_smem = LPO_NONE,
                               .dynamic_smem = LPO_NONE };

    if (lpo_nsys_cell(s, LPO_NSYS_GRID_X).len) {
        for (int i = 0; i < 3; i++) {
            shape.grid[i] = dimension(s, (enum lpo_nsys_role)(LPO_NSYS_GRID_X + i));
            shape.block[i] = dimension(s, (enum lpo_nsys_role)(LPO_NSYS_BLOCK_X + i));
        }
    } else if (!lpo_csv_cell_three(lpo_nsys_cell(s, LPO_NSYS_GRID), shape.grid) ||
               !lpo_csv_cell_three(lpo_nsys_cell(s, LPO_NSYS_BLOCK), shape.block)) {
        return LPO_NONE;
    }
    return lpo_trace_shape(s->t, &shape);
}

/* "NVIDIA H200 (0)" or a number. */
static uint16_t device_of(struct lpo_nsys_table *s)
{
    const char *text = lpo_csv_cell_text(lpo_nsys_cell(s, LPO_NSYS_DEVICE), &s->text);
    const char *open = strrchr(text, '(');
    int64_t id = strtoll(open ? open + 1 : text, NULL, 10);
    uint16_t row = lpo_trace_device(s->t, id >= 0 && id < INT32_MAX ? (int32_t)id : 0, -1);

    if (open > text + 1 && s->t->devices.at[row].name == LPO_NONE) {
        uint32_t name = lpo_trace_namen(s->t, text, (size_t)(open - text - 1));

        s->t->devices.at[row].name = name;
    }
    return row;
}

static struct lpo_gpu_op gpu_op_of(struct lpo_nsys_table *s, int64_t start, int64_t duration)
{
    struct lpo_gpu_op w = { .start_ns = start,
                            .end_ns = start + (duration > 0 ? duration : 0),
                            .launch = LPO_NONE,
                            .stack = LPO_NONE,
                            .capture = LPO_NONE,
                            .metrics = LPO_NONE };
    int64_t bytes;

    w.name = name_of(s);
    w.kind = (uint8_t)kind_of(lpo_trace_text(s->t, w.name));
    w.shape = w.kind == LPO_KERNEL ? shape_of(s) : LPO_NONE;
    w.device = device_of(s);
    w.stream = (uint32_t)whole(s, LPO_NSYS_STREAM, 0);
    w.process = lpo_trace_process(s->t, whole(s, LPO_NSYS_PID, -1), -1);
    if (w.kind != LPO_KERNEL && lpo_nsys_quantity(s, LPO_NSYS_BYTES, &bytes) && bytes > 0)
        w.bytes = (uint64_t)bytes;
    return w;
}

static bool sane(int64_t start, int64_t duration)
{
    const int64_t bound = (int64_t)1 << 61;

    return start > -bound && start < bound && duration < bound;
}

bool lpo_nsys_gpu_op_row(struct lpo_nsys_table *s)
{
    int64_t start, duration;

    if (!lpo_nsys_quantity(s, LPO_NSYS_START, &start) ||
        !lpo_nsys_quantity(s, LPO_NSYS_DURATION, &duration) || !sane(start, duration))
        return false;
    lpo_vec_push(&s->t->gpu_ops, gpu_op_of(s, start, duration));
    return true;
}

bool lpo_nsys_exec_row(struct lpo_nsys_table *s)
{
    int64_t start, duration, call, call_duration;
    struct lpo_gpu_op w;

    if (!lpo_nsys_quantity(s, LPO_NSYS_KERNEL_START, &start) ||
        !lpo_nsys_quantity(s, LPO_NSYS_KERNEL_DURATION, &duration) || !sane(start, duration))
        return false;
    w = gpu_op_of(s, start, duration);
    if (lpo_nsys_quantity(s, LPO_NSYS_CALL_START, &call) &&
        lpo_nsys_quantity(s, LPO_NSYS_CALL_DURATION, &call_duration) && sane(call, call_duration)) {
        w.launch = (uint32_t)s->t->launches.len;
        lpo_vec_push(
            &s->t->launches,
            (struct lpo_launch){ call, call + (call_duration > 0 ? call_duration : 0),
                                 lpo_trace_thread(s->t, w.process, whole(s, LPO_NSYS_TID, 0)) });
    }
    lpo_vec_push(&s->t->gpu_ops, w);
    return true;
}

static bool push_range(struct lpo_nsys_table *s, int64_t start, int64_t end)
{
    struct lpo_range range = { .start_ns = start, .end_ns = end < start ? start : end };
    uint16_t process = lpo_trace_process(s->t, whole(s, LPO_NSYS_PID, -1), -1);

    range.thread = lpo_trace_thread(s->t, process, whole(s, LPO_NSYS_TID, 0));
    range.name = name_of(s);
    if (lpo_str_starts(lpo_csv_cell_text(lpo_nsys_cell(s, LPO_NSYS_STYLE), &s->text), "Start"))
        range.kind = LPO_START_END;
    s->domains &= strchr(lpo_trace_text(s->t, range.name), ':') != NULL;
    lpo_vec_push(&s->t->ranges, range);
    return true;
}

bool lpo_nsys_range_row(struct lpo_nsys_table *s)
{
    int64_t start, end;

    if (!lpo_nsys_quantity(s, LPO_NSYS_START, &start) ||
        !lpo_nsys_quantity(s, LPO_NSYS_END, &end) || !sane(start, end))
        return false;
    return push_range(s, start, end);
}

bool lpo_nsys_projected_row(struct lpo_nsys_table *s)
{
    int64_t start, duration;

    if (!lpo_nsys_quantity(s, LPO_NSYS_RANGE_START, &start) ||
        !lpo_nsys_quantity(s, LPO_NSYS_RANGE_DURATION, &duration) || !sane(start, duration))
        return false;
    return push_range(s, start, start + duration);
}

/* Where every name holds a colon they are "domain:name", with nothing before the colon for the
 * default domain; else the version wrote plain names, and "aten::mm" is one. */
void lpo_nsys_split_domains(struct lpo_nsys_table *s)
{
    struct lpo_trace *t = s->t;

    for (size_t i = s->first_range; s->domains && i < t->ranges.len; i++) {
        struct lpo_range *r = &t->ranges.at[i];
        size_t len = lpo_trace_text_len(t, r->name);
        char *name = lpo_xmalloc(len + 1);
        size_t domain;

        memcpy(name, lpo_trace_text(t, r->name), len + 1);
        domain = strcspn(name, ":");
        if (domain > 0)
            r->domain = lpo_trace_domain(t, name, domain);
        r->name = lpo_trace_name(t, name + domain + 1);
        free(name);
    }
}
