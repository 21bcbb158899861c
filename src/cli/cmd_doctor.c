/* lpo doctor: what is here, what each missing thing costs, how to get it. */
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#include "cli/app.h"
#include "cli/command.h"
#include "cli/doctor_calibrate.h"
#include "gpu/nvml.h"
#include "run/child/capture.h"
#include "run/install.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/json_write.h"
#include "util/path.h"
#include "util/str.h"

#define DOCTOR_SCHEMA "lpo.doctor/1"

struct finding {
    const char *name;
    bool here;
    const char *detail; /* version, path, or what is missing */
    const char *cost;   /* what does not work without it */
    const char *remedy;
};

struct check {
    const char *name, *cost, *remedy;
    /* fills in `detail`, and another remedy where the usual one is not what helps */
    bool (*look)(struct lpo_arena *a, struct finding *f);
};

static const char with_a_gpu[] = "run on a machine with an NVIDIA GPU and driver";
static const int64_t ask_limit_ns = 20000000000;

/* The first line with a digit that `tool --version` prints. */
static bool tool_version(struct lpo_arena *a, const char *tool, struct finding *f)
{
    const char *const argv[] = { tool, "--version", NULL };
    const char *path = lpo_path_which(a, tool);
    LPO_STR out = { 0 };

    if (!path) {
        f->detail = "not on PATH";
        return false;
    }
    f->detail = path;
    if (lpo_run_capture(argv, ask_limit_ns, &out, NULL) < 0)
        return true;
    for (const char *p = lpo_str_text(&out); *p; p += strcspn(p, "\n"), p += *p == '\n') {
        size_t n = strcspn(p, "\n");

        if (memchr(p, '.', n) && strpbrk(p, "0123456789") < p + n) {
            f->detail = lpo_arena_printf(a, "%s (%.*s)", path, (int)n, p);
            break;
        }
    }
    return true;
}

static bool look_ncu(struct lpo_arena *a, struct finding *f)
{
    return tool_version(a, "ncu", f);
}

static bool look_nsys(struct lpo_arena *a, struct finding *f)
{
    return tool_version(a, "nsys", f);
}

static bool look_python(struct lpo_arena *a, struct finding *f)
{
    static const char *const argv[] = { "python3", "-c",
                                        "import torch; print(torch.__version__, "
                                        "torch.cuda.is_available())",
                                        NULL };
    LPO_STR out = { 0 };

    if (!lpo_path_which(a, "python3")) {
        f->detail = "python3 is not on PATH";
        return false;
    }
    if (lpo_run_capture(argv, 60000000000, &out, NULL) < 0) {
        f->detail = "python3 is here, but 'import torch' fails";
        return false;
    }
    f->detail = lpo_arena_printf(a, "torch %.*s", (int)strcspn(out.at, " \n"), out.at);
    return true;
}

static bool look_driver(struct lpo_arena *a, struct finding *f)
{
    struct lpo_gpus gpus;

    lpo_gpu_list(a, &gpus);
    if (gpus.len == 0) {
        f->detail = gpus.why ? gpus.why : "no GPU";
        return false;
    }
    f->detail =
        lpo_arena_printf(a, "%zu x %s, driver %s", gpus.len,
                         gpus.at[0].name ? gpus.at[0].name : "?", gpus.driver ? gpus.driver : "?");
    return true;
}

static bool look_collector(struct lpo_arena *a, struct finding *f)
{
    const char *path = lpo_run_install_find(a, "liblpo-collect.so");

    f->detail = path ? path : "liblpo-collect.so is not beside lpo";
    return path != NULL;
}

static bool look_cupti(struct lpo_arena *a, struct finding *f)
{
    static const char *const names[] = { "libcupti.so.13", "libcupti.so.12", "libcupti.so",
                                         "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so" };

    (void)a;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *lib = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);

        if (lib) {
            dlclose(lib);
            f->detail = names[i];
            return true;
        }
    }
    f->detail = "libcupti is not on the library path (PyTorch brings its own: then this is fine)";
    return false;
}

/* Counters are for root unless the driver was told otherwise. */
static bool look_counters(struct lpo_arena *a, struct finding *f)
{
    LPO_AUTO(lpo_file_text) text = NULL;

    (void)a;
    if (lpo_file_text_read("/proc/driver/nvidia/params", &text, NULL) < 0) {
        f->detail = "no NVIDIA driver";
        f->remedy = with_a_gpu;
        return false;
    }
    if (strstr(text->at, "RmProfilingAdminOnly: 0") || geteuid() == 0) {
        f->detail = geteuid() == 0 ? "root" : "open to all users";
        return true;
    }
    f->detail = "only for administrators";
    return false;
}

static bool look_conf(struct lpo_arena *a, struct finding *f)
{
    f->detail = lpo_run_install_find(a, "conf");
    if (!f->detail)
        f->detail = "the shipped config tree is not beside lpo";
    return lpo_path_is_dir(f->detail);
}

static const struct check checks[] = {
    { "config", "nothing runs", "install lpo whole, or set LPO_CONFIG_DIR", look_conf },
    { "collector", "no region times (stage native)", "build or install lpo whole", look_collector },
    { "gpu", "no GPU work is traced; CPU regions and all reports still work", with_a_gpu,
      look_driver },
    { "cupti", "the collector sees NVTX ranges but no kernels",
      "install the CUDA toolkit's CUPTI, or put its folder on LD_LIBRARY_PATH", look_cupti },
    { "counters", "ncu cannot read hardware counters; tracing still works",
      "ask the administrator for NVreg_RestrictProfilingToAdminUsers=0, or run as root",
      look_counters },
    { "nsys", "stage nsys (system timeline)",
      "install Nsight Systems (Debian: package nsight-systems in non-free)", look_nsys },
    { "ncu", "stage ncu (hardware counters per kernel) and lpo kernels",
      "install Nsight Compute (part of the CUDA toolkit)", look_ncu },
    { "torch", "workload=hf and stage torch_profiler",
      "pip install torch transformers, or set workload.python to an interpreter that has them",
      look_python },
};

enum { NCHECKS = sizeof checks / sizeof *checks };

static void print_json(struct lpo_app *app, const struct finding *f)
{
    LPO_STR out = { 0 };
    struct lpo_json_writer w = lpo_json_writer(&out, 2);

    lpo_jw_object(&w, NULL);
    lpo_jw_text(&w, "schema", DOCTOR_SCHEMA);
    lpo_jw_array(&w, "checks");
    for (int i = 0; i < NCHECKS; i++) {
        lpo_jw_object(&w, NULL);
        lpo_jw_text(&w, "name", f[i].name);
        lpo_jw_bool(&w, "here", f[i].here);
        lpo_jw_text(&w, "detail", f[i].detail);
        lpo_jw_text(&w, "cost", f[i].here ? NULL : f[i].cost);
        lpo_jw_text(&w, "remedy", f[i].here ? NULL : f[i].remedy);
        lpo_jw_end(&w);
    }
    lpo_jw_end(&w);
    lpo_jw_end(&w);
    fputs(lpo_str_text(&out), app->out);
}

static void print_text(struct lpo_app *app, const struct finding *f)
{
    for (int i = 0; i < NCHECKS; i++) {
        fprintf(app->out, "%-10s %s  %s\n", f[i].name, f[i].here ? "yes" : "no ", f[i].detail);
        if (!f[i].here)
            fprintf(app->out, "%15swithout it: %s\n%15sto get it:  %s\n", "", f[i].cost, "",
                    f[i].remedy);
    }
}

static int doctor_run(struct lpo_app *app, const struct lpo_args *args, struct lpo_err *err)
{
    struct finding found[NCHECKS];

    if (args->nwords)
        return lpo_fail(err, LPO_E_USAGE, "doctor takes no arguments, but got '%s'",
                        args->words[0]);
    if (lpo_cli_args_has(args, "calibrate"))
        return lpo_cli_doctor_calibrate(app, lpo_cli_args_has(args, "json"), err);
    for (int i = 0; i < NCHECKS; i++) {
        found[i] = (struct finding){ .name = checks[i].name,
                                     .cost = checks[i].cost,
                                     .remedy = checks[i].remedy };
        found[i].here = checks[i].look(app->arena, &found[i]);
    }
    if (lpo_cli_args_has(args, "json"))
        print_json(app, found);
    else
        print_text(app, found);
    return found[0].here ? 0 : 3; /* only the config tree is indispensable */
}

static const struct lpo_option options[] = {
    { "json", 0, LPO_OPT_FLAG, NULL, "print JSON" },
    { "calibrate", 0, LPO_OPT_FLAG, NULL,
      "measure this GPU's copy and matrix rate, and keep them" },
    { 0 },
};

const struct lpo_command lpo_cli_cmd_doctor = {
    .name = "doctor",
    .summary = "which tools, permissions and libraries are here, what each missing one costs",
    .usage = "[--json] [--calibrate]",
    .options = options,
    .run = doctor_run,
};
