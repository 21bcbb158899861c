/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a sweep that somebody else made, and answers of Slurm's commands, from any bytes:
 * plan, result of job 0, squeue; parts end at "\n%%\n". What must hold: a plan that was read can be
 * written and read again, with the same jobs. */
#include "scratch.h"

#include <inttypes.h>

#include "sweep/launcher.h"
#include "sweep/plan.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_plan(void)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_sweep_plan plan, again;
    struct lpo_sweep_result *results;
    struct lpo_err err = { 0 };
    LPO_STR table = { 0 };

    if (lpo_sweep_plan_load(a, scratch(), &plan, &err) < 0) {
        insist(lpo_err_cause(&err)[0] != '\0');
        return;
    }
    results = lpo_arena_array(a, plan.count + 1, sizeof *results);
    for (size_t i = 0; i < plan.count && i < 100; i++) {
        lpo_sweep_result_load(&plan, i, &results[i]);
        insist(lpo_sweep_result_word(&results[i]) != NULL);
    }
    insist(lpo_sweep_result_worst(results, plan.count) >= 0);
    lpo_sweep_summary_add_table(&plan, results, &table);
    insist(lpo_sweep_plan_save(&plan, &err) == 0);
    insist(lpo_sweep_plan_load(a, scratch(), &again, &err) == 0 && again.count == plan.count);
    for (size_t i = 0; i < plan.count; i++)
        insist(again.jobs[i].num == plan.jobs[i].num && again.jobs[i].shown == plan.jobs[i].shown);
}

static void read_answers(const char *text, size_t len)
{
    struct lpo_sweep_slurm_task t;
    LPO_STR state = { 0 };
    char id[24];

    if (lpo_sweep_slurm_read_task(text, len, &t))
        insist(strlen(t.id) < sizeof t.id && strlen(t.reason) < sizeof t.reason && t.task >= 0);
    if (lpo_sweep_slurm_read_id(text, len, id))
        insist(strlen(id) < sizeof id);
    lpo_sweep_slurm_read_state(text, len, &state);
    if (len < 64) {
        char limit[64];

        memcpy(limit, text, len);
        limit[len] = '\0';
        insist(lpo_sweep_slurm_seconds(limit) >= 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = { ".sweep/plan.json", ".sweep/0.json" };
    const char *answer;

    if (size > 100000)
        return 0;
    scratch_parts(names, 2, (const char *)data, size);
    read_plan();
    answer = size ? memrchr(data, '\n', size) : NULL;
    answer = answer ? answer + 1 : (const char *)data;
    read_answers(answer, size - (size_t)(answer - (const char *)data));
    return 0;
}
