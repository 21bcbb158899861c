/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/counters/rules.h"

#include "trace/trace.h"

LPO_NAMES(lpo_counters_rule_kind, unsigned, [LPO_RULE_NOTE] = "note", [LPO_RULE_INFO] = "info",
          [LPO_RULE_WARNING] = "warning", [LPO_RULE_ERROR] = "error", [LPO_RULE_ADVICE] = "advice");

LPO_NAMES(lpo_counters_rule_speedup,
          unsigned, [LPO_SPEEDUP_LOCAL] = "local", [LPO_SPEEDUP_GLOBAL] = "global");

/* A title is one for each message of a rule; where the source has none, its text is. */
static struct lpo_counters_rule *row_of(struct lpo_counters_rules *out, struct lpo_map *rows,
                                        const struct lpo_rule *r, uint32_t kernel)
{
    uint32_t key[5] = { kernel, r->section, r->rule, r->title == LPO_NONE ? r->text : r->title,
                        (uint32_t)r->kind << 8 | r->speedup };
    bool fresh;
    uint64_t *at = lpo_map_put(rows, (const char *)key, sizeof key, &fresh);

    if (fresh) {
        *at = out->rows.len;
        lpo_vec_push(&out->rows, (struct lpo_counters_rule){ .kernel = kernel,
                                                             .section = r->section,
                                                             .rule = r->rule,
                                                             .title = r->title,
                                                             .text = r->text,
                                                             .kind = r->kind,
                                                             .speedup = r->speedup,
                                                             .percent = (double)NAN,
                                                             .saving_ns = (double)NAN });
    }
    return &out->rows.at[*at];
}

static void add(struct lpo_counters_rule *row, const struct lpo_rule *r,
                const struct lpo_gpu_op *op)
{
    int64_t ns = op->flags & LPO_GPU_OP_NO_LENGTH ? 0 : lpo_trace_gpu_op_ns(op);

    row->launches++;
    row->gpu_ns += ns;
    if (isnan(r->percent))
        return;
    if (r->speedup == LPO_SPEEDUP_GLOBAL)
        row->saving_ns =
            (isnan(row->saving_ns) ? 0 : row->saving_ns) + (double)ns * r->percent / 100;
    if (isnan(row->percent) || r->percent > row->percent) {
        row->percent = r->percent;
        row->text = r->text;
    }
}

/* Unknown is the least. */
static int compare(double a, double b)
{
    a = isnan(a) ? -1 : a;
    b = isnan(b) ? -1 : b;
    return (a < b) - (a > b);
}

static int most_first(const void *x, const void *y)
{
    const struct lpo_counters_rule *a = x, *b = y;
    int order = compare(a->saving_ns, b->saving_ns);

    if (!order)
        order = (a->kind < b->kind) - (a->kind > b->kind); /* advice before information */
    if (!order)
        order = (a->gpu_ns < b->gpu_ns) - (a->gpu_ns > b->gpu_ns);
    if (!order)
        order = compare(a->percent, b->percent);
    if (!order)
        order = (a->kernel > b->kernel) - (a->kernel < b->kernel);
    return order ? order : (a->text > b->text) - (a->text < b->text);
}

struct lpo_counters_rules *lpo_counters_rules_create(const struct lpo_trace *t)
{
    struct lpo_counters_rules *out = lpo_xcalloc(1, sizeof *out);
    struct lpo_map *rows = lpo_map_create();

    for (size_t i = 0; i < t->rules.len; i++) {
        const struct lpo_rule *r = &t->rules.at[i];
        const struct lpo_gpu_op *op = &t->gpu_ops.at[r->op];

        add(row_of(out, rows, r, op->name), r, op);
    }
    lpo_vec_sort(&out->rows, most_first);
    lpo_map_destroy(rows);
    return out;
}

void lpo_counters_rules_destroy(struct lpo_counters_rules *r)
{
    if (!r)
        return;
    lpo_vec_free(&r->rows);
    free(r);
}
