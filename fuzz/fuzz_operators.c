/* SPDX-License-Identifier: Apache-2.0 */
/* What an operator was called with, as a trace has it, and what the call computes and moves: its
 * name, shapes, types, values, the name of the step around it and a rule of the user, with tabs
 * between. A number is unknown or not below 0. */
#include "scratch.h"

#include "analysis/operators/cost.h"
#include "analysis/steps/steps.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/err.h"

enum { NAME, DIMS, TYPES, VALUES, STEP, RULE, FIELDS };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    LPO_AUTO(lpo_trace) t = lpo_trace_create();
    LPO_AUTO(lpo_operators_rules) own = NULL;
    const char *p = (const char *)data, *end = p + size, *field[FIELDS];
    struct lpo_step_lengths lengths;
    struct lpo_operator_cost cost;
    struct lpo_op_args args;
    struct lpo_op op = { 0 };
    struct lpo_err err = { 0 };

    if (size > 4096)
        return 0;
    for (int i = 0; i < FIELDS; i++) {
        const char *tab = p < end ? memchr(p, '\t', (size_t)(end - p)) : NULL;
        size_t len = p < end ? (size_t)((tab ? tab : end) - p) : 0;

        field[i] = lpo_arena_strndup(a, len ? p : "", len);
        p = tab ? tab + 1 : end;
    }
    args = (struct lpo_op_args){ lpo_trace_name(t, field[DIMS]), lpo_trace_name(t, field[TYPES]),
                                 lpo_trace_name(t, field[VALUES]) };
    op.name = lpo_trace_name(t, field[NAME]);
    op.args = lpo_trace_op_args(t, &args);
    if (*field[RULE] && lpo_operators_rules_read(&field[RULE], 1, &own, &err) < 0)
        insist(lpo_err_cause(&err)[0] != '\0');
    cost = lpo_operators_cost(t, &op, own,
                              lpo_steps_read_lengths(field[STEP], &lengths) ? &lengths : NULL);
    insist(!(cost.flops < 0) && !(cost.bytes < 0));
    return 0;
}
