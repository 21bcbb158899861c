/* Columns of ncu's CSV pages: which is which, in what unit, and the parts that all pages share. */
#include "trace/ncu/csv.h"

#include <math.h>
#include <string.h>

#include "util/map.h"

static const struct role_row {
    const char *name;
    enum lpo_ncu_role role;
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
    /* known and not wanted: the host's name is nobody's business */
    { "Host Name", LPO_NCU_SKIP },
    { "Context", LPO_NCU_SKIP },
    { "Kernel Time", LPO_NCU_SKIP },
    { "Body Item Label", LPO_NCU_SKIP },
    { "Rule Name", LPO_NCU_SKIP },
    { "Rule Type", LPO_NCU_SKIP },
    { "Rule Description", LPO_NCU_SKIP },
    { "Estimated Speedup Type", LPO_NCU_SKIP },
    { "Estimated Speedup", LPO_NCU_SKIP },
};

static enum lpo_ncu_role role_of(const char *name)
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

static struct lpo_ncu_column column_of(struct lpo_ncu_page *p, const char *name)
{
    struct lpo_ncu_column c = { .role = (uint8_t)role_of(name),
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

void lpo_ncu_set_header(struct lpo_ncu_page *p)
{
    size_t metrics = 0;

    p->columns.len = 0;
    for (int i = 0; i < LPO_NCU_ROLES; i++)
        p->at[i] = -1;
    for (size_t i = 0; i < p->csv->count; i++) {
        struct lpo_ncu_column c = column_of(p, lpo_csv_cell_text(p->csv->cells[i], &p->text));

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

void lpo_ncu_set_units(struct lpo_ncu_page *p)
{
    for (size_t i = 0; i < p->csv->count && i < p->columns.len; i++) {
        struct lpo_ncu_column *c = &p->columns.at[i];
        char base[LPO_NCU_UNIT];

        c->scale = lpo_ncu_unit_scale(p->csv->cells[i].at, p->csv->cells[i].len, base);
        c->unit = *base ? lpo_trace_name(p->t, base) : LPO_NONE;
    }
}

static void set_metric(struct lpo_ncu_page *p, struct lpo_ncu_column *c, uint32_t row, double v)
{
    struct lpo_trace *t = p->t;

    if (c->metric == LPO_NONE)
        c->metric = lpo_trace_metric(t, lpo_trace_text(t, c->name), lpo_trace_text_len(t, c->name),
                                     lpo_trace_text(t, c->unit));
    lpo_trace_metric_set(t, row, c->metric, v);
}

void lpo_ncu_set_value(struct lpo_ncu_page *p, struct lpo_ncu_column *c, uint32_t row,
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

static uint16_t process_of(struct lpo_ncu_page *p)
{
    int64_t pid;
    struct lpo_csv_cell program = lpo_ncu_cell(p, LPO_NCU_PROGRAM);
    uint16_t row;

    if (!lpo_csv_cell_int(lpo_ncu_cell(p, LPO_NCU_PID), &pid))
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
static uint32_t stack_of(struct lpo_ncu_page *p)
{
    struct lpo_csv_cell push_pop = lpo_ncu_cell(p, LPO_NCU_PUSH_POP);
    struct lpo_csv_cell start_end = lpo_ncu_cell(p, LPO_NCU_START_END);
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

struct lpo_gpu_op lpo_ncu_row_gpu_op(struct lpo_ncu_page *p, struct lpo_ncu_result *r,
                                     int32_t *device)
{
    struct lpo_gpu_op w = { .metrics = LPO_NONE };
    struct lpo_csv_cell kernel = lpo_ncu_cell(p, LPO_NCU_KERNEL);
    int64_t v;
    double cc;

    w.process = process_of(p);
    w.stack = stack_of(p);
    if (lpo_csv_cell_int(lpo_ncu_cell(p, LPO_NCU_STREAM), &v))
        w.stream = (uint32_t)v;
    *device = lpo_csv_cell_int(lpo_ncu_cell(p, LPO_NCU_DEVICE), &v) && v >= 0 ? (int32_t)v : 0;
    if (lpo_csv_cell_number(lpo_ncu_cell(p, LPO_NCU_CC), &cc)) {
        r->fact[LPO_NCU_CC_MAJOR] = floor(cc);
        r->fact[LPO_NCU_CC_MINOR] = round((cc - floor(cc)) * 10);
    }
    r->has_shape = lpo_csv_cell_three(lpo_ncu_cell(p, LPO_NCU_GRID), r->grid) &&
                   lpo_csv_cell_three(lpo_ncu_cell(p, LPO_NCU_BLOCK), r->block);
    if (!kernel.doubled && kernel.len) /* the usual case, without a copy */
        w.name = lpo_trace_namen(p->t, kernel.at, kernel.len);
    else
        w.name = lpo_trace_name(p->t, kernel.len ? lpo_csv_cell_text(kernel, &p->text) : "(range)");
    if (!r->has_shape || r->block[0] == 0) {
        r->has_shape = false; /* range replay: no launch of its own */
        w.flags |= LPO_WORK_WHOLE;
    }
    return w;
}
