/* SPDX-License-Identifier: Apache-2.0 */
/* lpo analyze: what a model must compute and move, from its config. */

#include "analysis/limits/limits.h"
#include "analysis/run.h"
#include "cli/app.h"
#include "cli/command.h"
#include "cli/trace_options.h"
#include "gpu/sheets.h"
#include "model/read/read.h"
#include "reference/reference.h"
#include "report/doc/doc.h"
#include "report/static/static.h"
#include "run/install.h"
#include "rundir/rundir.h"
#include "util/json.h"
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
    { "isl", offsetof(struct lpo_needs_options, seq) },
    { "osl", offsetof(struct lpo_needs_options, output) },
    { "context", offsetof(struct lpo_needs_options, context) },
    { "batch", offsetof(struct lpo_needs_options, batch) },
    { "image", offsetof(struct lpo_needs_options, image) },
    { "tp", offsetof(struct lpo_needs_options, tp) },
    { "ep", offsetof(struct lpo_needs_options, ep) },
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

/* "8", or "1..256": 1, 2, 4 … and 256. */
static int parse_values(char *text, struct axis *axis, struct lpo_err *err)
{
    char *dots = strstr(text, "..");
    uint64_t value, last = 0;
    int rc = dots ? parse_size("--sweep", dots + 2, &last, err) : 0;

    if (dots)
        *dots = '\0';
    if (rc == 0)
        rc = parse_size("--sweep", text, &value, err);
    for (; rc == 0 && value < last; value *= 2)
        lpo_vec_push(&axis->values, value);
    if (rc == 0)
        lpo_vec_push(&axis->values, dots ? last : value);
    return rc;
}

static int parse_axes(struct lpo_arena *a, const char *text, struct axis *axes, size_t *count,
                      struct lpo_err *err)
{
    while (*text) {
        size_t len = strcspn(text, ","), name = strcspn(text, "=");
        int rc;

        if (name < len) {
            int size = find_size(text, name);

            if (size < 0 || *count == NSIZES)
                return lpo_fail(err, LPO_E_USAGE,
                                "--sweep varies seq (isl), osl, context, batch, image, tp and ep, "
                                "each once; it cannot vary '%.*s'",
                                (int)len, text);
            axes[(*count)++].size = size;
            text += name + 1;
            len -= name + 1;
        }
        if (*count == 0)
            return lpo_fail(err, LPO_E_USAGE, "--sweep must be name=value,value,…, not '%s'", text);
        rc = parse_values(lpo_arena_strndup(a, text, len), &axes[*count - 1], err);
        if (rc < 0)
            return rc;
        text += len;
        text += *text == ',';
    }
    return 0;
}

typedef LPO_VEC(struct lpo_sweep_row) row_vec;

/* Asked for with --isl or --osl. */
struct server {
    struct lpo_reference *reference; /* NULL: nothing is predicted */
    const char *framework;
    struct lpo_static_serving found;
};

static int run_sweep(const struct lpo_json *config, const struct lpo_needs_options *base,
                     const struct server *server, struct axis *axes, size_t count, row_vec *rows,
                     struct lpo_err *err)
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
        struct lpo_serving served;
        size_t rest = point;
        bool known;
        int rc;

        for (size_t i = count; i-- > 0; rest /= axes[i].values.len)
            *size_at(&o, axes[i].size) = axes[i].values.at[rest % axes[i].values.len];
        rc = lpo_model_needs_create(config, &o, &needs, err);
        if (rc < 0)
            return rc;
        known = server->reference &&
                lpo_reference_serve(server->reference, needs, server->framework, &served);
        lpo_vec_push(rows, lpo_static_sweep_row(needs, known ? &served : NULL));
    }
    return 0;
}

static int sweep(struct lpo_app *app, const struct lpo_args *args, const struct lpo_json *config,
                 const struct lpo_needs_options *base, const struct server *server, row_vec *rows,
                 struct lpo_err *err)
{
    struct axis axes[NSIZES] = { 0 };
    size_t count = 0;
    int rc = 0;

    for (const char *const *s = lpo_cli_args_list(args, "sweep"); *s && rc == 0; s++)
        rc = parse_axes(app->arena, *s, axes, &count, err);
    if (rc == 0 && count)
        rc = run_sweep(config, base, server, axes, count, rows, err);
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

static bool is_axis(const struct lpo_args *args, const char *name)
{
    for (const char *const *s = lpo_cli_args_list(args, "sweep"); *s; s++)
        if (strncmp(*s, name, strlen(name)) == 0)
            return true;
    return lpo_cli_args_has(args, name);
}

/* The GPU's measured times, where a prediction is asked for. */
static int open_server(struct lpo_app *app, const struct lpo_args *args,
                       struct lpo_needs_options *o, struct server *s, struct lpo_err *err)
{
    const char *const *dirs = (const char *const *)lpo_run_install_config_dirs(app->arena);
    const char *path;
    int i = 0;

    s->framework = lpo_cli_args_text(args, "framework", NULL);
    if (!is_axis(args, "isl") && !is_axis(args, "osl") && !s->framework &&
        !lpo_cli_args_has(args, "measured"))
        return 0;
    o->output = o->output ? o->output : o->seq;
    if (!o->hardware)
        return lpo_fail(err, LPO_E_USAGE, "a prediction needs --hardware: a GPU with a reference");
    while (s->framework && lpo_reference_framework(i) &&
           strcmp(lpo_reference_framework(i), s->framework) != 0)
        i++;
    if (!lpo_reference_framework(i))
        return lpo_fail(err, LPO_E_USAGE,
                        "--framework must be vllm, sglang, trtllm or any, not '%s'", s->framework);
    path = lpo_reference_path(app->arena, dirs, o->hardware->name);
    if (!path)
        return lpo_fail(
            err, LPO_E_NOTFOUND,
            "there is no reference for '%s': kernels were measured on a100_sxm, h100_sxm, "
            "h200_sxm, b200_sxm and l40s; without --isl and --osl the least time is computed",
            o->hardware->name);
    return lpo_reference_load(path, &s->reference, err);
}

/* The regions of a run, set against the same model and sizes. */
static int measure(struct lpo_app *app, const char *dir, const struct lpo_static_report *r,
                   struct lpo_limits **out, struct lpo_err *err)
{
    const char *words[] = { dir, NULL };
    const struct lpo_args args = { .words = words, .nwords = 1 };
    LPO_AUTO(lpo_analysis_run) run = NULL;
    LPO_AUTO(lpo_doc) doc = lpo_static_doc(r);
    struct lpo_limits_input in = { .hardware = r->needs->options.hardware };
    LPO_FREED lpo_limits_regions regions = { 0 };
    LPO_STR text = { 0 };
    int rc = lpo_cli_traces_open(app, &args, LPO_SKIP_OPS, NULL, &run, err);

    if (rc < 0)
        return lpo_ctx(err, "--measured");
    lpo_writer_json.write(doc, &text);
    rc = lpo_json_parse(app->arena, lpo_str_text(&text), text.len, &in.needed, err);
    in.mappings = run->dir->mappings;
    in.steps = run->dir->decode_steps;
    lpo_limits_regions_of(app->arena, lpo_analysis_run_main(run), &regions);
    in.regions = regions.at;
    in.nregions = regions.len;
    if (rc == 0)
        rc = lpo_limits_create(&in, out, err);
    return rc;
}

static int predict(struct lpo_app *app, const struct lpo_args *args, struct server *s,
                   struct lpo_static_report *r, struct lpo_limits **measured, struct lpo_err *err)
{
    const char *run = lpo_cli_args_text(args, "measured", NULL);
    int rc = 0;

    if (!s->reference)
        return 0;
    if (!lpo_reference_serve(s->reference, r->needs, s->framework, &s->found.predicted))
        return lpo_fail(err, LPO_E_NOTFOUND,
                        "'%s' generates no tokens, so there is no serving to predict", r->path);
    s->found.gpu = lpo_reference_gpu(s->reference);
    s->found.source = lpo_reference_source(s->reference);
    if (run)
        rc = measure(app, run, r, measured, err);
    s->found.measured = *measured;
    r->serving = &s->found;
    return rc;
}

static int analyze(struct lpo_app *app, const struct lpo_args *args, struct lpo_model_files *files,
                   struct lpo_err *err)
{
    struct lpo_needs_options o = lpo_model_needs_defaults();
    const char *name = lpo_cli_args_text(args, "hardware", NULL);
    LPO_AUTO(lpo_model_needs) needs = NULL;
    LPO_AUTO(lpo_limits) measured = NULL;
    struct lpo_static_report report = { .path = args->words[0], .files = files };
    struct server server = { 0 };
    struct lpo_hardware hw;
    LPO_FREED row_vec rows = { 0 };
    int rc = read_options(args, &o, err);

    if (rc == 0 && name) {
        rc = find_hardware(app, name, &hw, err);
        o.hardware = &hw;
    }
    if (rc == 0)
        rc = open_server(app, args, &o, &server, err);
    if (rc == 0)
        rc = lpo_model_read(app->arena, args->words[0], files, err);
    if (files->bytes && o.dtype == LPO_DTYPE_NONE)
        o.weight_bytes = (double)files->bytes;
    if (rc == 0 && (rc = lpo_model_needs_create(files->config, &o, &needs, err)) < 0)
        lpo_ctx(err, "cannot analyse '%s'", files->config_path);
    report.needs = needs;
    report.best = server.reference;
    if (rc == 0)
        rc = predict(app, args, &server, &report, &measured, err);
    if (rc == 0)
        rc = sweep(app, args, files->config, &o, &server, &rows, err);
    report.sweep = rows.at;
    report.sweeps = rows.len;
    if (rc == 0)
        rc = print(app, args, &report, err);
    lpo_reference_destroy(server.reference);
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
    { "ep", 0, LPO_OPT_TEXT, "N", "groups of these ranks that experts are spread over (1)" },
    { "isl", 0, LPO_OPT_TEXT, "L", "predict a server: tokens of a request (1024)" },
    { "osl", 0, LPO_OPT_TEXT, "L", "… and tokens that it generates (as --isl)" },
    { "framework", 0, LPO_OPT_TEXT, "F", "… served by vllm, sglang or trtllm (any)" },
    { "measured", 0, LPO_OPT_TEXT, "RUN", "… beside the regions of this run or trace" },
    { "hardware", 0, LPO_OPT_TEXT, "H", "entry of conf/hardware, a GPU's name, cpu or this" },
    { "counting", 0, LPO_OPT_TEXT, "HOW",
      "model (what the model needs) or framework (what PyTorch counts)" },
    { "mla", 0, LPO_OPT_TEXT, "HOW", "latent attention in decode: absorbed or expanded" },
    { "head-all", 0, LPO_OPT_FLAG, NULL, "compute logits at every position" },
    { "unfused", 0, LPO_OPT_FLAG, NULL, "attention writes its scores to memory" },
    { "strict", 0, LPO_OPT_FLAG, NULL,
      "refuse a model family that lpo does not have, instead of guessing" },
    { "sweep", 0, LPO_OPT_LIST, "AXES",
      "seq=128,1024,batch=1..256: one row for each combination; .. doubles" },
    { "output", 'o', LPO_OPT_TEXT, "DIR", "write static_compute.{json,md} into this folder" },
    { "json", 0, LPO_OPT_FLAG, NULL, "print JSON" },
    { 0 },
};

const struct lpo_command lpo_cli_cmd_analyze = {
    .name = "analyze",
    .summary = "what a model must compute and move, and the least time that takes",
    .usage = "MODEL [--seq L] [--context L] [--batch B] [--image PX] [--hardware H] [--isl L] "
             "[--osl L] [--json]",
    .about = "MODEL is a folder, a config.json, a .safetensors or a .gguf file; no weights are "
             "read.\n\n  lpo analyze ./Llama-3.2-1B --seq 2048 --batch 8 --hardware h200_sxm",
    .options = options,
    .run = analyze_run,
};
