#include "pipeline/ncu/available.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "gpu/nvml.h"
#include "hydra/compose.h"
#include "pipeline/stage.h"
#include "run/conf.h"
#include "run/manifest.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/map.h"
#include "util/path.h"
#include "util/str.h"

/* --- metrics -------------------------------------------------------------------------------- */

static const char *cache_folder(struct lpo_arena *a)
{
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

    if (base && *base)
        return lpo_path_join(a, base, "llm-perf-opt");
    return home && *home ? lpo_path_join(a, home, ".cache/llm-perf-opt") : NULL;
}

/* One answer per tool (its path, size and age stand for its version) and device. */
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

bool lpo_pipeline_ncu_metrics_plan(struct lpo_stage_ctx *ctx, const char *ncu,
                                   const struct lpo_node *cli, struct lpo_steps *steps,
                                   const char **cache)
{
    struct lpo_arena *a = ctx->arena;
    struct lpo_step *step;

    if (!lpo_run_conf_joined(a, cli, "metrics"))
        return false;
    *cache = ctx->dry_run ? NULL : cache_path(a, ncu);
    step = lpo_pipeline_stage_add_tool(ctx, steps, "ncu --query-metrics", "metrics");
    if (*cache && lpo_path_exists(*cache)) {
        lpo_run_step_arg(a, step, "cat");
        lpo_run_step_arg(a, step, *cache);
    } else {
        lpo_run_step_arg(a, step, ncu);
        lpo_run_step_arg(a, step, "--query-metrics");
    }
    step->stdout_path = lpo_path_join(a, ctx->dir, "available_metrics.txt");
    step->optional = true;
    return true;
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
static bool is_known(const struct lpo_map *known, const char *metric, size_t len)
{
    const char *dot = memchr(metric, '.', len);

    if (memchr(metric, ':', len)) /* regex:, group:, breakdown:, pmsampling: are ncu's to judge */
        return true;
    return lpo_map_find(known, metric, dot ? (size_t)(dot - metric) : len) != NULL;
}

static void keep_answer(const char *cache, const struct lpo_file_text *text)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();

    if (cache && !lpo_path_exists(cache) && lpo_file_make_dirs(lpo_path_dir(a, cache), NULL) == 0)
        lpo_file_write(cache, text->at, text->len, NULL);
}

void lpo_pipeline_ncu_metrics_filter(struct lpo_stage_ctx *ctx, const char *answer,
                                     const char *cache, struct lpo_step *capture)
{
    LPO_AUTO(lpo_map) known = NULL;
    LPO_AUTO(lpo_file_text) text = NULL;
    LPO_STR kept = { 0 };
    size_t at = 0;

    while (at < capture->argc && strcmp(capture->argv[at], "--metrics") != 0)
        at++;
    if (at + 1 >= capture->argc || lpo_file_text_read(answer, &text, NULL) < 0)
        return;
    known = known_metrics(text->at);
    if (lpo_map_count(known) < 50)
        return; /* not the table we expected: let ncu decide */
    keep_answer(cache, text);
    for (const char *p = capture->argv[at + 1]; *p;) {
        size_t n = strcspn(p, ",");

        if (is_known(known, p, n))
            lpo_str_addf(&kept, "%s%.*s", kept.len ? "," : "", (int)n, p);
        else
            lpo_run_manifest_note(ctx->manifest, ctx->record,
                                  "metric %.*s is not known to this ncu and GPU; left out", (int)n,
                                  p);
        p += n + (p[n] == ',');
    }
    if (kept.len) {
        capture->argv[at + 1] = lpo_arena_strdup(ctx->arena, kept.at);
        return;
    }
    memmove(&capture->argv[at], &capture->argv[at + 2],
            (capture->argc - at - 1) * sizeof *capture->argv);
    capture->argc -= 2;
}

/* --- sections ------------------------------------------------------------------------------- */

enum { MAX_SECTIONS = 1024 };

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

/* Words of the user's own may name a folder with more sections than the list has. */
static bool own_folder(struct lpo_stage_ctx *ctx, const struct lpo_node *cli)
{
    const char **words;
    size_t n = lpo_run_conf_list(ctx->arena, cli, "extra_args", false, &words);

    for (size_t i = 0; i < n; i++)
        if (strstr(words[i], "--section-folder"))
            return true;
    return false;
}

int lpo_pipeline_ncu_sections_check(struct lpo_stage_ctx *ctx, const struct lpo_node *cli,
                                    const char *list, struct lpo_err *err)
{
    struct names *names = LPO_NEW(ctx->arena, struct names);
    LPO_AUTO(lpo_file_text) text = NULL;
    const char **sections;
    size_t n = lpo_run_conf_list(ctx->arena, cli, "sections", true, &sections);

    if (n == 0 || own_folder(ctx, cli) || lpo_file_text_read(list, &text, NULL) < 0)
        return 0;
    read_names(ctx->arena, text->at, names);
    for (size_t i = 0; i < n && names->len > 0; i++) {
        const char *near;

        if (strncmp(sections[i], "regex:", strlen("regex:")) == 0 || has(names, sections[i]))
            continue;
        near = lpo_str_nearest(sections[i], names->at, names->len);
        return lpo_fail(err, LPO_E_CONFIG,
                        "pipeline.ncu.ncu_cli.sections: this ncu has no section '%s'%s%s%s; %s "
                        "lists all %zu",
                        sections[i], near ? " (did you mean '" : "", near ? near : "",
                        near ? "'?)" : "", list, names->len);
    }
    return 0;
}
