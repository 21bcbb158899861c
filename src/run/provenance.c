/* SPDX-License-Identifier: Apache-2.0 */
#include "run/provenance.h"

#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "gpu/driver.h"
#include "gpu/sheets.h"
#include "run/child/supervise.h"
#include "run/folder.h"
#include "run/install.h"
#include "run/secrets/secrets.h"
#include "run/step.h"
#include "settings/settings.h"
#include "util/file.h"
#include "util/json.h"
#include "util/json_write.h"
#include "util/path.h"

extern char **environ;

static const int64_t tool_limit_ns = 20000000000;
static const int64_t git_limit_ns = 5000000000;

/* The value behind "key : value" of the first such line. */
static const char *proc_value(struct lpo_arena *a, const char *path, const char *key)
{
    LPO_AUTO(lpo_file_text) text = NULL;
    const char *line;

    if (lpo_file_text_read_limit(path, 1 << 20, &text, NULL) < 0)
        return NULL;
    line = strstr(text->at, key);
    if (!line)
        return NULL;
    line += strcspn(line, ":\n");
    if (*line != ':')
        return NULL;
    line++;
    line += strspn(line, " \t");
    return lpo_arena_strndup(a, line, strcspn(line, "\n"));
}

/* The first line that holds a digit. */
const char *lpo_run_provenance_version(struct lpo_arena *a, const char *tool)
{
    const char *const argv[] = { tool, "--version", NULL };
    LPO_STR out = { 0 };

    if (!lpo_path_which(a, tool) || lpo_run_capture(argv, tool_limit_ns, &out, NULL) < 0)
        return NULL;
    for (const char *p = lpo_str_text(&out); *p;) {
        size_t n = strcspn(p, "\n");
        char *line = lpo_arena_strndup(a, p, n);

        if (strpbrk(line, "0123456789") && !strstr(line, "Copyright"))
            return line;
        p += n + (p[n] == '\n');
    }
    return NULL;
}

/* git in a folder that is not ours, which may hold the repository of a stranger: its config can
 * name programs that git would start (fsmonitor, hooks, filters), and none of them is. */
static struct lpo_words git_words(struct lpo_arena *a, const char *dir)
{
    static const char *const first[] = {
        "git", "--no-optional-locks",      "--no-pager", "-c", "core.fsmonitor=false",
        "-c",  "core.hooksPath=/dev/null", "-C"
    };
    struct lpo_words words = { 0 };

    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        lpo_run_words_add(a, &words, first[i]);
    lpo_run_words_add(a, &words, dir);
    return words;
}

/* What git prints on `words`; NULL: it failed, or took too long. */
static const char *git_output(struct lpo_arena *a, struct lpo_words words, const char *const *more)
{
    LPO_STR out = { 0 };

    for (; *more; more++)
        lpo_run_words_add(a, &words, *more);
    if (!lpo_path_which(a, words.at[0]) ||
        lpo_run_capture((const char *const *)words.at, git_limit_ns, &out, NULL) < 0)
        return NULL;
    return lpo_arena_strdup(a, lpo_str_text(&out));
}

/* `git status` puts changed files through the repository's filters; no option switches all of them
 * off, so each is replaced by nothing. */
static void git_without_filters(struct lpo_arena *a, const char *dir, struct lpo_words *words)
{
    static const char *const ask[] = { "config", "--name-only", "--get-regexp",
                                       "^filter\\..*\\.(clean|smudge|process|required)$", NULL };
    const char *names = git_output(a, git_words(a, dir), ask);
    char *rest = NULL;

    for (char *name = names ? strtok_r(lpo_arena_strdup(a, names), "\n", &rest) : NULL; name;
         name = strtok_r(NULL, "\n", &rest)) {
        struct lpo_words again = { 0 };

        lpo_run_words_add(a, &again, words->at[0]);
        lpo_run_words_add(a, &again, "-c");
        lpo_run_words_addf(a, &again, "%s=%s", name,
                           lpo_str_ends(name, ".required") ? "false" : "");
        for (size_t i = 1; i < words->len; i++)
            lpo_run_words_add(a, &again, words->at[i]);
        *words = again;
    }
}

static void write_git(struct lpo_arena *a, struct lpo_json_writer *w, const char *dir)
{
    /* a submodule's own git would read that one's config, without our -c */
    static const char *const head[] = { "rev-parse", "HEAD", NULL };
    static const char *const state[] = { "status", "--porcelain", "-uno",
                                         "--ignore-submodules=dirty", NULL };
    struct lpo_words words = git_words(a, dir);
    const char *commit = git_output(a, words, head), *changed = NULL;

    if (commit) {
        commit = lpo_arena_strndup(a, commit, strcspn(commit, "\n"));
        git_without_filters(a, dir, &words);
        changed = git_output(a, words, state);
    }

    lpo_jw_record(w, "git", LPO_KV("commit", commit),
                  LPO_KV("modified", changed ? lpo_jv_flag(*changed != '\0') : lpo_jv_null()));
}

static void write_host(struct lpo_arena *a, struct lpo_json_writer *w)
{
    struct utsname u;
    struct sysinfo si;

    lpo_jw_object(w, "host");
    if (uname(&u) == 0)
        lpo_jw_put(w, LPO_KV("name", u.nodename), LPO_KV("kernel", u.release),
                   LPO_KV("machine", u.machine));
    lpo_jw_put(w, LPO_KV("cpu", proc_value(a, "/proc/cpuinfo", "model name")),
               LPO_KV("cpus", sysconf(_SC_NPROCESSORS_ONLN)));
    if (sysinfo(&si) == 0)
        lpo_jw_put(w, LPO_KV("memory_bytes", (uint64_t)si.totalram * si.mem_unit));
    lpo_jw_end(w);
}

/* Only what changes how the program runs; never everything. */
static bool worth_keeping(const char *name)
{
    static const char *const starts[] = {
        "CUDA_",           "NVIDIA_",    "NCCL_",     "TORCH",   "PYTORCH_",   "OMP_", "HF_",
        "TRANSFORMERS_",   "LPO_",       "SLURM_JOB", "MASTER_", "WORLD_SIZE", "RANK", "LOCAL_RANK",
        "LD_LIBRARY_PATH", "LD_PRELOAD", "NVTX_",     "TRITON_"
    };

    return lpo_any(i, sizeof starts / sizeof *starts, lpo_str_starts(name, starts[i]));
}

static void write_variables(struct lpo_arena *a, struct lpo_json_writer *w)
{
    lpo_jw_object(w, "variables");
    for (char **e = environ; *e; e++) {
        size_t n = strcspn(*e, "=");
        char *name = lpo_arena_strndup(a, *e, n);

        if (worth_keeping(name) && (*e)[n] == '=')
            lpo_jw_put(w, LPO_KV(name, lpo_secrets_name_is_secret(name) ? LPO_HIDDEN : *e + n + 1));
    }
    lpo_jw_end(w);
}

int lpo_run_provenance_env(struct lpo_arena *a, const char *work_dir, const char *const *tools,
                           struct lpo_str *out, struct lpo_err *err)
{
    struct lpo_json_writer w = lpo_json_writer(out, 2);

    (void)err;
    lpo_jw_object(&w, NULL);
    lpo_jw_put(&w, LPO_KV("schema", "lpo.env/1"), LPO_KV("lpo_version", LPO_VERSION));
    write_host(a, &w);
    lpo_gpu_write(a, &w, "gpus");
    lpo_jw_object(&w, "tools");
    for (; *tools; tools++)
        lpo_jw_put(&w, LPO_KV(lpo_path_base(*tools), lpo_run_provenance_version(a, *tools)));
    lpo_jw_end(&w);
    write_git(a, &w, work_dir);
    write_variables(a, &w);
    lpo_jw_end(&w);
    return 0;
}

static const char file[] = "hardware.json";

int lpo_run_hardware_find(struct lpo_arena *a, const struct lpo_node *config, const char *name,
                          struct lpo_hardware *out, struct lpo_err *err)
{
    const char *device = lpo_settings_text(config, "run.device");
    const char *const *dirs = (const char *const *)lpo_run_install_config_dirs(a);

    if (strcmp(name, "auto") == 0)
        name = strcmp(device, "cpu") == 0 ? "cpu" : "this";
    return lpo_gpu_hardware_find(a, dirs, name, out, err);
}

int lpo_run_hardware(struct lpo_arena *a, const char *run_dir, const struct lpo_node *config,
                     const char *name, struct lpo_hardware *out, struct lpo_err *err)
{
    struct lpo_hardware *kept = NULL;
    int rc = lpo_run_hardware_load(a, run_dir, &kept, err);

    if (rc < 0 || !kept)
        return rc < 0 ? rc : lpo_run_hardware_find(a, config, name, out, err);
    *out = *kept;
    return 0;
}

static void write_ceilings(struct lpo_json_writer *w, const struct lpo_hardware *hw)
{
    lpo_jw_object(w, "flops");
    for (int t = 1; t < LPO_DTYPES; t++)
        if (hw->flops[t] > 0)
            lpo_jw_put(w, LPO_KV(lpo_dtype_name((enum lpo_dtype)t), hw->flops[t]));
    lpo_jw_end(w);
    lpo_jw_put(w, LPO_KV("bandwidth", hw->bandwidth));
}

void lpo_run_hardware_write(const struct lpo_hardware *hw, struct lpo_str *out)
{
    struct lpo_json_writer w = lpo_json_writer(out, 2);

    lpo_jw_object(&w, NULL);
    lpo_jw_put(&w, LPO_KV("schema", "lpo.hardware/1"), LPO_KV("name", hw->name),
               LPO_KV("label", hw->label), LPO_KV("source", hw->source));
    write_ceilings(&w, hw);
    lpo_jw_put(&w, LPO_KV("memory", lpo_jv_whole(hw->memory > 0 ? lpo_measure_computed(hw->memory)
                                                                : lpo_measure_unknown())));
    if (hw->sheet) {
        lpo_jw_object(&w, "sheet");
        write_ceilings(&w, hw->sheet);
        lpo_jw_end(&w);
    }
    lpo_jw_end(&w);
}

/* A rate that somebody's editor made negative, endless or next to nothing is no rate. */
static double rate(const struct lpo_json *v)
{
    double x = lpo_json_real(v, 0);

    return x >= 1 && x <= 1e30 ? x : 0;
}

static void read_ceilings(const struct lpo_json *from, struct lpo_hardware *hw)
{
    const struct lpo_json *flops = lpo_json_get(from, "flops");

    for (int t = 1; t < LPO_DTYPES; t++)
        hw->flops[t] = rate(lpo_json_get(flops, lpo_dtype_name((enum lpo_dtype)t)));
    hw->bandwidth = rate(lpo_json_get(from, "bandwidth"));
}

int lpo_run_hardware_read(struct lpo_arena *a, const struct lpo_json *root,
                          struct lpo_hardware *out, struct lpo_err *err)
{
    const struct lpo_json *sheet = lpo_json_get(root, "sheet");

    if (!lpo_json_get(root, "flops"))
        return lpo_fail(err, LPO_E_FORMAT, "this is no %s: it has no 'flops'", file);
    *out = (struct lpo_hardware){
        .name = lpo_json_text(lpo_json_get(root, "name"), "unnamed"),
        .source = lpo_json_text(lpo_json_get(root, "source"), "unknown"),
        .memory = rate(lpo_json_get(root, "memory")),
    };
    out->label = lpo_json_text(lpo_json_get(root, "label"), out->name);
    read_ceilings(root, out);
    if (sheet && sheet->kind == LPO_JSON_OBJECT) {
        struct lpo_hardware *s = LPO_NEW(a, struct lpo_hardware);

        *s = *out;
        s->source = "sheet";
        read_ceilings(sheet, s);
        out->sheet = s;
    }
    return 0;
}

int lpo_run_hardware_save(const char *run_dir, const struct lpo_hardware *hw, struct lpo_err *err)
{
    LPO_STR text = { 0 };

    lpo_run_hardware_write(hw, &text);
    return lpo_run_folder_write(run_dir, file, text.at, text.len, err);
}

int lpo_run_hardware_load(struct lpo_arena *a, const char *run_dir, struct lpo_hardware **out,
                          struct lpo_err *err)
{
    const char *path = lpo_path_join(a, run_dir, file);
    const struct lpo_json *root = NULL;
    struct lpo_hardware *hw;

    *out = NULL;
    if (!lpo_path_exists(path))
        return 0;
    hw = LPO_NEW(a, struct lpo_hardware);
    if (lpo_json_read_file(a, path, &root, err) < 0 || lpo_run_hardware_read(a, root, hw, err) < 0)
        return lpo_ctx(err, "'%s' cannot be read", path);
    *out = hw;
    return 0;
}
