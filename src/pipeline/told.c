/* What a workload says of itself that a person must not miss: samples that failed, settings it
 * could not honour. The same words under five stages are told once. */
#include <string.h>

#include "pipeline/stage.h"
#include "run/manifest.h"
#include "util/arena.h"
#include "util/json.h"
#include "util/path.h"

static bool told_before(const struct lpo_manifest *m, const char *text)
{
    for (size_t i = 0; i < m->nstages; i++)
        for (size_t k = 0; k < m->stages[i].nnotes; k++)
            if (strcmp(m->stages[i].notes[k], text) == 0)
                return true;
    return false;
}

static void tell(struct lpo_stage_ctx *ctx, const char *text)
{
    if (!told_before(ctx->manifest, text))
        lpo_run_manifest_note(ctx->manifest, ctx->record, "%s", text);
}

static void tell_failures(struct lpo_stage_ctx *ctx, const struct lpo_json *failures)
{
    const struct lpo_json *first = failures ? failures->first : NULL;
    const char *name, *why;

    if (!first)
        return;
    name = lpo_json_text(lpo_json_get(first, "sample"), "?");
    why = lpo_json_text(lpo_json_get(first, "error"), "it does not say why");
    if (failures->count == 1)
        tell(ctx, lpo_arena_printf(ctx->arena, "a sample failed, '%s': %s", name, why));
    else
        tell(ctx, lpo_arena_printf(ctx->arena,
                                   "%zu samples failed, the first '%s': %s (all of them: failures "
                                   "in the workload's metrics.json)",
                                   failures->count, name, why));
}

void lpo_pipeline_stage_tell_workload(struct lpo_stage_ctx *ctx)
{
    const char *path = lpo_path_join(ctx->arena, ctx->workload_dir, "metrics.json");
    const struct lpo_json *metrics = NULL;

    if (!lpo_path_exists(path) || lpo_json_read_file(ctx->arena, path, &metrics, NULL) < 0)
        return; /* a program of one's own writes what it likes */
    tell_failures(ctx, lpo_json_get(metrics, "failures"));
    LPO_JSON_EACH(note, lpo_json_get(metrics, "notes"))
    if (lpo_json_text(note, NULL))
        tell(ctx, lpo_json_text(note, NULL));
}
