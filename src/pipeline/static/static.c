/* SPDX-License-Identifier: Apache-2.0 */
#include <strings.h>

#include "hydra/compose.h"
#include "model/read/read.h"
#include "pipeline/stage.h"
#include "reference/reference.h"
#include "report/doc/doc.h"
#include "report/static/static.h"
#include "run/install.h"
#include "run/provenance.h"
#include "run/workload/samples.h"
#include "rundir/rundir.h"
#include "util/file.h"
#include "util/json.h"
#include "util/path.h"
#include "writer/writer.h"

/* --- how long the prompts of the run's real samples are -----------------------------------------
 */

/* Exact where the workload itself needs no tokenizer: token lists, text as bytes, and the pages of
 * DeepSeek-OCR, whose tokens follow from the size of the picture. */
struct lpo_real_inputs {
    uint64_t samples;                 /* whose length is known; 0: see `why` */
    uint64_t shortest, longest, mean; /* tokens; the mean is rounded */
    uint64_t parts;                   /* views of a page besides the whole one, the mean, rounded */
    bool parts_differ;                /* from page to page */
    const char *why;                  /* NULL, or why no length is known */
};

enum { MAX_TEXT = 16 << 20, MOST_CROPS = 9, PATCH = 16, MERGED = 4 };

struct counter {
    struct lpo_arena *a;
    bool pages;          /* the model is DeepSeek-OCR */
    uint64_t side, crop; /* pixels; crop 0: pages are shown whole alone */
    uint64_t parts;      /* of the page that was counted last */
    uint64_t words;      /* tokens beside those of a page */
};

static bool has_tokenizer(struct lpo_arena *a, const char *model)
{
    static const char *const names[] = { "tokenizer.json", "tokenizer_config.json",
                                         "tokenizer.model", "vocab.json", "vocab.txt" };

    for (size_t i = 0; model && i < sizeof names / sizeof *names; i++)
        if (lpo_path_exists(lpo_path_join(
                a, lpo_path_is_dir(model) ? model : lpo_path_dir(a, model), names[i])))
            return true;
    return false;
}

static uint64_t tokens_a_side(uint64_t pixels)
{
    return (pixels / PATCH + MERGED - 1) / MERGED;
}

/* The shape of at most nine squares that is nearest to the page's; of two, the larger where the
 * page fills half of it. The rule of the model's own code, as in lpo_hf/ocr_inputs.py. */
static void grid_of(uint64_t width, uint64_t height, uint64_t crop, uint64_t *across,
                    uint64_t *down)
{
    double least = 1e300, shape = (double)width / (double)height;

    *across = *down = 1;
    if (width <= crop && height <= crop)
        return;
    for (uint64_t area = 2; area <= MOST_CROPS; area++)
        for (uint64_t i = 1; i <= area; i++) {
            uint64_t j = area / i;
            double far = shape - (double)i / (double)j;

            if (i * j != area)
                continue;
            far = far < 0 ? -far : far;
            if (far < least || (far == least && (double)width * (double)height >
                                                    0.5 * (double)(crop * crop * area))) {
                *across = i;
                *down = j;
                least = far;
            }
        }
}

static uint64_t count_page_parts(uint64_t width, uint64_t height, uint64_t crop)
{
    uint64_t across, down;

    grid_of(width, height, crop, &across, &down);
    return across * down > 1 ? across * down : 0;
}

/* Rows with a newline each, for the whole page and for its parts, and a separator. */
static uint64_t page_tokens(struct counter *c, uint32_t width, uint32_t height)
{
    uint64_t whole = tokens_a_side(c->side), part = tokens_a_side(c->crop), across = 1, down = 1;

    if (c->crop)
        grid_of(width, height, c->crop, &across, &down);
    return (whole + 1) * whole + 1 + (across * down > 1 ? (part * across + 1) * part * down : 0) +
           c->words;
}

/* By its name, as lpo_hf/samples.py decides: a broken picture is no text. */
static bool is_image(const char *path)
{
    static const char *const ends[] = { ".png", ".jpg",  ".jpeg", ".webp",
                                        ".bmp", ".tiff", ".tif",  ".gif" };
    const char *dot = strrchr(lpo_path_base(path), '.');

    for (size_t i = 0; dot && i < sizeof ends / sizeof *ends; i++)
        if (strcasecmp(dot, ends[i]) == 0)
            return true;
    return false;
}

/* 0: not known. */
static uint64_t image_tokens(struct counter *c, const char *path)
{
    uint32_t width, height;

    if (!c->pages || !lpo_workload_image_size(path, &width, &height))
        return 0;
    c->parts = c->crop ? count_page_parts(width, height, c->crop) : 0;
    return page_tokens(c, width, height);
}

/* 0: not known. */
static uint64_t text_tokens(struct counter *c, const char *path)
{
    LPO_AUTO(lpo_file_text) text = NULL;
    const struct lpo_json *doc = NULL, *tokens;
    uint64_t n;

    if (lpo_file_text_read_limit(path, MAX_TEXT, &text, NULL) < 0)
        return 0;
    if (lpo_str_ends(path, ".json")) {
        if (lpo_json_parse(c->a, text->at, text->len, &doc, NULL) < 0)
            return 0;
        tokens = lpo_json_get(doc, "tokens");
        return tokens && tokens->kind == LPO_JSON_ARRAY ? tokens->count : 0;
    }
    n = text->len;
    for (size_t i = 1; i < text->len; i++) /* Python reads both as one character */
        n -= text->at[i - 1] == '\r' && text->at[i] == '\n';
    return n;
}

static void prepare(struct counter *c, const struct lpo_node *settings,
                    const struct lpo_json *config)
{
    const char *prompt = lpo_settings_text(settings, "infer.prompt");
    const char *page = prompt ? strstr(prompt, "<image>") : NULL;
    const struct lpo_json *first = lpo_json_at(config, "language_config.bos_token_id");

    c->pages = lpo_json_at(config, "vision_config.width.sam_vit_b") != NULL;
    c->side = (uint64_t)lpo_settings_int(settings, "infer.image_size");
    if (!c->side)
        c->side = (uint64_t)lpo_json_int(lpo_json_at(config, "vision_config.image_size"), 1024);
    if (lpo_settings_bool(settings, "infer.crop_mode"))
        c->crop = (uint64_t)lpo_settings_int(settings, "infer.crop_size");
    c->words = (prompt ? strlen(prompt) : 0) - (page ? strlen("<image>") : 0) +
               (first && first->kind == LPO_JSON_INT);
}

static struct lpo_real_inputs read_real_inputs(struct lpo_arena *a, const struct lpo_node *settings,
                                               const char *call_dir, const char *model,
                                               const struct lpo_json *config)
{
    struct lpo_real_inputs r = { 0 };
    struct counter c = { .a = a };
    struct lpo_samples samples;
    uint64_t total = 0, parts = 0, first = 0;

    if (has_tokenizer(a, model)) {
        r.why = "only the model's tokenizer knows how many tokens they are";
        return r;
    }
    if (!lpo_workload_samples_list(a, settings, call_dir, &samples)) {
        r.why = "the config names none that can be read";
        lpo_vec_free(&samples.at);
        return r;
    }
    prepare(&c, settings, config);
    for (size_t i = 0; i < samples.at.len; i++) {
        const char *path = lpo_path_join(a, samples.root, samples.at.at[i]);
        uint64_t n = is_image(path) ? image_tokens(&c, path) : text_tokens(&c, path);

        if (!n)
            continue;
        if (r.samples++ == 0)
            first = c.parts;
        r.parts_differ |= c.parts != first;
        parts += c.parts;
        total += n;
        r.shortest = r.samples == 1 || n < r.shortest ? n : r.shortest;
        r.longest = n > r.longest ? n : r.longest;
    }
    lpo_vec_free(&samples.at);
    r.mean = r.samples ? (total + r.samples / 2) / r.samples : 0;
    r.parts = r.samples ? (parts + r.samples / 2) / r.samples : 0;
    if (!r.samples)
        r.why = "none of them says how many tokens it is";
    return r;
}

/* --- the stage ----------------------------------------------------------------------------------
 */

struct static_settings {
    bool write_reports, use_analytic_fallback, use_synthetic_inputs;
    const char *counting, *hardware;
};

static const struct lpo_settings_field fields[] = {
    LPO_SETTING(static_settings, write_reports, LPO_S_BOOL,
                "pipeline.static_analysis.write_reports"),
    LPO_SETTING(static_settings, use_analytic_fallback, LPO_S_BOOL,
                "pipeline.static_analysis.use_analytic_fallback"),
    LPO_SETTING(static_settings, use_synthetic_inputs, LPO_S_BOOL,
                "pipeline.static_analysis.use_synthetic_inputs"),
    LPO_SETTING(static_settings, counting, LPO_S_TEXT, "pipeline.static_analysis.counting"),
    LPO_SETTING(static_settings, hardware, LPO_S_TEXT, "pipeline.static_analysis.hardware"),
};

static const struct lpo_rundir_kind results = {
    .stage = "static_analysis",
    .what = "what the model must compute and move",
    .roles = LPO_ROLE_MODEL,
    .hardware = "pipeline.static_analysis.hardware",
};

/* The settings of the toy model as a config.json, so that it is analysed like any Llama. */
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
    lpo_jw_list(&w, "architectures", LPO_V("LlamaForCausalLM"));
    lpo_jw_put(&w, LPO_KV("model_type", "llama"), LPO_KV("torch_dtype", "float32"),
               LPO_KV("tie_word_embeddings", lpo_jv_flag(false)));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        lpo_jw_put(&w, LPO_KV(rows[i].field, lpo_settings_int(ctx->config, rows[i].key)));
    lpo_jw_end(&w);
    return lpo_file_write(path, text.at, text.len, err);
}

/* model.config holds what a config.json would: written as one, for whoever analyses it again. */
static int write_stated_config(struct lpo_stage_ctx *ctx, const struct lpo_node *stated,
                               const char *path, struct lpo_err *err)
{
    LPO_STR text = { 0 };
    struct lpo_json_writer w = lpo_json_writer(&text, 2);

    lpo_node_write_json(&w, NULL, stated);
    return lpo_file_write(path, text.at, text.len, err);
}

/* Where the model is on disk; NULL when the config names none. */
static int find_model(struct lpo_stage_ctx *ctx, const char **out, struct lpo_err *err)
{
    const char *path = lpo_settings_text(ctx->config, "model.path");
    const struct lpo_node *stated = lpo_settings_map(ctx->config, "model.config");

    *out = NULL;
    if (path) {
        *out = lpo_path_join(ctx->arena, ctx->call_dir, path);
        return 0;
    }
    if (stated) {
        *out = lpo_path_join(ctx->arena, ctx->dir, "config.json");
        return write_stated_config(ctx, stated, *out, err);
    }
    if (!lpo_streq(lpo_settings_text(ctx->config, "workload.kind"), "toy"))
        return 0;
    *out = lpo_path_join(ctx->arena, ctx->dir, "config.json");
    return write_toy_config(ctx, *out, err);
}

static struct lpo_needs_options options_of(const struct lpo_stage_ctx *ctx)
{
    struct lpo_needs_options o = lpo_model_needs_defaults();
    const struct static_settings *settings = ctx->settings;

    o.seq = (uint64_t)lpo_settings_int(ctx->config, "infer.prompt_tokens");
    /* the middle of the generation stands for all of its steps */
    o.context = o.seq + (uint64_t)lpo_settings_int(ctx->config, "infer.max_new_tokens") / 2;
    o.batch = (uint64_t)lpo_settings_int(ctx->config, "infer.batch_size");
    o.image = (uint64_t)lpo_settings_int(ctx->config, "infer.image_size");
    o.counting =
        strcmp(settings->counting, "framework") == 0 ? LPO_COUNT_FRAMEWORK : LPO_COUNT_MODEL;
    o.strict = !settings->use_analytic_fallback;
    /* the default of the key is that of the Hugging Face program: no other workload has it */
    if (lpo_settings_map(ctx->config, "workload.hf"))
        o.dtype = lpo_workload_dtype(ctx->config);
    return o;
}

/* use_synthetic_inputs=false: the length of the prompt is that of the real samples. */
static void take_real_lengths(struct lpo_stage_ctx *ctx, const struct lpo_real_inputs *real,
                              struct lpo_needs_options *o)
{
    const struct lpo_real_inputs r = *real;

    if (r.why) {
        lpo_run_manifest_note(ctx->manifest, ctx->record,
                              "real samples: %s; infer.prompt_tokens is used", r.why);
        return;
    }
    o->context += r.mean - o->seq;
    o->seq = r.mean;
    lpo_run_manifest_note(ctx->manifest, ctx->record,
                          "%llu real samples of %llu to %llu tokens; their mean is analysed",
                          (unsigned long long)r.samples, (unsigned long long)r.shortest,
                          (unsigned long long)r.longest);
}

/* infer.crop_mode of DeepSeek-OCR: its encoders see the parts of a page too. A synthetic page has
 * the size of PAGE in lpo_hf/ocr_inputs.py. */
static void take_parts(struct lpo_stage_ctx *ctx, const struct lpo_real_inputs *real,
                       const struct lpo_json *config, struct lpo_needs_options *o)
{
    enum { WIDTH = 1170, HEIGHT = 1654 };
    bool synthetic = !lpo_settings_text(ctx->config, "dataset.root");

    if (!lpo_settings_bool(ctx->config, "infer.crop_mode") ||
        !lpo_json_at(config, "vision_config.width.sam_vit_b"))
        return;
    o->part = (uint64_t)lpo_settings_int(ctx->config, "infer.crop_size");
    o->parts = synthetic || real->why ? count_page_parts(WIDTH, HEIGHT, o->part) : real->parts;
    if (!synthetic && (real->why || real->parts_differ))
        lpo_run_manifest_note(
            ctx->manifest, ctx->record,
            "infer.crop_mode: %llu parts of every page are counted, %s, so MFU of "
            "prefill, sam, clip and projector is not exact",
            (unsigned long long)o->parts,
            real->why ? "as of a synthetic one" : "the mean of all pages");
}

static int analyse(struct lpo_stage_ctx *ctx, const char *path, struct lpo_model_files *files,
                   struct lpo_err *err)
{
    const struct static_settings *settings = ctx->settings;
    struct lpo_needs_options o = options_of(ctx);
    LPO_AUTO(lpo_model_needs) needs = NULL;
    LPO_AUTO(lpo_doc) doc = NULL;
    LPO_AUTO(lpo_reference) reference = NULL;
    struct lpo_err ignored = { 0 }; /* a damaged reference says nothing */
    struct lpo_real_inputs real = { 0 };
    struct lpo_hardware hw;
    const char *best;

    if (lpo_model_read(ctx->arena, path, files, err) < 0 ||
        lpo_run_hardware(ctx->arena, ctx->run_dir, ctx->config, settings->hardware, &hw, err) < 0)
        return err->code;
    o.hardware = &hw;
    if (!settings->use_synthetic_inputs || lpo_settings_bool(ctx->config, "infer.crop_mode"))
        real = read_real_inputs(ctx->arena, ctx->config, ctx->call_dir, path, files->config);
    if (!settings->use_synthetic_inputs)
        take_real_lengths(ctx, &real, &o);
    take_parts(ctx, &real, files->config, &o);
    if (files->bytes && o.dtype == LPO_DTYPE_NONE)
        o.weight_bytes = (double)files->bytes;
    if (lpo_model_needs_create(files->config, &o, &needs, err) < 0)
        return lpo_ctx(err, "cannot analyse '%s'", path);
    if (!settings->write_reports)
        return 0;
    best = lpo_reference_path(
        ctx->arena, (const char *const *)lpo_run_install_config_dirs(ctx->arena), hw.name);
    if (best)
        lpo_reference_load(best, &reference, &ignored);
    doc = lpo_static_doc(&(struct lpo_static_report){
        .path = path, .needs = needs, .files = files, .best = reference });
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
                              "no model is known: set model.path to its folder or config.json");
        return 0;
    }
    rc = analyse(ctx, path, &files, err);
    lpo_model_files_free(&files);
    return rc;
}

const struct lpo_stage lpo_pipeline_static_analysis = {
    .name = "static_analysis",
    .one_rank = true,
    .summary = "what the model must compute and move, from its config alone",
    .light = true,
    LPO_STAGE_SETTINGS(static_settings, fields),
    .results = &results,
    .no_checks = "it runs inside lpo and reads the model's config alone",
    .collect = static_collect,
};
