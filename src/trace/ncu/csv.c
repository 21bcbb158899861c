/* SPDX-License-Identifier: Apache-2.0 */
/* What `ncu --csv` prints: raw and details pages, live or by --import. */

#include "trace/ncu/private.h"
#include "trace/reader.h"

static const struct role_row {
    const char *name;
    enum ncu_role role;
} roles[] = {
    { "ID", LPO_NCU_ID },
    { "Process ID", LPO_NCU_PID },
    { "Process Name", LPO_NCU_PROGRAM },
    { "Kernel Name", LPO_NCU_KERNEL },
    { "Stream", LPO_NCU_STREAM },
    { "Block Size", LPO_NCU_BLOCK },
    { "Grid Size", LPO_NCU_GRID },
    { "Device", LPO_NCU_DEVICE },
    { "CC", LPO_NCU_CC },
    { "Section Name", LPO_NCU_SECTION },
    { "Metric Name", LPO_NCU_NAME },
    { "Metric Unit", LPO_NCU_PRINTED_UNIT },
    { "Metric Value", LPO_NCU_VALUE },
    { "Invocations", LPO_NCU_INVOCATIONS },
    { "Rule Name", LPO_NCU_RULE },
    { "Rule Type", LPO_NCU_RULE_KIND },
    { "Rule Description", LPO_NCU_RULE_TEXT },
    { "Estimated Speedup Type", LPO_NCU_SPEEDUP_KIND },
    { "Estimated Speedup", LPO_NCU_SPEEDUP },
    /* known and not wanted: the host's name is nobody's business */
    { "Host Name", LPO_NCU_SKIP },
    { "Context", LPO_NCU_SKIP },
    { "Kernel Time", LPO_NCU_SKIP },
    { "Body Item Label", LPO_NCU_SKIP },
};

static enum ncu_role role_of(const char *name)
{
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        if (strcmp(roles[i].name, name) == 0)
            return roles[i].role;
    }
    if (strstr(name, "Push/Pop_Range"))
        return LPO_NCU_PUSH_POP;
    if (strstr(name, "Start/Stop_Range"))
        return LPO_NCU_START_END;
    return *name ? LPO_NCU_METRIC : LPO_NCU_SKIP;
}

static struct ncu_column column_of(struct ncu_page *p, const char *name)
{
    struct ncu_column c = { .role = (uint8_t)role_of(name),
                            .name = lpo_trace_name(p->t, name),
                            .unit = LPO_NONE,
                            .metric = LPO_NONE,
                            .scale = 1 };

    if (c.role == LPO_NCU_METRIC) {
        c.fact = (uint8_t)lpo_ncu_fact_of(name, strlen(name));
        if (c.fact)
            c.role = LPO_NCU_FACT;
    }
    return c;
}

static void set_header(struct ncu_page *p)
{
    size_t metrics = 0;

    p->columns.len = 0;
    for (int i = 0; i < LPO_NCU_ROLES; i++)
        p->at[i] = -1;
    for (size_t i = 0; i < p->csv->count; i++) {
        struct ncu_column c = column_of(p, lpo_csv_cell_text(p->csv->cells[i], &p->text));

        if (p->at[c.role] < 0)
            p->at[c.role] = (int)i;
        if (c.role == LPO_NCU_METRIC && (p->t->skip & LPO_SKIP_METRICS))
            c.role = LPO_NCU_SKIP;
        metrics += c.role == LPO_NCU_METRIC ||
                   (c.role == LPO_NCU_FACT && lpo_ncu_is_metric((enum lpo_ncu_fact)c.fact));
        lpo_vec_push(&p->columns, c);
    }
    lpo_trace_metric_expect(p->t, metrics);
    if (p->at[LPO_NCU_PUSH_POP] >= 0 || p->at[LPO_NCU_START_END] >= 0)
        p->t->has_ranges = true;
}

static void set_units(struct ncu_page *p)
{
    for (size_t i = 0; i < p->csv->count && i < p->columns.len; i++) {
        struct ncu_column *c = &p->columns.at[i];
        char base[LPO_NCU_UNIT];

        c->scale = lpo_ncu_unit_scale(p->csv->cells[i].at, p->csv->cells[i].len, base);
        c->unit = *base ? lpo_trace_name(p->t, base) : LPO_NONE;
    }
}

/* Rows are as wide as all metrics together. Kernels that have a metric of their own each would fill
 * any memory; real ones have most metrics in common. */
static bool fits(const struct ncu_page *p, size_t rows, size_t columns)
{
    enum { SPARSE = 16 << 20, SHARE = 8 };

    return rows * columns <= SPARSE + SHARE * p->values;
}

uint32_t lpo_ncu_csv_metric_row(struct ncu_page *p)
{
    struct lpo_trace *t = p->t;

    if (t->skip & LPO_SKIP_METRICS)
        return LPO_NONE;
    if (!fits(p, t->nmetric_rows + 1, t->metric_cap)) {
        p->bare_results++;
        return LPO_NONE;
    }
    return lpo_trace_metric_row(t);
}

static void set_metric(struct ncu_page *p, struct ncu_column *c, uint32_t row, double v)
{
    struct lpo_trace *t = p->t;

    if (c->metric == LPO_NONE && t->metrics.len >= t->metric_cap &&
        !fits(p, t->nmetric_rows, t->metric_cap * 2)) {
        p->left_metrics++;
        return;
    }
    p->values++;
    if (c->metric == LPO_NONE)
        c->metric = lpo_trace_metric(t, lpo_trace_text(t, c->name), lpo_trace_text_len(t, c->name),
                                     lpo_trace_text(t, c->unit));
    lpo_trace_metric_set(t, row, c->metric, v);
}

void lpo_ncu_csv_set_value(struct ncu_page *p, struct ncu_column *c, uint32_t row,
                           struct lpo_ncu_result *r, struct lpo_csv_cell cell)
{
    double v;

    if (c->fact == LPO_NCU_DEVICE_NAME) {
        if (cell.len)
            r->device_name = lpo_trace_name(p->t, lpo_csv_cell_text(cell, &p->text));
        return;
    }
    if (!lpo_csv_cell_number(cell, &v))
        return;
    v *= c->scale;
    r->fact[c->fact] = v; /* [LPO_NCU_NONE] is a place like another that nobody reads */
    if (row != LPO_NONE && lpo_ncu_is_metric((enum lpo_ncu_fact)c->fact))
        set_metric(p, c, row, v);
}

static uint16_t process_of(struct ncu_page *p)
{
    int64_t pid;
    struct lpo_csv_cell program = lpo_ncu_csv_cell(p, LPO_NCU_PROGRAM);
    uint16_t row;

    if (!lpo_csv_cell_int(lpo_ncu_csv_cell(p, LPO_NCU_PID), &pid))
        pid = -1;
    if (p->last_process != LPO_NONE && p->last_pid == pid)
        return (uint16_t)p->last_process;
    row = lpo_trace_process(p->t, pid, -1);
    if (p->t->processes.at[row].name == LPO_NONE && program.len)
        p->t->processes.at[row].name = lpo_trace_name(p->t, lpo_csv_cell_text(program, &p->text));
    p->last_pid = pid;
    p->last_process = row;
    return row;
}

/* Rows of one region have equal cells, so a cell is taken apart once. */
static uint32_t stack_of(struct ncu_page *p)
{
    struct lpo_csv_cell push_pop = lpo_ncu_csv_cell(p, LPO_NCU_PUSH_POP);
    struct lpo_csv_cell start_end = lpo_ncu_csv_cell(p, LPO_NCU_START_END);
    uint64_t *slot;
    bool fresh;

    if (p->at[LPO_NCU_PUSH_POP] < 0 && p->at[LPO_NCU_START_END] < 0)
        return LPO_NONE;
    lpo_str_clear(&p->key);
    lpo_str_addn(&p->key, push_pop.at, push_pop.len);
    lpo_str_addc(&p->key, '\0');
    lpo_str_addn(&p->key, start_end.at, start_end.len);
    slot = lpo_map_put(p->stacks, p->key.at, p->key.len, &fresh);
    if (fresh) {
        unsigned threads;
        uint32_t stack;

        lpo_str_clear(&p->key);
        lpo_str_add(&p->key, lpo_csv_cell_text(start_end, &p->text));
        lpo_csv_cell_text(push_pop, &p->text);
        stack = lpo_ncu_cells_stack(p->t, lpo_str_text(&p->text), p->text.len,
                                    lpo_str_text(&p->key), p->key.len, &threads);
        *slot = (uint64_t)stack << 1 | (threads > 1);
    }
    p->several_threads += *slot & 1;
    return (uint32_t)(*slot >> 1);
}

struct lpo_gpu_op lpo_ncu_csv_gpu_op(struct ncu_page *p, struct lpo_ncu_result *r, int32_t *device)
{
    struct lpo_gpu_op w = { .metrics = LPO_NONE };
    struct lpo_csv_cell kernel = lpo_ncu_csv_cell(p, LPO_NCU_KERNEL);
    int64_t v;
    double cc;

    w.process = process_of(p);
    w.stack = stack_of(p);
    if (lpo_csv_cell_int(lpo_ncu_csv_cell(p, LPO_NCU_STREAM), &v))
        w.stream = (uint32_t)v;
    *device = lpo_csv_cell_int(lpo_ncu_csv_cell(p, LPO_NCU_DEVICE), &v) && v >= 0 ? (int32_t)v : 0;
    if (lpo_csv_cell_number(lpo_ncu_csv_cell(p, LPO_NCU_CC), &cc)) {
        r->fact[LPO_NCU_CC_MAJOR] = floor(cc);
        r->fact[LPO_NCU_CC_MINOR] = round((cc - floor(cc)) * 10);
    }
    r->has_shape = lpo_csv_cell_three(lpo_ncu_csv_cell(p, LPO_NCU_GRID), r->grid) &&
                   lpo_csv_cell_three(lpo_ncu_csv_cell(p, LPO_NCU_BLOCK), r->block);
    if (!kernel.doubled && kernel.len) /* the usual case, without a copy */
        w.name = lpo_trace_namen(p->t, kernel.at, kernel.len);
    else
        w.name = lpo_trace_name(p->t, kernel.len ? lpo_csv_cell_text(kernel, &p->text) : "(range)");
    if (!r->has_shape || r->block[0] == 0) {
        r->has_shape = false; /* range replay: no launch of its own */
        w.flags |= LPO_GPU_OP_WHOLE;
    }
    return w;
}

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

static void raw_row(struct ncu_page *p)
{
    const struct lpo_csv *csv = p->csv;
    size_t n = csv->count < p->columns.len ? csv->count : p->columns.len;
    struct lpo_ncu_result r;
    struct lpo_gpu_op w;
    int32_t device;

    lpo_ncu_result_reset(&r);
    w = lpo_ncu_csv_gpu_op(p, &r, &device);
    w.metrics = lpo_ncu_csv_metric_row(p);
    for (size_t i = 0; i < n; i++) {
        struct ncu_column *c = &p->columns.at[i];
        double v;

        if (c->role == LPO_NCU_METRIC && c->metric != LPO_NONE && w.metrics != LPO_NONE) {
            if (lpo_csv_cell_number(csv->cells[i], &v)) { /* ten million times */
                p->t->metric_rows[w.metrics * p->t->metric_cap + c->metric] = v * c->scale;
                p->values++;
            }
        } else if (c->role == LPO_NCU_METRIC || c->role == LPO_NCU_FACT) {
            lpo_ncu_csv_set_value(p, c, w.metrics, &r, csv->cells[i]);
        }
    }
    lpo_ncu_push(p->t, w, &r, device);
}

/* --- any page ------------------------------------------------------------------------------- */

static int find_header(struct ncu_page *p, struct lpo_err *err)
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

static int check_header(struct ncu_page *p, struct lpo_err *err)
{
    set_header(p);
    if (p->at[LPO_NCU_INVOCATIONS] >= 0)
        return lpo_fail(err, LPO_E_FORMAT,
                        "a summary over kernels (--print-summary); export each kernel with: ncu "
                        "--import FILE --page raw --csv --print-units base");
    if (p->at[LPO_NCU_KERNEL] < 0)
        return lpo_fail(err, LPO_E_FORMAT, "its header has no column 'Kernel Name'");
    return 0;
}

static void one_row(struct ncu_page *p)
{
    bool details = p->at[LPO_NCU_NAME] >= 0 && p->at[LPO_NCU_VALUE] >= 0;

    if (lpo_csv_cell_is(lpo_ncu_csv_cell(p, LPO_NCU_KERNEL), "Kernel Name")) {
        set_header(p); /* two outputs in one file */
        lpo_map_destroy(p->labels);
        p->labels = lpo_map_create();
    } else if (details && p->csv->count > (size_t)p->at[LPO_NCU_KERNEL]) {
        lpo_ncu_details_row(p);
    } else if (!details && lpo_ncu_csv_cell(p, LPO_NCU_ID).len == 0 &&
               lpo_ncu_csv_cell(p, LPO_NCU_KERNEL).len == 0) {
        set_units(p);
    } else if (!details && p->csv->count >= p->columns.len / 2 && p->csv->count > 1) {
        raw_row(p);
    } else {
        p->odd_rows++;
    }
}

static void add_notes(struct ncu_page *p, const char *broken)
{
    if (broken)
        lpo_trace_note_damage(p->t, 0, "the CSV could be read only in part: %s", broken);
    if (p->csv->cut)
        lpo_trace_note_damage(p->t, 0, "the compressed file was cut short: what is there was read");
    if (p->odd_rows)
        lpo_trace_note(p->t, p->odd_rows, "lines of the CSV are not rows of ncu: left out");
    if (p->bare_results)
        lpo_trace_note(p->t, p->bare_results,
                       "kernels are read without counters: each has other metrics, and the table "
                       "of all would be far larger than the file");
    if (p->left_metrics)
        lpo_trace_note(p->t, p->left_metrics,
                       "values of metrics are left out: each kernel has other metrics, and the "
                       "table of all would be far larger than the file");
    if (p->several_threads)
        lpo_trace_note(p->t, p->several_threads,
                       "kernels list the ranges of several threads and the CSV does not say which "
                       "one launched them: the first is taken (the .ncu-rep says which)");
}

static int read_page(struct ncu_page *p, struct lpo_err *err)
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
    struct ncu_page p = { .t = into,
                          .first_gpu_op = (uint32_t)into->gpu_ops.len,
                          .last_process = LPO_NONE,
                          .values = into->nmetric_rows * into->metrics.len };
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
