/* SPDX-License-Identifier: Apache-2.0 */
/* The details page of `ncu --csv`: one row per kernel and metric, by labels for people, and rows
 * with what a rule advises. */

#include "trace/metric_rules.h"
#include "trace/ncu/private.h"

static uint32_t details_gpu_op(struct ncu_page *p)
{
    struct lpo_csv_cell id = lpo_ncu_csv_cell(p, LPO_NCU_ID),
                        pid = lpo_ncu_csv_cell(p, LPO_NCU_PID);
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
    w = lpo_ncu_csv_gpu_op(p, &r, &device);
    w.metrics = lpo_ncu_csv_metric_row(p);
    lpo_ncu_push(p->t, w, &r, device);
    lpo_vec_push(&p->results, r);
    return (uint32_t)p->results.len - 1;
}

/* A label that we know gets its metric's name; another is kept apart by its section, since
 * "Memory Throughput" is a percentage in one and a rate in the other. */
static void name_metric(struct ncu_page *p, struct ncu_column *c)
{
    LPO_STR section = { 0 };
    const char *label = lpo_csv_cell_text(lpo_ncu_csv_cell(p, LPO_NCU_NAME), &p->text);
    const char *known;

    lpo_csv_cell_text(lpo_ncu_csv_cell(p, LPO_NCU_SECTION), &section);
    known = lpo_trace_metric_of_label(lpo_str_text(&section), label);
    if (!known && !strstr(label, "__") && section.len) {
        lpo_str_addf(&section, ": %s", label);
        known = lpo_str_text(&section);
    }
    if (!known)
        known = label;
    c->name = lpo_trace_name(p->t, known);
    c->fact = (uint8_t)lpo_ncu_fact_of(known, strlen(known));
}

static struct ncu_column *details_column(struct ncu_page *p)
{
    static const enum ncu_role parts[] = { LPO_NCU_SECTION, LPO_NCU_NAME, LPO_NCU_PRINTED_UNIT };
    struct lpo_csv_cell unit = lpo_ncu_csv_cell(p, LPO_NCU_PRINTED_UNIT);
    struct ncu_column c = { .unit = LPO_NONE, .metric = LPO_NONE };
    char base[LPO_NCU_UNIT];
    uint64_t *slot;
    bool fresh;

    lpo_str_clear(&p->key);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        struct lpo_csv_cell cell = lpo_ncu_csv_cell(p, parts[i]);

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

/* Which of the words the cell holds; 0 where it is none of them. */
static uint8_t word_of(struct lpo_csv_cell cell, const char *const *words, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (cell.len == strlen(words[i]) && memcmp(cell.at, words[i], cell.len) == 0)
            return (uint8_t)i;
    return 0;
}

static uint32_t name_of_cell(struct ncu_page *p, enum ncu_role role)
{
    struct lpo_csv_cell cell = lpo_ncu_csv_cell(p, role);

    return cell.len ? lpo_trace_name(p->t, lpo_csv_cell_text(cell, &p->text)) : LPO_NONE;
}

/* Advice of a rule, in a row without a metric. */
static void details_rule(struct ncu_page *p, uint32_t gpu_op)
{
    static const char *const kinds[] = {
        [LPO_RULE_NOTE] = "",     [LPO_RULE_INFO] = "INF",   [LPO_RULE_WARNING] = "WRN",
        [LPO_RULE_ERROR] = "ERR", [LPO_RULE_ADVICE] = "OPT",
    };
    static const char *const speedups[] = { "", "local", "global" };
    struct lpo_rule rule = {
        .op = gpu_op,
        .section = name_of_cell(p, LPO_NCU_SECTION),
        .rule = name_of_cell(p, LPO_NCU_RULE),
        .title = LPO_NONE,
        .kind =
            word_of(lpo_ncu_csv_cell(p, LPO_NCU_RULE_KIND), kinds, sizeof kinds / sizeof *kinds),
        .speedup = word_of(lpo_ncu_csv_cell(p, LPO_NCU_SPEEDUP_KIND), speedups, 3),
    };
    const char *text;

    if (lpo_ncu_csv_cell(p, LPO_NCU_RULE_TEXT).len == 0 || p->t->skip & LPO_SKIP_METRICS)
        return;
    text = lpo_csv_cell_text(lpo_ncu_csv_cell(p, LPO_NCU_RULE_TEXT), &p->text);
    rule.text = lpo_ncu_rule_text(p->t, text, strlen(text));
    if (!lpo_csv_cell_number(lpo_ncu_csv_cell(p, LPO_NCU_SPEEDUP), &rule.percent) ||
        !(rule.percent >= 0 && rule.percent <= 100))
        rule.percent = (double)NAN;
    lpo_ncu_rule_add(p->t, &rule);
}

void lpo_ncu_details_row(struct ncu_page *p)
{
    uint32_t i = details_gpu_op(p);
    struct lpo_ncu_result *r = &p->results.at[i];
    uint32_t gpu_op = p->first_gpu_op + i;

    if (lpo_ncu_csv_cell(p, LPO_NCU_NAME).len == 0) {
        details_rule(p, gpu_op);
        return;
    }
    lpo_ncu_csv_set_value(p, details_column(p), p->t->gpu_ops.at[gpu_op].metrics, r,
                          lpo_ncu_csv_cell(p, LPO_NCU_VALUE));
    lpo_ncu_update(p->t, gpu_op, r);
}
