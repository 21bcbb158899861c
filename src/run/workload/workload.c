/* SPDX-License-Identifier: Apache-2.0 */
#include "run/workload/workload.h"

#include <ctype.h>
#include <fcntl.h>
#include <unistd.h>

#include "hydra/compose.h"
#include "run/install.h"
#include "run/secrets/secrets.h"
#include "run/step.h"
#include "run/workload/samples.h"
#include "settings/settings.h"
#include "util/file.h"
#include "util/json_write.h"
#include "util/path.h"

struct builder {
    struct lpo_arena *a;
    const struct lpo_node *config;
    const struct lpo_workload_request *request;
    struct lpo_step *step;
    struct lpo_err *err;
};

struct kind {
    const char *name;
    int (*build)(struct builder *b);
    int (*check)(struct builder *b);   /* before anything is made */
    int (*prepare)(struct builder *b); /* before the program starts; NULL: nothing to do */
    bool ours;                         /* a program with our exit codes */
};

static const char *text_of(const struct builder *b, const char *key)
{
    return lpo_settings_text(b->config, key);
}

/* 0: the config does not say, and the program has a default of its own. */
static int64_t max_new_tokens(const struct lpo_node *config,
                              const struct lpo_workload_request *request)
{
    int64_t n = lpo_settings_int(config, "infer.max_new_tokens");
    int64_t fewer = lpo_settings_int(config, "run.representative_max_new_tokens");

    if (request->profiled && fewer)
        n = fewer;
    return request->most_tokens && request->most_tokens < n ? request->most_tokens : n;
}

static int64_t repeats(const struct lpo_node *config, const struct lpo_workload_request *request)
{
    return request->light ? 1 : lpo_settings_int(config, "run.repeats");
}

static int64_t warmup(const struct lpo_node *config, const struct lpo_workload_request *request)
{
    return request->own_warmup ? request->warmup : lpo_settings_int(config, "run.warmup");
}

/* infer.do_sample has the last word, as in transformers. */
static double temperature(const struct lpo_node *config)
{
    const char *sample = lpo_settings_text(config, "infer.do_sample");
    double t = lpo_settings_real(config, "infer.temperature");

    if (strcmp(sample, "false") == 0)
        return 0;
    return strcmp(sample, "true") == 0 && t <= 0 ? 1 : t;
}

static void add_option(struct builder *b, const char *flag, const char *value)
{
    lpo_run_step_arg(b->a, b->step, flag);
    lpo_run_step_arg(b->a, b->step, value);
}

static void add_number(struct builder *b, const char *flag, int64_t value)
{
    add_option(b, flag, lpo_arena_printf(b->a, "%lld", (long long)value));
}

static void add_words(struct builder *b, const char *key)
{
    struct lpo_settings_words words = lpo_settings_list(b->a, b->config, key);

    for (size_t i = 0; i < words.len; i++)
        lpo_run_step_arg(b->a, b->step, words.at[i]);
}

static void add_outputs(struct builder *b)
{
    add_option(b, "--metrics", lpo_path_join(b->a, b->request->out_dir, "metrics.json"));
    if (b->request->predictions)
        add_option(b, "--predictions",
                   lpo_path_join(b->a, b->request->out_dir, "predictions.jsonl"));
}

/* The number behind "cuda:1"; 0 for "cuda". */
static int64_t device_number(const char *device)
{
    const char *colon = strchr(device, ':');

    return colon ? strtoll(colon + 1, NULL, 10) : 0;
}

/* The toy model makes its own prompts: what names files would be passed over in silence. */
static int check_no_files(struct builder *b)
{
    static const char *const keys[] = { "run.dataset_subset_filelist", "dataset.subset_filelist",
                                        "dataset.root" };

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *value = text_of(b, keys[i]);

        if (value && *value)
            return lpo_fail(b->err, LPO_E_CONFIG,
                            "%s is '%s', but the built-in model makes its own prompts and reads no "
                            "files; choose another workload (workload=hf, workload=dsocr, or a "
                            "program after --), or set %s=null",
                            keys[i], value, keys[i]);
    }
    return 0;
}

/* The toy model has no other device; PyTorch has more, and judges for itself. */
static int check_toy(struct builder *b)
{
    const char *device = text_of(b, "run.device"), *number = device + strlen("cuda");

    if (lpo_workload_list_check(b->a, b->config, b->step->cwd, b->err) < 0 || check_no_files(b) < 0)
        return b->err->code;
    if (strcmp(device, "cpu") == 0 || strcmp(device, "cuda") == 0)
        return 0;
    if (lpo_str_starts(device, "cuda:") && isdigit((unsigned char)number[1]) &&
        strspn(number + 1, "0123456789") == strlen(number + 1) && device_number(device) < 1024)
        return 0;
    return lpo_fail(b->err, LPO_E_CONFIG,
                    "run.device is '%s'; the built-in model runs on cpu, cuda or cuda:N", device);
}

/* workload.toy.cuda: true takes the CUDA build or fails, auto takes it where it can run. */
static int toy_program(struct builder *b, const char *device, const char **out)
{
    const char *cuda = text_of(b, "workload.toy.cuda");
    bool fixed = strcmp(cuda, "auto") != 0;
    bool wanted = fixed ? strcmp(cuda, "true") == 0
                        : strcmp(device, "cpu") != 0 && lpo_path_exists("/dev/nvidiactl");
    const char *gpu = wanted ? lpo_run_install_find(b->a, "toy_llm_cuda") : NULL;

    if (fixed && wanted && !gpu)
        return lpo_fail(b->err, LPO_E_MISSING,
                        "workload.toy.cuda is true, but toy_llm_cuda is not beside lpo; "
                        "scripts/build-toy-cuda.sh builds it where nvcc is");
    *out = gpu ? gpu : lpo_run_install_find(b->a, "toy_llm");
    if (*out)
        return 0;
    return lpo_fail(b->err, LPO_E_MISSING,
                    "the built-in workload toy_llm is not beside lpo; build it, or set "
                    "workload.program");
}

/* As hf_generate.py takes synthetic samples: a different prompt for each, in every epoch. */
static void add_samples(struct builder *b)
{
    int64_t samples = lpo_settings_int(b->config, "dataset.sampling.num_samples_per_epoch");
    int64_t epochs = lpo_settings_int(b->config, "dataset.sampling.num_epochs");

    if (samples > 1) /* 0: null, all of them, which are one */
        add_number(b, "--samples", samples);
    if (epochs > 1)
        add_number(b, "--epochs", epochs);
}

static int build_toy(struct builder *b)
{
    static const struct {
        const char *flag, *key;
    } numbers[] = {
        { "--layers", "model.layers" },    { "--hidden", "model.hidden" },
        { "--heads", "model.heads" },      { "--kv-heads", "model.kv_heads" },
        { "--ffn", "model.ffn" },          { "--vocab", "model.vocab" },
        { "--seed", "model.seed" },        { "--prompt-tokens", "infer.prompt_tokens" },
        { "--batch", "infer.batch_size" }, { "--top-k", "infer.top_k" },
        { "--sample-seed", "infer.seed" }, { "--threads", "workload.toy.threads" },
    };
    const char *device = text_of(b, "run.device");
    const char *program = text_of(b, "workload.program");
    int64_t tokens = max_new_tokens(b->config, b->request);
    bool graph = lpo_settings_bool(b->config, "workload.toy.graph");

    if (!program && toy_program(b, device, &program) < 0)
        return b->err->code;
    if (graph && !text_of(b, "workload.program") && strcmp(lpo_path_base(program), "toy_llm") == 0)
        return lpo_fail(b->err, LPO_E_CONFIG,
                        "workload.toy.graph is true, but only the CUDA build of the built-in model "
                        "has CUDA graphs: set workload.toy.cuda=true, or workload.toy.graph=false");
    lpo_run_step_arg(b->a, b->step, program);
    if (graph)
        lpo_run_step_arg(b->a, b->step, "--graph");
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        int64_t v = lpo_settings_int(b->config, numbers[i].key);

        if (v >= 0 && lpo_settings_is_set(b->config, numbers[i].key))
            add_number(b, numbers[i].flag, v);
    }
    if (tokens)
        add_number(b, "--max-new-tokens", tokens);
    add_number(b, "--warmup", warmup(b->config, b->request));
    add_number(b, "--repeats", repeats(b->config, b->request));
    add_samples(b);
    add_option(b, "--temperature", lpo_arena_printf(b->a, "%g", temperature(b->config)));
    if (lpo_str_starts(device, "cuda"))
        add_number(b, "--device", device_number(device));
    add_outputs(b);
    add_words(b, "workload.toy.extra_args");
    return 0;
}

/* What settings.json only shows as hidden, for the program alone: a JSON object from keys to
 * values. Its own variables it has anyway. */
static void add_hidden_settings(struct builder *b)
{
    struct lpo_node *hidden = lpo_node_list(b->a), *values = lpo_node_map(b->a);
    LPO_STR text = { 0 };
    struct lpo_json_writer w = lpo_json_writer(&text, 0);

    lpo_secrets_mask_config(b->a, b->config, hidden);
    for (size_t i = 0; i < hidden->count; i++) {
        const char *key = lpo_node_text_at(hidden->items[i], "key");
        const struct lpo_node *value = lpo_node_at(b->config, key);

        if (value && !lpo_str_starts(key, "workload.env."))
            lpo_node_set(b->a, values, key, lpo_node_clone(b->a, value));
    }
    if (!values->npairs)
        return;
    lpo_node_write_json(&w, NULL, values);
    lpo_run_step_env(b->a, b->step, "LPO_SETTINGS_SECRETS",
                     lpo_arena_strdup(b->a, lpo_str_text(&text)));
}

/* A program of the user's reads these settings in its own way. */
static int check_hf(struct builder *b)
{
    if (text_of(b, "workload.program"))
        return 0;
    return lpo_workload_hf_files_check(b->a, b->config, b->step->cwd, b->err);
}

static const char *settings_path(const struct builder *b)
{
    return lpo_path_join(b->a, b->request->out_dir, "settings.json");
}

static int write_settings(struct builder *b)
{
    LPO_STR text = { 0 };
    struct lpo_json_writer w = lpo_json_writer(&text, 2);

    /* the program gets its variables from its environment, never from this file */
    lpo_workload_settings(lpo_secrets_mask_config(b->a, b->config, NULL), b->request, &w);
    return lpo_file_write(settings_path(b), text.at, text.len, b->err);
}

static int prepare_hf(struct builder *b)
{
    return check_hf(b) < 0 ? b->err->code : write_settings(b);
}

static int build_hf(struct builder *b)
{
    const char *program = text_of(b, "workload.program");
    const char *python = text_of(b, "workload.python");

    if (!program)
        program = lpo_run_install_find(b->a, "hf_generate.py");
    if (!program)
        return lpo_fail(b->err, LPO_E_MISSING,
                        "hf_generate.py is not beside lpo; install lpo whole, or set "
                        "workload.program");
    if (!lpo_path_which(b->a, python))
        return lpo_fail(b->err, LPO_E_MISSING,
                        "the interpreter '%s' was not found; set workload.python to one with torch "
                        "and transformers",
                        python);
    lpo_run_step_arg(b->a, b->step, python);
    lpo_run_step_arg(b->a, b->step, program);
    add_option(b, "--settings", settings_path(b));
    add_outputs(b);
    add_words(b, "workload.hf.extra_args");
    add_hidden_settings(b);
    return 0;
}

static int check_command(struct builder *b)
{
    if (lpo_settings_list(b->a, b->config, "workload.argv").len == 0)
        return lpo_fail(b->err, LPO_E_CONFIG,
                        "workload.argv is empty; give the program: lpo run -- ./program args");
    return lpo_workload_list_check(b->a, b->config, b->step->cwd, b->err);
}

static int prepare_command(struct builder *b)
{
    return b->request->tell_settings ? write_settings(b) : 0;
}

static int build_command(struct builder *b)
{
    const char *program;

    if (check_command(b) < 0)
        return b->err->code;
    program = lpo_settings_list(b->a, b->config, "workload.argv").at[0];
    if (!lpo_path_which(b->a, program))
        return lpo_fail(b->err, LPO_E_MISSING,
                        "the program '%s' was not found or is not executable", program);
    add_words(b, "workload.argv");
    return 0;
}

static int check_server(struct builder *b)
{
    return lpo_workload_server_check(b->a, b->config, b->err);
}

static int build_server(struct builder *b)
{
    return lpo_workload_server_build(b->a, b->config, b->request->out_dir, b->step, b->err);
}

static const struct kind kinds[] = {
    { "toy", build_toy, check_toy, NULL, true },
    { "hf", build_hf, check_hf, prepare_hf, true },
    { "command", build_command, check_command, prepare_command, false },
    { "server", build_server, check_server, prepare_command, false },
};

static const struct kind *find_kind(const struct lpo_node *config, struct lpo_err *err)
{
    const char *kind = lpo_settings_text(config, "workload.kind");

    if (!kind) /* a config of the user's own that only has a program */
        kind = "command";
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, kind) == 0)
            return &kinds[i];
    lpo_fail(err, LPO_E_CONFIG, "workload.kind '%s' is unknown; it is toy, hf, command or server",
             kind);
    return NULL;
}

static const char *cwd_of(struct lpo_arena *a, const struct lpo_node *config, const char *call_dir)
{
    const char *cwd = lpo_settings_text(config, "workload.cwd");

    return cwd ? lpo_path_join(a, call_dir, cwd) : call_dir;
}

const char *lpo_workload_device_note(struct lpo_arena *a, const struct lpo_node *config)
{
    const char *device = lpo_settings_text(config, "run.device");

    if (!lpo_streq(lpo_settings_text(config, "workload.kind"), "toy") || !device ||
        !lpo_str_starts(device, "cuda") || lpo_settings_text(config, "workload.program") ||
        !lpo_streq(lpo_settings_text(config, "workload.toy.cuda"), "auto") ||
        lpo_path_exists("/dev/nvidiactl"))
        return NULL;
    return lpo_arena_printf(a,
                            "run.device=%s: there is no NVIDIA GPU here, so the built-in model "
                            "runs on the CPU",
                            device);
}

int lpo_workload_program_check(struct lpo_arena *a, const struct lpo_node *config,
                               struct lpo_err *err)
{
    struct lpo_settings_words argv = lpo_settings_list(a, config, "workload.argv");

    if (!lpo_streq(lpo_settings_text(config, "workload.kind"), "command") || !argv.len ||
        lpo_path_which(a, argv.at[0]))
        return 0;
    return lpo_fail(err, LPO_E_NOPROGRAM, "the program '%s' was not found or is not executable",
                    argv.at[0]);
}

enum lpo_dtype lpo_workload_dtype(const struct lpo_node *config)
{
    const char *kind = lpo_settings_text(config, "workload.kind");
    const char *stated = lpo_settings_text(config, "infer.dtype");

    if (stated && lpo_dtype_parse(stated) != LPO_DTYPE_NONE)
        return lpo_dtype_parse(stated);
    if (lpo_streq(kind, "toy"))
        return lpo_dtype_parse("fp32"); /* workloads/toy */
    if (!lpo_streq(kind, "hf"))
        return LPO_DTYPE_NONE;
    stated = lpo_settings_text(config, "workload.hf.dtype");
    stated = stated ? stated : lpo_settings_text(config, "model.dtype");
    return lpo_dtype_parse(stated ? stated : "bfloat16");
}

bool lpo_workload_generates_tokens(const struct lpo_node *config)
{
    const struct kind *k = find_kind(config, NULL);

    return k && k->ours;
}

int lpo_workload_check(struct lpo_arena *a, const struct lpo_node *config, const char *call_dir,
                       struct lpo_err *err)
{
    struct lpo_step step = { .cwd = cwd_of(a, config, call_dir) };
    struct builder b = { a, config, NULL, &step, err };
    const struct kind *k = find_kind(config, err);

    if (!k)
        return err->code;
    if (k->check(&b) == 0)
        return 0;
    err->code = LPO_E_CONFIG; /* also where a file that the config names cannot be opened */
    return err->code;
}

static void add_env(struct builder *b)
{
    const struct lpo_node *env = lpo_settings_map(b->config, "workload.env");

    for (size_t i = 0; env && i < env->npairs; i++) {
        const struct lpo_node *key = env->pairs[i].key;

        if (key->kind == LPO_NODE_STRING) /* null removes the variable */
            lpo_run_step_env(b->a, b->step, key->text,
                             lpo_settings_node_word(b->a, env->pairs[i].value));
    }
}

int lpo_workload_plan(struct lpo_arena *a, const struct lpo_node *config,
                      const struct lpo_workload_request *request, struct lpo_step *step,
                      struct lpo_err *err)
{
    struct builder b = { a, config, request, step, err };
    const struct kind *k = find_kind(config, err);

    if (!k)
        return err->code;
    step->cwd = cwd_of(a, config, request->call_dir);
    if (k->build(&b) < 0)
        return lpo_ctx(err, "cannot plan the workload");
    add_env(&b);
    if (!k->ours && request->tell_settings) /* a program that wants to know run.device, infer.* or
                                             * dataset.* reads them there
                                             */
        lpo_run_step_env(a, step, "LPO_SETTINGS", settings_path(&b));
    step->reports_missing = k->ours;
    return 0;
}

int lpo_workload_prepare(struct lpo_arena *a, const struct lpo_node *config,
                         const struct lpo_workload_request *request, struct lpo_err *err)
{
    struct lpo_step step = { .cwd = cwd_of(a, config, request->call_dir) };
    struct builder b = { a, config, request, &step, err };
    const struct kind *k = find_kind(config, err);

    if (!k)
        return err->code;
    if (k->prepare && k->prepare(&b) < 0)
        return lpo_ctx(err, "cannot prepare the workload");
    return 0;
}

static void write_section(struct lpo_json_writer *w, const struct lpo_node *config, const char *key)
{
    const struct lpo_node *n = lpo_node_get(config, key);

    if (n)
        lpo_node_write_json(w, key, n);
}

void lpo_workload_settings(const struct lpo_node *config,
                           const struct lpo_workload_request *request, struct lpo_json_writer *w)
{
    lpo_jw_object(w, NULL);
    lpo_jw_put(w, LPO_KV("schema", "lpo.workload_settings/1"));
    write_section(w, config, "model");
    write_section(w, config, "infer");
    write_section(w, config, "dataset");
    write_section(w, config, "run");
    write_section(w, config, "workload");
    /* after the rules that depend on the stage */
    lpo_jw_record(
        w, "effective", LPO_KV("max_new_tokens", max_new_tokens(config, request)),
        LPO_KV("repeats", repeats(config, request)), LPO_KV("warmup", warmup(config, request)),
        LPO_KV("temperature", temperature(config)), LPO_KV("profiled", request->profiled));
    lpo_jw_end(w);
}

/* Is there a Python interpreter in the workload? Asked before it runs, so that a profiler of Python
 * programs does not cost one more run of every other program. */

static bool is_shell(const char *program)
{
    static const char *const shells[] = {
        "sh", "bash", "dash", "zsh", "ksh", "fish", "csh", "tcsh"
    };
    const char *base = lpo_path_base(program);

    return lpo_any(i, sizeof shells / sizeof *shells, strcmp(base, shells[i]) == 0);
}

/* The first two bytes are enough: another program reads the file. */
static bool is_script(const char *path)
{
    char start[2] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO would wait */
    bool script;

    if (fd < 0)
        return false;
    script = read(fd, start, sizeof start) == (ssize_t)sizeof start && start[0] == '#' &&
             start[1] == '!';
    close(fd);
    return script;
}

/* The file that a word names: the program on PATH, any other relative to the working folder. */
static const char *file_of(struct lpo_arena *a, const char *word, bool program, const char *folder)
{
    const char *found = program && !strchr(word, '/') ? lpo_path_which(a, word) : NULL;

    if (found || *word == '/')
        return found ? found : word;
    return lpo_path_join(a, folder, word);
}

static bool command_may_be_python(struct lpo_arena *a, const struct lpo_node *config,
                                  const char *call_dir)
{
    struct lpo_settings_words argv = lpo_settings_list(a, config, "workload.argv");
    const char *cwd = lpo_settings_text(config, "workload.cwd");
    const char *program = lpo_settings_text(config, "workload.program");

    if (!cwd)
        cwd = call_dir;
    else if (*cwd != '/')
        cwd = lpo_path_join(a, call_dir, cwd);
    if (program)
        return true; /* not how a command is given: nothing is known about it */
    for (size_t i = 0; i < argv.len; i++) {
        const char *word = argv.at[i];

        if (strstr(word, "python") || strstr(word, ".py") || (i == 0 && is_shell(word)) ||
            is_script(file_of(a, word, i == 0, i == 0 ? call_dir : cwd)))
            return true;
    }
    return false;
}

bool lpo_workload_may_be_python(struct lpo_arena *a, const struct lpo_node *config,
                                const char *call_dir)
{
    const char *kind = lpo_settings_text(config, "workload.kind");

    if (lpo_streq(kind, "command") || lpo_streq(kind, "server"))
        return command_may_be_python(a, config, call_dir);
    return !lpo_streq(kind, "toy");
}
