/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch's profiler, injected into any Python workload (pipeline/stage.h). */

#include "pipeline/stage.h"
#include "run/child/supervise.h"
#include "run/folder.h"
#include "run/one_rank.h"
#include "rundir/rundir.h"
#include "util/file.h"
#include "util/json.h"
#include "util/json_write.h"
#include "util/path.h"

struct torch_settings {
    struct lpo_settings_words activities;
    bool record_shapes, by_shapes, profile_memory, with_stack, nvtx, predictions;
    const char *step;
    int64_t wait, warmup, active, warmup_rounds;
};

static const struct lpo_settings_field fields[] = {
    LPO_SETTING(torch_settings, activities, LPO_S_WORDS, "pipeline.torch_profiler.activities"),
    LPO_SETTING(torch_settings, record_shapes, LPO_S_BOOL, "pipeline.torch_profiler.record_shapes"),
    LPO_SETTING(torch_settings, by_shapes, LPO_S_BOOL,
                "pipeline.torch_profiler.group_by_input_shape"),
    LPO_SETTING(torch_settings, predictions, LPO_S_BOOL, "pipeline.torch_profiler.predictions"),
    LPO_SETTING(torch_settings, warmup_rounds, LPO_S_INT, "pipeline.torch_profiler.warmup_rounds"),
    LPO_SETTING(torch_settings, profile_memory, LPO_S_BOOL,
                "pipeline.torch_profiler.profile_memory"),
    LPO_SETTING(torch_settings, with_stack, LPO_S_BOOL, "pipeline.torch_profiler.with_stack"),
    LPO_SETTING(torch_settings, nvtx, LPO_S_BOOL, "pipeline.torch_profiler.nvtx"),
    LPO_SETTING(torch_settings, step, LPO_S_TEXT, "pipeline.torch_profiler.step"),
    LPO_SETTING(torch_settings, wait, LPO_S_INT, "pipeline.torch_profiler.schedule.wait"),
    LPO_SETTING(torch_settings, warmup, LPO_S_INT, "pipeline.torch_profiler.schedule.warmup"),
    LPO_SETTING(torch_settings, active, LPO_S_INT, "pipeline.torch_profiler.schedule.active"),
};

static const char *const trace_files[] = { "*trace*.json", "*trace*.json.gz", "*snapshot*.pickle",
                                           NULL };

static const char *const formats[] = { "kineto", "xprof", "rocprof", NULL };
static const char *const beside[] = { "snapshot", "flight", "graph-nodes", NULL };
static const char *const whats[] = {
    "the trace of the PyTorch profiler", "the trace of jax.profiler",   "the trace of rocprofv3",
    "the memory snapshot of PyTorch",    "the flight recorder of NCCL", "annotations of CUDA graphs"
};

static const struct lpo_rundir_kind results = {
    .stage = "torch_profiler",
    .what = "the trace of the PyTorch profiler",
    .roles = LPO_ROLE_OPERATORS,
    .patterns = trace_files,
    .formats = formats,
    .beside = beside,
    .whats = whats,
    .trust = 3,
};

static bool look_for_torch(struct lpo_arena *a, const char **detail, const char **remedy)
{
    static const char *const argv[] = { "python3", "-c",
                                        "import torch; print(torch.__version__, "
                                        "torch.cuda.is_available())",
                                        NULL };
    static const int64_t limit_ns = 60000000000; /* a cold import from a network disk is slow */
    LPO_STR out = { 0 };

    (void)remedy;
    if (!lpo_path_which(a, argv[0])) {
        *detail = "python3 is not on PATH";
        return false;
    }
    if (lpo_run_capture(argv, limit_ns, &out, NULL) < 0) {
        *detail = "python3 is here, but 'import torch' fails";
        return false;
    }
    *detail = lpo_arena_printf(a, "torch %.*s", (int)strcspn(out.at, " \n"), out.at);
    return true;
}

static const struct lpo_stage_check checks[] = {
    { "torch", "workload=hf and stage torch_profiler",
      "pip install torch transformers, or set workload.python to an interpreter that has them",
      look_for_torch },
    { NULL, NULL, NULL, NULL },
};

static const char *settings_path(const struct lpo_stage_ctx *ctx)
{
    return lpo_path_join(ctx->arena, ctx->dir, "settings.json");
}

/* The settings of the injected profiler, which reads them when the program imports torch. */
static int torch_prepare(struct lpo_stage_ctx *ctx, struct lpo_steps *steps, struct lpo_err *err)
{
    const struct torch_settings *s = ctx->settings;
    LPO_STR text = { 0 };
    struct lpo_json_writer w = lpo_json_writer(&text, 2);

    (void)steps;
    lpo_jw_object(&w, NULL);
    lpo_jw_put(&w, LPO_KV("out_dir", ctx->dir));
    lpo_run_ranks_json(ctx->arena, ctx->config, &w);
    lpo_jw_texts(&w, "activities", s->activities.at, s->activities.len);
    lpo_jw_put(&w, LPO_KV("record_shapes", lpo_jv_flag(s->record_shapes || s->by_shapes)),
               LPO_KV("profile_memory", s->profile_memory), LPO_KV("with_stack", s->with_stack),
               LPO_KV("nvtx", s->nvtx));
    lpo_jw_record(&w, "schedule", LPO_KV("wait", s->wait), LPO_KV("warmup", s->warmup),
                  LPO_KV("active", s->active));
    lpo_jw_put(&w, LPO_KV("step", s->step));
    lpo_jw_end(&w);
    return lpo_file_write(settings_path(ctx), text.at, text.len, err);
}

static int torch_plan(struct lpo_stage_ctx *ctx, struct lpo_steps *steps, struct lpo_err *err)
{
    const struct torch_settings *s = ctx->settings;
    struct lpo_workload_opts opts = {
        .profiled = true,
        .predictions = s->predictions,
        .own_warmup = lpo_settings_is_set(ctx->config, "pipeline.torch_profiler.warmup_rounds"),
        .warmup = s->warmup_rounds,
    };
    struct lpo_arena *a = ctx->arena;
    struct lpo_step *step;

    if (!lpo_workload_may_be_python(a, ctx->config, ctx->call_dir)) {
        ctx->nothing_to_do = "the workload is not a Python program";
        return 0;
    }
    if (lpo_pipeline_stage_add_workload(ctx, steps, "torch profiler", &opts, &step, err) < 0 ||
        lpo_pipeline_python_inject(ctx, step, err) < 0)
        return err->code;
    lpo_run_step_env(a, step, "LPO_TORCH_PROFILE", settings_path(ctx));
    return 0;
}

/* Every process says beside its traces how it went; one that failed is worth a note. */
static bool note_status(struct lpo_stage_ctx *ctx, const char *file)
{
    const struct lpo_json *status = NULL, *notes;
    const char *state, *error;
    long long pid;

    if (lpo_json_read_file(ctx->arena, lpo_path_join(ctx->arena, ctx->run_dir, file), &status,
                           NULL) < 0)
        return false;
    pid = (long long)lpo_json_int(lpo_json_get(status, "pid"), 0);
    notes = lpo_json_get(status, "notes");
    LPO_JSON_EACH(note, notes)
    lpo_run_manifest_note(ctx->manifest, ctx->record, "process %lld: %s", pid,
                          lpo_json_text(note, ""));
    state = lpo_json_text(lpo_json_get(status, "state"), "written");
    error = lpo_json_text(lpo_json_get(status, "error"), NULL);
    if (lpo_streq(state, "written"))
        return false;
    lpo_run_manifest_note(ctx->manifest, ctx->record, "process %lld: %s%s%s", pid, state,
                          error ? ": " : "", error ? error : "");
    return true;
}

static int torch_collect(struct lpo_stage_ctx *ctx, struct lpo_err *err)
{
    struct lpo_paths files = { 0 };
    size_t written = 0, noted = 0;

    if (lpo_run_folder_list(ctx->arena, ctx->run_dir, ctx->stage->name, &files, err) < 0)
        return err->code;
    for (size_t i = 0; i < files.len; i++) {
        written += lpo_str_ends(files.at[i], ".json.gz");
        noted += lpo_str_ends(files.at[i], ".status.json") && note_status(ctx, files.at[i]);
    }
    if (written == 0)
        ctx->record->message =
            noted ? "no trace: none of its processes wrote one, see the notes"
                  : "no trace: the workload is not a Python program that imports torch, or ended "
                    "before it could";
    return 0;
}

const struct lpo_stage lpo_pipeline_torch_profiler = {
    .name = "torch_profiler",
    .summary = "operators and kernels with PyTorch's profiler",
    LPO_STAGE_SETTINGS(torch_settings, fields),
    .results = &results,
    .checks = checks,
    .plan = torch_plan,
    .prepare = torch_prepare,
    .collect = torch_collect,
};
