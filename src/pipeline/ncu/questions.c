/* SPDX-License-Identifier: Apache-2.0 */
/* What this ncu has: it is asked for its sections, sets and metrics before the capture, and the
 * answers stay in the stage's folder. */
#include "pipeline/ncu/command.h"

#include <strings.h>

#include "pipeline/stage.h"
#include "run/child/supervise.h"
#include "run/manifest.h"
#include "util/file.h"
#include "util/path.h"

enum {
    MIN_METRICS = 50, /* any GPU has hundreds: a shorter table is not one */
    MAX_NAMES = 100000,
};

struct names {
    const char **at;
    size_t len;
};

/* The first word of every line below the table's head, which stands between two dashed lines. A
 * cell that goes on in the next line leaves that one's first column blank. */
static bool is_row_of_list(const char *line, size_t n, unsigned *dashed)
{
    *dashed += *line == '-';
    return *line != '-' && *dashed == 2 && n > 0;
}

/* --query-metrics has no such head: what has an underscore in it is a name. */
static bool is_metric(const char *line, size_t n, unsigned *dashed)
{
    (void)dashed;
    return n > 2 && memchr(line, '_', n);
}

typedef bool (*row_test)(const char *line, size_t n, unsigned *dashed);

static struct names read_names(struct lpo_arena *a, const char *text, row_test is_row)
{
    struct names names = { 0 };
    size_t lines = 1;
    unsigned dashed = 0;

    for (const char *p = text; *p; p++)
        lines += *p == '\n';
    names.at = lpo_arena_array(a, lines < MAX_NAMES ? lines : MAX_NAMES, sizeof *names.at);
    for (const char *p = text; *p && names.len < MAX_NAMES;
         p += strcspn(p, "\n"), p += *p == '\n') {
        size_t n = strcspn(p, " \t\r\n");

        if (is_row(p, n, &dashed))
            names.at[names.len++] = lpo_arena_strndup(a, p, n);
    }
    return names;
}

/* "dram__bytes.sum.per_second" is known by its base name; "regex:…", "group:…" are ncu's to judge.
 */
static bool has(const struct names *names, const char *word, bool by_base)
{
    size_t len = by_base ? strcspn(word, ".") : strlen(word);

    for (size_t i = 0; i < names->len; i++)
        if (strncasecmp(names->at[i], word, len) == 0 && !names->at[i][len])
            return true;
    return strchr(word, ':') != NULL;
}

static void note_missing(struct lpo_stage_ctx *ctx, const char *what, const char *word,
                         const struct names *names, const char *file)
{
    const char *near = lpo_str_nearest(word, names->at, names->len);

    lpo_run_manifest_note(ctx->manifest, ctx->record,
                          "%s %s is left out: this ncu does not have it for this GPU%s%s%s; %s "
                          "lists what it has",
                          what, word, near ? " (did you mean '" : "", near ? near : "",
                          near ? "'?)" : "", lpo_path_base(file));
}

static const struct question {
    const char *what, *label, *flag, *log, *file;
    row_test is_row;
    size_t least; /* names: with fewer it is not the table that we expect, and ncu judges */
} questions[LPO_NCU_QUESTIONS] = {
    [LPO_ASK_SECTIONS] = { "section", "ncu --list-sections", "--list-sections", "sections",
                           "sections.txt", is_row_of_list, 1 },
    [LPO_ASK_SETS] = { "set", "ncu --list-sets", "--list-sets", "sets", "sets.txt", is_row_of_list,
                       1 },
    [LPO_ASK_METRICS] = { "metric", "ncu --query-metrics", "--query-metrics", "metrics",
                          "available_metrics.txt", is_metric, MIN_METRICS },
};

/* Sections are always asked for: their list is for people to choose from. */
static bool is_asked(enum lpo_ncu_question q, const struct lpo_ncu_command *c)
{
    return q == LPO_ASK_SECTIONS || (q == LPO_ASK_SETS ? c->set != NULL : c->metrics.len > 0);
}

void lpo_pipeline_ncu_ask(struct lpo_stage_ctx *ctx, const struct lpo_ncu_command *command,
                          struct lpo_steps *steps, size_t asked[LPO_NCU_QUESTIONS])
{
    for (int i = 0; i < LPO_NCU_QUESTIONS; i++) {
        const struct question *q = &questions[i];
        struct lpo_step *step;

        asked[i] = LPO_NCU_NO_STEP;
        if (!is_asked((enum lpo_ncu_question)i, command))
            continue;
        asked[i] = steps->len;
        step = lpo_pipeline_stage_add_tool(ctx, steps, q->label, q->log);
        lpo_run_step_arg(ctx->arena, step, command->program);
        lpo_run_step_arg(ctx->arena, step, q->flag);
        step->stdout_path = lpo_path_join(ctx->arena, ctx->dir, q->file);
    }
}

static struct lpo_words keep_known(struct lpo_stage_ctx *ctx, const struct question *q,
                                   const struct names *names, const struct lpo_words *from)
{
    struct lpo_words kept = { 0 };

    for (size_t i = 0; i < from->len; i++) {
        if (has(names, from->at[i], q->least == MIN_METRICS))
            lpo_run_words_add(ctx->arena, &kept, from->at[i]);
        else
            note_missing(ctx, q->what, from->at[i], names, q->file);
    }
    return kept;
}

/* The user's own flags may name a folder with more sections and sets than the lists have, and what
 * to collect. */
static bool has_flag(const struct lpo_ncu_command *c, const char *flag)
{
    return lpo_any(i, c->extra.len, strstr(c->extra.at[i], flag));
}

static bool collects(const struct lpo_ncu_command *c)
{
    return c->set || c->sections.len || c->metrics.len || has_flag(c, "--set") ||
           has_flag(c, "--section") || has_flag(c, "--metrics");
}

int lpo_pipeline_ncu_answer(struct lpo_stage_ctx *ctx, enum lpo_ncu_question question,
                            const struct lpo_step *step, const struct lpo_result *r,
                            struct lpo_ncu_command *c, struct lpo_err *err)
{
    const struct question *q = &questions[question];
    LPO_AUTO(lpo_file_text) text = NULL;
    struct lpo_err why = { 0 };
    struct names names;
    bool collected = collects(c);

    if (lpo_pipeline_stage_judge(step, r, &why) < 0) {
        lpo_run_manifest_note(ctx->manifest, ctx->record, "%s", lpo_err_cause(&why));
        return 0;
    }
    if (lpo_file_text_read(step->stdout_path, &text, NULL) < 0)
        return 0;
    names = read_names(ctx->arena, text->at, q->is_row);
    if (names.len < q->least || (question != LPO_ASK_METRICS && has_flag(c, "--section-folder")))
        return 0;
    if (question == LPO_ASK_SECTIONS) {
        c->sections = keep_known(ctx, q, &names, &c->sections);
    } else if (question == LPO_ASK_METRICS) {
        c->metrics = keep_known(ctx, q, &names, &c->metrics);
    } else if (!has(&names, c->set, false)) {
        note_missing(ctx, q->what, c->set, &names, q->file);
        c->set = NULL;
    }
    if (collected && !collects(c))
        return lpo_fail(err, LPO_E_CONFIG,
                        "this ncu has none of the sets, sections and metrics of "
                        "pipeline.ncu.ncu_cli; sections.txt lists its sections");
    return 0;
}
