/* SPDX-License-Identifier: Apache-2.0 */
#include "toy/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/arena.h"
#include "util/err.h"
#include "util/json.h"
#include "util/json_write.h"
#include "util/str.h"

enum kind { NUMBER, SEED, REAL, SWITCH, FILE_NAME };

struct option {
    const char *flag; /* without the dashes */
    const char *key;  /* in the contract; NULL: only a flag */
    enum kind kind;
    size_t at; /* offset in struct toy_options */
    double least, most;
    const char *help;
};

#define AT(field) offsetof(struct toy_options, field)

static const struct option options[] = {
    { "layers", "model.layers", NUMBER, AT(model.layers), 1, 1024, "decoder layers" },
    { "hidden", "model.hidden", NUMBER, AT(model.hidden), 2, 65536, "hidden size" },
    { "heads", "model.heads", NUMBER, AT(model.heads), 1, 1024, "attention heads" },
    { "kv-heads", "model.kv_heads", NUMBER, AT(model.kv_heads), 1, 1024,
      "key/value heads, shared by groups of heads" },
    { "ffn", "model.ffn", NUMBER, AT(model.ffn), 1, 262144, "width of the SwiGLU block" },
    { "vocab", "model.vocab", NUMBER, AT(model.vocab), 2, 1048576, "vocabulary" },
    { "seed", "model.seed", SEED, AT(model.seed), 0, 0, "of weights and prompts" },
    { "prompt-tokens", "infer.prompt_tokens", NUMBER, AT(prompt_tokens), 1, 131072,
      "tokens per prompt" },
    { "max-new-tokens", "infer.max_new_tokens", NUMBER, AT(max_new_tokens), 1, 131072,
      "tokens generated per prompt" },
    { "batch", "infer.batch_size", NUMBER, AT(batch), 1, 256, "prompts side by side" },
    { "temperature", "infer.temperature", REAL, AT(sampling.temperature), 0, 1000,
      "0 takes the likeliest token" },
    { "top-k", "infer.top_k", NUMBER, AT(sampling.top_k), 0, 1048576,
      "sample among the k likeliest, 0 among all" },
    { "sample-seed", "infer.seed", SEED, AT(sampling.seed), 0, 0, "of the sampling" },
    { "samples", "dataset.sampling.num_samples_per_epoch", NUMBER, AT(samples), 1, 100000,
      "different prompts, one after the other" },
    { "epochs", "dataset.sampling.num_epochs", NUMBER, AT(epochs), 1, 100000,
      "as many further prompts for each epoch" },
    { "repeats", "run.repeats", NUMBER, AT(repeats), 1, 100000, "measured repeats" },
    { "warmup", "run.warmup", NUMBER, AT(warmup), 0, 100000, "repeats before those" },
    { "threads", "workload.toy.threads", NUMBER, AT(threads), 1, 64, "CPU threads" },
    { "device", NULL, NUMBER, AT(device), 0, 1023, "CUDA device" },
    { "start-end-ranges", "workload.toy.start_end_ranges", SWITCH, AT(start_end_ranges), 0, 0,
      "a start/end range decode_window around decode" },
    { "graph", "workload.toy.graph", SWITCH, AT(graph), 0, 0, "CUDA: decode step as a graph" },
    { "two-streams", "workload.toy.two_streams", SWITCH, AT(two_streams), 0, 0,
      "CUDA: keys and values on a second stream" },
    { "check", "workload.toy.check", SWITCH, AT(check), 0, 0,
      "first compare the logits with the CPU implementation" },
    { "settings", NULL, FILE_NAME, AT(settings), 0, 0,
      "the workload contract, instead of $LPO_WORKLOAD_CONFIG" },
    { "metrics", NULL, FILE_NAME, AT(metrics), 0, 0, "timings as JSON" },
    { "predictions", NULL, FILE_NAME, AT(predictions), 0, 0, "tokens as JSON lines" },
    { "write-config", NULL, FILE_NAME, AT(write_config), 0, 0,
      "the model's shape as a Hugging Face config.json" },
    { "write-model", NULL, FILE_NAME, AT(write_model), 0, 0,
      "folder for config.json and model.safetensors" },
    { "help", NULL, SWITCH, AT(help), 0, 0, "this text" },
};

enum { OPTIONS = sizeof options / sizeof *options };

static const struct toy_options defaults = {
    .model = { .layers = 4,
               .hidden = 256,
               .heads = 8,
               .kv_heads = 4,
               .ffn = 704,
               .vocab = 2048,
               .seed = 1 },
    .prompt_tokens = 64,
    .max_new_tokens = 32,
    .batch = 1,
    .samples = 1,
    .epochs = 1,
    .repeats = 3,
    .warmup = 1,
    .threads = 1,
};

static void *field(struct toy_options *o, const struct option *row)
{
    return (char *)o + row->at;
}

/* `where` names the flag or the key in messages. */
static int set_number(struct toy_options *o, const struct option *row, double v, const char *where,
                      struct lpo_err *err)
{
    if (!(v >= row->least && v <= row->most))
        return lpo_fail(err, LPO_E_RANGE, "%s is %g; it must be from %g to %g", where, v,
                        row->least, row->most);
    if (row->kind == REAL) {
        *(double *)field(o, row) = v;
        return 0;
    }
    if (v != (double)(int)v)
        return lpo_fail(err, LPO_E_RANGE, "%s is %g; it must be a whole number", where, v);
    *(int *)field(o, row) = (int)v;
    return 0;
}

static int set_text(struct toy_options *o, const struct option *row, const char *text,
                    const char *where, struct lpo_err *err)
{
    char *end = NULL;
    double v;

    if (row->kind == FILE_NAME) {
        *(const char **)field(o, row) = text;
        return 0;
    }
    errno = 0;
    if (row->kind == SEED) {
        *(uint64_t *)field(o, row) = strtoull(text, &end, 0);
        if (end == text || *end || errno || *text == '-')
            return lpo_fail(err, LPO_E_USAGE, "%s: '%s' is not a seed (0 to 2^64 - 1)", where,
                            text);
        return 0;
    }
    v = strtod(text, &end);
    if (end == text || *end)
        return lpo_fail(err, LPO_E_USAGE, "%s: '%s' is not a number", where, text);
    return set_number(o, row, v, where, err);
}

static int set_json(struct toy_options *o, const struct option *row, const struct lpo_json *v,
                    struct lpo_err *err)
{
    if (row->kind == SWITCH && v->kind == LPO_JSON_BOOL) {
        *(bool *)field(o, row) = v->boolean;
        return 0;
    }
    if (row->kind == SWITCH && lpo_streq(lpo_json_text(v, NULL), "auto"))
        return 0; /* only the flag sets it: the config is shared by all stages */
    if ((row->kind == NUMBER || row->kind == REAL) &&
        (v->kind == LPO_JSON_INT || v->kind == LPO_JSON_REAL))
        return set_number(o, row, v->real, row->key, err);
    if ((row->kind == SEED && (v->kind == LPO_JSON_INT || v->kind == LPO_JSON_REAL)) ||
        (row->kind == FILE_NAME && v->kind == LPO_JSON_STRING))
        return set_text(o, row, v->text, row->key, err);
    return lpo_fail(err, LPO_E_CONFIG, "'%s' has a value of the wrong type", row->key);
}

/* `effective` holds the value that a stage's own rules gave a key; it wins over the key itself. */
static const struct lpo_json *contract_value(const struct lpo_json *root, const char *key)
{
    const struct lpo_json *v = NULL;

    if (!key)
        return NULL;
    v = lpo_json_get(lpo_json_get(root, "effective"), strrchr(key, '.') + 1);
    return v ? v : lpo_json_at(root, key);
}

static int read_contract(struct lpo_arena *a, const char *path, struct toy_options *o,
                         struct lpo_err *err)
{
    const struct lpo_json *root = NULL;
    int rc = lpo_json_read_file(a, path, &root, err);

    for (size_t i = 0; i < OPTIONS && rc == 0; i++) {
        const struct lpo_json *v = contract_value(root, options[i].key);

        if (v && v->kind != LPO_JSON_NULL)
            rc = set_json(o, &options[i], v, err);
    }
    return rc < 0 ? lpo_ctx(err, "workload contract '%s'", path) : 0;
}

static const struct option *find(const char *flag, size_t len)
{
    for (size_t i = 0; i < OPTIONS; i++)
        if (strlen(options[i].flag) == len && !memcmp(options[i].flag, flag, len))
            return &options[i];
    return NULL;
}

static int unknown(const char *arg, struct lpo_err *err)
{
    const char *flags[OPTIONS], *near;

    for (size_t i = 0; i < OPTIONS; i++)
        flags[i] = options[i].flag;
    near = lpo_str_nearest(lpo_str_starts(arg, "--") ? arg + 2 : arg, flags, OPTIONS);
    if (near)
        return lpo_fail(err, LPO_E_USAGE, "unknown option '%s'; did you mean --%s?", arg, near);
    return lpo_fail(err, LPO_E_USAGE, "unknown option '%s'; --help lists the options", arg);
}

static int read_argv(int argc, char **argv, struct toy_options *o, struct lpo_err *err)
{
    for (int i = 0; i < argc; i++) {
        const char *name = lpo_str_starts(argv[i], "--") ? argv[i] + 2 : "",
                   *eq = strchr(name, '=');
        const struct option *row = find(name, eq ? (size_t)(eq - name) : strlen(name));
        int rc;

        if (!row)
            return unknown(argv[i], err);
        if (row->kind == SWITCH) {
            if (eq)
                return lpo_fail(err, LPO_E_USAGE, "--%s takes no value", row->flag);
            *(bool *)field(o, row) = true;
            continue;
        }
        if (!eq && ++i == argc)
            return lpo_fail(err, LPO_E_USAGE, "--%s needs a value", row->flag);
        rc = set_text(o, row, eq ? eq + 1 : argv[i], row->flag, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

int toy_options_samples(const struct toy_options *o)
{
    return o->samples * o->epochs;
}

/* The times of every generation are kept until the end. */
static int check_runs(const struct toy_options *o, struct lpo_err *err)
{
    enum { MOST = 1000000 };
    double runs = (double)o->samples * o->epochs * o->repeats;

    if (runs <= MOST)
        return 0;
    return lpo_fail(err, LPO_E_RANGE, "%g samples and repeats are more than %d", runs, MOST);
}

int toy_options_read(struct lpo_arena *a, int argc, char **argv, const char *contract,
                     struct toy_options *out, struct lpo_err *err)
{
    struct toy_options o = defaults, first = defaults;
    int rc;

    if ((rc = read_argv(argc, argv, &first, err)) <
        0) /* first for --settings, which may come last */
        return rc;
    if (first.settings)
        contract = first.settings;
    if (contract && (rc = read_contract(a, contract, &o, err)) < 0)
        return rc;
    if ((rc = read_argv(argc, argv, &o, err)) < 0)
        return rc;
    o.model.context = o.prompt_tokens + o.max_new_tokens;
    if (!o.help && ((rc = toy_config_check(&o.model, err)) < 0 || (rc = check_runs(&o, err)) < 0))
        return rc;
    *out = o;
    return 0;
}

static void add_default(struct lpo_str *out, const struct option *row)
{
    struct toy_options o = defaults;

    if (row->kind == NUMBER)
        lpo_str_addf(out, " (%d)", *(int *)field(&o, row));
    if (row->kind == SEED)
        lpo_str_addf(out, " (%llu)", (unsigned long long)*(uint64_t *)field(&o, row));
    if (row->kind == REAL)
        lpo_str_addf(out, " (%g)", *(double *)field(&o, row));
}

void toy_options_help(struct lpo_str *out)
{
    static const char *const values[] = { " N", " SEED", " X", "", " FILE" };

    for (size_t i = 0; i < OPTIONS; i++) {
        const struct option *row = &options[i];
        size_t from = out->len;

        lpo_str_addf(out, "  --%s%s", row->flag, values[row->kind]);
        while (out->len - from < 28)
            lpo_str_addc(out, ' ');
        lpo_str_add(out, row->help);
        add_default(out, row);
        lpo_str_addc(out, '\n');
    }
}

void toy_options_write(const struct toy_options *o, struct lpo_json_writer *w)
{
    for (size_t i = 0; i < OPTIONS; i++) {
        const struct option *row = &options[i];
        const char *p = (const char *)o + row->at;

        if (row->kind == NUMBER)
            lpo_jw_put(w, LPO_KV(row->flag, *(const int *)p));
        if (row->kind == SEED)
            lpo_jw_put(w, LPO_KV(row->flag, *(const uint64_t *)p));
        if (row->kind == REAL)
            lpo_jw_put(w, LPO_KV(row->flag, *(const double *)p));
        if (row->kind == SWITCH && row->key)
            lpo_jw_put(w, LPO_KV(row->flag, lpo_jv_flag(*(const bool *)p)));
    }
}
