/* SPDX-License-Identifier: Apache-2.0 */
/* lpo analyze: what a model must compute and move, from its config. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/app.h"
#include "cli/command.h"
#include "cli/trace_options.h"
#include "gpu/this_machine.h"
#include "model/needs.h"
#include "model/read/read.h"
#include "report/doc/doc.h"
#include "report/static/static.h"
#include "run/install.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/path.h"
#include "util/str.h"
#include "util/vec.h"
#include "writer/writer.h"

enum { MAX_SWEEP = 10000 };

static int parse_size(const char *what, const char *text, uint64_t *out, struct lpo_err *err)
{
    char *end;
    unsigned long long n = strtoull(text, &end, 10);
    uint64_t scale = *end == 'k' || *end == 'K' ? 1024 : 1;

    if (end == text || *text == '-' || end[scale > 1] || n == 0 || n > (uint64_t)1 << 40)
        return lpo_fail(err, LPO_E_USAGE, "%s must be a whole number above 0, not '%s'", what,
                        text);
    *out = n * scale;
    return 0;
}

/* The sizes that may be given, on their own and in --sweep. */
static const struct {
    const char *name;
    size_t offset;
} sizes[] = {
    { "seq", offsetof(struct lpo_needs_options, seq) },
    { "context", offsetof(struct lpo_needs_options, context) },
    { "batch", offsetof(struct lpo_needs_options, batch) },
    { "image", offsetof(struct lpo_needs_options, image) },
    { "tp", offsetof(struct lpo_needs_options, tp) },
};

enum { NSIZES = sizeof sizes / sizeof *sizes };

static uint64_t *size_at(struct lpo_needs_options *o, int i)
{
    return (uint64_t *)((char *)o + sizes[i].offset);
}

static int read_word(const struct lpo_args *args, const char *name, const char *const *words,
                     int *out, struct lpo_err *err)
{
    const char *text = lpo_cli_args_text(args, name, NULL);

    for (int i = 0; text && words[i]; i++)
        if (strcmp(words[i], text) == 0) {
            *out = i;
            return 0;
        }
    return text ? lpo_fail(err, LPO_E_USAGE, "--%s must be %s or %s, not '%s'", name, words[0],
                           words[1], text)
                : 0;
}

static int read_dtype(const struct lpo_args *args, const char *name, enum lpo_dtype *out,
                      struct lpo_err *err)
{
    const char *text = lpo_cli_args_text(args, name, NULL);

    if (!text)
        return 0;
    *out = lpo_dtype_parse(text);
    if (*out == LPO_DTYPE_NONE)
        return lpo_fail(err, LPO_E_USAGE,
                        "--%s must be fp32, fp16, bf16, fp8, fp4, int8 or int4, not '%s'", name,
                        text);
    return 0;
}

static int read_options(const struct lpo_args *args, struct lpo_needs_options *o,
                        struct lpo_err *err)
{
    static const char *const countings[] = { "model", "framework", NULL };
    static const char *const mlas[] = { "absorbed", "expanded", NULL };
    int counting = 0, mla = -1, rc = 0;

    for (int i = 0; i < NSIZES && rc == 0; i++) {
        const char *text = lpo_cli_args_text(args, sizes[i].name, NULL);

        if (text)
            rc = parse_size(sizes[i].name, text, size_at(o, i), err);
    }
    if (rc == 0)
        rc = read_word(args, "counting", countings, &counting, err);
    if (rc == 0)
        rc = read_word(args, "mla", mlas, &mla, err);
    if (rc == 0)
        rc = read_dtype(args, "dtype", &o->dtype, err);
    if (rc == 0)
        rc = read_dtype(args, "kv-dtype", &o->kv_dtype, err);
    o->counting = counting ? LPO_COUNT_FRAMEWORK : LPO_COUNT_MODEL;
    o->mla = mla < 0 ? LPO_MLA_AUTO : mla ? LPO_MLA_EXPANDED : LPO_MLA_ABSORBED;
    o->strict = lpo_cli_args_has(args, "strict");
    o->unfused = lpo_cli_args_has(args, "unfused");
    o->head_all = lpo_cli_args_has(args, "head-all");
    return rc;
}

static int find_hardware(struct lpo_app *app, const char *name, struct lpo_hardware *hw,
                         struct lpo_err *err)
{
    const char *const *dirs = (const char *const *)lpo_run_install_config_dirs(app->arena);

    return lpo_gpu_hardware_find(app->arena, dirs, name, hw, err);
}

/* "seq=128,1024,batch=1,8": a word with '=' begins the next list. */
struct axis {
    int size;
    LPO_VEC(uint64_t) values;
};

static int find_size(const char *name, size_t len)
{
    for (int i = 0; i < NSIZES; i++)
        if (strlen(sizes[i].name) == len && strncmp(sizes[i].name, name, len) == 0)
            return i;
    return -1;
}

static int parse_axes(struct lpo_arena *a, const char *text, struct axis *axes, size_t *count,
                      struct lpo_err *err)
{
    while (*text) {
        size_t len = strcspn(text, ","), name = strcspn(text, "=");
        uint64_t value;
        int rc;

        if (name < len) {
            int size = find_size(text, name);

            if (size < 0 || *count == NSIZES)
                return lpo_fail(err, LPO_E_USAGE,
                                "--sweep varies seq, context, batch, image and tp, each once; it "
                                "cannot vary '%.*s'",
                                (int)len, text);
            axes[(*count)++].size = size;
            text += name + 1;
            len -= name + 1;
        }
        if (*count == 0)
            return lpo_fail(err, LPO_E_USAGE, "--sweep must be name=value,value,…, not '%s'", text);
        rc = parse_size("--sweep", lpo_arena_strndup(a, text, len), &value, err);
        if (rc < 0)
            return rc;
        lpo_vec_push(&axes[*count - 1].values, value);
        text += len;
        text += *text == ',';
    }
    return 0;
}

typedef LPO_VEC(struct lpo_sweep_row) row_vec;

static int run_sweep(const struct lpo_json *config, const struct lpo_needs_options *base,
                     struct axis *axes, size_t count, row_vec *rows, struct lpo_err *err)
{
    size_t total = 1;

    for (size_t i = 0; i < count; i++)
        total = axes[i].values.len > MAX_SWEEP / total ? MAX_SWEEP + 1 : total * axes[i].values.len;
    if (total > MAX_SWEEP)
        return lpo_fail(err, LPO_E_LIMIT, "the sweep has more than %d points: give fewer values",
                        MAX_SWEEP);
    for (size_t point = 0; point < total; point++) {
        struct lpo_needs_options o = *base;
        LPO_AUTO(lpo_model_needs) needs = NULL;
        size_t rest = point;
        int rc;

        for (size_t i = count; i-- > 0; rest /= axes[i].values.len)
            *size_at(&o, axes[i].size) = axes[i].values.at[rest % axes[i].values.len];
        rc = lpo_model_needs_create(config, &o, &needs, err);
        if (rc < 0)
            return rc;
        lpo_vec_push(rows, lpo_static_sweep_row(needs));
    }
    return 0;
}

static int sweep(struct lpo_app *app, const struct lpo_args *args, const struct lpo_json *config,
                 const struct lpo_needs_options *base, row_vec *rows, struct lpo_err *err)
{
    struct axis axes[NSIZES] = { 0 };
    size_t count = 0;
    int rc = 0;

    for (const char *const *s = lpo_cli_args_list(args, "sweep"); *s && rc == 0; s++)
        rc = parse_axes(app->arena, *s, axes, &count, err);
    if (rc == 0 && count)
        rc = run_sweep(config, base, axes, count, rows, err);
    for (size_t i = 0; i < NSIZES; i++)
        lpo_vec_free(&axes[i].values);
    return rc;
}

static int print(struct lpo_app *app, const struct lpo_args *args,
                 const struct lpo_static_report *r, struct lpo_err *err)
{
    const char *dir = lpo_cli_args_text(args, "output", NULL);
    LPO_AUTO(lpo_doc) doc = lpo_static_doc(r);

    if (dir)
        return lpo_writer_write_pair(doc, dir, "static_compute", err);
    lpo_cli_print_doc(app, doc,
                      lpo_cli_args_has(args, "json") ? &lpo_writer_json : &lpo_writer_text);
    return 0;
}

static int analyze(struct lpo_app *app, const struct lpo_args *args, struct lpo_model_files *files,
                   struct lpo_err *err)
{
    struct lpo_needs_options o = lpo_model_needs_defaults();
    const char *name = lpo_cli_args_text(args, "hardware", NULL);
    LPO_AUTO(lpo_model_needs) needs = NULL;
    struct lpo_hardware hw;
    row_vec rows = { 0 };
    int rc = read_options(args, &o, err);

    if (rc == 0 && name) {
        rc = find_hardware(app, name, &hw, err);
        o.hardware = &hw;
    }
    if (rc == 0)
        rc = lpo_model_read(app->arena, args->words[0], files, err);
    if (rc < 0)
        return rc;
    if (files->bytes && o.dtype == LPO_DTYPE_NONE)
        o.weight_bytes = (double)files->bytes;
    rc = lpo_model_needs_create(files->config, &o, &needs, err);
    if (rc < 0)
        return lpo_ctx(err, "cannot analyse '%s'", files->config_path);
    rc = sweep(app, args, files->config, &o, &rows, err);
    if (rc == 0)
        rc = print(app, args,
                   &(struct lpo_static_report){ .path = args->words[0],
                                                .needs = needs,
                                                .files = files,
                                                .sweep = rows.at,
                                                .sweeps = rows.len },
                   err);
    lpo_vec_free(&rows);
    return rc;
}

static int analyze_run(struct lpo_app *app, const struct lpo_args *args, struct lpo_err *err)
{
    struct lpo_model_files files = { 0 };
    int rc;

    if (args->nwords != 1)
        return lpo_fail(err, LPO_E_USAGE,
                        "analyze takes one model: a folder, config.json, *.safetensors or *.gguf");
    rc = analyze(app, args, &files, err);
    lpo_model_files_free(&files);
    return rc;
}

static const struct lpo_option options[] = {
    { "seq", 0, LPO_OPT_TEXT, "L", "tokens of the prompt (1024)" },
    { "context", 0, LPO_OPT_TEXT, "L", "tokens in the cache when decoding (as --seq)" },
    { "batch", 0, LPO_OPT_TEXT, "B", "sequences, or images, at a time (1)" },
    { "image", 0, LPO_OPT_TEXT, "PX", "pixels per side (as in the config)" },
    { "dtype", 0, LPO_OPT_TEXT, "T",
      "format of the weights: fp32 fp16 bf16 fp8 fp4 int8 int4 (as in the config)" },
    { "kv-dtype", 0, LPO_OPT_TEXT, "T",
      "format of the KV cache (as the weights, at least 16 bits)" },
    { "tp", 0, LPO_OPT_TEXT, "N", "tensor-parallel ranks (1)" },
    { "hardware", 0, LPO_OPT_TEXT, "H", "entry of conf/hardware, a GPU's name, cpu or this" },
    { "counting", 0, LPO_OPT_TEXT, "HOW",
      "model (what the model needs) or framework (what PyTorch counts)" },
    { "mla", 0, LPO_OPT_TEXT, "HOW", "latent attention in decode: absorbed or expanded" },
    { "head-all", 0, LPO_OPT_FLAG, NULL, "compute logits at every position" },
    { "unfused", 0, LPO_OPT_FLAG, NULL, "attention writes its scores to memory" },
    { "strict", 0, LPO_OPT_FLAG, NULL,
      "refuse a model family that lpo does not have, instead of guessing" },
    { "sweep", 0, LPO_OPT_LIST, "AXES", "seq=128,1024,batch=1,8: one row for each combination" },
    { "output", 'o', LPO_OPT_TEXT, "DIR", "write static_compute.{json,md} into this folder" },
    { "json", 0, LPO_OPT_FLAG, NULL, "print JSON" },
    { 0 },
};

const struct lpo_command lpo_cli_cmd_analyze = {
    .name = "analyze",
    .summary = "what a model must compute and move, and the least time that takes",
    .usage = "MODEL [--seq L] [--context L] [--batch B] [--image PX] [--hardware H] [--json]",
    .about = "MODEL is a folder, a config.json, a .safetensors or a .gguf file; no weights are "
             "read.\nExample: lpo analyze ./Llama-3.2-1B --seq 2048 --batch 8 --hardware h200_sxm",
    .options = options,
    .run = analyze_run,
};
