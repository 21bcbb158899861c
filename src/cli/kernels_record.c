/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kernels_record.h"

#include <time.h>

#include "cli/kernels_run.h"
#include "cli/run/job.h"
#include "gpu/nvml.h"
#include "hydra/compose.h"
#include "report/profiled_kernels.h"
#include "run/child/supervise.h"
#include "run/secrets/secrets.h"
#include "run/step.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/path.h"
#include "util/str.h"

static const char *now_text(struct lpo_arena *a)
{
    time_t now = time(NULL);
    char text[32];
    struct tm tm;

    gmtime_r(&now, &tm);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
    return lpo_arena_strdup(a, text);
}

static void set_text(struct lpo_arena *a, struct lpo_node *map, const char *key, const char *text)
{
    lpo_node_set(a, map, key, text ? lpo_node_string(a, text) : lpo_node_null(a));
}

static void set_copy(struct lpo_arena *a, struct lpo_node *map, const char *key,
                     const struct lpo_node *from)
{
    lpo_node_set(a, map, key, from ? lpo_node_clone(a, from) : lpo_node_null(a));
}

static struct lpo_node *words_node(struct lpo_arena *a, const char *const *words)
{
    struct lpo_node *list = lpo_node_list(a);

    for (; words && *words; words++)
        lpo_node_push(a, list, lpo_node_string(a, *words));
    return list;
}

static struct lpo_node *gpus_node(struct lpo_arena *a, const struct lpo_kernels_facts *f)
{
    struct lpo_node *list = lpo_node_list(a);

    for (size_t i = 0; i < f->gpus->len; i++)
        lpo_node_push(a, list, lpo_node_string(a, f->gpus->at[i].name));
    return list;
}

static struct lpo_node *ncu_node(struct lpo_arena *a, const struct lpo_kernels_facts *f)
{
    static const char *const keys[] = {
        "set",          "sections",    "metrics",         "launch_skip",
        "launch_count", "replay_mode", "kernel_name_base"
    };
    struct lpo_node *map = lpo_node_map(a);

    set_text(a, map, "program", f->k->ncu);
    set_text(a, map, "version", f->ncu_version);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        set_copy(a, map, keys[i], lpo_node_get(f->k->flags, keys[i]));
    lpo_node_set(a, map, "per_config", lpo_node_bool(a, f->k->per_config));
    return map;
}

static int write_record(struct lpo_arena *a, struct lpo_node *map, const char *dir,
                        struct lpo_err *err)
{
    LPO_STR text = { 0 };

    lpo_yaml_add(&text, lpo_secrets_mask_config(a, map, NULL));
    return lpo_file_write(lpo_path_join(a, dir, "command.yaml"), text.at, text.len, err);
}

int lpo_cli_kernels_record_call(struct lpo_arena *a, const struct lpo_kernels_facts *f,
                                const char *dir, struct lpo_err *err)
{
    const struct lpo_kernels_job *k = f->k;
    struct lpo_node *map = lpo_node_map(a);

    set_text(a, map, "timestamp", now_text(a));
    set_text(a, map, "script", "lpo kernels");
    set_text(a, map, "version", LPO_VERSION);
    set_text(a, map, "output_dir", dir);
    set_text(a, map, "kernel_source", k->list ? "yaml_config" : "single_regex");
    set_copy(a, map, "launch_skip", lpo_node_get(k->flags, "launch_skip"));
    set_copy(a, map, "launch_count", lpo_node_get(k->flags, "launch_count"));
    set_copy(a, map, "sections", lpo_node_get(k->flags, "sections"));
    set_copy(a, map, "launch_command", lpo_node_at(k->job->config, "workload.argv"));
    set_text(a, map, k->list ? "kernel_config" : "kernel_regex",
             k->list ? k->list : k->wanted.at[0].regex);
    if (k->most)
        lpo_node_set(a, map, "topk", lpo_node_int(a, (int64_t)k->most));
    set_text(a, map, "ncu_version", f->ncu_version);
    return write_record(a, map, dir, err);
}

int lpo_cli_kernels_record(struct lpo_arena *a, const struct lpo_kernels_facts *f,
                           const struct lpo_kernels_end *end, const char *dir, struct lpo_err *err)
{
    struct lpo_node *map = lpo_node_map(a);
    LPO_STR how = { 0 };

    lpo_run_result_describe(end->result, end->step, &how);
    set_text(a, map, "date", now_text(a));
    set_text(a, map, "lpo", LPO_VERSION);
    set_text(a, map, "kernel", end->kernel->name);
    set_text(a, map, "regex", end->kernel->regex);
    set_text(a, map, "name_base", end->kernel->base);
    set_copy(a, map, "program", lpo_node_at(f->k->job->config, "workload.argv"));
    set_text(a, map, "folder", end->step->cwd);
    lpo_node_set(a, map, "ncu", ncu_node(a, f));
    set_text(a, map, "driver", f->gpus->driver);
    lpo_node_set(a, map, "gpus", gpus_node(a, f));
    lpo_node_set(a, map, "command", words_node(a, end->step->argv));
    set_text(a, map, "outcome", lpo_report_kernel_state_name(end->outcome->state));
    set_text(a, map, "message", end->outcome->message);
    set_text(a, map, "ended", lpo_str_text(&how));
    lpo_node_set(a, map, "wall_ns", lpo_node_int(a, end->result->wall_ns));
    return write_record(a, map, dir, err);
}
