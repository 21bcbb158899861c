/* SPDX-License-Identifier: Apache-2.0 */
#include "report/traced_facts.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/frameworks.h"
#include "rundir/rundir.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/path.h"
#include "util/str.h"

enum { MOST_LISTED = 8 }; /* ranks and files by name; of more, their number */

static const struct lpo_trace *main_trace(const struct lpo_rundir *d)
{
    const struct lpo_source *s = lpo_rundir_main(d);

    return s ? s->trace : NULL;
}

/* --- GPUs ----------------------------------------------------------------------------------- */

/* Devices with the name of device `i` that have operations; 0 where an earlier one has the name. */
static size_t count_named(const struct lpo_trace *t, const bool *used, size_t i)
{
    size_t n = 0;

    for (size_t k = 0; k < t->devices.len; k++) {
        if (!used[k] || strcmp(lpo_trace_text(t, t->devices.at[k].name),
                               lpo_trace_text(t, t->devices.at[i].name)) != 0)
            continue;
        if (k < i)
            return 0;
        n++;
    }
    return n;
}

const char *lpo_report_traced_gpus(const struct lpo_rundir *d)
{
    const struct lpo_trace *t = main_trace(d);
    LPO_STR text = { 0 };
    bool *used;

    if (!t || !t->devices.len)
        return NULL;
    used = lpo_arena_array(d->arena, t->devices.len, sizeof *used);
    for (size_t i = 0; i < t->gpu_ops.len; i++)
        if (t->gpu_ops.at[i].device < t->devices.len)
            used[t->gpu_ops.at[i].device] = true;
    for (size_t i = 0; i < t->devices.len; i++) {
        size_t n = used[i] ? count_named(t, used, i) : 0;
        uint32_t name = t->devices.at[i].name;

        if (n && !*lpo_trace_text(t, name))
            lpo_str_addf(&text, "%s%zu GPU%s that the trace does not name", text.len ? ", " : "", n,
                         n == 1 ? "" : "s");
        else if (n)
            lpo_str_addf(&text, "%s%zu x %s", text.len ? ", " : "", n, lpo_trace_text(t, name));
    }
    return text.len ? lpo_arena_strdup(d->arena, text.at) : NULL;
}

/* --- ranks and files ------------------------------------------------------------------------ */

static int by_number(const void *x, const void *y)
{
    int32_t a = *(const int32_t *)x, b = *(const int32_t *)y;

    return (a > b) - (a < b);
}

const char *lpo_report_traced_ranks(const struct lpo_rundir *d)
{
    const struct lpo_trace *t = main_trace(d);
    int32_t *ranks;
    size_t n = 0, different = 0;
    LPO_STR text = { 0 };

    if (!t)
        return NULL;
    ranks = lpo_arena_array(d->arena, t->processes.len + 1, sizeof *ranks);
    for (size_t i = 0; i < t->processes.len; i++)
        if (t->processes.at[i].rank >= 0)
            ranks[n++] = t->processes.at[i].rank;
    if (!n)
        return NULL;
    qsort(ranks, n, sizeof *ranks, by_number);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || ranks[i] != ranks[i - 1])
            ranks[different++] = ranks[i];
    for (size_t i = 0; i < different && different <= MOST_LISTED; i++)
        lpo_str_addf(&text, "%s%d", i ? ", " : "", ranks[i]);
    if (different > MOST_LISTED)
        lpo_str_addf(&text, "%zu", different);
    if (t->ranks)
        lpo_str_addf(&text, " of %u", t->ranks);
    return lpo_arena_strdup(d->arena, text.at);
}

const char *lpo_report_traced_files(const struct lpo_rundir *d)
{
    LPO_STR text = { 0 };

    for (size_t i = 0; i < d->sources.len; i++) {
        const struct lpo_source *s = &d->sources.at[i];

        if (!s->trace)
            continue;
        lpo_str_add(&text, text.len ? "; " : "");
        for (size_t k = 0; k < s->nfiles && s->nfiles <= MOST_LISTED; k++)
            lpo_str_addf(&text, "%s%s", k ? ", " : "",
                         strcmp(s->files[k], "-") == 0 ? "standard input"
                                                       : lpo_path_base(s->files[k]));
        if (s->nfiles > MOST_LISTED)
            lpo_str_addf(&text, "%zu files", s->nfiles);
        lpo_str_addf(&text, " (%s)", s->what);
    }
    return text.len ? lpo_arena_strdup(d->arena, text.at) : NULL;
}

/* --- framework and command ------------------------------------------------------------------ */

const char *lpo_report_traced_framework(const struct lpo_rundir *d)
{
    bool ran[LPO_FRAMEWORKS] = { false };
    LPO_STR text = { 0 };

    for (size_t i = 0; i < d->sources.len; i++)
        for (int f = 0; d->sources.at[i].analysis && f < LPO_FRAMEWORKS; f++)
            ran[f] |= lpo_analysis_frameworks(d->sources.at[i].analysis)->ran[f];
    for (int f = 0; f < LPO_FRAMEWORKS; f++)
        if (ran[f])
            lpo_str_addf(&text, "%s%s", text.len ? ", " : "",
                         lpo_analysis_frameworks_name((enum lpo_framework)f));
    return text.len ? lpo_arena_strdup(d->arena, text.at) : NULL;
}

/* The process with most GPU operations among those that have a name. */
static uint32_t main_process_name(struct lpo_arena *a, const struct lpo_trace *t)
{
    size_t *ops = lpo_arena_array(a, t->processes.len + 1, sizeof *ops);
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < t->gpu_ops.len; i++)
        if (t->gpu_ops.at[i].process < t->processes.len)
            ops[t->gpu_ops.at[i].process]++;
    for (size_t i = 0; i < t->processes.len; i++)
        if (t->processes.at[i].name != LPO_NONE && *lpo_trace_text(t, t->processes.at[i].name) &&
            (best == SIZE_MAX || ops[i] > ops[best]))
            best = i;
    return best == SIZE_MAX ? LPO_NONE : t->processes.at[best].name;
}

const char *lpo_report_traced_command(const struct lpo_rundir *d)
{
    for (size_t i = 0; i < d->sources.len; i++) {
        const struct lpo_trace *t = d->sources.at[i].trace;
        uint32_t name = t ? main_process_name(d->arena, t) : LPO_NONE;

        if (name != LPO_NONE)
            return lpo_trace_text(t, name);
    }
    return NULL;
}

/* --- clocks --------------------------------------------------------------------------------- */

bool lpo_report_is_replay(const struct lpo_trace *t)
{
    for (size_t i = 0; i < t->gpu_ops.len; i++)
        if (!(t->gpu_ops.at[i].flags & LPO_GPU_OP_UNTIMED))
            return false;
    return t->gpu_ops.len > 0;
}

const char *lpo_report_why_no_clock(const struct lpo_trace *t)
{
    if (lpo_report_is_replay(t))
        return "- Idle time is not known: Nsight Compute runs each kernel alone and repeats it. "
               "The "
               "times above are those of the kernels under replay.";
    if (t->summaries.len)
        return "- Idle time is not known: the file holds sums, and not when each kernel ran.";
    return "- When GPU operations ran was not recorded, so idle time is not known.";
}
