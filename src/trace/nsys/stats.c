/* What `nsys stats --format csv` writes: sums per kernel, and traces of works and ranges.
 *
 * Sums are kept as sums: a report of them has no single kernels to attribute. Headers carry the
 * unit, so "12.345" under "Start (us)" is 12,345 ns exactly. */
#include "trace/nsys/stats.h"

#include <string.h>

#include "trace/readers.h"
#include "util/err.h"

/* The first row whose columns are all there. */
static const struct report {
    enum lpo_nsys_role needs[4];
    bool (*row)(struct lpo_nsys_table *s); /* NULL: known, but not of use; `why` says so */
    const char *why;
} reports[] = {
    { { LPO_NSYS_KERNEL_START, LPO_NSYS_KERNEL_DURATION, LPO_NSYS_NAME }, lpo_nsys_exec_row, NULL },
    { { LPO_NSYS_RANGE_START, LPO_NSYS_RANGE_DURATION, LPO_NSYS_NAME },
      lpo_nsys_projected_row,
      NULL },
    { { LPO_NSYS_START, LPO_NSYS_END, LPO_NSYS_NAME, LPO_NSYS_TID }, lpo_nsys_range_row, NULL },
    { { LPO_NSYS_START, LPO_NSYS_DURATION, LPO_NSYS_DEVICE, LPO_NSYS_NAME },
      lpo_nsys_gpu_op_row,
      NULL },
    { { LPO_NSYS_TOTAL, LPO_NSYS_CALLS, LPO_NSYS_NAME }, NULL, "it sums host calls, not GPU work" },
    { { LPO_NSYS_TOTAL, LPO_NSYS_STYLE }, NULL, "it sums the host time of ranges" },
    { { LPO_NSYS_TOTAL, LPO_NSYS_COUNT, LPO_NSYS_NAME }, lpo_nsys_sum_row, NULL },
};

static const struct report *report_of(const struct lpo_nsys_table *s)
{
    for (size_t i = 0; i < sizeof reports / sizeof *reports; i++) {
        bool all = true;

        for (size_t k = 0; k < 4; k++)
            all &= reports[i].needs[k] == LPO_NSYS_NOTHING || s->at[reports[i].needs[k]] >= 0;
        if (all)
            return &reports[i];
    }
    return NULL;
}

/* The line's columns make one of the reports. Lines before it tell what nsys is doing. */
static const struct report *header_line(struct lpo_nsys_table *s, const char *line, size_t len)
{
    LPO_AUTO(lpo_csv) one = lpo_csv_text(line, len);
    const struct report *found = NULL;
    struct lpo_csv *real = s->csv;

    if (len > 4096 || lpo_csv_next(one, NULL) <= 0 || one->count < 3)
        return NULL;
    s->csv = one;
    lpo_nsys_set_columns(s);
    found = report_of(s);
    s->csv = real;
    return found;
}

static bool sniff(const char *path, const unsigned char *head, size_t len)
{
    struct lpo_nsys_table s = { 0 };
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

static int read_table(struct lpo_nsys_table *s, struct lpo_err *err)
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
                        "this report of nsys stats is of no use here: %s (take cuda_gpu_kern_sum, "
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
    struct lpo_nsys_table s = { .t = into, .domains = true, .first_range = into->ranges.len };
    size_t before = into->gpu_ops.len + into->ranges.len + into->summaries.len;
    int rc;

    if (lpo_csv_open(path, &csv, err) < 0)
        return err->code;
    s.csv = csv;
    rc = read_table(&s, err);
    lpo_nsys_split_domains(&s);
    lpo_str_free(&s.text);
    into->has_ranges |= into->ranges.len > s.first_range;
    if (rc < 0 && into->gpu_ops.len + into->ranges.len + into->summaries.len == before)
        return rc;
    if (rc < 0 || csv->cut)
        lpo_trace_note(into, 0, "the CSV could be read only in part");
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
