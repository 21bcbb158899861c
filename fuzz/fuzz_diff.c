/* SPDX-License-Identifier: Apache-2.0 */
/* Two digests of a history from any bytes, with a line between them, compared and printed in every
 * way; before them a line of YAML with budgets. What must hold: parts add up, and nothing that is
 * not finite is called a proven change. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/diff/budgets.h"
#include "analysis/diff/diff.h"
#include "analysis/diff/digest_json.h"
#include "analysis/diff/trend.h"
#include "hydra/compose.h"
#include "report/diff/diff.h"
#include "report/doc/doc.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/str.h"
#include "writer/writer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void insist(int truth)
{
    if (!truth)
        abort();
}

static void check(const struct lpo_diff *d)
{
    int64_t sum = 0;

    for (size_t i = 0; i < LPO_DIFF_PARTS; i++)
        sum += d->wall.parts[i];
    insist(!d->wall.known || sum == d->wall.ns[LPO_DIFF_B] - d->wall.ns[LPO_DIFF_A]);
    insist(isfinite(lpo_diff_regression(d)));
    for (int t = 0; t < LPO_DIFF_TABLES; t++)
        for (size_t i = 0; i < d->rows[t].len; i++) {
            const struct lpo_diff_row *r = &d->rows[t].at[i];

            insist(r->item[LPO_DIFF_A] || r->item[LPO_DIFF_B]);
            insist(r->verdict.p >= 0 && r->verdict.p <= 1);
            insist(isfinite(r->delta_step_ns));
            insist(i == 0 || fabs(d->rows[t].at[i - 1].delta_step_ns) >= fabs(r->delta_step_ns));
        }
}

static void compare(struct lpo_diff_digest *a, struct lpo_diff_digest *b,
                    const lpo_diff_budgets *budgets)
{
    struct lpo_diff_digest *twice[] = { a, a, b };
    LPO_AUTO(lpo_diff)
    d = lpo_diff_create((struct lpo_diff_runs){ &a, 1 }, (struct lpo_diff_runs){ &b, 1 });
    LPO_AUTO(lpo_diff)
    many =
        lpo_diff_create((struct lpo_diff_runs){ twice, 3 }, (struct lpo_diff_runs){ twice + 1, 2 });
    struct lpo_report_diff_options o = { .rows = 5, .all = true, .gated = true };

    check(d);
    check(many);
    lpo_diff_check_all(d, budgets, &o.checks);
    for (size_t i = 0; lpo_writer_at(i); i++) {
        LPO_AUTO(lpo_doc) doc = lpo_report_diff_doc(d, &o);
        LPO_STR out = { 0 };

        if (lpo_writer_at(i)->write)
            lpo_writer_at(i)->write(doc, &out);
    }
    lpo_vec_free(&o.checks);
}

static size_t line_end(const char *text, size_t len)
{
    const char *end = memchr(text, '\n', len);

    return end ? (size_t)(end - text) : len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    LPO_AUTO(lpo_arena) arena = lpo_arena_create();
    LPO_AUTO(lpo_diff_digest) a = NULL;
    LPO_AUTO(lpo_diff_digest) b = NULL;
    const char *text = (const char *)data;
    lpo_diff_budgets budgets = { 0 };
    struct lpo_node *root = NULL;
    struct lpo_err err = { 0 };
    size_t first, second;

    if (size > 100000)
        return 0;
    first = line_end(text, size);
    if (lpo_yaml_parse(arena, text, first, "budgets", &root, &err) == 0)
        insist(lpo_diff_budgets_read(arena, root, &budgets, &err) == 0 || lpo_err_cause(&err)[0]);
    text += first < size ? first + 1 : first;
    size -= first < size ? first + 1 : first;
    second = line_end(text, size);
    if (lpo_diff_digest_parse(text, second, &a, &err) == 0) {
        insist(!(lpo_diff_figure_of(a, "wall") < 0) && !(lpo_diff_figure_of(a, "region:*") < 0));
        text += second < size ? second + 1 : second;
        size -= second < size ? second + 1 : second;
        if (lpo_diff_digest_parse(text, line_end(text, size), &b, &err) == 0)
            compare(a, b, &budgets);
        else
            compare(a, a, &budgets);
    }
    lpo_vec_free(&budgets);
    return 0;
}
