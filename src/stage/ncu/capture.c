/* What the stage and `lpo kernels` share of a capture: its words, its tables, its end. */
#include "stage/ncu/ncu.h"

#include "config/node.h"
#include "run/plan.h"
#include "run/supervise.h"
#include "stage/messages.h"
#include "stage/stage.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/path.h"

enum { MAX_LOG = 64 << 20 };

void lpo_ncu_add_start(struct lpo_arena *a, const char *ncu, const struct lpo_node *cli,
                       struct lpo_step *step)
{
    lpo_step_arg(a, step, ncu);
    lpo_step_arg(a, step, "--config-file");
    lpo_step_arg(a, step, "off");
    lpo_ncu_add_flags(a, cli, step);
}

void lpo_ncu_add_outputs(struct lpo_arena *a, const struct lpo_node *cli, const char *base,
                         struct lpo_step *step)
{
    if (lpo_conf_bool(cli, "force_overwrite", true))
        lpo_step_arg(a, step, "--force-overwrite");
    lpo_step_arg(a, step, "--log-file");
    lpo_step_argf(a, step, "%s.log", base);
    lpo_step_arg(a, step, "--export");
    lpo_step_arg(a, step, base);
}

struct lpo_step *lpo_ncu_add_table(struct lpo_stage_ctx *ctx, struct lpo_steps *steps,
                                   const char *ncu, const char *report,
                                   const struct lpo_ncu_table *table)
{
    struct lpo_arena *a = ctx->arena;
    struct lpo_step *step = lpo_stage_add_tool(ctx, steps, table->label, table->log);

    lpo_step_arg(a, step, ncu);
    lpo_step_arg(a, step, "--import");
    lpo_step_arg(a, step, report);
    lpo_step_arg(a, step, "--page");
    lpo_step_arg(a, step, table->page);
    lpo_step_arg(a, step, "--print-units");
    lpo_step_arg(a, step, "base");
    if (table->section) {
        lpo_step_arg(a, step, "--section");
        lpo_step_arg(a, step, table->section);
    }
    if (table->csv)
        lpo_step_arg(a, step, "--csv");
    step->stdout_path = lpo_path_join(a, ctx->dir, table->file);
    step->optional = true;
    return step;
}

const char *lpo_ncu_problem(struct lpo_arena *a, const char *log, const struct lpo_step *step,
                            const struct lpo_result *r, const struct lpo_tool_message **message)
{
    LPO_AUTO(lpo_text) text = NULL;
    struct lpo_err err = { 0 };

    *message = NULL;
    if (lpo_text_read_limit(log, MAX_LOG, &text, NULL) == 0)
        *message = lpo_tool_message_find(text->at);
    if (*message && ((*message)->what & LPO_TOOL_ADVICE) && lpo_stage_judge(step, r, NULL) == 0)
        return NULL;
    if (*message)
        return lpo_arena_printf(a, "%s: %s", (*message)->meaning, (*message)->remedy);
    if (lpo_stage_judge(step, r, &err) < 0)
        return lpo_arena_strdup(a, lpo_err_cause(&err));
    return NULL;
}
