#include "pipeline/ncu/ncu.h"

#include "hydra/compose.h"
#include "run/conf.h"
#include "run/step.h"
#include "util/arena.h"

/* A key of ncu_cli and the flag it is; one word each. */
static const struct {
    const char *key, *flag;
} scalars[] = {
    { "target_processes", "--target-processes" },
    { "replay_mode", "--replay-mode" },
    { "set", "--set" },
    { "kernel_name", "--kernel-name" },
    { "kernel_name_base", "--kernel-name-base" },
    { "launch_skip", "--launch-skip" },
    { "launch_count", "--launch-count" },
    { "clock_control", "--clock-control" },
    { "cache_control", "--cache-control" },
    { "graph_profiling", "--graph-profiling" },
};

void lpo_pipeline_ncu_add_flags(struct lpo_arena *a, const struct lpo_node *cli,
                                struct lpo_step *step)
{
    const char *metrics = lpo_run_conf_joined(a, cli, "metrics"), **sections;
    size_t n = lpo_run_conf_list(a, cli, "sections", true, &sections);

    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++) {
        const char *word = lpo_run_conf_word(a, lpo_node_get(cli, scalars[i].key));

        if (!word || !*word)
            continue;
        lpo_run_step_arg(a, step, scalars[i].flag);
        lpo_run_step_arg(a, step, word);
    }
    for (size_t i = 0; i < n; i++) {
        lpo_run_step_arg(a, step, "--section");
        lpo_run_step_arg(a, step, sections[i]);
    }
    if (metrics) {
        lpo_run_step_arg(a, step, "--metrics");
        lpo_run_step_arg(a, step, metrics);
    }
    lpo_run_conf_add_words(a, cli, "extra_args", step);
}
