/* SPDX-License-Identifier: Apache-2.0 */
/* What went wrong with a capture, from its log and its end, in plain words. */
#include "pipeline/ncu/ncu.h"

#include <string.h>

#include "pipeline/stage.h"
#include "pipeline/tool_messages.h"
#include "run/child/supervise.h"
#include "run/step.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"

enum { MAX_LOG = 64 << 20, MAX_LINE = 400 };

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

/* What `file` says about the failure: a message we know, or ncu's own line. */
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
    const char *line;

    *message = NULL;
    line = look(a, log, message);
    /* ncu opens its log only after it has read its flags: a wrong flag is on its own output. */
    if (failed && !*message && !line)
        line = look(a, step->stdout_path, message);
    if (failed && !*message && !line)
        line = look(a, step->stderr_path, message);
    if (*message && ((*message)->what & LPO_TOOL_ADVICE) && !failed)
        return NULL;
    if (*message)
        return lpo_arena_printf(a, "%s: %s", (*message)->meaning, (*message)->remedy);
    if (!failed)
        return NULL;
    return line ? lpo_arena_printf(a, "%s (%s)", lpo_err_cause(&err), line)
                : lpo_arena_strdup(a, lpo_err_cause(&err));
}
