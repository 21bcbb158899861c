/* SPDX-License-Identifier: Apache-2.0 */
/* The CSV reports of `nsys stats`: sums, traces of GPU operations, ranges; any of its units. */

#include "trace/reader.h"
#include "trace/trace.h"
#include "util/csv.h"

/* What a column holds. */
enum role {
    NOTHING,
    TOTAL,
    COUNT,
    MIN,
    MAX,
    NAME,
    CATEGORY,
    START,
    END,
    DURATION,
    CORRELATION,
    PID,
    TID,
    DEVICE,
    STREAM,
    BYTES,
    GRID_X,
    GRID_Y,
    GRID_Z,
    BLOCK_X,
    BLOCK_Y,
    BLOCK_Z,
    GRID,
    BLOCK,
    CALL_START,
    CALL_DURATION,
    KERNEL_START,
    KERNEL_DURATION,
    PROJECTED,
    RANGE_START,
    RANGE_DURATION,
    STYLE,
    CALLS,
    ROLES,
};

struct table {
    struct lpo_trace *t;
    struct lpo_csv *csv;
    int at[ROLES]; /* column of a role, -1 when absent */
    int power[ROLES];
    struct lpo_str text;
    bool domains; /* names are written "domain:name" */
    size_t first_range;
    uint64_t odd_rows;
};

/* Headers without their unit; older versions write them differently. */
static const struct header_row {
    const char *name;
    enum role role;
} headers[] = {
    { "Total Time", TOTAL },
    { "Instances", COUNT },
    { "Count", COUNT },
    { "Operations", COUNT },
    { "Min", MIN },
    { "Minimum", MIN },
    { "Max", MAX },
    { "Maximum", MAX },
    { "Name", NAME },
    { "Operation", NAME },
    { "Kernel Name", NAME },
    { "Category", CATEGORY },
    { "Start", START },
    { "End", END },
    { "Duration", DURATION },
    { "CorrId", CORRELATION },
    { "PID", PID },
    { "TID", TID },
    { "Device", DEVICE },
    { "DevId", DEVICE },
    { "Device ID", DEVICE },
    { "Strm", STREAM },
    { "Bytes", BYTES },
    { "GrdX", GRID_X },
    { "GrdY", GRID_Y },
    { "GrdZ", GRID_Z },
    { "BlkX", BLOCK_X },
    { "BlkY", BLOCK_Y },
    { "BlkZ", BLOCK_Z },
    { "GridXYZ", GRID },
    { "BlockXYZ", BLOCK },
    { "API Start", CALL_START },
    { "API Dur", CALL_DURATION },
    { "Kernel Start", KERNEL_START },
    { "Kernel Dur", KERNEL_DURATION },
    { "Projected Start", PROJECTED },
    { "Orig Start", RANGE_START },
    { "Orig Duration", RANGE_DURATION },
    { "Style", STYLE },
    { "Num Calls", CALLS },
};

/* Powers of ten to ns, or to bytes. */
static const struct unit_row {
    const char *text;
    int power;
} units[] = {
    { "ns", 0 }, { "nsec", 0 }, { "us", 3 }, { "\xce\xbcs", 3 }, { "usec", 3 },
    { "ms", 6 }, { "msec", 6 }, { "s", 9 },  { "sec", 9 },       { "seconds", 9 },
    { "B", 0 },  { "KB", 3 },   { "MB", 6 }, { "GB", 9 },        { "TB", 12 },
};

static struct lpo_csv_cell cell_of(const struct table *s, enum role role)
{
    int at = s->at[role];

    if (at < 0 || (size_t)at >= s->csv->count)
        return (struct lpo_csv_cell){ "", 0, false };
    return s->csv->cells[at];
}

static bool quantity(const struct table *s, enum role role, int64_t *out)
{
    return lpo_csv_cell_scaled(cell_of(s, role), s->power[role], out);
}

static int power_of(const char *unit, size_t len)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strlen(units[i].text) == len && memcmp(units[i].text, unit, len) == 0)
            return units[i].power;
    }
    return 0;
}

/* "Total Time (ns)" and "Total Time:ns_num" (an older spelling) to a role and a power. */
static enum role header_role(const char *text, int *power)
{
    size_t len = strcspn(text, "(:");
    const char *unit = text + len + (text[len] != '\0');

    *power = power_of(unit, strcspn(unit, ")_"));
    while (len > 0 && text[len - 1] == ' ')
        len--;
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        if (strlen(headers[i].name) == len && memcmp(headers[i].name, text, len) == 0)
            return headers[i].role;
    }
    return NOTHING;
}

static void set_columns(struct table *s)
{
    for (int i = 0; i < ROLES; i++)
        s->at[i] = -1;
    for (size_t i = 0; i < s->csv->count; i++) {
        int power;
        enum role role = header_role(lpo_csv_cell_text(s->csv->cells[i], &s->text), &power);

        if (role == NOTHING || s->at[role] >= 0)
            continue;
        s->at[role] = (int)i;
        s->power[role] = power;
    }
}

static int64_t whole(const struct table *s, enum role role, int64_t missing)
{
    int64_t v;

    return lpo_csv_cell_int(cell_of(s, role), &v) ? v : missing;
}

static uint32_t name_of(struct table *s)
{
    return lpo_trace_name(s->t, lpo_csv_cell_text(cell_of(s, NAME), &s->text));
}

/* "[CUDA memcpy HtoD]", "[CUDA memcpy Host-to-Device]", "[CUDA memset]"; all else is a kernel. */
static enum lpo_gpu_op_kind kind_of(const char *name)
{
    if (lpo_str_starts(name, "[CUDA memcpy") || lpo_str_starts(name, "[CUDA Unified Memory memcpy"))
        return LPO_COPY;
    return lpo_str_starts(name, "[CUDA memset") ? LPO_MEMSET : LPO_KERNEL;
}

static bool sum_row(struct table *s)
{
    struct lpo_summary sum = { .min_ns = LPO_NO_TIME, .max_ns = LPO_NO_TIME };
    int64_t count;

    if (!quantity(s, TOTAL, &sum.total_ns) || !lpo_csv_cell_int(cell_of(s, COUNT), &count) ||
        count < 0)
        return false;
    sum.count = (uint64_t)count;
    sum.name = name_of(s);
    sum.kind = (uint8_t)kind_of(lpo_trace_text(s->t, sum.name));
    quantity(s, MIN, &sum.min_ns);
    quantity(s, MAX, &sum.max_ns);
    lpo_vec_push(&s->t->summaries, sum);
    return true;
}

static uint32_t dimension(const struct table *s, enum role role)
{
    int64_t v = whole(s, role, 0);

    return v >= 0 && v < LPO_NONE ? (uint32_t)v : LPO_NONE;
}

static uint32_t shape_of(struct table *s)
{
    struct lpo_shape shape = { .registers = LPO_NONE,
                               .static_smem = LPO_NONE,
                               .dynamic_smem = LPO_NONE };

    if (cell_of(s, GRID_X).len) {
        for (int i = 0; i < 3; i++) {
            shape.grid[i] = dimension(s, (enum role)(GRID_X + i));
            shape.block[i] = dimension(s, (enum role)(BLOCK_X + i));
        }
    } else if (!lpo_csv_cell_three(cell_of(s, GRID), shape.grid) ||
               !lpo_csv_cell_three(cell_of(s, BLOCK), shape.block)) {
        return LPO_NONE;
    }
    return lpo_trace_shape(s->t, &shape);
}

/* "NVIDIA H200 (0)" or a number. */
static uint16_t device_of(struct table *s)
{
    const char *text = lpo_csv_cell_text(cell_of(s, DEVICE), &s->text);
    const char *open = strrchr(text, '(');
    int64_t id = strtoll(open ? open + 1 : text, NULL, 10);
    uint16_t row = lpo_trace_device(s->t, id >= 0 && id < INT32_MAX ? (int32_t)id : 0, -1);

    if (open > text + 1 && s->t->devices.at[row].name == LPO_NONE) {
        uint32_t name = lpo_trace_namen(s->t, text, (size_t)(open - text - 1));

        s->t->devices.at[row].name = name;
    }
    return row;
}

static struct lpo_gpu_op gpu_op_of(struct table *s, int64_t start, int64_t duration)
{
    struct lpo_gpu_op w = {
        LPO_GPU_OP_UNKNOWN,
        .start_ns = start,
        .end_ns = start + (duration > 0 ? duration : 0),
    };
    int64_t bytes;

    w.name = name_of(s);
    w.kind = (uint8_t)kind_of(lpo_trace_text(s->t, w.name));
    w.shape = w.kind == LPO_KERNEL ? shape_of(s) : LPO_NONE;
    w.device = device_of(s);
    w.stream = (uint32_t)whole(s, STREAM, 0);
    w.process = lpo_trace_process(s->t, whole(s, PID, -1), -1);
    if (w.kind != LPO_KERNEL && quantity(s, BYTES, &bytes) && bytes > 0)
        w.bytes = (uint64_t)bytes;
    return w;
}

static bool sane(int64_t start, int64_t duration)
{
    const int64_t bound = (int64_t)1 << 61;

    return start > -bound && start < bound && duration < bound;
}

static bool gpu_op_row(struct table *s)
{
    int64_t start, duration;

    if (!quantity(s, START, &start) || !quantity(s, DURATION, &duration) || !sane(start, duration))
        return false;
    lpo_vec_push(&s->t->gpu_ops, gpu_op_of(s, start, duration));
    return true;
}

static bool exec_row(struct table *s)
{
    int64_t start, duration, call, call_duration;
    struct lpo_gpu_op w;

    if (!quantity(s, KERNEL_START, &start) || !quantity(s, KERNEL_DURATION, &duration) ||
        !sane(start, duration))
        return false;
    w = gpu_op_of(s, start, duration);
    if (quantity(s, CALL_START, &call) && quantity(s, CALL_DURATION, &call_duration) &&
        sane(call, call_duration)) {
        w.launch = (uint32_t)s->t->launches.len;
        lpo_vec_push(&s->t->launches,
                     (struct lpo_launch){ call, call + (call_duration > 0 ? call_duration : 0),
                                          lpo_trace_thread(s->t, w.process, whole(s, TID, 0)) });
    }
    lpo_vec_push(&s->t->gpu_ops, w);
    return true;
}

static bool push_range(struct table *s, int64_t start, int64_t end)
{
    struct lpo_range range = { .start_ns = start, .end_ns = end < start ? start : end };
    uint16_t process = lpo_trace_process(s->t, whole(s, PID, -1), -1);

    range.thread = lpo_trace_thread(s->t, process, whole(s, TID, 0));
    range.name = name_of(s);
    if (lpo_str_starts(lpo_csv_cell_text(cell_of(s, STYLE), &s->text), "Start"))
        range.kind = LPO_START_END;
    s->domains &= strchr(lpo_trace_text(s->t, range.name), ':') != NULL;
    lpo_vec_push(&s->t->ranges, range);
    return true;
}

static bool range_row(struct table *s)
{
    int64_t start, end;

    if (!quantity(s, START, &start) || !quantity(s, END, &end) || !sane(start, end))
        return false;
    return push_range(s, start, end);
}

static bool projected_row(struct table *s)
{
    int64_t start, duration;

    if (!quantity(s, RANGE_START, &start) || !quantity(s, RANGE_DURATION, &duration) ||
        !sane(start, duration))
        return false;
    return push_range(s, start, start + duration);
}

/* Where every name holds a colon they are "domain:name", with nothing before the colon for the
 * default domain; else the version wrote plain names, and "aten::mm" is one. */
static void split_domains(struct table *s)
{
    struct lpo_trace *t = s->t;

    for (size_t i = s->first_range; s->domains && i < t->ranges.len; i++) {
        struct lpo_range *r = &t->ranges.at[i];
        size_t len = lpo_trace_text_len(t, r->name);
        LPO_FREED char *name = lpo_xmalloc(len + 1);
        size_t domain;

        memcpy(name, lpo_trace_text(t, r->name), len + 1);
        domain = strcspn(name, ":");
        if (domain > 0)
            r->domain = lpo_trace_domain(t, name, domain);
        r->name = lpo_trace_name(t, name + domain + 1);
    }
}

/* The first row whose columns are all there. */
static const struct report {
    enum role needs[4];
    bool (*row)(struct table *s); /* NULL: known, but not of use; `why` says so */
    const char *why;
} reports[] = {
    { { KERNEL_START, KERNEL_DURATION, NAME }, exec_row, NULL },
    { { RANGE_START, RANGE_DURATION, NAME }, projected_row, NULL },
    { { START, END, NAME, TID }, range_row, NULL },
    { { START, DURATION, DEVICE, NAME }, gpu_op_row, NULL },
    { { TOTAL, CALLS, NAME }, NULL, "it sums host calls, not GPU operations" },
    { { TOTAL, STYLE }, NULL, "it sums the host time of ranges" },
    { { TOTAL, COUNT, NAME }, sum_row, NULL },
};

static const struct report *report_of(const struct table *s)
{
    for (size_t i = 0; i < sizeof reports / sizeof *reports; i++) {
        bool all = true;

        for (size_t k = 0; k < 4; k++)
            all &= reports[i].needs[k] == NOTHING || s->at[reports[i].needs[k]] >= 0;
        if (all)
            return &reports[i];
    }
    return NULL;
}

/* The line's columns make one of the reports. Lines before it say what nsys is doing. */
static const struct report *header_line(struct table *s, const char *line, size_t len)
{
    LPO_AUTO(lpo_csv) one = lpo_csv_text(line, len);
    const struct report *found = NULL;
    struct lpo_csv *real = s->csv;

    if (len > 4096 || lpo_csv_next(one, NULL) <= 0 || one->count < 3)
        return NULL;
    s->csv = one;
    set_columns(s);
    found = report_of(s);
    s->csv = real;
    return found;
}

static bool sniff(const char *path, const unsigned char *head, size_t len)
{
    struct table s = { 0 };
    const char *p = (const char *)head, *end = p + len;
    bool found = false;

    (void)path;
    for (int lines = 0; p < end && lines < 50 && !found; lines++) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        size_t line = nl ? (size_t)(nl - p) : (size_t)(end - p);

        found = header_line(&s, p, line) != NULL;
        p += line + 1;
    }
    lpo_str_free(&s.text);
    return found;
}

static int read_table(struct table *s, struct lpo_err *err)
{
    const struct report *report = NULL;
    const char *line;
    size_t len;
    int rc;

    while ((line = lpo_csv_peek_line(s->csv, &len, err)) && !(report = header_line(s, line, len)))
        lpo_csv_skip_line(s->csv);
    if (!report)
        return lpo_fail(err, LPO_E_FORMAT, "no header of a report of nsys stats in it");
    if (!report->row)
        return lpo_fail(err, LPO_E_FORMAT,
                        "this report of nsys stats cannot be used here: %s (use cuda_gpu_kern_sum, "
                        "cuda_gpu_trace, nvtx_pushpop_trace, or the SQLite export)",
                        report->why);
    lpo_csv_skip_line(s->csv);
    while ((rc = lpo_csv_next(s->csv, err)) > 0) {
        if (s->csv->count > 1 && !report->row(s))
            s->odd_rows++;
    }
    return rc;
}

static int read(const char *path, struct lpo_trace *into, struct lpo_err *err)
{
    LPO_AUTO(lpo_csv) csv = NULL;
    struct table s = { .t = into, .domains = true, .first_range = into->ranges.len };
    size_t before = into->gpu_ops.len + into->ranges.len + into->summaries.len;
    int rc;

    if (lpo_csv_open(path, &csv, err) < 0)
        return err->code;
    s.csv = csv;
    rc = read_table(&s, err);
    split_domains(&s);
    lpo_str_free(&s.text);
    into->has_ranges |= into->ranges.len > s.first_range;
    if (rc < 0 && into->gpu_ops.len + into->ranges.len + into->summaries.len == before)
        return rc;
    if (rc < 0 || csv->cut)
        lpo_trace_note_damage(into, 0, "the CSV could be read only in part");
    if (s.odd_rows)
        lpo_trace_note(into, s.odd_rows, "rows of the CSV could not be understood: left out");
    return 0;
}

const struct lpo_reader lpo_nsys_stats_reader = {
    .name = "nsys-stats",
    .summary = "CSV of nsys stats: cuda_gpu_kern_sum, cuda_gpu_trace, nvtx_pushpop_trace, …",
    .sniff = sniff,
    .read = read,
};
