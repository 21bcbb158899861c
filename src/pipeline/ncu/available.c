/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/ncu/available.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "gpu/nvml.h"
#include "pipeline/ncu/command.h"
#include "pipeline/stage.h"
#include "run/manifest.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/map.h"
#include "util/path.h"
#include "util/str.h"

/* --- metrics -------------------------------------------------------------------------------- */

enum {
    MIN_METRICS = 50, /* any GPU has hundreds: a shorter table is not one */
    MAX_SECTIONS = 1024,
};

static const char *cache_folder(struct lpo_arena *a)
{
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

    if (base && *base)
        return lpo_path_join(a, base, "llm-perf-opt");
    return home && *home ? lpo_path_join(a, home, ".cache/llm-perf-opt") : NULL;
}

/* One answer per tool and device. The tool's path, size and age stand for its version: to ask it
 * for that takes half a second, and the question itself up to ten. */
static const char *cache_path(struct lpo_arena *a, const char *ncu)
{
    const char *folder = cache_folder(a);
    char *real = realpath(ncu, NULL);
    struct lpo_gpus gpus;
    struct stat st = { 0 };
    LPO_STR key = { 0 };

    if (real)
        stat(real, &st);
    lpo_gpu_list(a, &gpus);
    lpo_str_addf(&key, "%s %lld %lld %s", real ? real : ncu, (long long)st.st_size,
                 (long long)st.st_mtime, gpus.len && gpus.at[0].name ? gpus.at[0].name : "");
    free(real);
    if (!folder)
        return NULL;
    return lpo_arena_printf(a, "%s/ncu-metrics-%016llx.txt", folder,
                            (unsigned long long)lpo_str_hash(key.at, key.len));
}

void lpo_pipeline_ncu_metrics_plan(struct lpo_stage_ctx *ctx, const char *ncu,
                                   struct lpo_steps *steps)
{
    struct lpo_arena *a = ctx->arena;
    struct lpo_step *step =
        lpo_pipeline_stage_add_tool(ctx, steps, "ncu --query-metrics", "metrics");

    lpo_run_step_arg(a, step, ncu);
    lpo_run_step_arg(a, step, "--query-metrics");
    step->stdout_path = lpo_path_join(a, ctx->dir, "available_metrics.txt");
    step->optional = true;
}

bool lpo_pipeline_ncu_metrics_recall(struct lpo_stage_ctx *ctx, const char *ncu, const char *answer)
{
    const char *cache = cache_path(ctx->arena, ncu);
    LPO_AUTO(lpo_file_text) text = NULL;

    return cache && lpo_file_text_read(cache, &text, NULL) == 0 &&
           lpo_file_write(answer, text->at, text->len, NULL) == 0;
}

/* The first word of every line of the table. */
static struct lpo_map *known_metrics(const char *text)
{
    struct lpo_map *known = lpo_map_create();

    for (const char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n') {
        size_t n = strcspn(p, " \t\r\n");

        if (n > 2 && memchr(p, '_', n))
            lpo_map_put(known, p, n, NULL);
    }
    return known;
}

/* "dram__bytes.sum.per_second" is known by its base name dram__bytes. */
static bool is_known(const struct lpo_map *known, const char *metric)
{
    if (strchr(metric, ':')) /* regex:, group:, breakdown:, pmsampling: are ncu's to judge */
        return true;
    return lpo_map_find(known, metric, strcspn(metric, ".")) != NULL;
}

static void keep_answer(struct lpo_arena *a, const char *ncu, const struct lpo_file_text *text)
{
    const char *cache = cache_path(a, ncu);

    if (cache && !lpo_path_exists(cache) && lpo_file_make_dirs(lpo_path_dir(a, cache), NULL) == 0)
        lpo_file_write(cache, text->at, text->len, NULL);
}

void lpo_pipeline_ncu_metrics_filter(struct lpo_stage_ctx *ctx, const char *answer,
                                     struct lpo_ncu_command *command)
{
    LPO_AUTO(lpo_map) known = NULL;
    LPO_AUTO(lpo_file_text) text = NULL;
    struct lpo_words kept = { 0 };

    if (command->metrics.len == 0 || lpo_file_text_read(answer, &text, NULL) < 0)
        return;
    known = known_metrics(text->at);
    if (lpo_map_count(known) < MIN_METRICS)
        return; /* not the table we expected: let ncu decide */
    keep_answer(ctx->arena, command->program, text);
    for (size_t i = 0; i < command->metrics.len; i++) {
        const char *metric = command->metrics.at[i];

        if (is_known(known, metric))
            lpo_run_words_add(ctx->arena, &kept, metric);
        else
            lpo_run_manifest_note(ctx->manifest, ctx->record,
                                  "metric %s is left out: this ncu does not have it for this GPU",
                                  metric);
    }
    command->metrics = kept;
}

/* --- sections ------------------------------------------------------------------------------- */

struct names {
    const char *at[MAX_SECTIONS];
    size_t len;
};

/* The first word of every line below the table's head, which stands between two dashed lines. A
 * cell that goes on in the next line leaves that one's first column blank. */
static void read_names(struct lpo_arena *a, const char *text, struct names *out)
{
    unsigned dashed = 0;

    for (const char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n') {
        size_t n = strcspn(p, " \t\r\n");

        if (*p == '-')
            dashed++;
        else if (dashed == 2 && n > 0 && out->len < MAX_SECTIONS)
            out->at[out->len++] = lpo_arena_strndup(a, p, n);
    }
}

static bool has(const struct names *names, const char *section)
{
    for (size_t i = 0; i < names->len; i++)
        if (strcasecmp(names->at[i], section) == 0)
            return true;
    return false;
}

/* The user's own flags may name a folder with more sections than the list has. */
static bool own_folder(const struct lpo_ncu_command *c)
{
    for (size_t i = 0; i < c->extra.len; i++)
        if (strstr(c->extra.at[i], "--section-folder"))
            return true;
    return false;
}

int lpo_pipeline_ncu_sections_check(struct lpo_stage_ctx *ctx, const struct lpo_ncu_command *c,
                                    const char *list, struct lpo_err *err)
{
    struct names *names = LPO_NEW(ctx->arena, struct names);
    LPO_AUTO(lpo_file_text) text = NULL;

    if (c->sections.len == 0 || own_folder(c) || lpo_file_text_read(list, &text, NULL) < 0)
        return 0;
    read_names(ctx->arena, text->at, names);
    for (size_t i = 0; i < c->sections.len && names->len > 0; i++) {
        const char *section = c->sections.at[i], *near;

        if (strncmp(section, "regex:", strlen("regex:")) == 0 || has(names, section))
            continue;
        near = lpo_str_nearest(section, names->at, names->len);
        return lpo_fail(err, LPO_E_CONFIG,
                        "pipeline.ncu.ncu_cli.sections: this ncu has no section '%s'%s%s%s; %s "
                        "lists all %zu",
                        section, near ? " (did you mean '" : "", near ? near : "",
                        near ? "'?)" : "", list, names->len);
    }
    return 0;
}
