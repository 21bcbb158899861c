/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu/sampler/sampler.h"

#include <errno.h>
#include <poll.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "gpu/sampler/file.h"

enum {
    LONG_SAMPLE = 8,   /* intervals: a record longer than that spans time that was not sampled */
    LAST_MAX = 1000,   /* decodings after the stop: CUPTI must not keep us for ever */
    RESTARTS_MAX = 100 /* after an overflow: a GPU that overflows all the time ends it */
};

struct sampler {
    const struct lpo_sampler_options *o;
    struct lpo_arena *a;
    struct lpo_sampler_session *session;
    struct lpo_sampler_file *file;
    struct lpo_sampler_result *result;
    const struct lpo_sampler_clock *clock;
    struct lpo_sampler_budget budget;
    uint64_t interval_ns;
    bool announce; /* the interval is another one, and the file does not say so yet */
    uint64_t
        last_end_ns; /* of the last sample, or of the last time known to be lost; 0: none yet */
    bool fresh;      /* the next record is the one for the time before sampling (re)started */
    enum lpo_counters_why gap_is; /* why the next gap is there */
    unsigned restarts;
    bool over; /* it overflowed and could not go on: the rest of the time is lost */
    /* what finding libraries and metrics cost is no cost of sampling */
    int64_t started_cpu_ns, started_wall_ns;
};

/* --- clocks --- */

static int64_t clock_ns(clockid_t which)
{
    struct timespec t;

    clock_gettime(which, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t real_wall_ns(void *unused)
{
    (void)unused;
    return clock_ns(CLOCK_MONOTONIC);
}

static int64_t real_cpu_ns(void *unused, bool thread)
{
    (void)unused;
    return clock_ns(thread ? CLOCK_THREAD_CPUTIME_ID : CLOCK_PROCESS_CPUTIME_ID);
}

static int real_wait(void *unused, struct pollfd *fds, unsigned count, int64_t until_ns)
{
    int64_t left = until_ns - clock_ns(CLOCK_MONOTONIC);
    struct timespec t = { left > 0 ? left / 1000000000 : 0, left > 0 ? left % 1000000000 : 0 };

    (void)unused;
    return ppoll(fds, count, &t, NULL);
}

static const struct lpo_sampler_clock real_clock = { real_wall_ns, real_cpu_ns, real_wait, NULL };

static int64_t wall_ns(const struct sampler *s)
{
    return s->clock->wall_ns(s->clock->ctx);
}

static int64_t cpu_ns(const struct sampler *s)
{
    return s->clock->cpu_ns(s->clock->ctx, s->o->left != NULL);
}

/* --- what goes into the file --- */

static int write_head(struct sampler *s, struct lpo_err *err)
{
    const struct lpo_sampler_gpu *g = lpo_sampler_session_gpu(s->session);
    struct utsname host = { 0 };
    const char *pairs[][2] = {
        { "sampler", s->o->version },
        { "pid", lpo_arena_printf(s->a, "%d", (int)getpid()) },
        { "host", uname(&host) == 0 ? host.nodename : "" },
        { "clock", "realtime" },
        { "interval_ns", lpo_arena_printf(s->a, "%lld", (long long)g->interval_ns) },
        { "trigger", g->counts_clocks ? "sysclk" : "time" },
        { "interval_clocks",
          g->counts_clocks ? lpo_arena_printf(s->a, "%llu", (unsigned long long)g->interval_clocks)
                           : "" },
        { "beside", s->o->beside },
        { "chip", g->chip },
        { "device.index", lpo_arena_printf(s->a, "%d", s->o->ask.device) },
        { "device.name", g->name },
        { "device.uuid", g->uuid },
        { "cupti.version", lpo_arena_printf(s->a, "%u", g->cupti_version) },
        { "cuda.driver", lpo_arena_printf(s->a, "%d", g->driver) },
    };

    if (lpo_sampler_file_facts(s->file, (const char *const(*)[2])pairs,
                               sizeof pairs / sizeof *pairs, err) < 0 ||
        lpo_sampler_file_metrics(s->file, g->metrics.at, g->metrics.len, err) < 0)
        return err->code;
    if (!g->metrics.left_out)
        return 0;
    return lpo_sampler_file_note(
        s->file, lpo_arena_printf(s->a, "not sampled: %s", g->metrics.left_out), err);
}

static int lose(struct sampler *s, uint64_t from, uint64_t to, struct lpo_err *err)
{
    static const char *const texts[] = {
        [LPO_COUNTERS_LOST_OVERFLOW] = "the hardware's buffer was full",
        [LPO_COUNTERS_LOST_GAP] = "no sample of this time",
        [LPO_COUNTERS_LOST_LIMIT] = "the file reached its size limit",
        [LPO_COUNTERS_LOST_CHANGE] = "sampling started again with a longer interval",
    };
    enum lpo_counters_why why = s->gap_is;

    s->gap_is = LPO_COUNTERS_LOST_GAP;
    s->result->lost_ns += (int64_t)(to - from);
    return lpo_sampler_file_loss(s->file, from, to, (to - from) / s->interval_ns, why, texts[why],
                                 err);
}

/* Samples from the end of the last one on have the pace that the session has now. */
static int announce(struct sampler *s, struct lpo_err *err)
{
    s->announce = false;
    return lpo_sampler_file_interval(s->file, s->last_end_ns, s->interval_ns,
                                     (uint64_t)s->budget.pace.round_ns, err);
}

/* A record that spans time in which nothing was sampled. The very first one is of the time before
 * the start and is nothing that anybody asked for; later ones mark a loss. */
static int take_long(struct sampler *s, uint64_t start_ns, uint64_t end_ns, struct lpo_err *err)
{
    uint64_t from = s->last_end_ns ? s->last_end_ns : start_ns;
    bool first = s->last_end_ns == 0;

    s->last_end_ns = end_ns;
    if (!first && end_ns > from && lose(s, from, end_ns, err) < 0)
        return err->code;
    return s->announce ? announce(s, err) : 0;
}

static int take_sample(void *ctx, uint64_t start_ns, uint64_t end_ns, const double *values,
                       struct lpo_err *err)
{
    struct sampler *s = ctx;
    bool fresh = s->fresh;

    if (end_ns <= start_ns || end_ns <= s->last_end_ns)
        return 0;
    s->fresh = false;
    if (fresh || end_ns - start_ns > LONG_SAMPLE * s->interval_ns)
        return take_long(s, start_ns, end_ns, err);
    if (s->last_end_ns && start_ns > s->last_end_ns + s->interval_ns / 2 &&
        lose(s, s->last_end_ns, start_ns, err) < 0)
        return err->code;
    s->last_end_ns = end_ns;
    return lpo_sampler_file_sample(s->file, start_ns, end_ns, values, err);
}

/* --- the loop --- */

/* Sampling cannot go on. What was sampled is kept, the rest of the time is marked as lost, and a
 * note says why: no reason to call the whole sampling failed. */
static int give_up(struct sampler *s, const char *when, const struct lpo_err *why,
                   struct lpo_err *err)
{
    s->over = true;
    return lpo_sampler_file_note(
        s->file, lpo_arena_printf(s->a, "sampling ended when %s: %s", when, lpo_err_cause(why)),
        err);
}

/* The hardware keeps its oldest records and stops at the end of its buffer: only a restart makes
 * it go on. */
static int restart(struct sampler *s, struct lpo_err *err)
{
    struct lpo_err why = { 0 };
    int rc;

    s->gap_is = LPO_COUNTERS_LOST_OVERFLOW;
    s->fresh = true;
    if (++s->restarts > RESTARTS_MAX)
        rc = lpo_fail(&why, LPO_E_LIMIT,
                      "the hardware's buffer was full %d times: set pipeline.counters.interval to "
                      "a longer time",
                      RESTARTS_MAX);
    else
        rc = lpo_sampler_session_restart(s->session, NULL, &why);
    return rc == 0 ? 0 : give_up(s, "the hardware's buffer was full", &why, err);
}

static int decode_round(struct sampler *s, bool last, struct lpo_err *err)
{
    bool overflow = false;
    int more, left = last ? LAST_MAX : 1;

    s->result->rounds++;
    do {
        more = lpo_sampler_session_decode(s->session, take_sample, s, &overflow, err);
        if (more < 0 || lpo_sampler_file_flush(s->file, err) < 0)
            return err->code;
    } while (more && --left > 0); /* a sampler that fell behind has much to read after the stop */
    if (overflow && !last)
        return restart(s, err);
    if (overflow)
        s->gap_is = LPO_COUNTERS_LOST_OVERFLOW;
    return 0;
}

/* Waits for the next round. False: it is time to stop. */
static bool wait_for_round(struct sampler *s, int64_t until_ns)
{
    struct pollfd fds[] = { { .fd = s->o->stop_fd, .events = POLLIN },
                            { .fd = s->o->signal_fd, .events = POLLIN } };

    for (;;) {
        char byte;
        int n = s->clock->wait(s->clock->ctx, fds, 2, until_ns);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return true;
        if (fds[1].revents)
            s->result->ended_by = LPO_COUNTERS_ENDED_STOPPED;
        else if (read(fds[0].fd, &byte, 1) > 0)
            s->result->ended_by = LPO_COUNTERS_ENDED_STOPPED; /* a byte: stop */
        else
            s->result->ended_by = LPO_COUNTERS_ENDED_ORPHAN; /* the other end is closed */
        return false;
    }
}

/* The samples so far are decoded first: what is lost is the time until sampling begins again. */
static int change_pace(struct sampler *s, struct lpo_err *err)
{
    const struct lpo_sampler_pace *pace = &s->budget.pace;
    struct lpo_err why = { 0 };
    int rc;

    lpo_sampler_budget_restart(&s->budget);
    s->announce = true;
    if ((uint64_t)pace->interval_ns == s->interval_ns)
        return announce(s, err); /* only the rounds, which are ours alone */
    rc = lpo_sampler_session_stop(s->session, &why);
    if (rc == 0 && decode_round(s, true, err) < 0)
        return err->code;
    s->gap_is = LPO_COUNTERS_LOST_CHANGE;
    s->fresh = true;
    if (rc == 0)
        rc = lpo_sampler_session_restart(s->session, pace, &why);
    if (rc < 0)
        return give_up(s, "its interval was lengthened", &why, err);
    s->interval_ns = (uint64_t)pace->interval_ns;
    s->result->lengthened++;
    return 0;
}

static int keep_to_budget(struct sampler *s, struct lpo_err *err)
{
    struct lpo_sampler_budget *b = &s->budget;

    switch (lpo_sampler_budget_round(b, wall_ns(s), cpu_ns(s))) {
    case LPO_SAMPLER_LENGTHENED:
        return change_pace(s, err);
    case LPO_SAMPLER_EXHAUSTED:
        return lpo_sampler_file_note(
            s->file,
            lpo_arena_printf(s->a,
                             "with the longest interval, too, the sampler takes %.1f %% of one "
                             "core; pipeline.counters.core allows %.4g %%",
                             100 * b->share, 100 * b->core),
            err);
    case LPO_SAMPLER_GOES_ON:
        break;
    }
    return 0;
}

static int sample_until_stop(struct sampler *s, struct lpo_err *err)
{
    int64_t next = wall_ns(s);

    do {
        if (!s->over && decode_round(s, false, err) < 0)
            return err->code;
        if (!s->over && keep_to_budget(s, err) < 0)
            return err->code;
        next += s->budget.pace.round_ns;
        if (next < wall_ns(s)) /* a late round is not made up for by a burst */
            next = wall_ns(s) + s->budget.pace.round_ns / 4;
    } while (wait_for_round(s, next));
    if (s->over)
        return 0;
    if (lpo_sampler_session_stop(s->session, err) < 0)
        return err->code;
    return decode_round(s, true, err);
}

/* The end of the file, whatever ended the sampling. */
static int finish(struct sampler *s, int rc, struct lpo_err *err)
{
    struct lpo_sampler_result *r = s->result;
    uint64_t now = (uint64_t)clock_ns(CLOCK_REALTIME);
    struct lpo_sampler_file_totals totals;
    struct lpo_err ignored = { 0 };

    if (rc == LPO_E_LIMIT) { /* the file is full: known, no error */
        uint64_t from = lpo_sampler_file_written_until(s->file); /* the last block did not fit */

        s->gap_is = LPO_COUNTERS_LOST_LIMIT;
        if (from && now > from)
            lose(s, from, now, &ignored);
        r->ended_by = LPO_COUNTERS_ENDED_LIMIT;
        rc = 0;
    } else if (rc < 0) {
        lpo_sampler_file_note(s->file, lpo_err_cause(err), &ignored);
        r->ended_by = LPO_COUNTERS_ENDED_ERROR;
    } else if (s->gap_is != LPO_COUNTERS_LOST_GAP && now > s->last_end_ns && s->last_end_ns) {
        lose(s, s->last_end_ns, now, &ignored); /* nothing came after the overflow or the change */
    }
    r->cpu_ns = cpu_ns(s) - s->started_cpu_ns;
    r->wall_ns = wall_ns(s) - s->started_wall_ns;
    r->interval_ns = (int64_t)s->interval_ns;
    r->costs = *lpo_sampler_session_costs(s->session);
    totals = (struct lpo_sampler_file_totals){ r->ended_by, r->cpu_ns, r->wall_ns, r->rounds };
    if (lpo_sampler_file_end(s->file, &totals, rc < 0 ? &ignored : err) < 0 && rc == 0)
        rc = err->code;
    r->samples = lpo_sampler_file_samples(s->file);
    r->lost = lpo_sampler_file_lost(s->file);
    return rc;
}

int lpo_sampler_run(struct lpo_arena *a, const struct lpo_sampler_options *o,
                    struct lpo_sampler_result *out, struct lpo_err *err)
{
    LPO_AUTO(lpo_sampler_session) session = NULL;
    LPO_AUTO(lpo_sampler_file) file = NULL;
    struct sampler s = {
        .o = o,
        .a = a,
        .result = out,
        .fresh = true,
        .gap_is = LPO_COUNTERS_LOST_GAP,
        .clock = o->clock ? o->clock : &real_clock,
    };
    const struct lpo_sampler_gpu *gpu;
    int rc;

    *out = (struct lpo_sampler_result){ 0 };
    if (lpo_sampler_session_open(a, &o->ask, &session, err) < 0 ||
        lpo_sampler_file_create(o->path, o->max_bytes, &file, err) < 0)
        return err->code;
    s.session = session;
    gpu = lpo_sampler_session_gpu(session);
    s.interval_ns = (uint64_t)gpu->interval_ns;
    s.budget.core = lpo_sampler_ask_core(&o->ask);
    s.budget.pace = (struct lpo_sampler_pace){ gpu->interval_ns, gpu->round_ns };
    s.file = file;
    rc = write_head(&s, err);
    if (rc == 0)
        rc = lpo_sampler_session_start(session, err);
    if (rc < 0) {
        unlink(o->path); /* a file without samples would only look like a damaged one */
        return rc;
    }
    s.started_wall_ns = wall_ns(&s);
    s.started_cpu_ns = cpu_ns(&s);
    if (o->ready)
        o->ready(o->ctx, gpu);
    rc = finish(&s, sample_until_stop(&s, err), err);
    if (o->left) {
        *o->left = session;
        session = NULL;
    }
    return rc;
}

void lpo_sampler_say_ready(FILE *out, const struct lpo_sampler_gpu *g)
{
    fprintf(out, "ready %s, %zu metrics, every %lld us, CUPTI %u%s%s\n", g->chip, g->metrics.len,
            (long long)g->interval_ns / 1000, g->cupti_version,
            g->has_context ? ", with a context" : "",
            g->counts_clocks ? ", triggered by clocks" : "");
    fflush(out);
}

void lpo_sampler_say_result(FILE *out, const struct lpo_sampler_result *r)
{
    fprintf(out,
            "done samples=%" PRIu64 " lost=%" PRIu64 " lost_ns=%" PRId64 " cpu_ns=%" PRId64
            " wall_ns=%" PRId64 " rounds=%" PRIu64 " ended_by=%d decode_ns=%" PRId64
            " evaluate_ns=%" PRId64 " empty_ns=%" PRId64 " interval_ns=%" PRId64 " lengthened=%u\n",
            r->samples, r->lost, r->lost_ns, r->cpu_ns, r->wall_ns, r->rounds, (int)r->ended_by,
            r->costs.decode_ns, r->costs.evaluate_ns, r->costs.empty_ns, r->interval_ns,
            r->lengthened);
}
