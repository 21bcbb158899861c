/* SPDX-License-Identifier: Apache-2.0 */
/* Which kernels took most GPU time in the stages before: those that a capture is limited to. */
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/run.h"
#include "pipeline/ncu/command.h"
#include "rundir/rundir.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/str.h"
#include "writer/top_yaml.h"

/* "void ns::gemm<float>(int)" is the function gemm to ncu's --kernel-name; as a regular expression,
 * without its anchors. */
static const char *function_regex(struct lpo_arena *a, const char *full)
{
    LPO_STR regex = { 0 };

    lpo_writer_kernel_regex(&regex, full);
    return regex.len > 2 ? lpo_arena_strndup(a, regex.at + 1, regex.len - 2) : "";
}

static const char *regex_of(struct lpo_arena *a, const struct lpo_analysis *x, size_t n)
{
    const lpo_top_rows *rows = lpo_analysis_top(x, LPO_KERNEL);
    size_t used = 0;
    LPO_STR text = { 0 };

    for (size_t i = 0; i < rows->len && rows->at[i].sum.ns > 0 && used < n; i++) {
        const char *name = function_regex(a, lpo_trace_text(x->trace, rows->at[i].name));
        char *bounded = lpo_arena_printf(a, "|%s|", name);

        if (!*name || strstr(lpo_str_text(&text), bounded))
            continue;
        lpo_str_add(&text, used++ ? bounded + 1 : bounded);
    }
    if (!used)
        return NULL;
    text.at[text.len - 1] = '\0'; /* |a|b|c| */
    return lpo_arena_printf(a, "regex:^(%s)$", text.at + 1);
}

const char *lpo_pipeline_ncu_top_kernels(struct lpo_arena *a, struct lpo_analysis_run *run,
                                         const char *stage, size_t n)
{
    /* Most trusted first. What this tool itself left before a rerun is not asked: it saw only what
     * it was told to measure. */
    for (size_t i = 0; run && i < run->dir->sources.len; i++) {
        const struct lpo_source *s = &run->dir->sources.at[i];
        bool asked = stage ? strcmp(s->stage, stage) == 0 : !(s->kind->roles & LPO_ROLE_COUNTERS);
        const struct lpo_analysis *x = asked ? lpo_analysis_run_stage(run, s->stage) : NULL;
        const char *regex = x ? regex_of(a, x, n) : NULL;

        if (regex)
            return regex;
    }
    return NULL;
}
