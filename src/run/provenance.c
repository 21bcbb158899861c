/* SPDX-License-Identifier: Apache-2.0 */
#include "run/provenance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "gpu/nvml.h"
#include "run/child/capture.h"
#include "run/secrets/secrets.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/json_write.h"
#include "util/path.h"
#include "util/str.h"

extern char **environ;

static const int64_t tool_limit_ns = 20000000000;

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

static const char *one_line(struct lpo_arena *a, const char *const *argv)
{
    LPO_STR out = { 0 };

    if (!lpo_path_which(a, argv[0]) || lpo_run_capture(argv, tool_limit_ns, &out, NULL) < 0)
        return NULL;
    return lpo_arena_strndup(a, lpo_str_text(&out), strcspn(lpo_str_text(&out), "\n"));
}

static void write_git(struct lpo_arena *a, struct lpo_json_writer *w, const char *dir)
{
    const char *const head[] = { "git", "-C", dir, "rev-parse", "HEAD", NULL };
    const char *const state[] = { "git", "-C", dir, "status", "--porcelain", "-uno", NULL };
    const char *commit = one_line(a, head);
    const char *changed = commit ? one_line(a, state) : NULL;

    lpo_jw_object(w, "git");
    lpo_jw_text(w, "commit", commit);
    if (changed)
        lpo_jw_bool(w, "modified", *changed != '\0');
    else
        lpo_jw_null(w, "modified");
    lpo_jw_end(w);
}

static void write_host(struct lpo_arena *a, struct lpo_json_writer *w)
{
    struct utsname u;
    struct sysinfo si;

    lpo_jw_object(w, "host");
    if (uname(&u) == 0) {
        lpo_jw_text(w, "name", u.nodename);
        lpo_jw_text(w, "kernel", u.release);
        lpo_jw_text(w, "machine", u.machine);
    }
    lpo_jw_text(w, "cpu", proc_value(a, "/proc/cpuinfo", "model name"));
    lpo_jw_int(w, "cpus", sysconf(_SC_NPROCESSORS_ONLN));
    if (sysinfo(&si) == 0)
        lpo_jw_uint(w, "memory_bytes", (uint64_t)si.totalram * si.mem_unit);
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

    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (lpo_str_starts(name, starts[i]))
            return true;
    return false;
}

static void write_variables(struct lpo_arena *a, struct lpo_json_writer *w)
{
    lpo_jw_object(w, "variables");
    for (char **e = environ; *e; e++) {
        size_t n = strcspn(*e, "=");
        char *name = lpo_arena_strndup(a, *e, n);

        if (worth_keeping(name) && (*e)[n] == '=')
            lpo_jw_text(w, name, lpo_secrets_name_is_secret(name) ? LPO_HIDDEN : *e + n + 1);
    }
    lpo_jw_end(w);
}

int lpo_run_provenance_env(struct lpo_arena *a, const char *work_dir, const char *const *tools,
                           struct lpo_str *out, struct lpo_err *err)
{
    struct lpo_json_writer w = lpo_json_writer(out, 2);

    (void)err;
    lpo_jw_object(&w, NULL);
    lpo_jw_text(&w, "schema", "lpo.env/1");
    lpo_jw_text(&w, "lpo_version", LPO_VERSION);
    write_host(a, &w);
    lpo_gpu_write(a, &w, "gpus");
    lpo_jw_object(&w, "tools");
    for (; *tools; tools++)
        lpo_jw_text(&w, lpo_path_base(*tools), lpo_run_provenance_version(a, *tools));
    lpo_jw_end(&w);
    write_git(a, &w, work_dir);
    write_variables(a, &w);
    lpo_jw_end(&w);
    return 0;
}
