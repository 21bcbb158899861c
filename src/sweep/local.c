/* SPDX-License-Identifier: Apache-2.0 */
/* Several jobs at once on this machine, each an lpo of its own whose output goes to a file. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hydra/compose.h"
#include "run/child/supervise.h"
#include "settings/settings.h"
#include "sweep/launcher.h"

enum { MOST_AT_ONCE = 1024 };

static const struct lpo_sweep_key keys[] = {
    { "n_jobs", LPO_SWEEP_COUNT }, /* joblib's -1 has no meaning beside a GPU */
    { "gpus", LPO_SWEEP_LIST },
    /* of hydra-joblib-launcher, so that its configs work */
    { "backend", LPO_SWEEP_IGNORED },
    { "prefer", LPO_SWEEP_IGNORED },
    { "require", LPO_SWEEP_IGNORED },
    { "verbose", LPO_SWEEP_IGNORED },
    { "timeout", LPO_SWEEP_IGNORED },
    { "pre_dispatch", LPO_SWEEP_IGNORED },
    { "batch_size", LPO_SWEEP_IGNORED },
    { "temp_folder", LPO_SWEEP_IGNORED },
    { "max_nbytes", LPO_SWEEP_IGNORED },
    { "mmap_mode", LPO_SWEEP_IGNORED },
    { NULL, 0 },
};

static const char *const targets[] = { "lpo.local", "JoblibLauncher", NULL };

/* A place in which one job after the other runs. */
struct slot {
    pid_t pid; /* 0: free */
    size_t job;
    const char *gpu; /* CUDA_VISIBLE_DEVICES; NULL: as it is */
};

struct pool {
    struct lpo_sweep_run *s;
    struct slot *slots;
    size_t count;
    unsigned asked; /* how often the running jobs were asked to end */
};

static const char *log_of(const struct lpo_sweep_run *s, size_t job)
{
    return lpo_arena_printf(s->plan->arena, "%s/%s/%" PRId64 ".log", s->plan->dir, LPO_SWEEP_FOLDER,
                            s->plan->jobs[job].num);
}

/* In the child: its own group, so that Ctrl-C reaches it through us, once. */
static void become(const struct lpo_sweep_run *s, const struct slot *slot, const char *num,
                   const char *log, pid_t parent)
{
    char *const argv[] = { (char *)s->program,
                           (char *)"run",
                           (char *)"--resume",
                           (char *)s->plan->dir,
                           (char *)"--job",
                           (char *)num,
                           NULL };
    int out = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    sigset_t none;

    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* an lpo that was killed leaves no jobs behind */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (slot->gpu)
        setenv("CUDA_VISIBLE_DEVICES", slot->gpu, 1);
    if (getppid() == parent && out >= 0 && in >= 0 && dup2(in, 0) == 0 && dup2(out, 1) == 1 &&
        dup2(out, 2) == 2)
        execv(s->program, argv);
    _exit(127);
}

static int start(struct pool *p, struct slot *slot, size_t job, struct lpo_err *err)
{
    struct lpo_sweep_run *s = p->s;
    const char *log = log_of(s, job);
    const char *num = lpo_arena_printf(s->plan->arena, "%" PRId64, s->plan->jobs[job].num);
    pid_t parent = getpid(), pid;

    /* what an earlier attempt left is not this one's result; its folder is gone on with */
    s->results[job].state = LPO_SWEEP_PENDING;
    s->results[job].error = NULL;
    if (lpo_sweep_result_save(s->plan, job, &s->results[job], err) < 0)
        return err->code;
    pid = fork();
    if (pid < 0)
        return lpo_fail_errno(err, "cannot start job %s", num);
    if (pid == 0)
        become(s, slot, num, log, parent);
    *slot = (struct slot){ pid, job, slot->gpu };
    s->results[job].state = LPO_SWEEP_RUNNING;
    s->changed(s->ctx);
    return 0;
}

static void take_end(struct pool *p, struct slot *slot, int status)
{
    struct lpo_sweep_run *s = p->s;
    struct lpo_sweep_result *r = &s->results[slot->job];

    lpo_sweep_result_load(s->plan, slot->job, r);
    if (r->state != LPO_SWEEP_ENDED && WIFEXITED(status) && WEXITSTATUS(status) == 130) {
        r->state = LPO_SWEEP_ENDED; /* interrupted while lpo itself worked: it ends at once */
        r->exit_code = 130;
        lpo_sweep_result_save(s->plan, slot->job, r, NULL);
    } else if (r->state != LPO_SWEEP_ENDED) {
        r->state = LPO_SWEEP_LOST;
        r->error = WIFSIGNALED(status)
                       ? lpo_arena_printf(s->plan->arena, "killed by signal %d", WTERMSIG(status))
                       : lpo_arena_printf(s->plan->arena, "exit code %d without a result; see %s",
                                          WEXITSTATUS(status), log_of(s, slot->job));
        lpo_sweep_result_save(s->plan, slot->job, r, NULL);
    }
    slot->pid = 0;
    lpo_sweep_watch_say_end(s, slot->job);
    s->changed(s->ctx);
}

/* INT, then TERM, then KILL: each job ends its own program in between. */
static void ask(struct pool *p, unsigned times)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGKILL };

    for (; p->asked < times && p->asked < sizeof signals / sizeof *signals; p->asked++)
        for (size_t i = 0; i < p->count; i++)
            if (p->slots[i].pid)
                kill(p->asked == 2 ? -p->slots[i].pid : p->slots[i].pid, signals[p->asked]);
}

static size_t reap(struct pool *p)
{
    size_t running = 0;

    for (size_t i = 0; i < p->count; i++) {
        struct slot *slot = &p->slots[i];
        int status = 0xff00; /* where somebody else took it */

        if (slot->pid && waitpid(slot->pid, &status, WNOHANG) != 0)
            take_end(p, slot, status);
        running += slot->pid != 0;
    }
    return running;
}

static int fill_slots(struct pool *p, size_t *next, struct lpo_err *err)
{
    struct lpo_sweep_run *s = p->s;

    for (size_t i = 0; i < p->count; i++) {
        if (p->slots[i].pid)
            continue;
        while (*next < s->plan->count && !lpo_sweep_result_open(&s->results[*next]))
            ++*next;
        if (*next == s->plan->count)
            return 0;
        if (start(p, &p->slots[i], (*next)++, err) < 0)
            return err->code;
    }
    return 0;
}

static size_t slots_of(const struct lpo_sweep_run *s)
{
    const struct lpo_node *gpus = lpo_node_get(s->settings, "gpus");
    long long n = gpus && gpus->kind == LPO_NODE_LIST && gpus->count ? (long long)gpus->count : 1;

    n = lpo_sweep_launcher_count(s, "n_jobs", n);
    return n > MOST_AT_ONCE ? MOST_AT_ONCE : (size_t)n;
}

static int plan_text(const struct lpo_sweep_run *s, struct lpo_str *out, struct lpo_err *err)
{
    (void)err;
    lpo_str_addf(out, "# on this machine, %zu at once; output in %s/%s/<job>.log\n", slots_of(s),
                 s->plan->dir, LPO_SWEEP_FOLDER);
    return 0;
}

static int run(struct lpo_sweep_run *s, struct lpo_err *err)
{
    const struct lpo_node *gpus = lpo_node_get(s->settings, "gpus");
    struct pool p = { .s = s, .count = slots_of(s) };
    size_t next = 0, running;
    unsigned interrupts = 0;
    int rc = lpo_run_supervise_begin(err);

    if (rc < 0)
        return rc;
    p.slots = lpo_arena_array(s->plan->arena, p.count, sizeof *p.slots);
    for (size_t i = 0; gpus && gpus->kind == LPO_NODE_LIST && gpus->count && i < p.count; i++)
        p.slots[i].gpu = lpo_settings_node_word(s->plan->arena, gpus->items[i % gpus->count]);
    do {
        if (!interrupts && rc == 0)
            rc = fill_slots(&p, &next, err);
        lpo_sweep_watch_show(s, NULL);
        interrupts = lpo_run_supervise_wait(200000000);
        ask(&p, interrupts);
        running = reap(&p);
    } while (running || (!interrupts && rc == 0 && next < s->plan->count));
    s->interrupted = interrupts > 0;
    return rc;
}

const struct lpo_sweep_launcher lpo_sweep_local = {
    .name = "local",
    .targets = targets,
    .keys = keys,
    .plan = plan_text,
    .run = run,
};
