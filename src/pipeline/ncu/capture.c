/* What the stage and `lpo kernels` share of a capture: its words, its tables, its end. */
#include "pipeline/ncu/ncu.h"

#include <string.h>

#include "hydra/compose.h"
#include "pipeline/stage.h"
#include "pipeline/tool_messages.h"
#include "run/child/supervise.h"
#include "run/step.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/path.h"

enum { MAX_LOG = 64 << 20, MAX_LINE = 400 };

void lpo_pipeline_ncu_add_start(struct lpo_arena *a, const char *ncu, const struct lpo_node *cli,
                                struct lpo_step *step)
{
    lpo_run_step_arg(a, step, ncu);
    lpo_run_step_arg(a, step, "--config-file");
    lpo_run_step_arg(a, step, "off");
    lpo_pipeline_ncu_add_flags(a, cli, step);
}

void lpo_pipeline_ncu_add_outputs(struct lpo_arena *a, const struct lpo_node *cli, const char *base,
                                  struct lpo_step *step)
{
    if (lpo_node_conf_bool(cli, "force_overwrite", true))
        lpo_run_step_arg(a, step, "--force-overwrite");
    lpo_run_step_arg(a, step, "--log-file");
    lpo_run_step_argf(a, step, "%s.log", base);
    lpo_run_step_arg(a, step, "--export");
    lpo_run_step_arg(a, step, base);
}

struct lpo_step *lpo_pipeline_ncu_add_table(struct lpo_stage_ctx *ctx, struct lpo_steps *steps,
                                            const char *ncu, const char *report,
                                            const struct lpo_ncu_table *table)
{
    struct lpo_arena *a = ctx->arena;
    struct lpo_step *step = lpo_pipeline_stage_add_tool(ctx, steps, table->label, table->log);

    lpo_run_step_arg(a, step, ncu);
    lpo_run_step_arg(a, step, "--import");
    lpo_run_step_arg(a, step, report);
    lpo_run_step_arg(a, step, "--page");
    lpo_run_step_arg(a, step, table->page);
    lpo_run_step_arg(a, step, "--print-units");
    lpo_run_step_arg(a, step, "base");
    if (table->section) {
        lpo_run_step_arg(a, step, "--section");
        lpo_run_step_arg(a, step, table->section);
    }
    if (table->csv)
        lpo_run_step_arg(a, step, "--csv");
    step->stdout_path = lpo_path_join(a, ctx->dir, table->file);
    step->optional = true;
    return step;
}

/* "==ERROR== Option … did not match any section." without its mark; NULL: there is none. */
static const char *error_line(struct lpo_arena *a, const char *text)
{
    static const char mark[] = "==ERROR== ";
    const char *at = strstr(text, mark);
    size_t len;

    if (!at)
        return NULL;
    at += sizeof mark - 1;
    len = strcspn(at, "\r\n");
    return lpo_arena_printf(a, "ncu says: %.*s", (int)(len < MAX_LINE ? len : MAX_LINE), at);
}

/* What `file` says of the failure: a message we know, or ncu's own line. */
static const char *look(struct lpo_arena *a, const char *file,
                        const struct lpo_tool_message **message)
{
    LPO_AUTO(lpo_file_text) text = NULL;

    if (!file || lpo_file_text_read_limit(file, MAX_LOG, &text, NULL) < 0)
        return NULL;
    *message = lpo_pipeline_tool_message_find(text->at);
    return *message ? NULL : error_line(a, text->at);
}

const char *lpo_pipeline_ncu_problem(struct lpo_arena *a, const char *log,
                                     const struct lpo_step *step, const struct lpo_result *r,
                                     const struct lpo_tool_message **message)
{
    struct lpo_err err = { 0 };
    bool failed = lpo_pipeline_stage_judge(step, r, &err) < 0;
    const char *said;

    *message = NULL;
    said = look(a, log, message);
    /* What is wrong with its words ncu prints before it opens its log. */
    if (failed && !*message && !said)
        said = look(a, step->stdout_path, message);
    if (failed && !*message && !said)
        said = look(a, step->stderr_path, message);
    if (*message && ((*message)->what & LPO_TOOL_ADVICE) && !failed)
        return NULL;
    if (*message)
        return lpo_arena_printf(a, "%s: %s", (*message)->meaning, (*message)->remedy);
    if (!failed)
        return NULL;
    return said ? lpo_arena_printf(a, "%s (%s)", lpo_err_cause(&err), said)
                : lpo_arena_strdup(a, lpo_err_cause(&err));
}
