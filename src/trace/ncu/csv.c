/* What `ncu --csv` prints: raw and details pages, live or by --import. */
#include "trace/ncu/csv.h"

#include <stdlib.h>
#include <string.h>

#include "trace/readers.h"
#include "util/err.h"
#include "util/map.h"

enum { MANY = 1000 }; /* rows after which a second thread pays */

/* Is this line the header? Quoted by ncu; programs that rewrite CSV may drop the quotes. */
static bool is_header(const char *line, size_t len)
{
    return memmem(line, len, "Kernel Name", 11) &&
           (memmem(line, len, "Process ID", 10) || memmem(line, len, "Metric Name", 11) ||
            memmem(line, len, "__", 2)) &&
           memmem(line, len, "ID", 2);
}

static bool sniff(const char *path, const unsigned char *head, size_t len)
{
    const char *p = (const char *)head, *end = p + len;

    (void)path;
    while (p < end) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        size_t line = nl ? (size_t)(nl - p) : (size_t)(end - p);

        if (is_header(p, line))
            return true;
        p += line + 1;
    }
    return false;
}

/* --- the raw page: one row per kernel, one column per metric -------------------------------- */

static void raw_row(struct lpo_ncu_page *p)
{
    const struct lpo_csv *csv = p->csv;
    size_t n = csv->count < p->columns.len ? csv->count : p->columns.len;
    struct lpo_ncu_result r;
    struct lpo_gpu_op w;
    int32_t device;

    lpo_ncu_result_reset(&r);
    w = lpo_ncu_row_gpu_op(p, &r, &device);
    if (!(p->t->skip & LPO_SKIP_METRICS))
        w.metrics = lpo_trace_metric_row(p->t);
    for (size_t i = 0; i < n; i++) {
        struct lpo_ncu_column *c = &p->columns.at[i];
        double v;

        if (c->role == LPO_NCU_METRIC && c->metric != LPO_NONE) { /* ten million times */
            if (lpo_csv_cell_number(csv->cells[i], &v))
                p->t->metric_rows[w.metrics * p->t->metric_cap + c->metric] = v * c->scale;
        } else if (c->role == LPO_NCU_METRIC || c->role == LPO_NCU_FACT) {
            lpo_ncu_set_value(p, c, w.metrics, &r, csv->cells[i]);
        }
    }
    lpo_ncu_push(p->t, w, &r, device);
}

/* --- the details page: one row per kernel and metric ---------------------------------------- */

static uint32_t details_gpu_op(struct lpo_ncu_page *p)
{
    struct lpo_csv_cell id = lpo_ncu_cell(p, LPO_NCU_ID), pid = lpo_ncu_cell(p, LPO_NCU_PID);
    struct lpo_ncu_result r;
    struct lpo_gpu_op w;
    uint64_t *slot;
    int32_t device;
    bool fresh;

    lpo_str_clear(&p->key);
    lpo_str_addn(&p->key, pid.at, pid.len);
    lpo_str_addc(&p->key, '\0');
    lpo_str_addn(&p->key, id.at, id.len);
    slot = lpo_map_put(p->gpu_ops, p->key.at, p->key.len, &fresh);
    if (!fresh)
        return (uint32_t)*slot;
    *slot = p->results.len;
    lpo_ncu_result_reset(&r);
    w = lpo_ncu_row_gpu_op(p, &r, &device);
    if (!(p->t->skip & LPO_SKIP_METRICS))
        w.metrics = lpo_trace_metric_row(p->t);
    lpo_ncu_push(p->t, w, &r, device);
    lpo_vec_push(&p->results, r);
    return (uint32_t)p->results.len - 1;
}

/* A label that we know gets its metric's name; another is told apart by its section, since
 * "Memory Throughput" is a percentage in one and a rate in the other. */
static void name_metric(struct lpo_ncu_page *p, struct lpo_ncu_column *c)
{
    LPO_STR section = { 0 };
    const char *label = lpo_csv_cell_text(lpo_ncu_cell(p, LPO_NCU_NAME), &p->text);
    const char *known;

    lpo_csv_cell_text(lpo_ncu_cell(p, LPO_NCU_SECTION), &section);
    known = lpo_ncu_label_metric(lpo_str_text(&section), label);
    if (!known && !strstr(label, "__") && section.len) {
        lpo_str_addf(&section, ": %s", label);
        known = lpo_str_text(&section);
    }
    if (!known)
        known = label;
    c->name = lpo_trace_name(p->t, known);
    c->fact = (uint8_t)lpo_ncu_fact_of(known, strlen(known));
}

static struct lpo_ncu_column *details_column(struct lpo_ncu_page *p)
{
    static const enum lpo_ncu_role parts[] = { LPO_NCU_SECTION, LPO_NCU_NAME,
                                               LPO_NCU_PRINTED_UNIT };
    struct lpo_csv_cell unit = lpo_ncu_cell(p, LPO_NCU_PRINTED_UNIT);
    struct lpo_ncu_column c = { .unit = LPO_NONE, .metric = LPO_NONE };
    char base[LPO_NCU_UNIT];
    uint64_t *slot;
    bool fresh;

    lpo_str_clear(&p->key);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        struct lpo_csv_cell cell = lpo_ncu_cell(p, parts[i]);

        lpo_str_addn(&p->key, cell.at, cell.len);
        lpo_str_addc(&p->key, '\0');
    }
    slot = lpo_map_put(p->labels, p->key.at, p->key.len, &fresh);
    if (!fresh)
        return &p->columns.at[*slot];
    *slot = p->columns.len;
    c.scale = lpo_ncu_unit_scale(unit.at, unit.len, base);
    c.unit = *base ? lpo_trace_name(p->t, base) : LPO_NONE;
    name_metric(p, &c);
    lpo_vec_push(&p->columns, c);
    return &p->columns.at[p->columns.len - 1];
}

static void details_row(struct lpo_ncu_page *p)
{
    uint32_t i = details_gpu_op(p);
    struct lpo_ncu_result *r = &p->results.at[i];
    uint32_t gpu_op = p->first_gpu_op + i;

    if (lpo_ncu_cell(p, LPO_NCU_NAME).len == 0)
        return; /* a rule's advice, no metric */
    lpo_ncu_set_value(p, details_column(p), p->t->gpu_ops.at[gpu_op].metrics, r,
                      lpo_ncu_cell(p, LPO_NCU_VALUE));
    lpo_ncu_update(p->t, gpu_op, r);
}

/* --- any page ------------------------------------------------------------------------------- */

static int find_header(struct lpo_ncu_page *p, struct lpo_err *err)
{
    const char *line;
    size_t len;

    while ((line = lpo_csv_peek_line(p->csv, &len, err)) && !is_header(line, len))
        lpo_csv_skip_line(p->csv);
    if (!line)
        return lpo_fail(err, LPO_E_FORMAT, "no header line of ncu's CSV in it");
    if (*line == '"')
        p->csv->lead = '"'; /* other lines are the program's own output */
    return lpo_csv_next(p->csv, err) > 0 ? 0 : err->code;
}

static int check_header(struct lpo_ncu_page *p, struct lpo_err *err)
{
    lpo_ncu_set_header(p);
    if (p->at[LPO_NCU_INVOCATIONS] >= 0)
        return lpo_fail(err, LPO_E_FORMAT,
                        "a summary over kernels (--print-summary); export each kernel with: ncu "
                        "--import FILE --page raw --csv --print-units base");
    if (p->at[LPO_NCU_KERNEL] < 0)
        return lpo_fail(err, LPO_E_FORMAT, "its header has no column 'Kernel Name'");
    return 0;
}

static void one_row(struct lpo_ncu_page *p)
{
    bool details = p->at[LPO_NCU_NAME] >= 0 && p->at[LPO_NCU_VALUE] >= 0;

    if (lpo_csv_cell_is(lpo_ncu_cell(p, LPO_NCU_KERNEL), "Kernel Name")) {
        lpo_ncu_set_header(p); /* two outputs in one file */
        lpo_map_destroy(p->labels);
        p->labels = lpo_map_create();
    } else if (details && p->csv->count > (size_t)p->at[LPO_NCU_KERNEL]) {
        details_row(p);
    } else if (!details && lpo_ncu_cell(p, LPO_NCU_ID).len == 0 &&
               lpo_ncu_cell(p, LPO_NCU_KERNEL).len == 0) {
        lpo_ncu_set_units(p);
    } else if (!details && p->csv->count >= p->columns.len / 2 && p->csv->count > 1) {
        raw_row(p);
    } else {
        p->odd_rows++;
    }
}

static void add_notes(struct lpo_ncu_page *p, const char *broken)
{
    if (broken)
        lpo_trace_note(p->t, 0, "the CSV could be read only in part: %s", broken);
    if (p->csv->cut)
        lpo_trace_note(p->t, 0, "the compressed file was cut short: what is there was read");
    if (p->odd_rows)
        lpo_trace_note(p->t, p->odd_rows, "lines of the CSV are not rows of ncu: left out");
    if (p->several_threads)
        lpo_trace_note(p->t, p->several_threads,
                       "kernels list the ranges of several threads and the CSV does not tell which "
                       "one launched them: the first is taken (the .ncu-rep tells)");
}

static int read_page(struct lpo_ncu_page *p, struct lpo_err *err)
{
    struct lpo_err broken = { 0 };
    size_t before = p->t->gpu_ops.len;
    int rc;

    if (find_header(p, err) < 0 || check_header(p, err) < 0)
        return err->code;
    for (size_t rows = 0; (rc = lpo_csv_next(p->csv, &broken)) > 0; rows++) {
        one_row(p);
        if (rows == MANY)
            lpo_csv_read_ahead(p->csv);
    }
    if (rc < 0 && p->t->gpu_ops.len == before)
        return lpo_fail(err, broken.code, "%s", lpo_err_cause(&broken));
    add_notes(p, rc < 0 ? lpo_err_cause(&broken) : NULL);
    return 0;
}

static int read(const char *path, struct lpo_trace *into, struct lpo_err *err)
{
    LPO_AUTO(lpo_csv) csv = NULL;
    struct lpo_ncu_page p = { .t = into,
                              .first_gpu_op = (uint32_t)into->gpu_ops.len,
                              .last_process = LPO_NONE };
    int rc;

    if (lpo_csv_open(path, &csv, err) < 0)
        return err->code;
    p.csv = csv;
    p.stacks = lpo_map_create();
    p.gpu_ops = lpo_map_create();
    p.labels = lpo_map_create();
    rc = read_page(&p, err);
    lpo_map_destroy(p.stacks);
    lpo_map_destroy(p.gpu_ops);
    lpo_map_destroy(p.labels);
    lpo_vec_free(&p.columns);
    lpo_vec_free(&p.results);
    lpo_str_free(&p.text);
    lpo_str_free(&p.key);
    return rc;
}

const struct lpo_reader lpo_ncu_csv_reader = {
    .name = "ncu-csv",
    .summary = "Nsight Compute CSV, raw or details page (.gz too)",
    .sniff = sniff,
    .read = read,
};
