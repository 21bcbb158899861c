/* What the model must compute and move, from its config alone; runs inside lpo in milliseconds. */
#include <string.h>

#include "hydra/compose.h"
#include "model/needs.h"
#include "model/read/read.h"
#include "pipeline/stage.h"
#include "report/doc/doc.h"
#include "report/static/static.h"
#include "run/hardware_json.h"
#include "run/manifest.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/json_write.h"
#include "util/path.h"
#include "util/str.h"
#include "writer/writer.h"

/* The toy's keys in the words of a config.json, so that it is analysed like any Llama. */
static int write_toy_config(struct lpo_stage_ctx *ctx, const char *path, struct lpo_err *err)
{
    static const struct {
        const char *key, *field;
    } rows[] = {
        { "model.hidden", "hidden_size" },           { "model.ffn", "intermediate_size" },
        { "model.layers", "num_hidden_layers" },     { "model.heads", "num_attention_heads" },
        { "model.kv_heads", "num_key_value_heads" }, { "model.vocab", "vocab_size" },
    };
    LPO_STR text = { 0 };
    struct lpo_json_writer w = lpo_json_writer(&text, 2);

    lpo_jw_object(&w, NULL);
    lpo_jw_array(&w, "architectures");
    lpo_jw_text(&w, NULL, "LlamaForCausalLM");
    lpo_jw_end(&w);
    lpo_jw_text(&w, "model_type", "llama");
    lpo_jw_text(&w, "torch_dtype", "float32");
    lpo_jw_bool(&w, "tie_word_embeddings", false);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        lpo_jw_int(&w, rows[i].field, lpo_node_conf_int(ctx->config, rows[i].key, 0));
    lpo_jw_end(&w);
    return lpo_file_write(path, text.at, text.len, err);
}

/* The model's place on disk; NULL when the workload says nothing of a model. */
static int find_model(struct lpo_stage_ctx *ctx, const char **out, struct lpo_err *err)
{
    const char *path = lpo_node_conf_text(ctx->config, "model.path", NULL);
    const char *kind = lpo_node_conf_text(ctx->config, "workload.kind", "");

    *out = NULL;
    if (path) {
        *out = lpo_path_join(ctx->arena, ctx->call_dir, path);
        return 0;
    }
    if (strcmp(kind, "toy") != 0)
        return 0;
    *out = lpo_path_join(ctx->arena, ctx->dir, "config.json");
    return write_toy_config(ctx, *out, err);
}

static struct lpo_needs_options options_of(const struct lpo_stage_ctx *ctx)
{
    struct lpo_needs_options o = lpo_model_needs_defaults();
    const char *counting = lpo_node_conf_text(ctx->knobs, "counting", "model");
    const char *dtype = lpo_node_conf_text(ctx->config, "workload.hf.dtype", NULL);

    o.seq = (uint64_t)lpo_node_conf_int(ctx->config, "infer.prompt_tokens", 0);
    /* the middle of the generation stands for all of its steps */
    o.context = o.seq + (uint64_t)lpo_node_conf_int(ctx->config, "infer.max_new_tokens", 0) / 2;
    o.batch = (uint64_t)lpo_node_conf_int(ctx->config, "infer.batch_size", 1);
    o.image = (uint64_t)lpo_node_conf_int(ctx->config, "infer.image_size", 0);
    o.counting = strcmp(counting, "framework") == 0 ? LPO_COUNT_FRAMEWORK : LPO_COUNT_MODEL;
    o.strict = !lpo_node_conf_bool(ctx->knobs, "use_analytic_fallback", true);
    if (dtype)
        o.dtype = lpo_dtype_parse(dtype);
    return o;
}

static int analyse(struct lpo_stage_ctx *ctx, const char *path, struct lpo_model_files *files,
                   struct lpo_err *err)
{
    struct lpo_needs_options o = options_of(ctx);
    LPO_AUTO(lpo_model_needs) needs = NULL;
    LPO_AUTO(lpo_doc) doc = NULL;
    struct lpo_hardware hw;

    if (lpo_model_read(ctx->arena, path, files, err) < 0 ||
        lpo_run_hardware(ctx->arena, ctx->run_dir, ctx->config, &hw, err) < 0)
        return err->code;
    o.hardware = &hw;
    if (files->bytes && o.dtype == LPO_DTYPE_NONE)
        o.weight_bytes = (double)files->bytes;
    if (lpo_model_needs_create(files->config, &o, &needs, err) < 0)
        return lpo_ctx(err, "cannot analyse '%s'", path);
    if (!lpo_node_conf_bool(ctx->knobs, "write_reports", true))
        return 0;
    doc =
        lpo_static_doc(&(struct lpo_static_report){ .path = path, .needs = needs, .files = files });
    return lpo_writer_write_pair(doc, ctx->dir, "static_compute", err);
}

static int static_collect(struct lpo_stage_ctx *ctx, struct lpo_err *err)
{
    struct lpo_model_files files = { 0 };
    const char *path = NULL;
    int rc;

    if (find_model(ctx, &path, err) < 0)
        return err->code;
    if (!path) {
        lpo_run_manifest_note(ctx->manifest, ctx->record,
                              "no model is known: model.path names its folder or config.json");
        return 0;
    }
    rc = analyse(ctx, path, &files, err);
    lpo_model_files_free(&files);
    return rc;
}

const struct lpo_stage lpo_pipeline_static_analysis = {
    .name = "static_analysis",
    .summary = "what the model must compute and move, from its config alone",
    .light = true,
    .collect = static_collect,
};
