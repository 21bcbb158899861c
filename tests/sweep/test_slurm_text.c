/* SPDX-License-Identifier: Apache-2.0 */
/* The batch script that lpo submits, and what it makes of the answers of Slurm's commands. */
#include "../unit.h"

#include <string.h>

#include "hydra/compose.h"
#include "sweep/launcher.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/str.h"

static const struct script_case {
    const char *name, *settings; /* YAML */
    const char *has;             /* the script has this line; NULL: it is refused */
    const char *said;            /* in the error; or what the script has not */
} scripts[] = {
    { "a partition", "{partition: gpu}", "#SBATCH \"--partition=gpu\"\n", NULL },
    { "null is left out", "{partition: null}", "#SBATCH \"--job-name=lpo\"\n", "partition" },
    { "tasks and how many at once", "{array_parallelism: 3}", "#SBATCH \"--array=0-1,4%3\"\n",
      NULL },
    { "a duration becomes minutes", "{time: 90s}", "#SBATCH \"--time=2\"\n", NULL },
    { "a limit as Slurm writes it", "{time: 1-12:00:00}", "#SBATCH \"--time=1-12:00:00\"\n", NULL },
    { "a signal before the limit", "{time: 2h}", "#SBATCH \"--signal=B:TERM@120\"\n", NULL },
    { "a short limit", "{time: 2m}", "#SBATCH \"--signal=B:TERM@30\"\n", NULL },
    { "no limit, no signal", "{}", "#!/bin/bash\n", "--signal" },
    { "submitit's minutes", "{timeout_min: 45}", "#SBATCH \"--time=45\"\n", NULL },
    { "submitit's gigabytes", "{mem_gb: 8}", "#SBATCH \"--mem=8G\"\n", NULL },
    { "gpus by number", "{gpus_per_node: 2}", "#SBATCH \"--gpus-per-node=2\"\n", NULL },
    { "more options", "{additional_parameters: {mail_type: END}}", "#SBATCH \"--mail-type=END\"\n",
      NULL },
    { "a flag", "{additional_parameters: {exclusive: true}}", "#SBATCH --exclusive\n", NULL },
    { "a flag that is off", "{additional_parameters: {exclusive: false}}", "#!/bin/bash\n",
      "exclusive" },
    { "lines before the job", "{setup: [module load cuda]}", "\nmodule load cuda\nexec ", NULL },
    { "lpo takes the place of the shell", "{}",
      "\nexec /opt/lpo run --resume '/a b/sweep' --job $((SLURM_ARRAY_TASK_ID + 0))\n", NULL },
    { "a comment with spaces", "{comment: for the paper}", "#SBATCH \"--comment=for the paper\"\n",
      NULL },
    { "a value cannot end its line", "{comment: \"a\\nrm -rf x\"}", NULL, "control character" },
    { "nor its quotes", "{comment: 'a\" --uid=0 \"'}", NULL, "a quote" },
    { "nor can a name", "{additional_parameters: {\"x\\n\": 1}}", NULL, "is not the name" },
};

static struct lpo_sweep_plan_job jobs[] = {
    { .num = 0 }, { .num = 1 }, { .num = 2 }, { .num = 4 }
};

static void check_script(void **state)
{
    const struct script_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_sweep_plan plan = { .arena = a, .dir = "/a b/sweep", .jobs = jobs, .count = 4 };
    struct lpo_sweep_run s = { .plan = &plan, .program = "/opt/lpo" };
    const bool wanted[] = { true, true, false, true };
    struct lpo_node *settings = NULL;
    struct lpo_err err = { 0 };
    LPO_STR out = { 0 };
    int rc;

    assert_int_equal(lpo_yaml_parse(a, c->settings, strlen(c->settings), "t", &settings, &err), 0);
    s.settings = settings;
    rc = lpo_sweep_slurm_script(&s, wanted, 0, 4, 0, &out, &err);
    if (!c->has) {
        assert_int_equal(rc, LPO_E_CONFIG);
        assert_non_null(strstr(lpo_err_cause(&err), c->said));
        return;
    }
    assert_int_equal(rc, 0);
    if (!strstr(out.at, c->has))
        fail_msg("no '%s' in\n%s", c->has, out.at);
    if (c->said && strstr(out.at, c->said))
        fail_msg("'%s' in\n%s", c->said, out.at);
}

static const struct seconds_case {
    const char *name, *text;
    int64_t want;
} times[] = {
    { "minutes", "90", 5400 },
    { "minutes and seconds", "2:30", 150 },
    { "hours", "1:00:00", 3600 },
    { "days and hours", "1-12", 129600 },
    { "days, hours and minutes", "1-0:30", 88200 },
    { "all", "2-01:01:01", 176461 },
    { "no time", "UNLIMITED", 0 },
    { "four numbers", "1:2:3:4", 0 },
    { "an empty part", "1::2", 0 },
    { "two days", "1-2-3", 0 },
    { "nothing", "", 0 },
    { "two signs", "--1", 0 },
    { "no days", "-1", 0 },
    { "less than nothing", "1--5", 0 },
    { "too much", "99999999999999999", 0 },
};

static void check_seconds(void **state)
{
    const struct seconds_case *c = *state;

    assert_int_equal(lpo_sweep_slurm_seconds(c->text), c->want);
}

static const struct task_case {
    const char *name, *line;
    bool is;
    const char *id;
    int64_t task;
    bool running;
    const char *reason;
} tasks[] = {
    { "a running task", "17|3|RUNNING|None", true, "17", 3, true, "" },
    { "one that waits", "17|4|PENDING|Resources", true, "17", 4, false, "Resources" },
    { "one that ends", "17|4|COMPLETING|None", true, "17", 4, true, "" },
    { "not of an array", "18|N/A|RUNNING|None", false, NULL, 0, false, NULL },
    { "an unexpanded range", "17|0-3|PENDING|Priority", false, NULL, 0, false, NULL },
    { "cut", "17|", false, NULL, 0, false, NULL },
    { "nothing", "", false, NULL, 0, false, NULL },
    { "a long number", "17|12345678901|RUNNING|", false, NULL, 0, false, NULL },
};

static void check_task(void **state)
{
    const struct task_case *c = *state;
    struct lpo_sweep_slurm_task t;

    assert_int_equal(lpo_sweep_slurm_read_task(c->line, strlen(c->line), &t), c->is);
    if (!c->is)
        return;
    assert_string_equal(t.id, c->id);
    assert_int_equal(t.task, c->task);
    assert_int_equal(t.running, c->running);
    assert_string_equal(t.reason, c->reason);
}

static void check_ids(void **state)
{
    char id[24];

    (void)state;
    assert_true(lpo_sweep_slurm_read_id("17\n", 3, id));
    assert_string_equal(id, "17");
    assert_true(lpo_sweep_slurm_read_id("18;west\n", 8, id));
    assert_string_equal(id, "18");
    assert_false(lpo_sweep_slurm_read_id("", 0, id));
    assert_false(lpo_sweep_slurm_read_id("sbatch: error", 13, id));
    assert_false(lpo_sweep_slurm_read_id("111111111111111111111111111111", 30, id));
}

static void check_states(void **state)
{
    static const char lost[] = "JobId=5 ArrayJobId=4 JobState=TIMEOUT Reason=TimeLimit Dependency=";
    static const char plain[] = "JobId=5 JobState=NODE_FAIL Reason=None X=1";
    LPO_STR out = { 0 };

    (void)state;
    lpo_sweep_slurm_read_state(lost, strlen(lost), &out);
    assert_string_equal(out.at, "TIMEOUT (TimeLimit)");
    lpo_str_clear(&out);
    lpo_sweep_slurm_read_state(plain, strlen(plain), &out);
    assert_string_equal(out.at, "NODE_FAIL");
    lpo_str_clear(&out);
    lpo_sweep_slurm_read_state("", 0, &out);
    assert_int_equal(out.len, 0);
}

#define ROWS(a) (sizeof(a) / sizeof *(a))

int main(void)
{
    struct CMUnitTest tests[ROWS(scripts) + ROWS(times) + ROWS(tasks) + 2];
    size_t n = 0;

    for (size_t i = 0; i < ROWS(scripts); i++)
        tests[n++] = (struct CMUnitTest){ .name = scripts[i].name,
                                          .test_func = check_script,
                                          .initial_state = (void *)&scripts[i] };
    for (size_t i = 0; i < ROWS(times); i++)
        tests[n++] = (struct CMUnitTest){ .name = times[i].name,
                                          .test_func = check_seconds,
                                          .initial_state = (void *)&times[i] };
    for (size_t i = 0; i < ROWS(tasks); i++)
        tests[n++] = (struct CMUnitTest){ .name = tasks[i].name,
                                          .test_func = check_task,
                                          .initial_state = (void *)&tasks[i] };
    tests[n++] = (struct CMUnitTest){ .name = "numbers of jobs", .test_func = check_ids };
    tests[n++] = (struct CMUnitTest){ .name = "how a job ended", .test_func = check_states };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
