/* SPDX-License-Identifier: Apache-2.0 */

#include "hydra/compose.h"
#include "settings/settings.h"
#include "sweep/launcher.h"
#include "util/units.h"

/* Names are those of Hydra's submitit launcher; what it has and lpo has no use for is ignored. */
const struct lpo_sweep_key lpo_sweep_slurm_keys[] = {
    { "partition", LPO_SWEEP_TEXT },
    { "account", LPO_SWEEP_TEXT },
    { "qos", LPO_SWEEP_TEXT },
    { "time", LPO_SWEEP_TEXT },
    { "timeout_min", LPO_SWEEP_COUNT },
    { "gres", LPO_SWEEP_TEXT },
    { "gpus_per_node", LPO_SWEEP_TEXT },
    { "gpus_per_task", LPO_SWEEP_TEXT },
    { "nodes", LPO_SWEEP_COUNT },
    { "tasks_per_node", LPO_SWEEP_COUNT },
    { "cpus_per_task", LPO_SWEEP_COUNT },
    { "cpus_per_gpu", LPO_SWEEP_COUNT },
    { "mem", LPO_SWEEP_TEXT },
    { "mem_gb", LPO_SWEEP_COUNT },
    { "mem_per_gpu", LPO_SWEEP_TEXT },
    { "mem_per_cpu", LPO_SWEEP_TEXT },
    { "constraint", LPO_SWEEP_TEXT },
    { "nodelist", LPO_SWEEP_TEXT },
    { "exclude", LPO_SWEEP_TEXT },
    { "reservation", LPO_SWEEP_TEXT },
    { "comment", LPO_SWEEP_TEXT },
    { "name", LPO_SWEEP_TEXT },
    { "signal_delay_s", LPO_SWEEP_COUNT },
    { "array_parallelism", LPO_SWEEP_COUNT },
    { "array_size", LPO_SWEEP_COUNT },
    { "additional_parameters", LPO_SWEEP_MAP },
    { "setup", LPO_SWEEP_LIST },
    { "wait", LPO_SWEEP_TRUTH },
    { "poll_s", LPO_SWEEP_COUNT },
    { "submitit_folder", LPO_SWEEP_IGNORED },
    { "max_num_timeout", LPO_SWEEP_IGNORED },
    { "stderr_to_stdout", LPO_SWEEP_IGNORED },
    { "srun_args", LPO_SWEEP_IGNORED },
    { NULL, 0 },
};

/* Settings that are one option of sbatch each, under its name. */
static const struct {
    const char *key, *option;
} options[] = {
    { "partition", "partition" },
    { "account", "account" },
    { "qos", "qos" },
    { "gres", "gres" },
    { "gpus_per_node", "gpus-per-node" },
    { "gpus_per_task", "gpus-per-task" },
    { "nodes", "nodes" },
    { "tasks_per_node", "ntasks-per-node" },
    { "cpus_per_task", "cpus-per-task" },
    { "cpus_per_gpu", "cpus-per-gpu" },
    { "mem", "mem" },
    { "mem_per_gpu", "mem-per-gpu" },
    { "mem_per_cpu", "mem-per-cpu" },
    { "constraint", "constraint" },
    { "nodelist", "nodelist" },
    { "exclude", "exclude" },
    { "reservation", "reservation" },
    { "comment", "comment" },
};

/* sbatch ends an option at the end of its line and knows quotes: a value that could end either, or
 * begin a comment, is refused. */
static int add_option(struct lpo_str *out, const char *option, const char *value,
                      struct lpo_err *err)
{
    if (option[strspn(option, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")] ||
        !*option)
        return lpo_fail(err, LPO_E_CONFIG, "'%.80s' is not the name of an option of sbatch",
                        option);
    for (const char *p = value; p && *p; p++)
        if ((unsigned char)*p < ' ' || *p == '"' || *p == '\\')
            return lpo_fail(err, LPO_E_CONFIG,
                            "the value of '%s' for sbatch has a quote, a backslash or a control "
                            "character in it",
                            option);
    if (value)
        lpo_str_addf(out, "#SBATCH \"--%s=%s\"\n", option, value);
    else
        lpo_str_addf(out, "#SBATCH --%s\n", option);
    return 0;
}

/* "90" and "1-12:00:00" are Slurm's; "2h" and "30m" are durations as everywhere in lpo. */
static const char *time_limit(const struct lpo_sweep_run *s)
{
    const char *time = lpo_sweep_launcher_text(s, "time");
    const char *minutes = lpo_sweep_launcher_text(s, "timeout_min");
    int64_t ns;

    if (!time)
        return minutes;
    if (lpo_units_parse_duration(time, &ns, NULL) < 0)
        return time;
    return lpo_arena_printf(s->plan->arena, "%" PRId64,
                            (ns + 59999999999) / 60000000000 + (ns <= 0));
}

int64_t lpo_sweep_slurm_seconds(const char *text)
{
    static const int64_t with_days[] = { 3600, 60, 1 }, two[] = { 60, 1 },
                         three[] = { 3600, 60, 1 };
    const char *dash = strchr(text, '-'), *at = dash ? dash + 1 : text;
    int64_t numbers[3] = { 0 }, sum = 0;
    size_t n = 0;
    char *end;

    if (strlen(text) > 20 || text[strspn(text, "0123456789:-")])
        return 0;
    for (; n < 3; at = end + 1) {
        numbers[n++] = strtoll(at, &end, 10);
        if (end == at || numbers[n - 1] < 0 || numbers[n - 1] > 1000000)
            return 0;
        if (*end != ':')
            break;
    }
    if (*end)
        return 0;
    if (!dash && n == 1)
        return numbers[0] * 60;
    for (size_t i = 0; i < n; i++)
        sum += numbers[i] * (dash ? with_days : n == 2 ? two : three)[i];
    if (dash) {
        int64_t days = strtoll(text, &end, 10);

        if (end == text || end != dash || days > 10000)
            return 0;
        sum += days * 86400;
    }
    return sum;
}

/* Before the limit, so that the program ends and what was recorded is reported. Of a limit that is
 * not known nothing can be said, and a moment before its start would end the job at once. */
static int add_signal(const struct lpo_sweep_run *s, const char *limit, struct lpo_str *out,
                      struct lpo_err *err)
{
    int64_t seconds = limit ? lpo_sweep_slurm_seconds(limit) : 0;
    int64_t before = lpo_sweep_launcher_count(s, "signal_delay_s", 120);

    if (seconds <= 0)
        return 0;
    if (before > seconds / 4)
        before = seconds / 4;
    return add_option(out, "signal", lpo_arena_printf(s->plan->arena, "B:TERM@%" PRId64, before),
                      err);
}

static int add_more(const struct lpo_sweep_run *s, struct lpo_str *out, struct lpo_err *err)
{
    const struct lpo_node *more = lpo_node_get(s->settings, "additional_parameters");

    for (size_t i = 0; more && more->kind == LPO_NODE_MAP && i < more->npairs; i++) {
        const struct lpo_node *v = more->pairs[i].value;
        char *option = lpo_arena_strdup(s->plan->arena, more->pairs[i].key->text);

        for (char *p = option; *p; p++)
            *p = *p == '_' ? '-' : *p;
        if (v->kind == LPO_NODE_BOOL && !v->boolean)
            continue;
        if (add_option(out, option,
                       v->kind == LPO_NODE_BOOL || v->kind == LPO_NODE_NULL
                           ? NULL
                           : lpo_settings_node_word(s->plan->arena, v),
                       err) < 0)
            return err->code;
    }
    return 0;
}

/* "0-2,5": the tasks of --array, without the limit of how many at once. */
static void slurm_tasks(const struct lpo_sweep_run *s, const bool *wanted, size_t first,
                        size_t past, int64_t offset, struct lpo_str *out)
{
    const struct lpo_sweep_plan_job *jobs = s->plan->jobs;

    for (size_t i = first; i < past; i++) {
        size_t last = i;

        if (!wanted[i])
            continue;
        while (last + 1 < past && wanted[last + 1] && jobs[last + 1].num == jobs[last].num + 1)
            last++;
        lpo_str_addf(out, "%s%" PRId64, out->len ? "," : "", jobs[i].num - offset);
        if (last > i)
            lpo_str_addf(out, "-%" PRId64, jobs[last].num - offset);
        i = last;
    }
}

static int add_head(const struct lpo_sweep_run *s, const char *tasks, struct lpo_str *out,
                    struct lpo_err *err)
{
    const char *name = lpo_sweep_launcher_text(s, "name"), *limit = time_limit(s);
    const char *gb = lpo_sweep_launcher_text(s, "mem_gb");
    struct lpo_arena *a = s->plan->arena;

    lpo_str_add(out, "#!/bin/bash\n");
    if (add_option(out, "job-name", name ? name : "lpo", err) < 0 ||
        add_option(out, "array",
                   lpo_arena_printf(a, "%s%%%lld", tasks,
                                    lpo_sweep_launcher_count(s, "array_parallelism", 256)),
                   err) < 0 ||
        add_option(out, "output",
                   lpo_arena_printf(a, "%s/%s/slurm-%%A_%%a.log", s->plan->dir, LPO_SWEEP_FOLDER),
                   err) < 0 ||
        add_option(out, "open-mode", "append", err) < 0 || add_signal(s, limit, out, err) < 0)
        return err->code;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        const char *value = lpo_sweep_launcher_text(s, options[i].key);

        if (value && add_option(out, options[i].option, value, err) < 0)
            return err->code;
    }
    if ((limit && add_option(out, "time", limit, err) < 0) ||
        (gb && add_option(out, "mem", lpo_arena_printf(a, "%sG", gb), err) < 0))
        return err->code;
    return add_more(s, out, err);
}

int lpo_sweep_slurm_script(const struct lpo_sweep_run *s, const bool *wanted, size_t first,
                           size_t past, int64_t offset, struct lpo_str *out, struct lpo_err *err)
{
    const struct lpo_node *setup = lpo_node_get(s->settings, "setup");
    LPO_STR tasks = { 0 };

    slurm_tasks(s, wanted, first, past, offset, &tasks);
    if (add_head(s, lpo_str_text(&tasks), out, err) < 0)
        return lpo_ctx(err, "hydra.launcher");
    for (size_t i = 0; setup && setup->kind == LPO_NODE_LIST && i < setup->count; i++)
        lpo_str_addf(out, "%s\n", lpo_settings_node_word(s->plan->arena, setup->items[i]));
    /* exec: the signals that Slurm sends to the batch script are then lpo's */
    lpo_str_add(out, "exec ");
    lpo_str_add_shell(out, s->program);
    lpo_str_add(out, " run --resume ");
    lpo_str_add_shell(out, s->plan->dir);
    lpo_str_addf(out, " --job $((SLURM_ARRAY_TASK_ID + %" PRId64 "))\n", offset);
    return 0;
}

/* --- answers -------------------------------------------------------------------------------- */

static size_t field(const char *line, size_t len, size_t *at, const char **out)
{
    const char *begin = line + *at;
    const char *end = memchr(begin, '|', len - *at);
    size_t n = end ? (size_t)(end - begin) : len - *at;

    *out = begin;
    *at += n + (end != NULL);
    return n;
}

static bool digits(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (text[i] < '0' || text[i] > '9')
            return false;
    return len > 0 && len < 20;
}

bool lpo_sweep_slurm_read_task(const char *line, size_t len, struct lpo_sweep_slurm_task *out)
{
    const char *id, *task, *state, *reason;
    size_t at = 0, nid = field(line, len, &at, &id), ntask = field(line, len, &at, &task);
    size_t nstate = field(line, len, &at, &state), nreason = len - at;
    static const char *const waits[] = { "PENDING", "CONFIGURING", "REQUEUED", "SUSPENDED" };

    if (!digits(id, nid) || !digits(task, ntask) || ntask > 9)
        return false;
    reason = line + at;
    *out = (struct lpo_sweep_slurm_task){ .running = true };
    memcpy(out->id, id, nid);
    for (size_t i = 0; i < ntask; i++) /* the line may end here, without a NUL */
        out->task = out->task * 10 + (task[i] - '0');
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++)
        if (strlen(waits[i]) == nstate && strncmp(waits[i], state, nstate) == 0)
            out->running = false;
    if (nreason >= sizeof out->reason)
        nreason = sizeof out->reason - 1;
    if (!out->running)
        memcpy(out->reason, reason, nreason);
    return true;
}

bool lpo_sweep_slurm_read_id(const char *answer, size_t len, char out[24])
{
    size_t n = 0;

    while (n < len && answer[n] != ';' && answer[n] != '\n')
        n++;
    if (!digits(answer, n))
        return false;
    memcpy(out, answer, n);
    out[n] = '\0';
    return true;
}

static size_t value_of(const char *answer, size_t len, const char *key, const char **out)
{
    const char *at = memmem(answer, len, key, strlen(key));
    size_t n = 0;

    if (!at)
        return 0;
    *out = at + strlen(key);
    while (*out + n < answer + len && (*out)[n] > ' ')
        n++;
    return n < 60 ? n : 60;
}

void lpo_sweep_slurm_read_state(const char *answer, size_t len, struct lpo_str *out)
{
    const char *state = NULL, *reason = NULL;
    size_t nstate = value_of(answer, len, "JobState=", &state);
    size_t nreason = value_of(answer, len, " Reason=", &reason);

    lpo_str_addn(out, state ? state : "", nstate);
    if (nreason && !(nreason == 4 && strncmp(reason, "None", 4) == 0)) {
        lpo_str_add(out, " (");
        lpo_str_addn(out, reason, nreason);
        lpo_str_addc(out, ')');
    }
}
