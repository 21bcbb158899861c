/* SPDX-License-Identifier: Apache-2.0 */
/* An array job of Slurm. lpo submits it, watches the files that the jobs leave, and asks squeue
 * which of them are still there: a job that is gone without a result is lost. */

#include <unistd.h>

#include "hydra/compose.h"
#include "run/child/supervise.h"
#include "run/clock.h"
#include "sweep/launcher.h"
#include "util/file.h"
#include "util/path.h"

enum {
    MOST_ANSWER = 64 << 20,
    FIRST_POLL_S = 1,
    POLL_S = 10,
    SETTLE_S = 15,  /* a shared folder shows a file that late */
    END_S = 60,     /* how long jobs may take to end after they were asked to */
    LOST_AFTER = 3, /* polls in a row without a trace of it */
    INTERRUPTED = 130
};

static const int64_t second = 1000000000;
static const int64_t answer_ns = 60000000000; /* a busy controller takes its time */

static const char *const targets[] = { "lpo.slurm", "SlurmLauncher", NULL };

/* What is known of a job beside its result. */
struct place {
    bool wanted;  /* to be submitted */
    bool queued;  /* squeue has it */
    bool running; /* and it has begun */
    unsigned missed;
    int64_t missed_since; /* 0: it is there */
    int64_t stamp;        /* of the result that was read last */
    const char *array;    /* the array job it is in; NULL */
    int64_t task;
};

struct cluster {
    struct lpo_sweep_run *s;
    struct place *places;
    char why[80];        /* one job waits because … */
    unsigned interrupts; /* how often the user asked to stop */
    unsigned asked;      /* how often the jobs were asked to end */
    int64_t asked_at;
};

/* --- commands ------------------------------------------------------------------------------- */

static int ask(const char *const *argv, struct lpo_str *out, struct lpo_err *err)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    LPO_AUTO(lpo_file_text) text = NULL;
    const char *path = NULL;
    int fd, rc;

    if (!lpo_path_which(a, argv[0]))
        return lpo_fail(err, LPO_E_MISSING,
                        "'%s' was not found; hydra/launcher=slurm needs Slurm's commands on this "
                        "machine (hydra/launcher=local does not)",
                        argv[0]);
    rc = lpo_run_capture_file(a, argv, answer_ns, MOST_ANSWER, &path, &fd, err);
    if (rc < 0)
        return rc;
    rc = lpo_file_text_read_limit(path, MOST_ANSWER + 4096, &text, err);
    close(fd);
    if (rc == 0)
        lpo_str_addn(out, text->at, text->len);
    return rc;
}

/* sbatch failed, was too slow or was interrupted, and may have submitted all the same: an array job
 * whose number nobody has would run on. Slurm knows each job's script. */
static void cancel_strays(struct cluster *c, const char *script)
{
    char uid[24];
    const char *const argv[] = { "squeue", "-h", "-u", uid, "-o", "%F|%o", NULL };
    struct lpo_err err = { 0 };
    LPO_STR answer = { 0 };

    if (lpo_run_supervise_interrupted()) {
        c->interrupts++;
        lpo_run_supervise_end();
        lpo_run_supervise_begin(&err);
    }
    snprintf(uid, sizeof uid, "%lu", (unsigned long)getuid());
    if (ask(argv, &answer, &err) < 0)
        return;
    for (const char *at = lpo_str_text(&answer), *end; *at; at = *end ? end + 1 : end) {
        size_t digits = strspn(at, "0123456789");
        char id[24];

        end = strchrnul(at, '\n');
        if (at[digits] == '|' && digits && digits < sizeof id &&
            strlen(script) == (size_t)(end - at) - digits - 1 &&
            strncmp(at + digits + 1, script, strlen(script)) == 0) {
            const char *const cancel[] = { "scancel", id, NULL };
            LPO_STR silence = { 0 };

            snprintf(id, sizeof id, "%.*s", (int)digits, at);
            if (ask(cancel, &silence, &err) == 0)
                c->s->say(c->s->ctx,
                          lpo_arena_printf(c->s->plan->arena, "array job %s is cancelled", id));
        }
    }
}

static int submit_array(struct cluster *c, size_t first, size_t past, int64_t offset,
                        struct lpo_err *err)
{
    struct lpo_sweep_run *s = c->s;
    struct lpo_arena *a = s->plan->arena;
    bool *wanted = lpo_arena_array(a, s->plan->count + 1, sizeof *wanted);
    const char *file = lpo_arena_printf(a, "%s/%s/sbatch-%zu.sh", s->plan->dir, LPO_SWEEP_FOLDER,
                                        s->plan->narrays + 1);
    const char *const argv[] = { "sbatch", "--parsable", file, NULL };
    LPO_STR script = { 0 };
    LPO_STR answer = { 0 };
    char id[24];

    for (size_t i = first; i < past; i++)
        wanted[i] = c->places[i].wanted;
    if (lpo_sweep_slurm_script(s, wanted, first, past, offset, &script, err) < 0 ||
        lpo_file_write_private(file, lpo_str_text(&script), script.len, err) < 0)
        return lpo_ctx(err, "the jobs could not be submitted");
    if (ask(argv, &answer, err) < 0) {
        cancel_strays(c, file);
        return lpo_ctx(err, "the jobs could not be submitted");
    }
    if (!lpo_sweep_slurm_read_id(lpo_str_text(&answer), answer.len, id))
        return lpo_fail(err, LPO_E_CHILD, "sbatch printed no job number: '%.100s'",
                        lpo_str_text(&answer));
    lpo_sweep_plan_add_array(s->plan, id, offset);
    for (size_t i = first; i < past; i++)
        if (wanted[i]) {
            c->places[i].array = s->plan->arrays[s->plan->narrays - 1].id;
            c->places[i].task = s->plan->jobs[i].num - offset;
            c->places[i].queued = true;
            c->places[i].wanted = false;
        }
    s->say(s->ctx, lpo_arena_printf(a, "array job %s submitted", id));
    return lpo_sweep_plan_save(s->plan, err);
}

/* One array job, or one for each `array_size` numbers where a cluster allows no larger ones. */
static int submit(struct cluster *c, struct lpo_err *err)
{
    struct lpo_sweep_run *s = c->s;
    int64_t size = lpo_sweep_launcher_count(s, "array_size", 1000);
    size_t i = 0;

    while (i < s->plan->count) {
        int64_t offset = s->plan->jobs[i].num / size * size;
        size_t first = i;
        bool any = false;

        for (; i < s->plan->count && s->plan->jobs[i].num / size * size == offset; i++) {
            any |= c->places[i].wanted;
            if (c->places[i].wanted) { /* what an earlier attempt left is not this one's result */
                s->results[i].state = LPO_SWEEP_PENDING;
                s->results[i].error = NULL;
                if (lpo_sweep_result_save(s->plan, i, &s->results[i], err) < 0)
                    return err->code;
            }
        }
        if (any && submit_array(c, first, i, offset, err) < 0)
            return err->code;
    }
    return 0;
}

/* --- watching ------------------------------------------------------------------------------- */

static size_t job_of(const struct cluster *c, const struct lpo_sweep_slurm_task *t)
{
    const struct lpo_sweep_plan *p = c->s->plan;

    for (size_t k = 0; k < p->narrays; k++) {
        int64_t num = p->arrays[k].offset + t->task;
        size_t low = 0, high = p->count;

        if (strcmp(p->arrays[k].id, t->id) != 0)
            continue;
        lpo_search(low, high, i, p->jobs[i].num < num); /* numbers rise */
        return low < p->count && p->jobs[low].num == num ? low : SIZE_MAX;
    }
    return SIZE_MAX;
}

static int look_at_queue(struct cluster *c, struct lpo_err *err)
{
    char uid[24];
    const char *const argv[] = { "squeue", "-h", "-r", "-u", uid, "-o", "%F|%K|%T|%r", NULL };
    LPO_STR answer = { 0 };
    const char *at, *end;

    snprintf(uid, sizeof uid, "%lu", (unsigned long)getuid());
    if (ask(argv, &answer, err) < 0)
        return err->code;
    c->why[0] = '\0';
    for (size_t i = 0; i < c->s->plan->count; i++)
        c->places[i].queued = c->places[i].running = false;
    for (at = lpo_str_text(&answer); *at; at = *end ? end + 1 : end) {
        struct lpo_sweep_slurm_task t;
        size_t job;

        end = strchrnul(at, '\n');
        if (!lpo_sweep_slurm_read_task(at, (size_t)(end - at), &t) ||
            (job = job_of(c, &t)) == SIZE_MAX)
            continue;
        c->places[job].queued = true;
        c->places[job].running = t.running;
        c->places[job].task = t.task;
        for (size_t k = 0; k < c->s->plan->narrays; k++)
            if (strcmp(c->s->plan->arrays[k].id, t.id) == 0)
                c->places[job].array = c->s->plan->arrays[k].id;
        if (!t.running && !c->why[0])
            memcpy(c->why, t.reason, sizeof c->why);
    }
    return 0;
}

/* Returns whether the job has ended. */
static bool look_at_result(struct cluster *c, size_t job)
{
    struct lpo_sweep_result *r = &c->s->results[job];
    int64_t stamp = lpo_sweep_result_stamp(c->s->plan, job);

    if (stamp && (stamp != c->places[job].stamp || !c->places[job].queued)) {
        c->places[job].stamp = stamp;
        lpo_sweep_result_load(c->s->plan, job, r);
    }
    /* Slurm ended it to start it again: its node is to be used for something else, or failed */
    if (r->state == LPO_SWEEP_ENDED && r->exit_code == INTERRUPTED && c->places[job].queued &&
        !c->interrupts)
        r->state = LPO_SWEEP_PENDING;
    if (r->state == LPO_SWEEP_PENDING && c->places[job].running)
        r->state = LPO_SWEEP_RUNNING;
    return r->state == LPO_SWEEP_ENDED;
}

static void give_up(struct cluster *c, size_t job)
{
    struct lpo_sweep_run *s = c->s;
    struct place *p = &c->places[job];
    struct lpo_sweep_result *r = &s->results[job];
    struct lpo_err err = { 0 };
    LPO_STR answer = { 0 };
    LPO_STR state = { 0 };

    if (p->array) {
        const char *id = lpo_arena_printf(s->plan->arena, "%s_%" PRId64, p->array, p->task);
        const char *const argv[] = { "scontrol", "-o", "show", "job", id, NULL };

        if (ask(argv, &answer, &err) == 0)
            lpo_sweep_slurm_read_state(lpo_str_text(&answer), answer.len, &state);
    }
    r->state = LPO_SWEEP_LOST;
    r->error = state.len ? lpo_arena_printf(s->plan->arena, "Slurm ended it: %s", state.at)
                         : "it is no longer in Slurm's queue and left no result";
    lpo_sweep_result_save(s->plan, job, r, NULL);
    lpo_sweep_watch_say_end(s, job);
}

/* Returns how many jobs are still on their way. `sure`: squeue has answered. */
static size_t look(struct cluster *c, bool sure)
{
    int64_t now = lpo_run_clock_ns();
    size_t left = 0;
    bool news = false;

    for (size_t i = 0; i < c->s->plan->count; i++) {
        struct place *p = &c->places[i];

        if (!p->array || c->s->results[i].state == LPO_SWEEP_ENDED ||
            c->s->results[i].state == LPO_SWEEP_LOST)
            continue;
        if (look_at_result(c, i)) {
            lpo_sweep_watch_say_end(c->s, i);
            news = true;
            continue;
        }
        if (sure && p->queued)
            p->missed = 0;
        else if (sure && p->missed++ == 0)
            p->missed_since = now;
        if (p->missed >= LOST_AFTER && now - p->missed_since > SETTLE_S * second) {
            give_up(c, i);
            news = true;
            continue;
        }
        left++;
    }
    if (news)
        c->s->changed(c->s->ctx);
    return left;
}

/* Waits, and notes whether the user asked to stop. After that supervision starts anew, because it
 * would start no command any more, and the jobs have yet to be cancelled. */
static void pause_for(struct cluster *c, int64_t ns, struct lpo_err *err)
{
    unsigned times = ns ? lpo_run_supervise_wait(ns) : 0;

    if (!lpo_run_supervise_interrupted())
        return;
    c->interrupts += times ? times : 1;
    lpo_run_supervise_end();
    lpo_run_supervise_begin(err);
}

/* Those that wait are cancelled, those that run are asked to end, and after END_S made to. */
static void cancel(struct cluster *c)
{
    int64_t now = lpo_run_clock_ns();
    bool late = c->asked && now - c->asked_at > END_S * second;
    struct lpo_err err = { 0 };

    if (c->asked >= c->interrupts && !(c->asked == 1 && late))
        return;
    for (size_t k = 0; k < c->s->plan->narrays; k++) {
        const char *id = c->s->plan->arrays[k].id;
        const char *const waiting[] = { "scancel", "--state=PENDING", id, NULL };
        const char *const running[] = { "scancel", "--batch", "--signal=TERM", id, NULL };
        const char *const all[] = { "scancel", id, NULL };
        LPO_STR answer = { 0 };

        if (c->asked == 0) {
            ask(waiting, &answer, &err);
            ask(running, &answer, &err);
        } else {
            ask(all, &answer, &err);
        }
        if (c->asked == 0)
            c->s->say(c->s->ctx,
                      lpo_arena_printf(c->s->plan->arena, "array job %s is cancelled", id));
    }
    c->asked++;
    c->asked_at = now;
}

/* A job that was cancelled before it began is as it was. */
static size_t forget_waiting(struct cluster *c)
{
    size_t left = 0;

    for (size_t i = 0; i < c->s->plan->count; i++) {
        enum lpo_sweep_state state = c->s->results[i].state;

        if (state == LPO_SWEEP_PENDING && !c->places[i].queued)
            c->places[i].array = NULL;
        left += c->places[i].array && state < LPO_SWEEP_ENDED;
    }
    return left;
}

static int watch(struct cluster *c, struct lpo_err *err)
{
    int64_t slowest = lpo_sweep_launcher_count(c->s, "poll_s", POLL_S), poll_s = FIRST_POLL_S;
    unsigned silent = 0;
    size_t left;

    if (poll_s > slowest)
        poll_s = slowest;
    do {
        struct lpo_err why = { 0 };
        bool sure = look_at_queue(c, &why) == 0;

        pause_for(c, 0, err); /* it may have come while squeue ran */
        silent = sure || c->interrupts ? 0 : silent + 1;
        if (silent == 3) /* a controller that restarts is silent for a while; jobs go on */
            c->s->say(c->s->ctx, lpo_arena_printf(c->s->plan->arena, "squeue does not answer: %s",
                                                  lpo_err_cause(&why)));
        left = look(c, sure);
        if (c->interrupts && sure)
            left = forget_waiting(c);
        lpo_sweep_watch_show(c->s, c->why);
        if (!left)
            break;
        for (int64_t waited = 0; waited < poll_s * 5 && c->interrupts <= c->asked; waited++)
            pause_for(c, second / 5, err);
        cancel(c);
        poll_s = c->interrupts ? FIRST_POLL_S : poll_s < slowest ? poll_s + 1 : slowest;
    } while (left);
    c->s->interrupted = c->interrupts > 0;
    return 0;
}

/* --- the launcher --------------------------------------------------------------------------- */

static int plan_text(const struct lpo_sweep_run *s, struct lpo_str *out, struct lpo_err *err)
{
    bool *wanted = lpo_arena_array(s->plan->arena, s->plan->count + 1, sizeof *wanted);

    memset(wanted, 1, s->plan->count * sizeof *wanted);
    lpo_str_add(out, "# sbatch --parsable <<'EOF'\n");
    if (lpo_sweep_slurm_script(s, wanted, 0, s->plan->count, 0, out, err) < 0)
        return err->code;
    lpo_str_add(out, "# EOF\n");
    return 0;
}

static int run(struct lpo_sweep_run *s, struct lpo_err *err)
{
    struct cluster c = { .s = s };
    const struct lpo_node *wait = lpo_node_get(s->settings, "wait");
    size_t open = 0;

    c.places = lpo_arena_array(s->plan->arena, s->plan->count + 1, sizeof *c.places);
    if (lpo_run_supervise_begin(err) < 0 || look_at_queue(&c, err) < 0)
        return err->code;
    for (size_t i = 0; i < s->plan->count; i++) {
        c.places[i].wanted = !c.places[i].queued && lpo_sweep_result_open(&s->results[i]);
        open += c.places[i].wanted;
    }
    if (open && submit(&c, err) < 0 && !c.interrupts)
        return err->code;
    s->interrupted = c.interrupts > 0;
    if (s->interrupted && !s->plan->narrays)
        return 0;
    s->changed(s->ctx);
    if (!s->resumed && wait && wait->kind == LPO_NODE_BOOL && !wait->boolean) {
        s->say(s->ctx, lpo_arena_printf(s->plan->arena,
                                        "not waiting; lpo run --resume %s waits for the jobs and "
                                        "writes the summary",
                                        s->plan->dir));
        return 0;
    }
    return watch(&c, err);
}

const struct lpo_sweep_launcher lpo_sweep_slurm = {
    .name = "slurm",
    .targets = targets,
    .keys = lpo_sweep_slurm_keys,
    .plan = plan_text,
    .run = run,
};
