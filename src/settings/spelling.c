/* SPDX-License-Identifier: Apache-2.0 */
#include "settings/spelling.h"

#include <string.h>

#include "hydra/compose.h"
#include "util/str.h"

/* Longer paths before their heads: the first row that fits is taken, then the rest is tried again.
 */
static const struct lpo_spelling table_[] = {
    /* the keys of ncu's command line once stood beside its presets */
    { "pipeline.ncu.nvtx_include", "pipeline.ncu.ncu_cli.nvtx.include" },
    { "pipeline.ncu.nvtx_exclude", "pipeline.ncu.ncu_cli.nvtx.exclude" },
    { "pipeline.ncu.nvtx", "pipeline.ncu.ncu_cli.nvtx" },
    { "pipeline.ncu.set", "pipeline.ncu.ncu_cli.set" },
    { "pipeline.ncu.metrics", "pipeline.ncu.ncu_cli.metrics" },
    { "pipeline.ncu.sections", "pipeline.ncu.ncu_cli.sections" },
    { "pipeline.ncu.csv", "pipeline.ncu.ncu_cli.export.csv" },
    { "pipeline.ncu.target_processes", "pipeline.ncu.ncu_cli.target_processes" },
    { "pipeline.ncu.replay_mode", "pipeline.ncu.ncu_cli.replay_mode" },
    { "pipeline.ncu.kernel_name", "pipeline.ncu.ncu_cli.kernel_name" },
    { "pipeline.ncu.kernel_regex", "pipeline.ncu.ncu_cli.kernel_name" },
    { "pipeline.ncu.launch_skip", "pipeline.ncu.ncu_cli.launch_skip" },
    { "pipeline.ncu.launch_count", "pipeline.ncu.ncu_cli.launch_count" },
    { "pipeline.ncu.extra_args", "pipeline.ncu.ncu_cli.extra_args" },
    { "pipeline.ncu.export", "pipeline.ncu.ncu_cli.export" },
    /* stages were once switched by `enabled` */
    { "pipeline.static_analysis.enabled", "pipeline.static_analysis.enable" },
    { "pipeline.direct_inference.enabled", "pipeline.direct_inference.enable" },
    { "pipeline.native.enabled", "pipeline.native.enable" },
    { "pipeline.torch_profiler.enabled", "pipeline.torch_profiler.enable" },
    { "pipeline.nsys.enabled", "pipeline.nsys.enable" },
    { "pipeline.ncu.enabled", "pipeline.ncu.enable" },
    { "pipeline.nvml.enabled", "pipeline.nvml.enable" },
    /* stages once stood at the top */
    { "analysis.static", "pipeline.static_analysis" },
    { "static_analysis", "pipeline.static_analysis" },
    { "direct_inference", "pipeline.direct_inference" },
    { "torch_profiler", "pipeline.torch_profiler" },
    { "profiling.torch", "pipeline.torch_profiler" },
    { "profiling.nsys", "pipeline.nsys" },
    { "profiling.ncu", "pipeline.ncu" },
    { "nsys", "pipeline.nsys" },
    { "ncu", "pipeline.ncu" },
    { "pipeline.nsys.capture", "pipeline.nsys.capture_range", .not_map = true },
    { "pipeline.torch_profiler.rep_max_new_tokens", "run.representative_max_new_tokens" },
    { "pipeline.torch_profiler.warmup_synthetic", "" }, /* each shape is warmed up as it is */
    { "pipeline.torch_profiler.output.prediction.enable", "pipeline.torch_profiler.predictions" },
    { "pipeline.direct_inference.output.prediction.enable",
      "pipeline.direct_inference.predictions" },
    { "outputs.save_predictions", "pipeline.direct_inference.predictions" },
    /* the two runners had settings of their own */
    { "stage1_runner.disable_static", "" },
    { "stage1_runner.analysis.static", "pipeline.static_analysis" },
    { "stage1_runner.pipeline", "pipeline" },
    { "stage2_runner.pipeline", "pipeline" },
    { "stage1_runner.repeats", "dataset.sampling.num_samples_per_epoch" },
    { "artifacts.stage2_dir", "artifacts.runs_dir" },
    { "stage1_runner", "run" },
    { "stage2_runner", "run" },
    { "run.stage1_repeats", "dataset.sampling.num_samples_per_epoch" },
    { "run.top_n", "run.top_n_kernels" },
    /* pages were cut up by the model's config, and prompts had another name */
    { "model.preprocess.base_size", "infer.image_size" },
    { "model.preprocess.image_size", "infer.crop_size" },
    { "model.preprocess.crop_mode", "infer.crop_mode" },
    { "infer.decoder_prompt", "infer.prompt" },
    { "use_flash_attn", "workload.hf.flash_attention" },
    { "device", "run.device" },
    { "repeats", "run.repeats" },
    { "runners.analysis.static", "pipeline.static_analysis" },
    { "runner@stage1_runner=stage1.no-static", "pipeline.static_analysis.enable=false" },
    { "runner@stage1_runner=stage1.default", "pipeline.static_analysis.enable=true" },
    { NULL, NULL },
};

const struct lpo_spelling *lpo_settings_spellings(void)
{
    return table_;
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

    for (size_t i = 0; i < sizeof old / sizeof *old; i++)
        if (is_named(name, old[i].name))
            return &old[i];
    return NULL;
}
