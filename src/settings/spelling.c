/* SPDX-License-Identifier: Apache-2.0 */
#include "settings/schema.h"

#include "hydra/compose.h"
#include "rules/rules.h"

const struct lpo_spelling *lpo_settings_spellings(void)
{
    static const struct lpo_rules_member members[] = {
        LPO_RULES_MEMBER(lpo_spelling, TEXT, old),
        LPO_RULES_MEMBER(lpo_spelling, TEXT, now),
        LPO_RULES_MEMBER(lpo_spelling, FLAG, not_map),
    };
    static struct lpo_rules_table table =
        LPO_RULES_TABLE("settings", "spellings", members, lpo_spelling);
    size_t count;

    return lpo_rules_rows(&table, &count); /* the last one is empty */
}

/* The model's folder tells which program runs it. */
static const char *workload_of(const struct lpo_node *root)
{
    const char *model = lpo_node_text_at(root, "model.name");

    if (model && strcmp(model, "deepseek_ocr") == 0)
        return "dsocr";
    return model && strcmp(model, "hf") == 0 ? "hf" : "toy";
}

/* The built-in model is what runs unless something is said; who chooses a model says something. */
static const char *better_workload(const struct lpo_node *root)
{
    const char *kind = lpo_node_text_at(root, "workload.kind"), *wanted = workload_of(root);

    return kind && strcmp(kind, "toy") == 0 && strcmp(wanted, "toy") != 0 ? wanted : NULL;
}

const struct lpo_unlisted *lpo_settings_unlisted(void)
{
    static const struct lpo_unlisted groups[] = {
        { "model/deepseek_ocr/arch", .package = "model" },
        { "model/deepseek_ocr/infer", .package = "infer" },
        { "profiling/torch", .package = "pipeline.torch_profiler", .merge = true },
        { "profiling/nsys", .package = "pipeline.nsys", .merge = true },
        { "profiling/ncu", .package = "pipeline.ncu", .merge = true },
        { "workload", .key = "workload.kind", .option = workload_of, .instead = better_workload },
        { "dataset/sampling" },
        { NULL },
    };

    return groups;
}

/* Is it the name of the row? Also as a file (runner/stage2.yaml), by the folder's oldest name
 * (runners/stage2) and as the Python module that was started. */
static bool is_named(const char *name, const char *row)
{
    static const char modules[] = "llm_perf_opt.runners.", oldest[] = "runners/",
                      folder[] = "runner/";
    size_t len;

    if (lpo_str_starts(name, modules))
        name += strlen(modules);
    if (lpo_str_starts(name, oldest) && lpo_str_starts(row, folder)) {
        name += strlen(oldest);
        row += strlen(folder);
    }
    len = strlen(row);
    return strncmp(name, row, len) == 0 && (!name[len] || strcmp(name + len, ".yaml") == 0);
}

const struct lpo_old_config *lpo_settings_spelling_config(const char *name)
{
#define LIGHT                                                                                      \
    "torch_profiler and static_analysis on",                                                       \
    {                                                                                              \
        "++pipeline.torch_profiler.enable=true", "++pipeline.static_analysis.enable=true"          \
    }
#define DEEP                                                                                       \
    "nsys and ncu on, torch_profiler and static_analysis off",                                     \
    {                                                                                              \
        "++pipeline.nsys.enable=true", "++pipeline.ncu.enable=true",                               \
            "++pipeline.torch_profiler.enable=false", "++pipeline.static_analysis.enable=false"    \
    }
    static const struct lpo_old_config old[] = {
        { "runner/default", "runner/default", "nothing changed", { NULL } },
        { "runner/stage1.default", "runner/stage1.default", LIGHT },
        { "runner/stage1.no-static",
          "runner/stage1.no-static",
          "static_analysis off",
          { "++pipeline.torch_profiler.enable=true", "++pipeline.static_analysis.enable=false" } },
        { "runner/stage2", "runner/stage2", DEEP },
        { "runner_stage1", "runner/stage1.default", LIGHT },
        { "stage1_runner", "runner/stage1.default", LIGHT },
        { "llm_profile", "runner/stage1.default", LIGHT },
        { "llm_profile_runner", "runner/stage1.default", LIGHT },
        { "runner_stage2", "runner/stage2", DEEP },
        { "stage2_runner", "runner/stage2", DEEP },
        { "deep_profile", "runner/stage2", DEEP },
        { "deep_profile_runner", "runner/stage2", DEEP },
        { "direct_inference_runner",
          "runner/direct_inference",
          "direct_inference alone on",
          { "++pipeline.direct_inference.enable=true", "++pipeline.static_analysis.enable=false",
            "++pipeline.native.enable=false", "++pipeline.torch_profiler.enable=false" } },
        { "profile_orchestrator", "config", "nothing changed", { NULL } },
    };
#undef LIGHT
#undef DEEP

    return lpo_find(i, old, sizeof old / sizeof *old, is_named(name, old[i].name));
}
