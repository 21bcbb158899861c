/* SPDX-License-Identifier: Apache-2.0 */
#include "run/shared_job.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "run/child/supervise.h"
#include "run/clock.h"
#include "run/folder.h"
#include "run/heartbeat.h"
#include "run/manifest.h"
#include "util/file.h"
#include "util/path.h"

#define JOB_FILE ".lpo-job"

enum { MOST = 1 << 16 }; /* ranks: the size of the job is a number in a variable */
static const int64_t first_sign_ns = 60000000000; /* a rank that has not begun by then will not */

/* --- which job ------------------------------------------------------------------------------ */

/* Variables that are the same in all tasks of a job and different in the next; all of a row are
 * needed, unless the second is NULL. */
static const char *const job_variables[][2] = {
    { "LPO_JOB_ID", NULL },     { "SLURM_JOB_ID", "SLURM_STEP_ID" }, { "FLUX_JOB_ID", NULL },
    { "PMIX_NAMESPACE", NULL }, { "MASTER_ADDR", "MASTER_PORT" },
};

static const char *find_id(struct lpo_arena *a)
{
    const char *again = getenv("SLURM_RESTART_COUNT"); /* the same job, started once more */
    LPO_STR id = { 0 };

    for (size_t i = 0; i < sizeof job_variables / sizeof *job_variables && !id.len; i++) {
        const char *first = getenv(job_variables[i][0]);
        const char *second = job_variables[i][1] ? getenv(job_variables[i][1]) : "";

        if (first && *first && second)
            lpo_str_addf(&id, "%.100s%s%.20s", first, *second ? "." : "", second);
    }
    if (!id.len)
        lpo_str_addf(&id, "parent-%d", (int)getppid());
    if (again)
        lpo_str_addf(&id, ".%.10s", again);
    for (char *c = id.at; *c; c++)
        if (!strchr("0123456789.-_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", *c))
            *c = '_';
    return lpo_arena_strdup(a, lpo_str_text(&id));
}

bool lpo_run_shared_job_find(struct lpo_arena *a, struct lpo_shared_job *out)
{
    struct lpo_rank r = lpo_launcher_rank();

    if (!r.launcher || r.world_size < 2)
        return false;
    *out = (struct lpo_shared_job){ .rank = r, .id = find_id(a), .leads = r.rank == 0 };
    return true;
}

/* --- the folder ----------------------------------------------------------------------------- */

int lpo_run_shared_job_check(struct lpo_arena *a, const struct lpo_shared_job *j,
                             struct lpo_err *err)
{
    if (!lpo_path_exists(lpo_path_join(a, j->dir, "run.json")) &&
        !lpo_path_exists(lpo_path_join(a, j->dir, JOB_FILE)))
        return 0;
    return lpo_fail(err, LPO_E_USAGE,
                    "the run folder '%s' holds another run, and the ranks of a job share one "
                    "folder; set hydra.run.dir to a new one",
                    j->dir);
}

int lpo_run_shared_job_mark(const struct lpo_shared_job *j, const char *dir, struct lpo_err *err)
{
    return lpo_run_folder_write(dir, JOB_FILE, j->id, strlen(j->id), err);
}

static void pause_ms(long ms)
{
    struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

    nanosleep(&t, NULL);
}

int lpo_run_shared_job_wait(struct lpo_arena *a, const struct lpo_shared_job *j,
                            struct lpo_err *err)
{
    const char *path = lpo_path_join(a, j->dir, JOB_FILE);
    int64_t end = lpo_run_clock_ns() + (j->limit_ns < first_sign_ns ? j->limit_ns : first_sign_ns);

    for (;;) {
        LPO_AUTO(lpo_file_text) text = NULL;
        struct lpo_err none = { 0 };

        if (lpo_path_exists(path) && lpo_file_text_read(path, &text, &none) == 0) {
            if (text->len == strlen(j->id) && memcmp(text->at, j->id, text->len) == 0)
                return 1;
            return lpo_fail(err, LPO_E_USAGE,
                            "the run folder '%s' belongs to another job; set hydra.run.dir to a "
                            "new one",
                            j->dir);
        }
        if (lpo_run_clock_ns() >= end || lpo_run_supervise_interrupted())
            return 0;
        pause_ms(50);
    }
}

const char *lpo_run_shared_job_member(struct lpo_arena *a, const struct lpo_shared_job *j,
                                      int32_t rank)
{
    return lpo_arena_printf(a, "%s/ranks/rank%d", j->dir, (int)rank);
}

/* --- the end -------------------------------------------------------------------------------- */

/* What rank 0 knows of another while it waits for it. */
struct member {
    struct lpo_manifest manifest;
    struct lpo_heartbeat_watch life;
    const char *problem; /* why there is no manifest; NULL: nothing of the rank is here */
    bool settled, there;
};

/* Until its manifest says that it ended, or its lpo is gone, or the time is over. */
static bool is_settled(struct lpo_manifest *m, const struct lpo_shared_job *j, int64_t waited,
                       struct member *w)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_manifest now = { .arena = a, .dir = w->manifest.dir };
    /* before the manifest is looked at: it may end in between */
    bool over = lpo_run_heartbeat_is_over(&w->life, now.dir);
    bool begun = lpo_path_exists(lpo_path_join(a, now.dir, "run.json"));
    struct lpo_err none = { 0 };

    if (begun && lpo_run_manifest_load(&now, &none) == 0 && now.state != LPO_RUNNING)
        return true;
    return (begun && over) || waited >= j->limit_ns || m->state == LPO_INTERRUPTED ||
           (!begun && waited >= first_sign_ns) || lpo_run_supervise_interrupted();
}

static void load_member(struct lpo_manifest *m, struct member *w)
{
    struct lpo_err why = { 0 };

    w->manifest.arena = m->arena;
    if (!lpo_path_exists(lpo_path_join(m->arena, w->manifest.dir, "run.json")))
        return;
    w->there = lpo_run_manifest_load(&w->manifest, &why) == 0;
    if (!w->there)
        w->problem = lpo_arena_strdup(m->arena, lpo_err_cause(&why));
}

/* All of them are looked at in turn, so that their silences pass at the same time. */
static void wait_for_members(struct lpo_manifest *m, const struct lpo_shared_job *j,
                             struct member *all, int32_t count)
{
    int64_t begin = lpo_run_clock_ns();

    for (int32_t open = count; open > 0;) {
        open = 0;
        for (int32_t i = 0; i < count; i++) {
            struct member *w = &all[i];

            if (!w->settled && is_settled(m, j, lpo_run_clock_ns() - begin, w)) {
                w->settled = true;
                load_member(m, w);
            }
            open += !w->settled;
        }
        if (open) /* a network disk is not to be asked thousands of times in a second */
            pause_ms(50 + 2 * (long)open);
    }
}

static void own_file(struct lpo_manifest *m, struct lpo_stage_record *r, const char *name)
{
    const char **files = lpo_arena_array(m->arena, r->nfiles + 1, sizeof *files);

    if (r->nfiles)
        memcpy(files, r->files, r->nfiles * sizeof *files);
    files[r->nfiles++] = name;
    r->files = files;
}

/* What is named after the rank: traces, and what the profiler says about them. Nothing that is
 * there is replaced; what cannot be moved stays where it is, and is named. */
static void move_files(struct lpo_manifest *m, const struct lpo_shared_job *j, int32_t rank,
                       struct lpo_stage_record *r)
{
    const char *from = lpo_run_shared_job_member(m->arena, j, rank);
    const char *prefix = lpo_arena_printf(m->arena, "%s/rank%d.", r->name, (int)rank);
    struct lpo_paths files = { 0 };
    struct lpo_err err = { 0 };

    if (lpo_run_folder_list(m->arena, from, r->name, &files, &err) < 0)
        lpo_run_manifest_note(m, r, "rank %d: its files could not be listed: %s", (int)rank,
                              lpo_err_cause(&err));
    for (size_t i = 0; i < files.len; i++) {
        const char *name = files.at[i], *old = lpo_path_join(m->arena, from, name);
        const char *place = lpo_path_join(m->arena, m->dir, name);

        if (!lpo_str_starts(name, prefix))
            continue;
        lpo_file_make_dirs(lpo_path_dir(m->arena, place), NULL);
        if (link(old, place) == 0 || (errno != EEXIST && !lpo_path_exists(place) &&
                                      rename(old, place) == 0)) { /* some disks have no links */
            unlink(old);
            own_file(m, r, name);
        } else {
            lpo_run_manifest_note(m, r, "rank %d: %s could not be moved to %s: %s", (int)rank, old,
                                  name, strerror(errno));
        }
    }
}

static bool ended_well(const struct lpo_stage_record *s)
{
    return s->state == LPO_DONE || s->state == LPO_SKIPPED;
}

/* What one rank says of its stages, in the records of ours. */
static bool take_member(struct lpo_manifest *m, const struct lpo_shared_job *j, int32_t rank,
                        const struct lpo_manifest *member)
{
    bool well = member->state != LPO_RUNNING;

    for (size_t i = 0; i < member->nstages; i++) {
        const struct lpo_stage_record *s = &member->stages[i];
        struct lpo_stage_record *ours = lpo_run_manifest_stage(m, s->name);

        if (!ours || s->state == LPO_SKIPPED || s->state == LPO_PENDING)
            continue;
        move_files(m, j, rank, ours);
        if (!ended_well(s)) {
            well = false;
            lpo_run_manifest_note(m, ours, "rank %d: %s%s%s", (int)rank,
                                  s->state == LPO_RUNNING ? "its lpo ended in the middle, or still "
                                                            "runs"
                                                          : lpo_run_state_name(s->state),
                                  s->message ? ": " : "", s->message ? s->message : "");
        }
    }
    return well;
}

/* A run has stages, and no other place for what concerns all of it. */
static void note_absent(struct lpo_manifest *m, int32_t rank, const char *problem)
{
    for (size_t i = 0; i < m->nstages; i++)
        if (m->stages[i].state != LPO_SKIPPED && m->stages[i].state != LPO_PENDING) {
            lpo_run_manifest_note(m, &m->stages[i], "rank %d: %s%s", (int)rank,
                                  problem ? "what it left cannot be read: "
                                          : "nothing of it is here: it did not start, or its disk "
                                            "is not shared with rank 0",
                                  problem ? problem : "");
            return;
        }
}

unsigned lpo_run_shared_job_gather(struct lpo_manifest *m, const struct lpo_shared_job *j)
{
    int32_t count = j->rank.world_size <= MOST ? j->rank.world_size - 1 : MOST - 1;
    struct member *all = lpo_arena_array(m->arena, (size_t)count + 1, sizeof *all);
    unsigned lost = 0;

    for (int32_t i = 0; i < count; i++)
        all[i].manifest.dir = lpo_run_shared_job_member(m->arena, j, i + 1);
    wait_for_members(m, j, all, count);
    for (int32_t i = 0; i < count; i++) {
        if (all[i].there) {
            lost += !take_member(m, j, i + 1, &all[i].manifest);
        } else {
            note_absent(m, i + 1, all[i].problem);
            lost++;
        }
    }
    return lost;
}
